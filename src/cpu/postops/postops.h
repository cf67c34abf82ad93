/* Post-operations on a tile of f32 results in L1: the one place where they exist.
 *
 * The destination is seen as a matrix: rows = product of all dims but the last, cols = the last dim, both logical. */
#ifndef DTP_CPU_POSTOPS_H
#define DTP_CPU_POSTOPS_H

#include "common/primitive_desc.h"

/* One compiled step; embedded by value in the plans of implementations. */
typedef struct {
    int kind; /* DTP_PO_* of postops.c */
    dnnl_tp_alg_kind_t alg;
    float alpha, beta, scale, zero_point;
    dnnl_tp_data_type_t dt;     /* of src1, or of the old dst for sum */
    int arg, arg2;              /* dense index of src1 / src2 */
    int64_t row_stride, col_stride; /* src1 as a matrix; 0 = broadcast; valid when simple */
    int64_t row_stride2, col_stride2;
    bool simple;                /* src1 is addressed by the strides above; else by its descriptor */
} dtp_po_step_t;

typedef struct dtp_postops {
    int len;
    unsigned isa; /* DTP_ISA_* to run with */
    int dst_arg;  /* dense index of the destination (sum) */
    dtp_po_step_t *step; /* into the plan's own room, see dtp_postops_bytes */
    const dtp_md_t *dst;
} dtp_postops_t;

#endif
