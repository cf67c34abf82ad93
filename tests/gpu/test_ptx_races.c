/* The PTX interpreter: races between lanes of one warp. What orders lanes is bar.warp.sync and barriers of the block; each pair of
 * accesses is a race without, and none with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "run_text.h"

enum { LANES = 32, WORDS = 16, SEEDS = 3, MANY_SEEDS = 10 };

/* NULL: it passes; else what the message must contain. */
static void check_all(const char *text, uint32_t blocks, uint32_t threads, uint64_t seeds,
                      const char *message) {
    uint32_t in[LANES * WORDS], out[2 * LANES * WORDS];
    char error[256] = "";
    for (uint32_t i = 0; i < LANES * WORDS; ++i) in[i] = i * 7;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
        bool ok = run_text(text, (shape_t){blocks, threads, seed}, in, sizeof in, out, sizeof out, error);
        if (ok != !message || (message && !strstr(error, message)))
            fail_msg("%s, seed %d: %s", text, (int)seed, ok ? "ran" : error);
    }
}
static void check(const char *text, uint32_t threads, const char *message) {
    check_all(text, 1, threads, SEEDS, message);
}

/* Places in shared memory: %r8 the lane's own word, %r9 its neighbour's, %r10 and %r11 the same for 16 bytes; bytes and halves. */
#define PLACES                                                                                        \
    "mov.u32 %r7, sh; xor.b32 %r6, %lane, 1; mad.lo.u32 %r8, %lane, 4, %r7; mad.lo.u32 %r9, %r6, 4, " \
    "%r7; mad.lo.u32 %r10, %lane, 16, %r7; mad.lo.u32 %r11, %r6, 16, %r7; add.u32 %r12, %r7, %lane;"  \
    "add.u32 %r13, %r7, %r6; mad.lo.u32 %r14, %lane, 2, %r7; mad.lo.u32 %r15, %r6, 2, %r7;"           \
    "xor.b64 %d1, %out, 64; mov.u32 %r5, 0;"
#define READ_OTHERS "st.shared.u32 [%r8], %lane; bar.warp.sync -1; ld.shared.u32 %r1, [%r9];"

