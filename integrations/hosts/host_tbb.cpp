// A program on oneTBB: an arena of its own.
#include "hosts/hosts.h"
#include "tbb/dnnl_tp_tbb.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

namespace {

struct host {
    explicit host(int threads) : arena(threads), pool(arena), iface(dnnl_tp::make_iface(pool)) {}
    host(int threads, int allowed)
        : limit(new tbb::global_control(tbb::global_control::max_allowed_parallelism,
                                        static_cast<std::size_t>(allowed))),
          arena(threads), pool(arena), iface(dnnl_tp::make_iface(pool)) {}
    std::unique_ptr<tbb::global_control> limit;
    tbb::task_arena arena;
    dnnl_tp::tbb_pool pool;
    dnnl_tp_threadpool_iface_t iface;
};

// Where it finds one CPU, TBB starts no thread unless it is told to.
void *create(int threads) {
    const bool alone = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism) < 2;
    return threads > 1 && alone ? new host(threads, 2) : new host(threads);
}
// An arena that is larger than what the process allows TBB.
void *create_limited(int threads) { return new host(threads + 2, threads); }
const dnnl_tp_threadpool_iface_t *iface(void *pool) { return &static_cast<host *>(pool)->iface; }
void call_in(void *pool, int count, void (*fn)(void *), void *arg) {
    static_cast<host *>(pool)->arena.execute([=] {
        tbb::parallel_for(
            0, count, [=](int) { fn(arg); }, tbb::simple_partitioner());
    });
}
void loop(void *pool, int64_t n, double, host_range_t body, void *arg) {
    static_cast<host *>(pool)->arena.execute([=] {
        tbb::parallel_for(
            tbb::blocked_range<int64_t>(0, n),
            [=](const tbb::blocked_range<int64_t> &r) { body(arg, r.begin(), r.end()); },
            tbb::auto_partitioner());
    });
}
void destroy(void *pool) { delete static_cast<host *>(pool); }

} // namespace

extern "C" const host_t host_tbb = {"tbb", create, iface, call_in, loop, destroy};
extern "C" const host_t host_tbb_limited = {"tbb_limited", create_limited, iface, call_in, loop, destroy};
