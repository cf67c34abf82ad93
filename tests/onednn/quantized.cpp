// A program for oneDNN: a product of quantized matrices whose number of rows is known at execution only. Scales and
// zero points are arguments; a reorder quantizes; what no implementation serves is asked for politely.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

using namespace dnnl;

namespace {

using dt = memory::data_type;
using tag = memory::format_tag;
constexpr memory::dim k_size = 48, n_size = 24;

void require(bool what, const char *text) {
    if (!what) throw std::runtime_error(text);
}

float clamp_round(float x, float low, float high) {
    return std::nearbyint(std::fmin(std::fmax(x, low), high));
}

// s8 with one scale, by a reorder.
memory quantize(const engine &eng, stream &s, std::vector<float> &values, const memory::dims &dims,
                float scale) {
    memory f32_mem({dims, dt::f32, tag::ab}, eng, values.data());
    memory s8_mem({dims, dt::s8, tag::ab}, eng);
    memory scale_mem({{1}, dt::f32, tag::x}, eng);
    *static_cast<float *>(scale_mem.get_data_handle()) = scale;
    primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_DST, 0);
    auto pd = reorder::primitive_desc(eng, f32_mem.get_desc(), eng, s8_mem.get_desc(), attr);
    reorder(pd).execute(
        s,
        {{DNNL_ARG_FROM, f32_mem}, {DNNL_ARG_TO, s8_mem}, {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, scale_mem}});
    s.wait();
    return s8_mem;
}

void run() {
    engine eng(engine::kind::cpu, 0);
    stream s(eng);

    std::vector<float> w(static_cast<std::size_t>(k_size * n_size));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::sin(0.7f * static_cast<float>(i));
    const float w_scale = 1.0f / 127.0f, x_scale = 0.05f;
    const std::int32_t x_zero = 3;
    memory w_mem = quantize(eng, s, w, {k_size, n_size}, w_scale);
    const std::int8_t *w_s8 = static_cast<const std::int8_t *>(w_mem.get_data_handle());
    for (std::size_t i = 0; i < w.size(); ++i)
        require(w_s8[i] == static_cast<std::int8_t>(clamp_round(w[i] / w_scale, -128.0f, 127.0f)),
                "a weight is wrong");

    primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_SRC, 0);
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, 0);
    attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    attr.set_fpmath_mode(fpmath_mode::strict);
    require(attr.get_fpmath_mode() == fpmath_mode::strict, "another mode");

    memory::desc x_md({DNNL_RUNTIME_DIM_VAL, k_size}, dt::u8, tag::ab);
    memory::desc y_md({DNNL_RUNTIME_DIM_VAL, n_size}, dt::f32, tag::ab);
    memory::desc b_md({1, n_size}, dt::f32, tag::ab);
    auto pd = matmul::primitive_desc(eng, x_md, w_mem.get_desc(), b_md, y_md, attr);
    require(pd.get_kind() == primitive::kind::matmul && pd.bias_desc() == b_md, "another problem");
    require(pd.src_desc().get_dims()[0] == DNNL_RUNTIME_DIM_VAL, "the rows are known too early");
    matmul product(pd);
    matmul same = product; // a copy shares
    require(same.get() == product.get() && same == product, "a copy is another one");

    std::vector<float> bias(static_cast<std::size_t>(n_size), 0.25f);
    memory b_mem(b_md, eng, bias.data());
    float scales[2] = {x_scale, w_scale};
    std::int32_t zero = x_zero;
    memory xs_mem({{1}, dt::f32, tag::x}, eng, &scales[0]), ws_mem({{1}, dt::f32, tag::x}, eng, &scales[1]),
        zp_mem({{1}, dt::s32, tag::x}, eng, &zero);

    for (memory::dim rows : {memory::dim(1), memory::dim(7)}) {
        std::vector<std::uint8_t> x(static_cast<std::size_t>(rows * k_size));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i * 37 % 251);
        std::vector<float> y(static_cast<std::size_t>(rows * n_size));
        std::unordered_map<int, memory> args;
        args.insert({DNNL_ARG_SRC, memory({{rows, k_size}, dt::u8, tag::ab}, eng, x.data())});
        args.insert({DNNL_ARG_WEIGHTS, w_mem});
        args.insert({DNNL_ARG_BIAS, b_mem});
        args.insert({DNNL_ARG_DST, memory({{rows, n_size}, dt::f32, tag::ab}, eng, y.data())});
        args.insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, xs_mem});
        args.insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, ws_mem});
        args.insert({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, zp_mem});
        same.execute(s, args);
        s.wait();
        for (memory::dim r = 0; r < rows; ++r)
            for (memory::dim c = 0; c < n_size; ++c) {
                std::int64_t sum = 0;
                for (memory::dim i = 0; i < k_size; ++i)
                    sum += (static_cast<std::int64_t>(x[static_cast<std::size_t>(r * k_size + i)]) - x_zero) *
                           w_s8[i * n_size + c];
                const float want = static_cast<float>(sum) * x_scale * w_scale + 0.25f;
                const float got = y[static_cast<std::size_t>(r * n_size + c)];
                if (c % 5 == 0) std::printf("%.4f ", static_cast<double>(got));
                require(std::fabs(got - want) <= 1e-4f * (1.0f + std::fabs(want)), "an element is wrong");
            }
        std::printf("\n");
    }

    // Shapes that contradict each other: refused, and the program goes on.
    memory::desc wrong({k_size + 1, n_size}, dt::s8, tag::ab);
    matmul::primitive_desc none(eng, x_md, wrong, y_md, attr, true);
    require(!none, "a wrong problem was accepted");
    try {
        matmul::primitive_desc thrown(eng, x_md, wrong, y_md, attr);
        require(false, "a wrong problem was accepted");
    } catch (const error &e) {
        require(e.status == dnnl_invalid_arguments || e.status == dnnl_unimplemented, "another status");
        switch (e.status) {
        case dnnl_invalid_arguments:
        case dnnl_unimplemented: std::printf("refused\n"); break;
        default: break;
        }
    }
}

} // namespace

int main() {
    try {
        run();
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
    return 0;
}
