/* The C++ classes over the C API: graphs. */
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "support/check.hpp"
#include "switch_merge/dnnl_tp_switch_merge.hpp"

namespace t = dnnl_tp;

namespace {

void assert_close(const float *got, const std::vector<float> &want, float tolerance = 1e-5f) {
    for (std::size_t i = 0; i < want.size(); ++i)
        if (!(std::fabs(got[i] - want[i]) <= tolerance * (1.0f + std::fabs(want[i]))))
            fail_msg("element %zu: got %g, want %g", i, static_cast<double>(got[i]),
                     static_cast<double>(want[i]));
}

struct fixture {
    t::engine e;
    t::stream s{e};
};

/* y = relu(x * w) + h(x), h a function of the program. */
void test_graph(void **) {
    fixture f;
    t::graph g;
    const float w[6] = {1, -1, 0, 1, 0, 0};
    const t::value x = g.input("x", dnnl_tp_f32, {DNNL_TP_RUNTIME_DIM_VAL, 2});
    const t::value wv = g.constant("w", dnnl_tp_f32, {2, 2}, w);
    t::op_attrs attrs;
    attrs.set(dnnl_tp_op_attr_transpose_b, false);
    const t::value mm = g.op(dnnl_tp_op_matmul, "mm", {x, wv}, attrs);
    const t::value relu = g.op(dnnl_tp_op_relu, "relu", {mm});
    g.output(relu, "y");
    assert_int_equal(g.info(relu).ndims, 2);
    ASSERT_STATUS(dnnl_tp_invalid_shape,
                  g.op(dnnl_tp_op_matmul, "bad", {x, g.constant("c", dnnl_tp_f32, {3, 2}, w)}));
    const std::vector<dnnl_tp_tensor_info_t> shapes = {t::tensor_info(dnnl_tp_f32, {2, 2})};
    const t::executable ex = t::executable::for_pool(g, f.e, shapes, t::stream_attr());
    assert_int_equal(ex.query(relu).dims[0], 2);
    assert_true(ex.memory().run >= ex.memory().peak);
    float in[4] = {1, 2, 3, 4}, out[4] = {0};
    ex.run(f.s, {in}, {out});
    assert_close(out, {1, 1, 3, 1});
    dnnl_tp_timed_run_opts_t few = {};
    few.struct_size = sizeof few;
    few.max_warm_runs = 20;
    const dnnl_tp_timing_t timing = ex.timed_run(f.s, {in}, {out}, &few);
    assert_true(timing.warm_runs >= 10 && timing.warm_runs <= 20 && timing.min_ns <= timing.median_ns);
}

/* What was written is read again. */
void test_file(void **) {
    fixture f;
    char path[] = "/tmp/dnnl_tp_graph_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    t::graph g;
    g.output(g.op(dnnl_tp_op_exp, "e", {g.input("x", dnnl_tp_f32, {3})}), "y");
    g.write(path);
    std::ifstream in_file(path);
    const std::string text{std::istreambuf_iterator<char>(in_file), std::istreambuf_iterator<char>()};
    const t::graph copies[] = {t::graph::read(path), t::graph::read_text(text)};
    unlink(path);
    for (const t::graph &copy : copies) {
        const t::executable ex(copy, f.e);
        float in[3] = {0, 1, 2}, out[3] = {0};
        ex.run(f.s, {in}, {out});
        assert_close(out, {1.0f, std::exp(1.0f), std::exp(2.0f)});
    }
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::graph::read(path));
    ASSERT_STATUS(dnnl_tp_invalid_graph, t::graph::read_text("no graph"));
    ASSERT_STATUS(dnnl_tp_invalid_arguments, g.write("/none/graph", DNNL_TP_GRAPH_DOT));
}

/* Inputs and outputs by their names; a graph of Switch and Merge. */
void test_names_and_import(void **) {
    fixture f;
    t::graph g;
    const t::value x = g.input("x", dnnl_tp_f32, {3});
    g.output(g.op(dnnl_tp_op_exp, "e", {x}), "y");
    g.output(x, "z");
    assert_int_equal(g.inputs().size(), 1);
    assert_true(g.inputs()[0].name == "x" && g.inputs()[0].number == x);
    assert_true(g.outputs().size() == 2 && g.outputs()[1].name == "z" && g.outputs()[1].number == x);
}

void test_import_v1(void **) {
    fixture f;
    const char *const to_abs[] = {"in"};
    dnnl_tp_v1_node_t in = {}, abs = {};
    in.name = "in";
    in.kind = dnnl_tp_v1_input;
    in.info = t::tensor_info(dnnl_tp_f32, {2});
    abs.name = "abs";
    abs.kind = dnnl_tp_v1_op;
    abs.op = dnnl_tp_op_abs;
    abs.nin = 1;
    abs.in = to_abs;
    const t::graph imported = t::import_v1({in, abs}, {"abs"});
    float from[2] = {-1, 2}, to[2] = {0, 0};
    t::executable(imported, f.e).run(f.s, {from}, {to});
    assert_true(to[0] == 1 && to[1] == 2);
    ASSERT_STATUS(dnnl_tp_invalid_graph, t::import_v1({abs}, {"abs"}));
}

