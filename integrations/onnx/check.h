/* Refuses, when a model is opened, everything in it that can never run. */
#ifndef DTP_ONNX_CHECK_H
#define DTP_ONNX_CHECK_H

#include "onnx/ops/table.h"

/* The row that serves a node, under the imports of the graph or function around it. The node calls
 * no function of the model. NULL: no row serves it; *status and the text `why` give the reason. */
const row_t *dtp_onnx_row_of(size_t nimports, opset_proto_t *const *imports, const node_proto_t *node,
                             int *since, dnnl_tp_status_t *status, char why[DTP_ONNX_NAME]);
/* Refuses the model if it has inputs, initializers or nodes that every graph of it needs and that
 * this build cannot serve. The text names all of them, as far as it has room; opts->report gets
 * them one by one. */
dnnl_tp_status_t dtp_onnx_check(const_dnnl_tp_onnx_model_t m, const dnnl_tp_onnx_open_opts_t *opts);

#endif
