/* Random structured programs against a plain interpreter: all forms of regions, 1 to 8 threads, all compile
 * flags, many runs at once; allocation that fails at every place; none in steady state. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "exec/run/executable.h"
#include "support/program.h"
#include "support/upload.h"

#define OK(expr) assert_int_equal((expr), dnnl_tp_success)
enum { MAX_THREADS = 8 };

static dnnl_tp_engine_t engine;
static bool far; /* it runs no closures, and takes longer */
static dnnl_tp_threadpool_t pool;
static dnnl_tp_stream_attr_t attr;

static int setup(void **state) {
    (void)state;
    OK(dnnl_tp_engine_create(&engine, test_engine_kind(), 0));
    OK(dnnl_tp_stream_attr_create(&attr, test_engine_kind()));
    far = test_engine_is_far(engine);
    dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = MAX_THREADS};
    if (DNNL_TP_WITH_THREADPOOL && !far) {
        OK(dnnl_tp_threadpool_create(&pool, &o));
        OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    return 0;
}
static int teardown(void **state) {
    (void)state;
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_engine_destroy(engine);
    return 0;
}

static dnnl_tp_executable_t compile(program_t *p, unsigned flags, int deterministic) {
    dnnl_tp_executable_t e;
    dnnl_tp_compile_opts_t o = {
        .struct_size = sizeof o, .stream_attr = attr, .flags = flags, .deterministic = deterministic};
    OK(dnnl_tp_executable_compile(&e, program_graph(p), engine, 0, NULL, &o));
    return e;
}

typedef struct {
    float in[PROGRAM_INPUTS][PROGRAM_ELEMS];
    float want[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS], got[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS];
    void *pin[PROGRAM_INPUTS], *pout[PROGRAM_MAX_OUTPUTS];
    uint64_t hash;
} data_t;

static void prepare(program_t *p, data_t *d, uint64_t seed) {
    for (int i = 0; i < PROGRAM_INPUTS; ++i)
        for (int k = 0; k < PROGRAM_ELEMS; ++k)
            d->in[i][k] = (float)((seed * 2654435761u >> (3 * i + 5 * k)) % 250);
    d->hash = program_interpret(p, d->in, d->want);
    for (int i = 0; i < PROGRAM_INPUTS; ++i) d->pin[i] = d->in[i];
    for (int i = 0; i < PROGRAM_MAX_OUTPUTS; ++i) d->pout[i] = d->got[i];
}

static dnnl_tp_status_t run(program_t *p, dnnl_tp_executable_t e, dnnl_tp_stream_t s, data_t *d,
                            int threads) {
    dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
    memset(d->got, 0xee, sizeof d->got);
    return test_run_graph(e, s, PROGRAM_INPUTS, d->pin, program_outputs(p), d->pout, &o);
}

static void check(program_t *p, const data_t *d, const char *what, uint64_t seed, unsigned flags,
                  int threads) {
    for (int i = 0; i < program_outputs(p); ++i)
        if (memcmp(d->got[i], d->want[i], sizeof d->want[i]))
            fail_msg("%s: seed %llu, flags %u, %d threads: output %d is %g %g %g %g, not %g %g %g %g", what,
                     (unsigned long long)seed, flags, threads, i, (double)d->got[i][0], (double)d->got[i][1],
                     (double)d->got[i][2], (double)d->got[i][3], (double)d->want[i][0], (double)d->want[i][1],
                     (double)d->want[i][2], (double)d->want[i][3]);
}

