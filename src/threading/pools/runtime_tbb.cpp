// The runtime TBB: see runtime.h. A part of it is an arena; every task that is queued holds it alive, so it
// may be released from inside a task.
#include "threading/pools/runtime.h"

#include <algorithm>
#include <atomic>
#include <new>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

extern "C" {
extern std::atomic<uint32_t> dtp_fork_generation; // record.h, in C
}

namespace {

struct part {
    explicit part(int threads, std::uint64_t pool_flags)
        : arena(threads), num_threads(threads), flags(pool_flags) {}
    tbb::task_arena arena;
    int num_threads; // automatic: all
    std::uint64_t flags;
    std::atomic<int> refs{1};
};

int granted() {
    return static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}
void drop(part *p) {
    if (p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p;
}

int get_num_threads(void *ctx) noexcept {
    part *p = static_cast<part *>(ctx);
    if (dtp_fork_generation.load()) return 1; // the workers stayed in the parent
    if (p->num_threads != tbb::task_arena::automatic) return p->num_threads;
    return std::min(granted(), p->arena.max_concurrency());
}
std::uint64_t get_flags(void *ctx) noexcept { return static_cast<part *>(ctx)->flags; }
int schedule(void *ctx, void *, dnnl_tp_task_fn_t fn, void *arg) noexcept {
    part *p = static_cast<part *>(ctx);
    // One thread: TBB would start another one for what is enqueued, beyond what it was allowed.
    if (dtp_fork_generation.load() || p->num_threads == 1 || granted() < 2) return -1;
    try {
        p->refs.fetch_add(1, std::memory_order_relaxed);
        p->arena.enqueue([p, fn, arg] {
            fn(arg);
            drop(p);
        });
        return 0;
    } catch (...) {
        drop(p);
        return -1;
    }
}
void release(void *ctx) noexcept { drop(static_cast<part *>(ctx)); }

} // namespace

dnnl_tp_status_t dtp_runtime_iface(int num_threads, uint64_t flags, dnnl_tp_threadpool_iface_t *iface) {
    *iface = {};
    part *p = nullptr;
    try {
        static part *whole = new part(tbb::task_arena::automatic, 0); // never deleted: exit order
        p = num_threads ? new part(num_threads, flags) : whole;
    } catch (...) {
        return dnnl_tp_out_of_memory;
    }
    iface->struct_size = sizeof *iface;
    iface->ctx = p;
    iface->get_num_threads = get_num_threads;
    iface->schedule = schedule;
    iface->get_flags = get_flags;
    iface->release = num_threads ? release : nullptr;
    return dnnl_tp_success;
}
