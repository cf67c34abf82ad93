/* From trees of a file to the tables of the operator tree_ensemble: every comparison becomes x <= split, and nodes get the
 * order of a breadth-first walk, so that children, and nodes that several others share, come after them. */
#include "onnx/ops/ml/forest.h"

#include <math.h>

enum { HIGHEST = INT32_MIN, MOST = 1 << 28 };

/* The tables under construction. */
typedef struct {
    cv_t *cv;
    const forest_t *f;
    bool is_f32;
    int32_t *nodes, *roots;
    double *splits;
    /* Of each place: the leaf of the file that is there; -1: none. */
    int64_t *leaf;
    int64_t n, room;
    /* Of each node of the file. waiting: edges to it that have no place yet; shared: there are several. jump: the last place
     * from which rows jump to it; the others follow in `before`; -1: the end. */
    int64_t *waiting, *jump, *tree;
    bool *shared;
    int64_t *before; /* of each place */
    /* Nodes of the file and their places, in the order in which they get them. */
    int64_t *queue, *place;
    int64_t tail;
} tables_t;

static void refuse(const tables_t *t, int64_t tree, const char *why) {
    dtp_cv_fail(t->cv, dnnl_tp_invalid_graph_op, "tree %lld: %s", (long long)tree, why);
}

/* Edges from a node to its branches: EQ, NEQ and MEMBER have several to each. */
static void edges_of(const forest_node_t *x, int64_t *to_yes, int64_t *to_no) {
    *to_yes = *to_no = 1;
    if (x->mode != FOREST_EQ && x->mode != FOREST_NEQ && x->mode != FOREST_MEMBER) return;
    const int64_t m = x->mode == FOREST_MEMBER ? x->count : !isnan(x->split);
    if (!m) return;
    *(x->mode == FOREST_NEQ ? to_no : to_yes) = m;
    *(x->mode == FOREST_NEQ ? to_yes : to_no) = m + 1;
}

/* Counts the edges to every node of a tree; gives the number of its nodes. */
static int64_t count_edges(tables_t *t, int64_t tree) {
    const forest_t *f = t->f;
    const int64_t root = f->roots[tree];
    int64_t head = t->tail, end = head;
    if (root < 0 || root >= f->n) refuse(t, tree, "its root does not exist");
    else if (t->tree[root] >= 0) refuse(t, tree, "its root is a node of another tree");
    if (t->cv->status) return 0;
    t->queue[end++] = root;
    t->tree[root] = tree;
    for (; head < end && !t->cv->status; ++head) {
        const forest_node_t *x = &f->nodes[t->queue[head]];
        const int64_t to[] = {x->yes, x->no};
        int64_t edges[2];
        edges_of(x, &edges[0], &edges[1]);
        for (int b = 0; b < 2 && x->mode != FOREST_LEAF && !t->cv->status; ++b) {
            if (to[b] < 0 || to[b] >= f->n) refuse(t, tree, "a node has a branch that does not exist");
            else if (t->tree[to[b]] >= 0 && t->tree[to[b]] != tree) refuse(t, tree, "a node is in two trees");
            if (t->cv->status) break;
            if (t->tree[to[b]] < 0) t->queue[end++] = to[b];
            t->tree[to[b]] = tree;
            t->waiting[to[b]] += edges[b];
            t->shared[to[b]] = t->waiting[to[b]] > 1;
        }
    }
    if (t->waiting[root]) refuse(t, tree, "its nodes form a cycle");
    return end - t->tail;
}

static int64_t new_places(tables_t *t, int64_t count) {
    const int64_t at = t->n;
    if (t->n + count > t->room) {
        dtp_cv_fail(t->cv, dnnl_tp_unimplemented, "its trees have more than %d nodes", MOST);
        return 0;
    }
    for (int64_t i = at; i < at + count; ++i) t->leaf[i] = -1;
    t->n += count;
    return at;
}

/* A jump to `to`: x <= NaN is false. */
static void set_jump(tables_t *t, int64_t at, int64_t to) {
    t->nodes[2 * at] = 0;
    t->nodes[2 * at + 1] = (int32_t)(to - 1);
    t->splits[at] = NAN;
}

static void place(tables_t *t, int64_t node, int64_t at) {
    t->queue[t->tail] = node;
    t->place[t->tail++] = at;
}

