/* Runs that the host submits are watched like the CPU's: statistics and traces have each operator with the time of its
 * work, also where nobody waits; a stream that cannot tell times refuses them. A token or a deadline ends such a run
 * after it was submitted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "exec/run/executable.h"
#include "far/two_engines.h"
#include "support/traces.h"
#include "support/upload.h"

enum { N = 6, ROUNDS = 3, EVENTS = 64, DELAY_US = 200 };
typedef dnnl_tp_value_t val_t;

static int setup_file(void **state) { return setup(state) | test_trace_setup(state); }
static int teardown_file(void **state) { return test_trace_teardown(state) | teardown(state); }

static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, const char *name, int n, val_t a, val_t b) {
    const val_t in[] = {a, b};
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, name, n, in, 0, NULL, 1, &v));
    return v;
}
static val_t input(dnnl_tp_graph_t g, int n) {
    const dnnl_tp_dims_t dims = {n};
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, "v", dnnl_tp_f32, 1, dims));
    return v;
}
/* tanh, then ROUNDS times: going, less, more. */
static dnnl_tp_executable_t compile(dnnl_tp_engine_t engine) {
    const dnnl_tp_dims_t scalar = {1};
    const float one = 1;
    dnnl_tp_graph_t g, cond, body;
    val_t step, out[2];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    const val_t x = op(g, dnnl_tp_op_tanh, "first", 1, input(g, N), -1), n = input(g, 1);
    CHECK_OK(dnnl_tp_graph_constant(g, &step, "one", dnnl_tp_f32, 1, scalar, &one, DNNL_TP_CONSTANT_COPY,
                                    NULL, NULL));
    CHECK_OK(dnnl_tp_graph_create_region(&cond, g));
    const val_t vars[] = {input(cond, 1), input(cond, N)},
                going = op(cond, dnnl_tp_op_relu, "going", 1, vars[0], -1);
    CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
    const val_t next[] = {op(body, dnnl_tp_op_subtract, "less", 2, vars[0], step),
                          op(body, dnnl_tp_op_add, "more", 2, vars[1], vars[1])},
                init[] = {n, x};
    CHECK_OK(dnnl_tp_graph_while(g, "loop", cond, going, body, 2, init, vars, next, 1, out));
    CHECK_OK(dnnl_tp_graph_output(g, out[1], "y"));
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
    CHECK_OK(dnnl_tp_graph_destroy(cond));
    CHECK_OK(dnnl_tp_graph_destroy(body));
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return e;
}

static dnnl_tp_stream_t stream_of(dnnl_tp_engine_t engine) {
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_create(&s, engine, 0));
    return s;
}

/* A run; without waiting the status is the event's. */
static dnnl_tp_status_t run(dnnl_tp_executable_t e, dnnl_tp_stream_t s, bool waits,
                            const dnnl_tp_run_opts_t *o) {
    float x[N] = {.5f}, n[] = {ROUNDS}, y[N];
    void *in[] = {x, n}, *out[] = {y};
    upload_run_t up;
    upload_run_begin(&up, e, 2, in, 1, out);
    dnnl_tp_status_t status;
    if (waits) {
        status = dnnl_tp_executable_run(e, s, 2, up.in, 1, up.out, o);
    } else {
        dnnl_tp_event_t event;
        status = dnnl_tp_executable_run_async(e, s, 2, up.in, 1, up.out, o, &event);
        if (status == dnnl_tp_success) {
            CHECK_OK(dnnl_tp_event_wait(event, -1, &status));
            CHECK_OK(dnnl_tp_event_destroy(event));
        }
    }
    upload_run_end(&up);
    return status;
}

static void statistics(void **state) {
    (void)state;
    static const char *const names[] = {"first", "going", "less", "more"};
    dnnl_tp_executable_t e = compile(far), here = compile(cpu);
    dnnl_tp_stream_t s = stream_of(far), at_once = stream_of(cpu);
    dnnl_tp_trace_event_t want[EVENTS], got[EVENTS];
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats, .events = want, .max_events = EVENTS};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    CHECK_OK(run(here, at_once, true, &o));
    const int n = stats.num_events;
    assert_true(n >= 1 + 3 * ROUNDS && n <= EVENTS);
    far_set_delay(DELAY_US);
    for (int k = 0; k < 4; ++k) {
        memset(got, 0, sizeof got);
        stats = (dnnl_tp_run_stats_t){.struct_size = sizeof stats, .events = got, .max_events = EVENTS};
        const int64_t begin = dtp_now_ns();
        CHECK_OK(run(e, s, k % 2, &o));
        const int64_t end = dtp_now_ns();
        assert_int_equal(stats.num_participants, 1);
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            int times[2] = {0};
            for (int a = 0; a < stats.num_events; ++a) times[0] += !strcmp(got[a].name, names[i]);
            for (int a = 0; a < n; ++a) times[1] += !strcmp(want[a].name, names[i]);
            assert_true(times[0] > 0);
            assert_int_equal(times[0], times[1]);
        }
        int64_t last = begin;
        for (int a = 0; a < stats.num_events; ++a) { /* in the order of the stream, one after another */
            assert_true(got[a].begin_ns >= last && got[a].end_ns >= got[a].begin_ns && got[a].thread == 0);
            last = got[a].end_ns;
        }
        assert_true(last <= end);
    }
    /* What does not fit is counted. */
    stats = (dnnl_tp_run_stats_t){.struct_size = sizeof stats, .events = got, .max_events = 2};
    got[2].name = NULL;
    CHECK_OK(run(e, s, false, &o));
    assert_true(stats.num_events >= 1 + 3 * ROUNDS && got[2].name == NULL);
    far_set_delay(0);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_stream_destroy(at_once));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_executable_destroy(here));
}

