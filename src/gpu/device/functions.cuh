/* The functions of common/base/elementwise.inc on the device, by index: dtp_unary, dtp_binary. */
#ifndef DTP_GPU_DEVICE_FUNCTIONS_CUH
#define DTP_GPU_DEVICE_FUNCTIONS_CUH

#include "gpu/device/device.cuh"

/* What the expressions of the table call. */
template <class T> DTP_DEVICE T dtp_unit(T x) { return x < 0 ? T(0) : x > 1 ? T(1) : x; }
template <class T> DTP_DEVICE T dtp_larger(T x, T y) { return x > y || x != x ? x : y; }
template <class T> DTP_DEVICE T dtp_smaller(T x, T y) { return x < y || x != x ? x : y; }
template <class T> DTP_DEVICE T dtp_quotient(T x, T y) {
    if (y == T(-1)) return T(0) - x;
    return y == 0 ? T(0) : x / y;
}
template <> __device__ __forceinline__ float dtp_quotient(float x, float y) { return x / y; }
/* x / (1 + exp(u)), also where exp(u) or its inverse is no normal number. */
template <class X, class T> DTP_DEVICE T dtp_gate(X x, T u) {
    const T e = exp(u > 80 ? T(-.5) * u : u);
    return u > 80 ? T(x) * e * e : T(x) / (1 + e);
}

/* dtp_table<f>::of, dtp_table2<f>::of: the expression of the table on values of T. */
template <int F> struct dtp_table;
template <int F> struct dtp_table2;
#define DTP_EW1(name, number, types, ns, unroll, vector, scalar)                                       \
    template <> struct dtp_table<DTP_EW_##name> {                                                      \
        template <class T> static __device__ __forceinline__ T of(T x, T a, T b) { return T(scalar); } \
    };
#define DTP_EW2(name, number, types, vector, scalar)                                              \
    template <> struct dtp_table2<DTP_EW_##name> {                                                \
        template <class T> static __device__ __forceinline__ T of(T x, T y) { return T(scalar); } \
    };
#include "common/base/elementwise.inc"

/* In f32: the table's, but where that needs the range or the digits of f64. */
template <int F> struct dtp_unary_f32 : dtp_table<F> {};
/* log(1 + exp(a x)) / a */
DTP_DEVICE float dtp_soft_relu(float x, float a) {
    const float u = a * x;
    if (u < -80.f) return dtp_gate(1 / a, -u);
    return (u > 0.f ? x : 0.f) + log1pf(expf(-fabsf(u))) / a;
}
template <> struct dtp_unary_f32<DTP_EW_soft_relu> {
    static __device__ __forceinline__ float of(float x, float a, float) { return dtp_soft_relu(x, a); }
};
template <> struct dtp_unary_f32<DTP_EW_mish> {
    static __device__ __forceinline__ float of(float x, float, float) {
        return x < -80.f ? dtp_gate(x, -x) : x * tanhf(dtp_soft_relu(x, 1.f));
    }
};
template <> struct dtp_unary_f32<DTP_EW_gelu_tanh> {
    static __device__ __forceinline__ float of(float x, float, float) {
        return dtp_gate(x, -1.5957691216057308f * x * (1 + 0.044715f * x * x));
    }
};
template <> struct dtp_unary_f32<DTP_EW_gelu_erf> {
    static __device__ __forceinline__ float of(float x, float, float) {
        return .5f * x * erfcf(-x * 0.70710678118654752f);
    }
};

/* x = f(x; a, b). Elements take turns in the first places of x, TURN at a time: the code of all functions is long. */
template <int V> DTP_DEVICE void dtp_unary(int function, float a, float b, float (&x)[V]) {
    enum { TURN = V < 2 ? V : 2 };
#pragma unroll 1
    for (int turn = 0; turn < V; turn += TURN) {
        switch (function) {
#define DTP_UNARY(name)                                         \
    case DTP_EW_##name:                                         \
        _Pragma("unroll") for (int k = 0; k < TURN; ++k) x[k] = \
            dtp_unary_f32<DTP_EW_##name>::of(x[k], a, b);       \
        break;
#define DTP_EW1(name, number, types, ...) DTP_EW_F32_##types(DTP_UNARY, name)
#include "common/base/elementwise.inc"
#undef DTP_UNARY
        default: break;
        }
        float first[TURN];
#pragma unroll
        for (int k = 0; k < TURN; ++k) first[k] = x[k];
#pragma unroll
        for (int k = 0; k < V; ++k) x[k] = k + TURN < V ? x[k + TURN] : first[k + TURN - V];
    }
}

/* x = f(x, y). */
template <int V> DTP_DEVICE void dtp_binary(int function, float (&x)[V], const float (&y)[V]) {
    switch (function) {
#define DTP_BINARY(name)                                                                                \
    case DTP_EW_##name:                                                                                 \
        _Pragma("unroll") for (int k = 0; k < V; ++k) x[k] = dtp_table2<DTP_EW_##name>::of(x[k], y[k]); \
        break;
#define DTP_EW2(name, number, types, ...) DTP_EW_F32_##types(DTP_BINARY, name)
#include "common/base/elementwise.inc"
#undef DTP_BINARY
    default: break;
    }
}

/* x = c != 0 ? x : y. */
template <int V> DTP_DEVICE void dtp_select(const float (&c)[V], float (&x)[V], const float (&y)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = c[k] != 0.f ? x[k] : y[k];
}

#endif
