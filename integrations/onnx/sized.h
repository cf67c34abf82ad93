/* Sizes that are open, for imports with a table of sizes: what converters may do with them, and the
 * sizes of results. In other imports no tensor has such sizes.
 *
 * A tensor has hints where others have numbers, so that a converter that knows nothing of open sizes
 * works; before it runs, each size and known element of its inputs gets the guard that it is its
 * hint. In the graph the sizes stay open. Where an operator needs them, they are a list that the
 * compiler computes from the shapes of the graph's inputs. */
#ifndef DTP_ONNX_SIZED_H
#define DTP_ONNX_SIZED_H

#include "onnx/context.h"

/* Fails the node: its sizes have no expression, or memory lacks. */
void dtp_cv_too_complex(cv_t *cv);
/* The graph will only serve sizes with which the expression has the value of its hint. */
void dtp_cv_guard(cv_t *cv, dtp_size_t size);
/* The same for all sizes, and for all known elements, of a tensor, which then has numbers. */
void dtp_cv_guard_sizes(cv_t *cv, val_t *x);
void dtp_cv_guard_elems(cv_t *cv, val_t *x);
/* Dimension d of a tensor. */
dtp_size_t dtp_cv_size(cv_t *cv, const val_t *x, int d);
/* Gives x these sizes and their hints; fails if one is DTP_NO_SIZE or negative. */
void dtp_cv_set_sizes(cv_t *cv, val_t *x, int ndims, const dtp_size_t *sizes);
/* dtp_size_is() of the node; a failure fails the node. */
bool dtp_cv_size_is(cv_t *cv, dtp_size_t a, dtp_relation_t relation, dtp_size_t b);
/* The sizes of the results of an operator that was just added to the graph. */
void dtp_cv_size_results(cv_t *cv, int kind, int nin, val_t *const *in, int nattr,
                         const dnnl_tp_op_attr_t *attr, int nout, val_t **out);
/* A list {n} of s64 in the whole graph. */
val_t *dtp_cv_size_list(cv_t *cv, int n, const dtp_size_t *sizes);
/* The number in the graph of known integers that are expressions. */
dnnl_tp_value_t dtp_cv_elems_value(cv_t *cv, const val_t *x);
/* Result `wanted` of an operator of x and of a list (NULL: none), which has these sizes. */
val_t *dtp_cv_sized_op(cv_t *cv, int kind, val_t *x, val_t *list, int nattr, const dnnl_tp_op_attr_t *attr,
                       int nout, int wanted, int ndims, const dtp_size_t *sizes);
/* x in another shape, which has as many elements: proven, or by a guard. */
val_t *dtp_cv_resized(cv_t *cv, val_t *x, int ndims, const dtp_size_t *sizes);
/* Elements begin..begin+size-1 of an axis, which must be there: proven, or by a guard. */
val_t *dtp_cv_cut(cv_t *cv, val_t *x, int axis, dtp_size_t begin, dtp_size_t size);
/* begin, begin + step, ...: {size} of s64 or s32. */
val_t *dtp_cv_places(cv_t *cv, dnnl_tp_data_type_t type, int64_t begin, int64_t step, dtp_size_t size);
/* A tensor full of a value, which is one element of known data. */
val_t *dtp_cv_filled(cv_t *cv, const val_t *value, int ndims, const dtp_size_t *sizes);

/* ---- ops/sized.c -------------------------------------------------------------------------------------------- */

/* Converts the node if its inputs have open sizes and its operator knows how to go on with them. False: the
 * converter may run, and what it does not know is guarded. */
bool dtp_cv_sized(cv_t *cv);

#endif
