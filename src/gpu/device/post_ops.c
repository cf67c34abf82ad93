/* Post-operations for kernels; see post_ops.h. */
#include "gpu/device/post_ops.h"

static void resolve_any(dtp_md_t *md, const dtp_md_t *dst) {
    if (!dtp_md_is_any(md)) return;
    int wide = 0;
    for (int d = 0; d < md->ndims; ++d) wide += md->dims[d] != 1;
    if (wide > 1 && dtp_md_same_dims(md, dst)) dtp_md_copy_layout(md, dst);
    else dtp_md_make_plain(md);
}

static dtp_gpu_step_t *add_step(dtp_gpu_post_ops_t *po, dtp_gpu_step_kind_t kind, int function) {
    const int at = po->chain.len++;
    po->arg[at] = -1;
    po->chain.step[at].kind = (uint8_t)kind;
    po->chain.step[at].function = (uint8_t)function;
    return &po->chain.step[at];
}

void dtp_gpu_post_ops_unary(dtp_gpu_post_ops_t *po, dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    dtp_gpu_step_t *step = add_step(po, DTP_GPU_UNARY, dtp_ew_unary((int)alg));
    step->a = alpha;
    step->b = beta;
}

static dtp_gpu_step_t *add_tensor(dtp_gpu_post_ops_t *po, dtp_gpu_step_kind_t kind, int function, int arg,
                                  const dtp_md_t *md) {
    dtp_gpu_step_t *step = add_step(po, kind, function);
    step->type = (uint8_t)md->data_type;
    po->arg[po->chain.len - 1] = arg;
    po->chain.tensors = 1;
    return step;
}

static dnnl_tp_status_t add_source(dtp_gpu_post_ops_t *po, dtp_gpu_step_kind_t kind, int alg, int arg,
                                   dtp_md_t *md, const dtp_md_t *dst) {
    DTP_DISPATCH(dtp_gpu_takes(md->data_type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(md->ndims == dst->ndims, UNSUPPORTED_POST_OPS);
    resolve_any(md, dst);
    (void)add_tensor(po, kind, dtp_ew_binary(alg), arg, md);
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_sum(dtp_gpu_post_ops_t *po, const dtp_post_op_t *e, int dst_arg,
                                const dtp_md_t *dst) {
    const dnnl_tp_data_type_t dt = e->sum_dt == dnnl_tp_data_type_undef ? dst->data_type : e->sum_dt;
    DTP_DISPATCH(dtp_gpu_takes(dt) && dtp_type_size(dt) == dtp_type_size(dst->data_type),
                 UNSUPPORTED_DATA_TYPE);
    dtp_gpu_step_t *step = add_tensor(po, DTP_GPU_SUM, 0, dst_arg, dst);
    step->type = (uint8_t)dt;
    step->a = e->scale;
    step->b = (float)e->zero_point;
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_post_op(dtp_gpu_post_ops_t *po, dtp_pd_t *pd, int i, int dst_arg,
                                    const dtp_md_t *dst) {
    dtp_post_op_t *e = &pd->attr->post_ops->entry[i];
    const int arg = pd->post_op_arg + 2 * i;
    const bool select = e->kind == dnnl_tp_binary && e->alg == dnnl_tp_binary_select;
    DTP_DISPATCH(po->chain.len + 1 + select <= DTP_GPU_STEPS, UNSUPPORTED_POST_OPS);
    switch (e->kind) {
    case dnnl_tp_eltwise: dtp_gpu_post_ops_unary(po, e->alg, e->alpha, e->beta); return dnnl_tp_success;
    case dnnl_tp_sum: return add_sum(po, e, dst_arg, dst);
    case dnnl_tp_prelu: return add_source(po, DTP_GPU_BINARY, DTP_ALG_prelu, arg, &e->src1, dst);
    case dnnl_tp_binary:
        DTP_TRY(add_source(po, select ? DTP_GPU_SELECT : DTP_GPU_BINARY, (int)e->alg, arg, &e->src1, dst));
        return select ? add_source(po, DTP_GPU_SELECT, (int)e->alg, arg + 1, &e->src2, dst) : dnnl_tp_success;
    default: return dtp_refuse(DTP_UNSUPPORTED_POST_OPS);
    }
}

/* Walks the tensors of a chain together: of po, or a copy. md: of an execution, or NULL. */
static dnnl_tp_status_t walk(dtp_gpu_post_ops_t *po, dtp_gpu_chain_t *chain, const dtp_pd_t *pd,
                             const dtp_md_t *const *md, const dtp_md_t *dst, const dtp_gpu_order_t *order) {
    int64_t stride[DTP_GPU_STEPS][DTP_GPU_DIMS];
    dtp_gpu_operand_t operand[DTP_GPU_STEPS];
    int n = 0;
    for (int i = 0; i < chain->len; ++i)
        if (po->arg[i] >= 0) operand[n++] = (dtp_gpu_operand_t){dtp_pd_arg_md(pd, md, po->arg[i]), stride[i]};
    DTP_TRY(dtp_gpu_walk(&chain->dims, dst, order, operand, n));
    po->has_runs = true;
    for (int i = 0; i < chain->len; ++i) {
        if (po->arg[i] < 0) continue;
        for (int d = 0; d < DTP_GPU_DIMS; ++d) {
            DTP_DISPATCH(stride[i][d] <= INT32_MAX, UNSUPPORTED_SHAPE);
            chain->step[i].stride[d] = (int32_t)stride[i][d];
        }
        const bool runs = dtp_gpu_has_runs(&chain->dims, stride[i], DTP_GPU_MAX_RUN);
        chain->step[i].aligned = runs && stride[i][0] == 1;
        po->has_runs &= runs;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gpu_post_ops_init(dtp_gpu_post_ops_t *po, dtp_pd_t *pd, int dst_arg, const dtp_md_t *dst,
                                       const dtp_gpu_order_t *order) {
    for (int i = 0; i < pd->attr->post_ops->len; ++i) DTP_TRY(add_post_op(po, pd, i, dst_arg, dst));
    return pd->has_runtime ? dnnl_tp_success : walk(po, &po->chain, pd, NULL, dst, order);
}

dnnl_tp_status_t dtp_gpu_post_ops_actual(dtp_gpu_post_ops_t *to, dtp_gpu_chain_t *chain,
                                         const dtp_gpu_post_ops_t *po, const dtp_pd_t *pd,
                                         const dtp_md_t *const *md, const dtp_md_t *dst,
                                         const dtp_gpu_order_t *order) {
    chain->len = po->chain.len;
    chain->tensors = po->chain.tensors;
    for (int i = 0; i < chain->len; ++i) {
        chain->step[i] = po->chain.step[i];
        to->arg[i] = po->arg[i];
    }
    to->has_runs = true;
    return chain->tensors ? walk(to, chain, pd, md, dst, order) : dnnl_tp_success;
}

void dtp_gpu_post_ops_bind(dtp_gpu_chain_t *chain, const dtp_gpu_post_ops_t *po, const dtp_pd_t *pd,
                           const dtp_exec_ctx_t *ctx) {
    for (int i = 0; i < chain->len; ++i) {
        if (po->arg[i] < 0) continue;
        dtp_gpu_step_t *step = &chain->step[i];
        step->data = dtp_gpu_data(ctx, po->arg[i], dtp_pd_arg_md(pd, ctx->md, po->arg[i]));
        step->aligned =
            step->aligned &&
            dtp_gpu_is_aligned(step->data, DTP_GPU_RUN * dtp_type_size((dnnl_tp_data_type_t)step->type));
    }
}
