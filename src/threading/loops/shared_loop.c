/* Loops that several threads share: dtp_parallel_for and what joiners do.
 *
 * The state machine and its invariants stand in record.h. The opener works too and waits only for chunks that
 * somebody has started, so a loop ends on any pool, even one that never runs anything.
 * Not here: who may help (ticket.c), how helpers are called (pools/host_call.c, builtin_pool.c). */
#include "common/base/with.h"
#include "threading/base/atomics.h"
#include "threading/pools/builtin_pool.h"
#include "threading/pools/helpers.h"

enum {
    GRAIN_NS = 1000,         /* work that pays for one hand-off */
    SHORT_LOOP_NS = 20000,   /* below: one chunk per participant */
    MEDIUM_LOOP_NS = 200000, /* below: two, above: four */
    CHUNK_NS = 1000000,      /* longest chunk: joiners see wanted tickets at chunk boundaries */
    /* Between two looks at the stop word of a run, at first by the estimate, then as measured: both may be too
     * small by far, the second when a loop comes to pages that nobody has touched. */
    PIECE_NS = 50000,
    OPENER_SPINS_PER_LOOK = DTP_SPINS(32),
    LOOPS_PER_LOOK = 8
};

int64_t dtp_grain(double ns_per_iteration) {
    if (!(ns_per_iteration > 0)) return (int64_t)1 << 40;
    double iterations = GRAIN_NS / ns_per_iteration;
    if (iterations >= (double)((int64_t)1 << 40)) return (int64_t)1 << 40;
    int64_t whole = (int64_t)iterations;
    return whole < iterations ? whole + 1 : whole < 1 ? 1 : whole;
}

/* ---- Chunks and slots -------------------------------------------------------------------------------- */

/* The remainder is spread over all chunks: half of the chunks, from either end, are half of the loop. */
static inline int64_t loop_chunk_begin(const dtp_shared_loop_t *r, uint32_t index) {
    return r->chunk * index + (r->n_larger ? (uint32_t)r->n_larger * index / r->n_chunks : 0);
}

bool dtp_share_over(const dtp_share_t *share) {
    uint32_t why = atomic_load_explicit(share->stop, memory_order_relaxed);
    if (DTP_LIKELY(!why && (!share->deadline_ns || dtp_now_ns() < share->deadline_ns)))
        return DTP_UNLIKELY(share->outer != NULL) && dtp_share_over(share->outer);
    if (!why)
        atomic_compare_exchange_strong_explicit(share->stop, &why, share->late, memory_order_acq_rel,
                                                memory_order_relaxed);
    return true;
}

/* How many of the n iterations of a loop of a run come before the first look at its stop word; 0: all. */
static int64_t first_piece(const dtp_share_t *share, int64_t n, int64_t est_ns, bool guess) {
    if (!share) return 0;
    if (guess) return 1;
    return est_ns > PIECE_NS ? dtp_max64((int64_t)((double)n * PIECE_NS / (double)est_ns), 1) : 0;
}

static void run_pieces(const dtp_share_t *share, int64_t piece, dtp_loop_fn_t fn, void *arg, int slot,
                       int64_t begin, int64_t end) {
    const int64_t aim = dtp_ticks_of_ns(PIECE_NS);
    for (int64_t t0 = dtp_ticks(), next;; begin = next) {
        next = dtp_min64(begin + piece, end);
        fn(arg, slot, begin, next);
        if (next == end || dtp_share_over(share)) return;
        const int64_t t = dtp_ticks(), took = dtp_max64(t - t0, 1);
        t0 = t;
        const double factor = (double)aim / (double)took;
        piece = dtp_max64((int64_t)((double)piece * (factor < 4 ? factor : 4)), 1);
    }
}

static void loop_run_chunk(dtp_shared_loop_t *r, int slot, int index) {
    int64_t begin = loop_chunk_begin(r, (uint32_t)index), end = loop_chunk_begin(r, (uint32_t)index + 1);
    const dtp_team_t *team = atomic_load_explicit(&r->team, memory_order_relaxed);
    /* A crew has no iterations. */
    const dtp_share_t *share = begin < end && team ? dtp_share_that_stops(&team->share) : NULL;
    if (!share) {
        r->fn(r->arg, slot, begin, end);
        return;
    }
    /* Claimed first, then looked: what is left out counts as done. */
    if (DTP_UNLIKELY(dtp_share_over(share))) return;
    if (r->piece && r->piece < end - begin) run_pieces(share, r->piece, r->fn, r->arg, slot, begin, end);
    else r->fn(r->arg, slot, begin, end);
}

