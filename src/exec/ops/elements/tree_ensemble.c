/* Decision trees: sums of the leaves that rows reach. What the tables mean stands with the problem. */
#include "common/problems/graph/tree_ensemble.h"
#include "exec/ops/ops.h"

#include <math.h>

DTP_ATTR(targets, 0x1000e)   /**< number of results of a row (s64) */
DTP_ATTR(aggregate, 0x1000f) /**< "sum" (default), "average", "min", "max" */

typedef struct {
    dtp_op_attrs_t base;
    int64_t targets;
    dtp_word_t aggregate;
} attrs_t;
static const char *const aggregates[] = {"sum", "average", "min", "max", NULL};
static const dtp_op_field_t tree_ensemble_fields[] = {DTP_OPTIONAL(attrs_t, targets, 1),
                                                      DTP_WORD(attrs_t, aggregate, aggregates)};

enum { PAIR = 2 };
static const char *const names[] = {"x", "nodes", "roots", "leaves", "targets", "splits", "weights"};

static dnnl_tp_status_t tree_ensemble_infer(const dtp_infer_t *c) {
    const attrs_t *a = c->attrs;
    const info_t *x = c->in[DTP_TREES_SRC];
    char text[DTP_SHAPE_TEXT];
    TYPE(x->data_type == dnnl_tp_f32 || x->data_type == dnnl_tp_f64, "x has type %s, f32 or f64 is needed",
         dnnl_tp_dt2str(x->data_type));
    SHAPE(x->ndims == PAIR, "x is %s, two dimensions are needed", dtp_info_text(x, text));
    ATTR(a->targets > 0 && a->targets < INT32_MAX, "targets is %lld", (long long)a->targets);
    for (int i = DTP_TREES_NODES; i <= DTP_TREES_WEIGHTS; ++i) {
        const info_t *t = c->in[i];
        const dnnl_tp_data_type_t type = i < DTP_TREES_SPLITS ? dnnl_tp_s32 : x->data_type;
        const bool has_pairs = i == DTP_TREES_NODES || i == DTP_TREES_ROOTS;
        TYPE(t->data_type == type, "%s has type %s, %s is needed", names[i], dnnl_tp_dt2str(t->data_type),
             dnnl_tp_dt2str(type));
        SHAPE(t->ndims == 1 + has_pairs && (!has_pairs || dtp_dims_fit(t->dims[1], PAIR)),
              "%s is %s, needed are %s", names[i], dtp_info_text(t, text),
              has_pairs ? "two columns" : "one dimension");
    }
    const int64_t n = c->in[DTP_TREES_NODES]->dims[0], leaves = c->in[DTP_TREES_LEAVES]->dims[0];
    SHAPE(n < INT32_MAX && dtp_dims_fit(n, c->in[DTP_TREES_SPLITS]->dims[0]),
          "there are %lld nodes and %lld splits", (long long)n, (long long)c->in[DTP_TREES_SPLITS]->dims[0]);
    SHAPE(n == DNNL_TP_RUNTIME_DIM_VAL || leaves == n + 1 || leaves == DNNL_TP_RUNTIME_DIM_VAL,
          "leaves has %lld elements, one more than the %lld nodes is needed", (long long)leaves,
          (long long)n);
    SHAPE(dtp_dims_fit(c->in[DTP_TREES_TARGETS]->dims[0], c->in[DTP_TREES_WEIGHTS]->dims[0]),
          "there are %lld targets and %lld weights", (long long)c->in[DTP_TREES_TARGETS]->dims[0],
          (long long)c->in[DTP_TREES_WEIGHTS]->dims[0]);
    *c->out = *x;
    c->out->dims[1] = a->targets;
    return dnnl_tp_success;
}

/* ---- Checks of constants --------------------------------------------------------------------------------- */

typedef struct {
    int64_t n;
    const int32_t *nodes, *roots, *leaves;
    dnnl_tp_data_type_t type;
    const void *splits;
} tables_t;

static bool is_jump(const tables_t *t, int64_t i) {
    return t->type == dnnl_tp_f32 ? isnan(((const float *)t->splits)[i])
                                  : isnan(((const double *)t->splits)[i]);
}

static bool is_leaf(const tables_t *t, int64_t i) {
    return is_jump(t, i) && t->nodes[PAIR * i] >= 0 && t->nodes[PAIR * i + 1] == i - 1;
}

