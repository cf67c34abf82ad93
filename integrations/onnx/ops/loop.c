/* Loop and Scan: unrolled where the number of iterations is known and their nodes are few, else a While of the graph. */
#include "onnx/ops/ops.h"
#include "onnx/ops/repeat.h"
#include "onnx/part.h"
#include "onnx/wanted.h"

enum { MAX_OUTPUTS = 64, FEW_NODES = 4096 };

static bool is(const char *a, const char *b) { return a && b && !strcmp(a, b); }

/* Nodes that one iteration has at least. */
static int64_t nodes_of(const graph_proto_t *g) {
    int64_t n = (int64_t)g->n_node + 1;
    for (size_t i = 0; i < g->n_node; ++i)
        for (size_t k = 0; k < g->node[i]->n_attribute; ++k)
            if (g->node[i]->attribute[k]->g) n += nodes_of(g->node[i]->attribute[k]->g);
    return n;
}

/* More nodes than this are a While. What needs known elements has to be unrolled. */
static int64_t unrolled_at_most(cv_t *cv, const graph_proto_t *body) {
    const bool needs = dtp_cv_needs_inputs(cv, body);
    return needs || cv->im->nodes_left < FEW_NODES ? cv->im->nodes_left : FEW_NODES;
}

/* ---- Loop -------------------------------------------------------------------------------------------------------- */

enum { COUNT, CONDITION, VARIABLES }; /* inputs of the node */
enum { INDEX, GOES_ON, FIXED };       /* inputs of the body before the variables */

typedef struct {
    graph_proto_t *body;
    int nvars, nscans;
    int64_t most;     /* iterations; INT64_MAX: no limit, or see count */
    val_t *count;     /* the limit that a run computes; NULL: none */
    val_t *condition; /* before the first iteration, computed by a run; NULL: known */
    bool goes_on;     /* the known one */
    bool is_steady;   /* it stays true */
    int64_t limit;    /* nodes that are unrolled */
} loop_t;

/* Is a condition known? *value: what it is. */
static bool known_condition(const val_t *x, bool *value) {
    if (!x->data || dtp_val_elems(x) != 1) return false;
    *value = dtp_fold_number(x, 0) != 0;
    return true;
}

static const node_proto_t *maker(const graph_proto_t *g, const char *name) {
    for (size_t i = 0; i < g->n_node; ++i)
        for (size_t k = 0; k < g->node[i]->n_output; ++k)
            if (is(g->node[i]->output[k], name)) return g->node[i];
    return NULL;
}

/* The name that an output of a body is but another name of. */
static const char *origin(const graph_proto_t *g, const char *name) {
    for (size_t i = 0; i <= g->n_node; ++i) { /* nodes may form a cycle here */
        const node_proto_t *n = maker(g, name);
        if (!n || !is(n->op_type, "Identity") || n->n_input != 1) break;
        name = n->input[0];
    }
    return name;
}

/* Does the body say that its condition stays true? */
static bool stays_true(cv_t *cv, const graph_proto_t *g) {
    const char *name = origin(g, g->output[0]->name);
    const tensor_proto_t *t = NULL;
    bool value = false;
    if (is(name, g->input[GOES_ON]->name)) return true;
    const node_proto_t *n = maker(g, name);
    if (n && is(n->op_type, "Constant") && n->n_attribute == 1) t = n->attribute[0]->t;
    for (size_t i = 0; i < g->n_initializer && !n; ++i)
        if (is(g->initializer[i]->name, name)) t = g->initializer[i];
    if (t) {
        const dtp_onnx_tensor_t *x = dtp_onnx_tensor(cv->im->model, t);
        const val_t v = {.info = x->info, .data = x->data};
        return !x->status && known_condition(&v, &value) && value;
    }
    const val_t *outer = n || !name ? NULL : dtp_onnx_find(cv->scope, name);
    return outer && known_condition(outer, &value) && value;
}

