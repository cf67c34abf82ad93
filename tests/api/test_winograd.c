/* Opaque weights of Winograd convolutions: where they come from, what can be asked of them, every wrong use refused;
 * when Winograd is taken. */
#include "support/check.h"

#include <string.h>

#include "common/base/object.h"
#include "common/primitive/primitive_desc.h"

static dnnl_tp_engine_t engine;
static dnnl_tp_stream_t stream;

typedef struct {
    dnnl_tp_alg_kind_t alg;
    int64_t ic, oc, size, kernel, stride, dilation;
    dnnl_tp_data_type_t dt;
    dnnl_tp_format_tag_t src;
    const_dnnl_tp_memory_desc_t wei; /* NULL: any */
    dnnl_tp_accumulation_mode_t acc;
} conv_t;

static const conv_t good = {.alg = dnnl_tp_convolution_winograd,
                            .ic = 20,
                            .oc = 40,
                            .size = 16,
                            .kernel = 3,
                            .stride = 1,
                            .dt = dnnl_tp_f32,
                            .src = dnnl_tp_acdb};

static dnnl_tp_status_t create(dnnl_tp_primitive_desc_t *pd, conv_t c) {
    const int64_t out = (c.size + 2 - ((c.kernel - 1) * (1 + c.dilation) + 1)) / c.stride + 1;
    const dnnl_tp_dims_t sdims = {1, c.ic, c.size, c.size}, wdims = {c.oc, c.ic, c.kernel, c.kernel},
                         ddims = {1, c.oc, out, out}, stride = {c.stride, c.stride},
                         dilation = {c.dilation, c.dilation}, one = {1, 1};
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 4, sdims, c.dt, c.src));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 4, wdims, c.dt, dnnl_tp_format_tag_any));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 4, ddims, c.dt, dnnl_tp_acdb));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_accumulation_mode(attr, c.acc));
    const dnnl_tp_status_t status = dnnl_tp_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_tp_forward_inference, c.alg, src, c.wei ? c.wei : wei, NULL, dst, stride, dilation,
        one, one, attr);
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return status;
}

/* The weights that the good problem asks for; the descriptor is the caller's. */
static dnnl_tp_memory_desc_t opaque(dnnl_tp_accumulation_mode_t acc) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_memory_desc_t md;
    conv_t c = good;
    c.acc = acc;
    CHECK_OK(create(&pd, c));
    CHECK_OK(
        dnnl_tp_memory_desc_clone(&md, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0)));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return md;
}

static void answers(dnnl_tp_status_t status, dnnl_tp_status_t want, dtp_reason_t reason, int line) {
    if (status != want || dtp_last_reason() != reason)
        fail_msg("line %d: %s, '%s'", line, dnnl_tp_status2str(status), dnnl_tp_last_error());
}
#define ANSWERS(call, status, reason) answers(call, dnnl_tp_##status, DTP_##reason, __LINE__)

/* What can be asked of the descriptor, and what cannot be made of it. */
static void descriptor(void **state) {
    (void)state;
    const dnnl_tp_dims_t dims = {40, 20, 3, 3}, none = {0}, flat = {40, 180};
    const int order[] = {1, 0, 2, 3};
    dnnl_tp_memory_desc_t md = opaque(dnnl_tp_accumulation_mode_strict),
                          four = opaque(dnnl_tp_accumulation_mode_any), made = NULL;
    dnnl_tp_format_kind_t kind;
    dnnl_tp_data_type_t dt;
    const dnnl_tp_dims_t *got;
    CHECK_OK(dnnl_tp_memory_desc_query(md, dnnl_tp_query_format_kind, &kind));
    CHECK_OK(dnnl_tp_memory_desc_query(md, dnnl_tp_query_data_type, &dt));
    CHECK_OK(dnnl_tp_memory_desc_query(md, dnnl_tp_query_dims, &got));
    assert_true(kind == dnnl_tp_format_kind_opaque && dt == dnnl_tp_f32 &&
                !memcmp(*got, dims, 4 * sizeof **got));
    assert_string_equal(dnnl_tp_fmt_kind2str(kind), "opaque");
    assert_int_equal(dnnl_tp_memory_desc_get_size(md), 16 * 48 * 20 * 4);
    assert_int_equal(dnnl_tp_memory_desc_get_size(four), 36 * 48 * 20 * 4);
    assert_true(dnnl_tp_memory_desc_equal(md, md) && !dnnl_tp_memory_desc_equal(md, four));
    ANSWERS(dnnl_tp_memory_desc_query(md, dnnl_tp_query_strides, &got), invalid_arguments, BAD_TAG);
    ANSWERS(dnnl_tp_memory_desc_query(md, dnnl_tp_query_inner_blks, &got), invalid_arguments, BAD_TAG);
    ANSWERS(dnnl_tp_memory_desc_create_submemory(&made, md, dims, none), unimplemented,
            UNSUPPORTED_SUBMEMORY);
    ANSWERS(dnnl_tp_memory_desc_permute_axes(&made, md, order), invalid_arguments, BAD_TAG);
    ANSWERS(dnnl_tp_memory_desc_reshape(&made, md, 2, flat), invalid_arguments, BAD_TAG);
    uint8_t blob[4096];
    size_t size = sizeof blob;
    CHECK_OK(dnnl_tp_memory_desc_get_blob(blob, &size, md));
    CHECK_OK(dnnl_tp_memory_desc_create_with_blob(&made, blob));
    assert_true(dnnl_tp_memory_desc_equal(md, made));
    CHECK_OK(dnnl_tp_memory_desc_destroy(made));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(four));
}

