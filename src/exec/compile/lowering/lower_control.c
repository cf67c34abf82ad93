/* Lowering of control flow: If, While and calls become control steps around the steps of their regions.
 *
 * Results of an If have one buffer that both branches write. The variables of a loop are pointers; what the
 * body hands on is written to buffers of the body's own, unless it lives outside the loop: forwarding a
 * variable or a value of the condition would let a pointer outlive its iteration. A variable that collects
 * (collect()) is written outside by the body itself. */
#include "exec/compile/lowering/lower.h"

dnnl_tp_status_t dtp_new_control(dtp_lower_t *lower, const dtp_ir_node_t *node, dtp_ctl_t ctl, int nargs,
                                 dtp_step_t **step) {
    static const char *const names[] = {"",     "if",   "else", "endif", "while", "test",
                                        "next", "exit", "call", "join",  "end"};
    DTP_TRY(dtp_new_step(lower, NULL, 0, 0, nargs, step));
    (*step)->ctl = ctl;
    (*step)->name = node ? node->name : "";
    (*step)->kind = names[ctl];
    return dnnl_tp_success;
}

static dtp_step_arg_t view_arg(dtp_view_t p) { return (dtp_step_arg_t){.buf = p.buf, .offset = p.offset}; }
static dtp_step_arg_t value_arg(const dtp_lower_t *l, int v) {
    return (dtp_step_arg_t){.buf = l->ir->values[v].buf, .offset = l->ir->values[v].offset};
}

/* ---- If ---------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t branch(dtp_lower_t *l, const dtp_ir_node_t *n, int b, const int *bufs) {
    const int *yield = n->yield + b * n->nout;
    int mark = dtp_block_begin(l);
    if (n->sub[b] >= 0) {
        for (int i = 0; i < n->nout; ++i)
            if (bufs[i] >= 0 && yield[i] >= 0) dtp_want(l, yield[i], n->sub[b], bufs[i]);
        DTP_TRY(dtp_lower_region(l, n->sub[b]));
    }
    for (int i = 0; i < n->nout; ++i)
        if (bufs[i] >= 0 && yield[i] >= 0) DTP_TRY(dtp_settle(l, yield[i], bufs[i]));
    dtp_block_end(l, mark);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_if(dtp_lower_t *l, const dtp_ir_node_t *n) {
    dtp_view_t pred;
    const dtp_ir_value_t *p = &l->ir->values[n->in[0]];
    int *bufs = dtp_arena_alloc(l->ir->arena, sizeof *bufs * (size_t)n->nout);
    if (!bufs) return dnnl_tp_out_of_memory;
    DTP_TRY(dtp_view_dense(l, n->in[0], &pred));
    for (int i = 0; i < n->nout; ++i) {
        bufs[i] = -1;
        if (l->ir->values[n->out[i]].uses == 0) continue;
        DTP_TRY(dtp_view_new(l, n->out[i]));
        bufs[i] = l->ir->values[n->out[i]].buf;
    }
    if (dtp_ir_is_const(l->ir, n->in[0]))
        return branch(l, n, dtp_is_true(p->data, (int)p->info->data_type) ? 0 : 1, bufs);
    int pred_type = (int)p->info->data_type, begin = l->nsteps;
    dtp_step_t *s, *other;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_IF, 1, &s));
    s->arg[0] = view_arg(pred);
    s->work->pred_type = pred_type;
    DTP_TRY(branch(l, n, 0, bufs));
    s->other = l->nsteps;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_ELSE, 0, &other));
    DTP_TRY(branch(l, n, 1, bufs));
    other->other = l->nsteps;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_ENDIF, n->nout, &s));
    /* What nobody writes, for orderings; what only one branch writes is there when it has ended. */
    for (int i = 0; i < n->nout; ++i)
        if (bufs[i] >= 0 && (l->bufs[bufs[i]].bytes == 0 || n->yield[i] < 0 || n->yield[n->nout + i] < 0))
            s->arg[i].buf = bufs[i];
    s->other = begin;
    return dnnl_tp_success;
}

/* ---- While ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t new_scope(dtp_lower_t *l, int parent, int nvars, int *scope) {
    DTP_TRY(
        dtp_arena_grow(l->ir->arena, (void **)&l->scopes, &l->cap_scopes, l->nscopes + 1, sizeof *l->scopes));
    l->scopes[l->nscopes] = (dtp_lower_scope_t){.parent = parent, .nvars = nvars, .begin = -1, .end = -1};
    *scope = l->nscopes++;
    return dnnl_tp_success;
}

/* v becomes pointer `index` of the current scope. */
static dnnl_tp_status_t new_pointer(dtp_lower_t *l, int v, int index) {
    int buf;
    DTP_TRY(dtp_new_buf(l, dtp_info_bytes(l->ir->values[v].info), &buf));
    l->bufs[buf].kind = DTP_BUF_VAR;
    l->bufs[buf].index = index;
    return dtp_view_set(l, v, buf, 0, NULL);
}

