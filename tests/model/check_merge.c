/* Packed words of acyclic Switch and Merge (src/exec/flow_word.h): a merge of 1 to 4 data inputs, of which
 * none, one or (a mistake of the graph) two are alive, and 0 to 3 control inputs, in all orders of arrival
 * that differ (961: arrivals of one kind are alike); and three arrivals at once. Exactly one arrival makes it
 * ready, with the right input and deadness; no field runs into another. */
#include <stdatomic.h>

#include "exec/flow_word.h"
#include "model/mc.h"

enum { MAX_DATA = 4, MAX_CONTROL = 3 };
static uint32_t n_data, n_control, n_live; /* the live data inputs are the last ones */
static _Atomic uint64_t word;
static int ready, orders_seen;

static void arrive(uint32_t input, bool dead) {
    uint64_t delta = dtp_merge_delta(input, dead);
    uint64_t old = atomic_fetch_add_explicit(&word, delta, memory_order_acq_rel);
    if (!dtp_merge_ready(old, delta, n_data)) return;
    MC_CHECK(++ready == 1);
    uint64_t w = old + delta;
    MC_CHECK((dtp_merge_live(w) > 0) == (n_live > 0));
    if (n_live == 1) MC_CHECK(dtp_merge_input(w) == n_data - 1);
    if (dtp_merge_dead(w) + dtp_merge_live(w) < n_data) mc_hit("ready before all its inputs");
    mc_hit(n_live ? "alive" : "dead");
}

/* ---- All orders on one thread: counted against the number that is known ------------------------------ */
static void all_orders(void *arg) {
    (void)arg;
    uint32_t dead = n_data - n_live, live = n_live, control = n_control;
    while (dead + live + control) {
        enum { IS_DEAD, IS_LIVE, IS_CONTROL } kinds[3];
        int n = 0;
        if (dead) kinds[n++] = IS_DEAD;
        if (live) kinds[n++] = IS_LIVE;
        if (control) kinds[n++] = IS_CONTROL;
        switch (kinds[mc_choose(n)]) {
        case IS_DEAD: arrive(dead--, true); break;
        case IS_LIVE: arrive(n_data - --live, false); break;
        default: arrive(0, false); --control;
        }
    }
    MC_CHECK(ready == 1 && dtp_merge_control(word) == 0);
    MC_CHECK(dtp_merge_live(word) == n_live && dtp_merge_dead(word) == n_data - n_live);
    ++orders_seen;
}
static void orders(void) {
    n_data = 1 + (uint32_t)mc_choose(MAX_DATA);
    n_control = (uint32_t)mc_choose(MAX_CONTROL + 1);
    n_live = (uint32_t)mc_choose(n_data > 1 ? 3 : 2);
    word = n_control;
    ready = 0;
    mc_thread(all_orders, NULL);
}

/* ---- Three threads at once --------------------------------------------------------------------------- */
static void live_input(void *arg) {
    (void)arg;
    arrive(2, false);
}
static void dead_input(void *arg) {
    (void)arg;
    arrive(1, true);
}
static void control_input(void *arg) {
    (void)arg;
    arrive(0, false);
}
static void at_once(void) {
    n_data = 2;
    n_control = 1;
    n_live = 1;
    word = 1;
    ready = 0;
    mc_thread(live_input, NULL);
    mc_thread(dead_input, NULL);
    mc_thread(control_input, NULL);
}
static void once(void) { MC_CHECK(ready == 1); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "all orders of arrival", .setup = orders},
        {.name = "three at once", .setup = at_once, .end = once},
    };
    int bad = mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
    enum { ALL = 961 };
    if (argc == 1 && orders_seen != ALL) bad = 1;
    return bad;
}
