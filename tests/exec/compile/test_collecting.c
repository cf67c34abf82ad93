/* Loops that collect: a variable whose only reader is the scatter that makes its next value is
 * written in place. Programs in which it may be, and in which it may not, against a model in C:
 * compiled each way, on 1 to 3 threads, with several iterations at a time. And what is copied
 * grows with the number of iterations, not with its square (this program counts what memcpy
 * moves: tests/CMakeLists.txt). */
#include <stdlib.h>
#include <string.h>

#include "support/regions.h"

enum { ROWS = 12, WIDTH = 5, OUTER = 3 };
typedef enum {
    PLAIN,
    SAME_ROW,  /* each iteration replaces row 0 */
    ADDS,      /* rows are added up in rows 0 and 1 */
    ELEMENTS,  /* scatter_elements */
    TWO,       /* two variables collect */
    READ_TOO,  /* another operator reads the variable, behind the scatter in the text */
    TWICE,     /* the result of the scatter becomes two variables, of which one is read so */
    IN_COND,   /* the condition scatters, once more than there are iterations */
    SWAPPED,   /* two variables, each of which becomes the other with a new row */
    IN_BRANCH, /* every other iteration scatters */
    NESTED,    /* a loop around it, whose variables the results become */
    FORMS
} form_t;

/* ---- The model
 * ----------------------------------------------------------------------------------------- */

typedef struct {
    int32_t sum, all[ROWS * WIDTH], other[ROWS * WIDTH];
} state_t;

static int32_t base_at(int column) { return 100 * (column + 1); }

static void put(int32_t *all, int row, int32_t add, int times) {
    for (int c = 0; c < WIDTH; ++c) all[row * WIDTH + c] = times * (base_at(c) + add);
}

static void model_loop(form_t form, int trips, state_t *s) {
    for (int i = 0; i < trips; ++i) {
        s->sum += i;
        switch (form) {
        case SAME_ROW: put(s->all, 0, s->sum, 1); break;
        case ADDS:
            for (int c = 0; c < WIDTH; ++c) s->all[i % 2 * WIDTH + c] += base_at(c) + s->sum;
            break;
        case TWO:
            put(s->all, i, s->sum, 1);
            put(s->other, i, s->sum, 2);
            break;
        case READ_TOO:
        case TWICE: {
            const int32_t old = form == TWICE ? s->other[i * WIDTH] : s->all[i * WIDTH];
            put(s->all, i, s->sum, 1);
            if (form == TWICE) memcpy(s->other, s->all, sizeof s->all);
            s->sum += old;
            break;
        }
        case IN_COND: put(s->all, 0, s->sum - i, 1); break;
        case SWAPPED: {
            const state_t old = *s;
            memcpy(s->all, old.other, sizeof s->all);
            memcpy(s->other, old.all, sizeof s->other);
            put(s->all, i, s->sum, 1);
            put(s->other, i, s->sum, 1);
            break;
        }
        case IN_BRANCH:
            if (i % 2) put(s->all, i, s->sum, 1);
            break;
        default: put(s->all, i, s->sum, 1);
        }
    }
}

static void model(form_t form, int trips, state_t *s) {
    for (int j = 0; j < (form == NESTED ? OUTER : 1); ++j) model_loop(form, trips, s);
}

/* ---- The program
 * ---------------------------------------------------------------------------------------- */

