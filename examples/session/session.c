/* A session: names instead of numbers, two pools, whatever part of the graph is asked for. doc/sessions.md
 * explains it. */
#include <stdio.h>

#include "dnnl_tp/dnnl_tp_session.h"

#define CHECK(call)                                                   \
    do {                                                              \
        if ((call) != dnnl_tp_success) {                              \
            fprintf(stderr, "%s: %s\n", #call, dnnl_tp_last_error()); \
            return 1;                                                 \
        }                                                             \
    } while (0)

int main(void) {
    dnnl_tp_engine_t engine;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));

    /* hidden = relu(x W), score = softmax(hidden) */
    static const float w[2 * 3] = {1, 2, -3, 0, 1, 1};
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t x, weights, v;
    CHECK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    CHECK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_f32, 2, (dnnl_tp_dims_t){DNNL_TP_RUNTIME_DIM_VAL, 2}));
    CHECK(dnnl_tp_graph_constant(graph, &weights, "W", dnnl_tp_f32, 2, (dnnl_tp_dims_t){2, 3}, w,
                                 DNNL_TP_CONSTANT_COPY, NULL, NULL));
    CHECK(dnnl_tp_graph_op(graph, dnnl_tp_op_matmul, "product", 2, (dnnl_tp_value_t[]){x, weights}, 0, NULL,
                           1, &v));
    CHECK(dnnl_tp_graph_op(graph, dnnl_tp_op_relu, "hidden", 1, &v, 0, NULL, 1, &v));
    CHECK(dnnl_tp_graph_op(
        graph, dnnl_tp_op_softmax, "score", 1, &v, 1,
        (dnnl_tp_op_attr_t[]){{dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, (int64_t[]){-1}}}, 1, &v));
    CHECK(dnnl_tp_graph_output(graph, v, "result"));

    /* Pool 0 belongs to the session; pool 1 is shared by all sessions of the process that name it. */
    dnnl_tp_session_pool_t pools[] = {{.num_threads = 2}, {.num_threads = 1, .global_name = "background"}};
    dnnl_tp_session_opts_t opts = {
        .struct_size = sizeof opts, .npools = 2, .pools = pools, .timeout_ns = 5000000000};
    dnnl_tp_session_t session;
    CHECK(dnnl_tp_session_create(&session, graph, engine, &opts));

    float in[2 * 2] = {1, 1, 2, 0}, score[2 * 3], hidden[2 * 3];
    dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {2, 2}, .data_type = dnnl_tp_f32};
    dnnl_tp_feed_t feed = {"x", &shape, in};
    dnnl_tp_fetch_t both[] = {{"result", score}, {"hidden", hidden}};
    CHECK(dnnl_tp_session_run(session, 1, &feed, 2, both, 0, NULL, NULL)); /* compiles */
    CHECK(dnnl_tp_session_run(session, 1, &feed, 2, both, 0, NULL, NULL)); /* finds it again */

    /* Another part, in the background: the middle is given, so x is not needed. */
    float given[3] = {0, 0, 0}, third[3];
    dnnl_tp_tensor_info_t row = {.ndims = 2, .dims = {1, 3}, .data_type = dnnl_tp_f32};
    dnnl_tp_session_run_opts_t background = {.struct_size = sizeof background, .pool_index = 1};
    CHECK(dnnl_tp_session_run(session, 1, &(dnnl_tp_feed_t){"hidden", &row, given}, 1,
                              &(dnnl_tp_fetch_t){"score", third}, 0, NULL, &background));

    dnnl_tp_session_stats_t stats = {.struct_size = sizeof stats};
    CHECK(dnnl_tp_session_query(session, &stats));
    const dnnl_tp_threadpool_iface_t *pool;
    dnnl_tp_threadpool_stats_t counts = {.struct_size = sizeof counts};
    CHECK(dnnl_tp_session_get_pool(session, 0, &pool));
    CHECK(dnnl_tp_threadpool_query(pool, &counts));
    printf("hidden %g %g %g, score %g; %llu runs, %llu compiled; pool 0: %llu runs on at most %d of %d "
           "threads\n",
           (double)hidden[0], (double)hidden[1], (double)hidden[2], (double)third[0],
           (unsigned long long)stats.runs, (unsigned long long)stats.compilations,
           (unsigned long long)counts.runs, counts.max_running, counts.num_threads);
    int wrong = hidden[0] != 1 || hidden[1] != 3 || hidden[2] != 0 || stats.compilations != 2 ||
                third[0] < 0.333f || third[0] > 0.334f;

    CHECK(dnnl_tp_session_destroy(session));
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_engine_destroy(engine);
    return wrong;
}
