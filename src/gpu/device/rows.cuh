/* Rows of dtp_gpu_rows_t that a warp or a block holds in registers: one type, elements that lie together. */
#ifndef DTP_GPU_DEVICE_ROWS_CUH
#define DTP_GPU_DEVICE_ROWS_CUH

#include "gpu/device/groups.cuh"

/* Thread t of `threads` has the runs t, t + threads, ... of a row. */
template <class T> struct dtp_row {
    enum { V = 16 / sizeof(T), RUNS = DTP_GPU_HELD / V };
    float x[RUNS][V];

    /* The element with which run r begins. */
    static __device__ __forceinline__ int begin(int r, int t, int threads) { return V * (r * threads + t); }
    /* past: what elements behind the end are. */
    __device__ __forceinline__ void load(const T *src, int n, int t, int threads, float past) {
#pragma unroll
        for (int r = 0; r < RUNS; ++r) {
            const int i = begin(r, t, threads);
            if (i < n) dtp_load(src + i, x[r]);
            else
#pragma unroll
                for (int k = 0; k < V; ++k) x[r][k] = past;
        }
    }
};

template <class T> DTP_DEVICE const T *dtp_src_row(const dtp_gpu_rows_t &rows, const dtp_position &p) {
    return (const T *)rows.src.data + dtp_offset(p, rows.dims, rows.src);
}
template <class T> DTP_DEVICE T *dtp_dst_row(const dtp_gpu_rows_t &rows, const dtp_position &p) {
    return (T *)rows.dst.data + dtp_offset(p, rows.dims, rows.dst);
}

/* The threads that have a row together, a warp or a block of one dimension: the rows first, first + count, ... are theirs. */
struct dtp_group {
    bool is_warp;
    int thread, threads;
    int64_t first, count;

    __device__ __forceinline__ dtp_group(bool by_warps)
        : is_warp(by_warps), thread(by_warps ? threadIdx.x % DTP_WARP : threadIdx.x),
          threads(by_warps ? DTP_WARP : blockDim.x), first(by_warps ? dtp_thread() / DTP_WARP : blockIdx.x),
          count(by_warps ? dtp_threads() / DTP_WARP : gridDim.x) {}
    /* Combines over the group; all get it. room: as of dtp_over_block. */
    template <class F, class T> __device__ __forceinline__ T over(F f, T x, T *room) const {
        x = dtp_over_warp(f, x);
        return is_warp ? x : dtp_over_warps(f, x, room);
    }
    /* Between two uses of the same room. */
    __device__ __forceinline__ void wait() const {
        if (!is_warp) __syncthreads();
    }
};

/* A row of any type and step that the threads of a group read several times: thread t has the runs of V elements t, t + threads, ..., of
 * which BATCH are on their way together. */
template <int V> struct dtp_read_row {
    enum { BATCH = 4 };
    const dtp_gpu_rows_t &rows;
    int64_t src; /* offset of the row */
    int64_t first, apart;

    __device__ __forceinline__ dtp_read_row(const dtp_gpu_rows_t &rows, const dtp_position &p,
                                            const dtp_group &group)
        : rows(rows), src(dtp_offset(p, rows.dims, rows.src)), first(V * group.thread),
          apart(V * group.threads) {}
    /* The batch with which run `from` begins; nothing behind the row. */
    __device__ __forceinline__ void load(int64_t from, uint32_t (&bits)[BATCH][V]) const {
#define DTP_LOAD_BATCH(RAW)                                                                               \
    _Pragma("unroll") for (int r = 0; r < BATCH; ++r) {                                                   \
        const int64_t i = from + r * apart;                                                               \
        if (i < rows.n)                                                                                   \
            dtp_load_raw<RAW, V>(rows.src.data, src + i * rows.src_step, rows.src_step, rows.src.aligned, \
                                 (int)min((int64_t)V, rows.n - i), bits[r]);                              \
    }
        DTP_OF_SIZE(rows.src.type, DTP_LOAD_BATCH)
#undef DTP_LOAD_BATCH
    }
    /* f(x) for each batch; past: what elements behind the end are. */
    template <class F> __device__ __forceinline__ void each_batch(float past, F f) const {
        for (int64_t from = first; from < rows.n; from += BATCH * apart) {
            uint32_t bits[BATCH][V] = {}, flat[BATCH * V];
            float x[BATCH * V];
            load(from, bits);
#pragma unroll
            for (int k = 0; k < BATCH * V; ++k) flat[k] = bits[k / V][k % V];
            dtp_of_bits(rows.src.type, flat, x);
#pragma unroll
            for (int k = 0; k < BATCH * V; ++k)
                if (from + k / V * apart + k % V >= rows.n) x[k] = past;
            f(x);
        }
    }
    /* f(i, m, x) for each run, which begins with element i. Runs take turns in the first place of the batch: f may be long. */
    template <class F> __device__ __forceinline__ void each_run(F f) const {
        for (int64_t from = first; from < rows.n; from += BATCH * apart) {
            uint32_t bits[BATCH][V] = {};
            load(from, bits);
#pragma unroll 1
            for (int64_t i = from; i < min(from + BATCH * apart, rows.n); i += apart) {
                float x[V];
                dtp_of_bits(rows.src.type, bits[0], x);
                f(i, (int)min((int64_t)V, rows.n - i), x);
#pragma unroll
                for (int r = 0; r + 1 < BATCH; ++r)
#pragma unroll
                    for (int k = 0; k < V; ++k) bits[r][k] = bits[r + 1][k];
            }
        }
    }
};

/* Instances <stem>_<type> of the function body<T>(a) for held rows. */
#define DTP_ROW_KERNELS(stem, args_t, body)                                       \
    DTP_KERNEL(stem##_f32, args_t, DTP_GPU_BLOCK_THREADS) { body<float>(a); }     \
    DTP_KERNEL(stem##_bf16, args_t, DTP_GPU_BLOCK_THREADS) { body<dtp_bf16>(a); } \
    DTP_KERNEL(stem##_f16, args_t, DTP_GPU_BLOCK_THREADS) { body<dtp_f16>(a); }

#endif
