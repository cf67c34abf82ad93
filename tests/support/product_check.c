#include "support/product_check.h"

#include "support/tensor.h"
#include "support/traps.h"
#include "support/upload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/scalar.h"
#include "threading/base/parallel.h"

enum { GUARD = 256, FILL = 0xA5 };

/* A buffer of a descriptor with a guard behind it. */
typedef struct {
    dtp_md_t md;
    dnnl_tp_memory_t memory;
    char *data;
    size_t bytes;
} operand_t;

static test_rng_t rng;

static void operand_init(operand_t *t, const dtp_md_t *md, dnnl_tp_engine_t engine, bool real,
                         bool zero_padding) {
    t->md = *md;
    t->bytes = dtp_md_size(md);
    if (md->offset0) t->bytes += (size_t)md->offset0 * dtp_type_size(md->data_type);
    t->data = aligned_alloc(64, dtp_round_up_size(t->bytes + GUARD, 64));
    assert_non_null(t->data);
    memset(t->data, FILL, t->bytes + GUARD);
    if (zero_padding && md->inner_nblks) memset(t->data, 0, t->bytes);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(md) > 0) do {
            const double v = real ? test_uniform(&rng, -1, 1) : (double)(test_rand(&rng) % 9) - 4;
            dtp_store(md->data_type, t->data, tensor_offset(md, pos), v);
        } while (tensor_next(md, pos));
    /* The API takes element 0 of the parent; offset0 is in the descriptor. */
    void *handle = test_engine_is_far(engine) ? DNNL_TP_MEMORY_ALLOCATE : t->bytes ? t->data : NULL;
    CHECK_OK(dnnl_tp_memory_create(&t->memory, md, engine, handle));
}

static void operand_free(operand_t *t) {
    if (!t->data) return;
    for (int i = 0; i < GUARD; ++i)
        if ((unsigned char)t->data[t->bytes + (size_t)i] != FILL)
            fail_msg("byte %d behind a tensor was written", i);
    assert_int_equal(dnnl_tp_memory_destroy(t->memory), dnnl_tp_success);
    free(t->data);
}

/* Position in a broadcast operand. */
static double image(const operand_t *t, const int64_t *pos) {
    int64_t p[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < t->md.ndims; ++d) p[d] = t->md.dims[d] == 1 ? 0 : pos[d];
    return dtp_load(t->md.data_type, t->data, tensor_offset(&t->md, p));
}

static bool is_binary(pc_step_t s) { return s >= PC_ADD && s <= PC_MAX; }

/* Shape of a binary operand: full, one row, one column, scalar. */
static void binary_dims(pc_step_t s, const dtp_md_t *dst, int64_t *dims) {
    for (int d = 0; d < dst->ndims; ++d) {
        const bool col = d == dst->ndims - 1, row = d == dst->ndims - 2;
        dims[d] = s == PC_ADD || s == PC_MAX || (s == PC_ADD_COLS && col) || (s == PC_ADD_ROWS && row)
                      ? dst->dims[d]
                      : 1;
    }
}

static double eltwise(pc_step_t s, double x) {
    switch (s) {
    case PC_RELU: return x > 0 ? x : x != x ? x : 0;
    case PC_LEAKY: return x > 0 ? x : 0.5 * x;
    case PC_GELU_ERF: return 0.5 * x * erfc(-x / sqrt(2.));
    case PC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case PC_TANH: return tanh(x);
    default: return 2 * x + 1;
    }
}

