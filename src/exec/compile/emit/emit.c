/* The tables of an executable: pointers, steps, stages. Memory: plan.c. */
#include "exec/compile/emit/emit.h"

#include <stdio.h>

/* ---- Tables ------------------------------------------------------------------------------------------ */

/* The number of a pointer in the scope where it is kept. */
static int home_of(const dtp_exec_t *e, const dtp_buf_t *b, int *scope) {
    *scope = b->scope;
    switch (b->kind) {
    case DTP_BUF_INPUT: *scope = 0; return DTP_BASE_ARGS + b->index;
    case DTP_BUF_OUTPUT: *scope = 0; return DTP_BASE_ARGS + e->nin + b->index;
    case DTP_BUF_VAR: return DTP_BASE_VARS + b->index;
    default: return DTP_BASE_INSTANCE;
    }
}

static int find_capture(const dtp_scope_t *s, int32_t outer) {
    int k = 0;
    while (k < s->ncaptures && s->captures[k] != outer) ++k;
    return k;
}

/* The number that a pointer of an outer scope has in this one; every scope between has a copy. */
static int number_in(const dtp_exec_t *e, int scope, int home, int number) {
    if (scope == home) return number;
    const dtp_scope_t *s = &e->scopes[scope];
    return DTP_BASE_VARS + s->nvars + find_capture(s, number_in(e, s->parent, home, number));
}

static dnnl_tp_status_t capture(dtp_exec_t *e, int scope, int home, int number) {
    if (scope == home) return dnnl_tp_success;
    dtp_scope_t *s = &e->scopes[scope];
    DTP_TRY(capture(e, s->parent, home, number));
    int outer = number_in(e, s->parent, home, number);
    if (find_capture(s, outer) < s->ncaptures) return dnnl_tp_success;
    DTP_TRY(dtp_arena_grow(&e->arena, (void **)&s->captures, &s->cap_captures, s->ncaptures + 1,
                           sizeof *s->captures));
    s->captures[s->ncaptures++] = outer;
    return dnnl_tp_success;
}

static dnnl_tp_status_t capture_buf(dtp_exec_t *e, const dtp_lower_t *l, int scope, int buf) {
    int home;
    int64_t at;
    const dtp_buf_t *b = &l->bufs[dtp_whole_of(l, buf, &at)];
    if (b->kind == DTP_BUF_CONST || b->kind == DTP_BUF_LOCAL) return dnnl_tp_success;
    int number = home_of(e, b, &home);
    return capture(e, scope, home, number);
}

static int base_of(const dtp_exec_t *e, int scope, const dtp_buf_t *b) {
    int home, number = home_of(e, b, &home);
    return number_in(e, scope, home, number);
}

/* The scope of the loop that a step begins. */
static int scope_of(const dtp_lower_t *l, int step) { return l->steps[l->steps[step]->other]->scope; }

/* Where an argument of a step of `scope` begins: the offset from its base; *b: the whole of its buffer. */
static int64_t place_of(const dtp_exec_t *e, const dtp_lower_t *l, int scope, const dtp_step_arg_t *a,
                        const dtp_buf_t **b, int32_t *base) {
    int64_t offset = 0;
    const dtp_buf_t *whole = *b = &l->bufs[dtp_whole_of(l, a->buf, &offset)];
    offset += a->offset;
    *base = DTP_BASE_ABSOLUTE;
    switch (whole->kind) {
    case DTP_BUF_CONST: return offset + (int64_t)(intptr_t)whole->data;
    case DTP_BUF_INPUT:
    case DTP_BUF_OUTPUT:
    case DTP_BUF_VAR: *base = base_of(e, scope, whole); return offset;
    case DTP_BUF_INSTANCE: *base = base_of(e, scope, whole); return offset + whole->offset;
    case DTP_BUF_LOCAL: *base = DTP_BASE_LOCAL; return offset + whole->offset;
    case DTP_BUF_PART: break; /* not the whole */
    }
    return offset;
}

