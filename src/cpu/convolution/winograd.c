/* Winograd convolution: what it serves, whether it pays, blocks and split; see winograd.h. */
#include "cpu/convolution/winograd.h"

enum {
    BLOCK_PARTS =
        3, /* of BLOCK_WHOLE parts of the L2, for the transformed inputs and the products of a block, */
    BLOCK_WHOLE = 4,
    LEAST_TILES = 32, /* but weights are read again for each block */
    MOST_TILES = 96,
    FEW_TILES = 24, /* what a block may have that all threads have the same to do */
    FEW_ROWS = 4,   /* of tiles for a thread: the channels are split, into chunks of */
    CHUNK = 64,
    ALONE_NS = 2000, /* not worth a second thread */
    MOST_PAD = 1 << 20,
    MOST_LOOKS = 1 << 12, /* at positions, to count what lies inside */
    ALIAS = 1024          /* bytes: rows a multiple of it apart meet in few sets of the first cache */
};
#define MOST_SIZE 1e13
#define LESS 0.95 /* of the time of a direct convolution, to be chosen */
#define EVEN 0.95 /* of all threads' time that is work, enough */

/* ---- Blocks and split -------------------------------------------------------------------------------- */

/* From row to row of a matrix, and from matrix to matrix: neither a multiple of what caches are made of. */
static int64_t spread_row(int64_t floats) {
    const int64_t n = dtp_round_up(floats, DTP_WINO_LANES);
    return n * (int64_t)sizeof(float) % ALIAS ? n : n + DTP_WINO_LANES;
}
static int64_t spread_matrix(int64_t rows, int64_t row) {
    const int64_t lines = rows * row / DTP_WINO_LANES;
    return (lines | 1) * DTP_WINO_LANES;
}

/* Share of the threads' time that is work, with so many equal units. */
static double evenness(int64_t units, int threads) {
    return (double)units / ((double)threads * (double)dtp_div_up(units, threads));
}

/* Blocks of tiles, and whether their inputs are transformed beforehand. */
static void split(dtp_wino_t *p, const dtp_pd_t *pd) {
    const int threads = pd->num_threads;
    const int64_t strips = dtp_div_up(p->npanels, p->nv);
    const int64_t tile =
        p->points * (p->v_tile + spread_row(p->npanels * DTP_WINO_PANEL)) * (int64_t)sizeof(float);
    const int64_t fit = pd->engine->l2_bytes * BLOCK_PARTS / BLOCK_WHOLE / tile;
    const int64_t block = dtp_min64(dtp_max64(fit, LEAST_TILES), MOST_TILES);
    p->nblocks = dtp_div_up(p->tiles, block);
    p->parts = 1;
    p->shared = false;
    if (threads < 2 || p->ns < ALONE_NS) return;
    const int64_t most = dtp_min64(dtp_max64(p->tiles / FEW_TILES, p->nblocks), p->nblocks + threads);
    for (int64_t n = p->nblocks; n <= most; ++n)
        if (evenness(n, threads) > EVEN) {
            p->nblocks = n;
            return;
        }
    p->shared = true;
    double best = evenness(p->nblocks, threads);
    for (int64_t n = 2; n <= strips && best <= EVEN; ++n)
        if (evenness(p->nblocks * n, threads) > best + 0.02) {
            best = evenness(p->nblocks * n, threads);
            p->parts = n;
        }
}

static void plan(dtp_wino_t *p, dtp_pd_t *pd) {
    const int64_t f = (int64_t)sizeof(float);
    p->units = 0;
    if (p->tiles == 0 || p->npanels == 0) return;
    p->v_tile = spread_row(p->ic);
    split(p, pd);
    p->block = dtp_div_up(p->tiles, p->nblocks);
    p->group = dtp_min64(dtp_div_up(dtp_div_up(p->npanels, p->nv), p->parts) * p->nv, p->npanels);
    p->m_tile = spread_row(p->group * DTP_WINO_PANEL);
    const int64_t rows = p->images * p->tiles_h;
    p->chunk = rows < FEW_ROWS * (int64_t)pd->num_threads ? CHUNK : dtp_max64(p->ic, 1);
    p->src_units = rows * dtp_div_up(p->ic, p->chunk);
    p->units = p->nblocks * p->parts;
    const double unit_ns = p->ns / (double)p->units;
    p->unit_ns = unit_ns < 1e9 ? (int64_t)unit_ns + 1 : (int64_t)1e9;
    p->alone = pd->num_threads < 2 || p->units < 2 || p->ns < ALONE_NS;
    p->v_point = spread_matrix(p->shared ? p->tiles : p->block, p->v_tile);
    p->m_point = spread_matrix(p->block, p->m_tile);
    p->wei_bytes = p->packs_wei ? dtp_round_up(p->points * p->wei_point * f, DTP_CACHE_LINE) : 0;
    p->v_bytes = p->points * p->v_point * f;
    p->m_bytes = p->points * p->m_point * f;
    const int64_t side = p->out * dtp_min64(p->block, p->tiles_w),
                  tile = p->tiled ? p->out * side * p->group * DTP_WINO_PANEL * f : 0;
    dtp_pd_book(pd, (size_t)(p->wei_bytes + (p->shared ? p->v_bytes : 0)),
                (size_t)((p->shared ? 0 : p->v_bytes) + p->m_bytes + tile));
}

