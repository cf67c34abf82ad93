/* Element-wise operators of graphs on every type: where the function exists in its arithmetic the results are those
 * of one element at a time, exactly, whether computed, folded or fused; elsewhere the operator is refused. Loops
 * and branches on s64 and boolean; moves of such tensors. New rows of ops.inc are in here by being in the table.
 * The functions themselves: unit/test_exact.c. */
#include <stdlib.h>
#include <string.h>

#include "common/base/elementwise.h"
#include "cpu/simd/vops.h"
#include "exec/ops/ops.h"
#include "support/check.h"
#include "support/world.h"
#include "support/tensor.h"
#include "support/upload.h"

enum { ROWS = 5, COLS = 7, ELEMS = ROWS * COLS };

static const dnnl_tp_data_type_t types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32,
                                            dnnl_tp_s8,  dnnl_tp_u8,  dnnl_tp_boolean};
enum { NTYPES = sizeof types / sizeof *types };

/* Integers beyond 2^53, their neighbours, small ones, zeros. */
static void fill(dnnl_tp_data_type_t dt, void *data, int n, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    for (int i = 0; i < n; ++i) {
        int64_t v = (int64_t)((uint64_t)test_rand(&r) << 32 | test_rand(&r));
        if (i % 3 == 0) v = (int64_t)(test_rand(&r) % 5) - 2;
        if (i % 7 == 0) v = INT64_C(9007199254740993) - i;
        if (i == 1) v = INT64_MIN;
        if (dt == dnnl_tp_boolean) v &= 1;
        const double f = (double)v / 3;
        char *p = (char *)data + (size_t)i * dtp_type_size(dt);
        if (dt == dnnl_tp_f64) memcpy(p, &f, sizeof f);
        else memcpy(p, &v, dtp_type_size(dt));
    }
}

/* ---- One operator -------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_op_row_t *row;
    int alg, nattr;
    float value[2]; /* of the attributes */
    float alpha, beta;
    dnnl_tp_op_attr_t attr[2];
} sample_t;

/* Attributes that integers can have, or with fractions. */
static sample_t sample_of(const dtp_op_row_t *row, bool fractions) {
    sample_t s = {.row = row, .alg = (int)((const dtp_alg_row_t *)row->param)->alg};
    int n;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    for (int i = 0; i < n; ++i) {
        float v = (float)f[i].standard;
        if (f[i].key != DTP_ATTR_FIXED) {
            v = strcmp(f[i].name, "max") ? fractions ? -.5f : -2.f : fractions ? 5.5f : 5.f;
            s.value[s.nattr] = v;
            s.attr[s.nattr] = (dnnl_tp_op_attr_t){f[i].key, f[i].type, 1, NULL};
            ++s.nattr;
        }
        if (f[i].offset == offsetof(dtp_unary_attrs_t, alpha)) s.alpha = v;
        else s.beta = v;
    }
    return s;
}

static dnnl_tp_status_t add_op(dnnl_tp_graph_t g, sample_t *s, const dnnl_tp_value_t *in,
                               dnnl_tp_value_t *out) {
    for (int i = 0; i < s->nattr; ++i) s->attr[i].data = &s->value[i];
    return dnnl_tp_graph_op(g, (dnnl_tp_op_kind_t)s->row->kind, "op", s->row->min_in, in, s->nattr, s->attr,
                            1, out);
}

static bool in_walk(const dtp_op_row_t *row) {
    return row->cls == &dtp_class_unary || row->cls == &dtp_class_binary;
}

static void expect(const sample_t *s, dnnl_tp_data_type_t dt, const char *x, const char *y, char *z) {
    const size_t size = dtp_type_size(dt);
    const dtp_exact_t *e = dtp_exact(0, dt);
    for (int i = 0; i < ELEMS; ++i) {
        char *to = z + (size_t)i * size;
        const char *p = x + (size_t)i * size, *q = y + (size_t)(i % COLS) * size;
        if (s->row->min_in == 1)
            e->eltwise[dtp_ew_unary(s->alg)](&(dtp_eltwise_args_t){
                .x = p, .y = to, .rows = 1, .cols = 1, .alpha = s->alpha, .beta = s->beta});
        else
            e->binary[dtp_ew_binary(s->alg)](
                &(dtp_binary_args_t){.x0 = p, .x1 = q, .y = to, .rows = 1, .cols = 1, .cs0 = 1, .cs1 = 1});
    }
}

/* r = op(x, y); the results are r, and r turned and put beside x turned. form: 0 computed, 1 y is a constant, 2 all
 * are. False: the engine has no such operator of the type. */
