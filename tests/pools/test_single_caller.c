/* Hosts that can be entered by one thread at a time (SINGLE_CALLER): schedule, parallel_for,
 * run_begin and run_end never see two, whatever the runs do, and nobody waits for ever: not a
 * run in a callback, in a closure, in a call that the host makes, on the host's only worker, nor
 * one that ends while another one begins. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/primitive/engine.h"
#include "support/check.h"
#include "support/streams.h"
#include "support/watchdog.h"
#include "threading/pools/pool.h"

/* ---- The host -------------------------------------------------------------------------------- */

typedef enum {
    BY_SCHEDULE,
    BY_SCHEDULE_INSIDE, /* calls what waits first, now and then, inside schedule */
    BY_ASYNC_LOOPS,
    BY_LOOPS, /* synchronous; its caller works */
    FORMS
} form_t;
/* When run_end says done. */
typedef enum { DONE_AT_ONCE, DONE_BY_ANOTHER, DONE_IN_NEXT_CALL, DONES } done_t;

typedef struct call {
    struct call *next;
    dnnl_tp_task_fn_t fn; /* or: */
    dnnl_tp_chunk_fn_t job;
    void *arg;
    int i, n;
    _Atomic int *left; /* of the loop */
} call_t;

typedef struct {
    dnnl_tp_threadpool_iface_t iface;
    form_t form;
    done_t done;
    int num_threads, workers;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    call_t *first, **last, *dones; /* under the mutex */
    bool stop;
    pthread_t thread[5];
    _Atomic uintptr_t inside;
    _Atomic int complaints, begun, ended, waits_asked, again;
    unsigned seed;
} host_t;
static _Thread_local host_t *at_work; /* the host in whose call this thread is */

/* 0: nobody was inside; 1: this thread was; 2: another one was. Stays a moment. */
static int enter(host_t *h) {
    const uintptr_t me = (uintptr_t)pthread_self();
    uintptr_t who = 0;
    int how = 0;
    if (!atomic_compare_exchange_strong(&h->inside, &who, me)) how = who == me ? 1 : 2;
    if (how == 1) atomic_fetch_add(&h->again, 1);
    if (how == 2) atomic_fetch_add(&h->complaints, 1);
    const unsigned n = __atomic_fetch_add(&h->seed, 1, __ATOMIC_RELAXED);
    if (n % 7 == 0) usleep(20);
    else if (n % 3 == 0) sched_yield();
    return how;
}
static void leave(host_t *h, int how) {
    if (how == 0) atomic_store(&h->inside, 0);
}

static call_t *new_call(call_t c) {
    call_t *call = malloc(sizeof *call);
    if (!call) abort();
    *call = c;
    return call;
}
static void push(host_t *h, call_t c) {
    call_t *call = new_call(c);
    pthread_mutex_lock(&h->mutex);
    *h->last = call;
    h->last = &call->next;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}
static bool work_once(host_t *h, bool waits) {
    pthread_mutex_lock(&h->mutex);
    while (waits && !h->first && !h->stop) pthread_cond_wait(&h->changed, &h->mutex);
    call_t *call = h->first;
    if (call && !(h->first = call->next)) h->last = &h->first;
    pthread_mutex_unlock(&h->mutex);
    if (!call) return false;
    host_t *outer = at_work;
    at_work = h;
    if (call->fn) call->fn(call->arg);
    else call->job(call->arg, call->i, call->n);
    at_work = outer;
    if (call->left) atomic_fetch_sub(call->left, 1);
    free(call);
    return true;
}
static void *worker(void *arg) {
    while (work_once(arg, true)) continue;
    return NULL;
}

