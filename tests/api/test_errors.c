/* Error texts: every call that fails sets the text anew and names itself; texts name arguments, types and
 * problems; attributes that a kind does not take are refused by name; references can be refused and are told. */
#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_session.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

static dnnl_tp_engine_t engine;

static int start(void **state) {
    (void)state;
    return dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0) != dnnl_tp_success;
}
static int stop(void **state) {
    (void)state;
    return dnnl_tp_engine_destroy(engine) != dnnl_tp_success;
}

static dnnl_tp_memory_desc_t matrix(int64_t a, int64_t b, dnnl_tp_data_type_t dt) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_dims_t dims = {a, b};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dt, dnnl_tp_ab));
    return md;
}

/* Some other failure, so that a stale text is seen. */
static void another_failure(void) { CHECK_STATUS(dnnl_tp_set_verbose(-7), dnnl_tp_invalid_arguments); }

static void check_named(const char *call, dnnl_tp_status_t status, int line) {
    const char *text = dnnl_tp_last_error();
    size_t n = strcspn(call, "(");
    if (status == dnnl_tp_success) fail_msg("line %d: %s succeeded", line, call);
    if (strncmp(text, call, n) != 0 || strncmp(text + n, ": ", 2) != 0 || strlen(text) < n + 4)
        fail_msg("line %d: %.*s says '%s'", line, (int)n, call, text);
}

