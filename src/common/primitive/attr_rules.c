/* Which attributes a kind takes, one row a kind. What no row names is refused at creation, with the name of the
 * argument: an attribute that were ignored would give wrong results without a word. What a row names may still be
 * refused by every implementation. */
#include "common/primitive/kind_checks.h"

#include <stdio.h>

/* Masks that scales or zero points of an argument may have. */
typedef enum { COMMON = 1, ANY } masks_t;
typedef struct {
    int arg; /* DNNL_TP_ARG_*; 0 ends the list */
    masks_t masks;
} rule_t;

enum { MOST = 4, ELTWISE = 1, BINARY = 2, SUM = 4, EVERY = ELTWISE | BINARY | SUM };
typedef struct {
    dnnl_tp_primitive_kind_t kind;
    rule_t scales[MOST], zero_points[MOST]; /* MULTIPLE_SRC stands for all sources */
    bool integers;                          /* zero points are for tensors of integers */
    unsigned post_ops;
} row_t;

#define SRC DNNL_TP_ARG_SRC
#define WEI DNNL_TP_ARG_WEIGHTS
#define DST DNNL_TP_ARG_DST
static const row_t rows[] = {
    {dnnl_tp_matmul, {{SRC, ANY}, {WEI, ANY}, {DST, ANY}}, {{SRC, ANY}, {WEI, ANY}, {DST, ANY}}, true, EVERY},
    {dnnl_tp_inner_product, {{SRC, ANY}, {WEI, ANY}, {DST, ANY}}, {{0}}, true, EVERY},
    {dnnl_tp_softmax, {{SRC, COMMON}, {DST, COMMON}}, {{0}}, true, EVERY},
    {dnnl_tp_layer_normalization, {{SRC, COMMON}, {DST, COMMON}}, {{0}}, true, EVERY},
    {dnnl_tp_eltwise, {{0}}, {{0}}, true, EVERY},
    {dnnl_tp_binary, {{SRC, COMMON}, {DNNL_TP_ARG_SRC_1, COMMON}}, {{0}}, true, EVERY},
    {dnnl_tp_reduction, {{0}}, {{0}}, true, EVERY},
    {dnnl_tp_reorder, {{SRC, ANY}, {DST, ANY}}, {{SRC, ANY}, {DST, ANY}}, false, SUM},
    {dnnl_tp_concat, {{DNNL_TP_ARG_MULTIPLE_SRC, COMMON}}, {{0}}, true, 0},
    {dnnl_tp_sum, {{0}}, {{0}}, true, 0},
};

static const rule_t *rule_of(const rule_t *rules, int arg) {
    for (int i = 0; i < MOST && rules[i].arg; ++i)
        if (rules[i].arg == arg || (rules[i].arg == DNNL_TP_ARG_MULTIPLE_SRC && arg > rules[i].arg))
            return &rules[i];
    return NULL;
}

/* "SRC, WEIGHTS", "no argument". */
static void list_args(const rule_t *rules, char *text, size_t size) {
    size_t n = 0;
    snprintf(text, size, "no argument");
    for (int i = 0; i < MOST && rules[i].arg && n < size; ++i) {
        char name[DTP_ARG_TEXT];
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", dtp_arg_text(rules[i].arg, name));
    }
}

static dnnl_tp_status_t check_list(const dtp_pd_t *pd, const row_t *row, bool scale) {
    const dtp_reason_t reason = scale ? DTP_UNSUPPORTED_SCALES : DTP_UNSUPPORTED_ZERO_POINTS;
    const char *what = scale ? "scales" : "zero points", *kind = pd->info->name;
    const rule_t *rules = scale ? row->scales : row->zero_points;
    const int n = scale ? pd->attr->n_scales : pd->attr->n_zero_points;
    for (int i = 0; i < n; ++i) {
        const dtp_quant_t *q = scale ? &pd->attr->scales[i] : &pd->attr->zero_points[i];
        const rule_t *rule = rule_of(rules, q->arg);
        const int of = dtp_pd_arg_index(pd, q->arg);
        char arg[DTP_ARG_TEXT], taken[128];
        dtp_arg_text(q->arg, arg);
        list_args(rules, taken, sizeof taken);
        if (!rule || of < 0)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: %s has them for %s", what, arg, kind,
                            taken);
        const dtp_md_t *md = pd->args[of].md;
        if (q->mask >> md->ndims)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: mask %d, the tensor has %d dimensions",
                            what, arg, q->mask, md->ndims);
        if (rule->masks == COMMON && q->mask != 0)
            return dtp_fail(dnnl_tp_unimplemented, reason, "%s of %s: mask %d, %s takes 0", what, arg,
                            q->mask, kind);
        /* The result of integers may be moved into a floating-point type, too. */
        const int src = dtp_pd_arg_index(pd, DNNL_TP_ARG_SRC);
        const dtp_md_t *ints = q->arg == DNNL_TP_ARG_DST && src >= 0 ? pd->args[src].md : md;
        if (!scale && row->integers && ints->data_type <= dnnl_tp_f32 && md->data_type <= dnnl_tp_f32)
            return dtp_fail(dnnl_tp_unimplemented, reason,
                            "zero points of %s: the tensor is %s, not of integers", arg,
                            dnnl_tp_dt2str(md->data_type));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_check_attr(const dtp_pd_t *pd) {
    const row_t *row = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !row; ++i)
        if (rows[i].kind == pd->info->kind) row = &rows[i];
    if (!row) return dnnl_tp_success; /* kinds of graphs, whose attributes the library makes */
    DTP_TRY(check_list(pd, row, true));
    DTP_TRY(check_list(pd, row, false));
    for (int i = 0; i < pd->attr->post_ops->len; ++i) {
        dnnl_tp_primitive_kind_t kind = pd->attr->post_ops->entry[i].kind;
        unsigned bit = kind == dnnl_tp_eltwise ? ELTWISE : kind == dnnl_tp_binary ? BINARY : SUM;
        if (!(row->post_ops & bit))
            return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_POST_OPS,
                            "post-op %d: %s takes %s, not %s", i, pd->info->name,
                            row->post_ops ? "sum" : "none", dnnl_tp_prim_kind2str(kind));
    }
    return dnnl_tp_success;
}