static void append(dnnl_tp_post_ops_t ops, pc_step_t s, const dtp_md_t *src1) {
    switch (s) {
    case PC_RELU: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0, 0)); break;
    case PC_LEAKY: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_relu, 0.5f, 0)); break;
    case PC_GELU_ERF: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_gelu_erf, 0, 0)); break;
    case PC_GELU_TANH: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_gelu_tanh, 0, 0)); break;
    case PC_TANH: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_tanh, 0, 0)); break;
    case PC_LINEAR: CHECK_OK(dnnl_tp_post_ops_append_eltwise(ops, dnnl_tp_eltwise_linear, 2, 1)); break;
    case PC_SUM: CHECK_OK(dnnl_tp_post_ops_append_sum(ops, 1, 0, dnnl_tp_data_type_undef)); break;
    case PC_SUM_HALF: CHECK_OK(dnnl_tp_post_ops_append_sum(ops, 0.5f, 0, dnnl_tp_data_type_undef)); break;
    case PC_MUL_SCALAR: CHECK_OK(dnnl_tp_post_ops_append_binary(ops, dnnl_tp_binary_mul, src1)); break;
    case PC_MAX: CHECK_OK(dnnl_tp_post_ops_append_binary(ops, dnnl_tp_binary_max, src1)); break;
    default: CHECK_OK(dnnl_tp_post_ops_append_binary(ops, dnnl_tp_binary_add, src1)); break;
    }
}

typedef struct {
    const pc_problem_t *p;
    operand_t t[4], extra[PC_MAX_STEPS];
    char *old_dst;
} run_t;

/* Values of an operand in logical order; malloc. */
static float *dense(const operand_t *t) {
    const int64_t n = dtp_md_nelems(&t->md);
    float *v = malloc((size_t)(n + 1) * sizeof *v);
    assert_non_null(v);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    for (int64_t e = 0; e < n; ++e, tensor_next(&t->md, pos))
        v[e] = (float)dtp_load(t->md.data_type, t->data, tensor_offset(&t->md, pos));
    return v;
}

/* Value and magnitude (sum of absolute terms) of dst at pos before rounding to its type; left and right are values of
 * src and weights. */
static double oracle(const run_t *r, const float *left, const float *right, const int64_t *pos,
                     double *size) {
    const operand_t *src = &r->t[0], *wei = &r->t[1], *bia = &r->t[2], *dst = &r->t[3];
    const int nd = src->md.ndims;
    double x = 0;
    *size = 0;
    const bool ip = r->p->inner_product;
    int64_t nk = 1, src_at = 0, wei_at = 0;
    for (int d = ip ? 1 : nd - 1; d < nd; ++d) nk *= src->md.dims[d];
    if (ip) {
        src_at = pos[0] * nk;
        wei_at = pos[1] * nk;
    } else {
        /* Row-major linear indices of (.., m, 0) and (.., 0, n). */
        for (int d = 0; d < nd; ++d) {
            src_at = src_at * src->md.dims[d] + (d == nd - 1 || src->md.dims[d] == 1 ? 0 : pos[d]);
            wei_at = wei_at * wei->md.dims[d] + (d == nd - 2 || wei->md.dims[d] == 1 ? 0 : pos[d]);
        }
    }
    const int64_t step = ip ? 1 : wei->md.dims[nd - 1];
    for (int64_t k = 0; k < nk; ++k) {
        const double v = (double)left[src_at + k] * (double)right[wei_at + k * step];
        x += v;
        *size += fabs(v);
    }
    if (bia->data) x += ip ? image(bia, &pos[1]) : image(bia, pos);
    const double old = dtp_load(dst->md.data_type, r->old_dst, tensor_offset(&dst->md, pos));
    for (int i = 0; r->p->chain[i]; ++i) {
        const pc_step_t s = r->p->chain[i];
        if (is_binary(s)) {
            const double y = image(&r->extra[i], pos);
            x = s == PC_MUL_SCALAR ? x * y : s == PC_MAX ? (x > y ? x : y) : x + y;
            *size = s == PC_MUL_SCALAR ? fabs(*size * y) : *size + fabs(y);
        } else if (s == PC_SUM || s == PC_SUM_HALF) {
            x += (s == PC_SUM ? 1 : 0.5) * old;
            *size += fabs(old);
        } else {
            x = eltwise(s, x);
            if (s == PC_LINEAR) *size = 2 * *size + 1;
        }
    }
    return x;
}

