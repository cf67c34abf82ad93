// For adapters whose host wants its pool clean after each run of a graph: before a run completes, every
// helper that it asked for has been called and has returned. Those that the pool has not begun are called by
// run_end itself (they find nothing to do and return at once), so that a run never waits for the host's
// queue; what stays behind in the pool is an empty call. Knows no pool. Used by tbb/dnnl_tp_tbb.hpp.
#ifndef DNNL_TP_RUN_HELPERS_HPP
#define DNNL_TP_RUN_HELPERS_HPP

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "dnnl_tp/dnnl_tp_threadpool.h"

namespace dnnl_tp {

class run_helpers {
  public:
    // Members run_begin and run_end of the pool. The run's cookie is one of these.
    static int run_begin(void *, uint64_t, void **run) noexcept {
        try {
            *run = new self_ptr(std::make_shared<run_helpers>());
            return 0;
        } catch (...) { // no memory
            return -1;
        }
    }
    static void run_end(void *, void *run, int, int, dnnl_tp_task_fn_t done, void *done_arg) noexcept {
        const std::unique_ptr<self_ptr> self(static_cast<self_ptr *>(run));
        (*self)->done_ = {done, done_arg};
        while ((*self)->call_one()) {
        }
        (*self)->close();
    }
    // For the member schedule: enqueue(call) shall give call, a function without arguments that may be copied
    // and is to be called once, to the pool. Where it throws, run_end calls the helper. Throws on its own: fn
    // will not be called.
    template <typename Enqueue>
    static void schedule(void *run, dnnl_tp_task_fn_t fn, void *arg, Enqueue enqueue) {
        const self_ptr self = *static_cast<self_ptr *>(run);
        {
            std::lock_guard<std::mutex> lock(self->mutex_);
            self->waiting_.push_back({fn, arg});
            self->open_.fetch_add(1);
        }
        try {
            enqueue([self] { self->call_one(); });
        } catch (...) {
        }
    }

  private:
    struct task {
        dnnl_tp_task_fn_t fn;
        void *arg;
    };
    using self_ptr = std::shared_ptr<run_helpers>; // calls may come when the run is long over
    bool call_one() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (waiting_.empty()) return false;
        const task next = waiting_.back();
        waiting_.pop_back();
        lock.unlock();
        next.fn(next.arg);
        close();
        return true;
    }
    void close() {
        if (open_.fetch_sub(1) == 1) done_.fn(done_.arg);
    }
    std::mutex mutex_;
    std::vector<task> waiting_; // under the mutex: helpers that nobody has begun
    std::atomic<int> open_{1};  // helpers that have not returned, and run_end
    task done_{};
};

} // namespace dnnl_tp

#endif
