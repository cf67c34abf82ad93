/* States, see dnnl_tp_onnx_state.h: tensors that a model hands from run to run.
 *
 * A tensor of a pair is {outer..., rows, inner}; the state has it with room for `capacity` rows. A run in place reads the
 * rows that are there, and gives the new ones, which are appended after it; so a run that fails changes nothing. Any other
 * run takes the tensor without room behind its rows, and gives it anew. Whether a run goes in place depends on the inputs
 * and the model (grown.c). */
#include "onnx/state.h"

#include <string.h>

enum { FIRST_CAPACITY = 64 };

/* ---- Pairs ----------------------------------------------------------------------------------------------- */

static int port_named(size_t n, value_proto_t *const *ports, const char *name) {
    for (size_t i = 0; i < n; ++i)
        if (ports[i]->name && !strcmp(ports[i]->name, name)) return (int)i;
    return -1;
}

/* The output that an input named with "past" goes with; -1: none. */
static int present_of(const graph_proto_t *g, const char *name) {
    static const char *const words[] = {"past_key_values", "past"};
    for (size_t w = 0; name && w < sizeof words / sizeof *words; ++w) {
        const char *at = strstr(name, words[w]);
        if (!at) continue;
        const size_t before = (size_t)(at - name), skip = strlen(words[w]);
        for (size_t i = 0; i < g->n_output; ++i) {
            const char *y = g->output[i]->name;
            if (y && !strncmp(y, name, before) && !strncmp(y + before, "present", strlen("present")) &&
                !strcmp(y + before + strlen("present"), at + skip))
                return (int)i;
        }
    }
    return -1;
}

static dnnl_tp_status_t find_pairs(state_t *st, const dnnl_tp_onnx_state_opts_t *o) {
    const graph_proto_t *g = st->session->model->proto->graph;
    for (int i = 0; i < o->npairs; ++i) {
        const char *past = o->pairs[i].past, *present = o->pairs[i].present;
        const dtp_pair_t pair = {past ? port_named(g->n_input, g->input, past) : -1,
                                 present ? port_named(g->n_output, g->output, present) : -1, 0, 0};
        if (pair.input < 0 || pair.output < 0)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                                 "pair %d: the model has no input '%s' or no output '%s'", i,
                                 past ? past : "", present ? present : "");
        st->pairs[st->npairs++] = pair;
    }
    for (size_t i = 0; !o->npairs && i < g->n_input; ++i) {
        const int output = present_of(g, g->input[i]->name);
        if (output >= 0) st->pairs[st->npairs++] = (dtp_pair_t){(int)i, output, 0, 0};
    }
    if (!st->npairs)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                             "the model has no pairs of past inputs and present outputs");
    for (int i = 0; i < st->npairs; ++i) {
        int *input = &st->pair_of[st->pairs[i].input],
            *output = &st->pair_of[st->session->nin + st->pairs[i].output];
        if (*input || *output)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "pair %d has an input or output of another one",
                                 i);
        *input = *output = 1 + i;
        const dnnl_tp_onnx_port_t *port = &st->ports[st->pairs[i].input];
        const int nd = port->info.ndims;
        if (nd < 2)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input '%s' has %d dimensions", port->name, nd);
        /* In {.., features, rows} the rows alone are open. */
        st->pairs[i].columns = port->info.dims[nd - 1] == DNNL_TP_RUNTIME_DIM_VAL &&
                               port->info.dims[nd - 2] != DNNL_TP_RUNTIME_DIM_VAL;
        st->pairs[i].stacked = nd == DTP_STACKED_PAST && port->info.dims[0] == 2;
        st->kept[i].axis = st->pairs[i].columns ? nd - 1 : nd - 2;
        st->kept[i].info.ndims = nd;
    }
    return dnnl_tp_success;
}

/* ---- Tensors --------------------------------------------------------------------------------------------- */

/* The numbers of a tensor with this shape, whatever its rows, of which `axis` is the dimension. */
static void measure(kept_t *k, const dnnl_tp_tensor_info_t *info, int axis) {
    const int columns = 2 * info->ndims - 3 - axis;
    k->info = *info;
    k->axis = axis;
    k->outer = 1;
    for (int d = 0; d < info->ndims - 2; ++d) k->outer *= info->dims[d];
    k->row = (size_t)info->dims[columns] * dtp_onnx_type_size(info->data_type);
}

