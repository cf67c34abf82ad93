/* Compilation of a part of a graph, as sessions ask for it. */
#ifndef DTP_EXEC_COMPILE_COMPILE_H
#define DTP_EXEC_COMPILE_COMPILE_H

#include "exec/compile/ir/selection.h"
#include "exec/graph/graph.h"

/* As dnnl_tp_executable_compile for num_threads threads; inputs and outputs are the feeds (shapes: infos) and
 * the fetches of the selection, in its order. */
dnnl_tp_status_t dtp_compile(dnnl_tp_executable_t *executable, dtp_graph_t *graph, dnnl_tp_engine_t engine,
                             int num_threads, const dtp_selection_t *selection,
                             const dnnl_tp_tensor_info_t *infos, const dnnl_tp_compile_opts_t *opts);

#endif
