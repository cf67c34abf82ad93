/* See counted_malloc.h. The executable is linked with --wrap for each of these names. */
#include "counted_malloc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

static atomic_long calls;
static atomic_int counting;

void counted_malloc_start(void) {
    atomic_store(&calls, 0);
    atomic_store(&counting, 1);
}

long counted_malloc_stop(void) {
    atomic_store(&counting, 0);
    return atomic_load(&calls);
}

static void count(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed)) atomic_fetch_add(&calls, 1);
}

#define WRAP(type, name, params, args) \
    type __real_##name params;         \
    type __wrap_##name params;         \
    type __wrap_##name params {        \
        count();                       \
        return __real_##name args;     \
    }
WRAP(void *, malloc, (size_t n), (n))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *p, size_t n), (p, n))
WRAP(void *, aligned_alloc, (size_t align, size_t n), (align, n))
WRAP(int, posix_memalign, (void **p, size_t align, size_t n), (p, align, n))
WRAP(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t off), (p, n, prot, flags, fd, off))
