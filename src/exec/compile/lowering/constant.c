/* Evaluation of operators on constants, while a graph is compiled. */
#include "exec/compile/lowering/lower.h"

#include "threading/base/parallel.h"

/* Runs steps on this thread with buffers of their own, but for those of results: their data is there where a step
 * writes the whole of it, elsewhere it is copied. */
static dnnl_tp_status_t run_steps(dtp_lower_t *lower, int n, const dtp_view_t *result, const size_t *bytes,
                                  void *const *data) {
    dtp_arena_t *arena = lower->ir->arena;
    static const dtp_parallel_t alone = {.num_threads = 1};
    char **at = dtp_arena_alloc(arena, sizeof *at * (size_t)lower->nbufs);
    if (!at) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) {
        const dtp_buf_t *b = &lower->bufs[result[i].buf];
        if (b->kind != DTP_BUF_CONST && b->bytes == bytes[i]) at[result[i].buf] = data[i];
    }
    for (int i = 0; i < lower->nbufs; ++i) {
        dtp_buf_t *b = &lower->bufs[i];
        if (at[i]) continue;
        at[i] = b->kind == DTP_BUF_CONST ? (char *)(uintptr_t)b->data
                                         : dtp_arena_alloc(arena, b->bytes + DTP_CACHE_LINE);
        if (!at[i]) return dnnl_tp_out_of_memory;
        if (b->kind != DTP_BUF_CONST) at[i] = (char *)dtp_round_up_size((size_t)at[i], DTP_CACHE_LINE);
    }
    for (int i = 0; i < lower->nsteps; ++i) {
        dtp_step_t *s = lower->steps[i];
        void *ptr[DTP_GRAPH_MAX_ARGS + 2 * DTP_IR_MAX_POST + 1];
        DTP_TRY(dtp_step_create(lower, s, 0, 0, 1, 0));
        for (int k = 0; k < s->nargs + s->npost_args; ++k)
            ptr[k] = s->arg[k].buf < 0 ? NULL : at[s->arg[k].buf] + s->arg[k].offset;
        char *scratch = dtp_arena_alloc(arena, dtp_pd_scratch_size(s->work->prim[0]->pd) + DTP_CACHE_LINE);
        if (!scratch) return dnnl_tp_out_of_memory;
        scratch = (char *)dtp_round_up_size((size_t)scratch, DTP_CACHE_LINE);
        dnnl_tp_status_t status = dtp_primitive_run(s->work->prim[0], &alone, ptr, NULL, scratch, -1);
        if (status != dnnl_tp_success)
            return dtp_fail(status, dtp_last_reason(), "operator '%s' (%s): %s", s->name, s->kind,
                            dtp_last_detail());
    }
    for (int i = 0; i < n; ++i) {
        const char *from = at[result[i].buf] + result[i].offset;
        if (bytes[i] && from != data[i]) memcpy(data[i], from, bytes[i]);
    }
    return dnnl_tp_success;
}

static void forget(dtp_ir_value_t *v) { v->buf = v->dense_buf = v->last_buf = -1; }
/* Whoever reads these values next finds plain constants again. */
static void forget_all(dtp_ir_t *ir, const dtp_ir_node_t *n) {
    for (int i = 0; i < n->nin; ++i)
        if (n->in[i] >= 0) forget(&ir->values[n->in[i]]);
    for (int i = 0; i < n->nout; ++i) forget(&ir->values[n->out[i]]);
}

dnnl_tp_status_t dtp_constant_parts(dtp_ir_t *ir, int node, const void **data, bool *are_parts) {
    dtp_ir_node_t *n = &ir->nodes[node];
    dtp_lower_t lower = {.ir = ir, .engine = ir->host, .num_threads = 1, .at_once = true};
    const dnnl_tp_status_t status = dtp_lower_op(&lower, n);
    *are_parts = status == dnnl_tp_success && lower.nsteps == 0;
    for (int i = 0; i < n->nout && *are_parts; ++i) {
        const dtp_ir_value_t *v = &ir->values[n->out[i]];
        const dtp_buf_t *b = &lower.bufs[v->buf];
        *are_parts = b->kind == DTP_BUF_CONST && dtp_view_is_dense(v);
        if (*are_parts) data[i] = (const char *)b->data + v->offset;
    }
    forget_all(ir, n);
    return status;
}

dnnl_tp_status_t dtp_lower_constant(dtp_ir_t *ir, int node, const size_t *bytes, void *const *data) {
    dtp_ir_node_t *n = &ir->nodes[node];
    dtp_lower_t lower = {.ir = ir, .engine = ir->host, .num_threads = 1, .at_once = true};
    dtp_view_t views[DTP_GRAPH_MAX_ARGS];
    dnnl_tp_status_t status = dtp_lower_op(&lower, n);
    for (int i = 0; i < n->nout && status == dnnl_tp_success; ++i)
        status = dtp_view_dense(&lower, n->out[i], &views[i]);
    if (status == dnnl_tp_success) status = run_steps(&lower, n->nout, views, bytes, data);
    for (int i = 0; i < lower.nsteps; ++i) dtp_object_release(lower.steps[i]->work->prim[0]);
    forget_all(ir, n);
    return status;
}
