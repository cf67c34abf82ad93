/* Draws graphs in the language of Graphviz. An operator is a box, one with regions a cluster: a diamond where
 * it begins, a cluster for each region, an ellipse where its results appear. Data flows along solid lines,
 * dashed lines are orderings and, in loops, what the next iteration starts with. */
#include "exec/text/text.h"

typedef struct {
    const dtp_graph_t *g;
    FILE *out;
    dtp_text_order_t order;
} ctx_t;

static void indent(const ctx_t *c, int depth) { fprintf(c->out, "%*s", 2 * depth, ""); }

/* Text inside a label: quotes and backslashes escaped, control bytes and what is no ASCII replaced. */
static void label_text(FILE *out, const char *text) {
    for (; *text; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fputc('\\', out);
        fputc(c < ' ' || c > '~' ? '?' : c, out);
    }
}

static void type_text(FILE *out, const dnnl_tp_tensor_info_t *t) {
    char shape[DTP_SHAPE_TEXT];
    fprintf(out, "%s %s", dnnl_tp_dt2str(t->data_type), dtp_info_text(t, shape));
}

static bool has_regions(const dtp_gnode_t *n) { return n->kind == DTP_NODE_IF || n->kind == DTP_NODE_WHILE; }

/* Where edges from a value begin. */
static void source(const ctx_t *c, int32_t v) {
    int node = c->g->values[v].node;
    if (node < 0) fprintf(c->out, "v%d", (int)v);
    else fprintf(c->out, has_regions(&c->g->nodes[node]) ? "e%d" : "n%d", node);
}

static void edge(const ctx_t *c, int32_t v, char to, int number, const char *style, int depth) {
    if (v < 0) return;
    indent(c, depth);
    source(c, v);
    fprintf(c->out, " -> %c%d%s;\n", to, number, style);
}

static void box(const ctx_t *c, int32_t v, const char *what, const char *shape, int depth) {
    const dtp_gvalue_t *value = &c->g->values[v];
    indent(c, depth);
    fprintf(c->out, "v%d [shape=%s, label=\"%s ", (int)v, shape, what);
    label_text(c->out, value->name);
    fputs("\\n", c->out);
    type_text(c->out, value->info);
    fputs("\"];\n", c->out);
}

static void draw_region(const ctx_t *c, int region, int depth);

static void cluster(const ctx_t *c, int region, const char *title, int depth) {
    if (region < 0) return;
    indent(c, depth);
    fprintf(c->out, "subgraph cluster_r%d {\n", region);
    indent(c, depth + 1);
    fprintf(c->out, "label=\"%s\"; style=dashed;\n", title);
    draw_region(c, region, depth + 1);
    indent(c, depth);
    fputs("}\n", c->out);
}

/* The head of an operator: what it is called, what it is, what comes out. */
static void head(const ctx_t *c, const dtp_gnode_t *n, int number, const char *shape, int depth) {
    indent(c, depth);
    fprintf(c->out, "n%d [shape=%s, label=\"%s", number, shape, dtp_node_kind_name(n));
    if (*n->name) fputc(' ', c->out);
    label_text(c->out, n->name);
    if (n->kind == DTP_NODE_CALL) {
        fputs("\\nof ", c->out);
        label_text(c->out, c->g->regions[n->sub[0]].name);
    }
    for (int i = 0; i < n->nout && !has_regions(n); ++i) {
        fputs("\\n", c->out);
        type_text(c->out, c->g->values[n->out + i].info);
    }
    fprintf(c->out, "\"%s];\n", n->target ? ", penwidth=2" : "");
}

