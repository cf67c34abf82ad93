/* Models that are compiled for a capacity of the past: import, proof that results do not depend on the capacity (growing.h),
 * compilation, and the session's list of them, newest use first. */
#include "onnx/state.h"

#include <stdio.h>
#include <string.h>

static void free_grown(dtp_grown_t *g) {
    (void)dnnl_tp_executable_destroy(g->exe);
    (void)dnnl_tp_graph_destroy(g->graph);
    dtp_session_free(g);
}

void dtp_grown_free_all(session_t *s) {
    for (dtp_grown_t *g = s->grown, *next; g; g = next) {
        next = g->next;
        free_grown(g);
    }
}

void dtp_grown_release(session_t *s, dtp_grown_t *grown) {
    pthread_mutex_lock(&s->lock);
    const bool is_last = !--grown->users;
    pthread_mutex_unlock(&s->lock);
    if (is_last) free_grown(grown);
}

/* Under the lock; moves it to the front. */
static dtp_grown_t *find(session_t *s, const dtp_grown_request_t *r) {
    for (dtp_grown_t **at = &s->grown; *at; at = &(*at)->next) {
        dtp_grown_t *g = *at;
        if (g->key_bytes != r->key_bytes || memcmp(g->key, r->key, r->key_bytes)) continue;
        *at = g->next;
        g->next = s->grown;
        s->grown = g;
        ++g->users;
        return g;
    }
    return NULL;
}

/* ---- Imports --------------------------------------------------------------------------------------------- */

typedef struct {
    session_t *s;
    const dtp_grown_request_t *r;
    dtp_import_memory_t memory;
} making_t;

/* An input as it is with this many keys. */
static dnnl_tp_tensor_info_t info_of(const dtp_grown_input_t *x, int64_t capacity, int64_t total) {
    dnnl_tp_tensor_info_t info = x->info;
    for (int d = 0; d < info.ndims; ++d)
        if (x->totals >> d & 1) info.dims[d] = total;
    if (x->role == DTP_ROLE_PAST) info.dims[x->axis] = capacity;
    return info;
}

/* Elements that are all the same. */
static const void *filled(making_t *m, const dnnl_tp_tensor_info_t *info, int64_t value) {
    const int64_t n = dtp_onnx_elems(info);
    uint8_t *to =
        n < 0 ? NULL : dtp_import_alloc(&m->memory, (size_t)n * dtp_onnx_type_size(info->data_type) + 1);
    for (int64_t i = 0; to && i < n; ++i) switch (info->data_type) {
        case dnnl_tp_f32: ((float *)(void *)to)[i] = (float)value; break;
        case dnnl_tp_s64: ((int64_t *)(void *)to)[i] = value; break;
        case dnnl_tp_s32: ((int32_t *)(void *)to)[i] = (int32_t)value; break;
        default: to[i] = (uint8_t)value; break;
        }
    return to;
}

static dnnl_tp_status_t import(making_t *m, dtp_growing_t *g, dtp_grown_t *to) {
    session_t *s = m->s;
    const graph_proto_t *p = s->model->proto->graph;
    const size_t nin = (size_t)s->nin;
    dnnl_tp_onnx_value_t *values = dtp_import_alloc(&m->memory, nin * sizeof *values);
    const char **fed = dtp_import_alloc(&m->memory, nin * sizeof *fed);
    const dnnl_tp_tensor_info_t **shapes = dtp_import_alloc(&m->memory, nin * sizeof *shapes);
    dnnl_tp_tensor_info_t *infos = dtp_import_alloc(&m->memory, nin * sizeof *infos);
    if (!values || !fed || !shapes || !infos) return dnnl_tp_out_of_memory;
    dnnl_tp_onnx_graph_opts_t o = dtp_session_graph_opts(s, values, fed, to->inputs, to->outputs);
    o.shapes = shapes;
    for (size_t i = 0; i < nin; ++i) {
        const dtp_grown_input_t *x = &m->r->inputs[i];
        dnnl_tp_onnx_port_t port;
        if (x->role == DTP_ROLE_ABSENT) continue;
        infos[i] = info_of(x, g->capacity, g->total);
        shapes[i] = &infos[i];
        if (x->role == DTP_ROLE_VALUE || x->role == DTP_ROLE_ONES || x->role == DTP_ROLE_TOTAL) {
            const void *data = x->role == DTP_ROLE_VALUE  ? x->data
                               : x->role == DTP_ROLE_ONES ? filled(m, &infos[i], 1)
                                                          : filled(m, &infos[i], g->total);
            if (!data) return dnnl_tp_out_of_memory;
            values[o.nvalues++] = (dnnl_tp_onnx_value_t){p->input[i]->name, infos[i], data};
            continue;
        }
        DTP_ONNX_TRY(dnnl_tp_onnx_input(s->model, (int)i, &port));
        if (port.flags & DNNL_TP_ONNX_HAS_DEFAULT) fed[o.nfed++] = port.name;
    }
    dtp_part_t part = {.growing = g};
    dtp_import_memory_init(&part.memory);
    dnnl_tp_status_t status = dtp_onnx_part_create(&to->graph, s->model, &o, &part, NULL);
    if (!status && part.cut) status = dtp_onnx_fail(dnnl_tp_unimplemented, "the model runs in parts");
    dtp_import_memory_free(&part.memory);
    return status;
}

