/* Compilation: the passes in their order, the executable. */
#include "exec/compile/compile.h"

#include "common/base/with.h"
#include "exec/run/executable.h"
#include "exec/compile/emit/emit.h"
#include "exec/compile/ir/ir.h"
#include "exec/compile/memory/plan.h"
#include "exec/compile/order/schedule.h"
#include "exec/compile/slices/slice_groups.h"
#include "threading/base/parallel.h"
#include "threading/base/topology.h"
#include "threading/streams/stream_attr.h"

/* ---- The executable ---------------------------------------------------------------------------------- */

static void exec_free(dtp_object_t *obj) {
    dtp_exec_t *e = (dtp_exec_t *)obj;
    dtp_run_free_all(e);
    if (e->may_share_memory) dtp_run_memory_leave(&e->graph->store->run_memory);
    dtp_async_free_all(e);
    dtp_frames_free_all(e);
    for (int i = 0; i < e->nsteps && e->has_primitives; ++i)
        for (int k = 0; k < 2; ++k) dtp_object_release((void *)(uintptr_t)e->steps[i].work->prim[k]);
    dtp_free(e->obj.allocator, atomic_load(&e->extents));
    for (int i = 0; i < e->nown; ++i) dtp_free(e->graph->store->obj.allocator, e->own[i]);
    dtp_arena_free(&e->arena);
    dtp_object_release(e->graph);
    dtp_object_release(e->engine);
}

/* Which folded constants steps read, so that they stay; their data has to be there. */
static dnnl_tp_status_t find_read(dtp_lower_t *l) {
    dtp_ir_t *ir = l->ir;
    for (int i = 0; i < l->nbufs; ++i) {
        const dtp_buf_t *b = &l->bufs[i];
        if (b->kind != DTP_BUF_CONST || b->first < 0 || !b->bytes) continue;
        ir->lacks |= !b->data;
        for (int k = 0; k < ir->nfolded; ++k)
            ir->folded[k].is_read |=
                atomic_load_explicit(&ir->folded[k].entry->data, memory_order_relaxed) == b->data;
        for (int k = 0; k < ir->nown; ++k) ir->own[k].is_read |= ir->own[k].data == b->data;
    }
    return ir->lacks ? dnnl_tp_runtime_error : dnnl_tp_success;
}

/* Constants of this executable alone stay if steps read them. */
static dnnl_tp_status_t keep_own(dtp_exec_t *e, dtp_ir_t *ir) {
    if (!ir->nown) return dnnl_tp_success;
    e->own = dtp_arena_alloc(&e->arena, sizeof *e->own * (size_t)ir->nown);
    if (!e->own) return dnnl_tp_out_of_memory;
    for (int i = 0; i < ir->nown; ++i) {
        if (!ir->own[i].is_read) continue;
        e->own[e->nown++] = ir->own[i].data;
        ir->own[i].data = NULL;
    }
    return dnnl_tp_success;
}

/* Constants that steps use, in memory of an engine that does not read the host's. */
static dnnl_tp_status_t upload_constants(dtp_lower_t *l) {
    dtp_graph_t *g = l->ir->graph;
    dnnl_tp_status_t status = dnnl_tp_success;
    for (int i = 0; i < l->nbufs && status == dnnl_tp_success; ++i) {
        dtp_buf_t *b = &l->bufs[i];
        if (b->kind != DTP_BUF_CONST || b->first < 0 || !b->bytes) continue;
        status = dtp_graph_upload(g, l->engine, b->data, b->bytes, &b->data);
    }
    return status;
}

/* Where arrays of bases stand that the host keeps (by_stream.c). */
static void place_heads(dtp_exec_t *e) {
    for (int i = 0; i < e->nscopes; ++i)
        e->scopes[i].heads_bytes = e->scopes[i].is_function ? dtp_scope_head(&e->scopes[i]) : 0;
    for (int i = 0; i < e->nscopes; ++i) {
        dtp_scope_t *s = &e->scopes[i], *around = s;
        if (s->parent < 0) continue;
        while (around->parent >= 0) around = &e->scopes[around->parent];
        s->heads_at = around->heads_bytes;
        around->heads_bytes += 2 * dtp_scope_head(s);
    }
}

