/* Bump allocation for objects that die together: the parts of a graph, of a compilation, of an
 * executable. */
#ifndef DTP_COMMON_BASE_ARENA_H
#define DTP_COMMON_BASE_ARENA_H

#include "common/base/base.h"

typedef struct {
    const dnnl_tp_allocator_t *allocator;
    struct dtp_arena_block *blocks;   /* newest first */
    struct dtp_arena_block *expected; /* of dtp_arena_expect, NULL */
} dtp_arena_t;

void dtp_arena_init(dtp_arena_t *arena, const dnnl_tp_allocator_t *allocator);
void dtp_arena_free(dtp_arena_t *arena);
/* Called before the first large array: large arrays will take about so many bytes. If the number is
 * large, they come from one block, which requests large pages. */
dnnl_tp_status_t dtp_arena_expect(dtp_arena_t *arena, size_t bytes);
/* Zeroed, 16-byte aligned; NULL when out of memory (the last error is set then). */
void *dtp_arena_alloc(dtp_arena_t *arena, size_t size);
/* The same without zeros: the caller writes all of it. */
void *dtp_arena_take(dtp_arena_t *arena, size_t size);
/* The caller does not need p of that many bytes any more: frees it if it is large. NULL is allowed.
 */
void dtp_arena_drop(dtp_arena_t *arena, void *p, size_t size);
/* A copy; texts without a character share one. */
const char *dtp_arena_text(dtp_arena_t *arena, const char *text);

/* Makes room for `need` elements in an array of the arena, doubling; new elements are not
 * initialised. A large old array is freed. */
dnnl_tp_status_t dtp_arena_enlarge(dtp_arena_t *arena, void **array, int *capacity, int need, size_t size);
static inline dnnl_tp_status_t dtp_arena_grow(dtp_arena_t *arena, void **array, int *capacity, int need,
                                              size_t size) {
    return need <= *capacity ? dnnl_tp_success : dtp_arena_enlarge(arena, array, capacity, need, size);
}

#endif
