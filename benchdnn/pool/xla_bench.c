/* Loops of the library on XLA's pool beside loops written for it, in a handler of XLA's typed FFI. The loop
 * of a handler's author: as many shards as threads, of at least 5 us each; the first runs here, the others
 * are scheduled, and a latch waits for them (which hangs when as many handlers as threads do it at once).
 * Built and run by xla_bench.sh; columns: loops.h. */
#include "jax/handlers.c"

#include <stdatomic.h>
#include <sched.h>

#include "pool/loops.h"

typedef struct {
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
    int64_t begin, end;
    _Atomic int *left;
} shard_t;
static void run_shard(void *arg) {
    const shard_t *s = arg;
    _Atomic int *left = s->left;
    s->body(s->arg, s->begin, s->end);
    atomic_fetch_sub_explicit(left, 1, memory_order_release);
}
static void xla_loop(void *pool, int64_t n, double ns_each,
                     void (*body)(void *arg, int64_t begin, int64_t end), void *arg) {
    (void)pool;
    enum { MOST = 64 };
    static const double SHARD_NS = 5000;
    int shards = dnnl_tp_xla_num_threads(NULL);
    if (shards > MOST) shards = MOST;
    if (shards > (int)((double)n * ns_each / SHARD_NS)) shards = (int)((double)n * ns_each / SHARD_NS);
    if (shards < 2) {
        body(arg, 0, n);
        return;
    }
    shard_t s[MOST];
    _Atomic int left = shards;
    for (int i = 0; i < shards; ++i) s[i] = (shard_t){body, arg, n * i / shards, n * (i + 1) / shards, &left};
    for (int i = 1; i < shards; ++i)
        if (dnnl_tp_xla_schedule(NULL, NULL, run_shard, &s[i])) run_shard(&s[i]);
    run_shard(&s[0]);
    for (int i = 0; atomic_load_explicit(&left, memory_order_acquire); ++i)
        if (i > 10000) sched_yield();
}

static int milliseconds = 50;
__attribute__((visibility("default"))) void xla_bench_ms(int ms);
void xla_bench_ms(int ms) { milliseconds = ms; }

static dnnl_tp_status_t loops(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    (void)stream, (void)in;
    dnnl_tp_threadpool_iface_t iface = dnnl_tp_xla_iface();
    loops_host_t host = {"xla", NULL, &iface, xla_loop};
    *(float *)out->data = 0;
    return loops_table(&host, dnnl_tp_xla_num_threads(NULL), milliseconds);
}
HANDLER(loops, 1)
