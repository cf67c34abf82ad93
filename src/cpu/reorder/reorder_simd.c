/* Reorder as an element-wise program: any layouts with common boxes, all types and attributes.
 *
 * Formula: dst = round((src - zp_src) * scale_src [+ sum] / scale_dst + zp_dst). Without attributes and with
 * equal types it moves bytes: runs, or transposed squares (cpu/elementwise/move.h). With run-time dims the program is
 * made at execution, in booked scratch. */
#include "cpu/elementwise/program.h"
#include "cpu/reorder/reorder.h"

/* Tiles of at most so many elements are tiny, and so many elements in all pay a second step. */
#define SMALL_TILE 256
#define WORTH_TWO_STEPS 1024

typedef struct {
    bool two_steps;
    dtp_md_t between; /* dst's type, source's order */
    dtp_program_t program;
    dtp_program_t second;
} reorder_plan_t;

static size_t reorder_used(const void *plan) {
    const reorder_plan_t *p = plan;
    return p->two_steps ? offsetof(reorder_plan_t, second) + dtp_program_used(&p->second)
                        : offsetof(reorder_plan_t, program) + dtp_program_used(&p->program);
}

/* Quantization vectors of an execution and the descriptors by operand. */
typedef struct {
    dtp_md_t quant[4];
    const dtp_md_t *md[DTP_BOXES_OPS];
} reorder_mds_t;

static bool add_quant(dtp_program_t *m, reorder_mds_t *mds, int slot, const dtp_quant_t *q, int arg,
                      const dtp_md_t *dst, dnnl_tp_alg_kind_t alg) {
    if (!q) return true;
    int o = dtp_program_operand(m, q->data_type, arg);
    if (o < 0) return false;
    dtp_md_init_masked(&mds->quant[slot], dst->ndims, dst->dims, q->mask);
    mds->md[o] = &mds->quant[slot];
    return dtp_program_binary(m, DTP_PROGRAM_ACC, m->nsteps ? DTP_PROGRAM_ACC : 1, o, -1, alg);
}

static bool make_program(dtp_program_t *m, const dtp_pd_t *pd, const dtp_md_t *src, const dtp_md_t *dst) {
    const dtp_attr_t *attr = pd->attr;
    reorder_mds_t mds = {.md = {dst, src}};
    dtp_program_begin(m, dtp_pd_isa(pd), dst->data_type, DTP_REORDER_DST, src->data_type, DTP_REORDER_SRC);
    if (!add_quant(m, &mds, 0, dtp_attr_zero_point(attr, DNNL_TP_ARG_SRC),
                   dtp_pd_zero_point_index(pd, DNNL_TP_ARG_SRC), dst, dnnl_tp_binary_sub) ||
        !add_quant(m, &mds, 1, dtp_attr_scale(attr, DNNL_TP_ARG_SRC), dtp_pd_scale_index(pd, DNNL_TP_ARG_SRC),
                   dst, dnnl_tp_binary_mul))
        return false;
    if (attr->post_ops->len > 0) {
        const dtp_post_op_t *p = &attr->post_ops->entry[0];
        if (!dtp_program_sum(m, p->scale, (float)p->zero_point, p->sum_dt)) return false;
    }
    if (!add_quant(m, &mds, 2, dtp_attr_scale(attr, DNNL_TP_ARG_DST), dtp_pd_scale_index(pd, DNNL_TP_ARG_DST),
                   dst, dnnl_tp_binary_div) ||
        !add_quant(m, &mds, 3, dtp_attr_zero_point(attr, DNNL_TP_ARG_DST),
                   dtp_pd_zero_point_index(pd, DNNL_TP_ARG_DST), dst, dnnl_tp_binary_add))
        return false;
    return dtp_program_cut(m, pd, mds.md, true);
}

/* Elements of the first box's tiles. */
static int64_t tile_elems(const dtp_program_t *m) {
    return m->nboxes > 0 ? m->box[0].rows * m->box[0].cols : INT64_MAX;
}

