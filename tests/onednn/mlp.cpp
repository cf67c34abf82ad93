// A program for oneDNN: a perceptron of two layers with a softmax behind it, built the way inference programs are:
// the library chooses the layouts, weights are reordered once, primitives and their arguments stand in two vectors.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_debug.h"

using namespace dnnl;
using tag = memory::format_tag;
using dt = memory::data_type;

namespace {

constexpr memory::dim batch = 5, inputs = 37, hidden = 64, classes = 10;

std::vector<float> numbers(memory::dim n, float scale, int seed) {
    std::vector<float> v(static_cast<std::size_t>(n));
    unsigned x = static_cast<unsigned>(seed) * 2654435761u + 1u;
    for (float &e : v) {
        x = x * 1664525u + 1013904223u;
        e = scale * (static_cast<float>(x >> 8) / 8388608.0f - 1.0f);
    }
    return v;
}

// What the network computes, by plain loops.
std::vector<float> layer(const std::vector<float> &x, const std::vector<float> &w,
                         const std::vector<float> &b, memory::dim ic, memory::dim oc, bool relu) {
    std::vector<float> y(static_cast<std::size_t>(batch * oc));
    for (memory::dim n = 0; n < batch; ++n)
        for (memory::dim o = 0; o < oc; ++o) {
            double sum = b.empty() ? 0.0 : b[static_cast<std::size_t>(o)];
            for (memory::dim i = 0; i < ic; ++i)
                sum += static_cast<double>(x[static_cast<std::size_t>(n * ic + i)]) *
                       w[static_cast<std::size_t>(o * ic + i)];
            y[static_cast<std::size_t>(n * oc + o)] = static_cast<float>(relu && sum < 0 ? 0.0 : sum);
        }
    return y;
}

void softmax(std::vector<float> &x) {
    for (memory::dim n = 0; n < batch; ++n) {
        float *row = x.data() + n * classes, largest = row[0], sum = 0;
        for (memory::dim c = 1; c < classes; ++c) largest = std::fmax(largest, row[c]);
        for (memory::dim c = 0; c < classes; ++c) sum += row[c] = std::exp(row[c] - largest);
        for (memory::dim c = 0; c < classes; ++c) row[c] /= sum;
    }
}

void run(engine::kind kind) {
    engine eng(kind, 0);
    stream s(eng);
    std::vector<primitive> net;
    std::vector<std::unordered_map<int, memory>> net_args;

    std::vector<float> x = numbers(batch * inputs, 1.0f, 1), w1 = numbers(hidden * inputs, 0.3f, 2),
                       b1 = numbers(hidden, 0.1f, 3), w2 = numbers(classes * hidden, 0.3f, 4);

    auto x_md = memory::desc({batch, inputs}, dt::f32, tag::nc);
    auto b1_md = memory::desc({hidden}, dt::f32, tag::a);
    auto x_mem = memory(x_md, eng, x.data());
    auto b1_mem = memory(b1_md, eng, b1.data());
    auto w1_user = memory({{hidden, inputs}, dt::f32, tag::oi}, eng, w1.data());
    auto w2_user = memory({{classes, hidden}, dt::f32, tag::oi}, eng, w2.data());

    // The first layer: relu is part of it.
    post_ops ops;
    ops.append_eltwise(algorithm::eltwise_relu, 0.0f, 0.0f);
    primitive_attr attr;
    attr.set_post_ops(ops);
    auto pd1 = inner_product_forward::primitive_desc(eng, prop_kind::forward_inference, x_md,
                                                     memory::desc({hidden, inputs}, dt::f32, tag::any), b1_md,
                                                     memory::desc({batch, hidden}, dt::f32, tag::any), attr);
    memory w1_mem = w1_user;
    if (pd1.weights_desc() != w1_user.get_desc()) {
        w1_mem = memory(pd1.weights_desc(), eng);
        reorder(w1_user, w1_mem).execute(s, w1_user, w1_mem);
    }
    memory h_mem(pd1.dst_desc(), eng);
    net.push_back(inner_product_forward(pd1));
    net_args.push_back(
        {{DNNL_ARG_SRC, x_mem}, {DNNL_ARG_WEIGHTS, w1_mem}, {DNNL_ARG_BIAS, b1_mem}, {DNNL_ARG_DST, h_mem}});

    // The second layer has no bias.
    auto pd2 = inner_product_forward::primitive_desc(eng, prop_kind::forward_inference, pd1.dst_desc(),
                                                     memory::desc({classes, hidden}, dt::f32, tag::any),
                                                     memory::desc({batch, classes}, dt::f32, tag::nc));
    memory w2_mem = w2_user;
    if (pd2.weights_desc() != w2_user.get_desc()) {
        w2_mem = memory(pd2.weights_desc(), eng);
        auto packing = reorder(w2_user, w2_mem);
        packing.execute(s, {{DNNL_ARG_FROM, w2_user}, {DNNL_ARG_TO, w2_mem}});
    }
    memory y_mem(pd2.dst_desc(), eng);
    net.push_back(inner_product_forward(pd2));
    net_args.push_back({{DNNL_ARG_SRC, h_mem}, {DNNL_ARG_WEIGHTS, w2_mem}, {DNNL_ARG_DST, y_mem}});

    // In place.
    auto pd3 = softmax_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::softmax_accurate,
                                               y_mem.get_desc(), y_mem.get_desc(), 1);
    net.push_back(softmax_forward(pd3));
    net_args.push_back({{DNNL_ARG_SRC, y_mem}, {DNNL_ARG_DST, y_mem}});

    if (net.size() != net_args.size()) throw std::logic_error("the network is not what it should be");
    for (std::size_t i = 0; i < net.size(); ++i) net.at(i).execute(s, net_args.at(i));
    s.wait();

    std::vector<float> want = layer(layer(x, w1, b1, inputs, hidden, true), w2, {}, hidden, classes, false);
    softmax(want);
    const float *got = static_cast<const float *>(y_mem.get_data_handle());
    for (std::size_t i = 0; i < want.size(); ++i) {
        std::printf("%.5f%c", static_cast<double>(got[i]), (i + 1) % classes == 0 ? '\n' : ' ');
        if (!(std::fabs(got[i] - want[i]) <= 1e-5f)) throw std::runtime_error("a probability is wrong");
    }
}

} // namespace

int main() {
    try {
        run(engine::kind::cpu);
    } catch (const dnnl::error &e) {
        std::cerr << "status " << dnnl_status2str(e.status) << ": " << e.message << std::endl;
        return 1;
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
    return 0;
}
