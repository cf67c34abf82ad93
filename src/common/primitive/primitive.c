/* Primitives: creation through the cache, and the checks in front of every execution. */
#include "common/primitive/primitive_desc.h"

#include "common/primitive/memory.h"
#include "common/primitive/primitive_cache.h"
#include "common/primitive/verbose_text.h"

#include <stdio.h>

static void primitive_destroy(dtp_object_t *obj) {
    dtp_primitive_t *p = (dtp_primitive_t *)obj;
    const dtp_impl_constants_t *constants = p->pd->impl->constants;
    if (constants && constants->unprepare) constants->unprepare(p);
    for (size_t i = 0; i < sizeof p->prepared / sizeof *p->prepared; ++i)
        dtp_free(p->pd->engine->allocator, p->prepared[i]);
    dtp_object_release(p->pd);
}

static dnnl_tp_status_t make(dtp_primitive_t **out, const dtp_pd_t *pd, bool clones) {
    dnnl_tp_status_t status = dnnl_tp_success;
    dtp_primitive_t *p =
        dtp_object_create(pd->engine->allocator, sizeof *p, DTP_OBJ_PRIMITIVE, primitive_destroy);
    if (!p) return dnnl_tp_out_of_memory;
    if (clones) status = dnnl_tp_primitive_desc_clone(&p->pd, pd);
    else p->pd = dtp_object_retain((dtp_pd_t *)(uintptr_t)pd);
    if (status) {
        p->obj.destroy = NULL;
        dtp_object_release(p);
        return status;
    }
    if (p->pd->impl->constants) status = p->pd->impl->constants->prepare(p);
    if (status) dtp_object_release(p);
    else *out = p;
    return status;
}

/* A pd can change by next_impl, a primitive's must not: it gets its own. */
static dnnl_tp_status_t make_with_clone(dtp_primitive_t **out, const dtp_pd_t *pd) {
    return make(out, pd, true);
}
static dnnl_tp_status_t make_with_pd(dtp_primitive_t **out, const dtp_pd_t *pd) {
    return make(out, pd, false);
}

