/* Notes of what is wrong in data, and the search for offsets of sequences that do not fit. */
#ifndef DTP_GPU_DEVICE_FINDING_CUH
#define DTP_GPU_DEVICE_FINDING_CUH

#include "gpu/device/device.cuh"
#include "gpu/device/finding.h"

/* The first finding of a run stays. Called by one thread of a grid. */
DTP_DEVICE void dtp_note(const dtp_gpu_note_t &note, uint32_t what, int64_t at, int64_t value,
                         int64_t limit) {
    if (!note.word || atomicCAS(&note.word->what, 0u, what) != 0) return;
    note.word->step = note.step;
    note.word->at = at;
    note.word->value = value;
    note.word->limit = limit;
}

enum { DTP_NONE = 0x7fffffff };

/* The smallest `at` of a block's threads; room: of the block, in shared memory. */
DTP_DEVICE int dtp_smallest(int at, int *room) {
    if (threadIdx.x == 0) *room = DTP_NONE;
    __syncthreads();
    if (at != DTP_NONE) atomicMin(room, at);
    __syncthreads();
    return *room;
}

/* As dtp_bad_offset, by all threads of a block; DTP_NONE: every offset fits. */
DTP_DEVICE int dtp_bad_offset(const int32_t *offsets, int n, int rows, const dtp_gpu_note_t &note,
                              int *room) {
    int bad = DTP_NONE;
    for (int i = (int)threadIdx.x; i <= n; i += (int)blockDim.x) {
        const int x = offsets[i];
        const bool wrong =
            i == 0 ? (note.whole ? x != 0 : x < 0 || x > rows) : x < offsets[i - 1] || x > rows;
        if (wrong && i < bad) bad = i;
    }
    return dtp_smallest(bad, room);
}
/* Notes that one, by the first thread of the grid. Behind all barriers of a kernel: until then its warp stays together. */
DTP_DEVICE void dtp_note_offset(const dtp_gpu_note_t &note, const int32_t *offsets, int at, int rows) {
    if (blockIdx.x == 0 && threadIdx.x == 0) dtp_note(note, DTP_GPU_FOUND_OFFSET, at, offsets[at], rows);
}

#endif
