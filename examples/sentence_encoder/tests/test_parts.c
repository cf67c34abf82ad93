/* The small parts of the program: its pool without the library, output files, lines, options, traces. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "failing_memory.h"
#include "lines.h"
#include "options.h"
#include "npy.h"
#include "own_pool.h"
#include "trace.h"

static char dir[] = "/tmp/se_parts_XXXXXX";
static se_error_t error;
static char path[4096];

static const char *in_dir(const char *name) {
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int num_files(void) {
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}
static int remove_folder(void **state) {
    (void)state;
    return rmdir(dir);
}

static atomic_int ran;
static void count(void *arg) { atomic_fetch_add(&ran, *(int *)arg); }

static void *submit(void *arg) {
    const dnnl_tp_threadpool_iface_t *iface = arg;
    static int one = 1;
    int refused = 0;
    for (int i = 0; i < 1000; ++i) refused += iface->schedule(iface->ctx, NULL, count, &one) != 0;
    return (void *)(intptr_t)refused;
}

/* Every task that was accepted runs exactly once, the last ones before destroy returns. */
static void test_own_pool(void **state) {
    (void)state;
    enum { SUBMITTERS = 4 };
    assert_null(se_own_pool_create(0));
    for (int threads = 1; threads <= 7; threads += 2) {
        se_own_pool_t *pool = se_own_pool_create(threads);
        const dnnl_tp_threadpool_iface_t *iface = se_own_pool_iface(pool);
        assert_int_equal(iface->get_num_threads(iface->ctx), threads);
        assert_true(iface->struct_size >= offsetof(dnnl_tp_threadpool_iface_t, wait));
        pthread_t thread[SUBMITTERS];
        int refused = 0;
        atomic_store(&ran, 0);
        for (int i = 0; i < SUBMITTERS; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, submit, (void *)(uintptr_t)iface), 0);
        for (int i = 0; i < SUBMITTERS; ++i) {
            void *result;
            pthread_join(thread[i], &result);
            refused += (int)(intptr_t)result;
        }
        se_own_pool_destroy(pool);
        assert_int_equal(atomic_load(&ran), SUBMITTERS * 1000 - refused);
    }
}

static void test_output(void **state) {
    (void)state;
    se_output_t out;
    const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const char *name = in_dir("x.npy");
    assert_int_equal(se_npy_open(&out, name, 2, 3, &error), 0);
    assert_int_equal(num_files(), 1); /* the temporary one */
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(se_npy_append(&out, rows[0], 3, &error), 0);
    assert_int_equal(se_npy_append(&out, rows[1], 3, &error), 0);
    assert_int_equal(se_output_commit(&out, &error), 0);
    assert_int_equal(num_files(), 1);
    se_file_t file;
    assert_int_equal(se_file_open(&file, name, 1 << 20, &error), 0);
    assert_int_equal(file.size, 128 + sizeof rows);
    assert_memory_equal(
        file.data, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        67);
    assert_int_equal(file.data[127], '\n');
    assert_memory_equal(file.data + 128, rows, sizeof rows);
    se_file_close(&file);

    /* Abandoned: the old file stays as it was, nothing else does. */
    assert_int_equal(se_npy_open(&out, name, 9, 9, &error), 0);
    se_output_abandon(&out);
    se_output_abandon(&out);
    assert_int_equal(num_files(), 1);
    assert_int_equal(se_file_open(&file, name, 1 << 20, &error), 0);
    assert_int_equal(file.size, 128 + sizeof rows);
    se_file_close(&file);
    unlink(name);

    assert_int_not_equal(se_npy_open(&out, "/nonexistent/x.npy", 1, 1, &error), 0);
    assert_non_null(strstr(error.text, "/nonexistent/x.npy: cannot create: No such file"));
    assert_int_not_equal(se_npy_open(&out, dir, 1, 1, &error), 0);
    assert_non_null(strstr(error.text, "is a folder"));
    for (long n = 0;; ++n) {
        failing_memory_arm(n);
        int status = se_npy_open(&out, in_dir("y"), 1, 1, &error);
        failing_memory_disarm();
        if (!status) break;
        assert_int_equal(num_files(), 0);
    }
    se_output_abandon(&out);
    assert_int_equal(num_files(), 0);
    assert_int_equal(failing_memory_live(), 0);
}

