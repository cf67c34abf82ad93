/* Queries of primitive descriptors. Scalar fields come from the field tables. */
#include "common/primitive/primitive_cache.h"
#include "common/primitive/primitive_desc.h"

/* What a query of sources, weights or destinations counts: arguments whose numbers lie in one of the ranges.
 * Statistics are sources or destinations, as the problem has it. */
typedef struct {
    unsigned flag; /* DTP_ARG_* */
    struct {
        int lo, hi; /* DNNL_TP_ARG_* */
    } range[3];
} selection_t;
static const selection_t sources = {DTP_ARG_INPUT,
                                    {{DNNL_TP_ARG_SRC, DNNL_TP_ARG_SRC_2},
                                     {DNNL_TP_ARG_MULTIPLE_SRC, DNNL_TP_ARG_ATTR_SCALES - 1},
                                     {DNNL_TP_ARG_MEAN, DNNL_TP_ARG_VARIANCE}}};
static const selection_t weights = {DTP_ARG_INPUT,
                                    {{DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_WEIGHTS},
                                     {DNNL_TP_ARG_BIAS, DNNL_TP_ARG_BIAS},
                                     {DNNL_TP_ARG_SCALE, DNNL_TP_ARG_SHIFT}}};
static const selection_t destinations = {
    DTP_ARG_OUTPUT, {{DNNL_TP_ARG_DST, DNNL_TP_ARG_DST}, {DNNL_TP_ARG_MEAN, DNNL_TP_ARG_VARIANCE}}};

static bool selects(const selection_t *s, const dtp_pd_arg_t *arg) {
    for (size_t i = 0; i < sizeof s->range / sizeof *s->range; ++i)
        if (arg->arg >= s->range[i].lo && arg->arg <= s->range[i].hi && (arg->flags & s->flag)) return true;
    return false;
}

/* The mean that an RMS norm does not have is described as the variance is. */
static const dtp_md_t *md_of_arg(const dtp_pd_t *pd, int arg) {
    if (arg == DNNL_TP_ARG_SCRATCHPAD) return &pd->scratch_md;
    int i = dtp_pd_arg_index(pd, arg);
    if (i < 0 && arg == DNNL_TP_ARG_MEAN) i = dtp_pd_arg_index(pd, DNNL_TP_ARG_VARIANCE);
    return i < 0 ? &dtp_md_zero : pd->args[i].md;
}

/* The index-th of the kind's own arguments that are selected. A shift without a scale is the first. */
static const dtp_md_t *nth_md(const dtp_pd_t *pd, const selection_t *s, int index) {
    for (int i = 0; i < pd->attr_arg; ++i) {
        if (!selects(s, &pd->args[i])) continue;
        if (pd->args[i].arg == DNNL_TP_ARG_SCALE && dtp_md_is_zero(pd->args[i].md)) continue;
        if (index-- == 0) return md_of_arg(pd, pd->args[i].arg);
    }
    return &dtp_md_zero;
}

const_dnnl_tp_memory_desc_t dnnl_tp_primitive_desc_query_md(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                            dnnl_tp_query_t what, int index) {
    if (!dtp_is(primitive_desc, DTP_OBJ_PD)) return NULL;
    const dtp_pd_t *pd = primitive_desc;
    if (index < 0) return what == dnnl_tp_query_exec_arg_md ? &dtp_md_zero : NULL;
    switch (what) {
    case dnnl_tp_query_src_md: return nth_md(pd, &sources, index);
    case dnnl_tp_query_weights_md: return nth_md(pd, &weights, index);
    case dnnl_tp_query_dst_md: return nth_md(pd, &destinations, index);
    case dnnl_tp_query_diff_src_md:
    case dnnl_tp_query_diff_weights_md:
    case dnnl_tp_query_diff_dst_md: return &dtp_md_zero; /* no backward passes */
    case dnnl_tp_query_workspace_md: return index == 0 ? md_of_arg(pd, DNNL_TP_ARG_WORKSPACE) : &dtp_md_zero;
    case dnnl_tp_query_scratchpad_md: return index == 0 ? &pd->scratch_md : &dtp_md_zero;
    case dnnl_tp_query_exec_arg_md: return md_of_arg(pd, index);
    default: return NULL;
    }
}

int dnnl_tp_primitive_desc_query_s32(const_dnnl_tp_primitive_desc_t primitive_desc, dnnl_tp_query_t what,
                                     int index) {
    int result = 0;
    return dnnl_tp_primitive_desc_query(primitive_desc, what, index, &result) ? 0 : result;
}

static int count_args(const dtp_pd_t *pd, unsigned flag) {
    int n = 0;
    for (int i = 0; i < pd->nargs; ++i) n += (pd->args[i].flags & flag) && !dtp_md_is_zero(pd->args[i].md);
    return n;
}

/* Members of problems that can be asked for. */
static const struct {
    dnnl_tp_query_t what;
    const char *name;
} members[] = {{dnnl_tp_query_prop_kind, "prop"},
               {dnnl_tp_query_alg_kind, "alg"},
               {dnnl_tp_query_flags, "flags"},
               {dnnl_tp_query_axis_s32, "axis"},
               {dnnl_tp_query_alpha_f32, "alpha"},
               {dnnl_tp_query_beta_f32, "beta"},
               {dnnl_tp_query_epsilon_f32, "eps"},
               {dnnl_tp_query_epsilon_f32, "epsilon"},
               {dnnl_tp_query_p_f32, "p"},
               {dnnl_tp_query_local_size_s64, "local_size"},
               {dnnl_tp_query_k_f32, "k"},
               {dnnl_tp_query_group_size_s64, "groups"},
               {dnnl_tp_query_strides, "strides"},
               {dnnl_tp_query_kernel, "kernel"},
               {dnnl_tp_query_dilations, "dilations"},
               {dnnl_tp_query_padding_l, "padding_l"},
               {dnnl_tp_query_padding_r, "padding_r"},
               {dnnl_tp_query_factors, "factors"},
               {dnnl_tp_query_group_size_s64, "group_size"}};

