/* Bump allocation, see arena.h. */
#include "exec/arena.h"

enum { BLOCK_BYTES = 16 * 1024, ALIGN = 16 };

struct dtp_arena_block {
    struct dtp_arena_block *next;
    char *free;
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
    arena->left = 0;
}

void *dtp_arena_alloc(dtp_arena_t *arena, size_t size) {
    size = dtp_round_up_size(size ? size : 1, ALIGN);
    if (size > arena->left) {
        size_t head = dtp_round_up_size(sizeof(struct dtp_arena_block), ALIGN);
        size_t bytes = size > BLOCK_BYTES / 2 ? size : BLOCK_BYTES;
        struct dtp_arena_block *b = dtp_zalloc(arena->allocator, head + bytes, ALIGN);
        if (!b) {
            (void)dtp_no_memory(head + bytes);
            return NULL;
        }
        b->free = (char *)b + head;
        b->next = arena->blocks;
        arena->blocks = b;
        arena->left = bytes;
    }
    char *p = arena->blocks->free;
    arena->blocks->free += size;
    arena->left -= size;
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
    void *p = dtp_arena_alloc(arena, (size_t)n * size);
    if (!p) return dnnl_tp_out_of_memory;
    if (*capacity) memcpy(p, *array, (size_t)*capacity * size);
    *array = p;
    *capacity = n;
    return dnnl_tp_success;
}