static void set_ref(const dtp_exec_t *e, const dtp_lower_t *l, const dtp_step_t *s, const dtp_step_arg_t *a,
                    dtp_ref_t *ref) {
    memset(ref, 0, sizeof *ref);
    if (a->buf < 0) return;
    const dtp_buf_t *b;
    ref->offset = place_of(e, l, s->scope, a, &b, &ref->base);
    if (s->slice_group < 0) return;
    const bool packed = e->slice_groups[s->slice_group].seqs > 0;
    if (packed && b->kind == DTP_BUF_LOCAL) {
        ref->per_capacity = b->offset;
        ref->offset -= b->offset;
    }
    if (!packed) {
        if (b->kind == DTP_BUF_LOCAL || !a->sliced) return;
        ref->unit = DTP_UNIT_ROW;
        ref->advance = a->advance;
    } else if (s->work->offsets) {
        /* Offsets and pooled rows advance by sequence; rows are absolute, so local buffers start before row
         * 0. */
        ref->unit = a->advance ? DTP_UNIT_SEQ : DTP_UNIT_ROW;
        ref->advance = a->advance ? a->advance : b->kind == DTP_BUF_LOCAL ? -b->unit_bytes : 0;
    } else if (a->sliced && b->kind != DTP_BUF_LOCAL) {
        ref->unit = s->domain == DTP_BY_SEQ ? DTP_UNIT_SEQ : DTP_UNIT_ROW;
        ref->advance = a->advance;
    }
}

static void emit_host(const dtp_exec_t *e, const dtp_lower_t *l, int i, dtp_stage_t *stage,
                      dtp_host_ref_t **free_refs) {
    const dtp_step_t *s = l->steps[i];
    dtp_host_ref_t *refs = *free_refs;
    const int nin = s->host->nin;
    *free_refs += s->nargs;
    for (int k = 0; k < s->nargs; ++k) {
        const dtp_step_arg_t *a = &s->arg[k];
        const dtp_buf_t *b;
        refs[k] = (dtp_host_ref_t){.value = k < nin ? s->host_in[k] : s->host_out[k - nin]};
        if (a->buf >= 0) refs[k].offset = place_of(e, l, s->scope, a, &b, &refs[k].base);
    }
    *stage = (dtp_stage_t){.fn = s->host->fn,
                           .arg = s->host->arg,
                           .refs = refs,
                           .step = (int32_t)i,
                           .nin = (uint8_t)nin,
                           .nout = (uint8_t)s->host->nout,
                           .may_wait = (s->host->flags & DNNL_TP_HOST_MAY_WAIT) != 0};
}

/* Names of what was fused, in the order of the fusions; NULL without any, or without memory. */
static const char *fused_text(dtp_exec_t *e, const dtp_ir_fused_t *last) {
    enum { MOST = 16 };
    const dtp_ir_fused_t *f[MOST];
    char text[256] = "";
    int n = 0;
    for (; last && n < MOST; last = last->next) f[n++] = last;
    size_t at = 0;
    while (n-- > 0 && at < sizeof text) {
        const char *name = f[n]->name[0] ? f[n]->name : f[n]->kind;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? " + " : "", name);
    }
    return text[0] ? dtp_arena_text(&e->arena, text) : NULL;
}

/* What traces need to tell how long an operator waited: the steps that write what each reads. */
typedef struct {
    int32_t *by;   /* per buffer: the last step that wrote it; NOBODY; a join: JOINED - its number */
    int32_t *room; /* for the next lists, so many */
    int nroom;
} writers_t;
enum { NOBODY = -1, JOINED = -2 };

static void add_writer(dtp_exec_step_t *x, int32_t *after, int32_t by) {
    for (int k = 0; k < x->nafter; ++k)
        if (after[k] == by) return;
    after[x->nafter++] = by;
}