/* A number of the problem by name, or the address of one that has several values; false: there is none.
 */
static bool read_member(const dtp_pd_t *pd, const char *name, void *result) {
    for (int f = 0; f < pd->info->nfields; ++f) {
        const dtp_field_t *field = &pd->info->fields[f];
        const char *at = (const char *)pd->op + field->offset;
        if (strcmp(field->name, name)) continue;
        if (field->type == DTP_FIELD_DIMS || field->type == DTP_FIELD_F32S) *(const void **)result = at;
        else if (field->type == DTP_FIELD_S64) memcpy(result, at, sizeof(int64_t));
        else if (field->type == DTP_FIELD_S32 || field->type == DTP_FIELD_F32) memcpy(result, at, 4);
        else continue;
        return true;
    }
    return false;
}

static double time_estimate(const dtp_pd_t *pd) {
    const double s_per_ns = 1e-9;
    const bool known = dtp_engine_can(pd->engine, DTP_ENGINE_CACHES) && !pd->has_runtime;
    const dtp_op_work_t work = dtp_pd_work(pd, NULL);
    return known ? s_per_ns * dtp_op_work_ns(&work) : 0.;
}

/* Made when it is first asked for; racing callers make the same. */
static dnnl_tp_status_t query_blob_id(const dtp_pd_t *pd, dnnl_tp_query_t what, void *result) {
    dtp_pd_t *holder = (dtp_pd_t *)(uintptr_t)pd;
    dtp_bytes_t blob;
    DTP_TRY(dtp_cache_blob(&blob, pd));
    if (what == dnnl_tp_query_cache_blob_id_size_s64) {
        *(int64_t *)result = (int64_t)blob.size;
        dtp_bytes_free(&blob);
        return dnnl_tp_success;
    }
    void *old = NULL, *made = dtp_alloc(NULL, blob.size, 16);
    if (made) memcpy(made, blob.data, blob.size);
    dtp_bytes_free(&blob);
    if (!made) return dtp_no_memory(blob.size);
    if (!atomic_compare_exchange_strong(&holder->blob_id, &old, made)) dtp_free(NULL, made);
    *(const uint8_t **)result = old ? old : made;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_desc_query(const_dnnl_tp_primitive_desc_t primitive_desc,
                                              dnnl_tp_query_t what, int index, void *result) {
    DTP_REQUIRE_HANDLE(primitive_desc, DTP_OBJ_PD);
    DTP_REQUIRE(result, NULL_ARG, "result");
    const dtp_pd_t *pd = primitive_desc;
    switch (what) {
    case dnnl_tp_query_engine:
    case dnnl_tp_query_scratchpad_engine: *(dnnl_tp_engine_t *)result = pd->engine; return dnnl_tp_success;
    case dnnl_tp_query_reorder_src_engine:
    case dnnl_tp_query_reorder_dst_engine:
        if (pd->info->kind != dnnl_tp_reorder)
            DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "not a reorder"));
        *(dnnl_tp_engine_t *)result = dtp_pd_arg_engine(
            pd, dtp_pd_arg_index(pd, what == dnnl_tp_query_reorder_src_engine ? DNNL_TP_ARG_FROM
                                                                              : DNNL_TP_ARG_TO));
        return dnnl_tp_success;
    case dnnl_tp_query_primitive_kind:
        *(dnnl_tp_primitive_kind_t *)result = pd->info->kind;
        return dnnl_tp_success;
    case dnnl_tp_query_num_of_inputs_s32:
        *(int *)result = count_args(pd, DTP_ARG_INPUT);
        return dnnl_tp_success;
    case dnnl_tp_query_num_of_outputs_s32:
        *(int *)result = count_args(pd, DTP_ARG_OUTPUT);
        return dnnl_tp_success;
    case dnnl_tp_query_time_estimate_f64: *(double *)result = time_estimate(pd); return dnnl_tp_success;
    case dnnl_tp_query_memory_consumption_s64:
        *(int64_t *)result =
            pd->attr->scratchpad_mode == dnnl_tp_scratchpad_mode_user ? 0 : (int64_t)dtp_pd_scratch_size(pd);
        return dnnl_tp_success;
    case dnnl_tp_query_cache_blob_id_size_s64:
    case dnnl_tp_query_cache_blob_id: return query_blob_id(pd, what, result);
    case dnnl_tp_query_impl_info_str: *(const char **)result = pd->impl->name; return dnnl_tp_success;
    default: break;
    }
    const char *asked = NULL;
    for (size_t i = 0; i < sizeof members / sizeof *members; ++i)
        if (members[i].what == what && read_member(pd, asked = members[i].name, result))
            return dnnl_tp_success;
    if (asked)
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "%s has no %s", pd->info->name, asked));
    if ((what >= dnnl_tp_query_some_md && what < dnnl_tp_query_ndims_s32)) {
        const dtp_md_t *md = dnnl_tp_primitive_desc_query_md(pd, what, index);
        if (!md) DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "query %d", (int)what));
        *(const_dnnl_tp_memory_desc_t *)result = md;
        if (md->ndims == 0)
            DTP_RETURN(dtp_answer(dnnl_tp_not_required, DTP_BAD_INDEX,
                                  "this %s has no such tensor (query %d, index %d)", pd->info->name,
                                  (int)what, index));
        return dnnl_tp_success;
    }
    DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "query %d of %s", (int)what, pd->info->name));
}
