/* See check.h. */
#include "support/check.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void check_status_(dnnl_tp_status_t got, dnnl_tp_status_t want, const char *expr, const char *file,
                   int line) {
    if (got == want) return;
    fprintf(stderr, "%s:%d: %s\n  gave %s, wanted %s; last error: %s (seed %llu)\n", file, line, expr,
            dnnl_tp_status2str(got), dnnl_tp_status2str(want), dnnl_tp_last_error(),
            (unsigned long long)test_seed());
    _fail(file, line);
}

uint64_t test_seed(void) {
    const char *text = getenv("DNNL_TP_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20191119u;
}

test_rng_t test_rng(uint64_t stream) {
    test_rng_t r = {(test_seed() + 1) * 0x9e3779b97f4a7c15u ^ (stream + 1) * 0xbf58476d1ce4e5b9u};
    if (!r.state) r.state = 1;
    for (int i = 0; i < 4; ++i) (void)test_rand(&r);
    return r;
}

uint64_t test_rand(test_rng_t *r) {
    uint64_t x = r->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->state = x;
    return x * 0x2545f4914f6cdd1du;
}

float test_uniform(test_rng_t *r, float lo, float hi) {
    return lo + (hi - lo) * (float)(test_rand(r) >> 40) * (1.f / 16777216.f);
}

static void *failing_alloc(void *ctx, size_t size, size_t alignment) {
    test_allocator_t *a = ctx;
    atomic_fetch_add(&a->total, 1);
    if (atomic_load(&a->fail_at) >= 0 && atomic_fetch_sub(&a->fail_at, 1) == 0) return NULL;
    void *ptr = NULL;
    if (posix_memalign(&ptr, alignment, size)) return NULL;
    atomic_fetch_add(&a->live, 1);
    atomic_fetch_add(&a->live_bytes, (int64_t)malloc_usable_size(ptr));
    return ptr;
}

static void failing_free(void *ctx, void *ptr) {
    test_allocator_t *a = ctx;
    atomic_fetch_sub(&a->live, 1);
    atomic_fetch_sub(&a->live_bytes, (int64_t)malloc_usable_size(ptr));
    free(ptr);
}

void test_allocator_init(test_allocator_t *a) {
    atomic_init(&a->fail_at, -1);
    atomic_init(&a->live, 0);
    atomic_init(&a->live_bytes, 0);
    atomic_init(&a->total, 0);
    a->iface = (dnnl_tp_allocator_t){sizeof a->iface, a, failing_alloc, failing_free};
}

bool test_becomes(const _Atomic(long) *count, long value) {
    enum { MOST_MS = 20000 };
    for (int i = 0; i < MOST_MS && atomic_load(count) != value; ++i) usleep(1000);
    return atomic_load(count) == value;
}
