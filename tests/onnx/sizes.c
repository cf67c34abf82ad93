/* The algebra of open sizes: random expressions have the values that their operations give at random points, equal
 * numbers mean equal values, and what is proven of two of them holds everywhere. */
#include <string.h>

#include "onnx/sizes.h"
#include "support/check.h"

enum { SYMBOLS = 4, NODES = 40, TABLES = 400, POINTS = 25 };

/* How a node was made: of two before it. */
typedef struct {
    char op;
    int a, b;
    int64_t number;
    dtp_size_t size;
} made_t;

static int64_t floor_of(int64_t a, int64_t b) { return (a - ((a % b + b) % b)) / b; }

/* False: it overflows a range in which nothing here does. */
static bool evaluate(const made_t *nodes, int n, const int64_t *symbols, int64_t *values) {
    for (int i = 0; i < n; ++i) {
        const made_t *x = &nodes[i];
        const int64_t a = x->a >= 0 ? values[x->a] : 0, b = x->b >= 0 ? values[x->b] : 0;
        switch (x->op) {
        case 's': values[i] = symbols[x->number]; break;
        case 'n': values[i] = x->number; break;
        case '+': values[i] = a + b; break;
        case '-': values[i] = a - b; break;
        case '*': values[i] = a * b; break;
        case '/': values[i] = floor_of(a, b); break;
        case '<': values[i] = a < b ? a : b; break;
        default: values[i] = a > b ? a : b; break;
        }
        if (values[i] > (int64_t)1 << 40 || values[i] < -((int64_t)1 << 40)) return false;
    }
    return true;
}

static dtp_size_t make(dtp_sizes_t *s, const made_t *nodes, const made_t *x) {
    const dtp_size_t a = nodes[x->a].size, b = nodes[x->b].size;
    switch (x->op) {
    case '+': return dtp_size_add(s, a, b);
    case '-': return dtp_size_subtract(s, a, b);
    case '*': return dtp_size_multiply(s, a, b);
    case '/': return dtp_size_divide(s, a, b);
    case '<': return dtp_size_bound(s, DTP_SIZE_LEAST, a, b);
    default: return dtp_size_bound(s, DTP_SIZE_MOST, a, b);
    }
}

static int grow(dtp_sizes_t *s, test_rng_t *seed, made_t *nodes, const int64_t *hints) {
    static const char ops[] = "+-*/<>+*/";
    int n = 0;
    for (int i = 0; i < SYMBOLS; ++i, ++n)
        nodes[n] = (made_t){'s', -1, -1, i, dtp_size_symbol(s, i / 2, i % 2, hints[i], "x")};
    for (int64_t v = -2; v < 4; ++v, ++n) nodes[n] = (made_t){'n', -1, -1, v, dtp_size_number(s, v)};
    for (int tries = 0; n < NODES && tries < 20 * NODES; ++tries) {
        made_t x = {ops[test_rand(seed) % (sizeof ops - 1)], (int)(test_rand(seed) % (uint64_t)n),
                    (int)(test_rand(seed) % (uint64_t)n), 0, 0};
        x.size = make(s, nodes, &x);
        if (x.size >= 0) nodes[n++] = x;
    }
    return n;
}

static void test_values(void **state) {
    (void)state;
    test_rng_t seed = test_rng(1);
    int64_t points = 0, equal = 0, proven = 0;
    for (int table = 0; table < TABLES; ++table) {
        dtp_sizes_t s;
        made_t nodes[NODES];
        int64_t hints[SYMBOLS], values[NODES];
        dtp_sizes_init(&s);
        for (int i = 0; i < SYMBOLS; ++i) hints[i] = 2 + (int64_t)(test_rand(&seed) % 9);
        const int n = grow(&s, &seed, nodes, hints);
        const int guards = s.nguards;
        /* What holds without a new guard is proven. */
        signed char at_most[NODES][NODES];
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k) {
                const int is = dtp_size_is(&s, nodes[i].size, DTP_SIZE_AT_MOST, nodes[k].size, "x");
                at_most[i][k] = (signed char)(s.nguards == guards ? is : -1);
                s.nguards = guards;
            }
        for (int point = 0; point < POINTS; ++point) {
            dnnl_tp_tensor_info_t info[SYMBOLS / 2] = {{.ndims = 2}, {.ndims = 2}};
            const dnnl_tp_tensor_info_t *shapes[] = {&info[0], &info[1]};
            int64_t symbols[SYMBOLS], atoms[NODES * NODES];
            for (int i = 0; i < SYMBOLS; ++i)
                info[i / 2].dims[i % 2] = symbols[i] =
                    point ? 2 + (int64_t)(test_rand(&seed) % 40) : hints[i];
            assert_true(s.natoms <= NODES * NODES);
            if (!evaluate(nodes, n, symbols, values) || !dtp_sizes_bind(&s, shapes, atoms)) continue;
            assert_int_equal(dtp_sizes_check(&s, atoms), -1);
            ++points;
            for (int i = 0; i < n; ++i) {
                int64_t got;
                assert_true(dtp_size_value(&s, nodes[i].size, atoms, &got));
                assert_int_equal(got, values[i]);
                assert_true(s.sums[nodes[i].size].least <= got);
                if (!point) assert_int_equal(got, dtp_size_hint(&s, nodes[i].size));
                for (int k = 0; k < n; ++k) {
                    if (nodes[i].size == nodes[k].size) {
                        equal += i != k;
                        assert_int_equal(values[i], values[k]);
                    }
                    if (at_most[i][k] >= 0) {
                        ++proven;
                        assert_int_equal(at_most[i][k], values[i] <= values[k]);
                    }
                }
            }
        }
        dtp_sizes_free(&s);
    }
    print_message("%lld points, %lld equal pairs, %lld proven\n", (long long)points, (long long)equal,
                  (long long)proven);
    assert_true(points > TABLES && equal > points && proven > points);
}