static void test_disk_full(void **state) {
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    FILE *f = fopen("/dev/full", "wb");
    static float zeros[1 << 16];
    se_output_t out = {.file = f, .path = se_strdup("/dev/full")};
    int status = se_npy_append(&out, zeros, sizeof zeros / sizeof *zeros, &error);
    if (!status) status = se_output_commit(&out, &error);
    else se_output_abandon(&out);
    assert_int_not_equal(status, 0);
    assert_non_null(strstr(error.text, "cannot write: No space left"));
}

static void write_file(const char *name, const char *text, size_t n) {
    FILE *f = fopen(in_dir(name), "wb");
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void test_npy_read(void **state) {
    (void)state;
    char text[4096];
    int32_t *data;
    size_t rows, cols;
    int n = snprintf(text, sizeof text, "%-117s\n",
                     "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }");
    char whole[4096] = "\x93NUMPY\x01\x00\x76\x00";
    memcpy(whole + 10, text, (size_t)n);
    const int32_t values[] = {1, -2, 3, 4};
    memcpy(whole + 128, values, sizeof values);
    write_file("ids", whole, 128 + sizeof values);
    assert_int_equal(se_npy_read_s32(in_dir("ids"), &data, &rows, &cols, &error), 0);
    assert_int_equal(rows, 2);
    assert_int_equal(cols, 2);
    assert_memory_equal(data, values, sizeof values);
    se_free(data);
    for (size_t cut = 0; cut < 128 + sizeof values; ++cut) {
        write_file("ids", whole, cut);
        assert_int_not_equal(se_npy_read_s32(in_dir("ids"), &data, &rows, &cols, &error), 0);
        assert_null(data);
    }
    unlink(in_dir("ids"));
}

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        const char *last;
    } cases[] = {{"", 0, ""},     {"\n", 1, ""},          {"a", 1, "a"},
                 {"a\n", 1, "a"}, {"a\n\nb\r\n", 3, "b"}, {"a\r", 1, "a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        se_lines_t lines;
        write_file("lines", cases[i].text, strlen(cases[i].text));
        assert_int_equal(se_lines_open(&lines, in_dir("lines"), SE_ERRORS_STRICT, &error), 0);
        assert_int_equal(lines.count, cases[i].count);
        if (lines.count) {
            const se_line_t *last = &lines.line[lines.count - 1];
            assert_int_equal(last->bytes, strlen(cases[i].last));
            assert_memory_equal(last->text, cases[i].last, last->bytes);
        }
        se_lines_close(&lines);
    }
    unlink(in_dir("lines"));
    se_lines_t lines;
    assert_int_not_equal(se_lines_open(&lines, in_dir("none"), SE_ERRORS_STRICT, &error), 0);
    assert_non_null(strstr(error.text, "cannot open: No such file"));
    assert_int_not_equal(se_lines_open(&lines, dir, SE_ERRORS_STRICT, &error), 0);
    assert_non_null(strstr(error.text, "is a folder"));
}

/* The examples of Unicode 15, table 3-8, and the ends of a line. */
static void test_repaired_lines(void **state) {
    (void)state;
#define FFFD "\xef\xbf\xbd"
    static const struct {
        const char *text, *repaired;
    } cases[] = {
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", FFFD FFFD FFFD FFFD "A"},
        {"a\xe2\x82", "a" FFFD},
        {"\xf0\x9f\x98", FFFD},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[64];
        int n = snprintf(text, sizeof text, "first\n%s\nlast\n", cases[i].text);
        write_file("lines", text, (size_t)n);
        se_lines_t lines;
        assert_int_equal(se_lines_open(&lines, in_dir("lines"), SE_ERRORS_REPLACE, &error), 0);
        assert_int_equal(lines.count, 3);
        assert_int_equal(lines.line[1].bytes, strlen(cases[i].repaired));
        assert_memory_equal(lines.line[1].text, cases[i].repaired, lines.line[1].bytes);
        const int bad = strcmp(cases[i].text, cases[i].repaired) != 0;
        assert_int_equal(lines.repaired, bad);
        se_lines_close(&lines);
        assert_int_equal(se_lines_open(&lines, in_dir("lines"), SE_ERRORS_SKIP, &error), 0);
        assert_int_equal(lines.count, 3 - bad);
        assert_int_equal(lines.skipped, bad);
        assert_int_equal(lines.line[lines.count - 1].number, 3);
        se_lines_close(&lines);
        for (long k = 0;; ++k) {
            failing_memory_arm(k);
            int status = se_lines_open(&lines, in_dir("lines"), SE_ERRORS_REPLACE, &error);
            failing_memory_disarm();
            if (!status) break;
        }
        se_lines_close(&lines);
        assert_int_equal(failing_memory_live(), 0);
    }
    unlink(in_dir("lines"));
#undef FFFD
}