/* The oracle's values and magnitudes, pairs in logical order, in rows mode of its rows alone. */
static double *expected(const run_t *r) {
    const dtp_md_t *md = &r->t[3].md;
    const int64_t all = dtp_md_nelems(md), n = r->p->rows ? r->p->rows * md->dims[md->ndims - 1] : all;
    double *want = malloc((size_t)(2 * all + 1) * sizeof *want);
    assert_non_null(want);
    float *left = dense(&r->t[0]), *right = dense(&r->t[1]);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    for (int64_t i = 0; i < n && i < all; ++i, tensor_next(md, pos))
        want[2 * i] = oracle(r, left, right, pos, &want[2 * i + 1]);
    free(left);
    free(right);
    return want;
}

static void compare(const run_t *r) {
    const operand_t *dst = &r->t[3];
    const dtp_md_t *md = &dst->md;
    const int64_t n = dtp_md_nelems(md), cols = md->dims[md->ndims - 1];
    const double unit = md->data_type == dnnl_tp_f32   ? 0x1p-23
                        : md->data_type == dnnl_tp_f16 ? 0x1p-10
                                                       : 0x1p-7;
    /* Integers are exact until something else than +, * by 2 or max happens. */
    bool exact = !r->p->real_values && md->data_type == dnnl_tp_f32;
    for (int i = 0; r->p->chain[i]; ++i) exact &= r->p->chain[i] < PC_GELU_ERF || r->p->chain[i] > PC_TANH;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    for (int64_t i = 0; i < n; ++i, tensor_next(md, pos)) {
        const int64_t at = tensor_offset(md, pos);
        const double got = dtp_load(md->data_type, dst->data, at);
        if (r->p->rows && i / cols >= r->p->rows) {
            if (got != dtp_load(md->data_type, r->old_dst, at))
                fail_msg("row %lld was written", (long long)(i / cols));
            continue;
        }
        const double want = r->p->want[2 * i], size = r->p->want[2 * i + 1];
        if (want != want && got != got) continue;
        if (want == got) continue;
        /* Summation error grows with the terms; 4 ulp are for the post-operations. */
        const double bound = exact ? 0 : 8 * 0x1p-23 * size + 4 * unit * (fabs(want) + 1e-3);
        if (!(fabs(want - got) <= bound))
            fail_msg("element %lld (row %lld, column %lld): got %.9g, want %.9g", (long long)i,
                     (long long)(i / cols), (long long)(i % cols), got, want);
    }
}

