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

/* The smallest `at` of a block's threads; room: of the block, in shared memory. INT32_MAX: none. */
DTP_DEVICE int dtp_smallest(int at, int *room) {
    if (threadIdx.x == 0) *room = 0x7fffffff;
    __syncthreads();
    if (at != 0x7fffffff) atomicMin(room, at);
    __syncthreads();
    return *room;
}

/* As dtp_bad_offset, by all threads of a block: true where some offset does not fit, which `notes` tells. */
DTP_DEVICE bool dtp_offsets_are_bad(const int32_t *offsets, int n, int rows, const dtp_gpu_note_t &note,
                                    bool notes, int *room) {
    int bad = 0x7fffffff;
    for (int i = (int)threadIdx.x; i <= n; i += (int)blockDim.x) {
        const int x = offsets[i];
        const bool wrong =
            i == 0 ? (note.whole ? x != 0 : x < 0 || x > rows) : x < offsets[i - 1] || x > rows;
        if (wrong && i < bad) bad = i;
    }
    bad = dtp_smallest(bad, room);
    if (bad == 0x7fffffff) return false;
    if (notes && threadIdx.x == 0) dtp_note(note, DTP_GPU_FOUND_OFFSET, bad, offsets[bad], rows);
    return true;
}

#endif
