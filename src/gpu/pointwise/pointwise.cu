/* The functions of common/problems/graph/pointwise.inc, selections, changes of types. A thread moves a run of elements, or, in kernels
 * whose names end in _each, one element of any strides. */
#include "common/problems/graph/pointwise_functions.h"
#include "gpu/pointwise/angles.cuh"
#include "gpu/pointwise/pointwise_args.h"

enum { THREADS = 256 };

/* ---- Elements ----------------------------------------------------------------------------------------- */

/* How a value lies in memory: a boolean as a byte, of which any but 0 is true. */
template <class T> struct stored_t { typedef T type; };
template <> struct stored_t<bool> { typedef uint8_t type; };

/* A run of the tensor from the position, as values: its elements lie behind each other, or are one. */
template <class T, int V>
DTP_DEVICE void read(const dtp_gpu_tensor_t &t, const dtp_gpu_dims_t &dims, const dtp_position &p, int m,
                     T (&x)[V]) {
    typedef typename stored_t<T>::type S;
    typedef dtp_run<S, V> run_t;
    const S *from = (const S *)t.data + dtp_offset(p, dims, t);
    if (V == 1 || t.stride[0] == 0) {
        const T value = (T)*from;
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = value;
    } else if (t.aligned && m >= V) {
        run_t run;
#pragma unroll
        for (int i = 0; i < run_t::PIECES; ++i) run.piece[i] = ((const typename run_t::piece_t *)from)[i];
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = (T)run.at[k];
    } else {
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = k < m ? (T)from[k] : T();
    }
}
/* at: the offset of the run. */
template <class T, int V>
DTP_DEVICE void write(const dtp_gpu_tensor_t &t, int64_t at, int m, const T (&x)[V]) {
    typedef typename stored_t<T>::type S;
    typedef dtp_run<S, V> run_t;
    S *to = (S *)t.data + at;
    if (V > 1 && t.aligned && m >= V) {
        run_t run;
#pragma unroll
        for (int k = 0; k < V; ++k) run.at[k] = (S)x[k];
#pragma unroll
        for (int i = 0; i < run_t::PIECES; ++i) ((typename run_t::piece_t *)to)[i] = run.piece[i];
    } else {
#pragma unroll
        for (int k = 0; k < V; ++k)
            if (k < m) to[k] = (S)x[k];
    }
}

/* Calls body for the thread's run: its position, its offset in dst, and how many of its elements exist. */
template <int V, class BODY> DTP_DEVICE void for_run(const dtp_gpu_pointwise_args_t &a, BODY body) {
    const int64_t i = V * dtp_thread();
    if (i >= a.dims.n) return;
    const dtp_position p = dtp_decode(a.dims, i);
    body(p, dtp_offset(p, a.dims, a.dst), (int)min((int64_t)V, a.dims.n - i));
}

/* ---- Functions of one and two sources ------------------------------------------------------------------- */

/* The columns of the table. */
enum { FLOATS = 1, INTEGERS = 2, BOOLEAN = 4, NUMBERS = FLOATS | INTEGERS, ALL = NUMBERS | BOOLEAN };
enum { SAME, TRUTH };
template <class T> struct set_of_t {
    enum { set = INTEGERS };
};
template <> struct set_of_t<float> {
    enum { set = FLOATS };
};
template <> struct set_of_t<bool> {
    enum { set = BOOLEAN };
};

/* A kernel has those of one family, so that none carries the code of all. */
enum { COMPARISON, NUMBER, MATH };
template <int TYPES, int RESULT> struct family_of_t {
    enum { family = RESULT == TRUTH ? COMPARISON : TYPES == FLOATS ? MATH : NUMBER };
};

