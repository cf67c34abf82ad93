/* See move.h. */
#include "gpu/reorder/move.h"

#include <stdio.h>

enum { THREADS = 256, WORD = 4 };
enum { SHORT = 16 }; /* dimensions so short are not worth a tile of transposition */

/* Joins dimensions over all tensors, in the order of dst. */
static dnnl_tp_status_t walk(dtp_move_args_t *a, const dtp_gpu_move_problem_t *p) {
    dtp_md_t quant[DTP_MOVE_QUANTS];
    dtp_gpu_operand_t operand[2 + DTP_MOVE_QUANTS] = {{p->src, a->src.stride}, {p->dst, a->dst.stride}};
    int n = 2;
    for (int i = 0; i < DTP_MOVE_QUANTS; ++i) {
        if (!p->quant[i]) continue;
        DTP_DISPATCH(p->quant[i]->group_ndims == 0 && dtp_gpu_takes(p->quant[i]->data_type),
                     UNSUPPORTED_SCALES);
        DTP_DISPATCH(p->quant[i]->mask >> p->dst->ndims == 0, UNSUPPORTED_SCALES);
        dtp_md_init_masked(&quant[i], p->dst->ndims, p->dst->dims, p->quant[i]->mask);
        operand[n++] = (dtp_gpu_operand_t){&quant[i], a->quant[i].stride};
        a->quant[i].type = (int32_t)p->quant[i]->data_type;
        a->has_quants = 1;
    }
    const dtp_gpu_order_t order = dtp_gpu_order_of(p->dst);
    a->src.type = (int32_t)p->src->data_type;
    a->dst.type = (int32_t)p->dst->data_type;
    return dtp_gpu_walk(&a->dims, p->dst, &order, operand, n);
}

static dnnl_tp_status_t init_sum(dtp_move_args_t *a, const dtp_gpu_move_problem_t *p) {
    if (!p->sum) return dnnl_tp_success;
    const dnnl_tp_data_type_t dst = p->dst->data_type;
    const dnnl_tp_data_type_t dt = p->sum->sum_dt == dnnl_tp_data_type_undef ? dst : p->sum->sum_dt;
    DTP_DISPATCH(dtp_gpu_takes(dt) && dtp_type_size(dt) == dtp_type_size(dst), UNSUPPORTED_DATA_TYPE);
    a->sum_type = (int32_t)dt;
    a->has_sum = a->has_quants = 1;
    a->sum_scale = p->sum->scale;
    a->sum_zero_point = (float)p->sum->zero_point;
    return dnnl_tp_success;
}

/* Rows of a transposition begin and end between words, if the tensors do. */
static bool are_words(const dtp_move_args_t *a, size_t size) {
    const int64_t pack = (int64_t)(WORD / size);
    if (a->dims.dim[0].size % pack != 0 || a->dims.dim[a->across].size % pack != 0) return false;
    for (int d = 0; d < a->dims.ndims; ++d)
        if ((a->src.stride[d] % pack != 0 && d != a->across) || (a->dst.stride[d] % pack != 0 && d != 0))
            return false;
    return true;
}

/* dst lies along dimension 0, src along another one. */
static bool init_transpose(dtp_gpu_move_t *move) {
    dtp_move_args_t *a = &move->args;
    if (a->dst.stride[0] != 1 || a->src.stride[0] == 1 || a->dims.dim[0].size < SHORT) return false;
    for (int d = 1; d < a->dims.ndims; ++d) {
        if (a->src.stride[d] != 1 || a->dims.dim[d].size < SHORT) continue;
        a->across = d;
        a->tiles_along = (int32_t)dtp_div_up(a->dims.dim[0].size, DTP_MOVE_TILE);
        a->tiles_across = (int32_t)dtp_div_up(a->dims.dim[d].size, DTP_MOVE_TILE);
        const int64_t batch = a->dims.n / ((int64_t)a->dims.dim[0].size * a->dims.dim[d].size);
        move->threads = batch * a->tiles_along * a->tiles_across * DTP_MOVE_TILE_THREADS;
        move->block = DTP_MOVE_TILE_THREADS;
        return move->threads / DTP_MOVE_TILE_THREADS <= INT32_MAX;
    }
    return false;
}

static bool is_linear(const dtp_move_args_t *a) {
    return dtp_gpu_is_linear(&a->dims, a->src.stride) && dtp_gpu_is_linear(&a->dims, a->dst.stride);
}

dnnl_tp_status_t dtp_gpu_move_init(dtp_gpu_move_t *move, const dtp_pd_t *pd,
                                   const dtp_gpu_move_problem_t *p) {
    dtp_move_args_t *a = &move->args;
    const size_t size = dtp_type_size(p->dst->data_type);
    DTP_TRY(walk(a, p));
    DTP_TRY(init_sum(a, p));
    const bool raw = p->src->data_type == p->dst->data_type && !a->has_quants;
    DTP_DISPATCH(raw || (dtp_gpu_takes(p->src->data_type) && dtp_gpu_takes(p->dst->data_type)),
                 UNSUPPORTED_DATA_TYPE);
    if (raw && is_linear(a)) {
        move->bytes = (size_t)a->dims.n * size;
        return dnnl_tp_success;
    }
    const bool transposes = !a->has_quants && (!raw || size <= sizeof(float)) && init_transpose(move);
    const bool src_runs = dtp_gpu_tensor_runs(&a->src, &a->dims),
               dst_runs = dtp_gpu_tensor_runs(&a->dst, &a->dims);
    const bool runs = !transposes && src_runs && dst_runs;
    a->words = transposes && raw && size < WORD && are_words(a, size);
    if (!transposes) {
        move->threads = dtp_div_up(a->dims.n, runs ? DTP_GPU_RUN : 1);
        move->block = THREADS;
    }
    const char *how = transposes ? "transpose" : runs ? "runs" : "each";
    char name[64];
    if (raw) (void)snprintf(name, sizeof name, "dtp_move_%s_%zu", how, size);
    else (void)snprintf(name, sizeof name, "dtp_convert_%s", how);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_reorder, name, 0, &move->kernel);
}

static void bind(dtp_gpu_tensor_t *t, const void *data) {
    t->data = (void *)(uintptr_t)data;
    t->aligned =
        t->aligned && dtp_gpu_is_aligned(data, DTP_GPU_RUN * dtp_type_size((dnnl_tp_data_type_t)t->type));
}

dnnl_tp_status_t dtp_gpu_move_execute(const dtp_gpu_move_t *move, const dtp_exec_ctx_t *ctx, const void *src,
                                      void *dst, const void *const quant[DTP_MOVE_QUANTS]) {
    if (!move->kernel)
        return src == dst ? dnnl_tp_success : dtp_gpu_copy(ctx, DTP_COPY_WITHIN, dst, src, move->bytes);
    dtp_move_args_t a = move->args;
    bind(&a.src, src);
    bind(&a.dst, dst);
    a.words = a.words && dtp_gpu_is_aligned(src, WORD) && dtp_gpu_is_aligned(dst, WORD);
    for (int i = 0; i < DTP_MOVE_QUANTS; ++i) a.quant[i].data = (void *)(uintptr_t)quant[i];
    return dtp_gpu_launch_threads(ctx, move->kernel, move->threads, move->block, &a);
}
