/* The PTX interpreter: instructions of whole warps (shfl, vote, match, redux, mma, ldmatrix, cp.async) by their lane maps in
 * the PTX ISA, and what a launch must trap at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "run_text.h"

enum { LANES = 32, WORDS = 16, SEEDS = 10 };

static const shape_t warp = {1, LANES, 1};

/* Runs one warp; the first words of all lanes. */
static void run_warp(const char *text, uint32_t in[LANES][WORDS], uint32_t out[LANES][WORDS]) {
    char error[256];
    memset(out, 0xee, LANES * sizeof *out);
    if (!run_text(text, warp, in[0], LANES * sizeof *in, out[0], LANES * sizeof *out, error))
        fail_msg("%s: %s", text, error);
}

static void test_shfl(void **state) {
    (void)state;
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    uint32_t in[LANES][WORDS], out[LANES][WORDS];
    char text[256];
    for (int i = 0; i < LANES; ++i) in[i][0] = 100 + (uint32_t)i;
    for (int mode = 0; mode < 4; ++mode)
        for (int width = 1; width <= 32; width *= 2)
            for (int b = 0; b < 32; ++b) {
                int c = (32 - width) << 8 | (mode == 0 ? 0 : 31);
                snprintf(text, sizeof text,
                         "ld.global.u32 %%r1, [%%in]; shfl.sync.%s.b32 %%r2|%%p1, %%r1, %d, %d, -1; selp.u32 "
                         "%%r3, 1, 0, %%p1;"
                         "st.global.u32 [%%out], %%r2; st.global.u32 [%%out+4], %%r3;",
                         modes[mode], b, c);
                run_warp(text, in, out);
                for (int i = 0; i < LANES; ++i) {
                    int first = i / width * width, at = i % width;
                    int to = mode == 0 ? at - b : mode == 1 ? at + b : mode == 2 ? at ^ b : b % width;
                    bool inside = mode == 3 || (to >= 0 && to < width);
                    /* Below the segment a butterfly may reach lanes: only above it is the source out of range. */
                    if (mode == 2) inside = (i ^ b) < first + width;
                    int from = mode == 2 ? (inside ? i ^ b : i) : inside ? first + to : i;
                    if (out[i][0] != 100 + (uint32_t)from || out[i][1] != inside)
                        fail_msg("%s, lane %d: %u, %u, not lane %d", text, i, out[i][0], out[i][1], from);
                }
            }
}

/* A clamp below the segment's end, as the c operand allows. */
static void test_shfl_clamp(void **state) {
    (void)state;
    uint32_t in[LANES][WORDS] = {{0}}, out[LANES][WORDS];
    run_warp("shfl.sync.down.b32 %r2|%p1, %lane, 2, 20, -1; selp.u32 %r3, 1, 0, %p1; st.global.v2.u32 "
             "[%out], {%r2, %r3};",
             in, out);
    for (uint32_t i = 0; i < LANES; ++i) {
        assert_int_equal(out[i][0], i + 2 <= 20 ? i + 2 : i);
        assert_int_equal(out[i][1], i + 2 <= 20);
    }
}

