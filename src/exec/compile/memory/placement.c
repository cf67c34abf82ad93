/* Placing allocations: no two that are in use at the same time share bytes. */
#include "common/base/sort.h"
#include "exec/compile/memory/plan.h"

enum {
    MANY = 2000,
    LARGEST = 512,
    SMALL_BYTES = 1024, /* of more than FEW allocations: not worth comparing with all others */
    FEW = 64,
    LISTS = 4096,
    TRIES = 32
};

static int by_size(const void *a, const void *b) {
    const dtp_allocation_t *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->buf - y->buf;
}

static int by_first(const void *a, const void *b) {
    const dtp_allocation_t *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->buf - y->buf;
}

static int list_of(size_t bytes) { return (int)((bytes / DTP_CACHE_LINE) % LISTS); }

/* ---- Many -------------------------------------------------------------------------------------------- */

/* An allocation whose place may be taken over, in a ring of those of its list. */
typedef struct {
    int prev, next; /* of the ring */
    int before;     /* the allocation that had the place earlier, -1 */
} placement_t;

/* Is the place of `allocation` free for b? Allocations that are used in every run speak for those before
 * them; where steps run one after another, all do. */
static bool is_free(const dtp_order_t *o, const dtp_allocation_t *r, const placement_t *p, int allocation,
                    int b) {
    if (!o) return r[allocation].last < r[b].first;
    for (int i = 0; allocation >= 0; allocation = p[allocation].before, ++i) {
        if (i == TRIES || !dtp_order_frees(o, &r[allocation], &r[b])) return false;
        if (o->allocations[r[allocation].buf].always) return true;
    }
    return true;
}

/* Many allocations: each in the place of one of its size, of those that were given out longest ago or last. */
static dnnl_tp_status_t place_in_rings(dtp_arena_t *arena, const dtp_order_t *o, dtp_allocation_t *r, int n,
                                       size_t *total) {
    int *head = dtp_arena_alloc(arena, sizeof *head * LISTS);
    placement_t *p = dtp_arena_take(arena, sizeof *p * (size_t)(n + 1));
    if (!head || !p) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) {
        int *first = &head[list_of(r[i].bytes)], found = -1;
        int old = *first - 1, new = *first ? p[old].prev : -1;
        for (int k = 0; k < 2 * TRIES && *first && found < 0; ++k) {
            int x = k % 2 ? new : old;
            if (r[x].bytes == r[i].bytes && is_free(o, r, p, x, i)) found = x;
            if (k % 2 ? (new = p[new].prev) == old : old == new) break;
            if (k % 2 == 0) old = p[old].next;
        }
        p[i] = (placement_t){i, i, found};
        if (found >= 0) {
            r[i].at = r[found].at;
            if (*first == found + 1) *first = p[found].next == found ? 0 : p[found].next + 1;
            p[p[found].prev].next = p[found].next;
            p[p[found].next].prev = p[found].prev;
        } else {
            r[i].at = *total;
            *total += r[i].bytes;
        }
        if (!*first) {
            *first = i + 1;
            continue;
        }
        int h = *first - 1, tail = p[h].prev;
        p[i].prev = tail;
        p[i].next = h;
        p[tail].next = p[h].prev = i;
    }
    return dnnl_tp_success;
}

/* ---- Few allocations, or the largest ----------------------------------------------------------------- */

static bool together(const dtp_order_t *o, const dtp_allocation_t *a, const dtp_allocation_t *b) {
    const bool meet = a->first <= b->last && b->first <= a->last;
    if (!o || meet) return meet;
    return !dtp_order_frees(o, a, b) && !dtp_order_frees(o, b, a);
}

/* In the order of r, large ones first: each in the lowest place where nothing that lives at the same time
 * stands. */
static dnnl_tp_status_t place_few(dtp_arena_t *arena, const dtp_order_t *o, dtp_allocation_t *r, int n,
                                  size_t *total) {
    int *up = dtp_arena_take(arena, sizeof *up * (size_t)(n + 1)); /* those placed, the lowest first */
    if (!up) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) {
        size_t at = 0;
        int k = 0;
        for (; k < i; ++k) {
            const dtp_allocation_t *x = &r[up[k]];
            if (at + r[i].bytes <= x->at) break;
            if (at < x->at + x->bytes && together(o, x, &r[i])) at = x->at + x->bytes;
        }
        r[i].at = at;
        if (at + r[i].bytes > *total) *total = at + r[i].bytes;
        for (k = i; k > 0 && r[up[k - 1]].at > at; --k) up[k] = up[k - 1];
        up[k] = i;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_place_allocations(dtp_arena_t *arena, const dtp_order_t *order, dtp_allocation_t *r,
                                       int n, size_t *total) {
    *total = 0;
    dtp_sort(r, (size_t)n, sizeof *r, by_size);
    int few = order ? (n < LARGEST ? n : LARGEST) : n <= MANY ? n : 0;
    while (n > FEW && few > 0 && r[few - 1].bytes < SMALL_BYTES) --few;
    DTP_TRY(place_few(arena, order, r, few, total));
    if (few == n) return dnnl_tp_success;
    dtp_sort(r + few, (size_t)(n - few), sizeof *r, by_first);
    return place_in_rings(arena, order, r + few, n - few, total);
}
