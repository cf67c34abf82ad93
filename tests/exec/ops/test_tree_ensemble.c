/* tree_ensemble: random trees against a walk in this file, with tables that are constants and that are not, on every number of
 * rows around the blocks, one and three threads; indices that are out of range; refusals. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/graph_on.h"

#include "common/problems/graph/tree_ensemble.h"

enum {
    MOST_NODES = 4096,
    MOST_TREES = 40,
    MOST_ENTRIES = 3 * MOST_NODES,
    MOST_X = 300 * 7,
    MANY_ROWS = 7000
};

/* A forest in the tables of the operator. */
typedef struct {
    int n, ntrees, nentries, ntargets;
    int32_t nodes[MOST_NODES][2], roots[MOST_TREES][2], leaves[MOST_NODES + 1], targets[MOST_ENTRIES];
    double splits[MOST_NODES], weights[MOST_ENTRIES];
} forest_t;
static forest_t f;
static union {
    float f32[MOST_ENTRIES];
    double f64[MOST_ENTRIES];
} x, splits, weights, got, again;
static double want[MANY_ROWS];

/* Grows the node at a place and, behind all that there are, its branches; entries come later, by place. */
static int grow(test_rng_t *r, int at, int depth, int features) {
    if (!depth || f.n + 2 >= MOST_NODES || test_rand(r) % 7 == 0) {
        f.nodes[at][0] = 0;
        f.nodes[at][1] = at - 1;
        f.splits[at] = (double)NAN;
        return 0;
    }
    const int pair = f.n;
    f.n += 2;
    f.nodes[at][0] = (int32_t)(test_rand(r) % (unsigned)features);
    if (test_rand(r) % 3 == 0) f.nodes[at][0] |= INT32_MIN;
    f.nodes[at][1] = pair;
    f.splits[at] = (double)(test_rand(r) % 9) - 4;
    const int a = grow(r, pair, depth - 1, features), b = grow(r, pair + 1, depth - 1, features);
    return 1 + (a > b ? a : b);
}

static void make_forest(test_rng_t *r, int ntrees, int depth, int features, int ntargets) {
    memset(&f, 0, sizeof f);
    f.n = 1; /* no leaf is at 0 */
    f.splits[0] = (double)NAN;
    f.ntrees = ntrees;
    f.ntargets = ntargets;
    for (int t = 0; t < ntrees; ++t) {
        const int root = f.n++;
        f.roots[t][0] = root;
        f.roots[t][1] = grow(r, root, depth, features);
    }
    for (int i = 0; i <= f.n; ++i) {
        f.leaves[i] = f.nentries;
        if (i == f.n || f.nodes[i][1] != i - 1) continue;
        const int entries = ntargets == 1 ? 1 : (int)(test_rand(r) % 3);
        for (int e = 0; e < entries; ++e) {
            f.targets[f.nentries] = (int32_t)(test_rand(r) % (unsigned)ntargets);
            f.weights[f.nentries++] = (double)(test_rand(r) % 17) / 4 - 2; /* sums are exact */
        }
    }
}

static void evaluate(int rows, int features, const double *values, int aggregate) {
    for (int r = 0; r < rows; ++r) {
        bool seen[8] = {false};
        double *y = &want[r * f.ntargets];
        for (int k = 0; k < f.ntargets; ++k) y[k] = 0;
        for (int t = 0; t < f.ntrees; ++t) {
            int i = f.roots[t][0];
            while (!isnan(f.splits[i])) {
                const double v = values[r * features + (f.nodes[i][0] & INT32_MAX)];
                const bool first = isnan(v) ? f.nodes[i][0] < 0 : v <= f.splits[i];
                i = f.nodes[i][1] + !first;
            }
            for (int e = f.leaves[i]; e < f.leaves[i + 1]; ++e) {
                const int k = f.targets[e];
                const double w = f.weights[e];
                if (aggregate < DTP_TREES_MIN || !seen[k]) y[k] = (aggregate < DTP_TREES_MIN ? y[k] : 0) + w;
                else y[k] = aggregate == DTP_TREES_MIN ? fmin(y[k], w) : fmax(y[k], w);
                seen[k] = true;
            }
        }
        for (int k = 0; aggregate == DTP_TREES_AVERAGE && k < f.ntargets; ++k) y[k] /= f.ntrees;
    }
}

static const char *const words[] = {"sum", "average", "min", "max"};

/* In the type of the test. */
static void put(bool wide, void *to, int n, const double *from) {
    for (int i = 0; i < n; ++i) {
        if (wide) ((double *)to)[i] = from[i];
        else ((float *)to)[i] = (float)from[i];
    }
}

