/* The sequential interpreter: the stages of an executable, one after another, on the thread of the run
 * (walk.h); and what all runs do with bases of instances and calls. */
#include "exec/run/walk.h"

/* ---- Bases ------------------------------------------------------------------------------------------- */

void dtp_instance_set_vars(const dtp_scope_t *s, const dtp_ref_t *refs, void **bases, void **from) {
    for (int i = 0; i < s->nvars; ++i) bases[DTP_BASE_VARS + i] = dtp_ref_at(from, &refs[i]);
}

void dtp_call_init(const dtp_exec_step_t *step, void **own, char *data, void *const *caller) {
    own[DTP_BASE_ABSOLUTE] = NULL;
    own[DTP_BASE_INSTANCE] = data;
    for (int i = 0; i < step->work->nrefs; ++i)
        own[DTP_BASE_VARS + i] = dtp_ref_at(caller, &step->work->refs[i]);
}

void dtp_call_failed(dtp_run_ctx_t *ctx, const char *name, bool too_deep) {
    if (too_deep)
        dtp_run_fail(ctx, dnnl_tp_runtime_error, DTP_GRAPH_DEPTH, "operator '%s' (call): more than %d", name,
                     ctx->max_depth);
    else dtp_run_fail(ctx, dnnl_tp_out_of_memory, DTP_NO_MEMORY, "operator '%s' (call)", name);
}

/* ---- Stages ------------------------------------------------------------------------------------------ */

typedef struct {
    dtp_run_ctx_t *ctx;
    dtp_exec_t *exec; /* its */
    dtp_where_t *where;
    bool plain;  /* closures are called at once: nobody times them, and the stop word alone ends the run */
    int nstages; /* that are done one after another */
} interpreter_t;

static inline bool run_step(void *arg, const dtp_stage_t *st, void **bases) {
    const interpreter_t *in = arg;
    in->where->bases = bases;
    if (!dtp_run_step(in->ctx, &in->exec->steps[st->index], in->where)) return false;
    DTP_ZONES(after(in->exec, st->index, bases, in->nstages));
    return true;
}

static inline bool run_slices(void *arg, const dtp_stage_t *st, void **bases) {
    const interpreter_t *in = arg;
    in->where->bases = bases;
    dtp_run_slice_group(in->ctx, &in->exec->slice_groups[st->index], in->where);
    if (dtp_run_failed(in->ctx)) return false;
    DTP_ZONES(after(in->exec, in->exec->nsteps + st->index, bases, in->nstages));
    return true;
}

static inline bool run_closure(void *arg, const dtp_stage_t *st, void **bases) {
    const interpreter_t *in = arg;
    dtp_run_ctx_t *ctx = in->ctx;
    const volatile int *stop = dtp_should_stop(&ctx->stop);
    if (!(in->plain ? !dtp_run_failed(ctx) && dtp_call_host(ctx, in->exec->infos, st, bases, stop)
                    : dtp_run_host(ctx, st, bases, in->where->slot, stop)))
        return false;
    DTP_ZONES(after(in->exec, st->step, bases, in->nstages));
    return true;
}

static inline bool truth(void *arg, const dtp_exec_step_t *step, void **bases, bool *is_true) {
    (void)arg;
    *is_true = dtp_is_true(dtp_ref_at(bases, step->work->refs), step->work->pred_type);
    return true;
}

static inline bool copy(void *arg, const dtp_exec_step_t *step, void *to, const void *from, size_t bytes) {
    (void)step;
    return dtp_run_copy(((const interpreter_t *)arg)->ctx, to, from, bytes);
}

static inline dtp_frame_t *frame_take(void *arg, int scope) {
    return dtp_frame_take(((const interpreter_t *)arg)->exec, scope);
}
static inline void frame_give(void *arg, dtp_frame_t *frame) {
    dtp_frame_give(((const interpreter_t *)arg)->exec, frame->scope, frame);
}

void dtp_run_stages(dtp_run_ctx_t *ctx, int first, int end, dtp_where_t *where) {
    static const dtp_walker_t by = {run_step, run_slices, run_closure, truth, copy, frame_take, frame_give};
    interpreter_t in = {ctx, ctx->exec, where, !ctx->watched && !ctx->looks, end - first};
    dtp_walk(ctx, &by, &in, first, end, where->bases, NULL);
}
