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
val_t graph_op1(dnnl_tp_graph_t g, host_t *fn, val_t a) { return graph_host(g, fn, NULL, 1, &a); }
val_t graph_op2(dnnl_tp_graph_t g, host_t *fn, val_t a, val_t b) {
    val_t in[2] = {a, b};
    return graph_host(g, fn, NULL, 2, in);
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
    for (int f = 0; f < REGION_FLAGS; ++f) {
        dnnl_tp_executable_t e = world_compile(w, region_flags[f]);
        for (int threads = 1; threads <= 3; ++threads) {
            int32_t x[MAX_ARGS], y[MAX_ARGS];
            void *pin[MAX_ARGS], *pout[MAX_ARGS];
            for (int i = 0; i < nin; ++i) x[i] = in[i], pin[i] = &x[i];
            for (int i = 0; i < nout; ++i) y[i] = -12345, pout[i] = &y[i];
            dnnl_tp_run_opts_t o = {.struct_size = sizeof o, .max_threads = threads};
            CHECK_OK(dnnl_tp_executable_run(e, w->stream, nin, pin, nout, pout, &o));
            for (int i = 0; i < nout; ++i)
                if (y[i] != want[i])
                    fail_msg("output %d is %d, not %d (flags %u)", i, y[i], want[i], region_flags[f]);
            for (int i = 0; i < nin; ++i) assert_int_equal(x[i], in[i]);
        }
        dnnl_tp_executable_destroy(e);
    }
}
