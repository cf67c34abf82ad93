/* The pending work of a pool, which waits for a ticket, in the order in which it is taken: by
 * priority, then by time. All functions are called under the record's lock. Finding the first one
 * takes constant time; inserting and removing take a time that grows with the logarithm of the
 * number of different priorities.
 *
 * There are two lists, distinguished by `attended`: work whose owner sleeps and can be told that a
 * ticket is free (runs, tickets, queues for which a thread waits), and queues for which no thread
 * waits. So dispatch finds a thread to tell without a walk. A list is a chain of rings, one for
 * each priority, each represented by its oldest pending work (above, below). A search tree of the
 * same rings (higher, lower) finds the place of a priority. It is as deep as a random tree: a ring
 * is above rings of lower rank, and the rank is a hash of the priority. */
#ifndef DTP_THREADING_POOLS_FIFO_H
#define DTP_THREADING_POOLS_FIFO_H

#include "threading/pools/record.h"

/* Different priorities have different ranks. */
static inline uint32_t dtp_fifo_rank(int priority) {
    uint32_t x = (uint32_t)priority;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* The pointer in the tree to the ring. */
static inline dtp_pending_work_t **dtp_fifo_place(dtp_pool_t *rec, const dtp_pending_work_t *ring) {
    dtp_pending_work_t **at = &rec->tree[ring->attended];
    while (*at != ring) at = ring->priority > (*at)->priority ? &(*at)->higher : &(*at)->lower;
    return at;
}

static inline void dtp_fifo_plant(dtp_pool_t *rec, dtp_pending_work_t *ring) {
    const uint32_t rank = dtp_fifo_rank(ring->priority);
    dtp_pending_work_t **at = &rec->tree[ring->attended];
    while (*at && dtp_fifo_rank((*at)->priority) > rank)
        at = ring->priority > (*at)->priority ? &(*at)->higher : &(*at)->lower;
    /* Splits the subtree at this place in two. */
    dtp_pending_work_t *rest = *at, **higher = &ring->higher, **lower = &ring->lower;
    *at = ring;
    while (rest) {
        if (rest->priority > ring->priority) {
            *higher = rest;
            higher = &rest->lower;
            rest = rest->lower;
        } else {
            *lower = rest;
            lower = &rest->higher;
            rest = rest->higher;
        }
    }
    *higher = *lower = NULL;
}

static inline void dtp_fifo_uproot(dtp_pool_t *rec, const dtp_pending_work_t *ring) {
    dtp_pending_work_t **at = dtp_fifo_place(rec, ring), *higher = ring->higher, *lower = ring->lower;
    while (higher && lower) {
        if (dtp_fifo_rank(higher->priority) > dtp_fifo_rank(lower->priority)) {
            *at = higher;
            at = &higher->lower;
            higher = higher->lower;
        } else {
            *at = lower;
            at = &lower->higher;
            lower = lower->higher;
        }
    }
    *at = higher ? higher : lower;
}

static inline void dtp_fifo_append(dtp_pool_t *rec, dtp_pending_work_t *work, bool attended) {
    dtp_pending_work_t *at = rec->tree[attended], *above = NULL, *below = NULL;
    while (at && at->priority != work->priority) {
        if (at->priority > work->priority) above = at;
        else below = at;
        at = at->priority > work->priority ? at->lower : at->higher;
    }
    work->attended = attended;
    work->is_oldest = !at;
    if (at) {
        work->next = at;
        work->prev = at->prev;
        work->prev->next = at->prev = work;
        return;
    }
    work->next = work->prev = work;
    work->above = above;
    work->below = below;
    *(above ? &above->below : &rec->fifo[attended]) = work;
    if (below) below->above = work;
    dtp_fifo_plant(rec, work);
}

static inline void dtp_fifo_remove(dtp_pool_t *rec, dtp_pending_work_t *work) {
    work->prev->next = work->next;
    work->next->prev = work->prev;
    if (!work->is_oldest) return;
    const bool last = work->next == work;
    dtp_pending_work_t *heir = last ? work->below : work->next;
    *(work->above ? &work->above->below : &rec->fifo[work->attended]) = heir;
    if (heir) heir->above = work->above;
    if (last) {
        dtp_fifo_uproot(rec, work);
        return;
    }
    heir->is_oldest = true;
    heir->below = work->below;
    if (heir->below) heir->below->above = heir;
    heir->higher = work->higher;
    heir->lower = work->lower;
    *dtp_fifo_place(rec, work) = heir;
}

/* The pending work that is next, or NULL. */
static inline dtp_pending_work_t *dtp_fifo_first(const dtp_pool_t *rec) {
    dtp_pending_work_t *a = rec->fifo[0], *b = rec->fifo[1];
    if (!a || !b) return a ? a : b;
    if (a->priority != b->priority) return a->priority > b->priority ? a : b;
    return a->number < b->number ? a : b;
}

/* Among the first 32 pieces of pending work: the first run that may pass others, takes at most ns,
 * has at least this priority and was not told of a free ticket. */
static inline dtp_pending_work_t *dtp_fifo_first_short(const dtp_pool_t *rec, int64_t ns, int priority) {
    int looks = 32;
    for (dtp_pending_work_t *ring = rec->fifo[1]; ring && ring->priority >= priority; ring = ring->below) {
        dtp_pending_work_t *work = ring;
        do {
            if (work->ns && work->ns <= ns &&
                atomic_load_explicit(&work->state, memory_order_relaxed) == DTP_PENDING_PUBLISHED)
                return work;
            if (--looks == 0) return NULL;
            work = work->next;
        } while (work != ring);
    }
    return NULL;
}

/* The first one with this cookie; walks the lists. */
static inline dtp_pending_work_t *dtp_fifo_first_of(const dtp_pool_t *rec, const void *cookie) {
    dtp_pending_work_t *found = NULL;
    for (int attended = 0; attended < 2; ++attended)
        for (dtp_pending_work_t *ring = rec->fifo[attended]; ring; ring = ring->below) {
            dtp_pending_work_t *work = ring;
            do {
                const bool older = !found || work->priority > found->priority ||
                                   (work->priority == found->priority && work->number < found->number);
                if (work->cookie == cookie && older) found = work;
                work = work->next;
            } while (work != ring);
        }
    return found;
}

#endif
