/* Running an executable: arguments, single steps, errors and traces. Nothing is allocated once there are as
 * many run objects as concurrent runs. Stages: interpreter.c. Slice groups: slices.c. Operators beside each
 * other: by_dataflow.c. */
#include "exec/run/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "threading/pools/blocking.h"

/* ---- Failures ---------------------------------------------------------------------------------------- */

void dtp_run_fail(dtp_run_ctx_t *ctx, dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    if (!dtp_stop(&ctx->stop.word, DTP_STOP_FAILED)) return;
    va_list args;
    va_start(args, format);
    ctx->status = status;
    ctx->reason = reason;
    vsnprintf(ctx->text, sizeof ctx->text, format, args);
    va_end(args);
}

bool dtp_run_late(dtp_run_ctx_t *ctx) {
    if (ctx->share.outer && dtp_share_over(ctx->share.outer)) {
        (void)dtp_stop(&ctx->stop.word, DTP_STOP_CANCELLED);
        return true;
    }
    if (!ctx->deadline_ns || dtp_now_ns() < ctx->deadline_ns) return false;
    (void)dtp_stop(&ctx->stop.word, DTP_STOP_DEADLINE);
    return true;
}

void dtp_run_note_late(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, bool began) {
    const char *none = NULL;
    if (atomic_load_explicit(&ctx->stop.word, memory_order_relaxed) == DTP_STOP_DEADLINE)
        atomic_compare_exchange_strong_explicit(began ? &ctx->late_in : &ctx->late_before, &none, step->name,
                                                memory_order_relaxed, memory_order_relaxed);
}

static __attribute__((cold, noinline)) void fail_step(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step,
                                                      dnnl_tp_status_t status) {
    dtp_run_fail(ctx, status, dtp_last_reason(), "operator '%s' (%s): %s", step->name, step->kind,
                 dtp_last_detail());
}

/* ---- One step ---------------------------------------------------------------------------------------- */

void dtp_run_host_failed(dtp_run_ctx_t *ctx, const dtp_stage_t *host, dnnl_tp_status_t status) {
    const char *said = dtp_said(status);
    dtp_run_fail(ctx, status, DTP_GRAPH_HOST_FAILED, "operator '%s' (host) returned %s%s%s",
                 ctx->exec->steps[host->step].name, dnnl_tp_status2str(status), said ? ": " : "",
                 said ? said : "");
}

int dnnl_tp_should_stop(const volatile int *should_stop) {
    if (!should_stop) return 0;
    return dtp_run_poll(dtp_run_of_closure(should_stop, NULL));
}

bool dtp_run_host(dtp_run_ctx_t *ctx, const dtp_stage_t *host, void **bases, int slot,
                  const volatile int *should_stop) {
    const dtp_exec_step_t *step = &ctx->exec->steps[host->step];
    bool ok = false;
    const bool began = !dtp_run_poll(ctx);
    if (!began) {
    } else if (DTP_LIKELY(!ctx->watched)) {
        ok = dtp_call_host(ctx, ctx->exec->infos, host, bases, should_stop);
    } else {
        dtp_trace_work_t work;
        dtp_run_watch_begin(ctx, &work, step, slot, bases, -1);
        ok = dtp_call_host(ctx, ctx->exec->infos, host, bases, should_stop);
        dtp_run_watch_end(ctx, &work, step);
    }
    if (DTP_UNLIKELY(ctx->looks) && dtp_run_failed(ctx)) dtp_run_note_late(ctx, step, began);
    return ok;
}

bool dtp_run_copy(dtp_run_ctx_t *ctx, void *to, const void *from, size_t bytes) {
    enum { AT_ONCE = 1 << 20 };
    for (; bytes > AT_ONCE; bytes -= AT_ONCE) {
        memcpy(to, from, AT_ONCE);
        to = (char *)to + AT_ONCE;
        from = (const char *)from + AT_ONCE;
        if (dtp_run_poll(ctx)) return false;
    }
    if (bytes) memcpy(to, from, bytes);
    return true;
}

