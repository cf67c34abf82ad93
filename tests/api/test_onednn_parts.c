/* What programs for oneDNN name and few have here: host scalars, types that are only stored, attributes that no primitive
 * takes, blobs of primitives, names of instruction sets, flags of streams. */
#include "support/check.h"
#include "support/streams.h"

#include <stdlib.h>
#include <string.h>

#include "common/layout/memory_desc.h"

static void refuses(dnnl_tp_status_t got, dnnl_tp_status_t want, const char *text) {
    assert_int_equal(got, want);
    if (!strstr(dnnl_tp_last_error(), text)) fail_msg("'%s' does not say '%s'", dnnl_tp_last_error(), text);
}

static dnnl_tp_memory_desc_t plain(int64_t rows, int64_t cols, dnnl_tp_data_type_t type) {
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {rows, cols};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, type, dnnl_tp_ab));
    return md;
}

static dnnl_tp_memory_t scalar(dnnl_tp_data_type_t type, void *value) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t mem;
    CHECK_OK(dnnl_tp_memory_desc_create_host_scalar(&md, type));
    CHECK_OK(dnnl_tp_memory_create_host_scalar(&mem, md, value));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    return mem;
}

/* ---- Host scalars ------------------------------------------------------------------------------------ */

static void a_host_scalar_holds_one_element(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_data_type_t type;
        size_t size;
    } types[] = {{dnnl_tp_f32, 4}, {dnnl_tp_s32, 4}, {dnnl_tp_bf16, 2}, {dnnl_tp_s8, 1}, {dnnl_tp_f64, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        uint64_t value = 0x1122334455667788u, got = 0, other = 0x99aabbccddeeff00u;
        dnnl_tp_memory_t mem = scalar(types[i].type, &value);
        const_dnnl_tp_memory_desc_t md;
        dnnl_tp_engine_t engine = test_engine;
        dnnl_tp_format_kind_t kind;
        CHECK_OK(dnnl_tp_memory_get_memory_desc(mem, &md));
        assert_int_equal(dnnl_tp_memory_desc_get_size(md), types[i].size);
        CHECK_OK(dnnl_tp_memory_desc_query(md, dnnl_tp_query_format_kind, &kind));
        assert_int_equal(kind, dnnl_tp_format_kind_host_scalar);
        CHECK_OK(dnnl_tp_memory_get_host_scalar_value(mem, &got));
        assert_memory_equal(&got, &value, types[i].size);
        CHECK_OK(dnnl_tp_memory_set_host_scalar_value(mem, &other));
        CHECK_OK(dnnl_tp_memory_get_host_scalar_value(mem, &got));
        assert_memory_equal(&got, &other, types[i].size);
        CHECK_OK(dnnl_tp_memory_get_engine(mem, &engine));
        assert_null(engine);
        void *handle;
        CHECK_STATUS(dnnl_tp_memory_get_data_handle(mem, &handle), dnnl_tp_invalid_arguments);
        CHECK_STATUS(dnnl_tp_memory_set_data_handle(mem, &got), dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_memory_map_data(mem, &handle));
        assert_memory_equal(handle, &other, types[i].size);
        CHECK_STATUS(dnnl_tp_memory_unmap_data(mem, &got), dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_memory_unmap_data(mem, handle));
        CHECK_OK(dnnl_tp_sync_memory(mem, -1));
        /* As a descriptor: a copy, a blob, no buffer. */
        dnnl_tp_memory_desc_t copy;
        uint8_t blob[2048];
        size_t size = sizeof blob;
        CHECK_OK(dnnl_tp_memory_desc_get_blob(blob, &size, md));
        CHECK_OK(dnnl_tp_memory_desc_create_with_blob(&copy, blob));
        assert_true(dnnl_tp_memory_desc_equal(copy, md));
        dnnl_tp_memory_t none;
        CHECK_STATUS(dnnl_tp_memory_create(&none, md, test_engine, DNNL_TP_MEMORY_ALLOCATE),
                     dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_memory_desc_destroy(copy));
        CHECK_OK(dnnl_tp_memory_destroy(mem));
    }
    dnnl_tp_memory_desc_t md = plain(2, 3, dnnl_tp_f32), refused;
    dnnl_tp_memory_t mem;
    float x = 1.f;
    CHECK_STATUS(dnnl_tp_memory_create_host_scalar(&mem, md, &x), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_memory_desc_create_host_scalar(&refused, dnnl_tp_s4), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_create(&mem, md, test_engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_STATUS(dnnl_tp_memory_get_host_scalar_value(mem, &x), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_destroy(mem));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
}

/* dst = (src - zero_point) * scale, s8 to f32, both host scalars. */
static dnnl_tp_primitive_t scaled_reorder(dnnl_tp_memory_desc_t from, dnnl_tp_memory_desc_t to) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_scales_v3(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_f32, 1,
                                                  dnnl_tp_quantization_mode_static_sazp));
    CHECK_OK(dnnl_tp_primitive_attr_set_zero_points_v2(attr, DNNL_TP_ARG_SRC, 0, 0, NULL, dnnl_tp_s32, 1));
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, from, test_engine, to, test_engine, attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return p;
}

