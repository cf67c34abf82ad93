/* The pending work of a pool, which waits for a ticket, in the order in which it is taken: by priority, then by time. All
 * under the record's lock; every operation takes a time that does not depend on how many wait (there are about
 * 200 priorities).
 *
 * Two lists, told apart by `attended`: work whose owner sleeps and can be told that a ticket is free (runs, tickets,
 * queues for which a thread waits), and queues for which nobody waits. So dispatch finds somebody to tell without
 * a walk. A list is a chain of rings, one per priority, each known by its oldest pending work. */
#ifndef DTP_THREADING_POOLS_FIFO_H
#define DTP_THREADING_POOLS_FIFO_H

#include "threading/pools/record.h"

static inline void dtp_fifo_append(dtp_pool_t *rec, dtp_pending_work_t *work, bool attended) {
    dtp_pending_work_t **at = &rec->fifo[attended], *above = NULL;
    for (; *at && (*at)->priority > work->priority; at = &(*at)->below) above = *at;
    dtp_pending_work_t *oldest = *at;
    work->attended = attended;
    if (oldest && oldest->priority == work->priority) {
        work->next = oldest;
        work->prev = oldest->prev;
        work->prev->next = oldest->prev = work;
        work->is_oldest = false;
        return;
    }
    work->next = work->prev = work;
    work->is_oldest = true;
    work->above = above;
    work->below = oldest;
    if (oldest) oldest->above = work;
    *at = work;
}

static inline void dtp_fifo_remove(dtp_pool_t *rec, dtp_pending_work_t *work) {
    work->prev->next = work->next;
    work->next->prev = work->prev;
    if (!work->is_oldest) return;
    dtp_pending_work_t *heir = work->next == work ? work->below : work->next;
    *(work->above ? &work->above->below : &rec->fifo[work->attended]) = heir;
    if (heir) heir->above = work->above;
    if (work->next == work) return;
    heir->is_oldest = true;
    heir->below = work->below;
    if (heir->below) heir->below->above = heir;
}

/* The pending work that is taken next, or NULL. */
static inline dtp_pending_work_t *dtp_fifo_first(const dtp_pool_t *rec) {
    dtp_pending_work_t *a = rec->fifo[0], *b = rec->fifo[1];
    if (!a || !b) return a ? a : b;
    if (a->priority != b->priority) return a->priority > b->priority ? a : b;
    return a->number < b->number ? a : b;
}

/* Of the first few that wait, the first run that may pass others, takes at most ns, has this priority at least and was not told of a
 * free ticket. */
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

/* The first one with this cookie; walks. */
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
