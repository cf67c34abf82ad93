/* Fuzzer of the ONNX importer: any bytes are refused with one line, or become a graph that can be destroyed. Small graphs are
 * compiled, too. External data may come from one file of one folder. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/dnnl_tp_onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(dnnl_tp_status_t status) {
    const char *text = dnnl_tp_last_error();
    if (status && (!*text || strchr(text, '\n'))) abort();
}

/* A folder with w.bin, for external data. */
static char folder[] = "/tmp/dnnl_tp_fuzz_XXXXXX", file[sizeof folder + 8];

static void remove_folder(void) {
    (void)unlink(file);
    (void)rmdir(folder);
}

static void make_folder(void) {
    static const char zeros[4096];
    if (!mkdtemp(folder)) abort();
    (void)snprintf(file, sizeof file, "%s/w.bin", folder);
    FILE *f = fopen(file, "wb");
    if (!f || fwrite(zeros, 1, sizeof zeros, f) != sizeof zeros || fclose(f) || atexit(remove_folder))
        abort();
}

/* Inputs of many elements cost the plan some bytes for every hundred rows. */
static bool is_small(const dnnl_tp_onnx_port_t *port) {
    enum { MOST = 1 << 24 };
    double n = 1;
    for (int d = 0; d < port->info.ndims; ++d)
        if (port->info.dims[d] > 0) n *= (double)port->info.dims[d];
    return n <= MOST;
}

static void compile(dnnl_tp_graph_t graph) {
    static dnnl_tp_engine_t engine;
    if (!engine && dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0)) abort();
    dnnl_tp_executable_t exe;
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .memory_budget = 1 << 20};
    const dnnl_tp_status_t status = dnnl_tp_executable_compile(&exe, graph, engine, 0, NULL, &opts);
    check_text(status);
    if (!status) dnnl_tp_executable_destroy(exe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { CONSTANTS = 1 << 16, NODES = 1000, BATCH = 2 };
    if (!*file) make_folder();
    const dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .base_folder = folder};
    uint8_t *copy = malloc(size ? size : 1); /* exactly as large, so that a sanitizer sees a read beyond it */
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    dnnl_tp_onnx_model_t model;
    dnnl_tp_graph_t graph;
    dnnl_tp_status_t status = dnnl_tp_onnx_open_memory(&model, copy, size, &open);
    free(copy);
    check_text(status);
    if (!status != (model != NULL)) abort();
    if (status) return 0;
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    dnnl_tp_onnx_port_t port;
    if (dnnl_tp_onnx_query(model, &info)) abort();
    bool small = info.inputs < NODES;
    for (int i = 0; i < info.inputs && i < NODES; ++i) {
        status = dnnl_tp_onnx_input(model, i, &port);
        check_text(status);
        small &= !status && is_small(&port);
    }
    for (int i = 0; i < info.outputs && i < NODES; ++i) check_text(dnnl_tp_onnx_output(model, i, &port));
    for (int batch = 0; batch <= BATCH; batch += BATCH) {
        const dnnl_tp_onnx_graph_opts_t opts = {
            .struct_size = sizeof opts, .max_nodes = NODES, .max_bytes = CONSTANTS, .batch = batch};
        status = dnnl_tp_onnx_graph_create(&graph, model, &opts);
        check_text(status);
        if (!status != (graph != NULL)) abort();
        if (graph && small) compile(graph);
        dnnl_tp_graph_destroy(graph);
    }
    dnnl_tp_onnx_close(model);
    return 0;
}
