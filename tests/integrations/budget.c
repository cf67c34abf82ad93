/* The hard budget: while many callers load a pool of W threads, the process never computes on more than W.
 * All threads are sampled at 1 kHz and more; a pool that has one thread more than it says must be caught.
 * Idle threads cost nothing. test_integrations_budget HOST          (see hosts.h) Next:
 * tests/integrations/adapters.c. */
#include "support/check.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hosts/hosts.h"
#include "threading/futex.h"
#include "threading/pool.h"
#include "threading/topology.h"

enum { CLIENTS = 4, LOAD_MS = 400, LOOPS = 20, ITEMS = 8, ITEM_NS = 20000, MIN_RATE_HZ = 1000 };
static const double OVER_BUDGET =
    0.05; /* samples that may see a thread going to sleep beside the one it woke */

static const host_t *host;

/* ---- Sampler ------------------------------------------------------------------------------------------ */

typedef struct {
    pthread_t thread;
    _Atomic int stop, watch;
    int granted;
    _Atomic int samples, over, most;
    _Atomic long long ns;
} sampler_t;

/* Threads of the process that run or want to, the sampler itself apart. */
static int runnable(long self) {
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    if (!dir) abort();
    for (struct dirent *e; (e = readdir(dir));) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid <= 0 || tid == self) continue;
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[n] = 0;
        char *end = strrchr(text, ')');
        count += end && end[1] && end[2] == 'R';
    }
    closedir(dir);
    return count;
}
static void *sample(void *arg) {
    sampler_t *s = arg;
    long self = syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, (id_t)self,
                -20); /* where it is allowed: it must not wait for those it counts */
    while (!atomic_load(&s->stop)) {
        if (!atomic_load(&s->watch)) {
            usleep(200);
            continue;
        }
        int64_t t0 = dtp_now_ns();
        int now = runnable(self);
        atomic_fetch_add(&s->samples, 1);
        if (now > s->granted) atomic_fetch_add(&s->over, 1);
        if (now > atomic_load(&s->most)) atomic_store(&s->most, now);
        usleep(200);
        atomic_fetch_add(&s->ns, dtp_now_ns() - t0);
    }
    return NULL;
}
static void sampler_start(sampler_t *s, int granted) {
    memset(s, 0, sizeof *s);
    s->granted = granted;
    assert_int_equal(pthread_create(&s->thread, NULL, sample, s), 0);
}
static void sampler_end(sampler_t *s) {
    atomic_store(&s->stop, 1);
    pthread_join(s->thread, NULL);
}
static double over_share(sampler_t *s) {
    return atomic_load(&s->samples) ? (double)atomic_load(&s->over) / atomic_load(&s->samples) : 1;
}

/* ---- Load --------------------------------------------------------------------------------------------- */

typedef struct {
    dtp_pool_t *rec;
    int threads;
    _Atomic int stop, runs, inside, most;
} load_t;

static void item(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    load_t *l = arg;
    int now = atomic_fetch_add(&l->inside, 1) + 1, most = atomic_load(&l->most);
    while (now > most && !atomic_compare_exchange_weak(&l->most, &most, now)) {
    }
    for (int64_t until = dtp_now_ns() + (end - begin) * ITEM_NS; dtp_now_ns() < until;) {
    }
    atomic_fetch_sub(&l->inside, 1);
}
static void run_body(void *arg, const dtp_parallel_t *par) {
    for (int i = 0; i < LOOPS; ++i) dtp_parallel_for(par, ITEMS, -ITEM_NS, item, arg);
}
static void *client(void *arg) {
    load_t *l = arg;
    while (!atomic_load(&l->stop)) {
        if (dtp_pool_run(l->rec, l->threads, true, run_body, l) != dnnl_tp_success) abort();
        atomic_fetch_add(&l->runs, 1);
    }
    return NULL;
}

