/* Attention per head for graphs: softmax(scale Q K^T + mask) V, of the types that have a kernel, without materialised transposes.
 *
 * One item of work is (sequence, head, group of queries); scratch per participant is bounded by the plan
 * whatever the length of a sequence. Packed sequences are checked at execution, before anything is written; where the
 * kernel cannot fail (data_error.h), such as do not fit give zeros. */
#include "cpu/attention/attention_kern.h"

#include <math.h>

#include "common/base/half.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "threading/base/parallel.h"

/* Floats of a block of transposed keys: a part of the second-level cache. */
enum { KEYS_FLOATS = 32 * 1024, MIN_KEYS = 128, MAX_KEYS = 512 };

typedef struct {
    dtp_attention_fn_t kernel;
    bool packed;
    int64_t n, sq, sk; /* sequences, and their lengths unless packed */
    int64_t d, kb;
    int64_t batch_q, batch_k, batch_v, batch_dst; /* strides of sequences */
    double ns_per_score;
    int64_t size; /* bytes of an element of q, k, v, dst */
} plan_t;

static const struct {
    dnnl_tp_data_type_t dt;
    unsigned isa;
    dtp_attention_fn_t fn;
    double ns; /* per score and column; the constant beside the columns stands for the exponential */
} kernels[] = {
#define KERNEL(type, fn, isa, ns) {dnnl_tp_##type, isa, fn, ns},
    DTP_ATTENTION_KERNELS(KERNEL)};

/* {B, S, H} or {T, H} with a dense last dim; one element is dense with any stride. */
static bool attention_layout(const dtp_md_t *md, dnnl_tp_data_type_t dt, int64_t *batch) {
    const int last = md->ndims - 1;
    if (md->data_type != dt || !dtp_md_is_plain(md) || (md->strides[last] != 1 && md->dims[last] != 1))
        return false;
    *batch = md->ndims == 3 ? md->strides[0] : 0;
    return true;
}

