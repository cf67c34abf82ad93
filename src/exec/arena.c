/* Bump allocation, see arena.h. */
#include "exec/arena.h"

#include <stdatomic.h>

struct dtp_arena_block {
    struct dtp_arena_block *next;
    char *free, *end;
};
enum {
    BLOCK_BYTES = 16 * 1024,
    LARGE = BLOCK_BYTES / 2, /* more has a block of its own */
    ALIGN = 16,
    HEAD = (sizeof(struct dtp_arena_block) + ALIGN - 1) / ALIGN * ALIGN
};

void dtp_arena_init(dtp_arena_t *arena, const dnnl_tp_allocator_t *allocator) {
    memset(arena, 0, sizeof *arena);
    arena->allocator = allocator;
}

void dtp_arena_free(dtp_arena_t *arena) {
    for (struct dtp_arena_block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        dtp_free(arena->allocator, b);
    }
    arena->blocks = NULL;
}

/* A block that is full from the start, not zeroed; behind the newest, whose rest stays in use. */
static void *arena_large(dtp_arena_t *arena, size_t size) {
    struct dtp_arena_block *b = dtp_alloc(arena->allocator, HEAD + size, ALIGN);
    if (!b) {
        (void)dtp_no_memory(HEAD + size);
        return NULL;
    }
    struct dtp_arena_block **at = arena->blocks ? &arena->blocks->next : &arena->blocks;
    b->free = b->end = (char *)b + HEAD + size;
    b->next = *at;
    atomic_signal_fence(memory_order_release); /* a fork may come between any two stores */
    *at = b;
    return (char *)b + HEAD;
}

void *dtp_arena_alloc(dtp_arena_t *arena, size_t size) {
    size = dtp_round_up_size(size ? size : 1, ALIGN);
    if (size > LARGE) {
        void *p = arena_large(arena, size);
        if (p) memset(p, 0, size);
        return p;
    }
    struct dtp_arena_block *last = arena->blocks;
    if (!last || size > (size_t)(last->end - last->free)) {
        struct dtp_arena_block *b = dtp_zalloc(arena->allocator, HEAD + BLOCK_BYTES, ALIGN);
        if (!b) {
            (void)dtp_no_memory(HEAD + BLOCK_BYTES);
            return NULL;
        }
        b->free = (char *)b + HEAD;
        b->end = b->free + BLOCK_BYTES;
        b->next = last;
        atomic_signal_fence(memory_order_release); /* a fork may come between any two stores */
        arena->blocks = last = b;
    }
    char *p = last->free;
    last->free += size;
    return p;
}

char *dtp_arena_text(dtp_arena_t *arena, const char *text) {
    size_t n = strlen(text) + 1;
    char *p = dtp_arena_alloc(arena, n);
    if (p) memcpy(p, text, n);
    return p;
}

dnnl_tp_status_t dtp_arena_grow(dtp_arena_t *arena, void **array, int *capacity, int need, size_t size) {
    if (need <= *capacity) return dnnl_tp_success;
    int n = *capacity ? *capacity : 16;
    while (n < need) n *= 2;
    const size_t bytes = (size_t)n * size, old = (size_t)*capacity * size;
    char *p =
        bytes > LARGE ? arena_large(arena, dtp_round_up_size(bytes, ALIGN)) : dtp_arena_alloc(arena, bytes);
    if (!p) return dnnl_tp_out_of_memory;
    if (old) memcpy(p, *array, old);
    if (bytes > LARGE) memset(p + old, 0, bytes - old);
    *array = p;
    *capacity = n;
    return dnnl_tp_success;
}