static dtp_pool_t *record_of(const dnnl_tp_threadpool_iface_t *iface) {
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, iface));
    CHECK_OK(dtp_pool_acquire(&rec, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return rec;
}

/* Threads that call in are the budget's, too: while clients wait for their turn they sleep. */
static void load(load_t *l, const dnnl_tp_threadpool_iface_t *iface, int clients, sampler_t *s) {
    pthread_t thread[CLIENTS];
    memset(l, 0, sizeof *l);
    l->rec = record_of(iface);
    l->threads = dtp_pool_num_threads(l->rec);
    for (int i = 0; i < clients; ++i) assert_int_equal(pthread_create(&thread[i], NULL, client, l), 0);
    usleep(20000);
    atomic_store(&s->watch, 1);
    usleep(LOAD_MS * 1000);
    atomic_store(&s->watch, 0);
    atomic_store(&l->stop, 1);
    for (int i = 0; i < clients; ++i) pthread_join(thread[i], NULL);
    dtp_pool_release(l->rec);
}

/* ---- Tests -------------------------------------------------------------------------------------------- */

static void threads_stay_in_the_budget(void **state) {
    (void)state;
    static const int client_counts[] = {1, CLIENTS};
    for (int granted = 1; granted <= 2; ++granted)
        for (int k = 0; k < 2; ++k) {
            /* OpenMP has a team for each caller. */
            if (!strcmp(host->name, "openmp") && client_counts[k] > 1) continue;
            /* On a busy machine a thread that was woken waits for a CPU and counts all the same: then again.
             */
            bool kept = false;
            for (int attempt = 0; attempt < 5 && !kept; ++attempt) {
                void *pool = host->create(granted);
                sampler_t s;
                load_t l;
                sampler_start(&s, granted);
                load(&l, host->iface(pool), client_counts[k], &s);
                sampler_end(&s);
                CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
                host->destroy(pool);
                assert_true(atomic_load(&s.samples) > 0);
                double rate = atomic_load(&s.samples) / (atomic_load(&s.ns) * 1e-9);
                printf(
                    "%s: %d granted, %d clients: %d runs, most inside %d, %.0f samples/s, most runnable %d, "
                    "over budget %.1f %%\n",
                    host->name, granted, client_counts[k], atomic_load(&l.runs), atomic_load(&l.most), rate,
                    atomic_load(&s.most), 100 * over_share(&s));
                assert_true(atomic_load(&l.most) <= granted);
                assert_true(atomic_load(&l.runs) > 0);
                kept = over_share(&s) <= OVER_BUDGET && rate >= MIN_RATE_HZ;
            }
            assert_true(kept);
        }
}

/* The control: a host that computes on one thread more than it says. */
static _Atomic int extra_stop;
static void *extra(void *arg) {
    while (!atomic_load(&extra_stop)) {
    }
    return arg;
}
static void one_thread_more_is_caught(void **state) {
    (void)state;
    void *pool = host->create(2);
    sampler_t s;
    load_t l;
    pthread_t thread;
    atomic_store(&extra_stop, 0);
    sampler_start(&s, 2);
    assert_int_equal(pthread_create(&thread, NULL, extra, NULL), 0);
    load(&l, host->iface(pool), 1, &s);
    atomic_store(&extra_stop, 1);
    pthread_join(thread, NULL);
    sampler_end(&s);
    CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
    host->destroy(pool);
    printf("%s: with one thread too many: over budget %.1f %%\n", host->name, 100 * over_share(&s));
    assert_true(over_share(&s) > 2 * OVER_BUDGET);
}

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static void idle_threads_cost_nothing(void **state) {
    (void)state;
    void *pool = host->create(2);
    sampler_t s = {.granted = 2};
    load_t l;
    load(&l, host->iface(pool), 2, &s);
    usleep(300000); /* what the host's own threads spin */
    int64_t before = cpu_ns();
    usleep(500000);
    int64_t used = cpu_ns() - before;
    printf("%s: idle for 500 ms: %.3f ms of CPU time\n", host->name, (double)used * 1e-6);
    assert_true(used < 5000000); /* 1 % */
    CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
    host->destroy(pool);
}

/* A process that may use one CPU, or a part of one, gets one thread by default. In a child: it cannot be
 * undone. */
static void affinity_is_the_default(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t mask;
        sched_getaffinity(0, sizeof mask, &mask);
        int cpu = 0;
        while (!CPU_ISSET(cpu, &mask)) ++cpu;
        CPU_ZERO(&mask);
        CPU_SET(cpu, &mask);
        _exit(sched_setaffinity(0, sizeof mask, &mask) ? 2 : dtp_measure_num_threads() != 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The same with a quota of half a CPU, where this machine lets us make a control group. */
static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool ok = fputs(text, file) >= 0;
    return fclose(file) == 0 && ok;
}
static void quota_is_the_default(void **state) {
    (void)state;
    static const char group[] = "/sys/fs/cgroup/dnnl_tp_budget_test";
    char path[128];
    if (rmdir(group) && access(group, F_OK) == 0) skip();
    if (syscall(SYS_mkdir, group, 0755)) {
        puts("SKIPPED: no control group can be made here");
        skip();
    }
    snprintf(path, sizeof path, "%s/cpu.max", group);
    bool limited =
        access(path, F_OK) == 0 && write_file(path, "50000 100000"); /* else it is no control group */
    pid_t child = limited ? fork() : -1;
    if (child == 0) {
        char pid[32];
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        if (!write_file(path, pid)) _exit(3);
        _exit(dtp_measure_num_threads() != 1);
    }
    int status = 3 << 8;
    if (child > 0) assert_int_equal(waitpid(child, &status, 0), child);
    rmdir(group);
    if (!limited || WEXITSTATUS(status) == 3) {
        puts("SKIPPED: the control group takes no quota");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv) {
    host = argc == 2 ? host_by_name(argv[1]) : NULL;
    if (!host) {
        fprintf(stderr, "usage: test_integrations_budget HOST\n");
        return 2;
    }
    alarm(110);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinity_is_the_default),    cmocka_unit_test(quota_is_the_default),
        cmocka_unit_test(threads_stay_in_the_budget), cmocka_unit_test(one_thread_more_is_caught),
        cmocka_unit_test(idle_threads_cost_nothing),
    };
    return cmocka_run_group_tests_name(host->name, tests, NULL, NULL);
}
