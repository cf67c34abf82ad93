/* Single instructions in the PTX interpreter, against a table that was written from NVIDIA's definitions (PTX ISA), not from the
 * interpreter: edge values of integers (shifts beyond the width, overflow, fields of no bits), rounding modes, denormals, infinities,
 * NaN, conversions with ties and saturation, comparisons without order.
 * Results that the definitions leave open (division by zero, payloads of NaN) are not asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ptx.h"

/* %0 is the result, %1 to %4 are the operands. regs: a letter for each: h 16 bits, r 32, d 64; the result's first. p in place of the
 * result: a predicate, whose value is 1 or 0. */
typedef struct {
    const char *text, *regs;
    uint64_t in[4], out;
} row_t;

#define NAN16 0xffffffffffff0016 /* some NaN of the result's width */
#define NAN32 0xffffffffffff0032
#define NAN64 0xffffffffffff0064

static const row_t integers[] = {
    {"add.s32 %0, %1, %2;", "rrr", {0x7fffffff, 1}, 0x80000000},
    {"add.sat.s32 %0, %1, %2;", "rrr", {0x7fffffff, 1}, 0x7fffffff},
    {"sub.sat.s32 %0, %1, %2;", "rrr", {0x80000000, 1}, 0x80000000},
    {"add.s64 %0, %1, %2;", "ddd", {0xffffffff, 1}, 0x100000000},
    {"sub.s16 %0, %1, %2;", "hhh", {0x8000, 1}, 0x7fff},
    {"mul.lo.s32 %0, %1, %2;", "rrr", {0x10000, 0x10001}, 0x10000},
    {"mul.hi.u32 %0, %1, %2;", "rrr", {0x80000000, 4}, 2},
    {"mul.hi.s32 %0, %1, %2;", "rrr", {0x80000000, 2}, 0xffffffff},
    {"mul.wide.s32 %0, %1, %2;", "drr", {0xffffffff, 2}, 0xfffffffffffffffe},
    {"mul.wide.u32 %0, %1, %2;", "drr", {0xffffffff, 2}, 0x1fffffffe},
    {"mul.wide.s16 %0, %1, %2;", "rhh", {0xffff, 3}, 0xfffffffd},
    {"mul.hi.u64 %0, %1, %2;", "ddd", {0x8000000000000000, 2}, 1},
    {"mul.hi.s64 %0, %1, %2;", "ddd", {0x8000000000000000, 2}, 0xffffffffffffffff},
    {"mad.lo.s32 %0, %1, %2, %3;", "rrrr", {3, 4, 5}, 17},
    {"mad.hi.u32 %0, %1, %2, %3;", "rrrr", {0x80000000, 4, 1}, 3},
    {"mad.wide.u32 %0, %1, %2, %3;", "drrd", {0xffffffff, 0xffffffff, 1}, 0xfffffffe00000002},
    {"div.s32 %0, %1, %2;", "rrr", {(uint32_t)-7, 2}, (uint32_t)-3},
    {"div.u32 %0, %1, %2;", "rrr", {0xfffffff9, 2}, 0x7ffffffc},
    {"div.s64 %0, %1, %2;", "ddd", {(uint64_t)-7, 2}, (uint64_t)-3},
    {"rem.s32 %0, %1, %2;", "rrr", {(uint32_t)-7, 2}, (uint32_t)-1},
    {"rem.s32 %0, %1, %2;", "rrr", {7, (uint32_t)-2}, 1},
    {"rem.u64 %0, %1, %2;", "ddd", {0x8000000000000007, 16}, 7},
    {"abs.s32 %0, %1;", "rr", {0x80000000}, 0x80000000},
    {"abs.s32 %0, %1;", "rr", {(uint32_t)-5}, 5},
    {"neg.s32 %0, %1;", "rr", {1}, 0xffffffff},
    {"min.s32 %0, %1, %2;", "rrr", {0x80000000, 1}, 0x80000000},
    {"min.u32 %0, %1, %2;", "rrr", {0x80000000, 1}, 1},
    {"max.s64 %0, %1, %2;", "ddd", {0xffffffffffffffff, 0}, 0},
    {"max.u64 %0, %1, %2;", "ddd", {0xffffffffffffffff, 0}, 0xffffffffffffffff},
    {"sad.u32 %0, %1, %2, %3;", "rrrr", {5, 9, 1}, 5},
    {"sad.s32 %0, %1, %2, %3;", "rrrr", {(uint32_t)-5, 9, 1}, 15},
    /* Shifts beyond the width shift everything out. */
    {"shl.b32 %0, %1, %2;", "rrr", {1, 31}, 0x80000000},
    {"shl.b32 %0, %1, %2;", "rrr", {1, 32}, 0},
    {"shl.b32 %0, %1, %2;", "rrr", {1, 0xffffffff}, 0},
    {"shl.b64 %0, %1, %2;", "ddr", {1, 63}, 0x8000000000000000},
    {"shl.b64 %0, %1, %2;", "ddr", {1, 64}, 0},
    {"shr.u32 %0, %1, %2;", "rrr", {0x80000000, 31}, 1},
    {"shr.u32 %0, %1, %2;", "rrr", {0x80000000, 32}, 0},
    {"shr.s32 %0, %1, %2;", "rrr", {0x80000000, 40}, 0xffffffff},
    {"shr.s64 %0, %1, %2;", "ddr", {0x8000000000000000, 100}, 0xffffffffffffffff},
    {"shr.u64 %0, %1, %2;", "ddr", {0x8000000000000000, 63}, 1},
    /* Funnels: d of {b, a}, b above. */
    {"shf.l.wrap.b32 %0, %1, %2, %3;", "rrrr", {0x80000000, 1, 4}, 0x18},
    {"shf.l.wrap.b32 %0, %1, %2, %3;", "rrrr", {0x80000000, 1, 36}, 0x18},
    {"shf.r.wrap.b32 %0, %1, %2, %3;", "rrrr", {0x10, 1, 4}, 0x10000001},
    {"shf.l.clamp.b32 %0, %1, %2, %3;", "rrrr", {0x12345678, 9, 40}, 0x12345678},
    {"shf.r.clamp.b32 %0, %1, %2, %3;", "rrrr", {0x12345678, 9, 40}, 9},
    {"and.b32 %0, %1, %2;", "rrr", {0xf0f0f0f0, 0xff00ff00}, 0xf000f000},
    {"or.b64 %0, %1, %2;", "ddd", {0xf000000000000000, 1}, 0xf000000000000001},
    {"xor.b16 %0, %1, %2;", "hhh", {0xff00, 0xf0f0}, 0x0ff0},
    {"not.b32 %0, %1;", "rr", {0xf}, 0xfffffff0},
    {"cnot.b32 %0, %1;", "rr", {0}, 1},
    {"cnot.b32 %0, %1;", "rr", {5}, 0},
    {"lop3.b32 %0, %1, %2, %3, 0x96;", "rrrr", {0xff, 0x0f, 0x3c}, 0xcc},
    {"lop3.b32 %0, %1, %2, %3, 0xca;", "rrrr", {0xf0, 0xaa, 0x55}, 0xa5},
    {"bfe.u32 %0, %1, %2, %3;", "rrrr", {0x12345678, 8, 8}, 0x56},
    {"bfe.u32 %0, %1, %2, %3;", "rrrr", {0x12345678, 28, 8}, 1},
    {"bfe.s32 %0, %1, %2, %3;", "rrrr", {0x8000, 8, 8}, 0xffffff80},
    {"bfe.s32 %0, %1, %2, %3;", "rrrr", {0x80000000, 28, 8}, 0xfffffff8},
    {"bfe.u32 %0, %1, %2, %3;", "rrrr", {0xffffffff, 8, 0}, 0},
    {"bfi.b32 %0, %1, %2, %3, %4;", "rrrrr", {0xff, 0, 8, 4}, 0xf00},
    {"bfi.b32 %0, %1, %2, %3, %4;", "rrrrr", {0xff, 0x12345678, 8, 0}, 0x12345678},
    {"brev.b32 %0, %1;", "rr", {1}, 0x80000000},
    {"popc.b32 %0, %1;", "rr", {0xf0f0}, 8},
    {"popc.b64 %0, %1;", "rd", {0xffffffffffffffff}, 64},
    {"clz.b32 %0, %1;", "rr", {0}, 32},
    {"clz.b32 %0, %1;", "rr", {1}, 31},
    {"clz.b64 %0, %1;", "rd", {1}, 63},
    {"bfind.u32 %0, %1;", "rr", {0x80000000}, 31},
    {"bfind.u32 %0, %1;", "rr", {0}, 0xffffffff},
    {"bfind.s32 %0, %1;", "rr", {0xffffffff}, 0xffffffff},
    {"bfind.shiftamt.u32 %0, %1;", "rr", {1}, 31},
    {"prmt.b32 %0, %1, %2, %3;", "rrrr", {0x03020100, 0x07060504, 0x7531}, 0x07050301},
    {"prmt.b32 %0, %1, %2, %3;", "rrrr", {0xf0, 0, 0x0008}, 0xf0f0f0ff}, /* the sign of byte 0 */
    {"dp4a.s32.s32 %0, %1, %2, %3;", "rrrr", {0x01020304, 0x01010101, 5}, 15},
    {"dp4a.s32.s32 %0, %1, %2, %3;", "rrrr", {0xffffffff, 0x01010101, 0}, (uint32_t)-4},
    {"dp4a.u32.u32 %0, %1, %2, %3;", "rrrr", {0xffffffff, 0x01010101, 0}, 1020},
    {"slct.u32.s32 %0, %1, %2, %3;", "rrrr", {1, 2, 0xffffffff}, 2},
    {"slct.u32.s32 %0, %1, %2, %3;", "rrrr", {1, 2, 0}, 1},
};