static void draw_control(const ctx_t *c, const dtp_gnode_t *n, int number, int depth) {
    bool loop = n->kind == DTP_NODE_WHILE;
    indent(c, depth);
    fprintf(c->out, "subgraph cluster_n%d {\n", number);
    indent(c, depth + 1);
    fputs("label=\"", c->out);
    fputs(loop ? "while " : "if ", c->out);
    label_text(c->out, n->name);
    fputs("\"; style=solid;\n", c->out);
    head(c, n, number, "diamond", depth + 1);
    cluster(c, n->sub[0], loop ? "test" : "then", depth + 1);
    cluster(c, n->sub[1], loop ? "do" : "else", depth + 1);
    indent(c, depth + 1);
    fprintf(c->out, "e%d [shape=ellipse, label=\"results\"];\n", number);
    if (loop) {
        const int32_t *vars = c->g->regions[n->sub[0]].inputs;
        edge(c, n->yield[0], 'e', number, " [label=\"while\"]", depth + 1);
        for (int i = 0; i < n->nin; ++i) {
            indent(c, depth + 1);
            fprintf(c->out, "n%d -> v%d;\n", number, (int)vars[i]);
            edge(c, n->yield[1 + i], 'v', vars[i], " [style=dashed, constraint=false]", depth + 1);
            edge(c, vars[i], 'e', number, "", depth + 1);
        }
    } else {
        for (int i = 0; i < 2 * n->nout; ++i) edge(c, n->yield[i], 'e', number, "", depth + 1);
        indent(c, depth + 1);
        fprintf(c->out, "n%d -> e%d [style=invis];\n", number, number);
    }
    indent(c, depth);
    fputs("}\n", c->out);
}

static void draw_region(const ctx_t *c, int region, int depth) {
    const dtp_graph_t *g = c->g;
    for (int i = c->order.value_first[region]; i < c->order.value_first[region + 1]; ++i) {
        int32_t v = c->order.values[i];
        bool data = g->values[v].data != NULL;
        const char *what = data                                         ? "constant"
                           : g->regions[region].kind == DTP_REGION_COND ? "variable"
                                                                        : "input";
        box(c, v, what, data ? "note" : "invhouse", depth);
    }
    for (int i = c->order.node_first[region]; i < c->order.node_first[region + 1]; ++i) {
        int number = c->order.nodes[i];
        const dtp_gnode_t *n = &g->nodes[number];
        if (has_regions(n)) draw_control(c, n, number, depth);
        else head(c, n, number, n->kind == DTP_NODE_CALL ? "box3d" : "box", depth);
        for (int k = 0; k < n->nin; ++k) edge(c, n->in[k], 'n', number, "", depth);
        for (int k = 0; k < n->nbefore; ++k) edge(c, n->before[k], 'n', number, " [style=dashed]", depth);
    }
}

static void draw_function(const ctx_t *c, int region) {
    const dtp_gregion_t *f = &c->g->regions[region];
    fprintf(c->out, "  subgraph cluster_f%d {\n    label=\"function ", region);
    label_text(c->out, f->name);
    fputs("\"; style=bold;\n", c->out);
    draw_region(c, region, 2);
    fprintf(c->out, "    f%d [shape=ellipse, label=\"return\"];\n", region);
    for (int i = 0; i < f->nbound; ++i) edge(c, f->out[i], 'f', region, "", 2);
    fputs("  }\n", c->out);
}

dnnl_tp_status_t dtp_graph_dot_write(const dtp_graph_t *g, FILE *out) {
    dtp_arena_t arena;
    dtp_arena_init(&arena, dtp_process_allocator());
    ctx_t c = {.g = g, .out = out};
    if (dtp_text_order(&arena, g, &c.order) != dnnl_tp_success) {
        dtp_arena_free(&arena);
        return dnnl_tp_out_of_memory;
    }
    fputs("digraph dnnl_tp {\n  compound=true; node [fontname=\"sans-serif\", fontsize=10];\n", out);
    for (int r = 0; r < g->nregions; ++r)
        if (g->regions[r].kind == DTP_REGION_FUNCTION) draw_function(&c, r);
    draw_region(&c, 0, 1);
    for (int i = 0; i < g->noutputs; ++i) {
        fprintf(out, "  o%d [shape=house, label=\"output ", i);
        label_text(out, g->output_names[i]);
        fputs("\"];\n", out);
        edge(&c, g->outputs[i], 'o', i, "", 1);
    }
    fputs("}\n", out);
    dtp_arena_free(&arena);
    return dnnl_tp_success;
}