/* Is the scope the loop's own or inside it? */
static bool inside(const dtp_lower_t *l, int scope, int loop) {
    while (scope >= 0 && scope != loop) scope = l->scopes[scope].parent;
    return scope == loop;
}

/* A next value that must be copied: it lies in the loop, but the body, whose buffers start with number body,
 * did not write it. */
static bool needs_copy(const dtp_lower_t *l, int buf, int scope, int body) {
    const dtp_buf_t *b = &l->bufs[buf];
    if (b->kind == DTP_BUF_CONST || b->kind == DTP_BUF_INPUT || b->bytes == 0) return false;
    return inside(l, b->scope, scope) && (b->kind == DTP_BUF_VAR || buf < body);
}

static dnnl_tp_status_t next_value(dtp_lower_t *l, int v, int scope, int body, dtp_step_arg_t *arg) {
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    if (needs_copy(l, p.buf, scope, body)) {
        int buf;
        DTP_TRY(dtp_new_buf(l, dtp_info_bytes(l->ir->values[v].info), &buf));
        DTP_TRY(dtp_settle(l, v, buf));
        p.buf = buf;
        p.offset = 0;
    }
    *arg = view_arg(p);
    return dnnl_tp_success;
}

/* Variable i of a loop collects if its only reader is the scatter that makes its next value. All iterations then
 * write one buffer around the loop: the scatter of the first one copies the initial value into it, the others find
 * what they read where they write, and copy nothing. Each comes after the one before, because it reads the variable. */
static dnnl_tp_status_t collect(dtp_lower_t *l, const dtp_ir_node_t *n, int i) {
    const dtp_ir_t *ir = l->ir;
    const int var = ir->regions[n->sub[0]].inputs[i], next = n->yield[i];
    const dtp_ir_node_t *m = dtp_ir_producer(ir, next, dnnl_tp_op_scatter_nd);
    if (!m) m = dtp_ir_producer(ir, next, dnnl_tp_op_scatter_elements);
    if (!ir->fuse || !m || m->region != n->sub[1] || m->in[0] != var || ir->values[var].uses != 1 ||
        ir->values[next].uses != 1 || dtp_info_bytes(ir->values[var].info) == 0)
        return dnnl_tp_success;
    return dtp_new_buf(l, dtp_info_bytes(ir->values[var].info), &ir->values[next].dest);
}

dnnl_tp_status_t dtp_lower_while(dtp_lower_t *l, const dtp_ir_node_t *n) {
    dtp_arena_t *arena = l->ir->arena;
    const int *vars = l->ir->regions[n->sub[0]].inputs;
    int nvars = 0, around = l->scope, scope, begin, test;
    for (int i = 0; i < n->nin; ++i) nvars += n->live[i];
    dtp_step_arg_t *init = dtp_arena_alloc(arena, sizeof *init * (size_t)nvars);
    dtp_step_arg_t *next = dtp_arena_alloc(arena, sizeof *next * (size_t)nvars);
    size_t *sizes = dtp_arena_alloc(arena, sizeof *sizes * (size_t)nvars);
    if (!init || !next || !sizes) return dnnl_tp_out_of_memory;
    dtp_view_t p;
    for (int i = 0, k = 0; i < n->nin; ++i) {
        if (!n->live[i]) continue;
        DTP_TRY(dtp_view_dense(l, n->in[i], &p));
        sizes[k] = dtp_info_bytes(l->ir->values[n->in[i]].info);
        init[k++] = view_arg(p);
        DTP_TRY(collect(l, n, i));
    }
    DTP_TRY(new_scope(l, around, nvars, &scope));
    begin = l->nsteps;
    l->scopes[scope].begin = begin;
    l->scopes[scope].window = n->window;
    dtp_step_t *s;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_WHILE, nvars, &s));
    if (nvars) memcpy(s->arg, init, sizeof *init * (size_t)nvars);
    s->other = scope; /* until the end is known */

    int mark = dtp_block_begin(l);
    l->scope = scope;
    for (int i = 0, k = 0; i < n->nin; ++i)
        if (n->live[i]) DTP_TRY(new_pointer(l, vars[i], k++));
    DTP_TRY(dtp_lower_region(l, n->sub[0]));
    DTP_TRY(dtp_view_dense(l, n->cond_out, &p));
    test = l->nsteps;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_TEST, 1, &s));
    s->arg[0] = view_arg(p);
    s->work->pred_type = (int)l->ir->values[n->cond_out].info->data_type;
    int body = s->work->first_body = l->nbufs;
    DTP_TRY(dtp_lower_region(l, n->sub[1]));
    for (int i = 0, k = 0; i < n->nin; ++i)
        if (n->live[i]) DTP_TRY(next_value(l, n->yield[i], scope, body, &next[k++]));
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_NEXT, nvars, &s));
    if (nvars) memcpy(s->arg, next, sizeof *next * (size_t)nvars);
    s->other = begin;
    dtp_block_end(l, mark);

    l->scope = around;
    for (int i = 0; i < n->nout; ++i)
        if (l->ir->values[n->out[i]].uses) DTP_TRY(dtp_view_new(l, n->out[i]));
    l->scope = scope;
    int end = l->nsteps;
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_EXIT, 2 * nvars, &s));
    for (int i = 0, k = 0; i < n->nin; ++i) {
        if (!n->live[i]) continue;
        if (l->ir->values[n->out[i]].uses && sizes[k]) {
            s->arg[k] = value_arg(l, vars[i]);
            s->arg[nvars + k] = value_arg(l, n->out[i]);
            s->arg[nvars + k].written = true;
            s->work->work.bytes += 2. * (double)sizes[k];
        }
        ++k;
    }
    s->work->sizes = sizes;
    s->other = begin;
    l->scopes[scope].end = end;
    l->steps[begin]->other = l->steps[test]->other = end;
    l->scope = around;
    return dnnl_tp_success;
}

