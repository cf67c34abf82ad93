// Counts down to zero; wait() sleeps until then. What C++20 calls std::latch.
#ifndef INTEGRATIONS_LATCH_HPP
#define INTEGRATIONS_LATCH_HPP

#include <condition_variable>
#include <mutex>

class latch {
  public:
    explicit latch(int count) : count_(count) {}
    void count_down() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (--count_ == 0) zero_.notify_all();
    }
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        zero_.wait(lock, [this] { return count_ == 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable zero_;
    int count_;
};

#endif
