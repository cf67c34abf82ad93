// A pool of C++ std::threads, offered to dnnl_tp: copy it, or take the glue at the end for a pool you have.
// Form S: the library splits its loops itself and asks for helpers; a helper that comes late finds nothing to
// do. Construct it with the number of threads that may compute at once; the thread that calls the library is
// one of them, so while it works one of the pool's has nothing to do. Next: doc/howto/adapt_pool.md.
#ifndef DNNL_TP_STD_THREAD_HPP
#define DNNL_TP_STD_THREAD_HPP

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "dnnl_tp/dnnl_tp_threadpool.h"

namespace dnnl_tp {

class std_thread_pool {
  public:
    explicit std_thread_pool(int threads) {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    }
    ~std_thread_pool() { // what is queued is called first: the library counts on it
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        for (auto &thread : threads_) thread.join();
    }
    int size() const { return static_cast<int>(threads_.size()); }
    void submit(dnnl_tp_task_fn_t fn, void *arg) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push_back({fn, arg});
        }
        wake_.notify_one();
    }

  private:
    struct task {
        dnnl_tp_task_fn_t fn;
        void *arg;
    };
    void work() {
        for (std::unique_lock<std::mutex> lock(mutex_);;) {
            wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            task next = tasks_.front();
            tasks_.pop_front();
            lock.unlock();
            next.fn(next.arg);
            lock.lock();
        }
    }
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<task> tasks_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

// The glue. The struct may be made as often as needed; the pool lives until everything that holds it is
// destroyed and dnnl_tp_threadpool_quiesce() returned.
inline dnnl_tp_threadpool_iface_t make_iface(std_thread_pool &pool) {
    dnnl_tp_threadpool_iface_t iface = {};
    iface.struct_size = sizeof iface;
    iface.ctx = &pool;
    iface.get_num_threads = [](void *ctx) noexcept { return static_cast<std_thread_pool *>(ctx)->size(); };
    iface.schedule = [](void *ctx, void *, dnnl_tp_task_fn_t fn, void *arg) noexcept {
        try {
            static_cast<std_thread_pool *>(ctx)->submit(fn, arg);
            return 0;
        } catch (...) { // no memory: the library does the work without this helper
            return -1;
        }
    };
    return iface;
}

} // namespace dnnl_tp

#endif
