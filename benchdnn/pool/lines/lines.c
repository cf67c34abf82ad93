/* lines: which cache lines change hands, and how often, for a shared loop, a shared run of a graph, and runs
 * of several clients on the built-in pool of W threads. Work sleeps, so all W take part on any machine.
 *
 *   lines [W...]                     default: 4 16 64
 *
 * The threads and the engine are compiled with atomics that note who looks at a line and who writes to it
 * (under/stdatomic.h): a line comes when a thread writes what another one has written or looked at since, or
 * looks at what another one has written. Plain fields that lie beside atomic ones come with them. See
 * doc/scaling.md. */
#include <dnnl_tp/dnnl_tp_graph.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"

/* ---- Who has a line ---------------------------------------------------------------------------------- */

enum { MOST_THREADS = 512, WORDS = MOST_THREADS / 64, BUCKETS = 1 << 16, LINE = 64, MOST_NAMES = 512 };
typedef struct {
    volatile char held;
    uintptr_t line;
    const char *what; /* the first expression that wrote to it, or looked */
    bool written;
    uint64_t has[WORDS];
    uint64_t looks, writes; /* that had to fetch it */
} line_t;
static line_t lines[BUCKETS];
static int threads;
static _Thread_local int own = -1;
static volatile bool counting;

static line_t *take(const volatile void *p, const char *what) {
    const uintptr_t line = (uintptr_t)p / LINE;
    for (uint32_t i = (uint32_t)(line * 0x9e3779b97f4a7c15u >> 48);; i = (i + 1) % BUCKETS) {
        line_t *l = &lines[i];
        while (__atomic_test_and_set(&l->held, __ATOMIC_ACQUIRE)) sched_yield();
        if (l->line == line) return l;
        if (l->line == 0) {
            l->line = line;
            l->what = what;
            return l;
        }
        __atomic_clear(&l->held, __ATOMIC_RELEASE);
    }
}
static uint64_t *mine(line_t *l, uint64_t *bit) {
    if (own < 0) own = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % MOST_THREADS;
    *bit = (uint64_t)1 << own % 64;
    return &l->has[own / 64];
}

void lines_look(const volatile void *p, const char *what);
void lines_look(const volatile void *p, const char *what) {
    uint64_t bit;
    line_t *l = take(p, what);
    uint64_t *has = mine(l, &bit);
    if (!(*has & bit)) l->looks += counting;
    *has |= bit;
    __atomic_clear(&l->held, __ATOMIC_RELEASE);
}
void lines_write(const volatile void *p, const char *what);
void lines_write(const volatile void *p, const char *what) {
    uint64_t bit;
    line_t *l = take(p, what);
    uint64_t *has = mine(l, &bit);
    bool alone = *has == bit;
    for (int i = 0; i < WORDS && alone; ++i) alone = &l->has[i] == has || !l->has[i];
    if (!alone) l->writes += counting;
    if (!l->written) l->what = what;
    l->written = true;
    memset(l->has, 0, sizeof l->has);
    *has = bit;
    __atomic_clear(&l->held, __ATOMIC_RELEASE);
}

/* ---- Names of lines ---------------------------------------------------------------------------------- */

static dtp_pool_t *rec;
static const char *name_of(const line_t *l) {
    static const struct {
        size_t at;
        const char *name;
    } parts[] = {
        {offsetof(dtp_pool_t, adm), "record: adm, sleeping"},
        {offsetof(dtp_pool_t, reserved), "record: reserved"},
        {offsetof(dtp_pool_t, last_open), "record: last_open, debt_ns, learned"},
        {offsetof(dtp_pool_t, peak_time), "record: peak"},
        {offsetof(dtp_pool_t, lock), "record: lock, first, last"},
        {offsetof(dtp_pool_t, counts), "record: counts for queries"},
        {offsetof(dtp_pool_t, iface), "record: what hardly changes"},
        {offsetof(dtp_pool_t, holds), "record: holds, waking, host calls"},
    };
    const uintptr_t at = l->line * LINE, base = (uintptr_t)rec;
    if (at >= base && at < base + sizeof rec->loop)
        return (at - base) % sizeof(dtp_shared_loop_t) < LINE ? (at - base) / sizeof(dtp_shared_loop_t)
                                                                    ? "shared loop k: word"
                                                                    : "shared loop 0: word, loops"
                                                              : "shared loop: slots, wake word";
    const char *name = l->what;
    if (at >= base && at < base + sizeof *rec)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
            if (at - base >= parts[i].at / LINE * LINE) name = parts[i].name;
    return name;
}

