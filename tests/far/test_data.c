/* What kernels find wrong in data (common/primitive/data_error.h): the CPU fails at once, an engine that kernels are
 * submitted to notes it in the error word of the run. Status and text are the same on both, with and without waiting, in
 * branches and loops, and the next run of the same executable is right. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "exec/run/executable.h"
#include "far/two_engines.h"
#include "support/upload.h"

enum { ROWS = 5, WIDTH = 4, IDS = 4, TOKENS = 6, MOST = TOKENS * WIDTH, NIN = 4 };
typedef dnnl_tp_value_t val_t;

static dnnl_tp_threadpool_t pool;
static dnnl_tp_stream_attr_t on_pool;

static int setup_pool(void **state) {
    const dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = 2};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &o));
    CHECK_OK(dnnl_tp_stream_attr_create(&on_pool, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(on_pool, pool));
    CHECK_OK(dnnl_tp_stream_attr_set_async(on_pool, 1));
    return setup(state);
}
static int teardown_pool(void **state) {
    CHECK_OK(dnnl_tp_stream_attr_destroy(on_pool));
    CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    return teardown(state);
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

typedef enum { LINE, BRANCH, LOOP, OFFSETS, KINDS } kind_t;

static val_t input(dnnl_tp_graph_t g, dnnl_tp_data_type_t type, int rows, int cols) {
    const dnnl_tp_dims_t dims = {rows, cols};
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, "v", type, cols ? 2 : 1, dims));
    return v;
}
static val_t table(dnnl_tp_graph_t g, int width) {
    float data[ROWS * WIDTH];
    const dnnl_tp_dims_t dims = {ROWS, width};
    for (int i = 0; i < ROWS * width; ++i) data[i] = width == 1 ? i > 0 : .25f * (float)i;
    val_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "table", dnnl_tp_f32, 2, dims, data, DNNL_TP_CONSTANT_COPY, NULL,
                                    NULL));
    return v;
}
static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, const char *name, int n, val_t a, val_t b) {
    const val_t in[] = {a, b};
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, name, n, in, 0, NULL, 1, &v));
    return v;
}

/* Inputs: x {TOKENS, WIDTH}; ids {IDS}, which are offsets, too; p {1, 1}, a predicate; one {1}. */
static dnnl_tp_graph_t build(kind_t kind) {
    dnnl_tp_graph_t g, yes, no;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const val_t x = input(g, dnnl_tp_f32, TOKENS, WIDTH), ids = input(g, dnnl_tp_s32, IDS, 0),
                p = input(g, dnnl_tp_f32, 1, 1), one = input(g, dnnl_tp_s32, 1, 0);
    val_t y = -1, a, b;
    if (kind == LINE) {
        y = op(g, dnnl_tp_op_relu, "relu", 1, op(g, dnnl_tp_op_gather, "look", 2, table(g, WIDTH), ids), -1);
    } else if (kind == BRANCH) {
        CHECK_OK(dnnl_tp_graph_create_region(&yes, g));
        CHECK_OK(dnnl_tp_graph_create_region(&no, g));
        a = op(yes, dnnl_tp_op_gather, "again", 2, table(yes, WIDTH), ids);
        a = op(yes, dnnl_tp_op_add, "sum", 2, a, a);
        b = op(no, dnnl_tp_op_gather, "other", 2, table(no, WIDTH), ids);
        b = op(no, dnnl_tp_op_tanh, "tanh", 1, b, -1);
        CHECK_OK(dnnl_tp_graph_if(g, "if", p, yes, no, 1, &a, &b, &y));
        CHECK_OK(dnnl_tp_graph_destroy(yes));
        CHECK_OK(dnnl_tp_graph_destroy(no));
    } else if (kind == LOOP) { /* goes on while what it finds is not 0 */
        CHECK_OK(dnnl_tp_graph_create_region(&yes, g));
        const val_t var = input(yes, dnnl_tp_f32, 1, 1),
                    going = op(yes, dnnl_tp_op_relu, "going", 1, var, -1);
        CHECK_OK(dnnl_tp_graph_create_region(&no, yes));
        a = op(no, dnnl_tp_op_gather, "step", 2, table(no, 1), one);
        CHECK_OK(dnnl_tp_graph_while(g, "loop", yes, going, no, 1, &p, &var, &a, 1, &y));
        CHECK_OK(dnnl_tp_graph_destroy(yes));
        CHECK_OK(dnnl_tp_graph_destroy(no));
    } else {
        const int64_t heads = 2;
        const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
        const val_t in[] = {x, x, x, -1, ids}, mean[] = {-1, -1, ids};
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_attention, "heads", 5, in, 1, &attr, 1, &y));
        val_t pooled[3] = {y, mean[1], mean[2]};
        CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_pool_normalize, "mean", 3, pooled, 0, NULL, 1, &y));
    }
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    return g;
}

