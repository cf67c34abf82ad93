// A program for oneDNN: a residual block: layer normalization with statistics, an activation in place, binary
// operations with broadcasting, a mean over rows; scratch memory of the program.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

using namespace dnnl;

namespace {

using dt = memory::data_type;
using tag = memory::format_tag;
const memory::dim rows = 6, channels = 33;
const float epsilon = 1e-5f;

memory::dim product(const memory::dims &dims) {
    return std::accumulate(dims.begin(), dims.end(), memory::dim(1), std::multiplies<memory::dim>());
}

void write(const memory &mem, const std::vector<float> &v) {
    if (mem.get_desc().get_size() != v.size() * sizeof(float)) throw std::runtime_error("another size");
    float *p = mem.map_data<float>();
    for (std::size_t i = 0; i < v.size(); ++i) p[i] = v[i];
    mem.unmap_data(p);
}

std::vector<float> read(const memory &mem) {
    const std::size_t n = static_cast<std::size_t>(product(mem.get_desc().get_dims()));
    const float *p = static_cast<const float *>(mem.get_data_handle());
    return std::vector<float>(p, p + n);
}

void expect(const char *name, const std::vector<float> &got, const std::vector<float> &want) {
    std::printf("%s", name);
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (i % 7 == 0) std::printf(" %.4f", static_cast<double>(got[i]));
        if (!(std::fabs(got[i] - want[i]) <= 5e-5f))
            throw std::runtime_error(std::string(name) + " is wrong");
    }
    std::printf("\n");
}