/* Index of the claimed chunk, -1 when none is left; *last: none is left after it (or it is -1). Relaxed:
 * whoever is inside has synchronised by joining. */
static int loop_claim(dtp_shared_loop_t *r, bool from_front, bool *last) {
    uint64_t w = atomic_load_explicit(&r->word, memory_order_relaxed);
    for (;;) {
        int left = dtp_lw_left(w), front = dtp_lw_front(w);
        *last = left <= 1;
        if (left == 0) return -1;
        uint64_t next = w - DTP_LW_ONE(LEFT) + (from_front ? DTP_LW_ONE(FRONT) : 0);
        DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_LOOP_CLAIM
        w = atomic_load_explicit(&r->word, memory_order_relaxed);
        next = w - DTP_LW_ONE(LEFT) + (from_front ? DTP_LW_ONE(FRONT) : 0);
#endif
        if (atomic_compare_exchange_weak_explicit(&r->word, &w, next, memory_order_relaxed,
                                                  memory_order_relaxed))
            return from_front ? front : front + left - 1;
    }
}

static int loop_take_slot(dtp_shared_loop_t *r) {
    for (int base = 0;; base = (base + 64) % DTP_MAX_THREADS) {
        int above = base + 64 < r->participants ? 64 : r->participants - base;
        if (above <= 0) continue;
        uint64_t allowed = above == 64 ? ~(uint64_t)0 : ((uint64_t)1 << above) - 1;
        if (base == 0 && r->first_slot) allowed &= ~(uint64_t)1;
        uint64_t taken = atomic_load_explicit(&r->slots[base / 64], memory_order_relaxed);
        while (~taken & allowed) {
            uint64_t bit = (~taken & allowed) & -(~taken & allowed);
            taken = atomic_fetch_or_explicit(&r->slots[base / 64], bit, memory_order_acquire);
            if (!(taken & bit)) return base + __builtin_ctzll(bit);
        }
    }
}

static void loop_return_slot(dtp_shared_loop_t *r, int slot) {
    atomic_fetch_and_explicit(&r->slots[slot / 64], ~((uint64_t)1 << (slot % 64)), memory_order_release);
}

/* ---- Joining ----------------------------------------------------------------------------------------- */

static bool ticket_wanted(const dtp_pool_t *rec) {
    return atomic_load_explicit(&rec->loop[0].open_loops, memory_order_relaxed) & DTP_LOOPS_ATTENTION;
}

static bool others_are_open(const dtp_pool_t *rec, const dtp_shared_loop_t *r) {
    const dtp_shared_loop_t *first = &rec->loop[0];
    const uint64_t open_loops =
        atomic_load_explicit(&first->open_loops, memory_order_relaxed) & ~DTP_LOOPS_ATTENTION;
    if (r == first) return open_loops != 0;
    return (open_loops & ~((uint64_t)1 << (r - first))) ||
           dtp_lw_wanted(atomic_load_explicit(&first->word, memory_order_relaxed));
}

bool dtp_shared_loop_is_wanted(const dtp_pool_t *rec, const dtp_team_t *team) {
    const dtp_shared_loop_t *first = &rec->loop[0];
    uint64_t open = atomic_load_explicit(&first->open_loops, memory_order_seq_cst) | 1;
    for (; open; open &= open - 1) {
        const dtp_shared_loop_t *r = &first[__builtin_ctzll(open)];
        const uint64_t w = atomic_load_explicit(&r->word, memory_order_seq_cst);
        if (!dtp_lw_left(w) || !dtp_lw_wanted(w)) continue;
        if (!team || atomic_load_explicit(&r->team, memory_order_relaxed) == team) return true;
    }
    return false;
}

static bool wants_helpers(uint64_t w) { return dtp_lw_left(w) && dtp_lw_wanted(w); }

