/* Bump allocation, see arena.h. */
#include "common/base/arena.h"

#include <stdatomic.h>

struct dtp_arena_block {
    struct dtp_arena_block *next, *prev;
    char *free, *end;
};
enum {
    BLOCK_BYTES = 16 * 1024,
    LARGE = BLOCK_BYTES / 2, /* more has a block of its own */
    MUCH = DTP_LARGE_PAGE,   /* worth large pages */
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
    arena->blocks = arena->expected = NULL;
}

/* Puts b behind `at`, or in front of all blocks; a fork may come between any two stores. */
static void link_block(dtp_arena_t *arena, struct dtp_arena_block *at, struct dtp_arena_block *b) {
    b->prev = at;
    b->next = at ? at->next : arena->blocks;
    atomic_signal_fence(memory_order_release);
    if (at) at->next = b;
    else arena->blocks = b;
    if (b->next) b->next->prev = b;
}

static struct dtp_arena_block *new_block(dtp_arena_t *arena, size_t size) {
    struct dtp_arena_block *b =
        dtp_alloc(arena->allocator, HEAD + size, HEAD + size < MUCH ? ALIGN : DTP_LARGE_PAGE);
    if (!b) {
        (void)dtp_no_memory(HEAD + size);
        return NULL;
    }
    b->free = (char *)b + HEAD;
    b->end = b->free + size;
    return b;
}

dnnl_tp_status_t dtp_arena_expect(dtp_arena_t *arena, size_t bytes) {
    if (bytes < MUCH) return dnnl_tp_success;
    struct dtp_arena_block *b = new_block(arena, bytes);
    if (!b) return dnnl_tp_out_of_memory;
    link_block(arena, arena->blocks, b);
    arena->expected = b;
    return dnnl_tp_success;
}

/* Not zeroed: of the block that was made for it, or a block that is full from the start; behind the newest, whose
 * rest stays in use. */
static void *arena_large(dtp_arena_t *arena, size_t size) {
    struct dtp_arena_block *b = arena->expected;
    if (b && size <= (size_t)(b->end - b->free)) {
        b->free += size;
        return b->free - size;
    }
    b = new_block(arena, size);
    if (!b) return NULL;
    b->free = b->end;
    link_block(arena, arena->blocks, b);
    return (char *)b + HEAD;
}

void dtp_arena_drop(dtp_arena_t *arena, void *p, size_t size) {
    const struct dtp_arena_block *e = arena->expected;
    if (!p || dtp_round_up_size(size, ALIGN) <= LARGE) return;
    if (e && (char *)p > (const char *)e && (char *)p < e->end) return;
    struct dtp_arena_block *b = (struct dtp_arena_block *)(void *)((char *)p - HEAD);
    if (b->prev) b->prev->next = b->next;
    else arena->blocks = b->next;
    if (b->next) b->next->prev = b->prev;
    atomic_signal_fence(memory_order_release);
    dtp_free(arena->allocator, b);
}

void *dtp_arena_take(dtp_arena_t *arena, size_t size) {
    size = dtp_round_up_size(size ? size : 1, ALIGN);
    if (size > LARGE) return arena_large(arena, size);
    struct dtp_arena_block *last = arena->blocks;
    if (!last || size > (size_t)(last->end - last->free)) {
        last = new_block(arena, BLOCK_BYTES);
        if (!last) return NULL;
        link_block(arena, NULL, last);
    }
    char *p = last->free;
    last->free += size;
    return p;
}

void *dtp_arena_alloc(dtp_arena_t *arena, size_t size) {
    void *p = dtp_arena_take(arena, size);
    if (p) memset(p, 0, size);
    return p;
}

const char *dtp_arena_text(dtp_arena_t *arena, const char *text) {
    size_t n = strlen(text) + 1;
    if (n == 1) return "";
    char *p = dtp_arena_take(arena, n);
    if (p) memcpy(p, text, n);
    return p;
}

dnnl_tp_status_t dtp_arena_enlarge(dtp_arena_t *arena, void **array, int *capacity, int need, size_t size) {
    enum { FEW_BYTES = 16 };
    int n = *capacity ? *capacity : (int)(FEW_BYTES / size) + 1;
    while (n < need) n *= 2;
    const size_t old = (size_t)*capacity * size;
    void *p = dtp_arena_take(arena, (size_t)n * size), *from = *array;
    if (!p) return dnnl_tp_out_of_memory;
    if (old) memcpy(p, from, old);
    *array = p;
    *capacity = n;
    if (old) dtp_arena_drop(arena, from, old);
    return dnnl_tp_success;
}
