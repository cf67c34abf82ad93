/* Operators with more elements than their input has: repeated ones, pads. */
#include "onnx/ops/ops.h"

void dtp_onnx_expand(cv_t *cv) {
    int64_t n;
    const int64_t *shape = dtp_cv_ints(cv, 1, &n);
    if (!cv->status && n > DNNL_TP_MAX_NDIMS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its shape has %lld dimensions", (long long)n);
    dtp_cv_set(cv, 0, dtp_cv_expand(dtp_cv_last(cv), cv->in[0], (int)n, shape));
}

/* Repeated along an axis: {.., size, ..} -> {.., times, size, ..} -> {.., times * size, ..} */
static val_t *repeated(cv_t *cv, val_t *x, int d, int64_t times) {
    const int nd = x->info.ndims;
    int64_t apart[DNNL_TP_MAX_NDIMS + 1], joined[DNNL_TP_MAX_NDIMS], ones[DNNL_TP_MAX_NDIMS + 1];
    for (int i = 0; i <= nd; ++i) ones[i] = 1;
    for (int i = 0; i < nd; ++i) {
        joined[i] = x->info.dims[i];
        apart[i < d ? i : i + 1] = x->info.dims[i];
    }
    apart[d] = 1;
    joined[d] *= times;
    ones[d] = times;
    return dtp_cv_reshape(cv, dtp_cv_expand(cv, dtp_cv_reshape(cv, x, nd + 1, apart), nd + 1, ones), nd,
                          joined);
}

/* From the last axis on, so that the short pieces are few; joined copies where the number of them has small factors. */
void dtp_onnx_tile(cv_t *cv) {
    enum { MOST = 64 };
    int64_t n;
    const int64_t *times = dtp_cv_ints(cv, 1, &n);
    val_t *x = cv->in[0], *copies[MOST];
    const int nd = x->info.ndims;
    if (!cv->status && n != nd)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld repeats for %d dimensions", (long long)n, nd);
    for (int d = nd - 1; d >= 0 && !cv->status; --d) {
        if (times[d] == 1) continue;
        int64_t size = dtp_cv_dim(cv, x, d), left = times[d];
        if (left < 0 || __builtin_mul_overflow(size, left, &size))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "repeats %lld", (long long)left);
        while (left > 1 && !cv->status) {
            int factor = (int)(left < MOST ? left : MOST);
            while (left % factor) --factor;
            if (factor == 1) break;
            for (int i = 0; i < factor; ++i) copies[i] = x;
            x = dtp_cv_concat(cv, d, factor, copies);
            left /= factor;
        }
        if (left != 1 && !cv->status) x = repeated(cv, x, d, left);
    }
    dtp_cv_set(cv, 0, x);
}

/* The element of an axis of `all` that stands at i, i outside of it. */
static int64_t outside(int64_t i, int64_t all, char mode) {
    if (mode == 'w') return (i % all + all) % all;
    if (mode == 'e') return i < 0 ? 0 : i >= all ? all - 1 : i;
    if (all == 1) return 0;
    const int64_t period = 2 * (all - 1);
    i = (i % period + period) % period;
    return i < all ? i : period - i;
}

