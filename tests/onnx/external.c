/* External data of models: files beside a model, caches that reach them by links, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writing.h"

static void external_model(bytes_t *m, const char *location, const char *offset, const char *length) {
    bytes_t g = {.n = 0}, t = {.n = 0};
    const char *const rows[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    put_node(&g, "Add", "", "x", "w", "y");
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_int(&t, T_DIMS, 4);
    put_int(&t, T_TYPE, FLOAT);
    put_text(&t, T_NAME, "w");
    for (int i = 0; i < 3; ++i) {
        bytes_t e = {.n = 0};
        if (!rows[i][1]) continue;
        put_text(&e, 1, rows[i][0]);
        put_text(&e, 2, rows[i][1]);
        put_message(&t, T_EXTERNAL, &e);
    }
    put_int(&t, T_LOCATION, 1);
    put_message(&g, G_INITIALIZER, &t);
    put_model(m, &g, 8, 17);
}

static void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A cache of models: blobs with the bytes, snapshots with links to them. */
static void test_store(void **state) {
    (void)state;
    static bytes_t m;
    char folder[] = "/tmp/dnnl_tp_onnx_XXXXXX", path[512];
    assert_non_null(mkdtemp(folder));
    const struct {
        const char *path, *target; /* target NULL: a folder; "": a file */
    } things[] = {{"blobs", NULL},
                  {"blobs/deep", NULL},
                  {"snapshots", NULL},
                  {"other", NULL},
                  {"blobs/w", ""},
                  {"blobs/deep/w", ""},
                  {"other/w", ""},
                  {"snapshots/m.onnx", "../blobs/m"},
                  {"snapshots/w", "../blobs/w"},
                  {"snapshots/deep", "../blobs/deep/w"},
                  {"snapshots/far", "../other/w"},
                  {"snapshots/plain.onnx", "m2"}};
    for (size_t i = 0; i < sizeof things / sizeof *things; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, things[i].path);
        if (!things[i].target) assert_int_equal(mkdir(path, 0700), 0);
        else if (*things[i].target) assert_int_equal(symlink(things[i].target, path), 0);
        else write_file(path, one_to_four, sizeof one_to_four);
    }
    const struct {
        const char *location, *model, *real;
        bool is_followed;
    } rows[] = {{"w", "snapshots/m.onnx", "blobs/m", true},
                {"deep", "snapshots/m.onnx", "blobs/m", false},
                {"far", "snapshots/m.onnx", "blobs/m", false},
                {"../blobs/w", "snapshots/m.onnx", "blobs/m", false}, /* no link leads there */
                {"w", "snapshots/plain.onnx", "snapshots/m2", false}, /* its own file is not in the store */
                {"../other/w", "blobs/m", "blobs/m", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        external_model(&m, rows[i].location, "0", "16");
        (void)snprintf(path, sizeof path, "%s/%s", folder, rows[i].real);
        write_file(path, m.at, m.n);
        (void)snprintf(path, sizeof path, "%s/%s", folder, rows[i].model);
        dnnl_tp_onnx_model_t model;
        const dnnl_tp_status_t status = dnnl_tp_onnx_open(&model, path, NULL);
        assert_int_equal(status, rows[i].is_followed ? dnnl_tp_success : dnnl_tp_invalid_graph);
        if (status) assert_non_null(strstr(dnnl_tp_last_error(), "outside of the base folder"));
        assert_int_equal(dnnl_tp_onnx_close(model), dnnl_tp_success);
    }
    for (size_t i = sizeof rows / sizeof *rows; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, rows[i].real);
        (void)unlink(path);
    }
    for (size_t i = sizeof things / sizeof *things; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, things[i].path);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_external(void **state) {
    (void)state;
    static bytes_t m;
    char folder[] = "/tmp/dnnl_tp_onnx_XXXXXX", path[256];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/in", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    const dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .base_folder = path};
    char file[512], secret[512], alias[512];
    char data[4 + sizeof one_to_four + 1];
    memcpy(data + 4, one_to_four, sizeof one_to_four);
    (void)snprintf(file, sizeof file, "%s/w.bin", path);
    write_file(file, data, sizeof data);
    (void)snprintf(secret, sizeof secret, "%s/secret", folder);
    write_file(secret, data, sizeof data);
    (void)snprintf(alias, sizeof alias, "%s/alias", path);
    assert_int_equal(symlink(secret, alias), 0);

    external_model(&m, "w.bin", "4", "16"); /* aligned: borrowed from the mapped file */
    dnnl_tp_onnx_model_t model;
    const char *name;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, &open), dnnl_tp_success);
    assert_int_equal(dnnl_tp_onnx_external_file(model, 0, &name), dnnl_tp_success);
    assert_string_equal(name, file);
    assert_int_equal(dnnl_tp_onnx_external_file(model, 1, &name), dnnl_tp_success);
    assert_null(name);
    assert_int_equal(dnnl_tp_onnx_external_file(model, -1, &name), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_close(model), dnnl_tp_success);
    runs(&m, &open, NULL, one_to_four, doubled, 4);
    memmove(data + 1, one_to_four, sizeof one_to_four);
    write_file(file, data, sizeof data);
    external_model(&m, "w.bin", "1", "16"); /* not aligned: copied */
    runs(&m, &open, NULL, one_to_four, doubled, 4);
    const struct {
        const char *location, *offset, *length, *text;
    } rows[] = {{"../secret", NULL, NULL, "outside of the base folder"},
                {"alias", NULL, NULL, "outside of the base folder"},
                {secret, NULL, NULL, "entry of its external data"},
                {"none", NULL, NULL, "'none' cannot be opened: No such file"},
                {".", NULL, NULL, "outside of the base folder"},
                {"w.bin", "8", "16", "'w.bin' ends at byte 21"},
                {"w.bin", "18446744073709551615", "16", "'w.bin' ends at byte 21"},
                {"w.bin", "-1", NULL, "entry of its external"},
                {"w.bin", "99999999999999999999", NULL, "entry of its external"},
                {"w.bin", "0", "12", "not as many bytes"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        dnnl_tp_graph_t graph;
        external_model(&m, rows[i].location, rows[i].offset, rows[i].length);
        assert_int_not_equal(import_with(&m, &open, NULL, &graph), dnnl_tp_success);
        if (!strstr(dnnl_tp_last_error(), rows[i].text) || !strstr(dnnl_tp_last_error(), "initializer 'w'"))
            fail_msg("%s, wanted: %s", dnnl_tp_last_error(), rows[i].text);
    }
    external_model(&m, "w.bin", NULL, NULL); /* no base folder */
    refused(&m, dnnl_tp_invalid_arguments, "no base folder");
    (void)unlink(alias);
    (void)unlink(file);
    (void)unlink(secret);
    (void)rmdir(path);
    (void)rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_external), cmocka_unit_test(test_store)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
