/* How soon a cancelled run ends, and which of the late ones waited for a processor. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec_bench.h"

/* ---- How long threads of this process were ready to run and had no processor --------------------------- */

enum { MOST_THREADS = 64 };
typedef struct {
    int n, file[MOST_THREADS];
} waits_t;

/* Of the threads that there are. */
static void waits_open(waits_t *w) {
    DIR *dir = opendir("/proc/self/task");
    w->n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) && w->n < MOST_THREADS;) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        const int file = e->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0) w->file[w->n++] = file;
    }
    if (dir) closedir(dir);
}
static void waits_close(waits_t *w) {
    while (w->n > 0) close(w->file[--w->n]);
}
/* Sum so far in ns; -1: this system does not tell. */
static int64_t waits_ns(const waits_t *w) {
    int64_t sum = w->n ? 0 : -1;
    for (int i = 0; i < w->n; ++i) {
        char text[100];
        long long on, waiting;
        const ssize_t got = pread(w->file[i], text, sizeof text - 1, 0);
        text[got > 0 ? got : 0] = 0;
        if (sscanf(text, "%lld %lld", &on, &waiting) == 2) sum += waiting;
    }
    return sum;
}

/* ---- Who cancels ------------------------------------------------------------------------------------- */

/* Long closures that look whether they should stop. */
static int64_t long_ticks;
static atomic_int begun;
static dnnl_tp_status_t long_host(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                  int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)nin, (void)in, (void)nout, (void)out;
    const int64_t step = eb_ticks_of_ns(20000);
    int64_t now = eb_ticks(), end = now + long_ticks, look = now + step;
    atomic_fetch_add(&begun, 1);
    for (; now < end; now = eb_ticks())
        if (now > look) {
            if (dnnl_tp_should_stop(stop)) return dnnl_tp_success;
            look = now + step;
        }
    return dnnl_tp_success;
}

/* One thread for all runs of a row: a thread that starts or ends takes a processor for longer than most runs
 * need to end. */
typedef struct {
    pthread_t thread;
    sem_t go, fired;
    dnnl_tp_cancel_t cancel; /* NULL: the end */
    int wait_for;            /* closures that begin first; 0: the time alone */
    int64_t after_ns, fired_ns, waited_ns;
    waits_t waits;
} canceller_t;
static void *canceller(void *p) {
    canceller_t *c = p;
    for (;;) {
        while (sem_wait(&c->go)) {
        }
        if (!c->cancel) return NULL;
        while (atomic_load(&begun) < c->wait_for) nanosleep(&(struct timespec){0, 100000}, NULL);
        nanosleep(&(struct timespec){0, (long)c->after_ns}, NULL);
        c->waited_ns = waits_ns(&c->waits);
        c->fired_ns = bd_now_ns();
        EB_OK(dnnl_tp_cancel_fire(c->cancel));
        sem_post(&c->fired);
    }
}
static void canceller_start(canceller_t *c, int wait_for) {
    c->wait_for = wait_for;
    if (sem_init(&c->go, 0, 0) || sem_init(&c->fired, 0, 0) || pthread_create(&c->thread, NULL, canceller, c))
        abort();
    waits_open(&c->waits);
}
static void canceller_end(canceller_t *c) {
    c->cancel = NULL;
    sem_post(&c->go);
    pthread_join(c->thread, NULL);
    sem_destroy(&c->go);
    sem_destroy(&c->fired);
    waits_close(&c->waits);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static dnnl_tp_graph_t make_closures(int nodes, int deep) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v, before = -1;
    const dnnl_tp_tensor_info_t nothing = {1, {0}, dnnl_tp_f32};
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int d = 0; d < deep; ++d, before = v)
        for (int i = 0; i < nodes; ++i) {
            EB_OK(dnnl_tp_graph_host(g, long_host, NULL, NULL, 0, "long", 0, NULL, 1, &nothing, &v));
            if (before >= 0) EB_OK(dnnl_tp_graph_control_dependency(g, before, v));
        }
    return g;
}
static dnnl_tp_graph_t make_matmul(int size, int times) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v, w;
    const dnnl_tp_dims_t dims = {size, size};
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    EB_OK(dnnl_tp_graph_input(g, &v, NULL, dnnl_tp_f32, 2, dims));
    EB_OK(dnnl_tp_graph_input(g, &w, NULL, dnnl_tp_f32, 2, dims));
    for (int i = 0; i < times; ++i)
        EB_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "matmul", 2, (dnnl_tp_value_t[]){v, w}, 0, NULL, 1, &v));
    EB_OK(dnnl_tp_graph_output(g, v, NULL));
    return g;
}

