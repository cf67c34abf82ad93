/* Shapes of loops on the built-in pool and on other programs' pools, beside the loops that those programs
 * write.
 *
 *   shapes_bench [--hosts=tbb,eigen] [--threads=N] [--ms=M] [PREFIX...]
 *
 * Rows whose names begin with a PREFIX (default: all); M ms for each cell (default 20). Columns: `serial` on
 * one thread, `builtin` the built-in pool, then for each host its own loop and, with a +, the library's loop
 * on that pool. A cell is the median in us, after a slash the 99th percentile; other units stand in the row's
 * name.
 *
 * - fork_join/CHUNKS/GAP: chunks of 1 us, after a pause of so many us (it works up to 200 us, then it sleeps)
 * - nd/D: 4,096 tiles of 0.5 us whose number is taken apart into D indices
 * - imbalance: 64 chunks of 2 us, of which one takes 200 us; nested/L: loops in loops, 64 leaves of 5 us
 * - callers/K: loops per ms of K threads that call at once (64 x 2 us each)
 * - wake/one, all: from the call to the second, the last thread's first instruction, all asleep before; warm:
 *   the same right after a loop. small_n: 20 chunks of 50 us. memcpy/KB
 * - cost/US: so much work in 64 iterations; and the threads that took part, and what each was worth (1 = as
 * much as the serial loop's)
 * - ready_queue: ns for each of 200 empty tasks that are given to schedule, until the last has run
 *
 * Sides take turns in blocks of 16; the first loops of a block are dropped. Prints only. Next: native_bench
 * (ratios by size), pool_bench (hand-off, clients), doc/pool_bench.md. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/hosts.h"
#include "pool/work.h"
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"
#include "threading/check/runnable.h"

enum { MAX_SIDES = 16, MAX_SAMPLES = 1 << 14, MAX_IDS = 1024, BLOCK = 16, DROPPED = 4, BIG = 64 << 20 };

/* ---- Sides ------------------------------------------------------------------------------------------- */

typedef struct {
    char name[24];
    const host_t *host; /* its own loop; NULL: ours, or serial */
    void *pool;
    const dnnl_tp_threadpool_iface_t *iface; /* NULL: serial */
    dtp_parallel_t par;
} side_t;

static side_t sides[MAX_SIDES];
static int n_sides, num_threads = 2;
static double cell_ns = 20e6;

typedef struct {
    host_range_t fn;
    void *arg;
} body_t;
static void body_of_ours(void *arg, int slot, int64_t begin, int64_t end) {
    const body_t *b = arg;
    (void)slot;
    b->fn(b->arg, begin, end);
}
static void loop_on(const side_t *s, int64_t n, double ns_each, host_range_t fn, void *arg) {
    if (s->host) {
        s->host->loop(s->pool, n, ns_each, fn, arg);
        return;
    }
    body_t b = {fn, arg};
    int64_t grain = dtp_grain(ns_each);
    dtp_parallel_for(&s->par, n, grain > 1 ? grain : -(int64_t)ns_each, body_of_ours, &b);
}

static dtp_pool_t *record_of(const dnnl_tp_threadpool_iface_t *iface) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    if (dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu) || dnnl_tp_stream_attr_set_threadpool(attr, iface) ||
        dtp_pool_acquire(&rec, attr)) {
        fprintf(stderr, "shapes_bench: %s\n", dnnl_tp_last_error());
        exit(1);
    }
    dnnl_tp_stream_attr_destroy(attr);
    return rec;
}
static void add_side(const char *name, const char *mark, const host_t *host, void *pool,
                     const dnnl_tp_threadpool_iface_t *iface) {
    side_t *s = &sides[n_sides++];
    snprintf(s->name, sizeof s->name, "%s%s", name, mark);
    *s = (side_t){.host = host, .pool = pool, .iface = iface, .par = {.num_threads = 1}};
    snprintf(s->name, sizeof s->name, "%s%s", name, mark);
    if (iface && !host) s->par = (dtp_parallel_t){.pool = record_of(iface), .num_threads = num_threads};
}

/* ---- Bodies ------------------------------------------------------------------------------------------ */

static double item_ns;
static void work_body(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    work_ns((double)(end - begin) * item_ns);
}

/* Who took part. */
static _Atomic int ids;
static _Thread_local int my_id;
static struct { _Alignas(128) _Atomic uint32_t round; } seen[MAX_IDS];
static uint32_t round_now;
static void counted_body(void *arg, int64_t begin, int64_t end) {
    if (!my_id) my_id = atomic_fetch_add(&ids, 1) + 1;
    atomic_store_explicit(&seen[my_id % MAX_IDS].round, round_now, memory_order_relaxed);
    work_body(arg, begin, end);
}
static int participants(void) {
    int n = 0;
    for (int i = 0; i < MAX_IDS && i <= atomic_load(&ids); ++i)
        n += atomic_load_explicit(&seen[i].round, memory_order_relaxed) == round_now;
    return n;
}

