/* See problems.h. */
#include "support/problems.h"

#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"

/* ---- One problem per kind, large enough to be split -------------------------------------------------- */

typedef dnnl_tp_status_t (*make_fn_t)(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine,
                                      const_dnnl_tp_primitive_attr_t attr);

static dnnl_tp_status_t md_of(dnnl_tp_memory_desc_t *md, int64_t a, int64_t b, int64_t c,
                              dnnl_tp_format_tag_t tag) {
    dnnl_tp_dims_t dims = {a, b, c};
    return dnnl_tp_memory_desc_create_with_tag(md, c ? 3 : 2, dims, dnnl_tp_f32, tag);
}

/* Calls create with up to four descriptors that are released afterwards. */
#define WITH_MDS(count, init, create)                                         \
    dnnl_tp_memory_desc_t md[4] = {NULL};                                     \
    dnnl_tp_status_t status = dnnl_tp_success;                                \
    *pd = NULL;                                                               \
    init;                                                                     \
    if (!status) status = create;                                             \
    for (int i_ = 0; i_ < 4; ++i_) (void)dnnl_tp_memory_desc_destroy(md[i_]); \
    return status
#define MD(i, ...) \
    if (!status) status = md_of(&md[i], __VA_ARGS__)

static dnnl_tp_status_t make_matmul(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 97, 131, 0, dnnl_tp_ab); MD(1, 131, 203, 0, dnnl_tp_ab);
             MD(2, 97, 203, 0, dnnl_tp_ab),
             dnnl_tp_matmul_primitive_desc_create(pd, e, md[0], md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_matmul_transposed(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                               const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 5, 67, 90, dnnl_tp_acb); MD(1, 5, 90, 71, dnnl_tp_acb);
             MD(2, 5, 67, 71, dnnl_tp_abc),
             dnnl_tp_matmul_primitive_desc_create(pd, e, md[0], md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_inner_product(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                           const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 33, 200, 0, dnnl_tp_ab); MD(1, 150, 200, 0, dnnl_tp_ab);
             MD(2, 33, 150, 0, dnnl_tp_ab),
             dnnl_tp_inner_product_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference, md[0],
                                                                 md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_convolution_of(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                            const_dnnl_tp_primitive_attr_t a, dnnl_tp_alg_kind_t alg,
                                            const dnnl_tp_dims_t src, const dnnl_tp_dims_t wei, int wei_nd,
                                            const dnnl_tp_dims_t dst) {
    static const dnnl_tp_dims_t one = {1, 1};
    dnnl_tp_memory_desc_t md[3] = {NULL};
    *pd = NULL;
    dnnl_tp_status_t status = dnnl_tp_memory_desc_create_with_tag(&md[0], 4, src, dnnl_tp_f32, dnnl_tp_acdb);
    if (!status)
        status =
            dnnl_tp_memory_desc_create_with_tag(&md[1], wei_nd, wei, dnnl_tp_f32, dnnl_tp_format_tag_any);
    if (!status) status = dnnl_tp_memory_desc_create_with_tag(&md[2], 4, dst, dnnl_tp_f32, dnnl_tp_acdb);
    if (!status)
        status = dnnl_tp_convolution_forward_primitive_desc_create(
            pd, e, dnnl_tp_forward_inference, alg, md[0], md[1], NULL, md[2], one, NULL, one, NULL, a);
    for (int i = 0; i < 3; ++i) (void)dnnl_tp_memory_desc_destroy(md[i]);
    return status;
}
static dnnl_tp_status_t make_convolution(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                         const_dnnl_tp_primitive_attr_t a) {
    return make_convolution_of(pd, e, a, dnnl_tp_convolution_direct, (dnnl_tp_dims_t){2, 21, 19, 17},
                               (dnnl_tp_dims_t){50, 21, 3, 3}, 4, (dnnl_tp_dims_t){2, 50, 19, 17});
}
static dnnl_tp_status_t make_depthwise(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                       const_dnnl_tp_primitive_attr_t a) {
    return make_convolution_of(pd, e, a, dnnl_tp_convolution_direct, (dnnl_tp_dims_t){2, 70, 29, 27},
                               (dnnl_tp_dims_t){70, 1, 1, 3, 3}, 5, (dnnl_tp_dims_t){2, 70, 29, 27});
}
static dnnl_tp_status_t make_winograd(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                      const_dnnl_tp_primitive_attr_t a) {
    return make_convolution_of(pd, e, a, dnnl_tp_convolution_winograd, (dnnl_tp_dims_t){2, 40, 23, 21},
                               (dnnl_tp_dims_t){50, 40, 3, 3}, 4, (dnnl_tp_dims_t){2, 50, 23, 21});
}
static dnnl_tp_status_t make_softmax(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 131, 0, dnnl_tp_ab),
             dnnl_tp_softmax_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference,
                                                           dnnl_tp_softmax_accurate, md[0], md[0], 1, a));
}
static dnnl_tp_status_t make_layer_norm(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                        const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 131, 0, dnnl_tp_ab),
             dnnl_tp_layer_normalization_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_training, md[0], md[0], NULL, 1e-5f,
                 dnnl_tp_use_scale | dnnl_tp_use_shift, a));
}
static dnnl_tp_status_t make_batch_norm(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                        const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 7, 67, 301, dnnl_tp_acb),
             dnnl_tp_batch_normalization_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_training, md[0], md[0], 1e-5f,
                 dnnl_tp_use_scale | dnnl_tp_use_shift | dnnl_tp_fuse_norm_relu, a));
}
static dnnl_tp_status_t make_batch_norm_of_planes(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                                  const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 7, 67, 301, dnnl_tp_abc),
             dnnl_tp_batch_normalization_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_inference, md[0], md[0], 1e-5f, dnnl_tp_use_shift, a));
}
static dnnl_tp_status_t make_group_norm(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                        const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 7, 68, 301, dnnl_tp_acb),
             dnnl_tp_group_normalization_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_training, md[0], md[0], 17, 1e-5f,
                 dnnl_tp_use_scale | dnnl_tp_use_shift, a));
}
static dnnl_tp_status_t make_lrn(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                 const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 7, 67, 301, dnnl_tp_acb),
             dnnl_tp_lrn_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference,
                                                       dnnl_tp_lrn_across_channels, md[0], md[0], 5, 1e-4f,
                                                       .75f, 1.f, a));
}
static dnnl_tp_status_t make_eltwise(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_eltwise_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_inference, dnnl_tp_eltwise_gelu_erf, md[0], md[0], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_prelu(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                   const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 301, 331, 0, dnnl_tp_ab);
             MD(1, 1, 331, 0, dnnl_tp_ab), dnnl_tp_prelu_forward_primitive_desc_create(
                                               pd, e, dnnl_tp_forward_inference, md[0], md[1], md[0], a));
}
/* 1-D: windows of three columns, of channels last or of planes. */
static dnnl_tp_status_t make_pooling(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    const dnnl_tp_dims_t stride = {2}, kernel = {3}, dilation = {0}, pad = {1};
    WITH_MDS(2, MD(0, 7, 67, 301, dnnl_tp_acb);
             MD(1, 7, 67, 151, dnnl_tp_acb), dnnl_tp_pooling_forward_primitive_desc_create(
                                                 pd, e, dnnl_tp_forward_training, dnnl_tp_pooling_max, md[0],
                                                 md[1], stride, kernel, dilation, pad, pad, a));
}
static dnnl_tp_status_t make_pooling_of_planes(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                               const_dnnl_tp_primitive_attr_t a) {
    const dnnl_tp_dims_t stride = {1}, kernel = {3}, dilation = {0}, pad = {1};
    WITH_MDS(2, MD(0, 7, 67, 301, dnnl_tp_abc);
             MD(1, 7, 67, 301, dnnl_tp_abc),
             dnnl_tp_pooling_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference,
                                                           dnnl_tp_pooling_avg_exclude_padding, md[0], md[1],
                                                           stride, kernel, dilation, pad, pad, a));
}
/* 1-D: twice as many columns. */
static dnnl_tp_status_t make_deconvolution(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                           const_dnnl_tp_primitive_attr_t a) {
    const dnnl_tp_dims_t stride = {2}, pad = {1};
    WITH_MDS(3, MD(0, 3, 20, 101, dnnl_tp_acb); MD(1, 33, 20, 4, dnnl_tp_abc);
             MD(2, 3, 33, 202, dnnl_tp_acb),
             dnnl_tp_deconvolution_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference,
                                                                 dnnl_tp_deconvolution_direct, md[0], md[1],
                                                                 NULL, md[2], stride, NULL, pad, NULL, a));
}
/* 1-D, of channels last or of planes. */
static dnnl_tp_status_t make_resampling(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                        const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 67, 101, dnnl_tp_acb);
             MD(1, 7, 67, 201, dnnl_tp_acb),
             dnnl_tp_resampling_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_inference, dnnl_tp_resampling_linear, NULL, md[0], md[1], a));
}
static dnnl_tp_status_t make_resampling_of_planes(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                                  const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 67, 101, dnnl_tp_abc);
             MD(1, 7, 67, 201, dnnl_tp_abc),
             dnnl_tp_resampling_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_inference, dnnl_tp_resampling_linear, NULL, md[0], md[1], a));
}
static dnnl_tp_status_t make_shuffle(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 7, 116, 301, dnnl_tp_acb),
             dnnl_tp_shuffle_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference, md[0], md[0], 1,
                                                           2, a));
}
static dnnl_tp_status_t make_binary(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 301, 331, 0, dnnl_tp_ab); MD(1, 301, 1, 0, dnnl_tp_ab);
             MD(2, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_binary_primitive_desc_create(pd, e, dnnl_tp_binary_mul, md[0], md[1], md[2], a));
}
static dnnl_tp_status_t make_reduction(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                       const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 3001, 17, dnnl_tp_abc);
             MD(1, 7, 1, 17, dnnl_tp_abc), dnnl_tp_reduction_primitive_desc_create(
                                               pd, e, dnnl_tp_reduction_sum, md[0], md[1], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_reduction_of_all(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                              const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 30001, 0, dnnl_tp_ab);
             MD(1, 1, 1, 0, dnnl_tp_ab), dnnl_tp_reduction_primitive_desc_create(
                                             pd, e, dnnl_tp_reduction_mean, md[0], md[1], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_reorder(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 3, 133, 401, dnnl_tp_abc);
             MD(1, 3, 133, 401, dnnl_tp_aBc16b),
             dnnl_tp_reorder_primitive_desc_create(pd, md[0], e, md[1], e, a));
}
static dnnl_tp_status_t make_concat(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(
        2, MD(0, 101, 333, 0, dnnl_tp_ab);
        MD(1, 101, 77, 0, dnnl_tp_ba),
        dnnl_tp_concat_primitive_desc_create(pd, e, NULL, 2, 1, (const_dnnl_tp_memory_desc_t const *)md, a));
}
static dnnl_tp_status_t make_sum(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                 const_dnnl_tp_primitive_attr_t a) {
    static const float scales[3] = {0.5f, 2.f, -1.f};
    WITH_MDS(3, MD(0, 301, 331, 0, dnnl_tp_ab); MD(1, 301, 331, 0, dnnl_tp_ab);
             MD(2, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_sum_primitive_desc_create(pd, e, NULL, 3, scales,
                                               (const_dnnl_tp_memory_desc_t const *)md, a));
}

static const struct {
    const char *name;
    make_fn_t make;
} problems[] = {{"matmul", make_matmul},
                {"matmul transposed", make_matmul_transposed},
                {"inner product", make_inner_product},
                {"convolution", make_convolution},
                {"depthwise convolution", make_depthwise},
                {"winograd convolution", make_winograd},
                {"softmax", make_softmax},
                {"layer norm", make_layer_norm},
                {"batch norm", make_batch_norm},
                {"batch norm of planes", make_batch_norm_of_planes},
                {"group norm", make_group_norm},
                {"lrn", make_lrn},
                {"eltwise", make_eltwise},
                {"prelu", make_prelu},
                {"pooling", make_pooling},
                {"pooling of planes", make_pooling_of_planes},
                {"deconvolution", make_deconvolution},
                {"resampling", make_resampling},
                {"resampling of planes", make_resampling_of_planes},
                {"shuffle", make_shuffle},
                {"binary", make_binary},
                {"reduction", make_reduction},
                {"reduction of all", make_reduction_of_all},
                {"reorder", make_reorder},
                {"concat", make_concat},
                {"sum", make_sum}};
_Static_assert(sizeof problems / sizeof *problems == PROBLEMS, "the table has PROBLEMS lines");

const char *problem_name(int problem) { return problems[problem].name; }
dnnl_tp_status_t problem_make(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine, int problem,
                              const_dnnl_tp_primitive_attr_t attr) {
    return problems[problem].make(pd, engine, attr);
}

/* ---- Buffers ----------------------------------------------------------------------------------------- */

void buffers_create(buffers_t *b, const_dnnl_tp_primitive_desc_t pd) {
    memset(b, 0, sizeof *b);
    for (int i = 0; i < pd->nargs; ++i) {
        if (!pd->arg_bytes[i]) continue;
        assert_true(b->n < PROBLEM_MAX_ARGS);
        test_rng_t rng = test_rng((uint64_t)i);
        size_t bytes = (pd->arg_bytes[i] + 63) / 64 * 64;
        float *data = aligned_alloc(64, bytes);
        for (size_t k = 0; k < bytes / sizeof *data; ++k) data[k] = test_uniform(&rng, -2.f, 2.f);
        b->arg[b->n] = (dnnl_tp_exec_handle_t){pd->args[i].arg, data};
        b->bytes[b->n] = pd->arg_bytes[i];
        b->output[b->n++] = (pd->args[i].flags & DTP_ARG_OUTPUT) != 0;
    }
}

void buffers_destroy(buffers_t *b) {
    for (int i = 0; i < b->n; ++i) free(b->arg[i].handle);
}

void clear_outputs(buffers_t *b) {
    for (int i = 0; i < b->n; ++i)
        if (b->output[i]) memset(b->arg[i].handle, 0xff, b->bytes[i]);
}

bool same_outputs(const buffers_t *a, const buffers_t *b) {
    for (int i = 0; i < a->n; ++i)
        if (a->output[i] && memcmp(a->arg[i].handle, b->arg[i].handle, a->bytes[i])) return false;
    return true;
}

dnnl_tp_primitive_t primitive_for(dnnl_tp_engine_t engine, int problem, int threads) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_num_threads(attr, threads));
    CHECK_OK(problems[problem].make(&pd, engine, attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    assert_int_equal(p->pd->num_threads, threads); /* whatever the cache holds: scratch is booked by it */
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return p;
}

dnnl_tp_stream_t stream_on(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return stream;
}

void expected_of(dnnl_tp_engine_t engine, int problem, buffers_t *want) {
    dnnl_tp_primitive_t p = primitive_for(engine, problem, 1);
    dnnl_tp_stream_t stream = stream_on(engine, NULL);
    buffers_create(want, p->pd);
    clear_outputs(want);
    CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, want->n, want->arg));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}