typedef struct {
    kind_t kind;
    float p;
    int32_t ids[IDS], one;
    const char *text; /* NULL: it is right */
} case_t;
static const case_t cases[] = {
    {LINE, 0, {0, 4, 1, 3}, 0, NULL},
    {LINE, 0, {0, 5, 1, 3}, 0, "operator 'look' (gather): id 5 at position 1, the table has 5 rows"},
    {LINE, 0, {0, 1, 2, -7}, 0, "operator 'look' (gather): id -7 at position 3, the table has 5 rows"},
    {LINE, 0, {4, 4, 4, 4}, 0, NULL},
    {BRANCH, 1, {4, 3, 2, 1}, 0, NULL},
    {BRANCH, 1, {4, 3, 9, 1}, 0, "operator 'again' (gather): id 9 at position 2, the table has 5 rows"},
    {BRANCH, 0, {4, 3, 9, 1}, 0, "operator 'other' (gather): id 9 at position 2, the table has 5 rows"},
    {BRANCH, 0, {1, 1, 0, 1}, 0, NULL},
    {LOOP, 1, {0}, 0, NULL},
    {LOOP, 1, {0}, 9, "operator 'step' (gather): id 9 at position 0, the table has 5 rows"},
    {LOOP, 0, {0}, 9, NULL},
    {LOOP, 1, {0}, 0, NULL},
    {OFFSETS, 0, {0, 2, 3, 6}, 0, NULL},
    {OFFSETS, 0, {0, 3, 2, 6}, 0, "operator 'heads': offset 2 is 2; offsets start at 0"},
    {OFFSETS, 0, {1, 2, 3, 6}, 0, "operator 'heads': offset 0 is 1; offsets start at 0"},
    {OFFSETS, 0, {0, 2, 3, 7}, 0, "operator 'heads': offset 3 is 7; offsets start at 0"},
    {OFFSETS, 0, {0, 6, 6, 6}, 0, NULL},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- Runs -------------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_status_t status;
    char text[512];
    float y[MOST];
} result_t;

static int64_t limit_ns = 60000000000;
static void run(dnnl_tp_executable_t e, dnnl_tp_stream_t s, const case_t *c, bool waits, result_t *r) {
    float x[MOST], p[] = {c->p};
    int32_t ids[IDS], one[] = {c->one};
    for (int i = 0; i < MOST; ++i) x[i] = .125f * (float)(i % 7);
    memcpy(ids, c->ids, sizeof ids);
    memset(r, 0, sizeof *r);
    void *in[NIN] = {x, ids, p, one}, *out[] = {r->y};
    const char *text = "";
    /* A loop that nobody stops. */
    const dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .deadline_ns = dtp_now_ns() + limit_ns};
    upload_run_t up;
    upload_run_begin(&up, e, NIN, in, 1, out);
    if (waits) {
        r->status = dnnl_tp_executable_run(e, s, NIN, up.in, 1, up.out, &o);
        if (r->status) text = dnnl_tp_last_error();
        text = strstr(text, "operator") ? strstr(text, "operator") : text;
        strncpy(r->text, text, sizeof r->text - 1);
    } else {
        dnnl_tp_event_t event;
        CHECK_OK(dnnl_tp_executable_run_async(e, s, NIN, up.in, 1, up.out, &o, &event));
        CHECK_OK(dnnl_tp_event_wait(event, -1, &r->status));
        CHECK_OK(dnnl_tp_event_get_error(event, &text));
        text = text && strstr(text, "operator") ? strstr(text, "operator") : text ? text : "";
        strncpy(r->text, text, sizeof r->text - 1);
        CHECK_OK(dnnl_tp_event_destroy(event));
        if (r->status) { /* what comes next is skipped until then */
            CHECK_STATUS(dnnl_tp_stream_wait(s), r->status);
            CHECK_OK(dnnl_tp_stream_reset(s));
        }
    }
    upload_run_end(&up);
}

/* Engines round sums in orders of their own. */
static bool near(const float *x, const float *y) {
    for (int i = 0; i < MOST; ++i)
        if (!(fabsf(x[i] - y[i]) <= 1e-6f)) return false;
    return true;
}

