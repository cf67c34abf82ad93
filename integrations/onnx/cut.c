/* Where a part of a model ends, and what it gives to the next one (part.h). */
#include "onnx/check.h"
#include "onnx/part.h"

#include <stdio.h>
#include <string.h>

static bool is(const char *a, const char *b) { return !strcmp(a, b); }
/* A name of protobuf-c, which may be absent. */
static const char *text(const char *s) { return s ? s : ""; }

/* ---- Given tensors ----------------------------------------------------------------------------------------- */

/* An input of the graph, or a constant. */
static dnnl_tp_status_t given_tensor(import_t *im, const dtp_given_t *x, val_t *v, dnnl_tp_value_t *number) {
    char room[DTP_ONNX_NAME];
    *v = (val_t){.v = -1, .info = x->info, .is_given = true};
    *number = -1;
    if (x->is_known) {
        const size_t bytes = (size_t)dtp_val_elems(v) * dtp_onnx_type_size(x->info.data_type);
        void *copy = dtp_import_alloc(&im->memory, bytes + 1);
        if (!copy) return dnnl_tp_out_of_memory;
        v->data = bytes ? memcpy(copy, x->data, bytes) : copy;
        return dnnl_tp_success;
    }
    DTP_ONNX_TRY(dnnl_tp_graph_input(im->graph, &v->v, *x->path ? NULL : dtp_onnx_plain(x->name, room),
                                     v->info.data_type, v->info.ndims, v->info.dims));
    *number = v->v;
    return dnnl_tp_success;
}

/* The given tensors of the scope are its first names. */
static dnnl_tp_status_t name_given(import_t *im, scope_t *s) {
    for (int i = 0; im->part && i < im->part->ngiven; ++i)
        if (is(im->part->given[i].path, s->path))
            DTP_ONNX_TRY(dtp_onnx_names_set(&s->names, im->part->given[i].name, im->given[i]));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_part_begin_all(import_t *im, scope_t *s) {
    const int n = im->part ? im->part->ngiven : 0;
    val_t *room = dtp_import_alloc(&im->memory, (size_t)(n + 1) * sizeof *room);
    im->given = dtp_import_alloc(&im->memory, (size_t)(n + 1) * sizeof *im->given);
    if (!room || !im->given) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) {
        im->given[i] = &room[i];
        DTP_ONNX_TRY(given_tensor(im, &im->part->given[i], &room[i], &im->part->inputs[i]));
    }
    return name_given(im, s);
}

dnnl_tp_status_t dtp_part_begin(cv_t *cv, scope_t *s) {
    enum { NUMBERS = 48 };
    if (!cv->im->part) return dnnl_tp_success;
    const size_t room = strlen(cv->scope->path) + NUMBERS;
    char *path = dtp_import_alloc(&cv->im->memory, room);
    if (!path) return dnnl_tp_out_of_memory;
    (void)snprintf(path, room, "%s/%p.%d", cv->scope->path, (const void *)cv->node, cv->bodies++);
    s->path = path;
    return name_given(cv->im, s);
}

bool dtp_part_has(const scope_t *s, const node_proto_t *n) {
    bool all = n->n_output > 0;
    for (size_t i = 0; i < n->n_output && all; ++i) {
        const val_t *v = *n->output[i] ? dtp_onnx_names_get(&s->names, n->output[i]) : NULL;
        all = !*n->output[i] || (v && v->is_given);
    }
    return all;
}

/* ---- Cuts -------------------------------------------------------------------------------------------------- */

/* The line of the table that serves a node; NULL: none, or it calls a function. */
static const row_t *row_of(import_t *im, const scope_t *s, const node_proto_t *n, int *since) {
    char why[DTP_ONNX_NAME];
    dnnl_tp_status_t status;
    if (!n->op_type || dtp_onnx_function(im->model, &im->memory, n)) return NULL;
    return dtp_onnx_row_of(s->nimports, s->imports, n, since, &status, why);
}

