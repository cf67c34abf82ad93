/* What importing a file takes at its peak: at most 2.2 times the file, pages of it that are in memory included. */
#include "writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WEIGHTS = 16, WEIGHT_BYTES = 2 << 20 };
static const double most = 2.2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool measures = false; /* they keep what was freed, and have shadows */
#else
static const bool measures = true;
#endif

static void put_head(bytes_t *b, unsigned field, size_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
}

/* y = x + w0 + w1 + ...; field: which one of the tensors holds their elements. The size of the file. */
static size_t write_model(int fd, int type, int64_t elems, unsigned field) {
    static char zeros[WEIGHT_BYTES];
    static bytes_t graph, before, weight[WEIGHTS];
    char last[16] = "x", next[16], name[16];
    size_t size = 0;
    graph.n = before.n = 0;
    put_value(&graph, G_INPUT, "x", FLOAT, 1, &elems);
    for (int i = 0; i < WEIGHTS; ++i) {
        bytes_t t = {.n = 0};
        (void)snprintf(name, sizeof name, "w%d", i);
        (void)snprintf(next, sizeof next, "y%d", i);
        put_node(&graph, "Add", "", last, name, next);
        memcpy(last, next, sizeof last);
        put_int(&t, T_DIMS, (uint64_t)elems);
        put_int(&t, T_TYPE, (uint64_t)type);
        put_text(&t, T_NAME, name);
        put_head(&t, field, WEIGHT_BYTES);
        weight[i].n = 0;
        put_head(&weight[i], G_INITIALIZER, t.n + WEIGHT_BYTES);
        memcpy(weight[i].at + weight[i].n, t.at, t.n);
        weight[i].n += t.n;
        size += weight[i].n + WEIGHT_BYTES;
    }
    put_value(&graph, G_OUTPUT, last, FLOAT, 1, &elems);
    bytes_t set = {.n = 0};
    put_int(&before, M_IR, 8);
    put_int(&set, 2, 17);
    put_message(&before, M_OPSET, &set);
    put_head(&before, M_GRAPH, graph.n + size);
    FILE *f = fdopen(fd, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(before.at, 1, before.n, f), before.n);
    assert_int_equal(fwrite(graph.at, 1, graph.n, f), graph.n);
    for (int i = 0; i < WEIGHTS; ++i) {
        assert_int_equal(fwrite(weight[i].at, 1, weight[i].n, f), weight[i].n);
        assert_int_equal(fwrite(zeros, 1, sizeof zeros, f), sizeof zeros);
    }
    assert_int_equal(fclose(f), 0);
    return before.n + graph.n + size;
}

static double peak_bytes(void) {
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) ? 0 : (double)use.ru_maxrss * 1024;
}

/* In a process of its own, whose peak nothing else makes: 0 = within the bound. */
static int import_file(const char *path, size_t size) {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_graph_t graph;
    const dnnl_tp_onnx_graph_opts_t opts = {.struct_size = sizeof opts};
    const double before = peak_bytes();
    if (dnnl_tp_onnx_open(&model, path, NULL) || dnnl_tp_onnx_graph_create(&graph, model, &opts)) return 1;
    const double times = (peak_bytes() - before) / (double)size;
    printf("%.2f times the file\n", times);
    (void)fflush(stdout);
    dnnl_tp_graph_destroy(graph);
    dnnl_tp_onnx_close(model);
    return measures && !(times > 1 && times <= most);
}

static void test_peak(void **state) {
    (void)state;
    static const struct {
        int type, bytes;
        unsigned field;
    } rows[] = {{FLOAT, 4, T_RAW}, {FLOAT, 4, T_FLOATS}, {FLOAT16, 2, T_RAW}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char path[] = "/tmp/dnnl_tp_onnx_XXXXXX";
        const int fd = mkstemp(path);
        assert_true(fd >= 0);
        const size_t size = write_model(fd, rows[i].type, WEIGHT_BYTES / rows[i].bytes, rows[i].field);
        const pid_t child = fork();
        if (child == 0) _exit(import_file(path, size));
        int status = 1;
        const pid_t ended = waitpid(child, &status, 0);
        (void)unlink(path);
        assert_int_equal(ended, child);
        assert_int_equal(status, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_peak)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
