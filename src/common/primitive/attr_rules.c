/* Checks a problem's attributes against the rules of its kind (dtp_attr_rules_t). */
#include "common/primitive/kind_checks.h"

#include <stdio.h>

static const dtp_quant_rule_t *rule_of(const dtp_quant_rule_t *rules, int arg) {
    for (int i = 0; i < DTP_MAX_QUANT_RULES && rules[i].arg; ++i)
        if (rules[i].arg == arg || (rules[i].arg == DNNL_TP_ARG_MULTIPLE_SRC && arg > rules[i].arg))
            return &rules[i];
    return NULL;
}

/* "SRC, WEIGHTS", "no argument". */
static void list_args(const dtp_quant_rule_t *rules, char *text, size_t size) {
    size_t n = 0;
    snprintf(text, size, "no argument");
    for (int i = 0; i < DTP_MAX_QUANT_RULES && rules[i].arg && n < size; ++i) {
        char name[DTP_ARG_TEXT];
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", dtp_arg_text(rules[i].arg, name));
    }
}

static dnnl_tp_status_t check_list(const dtp_pd_t *pd, const dtp_attr_rules_t *rules, bool scale) {
    const dtp_reason_t reason = scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS;
    const char *what = scale ? "scales" : "zero points", *kind = pd->info->name;
    const dtp_quant_rule_t *list = scale ? rules->scales : rules->zero_points;
    const int n = scale ? pd->attr->n_scales : pd->attr->n_zero_points;
    for (int i = 0; i < n; ++i) {
        const dtp_quant_t *q = scale ? &pd->attr->scales[i] : &pd->attr->zero_points[i];
        const dtp_quant_rule_t *rule = rule_of(list, q->arg);
        const int of = dtp_pd_arg_index(pd, q->arg);
        char arg[DTP_ARG_TEXT], taken[128];
        dtp_arg_text(q->arg, arg);
        list_args(list, taken, sizeof taken);
        if (!rule || of < 0)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: %s has them for %s", what, arg, kind,
                            taken);
        const dtp_md_t *md = pd->args[of].md;
        if (q->mask >> md->ndims)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: mask %d, the tensor has %d dimensions",
                            what, arg, q->mask, md->ndims);
        if (q->on_host && !dtp_engine_can(pd->engine, DTP_ENGINE_HOST_READABLE))
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: a host scalar, on a %s", what, arg,
                            pd->engine->v->name);
        if (rule->masks == DTP_MASK_COMMON && q->mask != 0)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: mask %d, %s takes 0", what, arg,
                            q->mask, kind);
        /* The result of integers may be moved into a floating-point type, too. */
        const int src = dtp_pd_arg_index(pd, DNNL_TP_ARG_SRC);
        const dtp_md_t *ints = q->arg == DNNL_TP_ARG_DST && src >= 0 ? pd->args[src].md : md;
        if (!scale && !rules->real_zero_points && ints->data_type <= dnnl_tp_f32 &&
            md->data_type <= dnnl_tp_f32)
            return dtp_fail(dnnl_tp_unimplemented, reason,
                            "zero points of %s: the tensor is %s, not of integers", arg,
                            dnnl_tp_dt2str(md->data_type));
    }
    return dnnl_tp_success;
}

/* Attributes that programs may set and no primitive takes, and types that can only be stored. */
static dnnl_tp_status_t check_refused(const dtp_pd_t *pd) {
    const dtp_attr_refused_t *r = &pd->attr->refused;
    const char *name = r->dropout          ? "dropout"
                       : r->stochastic[0]  ? "stochastic rounding"
                       : r->reductions.arg ? "precomputed reductions"
                                           : NULL;
    if (name) return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_ATTR, "%s of %s", name, pd->info->name);
    for (int i = 0; i < pd->attr->n_scales + pd->attr->n_zero_points; ++i) {
        const bool scale = i < pd->attr->n_scales;
        const dtp_quant_t *q = scale ? &pd->attr->scales[i] : &pd->attr->zero_points[i - pd->attr->n_scales];
        char arg[DTP_ARG_TEXT];
        if (q->dynamic || !dtp_type_size(q->data_type))
            return dtp_fail(dnnl_tp_unimplemented,
                            scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS, "%s of %s: %s%s",
                            scale ? "scales" : "zero points", dtp_arg_text(q->arg, arg),
                            dnnl_tp_dt2str(q->data_type), q->dynamic ? ", computed by the primitive" : "");
    }
    for (int i = 0; i < pd->attr->post_ops->len; ++i)
        if (pd->attr->post_ops->entry[i].kind == dnnl_tp_convolution)
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_POST_OPS,
                            "post-op %d: a depthwise convolution of what %s gives", i, pd->info->name);
    for (int i = 0; i < pd->nargs; ++i) {
        const dtp_md_t *md = pd->args[i].md;
        char arg[DTP_ARG_TEXT];
        if (dtp_md_is_zero(md)) continue;
        DTP_REQUIRE(!dtp_md_is_host_scalar(md), BAD_TAG, "argument %s is a host scalar",
                    dtp_arg_text(pd->args[i].arg, arg));
        if (!dtp_type_size(md->data_type))
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_DATA_TYPE, "argument %s of %s is %s",
                            dtp_arg_text(pd->args[i].arg, arg), pd->info->name,
                            dnnl_tp_dt2str(md->data_type));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_attr(const dtp_pd_t *pd) {
    DTP_TRY(check_refused(pd));
    const dtp_attr_rules_t *rules = pd->info->attr;
    if (!rules) return dnnl_tp_success;
    DTP_TRY(check_list(pd, rules, true));
    DTP_TRY(check_list(pd, rules, false));
    for (int i = 0; i < pd->attr->post_ops->len; ++i) {
        dnnl_tp_primitive_kind_t kind = pd->attr->post_ops->entry[i].kind;
        unsigned bit = kind == dnnl_tp_eltwise  ? DTP_TAKES_ELTWISE
                       : kind == dnnl_tp_binary ? DTP_TAKES_BINARY
                                                : DTP_TAKES_SUM;
        if (!(rules->post_ops & bit))
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_POST_OPS,
                            "post-op %d: %s takes %s, not %s", i, pd->info->name,
                            rules->post_ops & DTP_TAKES_ELTWISE ? "eltwise and binary"
                            : rules->post_ops                   ? "sum"
                                                                : "none",
                            dnnl_tp_prim_kind2str(kind));
    }
    return dnnl_tp_success;
}