/* ---- What pays --------------------------------------------------------------------------------------- */

/* Everything is counted in floating-point operations of the micro-kernels, as measured on a Zen 4 with either
 * instruction set. Products alone do not tell: a float that is transformed costs, and so does a weight that is read
 * again for each block of tiles. */
#define FLOPS_PER_POINT 10.  /* of each point of each channel of src and dst */
#define FLOPS_PER_WEIGHT 6.  /* of U, for each block that reads it */
#define FLOPS_PER_PACKED 27. /* of U, where it is made at execution */
#define FLOPS_PER_PIXEL 12.  /* of dst: what a direct convolution does besides its products */
enum { USUAL_TILES = 64 };   /* of a block */

static double wino_flops(const dtp_wino_t *p) {
    /* Of half a panel and less: direct kernels leave no column empty. */
    const int64_t columns = p->oc > DTP_WINO_PANEL / 2 ? p->oc : DTP_WINO_PANEL;
    const double weights = (double)p->points * (double)p->ic * (double)columns;
    const int64_t rows = dtp_round_up(p->ic, DTP_WINO_LANES) + dtp_round_up(p->oc, DTP_WINO_LANES);
    double flops = (double)p->tiles * (2. * weights + FLOPS_PER_POINT * (double)p->points * (double)rows);
    flops += FLOPS_PER_WEIGHT * weights * (double)dtp_div_up(p->tiles, USUAL_TILES);
    return p->packs_wei ? flops + FLOPS_PER_PACKED * weights : flops;
}

/* Elements of the kernel that lie inside, over all positions along a dimension. */
static double inside(const dtp_window_t *w) {
    double n = 0;
    if (w->out > MOST_LOOKS) return (double)w->out * (double)w->kernel;
    for (int64_t o = 0; o < w->out; ++o) {
        int64_t lo, hi;
        dtp_window_taps(w, o, &lo, &hi);
        n += (double)(hi - lo);
    }
    return n;
}

static double direct_flops(const dtp_wino_t *p, const dtp_convolution_desc_t *d) {
    const dtp_window_t h = dtp_conv_window(d, 1), w = dtp_conv_window(d, 2);
    const double n = (double)p->images * (double)p->oc;
    return n *
           (2. * inside(&h) * inside(&w) * (double)p->ic + FLOPS_PER_PIXEL * (double)p->oh * (double)p->ow);
}

static void set_layout(dtp_wino_t *p, dtp_opaque_t layout) {
    p->layout = layout;
    p->size = layout == DTP_OPAQUE_WINO_4X4;
    p->out = dtp_opaque_wino_outputs(layout);
    p->in = dtp_opaque_wino_inputs(layout);
    p->points = (int64_t)p->in * p->in;
    p->tiles_h = dtp_div_up(p->oh, p->out);
    p->tiles_w = dtp_div_up(p->ow, p->out);
    p->tiles = p->images * p->tiles_h * p->tiles_w;
    p->ns = wino_flops(p) / p->ukr->flops_per_ns;
}

/* The size of a tile, and whether it pays; resolves the weights. */
static dnnl_tp_status_t choose(dtp_wino_t *p, const dtp_pd_t *pd, dtp_convolution_desc_t *d) {
    /* Sizes of scratch do not overflow then. */
    const double pixels = (double)p->images * (double)p->oh * (double)p->ow + 1;
    DTP_DISPATCH(pixels * (double)(p->ic + p->oc + 1) < MOST_SIZE &&
                     (double)p->ic * (double)p->oc < MOST_SIZE,
                 UNSUPPORTED_SHAPE);
    const bool loose = pd->attr->acc_mode == dnnl_tp_accumulation_mode_relaxed ||
                       pd->attr->acc_mode == dnnl_tp_accumulation_mode_any;
    if (dtp_md_is_opaque(&d->wei)) {
        DTP_DISPATCH(loose || d->wei.opaque == DTP_OPAQUE_WINO_2X2, UNSUPPORTED_LAYOUT);
        set_layout(p, d->wei.opaque);
        return dnnl_tp_success;
    }
    p->packs_wei = !dtp_md_is_any(&d->wei);
    if (p->packs_wei) DTP_DISPATCH(dtp_wino_weights(&p->from, &d->wei), UNSUPPORTED_LAYOUT);
    dtp_md_t opaque = d->wei;
    set_layout(p, DTP_OPAQUE_WINO_2X2);
    if (loose) {
        const double ns = p->ns;
        set_layout(p, DTP_OPAQUE_WINO_4X4);
        if (p->ns > ns) set_layout(p, DTP_OPAQUE_WINO_2X2);
    }
    DTP_DISPATCH(dtp_md_make_opaque(&opaque, p->layout), UNSUPPORTED_SHAPE);
    if (!p->packs_wei) d->wei = opaque;
    DTP_DISPATCH(d->alg == dnnl_tp_convolution_winograd ||
                     p->ns * p->ukr->flops_per_ns < direct_flops(p, d) * LESS,
                 UNSUPPORTED_ALG);
    return dnnl_tp_success;
}

