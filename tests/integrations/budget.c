/* The hard budget: while many callers load a pool of W threads, the process never computes on more than W.
 * All threads are sampled at 1 kHz and more; a pool that has one thread more than it says must be caught.
 * Idle threads cost nothing.
 *
 * A thread that was woken and one that is about to sleep count while they wait for a CPU, so other programs
 * spoil samples, and so does a hypervisor that takes a CPU away. The windows of 10 ms that they spoil least decide: half of
 * them on a machine where others use little, else a tenth. A pool with a thread too many has none that look good.
 *   test_integrations_budget HOST          (see hosts.h; builtin: the library's own pool)     Next: tests/integrations/adapters.c */
#include "support/check.h"

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
#include "threading/base/futex.h"
#include "threading/streams/stream_attr.h"
#include "threading/pools/record.h"
#include "threading/base/topology.h"
#include "threading/check/runnable.h"

enum { CLIENTS = 4, LOOPS = 20, ITEMS = 8, ITEM_NS = 20000, MIN_RATE_HZ = 1000 };
enum { WINDOW_NS = 10000000, WINDOWS = 40, MOST_WINDOWS = 1000 };
enum { BEST_ALONE = 2, BEST_BESIDE = 10 }; /* one in so many windows decides */
/* Share of the samples that may see one more: a caller whose run is over, or who hands its ticket on, goes to
 * sleep only when it gets a CPU again; 1 to 3 % of the samples, up to 9 % where callers wake each other (hosts with
 * runs). A thread too many is in all of them. */
static const double OVER_BUDGET = 0.1;
/* A helper of oneTBB that finds nothing to do offers its CPU to others a hundred times before it sleeps: beside
 * callers that compute, each time for a time slice. */
enum { RETIRE_US = 500000 };
static const double MOST_CPUS = 1.02; /* for each thread granted, in the long run */
static const double FOREIGN = 0.2;    /* CPUs that other programs may use where half of the windows decide */

static const host_t *host;

/* The library's own pool as a host. */
static void *builtin_create(int threads) {
    dnnl_tp_threadpool_t pool;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = threads};
    CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
    return pool;
}
static const dnnl_tp_threadpool_iface_t *builtin_iface(void *pool) {
    const dnnl_tp_threadpool_iface_t *iface;
    CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
    return iface;
}
static void builtin_destroy(void *pool) { CHECK_OK(dnnl_tp_threadpool_destroy(pool)); }
static const host_t host_builtin = {
    .name = "builtin", .create = builtin_create, .iface = builtin_iface, .destroy = builtin_destroy};

/* ---- Sampler ----------------------------------------------------------------------------------------- */

typedef struct {
    pthread_t thread;
    _Atomic int stop, windows; /* windows of at least MIN_RATE_HZ so far */
    double over[MOST_WINDOWS]; /* share of the samples */
    int granted, most;
} sampler_t;

