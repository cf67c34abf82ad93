/* Threads of a dataflow run: when tasks are given away, to whom, who waits for whom.
 *
 * The run is alone (crew_size 1) until dtp_dataflow_look or a costly node finds a surplus that is worth it and
 * somebody who could come; then the crew opens, stays open to the end, and all arrivals are atomic.
 *
 * Giving away. A worker of a shared run that has more than one task and an empty queue puts the older half of
 * its LIFO into the queue; of a few tasks all but the most critical one, so that others may take what is best
 * for them; before a costly node everything. Within what is given away at once the most critical comes first.
 * It runs what it has given away itself when nobody took it. `searching` counts threads that look for tasks; it is
 * a hint. Leaving. A joiner whose ticket is wanted links its tasks into `orphans` (taken whole by the next worker
 * without tasks). Parking. Only the owner sleeps: it counts as searching, stores parked = 1, fence, looks at
 * everything again, sleeps. Who gives tasks away, leaves, or finishes the run: publish, fence, look at parked,
 * swap it to 0, wake. */
#include "common/base/with.h"
#include "exec/dataflow/run/run.h"
#include "threading/base/futex.h"

enum {
    LOOKS_PER_CLOCK = 16,
    LOOK_AROUND_NS = 20000, /* a costly node: after each there is time to look at other runs */
    SEARCH_NS = DTP_WITH_SPINNING ? 2000 : 0,
    MAX_TAKE = 32,
    WAIT_SPIN_NS = DTP_WITH_SPINNING ? 20000 : 0,
    SPINS_PER_LOOK = 16,
    FEW = 4 /* tasks: all but the most critical one are given away */
};

bool dtp_dataflow_wake_owner(dtp_dataflow_state_t *s) {
#ifndef DTP_BREAK_W1
    DTP_FENCE_SC();
#endif
    if (!DTP_LOAD(&s->parked, relaxed) || !DTP_SWAP(&s->parked, 0, acq_rel)) return false;
    dtp_futex_wake(&s->parked, 1);
    return true;
}
static void wake_owner(dtp_dataflow_state_t *s) { (void)dtp_dataflow_wake_owner(s); }
/* For tasks that have a thread, and would be done sooner by two. */
static void wake_to_help(dtp_dataflow_state_t *s) {
#ifndef DTP_BREAK_W1
    DTP_FENCE_SC();
#endif
    const uint32_t parked = DTP_LOAD(&s->parked, relaxed);
    if (parked == DTP_DATAFLOW_ASLEEP ||
        (parked == DTP_DATAFLOW_ASLEEP_LENT && dtp_crew_ticket_is_free(&s->crew)))
        wake_owner(s);
}

void dtp_dataflow_finished(dtp_dataflow_state_t *s) {
    DTP_STORE(&s->finished, 1, release);
    if (s->crew_size > 1) wake_owner(s);
}

/* ---- Queue ------------------------------------------------------------------------------------------- */

static bool queue_is_empty(const dtp_dataflow_queue_t *q) {
    return DTP_LOAD(&q->top, relaxed) == DTP_LOAD(&q->bottom, relaxed);
}

static bool is_large(const dtp_dataflow_state_t *s) { return s->crew_size > DTP_DATAFLOW_FEW_QUEUES; }

/* Sets the bit of a queue that has tasks: they were published, fence, look at the bit. Who finds the queue empty
 * takes the bit away, fence, looks at the queue again. So a bit is there wherever there are tasks. */
static void mark_given(dtp_dataflow_state_t *s, int slot) {
    DTP_ATOMIC(uint64_t) *word = &s->given[slot / 64];
    const uint64_t bit = (uint64_t)1 << slot % 64;
    DTP_FENCE_SC();
    if (!(DTP_LOAD(word, relaxed) & bit)) (void)DTP_OR(word, bit, relaxed);
}

