/* What a state learns from its runs about the cost of nodes, if the plan says that it is not known
 * (DTP_DATAFLOW_LEARN): a mean, which decides when tasks are given away and how often a worker looks up; which
 * nodes are COSTLY; ranks, hence the order of what is ready; and whether threads are worth it at all.
 *
 * Every node is timed in the first run, then in ever fewer ones; all others only read the clock at their
 * looks, while they are alone. What was learned belongs to the state: the owner of a run writes it before and
 * after it, but for cost[], which workers write as single numbers. Results do not depend on any of it.
 *
 * Costs of nodes do not tell what a hand-off costs: how far the processors are from each other, and whether the machine
 * has them for this process. So where nodes are short whole runs are timed, too, and compared:
 *   shared -> one thread   once the median of shared runs is above that of one thread. As long as this is not known: where
 *                          they are not three times as fast as the sum of the nodes, for RUNS runs
 *   one thread -> shared   where one thread turns out to take longer; or after a timed run, if the median of the next
 *                          DTP_DATAFLOW_TRIALS shared ones is clearly less. These come so seldom that they cost a fiftieth
 * Both are forgotten when nodes take half or twice as long as before. A run of one thread is one in order or, where the
 * program is to go through counters, one that opens no crew. */
#include "exec/dataflow/run/run.h"
#include "threading/base/futex.h"

enum {
    TIMER_NS = 15,  /* of a timed node is the timer's */
    ENGINE_NS = 10, /* of a node between two looks is the engine's */
    COSTLY_NS = DTP_DATAFLOW_COSTLY_NS,
    CHEAP_NS = DTP_DATAFLOW_COSTLY_NS / 2, /* a node that was COSTLY is not any more */
    MOST_APART = 256,                      /* runs between two timed ones of a graph that is not large */
    MARK_NS = 3,                           /* what learning from a timed run takes per node of the graph, */
    RANK_NS = 25,                          /* and with ranks; runs in between take LEARN_PART times as long */
    LEARN_PART = 50,
    RUN_NS = 100,
    SHARED_NODE_NS = 40, /* what counters cost per node when threads share it */
    HAND_OFF_NS = 3000,
    UNEVEN = 2, /* dearest by mean: from there on order matters */
    LATE_NS = 5000,
    LATE_RUNS = 3,
    JUMP = 2,
    JUMP_NS = 20,
    SECOND_LOOK = 4,
    SHORT_NS = 2000, /* nodes below this on the average: whole runs are compared */
    RUNS = 4,        /* before a choice */
    STEP = 32,       /* a median moves by this part */
    TRIALS_PART = 50 * (DTP_DATAFLOW_TRIALS + 1),
    LONGEST_NS = 500000000, /* of one thread, between two trials */
    AGAIN = 3               /* timed runs in a row because of nodes that got dearer */
};
/* Shared runs by one thread, by which it is tried, preferred, and not preferred any more. */
static const float no_gain = .34f, loss = 1.03f, gain = .95f;
static const float by_guess = 1.f; /* of nodes that were never timed: the builder's estimate times this */

/* ---- Memory ------------------------------------------------------------------------------------------ */

typedef struct {
    size_t nodes, edges, cost, rank, all;
} layout_t;

static layout_t layout(const dtp_dataflow_plan_t *plan) {
    const dtp_dataflow_region_t *r = &plan->regions[0];
    layout_t l = {0};
    size_t at = sizeof *r->nodes * (r->n_nodes + 1u);
    l.edges = at;
    if (dtp_dataflow_is_flat(r)) at += sizeof *r->edges * r->n_edges;
    l.cost = at;
    at += sizeof(uint32_t) * plan->n_index;
    l.rank = at;
    at += sizeof(float) * r->n_nodes;
    l.all = dtp_round_up_size(at, DTP_NO_SHARE);
    return l;
}

size_t dtp_dataflow_learn_bytes(const dtp_dataflow_plan_t *plan, int num_threads) {
    return plan->learns && num_threads > 1 ? layout(plan).all : 0;
}

