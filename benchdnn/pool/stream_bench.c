/* Asynchronous streams on the built-in pool and on other programs' pools: what an item costs.
 *
 *   stream_bench [--hosts=tbb,eigen] [--threads=N] [--ms=M] [PREFIX...]
 *
 * An item is x = 2 x + 1 over 16 numbers. Rows whose names begin with a PREFIX (default: all), M ms for each
 * cell (default 50); medians of ns for each item or call, the `execute` row aside on asynchronous streams.
 *
 * - execute: on a synchronous stream, the floor
 * - create: an asynchronous stream, and away with it
 * - submit: 1,000 items behind a host event, so that nothing runs meanwhile; drain: from its signal to the
 * return of the wait; submit+drain: 1,000 items that run while they are submitted
 * - ping_pong: 200 hops between two streams, each by an event
 * - submit from a worker: 100 items, in a task of the pool's own; wait from a worker: for a stream with one
 * item
 * - wait inside an item: what would_deadlock costs, in the callback of an event (never hangs)
 * - mixed: an item of an asynchronous stream and a synchronous execute in turn, per pair
 * - poison: 1,000 items that are skipped because the event before them failed; reset: of that stream
 *
 * Prints only; a wrong status ends the program. Next: shapes_bench, doc/pool_bench.md. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_event.h"
#include "hosts/hosts.h"
#include "pool/work.h"
#include "threading/base/futex.h"

enum { ITEMS = 1000, HOPS = 200, FROM_WORKER = 100, N = 16, MAX_SIDES = 8, MAX_SAMPLES = 1 << 14 };

#define EXPECT(expr, want)                                                                                \
    do {                                                                                                  \
        dnnl_tp_status_t got_ = (expr);                                                                   \
        if (got_ != (want))                                                                               \
            fprintf(stderr, "stream_bench: %s: 0x%x: %s\n", #expr, (unsigned)got_, dnnl_tp_last_error()), \
                exit(1);                                                                                  \
    } while (0)
#define OK(expr) EXPECT(expr, dnnl_tp_success)

typedef struct {
    const char *name;
    const host_t *host;
    void *pool;
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_stream_t sync, async, other;
} side_t;

static side_t sides[MAX_SIDES];
static int n_sides;
static dnnl_tp_engine_t engine;
static dnnl_tp_primitive_t primitive;
static _Alignas(64) float data[2][N];

static void item(dnnl_tp_stream_t stream, int which) {
    dnnl_tp_exec_handle_t args[2] = {{DNNL_TP_ARG_SRC, data[which]}, {DNNL_TP_ARG_DST, data[which]}};
    OK(dnnl_tp_primitive_execute_handles(primitive, stream, 2, args));
}
static dnnl_tp_event_t gate_of(dnnl_tp_stream_t stream) {
    dnnl_tp_event_t gate;
    OK(dnnl_tp_event_create_host(&gate, engine));
    OK(dnnl_tp_stream_wait_event(stream, gate));
    return gate;
}

/* ---- Rows: ns of one sample, < 0 where the pool cannot ----------------------------------------------- */

static double execute(side_t *s) {
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < ITEMS; ++i) item(s->sync, 0);
    return (double)(dtp_now_ns() - t0) / ITEMS;
}
static double gated(side_t *s, int drain) {
    dnnl_tp_event_t gate = gate_of(s->async);
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < ITEMS; ++i) item(s->async, 0);
    int64_t t1 = dtp_now_ns();
    OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    OK(dnnl_tp_stream_wait(s->async));
    int64_t t2 = dtp_now_ns();
    dnnl_tp_event_destroy(gate);
    return (double)(drain ? t2 - t1 : t1 - t0) / ITEMS;
}
static double submit(side_t *s) { return gated(s, 0); }
static double drain(side_t *s) { return gated(s, 1); }
static double submit_and_drain(side_t *s) {
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < ITEMS; ++i) item(s->async, 0);
    OK(dnnl_tp_stream_wait(s->async));
    return (double)(dtp_now_ns() - t0) / ITEMS;
}
static double ping_pong(side_t *s) {
    dnnl_tp_stream_t stream[2] = {s->async, s->other};
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < HOPS; ++i) {
        dnnl_tp_event_t event;
        item(stream[i % 2], 0);
        OK(dnnl_tp_stream_record_event(stream[i % 2], &event));
        OK(dnnl_tp_stream_wait_event(stream[1 - i % 2], event));
        dnnl_tp_event_destroy(event);
    }
    for (int i = 0; i < 2; ++i) OK(dnnl_tp_stream_wait(stream[i]));
    return (double)(dtp_now_ns() - t0) / HOPS;
}

