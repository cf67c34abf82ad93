/* Inner product over the micro-kernels, of the types that they have (cpu/ukr/ukr_sets.inc): channels and space are one dimension k, in the order of src's
 * memory.
 *
 * Weights of format any are packed (AB16b16a, with space AcdB16b16a) where src has dense channels, otherwise
 * k-major plain. Layouts whose k dimensions do not join in one order in src and weights are refused. */
#include "cpu/inner_product/inner_product.h"

#include "common/problems/inner_product.h"

/* Dims 1.. of src from the outermost to the innermost one in memory. */
static void ip_order(const dtp_md_t *src, int *order) {
    const int nk = src->ndims - 1;
    for (int i = 0; i < nk; ++i) order[i] = i + 1;
    for (int i = 1; i < nk; ++i)
        for (int j = i; j > 0 && src->strides[order[j]] > src->strides[order[j - 1]]; --j) {
            const int t = order[j];
            order[j] = order[j - 1];
            order[j - 1] = t;
        }
}

/* True when the k dims of plain md are one dim in this order; its stride. */
static bool ip_join(const dtp_md_t *md, const int *order, int64_t *stride) {
    int64_t next = 0, size = 1;
    *stride = 1;
    for (int i = md->ndims - 2; i >= 0; --i) {
        const int d = order[i];
        if (md->dims[d] == 1) continue;
        if (next == 0) *stride = md->strides[d];
        else if (md->strides[d] != next * size) return false;
        next = md->strides[d];
        size = md->dims[d];
    }
    return true;
}

/* Columns of the column panels along (k, output channels) whose k runs through the dims in this order; 0: none. */
static int ip_packed_panel(const dtp_md_t *md, const int *order) {
    const int nd = md->ndims, panel = dtp_product_packed_panel(md, 1, 0);
    if (!panel || nd == 2) return panel;
    if (order[nd - 2] != 1 || md->dims[1] % DTP_UKR_PANEL) return 0;
    int64_t stride = md->dims[1] * panel;
    for (int i = nd - 3; i >= 0; --i) {
        if (md->dims[order[i]] == 1) continue;
        if (md->strides[order[i]] != stride) return 0;
        stride *= md->dims[order[i]];
    }
    return panel;
}

static dnnl_tp_status_t ip_layout(dtp_md_t *md, const char *text) {
    dtp_md_t like;
    DTP_TRY(dtp_md_init_layout(&like, md->ndims, md->dims, md->data_type, text));
    *md = like;
    return dnnl_tp_success;
}

static dnnl_tp_status_t ip_resolve(dtp_inner_product_desc_t *d, const dtp_pd_t *pd,
                                   const dtp_ukr_set_t *ukr) {
    const int nd = d->src.ndims;
    char text[32];
    int n = 0;
    if (dtp_md_is_any(&d->src)) {
        if (!dtp_md_is_any(&d->wei) && dtp_md_is_plain(&d->wei)) {
            /* The weights' order; rows outermost. */
            int order[DNNL_TP_MAX_NDIMS];
            ip_order(&d->wei, order);
            text[n++] = 'a';
            for (int i = 0; i < nd - 1; ++i) text[n++] = (char)('a' + order[i]);
        } else {
            text[n++] = 'a';
            for (int i = 2; i < nd; ++i) text[n++] = (char)('a' + i);
            text[n++] = 'b';
        }
        text[n] = 0;
        DTP_TRY(ip_layout(&d->src, text));
    }
    DTP_DISPATCH(dtp_md_is_plain(&d->src), UNSUPPORTED_LAYOUT);
    if (dtp_md_is_any(&d->wei)) {
        int order[DNNL_TP_MAX_NDIMS];
        ip_order(&d->src, order);
        n = 0;
        const dtp_quant_t *scale = dtp_attr_scale(pd->attr, DNNL_TP_ARG_WEIGHTS);
        const bool scaled = scale && scale->mask & 2; /* along k: while the weights are packed */
        if (!scaled && (nd == 2 || (order[nd - 2] == 1 && d->wei.dims[1] % DTP_UKR_PANEL == 0))) {
            text[n++] = 'A';
            for (int i = 0; i < nd - 2; ++i) text[n++] = (char)('a' + order[i]);
            int64_t k = 1;
            for (int i = 1; i < nd; ++i) k *= d->wei.dims[i];
            text[n++] = 'B';
            const int panel = dtp_product_panel(ukr, d->wei.data_type, d->dst.dims[0], d->dst.dims[1], k,
                                                false, pd->engine->l2_bytes);
            dtp_product_packed_blocks(text + n, sizeof text - (size_t)n, 'b', 'a', panel, d->wei.data_type);
        } else {
            for (int i = 0; i < nd - 1; ++i) text[n++] = (char)('a' + order[i]);
            text[n++] = 'a';
            text[n] = 0;
        }
        DTP_TRY(ip_layout(&d->wei, text));
    }
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_inner_product_ukr_pd_init(dtp_pd_t *pd, const dtp_ukr_set_t *ukr, unsigned isa) {
    dtp_inner_product_desc_t *d = (dtp_inner_product_desc_t *)pd->op;
    DTP_DISPATCH(ukr, UNSUPPORTED_DATA_TYPE);
    DTP_TRY(ip_resolve(d, pd, ukr));
    DTP_DISPATCH(dtp_md_is_zero(&d->bia) || dtp_md_is_plain(&d->bia), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_is_plain(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    int order[DNNL_TP_MAX_NDIMS];
    ip_order(&d->src, order);
    dtp_product_geometry_t geo = {0};
    DTP_DISPATCH(ip_join(&d->src, order, &geo.src_k), UNSUPPORTED_LAYOUT);
    if (dtp_md_is_plain(&d->wei)) {
        DTP_DISPATCH(ip_join(&d->wei, order, &geo.wei_k), UNSUPPORTED_LAYOUT);
    } else {
        geo.panel = ip_packed_panel(&d->wei, order);
        DTP_DISPATCH(geo.panel, UNSUPPORTED_LAYOUT);
    }
    geo.dims = (dtp_product_dims_t){.src_k = 1, .wei_k = 1, .wei_n = 0};
    dtp_product_operands(&geo, &d->src, &d->wei, &d->bia, &d->dst);
    geo.k = 1;
    for (int i = 1; i < d->src.ndims; ++i) geo.k *= d->src.dims[i];
    geo.src_m = d->src.strides[0];
    geo.wei_n = d->wei.strides[0];
    if (geo.has_bias) geo.bia_n = geo.n == 1 ? 1 : d->bia.strides[0];
    return dtp_product_init(pd->plan, pd, &geo, ukr, isa);
}

dnnl_tp_status_t dtp_inner_product_ukr_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    dtp_product_execute(pd->plan, pd, ctx, NULL);
    return dnnl_tp_success;
}

static dnnl_tp_status_t inner_product_ukr_pd_init(dtp_pd_t *pd) {
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)pd->op;
    return dtp_inner_product_ukr_pd_init(pd, dtp_product_set(pd, d->src.data_type, d->wei.data_type),
                                         dtp_pd_isa(pd));
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_product_t)
DTP_CPU_IMPLS_AND_BF16(inner_product, "ukr", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(dtp_product_t),
                       .plan_used = plan_used, .pd_init = inner_product_ukr_pd_init,
                       .execute = dtp_inner_product_ukr_execute);