/* The error word stands behind the buffers. */
static void place_error(dtp_exec_t *e) {
    for (int i = 0; i < e->nsteps && !e->checks_data; ++i) {
        const dtp_primitive_t *p = e->steps[i].work->prim[0];
        e->checks_data = p && p->pd->checks_data;
    }
    if (!e->checks_data) return;
    e->error_at = dtp_round_up_size(e->memory_bytes, DTP_CACHE_LINE);
    e->memory_bytes = e->error_at + sizeof(dtp_data_error_t);
}

static dnnl_tp_status_t refuse_closures(const dtp_lower_t *l) {
    for (int i = 0; i < l->nsteps && l->nhosts; ++i)
        if (l->steps[i]->host)
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME,
                            "operator '%s' (host): closures cannot read memory of %s", l->steps[i]->name,
                            l->engine->v->name);
    return dnnl_tp_success;
}

static dnnl_tp_status_t keep_infos(dtp_exec_t *e, const dtp_ir_t *ir) {
    const dnnl_tp_tensor_info_t **infos = dtp_arena_alloc(&e->arena, sizeof *infos * (size_t)ir->nvalues);
    if (!infos) return dnnl_tp_out_of_memory;
    e->nvalues = ir->graph->nvalues;
    for (int i = 0; i < ir->nvalues; ++i) infos[i] = ir->values[i].info;
    e->infos = infos;
    return dnnl_tp_success;
}

/* Members that older structs lack. */
static const void *const *values_of(const dnnl_tp_compile_opts_t *opts) {
    return opts && opts->struct_size > offsetof(dnnl_tp_compile_opts_t, in_values) ? opts->in_values : NULL;
}
static dnnl_tp_fpmath_mode_t fpmath_of(const dnnl_tp_compile_opts_t *opts) {
    return opts && opts->struct_size == sizeof *opts ? opts->fpmath_mode : dnnl_tp_fpmath_mode_strict;
}

/* Runs have to pass the values of inputs that the executable was compiled for. */
static dnnl_tp_status_t keep_values(dtp_exec_t *e, const dtp_ir_t *ir, const void *const *values) {
    if (!values) return dnnl_tp_success;
    dtp_exec_value_t *kept = dtp_arena_alloc(&e->arena, sizeof *kept * (size_t)e->nin);
    if (!kept) return dnnl_tp_out_of_memory;
    const int32_t *inputs = ir->selection ? ir->selection->feeds : ir->graph->inputs;
    for (int i = 0; i < e->nin; ++i) {
        const dtp_ir_value_t *v = &ir->values[inputs[i]];
        if (values[i]) kept[e->nvalues_in++] = (dtp_exec_value_t){i, dtp_info_bytes(v->info), v->data};
    }
    e->values_in = kept;
    return dnnl_tp_success;
}