static bool run_op(sample_t *s, dnnl_tp_data_type_t dt, int form, int threads, unsigned flags) {
    static char x[ELEMS * 8], y[COLS * 8], z[ELEMS * 8], want[ELEMS * 8], both[2 * ELEMS * 8];
    const size_t size = dtp_type_size(dt);
    const dnnl_tp_dims_t dims = {ROWS, COLS}, row = {COLS};
    fill(dt, x, ELEMS, 1);
    fill(dt, y, COLS, 2);
    world_t w;
    world_init(&w, threads);
    dnnl_tp_value_t in[2], r, turned[2], joined;
    if (form == 2) CHECK_OK(dnnl_tp_graph_constant(w.g, &in[0], "x", dt, 2, dims, x, 0, NULL, NULL));
    else CHECK_OK(dnnl_tp_graph_input(w.g, &in[0], "x", dt, 2, dims));
    if (form) CHECK_OK(dnnl_tp_graph_constant(w.g, &in[1], "y", dt, 1, row, y, 0, NULL, NULL));
    else CHECK_OK(dnnl_tp_graph_input(w.g, &in[1], "y", dt, 1, row));
    CHECK_OK(add_op(w.g, s, in, &r));
    static const int64_t order[] = {1, 0}, axis = 1;
    const dnnl_tp_op_attr_t turn = {dnnl_tp_op_attr_order, dnnl_tp_op_attr_s64, 2, order},
                            along = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_static_transpose, "t", 1, &r, 1, &turn, 1, &turned[0]));
    CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_static_transpose, "u", 1, &in[0], 1, &turn, 1, &turned[1]));
    CHECK_OK(dnnl_tp_graph_op(w.g, dnnl_tp_op_concat, "c", 2, turned, 1, &along, 1, &joined));
    CHECK_OK(dnnl_tp_graph_output(w.g, r, NULL));
    CHECK_OK(dnnl_tp_graph_output(w.g, joined, NULL));
    dnnl_tp_executable_t e;
    const dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = w.attr, .flags = flags};
    if (!has_impl(w.engine, dnnl_tp_executable_compile(&e, w.g, w.engine, 0, NULL, &o))) {
        world_end(&w);
        return false;
    }
    void *pin[] = {x, y}, *pout[] = {z, both};
    memset(z, 0x5b, sizeof z);
    CHECK_OK(test_run_graph(e, w.stream, 2 - form, pin, 2, pout, NULL));
    expect(s, dt, x, y, want);
    bool ok = !memcmp(z, want, ELEMS * size);
    for (int i = 0; ok && i < ROWS; ++i)
        for (int k = 0; k < COLS; ++k)
            ok &= !memcmp(both + (size_t)(k * 2 * ROWS + i) * size, want + (size_t)(i * COLS + k) * size,
                          size) &&
                  !memcmp(both + (size_t)(k * 2 * ROWS + ROWS + i) * size, x + (size_t)(i * COLS + k) * size,
                          size);
    if (!ok) fail_msg("%s of %s, form %d", s->row->name, dnnl_tp_dt2str(dt), form);
    dnnl_tp_executable_destroy(e);
    world_end(&w);
    return true;
}

static void refused(sample_t *s, dnnl_tp_data_type_t dt, dnnl_tp_status_t status) {
    const dnnl_tp_dims_t dims = {ROWS, COLS};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[2], out;
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(g, &in[i], "x", dt, 2, dims));
    CHECK_STATUS(add_op(g, s, in, &out), status);
    assert_non_null(strstr(dnnl_tp_last_error(), dnnl_tp_dt2str(dt)));
    CHECK_OK(dnnl_tp_graph_destroy(g));
}

static void every_row_and_type(void **state) {
    (void)state;
    int served = 0;
    for (int i = 0; i < dtp_op_nrows; ++i) {
        const dtp_op_row_t *row = &dtp_op_rows[i];
        if (!in_walk(row)) continue;
        for (int t = 0; t < NTYPES; ++t) {
            sample_t s = sample_of(row, types[t] == dnnl_tp_f64), half = sample_of(row, true);
            if (!dtp_ew_takes(s.alg, types[t])) {
                refused(&s, types[t], dnnl_tp_invalid_data_type);
                continue;
            }
            if (half.nattr && types[t] != dnnl_tp_f64) refused(&half, types[t], dnnl_tp_invalid_graph_op);
            for (int form = 0; form < 3; ++form)
                served += run_op(&s, types[t], form, 1 + form % 2, form == 1);
        }
    }
    print_message("%d served\n", served);
    assert_true(served > 3 * (test_engine_kind() == dnnl_tp_cpu ? 60 : 30));
}