/* ---- The implementation ------------------------------------------------------------------------------ */

static bool channels_inside(const dtp_md_t *md) {
    return dtp_md_is_plain(md) && (md->strides[1] == 1 || md->dims[1] <= 1);
}

static dnnl_tp_status_t winograd_pd_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    dtp_wino_t *p = pd->plan;
    const dnnl_tp_data_type_t f32 = dnnl_tp_f32;
    const bool has_bias = !dtp_md_is_zero(&d->bia);
    DTP_DISPATCH(d->alg != dnnl_tp_convolution_direct, UNSUPPORTED_ALG);
    DTP_DISPATCH(d->src.data_type == f32 && d->wei.data_type == f32 && d->dst.data_type == f32 &&
                     (!has_bias || d->bia.data_type == f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->nspatial == 2 && !dtp_conv_grouped(d) && d->wei.dims[2] == 3 && d->wei.dims[3] == 3,
                 UNSUPPORTED_SHAPE);
    for (int i = 0; i < 2; ++i)
        DTP_DISPATCH(d->strides[i] == 1 && d->dilations[i] == 0 && d->padding_l[i] <= MOST_PAD,
                     UNSUPPORTED_SHAPE);
    DTP_TRY(dtp_conv_resolve(&d->src, "acdb"));
    DTP_TRY(dtp_conv_resolve(&d->dst, "acdb"));
    if (has_bias && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    DTP_DISPATCH(channels_inside(&d->src) && channels_inside(&d->dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!has_bias || (dtp_md_is_plain(&d->bia) && (d->bia.strides[0] == 1 || d->bia.dims[0] <= 1)),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    p->ukr = dtp_ukr_set(f32, f32, f32, isa);
    p->kern = dtp_wino_kern(isa);
    p->images = d->src.dims[0];
    p->ic = d->src.dims[1];
    p->oc = d->dst.dims[1];
    p->ih = d->src.dims[2], p->iw = d->src.dims[3];
    p->oh = d->dst.dims[2], p->ow = d->dst.dims[3];
    p->top = d->padding_l[0], p->left = d->padding_l[1];
    p->npanels = dtp_div_up(p->oc, DTP_WINO_PANEL);
    p->wei_panel = p->ic * DTP_WINO_PANEL;
    p->wei_point = p->npanels * p->wei_panel;
    p->nv = 1;
    if (p->ukr->max_nv > 2 && p->ukr->max_mr[3]) p->nv = p->npanels % 3 && p->npanels % 4 == 0 ? 4 : 3;
    p->nv = (int)dtp_max64(dtp_min64(p->nv, p->npanels), 1);
    DTP_TRY(choose(p, pd, d));
    p->src_0 = d->src.offset0, p->dst_0 = d->dst.offset0;
    p->src_n = d->src.strides[0], p->src_h = d->src.strides[2], p->src_w = d->src.strides[3];
    p->dst_n = d->dst.strides[0], p->dst_h = d->dst.strides[2], p->dst_w = d->dst.strides[3];
    p->has_bias = has_bias;
    p->bia_0 = d->bia.offset0;
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CONV_DST, isa));
    p->tiled = !dtp_fused_init(&p->fused, &p->po, false, false);
    if (p->tiled) memset(&p->fused, 0, sizeof p->fused);
    plan(p, pd);
    d->alg = dnnl_tp_convolution_winograd;
    return dnnl_tp_success;
}

static dnnl_tp_status_t winograd_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    dtp_wino_run(pd->plan, pd, ctx);
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_wino_t)
DTP_CPU_IMPLS_AND_ANY(convolution_winograd, "wino", .plan_size = sizeof(dtp_wino_t), .plan_used = plan_used,
                      .pd_init = winograd_pd_init, .execute = winograd_execute);
