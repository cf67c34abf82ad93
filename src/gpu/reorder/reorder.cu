/* Moves of elements from one layout to another, with or without conversion. Raw moves know the size of an element alone. */
#include "gpu/device/device.cuh"
#include "gpu/reorder/move_args.h"

enum { THREADS = 256 };

/* ---- Raw ---------------------------------------------------------------------------------------------- */

/* V elements of so many bytes from each tensor, in pieces of at most 16 bytes. */
template <class T, int V>
DTP_DEVICE void move_run(const T *from, int64_t from_step, T *to, int64_t to_step, int m, bool aligned) {
    enum { BYTES = V * (int)sizeof(T), PIECE = BYTES < 16 ? BYTES : 16 };
    typedef typename dtp_piece<PIECE>::type piece_t;
    if (aligned && m >= V) {
#pragma unroll
        for (int i = 0; i < BYTES / PIECE; ++i) ((piece_t *)to)[i] = ((const piece_t *)from)[i];
        return;
    }
#pragma unroll
    for (int k = 0; k < V; ++k)
        if (k < m) to[k * to_step] = from[k * from_step];
}

template <class T, int V> DTP_DEVICE void move(const dtp_move_args_t &a) {
    const int64_t index = dtp_thread() * V;
    if (index >= a.dims.n) return;
    const dtp_position p = dtp_decode(a.dims, index);
    const int64_t left = a.dims.n - index;
    move_run<T, V>((const T *)a.src.data + dtp_offset(p, a.dims, a.src), a.src.stride[0],
                   (T *)a.dst.data + dtp_offset(p, a.dims, a.dst), a.dst.stride[0], left < V ? (int)left : V,
                   V > 1 && a.src.aligned && a.dst.aligned);
}

/* ---- With conversion ---------------------------------------------------------------------------------- */

template <int V>
DTP_DEVICE void read_quant(const dtp_move_args_t &a, int which, const dtp_position &p, int m, float (&y)[V]) {
    dtp_read(a.quant[which], a.dims, p, m, y);
}

template <int V>
DTP_DEVICE void quantize(const dtp_move_args_t &a, const dtp_position &p, int m, float (&x)[V]) {
    float y[V];
#define EACH(which, step)                                   \
    if (a.quant[which].data) {                              \
        read_quant(a, which, p, m, y);                      \
        _Pragma("unroll") for (int k = 0; k < V; ++k) step; \
    }
    EACH(DTP_MOVE_SRC_ZERO_POINT, x[k] -= y[k])
    EACH(DTP_MOVE_SRC_SCALE, x[k] *= y[k])
    if (a.has_sum) {
        dtp_load_any(a.sum_type, a.dst.data, dtp_offset(p, a.dims, a.dst), a.dst.stride[0], a.dst.aligned, m,
                     y);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] += a.sum_scale * (y[k] - a.sum_zero_point);
    }
    EACH(DTP_MOVE_DST_SCALE, x[k] /= y[k])
    EACH(DTP_MOVE_DST_ZERO_POINT, x[k] += y[k])
#undef EACH
}

template <int V> DTP_DEVICE void convert(const dtp_move_args_t &a) {
    const int64_t index = dtp_thread() * V;
    if (index >= a.dims.n) return;
    const dtp_position p = dtp_decode(a.dims, index);
    const int64_t left = a.dims.n - index;
    const int m = left < V ? (int)left : V;
    float x[V];
    dtp_read(a.src, a.dims, p, m, x);
    if (a.has_quants) quantize(a, p, m, x);
    dtp_write(a.dst, a.dims, p, m, x);
}

/* ---- Transposition ------------------------------------------------------------------------------------ */

/* How elements are read from a tensor and written to one. */
template <class T> struct raw_t {
    typedef T element_t;
    static __device__ __forceinline__ T read(const dtp_gpu_tensor_t &t, int64_t at) {
        return ((const T *)t.data)[at];
    }
    static __device__ __forceinline__ void write(const dtp_gpu_tensor_t &t, int64_t at, T x) {
        ((T *)t.data)[at] = x;
    }
};
struct converted_t {
    typedef float element_t;
    static __device__ __forceinline__ float read(const dtp_gpu_tensor_t &t, int64_t at) {
        return dtp_load_one(t.type, t.data, at);
    }
    static __device__ __forceinline__ void write(const dtp_gpu_tensor_t &t, int64_t at, float x) {
        dtp_store_one(t.type, t.data, at, x);
    }
};

/* A tile of dimension 0, along which dst lies, and of dimension `across`, along which src does, goes through shared memory. A line of
 * it is an odd number of words, so that threads of a warp meet in no bank in either direction. */
template <class M> DTP_DEVICE void transpose(const dtp_move_args_t &a) {
    typedef typename M::element_t T;
    enum { TILE = DTP_MOVE_TILE, LINE = TILE + 4 / (int)sizeof(T), LINES = DTP_MOVE_TILE_THREADS / TILE };
    __shared__ T tile[TILE][LINE]; /* [along dst][along src] */
    const int block = (int)blockIdx.x, tiles = a.tiles_along * a.tiles_across;
    const int along = block % tiles % a.tiles_along * TILE, across = block % tiles / a.tiles_along * TILE;
    const int size_along = (int)a.dims.dim[0].size, size_across = (int)a.dims.dim[a.across].size;
    int64_t from = 0, to = 0;
    int rest = block / tiles;
    for (int d = 1; d < a.dims.ndims; ++d) {
        if (d == a.across) continue;
        const int at = rest % (int)a.dims.dim[d].size;
        rest /= (int)a.dims.dim[d].size;
        from += at * a.src.stride[d];
        to += at * a.dst.stride[d];
    }
    const int lane = (int)threadIdx.x % TILE, first = (int)threadIdx.x / TILE;
#pragma unroll 4
    for (int i = first; i < TILE; i += LINES)
        if (along + i < size_along && across + lane < size_across)
            tile[i][lane] = M::read(a.src, from + (along + i) * a.src.stride[0] + across + lane);
    __syncthreads();
#pragma unroll 4
    for (int i = first; i < TILE; i += LINES)
        if (across + i < size_across && along + lane < size_along)
            M::write(a.dst, to + (across + i) * a.dst.stride[a.across] + along + lane, tile[lane][i]);
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

#define RAW_KERNELS(bytes, T)                                                                \
    DTP_KERNEL(dtp_move_runs_##bytes, dtp_move_args_t, THREADS) { move<T, DTP_GPU_RUN>(a); } \
    DTP_KERNEL(dtp_move_each_##bytes, dtp_move_args_t, THREADS) { move<T, 1>(a); }
RAW_KERNELS(1, uint8_t)
RAW_KERNELS(2, uint16_t)
RAW_KERNELS(4, uint32_t)
RAW_KERNELS(8, uint2)
DTP_KERNEL(dtp_move_transpose_1, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<raw_t<uint8_t>>(a); }
DTP_KERNEL(dtp_move_transpose_2, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<raw_t<uint16_t>>(a); }
DTP_KERNEL(dtp_move_transpose_4, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<raw_t<uint32_t>>(a); }
DTP_KERNEL(dtp_convert_runs, dtp_move_args_t, THREADS) { convert<DTP_GPU_RUN>(a); }
DTP_KERNEL(dtp_convert_each, dtp_move_args_t, THREADS) { convert<1>(a); }
DTP_KERNEL(dtp_convert_transpose, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<converted_t>(a); }
