/* Reductions of any set of dims.
 *
 * The loops of a box (cpu/elementwise/boxes.h) are kept loops, then reduced loops, then the innermost one: when that
 * is a reduced loop, outputs are sums along contiguous runs; when it is a kept one, rows are added to a row
 * of outputs. Few outputs with much to reduce are split into shards by the shape; shards are joined in their
 * order, also on one thread. Outputs appear as f32, in dst where it is f32 and nothing follows, otherwise in
 * a dense row-major array that an element-wise program (cpu/elementwise/program.h) takes through post-operations to dst. */
#include "cpu/reduction/reduction.h"

#include <math.h>

#include "common/layout/zero_pad.h"
#include "cpu/elementwise/program.h"
#include "cpu/reduction/reduction_kern.h"
#include "threading/base/parallel.h"

/* Outputs of a unit at most, and elements of the conversion buffer. */
#define OUT_TILE 512
#define BUFFER 2048
/* Rows added to a tile of outputs by one call of a kernel. */
#define ROWS_AT_ONCE 32
/* Source elements that are worth a unit, and a shard. */
#define UNIT_ELEMS (16 * 1024)
#define SHARD_ELEMS (32 * 1024)
#define MAX_SHARDS 32
/* With this many units no shards are made. */
#define ENOUGH_UNITS 16
#define NS_PER_ELEMENT 0.03
/* Joining the lanes of one output, where runs are reduced. */
#define NS_PER_RUN 2.0
/* Source elements between two looks whether the run is over: sums along runs are cut there, always. */
#define LOOK_ELEMS (64 * 1024)
/* Up to so many source elements are one call of a kernel. */
#define ONCE_ELEMS 4096

enum { OUT, SRC, NOPS };

typedef struct {
    dtp_box_t box;
    int nkept;     /* outer kept loops walked by the cursor */
    int nred;      /* reduced loops after them, the last run by the kernel */
    bool along;    /* the innermost loop is reduced: outputs are along-run sums */
    int64_t out_n; /* outputs of the innermost kept loop, and their steps */
    int64_t out_s[NOPS];
    int64_t tile, ntiles; /* outputs per unit */
    int64_t reduced;      /* elements per output */
    int shards;
    int64_t units, first_part; /* partial rows of OUT_TILE before this box's */
    int64_t grain, join_grain; /* of units or their shards; of joining them */
} red_box_t;

typedef struct {
    int op;
    bool general_p;
    const dtp_reduce_kern_t *kern;
    const dtp_vops_t *vops;
    int64_t count;               /* elements per output of the whole problem */
    dtp_reduce_fn_t once;        /* one call on dst does it all; or NULL */
    dtp_reduce_args_t once_args; /* all but the addresses */
    dtp_md_t out;                /* where outputs appear, f32 */
    bool direct;                 /* out is dst */
    size_t out_bytes, slot_bytes;
    int nboxes;
    red_box_t box[DTP_BOXES_MAX];
    dtp_program_t program; /* from out to dst, if out is not dst */
} red_plan_t;

static size_t reduction_used(const void *plan) {
    const red_plan_t *p = plan;
    return p->direct ? offsetof(red_plan_t, box) + sizeof *p->box * (size_t)p->nboxes
                     : offsetof(red_plan_t, program) + dtp_program_used(&p->program);
}

static int op_of(const dtp_reduction_desc_t *d) {
    switch (d->alg) {
    case dnnl_tp_reduction_max: return d->keeps_nan ? DTP_REDUCE_MAXIMUM : DTP_REDUCE_MAX;
    case dnnl_tp_reduction_min: return d->keeps_nan ? DTP_REDUCE_MINIMUM : DTP_REDUCE_MIN;
    case dnnl_tp_reduction_mul: return DTP_REDUCE_MUL;
    case dnnl_tp_reduction_sum:
    case dnnl_tp_reduction_mean: return DTP_REDUCE_SUM;
    default: return d->p == 1.f ? DTP_REDUCE_ABS : d->p == 2.f ? DTP_REDUCE_SQUARE : DTP_REDUCE_SUM;
    }
}

static float neutral(int op) {
    return dtp_reduce_adds(op)                                ? 0.f
           : op == DTP_REDUCE_MUL                             ? 1.f
           : op == DTP_REDUCE_MAX || op == DTP_REDUCE_MAXIMUM ? -INFINITY
                                                              : INFINITY;
}