/* On an asynchronous stream the scalars are changed and dropped while the work waits for an event. */
static void executions_take_the_value_of_a_host_scalar(void **state) {
    (void)state;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    enum { N = 6 };
    dnnl_tp_memory_desc_t from = plain(2, 3, dnnl_tp_s8), to = plain(2, 3, dnnl_tp_f32);
    dnnl_tp_primitive_t p = scaled_reorder(from, to);
    dnnl_tp_threadpool_t pool = test_pool(2);
    for (int async = 0; async < 2; ++async) {
        dnnl_tp_stream_t stream = test_stream(test_engine, test_pool_iface(pool), async, 0);
        int8_t src[N] = {-128, -1, 0, 1, 5, 127};
        float dst[2][N] = {{0}}, scale = .5f, none = 1e30f;
        int32_t zero = 3, far = -1000000;
        dnnl_tp_memory_t s, d[2], sc = scalar(dnnl_tp_f32, &scale), z = scalar(dnnl_tp_s32, &zero);
        CHECK_OK(dnnl_tp_memory_create(&s, from, test_engine, src));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_memory_create(&d[i], to, test_engine, dst[i]));
        dnnl_tp_event_t gate = test_host_event();
        if (async) CHECK_OK(dnnl_tp_stream_wait_event(stream, gate));
        for (int i = 0; i < 2; ++i) {
            const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, s},
                                               {DNNL_TP_ARG_TO, d[i]},
                                               {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, sc},
                                               {DNNL_TP_ARG_ATTR_ZERO_POINTS | DNNL_TP_ARG_SRC, z}};
            CHECK_OK(dnnl_tp_primitive_execute(p, stream, 4, args));
            scale *= 8.f;
            CHECK_OK(dnnl_tp_memory_set_host_scalar_value(sc, &scale));
        }
        CHECK_OK(dnnl_tp_memory_set_host_scalar_value(sc, &none));
        CHECK_OK(dnnl_tp_memory_set_host_scalar_value(z, &far));
        CHECK_OK(dnnl_tp_memory_destroy(sc));
        CHECK_OK(dnnl_tp_memory_destroy(z));
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        for (int i = 0; i < 2 * N; ++i) {
            const float want = (float)(src[i % N] - 3) * (i < N ? .5f : 4.f);
            if (dst[i / N][i % N] != want)
                fail_msg("async %d, %d: %g, not %g", async, i, (double)dst[i / N][i % N], (double)want);
        }
        CHECK_OK(dnnl_tp_event_destroy(gate));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_memory_destroy(d[i]));
        CHECK_OK(dnnl_tp_memory_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(stream));
    }
    CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_desc_destroy(from));
    CHECK_OK(dnnl_tp_memory_desc_destroy(to));
}