static dnnl_tp_status_t get(dtp_primitive_t **primitive, const dtp_pd_t *pd,
                            dnnl_tp_status_t (*make_it)(dtp_primitive_t **, const dtp_pd_t *)) {
    bool verbose = dtp_verbose_on(DTP_VERBOSE_CREATE), hit;
    double start = verbose ? dtp_now_ms() : 0;
    DTP_TRY(dtp_cache_get(primitive, pd, make_it, &hit));
    if (verbose)
        dtp_verbose_primitive(hit ? "create:cache_hit" : "create:cache_miss", pd, dtp_now_ms() - start);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_create(dnnl_tp_primitive_t *primitive,
                                          const_dnnl_tp_primitive_desc_t primitive_desc) {
    DTP_OUT(primitive, NULL);
    DTP_REQUIRE_HANDLE(primitive_desc, DTP_OBJ_PD);
    return get(primitive, primitive_desc, make_with_clone);
}

dnnl_tp_status_t dtp_primitive_create_of(dtp_primitive_t **primitive, dtp_pd_t *pd) {
    *primitive = NULL;
    const dnnl_tp_status_t status = get(primitive, pd, make_with_pd);
    dtp_object_release(pd);
    return status;
}

/* Kernels are compiled ahead: a blob holds none, and says which primitive it is of. */
dnnl_tp_status_t dnnl_tp_primitive_create_from_cache_blob(dnnl_tp_primitive_t *primitive,
                                                          const_dnnl_tp_primitive_desc_t primitive_desc,
                                                          size_t size, const uint8_t *cache_blob) {
    DTP_OUT(primitive, NULL);
    DTP_REQUIRE_HANDLE(primitive_desc, DTP_OBJ_PD);
    DTP_REQUIRE(cache_blob && size, NULL_ARG, "cache_blob of %zu bytes", size);
    dtp_bytes_t blob;
    DTP_TRY(dtp_cache_blob(&blob, primitive_desc));
    const bool same = blob.size == size && !memcmp(blob.data, cache_blob, size);
    dtp_bytes_free(&blob);
    DTP_REQUIRE(same, BAD_BLOB, "of another primitive, or of another version of the library");
    DTP_RETURN(dnnl_tp_primitive_create(primitive, primitive_desc));
}

dnnl_tp_status_t dnnl_tp_primitive_get_cache_blob(const_dnnl_tp_primitive_t primitive, size_t *size,
                                                  uint8_t *cache_blob) {
    DTP_REQUIRE_HANDLE(primitive, DTP_OBJ_PRIMITIVE);
    DTP_REQUIRE(size, NULL_ARG, "size");
    dtp_bytes_t blob;
    DTP_TRY(dtp_cache_blob(&blob, primitive->pd));
    const size_t room = *size;
    *size = blob.size;
    if (cache_blob && room >= blob.size) memcpy(cache_blob, blob.data, blob.size);
    dtp_bytes_free(&blob);
    DTP_REQUIRE(!cache_blob || room >= *size, BAD_COUNT, "the blob needs %zu bytes", *size);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_destroy(dnnl_tp_primitive_t primitive) {
    DTP_DESTROY(primitive, DTP_OBJ_PRIMITIVE);
}

dnnl_tp_status_t dnnl_tp_primitive_get_primitive_desc(const_dnnl_tp_primitive_t primitive,
                                                      const_dnnl_tp_primitive_desc_t *primitive_desc) {
    DTP_GET(primitive_desc, NULL, primitive, DTP_OBJ_PRIMITIVE, primitive->pd);
}

dnnl_tp_status_t dtp_primitive_run_verbose(const dtp_primitive_t *primitive, const dtp_exec_ctx_t *ctx) {
    const double large = 20000.;
    const dtp_pd_t *pd = primitive->pd;
    if (dtp_verbose_on(DTP_VERBOSE_DISPATCH) && dtp_impl_is_reference(pd->impl)) {
        const dtp_op_work_t work = dtp_pd_work(pd, ctx->md);
        dtp_primitive_t *p = (dtp_primitive_t *)(uintptr_t)primitive;
        if ((work.flops > large || work.bytes > large) && !atomic_exchange(&p->told, true))
            dtp_verbose_reference(pd, &work);
    }
    double start = dtp_now_ms();
    dnnl_tp_status_t status = pd->impl->execute(pd, ctx);
    if (dtp_verbose_on(DTP_VERBOSE_EXEC)) dtp_verbose_primitive("exec", pd, dtp_now_ms() - start);
    return status;
}

/* ---- What kernels find in data ----------------------------------------------------------------------- */

const char *dtp_data_error_text(const dtp_data_error_t *error, char to[DTP_DATA_TEXT]) {
    const long long at = (long long)error->at, value = (long long)error->value,
                    limit = (long long)error->limit;
    if (error->what == DTP_DATA_ID)
        snprintf(to, DTP_DATA_TEXT, "id %lld at position %lld, the table has %lld rows", value, at, limit);
    else
        snprintf(to, DTP_DATA_TEXT,
                 "offset %lld is %lld; offsets start at 0, do not decrease and end at most at %lld", at,
                 value, limit);
    return to;
}

dnnl_tp_status_t dtp_data_wrong(const dtp_exec_ctx_t *ctx, dtp_data_finding_t what, int64_t at, int64_t value,
                                int64_t limit) {
    const dtp_data_error_t found = {what, ctx->part ? ctx->part->step : 0, at, value, limit};
    char text[DTP_DATA_TEXT];
    if (!ctx->part || !ctx->part->error)
        return dtp_fail(dnnl_tp_runtime_error, DTP_GRAPH_INDEX, "%s", dtp_data_error_text(&found, text));
    if (ctx->part->error->what == DTP_DATA_FINE) *ctx->part->error = found;
    return dnnl_tp_success;
}

/* ---- Checks before execution ------------------------------------------------------------------------- */

static dnnl_tp_status_t check_engine(int number, const struct dnnl_tp_engine *needed,
                                     const struct dnnl_tp_memory *memory) {
    const struct dnnl_tp_engine *got = memory->engine;
    char arg[DTP_ARG_TEXT];
    DTP_REQUIRE(got, BAD_ENGINE, "argument %s is a host scalar, needed is memory of %s %zu",
                dtp_arg_text(number, arg), needed->v->name, needed->index);
    DTP_REQUIRE(got->device == needed->device, BAD_ENGINE,
                "argument %s lies in memory of %s %zu, needed is %s %zu", dtp_arg_text(number, arg),
                got->v->name, got->index, needed->v->name, needed->index);
    return dnnl_tp_success;
}

/* A memory whose descriptor has run-time values, or another identity. Scales and zero points are lists: their
 * memory may have any dims of as many elements. */
static __attribute__((noinline)) dnnl_tp_status_t check_memory_fully(const dtp_pd_t *pd, int i,
                                                                     const struct dnnl_tp_memory *memory) {
    const dtp_md_t *want = pd->args[i].md, *got = &memory->md;
    if (dtp_pd_is_host_scalar(pd, i)) {
        char name[DTP_ARG_TEXT], is[DTP_MD_LONG_TEXT];
        DTP_REQUIRE(false, MEMORY_MISMATCH, "argument %s is %s, needed is a host scalar of %s",
                    dtp_arg_text(pd->args[i].arg, name), dtp_md_long_text(got, is),
                    dnnl_tp_dt2str(want->data_type));
    }
    DTP_TRY(check_engine(pd->args[i].arg, dtp_pd_arg_engine(pd, i), memory));
    if (dtp_md_accepts(want, got)) return dnnl_tp_success;
    /* A primitive of a submemory takes the memory of the whole; a dense one at its begin may be a mistake. */
    const bool part = want->offset0 != got->offset0 || !dtp_md_is_dense(want);
    if (part && !pd->has_runtime && dtp_md_is_window(want, got)) return dnnl_tp_success;
    bool list = i >= pd->attr_arg && i < pd->post_op_arg;
    if (list && got->data_type == want->data_type && dtp_md_is_dense_row_major(got) &&
        (dtp_md_nelems(got) == want->dims[0] || want->dims[0] == DNNL_TP_RUNTIME_DIM_VAL))
        return dnnl_tp_success;
    char arg[DTP_ARG_TEXT], has[DTP_MD_LONG_TEXT], needs[DTP_MD_LONG_TEXT];
    DTP_REQUIRE(false, MEMORY_MISMATCH, "argument %s has %s, needed is %s",
                dtp_arg_text(pd->args[i].arg, arg), dtp_md_long_text(got, has),
                dtp_md_long_text(want, needs));
    return dnnl_tp_success;
}

/* The descriptor of a passed memory against that of the pd, whose run-time values it fills in. */
static inline dnnl_tp_status_t check_memory(const dtp_pd_t *pd, int i, const struct dnnl_tp_memory *memory) {
    if (DTP_LIKELY(memory->identity == pd->arg_identity[i])) return dnnl_tp_success;
    return check_memory_fully(pd, i, memory);
}

/* May dst be written in the place of the argument `in`? Each element of dst must lie where that of
 * the argument does: no dimension of it is repeated, and no thread reads what another has written. */
static bool takes_place_of(const dtp_pd_t *pd, const dtp_md_t *in_md, int in, const dtp_md_t *out_md,
                           int out) {
    if (pd->args[out].arg != DNNL_TP_ARG_DST || !(pd->args[in].flags & DTP_ARG_INPUT)) return false;
    const bool own = in < pd->attr_arg && (pd->impl->flags & DTP_IMPL_IN_PLACE || in == pd->info->inplace);
    dtp_md_t like = *in_md;
    like.data_type = out_md->data_type;
    return (own || in >= pd->post_op_arg) && dtp_md_accepts(out_md, &like) &&
           dtp_type_size(in_md->data_type) == dtp_type_size(out_md->data_type);
}

/* Outputs must not share memory with anything but what they take the place of. */
static __attribute__((noinline, cold)) dnnl_tp_status_t check_alias(const dtp_pd_t *pd, void *const *ptrs,
                                                                    const dtp_md_t *in_md, int in,
                                                                    const dtp_md_t *out_md, int out) {
    /* Windows of one buffer may lie beside each other. */
    const char *p = (char *)ptrs[in] + (size_t)in_md->offset0 * dtp_type_size(in_md->data_type);
    const char *first = (char *)ptrs[out] + (size_t)out_md->offset0 * dtp_type_size(out_md->data_type);
    bool apart = p >= first + dtp_md_size(out_md) || p + dtp_md_size(in_md) <= first;
    bool in_place = p == first && takes_place_of(pd, in_md, in, out_md, out);
    char arg[DTP_ARG_TEXT], other[DTP_ARG_TEXT];
    DTP_REQUIRE(apart || in_place, ALIAS, "arguments %s and %s", dtp_arg_text(pd->args[in].arg, arg),
                dtp_arg_text(pd->args[out].arg, other));
    return dnnl_tp_success;
}

static inline dnnl_tp_status_t check_aliases(const dtp_pd_t *pd, void *const *ptrs) {
    const uint8_t *present = pd->present, *end = present + pd->n_present;
    const size_t *bytes = pd->arg_bytes;
    for (const uint8_t *out = present; out < present + pd->n_outputs; ++out) {
        const char *first = ptrs[*out], *last = first + bytes[*out];
        for (const uint8_t *k = out + 1; k < end; ++k) {
            const int i = *k;
            const char *p = ptrs[i];
            if (DTP_LIKELY(p >= last || p + bytes[i] <= first)) continue;
            DTP_TRY(check_alias(pd, ptrs, pd->args[i].md, i, pd->args[*out].md, *out));
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

/* refuse_missing, refuse_twice: the texts of failures, out of the way of execution. */
static __attribute__((noinline, cold)) dnnl_tp_status_t refuse_missing(int number, const char *what) {
    char arg[DTP_ARG_TEXT];
    DTP_REQUIRE(false, MISSING_ARG, "argument %s%s", dtp_arg_text(number, arg), what);
    return dnnl_tp_success;
}
static __attribute__((noinline, cold)) dnnl_tp_status_t refuse_twice(int number) {
    char arg[DTP_ARG_TEXT];
    DTP_REQUIRE(false, DUPLICATE_ARG, "argument %s", dtp_arg_text(number, arg));
    return dnnl_tp_success;
}

/* Every argument that the problem has must be there; then run. */
static inline dnnl_tp_status_t finish(const dtp_primitive_t *primitive, dnnl_tp_stream_t stream, void **ptrs,
                                      const dtp_md_t *const *mds, void *scratch) {
    const dtp_pd_t *pd = primitive->pd;
    for (const uint8_t *k = pd->present, *end = k + pd->n_present; k < end; ++k)
        if (DTP_UNLIKELY(!ptrs[*k])) return refuse_missing(pd->args[*k].arg, "");
    DTP_REQUIRE(scratch || pd->scratch_md.ndims == 0, MISSING_ARG, "scratchpad memory of %zu bytes",
                dtp_md_size(&pd->scratch_md));
    if (pd->is_empty) return dnnl_tp_success;
    DTP_TRY(check_aliases(pd, ptrs));
    ptrs[pd->nargs] = scratch;
    return stream->v->execute(stream, primitive, pd->nargs, ptrs, mds, NULL);
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
            if (*scratch) return refuse_twice(arg);
            DTP_REQUIRE(memory->bytes >= dtp_md_size(&pd->scratch_md), MEMORY_MISMATCH,
                        "scratchpad has %zu bytes, needed are %zu", memory->bytes,
                        dtp_md_size(&pd->scratch_md));
            DTP_TRY(check_engine(arg, pd->engine, memory));
            *scratch = memory->handle;
            continue;
        }
        if (DTP_UNLIKELY(ptrs[i] != NULL)) return refuse_twice(arg);
        DTP_TRY(check_memory(pd, i, memory));
        ptrs[i] = memory->handle;
        if (mds) mds[i] = &memory->md;
    }
    return dnnl_tp_success;
}

/* Scales and zero points have as many elements as the actual dims say. */
static dnnl_tp_status_t check_runtime_lists(const dtp_pd_t *pd, const dtp_md_t *const *mds) {
    for (int i = pd->attr_arg; i < pd->post_op_arg; ++i) {
        int k = i - pd->attr_arg;
        const dtp_attr_t *attr = pd->attr;
        const dtp_quant_t *q = k < attr->n_scales ? &attr->scales[k] : &attr->zero_points[k - attr->n_scales];
        int of = dtp_pd_arg_index(pd, q->arg);
        if (of < 0 || !mds[of] || pd->args[i].md->dims[0] != DNNL_TP_RUNTIME_DIM_VAL) continue;
        char arg[DTP_ARG_TEXT];
        long long got = (long long)dtp_md_nelems(mds[i]), needed = (long long)dtp_quant_count(q, mds[of]);
        DTP_REQUIRE(got == needed, MEMORY_MISMATCH, "argument %s has %lld elements, needed are %lld",
                    dtp_arg_text(pd->args[i].arg, arg), got, needed);
    }
    return dnnl_tp_success;
}

/* Tensors of post-operations broadcast to the actual destination. */
static dnnl_tp_status_t check_runtime_post_ops(const dtp_pd_t *pd, const dtp_md_t *const *mds) {
    int of = dtp_pd_arg_index(pd, DNNL_TP_ARG_DST);
    for (int i = pd->post_op_arg; of >= 0 && i < pd->nargs; ++i) {
        if (!mds[i]) continue;
        char arg[DTP_ARG_TEXT];
        for (int d = 0; d < mds[i]->ndims; ++d)
            DTP_REQUIRE(mds[i]->dims[d] == mds[of]->dims[d] || mds[i]->dims[d] == 1, RUNTIME_INCONSISTENT,
                        "dimension %d of argument %s is %lld, dst's is %lld", d,
                        dtp_arg_text(pd->args[i].arg, arg), (long long)mds[i]->dims[d],
                        (long long)mds[of]->dims[d]);
    }
    return dnnl_tp_success;
}

/* check_aliases where sizes are known at execution only. */
static dnnl_tp_status_t check_runtime_aliases(const dtp_pd_t *pd, void *const *ptrs,
                                              const dtp_md_t *const *mds) {
    for (int out = 0; out < pd->nargs; ++out) {
        if (!ptrs[out] || !(pd->args[out].flags & DTP_ARG_OUTPUT)) continue;
        const char *first = ptrs[out], *last = first + dtp_md_size(mds[out]);
        for (int i = 0; i < pd->nargs; ++i) {
            const char *p = ptrs[i];
            if (p && i != out && p < last && p + dtp_md_size(mds[i]) > first)
                DTP_TRY(check_alias(pd, ptrs, mds[i], i, mds[out], out));
        }
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
        if (!mds[i] && !dtp_md_is_zero(pd->args[i].md)) return refuse_missing(pd->args[i].arg, "");
        if (mds[i] && !ptrs[i] && dtp_md_nelems(mds[i]) != 0)
            return refuse_missing(pd->args[i].arg, " has no buffer");
    }
    DTP_TRY(check_runtime_lists(pd, mds));
    DTP_TRY(check_runtime_post_ops(pd, mds));
    DTP_TRY(check_runtime_aliases(pd, ptrs, mds));
    if (pd->info->check_runtime) DTP_TRY(pd->info->check_runtime(mds));
    return finish(primitive, stream, ptrs, mds, scratch);
}

dnnl_tp_status_t dnnl_tp_primitive_execute(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream,
                                           int nargs, const dnnl_tp_exec_arg_t *args) {
    DTP_TRY(check_execute(primitive, stream, nargs, args));
    const dtp_pd_t *pd = primitive->pd;
    if (DTP_UNLIKELY(pd->has_runtime)) DTP_RETURN(execute_runtime(primitive, stream, nargs, args));
    void *ptrs[DTP_MAX_PD_ARGS + 1], *scratch = NULL;
    clear_ptrs(ptrs, pd->nargs + 1);
    DTP_TRY(collect(pd, nargs, args, ptrs, NULL, &scratch));
    DTP_RETURN(finish(primitive, stream, ptrs, NULL, scratch));
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
        if (DTP_UNLIKELY(*at != NULL)) DTP_RETURN(refuse_twice(arg));
        *at = args[a].handle;
    }
    DTP_RETURN(finish(primitive, stream, ptrs, NULL, scratch));
}