static dnnl_tp_status_t reorder(const_dnnl_tp_memory_desc_t from, const_dnnl_tp_memory_desc_t to) {
    dnnl_tp_primitive_desc_t pd;
    const dnnl_tp_status_t status =
        dnnl_tp_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL);
    if (!status) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return status;
}

static void reorders(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t md = opaque(dnnl_tp_accumulation_mode_strict),
                          four = opaque(dnnl_tp_accumulation_mode_any), plain, half, other, blocked;
    const dnnl_tp_dims_t dims = {40, 20, 3, 3}, fewer = {40, 19, 3, 3};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&plain, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&half, 4, dims, dnnl_tp_bf16, dnnl_tp_abcd));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&other, 4, fewer, dnnl_tp_f32, dnnl_tp_abcd));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&blocked, 4, dims, dnnl_tp_f32, dnnl_tp_ABcd16b16a));
    CHECK_OK(reorder(plain, md));
    CHECK_OK(reorder(plain, four));
    CHECK_OK(reorder(md, md));
    ANSWERS(reorder(md, four), unimplemented, NO_IMPL);
    ANSWERS(reorder(md, plain), unimplemented, NO_IMPL);
    ANSWERS(reorder(blocked, md), unimplemented, NO_IMPL);
    assert_int_equal(reorder(half, md), dnnl_tp_unimplemented);
    ANSWERS(reorder(other, md), invalid_arguments, DIMS_MISMATCH);
    dnnl_tp_memory_desc_t all[] = {md, four, plain, half, other, blocked};
    for (int i = 0; i < 6; ++i) CHECK_OK(dnnl_tp_memory_desc_destroy(all[i]));
}

/* As arguments where nothing knows their bytes. */
static void wrong_uses(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t md = opaque(dnnl_tp_accumulation_mode_strict),
                          four = opaque(dnnl_tp_accumulation_mode_any), plain;
    const dnnl_tp_dims_t dims = {40, 20, 3, 3};
    const float scales[2] = {1.f, 1.f};
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&plain, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    ANSWERS(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                          dnnl_tp_softmax_accurate, md, md, 1, NULL),
            invalid_arguments, BAD_TAG);
    ANSWERS(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                          dnnl_tp_eltwise_relu, plain, md, 0.f, 0.f, NULL),
            invalid_arguments, BAD_TAG);
    ANSWERS(dnnl_tp_binary_primitive_desc_create(&pd, engine, dnnl_tp_binary_add, plain, md, plain, NULL),
            invalid_arguments, BAD_TAG);
    const_dnnl_tp_memory_desc_t list[] = {plain, md};
    ANSWERS(dnnl_tp_sum_primitive_desc_create(&pd, engine, NULL, 2, scales, list, NULL), invalid_arguments,
            BAD_TAG);
    ANSWERS(dnnl_tp_concat_primitive_desc_create(&pd, engine, NULL, 2, 0, list, NULL), invalid_arguments,
            BAD_TAG);
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    ANSWERS(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, md), invalid_arguments, BAD_TAG);
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    conv_t c = good;
    c.wei = md;
    c.alg = dnnl_tp_convolution_direct; /* which never uses them */
    ANSWERS(create(&pd, c), unimplemented, NO_IMPL);
    c.alg = dnnl_tp_convolution_auto; /* where nothing else can be chosen */
    CHECK_OK(create(&pd, c));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    c.acc = dnnl_tp_accumulation_mode_relaxed;
    CHECK_OK(create(&pd, c));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    c.wei = four;
    CHECK_OK(create(&pd, c));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    c.acc = dnnl_tp_accumulation_mode_strict; /* tiles of 4 x 4 only where this is allowed */
    assert_int_equal(create(&pd, c), dnnl_tp_unimplemented);
    c.acc = dnnl_tp_accumulation_mode_f32;
    assert_int_equal(create(&pd, c), dnnl_tp_unimplemented);
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(four));
    CHECK_OK(dnnl_tp_memory_desc_destroy(plain));
}

static void set_memory(dnnl_tp_exec_arg_t *a, int arg, const_dnnl_tp_memory_desc_t md) {
    a->arg = arg;
    CHECK_OK(dnnl_tp_memory_create(&a->memory, md, engine, DNNL_TP_MEMORY_ALLOCATE));
}