/* Inputs, as bits, that no constant makes; the bits of `of` count. */
static unsigned unknown_inputs(const scope_t *s, const node_proto_t *n, unsigned of) {
    unsigned unknown = 0;
    for (size_t i = 0; i < n->n_input && i < sizeof of * 8; ++i) {
        const val_t *v = text(n->input[i])[0] ? dtp_onnx_find(s, n->input[i]) : NULL;
        if (v && v != &dtp_onnx_absent && !v->data) unknown |= 1u << i & of;
    }
    return unknown;
}

/* Does a list of nodes have one that ends parts, also inside of others? left: nodes that are
 * looked at before "yes" is said. */
static bool has_cuts(import_t *im, const scope_t *s, size_t n, node_proto_t *const *nodes, int64_t *left) {
    int since;
    for (size_t i = 0; i < n; ++i) {
        if (--*left < 0) return true;
        const function_proto_t *f = dtp_onnx_function(im->model, &im->memory, nodes[i]);
        const row_t *row = f ? NULL : row_of(im, s, nodes[i], &since);
        const scope_t inner = {.nimports = f ? f->n_opset_import : 0, .imports = f ? f->opset_import : NULL};
        if (row && dtp_onnx_is_by_data(row)) return true;
        if (f && has_cuts(im, &inner, f->n_node, f->node, left)) return true;
        for (size_t k = 0; k < nodes[i]->n_attribute; ++k) {
            const graph_proto_t *g = nodes[i]->attribute[k]->g;
            if (g && has_cuts(im, s, g->n_node, g->node, left)) return true;
        }
    }
    return false;
}

/* Inputs of a node that are better known than computed by the graph: which branch runs; how often
 * a body does that has cuts, or makes an output of as many elements. */
static unsigned deciding_inputs(import_t *im, const scope_t *s, const row_t *row, const node_proto_t *n) {
    enum { COUNT = 1, CONDITION = 2, FIXED = 2, MANY = 1000 };
    int64_t left = MANY;
    if (is(row->domain, "") && is(row->op, "If")) return 1;
    if (!is(row->domain, "") || !is(row->op, "Loop")) return 0;
    bool counts = false;
    for (size_t k = n->n_input < FIXED ? 0 : n->n_input - FIXED; k < n->n_output; ++k)
        counts |= *n->output[k] != 0;
    for (size_t k = 0; k < n->n_attribute && !counts; ++k) {
        const graph_proto_t *g = n->attribute[k]->g;
        counts = g && has_cuts(im, s, g->n_node, g->node, &left);
    }
    return counts ? COUNT | CONDITION : 0;
}

bool dtp_part_is_cut(import_t *im, const scope_t *s, const node_proto_t *n) {
    enum { KEEPS = 1 }; /* input of Compress; its data need not be known */
    dtp_part_t *part = im->part;
    if (!part || im->graph != im->root) return false;
    const row_t *row = row_of(im, s, n, &part->since);
    if (!row) return false;
    const bool by_data = dtp_onnx_is_by_data(row);
    if (by_data && !dtp_onnx_by_data_fits(row, n)) return false;
    const unsigned of = !by_data                  ? row->params | deciding_inputs(im, s, row, n)
                        : is(row->op, "Compress") ? 1u << KEEPS
                                                  : ~0u;
    const unsigned needs = unknown_inputs(s, n, of);
    if (!needs) return false;
    part->cut = n;
    part->row = row;
    part->needs = by_data ? 0 : needs;
    return true;
}

/* ---- What stays ------------------------------------------------------------------------------------------- */

/* The scope that has a name, from s outwards. */
static const scope_t *owner(const scope_t *s, const char *name) {
    while (s && !dtp_onnx_names_get(&s->names, name)) s = s->parent;
    return s;
}

