/* Functions that the drivers of convolution and deconvolution share. */
#ifndef BD_CONV_H
#define BD_CONV_H

#include "drivers/window.h"

enum { BD_CONV_SRC, BD_CONV_WEI, BD_CONV_DST, BD_CONV_BIA }; /* tensors */
enum { BD_CONV_MB, BD_CONV_G, BD_CONV_IC, BD_CONV_OC };      /* vd[0] */

int bd_conv_parse(bd_prb_t *, const char *, bd_window_form_t);
void bd_conv_desc(const bd_prb_t *, char *, size_t, bd_window_form_t);
int64_t bd_conv_groups(const bd_prb_t *);
/* src_row, dst_row: BD_WIN_IN, BD_WIN_OUT for convolution, exchanged for deconvolution. */
const char *bd_conv_init(bd_prb_t *, int src_row, int dst_row);
void bd_conv_fill(const bd_prb_t *, int i, double *v, bool perf);
void bd_conv_judge(const bd_prb_t *, int i, bd_cmp_t *);

#endif