/* The call fails with this text: its own name, then something. */
#define NAMED(...)                                          \
    do {                                                    \
        another_failure();                                  \
        dnnl_tp_status_t named_status_ = __VA_ARGS__;       \
        check_named(#__VA_ARGS__, named_status_, __LINE__); \
    } while (0)

static void failures_name_their_call(void **state) {
    (void)state;
    int i = 0;
    double ms = 0;
    void *p = NULL;
    size_t size = 0;
    const char *text;
    uint8_t byte = 0;
    dnnl_tp_dims_t dims = {-1}, one = {1};
    dnnl_tp_memory_desc_t md = matrix(2, 2, dnnl_tp_f32), out;
    dnnl_tp_memory_t m;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    dnnl_tp_engine_t e;
    dnnl_tp_stream_t stream;
    dnnl_tp_event_t event;
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t value;
    (void)ms;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    CHECK_OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    /* Service, engines, streams. */
    NAMED(dnnl_tp_set_verbose(3));
    NAMED(dnnl_tp_set_allocator(NULL));
    NAMED(dnnl_tp_set_max_cpu_isa((dnnl_tp_cpu_isa_t)99));
    NAMED(dnnl_tp_set_default_fpmath_mode((dnnl_tp_fpmath_mode_t)99));
    NAMED(dnnl_tp_get_default_fpmath_mode(NULL));
    NAMED(dnnl_tp_set_primitive_cache_capacity(-1));
    NAMED(dnnl_tp_get_primitive_cache_capacity(NULL));
    NAMED(dnnl_tp_engine_create(&e, dnnl_tp_gpu, 0));
    NAMED(dnnl_tp_engine_create_v2(&e, dnnl_tp_cpu, 7, NULL));
    NAMED(dnnl_tp_engine_get_kind(NULL, NULL));
    NAMED(dnnl_tp_engine_attr_create(NULL));
    NAMED(dnnl_tp_stream_create(&stream == NULL ? NULL : (dnnl_tp_stream_t[1]){NULL}, NULL, 0));
    NAMED(dnnl_tp_stream_get_engine(NULL, NULL));
    NAMED(dnnl_tp_stream_wait(NULL));
    NAMED(dnnl_tp_stream_wait_for(NULL, 0));
    NAMED(dnnl_tp_stream_wait_for_v2(NULL, 0, NULL));
    NAMED(dnnl_tp_stream_query(NULL, &i, NULL));
    NAMED(dnnl_tp_stream_reset(NULL));
    NAMED(dnnl_tp_stream_record_event(NULL, &event));
    NAMED(dnnl_tp_stream_wait_event(stream, NULL));
    NAMED(dnnl_tp_stream_set_trace(NULL, NULL, NULL));
    NAMED(dnnl_tp_stream_attr_create(NULL, dnnl_tp_cpu));
    NAMED(dnnl_tp_threadpool_interop_set_max_concurrency(0));
    NAMED(dnnl_tp_sync_engine(NULL, 0));
    NAMED(dnnl_tp_sync_engine_v2(NULL, 0, NULL));
    NAMED(dnnl_tp_sync_memory(NULL, 0));
    NAMED(dnnl_tp_sync_memory_v2(NULL, 0, NULL));
    NAMED(dnnl_tp_event_create_host(&event, NULL));
    NAMED(dnnl_tp_event_signal(NULL, dnnl_tp_success));
    NAMED(dnnl_tp_event_query(NULL, &i, NULL));
    NAMED(dnnl_tp_event_wait(NULL, 0, NULL));
    NAMED(dnnl_tp_event_get_error(NULL, &text));
    NAMED(dnnl_tp_event_on_complete(NULL, NULL, NULL));
    /* Descriptors and memory. */
    NAMED(dnnl_tp_memory_desc_create_with_tag(&out, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    NAMED(dnnl_tp_memory_desc_create_with_tag(&out, 2, one, dnnl_tp_f32, dnnl_tp_a));
    NAMED(dnnl_tp_memory_desc_create_with_strides(&out, 1, one, dnnl_tp_data_type_undef, NULL));
    NAMED(dnnl_tp_memory_desc_clone(&out, NULL));
    NAMED(dnnl_tp_memory_desc_create_with_blob(&out, NULL));
    NAMED(dnnl_tp_memory_desc_get_blob(&byte, &size, NULL));
    NAMED(dnnl_tp_memory_desc_create_submemory(&out, md, NULL, NULL));
    NAMED(dnnl_tp_memory_desc_reshape(&out, md, 1, one));
    NAMED(dnnl_tp_memory_desc_permute_axes(&out, md, NULL));
    NAMED(dnnl_tp_memory_desc_query(md, dnnl_tp_query_engine, &p));
    NAMED(dnnl_tp_memory_create(&m, md, NULL, NULL));
    NAMED(dnnl_tp_memory_create_v2(&m, md, engine, 2, NULL));
    NAMED(dnnl_tp_memory_get_memory_desc(NULL, NULL));
    NAMED(dnnl_tp_memory_get_engine(NULL, &e));
    NAMED(dnnl_tp_memory_set_data_handle(NULL, NULL));
    NAMED(dnnl_tp_memory_map_data(NULL, &p));
    /* Attributes. */
    NAMED(dnnl_tp_primitive_attr_set_fpmath_mode(attr, (dnnl_tp_fpmath_mode_t)99));
    NAMED(dnnl_tp_primitive_attr_set_accumulation_mode(attr, (dnnl_tp_accumulation_mode_t)99));
    NAMED(dnnl_tp_primitive_attr_set_scratchpad_mode(attr, (dnnl_tp_scratchpad_mode_t)99));
    NAMED(dnnl_tp_primitive_attr_set_refuse_reference(NULL, 1));
    NAMED(dnnl_tp_primitive_attr_set_num_threads(attr, -1));
    NAMED(dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_BIAS, 0));
    NAMED(dnnl_tp_primitive_attr_set_scales(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_s8));
    NAMED(dnnl_tp_primitive_attr_set_zero_points_mask(attr, DNNL_TP_ARG_SRC, -1));
    NAMED(dnnl_tp_primitive_attr_set_post_ops(attr, NULL));
    NAMED(dnnl_tp_post_ops_append_sum(po, 1, 0, (dnnl_tp_data_type_t)99));
    NAMED(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_binary_add, 0, 0));
    NAMED(dnnl_tp_post_ops_append_binary(po, dnnl_tp_eltwise_relu, md));
    NAMED(dnnl_tp_post_ops_get_params_sum(po, 0, NULL, NULL, NULL));
    /* Primitives. */
    const dnnl_tp_prop_kind_t backward = (dnnl_tp_prop_kind_t)160;
    const dnnl_tp_prop_kind_t inference = dnnl_tp_forward_inference;
    NAMED(dnnl_tp_matmul_primitive_desc_create(&pd, engine, md, NULL, NULL, md, NULL));
    NAMED(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, backward, dnnl_tp_softmax_log, md, md, 0,
                                                        NULL));
    NAMED(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, inference, dnnl_tp_softmax_log, md, md,
                                                        2, NULL));
    NAMED(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, backward, dnnl_tp_eltwise_relu, md, md,
                                                        0, 0, NULL));
    NAMED(dnnl_tp_prelu_forward_primitive_desc_create(&pd, engine, backward, md, md, md, NULL));
    NAMED(dnnl_tp_pooling_forward_primitive_desc_create(&pd, engine, backward, dnnl_tp_pooling_max, md, md,
                                                        dims, dims, dims, dims, dims, NULL));
    NAMED(dnnl_tp_convolution_forward_primitive_desc_create(&pd, engine, backward, dnnl_tp_convolution_direct,
                                                            md, md, NULL, md, dims, NULL, dims, NULL, NULL));
    NAMED(dnnl_tp_deconvolution_forward_primitive_desc_create(
        &pd, engine, backward, dnnl_tp_deconvolution_direct, md, md, NULL, md, dims, NULL, dims, NULL, NULL));
    NAMED(dnnl_tp_resampling_forward_primitive_desc_create(&pd, engine, backward, dnnl_tp_resampling_linear,
                                                           NULL, md, md, NULL));
    NAMED(dnnl_tp_shuffle_forward_primitive_desc_create(&pd, engine, backward, md, md, 0, 1, NULL));
    NAMED(dnnl_tp_inner_product_forward_primitive_desc_create(&pd, engine, backward, md, md, NULL, md, NULL));
    NAMED(dnnl_tp_layer_normalization_forward_primitive_desc_create(&pd, engine, backward, md, md, NULL, 0, 0,
                                                                    NULL));
    NAMED(dnnl_tp_binary_primitive_desc_create(&pd, engine, dnnl_tp_eltwise_relu, md, md, md, NULL));
    NAMED(dnnl_tp_reduction_primitive_desc_create(&pd, engine, dnnl_tp_reduction_sum, md, md, 0, 0, NULL));
    NAMED(dnnl_tp_reorder_primitive_desc_create(&pd, md, engine, NULL, engine, NULL));
    NAMED(dnnl_tp_concat_primitive_desc_create(&pd, engine, NULL, 0, 0, NULL, NULL));
    NAMED(dnnl_tp_sum_primitive_desc_create(&pd, engine, NULL, 0, NULL, NULL, NULL));
    NAMED(dnnl_tp_primitive_create(&primitive, NULL));
    NAMED(dnnl_tp_primitive_execute(NULL, stream, 0, NULL));
    NAMED(dnnl_tp_primitive_execute_handles(NULL, stream, 0, NULL));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, md, md, NULL, md, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
    NAMED(dnnl_tp_primitive_execute(primitive, stream, 0, NULL));
    NAMED(dnnl_tp_primitive_execute_handles(primitive, stream, 0, NULL));
    NAMED(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_axis_s32, 0, &i));
    NAMED(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_workspace_md, 0, &p)); /* not_required */
    dnnl_tp_status_t next;
    while ((next = dnnl_tp_primitive_desc_next_impl(pd)) == dnnl_tp_success) {
    }
    assert_int_equal(next, dnnl_tp_last_impl_reached);
    NAMED(dnnl_tp_primitive_desc_next_impl(pd));
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    /* Graphs. */
    const dnnl_tp_dims_t small = {2, 2};
    dnnl_tp_value_t x, bytes, pair[2];
    NAMED(dnnl_tp_graph_create(&graph == NULL ? NULL : (dnnl_tp_graph_t[1]){NULL}, dnnl_tp_any_engine));
    NAMED(dnnl_tp_graph_input(graph, &value, "x", (dnnl_tp_data_type_t)99, 2, small));
    NAMED(dnnl_tp_graph_op(graph, (dnnl_tp_op_kind_t)999, "op", 0, NULL, 0, NULL, 1, &value));
    CHECK_OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_f32, 2, small));
    CHECK_OK(dnnl_tp_graph_input(graph, &bytes, "bytes", dnnl_tp_s8, 2, small));
    pair[0] = x, pair[1] = bytes;
    NAMED(dnnl_tp_graph_op(graph, dnnl_tp_op_add, "op", 2, pair, 0, NULL, 1, &value));
    NAMED(dnnl_tp_graph_host(graph, NULL, NULL, NULL, 0, "host", 0, NULL, 0, NULL, NULL));
    NAMED(dnnl_tp_graph_output(graph, 77, "y"));
    NAMED(dnnl_tp_graph_value_info(graph, 77, NULL));
    NAMED(dnnl_tp_executable_compile(&(dnnl_tp_executable_t){NULL}, graph, engine, 0, NULL, NULL));
    NAMED(dnnl_tp_executable_run(NULL, stream, 0, NULL, 0, NULL, NULL));
    NAMED(dnnl_tp_executable_run_async(NULL, stream, 0, NULL, 0, NULL, NULL, &event));
    NAMED(dnnl_tp_executable_reserve(NULL, 1));
    NAMED(dnnl_tp_cancel_fire(NULL));
    CHECK_OK(dnnl_tp_graph_destroy(graph));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

