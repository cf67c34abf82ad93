/* The handlers of integrations/jax with what their test needs besides: handlers that meet before they call
 * the library, so that all threads of XLA are in it at once; the same situation in the style that hangs; who
 * helped. */
#include "jax/handlers.c"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/primitive/engine.h"
#include "dnnl_tp/dnnl_tp_pool_check.h"
#include "integrations/jax_probe.h"
#include "threading/streams/stream_attr.h"

/* ---- Meeting ----------------------------------------------------------------------------------------- */

static _Atomic int wanted, inside, most;
void jax_probe_meet(int n) {
    atomic_store(&wanted, n);
    atomic_store(&inside, 0);
    atomic_store(&most, 0);
}
int jax_probe_most(void) { return atomic_load(&most); }

/* Until as many of XLA's threads as wanted are inside, or a third of a second. XLA lets its callers execute
 * operators, too: they do not count. */
static bool is_xlas(void) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return !strncmp(name, "tf_XLAEigen", 11);
}
static void leave(void) {
    if (is_xlas()) atomic_fetch_sub(&inside, 1);
}
static void meet(void) {
    if (!is_xlas()) return;
    int now = atomic_fetch_add(&inside, 1) + 1, seen = atomic_load(&most);
    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {
    }
    for (int i = 0; i < 3000 && atomic_load(&most) < atomic_load(&wanted); ++i) usleep(100);
}

static dnnl_tp_status_t met_mlp(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    meet();
    dnnl_tp_status_t s = mlp(stream, in, out);
    for (int i = 0; !s && i < 5; ++i) s = mlp(stream, in, out);
    leave();
    return s;
}

/* What hangs: queue a part for every thread, then wait for all of them. y = tasks that nobody began. */
static void count_up(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }
static dnnl_tp_status_t latch(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    (void)stream, (void)in;
    int parts = dnnl_tp_xla_num_threads(NULL) - 1, given = 0;
    _Atomic int *done = calloc(1, sizeof *done); /* stays: tasks may come later */
    meet();
    for (int i = 0; i < parts; ++i) given += dnnl_tp_xla_schedule(NULL, NULL, count_up, done) == 0;
    for (int i = 0; i < 10000 && atomic_load(done) < given; ++i) usleep(100);
    *(float *)out->data = (float)(given - atomic_load(done));
    leave();
    return dnnl_tp_success;
}

/* ---- Who helps --------------------------------------------------------------------------------------- */

typedef struct {
    pthread_t owner;
    _Atomic int by_owner, by_others;
    char name[16];
} seen_t;
static void see(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot, (void)begin, (void)end;
    seen_t *seen = arg;
    if (pthread_equal(pthread_self(), seen->owner)) {
        atomic_fetch_add(&seen->by_owner, 1);
    } else if (atomic_fetch_add(&seen->by_others, 1) == 0) {
        pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    }
    for (int i = 0; i < 20000 && !(atomic_load(&seen->by_owner) && atomic_load(&seen->by_others)); ++i)
        usleep(100);
}
static seen_t last_seen;
const char *jax_probe_helper(void) { return last_seen.name; }

static dnnl_tp_status_t helped(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    (void)in;
    dtp_pool_t *rec;
    dtp_pool_acquire(&rec, stream->attr);
    dtp_parallel_t par = {.pool = rec, .num_threads = dtp_pool_num_threads(rec)};
    last_seen = (seen_t){.owner = pthread_self()};
    dtp_parallel_for(&par, 8, -100000, see, &last_seen);
    dtp_pool_release(rec);
    ((float *)out->data)[0] = (float)atomic_load(&last_seen.by_owner);
    ((float *)out->data)[1] = (float)atomic_load(&last_seen.by_others);
    ((float *)out->data)[2] = (float)dnnl_tp_xla_num_threads(NULL);
    return dnnl_tp_success;
}

/* ---- The conformance kit ----------------------------------------------------------------------------- */

/* Its threads are in no handler: this pool has the context of the handler that waits for the check. */
static int checked_num_threads(void *ctx) {
    dnnl_tp_xla_call = ctx;
    int n = dnnl_tp_xla_num_threads(NULL);
    dnnl_tp_xla_call = NULL;
    return n - 1; /* one is in the handler */
}
static int checked_schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    (void)run;
    return dnnl_tp_xla_schedule(NULL, ctx, fn, arg);
}
static dnnl_tp_status_t check(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    (void)stream, (void)in;
    static char report[4096];
    dnnl_tp_xla_call_t call = *dnnl_tp_xla_call;
    dnnl_tp_threadpool_iface_t pool = {.struct_size = sizeof pool,
                                       .ctx = &call,
                                       .get_num_threads = checked_num_threads,
                                       .schedule = checked_schedule};
    dnnl_tp_status_t s = dnnl_tp_pool_check(&pool, 0, report, sizeof report);
    *(float *)out->data = (float)s;
    fputs(report, stdout);
    fflush(stdout);
    return dnnl_tp_success;
}

HANDLER(met_mlp, 3)
HANDLER(latch, 1)
HANDLER(helped, 1)
HANDLER(check, 1)
