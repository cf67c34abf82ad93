/** @file
 * Import of graphs with Switch, Merge, Enter and Exit in C++; dnnl_tp_switch_merge.h says which library a program
 * links. */
#ifndef DNNL_TP_SWITCH_MERGE_HPP
#define DNNL_TP_SWITCH_MERGE_HPP

#include <vector>

#include "dnnl_tp/dnnl_tp_graph.hpp"
#include "switch_merge/dnnl_tp_switch_merge.h"

namespace dnnl_tp {

/** A graph from nodes with Switch, Merge, Enter, Exit: dnnl_tp_graph_import_v1(). */
inline graph import_v1(const std::vector<dnnl_tp_v1_node_t> &nodes, const std::vector<const char *> &outputs,
                       const std::vector<const char *> &targets = {},
                       detail::either<engine::kind> kind = dnnl_tp_cpu) {
    dnnl_tp_graph_t h = nullptr;
    check(dnnl_tp_graph_import_v1(&h, kind, static_cast<int>(nodes.size()), nodes.data(),
                                  static_cast<int>(outputs.size()), outputs.data(),
                                  static_cast<int>(targets.size()), targets.data()));
    return graph(h);
}

} // namespace dnnl_tp

#endif