static void host_scalars_and_tensors_do_not_stand_for_each_other(void **state) {
    (void)state;
    dnnl_tp_memory_desc_t from = plain(2, 3, dnnl_tp_s8), to = plain(2, 3, dnnl_tp_f32);
    dnnl_tp_primitive_t p = scaled_reorder(from, to);
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_create(&stream, test_engine, 0));
    float scale = 2.f;
    int32_t zero = 0, wrong = 1;
    dnnl_tp_memory_t s, d, one, sc = scalar(dnnl_tp_f32, &scale), z = scalar(dnnl_tp_s32, &zero),
                                other = scalar(dnnl_tp_s32, &wrong);
    const dnnl_tp_dims_t dims = {1};
    dnnl_tp_memory_desc_t one_md;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&one_md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&one, one_md, test_engine, &scale));
    CHECK_OK(dnnl_tp_memory_create(&s, from, test_engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_create(&d, to, test_engine, DNNL_TP_MEMORY_ALLOCATE));
    dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, s},
                                 {DNNL_TP_ARG_TO, d},
                                 {DNNL_TP_ARG_ATTR_SCALES | DNNL_TP_ARG_SRC, one},
                                 {DNNL_TP_ARG_ATTR_ZERO_POINTS | DNNL_TP_ARG_SRC, z}};
    refuses(dnnl_tp_primitive_execute(p, stream, 4, args), dnnl_tp_invalid_arguments, "host scalar of f32");
    args[2].memory = other;
    refuses(dnnl_tp_primitive_execute(p, stream, 4, args), dnnl_tp_invalid_arguments, "host scalar of f32");
    args[2].memory = sc;
    CHECK_OK(dnnl_tp_primitive_execute(p, stream, 4, args));
    args[0].memory = sc;
    refuses(dnnl_tp_primitive_execute(p, stream, 4, args), dnnl_tp_invalid_arguments, "is a host scalar");
    args[0].memory = s;
    refuses(dnnl_tp_primitive_execute(p, stream, 3, args), dnnl_tp_invalid_arguments, "ZERO_POINTS");

    /* A descriptor of a host scalar is no tensor of a primitive; the attribute has one value. */
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_memory_desc_create_host_scalar(&md, dnnl_tp_f32));
    CHECK_STATUS(dnnl_tp_reorder_primitive_desc_create(&pd, md, test_engine, md, test_engine, NULL),
                 dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_STATUS(dnnl_tp_primitive_attr_set_scales_v2(attr, DNNL_TP_ARG_SRC, 2, 0, NULL, dnnl_tp_f32, 1),
                 dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(one_md));
    dnnl_tp_memory_t all[] = {s, d, one, sc, z, other};
    for (int i = 0; i < 6; ++i) CHECK_OK(dnnl_tp_memory_destroy(all[i]));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_memory_desc_destroy(from));
    CHECK_OK(dnnl_tp_memory_desc_destroy(to));
}

/* ---- What is stored, named and refused --------------------------------------------------------------- */

static void types_that_are_only_stored_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        dnnl_tp_data_type_t type;
        const char *name;
        size_t bytes; /* of 3 x 5 elements */
    } types[] = {{dnnl_tp_f8_e5m2, "f8_e5m2", 15},
                 {dnnl_tp_f8_e4m3, "f8_e4m3", 15},
                 {dnnl_tp_e8m0, "e8m0", 15},
                 {dnnl_tp_s4, "s4", 8},
                 {dnnl_tp_u4, "u4", 8},
                 {dnnl_tp_f4_e2m1, "f4_e2m1", 8},
                 {dnnl_tp_f4_e3m0, "f4_e3m0", 8}};
    dnnl_tp_memory_desc_t f32 = plain(3, 5, dnnl_tp_f32);
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        dnnl_tp_memory_desc_t md = plain(3, 5, types[i].type);
        dnnl_tp_memory_t mem;
        dnnl_tp_primitive_desc_t pd;
        assert_string_equal(dnnl_tp_dt2str(types[i].type), types[i].name);
        assert_int_equal(dnnl_tp_memory_desc_get_size(md), types[i].bytes);
        assert_int_equal(dnnl_tp_data_type_size(types[i].type), 1);
        CHECK_OK(dnnl_tp_memory_create(&mem, md, test_engine, DNNL_TP_MEMORY_ALLOCATE));
        CHECK_OK(dnnl_tp_memory_destroy(mem));
        refuses(dnnl_tp_reorder_primitive_desc_create(&pd, f32, test_engine, md, test_engine, NULL),
                dnnl_tp_unimplemented, types[i].name);
        refuses(dnnl_tp_reorder_primitive_desc_create(&pd, md, test_engine, md, test_engine, NULL),
                dnnl_tp_unimplemented, types[i].name);
        const_dnnl_tp_memory_desc_t two[] = {md, md};
        refuses(dnnl_tp_concat_primitive_desc_create(&pd, test_engine, NULL, 2, 0, two, NULL),
                dnnl_tp_unimplemented, types[i].name);
        refuses(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, test_engine, dnnl_tp_forward_inference,
                                                              dnnl_tp_eltwise_relu, md, md, 0.f, 0.f, NULL),
                dnnl_tp_unimplemented, types[i].name);
        refuses(
            dnnl_tp_binary_primitive_desc_create(&pd, test_engine, dnnl_tp_binary_add, f32, md, f32, NULL),
            dnnl_tp_unimplemented, types[i].name);
        CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    }
    /* As the tensor of a post-operation. */
    dnnl_tp_memory_desc_t md = plain(3, 5, dnnl_tp_f8_e4m3);
    dnnl_tp_post_ops_t ops;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_post_ops_create(&ops));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    dnnl_tp_status_t status = dnnl_tp_post_ops_append_binary(ops, dnnl_tp_binary_add, md);
    if (status == dnnl_tp_success) {
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));
        refuses(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, test_engine, dnnl_tp_forward_inference,
                                                              dnnl_tp_eltwise_relu, f32, f32, 0.f, 0.f, attr),
                dnnl_tp_unimplemented, "f8_e4m3");
    }
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(ops));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    CHECK_OK(dnnl_tp_memory_desc_destroy(f32));
}

