/* The part of the mirror (mirror.h) that works on images: convolution, pooling, batch normalisation. */
#ifndef DTP_TESTS_MIRROR_SPATIAL_H
#define DTP_TESTS_MIRROR_SPATIAL_H

#include "support/mirror.h"

/* 0: the kind is none of these. */
int mirror_spatial(int kind, int nattr, const dnnl_tp_op_attr_t *attr, int nin,
                   const mirror_value_t *const *v, mirror_value_t *y);

#endif
