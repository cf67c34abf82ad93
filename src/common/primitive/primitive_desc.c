/* Primitive descriptors: one block with the problem, the chosen implementation and its plan; the walk through
 * the engine's list. Queries are in query.c. */
#include "common/primitive/primitive_desc.h"

#include "common/primitive/kind_checks.h"
#include "common/primitive/verbose_text.h"

static void pd_destroy(dtp_object_t *obj) {
    dtp_pd_t *pd = (dtp_pd_t *)obj;
    dtp_free(NULL, atomic_load(&pd->blob_id));
    dtp_free(pd->engine->allocator, pd->plan);
    dtp_object_release(pd->attr);
    dtp_object_release(pd->peer);
    dtp_object_release(pd->engine);
}

/* Primitive attribute > pool in the attribute > engine. */
static void resolve_threads(dtp_pd_t *pd) {
    const dtp_attr_t *attr = pd->attr;
    int n = attr->num_threads ? attr->num_threads : attr->pool_num_threads;
    pd->pool_flags = attr->pool_num_threads ? attr->pool_flags : 0;
    if (!n) n = pd->engine->v->num_threads(pd->engine, &pd->pool_flags);
    pd->num_threads = n < 1 ? 1 : n > DTP_MAX_THREADS ? DTP_MAX_THREADS : n;
}

/* ---- Arguments --------------------------------------------------------------------------------------- */

int64_t dtp_quant_count(const dtp_quant_t *q, const dtp_md_t *of) {
    int64_t count = 1;
    for (int d = 0; d < of->ndims; ++d) {
        if (!(q->mask >> d & 1)) continue;
        if (of->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) return DNNL_TP_RUNTIME_DIM_VAL;
        int g = d - (of->ndims - 2);
        count *= dtp_div_up(of->dims[d], q->group_ndims && g >= 0 ? q->groups[g] : 1);
    }
    return count;
}

static void add_quants(dtp_pd_t *pd, const dtp_quant_t *list, int n, int base, int *at, int *nmd) {
    for (int i = 0; i < n; ++i) {
        int of = dtp_pd_arg_index(pd, list[i].arg);
        dtp_md_t *md = &pd->quant_md[(*nmd)++];
        const int64_t count = of >= 0 ? dtp_quant_count(&list[i], pd->args[of].md) : 1;
        dtp_md_init_masked(md, 1, &count, 1);
        md->data_type = list[i].data_type;
        pd->args[(*at)++] = (dtp_pd_arg_t){base | list[i].arg, DTP_ARG_INPUT, md};
    }
}

static void init_args(dtp_pd_t *pd) {
    int n = dtp_op_args(pd->info, pd->op, pd->args), nmd = 0;
    for (int i = 0; i < n; ++i)
        if (pd->args[i].arg < (int)sizeof pd->arg_index && !dtp_md_is_zero(pd->args[i].md))
            pd->arg_index[pd->args[i].arg] = (uint8_t)(i + 1);
    pd->nargs = pd->attr_arg = n;
    const dtp_attr_t *attr = pd->attr;
    add_quants(pd, attr->scales, attr->n_scales, DNNL_TP_ARG_ATTR_SCALES, &n, &nmd);
    add_quants(pd, attr->zero_points, attr->n_zero_points, DNNL_TP_ARG_ATTR_ZERO_POINTS, &n, &nmd);
    pd->post_op_arg = n;
    int dst = dtp_pd_arg_index(pd, DNNL_TP_ARG_DST);
    for (int i = 0; i < attr->post_ops->len; ++i) {
        dtp_post_op_t *e = &attr->post_ops->entry[i];
        int base = DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i);
        bool prelu = e->kind == dnnl_tp_prelu && dst >= 0;
        if (prelu) dtp_md_init_masked(&e->src1, pd->args[dst].md->ndims, pd->args[dst].md->dims, e->mask);
        int src1 = prelu ? DNNL_TP_ARG_WEIGHTS : DNNL_TP_ARG_SRC_1;
        pd->args[n++] = (dtp_pd_arg_t){base | src1, DTP_ARG_INPUT, &e->src1};
        pd->args[n++] = (dtp_pd_arg_t){base | DNNL_TP_ARG_SRC_2, DTP_ARG_INPUT, &e->src2};
    }
    pd->nargs = n;
    /* Implementations ask while they are set up; `any` cannot be run-time, so resolving changes nothing. */
    pd->has_runtime = false;
    for (int i = 0; i < n; ++i)
        pd->has_runtime |= !dtp_md_is_zero(pd->args[i].md) && dtp_md_has_runtime(pd->args[i].md);
}

