/* Long chains of nodes that stand for others: the import walks them without recursion, so they pass on a thread
 * with a small stack. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "switch_merge/dnnl_tp_switch_merge.h"
#include "support/check.h"

enum { LENGTH = 20000, STACK = 256 << 10, NAME = 16 };

typedef enum { ORDER, DATA, GATED_ORDER, GATED_DATA, CHAINS } chain_t;

static const dnnl_tp_tensor_info_t number = {.ndims = 0, .data_type = dnnl_tp_s32};
static const dnnl_tp_tensor_info_t truth = {.ndims = 0, .data_type = dnnl_tp_boolean};

static dnnl_tp_status_t copy(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop, (void)nin, (void)nout;
    *(int32_t *)out[0].data = *(const int32_t *)in[0].data;
    return dnnl_tp_success;
}

/* x -> [Switch by p] -> n0 -> ... -> copy -> [Merge with the Switch's other side]; of orderings alone the first
 * node behind a Switch takes its value. */
static void import_chain(chain_t chain) {
    bool data = chain == DATA || chain == GATED_DATA, gated = chain >= GATED_ORDER;
    dnnl_tp_v1_node_t *nodes = calloc(LENGTH + 5, sizeof *nodes);
    char(*name)[NAME] = calloc(LENGTH, sizeof *name), (*after)[NAME] = calloc(LENGTH, sizeof *after);
    const char **in = calloc(LENGTH, sizeof *in);
    assert_true(nodes && name && after && in);
    for (int i = 0; i < LENGTH; ++i) {
        bool value = data || (gated && i == 0);
        snprintf(name[i], NAME, "n%d", i);
        snprintf(after[i], NAME, "%s%s", data ? "" : "^", name[i]);
        in[i] = i ? after[i - 1] : gated ? "s:1" : data ? "x" : "^x";
        nodes[i].name = name[i];
        nodes[i].kind = value ? dnnl_tp_v1_identity : dnnl_tp_v1_no_op;
        nodes[i].in = &in[i];
        nodes[i].nin = 1;
    }
    const char *copied[] = {gated ? "s:1" : "x", after[LENGTH - 1]};
    const char *switched[] = {"x", "p"}, *merged[] = {"h", "s:0"}, *out = gated ? "m" : "h";
    dnnl_tp_v1_node_t *n = nodes + LENGTH;
    *n++ = (dnnl_tp_v1_node_t){.name = "x", .kind = dnnl_tp_v1_input, .info = number};
    *n++ = (dnnl_tp_v1_node_t){.name = "h",
                               .kind = dnnl_tp_v1_host,
                               .nin = data ? 1 : 2,
                               .in = data ? copied + 1 : copied,
                               .fn = copy,
                               .nout = 1,
                               .out_info = &number};
    if (gated) {
        *n++ = (dnnl_tp_v1_node_t){.name = "p", .kind = dnnl_tp_v1_input, .info = truth};
        *n++ = (dnnl_tp_v1_node_t){.name = "s", .kind = dnnl_tp_v1_switch, .nin = 2, .in = switched};
        *n++ = (dnnl_tp_v1_node_t){.name = "m", .kind = dnnl_tp_v1_merge, .nin = 2, .in = merged};
    }
    dnnl_tp_graph_t graph;
    CHECK_OK(dnnl_tp_graph_import_v1(&graph, dnnl_tp_cpu, (int)(n - nodes), nodes, 1, &out, 0, NULL));
    CHECK_OK(dnnl_tp_graph_destroy(graph));
    free(in), free(after), free(name), free(nodes);
}

static void *import_all(void *arg) {
    for (chain_t c = ORDER; c < CHAINS; ++c) import_chain(c);
    return arg;
}

static void test_small_stack(void **state) {
    (void)state;
    pthread_t thread;
    pthread_attr_t attr;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, import_all, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
