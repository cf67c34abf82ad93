/* Einsum: operands of two are a product of matrices where that is what they are; others are multiplied under all their
 * letters and summed. */
#include "onnx/ops/ops.h"

#include <ctype.h>

enum { LETTERS = 52, DOTS = 26, MAX_LABELS = DNNL_TP_MAX_NDIMS };
/* Labels of a term: letters, and numbers from LETTERS on for the dimensions of an ellipsis. */
typedef struct {
    int n, label[MAX_LABELS];
} term_t;

static void add_label(cv_t *cv, term_t *t, int label) {
    if (t->n == MAX_LABELS)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its equation has more than %d labels", MAX_LABELS);
    else t->label[t->n++] = label;
}

static int place(const term_t *t, int label) {
    for (int i = 0; i < t->n; ++i)
        if (t->label[i] == label) return i;
    return -1;
}

/* One term up to the next comma, arrow or end. ndims: of its operand, -1 for the result, whose ellipsis has `dots`
 * dimensions; returns those of this one's. */
static int read_term(cv_t *cv, const char **at, int ndims, int dots, term_t *t) {
    int letters = 0, found = 0;
    bool has_dots = false;
    for (const char *c = *at; *c && *c != ',' && *c != '-'; ++c) letters += isalpha((unsigned char)*c) != 0;
    for (; *(*at) && **at != ',' && **at != '-'; ++*at) {
        const char c = **at;
        if (c == ' ') continue;
        if (isupper((unsigned char)c)) add_label(cv, t, c - 'A');
        else if (islower((unsigned char)c)) add_label(cv, t, DOTS + c - 'a');
        else if (c == '.' && !has_dots && (*at)[1] == '.' && (*at)[2] == '.') {
            has_dots = true;
            *at += 2;
            found = ndims < 0 ? dots : ndims - letters;
            if (found < 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its equation does not fit an operand");
            /* Aligned at their last dimension. */
            for (int d = 0; d < found && !cv->status; ++d) add_label(cv, t, LETTERS + MAX_LABELS - found + d);
        } else {
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its equation holds '%c'", c);
        }
        if (cv->status) return 0;
    }
    if (ndims >= 0 && t->n != ndims)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its equation does not fit an operand of %d dimensions",
                    ndims);
    return found;
}

/* Elements whose coordinates in the dimensions of a repeated label are equal. */
static val_t *diagonals(cv_t *cv, val_t *x, term_t *t) {
    for (int i = 0; i < t->n && !cv->status; ++i)
        for (int k = i + 1; k < t->n && !cv->status; ++k) {
            if (t->label[i] != t->label[k]) continue;
            const int64_t size = dtp_cv_dim(cv, x, i);
            if (!cv->status && dtp_cv_dim(cv, x, k) != size)
                dtp_cv_fail(cv, dnnl_tp_invalid_shape, "a label stands for different sizes");
            if (cv->status) return NULL;
            /* Both to the end, as one dimension of which every size + 1st element is taken. */
            int64_t perm[MAX_LABELS], dims[MAX_LABELS];
            term_t rest = {0};
            void *p;
            for (int d = 0; d < t->n; ++d)
                if (d != i && d != k) {
                    perm[rest.n] = d;
                    dims[rest.n] = x->info.dims[d];
                    rest.label[rest.n++] = t->label[d];
                }
            perm[rest.n] = i;
            perm[rest.n + 1] = k;
            if (__builtin_mul_overflow(size, size, &dims[rest.n])) return NULL;
            val_t *ids = dtp_cv_room(cv, dnnl_tp_s64, 1, &size, &p);
            for (int64_t e = 0; ids && e < size; ++e) ((int64_t *)p)[e] = e * (size + 1);
            x = dtp_cv_reshape(cv, dtp_cv_transpose(cv, x, perm), rest.n + 1, dims);
            x = cv->status ? NULL : dtp_cv_take(cv, x, rest.n, ids);
            rest.label[rest.n++] = t->label[i];
            *t = rest;
            i = -1;
            break;
        }
    return x;
}

/* x with its dimensions in the order of `all`; those that it lacks are 1 long. */
static val_t *under(cv_t *cv, val_t *x, const term_t *t, const term_t *all) {
    int64_t perm[MAX_LABELS], dims[MAX_LABELS];
    int n = 0;
    if (cv->status) return NULL;
    for (int i = 0; i < all->n; ++i) {
        const int d = place(t, all->label[i]);
        dims[i] = d < 0 ? 1 : x->info.dims[d];
        if (d >= 0) perm[n++] = d;
    }
    return dtp_cv_reshape(cv, dtp_cv_transpose(cv, x, perm), all->n, dims);
}

static val_t *summed(cv_t *cv, val_t *x, const term_t *all, const term_t *out) {
    int64_t axes[MAX_LABELS];
    int n = 0;
    if (cv->status) return NULL;
    for (int i = 0; i < all->n; ++i)
        if (place(out, all->label[i]) < 0) axes[n++] = i;
    return n ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, x, n, axes, false) : x;
}