/* ---- Control flow -------------------------------------------------------------------------------------- */

static dnnl_tp_value_t op2(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, dnnl_tp_value_t x, dnnl_tp_value_t y) {
    const dnnl_tp_value_t in[] = {x, y};
    dnnl_tp_value_t out;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "", 2, in, 0, NULL, 1, &out));
    return out;
}

/* n counts down to 0 while sum grows from beyond 2^53: the number itself is the predicate. */
static void loop_of_s64(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; ++threads) {
        world_t w;
        world_init(&w, threads);
        static const int64_t one = 1;
        dnnl_tp_value_t init[2], v[2], next[2], out[2], step;
        CHECK_OK(dnnl_tp_graph_constant(w.g, &step, "1", dnnl_tp_s64, 0, NULL, &one, 0, NULL, NULL));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(w.g, &init[i], "v", dnnl_tp_s64, 0, NULL));
        dnnl_tp_graph_t cond, body;
        CHECK_OK(dnnl_tp_graph_create_region(&cond, w.g));
        CHECK_OK(dnnl_tp_graph_create_region(&body, cond));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(cond, &v[i], "v", dnnl_tp_s64, 0, NULL));
        next[0] = op2(body, dnnl_tp_op_subtract, v[0], step);
        next[1] = op2(body, dnnl_tp_op_add, v[1], v[0]);
        CHECK_OK(dnnl_tp_graph_while(w.g, "loop", cond, v[0], body, 2, init, v, next, 0, out));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_output(w.g, out[i], NULL));
        dnnl_tp_executable_t e = world_compile(&w, threads == 2 ? DNNL_TP_COMPILE_NO_CLUSTERS : 0);
        int64_t n = 1000, sum = INT64_C(1) << 60, end = -1, total = -1;
        void *in[] = {&n, &sum}, *res[] = {&end, &total};
        CHECK_OK(test_run_graph(e, w.stream, 2, in, 2, res, NULL));
        assert_int_equal(end, 0);
        assert_true(total == (INT64_C(1) << 60) + 500500);
        dnnl_tp_executable_destroy(e);
        CHECK_OK(dnnl_tp_graph_destroy(cond));
        CHECK_OK(dnnl_tp_graph_destroy(body));
        world_end(&w);
    }
}

/* If a and b, or if neither, by multiply and add of boolean. */
static void branch_on_boolean(void **state) {
    (void)state;
    for (int both = 0; both < 2; ++both) {
        world_t w;
        world_init(&w, 2);
        dnnl_tp_value_t p[2], x[2], pred, yield[2], out;
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(w.g, &p[i], "p", dnnl_tp_boolean, 0, NULL));
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_input(w.g, &x[i], "x", dnnl_tp_s32, 0, NULL));
        pred = op2(w.g, both ? dnnl_tp_op_multiply : dnnl_tp_op_add, p[0], p[1]);
        dnnl_tp_graph_t r[2];
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_create_region(&r[i], w.g));
        yield[0] = op2(r[0], dnnl_tp_op_maximum, x[0], x[1]);
        yield[1] = op2(r[1], dnnl_tp_op_minimum, x[0], x[1]);
        CHECK_OK(dnnl_tp_graph_if(w.g, "if", pred, r[0], r[1], 1, &yield[0], &yield[1], &out));
        CHECK_OK(dnnl_tp_graph_output(w.g, out, NULL));
        dnnl_tp_executable_t e = world_compile(&w, 0);
        for (int k = 0; k < 4; ++k) {
            uint8_t a = (uint8_t)(k & 1 ? 255 : 0), b = (uint8_t)(k >> 1);
            int32_t low = INT32_MAX - 1, high = INT32_MAX, got = 0; /* equal in f32 */
            void *in[] = {&a, &b, &low, &high}, *res[] = {&got};
            CHECK_OK(test_run_graph(e, w.stream, 4, in, 1, res, NULL));
            assert_int_equal(got, (both ? k == 3 : k != 0) ? high : low);
        }
        dnnl_tp_executable_destroy(e);
        for (int i = 0; i < 2; ++i) CHECK_OK(dnnl_tp_graph_destroy(r[i]));
        world_end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_and_type), cmocka_unit_test(loop_of_s64),
                                       cmocka_unit_test(branch_on_boolean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
