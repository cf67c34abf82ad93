/* Gathers and scatters of rows by computed positions, of any type.
 *
 * All ids are checked before anything is written; where the kernel cannot fail (data_error.h), those outside are limited.
 * Gathers share rows among threads. Vectors serve gathers of single elements, and of short rows by ids that several
 * rows of dst share: their positions are told once for a tile of a row (indexed_kern.h). Scatters share the loops that data_strides tell apart: rows that may meet stay on one
 * thread, in their order, so that the last one wins and sums do not depend on the number of threads. */
#include "common/problems/graph/indexed.h"

#include "common/primitive/data_error.h"
#include "common/primitive/primitive_desc.h"
#include "cpu/indexed/indexed_kern.h"
#include "threading/base/parallel.h"

/* dst[i] becomes what a scatter makes of it and of src[i]. */
typedef void combine_t(char *dst, const char *src, int64_t n);

#define COMBINE(name, type, expression)                                \
    static void name##_##type(char *to, const char *from, int64_t n) { \
        type *restrict y = (type *)(void *)to;                         \
        const type *restrict x = (const type *)(const void *)from;     \
        for (int64_t i = 0; i < n; ++i) y[i] = (type)(expression);     \
    }
/* unsigned: what wraps */
#define COMBINES(type, whole)                                     \
    COMBINE(add, type, (whole)y[i] + (whole)x[i])                 \
    COMBINE(mul, type, (whole)y[i] * (whole)x[i])                 \
    COMBINE(max, type, x[i] > y[i] || x[i] != x[i] ? x[i] : y[i]) \
    COMBINE(min, type, x[i] < y[i] || x[i] != x[i] ? x[i] : y[i])
COMBINES(float, float)
COMBINES(double, double)
COMBINES(int64_t, uint64_t)
COMBINES(int32_t, uint32_t)
COMBINES(int8_t, uint32_t)
COMBINES(uint8_t, uint32_t)

static combine_t *combine_of(int what, dnnl_tp_data_type_t type) {
#define ENTRIES(type) \
    { add_##type, mul_##type, max_##type, min_##type }
    static combine_t *const all[][4] = {
        [dnnl_tp_f32] = ENTRIES(float),   [dnnl_tp_f64] = ENTRIES(double), [dnnl_tp_s64] = ENTRIES(int64_t),
        [dnnl_tp_s32] = ENTRIES(int32_t), [dnnl_tp_s8] = ENTRIES(int8_t),  [dnnl_tp_u8] = ENTRIES(uint8_t),
    };
    if (what < DTP_INDEXED_ADD || what > DTP_INDEXED_MIN || (size_t)type >= sizeof all / sizeof *all)
        return NULL;
    return all[type][what - DTP_INDEXED_ADD];
}

enum { WORD = 4 }; /* bytes that kernels move */

typedef struct {
    combine_t *combine;
    const dtp_indexed_kernels_t *kernels; /* NULL: none */
    bool elements;                        /* the last loop is one of `elements` */
    int64_t words;     /* > 0: columns, of rows of so many words; the loops are rows of dst, then ids */
    bool joins;        /* neighbouring ids of the last loop name neighbouring rows */
    bool wide;         /* s64 ids */
    int64_t size, row; /* bytes of an element, of a row */
    int64_t nrows, nids;
    int64_t elems;        /* of the data */
    int nshared, nserial; /* loops; of a gather all are shared */
    int shared[DNNL_TP_MAX_NDIMS], serial[DNNL_TP_MAX_NDIMS];
    int64_t items, each;                    /* of the shared and of the serial loops */
    int64_t row_strides[DNNL_TP_MAX_NDIMS]; /* by loop, in rows */
    int64_t grain, copy_grain;
} plan_t;

enum { COPY_BYTES = 16384, CHECK_IDS = 4096 }; /* of one item of the copy, of the check */

/* Which of the kernels serves a gather. */
static void choose_kernel(const dtp_pd_t *pd, plan_t *p) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    enum { FEW_ROWS = 4, FEW_IDS = 8, MOST_WORDS = 16 };
    p->kernels = DTP_BY_ISA(dtp_pd_isa(pd), &dtp_indexed_kernels, NULL);
    if (d->what != DTP_INDEXED_GATHER || d->ncomponents != 1 || d->nloops == 0) return;
    const int last = d->nloops - 1;
    if (d->id_strides[last] != 1) return;
    p->joins = d->data_strides[last] == 0 && d->step_strides[0] == d->width[0];
    if (!p->kernels) return;
    const bool is_near = p->elems * p->size / WORD <= INT32_MAX;
    if (p->joins && d->nloops == 2 && d->id_strides[0] == 0 && d->loops[0] >= FEW_ROWS && p->row > 0 &&
        p->row % WORD == 0 && p->row <= MOST_WORDS * WORD && is_near)
        p->words = p->row / WORD;
    else
        p->elements = d->width[0] == 1 && (p->size == sizeof(uint32_t) || p->size == sizeof(uint64_t)) &&
                      d->loops[last] >= FEW_IDS && is_near;
}

