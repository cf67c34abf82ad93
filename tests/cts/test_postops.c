/* Chains of post-operations through dtp_postops_apply against double: every algorithm, every broadcast and
 * type of src1, sum with zero point and types, long chains in any order, blocked and strided src1, tiles cut
 * anywhere. The chain is compiled for the destination of an eltwise primitive (identity), then applied to
 * tiles directly and by execution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/eltwise.h"
#include "cpu/postops/postops.h"
#include "support/tensor.h"

enum { MAX_STEPS = 32 };

typedef struct {
    const char *name;
    int ndims;
    int64_t dims[4];
    const char *dst;
    int n;
    struct {
        int kind; /* 'e', 'b', 's', 'p' (prelu) */
        int alg;
        float a, b;
        int mask; /* binary, prelu: dims that src1 or the weights follow; sum: zero point */
        dnnl_tp_data_type_t dt;
        const char *layout; /* of src1, NULL = any */
    } step[8];
} chain_t;

#define E(alg, a, b) \
    { 'e', dnnl_tp_eltwise_##alg, a, b, 0, 0, NULL }
#define B(alg, mask, dt, layout) \
    { 'b', dnnl_tp_binary_##alg, 0, 0, mask, dnnl_tp_##dt, layout }
#define SUM(scale, zp, dt) \
    { 's', 0, scale, 0, zp, dnnl_tp_##dt, NULL }
#define P(mask) \
    { 'p', 0, 0, 0, mask, dnnl_tp_f32, NULL }
#define D4 \
    4, { 2, 19, 3, 37 }
static const chain_t chains[] = {
    {"relu", 2, {7, 40}, "ab", 1, {E(relu, 0, 0)}},
    {"gelu then add", 2, {7, 40}, "ab", 2, {E(gelu_erf, 0, 0), B(add, 3, f32, "ab")}},
    {"bias", 2, {7, 40}, "ab", 1, {B(add, 2, f32, "ab")}},
    {"per row", 2, {7, 40}, "ab", 1, {B(mul, 1, f32, NULL)}},
    {"common", 2, {7, 40}, "ab", 1, {B(sub, 0, f32, "ab")}},
    {"transposed", 2, {7, 40}, "ab", 1, {B(add, 3, f32, "ba")}},
    {"bf16", 2, {7, 300}, "ab", 1, {B(add, 3, bf16, "ab")}},
    {"f16 columns", 2, {7, 300}, "ab", 1, {B(max, 2, f16, "ab")}},
    {"s32", 2, {7, 300}, "ab", 1, {B(min, 3, s32, "ab")}},
    {"s8 u8", 2, {7, 40}, "ab", 2, {B(add, 3, s8, "ab"), B(mul, 1, u8, "ab")}},
    {"sum", 2, {7, 40}, "ab", 1, {SUM(.5f, 0, data_type_undef)}},
    {"sum between", 2, {7, 40}, "ab", 3, {E(linear, 2, 1), SUM(2.f, 0, data_type_undef), E(abs, 0, 0)}},
    {"two sums", 2, {7, 40}, "ab", 2, {SUM(2.f, 0, data_type_undef), SUM(-1.f, 0, f32)}},
    {"channel", D4, "abcd", 1, {B(add, 2, f32, "abcd")}},
    {"channel nhwc", D4, "acdb", 1, {B(add, 2, f32, NULL)}},
    {"batch and width", D4, "abcd", 1, {B(add, 9, f32, "abcd")}},
    {"batch and height", D4, "abcd", 1, {B(mul, 5, f32, "abcd")}},
    {"channel and height", D4, "abcd", 1, {B(mul, 6, f32, "abcd")}},
    {"all in nhwc", D4, "abcd", 1, {B(add, 15, f32, "acdb")}},
    {"blocked", D4, "abcd", 1, {B(add, 15, f32, "aBcd16b")}},
    {"blocked bf16", D4, "abcd", 1, {B(add, 15, bf16, "aBcd8b")}},
    {"any follows dst", D4, "acdb", 2, {B(add, 15, f32, NULL), B(mul, 15, f32, NULL)}},
    {"compare", 2, {7, 40}, "ab", 2, {B(ge, 3, s8, "ab"), B(add, 2, f32, "ab")}},
    {"compare more",
     2,
     {7, 40},
     "ab",
     4,
     {B(gt, 3, s8, "ab"), B(le, 0, f32, "ab"), B(lt, 1, f32, "ab"), B(eq, 2, s8, "ab")}},
    {"ne div", 2, {7, 40}, "ab", 2, {B(div, 2, f32, "ab"), B(ne, 3, s8, "ab")}},
    {"prelu", 2, {7, 40}, "ab", 1, {P(0)}},
    {"prelu of columns", 2, {7, 300}, "ab", 2, {P(2), B(add, 3, f32, "ab")}},
    {"prelu of channels", D4, "acdb", 2, {P(2), P(13)}},
    {"prelu of all", D4, "abcd", 3, {E(linear, 2, 1), P(15), SUM(2.f, 0, data_type_undef)}},
    {"select", 2, {7, 40}, "ab", 2, {B(select, 3, f32, "ab"), B(select, 1, bf16, "ab")}},
    {"long",
     2,
     {5, 21},
     "ab",
     8,
     {E(linear, .5f, 1), B(add, 2, f32, "ab"), E(tanh, 0, 0), B(mul, 1, bf16, "ab"),
      SUM(1.f, 0, data_type_undef), E(clip, -2, 2), B(max, 0, s32, "ab"), E(swish, 1, 0)}},
};

static double step_binary(int alg, double x, double y, double c) {
    switch (alg) {
    case dnnl_tp_binary_add: return x + y;
    case dnnl_tp_binary_mul: return x * y;
    case dnnl_tp_binary_max: return x > y ? x : y;
    case dnnl_tp_binary_min: return x < y ? x : y;
    case dnnl_tp_binary_div: return x / y;
    case dnnl_tp_binary_sub: return x - y;
    case dnnl_tp_binary_ge: return x >= y;
    case dnnl_tp_binary_gt: return x > y;
    case dnnl_tp_binary_le: return x <= y;
    case dnnl_tp_binary_lt: return x < y;
    case dnnl_tp_binary_eq: return x == y;
    case dnnl_tp_binary_ne: return x != y;
    default: return c != 0 ? x : y;
    }
}

static double step_eltwise(int alg, double x, double a, double b) {
    switch (alg) {
    case dnnl_tp_eltwise_relu: return x > 0 ? x : a * x;
    case dnnl_tp_eltwise_gelu_erf: return .5 * x * erfc(-x / sqrt(2));
    case dnnl_tp_eltwise_linear: return a * x + b;
    case dnnl_tp_eltwise_abs: return fabs(x);
    case dnnl_tp_eltwise_tanh: return tanh(x);
    case dnnl_tp_eltwise_clip: return fmin(fmax(x, a), b);
    default: return x / (1 + exp(-a * x)); /* swish */
    }
}

static void chain_case(const place_t *at, const chain_t *c, int number) {
    test_rng_t r = test_rng((uint64_t)number + 40);
    tensor_t src, dst, src1[MAX_STEPS], src2[MAX_STEPS];
    const char *dense = "abcd" + 0;
    char plain[5] = "";
    memcpy(plain, dense, (size_t)c->ndims);
    tensor_layout(&src, c->ndims, c->dims, dnnl_tp_f32, plain);
    tensor_layout(&dst, c->ndims, c->dims, dnnl_tp_f32, c->dst);
    tensor_fill(&src, &r, -4, 4, true);
    tensor_fill(&dst, &r, -4, 4, true);
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (int i = 0; i < c->n; ++i) {
        if (c->step[i].kind == 'e') {
            CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, (dnnl_tp_alg_kind_t)c->step[i].alg, c->step[i].a,
                                                     c->step[i].b));
        } else if (c->step[i].kind == 's') {
            CHECK_OK(dnnl_tp_post_ops_append_sum(po, c->step[i].a, c->step[i].mask, c->step[i].dt));
        } else if (c->step[i].kind == 'p') {
            CHECK_OK(dnnl_tp_post_ops_append_prelu(po, c->step[i].mask));
        } else {
            int64_t dims[4];
            for (int d = 0; d < c->ndims; ++d) dims[d] = c->step[i].mask >> d & 1 ? c->dims[d] : 1;
            dtp_md_t md;
            if (c->step[i].layout)
                CHECK_OK(dtp_md_init_layout(&md, c->ndims, dims, c->step[i].dt, c->step[i].layout));
            else CHECK_OK(dtp_md_init_tag(&md, c->ndims, dims, c->step[i].dt, dnnl_tp_format_tag_any));
            if (c->step[i].alg == dnnl_tp_binary_select) {
                dtp_md_t cond;
                CHECK_OK(dtp_md_init_strides(&cond, c->ndims, c->dims, dnnl_tp_s8, NULL));
                CHECK_OK(
                    dnnl_tp_post_ops_append_binary_v2(po, (dnnl_tp_alg_kind_t)c->step[i].alg, &md, &cond));
            } else {
                CHECK_OK(dnnl_tp_post_ops_append_binary(po, (dnnl_tp_alg_kind_t)c->step[i].alg, &md));
            }
        }
    }
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    dnnl_tp_primitive_desc_t pd;
    const bool has = has_impl(at->engine, dnnl_tp_eltwise_forward_primitive_desc_create(
                                              &pd, at->engine, dnnl_tp_forward_inference,
                                              dnnl_tp_eltwise_linear, &src.md, &dst.md, 1.f, 0.f, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    if (!has) {
        tensor_free(&src), tensor_free(&dst);
        return;
    }
    dnnl_tp_exec_handle_t args[2 + 2 * MAX_STEPS] = {{DNNL_TP_ARG_SRC, src.data},
                                                     {DNNL_TP_ARG_DST, dst.data}};
    int nargs = 2;
    void *ptr[DTP_MAX_PD_ARGS] = {src.data, dst.data};
    for (int i = 0; i < c->n; ++i) {
        if (!strchr("bp", c->step[i].kind)) continue;
        const dtp_post_op_t *e = &pd->attr->post_ops->entry[i]; /* resolved */
        tensor_init(&src1[i], &e->src1);
        tensor_fill(&src1[i], &r,
                    e->src1.data_type == dnnl_tp_u8 || c->step[i].alg == dnnl_tp_binary_div ? 1 : -4, 4,
                    true);
        int base = DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i);
        int of = c->step[i].kind == 'p' ? DNNL_TP_ARG_WEIGHTS : DNNL_TP_ARG_SRC_1;
        args[nargs++] = (dnnl_tp_exec_handle_t){base | of, src1[i].data};
        ptr[pd->post_op_arg + 2 * i] = src1[i].data;
        if (c->step[i].alg != dnnl_tp_binary_select) continue;
        tensor_init(&src2[i], &e->src2);
        tensor_fill(&src2[i], &r, 0, 1, true);
        args[nargs++] = (dnnl_tp_exec_handle_t){base | DNNL_TP_ARG_SRC_2, src2[i].data};
        ptr[pd->post_op_arg + 2 * i + 1] = src2[i].data;
    }
    /* Expected values, in logical order. */
    int64_t n = dtp_md_nelems(&dst.md), pos[12] = {0}, i = 0, cols = c->dims[c->ndims - 1], rows = n / cols;
    double *want = malloc(sizeof(double) * (size_t)n);
    float *tile = malloc(sizeof(float) * (size_t)n);
    do {
        double x = tensor_get(&src, pos);
        tile[i] = (float)x;
        for (int k = 0; k < c->n; ++k) {
            if (c->step[k].kind == 'e')
                x = step_eltwise(c->step[k].alg, x, (double)c->step[k].a, (double)c->step[k].b);
            else if (c->step[k].kind == 's')
                x += (double)c->step[k].a * (tensor_get(&dst, pos) - c->step[k].mask);
            else if (c->step[k].kind == 'p') x *= x < 0 ? tensor_get_bcast(&src1[k], pos) : 1;
            else
                x = step_binary(c->step[k].alg, x, tensor_get_bcast(&src1[k], pos),
                                c->step[k].alg == dnnl_tp_binary_select ? tensor_get_bcast(&src2[k], pos)
                                                                        : 0);
        }
        want[i++] = x;
    } while (tensor_next(&dst.md, pos));
    /* Tiles cut at odd places, straight through the interpreter. */
    if (at->threads == 1 && runs_cpu_code(at->engine)) {
        dtp_postops_t compiled;
        unsigned isa = at->isa == dnnl_tp_cpu_isa_sse41  ? 0
                       : at->isa == dnnl_tp_cpu_isa_avx2 ? DTP_ISA_AVX2
                                                         : DTP_ISA_AVX2 | DTP_ISA_AVX512;
        isa &= at->engine->isa;
        CHECK_OK(dtp_postops_init(&compiled, pd, DTP_ELTWISE_DST, isa));
        dtp_exec_ctx_t ctx = {.ptr = ptr, .rows = -1};
        for (int64_t r0 = 0; r0 < rows; r0 += 3)
            for (int64_t c0 = 0; c0 < cols; c0 += 13) {
                int64_t nr = dtp_min64(3, rows - r0), nc = dtp_min64(13, cols - c0);
                float t[3 * 16];
                for (int a = 0; a < nr; ++a)
                    memcpy(t + a * 16, tile + (r0 + a) * cols + c0, sizeof(float) * (size_t)nc);
                dtp_postops_apply(&compiled, pd, &ctx, t, 16, nr, nc, r0, c0);
                for (int a = 0; a < nr; ++a)
                    for (int b = 0; b < nc; ++b) {
                        double w = want[(r0 + a) * cols + c0 + b];
                        if (!rounds_near(dnnl_tp_f32, t[a * 16 + b], w, 3e-6 * (fabs(w) + .1)))
                            fail_msg("chain '%s' on %s: tile value %.9g, not %.9g", c->name, at->name,
                                     t[a * 16 + b], w);
                    }
            }
    }
    CHECK_OK(run_pd(at, pd, nargs, args));
    memset(pos, 0, sizeof pos);
    i = 0;
    do {
        double got = tensor_get(&dst, pos);
        if (!rounds_near(dnnl_tp_f32, got, want[i], 3e-6 * (fabs(want[i]) + .1)))
            fail_msg("chain '%s' on %s x%d: element %d is %.9g, not %.9g", c->name, at->name, at->threads,
                     (int)i, got, want[i]);
        ++i;
    } while (tensor_next(&dst.md, pos));
    tensor_check(&dst, "dst");
    free(want), free(tile);
    tensor_free(&src), tensor_free(&dst);
    for (int k = 0; k < c->n; ++k) {
        if (!strchr("bp", c->step[k].kind)) continue;
        tensor_free(&src1[k]);
        if (c->step[k].alg == dnnl_tp_binary_select) tensor_free(&src2[k]);
    }
}

static void all_chains(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i)
        for (size_t c = 0; c < sizeof chains / sizeof *chains; ++c) chain_case(&at[i], &chains[c], (int)c);
}

/* What matmul may run in registers. */
static void recognised(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    const int64_t dims[] = {6, 48}, cols[] = {1, 48};
    dtp_md_t md, row, half;
    CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&row, 2, cols, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&half, 2, dims, dnnl_tp_bf16, NULL));
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_gelu_erf, 0, 0));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &md));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &row));
    CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, &half));
    CHECK_OK(dnnl_tp_post_ops_append_sum(po, 3.f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, .1f, 0));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip_v2, -1.f, 6.f));
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    dnnl_tp_primitive_desc_t pd;
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, at[0].engine, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_abs, &md, &md, 0, 0, attr));
    dtp_postops_t c;
    CHECK_OK(dtp_postops_init(&c, pd, DTP_ELTWISE_DST, 0));
    static const dtp_po_form_t forms[] = {
        DTP_PO_FORM_RELU,       DTP_PO_FORM_OTHER, DTP_PO_FORM_ADD_TENSOR, DTP_PO_FORM_ADD_COLS,
        DTP_PO_FORM_ADD_TENSOR, DTP_PO_FORM_OTHER, DTP_PO_FORM_OTHER,      DTP_PO_FORM_CLIP};
    for (int i = 0; i < 8; ++i) assert_int_equal(dtp_postops_simple(&c, i).form, forms[i]);
    assert_int_equal(dtp_postops_simple(&c, 2).row_stride, 48);
    assert_true(c.step[2].dt == dnnl_tp_f32 &&
                c.step[4].dt == dnnl_tp_bf16); /* which the users of the form look at */
    assert_int_equal(dtp_postops_simple(&c, 2).arg, pd->post_op_arg + 4);
    assert_true(dtp_postops_simple(&c, 7).floor == -1.f && dtp_postops_simple(&c, 7).cap == 6.f);
    assert_false(dtp_postops_only_eltwise(&c));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

