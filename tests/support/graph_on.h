/* A graph of one operator on a place of the matrix of engines (tensor.h), its inputs fed or constants. */
#ifndef DTP_TESTS_SUPPORT_GRAPH_ON_H
#define DTP_TESTS_SUPPORT_GRAPH_ON_H

#include "support/one_op.h"
#include "support/tensor.h"

/* constants: bit i: input i is a constant. out: room for bytes, at least those of the result. False: an engine with kernels of its
 * own lacks an implementation. */
bool test_graph_on(const place_t *at, dnnl_tp_op_kind_t kind, int nattr, const dnnl_tp_op_attr_t *attr,
                   int nin, const test_tensor_t *in, unsigned constants, void *out, size_t bytes);

#endif