static bool run_step(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, const dtp_where_t *where) {
    void *ptr[2 * DTP_GRAPH_MAX_ARGS];
    char *const *bases = (char *const *)where->bases;
    for (int i = 0; i < step->work->nrefs; ++i) {
        const dtp_ref_t *r = &step->work->refs[i];
        uintptr_t base = (uintptr_t)(r->base == DTP_BASE_LOCAL ? where->local : bases[r->base]);
        base +=
            (uintptr_t)(r->offset + where->capacity * r->per_capacity + where->first[r->unit] * r->advance);
        ptr[i] = (void *)base;
    }
    dnnl_tp_status_t status = dnnl_tp_success;
    if (step->work->prim[0]) {
        int64_t rows = where->count[step->work->unit];
        if (rows >= 0) rows *= step->work->rows_per_unit;
        const dtp_primitive_t *prim =
            step->work->prim[1] && where->variant ? step->work->prim[1] : step->work->prim[0];
        status = dtp_primitive_run(prim, where->par, ptr, NULL, where->scratch, rows);
    } else {
        return dtp_run_copy(ctx, ptr[1], ptr[0], step->work->copy_bytes);
    }
    if (DTP_LIKELY(status == dnnl_tp_success)) return true;
    fail_step(ctx, step, status);
    return false;
}

bool dtp_run_step(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, const dtp_where_t *where) {
    if (dtp_pool_has_short(ctx->pool)) dtp_pool_let_pass(ctx->pool, (int64_t)ctx->exec->ns, ctx->priority);
    if (DTP_LIKELY(!(ctx->watched | ctx->looks))) return !dtp_run_failed(ctx) && run_step(ctx, step, where);
    bool ok = false;
    const bool began = !dtp_run_poll(ctx);
    if (!began) {
    } else if (!ctx->watched) {
        ok = run_step(ctx, step, where);
    } else {
        dtp_trace_work_t work;
        dtp_where_t own = *where;
        dtp_parallel_t par;
        dtp_run_watch_begin(ctx, &work, step, where->slot, where->bases, where->count[step->work->unit]);
        par = dtp_trace_loops(&work, where->par);
        own.par = &par;
        ok = run_step(ctx, step, &own);
        dtp_run_watch_end(ctx, &work, step);
    }
    if (DTP_UNLIKELY(ctx->looks) && dtp_run_failed(ctx)) dtp_run_note_late(ctx, step, began);
    return ok;
}

/* ---- The run ----------------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool check_offsets(dtp_run_ctx_t *ctx) {
    const dtp_exec_t *e = ctx->exec;
    for (int k = 0; k < e->noffsets; ++k) {
        const dtp_exec_offsets_t *f = &e->offsets[k];
        const int32_t *o = (const int32_t *)((char *)ctx->run->bases[f->ref.base] + f->ref.offset);
        const int64_t bad = dtp_bad_offset(o, f->seqs, f->rows, true);
        if (bad < 0) continue;
        const dtp_data_error_t found = {DTP_DATA_OFFSET, 0, bad, o[bad], f->rows};
        char text[DTP_DATA_TEXT];
        dtp_run_fail(ctx, dnnl_tp_invalid_arguments, DTP_GRAPH_INDEX, "operator '%s': %s", f->name,
                     dtp_data_error_text(&found, text));
        return false;
    }
    return true;
}

/* By counters, unless earlier runs have shown that it does not pay. */
static void run_by_dataflow(dtp_run_ctx_t *ctx, dtp_where_t *whole) {
    const dtp_exec_t *e = ctx->exec;
    dtp_dataflow_state_t *state = ctx->run->dataflow;
    if (e->always_dataflow || !dtp_dataflow_prefers_order(state)) {
        dtp_run_by_dataflow(ctx, whole);
        return;
    }
    int64_t begin = dtp_ticks();
    dtp_run_stages(ctx, 0, e->nstages, whole);
    dtp_dataflow_note_order(state, dtp_ns_of_ticks(dtp_ticks() - begin));
}

/* Operators one after another, whose loops have all threads; but closures of the blocking crew, and what waits. */
static void run_one_by_one(dtp_run_ctx_t *ctx, const dtp_where_t *whole) {
    dtp_parallel_t alone = *ctx->par;
    alone.num_threads = 1;
    ctx->par = &alone;
    dtp_run_by_dataflow(ctx, whole);
}