/* The open shared loop beside r (NULL: of all) that wants helpers and has fewest inside: fewer than `below`. NULL: none. */
static dtp_shared_loop_t *fewest_inside(dtp_pool_t *rec, const dtp_shared_loop_t *r, int below,
                                        bool must_pay) {
    dtp_shared_loop_t *first = &rec->loop[0], *found = NULL;
    uint64_t open = atomic_load_explicit(&first->open_loops, memory_order_relaxed) | 1;
    if (r) open &= ~((uint64_t)1 << (r - first));
    for (; open; open &= open - 1) {
        dtp_shared_loop_t *q = &first[__builtin_ctzll(open)];
        const uint64_t w = atomic_load_explicit(&q->word, memory_order_relaxed);
        if (!wants_helpers(w) || dtp_lw_active(w) >= below) continue;
        if (must_pay && !atomic_load_explicit(&q->pays, memory_order_relaxed)) continue;
        below = dtp_lw_active(w);
        found = q;
    }
    return found;
}

bool dtp_shared_loop_has_too_many(dtp_pool_t *rec, const dtp_shared_loop_t *r) {
    if (!rec->workers) return false; /* helpers of a caller's pool are bound to their run */
    if (!others_are_open(rec, r)) return false;
    const int inside = dtp_lw_active(atomic_load_explicit(&r->word, memory_order_relaxed));
    return inside > 1 && fewest_inside(rec, r, inside - 1, true);
}

/* The word afterwards. The opener waits for this one exchange; a `wanted` that was given back for nothing does no harm. */
static uint64_t leave_loop(dtp_shared_loop_t *r, bool last) {
    const uint64_t leave = DTP_LW_ONE(ACTIVE) - (last ? 0 : DTP_LW_ONE(WANTED));
#ifdef DTP_BREAK_LOOP_LEAVE
    return atomic_fetch_sub_explicit(&r->word, leave, memory_order_relaxed) - leave;
#else
    return atomic_fetch_sub_explicit(&r->word, leave, memory_order_release) - leave;
#endif
}
/* The same of a crew; who was asked to look again leaves an invitation. */
static uint64_t leave_crew(dtp_shared_loop_t *r, bool last) {
    uint64_t w = atomic_load_explicit(&r->word, memory_order_relaxed), next;
    do {
        next = w - DTP_LW_ONE(ACTIVE);
        if (w & DTP_LW_AGAIN) next += DTP_LW_ONE(LEFT) + DTP_LW_ONE(WANTED) - DTP_LW_AGAIN;
        else if (!last) next += DTP_LW_ONE(WANTED);
    } while (!atomic_compare_exchange_weak_explicit(&r->word, &w, next, memory_order_release,
                                                    memory_order_relaxed));
    return next;
}

static bool loop_join(dtp_pool_t *rec, dtp_shared_loop_t *r, const dtp_team_t *team, uint64_t run) {
    uint64_t w = atomic_load_explicit(&r->word, memory_order_acquire);
    int index;
    for (;;) {
        if (dtp_lw_left(w) == 0 || dtp_lw_wanted(w) == 0) return false;
        /* Read between two looks at the word: the exchange fails if it belongs to another epoch. */
        if (team && atomic_load_explicit(&r->team, memory_order_relaxed) != team) return false;
#ifdef DTP_BREAK_RUN_EPOCH
        run = 0;
#endif
        /* The run of this opening, whose team was open before: it may be the next one by now. */
        if (run && dtp_team_epoch(atomic_load_explicit(&team->state, memory_order_acquire)) != run)
            return false;
        index = dtp_lw_front(w) + dtp_lw_left(w) - 1;
        uint64_t next = w + DTP_LW_ONE(ACTIVE) - DTP_LW_ONE(WANTED) - DTP_LW_ONE(LEFT);
        if (atomic_compare_exchange_weak_explicit(&r->word, &w, next, memory_order_seq_cst,
                                                  memory_order_acquire))
            break;
    }
    if ((rec->workers || (!team && rec->form_s)) && others_are_open(rec, r)) dtp_helpers_hand_on(rec, r);
    bool only_joiner = r->participants == 2 && r->first_slot; /* one may be inside: it has slot 1 */
    int slot = only_joiner ? 1 : loop_take_slot(r);
    bool last = dtp_lw_left(w) == 1; /* no chunk comes back: nothing to look for afterwards */
    int chunks = 0;
    do {
        loop_run_chunk(r, slot, index);
        ++chunks;
    } while (
        !last && !ticket_wanted(rec) &&
        !(atomic_load_explicit(&r->pays, memory_order_relaxed) && dtp_shared_loop_has_too_many(rec, r)) &&
        (index = loop_claim(r, false, &last)) >= 0);
    if (!only_joiner) loop_return_slot(r, slot);

    const uint64_t next = r->n_chunks ? leave_loop(r, last) : leave_crew(r, last);
    if ((next & DTP_LW_WAITING) && dtp_lw_active(next) == 0) {
        atomic_fetch_add_explicit(&r->wake_word, 1, memory_order_release);
        dtp_futex_wake(&r->wake_word, 1);
    }
    DTP_COUNT(rec, stolen, (uint64_t)chunks);
    return true;
}