/* What depends on the resolved layouts. */
static void finish_args(dtp_pd_t *pd) {
    pd->has_runtime = false;
    pd->is_empty = true;
    pd->n_scalars = 0;
    for (int i = 0; i < pd->nargs; ++i) {
        const dtp_md_t *md = pd->args[i].md;
        pd->arg_bytes[i] = 0;
        pd->arg_identity[i] = 0;
        if (dtp_md_is_zero(md)) continue;
        bool runtime = dtp_md_has_runtime(md);
        pd->has_runtime |= runtime;
        if (!runtime) pd->arg_bytes[i] = dtp_md_size(md);
        if (dtp_pd_is_host_scalar(pd, i)) {
            dtp_md_t scalar = *md;
            scalar.format_kind = dnnl_tp_format_kind_host_scalar;
            pd->arg_identity[i] = dtp_md_identity(&scalar);
            ++pd->n_scalars;
        } else {
            pd->arg_identity[i] = runtime ? 0 : dtp_md_identity(md) ^ dtp_pd_arg_engine(pd, i)->device;
        }
        if ((pd->args[i].flags & DTP_ARG_OUTPUT) && (runtime || dtp_md_nelems(md) != 0)) pd->is_empty = false;
    }
    pd->n_present = pd->n_outputs = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < pd->nargs; ++i)
            if (pd->arg_bytes[i] && pass == !(pd->args[i].flags & DTP_ARG_OUTPUT))
                pd->present[pd->n_present++] = (uint8_t)i;
        if (pass == 0) pd->n_outputs = pd->n_present;
    }
    int64_t bytes = (int64_t)dtp_pd_scratch_size(pd);
    memset(&pd->scratch_md, 0, sizeof pd->scratch_md);
    if (!bytes || pd->attr->scratchpad_mode != dnnl_tp_scratchpad_mode_user) return;
    (void)!dtp_md_init_strides(&pd->scratch_md, 1, &bytes, dnnl_tp_u8, NULL);
}

int dtp_pd_big_arg_index(const dtp_pd_t *pd, int arg) {
    for (int i = 0; i < pd->nargs; ++i)
        if (pd->args[i].arg == arg) return dtp_md_is_zero(pd->args[i].md) ? -1 : i;
    return -1;
}

bool dtp_pd_is_host_scalar(const dtp_pd_t *pd, int i) {
    const dtp_attr_t *a = pd->attr;
    const int k = i - pd->attr_arg;
    if (k < 0 || i >= pd->post_op_arg) return false;
    return k < a->n_scales ? a->scales[k].on_host : a->zero_points[k - a->n_scales].on_host;
}

void dtp_pd_keep_scalars(const dtp_pd_t *pd, void **ptrs, void **values) {
    for (int i = pd->attr_arg; i < pd->post_op_arg; ++i) {
        if (!ptrs[i] || !dtp_pd_is_host_scalar(pd, i)) continue;
        memcpy(values, ptrs[i], dtp_type_size(pd->args[i].md->data_type));
        ptrs[i] = values++;
    }
}

int dtp_pd_scale_index(const dtp_pd_t *pd, int arg) {
    const dtp_quant_t *q = dtp_attr_scale(pd->attr, arg);
    return q ? pd->attr_arg + (int)(q - pd->attr->scales) : -1;
}
int dtp_pd_zero_point_index(const dtp_pd_t *pd, int arg) {
    const dtp_quant_t *q = dtp_attr_zero_point(pd->attr, arg);
    return q ? pd->attr_arg + pd->attr->n_scales + (int)(q - pd->attr->zero_points) : -1;
}

/* ---- Creation ---------------------------------------------------------------------------------------- */

dtp_op_work_t dtp_pd_work(const dtp_pd_t *pd, const dtp_md_t *const *mds) {
    dtp_pd_arg_t arg[DTP_MAX_PD_ARGS];
    if (pd->has_runtime && !mds) return (dtp_op_work_t){0};
    for (int i = 0; i < pd->nargs; ++i) {
        arg[i] = pd->args[i];
        if (mds) arg[i].md = mds[i];
    }
    dtp_op_work_t work = dtp_op_work(pd->info, pd->op, arg, pd->post_op_arg);
    const int dst = dtp_pd_arg_index(pd, DNNL_TP_ARG_DST);
    for (int i = 0, at = pd->post_op_arg; i < pd->attr->post_ops->len; ++i, at += 2)
        dtp_op_work_post_op(&work, pd->attr->post_ops->entry[i].kind, arg[dst].md, arg[at].md,
                            arg[at + 1].md);
    return work;
}

