/* See lent.h. There are as many slabs as runs were at work at once: when none of the idle ones is large
 * enough, the smallest of them makes room for a new one, which has room for half as much again, if there
 * is memory for it: shapes that grow little by little touch few pages twice. */
#include "exec/graph/lent.h"

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

/* The best for so many bytes: the smallest that has room, else the smallest. */
static dtp_slab_t *unlist_best(dtp_slabs_t *s, size_t bytes) {
    dtp_slab_t **best = NULL, **smallest = &s->idle;
    for (dtp_slab_t **p = &s->idle; *p; p = &(*p)->next) {
        if ((*p)->room >= bytes && (!best || (*p)->room < (*best)->room)) best = p;
        if ((*p)->room < (*smallest)->room) smallest = p;
    }
    return unlist(s, best ? best : smallest);
}

/* A slab with room for so many bytes: this one (or none), or a new one in its place. */
static dtp_slab_t *fit(dtp_slabs_t *s, dtp_slab_t *slab, size_t bytes) {
    if (slab && slab->room >= bytes) return slab;
    const size_t more = slab ? slab->room + slab->room / 2 : 0;
    size_t room = more > bytes ? more : bytes;
    dtp_slab_t *made = dtp_alloc(s->allocator, DTP_NO_SHARE + room, DTP_NO_SHARE);
    if (!made && room > bytes) {
        room = bytes;
        made = dtp_alloc(s->allocator, DTP_NO_SHARE + room, DTP_NO_SHARE);
    }
    if (!made) {
        if (slab) dtp_slab_give(s, slab);
        (void)dtp_no_memory(DTP_NO_SHARE + room);
        return NULL;
    }
    dtp_free(s->allocator, slab);
    *made = (dtp_slab_t){.room = room};
    return made;
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
    dtp_slab_t *slab = enough ? NULL : unlist_best(s, bytes);
    dtp_unlock(&s->lock);
    if (enough) return true;
    slab = fit(s, slab, bytes);
    if (!slab) return false;
    if (slab->touched < bytes) {
        dtp_touch_pages(dtp_slab_data(slab) + slab->touched, bytes - slab->touched);
        slab->touched = bytes;
    }
    dtp_slab_give(s, slab);
    dtp_lock(&s->lock);
    if (bytes > s->largest) s->largest = bytes;
    dtp_unlock(&s->lock);
    return true;
}

dtp_slab_t *dtp_slab_take(dtp_slabs_t *s, size_t bytes) {
    dtp_slab_t *slab = take_hot(s);
    if (slab && slab->room >= bytes &&
        (slab->room / 3 * 2 <= bytes || !atomic_load_explicit(&s->listed, memory_order_relaxed)))
        return slab; /* no other fits better, or there is none */
    dtp_lock(&s->lock);
    list(s, slab);
    slab = unlist_best(s, bytes);
    dtp_unlock(&s->lock);
    return fit(s, slab, bytes);
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