/* z = f(x, y) */
template <int FAMILY, class T, class R, int N>
DTP_DEVICE void apply(int function, const T (&xs)[N], const T (&ys)[N], R (&zs)[N]) {
    switch (function) {
#define DTP_PW(name, nsrc, types, result, expression)                                                    \
    case DTP_PW_##name:                                                                                  \
        if constexpr ((int)family_of_t<types, result>::family == FAMILY && (types & set_of_t<T>::set)) { \
            _Pragma("unroll") for (int k = 0; k < N; ++k) {                                              \
                const T x = xs[k], y = ys[k];                                                            \
                (void)y;                                                                                 \
                zs[k] = (R)(expression);                                                                 \
            }                                                                                            \
        }                                                                                                \
        break;
#include "common/problems/graph/pointwise.inc"
    default: break;
    }
}

template <class T, int V> DTP_DEVICE void compare(const dtp_gpu_pointwise_args_t &a) {
    for_run<V>(a, [&](const dtp_position &p, int64_t to, int m) {
        T x[V], y[V];
        bool z[V] = {};
        read(a.src0, a.dims, p, m, x);
        read(a.src1, a.dims, p, m, y);
        apply<COMPARISON>((int)a.function, x, y, z);
        write(a.dst, to, m, z);
    });
}

/* Elements take turns in the first place: the code of all functions is long. */
template <int FAMILY, class T, int V> DTP_DEVICE void compute(const dtp_gpu_pointwise_args_t &a) {
    for_run<V>(a, [&](const dtp_position &p, int64_t to, int m) {
        T x[V], y[V] = {};
        read(a.src0, a.dims, p, m, x);
        if (FAMILY == NUMBER && a.src1.data) read(a.src1, a.dims, p, m, y);
#pragma unroll 1
        for (int turn = 0; turn < V; ++turn) {
            const T first[1] = {x[0]}, second[1] = {y[0]};
            T z[1] = {};
            apply<FAMILY>((int)a.function, first, second, z);
#pragma unroll
            for (int k = 0; k < V; ++k) {
                x[k] = k + 1 < V ? x[k + 1] : z[0];
                y[k] = k + 1 < V ? y[k + 1] : second[0];
            }
        }
        write(a.dst, to, m, x);
    });
}

/* ---- Selections and changes of types -------------------------------------------------------------------- */

/* T: any type of the size of an element. */
template <class T, int V> DTP_DEVICE void select(const dtp_gpu_pointwise_args_t &a) {
    for_run<V>(a, [&](const dtp_position &p, int64_t to, int m) {
        bool c[V];
        T x[V], y[V];
        read(a.src0, a.dims, p, m, c);
        read(a.src1, a.dims, p, m, x);
        read(a.src2, a.dims, p, m, y);
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = c[k] ? x[k] : y[k];
        write(a.dst, to, m, x);
    });
}

/* A value as another type. */
template <class T> DTP_DEVICE T limited(float x);
template <> __device__ __forceinline__ float limited(float x) { return x; }
template <> __device__ __forceinline__ int64_t limited(float x) { return pw_to_s64_f32(x); }
template <> __device__ __forceinline__ int32_t limited(float x) { return pw_to_s32_f32(x); }
template <> __device__ __forceinline__ int8_t limited(float x) { return pw_to_s8_f32(x); }
template <> __device__ __forceinline__ uint8_t limited(float x) { return pw_to_u8_f32(x); }
template <> __device__ __forceinline__ bool limited(float x) { return x != 0; }
template <class T> DTP_DEVICE void cast_to(float x, T &y) { y = limited<T>(x); }
template <class T> DTP_DEVICE void cast_to(int64_t x, T &y) { y = (T)x; }

/* Reads elements of type E as values of type T: integers as those of 64 bits. */
template <class E, class T, int V>
DTP_DEVICE void read_as(const dtp_gpu_tensor_t &t, const dtp_gpu_dims_t &dims, const dtp_position &p, int m,
                        T (&x)[V]) {
    E y[V];
    read(t, dims, p, m, y);
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = (T)y[k];
}
template <class E, class T, int V>
DTP_DEVICE void write_as(const dtp_gpu_tensor_t &t, int64_t at, int m, const T (&x)[V]) {
    E y[V];
#pragma unroll
    for (int k = 0; k < V; ++k) cast_to(x[k], y[k]);
    write(t, at, m, y);
}