void pc_check(pc_problem_t *p, dnnl_tp_engine_t engine, dnnl_tp_stream_t stream, const char *impl,
              void **result, size_t *result_bytes) {
    run_t r = {.p = p};
    rng = test_rng(17);
    const dtp_md_t *dst_md = p->actual[3] ? p->actual[3] : p->dst;
    /* Chain: the operands need the real sizes. */
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t ops;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&ops));
    for (int i = 0; p->chain[i]; ++i) {
        dtp_md_t md;
        memset(&md, 0, sizeof md);
        if (is_binary(p->chain[i])) {
            dnnl_tp_dims_t dims;
            binary_dims(p->chain[i], dst_md, dims);
            const bool bf16 = p->chain[i] == PC_ADD && dst_md->data_type == dnnl_tp_bf16;
            CHECK_OK(dtp_md_init_strides(&md, dst_md->ndims, dims, bf16 ? dnnl_tp_bf16 : dnnl_tp_f32, NULL));
            operand_init(&r.extra[i], &md, engine, p->real_values, false);
        }
        append(ops, p->chain[i], &md);
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, ops));
    dnnl_tp_primitive_desc_t pd;
    const dnnl_tp_status_t status =
        p->inner_product
            ? dnnl_tp_inner_product_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                                  p->src, p->wei, p->bia, p->dst, attr)
            : dnnl_tp_matmul_primitive_desc_create(&pd, engine, p->src, p->wei, p->bia, p->dst, attr);
    CHECK_OK(dnnl_tp_post_ops_destroy(ops));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    if (!has_impl(engine, status)) {
        for (int i = 0; i < PC_MAX_STEPS; ++i) operand_free(&r.extra[i]);
        return;
    }
    if (impl && runs_cpu_code(engine)) assert_string_equal(pd->impl->name, impl);
    dnnl_tp_primitive_t primitive;
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));

    static const dnnl_tp_query_t query[] = {dnnl_tp_query_src_md, dnnl_tp_query_weights_md,
                                            dnnl_tp_query_weights_md, dnnl_tp_query_dst_md};
    static const int number[] = {DNNL_TP_ARG_SRC, DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_BIAS, DNNL_TP_ARG_DST};
    dnnl_tp_exec_arg_t args[4 + PC_MAX_STEPS];
    void *ptrs[4 + 2 * PC_MAX_STEPS + 1] = {0};
    const dtp_md_t *mds[4 + 2 * PC_MAX_STEPS + 1] = {0};
    int n = 0;
    for (int i = 0; i < 4; ++i) {
        const dtp_md_t *md =
            p->actual[i] ? p->actual[i] : dnnl_tp_primitive_desc_query_md(pd, query[i], i == 2);
        if (i == 2 && !p->bia) continue;
        operand_init(&r.t[i], md, engine, p->real_values, true);
        args[n].arg = number[i];
        args[n++].memory = r.t[i].memory;
        ptrs[i] = r.t[i].data;
        mds[i] = &r.t[i].md;
    }
    for (int i = 0; i < 2 && p->special != 0; ++i)
        for (int64_t e = 3; e < dtp_md_nelems(&r.t[i].md); e += 37)
            dtp_store(r.t[i].md.data_type, r.t[i].data, dtp_md_offset_linear(&r.t[i].md, e), p->special);
    for (int i = 0; p->chain[i]; ++i) {
        if (!r.extra[i].data) continue;
        args[n].arg = DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_TP_ARG_SRC_1;
        ptrs[dtp_pd_arg_index(pd, args[n].arg)] = r.extra[i].data;
        args[n++].memory = r.extra[i].memory;
    }
    r.old_dst = malloc(r.t[3].bytes + 1);
    assert_non_null(r.old_dst);
    memcpy(r.old_dst, r.t[3].data, r.t[3].bytes);
    if (!p->want) p->want = expected(&r); /* whatever the layouts, the values are the same */
    if (p->rows) {
        const dtp_parallel_t par = {.num_threads = 1};
        char *scratch = aligned_alloc(64, dtp_pd_scratch_size(pd) + 64);
        CHECK_OK(dtp_primitive_run(primitive, &par, ptrs, pd->has_runtime ? mds : NULL, scratch, p->rows));
        free(scratch);
    } else {
        for (int i = 0; i < 4 && test_engine_is_far(engine); ++i)
            if (r.t[i].data) test_upload(r.t[i].memory, r.t[i].data, r.t[i].bytes);
        for (int i = 0; i < PC_MAX_STEPS && test_engine_is_far(engine); ++i)
            if (r.extra[i].data) test_upload(r.extra[i].memory, r.extra[i].data, r.extra[i].bytes);
        traps_begin(p->special == 0 && !test_engine_is_far(engine));
        CHECK_OK(dnnl_tp_primitive_execute(primitive, stream, n, args));
        CHECK_OK(dnnl_tp_stream_wait(stream));
        if (!traps_end(pd->impl->name)) fail_msg("%s raised a floating-point exception", pd->impl->name);
        if (test_engine_is_far(engine)) test_download(r.t[3].memory, r.t[3].data, r.t[3].bytes);
    }
    compare(&r);
    if (result) {
        *result = malloc(r.t[3].bytes + 1);
        memcpy(*result, r.t[3].data, r.t[3].bytes);
        *result_bytes = r.t[3].bytes;
    }
    free(r.old_dst);
    for (int i = 0; i < 4; ++i) operand_free(&r.t[i]);
    for (int i = 0; i < PC_MAX_STEPS; ++i) operand_free(&r.extra[i]);
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
}

void pc_free(pc_problem_t *p) {
    dnnl_tp_memory_desc_t *all[] = {&p->src,       &p->wei,       &p->bia,       &p->dst,
                                    &p->actual[0], &p->actual[1], &p->actual[2], &p->actual[3]};
    for (int i = 0; i < 8; ++i)
        if (*all[i]) CHECK_OK(dnnl_tp_memory_desc_destroy(*all[i]));
    free(p->want);
    memset(p, 0, sizeof *p);
}