/* The same operators as often as in a trace of the CPU; of the stream, or of the run. */
static void traces(void **state) {
    (void)state;
    for (int k = 0; k < 4; ++k) {
        dnnl_tp_trace_stat_t stat;
        dnnl_tp_executable_t e = compile(far);
        dnnl_tp_stream_t s = stream_of(far);
        dnnl_tp_trace_t t = test_trace(1000);
        const dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .trace = k / 2 ? t : NULL};
        if (k / 2 == 0) CHECK_OK(dnnl_tp_stream_set_trace(s, t, "far"));
        far_set_delay(50);
        for (int i = 0; i < 2; ++i) CHECK_OK(run(e, s, k % 2, &o));
        far_set_delay(0);
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "first", &stat));
        assert_int_equal(stat.count, 2);
        assert_true(test_trace_find(t, dnnl_tp_trace_node, "more", &stat));
        assert_int_equal(stat.count, 2 * ROUNDS);
        assert_true(stat.total_ns > 0);
        assert_false(test_trace_find(t, dnnl_tp_trace_primitive, "first", &stat)); /* not twice */
        char *text = test_trace_text(t);
        char engine[32];
        snprintf(engine, sizeof engine, "\"engine\":\"%s\"", far_traits.name);
        assert_non_null(strstr(text, engine));
        assert_non_null(strstr(text, k / 2 ? "\"cat\":\"node\",\"pid\":1" : "\"cat\":\"node\",\"pid\":2"));
        assert_null(strstr(text, k / 2 ? "\"cat\":\"node\",\"pid\":2" : "\"cat\":\"node\",\"pid\":1"));
        free(text);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_trace_destroy(t));
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
}

static void refusals(void **state) {
    (void)state;
    if (!far_traits.has_controls) skip(); /* a stream that cannot tell */
    dnnl_tp_executable_t e = compile(far);
    const far_stream_own_t own = {.struct_size = sizeof own, .no_times = true};
    dnnl_tp_stream_attr_t attr, copy;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dtp_own_set(&attr->own, dnnl_tp_gpu, &own));
    CHECK_OK(dnnl_tp_stream_attr_clone(&copy, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    CHECK_OK(dnnl_tp_stream_create_v2(&s, far, 0, copy));
    CHECK_OK(dnnl_tp_stream_attr_destroy(copy));
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .stats = &stats};
    for (int waits = 0; waits < 2; ++waits) {
        CHECK_STATUS(run(e, s, waits, &o), dnnl_tp_unimplemented);
        assert_non_null(strstr(dnnl_tp_last_error(), "times of operators: streams of engine far"));
    }
    CHECK_OK(run(e, s, true, NULL));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_executable_destroy(e));
}

/* A straight line is submitted at once; what ends it comes later. */
static void ends_early(void **state) {
    (void)state;
    enum { LENGTH = 40 };
    dnnl_tp_graph_t g;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    val_t y = input(g, N);
    for (int i = 0; i < LENGTH; ++i) y = op(g, dnnl_tp_op_tanh, "tanh", 1, y, -1);
    CHECK_OK(dnnl_tp_graph_output(g, y, "y"));
    dnnl_tp_executable_t e;
    CHECK_OK(dnnl_tp_executable_compile(&e, g, far, 0, NULL, NULL));
    dnnl_tp_stream_t s = stream_of(far);
    dnnl_tp_cancel_t cancel;
    CHECK_OK(dnnl_tp_cancel_create(&cancel));
    for (int late = 0; late < 2; ++late) {
        float x[N] = {0}, out[N];
        void *in[] = {x}, *pout[] = {out};
        upload_run_t up;
        dnnl_tp_event_t event;
        dnnl_tp_status_t status;
        /* The stream waits for the host meanwhile. */
        dnnl_tp_event_t gate;
        CHECK_OK(dnnl_tp_event_create_host(&gate, cpu));
        CHECK_OK(dnnl_tp_stream_wait_event(s, gate));
        upload_run_begin(&up, e, 1, in, 1, pout);
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .cancel = late ? NULL : cancel};
        if (late) o.deadline_ns = dtp_now_ns() + 300000000;
        CHECK_OK(dnnl_tp_executable_run_async(e, s, 1, up.in, 1, up.out, &o, &event));
        if (!late) CHECK_OK(dnnl_tp_cancel_fire(cancel));
        while (late && dtp_now_ns() <= o.deadline_ns) continue;
        CHECK_OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
        CHECK_OK(dnnl_tp_event_wait(event, -1, &status));
        assert_int_equal(status, late ? dnnl_tp_deadline_exceeded : dnnl_tp_cancelled);
        CHECK_OK(dnnl_tp_event_destroy(event));
        CHECK_OK(dnnl_tp_event_destroy(gate));
        CHECK_STATUS(dnnl_tp_stream_wait(s), status);
        CHECK_OK(dnnl_tp_stream_reset(s));
        upload_run_end(&up);
    }
    CHECK_OK(dnnl_tp_cancel_destroy(cancel));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics), cmocka_unit_test(traces),
                                       cmocka_unit_test(refusals), cmocka_unit_test(ends_early)};
    return cmocka_run_group_tests(tests, setup_file, teardown_file);
}
