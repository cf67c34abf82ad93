/* Imports for states, see growing.h: notes of what an import adds to the graph, and what is judged by them. */
#include "onnx/growing.h"
#include "onnx/build.h"
#include "onnx/move.h"
#include "onnx/part.h"

#include <string.h>

dtp_growing_t *dtp_growing(const import_t *im) { return im->part ? im->part->growing : NULL; }

static dnnl_tp_status_t note_value(dtp_growing_t *g, dnnl_tp_value_t v, const dnnl_tp_tensor_info_t *info,
                                   dtp_judged_t judged) {
    const int had = g->nvalues;
    if (v < 0) return dnnl_tp_success;
    if (v >= g->nvalues) {
        DTP_ONNX_TRY(
            dtp_import_grow(&g->memory, (void **)&g->values, &g->values_room, (int)v + 1, sizeof *g->values));
        g->nvalues = (int)v + 1;
        for (int i = had; i < g->nvalues; ++i) g->values[i] = (dtp_grown_value_t){{0}, DTP_SPOILT};
    }
    g->values[v] = (dtp_grown_value_t){*info, (uint8_t)judged};
    return dnnl_tp_success;
}

dtp_judged_t dtp_growing_judged(const dtp_growing_t *g, dnnl_tp_value_t v) {
    return v >= 0 && v < g->nvalues && !g->differs ? (dtp_judged_t)g->values[v].judged : DTP_SPOILT;
}

dnnl_tp_status_t dtp_growing_begin(import_t *im, const scope_t *s) {
    dtp_growing_t *g = dtp_growing(im);
    const graph_proto_t *p = im->model->proto->graph;
    if (!g) return dnnl_tp_success;
    for (size_t i = 0; i < p->n_input; ++i) {
        const val_t *x = dtp_onnx_find(s, p->input[i]->name);
        if (x->input) DTP_ONNX_TRY(note_value(g, x->v, &x->info, DTP_CLEAN));
    }
    int64_t batch = 0;
    for (int i = 0; i < g->npairs; ++i) {
        val_t *x = dtp_onnx_find(s, p->input[g->pairs[i].input]->name);
        x->is_past = g->pairs[i].columns ? DTP_PAST_COLUMNS : DTP_PAST_ROWS;
        batch = x->info.dims[g->pairs[i].stacked];
        DTP_ONNX_TRY(note_value(g, x->v, &x->info, DTP_PAST));
    }
    g->lengths = dtp_import_alloc(&im->memory, sizeof *g->lengths);
    if (!g->lengths) return dnnl_tp_out_of_memory;
    g->lengths->info = (dnnl_tp_tensor_info_t){.ndims = 1, .data_type = dnnl_tp_s32, .dims = {batch}};
    DTP_ONNX_TRY(
        dnnl_tp_graph_input(im->graph, &g->lengths->v, "lengths", dnnl_tp_s32, 1, g->lengths->info.dims));
    return note_value(g, g->lengths->v, &g->lengths->info, DTP_CLEAN);
}

/* ---- Notes ----------------------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; ++i) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return hash;
}
enum { HASH = 0x811c9dc5 };

/* The note, and what the other import has at this place; NULL: something else. */
static const dtp_grown_event_t *note(cv_t *cv, dtp_growing_t *g, const dtp_grown_event_t *e) {
    if (!cv->status)
        cv->status = dtp_import_grow(&g->memory, (void **)&g->events, &g->events_room, g->nevents + 1,
                                     sizeof *g->events);
    if (cv->status) return NULL;
    g->events[g->nevents++] = *e;
    if (!g->other) return NULL;
    const dtp_grown_event_t *o = g->nevents <= g->other->nevents ? &g->other->events[g->nevents - 1] : NULL;
    const bool same =
        o && o->kind == e->kind && o->first == e->first && o->nin == e->nin && o->nout == e->nout;
    g->differs |= !same;
    return same ? o : NULL;
}

static bool same_info(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    bool same = a->ndims == b->ndims && a->data_type == b->data_type;
    for (int d = 0; same && d < a->ndims; ++d) same = a->dims[d] == b->dims[d];
    return same;
}