static void tensors(bool wide, int rows, int features, test_tensor_t *in) {
    const dnnl_tp_data_type_t type = wide ? dnnl_tp_f64 : dnnl_tp_f32;
    in[DTP_TREES_SRC] = (test_tensor_t){type, 2, {rows, features}, &x};
    in[DTP_TREES_NODES] = (test_tensor_t){dnnl_tp_s32, 2, {f.n, 2}, f.nodes};
    in[DTP_TREES_ROOTS] = (test_tensor_t){dnnl_tp_s32, 2, {f.ntrees, 2}, f.roots};
    in[DTP_TREES_LEAVES] = (test_tensor_t){dnnl_tp_s32, 1, {f.n + 1}, f.leaves};
    in[DTP_TREES_TARGETS] = (test_tensor_t){dnnl_tp_s32, 1, {f.nentries}, f.targets};
    in[DTP_TREES_SPLITS] = (test_tensor_t){type, 1, {f.n}, &splits};
    in[DTP_TREES_WEIGHTS] = (test_tensor_t){type, 1, {f.nentries}, &weights};
}

static void check(const place_t *at, bool wide, int rows, int features, int aggregate, bool constants) {
    static const unsigned tables = (1u << DTP_TREES_DST) - 2;
    const int64_t targets = f.ntargets;
    const dnnl_tp_op_attr_t attr[] = {
        {dnnl_tp_op_attr_targets, dnnl_tp_op_attr_s64, 1, &targets},
        {dnnl_tp_op_attr_aggregate, dnnl_tp_op_attr_string, (int)strlen(words[aggregate]), words[aggregate]}};
    test_tensor_t in[DTP_TREES_DST];
    tensors(wide, rows, features, in);
    if (!test_graph_on(at, dnnl_tp_op_tree_ensemble, 2, attr, DTP_TREES_DST, in, constants ? tables : 0, &got,
                       sizeof got))
        return;
    for (int i = 0; i < rows * f.ntargets; ++i) {
        const double y = wide ? got.f64[i] : (double)got.f32[i], w = wide ? want[i] : (double)(float)want[i];
        if (y != w && fabs(y - w) > 1e-6 * fabs(w))
            fail_msg("%s x%d, %s, %s, %d rows, %d trees, %d targets: element %d is %g, not %g", at->name,
                     at->threads, words[aggregate], constants ? "constants" : "fed", rows, f.ntrees,
                     f.ntargets, i, y, w);
    }
}

static void test_values(void **state) {
    (void)state;
    static const int all_rows[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 65, 128, 129, 257, 300};
    static double values[MOST_X];
    test_rng_t r = test_rng(7);
    int nplaces;
    const place_t *at = places(&nplaces);
    for (size_t i = 0; i < 4 * sizeof all_rows / sizeof *all_rows; ++i) {
        const int rows = all_rows[i / 4], features = 1 + (int)(test_rand(&r) % 7), aggregate = (int)i % 4,
                  ntargets = rows * 3 > MOST_X / 7 * 3 || test_rand(&r) % 2 ? 1 : 3;
        const bool wide = test_rand(&r) % 3 == 0;
        make_forest(&r, 1 + (int)(test_rand(&r) % MOST_TREES), (int)(test_rand(&r) % 7), features, ntargets);
        for (int k = 0; k < rows * features; ++k)
            values[k] = i % 3 && test_rand(&r) % 11 == 0 ? (double)NAN : (double)(test_rand(&r) % 11) - 5;
        put(wide, &x, rows * features, values);
        put(wide, &splits, f.n, f.splits);
        put(wide, &weights, f.nentries, f.weights);
        evaluate(rows, features, values, aggregate);
        for (int p = 0; p < nplaces; ++p)
            if (at[p].threads == 1 || at[p].threads == 3) {
                check(&at[p], wide, rows, features, aggregate, true);
                if (i % 5 == 0) check(&at[p], wide, rows, features, aggregate, false);
            }
    }
}

/* So many rows that a device takes them in parts. */
static void test_many_rows(void **state) {
    (void)state;
    static double values[MANY_ROWS];
    test_rng_t r = test_rng(9);
    int nplaces;
    const place_t *at = places(&nplaces);
    make_forest(&r, MOST_TREES, 2, 1, 1);
    for (int k = 0; k < MANY_ROWS; ++k) values[k] = (double)(test_rand(&r) % 11) - 5;
    put(false, &x, MANY_ROWS, values);
    put(false, &splits, f.n, f.splits);
    put(false, &weights, f.nentries, f.weights);
    evaluate(MANY_ROWS, 1, values, DTP_TREES_SUM);
    for (int p = 0; p < nplaces; ++p)
        if (at[p].threads == 1) check(&at[p], false, MANY_ROWS, 1, DTP_TREES_SUM, true);
}

/* Indices that are out of range are found by the run, and nothing outside of a table is read, whether they are constants or
 * not; tables that are in range but whose rows are on their way when their steps end give what their last node has. */