static void says(const char *part) {
    if (!strstr(dnnl_tp_last_error(), part)) fail_msg("'%s' does not say '%s'", dnnl_tp_last_error(), part);
}

/* ---- Attributes -------------------------------------------------------------------------------------- */

typedef dnnl_tp_status_t (*make_t)(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,
                                   dnnl_tp_primitive_attr_t attr);

#define MAKE(name, call)                                                                                   \
    static dnnl_tp_status_t name(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,                     \
                                 dnnl_tp_primitive_attr_t attr) {                                          \
        dnnl_tp_memory_desc_t m = matrix(4, 4, dt), f = matrix(4, 4, dnnl_tp_f32), row = matrix(1, 4, dt); \
        const_dnnl_tp_memory_desc_t list[] = {m, m};                                                       \
        const float scales[] = {1, 1};                                                                     \
        (void)row, (void)list, (void)scales;                                                               \
        dnnl_tp_status_t status = call;                                                                    \
        dnnl_tp_memory_desc_destroy(m), dnnl_tp_memory_desc_destroy(f), dnnl_tp_memory_desc_destroy(row);  \
        return status;                                                                                     \
    }
MAKE(make_matmul, dnnl_tp_matmul_primitive_desc_create(pd, engine, m, m, NULL, f, attr))
MAKE(make_ip, dnnl_tp_inner_product_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference, m, m,
                                                                  NULL, f, attr))
