/* Memory by what happens before what: random programs of steps, Ifs and parts of buffers against brute force (every choice of
 * the predicates, all paths), and against the dataflow engine's program for them; large programs, where rows
 * are short, against full rows; and the bytes of real graphs. Loops and calls: program_stress runs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "exec/compile/memory/plan.h"
#include "exec/compile/order/schedule.h"
#include "exec/dataflow/plan.h"
#include "support/check.h"

#define OK(expr) assert_int_equal(expr, dnnl_tp_success)

static uint64_t seed;
static int below(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* ---- Programs made by hand --------------------------------------------------------------------------- */

enum { MAX_STEPS = 20000, MAX_ARGS = 6, SMALL = 60, MAX_IFS = 5 };

typedef struct {
    dtp_arena_t arena;
    dtp_ir_t ir;
    dtp_lower_t l;
    dtp_exec_t e;
    dtp_scope_t scope;
    dtp_lower_scope_t lscope;
    dtp_step_t *steps[MAX_STEPS];
    dtp_buf_t bufs[MAX_STEPS];
    int item_end[MAX_STEPS], stage_of[MAX_STEPS], heir_of[MAX_STEPS], nifs;
    dtp_stage_t stages[MAX_STEPS];
    int seen[MAX_STEPS], nseen; /* buffers that may be read */
    int ifs[MAX_IFS];
    dtp_orderings_t orderings;
    dtp_order_t order;
    dtp_allocation_t allocation[MAX_STEPS];
    int nallocations;
} prog_t;
static prog_t g;

static int new_buf(void) {
    g.bufs[g.l.nbufs] = (dtp_buf_t){
        .kind = DTP_BUF_INSTANCE, .first = -1, .last = -1, .bytes = 64u << below(3), .slice_group = -1};
    g.heir_of[g.l.nbufs] = -1;
    return g.l.nbufs++;
}

static int new_step(dtp_ctl_t ctl) {
    int i = g.l.nsteps++;
    dtp_step_t *s = g.steps[i] = dtp_arena_alloc(&g.arena, sizeof *s);
    assert_non_null(s);
    static dtp_work_t none = {.pred_type = dnnl_tp_u8};
    s->ctl = ctl;
    s->work = &none;
    s->slice_group = s->other = -1;
    s->arg = dtp_arena_alloc(&g.arena, sizeof *s->arg * MAX_ARGS);
    s->order = dtp_arena_alloc(&g.arena, sizeof *s->order * MAX_ARGS);
    assert_true(s->arg && s->order);
    g.item_end[i] = -1;
    g.stage_of[i] = g.stages[i].index = i;
    return i;
}

static void use(int i, int buf, bool written) {
    dtp_step_t *s = g.steps[i];
    s->arg[s->nargs++] = (dtp_step_arg_t){.buf = buf, .written = written};
}

/* Mostly among the last `back` buffers. */
static int pick(int back) {
    int from = below(8) ? g.nseen - back : 0;
    if (from < 0) from = 0;
    return g.seen[from + below(g.nseen - from)];
}

static bool with_parts;

/* Steps that each write a part of one buffer, some of which others read, and the join. */
static void random_parts(int back) {
    int whole = new_buf(), parts[3], n = 2 + below(2);
    for (int i = 0; i < n; ++i) {
        int s = new_step(DTP_CTL_NONE);
        if (g.nseen) use(s, pick(back), false);
        parts[i] = new_buf();
        g.bufs[parts[i]].kind = DTP_BUF_PART;
        g.bufs[parts[i]].part_of = whole;
        use(s, parts[i], true);
        if (below(2)) g.seen[g.nseen++] = parts[i];
    }
    int join = new_step(DTP_CTL_JOIN);
    for (int i = 0; i < n; ++i) use(join, parts[i], false);
    use(join, whole, true);
    g.seen[g.nseen++] = whole;
}