/* The n oldest tasks of the LIFO, or as many as fit; the youngest first. */
static void expose(dtp_dataflow_worker_t *w, size_t n) {
    dtp_dataflow_queue_t *q = &w->queue;
    uint64_t bottom = DTP_LOAD(&q->bottom, relaxed);
    uint64_t room = DTP_DATAFLOW_QUEUE - (bottom - DTP_LOAD(&q->top, acquire));
#ifdef DTP_BREAK_DEQUE_ROOM
    room = DTP_DATAFLOW_QUEUE;
#endif
    const size_t all = (size_t)(w->top - w->lifo), end = n;
    if (n > room) n = (size_t)room;
    if (!n) return;
    for (size_t i = 0; i < n; ++i)
        DTP_STORE(&q->word[(bottom + i) % DTP_DATAFLOW_QUEUE], w->lifo[end - 1 - i], relaxed);
    DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_DEQUE_BOTTOM
    DTP_STORE(&q->bottom, bottom + n, relaxed);
#else
    DTP_STORE(&q->bottom, bottom + n, release);
#endif
    memmove(w->lifo + end - n, w->lifo + end, (all - end) * sizeof *w->lifo);
    w->top -= n;
    w->shared += n;
    if (is_large(w->state)) mark_given(w->state, w->where.slot);
    if (w->where.slot) wake_to_help(w->state);
}

/* Takes half of what is there, into an empty LIFO, the oldest on top. */
static bool take_from(dtp_dataflow_worker_t *w, dtp_dataflow_queue_t *q) {
    uint64_t top = DTP_LOAD(&q->top, acquire);
    for (;;) {
        uint64_t bottom = DTP_LOAD(&q->bottom, acquire);
        if (top >= bottom) return false;
        uint64_t n = (bottom - top + 1) / 2;
        if (n > MAX_TAKE) n = MAX_TAKE;
        for (uint64_t i = 0; i < n; ++i)
            w->lifo[n - 1 - i] = DTP_LOAD(&q->word[(top + i) % DTP_DATAFLOW_QUEUE], relaxed);
        DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_DEQUE_TAKE
        top = DTP_LOAD(&q->top, acquire);
#endif
        if (DTP_CAS(&q->top, &top, top + n, acq_rel)) {
            w->top = w->lifo + n;
            return true;
        }
        top = DTP_LOAD(&q->top, acquire);
    }
}

static bool take_orphans(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    if (!DTP_LOAD(&s->orphans, relaxed)) return false;
    w->spill = DTP_SWAP(&s->orphans, 0, acquire);
    if (!w->spill) return false;
    (void)dtp_dataflow_unspill(w);
    for (uint64_t word = w->spill; word; word = *dtp_dataflow_link(word)) w->spill_last = word;
    return true;
}

/* A list first..last. It needs no tag: whatever the head is, it becomes the list's successor; takers take
 * all. */
static void orphan(dtp_dataflow_state_t *s, uint64_t first, uint64_t last) {
    uint64_t head = DTP_LOAD(&s->orphans, relaxed);
    do {
        *dtp_dataflow_link(last) = head;
    } while (!DTP_CAS_WEAK(&s->orphans, &head, first, release));
    wake_owner(s);
}

static void orphan_spill(dtp_dataflow_worker_t *w) {
    if (!w->spill) return;
    orphan(w->state, w->spill, w->spill_last);
    w->spill = 0;
}

/* Of a large crew: those that are marked, from a random one on. */
static bool take_from_marked(dtp_dataflow_worker_t *w, int from) {
    dtp_dataflow_state_t *s = w->state;
    const int words = (s->crew_size + 63) / 64;
    /* The first word twice: its bits from `from` on, in the end the others. */
    for (int i = 0; i <= words; ++i) {
        const int at = (from / 64 + i) % words;
        uint64_t mask = ~(uint64_t)0 << from % 64;
        mask = i == 0 ? mask : i == words ? ~mask : ~(uint64_t)0;
        for (uint64_t bits = DTP_LOAD(&s->given[at], relaxed) & mask; bits; bits &= bits - 1) {
            const int victim = at * 64 + __builtin_ctzll(bits);
            dtp_dataflow_queue_t *q = &s->workers[victim].queue;
            if (take_from(w, q)) {
                w->stolen += victim == w->where.slot ? 0 : (uint64_t)(w->top - w->lifo);
                return true;
            }
            (void)DTP_AND(&s->given[at], ~(bits & -bits), seq_cst);
            DTP_FENCE_SC();
            if (!queue_is_empty(q)) mark_given(s, victim);
        }
    }
    return false;
}

