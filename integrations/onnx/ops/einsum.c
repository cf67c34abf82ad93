/* Einsum: labels that only one operand has are summed first; then two operands after another become one, the cheapest pair
 * first, as a product of matrices where that is what they are, else by a product of elements and a sum. */
#include "onnx/ops/ops.h"

#include <ctype.h>
#include <math.h>

enum { LETTERS = 52, DOTS = 26, MAX_LABELS = DNNL_TP_MAX_NDIMS };
/* Labels of a term: letters, and numbers from LETTERS on for the dimensions of an ellipsis. */
typedef struct {
    int n, label[MAX_LABELS];
} term_t;
/* A set of labels: bit l for label l. */
typedef uint64_t labels_t;
typedef char labels_fit_t[LETTERS + MAX_LABELS <= 64 ? 1 : -1];

static bool has(labels_t set, int label) { return set >> label & 1; }
static labels_t labels_of(const term_t *t) {
    labels_t set = 0;
    for (int i = 0; i < t->n; ++i) set |= (labels_t)1 << t->label[i];
    return set;
}

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

/* Sums over the labels of x that `keep` lacks. */
static val_t *summed(cv_t *cv, val_t *x, term_t *t, labels_t keep) {
    int64_t axes[MAX_LABELS];
    term_t rest = {0};
    int n = 0;
    if (cv->status) return NULL;
    for (int i = 0; i < t->n; ++i)
        if (!has(keep, t->label[i])) axes[n++] = i;
        else add_label(cv, &rest, t->label[i]);
    *t = rest;
    return n ? dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, x, n, axes, false) : x;
}

/* x without the dimensions of one element that `other` has longer. */
static val_t *without_stretched(cv_t *cv, val_t *x, term_t *t, const val_t *y, const term_t *other) {
    int64_t dims[MAX_LABELS];
    term_t rest = {0};
    if (cv->status) return NULL;
    for (int i = 0; i < t->n; ++i) {
        const int d = place(other, t->label[i]);
        if (d >= 0 && x->info.dims[i] == 1 && y->info.dims[d] != 1) continue;
        dims[rest.n] = x->info.dims[i];
        add_label(cv, &rest, t->label[i]);
    }
    if (rest.n == t->n) return x;
    *t = rest;
    return dtp_cv_reshape(cv, x, rest.n, dims);
}

/* Labels of both that stay, of the first, of the second, and what is summed: a product of matrices. NULL: it is none. */
static val_t *matrices(cv_t *cv, val_t *const *x, const term_t *t, labels_t keep, term_t *made) {
    term_t part[4] = {{0}}; /* batch, rows, columns, terms */
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < t[k].n; ++i) {
            const int label = t[k].label[i], other = place(&t[!k], label);
            const bool stays = has(keep, label);
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

/* x[0] and x[1] as one, which has the labels of `keep` that they have. */
static val_t *joined(cv_t *cv, val_t **x, term_t *t, labels_t keep, term_t *made) {
    for (int k = 0; k < 2; ++k) {
        x[k] = without_stretched(cv, x[k], &t[k], x[!k], &t[!k]);
        x[k] = summed(cv, x[k], &t[k], keep | labels_of(&t[!k]));
    }
    val_t *y = cv->status ? NULL : matrices(cv, x, t, keep, made);
    if (y || cv->status) return y;
    *made = t[0];
    for (int i = 0; i < t[1].n; ++i)
        if (place(made, t[1].label[i]) < 0) add_label(cv, made, t[1].label[i]);
    y = dtp_cv_binary(cv, dnnl_tp_op_multiply, under(cv, x[0], &t[0], made), under(cv, x[1], &t[1], made));
    return summed(cv, y, made, keep);
}

/* What must stay when operands i and k become one: the labels of the others and of the result. */
static labels_t labels_beside(const term_t *t, int n, int i, int k, labels_t out) {
    for (int j = 0; j < n; ++j)
        if (j != i && j != k) out |= labels_of(&t[j]);
    return out;
}

/* Products that x[i] and x[k] take, and elements of their result; a size that is not known yet counts as some. */
static void cost_of(val_t *const *x, const term_t *t, int i, int k, labels_t keep, double cost[2]) {
    enum { SOME = 64 };
    cost[0] = cost[1] = 1;
    for (int side = 0; side < 2; ++side) {
        const int a = side ? k : i, b = side ? i : k;
        for (int d = 0; d < t[a].n; ++d) {
            const int other = place(&t[b], t[a].label[d]);
            int64_t size = x[a]->info.dims[d];
            if (other >= 0 && side) continue;
            if (other >= 0 && size == 1) size = x[b]->info.dims[other];
            const double n = size == CV_RUNTIME ? SOME : (double)size;
            cost[0] *= n;
            if (has(keep, t[a].label[d])) cost[1] *= n;
        }
    }
}

/* All operands as one: the pair that takes the fewest products comes first, of these the one with the smallest result. */
static val_t *contracted(cv_t *cv, val_t **x, term_t *t, int n, labels_t out) {
    for (int i = 0; i < n && !cv->status; ++i) x[i] = summed(cv, x[i], &t[i], labels_beside(t, n, i, i, out));
    for (; n > 1 && !cv->status; --n) {
        int best[2] = {0, 1};
        double least[2] = {INFINITY, INFINITY};
        for (int i = 0; i < n; ++i)
            for (int k = i + 1; k < n; ++k) {
                double cost[2];
                cost_of(x, t, i, k, labels_beside(t, n, i, k, out), cost);
                if (cost[0] > least[0] || (cost[0] == least[0] && cost[1] >= least[1])) continue;
                memcpy(least, cost, sizeof least);
                best[0] = i, best[1] = k;
            }
        const labels_t keep = labels_beside(t, n, best[0], best[1], out);
        val_t *pair[2] = {x[best[0]], x[best[1]]};
        term_t of[2] = {t[best[0]], t[best[1]]}, made;
        x[best[0]] = joined(cv, pair, of, keep, &made);
        t[best[0]] = made;
        x[best[1]] = x[n - 1];
        t[best[1]] = t[n - 1];
    }
    return cv->status ? NULL : x[0];
}

void dtp_onnx_einsum(cv_t *cv) {
    enum { MOST = 16 };
    term_t t[MOST] = {{0}}, out = {0};
    labels_t all = 0;
    val_t *x[MOST];
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
    for (int i = 0; i < cv->nin; ++i) all |= labels_of(&t[i]);
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
        if (!has(all, out.label[i]))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its result has a label that no operand has");
    if (cv->status) return;
    for (int i = 0; i < out.n; ++i)
        for (int k = 0; k < i; ++k)
            if (out.label[i] == out.label[k])
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its result has a label twice");
    val_t *y = contracted(cv, x, t, cv->nin, labels_of(&out));
    int64_t perm[MAX_LABELS];
    for (int i = 0; i < out.n; ++i) perm[i] = place(&t[0], out.label[i]);
    if (!cv->status) dtp_cv_set(cv, 0, dtp_cv_transpose(cv, y, perm));
}
