/* See regions.h. */
#include "support/regions.h"

#include <stdatomic.h>

enum { MAX_ARGS = 8 };
const unsigned region_flags[REGION_FLAGS] = {0, DNNL_TP_COMPILE_NO_FUSION, DNNL_TP_COMPILE_NO_CLUSTERS,
                                             DNNL_TP_COMPILE_NO_FUSION | DNNL_TP_COMPILE_NO_CLUSTERS};

HOST(host_add, DST(0) = SRC(0) + SRC(1))
HOST(host_sub, DST(0) = SRC(0) - SRC(1))
HOST(host_mul, DST(0) = SRC(0) * SRC(1))
HOST(host_inc, DST(0) = SRC(0) + 1)
HOST(host_dec, DST(0) = SRC(0) - 1)
HOST(host_less, DST(0) = SRC(0) < SRC(1))
HOST(host_positive, DST(0) = SRC(0) > 0)
HOST(host_odd, DST(0) = SRC(0) % 2)
HOST(host_collatz, DST(0) = SRC(0) % 2 ? 3 * SRC(0) + 1 : SRC(0) / 2)
HOST(host_not_one, DST(0) = SRC(0) != 1)
HOST(host_count, atomic_fetch_add((_Atomic int *)arg, 1))
HOST(host_countdown, DST(0) = atomic_fetch_sub((_Atomic int *)arg, 1) > 0)

val_t graph_host(dnnl_tp_graph_t g, host_t *fn, void *arg, int nin, const val_t *in) {
    dnnl_tp_tensor_info_t info = {.ndims = 0, .data_type = dnnl_tp_s32};
    val_t v;
    CHECK_OK(dnnl_tp_graph_host(g, fn, arg, NULL, 0, "op", nin, in, 1, &info, &v));
    return v;
}
void need_closures(void) {
    if (test_engine_kind() != dnnl_tp_cpu) skip();
}

static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a, val_t b) {
    const val_t in[2] = {a, b};
    val_t v;
    CHECK_OK(dnnl_tp_graph_op(g, kind, "op", 2, in, 0, NULL, 1, &v));
    return v;
}
static val_t op_with(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, val_t a, int32_t b) {
    return op(g, kind, a, graph_constant(g, b));
}
static val_t odd_of(dnnl_tp_graph_t g, val_t a) {
    const val_t half = op_with(g, dnnl_tp_op_divide, a, 2);
    return op(g, dnnl_tp_op_subtract, a, op(g, dnnl_tp_op_add, half, half));
}
/* odd * (3 a + 1) + (1 - odd) * (a / 2) */
static val_t collatz(dnnl_tp_graph_t g, val_t a) {
    const val_t odd = odd_of(g, a);
    const val_t up = op_with(g, dnnl_tp_op_add, op_with(g, dnnl_tp_op_multiply, a, 3), 1);
    const val_t even = op(g, dnnl_tp_op_subtract, graph_constant(g, 1), odd);
    return op(g, dnnl_tp_op_add, op(g, dnnl_tp_op_multiply, odd, up),
              op(g, dnnl_tp_op_multiply, even, op_with(g, dnnl_tp_op_divide, a, 2)));
}
/* As predicates: other than 0 where the closure gives 1. */
static val_t as_operator(dnnl_tp_graph_t g, host_t *fn, val_t a, val_t b) {
    if (fn == host_add) return op(g, dnnl_tp_op_add, a, b);
    if (fn == host_sub) return op(g, dnnl_tp_op_subtract, a, b);
    if (fn == host_mul) return op(g, dnnl_tp_op_multiply, a, b);
    if (fn == host_inc) return op_with(g, dnnl_tp_op_add, a, 1);
    if (fn == host_dec || fn == host_not_one) return op_with(g, dnnl_tp_op_subtract, a, 1);
    if (fn == host_less) return op_with(g, dnnl_tp_op_maximum, op(g, dnnl_tp_op_subtract, b, a), 0);
    if (fn == host_positive) return op_with(g, dnnl_tp_op_maximum, a, 0);
    if (fn == host_odd) return odd_of(g, a);
    if (fn == host_collatz) return collatz(g, a);
    fail_msg("a closure without an operator");
    return -1;
}

val_t graph_op1(dnnl_tp_graph_t g, host_t *fn, val_t a) {
    return test_engine_kind() == dnnl_tp_cpu ? graph_host(g, fn, NULL, 1, &a) : as_operator(g, fn, a, -1);
}
val_t graph_op2(dnnl_tp_graph_t g, host_t *fn, val_t a, val_t b) {
    const val_t in[2] = {a, b};
    return test_engine_kind() == dnnl_tp_cpu ? graph_host(g, fn, NULL, 2, in) : as_operator(g, fn, a, b);
}
val_t graph_input(dnnl_tp_graph_t g) {
    val_t v;
    CHECK_OK(dnnl_tp_graph_input(g, &v, "x", dnnl_tp_s32, 0, NULL));
    return v;
}
val_t graph_constant(dnnl_tp_graph_t g, int32_t x) {
    val_t v;
    CHECK_OK(dnnl_tp_graph_constant(g, &v, "c", dnnl_tp_s32, 0, NULL, &x, 0, NULL, NULL));
    return v;
}
dnnl_tp_graph_t graph_region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    CHECK_OK(dnnl_tp_graph_create_region(&r, parent));
    return r;
}
void graph_output(dnnl_tp_graph_t g, val_t v) { CHECK_OK(dnnl_tp_graph_output(g, v, "y")); }
void graph_done(dnnl_tp_graph_t a, dnnl_tp_graph_t b) {
    dnnl_tp_graph_destroy(a);
    dnnl_tp_graph_destroy(b);
}

void expect_run(world_t *w, int nin, const int32_t *in, int nout, const int32_t *want) {
    const int most = test_engine_is_far(w->engine) ? 1 : 3; /* threads */
    for (int f = 0; f < REGION_FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(w, region_flags[f]);
        for (int threads = 1; threads <= most; ++threads) {
            int32_t x[MAX_ARGS], y[MAX_ARGS];
            void *pin[MAX_ARGS], *pout[MAX_ARGS];
            for (int i = 0; i < nin; ++i) x[i] = in[i], pin[i] = &x[i];
            for (int i = 0; i < nout; ++i) y[i] = -12345, pout[i] = &y[i];
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
            CHECK_OK(test_run_graph(e, w->stream, nin, pin, nout, pout, &o));
            for (int i = 0; i < nout; ++i)
                if (y[i] != want[i])
                    fail_msg("output %d is %d, not %d (flags %u)", i, y[i], want[i], region_flags[f]);
            for (int i = 0; i < nin; ++i) assert_int_equal(x[i], in[i]);
        }
        dnnl_tp_executable_destroy(e);
    }
}