/* Labels of both and the result, of the first, of the second, and what is summed: a product of matrices. NULL: it is none. */
static val_t *matrices(cv_t *cv, val_t *const *x, const term_t *t, const term_t *out, term_t *made) {
    term_t part[4] = {{0}}; /* batch, rows, columns, terms */
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < t[k].n; ++i) {
            const int label = t[k].label[i], other = place(&t[!k], label);
            const bool stays = place(out, label) >= 0;
            if (other >= 0 && x[k]->info.dims[i] != x[!k]->info.dims[other]) return NULL; /* broadcast */
            if (other < 0 && !stays) return NULL;
            if (other >= 0 && k) continue;
            add_label(cv, &part[other < 0 ? 1 + k : stays ? 0 : 3], label);
        }
    if (x[0]->info.data_type != dnnl_tp_f32 || !part[3].n) return NULL;
    val_t *side[2];
    for (int k = 0; k < 2 && !cv->status; ++k) {
        term_t order = part[0];
        for (int i = 0; i < part[k ? 3 : 1].n; ++i) add_label(cv, &order, part[k ? 3 : 1].label[i]);
        for (int i = 0; i < part[k ? 2 : 3].n; ++i) add_label(cv, &order, part[k ? 2 : 3].label[i]);
        val_t *y = under(cv, x[k], &t[k], &order);
        if (cv->status) return NULL;
        const int first = part[0].n, middle = first + part[k ? 3 : 1].n;
        const int64_t flat[3] = {dtp_cv_product(y, 0, first), dtp_cv_product(y, first, middle),
                                 dtp_cv_product(y, middle, order.n)};
        side[k] = dtp_cv_reshape(cv, y, 3, flat);
    }
    if (cv->status) return NULL;
    val_t *y = dtp_cv_matmul(cv, side[0], side[1], false);
    int64_t dims[MAX_LABELS];
    *made = (term_t){0};
    for (int p = 0; p < 3; ++p)
        for (int i = 0; i < part[p].n; ++i) {
            const int k = p == 2, label = part[p].label[i];
            dims[made->n] = x[k]->info.dims[place(&t[k], label)];
            add_label(cv, made, label);
        }
    return cv->status ? NULL : dtp_cv_reshape(cv, y, made->n, dims);
}

void dtp_onnx_einsum(cv_t *cv) {
    enum { MOST = 16 };
    term_t t[MOST] = {{0}}, all = {0}, out = {0};
    val_t *x[MOST], *y = NULL;
    int dots = 0;
    const char *at = dtp_cv_attr_text(cv, "equation");
    if (!at) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no equation");
    if (cv->nin > MOST) dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has %d operands", cv->nin);
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (i && *at == ',') ++at;
        else if (i)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its equation has fewer terms than there are operands");
        x[i] = cv->in[i];
        if (!x[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
        if (cv->status) return;
        const int d = read_term(cv, &at, x[i]->info.ndims, 0, &t[i]);
        dots = d > dots ? d : dots;
        x[i] = diagonals(cv, x[i], &t[i]);
    }
    if (cv->status) return;
    const bool has_result = at[0] == '-' && at[1] == '>';
    if (*at && !has_result)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its equation has more terms than there are operands");
    for (int d = MAX_LABELS - dots; d < MAX_LABELS; ++d) add_label(cv, &all, LETTERS + d);
    for (int i = 0; i < cv->nin; ++i)
        for (int k = 0; k < t[i].n; ++k)
            if (place(&all, t[i].label[k]) < 0) add_label(cv, &all, t[i].label[k]);
    if (has_result) {
        at += 2;
        (void)read_term(cv, &at, -1, dots, &out);
    } else { /* the ellipsis, then letters that stand there once, in the order of the alphabet */
        for (int d = MAX_LABELS - dots; d < MAX_LABELS; ++d) add_label(cv, &out, LETTERS + d);
        for (int label = 0; label < LETTERS; ++label) {
            int count = 0;
            for (const char *c = dtp_cv_attr_text(cv, "equation"); c && *c; ++c)
                count += *c == (label < DOTS ? 'A' + label : 'a' + label - DOTS);
            if (count == 1) add_label(cv, &out, label);
        }
    }
    for (int i = 0; i < out.n; ++i)
        if (place(&all, out.label[i]) < 0)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its result has a label that no operand has");
    if (cv->status) return;
    if (cv->nin == 2) {
        term_t made;
        y = matrices(cv, x, t, &out, &made);
        if (y) all = made;
    }
    if (!y && !cv->status) {
        for (int i = 0; i < cv->nin && !cv->status; ++i) {
            val_t *z = under(cv, x[i], &t[i], &all);
            y = y ? dtp_cv_binary(cv, dnnl_tp_op_multiply, y, z) : z;
        }
        y = summed(cv, y, &all, &out);
        term_t rest = {0};
        for (int i = 0; i < all.n; ++i)
            if (place(&out, all.label[i]) >= 0) add_label(cv, &rest, all.label[i]);
        all = rest;
    }
    int64_t perm[MAX_LABELS];
    for (int i = 0; i < out.n; ++i) perm[i] = place(&all, out.label[i]);
    if (!cv->status && all.n != out.n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its result has a label twice");
    if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_transpose(cv, y, perm));
}