static dnnl_tp_status_t indexed_init(dtp_pd_t *pd) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    plan_t *p = pd->plan;
    DTP_DISPATCH(d->ids.data_type == dnnl_tp_s32 || d->ids.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    p->combine = combine_of(d->what, d->data.data_type);
    DTP_DISPATCH(d->what <= DTP_INDEXED_SET || p->combine ||
                     (d->what == DTP_INDEXED_SUM && d->data.data_type == dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    p->wide = d->ids.data_type == dnnl_tp_s64;
    p->size = (int64_t)dtp_type_size(d->data.data_type);
    p->row = d->width[0] * p->size;
    p->nids = dtp_md_nelems(&d->ids);
    p->elems = dtp_md_nelems(&d->data);
    p->nrows = p->items = p->each = 1;
    for (int i = d->nloops - 1; i >= 0; --i) {
        p->row_strides[i] = p->nrows;
        p->nrows *= d->loops[i];
    }
    for (int i = 0; i < d->nloops; ++i) {
        if (d->what == DTP_INDEXED_GATHER || d->what == DTP_INDEXED_SUM || d->data_strides[i] != 0) {
            p->shared[p->nshared++] = i;
            p->items *= d->loops[i];
        } else {
            p->serial[p->nserial++] = i;
            p->each *= d->loops[i];
        }
    }
    pd->checks_data = true;
    choose_kernel(pd, p);
    const double row_ns = p->elements ? 1 : 4, byte_ns = .06, word_ns = .15;
    const double tile_words = (double)dtp_min64(p->nids * p->words, DTP_INDEXED_TILE);
    if (d->what == DTP_INDEXED_SUM) p->grain = dtp_grain(d->ntaps * (2 + .02 * (double)p->row));
    else
        p->grain = dtp_grain(p->words ? 4 + word_ns * tile_words
                                      : (double)p->each * (row_ns + byte_ns * (double)p->row));
    p->copy_grain = dtp_grain(byte_ns * COPY_BYTES);
    return dnnl_tp_success;
}

typedef struct {
    const dtp_indexed_desc_t *d;
    const plan_t *plan;
    const char *data, *rows;
    const void *ids;
    char *dst;
    bool limits;        /* some id is outside */
    _Atomic bool wrong; /* the same, while they are checked */
} job_t;

static inline int64_t id_at(const plan_t *p, const void *ids, int64_t i) {
    return p->wide ? ((const int64_t *)ids)[i] : ((const int32_t *)ids)[i];
}

static inline bool fits(int64_t id, int64_t limit) { return id >= -limit && id < limit; }

/* Bytes from the beginning of the data to the row that these coordinates have; -1: there is none. */
static int64_t place_of(const job_t *j, int64_t base, int64_t first_id) {
    const dtp_indexed_desc_t *d = j->d;
    for (int k = 0; k < d->ncomponents; ++k) {
        int64_t id = id_at(j->plan, j->ids, first_id + k);
        if (DTP_UNLIKELY(j->limits && !fits(id, d->limits[k]))) {
            if (d->limits[k] == 0) return -1;
            id = id < 0 ? 0 : d->limits[k] - 1;
        }
        base += (id < 0 ? id + d->limits[k] : id) * d->step_strides[k];
    }
    return base * j->plan->size;
}

/* Adds up what the coordinates of number i in some loops make of three kinds of strides. */
static void place_loops(const job_t *j, int n, const int *loops, int64_t i, int64_t *data, int64_t *id,
                        int64_t *row) {
    const dtp_indexed_desc_t *d = j->d;
    for (int k = n - 1; k >= 0; --k) {
        const int l = loops[k];
        const int64_t c = i % d->loops[l];
        i /= d->loops[l];
        *data += c * d->data_strides[l];
        *id += c * d->id_strides[l];
        *row += c * j->plan->row_strides[l];
    }
}

static inline void copy_row(char *to, const char *from, int64_t bytes) {
    switch (bytes) { /* single elements are frequent */
    case sizeof(uint64_t): memcpy(to, from, sizeof(uint64_t)); break;
    case sizeof(uint32_t): memcpy(to, from, sizeof(uint32_t)); break;
    default: memcpy(to, from, (size_t)bytes); break;
    }
}

static void gather_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    const dtp_indexed_desc_t *d = j->d;
    const int last = d->nloops - 1;
    const int64_t inner = last < 0 ? 1 : d->loops[last];
    (void)slot;
    for (int64_t r = begin; r < end;) {
        int64_t data = 0, id = 0, row = 0;
        place_loops(j, p->nshared, p->shared, r, &data, &id, &row);
        /* Along the last loop. */
        const int64_t stop = dtp_min64(end, r + inner - (last < 0 ? 0 : r % inner));
        if (p->elements && !j->limits) {
            p->kernels->elements(&(dtp_indexed_elements_t){
                .src = j->data + data * p->size,
                .dst = j->dst + r * p->size,
                .ids = (const char *)j->ids + id * (p->wide ? sizeof(int64_t) : sizeof(int32_t)),
                .wide_ids = p->wide,
                .wide_elements = p->size == sizeof(uint64_t),
                .n = stop - r,
                .step = d->data_strides[last],
                .id_step = d->step_strides[0],
                .limit = d->limits[0]});
            r = stop;
            continue;
        }
        while (r < stop) {
            const int64_t from = place_of(j, data, id);
            int64_t n = 1;
            if (from < 0) memset(j->dst + r * p->row, 0, (size_t)p->row);
            else if (p->joins) {
                while (r + n < stop && place_of(j, data, id + n) == from + n * p->row) ++n;
                copy_row(j->dst + r * p->row, j->data + from, n * p->row);
            } else copy_row(j->dst + r * p->row, j->data + from, p->row);
            if (last >= 0) data += n * d->data_strides[last], id += n * d->id_strides[last];
            r += n;
        }
    }
}

/* ---- Columns --------------------------------------------------------------------------------------------------- */

/* Where n words of a row of dst from word `first` on lie in a row of src, which has `all` words. */
static void tell_words(const job_t *j, int64_t first, int64_t n, int64_t all, int32_t *at,
                       dtp_indexed_block_t *block) {
    const plan_t *p = j->plan;
    const int64_t limit = j->d->limits[0], lanes = p->kernels->lanes;
    int64_t i = first / p->words, part = first % p->words;
    for (int64_t w = 0; w < n; ++i, part = 0) {
        int64_t id = id_at(p, j->ids, i);
        id = (id < 0 ? id + limit : id) * p->words;
        for (; part < p->words && w < n; ++part) at[w++] = (int32_t)(id + part);
    }
    for (int64_t w = 0; w < n; w += lanes) {
        int32_t low = at[w], high = low;
        const int64_t count = dtp_min64(lanes, n - w);
        for (int64_t k = 1; k < count; ++k) {
            low = at[w + k] < low ? at[w + k] : low;
            high = at[w + k] > high ? at[w + k] : high;
        }
        dtp_indexed_block_t b = {.base = low, .reach = 1 + (int32_t)((high - low) / lanes)};
        if (b.reach > 2) b = (dtp_indexed_block_t){0};
        b.lo = (int32_t)dtp_min64(lanes, all - b.base);
        b.hi = (int32_t)dtp_min64(lanes, all - b.base - b.lo);
        for (int64_t k = 0; k < count; ++k) at[w + k] -= b.base;
        for (int64_t k = count; k < lanes; ++k) at[w + k] = at[w];
        block[w / lanes] = b;
    }
}

/* Item u: row u % rows of tile u / rows. */
static void gather_columns(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    const dtp_indexed_desc_t *d = j->d;
    const int64_t rows = d->loops[0], ld = p->nids * p->words, all = d->limits[0] * p->words;
    int32_t at[DTP_INDEXED_TILE + DTP_INDEXED_LANES];
    dtp_indexed_block_t block[DTP_INDEXED_BLOCKS];
    (void)slot;
    while (begin < end) {
        const int64_t first = begin / rows * DTP_INDEXED_TILE, row = begin % rows,
                      count = dtp_min64(end - begin, rows - row);
        const dtp_indexed_columns_t a = {
            .src = (const float *)(const void *)j->data + row * all,
            .dst = (float *)(void *)j->dst + row * ld + first,
            .lds = all,
            .ldd = ld,
            .rows = count,
            .n = dtp_min64(DTP_INDEXED_TILE, ld - first),
            .at = at,
            .block = block,
        };
        tell_words(j, first, a.n, all, at, block);
        p->kernels->columns(&a);
        begin += count;
    }
}

static void scatter_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        int64_t data = 0, id = 0, row = 0;
        place_loops(j, p->nshared, p->shared, i, &data, &id, &row);
        for (int64_t k = 0; k < p->each; ++k) {
            int64_t at = data, my_id = id, my_row = row;
            place_loops(j, p->nserial, p->serial, k, &at, &my_id, &my_row);
            const int64_t to = place_of(j, at, my_id);
            if (to < 0) continue;
            const char *from = j->rows + my_row * p->row;
            if (p->combine) p->combine(j->dst + to, from, j->d->width[0]);
            else copy_row(j->dst + to, from, p->row);
        }
    }
}

