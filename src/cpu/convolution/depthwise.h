/* Depthwise convolution by rows, over the kernels of depthwise_kern.h: the plan and how it runs.
 * Convolutions have one plan, deconvolutions one for each phase (cpu/deconvolution). */
#ifndef DTP_CPU_CONVOLUTION_DEPTHWISE_H
#define DTP_CPU_CONVOLUTION_DEPTHWISE_H

#include "common/problems/convolution.h"
#include "cpu/convolution/depthwise_kern.h"
#include "cpu/gemm/fused.h"

typedef struct {
    void (*row)(const dtp_dw_row_t *a);
    dtp_window_t win[3];
    dtp_dw_row_t common; /* all but addresses, elements inside and columns */
    int64_t src_0, src_n, dst_0, dst_n, src_x[3], dst_x[3], wei_0; /* elements */
    /* of a row of dst; of a segment */
    int64_t images, segments, columns;
    /* of channels, of which a row has one: nChw16c; from block to block */
    int64_t blocks, src_b, dst_b;
    int64_t src_bytes, bia_bytes, dst_bytes; /* of an element */
    dtp_store_fn_t store;
    bool has_bias, tiled, pairs; /* tiled: rows pass through scratch */
    /* src and dst exceed a share of the last cache: src is fetched ahead, and */
    bool big;
    bool stream,
        /* dst goes past the caches where it is aligned; apart: from scratch, after the last step */
        apart;
    /* Rows that kernels get at once, at most: all of them where src and dst fit into the
     * second-level cache, few where a step follows, else one. */
    int64_t band;
    int64_t bia_0, grain;
    dtp_fused_t fused; /* one elementwise step, if act is set */
    dtp_postops_t po;
} dtp_dw_plan_t;

/* Types, layouts and post-operations of pd's problem, whose layouts it resolves: all but windows
 * and weights. */
dnnl_tp_status_t dtp_dw_init(dtp_dw_plan_t *p, dtp_pd_t *pd);
/* Fills in the members that follow from the windows of p. */
void dtp_dw_split(dtp_dw_plan_t *p);
/* Pieces of rows of dst, in their order, and the work of some of them. */
int64_t dtp_dw_units(const dtp_dw_plan_t *p);
void dtp_dw_run(const dtp_dw_plan_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int slot,
                int64_t begin, int64_t end);

#endif