static const char *copied(dtp_part_t *part, const char *path) {
    const size_t bytes = strlen(path) + 1;
    char *copy = *path ? dtp_import_alloc(&part->memory, bytes) : NULL;
    return *path ? copy ? memcpy(copy, path, bytes) : NULL : "";
}

/* What attributes of the node may refer to, in the memory of the part. */
static dnnl_tp_status_t keep_scope(dtp_part_t *part, const scope_t *s) {
    const scope_t **to = &part->scope;
    for (; s; s = s->call ? s->caller : NULL) {
        scope_t *kept = dtp_import_alloc(&part->memory, sizeof *kept);
        if (!kept) return dnnl_tp_out_of_memory;
        *kept = (scope_t){
            .path = copied(part, s->path), .call = s->call, .nimports = s->nimports, .imports = s->imports};
        if (!kept->path) return dnnl_tp_out_of_memory;
        *to = kept;
        to = &kept->caller;
    }
    return dnnl_tp_success;
}

/* Does the next part get the tensor without the graph's help? A node may pass a tensor on under
 * another name. */
static bool is_at_hand(const import_t *im, const scope_t *s, const val_t *v, const char *name) {
    bool found = v->data || (v->input && !*s->path && is(v->input, name));
    for (int i = 0; i < im->part->ngiven && !found; ++i)
        found = is(im->part->given[i].name, name) && is(im->part->given[i].path, s->path);
    return found;
}

/* What was met, and room of the lists of the part. */
typedef struct {
    dtp_onnx_names_t met;
    int room[2];
} keeping_t;

/* An output of the part, if a node of it made the tensor that a scope finds under a name. */
static dnnl_tp_status_t keep_live(import_t *im, keeping_t *k, const scope_t *from, const char *name) {
    dtp_part_t *part = im->part;
    static char yes;
    const scope_t *s = *text(name) ? owner(from, name) : NULL;
    val_t *v = s ? dtp_onnx_names_get(&s->names, name) : NULL;
    if (!v || v == &dtp_onnx_absent || is_at_hand(im, s, v, name)) return dnnl_tp_success;
    const size_t nkey = strlen(s->path) + strlen(name) + 1;
    char *key = dtp_import_alloc(&im->memory, nkey);
    if (!key) return dnnl_tp_out_of_memory;
    (void)snprintf(key, nkey, "%s%s", s->path, name);
    if (dtp_onnx_names_get(&k->met, key)) return dnnl_tp_success;
    if (v->stored)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the tensor '%s' is %s, which only conversions read",
                             name, v->stored);
    DTP_ONNX_TRY(dtp_onnx_names_set(&k->met, key, &yes));
    const int n = part->nlive + 1;
    DTP_ONNX_TRY(dtp_import_grow(&part->memory, (void **)&part->live, &k->room[0], n, sizeof *part->live));
    DTP_ONNX_TRY(dtp_import_grow(&part->memory, (void **)&part->live_values, &k->room[1], n,
                                 sizeof *part->live_values));
    part->live[part->nlive] = (dtp_given_t){.name = name, .path = copied(part, s->path)};
    if (!part->live[part->nlive].path) return dnnl_tp_out_of_memory;
    part->live_values[part->nlive++] = v->v;
    char plain[DTP_ONNX_NAME];
    return dnnl_tp_graph_output(im->graph, v->v, *s->path ? NULL : dtp_onnx_plain(name, plain));
}

/* What nodes read. Names inside of them that no scope around them has are their own. */
static dnnl_tp_status_t keep_read(import_t *im, keeping_t *kept, const scope_t *s, size_t n,
                                  node_proto_t *const *nodes) {
    for (size_t i = 0; i < n; ++i) {
        const node_proto_t *x = nodes[i];
        for (size_t k = 0; k < x->n_input; ++k) DTP_ONNX_TRY(keep_live(im, kept, s, x->input[k]));
        for (size_t k = 0; k < x->n_attribute; ++k) {
            const graph_proto_t *g = x->attribute[k]->g;
            if (!g) continue;
            DTP_ONNX_TRY(keep_read(im, kept, s, g->n_node, g->node));
            for (size_t j = 0; j < g->n_output; ++j) DTP_ONNX_TRY(keep_live(im, kept, s, g->output[j]->name));
        }
    }
    return dnnl_tp_success;
}