static void read_loop(cv_t *cv, loop_t *l) {
    graph_proto_t *g = dtp_cv_graph(cv, "body");
    int64_t n;
    *l = (loop_t){.body = g,
                  .nvars = cv->nin > VARIABLES ? cv->nin - VARIABLES : 0,
                  .most = INT64_MAX,
                  .goes_on = true};
    if (!cv->status && (g->n_input != (size_t)l->nvars + FIXED || g->n_output < (size_t)l->nvars + 1 ||
                        g->n_output > MAX_OUTPUTS || (size_t)cv->nout > g->n_output - 1))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "its body has %zu inputs and %zu outputs", g->n_input,
                    g->n_output);
    for (int i = 0; i < l->nvars; ++i)
        if (!cv->in[VARIABLES + i]) dtp_cv_fail(cv, dnnl_tp_unimplemented, "a variable of it is absent");
    if (cv->status) return;
    l->nscans = (int)g->n_output - 1 - l->nvars;
    if (dtp_cv_given(cv, COUNT)) {
        if (cv->in[COUNT]->data) {
            const int64_t *count = dtp_cv_ints(cv, COUNT, &n);
            if (count && n == 1) l->most = *count < 0 ? 0 : *count;
        } else {
            l->count = dtp_cv_reshape(cv, dtp_cv_typed(cv, cv->in[COUNT], dnnl_tp_s64), 0, NULL);
        }
    }
    if (dtp_cv_given(cv, CONDITION) && !known_condition(cv->in[CONDITION], &l->goes_on))
        l->condition = dtp_cv_reshape(cv, cv->in[CONDITION], 0, NULL);
    l->is_steady = !cv->status && !l->condition && stays_true(cv, g);
    l->limit = unrolled_at_most(cv, g);
}

/* Converts the iterations one behind the other; false: they do not end within the limit, or what they depend on is not
 * known. Then nothing reads what was converted, and the compiler drops it. */
static bool unroll(cv_t *cv, const loop_t *l) {
    static const uint8_t yes = 1;
    val_t *in[MAX_OUTPUTS + 1], *out[MAX_OUTPUTS] = {NULL}, **scans[MAX_OUTPUTS] = {NULL};
    const int64_t before = cv->im->nodes_left;
    int64_t n = 0, room = 0;
    bool goes_on = l->goes_on;
    for (int i = 0; i < l->nvars; ++i) in[FIXED + i] = cv->in[VARIABLES + i];
    for (; n < l->most && goes_on; ++n) {
        in[INDEX] = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n);
        in[GOES_ON] = dtp_cv_constant(cv, dnnl_tp_boolean, 0, NULL, &yes);
        dtp_cv_body(cv, l->body, l->nvars + FIXED, in, out);
        if (!cv->status && !known_condition(out[0], &goes_on)) return dtp_part_ends_behind(cv, l->body);
        for (int k = 0; k < l->nscans && !cv->status; ++k) {
            if (n >= room) { /* doubled, for each of them */
                val_t **more = dtp_cv_alloc(cv, sizeof *more * (size_t)(room ? 2 * room : 8));
                if (more && n) memcpy(more, scans[k], sizeof *more * (size_t)n);
                scans[k] = more;
            }
            if (!cv->status) scans[k][n] = out[1 + l->nvars + k];
        }
        if (n >= room) room = room ? 2 * room : 8;
        (void)dtp_cv_take_node(cv); /* a body without nodes ends, too */
        if (cv->status) return true;
        if (before - cv->im->nodes_left > l->limit) return false;
        for (int i = 0; i < l->nvars; ++i) in[FIXED + i] = out[1 + i];
    }
    for (int i = 0; i < l->nvars; ++i) dtp_cv_set(cv, i, in[FIXED + i]);
    for (int k = 0; k < l->nscans; ++k) {
        if (!dtp_cv_wanted(cv, l->nvars + k)) continue;
        if (n == 0) { /* the shape is what an iteration would make */
            if (k == 0 || !out[0]) {
                in[INDEX] = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &n);
                in[GOES_ON] = dtp_cv_constant(cv, dnnl_tp_boolean, 0, NULL, &yes);
                dtp_cv_body(cv, l->body, l->nvars + FIXED, in, out);
            }
            int64_t dims[DNNL_TP_MAX_NDIMS + 1] = {0};
            const val_t *x = cv->status ? NULL : out[1 + l->nvars + k];
            for (int d = 0; x && d < x->info.ndims; ++d) dims[1 + d] = dtp_cv_dim(cv, x, d);
            if (!cv->status)
                dtp_cv_set(cv, l->nvars + k, dtp_cv_fill(cv, x->info.data_type, x->info.ndims + 1, dims, 0));
        } else if (!cv->status) {
            dtp_cv_set(cv, l->nvars + k, dtp_cv_stack(cv, (int)n, scans[k], 0));
        }
    }
    return true;
}

