/* Attention of new rows over a cache of keys and values. What it computes stands with the operator (ops.inc). */
#include <math.h>

#include "common/problems/graph/cached_attention.h"
#include "exec/ops/ops.h"

DTP_ATTR(is_causal, 0x10014)   /**< 1, the default: a row sees no key behind its own (bool) */
DTP_ATTR(interleaved, 0x10015) /**< 1: pairs of features that are turned are neighbours (bool) */
DTP_ATTR(window, 0x10016)      /**< most keys that a row sees, default -1 = all (s64) */
DTP_ATTR(softcap, 0x10017) /**< scores are softcap * tanh(score / softcap), default 0 = as they are (f32) */

static const dtp_op_field_t cached_attention_fields[] = {
    DTP_NEEDED(dtp_cached_attrs_t, heads),          DTP_OPTIONAL(dtp_cached_attrs_t, scale, NAN),
    DTP_OPTIONAL(dtp_cached_attrs_t, is_causal, 1), DTP_OPTIONAL(dtp_cached_attrs_t, interleaved, 0),
    DTP_OPTIONAL(dtp_cached_attrs_t, window, -1),   DTP_OPTIONAL(dtp_cached_attrs_t, softcap, 0),
};

enum { RANK = 4, NOUT = 3 };
static const info_t *given(const dtp_infer_t *c, int i) { return i < c->nin ? c->in[i] : NULL; }

static int cached_attention_results(const void *attrs, int wanted) {
    (void)attrs;
    (void)wanted;
    return NOUT;
}

static dnnl_tp_status_t infer_mask(const dtp_infer_t *c, const info_t *m, const int64_t *fits) {
    char text[DTP_SHAPE_TEXT];
    bool ok = m->ndims == RANK;
    TYPE(m->data_type == dnnl_tp_f32, "mask has type %s, f32 is needed", dnnl_tp_dt2str(m->data_type));
    for (int i = 0; ok && i < RANK; ++i)
        ok = dtp_dims_fit(m->dims[i], fits[i]) || (i < RANK - 1 && m->dims[i] == 1);
    SHAPE(ok, "mask %s does not fit {batch, heads, rows, places of the cache + rows}",
          dtp_info_text(m, text));
    return dnnl_tp_success;
}

static dnnl_tp_status_t cached_attention_infer(const dtp_infer_t *c) {
    const dtp_cached_attrs_t *a = c->attrs;
    const info_t *q = c->in[DTP_CACHED_Q], *past = c->in[DTP_CACHED_PAST_K], *t;
    const int64_t open = DNNL_TP_RUNTIME_DIM_VAL;
    char text[DTP_SHAPE_TEXT], of[DTP_SHAPE_TEXT];
    for (int i = 0; i < DTP_CACHED_LENGTHS; ++i)
        TYPE(c->in[i]->data_type == dnnl_tp_f32, "input %d has type %s, f32 is needed", i,
             dnnl_tp_dt2str(c->in[i]->data_type));
    SHAPE(q->ndims == RANK - 1, "q %s is not {batch, rows, features}", dtp_info_text(q, text));
    SHAPE(past->ndims == RANK, "past %s is not {batch, groups, places, features}", dtp_info_text(past, text));
    const int64_t batch = q->dims[0] == open ? past->dims[0] : q->dims[0], rows = q->dims[1],
                  groups = past->dims[1], d = past->dims[3];
    SHAPE(groups != open && d != open, "past %s: groups and features have to be known",
          dtp_info_text(past, text));
    ATTR(groups >= 1 && groups <= INT32_MAX && a->heads >= 1 && a->heads <= INT32_MAX &&
             a->heads % groups == 0,
         "%lld heads of queries cannot share %lld of keys", (long long)a->heads, (long long)groups);
    SHAPE(d >= 1 && dtp_dims_fit(q->dims[2], a->heads * d) && dtp_dims_fit(past->dims[0], batch),
          "q %s and past %s do not fit for %lld heads", dtp_info_text(q, text), dtp_info_text(past, of),
          (long long)a->heads);
    for (int i = DTP_CACHED_K; i <= DTP_CACHED_V; ++i)
        SHAPE(c->in[i]->ndims == RANK - 1 && dtp_dims_fit(c->in[i]->dims[0], batch) &&
                  dtp_dims_fit(c->in[i]->dims[1], rows) && dtp_dims_fit(c->in[i]->dims[2], groups * d),
              "%s %s does not fit q and past", i == DTP_CACHED_K ? "k" : "v", dtp_info_text(c->in[i], text));
    bool same = c->in[DTP_CACHED_PAST_V]->ndims == RANK;
    for (int i = 0; same && i < RANK; ++i)
        same = dtp_dims_fit(c->in[DTP_CACHED_PAST_V]->dims[i], past->dims[i]);
    SHAPE(same, "the past of v %s has another shape than that of k",
          dtp_info_text(c->in[DTP_CACHED_PAST_V], text));
    t = c->in[DTP_CACHED_LENGTHS];
    TYPE(t->data_type == dnnl_tp_s32, "lengths have type %s, s32 is needed", dnnl_tp_dt2str(t->data_type));
    SHAPE(t->ndims == 1 && dtp_dims_fit(t->dims[0], batch), "lengths %s are not {batch}",
          dtp_info_text(t, text));
    if ((t = given(c, DTP_CACHED_MASK))) {
        const int64_t places = past->dims[2],
                      fits[RANK] = {batch, a->heads, rows,
                                    places == open || rows == open ? open : places + rows};
        DTP_TRY(infer_mask(c, t, fits));
    }
    const info_t *cosines = given(c, DTP_CACHED_COSINES), *sines = given(c, DTP_CACHED_SINES);
    ARITY(!cosines == !sines, "there are cosines or sines, not both%s", "");
    for (int i = DTP_CACHED_COSINES; cosines && i <= DTP_CACHED_SINES; ++i) {
        t = c->in[i];
        TYPE(t->data_type == dnnl_tp_f32, "angles have type %s, f32 is needed", dnnl_tp_dt2str(t->data_type));
        SHAPE(t->ndims == 2 && t->dims[1] != open && t->dims[1] <= d / 2 && t->dims[1] == cosines->dims[1] &&
                  dtp_dims_fit(t->dims[0], cosines->dims[0]),
              "angles %s are not {positions, pairs} for %lld features", dtp_info_text(t, text), (long long)d);
    }
    ATTR(a->softcap >= 0 && a->softcap < INFINITY, "softcap is %g", (double)a->softcap);
    c->out[0] = *q;
    c->out[1] = *past;
    c->out[1].dims[2] = rows;
    c->out[0].dims[0] = c->out[1].dims[0] = batch;
    c->out[0].dims[2] = a->heads * d;
    c->out[2] = c->out[1];
    return dnnl_tp_success;
}

