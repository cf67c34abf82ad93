/* Whether the machine let a row alone: a thread on each processor sleeps and notes how late it wakes. A hypervisor that
 * takes a processor away shows there, and so do other programs. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/timing.h"
#include "pool/virtual_cores/virtual_cores.h"

enum { NAP_NS = 2000000, LATE_NS = 1000000, MOST_LATE_NS = 8000000 };
static const double LATE_SHARE = 0.05; /* of the row's time, on one processor */
static const double OWN_SHARE = 0.5;   /* of all processors: who computes so much is late by itself */

typedef struct {
    pthread_t thread;
    int64_t late, most;
} watcher_t;
static watcher_t watcher[CPU_SETSIZE];
static int n_watchers;
static _Atomic bool over;
static int64_t began, began_cpu;

static int64_t own_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *watch(void *arg) {
    watcher_t *w = arg;
    for (int64_t last = bd_now_ns(), now; !atomic_load(&over); last = now) {
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        now = bd_now_ns();
        const int64_t late = now - last - NAP_NS;
        if (late > LATE_NS) w->late += late;
        if (late > w->most) w->most = late;
    }
    return NULL;
}

void vc_watch_begin(void) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all)) CPU_ZERO(&all);
    atomic_store(&over, false);
    n_watchers = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &all)) continue;
        pthread_attr_t attr;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        watcher_t *w = &watcher[n_watchers++];
        w->late = w->most = 0;
        if (pthread_attr_init(&attr) || pthread_attr_setaffinity_np(&attr, sizeof one, &one) ||
            pthread_create(&w->thread, &attr, watch, w))
            abort();
        pthread_attr_destroy(&attr);
    }
    began = bd_now_ns();
    began_cpu = own_cpu_ns();
}

bool vc_watch_end(void) {
    const double wall = (double)(bd_now_ns() - began);
    const bool own = (double)(own_cpu_ns() - began_cpu) > OWN_SHARE * wall * n_watchers;
    bool calm = true;
    atomic_store(&over, true);
    for (int i = 0; i < n_watchers; ++i) {
        pthread_join(watcher[i].thread, NULL);
        calm &= watcher[i].most <= MOST_LATE_NS && (double)watcher[i].late <= LATE_SHARE * wall;
    }
    return calm || own;
}