/* Puts the loops into order and fixes tiles and shards. */
static void shape_box(red_box_t *rb) {
    dtp_box_t *b = &rb->box;
    dtp_boxes_order(b, NOPS, SRC);
    rb->along = b->nd == 0 || b->s[b->nd - 1][OUT] == 0;
    /* Kept loops first, the order among equals stays. The innermost kept loop of the across form goes last.
     */
    const int fixed = rb->along ? b->nd : b->nd - 1;
    int nk = 0;
    for (int d = 0; d < fixed; ++d)
        if (b->s[d][OUT] != 0) {
            if (d != nk) dtp_boxes_move(b, NOPS, d, nk);
            ++nk;
        }
    rb->nred = fixed - nk;
    rb->reduced = dtp_boxes_count(b, nk, fixed);
    rb->out_n = 1;
    memset(rb->out_s, 0, sizeof rb->out_s);
    if (!rb->along) {
        rb->nkept = nk;
        rb->out_n = b->n[fixed];
        memcpy(rb->out_s, b->s[fixed], sizeof rb->out_s);
        rb->tile = dtp_min64(rb->out_n, OUT_TILE);
    } else {
        rb->nkept = nk > 0 ? nk - 1 : 0;
        if (nk > 0) {
            rb->out_n = b->n[nk - 1];
            memcpy(rb->out_s, b->s[nk - 1], sizeof rb->out_s);
        }
        rb->tile =
            dtp_min64(rb->out_n, dtp_min64(OUT_TILE, dtp_max64(UNIT_ELEMS / dtp_max64(rb->reduced, 1), 1)));
    }
    rb->ntiles = dtp_div_up(rb->out_n, rb->tile);
    rb->units = dtp_boxes_count(b, 0, rb->nkept) * rb->ntiles;
    const int64_t per_unit = rb->reduced * rb->tile;
    rb->shards = 1;
    if (rb->units < ENOUGH_UNITS && per_unit >= 2 * SHARD_ELEMS)
        rb->shards = (int)dtp_min64(dtp_min64(per_unit / SHARD_ELEMS, MAX_SHARDS), rb->reduced);
    const double run_ns = rb->along ? (double)rb->tile * NS_PER_RUN : 0;
    rb->grain = dtp_grain(((double)per_unit * NS_PER_ELEMENT + run_ns) / rb->shards);
    rb->join_grain = dtp_grain((double)rb->tile * rb->shards * NS_PER_ELEMENT);
}

/* One small box whose f32 the kernel reads and whose outputs it leaves in dst. The order of operations is
 * that of reduce_part. */
static void plan_once(red_plan_t *plan, const dtp_reduction_desc_t *d) {
    const red_box_t *rb = &plan->box[0];
    const dtp_box_t *b = &rb->box;
    if (plan->nboxes != 1 || rb->units != 1 || rb->nred != 1 || rb->out_n > OUT_TILE ||
        rb->reduced * rb->out_n > ONCE_ELEMS || d->src.data_type != dnnl_tp_f32 || plan->general_p ||
        !plan->direct || d->alg > dnnl_tp_reduction_mul || dtp_md_is_padded(&d->dst))
        return;
    if (rb->out_n > 1 && rb->out_s[OUT] != 1) return;
    const int last = (rb->along ? b->nd : b->nd - 1) - 1;
    if (rb->along ? b->s[last][SRC] != 1 : rb->out_s[SRC] != 1) return;
    plan->once = rb->along ? plan->kern->cols[plan->op] : plan->kern->rows[plan->op];
    plan->once_args.ld = rb->along ? rb->out_s[SRC] : b->s[last][SRC];
    plan->once_args.rows = rb->along ? rb->out_n : rb->reduced;
    plan->once_args.cols = rb->along ? rb->reduced : rb->out_n;
}

/* Reduced dims are walked over their padding where zeros change nothing: one box instead of tails. */
static bool cut(red_plan_t *plan, const dtp_reduction_desc_t *d) {
    dtp_box_t box[DTP_BOXES_MAX];
    dtp_md_t src = d->src;
    const dtp_md_t *md[NOPS] = {&plan->out, &src};
    const bool zeros = dtp_reduce_adds(plan->op);
    for (int k = 0; k < src.ndims; ++k) {
        if (d->dst.dims[k] == d->src.dims[k] || src.padded_dims[k] == src.dims[k]) continue;
        if (!zeros) return false;
        src.dims[k] = src.padded_dims[k];
    }
    int n = dtp_boxes_cut_all(box, src.ndims, src.dims, NOPS, md);
    if (n <= 0) return false;
    int64_t parts = 0;
    for (int i = 0; i < n; ++i) {
        red_box_t *rb = &plan->box[i];
        rb->box = box[i];
        shape_box(rb);
        rb->first_part = parts;
        if (rb->shards > 1) parts += rb->units * rb->shards;
    }
    plan->nboxes = n;
    plan->out_bytes =
        plan->direct ? 0
                     : dtp_round_up_size(sizeof(float) * (size_t)dtp_md_nelems(&plan->out), DTP_CACHE_LINE);
    plan->slot_bytes = (OUT_TILE + BUFFER) * sizeof(float);
    return true;
}

