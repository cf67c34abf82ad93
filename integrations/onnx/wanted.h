/* Finds the inputs that must be known at import. */
#ifndef DTP_ONNX_WANTED_H
#define DTP_ONNX_WANTED_H

#include "onnx/context.h"

/* Marks the inputs of the model whose elements operators must know. */
dnnl_tp_status_t dtp_onnx_mark_shapes(dnnl_tp_onnx_model_t m);
/* Whether nodes of a body of the node need known elements of its inputs. */
bool dtp_cv_needs_inputs(cv_t *cv, const graph_proto_t *g);

#endif
