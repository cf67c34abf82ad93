/* setp and set. */
#include <math.h>
#include "internal.h"

/* Bit i: whether the comparison holds in lane i. Ordered comparisons do not hold for NaN, unordered ones do. */
#define COMPARE(name, type)                                                                     \
    static uint32_t name(int op, const type *x, const type *y) {                                \
        uint32_t r = 0;                                                                         \
        switch (op) {                                                                           \
        case CMP_EQ:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] == y[i]) << i;                 \
            break;                                                                              \
        case CMP_NE:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] < y[i] || x[i] > y[i]) << i;   \
            break;                                                                              \
        case CMP_LT:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] < y[i]) << i;                  \
            break;                                                                              \
        case CMP_LE:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] <= y[i]) << i;                 \
            break;                                                                              \
        case CMP_GT:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] > y[i]) << i;                  \
            break;                                                                              \
        case CMP_GE:                                                                            \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] >= y[i]) << i;                 \
            break;                                                                              \
        case CMP_EQU: return ~name(CMP_NE, x, y);                                               \
        case CMP_NEU: return ~name(CMP_EQ, x, y);                                               \
        case CMP_LTU: return ~name(CMP_GE, x, y);                                               \
        case CMP_LEU: return ~name(CMP_GT, x, y);                                               \
        case CMP_GTU: return ~name(CMP_LE, x, y);                                               \
        case CMP_GEU: return ~name(CMP_LT, x, y);                                               \
        case CMP_NUM:                                                                           \
            for (int i = 0; i < LANES; ++i) r |= (uint32_t)(x[i] == x[i] && y[i] == y[i]) << i; \
            break;                                                                              \
        default: return ~name(CMP_NUM, x, y);                                                   \
        }                                                                                       \
        return r;                                                                               \
    }
COMPARE(compare_u32, uint32_t)
COMPARE(compare_s32, int32_t)
COMPARE(compare_u64, uint64_t)
COMPARE(compare_s64, int64_t)
COMPARE(compare_f32, float)
COMPARE(compare_f64, double)

/* Sources of 2 bytes, from bit `shift` on, as f32 (exact). */
static void halves(const lanes_t *a, bool bf16, int shift, float *f) {
    for (int i = 0; i < LANES; ++i) {
        uint32_t h = a->u32[i] >> shift & 0xffff;
        f[i] = bf16 ? ptx_bf16_to_f32(h) : ptx_f16_to_f32(h);
    }
}

static uint32_t compare_half(const insn_t *in, const lanes_t *const *s, int shift) {
    float x[LANES], y[LANES];
    bool bf16 = in->type == T_BF16 || in->type == T_BF16X2;
    halves(s[0], bf16, shift, x);
    halves(s[1], bf16, shift, y);
    return compare_f32(in->op, x, y);
}

static uint32_t compare_s16(const insn_t *in, const lanes_t *const *s) {
    int32_t x[LANES], y[LANES];
    for (int i = 0; i < LANES; ++i) {
        x[i] = (int16_t)s[0]->u32[i];
        y[i] = (int16_t)s[1]->u32[i];
    }
    return compare_s32(in->op, x, y);
}

static uint32_t compare(const insn_t *in, const lanes_t *const *s) {
    switch (in->type) {
    case T_S16: return compare_s16(in, s);
    case T_S32: return compare_s32(in->op, s[0]->s32, s[1]->s32);
    case T_B64:
    case T_U64: return compare_u64(in->op, s[0]->u64, s[1]->u64);
    case T_S64: return compare_s64(in->op, s[0]->s64, s[1]->s64);
    case T_F32: return compare_f32(in->op, s[0]->f32, s[1]->f32);
    case T_F64: return compare_f64(in->op, s[0]->f64, s[1]->f64);
    case T_F16:
    case T_BF16:
    case T_F16X2:
    case T_BF16X2: return compare_half(in, s, 0);
    default: return compare_u32(in->op, s[0]->u32, s[1]->u32);
    }
}

static uint32_t combine(int op, uint32_t r, uint32_t c) {
    return op == BOOL_AND ? r & c : op == BOOL_OR ? r | c : op == BOOL_XOR ? r ^ c : r;
}

/* What set writes for a comparison that holds. */
static uint32_t yes(int type) {
    switch (type) {
    case T_F32: return ptx_f32_bits(1.f);
    case T_F16:
    case T_F16X2: return 0x3c00;
    case T_BF16:
    case T_BF16X2: return 0x3f80;
    case T_U16:
    case T_S16: return 0xffff;
    default: return UINT32_C(0xffffffff);
    }
}

void ptx_compare(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s) {
    uint32_t r = compare(in, s), c = in->op2 == BOOL_NONE ? 0 : s[2]->u32[0];
    bool packed = in->type == T_F16X2 || in->type == T_BF16X2;
    if (in->width[0] == 1 || in->type2 == T_NONE) {
        uint32_t not = packed ? compare_half(in, s, 16) : ~r;
        d[0].u32[0] = combine(in->op2, r, c);
        d[1].u32[0] = combine(in->op2, not, c);
        return;
    }
    r = combine(in->op2, r, c);
    uint32_t value = yes(in->type2);
    if (packed) {
        uint32_t high = combine(in->op2, compare_half(in, s, 16), c);
        value &= 0xffff;
        for (int i = 0; i < LANES; ++i)
            d->u32[i] = (r >> i & 1 ? value : 0) | (high >> i & 1 ? value << 16 : 0);
        return;
    }
    for (int i = 0; i < LANES; ++i) d->u32[i] = r >> i & 1 ? value : 0;
}