/* How many results on the engine are not those of the CPU's interpreter. */
static int wrong_results(dnnl_tp_engine_t engine, unsigned flags, bool waits, int delay_us) {
    int wrong = 0;
    far_set_delay(delay_us);
    for (kind_t kind = LINE; kind < KINDS; ++kind) {
        dnnl_tp_graph_t g = build(kind);
        dnnl_tp_executable_t e, here;
        dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .flags = flags};
        CHECK_OK(dnnl_tp_executable_compile(&here, g, cpu, 0, NULL, NULL));
        if (engine == cpu) o.stream_attr = on_pool;
        CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &o));
        dnnl_tp_stream_t s, at_once;
        CHECK_OK(dnnl_tp_stream_create(&at_once, cpu, 0));
        CHECK_OK(dnnl_tp_stream_create_v2(&s, engine, 0, engine == cpu ? on_pool : NULL));
        for (int i = 0; i < CASES; ++i) {
            const case_t *c = &cases[i];
            if (c->kind != kind) continue;
            result_t want, got;
            run(here, at_once, c, true, &want);
            assert_int_equal(want.status, !c->text          ? dnnl_tp_success
                                          : kind == OFFSETS ? dnnl_tp_invalid_arguments
                                                            : dnnl_tp_runtime_error);
            if (c->text) assert_non_null(strstr(want.text, c->text));
            run(e, s, c, waits, &got);
            const bool same = got.status == want.status && !strcmp(got.text, want.text) &&
                              (got.status || near(got.y, want.y));
            wrong += !same;
            if (!same && limit_ns > 1000000000)
                fprintf(stderr, "case %d: %d '%s', needed is %d '%s'\n", i, (int)got.status, got.text,
                        (int)want.status, want.text);
        }
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(at_once));
        CHECK_OK(dnnl_tp_executable_destroy(e));
        CHECK_OK(dnnl_tp_executable_destroy(here));
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
    far_set_delay(0);
    return wrong;
}

static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS};
static void far_runs_fail_as_the_cpus(void **state) {
    (void)state;
    for (int k = 0; k < 3; ++k)
        for (int waits = 0; waits < 2; ++waits)
            for (int delay_us = 0; delay_us < 200; delay_us += 100)
                assert_int_equal(wrong_results(far, flags[k], waits, delay_us), 0);
}
static void cpu_runs_fail_alike(void **state) {
    (void)state;
    for (int k = 0; k < 3; ++k)
        for (int waits = 0; waits < 2; ++waits) assert_int_equal(wrong_results(cpu, flags[k], waits, 0), 0);
}

/* Runs behind a wrong one, all submitted before anybody waits: they are skipped, and right after a reset. */
static void what_follows_is_skipped(void **state) {
    (void)state;
    dnnl_tp_graph_t g = build(LINE);
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t s;
    dnnl_tp_event_t event[3];
    upload_run_t up[3];
    float x[MOST] = {0}, p[1] = {0}, y[3][MOST] = {{0}};
    int32_t ids[3][IDS] = {{1, 2, 3, 4}, {1, 2, 3, 44}, {0, 0, 0, 0}}, one[1] = {0};
    CHECK_OK(dnnl_tp_executable_compile(&e, g, far, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_stream_create(&s, far, 0));
    far_set_delay(100);
    for (int k = 0; k < 3; ++k) {
        void *in[NIN] = {x, ids[k], p, one}, *out[] = {y[k]};
        upload_run_begin(&up[k], e, NIN, in, 1, out);
    }
    for (int k = 0; k < 3; ++k)
        CHECK_OK(dnnl_tp_executable_run_async(e, s, NIN, up[k].in, 1, up[k].out, NULL, &event[k]));
    for (int k = 0; k < 3; ++k) {
        dnnl_tp_status_t status;
        const char *text;
        CHECK_OK(dnnl_tp_event_wait(event[k], -1, &status));
        assert_int_equal(status, k ? dnnl_tp_runtime_error : dnnl_tp_success);
        CHECK_OK(dnnl_tp_event_get_error(event[k], &text));
        if (k) assert_non_null(strstr(text, "id 44 at position 3"));
        CHECK_OK(dnnl_tp_event_destroy(event[k]));
    }
    CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_runtime_error);
    CHECK_OK(dnnl_tp_stream_reset(s));
    CHECK_OK(dnnl_tp_executable_run(e, s, NIN, up[2].in, 1, up[2].out, NULL));
    for (int k = 0; k < 3; ++k) upload_run_end(&up[k]);
    assert_true(y[0][0] == 1.f && y[2][1] == .25f);
    far_set_delay(0);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    far_check();
}

/* Controls, in builds in which a rule of src/exec is broken: found 10 times of 10. */
static void found(void **state) {
    (void)state;
    limit_ns = 20000000;
    for (int k = 0; k < 10; ++k) assert_true(wrong_results(far, 0, k % 2, 50) > 0);
}

int main(int argc, char **argv) {
    (void)argv;
    const struct CMUnitTest tests[] = {cmocka_unit_test(far_runs_fail_as_the_cpus),
                                       cmocka_unit_test(cpu_runs_fail_alike),
                                       cmocka_unit_test(what_follows_is_skipped)};
    const struct CMUnitTest broken[] = {cmocka_unit_test(found)};
    return argc > 1 ? cmocka_run_group_tests(broken, setup_pool, teardown_pool)
                    : cmocka_run_group_tests(tests, setup_pool, teardown_pool);
}
