/* Matmul over the micro-kernels, of the types that they have (cpu/ukr/ukr_sets.inc): strided, transposed or packed operands, broadcast batches, run-time
 * dimensions.
 *
 * Weights of format any become column panels of 16 columns (BA16a16b, batched aCB16b16c), or of 64 for few rows. The
 * work is in cpu/ukr. */
#include "cpu/matmul/matmul.h"

#include "common/problems/matmul.h"

/* Stride of a dim that may be broadcast. */
static int64_t matmul_stride(const dtp_md_t *md, int d) { return md->dims[d] == 1 ? 0 : md->strides[d]; }

static void matmul_geometry(dtp_product_geometry_t *geo, const dtp_md_t *src, const dtp_md_t *wei,
                            const dtp_md_t *bia, const dtp_md_t *dst) {
    const int nd = dst->ndims, m = nd - 2, n = nd - 1;
    geo->dims = (dtp_product_dims_t){.src_k = n, .wei_k = m, .wei_n = n, .batched = true};
    dtp_product_operands(geo, src, wei, bia, dst);
    geo->k = src->dims[n];
    geo->src_m = src->strides[m];
    geo->src_k = src->strides[n];
    geo->panel = wei->inner_nblks ? (int)wei->inner_blks[1] : 0;
    geo->wei_k = wei->strides[m];
    geo->wei_n = wei->strides[n];
    if (geo->has_bias) {
        geo->bia_m = matmul_stride(bia, m);
        geo->bia_n = matmul_stride(bia, n);
    }
    geo->nbatch = nd - 2;
    for (int d = 0; d < nd - 2; ++d) {
        geo->size[d] = dst->dims[d];
        geo->src_b[d] = matmul_stride(src, d);
        geo->wei_b[d] = matmul_stride(wei, d);
        geo->dst_b[d] = dst->strides[d];
        geo->bia_b[d] = geo->has_bias ? matmul_stride(bia, d) : 0;
    }
}

dnnl_tp_status_t dtp_matmul_ukr_pd_init(dtp_pd_t *pd, const dtp_ukr_set_t *ukr, unsigned isa) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    const int nd = d->dst.ndims;
    DTP_DISPATCH(ukr, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    dtp_md_t *plain[] = {&d->src, &d->bia, &d->dst};
    for (int i = 0; i < 3; ++i) {
        if (dtp_md_is_zero(plain[i])) continue;
        if (dtp_md_is_any(plain[i])) dtp_md_make_plain(plain[i]);
        DTP_DISPATCH(dtp_md_is_plain(plain[i]), UNSUPPORTED_LAYOUT);
    }
    const dtp_quant_t *wei_scale = dtp_attr_scale(pd->attr, DNNL_TP_ARG_WEIGHTS);
    if (dtp_md_is_any(&d->wei) && wei_scale && (wei_scale->mask >> (nd - 2) & 1)) {
        /* Scales along k go into the weights while they are packed, at every execution. */
        dtp_md_make_plain(&d->wei);
    } else if (dtp_md_is_any(&d->wei)) {
        char layout[32];
        const char k = (char)('a' + nd - 2), n = (char)('a' + nd - 1);
        const int panel = dtp_product_panel(ukr, d->wei.data_type, d->dst.dims[nd - 2], d->dst.dims[nd - 1],
                                            d->wei.dims[nd - 2], d->rows_vary, pd->engine->l2_bytes);
        for (int i = 0; i < nd - 2; ++i) layout[i] = (char)('a' + i);
        layout[nd - 2] = (char)(n - 'a' + 'A');
        layout[nd - 1] = (char)(k - 'a' + 'A');
        dtp_product_packed_blocks(layout + nd, sizeof layout - (size_t)nd, k, n, panel, d->wei.data_type);
        dtp_md_t packed;
        DTP_TRY(dtp_md_init_layout(&packed, nd, d->wei.dims, d->wei.data_type, layout));
        d->wei = packed;
    }
    DTP_DISPATCH(dtp_md_is_plain(&d->wei) || dtp_product_packed_panel(&d->wei, nd - 2, nd - 1),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!(d->wei.inner_nblks && dtp_md_has_runtime(&d->wei)), UNSUPPORTED_RUNTIME_DIMS);
    dtp_product_geometry_t geo = {0};
    matmul_geometry(&geo, &d->src, &d->wei, &d->bia, &d->dst);
    return dtp_product_init(pd->plan, pd, &geo, ukr, isa);
}

dnnl_tp_status_t dtp_matmul_ukr_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    if (DTP_LIKELY(!pd->has_runtime)) {
        dtp_product_execute(pd->plan, pd, ctx, NULL);
        return dnnl_tp_success;
    }
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    const dtp_md_t *md[DTP_MATMUL_NARGS] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_MATMUL_NARGS; ++i)
        if (ctx->md[i] && !dtp_md_is_zero(md[i])) md[i] = ctx->md[i];
    dtp_product_geometry_t geo = {0};
    matmul_geometry(&geo, md[DTP_MATMUL_SRC], md[DTP_MATMUL_WEI], md[DTP_MATMUL_BIA], md[DTP_MATMUL_DST]);
    if (ctx->rows >= 0) geo.m = ctx->rows;
    dtp_product_execute(pd->plan, pd, ctx, &geo);
    return dnnl_tp_success;
}

static dnnl_tp_status_t matmul_ukr_pd_init(dtp_pd_t *pd) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)pd->op;
    return dtp_matmul_ukr_pd_init(pd, dtp_product_set(pd, d->src.data_type, d->wei.data_type),
                                  dtp_pd_isa(pd));
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_product_t)
DTP_CPU_IMPLS_AND_BF16(matmul, "ukr", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(dtp_product_t),
                       .plan_used = plan_used, .pd_init = matmul_ukr_pd_init,
                       .execute = dtp_matmul_ukr_execute);