/* Number i of a list in the engine's order: products of bf16 change places with those behind them, which multiply in f32,
 * where the processor is faster at these. */
static const dtp_impl_t *impl_at(const dtp_impl_t *const *list, int i, unsigned isa) {
    if (!(isa & DTP_ISA_SLOW_BF16)) return list[i];
    if (list[i + 1] && list[i]->isa & DTP_ISA_AVX512_BF16) return list[i + 1];
    return i > 0 && list[i - 1]->isa & DTP_ISA_AVX512_BF16 ? list[i - 1] : list[i];
}

/* A copy of so many bytes of a plan becomes pd's. */
static dnnl_tp_status_t set_plan(dtp_pd_t *pd, const void *plan, size_t bytes) {
    pd->plan_bytes = bytes;
    pd->plan = bytes ? dtp_alloc(pd->engine->allocator, bytes, DTP_CACHE_LINE) : NULL;
    if (bytes && !pd->plan) return dtp_no_memory(bytes);
    if (bytes) memcpy(pd->plan, plan, bytes);
    return dnnl_tp_success;
}

/* Tries implementations from number `from` on with room for their plans; leaves pd, which has none, with the first that takes
 * the problem. */
static dnnl_tp_status_t try_impls(dtp_pd_t *pd, const dtp_impl_t *const *list, int from) {
    bool fresh = true; /* nothing is written to pd->op yet */
    for (int i = from; list[i]; ++i) {
        const dtp_impl_t *impl = impl_at(list, i, pd->engine->isa);
        dnnl_tp_status_t status = dnnl_tp_unimplemented;
        if (impl->isa & ~pd->engine->isa) {
            status = dtp_refuse(DTP_ISA);
        } else if (pd->attr->refuse_reference && dtp_impl_is_reference(impl)) {
            status = dtp_refuse(DTP_REFERENCE);
            pd->impl = impl;
        } else {
            if (!fresh) memcpy(pd->op, pd->user, pd->op_size);
            fresh = false;
            const size_t zeroed = impl->plan_head ? impl->plan_head : impl->plan_size;
            if (zeroed) memset(pd->plan, 0, zeroed);
            pd->scratch_shared = pd->scratch_per_slot = 0;
            pd->impl = impl;
            pd->impl_index = i;
            status = impl->pd_init(pd);
        }
        if (status == dnnl_tp_success) {
            finish_args(pd);
            if (impl->note && dtp_verbose_on(DTP_VERBOSE_DISPATCH))
                dtp_verbose_dispatch(pd, impl, impl->note);
            return status;
        }
        if (dtp_verbose_on(DTP_VERBOSE_DISPATCH)) dtp_verbose_dispatch(pd, impl, dtp_last_text());
        if (status != dnnl_tp_unimplemented) return status;
    }
    return dnnl_tp_unimplemented;
}

static dnnl_tp_status_t choose_impl(dtp_pd_t *pd, const dtp_impl_t *const *list, int from) {
    size_t most = 0;
    for (int i = from; list[i]; ++i) most = list[i]->plan_size > most ? list[i]->plan_size : most;
    void *room = most ? dtp_alloc(pd->engine->allocator, most, DTP_CACHE_LINE) : NULL;
    if (most && !room) return dtp_no_memory(most);
    pd->plan = room;
    dnnl_tp_status_t status = try_impls(pd, list, from);
    pd->plan = NULL;
    if (status == dnnl_tp_success) {
        const dtp_impl_t *impl = pd->impl;
        status = set_plan(pd, room, impl->plan_used ? impl->plan_used(room) : impl->plan_size);
    }
    dtp_free(pd->engine->allocator, room);
    return status;
}

/* The reason is that of the last implementation, which takes most. */
static dnnl_tp_status_t refuse_problem(const dtp_pd_t *pd, dtp_reason_t reason) {
    char problem[DTP_PROBLEM_TEXT];
    dtp_verbose_problem(pd, problem);
    return dtp_fail(dnnl_tp_unimplemented, DTP_NO_IMPL, "the last one, %s, said: %s: %s,%s",
                    pd->impl ? pd->impl->name : "of another instruction set", dtp_reason_text(reason),
                    pd->info->name, problem);
}

static size_t align64(size_t n) { return dtp_round_up_size(n, DTP_CACHE_LINE); }

/* Who runs the problem, and a reorder's other engine. */
typedef struct {
    dnnl_tp_engine_t runs, peer;
    int peer_arg;
} engines_t;