/* index < count and the condition; NULL: always. */
static val_t *goes_on(cv_t *cv, const loop_t *l, val_t *index, val_t *condition) {
    val_t *count = l->count               ? l->count
                   : l->most == INT64_MAX ? NULL
                                          : dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &l->most);
    if (!count) return condition;
    val_t *within = dtp_cv_binary(cv, dnnl_tp_op_less, index, count);
    return condition ? dtp_cv_binary(cv, dnnl_tp_op_logical_and, within, condition) : within;
}

static void as_while(cv_t *cv, const loop_t *l) {
    static const uint8_t yes = 1;
    import_t *im = cv->im;
    graph_proto_t *g = l->body;
    dtp_repeat_t r;
    val_t *in[MAX_OUTPUTS + 1], *out[MAX_OUTPUTS] = {NULL}, *results[DTP_REPEAT_MOST];
    bool passes[MAX_OUTPUTS] = {false}, scans = false;
    for (int k = 0; k < l->nscans; ++k) scans |= dtp_cv_wanted(cv, l->nvars + k);
    if (scans && (!l->is_steady || l->count || l->most == INT64_MAX))
        dtp_cv_fail(cv, dnnl_tp_unimplemented,
                    "only a run knows its number of iterations, and the size of an output is that number");
    if (!cv->status && l->is_steady && !l->count && l->most == INT64_MAX)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "it never ends");
    if (cv->status) return;
    val_t *first = l->condition ? l->condition : dtp_cv_constant(cv, dnnl_tp_boolean, 0, NULL, &yes);
    dtp_repeat_begin(&r, cv);
    in[INDEX] = r.index;
    in[GOES_ON] = l->is_steady ? first : dtp_repeat_variable(&r, first);
    for (int i = 0; i < l->nvars; ++i) {
        /* What passes through unchanged stays known, if it is. */
        passes[i] = is(origin(g, g->output[1 + i]->name), g->input[FIXED + i]->name);
        val_t *x = cv->in[VARIABLES + i];
        in[FIXED + i] = passes[i] ? x : dtp_repeat_variable(&r, x);
    }
    im->graph = r.cond;
    val_t *condition = cv->status ? NULL : goes_on(cv, l, r.index, l->is_steady ? NULL : in[GOES_ON]);
    im->graph = r.body;
    dtp_cv_body(cv, g, l->nvars + FIXED, in, out);
    if (!cv->status && out[0]->info.data_type != dnnl_tp_boolean)
        dtp_cv_fail(cv, dnnl_tp_invalid_data_type, "the condition of its body is no boolean");
    if (!l->is_steady && !cv->status)
        dtp_repeat_next(&r, in[GOES_ON], dtp_cv_reshape(cv, out[0], 0, NULL), g->output[0]->name);
    for (int i = 0; i < l->nvars; ++i)
        if (!passes[i]) dtp_repeat_next(&r, in[FIXED + i], out[1 + i], g->output[1 + i]->name);
    for (int k = 0; k < l->nscans; ++k)
        if (dtp_cv_wanted(cv, l->nvars + k)) dtp_repeat_collect(&r, l->most, r.index, out[1 + l->nvars + k]);
    dtp_repeat_end(&r, condition, results);
    if (cv->status) return;
    int at = l->is_steady ? 1 : 2; /* behind the index and the condition */
    for (int i = 0; i < l->nvars; ++i) dtp_cv_set(cv, i, passes[i] ? cv->in[VARIABLES + i] : results[at++]);
    for (int k = 0; k < l->nscans; ++k)
        if (dtp_cv_wanted(cv, l->nvars + k)) dtp_cv_set(cv, l->nvars + k, results[at++]);
}

void dtp_onnx_loop(cv_t *cv) {
    loop_t l;
    read_loop(cv, &l);
    if (cv->status) return;
    const bool ends = !l.is_steady || l.most <= l.limit / nodes_of(l.body);
    if (!l.count && !l.condition && (!l.goes_on || ends) && unroll(cv, &l)) return;
    as_while(cv, &l);
}

/* ---- Scan -------------------------------------------------------------------------------------------------------- */

/* Entry i of a list of axes or directions, 0 where there is none; false: the list has another length. */
static bool entries(cv_t *cv, const char *name, int n, const int64_t **list) {
    static const int64_t zeros[MAX_OUTPUTS];
    int64_t count;
    *list = dtp_cv_attr_ints(cv, name, &count);
    if (count < 0) *list = zeros;
    else if (count != n && !cv->status)
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute '%s' has %lld entries, needed are %d", name,
                    (long long)count, n);
    return !cv->status;
}

