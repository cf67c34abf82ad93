/* Operators whose results have as many elements as their inputs' elements say: NonZero, Compress, Unique,
 * NonMaxSuppression. They are computed here, by the calling thread, between two parts of a model (part.h); where all
 * inputs are constants, at import. */
#include "onnx/ops/ops.h"
#include "onnx/part.h"

#include <math.h>

bool dtp_onnx_is_by_data(const row_t *row) { return row->convert == dtp_onnx_by_data; }

bool dtp_onnx_by_data_fits(const row_t *row, const node_proto_t *node) {
    const size_t most = row->kind == DTP_BY_DATA_UNIQUE      ? DTP_BY_DATA_OUT
                        : row->kind == DTP_BY_DATA_MS_UNIQUE ? DTP_BY_DATA_OUT - 1
                                                             : 1;
    bool fits = node->n_input >= (size_t)row->min_in && node->n_input <= (size_t)row->max_in &&
                node->n_output <= most,
         is_wanted = false;
    for (int i = 0; fits && i < row->min_in; ++i) fits = node->input[i] && *node->input[i];
    for (size_t i = 0; i < node->n_output; ++i) is_wanted |= *node->output[i] != 0;
    return fits && is_wanted;
}

static const char *bytes_at(const dtp_given_t *x, int64_t i) {
    return (const char *)x->data + (size_t)i * dtp_onnx_type_size(x->info.data_type);
}

/* Room for a result. */
static void *made(cv_t *cv, dtp_given_t *out, dnnl_tp_data_type_t type, int ndims, const int64_t *dims) {
    void *data;
    const val_t *v = dtp_cv_room(cv, type, ndims, dims, &data);
    if (!v) return NULL;
    out->info = v->info;
    out->data = data;
    return data;
}

/* ---- NonZero --------------------------------------------------------------------------------------------------- */

static bool is_nonzero(const dtp_given_t *x, int64_t i) {
    static const char zeros[sizeof(int64_t)];
    const char *p = bytes_at(x, i);
    if (x->info.data_type == dnnl_tp_f32) return *(const float *)(const void *)p != 0;
    if (x->info.data_type == dnnl_tp_f64) return *(const double *)(const void *)p != 0;
    return memcmp(p, zeros, dtp_onnx_type_size(x->info.data_type)) != 0;
}

static void nonzero(cv_t *cv, const dtp_given_t *x, dtp_given_t *out) {
    const int nd = x->info.ndims;
    const int64_t n = dtp_onnx_elems(&x->info);
    int64_t dims[2] = {nd, 0}, at[DNNL_TP_MAX_NDIMS] = {0}, k = 0;
    for (int64_t i = 0; i < n; ++i) dims[1] += is_nonzero(x, i);
    int64_t *to = made(cv, out, dnnl_tp_s64, 2, dims);
    for (int64_t i = 0; to && i < n; ++i) {
        if (is_nonzero(x, i)) {
            for (int d = 0; d < nd; ++d) to[d * dims[1] + k] = at[d];
            ++k;
        }
        for (int d = nd - 1; d >= 0 && ++at[d] == x->info.dims[d]; --d) at[d] = 0;
    }
}

/* ---- Slices ------------------------------------------------------------------------------------------------------ */

/* Slices of x along an axis, {outer, n, inner}; without an axis its elements. */
typedef struct {
    int64_t outer, n, inner;
    int axis;
    dnnl_tp_tensor_info_t info;
} slices_t;

static slices_t slices_of(cv_t *cv, const dtp_given_t *x) {
    slices_t s = {.outer = 1, .inner = 1, .info = x->info};
    if (dtp_cv_has(cv, "axis")) {
        s.axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), x->info.ndims);
        if (cv->status) return s;
        for (int d = 0; d < s.axis; ++d) s.outer *= x->info.dims[d];
        for (int d = s.axis + 1; d < x->info.ndims; ++d) s.inner *= x->info.dims[d];
        s.n = x->info.dims[s.axis];
    } else {
        s.n = s.info.dims[0] = dtp_onnx_elems(&x->info);
        s.info.ndims = 1;
    }
    return s;
}