static void test_votes(void **state) {
    (void)state;
    uint32_t in[LANES][WORDS] = {{0}}, out[LANES][WORDS];
    run_warp(
        "setp.gt.u32 %p1, %lane, 9; setp.lt.u32 %p2, %lane, 99;"
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.any.pred %p3, %p1, -1; vote.sync.all.pred %p4, %p1, -1;"
        "vote.sync.uni.pred %p5, %p1, -1; vote.sync.all.pred %p6, %p2, -1; vote.sync.ballot.b32 %r2, !%p1, "
        "-1;"
        "selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4; selp.u32 %r5, 1, 0, %p5; selp.u32 %r6, 1, 0, %p6;"
        "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6};"
        "and.b32 %r7, %lane, 3; match.any.sync.b32 %r8, %r7, -1; match.all.sync.b32 %r9|%p7, %r7, -1;"
        "redux.sync.add.u32 %r10, %lane, -1; redux.sync.max.s32 %r11, %r2, -1; redux.sync.xor.b32 %r12, "
        "%lane, -1; activemask.b32 %r13;"
        "st.global.v2.u32 [%out+24], {%r8, %r9}; st.global.v4.u32 [%out+32], {%r10, %r11, %r12, %r13};"
        "setp.lt.u32 %p8, %lane, 4; @%p8 bra A; bra B; A: vote.sync.ballot.b32 %r14, %p8, 15; "
        "redux.sync.min.u32 %r15, %lane, 15;"
        "st.global.v2.u32 [%out+48], {%r14, %r15}; B:",
        in, out);
    for (int i = 0; i < LANES; ++i) {
        const uint32_t want[12] = {0xfffffc00,           0x3ff, 1,   0,     0, 1,
                                   0x11111111u << i % 4, 0,     496, 0x3ff, 0, 0xffffffff};
        for (int k = 0; k < 12; ++k)
            if (out[i][k] != want[k]) fail_msg("word %d of lane %d: %x, not %x", k, i, out[i][k], want[k]);
        if (i < 4 && (out[i][12] != 15 || out[i][13] != 0))
            fail_msg("lane %d of 4: %x %x", i, out[i][12], out[i][13]);
    }
}

typedef enum { BF16, F16, TF32, S8, U8 } kind_t;
enum { F32_SUM, F16_SUM, S32_SUM };

static uint32_t f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Small whole numbers as f16. */
static uint32_t f16_bits(int v) {
    uint32_t sign = v < 0 ? 0x8000 : 0, e = 25, m = (uint32_t)abs(v);
    if (!m) return 0;
    for (; m < 1024; m *= 2) --e;
    return sign | e << 10 | (m & 1023);
}

static uint32_t number(int v, kind_t kind) {
    switch (kind) {
    case BF16: return f32_bits((float)v) >> 16;
    case F16: return f16_bits(v);
    case TF32: return f32_bits((float)v) | 0x1fff; /* the low bits are not read */
    default: return (uint32_t)v & 0xff;
    }
}

typedef struct {
    const char *name;
    kind_t a, b;
    int k, sum;
} mma_t;

/* The fragments' places by the index i of an element in a lane, as the ISA writes them. */
static int a_row(const mma_t *m, int lane, int i) {
    int g = lane >> 2;
    if (m->a == TF32) return i == 0 || i == 2 ? g : g + 8;
    if (m->a >= S8)
        return m->k == 32 ? ((i >= 0 && i < 4) || (i >= 8 && i < 12) ? g : g + 8) : i < 4 ? g : g + 8;
    if (m->k == 8) return i < 2 ? g : g + 8;
    return (i >= 0 && i < 2) || (i >= 4 && i < 6) ? g : g + 8;
}

static int a_col(const mma_t *m, int lane, int i) {
    int t = lane % 4;
    if (m->a == TF32) return i < 2 ? t : t + 4;
    if (m->a >= S8) return i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
    if (m->k == 8) return t * 2 + (i & 1);
    return i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
}

static int b_row(const mma_t *m, int lane, int i) {
    int t = lane % 4;
    if (m->a == TF32) return i == 0 ? t : t + 4;
    if (m->a >= S8) return i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
    return i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
}

static void list_text(char *s, int *at, int first, int n) {
    *at += sprintf(s + *at, "{");
    for (int i = 0; i < n; ++i) *at += sprintf(s + *at, i ? ",%%r%d" : "%%r%d", first + i);
    *at += sprintf(s + *at, "}");
}

