/* The walk through the stages of an executable, one after another, on one thread: the control flow of the
 * interpreter (interpreter.c) and of runs by a stream (by_stream.c). It is inlined into both, and so are the
 * functions of their dtp_walker_t, which are constants.
 *
 * A loop lives in two instances of its ring in turn; variables are pointers that are set in the first round
 * only, because from then on each instance reads what the other one wrote. Calls take frames, so nothing
 * recurses. The bases of an instance stand at the begin of its memory, or, where that is an engine's, in
 * heads: those of the run or of its frame. */
#ifndef DTP_EXEC_RUN_WALK_H
#define DTP_EXEC_RUN_WALK_H

#include "exec/run/run.h"

typedef struct {
    /* The functions return false once the run is over. arg: of dtp_walk. */
    bool (*step)(void *arg, const dtp_stage_t *stage, void **bases);
    bool (*slices)(void *arg, const dtp_stage_t *stage, void **bases);
    bool (*closure)(void *arg, const dtp_stage_t *stage, void **bases);
    bool (*truth)(void *arg, const dtp_exec_step_t *step, void **bases, bool *is_true);
    bool (*copy)(void *arg, const dtp_exec_step_t *step, void *to, const void *from, size_t bytes);
    dtp_frame_t *(*frame_take)(void *arg, int scope); /* NULL: no memory */
    void (*frame_give)(void *arg, dtp_frame_t *frame);
} dtp_walker_t;
#define DTP_WALK static inline __attribute__((always_inline))

DTP_WALK void **dtp_walk_enter_loop(const dtp_scope_t *s, void **up, char *heads) {
    char *ring = (char *)up[DTP_BASE_INSTANCE] + s->ring, *at = heads ? heads + s->heads_at : ring;
    void **first = (void **)(void *)at;
    void **second = (void **)(void *)(at + (heads ? dtp_scope_head(s) : s->bytes));
    dtp_instance_init(s, first, ring, up, second);
    dtp_instance_set_vars(s, s->init, first, up);
    second[DTP_BASE_FRESH] = NULL; /* nothing is set there yet */
    return first;
}

DTP_WALK void **dtp_walk_next_round(const dtp_scope_t *s, void **bases) {
    void **next = bases[DTP_BASE_NEXT];
    if (DTP_UNLIKELY(next[DTP_BASE_FRESH] != next)) {
        if (next[DTP_BASE_FRESH] == NULL)
            dtp_instance_init(s, next, (char *)bases[DTP_BASE_INSTANCE] + s->bytes, bases[DTP_BASE_UP],
                              bases);
        dtp_instance_set_vars(s, s->next, next, bases);
        next[DTP_BASE_FRESH] = next;
    }
    next[DTP_BASE_ROUND] = (char *)bases[DTP_BASE_ROUND] + 1;
    return next;
}

/* Copies the variables of the last iteration to the results of the loop. */
DTP_WALK bool dtp_walk_results(const dtp_walker_t *by, void *arg, const dtp_exec_step_t *step, void **bases) {
    const dtp_exec_work_t *work = step->work;
    for (int i = 0, n = work->nrefs / 2; i < n; ++i)
        if (!by->copy(arg, step, dtp_ref_at(bases, &work->refs[n + i]), dtp_ref_at(bases, &work->refs[i]),
                      work->sizes[i]))
            return false;
    return true;
}

DTP_WALK dtp_frame_t *dtp_walk_enter_call(dtp_run_ctx_t *ctx, const dtp_walker_t *by, void *arg,
                                          const dtp_exec_step_t *step, dtp_frame_t *caller) {
    const int depth = caller ? caller->depth + 1 : 1;
    const bool too_deep = depth > ctx->max_depth;
    dtp_frame_t *f = too_deep ? NULL : by->frame_take(arg, step->scope);
    if (!f) {
        dtp_call_failed(ctx, step->name, too_deep);
        return NULL;
    }
    f->caller = caller;
    f->depth = depth;
    f->scope = step->scope;
    return f;
}

/* Stages from `first` on, until `end` or the END of the run. bases: of the scope where it begins; heads:
 * NULL where bases stand in the memory of instances. */
DTP_WALK void dtp_walk(dtp_run_ctx_t *ctx, const dtp_walker_t *by, void *arg, int first, int end,
                       void **bases, char *heads) {
    const dtp_exec_t *e = ctx->exec;
    const dtp_stage_t *stages = e->stages, *st = stages + first, *last = stages + end;
    dtp_frame_t *frame = NULL, *f;
    while (DTP_LIKELY(st != last) || frame) {
        if (st->fn) {
            if (DTP_UNLIKELY(!by->closure(arg, st, bases))) break;
            ++st;
            continue;
        }
        const dtp_exec_step_t *step = &e->steps[st->index];
        bool is_true;
        switch (st->kind) {
        case DTP_STAGE_STEP:
            if (DTP_UNLIKELY(!by->step(arg, st, bases))) goto over;
            ++st;
            break;
        case DTP_STAGE_SLICE_GROUP:
            if (!by->slices(arg, st, bases)) goto over;
            ++st;
            break;
        case DTP_STAGE_IF:
        case DTP_STAGE_TEST:
            if (!by->truth(arg, step, bases, &is_true)) goto over;
            if (is_true) ++st;
            else st = stages + st->other;
            break;
        case DTP_STAGE_JUMP: st = stages + st->other; break;
        case DTP_STAGE_WHILE:
            bases =
                dtp_walk_enter_loop(&e->scopes[step->scope], bases, heads && frame ? frame->heads : heads);
            if (!heads) DTP_ZONES(after(e, st->index, bases, end - first));
            ++st;
            break;
        case DTP_STAGE_NEXT:
            /* A loop without steps must see that the run is over. */
            if (DTP_UNLIKELY(dtp_run_poll(ctx))) goto over;
            bases = dtp_walk_next_round(&e->scopes[step->scope], bases);
            st = stages + st->other;
            break;
        case DTP_STAGE_EXIT:
            if (!dtp_walk_results(by, arg, step, bases)) goto over;
            bases = bases[DTP_BASE_UP];
            ++st;
            break;
        case DTP_STAGE_CALL:
            f = dtp_walk_enter_call(ctx, by, arg, step, frame);
            if (!f) goto over;
            f->caller_bases = bases;
            f->return_to = (int)(st - stages) + 1;
            bases = (void **)(void *)(heads ? f->heads : f->data);
            dtp_call_init(step, bases, f->data, f->caller_bases);
            frame = f;
            st = stages + st->other;
            break;
        case DTP_STAGE_END:
            if (!frame) return;
            f = frame;
            frame = f->caller;
            bases = f->caller_bases;
            st = stages + f->return_to;
            by->frame_give(arg, f);
            break;
        case DTP_STAGE_RANGE: ++st; /* nodes only */
        }
    }
over:
    while (frame) {
        f = frame;
        frame = f->caller;
        by->frame_give(arg, f);
    }
}

#endif