const dtp_dataflow_region_t *dtp_dataflow_learn_init(dtp_dataflow_state_t *s, char *memory) {
    const dtp_dataflow_plan_t *plan = s->plan;
    const dtp_dataflow_region_t *r = &plan->regions[0];
    dtp_dataflow_learn_t *k = &s->learn;
    layout_t l = layout(plan);
    k->on = true;
    k->region = *r;
    k->nodes = (dtp_dataflow_node_t *)(void *)(memory + l.nodes);
    k->edges = (uint32_t *)(void *)(memory + l.edges);
    k->cost = (DTP_ATOMIC(uint32_t) *)(void *)(memory + l.cost);
    k->rank = (float *)(void *)(memory + l.rank);
    memcpy(k->nodes, r->nodes, sizeof *r->nodes * (r->n_nodes + 1u));
    k->region.nodes = k->nodes;
    if (dtp_dataflow_is_flat(r)) {
        memcpy(k->edges, r->edges, sizeof *r->edges * r->n_edges);
        k->region.edges = k->edges;
    }
    for (uint32_t i = 0; i < plan->n_index; ++i) DTP_STORE(&k->cost[i], 0, relaxed);
    return &k->region;
}

/* ---- The mean ---------------------------------------------------------------------------------------- */

void dtp_dataflow_set_mean(dtp_dataflow_state_t *s, double ns) {
    s->mean_ns = ns;
    s->eager = ns >= DTP_DATAFLOW_EAGER_NS;
    s->later = ns < DTP_DATAFLOW_LATER_NS && !s->learn.timed;
    s->fuel = DTP_DATAFLOW_FUEL;
    if (ns * DTP_DATAFLOW_FUEL > DTP_DATAFLOW_LOOK_NS) s->fuel = (uint32_t)(DTP_DATAFLOW_LOOK_NS / ns) + 1;
}

uint32_t dtp_dataflow_learn_look(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    dtp_dataflow_learn_t *k = &s->learn;
    if (k->timed) {
        if (w->n_timed) dtp_dataflow_set_mean(s, (double)w->timed_ns / w->n_timed);
        return s->fuel;
    }
    int64_t now = dtp_ticks(), ns = dtp_ns_of_ticks(now - k->looked);
    k->looked = now;
    if (!w->given) return s->fuel;
    double mean = dtp_max64(ns / w->given - ENGINE_NS, 0);
    /* A thread that was away, or a node with many successors, looks like costly nodes: looks again soon
     * before it believes that. */
    k->suspect = !k->suspect && mean > JUMP * s->mean_ns + JUMP_NS;
    if (k->suspect) return SECOND_LOOK;
    mean = (s->mean_ns + mean) /
           2; /* costly nodes are not in it: that they got cheaper is for timed runs to see */
    dtp_dataflow_set_mean(s, mean > k->mean_ns ? mean : k->mean_ns);
    return s->fuel;
}

/* ---- Timed runs -------------------------------------------------------------------------------------- */

static dnnl_tp_status_t timed(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                              const dtp_dataflow_where_t *where) {
    dtp_dataflow_state_t *s = ctx;
    dtp_dataflow_worker_t *w = &s->workers[where->slot];
    int64_t begin = dtp_ticks();
    dnnl_tp_status_t status = s->args.exec(s->args.ctx, instance, index, where);
    int64_t ns = dtp_max64(dtp_ns_of_ticks(dtp_ticks() - begin) - TIMER_NS, 0);
    w->timed_ns += ns;
    ++w->n_timed;
    if (ns > DTP_DATAFLOW_LOOK_NS) w->fuel = 1; /* a look comes next */
    DTP_ATOMIC(uint32_t) *cost = &s->learn.cost[index];
    uint32_t old = DTP_LOAD(cost, relaxed), now = ns < UINT32_MAX ? (uint32_t)ns + 1 : UINT32_MAX;
    /* Downwards at once; upwards half of it, and what looks much dearer is timed again soon: threads get
     * preempted. */
    if (old && now > old) {
        if (now >= COSTLY_NS && now / (2 * JUMP) >= old) DTP_STORE(&s->learn.jumped, true, relaxed);
        now -= (now - old) / 2;
    }
    DTP_STORE(cost, now, relaxed);
    return status;
}