static void run_body(dtp_run_ctx_t *ctx, const dtp_parallel_t *given) {
    dtp_exec_t *e = ctx->exec;
    int64_t begin_ns = DTP_UNLIKELY(ctx->trace != NULL) ? dtp_now_ns() : 0;
    const bool again = DTP_UNLIKELY(ctx->sleeper.rests);
    dnnl_tp_status_t status = again ? dnnl_tp_success : dtp_run_take(e, &ctx->run);
    if (DTP_UNLIKELY(status != dnnl_tp_success)) {
        dtp_run_fail(ctx, status, dtp_last_reason(), "%s", dtp_last_detail());
        return;
    }
    dtp_run_t *run = ctx->run;
    dtp_parallel_t par = *given;
    if (par.num_threads > e->num_threads) par.num_threads = e->num_threads;
    if (!(ctx->parallelism & DNNL_TP_PARALLELISM_INTRA) && !(ctx->parallelism & DNNL_TP_PARALLELISM_INTER))
        par.num_threads = 1;
    ctx->par = &par;
    if (DTP_LIKELY(!again)) {
        ctx->pool = par.pool;
        ctx->pool_threads = par.num_threads;
        run->bases[DTP_BASE_ABSOLUTE] = NULL;
        run->bases[DTP_BASE_INSTANCE] = run->memory;
        run->bases[DTP_BASE_LOCAL] = NULL;
        for (int i = 0; i < e->nin; ++i) run->bases[DTP_BASE_ARGS + i] = ctx->in[i];
        for (int i = 0; i < e->nout; ++i) run->bases[DTP_BASE_ARGS + e->nin + i] = ctx->out[i];
        DTP_ZONES(begin(e, 0, run->memory));
    } else if (ctx->looks) {
        (void)dtp_run_late(ctx);
    }
    /* A run inside a closure of another one on the same pool shares its threads and their share. */
    dtp_share_t *share = given->share;
    const bool inner = share && share->stop;
    if (inner && !ctx->share.outer) {
        ctx->share.outer = share;
        ctx->looks = true;
    }
    if (share && !inner) *share = ctx->share;
    else if (!par.pool) par.share = &ctx->share;
    const dtp_share_t *around = dtp_share_here;
    dtp_share_here = &ctx->share;
    bool intra = (ctx->parallelism & DNNL_TP_PARALLELISM_INTRA) != 0;
    dtp_where_t whole = {.par = intra ? &par : &ctx->alone,
                         .across = &par,
                         .bases = run->bases,
                         .scratch = run->memory + e->scratch_at,
                         .count = {-1, -1, -1}};
    whole.locals = run->memory + e->slots_at;
    whole.slot_scratch = run->memory + e->slot_scratch_at;
    whole.bounds = run->bounds;
    bool inter = par.num_threads > 1 && (ctx->parallelism & DNNL_TP_PARALLELISM_INTER);
    if (!again && e->noffsets && !check_offsets(ctx)) inter = false;
    else if (e->dataflow && (inter || (e->always_dataflow && par.num_threads < 2)))
        run_by_dataflow(ctx, &whole);
    else if (DTP_UNLIKELY(e->may_pend) && (again || e->may_wait || dtp_blocking_of(&par)))
        run_one_by_one(ctx, &whole);
    else dtp_run_stages(ctx, 0, e->nstages, &whole);
    dtp_share_here = around;
    if (DTP_UNLIKELY(ctx->share.outer != NULL) && dtp_share_over(ctx->share.outer))
        (void)dtp_stop(&ctx->stop.word, DTP_STOP_CANCELLED); /* loops may have been cut */
    if (share && !inner) share->stop = NULL;
    if (DTP_LIKELY(!ctx->sleeper.rests)) {
        DTP_ZONES(end(e, 0, run->memory));
        DTP_ZONES(report(ctx));
        dtp_run_give(e, run);
    }
    if (DTP_UNLIKELY(begin_ns != 0)) dtp_run_trace_body(ctx, begin_ns);
}

static __attribute__((cold, noinline)) void run_counted(dtp_run_ctx_t *ctx, const dtp_parallel_t *given) {
    if (!ctx->sleeper.rests) memset(&ctx->participants_of_stats, 0, sizeof ctx->participants_of_stats);
    ctx->participants = &ctx->participants_of_stats;
    dtp_participants_add(ctx->participants);
    run_body(ctx, given);
    ctx->num_participants = atomic_load_explicit(&ctx->participants->count, memory_order_relaxed);
}

void dtp_run_body(void *arg, const dtp_parallel_t *given) {
    dtp_run_ctx_t *ctx = arg;
    if (DTP_UNLIKELY(ctx->stats != NULL)) run_counted(ctx, given);
    else run_body(ctx, given);
}