/* Loops that memory bounds: sums of everything, or maps. */
static dnnl_tp_graph_t make_stream(dnnl_tp_op_kind_t kind, int64_t elems, int times) {
    static const int64_t axis = 0;
    const dnnl_tp_op_attr_t axes = {dnnl_tp_op_attr_axes, dnnl_tp_op_attr_s64, 1, &axis};
    const bool sum = kind == dnnl_tp_op_reduce_sum;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, v, before = -1;
    const dnnl_tp_dims_t dims = {elems};
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    EB_OK(dnnl_tp_graph_input(g, &x, NULL, dnnl_tp_f32, 1, dims));
    for (int i = 0; i < times; ++i, before = v) {
        EB_OK(dnnl_tp_graph_op(g, kind, "op", 1, sum || i == 0 ? &x : &v, sum, &axes, 1, &v));
        if (sum && before >= 0) EB_OK(dnnl_tp_graph_control_dependency(g, before, v));
    }
    EB_OK(dnnl_tp_graph_output(g, v, NULL));
    return g;
}

/* The runs of a row: all, and those in which no thread waited for a processor. */
enum { TIMES = 200, CHECKED_TIMES = 3 };
typedef struct {
    double us[TIMES];
    int n;
} latency_t;
static double p99(const latency_t *l) { return l->us[l->n * 99 / 100]; }

static void print_row(const char *name, int threads, latency_t *all, latency_t *calm, bool told) {
    qsort(all->us, (size_t)all->n, sizeof *all->us, bd_by_value);
    qsort(calm->us, (size_t)calm->n, sizeof *calm->us, bd_by_value);
    printf("%-36s | us to the end of the run: median %.1f, p99 %.1f, largest %.1f", name, all->us[all->n / 2],
           p99(all), all->us[all->n - 1]);
    if (told) printf("; %d of %d waited for a processor", all->n - calm->n, all->n);
    if (told && calm->n) printf(", the others: p99 %.1f, largest %.1f", p99(calm), calm->us[calm->n - 1]);
    putchar('\n');
    for (int i = 0; i < 1 + (told && calm->n); ++i) {
        const latency_t *l = i ? calm : all;
        const double least = l->us[0], most = l->us[l->n - 1];
        eb_csv("system", name, threads, 0, "dnnl_tp", i ? "us (p99 undisturbed)" : "us (p99)", p99(l), least,
               most, -1, l->n);
        if (!i)
            eb_csv("system", name, threads, 0, "dnnl_tp", "us (median)", l->us[l->n / 2], least, most, -1,
                   l->n);
    }
}

/* From the call of cancel to the end of the run, or (by_deadline) from the deadline; then waiting counts from
 * the beginning of the run. */
