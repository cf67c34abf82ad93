/* Nodes that wait for events: the product's protocol from the closure that names an event to the end of the run
 * (src/exec/dataflow/run/pending.c, src/exec/run/host_wait.c, src/threading/streams/wait.c, src/threading/base/sleeper.h,
 * src/exec/run/cancel.c), with the dataflow engine on one thread. Every node is delivered once, after its event and with
 * a happens-before edge from it; nobody touches run, context or state after the end (all is freed at once); a run that
 * is cancelled ends without its events, and an event that comes later touches nothing of it. */
#include "common/base/object.c"

#include "threading/streams/event.c"

#include "threading/streams/wait.c"

#include "exec/run/cancel.c"

#include "exec/run/host_wait.c"

#include "exec/dataflow/run/pending.c"

#include "exec/dataflow/run/share.c"

#include "exec/dataflow/run/run.c"

#include "exec/dataflow/run/learn.c"

#include "model/no_crew.h"
#include "model/product.h"

/* ---- What they call ---------------------------------------------------------------------------------- */
_Thread_local dtp_chain_t *dtp_chain_top;
_Thread_local struct dtp_queue *dtp_left_here;
_Thread_local const dtp_share_t *dtp_share_here;
_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;
const dtp_event_vtbl_t dtp_queue_event = {NULL, NULL, NULL, NULL}; /* no event here is a queue's */
void dtp_queue_run_left(const dtp_chain_t *after) { (void)after; }
bool dtp_pool_is_wanted(const dtp_pool_t *pool) {
    (void)pool;
    return true;
}
void dtp_dataflow_blocking_begin(dtp_dataflow_state_t *s) { s->blocking = NULL; }
void dtp_dataflow_hand_over(dtp_dataflow_state_t *s, uint64_t task) { (void)s, (void)task; }
void dtp_dataflow_recall(dtp_dataflow_state_t *s) { (void)s; }
void dtp_run_fail(dtp_run_ctx_t *ctx, dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    (void)reason, (void)format, (void)status;
    (void)dtp_stop(&ctx->stop.word, DTP_STOP_FAILED);
}

/* ---- The program: its operators that pend wait for events -------------------------------------------- */
#define FIRST_BITS (DTP_FN_COSTLY | DTP_DATAFLOW_MAY_PEND << DTP_FN_FLAGS)
#include "model/small_program.h"

enum { WAITS = 2 };
static struct {
    int brought[WAITS], ran[NODES], ended;
    dtp_event_t *event[WAITS];
    dnnl_tp_cancel_t cancel;
    bool async, cancels;
    int comes; /* events that fire */
    dtp_run_ctx_t *ctx;
} w;

bool dtp_run_host(dtp_run_ctx_t *ctx, const dtp_stage_t *host, void **bases, int slot,
                  const volatile int *should_stop) {
    (void)ctx, (void)bases, (void)slot;
    return dnnl_tp_host_wait_event(should_stop, w.event[host->step]) == dnnl_tp_success;
}
static const dtp_stage_t hosts[WAITS] = {{.step = 0}, {.step = 1}};
static const dtp_exec_step_t steps[WAITS] = {{.name = "a"}, {.name = "b"}};

static dnnl_tp_status_t exec(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                             const dtp_dataflow_where_t *where) {
    (void)instance;
    ++w.ran[index];
    if (index != LAST) return dtp_run_host_may_wait(ctx, &hosts[index], NULL, where);
    mc_read(&w.brought[0]);
    MC_CHECK(w.brought[0]);
    return dnnl_tp_success;
}
static void recall(void *ctx) {
    dtp_run_recall(ctx);
    mc_hit("recalled");
}