/* value: of one element, of the type of x. */
static val_t *pad_axis(cv_t *cv, val_t *x, int d, int64_t before, int64_t after, char mode,
                       const val_t *value) {
    const int64_t all = dtp_cv_dim(cv, x, d);
    int64_t total;
    if (before == INT64_MIN || after == INT64_MIN || __builtin_add_overflow(all, before, &total) ||
        __builtin_add_overflow(total, after, &total) || total < 0 || before < -all || after < -all)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "pads %lld and %lld of %lld elements", (long long)before,
                    (long long)after, (long long)all);
    if (cv->status) return NULL;
    const int64_t cut = before < 0 ? -before : 0, cut_end = after < 0 ? -after : 0;
    if (mode != 'c') {
        void *p;
        if (all == 0) dtp_cv_fail(cv, dnnl_tp_invalid_shape, "it pads no elements");
        val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 1, &total, &p);
        for (int64_t i = 0; ids && i < total; ++i) ((int64_t *)p)[i] = outside(i - before, all, mode);
        return ids ? dtp_cv_take(cv, x, d, ids) : NULL;
    }
    if (cut || cut_end) {
        if (cut > all - cut_end) dtp_cv_fail(cv, dnnl_tp_unimplemented, "pads cut more than there is");
        x = cv->status ? NULL : dtp_cv_part(cv, x, d, cut, all - cut - cut_end);
    }
    val_t *parts[3];
    int n = 0;
    for (int end = 0; end < 2 && !cv->status; ++end) {
        const int64_t size = end ? after : before;
        int64_t dims[DNNL_TP_MAX_NDIMS];
        if (end) parts[n++] = x;
        if (size <= 0) continue;
        for (int i = 0; i < x->info.ndims; ++i) dims[i] = i == d ? size : dtp_cv_dim(cv, x, i);
        void *to;
        val_t *part = parts[n++] = dtp_cv_room(cv, x->info.data_type, x->info.ndims, dims, &to);
        const size_t bytes = dtp_onnx_type_size(x->info.data_type);
        for (int64_t i = 0; part && i < dtp_val_elems(part); ++i)
            memcpy((char *)to + (size_t)i * bytes, value->data, bytes);
    }
    return dtp_cv_concat(cv, d, n, parts);
}

/* Both last axes at once, for elements that are others of x: short rows by the same positions for all of them. NULL: by axis. */
static val_t *pad_plane(cv_t *cv, val_t *x, const int64_t *begin, const int64_t *end, char mode) {
    enum { LEAST_PLANES = 16, MOST_POSITIONS = 1 << 16 };
    const int nd = x->info.ndims, d = nd - 2;
    if (mode == 'c' || nd < 3 || x->data || !(begin[d] || end[d]) || !(begin[d + 1] || end[d + 1]))
        return NULL;
    int64_t total[2], dims[DNNL_TP_MAX_NDIMS], size[2];
    for (int i = 0; i < 2; ++i) {
        const int64_t all = size[i] = x->info.dims[d + i];
        if (all < 1 || begin[d + i] < -all || end[d + i] < -all || begin[d + i] > MOST_POSITIONS ||
            end[d + i] > MOST_POSITIONS || all > MOST_POSITIONS)
            return NULL;
        total[i] = all + begin[d + i] + end[d + i];
        if (total[i] < 1) return NULL;
    }
    const int64_t planes = dtp_cv_product(x, 0, d);
    if (planes < LEAST_PLANES || total[0] * total[1] > MOST_POSITIONS) return NULL;
    void *p;
    val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 2, total, &p);
    for (int64_t i = 0; ids && i < total[0] * total[1]; ++i)
        ((int64_t *)p)[i] = outside(i / total[1] - begin[d], size[0], mode) * size[1] +
                            outside(i % total[1] - begin[d + 1], size[1], mode);
    const int64_t flat[2] = {planes, size[0] * size[1]};
    for (int i = 0; i < nd; ++i) dims[i] = i < d ? x->info.dims[i] : total[i - d];
    x = dtp_cv_reshape(cv, x, 2, flat);
    return dtp_cv_reshape(cv, ids && x ? dtp_cv_take(cv, x, 1, ids) : NULL, nd, dims);
}

val_t *dtp_cv_pad_axis(cv_t *cv, val_t *x, int axis, int64_t before, int64_t after, double value) {
    if (cv->status || (!before && !after)) return x;
    const val_t *with = dtp_cv_scalar(cv, x->info.data_type, value);
    return with ? pad_axis(cv, x, axis, before, after, 'c', with) : NULL;
}

