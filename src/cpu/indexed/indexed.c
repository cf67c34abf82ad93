/* Gathers and scatters of rows by computed positions, of any type.
 *
 * All ids are checked before anything is written; where the kernel cannot fail (data_error.h), those outside are limited.
 * Gathers share rows among threads. Scatters share the loops that data_strides tell apart: rows that may meet stay on one
 * thread, in their order, so that the last one wins and sums do not depend on the number of threads. */
#include "common/problems/graph/indexed.h"

#include "common/primitive/data_error.h"
#include "common/primitive/primitive_desc.h"
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
    if (what < DTP_INDEXED_ADD || (size_t)type >= sizeof all / sizeof *all) return NULL;
    return all[type][what - DTP_INDEXED_ADD];
}

typedef struct {
    combine_t *combine;
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

enum { COPY_BYTES = 16384 }; /* of one item of the copy */

static dnnl_tp_status_t indexed_init(dtp_pd_t *pd) {
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    plan_t *p = pd->plan;
    DTP_DISPATCH(d->ids.data_type == dnnl_tp_s32 || d->ids.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    p->combine = combine_of(d->what, d->data.data_type);
    DTP_DISPATCH(d->what <= DTP_INDEXED_SET || p->combine, UNSUPPORTED_DATA_TYPE);
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
        if (d->what == DTP_INDEXED_GATHER || d->data_strides[i] != 0) {
            p->shared[p->nshared++] = i;
            p->items *= d->loops[i];
        } else {
            p->serial[p->nserial++] = i;
            p->each *= d->loops[i];
        }
    }
    pd->checks_data = true;
    const double row_ns = 4, byte_ns = .06;
    p->grain = dtp_grain((double)p->each * (row_ns + byte_ns * (double)p->row));
    p->copy_grain = dtp_grain(byte_ns * COPY_BYTES);
    return dnnl_tp_success;
}

typedef struct {
    const dtp_indexed_desc_t *d;
    const plan_t *plan;
    const char *data, *rows;
    const void *ids;
    char *dst;
    bool limits; /* some id is outside */
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
        for (; r < stop; ++r) {
            const int64_t from = place_of(j, data, id);
            if (from < 0) memset(j->dst + r * p->row, 0, (size_t)p->row);
            else copy_row(j->dst + r * p->row, j->data + from, p->row);
            if (last >= 0) data += d->data_strides[last], id += d->id_strides[last];
        }
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

static dnnl_tp_status_t indexed_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    const dtp_indexed_desc_t *d = (const dtp_indexed_desc_t *)pd->op;
    job_t job = {
        d, p, ctx->ptr[DTP_INDEXED_DATA], NULL, ctx->ptr[DTP_INDEXED_IDS], ctx->ptr[DTP_INDEXED_DST], false};
    for (int64_t i = 0; i < p->nids && p->nrows > 0 && !job.limits; ++i) {
        const int64_t id = id_at(p, job.ids, i),
                      limit = d->limits[d->ncomponents == 1 ? 0 : i % d->ncomponents];
        if (DTP_LIKELY(fits(id, limit))) continue;
        DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_ID, i, id, limit));
        job.limits = true;
    }
    if (d->what == DTP_INDEXED_GATHER) {
        if (p->row > 0) dtp_parallel_for(ctx->par, p->nrows, p->grain, gather_rows, &job);
        return dnnl_tp_success;
    }
    job.rows = ctx->ptr[DTP_INDEXED_ROWS];
    if (job.dst != job.data) /* not in place */
        dtp_parallel_for(ctx->par, dtp_div_up(p->elems * p->size, COPY_BYTES), p->copy_grain, copy_items,
                         &job);
    if (p->nrows > 0 && p->row > 0) dtp_parallel_for(ctx->par, p->items, p->grain, scatter_rows, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPL(indexed__any, "rows:any", 0, .plan_size = sizeof(plan_t), .pd_init = indexed_init,
             .execute = indexed_execute);
/* Lists end with a reference: as of gather, the same walk. */
DTP_CPU_REFERENCE(indexed, 0, .plan_size = sizeof(plan_t), .pd_init = indexed_init,
                  .execute = indexed_execute);
