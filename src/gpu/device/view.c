/* Joined walks over plain tensors; see view.h. */
#include "gpu/device/view.h"

#include <stdio.h>

dtp_gpu_order_t dtp_gpu_order_logical(const dtp_md_t *md) {
    dtp_gpu_order_t order = {.n = md->ndims};
    for (int d = 0; d < md->ndims; ++d) order.dim[d] = d;
    return order;
}

dtp_gpu_order_t dtp_gpu_order_last(dtp_gpu_order_t order, int d) {
    int n = 0;
    for (int i = 0; i < order.n; ++i)
        if (order.dim[i] != d) order.dim[n++] = order.dim[i];
    order.dim[n] = d;
    return order;
}

dtp_gpu_order_t dtp_gpu_order_of(const dtp_md_t *md) {
    dtp_gpu_order_t order = dtp_gpu_order_logical(md);
    for (int i = 1; i < order.n; ++i) {
        const int d = order.dim[i];
        int at = i;
        for (; at > 0 && md->strides[order.dim[at - 1]] < md->strides[d]; --at)
            order.dim[at] = order.dim[at - 1];
        order.dim[at] = d;
    }
    return order;
}

void dtp_gpu_make_dense(dtp_md_t *md, const dtp_gpu_order_t *order) {
    int64_t stride = 1;
    dtp_md_make_plain(md);
    for (int i = order->n - 1; i >= 0; --i) {
        md->strides[order->dim[i]] = stride;
        stride *= dtp_max64(md->dims[order->dim[i]], 1);
    }
}

void dtp_gpu_layout_like(dtp_md_t *md, const dtp_md_t *like) {
    const dtp_gpu_order_t order = dtp_gpu_order_of(like);
    if (dtp_md_is_plain(like)) dtp_gpu_make_dense(md, &order);
    else dtp_md_make_plain(md);
}

static void resolve_like(dtp_md_t *md, const dtp_md_t *like) {
    if (!dtp_md_is_any(md)) return;
    if (dtp_md_same_dims(md, like)) dtp_gpu_layout_like(md, like);
    else dtp_md_make_plain(md);
}

void dtp_gpu_binary_resolve(dtp_binary_desc_t *d) {
    const bool from_src1 =
        dtp_md_is_any(&d->dst) && !dtp_md_same_dims(&d->dst, &d->src0) && !dtp_md_is_any(&d->src1);
    resolve_like(&d->dst, from_src1 ? &d->src1 : &d->src0);
    resolve_like(&d->src1, &d->dst);
    if (!dtp_md_is_zero(&d->src2)) resolve_like(&d->src2, &d->dst);
}

dtp_gpu_dim_t dtp_gpu_dim(int64_t size) {
    dtp_gpu_dim_t dim = {.size = (uint32_t)size};
    while (INT64_C(1) << dim.shift < size) ++dim.shift;
    if (size == 0) return dim;
    /* 2^(bits - 1 + shift) / size, rounded up: below 2^bits, as 2^shift < 2 size. */
    const unsigned __int128 one = 1, n = (unsigned __int128)size;
    dim.multiplier = (uint32_t)(((one << (31 + dim.shift)) + n - 1) / n);
    dim.wide_multiplier = (uint64_t)(((one << (63 + dim.shift)) + n - 1) / n);
    return dim;
}

/* Dimensions while they are joined, innermost first. */
typedef struct {
    int n;
    int64_t size[DNNL_TP_MAX_NDIMS], stride[DNNL_TP_MAX_NDIMS][DTP_GPU_OPERANDS];
} joined_t;

static int64_t stride_of(const dtp_md_t *md, int d) { return md->dims[d] == 1 ? 0 : md->strides[d]; }

/* Dimension d lies around the outermost one of j in every operand. */
static bool joins(const joined_t *j, int d, int64_t size, const dtp_gpu_operand_t *operand, int n) {
    if (j->n == 0 || j->size[j->n - 1] * size > INT32_MAX) return false;
    for (int i = 0; i < n; ++i)
        if (stride_of(operand[i].md, d) != j->stride[j->n - 1][i] * j->size[j->n - 1]) return false;
    return true;
}

static void join(joined_t *j, const dtp_md_t *shape, const dtp_gpu_order_t *order,
                 const dtp_gpu_operand_t *operand, int n) {
    for (int at = order->n - 1; at >= 0; --at) {
        const int d = order->dim[at];
        if (shape->dims[d] == 1) continue;
        if (joins(j, d, shape->dims[d], operand, n)) {
            j->size[j->n - 1] *= shape->dims[d];
            continue;
        }
        j->size[j->n] = shape->dims[d];
        for (int i = 0; i < n; ++i) j->stride[j->n][i] = stride_of(operand[i].md, d);
        ++j->n;
    }
}