static dnnl_tp_status_t relu_with(dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_memory_desc_t f32 = plain(3, 5, dnnl_tp_f32);
    dnnl_tp_primitive_desc_t pd;
    const dnnl_tp_status_t status = dnnl_tp_eltwise_forward_primitive_desc_create(
        &pd, test_engine, dnnl_tp_forward_inference, dnnl_tp_eltwise_relu, f32, f32, 0.f, 0.f, attr);
    if (status == dnnl_tp_success) CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(f32));
    return status;
}

static void attributes_that_no_primitive_takes_are_refused_by_name(void **state) {
    (void)state;
    dnnl_tp_primitive_attr_t attr, copy;
    dnnl_tp_memory_desc_t mask = plain(3, 5, dnnl_tp_u8);
    dnnl_tp_rounding_mode_t mode;
    const_dnnl_tp_memory_desc_t got;
    dnnl_tp_data_type_t seed;
    int offset, host;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(relu_with(attr));
    CHECK_OK(dnnl_tp_primitive_attr_get_dropout(attr, &got));
    assert_true(dnnl_tp_memory_desc_equal(got, NULL));
    CHECK_STATUS(dnnl_tp_primitive_attr_set_dropout(attr, NULL), dnnl_tp_invalid_arguments);

    CHECK_OK(dnnl_tp_primitive_attr_set_rounding(attr, DNNL_TP_ARG_DST, dnnl_tp_rounding_mode_stochastic));
    CHECK_STATUS(dnnl_tp_primitive_attr_set_rounding(attr, DNNL_TP_ARG_DST, (dnnl_tp_rounding_mode_t)9),
                 dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_primitive_attr_set_rounding(attr, 129, dnnl_tp_rounding_mode_stochastic));
    CHECK_OK(dnnl_tp_primitive_attr_set_rounding(attr, 161, dnnl_tp_rounding_mode_stochastic));
    CHECK_OK(dnnl_tp_primitive_attr_set_rounding(attr, DNNL_TP_ARG_DST, dnnl_tp_rounding_mode_stochastic));
    CHECK_OK(dnnl_tp_primitive_attr_clone(&copy, attr));
    CHECK_OK(dnnl_tp_primitive_attr_get_rounding(copy, DNNL_TP_ARG_DST, &mode));
    assert_int_equal(mode, dnnl_tp_rounding_mode_stochastic);
    refuses(relu_with(copy), dnnl_tp_unimplemented, "stochastic rounding");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(copy));
    const int args[] = {DNNL_TP_ARG_DST, 129, 161};
    for (int i = 0; i < 3; ++i) {
        refuses(relu_with(attr), dnnl_tp_unimplemented, "stochastic rounding");
        CHECK_OK(dnnl_tp_primitive_attr_set_rounding(attr, args[i], dnnl_tp_rounding_mode_environment));
        CHECK_OK(dnnl_tp_primitive_attr_get_rounding(attr, args[i], &mode));
        assert_int_equal(mode, dnnl_tp_rounding_mode_environment);
    }
    CHECK_OK(relu_with(attr));
    CHECK_STATUS(dnnl_tp_primitive_attr_set_rounding(attr, DNNL_TP_ARG_DST, (dnnl_tp_rounding_mode_t)9),
                 dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_primitive_attr_set_rounding(attr, DNNL_TP_ARG_SRC, dnnl_tp_rounding_mode_stochastic),
                 dnnl_tp_invalid_arguments);

    CHECK_OK(dnnl_tp_primitive_attr_clone(&copy, attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_dropout_v2(copy, mask, dnnl_tp_s64, 1, 1));
    CHECK_OK(dnnl_tp_primitive_attr_get_dropout_v2(copy, &got, &seed, &offset, &host));
    assert_true(dnnl_tp_memory_desc_equal(got, mask));
    assert_int_equal(seed, dnnl_tp_s64);
    assert_int_equal(offset + host, 2);
    refuses(relu_with(copy), dnnl_tp_unimplemented, "dropout");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(copy));

    CHECK_OK(dnnl_tp_primitive_attr_set_precomputed_reductions(attr, DNNL_TP_ARG_SRC, 3, 2,
                                                               (dnnl_tp_dims_t){1, 32}, dnnl_tp_s32));
    refuses(relu_with(attr), dnnl_tp_unimplemented, "precomputed reductions");
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_memory_desc_destroy(mask));
}

