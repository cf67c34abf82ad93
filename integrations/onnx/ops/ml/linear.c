/* LinearClassifier, LinearRegressor, SVMClassifier and SVMRegressor. */
#include "onnx/ops/ml/ml.h"

#include <math.h>

static val_t *product(cv_t *cv, val_t *x, val_t *w) {
    return cv->status ? NULL : dtp_cv_matmul(cv, x, w, true);
}

static val_t *with_number(cv_t *cv, int kind, val_t *x, double y) {
    return cv->status || (kind == dnnl_tp_op_multiply && y == 1) || (kind == dnnl_tp_op_add && y == 0)
               ? x
               : dtp_cv_binary(cv, kind, x, dtp_ml_number(cv, y));
}

/* x w^T + b of the attributes coefficients and intercepts. */
static val_t *linear(cv_t *cv, val_t *x, int64_t rows) {
    int64_t n, nb;
    const float *b = dtp_cv_attr_floats(cv, "intercepts", &nb);
    val_t *w = dtp_ml_floats(cv, "coefficients", rows, &n);
    if (!cv->status && nb > 0 && nb != rows)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld intercepts for %lld results", (long long)nb,
                    (long long)rows);
    val_t *y = product(cv, x, w);
    return nb > 0 && y ? dtp_cv_binary(cv, dnnl_tp_op_add, y, dtp_cv_constant(cv, dnnl_tp_f32, 1, &nb, b))
                       : y;
}

void dtp_onnx_linear_regressor(cv_t *cv) {
    const int64_t targets = dtp_cv_int(cv, "targets", 1);
    const ml_transform_t transform = dtp_ml_transform_of(cv);
    if (targets < 1)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'targets' is %lld", (long long)targets);
    val_t *y = cv->status ? NULL : linear(cv, dtp_ml_rows(cv, 0, false), targets);
    /* Of one target ONNX Runtime applies no other transform. */
    dtp_cv_set(cv, 0, targets == 1 && transform != ML_PROBIT ? y : dtp_ml_transform(cv, y, transform));
}

void dtp_onnx_linear_classifier(cv_t *cv) {
    int64_t n;
    const ml_transform_t transform = dtp_ml_transform_of(cv);
    ml_classes_t classes = dtp_ml_classes(cv, "classlabels_ints");
    (void)dtp_cv_attr_floats(cv, "intercepts", &n); /* there is one for each score */
    (void)dtp_cv_int(cv, "multi_class", 0);         /* whether scores come of one fit for each class */
    if (!cv->status && n != classes.n && !(n == 1 && classes.n == 2))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has %lld intercepts for %lld classes", (long long)n,
                    (long long)classes.n);
    val_t *scores = cv->status ? NULL : linear(cv, dtp_ml_rows(cv, 0, false), n);
    if (n == 1 && classes.n == 1) {
        static const int64_t ints[] = {0, 1};
        classes = (ml_classes_t){2, ints};
        dtp_ml_set_label(cv, &classes, dtp_ml_above(cv, scores, 0));
        dtp_cv_set(cv, 1, transform == ML_PROBIT ? dtp_ml_transform(cv, scores, transform) : scores);
        return;
    }
    dtp_ml_set_label(cv, &classes, n == 1 ? dtp_ml_above(cv, scores, 0) : dtp_ml_best(cv, scores));
    if (!dtp_cv_wanted(cv, 1)) return;
    dtp_cv_set(cv, 1,
               n == 1 ? dtp_ml_both(cv, scores, transform, true) : dtp_ml_transform(cv, scores, transform));
}

/* ---- Kernels of support vector machines ---------------------------------------------------------------------- */

enum { GAMMA, COEF0, DEGREE, PARAMS };
typedef enum { LINEAR, POLY, RBF, SIGMOID } kernel_t;

typedef struct {
    kernel_t kernel;
    double params[PARAMS];
    int64_t vectors, features;
    const float *at; /* {vectors, features} */
} machine_t;