/* One edge to a node ends in a place, which is the node's own or a jump to it. */
static void end_edge(tables_t *t, int64_t at, int64_t node) {
    --t->waiting[node];
    if (!t->shared[node]) {
        place(t, node, at);
        return;
    }
    t->before[at] = t->jump[node];
    t->jump[node] = at;
    if (t->waiting[node]) return;
    const int64_t own = new_places(t, 1);
    for (int64_t i = t->jump[node]; i >= 0; i = t->before[i]) set_jump(t, i, own);
    place(t, node, own);
}

/* x <= split ? first : second, NaN: second or, with nan_first, first; gives the pair of places. */
static int64_t compare(tables_t *t, int64_t at, int64_t feature, double split, bool nan_first) {
    const int64_t pair = new_places(t, 2);
    t->nodes[2 * at] = (int32_t)feature | (nan_first ? HIGHEST : 0);
    t->nodes[2 * at + 1] = (int32_t)pair;
    t->splits[at] = split;
    return pair;
}

/* The largest number below v; NaN: there is none. */
static double below(const tables_t *t, double v) {
    if (v == -INFINITY) return NAN;
    return t->is_f32 ? (double)nextafterf((float)v, -INFINITY) : nextafter(v, -INFINITY);
}

/* x is one of the values, in ascending order: is there one that it is not above, and is it not below that? NaN, if it is to
 * be in the set, gets there through the first two comparisons. */
static void compare_set(tables_t *t, int64_t at, const forest_node_t *x, int64_t m, const double *values,
                        int64_t in, int64_t out, bool nan_in) {
    if (!m) {
        const int64_t pair = compare(t, at, x->feature, NAN, nan_in);
        end_edge(t, pair, in);
        end_edge(t, pair + 1, out);
        return;
    }
    for (int64_t i = 0; i < m && !t->cv->status; ++i) {
        const int64_t not_above = compare(t, at, x->feature, values[i], nan_in && !i);
        const int64_t equal = compare(t, not_above, x->feature, below(t, values[i]), false);
        end_edge(t, equal, out);
        end_edge(t, equal + 1, in);
        at = not_above + 1;
    }
    end_edge(t, at, out);
}

static void add_branch(tables_t *t, int64_t at, const forest_node_t *x) {
    const bool swaps = (x->mode == FOREST_GT || x->mode == FOREST_GTE) && !isnan(x->split);
    switch (x->mode) {
    case FOREST_EQ: compare_set(t, at, x, !isnan(x->split), &x->split, x->yes, x->no, x->missing); return;
    /* NaN is not equal to anything: it is outside of the set, where the true branch is. */
    case FOREST_NEQ: compare_set(t, at, x, !isnan(x->split), &x->split, x->no, x->yes, false); return;
    case FOREST_MEMBER:
        compare_set(t, at, x, x->count, t->f->members + x->first, x->yes, x->no, x->missing);
        return;
    default: break;
    }
    const bool strict = x->mode == FOREST_LT || x->mode == FOREST_GTE;
    const int64_t pair =
        compare(t, at, x->feature, strict ? below(t, x->split) : x->split, x->missing != swaps);
    end_edge(t, pair, swaps ? x->no : x->yes);
    end_edge(t, pair + 1, swaps ? x->yes : x->no);
}

static void add_tree(tables_t *t, int64_t tree) {
    const int64_t begin = t->tail, count = count_edges(t, tree), root = new_places(t, 1);
    if (t->cv->status) return;
    t->roots[2 * tree] = (int32_t)root;
    place(t, t->f->roots[tree], root);
    for (int64_t i = begin; i < t->tail && !t->cv->status; ++i) {
        const int64_t node = t->queue[i], at = t->place[i];
        if (t->f->nodes[node].mode != FOREST_LEAF) {
            add_branch(t, at, &t->f->nodes[node]);
            continue;
        }
        set_jump(t, at, at);
        t->leaf[at] = node;
    }
    /* Each node gets its place when all edges to it have theirs. */
    if (!t->cv->status && t->tail - begin != count) refuse(t, tree, "its nodes form a cycle");
}

/* The steps of each tree: the longest way from its root. */
static void count_steps(tables_t *t) {
    int32_t *steps = dtp_cv_alloc(t->cv, sizeof *steps * (size_t)t->n);
    for (int64_t i = t->n - 1; steps && i >= 0; --i) {
        const int32_t *node = &t->nodes[2 * i];
        const bool jumps = isnan(t->splits[i]) && node[0] >= 0;
        if (t->leaf[i] >= 0 || !i) continue;
        const int32_t first = jumps ? 0 : steps[node[1]], second = steps[node[1] + 1];
        steps[i] = 1 + (first > second ? first : second);
    }
    for (int64_t k = 0; steps && k < t->f->ntrees; ++k) t->roots[2 * k + 1] = steps[t->roots[2 * k]];
}

