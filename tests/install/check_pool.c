/* A program that checks a pool of its own: one thread that runs loops in order. */
#include <dnnl_tp/dnnl_tp_pool_check.h>
#include <stdio.h>

static int one_thread(void *ctx) { return ctx ? 1 : 0; }
static int in_order(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg) {
    (void)ctx;
    for (int i = 0; i < n; ++i) fn(arg, i, n);
    return 0;
}

int main(void) {
    char report[4096] = "";
    int ctx = 0;
    const dnnl_tp_threadpool_iface_t pool = {
        .struct_size = sizeof pool, .ctx = &ctx, .get_num_threads = one_thread, .parallel_for = in_order};
    const dnnl_tp_status_t status = dnnl_tp_pool_check(&pool, 0, report, sizeof report);
    if (status == dnnl_tp_success || status == dnnl_tp_unimplemented) return 0;
    fprintf(stderr, "%s%s\n", report, dnnl_tp_last_error());
    return 1;
}