static dnnl_tp_status_t attention_init(dtp_pd_t *pd) {
    dtp_attention_desc_t *d = (dtp_attention_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const dnnl_tp_data_type_t dt = d->q.data_type;
    double ns_per_score = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        if (kernels[i].dt == dt && kernels[i].isa == pd->impl->isa)
            plan->kernel = kernels[i].fn, ns_per_score = kernels[i].ns;
    DTP_DISPATCH(plan->kernel, UNSUPPORTED_DATA_TYPE);
    plan->size = (int64_t)dtp_type_size(dt);
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(attention_layout(&d->q, dt, &plan->batch_q) && attention_layout(&d->k, dt, &plan->batch_k) &&
                     attention_layout(&d->v, dt, &plan->batch_v) &&
                     attention_layout(&d->dst, dt, &plan->batch_dst),
                 UNSUPPORTED_LAYOUT);
    int nd = d->q.ndims;
    DTP_DISPATCH((nd == 2 || nd == 3) && d->k.ndims == nd && d->v.ndims == nd && d->dst.ndims == nd,
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    int64_t hidden = d->q.dims[nd - 1];
    DTP_DISPATCH(d->heads > 0 && hidden % d->heads == 0 && d->k.dims[nd - 1] == hidden &&
                     d->v.dims[nd - 1] == hidden,
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(d->v.dims[nd - 2] == d->k.dims[nd - 2] && dtp_md_same_dims(&d->q, &d->dst),
                 UNSUPPORTED_SHAPE);
    DTP_DISPATCH(nd == 2 || (d->k.dims[0] == d->q.dims[0] && d->v.dims[0] == d->q.dims[0]),
                 UNSUPPORTED_SHAPE);
    plan->packed = !dtp_md_is_zero(&d->offsets);
    if (plan->packed) {
        DTP_DISPATCH(nd == 2 && d->k.dims[0] == d->q.dims[0] && dtp_md_is_zero(&d->mask), UNSUPPORTED_SHAPE);
        DTP_DISPATCH(d->offsets.data_type == dnnl_tp_s32 && dtp_md_is_dense_row_major(&d->offsets),
                     UNSUPPORTED_LAYOUT);
        plan->n = dtp_max64(0, d->offsets.dims[0] - 1);
        pd->checks_data = true;
    } else {
        plan->n = nd == 3 ? d->q.dims[0] : 1;
    }
    plan->sq = d->q.dims[nd - 2];
    plan->sk = d->k.dims[nd - 2];
    if (!dtp_md_is_zero(&d->mask)) {
        DTP_DISPATCH(d->mask.data_type == dnnl_tp_f32 && dtp_md_is_plain(&d->mask), UNSUPPORTED_LAYOUT);
        DTP_DISPATCH(nd == 3 && d->mask.ndims == 2 && d->mask.dims[0] == plan->n &&
                         d->mask.dims[1] == plan->sk,
                     UNSUPPORTED_SHAPE);
    }
    plan->d = hidden / d->heads;
    int64_t kb = dtp_max64(MIN_KEYS, dtp_min64(MAX_KEYS, KEYS_FLOATS / dtp_max64(1, plan->d)));
    plan->kb = dtp_min64(kb, dtp_max64(1, plan->sk));
    plan->kb = dtp_round_up(plan->kb, DTP_ATTENTION_KEYS);
    plan->ns_per_score = ns_per_score * (double)(plan->d + 8);
    dtp_pd_book(pd, 0, sizeof(float) * (size_t)dtp_attention_scratch(plan->d, plan->kb));
    return dnnl_tp_success;
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const int32_t *offsets;
    int64_t groups; /* per (sequence, head) */
} job_t;

static int is_over(const void *share) { return dtp_share_over(share); }

static void attention_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *plan = j->pd->plan;
    const dtp_attention_desc_t *d = (const dtp_attention_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    int row = d->q.ndims - 2;
    dtp_attention_args_t a = {.ldq = d->q.strides[row],
                              .ldk = d->k.strides[row],
                              .ldv = d->v.strides[row],
                              .ldo = d->dst.strides[row],
                              .d = plan->d,
                              .scale = d->scale,
                              .kb = plan->kb};
    a.scratch = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
    a.run = dtp_parallel_stop(j->ctx->par);
    a.over = a.run ? is_over : NULL;
    for (int64_t i = begin; i < end; ++i) {
        int64_t group = i % j->groups, head = i / j->groups % d->heads, seq = i / j->groups / d->heads;
        int64_t first = 0, sq = plan->sq, sk = plan->sk, batch = seq;
        if (j->offsets) first = j->offsets[seq], sq = sk = j->offsets[seq + 1] - first, batch = 0;
        int64_t m0 = group * DTP_ATTENTION_QUERIES;
        a.nq = dtp_min64(DTP_ATTENTION_QUERIES, sq - m0);
        if (a.nq <= 0) continue;
        a.nk = sk;
        const int64_t col = head * plan->d, size = plan->size;
        a.q = (const char *)ptr[DTP_ATTENTION_Q] +
              size * (d->q.offset0 + batch * plan->batch_q + (first + m0) * a.ldq + col);
        a.k = (const char *)ptr[DTP_ATTENTION_K] +
              size * (d->k.offset0 + batch * plan->batch_k + first * a.ldk + col);
        a.v = (const char *)ptr[DTP_ATTENTION_V] +
              size * (d->v.offset0 + batch * plan->batch_v + first * a.ldv + col);
        a.o = (char *)ptr[DTP_ATTENTION_DST] +
              size * (d->dst.offset0 + batch * plan->batch_dst + (first + m0) * a.ldo + col);
        if (!dtp_md_is_zero(&d->mask)) {
            a.mask = (const float *)ptr[DTP_ATTENTION_MASK] + d->mask.offset0 + seq * d->mask.strides[0];
            a.mask_stride = d->mask.strides[1];
        }
        plan->kernel(&a);
    }
}

/* Of packed sequences. */
static void zero_result(const dtp_attention_desc_t *d, const dtp_exec_ctx_t *ctx) {
    const size_t size = dtp_type_size(d->dst.data_type), row = size * (size_t)d->dst.dims[1];
    char *dst = (char *)ctx->ptr[DTP_ATTENTION_DST] + (size_t)d->dst.offset0 * size;
    for (int64_t i = 0; i < d->dst.dims[0]; ++i) memset(dst + (size_t)(i * d->dst.strides[0]) * size, 0, row);
}

static dnnl_tp_status_t attention_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_attention_desc_t *d = (const dtp_attention_desc_t *)pd->op;
    const plan_t *plan = pd->plan;
    job_t job = {.pd = pd, .ctx = ctx};
    int64_t n = ctx->rows >= 0 ? ctx->rows : plan->n, longest = plan->sq, keys = plan->sk;
    if (plan->packed) {
        job.offsets = (const int32_t *)ctx->ptr[DTP_ATTENTION_OFFSETS] + d->offsets.offset0;
        longest = 0;
        const int64_t bad = n ? dtp_bad_offset(job.offsets, n, plan->sq, ctx->part != NULL) : -1;
        if (DTP_UNLIKELY(bad >= 0)) {
            DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_OFFSET, bad, job.offsets[bad], plan->sq));
            zero_result(d, ctx);
            return dnnl_tp_success;
        }
        for (int64_t i = 0; i < n; ++i) longest = dtp_max64(longest, job.offsets[i + 1] - job.offsets[i]);
        keys = longest;
    }
    job.groups = dtp_div_up(longest, DTP_ATTENTION_QUERIES);
    if (job.groups == 0) return dnnl_tp_success;
    double queries = (double)dtp_min64(longest, DTP_ATTENTION_QUERIES);
    dtp_parallel_for(ctx->par, n * d->heads * job.groups,
                     dtp_grain(plan->ns_per_score * queries * (double)keys), attention_items, &job);
    return dnnl_tp_success;
}

