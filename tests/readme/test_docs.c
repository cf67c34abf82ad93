/* The pages in doc/primitives name every implementation of their kind, in the order of the engine's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/primitive/primitive_desc.h"

#define DTP_KIND(name, number) extern const dtp_impl_t *const dtp_cpu_##name##_list[];
#include "common/primitive/kinds.inc"

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
#define DTP_KIND(name, number) check_page(#name, dtp_cpu_##name##_list);
#define DTP_GRAPH_KIND(name, NAME, number)
#include "common/primitive/kinds.inc"
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
