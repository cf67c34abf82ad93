/* Control flow on s32 scalars: host operators, which are graph operators of the same meaning on engines without closures; builders that stop the test when something fails, and runs
 * whose outputs are known. */
#ifndef DTP_TESTS_REGIONS_H
#define DTP_TESTS_REGIONS_H

#include "support/check.h"
#include "support/upload.h"
#include "support/world.h"

typedef dnnl_tp_value_t val_t;
typedef dnnl_tp_status_t host_t(void *, const volatile int *, int, const dnnl_tp_host_arg_t *, int,
                                const dnnl_tp_host_arg_t *);
#define SRC(i) (*(int32_t *)in[i].data)
#define DST(i) (*(int32_t *)out[i].data)
/* A host operator of these statements on SRC(i) and DST(i). */
#define HOST(name, ...)                                                                               \
    host_t name;                                                                                      \
    dnnl_tp_status_t name(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in, \
                          int nout, const dnnl_tp_host_arg_t *out) {                                  \
        (void)arg, (void)stop, (void)nin, (void)in, (void)nout, (void)out;                            \
        __VA_ARGS__;                                                                                  \
        return dnnl_tp_success;                                                                       \
    }
host_t host_add, host_sub, host_mul, host_inc, host_dec, host_less, host_positive, host_odd, host_not_one;
host_t host_collatz;
/* arg: an _Atomic int that counts calls; one that is taken down to -1 and says whether it was positive. */
host_t host_count, host_countdown;

/* Ends the test where the engine runs no closures. */
void need_closures(void);
/* A closure, on every engine. */
val_t graph_host(dnnl_tp_graph_t g, host_t *fn, void *arg, int nin, const val_t *in);
val_t graph_op1(dnnl_tp_graph_t g, host_t *fn, val_t a);
val_t graph_op2(dnnl_tp_graph_t g, host_t *fn, val_t a, val_t b);
val_t graph_input(dnnl_tp_graph_t g);
val_t graph_constant(dnnl_tp_graph_t g, int32_t x);
dnnl_tp_graph_t graph_region(dnnl_tp_graph_t parent);
void graph_output(dnnl_tp_graph_t g, val_t v);
void graph_done(dnnl_tp_graph_t a, dnnl_tp_graph_t b); /* destroys both */

enum { REGION_FLAGS = 4 };
extern const unsigned region_flags[REGION_FLAGS]; /* compilations that must agree */
/* Runs with these inputs, compiled each way, on 1 to 3 threads, and compares the outputs. */
void expect_run(world_t *w, int nin, const int32_t *in, int nout, const int32_t *want);
#define EXPECT_RUN(w, in, want) \
    expect_run(w, (int)(sizeof(in) / sizeof *(in)), in, (int)(sizeof(want) / sizeof *(want)), want)
#define ARRAY(...) ((const int32_t[]){__VA_ARGS__})

#endif