static dnnl_tp_status_t passes(dtp_exec_t *e, dtp_ir_t *ir, dtp_lower_t *lower,
                               const dtp_selection_t *selection, int nin,
                               const dnnl_tp_tensor_info_t *in_shapes, const dnnl_tp_compile_opts_t *opts) {
    /* Of a graph with many nodes, about: */
    enum { NODE_BYTES = 512, EXEC_BYTES = 192 };
    DTP_TRY(dtp_arena_expect(ir->arena, NODE_BYTES * (size_t)ir->graph->nnodes));
    DTP_TRY(dtp_arena_expect(&e->arena, EXEC_BYTES * (size_t)ir->graph->nnodes));
    if (selection) DTP_TRY(dtp_ir_select(ir, selection));
    DTP_TRY(dtp_ir_import(ir, nin, in_shapes, values_of(opts)));
    DTP_TRY(keep_values(e, ir, values_of(opts)));
    DTP_TRY(keep_infos(e, ir));
    dtp_ir_sweep(ir);
    DTP_TRY(dtp_ir_fold(ir));
    if (ir->fuse && ir->nops) {
        DTP_TRY(dtp_fuse_pad(ir));
        DTP_TRY(dtp_fuse_rows(ir));
        DTP_TRY(dtp_fuse_gelu(ir));
        DTP_TRY(dtp_fuse_swish(ir));
        DTP_TRY(dtp_fuse_norm(ir));
        DTP_TRY(dtp_fuse_attention(ir));
        DTP_TRY(dtp_fuse_post_ops(ir));
        DTP_TRY(dtp_fuse_parts(ir));
    }
    if (ir->nops && fpmath_of(opts) == dnnl_tp_fpmath_mode_bf16) DTP_TRY(dtp_ir_use_bf16(ir));
    if (ir->fuse && ir->nops) DTP_TRY(dtp_fuse_flatten(ir));
    DTP_TRY(dtp_lower(lower));
    dtp_arena_drop(ir->arena, ir->values, sizeof *ir->values * (size_t)ir->nvalues);
    dtp_arena_drop(ir->arena, ir->nodes, sizeof *ir->nodes * (size_t)ir->cap_nodes);
    ir->values = NULL;
    ir->nodes = NULL;
    if (e->by_stream) DTP_TRY(refuse_closures(lower));
    DTP_TRY(dtp_slice_groups(e, lower));
    DTP_TRY(dtp_create_steps(lower, e->num_threads));
    unsigned options = opts && opts->deterministic ? DTP_SCHEDULE_ORDERED : 0;
    if (opts && (opts->flags & DNNL_TP_COMPILE_NO_CLUSTERS)) options |= DTP_SCHEDULE_ALL;
    for (int i = 0; i < lower->nsteps && ir->may_pend; ++i) /* of those that run */
        if (lower->steps[i]->host) {
            e->may_pend |= lower->steps[i]->host->flags != 0;
            e->may_wait |= (lower->steps[i]->host->flags & DNNL_TP_HOST_MAY_WAIT) != 0;
        }
    e->always_dataflow = e->may_pend || (options & DTP_SCHEDULE_ALL) != 0;
    DTP_TRY(dtp_emit_scopes(e, lower));
    if (!e->by_stream) DTP_TRY(dtp_schedule_choose(e, lower, options));
    dtp_orderings_t orderings;
    DTP_TRY(dtp_orderings_derive(&orderings, e, lower));
    DTP_TRY(dtp_pack_constants(lower));
    DTP_TRY(find_read(lower));
    DTP_TRY(keep_own(e, ir));
    if (e->by_stream) {
        DTP_TRY(upload_constants(lower));
        place_heads(e);
    }
    DTP_TRY(dtp_plan(e, lower, &orderings, opts ? opts->memory_budget : 0));
    DTP_TRY(dtp_schedule_build(e, lower, &orderings, options));
    if (e->by_stream) place_error(e);
    return e->by_stream ? dnnl_tp_success : dtp_frames_init(e);
}

static int resolve_threads(dnnl_tp_engine_t engine, const dnnl_tp_compile_opts_t *opts) {
    uint64_t flags;
    int n = opts && opts->stream_attr ? dtp_stream_attr_run_threads(opts->stream_attr, &flags) : 0;
    if (!n) n = engine->num_threads;
    if (!n && engine->stream_attr) n = dtp_stream_attr_run_threads(engine->stream_attr, &flags);
    if (!n) n = dtp_process_num_threads();
    return n < 1 ? 1 : n > DTP_MAX_THREADS ? DTP_MAX_THREADS : n;
}