static dnnl_tp_status_t reduction_pd_init(dtp_pd_t *pd) {
    const dtp_reduction_desc_t *op = (const dtp_reduction_desc_t *)pd->op;
    red_plan_t *plan = pd->plan;
    const unsigned isa = dtp_pd_isa(pd);
    DTP_TRY(dtp_reduction_check(pd));
    plan->op = op_of(op);
    plan->general_p = op->alg >= dnnl_tp_reduction_norm_lp_max && op->p != 1.f && op->p != 2.f;
    plan->kern = DTP_BY_ISA(isa, &dtp_reduce_kern, &dtp_reduce_kern__portable);
    plan->vops = dtp_vops(isa);
    plan->count = 1;
    for (int d = 0; d < op->dst.ndims; ++d)
        if (op->dst.dims[d] != op->src.dims[d]) plan->count *= op->src.dims[d];
    plan->direct = op->dst.data_type == dnnl_tp_f32 && pd->attr->post_ops->len == 0;
    plan->out = op->dst;
    if (!plan->direct) {
        DTP_TRY(dtp_md_init_strides(&plan->out, op->dst.ndims, op->dst.dims, dnnl_tp_f32, NULL));
        const dtp_md_t *md[DTP_BOXES_OPS] = {&op->dst, &plan->out};
        dtp_program_begin(&plan->program, isa, op->dst.data_type, DTP_REDUCTION_DST, dnnl_tp_f32, -1);
        DTP_DISPATCH(dtp_program_post_ops(&plan->program, pd, &op->dst, md), UNSUPPORTED_POST_OPS);
        DTP_DISPATCH(dtp_program_cut(&plan->program, pd, md, true), UNSUPPORTED_LAYOUT);
    }
    DTP_DISPATCH(cut(plan, op), UNSUPPORTED_LAYOUT);
    plan_once(plan, op);
    size_t parts = 0, slot = plan->slot_bytes;
    for (int i = 0; i < plan->nboxes; ++i)
        if (plan->box[i].shards > 1) parts += (size_t)(plan->box[i].units * plan->box[i].shards);
    if (!plan->direct && dtp_program_slot_bytes(&plan->program) > slot)
        slot = dtp_program_slot_bytes(&plan->program);
    dtp_pd_book(pd, plan->out_bytes + parts * OUT_TILE * sizeof(float), slot);
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const red_plan_t *plan;
    const red_box_t *box;
    const char *src;
    float *out, *parts;
    const dtp_share_t *stop; /* of the run, or NULL */
} red_env_t;

/* Elements with strides as f32 rows: where they lie, or converted. */
static const float *as_f32(const red_env_t *e, const char *p, int64_t n, int64_t stride, float *buf) {
    const red_plan_t *plan = e->plan;
    const dnnl_tp_data_type_t dt = ((const dtp_reduction_desc_t *)e->pd->op)->src.data_type;
    if (dt == dnnl_tp_f32 && stride == 1 && !plan->general_p) return (const float *)(const void *)p;
    plan->vops->load[dt](buf, p, n, stride);
    if (plan->general_p) {
        const float power = ((const dtp_reduction_desc_t *)e->pd->op)->p;
        dtp_eltwise_args_t a = {
            .x = buf, .y = buf, .ldx = n, .ldy = n, .rows = 1, .cols = n, .alpha = 1.f, .beta = power};
        dtp_vops_eltwise(plan->vops, dnnl_tp_eltwise_abs)(&a);
        dtp_vops_eltwise(plan->vops, dnnl_tp_eltwise_pow)(&a);
    }
    return buf;
}

