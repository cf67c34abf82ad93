/* TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble. */
#include "onnx/ops/ml/forest.h"
#include "onnx/ops/ml/ml.h"

#include <math.h>
#include <stdlib.h>

static void fail(cv_t *cv, const char *name, int64_t got, int64_t needed) {
    dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld elements, needed are %lld", name,
                (long long)(got < 0 ? 0 : got), (long long)needed);
}

/* n integers of an attribute. */
static const int64_t *ints(cv_t *cv, const char *name, int64_t n) {
    int64_t got;
    const int64_t *x = dtp_cv_attr_ints(cv, name, &got);
    if (!cv->status && got != n && (n || got > 0)) fail(cv, name, got, n);
    return x;
}

/* Numbers of a list, or of a tensor whose attribute has the name with "_as_tensor"; *n: -1: there are none. */
static const double *numbers(cv_t *cv, const char *name, const char *as_tensor, int64_t *n) {
    const val_t *tensor = dtp_cv_tensor(cv, as_tensor);
    const float *list = name ? dtp_cv_attr_floats(cv, name, n) : NULL;
    if (!name) *n = -1;
    if (tensor && *n > 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has '%s' twice", name);
    if (tensor && tensor->info.data_type != dnnl_tp_f32 && tensor->info.data_type != dnnl_tp_f64)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' has another type than FLOAT and DOUBLE",
                    as_tensor);
    if (tensor) *n = dtp_val_elems(tensor);
    double *x = dtp_cv_alloc(cv, sizeof *x * (size_t)(*n < 0 ? 0 : *n));
    for (int64_t i = 0; x && i < *n; ++i) x[i] = tensor ? dtp_fold_number(tensor, i) : (double)list[i];
    return x;
}

static const double *needed_numbers(cv_t *cv, const char *name, const char *as_tensor, int64_t n) {
    int64_t got;
    const double *x = numbers(cv, name, as_tensor, &got);
    if (!cv->status && got != n && (n || got > 0)) fail(cv, name ? name : as_tensor, got, n);
    return x;
}

/* Splits are compared in the type of x. */
static double rounded(double v, bool is_f32) { return is_f32 ? (double)(float)v : v; }

/* ---- Versions 1 to 3: nodes have numbers in their tree ------------------------------------------------------- */

/* Nodes by tree and number: their positions, in slots whose number is a power of two. */
typedef struct {
    const int64_t *tree, *node;
    int64_t *slots, mask;
} index_t;

static uint64_t slot_of(const index_t *x, int64_t tree, int64_t node) {
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = ((uint64_t)tree * odd + (uint64_t)node) * odd;
    return (h ^ h >> 32) & (uint64_t)x->mask;
}

static int64_t find(const index_t *x, int64_t tree, int64_t node) {
    for (uint64_t s = slot_of(x, tree, node);; s = (s + 1) & (uint64_t)x->mask) {
        const int64_t i = x->slots[s];
        if (i < 0 || (x->tree[i] == tree && x->node[i] == node)) return i;
    }
}

static void make_index(cv_t *cv, index_t *x, int64_t n) {
    int64_t size = 2;
    while (size < 2 * n) size *= 2;
    x->mask = size - 1;
    x->slots = dtp_cv_alloc(cv, sizeof *x->slots * (size_t)size);
    for (int64_t s = 0; x->slots && s < size; ++s) x->slots[s] = -1;
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        uint64_t s = slot_of(x, x->tree[i], x->node[i]);
        if (find(x, x->tree[i], x->node[i]) >= 0)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "tree %lld has two nodes %lld", (long long)x->tree[i],
                        (long long)x->node[i]);
        while (x->slots[s] >= 0) s = (s + 1) & (uint64_t)x->mask;
        x->slots[s] = i;
    }
}

static forest_mode_t mode_of(cv_t *cv, const char *text, size_t n) {
    static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
    for (int m = 0; m < (int)(sizeof words / sizeof *words); ++m)
        if (m != FOREST_MEMBER && n == strlen(words[m]) && !memcmp(text, words[m], n))
            return (forest_mode_t)m;
    dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a node has the mode '%.*s'", (int)(n < 40 ? n : 40), text);
    return FOREST_LEAF;
}

/* The names of the attributes of leaves. */
typedef struct {
    const char *tree, *node, *target, *weight, *weight_as_tensor;
} leaf_names_t;
static const leaf_names_t of_classes = {"class_treeids", "class_nodeids", "class_ids", "class_weights",
                                        "class_weights_as_tensor"};
