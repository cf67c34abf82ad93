/* Runs of models, in parts where sizes depend on data (part.h).
 *
 * A run goes from part to part: it runs a part's graph, adds the tensors that later nodes read to those that are given,
 * computes the node at the end or makes what it needs known, and asks for the next part. Given tensors live to the end of
 * the run. Parts are calls of the session, by the sizes and the known elements of what was given before; so the same sizes
 * again find all parts compiled. */
#include "onnx/session.h"

#include <string.h>

typedef struct {
    session_t *session;
    const dnnl_tp_run_opts_t *opts;
    request_t request;
    int room; /* of the given tensors */
} run_t;

static void *bytes_for(run_t *run, const dnnl_tp_tensor_info_t *info) {
    return dtp_import_alloc(&run->request.memory,
                            (size_t)dtp_onnx_elems(info) * dtp_onnx_type_size(info->data_type) + 1);
}

static dnnl_tp_status_t give(run_t *run, const dtp_given_t *x) {
    request_t *r = &run->request;
    DTP_ONNX_TRY(
        dtp_import_grow(&r->memory, (void **)&r->given, &run->room, r->ngiven + 1, sizeof *r->given));
    r->given[r->ngiven] = *x;
    if (*x->path) { /* the part that has it may end before the run */
        const size_t bytes = strlen(x->path) + 1;
        char *path = dtp_import_alloc(&r->memory, bytes);
        if (!path) return dnnl_tp_out_of_memory;
        r->given[r->ngiven].path = memcpy(path, x->path, bytes);
    }
    ++r->ngiven;
    return dnnl_tp_success;
}

static dtp_given_t *find_given(const run_t *run, const dtp_given_t *x) {
    for (int i = 0; i < run->request.ngiven; ++i)
        if (!strcmp(run->request.given[i].name, x->name) && !strcmp(run->request.given[i].path, x->path))
            return &run->request.given[i];
    return NULL;
}

/* An input of the model that has the name of a tensor, as a given one. */
static bool find_arg(const run_t *run, const dtp_given_t *wanted, dtp_given_t *x) {
    const char *name = wanted->name;
    if (*wanted->path) return false;
    for (int i = 0; i < run->session->nin; ++i) {
        const dnnl_tp_onnx_arg_t *arg = &run->request.args[i];
        if (strcmp(run->request.ports[i].name, name) || !arg->info) continue;
        *x = (dtp_given_t){
            .name = run->request.ports[i].name, .path = "", .info = *arg->info, .data = arg->data};
        return true;
    }
    return false;
}

static dnnl_tp_status_t run_graph(run_t *run, call_t *c, int nout, void *const *out) {
    const request_t *r = &run->request;
    session_t *s = run->session;
    seat_t *seat;
    int n = 0;
    void **in = dtp_import_alloc(&run->request.memory, (size_t)(s->nin + r->ngiven + 1) * sizeof *in);
    if (!in) return dnnl_tp_out_of_memory;
    for (int i = 0; i < r->ngiven; ++i)
        if (r->is_part && c->graph->part.inputs[i] >= 0) in[n++] = (void *)(uintptr_t)r->given[i].data;
    for (int i = 0; i < s->nin; ++i)
        if (c->graph->inputs[i] >= 0) in[n++] = (void *)(uintptr_t)r->args[i].data;
    DTP_ONNX_TRY(dtp_session_take_seat(s, &seat));
    const dnnl_tp_status_t status = dnnl_tp_executable_run(c->exe, seat->stream, n, in, nout, out, run->opts);
    dtp_session_give_seat(s, seat);
    return status;
}

/* The graph's outputs become given tensors. */
static dnnl_tp_status_t run_part(run_t *run, call_t *c) {
    const dtp_part_t *part = &c->graph->part;
    if (!part->nlive) return dnnl_tp_success;
    void **out = dtp_import_alloc(&run->request.memory, (size_t)part->nlive * sizeof *out);
    dtp_given_t *made = dtp_import_alloc(&run->request.memory, (size_t)part->nlive * sizeof *made);
    if (!out || !made) return dnnl_tp_out_of_memory;
    for (int i = 0; i < part->nlive; ++i) {
        made[i] = part->live[i];
        DTP_ONNX_TRY(dnnl_tp_executable_query(c->exe, part->live_values[i], &made[i].info));
        made[i].data = out[i] = bytes_for(run, &made[i].info);
        if (!out[i]) return dnnl_tp_out_of_memory;
    }
    DTP_ONNX_TRY(run_graph(run, c, part->nlive, out));
    for (int i = 0; i < part->nlive; ++i) DTP_ONNX_TRY(give(run, &made[i]));
    return dnnl_tp_success;
}

/* Input i of the node at the end of a part, with its elements; false: it is absent. */
static bool input_of(run_t *run, const dtp_part_t *part, int i, dtp_given_t *x) {
    *x = part->in[i];
    if (!x->name || x->data) return x->name != NULL;
    const dtp_given_t *have = find_given(run, x);
    if (have) *x = *have;
    return have || find_arg(run, &part->in[i], x);
}