/* Values that tell elements apart; for sums of f16 small ones, so that sums are exact. */
static int a_value(const mma_t *m, int row, int col) {
    int v = row * m->k + col;
    return m->sum == F16_SUM ? v * 7 % 13 - 6 : m->a == S8 ? v % 256 - 128 : v % 256;
}
static int b_value(const mma_t *m, int row, int col) {
    int v = row * 8 + col;
    return m->sum == F16_SUM ? v * 5 % 11 - 5 : m->b == S8 ? v % 256 - 128 : v % 256;
}

static void check_mma(const mma_t *m) {
    uint32_t in[LANES][WORDS] = {{0}}, out[LANES][WORDS];
    int bits = m->a == TF32 ? 32
               : m->a >= S8 ? 8
                            : 16,
        per = 32 / bits, n_a = 16 * m->k / 32 / per, n_b = n_a / 2, n_d = m->sum == F16_SUM ? 2 : 4, at;
    char text[1024];
    for (int l = 0; l < LANES; ++l) {
        for (int i = 0; i < n_a * per; ++i)
            in[l][i / per] |= number(a_value(m, a_row(m, l, i), a_col(m, l, i)), m->a) << i % per * bits;
        for (int i = 0; i < n_b * per; ++i)
            in[l][4 + i / per] |= number(b_value(m, b_row(m, l, i), l >> 2), m->b) << i % per * bits;
        for (int i = 0; i < 4; ++i) {
            int v = ((l >> 2) + (i < 2 ? 0 : 8)) * 8 + l % 4 * 2 + (i & 1);
            if (m->sum == F16_SUM) in[l][6 + i / 2] |= f16_bits(v) << i % 2 * 16;
            else in[l][6 + i] = m->sum == F32_SUM ? f32_bits((float)v) : (uint32_t)v;
        }
    }
    at = sprintf(text,
                 "ld.global.v4.u32 {%%r0,%%r1,%%r2,%%r3}, [%%in]; ld.global.v2.u32 {%%r4,%%r5}, [%%in+16];"
                 "ld.global.v2.u32 {%%r6,%%r7}, [%%in+24]; ld.global.v2.u32 {%%r8,%%r9}, [%%in+32]; "
                 "mma.sync.aligned.%s ",
                 m->name);
    list_text(text, &at, 10, n_d);
    at += sprintf(text + at, ", ");
    list_text(text, &at, 0, n_a);
    at += sprintf(text + at, ", ");
    list_text(text, &at, 4, n_b);
    at += sprintf(text + at, ", ");
    list_text(text, &at, 6, n_d);
    at += sprintf(text + at, "; st.global.v2.u32 [%%out], {%%r10,%%r11};");
    if (n_d == 4) sprintf(text + at, "st.global.v2.u32 [%%out+8], {%%r12,%%r13};");
    run_warp(text, in, out);
    for (int l = 0; l < LANES; ++l)
        for (int i = 0; i < 4; ++i) {
            int row = (l >> 2) + (i < 2 ? 0 : 8), col = l % 4 * 2 + (i & 1), want = row * 8 + col;
            for (int k = 0; k < m->k; ++k) want += a_value(m, row, k) * b_value(m, k, col);
            uint32_t bit = m->sum == F32_SUM   ? f32_bits((float)want)
                           : m->sum == S32_SUM ? (uint32_t)want
                                               : f16_bits(want);
            uint32_t got = m->sum == F16_SUM ? out[l][i / 2] >> i % 2 * 16 & 0xffff : out[l][i];
            if (got != bit) fail_msg("%s, lane %d, element %d: %x, not %x", m->name, l, i, got, bit);
        }
}