/* The slices ids[0..n-1] of x. */
static void take(cv_t *cv, const dtp_given_t *x, const slices_t *s, int64_t n, const int64_t *ids,
                 dtp_given_t *out) {
    dnnl_tp_tensor_info_t info = s->info;
    info.dims[s->axis] = n;
    char *to = made(cv, out, info.data_type, info.ndims, info.dims);
    const size_t row = (size_t)s->inner * dtp_onnx_type_size(info.data_type);
    for (int64_t o = 0; to && row && o < s->outer; ++o)
        for (int64_t i = 0; i < n; ++i, to += row)
            memcpy(to, bytes_at(x, (o * s->n + ids[i]) * s->inner), row);
}

static void compress(cv_t *cv, const dtp_given_t *const *in, dtp_given_t *out) {
    const slices_t s = slices_of(cv, in[0]);
    const int64_t most = dtp_onnx_elems(&in[1]->info);
    const uint8_t *keep = in[1]->data;
    if (in[1]->info.ndims != 1 || in[1]->info.data_type != dnnl_tp_boolean)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its condition is no list of booleans");
    if (cv->status) return;
    int64_t *ids = dtp_cv_alloc(cv, (size_t)s.n * sizeof *ids), n = 0;
    for (int64_t i = 0; ids && i < s.n && i < most; ++i)
        if (keep[i]) ids[n++] = i;
    if (ids) take(cv, in[0], &s, n, ids, out);
}

/* ---- Order --------------------------------------------------------------------------------------------------------- */

typedef int compare_t(const void *of, int64_t i, int64_t k);

/* ids[0..n-1] in order; equal ones stay as they are. room: as many again. */
static void sort(int64_t *ids, int64_t *room, int64_t n, compare_t *compare, const void *of) {
    int64_t *from = ids, *to = room;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            const int64_t middle = begin + width < n ? begin + width : n,
                          end = begin + 2 * width < n ? begin + 2 * width : n;
            for (int64_t i = begin, k = middle, at = begin; at < end; ++at)
                to[at] =
                    i < middle && (k == end || compare(of, from[i], from[k]) <= 0) ? from[i++] : from[k++];
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != ids) memcpy(ids, from, (size_t)n * sizeof *ids);
}

static int64_t *counted(cv_t *cv, int64_t n) {
    int64_t *ids = dtp_cv_alloc(cv, (size_t)n * sizeof *ids);
    for (int64_t i = 0; ids && i < n; ++i) ids[i] = i;
    return ids;
}

/* ---- Unique ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_given_t *x;
    slices_t s;
} unique_t;

#define ORDER(type, x, y) \
    (*(const type *)(x) < *(const type *)(y) ? -1 : *(const type *)(x) > *(const type *)(y))
/* NaN is equal to NaN, and larger than all numbers. */
static int order_of_floats(double x, double y) {
    if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
    return x < y ? -1 : x > y;
}

static int order_of(dnnl_tp_data_type_t type, const void *x, const void *y) {
    switch (type) {
    case dnnl_tp_f32: return order_of_floats((double)*(const float *)x, (double)*(const float *)y);
    case dnnl_tp_f64: return order_of_floats(*(const double *)x, *(const double *)y);
    case dnnl_tp_s64: return ORDER(int64_t, x, y);
    case dnnl_tp_s32: return ORDER(int32_t, x, y);
    case dnnl_tp_s8: return ORDER(int8_t, x, y);
    default: return ORDER(uint8_t, x, y);
    }
}

static int order_of_slices(const void *of, int64_t i, int64_t k) {
    const unique_t *u = of;
    for (int64_t o = 0; o < u->s.outer; ++o)
        for (int64_t e = 0; e < u->s.inner; ++e) {
            const int order =
                order_of(u->x->info.data_type, bytes_at(u->x, (o * u->s.n + i) * u->s.inner + e),
                         bytes_at(u->x, (o * u->s.n + k) * u->s.inner + e));
            if (order) return order;
        }
    return 0;
}

