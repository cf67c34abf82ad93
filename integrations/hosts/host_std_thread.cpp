// A program with a pool of std::threads.
#include "hosts/hosts.h"
#include "hosts/latch.hpp"
#include "std_thread/dnnl_tp_std_thread.hpp"

namespace {

struct host {
    explicit host(int threads) : pool(threads), iface(dnnl_tp::make_iface(pool)) {}
    dnnl_tp::std_thread_pool pool;
    dnnl_tp_threadpool_iface_t iface;
};

struct call {
    void (*fn)(void *);
    void *arg;
    latch *left;
};
void run_call(void *p) {
    call *c = static_cast<call *>(p);
    c->fn(c->arg);
    c->left->count_down();
}

struct part {
    host_range_t body;
    void *arg;
    int64_t begin, end;
    latch *left;
};
void run_part(void *p) {
    part *c = static_cast<part *>(p);
    c->body(c->arg, c->begin, c->end);
    c->left->count_down();
}

void *create(int threads) { return new host(threads); }
const dnnl_tp_threadpool_iface_t *iface(void *pool) { return &static_cast<host *>(pool)->iface; }
void call_in(void *pool, int count, void (*fn)(void *), void *arg) {
    latch left(count);
    call c = {fn, arg, &left};
    for (int i = 0; i < count; ++i) static_cast<host *>(pool)->pool.submit(run_call, &c);
    left.wait();
}
void loop(void *pool, int64_t n, double, host_range_t body, void *arg) {
    auto &p = static_cast<host *>(pool)->pool;
    int64_t parts = n < p.size() ? n : p.size();
    latch left(static_cast<int>(parts) - 1);
    std::vector<part> v;
    for (int64_t i = 0; i < parts; ++i) v.push_back({body, arg, n * i / parts, n * (i + 1) / parts, &left});
    for (int64_t i = 1; i < parts; ++i) p.submit(run_part, &v[static_cast<std::size_t>(i)]);
    body(arg, v[0].begin, v[0].end);
    left.wait();
}
void destroy(void *pool) { delete static_cast<host *>(pool); }

} // namespace

extern "C" const host_t host_std_thread = {"std_thread", create, iface, call_in, loop, destroy};
