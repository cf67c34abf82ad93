/* Elements by position, and positions of elements. */
#include "onnx/ops/ops.h"

static dnnl_tp_op_attr_t axis_attr(const int64_t *axis) {
    return (dnnl_tp_op_attr_t){dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, axis};
}

/* Positions of the k largest or smallest elements along an axis; NaN comes first, nan_worst: last. */
static val_t *top(cv_t *cv, val_t *x, int axis, int64_t k, bool smallest, bool last, bool nan_worst) {
    const int64_t at = axis;
    const uint8_t small = smallest, late = last, worst = nan_worst;
    const dnnl_tp_op_attr_t attr[] = {axis_attr(&at),
                                      {dnnl_tp_op_attr_k, dnnl_tp_op_attr_s64, 1, &k},
                                      {dnnl_tp_op_attr_smallest, dnnl_tp_op_attr_bool, 1, &small},
                                      {dnnl_tp_op_attr_last, dnnl_tp_op_attr_bool, 1, &late},
                                      {dnnl_tp_op_attr_nan_worst, dnnl_tp_op_attr_bool, 1, &worst}};
    return dtp_cv_op(cv, dnnl_tp_op_top_k, 1, &x, sizeof attr / sizeof *attr, attr);
}

/* kind: 1 for the smallest */
void dtp_onnx_arg(cv_t *cv) {
    val_t *x = cv->in[0];
    const int nd = x->info.ndims, axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 0), nd);
    const bool keep = dtp_cv_int(cv, "keepdims", 1) != 0, last = dtp_cv_int(cv, "select_last_index", 0) != 0;
    val_t *y =
        cv->status ? NULL : top(keep ? dtp_cv_last(cv) : cv, x, axis, 1, cv->row->kind == 1, last, false);
    if (!keep && !cv->status) {
        int64_t dims[DNNL_TP_MAX_NDIMS];
        for (int d = 0, k = 0; d < nd; ++d)
            if (d != axis) dims[k++] = y->info.dims[d];
        y = dtp_cv_reshape(dtp_cv_last(cv), y, nd - 1, dims);
    }
    dtp_cv_set(cv, 0, y);
}

static void top_k(cv_t *cv, int64_t k, bool smallest) {
    val_t *x = cv->in[0];
    const int axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -1), x->info.ndims);
    if (cv->status) return;
    /* The standard sorts: NaN is greater than all numbers. */
    val_t *ids = top(cv, x, axis, k, smallest, false, smallest), *in[] = {x, ids};
    dtp_cv_set(cv, 1, ids);
    if (dtp_cv_wanted(cv, 0))
        dtp_cv_set(
            cv, 0,
            dtp_cv_op_at(dtp_cv_last(cv), dnnl_tp_op_gather_elements, 2, in, dnnl_tp_op_attr_axis, axis));
}

void dtp_onnx_top_k_1(cv_t *cv) { top_k(cv, dtp_cv_int(cv, "k", 0), false); }
void dtp_onnx_top_k(cv_t *cv) {
    int64_t n;
    const int64_t *k = dtp_cv_ints(cv, 1, &n);
    const bool smallest = !dtp_cv_int(cv, "largest", 1);
    (void)dtp_cv_int(cv, "sorted", 1); /* sorted is one of the orders that are allowed */
    if (!cv->status && n != 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld numbers k", (long long)n);
    if (!cv->status) top_k(cv, *k, smallest);
}

static val_t *hardmax(cv_t *cv, val_t *x, int axis) {
    const int64_t n = dtp_cv_dim(cv, x, axis);
    if (n == 0) return x;
    val_t *best = top(cv, x, axis, 1, false, false, false);
    if (cv->status) return NULL;
    val_t *here = dtp_cv_binary(cv, dnnl_tp_op_equal, best, dtp_cv_counted(cv, n, x->info.ndims - 1 - axis));
    return dtp_cv_typed(cv, here, x->info.data_type);
}

void dtp_onnx_hardmax(cv_t *cv) {
    const int axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -1), cv->in[0]->info.ndims);
    if (!cv->status) dtp_cv_set(cv, 0, hardmax(cv, cv->in[0], axis));
}
/* Before version 13: all dimensions from axis on are one. */
void dtp_onnx_hardmax_1(cv_t *cv) {
    const val_t *x = cv->in[0];
    const int nd = x->info.ndims, axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", 1), nd);
    if (cv->status) return;
    const int64_t flat[2] = {dtp_cv_product(x, 0, axis), dtp_cv_product(x, axis, nd)};
    val_t *y = dtp_cv_reshape(cv, cv->in[0], 2, flat);
    y = cv->status ? NULL : hardmax(cv, y, 1);
    dtp_cv_set(cv, 0, dtp_cv_reshape(dtp_cv_last(cv), y, nd, x->info.dims));
}