/* A depthwise convolution behind another is an entry of a chain, with scales of its weights; creation refuses it. */
static void a_depthwise_convolution_is_read_back_and_refused(void **state) {
    (void)state;
    dnnl_tp_post_ops_t ops;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_data_type_t types[3];
    dnnl_tp_dim_t sizes[3];
    CHECK_OK(dnnl_tp_post_ops_create(&ops));
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0, 0));
    CHECK_OK(dnnl_tp_post_ops_append_dw(ops, dnnl_tp_s8, dnnl_tp_data_type_undef, dnnl_tp_u8, 3, 2, 1));
    assert_int_equal(dnnl_tp_post_ops_get_kind(ops, 1), dnnl_tp_convolution);
    CHECK_OK(dnnl_tp_post_ops_get_params_dw(ops, 1, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_OK(dnnl_tp_post_ops_get_params_dw(ops, 1, &types[0], &types[1], &types[2], &sizes[0], &sizes[1],
                                            &sizes[2]));
    assert_int_equal(types[0], dnnl_tp_s8);
    assert_int_equal(types[1], dnnl_tp_data_type_undef);
    assert_int_equal(types[2], dnnl_tp_u8);
    assert_true(sizes[0] == 3 && sizes[1] == 2 && sizes[2] == 1);
    CHECK_STATUS(dnnl_tp_post_ops_get_params_dw(ops, 0, NULL, NULL, NULL, NULL, NULL, NULL),
                 dnnl_tp_invalid_arguments);
    static const struct {
        dnnl_tp_data_type_t wei, dst;
        dnnl_tp_dim_t kernel, stride, padding;
    } wrong[] = {{dnnl_tp_data_type_undef, dnnl_tp_f32, 3, 1, 1},
                 {dnnl_tp_f32, dnnl_tp_data_type_undef, 3, 1, 1},
                 {dnnl_tp_f32, dnnl_tp_f32, 0, 1, 0},
                 {dnnl_tp_f32, dnnl_tp_f32, 3, 0, 1},
                 {dnnl_tp_f32, dnnl_tp_f32, 3, 1, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        CHECK_STATUS(dnnl_tp_post_ops_append_dw(ops, wrong[i].wei, dnnl_tp_f32, wrong[i].dst, wrong[i].kernel,
                                                wrong[i].stride, wrong[i].padding),
                     dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_post_ops_len(ops), 2);
    CHECK_OK(
        dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_ATTR_POST_OP_DW | DNNL_TP_ARG_WEIGHTS, 1));
    refuses(relu_with(attr), dnnl_tp_unimplemented, "ATTR_POST_OP_DW | WEIGHTS");
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));
    refuses(relu_with(attr), dnnl_tp_unimplemented, "depthwise convolution");
    CHECK_STATUS(
        dnnl_tp_primitive_attr_set_scales_mask(attr, DNNL_TP_ARG_ATTR_POST_OP_DW | DNNL_TP_ARG_MEAN, 1),
        dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(ops));
}