/* Whether no result depends on the capacity, and the outputs of the pairs are the new rows. */
static bool is_proven(const making_t *m, const dtp_growing_t *g, const dtp_grown_t *made) {
    bool good = !g->differs && g->nevents == g->other->nevents;
    for (int i = 0; good && i < m->s->nout; ++i) good = dtp_growing_judged(g, made->outputs[i]) == DTP_CLEAN;
    for (int i = 0; good && i < g->npairs; ++i) {
        const dtp_grown_input_t *x = &m->r->inputs[g->pairs[i].input];
        const dnnl_tp_tensor_info_t *past = &x->info,
                                    *rows = &g->values[made->outputs[g->pairs[i].output]].info;
        const int at = past->ndims - 2, features = 2 * past->ndims - 3 - x->axis;
        good = rows->ndims == past->ndims && rows->data_type == past->data_type &&
               rows->dims[at] == m->r->rows && rows->dims[at + 1] == past->dims[features];
        for (int d = 0; good && d < at; ++d) good = rows->dims[d] == past->dims[d];
    }
    return good;
}

static dnnl_tp_status_t fail_unproven(const dtp_growing_t *g) {
    char name[DTP_ONNX_NAME];
    const node_proto_t *n = g->spoiler;
    if (!n) return dtp_onnx_fail(dnnl_tp_unimplemented, "results depend on the number of rows of the past");
    return dtp_onnx_fail(dnnl_tp_unimplemented, "node '%s' (%.80s) depends on the number of rows of the past",
                         dtp_onnx_plain(n->name && *n->name ? n->name : n->output[0], name), n->op_type);
}

static dnnl_tp_status_t compile(making_t *m, const dtp_growing_t *g, dtp_grown_t *made) {
    session_t *s = m->s;
    dnnl_tp_tensor_info_t *shapes = dtp_import_alloc(&m->memory, (size_t)(s->nin + 1) * sizeof *shapes);
    int n = 0;
    if (!shapes) return dnnl_tp_out_of_memory;
    for (int i = 0; i < s->nin; ++i)
        if (made->inputs[i] >= 0) shapes[n++] = info_of(&m->r->inputs[i], g->capacity, g->total);
    const dtp_grown_input_t *past = &m->r->inputs[g->pairs[0].input];
    shapes[n++] = (dnnl_tp_tensor_info_t){
        .ndims = 1, .data_type = dnnl_tp_s32, .dims = {past->info.dims[g->pairs[0].stacked]}};
    DTP_ONNX_TRY(dtp_session_compile(s, made->graph, n, shapes, &made->exe));
    for (int i = 0; i < s->nout; ++i)
        DTP_ONNX_TRY(dnnl_tp_executable_query(made->exe, made->outputs[i], &made->results[i]));
    return dnnl_tp_success;
}