bool dtp_shared_loop_join(dtp_pool_t *rec, dtp_shared_loop_t *r, const dtp_team_t *team) {
    return loop_join(rec, r, team, 0);
}

bool dtp_shared_loop_help(dtp_pool_t *rec, const dtp_team_t *team, uint64_t run) {
    if (!team &&
        (atomic_load_explicit(&rec->loop[0].open_loops, memory_order_relaxed) & ~DTP_LOOPS_ATTENTION)) {
        dtp_shared_loop_t *r = fewest_inside(rec, NULL, INT_MAX, false);
        if (r && loop_join(rec, r, NULL, 0)) return true;
    }
    if (loop_join(rec, &rec->loop[0], team, run)) return true;
    uint64_t open =
        atomic_load_explicit(&rec->loop[0].open_loops, memory_order_acquire) & ~DTP_LOOPS_ATTENTION;
    for (; open; open &= open - 1)
        if (loop_join(rec, &rec->loop[__builtin_ctzll(open)], team, run)) return true;
    return false;
}

/* ---- Opening ----------------------------------------------------------------------------------------- */

/* Outside runs the opener counts as a caller, which displaces a helper while its loop is open: for entry 0 by
 * a mark that comes with the entry, else in adm. */
dtp_shared_loop_t *dtp_shared_loop_reserve(dtp_pool_t *rec, bool caller) {
    uint64_t taken = atomic_load_explicit(&rec->reserved, memory_order_relaxed);
    for (;;) {
        uint64_t bit = ~taken & (taken + 1), mark = caller && bit == 1 ? DTP_RESERVED_BY_CALLER : 0;
        if (bit == 0 || bit == DTP_RESERVED_BY_CALLER) return NULL;
        if (!atomic_compare_exchange_weak_explicit(&rec->reserved, &taken, taken | bit | mark,
                                                   memory_order_acquire, memory_order_relaxed))
            continue;
        if (caller && !mark) atomic_fetch_add_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
        return &rec->loop[__builtin_ctzll(bit)];
    }
}

void dtp_shared_loop_give_back(dtp_pool_t *rec, int index, bool caller) {
    uint64_t mark = caller && index == 0 ? DTP_RESERVED_BY_CALLER : 0;
    atomic_fetch_and_explicit(&rec->reserved, ~((uint64_t)1 << index | mark), memory_order_release);
    if (caller && index) atomic_fetch_sub_explicit(&rec->adm, DTP_ADM_CALLER, memory_order_relaxed);
}

/* Waits until every joiner has left; chunks are all claimed. Spins for the cost of a sleep, then sleeps. */
void dtp_shared_loop_wait(dtp_pool_t *rec, dtp_shared_loop_t *r) {
#ifdef DTP_BREAK_LOOP_WAIT
    return;
#endif
    int64_t until = 0;
    for (int i = 1;; ++i) {
        /* A locked look: see worker_help. */
        if (dtp_lw_active(atomic_fetch_or_explicit(&r->word, 0, memory_order_acquire)) == 0) return;
        dtp_pause();
        if (i % OPENER_SPINS_PER_LOOK) continue;
        int64_t now = dtp_ticks();
        if (!until) until = now + (DTP_WITH_SPINNING ? rec->wake_ticks : 0);
        else if (now > until) break;
    }
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&r->wake_word, memory_order_acquire);
        uint64_t w = atomic_load_explicit(&r->word, memory_order_acquire);
        if (dtp_lw_active(w) == 0) return;
        if (!(w & DTP_LW_WAITING) &&
            !atomic_compare_exchange_strong_explicit(&r->word, &w, w | DTP_LW_WAITING, memory_order_acquire,
                                                     memory_order_acquire))
            continue;
        DTP_PREEMPT_POINT();
#ifdef DTP_BREAK_LOOP_BELL
        wake_word = atomic_load_explicit(&r->wake_word, memory_order_acquire);
#endif
        dtp_futex_wait(&r->wake_word, wake_word, -1);
    }
}