/* ---- Windows ----------------------------------------------------------------------------------------- */

/* Copies 2 x 3 elements into a window of 4 x 6 at (row, column), given memory of the whole; its status. */
static dnnl_tp_status_t copy_into(int64_t row, int64_t column, dnnl_tp_memory_desc_t given, float *to) {
    dnnl_tp_memory_desc_t part = plain(2, 3, dnnl_tp_f32), whole = plain(4, 6, dnnl_tp_f32), window;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_t from, into;
    float data[6] = {1, 2, 3, 4, 5, 6};
    CHECK_OK(dnnl_tp_memory_desc_create_submemory(&window, whole, (dnnl_tp_dims_t){2, 3},
                                                  (dnnl_tp_dims_t){row, column}));
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, part, test_engine, window, test_engine, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_stream_create(&stream, test_engine, 0));
    CHECK_OK(dnnl_tp_memory_create(&from, part, test_engine, data));
    CHECK_OK(dnnl_tp_memory_create(&into, given ? given : whole, test_engine, to));
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, from}, {DNNL_TP_ARG_TO, into}};
    const dnnl_tp_status_t status = dnnl_tp_primitive_execute(p, stream, 2, args);
    CHECK_OK(dnnl_tp_stream_wait(stream));
    CHECK_OK(dnnl_tp_memory_destroy(from));
    CHECK_OK(dnnl_tp_memory_destroy(into));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(part));
    CHECK_OK(dnnl_tp_memory_desc_destroy(whole));
    CHECK_OK(dnnl_tp_memory_desc_destroy(window));
    return status;
}

static void a_primitive_of_a_window_takes_the_memory_of_the_whole(void **state) {
    (void)state;
    float to[64];
    for (int64_t row = 0; row <= 2; ++row)
        for (int64_t column = 0; column <= 3; ++column) {
            memset(to, 0, sizeof to);
            CHECK_OK(copy_into(row, column, NULL, to));
            for (int64_t i = 0; i < 24; ++i) {
                const int64_t r = i / 6 - row, c = i % 6 - column;
                const bool inside = r >= 0 && r < 2 && c >= 0 && c < 3;
                assert_true(to[i] == (inside ? (float)(r * 3 + c + 1) : 0.f));
            }
        }
    /* Others are refused: too few rows, other strides, another type, no window at all. */
    dnnl_tp_memory_desc_t wrong[] = {plain(3, 6, dnnl_tp_f32), plain(4, 7, dnnl_tp_f32),
                                     plain(4, 6, dnnl_tp_s32)};
    for (int i = 0; i < 3; ++i) {
        CHECK_STATUS(copy_into(2, 1, wrong[i], to), dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_memory_desc_destroy(wrong[i]));
    }
    dnnl_tp_memory_desc_t two = plain(2, 6, dnnl_tp_f32), four = plain(4, 6, dnnl_tp_f32);
    dnnl_tp_primitive_t p;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_t a, b;
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&pd, two, test_engine, two, test_engine, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_stream_create(&stream, test_engine, 0));
    CHECK_OK(dnnl_tp_memory_create(&a, two, test_engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_create(&b, four, test_engine, DNNL_TP_MEMORY_ALLOCATE));
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, a}, {DNNL_TP_ARG_TO, b}};
    CHECK_STATUS(dnnl_tp_primitive_execute(p, stream, 2, args), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_destroy(a));
    CHECK_OK(dnnl_tp_memory_destroy(b));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(two));
    CHECK_OK(dnnl_tp_memory_desc_destroy(four));
}

/* ---- Blobs ------------------------------------------------------------------------------------------- */

static dnnl_tp_primitive_desc_t product(int64_t n) {
    dnnl_tp_memory_desc_t md = plain(n, n, dnnl_tp_f32);
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, test_engine, md, md, NULL, md, NULL));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    return pd;
}

