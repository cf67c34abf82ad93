/* Writes the graph of a model to a file, without its weights: benchdnn/inputs/graph/sentence_encoder.graph
 * was made by it. The rectangular form: ids and positions {batch, tokens}. */
#include <stdio.h>

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "graph.h"

int main(int argc, char **argv) {
    se_model_t model;
    se_error_t error;
    dnnl_tp_graph_t graph = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: write_graph MODEL_DIR FILE\n");
        return 1;
    }
    if (se_model_open(&model, argv[1], &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int failed = se_graph_build(&graph, &model, 0, &error);
    if (failed) {
        fprintf(stderr, "%s\n", error.text);
    } else if (dnnl_tp_graph_write(graph, argv[2], DNNL_TP_GRAPH_TEXT | DNNL_TP_GRAPH_NO_WEIGHTS) !=
               dnnl_tp_success) {
        fprintf(stderr, "%s\n", dnnl_tp_last_error());
        failed = 1;
    }
    dnnl_tp_graph_destroy(graph);
    se_model_close(&model);
    return failed != 0;
}
