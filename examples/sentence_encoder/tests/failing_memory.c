/* See failing_memory.h. Once armed, its functions stay: a block must be freed by those that made it. */
#include "failing_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common.h"
#include "dnnl_tp/dnnl_tp.h"

static atomic_long next, fail_at, failed, live;

typedef union {
    max_align_t align;
    char bytes[1];
} mark_t;

static void *alloc(size_t bytes) {
    long n = atomic_fetch_add(&next, 1);
    if (n == atomic_load(&fail_at)) {
        atomic_fetch_add(&failed, 1);
        return NULL;
    }
    mark_t *p = malloc(sizeof *p + bytes);
    if (!p) return NULL;
    atomic_fetch_add(&live, 1);
    return p + 1;
}

static void release(void *ptr) {
    atomic_fetch_sub(&live, 1);
    free((mark_t *)ptr - 1);
}

void failing_memory_arm(long n) {
    static const se_mem_hooks_t hooks = {alloc, release};
    atomic_store(&next, 0);
    atomic_store(&fail_at, n);
    atomic_store(&failed, 0);
    se_mem_set_hooks(&hooks);
}

long failing_memory_disarm(void) {
    atomic_store(&fail_at, -1);
    return atomic_load(&failed);
}

long failing_memory_live(void) { return atomic_load(&live); }
long failing_memory_count(void) { return atomic_load(&next); }

/* The library wants alignment: the block carries where it begins. */
static void *library_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    if (alignment < sizeof(mark_t)) alignment = sizeof(mark_t);
    char *base = alloc(size + alignment + sizeof(void *));
    if (!base) return NULL;
    uintptr_t at = ((uintptr_t)base + sizeof(void *) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((void **)at)[-1] = base;
    return (void *)at;
}

static void library_free(void *ctx, void *ptr) {
    (void)ctx;
    release(((void **)ptr)[-1]);
}

int failing_memory_use_in_library(void) {
    failing_memory_arm(-1);
    const dnnl_tp_allocator_t allocator = {sizeof allocator, NULL, library_alloc, library_free};
    return dnnl_tp_set_allocator(&allocator) != dnnl_tp_success ||
           dnnl_tp_set_primitive_cache_capacity(0) != dnnl_tp_success;
}
