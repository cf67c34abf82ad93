/* Sessions of models, see dnnl_tp_onnx_session.h: a list of calls, newest use first.
 *
 * A call's key says everything that it was made for: which inputs were given, their shapes, and the elements of those that
 * determine shapes. Calls and graphs count their users; the list is one of them. The lock of a session protects the lists
 * and the counts, never an import, a compilation or a run.
 *
 * A graph serves shapes whose key has the same head: which inputs were given, and the determining elements; as a rule all
 * of them. Where a graph with open sizes is refused, one is made for the shapes that come, with guards, and serves all for
 * which they hold (sizes.h); where that fails, each set of shapes gets a graph of its own. All graphs share constants and
 * packed weights: `weights`, a graph without values, keeps them from the first on.
 *
 * A part of a model (part.h) is a call, too: what earlier parts gave is in its key. */
#include "onnx/session.h"
#include "onnx/state.h"

#include <string.h>

void *dtp_session_alloc(size_t size) {
    const dnnl_tp_allocator_t *a = dnnl_tp_get_allocator();
    void *p = a->alloc(a->ctx, size, _Alignof(max_align_t));
    if (!p) (void)dtp_onnx_fail(dnnl_tp_out_of_memory, "out of memory");
    return p ? memset(p, 0, size) : NULL;
}
void dtp_session_free(void *p) {
    const dnnl_tp_allocator_t *a = dnnl_tp_get_allocator();
    if (p) a->free(a->ctx, p);
}

/* ---- Seats ------------------------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_session_take_seat(session_t *s, seat_t **seat) {
    pthread_mutex_lock(&s->lock);
    *seat = s->seats;
    if (*seat) s->seats = (*seat)->next;
    pthread_mutex_unlock(&s->lock);
    if (*seat) return dnnl_tp_success;
    seat_t *made = dtp_session_alloc(sizeof *made + (size_t)s->nin * sizeof *made->in);
    if (!made) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status =
        dnnl_tp_stream_create_v2(&made->stream, s->engine, dnnl_tp_stream_default_flags, s->attr);
    if (!status && s->opts.trace) status = dnnl_tp_stream_set_trace(made->stream, s->opts.trace, NULL);
    if (status) {
        (void)dnnl_tp_stream_destroy(made->stream);
        dtp_session_free(made);
    } else *seat = made;
    return status;
}

void dtp_session_give_seat(session_t *s, seat_t *seat) {
    pthread_mutex_lock(&s->lock);
    seat->next = s->seats;
    s->seats = seat;
    pthread_mutex_unlock(&s->lock);
}

/* ---- Ends -------------------------------------------------------------------------------------------------- */

void dtp_session_unref(session_t *s) {
    if (atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) != 1) return;
    for (seat_t *x = s->seats, *next; x; x = next) {
        next = x->next;
        if (dnnl_tp_stream_destroy(x->stream) == dnnl_tp_would_deadlock)
            (void)dnnl_tp_stream_give_away(x->stream); /* inside running work */
        dtp_session_free(x);
    }
    dtp_grown_free_all(s);
    (void)dnnl_tp_stream_attr_destroy(s->attr);
    (void)dnnl_tp_graph_destroy(s->weights);
    (void)dnnl_tp_onnx_close(s->model);
    (void)pthread_mutex_destroy(&s->lock);
    dtp_session_free(s);
}

/* Under the lock; the graph that nobody uses any more is the caller's. */
static model_graph_t *graph_unref(session_t *s, model_graph_t *g) {
    if (!g || --g->users) return NULL;
    for (model_graph_t **at = &s->graphs; *at; at = &(*at)->next)
        if (*at == g) {
            *at = g->next;
            break;
        }
    return g;
}

static void graph_free(model_graph_t *g) {
    if (!g) return;
    (void)dnnl_tp_graph_destroy(g->graph);
    dtp_import_memory_free(&g->part.memory);
    dtp_sizes_free(&g->sizes);
    dtp_session_free(g);
}

