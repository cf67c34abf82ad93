/* The part of the mirror (mirror.h) that evaluates operators in double. */
#ifndef DTP_TESTS_MIRROR_EVALUATE_H
#define DTP_TESTS_MIRROR_EVALUATE_H

#include "support/mirror.h"

typedef struct {
    int kind, nattr;
    const dnnl_tp_op_attr_t *attr;
    int64_t before; /* elements of the results before this one */
} mirror_attrs_t;

/* NULL: it was not given. */
const dnnl_tp_op_attr_t *mirror_find(const mirror_attrs_t *a, int key);
int64_t mirror_count(const dnnl_tp_tensor_info_t *t);
/* y, whose shape is known and whose elements are zeros. */
void mirror_evaluate(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y);
/* The same for operators on images: convolution, pooling, batch normalisation; 0: it is none of these. */
int mirror_spatial(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y);

#endif