MAKE(make_softmax, dnnl_tp_softmax_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference,
                                                                 dnnl_tp_softmax_accurate, m, f, 1, attr))
MAKE(make_lnorm,
     dnnl_tp_layer_normalization_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference, m, f,
                                                               NULL, 1e-5f, 0, attr))
MAKE(make_eltwise, dnnl_tp_eltwise_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference,
                                                                 dnnl_tp_eltwise_relu, m, m, 0, 0, attr))
MAKE(make_prelu,
     dnnl_tp_prelu_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference, m, row, m, attr))
MAKE(make_binary, dnnl_tp_binary_primitive_desc_create(pd, engine, dnnl_tp_binary_add, m, m, m, attr))
MAKE(make_reduction,
     dnnl_tp_reduction_primitive_desc_create(pd, engine, dnnl_tp_reduction_sum, m, row, 0, 0, attr))
MAKE(make_reorder, dnnl_tp_reorder_primitive_desc_create(pd, m, engine, f, engine, attr))
MAKE(make_concat, dnnl_tp_concat_primitive_desc_create(pd, engine, NULL, 2, 0, list, attr))
MAKE(make_shuffle,
     dnnl_tp_shuffle_forward_primitive_desc_create(pd, engine, dnnl_tp_forward_inference, m, m, 1, 2, attr))
MAKE(make_sum, dnnl_tp_sum_primitive_desc_create(pd, engine, NULL, 2, scales, list, attr))

