/* Options of sessions from JSON: what is read, what is refused and with which words. */
#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "session_json/dnnl_tp_session_json.h"

static void options_are_read(void **state) {
    (void)state;
    const char *text =
        "{\"pools\": [{\"num_threads\": 3}, {\"global_name\": \"shared\"}], \"timeout_ms\": 1.5,"
        " \"max_executables\": 7, \"deterministic\": true, \"memory_budget\": 1048576,"
        " \"use_per_session_threads\": false, \"num_threads\": 2, \"blocking_threads\": 3}";
    dnnl_tp_session_opts_t *o;
    char error[200];
    assert_int_equal(dnnl_tp_session_opts_from_json(&o, text, strlen(text), error, sizeof error),
                     dnnl_tp_success);
    assert_int_equal(o->struct_size, sizeof *o);
    assert_int_equal(o->npools, 2);
    assert_int_equal(o->pools[0].num_threads, 3);
    assert_null(o->pools[0].global_name);
    assert_int_equal(o->pools[1].num_threads, 0);
    assert_string_equal(o->pools[1].global_name, "shared");
    assert_int_equal(o->timeout_ns, 1500000);
    assert_int_equal(o->max_executables, 7);
    assert_int_equal(o->deterministic, 1);
    assert_int_equal(o->memory_budget, 1048576);
    assert_int_equal(o->num_threads, 2);
    assert_int_equal(o->blocking_threads, 3);
    dnnl_tp_session_opts_free(o);
    assert_int_equal(dnnl_tp_session_opts_from_json(&o, "{}", 2, NULL, 0), dnnl_tp_success);
    assert_int_equal(o->npools, 0);
    dnnl_tp_session_opts_free(o);
    dnnl_tp_session_opts_free(NULL);
}

/* The block of doc/sessions.md. */
static void page_is_read(void **state) {
    (void)state;
    char page[1 << 14] = {0};
    FILE *f = fopen(DTP_SOURCE_DIR "/doc/sessions.md", "rb");
    assert_non_null(f);
    assert_true(fread(page, 1, sizeof page - 1, f) < sizeof page - 1);
    fclose(f);
    const char *begin = strstr(page, "\n```json\n");
    assert_non_null(begin);
    begin += strlen("\n```json\n");
    const char *end = strstr(begin, "\n```\n");
    assert_non_null(end);
    dnnl_tp_session_opts_t *o;
    char error[200];
    if (dnnl_tp_session_opts_from_json(&o, begin, (size_t)(end - begin), error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal(o->npools, 2);
    assert_int_equal(o->timeout_ns, 250000000);
    dnnl_tp_session_opts_free(o);
}

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "not JSON"},
        {"[]", "not an object"},
        {"{\"pools\": 3}", "'pools' is not a list"},
        {"{\"pools\": [1]}", "not an object"},
        {"{\"pools\": [{\"size\": 1}]}", "'size' is not an option of a pool"},
        {"{\"pools\": [{\"num_threads\": -1}]}", "from 0 to 256"},
        {"{\"pools\": [{\"num_threads\": 1.5}]}", "not a whole number"},
        {"{\"pools\": [{\"global_name\": 1}]}", "not a string"},
        {"{\"timeout_ms\": -2}", "'timeout_ms'"},
        {"{\"timeout_ms\": \"1\"}", "'timeout_ms'"},
        {"{\"deterministic\": 1}", "neither true nor false"},
        {"{\"num_threads\": 1, \"num_threads\": 2}", "comes twice"},
        {"{\"threads\": 1}", "'threads' is not an option of a session"},
        {"{\"num_threads\": 1} x", "not JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        dnnl_tp_session_opts_t *o;
        char error[200];
        assert_int_equal(
            dnnl_tp_session_opts_from_json(&o, bad[i].text, strlen(bad[i].text), error, sizeof error),
            dnnl_tp_invalid_arguments);
        assert_null(o);
        if (!strstr(error, bad[i].says)) fail_msg("%s: '%s' is not in '%s'", bad[i].text, bad[i].says, error);
    }
    dnnl_tp_session_opts_t *o;
    assert_int_equal(dnnl_tp_session_opts_from_json(&o, "{}\0{}", 5, NULL, 0), dnnl_tp_invalid_arguments);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_are_read), cmocka_unit_test(page_is_read),
                                       cmocka_unit_test(mistakes_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
