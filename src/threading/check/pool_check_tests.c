/* The tests of dnnl_tp_pool_check. Each calls the pool as the library would, counts what comes back, and
 * names the promise that was broken. See pool_check.h; the promises stand in dnnl_tp_threadpool.h. */
#include "threading/check/pool_check.h"

#if DTP_CHECK_HAS_THREADS
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_NS = 20000,
    HOLD_LIMIT_NS = 50000000, /* a call that holds gives up then: an inline pool would never let it go */
    BURST = 300,
    CALLERS = 4,
    CALLER_ROUNDS = 12,
    DEPTH = 3,
    FLOOD = 2000,
    HOLDS = -1,
    SLOW_NS = 300000
};

/* ---- What the pool gets to call ---------------------------------------------------------------------- */

static void nested_calls(dtp_batch_t *b);
static void flood(dtp_batch_t *b);
static void count_done(void *batch);

static void body(dtp_batch_t *b, struct dtp_check_node *node) {
    dtp_check_t *c = b->check;
    atomic_fetch_add(&node->calls, 1);
    atomic_fetch_add(&c->progress, 1);
    int inside = atomic_fetch_add(&b->inside, 1) + 1, most = atomic_load(&b->most);
    while (inside > most && !atomic_compare_exchange_weak(&b->most, &most, inside)) {
    }
    atomic_fetch_add(&b->started, 1);
    if (b->before && atomic_load(&b->before->ended) < b->before->n) atomic_fetch_add(&b->early, 1);
    if (c->iface.get_in_parallel && !c->iface.get_in_parallel(c->iface.ctx))
        atomic_fetch_add(&b->not_in_parallel, 1);
    int64_t until = dtp_now_ns() + (b->work_ns < 0 ? HOLD_LIMIT_NS : b->work_ns);
    while (dtp_now_ns() < until && !(b->work_ns < 0 && atomic_load(&b->let_go))) {
        if (b->work_ns < 0) dtp_check_sleep(100000);
        else dtp_pause();
    }
    if (b->slow_last && node == &b->node[b->n - 1]) dtp_check_sleep(b->slow_last);
    if (b->depth) nested_calls(b);
    if (b->floods) flood(b);
    if (b->ends_run) {
        /* A host with one caller at a time is called again when it has come back. */
        while (c->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER && !pthread_equal(pthread_self(), b->giver) &&
               !atomic_load(&b->given))
            dtp_check_sleep(100000);
        c->iface.run_end(c->iface.ctx, b->run, dnnl_tp_success, 0, count_done, b);
        atomic_store(&b->came_back, 1);
    }
    atomic_fetch_sub(&b->inside, 1);
    atomic_fetch_add(&b->ended, 1);
    atomic_fetch_add(&c->progress, 1);
    atomic_fetch_add(&c->kept, 1); /* the last access: the check may end now */
}

/* What the pool passes is looked up among all batches that are alive, so that a wrong argument is not
 * followed. */
static _Atomic int strangers;

static struct dtp_check_node *node_of(const void *arg) {
    struct dtp_check_node *found = NULL;
    pthread_mutex_lock(&dtp_check_batches_lock);
    for (dtp_batch_t *b = dtp_check_batches; b && !found; b = b->next) {
        uintptr_t at = (uintptr_t)arg, first = (uintptr_t)b->node;
        if (at >= first && at < first + (size_t)b->n * sizeof(b->node[0]) &&
            (at - first) % sizeof(b->node[0]) == 0)
            found = &b->node[(at - first) / sizeof(b->node[0])];
    }
    pthread_mutex_unlock(&dtp_check_batches_lock);
    return found;
}

static dtp_batch_t *batch_of(const void *arg) {
    pthread_mutex_lock(&dtp_check_batches_lock);
    dtp_batch_t *b = dtp_check_batches;
    while (b && b != arg) b = b->next;
    pthread_mutex_unlock(&dtp_check_batches_lock);
    return b;
}

void dtp_check_task(void *arg) {
    struct dtp_check_node *node = node_of(arg);
    if (node) body(node->batch, node);
    else atomic_fetch_add(&strangers, 1);
}

void dtp_check_job(void *arg, int i, int n) {
    dtp_batch_t *b = batch_of(arg);
    if (!b) {
        atomic_fetch_add(&strangers, 1);
        return;
    }
    if (n != b->n) {
        atomic_store(&b->seen_n, n);
        atomic_fetch_add(&b->wrong_n, 1);
    }
    if (i >= 0 && i < b->n) body(b, &b->node[i]);
    else atomic_fetch_add(&b->wrong, 1);
}