static dnnl_tp_status_t make_pooling(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,
                                     dnnl_tp_primitive_attr_t attr) {
    const dnnl_tp_dims_t dims = {2, 4, 6}, two = {2}, none = {0}, half = {2, 4, 3};
    dnnl_tp_memory_desc_t src, dst;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 3, dims, dt, dnnl_tp_acb));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 3, half, dt, dnnl_tp_acb));
    dnnl_tp_status_t status = dnnl_tp_pooling_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_pooling_max, src, dst, two, two, none, none, none,
        attr);
    dnnl_tp_memory_desc_destroy(src), dnnl_tp_memory_desc_destroy(dst);
    return status;
}

static dnnl_tp_status_t make_resampling(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,
                                        dnnl_tp_primitive_attr_t attr) {
    const dnnl_tp_dims_t dims = {2, 4, 6}, half = {2, 4, 3};
    dnnl_tp_memory_desc_t src, dst;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 3, dims, dt, dnnl_tp_acb));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 3, half, dt, dnnl_tp_acb));
    dnnl_tp_status_t status = dnnl_tp_resampling_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_resampling_nearest, NULL, src, dst, attr);
    dnnl_tp_memory_desc_destroy(src), dnnl_tp_memory_desc_destroy(dst);
    return status;
}

static dnnl_tp_status_t make_deconvolution(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,
                                           dnnl_tp_primitive_attr_t attr) {
    const dnnl_tp_dims_t dims = {2, 4, 6}, kernel = {4, 4, 1}, one = {1}, none = {0};
    dnnl_tp_memory_desc_t src, wei, dst;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 3, dims, dt, dnnl_tp_acb));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 3, kernel, dt, dnnl_tp_abc));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 3, dims, dnnl_tp_f32, dnnl_tp_acb));
    dnnl_tp_status_t status = dnnl_tp_deconvolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_deconvolution_direct, src, wei, NULL, dst, one, none,
        none, none, attr);
    dnnl_tp_memory_desc_destroy(src), dnnl_tp_memory_desc_destroy(wei), dnnl_tp_memory_desc_destroy(dst);
    return status;
}

static dnnl_tp_status_t make_convolution(dnnl_tp_primitive_desc_t *pd, dnnl_tp_data_type_t dt,
                                         dnnl_tp_primitive_attr_t attr) {
    const dnnl_tp_dims_t dims = {2, 4, 6}, kernel = {4, 4, 1}, one = {1}, none = {0};
    dnnl_tp_memory_desc_t src, wei, dst;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 3, dims, dt, dnnl_tp_acb));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 3, kernel, dt, dnnl_tp_abc));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 3, dims, dnnl_tp_f32, dnnl_tp_acb));
    dnnl_tp_status_t status = dnnl_tp_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, dnnl_tp_convolution_direct, src, wei, NULL, dst, one, none,
        none, none, attr);
    dnnl_tp_memory_desc_destroy(src), dnnl_tp_memory_desc_destroy(wei), dnnl_tp_memory_desc_destroy(dst);
    return status;
}

enum { SRC = DNNL_TP_ARG_SRC, SRC_1 = DNNL_TP_ARG_SRC_1, WEI = DNNL_TP_ARG_WEIGHTS, DST = DNNL_TP_ARG_DST };
static const int every_arg[] = {SRC,
                                SRC_1,
                                DNNL_TP_ARG_SRC_2,
                                WEI,
                                DST,
                                DNNL_TP_ARG_MULTIPLE_SRC,
                                DNNL_TP_ARG_MULTIPLE_SRC + 1,
                                DNNL_TP_ARG_MULTIPLE_SRC + 2};
static const struct {
    make_t make;
    const char *name;
    int scales[3], zero_points[3]; /* 0 ends; for sources of s8 */
} kinds[] = {{make_matmul, "matmul", {SRC, WEI, DST}, {SRC, WEI, DST}},
             {make_ip, "inner_product", {SRC, WEI, DST}, {0}},
             {make_convolution, "convolution", {0}, {0}},
             {make_softmax, "softmax", {SRC, DST}, {0}},
             {make_lnorm, "layer_normalization", {SRC, DST}, {0}},
             {make_eltwise, "eltwise", {0}, {0}},
             {make_prelu, "prelu", {0}, {0}},
             {make_pooling, "pooling", {0}, {0}},
             {make_deconvolution, "deconvolution", {0}, {0}},
             {make_resampling, "resampling", {0}, {0}},
             {make_shuffle, "shuffle", {0}, {0}},
             {make_binary, "binary", {SRC, SRC_1}, {0}},
             {make_reduction, "reduction", {0}, {0}},
             {make_reorder, "reorder", {SRC, DST}, {SRC, DST}},
             {make_concat, "concat", {DNNL_TP_ARG_MULTIPLE_SRC, DNNL_TP_ARG_MULTIPLE_SRC + 1}, {0}},
             {make_sum, "sum", {0}, {0}}};

