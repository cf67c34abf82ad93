/* Weights of Winograd convolutions: plain or packed to the opaque layout, as part of an execution and as a reorder. */
#include "common/problems/reorder.h"
#include "cpu/convolution/winograd.h"
#include "threading/base/parallel.h"

enum { CHANNELS = 16, ELEMENTS = 9 }; /* input channels at a time; elements of a kernel */

const dtp_wino_kern_t *dtp_wino_kern(unsigned isa) {
    return DTP_BY_ISA(isa, &dtp_wino_kern, &dtp_wino_kern__portable);
}

bool dtp_wino_weights(dtp_wino_weights_t *w, const dtp_md_t *md) {
    if (md->format_kind != dnnl_tp_blocked || md->ndims != 4 || md->data_type != dnnl_tp_f32 ||
        md->extra.flags)
        return false;
    const bool panels = md->inner_nblks == 1 && md->inner_blks[0] == DTP_WINO_PANEL && md->inner_idxs[0] == 0;
    if (!panels && md->inner_nblks) return false;
    *w = (dtp_wino_weights_t){.offset = md->offset0,
                              .o = panels ? 1 : md->strides[0],
                              .i = md->strides[1],
                              .h = md->strides[2],
                              .w = md->strides[3],
                              .panel = panels ? md->strides[0] : 0,
                              .oc = md->dims[0],
                              .ic = md->dims[1]};
    return true;
}

/* n <= 16 output channels and c input channels: [element][channel][16], zeros behind. */
static void gather(const dtp_wino_weights_t *w, const float *from, int64_t n, int64_t c, float *room) {
    for (int64_t e = 0; e < ELEMENTS; ++e)
        for (int64_t i = 0; i < c; ++i, room += DTP_WINO_PANEL) {
            const float *f = from + e / 3 * w->h + e % 3 * w->w + i * w->i;
            for (int64_t o = 0; o < n; ++o) room[o] = f[o * w->o];
            for (int64_t o = n; o < DTP_WINO_PANEL; ++o) room[o] = 0;
        }
}

void dtp_wino_transform(const dtp_wino_weights_t *w, const float *from, float *to, const dtp_ukr_set_t *ukr,
                        const dtp_wino_kern_t *kern, dtp_opaque_t layout, int64_t begin, int64_t end) {
    const int64_t npanels = dtp_div_up(w->oc, DTP_WINO_PANEL), size = w->ic * DTP_WINO_PANEL;
    const bool oihw = !w->panel && w->w == 1 && w->h == 3 && (w->i == ELEMENTS || w->ic == 1);
    const bool ohwi = !w->panel && (w->i == 1 || w->ic == 1);
    float room[CHANNELS * ELEMENTS * DTP_WINO_PANEL];
    dtp_wino_wei_t a = {.point = npanels * size};
    from += w->offset;
    for (int64_t p = begin; p < end; ++p) {
        const int64_t n = dtp_min64(w->oc - p * DTP_WINO_PANEL, DTP_WINO_PANEL);
        const float *panel = from + (w->panel ? p * w->panel : p * DTP_WINO_PANEL * w->o);
        for (int64_t c0 = 0; c0 < w->ic; c0 += CHANNELS) {
            a.channels = dtp_min64(w->ic - c0, CHANNELS);
            a.w = room;
            a.u = to + p * size + c0 * DTP_WINO_PANEL;
            a.element = a.channels * DTP_WINO_PANEL;
            a.channel = DTP_WINO_PANEL;
            const float *f = panel + c0 * w->i;
            const int64_t ld = w->o * (int64_t)sizeof *f, room_bytes = DTP_WINO_PANEL * (int64_t)sizeof *room;
            if (w->panel && w->h == 3 * w->w) {
                a.w = f;
                a.element = w->w;
                a.channel = w->i;
            } else if (oihw) {
                ukr->pack_trans((const char *)f, ld, ELEMENTS * a.channels, n, (char *)room,
                                ELEMENTS * a.channels * room_bytes);
                a.element = DTP_WINO_PANEL;
                a.channel = ELEMENTS * DTP_WINO_PANEL;
            } else if (ohwi) {
                for (int64_t e = 0; e < ELEMENTS; ++e)
                    ukr->pack_trans((const char *)(f + e / 3 * w->h + e % 3 * w->w), ld, a.channels, n,
                                    (char *)(room + e * a.element), a.channels * room_bytes);
            } else {
                gather(w, f, n, a.channels, room);
            }
            kern->wei[layout == DTP_OPAQUE_WINO_4X4](&a);
        }
    }
}

/* ---- The reorder ------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_ukr_set_t *ukr;
    const dtp_wino_kern_t *kern;
    dtp_wino_weights_t from;
    bool copy; /* both sides have the same opaque layout */
    size_t bytes;
    int64_t panels, grain;
} wino_reorder_t;

static dnnl_tp_status_t reorder_winograd_pd_init(dtp_pd_t *pd) {
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)pd->op;
    wino_reorder_t *p = pd->plan;
    const unsigned isa = dtp_pd_isa(pd);
    DTP_DISPATCH(dtp_md_is_opaque(&op->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(op->src.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    p->copy = dtp_md_same_layout(&op->src, &op->dst);
    DTP_DISPATCH(p->copy || dtp_wino_weights(&p->from, &op->src), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    p->ukr = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa);
    p->kern = dtp_wino_kern(isa);
    p->bytes = dtp_md_size(&op->dst);
    p->panels = dtp_div_up(op->dst.dims[0], DTP_WINO_PANEL);
    const double bytes_per_ns = 8, panel = (double)p->bytes / (double)dtp_max64(p->panels, 1);
    p->grain = dtp_grain(10. + panel / bytes_per_ns);
    return dnnl_tp_success;
}

static void reorder_panels(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *job = arg;
    const wino_reorder_t *p = job->pd->plan;
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)job->pd->op;
    (void)slot;
    dtp_wino_transform(&p->from, job->ctx->ptr[DTP_REORDER_SRC], job->ctx->ptr[DTP_REORDER_DST], p->ukr,
                       p->kern, op->dst.opaque, begin, end);
}

static dnnl_tp_status_t reorder_winograd_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const wino_reorder_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    if (p->copy) memmove(ctx->ptr[DTP_REORDER_DST], ctx->ptr[DTP_REORDER_SRC], p->bytes);
    else dtp_parallel_for(ctx->par, p->panels, p->grain, reorder_panels, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(reorder_winograd, "wino", .plan_size = sizeof(wino_reorder_t),
                      .pd_init = reorder_winograd_pd_init, .execute = reorder_winograd_execute);
