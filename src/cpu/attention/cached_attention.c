/* Attention over a cache for graphs. First the new rows of keys, turned, and of values get the layout of the cache; then
 * each item of work is some rows of the queries that share keys. A row reads the cache up to its own position, whatever
 * the capacity is. */
#include <math.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/cached_attention.h"
#include "cpu/attention/cached_kern.h"
#include "threading/base/parallel.h"

enum { ITEM_ROWS = 16 };

typedef struct {
    const dtp_cached_kern_t *kern;
    int64_t batch, s, d, capacity, shared;
    int64_t blocks;    /* of ITEM_ROWS rows, of one group */
    int64_t row_grain; /* of groups whose rows are laid out */
    int64_t mask[3];   /* strides */
} plan_t;

static bool is_rows(const dtp_md_t *md) {
    return md->data_type == dnnl_tp_f32 && dtp_md_is_plain(md) && md->ndims == 3 && md->strides[2] == 1;
}
static bool is_dense(const dtp_md_t *md, dnnl_tp_data_type_t type) {
    return md->data_type == type && (dtp_md_is_dense_row_major(md) || dtp_md_nelems(md) == 0);
}

static dnnl_tp_status_t cached_attention_init(dtp_pd_t *pd) {
    const dtp_cached_attention_desc_t *d = (const dtp_cached_attention_desc_t *)pd->op;
    plan_t *p = pd->plan;
#if DTP_X64
    p->kern = pd->impl->isa & DTP_ISA_AVX512 ? &dtp_cached_kern__avx512
              : pd->impl->isa                ? &dtp_cached_kern__avx2
                                             : &dtp_cached_kern__ref;
#else
    p->kern = &dtp_cached_kern__ref;
#endif
    DTP_DISPATCH(d->q.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(is_rows(&d->q) && is_rows(&d->k) && is_rows(&d->v) && is_rows(&d->dst) &&
                     is_dense(&d->past_k, dnnl_tp_f32) && is_dense(&d->past_v, dnnl_tp_f32) &&
                     is_dense(&d->rows_k, dnnl_tp_f32) && is_dense(&d->rows_v, dnnl_tp_f32) &&
                     is_dense(&d->lengths, dnnl_tp_s32),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (!dtp_md_is_zero(&d->mask)) {
        DTP_DISPATCH(d->mask.data_type == dnnl_tp_f32 && dtp_md_is_plain(&d->mask) && d->mask.ndims == 4 &&
                         (d->mask.strides[3] == 1 || d->mask.dims[3] == 1),
                     UNSUPPORTED_LAYOUT);
        memcpy(p->mask, d->mask.strides, sizeof p->mask);
    }
    if (!dtp_md_is_zero(&d->cosines))
        DTP_DISPATCH(is_dense(&d->cosines, dnnl_tp_f32) && is_dense(&d->sines, dnnl_tp_f32),
                     UNSUPPORTED_LAYOUT);
    p->batch = d->q.dims[0];
    p->s = d->q.dims[1];
    p->capacity = d->past_k.dims[2];
    p->d = d->past_k.dims[3];
    p->shared = d->heads / d->groups;
    p->blocks = dtp_div_up(p->s * p->shared, ITEM_ROWS);
    p->row_grain = dtp_grain(.2 * (double)(p->s * p->d));
    dtp_pd_book(pd, 0, sizeof(float) * (size_t)dtp_cached_scratch(p->d));
    return dnnl_tp_success;
}

typedef struct {
    dtp_job_t job;
    const plan_t *p;
    const int32_t *lengths;
    dtp_angles_t angles;
} cached_job_t;

static float *at_arg(const cached_job_t *j, int arg, const dtp_md_t *md) {
    return (float *)j->job.ctx->ptr[arg] + md->offset0;
}

/* New keys and values of groups, {S, d} each. */
static void lay_out(void *arg, int slot, int64_t begin, int64_t end) {
    const cached_job_t *j = arg;
    const plan_t *p = j->p;
    const dtp_cached_attention_desc_t *d = (const dtp_cached_attention_desc_t *)j->job.pd->op;
    const dtp_angles_t none = {0};
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / d->groups, col = i % d->groups * p->d;
        const float *k = at_arg(j, DTP_CACHED_K, &d->k) + b * d->k.strides[0] + col;
        const float *v = at_arg(j, DTP_CACHED_V, &d->v) + b * d->v.strides[0] + col;
        float *rows_k = at_arg(j, DTP_CACHED_ROWS_K, &d->rows_k) + i * p->s * p->d,
              *rows_v = at_arg(j, DTP_CACHED_ROWS_V, &d->rows_v) + i * p->s * p->d;
        for (int64_t r = 0; r < p->s; ++r) {
            p->kern->turn(&j->angles, j->lengths[b] + r, k + r * d->k.strides[1], rows_k + r * p->d, p->d);
            p->kern->turn(&none, 0, v + r * d->v.strides[1], rows_v + r * p->d, p->d);
        }
    }
}

static void items(void *arg, int slot, int64_t begin, int64_t end) {
    const cached_job_t *j = arg;
    const plan_t *p = j->p;
    const dtp_cached_attention_desc_t *d = (const dtp_cached_attention_desc_t *)j->job.pd->op;
    dtp_cached_args_t a = {.ldq = d->q.strides[1],
                           .ldo = d->dst.strides[1],
                           .shared = p->shared,
                           .d = p->d,
                           .s = p->s,
                           .mask_head = p->mask[1],
                           .mask_row = p->mask[2],
                           .angles = j->angles,
                           .window = d->window,
                           .is_causal = d->is_causal,
                           .scale = d->scale,
                           .softcap = d->softcap};
    a.scratch = (float *)(void *)dtp_scratch_slot(j->job.pd, j->job.ctx, slot);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i / p->blocks, b = at / d->groups, head = at % d->groups * p->shared;
        if (p->blocks > 1 && dtp_parallel_over(j->job.ctx->par)) return;
        a.first = i % p->blocks * ITEM_ROWS;
        a.n = dtp_min64(ITEM_ROWS, p->s * p->shared - a.first);
        a.before = j->lengths[b];
        a.q = at_arg(j, DTP_CACHED_Q, &d->q) + b * d->q.strides[0] + head * p->d;
        a.o = at_arg(j, DTP_CACHED_DST, &d->dst) + b * d->dst.strides[0] + head * p->d;
        a.past_k = at_arg(j, DTP_CACHED_PAST_K, &d->past_k) + at * p->capacity * p->d;
        a.past_v = at_arg(j, DTP_CACHED_PAST_V, &d->past_v) + at * p->capacity * p->d;
        a.k = at_arg(j, DTP_CACHED_ROWS_K, &d->rows_k) + at * p->s * p->d;
        a.v = at_arg(j, DTP_CACHED_ROWS_V, &d->rows_v) + at * p->s * p->d;
        if (!dtp_md_is_zero(&d->mask))
            a.mask = at_arg(j, DTP_CACHED_MASK, &d->mask) + b * p->mask[0] + head * p->mask[1];
        p->kern->rows(&a);
    }
}

