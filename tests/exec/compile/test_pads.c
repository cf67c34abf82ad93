/* Chains of joins that surround a tensor with a value, or repeat it, become one step: random chains of random types and orders of
 * dimensions, as they are and with what keeps them apart (a second reader, another value, constants of several values), on every
 * place, against elements that this file places one by one. */
#include <stdio.h>
#include <string.h>

#include "exec/run/executable.h"
#include "support/check.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { MOST = 60000, MOST_DIMS = 4, MOST_JOINS = 4, FILLED = 0x5a };

typedef struct {
    int ndims;
    dnnl_tp_dims_t dims;
    uint64_t at[MOST]; /* an element each, of `size` bytes */
} array_t;
static array_t now, next;
static unsigned char src[MOST * 8], got[MOST * 8], second[MOST * 8], want[MOST * 8], want_second[MOST * 8];
static uint64_t part[MOST];

static int64_t count(int ndims, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < ndims; ++i) n *= dims[i];
    return n;
}

static void put(unsigned char *to, const uint64_t *from, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; ++i) memcpy(to + (size_t)i * size, &from[i], size);
}

/* now, with `before` and `behind` elements of the value along the axis, or `times` as long. */
static void place(int axis, int64_t before, int64_t behind, int64_t times, const uint64_t *value) {
    const int64_t all = now.dims[axis];
    int64_t inner = 1;
    for (int i = axis + 1; i < now.ndims; ++i) inner *= now.dims[i];
    next = (array_t){.ndims = now.ndims};
    memcpy(next.dims, now.dims, sizeof next.dims);
    next.dims[axis] = before + all * times + behind;
    const int64_t n = count(next.ndims, next.dims);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = i / inner % next.dims[axis] - before, outer = i / inner / next.dims[axis];
        const bool inside = at >= 0 && at < all * times;
        next.at[i] = inside ? now.at[(outer * all + at % all) * inner + i % inner] : value[at >= 0];
    }
    now = next;
}

static dnnl_tp_value_t constant_of(dnnl_tp_graph_t g, dnnl_tp_data_type_t type, size_t size, int axis,
                                   int64_t length, uint64_t value) {
    static unsigned char bytes[MOST * 8];
    dnnl_tp_value_t v;
    dnnl_tp_dims_t dims;
    memcpy(dims, now.dims, sizeof dims);
    dims[axis] = length;
    const int64_t n = count(now.ndims, dims);
    for (int64_t i = 0; i < n; ++i) part[i] = value;
    put(bytes, part, n, size);
    CHECK_OK(
        dnnl_tp_graph_constant(g, &v, NULL, type, now.ndims, dims, bytes, DNNL_TP_CONSTANT_COPY, NULL, NULL));
    return v;
}

static void run(const place_t *at, dnnl_tp_graph_t g, unsigned flags, int nout, const char *what, int64_t n,
                int64_t nsecond, size_t size, int steps) {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t sa;
    void *in[] = {src}, *out[] = {got, second};
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, dnnl_tp_cpu));
    if (at->pool) CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, at->pool));
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                         .stream_attr = test_engine_is_far(at->engine) ? NULL : sa,
                                         .flags = flags};
    if (has_impl(at->engine, dnnl_tp_executable_compile(&e, g, at->engine, 0, NULL, &opts))) {
        memset(got, FILLED, sizeof got);
        CHECK_OK(test_run_graph(e, at->stream, 1, in, nout, out, NULL));
        if (memcmp(got, want, (size_t)n * size) || got[(size_t)n * size] != FILLED)
            fail_msg("%s x%d, flags %u: %s", at->name, at->threads, flags, what);
        if (nout > 1) assert_memory_equal(second, want_second, (size_t)nsecond * size);
        int pads = 0, joins = 0;
        for (int i = 0; i < e->nsteps; ++i) {
            pads += !strcmp(e->steps[i].kind, "pad");
            joins += !strcmp(e->steps[i].kind, "concat");
        }
        if (steps >= 0 && !flags && runs_cpu_code(at->engine) && (pads != steps || joins))
            fail_msg("%s: %d pads and %d joins, not %d", what, pads, joins, steps);
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
}

