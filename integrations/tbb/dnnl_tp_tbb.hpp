// A oneTBB arena, offered to dnnl_tp. Form S: the library splits its loops itself and asks the arena for
// helpers; its own thread waits in the library, so it never picks up foreign tasks while it holds scratch of
// a loop.
//
// Helpers of a run come from an arena of low priority, so that they are workers which the host leaves idle:
// in the host's own arena they would take turns with its tasks. Both arenas together stay within what the
// process allows TBB; an arena that is smaller than that is a budget of its own, and gets the helpers itself.
//
// A run of a graph leaves the arena clean: before it completes, every helper that it asked for has been
// called. Those that the arena has not begun are called by run_end itself (they find nothing to do and return
// at once), so a run never waits for the host's queue; what stays behind in the arena is an empty task, which
// the destructor waits for. Next: doc/howto/adapt_pool.md.
#ifndef DNNL_TP_TBB_HPP
#define DNNL_TP_TBB_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"

namespace dnnl_tp {

class tbb_pool {
  public:
    explicit tbb_pool(tbb::task_arena &arena)
        : arena_(arena), low_(concurrency_of(arena), 1, tbb::task_arena::priority::low) {
        low_.initialize();
    }
    // After everything of the library that holds the pool is destroyed and dnnl_tp_threadpool_quiesce()
    // returned.
    ~tbb_pool() {
        arena_.execute([this] { group_.wait(); });
        low_.execute([this] { low_group_.wait(); });
    }
    // Threads of the arena that the process may have at this moment.
    int size() const { return std::min(allowed(), arena_.max_concurrency()); }
    // One thread: TBB would start another one for what is enqueued, beyond what it was allowed.
    int schedule(void *run, dnnl_tp_task_fn_t fn, void *arg) {
        if (size() < 2) return -1;
        if (run) return (*static_cast<std::shared_ptr<run_tasks> *>(run))->schedule(*this, fn, arg);
        arena_.enqueue(group_.defer([fn, arg] { fn(arg); }));
        return 0;
    }
    dnnl_tp_threadpool_iface_t iface();

  private:
    static int allowed() {
        return static_cast<int>(
            tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
    }
    static int concurrency_of(tbb::task_arena &arena) {
        arena.initialize();
        return arena.max_concurrency();
    }
    // false: as many wait as there are threads, so none of them is idle.
    template <typename F> bool enqueue_helper(F helper) {
        if (waiting_.fetch_add(1) >= size()) return waiting_.fetch_sub(1), false;
        auto task = [this, helper] {
            waiting_.fetch_sub(1);
            helper();
        };
        try {
            if (arena_.max_concurrency() < allowed()) arena_.enqueue(group_.defer(task));
            else low_.enqueue(low_group_.defer(task));
        } catch (...) { // no memory
            return waiting_.fetch_sub(1), false;
        }
        return true;
    }
    struct run_tasks : std::enable_shared_from_this<run_tasks> {
        struct task {
            dnnl_tp_task_fn_t fn;
            void *arg;
            std::atomic<bool> called{false};
        };
        std::array<task, 64> tasks; // a run that asks for more goes without
        std::atomic<std::size_t> count{0};
        std::atomic<int> open{1}; // tasks that were not called to their end, and run_end
        dnnl_tp_task_fn_t done = nullptr;
        void *done_arg = nullptr;

        int schedule(tbb_pool &pool, dnnl_tp_task_fn_t fn, void *arg) {
            std::size_t i = count.fetch_add(1);
            if (i >= tasks.size()) return -1;
            tasks[i].fn = fn;
            tasks[i].arg = arg;
            open.fetch_add(1);
            if (!pool.enqueue_helper([self = shared_from_this(), i] { self->call(i); })) {
                tasks[i].called = true; // run_end still holds the count above zero
                open.fetch_sub(1);
                return -1;
            }
            return 0;
        }
        void call(std::size_t i) {
            if (tasks[i].called.exchange(true)) return;
            tasks[i].fn(tasks[i].arg);
            close();
        }
        void close() {
            if (open.fetch_sub(1) == 1) done(done_arg);
        }
    };
    tbb::task_arena &arena_;
    tbb::task_arena low_;
    tbb::task_group group_, low_group_;
    std::atomic<int> waiting_{0}; // helpers that no thread has begun
};

inline dnnl_tp_threadpool_iface_t tbb_pool::iface() {
    dnnl_tp_threadpool_iface_t iface = {};
    iface.struct_size = sizeof iface;
    iface.ctx = this;
    iface.get_num_threads = [](void *ctx) noexcept { return static_cast<tbb_pool *>(ctx)->size(); };
    iface.schedule = [](void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) noexcept {
        try {
            return static_cast<tbb_pool *>(ctx)->schedule(run, fn, arg);
        } catch (...) { // no memory: the library does the work without this helper
            return -1;
        }
    };
    iface.run_begin = [](void *, uint64_t, void **run) noexcept {
        try {
            *run = new std::shared_ptr<run_tasks>(std::make_shared<run_tasks>());
            return 0;
        } catch (...) {
            return -1;
        }
    };
    iface.run_end = [](void *, void *run, int, int, dnnl_tp_task_fn_t done, void *done_arg) noexcept {
        auto *holder = static_cast<std::shared_ptr<run_tasks> *>(run);
        std::shared_ptr<run_tasks> tasks = std::move(*holder);
        delete holder;
        tasks->done = done;
        tasks->done_arg = done_arg;
        for (std::size_t i = 0, n = std::min(tasks->count.load(), tasks->tasks.size()); i < n; ++i)
            tasks->call(i);
        tasks->close();
    };
    return iface;
}

} // namespace dnnl_tp

#endif