static void one_program(uint64_t seed, const program_opts_t *opts, int inputs) {
    program_t *p = program_create(seed, opts);
    dnnl_tp_stream_t s;
    OK(dnnl_tp_stream_create_v2(&s, engine, dnnl_tp_stream_default_flags, attr));
    static const unsigned flags[] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS};
    for (int f = 0; f < 3; ++f) {
        dnnl_tp_executable_t e = compile(p, flags[f], seed % 5 == 0);
        for (int i = 0; i < inputs; ++i) {
            data_t d;
            prepare(p, &d, seed * 77 + (uint64_t)i);
            int threads = i % 4 == 3 ? MAX_THREADS : 1 + i % 4;
            atomic_store(program_hash(p), 0);
            dnnl_tp_status_t status = run(p, e, s, &d, threads);
            if (status != dnnl_tp_success)
                fail_msg("seed %llu, flags %u: %s", (unsigned long long)seed, flags[f], dnnl_tp_last_error());
            check(p, &d, "program", seed, flags[f], threads);
            if (atomic_load(program_hash(p)) != d.hash)
                fail_msg("seed %llu, flags %u, %d threads: other operators ran", (unsigned long long)seed,
                         flags[f], threads);
        }
        dnnl_tp_executable_destroy(e);
    }
    dnnl_tp_stream_destroy(s);
    program_destroy(p);
}

static void test_programs(void **state) {
    (void)state;
    const char *more = getenv("DNNL_TP_TEST_PROGRAMS");
    uint64_t n = more ? strtoull(more, NULL, 10) : far ? 150 : 1500;
    for (uint64_t seed = 0; seed < n; ++seed) {
        program_opts_t o = {.size = 4 + (int)(seed % 40),
                            .depth = (int)(seed % 4),
                            .window = (int)(seed % 5),
                            .functions = (int)(seed % 7 == 0) + (int)(seed % 14 == 0),
                            .primitives = (int)(seed % 3) * 40,
                            .spin = seed % 6 == 0 ? 3000 : 0,
                            .no_closures = far};
        one_program(seed, &o, 4);
    }
}

/* One executable, many threads of the program, each with a stream of its own. */
typedef struct {
    program_t *p;
    dnnl_tp_executable_t e;
    data_t d;
    int bad;
} caller_t;
static void *caller(void *arg) {
    caller_t *c = arg;
    dnnl_tp_stream_t s;
    if (dnnl_tp_stream_create_v2(&s, engine, dnnl_tp_stream_default_flags, attr) != dnnl_tp_success)
        return NULL;
    for (int i = 0; i < 20 && !c->bad; ++i) {
        if (run(c->p, c->e, s, &c->d, 1 + i % 3) != dnnl_tp_success) c->bad = 1;
        for (int k = 0; k < program_outputs(c->p); ++k)
            if (memcmp(c->d.got[k], c->d.want[k], sizeof c->d.want[k])) c->bad = 2;
    }
    dnnl_tp_stream_destroy(s);
    return NULL;
}
static void test_callers(void **state) {
    (void)state;
    enum { CALLERS = 4 };
    for (uint64_t seed = 1000; seed < 1012; ++seed) {
        program_opts_t o = {
            .size = 40, .depth = 3, .window = 3, .functions = 2, .primitives = 30, .no_closures = far};
        program_t *p = program_create(seed, &o);
        dnnl_tp_executable_t e = compile(p, seed % 2 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0, 0);
        caller_t c[CALLERS];
        pthread_t t[CALLERS];
        for (int i = 0; i < CALLERS; ++i) {
            c[i] = (caller_t){.p = p, .e = e};
            prepare(p, &c[i].d, seed + (uint64_t)i * 1000);
        }
        for (int i = 0; i < CALLERS; ++i) assert_int_equal(pthread_create(&t[i], NULL, caller, &c[i]), 0);
        for (int i = 0; i < CALLERS; ++i) {
            pthread_join(t[i], NULL);
            assert_int_equal(c[i].bad, 0);
        }
        dnnl_tp_executable_destroy(e);
        program_destroy(p);
    }
}