static machine_t machine_of(cv_t *cv, int64_t vectors) {
    static const char *const words[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    machine_t m = {.vectors = vectors};
    int64_t n, nparams;
    const float *params = dtp_cv_attr_floats(cv, "kernel_params", &nparams);
    int k = 0;
    while (k < (int)(sizeof words / sizeof *words) && !dtp_cv_word(cv, "kernel_type", "LINEAR", words[k]))
        ++k;
    m.kernel = (kernel_t)k;
    m.at = dtp_cv_attr_floats(cv, "support_vectors", &n);
    if (!cv->status && (k > SIGMOID || (nparams > 0 && nparams != PARAMS)))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its kernel is not known, or has not three parameters");
    for (int i = 0; i < PARAMS && nparams == PARAMS; ++i) m.params[i] = (double)params[i];
    if (vectors <= 0) m.kernel = LINEAR;
    else if (!cv->status && (n <= 0 || n % vectors))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its %lld support vectors have %lld numbers",
                    (long long)vectors, (long long)n);
    else m.features = n / vectors;
    return m;
}

/* exp(-gamma |x - s|^2), as products of what is left after the mean of the vectors is subtracted: so squares are not large
 * beside their differences. */
static val_t *radial(cv_t *cv, val_t *x, const machine_t *m) {
    static const int64_t axis = 1;
    const int64_t dims[] = {m->vectors, m->features};
    void *mean, *vectors, *norms;
    val_t *center = dtp_cv_room(cv, dnnl_tp_f32, 1, &m->features, &mean);
    val_t *w = dtp_cv_room(cv, dnnl_tp_f32, 2, dims, &vectors);
    val_t *norm = dtp_cv_room(cv, dnnl_tp_f32, 1, &m->vectors, &norms);
    if (cv->status) return NULL;
    for (int64_t f = 0; f < m->features; ++f) {
        double sum = 0;
        for (int64_t v = 0; v < m->vectors; ++v) sum += (double)m->at[v * m->features + f];
        ((float *)mean)[f] = (float)(sum / (double)m->vectors);
    }
    for (int64_t v = 0; v < m->vectors; ++v) {
        double sum = 0;
        for (int64_t f = 0; f < m->features; ++f) {
            const float s = m->at[v * m->features + f] - ((float *)mean)[f];
            ((float *)vectors)[v * m->features + f] = s;
            sum += (double)s * (double)s;
        }
        ((float *)norms)[v] = (float)sum;
    }
    val_t *near = dtp_cv_binary(cv, dnnl_tp_op_subtract, x, center);
    val_t *square = dtp_cv_unary(cv, dnnl_tp_op_square, near);
    square = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, square, 1, &axis, true);
    val_t *y = with_number(cv, dnnl_tp_op_multiply, product(cv, near, w), -2);
    y = dtp_cv_binary(cv, dnnl_tp_op_add, dtp_cv_binary(cv, dnnl_tp_op_add, y, norm), square);
    y = with_number(cv, dnnl_tp_op_maximum, y, 0);
    return dtp_cv_unary(cv, dnnl_tp_op_exp, with_number(cv, dnnl_tp_op_multiply, y, -m->params[GAMMA]));
}

/* The kernel of rows and vectors: {rows, vectors}. */
static val_t *kernels(cv_t *cv, val_t *x, const machine_t *m) {
    if (cv->status) return NULL;
    if (m->kernel == RBF) return radial(cv, x, m);
    const int64_t dims[] = {m->vectors, m->features};
    val_t *y = product(cv, x, dtp_cv_constant(cv, dnnl_tp_f32, 2, dims, m->at));
    if (m->kernel == LINEAR) return y;
    y = with_number(cv, dnnl_tp_op_multiply, y, m->params[GAMMA]);
    y = with_number(cv, dnnl_tp_op_add, y, m->params[COEF0]);
    if (m->kernel == SIGMOID) return dtp_cv_unary(cv, dnnl_tp_op_tanh, y);
    const double degree = m->params[DEGREE];
    if (degree == 2) return dtp_cv_unary(cv, dnnl_tp_op_square, y);
    if (degree == 3) return dtp_cv_binary(cv, dnnl_tp_op_multiply, dtp_cv_unary(cv, dnnl_tp_op_square, y), y);
    return dtp_cv_binary(cv, dnnl_tp_op_power, y, dtp_ml_number(cv, degree));
}