/* The list's use and the handles' are the same to a call; who lets go last frees it. */
static void call_unref(call_t *c) {
    if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) != 1) return;
    session_t *s = c->session;
    (void)dnnl_tp_executable_destroy(c->exe);
    pthread_mutex_lock(&s->lock);
    model_graph_t *g = graph_unref(s, c->graph);
    pthread_mutex_unlock(&s->lock);
    graph_free(g);
    dtp_session_free(c->key);
    dtp_session_free(c);
    dtp_session_unref(s);
}

dnnl_tp_status_t dnnl_tp_onnx_call_destroy(dnnl_tp_onnx_call_t call) {
    if (call) call_unref(call);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_session_destroy(dnnl_tp_onnx_session_t session) {
    if (!session) return dnnl_tp_success;
    pthread_mutex_lock(&session->lock);
    call_t *c = session->calls;
    session->calls = NULL;
    pthread_mutex_unlock(&session->lock);
    for (call_t *next; c; c = next) {
        next = c->next;
        call_unref(c);
    }
    dtp_session_unref(session);
    return dnnl_tp_success;
}

/* ---- Creation ----------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_onnx_session_create(dnnl_tp_onnx_session_t *session, dnnl_tp_onnx_model_t model,
                                             dnnl_tp_engine_t engine,
                                             const dnnl_tp_onnx_session_opts_t *opts) {
    enum { CALLS = 16 };
    if (!session) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "session is NULL");
    *session = NULL;
    if (!model || !engine) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "model or engine is NULL");
    const dnnl_tp_onnx_session_opts_t none = {.struct_size = sizeof none};
    if (!opts) opts = &none;
    const size_t oldest = offsetof(dnnl_tp_onnx_session_opts_t, batch),
                 older = offsetof(dnnl_tp_onnx_session_opts_t, fpmath_mode);
    if (opts->struct_size != sizeof *opts && opts->struct_size != older && opts->struct_size != oldest)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "struct_size is %zu, needed are %zu, %zu or %zu",
                             opts->struct_size, sizeof *opts, older, oldest);
    const int64_t batch = opts->struct_size > oldest ? opts->batch : 0;
    if (opts->max_calls < 0 || opts->max_nodes < 0 || batch < 0 || opts->deterministic < 0 ||
        opts->deterministic > 1)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                             "max_calls %d, max_nodes %lld, batch %lld or deterministic %d is out of range",
                             opts->max_calls, (long long)opts->max_nodes, (long long)batch,
                             opts->deterministic);
    const dnnl_tp_fpmath_mode_t mode =
        opts->struct_size == sizeof *opts ? opts->fpmath_mode : dnnl_tp_fpmath_mode_strict;
    if (mode != dnnl_tp_fpmath_mode_strict && mode != dnnl_tp_fpmath_mode_bf16)
        return dtp_onnx_fail(
            (unsigned)mode > dnnl_tp_fpmath_mode_tf32 ? dnnl_tp_invalid_arguments : dnnl_tp_unimplemented,
            "fpmath_mode is %s; models run in strict and bf16", dnnl_tp_fpmath_mode2str(mode));
    session_t *s = dtp_session_alloc(sizeof *s);
    if (!s) return dnnl_tp_out_of_memory;
    atomic_init(&s->users, 1);
    (void)pthread_mutex_init(&s->lock, NULL);
    dnnl_tp_status_t status = dtp_turns_init(s);
    dtp_onnx_model_ref(model);
    s->model = model;
    s->engine = engine;
    memcpy(&s->opts, opts, opts->struct_size);
    if (!s->opts.max_calls) s->opts.max_calls = CALLS;
    s->nin = (int)model->proto->graph->n_input;
    s->nout = (int)model->proto->graph->n_output;
    if (!status)
        status = opts->stream_attr ? dnnl_tp_stream_attr_clone(&s->attr, opts->stream_attr)
                                   : dnnl_tp_stream_attr_create(&s->attr, dnnl_tp_cpu);
    if (!status) status = dnnl_tp_graph_create(&s->weights, dnnl_tp_cpu);
    seat_t *first = NULL; /* it keeps engine and trace alive, too */
    if (!status) status = dtp_session_take_seat(s, &first);
    if (status) dtp_session_unref(s);
    else {
        dtp_session_give_seat(s, first);
        *session = s;
    }
    return status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t put(request_t *r, const void *bytes, size_t size) {
    if (r->key_bytes + size > r->room) {
        const size_t room = 2 * (r->key_bytes + size);
        uint8_t *key = dtp_import_alloc(&r->memory, room);
        if (!key) return dnnl_tp_out_of_memory;
        if (r->key_bytes) memcpy(key, r->key, r->key_bytes);
        r->key = key;
        r->room = room;
    }
    if (size) memcpy(r->key + r->key_bytes, bytes, size);
    r->key_bytes += size;
    return dnnl_tp_success;
}

static bool is_value(const request_t *r, int i) {
    return r->args[i].info && (r->ports[i].flags & DNNL_TP_ONNX_DETERMINES_SHAPES ||
                               (r->ports[i].flags & DNNL_TP_ONNX_DECIDES_BRANCHES && r->args[i].data));
}

static dnnl_tp_status_t put_shape(request_t *r, int i) {
    const dnnl_tp_tensor_info_t *t = r->args[i].info;
    DTP_ONNX_TRY(put(r, &t->ndims, sizeof t->ndims));
    return put(r, t->dims, (size_t)t->ndims * sizeof *t->dims);
}

static dnnl_tp_status_t check_arg(const dnnl_tp_onnx_port_t *port, const dnnl_tp_onnx_arg_t *arg) {
    const dnnl_tp_tensor_info_t *t = arg->info;
    if (!t) {
        if (port->flags & DNNL_TP_ONNX_HAS_DEFAULT) return dnnl_tp_success;
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input '%s' is not given and has no default",
                             port->name);
    }
    if (port->onnx_type && port->info.data_type == dnnl_tp_data_type_undef)
        return dtp_onnx_fail(dnnl_tp_unimplemented,
                             "input '%s' has elements of type %s, which is not implemented", port->name,
                             dtp_onnx_type_name(port->onnx_type));
    if (t->data_type != port->info.data_type)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input '%s' is %s, the model has %s", port->name,
                             dnnl_tp_dt2str(t->data_type), dnnl_tp_dt2str(port->info.data_type));
    if (port->info.ndims >= 0 && t->ndims != port->info.ndims)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input '%s' has the rank %d, the model has %d",
                             port->name, t->ndims, port->info.ndims);
    if (dtp_onnx_elems(t) < 0)
        return dtp_onnx_fail(
            dnnl_tp_invalid_arguments,
            "input '%s' has a negative dimension, too large ones, or a rank (%d) outside of 0..%d",
            port->name, t->ndims, DNNL_TP_MAX_NDIMS);
    for (int d = 0; d < port->info.ndims; ++d) {
        const int64_t declared = port->info.dims[d];
        if (declared != DNNL_TP_RUNTIME_DIM_VAL && declared != t->dims[d])
            return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                                 "input '%s': dimension %d is %lld, the model has %lld", port->name, d,
                                 (long long)t->dims[d], (long long)declared);
    }
    if (port->flags & DNNL_TP_ONNX_DETERMINES_SHAPES && !arg->data && dtp_onnx_elems(t) > 0)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                             "input '%s' determines shapes, so its data are needed", port->name);
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_args(request_t *r, const session_t *s) {
    enum { PART = 4 }; /* a part is not the same as a graph of the whole model */
    const int64_t batch = s->opts.batch;
    r->ports = dtp_import_alloc(&r->memory, (size_t)s->nin * sizeof *r->ports);
    if (!r->ports) return dnnl_tp_out_of_memory;
    for (int i = 0; i < s->nin; ++i) {
        DTP_ONNX_TRY(dnnl_tp_onnx_input(s->model, i, &r->ports[i]));
        if (batch && r->ports[i].info.ndims > 0) r->ports[i].info.dims[0] = batch;
    }
    for (int i = 0; i < s->nin; ++i) {
        DTP_ONNX_TRY(check_arg(&r->ports[i], &r->args[i]));
        const uint8_t given = (uint8_t)((r->args[i].info != NULL) + is_value(r, i) + (r->is_part ? PART : 0));
        DTP_ONNX_TRY(put(r, &given, 1));
        if (!is_value(r, i)) continue;
        DTP_ONNX_TRY(put_shape(r, i));
        const dnnl_tp_tensor_info_t *t = r->args[i].info;
        DTP_ONNX_TRY(put(r, r->args[i].data, (size_t)dtp_onnx_elems(t) * dtp_onnx_type_size(t->data_type)));
    }
    for (int i = 0; i < r->ngiven; ++i) {
        const dtp_given_t *x = &r->given[i];
        const size_t bytes = (size_t)dtp_onnx_elems(&x->info) * dtp_onnx_type_size(x->info.data_type);
        DTP_ONNX_TRY(put(r, &x->name, sizeof x->name));
        DTP_ONNX_TRY(put(r, x->path, strlen(x->path) + 1));
        DTP_ONNX_TRY(put(r, &x->is_known, sizeof x->is_known));
        DTP_ONNX_TRY(put(r, &x->info.ndims, sizeof x->info.ndims));
        DTP_ONNX_TRY(put(r, x->info.dims, (size_t)x->info.ndims * sizeof *x->info.dims));
        if (x->is_known) DTP_ONNX_TRY(put(r, x->data, bytes));
    }
    r->head_bytes = r->key_bytes;
    for (int i = 0; i < s->nin; ++i)
        if (r->args[i].info && !is_value(r, i)) DTP_ONNX_TRY(put_shape(r, i));
    return dnnl_tp_success;
}