#define RUN_OPTS_OLDER offsetof(dnnl_tp_run_opts_t, trace)
dnnl_tp_status_t dtp_run_opts_check(const dnnl_tp_run_opts_t *o) {
    if (!o) return dnnl_tp_success;
    const size_t oldest = offsetof(dnnl_tp_run_opts_t, deadline_ns), older = RUN_OPTS_OLDER;
    DTP_REQUIRE(o->struct_size == sizeof *o || o->struct_size == older || o->struct_size == oldest,
                BAD_STRUCT_SIZE, "run options have %zu bytes, needed are %zu, %zu or %zu", o->struct_size,
                sizeof *o, older, oldest);
    DTP_REQUIRE(o->flags == 0, BAD_FLAGS, "flags of run options are %u", o->flags);
    DTP_REQUIRE(o->max_threads >= 0, BAD_COUNT, "max_threads is %d", o->max_threads);
    if (o->struct_size >= sizeof *o && o->trace) DTP_REQUIRE_HANDLE(o->trace, DTP_OBJ_TRACE);
    if (o->struct_size >= older) {
        DTP_REQUIRE(o->deadline_ns >= 0, BAD_PARAM, "deadline_ns is %lld", (long long)o->deadline_ns);
        DTP_REQUIRE(o->max_depth >= 0, BAD_PARAM, "max_depth is %d", o->max_depth);
        if (o->cancel) DTP_REQUIRE_HANDLE(o->cancel, DTP_OBJ_CANCEL);
    }
    if (!o->stats) return dnnl_tp_success;
    DTP_REQUIRE_SIZE(o->stats, "run statistics");
    DTP_REQUIRE(o->stats->max_events >= 0, BAD_COUNT, "max_events is %d", o->stats->max_events);
    return dnnl_tp_success;
}

static void finish_stats(dtp_run_ctx_t *ctx) {
    dnnl_tp_run_stats_t *s = ctx->stats;
    s->num_events = atomic_load_explicit(&ctx->nevents, memory_order_relaxed);
    s->num_participants = ctx->num_participants;
}

static __attribute__((cold, noinline)) dnnl_tp_status_t outcome(dtp_run_ctx_t *ctx) {
    switch (atomic_load_explicit(&ctx->stop.word, memory_order_relaxed)) {
    case DTP_STOP_CANCELLED: return dtp_fail(dnnl_tp_cancelled, DTP_CANCELLED, "its token was fired");
    case DTP_STOP_DEADLINE: {
        const char *in = atomic_load_explicit(&ctx->late_in, memory_order_relaxed);
        const char *at = in ? in : atomic_load_explicit(&ctx->late_before, memory_order_relaxed);
        double late_ms = (double)(dtp_now_ns() - ctx->deadline_ns) * 1e-6;
        return dtp_fail(dnnl_tp_deadline_exceeded, DTP_DEADLINE, "the run ended %.3f ms after it, %s %s%s%s",
                        late_ms, in ? "in" : "before", at ? "operator '" : "an operator began", at ? at : "",
                        at ? "'" : "");
    }
    default: return dtp_fail(ctx->status, ctx->reason, "%s", ctx->text);
    }
}

