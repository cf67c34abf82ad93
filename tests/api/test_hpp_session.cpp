// Sessions through the C++ header.
#include <cstdio>

#include "dnnl_tp/dnnl_tp_session.hpp"

using namespace dnnl_tp;

#define REQUIRE(c)                                          \
    do {                                                    \
        if (!(c)) {                                         \
            std::fprintf(stderr, "%d: %s\n", __LINE__, #c); \
            return 1;                                       \
        }                                                   \
    } while (0)

int main() {
    engine e(dnnl_tp_cpu, 0);
    graph g(dnnl_tp_cpu);
    value x = g.input("x", dnnl_tp_f32, {3});
    value y = g.op(dnnl_tp_op_relu, "y", {x});
    g.output(y, "result");
    dnnl_tp_session_opts_t opts = {};
    opts.struct_size = sizeof opts;
    opts.per_session_threads = 1;
    opts.num_threads = 1;
    session s(g, e, &opts);
    float in[3] = {-1, 0, 2}, out[3], again[3];
    s.run({{"x", nullptr, in}}, {{"result", out}});
    REQUIRE(out[0] == 0 && out[2] == 2);
    callable c(s, {{"x", nullptr, nullptr}}, {"y"});
    REQUIRE(c.query(0).dims[0] == 3);
    c.run({in}, {again});
    REQUIRE(again[0] == 0 && again[2] == 2);
    REQUIRE(s.query().compilations == 1);
    const session same = s; // shared, and as good as the first
    out[2] = 0;
    same.run({{"x", nullptr, in}}, {{"result", out}});
    REQUIRE(out[2] == 2 && same.query().runs == s.query().runs);
    const std::vector<const void *> feeds = {in};
    const std::vector<void *> fetches = {again};
    again[2] = 0;
    c.run(feeds, fetches);
    REQUIRE(again[2] == 2);
    bool refused = false;
    try {
        s.run({}, {{"nobody", out}});
    } catch (const error &err) {
        refused = err.status() == dnnl_tp_invalid_arguments;
    }
    REQUIRE(refused);
    s.close();
    return 0;
}