static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int nin, const val_t *in, int nattr,
                const dnnl_tp_op_attr_t *attr) {
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", nin, in, nattr, attr, 1, &v));
    return v;
}
static val_t op2(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a, val_t b) {
    return op(g, kind, 2, (const val_t[]){a, b}, 0, NULL);
}
static val_t shaped(dnnl_tp_graph_t g, val_t v, int ndims, const int64_t *dims) {
    static const uint8_t no = 0;
    const dnnl_tp_op_attr_t attr[] = {{dnnl_tp_op_attr_shape, dnnl_tp_op_attr_s64, ndims, dims},
                                      {dnnl_tp_op_attr_special_zero, dnnl_tp_op_attr_bool, 1, &no}};
    return op(g, dnnl_tp_op_static_reshape, 1, &v, 2, attr);
}
static val_t constant(dnnl_tp_graph_t g, int ndims, const int64_t *dims, const int32_t *data) {
    val_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_s32, ndims, dims, data, 0, NULL, NULL));
    return v;
}
static val_t scatter(dnnl_tp_graph_t g, val_t all, val_t at, val_t row, bool adds) {
    static const int64_t one[2] = {1, 1};
    const char *word = adds ? "add" : "none";
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_reduction, dnnl_tp_op_attr_string, (int)strlen(word),
                                    word};
    return op(g, dnnl_tp_op_scatter_nd, 3, (const val_t[]){all, shaped(g, at, 2, one), row}, 1, &attr);
}

enum { INDEX, SUM, ALL, THE_OTHER, VARS };
static const dnnl_tp_dims_t table = {ROWS, WIDTH}, line = {1, WIDTH};

/* The first element of row `at`, as a scalar. */
static val_t element(dnnl_tp_graph_t g, val_t all, val_t at) {
    const dnnl_tp_dims_t one = {1};
    const int64_t flat = WIDTH;
    const val_t row = op2(g, dnnl_tp_op_take, all, shaped(g, at, 1, one));
    return op2(g, dnnl_tp_op_take, shaped(g, row, 1, &flat), graph_constant(g, 0));
}

static void body_of(dnnl_tp_graph_t g, form_t form, const val_t *v, val_t base, val_t *next) {
    next[INDEX] = graph_op1(g, host_inc, v[INDEX]);
    next[SUM] = graph_op2(g, host_add, v[SUM], v[INDEX]);
    const val_t row = op2(g, dnnl_tp_op_add, base, next[SUM]);
    next[THE_OTHER] = v[THE_OTHER];
    switch (form) {
    case SAME_ROW:
        next[ALL] = scatter(g, v[ALL], graph_op2(g, host_sub, v[INDEX], v[INDEX]), row, false);
        break;
    case ADDS: next[ALL] = scatter(g, v[ALL], graph_op1(g, host_odd, v[INDEX]), row, true); break;
    case ELEMENTS: {
        static const int32_t zeros[WIDTH] = {0};
        const val_t ids = op2(g, dnnl_tp_op_add, constant(g, 2, line, zeros), v[INDEX]);
        next[ALL] = op(g, dnnl_tp_op_scatter_elements, 3, (const val_t[]){v[ALL], ids, row}, 0, NULL);
        break;
    }
    case TWO:
        next[ALL] = scatter(g, v[ALL], v[INDEX], row, false);
        next[THE_OTHER] = scatter(g, v[THE_OTHER], v[INDEX], op2(g, dnnl_tp_op_add, row, row), false);
        break;
    case READ_TOO:
    case TWICE:
        next[ALL] = scatter(g, v[ALL], v[INDEX], row, false);
        if (form == TWICE) next[THE_OTHER] = next[ALL];
        next[SUM] =
            graph_op2(g, host_add, next[SUM], element(g, v[form == TWICE ? THE_OTHER : ALL], v[INDEX]));
        break;
    case IN_COND: break; /* made by the condition */
    case SWAPPED:
        next[ALL] = scatter(g, v[THE_OTHER], v[INDEX], row, false);
        next[THE_OTHER] = scatter(g, v[ALL], v[INDEX], row, false);
        break;
    case IN_BRANCH: {
        dnnl_tp_graph_t yes = graph_region(g);
        const val_t made = scatter(yes, v[ALL], v[INDEX], row, false);
        CHECK_OK(dnnl_tp_graph_if(g, "if", graph_op1(g, host_odd, v[INDEX]), yes, NULL, 1, &made, &v[ALL],
                                  &next[ALL]));
        dnnl_tp_graph_destroy(yes);
        break;
    }
    default: next[ALL] = scatter(g, v[ALL], v[INDEX], row, false);
    }
}

