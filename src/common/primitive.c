/* Primitives: creation through the cache, and the checks in front of every execution. */
#include "common/primitive_desc.h"

#include "common/memory.h"
#include "common/primitive_cache.h"
#include "common/verbose_text.h"

static void primitive_destroy(dtp_object_t *obj) {
    dtp_primitive_t *p = (dtp_primitive_t *)obj;
    for (size_t i = 0; i < sizeof p->prepared / sizeof *p->prepared; ++i)
        dtp_free(p->pd->engine->allocator, p->prepared[i]);
    dtp_object_release(p->pd);
}

static dnnl_tp_status_t make_primitive(dtp_primitive_t **out, const dtp_pd_t *pd) {
    dtp_primitive_t *p =
        dtp_object_create(pd->engine->allocator, sizeof *p, DTP_OBJ_PRIMITIVE, primitive_destroy);
    if (!p) return dnnl_tp_out_of_memory;
    /* A pd can change by next_impl, a primitive's must not: it gets its own. */
    dnnl_tp_status_t status = dnnl_tp_primitive_desc_clone(&p->pd, pd);
    if (status) {
        p->obj.destroy = NULL;
        dtp_object_release(p);
        return status;
    }
    if (p->pd->impl->prepare) status = p->pd->impl->prepare(p);
    if (status) dtp_object_release(p);
    else *out = p;
    return status;
}