static void random_block(int size, int depth, int back) {
    for (int k = 0; k < size; ++k) {
        if (with_parts && below(5) == 0) {
            random_parts(back);
            continue;
        }
        if (depth == 0 || g.nifs == MAX_IFS || g.nseen == 0 || below(5)) {
            int i = new_step(DTP_CTL_NONE), reads = g.nseen ? below(4) : 0;
            for (int r = 0; r < reads; ++r) use(i, pick(back), false);
            if (g.nseen && below(6) == 0) g.steps[i]->order[g.steps[i]->norder++] = pick(back);
            int out = new_buf();
            use(i, out, true);
            g.seen[g.nseen++] = out;
            continue;
        }
        int results[2], n = below(3), mark, i = new_step(DTP_CTL_IF);
        g.ifs[g.nifs++] = i;
        use(i, pick(back), false);
        for (int r = 0; r < n; ++r) results[r] = new_buf();
        mark = g.nseen;
        for (int side = 0; side < 2; ++side) {
            random_block(below(4), depth - 1, back);
            for (int r = 0; r < n; ++r) {
                int w = new_step(DTP_CTL_NONE);
                if (g.nseen) use(w, pick(back), false);
                use(w, results[r], true);
            }
            g.nseen = mark;
            int at = new_step(side ? DTP_CTL_ENDIF : DTP_CTL_ELSE);
            if (side) g.steps[at]->other = i, g.steps[g.steps[i]->other]->other = at;
            else g.steps[i]->other = at;
        }
        for (int r = 0; r < n; ++r) g.seen[g.nseen++] = results[r];
    }
}

static void make(uint64_t number, int size, int depth, int back) {
    seed = number * 7919 + 1;
    memset(&g.l, 0, sizeof g.l);
    memset(&g.e, 0, sizeof g.e);
    g.nifs = g.nseen = g.nallocations = 0;
    dtp_arena_init(&g.arena, dtp_process_allocator());
    g.ir.arena = &g.arena;
    g.l.ir = &g.ir;
    g.l.steps = g.steps;
    g.l.bufs = g.bufs;
    g.l.scopes = &g.lscope;
    g.l.nscopes = 1;
    g.l.item_end = g.item_end;
    g.l.stage_of = g.stage_of;
    g.e.scopes = &g.scope;
    g.e.stages = g.stages;
    random_block(size, depth, back);
    g.lscope = (dtp_lower_scope_t){.parent = -1, .end = g.l.nsteps};
    dtp_buf_ranges(&g.l);
    for (int b = 0; b < g.l.nbufs; ++b)
        if (g.bufs[b].first >= 0 && g.bufs[b].kind != DTP_BUF_PART)
            g.allocation[g.nallocations++] = (dtp_allocation_t){
                .buf = b, .first = g.bufs[b].first, .last = g.bufs[b].last, .bytes = g.bufs[b].bytes};
    g.e.by_counters = true;
    OK(dtp_orderings_derive(&g.orderings, &g.e, &g.l));
    OK(dtp_order_init(&g.order, &g.orderings, &g.l, g.heir_of));
    OK(dtp_order_scope(&g.order, 0));
}

/* ---- Brute force ------------------------------------------------------------------------------------- */

static int inner_end(int i) { return g.steps[g.steps[i]->other]->other; }

/* For one choice of all predicates: which steps run, and which come before which (ends of Ifs are nodes). */
enum { WORDS = SMALL * 8 / 64 + 1 };
static uint8_t runs[SMALL * 8];
static uint64_t path[SMALL * 8][WORDS];

static void edge(int from, int to) { path[from][to / 64] |= (uint64_t)1 << (to % 64); }
static bool is_path(int from, int to) { return path[from][to / 64] >> (to % 64) & 1; }

static void mark_block(int from, int to, unsigned choice) {
    for (int i = from; i < to; ++i) {
        runs[i] = 1;
        if (g.steps[i]->ctl != DTP_CTL_IF) continue;
        int nr = 0, other = g.steps[i]->other, end = inner_end(i);
        while (g.ifs[nr] != i) ++nr;
        if (choice >> nr & 1) mark_block(i + 1, other, choice);
        else mark_block(other + 1, end, choice);
        runs[end] = 1; /* stands for its end */
        i = end;
    }
}