static const leaf_names_t of_targets = {"target_treeids", "target_nodeids", "target_ids", "target_weights",
                                        "target_weights_as_tensor"};

/* Entries in the order of their nodes, and of the file within a node. */
static void read_entries(cv_t *cv, const leaf_names_t *names, const index_t *index, forest_t *f) {
    int64_t n;
    const int64_t *target = dtp_cv_attr_ints(cv, names->target, &n);
    f->nentries = n = n < 0 ? 0 : n;
    const int64_t *tree = ints(cv, names->tree, n), *node = ints(cv, names->node, n);
    const double *weight = needed_numbers(cv, names->weight, names->weight_as_tensor, n);
    int64_t *at = dtp_cv_alloc(cv, sizeof *at * (size_t)n);
    f->targets = dtp_cv_alloc(cv, sizeof *f->targets * (size_t)n);
    f->weights = dtp_cv_alloc(cv, sizeof *f->weights * (size_t)n);
    for (int64_t e = 0; e < n && !cv->status; ++e) {
        at[e] = find(index, tree[e], node[e]);
        if (at[e] < 0)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op,
                        "a weight is of node %lld of tree %lld, which does not exist", (long long)node[e],
                        (long long)tree[e]);
        else if (f->nodes[at[e]].mode == FOREST_LEAF) ++f->nodes[at[e]].count;
    }
    if (cv->status) return;
    int64_t first = 0;
    for (int64_t i = 0; i < f->n; ++i) {
        f->nodes[i].first = first;
        if (f->nodes[i].mode != FOREST_LEAF) continue;
        first += f->nodes[i].count;
        f->nodes[i].count = 0;
    }
    for (int64_t e = 0; e < n; ++e) { /* weights of other nodes than leaves mean nothing */
        forest_node_t *x = &f->nodes[at[e]];
        if (x->mode != FOREST_LEAF) continue;
        f->targets[x->first + x->count] = target[e];
        f->weights[x->first + x->count++] = weight[e];
    }
    f->nentries = first;
}

/* The first node of each tree, whose nodes are beside each other. */
static void read_roots(cv_t *cv, const int64_t *tree, forest_t *f) {
    f->roots = dtp_cv_alloc(cv, sizeof *f->roots * (size_t)f->n);
    for (int64_t i = 0; f->roots && i < f->n; ++i)
        if (!i || tree[i] != tree[i - 1]) f->roots[f->ntrees++] = i;
}

static void read_nodes(cv_t *cv, bool is_f32, const leaf_names_t *names, forest_t *f) {
    index_t index = {.mask = 0};
    int64_t n, unused, nmodes, nmissing;
    index.node = dtp_cv_attr_ints(cv, "nodes_nodeids", &n);
    f->n = n < 0 ? 0 : n;
    if (!cv->status && !f->n) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no nodes");
    index.tree = ints(cv, "nodes_treeids", n);
    const int64_t *feature = ints(cv, "nodes_featureids", n), *yes = ints(cv, "nodes_truenodeids", n),
                  *no = ints(cv, "nodes_falsenodeids", n);
    const int64_t *missing = dtp_cv_attr_ints(cv, "nodes_missing_value_tracks_true", &nmissing);
    const double *split = needed_numbers(cv, "nodes_values", "nodes_values_as_tensor", n);
    const ProtobufCBinaryData *mode = dtp_cv_attr_texts(cv, "nodes_modes", &nmodes);
    (void)numbers(cv, "nodes_hitrates", "nodes_hitrates_as_tensor", &unused);
    if (!cv->status && nmodes != n) fail(cv, "nodes_modes", nmodes, n);
    if (!cv->status && nmissing > 0 && nmissing != n)
        fail(cv, "nodes_missing_value_tracks_true", nmissing, n);
    f->nodes = dtp_cv_alloc(cv, sizeof *f->nodes * (size_t)f->n);
    if (!cv->status) make_index(cv, &index, n);
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        forest_node_t *x = &f->nodes[i];
        *x = (forest_node_t){.mode = mode_of(cv, (const char *)mode[i].data, mode[i].len),
                             .missing = nmissing > 0 && missing[i] == 1,
                             .feature = feature[i],
                             .split = rounded(split[i], is_f32)};
        if (x->mode == FOREST_LEAF) continue;
        x->yes = find(&index, index.tree[i], yes[i]);
        x->no = find(&index, index.tree[i], no[i]);
    }
    if (!cv->status) read_roots(cv, index.tree, f);
    if (!cv->status) read_entries(cv, names, &index, f);
}

