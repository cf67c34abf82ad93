/* What every kernel uses: types of elements and their conversions, moves of runs of elements, walks over strided tensors.
 *
 * Arithmetic is f32. Stores round to nearest even and saturate; NaN becomes 0 in integers. A run is V elements along the
 * innermost dimension, V a power of two; m: so many of them exist (fewer than V at the end of a tensor). Functions of
 * elements: functions.cuh; post-operations: chain.cuh; sums over warps and blocks: groups.cuh. */
#ifndef DTP_GPU_DEVICE_DEVICE_CUH
#define DTP_GPU_DEVICE_DEVICE_CUH

#include "common/base/elementwise.h"
#include "gpu/device/args.h"

#define DTP_DEVICE static __device__ __forceinline__
/* A kernel for blocks of at most so many threads: its one parameter is a struct of <kind>_args.h, named a. */
#define DTP_KERNEL(name, args_t, threads) \
    extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ args_t a)
/* One of which so many blocks are to fit into a multiprocessor. */
#define DTP_KERNEL_FITTED(name, args_t, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ args_t a)

/* ---- Elements ----------------------------------------------------------------------------------------- */

struct dtp_bf16 {
    uint16_t bits;
};
struct dtp_f16 {
    uint16_t bits;
};

DTP_DEVICE float dtp_to_f32(float x) { return x; }
DTP_DEVICE float dtp_to_f32(dtp_bf16 x) { return __uint_as_float((uint32_t)x.bits << 16); }
DTP_DEVICE float dtp_to_f32(dtp_f16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
DTP_DEVICE float dtp_to_f32(int32_t x) { return (float)x; }
DTP_DEVICE float dtp_to_f32(int8_t x) { return (float)x; }
DTP_DEVICE float dtp_to_f32(uint8_t x) { return (float)x; }

DTP_DEVICE void dtp_from_f32(float x, float &y) { y = x; }
DTP_DEVICE void dtp_from_f32(float x, dtp_bf16 &y) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); }
DTP_DEVICE void dtp_from_f32(float x, dtp_f16 &y) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); }
DTP_DEVICE void dtp_from_f32(float x, int32_t &y) { y = __float2int_rn(x); }
DTP_DEVICE void dtp_from_f32(float x, int8_t &y) { y = (int8_t)max(-128, min(127, __float2int_rn(x))); }
DTP_DEVICE void dtp_from_f32(float x, uint8_t &y) { y = (uint8_t)max(0, min(255, __float2int_rn(x))); }

/* ---- Moves -------------------------------------------------------------------------------------------- */

/* The pieces in which a run of so many bytes is moved. */
template <int BYTES> struct dtp_piece;
template <> struct dtp_piece<1> { typedef uint8_t type; };
template <> struct dtp_piece<2> { typedef uint16_t type; };
template <> struct dtp_piece<4> { typedef uint32_t type; };
template <> struct dtp_piece<8> { typedef uint2 type; };
template <> struct dtp_piece<16> { typedef uint4 type; };

/* V elements as they lie in memory, aligned to their size or to 16 bytes. */
template <class T, int V> union dtp_run {
    enum { BYTES = V * (int)sizeof(T), PIECE = BYTES < 16 ? BYTES : 16, PIECES = BYTES / PIECE };
    typedef typename dtp_piece<PIECE>::type piece_t;
    T at[V];
    piece_t piece[PIECES];
    __device__ dtp_run() {}
};

template <class T, int V> DTP_DEVICE void dtp_load(const T *p, float (&x)[V]) {
    dtp_run<T, V> run;
    typedef typename dtp_run<T, V>::piece_t piece_t;
#pragma unroll
    for (int i = 0; i < dtp_run<T, V>::PIECES; ++i) run.piece[i] = ((const piece_t *)p)[i];
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = dtp_to_f32(run.at[k]);
}

template <class T, int V> DTP_DEVICE void dtp_store(T *p, const float (&x)[V]) {
    dtp_run<T, V> run;
    typedef typename dtp_run<T, V>::piece_t piece_t;
#pragma unroll
    for (int k = 0; k < V; ++k) dtp_from_f32(x[k], run.at[k]);
#pragma unroll
    for (int i = 0; i < dtp_run<T, V>::PIECES; ++i) ((piece_t *)p)[i] = run.piece[i];
}

/* Elements `step` apart, one by one. */
template <class T, int V> DTP_DEVICE void dtp_load_each(const T *p, int64_t step, int m, float (&x)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = k < m ? dtp_to_f32(p[k * step]) : 0.f;
}
template <class T, int V> DTP_DEVICE void dtp_store_each(T *p, int64_t step, int m, const float (&x)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k)
        if (k < m) dtp_from_f32(x[k], p[k * step]);
}