/* States pass from step to step; of scanned inputs each step sees one slice, and the slices that it makes are joined. */
typedef struct {
    graph_proto_t *body;
    int nscans, nstates, nouts;
    const int64_t *in_back, *out_axes, *out_back;
    int axis[MAX_OUTPUTS]; /* of scanned inputs */
    int64_t steps;
} steps_t;

static void read_steps(cv_t *cv, steps_t *s) {
    graph_proto_t *g = dtp_cv_graph(cv, "body");
    const int64_t scanned_in = dtp_cv_int(cv, "num_scan_inputs", 0), *in_axes;
    if (!cv->status && (scanned_in < 1 || scanned_in > cv->nin || cv->nin > MAX_OUTPUTS ||
                        g->n_output > MAX_OUTPUTS || g->n_input != (size_t)cv->nin ||
                        g->n_output < (size_t)(cv->nin - scanned_in) || (size_t)cv->nout > g->n_output))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph, "its body has %zu inputs and %zu outputs for %d inputs",
                    g->n_input, g->n_output, cv->nin);
    if (cv->status) return;
    *s = (steps_t){.body = g, .nscans = (int)scanned_in, .nstates = cv->nin - (int)scanned_in, .steps = -1};
    s->nouts = (int)g->n_output - s->nstates;
    if (!entries(cv, "scan_input_axes", s->nscans, &in_axes) ||
        !entries(cv, "scan_input_directions", s->nscans, &s->in_back) ||
        !entries(cv, "scan_output_axes", s->nouts, &s->out_axes) ||
        !entries(cv, "scan_output_directions", s->nouts, &s->out_back))
        return;
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (!cv->in[i]) dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its input %d is absent", i);
        if (cv->status || i < s->nstates) continue;
        const val_t *x = cv->in[i];
        const int axis = s->axis[i - s->nstates] = dtp_cv_axis(cv, in_axes[i - s->nstates], x->info.ndims);
        const int64_t size = cv->status ? 0 : dtp_cv_dim(cv, x, axis);
        if (!cv->status && s->steps >= 0 && size != s->steps)
            dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its scanned inputs have %lld and %lld steps",
                        (long long)s->steps, (long long)size);
        s->steps = size;
    }
}

/* The slice of scanned input i that a step sees; its number is t, or what `at` holds. */
static val_t *slice(cv_t *cv, const steps_t *s, int i, int64_t t, val_t *at) {
    val_t *x = cv->in[s->nstates + i];
    int64_t dims[DNNL_TP_MAX_NDIMS];
    if (cv->status) return NULL;
    for (int d = 0, k = 0; d < x->info.ndims; ++d)
        if (d != s->axis[i]) dims[k++] = x->info.dims[d];
    if (at) return dtp_cv_take(cv, x, s->axis[i], at);
    x = dtp_cv_part(cv, x, s->axis[i], t, 1);
    return cv->status ? NULL : dtp_cv_reshape(cv, x, x->info.ndims - 1, dims);
}

/* No step: states stay, and results have the shapes that a step of zeros makes. */
static void no_steps(cv_t *cv, const steps_t *s) {
    val_t *in[MAX_OUTPUTS], *out[MAX_OUTPUTS] = {NULL};
    for (int i = 0; i < s->nstates; ++i) dtp_cv_set(cv, i, in[i] = cv->in[i]);
    for (int i = 0; i < s->nscans; ++i) {
        const val_t *x = cv->in[s->nstates + i];
        int64_t dims[DNNL_TP_MAX_NDIMS];
        for (int d = 0, k = 0; d < x->info.ndims; ++d)
            if (d != s->axis[i]) dims[k++] = dtp_cv_dim(cv, x, d);
        in[s->nstates + i] = dtp_cv_fill(cv, x->info.data_type, x->info.ndims - 1, dims, 0);
    }
    dtp_cv_body(cv, s->body, cv->nin, in, out);
    for (int k = 0; k < s->nouts && !cv->status; ++k) {
        if (!dtp_cv_wanted(cv, s->nstates + k)) continue;
        const val_t *x = out[s->nstates + k];
        const int nd = x->info.ndims + 1, axis = dtp_cv_axis(cv, s->out_axes[k], nd);
        int64_t dims[DNNL_TP_MAX_NDIMS + 1] = {0};
        for (int d = 0, from = 0; d < nd; ++d)
            if (d != axis) dims[d] = dtp_cv_dim(cv, x, from++);
        dtp_cv_set(cv, s->nstates + k, dtp_cv_fill(cv, x->info.data_type, nd, dims, 0));
    }
}

