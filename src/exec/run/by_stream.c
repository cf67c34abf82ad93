/* Runs on engines that have a memory of their own and run their streams themselves: the host goes from stage to stage
 * as the interpreter does (interpreter.c), but submits steps to the stream instead of doing them.
 *
 * Arrays of bases lie on the host, in the run object; what they point to is the engine's. The host reads predicates
 * only, each copied to a word of the run, and waits for them; everything else follows in the order of the stream, so
 * instances of loops and frames of calls are used again at once. What the data must be (offsets, ids) kernels check.
 * A run object is another run's only when its stream has done what it was given. */
#include "exec/run/run.h"

#include "threading/pools/record.h"

/* A call's memory and bases. Kept by the run object: the next call on its stream may use it. */
struct dtp_stream_frame {
    struct dtp_stream_frame *next; /* free; or the caller's */
    void **caller_bases;
    int return_to, depth, scope;
    char *data;
    _Alignas(DTP_CACHE_LINE) char heads[];
};
typedef struct dtp_stream_frame frame_t;

/* In the list of the event that ends a run. */
struct dtp_stream_end {
    dtp_callback_t node;
    dtp_exec_t *exec; /* retained */
    dtp_run_t *run;
};

typedef struct {
    dtp_run_ctx_t *ctx;
    dnnl_tp_stream_t stream;
    dtp_run_t *run;
    char *heads; /* of the run, or of the call that goes on */
} walk_t;