void dtp_dataflow_learn_begin(dtp_dataflow_state_t *s) {
    dtp_dataflow_learn_t *k = &s->learn;
    dtp_dataflow_worker_t *w = &s->workers[0];
    s->exec = s->args.exec;
    s->exec_ctx = s->args.ctx;
    k->alone = false;
    if (!k->on || s->args.par->num_threads < 2) {
        k->active = false;
        return;
    }
    k->active = true;
    k->timed = k->runs >= k->next;
    k->alone = k->compared && k->in_order && !k->timed && !k->trials;
    k->looked = k->began = dtp_ticks();
    k->suspect = false;
    w->timed_ns = 0;
    w->n_timed = 0;
    if (k->runs++) dtp_dataflow_set_mean(s, k->mean_ns);
    if (!k->timed) return;
    s->later = false; /* a node may take much longer than it did */
    DTP_STORE(&k->jumped, false, relaxed);
    s->exec = timed;
    s->exec_ctx = s;
}

/* Three digits of a binary number: nodes that do the same are to cost the same, so that they keep their
 * order. */
static float rounded(uint32_t ns) {
    int shift = ns < 8 ? 0 : 29 - __builtin_clz(ns);
    return (float)(ns >> shift << shift);
}

static float cost_of(const dtp_dataflow_learn_t *k, const dtp_dataflow_node_t *node) {
    uint32_t kind = DTP_FN_KIND(node->bits);
    if (kind == DTP_FK_WHILE) return (float)k->region.rings[node->index].region->ns * by_guess;
    if (kind == DTP_FK_CALL) return (float)k->region.callees[node->index].region->ns * by_guess;
    if (kind != DTP_FK_OP || node->index == DTP_DATAFLOW_NO_INDEX) return 0.f;
    return rounded(DTP_LOAD(&k->cost[node->index], relaxed));
}

static float most_of(const dtp_dataflow_learn_t *k, uint32_t from, uint32_t end) {
    float most = 0.f;
    for (uint32_t i = from; i < end; ++i) {
        float r = k->rank[k->region.edges[i] & ~DTP_DATAFLOW_DIRECT];
        if (r > most) most = r;
    }
    return most;
}

/* Less critical; else later in the order of one thread. */
static bool is_before(const dtp_dataflow_learn_t *k, uint32_t x, uint32_t y) {
    uint32_t a = x & ~DTP_DATAFLOW_DIRECT, b = y & ~DTP_DATAFLOW_DIRECT;
    return k->rank[a] != k->rank[b] ? k->rank[a] < k->rank[b] : a > b;
}

static void sort_by_rank(const dtp_dataflow_learn_t *k, uint32_t *edge, uint32_t n) {
    static const uint32_t gaps[] = {100003, 10007, 1009, 301, 132, 57, 23, 10, 4, 1}; /* of Shell's sort */
    for (const uint32_t *gap = gaps; gap < gaps + sizeof gaps / sizeof *gaps; ++gap)
        for (uint32_t i = *gap; i < n; ++i) {
            uint32_t e = edge[i], j = i;
            for (; j >= *gap && is_before(k, e, edge[j - *gap]); j -= *gap) edge[j] = edge[j - *gap];
            edge[j] = e;
        }
}

/* Longest paths by what the nodes took; edges in their order. The longest path of all. */
static float rank_again(dtp_dataflow_state_t *s, bool sort) {
    dtp_dataflow_learn_t *k = &s->learn;
    const dtp_dataflow_region_t *r = &k->region;
    float longest = 0.f;
    for (uint32_t i = r->n_nodes; i-- > 0;) {
        uint32_t id = s->plan->order[i];
        const dtp_dataflow_node_t *node = &k->nodes[id];
        float most = most_of(k, node->edge, node[1].edge);
        for (uint32_t b = node->sink; b != DTP_DATAFLOW_NONE; b = r->blocks[b].up)
            if (r->blocks[b].end != DTP_DATAFLOW_NONE) {
                most = k->rank[r->blocks[b].end] > most ? k->rank[r->blocks[b].end] : most;
                break;
            }
        if (DTP_FN_KIND(node->bits) == DTP_FK_IF)
            for (int branch = 0; branch < 2; ++branch) {
                const dtp_dataflow_control_block_t *b = &r->blocks[r->choices[node->index].block[branch]];
                float inside = most_of(k, b->entry, b->entry + b->n_entry);
                if (inside > most) most = inside;
            }
        k->rank[id] = most + cost_of(k, node);
        if (k->rank[id] > longest) longest = k->rank[id];
        if (sort && dtp_dataflow_is_flat(r))
            sort_by_rank(k, k->edges + node->edge, node[1].edge - node->edge);
    }
    k->ranked = true;
    if (sort && dtp_dataflow_is_flat(r)) sort_by_rank(k, k->edges + r->blocks[0].entry, r->blocks[0].n_entry);
    return longest;
}