static bool is_inside(int64_t i, int64_t limit) { return i >= 0 && i < limit; }

static void check(cv_t *cv, const val_t *x, const forest_t *f) {
    const int64_t features = x->info.dims[1] == CV_RUNTIME ? INT32_MAX : x->info.dims[1];
    for (int64_t i = 0; i < f->n; ++i)
        if (f->nodes[i].mode != FOREST_LEAF && !is_inside(f->nodes[i].feature, features))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a node reads feature %lld of %lld",
                        (long long)f->nodes[i].feature, (long long)features);
    for (int64_t e = 0; e < f->nentries; ++e)
        if (!is_inside(f->targets[e], f->ntargets))
            dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "a leaf has a weight for target or class %lld of %lld",
                        (long long)f->targets[e], (long long)f->ntargets);
}

/* Upper bound of the places: those of branches, a pair for each comparison; one more for every shared node. */
static int64_t most_places(const forest_t *f) {
    int64_t places = 1 + f->ntrees;
    for (int64_t i = 0; i < f->n && places < MOST; ++i) {
        const forest_node_t *x = &f->nodes[i];
        const bool is_set = x->mode == FOREST_EQ || x->mode == FOREST_NEQ || x->mode == FOREST_MEMBER;
        places += 1 + 2 * (is_set ? 1 + 2 * (x->mode == FOREST_MEMBER ? x->count : 1) : 1);
    }
    return places < MOST ? places : MOST;
}

static bool make_tables(cv_t *cv, const forest_t *f, bool is_f32, tables_t *t) {
    const size_t n = (size_t)f->n + 1, size = sizeof(int64_t);
    *t = (tables_t){.cv = cv, .f = f, .is_f32 = is_f32, .room = most_places(f)};
    const size_t room = (size_t)t->room;
    t->nodes = dtp_cv_alloc(cv, 2 * sizeof *t->nodes * room);
    t->roots = dtp_cv_alloc(cv, 2 * sizeof *t->roots * ((size_t)f->ntrees + 1));
    t->splits = dtp_cv_alloc(cv, sizeof *t->splits * room);
    t->leaf = dtp_cv_alloc(cv, size * room);
    t->before = dtp_cv_alloc(cv, size * room);
    t->waiting = dtp_cv_alloc(cv, size * n);
    t->jump = dtp_cv_alloc(cv, size * n);
    t->tree = dtp_cv_alloc(cv, size * n);
    t->shared = dtp_cv_alloc(cv, sizeof *t->shared * n);
    t->queue = dtp_cv_alloc(cv, size * n);
    t->place = dtp_cv_alloc(cv, size * n);
    if (cv->status) return false;
    for (int64_t i = 0; i < f->n; ++i) {
        t->waiting[i] = 0;
        t->shared[i] = false;
        t->jump[i] = t->tree[i] = -1;
    }
    set_jump(t, new_places(t, 1), 1); /* so that no leaf is at place 0: nothing gets here */
    t->nodes[1] = 0;
    for (int64_t k = 0; k < f->ntrees && !cv->status; ++k) add_tree(t, k);
    count_steps(t);
    return !cv->status;
}

/* ---- The operator ---------------------------------------------------------------------------------------- */

static val_t *reals(cv_t *cv, dnnl_tp_data_type_t type, int64_t n, const double *from) {
    void *to;
    val_t *v = dtp_cv_room(cv, type, 1, &n, &to);
    for (int64_t i = 0; v && i < n; ++i) {
        if (type == dnnl_tp_f32) ((float *)to)[i] = (float)from[i];
        else ((double *)to)[i] = from[i];
    }
    return v;
}

enum { X, NODES, ROOTS, LEAVES, TARGETS, SPLITS, WEIGHTS, INPUTS };