static dnnl_tp_status_t fill(making_t *m, dtp_grown_t *made) {
    const dtp_grown_request_t *r = m->r;
    /* What holds for the least number of rows and for the capacity holds between them, unless it comes and goes; what is
     * a function of places in two tensors of nearly the same length is one in all. */
    const int64_t capacities[] = {DTP_LEAST_PAST, r->capacity - 1, r->capacity};
    enum { IMPORTS = sizeof capacities / sizeof *capacities };
    dtp_growing_t all[IMPORTS];
    dnnl_tp_status_t status = dnnl_tp_success;
    int n = 0;
    for (int i = 0; i < IMPORTS && !status; ++i) {
        if (i && capacities[i] <= all[n - 1].capacity) continue;
        dtp_growing_t *g = &all[n++];
        *g = (dtp_growing_t){.npairs = r->npairs,
                             .pairs = r->pairs,
                             .capacity = capacities[i],
                             .total = capacities[i] + r->rows,
                             .other = n > 1 ? g - 1 : NULL};
        dtp_import_memory_init(&g->memory);
        (void)dnnl_tp_graph_destroy(made->graph);
        made->graph = NULL;
        status = import(m, g, made);
        if (!status && g->other && !is_proven(m, g, made)) status = fail_unproven(g);
    }
    made->most = all[n - 1].most;
    if (!status) status = compile(m, &all[n - 1], made);
    while (n-- > 0) dtp_import_memory_free(&all[n].memory);
    return status;
}

static dnnl_tp_status_t make(session_t *s, const dtp_grown_request_t *r, dtp_grown_t **grown) {
    const size_t ports = (size_t)(s->nin + s->nout), results = (size_t)s->nout;
    dtp_grown_t *g = dtp_session_alloc(sizeof *g + results * sizeof *g->results +
                                       ports * sizeof(dnnl_tp_value_t) + r->key_bytes);
    if (!g) return dnnl_tp_out_of_memory;
    g->users = 1;
    g->results = (dnnl_tp_tensor_info_t *)(void *)(g + 1);
    g->inputs = (dnnl_tp_value_t *)(void *)(g->results + s->nout);
    g->outputs = g->inputs + s->nin;
    g->key = (uint8_t *)(void *)(g->outputs + s->nout);
    g->key_bytes = r->key_bytes;
    memcpy(g->key, r->key, r->key_bytes);
    making_t m = {.s = s, .r = r};
    dtp_import_memory_init(&m.memory);
    const dnnl_tp_status_t status = fill(&m, g);
    dtp_import_memory_free(&m.memory);
    if (status == dnnl_tp_out_of_memory) {
        free_grown(g);
        return status;
    }
    g->capacity = r->capacity;
    g->rows = r->rows;
    if (status) { /* it is known from now on that the model does not fit */
        (void)snprintf(g->why, sizeof g->why, "%s", dnnl_tp_last_error());
        (void)dnnl_tp_executable_destroy(g->exe);
        (void)dnnl_tp_graph_destroy(g->graph);
        g->exe = NULL;
        g->graph = NULL;
    }
    *grown = g;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_grown_get(session_t *s, const dtp_grown_request_t *r, dtp_grown_t **grown) {
    dtp_grown_t *made = NULL, *dropped = NULL;
    dtp_turn_t turn = {
        .list = &s->grown, .key = r->key, .key_bytes = r->key_bytes, .deadline_ns = r->deadline_ns};
    pthread_mutex_lock(&s->lock);
    do *grown = find(s, r);
    while (!*grown && dtp_turn_wait(s, &turn));
    pthread_mutex_unlock(&s->lock);
    if (*grown) return dnnl_tp_success;
    if (turn.is_late) return dtp_turn_late();
    const dnnl_tp_status_t status = make(s, r, &made);
    if (status) {
        dtp_turn_end(s, &turn, true);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    *grown = find(s, r);
    if (*grown) dropped = made;
    else {
        int n = 1;
        made->next = s->grown;
        s->grown = *grown = made;
        ++made->users;
        s->stats.graphs += made->exe != NULL;
        s->stats.compilations += made->exe != NULL;
        for (dtp_grown_t **at = &s->grown; *at; at = &(*at)->next)
            if (n++ > s->opts.max_calls) {
                dropped = *at;
                *at = NULL;
                ++s->stats.evictions;
                break;
            }
    }
    if (dropped && --dropped->users) dropped = NULL; /* a run has it, which frees it */
    pthread_mutex_unlock(&s->lock);
    dtp_turn_end(s, &turn, false);
    if (dropped) free_grown(dropped);
    return dnnl_tp_success;
}