static void brute(unsigned choice) {
    int n = g.l.nsteps, writer[SMALL * 8];
    memset(runs, 0, sizeof runs);
    memset(path, 0, sizeof path);
    mark_block(0, n, choice);
    for (int b = 0; b < g.l.nbufs; ++b) writer[b] = -1;
    for (int i = 0; i < n; ++i) {
        const dtp_step_t *s = g.steps[i];
        if (!runs[i]) continue;
        for (int k = 0; k < s->nargs; ++k)
            if (!s->arg[k].written && writer[s->arg[k].buf] >= 0) edge(writer[s->arg[k].buf], i);
        for (int k = 0; k < s->norder; ++k) {
            int w = writer[s->order[k]], end = w;
            /* A result comes with its writer, an ordering with the outermost If that it comes out of. */
            for (int f = 0; w >= 0 && f < g.nifs; ++f)
                if (g.ifs[f] < w && w < inner_end(g.ifs[f]) && inner_end(g.ifs[f]) < i &&
                    inner_end(g.ifs[f]) > end)
                    end = inner_end(g.ifs[f]);
            if (w >= 0) edge(end, i);
        }
        for (int k = 0; k < s->nargs; ++k)
            if (s->arg[k].written) writer[s->arg[k].buf] = i;
        if (s->ctl == DTP_CTL_IF) {
            int end = inner_end(i);
            edge(i, end);
            for (int x = i + 1; x < end; ++x)
                if (runs[x]) edge(i, x), edge(x, end);
        }
    }
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < n; ++i)
            for (int w = 0; is_path(i, k) && w < WORDS; ++w) path[i][w] |= path[k][w];
}

static bool touches(int i, int buf, bool written) {
    const dtp_step_t *s = g.steps[i];
    int64_t at;
    for (int k = 0; k < s->nargs && s->ctl != DTP_CTL_JOIN; ++k)
        if (dtp_whole_of(&g.l, s->arg[k].buf, &at) == buf && (!written || s->arg[k].written)) return true;
    return !written && s->ctl == DTP_CTL_ENDIF && g.steps[s->other]->arg[0].buf == buf; /* predicate */
}

/* Steps that run and touch, or write, each allocation. */
static uint64_t users[SMALL * 8][WORDS], writers[SMALL * 8][WORDS];

static void find_users(void) {
    memset(users, 0, sizeof users);
    memset(writers, 0, sizeof writers);
    for (int a = 0; a < g.nallocations; ++a)
        for (int i = 0; i < g.l.nsteps; ++i) {
            if (!runs[i]) continue;
            if (touches(i, g.allocation[a].buf, false)) users[a][i / 64] |= (uint64_t)1 << (i % 64);
            if (touches(i, g.allocation[a].buf, true)) writers[a][i / 64] |= (uint64_t)1 << (i % 64);
        }
}

static bool brute_frees(int a, int b) {
    if (g.allocation[a].last >= g.allocation[b].first) return false;
    for (int u = 0; u < g.l.nsteps; ++u)
        for (int w = 0; (users[a][u / 64] >> (u % 64) & 1) && w < WORDS; ++w)
            if (writers[b][w] & ~path[u][w]) return false;
    return true;
}