static void unroll_steps(cv_t *cv, const steps_t *s) {
    val_t *state[MAX_OUTPUTS], *in[MAX_OUTPUTS], *out[MAX_OUTPUTS] = {NULL}, **parts[MAX_OUTPUTS] = {NULL};
    for (int i = 0; i < s->nstates; ++i) state[i] = cv->in[i];
    for (int k = 0; k < s->nouts; ++k) parts[k] = dtp_cv_alloc(cv, sizeof **parts * (size_t)s->steps);
    for (int64_t t = 0; t < s->steps && !cv->status; ++t) {
        for (int i = 0; i < s->nstates; ++i) in[i] = state[i];
        for (int i = 0; i < s->nscans; ++i)
            in[s->nstates + i] = slice(cv, s, i, s->in_back[i] ? s->steps - 1 - t : t, NULL);
        dtp_cv_body(cv, s->body, cv->nin, in, out);
        for (int i = 0; i < s->nstates; ++i) state[i] = out[i];
        for (int k = 0; k < s->nouts && !cv->status; ++k)
            parts[k][s->out_back[k] ? s->steps - 1 - t : t] = out[s->nstates + k];
        (void)dtp_cv_take_node(cv); /* a body without nodes ends, too */
    }
    for (int i = 0; i < s->nstates && !cv->status; ++i) dtp_cv_set(cv, i, state[i]);
    for (int k = 0; k < s->nouts && s->nstates + k < cv->nout && !cv->status; ++k)
        if (dtp_cv_wanted(cv, s->nstates + k))
            dtp_cv_set(cv, s->nstates + k,
                       dtp_cv_stack(cv, (int)s->steps, parts[k],
                                    dtp_cv_axis(cv, s->out_axes[k], parts[k][0]->info.ndims + 1)));
}

/* Axis 0 becomes axis `to`. */
static val_t *moved(cv_t *cv, val_t *x, int to) {
    int64_t perm[DNNL_TP_MAX_NDIMS];
    for (int d = 0, k = 1; d < x->info.ndims; ++d) perm[d] = d == to ? 0 : k++;
    return dtp_cv_transpose(cv, x, perm);
}

static void steps_as_while(cv_t *cv, const steps_t *s) {
    dtp_repeat_t r;
    val_t *in[MAX_OUTPUTS], *out[MAX_OUTPUTS] = {NULL}, *results[DTP_REPEAT_MOST];
    dtp_repeat_begin(&r, cv);
    for (int i = 0; i < s->nstates; ++i) in[i] = dtp_repeat_variable(&r, cv->in[i]);
    cv->im->graph = r.cond;
    val_t *condition = NULL, *back = NULL;
    if (!cv->status)
        condition =
            dtp_cv_binary(cv, dnnl_tp_op_less, r.index, dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &s->steps));
    cv->im->graph = r.body;
    if (!cv->status)
        back = dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_scalar(cv, dnnl_tp_s64, (double)(s->steps - 1)),
                             r.index);
    for (int i = 0; i < s->nscans; ++i)
        in[s->nstates + i] = slice(cv, s, i, 0, s->in_back[i] ? back : r.index);
    dtp_cv_body(cv, s->body, cv->nin, in, out);
    for (int i = 0; i < s->nstates; ++i) dtp_repeat_next(&r, in[i], out[i], s->body->output[i]->name);
    for (int k = 0; k < s->nouts; ++k)
        if (dtp_cv_wanted(cv, s->nstates + k))
            dtp_repeat_collect(&r, s->steps, s->out_back[k] ? back : r.index, out[s->nstates + k]);
    dtp_repeat_end(&r, condition, results);
    int at = 1; /* behind the index */
    for (int i = 0; i < s->nstates && !cv->status; ++i) dtp_cv_set(cv, i, results[at++]);
    for (int k = 0; k < s->nouts && !cv->status; ++k)
        if (dtp_cv_wanted(cv, s->nstates + k)) {
            val_t *all = results[at++];
            dtp_cv_set(cv, s->nstates + k, moved(cv, all, dtp_cv_axis(cv, s->out_axes[k], all->info.ndims)));
        }
}

void dtp_onnx_scan_steps(cv_t *cv) {
    steps_t s;
    read_steps(cv, &s);
    if (cv->status) return;
    if (s.steps == 0) no_steps(cv, &s);
    else if (s.steps <= unrolled_at_most(cv, s.body) / nodes_of(s.body)) unroll_steps(cv, &s);
    else steps_as_while(cv, &s);
}