/* 32 steps; sum with a zero point on an 8-bit destination. */
static void limits(void **state) {
    (void)state;
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < n; ++i) {
        static float x[77], y[77];
        dtp_md_t md;
        int64_t dims[] = {7, 11};
        CHECK_OK(dtp_md_init_strides(&md, 2, dims, dnnl_tp_f32, NULL));
        dnnl_tp_post_ops_t po;
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        for (int k = 0; k < 32; ++k)
            CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_linear, 1.f, 1.f));
        dnnl_tp_primitive_attr_t attr;
        CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine, dnnl_tp_eltwise_forward_primitive_desc_create(
                                        &pd, at[i].engine, dnnl_tp_forward_inference, dnnl_tp_eltwise_abs,
                                        &md, &md, 0, 0, attr))) {
            CHECK_OK(dnnl_tp_post_ops_destroy(po));
            CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
            continue;
        }
        for (int k = 0; k < 77; ++k) x[k] = (float)-k;
        dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, y}};
        CHECK_OK(run_pd(&at[i], pd, 2, args));
        for (int k = 0; k < 77; ++k) assert_true(y[k] == (float)(k + 32));
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
        CHECK_OK(dnnl_tp_post_ops_create(&po));
        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 2.f, 3, dnnl_tp_u8));
        CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
        dtp_md_t small;
        CHECK_OK(dtp_md_init_strides(&small, 2, dims, dnnl_tp_s8, NULL));
        CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(
            &pd, at[i].engine, dnnl_tp_forward_inference, dnnl_tp_eltwise_relu, &small, &small, 0, 0, attr));
        static int8_t a[77], b[77];
        for (int k = 0; k < 77; ++k) a[k] = (int8_t)(k - 40), b[k] = (int8_t)(k * 3);
        dnnl_tp_exec_handle_t more[] = {{DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_DST, b}};
        CHECK_OK(run_pd(&at[i], pd, 2, more));
        for (int k = 0; k < 77; ++k) {
            int v = (k > 40 ? k - 40 : 0) + 2 * ((uint8_t)(k * 3) - 3);
            assert_int_equal(b[k], v > 127 ? 127 : v < -128 ? -128 : v);
        }
        CHECK_OK(dnnl_tp_post_ops_destroy(po));
        CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_chains), cmocka_unit_test(recognised),
                                       cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
