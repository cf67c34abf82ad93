/* Which steps take all threads though others could run beside them: random series of branches against reachability by brute
 * force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/compile/order/side_by_side.h"
#include "support/check.h"

enum { MOST_EVENTS = 400, MOST_EDGES = 4096 };

static uint64_t seed;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

typedef struct {
    dtp_orderings_t o;
    dtp_event_t event[MOST_EVENTS];
    int after[MOST_EDGES];
    double ns[MOST_EVENTS];
    uint8_t takes_all[MOST_EVENTS];
    bool before[MOST_EVENTS][MOST_EVENTS];
} program_t;
static program_t g;

static void start(void) {
    memset(&g, 0, sizeof g);
    g.o.events = g.event;
    g.o.after = g.after;
}
static int add_event(dtp_event_kind_t kind, double ns) {
    g.ns[g.o.n] = ns;
    g.event[g.o.n] = (dtp_event_t){.kind = (uint8_t)kind, .after = g.o.nafter};
    return g.o.n++;
}
/* The newest event comes after this one. */
static void comes_after(int earlier) {
    const int k = g.o.n - 1;
    g.after[g.o.nafter++] = earlier;
    ++g.event[k].nafter;
    g.before[earlier][k] = true;
    for (int i = 0; i < earlier; ++i) g.before[i][k] |= g.before[i][earlier];
}

static void find(int threads) {
    dtp_arena_t arena;
    dtp_arena_init(&arena, NULL);
    CHECK_OK(dtp_find_longest(&arena, &g.o, 0, g.o.n, g.ns, threads, g.takes_all));
    dtp_arena_free(&arena);
}

static double beside(int k) {
    double ns = 0.;
    for (int i = 0; i < g.o.n; ++i)
        if (i != k && !g.before[i][k] && !g.before[k][i]) ns += g.ns[i];
    return ns;
}

/* One event, some that come after it in any way, one that comes after all of these, and so on. */
static void test_random(void **state) {
    (void)state;
    int found = 0;
    for (int round = 0; round < 500; ++round) {
        const int threads = 2 + below(3), parts = 1 + below(5);
        seed = (uint64_t)round * 77 + 5;
        start();
        int cut = add_event(DTP_EVENT_STEPS, below(100));
        for (int p = 0; p < parts; ++p) {
            const int n = below(p ? 12 : 60);
            for (int i = 0; i < n; ++i) {
                (void)add_event(DTP_EVENT_STEPS, below(100));
                comes_after(cut);
                for (int k = below(3); k > 0 && i; --k) comes_after(cut + 1 + below(i));
            }
            const int end = add_event(p % 2 ? DTP_EVENT_JOIN : DTP_EVENT_STEPS, p % 2 ? 0. : 50.);
            for (int i = cut; i < end; ++i) comes_after(i);
            cut = end;
        }
        find(threads);
        for (int k = 0; k < g.o.n; ++k) {
            const double others = beside(k);
            if (g.takes_all[k] != (others > 0. && g.ns[k] * (threads - 1) > others))
                fail_msg("round %d: event %d of %d, %d threads", round, k, g.o.n, threads);
            found += g.takes_all[k];
        }
    }
    assert_true(found > 100);
}

/* The longer branch of two; neither of two equal ones; nothing where there are Ifs or too many branches. */
static void test_cases(void **state) {
    (void)state;
    static const struct {
        double ns[2];
        int more;
        dtp_event_kind_t kind;
        uint8_t takes_all[2];
    } cases[] = {
        {{40., 150.}, 0, DTP_EVENT_STEPS, {0, 1}},  {{150., 40.}, 0, DTP_EVENT_JOIN, {1, 0}},
        {{90., 90.}, 0, DTP_EVENT_STEPS, {0, 0}},   {{40., 150.}, 0, DTP_EVENT_IF, {0, 0}},
        {{40., 150.}, 64, DTP_EVENT_STEPS, {0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        start();
        (void)add_event(DTP_EVENT_STEPS, 10.);
        for (int k = 0; k < 2 + cases[i].more; ++k) {
            (void)add_event(DTP_EVENT_STEPS, k < 2 ? cases[i].ns[k] : 1.);
            comes_after(0);
        }
        const int end = add_event(cases[i].kind, 0.);
        for (int k = 1; k < end; ++k) comes_after(k);
        find(2);
        for (int k = 0; k < 2; ++k) assert_int_equal(g.takes_all[1 + k], cases[i].takes_all[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
