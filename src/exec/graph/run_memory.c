/* See run_memory.h. There are as many blocks as runs were at work at once: when none of the idle ones is large
 * enough, the smallest of them makes room for a new one, which has capacity for half as much again, if there
 * is memory for it: shapes that grow little by little touch few pages twice. */
#include "exec/graph/run_memory.h"

/* Under the lock. */
static void list(dtp_run_memory_t *s, dtp_run_block_t *block) {
    if (!block) return;
    block->next = s->idle;
    s->idle = block;
    atomic_store_explicit(&s->listed, true, memory_order_relaxed);
}

static dtp_run_block_t *unlist(dtp_run_memory_t *s, dtp_run_block_t **at) {
    dtp_run_block_t *block = *at;
    if (block) *at = block->next;
    atomic_store_explicit(&s->listed, s->idle != NULL, memory_order_relaxed);
    return block;
}

static dtp_run_block_t *take_hot(dtp_run_memory_t *s) {
    return atomic_exchange_explicit(&s->hot, NULL, memory_order_acquire);
}

bool dtp_run_memory_enter(dtp_run_memory_t *s, const dnnl_tp_allocator_t *allocator) {
    dtp_lock(&s->lock);
    if (s->executables == 0) s->allocator = allocator;
    bool in = s->allocator == allocator;
    if (in) ++s->executables;
    dtp_unlock(&s->lock);
    return in;
}

void dtp_run_memory_leave(dtp_run_memory_t *s) {
    dtp_run_block_t *idle = NULL;
    dtp_lock(&s->lock);
    const dnnl_tp_allocator_t *allocator = s->allocator;
    if (--s->executables == 0) {
        list(s, take_hot(s));
        idle = s->idle;
        s->idle = NULL;
        atomic_store_explicit(&s->listed, false, memory_order_relaxed);
        s->largest = 0;
    }
    dtp_unlock(&s->lock);
    for (dtp_run_block_t *next; idle; idle = next) {
        next = idle->next;
        dtp_free(allocator, idle);
    }
}

/* The best for so many bytes: the smallest that is large enough, else the smallest. */
static dtp_run_block_t *unlist_best(dtp_run_memory_t *s, size_t bytes) {
    dtp_run_block_t **best = NULL, **smallest = &s->idle;
    for (dtp_run_block_t **p = &s->idle; *p; p = &(*p)->next) {
        if ((*p)->capacity >= bytes && (!best || (*p)->capacity < (*best)->capacity)) best = p;
        if ((*p)->capacity < (*smallest)->capacity) smallest = p;
    }
    return unlist(s, best ? best : smallest);
}

/* A block for so many bytes: this one (or none), or a new one in its place. */
static dtp_run_block_t *fit(dtp_run_memory_t *s, dtp_run_block_t *block, size_t bytes) {
    if (block && block->capacity >= bytes) return block;
    const size_t more = block ? block->capacity + block->capacity / 2 : 0;
    size_t capacity = more > bytes ? more : bytes;
    dtp_run_block_t *made = dtp_alloc(s->allocator, DTP_NO_SHARE + capacity, DTP_NO_SHARE);
    if (!made && capacity > bytes) {
        capacity = bytes;
        made = dtp_alloc(s->allocator, DTP_NO_SHARE + capacity, DTP_NO_SHARE);
    }
    if (!made) {
        if (block) dtp_run_memory_give(s, block);
        (void)dtp_no_memory(DTP_NO_SHARE + capacity);
        return NULL;
    }
    dtp_free(s->allocator, block);
    *made = (dtp_run_block_t){.capacity = capacity};
    return made;
}

void dtp_touch_pages(void *p, size_t bytes) {
    enum { PAGE = 4096 };
    char *c = p;
    for (size_t i = 0; i < bytes; i += PAGE) __atomic_fetch_or(&c[i], 0, __ATOMIC_RELAXED);
    if (bytes) __atomic_fetch_or(&c[bytes - 1], 0, __ATOMIC_RELAXED); /* p may lie anywhere in its page */
}

bool dtp_run_memory_reserve(dtp_run_memory_t *s, size_t bytes) {
    dtp_lock(&s->lock);
    bool enough = s->largest >= bytes;
    if (!enough) list(s, take_hot(s));
    dtp_run_block_t *block = enough ? NULL : unlist_best(s, bytes);
    dtp_unlock(&s->lock);
    if (enough) return true;
    block = fit(s, block, bytes);
    if (!block) return false;
    if (block->touched < bytes) {
        dtp_touch_pages(dtp_run_block_data(block) + block->touched, bytes - block->touched);
        block->touched = bytes;
    }
    dtp_run_memory_give(s, block);
    dtp_lock(&s->lock);
    if (bytes > s->largest) s->largest = bytes;
    dtp_unlock(&s->lock);
    return true;
}

dtp_run_block_t *dtp_run_memory_take(dtp_run_memory_t *s, size_t bytes) {
    dtp_run_block_t *block = take_hot(s);
    if (block && block->capacity >= bytes &&
        (block->capacity / 3 * 2 <= bytes || !atomic_load_explicit(&s->listed, memory_order_relaxed)))
        return block; /* no other fits better, or there is none */
    dtp_lock(&s->lock);
    list(s, block);
    block = unlist_best(s, bytes);
    dtp_unlock(&s->lock);
    return fit(s, block, bytes);
}

void dtp_run_memory_give(dtp_run_memory_t *s, dtp_run_block_t *block) {
    dtp_run_block_t *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&s->hot, &none, block, memory_order_release,
                                                memory_order_relaxed))
        return;
    dtp_lock(&s->lock);
    list(s, block);
    dtp_unlock(&s->lock);
}