static const float *floats(cv_t *cv, const char *name, int64_t fewest, int64_t *n) {
    const float *x = dtp_cv_attr_floats(cv, name, n);
    if (!cv->status && *n < fewest)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld numbers, needed are %lld",
                    name, (long long)(*n < 0 ? 0 : *n), (long long)fewest);
    return x;
}

void dtp_onnx_svm_regressor(cv_t *cv) {
    int64_t n, nrho;
    const int64_t vectors = dtp_cv_int(cv, "n_supports", 0);
    const bool one_class = dtp_cv_int(cv, "one_class", 0) != 0;
    (void)dtp_ml_transform_of(cv); /* ONNX Runtime does not apply it */
    const float *rho = floats(cv, "rho", 1, &nrho), *coefficients = floats(cv, "coefficients", 1, &n);
    const machine_t m = machine_of(cv, vectors);
    if (!cv->status && vectors > 0 && n != vectors)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld coefficients for %lld vectors", (long long)n,
                    (long long)vectors);
    if (cv->status) return;
    const int64_t dims[] = {1, n};
    val_t *x = dtp_ml_rows(cv, 0, false), *w = dtp_cv_constant(cv, dnnl_tp_f32, 2, dims, coefficients);
    val_t *y = product(cv, vectors > 0 ? kernels(cv, x, &m) : x, w);
    y = with_number(cv, dnnl_tp_op_add, y, (double)rho[0]);
    if (one_class && !cv->status)
        y = dtp_cv_select(dtp_cv_last(cv), dtp_cv_binary(cv, dnnl_tp_op_greater, y, dtp_ml_number(cv, 0)),
                          dtp_ml_number(cv, 1), dtp_ml_number(cv, -1));
    dtp_cv_set(cv, 0, y);
}

/* ---- SVMClassifier --------------------------------------------------------------------------------------------- */

/* What decides between each two of k classes, in the order 01, 02, ..., 12, ...: a weight for each vector, and the classes. */
typedef struct {
    int64_t k, pairs;
    val_t *weights; /* {pairs, vectors} */
    val_t *votes;   /* {k, pairs}: 1 for the first class, -1 for the second */
    val_t *losses;  /* {k}: pairs in which the class is the second */
} duels_t;

static duels_t duels_of(cv_t *cv, int64_t k, const int64_t *of_class, int64_t vectors, const float *coef) {
    duels_t d = {.k = k, .pairs = k * (k - 1) / 2};
    const int64_t dims[] = {d.pairs, vectors}, vote_dims[] = {k, d.pairs};
    void *weights, *votes, *losses;
    d.weights = dtp_cv_room(cv, dnnl_tp_f32, 2, dims, &weights);
    d.votes = dtp_cv_room(cv, dnnl_tp_f32, 2, vote_dims, &votes);
    d.losses = dtp_cv_room(cv, dnnl_tp_f32, 1, &k, &losses);
    if (cv->status) return d;
    float *w = weights, *v = votes, *lost = losses;
    memset(w, 0, sizeof *w * (size_t)(d.pairs * vectors));
    memset(v, 0, sizeof *v * (size_t)(d.pairs * k));
    memset(lost, 0, sizeof *lost * (size_t)k);
    int64_t pair = 0, first_i = 0;
    for (int64_t i = 0; i < k; first_i += of_class[i++]) {
        int64_t first_j = first_i + of_class[i];
        for (int64_t j = i + 1; j < k; first_j += of_class[j++], ++pair) {
            for (int64_t s = 0; s < of_class[i]; ++s)
                w[pair * vectors + first_i + s] = coef[(j - 1) * vectors + first_i + s];
            for (int64_t s = 0; s < of_class[j]; ++s)
                w[pair * vectors + first_j + s] = coef[i * vectors + first_j + s];
            v[i * d.pairs + pair] = 1;
            v[j * d.pairs + pair] = -1;
            ++lost[j];
        }
    }
    return d;
}