static void test_random(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_u8,  dnnl_tp_bf16, dnnl_tp_f64,
                                                dnnl_tp_s64, dnnl_tp_s32, dnnl_tp_s8};
    static const size_t sizes[] = {4, 1, 2, 8, 8, 4, 1};
    static const int64_t lengths[] = {1, 2, 3, 4, 7, 16, 17, 33};
    test_rng_t r = test_rng(17);
    int nplaces;
    const place_t *at = places(&nplaces);
    for (int number = 0; number < 150; ++number) {
        dnnl_tp_graph_t g;
        dnnl_tp_value_t x, middle = -1;
        char what[256] = "";
        int length = 0;
        const unsigned t = test_rand(&r) % 7, joins = 1 + test_rand(&r) % MOST_JOINS;
        /* 0: one value, and every axis once; else as it comes. */
        const unsigned wild = test_rand(&r) % 2;
        const uint64_t one = test_rand(&r) % 3 ? 0x1234567890abcdef : 0,
                       mask = sizes[t] == 8 ? ~0ull : (1ull << 8 * sizes[t]) - 1;
        now.ndims = 1 + (int)(test_rand(&r) % MOST_DIMS);
        do
            for (int i = 0; i < now.ndims; ++i) now.dims[i] = lengths[test_rand(&r) % 8];
        while (count(now.ndims, now.dims) > MOST / 40);
        for (int64_t i = 0; i < count(now.ndims, now.dims); ++i)
            now.at[i] = test_rand(&r) & mask & 0x3f3f3f3f3f3f3f3full;
        put(src, now.at, count(now.ndims, now.dims), sizes[t]);
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        CHECK_OK(dnnl_tp_graph_input(g, &x, "x", types[t], now.ndims, now.dims));
        int64_t nsecond = 0;
        const bool has_rows = now.dims[0] > 1;
        unsigned used = 0, made = 0;
        for (unsigned k = 0; k < joins; ++k) {
            const int axis = (int)(test_rand(&r) % (unsigned)now.ndims);
            const int64_t room = MOST / count(now.ndims, now.dims), before = test_rand(&r) % 3,
                          behind = test_rand(&r) % 4, times = before || behind ? 1 : 2 + test_rand(&r) % 3;
            if ((!wild && used >> axis & 1) || room < times + before + behind) continue;
            used |= 1u << axis;
            const uint64_t value[] = {one & mask, wild && test_rand(&r) % 3 == 0 ? 7 : one & mask};
            dnnl_tp_value_t in[4];
            int nin = 0;
            if (before) in[nin++] = constant_of(g, types[t], sizes[t], axis, before, value[0]);
            for (int64_t i = 0; i < times; ++i) in[nin++] = x;
            if (behind) in[nin++] = constant_of(g, types[t], sizes[t], axis, behind, value[1]);
            const int64_t from_end = axis - (int64_t)(test_rand(&r) % 2) * now.ndims;
            const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &from_end};
            if (nsecond == 0 && wild && k > 0 && made && test_rand(&r) % 2) {
                middle = x;
                nsecond = count(now.ndims, now.dims);
                put(want_second, now.at, nsecond, sizes[t]);
            }
            CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_concat, "j", nin, in, 1, &attr, 1, &x));
            length += snprintf(what + length, sizeof what - (size_t)length, "%d: %d + %d * %d + %d; ", axis,
                               (int)before, (int)now.dims[axis], (int)times, (int)behind);
            place(axis, before, behind, times, value);
            ++made;
        }
        if (made) {
            const int64_t n = count(now.ndims, now.dims);
            /* Parts that follow each other in memory stay joins. */
            const bool is_one = !wild && has_rows && used > 1;
            put(want, now.at, n, sizes[t]);
            CHECK_OK(dnnl_tp_graph_output(g, x, NULL));
            if (nsecond) CHECK_OK(dnnl_tp_graph_output(g, middle, NULL));
            for (int k = 0; k < nplaces; ++k)
                if (number % 4 == 0 || k % 4 == number % 4)
                    for (unsigned f = 0; f < 2; ++f)
                        run(&at[k], g, f * DNNL_TP_COMPILE_NO_FUSION, 1 + (nsecond > 0), what, n, nsecond,
                            sizes[t], is_one ? 1 : -1);
        }
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