/* The order of the model, {.., features, rows}, for the order here, or the reverse: a copy. */
static char *turned(const kept_t *k, int64_t rows, bool to_model) {
    const size_t size = dtp_onnx_type_size(k->info.data_type), cols = k->row / size, n = (size_t)rows;
    const size_t down = to_model ? n : cols, across = to_model ? cols : n;
    char *to = dtp_session_alloc((size_t)k->outer * n * k->row + 1);
    for (size_t o = 0; to && o < (size_t)k->outer; ++o)
        for (size_t i = 0; i < across; ++i)
            for (size_t j = 0; j < down; ++j)
                memcpy(to + ((o * cols * n) + i * down + j) * size,
                       k->data + ((o * cols * n) + j * across + i) * size, size);
    return to;
}

/* Room for another number of rows; those that are there stay. */
static dnnl_tp_status_t set_capacity(state_t *st, int64_t capacity) {
    if (capacity == st->capacity) return dnnl_tp_success;
    int n = 0;
    dnnl_tp_status_t status = dnnl_tp_success;
    for (; n < st->npairs && !status; ++n) {
        const kept_t *k = &st->kept[n];
        st->made[n].data = dtp_session_alloc((size_t)(k->outer * capacity) * k->row + 1);
        if (!st->made[n].data) status = dnnl_tp_out_of_memory;
    }
    if (status) {
        while (n-- > 0) dtp_session_free(st->made[n].data);
        return status;
    }
    for (n = 0; n < st->npairs; ++n) {
        kept_t *k = &st->kept[n];
        for (int64_t o = 0; o < k->outer && st->length; ++o)
            memcpy(st->made[n].data + (size_t)(o * capacity) * k->row,
                   k->data + (size_t)(o * st->capacity) * k->row, (size_t)st->length * k->row);
        dtp_session_free(k->data);
        k->data = st->made[n].data;
    }
    st->capacity = capacity;
    return dnnl_tp_success;
}

/* ---- Runs that take the past and give the present ----------------------------------------------------------- */

/* Shapes of the past before the first run: no rows. */
static dnnl_tp_status_t begin(state_t *st) {
    session_t *s = st->session;
    int64_t batch = s->opts.batch;
    for (int i = 0; i < s->nin && !batch; ++i)
        if (!st->pair_of[i] && st->args[i].info && st->args[i].info->ndims > 0)
            batch = st->args[i].info->dims[0];
    for (int i = 0; i < st->npairs; ++i) {
        dnnl_tp_tensor_info_t info = st->ports[st->pairs[i].input].info;
        const int axis = st->kept[i].axis;
        for (int d = 0; d < info.ndims; ++d) {
            if (d == axis) info.dims[d] = 0;
            if (info.dims[d] == DNNL_TP_RUNTIME_DIM_VAL && d <= 1) info.dims[d] = batch;
            if (info.dims[d] == DNNL_TP_RUNTIME_DIM_VAL)
                return dtp_onnx_fail(dnnl_tp_unimplemented, "dimension %d of input '%s' is not known", d,
                                     st->ports[st->pairs[i].input].name);
        }
        measure(&st->kept[i], &info, axis);
    }
    if (batch != st->batch || !st->lengths) {
        int32_t *lengths = dtp_session_alloc((size_t)(batch + 1) * sizeof *lengths);
        if (!lengths) return dnnl_tp_out_of_memory;
        dtp_session_free(st->lengths);
        st->lengths = lengths;
    }
    st->batch = batch;
    return dnnl_tp_success;
}

static void *room_for(void *ctx, int index, const dnnl_tp_tensor_info_t *info) {
    state_t *st = ctx;
    const int pair = st->pair_of[st->session->nin + index] - 1;
    if (pair < 0) return st->room(st->room_ctx, index, info);
    kept_t *k = &st->made[pair];
    if (info->ndims == st->kept[pair].info.ndims) measure(k, info, st->kept[pair].axis);
    else k->info = *info; /* which is refused behind the run */
    k->data = dtp_session_alloc((size_t)dtp_onnx_elems(info) * dtp_onnx_type_size(info->data_type) + 1);
    return k->data;
}

