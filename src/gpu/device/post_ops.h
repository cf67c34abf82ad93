/* Host half of post-operations: compiles pd->attr's chain for kernels (dtp_gpu_chain_t of device/args.h).
 *
 * A plan embeds a dtp_gpu_post_ops_t; pd_init calls dtp_gpu_post_ops_init, execute copies the chain into the arguments of the
 * kernel and binds it there. */
#ifndef DTP_GPU_DEVICE_POST_OPS_H
#define DTP_GPU_DEVICE_POST_OPS_H

#include "gpu/device/view.h"

typedef struct {
    dtp_gpu_chain_t chain;
    int arg[DTP_GPU_STEPS]; /* dense index of a step's tensor; -1: it has none */
    bool has_runs; /* every tensor of the chain has runs of DTP_GPU_MAX_RUN elements (dtp_gpu_has_runs) */
} dtp_gpu_post_ops_t;

/* Elements that a thread of a vector kernel has at most. */
enum { DTP_GPU_MAX_RUN = 8 };

/* Puts a function of one element in front; before dtp_gpu_post_ops_init, in a zeroed struct. */
void dtp_gpu_post_ops_unary(dtp_gpu_post_ops_t *po, dnnl_tp_alg_kind_t alg, float alpha, float beta);
/* Compiles the chain on the destination with that dense index. dst: its resolved descriptor, of pd; order: of the kernel's
 * linear index. Resolves `any` of sources as the CPU does. Unimplemented, with a reason: too many steps, types and layouts that
 * kernels do not read. With run-time dims nothing that depends on dims is looked at. */
dnnl_tp_status_t dtp_gpu_post_ops_init(dtp_gpu_post_ops_t *po, dtp_pd_t *pd, int dst_arg, const dtp_md_t *dst,
                                       const dtp_gpu_order_t *order);
/* In execute, with run-time dims: writes the chain that pd_init compiled into `chain`, which is zero, and the rest into `to`, whose own chain
 * is left alone. md: of the execution, by dense index; dst: the actual one; order: of the kernel's linear index, used where the chain reads
 * tensors. */
dnnl_tp_status_t dtp_gpu_post_ops_actual(dtp_gpu_post_ops_t *to, dtp_gpu_chain_t *chain,
                                         const dtp_gpu_post_ops_t *po, const dtp_pd_t *pd,
                                         const dtp_md_t *const *md, const dtp_md_t *dst,
                                         const dtp_gpu_order_t *order);
/* Writes the pointers of an execution into a copy of po->chain. */
void dtp_gpu_post_ops_bind(dtp_gpu_chain_t *chain, const dtp_gpu_post_ops_t *po, const dtp_pd_t *pd,
                           const dtp_exec_ctx_t *ctx);

/* Types that kernels read as f32: f32, bf16, f16, s32, s8, u8. */
static inline bool dtp_gpu_takes(dnnl_tp_data_type_t dt) { return dt >= dnnl_tp_f16 && dt <= dnnl_tp_u8; }

#endif
