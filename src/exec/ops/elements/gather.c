/* Rows of a table by number; of a list: elements. */
#include "exec/ops/ops.h"

#include "common/problems/graph/gather.h"

static dnnl_tp_status_t gather_infer(const dtp_infer_t *c) {
    const info_t *t = c->in[0], *ids = c->in[1];
    char tt[DTP_SHAPE_TEXT];
    TYPE(ids->data_type == dnnl_tp_s32 || ids->data_type == dnnl_tp_s64,
         "ids have type %s, s32 or s64 is needed", dnnl_tp_dt2str(ids->data_type));
    SHAPE(t->ndims == 1 || t->ndims == 2, "table %s needs one or two dimensions", dtp_info_text(t, tt));
    SHAPE(ids->ndims < DNNL_TP_MAX_NDIMS, "ids have %d dimensions, at most %d are allowed", ids->ndims,
          DNNL_TP_MAX_NDIMS - 1);
    *c->out = *ids;
    c->out->data_type = t->data_type;
    if (t->ndims == 2) c->out->dims[c->out->ndims++] = t->dims[1];
    return dnnl_tp_success;
}

static bool gather_values(const dtp_infer_t *c, int64_t *values) {
    const info_t *t = c->in[0];
    if (t->ndims != 1 || !c->known[0] || !c->known[1]) return false;
    const int64_t n = dtp_info_nelems(c->out);
    for (int64_t i = 0; i < n; ++i) {
        if (c->known[1][i] < 0 || c->known[1][i] >= t->dims[0]) return false; /* the run says so */
        values[i] = c->known[0][c->known[1][i]];
    }
    return true;
}

static dnnl_tp_status_t gather_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const info_t *ids = dtp_info(l, n->in[1]), *to = dtp_info(l, n->out[0]);
    dtp_step_t *s;
    dtp_view_t table, p;
    DTP_TRY(dtp_view_dense(l, n->in[0], &table));
    DTP_TRY(dtp_view_dense(l, n->in[1], &p));
    DTP_TRY(dtp_new_step(l, n, sizeof(dtp_gather_desc_t), DTP_KIND_GATHER, DTP_GATHER_NARGS, &s));
    dtp_gather_desc_t *d = (dtp_gather_desc_t *)s->op;
    int64_t count = dtp_info_nelems(ids);
    const info_t *t = dtp_info(l, n->in[0]);
    const int64_t dims[2] = {t->dims[0], t->ndims == 2 ? t->dims[1] : 1};
    DTP_TRY(dtp_md_init_strides(&d->table, 2, dims, t->data_type, NULL));
    DTP_TRY(dtp_md_init_strides(&d->ids, 1, &count, ids->data_type, NULL));
    s->arg[DTP_GATHER_TABLE] = dtp_view_arg(&table);
    s->arg[DTP_GATHER_IDS] = dtp_view_arg(&p);
    DTP_TRY(dtp_result2(l, n->out[0], t->ndims == 2 ? dtp_last_split(to) : to->ndims, &d->dst,
                        &s->arg[DTP_GATHER_DST]));
    return dnnl_tp_success;
}

static dtp_cut_t gather_cut(const dtp_cut_arg_t *a) {
    return a->arg == DTP_GATHER_TABLE ? DTP_CUT_WHOLE : DTP_CUT_SLICED;
}

const dtp_op_class_t dtp_class_gather =
    DTP_OP_CLASS(dtp_op_attrs_t, DTP_NO_FIELDS, DTP_OP_OWN_TYPE, 0, 1, dtp_one_result, gather_infer,
                 gather_values, gather_lower, gather_cut, DTP_NO_POST);
