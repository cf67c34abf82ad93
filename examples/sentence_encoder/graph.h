/* The model as a graph of dnnl_tp operators; used by encoder.c only. */
#ifndef SE_GRAPH_H
#define SE_GRAPH_H

#include "dnnl_tp/dnnl_tp_graph.h"
#include "model.h"

/* Inputs, in order: ids, positions s32 {T} or {B, S}; packed only: offsets s32 {n + 1}. Output: {n or B,
 * hidden}. Weights are borrowed from the mapped file. */
int se_graph_build(dnnl_tp_graph_t *graph, const se_model_t *model, int packed, se_error_t *error);

#endif
