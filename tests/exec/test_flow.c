/* The flow engine on one thread: random structured programs against a sequential interpreter, refusals. */
#include "support/check.h"
#include "support/flow_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void run_programs(flow_program_opts_t o, int first, int count, int runs) {
    int64_t total = 0, ifs = 0, iterations = 0, calls = 0;
    for (int seed = first; seed < first + count; ++seed) {
        o.seed = (unsigned)seed;
        o.budget = 20 + seed % 180;
        flow_program_t *p = flow_program_create(&o);
        int64_t a, b, c;
        flow_program_counts(p, &a, &b, &c);
        ifs += a, iterations += b, calls += c;
        for (int i = 0; i < runs; ++i) {
            const char *wrong = flow_program_run(p, NULL);
            if (wrong) fail_msg("seed %d, run %d: %s", seed, i, wrong);
            total += flow_program_ops(p);
        }
        int64_t nth = 1 + seed % (int)(flow_program_ops(p) + 1);
        for (int cancel = 0; cancel < 2; ++cancel) {
            const char *wrong = flow_program_run_failing(p, NULL, nth, cancel);
            if (!wrong) wrong = flow_program_run(p, NULL);
            if (wrong) fail_msg("seed %d, failing at %d: %s", seed, (int)nth, wrong);
        }
        flow_program_destroy(p);
    }
    print_message("%lld operators, %lld Ifs, %lld iterations, %lld calls\n", (long long)total, (long long)ifs,
                  (long long)iterations, (long long)calls);
    assert_true(ifs > count && iterations > count);
}

static void test_random(void **state) {
    (void)state;
    run_programs((flow_program_opts_t){.depth = 3}, 0, 600, 2);
}
static void test_windows(void **state) {
    (void)state;
    for (int window = 1; window <= 4; window *= 2)
        run_programs((flow_program_opts_t){.depth = 4, .window = window, .costly = 10}, 1000, 200, 2);
}
static void test_calls(void **state) {
    (void)state;
    run_programs((flow_program_opts_t){.depth = 3, .calls = true}, 2000, 200, 2);
}
static void test_effects(void **state) {
    (void)state;
    run_programs((flow_program_opts_t){.depth = 3, .effects = true}, 3000, 300, 2);
}

static void test_clusters(void **state) {
    (void)state;
    run_programs((flow_program_opts_t){.depth = 3, .flags = DTP_FLOW_CLUSTERS}, 4000, 400, 2);
    run_programs(
        (flow_program_opts_t){.depth = 3, .calls = true, .flags = DTP_FLOW_CLUSTERS, .ns = 10, .costly = 5},
        5000, 200, 2);
    run_programs((flow_program_opts_t){.depth = 3, .effects = true, .flags = DTP_FLOW_CLUSTERS}, 6000, 200,
                 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),  cmocka_unit_test(test_windows),  cmocka_unit_test(test_calls),
        cmocka_unit_test(test_effects), cmocka_unit_test(test_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