static dnnl_tp_status_t pd_alloc(dtp_pd_t **out, engines_t engines, const dtp_op_desc_t *op, size_t op_size,
                                 const dtp_attr_t *attr) {
    *out = NULL;
    dnnl_tp_engine_t engine = engines.runs;
    const dtp_op_info_t *info = dtp_op_info(op->kind);
    dtp_attr_t *copy;
    DTP_TRY(dtp_attr_copy(engine->allocator, &copy, attr, true));
    int nquant = copy->n_scales + copy->n_zero_points;
    size_t nargs = (size_t)(dtp_op_args(info, op, NULL) + nquant + 2 * copy->post_ops->len);
    size_t head = align64(sizeof(dtp_pd_t)), ops = align64(op_size),
           args = align64(sizeof(dtp_pd_arg_t) * nargs);
    size_t bytes = align64((sizeof(size_t) + sizeof(uint64_t)) * nargs),
           quants = align64(sizeof(dtp_md_t) * (size_t)nquant);
    const size_t zeroed = head + args + bytes + quants; /* problems are copied */
    dtp_pd_t *pd =
        dtp_object_create_begun(engine->allocator, zeroed + 2 * ops, zeroed, DTP_OBJ_PD, pd_destroy);
    if (!pd) {
        dtp_object_release(copy);
        return dnnl_tp_out_of_memory;
    }
    char *at = (char *)pd + head;
    pd->engine = dtp_object_retain(engine);
    pd->peer = dtp_object_retain(engines.peer);
    pd->peer_arg = engines.peer_arg;
    pd->info = info;
    pd->attr = copy;
    pd->op_size = op_size;
    pd->args = (dtp_pd_arg_t *)(void *)at;
    pd->arg_identity = (uint64_t *)(void *)(at + args);
    pd->arg_bytes = (size_t *)(void *)(pd->arg_identity + nargs);
    pd->quant_md = (dtp_md_t *)(void *)(at + args + bytes);
    at = (char *)pd + zeroed;
    pd->user = (dtp_op_desc_t *)(void *)at;
    pd->op = (dtp_op_desc_t *)(void *)(at + ops);
    memcpy(pd->user, op, op_size);
    memcpy(pd->op, op, op_size);
    resolve_threads(pd);
    init_args(pd);
    *out = pd;
    return dnnl_tp_success;
}

/* Another one of the same problem, attributes and threads, without an implementation. */
static dnnl_tp_status_t pd_alloc_like(dtp_pd_t **out, const dtp_pd_t *pd) {
    const engines_t engines = {pd->engine, pd->peer, pd->peer_arg};
    DTP_TRY(pd_alloc(out, engines, pd->user, pd->op_size, pd->attr));
    (*out)->num_threads = pd->num_threads;
    (*out)->pool_flags = pd->pool_flags;
    return dnnl_tp_success;
}

/* Gives pd what choose_impl found for `from`, one like it; all but the plan. */
static void take_choice(dtp_pd_t *pd, const dtp_pd_t *from) {
    const dtp_post_ops_t *chain = from->attr->post_ops;
    pd->impl = from->impl;
    pd->impl_index = from->impl_index;
    pd->checks_data = from->checks_data;
    dtp_pd_book(pd, from->scratch_shared, from->scratch_per_slot);
    memcpy(pd->op, from->op, pd->op_size);
    if (chain->len)
        memcpy(pd->attr->post_ops->entry, chain->entry, sizeof *chain->entry * (size_t)chain->len);
    finish_args(pd);
}

