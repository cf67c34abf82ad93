/* The sequential interpreter: the stages of an executable, one after another, on the thread of the run.
 *
 * A loop lives in two instances of its ring in turn; variables are pointers that are set in the first
 * round only, because from then on each instance reads what the other one wrote. Calls take frames, so
 * nothing recurses. */
#include "exec/run/run.h"

/* ---- Loops ------------------------------------------------------------------------------------------- */

void dtp_instance_init(const dtp_scope_t *s, char *memory, void **up, void **next) {
    dtp_instance_init_at(s, (void **)(void *)memory, memory, up, next);
}

void dtp_instance_set_vars(const dtp_scope_t *s, const dtp_ref_t *refs, void **bases, void **from) {
    for (int i = 0; i < s->nvars; ++i) bases[DTP_BASE_VARS + i] = dtp_ref_at(from, &refs[i]);
}

static void **enter_loop(const dtp_scope_t *s, void **up) {
    char *ring = (char *)up[DTP_BASE_INSTANCE] + s->ring;
    void **first = (void **)(void *)ring, **second = (void **)(void *)(ring + s->bytes);
    dtp_instance_init(s, ring, up, second);
    dtp_instance_set_vars(s, s->init, first, up);
    second[DTP_BASE_FRESH] = NULL; /* nothing is set there yet */
    return first;
}

void dtp_loop_results(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, void *const *bases) {
    int n = step->work->nrefs / 2;
    for (int i = 0; i < n; ++i)
        if (!dtp_run_copy(ctx, dtp_ref_at(bases, &step->work->refs[n + i]),
                          dtp_ref_at(bases, &step->work->refs[i]), step->work->sizes[i]))
            return;
}

/* ---- Calls ------------------------------------------------------------------------------------------- */

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

static dtp_frame_t *enter_call(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, void **bases,
                               dtp_frame_t *caller, int return_to) {
    int depth = caller ? caller->depth + 1 : 1;
    dtp_frame_t *f = depth > ctx->max_depth ? NULL : dtp_frame_take(ctx->exec, step->scope);
    if (!f) {
        dtp_call_failed(ctx, step->name, depth > ctx->max_depth);
        return NULL;
    }
    f->caller = caller;
    f->caller_bases = bases;
    f->return_to = return_to;
    f->depth = depth;
    f->scope = step->scope;
    dtp_call_init(step, (void **)(void *)f->data, f->data, bases);
    return f;
}

/* ---- Stages ------------------------------------------------------------------------------------------ */

void dtp_run_stages(dtp_run_ctx_t *ctx, int first, int end, dtp_where_t *where) {
    dtp_exec_t *e = ctx->exec;
    const dtp_stage_t *stages = e->stages, *st = stages + first;
    dtp_frame_t *frame = NULL;
    void **bases = where->bases;
    const dtp_stage_t *last = stages + end;
    const bool plain = !ctx->watched && !ctx->looks;
    while (st != last || frame) {
        if (st->fn) {
            bool ok = plain ? !dtp_run_failed(ctx) &&
                                  dtp_call_host(ctx, e->infos, st, bases, dtp_should_stop(&ctx->stop))
                            : dtp_run_host(ctx, st, bases, where->slot, dtp_should_stop(&ctx->stop));
            if (DTP_UNLIKELY(!ok)) goto out;
            DTP_ZONES(after(e, st->step, bases, end - first));
            ++st;
            continue;
        }
        const dtp_exec_step_t *step = &e->steps[st->index];
        switch (st->kind) {
        case DTP_STAGE_STEP:
            if (!dtp_run_step(ctx, step, where)) goto out;
            DTP_ZONES(after(e, st->index, bases, end - first));
            ++st;
            break;
        case DTP_STAGE_SLICE_GROUP:
            dtp_run_slice_group(ctx, &e->slice_groups[st->index], where);
            if (dtp_run_failed(ctx)) goto out;
            DTP_ZONES(after(e, e->nsteps + st->index, bases, end - first));
            ++st;
            break;
        case DTP_STAGE_IF:
        case DTP_STAGE_TEST:
            if (dtp_is_true(dtp_ref_at(bases, step->work->refs), step->work->pred_type)) ++st;
            else st = stages + st->other;
            break;
        case DTP_STAGE_JUMP: st = stages + st->other; break;
        case DTP_STAGE_WHILE:
            where->bases = bases = enter_loop(&e->scopes[step->scope], bases);
            DTP_ZONES(after(e, st->index, bases, end - first));
            ++st;
            break;
        case DTP_STAGE_NEXT:
            /* A loop without steps must see that the run is over. */
            if (DTP_UNLIKELY(dtp_run_poll(ctx))) goto out;
            where->bases = bases = dtp_instance_next(&e->scopes[step->scope], bases);
            st = stages + st->other;
            break;
        case DTP_STAGE_EXIT:
            dtp_loop_results(ctx, step, bases);
            where->bases = bases = bases[DTP_BASE_UP];
            ++st;
            break;
        case DTP_STAGE_CALL: {
            dtp_frame_t *f = enter_call(ctx, step, bases, frame, (int)(st - stages) + 1);
            if (!f) goto out;
            frame = f;
            where->bases = bases = (void **)(void *)f->data;
            st = stages + st->other;
            break;
        }
        case DTP_STAGE_END: {
            if (!frame) goto out;
            dtp_frame_t *f = frame;
            frame = f->caller;
            where->bases = bases = f->caller_bases;
            st = stages + f->return_to;
            dtp_frame_give(e, f->scope, f);
            break;
        }
        case DTP_STAGE_RANGE: break; /* of nodes */
        }
    }
out:
    while (frame) {
        dtp_frame_t *f = frame;
        frame = f->caller;
        dtp_frame_give(e, f->scope, f);
    }
}