static dnnl_tp_status_t check_opts(const dnnl_tp_compile_opts_t *o, dnnl_tp_engine_t engine) {
    if (!o) return dnnl_tp_success;
    const size_t oldest = offsetof(dnnl_tp_compile_opts_t, in_values),
                 older = offsetof(dnnl_tp_compile_opts_t, fpmath_mode);
    DTP_REQUIRE(o->struct_size == sizeof *o || o->struct_size == older || o->struct_size == oldest,
                BAD_STRUCT_SIZE, "compile options have %zu bytes, needed are %zu, %zu or %zu", o->struct_size,
                sizeof *o, older, oldest);
    const dnnl_tp_fpmath_mode_t mode = fpmath_of(o);
    DTP_REQUIRE((unsigned)mode <= dnnl_tp_fpmath_mode_tf32, BAD_ENUM, "fpmath_mode is %d", (int)mode);
    if (mode == dnnl_tp_fpmath_mode_f16 || mode == dnnl_tp_fpmath_mode_any)
        return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_ATTR,
                        "fpmath_mode is %s; graphs are compiled for strict, bf16 and tf32",
                        dnnl_tp_fpmath_mode2str(mode));
    const unsigned known =
        DNNL_TP_COMPILE_NO_FUSION | DNNL_TP_COMPILE_NO_CLUSTERS | DNNL_TP_COMPILE_REFUSE_REFERENCE;
    DTP_REQUIRE((o->flags & ~known) == 0, BAD_FLAGS, "flags of compile options are %u", o->flags);
    DTP_REQUIRE(o->deterministic == 0 || o->deterministic == 1, BAD_PARAM, "deterministic is %d",
                o->deterministic);
    DTP_REQUIRE(o->reserved_runs >= 0 && o->reserved_runs <= DTP_MAX_RESERVED_RUNS, BAD_COUNT,
                "reserved_runs is %d, not 0..%d", o->reserved_runs, DTP_MAX_RESERVED_RUNS);
    if (o->stream_attr) {
        DTP_REQUIRE_HANDLE(o->stream_attr, DTP_OBJ_STREAM_ATTR);
        DTP_REQUIRE(o->stream_attr->kind == engine->v->kind, BAD_ENGINE, "stream_attr is not of a %s",
                    dnnl_tp_engine_kind2str(engine->v->kind));
    }
    return dnnl_tp_success;
}