/* The only dimension in which value v differs between the imports; -1: there is none, or there are several. */
static int place_axis(const dtp_growing_t *g, dnnl_tp_value_t v) {
    if (v < 0 || v >= g->nvalues || v >= g->other->nvalues) return -1;
    const dnnl_tp_tensor_info_t *a = &g->values[v].info, *b = &g->other->values[v].info;
    int axis = -1, n = 0;
    if (a->ndims != b->ndims) return -1;
    for (int d = 0; d < a->ndims; ++d)
        if (a->dims[d] != b->dims[d]) axis = d, ++n;
    const bool fits = n == 1 && a->dims[axis] == g->total && b->dims[axis] == g->other->total;
    return fits ? axis : -1;
}

static size_t product(const dnnl_tp_tensor_info_t *t, int begin, int end) {
    size_t n = 1;
    for (int d = begin; d < end; ++d) n *= (size_t)t->dims[d];
    return n;
}

/* ---- Constants ------------------------------------------------------------------------------------------- */

/* Along the places, the shorter one begins the longer one. */
static bool goes_on(const dtp_growing_t *g, dnnl_tp_value_t v, const char *mine, const char *others) {
    const int axis = place_axis(g, v);
    if (axis < 0) return false;
    const dnnl_tp_tensor_info_t *a = &g->values[v].info, *b = &g->other->values[v].info;
    const size_t size = dtp_onnx_type_size(a->data_type), outer = product(a, 0, axis),
                 step_a = size * product(a, axis, a->ndims), step_b = size * product(b, axis, b->ndims);
    bool same = true;
    for (size_t i = 0; same && i < outer; ++i)
        same = !memcmp(mine + i * step_a, others + i * step_b, step_a < step_b ? step_a : step_b);
    return same;
}

void dtp_growing_constant(cv_t *cv, const val_t *x) {
    dtp_growing_t *g = dtp_growing(cv->im);
    if (!g || cv->status) return;
    const size_t bytes = (size_t)dtp_val_elems(x) * dtp_onnx_type_size(x->info.data_type);
    dtp_grown_event_t e = {.kind = -1, .first = (int)x->v, .data = x->data};
    if (!x->is_borrowed) {
        e.hash = hash_of(HASH, x->data, bytes);
        void *copy = dtp_import_alloc(&g->memory, bytes + 1); /* the next import compares with it */
        if (!copy) cv->status = dnnl_tp_out_of_memory;
        if (copy) e.data = bytes ? memcpy(copy, x->data, bytes) : copy;
    }
    if (!cv->status) cv->status = note_value(g, x->v, &x->info, DTP_SPOILT);
    const dtp_grown_event_t *o = note(cv, g, &e);
    if (!o) return;
    const bool is_same =
        same_info(&x->info, &g->other->values[x->v].info) &&
        (x->is_borrowed ? o->data == e.data : o->hash == e.hash && !memcmp(o->data, e.data, bytes));
    const bool is_places = !is_same && !x->is_borrowed && goes_on(g, x->v, e.data, o->data);
    g->values[x->v].judged = is_same ? DTP_CLEAN : is_places ? DTP_PLACES : DTP_SPOILT;
}

/* ---- Operators ------------------------------------------------------------------------------------------- */

static bool is_pointwise(int kind) {
    switch (kind) {
    case dnnl_tp_op_add:
    case dnnl_tp_op_subtract:
    case dnnl_tp_op_multiply:
    case dnnl_tp_op_divide:
    case dnnl_tp_op_maximum:
    case dnnl_tp_op_minimum:
    case dnnl_tp_op_select:
    case dnnl_tp_op_equal:
    case dnnl_tp_op_less:
    case dnnl_tp_op_less_equal:
    case dnnl_tp_op_greater:
    case dnnl_tp_op_greater_equal:
    case dnnl_tp_op_logical_and:
    case dnnl_tp_op_logical_or:
    case dnnl_tp_op_logical_not:
    case dnnl_tp_op_tanh:
    case dnnl_tp_op_type_cast: return true;
    default: return false;
    }
}

typedef struct {
    const dtp_growing_t *g;
    int kind, nin, nattr;
    val_t *const *in;
    const dnnl_tp_op_attr_t *attr;
    dnnl_tp_value_t out;
    bool same_attrs;
    bool same_out; /* shapes of the results do not differ */
} op_t;

static dtp_judged_t judged_in(const op_t *o, int i) {
    return i < o->nin && o->in[i] ? dtp_growing_judged(o->g, o->in[i]->v) : DTP_CLEAN;
}

