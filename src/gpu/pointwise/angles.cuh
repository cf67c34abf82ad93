/* sin, cos and tan of any angle, in f32. The library's own keep an array on the stack for large angles. */
#ifndef DTP_GPU_POINTWISE_ANGLES_CUH
#define DTP_GPU_POINTWISE_ANGLES_CUH

#include "gpu/device/device.cuh"

/* The binary digits of 2 / pi behind the point, with a word of zeros before them. */
static __device__ const uint32_t dtp_two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                                      0xf534ddc0, 0xdb629599, 0x3c439041};

/* An angle as a number of quarters of a turn, modulo 4, and what is left, at most pi / 4 either way. */
struct dtp_angle {
    int quarters;
    float rest;
};

/* x of 2^16 or more: the product with those digits that matter, modulo 4, in integers. Those before are left out: their products
 * are multiples of 4, since the last eight bits of `mantissa` are zeros. */
DTP_DEVICE dtp_angle dtp_large_angle(float x) {
    const uint32_t bits = __float_as_uint(x), mantissa = bits << 8 | 0x80000000u;
    const int exponent = (int)(bits >> 23 & 255) - 127, shift = exponent & 31;
    if (exponent > 127) return {0, x - x}; /* no number */
    const uint32_t *w = dtp_two_over_pi + exponent / 32;
    const uint32_t a = __funnelshift_l(w[1], w[0], shift), b = __funnelshift_l(w[2], w[1], shift),
                   c = __funnelshift_l(w[3], w[2], shift);
    const uint64_t low = (uint64_t)mantissa * b + ((uint64_t)mantissa * c >> 32);
    const uint64_t high = (uint64_t)mantissa * a + (low >> 32);
    const uint64_t turn = high << 31 | (uint32_t)low >> 1; /* 2^64 is a whole one */
    const int64_t rest = (int64_t)(turn << 2);             /* 2^64 is a quarter */
    const int quarters = (int)(turn >> 62) + (rest < 0);
    const float r = (float)((double)rest * 0x1.921fb54442d18p-64); /* pi / 2 * 2^-64 */
    return {x < 0 ? -quarters : quarters, x < 0 ? -r : r};
}
/* pi / 2 as three floats, the products with which are exact or small. */
DTP_DEVICE dtp_angle dtp_angle_of(float x) {
    if (!(fabsf(x) < 65536.f)) return dtp_large_angle(x);
    const float q = rintf(x * 0x1.45f306p-1f);
    return {(int)q, fmaf(q, 0x1.ee59dap-50f, fmaf(q, 0x1.777a5cp-25f, fmaf(q, -0x1.921fb6p0f, x)))};
}

/* Of at most pi / 4: polynomials whose largest error is least (Chebyshev nodes), below 2^-26. */
DTP_DEVICE float dtp_small_sin(float r) {
    const float z = r * r;
    return fmaf(fmaf(fmaf(-0x1.9ab978p-13f, z, 0x1.110c0ap-7f), z, -0x1.555552p-3f) * z, r, r);
}
DTP_DEVICE float dtp_small_cos(float r) {
    const float z = r * r;
    return fmaf(fmaf(fmaf(fmaf(0x1.9bcb9ap-16f, z, -0x1.6c12bap-10f), z, 0x1.555554p-5f), z, -.5f), z, 1.f);
}
DTP_DEVICE float dtp_sin_of(const dtp_angle &a) {
    const float y = a.quarters & 1 ? dtp_small_cos(a.rest) : dtp_small_sin(a.rest);
    return a.quarters & 2 ? -y : y;
}

/* What the expressions of pointwise.inc call. */
namespace dtp_math {
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::ceil;
using ::cosh;
using ::floor;
using ::sinh;
DTP_DEVICE float sin(float x) { return x == 0 ? x : dtp_sin_of(dtp_angle_of(x)); }
DTP_DEVICE float cos(float x) {
    const dtp_angle a = dtp_angle_of(x);
    return dtp_sin_of({a.quarters + 1, a.rest});
}
DTP_DEVICE float tan(float x) {
    const dtp_angle a = dtp_angle_of(x);
    const float s = dtp_small_sin(a.rest), c = dtp_small_cos(a.rest);
    return x == 0 ? x : a.quarters & 1 ? -c / s : s / c;
}
} // namespace dtp_math

#endif