/* ---- Calling the pool -------------------------------------------------------------------------------- */

static int give(dtp_batch_t *b, int i, void *run) {
    const dnnl_tp_threadpool_iface_t *p = &b->check->iface;
    atomic_fetch_add(&b->check->progress, 1);
    b->node[i].accepted = 1; /* may be called before schedule returns */
    int refused = p->schedule(p->ctx, run, dtp_check_task, &b->node[i]);
    if (refused) b->node[i].accepted = 0;
    else atomic_fetch_add(&b->check->promised, 1);
    return !refused;
}
static int give_all(dtp_batch_t *b, void *run) {
    int accepted = 0;
    for (int i = 0; i < b->n; ++i) accepted += give(b, i, run);
    return accepted;
}
static int run_loop(dtp_batch_t *b) {
    const dnnl_tp_threadpool_iface_t *p = &b->check->iface;
    int refused = p->parallel_for(p->ctx, b->n, dtp_check_job, b);
    if (!refused) atomic_fetch_add(&b->check->promised, b->n);
    return refused;
}

static void nested_calls(dtp_batch_t *b) {
    dtp_batch_t *inner = dtp_check_batch(b->check, 2, SHORT_NS);
    if (!inner) return;
    inner->depth = b->depth - 1;
    inner->nested_loops = b->nested_loops;
    if (b->nested_loops) {
        if (run_loop(inner)) return;
        if (!(b->check->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS) && atomic_load(&inner->ended) < inner->n)
            atomic_fetch_add(&b->early, 1);
    } else {
        give_all(inner, NULL);
    }
}

static void flood(dtp_batch_t *b) {
    dtp_batch_t *more = dtp_check_batch(b->check, b->floods, 0);
    if (more) give_all(more, NULL);
}

/* name NULL: each broken promise has its own name. */
static void judge_tasks(dtp_check_t *c, dtp_batch_t *b, int accepted, const char *name, const char *how) {
    bool all = dtp_check_settle(c, &b->ended, accepted);
    dtp_check_sleep(DTP_CHECK_GRACE_NS);
    if (name && atomic_load(&c->violations)) return; /* another caller has said it */
    int lost = 0, twice = 0, refused = 0;
    for (int i = 0; i < b->n; ++i) {
        int calls = atomic_load(&b->node[i].calls);
        if (b->node[i].accepted) lost += calls == 0, twice += calls > 1;
        else refused += calls > 0;
    }
    int strange = atomic_exchange(&strangers, 0);
    if (strange)
        dtp_check_violation(c, name ? name : "wrong_argument",
                            "fn was called %d times with an argument that was not passed; reproduce: %s",
                            strange, how);
    if ((lost && !strange) || (!all && !strange && !twice && !refused))
        dtp_check_violation(c, name ? name : "task_lost",
                            "%d of %d accepted tasks were never called; reproduce: %s", lost, accepted, how);
    if (twice)
        dtp_check_violation(c, name ? name : "task_twice",
                            "%d of %d tasks were called more than once; reproduce: %s", twice, accepted, how);
    if (refused)
        dtp_check_violation(c, name ? name : "refused_task_called",
                            "schedule answered non-zero %d times and called fn all the same; reproduce: %s",
                            refused, how);
}