static void test_brute_force(void **state) {
    (void)state;
    static uint8_t frees[SMALL * 8][SMALL * 8];
    with_parts = true;
    long pairs = 0, shared = 0, missed = 0;
    for (uint64_t s = 1; s <= 200; ++s) {
        make(s, 6 + (int)(s % 20), (int)(s % 4), s % 3 ? 4 : 1000);
        assert_true(g.l.nsteps < SMALL * 8 && g.l.nbufs < SMALL * 8);
        memset(frees, 1, sizeof frees);
        for (unsigned choice = 0; choice < 1u << g.nifs; ++choice) {
            brute(choice);
            find_users();
            for (int a = 0; a < g.nallocations; ++a)
                for (int b = 0; b < g.nallocations; ++b) frees[a][b] = frees[a][b] && brute_frees(a, b);
        }
        for (int a = 0; a < g.nallocations; ++a)
            for (int b = 0; b < g.nallocations; ++b, ++pairs) {
                bool ours = dtp_order_frees(&g.order, &g.allocation[a], &g.allocation[b]);
                if (ours && !frees[a][b])
                    fail_msg("seed %d: buffer %d must not follow %d", (int)s, g.allocation[b].buf,
                             g.allocation[a].buf);
                missed += frees[a][b] && !ours;
                shared += frees[a][b];
            }
        size_t total = 0;
        OK(dtp_place_allocations(&g.arena, &g.order, g.allocation, g.nallocations, &total));
        for (int a = 0; a < g.nallocations; ++a)
            for (int b = 0; b < a; ++b) {
                const dtp_allocation_t *x = &g.allocation[a], *y = &g.allocation[b];
                if (x->at < y->at + y->bytes && y->at < x->at + x->bytes)
                    assert_true(dtp_order_frees(&g.order, x, y) || dtp_order_frees(&g.order, y, x));
                assert_true(x->at + x->bytes <= total);
            }
        dtp_arena_free(&g.arena);
    }
    assert_true(shared > pairs / 20 && shared < pairs);
    /* Two results of one If may together prove what neither does alone. */
    print_message("%ld pairs, %ld may share, %ld more could\n", pairs, shared - missed, missed);
    assert_true(missed * 100 < shared);
}

/* ---- The dataflow engine's program ------------------------------------------------------------------- */

/* Executes it node by node for one choice of all predicates. ended[n]: all nodes that have ended before n
 * starts, however the threads run. */
enum { NODES = SMALL * 16, NODE_WORDS = NODES / 64 };
typedef struct {
    const dtp_dataflow_region_t *r;
    unsigned choice;
    uint64_t ended[NODES][NODE_WORDS], done[NODES][NODE_WORDS]; /* done: by block, of what completes it */
    uint32_t count[NODES], left[NODES], ready[NODES];
    int nready, node_of[SMALL * 8]; /* per step; -1: does not run */
} engine_t;
static engine_t engine;

static void add(uint64_t *to, const uint64_t *set, int node) {
    for (int w = 0; w < NODE_WORDS; ++w) to[w] |= set[w];
    if (node >= 0) to[node / 64] |= (uint64_t)1 << (node % 64);
}

static void arrive(uint32_t edge, const uint64_t *set, int node) {
    uint32_t to = edge & ~DTP_DATAFLOW_DIRECT;
    add(engine.ended[to], set, node);
    if (edge & DTP_DATAFLOW_DIRECT || --engine.count[to] == 0) engine.ready[engine.nready++] = to;
}

static void complete(uint32_t block, const uint64_t *set, int node) {
    const dtp_dataflow_control_block_t *k = &engine.r->blocks[block];
    add(engine.done[block], set, node);
    if (--engine.left[block]) return;
    if (k->end != DTP_DATAFLOW_NONE) arrive(k->end | DTP_DATAFLOW_DIRECT, engine.done[block], -1);
    else if (k->up != DTP_DATAFLOW_NONE) complete(k->up, engine.done[block], -1);
}

static void enter(uint32_t block, const uint64_t *set, int node) {
    const dtp_dataflow_control_block_t *k = &engine.r->blocks[block];
    for (uint32_t i = 0; i < k->n_entry; ++i) arrive(engine.r->edges[k->entry + i], set, node);
    complete(block, set, node);
}

