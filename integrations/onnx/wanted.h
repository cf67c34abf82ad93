/* Which inputs have to be known when a graph is made. */
#ifndef DTP_ONNX_WANTED_H
#define DTP_ONNX_WANTED_H

#include "onnx/context.h"

/* Finds the inputs whose elements operators have to know. */
dnnl_tp_status_t dtp_onnx_mark_shapes(dnnl_tp_onnx_model_t m);
/* Do nodes of a body of the node need elements of its inputs, and so known ones? */
bool dtp_cv_needs_inputs(cv_t *cv, const graph_proto_t *g);

#endif
