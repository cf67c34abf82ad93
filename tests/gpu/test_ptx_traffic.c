/* The counter of memory traffic (ptx/traffic.c): sectors and wavefronts of single instructions, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ptx.h"

enum { LANES = 32, BYTES = 8192, ADDRESS = 1 << 20 };

/* One warp; %lane, %b: the first address, %a: the same and 4 bytes a lane more, %d: 16 bytes a lane more; sh: shared memory. */
static const char kernel_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p) {\n"
    ".reg .pred %%p<3>; .reg .b32 %%r<9>, %%lane, %%s; .reg .b64 %%a, %%b, %%d, %%x;\n"
    ".shared .align 128 .b8 sh[4224];\n"
    "ld.param.u64 %%b, [p]; mov.u32 %%lane, %%tid.x; mov.u32 %%s, sh;\n"
    "mul.wide.u32 %%a, %%lane, 4; add.u64 %%a, %%a, %%b; mul.wide.u32 %%d, %%lane, 16; add.u64 %%d, %%d, "
    "%%b;\n"
    "mov.u32 %%r0, 0; setp.lt.u32 %%p0, %%lane, 16;\n"
    "%s\n}\n";

static ptx_traffic_t counts(const char *text) {
    char source[4096], error[256] = "";
    static unsigned char host[BYTES];
    const ptx_region_t region = {ADDRESS, BYTES, host, NULL};
    const uint64_t param = ADDRESS;
    ptx_traffic_t t = {.warps = 0};
    snprintf(source, sizeof source, kernel_text, text);
    ptx_module_t *m = ptx_parse(source, error, sizeof error);
    if (!m) fail_msg("%s: %s", text, error);
    const ptx_launch_t l = {.grid = {1, 1, 1},
                            .block = {LANES, 1, 1},
                            .params = &param,
                            .regions = &region,
                            .num_regions = 1,
                            .max_steps = 10000,
                            .traffic = &t};
    if (!ptx_run(ptx_find(m, "k"), &l, error, sizeof error)) fail_msg("%s: %s", text, error);
    ptx_free(m);
    return t;
}

static void test_global(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t requests, lanes, asked, distinct, sectors, footprint, touched;
    } cases[] = {
        {"ld.global.u32 %%r1, [%%a];", 1, 32, 128, 128, 4, 128, 4},
        {"ld.global.nc.u32 %%r1, [%%a+16];", 1, 32, 128, 128, 5, 128, 5},
        {"ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%d];", 1, 32, 512, 512, 16, 512, 16},
        {"ld.global.v2.u32 {%%r1, %%r2}, [%%d];", 1, 32, 256, 256, 16, 256, 16},
        {"ld.global.u32 %%r1, [%%d];", 1, 32, 128, 128, 16, 128, 16},
        {"ld.global.u32 %%r1, [%%b];", 1, 32, 128, 4, 1, 4, 1},
        {"ld.global.u8 %%r1, [%%b+31]; ld.global.u8 %%r2, [%%b+32];", 2, 64, 64, 2, 2, 2, 2},
        {"mul.wide.u32 %%x, %%lane, 128; add.u64 %%x, %%x, %%b; ld.global.u32 %%r1, [%%x];", 1, 32, 128, 128,
         32, 128, 32},
        {"mad.wide.u32 %%x, %%lane, 1, %%b; ld.global.u8 %%r1, [%%x];", 1, 32, 32, 32, 1, 32, 1},
        {"ld.global.u32 %%r1, [%%a]; ld.global.u32 %%r2, [%%a];", 2, 64, 256, 256, 8, 128, 4},
        {"@%%p0 ld.global.u32 %%r1, [%%a];", 1, 16, 64, 64, 2, 64, 2},
        {"ld.u32 %%r1, [%%a];", 1, 32, 128, 128, 4, 128, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[256];
        snprintf(text, sizeof text, cases[i].text, 0);
        const ptx_traffic_t t = counts(text);
        const int64_t got[] = {t.load.requests, t.load.lanes,     t.load.asked,          t.load.distinct,
                               t.load.sectors,  t.load.footprint, t.load.touched_sectors};
        if (memcmp(got, &cases[i].requests, sizeof got) != 0)
            fail_msg(
                "%s: %lld requests of %lld lanes for %lld bytes, %lld distinct, %lld sectors; %lld bytes, "
                "%lld sectors in all",
                text, (long long)got[0], (long long)got[1], (long long)got[2], (long long)got[3],
                (long long)got[4], (long long)got[5], (long long)got[6]);
        assert_int_equal(0, t.store.requests);
    }
}

static void test_stores(void **state) {
    (void)state;
    ptx_traffic_t t = counts("st.global.u32 [%a], %r0; ld.global.u32 %r1, [%a];");
    assert_int_equal(1, t.store.requests);
    assert_int_equal(4, t.store.sectors);
    assert_int_equal(128, t.store.footprint);
    assert_int_equal(4, t.load.sectors);
    t = counts("red.global.add.u32 [%b], %lane;");
    assert_int_equal(1, t.store.requests);
    assert_int_equal(1, t.store.sectors);
    assert_int_equal(128, t.store.asked);
    assert_int_equal(4, t.store.footprint);
    assert_int_equal(0, t.load.requests);
}

static void test_shared(void **state) {
    (void)state;
    static const struct {
        const char *stride, *text;
        int64_t wavefronts, ideal, asked;
    } cases[] = {
        {"4", "st.shared.u32 [%s], %r0;", 1, 1, 128},
        {"1", "st.shared.u8 [%s], %r0;", 1, 1, 32},
        {"0", "st.shared.u32 [%s], %r0;", 1, 1, 128},
        {"8", "st.shared.u32 [%s], %r0;", 2, 1, 128},
        {"12", "st.shared.u32 [%s], %r0;", 1, 1, 128},
        {"16", "st.shared.u32 [%s], %r0;", 4, 1, 128},
        {"128", "st.shared.u32 [%s], %r0;", 32, 1, 128},
        {"132", "st.shared.u32 [%s], %r0;", 1, 1, 128},
        {"128", "@%p0 st.shared.u32 [%s], %r0;", 16, 1, 64},
        {"8", "st.shared.v2.u32 [%s], {%r0, %r0};", 2, 2, 256},
        {"16", "st.shared.v2.u32 [%s], {%r0, %r0};", 4, 2, 256},
        {"0", "st.shared.v2.u32 [%s], {%r0, %r0};", 2, 2, 256},
        {"128", "@%p0 st.shared.v2.u32 [%s], {%r0, %r0};", 16, 1, 128},
        {"16", "st.shared.v4.u32 [%s], {%r0, %r0, %r0, %r0};", 4, 4, 512},
        {"32", "st.shared.v4.u32 [%s], {%r0, %r0, %r0, %r0};", 8, 4, 512},
        {"128", "st.shared.v4.u32 [%s], {%r0, %r0, %r0, %r0};", 32, 4, 512},
        {"0", "st.shared.v4.u32 [%s], {%r0, %r0, %r0, %r0};", 4, 4, 512},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[512];
        snprintf(text, sizeof text, "mad.lo.u32 %%s, %%lane, %s, %%s; %s", cases[i].stride, cases[i].text);
        const ptx_traffic_t t = counts(text);
        const ptx_shared_traffic_t *s = &t.shared_store;
        if (s->wavefronts != cases[i].wavefronts || s->ideal != cases[i].ideal || s->asked != cases[i].asked)
            fail_msg("%s: %lld wavefronts, %lld without conflicts, %lld bytes", text,
                     (long long)s->wavefronts, (long long)s->ideal, (long long)s->asked);
        assert_int_equal(1, s->requests);
        assert_int_equal(0, t.shared_load.requests + t.load.requests + t.store.requests);
    }
}

/* Generic addresses; atomic operations on one word; copies; matrices. */
static void test_more_shared(void **state) {
    (void)state;
    static const char fill[] = "mad.lo.u32 %r1, %lane, 128, %s; mov.u32 %r2, 0;"
                               "L: st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0}; add.u32 %r1, %r1, 16;"
                               "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 8; @%p1 bra L;";
    char text[1024];
    ptx_traffic_t t = counts("cvta.shared.u64 %x, sh; mad.wide.u32 %x, %lane, 8, %x; st.u32 [%x], %r0;");
    assert_int_equal(2, t.shared_store.wavefronts);
    assert_int_equal(0, t.store.requests);
    t = counts("st.shared.u32 [%s], %r0; bar.warp.sync -1; atom.shared.add.u32 %r1, [%s], %lane;");
    assert_int_equal(33, t.shared_store.wavefronts);
    assert_int_equal(2, t.shared_store.ideal);
    /* Half of the lanes copy nothing; all write: lines of 32 bytes, 4 in each of 8 groups of banks. */
    t = counts("mad.lo.u32 %s, %lane, 32, %s; selp.u32 %r1, 16, 0, %p0;"
               "cp.async.cg.shared.global [%s], [%d], 16, %r1; cp.async.wait_all;");
    assert_int_equal(1, t.load.requests);
    assert_int_equal(16, t.load.lanes);
    assert_int_equal(8, t.load.sectors);
    assert_int_equal(256, t.load.footprint);
    assert_int_equal(8, t.shared_store.wavefronts);
    assert_int_equal(4, t.shared_store.ideal);
    static const struct {
        int stride, wavefronts;
    } rows[] = {{16, 4}, {32, 8}, {64, 16}, {128, 32}, {80, 4}, {144, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const int within =
            rows[i].stride > 128 ? 7 : 31; /* rows of all four matrices, or the same eight four times */
        snprintf(text, sizeof text,
                 "%s bar.warp.sync -1; and.b32 %%r3, %%lane, %d; mad.lo.u32 %%s, %%r3, %d, %%s;"
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r4, %%r5, %%r6, %%r7}, [%%s];",
                 fill, within, rows[i].stride);
        t = counts(text);
        assert_int_equal(rows[i].wavefronts, t.shared_load.wavefronts);
        assert_int_equal(4, t.shared_load.ideal);
    }
}

static void test_rest(void **state) {
    (void)state;
    const ptx_traffic_t none = counts("ret;"), t = counts("add.u32 %r1, %r0, 1; @%p0 add.u32 %r1, %r1, 1;");
    assert_int_equal(1, t.warps);
    assert_int_equal(none.instructions + 2, t.instructions); /* guarded ones, too */
    assert_int_equal(0, t.mma + t.local + t.load.requests + t.store.requests);
    const ptx_traffic_t m = counts(
        "mov.f32 %r1, 0f00000000; mov.f32 %r2, 0f00000000; mov.f32 %r3, 0f00000000; mov.f32 %r4, 0f00000000;"
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1,%r2,%r3,%r4},{%r0,%r0,%r0,%r0},{%r0,%r0},"
        "{%r1,%r2,%r3,%r4};");
    assert_int_equal(1, m.mma);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_global), cmocka_unit_test(test_stores),
                                       cmocka_unit_test(test_shared), cmocka_unit_test(test_more_shared),
                                       cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
