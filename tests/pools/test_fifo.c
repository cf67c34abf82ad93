/* The order of pending work (src/threading/pools/fifo.h) against a list that is searched from end
 * to end: any priorities, many of them different, work that is taken from anywhere or moves to the
 * other list. */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "support/check.h"
#include "threading/pools/fifo.h"

enum { WORKS = 400, STEPS = 60000 };
static dtp_pool_t rec;
static dtp_pending_work_t works[WORKS];
static uint64_t random_state = 1;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 32) * n >> 32);
}

/* The first of a list, or of both (-1), as it should be. */
static const dtp_pending_work_t *first_of(int list) {
    const dtp_pending_work_t *first = NULL;
    for (int i = 0; i < WORKS; ++i) {
        const dtp_pending_work_t *w = &works[i];
        if (!w->linked || (list >= 0 && w->attended != list)) continue;
        if (!first || w->priority > first->priority ||
            (w->priority == first->priority && w->number < first->number))
            first = w;
    }
    return first;
}
static int depth(const dtp_pending_work_t *ring, int64_t least, int64_t most) {
    if (!ring) return 0;
    assert_true(ring->is_oldest && ring->priority >= least && ring->priority <= most);
    const int a = depth(ring->higher, (int64_t)ring->priority + 1, most),
              b = depth(ring->lower, least, (int64_t)ring->priority - 1);
    return 1 + (a > b ? a : b);
}
static void check_lists(void) {
    for (int list = 0; list < 2; ++list) {
        int n = 0, rings = 0;
        const dtp_pending_work_t *above = NULL;
        for (const dtp_pending_work_t *ring = rec.fifo[list]; ring;
             above = ring, ring = ring->below, ++rings) {
            const dtp_pending_work_t *w = ring;
            assert_true(ring->above == above && (!above || above->priority > ring->priority));
            do {
                assert_true(w->linked && w->attended == list && w->priority == ring->priority);
                assert_true(w->next == ring || w->next->number > w->number);
                ++n;
            } while ((w = w->next) != ring);
        }
        for (int i = 0; i < WORKS; ++i) n -= works[i].linked && works[i].attended == list;
        assert_int_equal(n, 0);
        int log = 0;
        while (rings >> log) ++log;
        assert_true(depth(rec.tree[list], INT_MIN, INT_MAX) <= 5 * log + 1);
    }
}
static int any_priority(int kind) {
    static const int edges[] = {INT_MAX, INT_MIN, 0, -1, 1, INT_MAX - 1};
    switch (kind) {
    case 0: return (int)random_below(7) - 3;
    case 1: return (int)random_below(UINT32_MAX);
    case 2: return (int)(rec.n_published << 12);
    default: return edges[random_below(sizeof edges / sizeof *edges)];
    }
}
static void order(void **state) {
    (void)state;
    for (int step = 0; step < STEPS; ++step) {
        dtp_pending_work_t *w = &works[random_below(WORKS)];
        const int growing = step / 5000 % 2, kind = step / 2500 % 4;
        if (!w->linked && random_below(4) < (growing ? 4 : 1)) {
            w->priority = any_priority(kind);
            w->number = ++rec.n_published;
            w->linked = true;
            dtp_fifo_append(&rec, w, random_below(2));
        } else if (w->linked && random_below(4) < (growing ? 1 : 4)) {
            if (random_below(2)) w = dtp_fifo_first(&rec);
            dtp_fifo_remove(&rec, w);
            w->linked = false;
        }
        for (int list = 0; list < 2; ++list) assert_ptr_equal(rec.fifo[list], first_of(list));
        assert_ptr_equal(dtp_fifo_first(&rec), first_of(-1));
        if (step % 64 == 0) check_lists();
    }
    for (dtp_pending_work_t *w; (w = dtp_fifo_first(&rec)) != NULL; w->linked = false) {
        assert_ptr_equal(w, first_of(-1));
        dtp_fifo_remove(&rec, w);
    }
    assert_null(rec.tree[0]);
    assert_null(rec.tree[1]);
}

/* As many different priorities as pieces of work: a walk along all of them would take minutes. */
static void many_priorities(void **state) {
    (void)state;
    enum { MANY = 200000 };
    dtp_pending_work_t *many = calloc(MANY, sizeof *many);
    for (int way = 0; way < 3; ++way) {
        for (int i = 0; i < MANY; ++i) {
            many[i].priority = way == 0 ? -i : way == 1 ? i : (int)random_below(UINT32_MAX);
            many[i].number = (uint64_t)i;
            dtp_fifo_append(&rec, &many[i], false);
        }
        int last = INT_MAX;
        for (int i = 0; i < MANY; ++i) {
            dtp_pending_work_t *w = dtp_fifo_first(&rec);
            assert_true(w->priority <= last);
            last = w->priority;
            dtp_fifo_remove(&rec, w);
        }
        assert_null(rec.fifo[0]);
    }
    free(many);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(many_priorities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