bool dtp_dataflow_take(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    if (take_from(w, &w->queue)) return true;
    w->random = w->random * 1664525u + 1013904223u;
    int n = s->crew_size, victim = (int)((uint64_t)w->random * (uint32_t)n >> 32);
    if (is_large(s)) {
        if (take_from_marked(w, victim)) return true;
        n = 0;
    }
    for (int i = 0; i < n; ++i, victim = victim + 1 == n ? 0 : victim + 1) {
        if (victim == w->where.slot || !take_from(w, &s->workers[victim].queue)) continue;
        w->stolen += (uint64_t)(w->top - w->lifo);
        return true;
    }
    return take_orphans(w) || DTP_LOAD(&s->returned, relaxed); /* that of closures: who runs tasks takes it */
}

/* Is there anything that waits for the owner alone? So does a run that can only rest. */
static bool is_left(dtp_dataflow_state_t *s) {
    if (DTP_LOAD(&s->finished, acquire) || DTP_LOAD(&s->orphans, relaxed)) return true;
    return DTP_LOAD(&s->returned, relaxed) || dtp_dataflow_is_quiet(s);
}
static bool anything(dtp_dataflow_state_t *s) {
    if (is_left(s)) return true;
    for (int i = 0; i < s->crew_size; ++i)
        if (!queue_is_empty(&s->workers[i].queue)) return true;
    return false;
}

/* ---- Giving away ------------------------------------------------------------------------------------- */

static bool leads_far(uint64_t word) {
    return dtp_dataflow_instance_of(word)->region->nodes[word & DTP_DATAFLOW_NODE_MASK].bits & DTP_FN_WORTH;
}

/* What others could do if the older half of the LIFO were theirs, in ns; 0: not worth it. */
static int64_t surplus_ns(const dtp_dataflow_worker_t *w) {
    size_t n = (size_t)(w->top - w->lifo);
    if (n < 2) return 0;
    const dtp_dataflow_state_t *s = w->state;
    if (s->learn.active && s->mean_ns < DTP_DATAFLOW_CHEAP_NS) return 0;
    double ns = (double)(n / 2) * s->mean_ns, known = dtp_dataflow_learned_ns(w, n - 1);
    if (known > ns) ns = known;
    if (ns >= DTP_DATAFLOW_SHARE_NS) return (int64_t)ns;
    return leads_far(w->lifo[0]) ? DTP_DATAFLOW_SHARE_NS : 0;
}

/* What is left of the run, as far as it can be known. */
static int64_t rest_ns(const dtp_dataflow_worker_t *w) {
    const dtp_dataflow_state_t *s = w->state;
    double done = (double)w->looks * s->fuel, all = s->plan->regions[0].n_nodes;
    double left = all > done ? (all - done) / 2 * s->mean_ns : 0.;
    int64_t surplus = surplus_ns(w);
    return left > (double)surplus ? (int64_t)left : surplus;
}

/* What a costly node takes there: as this worker has found, or as the author of the region's nodes said. */
static double costly_ns(const dtp_dataflow_worker_t *w, const dtp_dataflow_region_t *r) {
    const double said = r->n_nodes ? r->ns / r->n_nodes : 0., found = (double)w->costly_ns;
    return found > said ? found : said;
}

/* What the oldest tasks of the LIFO and those in the queue take, as far as they are costly, or what comes after them
 * in their loop or function: what is known of the root's nodes (rest_ns) tells nothing about those. */
static double offered_ns(const dtp_dataflow_worker_t *w) {
    enum { LOOKED_AT = 8 };
    double ns = queue_is_empty(&w->queue) ? 0. : (double)w->costly_ns, after = 0.;
    for (const uint64_t *p = w->lifo; p < w->top && p < w->lifo + LOOKED_AT; ++p) {
        const dtp_dataflow_region_t *r = dtp_dataflow_instance_of(*p)->region;
        const dtp_dataflow_node_t *node = &r->nodes[*p & DTP_DATAFLOW_NODE_MASK];
        if (dtp_dataflow_is_costly(w->state, node)) ns += costly_ns(w, r);
        else if (DTP_FN_KIND(node->bits) == DTP_FK_CALL) ns += r->callees[node->index].region->ns;
        else if (DTP_FN_KIND(node->bits) == DTP_FK_WHILE) ns += r->rings[node->index].region->ns;
        else if ((node->bits & DTP_FN_WORTH) && r->kind != DTP_DATAFLOW_IS_ROOT && r->ns / 2 > after)
            after = r->ns / 2;
    }
    return ns > after ? ns : after;
}

