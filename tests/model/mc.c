/* The search: fibers, steps, partial-order reduction, store buffers, happens-before; see mc.h.
 *
 * An *actor* takes steps: a thread, or one location's entries in a thread's store buffer. A *node* is a
 * decision: which actor goes next, or what mc_choose answers. Each execution repeats the decisions of the
 * last one up to the deepest node that has an alternative. Alternatives are added where a step and a later
 * one touch the same location (one of them writing) and nothing orders them. Reductions: sleep sets.
 *
 * Two vector clocks: `clock` orders steps that cannot be exchanged (for the search), `sync` is C11's
 * happens-before (for races and frees). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/mc_state.h"

enum { STEPS = 1000, NODES = 2000, COUNTERS = 32 };

typedef struct {
    bool choice;
    int chosen, count;                        /* choice: value and number of values */
    uint32_t enabled, backtrack, done, sleep; /* actors */
    int location;                             /* of the step */
    bool write;
    kind_t kind;
} node_t;

static node_t nodes[NODES];
static int n_nodes, n_replay, at; /* decisions known, to be repeated, taken */
static struct { int node, actor; } steps[STEPS];
static int n_steps;
static struct {
    const char *name;
    uint64_t hits, last;
} counters[COUNTERS];
static int n_counters;
static uint64_t executions, blocked, total_steps;

int mc_choose(int n) {
    if (n < 2) return 0;
    if (at == n_nodes) {
        if (n_nodes == NODES) mc_fail("too many decisions");
        nodes[n_nodes++] = (node_t){.choice = true, .count = n};
    }
    return nodes[at++].chosen;
}

void mc_hit(const char *name) {
    int i = 0;
    while (i < n_counters && strcmp(counters[i].name, name)) ++i;
    if (i == COUNTERS) return;
    if (i == n_counters) {
        counters[n_counters].hits = counters[n_counters].last = 0;
        counters[n_counters++].name = name;
    }
    if (counters[i].last != executions) ++counters[i].hits;
    counters[i].last = executions;
}

/* ---- Search ------------------------------------------------------------------------------------------ */

/* The actor's next step and step i touch the same, unordered: the other order must be tried, too. */
static bool may_swap(int i, int actor, int at_location, bool write, kind_t kind, const uint16_t *clock) {
    const node_t *n = &nodes[steps[i].node];
    if (n->location != at_location || !(n->write || write)) return false;
    if (steps[i].actor == actor || clock[steps[i].actor] > i) return false;
    /* Never both possible at once. */
    return !(kind == OP_LOCK && n->kind == OP_UNLOCK) && !(kind == OP_UNLOCK && n->kind == OP_LOCK);
}

static void add_alternative(int i, int actor, const uint16_t *clock) {
    node_t *n = &nodes[steps[i].node];
    uint32_t can = 0;
    if (n->enabled >> actor & 1) can |= 1u << actor;
    for (int q = 0; q < ACTORS; ++q)
        if ((n->enabled >> q & 1) && clock[q] > i + 1) can |= 1u << q;
    if (can & n->backtrack) return;
    if (can >> actor & 1) n->backtrack |= 1u << actor;
    else if (can) n->backtrack |= can & -can;
    else n->backtrack |= n->enabled;
}

static void look_for_alternatives(void) {
    for (int a = 0; a < mc.n_threads * (1 + SLOTS); ++a) {
        bool write, fresh;
        kind_t kind;
        int where = mc_next_location(a, &write, &kind);
        uint16_t clock[ACTORS];
        memcpy(clock, mc.clocks[a], sizeof clock);
        if (a < mc.n_threads) {
            fresh = mc.fibers[a].fresh;
            mc.fibers[a].fresh = false;
        } else {
            if (where < 0) continue;
            fresh = true;
            mc_join_clock(clock, mc_head(a)->clock);
        }
        if (where < 0) continue;
        for (int i = n_steps - 1; i >= 0; --i) {
            if (may_swap(i, a, where, write, kind, clock)) {
                add_alternative(i, a, clock);
                break;
            }
            if (!fresh) break;
        }
    }
}

