/* Single elements of any type from double; conversions in registers and transposed moves (cpu/elementwise/move.h) of
 * every instruction set against the portable table: the same bits, for all types, row lengths, steps, alignments and
 * kinds of stores, and nothing written outside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/scalar.h"
#include "common/primitive/engine.h"
#include "cpu/elementwise/cast.h"
#include "cpu/elementwise/move.h"
#include "cpu/simd/vops.h"

enum { ROWS = 3, COLS = 400, GUARD = 64, MAX_BYTES = ROWS * COLS * 4 + 2 * GUARD };

static uint64_t seed = 88172645463325252ull;
static uint32_t rnd(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static const int size_of[] = {0, 2, 2, 4, 4, 1, 1};

#if DTP_X64
/* Random bits, and values around the ends of the types. */
static void fill(int type, char *p, int64_t n) {
    static const float edge[] = {0.f,    -0.f,    .5f,     1.5f,         -2.5f,        127.f,         127.5f,
                                 128.f,  -128.f,  -128.5f, -129.f,       255.f,        255.5f,        256.f,
                                 -1.f,   65504.f, 65536.f, 2147483520.f, 2147483648.f, -2147483648.f, 3e38f,
                                 -3e38f, 1e-40f,  6e-8f,   3e-8f};
    for (int64_t i = 0; i < n * size_of[type]; ++i) p[i] = (char)rnd();
    if (type != dnnl_tp_f32) return;
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t r = rnd();
        float v = edge[r / 4 % (sizeof edge / sizeof *edge)];
        if (r % 4 == 1) v = (float)((int32_t)rnd() % 600) / 2;
        if (r % 4 != 0) memcpy(p + i * 4, &v, 4);
    }
}

static void check(const dtp_cast_t *table, int s, int t, int64_t cols, const float *q, int stream,
                  int shift) {
    static char x[MAX_BYTES] __attribute__((aligned(64))), got[MAX_BYTES] __attribute__((aligned(64))),
        want[MAX_BYTES];
    const dtp_vops_t *v = dtp_vops(0);
    const int64_t ld = shift % 2 ? cols : COLS;
    if (!table->fn[s][t] || (s == t && !q)) return;
    fill(s, x, ROWS * COLS);
    memset(got, 0x5a, sizeof got);
    memset(want, 0x5a, sizeof want);
    char *y = got + GUARD + shift * size_of[t], *z = want + GUARD + shift * size_of[t];
    table->fn[s][t](&(dtp_cast_args_t){x, y, COLS, ld, ROWS, cols, q, stream});
    for (int64_t r = 0; r < ROWS; ++r)
        for (int64_t c = 0; c < cols; ++c) {
            float a;
            v->load[s](&a, x + (r * COLS + c) * size_of[s], 1, 1);
            if (q) a = ((a - q[0]) * q[1]) / q[2] + q[3];
            v->store[t](z + (r * ld + c) * size_of[t], &a, 1, 1);
        }
    if (t >= dnnl_tp_s32) {
        assert_memory_equal(got, want, sizeof got);
        return;
    }
    /* A NaN's payload may differ; everything else is the same to the bit. */
    assert_memory_equal(got, want, (size_t)(y - got));
    for (int64_t i = 0; y + i * size_of[t] < got + sizeof got - GUARD; ++i) {
        float a, b;
        v->load[t](&a, y + i * size_of[t], 1, 1);
        v->load[t](&b, z + i * size_of[t], 1, 1);
        if (a != a && b != b) continue;
        assert_memory_equal(y + i * size_of[t], z + i * size_of[t], (size_t)size_of[t]);
    }
}