/* Entries in the order of places. */
static void add_entries(cv_t *cv, const tables_t *t, dnnl_tp_data_type_t type, val_t **in, double **weights) {
    const forest_t *f = t->f;
    int64_t count = 0, one_more = t->n + 1;
    for (int64_t i = 0; i < t->n; ++i) count += t->leaf[i] >= 0 ? f->nodes[t->leaf[i]].count : 0;
    void *leaves, *targets;
    in[LEAVES] = dtp_cv_room(cv, dnnl_tp_s32, 1, &one_more, &leaves);
    in[TARGETS] = dtp_cv_room(cv, dnnl_tp_s32, 1, &count, &targets);
    *weights = dtp_cv_alloc(cv, sizeof **weights * (size_t)count);
    if (cv->status) return;
    int64_t e = 0;
    for (int64_t i = 0; i <= t->n; ++i) {
        ((int32_t *)leaves)[i] = (int32_t)e;
        const forest_node_t *x = i < t->n && t->leaf[i] >= 0 ? &f->nodes[t->leaf[i]] : NULL;
        for (int64_t k = 0; x && k < x->count; ++k, ++e) {
            ((int32_t *)targets)[e] = (int32_t)f->targets[x->first + k];
            (*weights)[e] = f->weights[x->first + k];
        }
    }
    in[WEIGHTS] = reals(cv, type, count, *weights);
}

static val_t *operator_of(cv_t *cv, val_t *const *in, int64_t targets, forest_aggregate_t aggregate) {
    static const char *const words[] = {"sum", "average", "min", "max"};
    const char *word = words[aggregate];
    const dnnl_tp_op_attr_t attr[] = {
        {dnnl_tp_op_attr_targets, dnnl_tp_op_attr_s64, 1, &targets},
        {dnnl_tp_op_attr_aggregate, dnnl_tp_op_attr_string, (int)strlen(word), word}};
    return dtp_cv_op(cv, dnnl_tp_op_tree_ensemble, INPUTS, in, 2, attr);
}

/* How many leaves of the tree at hand have an entry for a target. */
typedef struct {
    int64_t tree, leaf, leaves;
    bool always;
} scored_t;

/* Whether each target has a tree with an entry for it in every leaf. */
static bool is_always_scored(cv_t *cv, const tables_t *t) {
    const forest_t *f = t->f;
    if (f->ntargets > f->nentries) return false;
    scored_t *of = dtp_cv_alloc(cv, sizeof *of * (size_t)f->ntargets);
    int64_t missing = f->ntargets;
    if (!of) return false;
    for (int64_t c = 0; c < f->ntargets; ++c) of[c] = (scored_t){-1, -1, 0, false};
    for (int64_t k = 0; k < f->ntrees; ++k) {
        const int64_t begin = t->roots[2 * k], end = k + 1 < f->ntrees ? t->roots[2 * k + 2] : t->n;
        int64_t leaves = 0;
        for (int64_t i = begin; i < end; ++i) {
            const forest_node_t *x = t->leaf[i] < 0 ? NULL : &f->nodes[t->leaf[i]];
            leaves += x != NULL;
            for (int64_t e = 0; x && e < x->count; ++e) {
                scored_t *c = &of[f->targets[x->first + e]];
                if (c->tree != k) c->leaves = 0;
                c->leaves += c->tree != k || c->leaf != i;
                c->tree = k;
                c->leaf = i;
            }
        }
        for (int64_t i = begin; i < end; ++i) {
            const forest_node_t *x = t->leaf[i] < 0 ? NULL : &f->nodes[t->leaf[i]];
            for (int64_t e = 0; x && e < x->count; ++e) {
                scored_t *c = &of[f->targets[x->first + e]];
                missing -= !c->always && c->leaves == leaves;
                c->always |= c->leaves == leaves;
            }
        }
    }
    return !missing;
}

val_t *dtp_forest_scores(cv_t *cv, val_t *x, const forest_t *f, forest_aggregate_t aggregate,
                         val_t **scored) {
    tables_t t;
    double *weights;
    val_t *in[INPUTS] = {x};
    *scored = NULL;
    if (cv->status) return NULL;
    check(cv, x, f);
    const dnnl_tp_data_type_t type = x->info.data_type;
    if (cv->status || !make_tables(cv, f, type == dnnl_tp_f32, &t)) return NULL;
    const int64_t nodes[] = {t.n, 2}, roots[] = {f->ntrees, 2};
    in[NODES] = dtp_cv_constant(cv, dnnl_tp_s32, 2, nodes, t.nodes);
    in[ROOTS] = dtp_cv_constant(cv, dnnl_tp_s32, 2, roots, t.roots);
    in[SPLITS] = reals(cv, type, t.n, t.splits);
    add_entries(cv, &t, type, in, &weights);
    val_t *scores = operator_of(cv, in, f->ntargets, aggregate);
    if (is_always_scored(cv, &t) || cv->status) return scores;
    const int64_t entries = in[WEIGHTS]->info.dims[0];
    in[WEIGHTS] = dtp_cv_fill(cv, type, 1, &entries, 1);
    *scored = operator_of(cv, in, f->ntargets, FOREST_MAX);
    return scores;
}