typedef struct {
    side_t *side;
    double ns;
    _Atomic int done;
} task_t;
static void submit_task(void *arg) {
    task_t *t = arg;
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < FROM_WORKER; ++i) item(t->side->async, 0);
    t->ns = (double)(dtp_now_ns() - t0) / FROM_WORKER;
    atomic_store(&t->done, 1);
}
static void wait_task(void *arg) {
    task_t *t = arg;
    int64_t t0 = dtp_now_ns();
    item(t->side->async, 0);
    OK(dnnl_tp_stream_wait(t->side->async));
    t->ns = (double)(dtp_now_ns() - t0);
    atomic_store(&t->done, 1);
}
static double in_task(side_t *s, void (*fn)(void *)) {
    task_t t = {.side = s};
    if (!s->iface->schedule || s->iface->schedule(s->iface->ctx, NULL, fn, &t)) return -1;
    while (!atomic_load(&t.done)) sched_yield();
    OK(dnnl_tp_stream_wait(s->async));
    return t.ns;
}
static double submit_from_worker(side_t *s) { return in_task(s, submit_task); }
static double wait_from_worker(side_t *s) { return in_task(s, wait_task); }

static void wait_inside(void *arg, dnnl_tp_status_t status) {
    enum { CALLS = 100 };
    task_t *t = arg;
    (void)status;
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < CALLS; ++i) EXPECT(dnnl_tp_stream_wait(t->side->async), dnnl_tp_would_deadlock);
    t->ns = (double)(dtp_now_ns() - t0) / CALLS;
    atomic_store(&t->done, 1);
}
static double wait_inside_item(side_t *s) {
    task_t t = {.side = s};
    dnnl_tp_event_t gate = gate_of(s->async), event;
    item(s->async, 0);
    OK(dnnl_tp_stream_record_event(s->async, &event));
    OK(dnnl_tp_event_on_complete(event, wait_inside, &t));
    item(s->async, 0); /* the stream stays busy while the callback runs */
    OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    OK(dnnl_tp_stream_wait(s->async));
    while (!atomic_load(&t.done)) sched_yield();
    dnnl_tp_event_destroy(event);
    dnnl_tp_event_destroy(gate);
    return t.ns;
}
static double mixed(side_t *s) {
    int64_t t0 = dtp_now_ns();
    for (int i = 0; i < ITEMS; ++i) {
        item(s->async, 0);
        item(s->sync, 1);
    }
    OK(dnnl_tp_stream_wait(s->async));
    return (double)(dtp_now_ns() - t0) / ITEMS;
}
static double failed(side_t *s, int reset) {
    dnnl_tp_event_t gate = gate_of(s->async);
    for (int i = 0; i < ITEMS; ++i) item(s->async, 0);
    int64_t t0 = dtp_now_ns();
    OK(dnnl_tp_event_signal(gate, dnnl_tp_runtime_error));
    EXPECT(dnnl_tp_stream_wait(s->async), dnnl_tp_runtime_error);
    int64_t t1 = dtp_now_ns();
    OK(dnnl_tp_stream_reset(s->async));
    int64_t t2 = dtp_now_ns();
    dnnl_tp_event_destroy(gate);
    return reset ? (double)(t2 - t1) : (double)(t1 - t0) / ITEMS;
}
static double poison(side_t *s) { return failed(s, 0); }
static double reset(side_t *s) { return failed(s, 1); }

static dnnl_tp_stream_t stream_of(const dnnl_tp_threadpool_iface_t *iface, int async) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    OK(dnnl_tp_stream_attr_set_threadpool(attr, iface));
    OK(dnnl_tp_stream_attr_set_async(attr, async));
    OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_in_order, attr));
    dnnl_tp_stream_attr_destroy(attr);
    return stream;
}
static double create(side_t *s) {
    int64_t t = dtp_now_ns();
    OK(dnnl_tp_stream_destroy(stream_of(s->iface, 1)));
    return (double)(dtp_now_ns() - t);
}

