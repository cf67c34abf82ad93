/* Batch and group normalization on vectors, in f32: the plan (channel_norm_plan.h). Any types whose values are floats,
 * any layouts; what does not lie in even rows passes through scratch. */
#include <math.h>

#include "common/base/scalar.h"
#include "cpu/channel_norm/channel_norm_plan.h"
#include "threading/base/parallel.h"

enum {
    CHUNK_BYTES = 24 * 1024, /* of a piece */
    BIG_PIECE = 8,           /* such pieces in one, where dst goes past the caches */
    LEAST_ROWS = 16,         /* of a piece of channels that lie side by side */
    STAT_ROWS = 64,          /* of one whose statistics are taken, at least */
    STAT_FLOATS = 16384,     /* of such a piece, about */
    STAT_COLS = 128,         /* of such a piece, a multiple */
    PIECE_FLOATS = 8192,     /* of a piece of short planes */
    UNITS_PER_THREAD = 4
};

/* False: not even rows of one distance. */
static bool cn_view(dtp_cn_view_t *v, const dtp_md_t *md) {
    if (md->inner_nblks > 1 || (md->inner_nblks == 1 && md->inner_idxs[0] != 1)) return false;
    *v = (dtp_cn_view_t){.offset0 = md->offset0,
                         .n_stride = md->strides[0],
                         .c_stride = md->strides[1],
                         .block = md->inner_nblks ? md->inner_blks[0] : 1};
    int64_t step = 0;
    for (int i = md->ndims - 1; i >= 2; --i) {
        if (md->dims[i] == 1) continue;
        if (step && md->strides[i] != step) return false;
        if (!step) v->s_stride = md->strides[i];
        step = md->strides[i] * md->dims[i];
    }
    return true;
}

static bool cn_adjacent(const dtp_cn_view_t *v, int64_t channels) {
    return v->block > 1 || (v->c_stride == 1 && channels > 1);
}

static v_type_t cn_type(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32    ? V_F32
           : dt == dnnl_tp_bf16 ? V_BF16
           : dt == dnnl_tp_f16  ? V_F16
           : dt == dnnl_tp_s8   ? V_S8
                                : V_U8;
}

static void cn_cut(dtp_cn_cut_t *cut, int64_t c, int64_t space, int64_t chunk, int64_t block) {
    cut->c = c;
    cut->space = space;
    cut->chunk = dtp_max64(1, dtp_min64(chunk, space));
    cut->chunks = dtp_max64(1, dtp_div_up(space, cut->chunk));
    cut->tail = space - (cut->chunks - 1) * cut->chunk;
    cut->block = dtp_max64(1, dtp_min64(block, c));
    cut->blocks = dtp_max64(1, dtp_div_up(c, cut->block));
}

/* How pieces are cut, for statistics and for what follows. */
static void cn_cuts(dtp_cn_plan_t *p, const dtp_channel_norm_desc_t *d, int64_t space) {
    const int64_t of = p->groups ? p->c / p->groups : 1;
    if (p->by_cols) {
        const int64_t width = p->src.block > 1 ? p->src.block : p->c;
        if (!p->groups &&
            (p->n == 1 ||
             (p->src.n_stride == space * p->src.s_stride && p->dst.n_stride == space * p->dst.s_stride) ||
             space == 1)) { /* images are rows, too */
            if (space == 1) p->src.s_stride = p->src.n_stride, p->dst.s_stride = p->dst.n_stride;
            space *= p->n;
            p->n = 1;
        }
        const int64_t rows = CHUNK_BYTES / dtp_max64(1, width * (int64_t)dtp_type_size(d->src.data_type));
        /* Each piece waits for its stores past the caches. */
        const int64_t longer = p->given && p->big ? BIG_PIECE : 1;
        cn_cut(&p->norm, p->c, space, longer * dtp_max64(LEAST_ROWS, rows), width);
        /* Chunks of like size. */
        const int64_t chunk = dtp_div_up(space, dtp_max64(1, dtp_div_up(space, dtp_max64(STAT_ROWS, rows))));
        const int64_t cols = dtp_round_up(dtp_div_up(STAT_FLOATS, dtp_max64(1, chunk)), STAT_COLS);
        cn_cut(&p->stat, p->c, space, chunk, p->src.block > 1 ? width : cols);
        return;
    }
    cn_cut(&p->norm, p->c, space, DTP_CN_TILE, PIECE_FLOATS / dtp_max64(1, dtp_min64(space, DTP_CN_TILE)));
    p->norm.c_stride = p->src.c_stride;
    p->stat = p->norm;
    p->runs = p->groups && p->src_direct && (p->src.c_stride == space || of == 1);
    if (!p->runs) return;
    cn_cut(&p->stat, p->groups, of * space, DTP_CN_TILE,
           PIECE_FLOATS / dtp_max64(1, dtp_min64(of * space, DTP_CN_TILE)));
    p->stat.c_stride = of * p->src.c_stride;
}

/* Units that hold whole sets of statistics, if there are enough of them. */
static void cn_units(dtp_cn_plan_t *p, const dtp_pd_t *pd) {
    const int64_t threads = pd->num_threads, of = p->groups ? p->c / p->groups : 1;
    const int64_t size = (int64_t)dtp_type_size(p->sdt) * p->norm.space, least = threads * UNITS_PER_THREAD;
    if (p->given || p->c == 0) return;
    p->unit_n = p->groups ? 1 : p->n;
    /* Whole groups, or blocks of channels that lie side by side. */
    const int64_t step = !p->by_cols ? of
                         : p->groups ? p->c
                                     : p->norm.block,
                  fit = pd->engine->l2_bytes / 4 / dtp_max64(1, p->unit_n * size),
                  share = p->c / dtp_max64(1, p->groups ? dtp_div_up(least, p->n) : least);
    p->unit_c = dtp_max64(step, dtp_min64(fit, share) / step * step);
    const int64_t units = dtp_div_up(p->n, dtp_max64(1, p->unit_n)) * dtp_div_up(p->c, p->unit_c);
    if (units >= 2 * threads || threads == 1) p->units = units;
}

