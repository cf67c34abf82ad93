/* Own records and their nesting, tables and folded stacks, full traces, refusals, files that cannot be
 * written, memory that runs out. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/traces.h"
#include "trace/trace.h"

static char folder[] = "/tmp/dnnl_tp_trace.XXXXXX";
static const char *in_folder(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}
/* Files in the folder, which are removed. */
static int clear_folder(void) {
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            ++n;
            assert_int_equal(remove(in_folder(e->d_name)), 0);
        }
    closedir(dir);
    return n;
}
static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}
/* ---- Own records, nesting, formats ------------------------------------------------------------------- */

static void test_spans(void **state) {
    (void)state;
    dnnl_tp_trace_t t = test_trace(0);
    /* Recorded when they end, as everything is; the outer one has two inside, one of them with one more. */
    CHECK_OK(dnnl_tp_trace_record(t, "c;c", 1300, 1400));
    CHECK_OK(dnnl_tp_trace_record(t, "b", 1200, 1500));
    CHECK_OK(dnnl_tp_trace_record(t, "b", 1600, 1601));
    CHECK_OK(dnnl_tp_trace_record(t, "a", 1000, 2000));
    CHECK_OK(dnnl_tp_trace_record(t, "a", 2000, 2010));
    dnnl_tp_trace_stat_t s;
    assert_true(test_trace_find(t, dnnl_tp_trace_span, "a", &s));
    assert_true(s.count == 2 && s.total_ns == 1010 && s.self_ns == 1010 - 301 && s.min_ns == 10 &&
                s.max_ns == 1000);
    assert_true(test_trace_find(t, dnnl_tp_trace_span, "b", &s));
    assert_true(s.count == 2 && s.total_ns == 301 && s.self_ns == 201);
    CHECK_OK(dnnl_tp_trace_write(t, in_folder("t.folded"), DNNL_TP_TRACE_FOLDED));
    char *text = read_file(in_folder("t.folded"));
    int lines = 0, found = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), ++lines) {
        const char *rest = strchr(line, ';');
        assert_non_null(rest);
        found += !strcmp(rest, ";a 709") + 2 * !strcmp(rest, ";a;b 201") + 4 * !strcmp(rest, ";a;b;c:c 100");
    }
    assert_true(lines == 3 && found == 7);
    free(text);
    CHECK_OK(dnnl_tp_trace_write(t, in_folder("t.txt"), DNNL_TP_TRACE_TEXT));
    text = read_file(in_folder("t.txt"));
    assert_non_null(strstr(text, "5 records in 1.010 us; 0 dropped"));
    assert_non_null(strstr(text, "0.709"));
    free(text);
    /* Long names are cut between characters; equal beginnings are one. */
    char name[80];
    memset(name, 'n', sizeof name);
    memcpy(name + 62, "\xc3\xa9zz", 5);
    CHECK_OK(dnnl_tp_trace_record(t, name, 3000, 3001));
    name[62] = 0;
    assert_true(test_trace_find(t, dnnl_tp_trace_span, name, &s));
    dnnl_tp_trace_destroy(t);
    assert_int_equal(clear_folder(), 2);
}

static void test_full(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 63, 100, 1000, 20000};
    for (int k = 0; k < 6; ++k) {
        dnnl_tp_trace_t t = test_trace(sizes[k]);
        for (int i = 0; i < sizes[k] + 50; ++i) CHECK_OK(dnnl_tp_trace_record(t, "x", 10 * i, 10 * i + 1));
        assert_int_equal(test_trace_info(t).events, sizes[k]);
        assert_int_equal(test_trace_info(t).dropped, 50);
        dnnl_tp_trace_stat_t s;
        assert_true(test_trace_find(t, dnnl_tp_trace_span, "x", &s));
        assert_int_equal(s.count, sizes[k]);
        dnnl_tp_trace_destroy(t);
    }
    /* More names than there are places: the rest is called (others). */
    dnnl_tp_trace_t t = test_trace(0);
    char name[16];
    for (int i = 0; i < DTP_TRACE_SOURCES; ++i) {
        snprintf(name, sizeof name, "%d", i);
        CHECK_OK(dnnl_tp_trace_record(t, name, i, i + 1));
    }
    int n;
    CHECK_OK(dnnl_tp_trace_get_stats(t, 0, NULL, &n));
    assert_int_equal(n, DTP_TRACE_SOURCES / 4 * 3);
    dnnl_tp_trace_destroy(t);
    t = test_trace(0); /* an empty one */
    for (int format = 0; format < 3; ++format) CHECK_OK(dnnl_tp_trace_write(t, in_folder("e"), format));
    dnnl_tp_trace_destroy(t);
    assert_int_equal(clear_folder(), 1);
}