/* ---- Version 5: leaves apart from nodes ---------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets of the nodes that test for membership, each ended by NaN. */
static void read_members(cv_t *cv, bool is_f32, forest_t *f) {
    int64_t n, at = 0;
    const double *x = numbers(cv, NULL, "membership_values", &n);
    f->nmembers = n = n < 0 ? 0 : n;
    f->members = dtp_cv_alloc(cv, sizeof *f->members * (size_t)n);
    for (int64_t i = 0; i < n && f->members; ++i) f->members[i] = rounded(x[i], is_f32);
    for (int64_t i = 0; i < f->n && !cv->status; ++i) {
        forest_node_t *node = &f->nodes[i];
        if (node->mode != FOREST_MEMBER) continue;
        if (at >= n) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "membership_values has too few sets");
        node->first = at;
        while (at < n && !isnan(f->members[at])) ++at;
        node->count = at - node->first;
        qsort(f->members + node->first, (size_t)node->count, sizeof *f->members, by_value);
        ++at;
    }
}

/* Bytes of the attribute nodes_modes. */
static const uint8_t *modes_5(cv_t *cv, int64_t n) {
    const val_t *x = dtp_cv_tensor(cv, "nodes_modes");
    if (!cv->status && (!x || x->info.data_type != dnnl_tp_u8 || dtp_val_elems(x) != n))
        fail(cv, "nodes_modes", x ? dtp_val_elems(x) : 0, n);
    return cv->status ? NULL : x->data;
}

/* A branch: a node, or a leaf, which come after all nodes. */
static int64_t branch(cv_t *cv, const forest_t *f, int64_t to, int64_t is_leaf, int64_t nodes) {
    const int64_t limit = is_leaf ? f->n - nodes : nodes;
    if (to >= 0 && to < limit) return is_leaf ? nodes + to : to;
    dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a branch leads to %s %lld of %lld", is_leaf ? "leaf" : "node",
                (long long)to, (long long)limit);
    return 0;
}

static void read_nodes_5(cv_t *cv, bool is_f32, forest_t *f) {
    int64_t n, leaves, nmissing, unused;
    const int64_t *feature = dtp_cv_attr_ints(cv, "nodes_featureids", &n);
    const int64_t *target = dtp_cv_attr_ints(cv, "leaf_targetids", &leaves);
    if (n <= 0 || leaves <= 0) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "it has no nodes, or no leaves");
    if (cv->status) return;
    const int64_t *yes = ints(cv, "nodes_truenodeids", n), *no = ints(cv, "nodes_falsenodeids", n),
                  *yes_is_leaf = ints(cv, "nodes_trueleafs", n),
                  *no_is_leaf = ints(cv, "nodes_falseleafs", n),
                  *missing = dtp_cv_attr_ints(cv, "nodes_missing_value_tracks_true", &nmissing);
    const double *split = needed_numbers(cv, NULL, "nodes_splits", n),
                 *weight = needed_numbers(cv, NULL, "leaf_weights", leaves);
    const uint8_t *mode = modes_5(cv, n);
    (void)numbers(cv, NULL, "nodes_hitrates", &unused);
    if (!cv->status && nmissing > 0 && nmissing != n)
        fail(cv, "nodes_missing_value_tracks_true", nmissing, n);
    const int64_t *roots = dtp_cv_attr_ints(cv, "tree_roots", &f->ntrees);
    f->n = n + leaves;
    f->nentries = leaves;
    f->nodes = dtp_cv_alloc(cv, sizeof *f->nodes * (size_t)f->n);
    f->roots = dtp_cv_alloc(cv, sizeof *f->roots * (size_t)(f->ntrees < 0 ? 0 : f->ntrees));
    f->targets = dtp_cv_alloc(cv, sizeof *f->targets * (size_t)leaves);
    f->weights = dtp_cv_alloc(cv, sizeof *f->weights * (size_t)leaves);
    for (int64_t i = 0; i < n && !cv->status; ++i) {
        if (mode[i] > FOREST_MEMBER)
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a node has the mode %d", mode[i]);
        f->nodes[i] = (forest_node_t){.mode = (forest_mode_t)mode[i],
                                      .missing = nmissing > 0 && missing[i] == 1,
                                      .feature = feature[i],
                                      .split = rounded(split[i], is_f32),
                                      .yes = branch(cv, f, yes[i], yes_is_leaf[i], n),
                                      .no = branch(cv, f, no[i], no_is_leaf[i], n)};
    }
    for (int64_t i = 0; i < leaves && !cv->status; ++i) {
        f->nodes[n + i] = (forest_node_t){.mode = FOREST_LEAF, .first = i, .count = 1};
        f->targets[i] = target[i];
        f->weights[i] = weight[i];
    }
    for (int64_t k = 0; k < f->ntrees && !cv->status; ++k) {
        f->roots[k] = roots[k];
        if (roots[k] < 0 || roots[k] >= n) continue; /* refused later */
        /* How a tree is written that is one leaf. */
        if (yes[roots[k]] == no[roots[k]] && yes_is_leaf[roots[k]] && no_is_leaf[roots[k]])
            f->roots[k] = n + yes[roots[k]];
    }
    if (!cv->status) read_members(cv, is_f32, f);
}

