/* The far engine's memory; see far_engine.h. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/far_engine/far_parts.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define ARENA ((size_t)4 << 30) /* a file with holes */
enum { REDZONE = 256, ALIGN = 256, RED = 0xa5, FRESH = 0xff, FREED = 0xfe };

typedef struct block {
    size_t at, bytes, device;
    struct block *next; /* behind it in the arena */
} block_t;

static struct {
    pthread_mutex_t lock;
    char *seen, *real; /* what users see; what the engine's threads use */
    block_t *first;
    far_stats_t stats;
} far = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic int64_t fail_at = -1;

void far_wrong(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "far engine: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

static void end_of_program(void) {
    if (far_report()) _exit(1);
}

static void map_arena(void) {
    int fd = memfd_create("far", 0);
    if (fd < 0 || ftruncate(fd, (off_t)ARENA)) far_wrong("no file of %zu bytes", ARENA);
    far.seen = mmap(NULL, ARENA, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    far.real = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (far.seen == MAP_FAILED || far.real == MAP_FAILED) far_wrong("no mapping of %zu bytes", ARENA);
    close(fd);
    atexit(end_of_program);
}

static size_t whole(size_t bytes) { return dtp_round_up_size(bytes, ALIGN); }
static void check_block(const block_t *b) {
    const unsigned char *p = (const unsigned char *)far.real + b->at;
    UNPOISON(p - REDZONE, (size_t)REDZONE);
    UNPOISON(p + b->bytes, whole(b->bytes) - b->bytes + REDZONE);
    for (size_t i = 0; i < REDZONE; ++i)
        if (p[-1 - (ptrdiff_t)i] != RED)
            far_wrong("written %zu bytes before a block of %zu", i + 1, b->bytes);
    for (size_t i = b->bytes; i < whole(b->bytes) + REDZONE; ++i)
        if (p[i] != RED) far_wrong("written %zu bytes behind a block of %zu", i - b->bytes, b->bytes);
    POISON(p - REDZONE, (size_t)REDZONE);
    POISON(p + b->bytes, whole(b->bytes) - b->bytes + REDZONE);
}

void *far_alloc(dnnl_tp_engine_t engine, size_t bytes, bool zeroed) {
    far_engine_t *e = (far_engine_t *)(void *)engine;
    const bool fails = atomic_load(&fail_at) >= 0 && atomic_fetch_sub(&fail_at, 1) == 0;
    block_t *b = fails ? NULL : malloc(sizeof *b);
    if (!b) {
        (void)dtp_no_memory(bytes);
        return NULL;
    }
    pthread_mutex_lock(&far.lock);
    const size_t used = e->used, limit = e->own.memory_limit;
    if (limit && (bytes > limit || used > limit - bytes)) {
        pthread_mutex_unlock(&far.lock);
        free(b);
        (void)dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY,
                       "%zu bytes wanted, %zu of the engine's limit of %zu are in use", bytes, used, limit);
        return NULL;
    }
    e->used += bytes;
    if (!far.real) map_arena();
    size_t at = REDZONE;
    block_t **link = &far.first;
    for (; *link && (*link)->at < at + whole(bytes) + 2 * REDZONE; link = &(*link)->next)
        at = (*link)->at + whole((*link)->bytes) + 2 * REDZONE;
    if (at + whole(bytes) + REDZONE > ARENA) far_wrong("the arena is full");
    *b = (block_t){at, bytes, engine->index, *link};
    *link = b;
    unsigned char *p = (unsigned char *)far.real + at;
    UNPOISON(p - REDZONE, whole(bytes) + 2 * REDZONE);
    memset(p - REDZONE, RED, REDZONE);
    memset(p, zeroed ? 0 : FRESH, bytes);
    memset(p + bytes, RED, whole(bytes) - bytes + REDZONE);
    POISON(p - REDZONE, (size_t)REDZONE);
    POISON(p + bytes, whole(bytes) - bytes + REDZONE);
    ++far.stats.blocks;
    far.stats.bytes += (int64_t)bytes;
    pthread_mutex_unlock(&far.lock);
    return far.seen + at;
}

void far_free(dnnl_tp_engine_t engine, void *handle) {
    if (!handle) return;
    pthread_mutex_lock(&far.lock);
    block_t **link = &far.first;
    while (*link && far.seen + (*link)->at != (char *)handle) link = &(*link)->next;
    block_t *b = *link;
    if (!b || b->device != engine->index)
        far_wrong("%p is freed and no block of device %zu", handle, engine->index);
    check_block(b);
    unsigned char *p = (unsigned char *)far.real + b->at;
    memset(p, FREED, b->bytes);
    POISON(p, b->bytes);
    enum { PAGE = 4096, BIG = 1 << 20 }; /* pages of large blocks go back to the system */
    if (b->bytes >= BIG) {
        char *page = (char *)dtp_round_up_size((uintptr_t)p, PAGE);
        (void)!madvise(page, (b->bytes - (size_t)(page - (char *)p)) / PAGE * PAGE, MADV_REMOVE);
    }
    *link = b->next;
    --far.stats.blocks;
    far.stats.bytes -= (int64_t)b->bytes;
    ((far_engine_t *)(void *)engine)->used -= b->bytes;
    pthread_mutex_unlock(&far.lock);
    free(b);
}

bool far_owns(const void *handle) {
    return far.seen && (const char *)handle >= far.seen && (const char *)handle < far.seen + ARENA;
}

void *far_translate(size_t device, const void *handle, size_t bytes, const char *what) {
    if (!bytes) return NULL;
    pthread_mutex_lock(&far.lock);
    const block_t *b = far.first;
    while (b && (const char *)handle >= far.seen + b->at + b->bytes) b = b->next;
    if (!far_owns(handle) || !b || (const char *)handle < far.seen + b->at ||
        (const char *)handle + bytes > far.seen + b->at + b->bytes)
        far_wrong("%s: %zu bytes at %p are not in one block", what, bytes, handle);
    if (b->device != device) far_wrong("%s: a block of device %zu, needed is %zu", what, b->device, device);
    pthread_mutex_unlock(&far.lock);
    return far.real + ((const char *)handle - far.seen);
}

/* ---- Mapping ----------------------------------------------------------------------------------------- */

typedef struct {
    void *handle;
    size_t bytes;
    _Alignas(64) char data[];
} mapping_t;

dnnl_tp_status_t far_map(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped) {
    if (!handle) return dnnl_tp_success; /* as the handle: NULL */
    mapping_t *m = dtp_alloc(engine->allocator, sizeof *m + bytes, DTP_CACHE_LINE);
    if (!m) return dtp_no_memory(bytes);
    m->handle = handle;
    m->bytes = bytes;
    if (bytes) memcpy(m->data, far_translate(engine->index, handle, bytes, "map"), bytes);
    *mapped = m->data;
    return dnnl_tp_success;
}

dnnl_tp_status_t far_unmap(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped) {
    if (!handle && !mapped) return dnnl_tp_success;
    DTP_REQUIRE(mapped && mapped != handle, BAD_PARAM, "not the pointer that map_data gave");
    mapping_t *m = (mapping_t *)(void *)((char *)mapped - offsetof(mapping_t, data));
    DTP_REQUIRE(m->handle == handle && m->bytes == bytes, BAD_PARAM, "not the pointer that map_data gave");
    if (bytes) memcpy(far_translate(engine->index, handle, bytes, "unmap"), m->data, bytes);
    dtp_free(engine->allocator, m);
    return dnnl_tp_success;
}

dnnl_tp_status_t far_write(dnnl_tp_engine_t engine, void *handle, const void *data, size_t bytes) {
    if (bytes) memcpy(far_translate(engine->index, handle, bytes, "write"), data, bytes);
    return dnnl_tp_success;
}

/* ---- For tests --------------------------------------------------------------------------------------- */

bool far_fail_alloc(int64_t n) { return atomic_exchange(&fail_at, n) >= 0; }

static _Atomic int64_t executed, copied;
void far_count_execution(void) { atomic_fetch_add(&executed, 1); }
void far_count_copy(void) { atomic_fetch_add(&copied, 1); }

far_stats_t far_stats(void) {
    pthread_mutex_lock(&far.lock);
    far_stats_t stats = far.stats;
    pthread_mutex_unlock(&far.lock);
    stats.executed = atomic_load(&executed);
    stats.copied = atomic_load(&copied);
    return stats;
}

void far_check(void) {
    pthread_mutex_lock(&far.lock);
    for (const block_t *b = far.first; b; b = b->next) check_block(b);
    pthread_mutex_unlock(&far.lock);
}

int far_report(void) {
    far_check();
    pthread_mutex_lock(&far.lock);
    for (const block_t *b = far.first; b; b = b->next)
        fprintf(stderr, "far engine: a block of %zu bytes of device %zu was not freed\n", b->bytes,
                b->device);
    const int left = far.first != NULL;
    pthread_mutex_unlock(&far.lock);
    return left;
}
