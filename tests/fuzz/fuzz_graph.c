/* Fuzzer of the text form of graphs. What is accepted must be written and read again as the same text, and
 * drawn. Host closures are known by any name but those that begin with x. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp_graph_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static dnnl_tp_status_t nothing(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;
    return dnnl_tp_success;
}
static dnnl_tp_status_t resolve(void *arg, const char *name, int nin, int nout, dnnl_tp_graph_closure_t *c) {
    (void)arg, (void)nin, (void)nout;
    c->fn = nothing;
    return *name == 'x' ? dnnl_tp_unimplemented : dnnl_tp_success;
}

static char *content(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) abort();
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*size + 1);
    if (!text || fread(text, 1, *size, f) != *size) abort();
    fclose(f);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char path[2][96];
    dnnl_tp_graph_read_opts_t opts = {
        .struct_size = sizeof opts, .resolve = resolve, .max_constant_bytes = (size_t)1 << 20};
    dnnl_tp_graph_t graph, again;
    char *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    dnnl_tp_status_t status = dnnl_tp_graph_read_text(&graph, copy, size, &opts);
    free(copy);
    if (status != dnnl_tp_success) {
        if (graph || !*dnnl_tp_last_error()) abort();
        return 0;
    }
    if (!*path[0])
        for (int i = 0; i < 2; ++i)
            snprintf(path[i], sizeof path[i], "/tmp/dnnl_tp_fuzz.%ld.%d", (long)getpid(), i);
    int format = DNNL_TP_GRAPH_TEXT | (size % 2 ? 0 : DNNL_TP_GRAPH_NO_WEIGHTS);
    if (dnnl_tp_graph_write(graph, path[0], format) != dnnl_tp_success) abort();
    if (dnnl_tp_graph_read_v2(&again, path[0], &opts) != dnnl_tp_success) {
        fprintf(stderr, "%s\n", dnnl_tp_last_error());
        abort();
    }
    size_t n[2];
    char *text[2];
    text[0] = content(path[0], &n[0]);
    if (dnnl_tp_graph_write(again, path[0], format) != dnnl_tp_success) abort();
    text[1] = content(path[0], &n[1]);
    if (n[0] != n[1] || memcmp(text[0], text[1], n[0])) abort();
    if (dnnl_tp_graph_write(again, path[1], DNNL_TP_GRAPH_DOT) != dnnl_tp_success) abort();
    free(text[0]);
    free(text[1]);
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_graph_destroy(again);
    char side[128];
    snprintf(side, sizeof side, "%s.data", path[0]);
    (void)unlink(side);
    (void)unlink(path[0]);
    (void)unlink(path[1]);
    return 0;
}