static int64_t number_of(const op_t *o, int key, int64_t standard) {
    for (int i = 0; i < o->nattr; ++i)
        if (o->attr[i].key == key) return *(const int64_t *)o->attr[i].data;
    return standard;
}

static bool has_flag(const op_t *o, int key) {
    for (int i = 0; i < o->nattr; ++i)
        if (o->attr[i].key == key) return *(const uint8_t *)o->attr[i].data != 0;
    return false;
}

/* The axis attribute tells the axis of the places. */
static bool goes_along(const op_t *o, int64_t standard) {
    const int nd = o->in[0]->info.ndims;
    const int64_t axis = number_of(o, dnnl_tp_op_attr_axis, standard);
    return place_axis(o->g, o->in[0]->v) == (axis < 0 ? axis + nd : axis);
}

/* As many elements stand before and behind the places. */
static bool keeps_places(const op_t *o) {
    const dnnl_tp_value_t in = o->in[0]->v;
    const int a = place_axis(o->g, in), b = place_axis(o->g, o->out);
    if (a < 0 || b < 0) return false;
    const dnnl_tp_tensor_info_t *x = &o->g->values[in].info, *y = &o->g->values[o->out].info;
    return product(x, 0, a) == product(y, 0, b) && product(x, a, x->ndims) == product(y, b, y->ndims);
}

static dtp_judged_t pointwise(const op_t *o) {
    bool has[DTP_SCORES + 1] = {false};
    for (int i = 0; i < o->nin; ++i) has[judged_in(o, i)] = true;
    if (has[DTP_SPOILT] || has[DTP_PAST] || !o->same_attrs) return DTP_SPOILT;
    if (has[DTP_KEYS]) return has[DTP_PLACES] || has[DTP_SCORES] ? DTP_SPOILT : DTP_KEYS;
    if (place_axis(o->g, o->out) < 0) return DTP_SPOILT;
    return has[DTP_SCORES] ? DTP_SCORES : DTP_PLACES;
}

static dtp_judged_t judge(const op_t *o) {
    enum { LAST_ROWS = 2, PASTS = 3, LENGTHS = 5, MASK };
    bool all_clean = true;
    for (int i = 0; i < o->nin; ++i) all_clean &= judged_in(o, i) == DTP_CLEAN;
    if (all_clean && o->same_attrs && o->same_out) return DTP_CLEAN;
    const dtp_judged_t x = judged_in(o, 0), y = judged_in(o, 1);
    if (is_pointwise(o->kind)) return pointwise(o);
    switch (o->kind) {
    case dnnl_tp_op_cached_attention: {
        bool good = o->same_attrs && o->same_out;
        for (int i = 0; i < o->nin; ++i) {
            const dtp_judged_t j = judged_in(o, i);
            const bool is_past = i >= PASTS && i < LENGTHS;
            good &= is_past ? j == DTP_PAST : j == DTP_CLEAN || (i == MASK && j == DTP_PLACES);
        }
        return good ? DTP_CLEAN : DTP_SPOILT;
    }
    case dnnl_tp_op_static_transpose: return o->same_attrs && x != DTP_PAST ? x : DTP_SPOILT;
    case dnnl_tp_op_static_reshape: return x != DTP_PAST && keeps_places(o) ? x : DTP_SPOILT;
    case dnnl_tp_op_cumsum:
        return x == DTP_PLACES && o->same_attrs && goes_along(o, 0) && !has_flag(o, dnnl_tp_op_attr_reverse)
                   ? DTP_PLACES
                   : DTP_SPOILT;
    case dnnl_tp_op_take:
    case dnnl_tp_op_gather:
        return x == DTP_PLACES && y == DTP_CLEAN && o->same_attrs && o->same_out && goes_along(o, 0)
                   ? DTP_CLEAN
                   : DTP_SPOILT;
    case dnnl_tp_op_softmax: return x == DTP_SCORES && o->same_attrs && goes_along(o, -1) ? x : DTP_SPOILT;
    case dnnl_tp_op_matmul:
        if (!o->same_attrs || o->nin > 2 || y != DTP_KEYS) return DTP_SPOILT;
        if (x == DTP_SCORES && o->same_out) return DTP_CLEAN;
        return x == DTP_CLEAN && place_axis(o->g, o->out) == o->g->values[o->out].info.ndims - 1 ? DTP_SCORES
                                                                                                 : DTP_SPOILT;
    default: return DTP_SPOILT;
    }
}