static const int *dims_of; /* of the tiles, outermost first */
static int n_dims;
static void nd_body(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, sum = 0;
        for (int d = n_dims - 1; d >= 0; --d) {
            sum += rest % dims_of[d] * (d + 1);
            rest /= dims_of[d];
        }
        __asm__ volatile("" : : "r"(sum));
        work_ns(item_ns);
    }
}
static void imbalance_body(void *arg, int64_t begin, int64_t end) {
    const int64_t *heavy = arg;
    for (int64_t i = begin; i < end; ++i) work_ns(i == *heavy ? 100 * item_ns : item_ns);
}

typedef struct {
    const side_t *side;
    int level;
} nest_t;
enum { MAX_LEVELS = 3 };
static int fan; /* iterations of each level */
static void nest_body(void *arg, int64_t begin, int64_t end) {
    const nest_t *outer = arg;
    nest_t inner = {outer->side, outer->level - 1};
    double ns = item_ns;
    for (int l = 1; l < inner.level; ++l) ns *= fan;
    for (int64_t i = begin; i < end; ++i)
        if (inner.level) loop_on(inner.side, fan, ns, nest_body, &inner);
        else work_ns(item_ns);
}

/* Each of `awaited` ranges lasts until all have begun, or for a while. */
static _Atomic int arrived;
static _Atomic int64_t last_arrival;
static int awaited;
static void arrival_body(void *arg, int64_t begin, int64_t end) {
    enum { PATIENCE_NS = 300000 };
    (void)arg, (void)begin, (void)end;
    int64_t now = dtp_ticks(), until = now + dtp_ticks_of_ns(PATIENCE_NS), last = atomic_load(&last_arrival);
    while (now > last && !atomic_compare_exchange_weak(&last_arrival, &last, now)) {
    }
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < awaited && dtp_ticks() < until) dtp_pause();
}

static char *copy_from, *copy_to;
enum { COPY_BYTES = 4096 };
static void copy_body(void *arg, int64_t begin, int64_t end) {
    (void)arg;
    memcpy(copy_to + begin * COPY_BYTES, copy_from + begin * COPY_BYTES, (size_t)(end - begin) * COPY_BYTES);
}

/* ---- Rows -------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t n;
    double ns_each, gap_ns;
    host_range_t body;
    void *arg;
    bool wake;   /* the sample is the last arrival; without it there is none */
    bool counts; /* participants */
    int levels;
} row_t;

static double samples[MAX_SIDES][MAX_SAMPLES];
static int n_samples[MAX_SIDES];
static double threads_seen[MAX_SIDES];

/* Native loops in loops: of these two alone it is known what they do (OpenMP: the inner ones are serial). */
static bool can_nest(const side_t *s) {
    return !s->host || !strncmp(s->host->name, "tbb", 3) || !strcmp(s->host->name, "openmp");
}

static void sample(int k, const row_t *r, bool keep) {
    const side_t *s = &sides[k];
    nest_t nest = {s, r->levels};
    work_pause(r->gap_ns);
    ++round_now;
    atomic_store(&arrived, 0);
    atomic_store(&last_arrival, 0);
    int64_t t0 = dtp_ticks();
    if (r->levels) loop_on(s, r->n, r->ns_each, nest_body, &nest);
    else loop_on(s, r->n, r->ns_each, r->body, r->arg);
    int64_t t1 = dtp_ticks();
    if (!keep) return;
    if (r->counts) threads_seen[k] += participants();
    if (r->wake && atomic_load(&arrived) < awaited) return;
    if (r->wake) t1 = atomic_load(&last_arrival);
    if (n_samples[k] < MAX_SAMPLES)
        samples[k][n_samples[k]++] = (double)dtp_ns_of_ticks(1000 * (t1 - t0)) / 1e6;
}
/* Some pools spin for long: the next side starts when nobody else of this process runs. */
static void settle(void) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && dtp_runnable_threads() > 0; ++i) work_pause(300e3);
}
static void measure(const row_t *r) {
    int used = n_sides - (r->wake ? 1 : 0), block = r->gap_ns > 1e6 ? 2 : BLOCK;
    int dropped = r->gap_ns > 1e6 ? 0 : DROPPED;
    for (int warm = 1; warm >= 0; --warm) {
        int64_t end = dtp_now_ns() + (int64_t)(warm ? cell_ns / 4 : cell_ns * used);
        memset(n_samples, 0, sizeof n_samples);
        memset(threads_seen, 0, sizeof threads_seen);
        do
            for (int k = r->wake ? 1 : 0; k < n_sides; ++k) {
                settle();
                for (int i = -dropped; i < block && (!r->levels || can_nest(&sides[k])); ++i)
                    sample(k, r, i >= 0);
            }
        while (dtp_now_ns() < end);
    }
}

