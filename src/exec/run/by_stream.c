/* Runs on engines that have a memory of their own and run their streams themselves: the host goes from stage to stage
 * as the interpreter does (walk.h), but submits steps to the stream instead of doing them.
 *
 * Arrays of bases lie on the host, in the run object; what they point to is the engine's. The host reads predicates
 * only, each copied to a word of the run, and waits for them; everything else follows in the order of the stream, so
 * instances of loops and frames of calls are used again at once. What the data must be (offsets, ids) kernels check, and
 * note in the run's error word (common/primitive/data_error.h), which is copied to the host with each predicate and at
 * the end. Times of operators, where somebody wants them, are stamps that the stream writes around each.
 * A run object is another run's only when its stream has done what it was given. */
#include "exec/run/walk.h"

#include "threading/pools/record.h"

/* When steps began and ended. Kept by the run object. */
enum { TIMES = 62 };
typedef struct {
    uint32_t step;
    int32_t round;
    int64_t begin_ns, end_ns; /* 0: skipped */
} step_time_t;
struct dtp_stream_times {
    struct dtp_stream_times *next;
    int n;
    step_time_t at[TIMES];
};
typedef struct dtp_stream_times times_t;

typedef struct {
    dtp_run_ctx_t *ctx;
    dnnl_tp_stream_t stream;
    dtp_run_t *run;
    times_t *times; /* that are filled in now, or NULL */
    bool plain;     /* nobody watches operators */
} walk_t;

/* In the engine's memory. */
static inline dtp_data_error_t *error_word(const walk_t *w) {
    return (dtp_data_error_t *)(void *)(w->run->memory + w->ctx->exec->error_at);
}

static bool ok(walk_t *w, const dtp_exec_step_t *step, dnnl_tp_status_t status) {
    if (status == dnnl_tp_success) return true;
    if (step)
        dtp_run_fail(w->ctx, status, dtp_last_reason(), "operator '%s' (%s): %s", step->name, step->kind,
                     dtp_last_detail());
    else dtp_run_fail(w->ctx, status, dtp_last_reason(), "%s", dtp_last_detail());
    return false;
}