/* Under the lock. The call moves to the front; the caller becomes a user. */
static call_t *find_call(session_t *s, const request_t *r) {
    for (call_t **at = &s->calls; *at; at = &(*at)->next) {
        call_t *c = *at;
        if (c->key_bytes != r->key_bytes || (r->key_bytes && memcmp(c->key, r->key, r->key_bytes))) continue;
        *at = c->next;
        c->next = s->calls;
        s->calls = c;
        (void)atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
        return c;
    }
    return NULL;
}

/* Under the lock; the head that graphs of a kind have. */
static model_graph_t *find_graph(session_t *s, request_t *r, dtp_kind_t kind) {
    const size_t bytes = kind == DTP_GRAPH_EXACT ? r->key_bytes : r->head_bytes;
    for (model_graph_t *g = s->graphs; g; g = g->next) {
        if (g->kind != kind || g->head_bytes != bytes || (bytes && memcmp(g->head, r->key, bytes))) continue;
        if (kind == DTP_GRAPH_GUARDED && !dtp_session_holds(s, r, &g->sizes)) {
            ++s->stats.failed_guards;
            continue;
        }
        ++g->users;
        return g;
    }
    return NULL;
}

dnnl_tp_onnx_graph_opts_t dtp_session_graph_opts(const session_t *s, dnnl_tp_onnx_value_t *values,
                                                 const char **fed, dnnl_tp_value_t *inputs,
                                                 dnnl_tp_value_t *outputs) {
    return (dnnl_tp_onnx_graph_opts_t){.struct_size = sizeof(dnnl_tp_onnx_graph_opts_t),
                                       .batch = s->opts.batch,
                                       .values = values,
                                       .fed = fed,
                                       .max_nodes = s->opts.max_nodes,
                                       .max_bytes = s->opts.max_bytes,
                                       .inputs = inputs,
                                       .outputs = outputs,
                                       .share = s->weights};
}