/* Without waiting: runs of one executable on two streams, all submitted before any is waited for. */
static void test_in_flight(void **state) {
    (void)state;
    enum { STREAMS = 2, RUNS = 8 };
    if (!far) skip(); /* on a CPU's stream: test_async.c */
    for (uint64_t seed = 3000; seed < 3020; ++seed) {
        program_opts_t o = {.size = 30, .depth = 3, .window = 3, .functions = 1, .no_closures = 1};
        program_t *p = program_create(seed, &o);
        dnnl_tp_executable_t e = compile(p, seed % 2 ? DNNL_TP_COMPILE_NO_FUSION : 0, 0);
        dnnl_tp_stream_t s[STREAMS];
        static data_t d[RUNS];
        upload_run_t up[RUNS];
        dnnl_tp_event_t done[RUNS];
        for (int i = 0; i < STREAMS; ++i)
            OK(dnnl_tp_stream_create_v2(&s[i], engine, dnnl_tp_stream_default_flags, attr));
        for (int i = 0; i < RUNS; ++i) {
            prepare(p, &d[i], seed + (uint64_t)i * 1000);
            upload_run_begin(&up[i], e, PROGRAM_INPUTS, d[i].pin, program_outputs(p), d[i].pout);
        }
        for (int i = 0; i < RUNS; ++i)
            OK(dnnl_tp_executable_run_async(e, s[i % STREAMS], PROGRAM_INPUTS, up[i].in, program_outputs(p),
                                            up[i].out, NULL, &done[i]));
        dnnl_tp_executable_destroy(e); /* runs keep it */
        for (int i = 0; i < RUNS; ++i) {
            OK(dnnl_tp_event_wait(done[i], -1, NULL));
            OK(dnnl_tp_event_destroy(done[i]));
            upload_run_end(&up[i]);
            check(p, &d[i], "in flight", seed, 0, i);
        }
        for (int i = 0; i < STREAMS; ++i) OK(dnnl_tp_stream_destroy(s[i]));
        program_destroy(p);
    }
}

/* ---- Allocation -------------------------------------------------------------------------------------- */

