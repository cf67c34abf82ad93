/* Functions of one and of two elements in the arithmetic of s64, s32, s8, u8 and boolean; integers wrap. */
#include "gpu/device/functions.cuh"
#include "gpu/exact/exact_args.h"

enum { THREADS = 256 };

/* By type: an element in memory, and a value. Any byte other than 0 is true. */
template <int TYPE> struct exact_t;
#define EXACT_TYPE(name, store_, value_)         \
    template <> struct exact_t<dnnl_tp_##name> { \
        typedef store_ store;                    \
        typedef value_ value;                    \
    };
EXACT_TYPE(s64, int64_t, int64_t)
EXACT_TYPE(s32, int32_t, int32_t)
EXACT_TYPE(s8, int8_t, int)
EXACT_TYPE(u8, uint8_t, int)
EXACT_TYPE(boolean, uint8_t, bool)

template <int TYPE, class T> DTP_DEVICE T unary(int function, T x, T a, T b) {
    switch (function) {
#define DTP_EW1(name, number, types, ...)                             \
    case DTP_EW_##name:                                               \
        if constexpr ((unsigned)DTP_EW_TYPES_##types >> TYPE & 1)     \
            return dtp_table<DTP_EW_##name>::template of<T>(x, a, b); \
        break;
#include "common/base/elementwise.inc"
    default: break;
    }
    return x;
}
template <int TYPE, class T> DTP_DEVICE T binary(int function, T x, T y) {
    switch (function) {
#define DTP_EW2(name, number, types, ...)                           \
    case DTP_EW_##name:                                             \
        if constexpr ((unsigned)DTP_EW_TYPES_##types >> TYPE & 1)   \
            return dtp_table2<DTP_EW_##name>::template of<T>(x, y); \
        break;
#include "common/base/elementwise.inc"
    default: break;
    }
    return x;
}

template <int TYPE> struct operands_t {
    typedef typename exact_t<TYPE>::store store;
    typedef typename exact_t<TYPE>::value value;

    static __device__ __forceinline__ value read(const dtp_gpu_exact_args_t &a, const dtp_gpu_tensor_t &t,
                                                 const dtp_position &p) {
        return (value)((const store *)t.data)[dtp_offset(p, a.dims, t)];
    }
    static __device__ __forceinline__ void write(const dtp_gpu_exact_args_t &a, const dtp_position &p,
                                                 value z) {
        const int64_t at = dtp_offset(p, a.dims, a.dst);
        if (a.is_truth) ((uint8_t *)a.dst.data)[at] = (store)z != 0;
        else ((store *)a.dst.data)[at] = (store)z;
    }
};

template <int TYPE> DTP_DEVICE void exact_eltwise(const dtp_gpu_exact_args_t &a) {
    typedef operands_t<TYPE> operands;
    typedef typename operands::value value;
    for (int64_t i = dtp_thread(); i < a.dims.n; i += dtp_threads()) {
        const dtp_position p = dtp_decode(a.dims, i);
        operands::write(a, p,
                        unary<TYPE, value>(a.function, operands::read(a, a.src0, p), (value)a.a, (value)a.b));
    }
}
template <int TYPE> DTP_DEVICE void exact_binary(const dtp_gpu_exact_args_t &a) {
    typedef operands_t<TYPE> operands;
    typedef typename operands::value value;
    for (int64_t i = dtp_thread(); i < a.dims.n; i += dtp_threads()) {
        const dtp_position p = dtp_decode(a.dims, i);
        operands::write(
            a, p,
            binary<TYPE, value>(a.function, operands::read(a, a.src0, p), operands::read(a, a.src1, p)));
    }
}

#define KERNELS(name)                                                     \
    DTP_KERNEL(dtp_exact_eltwise_##name, dtp_gpu_exact_args_t, THREADS) { \
        exact_eltwise<dnnl_tp_##name>(a);                                 \
    }                                                                     \
    DTP_KERNEL(dtp_exact_binary_##name, dtp_gpu_exact_args_t, THREADS) { exact_binary<dnnl_tp_##name>(a); }
KERNELS(s64)
KERNELS(s32)
KERNELS(s8)
KERNELS(u8)
KERNELS(boolean)
