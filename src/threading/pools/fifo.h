/* The roots of a pool that wait for a ticket, in the order in which they are taken: by priority, then by time. All
 * under the record's lock; every operation takes a time that does not depend on how many wait (there are about
 * 200 priorities).
 *
 * Two lists, told apart by `attended`: roots whose owner sleeps and can be told that a ticket is free (runs, tickets,
 * queues for which a thread waits), and queues for which nobody waits. So dispatch finds somebody to tell without
 * a walk. A list is a chain of rings, one per priority, each known by its oldest root. */
#ifndef DTP_THREADING_POOLS_FIFO_H
#define DTP_THREADING_POOLS_FIFO_H

#include "threading/pools/record.h"

static inline void dtp_fifo_append(dtp_pool_t *rec, dtp_root_t *root, bool attended) {
    dtp_root_t **at = &rec->fifo[attended], *above = NULL;
    for (; *at && (*at)->priority > root->priority; at = &(*at)->below) above = *at;
    dtp_root_t *oldest = *at;
    root->attended = attended;
    if (oldest && oldest->priority == root->priority) {
        root->next = oldest;
        root->prev = oldest->prev;
        root->prev->next = oldest->prev = root;
        root->is_oldest = false;
        return;
    }
    root->next = root->prev = root;
    root->is_oldest = true;
    root->above = above;
    root->below = oldest;
    if (oldest) oldest->above = root;
    *at = root;
}

static inline void dtp_fifo_remove(dtp_pool_t *rec, dtp_root_t *root) {
    root->prev->next = root->next;
    root->next->prev = root->prev;
    if (!root->is_oldest) return;
    dtp_root_t *heir = root->next == root ? root->below : root->next;
    *(root->above ? &root->above->below : &rec->fifo[root->attended]) = heir;
    if (heir) heir->above = root->above;
    if (root->next == root) return;
    heir->is_oldest = true;
    heir->below = root->below;
    if (heir->below) heir->below->above = heir;
}

/* The root that is taken next, or NULL. */
static inline dtp_root_t *dtp_fifo_first(const dtp_pool_t *rec) {
    dtp_root_t *a = rec->fifo[0], *b = rec->fifo[1];
    if (!a || !b) return a ? a : b;
    if (a->priority != b->priority) return a->priority > b->priority ? a : b;
    return a->number < b->number ? a : b;
}

/* The first one with this cookie; walks. */
static inline dtp_root_t *dtp_fifo_first_of(const dtp_pool_t *rec, const void *cookie) {
    dtp_root_t *found = NULL;
    for (int attended = 0; attended < 2; ++attended)
        for (dtp_root_t *ring = rec->fifo[attended]; ring; ring = ring->below) {
            dtp_root_t *root = ring;
            do {
                const bool older = !found || root->priority > found->priority ||
                                   (root->priority == found->priority && root->number < found->number);
                if (root->cookie == cookie && older) found = root;
                root = root->next;
            } while (root != ring);
        }
    return found;
}

#endif