static void copy_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const int64_t first = begin * COPY_BYTES,
                  last = dtp_min64(end * COPY_BYTES, j->plan->elems * j->plan->size);
    (void)slot;
    memcpy(j->dst + first, j->data + first, (size_t)(last - first));
}

/* ---- Sums ------------------------------------------------------------------------------------------------------ */

static void sum_in_c(const dtp_indexed_sums_t *a) {
    for (int64_t r = 0; r < a->rows; ++r) {
        float *dst = a->dst + r * a->width;
        for (int64_t c = 0; c < a->width; ++c) dst[c] = 0.f;
        for (int64_t at = r; at < a->taps * a->step; at += a->step) {
            const float weight = a->weight[at];
            if (weight == 0.f || a->limit == 0) continue;
            int64_t id = a->wide_ids ? ((const int64_t *)a->ids)[at] : ((const int32_t *)a->ids)[at];
            if (!fits(id, a->limit)) id = id < 0 ? 0 : a->limit - 1;
            const float *src = a->src + (id < 0 ? id + a->limit : id) * a->width;
            for (int64_t c = 0; c < a->width; ++c) dst[c] += weight * src[c];
        }
    }
}

static void sum_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    const dtp_indexed_desc_t *d = j->d;
    const int64_t each = d->loops[1], id_size = p->wide ? sizeof(int64_t) : sizeof(int32_t);
    (void)slot;
    for (int64_t r = begin, n; r < end; r += n) { /* of one batch */
        n = dtp_min64(end - r, each - r % each);
        const dtp_indexed_sums_t a = {.src = (const float *)(const void *)j->data +
                                             r / each * d->data_strides[0],
                                      .weight = (const float *)(const void *)j->rows + r,
                                      .dst = (float *)(void *)j->dst + r * d->width[0],
                                      .ids = (const char *)j->ids + r * id_size,
                                      .wide_ids = p->wide,
                                      .rows = n,
                                      .width = d->width[0],
                                      .taps = d->ntaps,
                                      .step = p->nrows,
                                      .limit = d->limits[0]};
        if (p->kernels && !j->limits) p->kernels->sums(&a);
        else sum_in_c(&a);
    }
}

