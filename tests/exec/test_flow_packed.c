/* Switch and Merge in packed regions: every order of arrivals at a Merge's word; random acyclic graphs
 * against a sequential interpreter, two live inputs included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "exec/flow.h"
#include "exec/flow_word.h"
#include "threading/pool.h"

/* ---- The word ---------------------------------------------------------------------------------------- */

enum { MAX_DATA = 4, MAX_CONTROL = 3 };

/* Arrivals 0..data-1 are inputs (number `live` is live, -1: none), the rest control. */
static int arrivals(int data, int control, int live, uint64_t word, unsigned come, bool was_ready) {
    int all = data + control, orders = 0;
    bool have_live = live >= 0 && (come >> live & 1), controls = come >> data == (1u << control) - 1;
    bool all_data = (come & ((1u << data) - 1)) == (1u << data) - 1;
    bool holds = controls && (have_live || (live < 0 && all_data));
    assert_int_equal(dtp_merge_holds(word, (uint32_t)data), holds);
    assert_int_equal(was_ready, holds); /* became ready exactly when the condition came true */
    if (holds && have_live) assert_int_equal(dtp_merge_input(word), live);
    assert_int_equal(dtp_merge_live(word), have_live);
    if (come == (1u << all) - 1) return 1;
    for (int i = 0; i < all; ++i) {
        if (come >> i & 1) continue;
        uint64_t delta = dtp_merge_delta(i < data ? (uint32_t)i + 1 : 0, i != live);
        bool ready = dtp_merge_ready(word, delta, (uint32_t)data);
        assert_false(ready && was_ready);
        orders += arrivals(data, control, live, word + delta, come | 1u << i, was_ready || ready);
    }
    return orders;
}

static void test_word(void **state) {
    (void)state;
    int orders = 0;
    for (int data = 1; data <= MAX_DATA; ++data)
        for (int control = 0; control <= MAX_CONTROL; ++control)
            for (int live = -1; live < data; ++live)
                orders += arrivals(data, control, live, (uint64_t)control, 0, false);
    print_message("%d orders of arrivals\n", orders);
    /* Two live inputs show in the word, however they come. */
    uint64_t w = 0;
    w += dtp_merge_delta(1, false);
    w += dtp_merge_delta(3, false);
    assert_int_equal(dtp_merge_live(w), 2);
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

enum { N = 120, MAX_IN = 4, GRAPHS = 1500, THREADS = 4 };
typedef enum { OP, SWITCH, MERGE } kind_t;
typedef struct {
    kind_t kind;
    bool never_dead;
    int ndata, data[MAX_IN], port[MAX_IN]; /* port: of a SWITCH, else 0 */
    int ncontrol, control[MAX_IN], control_port[MAX_IN];
    int pred; /* an OP before it */
} gnode_t;

typedef struct {
    gnode_t node[N];
    int n;
    /* Expected. */
    bool dead[N];
    int taken[N];
    uint64_t want[N];
    bool two_live;
    /* Got. */
    uint64_t got[N]; /* the slab's data: values */
    _Atomic int ran[N];
} gtest_t;

static uint64_t rng;
static int rnd(int n) {
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((rng >> 33) % (unsigned)n);
}
static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    return h ^ h >> 29;
}

static void generate(gtest_t *g, int seed) {
    rng = (uint64_t)seed * 2654435761u + 1;
    memset(g, 0, sizeof *g);
    g->n = 10 + seed % (N - 10);
    bool safe = seed % 3 != 0; /* Merges only of both ports of one Switch */
    int last_switch = -1;
    for (int i = 0; i < g->n; ++i) {
        gnode_t *x = &g->node[i];
        int r = rnd(10);
        x->kind = i < 3 || r < 6 ? OP : r < 8 ? SWITCH : MERGE;
        if (x->kind == MERGE && safe && last_switch < 0) x->kind = OP;
        int most = i < MAX_IN ? i : MAX_IN;
        x->ndata = x->kind == MERGE ? 1 + rnd(most) : most ? rnd(most) : 0;
        for (int k = 0; k < x->ndata; ++k) {
            x->data[k] = rnd(i);
            x->port[k] = rnd(2);
        }
        if (x->kind == MERGE && safe) {
            x->ndata = 2;
            x->data[0] = x->data[1] = last_switch;
            x->port[0] = 0;
            x->port[1] = 1;
        }
        if (x->kind == SWITCH) {
            x->pred = rnd(i);
            while (g->node[x->pred].kind != OP) --x->pred;
            last_switch = i;
        }
        x->never_dead = x->kind == OP && rnd(10) == 0;
        for (int k = rnd(4) ? 0 : rnd(most ? most : 1); k > 0; --k) {
            x->control[x->ncontrol] = rnd(i);
            x->control_port[x->ncontrol++] = rnd(2);
        }
    }
    for (int i = 0; i < g->n; ++i) {
        gnode_t *x = &g->node[i];
        int live = 0, last = -1;
        bool dead = false;
        uint64_t h = (uint64_t)i;
        for (int k = 0; k < x->ndata; ++k) {
            int from = x->data[k];
            bool d = g->dead[from] || (g->node[from].kind == SWITCH && g->taken[from] != x->port[k]);
            dead |= d;
            if (!d) ++live, last = k, h = mix(h + g->want[from]);
        }
        if (x->kind == MERGE) {
            g->two_live |= live > 1;
            g->dead[i] = live == 0;
            if (live) g->want[i] = mix((uint64_t)last + g->want[x->data[last]]);
            continue;
        }
        for (int k = 0; k < x->ncontrol; ++k) {
            int from = x->control[k];
            dead |= g->dead[from] || (g->node[from].kind == SWITCH && g->taken[from] != x->control_port[k]);
        }
        if (x->kind == SWITCH) {
            dead |= g->dead[x->pred];
            g->taken[i] = (uint8_t)(g->want[x->pred] & 1);
            g->want[i] = h;
        }
        g->dead[i] = dead && !x->never_dead;
        if (x->never_dead) h = (uint64_t)i; /* what it reads may not exist */
        if (x->kind == OP) g->want[i] = h;
    }
}