static void execute(unsigned choice) {
    static const uint64_t none[NODE_WORDS];
    const dtp_dataflow_region_t *r = &g.e.dataflow->regions[0];
    memset(&engine, 0, sizeof engine);
    memset(engine.node_of, -1, sizeof engine.node_of);
    engine.r = r;
    assert_true(r->n_nodes < NODES && r->n_blocks < NODES);
    for (uint32_t n = 0; n < r->n_nodes; ++n) engine.count[n] = r->init[n];
    for (uint32_t b = 0; b < r->n_blocks; ++b) engine.left[b] = r->blocks[b].done;
    enter(0, none, -1);
    while (engine.nready) {
        int n = (int)engine.ready[--engine.nready];
        const dtp_dataflow_node_t *node = &r->nodes[n];
        if (DTP_FN_KIND(node->bits) == DTP_FK_OP) {
            engine.node_of[g.e.items[node->index].index] = n;
        } else if (DTP_FN_KIND(node->bits) == DTP_FK_IF) {
            const dtp_dataflow_choice_t *c = &r->choices[node->index];
            int i = (int)c->pred.offset, nr = 0; /* check_scheduler() wrote the number of the step there */
            while (g.ifs[nr] != i) ++nr;
            engine.node_of[i] = n;
            enter(c->block[choice >> nr & 1], engine.ended[n], n);
        }
        for (uint32_t k = node[0].edge; k < node[1].edge; ++k) arrive(r->edges[k], engine.ended[n], n);
        if (node->sink != DTP_DATAFLOW_NONE) complete(node->sink, engine.ended[n], n);
    }
    assert_int_equal(engine.left[0], 0);
}

/* All that touches x has ended before what writes y. */
static bool follows(const dtp_allocation_t *x, const dtp_allocation_t *y) {
    for (int u = 0; u < g.l.nsteps; ++u)
        for (int w = 0; engine.node_of[u] >= 0 && touches(u, x->buf, false) && w < g.l.nsteps; ++w) {
            int before = engine.node_of[u], n = engine.node_of[w];
            if (n < 0 || !touches(w, y->buf, true)) continue;
            if (!(engine.ended[n][before / 64] >> (before % 64) & 1)) return false;
        }
    return true;
}

/* What the plan puts in one place, the engine never has in use at the same time. */
static void test_scheduler(void **state) {
    (void)state;
    long pairs = 0;
    with_parts = true;
    for (uint64_t s = 1; s <= 200; ++s) {
        make(s, 6 + (int)(s % 20), (int)(s % 4), s % 3 ? 4 : 1000);
        size_t total = 0;
        OK(dtp_place_allocations(&g.arena, &g.order, g.allocation, g.nallocations, &total));
        for (int i = 0; i < g.nifs; ++i) g.steps[g.ifs[i]]->arg[0].offset = g.ifs[i];
        dtp_arena_init(&g.e.arena, dtp_process_allocator());
        g.e.obj.allocator = dtp_process_allocator();
        g.e.num_threads = 2;
        OK(dtp_schedule_build(&g.e, &g.l, &g.orderings, DTP_SCHEDULE_ALL));
        for (unsigned choice = 0; choice < 1u << g.nifs; ++choice) {
            execute(choice);
            memset(runs, 0, sizeof runs);
            mark_block(0, g.l.nsteps, choice);
            for (int i = 0; i < g.l.nsteps; ++i)
                if (!g.steps[i]->ctl || g.steps[i]->ctl == DTP_CTL_IF)
                    assert_int_equal(engine.node_of[i] >= 0, runs[i]);
            for (int a = 0; a < g.nallocations; ++a)
                for (int b = 0; b < a; ++b) {
                    const dtp_allocation_t *x = &g.allocation[a], *y = &g.allocation[b];
                    if (x->at >= y->at + y->bytes || y->at >= x->at + x->bytes) continue;
                    ++pairs;
                    if (!follows(x, y) && !follows(y, x))
                        fail_msg("seed %d, choice %u: buffers %d and %d share memory", (int)s, choice, x->buf,
                                 y->buf);
                }
        }
        dtp_arena_free(&g.e.arena);
        dtp_arena_free(&g.arena);
    }
    print_message("%ld pairs share memory\n", pairs);
    assert_true(pairs > 1000);
}