/* Broadcasts with strides of 0. */
static dnnl_tp_status_t mask_md(dtp_lower_t *l, int v, const int64_t *dims, dtp_md_t *md,
                                dtp_step_arg_t *arg) {
    const info_t *t = dtp_info(l, v);
    dtp_view_t p;
    DTP_TRY(dtp_view_dense(l, v, &p));
    *arg = dtp_view_arg(&p);
    int64_t strides[RANK], step = 1;
    for (int i = RANK; i-- > 0;) {
        strides[i] = t->dims[i] == 1 && dims[i] != 1 ? 0 : step;
        step *= t->dims[i];
    }
    DTP_TRY(dtp_md_init_strides(md, RANK, t->dims, t->data_type, NULL));
    memcpy(md->strides, strides, sizeof strides);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cached_attention_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const dtp_cached_attrs_t *a = n->attrs;
    const info_t *q = dtp_info(l, n->in[DTP_CACHED_Q]), *past = dtp_info(l, n->in[DTP_CACHED_PAST_K]);
    dtp_cached_attention_desc_t *d = dtp_arena_alloc(l->ir->arena, sizeof *d);
    dtp_step_arg_t arg[DTP_CACHED_NARGS];
    if (!d) return dnnl_tp_out_of_memory;
    for (int i = 0; i < DTP_CACHED_NARGS; ++i) arg[i] = (dtp_step_arg_t){.buf = -1};
    d->heads = (int)a->heads;
    d->groups = (int)past->dims[1];
    d->is_causal = a->is_causal;
    d->interleaved = a->interleaved;
    d->window = a->window;
    d->softcap = a->softcap;
    d->scale = isnan(a->scale) ? 1.f / sqrtf((float)past->dims[3]) : a->scale;
    dtp_md_t *const md[] = {&d->q,    &d->k,       &d->v,     &d->past_k, &d->past_v, &d->lengths,
                            &d->mask, &d->cosines, &d->sines, &d->dst,    &d->rows_k, &d->rows_v};
    for (int i = 0; i < n->nin; ++i) {
        if (n->in[i] < 0) continue;
        if (i <= DTP_CACHED_V) {
            DTP_TRY(dtp_sequence_md(l, n->in[i], false, md[i], &arg[i]));
        } else if (i == DTP_CACHED_MASK) {
            const int64_t dims[RANK] = {q->dims[0], a->heads, q->dims[1], past->dims[2] + q->dims[1]};
            DTP_TRY(mask_md(l, n->in[i], dims, md[i], &arg[i]));
        } else {
            const info_t *t = dtp_info(l, n->in[i]);
            dtp_view_t p;
            DTP_TRY(dtp_view_dense(l, n->in[i], &p));
            DTP_TRY(dtp_md_init_strides(md[i], t->ndims, t->dims, t->data_type, NULL));
            arg[i] = dtp_view_arg(&p);
        }
    }
    for (int i = 0; i < NOUT; ++i) {
        const info_t *t = dtp_info(l, n->out[i]);
        DTP_TRY(dtp_view_new(l, n->out[i]));
        DTP_TRY(dtp_md_init_strides(md[DTP_CACHED_DST + i], t->ndims, t->dims, t->data_type, NULL));
        arg[DTP_CACHED_DST + i] = dtp_written_arg(l, n->out[i]);
    }
    dtp_step_t *s;
    DTP_TRY(dtp_new_step(l, n, sizeof *d, DTP_KIND_CACHED_ATTENTION, DTP_CACHED_NARGS, &s));
    d->base = *s->op;
    s->op = &d->base;
    memcpy(s->arg, arg, sizeof arg);
    return dnnl_tp_success;
}

const dtp_op_class_t dtp_class_cached_attention =
    DTP_OP_CLASS(dtp_cached_attrs_t, DTP_FIELDS(cached_attention_fields), DTP_OP_MAY_LACK, 0, DTP_NO_BF16,
                 cached_attention_results, cached_attention_infer, DTP_NO_VALUES, cached_attention_lower,
                 DTP_NO_CUT, DTP_NO_POST);
