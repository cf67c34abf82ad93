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

/* Where a block's tile lies: numbers of its first element along dimension 0, along which dst lies, and along dimension `across`, along which
 * src does, and offsets to the matrices of these two. */
struct tile_t {
    int along, across;
    int64_t from, to;

    __device__ __forceinline__ tile_t(const dtp_move_args_t &a) : from(0), to(0) {
        const int block = (int)blockIdx.x, tiles = a.tiles_along * a.tiles_across;
        along = block % tiles % a.tiles_along * DTP_MOVE_TILE;
        across = block % tiles / a.tiles_along * DTP_MOVE_TILE;
        int rest = block / tiles;
        for (int d = 1; d < a.dims.ndims; ++d) {
            if (d == a.across) continue;
            const int at = rest % (int)a.dims.dim[d].size;
            rest /= (int)a.dims.dim[d].size;
            from += at * a.src.stride[d];
            to += at * a.dst.stride[d];
        }
    }
};

/* A tile goes through shared memory. A line of it is an odd number of words, so that threads of a warp meet in no bank in either direction. */
template <class M> DTP_DEVICE void transpose(const dtp_move_args_t &a) {
    typedef typename M::element_t T;
    enum { TILE = DTP_MOVE_TILE, LINE = TILE + 4 / (int)sizeof(T), LINES = DTP_MOVE_TILE_THREADS / TILE };
    __shared__ T tile[TILE][LINE]; /* [along dst][along src] */
    const tile_t at(a);
    const int along = at.along, across = at.across;
    const int size_along = (int)a.dims.dim[0].size, size_across = (int)a.dims.dim[a.across].size;
    const int64_t from = at.from, to = at.to;
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

/* PACK words of as many elements, of which word i holds number i, become those of which word i holds the elements i. */
DTP_DEVICE void exchange(uint32_t (&x)[2]) {
    const uint32_t low = __byte_perm(x[0], x[1], 0x5410), high = __byte_perm(x[0], x[1], 0x7632);
    x[0] = low, x[1] = high;
}
DTP_DEVICE void exchange(uint32_t (&x)[4]) {
    const uint32_t a = __byte_perm(x[0], x[1], 0x5140), b = __byte_perm(x[2], x[3], 0x5140),
                   c = __byte_perm(x[0], x[1], 0x7362), d = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(a, b, 0x5410), x[1] = __byte_perm(a, b, 0x7632);
    x[2] = __byte_perm(c, d, 0x5410), x[3] = __byte_perm(c, d, 0x7632);
}

/* The same where rows of both tensors are whole words: these are moved. The lines of a tile lie in PACK planes, those whose numbers have one
 * rest in a plane, since the words of PACK lines are read together; sizes of lines and planes are such that neither writes nor reads of a
 * warp meet in a bank. */
template <int PACK> DTP_DEVICE void transpose_words(const dtp_move_args_t &a) {
    enum { TILE = DTP_MOVE_TILE, WORDS = TILE / PACK, LINES = DTP_MOVE_TILE_THREADS / WORDS };
    enum { LINE = WORDS + PACK / 2, PLANE = WORDS * LINE + (PACK == 4 ? 16 : 0) };
    __shared__ uint32_t tile[PACK * PLANE];
    const tile_t at(a);
    const int size_along = (int)a.dims.dim[0].size, size_across = (int)a.dims.dim[a.across].size;
    const int word = (int)threadIdx.x % WORDS, first = (int)threadIdx.x / WORDS;
    const uint32_t *src = (const uint32_t *)a.src.data;
    uint32_t *dst = (uint32_t *)a.dst.data;
#pragma unroll 4
    for (int i = first; i < TILE; i += LINES)
        if (at.along + i < size_along && at.across + word * PACK < size_across)
            tile[i % PACK * PLANE + i / PACK * LINE + word] =
                src[(at.from + (at.along + i) * a.src.stride[0] + at.across) / PACK + word];
    __syncthreads();
#pragma unroll 4
    for (int i = first; i < WORDS; i += LINES) {
        uint32_t x[PACK];
        if (at.across + i * PACK >= size_across || at.along + word * PACK >= size_along) continue;
#pragma unroll
        for (int k = 0; k < PACK; ++k) x[k] = tile[k * PLANE + word * LINE + i];
        exchange(x);
#pragma unroll
        for (int k = 0; k < PACK; ++k)
            dst[(at.to + (at.across + i * PACK + k) * a.dst.stride[a.across] + at.along) / PACK + word] =
                x[k];
    }
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

#define RAW_KERNELS(bytes, T)                                                                \
    DTP_KERNEL(dtp_move_runs_##bytes, dtp_move_args_t, THREADS) { move<T, DTP_GPU_RUN>(a); } \
    DTP_KERNEL(dtp_move_each_##bytes, dtp_move_args_t, THREADS) { move<T, 1>(a); }
RAW_KERNELS(1, uint8_t)
RAW_KERNELS(2, uint16_t)
RAW_KERNELS(4, uint32_t)
RAW_KERNELS(8, uint2)
DTP_KERNEL(dtp_move_transpose_1, dtp_move_args_t, DTP_MOVE_TILE_THREADS) {
    if (a.words) transpose_words<4>(a);
    else transpose<raw_t<uint8_t>>(a);
}
DTP_KERNEL(dtp_move_transpose_2, dtp_move_args_t, DTP_MOVE_TILE_THREADS) {
    if (a.words) transpose_words<2>(a);
    else transpose<raw_t<uint16_t>>(a);
}
DTP_KERNEL(dtp_move_transpose_4, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<raw_t<uint32_t>>(a); }
DTP_KERNEL(dtp_convert_runs, dtp_move_args_t, THREADS) { convert<DTP_GPU_RUN>(a); }
DTP_KERNEL(dtp_convert_each, dtp_move_args_t, THREADS) { convert<1>(a); }
DTP_KERNEL(dtp_convert_transpose, dtp_move_args_t, DTP_MOVE_TILE_THREADS) { transpose<converted_t>(a); }