dnnl_tp_status_t dtp_gpu_walk(dtp_gpu_dims_t *dims, const dtp_md_t *shape, const dtp_gpu_order_t *order,
                              const dtp_gpu_operand_t *operand, int n) {
    joined_t j = {0};
    DTP_DISPATCH(n <= DTP_GPU_OPERANDS, UNSUPPORTED_POST_OPS);
    for (int i = 0; i < n; ++i) {
        DTP_DISPATCH(!dtp_md_has_runtime(operand[i].md), UNSUPPORTED_RUNTIME_DIMS);
        DTP_DISPATCH(dtp_md_is_plain(operand[i].md), UNSUPPORTED_LAYOUT);
    }
    join(&j, shape, order, operand, n);
    DTP_DISPATCH(j.n <= DTP_GPU_DIMS, UNSUPPORTED_LAYOUT);
    dims->n = 1;
    dims->ndims = j.n ? j.n : 1;
    for (int d = 0; d < DTP_GPU_DIMS; ++d) {
        const int64_t size = d < j.n ? j.size[d] : 1;
        DTP_DISPATCH(size <= INT32_MAX, UNSUPPORTED_SHAPE);
        dims->dim[d] = dtp_gpu_dim(size);
        dims->n *= size;
        for (int i = 0; i < n; ++i) operand[i].stride[d] = d < j.n ? j.stride[d][i] : 0;
    }
    dims->wide = dims->n > INT32_MAX;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gpu_lines_init(dtp_gpu_lines_t *lines, const dtp_pd_t *pd, const dtp_md_t *src,
                                    const dtp_md_t *dst) {
    DTP_DISPATCH(src->ndims == 3 && dst->ndims == 3, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(dtp_md_is_dense_row_major(src) && dtp_md_is_dense_row_major(dst), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    *lines = (dtp_gpu_lines_t){src->dims[1], src->dims[2], src->dims[0] * src->dims[2]};
    return dnnl_tp_success;
}

void *dtp_gpu_data(const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md) {
    char *data = ctx->ptr[arg];
    return data ? data + md->offset0 * (int64_t)dtp_type_size(md->data_type) : NULL;
}

void dtp_gpu_bind_runs(dtp_gpu_tensor_t *tensor, const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md,
                       int64_t n) {
    tensor->data = dtp_gpu_data(ctx, arg, md);
    tensor->type = (int32_t)md->data_type;
    tensor->aligned =
        tensor->aligned && dtp_gpu_is_aligned(tensor->data, (size_t)n * dtp_type_size(md->data_type));
}
void dtp_gpu_bind(dtp_gpu_tensor_t *tensor, const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md) {
    dtp_gpu_bind_runs(tensor, ctx, arg, md, DTP_GPU_RUN);
}

bool dtp_gpu_is_linear(const dtp_gpu_dims_t *dims, const int64_t *stride) {
    int64_t step = 1;
    for (int d = 0; d < dims->ndims; ++d) {
        if (dims->dim[d].size != 1 && stride[d] != step) return false;
        step *= dims->dim[d].size;
    }
    return true;
}

bool dtp_gpu_has_runs(const dtp_gpu_dims_t *dims, const int64_t *stride, int64_t n) {
    if (stride[0] > 1 && dims->dim[0].size > 1) return false;
    if (dims->ndims > 1 && dims->dim[0].size % n != 0) return false;
    for (int d = 1; d < dims->ndims; ++d)
        if (stride[d] % n != 0 && stride[0] != 0) return false;
    return true;
}

bool dtp_gpu_tensor_has_runs(dtp_gpu_tensor_t *tensor, const dtp_gpu_dims_t *dims, int64_t n) {
    const bool runs = dtp_gpu_has_runs(dims, tensor->stride, n);
    tensor->aligned = runs && tensor->stride[0] == 1;
    return runs;
}
bool dtp_gpu_tensor_runs(dtp_gpu_tensor_t *tensor, const dtp_gpu_dims_t *dims) {
    return dtp_gpu_tensor_has_runs(tensor, dims, DTP_GPU_RUN);
}

dnnl_tp_status_t dtp_gpu_kernel_of(const dtp_pd_t *pd, dtp_gpu_module_t module, const char *stem,
                                   dnnl_tp_data_type_t type, dtp_cu_function_t *kernel) {
    char name[64];
    DTP_DISPATCH(type == dnnl_tp_f32 || type == dnnl_tp_bf16 || type == dnnl_tp_f16, UNSUPPORTED_DATA_TYPE);
    snprintf(name, sizeof name, "%s_%s", stem, dnnl_tp_dt2str(type));
    return dtp_gpu_kernel(pd, module, name, 0, kernel);
}

dnnl_tp_status_t dtp_gpu_scale_init(const dtp_pd_t *pd, int arg) {
    const dtp_quant_t *scale = dtp_attr_scale(pd->attr, arg);
    DTP_DISPATCH(!scale || scale->mask == 0, UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

dtp_gpu_scale_t dtp_gpu_scale(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int arg) {
    const dtp_quant_t *scale = dtp_attr_scale(pd->attr, arg);
    if (!scale) return (dtp_gpu_scale_t){NULL, 0};
    return (dtp_gpu_scale_t){ctx->ptr[dtp_pd_scale_index(pd, arg)], (int64_t)scale->data_type};
}
