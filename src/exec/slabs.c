/* See slabs.h. There are as many slabs as runs were at work at once: when none of the idle ones is large
 * enough, the smallest of them makes room for a new one. */
#include "exec/slabs.h"

/* Under the lock. */
static void list(dtp_slabs_t *s, dtp_slab_t *slab) {
    if (!slab) return;
    slab->next = s->idle;
    s->idle = slab;
    atomic_store_explicit(&s->listed, true, memory_order_relaxed);
}

static dtp_slab_t *unlist(dtp_slabs_t *s, dtp_slab_t **at) {
    dtp_slab_t *slab = *at;
    if (slab) *at = slab->next;
    atomic_store_explicit(&s->listed, s->idle != NULL, memory_order_relaxed);
    return slab;
}

static dtp_slab_t *take_hot(dtp_slabs_t *s) {
    return atomic_exchange_explicit(&s->hot, NULL, memory_order_acquire);
}

bool dtp_slabs_enter(dtp_slabs_t *s, const dnnl_tp_allocator_t *allocator) {
    dtp_lock(&s->lock);
    if (s->executables == 0) s->allocator = allocator;
    bool in = s->allocator == allocator;
    if (in) ++s->executables;
    dtp_unlock(&s->lock);
    return in;
}

void dtp_slabs_leave(dtp_slabs_t *s) {
    dtp_slab_t *slabs = NULL;
    dtp_lock(&s->lock);
    const dnnl_tp_allocator_t *allocator = s->allocator;
    if (--s->executables == 0) {
        list(s, take_hot(s));
        slabs = s->idle;
        s->idle = NULL;
        atomic_store_explicit(&s->listed, false, memory_order_relaxed);
        s->largest = 0;
    }
    dtp_unlock(&s->lock);
    for (dtp_slab_t *next; slabs; slabs = next) {
        next = slabs->next;
        dtp_free(allocator, slabs);
    }
}

static dtp_slab_t *unlink_smallest(dtp_slabs_t *s) {
    dtp_slab_t **at = &s->idle;
    for (dtp_slab_t **p = at; *p; p = &(*p)->next)
        if ((*p)->bytes < (*at)->bytes) at = p;
    return unlist(s, at);
}

/* A new slab, in the place of one that is too small. */
static dtp_slab_t *replace(dtp_slabs_t *s, dtp_slab_t *small, size_t bytes) {
    dtp_slab_t *slab = dtp_alloc(s->allocator, DTP_NO_SHARE + bytes, DTP_NO_SHARE);
    if (!slab) {
        if (small) dtp_slab_give(s, small);
        (void)dtp_no_memory(DTP_NO_SHARE + bytes);
        return NULL;
    }
    dtp_free(s->allocator, small);
    slab->bytes = bytes;
    dtp_lock(&s->lock);
    if (bytes > s->largest) s->largest = bytes;
    dtp_unlock(&s->lock);
    return slab;
}

void dtp_touch_pages(void *p, size_t bytes) {
    enum { PAGE = 4096 };
    char *c = p;
    for (size_t i = 0; i < bytes; i += PAGE) __atomic_fetch_or(&c[i], 0, __ATOMIC_RELAXED);
    if (bytes) __atomic_fetch_or(&c[bytes - 1], 0, __ATOMIC_RELAXED); /* p may lie anywhere in its page */
}

bool dtp_slabs_reserve(dtp_slabs_t *s, size_t bytes) {
    dtp_lock(&s->lock);
    bool enough = s->largest >= bytes;
    if (!enough) list(s, take_hot(s));
    dtp_slab_t *small = enough ? NULL : unlink_smallest(s);
    dtp_unlock(&s->lock);
    if (enough) return true;
    dtp_slab_t *slab = replace(s, small, bytes);
    if (!slab) return false;
    dtp_touch_pages(dtp_slab_data(slab), bytes);
    dtp_slab_give(s, slab);
    return true;
}

dtp_slab_t *dtp_slab_take(dtp_slabs_t *s, size_t bytes) {
    dtp_slab_t *slab = take_hot(s), *small = NULL, **best = NULL;
    if (slab && (slab->bytes == bytes ||
                 (slab->bytes > bytes && !atomic_load_explicit(&s->listed, memory_order_relaxed))))
        return slab; /* nothing else fits better */
    dtp_lock(&s->lock);
    list(s, slab);
    slab = NULL;
    for (dtp_slab_t **p = &s->idle; *p; p = &(*p)->next)
        if ((*p)->bytes >= bytes && (!best || (*p)->bytes < (*best)->bytes)) best = p;
    if (best) slab = unlist(s, best);
    else small = unlink_smallest(s);
    dtp_unlock(&s->lock);
    return slab ? slab : replace(s, small, bytes);
}

void dtp_slab_give(dtp_slabs_t *s, dtp_slab_t *slab) {
    dtp_slab_t *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&s->hot, &none, slab, memory_order_release,
                                                memory_order_relaxed))
        return;
    dtp_lock(&s->lock);
    list(s, slab);
    dtp_unlock(&s->lock);
}
