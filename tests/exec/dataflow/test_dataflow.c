/* The dataflow engine on one thread: random structured programs against a sequential interpreter, refusals. */
#include "support/check.h"
#include "support/dataflow_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "threading/base/futex.h"

static void run_programs(dataflow_program_opts_t o, int first, int count, int runs) {
    int64_t total = 0, ifs = 0, iterations = 0, calls = 0;
    for (int seed = first; seed < first + count; ++seed) {
        o.seed = (unsigned)seed;
        o.budget = 20 + seed % 180;
        dataflow_program_t *p = dataflow_program_create(&o);
        int64_t a, b, c;
        dataflow_program_counts(p, &a, &b, &c);
        ifs += a, iterations += b, calls += c;
        for (int i = 0; i < runs; ++i) {
            const char *wrong = dataflow_program_run(p, NULL);
            if (wrong) fail_msg("seed %d, run %d: %s", seed, i, wrong);
            total += dataflow_program_ops(p);
        }
        int64_t nth = 1 + seed % (int)(dataflow_program_ops(p) + 1);
        for (int cancel = 0; cancel < 2; ++cancel) {
            const char *wrong = dataflow_program_run_failing(p, NULL, nth, cancel);
            if (!wrong) wrong = dataflow_program_run(p, NULL);
            if (wrong) fail_msg("seed %d, failing at %d: %s", seed, (int)nth, wrong);
        }
        dataflow_program_destroy(p);
    }
    print_message("%lld operators, %lld Ifs, %lld iterations, %lld calls\n", (long long)total, (long long)ifs,
                  (long long)iterations, (long long)calls);
    assert_true(ifs > count && iterations > count);
}

/* A plan and what one thread needs to run it. */
typedef struct {
    dtp_arena_t arena;
    const dtp_dataflow_plan_t *plan;
    void *memory;
    dtp_dataflow_state_t *state;
} built_t;

/* The builder ends. */
static void build_for_one(built_t *p, dtp_dataflow_builder_t *b, char *data) {
    dtp_arena_init(&p->arena, NULL);
    assert_int_equal(dtp_dataflow_build(b, 0, &p->arena, &p->plan), dnnl_tp_success);
    dtp_dataflow_builder_destroy(b);
    p->memory = dtp_alloc(NULL, dtp_dataflow_state_bytes(p->plan, 1), DTP_NO_SHARE);
    assert_non_null(p->memory);
    p->state = dtp_dataflow_state_init(p->plan, 1, p->memory, data);
}

static void built_free(built_t *p) {
    dtp_free(NULL, p->memory);
    dtp_arena_free(&p->arena);
}

static void test_random(void **state) {
    (void)state;
    run_programs((dataflow_program_opts_t){.depth = 3}, 0, 600, 2);
}
static void test_windows(void **state) {
    (void)state;
    for (int window = 1; window <= 4; window *= 2)
        run_programs((dataflow_program_opts_t){.depth = 4, .window = window, .costly = 10}, 1000, 200, 2);
}
static void test_calls(void **state) {
    (void)state;
    run_programs((dataflow_program_opts_t){.depth = 3, .calls = true}, 2000, 200, 2);
    run_programs((dataflow_program_opts_t){.depth = 3, .calls = true, .ns = 10, .costly = 5}, 5000, 200, 2);
}
static void test_effects(void **state) {
    (void)state;
    run_programs((dataflow_program_opts_t){.depth = 3, .effects = true}, 3000, 300, 2);
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

typedef struct {
    int left; /* allocations until one fails; < 0: none does */
    int held;
} failing_t;
static void *failing_alloc(void *ctx, size_t size, size_t alignment) {
    failing_t *f = ctx;
    if (f->left == 0) return NULL;
    if (f->left > 0) --f->left;
    void *p = NULL;
    if (posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size)) return NULL;
    ++f->held;
    return p;
}
static void failing_free(void *ctx, void *p) {
    --((failing_t *)ctx)->held;
    free(p);
}

/* Something of everything, large enough for several blocks of the arenas. */
static void build_everything(dtp_dataflow_builder_t *b) {
    dtp_dataflow_ref_t ref = {0};
    dtp_dataflow_token_t x = dtp_dataflow_node(b, 0, 0, DTP_DATAFLOW_SIDE_EFFECT, 0), last = x;
    for (int i = 0; i < 40; ++i) {
        dtp_dataflow_if_t f = dtp_dataflow_if(b, 0, &ref);
        dtp_dataflow_after(b, f.token, last);
        dtp_dataflow_token_t y = dtp_dataflow_node(b, f.branch[0], 1, 0, 0),
                             z = dtp_dataflow_node(b, f.branch[1], 2, 0, 0);
        dtp_dataflow_after(b, y, x);
        dtp_dataflow_after(b, z, x);
        last = dtp_dataflow_if_out(b, f.token, y, z);
        dtp_dataflow_loop_t l = {.nvars = 2, .window = 2};
        dtp_dataflow_while_t w = dtp_dataflow_while(b, 0, &l);
        dtp_dataflow_after(b, w.token, last);
        dtp_dataflow_token_t t = dtp_dataflow_node(b, w.cond, 3, DTP_DATAFLOW_SIDE_EFFECT, 0);
        dtp_dataflow_after(b, w.test, t);
        y = dtp_dataflow_node(b, w.body, 4, DTP_DATAFLOW_SIDE_EFFECT, 0);
        dtp_dataflow_after(b, y, w.first_var);
        dtp_dataflow_next(b, w.token, 0, y);
        dtp_dataflow_after(b, dtp_dataflow_node(b, 0, 5, 0, 0), w.token);
    }
    dtp_dataflow_block_t fn = dtp_dataflow_function(b);
    (void)dtp_dataflow_node(b, fn, 6, 0, 0);
    dtp_dataflow_after(b, dtp_dataflow_call(b, 0, fn, 7), last);
}

