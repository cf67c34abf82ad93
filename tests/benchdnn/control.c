/* Negative controls of the harness: every check of benchdnn must be able to fail. Wrong values, guards, gaps,
 * padding and conversions are made on purpose and must be seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "common/compare.h"
#include "common/options.h"
#include "common/side.h"
#include "drivers/drivers.h"

static int failures;
#define CHECK(e)                                           \
    do {                                                   \
        if (!(e)) {                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #e); \
            ++failures;                                    \
        }                                                  \
    } while (0)

static bd_prb_t p;

static bd_layout_t layout_of(int nd, const int64_t *d, const char *tag, const int64_t *strides) {
    bd_tensor_t t = {.nd = nd, .dt = dnnl_tp_f32, .tag = tag, .strides = strides};
    bd_layout_t l;
    dnnl_tp_memory_desc_t md;
    memcpy(t.d, d, (size_t)nd * sizeof *d);
    if (bd_md_create(&bd_ours, &t, true, &md) != dnnl_tp_success) abort();
    if (bd_layout(&bd_ours, md, &l) != dnnl_tp_success) abort();
    dnnl_tp_memory_desc_destroy(md);
    return l;
}

static void test_layouts(void) {
    const int64_t d[4] = {2, 19, 3, 5}, s[2] = {40, 2}, d2[2] = {3, 7};
    bd_layout_t l = layout_of(4, d, "aBx16b", NULL);
    CHECK(l.described && !l.plain && l.bytes == 2 * 32 * 3 * 5 * sizeof(float));
    float *m = malloc(l.bytes);
    double v[2 * 19 * 3 * 5], w[2 * 19 * 3 * 5];
    for (int i = 0; i < 570; ++i) v[i] = i + 1;
    bd_store(&l, m, v);
    bd_load(&l, m, w);
    CHECK(!memcmp(v, w, sizeof v) && !bd_differs(&l, m, v));
    CHECK(m[0] == 1 && m[1] == 16 && m[16] == 2); /* channel 1 is 15 elements on */
    m[16] = 3;
    CHECK(bd_differs(&l, m, v));
    CHECK(bd_bad_padding(&l, m) == 0);
    m[(1 * 3 * 5) * 16 + 3] = 5; /* channel 19 of the second block does not exist */
    CHECK(bd_bad_padding(&l, m) == 1);
    free(m);
    l = layout_of(2, d2, NULL, s);
    CHECK(l.described && l.bytes >= (2 * 40 + 6 * 2 + 1) * sizeof(float));
    unsigned char *b = malloc(l.bytes);
    memset(b, BD_FILL_BYTE, l.bytes);
    bd_store(&l, b, v);
    CHECK(bd_touched_gaps(&l, b, BD_FILL_BYTE) == 0);
    b[4] = 0; /* element 1 lies between columns 0 and 1 */
    CHECK(bd_touched_gaps(&l, b, BD_FILL_BYTE) == 1);
    free(b);
}

static void test_conversions(void) {
    CHECK(bd_round_to(dnnl_tp_s8, 127.5) == 127 && bd_round_to(dnnl_tp_s8, -300) == -128);
    CHECK(bd_round_to(dnnl_tp_u8, 2.5) == 2 && bd_round_to(dnnl_tp_u8, 3.5) == 4 &&
          bd_round_to(dnnl_tp_u8, -1) == 0);
    CHECK(bd_round_to(dnnl_tp_s32, 3e9) == 2147483647.);
    CHECK(bd_round_to(dnnl_tp_bf16, 257) == 256 && bd_round_to(dnnl_tp_bf16, 259) == 260);
    CHECK(bd_round_to(dnnl_tp_f16, 2049) == 2048 && bd_round_to(dnnl_tp_f16, 2051) == 2052);
    CHECK(isinf(bd_round_to(dnnl_tp_f16, 65520)) && bd_round_to(dnnl_tp_f16, 65519) == 65504);
    CHECK(bd_round_to(dnnl_tp_f16, 0x1p-24) == 0x1p-24 && bd_round_to(dnnl_tp_f16, 0x1p-26) == 0);
    CHECK(bd_round_to(dnnl_tp_f32, 16777217) == 16777216);
}

/* What a row does to each value, in order and scattered: every f16 is kept, and what is between two of them goes to the
 * nearer one. */