/* Forms that have to be recognised as equal, and what must not be divided. */
static void test_forms(void **state) {
    (void)state;
    dtp_sizes_t s;
    dtp_sizes_init(&s);
    const dtp_size_t b = dtp_size_symbol(&s, 0, 0, 3, "x"), t = dtp_size_symbol(&s, 0, 1, 5, "x"),
                     n8 = dtp_size_number(&s, 8), n2 = dtp_size_number(&s, 2), one = dtp_size_number(&s, 1),
                     bt8 = dtp_size_multiply(&s, dtp_size_multiply(&s, b, t), n8);
    assert_int_equal(dtp_size_exact(&s, bt8, n8), dtp_size_multiply(&s, t, b));
    assert_int_equal(dtp_size_exact(&s, bt8, dtp_size_multiply(&s, n2, b)),
                     dtp_size_multiply(&s, dtp_size_number(&s, 4), t));
    assert_int_equal(dtp_size_exact(&s, t, b), DTP_NO_SIZE);
    assert_int_equal(dtp_size_exact(&s, bt8, dtp_size_subtract(&s, t, one)), DTP_NO_SIZE);
    const dtp_size_t half = dtp_size_divide(&s, t, n2);
    assert_int_equal(dtp_size_divide(&s, dtp_size_add(&s, dtp_size_multiply(&s, b, n2), t), n2),
                     dtp_size_add(&s, b, half));
    assert_int_equal(dtp_size_subtract(&s, dtp_size_add(&s, t, one), one), t);
    assert_int_equal(dtp_size_bound(&s, DTP_SIZE_MOST, t, one), t);
    assert_int_equal(dtp_size_bound(&s, DTP_SIZE_LEAST, t, b), dtp_size_bound(&s, DTP_SIZE_LEAST, b, t));
    /* A large product has no expression, nor has what is made of it. */
    dtp_size_t x = t;
    for (int i = 0; i < 6; ++i) x = dtp_size_multiply(&s, x, t);
    assert_int_equal(x, DTP_NO_SIZE);
    assert_int_equal(dtp_size_add(&s, x, one), DTP_NO_SIZE);
    dtp_size_t large = dtp_size_number(&s, INT64_MAX);
    assert_int_equal(dtp_size_add(&s, large, one), DTP_NO_SIZE);
    assert_int_equal(dtp_size_multiply(&s, large, b), DTP_NO_SIZE);

    /* Guards: none for what is proven, one for the rest, and one only. */
    const int guards = s.nguards;
    assert_int_equal(dtp_size_is(&s, one, DTP_SIZE_AT_MOST, t, "x"), 1);
    assert_int_equal(dtp_size_is(&s, t, DTP_SIZE_EQUAL, dtp_size_add(&s, t, one), "x"), 0);
    assert_int_equal(dtp_size_is(&s, bt8, DTP_SIZE_DIVIDED, b, "x"), 1);
    assert_int_equal(s.nguards, guards);
    for (int i = 0; i < 2; ++i) assert_int_equal(dtp_size_is(&s, b, DTP_SIZE_AT_MOST, t, "x"), 1);
    assert_int_equal(s.nguards, guards + 1);
    assert_int_equal(dtp_size_is(&s, b, DTP_SIZE_EQUAL, t, "x"), 0);
    assert_int_equal(dtp_size_is(&s, t, DTP_SIZE_DIVIDED, b, "x"), -1);
    const dnnl_tp_tensor_info_t shapes[] = {{.ndims = 2, .dims = {3, 5}},
                                            {.ndims = 2, .dims = {4, 4}},
                                            {.ndims = 2, .dims = {5, 4}},
                                            {.ndims = 2, .dims = {1, 4}}};
    int64_t atoms[8];
    assert_true(s.natoms <= 8);
    for (int i = 0; i < 4; ++i) {
        const dnnl_tp_tensor_info_t *shape = &shapes[i];
        assert_true(dtp_sizes_bind(&s, &shape, atoms));
        assert_int_equal(dtp_sizes_check(&s, atoms) < 0, i == 0);
    }
    /* Where a side of a guard overflows it does not hold. */
    const dnnl_tp_tensor_info_t far = {.ndims = 2, .dims = {4, INT64_MAX / 16}}, *shape = &far;
    assert_true(dtp_sizes_bind(&s, &shape, atoms));
    assert_int_equal(dtp_sizes_check(&s, atoms), -1);
    assert_int_equal(dtp_size_is(&s, bt8, DTP_SIZE_AT_MOST, large, "x"), 1);
    assert_true(dtp_sizes_check(&s, atoms) >= 0);
    /* 0 and 1 are numbers. */
    assert_true(dtp_size_is_number(&s, dtp_size_symbol(&s, 1, 0, 1, "x")));
    assert_true(dtp_size_is_number(&s, dtp_size_symbol(&s, 1, 1, 0, "x")));
    static const char *const names[] = {"ids"};
    char text[64];
    dtp_size_text(&s, dtp_size_add(&s, bt8, half), names, text, sizeof text);
    assert_string_equal(text, "8*ids.0*ids.1 + (ids.1) / (2)");
    dtp_size_text(&s, dtp_size_subtract(&s, bt8, dtp_size_number(&s, 3)), names, text, sizeof text);
    assert_string_equal(text, "8*ids.0*ids.1 - 3");
    dtp_sizes_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
