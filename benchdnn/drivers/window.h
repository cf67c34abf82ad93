/* Functions that drivers share whose windows slide over space. The descriptor is in vd: row 0 has
 * the counts, row BD_WIN_* one value for each of vd_nd[0] spatial dimensions, the outermost first.
 */
#ifndef BD_WINDOW_H
#define BD_WINDOW_H

#include "drivers/drivers.h"

enum {
    BD_WIN_IN = 1,
    BD_WIN_OUT,
    BD_WIN_KERNEL,
    BD_WIN_STRIDE,
    BD_WIN_PAD,
    BD_WIN_DILATION, /* 0 = dense */
    BD_WIN_PAD_R,    /* follows from the others */
    BD_WIN_ROWS
};
static inline int64_t *bd_window(bd_prb_t *p, int row) { return p->vd[row]; }

/* How the descriptor is read: a window over the input, a deconvolution's window over dst (in row
 * BD_WIN_IN; src is in BD_WIN_OUT), or only two sizes. */
typedef enum { BD_WINDOW, BD_WINDOW_TRANSPOSED, BD_WINDOW_SIZES } bd_window_form_t;
/* counts: names of the counts, NULL-ended, "mb" first; those that are not given are -1. 0 = good. A
 * missing size is the size of the outer dimension; a missing output follows from the padding,
 * missing padding from the output. */
int bd_parse_window(bd_prb_t *, const char *, const char *const *counts, bd_window_form_t);
void bd_desc_window(const bd_prb_t *, char *, size_t, const char *const *counts, bd_window_form_t);
/* {mb, c, sizes of BD_WIN_IN, _OUT or _KERNEL}. */
void bd_window_dims(const bd_prb_t *, int row, int64_t mb, int64_t c, int64_t d[BD_MAX_NDIMS]);
/* Walks the taps of the output at spatial position pos that are inside. Begin with tap[0] = -1; at
 * gets the input's spatial position. False after the last. */
bool bd_window_next(const bd_prb_t *, const int64_t *pos, int64_t *tap, int64_t *at);

#endif
