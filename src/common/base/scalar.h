/* Single elements of any type by data type, in double. Conversions: common/base/half.h; vector
 * rows: cpu/simd/vops.h. */
#ifndef DTP_COMMON_BASE_SCALAR_H
#define DTP_COMMON_BASE_SCALAR_H

#include <math.h>
#include <string.h>

#include "common/base/base.h"
#include "common/base/half.h"

/* The value of a predicate: its element, of type f32, s32 or s64, or a byte. */
static inline bool dtp_is_true(const void *p, int type) {
    float f;
    int32_t i;
    int64_t n;
    switch (type) {
    case dnnl_tp_f32: memcpy(&f, p, sizeof f); return f != 0.f;
    case dnnl_tp_s32: memcpy(&i, p, sizeof i); return i != 0;
    case dnnl_tp_s64: memcpy(&n, p, sizeof n); return n != 0;
    default: return *(const uint8_t *)p != 0;
    }
}

/* Types all of whose values are floats: what kernels of rows load and store through f32. */
static inline bool dtp_dt_fits_f32(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16 || dt == dnnl_tp_s8 ||
           dt == dnnl_tp_u8;
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

/* The same for s64, the greatest of which is no double. */
static inline int64_t dtp_saturate_s64(double v) {
    return v >= 0x1p63 ? INT64_MAX : (int64_t)dtp_saturate(v, (double)INT64_MIN, 0x1p63);
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
    case dnnl_tp_s64: ((int64_t *)data)[i] = dtp_saturate_s64(v); break;
    default: break;
    }
}

#endif
