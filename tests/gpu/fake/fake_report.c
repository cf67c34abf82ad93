/* What the fake driver tells at the end. */
#include "gpu/fake/calls.h"

fake_cuda_stats_t fake_cuda_stats(void) {
    fake_lock();
    fake_cuda_stats_t stats = fake.stats;
    for (int i = 0; i < FAKE_MAX_DEVICES; ++i) stats.contexts += fake.ctx[i].retained;
    fake_unlock();
    return stats;
}

static int tell(FILE *to, int64_t n, const char *what) {
    if (n && to) fprintf(to, "fake driver: %lld %s\n", (long long)n, what);
    return (int)n;
}

int fake_cuda_report(FILE *to) {
    fake_cuda_drain();
    fake_lock();
    for (size_t i = 0; i < fake.n_blocks; ++i) fake_check_red_zones_locked(fake.blocks[i]);
    const int wrongs = fake.wrongs, current = fake_thread.n,
              mode = fake_thread.capture_mode != DTP_CU_CAPTURE_GLOBAL;
    fake_unlock();
    const fake_cuda_stats_t alive = fake_cuda_stats();
    int n = tell(to, wrongs, "wrong uses");
    n += tell(to, current, "contexts left current on this thread");
    n += tell(to, mode, "mode of captures was not restored on this thread");
    n += tell(to, alive.graphs, "graphs were not destroyed");
    n += tell(to, alive.blocks, "blocks of device memory were not freed");
    n += tell(to, alive.host_blocks, "blocks of pinned memory were not freed");
    n += tell(to, alive.streams, "streams were not destroyed");
    n += tell(to, alive.events, "events were not destroyed");
    n += tell(to, alive.pools, "pools were not destroyed");
    n += tell(to, alive.libraries, "libraries were not unloaded");
    n += tell(to, alive.lt_handles, "handles of cuBLASLt were not destroyed");
    n += tell(to, alive.lt_descriptors, "descriptors of cuBLASLt were not destroyed");
    n += tell(to, alive.contexts, "times a primary context was not released");
    return n;
}
