/* Verbose lines about primitives; everything comes from the field tables. */
#include "common/primitive/verbose_text.h"

#include <stdio.h>

typedef struct {
    char *at, *end;
} text_t;

#define PUT(t, ...)                                                            \
    do {                                                                       \
        int n_ = snprintf((t)->at, (size_t)((t)->end - (t)->at), __VA_ARGS__); \
        (t)->at = n_ < (t)->end - (t)->at ? (t)->at + n_ : (t)->end - 1;       \
    } while (0)

static void put_md(text_t *t, const char *name, const dtp_md_t *md) {
    char text[160];
    if (dtp_md_is_zero(md)) return;
    dtp_md_text(md, text, sizeof text);
    PUT(t, "%s%s_%s", t->at[-1] == ',' ? "" : " ", name, text);
}

static void put_mds(text_t *t, const dtp_pd_t *pd) {
    for (int f = 0; f < pd->info->nfields; ++f) {
        const dtp_field_t *field = &pd->info->fields[f];
        const char *at = (const char *)pd->op + field->offset;
        if (field->type != DTP_FIELD_MD && field->type != DTP_FIELD_MD_ARRAY) continue;
        for (int i = 0; i < dtp_field_count(field, pd->op); ++i)
            put_md(t, field->name, (const dtp_md_t *)(const void *)at + i);
    }
}

static void put_quants(text_t *t, const char *head, const dtp_quant_t *q, int n) {
    for (int i = 0; i < n; ++i) {
        PUT(t, "%s", i ? "+" : head);
        if (q[i].arg >= DNNL_TP_ARG_MULTIPLE_SRC) PUT(t, "msrc%d", q[i].arg - DNNL_TP_ARG_MULTIPLE_SRC);
        else if (q[i].arg < DNNL_TP_ARG_DST)
            PUT(t, q[i].arg == DNNL_TP_ARG_SRC ? "src" : "src%d", q[i].arg - 1);
        else PUT(t, "%s", q[i].arg == DNNL_TP_ARG_DST ? "dst" : "wei");
        PUT(t, ":%d:%s", q[i].mask, dnnl_tp_dt2str(q[i].data_type));
        if (q[i].group_ndims) PUT(t, ":%lldx%lld", (long long)q[i].groups[0], (long long)q[i].groups[1]);
    }
    if (n) PUT(t, " ");
}

static void put_attr(text_t *t, const dtp_attr_t *a) {
    if (a->scratchpad_mode == dnnl_tp_scratchpad_mode_user) PUT(t, "attr-scratchpad:user ");
    if (a->fpmath_mode) PUT(t, "attr-fpmath:%s ", dnnl_tp_fpmath_mode2str(a->fpmath_mode));
    if (a->acc_mode) PUT(t, "attr-acc-mode:%s ", dnnl_tp_accumulation_mode2str(a->acc_mode));
    if (a->deterministic) PUT(t, "attr-deterministic:true ");
    if (a->refuse_reference) PUT(t, "attr-refuse-reference:true ");
    put_quants(t, "attr-scales:", a->scales, a->n_scales);
    put_quants(t, "attr-zero-points:", a->zero_points, a->n_zero_points);
    for (int i = 0; i < a->post_ops->len; ++i) {
        const dtp_post_op_t *e = &a->post_ops->entry[i];
        PUT(t, "%s", i ? "+" : "attr-post-ops:");
        if (e->kind == dnnl_tp_sum) PUT(t, "sum:%g:%d", (double)e->scale, (int)e->zero_point);
        else if (e->kind == dnnl_tp_eltwise)
            PUT(t, "%s:%g:%g", dnnl_tp_alg_kind2str(e->alg), (double)e->alpha, (double)e->beta);
        else if (e->kind == dnnl_tp_prelu) PUT(t, "prelu:%d", e->mask);
        else PUT(t, "%s:%s", dnnl_tp_alg_kind2str(e->alg), dnnl_tp_dt2str(e->src1.data_type));
    }
}