static void cn_book(dtp_cn_plan_t *p, dtp_pd_t *pd) {
    const size_t by_channel =
        dtp_round_up_size((size_t)(p->groups ? p->n * p->c : p->c) * sizeof(float), DTP_CACHE_LINE);
    size_t at = 0;
    p->ld = 2 * dtp_round_up(p->stat.c, DTP_CACHE_LINE / (int64_t)sizeof(float));
    p->parts_at = at;
    if (!p->given) at += (size_t)(p->n * p->stat.chunks * p->ld) * sizeof(float);
    p->mul_at = at, at += by_channel;
    p->add_at = at, at += by_channel;
    p->mean_at = at, at += by_channel;
    p->var_at = at, at += by_channel;
    dtp_pd_book(pd, at, p->straight && (p->src_direct || p->given) ? 0 : 3 * DTP_CN_TILE * sizeof(float));
}

static double cn_ns(const dtp_cn_plan_t *p, unsigned isa) {
    const double ns = isa & DTP_ISA_AVX512 ? .05 : isa & DTP_ISA_AVX2 ? .07 : 1;
    return p->straight ? ns : ns + (p->by_cols || (p->src_direct && p->dst_direct) ? .2 : 2);
}

static dnnl_tp_status_t channel_norm_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    const dtp_channel_norm_desc_t *d = (const dtp_channel_norm_desc_t *)pd->op;
    dtp_cn_plan_t *p = pd->plan;
    DTP_DISPATCH(dtp_dt_fits_f32(d->src.data_type) && dtp_dt_fits_f32(d->dst.data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0, UNSUPPORTED_SHAPE); /* statistics of nothing: the reference's */
    DTP_TRY(dtp_channel_norm_layouts(pd, &p->src_scale, &p->dst_scale));
    p->kernels = DTP_BY_ISA_BF16(isa, &dtp_cn_kernels, &dtp_cn_kernels__portable);
    p->sdt = d->src.data_type;
    p->ddt = d->dst.data_type;
    p->src_type = cn_type(p->sdt);
    p->dst_type = cn_type(p->ddt);
    p->n = d->src.dims[0];
    p->c = d->src.dims[1];
    p->groups = d->groups;
    p->given = dtp_cnorm_given(d);
    p->written = dtp_cnorm_written(d);
    p->add = !dtp_md_is_zero(&d->src1);
    p->positive = !dtp_md_is_zero(&d->workspace);
    int64_t space = 1;
    for (int i = 2; i < d->src.ndims; ++i) space *= d->src.dims[i];
    const bool src_view = cn_view(&p->src, &d->src), dst_view = cn_view(&p->dst, &d->dst);
    p->by_cols = src_view && dst_view && cn_adjacent(&p->src, p->c) && cn_adjacent(&p->dst, p->c) &&
                 p->src.block == p->dst.block;
    p->src_direct = p->by_cols || (src_view && p->src.block == 1 && (p->src.s_stride == 1 || space == 1));
    p->dst_direct = p->by_cols || (dst_view && p->dst.block == 1 && (p->dst.s_stride == 1 || space == 1));
    if (p->by_cols) DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CNORM_DST, isa));
    else DTP_TRY(dtp_postops_init(&p->po, pd, DTP_CNORM_DST, isa));
    const bool relu =
        p->po.len == 1 && dtp_postops_simple(&p->po, 0).form == DTP_PO_FORM_RELU && p->dst_scale.index < 0;
    p->least = dtp_cnorm_has_relu(d) || relu ? 0.f : -INFINITY;
    p->straight = p->src_direct && p->dst_direct && (p->po.len == 0 || relu) &&
                  (p->ddt == dnnl_tp_f32 || (p->ddt == p->sdt && p->ddt < dnnl_tp_f32));
    if (relu && !p->straight && !dtp_cnorm_has_relu(d)) p->least = -INFINITY;
    const int64_t bytes = dtp_md_nelems(&d->src) * (int64_t)(dtp_type_size(p->sdt) + dtp_type_size(p->ddt));
    p->big = p->straight && dtp_exceeds_caches((double)bytes, pd->engine->l3_bytes) && p->ddt == dnnl_tp_f32;
    cn_cuts(p, d, space);
    p->exceeds_l2 = bytes > pd->engine->l2_bytes;
    const int64_t piece = p->norm.block * p->norm.chunk * (int64_t)dtp_type_size(p->sdt);
    p->span = dtp_max64(1, pd->engine->l2_bytes / 2 / dtp_max64(1, piece));
    cn_units(p, pd);
    cn_book(p, pd);
    const double ns = cn_ns(p, isa), stat = 2 * ns;
    p->norm_grain = dtp_grain(20 + ns * (double)(p->norm.block * p->norm.chunk));
    p->stat_grain = dtp_grain(20 + stat * (double)(p->stat.block * p->stat.chunk));
    p->unit_grain = dtp_grain(20 + (ns + stat) * (double)(p->unit_n * p->unit_c * p->norm.space));
    return dnnl_tp_success;
}

DTP_PLAN_ENDS_WITH_POSTOPS(dtp_cn_plan_t)
DTP_CPU_IMPLS_AND_ANY(channel_norm, "simd", .plan_size = sizeof(dtp_cn_plan_t), .plan_used = plan_used,
                      .pd_init = channel_norm_init, .execute = dtp_channel_norm_execute);