/* Whether all rows are at leaves after their steps; steps: room for a number for each node. */
static bool is_settled(const tables_t *t, int64_t ntrees, int32_t *steps) {
    for (int64_t i = t->n - 1; i >= 0; --i) {
        const int64_t child = t->nodes[PAIR * i + 1];
        const bool jumps = is_jump(t, i) && t->nodes[PAIR * i] >= 0;
        steps[i] = 0;
        if (is_leaf(t, i)) continue;
        if (child + jumps <= i) return false;
        const int32_t a = jumps ? 0 : steps[child], b = steps[child + 1];
        steps[i] = 1 + (a > b ? a : b);
    }
    for (int64_t k = 0; k < ntrees; ++k)
        if (steps[t->roots[PAIR * k]] > t->roots[PAIR * k + 1]) return false;
    return true;
}

static const void *data_of(const dtp_lower_t *l, const dtp_ir_node_t *n, int i) {
    return dtp_ir_is_const(l->ir, n->in[i]) ? dtp_value(l, n->in[i])->data : NULL;
}

/* Constants that are right in every case, and what is known of them; others are looked at when they are run. */
static dnnl_tp_status_t check_tables(const dtp_lower_t *l, const dtp_ir_node_t *n,
                                     dtp_tree_ensemble_desc_t *d) {
    const tables_t t = {d->nodes.dims[0],
                        data_of(l, n, DTP_TREES_NODES),
                        data_of(l, n, DTP_TREES_ROOTS),
                        data_of(l, n, DTP_TREES_LEAVES),
                        d->src.data_type,
                        data_of(l, n, DTP_TREES_SPLITS)};
    const int32_t *targets = data_of(l, n, DTP_TREES_TARGETS);
    dtp_trees_bad_t bad;
    if (!t.nodes || !t.roots || !t.leaves || !t.splits || !targets || !t.n) return dnnl_tp_success;
    if (!dtp_trees_check(d, t.nodes, t.roots, t.leaves, targets, &bad)) return dnnl_tp_success;
    int32_t *steps = dtp_arena_alloc(l->ir->arena, sizeof *steps * (size_t)t.n);
    if (!steps) return dnnl_tp_out_of_memory;
    d->is_checked = is_settled(&t, d->roots.dims[0], steps);
    d->is_single = d->is_checked && d->dst.dims[1] == 1;
    for (int64_t i = 0; d->is_checked && i < t.n; ++i) {
        d->tracks_nan |= t.nodes[PAIR * i] < 0;
        d->is_single &= !is_leaf(&t, i) || t.leaves[i + 1] - t.leaves[i] == 1;
    }
    return dnnl_tp_success;
}

/* ---- Lowering -------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t tree_ensemble_lower(dtp_lower_t *l, dtp_ir_node_t *n) {
    const attrs_t *a = n->attrs;
    dtp_view_t p[DTP_TREES_DST];
    dtp_step_t *s;
    for (int i = 0; i < DTP_TREES_DST; ++i) DTP_TRY(dtp_view_dense(l, n->in[i], &p[i]));
    DTP_TRY(
        dtp_new_step(l, n, sizeof(dtp_tree_ensemble_desc_t), DTP_KIND_TREE_ENSEMBLE, DTP_TREES_NARGS, &s));
    dtp_tree_ensemble_desc_t *d = (dtp_tree_ensemble_desc_t *)s->op;
    dtp_md_t *const md[] = {&d->src, &d->nodes, &d->roots, &d->leaves, &d->targets, &d->splits, &d->weights};
    for (int i = 0; i < DTP_TREES_DST; ++i) {
        const info_t *t = dtp_info(l, n->in[i]);
        DTP_TRY(dtp_md_init_strides(md[i], t->ndims, t->dims, t->data_type, NULL));
        s->arg[i] = dtp_view_arg(&p[i]);
    }
    const info_t *y = dtp_info(l, n->out[0]);
    DTP_TRY(dtp_md_init_strides(&d->dst, y->ndims, y->dims, y->data_type, NULL));
    d->aggregate = a->aggregate.at;
    DTP_TRY(check_tables(l, n, d));
    DTP_TRY(dtp_view_new(l, n->out[0]));
    s->arg[DTP_TREES_DST] = dtp_written_arg(l, n->out[0]);
    return dnnl_tp_success;
}

static dtp_cut_t tree_ensemble_cut(const dtp_cut_arg_t *a) {
    return a->arg == DTP_TREES_SRC || a->arg == DTP_TREES_DST ? DTP_CUT_SLICED : DTP_CUT_WHOLE;
}

const dtp_op_class_t dtp_class_tree_ensemble =
    DTP_OP_CLASS(attrs_t, DTP_FIELDS(tree_ensemble_fields), 0, 0, DTP_NO_BF16, dtp_one_result,
                 tree_ensemble_infer, DTP_NO_VALUES, tree_ensemble_lower, tree_ensemble_cut, DTP_NO_POST);