static const row_t floats[] = {
    /* 1 + 2^-24 lies between 1 and the next number. */
    {"add.rn.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x33800000}, 0x3f800000},
    {"add.rn.f32 %0, %1, %2;", "rrr", {0x3f800001, 0x33800000}, 0x3f800002},
    {"add.rz.f32 %0, %1, %2;", "rrr", {0x3f800001, 0x33800000}, 0x3f800001},
    {"add.rp.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x33800000}, 0x3f800001},
    {"add.rm.f32 %0, %1, %2;", "rrr", {0xbf800000, 0xb3800000}, 0xbf800001},
    {"add.f32 %0, %1, %2;", "rrr", {1, 1}, 2},
    {"add.ftz.f32 %0, %1, %2;", "rrr", {1, 1}, 0},
    {"add.ftz.f32 %0, %1, %2;", "rrr", {0x80000001, 0x80000001}, 0x80000000},
    {"add.sat.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x3f800000}, 0x3f800000},
    {"add.sat.f32 %0, %1, %2;", "rrr", {0xbf800000, 0}, 0},
    {"add.sat.f32 %0, %1, %2;", "rrr", {0x7fc00000, 0}, 0}, /* NaN becomes +0 */
    {"add.f32 %0, %1, %2;", "rrr", {0x7f800000, 0xff800000}, NAN32},
    {"sub.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x3f800000}, 0},
    {"mul.f32 %0, %1, %2;", "rrr", {0x00800000, 0x3f000000}, 0x00400000},
    {"mul.ftz.f32 %0, %1, %2;", "rrr", {0x00800000, 0x3f000000}, 0},
    {"mul.f32 %0, %1, %2;", "rrr", {0x7f800000, 0}, NAN32},
    {"fma.rn.f32 %0, %1, %2, %3;", "rrrr", {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
    {"fma.rn.f32 %0, %1, %2, %3;", "rrrr", {0x7f800000, 0, 0}, NAN32},
    {"fma.rz.f32 %0, %1, %2, %3;", "rrrr", {0x3f800000, 0x3f800000, 0xa0000000}, 0x3f7fffff},
    {"min.f32 %0, %1, %2;", "rrr", {0x7fc00000, 0x3f800000}, 0x3f800000},
    {"min.NaN.f32 %0, %1, %2;", "rrr", {0x7fc00000, 0x3f800000}, NAN32},
    {"max.f32 %0, %1, %2;", "rrr", {0x80000000, 0}, 0},
    {"min.f32 %0, %1, %2;", "rrr", {0, 0x80000000}, 0x80000000},
    {"max.ftz.f32 %0, %1, %2;", "rrr", {1, 0x80000000}, 0},
    {"neg.f32 %0, %1;", "rr", {0}, 0x80000000},
    {"abs.f32 %0, %1;", "rr", {0x80000001}, 1},
    {"abs.ftz.f32 %0, %1;", "rr", {0x80000001}, 0},
    {"div.rn.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x40400000}, 0x3eaaaaab},
    {"div.rn.f32 %0, %1, %2;", "rrr", {0x3f800000, 0}, 0x7f800000},
    {"rcp.rn.f32 %0, %1;", "rr", {0x40400000}, 0x3eaaaaab},
    {"rcp.rn.f32 %0, %1;", "rr", {0x80000000}, 0xff800000},
    {"sqrt.rn.f32 %0, %1;", "rr", {0x40000000}, 0x3fb504f3},
    {"sqrt.rn.f32 %0, %1;", "rr", {0xbf800000}, NAN32},
    {"sqrt.rn.f32 %0, %1;", "rr", {0x80000000}, 0x80000000},
    {"rsqrt.approx.f32 %0, %1;", "rr", {0x40800000}, 0x3f000000},
    {"rsqrt.approx.f32 %0, %1;", "rr", {0}, 0x7f800000},
    {"ex2.approx.f32 %0, %1;", "rr", {0x3f800000}, 0x40000000},
    {"ex2.approx.f32 %0, %1;", "rr", {0xff800000}, 0},
    {"lg2.approx.f32 %0, %1;", "rr", {0x41000000}, 0x40400000},
    {"lg2.approx.f32 %0, %1;", "rr", {0}, 0xff800000},
    {"lg2.approx.f32 %0, %1;", "rr", {0xbf800000}, NAN32},
    {"sin.approx.f32 %0, %1;", "rr", {0}, 0},
    {"cos.approx.f32 %0, %1;", "rr", {0}, 0x3f800000},
    {"tanh.approx.f32 %0, %1;", "rr", {0x7f800000}, 0x3f800000},
    {"add.f64 %0, %1, %2;", "ddd", {0x3ff0000000000000, 0x3ca0000000000000}, 0x3ff0000000000000},
    {"add.rp.f64 %0, %1, %2;", "ddd", {0x3ff0000000000000, 0x3ca0000000000000}, 0x3ff0000000000001},
    {"div.rn.f64 %0, %1, %2;", "ddd", {0x3ff0000000000000, 0x4008000000000000}, 0x3fd5555555555555},
    {"fma.rn.f64 %0, %1, %2, %3;",
     "dddd",
     {0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002},
     0x3970000000000000},
    {"sqrt.rn.f64 %0, %1;", "dd", {0x4000000000000000}, 0x3ff6a09e667f3bcd},
    {"max.f64 %0, %1, %2;", "ddd", {0x7ff8000000000000, 0xbff0000000000000}, 0xbff0000000000000},
    {"add.f16 %0, %1, %2;", "hhh", {0x3c00, 0x1000}, 0x3c00}, /* 1 + 2^-11: a tie */
    {"add.f16 %0, %1, %2;", "hhh", {0x7bff, 0x7bff}, 0x7c00},
    {"fma.rn.f16x2 %0, %1, %2, %3;", "rrrr", {0x3c004000, 0x40003c00, 0x3c003c00}, 0x42004200},
    {"fma.rn.bf16x2 %0, %1, %2, %3;", "rrrr", {0x3f803f80, 0x40004000, 0}, 0x40004000},
    {"fma.rn.bf16 %0, %1, %2, %3;", "hhhh", {0x3f80, 0x3f80, 0x3b80}, 0x3f80}, /* 1 + 2^-8: a tie */
};

static const row_t conversions[] = {
    {"cvt.rni.s32.f32 %0, %1;", "rr", {0x40200000}, 2}, /* 2.5 */
    {"cvt.rni.s32.f32 %0, %1;", "rr", {0x40600000}, 4}, /* 3.5 */
    {"cvt.rzi.s32.f32 %0, %1;", "rr", {0xc02ccccd}, (uint32_t)-2},
    {"cvt.rmi.s32.f32 %0, %1;", "rr", {0xc0066666}, (uint32_t)-3},
    {"cvt.rpi.s32.f32 %0, %1;", "rr", {0x40066666}, 3},
    {"cvt.rzi.s32.f32 %0, %1;", "rr", {0x501502f9}, 0x7fffffff}, /* 10^10 */
    {"cvt.rzi.s32.f32 %0, %1;", "rr", {0xff800000}, 0x80000000},
    {"cvt.rzi.s32.f32 %0, %1;", "rr", {0x7fc00000}, 0},
    {"cvt.rzi.u32.f32 %0, %1;", "rr", {0xbf800000}, 0},
    {"cvt.rzi.s64.f32 %0, %1;", "dr", {0x501502f9}, 10000000000},
    {"cvt.rni.f32.f32 %0, %1;", "rr", {0xbf000000}, 0x80000000},
    {"cvt.rmi.f32.f32 %0, %1;", "rr", {0xbf000000}, 0xbf800000},
    {"cvt.rn.f32.s32 %0, %1;", "rr", {0x01000001}, 0x4b800000},
    {"cvt.rp.f32.s32 %0, %1;", "rr", {0x01000001}, 0x4b800001},
    {"cvt.rn.f32.u32 %0, %1;", "rr", {0xffffffff}, 0x4f800000},
    {"cvt.rn.f32.s64 %0, %1;", "rd", {0xffffffffffffffff}, 0xbf800000},
    {"cvt.sat.f32.f32 %0, %1;", "rr", {0x40000000}, 0x3f800000},
    {"cvt.sat.f32.f32 %0, %1;", "rr", {0xbf800000}, 0},
    {"cvt.rn.f16.f32 %0, %1;", "hr", {0x477ff000}, 0x7c00}, /* 65520 */
    {"cvt.rn.f16.f32 %0, %1;", "hr", {0x477fefff}, 0x7bff},
    {"cvt.rn.f16.f32 %0, %1;", "hr", {0x33000000}, 0}, /* 2^-25: a tie */
    {"cvt.rn.f16.f32 %0, %1;", "hr", {0x33000001}, 1},
    {"cvt.rz.f16.f32 %0, %1;", "hr", {0x3f801fff}, 0x3c00},
    {"cvt.f32.f16 %0, %1;", "rh", {0x7c00}, 0x7f800000},
    {"cvt.f32.f16 %0, %1;", "rh", {1}, 0x33800000},
    {"cvt.rn.bf16.f32 %0, %1;", "hr", {0x3f808000}, 0x3f80},
    {"cvt.rn.bf16.f32 %0, %1;", "hr", {0x3f818000}, 0x3f82},
    {"cvt.rn.bf16.f32 %0, %1;", "hr", {0x3f808001}, 0x3f81},
    {"cvt.rn.bf16.f32 %0, %1;", "hr", {0x7f7fffff}, 0x7f80},
    {"cvt.rn.bf16x2.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x40000000}, 0x3f804000},
    {"cvt.rn.f16x2.f32 %0, %1, %2;", "rrr", {0x3f800000, 0x40000000}, 0x3c004000},
    {"cvt.rna.tf32.f32 %0, %1;", "rr", {0x3f801000}, 0x3f802000},
    {"cvt.rna.tf32.f32 %0, %1;", "rr", {0x3f800fff}, 0x3f800000},
    {"cvt.s32.s8 %0, %1;", "rr", {0xff}, 0xffffffff},
    {"cvt.u32.u8 %0, %1;", "rr", {0x1ff}, 0xff},
    {"cvt.s64.s32 %0, %1;", "dr", {0x80000000}, 0xffffffff80000000},
    {"cvt.u64.u32 %0, %1;", "dr", {0x80000000}, 0x80000000},
    {"cvt.u32.u64 %0, %1;", "rd", {0x1234567890abcdef}, 0x90abcdef},
    {"cvt.u32.u16 %0, %1;", "rh", {0xffff}, 0xffff},
    {"cvt.s32.s16 %0, %1;", "rh", {0xffff}, 0xffffffff},
    {"cvt.sat.s8.s32 %0, %1;", "rr", {300}, 127},
    {"cvt.sat.u8.s32 %0, %1;", "rr", {0xffffffff}, 0},
    {"cvt.rn.f32.f64 %0, %1;", "rd", {0x3ff0000010000000}, 0x3f800000},
    {"cvt.f64.f32 %0, %1;", "dr", {1}, 0x36a0000000000000},
};

static const row_t comparisons[] = {
    {"setp.lt.s32 %0, %1, %2;", "prr", {0x80000000, 1}, 1},
    {"setp.lt.u32 %0, %1, %2;", "prr", {0x80000000, 1}, 0},
    {"setp.ge.s64 %0, %1, %2;", "pdd", {0xffffffffffffffff, 0}, 0},
    {"setp.hs.u32 %0, %1, %2;", "prr", {5, 5}, 1},
    {"setp.ne.s16 %0, %1, %2;", "phh", {1, 2}, 1},
    {"setp.eq.f32 %0, %1, %2;", "prr", {0, 0x80000000}, 1},
    {"setp.lt.f32 %0, %1, %2;", "prr", {0x80000000, 0}, 0},
    {"setp.lt.f32 %0, %1, %2;", "prr", {1, 2}, 1},
    {"setp.lt.ftz.f32 %0, %1, %2;", "prr", {1, 2}, 0},
    {"setp.eq.f32 %0, %1, %2;", "prr", {0x7fc00000, 0x7fc00000}, 0},
    {"setp.equ.f32 %0, %1, %2;", "prr", {0x7fc00000, 0}, 1},
    {"setp.ne.f32 %0, %1, %2;", "prr", {0x7fc00000, 0}, 0},
    {"setp.neu.f32 %0, %1, %2;", "prr", {0x7fc00000, 0}, 1},
    {"setp.ltu.f32 %0, %1, %2;", "prr", {0x7fc00000, 0}, 1},
    {"setp.gtu.f32 %0, %1, %2;", "prr", {0, 0x3f800000}, 0},
    {"setp.nan.f32 %0, %1, %2;", "prr", {0, 0x7fc00000}, 1},
    {"setp.num.f32 %0, %1, %2;", "prr", {0, 0x7fc00000}, 0},
    {"setp.num.f64 %0, %1, %2;", "pdd", {0, 0}, 1},
    {"setp.gt.f64 %0, %1, %2;", "pdd", {0x3ff0000000000001, 0x3ff0000000000000}, 1},
    {"setp.lt.f16 %0, %1, %2;", "phh", {0xbc00, 0x3c00}, 1},
};

/* ---- Running a row ----------------------------------------------------------------------------------- */

enum { TEXT = 4096 };

static int bits_of(char c) { return c == 'h' ? 16 : c == 'd' ? 64 : 32; }
static const char *prefix_of(char c) { return c == 'h' ? "%h" : c == 'd' ? "%d" : c == 'p' ? "%p" : "%r"; }

/* A kernel of one thread that loads the operands, executes the instruction and stores the result. */
static void kernel_of(const row_t *row, char text[TEXT]) {
    int n = snprintf(
        text, TEXT,
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n.reg "
        ".pred %%p<8>;\n"
        ".reg .b16 %%h<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<9>;\nld.param.u64 %%d8, [k_param_0];\n");
    for (int i = 1; row->regs[i]; ++i)
        n += snprintf(text + n, TEXT - (size_t)n, "ld.global.b%d %s%d, [%%d8+%d];\n", bits_of(row->regs[i]),
                      prefix_of(row->regs[i]), i, 8 * i);
    for (const char *c = row->text; *c; ++c)
        n += *c == '%' ? snprintf(text + n, TEXT - (size_t)n, "%s", prefix_of(row->regs[c[1] - '0']))
                       : snprintf(text + n, TEXT - (size_t)n, "%c", *c);
    const bool is_predicate = row->regs[0] == 'p';
    if (is_predicate) n += snprintf(text + n, TEXT - (size_t)n, "\nselp.b32 %%r0, 1, 0, %%p0;");
    snprintf(text + n, TEXT - (size_t)n, "\nst.global.b%d [%%d8], %s0;\nret;\n}\n", bits_of(row->regs[0]),
             is_predicate ? "%r" : prefix_of(row->regs[0]));
}

static uint64_t result_of(const row_t *row) {
    static uint64_t memory[8];
    char text[TEXT], error[512] = "";
    kernel_of(row, text);
    ptx_module_t *m = ptx_parse(text, error, sizeof error);
    if (!m) fail_msg("%s\n%s", error, text);
    memset(memory, 0, sizeof memory);
    for (int i = 1; row->regs[i]; ++i) memory[i] = row->in[i - 1];
    const uint64_t address = 1 << 20;
    const ptx_region_t region = {address, sizeof memory, (unsigned char *)memory, NULL};
    const ptx_launch_t launch = {.grid = {1, 1, 1},
                                 .block = {1, 1, 1},
                                 .params = &address,
                                 .regions = &region,
                                 .num_regions = 1,
                                 .seed = 1};
    if (!ptx_run(ptx_find(m, "k"), &launch, error, sizeof error)) fail_msg("%s\n%s", error, text);
    ptx_free(m);
    return memory[0];
}

static bool is_as_wanted(const row_t *row, uint64_t got) {
    if (row->out == NAN16) return (got & 0x7fff) > 0x7c00;
    if (row->out == NAN32) return (got & 0x7fffffff) > 0x7f800000;
    if (row->out == NAN64) return (got & INT64_MAX) > 0x7ff0000000000000;
    return got == row->out;
}

static void check(const row_t *rows, size_t n) {
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t got = result_of(&rows[i]);
        if (is_as_wanted(&rows[i], got)) continue;
        ++wrong;
        fprintf(stderr, "%s of %llx, %llx, %llx, %llx gives %llx, not %llx\n", rows[i].text,
                (unsigned long long)rows[i].in[0], (unsigned long long)rows[i].in[1],
                (unsigned long long)rows[i].in[2], (unsigned long long)rows[i].in[3], (unsigned long long)got,
                (unsigned long long)rows[i].out);
    }
    assert_int_equal(wrong, 0);
}
#define CHECK_ALL(rows)                          \
    static void test_##rows(void **state) {      \
        (void)state;                             \
        check(rows, sizeof rows / sizeof *rows); \
    }
CHECK_ALL(integers)
CHECK_ALL(floats)
CHECK_ALL(conversions)
CHECK_ALL(comparisons)

/* What is not known is refused by name, and so is what is not PTX. */
static void test_refusals(void **state) {
    (void)state;
    static const row_t unknown[] = {{"wgmma.fence.sync.aligned %0;", "r", {0}, 0},
                                    {"frobnicate.b32 %0, %1;", "rr", {0}, 0},
                                    {"add.f8 %0, %1, %2;", "rrr", {0}, 0},
                                    {"add.s32 %0, %1;", "rr", {0}, 0}};
    static const char *const names[] = {"wgmma", "frobnicate", "add", "add"};
    for (int i = 0; i < 4; ++i) {
        char text[TEXT], error[512] = "";
        kernel_of(&unknown[i], text);
        assert_null(ptx_parse(text, error, sizeof error));
        if (!strstr(error, names[i])) fail_msg("'%s' does not name %s", error, names[i]);
    }
    char error[512];
    static const char *const texts[] = {"",
                                        "\x7f"
                                        "ELF",
                                        ".version 9.0\n.target sm_90\n.visible .entry k(", "}", "{{{{"};
    for (int i = 1; i < 5; ++i) {
        ptx_module_t *m = ptx_parse(texts[i], error, sizeof error);
        if (m) fail_msg("'%s' is taken", texts[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers), cmocka_unit_test(test_floats),
                                       cmocka_unit_test(test_conversions), cmocka_unit_test(test_comparisons),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests_name("single instructions", tests, NULL, NULL);
}
