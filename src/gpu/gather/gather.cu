/* Gather of rows for graphs. Ids outside the table are clamped, and the first of them is noted; without one nothing is read twice. */
#include "gpu/device/finding.cuh"
#include "gpu/gather/gather_args.h"

enum { THREADS = 256 };

DTP_DEVICE int64_t id_at(const dtp_gather_args_t &a, int64_t i) {
    return a.ids_are_s64 ? ((const int64_t *)a.ids)[i * a.id_stride]
                         : ((const int32_t *)a.ids)[i * a.id_stride];
}

DTP_DEVICE bool is_outside(const dtp_gather_args_t &a, int64_t id) { return id < 0 || id >= a.rows; }

/* By a thread whose id is outside: it notes that one if none in front of it is. */
static __device__ __noinline__ void note_first(const dtp_gather_args_t &a, int row) {
    enum { BATCH = 8 }; /* ids that are on their way together */
    for (int i = 0; i < row; i += BATCH) {
        bool found = false;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) found |= is_outside(a, id_at(a, min(i + k, row - 1)));
        if (found) return;
    }
    dtp_note(a.note, DTP_GPU_FOUND_ID, row, id_at(a, row), a.rows);
}

DTP_KERNEL(dtp_gather_rows, dtp_gather_args_t, THREADS) {
    const int64_t at = dtp_thread();
    if (at >= (int64_t)a.n * a.pieces.size) return;
    const uint32_t row = dtp_div((uint32_t)at, a.pieces),
                   column = ((uint32_t)at - row * a.pieces.size) * DTP_GPU_RUN;
    const int m = min(DTP_GPU_RUN, a.h - (int)column);
    const int64_t given = id_at(a, row), id = max((int64_t)0, min(given, a.rows - 1)),
                  to = row * a.ld_dst + column;
    float x[DTP_GPU_RUN] = {}, old[DTP_GPU_RUN];
    if (a.rows > 0) dtp_load_any(a.table_type, a.table, id * a.ld_table + column, 1, a.table_aligned, m, x);
    if (a.adds && a.rows > 0) {
        dtp_load_any(a.dst_type, a.dst, to, 1, a.dst_aligned, m, old);
#pragma unroll
        for (int k = 0; k < DTP_GPU_RUN; ++k) x[k] += a.old_scale * old[k];
    }
    dtp_store_any(a.dst_type, a.dst, to, 1, a.dst_aligned, m, x);
    if (column == 0 && is_outside(a, given)) note_first(a, (int)row);
}