static _Atomic long allocations, fail_at = -1;
static void *counted_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    long n = atomic_fetch_add(&allocations, 1), at = atomic_load(&fail_at);
    if (at >= 0 && n >= at) return NULL;
    void *p = NULL;
    return posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) ? NULL : p;
}
static void counted_free(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

/* The allocation that fails comes from the engine, so the graph itself is there. */
static void test_out_of_memory(void **state) {
    (void)state;
    dnnl_tp_engine_attr_t ea;
    dnnl_tp_engine_t own;
    dnnl_tp_allocator_t a = {.struct_size = sizeof a, .alloc = counted_alloc, .free = counted_free};
    OK(dnnl_tp_engine_attr_create(&ea));
    OK(dnnl_tp_engine_attr_set_allocator(ea, &a));
    OK(dnnl_tp_engine_create_v2(&own, test_engine_kind(), 0, ea));
    dnnl_tp_engine_attr_destroy(ea);
    for (uint64_t seed = 2000; seed < 2004; ++seed) {
        program_opts_t o = {
            .size = 30, .depth = 3, .window = 2, .functions = 1, .primitives = 40, .no_closures = far};
        program_t *p = program_create(seed, &o);
        dnnl_tp_compile_opts_t co = {.struct_size = sizeof co,
                                     .stream_attr = attr,
                                     .flags = seed % 2 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0};
        dnnl_tp_executable_t e = NULL;
        for (long n = 0; !e; ++n) {
            assert_true(n < 100000);
            atomic_store(&allocations, 0);
            atomic_store(&fail_at, n);
            dnnl_tp_status_t s = dnnl_tp_executable_compile(&e, program_graph(p), own, 0, NULL, &co);
            atomic_store(&fail_at, -1);
            assert_int_equal(s, e ? dnnl_tp_success : dnnl_tp_out_of_memory);
        }
        dnnl_tp_stream_t s;
        OK(dnnl_tp_stream_create_v2(&s, own, dnnl_tp_stream_default_flags, attr));
        data_t d;
        prepare(p, &d, seed);
        OK(run(p, e, s, &d, 2));
        /* How many calls are under way at once depends on who is faster: their frames reach their greatest
         * number sooner or later, and then nothing is allocated. */
        bool steady = false;
        for (int tries = 0; !steady && tries < 50; ++tries) {
            upload_run_t up;
            upload_run_begin(&up, e, PROGRAM_INPUTS, d.pin, program_outputs(p), d.pout);
            const long before = atomic_load(&allocations);
            for (int i = 0; i < 30; ++i) {
                const dnnl_tp_run_opts_t ro = {.struct_size = sizeof ro, .max_threads = 1 + i % 4};
                OK(dnnl_tp_executable_run(e, s, PROGRAM_INPUTS, up.in, program_outputs(p), up.out, &ro));
            }
            steady = atomic_load(&allocations) == before;
            upload_run_end(&up);
        }
        assert_true(steady);
        check(p, &d, "after", seed, 0, 2);
        dnnl_tp_stream_destroy(s);
        dnnl_tp_executable_destroy(e);
        program_destroy(p);
    }
    dnnl_tp_engine_destroy(own);
}

/* Building: every allocation fails once, nothing leaks (sanitizer builds see that), nothing is half made. */
static void test_building_out_of_memory(void **state) {
    (void)state;
    dnnl_tp_allocator_t a = {.struct_size = sizeof a, .alloc = counted_alloc, .free = counted_free};
    (void)teardown(NULL);
    OK(dnnl_tp_set_allocator(&a));
    bool complete = false;
    for (long n = 0; !complete; ++n) {
        assert_true(n < 1000);
        atomic_store(&allocations, 0);
        atomic_store(&fail_at, n);
        dnnl_tp_graph_t g = NULL, cond = NULL, body = NULL, f = NULL;
        dnnl_tp_tensor_info_t t = {.ndims = 0, .data_type = dnnl_tp_f32};
        dnnl_tp_value_t p, v, x, y, r;
        complete = dnnl_tp_graph_create(&g, dnnl_tp_cpu) == dnnl_tp_success &&
                   dnnl_tp_graph_create_function(&f, g, "f", 1, &t, &p, 1, &t) == dnnl_tp_success &&
                   dnnl_tp_graph_op(f, dnnl_tp_op_relu, "r", 1, &p, 0, NULL, 1, &r) == dnnl_tp_success &&
                   dnnl_tp_graph_output(f, r, "r") == dnnl_tp_success &&
                   dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 0, NULL) == dnnl_tp_success &&
                   dnnl_tp_graph_create_region(&cond, g) == dnnl_tp_success &&
                   dnnl_tp_graph_create_region(&body, cond) == dnnl_tp_success &&
                   dnnl_tp_graph_input(cond, &v, "v", dnnl_tp_f32, 0, NULL) == dnnl_tp_success &&
                   dnnl_tp_graph_call(body, "c", f, 1, &v, 1, &y) == dnnl_tp_success &&
                   dnnl_tp_graph_while(g, "w", cond, v, body, 1, &x, &v, &y, 0, &r) == dnnl_tp_success &&
                   dnnl_tp_graph_if(g, "i", x, NULL, NULL, 1, &x, &r, &y) == dnnl_tp_success &&
                   dnnl_tp_graph_control_dependency(g, r, y) == dnnl_tp_success &&
                   dnnl_tp_graph_output(g, y, "y") == dnnl_tp_success;
        atomic_store(&fail_at, -1);
        dnnl_tp_graph_destroy(g);
        dnnl_tp_graph_destroy(cond);
        dnnl_tp_graph_destroy(body);
        dnnl_tp_graph_destroy(f);
    }
    OK(dnnl_tp_set_allocator(NULL));
    (void)setup(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_callers),
                                       cmocka_unit_test(test_in_flight), cmocka_unit_test(test_out_of_memory),
                                       cmocka_unit_test(test_building_out_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