void dtp_growing_op(cv_t *cv, int kind, int nin, val_t *const *in, int nattr, const dnnl_tp_op_attr_t *attr,
                    int nout, val_t *const *out) {
    dtp_growing_t *g = dtp_growing(cv->im);
    if (!g || cv->status) return;
    dtp_grown_event_t e = {.kind = kind, .first = (int)out[0]->v, .nin = nin, .nout = nout};
    uint64_t ids = HASH, attrs = HASH;
    for (int i = 0; i < nin; ++i) {
        const dnnl_tp_value_t v = in[i] ? in[i]->v : -1;
        ids = hash_of(ids, &v, sizeof v);
    }
    for (int i = 0; i < nattr; ++i) {
        const size_t size = attr[i].type == dnnl_tp_op_attr_s64   ? sizeof(int64_t)
                            : attr[i].type == dnnl_tp_op_attr_f32 ? sizeof(float)
                                                                  : 1;
        attrs = hash_of(hash_of(attrs, &attr[i].key, sizeof attr[i].key), attr[i].data,
                        size * (size_t)attr[i].count);
    }
    e.hash = ids * 31 + attrs;
    e.data = NULL;
    for (int i = 0; i < nout && !cv->status; ++i)
        cv->status = note_value(g, out[i]->v, &out[i]->info, DTP_SPOILT);
    const dtp_grown_event_t *o = note(cv, g, &e);
    if (!o) return;
    op_t op = {g, kind, nin, nattr, in, attr, out[0]->v, o->hash == e.hash, true};
    for (int i = 0; i < nout; ++i)
        op.same_out &=
            out[i]->v < g->other->nvalues && same_info(&out[i]->info, &g->other->values[out[i]->v].info);
    const dtp_judged_t judged = judge(&op);
    for (int i = 0; i < nout; ++i) g->values[out[i]->v].judged = (uint8_t)judged;
    if (judged == DTP_SPOILT && !g->spoiler) g->spoiler = cv->node;
}

/* ---- For converters -------------------------------------------------------------------------------------- */

val_t *dtp_growing_kept(cv_t *cv, val_t *x) {
    dtp_growing_t *g = dtp_growing(cv->im);
    if (cv->status || !x) return NULL;
    g->values[x->v].judged = DTP_PAST;
    if (g->spoiler == cv->node) g->spoiler = NULL;
    return x;
}

val_t *dtp_growing_half(cv_t *cv, val_t *past, int half) {
    val_t *x = dtp_growing_kept(cv, dtp_cv_part(cv, past, 0, half, 1));
    return x ? dtp_growing_kept(cv, dtp_cv_reshape(cv, x, DTP_STACKED_PAST - 1, past->info.dims + 1)) : NULL;
}

void dtp_growing_select(cv_t *cv, const void *where, size_t bytes, bool is_prefix) {
    dtp_growing_t *g = dtp_growing(cv->im);
    if (!g || cv->status) return;
    static const char prefix;
    const dtp_grown_event_t e = {.kind = -2,
                                 .hash = hash_of(HASH, where, bytes),
                                 .data = is_prefix ? &prefix : NULL},
                            *o = note(cv, g, &e);
    if (!o || o->hash == e.hash || (is_prefix && o->data)) return;
    g->differs = true;
    if (!g->spoiler) g->spoiler = cv->node;
}

bool dtp_cv_is_past(const cv_t *cv, int input) {
    const val_t *x = dtp_growing(cv->im) && input < cv->nin ? cv->in[input] : NULL;
    return x && x->is_past == DTP_PAST_ROWS && x->info.ndims == DTP_STACKED_PAST - 1;
}

val_t *dtp_cv_grown(cv_t *cv, const val_t *past, val_t *rows) {
    val_t *x = cv->status ? NULL : dtp_cv_alloc(cv, sizeof *x);
    if (!x) return NULL;
    x->v = -1;
    x->info = past->info;
    const int axis = past->info.ndims - 2;
    x->info.dims[axis] += rows->info.dims[axis];
    x->rows = rows;
    return x;
}