/* ---- Large programs ---------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const dtp_allocation_t *x = a, *y = b;
    return x->at != y->at ? x->at < y->at ? -1 : 1 : x->buf - y->buf;
}

/* Without Ifs: full rows computed by the test itself; allocations in one place must be ordered in them. */
static void check_large(int size, int back, double most) {
    with_parts = false;
    make((uint64_t)size, size, 0, back);
    int n = g.l.nsteps, words = n / 64 + 1, *writer = calloc((size_t)n, sizeof *writer);
    uint64_t *row = calloc((size_t)n * (size_t)words, sizeof *row);
    assert_true(writer && row);
    for (int i = 0; i < n; ++i) {
        const dtp_step_t *s = g.steps[i];
        for (int k = 0; k < s->nargs + s->norder; ++k) {
            int buf = k < s->nargs ? s->arg[k].buf : s->order[k - s->nargs], w = writer[buf];
            if (k < s->nargs && s->arg[k].written) continue;
            for (int x = 0; x <= w / 64; ++x)
                row[(size_t)i * (size_t)words + (size_t)x] |= row[(size_t)w * (size_t)words + (size_t)x];
            row[(size_t)i * (size_t)words + (size_t)(w / 64)] |= (uint64_t)1 << (w % 64);
        }
        writer[s->arg[s->nargs - 1].buf] = i;
    }
    size_t total = 0, sum = 0;
    OK(dtp_place_allocations(&g.arena, &g.order, g.allocation, g.nallocations, &total));
    /* Every user of x against the writer of every later allocation in its place. */
    int *user = calloc((size_t)n * MAX_ARGS, sizeof *user),
        *next = calloc((size_t)n * MAX_ARGS, sizeof *next);
    int *first = calloc((size_t)n, sizeof *first), nusers = 0;
    assert_true(user && next && first);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < g.steps[i]->nargs; ++k) {
            int buf = g.steps[i]->arg[k].buf;
            user[nusers] = i;
            next[nusers] = first[buf];
            first[buf] = ++nusers;
        }
    qsort(g.allocation, (size_t)g.nallocations, sizeof *g.allocation, by_place);
    for (int i = 0; i < g.nallocations; ++i) {
        sum += g.allocation[i].bytes;
        for (int j = i + 1;
             j < g.nallocations && g.allocation[j].at < g.allocation[i].at + g.allocation[i].bytes; ++j) {
            const dtp_allocation_t *x = &g.allocation[i], *y = &g.allocation[j];
            if (y->first < x->first) x = y, y = &g.allocation[i];
            const uint64_t *before = row + (size_t)y->first * (size_t)words;
            for (int k = first[x->buf]; k; k = next[k - 1])
                if (!(before[user[k - 1] / 64] >> (user[k - 1] % 64) & 1))
                    fail_msg("%d steps: buffer %d takes the place of %d before step %d", n, y->buf, x->buf,
                             user[k - 1]);
        }
    }
    assert_true((double)total <= most * (double)sum);
    free(user);
    free(next);
    free(first);
    free(writer);
    free(row);
    dtp_arena_free(&g.arena);
}

static void test_large(void **state) {
    (void)state;
    check_large(1500, 4, 0.9);  /* exact, few allocations */
    check_large(4000, 4, 0.9);  /* exact, many allocations */
    check_large(12000, 4, 0.9); /* short rows */
    check_large(12000, 1000, 1.);
}

/* ---- Real graphs ------------------------------------------------------------------------------------- */

enum { SIDE = 128 };

typedef dnnl_tp_value_t (*graph_fn_t)(dnnl_tp_graph_t graph, dnnl_tp_value_t x);

static dnnl_tp_value_t op(dnnl_tp_graph_t graph, dnnl_tp_op_kind_t kind, dnnl_tp_value_t a,
                          dnnl_tp_value_t b) {
    dnnl_tp_value_t in[2] = {a, b}, out;
    OK(dnnl_tp_graph_op(graph, kind, "op", b < 0 ? 1 : 2, in, 0, NULL, 1, &out));
    return out;
}