/* What others would do if they came: all of the LIFO, before a costly node, or what comes next. */
static int64_t worth_ns(const dtp_dataflow_worker_t *w) {
    const int64_t rest = rest_ns(w), offered = (int64_t)offered_ns(w);
    return dtp_max64(dtp_max64(rest, offered), DTP_DATAFLOW_SHARE_NS);
}
static int64_t worth_beside_ns(const dtp_dataflow_worker_t *w) {
    return dtp_max64(worth_ns(w), (int64_t)dtp_dataflow_learned_ns(w, (size_t)(w->top - w->lifo)));
}

void dtp_dataflow_feed(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    size_t n = (size_t)(w->top - w->lifo);
    if (n > 1) expose(w, n <= FEW ? n - 1 : n / 2);
    else if (w->spill && DTP_LOAD(&s->searching, relaxed)) orphan_spill(w);
}

/* What does not fit into the queue, and what has to stay when the worker leaves. */
static void abandon(dtp_dataflow_worker_t *w) {
    orphan_spill(w);
    if (w->top == w->lifo) return;
    for (uint64_t *p = w->lifo; p + 1 < w->top; ++p) *dtp_dataflow_link(p[1]) = p[0];
    orphan(w->state, w->top[-1], w->lifo[0]);
    w->top = w->lifo;
}

static void invite(dtp_dataflow_worker_t *w, int64_t est_ns) {
    dtp_dataflow_state_t *s = w->state;
    w->invited += (uint64_t)dtp_crew_want(&s->crew, s->crew_size - 1, est_ns);
}

/* ---- Joiners ----------------------------------------------------------------------------------------- */

/* Looks for tasks for at most SEARCH_NS. */
static bool look_for_tasks(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    if (dtp_dataflow_take(w)) return true;
    DTP_ADD(&s->searching, 1, relaxed);
    bool found = false;
    int64_t until = dtp_ticks() + dtp_ticks_of_ns(SEARCH_NS);
    for (int i = 1;; ++i) {
        if (DTP_LOAD(&s->finished, relaxed) || DTP_LOAD(&s->wide, relaxed)) break;
        if ((found = dtp_dataflow_take(w))) break;
        if (dtp_crew_must_leave(&s->crew)) break;
        dtp_pause();
        if (i % SPINS_PER_LOOK == 0 && dtp_ticks() > until) break;
    }
    DTP_SUB(&s->searching, 1, relaxed);
    return found;
}

static void joiner(void *arg, int slot, int64_t begin, int64_t end) {
    dtp_dataflow_state_t *s = arg;
    dtp_dataflow_worker_t *w = &s->workers[slot];
    (void)begin, (void)end;
    const dtp_share_t *around = dtp_share_here;
    dtp_share_here = s->args.share;
    const bool may_pend = s->plan->may_pend;
    if (may_pend) (void)DTP_ADD(&s->inside, 1, relaxed);
    while (look_for_tasks(w)) {
        w->fuel = s->fuel;
        if (dtp_dataflow_run_shared(w)) continue;
        abandon(w);
        break;
    }
    if (may_pend && DTP_SUB(&s->inside, 1, acq_rel) == 1) wake_owner(s);
    dtp_share_here = around;
}

/* ---- Opening ----------------------------------------------------------------------------------------- */

static bool open_crew(dtp_dataflow_worker_t *w, int64_t est_ns) {
    dtp_dataflow_state_t *s = w->state;
    int most = s->num_threads < s->args.par->num_threads ? s->num_threads : s->args.par->num_threads;
    if (most < 2 || !dtp_crew_expects_helper(&s->crew, s->args.par, est_ns)) return false;
    for (int i = 0; i < most; ++i) {
        s->workers[i].shared = s->workers[i].stolen = s->workers[i].invited = s->workers[i].parked = 0;
        s->workers[i].costly_ns = 0;
        if (i) {
            s->workers[i].looks = s->workers[i].n_timed = 0;
            s->workers[i].timed_ns = 0;
        }
    }
    DTP_STORE(&s->searching, 0, relaxed);
    DTP_STORE(&s->wide, 0, relaxed);
    DTP_STORE(&s->orphans, 0, relaxed);
    DTP_STORE(&s->parked, 0, relaxed);
    for (int i = 0; i < DTP_MAX_THREADS / 64; ++i) DTP_STORE(&s->given[i], 0, relaxed);
    s->crew_size = most;
    if (!dtp_crew_open(&s->crew, s->args.par, most, joiner, s)) {
        s->crew_size = 1;
        return false;
    }
    dtp_dataflow_crew_is_open(s, true);
    return true;
}

