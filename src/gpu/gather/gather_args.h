/* Arguments of the kernel of gather; included by both halves. */
#ifndef DTP_GPU_GATHER_GATHER_ARGS_H
#define DTP_GPU_GATHER_GATHER_ARGS_H

#include "gpu/device/args.h"
#include "gpu/device/finding.h"

typedef struct {
    const void *table, *ids;
    void *dst;
    int64_t ld_table, ld_dst, id_stride; /* elements */
    int64_t rows;                        /* of the table */
    int32_t n, h;                        /* ids, and elements of a row */
    int32_t ids_are_s64;
    int32_t table_type, dst_type;
    int32_t table_aligned, dst_aligned; /* runs of rows */
    int32_t adds;                       /* dst = row + old_scale * old dst */
    float old_scale;
    int32_t unused;
    dtp_gpu_dim_t pieces; /* runs of a row */
    dtp_gpu_note_t note;
} dtp_gather_args_t;

#endif
