/* Positions of the k best elements of lines; k = 1 is the argument of the maximum. Lines are shared among threads: for
 * k = 1 columns side by side, else lines through a selection in vectors (top_k_select.h), or one line at a time through
 * a heap of k positions. */
#include "common/problems/graph/top_k.h"

#include "common/primitive/primitive_desc.h"
#include "cpu/top_k/top_k_select.h"
#include "threading/base/parallel.h"

enum { TOP_K_COLUMNS = 64 }; /* of one pass: their best elements stay in the first cache */

#define TOP_K(name) name##_f32
#define ELEMENT float
#define NO_NUMBER(x) ((x) != (x))
#include "cpu/top_k/top_k_kern.inc"
#define TOP_K(name) name##_f64
#define ELEMENT double
#define NO_NUMBER(x) ((x) != (x))
#include "cpu/top_k/top_k_kern.inc"
#define TOP_K(name) name##_s64
#define ELEMENT int64_t
#define NO_NUMBER(x) false
#include "cpu/top_k/top_k_kern.inc"
#define TOP_K(name) name##_s32
#define ELEMENT int32_t
#define NO_NUMBER(x) false
#include "cpu/top_k/top_k_kern.inc"
#define TOP_K(name) name##_s8
#define ELEMENT int8_t
#define NO_NUMBER(x) false
#include "cpu/top_k/top_k_kern.inc"
#define TOP_K(name) name##_u8
#define ELEMENT uint8_t
#define NO_NUMBER(x) false
#include "cpu/top_k/top_k_kern.inc"

typedef void columns_t(const void *src, int64_t n, int64_t step, int64_t width, int64_t *to, bool smallest,
                       bool last, bool nan_worst);
typedef void sorted_t(const void *src, int64_t n, int64_t step, int64_t k, int64_t *heap, bool smallest,
                      bool last, bool nan_worst);
typedef struct {
    columns_t *columns;
    sorted_t *sorted;
} functions_t;

typedef struct {
    functions_t fn;
    const dtp_top_k_select_t *select; /* NULL: fn serves */
    dtp_top_k_line_t line;
    int64_t n, k, inner, width, blocks; /* blocks of `width` columns, by line of rows */
    int64_t items, grain;
    int64_t size;
} plan_t;

/* Whether vectors serve: by keys of 32 bits, which k = 1 needs for neighbouring elements only. */
static bool selects(const dtp_pd_t *pd, plan_t *p) {
    const dtp_top_k_desc_t *d = (const dtp_top_k_desc_t *)pd->op;
    const dnnl_tp_data_type_t type = d->src.data_type;
    enum { MOST = 1 << 24 }; /* elements of a line: their keys have room in scratch */
    if (type == dnnl_tp_f64 || type == dnnl_tp_s64 || p->n > MOST) return false;
    if (p->k == 1 && p->inner > 1 && type != dnnl_tp_f32) return false;
    p->line = (dtp_top_k_line_t){.type = type == dnnl_tp_f32   ? DTP_TOP_K_F32
                                         : type == dnnl_tp_s32 ? DTP_TOP_K_S32
                                         : type == dnnl_tp_s8  ? DTP_TOP_K_S8
                                                               : DTP_TOP_K_U8,
                                 .smallest = d->smallest,
                                 .last = d->last,
                                 .nan_worst = d->nan_worst,
                                 .n = p->n,
                                 .k = p->k,
                                 .inner = p->inner};
    dtp_top_k_rooms(&p->line);
    return true;
}

