/* What runs of graphs leave in traces and in run statistics. */
#include "common/primitive/verbose_text.h"
#include "exec/run/run.h"
#include "threading/base/futex.h"

/* ---- Names ------------------------------------------------------------------------------------------- */

static void describe(const void *object, uint32_t index, dtp_trace_names_t *names) {
    const dtp_exec_t *e = object;
    *names = (dtp_trace_names_t){.name = NULL};
    if (index == DTP_TRACE_WHOLE) return;
    const dtp_exec_step_t *step = &e->steps[index];
    names->name = step->name;
    names->op = step->kind;
    names->fused = step->work->fused;
    names->after = step->after;
    names->nafter = step->nafter;
    names->flops = step->work->flops;
    names->bytes = step->work->bytes;
    if (!step->work->prim[0]) return;
    names->impl = step->work->prim[0]->pd->impl->name;
    names->engine = e->engine->v->name;
    dtp_verbose_dims(step->work->prim[0]->pd, names->shape, sizeof names->shape);
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

void dtp_run_trace_open(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream, dtp_trace_t *wanted) {
    if (!dtp_trace_on(wanted)) return;
    ctx->trace = dtp_object_retain(wanted);
    ctx->trace_source = dtp_trace_graph(wanted, ctx->exec, describe, ctx->exec->graph->name);
    ctx->trace_run = dtp_trace_next_run(wanted);
    ctx->trace_lane = stream->trace == wanted ? stream->trace_lane : 0;
    ctx->open_ns = dtp_now_ns();
}

static uint16_t outcome_of(dtp_run_ctx_t *ctx) {
    switch (atomic_load_explicit(&ctx->stop.word, memory_order_acquire)) {
    case DTP_STOP_NONE: return dnnl_tp_success;
    case DTP_STOP_CANCELLED: return (uint16_t)dnnl_tp_cancelled;
    case DTP_STOP_DEADLINE: return (uint16_t)dnnl_tp_deadline_exceeded;
    default: return (uint16_t)ctx->status;
    }
}

void dtp_run_trace_body(dtp_run_ctx_t *ctx, int64_t begin_ns) {
    dtp_trace_event_t event = {.begin_ns = begin_ns,
                               .end_ns = dtp_now_ns(),
                               .wait_ns = begin_ns - ctx->open_ns,
                               .source = ctx->trace_source,
                               .index = DTP_TRACE_WHOLE,
                               .run = ctx->trace_run,
                               .round = -1,
                               .stream = ctx->trace_lane,
                               .status = outcome_of(ctx),
                               .kind = dnnl_tp_trace_run};
    dtp_trace_add(ctx->trace, &event);
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

/* Nodes of one instance write the same number. */
void dtp_run_trace_round(void **bases, uint32_t round) {
    __atomic_store_n(&bases[DTP_BASE_ROUND], (char *)NULL + round, __ATOMIC_RELAXED);
}

int32_t dtp_run_round_of(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, void *const *bases) {
    if (!ctx->trace || ctx->exec->scopes[step->scope].parent < 0) return -1;
    return (int32_t)(intptr_t)__atomic_load_n(&bases[DTP_BASE_ROUND], __ATOMIC_RELAXED);
}

/* Rounded up: no slice does nothing. */
static uint16_t part_of(int64_t units, int64_t all) {
    if (units < 0 || units >= all) return DTP_TRACE_ALL;
    return (uint16_t)((units * DTP_TRACE_ALL + all - 1) / all);
}

void dtp_run_watch_begin(dtp_run_ctx_t *ctx, dtp_trace_work_t *work, const dtp_exec_step_t *step, int slot,
                         void *const *bases, int64_t units) {
    work->trace = ctx->trace;
    work->participants = ctx->participants;
    work->event = (dtp_trace_event_t){.begin_ns = dtp_now_ns(),
                                      .source = ctx->trace_source,
                                      .index = (uint32_t)(step - ctx->exec->steps),
                                      .run = ctx->trace_run,
                                      .round = dtp_run_round_of(ctx, step, bases),
                                      .part = part_of(units, step->work->units),
                                      .slot = (uint16_t)slot,
                                      .kind = dnnl_tp_trace_node};
}

static void record(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, const dtp_trace_event_t *event) {
    if (ctx->trace) dtp_trace_add(ctx->trace, event);
    if (!ctx->stats) return;
    int at = atomic_fetch_add_explicit(&ctx->nevents, 1, memory_order_relaxed);
    if (ctx->stats->events && at < ctx->stats->max_events)
        ctx->stats->events[at] =
            (dnnl_tp_trace_event_t){step->name, event->slot, event->begin_ns, event->end_ns};
}

void dtp_run_watch_end(dtp_run_ctx_t *ctx, dtp_trace_work_t *work, const dtp_exec_step_t *step) {
    work->event.end_ns = dtp_now_ns();
    if (ctx->stats) dtp_participants_add(ctx->participants);
    record(ctx, step, &work->event);
}

void dtp_run_watched(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, int32_t round, int64_t begin_ns,
                     int64_t end_ns) {
    const dtp_trace_event_t event = {.begin_ns = begin_ns,
                                     .end_ns = end_ns,
                                     .source = ctx->trace_source,
                                     .index = (uint32_t)(step - ctx->exec->steps),
                                     .run = ctx->trace_run,
                                     .round = round,
                                     .part = DTP_TRACE_ALL,
                                     .stream = ctx->trace_lane,
                                     .kind = dnnl_tp_trace_node};
    record(ctx, step, &event);
}