/* Accesses that need a barrier between, and what is said without. */
static const struct {
    const char *first, *second, *message;
} pairs[] = {
    {"st.shared.u32 [%r8], %lane;", "ld.shared.u32 %r1, [%r9];",
     "reads shared memory at 0x4 that lane 1 of its warp wrote"},
    {READ_OTHERS, "st.shared.u32 [%r8], %r1;", "writes shared memory at 0x0 that lane 1 of its warp read"},
    {"st.shared.u32 [%r8], %lane;", "st.shared.u32 [%r9], %lane;", "writes shared memory"},
    {"setp.eq.u32 %p1, %lane, 5; @%p1 st.shared.u32 [sh+64], 7;", "ld.shared.u32 %r1, [sh+64];",
     "that lane 5 of its warp wrote"},
    {"st.shared.u32 [sh], 1; bar.warp.sync -1; ld.shared.u32 %r1, [sh];",
     "setp.eq.u32 %p1, %lane, 5; @%p1 st.shared.u32 [sh], 2;", "that other lanes of its warp read"},
    {"st.shared.u32 [sh], 1;", "ld.shared.u32 %r1, [sh];", "that other lanes of its warp wrote"},
    {"st.shared.u8 [%r12], %lane;", "ld.shared.u8 %r1, [%r13];", "reads shared memory at 0x1"},
    {"st.shared.u16 [%r14], %lane;", "ld.shared.u16 %r1, [%r15];", "reads shared memory at 0x2"},
    {"st.shared.u32 [%r8], %lane;", "ld.shared.u8 %r1, [%r9+3];", "reads shared memory at 0x7"},
    {"st.shared.u32 [%r8], 0; bar.warp.sync -1; ld.shared.u8 %r1, [%r13];", "st.shared.u16 [%r14], %lane;",
     "writes shared memory"},
    {"st.shared.v4.u32 [%r10], {%r5,%r5,%r5,%r5};", "ld.shared.v2.u32 {%r1,%r2}, [%r11+8];",
     "reads shared memory at 0x18"},
    {"st.shared.u32 [%r8], %lane;", "cvt.u64.u32 %d2, %r9; cvta.shared.u64 %d2, %d2; ld.u32 %r1, [%d2];",
     "reads shared memory at 0x4"},
    {"st.global.u32 [%out], %lane;", "ld.global.u32 %r1, [%d1];",
     "reads global memory at 0x200040 that lane 1 of its warp wrote"},
    {"st.global.u8 [%out], %lane;", "st.global.u8 [%d1], %lane;", "writes global memory"},
    /* atomic operations beside others */
    {"setp.eq.u32 %p1, %lane, 0; @%p1 st.shared.u32 [sh], 0;", "red.shared.add.u32 [sh], 1;",
     "changes shared memory at 0x0 that lane 0"},
    {"st.shared.u32 [sh], 0; bar.warp.sync -1; red.shared.add.u32 [sh], 1;", "ld.shared.u32 %r1, [sh];",
     "that other lanes of its warp wrote"},
    {"st.shared.u32 [sh], 0; bar.warp.sync -1; ld.shared.u32 %r1, [sh];", "red.shared.add.u32 [sh], 1;",
     "changes shared memory"},
    /* readers one after another; the first one counts as well */
    {"st.shared.u32 [sh], 0; bar.warp.sync -1; setp.eq.u32 %p1, %lane, 1; @!%p1 bra A; ld.shared.u32 %r1, "
     "[sh]; "
     "A: setp.eq.u32 %p1, %lane, 2; @%p1 ld.shared.u32 %r1, [sh];",
     "@%p1 st.shared.u32 [sh], 2;", "that other lanes of its warp read"},
    /* asynchronous copies: the wait is that of the lane that copies, a barrier before it orders nothing */
    {"cp.async.ca.shared.global [%r8], [%in], 4; cp.async.wait_all;", "ld.shared.u32 %r1, [%r9];",
     "reads shared memory at 0x4 that lane 1"},
    {"cp.async.cg.shared.global [%r10], [%in], 16; cp.async.commit_group; bar.sync 0; bar.warp.sync -1; "
     "cp.async.wait_group 0;",
     "ld.shared.u32 %r1, [%r11];", "reads shared memory at 0x10 that lane 1"},
    {READ_OTHERS, "cp.async.ca.shared.global [%r8], [%in], 4; cp.async.wait_all;", "writes shared memory"},
    {"st.global.u32 [%out], %lane;", "cp.async.ca.shared.global [%r8], [%d1], 4; cp.async.wait_all;",
     "reads global memory"},
    /* rows of matrices go to other lanes than the one that names them */
    {"st.shared.v4.u32 [%r10], {%r5,%r5,%r5,%r5};",
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r10];", "reads shared memory"},
    {"st.shared.v4.u32 [%r10], {%r5,%r5,%r5,%r5}; bar.warp.sync -1; "
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r10];",
     "st.shared.u32 [%r10+4], %lane;", "writes shared memory at 0x4 that other lanes of its warp read"},
    /* lanes that go different ways */
    {"setp.lt.u32 %p1, %lane, 16; @!%p1 bra A; st.shared.u32 [%r8], 3; A:",
     "@%p1 bra B; ld.shared.u32 %r1, [%r8+-64]; B:", "reads shared memory"},
    {"setp.lt.u32 %p1, %lane, 16; @%p1 bra A; st.shared.u32 [%r8], 3; A:",
     "@!%p1 bra B; ld.shared.u32 %r1, [%r8+64]; B:", "reads shared memory"},
};

static void pairs_need_a_barrier(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool orders;
    } between[] = {
        {"", false},
        {"shfl.sync.bfly.b32 %r20, %lane, 1, 31, -1;", false},
        {"setp.eq.u32 %p8, %lane, 1; vote.sync.any.pred %p7, %p8, -1;", false},
        {"match.any.sync.b32 %r20, %lane, -1;", false},
        {"redux.sync.add.u32 %r20, %lane, -1;", false},
        {"activemask.b32 %r20;", false},
        {"membar.cta;", false},
        {"mov.u32 %r20, 0; movmatrix.sync.aligned.m8n8.trans.b16 %r21, %r20;", false},
        {"bar.warp.sync -1;", true},
        {"mov.u32 %r20, -1; bar.warp.sync %r20;", true},
        {"bar.sync 0;", true},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i)
        for (size_t k = 0; k < sizeof between / sizeof *between; ++k) {
            snprintf(text, sizeof text, "%s%s%s%s", PLACES, pairs[i].first, between[k].text, pairs[i].second);
            check(text, LANES, between[k].orders ? NULL : pairs[i].message);
        }
}