/* Opaque layouts only where the kind says that it takes them: elsewhere code sees strides. */
static dnnl_tp_status_t check_opaque(const dtp_op_info_t *info, const dtp_op_desc_t *op) {
    unsigned left = info->opaque;
    for (int f = 0; f < info->nfields; ++f) {
        const dtp_field_t *field = &info->fields[f];
        if (field->type != DTP_FIELD_MD && field->type != DTP_FIELD_MD_ARRAY) continue;
        const dtp_md_t *md = (const dtp_md_t *)(const void *)((const char *)op + field->offset);
        for (int i = dtp_field_count(field, op); i > 0; --i, ++md, left >>= 1)
            if (!dtp_md_is_zero(md) && dtp_md_is_opaque(md) && !(left & 1))
                return dtp_fail(dnnl_tp_invalid_arguments, DTP_BAD_TAG, "%s of %s is opaque", field->name,
                                info->name);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t create(dnnl_tp_primitive_desc_t *out, engines_t engines, const dtp_op_desc_t *op,
                               size_t op_size, const dtp_attr_t *attr) {
    *out = NULL;
    double start = dtp_verbose_on(DTP_VERBOSE_CREATE) ? dtp_now_ms() : 0;
    const dtp_impl_t *const *list = engines.runs->v->impl_list(op->kind);
    if (!list)
        return dtp_fail(dnnl_tp_unimplemented, DTP_NO_IMPL, "this engine has no %s",
                        dtp_op_info(op->kind)->name);
    DTP_TRY(check_opaque(dtp_op_info(op->kind), op));
    dtp_pd_t *pd;
    DTP_TRY(pd_alloc(&pd, engines, op, op_size, attr));
    dnnl_tp_status_t status = dtp_check_attr(pd);
    if (status == dnnl_tp_success) {
        status = choose_impl(pd, list, 0);
        if (status == dnnl_tp_unimplemented) (void)refuse_problem(pd, dtp_last_reason());
    }
    if (status) {
        dtp_object_release(pd);
        return status;
    }
    if (dtp_verbose_on(DTP_VERBOSE_CREATE)) dtp_verbose_primitive("create:pd", pd, dtp_now_ms() - start);
    *out = pd;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_pd_create(dnnl_tp_primitive_desc_t *out, dnnl_tp_engine_t engine,
                               const dtp_op_desc_t *op, size_t op_size, const dtp_attr_t *attr) {
    return create(out, (engines_t){engine, NULL, -1}, op, op_size, attr);
}

dnnl_tp_status_t dtp_pd_create_between(dnnl_tp_primitive_desc_t *out, dnnl_tp_engine_t engine,
                                       dnnl_tp_engine_t peer, int peer_arg, const dtp_op_desc_t *op,
                                       size_t op_size, const dtp_attr_t *attr) {
    return create(out, (engines_t){engine, peer, peer_arg}, op, op_size, attr);
}

static dnnl_tp_status_t last_impl(const dtp_pd_t *pd) {
    return dtp_answer(dnnl_tp_last_impl_reached, DTP_NO_IMPL, "none behind %s of %s", pd->impl->name,
                      pd->info->name);
}

dnnl_tp_status_t dnnl_tp_primitive_desc_next_impl(dnnl_tp_primitive_desc_t primitive_desc) {
    DTP_REQUIRE_HANDLE(primitive_desc, DTP_OBJ_PD);
    dtp_pd_t *pd = primitive_desc;
    const dtp_impl_t *const *list = pd->engine->v->impl_list(pd->info->kind);
    int next = pd->impl_index + 1;
    if (pd->info->single || !list[next]) DTP_RETURN(last_impl(pd));
    /* Tried on a copy, so that a failure leaves pd as it was. */
    dtp_pd_t *probe;
    DTP_TRY(pd_alloc_like(&probe, pd));
    dnnl_tp_status_t status = choose_impl(probe, list, next);
    if (status == dnnl_tp_success) {
        void *plan = pd->plan; /* goes with the probe */
        take_choice(pd, probe);
        pd->plan = probe->plan;
        pd->plan_bytes = probe->plan_bytes;
        probe->plan = plan;
        dtp_free(NULL, atomic_exchange(&pd->blob_id, NULL));
    }
    dtp_object_release(probe);
    DTP_RETURN(status == dnnl_tp_unimplemented ? last_impl(pd) : status);
}

dnnl_tp_status_t dnnl_tp_primitive_desc_clone(dnnl_tp_primitive_desc_t *primitive_desc,
                                              const_dnnl_tp_primitive_desc_t existing) {
    DTP_OUT(primitive_desc, NULL);
    DTP_REQUIRE_HANDLE(existing, DTP_OBJ_PD);
    dtp_pd_t *pd;
    DTP_TRY(pd_alloc_like(&pd, existing));
    const dnnl_tp_status_t status = set_plan(pd, existing->plan, existing->plan_bytes);
    if (status == dnnl_tp_success) {
        take_choice(pd, existing);
        *primitive_desc = pd;
    } else dtp_object_release(pd);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_primitive_desc_destroy(dnnl_tp_primitive_desc_t primitive_desc) {
    DTP_DESTROY(primitive_desc, DTP_OBJ_PD);
}

dnnl_tp_status_t dnnl_tp_primitive_desc_get_attr(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                 const_dnnl_tp_primitive_attr_t *attr) {
    DTP_GET(attr, NULL, primitive_desc, DTP_OBJ_PD, primitive_desc->attr);
}

dnnl_tp_status_t dnnl_tp_primitive_desc_get_num_threads(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                        int *num_threads) {
    DTP_GET(num_threads, 0, primitive_desc, DTP_OBJ_PD, primitive_desc->num_threads);
}