/* ---- Functions --------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_lower_call(dtp_lower_t *l, const dtp_ir_node_t *n) {
    dtp_step_t *s;
    dtp_step_arg_t *arg = dtp_arena_alloc(l->ir->arena, sizeof *arg * (size_t)(n->nin + n->nout));
    if (!arg) return dnnl_tp_out_of_memory;
    dtp_view_t p;
    for (int i = 0; i < n->nin; ++i) {
        DTP_TRY(dtp_view_dense(l, n->in[i], &p));
        arg[i] = view_arg(p);
    }
    for (int i = 0; i < n->nout; ++i) {
        DTP_TRY(dtp_view_new(l, n->out[i]));
        arg[n->nin + i] = value_arg(l, n->out[i]);
        arg[n->nin + i].written = true;
    }
    DTP_TRY(dtp_new_control(l, n, DTP_CTL_CALL, n->nin + n->nout, &s));
    if (n->nin + n->nout) memcpy(s->arg, arg, sizeof *arg * (size_t)(n->nin + n->nout));
    s->other = l->function_scope[n->sub[0]];
    return dnnl_tp_success;
}

static dnnl_tp_status_t lower_function(dtp_lower_t *l, int region) {
    const dtp_gregion_t *f = &l->ir->graph->regions[region];
    const dtp_ir_region_t *r = &l->ir->regions[region];
    int *bufs = dtp_arena_alloc(l->ir->arena, sizeof *bufs * (size_t)f->nout);
    if (!bufs) return dnnl_tp_out_of_memory;
    l->scope = l->function_scope[region];
    l->scopes[l->scope].begin = l->nsteps;
    for (int i = 0; i < f->ninputs; ++i) DTP_TRY(new_pointer(l, r->inputs[i], i));
    for (int i = 0; i < f->nout; ++i) {
        DTP_TRY(dtp_new_buf(l, dtp_info_bytes(&f->out_info[i]), &bufs[i]));
        l->bufs[bufs[i]].kind = DTP_BUF_VAR;
        l->bufs[bufs[i]].index = f->ninputs + i;
        dtp_want(l, r->out[i], region, bufs[i]);
    }
    DTP_TRY(dtp_lower_region(l, region));
    for (int i = 0; i < f->nout; ++i) DTP_TRY(dtp_settle(l, r->out[i], bufs[i]));
    dtp_step_t *s;
    l->scopes[l->scope].end = l->nsteps;
    return dtp_new_control(l, NULL, DTP_CTL_END, 0, &s);
}

dnnl_tp_status_t dtp_announce_functions(dtp_lower_t *l) {
    dtp_ir_t *ir = l->ir;
    l->function_scope = dtp_arena_alloc(ir->arena, sizeof *l->function_scope * (size_t)ir->nregions);
    if (!l->function_scope) return dnnl_tp_out_of_memory;
    for (int r = 1; r < ir->nregions; ++r) {
        if (ir->regions[r].kind != DTP_REGION_FUNCTION || !ir->regions[r].live) continue;
        const dtp_gregion_t *f = &ir->graph->regions[r];
        DTP_TRY(new_scope(l, -1, f->ninputs + f->nout, &l->function_scope[r]));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_lower_functions(dtp_lower_t *l) {
    for (int r = 1; r < l->ir->nregions; ++r)
        if (l->function_scope[r] > 0) {
            int mark = dtp_block_begin(l);
            DTP_TRY(lower_function(l, r));
            dtp_block_end(l, mark);
        }
    return dnnl_tp_success;
}
