/* Helpers that every test family uses: status assertions with the library's error text, a seeded generator,
 * an allocator that fails on demand and counts what is alive. */
#ifndef DTP_TESTS_CHECK_H
#define DTP_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dnnl_tp/dnnl_tp.h"

/* Fails the test with expression, status and dnnl_tp_last_error() unless status is what is wanted. */
void check_status_(dnnl_tp_status_t got, dnnl_tp_status_t want, const char *expr, const char *file, int line);
#define CHECK_OK(expr) check_status_((expr), dnnl_tp_success, #expr, __FILE__, __LINE__)
#define CHECK_STATUS(expr, want) check_status_((expr), (want), #expr, __FILE__, __LINE__)

/* xorshift64*; the seed comes from DNNL_TP_TEST_SEED or the default and is printed by a failing CHECK. */
uint64_t test_seed(void);
typedef struct {
    uint64_t state;
} test_rng_t;
test_rng_t test_rng(uint64_t stream);
uint64_t test_rand(test_rng_t *r);
float test_uniform(test_rng_t *r, float lo, float hi);

/* An allocator for dnnl_tp_set_allocator or an engine attribute: the (fail_at)-th allocation from now on
 * fails (0 = the next; < 0 = none), once. Thread-safe. */
typedef struct {
    _Atomic(int64_t) fail_at;
    /* Blocks that were not freed, their bytes as malloc rounded them, and all blocks. */
    _Atomic(int64_t) live, live_bytes, total;
    dnnl_tp_allocator_t iface;
} test_allocator_t;
void test_allocator_init(test_allocator_t *a);

/* Waits until *count is value, 20 s at most. A host may begin a helper that it accepted long after the loop that
 * asked for it has ended, and until then the pool's record lives. */
bool test_becomes(const _Atomic(long) *count, long value);

#endif