static void lanes_that_do_not_race(void **state) {
    (void)state;
    static const char *const texts[] = {
        "st.shared.u32 [%r8], %lane; ld.shared.u32 %r1, [%r8]; st.shared.u32 [%r8], %r1;",
        "st.shared.u8 [%r12], %lane; ld.shared.u8 %r1, [%r12];",
        "st.shared.u16 [%r14], %lane; st.shared.u8 [%r14+1], %lane; ld.shared.u16 %r1, [%r14];",
        /* one value from several lanes */
        "st.shared.u32 [sh], 7; st.shared.u32 [sh], 7; bar.warp.sync -1; ld.shared.u32 %r1, [sh];",
        "st.global.u32 [%base+1048576], 7;",
        /* readers together, and again, then a store behind a barrier */
        "st.shared.u32 [%r8], 1; bar.warp.sync -1; ld.shared.u32 %r1, [sh]; ld.shared.u32 %r1, [%r9]; "
        "ld.shared.u8 %r1, [%r9]; bar.warp.sync -1; st.shared.u32 [%r8], 2;",
        "red.global.add.u32 [%base], 1; atom.global.add.u32 %r1, [%base], 1;",
        "cp.async.ca.shared.global [%r8], [%in], 4; cp.async.wait_all; ld.shared.u32 %r1, [%r8]; "
        "st.shared.u32 [%r8], 3;",
        /* copies that another group follows */
        "cp.async.ca.shared.global [%r8], [%in], 4; cp.async.commit_group; "
        "cp.async.ca.shared.global [%r8+128], [%in], 4; cp.async.commit_group; cp.async.wait_group 1; "
        "bar.warp.sync -1; ld.shared.u32 %r1, [%r9]; cp.async.wait_group 0;",
        "setp.eq.u32 %p1, %lane, 0; @%p1 st.volatile.shared.u32 [sh], 1; ld.volatile.shared.u32 %r1, [sh];",
        "setp.lt.u32 %p1, %lane, 16; @%p1 bra A; st.shared.u32 [%r8], 3; bra B; A: st.shared.u32 [%r8], 4; "
        "B: ld.shared.u32 %r1, [%r8];",
    };
    char text[4096];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        snprintf(text, sizeof text, "%s%s", PLACES, texts[i]);
        check(text, LANES, NULL);
    }
}

/* Lanes that store to one place in one instruction: which value stays there is not defined. */
static void lanes_store_different_values(void **state) {
    (void)state;
    check(PLACES "st.shared.u32 [sh], %lane;", LANES,
          "thread (1,0,0): data race: writes shared memory at 0x0");
    check(PLACES "shr.u32 %r1, %lane, 1; add.u32 %r1, %r1, %r7; st.shared.u8 [%r1], %lane;", LANES,
          "writes shared memory at 0x0 that lane 0");
    check(PLACES "and.b32 %r1, %lane, 15; mad.lo.u32 %r1, %r1, 16, %r7; mov.u32 %r2, %lane; "
                 "st.shared.v4.u32 [%r1], {%r5,%r5,%r5,%r2};",
          LANES, "writes shared memory at 0xc that lane 0");
    check(PLACES "setp.ge.u32 %p1, %lane, 30; @%p1 st.global.u32 [%base], %lane;", LANES,
          "writes global memory at 0x100000 that lane 30");
    /* Lane 7 has stored a value already, which lane 5 repeats. */
    check(PLACES "setp.eq.u32 %p1, %lane, 7; setp.eq.u32 %p2, %lane, 5; selp.u32 %r1, 2, 1, %p1; "
                 "@%p1 st.shared.u32 [sh], 1; or.pred %p3, %p1, %p2; @%p3 st.shared.u32 [sh], %r1;",
          LANES, "data race: writes shared memory");
}