/* Until the stream has done all it was given: a run that is over meanwhile waits for that, too, but is told. */
static dnnl_tp_status_t drain(walk_t *w) {
    enum { LOOK_NS = 1000000 };
    const bool looks = w->ctx->looks || w->ctx->cancel;
    dnnl_tp_status_t status = dnnl_tp_timed_out;
    while (looks && status == dnnl_tp_timed_out && !dtp_run_poll(w->ctx))
        status = w->stream->v->wait(w->stream, LOOK_NS);
    return status ? w->stream->v->wait(w->stream, -1) : status;
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static bool copy(void *walk, const dtp_exec_step_t *step, void *to, const void *from, size_t bytes) {
    walk_t *w = walk;
    const dtp_engine_vtbl_t *v = w->stream->engine->v;
    return !bytes || ok(w, step, v->copy(w->stream, DTP_COPY_WITHIN, to, from, bytes));
}

static bool submit_step(walk_t *w, const dtp_exec_step_t *step, void *const *bases) {
    void *ptr[2 * DTP_GRAPH_MAX_ARGS + 1];
    const dtp_exec_work_t *work = step->work;
    for (int i = 0; i < work->nrefs; ++i) ptr[i] = dtp_ref_at(bases, &work->refs[i]);
    if (!work->prim[0]) return copy(w, step, ptr[1], ptr[0], work->copy_bytes);
    const dtp_pd_t *pd = work->prim[0]->pd;
    if (pd->is_empty) return true;
    ptr[pd->nargs] = NULL; /* the stream's scratch */
    const dtp_exec_t *e = w->ctx->exec;
    const dtp_run_part_t part = {pd->checks_data ? error_word(w) : NULL, (uint32_t)(step - e->steps)};
    return ok(w, step, w->stream->v->execute(w->stream, work->prim[0], pd->nargs, ptr, NULL, &part));
}

static step_time_t *next_time(walk_t *w) {
    times_t *t = w->times ? w->times : w->run->times;
    if (!t || t->n == TIMES) {
        times_t **link = t ? &t->next : &w->run->times;
        if (!*link) *link = dtp_zalloc(w->ctx->exec->obj.allocator, sizeof **link, DTP_CACHE_LINE);
        t = *link;
    }
    if (!t) {
        (void)ok(w, NULL, dtp_no_memory(sizeof *t));
        return NULL;
    }
    w->times = t;
    return &t->at[t->n++];
}

static void run_timed(walk_t *w, const dtp_exec_step_t *step, void *const *bases) {
    step_time_t *t = next_time(w);
    if (!t) return;
    *t = (step_time_t){(uint32_t)(step - w->ctx->exec->steps), dtp_run_round_of(w->ctx, step, bases), 0, 0};
    const dnnl_tp_stream_t s = w->stream;
    if (ok(w, step, s->v->stamp(s, &t->begin_ns)) && submit_step(w, step, bases))
        (void)ok(w, step, s->v->stamp(s, &t->end_ns));
}

static inline bool run_step(void *walk, const dtp_stage_t *st, void **bases) {
    walk_t *w = walk;
    const dtp_exec_step_t *step = &w->ctx->exec->steps[st->index];
    if (dtp_run_poll(w->ctx)) return false;
    if (DTP_LIKELY(w->plain)) return submit_step(w, step, bases);
    void (*range)(const char *name) = w->stream->v->range;
    if (range) range(step->name);
    if (w->ctx->watched) run_timed(w, step, bases);
    else (void)submit_step(w, step, bases);
    if (range) range(NULL);
    return true;
}

/* ---- What kernels find ------------------------------------------------------------------------------- */

static bool clean_word(walk_t *w) {
    static const dtp_data_error_t clean;
#ifdef DTP_BREAK_STREAM_CLEAN
    if (w->run->words->found.what != DTP_DATA_FINE) return true;
#endif
    w->run->words->found = clean;
    return !w->ctx->exec->checks_data ||
           ok(w, NULL,
              w->stream->engine->v->copy(w->stream, DTP_COPY_TO_ENGINE, error_word(w), &clean, sizeof clean));
}

/* It is on the host when the stream has come so far. */
static bool fetch_word(walk_t *w) {
#ifdef DTP_BREAK_STREAM_DATA
    return true;
#endif
    return !w->ctx->exec->checks_data ||
           ok(w, NULL,
              w->stream->engine->v->copy(w->stream, DTP_COPY_TO_HOST, &w->run->words->found, error_word(w),
                                         sizeof w->run->words->found));
}

/* False: a kernel found something. */
static bool look_at_word(dtp_run_ctx_t *ctx) {
    const dtp_data_error_t *found = &ctx->run->words->found;
    if (DTP_LIKELY(found->what == DTP_DATA_FINE)) return true;
    const dtp_exec_step_t *step = &ctx->exec->steps[found->step];
    char text[DTP_DATA_TEXT];
    dtp_data_error_text(found, text);
    if (found->what == DTP_DATA_OFFSET) /* as where the host looks, in front of a run */
        dtp_run_fail(ctx, dnnl_tp_invalid_arguments, DTP_GRAPH_INDEX, "operator '%s': %s", step->name, text);
    else
        dtp_run_fail(ctx, dnnl_tp_runtime_error, DTP_GRAPH_INDEX, "operator '%s' (%s): %s", step->name,
                     step->kind, text);
    return false;
}

/* ---- Predicates -------------------------------------------------------------------------------------- */

/* Once the stream has come so far. */
static inline bool truth(void *walk, const dtp_exec_step_t *step, void **bases, bool *is_true) {
    walk_t *w = walk;
    const size_t bytes = dtp_type_size((dnnl_tp_data_type_t)step->work->pred_type);
    const dtp_engine_vtbl_t *v = w->stream->engine->v;
    const void *from = dtp_ref_at(bases, step->work->refs);
    if (dtp_run_poll(w->ctx)) return false;
    if (!ok(w, step, v->copy(w->stream, DTP_COPY_TO_HOST, &w->run->words->predicate, from, bytes)))
        return false;
    if (!fetch_word(w)) return false;
#ifndef DTP_BREAK_STREAM_PREDICATE
    if (!ok(w, NULL, drain(w)) || !look_at_word(w->ctx)) return false; /* what data decide that do not fit */
#endif
    *is_true = dtp_is_true((const char *)&w->run->words->predicate, step->work->pred_type);
    return true;
}

/* ---- Calls ------------------------------------------------------------------------------------------- */

static inline dtp_frame_t *frame_take(void *walk, int scope) {
    walk_t *w = walk;
    dtp_exec_t *e = w->ctx->exec;
    dtp_frame_t **kept = &w->run->frames[scope], *f = *kept;
    if (f) {
        *kept = f->caller;
        return f;
    }
    const dtp_scope_t *s = &e->scopes[scope];
    const size_t head = dtp_round_up_size(sizeof *f, DTP_CACHE_LINE);
    f = dtp_alloc(e->obj.allocator, head + s->heads_bytes, DTP_CACHE_LINE);
    if (!f) return NULL;
    f->heads = (char *)f + head;
    f->data = e->engine->v->alloc(e->engine, s->bytes, false);
    if (f->data) return f;
    dtp_free(e->obj.allocator, f);
    return NULL;
}
static inline void frame_give(void *walk, dtp_frame_t *f) {
    dtp_frame_t **kept = &((walk_t *)walk)->run->frames[f->scope];
    f->caller = *kept;
    *kept = f;
}

void dtp_stream_run_free(dtp_exec_t *e, dtp_run_t *run) {
    for (int i = 0; i < e->nscopes; ++i)
        while (run->frames[i]) {
            dtp_frame_t *f = run->frames[i];
            run->frames[i] = f->caller;
            e->engine->v->free(e->engine, f->data);
            dtp_free(e->obj.allocator, f);
        }
    while (run->times) {
        times_t *t = run->times;
        run->times = t->next;
        dtp_free(e->obj.allocator, t);
    }
    if (run->words && run->words != &run->own_words) e->engine->v->free_word(e->engine, run->words);
    if (run->memory) e->engine->v->free(e->engine, run->memory);
}

/* ---- The run ----------------------------------------------------------------------------------------- */

/* A run object, and all stages of the run submitted. The failures of both are the run's; *run may be NULL then. */
static void submit(walk_t *w) {
    /* Slices are the CPU's, and closures were refused: there are only steps. */
    static const dtp_walker_t by = {run_step, run_step, run_step, truth, copy, frame_take, frame_give};
    dtp_run_ctx_t *ctx = w->ctx;
    dtp_exec_t *e = ctx->exec;
    bool idle;
    dnnl_tp_status_t earlier = dnnl_tp_success, status = w->stream->v->query(w->stream, &idle, &earlier);
    if (status == dnnl_tp_success && earlier != dnnl_tp_success) status = w->stream->v->wait(w->stream, -1);
    if (status == dnnl_tp_success) status = dtp_run_take(e, &w->run);
    if (!ok(w, NULL, status)) return;
    dtp_run_t *run = ctx->run = w->run;
    run->bases[DTP_BASE_ABSOLUTE] = NULL;
    run->bases[DTP_BASE_INSTANCE] = run->memory;
    run->bases[DTP_BASE_LOCAL] = NULL;
    for (int i = 0; i < e->nin; ++i) run->bases[DTP_BASE_ARGS + i] = ctx->in[i];
    for (int i = 0; i < e->nout; ++i) run->bases[DTP_BASE_ARGS + e->nin + i] = ctx->out[i];
    for (times_t *t = run->times; t; t = t->next) t->n = 0;
    DTP_ZONES(begin(e, 0, run->memory));
    if (!clean_word(w)) return;
    dtp_walk(ctx, &by, w, 0, e->nstages, run->bases, run->heads);
    (void)fetch_word(w);
}

/* What only the end of a run knows. came: what the stream copied to the host is there. */
static void finish(dtp_run_ctx_t *ctx, bool came) {
    if (came) (void)look_at_word(ctx);
    if (DTP_LIKELY(!ctx->watched)) return;
    for (const times_t *t = ctx->run->times; t; t = t->next)
        for (int i = 0; i < t->n; ++i)
            if (t->at[i].end_ns) {
                ctx->num_participants = 1;
                dtp_run_watched(ctx, &ctx->exec->steps[t->at[i].step], t->at[i].round, t->at[i].begin_ns,
                                t->at[i].end_ns);
            }
}

void dtp_run_by_stream(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream) {
    if (dtp_chain_top) { /* who waits in the end could not */
        dtp_run_fail(ctx, dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
        return;
    }
    walk_t w = {.ctx = ctx, .stream = stream, .plain = !ctx->watched && !stream->v->range};
    const int64_t begin_ns = DTP_UNLIKELY(ctx->trace != NULL) ? dtp_now_ns() : 0;
    submit(&w);
    if (!w.run) return;
    /* Its own failure is told here, and is no poison for what comes next. */
    const bool came = ok(&w, NULL, drain(&w));
    if (!came) (void)stream->v->reset(stream);
    finish(ctx, came);
    DTP_ZONES(end(ctx->exec, 0, w.run->memory));
    DTP_ZONES(report(ctx));
    dtp_run_give(ctx->exec, w.run);
    if (DTP_UNLIKELY(begin_ns != 0)) dtp_run_trace_body(ctx, begin_ns);
}

/* ---- Without waiting --------------------------------------------------------------------------------- */

void dtp_run_by_stream_begin(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream) {
    walk_t w = {.ctx = ctx, .stream = stream, .plain = !ctx->watched && !stream->v->range};
    ctx->run = NULL;
    submit(&w);
#ifdef DTP_BREAK_STREAM_RECYCLE
    if (w.run) dtp_run_give(ctx->exec, w.run);
#endif
}

void dtp_run_by_stream_end(dtp_run_ctx_t *ctx, bool skipped) {
    if (!ctx->run) return; /* it has failed */
    if (!skipped && ctx->looks) (void)dtp_run_late(ctx);
    finish(ctx, !skipped);
    if (DTP_UNLIKELY(ctx->trace != NULL)) {
        const times_t *t = ctx->run->times;
        dtp_run_trace_body(ctx, t && t->n && t->at[0].begin_ns ? t->at[0].begin_ns : dtp_now_ns());
    }
#ifndef DTP_BREAK_STREAM_RECYCLE
    dtp_run_give(ctx->exec, ctx->run);
#endif
}

void dtp_run_by_stream_drop(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream) {
    /* Else it is not used again: nobody knows when it could be. */
    if (stream->v->wait(stream, -1) != dnnl_tp_would_deadlock) dtp_run_give(ctx->exec, ctx->run);
}
