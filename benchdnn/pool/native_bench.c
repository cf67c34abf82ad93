/* Loops of the library on the pools of integrations/, beside the same loops as a program would write them for
 * that pool; what the columns mean stands in loops.h.
 *
 *   native_bench [HOST...] [--threads=N] [--ms=M]        (default: all hosts, 2 threads, 20 ms for each cell)
 *
 * XLA's pool exists inside jax only: xla_bench. Next: integrations/hosts/hosts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/hosts.h"
#include "pool/loops.h"

static void bench(const host_t *host, int threads, int ms) {
    void *pool = host->create(threads);
    if (!pool) abort();
    loops_host_t h = {host->name, pool, host->iface(pool), host->loop};
    if (loops_table(&h, threads, ms) || dnnl_tp_threadpool_quiesce(h.iface, -1)) abort();
    host->destroy(pool);
}

int main(int argc, char **argv) {
    int threads = 2, ms = 20, named = 0;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) threads = atoi(argv[i] + 10);
        else if (!strncmp(argv[i], "--ms=", 5)) ms = atoi(argv[i] + 5);
        else if (!host_by_name(argv[i])) return fprintf(stderr, "native_bench: no host '%s'\n", argv[i]), 2;
        else ++named;
    }
    for (const host_t *const *h = hosts; *h; ++h) {
        int wanted = !named;
        for (int i = 1; i < argc; ++i) wanted |= !strcmp(argv[i], (*h)->name);
        if (wanted) bench(*h, threads, ms);
    }
    return 0;
}
