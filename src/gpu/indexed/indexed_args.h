/* Arguments of the kernels of gathers and scatters by computed positions; included by both halves. */
#ifndef DTP_GPU_INDEXED_INDEXED_ARGS_H
#define DTP_GPU_INDEXED_INDEXED_ARGS_H

#include "dnnl_tp/dnnl_tp_types.h"
#include "gpu/device/args.h"
#include "gpu/device/finding.h"

/* What scatters make of an element; the values of dtp_indexed_what_t. */
enum { DTP_SCATTER_SET = 1, DTP_SCATTER_ADD, DTP_SCATTER_MUL, DTP_SCATTER_MAX, DTP_SCATTER_MIN };

/* A walk over loops, with the strides of the data (elements), of the ids and of the rows. */
typedef struct {
    dtp_gpu_dims_t dims;
    int64_t data[DTP_GPU_DIMS], ids[DTP_GPU_DIMS], rows[DTP_GPU_DIMS];
} dtp_indexed_walk_t;

typedef struct {
    const void *data, *ids, *rows;
    void *dst;
    dtp_indexed_walk_t loops;  /* of scatters: those whose rows never meet */
    dtp_indexed_walk_t serial; /* of scatters: those that one thread walks, in their order */
    int64_t limits[DNNL_TP_MAX_NDIMS], steps[DNNL_TP_MAX_NDIMS]; /* by component; steps in elements */
    int32_t ncomponents, ids_are_s64;
    int64_t nrows;        /* of dst, of gathers and sums */
    dtp_gpu_dim_t pieces; /* of a row: what a thread moves; of scatters: elements; at least 1 */
    int64_t width;        /* of a row, in pieces; of sums: elements; may be 0 */
    int64_t size;         /* of gathers: of an element, in bytes */
    dtp_gpu_dim_t owners; /* of scatters: threads that share the places of a walk, a power of two */
    int32_t what, ntaps;
    int32_t aligned; /* of sums: runs of the data and of dst */
    int32_t unused;
    dtp_gpu_note_t note;
} dtp_indexed_args_t;

#endif