static bool make_two_steps(reorder_plan_t *plan, const dtp_pd_t *pd) {
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)pd->op;
    dtp_md_t *mid = &plan->between;
    if (plan->program.moves_bytes || pd->attr->post_ops->len > 0 || op->dst.inner_nblks < 2 ||
        op->src.inner_nblks > 0)
        return false;
    if (tile_elems(&plan->program) > SMALL_TILE || dtp_md_nelems(&op->dst) < WORTH_TWO_STEPS) return false;
    memset(mid, 0, sizeof(*mid));
    mid->ndims = op->dst.ndims;
    mid->data_type = op->dst.data_type;
    memcpy(mid->dims, op->dst.dims, sizeof(mid->dims));
    dtp_boxes_layout_like(mid, &op->src);
    dtp_program_t *m = &plan->second;
    const dtp_md_t *md[] = {&op->dst, mid};
    dtp_program_begin(m, dtp_pd_isa(pd), op->dst.data_type, DTP_REORDER_DST, mid->data_type, -1);
    return dtp_program_cut(m, pd, md, true) && make_program(&plan->program, pd, &op->src, mid);
}

static dnnl_tp_status_t reorder_pd_init(dtp_pd_t *pd) {
    const dtp_reorder_desc_t *op = (const dtp_reorder_desc_t *)pd->op;
    reorder_plan_t *plan = pd->plan;
    DTP_TRY(dtp_reorder_check(pd));
    if (pd->has_runtime) {
        /* All that may be needed: src, dst, four vectors, two more buffers. Blocks are known, so a box
         * exists unless they do not divide each other; that is tested with dims of one. */
        dtp_md_t src = op->src, dst = op->dst;
        for (int d = 0; d < dst.ndims; ++d) {
            src.dims[d] = dst.dims[d] = 1;
            src.strides[d] = dst.strides[d] = 0;
            src.padded_dims[d] = dtp_md_block_of(&src, d);
            dst.padded_dims[d] = dtp_md_block_of(&dst, d);
        }
        DTP_DISPATCH(make_program(&plan->program, pd, &src, &dst), UNSUPPORTED_LAYOUT);
        dtp_pd_book(pd, sizeof(dtp_program_t),
                    (size_t)(plan->program.nops + 2) * DTP_PROGRAM_TILE * sizeof(float));
        return dnnl_tp_success;
    }
    DTP_DISPATCH(make_program(&plan->program, pd, &op->src, &op->dst), UNSUPPORTED_LAYOUT);
    plan->two_steps = make_two_steps(plan, pd);
    dtp_pd_book(pd, plan->two_steps ? dtp_md_size(&plan->between) : 0,
                dtp_program_slot_bytes(&plan->program));
    return dnnl_tp_success;
}

static dnnl_tp_status_t reorder_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const reorder_plan_t *plan = pd->plan;
    const dtp_program_t *program = &plan->program;
    const dtp_md_t *dst = &((const dtp_reorder_desc_t *)pd->op)->dst;
    if (DTP_UNLIKELY(pd->has_runtime)) {
        const dtp_md_t *src;
        dtp_program_t *made = (dtp_program_t *)(void *)ctx->scratch;
        DTP_TRY(dtp_reorder_actual(pd, ctx, &src, &dst));
        if (!make_program(made, pd, src, dst))
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_LAYOUT, "layouts of this execution");
        program = made;
    }
    char *ptr[DTP_BOXES_OPS];
    for (int o = 0; o < program->nops; ++o) ptr[o] = ctx->ptr[program->arg[o]];
    if (plan->two_steps) ptr[0] = ctx->scratch;
    dtp_program_run(program, ctx->par, ptr, ctx->scratch + pd->scratch_shared, pd->scratch_per_slot);
    if (plan->two_steps) {
        char *const second[] = {ctx->ptr[DTP_REORDER_DST], ctx->scratch};
        dtp_program_run(&plan->second, ctx->par, second, NULL, 0);
    }
    if (DTP_UNLIKELY(dst->extra.flags)) dtp_reorder_compensate(ctx, dst);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(reorder, "simd", .flags = DTP_IMPL_IN_PLACE, .plan_size = sizeof(reorder_plan_t),
                      .plan_head = offsetof(reorder_plan_t, program) + DTP_PROGRAM_HEAD,
                      .plan_used = reorder_used, .pd_init = reorder_pd_init, .execute = reorder_execute);
