/* Graphs as files: the public calls. A file appears under its name when it is complete; numbers are written
 * and read with a point whatever the program's locale is. The text: text.h. Drawings: dot.c. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>

#include "common/base/out_file.h"
#include "exec/text/text.h"

static const size_t default_constant_bytes = (size_t)16 << 30;
static const size_t most_text_bytes = (size_t)1 << 30; /* and a power of two */

/* The thread's locale while numbers are text. */
static locale_t enter_c(locale_t *c) {
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c ? uselocale(*c) : (locale_t)0;
}
static void leave_c(locale_t c, locale_t before) {
    if (!c) return;
    uselocale(before);
    freelocale(c);
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t write_files(dtp_text_writer_t *w, dtp_out_file_t *text, dtp_out_file_t *side,
                                    int format) {
    const char *slash = strrchr(side->path, '/');
    w->side_path = text->in_place ? NULL : side->now;
    w->side_name = slash ? slash + 1 : side->path;
    if (strlen(w->side_name) >= DTP_TEXT_FILE_NAME || *w->side_name == '.')
        return dtp_fail(dnnl_tp_invalid_arguments, DTP_GRAPH_FILE,
                        "%.200s: the name is too long or begins with a point", text->path);
    DTP_TRY(dtp_out_open(text));
    w->out = text->file;
    dnnl_tp_status_t status =
        format == DNNL_TP_GRAPH_DOT ? dtp_graph_dot_write(w->g, w->out) : dtp_graph_text_write(w);
    side->file = w->side;
    DTP_TRY(status);
    DTP_TRY(dtp_out_finish(side));
    DTP_TRY(dtp_out_finish(text));
    /* The data first: a text that is there has its data, and knows it by its hash. */
    DTP_TRY(dtp_out_publish(side));
    return dtp_out_publish(text);
}

dnnl_tp_status_t dnnl_tp_graph_write(const_dnnl_tp_graph_t graph, const char *path, int format) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(path, NULL_ARG, "path is NULL");
    DTP_REQUIRE(format == DNNL_TP_GRAPH_TEXT || format == DNNL_TP_GRAPH_DOT ||
                    format == (DNNL_TP_GRAPH_TEXT | DNNL_TP_GRAPH_NO_WEIGHTS),
                BAD_ENUM, "format is %d", format);
    DTP_REQUIRE(graph->region == 0, GRAPH_REGION, "a region is written with the graph around it");
    dtp_text_writer_t w = {.g = graph->root, .no_weights = (format & DNNL_TP_GRAPH_NO_WEIGHTS) != 0};
    DTP_TRY(dtp_text_check_graph(w.g));
    dtp_arena_init(&w.arena, dtp_process_allocator());
    dtp_out_file_t text, side = {.reason = DTP_GRAPH_FILE};
    dnnl_tp_status_t status = dtp_out_init(&text, path, "", DTP_GRAPH_FILE);
    if (status == dnnl_tp_success) status = dtp_out_init(&side, path, DTP_TEXT_SIDE, DTP_GRAPH_FILE);
    locale_t c, before = enter_c(&c);
    if (!c) status = dtp_no_memory(1);
    if (status == dnnl_tp_success) status = write_files(&w, &text, &side, format);
    leave_c(c, before);
    dtp_out_drop(&side);
    dtp_out_drop(&text);
    dtp_arena_free(&w.arena);
    DTP_RETURN(status);
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t read_all(const char *path, char **text, size_t *size) {
    FILE *f = fopen(path, "rbe");
    if (!f) return dtp_fail(dnnl_tp_invalid_arguments, DTP_GRAPH_FILE, "%.200s: %s", path, strerror(errno));
    dnnl_tp_status_t status = dnnl_tp_success;
    size_t room = 0, n = 0;
    char *all = NULL;
    for (;;) {
        if (n == room) {
            size_t more = room ? 2 * room : 1 << 16;
            char *next = more > most_text_bytes ? NULL : dtp_alloc(NULL, more, DTP_CACHE_LINE);
            if (!next) {
                status = more > most_text_bytes
                             ? dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_SYNTAX,
                                        "%.200s has more than %zu bytes", path, most_text_bytes)
                             : dtp_no_memory(more);
                break;
            }
            if (n) memcpy(next, all, n);
            dtp_free(NULL, all);
            all = next;
            room = more;
        }
        size_t got = fread(all + n, 1, room - n, f);
        n += got;
        if (got == 0) break;
    }
    if (status == dnnl_tp_success && ferror(f))
        status = dtp_fail(dnnl_tp_runtime_error, DTP_GRAPH_FILE, "%.200s: %s", path, strerror(errno));
    (void)fclose(f);
    if (status != dnnl_tp_success) {
        dtp_free(NULL, all);
        return status;
    }
    *text = all;
    *size = n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_text(dnnl_tp_graph_t *graph, const char *path, const char *text, size_t size,
                                  const dnnl_tp_graph_read_opts_t *given) {
    dnnl_tp_graph_read_opts_t opts = {.struct_size = sizeof opts};
    if (given) opts = *given;
    DTP_REQUIRE_SIZE(&opts, "read options");
    if (!opts.max_constant_bytes) opts.max_constant_bytes = default_constant_bytes;
    dtp_text_reader_t r = {.path = path,
                           .text = text,
                           .end = text + size,
                           .opts = &opts,
                           .constant_bytes = opts.max_constant_bytes};
    dtp_arena_init(&r.arena, dtp_process_allocator());
    locale_t c, before = enter_c(&c);
    dnnl_tp_status_t status = c ? dtp_graph_text_read(&r) : dtp_no_memory(1);
    leave_c(c, before);
    dtp_arena_free(&r.arena);
    if (status == dnnl_tp_success) *graph = r.graph;
    else dnnl_tp_graph_destroy(r.graph);
    return status;
}

dnnl_tp_status_t dnnl_tp_graph_read_text(dnnl_tp_graph_t *graph, const char *text, size_t size,
                                         const dnnl_tp_graph_read_opts_t *opts) {
    DTP_OUT(graph, NULL);
    DTP_REQUIRE(text || size == 0, NULL_ARG, "text is NULL");
    DTP_RETURN(read_text(graph, NULL, size ? text : "", size, opts));
}

dnnl_tp_status_t dnnl_tp_graph_read_v2(dnnl_tp_graph_t *graph, const char *path,
                                       const dnnl_tp_graph_read_opts_t *opts) {
    DTP_OUT(graph, NULL);
    DTP_REQUIRE(path, NULL_ARG, "path is NULL");
    char *text = NULL;
    size_t size = 0;
    DTP_TRY(read_all(path, &text, &size));
    dnnl_tp_status_t status = read_text(graph, path, text, size, opts);
    dtp_free(NULL, text);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_graph_read(dnnl_tp_graph_t *graph, const char *path) {
    DTP_RETURN(dnnl_tp_graph_read_v2(graph, path, NULL));
}

/* ---- What a graph that was read has ------------------------------------------------------------------ */

dnnl_tp_status_t dnnl_tp_graph_get_counts(const_dnnl_tp_graph_t graph, int *num_inputs, int *num_outputs) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    if (num_inputs) *num_inputs = graph->root->ninputs;
    if (num_outputs) *num_outputs = graph->root->noutputs;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_get_input(const_dnnl_tp_graph_t graph, int index, dnnl_tp_value_t *value,
                                         const char **name) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(value, NULL_ARG, "value is NULL");
    const dtp_graph_t *g = graph->root;
    DTP_REQUIRE(index >= 0 && index < g->ninputs, BAD_INDEX, "input %d of %d", index, g->ninputs);
    *value = g->inputs[index];
    if (name) *name = g->values[*value].name;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_graph_get_output(const_dnnl_tp_graph_t graph, int index, dnnl_tp_value_t *value,
                                          const char **name) {
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE(value, NULL_ARG, "value is NULL");
    const dtp_graph_t *g = graph->root;
    DTP_REQUIRE(index >= 0 && index < g->noutputs, BAD_INDEX, "output %d of %d", index, g->noutputs);
    *value = g->outputs[index];
    if (name) *name = g->output_names[index];
    return dnnl_tp_success;
}
