/* See traces.h. */
#include "support/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

char test_trace_path[] = "/tmp/dnnl_tp_trace.XXXXXX";
int test_trace_setup(void **state) {
    (void)state;
    int file = mkstemp(test_trace_path);
    return file < 0 ? -1 : close(file);
}
int test_trace_teardown(void **state) {
    (void)state;
    return unlink(test_trace_path);
}

char *test_trace_text(dnnl_tp_trace_t t) {
    enum { ROOM = 1 << 20 };
    CHECK_OK(dnnl_tp_trace_write(t, test_trace_path, DNNL_TP_TRACE_CHROME));
    FILE *f = fopen(test_trace_path, "rb");
    assert_non_null(f);
    char *text = calloc(1, ROOM);
    assert_true(text && fread(text, 1, ROOM - 1, f) > 0);
    fclose(f);
    return text;
}

dnnl_tp_trace_t test_trace(int64_t max_events) {
    dnnl_tp_trace_t t;
    dnnl_tp_trace_opts_t o = {.struct_size = sizeof o, .max_events = max_events};
    CHECK_OK(dnnl_tp_trace_create(&t, &o));
    return t;
}
dnnl_tp_trace_info_t test_trace_info(dnnl_tp_trace_t t) {
    dnnl_tp_trace_info_t info = {.struct_size = sizeof info};
    CHECK_OK(dnnl_tp_trace_query(t, &info));
    return info;
}
bool test_trace_find(dnnl_tp_trace_t t, dnnl_tp_trace_kind_t kind, const char *name,
                     dnnl_tp_trace_stat_t *stat) {
    static dnnl_tp_trace_stat_t all[256];
    int n;
    CHECK_OK(dnnl_tp_trace_get_stats(t, 256, all, &n));
    assert_true(n <= 256);
    for (int i = 0; i < n; ++i) {
        if (i) assert_true(all[i].self_ns <= all[i - 1].self_ns);
        assert_true(all[i].count > 0 && all[i].min_ns >= 0 && all[i].min_ns <= all[i].max_ns);
        assert_true(all[i].total_ns >= all[i].max_ns && all[i].self_ns <= all[i].total_ns);
    }
    for (int i = 0; i < n; ++i)
        if (all[i].kind == kind && !strcmp(all[i].name, name)) {
            *stat = all[i];
            return true;
        }
    return false;
}