bool dtp_dataflow_open_for_costly(dtp_dataflow_worker_t *w) {
    if (w->state->args.par->num_threads < 2 || w->state->learn.alone) return false;
    /* What comes after closures that are away must not wait for this node. */
    enum { AWAY_NS = 1000000 };
    return open_crew(w, dtp_dataflow_is_away(w->state) ? AWAY_NS : worth_beside_ns(w));
}

bool dtp_dataflow_look(dtp_dataflow_worker_t *w, bool shared) {
    dtp_dataflow_state_t *s = w->state;
    w->fuel = w->given = !shared && s->learn.active ? dtp_dataflow_learn_look(w) : s->fuel;
    if (++w->looks % LOOKS_PER_CLOCK == 0) dtp_dataflow_check_deadline(s);
    if (s->args.par->num_threads < 2 || s->learn.alone) return false;
    if (!shared && s->eager && w->looks < 6 && 1u << w->looks < w->fuel) w->fuel = w->given = 1u << w->looks;
    if (shared && w->where.slot) {
        if (dtp_crew_must_leave(&s->crew)) return true;
        /* Not often beside short nodes: each other run is a line to read. */
        if ((w->costly_ns > LOOK_AROUND_NS || w->looks % LOOKS_PER_CLOCK == 0) &&
            dtp_crew_has_too_many(&s->crew))
            return true;
    }
    if (!shared) return surplus_ns(w) && open_crew(w, rest_ns(w));
    /* Somebody may be idle in the pool though nobody is searching here. Only who has a task may invite. */
    if (w->top > w->lifo && !DTP_LOAD(&s->searching, relaxed) && !dtp_crew_is_full(&s->crew))
        dtp_dataflow_invite(w);
    return false;
}

void dtp_dataflow_invite(dtp_dataflow_worker_t *w) {
    bool given = !queue_is_empty(&w->queue);
    if (!given && !surplus_ns(w)) return;
    const int64_t est_ns = worth_ns(w);
    if (!given) expose(w, (size_t)(w->top - w->lifo) / 2);
    invite(w, est_ns);
}

/* ---- Costly nodes ------------------------------------------------------------------------------------ */

bool dtp_dataflow_costly(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *instance,
                         const dtp_dataflow_node_t *node, bool shared) {
    dtp_dataflow_state_t *s = w->state;
    dtp_dataflow_check_deadline(s);
    if (dtp_dataflow_stopped(s)) return false;
    const bool others = w->top > w->lifo || w->spill || !queue_is_empty(&w->queue);
    /* What was given away before nobody may have been asked to take. */
    if (shared && others) {
        if (!w->costly_ns) w->costly_ns = (int64_t)costly_ns(w, instance->region);
        const int64_t est_ns = worth_beside_ns(w);
        expose(w, (size_t)(w->top - w->lifo));
        abandon(w);
        invite(w, est_ns);
    }
    const int64_t begin = shared ? dtp_ticks() : 0;
    uint32_t nobody = 0;
    bool wide = (node->bits & DTP_FN_WIDE) || ((node->bits & DTP_FN_SPLITS) && !others);
    if (wide && shared) wide = DTP_CAS(&s->wide, &nobody, 1, acquire);
    if (wide) {
        w->where.whole = true;
        w->where.par = s->args.par;
        /* The owner may sleep while a loop is open. */
        if (shared && w->where.slot && (node->bits & DTP_FN_WIDE || w->costly_ns > LOOK_AROUND_NS))
            wake_to_help(s);
    }
    const uint32_t index = node->index;
    dnnl_tp_status_t status = s->exec(s->exec_ctx, instance, index, &w->where);
    if (wide) {
        w->where.whole = false;
        w->where.par = &s->alone;
        if (shared) DTP_STORE(&s->wide, 0, release);
    }
    if (shared) w->costly_ns = dtp_ns_of_ticks(dtp_ticks() - begin);
    const bool pending = status == DTP_DATAFLOW_PENDING;
    if (DTP_UNLIKELY(status != dnnl_tp_success) && !pending)
        dtp_dataflow_fail(s, status, DTP_DATAFLOW_FAILED_NODE, index);
    dtp_dataflow_check_deadline(s);
    w->fuel = 1; /* a look comes next */
    w->given = 0;
    return pending;
}