static void inputs_of(dnnl_tp_graph_t g, val_t *v) {
    for (int i = 0; i < VARS; ++i)
        CHECK_OK(dnnl_tp_graph_input(g, &v[i], "v", dnnl_tp_s32, i < ALL ? 0 : 2, i < ALL ? NULL : table));
}

static void loop_of(dnnl_tp_graph_t g, form_t form, int window, val_t trips, val_t base, const val_t *init,
                    val_t *out) {
    val_t v[VARS], next[VARS], start[VARS];
    memcpy(start, init, sizeof start);
    start[INDEX] = graph_constant(g, 0);
    dnnl_tp_graph_t cond = graph_region(g), body = graph_region(cond);
    inputs_of(cond, v);
    if (form == IN_COND)
        next[ALL] = scatter(cond, v[ALL], graph_op2(cond, host_sub, v[INDEX], v[INDEX]),
                            op2(cond, dnnl_tp_op_add, base, v[SUM]), false);
    const val_t go = graph_op2(cond, host_less, v[INDEX], trips);
    body_of(body, form, v, base, next);
    CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, go, body, VARS, start, v, next, window, out));
    graph_done(cond, body);
}

/* given: initial values are inputs, not constants. Outputs: the sum and both tables. */
static void build(world_t *w, form_t form, int window, bool given, const state_t *s) {
    static int32_t base[WIDTH];
    for (int c = 0; c < WIDTH; ++c) base[c] = base_at(c);
    val_t trips = graph_input(w->g), init[VARS], out[VARS], b = constant(w->g, 2, line, base);
    init[SUM] = graph_input(w->g);
    for (int i = ALL; i < VARS; ++i) {
        if (given) CHECK_OK(dnnl_tp_graph_input(w->g, &init[i], "t", dnnl_tp_s32, 2, table));
        else init[i] = constant(w->g, 2, table, i == ALL ? s->all : s->other);
    }
    init[INDEX] = -1;
    if (form != NESTED) loop_of(w->g, form, window, trips, b, init, out);
    else {
        val_t v[VARS], next[VARS];
        init[INDEX] = graph_constant(w->g, 0);
        dnnl_tp_graph_t cond = graph_region(w->g), body = graph_region(cond);
        inputs_of(cond, v);
        const val_t go = graph_op2(cond, host_less, v[INDEX], graph_constant(w->g, OUTER));
        loop_of(body, PLAIN, window, trips, b, v, next);
        next[INDEX] = graph_op1(body, host_inc, v[INDEX]);
        CHECK_OK(dnnl_tp_graph_while(w->g, "outer", cond, go, body, VARS, init, v, next, window, out));
        graph_done(cond, body);
    }
    for (int i = SUM; i < VARS; ++i) graph_output(w->g, out[i]);
}

static void check(world_t *w, unsigned flags, int trips, bool given, const state_t *s, const state_t *want) {
    dnnl_tp_executable_t e = world_compile(w, flags);
    const int most = test_engine_is_far(w->engine) ? 1 : 3; /* threads */
    for (int threads = 1; threads <= most; ++threads)
        for (int again = 0; again < 2; ++again) {
            int32_t n = trips;
            state_t in = *s, out;
            memset(&out, 0x5a, sizeof out);
            void *src[] = {&n, &in.sum, in.all, in.other}, *dst[] = {&out.sum, out.all, out.other};
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
            CHECK_OK(test_run_graph(e, w->stream, given ? 4 : 2, src, 3, dst, &o));
            assert_memory_equal(&out, want, sizeof out);
            assert_memory_equal(&in, s, sizeof in);
        }
    dnnl_tp_executable_destroy(e);
}