/* A chain, joined in one sum at its end by others. */
static dnnl_tp_value_t chain(dnnl_tp_graph_t graph, dnnl_tp_value_t x, int n) {
    for (int i = 0; i < n; ++i) x = op(graph, dnnl_tp_op_softmax, op(graph, dnnl_tp_op_matmul, x, x), -1);
    return x;
}

static dnnl_tp_value_t inception(dnnl_tp_graph_t graph, dnnl_tp_value_t x) {
    for (int block = 0; block < 8; ++block) {
        dnnl_tp_value_t sum = -1;
        for (int branch = 1; branch <= 4; ++branch) {
            dnnl_tp_value_t y = chain(graph, x, branch);
            sum = sum < 0 ? y : op(graph, dnnl_tp_op_add, sum, y);
        }
        x = sum;
    }
    return x;
}

static dnnl_tp_value_t fan(dnnl_tp_graph_t graph, dnnl_tp_value_t x) {
    dnnl_tp_value_t sum = -1;
    for (int i = 0; i < 16; ++i) {
        dnnl_tp_value_t y = chain(graph, x, 8);
        sum = sum < 0 ? y : op(graph, dnnl_tp_op_add, sum, y);
    }
    return sum;
}

/* Bytes that values take of a run's memory, when compiled for so many threads; computes the same as others. */
static size_t buffers_of(graph_fn_t build, int threads, float *result) {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_threadpool_t pool = NULL;
    dnnl_tp_stream_t stream;
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t e;
    dnnl_tp_value_t x;
    dnnl_tp_dims_t dims = {SIDE, SIDE};
    static float in[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; ++i) in[i] = (float)(i * 37 % 101) / 101.f;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    if (DNNL_TP_WITH_THREADPOOL && threads > 1) {
        dnnl_tp_threadpool_opts_t o = {.struct_size = sizeof o, .num_threads = threads};
        OK(dnnl_tp_threadpool_create(&pool, &o));
        OK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    OK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_in_order, attr));
    OK(dnnl_tp_graph_create(&graph, dnnl_tp_cpu));
    OK(dnnl_tp_graph_input(graph, &x, "x", dnnl_tp_f32, 2, dims));
    OK(dnnl_tp_graph_output(graph, build(graph, x), "y"));
    dnnl_tp_compile_opts_t o = {
        .struct_size = sizeof o, .stream_attr = attr, .flags = threads > 1 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0};
    OK(dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, &o));
    void *pin[1] = {in}, *pout[1] = {result};
    for (int i = 0; i < 5; ++i) OK(dnnl_tp_executable_run(e, stream, 1, pin, 1, pout, NULL));
    if (threads > 1) assert_non_null(e->dataflow);
    size_t bytes = e->scratch_at;
    OK(dnnl_tp_executable_destroy(e));
    OK(dnnl_tp_graph_destroy(graph));
    OK(dnnl_tp_stream_destroy(stream));
    OK(dnnl_tp_stream_attr_destroy(attr));
    if (pool) OK(dnnl_tp_threadpool_destroy(pool));
    OK(dnnl_tp_engine_destroy(engine));
    return bytes;
}

static void check_graph(const char *name, graph_fn_t build, int values, double most) {
    static float alone[SIDE * SIDE], beside[SIDE * SIDE];
    size_t one = buffers_of(build, 1, alone), all = (size_t)values * sizeof alone;
    size_t many = buffers_of(build, 4, beside);
    print_message("%s: %d values of %zu bytes take %zu, one after another %zu\n", name, values, sizeof alone,
                  many, one);
    assert_memory_equal(alone, beside, sizeof alone);
    assert_true(one <= many && (double)many <= most * (double)all);
}

static void test_graphs(void **state) {
    (void)state;
    check_graph("inception", inception, 8 * (2 * 10 + 3), 0.1);
    check_graph("fan", fan, 16 * 16 + 15, 0.2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_brute_force), cmocka_unit_test(test_scheduler),
                                       cmocka_unit_test(test_large), cmocka_unit_test(test_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
