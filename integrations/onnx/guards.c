/* Guards of a session's graphs (sizes.h): whether they hold for a request, and as a text. */
#include "onnx/state.h"

#include <stdio.h>
#include <string.h>

const dnnl_tp_tensor_info_t **dtp_session_shapes(const session_t *s, request_t *r) {
    const dnnl_tp_tensor_info_t **shapes =
        dtp_import_alloc(&r->memory, (size_t)(s->nin + 1) * sizeof *shapes);
    for (int i = 0; shapes && i < s->nin; ++i) shapes[i] = r->args[i].info;
    return shapes;
}

/* Values of all atoms for the request; NULL: one overflows, or memory lacks. */
static int64_t *bind(const session_t *s, request_t *r, const dtp_sizes_t *sizes) {
    const dnnl_tp_tensor_info_t **shapes = dtp_session_shapes(s, r);
    int64_t *values = dtp_import_alloc(&r->memory, (size_t)(sizes->natoms + 1) * sizeof *values);
    return shapes && values && dtp_sizes_bind(sizes, shapes, values) ? values : NULL;
}

bool dtp_session_holds(const session_t *s, request_t *r, const dtp_sizes_t *sizes) {
    const int64_t *values = bind(s, r, sizes);
    return values && dtp_sizes_check(sizes, values) < 0;
}

bool dtp_session_is_as_expected(const session_t *s, request_t *r, const call_t *c) {
    const dtp_sizes_t *sizes = &c->graph->sizes;
    const int64_t *values = bind(s, r, sizes);
    int at = 0;
    for (int i = 0; i < s->nout && sizes->nresults; ++i) {
        dnnl_tp_tensor_info_t info;
        int64_t want;
        if (!values || dnnl_tp_executable_query(c->exe, c->graph->outputs[i], &info)) return false;
        for (int d = 0; d < info.ndims; ++d, ++at)
            if (at >= sizes->nresults || !dtp_size_value(sizes, sizes->results[at], values, &want) ||
                want != info.dims[d])
                return false;
    }
    return true;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

typedef struct {
    char *text;
    size_t room, n;
} text_t;

static void say(text_t *to, const char *line) {
    const size_t length = strlen(line);
    if (to->n + length < to->room) /* whole lines */
        memcpy(to->text + to->n, line, length + 1);
    to->n += length;
}

static void say_guard(text_t *to, const dtp_sizes_t *s, const dtp_guard_t *g, const char *const *names) {
    enum { EXPRESSION = 200, NAME = 160, LINE = 2 * EXPRESSION + NAME + 16 };
    static const char *const relations[] = {"==", "!=", "<=", "is divided by"};
    char a[EXPRESSION], b[EXPRESSION], line[LINE], room[DTP_ONNX_NAME];
    dtp_size_text(s, g->a, names, a, sizeof a);
    dtp_size_text(s, g->b, names, b, sizeof b);
    (void)snprintf(line, sizeof line, "%.*s: %s %s %s\n", NAME - 1, dtp_onnx_plain(g->node, room), a,
                   relations[g->relation], b);
    say(to, line);
}

/* Those that make a size a number come first. */
static void say_graph(text_t *to, const model_graph_t *g, const char *const *names) {
    static const char *const kinds[] = {"a graph for all sizes\n", "a graph with guards\n",
                                        "a graph for one set of sizes\n"};
    say(to, kinds[g->kind]);
    for (int special = 1; special >= 0; --special)
        for (int i = 0; i < g->sizes.nguards; ++i) {
            const dtp_guard_t *x = &g->sizes.guards[i];
            const bool is_number = x->relation == DTP_SIZE_EQUAL && dtp_size_is_number(&g->sizes, x->b);
            if (is_number == special) say_guard(to, &g->sizes, x, names);
        }
}

static void say_grown(text_t *to, const dtp_grown_t *g) {
    enum { LINE = DTP_WHY + 128 };
    char line[LINE];
    (void)snprintf(line, sizeof line, "states with room for %lld rows, %lld at a time: %s%s\n",
                   (long long)g->capacity, (long long)g->rows,
                   g->exe ? "the past stays in its place" : "the past is an input, because ", g->why);
    say(to, line);
}

dnnl_tp_status_t dnnl_tp_onnx_session_explain(dnnl_tp_onnx_session_t session, char *text, size_t room,
                                              size_t *size) {
    if (!session || !size || (room && !text))
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument");
    const graph_proto_t *g = session->model->proto->graph;
    const char **names = dtp_session_alloc((g->n_input + 1) * sizeof *names);
    if (!names) return dnnl_tp_out_of_memory;
    for (size_t i = 0; i < g->n_input; ++i) names[i] = g->input[i]->name ? g->input[i]->name : "";
    text_t to = {.text = text, .room = room};
    if (room) *text = 0;
    pthread_mutex_lock(&session->lock);
    for (const model_graph_t *x = session->graphs; x; x = x->next) say_graph(&to, x, names);
    for (const dtp_grown_t *x = session->grown; x; x = x->next) say_grown(&to, x);
    pthread_mutex_unlock(&session->lock);
    dtp_session_free(names);
    *size = to.n + 1;
    return dnnl_tp_success;
}