static void test_mma(void **state) {
    (void)state;
    static const mma_t forms[] = {
        {"m16n8k16.row.col.f32.bf16.bf16.f32", BF16, BF16, 16, F32_SUM},
        {"m16n8k16.row.col.f32.f16.f16.f32", F16, F16, 16, F32_SUM},
        {"m16n8k16.row.col.f16.f16.f16.f16", F16, F16, 16, F16_SUM},
        {"m16n8k8.row.col.f32.bf16.bf16.f32", BF16, BF16, 8, F32_SUM},
        {"m16n8k8.row.col.f32.f16.f16.f32", F16, F16, 8, F32_SUM},
        {"m16n8k8.row.col.f16.f16.f16.f16", F16, F16, 8, F16_SUM},
        {"m16n8k8.row.col.f32.tf32.tf32.f32", TF32, TF32, 8, F32_SUM},
        {"m16n8k4.row.col.f32.tf32.tf32.f32", TF32, TF32, 4, F32_SUM},
        {"m16n8k16.row.col.s32.s8.s8.s32", S8, S8, 16, S32_SUM},
        {"m16n8k32.row.col.s32.s8.s8.s32", S8, S8, 32, S32_SUM},
        {"m16n8k32.row.col.s32.u8.s8.s32", U8, S8, 32, S32_SUM},
        {"m16n8k32.row.col.s32.u8.u8.s32", U8, U8, 32, S32_SUM},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) check_mma(&forms[i]);
}

/* Lane l names row (5 l + 3) % 32 of shared memory, whose halves are 8 row + column. */
static void test_ldmatrix(void **state) {
    (void)state;
    uint32_t in[LANES][WORDS] = {{0}}, out[LANES][WORDS];
    char text[1024];
    for (int x = 1; x <= 4; x *= 2)
        for (int trans = 0; trans < 2; ++trans) {
            int at = sprintf(text, "mov.u32 %%r8, sh; mad.lo.u32 %%r9, %%lane, 16, %%r8; shl.b32 %%r10, "
                                   "%%lane, 3; mad.lo.u32 %%r10, %%r10, 65537, 65536;");
            for (int k = 0; k < 4; ++k)
                at += sprintf(text + at, "st.shared.u32 [%%r9+%d], %%r10; add.u32 %%r10, %%r10, 131074;",
                              4 * k);
            at += sprintf(text + at,
                          "bar.warp.sync -1; mad.lo.u32 %%r11, %%lane, 5, 3; and.b32 %%r11, %%r11, 31; "
                          "mad.lo.u32 %%r11, %%r11, 16, %%r8;"
                          "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ",
                          x, trans ? ".trans" : "");
            list_text(text, &at, 0, x);
            at += sprintf(text + at, ", [%%r11];");
            for (int k = 0; k < x; ++k)
                at += sprintf(text + at, "st.global.u32 [%%out+%d], %%r%d;", 4 * k, k);
            run_warp(text, in, out);
            for (int l = 0; l < LANES; ++l)
                for (int m = 0; m < x; ++m)
                    for (int e = 0; e < 2; ++e) {
                        int i = trans ? l % 4 * 2 + e : l / 4, k = trans ? l / 4 : l % 4 * 2 + e,
                            row = ((8 * m + i) * 5 + 3) % 32;
                        uint32_t got = out[l][m] >> 16 * e & 0xffff;
                        if (got != (uint32_t)(8 * row + k))
                            fail_msg("x%d trans %d, lane %d, matrix %d: %u, not %d", x, trans, l, m, got,
                                     8 * row + k);
                    }
        }
}

static void test_movmatrix(void **state) {
    (void)state;
    uint32_t in[LANES][WORDS], out[LANES][WORDS];
    for (int l = 0; l < LANES; ++l)
        in[l][0] = (uint32_t)(l / 4 * 8 + l % 4 * 2) | (uint32_t)(l / 4 * 8 + l % 4 * 2 + 1) << 16;
    run_warp("ld.global.u32 %r1, [%in]; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; st.global.u32 "
             "[%out], %r2;",
             in, out);
    for (uint32_t l = 0; l < LANES; ++l)
        assert_int_equal(out[l][0], (l % 4 * 2 * 8 + l / 4) | ((l % 4 * 2 + 1) * 8 + l / 4) << 16);
}

