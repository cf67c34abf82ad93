// A program on Eigen's thread pool. Its loops are those of Eigen's ThreadPoolDevice, which is told what an
// iteration costs.
#include "eigen/dnnl_tp_eigen.hpp"
#include "hosts/hosts.h"
#include "hosts/latch.hpp"

#include <unsupported/Eigen/CXX11/Tensor>

namespace {

constexpr double cycles_per_ns = 3; // Eigen counts in cycles

struct host {
    explicit host(int threads) : pool(threads), device(&pool, threads), iface(dnnl_tp::make_iface(pool)) {}
    Eigen::ThreadPool pool;
    Eigen::ThreadPoolDevice device;
    dnnl_tp_threadpool_iface_t iface;
};

void *create(int threads) { return new host(threads); }
const dnnl_tp_threadpool_iface_t *iface(void *pool) { return &static_cast<host *>(pool)->iface; }
void call_in(void *pool, int count, void (*fn)(void *), void *arg) {
    latch left(count);
    for (int i = 0; i < count; ++i)
        static_cast<host *>(pool)->pool.Schedule([fn, arg, &left] {
            fn(arg);
            left.count_down();
        });
    left.wait();
}
void loop(void *pool, int64_t n, double ns_each, host_range_t body, void *arg) {
    static_cast<host *>(pool)->device.parallelFor(
        n, Eigen::TensorOpCost(0, 0, ns_each * cycles_per_ns),
        [body, arg](Eigen::Index begin, Eigen::Index end) { body(arg, begin, end); });
}
void destroy(void *pool) { delete static_cast<host *>(pool); }

} // namespace

extern "C" const host_t host_eigen = {"eigen", create, iface, call_in, loop, destroy};