void test_trace(void **) {
    fixture f;
    t::graph g;
    g.output(g.op(dnnl_tp_op_exp, "e", {g.input("x", dnnl_tp_f32, {3})}), "y");
    const t::executable ex(g, f.e);
    t::trace trace = t::trace::create(100);
    f.s.set_trace(trace, "s");
    float in[3] = {0, 0, 0}, out[3] = {0};
    for (int i = 0; i < 3; ++i) {
        trace.set_enabled(i != 1);
        ex.run(f.s, {in}, {out});
    }
    trace.record("own", 1, 2);
    f.s.set_trace(t::trace());
    ex.run(f.s, {in}, {out});
    assert_int_equal(trace.info().events, 5);
    const std::vector<dnnl_tp_trace_stat_t> stats = trace.stats();
    assert_int_equal(stats.size(), 3);
    for (const dnnl_tp_trace_stat_t &row : stats)
        assert_int_equal(row.count, row.kind == dnnl_tp_trace_span ? 1 : 2);
    trace.write("/dev/null");
    ASSERT_STATUS(dnnl_tp_invalid_arguments, trace.write("/none/trace.json"));
}

void test_graph_host_function(void **) {
    fixture f;
    t::graph g;
    const t::value x = g.input("x", dnnl_tp_f32, {3});
    const float factor = 3.0f;
    const std::vector<t::value> h =
        g.host("triple", {x}, {t::tensor_info(dnnl_tp_f32, {3})},
               [factor](const dnnl_tp_host_arg_t *in, const dnnl_tp_host_arg_t *out) {
                   for (int i = 0; i < 3; ++i)
                       static_cast<float *>(out->data)[i] = factor * static_cast<const float *>(in->data)[i];
               });
    g.output(h[0], "y");
    const t::executable ex(g, f.e);
    float in[3] = {1, 2, 3}, out[3] = {0};
    ex.run(f.s, {in}, {out});
    assert_close(out, {3, 6, 9});
    t::graph endless;
    endless.output(
        endless.host("endless", {}, {t::tensor_info(dnnl_tp_f32, {1})},
                     [](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *, t::should_stop stop) {
                         while (!stop()) {
                         }
                     })[0],
        "y");
    const t::executable endless_ex(endless, f.e);
    dnnl_tp_run_opts_t soon = {};
    soon.struct_size = sizeof soon;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    soon.deadline_ns = std::chrono::nanoseconds(now).count() + 2000000;
    ASSERT_STATUS(dnnl_tp_deadline_exceeded, endless_ex.run(f.s, {}, {out}, &soon));
    /* One that waits for the program: it says so. */
    t::event gate = t::event::host(f.e);
    t::graph waits;
    waits.output(waits.host(
                     "waits", {}, {t::tensor_info(dnnl_tp_f32, {1})},
                     [&gate](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *to) {
                         gate.wait();
                         *static_cast<float *>(to->data) = 5.0f;
                     },
                     DNNL_TP_HOST_MAY_BLOCK)[0],
                 "y");
    gate.signal();
    t::executable(waits, f.e).run(f.s, {}, {out});
    assert_true(out[0] == 5.0f);
    ASSERT_STATUS(
        dnnl_tp_invalid_arguments,
        waits.host(
            "unknown", {}, {}, [](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *) {}, 1u << 30));
    /* A loop inside a closure, on the run's threads. */
    t::graph loops;
    loops.set_name("loops");
    loops.output(
        loops.host("squares", {}, {t::tensor_info(dnnl_tp_f32, {3})},
                   [](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *to, t::should_stop stop) {
                       float *y = static_cast<float *>(to->data);
                       stop.parallel_for(3, [y](std::int64_t begin, std::int64_t end) {
                           for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(i * i);
                       });
                   })[0],
        "y");
    t::executable(loops, f.e).run(f.s, {}, {out});
    assert_close(out, {0, 1, 4});
    t::graph bad;
    const t::value y = bad.input("y", dnnl_tp_f32, {1});
    bad.output(bad.host("throws", {y}, {t::tensor_info(dnnl_tp_f32, {1})},
                        [](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *) { throw 7; })[0],
               "z");
    const t::executable bad_ex(bad, f.e);
    ASSERT_STATUS(dnnl_tp_runtime_error, bad_ex.run(f.s, {in}, {out}));
    /* What an exception says is in the text of the run. */
    t::graph says;
    says.output(says.host("prices", {}, {t::tensor_info(dnnl_tp_f32, {1})},
                          [](const dnnl_tp_host_arg_t *, const dnnl_tp_host_arg_t *) {
                              throw std::runtime_error("row 7 is empty");
                          })[0],
                "z");
    try {
        t::executable(says, f.e).run(f.s, {}, {out});
        fail();
    } catch (const t::error &e) {
        assert_int_equal(e.status, dnnl_tp_runtime_error);
        if (std::strstr(e.what(), "row 7 is empty") == nullptr) fail_msg("%s", e.what());
    }
    const t::event event = t::event::host(f.e);
    t::event(event).signal(t::status::runtime_error, "the camera is off");
    if (event.error_text().find("the camera is off") == std::string::npos)
        fail_msg("%s", event.error_text().c_str());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_names_and_import),
        cmocka_unit_test(test_import_v1),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_graph_host_function),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