static dnnl_tp_status_t top_k_init(dtp_pd_t *pd) {
    static const functions_t all[] = {
        [dnnl_tp_f32] = {columns_f32, sorted_f32}, [dnnl_tp_f64] = {columns_f64, sorted_f64},
        [dnnl_tp_s64] = {columns_s64, sorted_s64}, [dnnl_tp_s32] = {columns_s32, sorted_s32},
        [dnnl_tp_s8] = {columns_s8, sorted_s8},    [dnnl_tp_u8] = {columns_u8, sorted_u8},
    };
    const dtp_top_k_desc_t *d = (const dtp_top_k_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const size_t type = (size_t)d->src.data_type;
    DTP_DISPATCH(type < sizeof all / sizeof *all && all[type].columns && d->dst.data_type == dnnl_tp_s64,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->src) && dtp_md_is_dense_row_major(&d->dst),
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    p->fn = all[type];
    p->n = d->src.dims[1];
    p->k = d->dst.dims[1];
    p->inner = d->src.dims[2];
    p->size = (int64_t)dtp_type_size(d->src.data_type);
    p->select = DTP_BY_ISA(dtp_pd_isa(pd), &dtp_top_k_select, NULL);
    if (p->select && !selects(pd, p)) p->select = NULL;
    p->width = dtp_min64(p->inner, p->k == 1 ? TOP_K_COLUMNS : p->select ? DTP_TOP_K_WIDTH : 1);
    p->blocks = dtp_div_up(p->inner, p->width);
    p->items = p->k > 0 ? d->src.dims[0] * p->blocks : 0;
    const double element_ns = p->select ? p->k == 1 ? .1 : .5 : p->k == 1 ? 1 : 4;
    p->grain = dtp_grain((double)(p->n * p->width) * element_ns);
    if (p->k > 1) {
        const size_t ranks = (size_t)(p->select ? 2 * p->line.ranks : p->k),
                     keys = p->select ? (size_t)(p->width * p->n + p->line.columns) : 0;
        dtp_pd_book(pd, 0, sizeof(int64_t) * ranks + sizeof(int32_t) * keys);
    }
    return dnnl_tp_success;
}

typedef struct {
    dtp_job_t job;
    const char *src;
    int64_t *dst;
} top_k_job_t;

static void top_k_items(void *arg, int slot, int64_t begin, int64_t end) {
    const top_k_job_t *j = arg;
    const plan_t *p = j->job.pd->plan;
    const dtp_top_k_desc_t *d = (const dtp_top_k_desc_t *)j->job.pd->op;
    int64_t *room = p->k > 1 ? (int64_t *)(void *)dtp_scratch_slot(j->job.pd, j->job.ctx, slot) : NULL;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % p->blocks * p->width, outer = i / p->blocks,
                      width = dtp_min64(p->inner - column, p->width);
        const char *src = j->src + (outer * p->n * p->inner + column) * p->size;
        int64_t *dst = j->dst + outer * p->k * p->inner + column;
        if (p->select && p->k == 1) {
            if (p->inner == 1) *dst = p->select->first(&p->line, src);
            else p->select->columns(&p->line, (const float *)(const void *)src, width, dst);
        } else if (p->select) {
            int32_t *keys = (int32_t *)(void *)(room + 2 * p->line.ranks);
            const dtp_top_k_room_t of = {keys, keys + p->width * p->n, room, room + p->line.ranks};
            p->select->best(&p->line, src, width, &of, dst);
        } else if (p->k == 1) {
            p->fn.columns(src, p->n, p->inner, width, dst, d->smallest, d->last, d->nan_worst);
        } else {
            p->fn.sorted(src, p->n, p->inner, p->k, room, d->smallest, d->last, d->nan_worst);
            for (int64_t k = 0; k < p->k; ++k) dst[k * p->inner] = room[k];
        }
    }
}

static dnnl_tp_status_t top_k_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    top_k_job_t job = {{pd, ctx}, ctx->ptr[DTP_TOP_K_SRC], ctx->ptr[DTP_TOP_K_DST]};
    dtp_parallel_for(ctx->par, p->items, p->grain, top_k_items, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS(top_k, "select", .plan_size = sizeof(plan_t), .pd_init = top_k_init, .execute = top_k_execute);
DTP_CPU_IMPL(top_k__any, "heap:any", 0, .plan_size = sizeof(plan_t), .pd_init = top_k_init,
             .execute = top_k_execute);
/* Lists end with a reference: as of gather, the same walk. */
DTP_CPU_REFERENCE(top_k, 0, .plan_size = sizeof(plan_t), .pd_init = top_k_init, .execute = top_k_execute);