/* ---- The owner --------------------------------------------------------------------------------------- */

static bool sleep_parked(dtp_dataflow_worker_t *w, bool lent) {
    dtp_dataflow_state_t *s = w->state;
    int64_t timeout_ns = -1;
    if (s->args.deadline_ns && !dtp_dataflow_failed(s))
        timeout_ns = dtp_max64(s->args.deadline_ns - dtp_now_ns(), 0);
    const uint32_t asleep = lent ? DTP_DATAFLOW_ASLEEP_LENT : DTP_DATAFLOW_ASLEEP;
    DTP_STORE(&s->parked, asleep, relaxed);
    DTP_FENCE_SC();
#ifdef DTP_BREAK_FLOW_LENT
    if (lent || !anything(s)) {
#else
    if (!(lent && !dtp_crew_ticket_is_free(&s->crew) ? is_left(s) : anything(s))) {
#endif
        ++w->parked;
        dtp_futex_wait(&s->parked, asleep, timeout_ns);
    }
    DTP_STORE(&s->parked, DTP_DATAFLOW_AWAKE, relaxed);
    return anything(s);
}

/* Others may have its ticket meanwhile. What ends the run needs none, tasks need one. Those in queues have a thread that
 * executes them, so that nobody wakes the owner for them unless a ticket is free; one that has come for them waits, if
 * another thread was faster, because nobody wakes it again. */
static void park_and_lend(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    const bool lent = dtp_crew_lend(&s->crew);
    for (;;) {
        const bool any = sleep_parked(w, lent);
        if (!lent || DTP_LOAD(&s->finished, acquire)) return;
        dtp_dataflow_check_deadline(s);
        /* False: the run is over and has nothing to compute. */
        if (dtp_crew_regain(&s->crew, any, s->args.share) || any) return;
    }
}

bool dtp_dataflow_wait(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    DTP_ADD(&s->searching, 1, relaxed);
    int64_t until = dtp_ticks() + dtp_ticks_of_ns(WAIT_SPIN_NS);
    for (int i = 1;; ++i) {
        if (anything(s) || dtp_crew_help(&s->crew)) break;
        dtp_pause();
        if (i % SPINS_PER_LOOK || dtp_ticks() <= until) continue;
        dtp_dataflow_check_deadline(s);
        park_and_lend(w);
        until = dtp_ticks() + dtp_ticks_of_ns(WAIT_SPIN_NS);
    }
    DTP_SUB(&s->searching, 1, relaxed);
    return !dtp_dataflow_is_quiet(s) || dtp_dataflow_take(w);
}

void dtp_dataflow_gather(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    for (int i = 0; i < s->crew_size; ++i) {
        dtp_dataflow_queue_t *q = &s->workers[i].queue;
        uint64_t top = DTP_LOAD(&q->top, acquire);
        const uint64_t bottom = DTP_LOAD(&q->bottom, acquire);
        for (; top < bottom; ++top) {
            dtp_dataflow_room(w, 1);
            *w->top++ = DTP_LOAD(&q->word[top % DTP_DATAFLOW_QUEUE], relaxed);
        }
        DTP_STORE(&q->top, bottom, relaxed);
    }
    uint64_t word = DTP_SWAP(&s->orphans, 0, acquire), next;
    for (; word; word = next) {
        next = *dtp_dataflow_link(word);
        dtp_dataflow_room(w, 1);
        *w->top++ = word;
    }
}

void dtp_dataflow_close(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    dtp_dataflow_crew_is_open(s, false);
    dtp_crew_close(&s->crew);
    for (int i = 0; i < s->crew_size; ++i) {
        s->result.shared += s->workers[i].shared;
        s->result.stolen += s->workers[i].stolen;
        s->result.invited += s->workers[i].invited;
        s->result.parked += s->workers[i].parked;
    }
}