dnnl_tp_status_t dtp_session_compile(const session_t *s, const_dnnl_tp_graph_t graph, int n,
                                     const dnnl_tp_tensor_info_t *shapes, dnnl_tp_executable_t *exe) {
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                         .stream_attr = s->attr,
                                         .memory_budget = s->opts.memory_budget,
                                         .deterministic = s->opts.deterministic,
                                         .fpmath_mode = s->opts.fpmath_mode};
    return dnnl_tp_executable_compile(exe, graph, s->engine, n, shapes, &opts);
}

static dnnl_tp_status_t import(session_t *s, request_t *r, model_graph_t *g) {
    const size_t nin = (size_t)s->nin;
    dnnl_tp_onnx_value_t *values = dtp_import_alloc(&r->memory, nin * sizeof *values);
    const char **fed = dtp_import_alloc(&r->memory, nin * sizeof *fed);
    const dnnl_tp_tensor_info_t **shapes = dtp_session_shapes(s, r);
    if (!values || !fed || !shapes) return dnnl_tp_out_of_memory;
    dnnl_tp_onnx_graph_opts_t o = dtp_session_graph_opts(s, values, fed, g->inputs, g->outputs);
    if (g->kind != DTP_GRAPH_OPEN) o.shapes = shapes;
    for (int i = 0; i < s->nin; ++i) {
        const dnnl_tp_onnx_port_t *port = &r->ports[i];
        if (is_value(r, i))
            values[o.nvalues++] = (dnnl_tp_onnx_value_t){port->name, *r->args[i].info, r->args[i].data};
        else if (r->args[i].info && port->flags & DNNL_TP_ONNX_HAS_DEFAULT) fed[o.nfed++] = port->name;
    }
    g->part.ngiven = r->ngiven;
    g->part.given = r->given;
    dnnl_tp_status_t status = dtp_onnx_part_create(&g->graph, s->model, &o, r->is_part ? &g->part : NULL,
                                                   g->kind == DTP_GRAPH_GUARDED ? &g->sizes : NULL);
    if (g->kind == DTP_GRAPH_GUARDED &&
        status == dnnl_tp_unimplemented) { /* maybe for the sake of one of them */
        dtp_sizes_free(&g->sizes);
        dtp_sizes_init(&g->sizes);
        g->sizes.knows_floats = true;
        status = dtp_onnx_part_create(&g->graph, s->model, &o, NULL, &g->sizes);
    }
    g->part.given = NULL; /* the request's */
    return status;
}