/* The results of the node at the end of a part. */
static dnnl_tp_status_t compute(run_t *run, const dtp_part_t *part) {
    const node_proto_t *n = part->cut;
    dtp_given_t room[DTP_BY_DATA_IN] = {{0}}, out[DTP_BY_DATA_OUT] = {{0}};
    const dtp_given_t *in[DTP_BY_DATA_IN] = {NULL};
    import_t im = {.model = run->session->model, .nodes_left = 1, .bytes_left = SIZE_MAX};
    cv_t cv = {.im = &im,
               .scope = part->scope,
               .node = n,
               .row = part->row,
               .since = part->since,
               .nin = (int)n->n_input,
               .nout = (int)n->n_output};
    im.memory = run->request.memory;
    for (int i = 0; i < part->nin && i < DTP_BY_DATA_IN; ++i) {
        if (input_of(run, part, i, &room[i])) in[i] = &room[i];
        else if (part->in[i].name)
            return dtp_onnx_fail(dnnl_tp_unimplemented, "the tensor '%s' must be known", part->in[i].name);
    }
    dtp_onnx_by_data_run(&cv, in, out);
    run->request.memory = im.memory;
    for (int i = 0; i < cv.nout && i < DTP_BY_DATA_OUT && !cv.status; ++i) {
        if (!*n->output[i]) continue;
        out[i].name = n->output[i];
        out[i].path = part->scope->path;
        cv.status = give(run, &out[i]);
    }
    return cv.status;
}

/* What the node at the end of a part needs becomes known. */
static dnnl_tp_status_t make_known(run_t *run, const dtp_part_t *part) {
    for (int i = 0; i < part->nin; ++i) {
        if (i >= (int)sizeof part->needs * 8 || !(part->needs >> i & 1)) continue;
        dtp_given_t *have = find_given(run, &part->in[i]), x;
        if (have) have->is_known = true;
        else if (find_arg(run, &part->in[i], &x)) {
            x.is_known = true;
            DTP_ONNX_TRY(give(run, &x));
        } else {
            return dtp_onnx_fail(dnnl_tp_unimplemented, "the tensor '%s' must be known", part->in[i].name);
        }
    }
    return dnnl_tp_success;
}

/* What is known of given tensors; each part adds to it, so parts end. */
static int facts(const request_t *r) {
    int n = r->ngiven;
    for (int i = 0; i < r->ngiven; ++i) n += r->given[i].is_known;
    return n;
}

/* The call for the last part, or for the whole model. */
static dnnl_tp_status_t reach_last(run_t *run, call_t **last) {
    request_t *r = &run->request;
    for (int before = -1; facts(r) > before;) {
        call_t *c;
        before = facts(r);
        r->key_bytes = 0;
        DTP_ONNX_TRY(dtp_session_call(run->session, r, &c));
        if (!c->graph->part.cut) {
            *last = c;
            return dnnl_tp_success;
        }
        dnnl_tp_status_t status = run_part(run, c);
        if (!status)
            status = c->graph->part.needs ? make_known(run, &c->graph->part) : compute(run, &c->graph->part);
        (void)dnnl_tp_onnx_call_destroy(c);
        if (status) return status;
    }
    return dtp_onnx_fail(dnnl_tp_runtime_error, "the parts of the model do not end");
}

static dnnl_tp_status_t run_last(run_t *run, call_t *c, dnnl_tp_onnx_room_fn_t *room, void *ctx) {
    const int nout = run->session->nout;
    void **out = dtp_import_alloc(&run->request.memory, (size_t)(nout + 1) * sizeof *out);
    if (!out) return dnnl_tp_out_of_memory;
    for (int i = 0; i < nout; ++i) {
        dnnl_tp_tensor_info_t info;
        DTP_ONNX_TRY(dnnl_tp_onnx_call_output(c, i, &info));
        out[i] = room(ctx, i, &info);
        if (!out[i]) return dtp_onnx_fail(dnnl_tp_out_of_memory, "there is no room for output %d", i);
    }
    return run_graph(run, c, nout, out);
}

dnnl_tp_status_t dnnl_tp_onnx_session_run(dnnl_tp_onnx_session_t session, int nargs,
                                          const dnnl_tp_onnx_arg_t *args, dnnl_tp_onnx_room_fn_t *room,
                                          void *ctx, const dnnl_tp_run_opts_t *opts) {
    if (!session || !room || (nargs > 0 && !args))
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "session, args or room is NULL");
    if (nargs != session->nin)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "%d inputs are described, the model has %d", nargs,
                             session->nin);
    for (int i = 0; i < nargs; ++i)
        if (args[i].info && !args[i].data && dtp_onnx_elems(args[i].info) > 0)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input %d has no data", i);
    run_t run = {
        .session = session, .opts = opts, .request = {.args = args, .deadline_ns = dtp_deadline_of(opts)}};
    dtp_import_memory_init(&run.request.memory);
    pthread_mutex_lock(&session->lock);
    run.request.is_part = session->in_parts;
    pthread_mutex_unlock(&session->lock);
    call_t *c = NULL;
    dnnl_tp_status_t status = reach_last(&run, &c);
    if (status == dnnl_tp_unimplemented && !run.request.is_part) {
        run.request.is_part = true;
        status = reach_last(&run, &c);
        pthread_mutex_lock(&session->lock);
        session->in_parts |= !status;
        pthread_mutex_unlock(&session->lock);
    }
    if (!status) status = run_last(&run, c, room, ctx);
    if (c) (void)dnnl_tp_onnx_call_destroy(c);
    dtp_import_memory_free(&run.request.memory);
    return status;
}