static void say_dones(host_t *h) {
    pthread_mutex_lock(&h->mutex);
    call_t *c = h->dones;
    h->dones = NULL;
    pthread_mutex_unlock(&h->mutex);
    for (call_t *next; c; c = next) {
        next = c->next;
        c->fn(c->arg);
        free(c);
    }
}
static void *says_dones(void *arg) {
    host_t *h = arg;
    for (bool stop = false; !stop; usleep(30)) {
        pthread_mutex_lock(&h->mutex);
        stop = h->stop;
        pthread_mutex_unlock(&h->mutex);
        /* Where the next call says them this thread is for the last ones: nobody may call any
         * more. */
        if (h->done == DONE_BY_ANOTHER || __atomic_fetch_add(&h->seed, 1, __ATOMIC_RELAXED) % 64 == 0)
            say_dones(h);
    }
    return NULL;
}

static int get_num_threads(void *ctx) { return ((host_t *)ctx)->num_threads; }
static int in_parallel(void *ctx) { return at_work == ctx; }
static uint64_t get_flags(void *ctx) {
    return DNNL_TP_THREADPOOL_SINGLE_CALLER |
           (((host_t *)ctx)->form == BY_ASYNC_LOOPS ? DNNL_TP_THREADPOOL_ASYNCHRONOUS : 0);
}
static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    host_t *h = ctx;
    (void)run;
    const int how = enter(h);
    push(h, (call_t){.fn = fn, .arg = arg});
    if (h->form == BY_SCHEDULE_INSIDE && __atomic_fetch_add(&h->seed, 1, __ATOMIC_RELAXED) % 2)
        (void)work_once(h, false);
    if (h->done == DONE_IN_NEXT_CALL) say_dones(h);
    leave(h, how);
    return 0;
}
static int parallel_for(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    host_t *h = ctx;
    const int how = enter(h);
    _Atomic int left = n;
    const bool waits = h->form == BY_LOOPS;
    for (int i = 0; i < n; ++i)
        push(h, (call_t){.job = fn, .arg = arg, .i = i, .n = n, .left = waits ? &left : NULL});
    while (waits && atomic_load(&left))
        if (!work_once(h, false)) sched_yield();
    leave(h, how);
    return 0;
}
static int run_begin(void *ctx, uint64_t id, void **run) {
    host_t *h = ctx;
    const int how = enter(h);
    (void)id;
    atomic_fetch_add(&h->begun, 1);
    *run = h;
    if (h->done == DONE_IN_NEXT_CALL) say_dones(h);
    leave(h, how);
    return 0;
}
static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *arg) {
    host_t *h = ctx;
    const int how = enter(h);
    (void)run, (void)status;
    atomic_fetch_add(&h->ended, 1);
    if (may_block) atomic_fetch_add(&h->waits_asked, 1);
    if (h->done == DONE_AT_ONCE) {
        done(arg);
    } else {
        call_t *call = new_call((call_t){.fn = done, .arg = arg});
        pthread_mutex_lock(&h->mutex);
        call->next = h->dones;
        h->dones = call;
        pthread_mutex_unlock(&h->mutex);
    }
    leave(h, how);
}

