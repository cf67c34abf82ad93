/* Local response normalization on vectors, in f32: src and dst of one real type and layout, whose rows are even. A unit of
 * work is some pixels (neighbours are channels that lie side by side), some pixels of some planes (channels that
 * do not), or some rows of space (neighbours within a channel). */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/norms/lrn.h"
#include "cpu/lrn/lrn_kern.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

enum {
    UNIT_FLOATS = 4096,       /* of a unit of pixels */
    PLANE_PIXELS = 1024,      /* of a unit of planes: with their neighbours they stay in the first cache */
    PLANE_CHANNELS = 16,      /* of a unit of planes, at least */
    SLOT_FLOATS = 1024 * 1024 /* of scratch for a participant; beyond, the reference serves */
};
typedef enum { LRN_PIXELS, LRN_PLANES, LRN_WITHIN } way_t;

typedef struct {
    const dtp_lrn_kernels_t *kernels;
    const dtp_vops_t *vops;
    dtp_eltwise_fn_t power; /* of any beta but 3/4 */
    dtp_binary_fn_t times;
    way_t way;
    v_type_t type;
    dnnl_tp_data_type_t dt;
    int64_t size;
    int64_t n, c, block, n_stride, c_stride;
    int64_t space[3], stride[3]; /* depth, height, columns; stride of columns: a pixel's */
    int64_t half;
    float factor;
    int64_t unit, units; /* pixels, channels or rows of a unit; units of an image */
    int64_t pieces;      /* of the channels, where units are of planes */
    int64_t grain;
    int64_t room, base; /* floats of scratch */
} plan_t;

/* Rows of one distance, channels side by side or in blocks of one level. */
static bool lrn_layout(plan_t *p, const dtp_md_t *md) {
    const int spatial = md->ndims - 2;
    if (md->inner_nblks > 1 || (md->inner_nblks == 1 && md->inner_idxs[0] != 1)) return false;
    p->n = md->dims[0];
    p->c = md->dims[1];
    p->n_stride = md->strides[0];
    p->c_stride = md->strides[1];
    p->block = md->inner_nblks ? md->inner_blks[0] : 1;
    for (int i = 0; i < 3; ++i) {
        const int d = i - (3 - spatial);
        p->space[i] = d < 0 ? 1 : md->dims[2 + d];
        p->stride[i] = d < 0 ? 0 : md->strides[2 + d];
    }
    /* What has one element only is as its inner neighbour. */
    for (int i = 1; i >= 0; --i)
        if (p->space[i] == 1) p->stride[i] = p->stride[i + 1] * p->space[i + 1];
    return true;
}

static bool lrn_even_space(const plan_t *p) {
    int64_t even = p->stride[2] * p->space[2];
    for (int i = 1; i >= 0; --i) {
        if (p->space[i] > 1 && p->stride[i] != even) return false;
        even = p->stride[i] * p->space[i];
    }
    return true;
}

static int64_t lrn_pixels_of(const plan_t *p) { return p->space[0] * p->space[1] * p->space[2]; }

static dnnl_tp_status_t lrn_plan_across(plan_t *p, bool adjacent) {
    DTP_DISPATCH(lrn_even_space(p), UNSUPPORTED_LAYOUT);
    const int64_t pixels = lrn_pixels_of(p);
    if (adjacent) {
        p->way = LRN_PIXELS;
        DTP_DISPATCH(p->half < SLOT_FLOATS && p->c < SLOT_FLOATS, UNSUPPORTED_SHAPE);
        if (p->block == 1) p->block = dtp_max64(1, p->c);
        if (pixels == 1) { /* images are pixels */
            p->stride[2] = p->n_stride;
            p->space[2] = p->n;
            p->n = 1;
        }
        p->unit = dtp_max64(DTP_LRN_PIXELS, UNIT_FLOATS / dtp_max64(1, p->c));
        p->units = dtp_div_up(lrn_pixels_of(p), p->unit);
        p->room = DTP_LRN_PIXELS * dtp_lrn_room(p->c, p->half);
        return dnnl_tp_success;
    }
    p->way = LRN_PLANES;
    DTP_DISPATCH(p->block == 1 && (p->stride[2] == 1 || pixels == 1), UNSUPPORTED_LAYOUT);
    p->unit = dtp_max64(1, dtp_min64(PLANE_PIXELS, pixels));
    p->pieces = dtp_max64(1, dtp_min64(p->c / PLANE_CHANNELS, PLANE_PIXELS * PLANE_CHANNELS / p->unit / 4));
    p->units = dtp_div_up(pixels, p->unit) * p->pieces;
    return dnnl_tp_success;
}

/* Channels of a row of vectors: all that lie side by side. */
static int64_t lrn_width(const plan_t *p) { return p->block > 1 ? p->block : p->c_stride == 1 ? p->c : 1; }