static dnnl_tp_status_t cached_attention_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    const dtp_cached_attention_desc_t *d = (const dtp_cached_attention_desc_t *)pd->op;
    cached_job_t job = {.job = {pd, ctx}, .p = p};
    int64_t limit = p->capacity, longest = 0;
    job.lengths = (const int32_t *)ctx->ptr[DTP_CACHED_LENGTHS] + d->lengths.offset0;
    if (!dtp_md_is_zero(&d->cosines)) {
        job.angles =
            (dtp_angles_t){at_arg(&job, DTP_CACHED_COSINES, &d->cosines),
                           at_arg(&job, DTP_CACHED_SINES, &d->sines), d->cosines.dims[1], d->interleaved};
        limit = dtp_min64(limit, d->cosines.dims[0] - p->s);
    }
    for (int64_t b = 0; b < p->batch; ++b) {
        if (DTP_UNLIKELY(job.lengths[b] < 0 || job.lengths[b] > limit))
            return dtp_data_wrong(ctx, DTP_DATA_ID, b, job.lengths[b], limit + 1);
        longest = dtp_max64(longest, job.lengths[b]);
    }
    if (!p->blocks) return dnnl_tp_success;
    dtp_parallel_for(ctx->par, p->batch * d->groups, p->row_grain, lay_out, &job);
    const double keys = (double)(longest + (d->is_causal ? (p->s + 1) / 2 : p->s)),
                 rows = (double)dtp_min64(ITEM_ROWS, p->s * p->shared);
    dtp_parallel_for(ctx->par, p->batch * d->groups * p->blocks,
                     dtp_grain(p->kern->ns * rows * keys * (double)(p->d + 8)), items, &job);
    return dnnl_tp_success;
}

