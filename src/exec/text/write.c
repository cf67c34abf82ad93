/* Writes graphs as text. Values get numbers in the order of the text, regions stand inside their operators,
 * so a graph that was read from the text is written as the same text. */
#include "exec/text/text.h"

enum { INDENT = 2 };

/* ---- Order ------------------------------------------------------------------------------------------- */

static const int32_t *sort(dtp_arena_t *arena, const dtp_graph_t *g, bool values, const int32_t **first) {
    int n = values ? g->nvalues : g->nnodes;
    int32_t *start = dtp_arena_alloc(arena, sizeof *start * (size_t)(g->nregions + 2));
    int32_t *list = dtp_arena_alloc(arena, sizeof *list * (size_t)n);
    if (!start || !list) return NULL;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < n; ++i) {
            if (values && g->values[i].node >= 0) continue;
            int r = values ? g->values[i].region : g->nodes[i].region;
            if (pass == 0) ++start[r + 2];
            else list[start[r + 1]++] = i;
        }
        for (int r = 0; pass == 0 && r < g->nregions; ++r) start[r + 2] += start[r + 1];
    }
    *first = start;
    return list;
}

dnnl_tp_status_t dtp_text_order(dtp_arena_t *arena, const dtp_graph_t *g, dtp_text_order_t *o) {
    o->nodes = sort(arena, g, false, &o->node_first);
    o->values = sort(arena, g, true, &o->value_first);
    return o->nodes && o->values ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

dnnl_tp_status_t dtp_text_check_graph(const dtp_graph_t *g) {
    for (int r = 0; r < g->nregions; ++r)
        if (g->regions[r].kind == DTP_REGION_UNUSED)
            return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_REGION, "region %d belongs to no operator", r);
    return dnnl_tp_success;
}

/* ---- Words ------------------------------------------------------------------------------------------- */