/* ---- Failures ---------------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_trace_t t, none = NULL;
    dnnl_tp_trace_opts_t o = {.struct_size = 1};
    CHECK_STATUS(dnnl_tp_trace_create(NULL, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_create(&t, &o), dnnl_tp_invalid_arguments);
    assert_null(t);
    o = (dnnl_tp_trace_opts_t){.struct_size = sizeof o, .flags = 1};
    CHECK_STATUS(dnnl_tp_trace_create(&t, &o), dnnl_tp_invalid_arguments);
    o = (dnnl_tp_trace_opts_t){.struct_size = sizeof o, .max_events = -1};
    CHECK_STATUS(dnnl_tp_trace_create(&t, &o), dnnl_tp_invalid_arguments);
    o.max_events = (int64_t)INT32_MAX + 1;
    CHECK_STATUS(dnnl_tp_trace_create(&t, &o), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_trace_create(&t, NULL));
    int n;
    dnnl_tp_trace_info_t info = {0};
    CHECK_STATUS(dnnl_tp_trace_query(t, &info), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_query(none, &info), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_set_enabled(t, 2), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_record(t, NULL, 0, 1), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_record(t, "x", 1, 0), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_get_stats(t, 1, NULL, &n), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_get_stats(t, -1, NULL, &n), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_write(t, in_folder("x"), 4), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_write(t, in_folder("x"), -1), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_trace_write(t, NULL, 0), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_stream_set_trace(NULL, t, NULL), dnnl_tp_invalid_arguments);
    /* Files that cannot be: no folder, in the place of a folder, no room. Nothing stays behind. */
    for (int i = 0; i < 5000; ++i) CHECK_OK(dnnl_tp_trace_record(t, "x", i, i + 1));
    for (int format = 0; format < 3; ++format) {
        CHECK_STATUS(dnnl_tp_trace_write(t, in_folder("none/x"), format), dnnl_tp_invalid_arguments);
        assert_int_equal(dtp_last_reason(), DTP_TRACE_FILE);
        assert_non_null(strstr(dnnl_tp_last_error(), "none/x: No such file"));
        assert_int_equal(mkdir(in_folder("taken"), 0700), 0);
        CHECK_STATUS(dnnl_tp_trace_write(t, in_folder("taken"), format), dnnl_tp_runtime_error);
        assert_int_equal(clear_folder(), 1);
        FILE *f = fopen(in_folder("kept"), "w");
        fputs("kept", f);
        fclose(f);
        struct rlimit before, small = {8, 8};
        getrlimit(RLIMIT_FSIZE, &before);
        small.rlim_max = before.rlim_max;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        CHECK_STATUS(dnnl_tp_trace_write(t, in_folder("kept"), format), dnnl_tp_runtime_error);
        setrlimit(RLIMIT_FSIZE, &before);
        char *text = read_file(in_folder("kept"));
        assert_string_equal(text, "kept");
        free(text);
        assert_int_equal(clear_folder(), 1);
    }
    /* A link is followed, also one to nothing yet; what it points to keeps its rights. */
    FILE *f = fopen(in_folder("real"), "w");
    fclose(f);
    assert_int_equal(chmod(in_folder("real"), 0640), 0);
    assert_int_equal(symlink("real", in_folder("link")), 0);
    struct stat s;
    for (int round = 0; round < 2; ++round) {
        CHECK_OK(dnnl_tp_trace_write(t, in_folder("link"), DNNL_TP_TRACE_TEXT));
        assert_int_equal(lstat(in_folder("link"), &s), 0);
        assert_true(S_ISLNK(s.st_mode));
        assert_int_equal(stat(in_folder("real"), &s), 0);
        assert_true(s.st_size > 0);
        if (round == 0) assert_int_equal(s.st_mode & 07777, 0640);
        assert_int_equal(unlink(in_folder("real")), 0);
    }
    assert_int_equal(clear_folder(), 1);
    /* Devices stay what they are. */
    CHECK_OK(dnnl_tp_trace_write(t, "/dev/null", DNNL_TP_TRACE_TEXT));
    CHECK_STATUS(dnnl_tp_trace_write(t, "/dev/full", DNNL_TP_TRACE_TEXT), dnnl_tp_runtime_error);
    struct stat device;
    assert_int_equal(stat("/dev/null", &device), 0);
    assert_true(S_ISCHR(device.st_mode));
    CHECK_OK(dnnl_tp_trace_destroy(NULL));
    dnnl_tp_trace_destroy(t);
}

static void test_out_of_memory(void **state) {
    (void)state;
    static test_allocator_t a;
    test_allocator_init(&a);
    CHECK_OK(dnnl_tp_set_allocator(&a.iface));
    dnnl_tp_trace_opts_t o = {.struct_size = sizeof o, .max_events = 500};
    dnnl_tp_trace_t t = NULL;
    for (long n = 0; !t; ++n) {
        assert_true(n < 100);
        a.fail_at = n;
        dnnl_tp_status_t s = dnnl_tp_trace_create(&t, &o);
        a.fail_at = -1;
        assert_int_equal(s, t ? dnnl_tp_success : dnnl_tp_out_of_memory);
        if (!t) assert_int_equal(a.live, 0);
    }
    char name[16];
    int64_t total = a.total;
    for (int i = 0; i < 400; ++i) {
        snprintf(name, sizeof name, "%d", i);
        CHECK_OK(dnnl_tp_trace_record(t, name, i, i + 1));
    }
    CHECK_OK(dnnl_tp_trace_record(t, "around", 0, 1000));
    assert_int_equal(a.total, total); /* recording allocates nothing */
    int64_t live = a.live;
    for (int what = 0; what < 4; ++what) {
        dnnl_tp_status_t s = dnnl_tp_out_of_memory;
        for (long n = 0; s; ++n) {
            dnnl_tp_trace_stat_t stat[4];
            int count;
            assert_true(n < 1000);
            a.fail_at = n;
            s = what < 3 ? dnnl_tp_trace_write(t, in_folder("x"), what)
                         : dnnl_tp_trace_get_stats(t, 4, stat, &count);
            a.fail_at = -1;
            assert_int_equal(a.live, live);
            if (s) assert_int_equal(s, dnnl_tp_out_of_memory);
            assert_int_equal(clear_folder(), s == dnnl_tp_success && what < 3);
        }
    }
    dnnl_tp_trace_destroy(t);
    assert_int_equal(a.live, 0);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spans), cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
