/* Host half of walks: dimensions of several tensors, joined, with the strides of each
 * (device/args.h).
 *
 * Tensors broadcast to a shape: a dimension is the shape's or 1. Layouts are plain; others are
 * refused. */
#ifndef DTP_GPU_DEVICE_VIEW_H
#define DTP_GPU_DEVICE_VIEW_H

#include "common/problems/binary.h"
#include "gpu/device/args.h"
#include "gpu/engine/kernels.h"

/* The order in which a linear index walks the dimensions of a shape, outermost first. */
typedef struct {
    int n;
    int dim[DNNL_TP_MAX_NDIMS];
} dtp_gpu_order_t;
/* Row-major. */
dtp_gpu_order_t dtp_gpu_order_logical(const dtp_md_t *md);
/* The order of the elements of md in memory. */
dtp_gpu_order_t dtp_gpu_order_of(const dtp_md_t *md);
/* The same with dimension d moved to the end. */
dtp_gpu_order_t dtp_gpu_order_last(dtp_gpu_order_t order, int d);
/* Resolves md, of format any and the dims of `like` or 1, to like's order of dimensions, dense;
 * plain where like is not. */
void dtp_gpu_layout_like(dtp_md_t *md, const dtp_md_t *like);
/* Resolves layout `any` of a binary operation, as on the CPU: dst follows the source that has its
 * dimensions; sources follow dst if they have its dimensions, and are plain otherwise. */
void dtp_gpu_binary_resolve(dtp_binary_desc_t *d);
/* Gives md, whose dimensions and type are set, the dense layout of that order. */
void dtp_gpu_make_dense(dtp_md_t *md, const dtp_gpu_order_t *order);
/* The first n dimensions of an order. */
static inline dtp_gpu_order_t dtp_gpu_order_first(dtp_gpu_order_t order, int n) {
    order.n = n;
    return order;
}

enum { DTP_GPU_OPERANDS = 2 * DTP_GPU_STEPS };
typedef struct {
    const dtp_md_t *md;
    int64_t *stride; /* DTP_GPU_DIMS entries, which are written */
} dtp_gpu_operand_t;

/* Fills dims with those of `shape` in this order, and the strides of the operands. Unimplemented: a
 * layout that is not plain, more than DTP_GPU_DIMS dimensions after joining. Called by pd_init. */
dnnl_tp_status_t dtp_gpu_walk(dtp_gpu_dims_t *dims, const dtp_md_t *shape, const dtp_gpu_order_t *order,
                              const dtp_gpu_operand_t *operand, int n);
/* A single dimension, for kernels that decode their own indices. */
dtp_gpu_dim_t dtp_gpu_dim(int64_t size);

/* Lines of src and dst, {outer, n, inner}, which are dense; n may be another one in dst. No
 * attributes. Called by pd_init. */
dnnl_tp_status_t dtp_gpu_lines_init(dtp_gpu_lines_t *lines, const dtp_pd_t *pd, const dtp_md_t *src,
                                    const dtp_md_t *dst);

/* Sets the memory of a tensor whose type and strides pd_init has set. */
void dtp_gpu_bind(dtp_gpu_tensor_t *tensor, const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md);
/* The same for runs of n elements instead of DTP_GPU_RUN (dtp_gpu_tensor_has_runs). */
void dtp_gpu_bind_runs(dtp_gpu_tensor_t *tensor, const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md,
                       int64_t n);
/* The pointer only: element 0 of md. */
void *dtp_gpu_data(const dtp_exec_ctx_t *ctx, int arg, const dtp_md_t *md);
/* Whether the linear index is the offset: the elements are contiguous in the order of dims. */
bool dtp_gpu_is_linear(const dtp_gpu_dims_t *dims, const int64_t *stride);
/* Whether runs of n elements along the innermost of dims, at multiples of n, are contiguous in
 * memory (or are one value) and aligned to their size, if element 0 is. n: a power of two. */
bool dtp_gpu_has_runs(const dtp_gpu_dims_t *dims, const int64_t *stride, int64_t n);
/* The same for a tensor; sets tensor->aligned. The second function is for runs of DTP_GPU_RUN
 * elements. */
bool dtp_gpu_tensor_has_runs(dtp_gpu_tensor_t *tensor, const dtp_gpu_dims_t *dims, int64_t n);
bool dtp_gpu_tensor_runs(dtp_gpu_tensor_t *tensor, const dtp_gpu_dims_t *dims);
static inline bool dtp_gpu_is_aligned(const void *data, size_t bytes) { return (uintptr_t)data % bytes == 0; }

/* The instance <stem>_f32, <stem>_bf16 or <stem>_f16 of a kernel; UNSUPPORTED_DATA_TYPE for other
 * types. */
dnnl_tp_status_t dtp_gpu_kernel_of(const dtp_pd_t *pd, dtp_gpu_module_t module, const char *stem,
                                   dnnl_tp_data_type_t type, dtp_cu_function_t *kernel);

/* Common scales (mask 0). dtp_gpu_scale_init, for pd_init, refuses others with UNSUPPORTED_SCALES.
 */
dnnl_tp_status_t dtp_gpu_scale_init(const dtp_pd_t *pd, int arg);
dtp_gpu_scale_t dtp_gpu_scale(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int arg);

#endif