typedef struct {
    float dearest, sum;
    bool changed; /* others are COSTLY than before */
    bool costly;  /* one is that was COSTLY before: no thread that was away */
} marked_t;
static marked_t mark_costly(dtp_dataflow_state_t *s) {
    dtp_dataflow_learn_t *k = &s->learn;
    marked_t m = {0.f, 0.f, false, false};
    const dtp_dataflow_node_t *from = s->plan->regions[0].nodes;
    for (uint32_t i = 0; i < k->region.n_nodes; ++i) {
        dtp_dataflow_node_t *node = &k->nodes[i];
        uint32_t kind = DTP_FN_KIND(node->bits);
        if (kind != DTP_FK_OP || node->index >= s->plan->n_index) continue;
        float ns = (float)DTP_LOAD(&k->cost[node->index], relaxed);
        uint32_t bits = node->bits;
        m.sum += ns;
        if (ns > m.dearest) m.dearest = ns;
        m.costly |= ns >= COSTLY_NS && (bits & DTP_FN_COSTLY);
        if (ns >= COSTLY_NS) bits |= DTP_FN_COSTLY;
        else if (ns < CHEAP_NS && !(from[i].bits & DTP_FN_COSTLY)) bits &= ~(uint32_t)DTP_FN_COSTLY;
        m.changed |= bits != node->bits;
        node->bits = bits;
    }
    return m;
}

/* How many runs the next timed one is away, after one of n nodes. All nodes of the graph are looked at to
 * learn, and a run may be but a few of them. */
static uint32_t runs_apart(const dtp_dataflow_learn_t *k, double work, uint64_t n, bool ranked) {
    uint32_t apart = k->runs < MOST_APART ? k->runs : MOST_APART;
    double all = (double)k->region.n_nodes * (ranked ? RANK_NS : MARK_NS) * LEARN_PART;
    double runs = all / (work + (double)n * ENGINE_NS + RUN_NS);
    return runs > apart ? (uint32_t)runs : apart;
}

/* ---- One thread or several --------------------------------------------------------------------------- */

static void move_median(float *median, float ns) { *median += (ns > *median ? *median : -*median) / STEP; }

static void choose(dtp_dataflow_learn_t *k, bool in_order) {
    k->in_order = k->compared = in_order;
    k->n_one = k->n_shared = 0;
}

/* A run of one thread took ns. The choice is made of what both took lately: the machine may have been another one before. */
static void note_one(dtp_dataflow_learn_t *k, int64_t ns) {
    if (k->order_ns == 0 || ns < k->order_ns) k->order_ns = ns;
    k->n_late = ns > 2 * k->order_ns + LATE_NS ? k->n_late + 1 : 0;
    /* What it does has changed; where runs are compared, a thread that was away is no news. */
    if (k->n_late >= (k->compared ? LATE_RUNS : 1)) k->next = k->runs;
    if (!k->compared) return;
    const float took = (float)ns;
    if (k->n_one == 0 || (k->n_one < RUNS && took < k->one_ns)) k->one_ns = took;
    else if (k->n_one >= RUNS) move_median(&k->one_ns, took);
    k->one_known = true;
    if (++k->n_one == RUNS && k->one_ns > k->shared_ns) choose(k, false);
}

static float middle(const float *x) {
    const float low = x[0] < x[1] ? x[0] : x[1], high = x[0] < x[1] ? x[1] : x[0];
    return x[2] < low ? low : x[2] > high ? high : x[2];
}
_Static_assert(DTP_DATAFLOW_TRIALS == 3, "the middle of three");

/* A shared run took ns. */
static void shared_took(dtp_dataflow_learn_t *k, float ns) {
    if (k->one_ns == 0.f) return;
    if (k->trials) { /* one thread is compared */
        k->again_ns[--k->trials] = ns;
        if (k->trials) return;
        k->shared_ns = middle(k->again_ns);
        if (k->shared_ns < gain * k->one_ns) choose(k, false);
        const double part = (double)k->shared_ns / k->one_ns, longest = LONGEST_NS / (double)k->one_ns;
        double apart = TRIALS_PART * part;
        if (apart > longest) apart = longest > part * STEP ? longest : part * STEP;
        if (k->in_order && k->next < k->runs + apart) k->next = k->runs + (uint32_t)apart;
        return;
    }
    if (k->n_shared == 0 || (k->n_shared < RUNS && ns < k->shared_ns)) k->shared_ns = ns;
    else if (k->n_shared >= RUNS) move_median(&k->shared_ns, ns);
    if (++k->n_shared >= RUNS && k->shared_ns > (k->one_known ? loss : no_gain) * k->one_ns) choose(k, true);
}

