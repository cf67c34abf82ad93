/* What of a model can never run, said when it is opened. */
#ifndef DTP_ONNX_CHECK_H
#define DTP_ONNX_CHECK_H

#include "onnx/ops/table.h"

/* The row that serves a node which calls no function of the model, under the imports of the graph or function around it.
 * NULL: *status and why (a text) say why there is none. */
const row_t *dtp_onnx_row_of(size_t nimports, opset_proto_t *const *imports, const node_proto_t *node,
                             int *since, dnnl_tp_status_t *status, char why[DTP_ONNX_NAME]);
/* Refuses the model if it has inputs, initializers or nodes that no graph of it can do without and none can serve. The text
 * has all of them, as far as it holds them. */
dnnl_tp_status_t dtp_onnx_check(const_dnnl_tp_onnx_model_t m);

#endif