/* The sum of counts that are not negative; -1: one is. */
static int64_t sum_of(int64_t n, const int64_t *counts) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (counts[i] < 0 || counts[i] > INT32_MAX) return -1;
        sum += counts[i];
    }
    return sum;
}

/* One score for each class, of weights of features. */
static void set_linear_machine(cv_t *cv, const ml_classes_t *classes, const float *coef, int64_t n,
                               const float *rho, ml_transform_t transform) {
    if (n % classes->n)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has %lld coefficients for %lld classes", (long long)n,
                    (long long)classes->n);
    if (cv->status) return;
    const int64_t dims[] = {classes->n, n / classes->n}, axis = 1;
    val_t *y = product(cv, dtp_ml_rows(cv, 0, false), dtp_cv_constant(cv, dnnl_tp_f32, 2, dims, coef));
    y = with_number(cv, dnnl_tp_op_add, y, (double)rho[0]);
    val_t *best = dtp_ml_best(cv, y);
    if (classes->n == 2 && !cv->status) { /* the second one as soon as some score is above a limit */
        bool all_positive = true;
        for (int64_t i = 0; i < n; ++i) all_positive &= coef[i] >= 0;
        val_t *most = dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, y, 1, &axis, true);
        val_t *above = dtp_ml_above(cv, most, all_positive ? (double)nextafterf(.5f, 0) : 0);
        best = dtp_cv_binary(cv, dnnl_tp_op_maximum, best, above);
    }
    dtp_ml_set_label(cv, classes, best);
    if (dtp_cv_wanted(cv, 1)) dtp_cv_set(cv, 1, dtp_ml_transform(cv, y, transform));
}

/* ---- Probabilities of classes from those of pairs (Wu, Lin and Weng, second method) ----------------------------- */

enum { ROUNDS = 10, MOST_CLASSES = 32 };

static val_t *at(cv_t *cv, int kind, val_t *x, val_t *y) {
    return cv->status ? NULL : dtp_cv_binary(cv, kind, x, y);
}

/* The probability that a pair's first class wins, within 1e-7 of 0 and 1: {rows, 1} for each pair. */
static void pair_probabilities(cv_t *cv, val_t *scores, int64_t pairs, const float *a, const float *b,
                               val_t **r) {
    const double least = (double)1.0e-7f;
    val_t *p = at(cv, dnnl_tp_op_multiply, scores, dtp_cv_constant(cv, dnnl_tp_f32, 1, &pairs, a));
    p = at(cv, dnnl_tp_op_add, p, dtp_cv_constant(cv, dnnl_tp_f32, 1, &pairs, b));
    p = with_number(cv, dnnl_tp_op_multiply, p, -1);
    p = cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_sigmoid, p);
    p = with_number(cv, dnnl_tp_op_minimum, with_number(cv, dnnl_tp_op_maximum, p, least),
                    (double)(1 - 1.0e-7f));
    for (int64_t i = 0; i < pairs; ++i) r[i] = cv->status ? NULL : dtp_ml_column(cv, p, i);
}

typedef struct {
    int64_t k;
    /* Row i of Q {rows, k}, and its element i {rows, 1}. */
    val_t *row[MOST_CLASSES], *diagonal[MOST_CLASSES];
} quadratic_t;