/* acc[0..n) over the reduced positions [from, to) of outputs n0..n0+n-1 at source offset off. */
static void reduce_part(const red_env_t *e, float *acc, int64_t n, int64_t off, int64_t from, int64_t to,
                        float *buf) {
    const red_plan_t *plan = e->plan;
    const red_box_t *rb = e->box;
    const dtp_box_t *b = &rb->box;
    const int64_t size = (int64_t)dtp_type_size(((const dtp_reduction_desc_t *)e->pd->op)->src.data_type);
    const int first = (rb->along ? b->nd : b->nd - 1) - rb->nred, last = first + rb->nred - 1;
    const bool in_place = size == 4 && !plan->general_p;
    const int64_t most = dtp_max64(LOOK_ELEMS / n, 1);
    int64_t unseen = 0;
    for (int64_t i = 0; i < n; ++i) acc[i] = neutral(plan->op);
    for (int64_t at = from; at < to;) {
        if (unseen >= most) {
            if (e->stop && dtp_share_over(e->stop)) return;
            unseen = 0;
        }
        /* The reduced loops at position `at`; the run of the last one from there. */
        int64_t rest = at, p = off, idx = 0, run = 1, step = 0;
        for (int d = last; d >= first; --d) {
            const int64_t q = rest / b->n[d], k = rest - q * b->n[d];
            p += k * b->s[d][SRC];
            if (d == last) idx = k, run = b->n[d], step = b->s[d][SRC];
            rest = q;
        }
        run = dtp_min64(dtp_min64(run - idx, to - at), most);
        unseen += run;
        const char *x = e->src + p * size;
        if (rb->along) {
            if (in_place && step == 1) {
                plan->kern->cols[plan->op](
                    &(dtp_reduce_args_t){(const float *)(const void *)x, acc, rb->out_s[SRC], n, run});
            } else if (step == 1 && rb->out_s[SRC] == run && run <= BUFFER / 2) {
                const int64_t many = BUFFER / run;
                for (int64_t k = 0; k < n; k += many) {
                    const int64_t m = dtp_min64(many, n - k);
                    const float *f = as_f32(e, x + k * run * size, m * run, 1, buf);
                    plan->kern->cols[plan->op](&(dtp_reduce_args_t){f, acc + k, run, m, run});
                }
            } else {
                for (int64_t k = 0; k < n; ++k)
                    for (int64_t c = 0; c < run; c += BUFFER) {
                        const int64_t m = dtp_min64(BUFFER, run - c);
                        const float *f = as_f32(e, x + (k * rb->out_s[SRC] + c * step) * size, m, step, buf);
                        plan->kern->cols[plan->op](&(dtp_reduce_args_t){f, acc + k, m, 1, m});
                    }
            }
        } else if (in_place && rb->out_s[SRC] == 1) {
            /* Few rows at a time: their lines are read in order while the outputs stay in L1. */
            for (int64_t r = 0; r < run; r += ROWS_AT_ONCE)
                plan->kern->rows[plan->op](
                    &(dtp_reduce_args_t){(const float *)(const void *)(x + r * step * size), acc, step,
                                         dtp_min64(ROWS_AT_ONCE, run - r), n});
        } else {
            const int64_t many = BUFFER / n;
            for (int64_t r = 0; r < run; r += many) {
                const int64_t m = dtp_min64(many, run - r);
                for (int64_t k = 0; k < m; ++k) {
                    const char *row = x + (r + k) * step * size;
                    const float *f = as_f32(e, row, n, rb->out_s[SRC], buf + k * n);
                    if (f != buf + k * n) memcpy(buf + k * n, f, (size_t)n * sizeof(float));
                }
                plan->kern->rows[plan->op](&(dtp_reduce_args_t){buf, acc, n, m, n});
            }
        }
        at += run;
    }
}