/* A run that may be one value (step 0), or not aligned. Where it is, PART elements together are. */
template <class T, int V, int PART>
DTP_DEVICE void dtp_load_run(const void *data, int64_t at, int64_t step, bool aligned, int m, float (&x)[V]) {
    const T *p = (const T *)data + at;
    if (V == 1 || step == 0) {
        const float value = dtp_to_f32(*p);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = value;
    } else if (aligned && m >= V) {
        float part[PART];
#pragma unroll
        for (int i = 0; i < V; i += PART) {
            dtp_load(p + i, part);
#pragma unroll
            for (int k = 0; k < PART; ++k) x[i + k] = part[k];
        }
    } else {
        dtp_load_each(p, step, m, x);
    }
}
template <class T, int V>
DTP_DEVICE void dtp_store_run(void *data, int64_t at, int64_t step, bool aligned, int m,
                              const float (&x)[V]) {
    T *p = (T *)data + at;
    if (V > 1 && aligned && m >= V) dtp_store(p, x);
    else dtp_store_each(p, step, m, x);
}

/* The same for a type that is known at run time: moves know its size alone, conversions the type. */
template <class RAW, int V>
DTP_DEVICE void dtp_load_raw(const void *data, int64_t at, int64_t step, bool aligned, int m,
                             uint32_t (&bits)[V]) {
    enum { PART = V < DTP_GPU_RUN ? V : DTP_GPU_RUN };
    const RAW *p = (const RAW *)data + at;
    if (V == 1 || step == 0) {
        const uint32_t value = *p;
#pragma unroll
        for (int k = 0; k < V; ++k) bits[k] = value;
    } else if (aligned && m >= V) {
        typedef dtp_run<RAW, PART> run_t;
#pragma unroll
        for (int i = 0; i < V; i += PART) {
            run_t run;
            run.piece[0] = *(const typename run_t::piece_t *)(p + i);
#pragma unroll
            for (int k = 0; k < PART; ++k) bits[i + k] = run.at[k];
        }
    } else {
#pragma unroll
        for (int k = 0; k < V; ++k) bits[k] = k < m ? p[k * step] : 0;
    }
}
template <class RAW, int V>
DTP_DEVICE void dtp_store_raw(void *data, int64_t at, int64_t step, bool aligned, int m,
                              const uint32_t (&bits)[V]) {
    enum { PART = V < DTP_GPU_RUN ? V : DTP_GPU_RUN };
    RAW *p = (RAW *)data + at;
    if (V > 1 && aligned && m >= V) {
        typedef dtp_run<RAW, PART> run_t;
#pragma unroll
        for (int i = 0; i < V; i += PART) {
            run_t run;
#pragma unroll
            for (int k = 0; k < PART; ++k) run.at[k] = (RAW)bits[i + k];
            *(typename run_t::piece_t *)(p + i) = run.piece[0];
        }
    } else {
#pragma unroll
        for (int k = 0; k < V; ++k)
            if (k < m) p[k * step] = (RAW)bits[k];
    }
}

#define DTP_OF_SIZE(type, call)              \
    switch (type) {                          \
    case dnnl_tp_f32:                        \
    case dnnl_tp_s32: call(uint32_t); break; \
    case dnnl_tp_bf16:                       \
    case dnnl_tp_f16: call(uint16_t); break; \
    default: call(uint8_t); break;           \
    }
#define DTP_EACH(V, statement) _Pragma("unroll") for (int k = 0; k < V; ++k) statement
/* Elements of a type, loaded as integers of its size. */
template <int V> DTP_DEVICE void dtp_of_bits(int type, const uint32_t (&bits)[V], float (&x)[V]) {
    switch (type) {
    case dnnl_tp_f32: DTP_EACH(V, x[k] = __uint_as_float(bits[k])); break;
    case dnnl_tp_bf16: DTP_EACH(V, x[k] = __uint_as_float(bits[k] << 16)); break;
    case dnnl_tp_f16: DTP_EACH(V, x[k] = dtp_to_f32(dtp_f16{(uint16_t)bits[k]})); break;
    case dnnl_tp_s32: DTP_EACH(V, x[k] = (float)(int32_t)bits[k]); break;
    case dnnl_tp_s8: DTP_EACH(V, x[k] = (float)(int8_t)bits[k]); break;
    default: DTP_EACH(V, x[k] = (float)bits[k]); break;
    }
}
template <int V>
DTP_DEVICE void dtp_load_any(int type, const void *data, int64_t at, int64_t step, bool aligned, int m,
                             float (&x)[V]) {
    uint32_t bits[V];
#define DTP_LOAD_RAW(RAW) dtp_load_raw<RAW, V>(data, at, step, aligned, m, bits)
    DTP_OF_SIZE(type, DTP_LOAD_RAW)
#undef DTP_LOAD_RAW
    dtp_of_bits(type, bits, x);
}
template <class T> DTP_DEVICE uint32_t dtp_integer_bits(float x) {
    T y;
    dtp_from_f32(x, y);
    return (uint32_t)y;
}
template <class T> DTP_DEVICE uint32_t dtp_half_bits(float x) {
    T y;
    dtp_from_f32(x, y);
    return y.bits;
}
template <int V>
DTP_DEVICE void dtp_store_any(int type, void *data, int64_t at, int64_t step, bool aligned, int m,
                              const float (&x)[V]) {
    uint32_t bits[V];
    switch (type) {
    case dnnl_tp_f32: DTP_EACH(V, bits[k] = __float_as_uint(x[k])); break;
    case dnnl_tp_bf16: DTP_EACH(V, bits[k] = dtp_half_bits<dtp_bf16>(x[k])); break;
    case dnnl_tp_f16: DTP_EACH(V, bits[k] = dtp_half_bits<dtp_f16>(x[k])); break;
    case dnnl_tp_s32: DTP_EACH(V, bits[k] = dtp_integer_bits<int32_t>(x[k])); break;
    case dnnl_tp_s8: DTP_EACH(V, bits[k] = dtp_integer_bits<int8_t>(x[k])); break;
    default: DTP_EACH(V, bits[k] = dtp_integer_bits<uint8_t>(x[k])); break;
    }
#define DTP_STORE_RAW(RAW) dtp_store_raw<RAW, V>(data, at, step, aligned, m, bits)
    DTP_OF_SIZE(type, DTP_STORE_RAW)
#undef DTP_STORE_RAW
}
DTP_DEVICE float dtp_load_one(int type, const void *data, int64_t at) {
    float x[1];
    dtp_load_any(type, data, at, 0, false, 1, x);
    return x[0];
}
DTP_DEVICE void dtp_store_one(int type, void *data, int64_t at, float value) {
    const float x[1] = {value};
    dtp_store_any(type, data, at, 0, false, 1, x);
}

