/* What of a model can never run, see check.h.
 *
 * The walk takes each node that graphs of the model are made of: those of the main graph, the bodies of Loop and Scan, and
 * the functions that are called. Of an If only one branch may be looked at, so it counts where both branches have
 * something that cannot run. What depends on types, shapes and values is said when a graph is made. */
#include "onnx/check.h"
#include "onnx/words.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST = 32,    /* different problems of a list */
    DEEPEST = 64, /* calls and graphs in each other, as in import.c */
    NODES = 100000,
    TEXT = 470 /* bytes of a text that reach the caller */
};

/* Things that have one problem in common. */
typedef struct {
    dnnl_tp_status_t status;
    const char *kind, *name; /* of the first thing: "node ", and its name */
    const char *op, *type;   /* its operator; the name of its type; NULL */
    const char *why;
    int count;
} problem_t;

typedef struct {
    problem_t at[MOST];
    int n, left_out; /* problems; things whose problem has no place */
} list_t;

typedef struct {
    const_dnnl_tp_onnx_model_t model;
    dtp_import_memory_t memory;
    dtp_onnx_names_t functions; /* address of a function that was met -> its list_t */
    int nodes_left;
    bool lacks_memory;
} check_t;

/* The names and imports that a node sees. */
typedef struct {
    size_t nimports;
    opset_proto_t *const *imports;
    int depth;
} around_t;

static bool is(const char *a, const char *b) { return !strcmp(a, b); }
static const char *text(const char *s) { return s ? s : ""; }

static const char *kept(check_t *c, const char *s) {
    char *copy = dtp_import_alloc(&c->memory, strlen(s) + 1);
    if (!copy) c->lacks_memory = true;
    return copy ? strcpy(copy, s) : "";
}

/* Functions that call each other twice have more nodes than an int counts. */
static int sum(int a, int b) {
    enum { MANY = 1000000 };
    return a + b < MANY ? a + b : MANY;
}

static void add(list_t *l, const problem_t *p) {
    for (int i = 0; i < l->n; ++i) {
        problem_t *q = &l->at[i];
        if (q->status != p->status || !is(q->why, p->why) || !is(text(q->op), text(p->op))) continue;
        q->count = sum(q->count, p->count);
        return;
    }
    if (l->n < MOST) l->at[l->n++] = *p;
    else l->left_out = sum(l->left_out, p->count);
}

