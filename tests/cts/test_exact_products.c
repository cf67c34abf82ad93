/* Matmul of f64, s64 and s32 as a primitive: rows and columns in either order, batches of which either side has one, bias of
 * every shape that is broadcast, sizes around tiles; against sums in this file. Integers wrap. */
#include <math.h>
#include <stdlib.h>

#include "support/tensor.h"

enum { SRC, WEI, DST, BIA, TENSORS };

static void fill(tensor_t *t, test_rng_t *r) {
    const size_t size = dtp_type_size(t->md.data_type);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&t->md) == 0) return;
    do {
        const uint64_t v = (uint64_t)test_rand(r) << 32 | (uint32_t)test_rand(r);
        const double f = (double)test_uniform(r, -1.f, 1.f) / 3;
        void *to = t->data + dtp_md_offset(&t->md, pos) * (int64_t)size;
        if (t->md.data_type == dnnl_tp_f64) memcpy(to, &f, size);
        else memcpy(to, &v, size);
    } while (tensor_next(&t->md, pos));
}

/* The element at pos, where a dimension of one is broadcast; the lower bytes of integers. */
static void get(const tensor_t *t, const int64_t *pos, double *f64, uint64_t *whole) {
    dnnl_tp_dims_t at = {0};
    const size_t size = dtp_type_size(t->md.data_type);
    for (int d = 0; d < t->md.ndims; ++d) at[d] = t->md.dims[d] == 1 ? 0 : pos[d];
    const void *from = t->data + dtp_md_offset(&t->md, at) * (int64_t)size;
    *whole = 0;
    memcpy(whole, from, size);
    memcpy(f64, whole, sizeof *f64);
}

static void check(const tensor_t *t, bool has_bias, const char *place) {
    const int nd = t[DST].md.ndims;
    const dnnl_tp_data_type_t type = t[DST].md.data_type;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_nelems(&t[DST].md) == 0) return;
    do {
        double f = 0, x, y;
        uint64_t whole = 0, p, q;
        if (has_bias) get(&t[BIA], pos, &f, &whole);
        for (int64_t k = 0; k < t[SRC].md.dims[nd - 1]; ++k) {
            int64_t a[DNNL_TP_MAX_NDIMS], b[DNNL_TP_MAX_NDIMS];
            memcpy(a, pos, sizeof a);
            memcpy(b, pos, sizeof b);
            a[nd - 1] = b[nd - 2] = k;
            get(&t[SRC], a, &x, &p);
            get(&t[WEI], b, &y, &q);
            f += x * y;
            whole += p * q;
        }
        get(&t[DST], pos, &x, &p);
        const bool fits = type == dnnl_tp_f64   ? fabs(x - f) <= 1e-13
                          : type == dnnl_tp_s64 ? p == whole
                                                : (uint32_t)p == (uint32_t)whole;
        if (!fits)
            fail_msg("%s, type %d: at %lld,%lld,%lld: %g and %llx, not %g and %llx", place, (int)type,
                     (long long)pos[0], (long long)pos[1], (long long)pos[2], x, (unsigned long long)p, f,
                     (unsigned long long)whole);
    } while (tensor_next(&t[DST].md, pos));
}

static void run(dnnl_tp_data_type_t type, int nd, const int64_t dims[TENSORS][4],
                const char *const layout[TENSORS], bool has_bias, uint64_t seed) {
    test_rng_t r = test_rng(seed);
    tensor_t t[TENSORS];
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < TENSORS; ++i) tensor_layout(&t[i], nd, dims[i], type, layout[i]);
    for (int i = 0; i < TENSORS; ++i)
        if (i != DST) fill(&t[i], &r);
    for (int i = 0; i < n; ++i) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[i].engine,
                      dnnl_tp_matmul_primitive_desc_create(&pd, at[i].engine, &t[SRC].md, &t[WEI].md,
                                                           has_bias ? &t[BIA].md : NULL, &t[DST].md, NULL)))
            continue;
        const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, t[SRC].data},
                                              {DNNL_TP_ARG_WEIGHTS, t[WEI].data},
                                              {DNNL_TP_ARG_DST, t[DST].data},
                                              {DNNL_TP_ARG_BIAS, t[BIA].data}};
        tensor_blank(&t[DST]);
        CHECK_OK(run_pd(&at[i], pd, has_bias ? 4 : 3, args));
        if (dtp_md_nelems(&t[DST].md)) tensor_check(&t[DST], at[i].name);
        check(t, has_bias, at[i].name);
    }
    for (int i = 0; i < TENSORS; ++i) tensor_free(&t[i]);
}

static void products(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32};
    static const int64_t sizes[][3] = {{1, 1, 1},   {5, 33, 17}, {33, 16, 31},
                                       {34, 3, 65}, {3, 0, 4},   {64, 15, 2}};
    static const char *const two[] = {"ab", "ba"}, *const three[] = {"abc", "acb", "bac"};
    int number = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (int form = 0; form < 4 * 5 * 3; ++form, ++number) {
            const int bias = form % 5, batch = form / 5 % 4;
            const int64_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
            /* Batches: none, of both, of weights, of src. */
            const int64_t nb = batch ? 3 : 1, src = batch == 2 ? 1 : nb, wei = batch == 3 ? 1 : nb;
            const int64_t bm = bias == 1 || bias == 3 ? m : 1, bn = bias == 2 || bias == 3 ? n : 1,
                          bb = bias == 4 ? nb : 1;
            if (batch == 0) {
                const int64_t dims[TENSORS][4] = {{m, k}, {k, n}, {m, n}, {bm, bn}};
                const char *const layout[] = {two[number % 2], two[number / 2 % 2], "ab", "ab"};
                run(types[number % 3], 2, dims, layout, bias > 0 && bias < 4, (uint64_t)number);
                continue;
            }
            const int64_t dims[TENSORS][4] = {{src, m, k}, {wei, k, n}, {nb, m, n}, {bb, bm, bn}};
            const char *const layout[] = {three[number % 3], three[number / 2 % 3],
                                          number % 4 ? "abc" : "bac", "abc"};
            run(types[number % 3], 3, dims, layout, bias > 0, (uint64_t)number);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