/* All sizes, fewer source bytes (the rest is zero), the predicate that ignores the source, groups. */
static void test_copies(void **state) {
    (void)state;
    uint32_t in[LANES][WORDS], out[LANES][WORDS];
    for (int l = 0; l < LANES; ++l)
        for (int k = 0; k < WORDS; ++k) in[l][k] = (uint32_t)(l * WORDS + k + 1) * 0x01010101u;
    run_warp("mov.u32 %r8, sh; mad.lo.u32 %r9, %lane, 64, %r8;"
             "cp.async.cg.shared.global [%r9], [%in], 16; cp.async.commit_group;"
             "cp.async.ca.shared.global.L2::128B [%r9+16], [%in+16], 16, 6; cp.async.ca.shared.global "
             "[%r9+32], [%in+32], 8;"
             "cp.async.ca.shared.global [%r9+40], [%in+40], 4, 0; cp.async.commit_group;"
             "cp.async.wait_group 1; ld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%r9]; st.global.v4.u32 [%out], "
             "{%r0,%r1,%r2,%r3};"
             "cp.async.ca.shared.global [%r9+44], [%in+44], 4; cp.async.wait_all;"
             "ld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%r9+16]; st.global.v4.u32 [%out+16], {%r0,%r1,%r2,%r3};"
             "ld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%r9+32]; st.global.v4.u32 [%out+32], {%r0,%r1,%r2,%r3};"
             "setp.eq.u32 %p1, %lane, %lane; cp.async.cg.shared.global [%r9], [%in], 16, %p1; "
             "cp.async.commit_group; cp.async.wait_group 0;"
             "ld.shared.v4.u32 {%r0,%r1,%r2,%r3}, [%r9]; st.global.v4.u32 [%out+48], {%r0,%r1,%r2,%r3};",
             in, out);
    for (int l = 0; l < LANES; ++l)
        for (int k = 0; k < WORDS; ++k) {
            uint32_t want = k == 5                                   ? in[l][k] & 0xffff
                            : k == 6 || k == 7 || k == 10 || k >= 12 ? 0
                                                                     : in[l][k];
            if (out[l][k] != want) fail_msg("lane %d, word %d: %x, not %x", l, k, out[l][k], want);
        }
}