static void all_types(const dtp_cast_t *table) {
    static const float steps[][4] = {{3.f, .25f, 1.f, -0.f}, {0.f, 1.f, 1.7f, 5.f}};
    static const int64_t cols[] = {1, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 130, 200, COLS};
    for (int s = dnnl_tp_f16; s <= dnnl_tp_u8; ++s)
        for (int t = dnnl_tp_f16; t <= dnnl_tp_u8; ++t)
            for (size_t c = 0; c < sizeof cols / sizeof *cols; ++c)
                for (int k = 0; k < 6; ++k)
                    check(table, s, t, cols[c], k % 3 ? steps[k % 3 - 1] : NULL, k / 3, (int)(rnd() % 3));
}

/* Words go where they belong, for every shape up to a few squares, with zeros behind and nothing else
 * touched. */
static void all_shapes(const dtp_move_t *move) {
    enum { SIDE = 40, LD = 64 };
    static uint32_t src[LD * LD] __attribute__((aligned(64))), dst[LD * LD] __attribute__((aligned(64)));
    for (int i = 0; i < LD * LD; ++i) src[i] = (uint32_t)i * 2654435761u | 1;
    for (int rows = 1; rows <= SIDE; rows += rows < 20 ? 1 : 4)
        for (int cols = 1; cols <= SIDE; cols += cols < 20 ? 1 : 4)
            for (int fill = 0; fill <= 18; fill += 9)
                for (int stream = 0; stream < 2; ++stream) {
                    memset(dst, 0x5a, sizeof dst);
                    move->transpose[2](dst, LD, src, LD, rows, cols, fill, stream);
                    for (int r = 0; r < LD; ++r)
                        for (int c = 0; c < LD; ++c) {
                            uint32_t want = 0x5a5a5a5a;
                            if (r < rows && c < cols) want = src[c * LD + r];
                            else if (r < rows && c < cols + fill) want = 0;
                            assert_int_equal(dst[r * LD + c], want);
                        }
                }
    for (int bytes = 1; bytes <= 300; ++bytes)
        for (int stream = 0; stream < 2; ++stream) {
            memset(dst, 0x5a, sizeof dst);
            move->rows((char *)dst + stream * 64, 320, (const char *)src, 304, 5, bytes, stream);
            for (int r = 0; r < 5; ++r)
                for (int i = 0; i < 320; ++i)
                    assert_int_equal(((char *)dst)[stream * 64 + r * 320 + i],
                                     i < bytes ? ((char *)src)[r * 304 + i] : 0x5a);
        }
}
#endif

static void casts(void **state) {
    (void)state;
#if DTP_X64
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all_types(&dtp_cast__avx2);
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        all_types(&dtp_cast__avx512);
#else
    (void)size_of, (void)rnd;
#endif
}

static void moves(void **state) {
    (void)state;
#if DTP_X64
    all_shapes(dtp_moves(0));
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all_shapes(&dtp_moves__avx2);
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        all_shapes(&dtp_moves__avx512);
#endif
}

/* One element, from double: to nearest even, limited, NaN gives 0. */
static void stores(void **state) {
    (void)state;
    static const struct {
        double from;
        int64_t s64;
        int32_t s32;
    } cases[] = {{(double)NAN, 0, 0},
                 {2.5, 2, 2},
                 {-3.5, -4, -4},
                 {0x1p62, INT64_C(1) << 62, INT32_MAX},
                 {0x1.fffffffffffffp62, INT64_C(0x7ffffffffffffc00), INT32_MAX},
                 {0x1p63, INT64_MAX, INT32_MAX},
                 {1e300, INT64_MAX, INT32_MAX},
                 {(double)INFINITY, INT64_MAX, INT32_MAX},
                 {-0x1p63, INT64_MIN, INT32_MIN},
                 {-1e300, INT64_MIN, INT32_MIN},
                 {-(double)INFINITY, INT64_MIN, INT32_MIN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int64_t x = 1;
        int32_t y = 1;
        dtp_store(dnnl_tp_s64, &x, 0, cases[i].from);
        dtp_store(dnnl_tp_s32, &y, 0, cases[i].from);
        assert_true(x == cases[i].s64 && y == cases[i].s32);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(casts), cmocka_unit_test(moves),
                                       cmocka_unit_test(stores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