static void judge_loop(dtp_check_t *c, dtp_batch_t *b, int result, const char *name, const char *how) {
    bool async = c->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS;
    int ended_at_return = atomic_load(&b->ended);
    if (!result) dtp_check_settle(c, &b->ended, b->n);
    dtp_check_sleep(DTP_CHECK_GRACE_NS);
    if (name && atomic_load(&c->violations)) return;
    int lost = 0, twice = 0;
    for (int i = 0; i < b->n; ++i) {
        int calls = atomic_load(&b->node[i].calls);
        lost += calls == 0;
        twice += calls > 1;
    }
    int strange = atomic_exchange(&strangers, 0);
    if (strange)
        dtp_check_violation(c, name ? name : "wrong_argument",
                            "fn was called %d times with an argument that was not passed; reproduce: %s",
                            strange, how);
    if (atomic_load(&b->wrong_n))
        dtp_check_violation(c, name ? name : "wrong_n", "fn(arg, i, %d) was called for n = %d; reproduce: %s",
                            atomic_load(&b->seen_n), b->n, how);
    if (atomic_load(&b->wrong))
        dtp_check_violation(c, name ? name : "job_outside",
                            "fn was called %d times with i outside 0..%d; reproduce: %s",
                            atomic_load(&b->wrong), b->n - 1, how);
    if (result) {
        if (lost < b->n)
            dtp_check_violation(c, name ? name : "refused_loop_ran",
                                "parallel_for answered %d and ran %d of %d jobs; reproduce: %s", result,
                                b->n - lost, b->n, how);
        return;
    }
    if (lost && !strange)
        dtp_check_violation(c, name ? name : "job_lost", "%d of %d jobs were never called; reproduce: %s",
                            lost, b->n, how);
    if (twice)
        dtp_check_violation(c, name ? name : "job_twice",
                            "%d of %d jobs were called more than once; reproduce: %s", twice, b->n, how);
    if (!async && !lost && ended_at_return < b->n)
        dtp_check_violation(c, name ? name : "returned_early",
                            "parallel_for returned when %d of %d jobs had ended, and the pool does not say "
                            "ASYNCHRONOUS; reproduce: %s",
                            ended_at_return, b->n, how);
}

/* ---- Tasks and loops --------------------------------------------------------------------------------- */

void dtp_check_tasks(dtp_check_t *c) {
    static const int bursts[] = {1, 8, BURST};
    static const char *const how[] = {"call schedule once", "call schedule 8 times in a row",
                                      "call schedule 300 times in a row"};
    if (!c->iface.schedule) return;
    int accepted = 0, most = 0;
    for (int k = 0; k < 3 && !atomic_load(&c->violations); ++k) {
        dtp_check_phase(c, "schedule_blocks", how[k]);
        dtp_batch_t *b = dtp_check_batch(c, bursts[k], SHORT_NS);
        if (!b) return;
        int now = give_all(b, NULL);
        accepted += now;
        judge_tasks(c, b, now, NULL, how[k]);
        if (atomic_load(&b->most) > most) most = atomic_load(&b->most);
    }
    if (!accepted) dtp_check_note(c, "refuses", "schedule refused every task: all work stays on the caller");
    else if (c->threads > 1 && most < 2)
        dtp_check_note(c, "no_concurrency", "the pool says %d threads, no two tasks ran at once", c->threads);
}

void dtp_check_loops(dtp_check_t *c) {
    if (!c->iface.parallel_for) return;
    dtp_check_phase(c, "loop_blocks", "call parallel_for from one thread");
    int counts[] = {1, 2, c->threads, c->threads + 1, 7 * c->threads, BURST}, refused = 0, most = 0;
    enum { LOOPS = sizeof(counts) / sizeof(*counts) };
    for (int k = 0; k < LOOPS && !atomic_load(&c->violations); ++k) {
        dtp_batch_t *b = dtp_check_batch(c, counts[k], k < 4 ? 20 * SHORT_NS : SHORT_NS);
        if (!b) return;
        int result = run_loop(b);
        refused += result != 0;
        char how[64];
        snprintf(how, sizeof(how), "call parallel_for with n = %d", counts[k]);
        judge_loop(c, b, result, NULL, how);
        if (atomic_load(&b->most) > most) most = atomic_load(&b->most);
    }
    if (refused == LOOPS) dtp_check_note(c, "refuses", "parallel_for refused every loop");
    else if (c->threads > 1 && most < 2)
        dtp_check_note(c, "no_concurrency", "the pool says %d threads, no two jobs ran at once", c->threads);
}

/* Every member may be called by several threads at once. */
static void *caller(void *arg) {
    dtp_check_t *c = arg;
    static const char how[] = "call schedule or parallel_for from 4 threads at once";
    for (int round = 0; round < CALLER_ROUNDS && !atomic_load(&c->violations); ++round) {
        dtp_batch_t *tasks = c->iface.schedule ? dtp_check_batch(c, 16, 0) : NULL;
        dtp_batch_t *jobs = c->iface.parallel_for ? dtp_check_batch(c, 16, 0) : NULL;
        if (tasks) judge_tasks(c, tasks, give_all(tasks, NULL), "not_thread_safe", how);
        if (jobs) judge_loop(c, jobs, run_loop(jobs), "not_thread_safe", how);
    }
    return NULL;
}
void dtp_check_callers(dtp_check_t *c) {
    if (c->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER) return;
    dtp_check_phase(c, "not_thread_safe", "call schedule or parallel_for from 4 threads at once");
    pthread_t thread[CALLERS];
    int n = 0;
    while (n < CALLERS && !pthread_create(&thread[n], NULL, caller, c)) ++n;
    for (int i = 0; i < n; ++i) pthread_join(thread[i], NULL);
}