/* ---- The decision ------------------------------------------------------------------------------------ */

/* Where nobody could say the cost (grain 1, DTP_GRAIN_UNKNOWN), what a loop took is remembered by function and count, in one of a few
 * entries: two loops that take turns do not drive each other out. */
typedef struct {
    _Atomic uint64_t *entry; /* NULL: the cost was said */
    uint32_t key;
    int64_t ns; /* < 0: not known yet */
} learned_t;

static learned_t learned_of(dtp_pool_t *rec, uintptr_t by, int64_t n) {
    enum { ENTRIES = sizeof rec->learned / sizeof *rec->learned, WAYS = 4 };
    const uint64_t hash = ((uint64_t)by ^ (uint64_t)n * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    _Atomic uint64_t *set = &rec->learned[hash >> 26 & (ENTRIES - WAYS)];
    learned_t l = {.entry = NULL, .key = (uint32_t)(hash >> 32) | 1, .ns = -1};
    for (int i = 0; i < WAYS; ++i) {
        const uint64_t there = atomic_load_explicit(&set[i], memory_order_relaxed);
        if (there >> 32 == l.key) {
            l.ns = (int64_t)(uint32_t)there * 1000;
            l.entry = &set[i];
            return l;
        }
        if (!there && !l.entry) l.entry = &set[i];
    }
    if (!l.entry) l.entry = &set[dtp_ticks() % WAYS];
    return l;
}

/* The loop took so long on one thread, or would have. Of a run that is over parts were left out. */
static void learn(const dtp_parallel_t *par, const learned_t *l, int64_t ticks) {
    if (dtp_parallel_over(par)) return;
    const uint64_t us = (uint64_t)dtp_ns_of_ticks(ticks) / 1000;
    const uint64_t entry = (uint64_t)l->key << 32 | (us < UINT32_MAX ? us : UINT32_MAX);
    if (atomic_load_explicit(l->entry, memory_order_relaxed) != entry)
        atomic_store_explicit(l->entry, entry, memory_order_relaxed);
}

/* On this thread. */
static void run_alone(const dtp_parallel_t *par, int64_t n, int64_t piece, const learned_t *learned,
                      dtp_loop_fn_t fn, void *arg) {
    const int64_t begin = learned->entry ? dtp_ticks() : 0;
    if (piece && piece < n) run_pieces(dtp_parallel_stop(par), piece, fn, arg, 0, 0, n);
    else fn(arg, 0, 0, n);
    if (learned->entry) learn(par, learned, dtp_ticks() - begin);
}

static int chunk_count(int64_t est_ns, int64_t units, int participants, uint64_t flags) {
    int per = est_ns < SHORT_LOOP_NS ? 1 : est_ns < MEDIUM_LOOP_NS ? 2 : 4;
    if (flags & DNNL_TP_THREADPOOL_AUTO_BALANCING) per = 4;
    if (!DTP_WITH_CHUNKS) per = 1;
    int64_t count = dtp_max64((int64_t)participants * per, est_ns / CHUNK_NS);
    return (int)dtp_min64(dtp_min64(count, units), DTP_LW_MAX_CHUNKS);
}

/* Fills a reserved shared loop and opens it; the opener works itself (first chunk its own) or leaves the loop to
 * jobs. pays: sleeping helpers are worth a call, and the opener counts who comes next (the publishing half of a
 * Dekker pair). */
static void loop_open(dtp_shared_loop_t *r, dtp_team_t *team, int64_t n, int64_t piece, int n_chunks,
                      int participants, bool opener_works, bool pays, dtp_loop_fn_t fn, void *arg) {
#ifndef DTP_BREAK_LOOP_EPOCH
    r->epoch += DTP_LW_EPOCH;
#endif
    uint64_t word = r->epoch;
    atomic_store_explicit(&r->loops, atomic_load_explicit(&r->loops, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (opener_works)
        word += DTP_LW_ONE(FRONT) + (uint64_t)(n_chunks - 1) * DTP_LW_ONE(LEFT) +
                (uint64_t)(participants - 1) * DTP_LW_ONE(WANTED);
    else word += (uint64_t)n_chunks * DTP_LW_ONE(LEFT) + (uint64_t)participants * DTP_LW_ONE(WANTED);
    atomic_store_explicit(&r->team, team, memory_order_relaxed);
    r->fn = fn;
    r->arg = arg;
    if (n <= UINT32_MAX) { /* a division of half the size takes half the time */
        r->chunk = (uint32_t)n / (uint32_t)n_chunks;
        r->n_larger = (uint16_t)((uint32_t)n % (uint32_t)n_chunks);
    } else {
        r->chunk = n / n_chunks;
        r->n_larger = (uint16_t)(n % n_chunks);
    }
    r->piece = (uint32_t)dtp_min64(piece, UINT32_MAX);
    r->n_chunks = (uint16_t)n_chunks;
    r->first_slot = opener_works;
    r->participants = (uint16_t)participants;
    atomic_store_explicit(&r->pays, pays, memory_order_relaxed);
    if (pays) atomic_exchange_explicit(&r->word, word, memory_order_seq_cst);
    else atomic_store_explicit(&r->word, word, memory_order_release);
}

/* A synchronous pool that has parallel_for only: its call is the loop. */
static void loop_through_host(dtp_pool_t *rec, dtp_shared_loop_t *r, int jobs) {
    dtp_host_call_loop(rec, r, jobs);
    /* What the host left: all of it if it refused, something if it returned early. Where there is no room to
     * join, those who are inside leave nothing or make room. */
    while (dtp_lw_left(atomic_load_explicit(&r->word, memory_order_relaxed)))
        if (!dtp_shared_loop_join(rec, r, NULL)) dtp_shared_loop_wait(rec, r);
}

/* In a loop that takes its time: who is still wanted and will not come is called. Those who were counted on may
 * have been on their way out, or have gone elsewhere; who was called and has not arrived is not called again. */
static void call_missing(dtp_pool_t *rec, dtp_team_t *team, const dtp_shared_loop_t *r, int num_threads,
                         int cpu) {
    const uint64_t w = atomic_load_explicit(&r->word, memory_order_relaxed);
    const int wanted = (int)dtp_min64(dtp_lw_wanted(w), dtp_lw_left(w));
    if (wanted) dtp_helpers_call(rec, team, dtp_helpers_missing(rec, team, num_threads, wanted, true), cpu);
}

/* Are helpers that are awake busy elsewhere? Each other open loop is a line to read: of short loops one in a
 * few looks, for all of them. */
static bool near_are_busy(dtp_pool_t *rec, const dtp_team_t *team, const dtp_shared_loop_t *r,
                          int participants) {
    const uint64_t taken = atomic_load_explicit(&rec->reserved, memory_order_relaxed);
    if (!((taken & ~DTP_RESERVED_BY_CALLER) & ~((uint64_t)1 << (r - rec->loop)))) return false;
    if (atomic_load_explicit(&r->loops, memory_order_relaxed) % LOOPS_PER_LOOK) return false;
    const uint64_t adm = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    return dtp_helpers_idle(rec, team, adm) < participants - 1;
}

static __attribute__((noinline)) void loop_run(const dtp_parallel_t *par, int64_t n, int64_t units,
                                               int64_t est_ns, int64_t piece, const learned_t *learned,
                                               dtp_loop_fn_t fn, void *arg) {
    dtp_pool_t *rec = par->pool;
    dtp_team_t *team = par->team;
    int participants =
        (int)dtp_min64(par->num_threads < rec->num_threads ? par->num_threads : rec->num_threads, units);
    /* A run on such a pool has its joiners from the start (pools/admission.c). */
    bool through_host = rec->host_loops && !team;
    if (through_host && !dtp_host_call_possible(rec)) participants = 1;
    if (est_ns < rec->parallel_min_ns || participants < 2 || dtp_pool_dead(rec)) {
        run_alone(par, n, piece, learned, fn, arg);
        return;
    }
    dtp_prefetch_write(&rec->loop[0]); /* on its way while we decide */
    uint64_t adm = atomic_load_explicit(&rec->adm, memory_order_relaxed);
    const int near = through_host ? 0 : dtp_helpers_near(rec, team, adm);
    bool call = near < participants - 1 && dtp_worth_calling(rec, team, est_ns);
    if (call && through_host && est_ns < SHORT_LOOP_NS &&
        dtp_host_call_short_loop(rec, n, participants, fn, arg))
        return;
    dtp_shared_loop_t *r = NULL;
    int free_threads = dtp_ticket_free(rec, adm) - !team;
    /* Of a long loop, helpers of others have time to give their tickets back; of a longer one runs end, too. */
    const bool later = est_ns >= rec->wake_min_ns && (dtp_adm_joiners(adm) || est_ns >= MEDIUM_LOOP_NS);
    if (near > 0 || (call && (through_host || free_threads > 0 || later)))
        r = dtp_shared_loop_reserve(rec, !team);
    if (!r) {
        DTP_COUNT(rec, alone, 1);
        run_alone(par, n, piece, learned, fn, arg);
        return;
    }
    int index = (int)(r - rec->loop);
    int n_chunks = chunk_count(est_ns, units, participants, rec->flags);
    int cpu = rec->workers ? dtp_this_cpu() : -1;
    /* Of entry 0 unseen: reading would fetch the line once more before it is written. */
    if (!index || atomic_load_explicit(&rec->loop[0].cpu, memory_order_relaxed) != cpu)
        atomic_store_explicit(&rec->loop[0].cpu, cpu, memory_order_relaxed);
    const bool is_long = !through_host && est_ns >= rec->wake_min_ns;
    if (!call && !is_long && near > 0 && near_are_busy(rec, team, r, participants))
        call = dtp_worth_calling(rec, team, LOOPS_PER_LOOK * est_ns);
    if (call || is_long) atomic_store_explicit(&r->num_threads, par->num_threads, memory_order_relaxed);
    loop_open(r, team, n, piece, n_chunks, participants, !through_host, call || is_long, fn, arg);
    if (index) atomic_fetch_or_explicit(&rec->loop[0].open_loops, (uint64_t)1 << index, memory_order_seq_cst);
    if (through_host) {
        loop_through_host(rec, r, participants);
    } else {
        if (call || is_long) call_missing(rec, team, r, par->num_threads, cpu);
        bool last = n_chunks == 1;
        const int64_t begin = learned->entry ? dtp_ticks() : 0;
        int own = 0;
        for (int chunk = 0; chunk >= 0; chunk = last ? -1 : loop_claim(r, true, &last)) {
            loop_run_chunk(r, 0, chunk);
            ++own;
            if (is_long && est_ns >= MEDIUM_LOOP_NS) call_missing(rec, team, r, par->num_threads, cpu);
        }
        if (learned->entry) learn(par, learned, (dtp_ticks() - begin) / own * n_chunks);
    }
    if (index)
        atomic_fetch_and_explicit(&rec->loop[0].open_loops, ~((uint64_t)1 << index), memory_order_relaxed);
    dtp_shared_loop_wait(rec, r);
    dtp_shared_loop_give_back(rec, index, !team);
}

void dtp_parallel_share(const dtp_parallel_t *par, int64_t n, int64_t grain, dtp_loop_fn_t fn, void *arg) {
    if (DTP_UNLIKELY(par->watch != NULL)) {
        dtp_parallel_t unwatched = *par;
        unwatched.watch = NULL;
        par->watch->share(par->watch, &unwatched, n, grain, fn, arg);
        return;
    }
    const bool unknown = grain == DTP_GRAIN_UNKNOWN;
    if (grain == 0 || unknown) grain = 1;
    if (grain >= 0 && n / 2 < grain) {
        fn(arg, 0, 0, n);
        return;
    }
    int64_t units, est_ns;
    if (grain > 0) {
        units = n / grain;
        est_ns = units < INT64_MAX / GRAIN_NS ? units * GRAIN_NS : INT64_MAX;
    } else {
        if (__builtin_mul_overflow(n, -grain, &est_ns)) est_ns = INT64_MAX;
        units = dtp_min64(n, est_ns / GRAIN_NS);
    }
    const int64_t piece = grain < 0 ? 0 : first_piece(dtp_parallel_stop(par), n, est_ns, grain == 1);
    learned_t learned = {.entry = NULL};
    if (par->num_threads < 2 || !par->pool) {
        run_alone(par, n, piece, &learned, fn, arg);
    } else if (units < 2) {
        fn(arg, 0, 0, n);
    } else {
        if (grain == 1) learned = learned_of(par->pool, unknown ? *(const uintptr_t *)arg : (uintptr_t)fn, n);
        /* Where an iteration is worth a hand-off at least, as its author knows, more may be learned, not less. */
        if (learned.entry && learned.ns >= 0 && (unknown || learned.ns > est_ns)) est_ns = learned.ns;
        loop_run(par, n, units, est_ns, piece, &learned, fn, arg);
    }
}
