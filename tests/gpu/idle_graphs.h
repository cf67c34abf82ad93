/* Graphs whose host cost is asked for, and runs of them that nobody computes. */
#ifndef TESTS_GPU_IDLE_GRAPHS_H
#define TESTS_GPU_IDLE_GRAPHS_H

#include "dnnl_tp/dnnl_tp_graph.h"

typedef struct {
    dnnl_tp_executable_t executable;
    int launches; /* of a run */
    dnnl_tp_stream_t stream;
    int nin;
    void *in[2], *out[1];
    dnnl_tp_memory_t src, dst;
} idle_graph_t;

/* `length` small nodes one behind the other. */
void idle_graph_chain(idle_graph_t *g, int length);
/* The graph of the sentence encoder for 1 x 16 tokens. */
void idle_graph_encoder(idle_graph_t *g);
void idle_graph_run(const idle_graph_t *g);
void idle_graph_destroy(idle_graph_t *g);

#endif
