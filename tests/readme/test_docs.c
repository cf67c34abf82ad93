/* The pages in doc/primitives name every implementation of their kind, in the order of the engine's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/engine/cpu_lists.h"

static char *read_page(const char *kind) {
    char path[512];
    snprintf(path, sizeof path, DTP_SOURCE_DIR "/doc/primitives/%s.md", kind);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    assert_true(n > 0);
    fclose(f);
    return text;
}

static void check_page(const char *kind, const dtp_impl_t *const *list) {
    char *text = read_page(kind);
    const char *at = strstr(text, "## Implementations, in order");
    assert_non_null(at);
    assert_non_null(list[0]);
    for (; *list; ++list) {
        char row[80];
        snprintf(row, sizeof row, "| `%s` |", (*list)->name);
        const char *found = strstr(at, row);
        if (!found) fail_msg("doc/primitives/%s.md: no row %s behind the one before it", kind, row);
        at = found + 1;
    }
    free(text);
}

static void test_pages(void **state) {
    (void)state;
    check_page("matmul", dtp_cpu_matmul_list);
    check_page("inner_product", dtp_cpu_inner_product_list);
    check_page("softmax", dtp_cpu_softmax_list);
    check_page("layer_normalization", dtp_cpu_layer_norm_list);
    check_page("eltwise", dtp_cpu_eltwise_list);
    check_page("binary", dtp_cpu_binary_list);
    check_page("reduction", dtp_cpu_reduction_list);
    check_page("reorder", dtp_cpu_reorder_list);
    check_page("concat", dtp_cpu_concat_list);
    check_page("sum", dtp_cpu_sum_list);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
