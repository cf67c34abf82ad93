/* Models made byte by byte, see writing.h. */
#include "writing.h"

#include <stdlib.h>
#include <string.h>

const int64_t four[1] = {4}, two_by_n[2] = {2, -1};
const float one_to_four[4] = {1, 2, 3, 4}, doubled[4] = {2, 4, 6, 8};

void put_varint(bytes_t *b, uint64_t v) {
    do b->at[b->n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    while (v >>= 7);
}
void put_int(bytes_t *b, unsigned field, uint64_t v) {
    put_varint(b, field << 3);
    put_varint(b, v);
}
void put_bytes(bytes_t *b, unsigned field, const void *data, size_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    if (n) memcpy(b->at + b->n, data, n);
    b->n += n;
}
void put_text(bytes_t *b, unsigned field, const char *s) { put_bytes(b, field, s, strlen(s)); }
void put_message(bytes_t *b, unsigned field, const bytes_t *m) { put_bytes(b, field, m->at, m->n); }

void put_node(bytes_t *g, const char *op, const char *name, const char *in, const char *in2,
              const char *out) {
    bytes_t n = {.n = 0};
    put_text(&n, N_INPUT, in);
    if (in2) put_text(&n, N_INPUT, in2);
    put_text(&n, N_OUTPUT, out);
    put_text(&n, N_NAME, name);
    put_text(&n, N_OP, op);
    put_message(g, G_NODE, &n);
}

void put_graph_attr(bytes_t *n, const char *name, const bytes_t *g) {
    enum { GRAPH = 5 };
    static bytes_t a;
    a.n = 0;
    put_text(&a, A_NAME, name);
    put_message(&a, A_GRAPH, g);
    put_int(&a, A_TYPE, GRAPH);
    put_message(n, N_ATTR, &a);
}

/* dims: -2 = the symbol "p", below 0 else "n"; ndims -1: the file does not say */
void put_value(bytes_t *g, unsigned field, const char *name, int type, int ndims, const int64_t *dims) {
    bytes_t v = {.n = 0}, t = {.n = 0}, tensor = {.n = 0}, shape = {.n = 0};
    for (int d = 0; d < ndims; ++d) {
        bytes_t dim = {.n = 0};
        if (dims[d] < 0) put_text(&dim, 2, dims[d] == -2 ? "p" : "n");
        else put_int(&dim, 1, (uint64_t)dims[d]);
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, (uint64_t)type);
    if (ndims >= 0) put_message(&tensor, 2, &shape);
    put_message(&t, 1, &tensor);
    put_text(&v, 1, name);
    put_message(&v, 2, &t);
    put_message(g, field, &v);
}

void put_raw(bytes_t *g, const char *name, int type, int ndims, const int64_t *dims, const void *data,
             size_t n) {
    bytes_t t = {.n = 0};
    for (int d = 0; d < ndims; ++d) put_int(&t, T_DIMS, (uint64_t)dims[d]);
    put_int(&t, T_TYPE, (uint64_t)type);
    put_text(&t, T_NAME, name);
    put_bytes(&t, T_RAW, data, n);
    put_message(g, G_INITIALIZER, &t);
}

void put_model(bytes_t *m, const bytes_t *graph, int ir, int opset) {
    bytes_t o = {.n = 0};
    m->n = 0;
    put_int(m, M_IR, (uint64_t)ir);
    put_int(&o, 2, (uint64_t)opset);
    put_message(m, M_OPSET, &o);
    put_message(m, M_GRAPH, graph);
}

/* y = op(x, w) with x {4} and w {4} = 1, 2, 3, 4 */
void small(bytes_t *m, const char *op, const char *in2, int ir, int opset) {
    static const float w[] = {1, 2, 3, 4};
    bytes_t g = {.n = 0};
    put_node(&g, op, "the node", "x", in2, "y");
    put_text(&g, G_NAME, "g");
    put_raw(&g, "w", FLOAT, 1, four, w, sizeof w);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_model(m, &g, ir, opset);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

dnnl_tp_status_t import_with(const bytes_t *m, const dnnl_tp_onnx_open_opts_t *open,
                             const dnnl_tp_onnx_graph_opts_t *opts, dnnl_tp_graph_t *graph) {
    dnnl_tp_onnx_model_t model;
    /* Exactly as large, so that a sanitizer sees a read beyond it. */
    uint8_t *copy = malloc(m->n + !m->n);
    memcpy(copy, m->at, m->n);
    dnnl_tp_status_t status = dnnl_tp_onnx_open_memory(&model, copy, m->n, open);
    free(copy);
    *graph = NULL;
    if (status) {
        assert_null(model);
        return status;
    }
    status = dnnl_tp_onnx_graph_create(graph, model, opts);
    dnnl_tp_onnx_close(model);
    return status;
}

void refused(const bytes_t *m, dnnl_tp_status_t wanted, const char *text) {
    dnnl_tp_graph_t graph;
    const dnnl_tp_status_t got = import_with(m, NULL, NULL, &graph);
    if (got != wanted || !strstr(dnnl_tp_last_error(), text)) {
        fail_msg("status %d, wanted %d: %s (wanted: %s)", (int)got, (int)wanted, dnnl_tp_last_error(), text);
    }
    assert_null(graph);
}

void runs(const bytes_t *m, const dnnl_tp_onnx_open_opts_t *open, const dnnl_tp_onnx_graph_opts_t *opts,
          const float *in, const float *want, size_t n) {
    dnnl_tp_graph_t graph;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_executable_t exe;
    float out[64];
    void *ins[] = {(void *)(uintptr_t)in}, *outs[] = {out};
    if (import_with(m, open, opts, &graph)) fail_msg("%s", dnnl_tp_last_error());
    assert_int_equal(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags), dnnl_tp_success);
    if (dnnl_tp_executable_compile(&exe, graph, engine, 1, NULL, NULL)) fail_msg("%s", dnnl_tp_last_error());
    dnnl_tp_graph_destroy(graph); /* the model is closed, too: the executable keeps the weights */
    if (dnnl_tp_executable_run(exe, stream, 1, ins, 1, outs, NULL)) fail_msg("%s", dnnl_tp_last_error());
    for (size_t i = 0; i < n; ++i) assert_true(out[i] == want[i]);
    dnnl_tp_executable_destroy(exe);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
}

void with_default(bytes_t *m) {
    bytes_t g = {.n = 0};
    put_node(&g, "Add", "", "x", "w", "y");
    put_raw(&g, "w", FLOAT, 1, four, one_to_four, sizeof one_to_four);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_INPUT, "w", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_model(m, &g, 8, 17);
}

int fails_by_allocation(dnnl_tp_status_t (*call)(const bytes_t *m), const bytes_t *m, bool keeps) {
    test_allocator_t a;
    test_allocator_init(&a);
    CHECK_OK(dnnl_tp_set_allocator(&a.iface));
    dnnl_tp_status_t status = dnnl_tp_out_of_memory;
    int n = 0;
    for (; status == dnnl_tp_out_of_memory; ++n) {
        a.fail_at = n;
        status = call(m);
        if (status || !keeps) assert_int_equal(a.live, 0);
    }
    assert_int_equal(status, dnnl_tp_success);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    return n;
}

dnnl_tp_status_t import_and_destroy(const bytes_t *m) {
    dnnl_tp_graph_t graph;
    const dnnl_tp_status_t status = import_with(m, NULL, NULL, &graph);
    if (!status) dnnl_tp_graph_destroy(graph);
    return status;
}
