/* See slabs.h. There are as many slabs as runs were at work at once: when none of the idle ones is large
 * enough, the smallest of them makes room for a new one. */
#include "exec/slabs.h"

bool dtp_slabs_enter(dtp_slabs_t *s, const dnnl_tp_allocator_t *allocator) {
    dtp_lock(&s->lock);
    if (s->executables == 0) s->allocator = allocator;
    bool in = s->allocator == allocator;
    if (in) ++s->executables;
    dtp_unlock(&s->lock);
    return in;
}

void dtp_slabs_leave(dtp_slabs_t *s) {
    dtp_slab_t *list = NULL;
    dtp_lock(&s->lock);
    const dnnl_tp_allocator_t *allocator = s->allocator;
    if (--s->executables == 0) {
        list = s->idle;
        s->idle = NULL;
        s->largest = 0;
    }
    dtp_unlock(&s->lock);
    for (dtp_slab_t *next; list; list = next) {
        next = list->next;
        dtp_free(allocator, list);
    }
}

static dtp_slab_t *unlink_smallest(dtp_slabs_t *s) {
    dtp_slab_t **at = &s->idle;
    for (dtp_slab_t **p = at; *p; p = &(*p)->next)
        if ((*p)->bytes < (*at)->bytes) at = p;
    dtp_slab_t *slab = *at;
    if (slab) *at = slab->next;
    return slab;
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
    return slab;
}

bool dtp_slabs_reserve(dtp_slabs_t *s, size_t bytes) {
    dtp_lock(&s->lock);
    bool enough = s->largest >= bytes;
    dtp_slab_t *small = enough ? NULL : unlink_smallest(s);
    dtp_unlock(&s->lock);
    if (enough) return true;
    dtp_slab_t *slab = replace(s, small, bytes);
    if (slab) dtp_slab_give(s, slab);
    return slab != NULL;
}

dtp_slab_t *dtp_slab_take(dtp_slabs_t *s, size_t bytes) {
    dtp_lock(&s->lock);
    dtp_slab_t **best = NULL, *slab = NULL, *small = NULL;
    for (dtp_slab_t **p = &s->idle; *p; p = &(*p)->next)
        if ((*p)->bytes >= bytes && (!best || (*p)->bytes < (*best)->bytes)) best = p;
    if (best) {
        slab = *best;
        *best = slab->next;
    } else {
        small = unlink_smallest(s);
    }
    dtp_unlock(&s->lock);
    return slab ? slab : replace(s, small, bytes);
}

void dtp_slab_give(dtp_slabs_t *s, dtp_slab_t *slab) {
    dtp_lock(&s->lock);
    slab->next = s->idle;
    s->idle = slab;
    if (slab->bytes > s->largest) s->largest = slab->bytes;
    dtp_unlock(&s->lock);
}
