/* Kernels: functions with which the host half of a kind (src/gpu/<kind>/<kind>.c) finds and
 * launches its device half (<kind>.cu).
 *
 * Each .cu is a module, embedded as a fatbin, and loaded for a device by the first creation that
 * needs one of its kernels. A kernel has one parameter, a struct by value that both halves include
 * (<kind>_args.h: fixed-width integers, floats, pointers, at most DTP_GPU_MAX_ARGS bytes). Creation
 * does all slow work; a launch takes no lock and allocates nothing. */
#ifndef DTP_GPU_ENGINE_KERNELS_H
#define DTP_GPU_ENGINE_KERNELS_H

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_abi.h"

enum { DTP_GPU_MAX_ARGS = 4096 };

/* The modules of this build, by the name of their .cu. */
typedef enum {
#define DTP_GPU_MODULE(name) DTP_GPU_MODULE_##name,
#include "gpu/engine/modules.inc"
    DTP_GPU_MODULES
} dtp_gpu_module_t;

/* For pd_init: gives the kernel `name` of a module on the engine's device, which may use
 * shared_bytes of dynamic shared memory. unimplemented, with the reason: this build has no kernels,
 * or the device cannot run it. Thread-safe. */
dnnl_tp_status_t dtp_gpu_kernel(const dtp_pd_t *pd, dtp_gpu_module_t module, const char *name,
                                size_t shared_bytes, dtp_cu_function_t *kernel);

/* For execute: submits kernel to the stream of ctx. Grids of 0 blocks do nothing. args: the
 * kernel's struct; copied. */
typedef struct {
    uint32_t grid[3], block[3]; /* 0 counts as 1, except in grid[0] */
    uint32_t shared_bytes;      /* dynamic */
} dtp_gpu_shape_t;
dnnl_tp_status_t dtp_gpu_launch(const dtp_exec_ctx_t *ctx, dtp_cu_function_t kernel,
                                const dtp_gpu_shape_t *shape, const void *args);
/* The same for so many threads in one dimension, in blocks of `block`; at most the threads of one
 * grid. */
dnnl_tp_status_t dtp_gpu_launch_threads(const dtp_exec_ctx_t *ctx, dtp_cu_function_t kernel, int64_t threads,
                                        uint32_t block, const void *args);
/* Copies on the stream of ctx; within the device, from the host, or to it. */
dnnl_tp_status_t dtp_gpu_copy(const dtp_exec_ctx_t *ctx, dtp_copy_t how, void *to, const void *from,
                              size_t bytes);

/* Properties of the device, for choices in pd_init. */
typedef struct {
    int multiprocessors, capability; /* 90: compute capability 9.0 */
    int64_t l2_bytes, shared_bytes;  /* second-level cache; limit of shared memory of a block */
} dtp_gpu_device_t;
const dtp_gpu_device_t *dtp_gpu_device(const dtp_pd_t *pd);
/* Whether f32 operands of products may be rounded to tf32. */
bool dtp_gpu_allows_tf32(const dtp_pd_t *pd);

/* Defines the implementation dtp_gpu_<impl>: its name, "cuda:<what>", then the other members by
 * name. Remove the note after all of them have run on a machine with a GPU
 * (doc/howto/first_gpu.md). */
#define DTP_GPU_IMPL(impl, name_, ...) \
    const dtp_impl_t dtp_gpu_##impl = {.name = name_, .note = "never run on hardware", __VA_ARGS__}
/* The list of a kind, fastest first: DTP_GPU_LIST(softmax, &dtp_gpu_softmax_rows,
 * &dtp_gpu_softmax_any); a kind without a list in lists.inc is refused by name. */
#define DTP_GPU_LIST(kind, ...) const dtp_impl_t *const dtp_gpu_##kind##_list[] = {__VA_ARGS__, NULL}

#endif
