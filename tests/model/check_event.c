/* Events (src/threading/streams/event.c): firing, callbacks, waiting and the last reference, at once. Each callback
 * runs exactly once, with the status and after the word says done; who waits wakes up; what the signaller
 * wrote is visible; nobody touches the event after its last reference. */
#include "common/base/object.c"

#include "threading/streams/event.c"

#include "model/product.h"

/* ---- What event.c calls ------------------------------------------------------------------------------ */
_Thread_local dtp_chain_t *dtp_chain_top;
_Thread_local struct dtp_queue *dtp_left_here;
_Thread_local const dtp_share_t *dtp_share_here;
_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }

/* ---- Threads ----------------------------------------------------------------------------------------- */
enum { MOST = 4 };
static dtp_event_t *event;
static int payload, called[MOST], signalled;
static bool first_signals; /* thread 0 is the only one that signals */

static void signaller(void *arg) {
    (void)arg;
    if (mc_self() == 0) mc_write(&payload);
    if (dnnl_tp_event_signal(event, dnnl_tp_runtime_error) == dnnl_tp_success) ++signalled;
    else mc_hit("somebody else signalled");
    dtp_object_release(event);
}
static void callback(void *arg, dnnl_tp_status_t status) {
    ++*(int *)arg;
    if (first_signals) mc_read(&payload);
    MC_CHECK(status == dnnl_tp_runtime_error);
}
/* Asks the event itself, which must say done. */
static void asking_callback(void *arg, dnnl_tp_status_t status) {
    int done = 0;
    dnnl_tp_status_t result = dnnl_tp_success;
    MC_CHECK(dnnl_tp_event_query(event, &done, &result) == dnnl_tp_success);
    MC_CHECK(done && result == status);
    MC_CHECK(dnnl_tp_event_wait(event, -1, &result) == dnnl_tp_success);
    callback(arg, status);
    if (mc_self() == 0) mc_hit("called by who fires");
    else mc_hit("the list was closed: called by who adds");
}
static void dropping_callback(void *arg, dnnl_tp_status_t status) {
    callback(arg, status);
    dtp_object_release(event);
}
static void adder(void *arg) {
    MC_CHECK(dnnl_tp_event_on_complete(event, asking_callback, arg) == dnnl_tp_success);
    dtp_object_release(event);
}
static void dropping_adder(void *arg) {
    MC_CHECK(dnnl_tp_event_on_complete(event, dropping_callback, arg) == dnnl_tp_success);
}
static void wait_for(int64_t timeout_ns) {
    dnnl_tp_status_t result = dnnl_tp_success, status = dnnl_tp_event_wait(event, timeout_ns, &result);
    if (status == dnnl_tp_timed_out && timeout_ns >= 0) {
        mc_hit("a wait timed out");
    } else {
        MC_CHECK(status == dnnl_tp_success && result == dnnl_tp_runtime_error);
        mc_read(&payload);
        int64_t begin, end;
        MC_CHECK(dnnl_tp_event_get_times(event, &begin, &end) == dnnl_tp_success && begin > 0);
    }
    dtp_object_release(event);
}
static void waiter(void *arg) {
    (void)arg;
    wait_for(-1);
}
static void hasty_waiter(void *arg) {
    (void)arg;
    wait_for((int64_t)1 << 32); /* four looks at the clock */
}

/* Its callback signals the next event, to which another thread adds callbacks: none is called inside another. */
static dtp_event_t *next_event;
static int depth;
static void nested_callback(void *arg, dnnl_tp_status_t status) {
    MC_CHECK(depth == 0 || mc_self() != 0);
    callback(arg, status);
}
static void signalling_callback(void *arg, dnnl_tp_status_t status) {
    ++depth;
    MC_CHECK(dnnl_tp_event_on_complete(next_event, nested_callback, &called[2]) == dnnl_tp_success);
    MC_CHECK(dnnl_tp_event_signal(next_event, status) == dnnl_tp_success);
    MC_CHECK(called[2] == 0);
    callback(arg, status);
    --depth;
    mc_hit("a callback signalled");
}
static void chaining_signaller(void *arg) {
    MC_CHECK(dnnl_tp_event_on_complete(event, signalling_callback, &called[0]) == dnnl_tp_success);
    signaller(arg);
    MC_CHECK(called[0] == 1 && called[2] == 1);
    dtp_object_release(next_event);
}
static void next_adder(void *arg) {
    MC_CHECK(dnnl_tp_event_on_complete(next_event, callback, arg) == dnnl_tp_success);
    dtp_object_release(next_event);
    dtp_object_release(event);
}

/* Each thread owns a reference. */
static void setup(void (*const fns[])(void *), int n) {
    payload = signalled = 0;
    first_signals = fns[n - 1] != signaller;
    memset(called, 0, sizeof called);
    live_objects = 0;
    mc_ignore(&live_objects, sizeof live_objects);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    (void)dtp_event_create(&event, &dtp_host_event, NULL, 0);
    event->host = true;
    event->obj.refs = n;
    for (int i = 0; i < n; ++i) mc_thread(fns[i], &called[i]);
}
static void end(void) {
    MC_CHECK(mc_live() == 0);
    MC_CHECK(signalled == 1);
    for (int i = 0; i < MOST; ++i) MC_CHECK(called[i] <= 1);
}
static void end_called(void) {
    end();
    MC_CHECK(called[1] == 1);
}
static void end_both_called(void) {
    end_called();
    MC_CHECK(called[2] == 1);
}
#define SETUP(name, ...)                             \
    static void name(void) {                         \
        void (*const fns[])(void *) = {__VA_ARGS__}; \
        setup(fns, (int)(sizeof fns / sizeof *fns)); \
    }
SETUP(add_and_wait, signaller, adder, waiter)
SETUP(two_adders, signaller, adder, dropping_adder)
SETUP(two_signallers, signaller, adder, signaller)
SETUP(two_waiters, signaller, waiter, waiter)
SETUP(hurry, signaller, adder, hasty_waiter)
static void chain(void) {
    void (*const fns[])(void *) = {chaining_signaller, next_adder};
    setup(fns, 2);
    (void)dtp_event_create(&next_event, &dtp_host_event, NULL, 0);
    next_event->host = true;
    next_event->obj.refs = 2;
    depth = 0;
}

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "signal, add, wait",
         .setup = add_and_wait,
         .end = end_called,
         .reach = {"the list was closed: called by who adds", "called by who fires"}},
        {.name = "signal, add, wait, weak", .setup = add_and_wait, .end = end_called, .weak = true},
        {.name = "two adders", .setup = two_adders, .end = end_both_called, .weak = true, .bounded = 3},
        {.name = "two signallers",
         .setup = two_signallers,
         .end = end_called,
         .reach = {"somebody else signalled"}},
        {.name = "two waiters", .setup = two_waiters, .end = end},
        {.name = "events that signal each other",
         .setup = chain,
         .end = end_called,
         .reach = {"a callback signalled"}},
        {.name = "a wait with a limit", .setup = hurry, .end = end_called, .reach = {"a wait timed out"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