/* After a timed run of n nodes. in_order: what their costs say. */
static void compare(dtp_dataflow_state_t *s, bool in_order, uint64_t n, const marked_t *m) {
    dtp_dataflow_learn_t *k = &s->learn;
    const bool flat = dtp_dataflow_is_flat(&k->region) && !k->region.n_rings && n == s->plan->n_index;
    const float node_ns = m->sum / (float)n;
    const bool is_short = flat && !in_order && !s->plan->may_pend && !m->costly && node_ns < SHORT_NS;
    if (is_short && m->dearest >= COSTLY_NS) return; /* a thread was away, or the next timed run shows it */
    if (!is_short || node_ns > JUMP * k->node_ns || node_ns < k->node_ns / JUMP) {
        choose(k, false);
        k->in_order = in_order;
        k->one_known = false;
        k->one_ns = 0.f;
        k->node_ns = node_ns;
    }
    if (!is_short) return;
    if (!k->one_known) k->one_ns = m->sum + (float)n * ENGINE_NS;
    if (k->compared) k->trials = DTP_DATAFLOW_TRIALS;
}

void dtp_dataflow_learn_end(dtp_dataflow_state_t *s) {
    dtp_dataflow_learn_t *k = &s->learn;
    if (!k->active || s->result.status != dnnl_tp_success) return;
    if (!k->timed) {
        const int64_t ns = k->one_ns > 0.f ? dtp_ns_of_ticks(dtp_ticks() - k->began) : 0;
        if (k->alone) note_one(k, ns);
        else if (ns) shared_took(k, (float)ns);
        return;
    }
    double work = 0.;
    uint64_t n = 0;
    for (int i = 0; i < s->crew_size; ++i) {
        work += (double)s->workers[i].timed_ns;
        n += s->workers[i].n_timed;
    }
    k->again = DTP_LOAD(&k->jumped, relaxed) && k->again < AGAIN ? k->again + 1 : 0;
    k->next = k->again ? k->runs : k->runs + runs_apart(k, work, n, false);
    if (!n) return;
    k->mean_ns = work / (double)n;
    dtp_dataflow_set_mean(s, k->mean_ns);
    int threads = s->args.par->num_threads;
    double shared = (work + (double)n * SHARED_NODE_NS) / threads;
    const marked_t m = mark_costly(s);
    if (m.dearest > 0.f && shared < work) {
        bool uneven = m.dearest >= COSTLY_NS && m.dearest >= UNEVEN * s->mean_ns;
        if (uneven || m.changed) {
            float longest = rank_again(s, uneven);
            if (!k->again) k->next = k->runs + runs_apart(k, work, n, true);
            if (longest > shared) shared = longest;
        }
    }
    compare(s, shared + HAND_OFF_NS > .9 * work, n, &m);
    k->order_ns = 0;
}

double dtp_dataflow_learned_ns(const dtp_dataflow_worker_t *w, size_t n) {
    enum { LOOKED_AT = 8 };
    const dtp_dataflow_learn_t *k = &w->state->learn;
    if (!k->active || !k->ranked) return 0.;
    float sum = 0.f, most = 0.f;
    if (n > LOOKED_AT) n = LOOKED_AT;
    for (size_t i = 0; i < n; ++i) {
        uint64_t id = w->lifo[i] & DTP_DATAFLOW_NODE_MASK;
        if (dtp_dataflow_instance_of(w->lifo[i]) != w->state->root) continue;
        sum += cost_of(k, &k->nodes[id]);
        if (k->rank[id] > most) most = k->rank[id];
    }
    return sum > most ? sum : most;
}

/* ---- In order ---------------------------------------------------------------------------------------- */

bool dtp_dataflow_prefers_order(const dtp_dataflow_state_t *s) {
    return s->learn.in_order && s->learn.runs < s->learn.next && !s->learn.trials;
}

void dtp_dataflow_note_order(dtp_dataflow_state_t *s, int64_t ns) {
    ++s->learn.runs;
    note_one(&s->learn, ns);
}
