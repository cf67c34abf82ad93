/* oneTBB's flow graph: a continue_node for each node. */
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <deque>
#include <memory>
#include <vector>

#include "exec_bench.h"

namespace {
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
struct Side {
    tbb::global_control limit; /* also allows more threads than processors */
    tbb::task_arena arena;
    std::vector<Node *> roots;
    std::unique_ptr<tbb::flow::graph> graph;
    std::deque<Node> nodes;

    explicit Side(const eb_job_t &j)
        : limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(j.threads)),
          arena(j.threads) {
        /* The graph belongs to the arena in which it is made. */
        arena.execute([&] { graph.reset(new tbb::flow::graph); });
        for (int i = 0; i < j.graph->n; ++i) {
            eb_node_t *n = &j.nodes[i];
            eb_kernel_t kernel = j.kernel;
            nodes.emplace_back(*graph, [n, kernel](const tbb::flow::continue_msg &) { kernel(n); });
        }
        std::vector<char> has(j.graph->n);
        for (int i = 0; i < j.graph->nedges; ++i) {
            tbb::flow::make_edge(nodes[j.graph->edge[i][0]], nodes[j.graph->edge[i][1]]);
            has[j.graph->edge[i][1]] = 1;
        }
        for (int i = 0; i < j.graph->n; ++i)
            if (!has[i]) roots.push_back(&nodes[i]);
    }
    ~Side() {
        nodes.clear();
        arena.execute([&] { graph.reset(); });
    }
    void run() {
        arena.execute([&] {
            for (Node *n : roots) n->try_put(tbb::flow::continue_msg());
            graph->wait_for_all();
        });
    }
};
} // namespace

const eb_side_t eb_side_tbb = {"tbb", [](const eb_job_t *j) -> void * { return new Side(*j); },
                               [](void *p) { static_cast<Side *>(p)->run(); }, nullptr,
                               [](void *p) { delete static_cast<Side *>(p); }};