/* Barriers of some lanes order those alone, one after another also over a lane that is in both. */
static void masks_order_their_lanes(void **state) {
    (void)state;
#define HALVES PLACES "setp.lt.u32 %p1, %lane, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p1;"
    check(HALVES "st.shared.u32 [%r8], %lane; bar.warp.sync %r3; ld.shared.u32 %r1, [%r9];", LANES, NULL);
    check(HALVES "st.shared.u8 [%r12], %lane; bar.warp.sync %r3; ld.shared.u8 %r1, [%r13];", LANES, NULL);
    check(HALVES "st.shared.u32 [%r8], %lane; bar.warp.sync %r3; xor.b32 %r1, %r8, 64; "
                 "ld.shared.u32 %r1, [%r1];",
          LANES, "that lane 16 of its warp wrote");
    check(HALVES "st.shared.u32 [%r8], %lane; bar.warp.sync %r3; ld.shared.u32 %r1, [sh];", LANES,
          "thread (16,0,0): data race: reads shared memory at 0x0 that lane 0");
    /* The lanes of a half read one word, then one of them stores to it. */
    check(HALVES "st.shared.u32 [%r8], %lane; bar.warp.sync %r3; and.b32 %r1, %r8, -64; "
                 "ld.shared.u32 %r2, [%r1]; bar.warp.sync %r3; setp.eq.u32 %p2, %r1, %r8; "
                 "@%p2 st.shared.u32 [%r1], 5;",
          LANES, NULL);
    check(HALVES "st.shared.u32 [%r8], %lane; bar.warp.sync %r3; and.b32 %r1, %r8, -64; bar.warp.sync %r3; "
                 "ld.shared.u32 %r2, [%r1]; setp.eq.u32 %p2, %r1, %r8; @%p2 st.shared.u32 [%r1], 5;",
          LANES, "that other lanes of its warp read");
    /* Read before the barrier and behind it, again. */
    check(HALVES "st.shared.u32 [%r8], 0; bar.warp.sync -1; ld.shared.u32 %r1, [%r9]; bar.warp.sync %r3; "
                 "ld.shared.u32 %r1, [%r9]; st.shared.u32 [%r8], 1;",
          LANES, "writes shared memory at 0x0 that lane 1");
    /* Lane 0 reads before, lane 1 behind. */
    check(HALVES
          "st.shared.u32 [%r8], 0; bar.warp.sync -1; setp.eq.u32 %p2, %lane, 0; setp.eq.u32 %p3, %lane, 1; "
          "@%p2 ld.shared.u32 %r1, [sh]; bar.warp.sync %r3; @%p3 ld.shared.u32 %r1, [sh]; "
          "@%p3 st.shared.u32 [sh], 1;",
          LANES, NULL);
    check(HALVES "st.shared.v4.u32 [%r10], {%r5,%r5,%r5,%r5}; bar.warp.sync %r3; "
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r10];",
          LANES, "reads shared memory at 0x0 that lane 0");
    check(HALVES "st.shared.u32 [%r8], 0; bar.warp.sync %r3; bar.warp.sync -1; xor.b32 %r1, %r8, 64; "
                 "ld.shared.u32 %r1, [%r1];",
          LANES, NULL);
    check(HALVES "@!%p1 st.shared.u32 [%r8], 1; @!%p1 exit; bar.warp.sync -1; ld.shared.u32 %r1, [%r8+64];",
          LANES, NULL);
    check(HALVES "@!%p1 st.shared.u32 [%r8], 1; @!%p1 exit; bar.warp.sync 65535; ld.shared.u32 %r1, "
                 "[%r8+64];",
          LANES, "reads shared memory at 0x40 that lane 16");
#undef HALVES
    /* %r3: lanes 0 and 1, %r4: lanes 1 and 2; other lanes alone. */
#define CHAIN                                                                                            \
    PLACES "mov.u32 %r2, 1; shl.b32 %r2, %r2, %lane; setp.lt.u32 %p1, %lane, 2; add.u32 %r1, %lane, -1;" \
           "setp.lt.u32 %p2, %r1, 2; selp.b32 %r3, 3, %r2, %p1; selp.b32 %r4, 6, %r2, %p2; "             \
           "setp.eq.u32 %p3, %lane, 0; setp.eq.u32 %p4, %lane, 2; setp.eq.u32 %p5, %lane, 3;"            \
           "@%p3 st.shared.u32 [sh], 9;"
    check(CHAIN "bar.warp.sync %r3; bar.warp.sync %r4; @%p4 ld.shared.u32 %r1, [sh];", LANES, NULL);
    check(CHAIN "bar.warp.sync %r4; bar.warp.sync %r3; @%p4 ld.shared.u32 %r1, [sh];", LANES,
          "that lane 0 of its warp wrote");
    check(CHAIN "bar.warp.sync %r3; bar.warp.sync %r4; @%p5 ld.shared.u32 %r1, [sh];", LANES,
          "that lane 0 of its warp wrote");