static void test_forms(void **state) {
    (void)state;
    static const int trips[] = {0, 1, 2, 3, ROWS}, windows[] = {0, 2, 5};
    state_t s = {.sum = 7};
    for (int i = 0; i < ROWS * WIDTH; ++i) s.all[i] = i % 9 - 4, s.other[i] = 1000 + i;
    for (int form = 0; form < FORMS; ++form)
        for (int k = 0; k < 3; ++k)
            for (int given = 0; given < 2; ++given) {
                world_t w;
                world_init(&w, 3);
                build(&w, (form_t)form, windows[k], given, &s);
                for (size_t t = 0; t < sizeof trips / sizeof *trips; ++t)
                    for (int f = 0; f < REGION_FLAGS; ++f) {
                        state_t want = s;
                        model((form_t)form, trips[t], &want);
                        check(&w, region_flags[f], trips[t], given, &s, &want);
                    }
                world_end(&w);
            }
}

/* ---- What is copied
 * ---------------------------------------------------------------------------------------- */

static _Atomic int64_t copied;
void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n) {
    copied += (int64_t)n;
    return __real_memcpy(to, from, n);
}

/* Bytes that a loop of so many iterations copies, each of which makes one row. */
static int64_t copied_by(int64_t trips, unsigned flags) {
    enum { COLUMNS = 32 };
    world_t w;
    const dnnl_tp_dims_t all = {trips, COLUMNS}, one_row = {1, COLUMNS};
    int32_t n = (int32_t)trips, row[COLUMNS], *zeros = calloc((size_t)trips * COLUMNS, sizeof *zeros),
            *out = malloc((size_t)trips * COLUMNS * sizeof *out);
    for (int i = 0; i < COLUMNS; ++i) row[i] = i;
    world_init(&w, 2);
    val_t limit = graph_input(w.g), v[2], next[2], result[2];
    const val_t init[2] = {graph_constant(w.g, 0), constant(w.g, 2, all, zeros)},
                base = constant(w.g, 2, one_row, row);
    dnnl_tp_graph_t cond = graph_region(w.g), body = graph_region(cond);
    CHECK_OK(dnnl_tp_graph_input(cond, &v[0], "i", dnnl_tp_s32, 0, NULL));
    CHECK_OK(dnnl_tp_graph_input(cond, &v[1], "all", dnnl_tp_s32, 2, all));
    const val_t go = graph_op2(cond, host_less, v[0], limit);
    next[0] = graph_op1(body, host_inc, v[0]);
    next[1] = scatter(body, v[1], v[0], op2(body, dnnl_tp_op_add, base, v[0]), false);
    CHECK_OK(dnnl_tp_graph_while(w.g, "loop", cond, go, body, 2, init, v, next, 0, result));
    graph_output(w.g, result[1]);
    graph_done(cond, body);
    dnnl_tp_executable_t e = world_compile(&w, flags);
    copied = 0;
    CHECK_OK(test_run_graph(e, w.stream, 1, (void *[]){&n}, 1, (void *[]){out}, NULL));
    const int64_t bytes = copied;
    for (int64_t i = 0; i < trips * COLUMNS; ++i) assert_int_equal(out[i], i % COLUMNS + i / COLUMNS);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
    free(zeros);
    free(out);
    return bytes;
}

static void test_linear(void **state) {
    (void)state;
    enum { FEW = 500, TIMES = 4 };
    need_closures(); /* other engines copy tensors of runs */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their builds call another function */
#endif
    for (int f = 0; f < REGION_FLAGS; ++f) {
        const bool fuses = !(region_flags[f] & DNNL_TP_COMPILE_NO_FUSION);
        const int64_t few = copied_by(FEW, region_flags[f]), many = copied_by(TIMES * FEW, region_flags[f]);
        print_message("flags %u: %lld bytes, %lld\n", region_flags[f], (long long)few, (long long)many);
        if (fuses) assert_true(many < (TIMES + 1) * few);
        else assert_true(many > TIMES * TIMES / 2 * few); /* so that this is what makes the difference */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_linear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