static void cancel_row(const char *name, dnnl_tp_graph_t g, int threads, bool by_deadline, int wait_for,
                       int nin, void *const *in, int nout, void *const *out) {
    enum { MOST_NS = 5000000, MOST_LATE = 20, WAITED_NS = 100000 };
    static latency_t all, calm;
    const int times = eb.check ? CHECKED_TIMES : TIMES;
    int late = 0; /* runs that were over before a thread without a processor came to cancel them */
    bool told = true;
    dnnl_tp_executable_t e = eb_compile(g, threads, 0);
    dnnl_tp_stream_t stream = eb_stream(threads);
    canceller_t c;
    canceller_start(&c, wait_for);
    all.n = calm.n = 0;
    while (all.n < times) {
        atomic_store(&begun, 0);
        c.after_ns = 500000 + (int64_t)all.n * 7919 * 1009 % MOST_NS;
        dnnl_tp_run_opts_t o = {.struct_size = sizeof o};
        if (by_deadline) {
            c.waited_ns = waits_ns(&c.waits);
            o.deadline_ns = c.fired_ns = bd_now_ns() + c.after_ns;
        } else {
            EB_OK(dnnl_tp_cancel_create(&c.cancel));
            o.cancel = c.cancel;
            sem_post(&c.go);
        }
        dnnl_tp_status_t s = dnnl_tp_executable_run(e, stream, nin, in, nout, out, &o);
        const int64_t end = bd_now_ns(), waited = waits_ns(&c.waits);
        if (!by_deadline) {
            while (sem_wait(&c.fired)) {
            }
            EB_OK(dnnl_tp_cancel_destroy(c.cancel));
        }
        if (s == dnnl_tp_success && ++late <= MOST_LATE) continue;
        if (s != (by_deadline ? dnnl_tp_deadline_exceeded : dnnl_tp_cancelled))
            eb_fail("%s: the run ended with '%s'\n", name, dnnl_tp_status2str(s));
        const double us = (double)(end - c.fired_ns) / 1e3;
        all.us[all.n++] = us;
        told = told && waited >= 0;
        if (waited - c.waited_ns < WAITED_NS) calm.us[calm.n++] = us;
    }
    canceller_end(&c);
    dnnl_tp_executable_destroy(e);
    if (eb.check) printf("%-36s %d threads\n", name, threads);
    else print_row(name, threads, &all, &calm, told);
    fflush(stdout);
}

void eb_rows_cancel(int threads) {
    enum { SIZE = 3000, CHECKED_SIZE = 1024 }; /* a product of that size takes 0.1 to 1 s */
    long_ticks = eb_ticks_of_ns(1e8);
    if (eb_wanted(eb.rows, "cancel/closures_100ms"))
        cancel_row("cancel/closures_100ms", make_closures(threads, 50), threads, false, threads, 0, NULL, 0,
                   NULL);
    if (eb_wanted(eb.rows, "deadline/closures_100ms"))
        cancel_row("deadline/closures_100ms", make_closures(threads, 50), threads, true, 0, 0, NULL, 0, NULL);
    if (eb_wanted(eb.rows, "cancel/matmul")) {
        const int size = eb.check ? CHECKED_SIZE : SIZE;
        size_t elems = (size_t)size * (size_t)size;
        float *data = malloc(3 * elems * sizeof *data);
        if (!data) abort();
        for (size_t e = 0; e < 3 * elems; ++e) data[e] = (float)(e & 7) - 3.5f;
        cancel_row("cancel/matmul", make_matmul(size, 20), threads, false, 0, 2,
                   (void *[]){data, data + elems}, 1, (void *[]){data + 2 * elems});
        free(data);
    }
    static const struct {
        const char *name;
        dnnl_tp_op_kind_t kind;
    } streams[] = {{"cancel/sum", dnnl_tp_op_reduce_sum}, {"cancel/map", dnnl_tp_op_sigmoid}};
    for (int i = 0; i < 2; ++i) {
        if (!eb_wanted(eb.rows, streams[i].name)) continue;
        enum { ELEMS = 48 << 20, CHECKED_ELEMS = 1 << 20, TIMES = 40, CHECKED_TIMES = 400 };
        const int64_t elems = eb.check ? CHECKED_ELEMS : ELEMS;
        float *data = malloc(2 * (size_t)elems * sizeof *data);
        if (!data) abort();
        for (int64_t e = 0; e < 2 * elems; ++e) data[e] = (float)(e & 7);
        cancel_row(streams[i].name, make_stream(streams[i].kind, elems, eb.check ? CHECKED_TIMES : TIMES),
                   threads, false, 0, 1, (void *[]){data}, 1, (void *[]){data + elems});
        free(data);
    }
}