/* Q[i][i] is the sum of squares of what others win against i, Q[i][j] minus the product of both sides. */
static void make_quadratic(cv_t *cv, int64_t k, val_t *const *pair, quadratic_t *q) {
    val_t *r[MOST_CLASSES][MOST_CLASSES], *e[MOST_CLASSES];
    q->k = k;
    for (int64_t i = 0, n = 0; i < k; ++i)
        for (int64_t j = i + 1; j < k; ++j, ++n) {
            r[i][j] = pair[n];
            r[j][i] = with_number(cv, dnnl_tp_op_add, with_number(cv, dnnl_tp_op_multiply, pair[n], -1), 1);
        }
    for (int64_t i = 0; i < k; ++i) {
        e[i] = NULL;
        for (int64_t j = 0; j < k; ++j) {
            if (i == j) continue;
            val_t *square = cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_square, r[j][i]);
            e[i] = e[i] ? at(cv, dnnl_tp_op_add, e[i], square) : square;
            e[j] = with_number(cv, dnnl_tp_op_multiply, at(cv, dnnl_tp_op_multiply, r[j][i], r[i][j]), -1);
        }
        q->diagonal[i] = e[i];
        q->row[i] = cv->status ? NULL : dtp_cv_concat(cv, 1, (int)k, e);
    }
}

static val_t *row_sum(cv_t *cv, val_t *x) {
    static const int64_t axis = 1;
    return cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_sum, x, 1, &axis, true);
}

/* Q p and p Q p. */
static void apply(cv_t *cv, const quadratic_t *q, val_t *p, val_t **qp, val_t **pqp) {
    val_t *e[MOST_CLASSES];
    for (int64_t i = 0; i < q->k; ++i) e[i] = row_sum(cv, at(cv, dnnl_tp_op_multiply, q->row[i], p));
    *qp = cv->status ? NULL : dtp_cv_concat(cv, 1, (int)q->k, e);
    *pqp = row_sum(cv, at(cv, dnnl_tp_op_multiply, p, *qp));
}

/* One round over the coordinates: p becomes better. */
static val_t *better(cv_t *cv, const quadratic_t *q, val_t *p, val_t *qp, val_t *pqp) {
    for (int64_t i = 0; i < q->k && !cv->status; ++i) {
        void *data;
        val_t *unit = dtp_cv_room(cv, dnnl_tp_f32, 1, &q->k, &data);
        if (!unit) return NULL;
        memset(data, 0, sizeof(float) * (size_t)q->k);
        ((float *)data)[i] = 1;
        val_t *qpi = dtp_ml_column(cv, qp, i);
        val_t *d = at(cv, dnnl_tp_op_divide, at(cv, dnnl_tp_op_subtract, pqp, qpi), q->diagonal[i]);
        val_t *scale = with_number(cv, dnnl_tp_op_add, d, 1);
        val_t *more = at(cv, dnnl_tp_op_add, at(cv, dnnl_tp_op_multiply, d, q->diagonal[i]),
                         with_number(cv, dnnl_tp_op_multiply, qpi, 2));
        pqp = at(cv, dnnl_tp_op_add, pqp, at(cv, dnnl_tp_op_multiply, d, more));
        pqp = at(cv, dnnl_tp_op_divide, at(cv, dnnl_tp_op_divide, pqp, scale), scale);
        p = at(cv, dnnl_tp_op_add, p, at(cv, dnnl_tp_op_multiply, d, unit));
        p = at(cv, dnnl_tp_op_divide, p, scale);
        qp = at(cv, dnnl_tp_op_add, qp, at(cv, dnnl_tp_op_multiply, d, q->row[i]));
        qp = at(cv, dnnl_tp_op_divide, qp, scale);
    }
    return p;
}

