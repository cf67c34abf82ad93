/* Eigen's ThreadPool: each node that becomes ready is scheduled. */
#define EIGEN_USE_THREADS
#include <unsupported/Eigen/CXX11/ThreadPool>

#include <atomic>
#include <memory>
#include <vector>

#include "exec_bench.h"

namespace {
struct Side {
    eb_job_t job;
    Eigen::ThreadPool pool;
    std::vector<std::vector<int>> after;
    std::vector<int> nbefore, roots;
    std::unique_ptr<std::atomic<int>[]> left;
    std::atomic<int> open;
    Eigen::Notification *done;

    explicit Side(const eb_job_t &j)
        : job(j), pool(j.threads), after(j.graph->n), nbefore(j.graph->n),
          left(new std::atomic<int>[j.graph->n]) {
        for (int i = 0; i < j.graph->nedges; ++i) {
            after[j.graph->edge[i][0]].push_back(j.graph->edge[i][1]);
            ++nbefore[j.graph->edge[i][1]];
        }
        for (int i = 0; i < j.graph->n; ++i)
            if (nbefore[i] == 0) roots.push_back(i);
    }
    void node(int i) {
        job.kernel(&job.nodes[i]);
        for (int a : after[i])
            if (left[a].fetch_sub(1, std::memory_order_acq_rel) == 1) pool.Schedule([this, a] { node(a); });
        if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) done->Notify();
    }
    void run() {
        Eigen::Notification end;
        done = &end;
        for (int i = 0; i < job.graph->n; ++i) left[i].store(nbefore[i], std::memory_order_relaxed);
        open = job.graph->n;
        for (int r : roots) pool.Schedule([this, r] { node(r); });
        end.Wait();
    }
};
} // namespace

const eb_side_t eb_side_eigen = {"eigen", [](const eb_job_t *j) -> void * { return new Side(*j); },
                                 [](void *p) { static_cast<Side *>(p)->run(); }, nullptr,
                                 [](void *p) { delete static_cast<Side *>(p); }};
