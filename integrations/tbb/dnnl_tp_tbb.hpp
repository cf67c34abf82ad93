// A oneTBB arena, offered to dnnl_tp. Form S: the library splits its loops itself and asks the arena for
// helpers; its own thread waits in the library, so it never picks up foreign tasks while it holds scratch of
// a loop.
//
// Helpers of a run come from an arena of low priority, so that they are workers which the host leaves idle:
// in the host's own arena they would take turns with its tasks. Both arenas together stay within what the
// process allows TBB; an arena that is smaller than that is a budget of its own, and gets the helpers itself.
//
// A run of a graph leaves the arena clean: before it completes, every helper that it asked for has been
// called (common/dnnl_tp_run_helpers.hpp); what stays behind in the arena is an empty task, which the
// destructor waits for. Next: doc/howto/adapt_pool.md.
#ifndef DNNL_TP_TBB_HPP
#define DNNL_TP_TBB_HPP

#include <algorithm>
#include <atomic>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "common/dnnl_tp_run_helpers.hpp"
#include "dnnl_tp/dnnl_tp_threadpool.h"

namespace dnnl_tp {

class tbb_pool {
  public:
    explicit tbb_pool(tbb::task_arena &arena)
        : arena_(arena),
          low_((arena.initialize(), arena.max_concurrency()), 1, tbb::task_arena::priority::low) {}
    // After everything of the library that holds the pool is destroyed and dnnl_tp_threadpool_quiesce()
    // returned.
    ~tbb_pool() {
        low_.execute([this] { calls_.wait(); });
    }
    // Threads of the arena that the process may have at this moment.
    int size() const { return std::min(allowed(), arena_.max_concurrency()); }
    int schedule(void *run, dnnl_tp_task_fn_t fn, void *arg) noexcept {
        if (size() < 2) return -1; // TBB would start another thread for it, beyond what it was allowed
        try {
            if (!run) return arena_.enqueue([fn, arg] { fn(arg); }), 0;
            if (waiting_.load() >= size()) return -1; // none of the threads is idle
            run_helpers::schedule(run, fn, arg, [this](auto call) { call_idle(call); });
            return 0;
        } catch (...) { // no memory: the library does the work without this helper
            return -1;
        }
    }

  private:
    static int allowed() {
        using control = tbb::global_control;
        return static_cast<int>(control::active_value(control::max_allowed_parallelism));
    }
    template <typename Call> void call_idle(Call call) {
        (arena_.max_concurrency() < allowed() ? arena_ : low_).enqueue(calls_.defer([this, call] {
            waiting_.fetch_sub(1);
            call();
        }));
        waiting_.fetch_add(1);
    }
    tbb::task_arena &arena_;
    tbb::task_arena low_;
    tbb::task_group calls_;
    std::atomic<int> waiting_{0}; // calls that no thread has begun
};

// The glue. The struct may be made as often as needed.
inline dnnl_tp_threadpool_iface_t make_iface(tbb_pool &pool) {
    dnnl_tp_threadpool_iface_t iface = {};
    iface.struct_size = sizeof iface;
    iface.ctx = &pool;
    iface.get_num_threads = [](void *ctx) noexcept { return static_cast<tbb_pool *>(ctx)->size(); };
    iface.schedule = [](void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) noexcept {
        return static_cast<tbb_pool *>(ctx)->schedule(run, fn, arg);
    };
    iface.run_begin = run_helpers::run_begin;
    iface.run_end = run_helpers::run_end;
    return iface;
}

} // namespace dnnl_tp

#endif
