/* Tensors with a value around them, or repeated. Rows of src are copied to their places; what stands around them is
 * filled, and what repeats them copied from dst, by blocks as long as possible. Dimensions that nothing changes are a part of the
 * one before; those before the first one that changes, and its elements, are shared among threads. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/pad.h"
#include "cpu/elementwise/move.h"
#include "threading/base/parallel.h"

/* A dimension, or several neighbours that nothing changes. */
typedef struct {
    int64_t n, before, behind, times;
    int64_t src, dst; /* bytes from element to element */
} axis_t;

enum { WORD = 16, SHORT = 64 /* bytes: of what fills, of short rows */ };
typedef struct {
    const dtp_move_t *moves;
    int naxes;
    axis_t axis[DNNL_TP_MAX_NDIMS];
    int64_t outer;    /* before the first axis */
    int64_t src, dst; /* bytes of what the axes hold */
    bool by_blocks;   /* threads take whole blocks of `outer` */
    bool is_byte;     /* all bytes of value are equal */
    int64_t grain, border_grain;
    char value[WORD];
} plan_t;

static int64_t length(const axis_t *a) { return a->before + a->n * a->times + a->behind; }
static int64_t is_changed(const dtp_pad_desc_t *d, int i) {
    return d->before[i] || d->behind[i] || d->times[i] != 1;
}

