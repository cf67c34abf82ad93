/* Resampling: argument checks, the derived destination and tables. */
#include "common/problems/resampling.h"

#include "common/primitive/kind_checks.h"

/* Of sizes beyond, positions are not told apart in f32. */
enum { MOST = 1 << 23 };

/* A dst that is not given: src's type, sizes by the factors. */
static dnnl_tp_status_t derive_dst(dtp_md_t *dst, const dtp_md_t *src, const float *factors) {
    dnnl_tp_dims_t dims;
    DTP_REQUIRE(factors, NULL_ARG, "dst_desc and factors");
    memcpy(dims, src->dims, sizeof dims);
    for (int d = 2; d < src->ndims; ++d) {
        const double size = (double)src->dims[d] * (double)factors[d - 2];
        DTP_REQUIRE(size >= 0 && size <= MOST, BAD_PARAM, "spatial dimension %d: factor %g of %lld", d - 2,
                    (double)factors[d - 2], (long long)src->dims[d]);
        dims[d] = (int64_t)size;
    }
    return dtp_md_init_tag(dst, src->ndims, dims, src->data_type, dnnl_tp_format_tag_any);
}

dnnl_tp_status_t dnnl_tp_resampling_forward_primitive_desc_create(
    dnnl_tp_primitive_desc_t *primitive_desc, dnnl_tp_engine_t engine, dnnl_tp_prop_kind_t prop_kind,
    dnnl_tp_alg_kind_t alg_kind, const float *factors, const_dnnl_tp_memory_desc_t src_desc,
    const_dnnl_tp_memory_desc_t dst_desc, const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_TRY(dtp_check_forward(prop_kind));
    DTP_REQUIRE(alg_kind == dnnl_tp_resampling_nearest || alg_kind == dnnl_tp_resampling_linear, BAD_ALG,
                "%s (%d), not resampling_nearest or resampling_linear", dnnl_tp_alg_kind2str(alg_kind),
                (int)alg_kind);
    DTP_TRY(dtp_check_md(src_desc, "src", false));
    const int n = src_desc->ndims;
    DTP_REQUIRE(n >= 3 && n <= 5, BAD_NDIMS, "src has %d dimensions, 3..5 are allowed", n);
    DTP_TRY(dtp_check_static(src_desc, "src"));
    dtp_resampling_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_resampling;
    op.prop = prop_kind;
    op.alg = alg_kind;
    op.spatial = n - 2;
    op.src = *src_desc;
    if (dtp_md_is_zero(dst_desc)) DTP_TRY(derive_dst(&op.dst, src_desc, factors));
    else op.dst = *dst_desc;
    DTP_REQUIRE(op.dst.ndims == n, NDIMS_MISMATCH, "src has %d, dst has %d", n, op.dst.ndims);
    DTP_TRY(dtp_check_static(&op.dst, "dst"));
    for (int d = 0; d < 2; ++d)
        DTP_REQUIRE(op.src.dims[d] == op.dst.dims[d], DIMS_MISMATCH,
                    "dimension %d: src has %lld, dst has %lld", d, (long long)op.src.dims[d],
                    (long long)op.dst.dims[d]);
    for (int d = 0; d < op.spatial; ++d) {
        const int64_t in = op.src.dims[2 + d], out = op.dst.dims[2 + d];
        DTP_REQUIRE(in > 0 || out == 0, BAD_DIMS, "spatial dimension %d: dst has %lld, src nothing", d,
                    (long long)out);
        if (in > MOST || out > MOST)
            DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SHAPE,
                                "spatial dimension %d: src %lld, dst %lld, at most %d", d, (long long)in,
                                (long long)out, MOST));
        op.factors[d] = in > 0 ? (float)((double)out / (double)in) : 1.f;
    }
    DTP_TRY(dtp_check_post_ops(attr, &op.dst));
    DTP_RETURN(dtp_pd_create(primitive_desc, engine, &op.base, sizeof op, attr));
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t resampling_fields[] = {
    DTP_FIELD(dtp_resampling_desc_t, prop, S32),
    DTP_FIELD(dtp_resampling_desc_t, alg, S32),
    DTP_FIELD_ARRAY(dtp_resampling_desc_t, factors, F32S, spatial),
    DTP_FIELD_ARRAY(dtp_resampling_desc_t, rule, DIMS, nrule),
    DTP_FIELD(dtp_resampling_desc_t, rounding, S32),
    DTP_INPUT(dtp_resampling_desc_t, src, DNNL_TP_ARG_SRC),
    DTP_OUTPUT(dtp_resampling_desc_t, dst, DNNL_TP_ARG_DST)};

/* A product and a sum for each of the elements between which one of dst lies; none of the nearest one. */
static void resampling_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)op;
    if (d->alg == dnnl_tp_resampling_linear)
        work->flops = (double)dtp_md_nelems(arg[DTP_RESAMPLING_DST].md) * (double)(2 << d->spatial);
}

static const dtp_attr_rules_t resampling_attr = {.post_ops = DTP_TAKES_EVERY};
DTP_KIND_INFO(resampling, -1, &resampling_attr, resampling_work);