/* ---- Results --------------------------------------------------------------------------------------------------- */

static bool is_f32(const val_t *x) { return x->info.data_type == dnnl_tp_f32; }

/* Base values as a constant of the type of the scores; NULL: there are none. */
static val_t *base_values(cv_t *cv, const val_t *x, int64_t *n) {
    const double *base = numbers(cv, "base_values", "base_values_as_tensor", n);
    if (*n <= 0 || cv->status) return NULL;
    val_t *v = dtp_cv_constant(cv, dnnl_tp_f64, 1, n, base);
    return v ? dtp_cv_typed(cv, v, x->info.data_type) : NULL;
}

static void set_regression(cv_t *cv, val_t *scores, ml_transform_t transform) {
    if (cv->status) return;
    /* ONNX Runtime applies no other transform to one target. */
    const bool applies = scores->info.dims[1] > 1 || transform == ML_PROBIT;
    dtp_cv_set(cv, 0, applies ? dtp_ml_transform(cv, scores, transform) : scores);
}

void dtp_onnx_tree_regressor(cv_t *cv) {
    static const char *const words[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    int aggregate = 0;
    int64_t nbase;
    while (aggregate < (int)(sizeof words / sizeof *words) &&
           !dtp_cv_word(cv, "aggregate_function", "SUM", words[aggregate]))
        ++aggregate;
    if (aggregate == (int)(sizeof words / sizeof *words))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'aggregate_function' is not known");
    forest_t f = {.ntargets = dtp_cv_int(cv, "n_targets", 0)};
    const ml_transform_t transform = dtp_ml_transform_of(cv);
    val_t *x = dtp_ml_rows(cv, 0, true), *scored;
    if (!cv->status && (f.ntargets < 1 || f.ntargets > INT32_MAX))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'n_targets' is %lld", (long long)f.ntargets);
    if (!cv->status) read_nodes(cv, is_f32(x), &of_targets, &f);
    val_t *scores = dtp_forest_scores(cv, x, &f, (forest_aggregate_t)aggregate, &scored);
    val_t *base = cv->status ? NULL : base_values(cv, x, &nbase);
    if (base && nbase != f.ntargets) fail(cv, "base_values", nbase, f.ntargets);
    if (base && scored && f.ntargets > 1) base = dtp_cv_binary(cv, dnnl_tp_op_multiply, scored, base);
    if (base) scores = dtp_cv_binary(cv, dnnl_tp_op_add, scores, base);
    set_regression(cv, cv->status ? NULL : dtp_cv_typed(cv, scores, dnnl_tp_f32), transform);
}

void dtp_onnx_tree_ensemble(cv_t *cv) {
    static const forest_aggregate_t of[] = {FOREST_AVERAGE, FOREST_SUM, FOREST_MIN, FOREST_MAX};
    const int64_t aggregate = dtp_cv_int(cv, "aggregate_function", 1),
                  transform = dtp_cv_int(cv, "post_transform", 0);
    forest_t f = {.ntargets = dtp_cv_int(cv, "n_targets", 0)};
    val_t *x = dtp_ml_rows(cv, 0, true), *scored;
    if (!cv->status && (aggregate < 0 || aggregate > FOREST_MAX || transform < 0 || transform > ML_PROBIT ||
                        f.ntargets < 1 || f.ntargets > INT32_MAX))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op,
                    "its attribute 'aggregate_function', 'post_transform' or 'n_targets' is out of range");
    if (!cv->status) read_nodes_5(cv, is_f32(x), &f);
    if (!cv->status && f.ntrees <= 0) fail(cv, "tree_roots", f.ntrees, 1);
    if (cv->status) return;
    set_regression(cv, dtp_forest_scores(cv, x, &f, of[aggregate], &scored), (ml_transform_t)transform);
}

/* Two classes. ONNX Runtime tells cases apart that the standard does not: weights of one class only, which is then a score for
 * the second class, and of both, where the score of the second class decides alone. */