static dnnl_tp_status_t pad_init(dtp_pd_t *pd) {
    const dtp_pad_desc_t *d = (const dtp_pad_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const size_t size = dtp_type_size(d->src.data_type);
    DTP_DISPATCH(d->src.data_type == d->dst.data_type && size > 0 && size <= sizeof d->value,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    int64_t src = (int64_t)size, dst = (int64_t)size;
    int first = 0, last = d->ndims - 1;
    while (first < d->ndims && !is_changed(d, first)) ++first;
    DTP_DISPATCH(first < d->ndims, UNSUPPORTED_SHAPE);
    for (; last > first && !is_changed(d, last); --last) {
        src *= d->src.dims[last];
        dst *= d->dst.dims[last];
    }
    p->naxes = last - first + 1;
    for (int i = last; i >= first; --i) {
        p->axis[i - first] = (axis_t){d->src.dims[i], d->before[i], d->behind[i], d->times[i], src, dst};
        src *= d->src.dims[i];
        dst *= d->dst.dims[i];
    }
    p->src = src;
    p->dst = dst;
    p->outer = 1;
    for (int i = 0; i < first; ++i) p->outer *= d->src.dims[i];
    p->moves = dtp_moves(dtp_pd_isa(pd));
    for (size_t i = 0; i < WORD; i += size) memcpy(p->value + i, &d->value, size);
    p->is_byte = !memcmp(p->value, p->value + 1, WORD - 1);
    const double byte_ns = .05, item_ns = 5;
    p->by_blocks = pd->num_threads == 1 || p->outer >= 4 * (int64_t)pd->num_threads;
    p->grain = dtp_grain(item_ns + byte_ns * (double)(p->by_blocks ? p->dst : p->axis[0].dst));
    p->border_grain = dtp_grain(item_ns + byte_ns * (double)(p->dst / p->axis[0].times));
    return dnnl_tp_success;
}

/* ---- Around rows ---------------------------------------------------------------------------------------- */

static void fill(const plan_t *p, char *to, int64_t bytes) {
    enum { MANY = 256 };
    int64_t i = 0;
    if (bytes >= MANY && p->is_byte) {
        memset(to, p->value[0], (size_t)bytes);
        return;
    }
    for (; i + WORD <= bytes; i += WORD) memcpy(to + i, p->value, WORD);
    for (; i + 4 <= bytes; i += 4)
        memcpy(to + i, p->value + i % 8, 4); /* i is a whole number of elements, or of halves */
    for (; i < bytes; ++i) to[i] = p->value[i % 8];
}

/* At least `step` and at most 2 * step bytes, or any number of whole steps and what is left of one. */
static inline __attribute__((always_inline)) void copy(char *to, const char *from, int64_t bytes,
                                                       const int step) {
    for (int64_t i = 0; i + step < bytes; i += step) memcpy(to + i, from + i, (size_t)step);
    memcpy(to + bytes - step, from + bytes - step, (size_t)step);
}

/* A short row as often as it is wanted. */
static void repeat_row(char *to, const char *from, int64_t bytes, int64_t times) {
    for (int64_t t = 0; t < times; ++t, to += bytes)
        if (bytes >= WORD) copy(to, from, bytes, WORD);
        else if (bytes >= 8) copy(to, from, bytes, 8);
        else if (bytes >= 4) copy(to, from, bytes, 4);
        else if (bytes >= 2) copy(to, from, bytes, 2);
        else *to = *from;
}

/* to[i] = to[i - period] for all bytes i. */
static void repeat(char *to, int64_t period, int64_t bytes) {
    enum { HOT = 1 << 14 };
    for (int64_t i = 0, whole = period, n; i < bytes; i += n) { /* from the begin of what there is */
        n = dtp_min64(whole, bytes - i);
        memcpy(to + i, to - period, (size_t)n);
        if (whole < HOT) whole += n;
    }
}

/* What stands around the elements of an axis, which are made. */
static void surround(const plan_t *p, const axis_t *a, char *dst) {
    const int64_t all = a->n * a->dst;
    if (a->times > 1) repeat(dst + all, all, (a->times - 1) * all);
    if (a->before) fill(p, dst, a->before * a->dst);
    if (a->behind) fill(p, dst + a->before * a->dst + all, a->behind * a->dst);
}

/* count blocks of axis a and all behind it, which follow each other in dst. */
static void make(const plan_t *p, int i, int64_t count, const char *src, char *dst) {
    const axis_t *a = &p->axis[i];
    const int64_t from = a->n * a->src, to = length(a) * a->dst, begin = a->before * a->dst;
    if (i + 1 < p->naxes) {
        for (int64_t k = 0; k < count; ++k, src += from, dst += to) {
            make(p, i + 1, a->n, src, dst + begin);
            surround(p, a, dst);
        }
        return;
    }
    if (a->times > 1) {
        for (int64_t k = 0; k < count; ++k, src += from, dst += to)
            if (from < SHORT) repeat_row(dst, src, from, a->times);
            else p->moves->rows(dst, from, src, 0, a->times, from, 0);
        return;
    }
    p->moves->rows(dst + begin, to, src, from, count, from, 0);
    /* What is behind a row and before the next one is one piece. */
    const int64_t between = to - from, end = begin + from;
    if (begin) fill(p, dst, begin);
    for (int64_t k = 0; k + 1 < count && between; ++k) fill(p, dst + k * to + end, between);
    if (a->behind) fill(p, dst + (count - 1) * to + end, to - end);
}

/* ---- Threads -------------------------------------------------------------------------------------------- */

typedef struct {
    const plan_t *p;
    const char *src;
    char *dst;
} job_t;

static void blocks(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    (void)slot;
    make(j->p, 0, end - begin, j->src + begin * j->p->src, j->dst + begin * j->p->dst);
}

/* Elements of the first axis of all blocks, without what surrounds them. */
static void elements(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->p;
    const axis_t *a = &p->axis[0];
    (void)slot;
    for (int64_t i = begin, n; i < end; i += n) {
        const int64_t block = i / a->n, at = i % a->n;
        n = dtp_min64(a->n - at, end - i);
        const char *src = j->src + block * p->src + at * a->src;
        char *dst = j->dst + block * p->dst + (a->before + at) * a->dst;
        if (p->naxes > 1) make(p, 1, n, src, dst);
        else memcpy(dst, src, (size_t)(n * a->src));
    }
}
/* What surrounds them: an item for each time. */
static void borders(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const axis_t *a = &j->p->axis[0];
    const int64_t all = a->n * a->dst;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        char *dst = j->dst + i / a->times * j->p->dst;
        if (a->times == 1) surround(j->p, a, dst);
        else if (i % a->times) memcpy(dst + i % a->times * all, dst, (size_t)all);
    }
}

static dnnl_tp_status_t pad_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    job_t j = {p, ctx->ptr[DTP_PAD_SRC], ctx->ptr[DTP_PAD_DST]};
    if (!p->outer || !p->dst) return dnnl_tp_success;
    if (p->by_blocks) {
        dtp_parallel_for(ctx->par, p->outer, p->grain, blocks, &j);
    } else {
        dtp_parallel_for(ctx->par, p->outer * p->axis[0].n, p->grain, elements, &j);
        dtp_parallel_for(ctx->par, p->outer * p->axis[0].times, p->border_grain, borders, &j);
    }
    return dnnl_tp_success;
}

DTP_CPU_IMPL(pad__any, "copies:any", 0, .plan_size = sizeof(plan_t), .pd_init = pad_init,
             .execute = pad_execute);
