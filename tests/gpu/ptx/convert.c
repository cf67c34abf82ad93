/* cvt: between all integers and floats. */
#include <math.h>
#include "internal.h"

static bool is_float(type_t t) {
    return t == T_F16 || t == T_BF16 || t == T_F32 || t == T_F64 || t == T_TF32;
}
static bool is_signed(type_t t) { return t == T_S8 || t == T_S16 || t == T_S32 || t == T_S64; }

static int bits_of(type_t t) {
    switch (t) {
    case T_B8:
    case T_U8:
    case T_S8: return 8;
    case T_B16:
    case T_U16:
    case T_S16:
    case T_F16:
    case T_BF16: return 16;
    case T_B64:
    case T_U64:
    case T_S64:
    case T_F64: return 64;
    default: return 32;
    }
}

static uint64_t extend(uint64_t v, int bits, bool sign) {
    if (bits == 64) return v;
    v &= (UINT64_C(1) << bits) - 1;
    return sign && v >> (bits - 1) ? v | ~((UINT64_C(1) << bits) - 1) : v;
}

static double to_double(uint64_t v, type_t from) {
    switch (from) {
    case T_F16: return (double)ptx_f16_to_f32((uint32_t)v & 0xffff);
    case T_BF16: return (double)ptx_bf16_to_f32((uint32_t)v & 0xffff);
    case T_F32: return (double)ptx_bits_f32((uint32_t)v);
    default: return ptx_bits_f64(v);
    }
}

static double to_integral(double x, round_t mode) {
    switch (mode) {
    case ROUND_RNI: return nearbyint(x);
    case ROUND_RZI: return trunc(x);
    case ROUND_RMI: return floor(x);
    case ROUND_RPI: return ceil(x);
    default: return x;
    }
}

/* Numbers outside of the range become its nearest end. */
static uint64_t float_to_int(double x, type_t from, type_t to) {
    int bits = bits_of(to);
    if (x != x) return from != T_F64 && bits != 64 ? 0 : UINT64_C(1) << (bits - 1);
    double end = ldexp(1., is_signed(to) ? bits - 1 : bits);
    uint64_t max = is_signed(to) ? (UINT64_C(1) << (bits - 1)) - 1
                   : bits == 64  ? UINT64_MAX
                                 : (UINT64_C(1) << bits) - 1;
    if (x >= end) return max;
    if (!is_signed(to)) return x <= 0 ? 0 : (uint64_t)x;
    return x <= -end ? 0 - (max + 1) : (uint64_t)(int64_t)x;
}

static uint64_t saturate_int(uint64_t v, bool sign, type_t to) {
    int bits = bits_of(to);
    bool negative = sign && (int64_t)v < 0;
    if (!is_signed(to)) {
        uint64_t max = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        return negative ? 0 : v > max ? max : v;
    }
    uint64_t max = (UINT64_C(1) << (bits - 1)) - 1;
    if (negative) return (int64_t)v < -(int64_t)max - 1 ? 0 - (max + 1) : v;
    return v > max ? max : v;
}

/* A number of 64 bits as a double, rounded to odd, so that a second rounding is right. */
static double int_to_double(uint64_t v, bool negative) {
    if (v >> 53) v = (v & ~UINT64_C(0x7ff)) | (v & 0x7ff ? 0x800 : 0);
    double x = (double)v;
    return negative ? -x : x;
}

static double flush(double x) { return fabs(x) < 0x1p-126 ? copysign(0., x) : x; }

static uint64_t from_double(double x, const insn_t *in) {
    type_t to = (type_t)in->type;
    round_t mode = in->round == ROUND_NONE || in->round >= ROUND_RNI ? ROUND_RN : (round_t)in->round;
    if (in->sat) x = x > 0. ? x < 1. ? x : 1. : 0.;
    if (to == T_F64) return ptx_f64_bits(x);
    uint32_t bits = ptx_round(x, to, mode);
    return in->ftz && to == T_F32 ? ptx_f32_bits((float)flush((double)ptx_bits_f32(bits))) : bits;
}

static uint64_t convert(uint64_t v, const insn_t *in) {
    type_t from = (type_t)in->type2, to = (type_t)in->type;
    bool sign = is_signed(from), negative = sign && (int64_t)v < 0;
    if (is_float(from)) {
        double x = to_double(v, from);
        if (in->ftz && from == T_F32) x = flush(x);
        x = to_integral(x, (round_t)in->round);
        return is_float(to) ? from_double(x, in) : float_to_int(x, from, to);
    }
    if (!is_float(to)) return in->sat ? saturate_int(v, sign, to) : v;
    uint64_t size = negative ? 0 - v : v;
    /* To f64 the current rounding mode counts. */
    if (to == T_F64) return ptx_f64_bits(negative ? (double)(int64_t)v : (double)v);
    return from_double(int_to_double(size, negative), in);
}

/* The common ones, without a choice for each lane. */
static bool convert_fast(const insn_t *in, lanes_t *restrict d, const lanes_t *a) {
    type_t from = (type_t)in->type2, to = (type_t)in->type;
    uint8_t wd = in->width[0], ws = in->width[in->n_dst];
    if (in->sat || in->ftz) return false;
    if ((to == T_U64 || to == T_S64) && from == T_U32 && wd == 8 && ws == 4) {
        for (int i = 0; i < LANES; ++i) d->u64[i] = a->u32[i];
    } else if ((to == T_U64 || to == T_S64) && from == T_S32 && wd == 8 && ws == 4) {
        for (int i = 0; i < LANES; ++i) d->s64[i] = a->s32[i];
    } else if ((to == T_U32 || to == T_S32) && (from == T_U64 || from == T_S64) && wd == 4 && ws == 8) {
        for (int i = 0; i < LANES; ++i) d->u32[i] = (uint32_t)a->u64[i];
    } else if (to == T_F32 && from == T_F16 && in->round == ROUND_NONE) {
        for (int i = 0; i < LANES; ++i) {
            float f = ptx_f16_to_f32(a->u32[i] & 0xffff);
            d->f32[i] = f == f ? f : ptx_bits_f32(0x7fffffff);
        }
    } else if (to == T_BF16 && from == T_F32 && in->round == ROUND_RN) {
        for (int i = 0; i < LANES; ++i) d->u32[i] = ptx_f32_to_bf16(a->f32[i]);
    } else if (to == T_F32 && from == T_S32 && in->round == ROUND_RN) {
        for (int i = 0; i < LANES; ++i) d->f32[i] = (float)a->s32[i];
    } else {
        return false;
    }
    return true;
}

void ptx_convert(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s) {
    type_t from = (type_t)in->type2, to = (type_t)in->type;
    if (convert_fast(in, d, s[0])) return;
    int bits = bits_of(from), out = bits_of(to), width = in->width[0] * 8;
    for (int i = 0; i < LANES; ++i) {
        uint64_t v = in->width[in->n_dst] == 8 ? s[0]->u64[i] : s[0]->u32[i];
        v = convert(extend(v, bits, is_signed(from)), in);
        v = extend(extend(v, out, is_signed(to)), width, false);
        if (width == 64) d->u64[i] = v;
        else d->u32[i] = (uint32_t)v;
    }
}

/* The first source is the upper half. */
void ptx_convert_pair(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s) {
    type_t half = in->type == T_F16X2 ? T_F16 : T_BF16;
    round_t mode = in->round == ROUND_NONE ? ROUND_RN : (round_t)in->round;
    for (int i = 0; i < LANES; ++i)
        d->u32[i] =
            ptx_round((double)s[0]->f32[i], half, mode) << 16 | ptx_round((double)s[1]->f32[i], half, mode);
}