/* What a launch must not do, for every order of blocks and warps. */
static void test_traps(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t grid, threads;
    } lines[] = {
        {"add.u32 %r1, %r2, 1;", "source 1 is a register that was never written", 1, 32},
        {"mov.u32 %r1, %r2; add.u32 %r1, %r1, 1;", "never written", 1, 32},
        {"setp.eq.u32 %p1, %lane, 3; @%p1 mov.u32 %r1, 5; st.global.u32 [%out], %r1;", "thread (0,0,0)", 1,
         32},
        {"@%p1 mov.u32 %r1, 5;", "a predicate that was never written", 1, 32},
        {"ld.shared.u32 %r1, [sh];", "reads shared memory at 0x0 that was never written", 1, 32},
        {"ld.global.u32 %r1, [%out];", "reads global memory at 0x200000 that was never written", 1, 32},
        {"ld.shared.u32 %r1, [sh+4096];", "outside of shared memory, which has 4096 bytes", 1, 32},
        {"ld.shared.u32 %r1, [sh+-4];", "outside of shared memory", 1, 32},
        {"st.global.u32 [%base+4096], 1;", "4 bytes after the end of the region of 4096 bytes", 1, 1},
        {"st.global.u32 [%base+-4], 1;", "4 bytes before the region", 1, 1},
        {"ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%base+8];", "misaligned: 16 bytes", 1, 32},
        {"st.global.u16 [%base+1], 1;", "misaligned: 2 bytes", 1, 1},
        {"st.param.u32 [src], 1;", "a store to constant memory", 1, 1},
        {"mov.u64 %d1, src; cvta.param.u64 %d1, %d1; st.u32 [%d1], 1;", "a store to constant memory", 1, 1},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 bra A; bra B; A: shfl.sync.idx.b32 %r1, %lane, 20, 31, 65535; B:",
         "reads lane 20, which is not there", 1, 32},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 bra A; bra B; A: shfl.sync.bfly.b32 %r1, %lane, 1, 31, -1; B:",
         "names lanes that are not there", 1, 32},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 exit; shfl.sync.bfly.b32 %r1, %lane, 1, 31, -1;",
         "names lanes that are not there", 1, 32},
        {"shfl.sync.bfly.b32 %r1, %lane, 1, 31, %lane;", "mask", 1, 32},
        {"shfl.sync.bfly.b32 %r1, %lane, 1, 31, -1;", "names lanes that are not there", 1, 48},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 bra A; bra B; A: bar.warp.sync -1; B: ret;",
         "names lanes that are elsewhere", 1, 32},
        {"setp.lt.u32 %p1, %lane, 31; mov.u32 %r1, 0; @%p1 "
         "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r2,%r3,%r4,%r5}, {%r1,%r1,%r1,%r1}, "
         "{%r1,%r1}, {%r1,%r1,%r1,%r1};",
         "not all lanes are there (7fffffff are)", 1, 32},
        {"setp.lt.u32 %p1, %lane, 31; @%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [sh];",
         "not all lanes are there", 1, 32},
        {"setp.lt.u32 %p1, %lane, 31; @%p1 bar.sync 0;", "divergent barrier", 1, 32},
        {"setp.eq.u32 %p1, %warp, 0; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 1; B:",
         "nobody else can come", 1, 64},
        {"st.shared.u32 [sh], %warp;", "writes shared memory at 0x0 that warp", 1, 64},
        {"setp.eq.u32 %p1, %warp, 0; @%p1 st.shared.u32 [sh], 5; bar.sync 0; ld.shared.u32 %r1, [sh]; @!%p1 "
         "st.shared.u32 [sh], 6;",
         "data race", 1, 64},
        {"setp.eq.u32 %p1, %warp, 0; @%p1 st.shared.u8 [sh+1], 5; @!%p1 atom.shared.add.u32 %r1, [sh], 1;",
         "", 1, 64},
        {"mov.u32 %r1, %ctaid.x; st.global.u32 [%out], %r1;", "that another block wrote", 2, 32},
        {"mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%base], 1; @!%p1 ld.global.u32 "
         "%r2, [%base];",
         "another block", 2, 1},
        {"st.global.u32 [%base], 1;", "data race: writes global memory", 1, 64},
        {"setp.eq.u32 %p1, %lane, 99; L: @!%p1 bra L;", "no end after", 1, 32},
        {"trap;", "trap", 1, 32},
        {"T: .branchtargets A, B; brx.idx %lane, T; A: ret; B: ret;", "branch number 2 of 2", 1, 32},
        {"mov.u32 %r8, sh; cp.async.ca.shared.global [%r8], [%base], 4; cp.async.commit_group; "
         "cp.async.wait_group 1; ld.shared.u32 %r1, [%r8];",
         "before the wait", 1, 1},
        {"mov.u32 %r8, sh; cp.async.ca.shared.global [%r8], [%base], 4; st.shared.u32 [%r8], 1;",
         "asynchronous copy is under way", 1, 1},
        {"mov.u32 %r8, sh; cp.async.ca.shared.global [%r8], [%base+4096], 4;", "outside", 1, 1},
        {"mov.u32 %r8, sh; cp.async.ca.shared.global [%r8], [%base], 4, 5;", "reads 5 of 4 bytes", 1, 1},
        {"mov.u32 %r8, sh; cp.async.cg.shared.global [%r8], [%base+8], 16, 0;", "misaligned", 1, 1},
    };
    uint32_t in[1024] = {0}, out[2048];
    char error[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            error[0] = 0;
            bool ok = run_text(lines[i].text, (shape_t){lines[i].grid, lines[i].threads, seed}, in, sizeof in,
                               out, sizeof out, error);
            if (ok || !strstr(error, lines[i].message))
                fail_msg("%s, seed %d: %s", lines[i].text, (int)seed, ok ? "ran" : error);
        }
}