static uint32_t still_asleep(const node_t *before) {
    uint32_t left = 0, from = (before->sleep | before->done) & ~(1u << before->chosen);
    for (int a = 0; from >> a; ++a) {
        if (!(from >> a & 1)) continue;
        bool write;
        kind_t kind;
        int where = mc_next_location(a, &write, &kind);
        if (where < 0 || where != before->location || !(write || before->write)) left |= 1u << a;
    }
    return left;
}

static void begin(const mc_case_t *c) {
    mc_forget();
    n_steps = at = 0;
    mc.in_setup = true;
    c->setup();
    mc.in_setup = false;
    for (int t = 0; t < mc.n_threads && !mc.failed; ++t) mc_resume(t, true);
}

/* The actor's step, with its clocks; false if it failed. */
static bool take(node_t *n, int a) {
    if (a >= mc.n_threads) {
        n->write = true;
        mc_flush(a);
        mc_say(a, NULL, 0);
    } else {
        if (_setjmp(mc.scheduler)) return false;
        n->write = mc_execute(a) && n->location >= 0;
    }
    if (n->location >= 0) {
        location_t *l = &mc.locations[n->location];
        mc_join_clock(mc.clocks[a], l->wrote);
        if (n->write) mc_join_clock(mc.clocks[a], l->read);
        mc.clocks[a][a] = (uint16_t)n_steps;
        mc_join_clock(n->write ? l->wrote : l->read, mc.clocks[a]);
    }
    mc.clocks[a][a] = (uint16_t)n_steps;
    return true;
}

/* False: stopped early, because all that could come is known. */
static bool run_once(const mc_case_t *c) {
    begin(c);
    int last = -1, preemptions = 0;
    node_t *before = NULL;
    while (!mc.failed) {
        uint32_t enabled = mc_enabled();
        bool known = at < n_replay;
        if (!known && !c->preemptions) look_for_alternatives();
        else
            for (int t = 0; t < mc.n_threads; ++t) mc.fibers[t].fresh = false;
        if (!enabled) break;
        if (n_steps == STEPS || n_nodes == NODES) {
            mc.failed = true;
            mc.failure = "too many steps: endless?";
            break;
        }
        node_t *n = &nodes[at];
        if (at == n_nodes) {
            uint32_t sleep = before && !c->preemptions ? still_asleep(before) : 0, ready = enabled & ~sleep;
            if (!ready) return false;
            bool can_stay = last >= 0 && (ready >> last & 1);
            int pick = can_stay ? last : __builtin_ctz(ready);
            *n = (node_t){.chosen = pick, .enabled = enabled, .backtrack = 1u << pick, .sleep = sleep};
            if (c->preemptions && !(can_stay && preemptions == c->preemptions)) n->backtrack = ready;
            ++n_nodes;
        }
        int a = n->chosen;
        if (!(enabled >> a & 1)) {
            mc.failed = true;
            mc.failure = "the case is not deterministic";
            break;
        }
        preemptions += last >= 0 && a != last && (enabled >> last & 1);
        bool write;
        n->location = mc_next_location(a, &write, &n->kind);
        steps[n_steps].node = at++;
        steps[n_steps].actor = a;
        last = a;
        before = n;
        ++n_steps;
        ++total_steps;
        if (!take(n, a)) break;
        if (a < mc.n_threads) mc_resume(a, false);
    }
    if (mc.failed) return true;
    for (int t = 0; t < mc.n_threads; ++t)
        if (mc.fibers[t].op.kind != OP_END) {
            mc.failed = true;
            mc.failure = "threads wait for each other, or for nobody";
            if (mc.trace) fprintf(stderr, "  now at:\n");
            if (mc.trace)
                for (int i = 0; i < mc.n_threads; ++i) mc_say(i, &mc.fibers[i].op, 0);
            return true;
        }
    if (c->end && !_setjmp(mc.scheduler)) c->end();
    return true;
}

/* The deepest decision with an alternative becomes that; false if there is none. */
static bool next_execution(void) {
    while (n_nodes) {
        node_t *n = &nodes[n_nodes - 1];
        if (n->choice) {
            if (++n->chosen < n->count) break;
        } else {
            n->done |= 1u << n->chosen;
            uint32_t left = n->backtrack & ~n->done & ~n->sleep;
            if (left) {
                n->chosen = __builtin_ctz(left);
                break;
            }
        }
        --n_nodes;
    }
    n_replay = n_nodes;
    return n_nodes > 0;
}

