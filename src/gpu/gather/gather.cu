/* Gather of rows for graphs. Ids outside the table are clamped, and block 0 looks for the first of them. */
#include "gpu/device/finding.cuh"
#include "gpu/gather/gather_args.h"

enum { THREADS = 256 };

DTP_DEVICE int64_t id_at(const dtp_gather_args_t &a, int64_t i) {
    return a.ids_are_s64 ? ((const int64_t *)a.ids)[i * a.id_stride]
                         : ((const int32_t *)a.ids)[i * a.id_stride];
}

DTP_DEVICE void check_ids(const dtp_gather_args_t &a) {
    __shared__ int room;
    int bad = DTP_NONE;
    for (int i = (int)threadIdx.x; i < a.n && bad == DTP_NONE; i += THREADS) {
        const int64_t id = id_at(a, i);
        if (id < 0 || id >= a.rows) bad = i;
    }
    bad = dtp_smallest(bad, &room);
    if (bad != DTP_NONE && threadIdx.x == 0) dtp_note(a.note, DTP_GPU_FOUND_ID, bad, id_at(a, bad), a.rows);
}

DTP_KERNEL(dtp_gather_rows, dtp_gather_args_t, THREADS) {
    if (blockIdx.x == 0) check_ids(a);
    const int64_t at = dtp_thread();
    if (at >= (int64_t)a.n * a.pieces.size) return;
    const uint32_t row = dtp_div((uint32_t)at, a.pieces),
                   column = ((uint32_t)at - row * a.pieces.size) * DTP_GPU_RUN;
    const int m = min(DTP_GPU_RUN, a.h - (int)column);
    const int64_t id = max((int64_t)0, min(id_at(a, row), a.rows - 1)), to = row * a.ld_dst + column;
    float x[DTP_GPU_RUN] = {}, old[DTP_GPU_RUN];
    if (a.rows > 0) dtp_load_any(a.table_type, a.table, id * a.ld_table + column, 1, a.table_aligned, m, x);
    if (a.adds && a.rows > 0) {
        dtp_load_any(a.dst_type, a.dst, to, 1, a.dst_aligned, m, old);
#pragma unroll
        for (int k = 0; k < DTP_GPU_RUN; ++k) x[k] += a.old_scale * old[k];
    }
    dtp_store_any(a.dst_type, a.dst, to, 1, a.dst_aligned, m, x);
}