/* ---- Calls from inside ------------------------------------------------------------------------------- */

void dtp_check_nested(dtp_check_t *c) {
    if (c->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER)
        return; /* the library serialises there; this check does not */
    if (c->iface.schedule) {
        static const char how[] = "call schedule from inside a task, three deep";
        dtp_check_phase(c, "schedule_in_task_blocks", how);
        dtp_batch_t *b = dtp_check_batch(c, c->threads, SHORT_NS);
        if (!b) return;
        b->depth = DEPTH;
        judge_tasks(c, b, give_all(b, NULL), "schedule_in_task", how);

        /* A queue of limited length that blocks when it is full has nobody to empty it when all workers add
         * to it. */
        static const char full[] = "call schedule 2000 times from inside a task on every worker at once";
        dtp_check_phase(c, "schedule_blocks_when_full", full);
        b = dtp_check_batch(c, c->threads, SHORT_NS);
        if (!b) return;
        b->floods = FLOOD;
        judge_tasks(c, b, give_all(b, NULL), "schedule_blocks_when_full", full);
    }
    if (c->iface.parallel_for && !c->iface.schedule && !(c->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS)) {
        dtp_batch_t *b = dtp_check_batch(c, 2 * c->threads, SHORT_NS);
        if (!b) return;
        if (c->flags & DNNL_TP_THREADPOOL_NESTABLE) {
            static const char how[] = "call parallel_for from inside a job, three deep";
            dtp_check_phase(c, "nested_loop_hangs", how);
            b->depth = DEPTH;
            b->nested_loops = true;
            judge_loop(c, b, run_loop(b), "nested_loop", how);
        } else if (c->iface.get_in_parallel) {
            static const char how[] = "call get_in_parallel inside a job of parallel_for";
            dtp_check_phase(c, "in_parallel_blocks", how);
            int outside = c->iface.get_in_parallel(c->iface.ctx), result = run_loop(b);
            dtp_check_settle(c, &b->ended, result ? 0 : b->n);
            if (!result && atomic_load(&b->not_in_parallel))
                dtp_check_violation(
                    c, "in_parallel_wrong",
                    "get_in_parallel answered 0 inside %d of %d jobs, and the pool is not NESTABLE; "
                    "reproduce: %s",
                    atomic_load(&b->not_in_parallel), b->n, how);
            if (outside)
                dtp_check_violation(
                    c, "in_parallel_always",
                    "get_in_parallel answered %d on a thread that is not the pool's: every loop would "
                    "stay on its caller; reproduce: call it from a fresh thread",
                    outside);
        } else {
            dtp_check_note(c, "nesting",
                           "neither NESTABLE nor get_in_parallel: a job that calls the library may hang");
        }
    }
}

/* All workers call the library at once: its loops, here those of a product of matrices of ones, on this pool. */
enum { SIDE = 256 };
typedef struct {
    dtp_check_t *check;
    dnnl_tp_threadpool_iface_t pool;
    _Atomic int ended, wrong;
    float ones[SIDE * SIDE];
} saturation_t;
static int wrong_elements(const saturation_t *s) {
    float *product = calloc(SIDE * SIDE, sizeof *product);
    dnnl_tp_status_t status = product ? dnnl_tp_sgemm_tp('N', 'N', SIDE, SIDE, SIDE, 1.0f, s->ones, SIDE,
                                                         s->ones, SIDE, 0.0f, product, SIDE, &s->pool)
                                      : dnnl_tp_out_of_memory;
    int wrong = status != dnnl_tp_success && status != dnnl_tp_out_of_memory;
    for (int i = 0; status == dnnl_tp_success && i < SIDE * SIDE; ++i) wrong += product[i] != SIDE;
    free(product);
    return wrong;
}
static void saturate(void *arg) {
    saturation_t *s = arg;
    for (int round = 0; round < 3; ++round) {
        atomic_fetch_add(&s->wrong, wrong_elements(s));
        atomic_fetch_add(&s->check->progress, 1);
    }
    atomic_fetch_add(&s->ended, 1);
}
static void saturate_job(void *arg, int i, int n) {
    (void)i, (void)n;
    saturate(arg);
}