static void pad(cv_t *cv, int64_t n, const int64_t *pads, int64_t na, const int64_t *axes,
                const val_t *value) {
    val_t *x = cv->in[0];
    bool seen[DNNL_TP_MAX_NDIMS] = {false};
    const char mode = dtp_cv_word(cv, "mode", "constant", "constant")  ? 'c'
                      : dtp_cv_word(cv, "mode", "constant", "edge")    ? 'e'
                      : dtp_cv_word(cv, "mode", "constant", "reflect") ? 'r'
                      : dtp_cv_word(cv, "mode", "constant", "wrap")    ? 'w'
                                                                       : 0;
    if (!mode)
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its attribute 'mode' is none of constant, edge, reflect and wrap");
    const int64_t k = axes ? na : x->info.ndims;
    if (!cv->status && (n != 2 * k))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld pads for %lld dimensions", (long long)n,
                    (long long)k);
    if (cv->status) return;
    int64_t begin[DNNL_TP_MAX_NDIMS] = {0}, end[DNNL_TP_MAX_NDIMS] = {0};
    for (int64_t i = 0; i < k && !cv->status; ++i) {
        const int d = axes ? dtp_cv_axis(cv, axes[i], x->info.ndims) : (int)i;
        if (!cv->status && seen[d]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "axis %d is given twice", d);
        if (cv->status) return;
        seen[d] = true;
        begin[d] = pads[i];
        end[d] = pads[k + i];
    }
    int nd = x->info.ndims;
    val_t *plane = cv->status ? NULL : pad_plane(cv, x, begin, end, mode);
    if (plane) {
        x = plane;
        nd -= 2;
    }
    for (int d = 0; d < nd && !cv->status; ++d)
        if (begin[d] || end[d]) x = pad_axis(cv, x, d, begin[d], end[d], mode, value);
    dtp_cv_set(cv, 0, x);
}

void dtp_onnx_pad_2(cv_t *cv) {
    int64_t n;
    const int64_t *pads = dtp_cv_attr_ints(cv, "pads", &n);
    const float value = dtp_cv_float(cv, "value", 0.f);
    if (n < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no pads");
    const val_t *with = dtp_cv_scalar(cv, cv->in[0]->info.data_type, (double)value);
    if (!cv->status) pad(cv, n, pads, 0, NULL, with);
}
void dtp_onnx_pad(cv_t *cv) {
    enum { PADS = 1, VALUE, AXES };
    int64_t n, na = 0, nv = 1;
    static const double zero;
    const int64_t *pads = dtp_cv_ints(cv, PADS, &n);
    const double *value = dtp_cv_given(cv, VALUE) ? dtp_cv_numbers(cv, VALUE, &nv) : &zero;
    const int64_t *axes = dtp_cv_given(cv, AXES) ? dtp_cv_ints(cv, AXES, &na) : NULL;
    if (!cv->status && nv != 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld values to pad with", (long long)nv);
    if (cv->status) return;
    const dnnl_tp_data_type_t type = cv->in[0]->info.data_type;
    const val_t *with = dtp_cv_given(cv, VALUE) && cv->in[VALUE]->info.data_type == type
                            ? cv->in[VALUE] /* as it is: doubles do not hold all integers */
                            : dtp_cv_scalar(cv, type, *value);
    if (with) pad(cv, n, pads, na, axes, with);
}

/* The middle of each axis, or zeros around it. */
void dtp_onnx_center_crop_pad(cv_t *cv) {
    int64_t n, na;
    val_t *x = cv->in[0];
    const int64_t *shape = dtp_cv_ints(cv, 1, &n), *axes = dtp_cv_attr_ints(cv, "axes", &na);
    if (!cv->status && n != (na < 0 ? x->info.ndims : na))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld sizes", (long long)n);
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        const int axis = na < 0 ? (int)i : dtp_cv_axis(cv, axes[i], x->info.ndims);
        const int64_t all = cv->status ? 0 : dtp_cv_dim(cv, x, axis);
        if (!cv->status && (shape[i] < 0 || shape[i] > INT32_MAX))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a size is %lld", (long long)shape[i]);
        if (cv->status) return;
        const int64_t more = shape[i] - all, before = more < 0 ? -(-more / 2) : more / 2;
        x = dtp_cv_pad_axis(cv, x, axis, before, more - before, 0);
    }
    dtp_cv_set(cv, 0, x);
}
