/* The merge of an If (src/exec/dataflow/run/step.h): what reads its outputs has one counter, in which one arrival counts for
 * each output, from whichever branch was taken, and one for each other input. 1 to 4 outputs and 0 to 3 others, in
 * all orders of arrival that differ, and three arrivals at once: exactly the last one makes the reader ready, and
 * what was written before all of them is seen. */
#include "exec/dataflow/run/share.c"

#include "exec/dataflow/run/run.c"

#include "exec/dataflow/run/learn.c"

#include "model/no_blocking.h"
#include "model/no_crew.h"
#include "model/no_dataflow_pending.h"
#include "model/product.h"

enum { MAX_OUTPUTS = 4, MAX_OTHERS = 3, AT_ONCE = 3 };
static DTP_ATOMIC(uint8_t) count;
static int n_arrivals, arrived, ready, orders_seen;

static void arrive(void) {
    ++arrived;
    if (!arrive8(&count, true)) return;
    MC_CHECK(++ready == 1 && arrived == n_arrivals);
}

/* ---- All orders on one thread: counted against the number that is known ------------------------------ */
static int n_outputs, n_others;
static void all_orders(void *arg) {
    (void)arg;
    int outputs = n_outputs, others = n_others;
    while (outputs + others) {
        enum { YES, NO, OTHER } kinds[3]; /* of an output: its branch */
        int n = 0;
        if (outputs) kinds[n++] = YES, kinds[n++] = NO;
        if (others) kinds[n++] = OTHER;
        if (kinds[mc_choose(n)] == OTHER) --others;
        else --outputs;
        MC_CHECK(ready == 0);
        arrive();
    }
    MC_CHECK(ready == 1 && count == 0);
    ++orders_seen;
}
static void orders(void) {
    n_outputs = 1 + mc_choose(MAX_OUTPUTS);
    n_others = mc_choose(MAX_OTHERS + 1);
    n_arrivals = n_outputs + n_others;
    count = (uint8_t)n_arrivals;
    arrived = ready = 0;
    mc_thread(all_orders, NULL);
}

/* ---- Three threads at once --------------------------------------------------------------------------- */
static int payload[AT_ONCE];
static void writer(void *arg) {
    mc_write(arg);
    if (!arrive8(&count, true)) return;
    ++ready;
    for (int i = 0; i < AT_ONCE; ++i) mc_read(&payload[i]);
    mc_hit(mc_self() == 0 ? "the first one is the last" : "another one is the last");
}
static void at_once(void) {
    count = AT_ONCE;
    ready = 0;
    for (int i = 0; i < AT_ONCE; ++i) mc_thread(writer, &payload[i]);
}
static void once(void) { MC_CHECK(ready == 1 && count == 0); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "all orders of arrival", .setup = orders},
        {.name = "three at once", .setup = at_once, .end = once},
    };
    int bad = mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
    /* For k outputs and c others: 2^k * (k + c)! / (k! c!). */
    enum {
        ALL = 2 * (1 + 2 + 3 + 4) + 4 * (1 + 3 + 6 + 10) + 8 * (1 + 4 + 10 + 20) + 16 * (1 + 5 + 15 + 35)
    };
    if (argc == 1 && orders_seen != ALL) bad = 1;
    return bad;
}