static void set_two_classes(cv_t *cv, val_t *x, forest_t *f, const ml_classes_t *classes,
                            ml_transform_t transform) {
    bool all_positive = true, is_one = true;
    int64_t nbase;
    val_t *scored, *base = base_values(cv, x, &nbase);
    for (int64_t e = 0; e < f->nentries; ++e) {
        all_positive &= f->weights[e] >= 0;
        is_one &= f->targets[e] == f->targets[0];
    }
    const bool is_first = is_one && f->nentries && f->targets[0] == 0;
    if (is_first) f->ntargets = 1;
    val_t *scores = dtp_forest_scores(cv, x, f, FOREST_SUM, &scored);
    if (nbase > 2 || (nbase == 2 && is_one) || (scored && !is_first && !is_one))
        dtp_cv_fail(
            cv, dnnl_tp_unimplemented,
            "two classes with two base values and weights of one class, or leaves with weights of one "
            "class and leaves with weights of both");
    const double limit = is_one && all_positive ? .5 : 0;
    if (cv->status) return;
    if (is_first) {
        if (base) scores = dtp_cv_binary(cv, dnnl_tp_op_add, scores, base);
        scores = cv->status ? NULL : dtp_cv_typed(cv, scores, dnnl_tp_f32);
        dtp_ml_set_label(cv, classes, dtp_ml_above(cv, scores, limit));
        if (dtp_cv_wanted(cv, 1)) dtp_cv_set(cv, 1, dtp_ml_both(cv, scores, transform, all_positive));
        return;
    }
    val_t *second = dtp_ml_column(cv, scores, 1), *first = dtp_ml_column(cv, scores, 0);
    if (nbase == 1 && !is_one) first = dtp_cv_binary(cv, dnnl_tp_op_add, first, base);
    if (nbase == 2) {
        second = dtp_cv_binary(cv, dnnl_tp_op_add, first, dtp_cv_part(cv, base, 0, 1, 1));
        first = cv->status ? NULL
                           : dtp_cv_binary(cv, dnnl_tp_op_multiply, second,
                                           dtp_cv_scalar(cv, second->info.data_type, -1));
    }
    val_t *both[] = {first, second};
    val_t *label = dtp_ml_above(cv, second, limit);
    if (is_one) dtp_ml_set_label(cv, classes, label);
    else dtp_cv_set(cv, 0, label); /* 0 or 1, whatever the labels are */
    scores = cv->status ? NULL : dtp_cv_typed(cv, dtp_cv_concat(cv, 1, 2, both), dnnl_tp_f32);
    if (dtp_cv_wanted(cv, 1)) dtp_cv_set(cv, 1, dtp_ml_transform(cv, scores, transform));
}

void dtp_onnx_tree_classifier(cv_t *cv) {
    const ml_transform_t transform = dtp_ml_transform_of(cv);
    const ml_classes_t classes = dtp_ml_classes(cv, "classlabels_int64s");
    val_t *x = dtp_ml_rows(cv, 0, true), *scored;
    forest_t f = {.ntargets = classes.n};
    int64_t nbase;
    if (classes.n == 1) dtp_cv_fail(cv, dnnl_tp_unimplemented, "it has one class");
    if (!cv->status) read_nodes(cv, is_f32(x), &of_classes, &f);
    if (cv->status) return;
    if (classes.n == 2) {
        set_two_classes(cv, x, &f, &classes, transform);
        return;
    }
    val_t *scores = dtp_forest_scores(cv, x, &f, FOREST_SUM, &scored);
    val_t *base = base_values(cv, x, &nbase);
    if (base && nbase != classes.n) fail(cv, "base_values", nbase, classes.n);
    if (base) scores = dtp_cv_binary(cv, dnnl_tp_op_add, scores, base);
    val_t *compared = scores;
    if (scored && !base && !cv->status) { /* a class without a score is never the best one */
        val_t *has = dtp_cv_binary(cv, dnnl_tp_op_greater, scored, dtp_cv_scalar(cv, x->info.data_type, 0));
        compared = dtp_cv_select(cv, has, scores, dtp_cv_scalar(cv, x->info.data_type, -INFINITY));
    }
    dtp_ml_set_label(cv, &classes, dtp_ml_best(cv, compared));
    scores = cv->status ? NULL : dtp_cv_typed(cv, scores, dnnl_tp_f32);
    if (dtp_cv_wanted(cv, 1)) dtp_cv_set(cv, 1, dtp_ml_transform(cv, scores, transform));
}