/* ---- Reference --------------------------------------------------------------------------------------- */

static void plain_turn(const dtp_angles_t *a, int64_t position, const float *src, float *dst, int64_t d) {
    const int64_t n = a->cosines ? a->pairs : 0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t x = a->interleaved ? 2 * i : i, y = a->interleaved ? 2 * i + 1 : n + i;
        const double c = (double)a->cosines[position * n + i], s = (double)a->sines[position * n + i];
        dst[x] = (float)((double)src[x] * c - (double)src[y] * s);
        dst[y] = (float)((double)src[y] * c + (double)src[x] * s);
    }
    for (int64_t i = 2 * n; i < d; ++i) dst[i] = src[i];
}

static double plain_score(const dtp_cached_args_t *a, const float *q, int64_t i, int64_t h, int64_t key) {
    const float *k = key < a->before ? a->past_k + key * a->d : a->k + (key - a->before) * a->d;
    double s = 0;
    for (int64_t c = 0; c < a->d; ++c) s += (double)q[c] * (double)k[c];
    s *= (double)a->scale;
    if (a->softcap > 0) s = (double)a->softcap * tanh(s / (double)a->softcap);
    return a->mask ? s + (double)a->mask[h * a->mask_head + i * a->mask_row + key] : s;
}

/* One row after the other, in double, two passes over the keys. */
static void plain_rows(const dtp_cached_args_t *a) {
    double *acc = (double *)(void *)(a->scratch + a->d + a->d % 2);
    for (int64_t r = a->first; r < a->first + a->n; ++r) {
        const int64_t i = r / a->shared, h = r % a->shared, d = a->d;
        const int64_t hi = a->is_causal ? a->before + i + 1 : a->before + a->s;
        const int64_t lo = a->window >= 0 && hi > a->window ? hi - a->window : 0;
        double max = -INFINITY, sum = 0;
        plain_turn(&a->angles, a->before + i, a->q + i * a->ldq + h * d, a->scratch, d);
        for (int64_t c = 0; c < d; ++c) acc[c] = 0;
        for (int64_t key = lo; key < hi; ++key) max = fmax(max, plain_score(a, a->scratch, i, h, key));
        for (int64_t key = lo; key < hi; ++key) {
            const float *v = key < a->before ? a->past_v + key * d : a->v + (key - a->before) * d;
            const double s = plain_score(a, a->scratch, i, h, key), e = s == -INFINITY ? 0 : exp(s - max);
            sum += e;
            for (int64_t c = 0; c < d; ++c) acc[c] += e * (double)v[c];
        }
        for (int64_t c = 0; c < d; ++c) a->o[i * a->ldo + h * d + c] = sum == 0 ? 0.f : (float)(acc[c] / sum);
    }
}
const dtp_cached_kern_t dtp_cached_kern__ref = {plain_rows, plain_turn, 4.};

DTP_CPU_IMPLS(cached_attention, "simd", .plan_size = sizeof(plan_t), .pd_init = cached_attention_init,
              .execute = cached_attention_execute);
DTP_CPU_REFERENCE(cached_attention, 0, .plan_size = sizeof(plan_t), .pd_init = cached_attention_init,
                  .execute = cached_attention_execute);
