/* Building of control flow: regions, If, While, functions and calls, orderings. Everything that can be known
 * without shapes is refused here, with the operator's name; compilation looks at shapes again (ir.c). */
#include "exec/graph/graph.h"

enum { MAX_VALUES = 1 << 20, MAX_WINDOW = 64, MAX_NESTING = 64 };

#define SHAPE(cond, ...)                                                                      \
    do {                                                                                      \
        if (!(cond)) {                                                                        \
            (void)dtp_fail(dnnl_tp_invalid_shape, DTP_GRAPH_SHAPE, __VA_ARGS__);              \
            return dnnl_tp_invalid_shape; /* a constant, so that compilers see the failure */ \
        }                                                                                     \
    } while (0)

/* The same type, and dimensions that may be the same once all are known. */
static bool agree(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    if (a->ndims != b->ndims || a->data_type != b->data_type) return false;
    for (int d = 0; d < a->ndims; ++d)
        if (a->dims[d] != b->dims[d] && a->dims[d] != DNNL_TP_RUNTIME_DIM_VAL &&
            b->dims[d] != DNNL_TP_RUNTIME_DIM_VAL)
            return false;
    return true;
}

static dnnl_tp_status_t check_agree(dtp_op_id_t id, const char *what, int i, const dnnl_tp_tensor_info_t *a,
                                    const dnnl_tp_tensor_info_t *b) {
    return agree(a, b) ? dnnl_tp_success : dtp_info_differ(id, what, i, a, b);
}

static dnnl_tp_status_t check_predicate(const dtp_graph_t *g, dtp_op_id_t id, int32_t v) {
    const dnnl_tp_tensor_info_t *t = g->values[v].info;
    char text[DTP_SHAPE_TEXT];
    bool type = t->data_type == dnnl_tp_boolean || t->data_type == dnnl_tp_u8 ||
                t->data_type == dnnl_tp_s32 || t->data_type == dnnl_tp_s64 || t->data_type == dnnl_tp_f32;
    if (!type)
        return dtp_fail(dnnl_tp_invalid_data_type, DTP_GRAPH_DATA_TYPE,
                        "operator '%s' (%s): the predicate has type %s, not boolean, u8, s32, s64 or f32",
                        id.name, id.kind, dnnl_tp_dt2str(t->data_type));
    bool one = true;
    for (int d = 0; d < t->ndims; ++d) one &= t->dims[d] == 1;
    SHAPE(one, "operator '%s' (%s): the predicate %s has not exactly one element", id.name, id.kind,
          dtp_info_text(t, text));
    return dnnl_tp_success;
}