static void a_blob_makes_the_same_primitive(void **state) {
    (void)state;
    dnnl_tp_primitive_desc_t pd = product(4), other = product(5), again = product(4);
    dnnl_tp_primitive_t p, q;
    uint8_t *blob, small;
    size_t size = 0, room = 1;
    int64_t id_size;
    const uint8_t *id, *same_id;
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_get_cache_blob(p, &size, NULL));
    assert_true(size > 8);
    CHECK_STATUS(dnnl_tp_primitive_get_cache_blob(p, &room, &small), dnnl_tp_invalid_arguments);
    assert_int_equal(room, size);
    blob = malloc(size);
    CHECK_OK(dnnl_tp_primitive_get_cache_blob(p, &size, blob));
    CHECK_OK(dnnl_tp_primitive_create_from_cache_blob(&q, again, size, blob));
    CHECK_OK(dnnl_tp_primitive_destroy(q));
    CHECK_STATUS(dnnl_tp_primitive_create_from_cache_blob(&q, other, size, blob), dnnl_tp_invalid_arguments);
    assert_null(q);
    CHECK_STATUS(dnnl_tp_primitive_create_from_cache_blob(&q, pd, size - 1, blob), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_primitive_create_from_cache_blob(&q, pd, 0, NULL), dnnl_tp_invalid_arguments);
    for (size_t i = 0; i < size; ++i) { /* no byte of it may be another */
        blob[i] ^= 0x10;
        CHECK_STATUS(dnnl_tp_primitive_create_from_cache_blob(&q, pd, size, blob), dnnl_tp_invalid_arguments);
        blob[i] ^= 0x10;
    }
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_cache_blob_id_size_s64, 0, &id_size));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_cache_blob_id, 0, &id));
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_cache_blob_id, 0, &same_id));
    assert_ptr_equal(id, same_id);
    CHECK_OK(dnnl_tp_primitive_desc_query(again, dnnl_tp_query_cache_blob_id, 0, &same_id));
    assert_memory_equal(id, same_id, (size_t)id_size);
    while (dnnl_tp_primitive_desc_next_impl(again) == dnnl_tp_success) {
        int64_t next_size;
        CHECK_OK(dnnl_tp_primitive_desc_query(again, dnnl_tp_query_cache_blob_id_size_s64, 0, &next_size));
        CHECK_OK(dnnl_tp_primitive_desc_query(again, dnnl_tp_query_cache_blob_id, 0, &same_id));
        assert_true(next_size != id_size || memcmp(id, same_id, (size_t)id_size) != 0);
        CHECK_STATUS(dnnl_tp_primitive_create_from_cache_blob(&q, again, size, blob),
                     dnnl_tp_invalid_arguments);
    }
    free(blob);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(other));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(again));
}

/* ---- Names ------------------------------------------------------------------------------------------- */

static void every_instruction_set_has_a_name_and_limits_an_engine(void **state) {
    (void)state;
    static const struct {
        int isa;
        const char *name;
        dnnl_tp_cpu_isa_t as; /* what limits to the same */
    } sets[] = {{0x1, "sse41", dnnl_tp_cpu_isa_sse41},
                {0x3, "avx", dnnl_tp_cpu_isa_sse41},
                {0x7, "avx2", dnnl_tp_cpu_isa_avx2},
                {0xf, "avx2_vnni", dnnl_tp_cpu_isa_avx2},
                {0x1f, "avx2_vnni_2", dnnl_tp_cpu_isa_avx2},
                {0x27, "avx512_core", dnnl_tp_cpu_isa_avx512_core},
                {0x67, "avx512_core_vnni", dnnl_tp_cpu_isa_avx512_core_vnni},
                {0xe7, "avx512_core_bf16", dnnl_tp_cpu_isa_avx512_core_bf16},
                {0x1ef, "avx10_1_512", dnnl_tp_cpu_isa_default},
                {0xfef, "avx10_1_512_amx", dnnl_tp_cpu_isa_default},
                {0x1fef, "avx10_1_512_amx_fp16", dnnl_tp_cpu_isa_default},
                {0x201ff, "avx10_2", dnnl_tp_cpu_isa_default},
                {0x22fff, "avx10_2_amx_2", dnnl_tp_cpu_isa_default},
                {0xa03ff, "avx10_2_ace", dnnl_tp_cpu_isa_default}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        const char *impl[2];
        const int isas[2] = {sets[i].isa, (int)sets[i].as};
        assert_string_equal(dnnl_tp_cpu_isa2str((dnnl_tp_cpu_isa_t)sets[i].isa), sets[i].name);
        for (int k = 0; k < 2; ++k) {
            dnnl_tp_engine_attr_t attr;
            dnnl_tp_engine_t engine;
            dnnl_tp_primitive_desc_t pd;
            dnnl_tp_memory_desc_t md = plain(64, 64, dnnl_tp_bf16);
            CHECK_OK(dnnl_tp_engine_attr_create(&attr));
            CHECK_OK(dnnl_tp_engine_attr_set_max_isa(attr, (dnnl_tp_cpu_isa_t)isas[k]));
            CHECK_OK(dnnl_tp_engine_create_v2(&engine, dnnl_tp_cpu, 0, attr));
            CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, md, md, NULL, md, NULL));
            CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_impl_info_str, 0, &impl[k]));
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
            CHECK_OK(dnnl_tp_memory_desc_destroy(md));
            CHECK_OK(dnnl_tp_engine_destroy(engine));
            CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
        }
        assert_string_equal(impl[0], impl[1]);
    }
    dnnl_tp_engine_attr_t attr;
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    const int none[] = {2, 0x47, 0x1ff, 0x10000, -1};
    for (int i = 0; i < 5; ++i)
        CHECK_STATUS(dnnl_tp_engine_attr_set_max_isa(attr, (dnnl_tp_cpu_isa_t)none[i]),
                     dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
}