static void *sample(void *arg) {
    sampler_t *s = arg;
    while (!atomic_load(&s->stop)) {
        int samples = 0, over = 0, n = atomic_load(&s->windows);
        int64_t began = dtp_now_ns(), ended;
        do {
            int now = dtp_runnable_threads();
            ++samples;
            over += now > s->granted;
            if (now > s->most) s->most = now;
            usleep(200);
            ended = dtp_now_ns();
        } while (ended < began + WINDOW_NS);
        if (n == MOST_WINDOWS || samples < (double)(ended - began) * 1e-9 * MIN_RATE_HZ) continue;
        s->over[n] = (double)over / samples;
        atomic_store(&s->windows, n + 1);
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

static int64_t cpu_ns_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static int64_t cpu_ns(void) { return cpu_ns_of(CLOCK_PROCESS_CPUTIME_ID); }
static int64_t sampler_cpu_ns(const sampler_t *s) {
    clockid_t clock;
    return pthread_getcpuclockid(s->thread, &clock) ? 0 : cpu_ns_of(clock);
}
/* CPU time of the whole machine, with what a hypervisor gave to others; 0 where it is not told. */
static int64_t machine_cpu_ns(void) {
    FILE *file = fopen("/proc/stat", "r");
    long long user = 0, nice = 0, system = 0, stolen = 0;
    if (file && fscanf(file, "cpu %lld %lld %lld %*d %*d %*d %*d %lld", &user, &nice, &system, &stolen) != 4)
        user = nice = system = stolen = 0;
    if (file) fclose(file);
    return (user + nice + system + stolen) * (1000000000 / sysconf(_SC_CLK_TCK));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
/* Share of the samples over budget in the best windows. */
static double over_budget(const sampler_t *s, bool alone) {
    double sorted[MOST_WINDOWS], sum = 0;
    int n = atomic_load(&s->windows), count = n / (alone ? BEST_ALONE : BEST_BESIDE);
    memcpy(sorted, s->over, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int i = 0; i < count; ++i) sum += sorted[i];
    return sum / count;
}

/* ---- Load -------------------------------------------------------------------------------------------- */

typedef struct {
    dtp_pool_t *rec;
    int threads;
    _Atomic int stop, runs, inside, most;
    double cpus; /* that all threads but the sampler used */
    bool alone;  /* other programs used little */
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
static double load(load_t *l, const dnnl_tp_threadpool_iface_t *iface, int clients, int granted,
                   int most_windows) {
    pthread_t thread[CLIENTS];
    sampler_t s;
    double over, foreign;
    bool enough;
    memset(l, 0, sizeof *l);
    l->rec = record_of(iface);
    l->threads = dtp_pool_num_threads(l->rec);
    for (int i = 0; i < clients; ++i) assert_int_equal(pthread_create(&thread[i], NULL, client, l), 0);
    usleep(clients == granted && clients > 1 ? RETIRE_US : 20000);
    sampler_start(&s, granted);
    int64_t began = dtp_now_ns(), own = cpu_ns(), all = machine_cpu_ns(), sampling = sampler_cpu_ns(&s);
    do {
        usleep(WINDOWS / 2 * WINDOW_NS / 1000);
        int n = atomic_load(&s.windows);
        enough = n >= WINDOWS;
        foreign = (double)(machine_cpu_ns() - all - (cpu_ns() - own)) / (double)(dtp_now_ns() - began);
        over = enough ? over_budget(&s, foreign <= FOREIGN) : 1;
    } while (!enough || (over > OVER_BUDGET && atomic_load(&s.windows) < most_windows));
    l->alone = foreign <= FOREIGN;
    l->cpus = (double)(cpu_ns() - own - (sampler_cpu_ns(&s) - sampling)) / (double)(dtp_now_ns() - began);
    sampler_end(&s);
    atomic_store(&l->stop, 1);
    for (int i = 0; i < clients; ++i) pthread_join(thread[i], NULL);
    dtp_pool_release(l->rec);
    printf(
        "%s: %d granted, %d clients: %d runs, most inside %d, most runnable %d, over budget %.1f %% of the "
        "best %s of %d windows, %.3f CPUs\n",
        host->name, granted, clients, atomic_load(&l->runs), atomic_load(&l->most), s.most, 100 * over,
        l->alone ? "half" : "tenth", atomic_load(&s.windows), l->cpus);
    return over;
}
/* OpenMP has a team for each caller. */
static int most_clients(void) { return strcmp(host->name, "openmp") ? CLIENTS : 1; }

/* ---- Tests ------------------------------------------------------------------------------------------- */

static void threads_stay_in_the_budget(void **state) {
    (void)state;
    static const struct {
        int granted, clients;
    } cases[] = {{1, 1}, {1, CLIENTS}, {2, 1}, {2, 2}, {2, CLIENTS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const int granted = cases[i].granted, clients = cases[i].clients;
        if (clients > most_clients()) continue;
        void *pool = host->create(granted);
        load_t l;
        double over = load(&l, host->iface(pool), clients, granted, MOST_WINDOWS);
        CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
        host->destroy(pool);
        assert_true(atomic_load(&l.most) <= granted);
        assert_true(atomic_load(&l.runs) > 0);
        /* A client that lost its CPU between two runs seems gone: a helper is called for the other one. */
        if (clients != 2 || l.alone) assert_true(over <= OVER_BUDGET);
        assert_true(l.cpus <= MOST_CPUS * granted);
    }
}

/* The control: a host that computes on one thread more than it says. */
static _Atomic int extra_stop;
static void *extra(void *arg) {
    while (!atomic_load(&extra_stop)) {
    }
    return arg;
}
/* Between two runs a client may sleep until a timer rings (the time that a helper would need to come). Where a
 * hypervisor has taken the CPUs away that takes many windows, in which only the extra thread is runnable: those are
 * the best ones then, and the thread is looked for again. */
static void one_thread_more_is_caught(void **state) {
    (void)state;
    enum { ATTEMPTS = 5 };
    void *pool = host->create(1);
    load_t l = {.alone = false};
    pthread_t thread;
    double over = 0;
    atomic_store(&extra_stop, 0);
    assert_int_equal(pthread_create(&thread, NULL, extra, NULL), 0);
    for (int i = 0; i < ATTEMPTS && !l.alone && over <= 2 * OVER_BUDGET; ++i)
        over = load(&l, host->iface(pool), most_clients(), 1, 4 * WINDOWS);
    atomic_store(&extra_stop, 1);
    pthread_join(thread, NULL);
    CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
    host->destroy(pool);
    assert_true(over > 2 * OVER_BUDGET);
}

static void idle_threads_cost_nothing(void **state) {
    (void)state;
    void *pool = host->create(2);
    load_t l;
    load(&l, host->iface(pool), most_clients() < 2 ? 1 : 2, 2, WINDOWS);
    usleep(300000); /* what the host's own threads spin */
    enum { ATTEMPTS = 4, MOST_NS = 5000000 /* 1 % */ };
    int64_t used = MOST_NS; /* a hypervisor may count what it takes away as ours */
    for (int i = 0; i < ATTEMPTS && used >= MOST_NS; ++i) {
        const int64_t before = cpu_ns();
        usleep(500000);
        used = cpu_ns() - before;
        printf("%s: idle for 500 ms: %.3f ms of CPU time\n", host->name, (double)used * 1e-6);
    }
    assert_true(used < MOST_NS);
    CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
    host->destroy(pool);
}

/* A process that may use one CPU, or a part of one, gets one thread by default, and stays with it. In a child:
 * it cannot be undone. */
enum { CHILD_OK, CHILD_DEFAULT, CHILD_MORE, CHILD_OVER, CHILD_SPINS, CHILD_LIMIT };
static int child_of_one_cpu(void) {
    if (dtp_measure_num_threads() != 1) return CHILD_DEFAULT;
    void *pool = host->create(dtp_measure_num_threads());
    load_t l;
    const double over = load(&l, host->iface(pool), most_clients(), 1, MOST_WINDOWS);
    CHECK_OK(dnnl_tp_threadpool_quiesce(host->iface(pool), -1));
    host->destroy(pool);
    fflush(stdout);
    return atomic_load(&l.most) > 1 ? CHILD_MORE : over > OVER_BUDGET ? CHILD_OVER : CHILD_OK;
}
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
        _exit(sched_setaffinity(0, sizeof mask, &mask) ? CHILD_LIMIT : child_of_one_cpu());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

/* The same with a quota of half a CPU, where this machine lets us make a control group; there nobody spins on a
 * pool of two. What is read from the files of other groups: tests/unit/test_topology.c. */
static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool ok = fputs(text, file) >= 0;
    return fclose(file) == 0 && ok;
}
static bool group_write(const char *group, const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", group, file);
    return access(path, F_OK) == 0 && write_file(path, text); /* else it is no control group */
}
static int child_of_half_a_cpu(const char *group) {
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (!group_write(group, "cgroup.procs", pid)) return CHILD_LIMIT;
    void *pool = host->create(2);
    dtp_pool_t *rec = record_of(host->iface(pool));
    const bool spins = rec->spin_allowed;
    dtp_pool_release(rec);
    host->destroy(pool);
    return spins ? CHILD_SPINS : child_of_one_cpu();
}
static void quota_is_the_default(void **state) {
    (void)state;
    static const char *const groups[] = {"/sys/fs/cgroup/dnnl_tp_budget_test",
                                         "/sys/fs/cgroup/cpu/dnnl_tp_budget_test"}; /* version 2, version 1 */
    for (int i = 0; i < 2; ++i) {
        const char *group = groups[i];
        if ((rmdir(group) && access(group, F_OK) == 0) || syscall(SYS_mkdir, group, 0755)) continue;
        const bool limited = i ? group_write(group, "cpu.cfs_period_us", "100000") &&
                                     group_write(group, "cpu.cfs_quota_us", "50000")
                               : group_write(group, "cpu.max", "50000 100000");
        pid_t child = limited ? fork() : -1;
        if (child == 0) _exit(child_of_half_a_cpu(group));
        int status = CHILD_LIMIT << 8;
        if (child > 0) assert_int_equal(waitpid(child, &status, 0), child);
        for (int again = 0; rmdir(group) && again < 100; ++again) usleep(10000);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == CHILD_LIMIT) continue;
        assert_int_equal(WEXITSTATUS(status), CHILD_OK);
        return;
    }
    puts("SKIPPED: no control group with a quota can be made here");
    skip();
}

int main(int argc, char **argv) {
    if (argc == 2) host = strcmp(argv[1], host_builtin.name) ? host_by_name(argv[1]) : &host_builtin;
    if (!host) {
        fprintf(stderr, "usage: test_integrations_budget HOST\n");
        return 2;
    }
    alarm(580);
    setpriority(PRIO_PROCESS, 0, -20); /* where it is allowed: other programs then disturb little */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinity_is_the_default),    cmocka_unit_test(quota_is_the_default),
        cmocka_unit_test(threads_stay_in_the_budget), cmocka_unit_test(one_thread_more_is_caught),
        cmocka_unit_test(idle_threads_cost_nothing),
    };
    return cmocka_run_group_tests_name(host->name, tests, NULL, NULL);
}