DTP_DEVICE float dtp_scale(const dtp_gpu_scale_t &s) {
    return s.data ? dtp_load_one((int)s.type, s.data, 0) : 1.f;
}

/* ---- Lines -------------------------------------------------------------------------------------------- */

/* Where a line begins in a tensor that has n elements in each. */
DTP_DEVICE int64_t dtp_line_start(const dtp_gpu_lines_t &lines, int64_t line, int64_t n) {
    return line / lines.inner * n * lines.inner + line % lines.inner;
}

/* ---- Walks -------------------------------------------------------------------------------------------- */

/* n < 2^31. */
DTP_DEVICE uint32_t dtp_div(uint32_t n, const dtp_gpu_dim_t &d) {
    return __umulhi(2 * n, d.multiplier) >> (uint32_t)d.shift;
}

struct dtp_position {
    uint32_t at[DTP_GPU_DIMS]; /* innermost first */
};
DTP_DEVICE dtp_position dtp_decode(const dtp_gpu_dims_t &dims, int64_t index) {
    dtp_position p;
    if (dims.wide) {
        int64_t left = index;
#pragma unroll
        for (int d = 0; d < DTP_GPU_DIMS; ++d) {
            p.at[d] = 0;
            if (d >= dims.ndims) continue;
            const int64_t next = (int64_t)(__umul64hi(2 * (uint64_t)left, dims.dim[d].wide_multiplier) >>
                                           (uint32_t)dims.dim[d].shift);
            p.at[d] = (uint32_t)left - (uint32_t)next * dims.dim[d].size;
            left = next;
        }
        return p;
    }
    uint32_t rest = (uint32_t)index;
#pragma unroll
    for (int d = 0; d < DTP_GPU_DIMS; ++d) {
        const uint32_t next = d + 1 < dims.ndims ? dtp_div(rest, dims.dim[d]) : 0;
        p.at[d] = rest - next * dims.dim[d].size;
        rest = next;
    }
    return p;
}
/* Elements from element 0; S: int64_t or int32_t, innermost first. */
template <class S> DTP_DEVICE int64_t dtp_offset(const dtp_position &p, int ndims, const S *stride) {
    int64_t offset = (int64_t)p.at[0] * stride[0];
#pragma unroll
    for (int d = 1; d < DTP_GPU_DIMS; ++d)
        if (d < ndims) offset += (int64_t)p.at[d] * stride[d];
    return offset;
}
DTP_DEVICE int64_t dtp_offset(const dtp_position &p, const dtp_gpu_dims_t &dims, const dtp_gpu_tensor_t &t) {
    return dtp_offset(p, dims.ndims, t.stride);
}
/* A run of a tensor from the position. */
template <int V>
DTP_DEVICE void dtp_read(const dtp_gpu_tensor_t &t, const dtp_gpu_dims_t &dims, const dtp_position &p, int m,
                         float (&x)[V]) {
    dtp_load_any(t.type, t.data, dtp_offset(p, dims, t), t.stride[0], t.aligned, m, x);
}
template <int V>
DTP_DEVICE void dtp_write(const dtp_gpu_tensor_t &t, const dtp_gpu_dims_t &dims, const dtp_position &p, int m,
                          const float (&x)[V]) {
    dtp_store_any(t.type, t.data, dtp_offset(p, dims, t), t.stride[0], t.aligned, m, x);
}

/* The thread's number in a grid of one dimension, and how many there are. */
DTP_DEVICE int64_t dtp_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
DTP_DEVICE int64_t dtp_threads() { return (int64_t)gridDim.x * blockDim.x; }

#endif