static int parse(se_options_t *o, const char *line) {
    static char text[512];
    static char program[] = "sentence_encoder";
    char *argv[32] = {program};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *p = strtok(text, " "); p; p = strtok(NULL, " ")) argv[argc++] = p;
    return se_options_parse(o, argc, argv, &error);
}

static void test_options(void **state) {
    (void)state;
    se_options_t o;
    assert_int_equal(
        parse(&o, "embed --model m --input i --output o --threads 3 --pool builtin --batch 7 --clients 2 "
                  "--profile p --strict"),
        0);
    assert_int_equal(o.command, SE_EMBED);
    assert_int_equal(o.threads, 3);
    assert_int_equal(o.pool, SE_POOL_BUILTIN);
    assert_int_equal(o.batch, 7);
    assert_int_equal(o.clients, 2);
    assert_int_equal(o.strict, 1);
    assert_string_equal(o.profile, "p");
    assert_int_equal(parse(&o, "--help"), 0);
    assert_int_equal(o.command, SE_HELP);
    static const char *const bad[][2] = {{"", "one command"},
                                         {"embed search", "one command"},
                                         {"fly", "unknown command 'fly'"},
                                         {"embed --model m --input i", "--output is missing"},
                                         {"search --model m --input i", "--query is missing"},
                                         {"embed --input i --output o", "--model is missing"},
                                         {"tokenize --model m", "--input is missing"},
                                         {"bench --model m --threads 0", "--threads 0"},
                                         {"bench --model m --threads 2x", "--threads 2x"},
                                         {"bench --model m --threads 99999999999999999999", "in 1..256"},
                                         {"bench --model m --clients 65", "in 1..64"},
                                         {"bench --model m --pool mine", "own, builtin or none"},
                                         {"bench --model m --seconds nan", "--seconds"},
                                         {"bench --model", "unknown or incomplete option '--model'"},
                                         {"bench --modle m", "unknown or incomplete option '--modle'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_not_equal(parse(&o, bad[i][0]), 0);
        if (!strstr(error.text, bad[i][1]))
            fail_msg("'%s': '%s' does not say '%s'", bad[i][0], error.text, bad[i][1]);
    }
}

/* The end of the name chooses the format. */
static void test_trace(void **state) {
    (void)state;
    static const char *const ends[][2] = {
        {"trace.json", "{\"displayTimeUnit\""}, {"trace.txt", "1 records in"}, {"trace.folded", NULL}};
    dnnl_tp_trace_t trace;
    assert_int_equal(se_trace_create(&trace, NULL, &error), 0);
    assert_null(trace);
    assert_int_equal(se_trace_write(trace, NULL, &error), 0);
    assert_int_equal(se_trace_create(&trace, "x", &error), 0);
    char name[16], wanted[32];
    assert_int_equal(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    snprintf(wanted, sizeof wanted, "%s (", name);
    assert_int_equal(dnnl_tp_trace_record(trace, "span", 1, 2), dnnl_tp_success);
    for (int i = 0; i < 3; ++i) {
        se_file_t file;
        assert_int_equal(se_trace_write(trace, in_dir(ends[i][0]), &error), 0);
        assert_int_equal(se_file_open(&file, in_dir(ends[i][0]), 1 << 20, &error), 0);
        const char *begin = i < 2 ? ends[i][1] : wanted;
        assert_memory_equal(file.data, begin, strlen(begin));
        se_file_close(&file);
        unlink(in_dir(ends[i][0]));
    }
    assert_int_equal(se_trace_write(trace, in_dir("none/trace.json"), &error), -1);
    assert_non_null(strstr(error.text, "cannot create"));
    dnnl_tp_trace_destroy(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_pool), cmocka_unit_test(test_output), cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_npy_read), cmocka_unit_test(test_lines),  cmocka_unit_test(test_repaired_lines),
        cmocka_unit_test(test_options),  cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