/* Memory of another layout than the primitive asks for. */
static void wrong_memory(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t four = opaque(dnnl_tp_accumulation_mode_any), plain;
    const dnnl_tp_dims_t dims = {40, 20, 3, 3};
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t primitive;
    dnnl_tp_exec_arg_t args[3], wei[3];
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&plain, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    CHECK_OK(create(&pd, good));
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
    set_memory(&args[0], DNNL_TP_ARG_SRC, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_src_md, 0));
    set_memory(&args[1], DNNL_TP_ARG_DST, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
    set_memory(&wei[0], DNNL_TP_ARG_WEIGHTS,
               dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0));
    set_memory(&wei[1], DNNL_TP_ARG_WEIGHTS, four);
    set_memory(&wei[2], DNNL_TP_ARG_WEIGHTS, plain);
    for (int i = 0; i < 3; ++i) {
        args[2] = wei[i];
        const dnnl_tp_status_t status = dnnl_tp_primitive_execute(primitive, stream, 3, args);
        if (i == 0) CHECK_OK(status);
        else answers(status, dnnl_tp_invalid_arguments, DTP_MEMORY_MISMATCH, __LINE__);
    }
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    for (int i = 0; i < 3; ++i) CHECK_OK(dnnl_tp_memory_destroy(wei[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(four));
    CHECK_OK(dnnl_tp_memory_desc_destroy(plain));
}

/* What the chosen implementation does, or 0. */
static dnnl_tp_alg_kind_t chosen(conv_t c) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_alg_kind_t alg;
    const dnnl_tp_status_t status = create(&pd, c);
    if (status == dnnl_tp_unimplemented) return dnnl_tp_alg_kind_undef;
    CHECK_OK(status);
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_alg_kind, 0, &alg));
    const bool wino = !strncmp(pd->impl->name, "wino", 4);
    assert_int_equal(wino, alg == dnnl_tp_convolution_winograd);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return alg;
}

#define CHOSEN(alg_, ...)                            \
    do {                                             \
        conv_t c = good;                             \
        __VA_ARGS__;                                 \
        assert_int_equal(chosen(c), dnnl_tp_##alg_); \
    } while (0)

static void choice(void **state) {
    (void)state;
    const dnnl_tp_dims_t dims = {40, 20, 3, 3}, large = {256, 256, 3, 3};
    dnnl_tp_memory_desc_t plain, plain_large;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&plain, 4, dims, dnnl_tp_f32, dnnl_tp_abcd));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&plain_large, 4, large, dnnl_tp_f32, dnnl_tp_abcd));
    CHOSEN(convolution_winograd, (void)c);
    CHOSEN(convolution_winograd, c.wei = plain);
    CHOSEN(convolution_winograd, c.size = 1);
    CHOSEN(convolution_winograd, c.acc = dnnl_tp_accumulation_mode_any);
    CHOSEN(alg_kind_undef, c.kernel = 5);
    CHOSEN(alg_kind_undef, c.stride = 2);
    CHOSEN(alg_kind_undef, c.dilation = 1);
    CHOSEN(alg_kind_undef, c.dt = dnnl_tp_bf16);
    CHOSEN(alg_kind_undef, c.src = dnnl_tp_abcd);
    CHOSEN(convolution_direct, c.alg = dnnl_tp_convolution_direct, c.ic = c.oc = 64, c.size = 56);
    CHOSEN(convolution_winograd, c.alg = dnnl_tp_convolution_auto, c.ic = c.oc = 64, c.size = 56);
    CHOSEN(convolution_winograd, c.alg = dnnl_tp_convolution_auto, c.ic = c.oc = 512, c.size = 14);
    CHOSEN(convolution_winograd, c.alg = dnnl_tp_convolution_auto, c.ic = c.oc = 256, c.size = 56,
           c.wei = plain_large);
    CHOSEN(convolution_direct, c.alg = dnnl_tp_convolution_auto, c.ic = c.oc = 256, c.size = 4,
           c.wei = plain_large);
    CHOSEN(convolution_direct, c.alg = dnnl_tp_convolution_auto, c.ic = 3, c.oc = 64, c.size = 224);
    CHOSEN(convolution_direct, c.alg = dnnl_tp_convolution_auto, c.ic = c.oc = 64, c.size = 1);
    CHOSEN(convolution_direct, c.alg = dnnl_tp_convolution_auto, c.kernel = 5);
    CHECK_OK(dnnl_tp_memory_desc_destroy(plain));
    CHECK_OK(dnnl_tp_memory_desc_destroy(plain_large));
}

static int setup(void **state) {
    (void)state;
    return dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0) || dnnl_tp_stream_create(&stream, engine, 0);
}
static int teardown(void **state) {
    (void)state;
    return dnnl_tp_stream_destroy(stream) || dnnl_tp_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(descriptor), cmocka_unit_test(reorders),
                                       cmocka_unit_test(wrong_uses), cmocka_unit_test(wrong_memory),
                                       cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