static dnnl_tp_status_t lrn_plan_within(plan_t *p) {
    const int64_t width = lrn_width(p);
    p->way = LRN_WITHIN;
    DTP_DISPATCH(p->stride[2] == width || p->space[2] == 1, UNSUPPORTED_LAYOUT);
    const int64_t row = p->space[2] * width;
    p->half = dtp_min64(p->half, dtp_max64(p->space[0], dtp_max64(p->space[1], p->space[2])));
    DTP_DISPATCH(row < SLOT_FLOATS && p->half < SLOT_FLOATS && p->half * width < SLOT_FLOATS,
                 UNSUPPORTED_SHAPE);
    p->room = row + 2 * p->half * width + 2 * DTP_LRN_LANES;
    p->unit = 1;
    p->units = dtp_div_up(p->c, dtp_max64(1, width)) * p->space[0] * p->space[1];
    return dnnl_tp_success;
}

static dnnl_tp_status_t lrn_init(dtp_pd_t *pd) {
    const unsigned isa = dtp_pd_isa(pd);
    dtp_lrn_desc_t *d = (dtp_lrn_desc_t *)pd->op;
    plan_t *p = pd->plan;
    p->dt = d->src.data_type;
    DTP_DISPATCH(p->dt == dnnl_tp_f32 || p->dt == dnnl_tp_bf16 || p->dt == dnnl_tp_f16,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == p->dt, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    DTP_DISPATCH(dtp_md_same_layout(&d->src, &d->dst) && d->src.offset0 == d->dst.offset0,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(lrn_layout(p, &d->src), UNSUPPORTED_LAYOUT);
    p->kernels = DTP_BY_ISA_BF16(isa, &dtp_lrn_kernels, &dtp_lrn_kernels__portable);
    p->vops = dtp_vops(isa);
    p->type = p->dt == dnnl_tp_f32 ? V_F32 : p->dt == dnnl_tp_bf16 ? V_BF16 : V_F16;
    p->size = (int64_t)dtp_type_size(p->dt);
    p->factor = (float)dtp_lrn_factor(d);
    p->half = dtp_lrn_half(d);
    const bool across = d->alg == dnnl_tp_lrn_across_channels;
    if (across) p->half = dtp_min64(p->half, p->c);
    DTP_TRY(across ? lrn_plan_across(p, lrn_width(p) > 1 || p->c == 1) : lrn_plan_within(p));
    if (d->beta != .75f) {
        p->power = dtp_vops_eltwise(p->vops, dnnl_tp_eltwise_pow);
        p->times = dtp_vops_binary(p->vops, dnnl_tp_binary_mul);
        p->base = p->way == LRN_PIXELS ? p->c : p->way == LRN_PLANES ? p->unit : p->space[2] * lrn_width(p);
    }
    dtp_pd_book(pd, 0, (size_t)(p->room + 2 * p->base) * sizeof(float) + 2 * DTP_CACHE_LINE);
    const double elements = (double)dtp_md_nelems(&d->src) / (double)dtp_max64(1, p->n * p->units);
    const double neighbours = (double)(across ? 2 * p->half + 1 : (2 * p->half + 1) * 2);
    double ns = (isa & DTP_ISA_AVX512 ? .034 : isa & DTP_ISA_AVX2 ? .04 : .5) * (5 + neighbours);
    if (p->power) ns += isa ? 1 : 20;
    p->grain = dtp_grain(10 + ns * elements);
    return dnnl_tp_success;
}

/* n elements side by side at `at`: dst = src * base^-beta. */
static void lrn_power(const dtp_job_t *j, int64_t at, int64_t n, float *base, float *tile) {
    const plan_t *p = j->pd->plan;
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    p->power(&(dtp_eltwise_args_t){
        .x = base, .y = base, .ldx = n, .ldy = n, .rows = 1, .cols = n, .alpha = 1.f, .beta = -d->beta});
    p->vops->load[p->dt](tile, (const char *)j->ctx->ptr[DTP_LRN_SRC] + at * p->size, n, 1);
    p->times(&(dtp_binary_args_t){.x0 = tile,
                                  .x1 = base,
                                  .y = tile,
                                  .ld0 = n,
                                  .ld1 = n,
                                  .ldy = n,
                                  .rows = 1,
                                  .cols = n,
                                  .cs0 = 1,
                                  .cs1 = 1});
    p->vops->store[p->dt]((char *)j->ctx->ptr[DTP_LRN_DST] + at * p->size, tile, n, 1);
}

static void lrn_pixels(const dtp_job_t *j, int64_t n, int64_t unit, float *room) {
    const plan_t *p = j->pd->plan;
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    const int64_t first = unit * p->unit, count = dtp_min64(p->unit, lrn_pixels_of(p) - first);
    float *base = room + dtp_round_up(p->room, DTP_LRN_LANES);
    dtp_lrn_pixels_t a = {.type = p->type,
                          .pixels = p->power ? 1 : count,
                          .ld = p->stride[2],
                          .channels = p->c,
                          .block = p->block,
                          .next_block = p->c_stride,
                          .half = p->half,
                          .k = d->k,
                          .factor = p->factor,
                          .room = room,
                          .ld_room = dtp_lrn_room(p->c, p->half),
                          .base = p->power ? base : NULL};
    for (int64_t i = 0; i < count; i += a.pixels) {
        const int64_t at = d->src.offset0 + n * p->n_stride + (first + i) * p->stride[2];
        a.src = (const char *)j->ctx->ptr[DTP_LRN_SRC] + at * p->size;
        a.dst = (char *)j->ctx->ptr[DTP_LRN_DST] + at * p->size;
        p->kernels->pixels(&a);
        for (int64_t c = 0; p->power && c < p->c; c += p->block)
            lrn_power(j, at + c / p->block * p->c_stride, dtp_min64(p->block, p->c - c), base + c,
                      base + p->base);
    }
}

static void lrn_planes(const dtp_job_t *j, int64_t n, int64_t unit, float *room) {
    const plan_t *p = j->pd->plan;
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    const int64_t piece = unit % p->pieces, first = unit / p->pieces * p->unit;
    const int64_t c_end = (piece + 1) * p->c / p->pieces;
    const char *src = j->ctx->ptr[DTP_LRN_SRC];
    dtp_lrn_rows_t a = {.type = p->type,
                        .nd = 1,
                        .step_h = p->c_stride,
                        .n = dtp_min64(p->unit, lrn_pixels_of(p) - first),
                        .k = d->k,
                        .factor = p->factor,
                        .base = p->power ? room : NULL};
    for (int64_t c = piece * p->c / p->pieces; c < c_end; ++c) {
        const int64_t at = d->src.offset0 + n * p->n_stride + first, low = dtp_max64(0, c - p->half);
        a.nh = dtp_min64(p->c, c + p->half + 1) - low;
        a.first = src + (at + low * p->c_stride) * p->size;
        a.src = src + (at + c * p->c_stride) * p->size;
        a.dst = (char *)j->ctx->ptr[DTP_LRN_DST] + (at + c * p->c_stride) * p->size;
        p->kernels->rows(&a);
        if (p->power) lrn_power(j, at + c * p->c_stride, a.n, room, room + p->base);
    }
}

/* One row of columns, of channels that lie side by side. */
static void lrn_within(const dtp_job_t *j, int64_t n, int64_t unit, float *room) {
    const plan_t *p = j->pd->plan;
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)j->pd->op;
    const int64_t h = unit % p->space[1], z = unit / p->space[1] % p->space[0], width = lrn_width(p),
                  block = unit / p->space[1] / p->space[0];
    const int64_t high = dtp_max64(0, h - p->half), deep = dtp_max64(0, z - p->half);
    const int64_t plane = d->src.offset0 + n * p->n_stride + block * p->c_stride;
    const int64_t at = plane + z * p->stride[0] + h * p->stride[1];
    const char *src = j->ctx->ptr[DTP_LRN_SRC];
    float *base = room + dtp_round_up(p->room, DTP_LRN_LANES);
    const bool along = p->half > 0 && p->space[2] > 1;
    const dtp_lrn_rows_t a = {.first = src + (plane + deep * p->stride[0] + high * p->stride[1]) * p->size,
                              .nd = dtp_min64(p->space[0], z + p->half + 1) - deep,
                              .nh = dtp_min64(p->space[1], h + p->half + 1) - high,
                              .step_d = p->stride[0],
                              .step_h = p->stride[1],
                              .src = src + at * p->size,
                              .dst = (char *)j->ctx->ptr[DTP_LRN_DST] + at * p->size,
                              .type = p->type,
                              .n = p->space[2] * width,
                              .half = along ? p->half : 0,
                              .step = width,
                              .k = d->k,
                              .factor = p->factor,
                              .room = room,
                              .base = p->power ? base : NULL};
    p->kernels->rows(&a);
    if (p->power) lrn_power(j, at, a.n, base, base + p->base);
}

static void lrn_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    float *room = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / p->units, unit = i % p->units;
        if (p->way == LRN_PIXELS) lrn_pixels(j, n, unit, room);
        else if (p->way == LRN_PLANES) lrn_planes(j, n, unit, room);
        else lrn_within(j, n, unit, room);
    }
}

static dnnl_tp_status_t lrn_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_lrn_desc_t *d = (const dtp_lrn_desc_t *)pd->op;
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, p->n * p->units, p->grain, lrn_loop, &job);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_LRN_DST]);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(lrn, "simd", .plan_size = sizeof(plan_t), .pd_init = lrn_init, .execute = lrn_execute);