void run() {
    engine eng(engine::kind::cpu, 0);
    stream strm(eng);
    memory::desc md({rows, channels}, dt::f32, tag::ab), vec_md({channels}, dt::f32, tag::a),
        row_md({1, channels}, dt::f32, tag::ab), mean_md({rows, 1}, dt::f32, tag::ab);

    std::vector<float> x(static_cast<std::size_t>(rows * channels)),
        gamma(static_cast<std::size_t>(channels)), beta(static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2.0f * std::sin(static_cast<float>(i * i % 97)) + 0.5f;
    for (std::size_t i = 0; i < gamma.size(); ++i) {
        gamma[i] = 1.0f + 0.01f * static_cast<float>(i);
        beta[i] = -0.02f * static_cast<float>(i);
    }
    memory x_mem(md, eng), y_mem(md, eng), gamma_mem(vec_md, eng), beta_mem(vec_md, eng);
    write(x_mem, x);
    write(gamma_mem, gamma);
    write(beta_mem, beta);

    // Training form: mean and variance are results. The program owns the scratch.
    primitive_attr attr;
    attr.set_scratchpad_mode(scratchpad_mode::user);
    const auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
    auto norm_pd = layer_normalization_forward::primitive_desc(eng, prop_kind::forward_training, md, md,
                                                               epsilon, flags, attr);
    if ((norm_pd.get_flags() & normalization_flags::use_scale) == normalization_flags::none ||
        norm_pd.get_epsilon() != epsilon || norm_pd.get_prop_kind() != prop_kind::forward_training)
        throw std::runtime_error("the descriptor is another one");
    if (norm_pd.get_primitive_attr().get_scratchpad_mode() != scratchpad_mode::user)
        throw std::runtime_error("the attributes are others");
    memory mean_mem(norm_pd.mean_desc(), eng), var_mem(norm_pd.variance_desc(), eng),
        scratch_mem(norm_pd.scratchpad_desc(), eng);
    std::unordered_map<int, memory> norm_args{{DNNL_ARG_SRC, x_mem}, {DNNL_ARG_DST, y_mem}};
    norm_args[DNNL_ARG_SCALE] = gamma_mem;
    norm_args[DNNL_ARG_SHIFT] = beta_mem;
    norm_args[DNNL_ARG_MEAN] = mean_mem;
    norm_args[DNNL_ARG_VARIANCE] = var_mem;
    norm_args[DNNL_ARG_SCRATCHPAD] = scratch_mem;
    layer_normalization_forward norm(norm_pd);
    norm.execute(strm, norm_args);
    strm.wait();

    std::vector<float> mean(static_cast<std::size_t>(rows)), var(mean), y(x.size());
    for (std::size_t r = 0; r < mean.size(); ++r) {
        const float *row = x.data() + r * gamma.size();
        double sum = 0, squares = 0;
        for (std::size_t c = 0; c < gamma.size(); ++c) sum += static_cast<double>(row[c]);
        mean[r] = static_cast<float>(sum / static_cast<double>(channels));
        for (std::size_t c = 0; c < gamma.size(); ++c)
            squares += std::pow(static_cast<double>(row[c]) - sum / static_cast<double>(channels), 2);
        var[r] = static_cast<float>(squares / static_cast<double>(channels));
        for (std::size_t c = 0; c < gamma.size(); ++c)
            y[r * gamma.size() + c] = gamma[c] * (row[c] - mean[r]) / std::sqrt(var[r] + epsilon) + beta[c];
    }
    expect("mean", read(mean_mem), mean);
    expect("variance", read(var_mem), var);
    expect("normalized", read(y_mem), y);

    // y = gelu(y), in place; y = y + x; y = y * gamma, one row for all.
    auto gelu_pd = eltwise_forward::primitive_desc(eng, prop_kind::forward_inference,
                                                   algorithm::eltwise_gelu_erf, md, md);
    eltwise_forward(gelu_pd).execute(strm, {{DNNL_ARG_SRC, y_mem}, {DNNL_ARG_DST, y_mem}});
    auto add_pd = binary::primitive_desc(eng, algorithm::binary_add, md, md, md);
    binary(add_pd).execute(strm, {{DNNL_ARG_SRC_0, y_mem}, {DNNL_ARG_SRC_1, x_mem}, {DNNL_ARG_DST, y_mem}});
    if (add_pd.src1_desc() != md || add_pd.get_algorithm() != algorithm::binary_add)
        throw std::runtime_error("the descriptor is another one");
    auto mul_pd = binary::primitive_desc(eng, algorithm::binary_mul, md, row_md, md);
    memory row_mem(row_md, eng, gamma_mem.get_data_handle());
    binary(mul_pd).execute(strm, {{DNNL_ARG_SRC_0, y_mem}, {DNNL_ARG_SRC_1, row_mem}, {DNNL_ARG_DST, y_mem}});

    // The mean of each row, its activation being a post-operation.
    post_ops ops;
    ops.append_eltwise(algorithm::eltwise_tanh, 0.0f, 0.0f);
    primitive_attr tanh_attr;
    tanh_attr.set_post_ops(ops);
    if (tanh_attr.get_post_ops().len() != 1) throw std::runtime_error("the chain is another one");
    auto red_pd =
        reduction::primitive_desc(eng, algorithm::reduction_mean, md, mean_md, 0.0f, 0.0f, tanh_attr);
    memory red_mem(red_pd.dst_desc(), eng);
    reduction(red_pd).execute(strm, {{DNNL_ARG_SRC, y_mem}, {DNNL_ARG_DST, red_mem}});
    strm.wait();

    for (std::size_t i = 0; i < y.size(); ++i) {
        const double v = static_cast<double>(y[i]);
        y[i] = (static_cast<float>(0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)))) + x[i]) *
               gamma[i % gamma.size()];
    }
    for (std::size_t r = 0; r < mean.size(); ++r) {
        const auto begin = y.begin() + static_cast<std::ptrdiff_t>(r * gamma.size());
        mean[r] = std::tanh(std::accumulate(begin, begin + channels, 0.0f) / static_cast<float>(channels));
    }
    expect("block", read(y_mem), y);
    expect("pooled", read(red_mem), mean);
}

} // namespace

int main() {
    int status = 0;
    try {
        run();
    } catch (dnnl::error &e) {
        std::cout << "error: " << e.what() << " (" << e.status << ")" << std::endl;
        status = 1;
    } catch (std::exception &e) {
        std::cout << "error: " << e.what() << std::endl;
        status = 2;
    }
    return status;
}