static char **prefixes;
static int n_prefixes;
static bool wanted(const char *name) {
    for (int i = 0; i < n_prefixes; ++i)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) return true;
    return n_prefixes == 0;
}
static void print_row(const char *name, const row_t *r) {
    char text[64];
    printf("%-22s", name);
    double serial = work_quantile(samples[0], n_samples[0], 0.5);
    for (int k = 0; k < n_sides; ++k) {
        double median = work_quantile(samples[k], n_samples[k], 0.5);
        if (n_samples[k] == 0) snprintf(text, sizeof text, "-");
        else if (r->counts && k) {
            double threads = threads_seen[k] / n_samples[k];
            snprintf(text, sizeof text, "%.2f %.1fx%.2f", median, threads, serial / median / threads);
        } else
            snprintf(text, sizeof text, "%.2f/%.1f", median, work_quantile(samples[k], n_samples[k], 0.99));
        printf(" %17s", text);
    }
    putchar('\n');
    fflush(stdout);
}
static void row(const char *name, const row_t *r) {
    if (!wanted(name)) return;
    measure(r);
    print_row(name, r);
}

/* ---- Rows of their own kind -------------------------------------------------------------------------- */

typedef struct {
    const side_t *side;
    _Atomic int *stop;
    _Atomic int64_t *loops;
} caller_t;
static void *caller(void *arg) {
    const caller_t *c = arg;
    int64_t n = 0;
    for (; !atomic_load(c->stop); ++n) loop_on(c->side, 64, item_ns, work_body, NULL);
    atomic_fetch_add(c->loops, n);
    return NULL;
}
static void callers_row(int count) {
    enum { MOST = 16 };
    char name[32];
    snprintf(name, sizeof name, "callers/%d per ms", count);
    if (!wanted(name)) return;
    item_ns = 2000;
    printf("%-22s", name);
    for (int k = 0; k < n_sides; ++k) {
        pthread_t thread[MOST];
        _Atomic int stop = 0;
        _Atomic int64_t loops = 0;
        caller_t c = {&sides[k], &stop, &loops};
        int64_t t0 = dtp_now_ns();
        for (int i = 0; i < count; ++i)
            if (pthread_create(&thread[i], NULL, caller, &c)) abort();
        while ((double)(dtp_now_ns() - t0) < 5 * cell_ns) work_pause(1e6);
        atomic_store(&stop, 1);
        for (int i = 0; i < count; ++i) pthread_join(thread[i], NULL);
        printf(" %17.2f", (double)atomic_load(&loops) * 1e6 / (double)(dtp_now_ns() - t0));
        fflush(stdout);
    }
    putchar('\n');
}

static void count_task(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }
static void ready_queue_row(void) {
    enum { TASKS = 200 };
    if (!wanted("ready_queue ns")) return;
    printf("%-22s", "ready_queue ns");
    for (int k = 0; k < n_sides; ++k) {
        const side_t *s = &sides[k];
        n_samples[k] = 0;
        if (s->iface && !s->host && s->iface->schedule)
            for (int64_t end = dtp_now_ns() + (int64_t)cell_ns;
                 dtp_now_ns() < end && n_samples[k] < MAX_SAMPLES;) {
                _Atomic int ran = 0;
                int given = 0;
                int64_t t0 = dtp_ticks();
                for (int i = 0; i < TASKS; ++i)
                    given += s->iface->schedule(s->iface->ctx, NULL, count_task, &ran) == 0;
                while (atomic_load(&ran) < given) sched_yield();
                double ns = (double)dtp_ns_of_ticks(dtp_ticks() - t0);
                if (given) samples[k][n_samples[k]++] = ns / given;
                else break;
            }
        if (n_samples[k]) printf(" %17.0f", work_quantile(samples[k], n_samples[k], 0.5));
        else printf(" %17s", "-");
    }
    putchar('\n');
}