/* ONNX Runtime ends each row's rounds when it is near enough, which takes less than ten. */
static val_t *probabilities(cv_t *cv, val_t *scores, int64_t k, const float *a, const float *b) {
    static const int64_t axis = 1;
    val_t *pair[MOST_CLASSES * (MOST_CLASSES - 1) / 2], *qp, *pqp;
    quadratic_t q;
    pair_probabilities(cv, scores, k * (k - 1) / 2, a, b, pair);
    make_quadratic(cv, k, pair, &q);
    /* {rows, k} of 1 / k: a product with 0 keeps the rows. */
    val_t *p = cv->status ? NULL : with_number(cv, dnnl_tp_op_multiply, q.row[0], 0);
    p = with_number(cv, dnnl_tp_op_add, p, (double)(1.0f / (float)k));
    for (int round = 0; round < ROUNDS && !cv->status; ++round) {
        apply(cv, &q, p, &qp, &pqp);
        val_t *error =
            cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_abs, at(cv, dnnl_tp_op_subtract, qp, pqp));
        error = cv->status ? NULL : dtp_cv_reduce(cv, dnnl_tp_op_reduce_max, error, 1, &axis, true);
        val_t *near = at(cv, dnnl_tp_op_less, error, dtp_ml_number(cv, (double)(0.005f / (float)k)));
        p = dtp_cv_select(cv, near, p, better(cv, &q, p, qp, pqp));
    }
    return p;
}

void dtp_onnx_svm_classifier(cv_t *cv) {
    int64_t nclasses, n, nrho, na, nb;
    const ml_transform_t transform = dtp_ml_transform_of(cv);
    const ml_classes_t classes = dtp_ml_classes(cv, "classlabels_ints");
    const int64_t *of_class = dtp_cv_attr_ints(cv, "vectors_per_class", &nclasses);
    const int64_t vectors = nclasses > 0 ? sum_of(nclasses, of_class) : 0, k = classes.n;
    const float *rho = floats(cv, "rho", 1, &nrho), *coef = floats(cv, "coefficients", 1, &n);
    const float *a = dtp_cv_attr_floats(cv, "prob_a", &na), *b = dtp_cv_attr_floats(cv, "prob_b", &nb);
    const machine_t m = machine_of(cv, vectors);
    if (cv->status) return;
    if (!vectors) {
        set_linear_machine(cv, &classes, coef, n, rho, transform);
        return;
    }
    if (vectors < 0 || nclasses != k || k < 2 || k > UINT16_MAX || n < (k - 1) * vectors ||
        nrho < k * (k - 1) / 2 || (na > 0 && na < k * (k - 1) / 2) || (na > 0 && na != nb))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op,
                    "its classes, vectors_per_class, coefficients, rho and prob_a do not fit each other");
    if (na > 0 && k > MOST_CLASSES && dtp_cv_wanted(cv, 1))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "probabilities of %lld classes, at most %d are implemented",
                    (long long)k, MOST_CLASSES);
    if (cv->status) return;
    const duels_t d = duels_of(cv, k, of_class, vectors, coef);
    val_t *scores = product(cv, kernels(cv, dtp_ml_rows(cv, 0, false), &m), d.weights);
    scores = dtp_cv_binary(cv, dnnl_tp_op_add, scores, dtp_cv_constant(cv, dnnl_tp_f32, 1, &d.pairs, rho));
    val_t *wins = dtp_cv_binary(cv, dnnl_tp_op_greater, scores, dtp_ml_number(cv, 0));
    wins = product(cv, cv->status ? NULL : dtp_cv_typed(cv, wins, dnnl_tp_f32), d.votes);
    dtp_ml_set_label(cv, &classes, dtp_ml_best(cv, dtp_cv_binary(cv, dnnl_tp_op_add, wins, d.losses)));
    if (!dtp_cv_wanted(cv, 1)) return;
    if (na > 0) {
        dtp_cv_set(cv, 1, dtp_ml_transform(cv, probabilities(cv, scores, k, a, b), transform));
        return;
    }
    dtp_cv_set(cv, 1,
               k == 2 ? dtp_ml_both(cv, scores, transform, transform != ML_NONE)
                      : dtp_ml_transform(cv, scores, transform));
}