dnnl_tp_status_t dtp_run_open(dtp_run_ctx_t *ctx, const_dnnl_tp_executable_t executable,
                              dnnl_tp_stream_t stream, int nin, void *const *in, int nout, void *const *out,
                              const dnnl_tp_run_opts_t *opts) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_REQUIRE(stream->engine->device == executable->device, BAD_STREAM, "the stream is of another engine");
    ctx->exec = (dtp_exec_t *)(uintptr_t)executable;
    DTP_TRY(dtp_run_check_args(ctx->exec, nin, in, nout, out));
    DTP_TRY(dtp_run_opts_check(opts));
    ctx->in = in;
    ctx->out = out;
    ctx->stats = opts ? opts->stats : NULL;
    ctx->trace = NULL;
    ctx->participants = NULL;
    ctx->num_participants = 0;
    ctx->parallelism = stream->attr->parallelism;
    ctx->max_depth = DTP_RUN_DEPTH;
    ctx->deadline_ns = 0;
    ctx->cancel = NULL;
    ctx->priority = stream->attr->priority;
    ctx->share =
        (dtp_share_t){&ctx->stop.word, 0, DTP_STOP_DEADLINE, NULL, &ctx->sleeper, executable->passes_ns};
    ctx->sleeper = (dtp_sleeper_t){.awaits = dtp_run_awaits};
    ctx->alone = (dtp_parallel_t){.num_threads = 1, .share = &ctx->share};
    atomic_init(&ctx->nevents, 0);
    ctx->waits_lock = (dtp_lock_t){0};
    ctx->waits = NULL;
    ctx->stop = (dtp_stop_word_t){.word = DTP_STOP_NONE};
    atomic_init(&ctx->late_before, NULL);
    atomic_init(&ctx->late_in, NULL);
    ctx->num_threads = executable->num_threads;
    if (opts && opts->max_threads && opts->max_threads < ctx->num_threads)
        ctx->num_threads = opts->max_threads;
    dtp_trace_t *trace = stream->trace;
    if (opts && opts->struct_size >= sizeof *opts && opts->trace) trace = opts->trace;
    if (DTP_UNLIKELY(trace != NULL)) dtp_run_trace_open(ctx, stream, trace);
    ctx->watched = ctx->stats || ctx->trace;
    if (DTP_UNLIKELY(ctx->watched) && executable->by_stream && !stream->v->stamp) {
        dtp_object_release(ctx->trace);
        return dtp_fail(dnnl_tp_unimplemented, DTP_BAD_STREAM,
                        "times of operators: streams of engine %s do not tell them", stream->engine->v->name);
    }
    if (opts && opts->struct_size >= RUN_OPTS_OLDER) {
        if (opts->priority) ctx->priority = opts->priority;
        if (opts->max_depth) ctx->max_depth = opts->max_depth;
        ctx->deadline_ns = ctx->share.deadline_ns = opts->deadline_ns;
        ctx->cancel = opts->cancel;
    }
    ctx->looks = ctx->deadline_ns != 0;
    if (ctx->cancel) dtp_cancel_link(ctx->cancel, &ctx->link, &ctx->stop.word, &ctx->sleeper);
    return dnnl_tp_success;
}

void dtp_run_drop(dtp_run_ctx_t *ctx) {
    if (ctx->cancel) dtp_cancel_unlink(ctx->cancel, &ctx->link);
    if (DTP_UNLIKELY(ctx->trace != NULL)) dtp_object_release(ctx->trace);
}

dnnl_tp_status_t dtp_run_close(dtp_run_ctx_t *ctx) {
    dtp_run_drop(ctx);
    if (ctx->stats) finish_stats(ctx);
    return DTP_UNLIKELY(dtp_run_failed(ctx)) ? outcome(ctx) : dnnl_tp_success;
}

dnnl_tp_status_t dtp_executable_run(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream, int nin,
                                    void *const *in, int nout, void *const *out,
                                    const dnnl_tp_run_opts_t *opts, dnnl_tp_cancel_t owner) {
    dtp_run_ctx_t ctx;
    DTP_TRY(dtp_run_open(&ctx, executable, stream, nin, in, nout, out, opts));
    /* It ends with the run in whose closure this thread is; asynchronous runs do not. */
    if (DTP_UNLIKELY(dtp_share_here != NULL)) {
        ctx.share.outer = dtp_share_here;
        ctx.looks = true;
    }
    dtp_cancel_link_t owner_link;
    if (owner) dtp_cancel_link(owner, &owner_link, &ctx.stop.word, &ctx.sleeper);
    dnnl_tp_status_t status = dnnl_tp_success;
    if (DTP_UNLIKELY(executable->by_stream)) dtp_run_by_stream(&ctx, stream);
    else status = stream->v->run(stream, ctx.num_threads, ctx.priority, &ctx.share, dtp_run_body, &ctx);
    if (owner) dtp_cancel_unlink(owner, &owner_link);
    dnnl_tp_status_t result = dtp_run_close(&ctx);
    return status == dnnl_tp_success ? result : status;
}

dnnl_tp_status_t dnnl_tp_executable_run(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream,
                                        int nin, void *const *in, int nout, void *const *out,
                                        const dnnl_tp_run_opts_t *opts) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    /* A closure of the run, or another thread, may drop the caller's handle meanwhile. */
    dtp_exec_t *e = dtp_object_retain((dtp_exec_t *)(uintptr_t)executable);
    dnnl_tp_status_t status = dtp_executable_run(e, stream, nin, in, nout, out, opts, NULL);
    if (status != dnnl_tp_success) dtp_failed_for(e->graph->name);
    dtp_object_release(e);
    DTP_RETURN(status);
}