/* on where the axis stands at the position, off elsewhere; positions outside of -depth..depth-1 are nowhere. */
void dtp_onnx_one_hot(cv_t *cv) {
    enum { IDS, DEPTH, VALUES };
    int64_t n, dims[DNNL_TP_MAX_NDIMS];
    const double *depth = dtp_cv_numbers(cv, DEPTH, &n);
    val_t *ids = cv->in[IDS], *values = cv->in[VALUES];
    const int nd = ids->info.ndims, axis = dtp_cv_axis(cv, dtp_cv_int(cv, "axis", -1), nd + 1);
    if (!cv->status && (n != 1 || !(*depth >= 0 && *depth < 0x1p31)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its depth is not one number, or out of range");
    if (!cv->status && (nd >= DNNL_TP_MAX_NDIMS || dtp_onnx_elems(&values->info) != 2))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its positions have %d dimensions, its values are no pair",
                    nd);
    if (cv->status) return;
    const int64_t size = (int64_t)*depth;
    for (int d = 0; d < nd; ++d) dims[d < axis ? d : d + 1] = ids->info.dims[d];
    dims[axis] = 1;
    const dnnl_tp_data_type_t type = dnnl_tp_s64;
    ids = dtp_cv_reshape(cv, dtp_cv_typed(cv, ids, type), nd + 1, dims);
    val_t *below = dtp_cv_binary(cv, dnnl_tp_op_less, ids, dtp_cv_scalar(cv, type, 0));
    ids = dtp_cv_select(cv, below,
                        dtp_cv_binary(cv, dnnl_tp_op_add, ids, dtp_cv_scalar(cv, type, (double)size)), ids);
    val_t *here = dtp_cv_binary(cv, dnnl_tp_op_equal, ids, dtp_cv_counted(cv, size, nd - axis));
    val_t *off = dtp_cv_part(cv, values, 0, 0, 1), *on = dtp_cv_part(cv, values, 0, 1, 1);
    dtp_cv_set(cv, 0, dtp_cv_select(dtp_cv_last(cv), here, on, off));
}

/* ---- Gathers and scatters ------------------------------------------------------------------------------------ */

void dtp_onnx_gather_elements(cv_t *cv) {
    const int64_t axis = dtp_cv_int(cv, "axis", 0);
    dtp_cv_set(
        cv, 0,
        dtp_cv_op_at(dtp_cv_last(cv), dnnl_tp_op_gather_elements, 2, cv->in, dnnl_tp_op_attr_axis, axis));
}

void dtp_onnx_gather_nd(cv_t *cv) {
    const int64_t batch = dtp_cv_int(cv, "batch_dims", 0);
    dtp_cv_set(
        cv, 0,
        dtp_cv_op_at(dtp_cv_last(cv), dnnl_tp_op_gather_nd, 2, cv->in, dnnl_tp_op_attr_batch_dims, batch));
}

static void scatter(cv_t *cv, const int64_t *axis) {
    static const char *const words[] = {"none", "add", "mul", "max", "min"};
    const char *word = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words && !word; ++i)
        if (dtp_cv_word(cv, "reduction", "none", words[i])) word = words[i];
    if (!word) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "its attribute 'reduction' is none of none, add, mul, max and min");
        return;
    }
    const dnnl_tp_op_attr_t attr[] = {
        {dnnl_tp_op_attr_reduction, dnnl_tp_op_attr_string, (int)strlen(word), word},
        {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, axis}};
    /* Truth values are combined as numbers: a sum is "or", a product "and". */
    const bool is_truth = cv->in[0]->info.data_type == dnnl_tp_boolean && strcmp(word, "none") != 0;
    for (int i = 0; i < 3 && is_truth; i += 2) cv->in[i] = dtp_cv_typed(cv, cv->in[i], dnnl_tp_s32);
    if (cv->status) return;
    val_t *y = dtp_cv_op(is_truth ? cv : dtp_cv_last(cv), cv->row->kind, 3, cv->in, axis ? 2 : 1, attr);
    dtp_cv_set(cv, 0, is_truth && !cv->status ? dtp_cv_typed(dtp_cv_last(cv), y, dnnl_tp_boolean) : y);
}

void dtp_onnx_scatter_elements(cv_t *cv) {
    const int64_t axis = dtp_cv_int(cv, "axis", 0);
    scatter(cv, &axis);
}
void dtp_onnx_scatter_nd(cv_t *cv) { scatter(cv, NULL); }

/* The first elements of each sequence in reverse order, the others as they are. */
void dtp_onnx_reverse_sequence(cv_t *cv) {
    val_t *x = cv->in[0], *lens = dtp_cv_typed(cv, cv->in[1], dnnl_tp_s64);
    const int64_t batch = dtp_cv_int(cv, "batch_axis", 1), time = dtp_cv_int(cv, "time_axis", 0);
    const int nd = x->info.ndims;
    if (nd < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its axes are %lld and %lld of %d", (long long)batch,
                    (long long)time, nd);
    if (cv->status) return;
    int64_t swap[DNNL_TP_MAX_NDIMS] = {1, 0};
    for (int d = 2; d < nd; ++d) swap[d] = d;
    if (batch == 1) x = dtp_cv_transpose(cv, x, swap);
    const int64_t steps = cv->status ? 0 : dtp_cv_dim(cv, x, 1);
    val_t *at = dtp_cv_counted(cv, steps, 1); /* {T, 1} */
    lens = dtp_cv_unsqueeze(cv, lens, 0, 2);  /* {B, 1, 1} */
    val_t *inside = dtp_cv_binary(cv, dnnl_tp_op_less, at, lens);
    val_t *mirror = dtp_cv_binary(cv, dnnl_tp_op_subtract, lens, dtp_cv_scalar(cv, dnnl_tp_s64, 1));
    mirror = dtp_cv_binary(cv, dnnl_tp_op_subtract, mirror, at);
    val_t *in[] = {x, dtp_cv_select(cv, inside, mirror, at)};
    val_t *y = dtp_cv_op_at(cv, dnnl_tp_op_gather_nd, 2, in, dnnl_tp_op_attr_batch_dims, 1);
    dtp_cv_set(cv, 0, batch == 1 ? dtp_cv_transpose(cv, y, swap) : y);
}
