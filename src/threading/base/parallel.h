/* The one way in which kernels use threads.
 *
 * A kernel gets a `const dtp_parallel_t *` and calls dtp_parallel_for; it knows nothing else about threads.
 * The calling thread always takes part; others join if they are free; the call returns when every chunk is
 * done. */
#ifndef DTP_THREADING_BASE_PARALLEL_H
#define DTP_THREADING_BASE_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtp_pool; /* threading/pools/pool.h */
struct dtp_team;

/* What the loops of one run share. A run with a team copies it there, where joiners find it. */
typedef struct dtp_share {
    _Atomic uint32_t *stop; /* not 0: chunks that nobody has begun are left out; NULL: never */
    int64_t
        deadline_ns; /* CLOCK_MONOTONIC; from then on whoever claims a chunk sets stop to `late`; 0: never */
    uint32_t late;
    const struct dtp_share *outer; /* of the run whose closure this run is in, or NULL: ends with it */
    struct dtp_sleeper *sleeper;   /* woken by who sets stop from outside; NULL: nobody does (sleeper.h) */
    int64_t passes_ns; /* about how long the run takes on one thread, if it calls no foreign code; else 0 */
} dtp_share_t;
/* Of the innermost run in whose work this thread is (and not as a helper of its loops), or NULL. */
extern _Thread_local const dtp_share_t *dtp_share_here __attribute__((tls_model("initial-exec")));

typedef struct dtp_parallel {
    struct dtp_pool *pool; /* NULL: the caller alone */
    int num_threads;       /* participants at most, the caller included; >= 1 */
    struct dtp_team *team; /* run-long joiners of the run this belongs to, or NULL */
    /* What ends the loops; NULL: nothing does. With a team always the team's. */
    dtp_share_t *share;
    const struct dtp_watched *watch; /* notes the threads that share the loops, or NULL */
} dtp_parallel_t;

/* slot: dense index of the participant, 0 <= slot < par->num_threads, never two at once: indexes scratch.
 * [begin, end) never is empty; ranges of one loop are disjoint and cover 0..n. */
typedef void (*dtp_loop_fn_t)(void *arg, int slot, int64_t begin, int64_t end);

/* Of work that somebody watches: who shares its loops (trace/loop.c). Lives as long as the work. */
typedef struct dtp_watched {
    void (*share)(const struct dtp_watched *self, const dtp_parallel_t *par, int64_t n, int64_t grain,
                  dtp_loop_fn_t fn, void *arg); /* par: without the watch */
} dtp_watched_t;

/* Is the run of par over (cancelled, failed, late), so that nobody reads what its loops still compute? For
 * bodies whose iterations are long: they look about every 0.1 ms of work and return early. The deadline is
 * looked at, too, which reads the clock. */
bool dtp_share_over(const dtp_share_t *share);
static inline const dtp_share_t *dtp_share_that_stops(const dtp_share_t *share) {
    return share && share->stop ? share : NULL;
}
static inline const dtp_share_t *dtp_parallel_stop(const dtp_parallel_t *par) { /* NULL: runs to its end */
    return dtp_share_that_stops(par->share);
}
static inline bool dtp_parallel_over(const dtp_parallel_t *par) {
    const dtp_share_t *share = dtp_parallel_stop(par);
    return share && dtp_share_over(share);
}

/* dtp_parallel_for where sharing, or looking at the stop word on the way, is worth a look. */
void dtp_parallel_share(const dtp_parallel_t *par, int64_t n, int64_t grain, dtp_loop_fn_t fn, void *arg);

/* for (int64_t i = 0; i < n; ++i) body(i), in ranges of at least grain iterations (the last may be shorter).
 * With n < 2 * grain or one thread: one call fn(arg, 0, 0, n) on this thread, nothing published.
 * n / grain tells what the loop costs, hence whether threads that sleep are woken for it. Where an iteration
 * is worth many hand-offs, grain 1 hides that: pass grain = -(ns per iteration) instead, and ranges of one
 * iteration are allowed. (With grain 1 the library remembers what the loop took, by fn and n, if that is more.)
 * DTP_GRAIN_UNKNOWN: nothing is known of the cost. arg begins with a uintptr_t, and what the loop took is
 * remembered by that and n; as long as that is not known it counts as a microsecond an iteration. Allocates
 * nothing, cannot fail. In a run that is over (par->share) ranges may be left out: nobody reads its results.
 * So that this is seen soon, long ranges of a run are cut into pieces that take about 0.05 ms, whatever the
 * estimate says; not with a negative grain: such a body calls dtp_parallel_over itself. */
#define DTP_GRAIN_UNKNOWN INT64_MIN
static inline void dtp_parallel_for(const dtp_parallel_t *par, int64_t n, int64_t grain, dtp_loop_fn_t fn,
                                    void *arg) {
    if (n <= 0) return;
    if ((par->num_threads < 2 && !par->share) || (grain > 0 && n / 2 < grain)) fn(arg, 0, 0, n);
    else dtp_parallel_share(par, n, grain, fn, arg);
}

/* Iterations that are worth a hand-off, given the cost of one in nanoseconds (model of the kernel's author).
 */
int64_t dtp_grain(double ns_per_iteration);

#endif