static void test_out_of_memory(void **state) {
    (void)state;
    failing_t f = {0};
    dnnl_tp_allocator_t a = {
        .struct_size = sizeof a, .ctx = &f, .alloc = failing_alloc, .free = failing_free};
    int failed = 0;
    for (bool built = false; !built; ++failed) {
        f.left = failed;
        dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(&a);
        dtp_arena_t arena;
        const dtp_dataflow_plan_t *plan = NULL;
        dtp_arena_init(&arena, &a);
        if (b) {
            build_everything(b);
            dnnl_tp_status_t status = dtp_dataflow_build(b, DTP_DATAFLOW_ORDERED, &arena, &plan);
            assert_true(status == dnnl_tp_success || status == dnnl_tp_out_of_memory);
            built = status == dnnl_tp_success;
            assert_true(built == (plan != NULL));
        }
        dtp_dataflow_builder_destroy(b);
        dtp_arena_free(&arena);
        assert_int_equal(f.held, 0);
    }
    print_message("%d allocations failed in turn\n", failed - 1);
    assert_true(failed > 10);
}

/* ---- Endings ----------------------------------------------------------------------------------------- */

static _Atomic uint32_t cancel;
static _Atomic int rounds;
static dnnl_tp_status_t endless(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                const dtp_dataflow_where_t *where) {
    (void)ctx, (void)where;
    instance->up->data[0] = 1;
    if (index == 1 && ++rounds == 1000) cancel = 1;
    if (index == 3 && ++rounds == 1000) return dnnl_tp_runtime_error;
    return dnnl_tp_success;
}

/* A loop without end is ended by its cancel flag, its deadline, and an error; the state can be used again. */
static void test_endings(void **state) {
    (void)state;
    char data[64] = {0};
    for (int window = 1; window <= 3; ++window) {
        for (uint32_t index = 1; index <= 3; ++index) {
            dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
            dtp_dataflow_loop_t l = {
                .nvars = 1, .window = window, .exit_index = DTP_DATAFLOW_NO_INDEX, .test = {.level = 1}};
            dtp_dataflow_while_t w = dtp_dataflow_while(b, 0, &l);
            dtp_dataflow_token_t t = dtp_dataflow_node(b, w.cond, index, 0, 0),
                                 y = dtp_dataflow_node(b, w.body, 0, 0, 0);
            dtp_dataflow_after(b, w.test, t);
            dtp_dataflow_next(b, w.token, 0, y);
            built_t p;
            build_for_one(&p, b, data);
            dtp_parallel_t alone = {.num_threads = 1};
            for (int again = 0; again < 2; ++again) {
                dtp_dataflow_result_t result;
                cancel = 0;
                rounds = 0;
                dtp_dataflow_args_t args = {.exec = endless, .par = &alone, .cancel = &cancel};
                const clock_t began = clock();
                if (index == 2) args.deadline_ns = dtp_now_ns() + 3000000;
                dnnl_tp_status_t status = dtp_dataflow_run(p.plan, p.state, &args, &result);
                static const dnnl_tp_status_t want[] = {dnnl_tp_cancelled, dnnl_tp_deadline_exceeded,
                                                        dnnl_tp_runtime_error};
                static const int why[] = {DTP_DATAFLOW_CANCELLED, DTP_DATAFLOW_DEADLINE,
                                          DTP_DATAFLOW_FAILED_NODE};
                assert_int_equal(status, want[index - 1]);
                assert_int_equal(result.why, why[index - 1]);
                if (index == 3) assert_int_equal(result.index, 3);
                if (index == 2) assert_true(clock() - began < CLOCKS_PER_SEC);
            }
            built_free(&p);
        }
    }
}

static dnnl_tp_status_t note_whole(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                                   const dtp_dataflow_where_t *where) {
    (void)instance;
    ((bool *)ctx)[index] = where->whole;
    return dnnl_tp_success;
}

/* A node that splits has the pool while nothing else is ready. */
static void test_splits(void **state) {
    (void)state;
    char data[64] = {0};
    bool whole[4] = {0};
    dtp_dataflow_builder_t *b = dtp_dataflow_builder_create(NULL);
    dtp_dataflow_token_t t[4];
    for (uint32_t i = 0; i < 4; ++i) t[i] = dtp_dataflow_node(b, 0, i, DTP_DATAFLOW_SPLITS, 20000);
    for (int i = 1; i < 3; ++i) { /* first, two beside each other, last */
        dtp_dataflow_after(b, t[i], t[0]);
        dtp_dataflow_after(b, t[3], t[i]);
    }
    built_t p;
    build_for_one(&p, b, data);
    const dtp_parallel_t alone = {.num_threads = 1};
    const dtp_dataflow_args_t args = {.ctx = whole, .exec = note_whole, .par = &alone};
    assert_int_equal(dtp_dataflow_run(p.plan, p.state, &args, NULL), dnnl_tp_success);
    assert_true(whole[0] && whole[3]);
    assert_true(whole[1] != whole[2]);
    built_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),  cmocka_unit_test(test_windows),       cmocka_unit_test(test_calls),
        cmocka_unit_test(test_effects), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_endings),
        cmocka_unit_test(test_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
