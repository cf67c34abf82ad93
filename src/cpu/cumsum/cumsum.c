/* Running sums for graphs. Integers wrap and are exact; sums of f32, bf16 and f16 are kept in double and rounded when
 * they are written. Lines are shared among threads, a line never is. */
#include "common/base/half.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/cumsum.h"
#include "threading/base/parallel.h"

enum { CUMSUM_COLUMNS = 64 }; /* of one pass along a line of rows: their sums stay in the first cache */

#define CUMSUM cumsum_f32
#define ELEMENT float
#define SUM double
#include "cpu/cumsum/cumsum_kern.inc"

#define CUMSUM cumsum_bf16
#define ELEMENT uint16_t
#define SUM double
#define LOAD(x) ((double)dtp_bf16_to_f32(x))
#define STORE(s) dtp_f32_to_bf16((float)(s))
#include "cpu/cumsum/cumsum_kern.inc"

#define CUMSUM cumsum_f16
#define ELEMENT uint16_t
#define SUM double
#define LOAD(x) ((double)dtp_f16_to_f32(x))
#define STORE(s) dtp_f32_to_f16((float)(s))
#include "cpu/cumsum/cumsum_kern.inc"

#define CUMSUM cumsum_f64
#define ELEMENT double
#define SUM double
#include "cpu/cumsum/cumsum_kern.inc"

#define CUMSUM cumsum_s32
#define ELEMENT uint32_t
#define SUM uint32_t
#include "cpu/cumsum/cumsum_kern.inc"

#define CUMSUM cumsum_s64
#define ELEMENT uint64_t
#define SUM uint64_t
#include "cpu/cumsum/cumsum_kern.inc"

typedef void cumsum_fn_t(const void *src, void *dst, int64_t n, int64_t step, int64_t width, bool exclusive);

typedef struct {
    cumsum_fn_t *fn;
    int64_t n, inner, blocks; /* of columns, by line of rows */
    int64_t items;            /* lines of rows times blocks */
    int64_t grain;
    size_t size; /* of an element */
    bool exclusive, reverse;
} plan_t;

static dnnl_tp_status_t cumsum_init(dtp_pd_t *pd) {
    static cumsum_fn_t *const fns[] = {
        [dnnl_tp_f32] = cumsum_f32, [dnnl_tp_bf16] = cumsum_bf16, [dnnl_tp_f16] = cumsum_f16,
        [dnnl_tp_f64] = cumsum_f64, [dnnl_tp_s32] = cumsum_s32,   [dnnl_tp_s64] = cumsum_s64,
    };
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    const size_t type = (size_t)d->src.data_type;
    DTP_DISPATCH(type < sizeof fns / sizeof *fns && fns[type] && d->dst.data_type == d->src.data_type,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->src.ndims == 3 && d->dst.ndims == 3, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    plan->fn = fns[type];
    plan->n = d->src.dims[1];
    plan->inner = d->src.dims[2];
    plan->blocks = dtp_div_up(plan->inner, CUMSUM_COLUMNS);
    plan->items = d->src.dims[0] * plan->blocks;
    plan->size = dtp_type_size(d->src.data_type);
    plan->exclusive = d->exclusive;
    plan->reverse = d->reverse;
    const double chain_ns = 1.5, column_ns = .5; /* of an element: alone it waits for the sum before it */
    const int64_t width = dtp_min64(plan->inner, CUMSUM_COLUMNS);
    plan->grain = dtp_grain((double)plan->n * (width == 1 ? chain_ns : column_ns * (double)width));
    return dnnl_tp_success;
}

typedef struct {
    const plan_t *plan;
    const char *src;
    char *dst;
} job_t;

static void cumsum_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % p->blocks * CUMSUM_COLUMNS,
                      first = i / p->blocks * p->n * p->inner + column;
        const int64_t at = p->reverse ? first + (p->n - 1) * p->inner : first;
        p->fn(j->src + (size_t)at * p->size, j->dst + (size_t)at * p->size, p->n,
              p->reverse ? -p->inner : p->inner, dtp_min64(p->inner - column, CUMSUM_COLUMNS), p->exclusive);
    }
}

static dnnl_tp_status_t cumsum_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *plan = pd->plan;
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    job_t job = {plan, (const char *)ctx->ptr[DTP_CUMSUM_SRC] + (size_t)d->src.offset0 * plan->size,
                 (char *)ctx->ptr[DTP_CUMSUM_DST] + (size_t)d->dst.offset0 * plan->size};
    dtp_parallel_for(ctx->par, plan->items, plan->grain, cumsum_items, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPL(cumsum__any, "scan:any", 0, .plan_size = sizeof(plan_t), .pd_init = cumsum_init,
             .execute = cumsum_execute);