static dnnl_tp_status_t set_after(dtp_exec_t *e, const dtp_lower_t *l, int number, dtp_exec_step_t *x,
                                  writers_t *w) {
    enum { FEW = 256 };
    const dtp_step_t *s = l->steps[number];
    const int n = s->nargs + s->npost_args;
    int most = 0;
    for (int i = 0; i < n; ++i) {
        const int32_t by = s->arg[i].buf < 0 || s->arg[i].written ? NOBODY : w->by[s->arg[i].buf];
        most += by > NOBODY ? 1 : by < NOBODY ? e->steps[JOINED - by].nafter : 0;
    }
    if (most > w->nroom) { /* for as many steps as may come */
        w->nroom = (int)dtp_max64(most, dtp_min64(FEW, (int64_t)(l->nsteps - number) * most));
        w->room = dtp_arena_take(&e->arena, sizeof *w->room * (size_t)w->nroom);
        if (!w->room) return dnnl_tp_out_of_memory;
    }
    if (most) x->after = w->room;
    for (int i = 0; i < n && most; ++i) {
        const int32_t by = s->arg[i].buf < 0 || s->arg[i].written ? NOBODY : w->by[s->arg[i].buf];
        const dtp_exec_step_t *joined = by < NOBODY ? &e->steps[JOINED - by] : NULL;
        if (by > NOBODY) add_writer(x, w->room, by);
        for (int k = 0; joined && k < joined->nafter; ++k) add_writer(x, w->room, joined->after[k]);
    }
    const int32_t me = s->ctl == DTP_CTL_JOIN ? JOINED - (int32_t)number : (int32_t)number;
    for (int i = 0; i < n; ++i)
        if (s->arg[i].buf >= 0 && s->arg[i].written) w->by[s->arg[i].buf] = me;
    w->room += x->nafter;
    w->nroom -= x->nafter;
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_work(dtp_exec_t *e, const dtp_lower_t *l, const dtp_step_t *s,
                                  const dtp_exec_work_t **work) {
    const int n = s->nargs + s->npost_args;
    dtp_exec_work_t *x = dtp_arena_alloc(&e->arena, sizeof *x);
    dtp_ref_t *refs = dtp_arena_alloc(&e->arena, sizeof *refs * (size_t)(n + 1));
    size_t *sizes =
        s->work->sizes ? dtp_arena_alloc(&e->arena, sizeof *sizes * (size_t)(s->nargs + 1)) : NULL;
    if (!x || !refs || (s->work->sizes && !sizes)) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) set_ref(e, l, s, &s->arg[i], &refs[i]);
    x->copy_bytes = s->work->copy_bytes;
    x->pred_type = s->work->pred_type;
    x->nrefs = n;
    x->refs = refs;
    x->fused = fused_text(e, s->work->fused);
    x->flops = s->work->work.flops;
    x->bytes = s->work->work.bytes;
    if (s->slice_group >= 0) {
        const dtp_slice_group_t *group = &e->slice_groups[s->slice_group];
        x->units = s->domain == DTP_BY_SEQ && group->offsets_ref >= 0 ? group->seqs : group->units;
    }
    x->unit = s->domain == DTP_BY_SEQ ? DTP_UNIT_SEQ : s->domain == DTP_BY_ROW ? DTP_UNIT_ROW : DTP_UNIT_NONE;
    x->rows_per_unit = s->work->rows_per_unit;
    for (int i = 0; sizes && i < s->nargs / 2; ++i)
        sizes[i] = s->arg[s->nargs / 2 + i].buf < 0 ? 0 : s->work->sizes[i];
    x->sizes = sizes;
    for (int k = 0; k < 2; ++k) x->prim[k] = s->work->prim[k] ? dtp_object_retain(s->work->prim[k]) : NULL;
    *work = x;
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_step(dtp_exec_t *e, const dtp_lower_t *l, const dtp_step_t *s,
                                  dtp_exec_step_t *x) {
    static const dtp_exec_work_t none;
    const int scope = s->ctl == DTP_CTL_WHILE  ? scope_of(l, (int)(x - e->steps))
                      : s->ctl == DTP_CTL_CALL ? s->other
                                               : s->scope;
    *x = (dtp_exec_step_t){
        .name = s->name[0] ? s->name : s->kind, .kind = s->kind, .scope = scope, .work = &none};
    if (!s->host) DTP_TRY(emit_work(e, l, s, &x->work));
    e->nsteps = (int)(x - e->steps) + 1;
    return dnnl_tp_success;
}

/* Sequence offsets are checked once per run, so they must be there from the start. */
static dnnl_tp_status_t find_offsets(dtp_exec_t *e, dtp_lower_t *l) {
    size_t most = 0;
    for (int i = 0; i < l->nsteps && l->nproblems; ++i) most += l->steps[i]->work->offsets > 0;
    if (most == 0) return dnnl_tp_success;
    dtp_exec_offsets_t *offsets = dtp_arena_alloc(&e->arena, sizeof *offsets * most);
    int *bufs = dtp_arena_alloc(l->ir->arena, sizeof *bufs * most);
    if (!offsets || !bufs) return dnnl_tp_out_of_memory;
    for (int i = 0; i < l->nsteps; ++i) {
        dtp_step_t *s = l->steps[i];
        if (!s->work->offsets) continue;
        const dtp_step_arg_t *a = &s->arg[s->work->offsets - 1];
        const dtp_buf_t *b = &l->bufs[a->buf];
        if (b->kind != DTP_BUF_INPUT && b->kind != DTP_BUF_CONST)
            return dtp_fail(dnnl_tp_unimplemented, DTP_GRAPH_BAD_VALUE,
                            "operator '%s' (%s): offsets are neither an input of the graph nor a constant",
                            s->name, s->kind);
        int k = 0;
        while (k < e->noffsets && bufs[k] != a->buf) ++k;
        if (k == e->noffsets) {
            dtp_step_t plain = *s;
            plain.slice_group = -1;
            plain.scope = 0;
            bufs[k] = a->buf;
            offsets[k] = (dtp_exec_offsets_t){
                .seqs = (int64_t)(b->bytes / sizeof(int32_t)) - 1, .rows = INT64_MAX, .name = s->name};
            set_ref(e, l, &plain, a, &offsets[k].ref);
            ++e->noffsets;
        }
        dtp_pd_arg_t args[DTP_GRAPH_MAX_ARGS];
        (void)dtp_op_args(dtp_op_info(s->op->kind), s->op, args);
        offsets[k].rows = dtp_min64(offsets[k].rows, args[0].md->dims[0]);
        if (s->slice_group >= 0) {
            dtp_slice_group_t *group = (dtp_slice_group_t *)(uintptr_t)&e->slice_groups[s->slice_group];
            group->offsets_ref = k;
        }
    }
    e->offsets = offsets;
    return dnnl_tp_success;
}

static dnnl_tp_status_t find_used_args(dtp_exec_t *e, const dtp_lower_t *l) {
    size_t *in = dtp_arena_alloc(&e->arena, ((size_t)e->nin + 1) * sizeof *in),
           *out = dtp_arena_alloc(&e->arena, ((size_t)e->nout + 1) * sizeof *out);
    if (!in || !out) return dnnl_tp_out_of_memory;
    for (int i = 0; i < l->nbufs; ++i) {
        const dtp_buf_t *b = &l->bufs[i];
        if (b->first < 0 || b->bytes == 0) continue;
        if (b->kind == DTP_BUF_INPUT) in[b->index] = b->bytes;
        if (b->kind == DTP_BUF_OUTPUT) out[b->index] = b->bytes;
    }
    e->in_bytes = in;
    e->out_bytes = out;
    return dnnl_tp_success;
}

static dtp_stage_kind_t stage_of_control(dtp_ctl_t ctl) {
    static const dtp_stage_kind_t kinds[] = {
        [DTP_CTL_NONE] = DTP_STAGE_STEP,  [DTP_CTL_IF] = DTP_STAGE_IF,     [DTP_CTL_ELSE] = DTP_STAGE_JUMP,
        [DTP_CTL_ENDIF] = DTP_STAGE_STEP, [DTP_CTL_JOIN] = DTP_STAGE_STEP, [DTP_CTL_WHILE] = DTP_STAGE_WHILE,
        [DTP_CTL_TEST] = DTP_STAGE_TEST,  [DTP_CTL_NEXT] = DTP_STAGE_NEXT, [DTP_CTL_EXIT] = DTP_STAGE_EXIT,
        [DTP_CTL_CALL] = DTP_STAGE_CALL,  [DTP_CTL_END] = DTP_STAGE_END};
    return kinds[ctl];
}

/* Where a control stage goes on if not behind itself. */
static int target_of(const dtp_lower_t *l, const int *stage_of, const dtp_step_t *s) {
    switch (s->ctl) {
    case DTP_CTL_IF: return stage_of[s->other] + 1;
    case DTP_CTL_ELSE: return stage_of[s->other];
    case DTP_CTL_TEST: return stage_of[s->other];
    case DTP_CTL_NEXT: return stage_of[s->other] + 1;
    case DTP_CTL_CALL: return stage_of[l->scopes[s->other].begin];
    default: return -1;
    }
}

static dnnl_tp_status_t emit_stages(dtp_exec_t *e, dtp_lower_t *l) {
    dtp_stage_t *stages = dtp_arena_take(&e->arena, sizeof *stages * (size_t)(l->nsteps + 1));
    int *stage_of = l->stage_of = dtp_arena_take(l->ir->arena, sizeof *stage_of * (size_t)(l->nsteps + 1));
    dtp_host_ref_t *refs = dtp_arena_take(&e->arena, sizeof *refs * (size_t)(l->nhost_refs + 1));
    if (!stages || !stage_of || !refs) return dnnl_tp_out_of_memory;
    e->stages = stages;
    for (int i = 0; i < l->nsteps;) {
        const dtp_step_t *s = l->steps[i];
        dtp_stage_t *st = &stages[e->nstages];
        stage_of[i] = e->nstages;
        if (s->ctl == DTP_CTL_ENDIF || s->ctl == DTP_CTL_JOIN) { /* its number is that of what follows */
            ++i;
            continue;
        }
        ++e->nstages;
        if (s->slice_group >= 0) {
            *st = (dtp_stage_t){.kind = DTP_STAGE_SLICE_GROUP, .index = s->slice_group};
            for (int n = e->slice_groups[s->slice_group].nsteps; n > 0; --n) stage_of[i++] = e->nstages - 1;
            continue;
        }
        if (s->host) emit_host(e, l, i, st, &refs);
        else *st = (dtp_stage_t){.kind = stage_of_control(s->ctl), .index = i};
        ++i;
    }
    for (int i = 0; i < l->nsteps; ++i)
        if (l->steps[i]->ctl && l->steps[i]->ctl != DTP_CTL_ENDIF && l->steps[i]->ctl != DTP_CTL_JOIN)
            stages[stage_of[i]].other = target_of(l, stage_of, l->steps[i]);
    return dnnl_tp_success;
}

/* ---- Loops and functions ----------------------------------------------------------------------------- */

static dnnl_tp_status_t emit_pointers(dtp_exec_t *e, const dtp_lower_t *l) {
    for (int i = 1; i < l->nscopes; ++i) {
        dtp_scope_t *s = &e->scopes[i];
        const dtp_lower_scope_t *from = &l->scopes[i];
        if (from->parent < 0) continue;
        s->init = e->steps[from->begin].work->refs;
        s->next = e->steps[from->end - 1].work->refs; /* NEXT stands before EXIT */
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_emit_scopes(dtp_exec_t *e, const dtp_lower_t *l) {
    e->scopes = dtp_arena_alloc(&e->arena, sizeof *e->scopes * (size_t)l->nscopes);
    if (!e->scopes) return dnnl_tp_out_of_memory;
    e->nscopes = l->nscopes;
    for (int i = 0; i < l->nscopes; ++i) {
        dtp_scope_t *s = &e->scopes[i];
        s->parent = l->scopes[i].parent;
        s->nvars = l->scopes[i].nvars;
        s->window = l->scopes[i].window;
        s->instances = 2;
        s->is_function = i > 0 && s->parent < 0;
    }
    /* Every use of something outside is known before the heads of instances get their sizes. */
    for (int i = 0; i < l->nsteps && l->nscopes > 1; ++i) {
        const dtp_step_t *s = l->steps[i];
        for (int k = 0; k < s->nargs + s->npost_args; ++k)
            if (s->arg[k].buf >= 0) DTP_TRY(capture_buf(e, l, s->scope, s->arg[k].buf));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_emit_tables(dtp_exec_t *e, dtp_lower_t *l) {
    DTP_TRY(find_offsets(e, l));
    dtp_exec_step_t *steps = dtp_arena_take(&e->arena, sizeof *steps * (size_t)(l->nsteps + 1));
    if (!steps) return dnnl_tp_out_of_memory;
    e->steps = steps;
    e->has_primitives = l->nproblems > 0;
    writers_t writers = {.by = dtp_arena_take(l->ir->arena, sizeof *writers.by * (size_t)(l->nbufs + 1))};
    if (!writers.by) return dnnl_tp_out_of_memory;
    for (int i = 0; i < l->nbufs; ++i) writers.by[i] = NOBODY;
    bool passes = l->nscopes == 1;
    for (int i = 0; i < l->nsteps; ++i) {
        DTP_TRY(emit_step(e, l, l->steps[i], &steps[i]));
        DTP_TRY(set_after(e, l, i, &steps[i], &writers));
        e->ns += dtp_step_ns(l->steps[i]);
        passes &= !l->steps[i]->host;
    }
    e->passes_ns = passes ? dtp_max64((int64_t)e->ns, 1) : 0;
    DTP_TRY(find_used_args(e, l));
    DTP_TRY(emit_stages(e, l));
    return emit_pointers(e, l);
}
