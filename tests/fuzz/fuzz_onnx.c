/* Fuzzer of the ONNX importer: any bytes are refused with one line, or become a graph that can be destroyed. Small graphs are
 * compiled, too; models in parts run. External data may come from one file of one folder. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "onnx/dnnl_tp_onnx_session.h"

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

static dnnl_tp_engine_t the_engine(void) {
    static dnnl_tp_engine_t engine;
    if (!engine && dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0)) abort();
    return engine;
}

static void compile(dnnl_tp_graph_t graph) {
    dnnl_tp_executable_t exe;
    const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .memory_budget = 1 << 20};
    const dnnl_tp_status_t status = dnnl_tp_executable_compile(&exe, graph, the_engine(), 0, NULL, &opts);
    check_text(status);
    if (!status) dnnl_tp_executable_destroy(exe);
}

/* ---- Runs in parts ----------------------------------------------------------------------------------------- */

enum {
    FEW_INPUTS = 4,
    ELEMENTS = 512,
    ROOM = 1 << 20,
    NODES_IN_PARTS = 200,
    OPEN_SIZE = 3,
    LIMIT_NS = 20000000
};
static double elements[FEW_INPUTS][ELEMENTS], rooms[ROOM / sizeof(double)];

static void *room(void *ctx, int index, const dnnl_tp_tensor_info_t *info) {
    double n = (double)sizeof(double);
    for (int d = 0; d < info->ndims; ++d) n *= (double)info->dims[d];
    (void)ctx, (void)index;
    return n <= ROOM ? rooms : NULL;
}

/* A model of few small inputs whose sizes only a run knows: it ends, well or with one line. */
static void run_in_parts(dnnl_tp_onnx_model_t model, int n) {
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts,
                                              .memory_budget = ROOM,
                                              .max_nodes = NODES_IN_PARTS,
                                              .max_bytes = ROOM / 16};
    dnnl_tp_tensor_info_t info[FEW_INPUTS];
    dnnl_tp_onnx_arg_t args[FEW_INPUTS] = {{0}};
    dnnl_tp_onnx_session_t session;
    dnnl_tp_onnx_call_t call;
    for (int i = 0; i < n; ++i) {
        dnnl_tp_onnx_port_t port;
        double all = 1;
        if (dnnl_tp_onnx_input(model, i, &port) || port.info.ndims < 0) return;
        info[i] = port.info;
        for (int d = 0; d < info[i].ndims; ++d) {
            if (info[i].dims[d] < 0) info[i].dims[d] = OPEN_SIZE;
            all *= (double)info[i].dims[d];
        }
        if (all > ELEMENTS) return;
        memset(elements[i], 0, sizeof elements[i]);
        for (int k = 0; k < ELEMENTS; ++k)
            if (info[i].data_type == dnnl_tp_f32) ((float *)elements[i])[k] = (float)(k % 3);
            else if (info[i].data_type != dnnl_tp_f64) ((uint8_t *)elements[i])[8 * k] = k % 3 != 0;
        args[i] = (dnnl_tp_onnx_arg_t){&info[i], elements[i]};
    }
    if (dnnl_tp_onnx_session_create(&session, model, the_engine(), &opts)) abort();
    const dnnl_tp_status_t status = dnnl_tp_onnx_session_get_call(&call, session, n, args);
    if (!status) (void)dnnl_tp_onnx_call_destroy(call);
    if (status && strstr(dnnl_tp_last_error(), "only a run knows")) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        const dnnl_tp_run_opts_t limit = {.struct_size = sizeof limit,
                                          .max_depth = FEW_INPUTS,
                                          .deadline_ns = now.tv_sec * 1000000000L + now.tv_nsec + LIMIT_NS};
        check_text(dnnl_tp_onnx_session_run(session, n, args, room, NULL, &limit));
    }
    (void)dnnl_tp_onnx_session_destroy(session);
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
    if (small && info.inputs <= FEW_INPUTS) run_in_parts(model, info.inputs);
    dnnl_tp_onnx_close(model);
    return 0;
}