static void begin(void) {
    dtp_run_ctx_t *ctx = mc_alloc(sizeof *ctx);
    dtp_run_t *run = mc_alloc(sizeof *run);
    dtp_exec_t *e = mc_alloc(sizeof *e);
    dtp_dataflow_state_t *s = new_state();
    e->steps = steps;
    run->dataflow = s;
    ctx->exec = e;
    ctx->run = run;
    ctx->share = (dtp_share_t){.stop = &ctx->stop.word, .late = DTP_STOP_DEADLINE, .sleeper = &ctx->sleeper};
    const dtp_dataflow_args_t args = {.ctx = ctx,
                                      .exec = exec,
                                      .par = &s->alone,
                                      .cancel = &ctx->stop.word,
                                      .share = &ctx->share,
                                      .recall = recall};
    w.ctx = ctx;
    if (w.cancels) dtp_cancel_link(w.cancel, &ctx->link, &ctx->stop.word, &ctx->sleeper);
    dtp_dataflow_begin(&plan, s, &args);
}
static void end_run(dtp_run_ctx_t *ctx) {
    dtp_dataflow_state_t *s = ctx->run->dataflow;
    dtp_dataflow_result_t result;
    const dnnl_tp_status_t status = dtp_dataflow_end(s, &result);
    MC_CHECK(status == dnnl_tp_success || w.cancels);
    if (status == dnnl_tp_success) {
        for (int i = 0; i < WAITS; ++i) {
            mc_read(&w.brought[i]);
            MC_CHECK(w.brought[i]);
        }
        MC_CHECK(w.ran[LAST] == 1);
    } else {
        mc_hit("cancelled");
    }
    MC_CHECK(!ctx->waits);
    if (w.cancels) dtp_cancel_unlink(w.cancel, &ctx->link);
    mc_free(s->workers->lifo);
    mc_free(s->workers);
    mc_free(s->root);
    mc_free(s);
    mc_free(ctx->exec);
    mc_free(ctx->run);
    mc_free(ctx);
    ++w.ended;
}
/* By the owner, or by who brings what it rests for. */
static void go_on(void *arg) {
    dtp_run_ctx_t *ctx = arg;
    if (mc_self() != 0) mc_hit("went on on another thread");
    while (!dtp_dataflow_go(ctx->run->dataflow, &ctx->run->dataflow->alone)) {
        mc_hit("rested");
        if (!w.async) dtp_sleep_until_woken(&ctx->sleeper);
        else if (dtp_sleeper_rest(&ctx->sleeper, go_on, NULL, ctx)) return;
    }
    end_run(ctx);
}
static void owner(void *arg) {
    (void)arg;
    begin();
    go_on(w.ctx);
}
static void bringer(void *arg) {
    const int i = (int)((int *)arg - w.brought);
    mc_write(&w.brought[i]);
    w.brought[i] = 1;
    if (!dtp_event_is_done(w.event[i]) && w.ended) mc_hit("came too late");
    MC_CHECK(dnnl_tp_event_signal(w.event[i], dnnl_tp_success) == dnnl_tp_success);
    MC_CHECK(dnnl_tp_event_signal(w.event[i], dnnl_tp_success) == dnnl_tp_invalid_arguments);
}
static void canceller(void *arg) {
    (void)arg;
    MC_CHECK(dnnl_tp_cancel_fire(w.cancel) == dnnl_tp_success);
}

static void setup(bool async, bool cancels, int comes) {
    memset(&w, 0, sizeof w);
    w.async = async;
    w.cancels = cancels;
    w.comes = comes;
    set_plan();
    for (int i = 0; i < WAITS; ++i) {
        MC_CHECK(dtp_event_create(&w.event[i], &dtp_host_event, NULL, 0) == dnnl_tp_success);
        w.event[i]->host = true;
        w.brought[i] = 0;
    }
    MC_CHECK(dnnl_tp_cancel_create(&w.cancel) == dnnl_tp_success);
    mc_thread_local((void **)&dtp_chain_top);
    dtp_chain_top = NULL;
    mc_thread(owner, NULL);
    for (int i = 0; i < comes; ++i) mc_thread(bringer, &w.brought[i]);
    if (cancels) mc_thread(canceller, NULL);
}
static void end(void) {
    MC_CHECK(w.ended == 1);
    for (int i = 0; i < NODES; ++i) MC_CHECK(w.ran[i] <= 1);
    for (int i = 0; i < WAITS; ++i) dtp_object_release(w.event[i]);
    dtp_object_release(w.cancel);
}
static void sleeps(void) { setup(false, false, 2); }
static void rests(void) { setup(true, false, 2); }
static void sleeps_cancelled(void) { setup(false, true, 1); }
static void rests_cancelled(void) { setup(true, true, 1); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "the owner sleeps", .setup = sleeps, .end = end, .preemptions = 2, .reach = {"rested"}},
        {.name = "the run rests",
         .setup = rests,
         .end = end,
         .preemptions = 2,
         .reach = {"rested", "went on on another thread"}},
        {.name = "cancelled, the owner sleeps",
         .setup = sleeps_cancelled,
         .end = end,
         .preemptions = 2,
         .reach = {"cancelled", "recalled"}},
        {.name = "cancelled, the run rests",
         .setup = rests_cancelled,
         .end = end,
         .preemptions = 2,
         .reach = {"cancelled", "recalled"}},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