static void test_bad_tables(void **state) {
    (void)state;
    test_rng_t r = test_rng(3);
    enum { ROWS = 40, FEATURES = 3 };
    test_tensor_t in[DTP_TREES_DST];
    for (int way = 0; way < 9; ++way) {
        make_forest(&r, 3, 3, FEATURES, 1);
        put(false, &splits, f.n, f.splits);
        put(false, &weights, f.nentries, f.weights);
        tensors(false, ROWS, FEATURES, in);
        switch (way) {
        case 0: f.nodes[1][0] = FEATURES; break;
        case 1: f.nodes[1][1] = f.n - 1; break;
        case 2: f.nodes[1][1] = -2; break;
        case 3: f.roots[1][0] = f.n; break;
        case 4: f.roots[1][1] = -1; break;
        case 5: f.leaves[3] = f.nentries + 1; break;
        case 6: f.leaves[2] = f.leaves[3] + 1; break;
        case 7: f.targets[f.nentries - 1] = 1; break;
        default: f.targets[0] = -1; break;
        }
        const dnnl_tp_status_t status =
            test_one_op(dnnl_tp_op_tree_ensemble, 0, NULL, DTP_TREES_DST, in, &got, sizeof got, 1);
        if (status != dnnl_tp_runtime_error) fail_msg("way %d: status %d", way, (int)status);
    }
    /* A cycle ends after its steps: node 1 leads to itself and to node 2, an entry. */
    const int32_t nodes[] = {0, 0, 0, 1, 0, 1}, roots[] = {1, 5}, leaves[] = {0, 0, 1, 2}, targets[] = {0, 0};
    const float cycle_splits[] = {NAN, 0, NAN}, cycle_weights[] = {2, 3}, points[] = {-1, 1};
    const test_tensor_t cycle[] = {{dnnl_tp_f32, 2, {2, 1}, points},    {dnnl_tp_s32, 2, {3, 2}, nodes},
                                   {dnnl_tp_s32, 2, {1, 2}, roots},     {dnnl_tp_s32, 1, {4}, leaves},
                                   {dnnl_tp_s32, 1, {2}, targets},      {dnnl_tp_f32, 1, {3}, cycle_splits},
                                   {dnnl_tp_f32, 1, {2}, cycle_weights}};
    int nplaces;
    const place_t *at = places(&nplaces);
    for (unsigned constants = 0; constants < 2; ++constants) {
        if (!test_graph_on(&at[0], dnnl_tp_op_tree_ensemble, 0, NULL, DTP_TREES_DST, cycle,
                           constants ? (1u << DTP_TREES_DST) - 2 : 0, &again, sizeof again))
            continue;
        assert_true(again.f32[0] == 2 && again.f32[1] == 3);
    }
}

static void test_refusals(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v[DTP_TREES_DST], y;
    test_rng_t r = test_rng(5);
    test_tensor_t in[DTP_TREES_DST];
    make_forest(&r, 3, 3, 2, 1);
    for (int way = 0; way < 8; ++way) {
        static const dnnl_tp_status_t wanted[] = {dnnl_tp_invalid_shape,     dnnl_tp_invalid_data_type,
                                                  dnnl_tp_invalid_data_type, dnnl_tp_invalid_shape,
                                                  dnnl_tp_invalid_shape,     dnnl_tp_invalid_shape,
                                                  dnnl_tp_invalid_graph_op,  dnnl_tp_success};
        tensors(false, 4, 2, in);
        int64_t targets = 1;
        switch (way) {
        case 0: in[0].ndims = 1; break;
        case 1: in[DTP_TREES_SPLITS].type = dnnl_tp_f64; break;
        case 2: in[DTP_TREES_ROOTS].type = dnnl_tp_s64; break;
        case 3: in[DTP_TREES_NODES].dims[1] = 3; break;
        case 4: --in[DTP_TREES_LEAVES].dims[0]; break;
        case 5: ++in[DTP_TREES_WEIGHTS].dims[0]; break;
        case 6: targets = 0; break;
        default: break;
        }
        const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_targets, dnnl_tp_op_attr_s64, 1, &targets};
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        for (int i = 0; i < DTP_TREES_DST; ++i) {
            dnnl_tp_dims_t dims = {in[i].dims[0], in[i].dims[1]};
            CHECK_OK(dnnl_tp_graph_input(g, &v[i], NULL, in[i].type, in[i].ndims, dims));
        }
        const dnnl_tp_status_t status =
            dnnl_tp_graph_op(g, dnnl_tp_op_tree_ensemble, "t", DTP_TREES_DST, v, 1, &attr, 1, &y);
        if (status != wanted[way]) fail_msg("way %d: %d, %s", way, (int)status, dnnl_tp_last_error());
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_many_rows),
                                       cmocka_unit_test(test_bad_tables), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
