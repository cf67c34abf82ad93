/* Reductions for graphs in the arithmetic of f64, s64, s32, s8, u8 and boolean: integers wrap and are exact, means of them
 * are cut towards zero, largest and smallest of nothing are the ends of the type. Blocks of results that lie side by side are
 * computed together, each in the order of its elements, whatever the number of threads. */
#include <math.h>

#include "cpu/reduction/reduction.h"
#include "threading/base/parallel.h"

enum { COLUMNS = 64 }; /* of one pass: their results stay in the first cache */

/* to: n elements, or one a column; the reduced elements of a column are `step` apart. Accumulates into acc. */
typedef void accumulate_t(const void *src, int64_t n, int64_t step, int64_t width, int64_t column, void *acc);

#define LINE(name, type, wide, expression)                                                              \
    static void name##_##type(const void *from, int64_t n, int64_t step, int64_t width, int64_t column, \
                              void *to) {                                                               \
        const type *src = from;                                                                         \
        wide *acc = to;                                                                                 \
        for (int64_t i = 0; i < n; ++i, src += step)                                                    \
            for (int64_t c = 0; c < width; ++c) {                                                       \
                const wide x = (wide)src[c * column], y = acc[c];                                       \
                acc[c] = (expression);                                                                  \
            }                                                                                           \
    }
#define WRAPPED_SUM(x, y) (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define WRAPPED_PRODUCT(x, y) (int64_t)((uint64_t)(x) * (uint64_t)(y))
#define MAGNITUDE(x) ((x) < 0 ? (int64_t)(0 - (uint64_t)(x)) : (x))
#define LINES_OF_INTEGER(type)                                \
    LINE(sum, type, int64_t, WRAPPED_SUM(x, y))               \
    LINE(mul, type, int64_t, WRAPPED_PRODUCT(x, y))           \
    LINE(max, type, int64_t, x > y ? x : y)                   \
    LINE(min, type, int64_t, x < y ? x : y)                   \
    LINE(norm_1, type, int64_t, WRAPPED_SUM(y, MAGNITUDE(x))) \
    LINE(norm_2, type, int64_t, WRAPPED_SUM(y, WRAPPED_PRODUCT(x, x)))
LINES_OF_INTEGER(int64_t)
LINES_OF_INTEGER(int32_t)
LINES_OF_INTEGER(int8_t)
LINES_OF_INTEGER(uint8_t)
LINE(sum, double, double, x + y)
LINE(mul, double, double, x *y)
LINE(max, double, double, x > y || x != x ? x : y)
LINE(min, double, double, x < y || x != x ? x : y)
LINE(norm_1, double, double, y + fabs(x))
LINE(norm_2, double, double, y + x * x)

typedef enum { SUMS, PRODUCTS, LARGEST, SMALLEST, NORM_1, NORM_2, NKINDS } kind_t;
typedef struct {
    accumulate_t *fn;
    kind_t kind;
    dnnl_tp_data_type_t type;
    int64_t size;
    bool is_mean, has_root;
    int nkept, nreduced; /* dimensions; kept ones make the results, in their order */
    int64_t kept[DNNL_TP_MAX_NDIMS], kept_strides[DNNL_TP_MAX_NDIMS];
    int64_t reduced[DNNL_TP_MAX_NDIMS], reduced_strides[DNNL_TP_MAX_NDIMS];
    int64_t count;                       /* reduced elements of a result */
    int64_t lines, last, blocks, column; /* of results: lines of `last`, in blocks of columns */
    int64_t grain;
} plan_t;

static int kind_of(const dtp_reduction_desc_t *d) {
    switch (d->alg) {
    case dnnl_tp_reduction_sum:
    case dnnl_tp_reduction_mean: return SUMS;
    case dnnl_tp_reduction_mul: return PRODUCTS;
    case dnnl_tp_reduction_max: return LARGEST;
    case dnnl_tp_reduction_min: return SMALLEST;
    case dnnl_tp_reduction_norm_lp_sum:
    case dnnl_tp_reduction_norm_lp_power_p_sum: return d->p == 1.f ? NORM_1 : d->p == 2.f ? NORM_2 : -1;
    default: return -1;
    }
}