static void test_rows(void) {
    enum { N = 1 << 16 };
    static uint16_t h[N], again[N];
    static double v[N], w[N];
    static int64_t step[N];
    int wrong = 0;
    for (int i = 0; i < N; ++i) h[i] = (uint16_t)i, step[i] = N - 1 - i;
    bd_get_row(dnnl_tp_f16, h, NULL, N, v);
    CHECK(v[0x3c00] == 1 && v[0xc000] == -2 && v[1] == 0x1p-24 && v[0x7bff] == 65504);
    CHECK(isinf(v[0x7c00]) && isinf(v[0xfc00]) && isnan(v[0x7c01]) && signbit(v[0x8000]));
    bd_put_row(dnnl_tp_f16, again, step, N, v);
    for (int i = 0; i < N; ++i)
        wrong += isnan(v[i]) ? (again[N - 1 - i] | 0x8000) != 0xfe00 : again[N - 1 - i] != h[i];
    CHECK(!wrong);
    for (int i = 0; i < 0x7bff; ++i) w[i] = v[i] + (v[i + 1] - v[i]) * (i & 1 ? 0.5 : 0.25);
    bd_round_row(dnnl_tp_f16, w, w, 0x7bff);
    for (int i = 0; i < 0x7bff; ++i) wrong += w[i] != v[i + (i & 1)]; /* ties go to the even one */
    CHECK(!wrong);
}

static void test_compare(void) {
    const int64_t d = 100;
    bd_cmp_t c = {.threshold = 1e-6};
    double got[100], exp[100];
    p.drv = &bd_driver_eltwise;
    p.alg = dnnl_tp_eltwise_relu;
    p.nt = 0;
    bd_add_tensor(&p, DNNL_TP_ARG_DST, "dst", 1, &d, dnnl_tp_f32, NULL, BD_OUT);
    for (int i = 0; i < 100; ++i) got[i] = exp[i] = i + 1;
    bd_verdict_t v = bd_compare(&p, 0, &c, got, exp, true);
    CHECK(v.errors == 0 && v.total == 100 && !v.mistrusted);
    got[3] = (double)(float)(4 * (1 + 2e-6));
    got[7] = NAN;
    got[9] = INFINITY;
    CHECK(bd_compare(&p, 0, &c, got, exp, true).errors == 3);
    c.threshold = 0;
    got[3] = (double)nextafterf(4, 5);
    CHECK(bd_compare(&p, 0, &c, got, exp, true).errors == 3);
    for (int i = 0; i < 100; ++i) got[i] = exp[i] = i < 65 ? 1 : 0;
    CHECK(bd_compare(&p, 0, &c, got, exp, true).mistrusted);
    CHECK(bd_l2(got, exp, 100) == 0);
    got[0] = 2;
    CHECK(fabs(bd_l2(got, exp, 100) - sqrt(1. / 65)) < 1e-12);
}

/* A whole problem whose memory is damaged after it ran. */
static void test_side(void) {
    bd_side_t s;
    memset(&p, 0, sizeof p);
    p.drv = &bd_driver_eltwise;
    for (int i = 0; p.drv->loop[i]; ++i)
        if (p.drv->loop[i]->set(&p, p.drv->loop[i]->def)) abort();
    CHECK(!p.drv->parse(&p, "3x5") && !p.drv->init(&p));
    CHECK(bd_side_create(&s, &p, &bd_ours, 1) == dnnl_tp_success && bd_side_alloc(&s) == dnnl_tp_success);
#if defined(__SANITIZE_ADDRESS__)
    CHECK(__asan_address_is_poisoned((char *)s.data[1] + s.lay[1].bytes));
    CHECK(__asan_address_is_poisoned((char *)s.data[1] - 1));
#endif
    double v[15] = {1, -2, 3};
    CHECK(bd_side_store(&s, 0, v) == dnnl_tp_success && bd_side_execute(&s, 1) == dnnl_tp_success);
    CHECK(!bd_side_violation(&s, 0) && !bd_side_violation(&s, 1));
    double got[15];
    CHECK(bd_side_load(&s, 1, got) == dnnl_tp_success && got[0] == 1 && got[1] == 0 && got[2] == 3);
    /* The guards were unpoisoned by the look at them. */
    ((char *)s.data[1])[s.lay[1].bytes] = 0;
    CHECK(bd_side_violation(&s, 1));
    ((char *)s.data[1])[s.lay[1].bytes] = (char)BD_FILL_BYTE;
    ((char *)s.data[1])[-1] = 0;
    CHECK(bd_side_violation(&s, 1));
    bd_side_destroy(&s);
}

/* Every public kind of the library has a driver. */
static void test_drivers(void) {
    static const dnnl_tp_primitive_kind_t kinds[] = {
#define DTP_KIND(name, number) number,
#define DTP_GRAPH_KIND(name, NAME, number)
#include "common/primitive/kinds.inc"
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        int found = 0;
        for (int i = 0; bd_drivers[i]; ++i) found += bd_drivers[i]->kind == kinds[k];
        if (found != 1) printf("%s has %d drivers\n", dnnl_tp_prim_kind2str(kinds[k]), found);
        CHECK(found == 1);
    }
}

int main(void) {
    bd_options_init();
    test_drivers();
    test_layouts();
    test_conversions();
    test_rows();
    test_compare();
    test_side();
    bd_exec_shutdown();
    printf("%d failures\n", failures);
    return failures != 0;
}