/* ---- Execution ------------------------------------------------------------------------------------------------- */

static void check_items(void *arg, int slot, int64_t begin, int64_t end) {
    job_t *j = arg;
    const plan_t *p = j->plan;
    const int64_t first = begin * CHECK_IDS, n = dtp_min64(end * CHECK_IDS, p->nids) - first;
    (void)slot;
    if (!p->kernels->inside((const char *)j->ids + first * (p->wide ? sizeof(int64_t) : sizeof(int32_t)),
                            p->wide, n, j->d->limits[0]))
        j->wrong = true;
}

/* Limits the ids, or fails, if one is outside. */
static dnnl_tp_status_t check_ids(const dtp_exec_ctx_t *ctx, job_t *j) {
    const plan_t *p = j->plan;
    const dtp_indexed_desc_t *d = j->d;
    if (p->nrows == 0 || d->ncomponents == 0) return dnnl_tp_success;
    if (p->kernels && d->ncomponents == 1) {
        const double id_ns = .3;
        dtp_parallel_for(ctx->par, dtp_div_up(p->nids, CHECK_IDS), dtp_grain(id_ns * CHECK_IDS), check_items,
                         j);
        if (DTP_LIKELY(!j->wrong)) return dnnl_tp_success;
    }
    for (int64_t i = 0; i < p->nids; i += d->ncomponents)
        for (int k = 0; k < d->ncomponents; ++k) {
            const int64_t id = id_at(p, j->ids, i + k);
            if (DTP_LIKELY(fits(id, d->limits[k]))) continue;
            DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_ID, i + k, id, d->limits[k]));
            j->limits = true;
            return dnnl_tp_success;
        }
    return dnnl_tp_success;
}