static void put_aux(text_t *t, const dtp_pd_t *pd) {
    for (int f = 0; f < pd->info->nfields; ++f) {
        const dtp_field_t *field = &pd->info->fields[f];
        const void *at = (const char *)pd->op + field->offset;
        if (!strcmp(field->name, "prop")) continue;
        if (field->type == DTP_FIELD_F32) PUT(t, "%s:%g ", field->name, (double)*(const float *)at);
        if (field->type == DTP_FIELD_S64) PUT(t, "%s:%lld ", field->name, (long long)*(const int64_t *)at);
        if (field->type == DTP_FIELD_DIMS) {
            const int n = *(const int *)(const void *)((const char *)pd->op + field->count_offset);
            for (int i = 0; i < n; ++i)
                PUT(t, "%s%s%lld", i ? "" : field->name, i ? "x" : ":", (long long)((const int64_t *)at)[i]);
            PUT(t, " ");
        }
        if (field->type != DTP_FIELD_S32) continue;
        if (!strcmp(field->name, "alg"))
            PUT(t, "alg:%s ", dnnl_tp_alg_kind2str(*(const dnnl_tp_alg_kind_t *)at));
        else if (strcmp(field->name, "exact") || *(const int *)at)
            PUT(t, "%s:%d ", field->name, *(const int *)at);
    }
    if (t->at[-1] == ' ') *--t->at = 0;
}

static void put_dims(text_t *t, const dtp_pd_t *pd) {
    bool first = true;
    for (int i = 0; i < pd->attr_arg; ++i) {
        const dtp_md_t *md = pd->args[i].md;
        if (dtp_md_is_zero(md)) continue;
        PUT(t, "%s", first ? "" : ":");
        first = false;
        for (int d = 0; d < md->ndims; ++d)
            if (md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) PUT(t, "%s*", d ? "x" : "");
            else PUT(t, "%s%lld", d ? "x" : "", (long long)md->dims[d]);
    }
}

static void put_problem(text_t *t, const dtp_pd_t *pd) {
    dnnl_tp_prop_kind_t prop = dnnl_tp_prop_kind_undef;
    for (int f = 0; f < pd->info->nfields; ++f)
        if (!strcmp(pd->info->fields[f].name, "prop"))
            memcpy(&prop, (const char *)pd->op + pd->info->fields[f].offset, sizeof prop);
    PUT(t, "%s,", dnnl_tp_prop_kind2str(prop));
    put_mds(t, pd);
    PUT(t, ",");
    put_attr(t, pd->attr);
    PUT(t, ",");
    put_aux(t, pd);
    PUT(t, ",");
    put_dims(t, pd);
}

void dtp_verbose_dims(const dtp_pd_t *pd, char *text, size_t size) {
    text_t t = {text, text + size};
    *text = 0;
    put_dims(&t, pd);
}

const char *dtp_verbose_problem(const dtp_pd_t *pd, char text[DTP_PROBLEM_TEXT]) {
    text_t t = {text, text + DTP_PROBLEM_TEXT};
    put_problem(&t, pd);
    return text;
}

void dtp_verbose_reference(const dtp_pd_t *pd, const dtp_op_work_t *work) {
    char text[1600];
    text_t t = {text, text + sizeof text};
    put_problem(&t, pd);
    dtp_verbose_line("primitive,exec:dispatch,%s,%s,%s,%s,a reference implementation executes %.0f "
                     "operations on %.0f bytes",
                     pd->engine->v->name, pd->info->name, pd->impl->name, text, work->flops, work->bytes);
}

void dtp_verbose_primitive(const char *what, const dtp_pd_t *pd, double ms) {
    char text[1800];
    text_t t = {text, text + sizeof text};
    double begin = dtp_now_ms() - ms;
    put_problem(&t, pd);
    dtp_verbose_line_at(begin, "primitive,%s,%s,%s,%s,%s,%g", what, pd->engine->v->name, pd->info->name,
                        pd->impl->name, text, ms);
}

void dtp_verbose_dispatch(const dtp_pd_t *pd, const dtp_impl_t *impl, const char *reason) {
    char text[1600];
    text_t t = {text, text + sizeof text};
    put_problem(&t, pd);
    dtp_verbose_line("primitive,create:dispatch,%s,%s,%s,%s,%s", pd->engine->v->name, pd->info->name,
                     impl->name, text, reason);
}