typedef struct {
    gtest_t *g;
    uint8_t flag[N]; /* predicates */
    uint64_t value[N];
} run_t;

/* A Switch executes nothing, so who reads it computes its value again. */
static uint64_t value_of(const run_t *r, int i) {
    const gnode_t *x = &r->g->node[i];
    if (x->kind != SWITCH) return r->value[i];
    uint64_t h = (uint64_t)i;
    for (int k = 0; k < x->ndata; ++k) h = mix(h + value_of(r, x->data[k]));
    return h;
}

static dnnl_tp_status_t exec(void *ctx, dtp_flow_slab_t *slab, uint32_t index,
                             const dtp_flow_where_t *where) {
    run_t *r = ctx;
    gtest_t *g = r->g;
    const gnode_t *x = &g->node[index];
    uint64_t h = index;
    (void)slab;
    atomic_fetch_add(&g->ran[index], 1);
    if (x->kind == MERGE) h = mix((uint64_t)where->input + value_of(r, x->data[where->input]));
    else if (!x->never_dead)
        for (int k = 0; k < x->ndata; ++k) h = mix(h + value_of(r, x->data[k]));
    r->value[index] = h;
    r->flag[index] = h & 1;
    return dnnl_tp_success;
}

static void run_body(void *arg, const dtp_parallel_t *par);
typedef struct {
    const dtp_flow_plan_t *plan;
    dtp_flow_state_t *state;
    dtp_flow_args_t args;
    dtp_flow_result_t result;
} job_t;
static void run_body(void *arg, const dtp_parallel_t *par) {
    job_t *j = arg;
    j->args.par = par;
    (void)!dtp_flow_run(j->plan, j->state, &j->args, &j->result);
}

static void check_graph(gtest_t *g, int seed, dtp_pool_t *pool) {
    run_t *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->g = g;
    dtp_flow_builder_t *b = dtp_flow_builder_create(NULL);
    dtp_flow_token_t token[N], port[N][2];
    for (int i = 0; i < g->n; ++i) {
        const gnode_t *x = &g->node[i];
        if (x->kind == SWITCH) {
            dtp_flow_ref_t ref = {.level = DTP_FLOW_BASES,
                                  .offset = (int64_t)offsetof(run_t, flag) + x->pred};
            token[i] = dtp_flow_switch(b, 0, &ref, port[i]);
            dtp_flow_after(b, token[i], token[x->pred]);
        } else {
            unsigned flags = x->never_dead ? DTP_FLOW_NEVER_DEAD : i % 7 == 0 ? DTP_FLOW_COSTLY : 0;
            token[i] = x->kind == MERGE ? dtp_flow_merge(b, 0, (uint32_t)i, 0, 4000)
                                        : dtp_flow_node(b, 0, (uint32_t)i, flags, 4000);
            port[i][0] = port[i][1] = token[i];
        }
        for (int k = 0; k < x->ndata; ++k) {
            if (x->kind == MERGE) dtp_flow_merge_in(b, token[i], port[x->data[k]][x->port[k]]);
            else dtp_flow_after(b, token[i], port[x->data[k]][x->port[k]]);
        }
        for (int k = 0; k < x->ncontrol; ++k)
            dtp_flow_after(b, token[i], port[x->control[k]][x->control_port[k]]);
    }
    dtp_arena_t arena;
    dtp_arena_init(&arena, NULL);
    job_t j = {.args = {.ctx = r, .exec = exec, .bases = r}};
    assert_int_equal(dtp_flow_build(b, seed % 2 ? DTP_FLOW_CLUSTERS : 0, &arena, &j.plan), dnnl_tp_success);
    dtp_flow_builder_destroy(b);
    void *memory = dtp_alloc(NULL, dtp_flow_state_bytes(j.plan, THREADS), DTP_NO_SHARE);
    assert_non_null(memory);
    j.state = dtp_flow_state_init(j.plan, THREADS, memory, (char *)r->value);
    for (int rep = 0; rep < 3; ++rep) {
        for (int i = 0; i < g->n; ++i) atomic_store(&g->ran[i], 0);
        if (pool) assert_int_equal(dtp_pool_run(pool, THREADS, true, run_body, &j), dnnl_tp_success);
        else run_body(&j, &(dtp_parallel_t){NULL, 1, NULL});
        if (g->two_live) {
            assert_int_equal(j.result.status, dnnl_tp_invalid_graph);
            assert_int_equal(j.result.why, DTP_FLOW_TWO_LIVE);
            assert_int_equal(g->node[j.result.index].kind, MERGE);
            continue;
        }
        if (j.result.status != dnnl_tp_success) fail_msg("seed %d: status %d", seed, j.result.status);
        for (int i = 0; i < g->n; ++i) {
            if (g->node[i].kind == SWITCH) continue;
            if (atomic_load(&g->ran[i]) != !g->dead[i])
                fail_msg("seed %d, node %d: ran %d times, dead %d", seed, i, atomic_load(&g->ran[i]),
                         g->dead[i]);
            if (!g->dead[i] && r->value[i] != g->want[i]) fail_msg("seed %d, node %d: wrong value", seed, i);
        }
    }
    dtp_free(NULL, memory);
    dtp_arena_free(&arena);
    free(r);
}