/* ---- Regions ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_graph_create_region(dnnl_tp_graph_t *region, dnnl_tp_graph_t parent) {
    DTP_OUT(region, NULL);
    DTP_TRY(dtp_graph_check_open(parent));
    int depth = 0;
    for (int r = parent->region; r >= 0; r = parent->root->regions[r].parent) ++depth;
    DTP_REQUIRE(depth <= MAX_NESTING, GRAPH_REGION, "regions are nested more than %d deep", MAX_NESTING);
    dtp_gregion_t r = {.kind = DTP_REGION_UNUSED, .parent = parent->region, .name = ""};
    DTP_RETURN(dtp_graph_push_region(parent->root, &r, region));
}

/* The number of a region that an operator of `parent` may take. */
static dnnl_tp_status_t check_region(const struct dnnl_tp_graph *owner, int parent, dtp_op_id_t id,
                                     const char *what, const struct dnnl_tp_graph *region) {
    DTP_REQUIRE_HANDLE(region, DTP_OBJ_GRAPH);
    const dtp_graph_t *g = owner->root;
    DTP_REQUIRE(region->root == g && region->region != 0 && g->regions[region->region].parent == parent,
                GRAPH_REGION, "operator '%s' (%s): %s is not a region of the graph around it", id.name,
                id.kind, what);
    DTP_REQUIRE(g->regions[region->region].kind == DTP_REGION_UNUSED, GRAPH_REGION,
                "operator '%s' (%s): %s is a function or belongs to another operator", id.name, id.kind,
                what);
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_count(dtp_op_id_t id, const char *what, int n) {
    DTP_REQUIRE(n >= 0 && n <= MAX_VALUES, GRAPH_BAD_ARITY, "operator '%s' (%s) has %d %ss", id.name, id.kind,
                n, what);
    return dnnl_tp_success;
}

static void close_region(dtp_graph_t *g, int region, dtp_region_kind_t kind) {
    if (region < 0) return;
    g->regions[region].kind = kind;
    g->regions[region].closed = true;
}

/* Infos of n results in the graph's arena; NULL when out of memory. */
static dnnl_tp_tensor_info_t *alloc_infos(dtp_graph_t *g, int n) {
    return dtp_arena_alloc(&g->arena, sizeof(dnnl_tp_tensor_info_t) * (size_t)n);
}

static dnnl_tp_status_t add_if(dnnl_tp_graph_t graph, const char *name, dnnl_tp_value_t pred,
                               dnnl_tp_graph_t then_region, dnnl_tp_graph_t else_region, int nout,
                               const dnnl_tp_value_t *then_out, const dnnl_tp_value_t *else_out,
                               dnnl_tp_value_t *out) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    dtp_op_id_t id = {name ? name : "", "if"};
    DTP_TRY(check_count(id, "output", nout));
    DTP_REQUIRE(out || nout == 0, NULL_ARG, "out is NULL");
    DTP_TRY(dtp_graph_check_values(g, graph->region, id, "predicate", 1, &pred, false));
    DTP_TRY(check_predicate(g, id, pred));
    const struct dnnl_tp_graph *branch[2] = {then_region, else_region};
    const dnnl_tp_value_t *yield[2] = {then_out, else_out};
    static const char *const names[2][2] = {{"then_region", "then_out"}, {"else_region", "else_out"}};
    int sub[2];
    DTP_REQUIRE(!then_region || then_region != else_region, GRAPH_REGION,
                "operator '%s' (if): both branches are the same region", id.name);
    for (int b = 0; b < 2; ++b) {
        sub[b] = branch[b] ? branch[b]->region : -1;
        if (branch[b]) {
            DTP_TRY(check_region(graph, graph->region, id, names[b][0], branch[b]));
            DTP_REQUIRE(g->regions[sub[b]].ninputs == 0, GRAPH_REGION,
                        "operator '%s' (if): %s has inputs; branches read values around them", id.name,
                        names[b][0]);
        }
        DTP_TRY(dtp_graph_check_values(g, branch[b] ? sub[b] : graph->region, id, names[b][1], nout, yield[b],
                                       true));
    }
    dnnl_tp_tensor_info_t *info = alloc_infos(g, nout);
    int32_t *copy = dtp_arena_alloc(&g->arena, sizeof *copy * 2 * (size_t)nout);
    if (!info || !copy) return dnnl_tp_out_of_memory;
    const dtp_gvalue_t *p = &g->values[pred]; /* of a constant one only the branch that runs counts */
    for (int i = 0; i < nout; ++i) {
        DTP_REQUIRE(then_out[i] >= 0 || else_out[i] >= 0, GRAPH_BAD_VALUE,
                    "operator '%s' (if): neither branch makes output %d", id.name, i);
        const dnnl_tp_tensor_info_t *t = g->values[then_out[i] < 0 ? else_out[i] : then_out[i]].info;
        const dnnl_tp_tensor_info_t *e = g->values[else_out[i] < 0 ? then_out[i] : else_out[i]].info;
        if (p->data) t = e = dtp_is_true(p->data, (int)p->info->data_type) ? t : e;
        DTP_TRY(check_agree(id, "output", i, t, e));
        info[i] = *t;
        for (int d = 0; d < t->ndims; ++d)
            if (t->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) info[i].dims[d] = e->dims[d];
        copy[i] = then_out[i];
        copy[nout + i] = else_out[i];
    }
    dtp_gnode_t *n;
    DTP_TRY(dtp_graph_push_node(g, graph->region, DTP_NODE_IF, id.name, 1, &pred, nout, info, &n, out));
    n->yield = copy;
    for (int b = 0; b < 2; ++b) {
        n->sub[b] = sub[b];
        close_region(g, sub[b], DTP_REGION_BRANCH);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_while(dnnl_tp_graph_t graph, const char *name, dnnl_tp_graph_t cond,
                                  dnnl_tp_value_t cond_out, dnnl_tp_graph_t body, int nvars,
                                  const dnnl_tp_value_t *init, const dnnl_tp_value_t *body_in,
                                  const dnnl_tp_value_t *body_out, int window, dnnl_tp_value_t *out) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    dtp_op_id_t id = {name ? name : "", "while"};
    DTP_TRY(check_count(id, "variable", nvars));
    DTP_REQUIRE(nvars == 0 || (out && body_in), NULL_ARG, "out or body_in of operator '%s' (while) is NULL",
                id.name);
    DTP_REQUIRE(window >= 0 && window <= MAX_WINDOW, BAD_PARAM,
                "operator '%s' (while): window is %d, not 0..%d", id.name, window, MAX_WINDOW);
    DTP_TRY(check_region(graph, graph->region, id, "cond", cond));
    DTP_TRY(check_region(graph, cond->region, id, "body", body));
    const dtp_gregion_t *c = &g->regions[cond->region];
    DTP_REQUIRE(g->regions[body->region].ninputs == 0, GRAPH_REGION,
                "operator '%s' (while): inputs belong to cond, body reads them there", id.name);
    DTP_REQUIRE(c->ninputs == nvars, GRAPH_REGION,
                "operator '%s' (while): cond has %d inputs, there are %d variables", id.name, c->ninputs,
                nvars);
    DTP_TRY(dtp_graph_check_values(g, graph->region, id, "init", nvars, init, false));
    DTP_TRY(dtp_graph_check_values(g, cond->region, id, "body_in", nvars, body_in, false));
    DTP_TRY(dtp_graph_check_values(g, body->region, id, "body_out", nvars, body_out, false));
    DTP_TRY(dtp_graph_check_values(g, cond->region, id, "cond_out", 1, &cond_out, false));
    DTP_TRY(check_predicate(g, id, cond_out));
    dnnl_tp_tensor_info_t *info = alloc_infos(g, nvars);
    int32_t *yield = dtp_arena_alloc(&g->arena, sizeof *yield * (size_t)(nvars + 1));
    int32_t *from = dtp_arena_alloc(&g->arena, sizeof *from * (size_t)nvars);
    int32_t *vars = dtp_arena_alloc(&g->arena, sizeof *vars * (size_t)nvars);
    if (!info || !yield || !from || !vars) return dnnl_tp_out_of_memory;
    for (int i = 0; i < nvars; ++i) yield[1 + i] = -1;
    yield[0] = cond_out;
    for (int i = 0; i < nvars; ++i) {
        const dtp_gvalue_t *var = &g->values[body_in[i]];
        DTP_REQUIRE(var->region == cond->region && var->input >= 0, GRAPH_REGION,
                    "operator '%s' (while): body_in %d is not an input of cond", id.name, i);
        DTP_REQUIRE(yield[1 + var->input] < 0, GRAPH_REGION,
                    "operator '%s' (while): body_in %d stands there twice", id.name, i);
        DTP_TRY(check_agree(id, "initial value of variable", i, g->values[init[i]].info, var->info));
        DTP_TRY(check_agree(id, "next value of variable", i, g->values[body_out[i]].info, var->info));
        yield[1 + var->input] = body_out[i];
        info[i] = *var->info;
        for (int d = 0; d < var->info->ndims; ++d)
            if (var->info->dims[d] == DNNL_TP_RUNTIME_DIM_VAL)
                info[i].dims[d] = g->values[init[i]].info->dims[d];
    }
    /* From here on variables are counted as body_in says. */
    for (int i = 0; i < nvars; ++i) {
        yield[1 + i] = body_out[i];
        vars[i] = body_in[i];
        from[i] = init[i];
    }
    dtp_gnode_t *n;
    DTP_TRY(
        dtp_graph_push_node(g, graph->region, DTP_NODE_WHILE, id.name, nvars, from, nvars, info, &n, out));
    for (int i = 0; i < nvars; ++i) {
        g->values[vars[i]].input = i;
        g->regions[cond->region].inputs[i] = vars[i];
    }
    n->yield = yield;
    n->window = (uint8_t)window;
    n->sub[0] = cond->region;
    n->sub[1] = body->region;
    close_region(g, n->sub[0], DTP_REGION_COND);
    close_region(g, n->sub[1], DTP_REGION_BODY);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_if(dnnl_tp_graph_t graph, const char *name, dnnl_tp_value_t pred,
                                  dnnl_tp_graph_t then_region, dnnl_tp_graph_t else_region, int nout,
                                  const dnnl_tp_value_t *then_out, const dnnl_tp_value_t *else_out,
                                  dnnl_tp_value_t *out) {
    DTP_RETURN(dtp_graph_settle(
        add_if(graph, name, pred, then_region, else_region, nout, then_out, else_out, out), nout, out));
}

dnnl_tp_status_t dnnl_tp_graph_while(dnnl_tp_graph_t graph, const char *name, dnnl_tp_graph_t cond,
                                     dnnl_tp_value_t cond_out, dnnl_tp_graph_t body, int nvars,
                                     const dnnl_tp_value_t *init, const dnnl_tp_value_t *body_in,
                                     const dnnl_tp_value_t *body_out, int window, dnnl_tp_value_t *out) {
    DTP_RETURN(dtp_graph_settle(
        add_while(graph, name, cond, cond_out, body, nvars, init, body_in, body_out, window, out), nvars,
        out));
}

/* ---- Functions --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t create_function(dnnl_tp_graph_t *function, dnnl_tp_graph_t root, const char *name,
                                        int nin, const dnnl_tp_tensor_info_t *in, dnnl_tp_value_t *in_values,
                                        int nout, const dnnl_tp_tensor_info_t *out) {
    DTP_OUT(function, NULL);
    DTP_TRY(dtp_graph_check_open(root));
    DTP_REQUIRE(root->region == 0, GRAPH_REGION, "functions belong to the whole graph, not to a region");
    dtp_graph_t *g = root->root;
    if (!name) name = "";
    dtp_op_id_t id = {name, "function"};
    DTP_TRY(check_count(id, "input", nin));
    DTP_TRY(check_count(id, "output", nout));
    DTP_REQUIRE((nin == 0 || (in && in_values)) && (nout == 0 || out), NULL_ARG,
                "inputs or outputs of function '%s' are NULL", name);
    for (int i = 0; i < nin; ++i) DTP_TRY(dtp_info_check(&in[i], false, "an input of function", name));
    for (int i = 0; i < nout; ++i) DTP_TRY(dtp_info_check(&out[i], false, "an output of function", name));
    dtp_gregion_t r = {.kind = DTP_REGION_FUNCTION, .nout = nout, .ninputs = nin};
    dnnl_tp_tensor_info_t *infos = alloc_infos(g, nout), *in_infos = alloc_infos(g, nin);
    r.name = dtp_arena_text(&g->arena, name);
    r.inputs = dtp_arena_alloc(&g->arena, sizeof *r.inputs * (size_t)nin);
    r.out = dtp_arena_alloc(&g->arena, sizeof *r.out * (size_t)nout);
    if (!infos || !in_infos || !r.name || !r.inputs || !r.out) return dnnl_tp_out_of_memory;
    if (nout) memcpy(infos, out, sizeof *infos * (size_t)nout);
    if (nin) memcpy(in_infos, in, sizeof *in_infos * (size_t)nin);
    r.out_info = infos;
    DTP_TRY(dtp_graph_reserve(g, nin, 0, 0, 0));
    int number = g->nregions;
    for (int i = 0; i < nin; ++i) r.inputs[i] = g->nvalues + i;
    DTP_TRY(dtp_graph_push_region(g, &r, function));
    for (int i = 0; i < nin; ++i) {
        in_values[i] = g->nvalues;
        dtp_graph_push_value(g, number, &in_infos[i], r.name)->input = i;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_create_function(dnnl_tp_graph_t *function, dnnl_tp_graph_t root,
                                               const char *name, int nin, const dnnl_tp_tensor_info_t *in,
                                               dnnl_tp_value_t *in_values, int nout,
                                               const dnnl_tp_tensor_info_t *out) {
    DTP_RETURN(dtp_graph_settle(create_function(function, root, name, nin, in, in_values, nout, out), nin,
                                in_values));
}

static dnnl_tp_status_t add_call(dnnl_tp_graph_t graph, const char *name,
                                 const struct dnnl_tp_graph *function, int nin, const dnnl_tp_value_t *in,
                                 int nout, dnnl_tp_value_t *out) {
    DTP_TRY(dtp_graph_check_open(graph));
    DTP_REQUIRE_HANDLE(function, DTP_OBJ_GRAPH);
    dtp_graph_t *g = graph->root;
    dtp_op_id_t id = {name ? name : "", "call"};
    const dtp_gregion_t *f = &g->regions[function->root == g ? function->region : 0];
    DTP_REQUIRE(f->kind == DTP_REGION_FUNCTION, GRAPH_REGION,
                "operator '%s' (call): what it calls is not a function of this graph", id.name);
    DTP_REQUIRE(nin == f->ninputs && nout == f->nout, GRAPH_BAD_ARITY,
                "operator '%s' (call): function '%s' has %d inputs and %d outputs, got %d and %d", id.name,
                f->name, f->ninputs, f->nout, nin, nout);
    DTP_REQUIRE(out || nout == 0, NULL_ARG, "out is NULL");
    DTP_TRY(dtp_graph_check_values(g, graph->region, id, "input", nin, in, false));
    for (int i = 0; i < nin; ++i)
        DTP_TRY(check_agree(id, "input", i, g->values[in[i]].info, g->values[f->inputs[i]].info));
    dtp_gnode_t *n;
    DTP_TRY(
        dtp_graph_push_node(g, graph->region, DTP_NODE_CALL, id.name, nin, in, nout, f->out_info, &n, out));
    n->sub[0] = function->region;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_call(dnnl_tp_graph_t graph, const char *name, const_dnnl_tp_graph_t function,
                                    int nin, const dnnl_tp_value_t *in, int nout, dnnl_tp_value_t *out) {
    DTP_RETURN(dtp_graph_settle(add_call(graph, name, function, nin, in, nout, out), nout, out));
}

/* ---- Orderings --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t check_made(const dtp_graph_t *g, const char *what, dnnl_tp_value_t v) {
    DTP_REQUIRE(v >= 0 && v < g->nvalues, GRAPH_BAD_VALUE, "%s is %d, the graph has %d values", what, (int)v,
                g->nvalues);
    DTP_REQUIRE(g->values[v].node >= 0, GRAPH_BAD_VALUE, "%s: value %d '%s' is not made by an operator", what,
                (int)v, g->values[v].name);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_control_dependency(dnnl_tp_graph_t graph, dnnl_tp_value_t before,
                                                  dnnl_tp_value_t after) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    DTP_TRY(check_made(g, "before", before));
    DTP_TRY(check_made(g, "after", after));
    const dtp_gvalue_t *a = &g->values[after], *b = &g->values[before];
    dtp_gnode_t *n = &g->nodes[a->node];
    DTP_REQUIRE(a->region == graph->region, GRAPH_REGION, "operator '%s' (%s) belongs to another region",
                n->name, dtp_node_kind_name(n));
    DTP_REQUIRE(dtp_graph_sees(g, graph->region, before), GRAPH_REGION,
                "operator '%s' (%s) cannot wait for operator '%s' of another region", n->name,
                dtp_node_kind_name(n), g->nodes[b->node].name);
    DTP_REQUIRE(b->node < a->node, GRAPH_REGION,
                "operator '%s' (%s) cannot wait for '%s', which was added later or is itself", n->name,
                dtp_node_kind_name(n), g->nodes[b->node].name);
    DTP_TRY(
        dtp_arena_grow(&g->arena, (void **)&n->before, &n->cap_before, n->nbefore + 1, sizeof *n->before));
    n->before[n->nbefore++] = before;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_host_cost(dnnl_tp_graph_t graph, dnnl_tp_value_t value, int64_t ns) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    DTP_TRY(check_made(g, "cost", value));
    dtp_gnode_t *n = &g->nodes[g->values[value].node];
    DTP_REQUIRE(n->region == graph->region, GRAPH_REGION, "operator '%s' belongs to another region", n->name);
    DTP_REQUIRE(n->kind == DTP_NODE_HOST, GRAPH_BAD_VALUE, "operator '%s' (%s) is no host closure", n->name,
                dtp_node_kind_name(n));
    DTP_REQUIRE(ns >= 0, BAD_PARAM, "operator '%s' (host) costs %lld ns", n->name, (long long)ns);
    n->cost_ns = ns;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_target(dnnl_tp_graph_t graph, dnnl_tp_value_t value) {
    DTP_TRY(dtp_graph_check_open(graph));
    dtp_graph_t *g = graph->root;
    DTP_TRY(check_made(g, "target", value));
    DTP_REQUIRE(g->values[value].region == graph->region, GRAPH_REGION,
                "operator '%s' belongs to another region", g->nodes[g->values[value].node].name);
    g->nodes[g->values[value].node].target = true;
    return dnnl_tp_success;
}