/* A new graph, of which the caller is a user; or one that somebody else made meanwhile. */
static dnnl_tp_status_t make_graph(session_t *s, request_t *r, dtp_kind_t kind, model_graph_t **graph) {
    const size_t ports = (size_t)(s->nin + s->nout + r->ngiven) * sizeof(dnnl_tp_value_t);
    model_graph_t *g = dtp_session_alloc(sizeof *g + ports + r->key_bytes);
    if (!g) return dnnl_tp_out_of_memory;
    g->inputs = (dnnl_tp_value_t *)(void *)(g + 1);
    g->outputs = g->inputs + s->nin;
    g->part.inputs = g->outputs + s->nout;
    dtp_import_memory_init(&g->part.memory);
    uint8_t *head = (uint8_t *)(void *)(g->part.inputs + r->ngiven);
    if (r->key_bytes) memcpy(head, r->key, r->key_bytes);
    g->head = head;
    g->kind = kind;
    dtp_sizes_init(&g->sizes);
    g->head_bytes = kind == DTP_GRAPH_EXACT ? r->key_bytes : r->head_bytes;
    g->users = 1;
    const dnnl_tp_status_t status = import(s, r, g);
    if (status) {
        graph_free(g);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    ++s->stats.imports;
    *graph = find_graph(s, r, kind);
    if (!*graph) {
        g->next = s->graphs;
        s->graphs = *graph = g;
        ++s->stats.graphs;
        g = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    graph_free(g);
    return dnnl_tp_success;
}

static dnnl_tp_status_t compile(session_t *s, request_t *r, call_t *c) {
    const dtp_part_t *part = &c->graph->part;
    if (part->cut && !part->nlive) return dnnl_tp_success; /* nothing to run */
    dnnl_tp_tensor_info_t *shapes =
        dtp_import_alloc(&r->memory, (size_t)(s->nin + r->ngiven) * sizeof *shapes);
    if (!shapes) return dnnl_tp_out_of_memory;
    int n = 0;
    for (int i = 0; i < r->ngiven; ++i)
        if (part->inputs[i] >= 0) shapes[n++] = r->given[i].info;
    for (int i = 0; i < s->nin; ++i)
        if (c->graph->inputs[i] >= 0) shapes[n++] = *r->args[i].info;
    return dtp_session_compile(s, c->graph->graph, n, shapes, &c->exe);
}

/* The call's graph and executable. */
static dnnl_tp_status_t fill_call(session_t *s, request_t *r, dtp_kind_t kind, call_t *c) {
    pthread_mutex_lock(&s->lock);
    c->graph = find_graph(s, r, kind);
    pthread_mutex_unlock(&s->lock);
    if (!c->graph) DTP_ONNX_TRY(make_graph(s, r, kind, &c->graph));
    DTP_ONNX_TRY(compile(s, r, c));
    if (kind != DTP_GRAPH_GUARDED || dtp_session_is_as_expected(s, r, c)) return dnnl_tp_success;
    return dtp_onnx_fail(dnnl_tp_runtime_error, "the sizes of an output are not those of its expressions");
}

/* A failed attempt at a call leaves nothing behind. */
static void empty_call(session_t *s, call_t *c) {
    pthread_mutex_lock(&s->lock);
    model_graph_t *gone = graph_unref(s, c->graph);
    pthread_mutex_unlock(&s->lock);
    graph_free(gone);
    (void)dnnl_tp_executable_destroy(c->exe);
    c->graph = NULL;
    c->exe = NULL;
}

static dnnl_tp_status_t make_call(session_t *s, request_t *r, call_t **call) {
    call_t *c = dtp_session_alloc(sizeof *c);
    if (!c) return dnnl_tp_out_of_memory;
    atomic_init(&c->users, 1);
    c->session = s;
    (void)atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
    c->key = dtp_session_alloc(r->key_bytes + 1);
    c->key_bytes = r->key_bytes;
    dnnl_tp_status_t status = c->key ? dnnl_tp_success : dnnl_tp_out_of_memory;
    if (!status) {
        if (r->key_bytes) memcpy(c->key, r->key, r->key_bytes);
        pthread_mutex_lock(&s->lock);
        dtp_kind_t kind = r->is_part ? DTP_GRAPH_EXACT : s->kind, keep = kind;
        pthread_mutex_unlock(&s->lock);
        while ((status = fill_call(s, r, kind, c)) && status != dnnl_tp_out_of_memory &&
               kind != DTP_GRAPH_EXACT) { /* it may need the sizes */
            /* A graph with guards that serves other shapes stays. */
            if (kind == DTP_GRAPH_OPEN || !c->graph) keep = kind + 1;
            empty_call(s, c);
            ++kind;
        }
        pthread_mutex_lock(&s->lock);
        if (!status && !r->is_part && keep > s->kind) s->kind = keep;
        pthread_mutex_unlock(&s->lock);
    }
    if (status) call_unref(c);
    else *call = c;
    return status;
}

/* Puts a new call in front, unless somebody was faster: then that one. What is too much leaves at the end. */
static call_t *keep(session_t *s, const request_t *r, call_t *made) {
    call_t *dropped = NULL;
    pthread_mutex_lock(&s->lock);
    call_t *c = find_call(s, r);
    if (c) dropped = made;
    else {
        c = made;
        (void)atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
        c->next = s->calls;
        s->calls = c;
        ++s->stats.compilations;
        if (++s->stats.calls > s->opts.max_calls) {
            call_t **last = &s->calls;
            while ((*last)->next) last = &(*last)->next;
            dropped = *last;
            *last = NULL;
            --s->stats.calls;
            ++s->stats.evictions;
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (dropped) call_unref(dropped);
    return c;
}

dnnl_tp_status_t dtp_session_call(session_t *s, request_t *r, call_t **call) {
    call_t *made = NULL;
    DTP_ONNX_TRY(read_args(r, s));
    dtp_turn_t turn = {
        .list = &s->calls, .key = r->key, .key_bytes = r->key_bytes, .deadline_ns = r->deadline_ns};
    pthread_mutex_lock(&s->lock);
    do *call = find_call(s, r);
    while (!*call && dtp_turn_wait(s, &turn));
    pthread_mutex_unlock(&s->lock);
    if (*call) return dnnl_tp_success;
    if (turn.is_late) return dtp_turn_late();
    const dnnl_tp_status_t status = make_call(s, r, &made);
    if (!status) *call = keep(s, r, made);
    dtp_turn_end(s, &turn, status != dnnl_tp_success);
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_session_get_call(dnnl_tp_onnx_call_t *call, dnnl_tp_onnx_session_t session,
                                               int nargs, const dnnl_tp_onnx_arg_t *args) {
    if (!call) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "call is NULL");
    *call = NULL;
    if (!session || (nargs > 0 && !args))
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "session or args is NULL");
    if (nargs != session->nin)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "%d inputs are described, the model has %d", nargs,
                             session->nin);
    request_t r = {.args = args};
    dtp_import_memory_init(&r.memory);
    const dnnl_tp_status_t status = dtp_session_call(session, &r, call);
    dtp_import_memory_free(&r.memory);
    return status;
}

/* ---- Runs and questions --------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_onnx_call_output(dnnl_tp_onnx_call_t call, int index, dnnl_tp_tensor_info_t *info) {
    if (!call || !info) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "call or info is NULL");
    if (index < 0 || index >= call->session->nout)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "output %d of %d", index, call->session->nout);
    return dnnl_tp_executable_query(call->exe, call->graph->outputs[index], info);
}

dnnl_tp_status_t dnnl_tp_onnx_call_compiled(dnnl_tp_onnx_call_t call, const_dnnl_tp_graph_t *graph,
                                            const_dnnl_tp_executable_t *executable) {
    if (!call) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "call is NULL");
    if (graph) *graph = call->graph->graph;
    if (executable) *executable = call->exe;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_call_run(dnnl_tp_onnx_call_t call, const void *const *in, void *const *out,
                                       const dnnl_tp_run_opts_t *opts) {
    if (!call || !out) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "call or out is NULL");
    session_t *s = call->session;
    if (s->nin && !in) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "in is NULL");
    seat_t *seat;
    DTP_ONNX_TRY(dtp_session_take_seat(s, &seat));
    int n = 0;
    for (int i = 0; i < s->nin; ++i)
        if (call->graph->inputs[i] >= 0) seat->in[n++] = (void *)(uintptr_t)in[i];
    const dnnl_tp_status_t status =
        dnnl_tp_executable_run(call->exe, seat->stream, n, seat->in, s->nout, out, opts);
    dtp_session_give_seat(s, seat);
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_session_query(dnnl_tp_onnx_session_t session,
                                            dnnl_tp_onnx_session_stats_t *stats) {
    const size_t older = offsetof(dnnl_tp_onnx_session_stats_t, imports),
                 size = session && stats ? stats->struct_size : 0;
    if (size != sizeof *stats && size != older)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or another struct_size");
    pthread_mutex_lock(&session->lock);
    memcpy(stats, &session->stats, size);
    pthread_mutex_unlock(&session->lock);
    stats->struct_size = size;
    return dnnl_tp_success;
}
