/* Running the program of the dataflow engine: what its nodes do with the executable's steps, and where the
 * pointers of loops and calls come from. The choice and the program: schedule.c. */
#include "exec/run/run.h"

/* The bases of an instance: the run's, or those at the begin of its memory. */
static void **bases_of(const dtp_dataflow_run_t *f, const dtp_dataflow_instance_t *instance) {
    return instance->up ? (void **)(void *)instance->data : f->bases;
}

static __attribute__((noinline)) dnnl_tp_status_t exec_other(const dtp_dataflow_run_t *f, void **bases,
                                                             uint32_t index, const dtp_dataflow_where_t *at) {
    const dtp_stage_t *item = &f->items[index];
    if (item->fn) {
        if (item->may_wait) return dtp_run_host_may_wait(f->run, item, bases, at);
        return dtp_run_host(f->run, item, bases, at->slot, dtp_should_stop(&f->run->stop))
                   ? dnnl_tp_success
                   : dnnl_tp_runtime_error;
    }
    const dtp_exec_t *e = f->run->exec;
    dtp_where_t where = *f->whole;
    if (!at->whole) { /* one thread: scratch, local buffers and bounds of its slot */
        char *own = f->run->run->memory + e->dataflow_at + (size_t)at->slot * e->dataflow_slot_bytes;
        where.par = where.across = &f->run->alone;
        where.scratch = where.slot_scratch = own;
        where.locals = own + e->dataflow_local_at;
        where.bounds = (int64_t *)(void *)(own + e->dataflow_bounds_at);
    }
    where.bases = bases;
    where.slot = at->slot;
    if (item->kind == DTP_STAGE_STEP) {
        (void)dtp_run_step(f->run, &e->steps[item->index], &where);
        DTP_ZONES(after(e, item->index, bases, 0));
    } else {
        dtp_run_stages(f->run, item->index, item->other, &where);
    }
    /* The run keeps the first failure; the engine needs to know that there is one. */
    return DTP_UNLIKELY(dtp_run_failed(f->run)) ? dnnl_tp_runtime_error : dnnl_tp_success;
}

static dnnl_tp_status_t exec_node(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                  const dtp_dataflow_where_t *at) {
    const dtp_dataflow_run_t *f = ctx;
    const dtp_stage_t *h = &f->items[index];
    void **bases = bases_of(f, instance);
    if (DTP_UNLIKELY(!h->fn || !f->plain)) return exec_other(f, bases, index, at);
    return dtp_call_host(f->run, f->infos, h, bases, dtp_should_stop(&f->run->stop)) ? dnnl_tp_success
                                                                                     : dnnl_tp_runtime_error;
}

/* The same in a run that a trace records: steps find the round of their loop beside its variables. */
static dnnl_tp_status_t exec_traced(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                    const dtp_dataflow_where_t *at) {
    const dtp_dataflow_run_t *f = ctx;
    void **bases = bases_of(f, instance);
    if (instance->up) dtp_run_trace_round(bases, (uint32_t)instance->iteration);
    return exec_other(f, bases, index, at);
}

static void enter(void *ctx, dtp_dataflow_instance_t *instance) {
    const dtp_dataflow_run_t *f = ctx;
    const dtp_exec_t *e = f->run->exec;
    const dtp_exec_step_t *step = &e->steps[instance->index];
    const dtp_scope_t *s = &e->scopes[step->scope];
    void **up = bases_of(f, instance->up);
    if (s->is_function) {
        dtp_call_init(step, (void **)(void *)instance->data, instance->data, up);
        return;
    }
    if (instance->iteration) { /* the second round: from here on every instance reads the one before */
        dtp_instance_set_vars(s, s->next, (void **)(void *)instance->data,
                              (void **)(void *)instance->prev->data);
        return;
    }
    const dtp_dataflow_instance_t *q = instance;
    do dtp_instance_init(s, (void **)(void *)q->data, q->data, up, (void **)(void *)q->next->data);
    while ((q = q->next) != instance);
    dtp_instance_set_vars(s, s->init, (void **)(void *)instance->data, up);
    for (q = instance->next; q != instance; q = q->next)
        dtp_instance_set_vars(s, s->next, (void **)(void *)q->data, (void **)(void *)q->prev->data);
}

static void *frame_take(void *ctx, dtp_dataflow_block_t function, dtp_dataflow_instance_t **instance) {
    const dtp_dataflow_run_t *f = ctx;
    dtp_exec_t *e = f->run->exec;
    int scope = 1;
    while (!e->scopes[scope].is_function || !e->scopes[scope].by_counters ||
           e->scopes[scope].block != function)
        ++scope;
    dtp_frame_t *frame = dtp_frame_take(e, scope);
    if (!frame) return NULL;
    frame->scope = scope;
    *instance = frame->instance;
    return frame;
}

static void frame_give(void *ctx, dtp_dataflow_block_t function, void *p) {
    const dtp_dataflow_run_t *f = ctx;
    dtp_frame_t *frame = p;
    (void)function;
    dtp_frame_give(f->run->exec, frame->scope, frame);
}

static void recall(void *ctx) { dtp_run_recall(((const dtp_dataflow_run_t *)ctx)->run); }

static void begin(dtp_run_ctx_t *ctx) {
    const dtp_exec_t *e = ctx->exec;
    ctx->dataflow = (dtp_dataflow_run_t){.run = ctx,
                                         .items = e->items,
                                         .infos = e->infos,
                                         .bases = ctx->run->bases,
                                         .plain = !ctx->watched && !ctx->looks && !e->may_wait};
    const dtp_dataflow_args_t args = {.ctx = &ctx->dataflow,
                                      .exec = ctx->trace ? exec_traced : exec_node,
                                      .enter = enter,
                                      .frame_take = frame_take,
                                      .frame_give = frame_give,
                                      .max_depth = (uint32_t)ctx->max_depth,
                                      .items = (const char *)e->items,
                                      .item_bytes = sizeof *e->items,
                                      .bases = ctx->run->bases,
                                      .par = ctx->par,
                                      .cancel = &ctx->stop.word,
                                      .deadline_ns = ctx->deadline_ns,
                                      .share = &ctx->share,
                                      .recall = recall};
    dtp_dataflow_begin(e->dataflow, ctx->run->dataflow, &args);
}

void dtp_run_by_dataflow(dtp_run_ctx_t *ctx, const dtp_where_t *whole) {
    const dtp_exec_t *e = ctx->exec;
    if (DTP_LIKELY(!ctx->sleeper.rests)) begin(ctx);
    ctx->dataflow.whole = whole;
    ctx->sleeper.rests = !dtp_dataflow_go(ctx->run->dataflow, ctx->par);
    if (DTP_UNLIKELY(ctx->sleeper.rests)) return;
    dtp_dataflow_result_t result;
    if (DTP_LIKELY(dtp_dataflow_end(ctx->run->dataflow, &result) == dnnl_tp_success)) return;
    const char *name = result.index == DTP_DATAFLOW_NO_INDEX ? "" : e->steps[result.index].name;
    switch (result.why) {
    case DTP_DATAFLOW_DEADLINE: (void)dtp_stop(&ctx->stop.word, DTP_STOP_DEADLINE); break;
    case DTP_DATAFLOW_TOO_DEEP: dtp_call_failed(ctx, name, true); break;
    case DTP_DATAFLOW_NO_FRAME: dtp_call_failed(ctx, name, false); break;
    default: break; /* the node that failed, or who fired the token, said so */
    }
}