static void flags_of_streams(void **state) {
    (void)state;
    dnnl_tp_stream_t stream;
    for (unsigned flags = 0; flags < 8; ++flags) {
        const dnnl_tp_status_t status = dnnl_tp_stream_create(&stream, test_engine, flags);
        assert_int_equal(status, flags < 4 ? dnnl_tp_success : dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
    }
    assert_string_equal(dnnl_tp_rounding_mode2str(dnnl_tp_rounding_mode_stochastic), "stochastic");
    assert_string_equal(dnnl_tp_rnn_direction2str(dnnl_tp_bidirectional_sum), "bidirectional_sum");
    assert_string_equal(dnnl_tp_quantization_mode2str(dnnl_tp_quantization_mode_dynamic_fp), "dynamic_fp");
    assert_string_equal(dnnl_tp_rnn_flags2str((dnnl_tp_rnn_flags_t)7), "unknown rnn_flags");
}

static void hints_are_refused_by_name(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_set_cpu_isa_hints(dnnl_tp_cpu_isa_no_hints));
    refuses(dnnl_tp_set_cpu_isa_hints(dnnl_tp_cpu_isa_prefer_ymm), dnnl_tp_unimplemented, "prefer_ymm");
    refuses(dnnl_tp_set_cpu_isa_hints((dnnl_tp_cpu_isa_hints_t)2), dnnl_tp_invalid_arguments, "hint 2");
    assert_int_equal(dnnl_tp_get_cpu_isa_hints(), dnnl_tp_cpu_isa_no_hints);
    assert_string_equal(dnnl_tp_cpu_isa_hints2str(dnnl_tp_cpu_isa_no_hints), "cpu_isa_no_hints");
    assert_string_equal(dnnl_tp_cpu_isa_hints2str((dnnl_tp_cpu_isa_hints_t)2), "unknown cpu_isa_hints");
    static const char *const encodings[] = {"undef", "csr", "packed", "coo", "unknown sparse_encoding"};
    for (int i = 0; i < 5; ++i)
        assert_string_equal(dnnl_tp_sparse_encoding2str((dnnl_tp_sparse_encoding_t)i), encodings[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_scalar_holds_one_element),
        cmocka_unit_test(executions_take_the_value_of_a_host_scalar),
        cmocka_unit_test(host_scalars_and_tensors_do_not_stand_for_each_other),
        cmocka_unit_test(types_that_are_only_stored_are_refused_by_name),
        cmocka_unit_test(attributes_that_no_primitive_takes_are_refused_by_name),
        cmocka_unit_test(a_depthwise_convolution_is_read_back_and_refused),
        cmocka_unit_test(a_primitive_of_a_window_takes_the_memory_of_the_whole),
        cmocka_unit_test(a_blob_makes_the_same_primitive),
        cmocka_unit_test(every_instruction_set_has_a_name_and_limits_an_engine),
        cmocka_unit_test(hints_are_refused_by_name),
        cmocka_unit_test(flags_of_streams),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