static void test_graphs(void **state) {
    (void)state;
    gtest_t *g = malloc(sizeof *g);
    int two = 0, dead = 0;
    for (int seed = 0; seed < GRAPHS; ++seed) {
        generate(g, seed);
        two += g->two_live;
        for (int i = 0; i < g->n; ++i) dead += g->dead[i];
        check_graph(g, seed, NULL);
    }
    print_message("%d graphs, %d with two live inputs, %d dead nodes\n", GRAPHS, two, dead);
    assert_true(two > 0 && two < GRAPHS / 2 && dead > GRAPHS);
    free(g);
}

static void test_graphs_on_threads(void **state) {
    (void)state;
    dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = THREADS};
    dnnl_tp_threadpool_t tp = NULL;
    dnnl_tp_stream_attr_t attr = NULL;
    dtp_pool_t *pool = NULL;
    if (dnnl_tp_threadpool_create(&tp, &opts) == dnnl_tp_unimplemented) skip(); /* runtime SEQ */
    assert_int_equal(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu), dnnl_tp_success);
    assert_int_equal(dnnl_tp_stream_attr_set_builtin_threadpool(attr, tp), dnnl_tp_success);
    assert_int_equal(dtp_pool_acquire(&pool, attr), dnnl_tp_success);
    dnnl_tp_stream_attr_destroy(attr);
    gtest_t *g = malloc(sizeof *g);
    for (int seed = 0; seed < GRAPHS; ++seed) {
        generate(g, seed);
        check_graph(g, seed, pool);
    }
    free(g);
    dtp_pool_release(pool);
    dnnl_tp_threadpool_destroy(tp);
}

static void test_refusals(void **state) {
    (void)state;
    dtp_arena_t arena;
    const dtp_flow_plan_t *plan;
    dtp_flow_ref_t ref = {0};
    dtp_flow_token_t out[2];
    dtp_arena_init(&arena, NULL);
    for (int what = 0; what < 6; ++what) {
        dtp_flow_builder_t *b = dtp_flow_builder_create(NULL);
        dtp_flow_token_t a = dtp_flow_node(b, 0, 1, 0, 0), c = dtp_flow_node(b, 0, 2, 0, 0);
        switch (what) {
        case 0: /* a cycle */
            dtp_flow_after(b, a, c);
            dtp_flow_after(b, c, a);
            break;
        case 1: /* an If beside a Switch */
            dtp_flow_switch(b, 0, &ref, out);
            (void)dtp_flow_if(b, 0, &ref);
            break;
        case 2: /* a Switch in a branch */
            dtp_flow_switch(b, dtp_flow_if(b, 0, &ref).branch[1], &ref, out);
            break;
        case 3: /* waits for what is made in a branch only */
            dtp_flow_after(b, a, dtp_flow_node(b, dtp_flow_if(b, 0, &ref).branch[0], 3, 0, 0));
            break;
        case 4: (void)dtp_flow_merge(b, 0, 4, 0, 0); break; /* no input */
        default: {
            dtp_flow_loop_t l = {.nvars = 1, .window = 1};
            dtp_flow_while_t w = dtp_flow_while(b, 0, &l);
            dtp_flow_next(b, w.token, 0, a); /* not of the body */
        }
        }
        assert_int_equal(dtp_flow_build(b, 0, &arena, &plan), dnnl_tp_invalid_arguments);
        assert_int_equal(dtp_last_reason(), DTP_BAD_FLOW);
        assert_null(plan);
        dtp_flow_builder_destroy(b);
    }
    dtp_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_graphs_on_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
