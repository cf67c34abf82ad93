/* Gather of rows for graphs: dst[i, :] = table[ids[i], :]; with the post-op sum dst[i, :] += scale *
 * table[ids[i], :].
 *
 * All ids are checked before anything is written; where the kernel cannot fail (data_error.h), those outside the table
 * are clamped. The table may have any served type; dst has the same, f32 or bf16. Rows are dense in the last dim. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/gather.h"
#include "cpu/simd/vops.h"
#include "threading/base/parallel.h"

typedef struct {
    const dtp_vops_t *vops;
    int64_t n, h, vocabulary;
    int64_t ld_table, ld_dst, id_stride;
    int64_t grain;
    bool wide;  /* s64 ids */
    bool moves; /* dst has the type of the table */
    bool add;
    float scale;
} plan_t;

static dnnl_tp_status_t gather_init(dtp_pd_t *pd) {
    dtp_gather_desc_t *d = (dtp_gather_desc_t *)pd->op;
    plan_t *plan = pd->plan;
    if (dtp_md_is_any(&d->dst)) dtp_md_make_plain(&d->dst);
    DTP_DISPATCH(dtp_vops_takes(d->table.data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->dst.data_type == dnnl_tp_f32 || d->dst.data_type == dnnl_tp_bf16 ||
                     d->dst.data_type == d->table.data_type,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->ids.data_type == dnnl_tp_s32 || d->ids.data_type == dnnl_tp_s64, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->table.ndims == 2 && d->ids.ndims == 1 && d->dst.ndims == 2, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(d->dst.dims[0] == d->ids.dims[0] && d->dst.dims[1] == d->table.dims[1], UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_plain(&d->table) && dtp_md_is_plain(&d->ids) && dtp_md_is_plain(&d->dst) &&
                     d->table.strides[1] == 1 && d->dst.strides[1] == 1,
                 UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    const dtp_post_ops_t *po = pd->attr->post_ops;
    DTP_DISPATCH(po->len <= 1, UNSUPPORTED_POST_OPS);
    if (po->len == 1) {
        const dtp_post_op_t *e = &po->entry[0];
        DTP_DISPATCH(d->dst.data_type == dnnl_tp_f32 && e->kind == dnnl_tp_sum && e->zero_point == 0 &&
                         (e->sum_dt == dnnl_tp_data_type_undef || e->sum_dt == dnnl_tp_f32),
                     UNSUPPORTED_POST_OPS);
        plan->add = true;
        plan->scale = e->scale;
    }
    plan->vops = dtp_vops(dtp_pd_isa(pd));
    plan->n = d->ids.dims[0];
    plan->h = d->table.dims[1];
    plan->vocabulary = d->table.dims[0];
    plan->ld_table = d->table.strides[0];
    plan->ld_dst = d->dst.strides[0];
    plan->id_stride = d->ids.strides[0];
    plan->wide = d->ids.data_type == dnnl_tp_s64;
    pd->checks_data = true;
    plan->moves = d->dst.data_type == d->table.data_type;
    const bool has_room = plan->add || (!plan->moves && d->dst.data_type != dnnl_tp_f32);
    dtp_pd_book(pd, 0, has_room ? sizeof(float) * (size_t)plan->h : 0);
    /* A row of a large table comes from memory. */
    plan->grain = dtp_grain(20 + .05 * (double)plan->h);
    return dnnl_tp_success;
}

typedef struct {
    dtp_job_t job;
    bool clamps; /* some id is outside the table */
} gather_job_t;

static inline int64_t gather_id(const plan_t *plan, const void *ids, int64_t i) {
    return plan->wide ? ((const int64_t *)ids)[i * plan->id_stride]
                      : ((const int32_t *)ids)[i * plan->id_stride];
}

static const void *gather_ids(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_gather_desc_t *d = (const dtp_gather_desc_t *)pd->op;
    return (const char *)ctx->ptr[DTP_GATHER_IDS] + d->ids.offset0 * (int64_t)dtp_type_size(d->ids.data_type);
}

static void gather_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const gather_job_t *gather = arg;
    const dtp_job_t *j = &gather->job;
    const plan_t *plan = j->pd->plan;
    const dtp_gather_desc_t *d = (const dtp_gather_desc_t *)j->pd->op;
    const void *ids = gather_ids(j->pd, j->ctx);
    int64_t size = (int64_t)dtp_type_size(d->table.data_type);
    const char *table = (const char *)j->ctx->ptr[DTP_GATHER_TABLE] + d->table.offset0 * size;
    const int64_t dst_size = (int64_t)dtp_type_size(d->dst.data_type);
    char *dst = (char *)j->ctx->ptr[DTP_GATHER_DST] + d->dst.offset0 * dst_size;
    dtp_load_fn_t load = plan->vops->load[d->table.data_type];
    for (int64_t i = begin; i < end; ++i) {
        int64_t id = gather_id(plan, ids, i);
        char *to = dst + i * plan->ld_dst * dst_size;
        float *y = (float *)(void *)to;
        if (DTP_UNLIKELY(gather->clamps)) {
            id = dtp_max64(0, dtp_min64(id, plan->vocabulary - 1));
            if (plan->vocabulary == 0) {
                memset(to, 0, (size_t)(plan->h * dst_size));
                continue;
            }
        }
        const char *row = table + id * plan->ld_table * size;
        if (!plan->add && plan->moves) {
            memcpy(to, row, (size_t)(plan->h * size));
            continue;
        }
        if (!plan->add && d->dst.data_type == dnnl_tp_f32) {
            load(y, row, plan->h, 1);
            continue;
        }
        const float *x = (const float *)(const void *)row;
        if (d->table.data_type != dnnl_tp_f32) {
            float *room = (float *)(void *)dtp_scratch_slot(j->pd, j->ctx, slot);
            load(room, row, plan->h, 1);
            x = room;
        }
        if (!plan->add) {
            plan->vops->store[d->dst.data_type](to, x, plan->h, 1);
            continue;
        }
        /* sum: dst = new value + scale * old dst. */
        if (plan->scale != 1.f) plan->vops->scale_shift(y, plan->h, plan->scale, 0.f);
        plan->vops->axpy(y, plan->h, x, plan->h, 1, plan->h, 1.f, 0.f);
    }
}

static dnnl_tp_status_t gather_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *plan = pd->plan;
    const void *ids = gather_ids(pd, ctx);
    int64_t n = ctx->rows >= 0 ? ctx->rows : plan->n;
    gather_job_t job = {{pd, ctx}, false};
    for (int64_t i = 0; i < n && !job.clamps; ++i) {
        int64_t id = gather_id(plan, ids, i);
        if (DTP_LIKELY(id >= 0 && id < plan->vocabulary)) continue;
        DTP_TRY(dtp_data_wrong(ctx, DTP_DATA_ID, i, id, plan->vocabulary));
        job.clamps = true;
    }
    dtp_parallel_for(ctx->par, n, plan->grain, gather_rows, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS(gather, "simd", .flags = DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = gather_init,
              .execute = gather_execute);
DTP_CPU_REFERENCE(gather, DTP_IMPL_ROWS, .plan_size = sizeof(plan_t), .pd_init = gather_init,
                  .execute = gather_execute);