void dtp_check_saturation(dtp_check_t *c) {
    static const char how[] = "run loops of the library inside as many tasks or jobs as the pool has threads";
    if (c->flags & DNNL_TP_THREADPOOL_SINGLE_CALLER) return;
    /* A form-P pool that cannot tell its own threads makes no such promise (noted by the test of nested
     * calls). */
    if (!c->iface.schedule && !c->iface.get_in_parallel && !(c->flags & DNNL_TP_THREADPOOL_NESTABLE)) return;
    dtp_check_phase(c, "hangs_when_workers_call_in", how);
    saturation_t *s = calloc(1, sizeof(*s)); /* stays when the pool hangs */
    if (!s) return;
    s->check = c;
    s->pool = c->iface;
    for (int i = 0; i < SIDE * SIDE; ++i) s->ones[i] = 1.0f;
    int accepted = 0;
    const dnnl_tp_threadpool_iface_t *p = &c->iface;
    for (int i = 0; i < 2 * c->threads && p->schedule; ++i)
        accepted += p->schedule(p->ctx, NULL, saturate, s) == 0;
    if (!p->schedule && p->parallel_for(p->ctx, 2 * c->threads, saturate_job, s) == 0)
        accepted = 2 * c->threads;
    bool all = dtp_check_settle(c, &s->ended, accepted);
    if (all && accepted == 0) saturate(s);
    if (!all || atomic_load(&s->wrong)) {
        dtp_check_violation(c, all ? "loops_go_wrong" : "hangs_when_workers_call_in",
                            "%d of %d callers came back, %d elements were wrong; reproduce: %s",
                            atomic_load(&s->ended), accepted, atomic_load(&s->wrong), how);
        return;
    }
    if (dnnl_tp_threadpool_quiesce(&c->iface, -1) != dnnl_tp_success) return; /* it stays */
    free(s);
}

/* ---- Order, waiting, runs ---------------------------------------------------------------------------- */

void dtp_check_order(dtp_check_t *c) {
    static const char how[] = "call parallel_for with n = 4 fifty times in a row";
    if (!c->iface.parallel_for || !(c->flags & DNNL_TP_THREADPOOL_IN_ORDER)) return;
    dtp_check_phase(c, "loop_blocks", how);
    enum { LOOPS = 50 };
    dtp_batch_t *before = NULL, *batch[LOOPS];
    int n = 0, early = 0;
    for (; n < LOOPS; ++n) {
        dtp_batch_t *b = batch[n] = dtp_check_batch(c, 4, SHORT_NS);
        if (!b) break;
        b->before = before;
        b->slow_last = SLOW_NS; /* sleeps, so that the next loop gets its chance on one CPU, too */
        if (run_loop(b)) break;
        before = b;
    }
    for (int k = 0; k < n; ++k) {
        dtp_check_settle(c, &batch[k]->ended, batch[k]->n);
        early += atomic_load(&batch[k]->early);
    }
    if (early)
        dtp_check_violation(
            c, "out_of_order",
            "%d jobs began before the loop before theirs had ended, and the pool says IN_ORDER; "
            "reproduce: %s",
            early, how);
}

