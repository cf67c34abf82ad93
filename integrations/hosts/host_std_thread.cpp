// A program with a pool of std::threads; and one that wants it clean after each run of a graph.
#include "common/dnnl_tp_run_helpers.hpp"
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

template <typename Call> void submit(dnnl_tp::std_thread_pool &pool, Call call) {
    std::unique_ptr<Call> copy(new Call(call));
    pool.submit(
        [](void *p) {
            std::unique_ptr<Call> c(static_cast<Call *>(p));
            (*c)();
        },
        copy.get());
    copy.release(); // the pool's now, or already gone
}
int schedule_clean(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) noexcept {
    auto &pool = *static_cast<dnnl_tp::std_thread_pool *>(ctx);
    try {
        if (!run) pool.submit(fn, arg);
        else dnnl_tp::run_helpers::schedule(run, fn, arg, [&pool](auto call) { submit(pool, call); });
        return 0;
    } catch (...) {
        return -1;
    }
}
void *create_clean(int threads) {
    host *h = new host(threads);
    h->iface.schedule = schedule_clean;
    h->iface.run_begin = dnnl_tp::run_helpers::run_begin;
    h->iface.run_end = dnnl_tp::run_helpers::run_end;
    return h;
}

} // namespace

extern "C" const host_t host_std_thread = {"std_thread", create, iface, call_in, loop, destroy};
extern "C" const host_t host_std_thread_clean = {
    "std_thread_clean", create_clean, iface, call_in, loop, destroy};