static void all_rows(void) {
    char name[48];
    item_ns = 1000;
    const int chunks[] = {num_threads, 8 * num_threads, 1000}, gaps[] = {0, 5, 20, 100, 500, 5000};
    for (int c = 0; c < 3; ++c)
        for (int g = 0; g < 6; ++g) {
            snprintf(name, sizeof name, "fork_join/%d/%d", chunks[c], gaps[g]);
            row(name,
                &(row_t){.n = chunks[c], .ns_each = item_ns, .gap_ns = 1000. * gaps[g], .body = work_body});
        }
    static const int dims[6][6] = {{4096},       {64, 64},        {16, 16, 16},
                                   {8, 8, 8, 8}, {4, 4, 4, 8, 8}, {4, 4, 4, 4, 4, 4}};
    item_ns = 500;
    for (n_dims = 1; n_dims <= 6; ++n_dims) {
        dims_of = dims[n_dims - 1];
        snprintf(name, sizeof name, "nd/%d", n_dims);
        row(name, &(row_t){.n = 4096, .ns_each = item_ns, .body = nd_body});
    }
    item_ns = 2000;
    static int64_t heavy[2] = {0, 63};
    for (int i = 0; i < 2; ++i)
        row(i ? "imbalance/last" : "imbalance/first",
            &(row_t){.n = 64, .ns_each = item_ns, .body = imbalance_body, .arg = &heavy[i]});
    item_ns = 5000;
    for (int levels = 2; levels <= MAX_LEVELS; ++levels) {
        fan = levels == 2 ? 8 : 4;
        snprintf(name, sizeof name, "nested/%d", levels);
        row(name, &(row_t){.n = fan, .ns_each = item_ns * 64 / fan, .levels = levels});
    }
    for (int count = 1; count <= 16; count *= 2) callers_row(count);
    static const struct {
        const char *name;
        double gap_ns;
        bool all;
    } wakes[] = {{"wake/one", 5e6, false}, {"wake/all", 5e6, true}, {"wake/warm", 0, true}};
    for (int i = 0; i < 3; ++i) {
        awaited = wakes[i].all ? num_threads : 2;
        row(wakes[i].name, &(row_t){.n = awaited,
                                    .ns_each = 200000,
                                    .gap_ns = wakes[i].gap_ns,
                                    .body = arrival_body,
                                    .wake = true});
    }
    item_ns = 50000;
    row("small_n/20", &(row_t){.n = 20, .ns_each = item_ns, .body = work_body});
    for (int kb = 32; kb <= BIG >> 10; kb *= 8) {
        snprintf(name, sizeof name, "memcpy/%d KB", kb);
        row(name, &(row_t){.n = kb / 4, .ns_each = 400, .body = copy_body});
    }
    static const int us[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
    for (size_t i = 0; i < sizeof us / sizeof *us; ++i) {
        item_ns = us[i] * 1000. / 64;
        snprintf(name, sizeof name, "cost/%d", us[i]);
        row(name, &(row_t){.n = 64, .ns_each = item_ns, .body = counted_body, .counts = true});
    }
    ready_queue_row();
}

int main(int argc, char **argv) {
    const char *named = "";
    prefixes = argv;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) num_threads = atoi(argv[i] + 10);
        else if (!strncmp(argv[i], "--ms=", 5)) cell_ns = 1e6 * atof(argv[i] + 5);
        else if (!strncmp(argv[i], "--hosts=", 8)) named = argv[i] + 8;
        else if (argv[i][0] == '-') return fprintf(stderr, "shapes_bench: unknown option %s\n", argv[i]), 2;
        else prefixes[n_prefixes++] = argv[i];
    }
    if (num_threads < 2) return fputs("shapes_bench: at least 2 threads\n", stderr), 2;
    copy_from = calloc(2, BIG);
    if (!copy_from) return 1;
    copy_to = copy_from + BIG;
    memset(copy_from, 1, 2 * (size_t)BIG);
    work_calibrate();
    dnnl_tp_threadpool_t builtin;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = num_threads};
    const dnnl_tp_threadpool_iface_t *iface;
    if (dnnl_tp_threadpool_create(&builtin, &opts) || dnnl_tp_threadpool_get_iface(builtin, &iface)) return 1;
    add_side("serial", "", NULL, NULL, NULL);
    add_side("builtin", "", NULL, NULL, iface);
    for (const host_t *const *h = hosts; *h && n_sides + 2 <= MAX_SIDES; ++h) {
        if (*named ? !strstr(named, (*h)->name) : !strcmp((*h)->name, "tbb_limited")) continue;
        void *pool = (*h)->create(num_threads);
        if (!pool) return 1;
        add_side((*h)->name, "", *h, pool, (*h)->iface(pool));
        add_side((*h)->name, "+", NULL, pool, (*h)->iface(pool));
    }
    printf("%d threads; us, median/p99; +: the library's loop on that pool\n%-22s", num_threads, "");
    for (int k = 0; k < n_sides; ++k) printf(" %17s", sides[k].name);
    putchar('\n');
    all_rows();
    for (int k = n_sides - 1; k > 0; --k) {
        dtp_pool_release(sides[k].par.pool);
        if (!sides[k].host) continue;
        if (dnnl_tp_threadpool_quiesce(sides[k].iface, -1)) return 1;
        sides[k].host->destroy(sides[k].pool);
    }
    dnnl_tp_threadpool_destroy(builtin);
    free(copy_from);
    return 0;
}
