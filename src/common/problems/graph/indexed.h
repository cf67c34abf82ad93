/* Elements by computed positions: gathers and scatters (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_INDEXED_H
#define DTP_COMMON_PROBLEMS_INDEXED_H

#include "common/primitive/op_desc.h"

/* A row is `width` neighbouring elements. Row r has the coordinates c of r in the loops, and lies in the data at
 *
 *   sum over loops of c[d] * data_strides[d] + sum over components k of id(r, k) * step_strides[k],
 *   id(r, k) = ids[sum over loops of c[d] * id_strides[d] + k], counted from the end where it is below 0.
 *
 * Gather: dst[r, :] = the row of the data. Scatter: dst is a copy of the data; then, by r, its row becomes
 * rows[r, :], or takes it in. Sum: dst[r, :] = sum over taps t of rows[t, r] * the row of the data that ids[t]
 * names, where rows are weights, and nothing is read for a weight of 0; there is one component. An id outside -limits[k]..limits[k]-1: runtime_error, reason GRAPH_INDEX. */
typedef enum {
    DTP_INDEXED_GATHER,
    DTP_INDEXED_SET,
    DTP_INDEXED_ADD,
    DTP_INDEXED_MUL,
    DTP_INDEXED_MAX,
    DTP_INDEXED_MIN,
    DTP_INDEXED_SUM /* a gather of weighted sums */
} dtp_indexed_what_t;
typedef struct {
    dtp_op_desc_t base;
    int what;                       /* dtp_indexed_what_t */
    int nloops, ncomponents, ntaps; /* ntaps: of sums, else 0 */
    dnnl_tp_dims_t loops, data_strides, id_strides;
    dnnl_tp_dims_t limits, step_strides; /* by component */
    int nwidth;                          /* 1 */
    dnnl_tp_dims_t width;                /* [0] */
    dtp_md_t data, ids, rows, dst;       /* all dense; rows: of scatters and sums, the type of the data */
} dtp_indexed_desc_t;
enum { DTP_INDEXED_DATA, DTP_INDEXED_IDS, DTP_INDEXED_ROWS, DTP_INDEXED_DST, DTP_INDEXED_NARGS };

#endif