/* remakes: also what the store has let go. */
static dnnl_tp_status_t compile(dnnl_tp_executable_t *executable, dtp_graph_t *g, dnnl_tp_engine_t engine,
                                int num_threads, const dtp_selection_t *selection, int nin,
                                const dnnl_tp_tensor_info_t *in_shapes, const dnnl_tp_compile_opts_t *opts,
                                bool remakes) {
    dtp_exec_t *e = dtp_object_create(engine->allocator, sizeof *e, DTP_OBJ_EXECUTABLE, exec_free);
    if (!e) return dtp_no_memory(sizeof *e);
    atomic_fetch_add_explicit(&g->frozen, 1, memory_order_relaxed);
    dtp_arena_t arena;
    dtp_arena_init(&arena, engine->allocator);
    dtp_arena_init(&e->arena, engine->allocator);
    e->graph = dtp_object_retain(g);
    e->engine = dtp_object_retain(engine);
    e->device = engine->device;
    e->by_stream = !dtp_engine_can(engine, DTP_ENGINE_HOST_READABLE);
    e->may_share_memory =
        DTP_WITH_LENDING && !e->by_stream && dtp_run_memory_enter(&g->store->run_memory, engine->allocator);
    e->num_threads = num_threads;
    e->nin = selection ? selection->nfeeds : g->ninputs;
    e->nout = selection ? selection->nfetches : g->noutputs;
    bool fuse = !(opts && (opts->flags & DNNL_TP_COMPILE_NO_FUSION));
    dtp_ir_t ir = {.arena = &arena,
                   .info_arena = &e->arena,
                   .graph = g,
                   .engine = engine,
                   .fuse = fuse,
                   .remakes = remakes};
    dtp_lower_t lower = {.ir = &ir,
                         .engine = engine,
                         .num_threads = e->num_threads,
                         .tf32 = fpmath_of(opts) == dnnl_tp_fpmath_mode_tf32,
                         .refuse_reference = opts && (opts->flags & DNNL_TP_COMPILE_REFUSE_REFERENCE)};
    dnnl_tp_status_t status = dnnl_tp_success;
    if (!e->by_stream) ir.host = dtp_object_retain(engine);
    else status = dnnl_tp_engine_create(&ir.host, dnnl_tp_cpu, 0);
    if (status == dnnl_tp_success) status = passes(e, &ir, &lower, selection, nin, in_shapes, opts);
    /* The plan took over the primitives of the steps that it kept. */
    for (int i = 0; i < lower.nsteps && lower.nproblems; ++i)
        for (int k = 0; k < 2; ++k) dtp_object_release(lower.steps[i]->work->prim[k]);
    for (int i = 0; i < ir.nfolded; ++i)
        dtp_store_unpin(g->store, ir.folded[i].entry, status == dnnl_tp_success && ir.folded[i].is_read);
    for (int i = 0; i < ir.nown; ++i) dtp_free(g->store->obj.allocator, ir.own[i].data);
    dtp_arena_free(&arena);
    if (e->by_stream) (void)dnnl_tp_engine_destroy(ir.host); /* with what it has in the cache of primitives */
    else dtp_object_release(ir.host);
    /* Where that memory is large, and nothing keeps pointers into it from run to run, as loops do. */
    e->shares_memory = e->may_share_memory && e->nscopes <= 1 && e->memory_bytes >= DTP_RUN_MEMORY_MIN;
    if (status == dnnl_tp_success) status = dtp_run_reserve(e, opts ? opts->reserved_runs : 0);
    if (status == dnnl_tp_success)
        status = dtp_frames_reserve(e, opts && opts->reserved_runs ? opts->reserved_runs : 1);
    if (status != dnnl_tp_success) {
        atomic_fetch_sub_explicit(&g->frozen, 1, memory_order_relaxed);
        dtp_object_release(e);
        return ir.lacks && !remakes
                   ? compile(executable, g, engine, num_threads, selection, nin, in_shapes, opts, true)
                   : status;
    }
    *executable = e;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_compile(dnnl_tp_executable_t *executable, dtp_graph_t *graph, dnnl_tp_engine_t engine,
                             int num_threads, const dtp_selection_t *selection,
                             const dnnl_tp_tensor_info_t *infos, const dnnl_tp_compile_opts_t *opts) {
    *executable = NULL;
    return compile(executable, graph, engine, num_threads, selection, selection->nfeeds, infos, opts, false);
}

dnnl_tp_status_t dnnl_tp_executable_compile(dnnl_tp_executable_t *executable, const_dnnl_tp_graph_t graph,
                                            dnnl_tp_engine_t engine, int nin,
                                            const dnnl_tp_tensor_info_t *in_shapes,
                                            const dnnl_tp_compile_opts_t *opts) {
    DTP_REQUIRE(executable, NULL_ARG, "executable is NULL");
    *executable = NULL;
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    DTP_REQUIRE(graph->region == 0, GRAPH_REGION, "a region or function is compiled with its graph");
    DTP_TRY(check_opts(opts, engine));
    dnnl_tp_status_t status = compile(executable, graph->root, engine, resolve_threads(engine, opts), NULL,
                                      nin, in_shapes, opts, false);
    if (status != dnnl_tp_success) dtp_failed_for(graph->root->name);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_executable_query(const_dnnl_tp_executable_t executable, dnnl_tp_value_t value,
                                          dnnl_tp_tensor_info_t *info) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    DTP_REQUIRE(info, NULL_ARG, "info is NULL");
    DTP_REQUIRE(value >= 0 && value < executable->nvalues, GRAPH_BAD_VALUE, "value is %d, the graph has %d",
                (int)value, executable->nvalues);
    *info = *executable->infos[value];
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_executable_memory(const_dnnl_tp_executable_t executable,
                                           dnnl_tp_executable_memory_t *memory) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    DTP_REQUIRE(memory, NULL_ARG, "memory is NULL");
    DTP_REQUIRE(memory->struct_size == sizeof *memory, BAD_STRUCT_SIZE, "struct_size is %zu, needed is %zu",
                memory->struct_size, sizeof *memory);
    *memory = (dnnl_tp_executable_memory_t){.struct_size = sizeof *memory,
                                            .run = executable->memory_bytes,
                                            .peak = executable->placed_bytes,
                                            .sum = executable->sum_bytes,
                                            .least = executable->least_bytes};
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_executable_reserve(dnnl_tp_executable_t executable, int runs) {
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    DTP_REQUIRE(runs >= 1 && runs <= DTP_MAX_RESERVED_RUNS, BAD_COUNT, "runs is %d, not 1..%d", runs,
                DTP_MAX_RESERVED_RUNS);
    DTP_TRY(dtp_run_reserve(executable, runs));
    DTP_RETURN(dtp_frames_reserve(executable, runs));
}

dnnl_tp_status_t dnnl_tp_executable_destroy(dnnl_tp_executable_t executable) {
    if (!executable) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(executable, DTP_OBJ_EXECUTABLE);
    dtp_object_release(executable);
    return dnnl_tp_success;
}