static bool listed(const int *list, int arg) {
    for (int i = 0; i < 3 && list[i]; ++i)
        if (list[i] == arg) return true;
    return false;
}

/* Scales and zero points of every argument, on every kind: taken where the table says, refused by name else. */
static void attributes_that_a_kind_has_not_are_refused(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (size_t a = 0; a < sizeof every_arg / sizeof *every_arg; ++a)
            for (int zero_point = 0; zero_point < 2; ++zero_point) {
                int arg = every_arg[a];
                char name[DTP_ARG_TEXT], want[128];
                dnnl_tp_primitive_attr_t attr;
                dnnl_tp_primitive_desc_t pd = NULL;
                CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
                const bool shifted = arg == SRC || arg == DNNL_TP_ARG_SRC_2 || arg == WEI || arg == DST;
                if (zero_point)
                    CHECK_STATUS(dnnl_tp_primitive_attr_set_zero_points_mask(attr, arg, 0),
                                 shifted ? dnnl_tp_success : dnnl_tp_invalid_arguments);
                else CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, arg, 0));
                if (zero_point && !shifted) {
                    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
                    continue;
                }
                bool taken = listed(zero_point ? kinds[k].zero_points : kinds[k].scales, arg);
                if (taken) {
                    CHECK_OK(kinds[k].make(&pd, dnnl_tp_s8, attr));
                    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
                } else {
                    CHECK_STATUS(kinds[k].make(&pd, dnnl_tp_s8, attr), dnnl_tp_unimplemented);
                    assert_int_equal(dtp_last_reason(),
                                     zero_point ? DTP_UNSUPPORTED_ZERO_POINTS : DTP_UNSUPPORTED_SCALES);
                    snprintf(want, sizeof want, "%s of %s: %s has them for",
                             zero_point ? "zero points" : "scales", dtp_arg_text(arg, name), kinds[k].name);
                    says(want);
                }
                CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
            }
    /* Zero points shift integers; masks name dimensions that there are. */
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_zero_points_mask(attr, SRC, 0));
    CHECK_STATUS(make_matmul(&pd, dnnl_tp_f32, attr), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_UNSUPPORTED_ZERO_POINTS);
    says("zero points of SRC: the tensor is f32");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, WEI, 4));
    CHECK_STATUS(make_matmul(&pd, dnnl_tp_f32, attr), dnnl_tp_unimplemented);
    says("scales of WEIGHTS: mask 4, the tensor has 2 dimensions");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_mask(attr, SRC, 2));
    CHECK_STATUS(make_softmax(&pd, dnnl_tp_f32, attr), dnnl_tp_unimplemented);
    says("scales of SRC: mask 2, softmax takes 0");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
}

/* ---- References -------------------------------------------------------------------------------------- */

static int reference_lines;
static void count_lines(void *arg, const char *line) {
    (void)arg;
    if (strstr(line, "primitive,exec:dispatch,cpu,matmul,ref:any,") &&
        strstr(line, "a reference implementation executes 65536 operations on 6144 bytes"))
        ++reference_lines;
}

static dnnl_tp_status_t make_product(dnnl_tp_primitive_desc_t *pd, int64_t side,
                                     dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_memory_desc_t half = matrix(side, side, dnnl_tp_s8), f = matrix(side, side, dnnl_tp_f32);
    dnnl_tp_status_t status = dnnl_tp_matmul_primitive_desc_create(pd, engine, half, half, NULL, f, attr);
    dnnl_tp_memory_desc_destroy(half);
    dnnl_tp_memory_desc_destroy(f);
    return status;
}