/* After most executions (0: all there are) it gives up and *cut is true. True: no execution failed. */
static bool explore(const mc_case_t *c, bool broken, uint64_t most, bool *cut) {
    n_nodes = n_replay = n_counters = 0;
    executions = blocked = total_steps = 0;
    mc.failed = false;
    mc.weak_mode = c->weak;
    bool show = mc.trace;
    mc.trace = false;
    do {
        ++executions;
        if (!run_once(c)) ++blocked;
    } while (!mc.failed && next_execution() && executions != most);
    mc.trace = show;
    *cut = most && executions == most && !mc.failed && n_nodes > 0;
    if (*cut) return true;
    printf("%-34s %9llu executions (%llu cut), %llu steps", c->name, (unsigned long long)executions,
           (unsigned long long)blocked, (unsigned long long)total_steps);
    for (int i = 0; i < n_counters; ++i)
        printf("%s %s %llu", i ? "," : ";", counters[i].name, (unsigned long long)counters[i].hits);
    printf("%s\n", mc.failed ? "" : "; ok");
    if (mc.failed && c->must_fail) {
        printf("  found: %s\n", mc.failure);
        return true;
    }
    if (c->must_fail) mc.failure = "found nothing";
    if (mc.failed || c->must_fail) {
        printf("  FAILED: %s\n", mc.failure);
        fflush(stdout);
        if (mc.trace && mc.failed) { /* once more, aloud: the decisions are still there */
            mc.failed = false;
            n_replay = n_nodes;
            run_once(c);
            fprintf(stderr, "  %s\n", mc.failure);
            mc.failed = true;
        }
        return false;
    }
    bool ok = true;
    for (int i = 0; i < 6 && c->reach[i] && !broken; ++i) {
        uint64_t hits = 0;
        for (int k = 0; k < n_counters; ++k)
            if (!strcmp(counters[k].name, c->reach[i])) hits = counters[k].hits;
        if (hits >= MC_REACH) continue;
        printf("  FAILED: \"%s\" was reached by %llu executions only\n", c->reach[i],
               (unsigned long long)hits);
        ok = false;
    }
    return ok;
}

static void crashed(int signal_number) {
    (void)signal_number;
    static const char text[] = "  crashed: caught\n";
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(0);
}

/* Does a case fail? Which one is not known, and it may fail early: all get some executions, then the unfinished ones
 * more, from their beginning. */
static bool catch (const mc_case_t *cases, int n_cases, const char *only) {
    enum { CASES = 64, FIRST = 20000, TIMES = 8 };
    bool done[CASES] = {false}, cut = true, caught = false;
    if (n_cases > CASES) return false;
    for (uint64_t most = FIRST; cut && !caught; most *= TIMES) {
        cut = false;
        for (int i = 0; i < n_cases && !caught; ++i) {
            if (done[i] || (only && !strstr(cases[i].name, only))) continue;
            bool stopped;
            caught = !explore(&cases[i], true, most, &stopped);
            done[i] = !stopped;
            cut |= stopped;
            fflush(stdout);
        }
    }
    printf("%s\n", caught ? "caught" : "NOT CAUGHT");
    return caught;
}

int mc_main(int argc, char **argv, const mc_case_t *cases, int n_cases) {
    bool broken = false, bounded = false;
    const char *only = NULL;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--broken")) broken = true;
        else if (!strcmp(argv[i], "--bounded")) bounded = true;
        else if (!strcmp(argv[i], "--trace")) mc.trace = true;
        else only = argv[i];
    }
    if (broken) {
        signal(SIGSEGV, crashed);
        signal(SIGBUS, crashed);
    }
    bool cut;
    if (broken) return !catch (cases, n_cases, only);
    int bad = 0;
    for (int i = 0; i < n_cases; ++i) {
        if (only && !strstr(cases[i].name, only)) continue;
        mc_case_t c = cases[i];
        if (bounded && c.bounded) c.preemptions = c.bounded;
        bad += !explore(&c, false, 0, &cut);
        fflush(stdout);
    }
    return bad > 0;
}