static void add_all(list_t *to, const list_t *from) {
    for (int i = 0; i < from->n; ++i) add(to, &from->at[i]);
    to->left_out = sum(to->left_out, from->left_out);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------- */

const row_t *dtp_onnx_row_of(size_t nimports, opset_proto_t *const *imports, const node_proto_t *node,
                             int *since, dnnl_tp_status_t *status, char why[DTP_ONNX_NAME]) {
    const char *domain = dtp_onnx_domain(text(node->domain));
    const long long version = (long long)dtp_onnx_opset(nimports, imports, domain);
    const row_t *row = dtp_onnx_row(domain, text(node->op_type), version, since);
    *status = row ? dnnl_tp_success : version ? dnnl_tp_unimplemented : dnnl_tp_invalid_graph;
    if (!version) (void)snprintf(why, DTP_ONNX_NAME, "the model does not import the domain '%.150s'", domain);
    else if (is(domain, "com.microsoft.nchwc"))
        (void)snprintf(why, DTP_ONNX_NAME,
                       "ONNX Runtime laid this model out for one kind of processor: save it without the "
                       "optimisation 'NchwcTransformer'");
    else if (!dtp_onnx_last(domain))
        (void)snprintf(why, DTP_ONNX_NAME, "operators of the domain '%.150s' (version %lld) are not known",
                       domain, version);
    else if (!row && *domain)
        (void)snprintf(why, DTP_ONNX_NAME,
                       "this operator of the domain '%.150s' is not implemented in version %lld", domain,
                       version);
    else if (!row)
        (void)snprintf(why, DTP_ONNX_NAME, "this operator is not implemented in version %lld", version);
    return row;
}

static void of_node(list_t *l, const node_proto_t *n, dnnl_tp_status_t status, const char *why) {
    const bool has_name = n->name && *n->name;
    const char *result = n->n_output && n->output[0] ? n->output[0] : "";
    const problem_t p = {
        status, has_name ? "node " : "node of ", has_name ? n->name : result, text(n->op_type), NULL, why, 1};
    add(l, &p);
}

static void of_tensor(check_t *c, list_t *l, const tensor_proto_t *x) {
    const dtp_onnx_tensor_t *t = dtp_onnx_tensor(c->model, x);
    if (!t->status) return;
    const problem_t p = {
        t->status, "initializer ", text(x->name), NULL, dtp_onnx_type_name(t->onnx_type), t->why, 1};
    add(l, &p);
}

static void of_nodes(check_t *c, list_t *l, const around_t *around, size_t n, node_proto_t *const *nodes);

static void of_graph(check_t *c, list_t *l, const around_t *around, const graph_proto_t *g) {
    for (size_t i = 0; i < g->n_initializer; ++i) of_tensor(c, l, g->initializer[i]);
    of_nodes(c, l, around, g->n_node, g->node);
}

/* The problems of a function, which are looked for once. A function that is being walked calls itself: none. */
static const list_t *of_function(check_t *c, const function_proto_t *f, int depth) {
    list_t *l = dtp_onnx_names_get(&c->functions, f);
    if (l) return l;
    l = dtp_import_alloc(&c->memory, sizeof *l);
    if (!l || dtp_onnx_names_set(&c->functions, f, l)) {
        c->lacks_memory = true;
        return NULL;
    }
    const around_t around = {f->n_opset_import, f->opset_import, depth};
    of_nodes(c, l, &around, f->n_node, f->node);
    return l;
}

/* The branches of an If: both have problems, or none counts. */
static void of_branches(check_t *c, list_t *l, const around_t *around, const node_proto_t *n) {
    list_t *both = dtp_import_alloc(&c->memory, 2 * sizeof *both);
    if (!both) {
        c->lacks_memory = true;
        return;
    }
    int k = 0;
    for (size_t i = 0; i < n->n_attribute && k < 2; ++i)
        if (n->attribute[i]->g) of_graph(c, &both[k++], around, n->attribute[i]->g);
    if (k < 2 || !both[0].n || !both[1].n) return;
    for (int b = 0; b < 2; ++b) add_all(l, &both[b]);
}

static void of_one(check_t *c, list_t *l, const around_t *around, const node_proto_t *n) {
    char why[DTP_ONNX_NAME];
    dnnl_tp_status_t status;
    int since;
    const function_proto_t *f = dtp_onnx_function(c->model, &c->memory, n);
    if (f && dtp_onnx_has_defaults(f)) {
        of_node(l, n, dnnl_tp_unimplemented, "the function has default values of attributes");
    } else if (f) {
        const list_t *inner = of_function(c, f, around->depth + 1);
        if (inner) add_all(l, inner);
    } else if (!dtp_onnx_row_of(around->nimports, around->imports, n, &since, &status, why)) {
        of_node(l, n, status, kept(c, why));
    } else {
        const around_t inside = {around->nimports, around->imports, around->depth + 1};
        const bool is_if = is(n->op_type, "If");
        if (is_if) of_branches(c, l, &inside, n);
        for (size_t i = 0; i < n->n_attribute; ++i) {
            const attr_proto_t *a = n->attribute[i];
            const dtp_onnx_tensor_t *t = a->t ? dtp_onnx_tensor(c->model, a->t) : NULL;
            if (t && t->status && !dtp_words_has(n, a)) {
                (void)snprintf(why, sizeof why, "attribute '%.40s' of type %s: %s", text(a->name),
                               dtp_onnx_type_name(t->onnx_type), t->why);
                of_node(l, n, t->status, kept(c, why));
            }
            if (a->g && !is_if) of_graph(c, l, &inside, a->g);
        }
    }
}

static void of_nodes(check_t *c, list_t *l, const around_t *around, size_t n, node_proto_t *const *nodes) {
    for (size_t i = 0; i < n && around->depth <= DEEPEST && !c->lacks_memory; ++i)
        if (*text(nodes[i]->op_type) && c->nodes_left-- > 0) of_one(c, l, around, nodes[i]);
}

static void of_inputs(check_t *c, list_t *l, const graph_proto_t *g) {
    dtp_onnx_names_t initializers;
    dtp_onnx_names_init(&initializers, &c->memory, 0);
    for (size_t i = 0; i < g->n_initializer && !c->lacks_memory; ++i)
        c->lacks_memory =
            dtp_onnx_names_set(&initializers, text(g->initializer[i]->name), g->initializer[i]) != 0;
    for (size_t i = 0; i < g->n_input && !c->lacks_memory; ++i) {
        const value_proto_t *x = g->input[i];
        dnnl_tp_onnx_port_t port;
        if (dtp_onnx_names_get(&initializers, text(x->name)) || dtp_onnx_port(x, &port)) continue;
        const bool is_text = port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
        if (is_text ? c->model->nwords > 0 : port.info.data_type != dnnl_tp_data_type_undef) continue;
        const bool says = port.onnx_type != 0;
        const problem_t p = {dnnl_tp_unimplemented,
                             "input ",
                             port.name,
                             NULL,
                             says ? dtp_onnx_type_name(port.onnx_type) : NULL,
                             says ? "graphs do not carry its type" : "it is no tensor",
                             1};
        add(l, &p);
    }
}

/* ---- The text ---------------------------------------------------------------------------------------------- */

/* Appends the first thing of a problem and how many there are, if they fit before `end`. */
static bool tell(char *all, size_t *n, size_t end, const char *before, const problem_t *p, int width) {
    char one[TEXT], more[32] = "";
    if (p->count > 1) (void)snprintf(more, sizeof more, " and %d more", p->count - 1);
    const int bytes = snprintf(one, sizeof one, "%s%s'%.*s'%s%.80s%s%s", before, p->kind, width, p->name,
                               p->op     ? " ("
                               : p->type ? " of type "
                                         : "",
                               p->op ? p->op : text(p->type), p->op ? ")" : "", more);
    if (*n + (size_t)bytes >= end) return false;
    memcpy(all + *n, one, (size_t)bytes + 1);
    *n += (size_t)bytes;
    return true;
}

/* Things in the order in which they were met; behind one of them those with the same reason. */
static dnnl_tp_status_t refuse(const list_t *l) {
    enum { LONG = 200, SHORT = 40, END = 40 };
    char all[TEXT] = "";
    bool told[MOST] = {false};
    size_t n = 0;
    int left_out = l->left_out;
    const int width = l->n > 1 ? SHORT : LONG;
    for (int i = 0; i < l->n; ++i) {
        if (told[i]) continue;
        const char *why = l->at[i].why;
        const size_t bytes = strlen(why) + 2 + END, end = sizeof all > bytes ? sizeof all - bytes : 1;
        bool any = false;
        for (int k = i; k < l->n; ++k) {
            if (told[k] || !is(l->at[k].why, why)) continue;
            told[k] = true;
            if (tell(all, &n, end, any ? ", " : i ? "; " : "", &l->at[k], width)) any = true;
            else left_out = sum(left_out, l->at[k].count);
        }
        if (any) n += (size_t)snprintf(all + n, sizeof all - n, ": %s", why);
    }
    if (left_out) (void)snprintf(all + n, sizeof all - n, "; and %d more that cannot run", left_out);
    return dtp_onnx_fail(l->at[0].status, "%s", all);
}

static void report(const list_t *l, const dnnl_tp_onnx_open_opts_t *opts) {
    for (int i = 0; opts->report && i < l->n; ++i) {
        const problem_t *p = &l->at[i];
        char kind[16];
        (void)snprintf(kind, sizeof kind, "%.*s", (int)strlen(p->kind) - 1, p->kind);
        const dnnl_tp_onnx_problem_t told = {p->status, kind,    p->name, p->op ? p->op : p->type,
                                             p->why,    p->count};
        opts->report(opts->report_ctx, &told);
    }
}

dnnl_tp_status_t dtp_onnx_check(const_dnnl_tp_onnx_model_t m, const dnnl_tp_onnx_open_opts_t *opts) {
    check_t c = {.model = m, .nodes_left = NODES};
    dtp_import_memory_init(&c.memory);
    dtp_onnx_names_init(&c.functions, &c.memory, 1);
    const around_t around = {m->proto->n_opset_import, m->proto->opset_import, 0};
    list_t *l = dtp_import_alloc(&c.memory, sizeof *l);
    c.lacks_memory = !l;
    if (l) of_inputs(&c, l, m->proto->graph);
    if (!c.lacks_memory) of_graph(&c, l, &around, m->proto->graph);
    if (!c.lacks_memory) report(l, opts);
    const dnnl_tp_status_t status = c.lacks_memory ? dnnl_tp_out_of_memory
                                    : l->n         ? refuse(l)
                                                   : dnnl_tp_success;
    dtp_import_memory_free(&c.memory);
    return status;
}