/* The handle behind a reference of a step. */
static inline void *at(void *const *bases, const dtp_ref_t *r) {
    return (void *)((uintptr_t)bases[r->base] + (uintptr_t)r->offset);
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
    return status == dnnl_tp_timed_out ? w->stream->v->wait(w->stream, -1) : status;
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static bool copy(walk_t *w, const dtp_exec_step_t *step, void *to, const void *from, size_t bytes) {
    const dtp_engine_vtbl_t *v = w->stream->engine->v;
    return !bytes || ok(w, step, v->copy(w->stream, DTP_COPY_WITHIN, to, from, bytes));
}

static bool run_step(walk_t *w, const dtp_exec_step_t *step, void *const *bases) {
    void *ptr[2 * DTP_GRAPH_MAX_ARGS + 1];
    const dtp_exec_work_t *work = step->work;
    for (int i = 0; i < work->nrefs; ++i) ptr[i] = at(bases, &work->refs[i]);
    if (!work->prim[0]) return copy(w, step, ptr[1], ptr[0], work->copy_bytes);
    const dtp_pd_t *pd = work->prim[0]->pd;
    if (pd->is_empty) return true;
    ptr[pd->nargs] = NULL; /* the stream's scratch */
    return ok(w, step, w->stream->v->execute(w->stream, work->prim[0], pd->nargs, ptr, NULL));
}

/* The truth of a predicate, once the stream has come so far. */
static bool truth(walk_t *w, const dtp_exec_step_t *step, void *const *bases) {
    const size_t bytes = dtp_type_size((dnnl_tp_data_type_t)step->work->pred_type);
    const dtp_engine_vtbl_t *v = w->stream->engine->v;
    const void *from = at(bases, step->work->refs);
    if (!ok(w, step, v->copy(w->stream, DTP_COPY_TO_HOST, &w->run->word, from, bytes))) return false;
#ifndef DTP_BREAK_STREAM_PREDICATE
    if (!ok(w, NULL, drain(w))) return false;
#endif
    return dtp_is_true((const char *)&w->run->word, step->work->pred_type);
}

/* ---- Loops and calls --------------------------------------------------------------------------------- */

static void **enter_loop(walk_t *w, const dtp_scope_t *s, void **up) {
    void **first = (void **)(void *)(w->heads + s->heads_at),
         **second = (void **)(void *)((char *)first + dtp_scope_head(s));
    char *ring = (char *)up[DTP_BASE_INSTANCE] + s->ring;
    dtp_instance_init_at(s, first, ring, up, second);
    dtp_instance_init_at(s, second, ring + s->bytes, up, first);
    dtp_instance_set_vars(s, s->init, first, up);
    return first;
}

static frame_t *enter_call(walk_t *w, const dtp_exec_step_t *step, void **bases, frame_t *caller,
                           int return_to) {
    dtp_exec_t *e = w->ctx->exec;
    const dtp_scope_t *s = &e->scopes[step->scope];
    const int depth = caller ? caller->depth + 1 : 1;
    const bool too_deep = depth > w->ctx->max_depth;
    frame_t *f = too_deep ? NULL : w->run->frames[step->scope];
    if (f) {
        w->run->frames[step->scope] = f->next;
    } else if (!too_deep) {
        f = dtp_alloc(e->obj.allocator, sizeof *f + s->heads_bytes, DTP_CACHE_LINE);
        if (f && !(f->data = e->engine->v->alloc(e->engine, s->bytes, false))) {
            dtp_free(e->obj.allocator, f);
            f = NULL;
        }
    }
    if (!f) {
        dtp_call_failed(w->ctx, step->name, too_deep);
        return NULL;
    }
    f->next = caller;
    f->caller_bases = bases;
    f->return_to = return_to;
    f->depth = depth;
    f->scope = step->scope;
    void **own = (void **)(void *)f->heads;
    own[DTP_BASE_ABSOLUTE] = NULL;
    own[DTP_BASE_INSTANCE] = f->data;
    for (int i = 0; i < step->work->nrefs; ++i) own[DTP_BASE_VARS + i] = at(bases, &step->work->refs[i]);
    w->heads = f->heads;
    return f;
}

/* Back in the caller, which is returned. */
static frame_t *leave_call(walk_t *w, frame_t *f) {
    frame_t *caller = f->next;
    f->next = w->run->frames[f->scope];
    w->run->frames[f->scope] = f;
    w->heads = caller ? caller->heads : w->run->heads;
    return caller;
}

void dtp_stream_run_free(dtp_exec_t *e, dtp_run_t *run) {
    for (int i = 0; i < e->nscopes; ++i)
        while (run->frames[i]) {
            frame_t *f = run->frames[i];
            run->frames[i] = f->next;
            e->engine->v->free(e->engine, f->data);
            dtp_free(e->obj.allocator, f);
        }
    dtp_free(e->obj.allocator, run->end);
    if (run->memory) e->engine->v->free(e->engine, run->memory);
}

/* ---- Stages ------------------------------------------------------------------------------------------ */

static void walk(walk_t *w) {
    dtp_run_ctx_t *ctx = w->ctx;
    const dtp_exec_t *e = ctx->exec;
    const dtp_stage_t *st = e->stages, *last = st + e->nstages;
    frame_t *frame = NULL;
    void **bases = w->run->bases;
    while ((st != last || frame) && !dtp_run_poll(ctx)) {
        const dtp_exec_step_t *step = &e->steps[st->index];
        const dtp_scope_t *scope = &e->scopes[step->scope];
        const dtp_stage_t *next = st + 1;
        switch (st->kind) {
        case DTP_STAGE_STEP: (void)run_step(w, step, bases); break;
        case DTP_STAGE_IF:
        case DTP_STAGE_TEST:
            if (!truth(w, step, bases)) next = e->stages + st->other;
            break;
        case DTP_STAGE_JUMP: next = e->stages + st->other; break;
        case DTP_STAGE_WHILE: bases = enter_loop(w, scope, bases); break;
        case DTP_STAGE_NEXT: {
            void **to = bases[DTP_BASE_NEXT];
            dtp_instance_set_vars(scope, scope->next, to, bases);
            to[DTP_BASE_ROUND] = (char *)bases[DTP_BASE_ROUND] + 1;
            bases = to;
            next = e->stages + st->other;
            break;
        }
        case DTP_STAGE_EXIT:
            for (int i = 0, n = step->work->nrefs / 2; i < n; ++i)
                (void)copy(w, step, at(bases, &step->work->refs[n + i]), at(bases, &step->work->refs[i]),
                           step->work->sizes[i]);
            bases = bases[DTP_BASE_UP];
            break;
        case DTP_STAGE_CALL: {
            frame_t *f = enter_call(w, step, bases, frame, (int)(next - e->stages));
            if (!f) break;
            frame = f;
            bases = (void **)(void *)f->heads;
            next = e->stages + st->other;
            break;
        }
        case DTP_STAGE_END:
            if (!frame) return;
            bases = frame->caller_bases;
            next = e->stages + frame->return_to;
            frame = leave_call(w, frame);
            break;
        default: break; /* slices and nodes are the CPU's; closures were refused */
        }
        st = next;
    }
    while (frame) frame = leave_call(w, frame);
}

/* A run object, and all stages of the run submitted. The failures of both are the run's; *run may be NULL then. */
static void submit(walk_t *w) {
    dtp_run_ctx_t *ctx = w->ctx;
    dtp_exec_t *e = ctx->exec;
    bool idle;
    dnnl_tp_status_t earlier = dnnl_tp_success, status = w->stream->v->query(w->stream, &idle, &earlier);
    if (status == dnnl_tp_success && earlier != dnnl_tp_success) status = w->stream->v->wait(w->stream, -1);
    if (status == dnnl_tp_success) status = dtp_run_take(e, &w->run);
    if (!ok(w, NULL, status)) return;
    dtp_run_t *run = ctx->run = w->run;
    w->heads = run->heads;
    run->bases[DTP_BASE_ABSOLUTE] = NULL;
    run->bases[DTP_BASE_INSTANCE] = run->memory;
    run->bases[DTP_BASE_LOCAL] = NULL;
    for (int i = 0; i < e->nin; ++i) run->bases[DTP_BASE_ARGS + i] = ctx->in[i];
    for (int i = 0; i < e->nout; ++i) run->bases[DTP_BASE_ARGS + e->nin + i] = ctx->out[i];
    walk(w);
}

void dtp_run_by_stream(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream) {
    if (dtp_chain_top) { /* who waits in the end could not */
        dtp_run_fail(ctx, dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
        return;
    }
    walk_t w = {ctx, stream, NULL, NULL};
    const int64_t begin_ns = DTP_UNLIKELY(ctx->trace != NULL) ? dtp_now_ns() : 0;
    submit(&w);
    if (!w.run) return;
    /* Its own failure is told here, and is no poison for what comes next. */
    if (!ok(&w, NULL, drain(&w))) (void)stream->v->reset(stream);
    ctx->num_participants = 1;
    dtp_run_give(ctx->exec, w.run);
    if (DTP_UNLIKELY(begin_ns != 0)) dtp_run_trace_body(ctx, begin_ns);
}

/* ---- Without waiting --------------------------------------------------------------------------------- */

static void run_done(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    (void)event, (void)status;
    dtp_exec_t *e = ((struct dtp_stream_end *)node)->exec;
#ifndef DTP_BREAK_STREAM_RECYCLE
    dtp_run_give(e, ((struct dtp_stream_end *)node)->run);
#endif
    dtp_object_release(e);
}

/* An event that is done with this failure. */
static dnnl_tp_status_t failed_event(dnnl_tp_status_t status, dnnl_tp_event_t *event) {
    DTP_TRY(dtp_event_create(event, &dtp_host_event, NULL, 0));
    const int64_t now = dtp_now_ns();
    dtp_event_fire(dtp_object_retain(*event), status, dtp_last_text(), now, now);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_run_by_stream_async(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream,
                                         int nin, void *const *in, int nout, void *const *out,
                                         const dnnl_tp_run_opts_t *opts, dnnl_tp_event_t *event) {
    dtp_run_ctx_t ctx;
    DTP_TRY(dtp_run_open(&ctx, executable, stream, nin, in, nout, out, opts));
    walk_t w = {&ctx, stream, NULL, NULL};
    submit(&w);
    dnnl_tp_event_t done = NULL;
    dnnl_tp_status_t status = dnnl_tp_success;
    if (w.run && !w.run->end) {
        w.run->end = dtp_alloc(ctx.exec->obj.allocator, sizeof *w.run->end, DTP_CACHE_LINE);
        if (!w.run->end) status = dtp_no_memory(sizeof *w.run->end);
    }
    if (w.run && status == dnnl_tp_success) status = stream->v->record_event(stream, &done);
    if (done) {
        *w.run->end = (struct dtp_stream_end){{.fn = run_done}, dtp_object_retain(ctx.exec), w.run};
#ifdef DTP_BREAK_STREAM_RECYCLE
        dtp_run_give(ctx.exec, w.run);
#endif
        dtp_event_add(done, &w.run->end->node);
    } else if (w.run && stream->v->wait(stream, -1) != dnnl_tp_would_deadlock) {
        dtp_run_give(ctx.exec, w.run); /* else it is not used again: nobody knows when it could be */
    }
    dnnl_tp_status_t result = dtp_run_close(&ctx);
    if (status == dnnl_tp_success && result == dnnl_tp_success) {
        *event = done;
        return dnnl_tp_success;
    }
    dtp_object_release(done);
    return status == dnnl_tp_success ? failed_event(result, event) : status;
}
