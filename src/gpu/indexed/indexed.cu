/* Gathers, weighted sums and scatters of rows by computed positions. Ids outside are limited, and the first of them is
 * noted. Results do not depend on the order in which threads run: rows of a scatter that may meet are taken in their order
 * by the thread that owns their place. */
#include "gpu/device/finding.cuh"
#include "gpu/indexed/indexed_args.h"

enum { THREADS = 256, BATCH = 4 /* ids that are on their way together */ };

DTP_DEVICE int64_t id_at(const dtp_indexed_args_t &a, int64_t i) {
    return a.ids_are_s64 ? ((const int64_t *)a.ids)[i] : ((const int32_t *)a.ids)[i];
}
DTP_DEVICE bool is_outside(int64_t id, int64_t limit) { return id < -limit || id >= limit; }
DTP_DEVICE int64_t inside(int64_t id, int64_t limit) {
    if (is_outside(id, limit)) return id < 0 ? 0 : limit - 1;
    return id < 0 ? id + limit : id;
}

/* By a thread whose id number `bad` is outside, if any is: it notes that one if none in front of it is. Behind everything
 * else that a kernel does, so that few values are live. */
DTP_DEVICE void note_first(const dtp_indexed_args_t &a, int64_t bad) {
    if (bad == INT64_MAX || !a.note.word || atomicAdd(&a.note.word->what, 0u) != 0) return;
#pragma unroll 1
    for (int64_t i = 0; i < bad; ++i)
        if (is_outside(id_at(a, i), a.limits[i % a.ncomponents])) return;
    dtp_note(a.note, DTP_GPU_FOUND_ID, bad, id_at(a, bad), a.limits[bad % a.ncomponents]);
}

/* Elements from the beginning of the data to the row that the components from first_id on name; -1: there is none. *bad
 * becomes the first number of an id that is outside. */
DTP_DEVICE int64_t place_of(const dtp_indexed_args_t &a, int64_t base, int64_t first_id, int64_t *bad) {
    for (int k = 0; k < a.ncomponents; ++k) {
        const int64_t id = id_at(a, first_id + k), limit = a.limits[k];
        if (is_outside(id, limit)) *bad = min(*bad, first_id + k);
        base = limit == 0 || base < 0 ? -1 : base + inside(id, limit) * a.steps[k];
    }
    return base;
}

/* A thread's row, and what it has of the row; there are fewer than 2^31 threads. */
DTP_DEVICE uint32_t split(uint32_t index, const dtp_gpu_dim_t &by, uint32_t *part) {
    const uint32_t row = dtp_div(index, by);
    *part = index - row * by.size;
    return row;
}

/* ---- Gathers ------------------------------------------------------------------------------------------ */

