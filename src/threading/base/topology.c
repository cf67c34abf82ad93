/* What the machine grants this process: CPUs of the affinity mask, cgroup quota, rate of the tick counter.
 * The process default of the thread count is read once, and again whenever a pool is created (files are
 * slow). Next: record.c. */
#include "threading/base/topology.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/base.h"
#include "threading/base/futex.h"

_Atomic int64_t dtp_ticks_per_us = 1000;
static _Atomic int user_num_threads, measured_num_threads;

/* Both clocks at one moment: the pair that was read in the shortest time, because a thread may lose its CPU
 * between the two. */
static void read_clocks(int64_t *ns, int64_t *ticks) {
    enum { TRIES = 8 };
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < TRIES; ++i) {
        const int64_t begin = dtp_ticks(), now = dtp_now_ns(), took = dtp_ticks() - begin;
        if (took >= shortest) continue;
        shortest = took;
        *ns = now;
        *ticks = begin + took / 2;
    }
}

int64_t dtp_measure_ticks_per_us(int64_t sample_ns) {
    int64_t ns0 = 0, t0 = 0, ns1 = 0, t1 = 0;
    read_clocks(&ns0, &t0);
    do read_clocks(&ns1, &t1);
    while (ns1 - ns0 < sample_ns);
    return (t1 - t0) * 1000 / (ns1 - ns0);
}

void dtp_ticks_init(void) {
#if DTP_X64
    enum { SAMPLE_NS = 200000 };
    static _Atomic int done;
    if (atomic_load_explicit(&done, memory_order_acquire)) return;
    int64_t rate = dtp_measure_ticks_per_us(SAMPLE_NS);
    if (rate > 0) atomic_store_explicit(&dtp_ticks_per_us, rate, memory_order_relaxed);
    atomic_store_explicit(&done, 1, memory_order_release);
#endif
}

/* First number of a small file; false if it cannot be read. "max" and other words give -1. */
static bool read_numbers(const char *path, double *first, double *second) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    char a[32] = "", b[32] = "";
    int got = fscanf(file, "%31s %31s", a, b);
    fclose(file);
    if (got < 1) return false;
    char *end;
    *first = strtod(a, &end);
    if (end == a) *first = -1;
    *second = got > 1 ? strtod(b, NULL) : -1;
    return true;
}

/* CPUs that one cgroup directory grants; 0 = no limit said. */
static double quota_of(const char *root, const char *path) {
    char name[512];
    double quota, period;
    snprintf(name, sizeof(name), "%s%s/cpu.max", root, path);
    if (read_numbers(name, &quota, &period)) return quota > 0 && period > 0 ? quota / period : 0;
    double unused;
    snprintf(name, sizeof(name), "%s/cpu%s/cpu.cfs_quota_us", root, path);
    if (!read_numbers(name, &quota, &unused)) return 0;
    snprintf(name, sizeof(name), "%s/cpu%s/cpu.cfs_period_us", root, path);
    if (!read_numbers(name, &period, &unused)) return 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* Is cpu one of these, which commas separate? Not cpuset, not cpuacct. */
static bool names_cpu(const char *controllers) {
    for (const char *c = controllers; c; c = strchr(c, ','), c += c != NULL)
        if (strncmp(c, "cpu", 3) == 0 && (c[3] == ',' || c[3] == 0)) return true;
    return false;
}

double dtp_cpu_quota_in(const char *root, const char *groups) {
    double best = 0;
    /* The process' own group and all groups above it (v2 line "0::/path", v1 line "n:cpu,...:/path"). */
    FILE *file = fopen(groups, "re");
    char line[512];
    while (file && fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        ++controllers;
        if (*controllers && !names_cpu(controllers)) continue;
        path[strcspn(path, "\n")] = 0;
        for (;;) {
            if (strcmp(path, "/") == 0) *path = 0;
            double quota = quota_of(root, path);
            if (quota > 0 && (best == 0 || quota < best)) best = quota;
            char *slash = strrchr(path, '/');
            if (!slash) break;
            *slash = 0;
        }
    }
    if (file) fclose(file);
    return best;
}

double dtp_cpu_quota(void) { return dtp_cpu_quota_in("/sys/fs/cgroup", "/proc/self/cgroup"); }

int dtp_threads_granted(int cpus, double quota) {
    int n = cpus;
    if (quota > 0 && quota < n) {
        n = (int)quota;
        n += n < quota;
    }
    return n < 1 ? 1 : n > DTP_MAX_THREADS ? DTP_MAX_THREADS : n;
}

int dtp_affinity_cpus(int *cpus, int capacity) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n > 0 ? (int)n : 1;
    }
    int count = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) {
            if (count < capacity) cpus[count] = i;
            ++count;
        }
    return count > 0 ? count : 1;
}

void dtp_set_process_num_threads(int num_threads) {
    atomic_store_explicit(&user_num_threads, num_threads, memory_order_relaxed);
}

int dtp_measure_num_threads(void) {
    int n = dtp_threads_granted(dtp_affinity_cpus(NULL, 0), dtp_cpu_quota());
    atomic_store_explicit(&measured_num_threads, n, memory_order_relaxed);
    return n;
}

int dtp_process_num_threads(void) {
    int user = atomic_load_explicit(&user_num_threads, memory_order_relaxed);
    if (user > 0) return user < DTP_MAX_THREADS ? user : DTP_MAX_THREADS;
    int measured = atomic_load_explicit(&measured_num_threads, memory_order_relaxed);
    return measured > 0 ? measured : dtp_measure_num_threads();
}
