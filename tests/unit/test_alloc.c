/* Large pages of the default allocator: which pages it asks for, what it writes, and that it waits for no more of them when
 * one takes long: it fills those that follow, and asks then. The system's part is played by the test: its madvise notes each
 * page, and its clock says how long the first touch took. */
#include "support/check.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/base/base.h"
#include "common/base/with.h"

enum { MOST = 512, SLOW_MS = 4, PAUSE = 64 /* pages that stay small after a slow one */ };

static struct {
    char *page[MOST];
    bool is_filled[MOST]; /* before it was asked for */
    int n, slow; /* pages that were asked for; the number of the one whose first touch is slow, -1: none */
    int looks;   /* at the clock */
    int answer;
    long ms, step_ms; /* what the clock shows, and by how much each look at it moves it */
} seen;

int madvise(void *at, size_t size, int advice) {
    if (advice != MADV_HUGEPAGE) return 0;
    assert_int_equal(size, DTP_LARGE_PAGE);
    assert_int_equal((uintptr_t)at % DTP_LARGE_PAGE, 0);
    assert_true(seen.n < MOST);
    seen.step_ms = seen.n == seen.slow ? SLOW_MS : 0;
    unsigned char in_memory[DTP_LARGE_PAGE / 4096];
    assert_int_equal(mincore(at, size, in_memory), 0);
    seen.is_filled[seen.n] = true;
    for (size_t i = 0; i < sizeof in_memory; ++i) seen.is_filled[seen.n] &= in_memory[i] & 1;
    seen.page[seen.n++] = at;
    return seen.answer;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    if (clock == CLOCK_THREAD_CPUTIME_ID) { /* what a busy machine takes away does not count */
        ++seen.looks;
        seen.ms += seen.step_ms;
    }
    *t = (struct timespec){.tv_sec = 1000 + seen.ms / 1000, .tv_nsec = seen.ms % 1000 * 1000000};
    return 0;
}

/* So many bytes of this alignment: the number of pages that were asked for before they were filled; the others are filled
 * then. All bytes can be written. */
static int pages_of(size_t size, size_t alignment) {
    seen.n = seen.looks = 0;
    char *p = dtp_alloc(NULL, size, alignment);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % alignment, 0);
    const int now = seen.answer ? seen.n : seen.looks / 2;
    int filled = 0;
    for (int i = 0; i < seen.n; ++i) {
        assert_true(seen.page[i] >= p && seen.page[i] + DTP_LARGE_PAGE <= p + size);
        filled += seen.is_filled[i];
    }
    assert_true(filled >= seen.n - now);
    if (size < 64u * DTP_LARGE_PAGE) memset(p, 0x5a, size);
    dtp_free(NULL, p);
    return now;
}

static void whole_pages_alone(void **state) {
    (void)state;
    seen.slow = -1;
    assert_int_equal(pages_of(DTP_LARGE_PAGE, 64), 0); /* nobody asked */
    assert_int_equal(pages_of(DTP_LARGE_PAGE - 1, DTP_LARGE_PAGE), 0);
    assert_int_equal(pages_of(DTP_LARGE_PAGE, DTP_LARGE_PAGE), DTP_WITH_LARGE_PAGES);
    assert_int_equal(pages_of(3 * (size_t)DTP_LARGE_PAGE - 1, DTP_LARGE_PAGE), 2 * DTP_WITH_LARGE_PAGES);
    assert_int_equal(pages_of(3 * (size_t)DTP_LARGE_PAGE, DTP_LARGE_PAGE), 3 * DTP_WITH_LARGE_PAGES);
}

static void no_more_where_there_are_none(void **state) {
    (void)state;
    seen.slow = -1;
    seen.answer = -1;
    assert_int_equal(pages_of(4 * (size_t)DTP_LARGE_PAGE, DTP_LARGE_PAGE), DTP_WITH_LARGE_PAGES);
    seen.answer = 0;
}

/* The third is slow: 64 that follow, in this block and in others, are filled first. */
static void pause_after_a_slow_one(void **state) {
    (void)state;
    if (!DTP_WITH_LARGE_PAGES) skip();
    seen.slow = 2;
    assert_int_equal(pages_of(10 * (size_t)DTP_LARGE_PAGE, DTP_LARGE_PAGE), 3);
    assert_int_equal(seen.n, 10);
    seen.slow = -1;
    const int left = PAUSE - 7;
    assert_int_equal(pages_of((size_t)(left - 1) * DTP_LARGE_PAGE, DTP_LARGE_PAGE), 0);
    assert_int_equal(seen.n, left - 1);
    assert_int_equal(pages_of(5 * (size_t)DTP_LARGE_PAGE, DTP_LARGE_PAGE), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_pages_alone),
        cmocka_unit_test(no_more_where_there_are_none),
        cmocka_unit_test(pause_after_a_slow_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