static dnnl_tp_status_t indexed_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    job_t job = {.d = d,
                 .plan = p,
                 .data = ctx->ptr[DTP_INDEXED_DATA],
                 .ids = ctx->ptr[DTP_INDEXED_IDS],
                 .dst = ctx->ptr[DTP_INDEXED_DST]};
    DTP_TRY(check_ids(ctx, &job));
    if (d->what == DTP_INDEXED_GATHER && p->words && !job.limits) {
        const int64_t tiles = dtp_div_up(p->nids * p->words, DTP_INDEXED_TILE);
        dtp_parallel_for(ctx->par, d->loops[0] * tiles, p->grain, gather_columns, &job);
        return dnnl_tp_success;
    }
    if (d->what == DTP_INDEXED_GATHER) {
        if (p->row > 0) dtp_parallel_for(ctx->par, p->nrows, p->grain, gather_rows, &job);
        return dnnl_tp_success;
    }
    job.rows = ctx->ptr[DTP_INDEXED_ROWS];
    if (d->what == DTP_INDEXED_SUM) {
        if (p->row > 0) dtp_parallel_for(ctx->par, p->nrows, p->grain, sum_rows, &job);
        return dnnl_tp_success;
    }
    if (job.dst != job.data) /* not in place */
        dtp_parallel_for(ctx->par, dtp_div_up(p->elems * p->size, COPY_BYTES), p->copy_grain, copy_items,
                         &job);
    if (p->nrows > 0 && p->row > 0) dtp_parallel_for(ctx->par, p->items, p->grain, scatter_rows, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(indexed, "rows", .plan_size = sizeof(plan_t), .pd_init = indexed_init,
                      .execute = indexed_execute);
/* Lists end with a reference: as of gather, the same walk. */
DTP_CPU_REFERENCE(indexed, 0, .plan_size = sizeof(plan_t), .pd_init = indexed_init,
                  .execute = indexed_execute);