static host_t *host_create(form_t form, done_t done, int workers) {
    host_t *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->form = form;
    h->done = done;
    h->num_threads = workers + (form == BY_LOOPS);
    h->workers = workers;
    h->last = &h->first;
    h->iface = (dnnl_tp_threadpool_iface_t){.struct_size = sizeof h->iface,
                                            .ctx = h,
                                            .get_num_threads = get_num_threads,
                                            .get_in_parallel = in_parallel,
                                            .get_flags = get_flags,
                                            .run_begin = run_begin,
                                            .run_end = run_end};
    if (form >= BY_ASYNC_LOOPS) h->iface.parallel_for = parallel_for;
    else h->iface.schedule = schedule;
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
    for (int i = 0; i <= workers; ++i)
        if (pthread_create(&h->thread[i], NULL, i < workers ? worker : says_dones, h)) abort();
    return h;
}
static void host_destroy(host_t *h) {
    pthread_mutex_lock(&h->mutex);
    h->stop = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    for (int i = 0; i <= h->workers; ++i) pthread_join(h->thread[i], NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

enum { LOOPS = 2, PIECES = 6, HEAVY = -30000 };
typedef struct run {
    dnnl_tp_stream_t submits; /* each of its pieces submits a run to it; or NULL */
    dtp_pool_t *nests;        /* each of its pieces makes a run on it; or NULL */
    _Atomic int pieces, inner;
} run_t;
static _Atomic int submitted, completed; /* by pieces and callbacks */

static dnnl_tp_status_t run_ended(void *arg, bool skipped) {
    (void)arg, (void)skipped;
    return dnnl_tp_success;
}
static void inner_body(void *arg, const dtp_parallel_t *par) {
    (void)par;
    atomic_fetch_add((_Atomic int *)arg, 1);
}
static void submit_small(dnnl_tp_stream_t stream) {
    dtp_stream_run_t run = {.num_threads = 2, .fn = inner_body, .end = run_ended, .arg = &completed};
    dnnl_tp_event_t event;
    if (stream->v->submit_run(stream, &run, &event) != dnnl_tp_success) abort();
    atomic_fetch_add(&submitted, 1);
    dnnl_tp_event_destroy(event);
}
static void piece(void *arg, int slot, int64_t begin, int64_t end) {
    run_t *r = arg;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        atomic_fetch_add(&r->pieces, 1);
        if (r->submits && i == 0) submit_small(r->submits);
        if (r->nests && i % 3 == 0 && dtp_pool_run(r->nests, 2, true, inner_body, &r->inner)) abort();
    }
}
static void run_body(void *arg, const dtp_parallel_t *par) {
    for (int l = 0; l < LOOPS; ++l) dtp_parallel_for(par, PIECES, HEAVY, piece, arg);
}
static void submit_again(void *arg, dnnl_tp_status_t status) {
    (void)status;
    submit_small(arg);
}

typedef struct {
    dtp_pool_t *rec;
    dnnl_tp_stream_t stream, others; /* NULL: synchronous */
    dtp_pool_t *nests;
    int rounds, bad;
} client_t;
static void *client(void *arg) {
    client_t *c = arg;
    for (int k = 0; k < c->rounds; ++k) {
        run_t r = {.submits = k % 2 ? c->others : NULL, .nests = c->nests};
        if (!c->stream) {
            if (dtp_pool_run(c->rec, 4, true, run_body, &r)) abort();
        } else {
            dtp_stream_run_t run = {.num_threads = 4, .fn = run_body, .end = run_ended, .arg = &r};
            dnnl_tp_event_t event;
            if (c->stream->v->submit_run(c->stream, &run, &event)) abort();
            if (dnnl_tp_event_on_complete(event, submit_again, c->others)) abort();
            if (dnnl_tp_event_wait(event, -1, NULL)) abort();
            dnnl_tp_event_destroy(event);
        }
        c->bad += atomic_load(&r.pieces) != LOOPS * PIECES;
    }
    return NULL;
}

static void check_host(host_t *h) {
    CHECK_OK(dnnl_tp_threadpool_quiesce(&h->iface, -1));
    assert_int_equal(atomic_load(&h->complaints), 0);
    assert_int_equal(atomic_load(&h->begun), atomic_load(&h->ended));
    assert_int_equal(atomic_load(&h->waits_asked), 0); /* who waited inside would keep others out */
    host_destroy(h);
}

static void one_at_a_time(void **state) {
    (void)state;
    enum { CLIENTS = 4, ROUNDS = 12 };
    for (int form = 0; form < FORMS; ++form)
        for (int done = 0; done < DONES; ++done)
            for (int workers = 1; workers <= 3; workers += 2) {
                host_t *h = host_create((form_t)form, (done_t)done, workers);
                dnnl_tp_stream_t others = test_stream(test_engine, &h->iface, 1, 0);
                client_t c[CLIENTS];
                pthread_t thread[CLIENTS];
                atomic_store(&submitted, 0);
                atomic_store(&completed, 0);
                for (int i = 0; i < CLIENTS; ++i) {
                    c[i] = (client_t){.rec = others->attr->pool, .others = others, .rounds = ROUNDS};
                    if (i % 2) c[i].stream = test_stream(test_engine, &h->iface, 1, 0);
                    assert_int_equal(pthread_create(&thread[i], NULL, client, &c[i]), 0);
                }
                for (int i = 0; i < CLIENTS; ++i) {
                    pthread_join(thread[i], NULL);
                    assert_int_equal(c[i].bad, 0);
                    CHECK_OK(dnnl_tp_stream_destroy(c[i].stream));
                }
                CHECK_OK(dnnl_tp_stream_destroy(others));
                assert_true(atomic_load(&submitted) >= CLIENTS / 2 * ROUNDS);
                assert_int_equal(atomic_load(&submitted), atomic_load(&completed));
                /* Every run that no other one is around was told, but for those that cannot wait
                 * for a loop. */
                const int outer = CLIENTS * ROUNDS + atomic_load(&submitted);
                if (form != BY_LOOPS) assert_int_equal(atomic_load(&h->begun), outer);
                else assert_int_equal(atomic_load(&h->begun), CLIENTS / 2 * ROUNDS);
                check_host(h);
            }
}

/* Closures of runs on each of two such hosts make runs on the other one. */
static void two_hosts(void **state) {
    (void)state;
    enum { CLIENTS = 4, ROUNDS = 10 };
    for (int form = 0; form < FORMS; ++form)
        for (int done = 0; done < DONES; ++done) {
            host_t *h[2];
            dnnl_tp_stream_t stream[2];
            client_t c[CLIENTS];
            pthread_t thread[CLIENTS];
            for (int i = 0; i < 2; ++i) {
                h[i] = host_create((form_t)form, (done_t)done, 2);
                stream[i] = test_stream(test_engine, &h[i]->iface, 1, 0);
            }
            for (int i = 0; i < CLIENTS; ++i) {
                c[i] = (client_t){.rec = stream[i % 2]->attr->pool,
                                  .others = stream[i / 2],
                                  .nests = stream[1 - i % 2]->attr->pool,
                                  .rounds = ROUNDS};
                assert_int_equal(pthread_create(&thread[i], NULL, client, &c[i]), 0);
            }
            for (int i = 0; i < CLIENTS; ++i) {
                pthread_join(thread[i], NULL);
                assert_int_equal(c[i].bad, 0);
            }
            for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_stream_destroy(stream[i]));
            for (int i = 0; i < 2; ++i) check_host(h[i]);
        }
}

