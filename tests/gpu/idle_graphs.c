/* See idle_graphs.h. */
#include "gpu/idle_graphs.h"

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "gpu/gpu_world.h"
#include "gpu/idle_driver.h"
#include "support/check.h"

enum { TOKENS = 16 };

/* Nothing is computed: any memory will do for tensors. */
static void finish(idle_graph_t *g, dnnl_tp_graph_t graph, int nin, const dnnl_tp_tensor_info_t *info) {
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .flags = nin ? 0 : DNNL_TP_COMPILE_NO_FUSION};
    CHECK_OK(dnnl_tp_executable_compile(&g->executable, graph, gpu, nin, info, &o));
    CHECK_OK(dnnl_tp_graph_destroy(graph));
    g->stream = gpu_stream();
    g->src = gpu_vector(gpu, 0);
    g->dst = gpu_vector(gpu, 0);
    CHECK_OK(dnnl_tp_memory_get_data_handle(g->src, &g->in[0]));
    CHECK_OK(dnnl_tp_memory_get_data_handle(g->dst, &g->out[0]));
    g->in[1] = g->in[0];
    idle_driver_set(DRIVER_LAUNCHES_NOTHING);
    idle_graph_run(g);
    idle_calls = (idle_calls_t){0};
    idle_graph_run(g);
    g->launches = (int)idle_calls.launches;
    idle_driver_set(DRIVER_WORKS);
}

void idle_graph_chain(idle_graph_t *g, int length) {
    static const dnnl_tp_op_kind_t kinds[] = {dnnl_tp_op_tanh, dnnl_tp_op_add};
    const dnnl_tp_dims_t dims = {GPU_N};
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t x, v[2];
    *g = (idle_graph_t){.nin = 1};
    CHECK_OK(dnnl_tp_graph_create(&graph, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_f32, 1, dims));
    v[0] = v[1] = x;
    for (int i = 0; i < length; ++i, v[1] = x)
        CHECK_OK(dnnl_tp_graph_op(graph, kinds[i % 2], "op", 1 + i % 2, v, 0, NULL, 1, &v[0]));
    CHECK_OK(dnnl_tp_graph_output(graph, v[0], "y"));
    finish(g, graph, 0, NULL);
}

void idle_graph_encoder(idle_graph_t *g) {
    dnnl_tp_graph_t graph;
    *g = (idle_graph_t){.nin = 2};
    CHECK_OK(dnnl_tp_graph_read(&graph, ENCODER_GRAPH));
    const dnnl_tp_tensor_info_t ids = {.ndims = 2, .dims = {1, TOKENS}, .data_type = dnnl_tp_s32};
    finish(g, graph, 2, (dnnl_tp_tensor_info_t[]){ids, ids});
}

void idle_graph_run(const idle_graph_t *g) {
    CHECK_OK(dnnl_tp_executable_run(g->executable, g->stream, g->nin, g->in, 1, g->out, NULL));
}

void idle_graph_destroy(idle_graph_t *g) {
    CHECK_OK(dnnl_tp_executable_destroy(g->executable));
    CHECK_OK(dnnl_tp_stream_destroy(g->stream));
    CHECK_OK(dnnl_tp_memory_destroy(g->src));
    CHECK_OK(dnnl_tp_memory_destroy(g->dst));
}
