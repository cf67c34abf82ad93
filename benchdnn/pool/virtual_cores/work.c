/* What nodes and loops do: sleep, and write down when. */
#include <string.h>
#include <unistd.h>
#include <time.h>

#include "common/timing.h"
#include "pool/virtual_cores/virtual_cores.h"

static void do_task(vc_run_t *run, int i) {
    vc_span_t *span = &run->task[i];
    const int64_t begin = bd_now_ns() - run->bed->began;
    const int32_t ns = run->program->ns[i];
    if (ns > 0) clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, ns}, NULL);
    span->begin = begin;
    span->end = bd_now_ns() - run->bed->began;
    ++span->times;
    span->thread = (int)gettid();
}

typedef struct {
    vc_run_t *run;
    int first, n;
} loop_t;
static void loop_body(void *arg, int slot, int64_t begin, int64_t end) {
    const loop_t *loop = arg;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) do_task(loop->run, loop->first + (int)i);
}
void vc_loop(vc_run_t *run, int first, int n, const dtp_parallel_t *par) {
    loop_t loop = {run, first, n};
    int64_t ns = 0;
    for (int i = 0; i < n; ++i) ns += run->program->ns[first + i];
    dtp_parallel_for(par, n, -(ns / n), loop_body, &loop);
}
static void loop_in_run(void *arg, const dtp_parallel_t *par) {
    const loop_t *loop = arg;
    vc_loop(loop->run, loop->first, loop->n, par);
}

dnnl_tp_status_t vc_sleep_node(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out) {
    const vc_node_t *node = arg;
    vc_run_t *run;
    int32_t number = 0;
    (void)stop;
    memcpy(&run, in[0].data, sizeof run);
    if (nin > 1) number = *(const int32_t *)in[1].data;
    const int task = node->task + node->stride * number;
    if (!node->loop) {
        do_task(run, task);
    } else {
        loop_t loop = {run, task + 1, node->loop};
        if (dtp_pool_run(run->bed->rec, run->bed->threads, true, loop_in_run, &loop))
            return dnnl_tp_runtime_error;
    }
    if (nout && out[0].info->ndims == 0) *(int32_t *)out[0].data = number + node->add;
    return dnnl_tp_success;
}
