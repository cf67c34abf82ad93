/* Checks and compensation of reorder. */
#include "cpu/reorder/reorder.h"

#include "cpu/elementwise/boxes.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

dnnl_tp_status_t dtp_reorder_check(const dtp_pd_t *pd) {
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)pd->op;
    const dtp_attr_t *attr = pd->attr;
    /* Other types than those of f32's tables are moved only. */
    const bool moves = op->src.data_type == op->dst.data_type && dtp_attr_only(attr, 0);
    DTP_DISPATCH(moves || (dtp_vops_takes(op->src.data_type) && dtp_vops_takes(op->dst.data_type)),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(op->src.format_kind == dnnl_tp_blocked && op->dst.format_kind == dnnl_tp_blocked,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(op->src.extra.flags == 0, UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(op->dst.extra.flags == 0 || op->dst.data_type == dnnl_tp_s8, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(attr, DTP_ATTR_POST_OPS | DTP_ATTR_SCALES | DTP_ATTR_ZERO_POINTS),
                 UNSUPPORTED_ATTR);
    for (int i = 0; i < attr->n_scales; ++i) {
        const dtp_quant_t *q = &attr->scales[i];
        DTP_DISPATCH(q->group_ndims == 0, UNSUPPORTED_SCALES);
        DTP_DISPATCH(q->arg == DNNL_TP_ARG_SRC || q->arg == DNNL_TP_ARG_DST, UNSUPPORTED_SCALES);
        DTP_DISPATCH(q->mask >> op->dst.ndims == 0, UNSUPPORTED_SCALES);
    }
    for (int i = 0; i < attr->n_zero_points; ++i) {
        const dtp_quant_t *q = &attr->zero_points[i];
        DTP_DISPATCH(q->group_ndims == 0, UNSUPPORTED_ZERO_POINTS);
        DTP_DISPATCH(q->arg == DNNL_TP_ARG_SRC || q->arg == DNNL_TP_ARG_DST, UNSUPPORTED_ZERO_POINTS);
        DTP_DISPATCH(q->mask >> op->dst.ndims == 0, UNSUPPORTED_ZERO_POINTS);
    }
    const dtp_post_ops_t *po = attr->post_ops;
    DTP_DISPATCH(po->len == 0 || (po->len == 1 && po->entry[0].kind == dnnl_tp_sum), UNSUPPORTED_POST_OPS);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_reorder_actual(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, const dtp_md_t **src,
                                    const dtp_md_t **dst) {
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)pd->op;
    *src = ctx->md ? ctx->md[DTP_REORDER_SRC] : &op->src;
    *dst = ctx->md ? ctx->md[DTP_REORDER_DST] : &op->dst;
    DTP_REQUIRE(dtp_md_same_dims(*src, *dst), RUNTIME_INCONSISTENT,
                "src and dst of this execution have other dims");
    return dnnl_tp_success;
}

/* ---- Compensation ------------------------------------------------------------------------------------ */

typedef struct {
    const dtp_box_t *box;
    int nouter; /* loops that select the entry */
    const int8_t *data;
    int32_t *comp;
    int32_t factor;
} comp_env_t;

enum { COMP_DATA, COMP_OUT, COMP_NOPS };

static void comp_entries(void *arg, int slot, int64_t begin, int64_t end) {
    const comp_env_t *e = arg;
    const dtp_box_t *b = e->box;
    (void)slot;
    const int64_t inner = dtp_boxes_count(b, e->nouter, b->nd);
    dtp_box_t rest = {.nd = b->nd - e->nouter};
    for (int d = 0; d < rest.nd; ++d) {
        rest.n[d] = b->n[e->nouter + d];
        memcpy(rest.s[d], b->s[e->nouter + d], sizeof rest.s[d]);
    }
    dtp_cursor_t cur, in;
    dtp_cursor_set(&cur, b, e->nouter, COMP_NOPS, begin);
    for (int64_t k = begin; k < end; ++k) {
        int32_t sum = 0;
        dtp_cursor_set(&in, &rest, rest.nd, 1, 0);
        for (int64_t i = 0; i < inner; ++i) {
            sum += e->data[cur.off[COMP_DATA] + in.off[0]];
            dtp_cursor_next(&in, &rest, rest.nd, 1);
        }
        e->comp[cur.off[COMP_OUT]] += e->factor * sum;
        dtp_cursor_next(&cur, b, e->nouter, COMP_NOPS);
    }
}

static void compensate_one(const dtp_exec_ctx_t *ctx, const dtp_md_t *dst, int mask, int32_t factor,
                           int32_t *comp) {
    dtp_md_t out;
    dtp_box_t box[DTP_BOXES_MAX];
    dtp_md_init_masked(&out, dst->ndims, dst->padded_dims, mask);
    memset(comp, 0, sizeof(int32_t) * (size_t)dtp_md_nelems(&out));
    memcpy(out.dims, dst->dims, sizeof out.dims);
    for (int d = 0; d < dst->ndims; ++d)
        if (!(mask >> d & 1)) out.strides[d] = 0;
    const dtp_md_t *md[COMP_NOPS] = {dst, &out};
    int n = dtp_boxes_cut_all(box, dst->ndims, dst->dims, COMP_NOPS, md);
    for (int i = 0; i < n; ++i) {
        dtp_boxes_order(&box[i], COMP_NOPS, COMP_OUT);
        comp_env_t e = {&box[i], 0, ctx->ptr[DTP_REORDER_DST], comp, factor};
        while (e.nouter < box[i].nd && box[i].s[e.nouter][COMP_OUT] != 0) ++e.nouter;
        int64_t entries = dtp_boxes_count(&box[i], 0, e.nouter);
        dtp_parallel_for(ctx->par, entries, dtp_grain((double)dtp_boxes_count(&box[i], e.nouter, box[i].nd)),
                         comp_entries, &e);
    }
}

void dtp_reorder_compensate(const dtp_exec_ctx_t *ctx, const dtp_md_t *dst) {
    if (dst->extra.flags == 0) return;
    dtp_md_t data = *dst;
    memset(&data.extra, 0, sizeof data.extra);
    int32_t *comp =
        (int32_t *)(void *)((char *)ctx->ptr[DTP_REORDER_DST] + dtp_round_up_size(dtp_md_size(&data), 4));
    if (dst->extra.flags & DTP_EXTRA_COMP_S8S8) {
        compensate_one(ctx, dst, dst->extra.compensation_mask, -128, comp);
        for (int d = 0, n = 1; d < dst->ndims; ++d) {
            if (dst->extra.compensation_mask >> d & 1) n *= (int)dst->padded_dims[d];
            if (d + 1 == dst->ndims) comp += n;
        }
    }
    if (dst->extra.flags & DTP_EXTRA_COMP_ASYMM_SRC)
        compensate_one(ctx, dst, dst->extra.asymm_compensation_mask, -1, comp);
}
