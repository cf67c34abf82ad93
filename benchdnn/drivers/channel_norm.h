/* Functions that the drivers of batch and group normalization share. The counts of a descriptor:
 * mb, ic, and g, which is -1 for batch normalization. */
#ifndef BD_CHANNEL_NORM_H
#define BD_CHANNEL_NORM_H

#include "drivers/image.h"

enum { BD_NORM_SRC, BD_NORM_DST };
/* Adds src, dst, statistics, scale and shift; the driver adds other tensors. groups 0: batch
 * normalization. */
void bd_norm_tensors(bd_prb_t *, int64_t groups, const char *dst_tag);
void bd_norm_fill(const bd_prb_t *, int64_t groups, int i, double *v);
void bd_norm_ref(const bd_prb_t *, int64_t groups, double *const *v);
void bd_norm_judge(const bd_prb_t *, int i, bd_cmp_t *);

#endif