/* ---- Reference --------------------------------------------------------------------------------------- */

static inline double number(dnnl_tp_data_type_t dt, const void *x, int64_t i) {
    return dt == dnnl_tp_f32 ? (double)((const float *)x)[i]
                             : (double)dtp_bf16_to_f32(((const uint16_t *)x)[i]);
}

/* Plain C, in double, two passes over the keys: no scratch beyond the contract of a group. */
static void plain_group(const dtp_attention_args_t *a, dnnl_tp_data_type_t dt) {
    for (int64_t i = 0; i < a->nq; ++i) {
        double max = -INFINITY, sum = 0;
        double *acc = (double *)(void *)a->scratch;
        for (int64_t c = 0; c < a->d; ++c) acc[c] = 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int64_t k = 0; k < a->nk; ++k) {
                double s = 0;
                for (int64_t c = 0; c < a->d; ++c)
                    s += number(dt, a->q, i * a->ldq + c) * number(dt, a->k, k * a->ldk + c);
                s *= (double)a->scale;
                if (a->mask) s += (double)a->mask[k * a->mask_stride];
                if (!pass) {
                    max = s > max ? s : max;
                    continue;
                }
                double p = s == -INFINITY ? 0 : exp(s - max);
                sum += p;
                for (int64_t c = 0; c < a->d; ++c) acc[c] += p * number(dt, a->v, k * a->ldv + c);
            }
        for (int64_t c = 0; c < a->d; ++c) {
            const float o = sum == 0 ? 0.f : (float)(acc[c] / sum);
            if (dt == dnnl_tp_f32) ((float *)a->o)[i * a->ldo + c] = o;
            else ((uint16_t *)a->o)[i * a->ldo + c] = dtp_f32_to_bf16(o);
        }
    }
}
void dtp_attention_group__ref(const dtp_attention_args_t *a) { plain_group(a, dnnl_tp_f32); }
void dtp_attention_group_bf16__ref(const dtp_attention_args_t *a) { plain_group(a, dnnl_tp_bf16); }

DTP_CPU_IMPLS(attention, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t),
              .pd_init = attention_init, .execute = attention_execute);
DTP_CPU_REFERENCE(attention, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = attention_init,
                  .execute = attention_execute);
