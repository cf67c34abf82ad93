/* Changes of types between all types that graphs have, of values around the ends of each: the same elements whether they are fed
 * or constants, in vectors of every tail, on every instruction set. The judge is a table of definitions on exact numbers:
 * towards zero, limited to the type, NaN gives 0; integers to integers keep their low bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/graph_on.h"

enum { F32, F64, S64, S32, S8, U8, TRUTH, NTYPES };
static const dnnl_tp_data_type_t types[NTYPES] = {dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_s64,    dnnl_tp_s32,
                                                  dnnl_tp_s8,  dnnl_tp_u8,  dnnl_tp_boolean};
static const char *const names[NTYPES] = {"f32", "f64", "s64", "s32", "s8", "u8", "boolean"};
static const size_t sizes[NTYPES] = {4, 8, 8, 4, 1, 1, 1};
enum { MOST = 400 };

/* A number of any type: floats as such, integers as such. */
typedef struct {
    bool is_float;
    double f;
    int64_t i;
} number_t;

static number_t get(int type, const void *data, int64_t at) {
    const char *p = (const char *)data + (size_t)at * sizes[type];
    float f;
    number_t x = {.is_float = type <= F64};
    int32_t s;
    switch (type) {
    case F32:
        memcpy(&f, p, sizeof f);
        x.f = (double)f;
        break;
    case F64: memcpy(&x.f, p, sizeof x.f); break;
    case S64: memcpy(&x.i, p, sizeof x.i); break;
    case S32:
        memcpy(&s, p, sizeof s);
        x.i = s;
        break;
    case S8: x.i = *(const int8_t *)p; break;
    case U8: x.i = *(const uint8_t *)p; break;
    default: x.i = *(const uint8_t *)p != 0; break;
    }
    return x;
}

/* The ends of integers; most + 1 is a power of 2, as double. */
static const struct {
    int64_t least, most;
} ends[NTYPES] = {
    [S64] = {INT64_MIN, INT64_MAX}, [S32] = {INT32_MIN, INT32_MAX}, [S8] = {-128, 127}, [U8] = {0, 255}};

static number_t converted(number_t x, int to) {
    number_t y = {.is_float = to <= F64};
    if (to == F64) {
        y.f = x.is_float ? x.f : (double)x.i;
    } else if (to == F32) {
        y.f = (double)(x.is_float ? (float)x.f : (float)x.i);
    } else if (to == TRUTH) {
        y.i = x.is_float ? x.f != 0 : x.i != 0;
    } else if (x.is_float) {
        const long double t = truncl((long double)x.f);
        y.i = isnan(x.f)                         ? 0
              : t <= (long double)ends[to].least ? ends[to].least
              : t >= (long double)ends[to].most  ? ends[to].most
                                                 : (int64_t)t;
    } else {
        const uint64_t bits = (uint64_t)x.i; /* modulo 2^bits */
        y.i = to == S64  ? x.i
              : to == U8 ? (int64_t)(bits & 255)
              : to == S8 ? (int64_t)((bits & 255) ^ 128) - 128
                         : (int64_t)((bits & 0xffffffffu) ^ 0x80000000u) - INT64_C(0x80000000);
    }
    return y;
}

static bool same(number_t x, number_t y) {
    if (!x.is_float) return x.i == y.i;
    return (isnan(x.f) && isnan(y.f)) || (x.f == y.f && signbit(x.f) == signbit(y.f));
}

/* Where conversions end: of each type its ends, powers of 2, and what is beside them. Returns how many. */
static int64_t fill(int type, void *to) {
    static const double bases[] = {0,      1,      127,    128,    255,    256,    32767,
                                   32768,  65535,  65536,  0x1p24, 0x1p31, 0x1p32, 0x1p52,
                                   0x1p53, 0x1p62, 0x1p63, 0x1p64, 3e38,   1e300};
    static const double steps[] = {0, .25, .5, .75, 1, 1.5, 2};
    static const double special[] = {NAN, INFINITY, -0., 0x1p-149, 0x1p-126, 0x1p-1074, 1e-45, .49999999};
    int64_t n = 0;
    double v[MOST];
    for (size_t b = 0; b < sizeof bases / sizeof *bases; ++b)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s) {
            v[n++] = bases[b] + steps[s];
            v[n++] = bases[b] - steps[s];
        }
    for (size_t b = 0; b < sizeof special / sizeof *special; ++b) v[n++] = special[b];
    assert_true(n < MOST / 2 * 2);
    if (type <= F64) {
        for (int64_t i = 0; i < n && n + i < MOST; ++i) v[n + i] = -v[i];
        n = MOST;
        for (int64_t i = 0; i < n; ++i)
            if (type == F64) ((double *)to)[i] = v[i];
            else ((float *)to)[i] = (float)v[i];
        return n;
    }
    for (int64_t i = 0; i < n; ++i) { /* around 2^k and -2^k, beyond what double holds */
        const int64_t k = i % 64, by = i / 64 - 2;
        const uint64_t bits = (UINT64_C(1) << k) + (uint64_t)by;
        const uint64_t value = i & 1 ? bits : 0 - bits;
        switch (type) {
        case S64: ((uint64_t *)to)[i] = value; break;
        case S32: ((uint32_t *)to)[i] = (uint32_t)value; break;
        case TRUTH: ((uint8_t *)to)[i] = (uint8_t)(value & 1); break;
        default: ((uint8_t *)to)[i] = (uint8_t)i; break;
        }
    }
    return n;
}

static void check_pair(int from, int to, int64_t n, const void *x, bool is_constant) {
    uint64_t room[MOST];
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, (int)strlen(names[to]),
                                    names[to]};
    const test_tensor_t in = {types[from], 1, {n}, x};
    int places_n;
    const place_t *at = places(&places_n);
    for (int p = 0; p < places_n; ++p) {
        if (at[p].threads != 1 && (at[p].threads != 3 || n < MOST / 2)) continue;
        if (!test_graph_on(&at[p], dnnl_tp_op_type_cast, 1, &attr, 1, &in, is_constant, room, sizeof room))
            continue;
        for (int64_t i = 0; i < n; ++i) {
            const number_t want = converted(get(from, x, i), to), got = get(to, room, i);
            if (!same(got, want))
                fail_msg("%s, %s: %s to %s, element %lld of %lld, %.17g / %lld: got %.17g / %lld, want %.17g "
                         "/ %lld",
                         at[p].name, is_constant ? "constant" : "fed", names[from], names[to], (long long)i,
                         (long long)n, get(from, x, i).f, (long long)get(from, x, i).i, got.f,
                         (long long)got.i, want.f, (long long)want.i);
        }
    }
}

static void test_all_pairs(void **state) {
    (void)state;
    static const int64_t tails[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65};
    enum { TAILS = sizeof tails / sizeof *tails };
    for (int from = 0; from < NTYPES; ++from) {
        uint64_t x[MOST];
        const int64_t n = fill(from, x);
        for (int to = 0; to < NTYPES; ++to)
            for (int is_constant = 0; is_constant < 2; ++is_constant) {
                check_pair(from, to, n, x, is_constant);
                for (int t = 0, at = 0; t < TAILS; at += (int)tails[t++])
                    check_pair(from, to, tails[t], (const char *)x + (size_t)at * sizes[from], is_constant);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_pairs)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
