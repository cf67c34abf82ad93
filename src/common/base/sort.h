/* Sorting in place by a heap, because qsort may allocate. */
#ifndef DTP_COMMON_BASE_SORT_H
#define DTP_COMMON_BASE_SORT_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { DTP_SORT_MAX_BYTES = 64 };                           /* of an element */
typedef int dtp_compare_fn_t(const void *a, const void *b); /* as of qsort */

static inline void dtp_sort_swap(char *a, char *b, size_t size) {
    char x[DTP_SORT_MAX_BYTES];
    memcpy(x, a, size);
    memcpy(a, b, size);
    memcpy(b, x, size);
}

static inline void dtp_sort_sift(char *p, size_t at, size_t n, size_t size, dtp_compare_fn_t *compare) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && compare(p + child * size, p + (child + 1) * size) < 0) ++child;
        if (compare(p + at * size, p + child * size) >= 0) return;
        dtp_sort_swap(p + at * size, p + child * size, size);
    }
}

static inline void dtp_sort(void *elements, size_t n, size_t size, dtp_compare_fn_t *compare) {
    char *p = elements;
    size_t sorted = 1;
    assert(size <= DTP_SORT_MAX_BYTES);
    while (sorted < n && compare(p + (sorted - 1) * size, p + sorted * size) <= 0) ++sorted;
    if (sorted >= n) return;
    for (size_t i = n / 2; i-- > 0;) dtp_sort_sift(p, i, n, size, compare);
    for (size_t i = n - 1; i > 0; --i) {
        dtp_sort_swap(p, p + i * size, size);
        dtp_sort_sift(p, 0, i, size, compare);
    }
}

#endif
