/* Matrix multiplication: argument checks and tables. Reference: src/cpu/matmul/matmul_ref.c. */
#include "common/problems/matmul.h"

#include "common/primitive/kind_checks.h"

/* a and b agree as matrix dimensions: both run-time or both equal. */
static dnnl_tp_status_t same(const char *what, int64_t a, int64_t b) {
    DTP_REQUIRE(a == b, DIMS_MISMATCH, "%s is %lld and %lld", what, (long long)a, (long long)b);
    return dnnl_tp_success;
}

/* md: by dense index; bias may be NULL or zero. */
static dnnl_tp_status_t check_dims(const dtp_md_t *const *md) {
    const dtp_md_t *src = md[DTP_MATMUL_SRC], *wei = md[DTP_MATMUL_WEI], *bia = md[DTP_MATMUL_BIA],
                   *dst = md[DTP_MATMUL_DST];
    const int n = dst->ndims;
    DTP_REQUIRE(n >= 2, BAD_NDIMS, "dst has %d dimensions, at least 2 are needed", n);
    DTP_REQUIRE(src->ndims == n && wei->ndims == n, NDIMS_MISMATCH, "src %d, weights %d, dst %d", src->ndims,
                wei->ndims, n);
    DTP_TRY(same("M", src->dims[n - 2], dst->dims[n - 2]));
    DTP_TRY(same("N", wei->dims[n - 1], dst->dims[n - 1]));
    DTP_TRY(same("K", src->dims[n - 1], wei->dims[n - 2]));
    for (int b = 0; b < n - 2; ++b) {
        const int64_t s = src->dims[b], w = wei->dims[b], out = dst->dims[b];
        DTP_REQUIRE((s == out || s == 1) && (w == out || w == 1) && (s == out || w == out), DIMS_MISMATCH,
                    "batch dimension %d: src %lld, weights %lld, dst %lld", b, (long long)s, (long long)w,
                    (long long)out);
    }
    if (dtp_md_is_zero(bia)) return dnnl_tp_success;
    DTP_REQUIRE(bia->ndims == n, NDIMS_MISMATCH, "bias has %d, dst has %d", bia->ndims, n);
    for (int b = 0; b < n; ++b)
        DTP_REQUIRE(bia->dims[b] == 1 || bia->dims[b] == dst->dims[b], DIMS_MISMATCH,
                    "dimension %d of bias is %lld, dst's is %lld", b, (long long)bia->dims[b],
                    (long long)dst->dims[b]);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_matmul_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t weights_desc, const_dnnl_tp_memory_desc_t bias_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_md(src_desc, "src", true));
    DTP_TRY(dtp_check_md(weights_desc, "weights", true));
    DTP_TRY(dtp_check_md(dst_desc, "dst", true));
    dtp_matmul_desc_t d;
    memset(&d, 0, sizeof d);
    d.base.kind = dnnl_tp_matmul;
    d.src = *src_desc;
    d.wei = *weights_desc;
    d.dst = *dst_desc;
    if (!dtp_md_is_zero(bias_desc)) d.bia = *bias_desc;
    DTP_TRY(check_dims((const dtp_md_t *[]){&d.src, &d.wei, &d.bia, &d.dst}));
    DTP_TRY(dtp_check_post_ops(attr, &d.dst));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &d.base, sizeof d, attr));
}

static dnnl_tp_status_t matmul_check_runtime(const dtp_md_t *const *md) {
    if (check_dims(md))
        return dtp_fail(dnnl_tp_invalid_arguments, DTP_RUNTIME_INCONSISTENT, "%s", dtp_last_detail());
    return dnnl_tp_success;
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t matmul_fields[] = {DTP_INPUT(dtp_matmul_desc_t, src, DNNL_TP_ARG_SRC),
                                            DTP_INPUT(dtp_matmul_desc_t, wei, DNNL_TP_ARG_WEIGHTS),
                                            DTP_INPUT(dtp_matmul_desc_t, bia, DNNL_TP_ARG_BIAS),
                                            DTP_OUTPUT(dtp_matmul_desc_t, dst, DNNL_TP_ARG_DST),
                                            DTP_FIELD(dtp_matmul_desc_t, rows_vary, S32)};

static void matmul_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    const dtp_md_t *src = arg[DTP_MATMUL_SRC].md;
    work->flops = 2. * (double)src->dims[src->ndims - 1] * (double)dtp_md_nelems(arg[DTP_MATMUL_DST].md);
}

static bool matmul_takes_rows(const dtp_op_desc_t *op) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)op;
    return d->dst.ndims == 2 && dtp_md_is_dense_row_major(&d->src);
}

static const dtp_attr_rules_t matmul_attr = {.scales = {{DNNL_TP_ARG_SRC, DTP_MASK_ANY},
                                                        {DNNL_TP_ARG_WEIGHTS, DTP_MASK_ANY},
                                                        {DNNL_TP_ARG_DST, DTP_MASK_ANY}},
                                             .zero_points = {{DNNL_TP_ARG_SRC, DTP_MASK_ANY},
                                                             {DNNL_TP_ARG_WEIGHTS, DTP_MASK_ANY},
                                                             {DNNL_TP_ARG_DST, DTP_MASK_ANY}},
                                             .post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(matmul, -1, &matmul_attr, matmul_work, .check_runtime = matmul_check_runtime,
              .takes_rows = matmul_takes_rows);