/* What is read of a list of nodes from the one at work on. The inputs of a body are results of the
 * iteration before. */
static dnnl_tp_status_t keep_frame(import_t *im, keeping_t *kept, const frame_t *frame) {
    const graph_proto_t *g = frame->graph;
    const function_proto_t *f = frame->function;
    const scope_t *s = frame->scope;
    DTP_ONNX_TRY(
        keep_read(im, kept, s, (g ? g->n_node : f->n_node) - frame->at, (g ? g->node : f->node) + frame->at));
    for (size_t i = 0; g && i < g->n_output; ++i) DTP_ONNX_TRY(keep_live(im, kept, s, g->output[i]->name));
    for (size_t i = 0; g && *s->path && i < g->n_input; ++i)
        DTP_ONNX_TRY(keep_live(im, kept, s, g->input[i]->name));
    for (size_t i = 0; f && i < f->n_output; ++i) DTP_ONNX_TRY(keep_live(im, kept, s, f->output[i]));
    return dnnl_tp_success;
}

/* What the cut reads by a name, with the data of a constant. */
static dnnl_tp_status_t keep_input(dtp_part_t *part, const scope_t *s, const char *name, dtp_given_t *in) {
    const scope_t *at = owner(s, text(name));
    const val_t *v = at ? dtp_onnx_names_get(&at->names, name) : NULL;
    if (!v || v == &dtp_onnx_absent) return dnnl_tp_success;
    in->name = name;
    in->path = copied(part, at->path);
    if (!in->path) return dnnl_tp_out_of_memory;
    if (!v->data) return dnnl_tp_success;
    const size_t bytes = (size_t)dtp_val_elems(v) * dtp_onnx_type_size(v->info.data_type);
    void *data = dtp_import_alloc(&part->memory, bytes + 1);
    if (!data) return dnnl_tp_out_of_memory;
    in->info = v->info;
    in->data = memcpy(data, v->data, bytes);
    return dnnl_tp_success;
}

static dnnl_tp_status_t end(import_t *im, size_t nin, char *const *in) {
    dtp_part_t *part = im->part;
    const scope_t *s = im->frame->scope;
    keeping_t kept = {.room = {0}};
    dtp_onnx_names_init(&kept.met, &im->memory, 0);
    DTP_ONNX_TRY(keep_scope(part, s));
    for (const frame_t *f = im->frame; f; f = f->outer) DTP_ONNX_TRY(keep_frame(im, &kept, f));
    part->nin = (int)nin;
    part->in = dtp_import_alloc(&part->memory, (nin + 1) * sizeof *part->in);
    if (!part->in) return dnnl_tp_out_of_memory;
    for (size_t i = 0; i < nin; ++i) DTP_ONNX_TRY(keep_input(part, s, in[i], &part->in[i]));
    return (dnnl_tp_status_t)DTP_PART_ENDS;
}

dnnl_tp_status_t dtp_part_end(import_t *im) { return end(im, im->part->cut->n_input, im->part->cut->input); }

bool dtp_part_ends_behind(cv_t *cv, const graph_proto_t *body) {
    import_t *im = cv->im;
    if (cv->status || !im->part || im->graph != im->root ||
        !deciding_inputs(im, cv->scope, cv->row, cv->node))
        return false;
    const frame_t frame = {.outer = im->frame, .scope = cv->body, .graph = body, .at = body->n_node};
    im->part->cut = cv->node;
    im->part->row = cv->row;
    im->part->since = cv->since;
    im->part->needs = 1;
    im->frame = &frame;
    cv->status = end(im, 1, &body->output[0]->name);
    im->frame = frame.outer;
    return true;
}