/* What looks like the above but is allowed. */
static void test_allowed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t grid, threads;
    } lines[] = {
        {"mov.u32 %r1, %r2;", 1, 32},      /* an undefined value that nobody uses */
        {"st.shared.u32 [sh], 7;", 1, 64}, /* two warps write one value */
        {"mov.u32 %r1, %tid.x; cvt.u64.u32 %d1, %r1; add.u64 %d1, %d1, %base; st.global.u8 [%d1], %r1;", 1,
         128}, /* bytes side by side */
        {"atom.global.add.u32 %r1, [%base], 1;", 3, 64},
        {"red.global.add.u32 [%base], 1; bar.sync 0; atom.global.exch.b32 %r1, [%base], 2;", 1, 64},
        {"st.shared.u32 [sh], 1; bar.sync 0; ld.shared.u32 %r1, [sh]; bar.sync 0; st.shared.u32 [sh], 1;", 1,
         96},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 exit; bar.sync 0;", 1, 64}, /* threads that ended need not come */
        {"setp.eq.u32 %p1, %warp, 1; @%p1 exit; bar.sync 0;", 1, 64},
        {"setp.eq.u32 %p1, %warp, 0; @%p1 bra A; bar.sync 1, 64; bra B; A: bar.arrive 1, 64; B:", 1, 64},
        /* a warp that waits for another one */
        {"st.shared.u32 [sh], 0; bar.sync 0; setp.eq.u32 %p1, %warp, 0; @%p1 bra A; L: "
         "ld.volatile.shared.u32 %r1, [sh];"
         "setp.eq.u32 %p2, %r1, 0; @%p2 bra L; bra B; A: st.volatile.shared.u32 [sh], 1; B:",
         1, 64},
        {"setp.lt.u32 %p1, %lane, 16; @%p1 bra A; mov.u32 %r1, 1; bra B; A: mov.u32 %r1, 2; B: "
         "shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;",
         1, 32},
        {"mov.u32 %r8, sh; cp.async.ca.shared.global [%r8], [%base+4096], 4, 0; cp.async.wait_all; "
         "ld.shared.u32 %r1, [%r8];",
         1, 1},
    };
    uint32_t in[1024] = {0}, out[2048];
    char error[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        for (uint64_t seed = 0; seed < SEEDS; ++seed)
            if (!run_text(lines[i].text, (shape_t){lines[i].grid, lines[i].threads, seed}, in, sizeof in, out,
                          sizeof out, error))
                fail_msg("%s, seed %d: %s", lines[i].text, (int)seed, error);
}

/* The clock counts nanoseconds in 64 bits. */
static void the_clock_is_the_hosts(void **state) {
    (void)state;
    uint32_t in[WORDS * LANES] = {0}, out[WORDS * LANES] = {0};
    char error[256];
    struct timespec from, to;
    clock_gettime(CLOCK_REALTIME, &from);
    if (!run_text("mov.u64 %d1, %globaltimer; st.global.u64 [%out], %d1;", warp, in, sizeof in, out,
                  sizeof out, error))
        fail_msg("%s", error);
    clock_gettime(CLOCK_REALTIME, &to);
    uint64_t ns;
    memcpy(&ns, out, sizeof ns);
    assert_true(ns >= (uint64_t)from.tv_sec * 1000000000u + (uint64_t)from.tv_nsec);
    assert_true(ns <= (uint64_t)to.tv_sec * 1000000000u + (uint64_t)to.tv_nsec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_the_hosts),
        cmocka_unit_test(test_shfl),
        cmocka_unit_test(test_shfl_clamp),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_mma),
        cmocka_unit_test(test_ldmatrix),
        cmocka_unit_test(test_movmatrix),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_traps),
        cmocka_unit_test(test_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