void dtp_check_wait(dtp_check_t *c) {
    const dnnl_tp_threadpool_iface_t *p = &c->iface;
    if (!p->wait) return;
    enum { WAIT_NS = 5000000, TOO_LONG_NS = 1000000000, ATTEMPTS = 3 /* this thread may wait for a CPU */ };
    static const char poll[] = "schedule a task of 50 ms, call wait with timeouts 0 and 5 ms meanwhile";
    dtp_check_phase(c, "wait_ignores_timeout", poll);
    bool async = c->flags & DNNL_TP_THREADPOOL_ASYNCHRONOUS,
         was_seen = false; /* the task, as long as it held */
    int64_t took = INT64_MAX;
    for (int i = 0; i < ATTEMPTS && (!was_seen || took > TOO_LONG_NS); ++i) {
        dtp_batch_t *b = dtp_check_batch(c, 1, HOLDS);
        if (!b) return;
        const bool given = p->schedule ? give(b, 0, NULL) : async && run_loop(b) == 0;
        if (given) dtp_check_settle(c, &b->started, 1);
        const int64_t begin = dtp_now_ns();
        const int polled = p->wait(p->ctx, 0), timed = p->wait(p->ctx, WAIT_NS);
        took = dtp_now_ns() - begin;
        const bool still_there = !atomic_load(&b->ended);
        if (given && still_there && (polled == 0 || timed == 0))
            dtp_check_violation(c, "wait_says_idle",
                                "wait answered 0 while a task had not ended; reproduce: %s", poll);
        was_seen = still_there || !given;
        atomic_store(&b->let_go, 1);
    }
    if (took > TOO_LONG_NS)
        dtp_check_violation(c, "wait_ignores_timeout",
                            "two waits of 5 ms together took %lld ms; reproduce: %s",
                            (long long)(took / 1000000), poll);
    if (atomic_load(&c->violations)) return;
    static const char all[] = "give the pool 50 tasks, then call wait without a timeout";
    dtp_check_phase(c, "wait_hangs", all);
    for (int i = 0; i < ATTEMPTS && !atomic_load(&c->violations); ++i) {
        dtp_batch_t *many = dtp_check_batch(c, 50, SHORT_NS);
        if (!many) return;
        many->slow_last = 60 * SLOW_NS;
        int accepted = p->schedule ? give_all(many, NULL) : async && run_loop(many) == 0 ? many->n : 0;
        int answer = p->wait(p->ctx, -1), ended = atomic_load(&many->ended);
        if (answer < 0) dtp_check_note(c, "wait", "wait answered %d", answer);
        else if (answer || ended < accepted)
            dtp_check_violation(
                c, "wait_returns_early",
                "wait without a timeout answered %d when %d of %d tasks had ended; reproduce: %s", answer,
                ended, accepted, all);
        dtp_check_settle(c, &many->ended, accepted);
        if (answer < 0) return;
    }
}

static void count_done(void *arg) {
    dtp_batch_t *b = arg;
    atomic_fetch_add(&b->check->progress, 1);
    atomic_fetch_add(&b->done, 1);
}
static void judge_done(dtp_check_t *c, dtp_batch_t *b, const char *how) {
    dtp_check_settle(c, &b->done, 1);
    dtp_check_sleep(DTP_CHECK_GRACE_NS);
    int done = atomic_load(&b->done);
    if (done != 1)
        dtp_check_violation(c, done ? "done_twice" : "done_not_called",
                            "run_end called done %d times; reproduce: %s", done, how);
}

void dtp_check_runs(dtp_check_t *c) {
    const dnnl_tp_threadpool_iface_t *p = &c->iface;
    if (!p->run_begin || !p->run_end) return;
    static const char sync[] =
        "run_begin, schedule 6 tasks with its cookie, run_end with may_block = 1; 20 times";
    dtp_check_phase(c, "run_end_hangs", sync);
    for (int k = 0; k < 20 && !atomic_load(&c->violations); ++k) {
        void *run = NULL;
        dtp_batch_t *b = dtp_check_batch(c, 6, k % 2 ? SHORT_NS : 0);
        if (!b) return;
        if (p->run_begin(p->ctx, (uint64_t)k + 1, &run)) {
            dtp_check_note(c, "refuses", "run_begin refused a run");
            return;
        }
        int accepted = p->schedule ? give_all(b, run) : 0;
        p->run_end(p->ctx, run, dnnl_tp_success, 1, count_done, b);
        judge_done(c, b, sync);
        judge_tasks(c, b, accepted, NULL, sync);
    }
    /* The run of an asynchronous submission ends in a task of its own: run_end must not wait for that task.
     */
    static const char inside[] = "call run_end with may_block = 0 from inside a task of that run";
    dtp_check_phase(c, "run_end_blocks", inside);
    void *run = NULL;
    dtp_batch_t *b = dtp_check_batch(c, 1, SHORT_NS);
    if (!b || !p->schedule || p->run_begin(p->ctx, 21, &run)) return;
    b->ends_run = true;
    b->run = run;
    b->giver = pthread_self();
    const bool accepted = give(b, 0, run);
    atomic_store(&b->given, 1);
    if (!accepted) p->run_end(p->ctx, run, dnnl_tp_success, 0, count_done, b);
    if (b->node[0].accepted && !dtp_check_settle(c, &b->came_back, 1)) {
        dtp_check_violation(c, "run_end_blocks", "run_end did not come back; reproduce: %s", inside);
        return;
    }
    judge_done(c, b, inside);
}

#endif
