/* Single elements of any type, for reference implementations. Vector rows: cpu/simd/vops.h. */
#ifndef DTP_CPU_SCALAR_H
#define DTP_CPU_SCALAR_H

#include <math.h>
#include <string.h>

#include "common/base.h"

static inline float dtp_bf16_to_f32(uint16_t v) {
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Round to nearest even; NaN stays NaN. */
static inline uint16_t dtp_f32_to_bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f != f) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float dtp_f16_to_f32(uint16_t v) {
    uint32_t sign = (uint32_t)(v & 0x8000) << 16, exponent = v >> 10 & 0x1f, mantissa = v & 0x3ff;
    float f;
    if (exponent == 0x1f) {
        uint32_t bits = sign | 0x7f800000 | mantissa << 13;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    if (exponent == 0) {
        f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Round to nearest even; overflow becomes infinity. */
static inline uint16_t dtp_f32_to_f16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return sign | 0x7c00;
    if (magnitude < 0x38800000) { /* subnormal result: the addition rounds */
        float magic = 0.5f, value;
        memcpy(&value, &magnitude, sizeof value);
        value += magic;
        uint32_t rounded;
        memcpy(&rounded, &value, sizeof rounded);
        return (uint16_t)(sign | (rounded - 0x3f000000));
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
}

static inline double dtp_load(dnnl_tp_data_type_t dt, const void *data, int64_t i) {
    switch (dt) {
    case dnnl_tp_f32: return ((const float *)data)[i];
    case dnnl_tp_bf16: return dtp_bf16_to_f32(((const uint16_t *)data)[i]);
    case dnnl_tp_f16: return dtp_f16_to_f32(((const uint16_t *)data)[i]);
    case dnnl_tp_s32: return ((const int32_t *)data)[i];
    case dnnl_tp_s8: return ((const int8_t *)data)[i];
    case dnnl_tp_u8: return ((const uint8_t *)data)[i];
    case dnnl_tp_f64: return ((const double *)data)[i];
    case dnnl_tp_s64: return (double)((const int64_t *)data)[i];
    default: return 0;
    }
}

/* Integers: round to nearest even, saturate; NaN becomes 0. */
static inline double dtp_saturate(double v, double lo, double hi) {
    if (v != v) return 0;
    v = nearbyint(v);
    return v < lo ? lo : v > hi ? hi : v;
}

static inline void dtp_store(dnnl_tp_data_type_t dt, void *data, int64_t i, double v) {
    switch (dt) {
    case dnnl_tp_f32: ((float *)data)[i] = (float)v; break;
    case dnnl_tp_bf16: ((uint16_t *)data)[i] = dtp_f32_to_bf16((float)v); break;
    case dnnl_tp_f16: ((uint16_t *)data)[i] = dtp_f32_to_f16((float)v); break;
    case dnnl_tp_s32: ((int32_t *)data)[i] = (int32_t)dtp_saturate(v, INT32_MIN, INT32_MAX); break;
    case dnnl_tp_s8: ((int8_t *)data)[i] = (int8_t)dtp_saturate(v, INT8_MIN, INT8_MAX); break;
    case dnnl_tp_u8: ((uint8_t *)data)[i] = (uint8_t)dtp_saturate(v, 0, UINT8_MAX); break;
    case dnnl_tp_f64: ((double *)data)[i] = v; break;
    case dnnl_tp_s64: ((int64_t *)data)[i] = (int64_t)v; break;
    default: break;
    }
}

#endif