/* T: float, or int64_t for all integers. */
template <class T, int V> DTP_DEVICE void cast(const dtp_gpu_pointwise_args_t &a) {
    for_run<V>(a, [&](const dtp_position &p, int64_t to, int m) {
        T x[V];
        switch (set_of_t<T>::set == FLOATS ? dnnl_tp_f32 : a.src0.type) {
        case dnnl_tp_s32: read_as<int32_t>(a.src0, a.dims, p, m, x); break;
        case dnnl_tp_s8: read_as<int8_t>(a.src0, a.dims, p, m, x); break;
        case dnnl_tp_u8: read_as<uint8_t>(a.src0, a.dims, p, m, x); break;
        case dnnl_tp_boolean: read_as<bool>(a.src0, a.dims, p, m, x); break;
        default: read(a.src0, a.dims, p, m, x); break;
        }
        switch (a.dst.type) {
        case dnnl_tp_f32: write_as<float>(a.dst, to, m, x); break;
        case dnnl_tp_s64: write_as<int64_t>(a.dst, to, m, x); break;
        case dnnl_tp_s32: write_as<int32_t>(a.dst, to, m, x); break;
        case dnnl_tp_s8: write_as<int8_t>(a.dst, to, m, x); break;
        case dnnl_tp_u8: write_as<uint8_t>(a.dst, to, m, x); break;
        default: write_as<bool>(a.dst, to, m, x); break;
        }
    });
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

#define COMPARE(type, T)                                                       \
    DTP_KERNEL(dtp_compare_##type##_runs, dtp_gpu_pointwise_args_t, THREADS) { \
        compare<T, 16 / sizeof(T)>(a);                                         \
    }                                                                          \
    DTP_KERNEL(dtp_compare_##type##_each, dtp_gpu_pointwise_args_t, THREADS) { compare<T, 1>(a); }
COMPARE(f32, float)
COMPARE(s64, int64_t)
COMPARE(s32, int32_t)
COMPARE(s8, int8_t)
COMPARE(u8, uint8_t)
COMPARE(boolean, bool)

#define COMPUTE(name, FAMILY, T)                                                                             \
    DTP_KERNEL(dtp_##name##_runs, dtp_gpu_pointwise_args_t, THREADS) { compute<FAMILY, T, DTP_GPU_RUN>(a); } \
    DTP_KERNEL(dtp_##name##_each, dtp_gpu_pointwise_args_t, THREADS) { compute<FAMILY, T, 1>(a); }
COMPUTE(number_f32, NUMBER, float)
COMPUTE(number_s64, NUMBER, int64_t)
COMPUTE(number_s32, NUMBER, int32_t)
COMPUTE(number_s8, NUMBER, int8_t)
COMPUTE(number_u8, NUMBER, uint8_t)
COMPUTE(math_f32, MATH, float)

#define SELECT(bytes, T)                                                                                   \
    DTP_KERNEL(dtp_select_##bytes##_runs, dtp_gpu_pointwise_args_t, THREADS) { select<T, 16 / bytes>(a); } \
    DTP_KERNEL(dtp_select_##bytes##_each, dtp_gpu_pointwise_args_t, THREADS) { select<T, 1>(a); }
SELECT(1, uint8_t)
SELECT(2, uint16_t)
SELECT(4, uint32_t)
SELECT(8, uint64_t)

#define CAST(name, T)                                                                                  \
    DTP_KERNEL(dtp_cast_##name##_runs, dtp_gpu_pointwise_args_t, THREADS) { cast<T, DTP_GPU_RUN>(a); } \
    DTP_KERNEL(dtp_cast_##name##_each, dtp_gpu_pointwise_args_t, THREADS) { cast<T, 1>(a); }
CAST(f32, float)
CAST(integers, int64_t)