static void finish_tile(const red_env_t *e, const float *acc, int64_t n, int64_t out_off) {
    const dtp_reduction_desc_t *op = (const dtp_reduction_desc_t *)e->pd->op;
    float *out = e->out + out_off;
    const int64_t step = e->box->out_s[OUT];
    const bool plain = op->alg <= dnnl_tp_reduction_mul;
    if (plain && step == 1) {
        memcpy(out, acc, (size_t)n * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        out[i * step] = plain ? acc[i] : dtp_reduction_finish(op, (double)acc[i], e->plan->count);
}

/* Unit u: offsets of its first output and the number of outputs. */
static int64_t place_unit(const red_box_t *rb, int64_t u, int64_t *off) {
    dtp_cursor_t cur;
    const int64_t t = u % rb->ntiles * rb->tile;
    dtp_cursor_set(&cur, &rb->box, rb->nkept, NOPS, u / rb->ntiles);
    for (int o = 0; o < NOPS; ++o) off[o] = cur.off[o] + t * rb->out_s[o];
    return dtp_min64(rb->tile, rb->out_n - t);
}

static void whole_units(void *arg, int slot, int64_t begin, int64_t end) {
    const red_env_t *e = arg;
    float *acc = (float *)(void *)dtp_scratch_slot(e->pd, e->ctx, slot);
    for (int64_t u = begin; u < end; ++u) {
        int64_t off[NOPS];
        const int64_t n = place_unit(e->box, u, off);
        reduce_part(e, acc, n, off[SRC], 0, e->box->reduced, acc + OUT_TILE);
        finish_tile(e, acc, n, off[OUT]);
    }
}

static void shard_units(void *arg, int slot, int64_t begin, int64_t end) {
    const red_env_t *e = arg;
    const red_box_t *rb = e->box;
    float *buf = (float *)(void *)dtp_scratch_slot(e->pd, e->ctx, slot) + OUT_TILE;
    for (int64_t k = begin; k < end; ++k) {
        int64_t off[NOPS];
        const int64_t u = k / rb->shards, s = k % rb->shards;
        const int64_t n = place_unit(rb, u, off);
        float *part = e->parts + (rb->first_part + k) * OUT_TILE;
        reduce_part(e, part, n, off[SRC], rb->reduced * s / rb->shards, rb->reduced * (s + 1) / rb->shards,
                    buf);
    }
}

/* Joins the shards of each unit in their order. */
static void join_units(void *arg, int slot, int64_t begin, int64_t end) {
    const red_env_t *e = arg;
    const red_box_t *rb = e->box;
    const int op = e->plan->op < DTP_REDUCE_ABS ? e->plan->op : DTP_REDUCE_SUM;
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        int64_t off[NOPS];
        const int64_t n = place_unit(rb, u, off);
        float *part = e->parts + (rb->first_part + u * rb->shards) * OUT_TILE;
        e->plan->kern->rows[op](&(dtp_reduce_args_t){part + OUT_TILE, part, OUT_TILE, rb->shards - 1, n});
        finish_tile(e, part, n, off[OUT]);
    }
}

static dnnl_tp_status_t reduction_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const red_plan_t *plan = pd->plan;
    if (plan->once) {
        const red_box_t *rb = &plan->box[0];
        dtp_reduce_args_t a = plan->once_args;
        a.x = (const float *)ctx->ptr[DTP_REDUCTION_SRC] + rb->box.off[SRC];
        a.acc = (float *)ctx->ptr[DTP_REDUCTION_DST] + rb->box.off[OUT];
        const float start = neutral(plan->op);
        for (int64_t i = 0; i < rb->out_n; ++i) a.acc[i] = start;
        plan->once(&a);
        return dnnl_tp_success;
    }
    red_env_t e = {.pd = pd, .ctx = ctx, .plan = plan, .src = ctx->ptr[DTP_REDUCTION_SRC]};
    e.stop = dtp_parallel_stop(ctx->par);
    e.out = plan->direct ? ctx->ptr[DTP_REDUCTION_DST] : (float *)(void *)ctx->scratch;
    e.parts = (float *)(void *)(ctx->scratch + plan->out_bytes);
    for (int i = 0; i < plan->nboxes; ++i) {
        const red_box_t *rb = e.box = &plan->box[i];
        if (rb->shards == 1) {
            dtp_parallel_for(ctx->par, rb->units, rb->grain, whole_units, &e);
        } else {
            dtp_parallel_for(ctx->par, rb->units * rb->shards, rb->grain, shard_units, &e);
            dtp_parallel_for(ctx->par, rb->units, rb->join_grain, join_units, &e);
        }
    }
    if (plan->direct) {
        if (dtp_md_is_padded(&plan->out)) dtp_zero_pad(&plan->out, e.out);
        return dnnl_tp_success;
    }
    char *ptr[DTP_BOXES_OPS];
    for (int o = 0; o < plan->program.nops; ++o)
        ptr[o] = o == 1 ? ctx->scratch : ctx->ptr[plan->program.arg[o]];
    dtp_program_run(&plan->program, ctx->par, ptr, ctx->scratch + pd->scratch_shared, pd->scratch_per_slot);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(reduction, "simd", .plan_size = sizeof(red_plan_t),
                      .plan_head = offsetof(red_plan_t, box), .plan_used = reduction_used,
                      .pd_init = reduction_pd_init, .execute = reduction_execute);
