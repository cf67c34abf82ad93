/* More single instructions in the PTX interpreter, beside those of test_ptx_insn.c: further edge values, packed and single halves,
 * all comparisons, moves, address spaces, atomics, refusals.
 * Registers of a text: %[pwhd][abcxyz] are predicates and registers of 4, 2 and 8 bytes; a, b, c hold the inputs, z the
 * result. Where the ISA leaves a result open (division by zero, payloads of NaN) it is what GPUs give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ptx.h"

enum { LANES = 32 };
#define NAN32 0x7fffffff
#define INF32 0x7f800000
#define ONE 0x3f800000

typedef struct {
    const char *text;
    uint64_t a, b, c, want;
} line_t;

#include "test_ptx_edges.inc"

static const char kernel_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
    ".reg .pred %%pa, %%pb, %%pc, %%px, %%py, %%pz;\n.reg .b16 %%ha, %%hb, %%hc, %%hx, %%hy, %%hz;\n"
    ".reg .b32 %%wa, %%wb, %%wc, %%wx, %%wy, %%wz, %%t;\n.reg .b64 %%da, %%db, %%dc, %%dx, %%dy, %%dz, %%m, "
    "%%o;\n"
    "ld.param.u64 %%m, [in]; ld.param.u64 %%o, [out];\n"
    "ld.global.u64 %%da, [%%m]; ld.global.u64 %%db, [%%m+8]; ld.global.u64 %%dc, [%%m+16];\n"
    "cvt.u32.u64 %%wa, %%da; cvt.u32.u64 %%wb, %%db; cvt.u32.u64 %%wc, %%dc;\n"
    "cvt.u16.u64 %%ha, %%da; cvt.u16.u64 %%hb, %%db; cvt.u16.u64 %%hc, %%dc;\n"
    "setp.ne.u64 %%pa, %%da, 0; setp.ne.u64 %%pb, %%db, 0; setp.ne.u64 %%pc, %%dc, 0;\n"
    "%s\n%s\n"
    "mov.u32 %%t, %%tid.x; mul.wide.u32 %%dx, %%t, 8; add.u64 %%o, %%o, %%dx;\n"
    "st.global.u64 [%%o], %%dz;\n}\n";

/* From the result's register to %dz. */
static const char *widening(const char *text) {
    static const char *const forms[][2] = {{"%dz", ""},
                                           {"%wz", "cvt.u64.u32 %dz, %wz;"},
                                           {"%hz", "cvt.u64.u16 %dz, %hz;"},
                                           {"%pz", "selp.u64 %dz, 1, 0, %pz;"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
        if (strstr(text, forms[i][0])) return forms[i][1];
    return NULL;
}

/* In `threads` lanes; false: refused or trapped, with a message. */
static bool run(const char *text, uint32_t threads, uint64_t in[3], uint64_t out[LANES], char error[256]) {
    char source[4096];
    unsigned char set[LANES * 8] = {0};
    snprintf(source, sizeof source, kernel_text, text, widening(text));
    ptx_module_t *m = ptx_parse(source, error, 256);
    if (!m) return false;
    const ptx_region_t regions[] = {{1 << 20, 3 * sizeof *in, (unsigned char *)in, NULL},
                                    {2 << 20, sizeof set, (unsigned char *)out, set}};
    const uint64_t params[2] = {regions[0].address, regions[1].address};
    ptx_launch_t l = {
        .grid = {1, 1, 1}, .block = {threads, 1, 1}, .params = params, .regions = regions, .num_regions = 2};
    bool ok = ptx_run(ptx_find(m, "k"), &l, error, 256);
    ptx_free(m);
    return ok;
}

static void check(const line_t *lines, size_t n) {
    char error[256];
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) {
        uint64_t in[3] = {lines[i].a, lines[i].b, lines[i].c}, out[LANES] = {0};
        if (!run(lines[i].text, LANES, in, out, error)) {
            print_error("%s: %s\n", lines[i].text, error);
            ++wrong;
            continue;
        }
        for (int k = 0; k < LANES; ++k)
            if (out[k] != lines[i].want) {
                print_error("%s of %llx, %llx, %llx: %llx, not %llx (lane %d)\n", lines[i].text,
                            (unsigned long long)lines[i].a, (unsigned long long)lines[i].b,
                            (unsigned long long)lines[i].c, (unsigned long long)out[k],
                            (unsigned long long)lines[i].want, k);
                ++wrong;
                break;
            }
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(lines) check(lines, sizeof lines / sizeof *lines)

static void test_integers(void **state) {
    (void)state;
    CHECK(integers);
}
static void test_bits(void **state) {
    (void)state;
    CHECK(bits);
}
static void test_comparisons(void **state) {
    (void)state;
    CHECK(comparisons);
}
static void test_floats(void **state) {
    (void)state;
    CHECK(floats);
}
static void test_halves(void **state) {
    (void)state;
    CHECK(halves);
}
static void test_conversions(void **state) {
    (void)state;
    CHECK(conversions);
}
static void test_moves(void **state) {
    (void)state;
    CHECK(moves);
}

/* atom on a cell of global memory by one thread: the old value is the result, the cell changes. */
static void test_atomics(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t cell, a, b, after;
    } lines[] = {
        {"atom.global.add.u32 %wz, [%m+16], %wa;", 0xffffffff, 2, 0, 1},
        {"atom.global.add.u64 %dz, [%m+16], %da;", 0xffffffff, 2, 0, 0x100000001},
        {"atom.global.add.f32 %wz, [%m+16], %wa;", ONE, ONE, 0, 0x40000000},
        {"atom.global.add.f64 %dz, [%m+16], %da;", 0x3ff0000000000000, 0x3ff0000000000000, 0,
         0x4000000000000000},
        {"atom.global.add.noftz.f16x2 %wz, [%m+16], %wa;", 0x3c003c00, 0x3c004000, 0, 0x40004200},
        {"atom.global.add.noftz.bf16 %hz, [%m+16], %ha;", 0x3f80, 0x3f80, 0, 0x4000},
        {"atom.global.min.s32 %wz, [%m+16], %wa;", 5, 0xffffffff, 0, 0xffffffff},
        {"atom.global.min.u32 %wz, [%m+16], %wa;", 5, 0xffffffff, 0, 5},
        {"atom.global.max.s32 %wz, [%m+16], %wa;", 5, 0xffffffff, 0, 5},
        {"atom.global.max.u64 %dz, [%m+16], %da;", 5, 0x1234567890, 0, 0x1234567890},
        {"atom.global.exch.b32 %wz, [%m+16], %wa;", 5, 7, 0, 7},
        {"atom.global.cas.b32 %wz, [%m+16], %wa, %wb;", 5, 5, 9, 9},
        {"atom.global.cas.b32 %wz, [%m+16], %wa, %wb;", 5, 6, 9, 5},
        {"atom.global.cas.b64 %dz, [%m+16], %da, %db;", 5, 5, 0x900000000, 0x900000000},
        {"atom.global.and.b32 %wz, [%m+16], %wa;", 0xff, 0x3c, 0, 0x3c},
        {"atom.global.or.b32 %wz, [%m+16], %wa;", 0xf0, 0x0f, 0, 0xff},
        {"atom.global.xor.b32 %wz, [%m+16], %wa;", 0xff, 0x0f, 0, 0xf0},
        {"atom.global.inc.u32 %wz, [%m+16], %wa;", 5, 5, 0, 0},
        {"atom.global.inc.u32 %wz, [%m+16], %wa;", 4, 5, 0, 5},
        {"atom.global.dec.u32 %wz, [%m+16], %wa;", 0, 5, 0, 5},
        {"atom.global.dec.u32 %wz, [%m+16], %wa;", 9, 5, 0, 5},
        {"atom.global.dec.u32 %wz, [%m+16], %wa;", 3, 5, 0, 2},
        {"red.global.add.u32 [%m+16], %wa; mov.u64 %dz, 3;", 3, 4, 0, 7},
        {"atom.add.s32 %wz, [%m+16], -1;", 3, 4, 0, 2},
    };
    char error[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        uint64_t in[3] = {lines[i].a, lines[i].b, lines[i].cell}, out[LANES] = {0};
        if (!run(lines[i].text, 1, in, out, error)) fail_msg("%s: %s", lines[i].text, error);
        if (out[0] != lines[i].cell || in[2] != lines[i].after)
            fail_msg("%s: old %llx, after %llx", lines[i].text, (unsigned long long)out[0],
                     (unsigned long long)in[2]);
    }
}

/* What is not known is refused by name when the text is parsed. */
static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } lines[] = {
        {"mbarrier.init.shared.b64 [%da], 1; mov.u64 %dz, 0;",
         "line 14: mbarrier.init.shared.b64: unknown instruction"},
        {"add.cc.u32 %wz, %wa, %wb;", "add.cc.u32: unknown instruction"},
        {"add.rn.f16 %hz, %ha, %wb;", "a source of another size"},
        {"mov.u32 %wz, %clock;", "unknown operand %clock"},
        {"add.u32 %wz, %wa, %nobody;", "unknown operand %nobody"},
        {"add.u32 %wz, %wa;", "an operand is missing"},
        {"add.u32 %wz, %wa, %wb, %wc;", "a wrong number of operands"},
        {"bra nowhere; mov.u64 %dz, 0;", "unknown label nowhere"},
        {"ld.global.f16x3 %wz, [%m];", "a qualifier that is unknown here"},
        {"cp.async.cg.shared.global [%wa], [%m], 8; mov.u64 %dz, 0;", "a size that is not allowed"},
        {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%wz}, {%wa}, {%wb}, {%wc};", "mma.sync"},
        {"call nobody, (%wa); mov.u64 %dz, 0;", "a function without a body"},
        {".reg .b128 %q; mov.u64 %dz, 0;", "registers of 128 bits"},
    };
    char error[256];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        uint64_t in[3] = {0}, out[LANES] = {0};
        error[0] = 0;
        if (run(lines[i].text, 1, in, out, error) || !strstr(error, lines[i].message))
            fail_msg("%s: %s", lines[i].text, error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_bits),    cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_halves),  cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_moves),    cmocka_unit_test(test_atomics), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