#undef CHAIN
}

/* A sum over a warp through shared memory. */
static void a_sum_over_a_warp(void **state) {
    (void)state;
    static const char *const barriers[] = {"bar.warp.sync -1;", ""};
    uint32_t in[LANES * WORDS], out[LANES * WORDS], sum = 0;
    char text[4096], error[256];
    for (uint32_t i = 0; i < LANES * WORDS; ++i) in[i] = i * i;
    for (uint32_t i = 0; i < LANES; ++i) sum += in[i * WORDS];
    for (int missing = 0; missing < 3; ++missing) {
        snprintf(text, sizeof text,
                 "%sld.global.u32 %%r1, [%%in]; st.shared.u32 [%%r8], %%r1; mov.u32 %%r2, 16;"
                 "L: %s setp.lt.u32 %%p1, %%lane, %%r2; @!%%p1 bra N; mad.lo.u32 %%r3, %%r2, 4, %%r8; "
                 "ld.shared.u32 %%r4, [%%r3]; ld.shared.u32 %%r1, [%%r8]; add.u32 %%r1, %%r1, %%r4; "
                 "st.shared.u32 [%%r8], %%r1; N: shr.u32 %%r2, %%r2, 1; setp.ne.u32 %%p2, %%r2, 0; "
                 "@%%p2 bra L; %s ld.shared.u32 %%r1, [sh]; st.global.u32 [%%out], %%r1;",
                 PLACES, barriers[missing == 1], barriers[missing == 2]);
        bool ok = run_text(text, (shape_t){1, LANES, 1}, in, sizeof in, out, sizeof out, error);
        assert_int_equal(ok, !missing);
        for (int i = 0; ok && i < LANES; ++i) assert_int_equal(out[i * WORDS], sum);
        if (!ok) assert_non_null(strstr(error, "data race: reads shared memory"));
    }
}

/* Two warps take turns; the second one comes to another byte of the word, with and without barriers of either. */
static void warps_keep_apart_what_their_lanes_did(void **state) {
    (void)state;
    static const char *const barriers[] = {"", "bar.warp.sync -1;"};
    static const struct {
        const char *access, *message[2]; /* of warp 0, lane 1; without and with the barrier */
    } cases[] = {
        {"ld.shared.u8 %r2, [sh];", {"that lane 0 of its warp wrote", NULL}},
        {"st.shared.u8 [sh], 9;", {"that lane 0 of its warp wrote", NULL}},
        {"ld.shared.u8 %r2, [sh+1];", {"that warp 1 wrote", "that warp 1 wrote"}},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int b = 0; b < 4; ++b) {
            snprintf(
                text, sizeof text,
                "setp.eq.u32 %%p1, %%warp, 1; setp.eq.u32 %%p2, %%lane, 0; setp.eq.u32 %%p4, %%lane, 1; "
                "st.volatile.shared.u32 [sh+8], 0; st.volatile.shared.u32 [sh+12], 0; bar.sync 0; @%%p1 bra "
                "O; @%%p2 st.shared.u8 [sh], 1; %s st.volatile.shared.u32 [sh+8], 1; "
                "L: ld.volatile.shared.u32 %%r1, [sh+12]; setp.eq.u32 %%p3, %%r1, 0; @%%p3 bra L; "
                "@!%%p4 bra E; %s bra E; "
                "O: ld.volatile.shared.u32 %%r1, [sh+8]; setp.eq.u32 %%p3, %%r1, 0; @%%p3 bra O; "
                "%s @%%p2 st.shared.u8 [sh+1], 2; st.volatile.shared.u32 [sh+12], 1; E: ret;",
                barriers[b % 2], cases[i].access, barriers[b / 2]);
            check(text, 2 * LANES, cases[i].message[b % 2]);
        }
    check(PLACES "setp.eq.u32 %p1, %warp, 0; st.shared.u32 [sh], 0; bar.sync 0; @!%p1 bra O; "
                 "setp.eq.u32 %p2, %lane, 0; @%p2 st.shared.u8 [sh], 1; bar.warp.sync -1; "
                 "@!%p2 st.shared.u8 [sh+1], 2; bra E; O: ld.shared.u8 %r1, [sh]; E: ret;",
          2 * LANES, "data race");
    check(PLACES "setp.eq.u32 %p1, %warp, 0; @%p1 st.shared.u32 [%r8], %lane; bar.warp.sync -1; "
                 "@!%p1 ld.shared.u32 %r1, [%r8];",
          2 * LANES, "");
}