/* The host's only worker runs in a task of the program. */
typedef struct {
    dtp_pool_t *rec;
    _Atomic int ran;
} task_t;
static void run_in_task(void *arg) {
    task_t *t = arg;
    run_t r = {.submits = NULL};
    if (dtp_pool_run(t->rec, 2, true, run_body, &r)) abort();
    if (atomic_load(&r.pieces) != LOOPS * PIECES) abort();
    atomic_fetch_add(&t->ran, 1);
}
static void on_the_only_worker(void **state) {
    (void)state;
    enum { TASKS = 20 };
    for (int done = 0; done < DONES; ++done) {
        host_t *h = host_create(BY_SCHEDULE, (done_t)done, 1);
        dnnl_tp_stream_t stream = test_stream(test_engine, &h->iface, 0, 0);
        task_t t = {.rec = stream->attr->pool};
        for (int k = 0; k < TASKS; ++k) {
            push(h, (call_t){.fn = run_in_task, .arg = &t});
            run_in_task(&t);
        }
        while (atomic_load(&t.ran) < 2 * TASKS) usleep(100);
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        check_host(h);
    }
}

int main(void) {
    watchdog(60, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(two_hosts),
        cmocka_unit_test(on_the_only_worker),
    };
    return cmocka_run_group_tests(tests, test_engine_setup, test_engine_teardown);
}
