/* Queries of primitive descriptors. Scalar fields come from the field tables. */
#include "common/primitive/primitive_desc.h"

/* Index of the i-th argument with number in [lo, hi] of the kind's own arguments; -1 if there is none. */
static const dtp_md_t *nth_md(const dtp_pd_t *pd, int lo, int hi, int index) {
    for (int i = 0; i < pd->attr_arg; ++i) {
        if (pd->args[i].arg < lo || pd->args[i].arg > hi) continue;
        if (index-- == 0) return pd->args[i].md;
    }
    return &dtp_md_zero;
}

static const dtp_md_t *md_of_arg(const dtp_pd_t *pd, int arg) {
    if (arg == DNNL_TP_ARG_SCRATCHPAD) return &pd->scratch_md;
    int i = dtp_pd_arg_index(pd, arg);
    return i < 0 ? &dtp_md_zero : pd->args[i].md;
}

const_dnnl_tp_memory_desc_t dnnl_tp_primitive_desc_query_md(const_dnnl_tp_primitive_desc_t primitive_desc,
                                                            dnnl_tp_query_t what, int index) {
    if (!dtp_is(primitive_desc, DTP_OBJ_PD)) return NULL;
    const dtp_pd_t *pd = primitive_desc;
    if (index < 0) return what == dnnl_tp_query_exec_arg_md ? &dtp_md_zero : NULL;
    switch (what) {
    case dnnl_tp_query_src_md:
        if (pd->info->kind == dnnl_tp_concat || pd->info->kind == dnnl_tp_sum)
            return nth_md(pd, DNNL_TP_ARG_MULTIPLE_SRC, DNNL_TP_ARG_MULTIPLE_SRC + 1023, index);
        if (pd->info->kind == dnnl_tp_layer_normalization && index > 0) {
            bool in = *(const unsigned *)((const char *)pd->op + offsetof(dtp_layer_norm_desc_t, flags)) &
                      dnnl_tp_use_global_stats;
            return in && index < 3 ? pd->args[DTP_LNORM_MEAN + index - 1].md : &dtp_md_zero;
        }
        return nth_md(pd, DNNL_TP_ARG_SRC, DNNL_TP_ARG_SRC_2, index);
    case dnnl_tp_query_weights_md:
        if (pd->info->kind == dnnl_tp_layer_normalization)
            return nth_md(pd, DNNL_TP_ARG_SCALE, DNNL_TP_ARG_SHIFT, index);
        if (index == 1) return nth_md(pd, DNNL_TP_ARG_BIAS, DNNL_TP_ARG_BIAS, 0);
        return nth_md(pd, DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_WEIGHTS, index);
    case dnnl_tp_query_dst_md:
        if (pd->info->kind == dnnl_tp_layer_normalization && index > 0) {
            const dtp_pd_arg_t *arg = index < 3 ? &pd->args[DTP_LNORM_MEAN + index - 1] : NULL;
            return arg && (arg->flags & DTP_ARG_OUTPUT) ? arg->md : &dtp_md_zero;
        }
        return nth_md(pd, DNNL_TP_ARG_DST, DNNL_TP_ARG_DST, index);
    case dnnl_tp_query_diff_src_md:
    case dnnl_tp_query_diff_weights_md:
    case dnnl_tp_query_diff_dst_md:
    case dnnl_tp_query_workspace_md:
        return &dtp_md_zero; /* no backward passes, nothing to hand over to them */
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

/* A 4-byte field of the problem by name. */
static dnnl_tp_status_t field_of(const dtp_pd_t *pd, const char *name, void *result) {
    for (int f = 0; f < pd->info->nfields; ++f) {
        const dtp_field_t *field = &pd->info->fields[f];
        if (strcmp(field->name, name) || (field->type != DTP_FIELD_S32 && field->type != DTP_FIELD_F32))
            continue;
        memcpy(result, (const char *)pd->op + field->offset, 4);
        return dnnl_tp_success;
    }
    return dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "%s has no %s", pd->info->name, name);
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
        *(dnnl_tp_engine_t *)result = pd->engine;
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
    case dnnl_tp_query_time_estimate_f64: *(double *)result = 0; return dnnl_tp_success;
    case dnnl_tp_query_memory_consumption_s64:
        *(int64_t *)result =
            pd->attr->scratchpad_mode == dnnl_tp_scratchpad_mode_user ? 0 : (int64_t)dtp_pd_scratch_size(pd);
        return dnnl_tp_success;
    case dnnl_tp_query_impl_info_str: *(const char **)result = pd->impl->name; return dnnl_tp_success;
    case dnnl_tp_query_prop_kind: DTP_RETURN(field_of(pd, "prop", result));
    case dnnl_tp_query_epsilon_f32:
        DTP_RETURN(field_of(pd, pd->info->kind == dnnl_tp_reduction ? "eps" : "epsilon", result));
    case dnnl_tp_query_flags: DTP_RETURN(field_of(pd, "flags", result));
    case dnnl_tp_query_alg_kind: DTP_RETURN(field_of(pd, "alg", result));
    case dnnl_tp_query_alpha_f32: DTP_RETURN(field_of(pd, "alpha", result));
    case dnnl_tp_query_beta_f32: DTP_RETURN(field_of(pd, "beta", result));
    case dnnl_tp_query_axis_s32: DTP_RETURN(field_of(pd, "axis", result));
    case dnnl_tp_query_p_f32: DTP_RETURN(field_of(pd, "p", result));
    default: break;
    }
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
