/* Tables of element-wise functions; see elementwise.h. */
#include "common/base/elementwise.h"

#include "common/base/scalar_op.h"

#define INDEX(number, name) \
    case number: return DTP_EW_##name

int dtp_ew_unary(int alg) {
    switch (alg) {
#define DTP_EW1(name, number, ...) INDEX(number, name);
#define DTP_EW1_ALIAS(name, number, of) INDEX(number, of);
#include "common/base/elementwise.inc"
    default: return -1;
    }
}

int dtp_ew_binary(int alg) {
    switch (alg) {
#define DTP_EW2(name, number, ...) INDEX(number, name);
#define DTP_EW3(name, number, ...) INDEX(number, name);
#include "common/base/elementwise.inc"
    default: return -1;
    }
}

bool dtp_ew_takes(int alg, dnnl_tp_data_type_t dt) {
    static const unsigned unary[] = {
#define DTP_EW1(name, number, types, ...) DTP_EW_TYPES_##types,
#include "common/base/elementwise.inc"
    };
    static const unsigned binary[] = {
#define DTP_EW2(name, number, types, ...) DTP_EW_TYPES_##types,
#define DTP_EW3(name, number, types, ...) DTP_EW_TYPES_##types,
#include "common/base/elementwise.inc"
    };
    const int one = dtp_ew_unary(alg), two = dtp_ew_binary(alg);
    const unsigned types = one >= 0 ? unary[one] : two >= 0 ? binary[two] : 0;
    return (unsigned)dt < 32 && types >> dt & 1;
}

dnnl_tp_data_type_t dtp_ew_arithmetic(dnnl_tp_data_type_t dt, bool exact) {
    switch (dt) {
    case dnnl_tp_f64:
    case dnnl_tp_s64:
    case dnnl_tp_boolean: return dt;
    case dnnl_tp_s32:
    case dnnl_tp_s8:
    case dnnl_tp_u8: return exact ? dt : dnnl_tp_f32;
    default: return dnnl_tp_f32;
    }
}

/* Compiled with -fwrapv (src/CMakeLists.txt). */
#define INTEGERS(name, number, types, vector, scalar) \
    case number: v = scalar; break

bool dtp_ew_integers(int alg, dnnl_tp_data_type_t dt, int64_t x, int64_t y, int64_t *z) {
    int64_t v;
    if (!dtp_ew_takes(alg, dt)) return false;
    switch (alg) {
#define DTP_EW2(...) INTEGERS(__VA_ARGS__);
#include "common/base/elementwise.inc"
    default: return false;
    }
    switch (dt) {
    case dnnl_tp_s64: *z = v; return true;
    case dnnl_tp_s32: *z = (int32_t)v; return true;
    case dnnl_tp_s8: *z = (int8_t)v; return true;
    case dnnl_tp_u8: *z = (uint8_t)v; return true;
    default: return false;
    }
}

bool dtp_ew_params_fit(dnnl_tp_data_type_t arithmetic, float alpha, float beta) {
    if (arithmetic == dnnl_tp_f32 || arithmetic == dnnl_tp_f64) return true;
    return truncf(alpha) == alpha && truncf(beta) == beta;
}

bool dtp_alg_is_eltwise(dnnl_tp_alg_kind_t alg) { return dtp_ew_unary(alg) >= 0 && (int)alg < DTP_ALG_erf; }

bool dtp_alg_is_binary(dnnl_tp_alg_kind_t alg) { return dtp_ew_binary(alg) >= 0 && (int)alg >= DTP_ALG_add; }

bool dtp_alg_is_binary_post(dnnl_tp_alg_kind_t alg) {
    return dtp_alg_is_binary(alg) || (int)alg == DTP_ALG_maximum || (int)alg == DTP_ALG_minimum;
}
