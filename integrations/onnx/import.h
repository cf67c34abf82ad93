/* Graphs that attributes of nodes hold. */
#ifndef DTP_ONNX_IMPORT_H
#define DTP_ONNX_IMPORT_H

#include "onnx/context.h"

/* Converts a graph that an attribute of the node holds; the graph can read the names around the
 * node. in: its nin inputs; out: receives its outputs. */
void dtp_cv_body(cv_t *cv, graph_proto_t *g, int nin, val_t *const *in, val_t **out);

#endif