dnnl_tp_status_t dnnl_tp_primitive_create(dnnl_tp_primitive_t *primitive,
                                          const_dnnl_tp_primitive_desc_t primitive_desc) {
    DTP_REQUIRE(primitive, NULL_ARG, "primitive");
    *primitive = NULL;
    DTP_REQUIRE_HANDLE(primitive_desc, DTP_OBJ_PD);
    bool verbose = dtp_verbose_on(DTP_VERBOSE_CREATE), hit;
    double start = verbose ? dtp_now_ms() : 0;
    DTP_TRY(dtp_cache_get(primitive, primitive_desc, make_primitive, &hit));
    if (verbose)
        dtp_verbose_primitive(hit ? "create:cache_hit" : "create:cache_miss", primitive_desc,
                              dtp_now_ms() - start);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_destroy(dnnl_tp_primitive_t primitive) {
    if (!primitive) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(primitive, DTP_OBJ_PRIMITIVE);
    dtp_object_release(primitive);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_get_primitive_desc(const_dnnl_tp_primitive_t primitive,
                                                      const_dnnl_tp_primitive_desc_t *primitive_desc) {
    DTP_REQUIRE(primitive_desc, NULL_ARG, "primitive_desc");
    *primitive_desc = NULL;
    DTP_REQUIRE_HANDLE(primitive, DTP_OBJ_PRIMITIVE);
    *primitive_desc = primitive->pd;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_primitive_run_verbose(const dtp_primitive_t *primitive, const dtp_exec_ctx_t *ctx) {
    double start = dtp_now_ms();
    dnnl_tp_status_t status = primitive->pd->impl->execute(primitive->pd, ctx);
    dtp_verbose_primitive("exec", primitive->pd, dtp_now_ms() - start);
    return status;
}

/* ---- Checks before execution ------------------------------------------------------------------------- */

/* A memory whose descriptor has run-time values, or that does not pass. */
static __attribute__((noinline)) dnnl_tp_status_t check_memory_fully(const dtp_pd_t *pd, int i,
                                                                     const struct dnnl_tp_memory *memory) {
    const dtp_md_t *want = pd->args[i].md, *got = &memory->md;
    DTP_REQUIRE(got->data_type == want->data_type, MEMORY_MISMATCH,
                "argument %d: data type is %s, needed is %s", pd->args[i].arg, dnnl_tp_dt2str(got->data_type),
                dnnl_tp_dt2str(want->data_type));
    if (pd->arg_bytes[i] != 0) {
        DTP_REQUIRE(memory->bytes >= pd->arg_bytes[i], MEMORY_MISMATCH,
                    "argument %d: memory has %zu bytes, needed are %zu", pd->args[i].arg, memory->bytes,
                    pd->arg_bytes[i]);
        return dnnl_tp_success;
    }
    if (!dtp_md_has_runtime(want)) return dnnl_tp_success; /* empty */
    bool fits = got->ndims == want->ndims && got->inner_nblks == want->inner_nblks;
    for (int d = 0; fits && d < want->ndims; ++d)
        fits = (want->dims[d] == DNNL_TP_RUNTIME_DIM_VAL || want->dims[d] == got->dims[d]) &&
               (want->strides[d] == DNNL_TP_RUNTIME_DIM_VAL || got->dims[d] == 1 ||
                want->strides[d] == got->strides[d]);
    DTP_REQUIRE(fits, MEMORY_MISMATCH, "argument %d does not fit the run-time descriptor", pd->args[i].arg);
    return dnnl_tp_success;
}

/* The descriptor of a passed memory against that of the pd, whose run-time values it fills in. */
static inline dnnl_tp_status_t check_memory(const dtp_pd_t *pd, int i, const struct dnnl_tp_memory *memory) {
    if (DTP_LIKELY(memory->bytes >= pd->arg_bytes[i] && (int)memory->md.data_type == pd->arg_type[i]))
        return dnnl_tp_success;
    return check_memory_fully(pd, i, memory);
}

/* Outputs must not share memory with anything, but for the pairs that may: in place, and post-op tensors at
 * the very same address. */
static inline dnnl_tp_status_t check_aliases(const dtp_pd_t *pd, void *const *ptrs) {
    const uint8_t *present = pd->present, *end = present + pd->n_present;
    const size_t *bytes = pd->arg_bytes;
    for (const uint8_t *out = present; out < present + pd->n_outputs; ++out) {
        const char *first = ptrs[*out], *last = first + bytes[*out];
        for (const uint8_t *k = out + 1; k < end; ++k) {
            const int i = *k;
            const char *p = ptrs[i];
            if (DTP_LIKELY(p >= last || p + bytes[i] <= first)) continue;
            bool in_place = p == first && (i == pd->info->inplace || i >= pd->post_op_arg);
            DTP_REQUIRE(in_place, ALIAS, "arguments %d and %d", pd->args[i].arg, pd->args[*out].arg);
        }
    }
    return dnnl_tp_success;
}

/* Pointers before the arguments are read; a copy of fixed size needs no call. */
static inline void clear_ptrs(void **ptrs, int n) {
    enum { USUAL = 8 };
    memset(ptrs, 0, USUAL * sizeof *ptrs);
    if (DTP_UNLIKELY(n > USUAL)) memset(ptrs + USUAL, 0, sizeof *ptrs * (size_t)(n - USUAL));
}

/* Every argument that the problem has must be there; then run. */
static inline dnnl_tp_status_t finish(const dtp_primitive_t *primitive, dnnl_tp_stream_t stream, void **ptrs,
                                      const dtp_md_t *const *mds, void *scratch) {
    const dtp_pd_t *pd = primitive->pd;
    for (const uint8_t *k = pd->present, *end = k + pd->n_present; k < end; ++k)
        DTP_REQUIRE(ptrs[*k], MISSING_ARG, "argument %d", pd->args[*k].arg);
    DTP_REQUIRE(scratch || pd->scratch_md.ndims == 0, MISSING_ARG, "scratchpad memory of %zu bytes",
                dtp_md_size(&pd->scratch_md));
    if (pd->is_empty) return dnnl_tp_success;
    DTP_TRY(check_aliases(pd, ptrs));
    ptrs[pd->nargs] = scratch;
    return stream->v->execute(stream, primitive, pd->nargs, ptrs, mds);
}

static inline dnnl_tp_status_t check_execute(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream,
                                             int nargs, const void *args) {
    DTP_REQUIRE_HANDLE(primitive, DTP_OBJ_PRIMITIVE);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_REQUIRE(stream->engine == primitive->pd->engine, BAD_ENGINE,
                "the stream is of another engine object");
    DTP_REQUIRE(nargs >= 0 && (nargs == 0 || args), NULL_ARG, "%d arguments at %s", nargs,
                args ? "an address" : "NULL");
    return dnnl_tp_success;
}

/* Pointers by dense index, and descriptors unless mds is NULL. */
static inline __attribute__((always_inline)) dnnl_tp_status_t collect(const dtp_pd_t *pd, int nargs,
                                                                      const dnnl_tp_exec_arg_t *args,
                                                                      void **ptrs, const dtp_md_t **mds,
                                                                      void **scratch) {
    for (const dnnl_tp_exec_arg_t *a = args, *end = args + nargs; a < end; ++a) {
        const struct dnnl_tp_memory *memory = a->memory;
        if (!memory) continue;
        DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
        int arg = a->arg, i = dtp_pd_arg_index(pd, arg);
        if (DTP_UNLIKELY(i < 0)) {
            if (arg != DNNL_TP_ARG_SCRATCHPAD || dtp_md_is_zero(&pd->scratch_md)) continue;
            DTP_REQUIRE(!*scratch, DUPLICATE_ARG, "argument %d", arg);
            DTP_REQUIRE(memory->bytes >= dtp_md_size(&pd->scratch_md), MEMORY_MISMATCH,
                        "scratchpad has %zu bytes, needed are %zu", memory->bytes,
                        dtp_md_size(&pd->scratch_md));
            *scratch = memory->handle;
            continue;
        }
        DTP_REQUIRE(!ptrs[i], DUPLICATE_ARG, "argument %d", arg);
        DTP_TRY(check_memory(pd, i, memory));
        ptrs[i] = memory->handle;
        if (mds) mds[i] = &memory->md;
    }
    return dnnl_tp_success;
}

static __attribute__((noinline)) dnnl_tp_status_t execute_runtime(const dtp_primitive_t *primitive,
                                                                  dnnl_tp_stream_t stream, int nargs,
                                                                  const dnnl_tp_exec_arg_t *args) {
    const dtp_pd_t *pd = primitive->pd;
    void *ptrs[DTP_MAX_PD_ARGS + 1], *scratch = NULL;
    const dtp_md_t *mds[DTP_MAX_PD_ARGS + 1];
    clear_ptrs(ptrs, pd->nargs + 1);
    memset(mds, 0, sizeof *mds * (size_t)(pd->nargs + 1));
    DTP_TRY(collect(pd, nargs, args, ptrs, mds, &scratch));
    for (int i = 0; i < pd->nargs; ++i) {
        DTP_REQUIRE(mds[i] || dtp_md_is_zero(pd->args[i].md), MISSING_ARG, "argument %d", pd->args[i].arg);
        DTP_REQUIRE(!mds[i] || ptrs[i] || dtp_md_nelems(mds[i]) == 0, MISSING_ARG,
                    "argument %d has no buffer", pd->args[i].arg);
    }
    if (pd->info->kind == dnnl_tp_matmul) DTP_TRY(dtp_matmul_check_runtime(mds));
    else if (pd->info->kind == dnnl_tp_reorder)
        DTP_REQUIRE(dtp_md_same_dims(mds[DTP_REORDER_SRC], mds[DTP_REORDER_DST]), RUNTIME_INCONSISTENT,
                    "src and dst differ");
    return finish(primitive, stream, ptrs, mds, scratch);
}

dnnl_tp_status_t dnnl_tp_primitive_execute(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream,
                                           int nargs, const dnnl_tp_exec_arg_t *args) {
    DTP_TRY(check_execute(primitive, stream, nargs, args));
    const dtp_pd_t *pd = primitive->pd;
    if (DTP_UNLIKELY(pd->has_runtime)) return execute_runtime(primitive, stream, nargs, args);
    void *ptrs[DTP_MAX_PD_ARGS + 1], *scratch = NULL;
    clear_ptrs(ptrs, pd->nargs + 1);
    DTP_TRY(collect(pd, nargs, args, ptrs, NULL, &scratch));
    return finish(primitive, stream, ptrs, NULL, scratch);
}

dnnl_tp_status_t dnnl_tp_primitive_execute_handles(const_dnnl_tp_primitive_t primitive,
                                                   dnnl_tp_stream_t stream, int nargs,
                                                   const dnnl_tp_exec_handle_t *args) {
    DTP_TRY(check_execute(primitive, stream, nargs, args));
    const dtp_pd_t *pd = primitive->pd;
    DTP_REQUIRE(!pd->has_runtime, RUNTIME_NOT_ALLOWED, "plain pointers carry no dimensions");
    void *ptrs[DTP_MAX_PD_ARGS + 1], *scratch = NULL;
    clear_ptrs(ptrs, pd->nargs + 1);
    for (int a = 0; a < nargs; ++a) {
        if (!args[a].handle) continue;
        int arg = args[a].arg, i = dtp_pd_arg_index(pd, arg);
        void **at = i >= 0 ? &ptrs[i] : arg == DNNL_TP_ARG_SCRATCHPAD ? &scratch : NULL;
        if (!at) continue;
        DTP_REQUIRE(!*at, DUPLICATE_ARG, "argument %d", arg);
        *at = args[a].handle;
    }
    return finish(primitive, stream, ptrs, NULL, scratch);
}