static int order_of_numbers(const void *of, int64_t i, int64_t k) {
    const int64_t *first = of;
    return first[i] < first[k] ? -1 : first[i] > first[k];
}

/* Numbers alone: in the order of their keys. */
typedef struct {
    uint64_t key;
    int64_t id;
} keyed_t;

static uint64_t key_of_number(const dtp_given_t *x, int64_t i) {
    static const uint64_t top = 1ull << 63;
    const char *p = bytes_at(x, i);
    uint64_t bits;
    double v;
    switch (x->info.data_type) {
    case dnnl_tp_f32: v = (double)*(const float *)(const void *)p; break;
    case dnnl_tp_f64: v = *(const double *)(const void *)p; break;
    case dnnl_tp_s64: return (uint64_t) * (const int64_t *)(const void *)p ^ top;
    case dnnl_tp_s32: return (uint64_t)(int64_t) * (const int32_t *)(const void *)p ^ top;
    case dnnl_tp_s8: return (uint64_t)(int64_t) * (const int8_t *)(const void *)p ^ top;
    default: return *(const uint8_t *)(const void *)p;
    }
    v += 0; /* -0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    return isnan(v) ? UINT64_MAX : bits & top ? ~bits : bits | top;
}

/* Equal ones stay as they are. room: as many again. */
static const keyed_t *sort_keyed(keyed_t *from, keyed_t *to, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            const int64_t middle = begin + width < n ? begin + width : n,
                          end = begin + 2 * width < n ? begin + 2 * width : n;
            int64_t i = begin, k = middle, at = begin;
            while (i < middle && k < end) {
                const bool later = from[k].key < from[i].key;
                to[at++] = from[later ? k : i];
                k += later;
                i += !later;
            }
            while (i < middle) to[at++] = from[i++];
            while (k < end) to[at++] = from[k++];
        }
        keyed_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* group[i]: the number of the group of equal slices that slice i belongs to, in their order; first: the least number of
 * each, counts: how many there are. Returns how many groups. */
static int64_t groups_of(cv_t *cv, const unique_t *u, int64_t *group, int64_t *first, int64_t *counts) {
    const int64_t n = u->s.n;
    const bool are_numbers = u->s.outer * u->s.inner == 1;
    int64_t *ids = counted(cv, n), *room = are_numbers ? NULL : counted(cv, n), groups = 0;
    keyed_t *keyed = are_numbers ? dtp_cv_alloc(cv, 2 * (size_t)n * sizeof *keyed) : NULL;
    const keyed_t *order = keyed;
    if (cv->status) return 0;
    if (are_numbers) {
        for (int64_t i = 0; i < n; ++i) keyed[i] = (keyed_t){key_of_number(u->x, i), i};
        order = sort_keyed(keyed, keyed + n, n);
        for (int64_t i = 0; i < n; ++i) ids[i] = order[i].id;
    } else sort(ids, room, n, order_of_slices, u);
    for (int64_t i = 0; i < n; ++i) {
        if (i == 0 ||
            (are_numbers ? order[i - 1].key != order[i].key : order_of_slices(u, ids[i - 1], ids[i]) != 0)) {
            first[groups] = ids[i];
            counts[groups++] = 0;
        }
        group[ids[i]] = groups - 1;
        ++counts[groups - 1];
    }
    return groups;
}

enum { FIRST = 1, INVERSE, COUNTS }; /* outputs of Unique behind the values */

static void unique(cv_t *cv, const dtp_given_t *x, bool sorted, dtp_given_t *out) {
    const unique_t u = {x, slices_of(cv, x)};
    const int64_t n = cv->status ? 0 : u.s.n;
    int64_t *order = counted(cv, n), *room = sorted ? NULL : counted(cv, n), *first = counted(cv, n),
            *number = counted(cv, n), *group = counted(cv, n), *counts = counted(cv, n);
    const int64_t groups = cv->status ? 0 : groups_of(cv, &u, group, first, counts);
    if (cv->status) return;
    if (!sorted) sort(order, room, groups, order_of_numbers, first);
    for (int64_t i = 0; i < groups; ++i) number[order[i]] = i;
    int64_t *to[COUNTS + 1] = {NULL};
    for (int k = FIRST; k <= COUNTS; ++k)
        to[k] = made(cv, &out[k], dnnl_tp_s64, 1, k == INVERSE ? &n : &groups);
    if (cv->status) return;
    for (int64_t i = 0; i < groups; ++i) {
        to[FIRST][i] = first[order[i]];
        to[COUNTS][i] = counts[order[i]];
    }
    for (int64_t i = 0; i < n; ++i) to[INVERSE][i] = number[group[i]];
    take(cv, x, &u.s, groups, to[FIRST], &out[0]);
}

/* ---- NonMaxSuppression ------------------------------------------------------------------------------------------------- */

typedef struct {
    double low[2], high[2], area;
} box_t;

static inline double least(double x, double y) { return x < y ? x : y; }
static inline double most_of(double x, double y) { return x > y ? x : y; }

static box_t box_of(const float *p, bool by_center) {
    box_t b;
    for (int d = 0; d < 2; ++d) {
        const double x = (double)p[d], y = (double)p[2 + d];
        b.low[d] = by_center ? x - y / 2 : least(x, y);
        b.high[d] = by_center ? x + y / 2 : most_of(x, y);
    }
    b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
    return b;
}

/* Is intersection over union above the limit? It is 0 for boxes without an area. */
static inline bool is_hidden(const box_t *a, const box_t *b, double limit) {
    const double rows = least(a->high[0], b->high[0]) - most_of(a->low[0], b->low[0]),
                 cols = least(a->high[1], b->high[1]) - most_of(a->low[1], b->low[1]);
    if (!(rows > 0 && cols > 0 && a->area > 0 && b->area > 0)) return 0 > limit;
    const double common = rows * cols;
    return (common > 0 ? common / (a->area + b->area - common) : 0) > limit;
}

/* A larger key is better: of a higher score, or the earlier of equal ones; NaN is worse than all numbers. */
static uint64_t key_of(float score, int64_t i) {
    uint32_t bits;
    score += 0.f; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    bits = score != score ? 0 : bits >> 31 ? ~bits : bits | 1u << 31;
    return (uint64_t)bits << 32 | (uint32_t)~i;
}

/* Moves heap[at] down to its place; each element is better than the two behind it. */
static void sift(uint64_t *heap, int64_t n, int64_t at) {
    const uint64_t key = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n) child += heap[child + 1] > heap[child];
        if (heap[child] < key) break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

static void non_max_suppression(cv_t *cv, const dtp_given_t *const *in, dtp_given_t *out) {
    enum { BOXES, SCORES, MOST, OVERLAP, SCORE, SIDES = 4, RANK = 3 };
    const dnnl_tp_tensor_info_t *b = &in[BOXES]->info, *s = &in[SCORES]->info;
    const bool by_center = dtp_cv_int(cv, "center_point_box", 0) != 0;
    if (b->ndims != RANK || s->ndims != RANK || b->data_type != dnnl_tp_f32 || s->data_type != dnnl_tp_f32 ||
        b->dims[0] != s->dims[0] || b->dims[1] != s->dims[2] || b->dims[2] != SIDES)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its boxes and scores do not fit");
    for (int i = MOST; i <= SCORE; ++i)
        if (in[i] && (dtp_onnx_elems(&in[i]->info) != 1 ||
                      in[i]->info.data_type != (i == MOST ? dnnl_tp_s64 : dnnl_tp_f32)))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is not one number", i);
    if (cv->status) return;
    const int64_t n = b->dims[1], lists = s->dims[0] * s->dims[1];
    const int64_t most = in[MOST] ? *(const int64_t *)in[MOST]->data : 0;
    const double limit = in[OVERLAP] ? (double)*(const float *)in[OVERLAP]->data : 0;
    uint64_t *heap = dtp_cv_alloc(cv, (size_t)n * sizeof *heap);
    int64_t *kept = dtp_cv_alloc(cv, (size_t)(most > 0 ? lists * n : 0) * sizeof *kept),
            *count = counted(cv, lists), all = 0;
    box_t *held = dtp_cv_alloc(cv, (size_t)n * sizeof *held);
    if (!cv->status && n > UINT32_MAX)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has %lld boxes", (long long)n);
    if (cv->status) return;
    for (int64_t l = 0; l < lists; ++l) {
        const float *score = (const float *)in[SCORES]->data + l * n,
                    *box = (const float *)in[BOXES]->data + l / s->dims[1] * n * SIDES;
        int64_t left = 0, *mine = kept + l * n;
        count[l] = 0;
        if (most <= 0) continue;
        for (int64_t i = 0; i < n; ++i)
            if (!in[SCORE] || score[i] > *(const float *)in[SCORE]->data) heap[left++] = key_of(score[i], i);
        for (int64_t i = left / 2; i-- > 0;) sift(heap, left, i);
        while (left > 0 && count[l] < most) {
            const uint32_t best = ~(uint32_t)heap[0];
            heap[0] = heap[--left];
            sift(heap, left, 0);
            const box_t its = box_of(box + best * SIDES, by_center);
            bool hides = false;
            for (int64_t k = 0; k < count[l] && !hides; ++k) hides = is_hidden(&held[k], &its, limit);
            if (hides) continue;
            held[count[l]] = its;
            mine[count[l]++] = best;
        }
        all += count[l];
    }
    int64_t *to = made(cv, out, dnnl_tp_s64, 2, (const int64_t[]){all, RANK});
    for (int64_t l = 0; to && l < lists; ++l)
        for (int64_t k = 0; k < count[l]; ++k, to += RANK) {
            to[0] = l / s->dims[1];
            to[1] = l % s->dims[1];
            to[2] = kept[l * n + k];
        }
}

/* ---- All ------------------------------------------------------------------------------------------------------------------- */

/* com.microsoft: in the order of x, without the places of the first ones. */
static void ms_unique(cv_t *cv, const dtp_given_t *x, dtp_given_t *out) {
    dtp_given_t all[DTP_BY_DATA_OUT] = {{0}};
    if (x->info.ndims != 1) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its input is no list");
    if (!cv->status) unique(cv, x, false, all);
    out[0] = all[0];
    out[1] = all[INVERSE];
    out[2] = all[COUNTS];
}

void dtp_onnx_by_data_run(cv_t *cv, const dtp_given_t *const *in, dtp_given_t *out) {
    switch (cv->row->kind) {
    case DTP_BY_DATA_NONZERO: nonzero(cv, in[0], out); break;
    case DTP_BY_DATA_COMPRESS: compress(cv, in, out); break;
    case DTP_BY_DATA_UNIQUE: unique(cv, in[0], dtp_cv_int(cv, "sorted", 1) != 0, out); break;
    case DTP_BY_DATA_MS_UNIQUE: ms_unique(cv, in[0], out); break;
    default: non_max_suppression(cv, in, out); break;
    }
}

void dtp_onnx_by_data(cv_t *cv) {
    dtp_given_t room[DTP_BY_DATA_IN], out[DTP_BY_DATA_OUT] = {{0}};
    const dtp_given_t *in[DTP_BY_DATA_IN] = {NULL};
    if (cv->row->kind == DTP_BY_DATA_COMPRESS && cv->in[1]->data) {
        dtp_cv_compress(cv); /* known positions of any tensor */
        return;
    }
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (!cv->in[i]) continue;
        if (!cv->in[i]->data) {
            dtp_cv_fail(cv, dnnl_tp_unimplemented,
                        "its results have sizes that only a run knows: dnnl_tp_onnx_session_run() runs such "
                        "nodes, but not in a While or in both branches of an If");
            return;
        }
        room[i] = (dtp_given_t){.info = cv->in[i]->info, .data = cv->in[i]->data};
        in[i] = &room[i];
    }
    if (!cv->status) dtp_onnx_by_data_run(cv, in, out);
    for (int i = 0; i < cv->nout && i < DTP_BY_DATA_OUT && !cv->status; ++i)
        if (out[i].data)
            dtp_cv_set(
                cv, i,
                dtp_cv_constant(cv, out[i].info.data_type, out[i].info.ndims, out[i].info.dims, out[i].data));
}
