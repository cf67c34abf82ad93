// A program for oneDNN: attention with several heads. The heads are dimensions of one strided tensor, scale and mask
// are post-operations of the first product; where the library has pools, a pool of the program runs it.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <vector>

#include "dnnl.hpp"
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
#include "dnnl_threadpool.hpp"
#endif

using namespace dnnl;

namespace {

constexpr memory::dim batch = 2, heads = 3, length = 11, width = 16, model = heads * width;

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
struct serial_pool : threadpool_interop::threadpool_iface {
    int loops = 0;
    int get_num_threads() const override { return 2; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        ++loops;
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    uint64_t get_flags() const override { return 0; }
    void wait() override {}
};
serial_pool the_pool;
stream make_stream(const engine &eng) {
    stream s = threadpool_interop::make_stream(eng, &the_pool);
    if (threadpool_interop::get_threadpool(s) != &the_pool) throw std::runtime_error("another pool");
    return s;
}
#else
stream make_stream(const engine &eng) { return stream(eng, stream::flags::default_flags); }
#endif

std::size_t at(memory::dim b, memory::dim h, memory::dim l, memory::dim d) {
    return static_cast<std::size_t>(((b * length + l) * heads + h) * width + d);
}

std::vector<float> reference(const std::vector<float> &q, const std::vector<float> &k,
                             const std::vector<float> &v, const std::vector<float> &mask) {
    std::vector<float> out(q.size());
    std::vector<double> p(static_cast<std::size_t>(length));
    for (memory::dim b = 0; b < batch; ++b)
        for (memory::dim h = 0; h < heads; ++h)
            for (memory::dim i = 0; i < length; ++i) {
                double largest = -std::numeric_limits<double>::infinity(), sum = 0;
                for (memory::dim j = 0; j < length; ++j) {
                    double dot = 0;
                    for (memory::dim d = 0; d < width; ++d)
                        dot +=
                            static_cast<double>(q[at(b, h, i, d)]) * static_cast<double>(k[at(b, h, j, d)]);
                    double &e = p[static_cast<std::size_t>(j)];
                    e = dot / std::sqrt(static_cast<double>(width)) +
                        static_cast<double>(mask[static_cast<std::size_t>(b * length + j)]);
                    largest = std::fmax(largest, e);
                }
                for (double &e : p) sum += e = std::exp(e - largest);
                for (memory::dim d = 0; d < width; ++d) {
                    double y = 0;
                    for (memory::dim j = 0; j < length; ++j)
                        y += p[static_cast<std::size_t>(j)] / sum * static_cast<double>(v[at(b, h, j, d)]);
                    out[at(b, h, i, d)] = static_cast<float>(y);
                }
            }
    return out;
}

void run() {
    if (engine::get_count(engine::kind::cpu) == 0) throw std::runtime_error("no processor");
    engine eng(engine::kind::cpu, 0);
    stream s = make_stream(eng);

    const std::size_t n = static_cast<std::size_t>(batch * length * model);
    std::vector<float> q(n), k(n), v(n), out(n, -1.0f), mask(static_cast<std::size_t>(batch * length), 0.0f);
    for (std::size_t i = 0; i < n; ++i) {
        q[i] = std::sin(0.37f * static_cast<float>(i));
        k[i] = std::cos(0.11f * static_cast<float>(i));
        v[i] = std::sin(0.05f * static_cast<float>(i) + 1.0f);
    }
    for (memory::dim l = length - 3; l < length; ++l) mask[static_cast<std::size_t>(length + l)] = -1e9f;

    // {batch, heads, length, width} over memory that is {batch, length, heads * width}.
    const memory::dims dims = {batch, heads, length, width};
    const memory::dims strides = {length * model, width, model, 1};
    memory::desc head_md(dims, memory::data_type::f32, strides);
    memory::desc kt_md({batch, heads, width, length}, memory::data_type::f32,
                       {length * model, width, 1, model});
    if (head_md.permute_axes({0, 1, 3, 2}) != kt_md) throw std::runtime_error("the transpose is another one");
    memory::desc score_md({batch, heads, length, length}, memory::data_type::f32, memory::format_tag::abcd);
    memory::desc mask_md({batch, 1, 1, length}, memory::data_type::f32, memory::format_tag::abcd);

    memory q_mem(head_md, eng, q.data()), k_mem(kt_md, eng, k.data()), v_mem(head_md, eng, v.data()),
        out_mem(head_md, eng, out.data()), mask_mem(mask_md, eng, mask.data()), score_mem(score_md, eng);

    post_ops scale_and_mask;
    scale_and_mask.append_eltwise(algorithm::eltwise_linear, 1.0f / std::sqrt(static_cast<float>(width)),
                                  0.0f);
    scale_and_mask.append_binary(algorithm::binary_add, mask_md);
    if (scale_and_mask.len() != 2 || scale_and_mask.kind(1) != primitive::kind::binary)
        throw std::runtime_error("the chain is another one");
    primitive_attr attr;
    attr.set_post_ops(scale_and_mask);

    auto score_pd = matmul::primitive_desc(eng, head_md, kt_md, score_md, attr);
    auto prob_pd = softmax_forward::primitive_desc(eng, prop_kind::forward_inference,
                                                   algorithm::softmax_accurate, score_md, score_md, 3);
    auto out_pd = matmul::primitive_desc(eng, score_md, head_md, head_md);

    matmul(score_pd).execute(s, {{DNNL_ARG_SRC, q_mem},
                                 {DNNL_ARG_WEIGHTS, k_mem},
                                 {DNNL_ARG_DST, score_mem},
                                 {DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, mask_mem}});
    softmax_forward(prob_pd).execute(s, {{DNNL_ARG_SRC, score_mem}, {DNNL_ARG_DST, score_mem}});
    matmul(out_pd).execute(s,
                           {{DNNL_ARG_SRC, score_mem}, {DNNL_ARG_WEIGHTS, v_mem}, {DNNL_ARG_DST, out_mem}});
    s.wait();

    const std::vector<float> want = reference(q, k, v, mask);
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 29 == 0) std::printf("%zu %.5f\n", i, static_cast<double>(out[i]));
        if (!(std::fabs(out[i] - want[i]) <= 2e-5f)) throw std::runtime_error("an element is wrong");
    }
}

} // namespace

int main() {
    try {
        run();
        return 0;
    } catch (const error &e) {
        std::cerr << e.status << ": " << e.what() << std::endl;
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
    }
    return 1;
}
