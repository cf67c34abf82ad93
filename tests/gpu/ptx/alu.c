/* Integer and bit instructions. */
#include "pure.h"

static uint32_t mul_hi_u64_low(uint64_t a, uint64_t b, uint64_t *high) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    *high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    return (uint32_t)low;
}

static uint64_t mul_hi_u64(uint64_t a, uint64_t b) {
    uint64_t high;
    mul_hi_u64_low(a, b, &high);
    return high;
}

static int64_t mul_hi_s64(int64_t a, int64_t b) {
    return (int64_t)(mul_hi_u64((uint64_t)a, (uint64_t)b) - (a < 0 ? (uint64_t)b : 0) -
                     (b < 0 ? (uint64_t)a : 0));
}

/* Division by zero gives all ones, as GPUs do; the lowest number by -1 gives itself. */
static uint64_t div_u(uint64_t a, uint64_t b) { return b ? a / b : UINT64_MAX; }
static uint64_t rem_u(uint64_t a, uint64_t b) { return b ? a % b : a; }
static int64_t div_s(int64_t a, int64_t b) {
    return b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t rem_s(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }

static int32_t sat_s32(int64_t v) {
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static uint64_t shl(uint64_t a, uint32_t n, uint32_t bits) { return n < bits ? a << n : 0; }
static uint64_t shr_u(uint64_t a, uint32_t n, uint32_t bits) { return n < bits ? a >> n : 0; }
static int64_t shr_s(int64_t a, uint32_t n, uint32_t bits) { return a >> (n < bits ? n : bits - 1); }

static uint32_t popc(uint64_t a) {
    a -= a >> 1 & UINT64_C(0x5555555555555555);
    a = (a & UINT64_C(0x3333333333333333)) + (a >> 2 & UINT64_C(0x3333333333333333));
    a = (a + (a >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(a * UINT64_C(0x0101010101010101) >> 56);
}

static uint32_t clz(uint64_t a, uint32_t bits) {
    uint32_t n = bits;
    for (; a; a >>= 1) --n;
    return n;
}

static uint64_t brev(uint64_t a, uint32_t bits) {
    uint64_t r = 0;
    for (uint32_t i = 0; i < bits; ++i) r |= (a >> i & 1) << (bits - 1 - i);
    return r;
}

/* The highest bit that differs from the sign, or how far it is from the top; ~0: there is none. */
static uint32_t bfind(uint64_t a, uint32_t bits, bool amount) {
    uint32_t n = clz(a, bits);
    return n == bits ? ~UINT32_C(0) : amount ? n : bits - 1 - n;
}

static uint64_t flip_s(int64_t a) { return (uint64_t)(a < 0 ? ~a : a); }

static uint64_t bfe(uint64_t a, uint32_t pos, uint32_t len, uint32_t bits, bool sign) {
    pos &= 0xff;
    len &= 0xff;
    uint32_t at = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
    uint64_t s = sign && len ? a >> at & 1 : 0, r = 0;
    for (uint32_t i = 0; i < bits; ++i) r |= (i < len && pos + i < bits ? a >> (pos + i) & 1 : s) << i;
    return r;
}

static uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t bits) {
    pos &= 0xff;
    len &= 0xff;
    for (uint32_t i = 0; i < len && pos + i < bits; ++i)
        b = (b & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t r = 0;
    if (table & 0x01) r |= ~a & ~b & ~c;
    if (table & 0x02) r |= ~a & ~b & c;
    if (table & 0x04) r |= ~a & b & ~c;
    if (table & 0x08) r |= ~a & b & c;
    if (table & 0x10) r |= a & ~b & ~c;
    if (table & 0x20) r |= a & ~b & c;
    if (table & 0x40) r |= a & b & ~c;
    if (table & 0x80) r |= a & b & c;
    return r;
}

static uint32_t shf(uint32_t low, uint32_t high, uint32_t n, bool left, bool wrap) {
    uint64_t both = (uint64_t)high << 32 | low;
    n = wrap ? n & 31 : n < 32 ? n : 32;
    return left ? (uint32_t)(both << n >> 32) : (uint32_t)(both >> n);
}

static uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        uint32_t k = selector >> 4 * i, byte = (uint32_t)(both >> 8 * (k & 7)) & 0xff;
        if (k & 8) byte = byte & 0x80 ? 0xff : 0;
        r |= byte << 8 * i;
    }
    return r;
}

static uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, bool sign_a, bool sign_b) {
    for (int i = 0; i < 32; i += 8) {
        int x = sign_a ? (int8_t)(a >> i) : (int)(uint8_t)(a >> i),
            y = sign_b ? (int8_t)(b >> i) : (int)(uint8_t)(b >> i);
        c += (uint32_t)(x * y);
    }
    return c;
}

static uint64_t difference(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}
static uint64_t difference_u(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

#define ARITHMETIC(OP, u, s, ub, sb, bits, w, lane, slane, unsign, sign)                               \
    OP(add_##u, "add." ub, w ":" w w, lane, lane, unsign, (unsign)(x + y))                             \
    OP(add_##s, "add." sb, w ":" w w, lane, lane, unsign, (unsign)(x + y))                             \
    OP(sub_##u, "sub." ub, w ":" w w, lane, lane, unsign, (unsign)(x - y))                             \
    OP(sub_##s, "sub." sb, w ":" w w, lane, lane, unsign, (unsign)(x - y))                             \
    OP(mul_lo_##u, "mul.lo." ub, w ":" w w, lane, lane, unsign, (unsign)((uint64_t)x * y))             \
    OP(mul_lo_##s, "mul.lo." sb, w ":" w w, lane, lane, unsign, (unsign)((uint64_t)x * y))             \
    OP(mad_lo_##u, "mad.lo." ub, w ":" w w w, lane, lane, unsign, (unsign)((uint64_t)x * y + z))       \
    OP(mad_lo_##s, "mad.lo." sb, w ":" w w w, lane, lane, unsign, (unsign)((uint64_t)x * y + z))       \
    OP(div_##u, "div." ub, w ":" w w, lane, lane, unsign, (unsign)div_u(x, y))                         \
    OP(div_##s, "div." sb, w ":" w w, lane, lane, sign, (unsign)div_s(x, y))                           \
    OP(rem_##u, "rem." ub, w ":" w w, lane, lane, unsign, (unsign)rem_u(x, y))                         \
    OP(rem_##s, "rem." sb, w ":" w w, lane, lane, sign, (unsign)rem_s(x, y))                           \
    OP(min_##u, "min." ub, w ":" w w, lane, lane, unsign, x < y ? x : y)                               \
    OP(min_##s, "min." sb, w ":" w w, lane, lane, sign, (unsign)(x < y ? x : y))                       \
    OP(max_##u, "max." ub, w ":" w w, lane, lane, unsign, x > y ? x : y)                               \
    OP(max_##s, "max." sb, w ":" w w, lane, lane, sign, (unsign)(x > y ? x : y))                       \
    OP(abs_##s, "abs." sb, w ":" w, lane, lane, sign, (unsign)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x)) \
    OP(neg_##s, "neg." sb, w ":" w, lane, lane, unsign, (unsign)(0 - (uint64_t)x))                     \
    OP(sad_##u, "sad." ub, w ":" w w w, lane, lane, unsign, (unsign)(z + difference_u(x, y)))          \
    OP(sad_##s, "sad." sb, w ":" w w w, lane, lane, sign, (unsign)((uint64_t)z + difference(x, y)))    \
    OP(shr_##u, "shr." ub, w ":" w "w", lane, lane, unsign, (unsign)shr_u(x, b->u32[i], bits))         \
    OP(shr_##s, "shr." sb, w ":" w "w", lane, lane, sign, (unsign)shr_s(x, b->u32[i], bits))

#define BITS(OP, t, tb, bits, w, lane, unsign)                                                 \
    OP(and_##t, "and." tb, w ":" w w, lane, lane, unsign, x &y)                                \
    OP(or_##t, "or." tb, w ":" w w, lane, lane, unsign, x | y)                                 \
    OP(xor_##t, "xor." tb, w ":" w w, lane, lane, unsign, x ^ y)                               \
    OP(not_##t, "not." tb, w ":" w, lane, lane, unsign, (unsign)~x)                            \
    OP(cnot_##t, "cnot." tb, w ":" w, lane, lane, unsign, x == 0)                              \
    OP(shl_##t, "shl." tb, w ":" w "w", lane, lane, unsign, (unsign)shl(x, b->u32[i], bits))   \
    OP(shr_##t, "shr." tb, w ":" w "w", lane, lane, unsign, (unsign)shr_u(x, b->u32[i], bits)) \
    OP(selp_##t, "selp." tb, w ":" w w "p", lane, lane, unsign, c->u32[0] >> i & 1 ? x : y)

#define WORDS(OP, us, si, b_, ub, sb, tb, bits, w, lane, unsign, sign)                                 \
    OP(popc_##b_, "popc." tb, "w:" w, u32, lane, unsign, popc(x))                                      \
    OP(clz_##b_, "clz." tb, "w:" w, u32, lane, unsign, clz(x, bits))                                   \
    OP(brev_##b_, "brev." tb, w ":" w, lane, lane, unsign, (unsign)brev(x, bits))                      \
    OP(bfind_##us, "bfind." ub, "w:" w, u32, lane, unsign, bfind(x, bits, false))                      \
    OP(bfind_##si, "bfind." sb, "w:" w, u32, lane, sign, bfind(flip_s(x), bits, false))                \
    OP(bfind_amount_##us, "bfind.shiftamt." ub, "w:" w, u32, lane, unsign, bfind(x, bits, true))       \
    OP(bfind_amount_##si, "bfind.shiftamt." sb, "w:" w, u32, lane, sign, bfind(flip_s(x), bits, true)) \
    OP(bfe_##us, "bfe." ub, w ":" w "ww", lane, lane, unsign,                                          \
       (unsign)bfe(x, b->u32[i], c->u32[i], bits, false))                                              \
    OP(bfe_##si, "bfe." sb, w ":" w "ww", lane, lane, unsign,                                          \
       (unsign)bfe(x, b->u32[i], c->u32[i], bits, true))                                               \
    OP(bfi_##b_, "bfi." tb, w ":" w w "ww", lane, lane, unsign,                                        \
       (unsign)bfi(x, y, c->u32[i], s[3]->u32[i], bits))                                               \
    OP(slct_##us, "slct." ub ".s32", w ":" w w "w", lane, lane, unsign, c->s32[i] >= 0 ? x : y)        \
    OP(slct_##si, "slct." sb ".s32", w ":" w w "w", lane, lane, unsign, c->s32[i] >= 0 ? x : y)        \
    OP(slct_##b_, "slct." tb ".s32", w ":" w w "w", lane, lane, unsign, c->s32[i] >= 0 ? x : y)

#define OTHERS(OP)                                                                                           \
    OP(add_sat, "add.sat.s32", "w:ww", s32, s32, int32_t, sat_s32((int64_t)x + y))                           \
    OP(sub_sat, "sub.sat.s32", "w:ww", s32, s32, int32_t, sat_s32((int64_t)x - y))                           \
    OP(mul_hi_u16, "mul.hi.u16", "h:hh", u32, u32, uint16_t, (uint32_t)x *y >> 16)                           \
    OP(mul_hi_s16, "mul.hi.s16", "h:hh", u32, u32, int16_t, (uint16_t)((int32_t)x * y >> 16))                \
    OP(mul_hi_u32, "mul.hi.u32", "w:ww", u32, u32, uint32_t, (uint32_t)((uint64_t)x * y >> 32))              \
    OP(mul_hi_s32, "mul.hi.s32", "w:ww", u32, u32, int32_t, (uint32_t)((int64_t)x * y >> 32))                \
    OP(mul_hi_u64_, "mul.hi.u64", "d:dd", u64, u64, uint64_t, mul_hi_u64(x, y))                              \
    OP(mul_hi_s64_, "mul.hi.s64", "d:dd", s64, s64, int64_t, mul_hi_s64(x, y))                               \
    OP(mad_hi_u32, "mad.hi.u32", "w:www", u32, u32, uint32_t, (uint32_t)((uint64_t)x * y >> 32) + z)         \
    OP(mad_hi_s32, "mad.hi.s32", "w:www", u32, u32, int32_t, (uint32_t)((int64_t)x * y >> 32) + (uint32_t)z) \
    OP(mad_hi_u64, "mad.hi.u64", "d:ddd", u64, u64, uint64_t, mul_hi_u64(x, y) + z)                          \
    OP(mad_hi_s64, "mad.hi.s64", "d:ddd", u64, u64, int64_t, (uint64_t)mul_hi_s64(x, y) + (uint64_t)z)       \
    OP(mul_wide_u16, "mul.wide.u16", "w:hh", u32, u32, uint16_t, (uint32_t)x *y)                             \
    OP(mul_wide_s16, "mul.wide.s16", "w:hh", u32, u32, int16_t, (uint32_t)((int32_t)x * y))                  \
    OP(mul_wide_u32, "mul.wide.u32", "d:ww", u64, u32, uint32_t, (uint64_t)x *y)                             \
    OP(mul_wide_s32, "mul.wide.s32", "d:ww", s64, u32, int32_t, (int64_t)x *y)                               \
    OP(mad_wide_u16, "mad.wide.u16", "w:hhw", u32, u32, uint16_t, (uint32_t)x *y + c->u32[i])                \
    OP(mad_wide_s16, "mad.wide.s16", "w:hhw", u32, u32, int16_t, (uint32_t)((int32_t)x * y) + c->u32[i])     \
    OP(mad_wide_u32, "mad.wide.u32", "d:wwd", u64, u32, uint32_t, (uint64_t)x *y + c->u64[i])                \
    OP(mad_wide_s32, "mad.wide.s32", "d:wwd", u64, u32, int32_t, (uint64_t)((int64_t)x * y) + c->u64[i])     \
    OP(mul24_u, "mul24.lo.u32", "w:ww", u32, u32, uint32_t, (x & 0xffffff) * (y & 0xffffff))                 \
    OP(lop3_b32, "lop3.b32", "w:wwww", u32, u32, uint32_t, lop3(x, y, z, s[3]->u32[i]))                      \
    OP(shf_l_wrap, "shf.l.wrap.b32", "w:www", u32, u32, uint32_t, shf(x, y, z, true, true))                  \
    OP(shf_l_clamp, "shf.l.clamp.b32", "w:www", u32, u32, uint32_t, shf(x, y, z, true, false))               \
    OP(shf_r_wrap, "shf.r.wrap.b32", "w:www", u32, u32, uint32_t, shf(x, y, z, false, true))                 \
    OP(shf_r_clamp, "shf.r.clamp.b32", "w:www", u32, u32, uint32_t, shf(x, y, z, false, false))              \
    OP(prmt_b32, "prmt.b32", "w:www", u32, u32, uint32_t, prmt(x, y, z))                                     \
    OP(dp4a_uu, "dp4a.u32.u32", "w:www", u32, u32, uint32_t, dp4a(x, y, z, false, false))                    \
    OP(dp4a_us, "dp4a.u32.s32", "w:www", u32, u32, uint32_t, dp4a(x, y, z, false, true))                     \
    OP(dp4a_su, "dp4a.s32.u32", "w:www", u32, u32, uint32_t, dp4a(x, y, z, true, false))                     \
    OP(dp4a_ss, "dp4a.s32.s32", "w:www", u32, u32, uint32_t, dp4a(x, y, z, true, true))                      \
    OP(slct_f32, "slct.f32.s32", "w:www", u32, u32, uint32_t, c->s32[i] >= 0 ? x : y)                        \
    OP(slct_b_f, "slct.b32.f32", "w:www", u32, u32, uint32_t, c->f32[i] >= 0 ? x : y)                        \
    OP(slct_f_f, "slct.f32.f32", "w:www", u32, u32, uint32_t, c->f32[i] >= 0 ? x : y)                        \
    OP(cvta, "cvta", "d:d", u64, u64, uint64_t, x + (uint64_t)in->offset)                                    \
    OP(createpolicy, "createpolicy", "d:", u64, u64, uint64_t, 0)                                            \
    OP(and_pred, "and.pred", "p:pp", u32, u32, uint32_t, x &y)                                               \
    OP(or_pred, "or.pred", "p:pp", u32, u32, uint32_t, x | y)                                                \
    OP(xor_pred, "xor.pred", "p:pp", u32, u32, uint32_t, x ^ y)                                              \
    OP(not_pred, "not.pred", "p:p", u32, u32, uint32_t, ~x)

#define ALL(OP)                                                                    \
    ARITHMETIC(OP, u16, s16, "u16", "s16", 16, "h", u32, s32, uint16_t, int16_t)   \
    ARITHMETIC(OP, u32, s32, "u32", "s32", 32, "w", u32, s32, uint32_t, int32_t)   \
    ARITHMETIC(OP, u64, s64, "u64", "s64", 64, "d", u64, s64, uint64_t, int64_t)   \
    BITS(OP, b16, "b16", 16, "h", u32, uint16_t)                                   \
    BITS(OP, b32, "b32", 32, "w", u32, uint32_t)                                   \
    BITS(OP, b64, "b64", 64, "d", u64, uint64_t)                                   \
    WORDS(OP, u32, s32, b32, "u32", "s32", "b32", 32, "w", u32, uint32_t, int32_t) \
    WORDS(OP, u64, s64, b64, "u64", "s64", "b64", 64, "d", u64, uint64_t, int64_t) \
    OTHERS(OP)

ALL(PTX_FUNCTION)
static const pure_t list[] = {ALL(PTX_ENTRY)};

pure_fn *ptx_find_int(const char *name, const char **operands) {
    return ptx_find_pure(list, sizeof list / sizeof *list, name, operands);
}
