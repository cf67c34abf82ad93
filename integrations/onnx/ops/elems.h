/* Known integers that are expressions of open sizes: what nodes make of them. */
#ifndef DTP_ONNX_OPS_ELEMS_H
#define DTP_ONNX_OPS_ELEMS_H

#include "onnx/sized.h"

static inline dtp_size_t number(cv_t *cv, int64_t value) { return dtp_size_number(cv->im->sizes, value); }
static inline int64_t hint(const cv_t *cv, dtp_size_t size) { return dtp_size_hint(cv->im->sizes, size); }
static inline bool is_number(const cv_t *cv, dtp_size_t size) {
    return dtp_size_is_number(cv->im->sizes, size);
}

/* Few known integers, of s64 or s32. */
bool dtp_elems_are_integers(const val_t *x);
/* The known elements of x, expressions or numbers; NULL: they are no few integers, or not known. */
const dtp_size_t *dtp_elems_of(cv_t *cv, const val_t *x, int64_t *n);
/* A list {n} of s64. */
val_t *dtp_elems_list(cv_t *cv, int64_t n, const dtp_size_t *elems);

/* Conversions of the node. False: it is left to its converter, with guards. */
bool dtp_elems_concat(cv_t *cv);
/* Elements of the first input in other places. */
bool dtp_elems_move(cv_t *cv);
bool dtp_elems_cast(cv_t *cv);
/* Of two and more inputs, comparisons too. */
bool dtp_elems_arithmetic(cv_t *cv);
bool dtp_elems_where(cv_t *cv);
/* All elements of a list become one. */
bool dtp_elems_reduce(cv_t *cv);

/* The same for Resize and Upsample of a tensor with open sizes (resize.c). */
bool dtp_onnx_resize_sized(cv_t *cv);

#endif