static dnnl_tp_status_t exact_init(dtp_pd_t *pd) {
#define ENTRIES(type) \
    { sum_##type, mul_##type, max_##type, min_##type, norm_1_##type, norm_2_##type }
    static accumulate_t *const fns[][NKINDS] = {
        [dnnl_tp_f64] = ENTRIES(double),  [dnnl_tp_s64] = ENTRIES(int64_t),
        [dnnl_tp_s32] = ENTRIES(int32_t), [dnnl_tp_s8] = ENTRIES(int8_t),
        [dnnl_tp_u8] = ENTRIES(uint8_t),  [dnnl_tp_boolean] = ENTRIES(uint8_t),
    };
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const size_t type = (size_t)d->src.data_type;
    const int kind = kind_of(d);
    DTP_DISPATCH(d->exact && type < sizeof fns / sizeof *fns && d->dst.data_type == d->src.data_type,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(kind >= 0 && fns[type][kind] && d->eps == 0.f, UNSUPPORTED_ALG);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_DISPATCH(dtp_md_is_plain(&d->src) && dtp_md_is_dense_row_major(&d->dst), UNSUPPORTED_LAYOUT);
    p->fn = fns[type][kind];
    p->kind = (kind_t)kind;
    p->type = d->src.data_type;
    p->size = (int64_t)dtp_type_size(p->type);
    p->is_mean = d->alg == dnnl_tp_reduction_mean;
    p->has_root = d->alg == dnnl_tp_reduction_norm_lp_sum && kind == NORM_2;
    p->count = p->lines = 1;
    for (int i = 0; i < d->src.ndims; ++i) {
        if (d->dst.dims[i] == d->src.dims[i]) {
            p->kept[p->nkept] = d->src.dims[i];
            p->kept_strides[p->nkept++] = d->src.strides[i];
        } else {
            p->reduced[p->nreduced] = d->src.dims[i];
            p->reduced_strides[p->nreduced++] = d->src.strides[i];
            p->count *= d->src.dims[i];
        }
    }
    /* Results of the last dimension that stays are side by side. */
    p->last = p->nkept ? p->kept[p->nkept - 1] : 1;
    p->column = p->nkept ? p->kept_strides[p->nkept - 1] : 0;
    for (int i = 0; i + 1 < p->nkept; ++i) p->lines *= p->kept[i];
    p->blocks = dtp_div_up(p->last, COLUMNS);
    const double element_ns = .7;
    p->grain = dtp_grain(element_ns * (double)(p->count + 1) * (double)dtp_min64(p->last, COLUMNS));
    return dnnl_tp_success;
}

typedef struct {
    const plan_t *plan;
    const char *src;
    char *dst;
} job_t;

typedef union {
    double f;
    int64_t i;
} number_t;

/* What a result begins as. */
static number_t first_of(const plan_t *p) {
    static const int64_t least[] = {[dnnl_tp_s64] = INT64_MIN,
                                    [dnnl_tp_s32] = INT32_MIN,
                                    [dnnl_tp_s8] = INT8_MIN,
                                    [dnnl_tp_u8] = 0,
                                    [dnnl_tp_boolean] = 0};
    static const int64_t most[] = {[dnnl_tp_s64] = INT64_MAX,
                                   [dnnl_tp_s32] = INT32_MAX,
                                   [dnnl_tp_s8] = INT8_MAX,
                                   [dnnl_tp_u8] = UINT8_MAX,
                                   [dnnl_tp_boolean] = 1};
    const bool is_f64 = p->type == dnnl_tp_f64;
    switch (p->kind) {
    case PRODUCTS: return is_f64 ? (number_t){.f = 1} : (number_t){.i = 1};
    case LARGEST: return is_f64 ? (number_t){.f = -INFINITY} : (number_t){.i = least[p->type]};
    case SMALLEST: return is_f64 ? (number_t){.f = INFINITY} : (number_t){.i = most[p->type]};
    default: return is_f64 ? (number_t){.f = 0} : (number_t){.i = 0};
    }
}

static void store(const plan_t *p, char *to, number_t acc) {
    if (p->type == dnnl_tp_f64) {
        const double x = p->is_mean ? acc.f / (double)p->count : p->has_root ? sqrt(acc.f) : acc.f;
        memcpy(to, &x, sizeof x);
        return;
    }
    const int64_t x = p->is_mean    ? (p->count ? acc.i / p->count : 0)
                      : p->has_root ? (int64_t)sqrt((double)acc.i)
                                    : acc.i;
    switch (p->type) {
    case dnnl_tp_s64: memcpy(to, &x, sizeof x); break;
    case dnnl_tp_s32: memcpy(to, &(int32_t){(int32_t)x}, sizeof(int32_t)); break;
    case dnnl_tp_boolean: *to = x != 0; break;
    default: *(uint8_t *)to = (uint8_t)x; break;
    }
}

/* An item is a block of columns of a line. */
static void exact_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    const number_t first = first_of(p);
    const int inner = p->nreduced - 1;
    (void)slot;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t column = item % p->blocks * COLUMNS, width = dtp_min64(p->last - column, COLUMNS);
        number_t acc[COLUMNS];
        int64_t at = column * p->column, rest = item / p->blocks, index[DNNL_TP_MAX_NDIMS] = {0};
        for (int d = p->nkept - 2; d >= 0; --d) {
            at += rest % p->kept[d] * p->kept_strides[d];
            rest /= p->kept[d];
        }
        for (int64_t c = 0; c < width; ++c) acc[c] = first;
        for (bool more = p->count > 0; more;) {
            p->fn(j->src + at * p->size, p->reduced[inner], p->reduced_strides[inner], width, p->column, acc);
            int d = inner - 1;
            for (; d >= 0; --d) {
                at += p->reduced_strides[d];
                if (++index[d] < p->reduced[d]) break;
                at -= p->reduced[d] * p->reduced_strides[d];
                index[d] = 0;
            }
            more = d >= 0;
        }
        char *to = j->dst + (item / p->blocks * p->last + column) * p->size;
        for (int64_t c = 0; c < width; ++c) store(p, to + c * p->size, acc[c]);
    }
}

static dnnl_tp_status_t exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)pd->op;
    const plan_t *p = pd->plan;
    job_t job = {p, (const char *)ctx->ptr[DTP_REDUCTION_SRC] + d->src.offset0 * p->size,
                 (char *)ctx->ptr[DTP_REDUCTION_DST] + d->dst.offset0 * p->size};
    dtp_parallel_for(ctx->par, p->lines * p->blocks, p->grain, exact_items, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPL(reduction__exact, "exact:any", 0, .plan_size = sizeof(plan_t), .pd_init = exact_init,
             .execute = exact_execute);