/* Marks of lanes among those of other warps and blocks, in any order of them; all lanes read, the first one of the last stores. */
static void warps_and_blocks_still_race(void **state) {
    (void)state;
    static const char *const warps[] = {
        "ld.shared.u32 %r1, [sh]; @%p1 st.shared.u32 [sh], 1;",
        "ld.shared.u8 %r1, [sh]; @%p1 st.shared.u8 [sh], 1;",
        "ld.shared.u8 %r1, [sh]; bar.warp.sync -1; ld.shared.u8 %r1, [sh+1]; @%p1 st.shared.u8 [sh], 1;",
        "ld.shared.u32 %r1, [sh]; bar.warp.sync -1; @%p1 st.shared.u8 [sh+3], 1;",
    };
    static const char *const blocks[] = {
        "ld.global.u32 %r1, [%base]; bar.sync 0; @%p1 st.global.u32 [%base], 1;",
        "ld.global.u8 %r1, [%base]; bar.sync 0; @%p1 st.global.u8 [%base], 1;",
        "@!%p2 ld.global.u8 %r1, [%base]; @%p2 ld.global.u8 %r1, [%base+1]; @%p1 st.global.u8 [%base], 1;",
        "@!%p2 ld.global.u8 %r1, [%base]; @%p2 ld.global.u8 %r1, [%base+1]; bar.sync 0; "
        "@%p1 st.global.u8 [%base], 1;",
        "@!%p2 ld.global.u8 %r1, [%base]; @%p2 ld.global.u32 %r1, [%base]; bar.warp.sync -1; "
        "@%p1 st.global.u8 [%base], 1;",
    };
    static const char *const apart[] = {
        "@!%p2 ld.global.u8 %r1, [%base]; @%p2 ld.global.u32 %r1, [%base]; bar.sync 0; "
        "@%p1 st.global.u8 [%base+1], 1;",
        "@!%p2 st.global.u8 [%base], 1; bar.sync 0; @%p1 ld.global.u16 %r1, [%base+2]; "
        "@%p1 st.global.u16 [%base+2], 1;",
    };
    char text[4096];
    for (size_t i = 0; i < sizeof warps / sizeof *warps; ++i) {
        snprintf(text, sizeof text, "%s%s%s", PLACES,
                 "st.shared.u32 [sh], 0; bar.sync 0; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 32;",
                 warps[i]);
        check_all(text, 1, 2 * LANES, MANY_SEEDS, "data race");
    }
#define LAST "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p2, %r1, 1; setp.eq.and.u32 %p1, %lane, 0, %p2;"
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        snprintf(text, sizeof text, "%s%s%s", PLACES, LAST, blocks[i]);
        check_all(text, 2, LANES, MANY_SEEDS, "another block");
    }
    for (size_t i = 0; i < sizeof apart / sizeof *apart; ++i) {
        snprintf(text, sizeof text, "%s%s%s", PLACES, LAST, apart[i]);
        check_all(text, 2, 1, MANY_SEEDS, NULL);
    }
#undef LAST
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_need_a_barrier),
        cmocka_unit_test(lanes_that_do_not_race),
        cmocka_unit_test(lanes_store_different_values),
        cmocka_unit_test(masks_order_their_lanes),
        cmocka_unit_test(a_sum_over_a_warp),
        cmocka_unit_test(warps_keep_apart_what_their_lanes_did),
        cmocka_unit_test(warps_and_blocks_still_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