static dnnl_tp_status_t check_made(const state_t *st) {
    const int64_t rows = st->made[0].info.dims[st->kept[0].axis];
    for (int i = 0; i < st->npairs; ++i) {
        const kept_t *a = &st->made[i], *b = &st->kept[i];
        bool fits = a->info.ndims == b->info.ndims && a->info.data_type == b->info.data_type;
        for (int d = 0; fits && d < a->info.ndims; ++d)
            fits = a->info.dims[d] == (d == b->axis ? rows : b->info.dims[d]);
        if (!fits)
            return dtp_onnx_fail(dnnl_tp_invalid_shape, "output '%s' has another shape than the past had",
                                 st->session->model->proto->graph->output[st->pairs[i].output]->name);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t run_by_joins(state_t *st, const dnnl_tp_run_opts_t *opts) {
    static char nothing[1];
    dnnl_tp_status_t status = dnnl_tp_success;
    for (int i = 0; i < st->npairs; ++i) {
        kept_t *k = &st->kept[i];
        st->made[i] = (kept_t){.data = NULL};
        k->info.dims[k->axis] = st->length;
        k->columns = st->pairs[i].columns && st->length ? turned(k, st->length, true) : NULL;
        if (st->pairs[i].columns && st->length && !k->columns) status = dnnl_tp_out_of_memory;
        const char *data = k->columns ? k->columns : k->data;
        st->args[st->pairs[i].input] = (dnnl_tp_onnx_arg_t){&k->info, data ? data : nothing};
    }
    if (!status)
        status = dnnl_tp_onnx_session_run(st->session, st->session->nin, st->args, room_for, st, opts);
    if (!status) status = check_made(st);
    for (int i = 0; i < st->npairs; ++i) {
        kept_t *made = &st->made[i];
        dtp_session_free(st->kept[i].columns);
        st->kept[i].columns = NULL;
        if (status || !st->pairs[i].columns) continue;
        char *rows = turned(made, made->info.dims[made->axis], false);
        if (!rows) status = dnnl_tp_out_of_memory;
        dtp_session_free(rows ? made->data : NULL);
        if (rows) made->data = rows;
    }
    for (int i = 0; i < st->npairs; ++i) {
        kept_t *k = &st->kept[i];
        if (status) {
            dtp_session_free(st->made[i].data);
            continue;
        }
        dtp_session_free(k->data);
        k->data = st->made[i].data;
        k->info = st->made[i].info;
    }
    if (!status) st->length = st->capacity = st->kept[0].info.dims[st->kept[0].axis];
    return status;
}

/* ---- Runs in place ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t put(state_t *st, size_t *at, const void *bytes, size_t n) {
    if (*at + n > st->key_room) {
        const size_t room = 2 * (*at + n);
        uint8_t *key = dtp_session_alloc(room);
        if (!key) return dnnl_tp_out_of_memory;
        if (*at) memcpy(key, st->key, *at);
        dtp_session_free(st->key);
        st->key = key;
        st->key_room = room;
    }
    memcpy(st->key + *at, bytes, n);
    *at += n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_key(state_t *st, int64_t capacity, int64_t rows, size_t *bytes) {
    const int64_t numbers[] = {capacity, rows, st->npairs};
    *bytes = 0;
    DTP_ONNX_TRY(put(st, bytes, numbers, sizeof numbers));
    DTP_ONNX_TRY(put(st, bytes, st->pairs, (size_t)st->npairs * sizeof *st->pairs));
    for (int i = 0; i < st->session->nin; ++i) {
        const dtp_grown_input_t *x = &st->inputs[i];
        DTP_ONNX_TRY(put(st, bytes, &x->role, sizeof x->role));
        for (int d = 0; d < x->info.ndims; ++d) {
            const bool is_open = x->totals >> d & 1 || (x->role == DTP_ROLE_PAST && d == x->axis);
            const int64_t size = is_open ? -1 : x->info.dims[d];
            DTP_ONNX_TRY(put(st, bytes, &size, sizeof size));
        }
        if (x->role == DTP_ROLE_VALUE)
            DTP_ONNX_TRY(put(st, bytes, x->data,
                             (size_t)dtp_onnx_elems(&x->info) * dtp_onnx_type_size(x->info.data_type)));
    }
    return dnnl_tp_success;
}

/* The compiled model for this capacity, which stays the state's until the next one. */
static dnnl_tp_status_t get_grown(state_t *st, int64_t capacity, int64_t rows,
                                  const dnnl_tp_run_opts_t *opts) {
    dtp_grown_request_t r = {st->npairs, st->pairs, capacity, rows,
                             st->inputs, NULL,      0,        dtp_deadline_of(opts)};
    dtp_grown_t *old = st->grown;
    DTP_ONNX_TRY(make_key(st, capacity, rows, &r.key_bytes));
    r.key = st->key;
    if (old && old->key_bytes == r.key_bytes && !memcmp(old->key, r.key, r.key_bytes)) return dnnl_tp_success;
    DTP_ONNX_TRY(dtp_grown_get(st->session, &r, &st->grown));
    if (old) dtp_grown_release(st->session, old);
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_rows_room(state_t *st, int64_t rows) {
    size_t bytes = 0;
    for (int i = 0; i < st->npairs; ++i) bytes += (size_t)(st->kept[i].outer * rows) * st->kept[i].row;
    if (bytes > st->rows_bytes) {
        char *room = dtp_session_alloc(bytes);
        if (!room) return dnnl_tp_out_of_memory;
        dtp_session_free(st->rows_room);
        st->rows_room = room;
        st->rows_bytes = bytes;
    }
    char *at = st->rows_room;
    for (int i = 0; i < st->npairs; ++i) {
        st->kept[i].rows = at;
        at += (size_t)(st->kept[i].outer * rows) * st->kept[i].row;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t run_in_place(state_t *st, int64_t rows, const dnnl_tp_run_opts_t *opts) {
    session_t *s = st->session;
    const dtp_grown_t *g = st->grown;
    int n = 0;
    DTP_ONNX_TRY(make_rows_room(st, rows));
    for (int i = 0; i < s->nin; ++i) {
        if (g->inputs[i] < 0) continue;
        st->in[n++] =
            st->pair_of[i] ? st->kept[st->pair_of[i] - 1].data : (void *)(uintptr_t)st->args[i].data;
    }
    st->in[n++] = st->lengths;
    for (int64_t b = 0; b < st->batch; ++b) st->lengths[b] = (int32_t)st->length;
    for (int i = 0; i < s->nout; ++i) {
        const int pair = st->pair_of[s->nin + i] - 1;
        st->out[i] = pair < 0 ? st->room(st->room_ctx, i, &g->results[i]) : st->kept[pair].rows;
        if (!st->out[i]) return dtp_onnx_fail(dnnl_tp_out_of_memory, "there is no room for output %d", i);
    }
    seat_t *seat;
    DTP_ONNX_TRY(dtp_session_take_seat(s, &seat));
    const dnnl_tp_status_t status =
        dnnl_tp_executable_run(g->exe, seat->stream, n, st->in, s->nout, st->out, opts);
    dtp_session_give_seat(s, seat);
    if (status) return status;
    for (int i = 0; i < st->npairs; ++i) {
        const kept_t *k = &st->kept[i];
        const size_t bytes = (size_t)rows * k->row;
        for (int64_t o = 0; o < k->outer; ++o)
            memcpy(k->data + (size_t)(o * st->capacity + st->length) * k->row, k->rows + (size_t)o * bytes,
                   bytes);
    }
    st->length += rows;
    ++st->in_place;
    return dnnl_tp_success;
}

/* Sets *done if the run was in place. */
static dnnl_tp_status_t try_in_place(state_t *st, const dnnl_tp_run_opts_t *opts, bool *done) {
    const int64_t rows = dtp_state_rows(st), most = INT32_MAX;
    *done = false;
    if (st->by_joins || !st->length || rows < 1 || st->length + rows > most || !dtp_state_roles(st, rows))
        return dnnl_tp_success;
    int64_t capacity = st->least_capacity;
    while (capacity < st->length + rows || capacity < st->capacity) capacity *= 2;
    DTP_ONNX_TRY(get_grown(st, capacity, rows, opts));
    if (!st->grown->exe || (st->grown->most && st->length + rows > st->grown->most)) return dnnl_tp_success;
    DTP_ONNX_TRY(set_capacity(st, capacity));
    *done = true;
    return run_in_place(st, rows, opts);
}

/* ---- Doors ------------------------------------------------------------------------------------------------- */

static void free_state(state_t *st) {
    if (st->grown) dtp_grown_release(st->session, st->grown);
    for (int i = 0; i < st->npairs; ++i) dtp_session_free(st->kept[i].data);
    dtp_session_free(st->rows_room);
    dtp_session_free(st->lengths);
    dtp_session_free(st->key);
    dtp_session_unref(st->session);
    dtp_session_free(st);
}

/* A part of an allocation, aligned. */
static void *part_of(char **at, size_t n, size_t size) {
    void *p = *at;
    *at += (n * size + 15) / 16 * 16;
    return p;
}

dnnl_tp_status_t dnnl_tp_onnx_state_create(dnnl_tp_onnx_state_t *state, dnnl_tp_onnx_session_t session,
                                           const dnnl_tp_onnx_state_opts_t *opts) {
    enum { PARTS = 10, ALIGN = 16 };
    const dnnl_tp_onnx_state_opts_t none = {.struct_size = sizeof none}, *o = opts ? opts : &none;
    if (!state) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "state is NULL");
    *state = NULL;
    if (!session) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "session is NULL");
    if (o->struct_size != sizeof *o || o->capacity < 0 || o->capacity > INT32_MAX || o->npairs < 0 ||
        (o->npairs && !o->pairs))
        return dtp_onnx_fail(
            dnnl_tp_invalid_arguments,
            "struct_size is %zu, needed is %zu; or capacity %lld or npairs %d is out of range",
            o->struct_size, sizeof *o, (long long)o->capacity, o->npairs);
    const size_t nin = (size_t)session->nin, nout = (size_t)session->nout,
                 most = o->npairs ? (size_t)o->npairs : nin;
    const size_t bytes =
        sizeof(state_t) + most * (sizeof(dtp_pair_t) + 2 * sizeof(kept_t)) + (nin + nout) * sizeof(int) +
        (nin + nout + 1) * sizeof(void *) +
        nin * (sizeof(dtp_grown_input_t) + sizeof(dnnl_tp_onnx_port_t) + sizeof(dnnl_tp_onnx_arg_t)) +
        (size_t)PARTS * ALIGN;
    char *at = dtp_session_alloc(bytes);
    if (!at) return dnnl_tp_out_of_memory;
    state_t *st = part_of(&at, 1, sizeof *st);
    st->session = session;
    (void)atomic_fetch_add_explicit(&session->users, 1, memory_order_relaxed);
    st->pairs = part_of(&at, most, sizeof *st->pairs);
    st->kept = part_of(&at, most, sizeof *st->kept);
    st->made = part_of(&at, most, sizeof *st->made);
    st->pair_of = part_of(&at, nin + nout, sizeof *st->pair_of);
    st->in = part_of(&at, nin + 1, sizeof *st->in);
    st->out = part_of(&at, nout, sizeof *st->out);
    st->inputs = part_of(&at, nin, sizeof *st->inputs);
    st->ports = part_of(&at, nin, sizeof *st->ports);
    st->args = part_of(&at, nin, sizeof *st->args);
    st->least_capacity = o->capacity > DTP_LEAST_PAST ? o->capacity
                         : o->capacity                ? DTP_LEAST_PAST + 1
                                                      : FIRST_CAPACITY;
    st->by_joins = o->by_joins != 0;
    dnnl_tp_status_t status = dnnl_tp_success;
    for (int i = 0; i < session->nin && !status; ++i)
        status = dnnl_tp_onnx_input(session->model, i, &st->ports[i]);
    if (!status) status = find_pairs(st, o);
    if (status) free_state(st);
    else *state = st;
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_state_run(dnnl_tp_onnx_state_t state, int nargs, const dnnl_tp_onnx_arg_t *args,
                                        dnnl_tp_onnx_room_fn_t *room, void *ctx,
                                        const dnnl_tp_run_opts_t *opts) {
    if (!state || !room || (nargs > 0 && !args))
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "state, args or room is NULL");
    if (nargs != state->session->nin)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "%d inputs are described, the model has %d", nargs,
                             state->session->nin);
    for (int i = 0; i < nargs; ++i) {
        if (state->pair_of[i] && args[i].info)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "the state has input '%s', it cannot be given",
                                 state->ports[i].name);
        if (args[i].info && !args[i].data && dtp_onnx_elems(args[i].info) != 0)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "input %d has no data", i);
        state->args[i] = args[i];
    }
    state->room = room;
    state->room_ctx = ctx;
    bool done = false;
    if (!state->length) DTP_ONNX_TRY(begin(state));
    DTP_ONNX_TRY(try_in_place(state, opts, &done));
    if (!done) {
        DTP_ONNX_TRY(set_capacity(state, state->length));
        DTP_ONNX_TRY(run_by_joins(state, opts));
    }
    ++state->runs;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_state_truncate(dnnl_tp_onnx_state_t state, int64_t length) {
    if (!state) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "the state is NULL");
    if (length < 0 || length > state->length)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments,
                             "the state has %lld rows, it cannot keep %lld of them", (long long)state->length,
                             (long long)length);
    state->length = length;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_state_reorder(dnnl_tp_onnx_state_t state, int n, const int64_t *sequences) {
    if (!state || n < 1 || !sequences || !state->batch)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "there is no state, no batch, or no new batch");
    for (int i = 0; i < n; ++i)
        if (sequences[i] < 0 || sequences[i] >= state->batch)
            return dtp_onnx_fail(dnnl_tp_invalid_arguments, "there is no sequence %lld in a batch of %lld",
                                 (long long)sequences[i], (long long)state->batch);
    for (int i = 0; i < state->npairs; ++i)
        if (state->kept[i].info.dims[state->pairs[i].stacked] != state->batch)
            return dtp_onnx_fail(dnnl_tp_unimplemented, "the batch is no dimension of input '%s'",
                                 state->ports[state->pairs[i].input].name);
    int32_t *lengths = dtp_session_alloc((size_t)(n + 1) * sizeof *lengths);
    int k = 0;
    dnnl_tp_status_t status = lengths ? dnnl_tp_success : dnnl_tp_out_of_memory;
    for (; k < state->npairs && !status; ++k) {
        const kept_t *x = &state->kept[k];
        const size_t halves = state->pairs[k].stacked ? 2 : 1, all = (size_t)n;
        const size_t each = (size_t)(x->outer / state->batch * state->capacity) / halves * x->row;
        char *to = state->made[k].data = dtp_session_alloc(halves * all * each + 1);
        if (!to) status = dnnl_tp_out_of_memory;
        for (size_t i = 0; to && each && i < halves * all; ++i)
            memcpy(to + i * each,
                   x->data + (i / all * (size_t)state->batch + (size_t)sequences[i % all]) * each, each);
    }
    if (status) {
        while (k-- > 0) dtp_session_free(state->made[k].data);
        dtp_session_free(lengths);
        return status;
    }
    for (k = 0; k < state->npairs; ++k) {
        kept_t *x = &state->kept[k];
        dtp_session_free(x->data);
        x->data = state->made[k].data;
        x->outer = x->outer / state->batch * n;
        x->info.dims[state->pairs[k].stacked] = n;
    }
    dtp_session_free(state->lengths);
    state->lengths = lengths;
    state->batch = n;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_state_query(dnnl_tp_onnx_state_t state, dnnl_tp_onnx_state_info_t *info) {
    if (!state || !info || info->struct_size != sizeof *info)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument, or another struct_size");
    info->length = state->length;
    info->capacity = state->capacity;
    info->batch = state->batch;
    info->bytes = state->rows_bytes;
    for (int i = 0; i < state->npairs; ++i)
        info->bytes += (size_t)(state->kept[i].outer * state->capacity) * state->kept[i].row;
    info->runs = state->runs;
    info->in_place = state->in_place;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_state_destroy(dnnl_tp_onnx_state_t state) {
    if (state) free_state(state);
    return dnnl_tp_success;
}
