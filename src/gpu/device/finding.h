/* Notes of kernels about wrong data (common/primitive/data_error.h), for the host half and the
 * device half. */
#ifndef DTP_GPU_DEVICE_FINDING_H
#define DTP_GPU_DEVICE_FINDING_H

#include <stdint.h>

/* The layout of dtp_data_error_t. */
typedef struct {
    uint32_t what, step;
    int64_t at, value, limit;
} dtp_gpu_finding_t;
enum { DTP_GPU_FOUND_ID = 1, DTP_GPU_FOUND_OFFSET };

typedef struct {
    dtp_gpu_finding_t *word; /* of the run; NULL: nothing is noted */
    uint32_t step;
    uint32_t whole; /* offsets of sequences begin with 0, because all sequences are here */
} dtp_gpu_note_t;

#ifndef __CUDACC__
#include "common/primitive/primitive_desc.h"
_Static_assert(sizeof(dtp_gpu_finding_t) == sizeof(dtp_data_error_t) &&
                   offsetof(dtp_gpu_finding_t, limit) == offsetof(dtp_data_error_t, limit) &&
                   (int)DTP_GPU_FOUND_ID == (int)DTP_DATA_ID &&
                   (int)DTP_GPU_FOUND_OFFSET == (int)DTP_DATA_OFFSET,
               "one layout on both sides");

static inline dtp_gpu_note_t dtp_gpu_note(const dtp_exec_ctx_t *ctx) {
    dtp_gpu_note_t note = {NULL, 0, ctx->part != NULL};
    if (!ctx->part) return note;
    note.word = (dtp_gpu_finding_t *)(void *)ctx->part->error;
    note.step = ctx->part->step;
    return note;
}
#endif

#endif