static struct {
    const char *name;
    uint64_t looks, writes;
    int lines;
} sums[MOST_NAMES];
static int by_sum(const void *a, const void *b) {
    const __typeof__(*sums) *x = a, *y = b;
    const uint64_t p = x->looks + x->writes, q = y->looks + y->writes;
    return (p < q) - (p > q);
}
static void begin(void) {
    for (int i = 0; i < BUCKETS; ++i) lines[i].looks = lines[i].writes = 0;
    counting = true;
}
static void report(const char *title, int w, double units, const char *unit) {
    int n = 0;
    uint64_t all = 0;
    counting = false;
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < BUCKETS; ++i) {
        const line_t *l = &lines[i];
        if (!l->line || !(l->looks + l->writes)) continue;
        const char *name = name_of(l);
        int k = 0;
        while (k < n && strcmp(sums[k].name, name) != 0) ++k;
        if (k == MOST_NAMES) continue;
        if (k == n) sums[n++].name = name;
        sums[k].looks += l->looks;
        sums[k].writes += l->writes;
        ++sums[k].lines;
        all += l->looks + l->writes;
    }
    qsort(sums, (size_t)n, sizeof *sums, by_sum);
    printf("\n%s, W = %d: lines that come, for each %s (looks + writes)\n  %8.2f in all\n", title, w, unit,
           (double)all / units);
    for (int k = 0; k < n && (double)(sums[k].looks + sums[k].writes) * 100 >= (double)all; ++k)
        printf("  %8.2f + %-8.2f %s%s\n", (double)sums[k].looks / units, (double)sums[k].writes / units,
               sums[k].name, sums[k].lines > 1 ? " (several lines)" : "");
    fflush(stdout);
}

/* ---- What runs --------------------------------------------------------------------------------------- */

enum { SLEEP_NS = 1000000, LOOPS = 20, RUNS = 10, EACH = 8, CLIENTS = 8 };
static void body(void *arg, int slot, int64_t from, int64_t end) {
    (void)arg, (void)slot;
    for (; from < end; ++from) nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
}
static dnnl_tp_status_t node(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
    return dnnl_tp_success;
}

static void must(dnnl_tp_status_t s) {
    if (s == dnnl_tp_success) return;
    fprintf(stderr, "lines: %s\n", dnnl_tp_last_error());
    exit(2);
}

static dnnl_tp_engine_t engine;
static dnnl_tp_executable_t layers(dnnl_tp_stream_attr_t attr, int width, int depth) {
    const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
    dnnl_tp_graph_t g;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t *v = malloc(sizeof *v * (size_t)(width * depth));
    if (!v) abort();
    must(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < width * depth; ++i) {
        must(dnnl_tp_graph_host(g, node, NULL, NULL, 0, NULL, 0, NULL, 1, &nothing, &v[i]));
        must(dnnl_tp_graph_host_cost(g, v[i], SLEEP_NS));
        for (int k = 0; i >= width && k < 2; ++k) /* itself and its neighbour in the layer before */
            must(dnnl_tp_graph_control_dependency(g, v[(i / width - 1) * width + (i + k) % width], v[i]));
    }
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr};
    must(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, &o));
    dnnl_tp_graph_destroy(g);
    free(v);
    return e;
}

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t attr;
    int runs;
} client_t;
static void *client(void *arg) {
    const client_t *c = arg;
    dnnl_tp_stream_t stream;
    must(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, c->attr));
    for (int i = 0; i < c->runs; ++i) must(dnnl_tp_executable_run(c->e, stream, 0, NULL, 0, NULL, NULL));
    dnnl_tp_stream_destroy(stream);
    return NULL;
}
static void clients(const client_t *c, int n) {
    pthread_t id[MOST_THREADS];
    for (int i = 0; i < n; ++i)
        if (pthread_create(&id[i], NULL, client, (void *)(uintptr_t)c)) abort();
    for (int i = 0; i < n; ++i) pthread_join(id[i], NULL);
}

static void all_of(int w) {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = w};
    dnnl_tp_stream_attr_t attr;
    must(dnnl_tp_threadpool_create(&pool, &opts));
    must(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    must(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    must(dtp_pool_acquire(&rec, attr));
    const dtp_parallel_t par = {.pool = rec, .num_threads = w};
    for (int i = -2; i < LOOPS; ++i) {
        if (i == 0) begin();
        dtp_parallel_for(&par, 4 * w, -SLEEP_NS, body, NULL);
    }
    report("loop of 4 W iterations", w, LOOPS, "loop");
    client_t c = {layers(attr, w, EACH), attr, 2};
    clients(&c, 1);
    begin();
    c.runs = RUNS;
    clients(&c, 1);
    report("one client, graph of 8 layers of W nodes with 2 inputs", w, (double)RUNS * EACH * w, "node");
    dnnl_tp_executable_destroy(c.e);
    c = (client_t){layers(attr, 4, 2), attr, 1};
    clients(&c, CLIENTS * w / 4);
    begin();
    c.runs = RUNS;
    clients(&c, CLIENTS * w / 4);
    report("2 W clients, graphs of 2 layers of 4 nodes", w, (double)RUNS * CLIENTS * w / 4, "run");
    dnnl_tp_executable_destroy(c.e);
    dtp_pool_release(rec);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
}

int main(int argc, char **argv) {
    must(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    if (argc < 2) {
        all_of(4);
        all_of(16);
        all_of(64);
    }
    for (int i = 1; i < argc; ++i) {
        const int w = atoi(argv[i]);
        if (w < 2 || w > DTP_MAX_THREADS) return fputs("lines: threads from 2 to 256\n", stderr), 2;
        all_of(w);
    }
    dnnl_tp_engine_destroy(engine);
    return 0;
}