static const struct {
    const char *name;
    double (*run)(side_t *);
} rows[] = {{"execute", execute},
            {"create", create},
            {"submit", submit},
            {"drain", drain},
            {"submit+drain", submit_and_drain},
            {"ping_pong", ping_pong},
            {"submit from a worker", submit_from_worker},
            {"wait from a worker", wait_from_worker},
            {"wait inside an item", wait_inside_item},
            {"mixed", mixed},
            {"poison", poison},
            {"reset", reset}};

/* ---- Setting up -------------------------------------------------------------------------------------- */

static void add_side(const char *name, const host_t *host, void *pool,
                     const dnnl_tp_threadpool_iface_t *iface) {
    sides[n_sides++] =
        (side_t){name, host, pool, iface, stream_of(iface, 0), stream_of(iface, 1), stream_of(iface, 1)};
}
static void create_primitive(void) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_dims_t dims = {N};
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                     dnnl_tp_eltwise_linear, md, md, 2, 1, NULL));
    OK(dnnl_tp_primitive_create(&primitive, pd));
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(md);
}

static void print_rows(double cell_ns, char **prefixes, int n_prefixes) {
    static double samples[MAX_SIDES][MAX_SAMPLES];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
        int wanted = n_prefixes == 0, count[MAX_SIDES] = {0};
        for (int i = 0; i < n_prefixes; ++i)
            wanted |= !strncmp(rows[r].name, prefixes[i], strlen(prefixes[i]));
        if (!wanted) continue;
        for (int k = 0; k < n_sides; ++k) (void)rows[r].run(&sides[k]); /* warm */
        for (int64_t end = dtp_now_ns() + (int64_t)(cell_ns * n_sides); dtp_now_ns() < end;)
            for (int k = 0; k < n_sides; ++k) {
                memset(data, 0, sizeof data);
                double ns = rows[r].run(&sides[k]);
                if (ns >= 0 && count[k] < MAX_SAMPLES) samples[k][count[k]++] = ns;
            }
        printf("%-22s", rows[r].name);
        for (int k = 0; k < n_sides; ++k)
            if (count[k]) printf(" %12.0f", work_quantile(samples[k], count[k], 0.5));
            else printf(" %12s", "-");
        putchar('\n');
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    const char *named = "";
    int threads = 2, n_prefixes = 0;
    double cell_ns = 50e6;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) threads = atoi(argv[i] + 10);
        else if (!strncmp(argv[i], "--ms=", 5)) cell_ns = 1e6 * atof(argv[i] + 5);
        else if (!strncmp(argv[i], "--hosts=", 8)) named = argv[i] + 8;
        else if (argv[i][0] == '-') return fprintf(stderr, "stream_bench: unknown option %s\n", argv[i]), 2;
        else argv[n_prefixes++] = argv[i];
    }
    create_primitive();
    dnnl_tp_threadpool_t builtin;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
    const dnnl_tp_threadpool_iface_t *iface;
    OK(dnnl_tp_threadpool_create(&builtin, &opts));
    OK(dnnl_tp_threadpool_get_iface(builtin, &iface));
    add_side("builtin", NULL, NULL, iface);
    for (const host_t *const *h = hosts; *h && n_sides < MAX_SIDES; ++h) {
        if (*named ? !strstr(named, (*h)->name) : !strcmp((*h)->name, "tbb_limited")) continue;
        void *pool = (*h)->create(threads);
        if (!pool) return 1;
        add_side((*h)->name, *h, pool, (*h)->iface(pool));
    }
    printf("%d threads; ns\n%-22s", threads, "");
    for (int k = 0; k < n_sides; ++k) printf(" %12s", sides[k].name);
    putchar('\n');
    print_rows(cell_ns, argv, n_prefixes);
    for (int k = 0; k < n_sides; ++k) {
        OK(dnnl_tp_stream_destroy(sides[k].sync));
        OK(dnnl_tp_stream_destroy(sides[k].async));
        OK(dnnl_tp_stream_destroy(sides[k].other));
        if (!sides[k].host) continue;
        OK(dnnl_tp_threadpool_quiesce(sides[k].iface, -1));
        sides[k].host->destroy(sides[k].pool);
    }
    dnnl_tp_primitive_destroy(primitive);
    dnnl_tp_engine_destroy(engine);
    dnnl_tp_threadpool_destroy(builtin);
    return 0;
}
