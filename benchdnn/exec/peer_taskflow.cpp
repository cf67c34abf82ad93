/* Taskflow: a task for each node. */
#include <taskflow/taskflow.hpp>

#include <vector>

#include "exec_bench.h"

namespace {
struct Side {
    tf::Executor executor;
    tf::Taskflow flow;

    explicit Side(const eb_job_t &j) : executor(static_cast<size_t>(j.threads)) {
        std::vector<tf::Task> tasks;
        for (int i = 0; i < j.graph->n; ++i) {
            eb_node_t *n = &j.nodes[i];
            eb_kernel_t kernel = j.kernel;
            tasks.push_back(flow.emplace([n, kernel] { kernel(n); }));
        }
        for (int i = 0; i < j.graph->nedges; ++i)
            tasks[j.graph->edge[i][0]].precede(tasks[j.graph->edge[i][1]]);
    }
};
} // namespace

const eb_side_t eb_side_taskflow = {"taskflow", [](const eb_job_t *j) -> void * { return new Side(*j); },
                                    [](void *p) {
                                        Side *s = static_cast<Side *>(p);
                                        s->executor.run(s->flow).wait();
                                    },
                                    nullptr, [](void *p) { delete static_cast<Side *>(p); }};