template <int BYTES> DTP_DEVICE void gather(const dtp_indexed_args_t &a) {
    typedef typename dtp_piece<BYTES>::type piece_t;
    const uint32_t index = (uint32_t)dtp_thread();
    uint32_t piece;
    const uint32_t row = split(index, a.pieces, &piece);
    if (row >= a.nrows) return;
    const dtp_position p = dtp_decode(a.loops.dims, row);
    const int n = a.loops.dims.ndims;
    int64_t bad = INT64_MAX;
    const int64_t from = place_of(a, dtp_offset(p, n, a.loops.data), dtp_offset(p, n, a.loops.ids), &bad);
    if (a.width > 0) {
        piece_t x = {};
        if (from >= 0) x = ((const piece_t *)((const char *)a.data + from * a.size))[piece];
        ((piece_t *)a.dst)[index] = x;
    }
    if (piece == 0) note_first(a, bad);
}
#define GATHER(bytes) \
    DTP_KERNEL(dtp_indexed_gather_##bytes, dtp_indexed_args_t, THREADS) { gather<bytes>(a); }
GATHER(1)
GATHER(2)
GATHER(4)
GATHER(8)
GATHER(16)

/* ---- Sums --------------------------------------------------------------------------------------------- */

DTP_KERNEL(dtp_indexed_sum, dtp_indexed_args_t, THREADS) {
    uint32_t piece;
    const uint32_t row = split((uint32_t)dtp_thread(), a.pieces, &piece);
    if (row >= a.nrows) return;
    const dtp_position p = dtp_decode(a.loops.dims, row);
    const int64_t base = dtp_offset(p, a.loops.dims.ndims, a.loops.data),
                  column = (int64_t)piece * DTP_GPU_RUN;
    const int m = (int)min((int64_t)DTP_GPU_RUN, a.width - column);
    float sum[DTP_GPU_RUN] = {};
    int64_t bad = INT64_MAX;
    for (int64_t t = 0; t < a.ntaps; ++t) {
        const int64_t at = t * a.nrows + row, from = place_of(a, base, at, &bad);
        const float weight = ((const float *)a.rows)[at];
        if (weight == 0.f || from < 0 || m <= 0) continue;
        float x[DTP_GPU_RUN];
        dtp_load_run<float, DTP_GPU_RUN, DTP_GPU_RUN>(a.data, from + column, 1, a.aligned, m, x);
#pragma unroll
        for (int k = 0; k < DTP_GPU_RUN; ++k) sum[k] = fmaf(weight, x[k], sum[k]);
    }
    if (m > 0) dtp_store_run<float, DTP_GPU_RUN>(a.dst, row * a.width + column, 1, a.aligned, m, sum);
    if (piece == 0) note_first(a, bad);
}

/* ---- Scatters ----------------------------------------------------------------------------------------- */

DTP_DEVICE bool is_nan(float x) { return x != x; }
DTP_DEVICE bool is_nan(double x) { return x != x; }
DTP_DEVICE bool is_nan(uint64_t) { return false; }
template <class T, class WHOLE> DTP_DEVICE T combine(int what, T y, T x) {
    switch (what) {
    case DTP_SCATTER_ADD: return (T)((WHOLE)y + (WHOLE)x);
    case DTP_SCATTER_MUL: return (T)((WHOLE)y * (WHOLE)x);
    case DTP_SCATTER_MAX: return x > y || is_nan((WHOLE)x) ? x : y;
    case DTP_SCATTER_MIN: return x < y || is_nan((WHOLE)x) ? x : y;
    default: return x;
    }
}

/* Which of the owners has a place. */
DTP_DEVICE uint32_t owner_of(const dtp_indexed_args_t &a, int64_t place) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((uint64_t)place * golden >> 32) & (a.owners.size - 1);
}

/* WHOLE: what T is added in; integers wrap. */
template <class T, class WHOLE> DTP_DEVICE void scatter(const dtp_indexed_args_t &a) {
    uint32_t column, owner;
    const uint32_t item = split(split((uint32_t)dtp_thread(), a.pieces, &column), a.owners, &owner);
    if (item >= a.loops.dims.n) return;
    const dtp_position p = dtp_decode(a.loops.dims, item);
    const int n = a.loops.dims.ndims;
    const int64_t data = dtp_offset(p, n, a.loops.data), id = dtp_offset(p, n, a.loops.ids),
                  row = dtp_offset(p, n, a.loops.rows);
    int64_t bad = INT64_MAX;
    for (int64_t k = 0; k < a.serial.dims.n; k += BATCH) {
        int64_t place[BATCH], from[BATCH];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            place[b] = -1;
            if (k + b >= a.serial.dims.n) continue;
            const dtp_position s = dtp_decode(a.serial.dims, k + b);
            place[b] = place_of(a, data, id + dtp_offset(s, a.serial.dims.ndims, a.serial.ids), &bad);
            from[b] = row + dtp_offset(s, a.serial.dims.ndims, a.serial.rows);
        }
        if (a.width == 0) continue;
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            if (place[b] < 0 || owner_of(a, place[b]) != owner) continue;
            T *to = (T *)a.dst + place[b] + column;
            const T x = ((const T *)a.rows)[from[b] * a.width + column];
            *to = a.what == DTP_SCATTER_SET ? x : combine<T, WHOLE>(a.what, *to, x);
        }
    }
    if (column == 0 && owner == 0) note_first(a, bad);
}
#define SCATTER(name, type, whole) \
    DTP_KERNEL(dtp_indexed_scatter_##name, dtp_indexed_args_t, THREADS) { scatter<type, whole>(a); }
SCATTER(f32, float, float)
SCATTER(f64, double, double)
SCATTER(s64, int64_t, uint64_t)
SCATTER(s32, int32_t, uint64_t)
SCATTER(s8, int8_t, uint64_t)
SCATTER(u8, uint8_t, uint64_t)
SCATTER(set_2, uint16_t, uint64_t)