void dtp_text_write_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; ++text) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c == '\n') fputs("\\n", out);
        else if (c == '\t') fputs("\\t", out);
        else if (c < ' ' || c == 0x7f) fprintf(out, "\\x%02x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

typedef struct {
    dtp_text_writer_t *w;
    dtp_text_order_t order;
} ctx_t;

static void indent(const ctx_t *c, int depth) { fprintf(c->w->out, "%*s", depth * INDENT, ""); }

static void name(const ctx_t *c, const char *text) {
    if (!*text) return;
    fputc(' ', c->w->out);
    dtp_text_write_string(c->w->out, text);
}

static void value(const ctx_t *c, int32_t v) {
    if (v < 0) {
        fputc('_', c->w->out);
        return;
    }
    int32_t *number = &c->w->numbers[v];
    if (*number < 0) *number = c->w->nnumbers++;
    fprintf(c->w->out, "%%%d", (int)*number);
}

static void type(const ctx_t *c, const dnnl_tp_tensor_info_t *t) {
    fprintf(c->w->out, "%s[", dnnl_tp_dt2str(t->data_type));
    for (int d = 0; d < t->ndims; ++d) {
        if (d) fputs(", ", c->w->out);
        if (t->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) fputc('?', c->w->out);
        else fprintf(c->w->out, "%lld", (long long)t->dims[d]);
    }
    fputc(']', c->w->out);
}

static void list(const ctx_t *c, int n, const int32_t *values) {
    for (int i = 0; i < n; ++i) {
        if (i) fputs(", ", c->w->out);
        value(c, values[i]);
    }
}

static void attribute(FILE *out, const dtp_op_field_t *f, const void *attrs) {
    const char *at = (const char *)attrs + f->offset;
    fprintf(out, " %s=", f->name);
    if (f->most) {
        const int64_t *list = (const int64_t *)(const void *)at;
        fputc('[', out);
        for (int64_t i = 0; i < list[0]; ++i) fprintf(out, "%s%lld", i ? ", " : "", (long long)list[1 + i]);
        fputc(']', out);
    } else if (f->type == dnnl_tp_op_attr_s64) {
        dtp_text_write_number(out, dnnl_tp_s64, at, 0);
    } else if (f->type == dnnl_tp_op_attr_f32) {
        dtp_text_write_number(out, dnnl_tp_f32, at, 0);
    } else if (f->type == dnnl_tp_op_attr_bool) {
        fputs(*(const uint8_t *)at ? "true" : "false", out);
    } else {
        fprintf(out, "\"%s\"", f->words[*(const uint8_t *)at]);
    }
}

/* Those that were given, in the order of their numbers. */
static void attributes(const ctx_t *c, const dtp_gnode_t *n) {
    int count;
    const dtp_op_field_t *f = dtp_op_fields(n->row, &count), *next;
    const uint32_t given = ((const dtp_op_attrs_t *)n->attrs)->given;
    for (int last = DTP_ATTR_FIXED;; last = next->key) {
        next = NULL;
        for (int k = 0; k < count; ++k)
            if ((given >> k & 1) && f[k].key > last && (!next || f[k].key < next->key)) next = &f[k];
        if (!next) break;
        attribute(c->w->out, next, n->attrs);
    }
}

static void orderings(const ctx_t *c, const dtp_gnode_t *n) {
    if (n->nbefore) {
        fputs(" after (", c->w->out);
        list(c, n->nbefore, n->before);
        fputc(')', c->w->out);
    }
    if (n->target) fputs(" target", c->w->out);
}

/* ---- Statements -------------------------------------------------------------------------------------- */

static dnnl_tp_status_t write_region(const ctx_t *c, int region, int depth);

static void results(const ctx_t *c, const dtp_gnode_t *n) {
    for (int i = 0; i < n->nout; ++i) {
        if (i) fputs(", ", c->w->out);
        value(c, n->out + i);
        if (n->kind != DTP_NODE_HOST) continue;
        fputs(": ", c->w->out);
        type(c, c->w->g->values[n->out + i].info);
    }
    if (n->nout) fputs(" = ", c->w->out);
    fputs(dtp_node_kind_name(n), c->w->out);
    name(c, n->name);
}

/* For readers: what was inferred. */
static void remark(const ctx_t *c, const dtp_gnode_t *n) {
    for (int i = 0; i < n->nout && n->kind != DTP_NODE_HOST; ++i) {
        fputs(i ? ", " : " # ", c->w->out);
        type(c, c->w->g->values[n->out + i].info);
    }
    fputc('\n', c->w->out);
}

static dnnl_tp_status_t write_constant(const ctx_t *c, int32_t v, int depth) {
    const dtp_gvalue_t *value_of = &c->w->g->values[v];
    indent(c, depth);
    fputs("constant ", c->w->out);
    value(c, v);
    fputs(": ", c->w->out);
    type(c, value_of->info);
    name(c, value_of->name);
    fputs(" = ", c->w->out);
    DTP_TRY(dtp_text_write_data(c->w, value_of));
    fputc('\n', c->w->out);
    return dnnl_tp_success;
}

static dnnl_tp_status_t write_branch(const ctx_t *c, int region, int nout, const int32_t *yield, int depth) {
    fputs("{\n", c->w->out);
    if (region >= 0) DTP_TRY(write_region(c, region, depth + 1));
    indent(c, depth + 1);
    fputs("yield", c->w->out);
    if (nout) fputc(' ', c->w->out);
    list(c, nout, yield);
    fputc('\n', c->w->out);
    indent(c, depth);
    fputc('}', c->w->out);
    return dnnl_tp_success;
}

static dnnl_tp_status_t write_if(const ctx_t *c, const dtp_gnode_t *n, int depth) {
    fputs(" (", c->w->out);
    list(c, 1, n->in);
    fputc(')', c->w->out);
    orderings(c, n);
    fputc(' ', c->w->out);
    DTP_TRY(write_branch(c, n->sub[0], n->nout, n->yield, depth));
    fputs(" else ", c->w->out);
    return write_branch(c, n->sub[1], n->nout, n->yield + n->nout, depth);
}

static dnnl_tp_status_t write_while(const ctx_t *c, const dtp_gnode_t *n, int depth) {
    const dtp_gregion_t *cond = &c->w->g->regions[n->sub[0]];
    fputs(" (", c->w->out);
    for (int i = 0; i < n->nin; ++i) {
        const dtp_gvalue_t *var = &c->w->g->values[cond->inputs[i]];
        if (i) fputs(", ", c->w->out);
        value(c, cond->inputs[i]);
        fputs(": ", c->w->out);
        type(c, var->info);
        name(c, var->name);
        fputs(" = ", c->w->out);
        value(c, n->in[i]);
    }
    fputc(')', c->w->out);
    if (n->window) fprintf(c->w->out, " window=%d", n->window);
    orderings(c, n);
    fputs(" {\n", c->w->out);
    DTP_TRY(write_region(c, n->sub[0], depth + 1));
    indent(c, depth + 1);
    fputs("test ", c->w->out);
    list(c, 1, n->yield);
    fputc('\n', c->w->out);
    indent(c, depth);
    fputs("} do ", c->w->out);
    return write_branch(c, n->sub[1], n->nout, n->yield + 1, depth);
}

static dnnl_tp_status_t write_node(const ctx_t *c, const dtp_gnode_t *n, int depth) {
    indent(c, depth);
    results(c, n);
    if (n->kind == DTP_NODE_IF) {
        DTP_TRY(write_if(c, n, depth));
    } else if (n->kind == DTP_NODE_WHILE) {
        DTP_TRY(write_while(c, n, depth));
    } else {
        if (n->kind == DTP_NODE_CALL) fprintf(c->w->out, " @%d", (int)c->w->functions[n->sub[0]]);
        fputs(" (", c->w->out);
        list(c, n->nin, n->in);
        fputc(')', c->w->out);
        if (n->kind == DTP_NODE_OP) attributes(c, n);
        if (n->flags & DNNL_TP_HOST_MAY_BLOCK) fputs(" may_block", c->w->out);
        if (n->flags & DNNL_TP_HOST_MAY_WAIT) fputs(" may_wait", c->w->out);
        if (n->cost_ns) fprintf(c->w->out, " cost=%lld", (long long)n->cost_ns);
        orderings(c, n);
    }
    remark(c, n);
    return dnnl_tp_success;
}

/* Constants, then operators. */
static dnnl_tp_status_t write_region(const ctx_t *c, int region, int depth) {
    const dtp_graph_t *g = c->w->g;
    for (int i = c->order.value_first[region]; i < c->order.value_first[region + 1]; ++i) {
        int32_t v = c->order.values[i];
        if (g->values[v].data) DTP_TRY(write_constant(c, v, depth));
    }
    for (int i = c->order.node_first[region]; i < c->order.node_first[region + 1]; ++i)
        DTP_TRY(write_node(c, &g->nodes[c->order.nodes[i]], depth));
    return dnnl_tp_success;
}

static void write_inputs(const ctx_t *c) {
    const dtp_graph_t *g = c->w->g;
    for (int i = 0; i < g->ninputs; ++i) {
        fputs("input ", c->w->out);
        value(c, g->inputs[i]);
        fputs(": ", c->w->out);
        type(c, g->values[g->inputs[i]].info);
        name(c, g->values[g->inputs[i]].name);
        fputc('\n', c->w->out);
    }
}

static void write_function(const ctx_t *c, int region) {
    const dtp_gregion_t *f = &c->w->g->regions[region];
    fprintf(c->w->out, "function @%d", (int)c->w->functions[region]);
    name(c, f->name);
    fputs(" (", c->w->out);
    for (int i = 0; i < f->ninputs; ++i) {
        if (i) fputs(", ", c->w->out);
        value(c, f->inputs[i]);
        fputs(": ", c->w->out);
        type(c, c->w->g->values[f->inputs[i]].info);
    }
    fputs(") -> (", c->w->out);
    for (int i = 0; i < f->nout; ++i) {
        if (i) fputs(", ", c->w->out);
        type(c, &f->out_info[i]);
    }
    fputs(")\n", c->w->out);
}

static dnnl_tp_status_t write_body(const ctx_t *c, int region) {
    const dtp_gregion_t *f = &c->w->g->regions[region];
    fprintf(c->w->out, "define @%d {\n", (int)c->w->functions[region]);
    DTP_TRY(write_region(c, region, 1));
    indent(c, 1);
    fputs(f->nbound ? "return " : "return", c->w->out);
    list(c, f->nbound, f->out);
    fputs("\n}\n", c->w->out);
    return dnnl_tp_success;
}

/* Inputs and functions first, then the constants of the root, the bodies of functions, the operators. */
dnnl_tp_status_t dtp_graph_text_write(dtp_text_writer_t *w) {
    const dtp_graph_t *g = w->g;
    DTP_TRY(dtp_text_check_graph(g));
    ctx_t c = {.w = w};
    DTP_TRY(dtp_text_order(&w->arena, g, &c.order));
    w->numbers = dtp_arena_alloc(&w->arena, sizeof *w->numbers * (size_t)g->nvalues);
    w->functions = dtp_arena_alloc(&w->arena, sizeof *w->functions * (size_t)g->nregions);
    if (!w->numbers || !w->functions) return dnnl_tp_out_of_memory;
    for (int i = 0; i < g->nvalues; ++i) w->numbers[i] = -1;
    fprintf(w->out, "dnnl_tp_graph %d %s\n", DTP_TEXT_VERSION, dnnl_tp_engine_kind2str(g->kind));
    write_inputs(&c);
    int nfunctions = 0;
    for (int r = 0; r < g->nregions; ++r) {
        if (g->regions[r].kind != DTP_REGION_FUNCTION) continue;
        w->functions[r] = nfunctions++;
        write_function(&c, r);
    }
    for (int i = c.order.value_first[0]; i < c.order.value_first[1]; ++i)
        if (g->values[c.order.values[i]].data) DTP_TRY(write_constant(&c, c.order.values[i], 0));
    for (int r = 0; r < g->nregions; ++r)
        if (g->regions[r].kind == DTP_REGION_FUNCTION) DTP_TRY(write_body(&c, r));
    for (int i = c.order.node_first[0]; i < c.order.node_first[1]; ++i)
        DTP_TRY(write_node(&c, &g->nodes[c.order.nodes[i]], 0));
    for (int i = 0; i < g->noutputs; ++i) {
        fputs("output ", w->out);
        value(&c, g->outputs[i]);
        name(&c, g->output_names[i]);
        fputc('\n', w->out);
    }
    return dnnl_tp_success;
}