static void references_are_refused_or_told(void **state) {
    (void)state;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_stream_t stream;
    int on = -1;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_get_refuse_reference(attr, &on));
    assert_int_equal(on, 0);
    CHECK_OK(dnnl_tp_primitive_attr_set_refuse_reference(attr, 1));
    CHECK_OK(dnnl_tp_primitive_attr_get_refuse_reference(attr, &on));
    assert_int_equal(on, 1);
    CHECK_OK(make_matmul(&pd, dnnl_tp_f32, attr)); /* an optimized one serves it */
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_STATUS(make_product(&pd, 32, attr), dnnl_tp_unimplemented);
    assert_int_equal(dtp_last_reason(), DTP_NO_IMPL);
    says("the last one, ref:any, said: reference implementations are refused: "
         "matmul,undef,src_s8::blocked:ab::f0");
    says("32x32:32x32:32x32");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));

    static int8_t a[32 * 32];
    static float c[32 * 32];
    dnnl_tp_exec_handle_t args[] = {{SRC, a}, {WEI, a}, {DST, c}};
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, 0));
    CHECK_OK(dnnl_tp_set_verbose_callback(count_lines, NULL));
    unsigned bits = dtp_verbose_bits;
    for (int64_t side = 16; side <= 32; side += 16) { /* 8,192 operations are few */
        CHECK_OK(make_product(&pd, side, NULL));
        if (strcmp(pd->impl->name, "ref:any") != 0) {
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
            continue; /* served by something better by now */
        }
        CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
        reference_lines = 0;
        dtp_verbose_bits = DTP_VERBOSE_DISPATCH;
        for (int i = 0; i < 3; ++i) CHECK_OK(dnnl_tp_primitive_execute_handles(primitive, stream, 3, args));
        dtp_verbose_bits = bits;
        assert_int_equal(reference_lines, side == 32);
        CHECK_OK(dnnl_tp_primitive_destroy(primitive));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

/* ---- What the program says --------------------------------------------------------------------------- */

static void events_carry_what_was_said(void **state) {
    (void)state;
    dnnl_tp_event_t event;
    const char *text;
    CHECK_OK(dnnl_tp_event_create_host(&event, engine));
    assert_int_equal(dnnl_tp_fail(dnnl_tp_success, "nothing"), dnnl_tp_success);
    CHECK_OK(
        dnnl_tp_event_signal(event, dnnl_tp_fail(dnnl_tp_runtime_error, "row 7 of prices.csv is empty")));
    CHECK_OK(dnnl_tp_event_get_error(event, &text));
    assert_string_equal(text, "signalled with runtime_error: row 7 of prices.csv is empty");
    another_failure();
    CHECK_STATUS(dnnl_tp_event_wait(event, -1, NULL), dnnl_tp_runtime_error);
    says("dnnl_tp_event_wait: ");
    says("row 7 of prices.csv is empty");
    CHECK_OK(dnnl_tp_event_destroy(event));
    /* Once, and for its status only. */
    for (int other = 0; other < 2; ++other) {
        if (other) (void)dnnl_tp_fail(dnnl_tp_out_of_memory, "for another status");
        CHECK_OK(dnnl_tp_event_create_host(&event, engine));
        CHECK_OK(dnnl_tp_event_signal(event, dnnl_tp_runtime_error));
        CHECK_OK(dnnl_tp_event_get_error(event, &text));
        assert_string_equal(text, "signalled with runtime_error");
        CHECK_OK(dnnl_tp_event_destroy(event));
    }
    assert_int_equal(dnnl_tp_fail(dnnl_tp_cancelled, NULL), dnnl_tp_cancelled);
    assert_int_equal(dnnl_tp_fail(dnnl_tp_cancelled, "mine"), dnnl_tp_cancelled);
    assert_string_equal(dnnl_tp_last_error(), "mine");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(failures_name_their_call),
                                       cmocka_unit_test(attributes_that_a_kind_has_not_are_refused),
                                       cmocka_unit_test(references_are_refused_or_told),
                                       cmocka_unit_test(events_carry_what_was_said)};
    return cmocka_run_group_tests(tests, start, stop);
}
