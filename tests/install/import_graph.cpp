// A program that imports a graph with Switch and Merge: |x| where p is not 0, else x.
#include <switch_merge/dnnl_tp_switch_merge.hpp>
#include <cstdio>

using namespace dnnl_tp;

static dnnl_tp_v1_node_t node(const char *name, dnnl_tp_v1_kind_t kind, std::vector<const char *> &in) {
    dnnl_tp_v1_node_t n = {};
    n.name = name;
    n.kind = kind;
    n.nin = static_cast<int>(in.size());
    n.in = in.data();
    return n;
}

int main() {
    try {
        std::vector<const char *> none, split = {"x", "p"}, to_abs = {"s:1"}, join = {"s:0", "abs"};
        dnnl_tp_v1_node_t x = node("x", dnnl_tp_v1_input, none), p = node("p", dnnl_tp_v1_input, none);
        dnnl_tp_v1_node_t abs = node("abs", dnnl_tp_v1_op, to_abs);
        x.info = tensor_info(dnnl_tp_f32, {2});
        p.info = tensor_info(dnnl_tp_s32, {});
        abs.op = dnnl_tp_op_abs;
        const graph g = import_v1(
            {x, p, node("s", dnnl_tp_v1_switch, split), abs, node("m", dnnl_tp_v1_merge, join)}, {"m"});
        engine e(engine::kind::cpu, 0);
        stream s(e);
        const executable run(g, e);
        float from[2] = {-1, 2}, to[2] = {0, 0};
        int32_t yes = 1, no = 0;
        run.run(s, {from, &yes}, {to});
        if (to[0] != 1 || to[1] != 2) return 1;
        run.run(s, {from, &no}, {to});
        return to[0] == -1 && to[1] == 2 ? 0 : 1;
    } catch (const error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
