/* Host half of moves from one plain layout to another: reorder, and the sources of concat. */
#ifndef DTP_GPU_REORDER_MOVE_H
#define DTP_GPU_REORDER_MOVE_H

#include "gpu/device/post_ops.h"
#include "gpu/reorder/move_args.h"

typedef struct {
    const dtp_md_t *src, *dst;                 /* of equal dims */
    const dtp_quant_t *quant[DTP_MOVE_QUANTS]; /* NULL: none */
    const dtp_post_op_t *sum;                  /* NULL: none */
} dtp_gpu_move_problem_t;

typedef struct {
    dtp_move_args_t args;     /* without pointers */
    dtp_cu_function_t kernel; /* NULL: a copy of `bytes` */
    size_t bytes;
    int64_t threads;
    uint32_t block;
} dtp_gpu_move_t;

/* For pd_init. Unimplemented, with a reason: kernels do not take these types, layouts or scales. */
dnnl_tp_status_t dtp_gpu_move_init(dtp_gpu_move_t *move, const dtp_pd_t *pd,
                                   const dtp_gpu_move_problem_t *problem);
/* src, dst: element 0 of each; dst may be src. quant: values of scales and zero points, or NULL. */
dnnl_tp_status_t dtp_gpu_move_execute(const dtp_gpu_move_t *move, const dtp_exec_ctx_t *ctx, const void *src,
                                      void *dst, const void *const quant[DTP_MOVE_QUANTS]);

#endif
