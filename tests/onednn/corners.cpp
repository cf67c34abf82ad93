// A program for oneDNN: the corners of its C++ that programs stand on: descriptors that are empty, equal or made anew from
// others, queries that do not apply, handles of C, flags, statuses, versions, the namespace opened once more.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_config.h"
#include "oneapi/dnnl/dnnl_debug.h"
#include "oneapi/dnnl/dnnl_version.h"

#if DNNL_VERSION_MAJOR < 3
#error "oneDNN v3 is required"
#endif
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_NONE
#error "no processor"
#endif

namespace dnnl {
namespace mine {
int ndims_of(const memory::desc &md) { return md.get_ndims(); }
} // namespace mine
} // namespace dnnl

namespace {

using namespace dnnl;
using dt = memory::data_type;
using tag = memory::format_tag;

#define REQUIRE(what)                                            \
    do {                                                         \
        if (!(what)) throw std::runtime_error("not so: " #what); \
    } while (0)

// Does it throw an error of that status?
template <typename F> bool refuses(F f, dnnl_status_t expected) {
    try {
        f();
    } catch (const error &e) {
        return e.status == expected && static_cast<status>(e.status) == static_cast<status>(expected);
    }
    return false;
}

void empty_descriptors() {
    memory::desc md;
    REQUIRE(md.get_ndims() == 0 && md.get_size() == 0 && md.get_dims().empty() && md.get_strides().empty());
    REQUIRE(md.get_data_type() == dt::undef && md.get_format_kind() == memory::format_kind::undef);
    REQUIRE(md.get_submemory_offset() == 0 && md.get_inner_nblks() == 0 && md == memory::desc());
    memory::desc any({2, 3}, dt::f32, tag::any);
    REQUIRE(any.get_strides().empty() && any.get_inner_nblks() == 0 && any.get_inner_blks().empty());
}

void equal_descriptors() {
    memory::desc a({1, 4}, dt::f32, tag::ab), b({1, 4}, dt::f32, memory::dims{100, 1});
    REQUIRE(a == b && b == a);
    REQUIRE(a != memory::desc({1, 4}, dt::f32, memory::dims{8, 2}));
    REQUIRE(memory::desc({1, 1, 1}, dt::f32, memory::dims{1, 1, 1}) ==
            memory::desc({1, 1, 1}, dt::f32, memory::dims{9, 3, 5}));
    // A padded dimension of one element has a stride that tells something.
    memory::desc padded({2, 1, 3, 3}, dt::f32, tag::nChw8c);
    REQUIRE(padded != memory::desc({2, 1, 3, 3}, dt::f32, tag::nchw) &&
            padded == padded.reshape({2, 1, 3, 3}));
}

void print(const memory::desc &md) {
    std::ostringstream text;
    for (auto d : md.get_dims()) text << " " << d;
    text << " of";
    for (auto d : md.get_padded_dims()) text << " " << d;
    text << " strides";
    for (auto d : md.get_strides()) text << " " << d;
    for (int i = 0; i < md.get_inner_nblks(); ++i)
        text << " " << md.get_inner_blks()[static_cast<std::size_t>(i)] << " of "
             << md.get_inner_idxs()[static_cast<std::size_t>(i)];
    std::printf("%s\n", text.str().c_str());
}

// Shapes with ones and zeros in layouts of all sorts; dimensions are split, merged, added, removed.
void reshaped_descriptors() {
    std::mt19937 rng(7);
    const auto pick = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
    const tag tags[][6] = {{tag::a, tag::a, tag::a, tag::a, tag::a, tag::a},
                           {tag::ab, tag::ba, tag::AB16b16a, tag::AB16b64a, tag::ab, tag::BA16a16b},
                           {tag::abc, tag::acb, tag::bac, tag::cba, tag::aBc8b, tag::Abc16a},
                           {tag::abcd, tag::acdb, tag::cdba, tag::aBcd8b, tag::ABcd16b16a, tag::bacd},
                           {tag::abcde, tag::acdeb, tag::aBcde8b, tag::decab, tag::abcde, tag::aBcde16b}};
    int made = 0;
    for (int i = 0; i < 600; ++i) {
        memory::dims dims, to;
        const unsigned n = 1 + pick(5);
        for (unsigned d = 0; d < n; ++d)
            dims.push_back(pick(12) == 0 ? 0 : pick(3) == 0 ? 1 : memory::dim{1} << pick(4));
        const tag t = tags[n - 1][pick(6)];
        const memory::desc md(dims, dt::f32, t);
        for (unsigned d = 0; d < n;
             ++d) { // each dimension goes over, is split, or is merged with the one before
            const unsigned what = pick(4);
            if (what == 0 && !to.empty()) to.back() *= dims[d];
            else if (what == 1 && dims[d] > 1) to.push_back(2), to.push_back(dims[d] / 2);
            else if (what != 2 || dims[d] != 1) to.push_back(dims[d]);
            if (pick(6) == 0) to.push_back(1);
        }
        if (to.empty()) to.push_back(1);
        const memory::desc out = md.reshape(to, true);
        made += bool(out);
        if (out) print(out);
        else std::printf("none\n");
    }
    REQUIRE(made > 200);
    REQUIRE(memory::desc({2, 1}, dt::f32, memory::dims{2, 2}).reshape({2, 1, 1}).get_strides() ==
            (memory::dims{2, 2, 2}));
    REQUIRE(memory::desc({1, 15, 12}, dt::f32, tag::aBc8b).reshape({1, 15, 3, 4}).get_strides() ==
            (memory::dims{192, 96, 32, 8}));
    REQUIRE(!memory::desc({2, 3, 0, 2}, dt::f32, tag::cdba).reshape({6, 0, 2}, true));
    REQUIRE(memory::desc({2, 3}, dt::f32, tag::any).reshape({6}).get_format_kind() ==
            memory::format_kind::any);
}

void queries(const engine &eng) {
    const memory::desc a({4, 4}, dt::f32, tag::ab);
    const matmul::primitive_desc pd(eng, a, a, a);
    REQUIRE(pd.get_strides().empty() && pd.get_padding_l().empty() && pd.get_kernel().empty() &&
            pd.get_factors().empty());
    REQUIRE(pd.get_alpha() == 0.f && pd.get_epsilon() == 0.f && pd.get_axis() == -1 &&
            pd.get_group_size() == 0);
    REQUIRE(pd.get_algorithm() == algorithm::undef && pd.get_prop_kind() == prop_kind::undef);
    REQUIRE(pd.get_k() == 0.f && pd.get_p() == 0.f && pd.get_local_size() == 0 && pd.get_flags() == 0);
    REQUIRE(pd.get_cell_kind() == algorithm::undef && pd.get_activation_kind() == algorithm::undef);
    REQUIRE(pd.get_direction() == rnn_direction::undef);
    REQUIRE(pd.diff_src_desc() == memory::desc() && pd.diff_weights_desc(0) == memory::desc());
    REQUIRE(pd.diff_dst_desc() == memory::desc() && pd.workspace_desc() == memory::desc());

    const memory::desc n({2, 4, 5, 8}, dt::f32, tag::abcd);
    const layer_normalization_forward::primitive_desc ln(eng, prop_kind::forward_inference, n, n, 1e-5f,
                                                         normalization_flags::use_shift);
    const batch_normalization_forward::primitive_desc bn(eng, prop_kind::forward_inference, n, n, 1e-5f,
                                                         normalization_flags::use_shift |
                                                             normalization_flags::use_global_stats);
    REQUIRE(ln.weights_desc().get_size() == 8 * sizeof(float) &&
            bn.weights_desc().get_size() == 4 * sizeof(float));

    // Statistics lie as src does; factors are those of the sizes.
    const memory::desc bac({4, 5, 8}, dt::f32, tag::bac);
    const layer_normalization_forward::primitive_desc stats(eng, prop_kind::forward_training, bac, bac, 1e-5f,
                                                            normalization_flags::none);
    REQUIRE(stats.mean_desc() == memory::desc({4, 5}, dt::f32, tag::ba));
    REQUIRE(stats.query_md(query::exec_arg_md, DNNL_ARG_MEAN) == stats.mean_desc() &&
            stats.query_md(query::dst_md, 1) == stats.mean_desc());
    const layer_normalization_forward::primitive_desc no_stats(eng, prop_kind::forward_inference, bac, bac,
                                                               1e-5f, normalization_flags::none);
    REQUIRE(no_stats.mean_desc() == memory::desc() && no_stats.variance_desc() == memory::desc());
    const memory::desc image({2, 4, 7, 7}, dt::f32, tag::nhwc);
    const resampling_forward::primitive_desc larger(eng, prop_kind::forward_inference,
                                                    algorithm::resampling_linear,
                                                    std::vector<float>{2.1f, 0.72f}, image);
    REQUIRE(larger.dst_desc() == memory::desc({2, 4, 14, 5}, dt::f32, tag::nhwc));
    REQUIRE(larger.get_factors() == (std::vector<float>{2.f, 5.f / 7.f}));
}

void handles(const engine &eng) {
    const memory::desc a({4, 4}, dt::f32, tag::ab);
    matmul::primitive_desc pd(eng, a, a, a);
    {
        const matmul::primitive_desc copy(pd.get());
        REQUIRE(copy.get() != pd.get() && copy.src_desc() == a);
    }
    pd = matmul::primitive_desc(pd.get());
    REQUIRE(pd.src_desc() == a);
    REQUIRE(refuses([&] { softmax_forward::primitive_desc other(pd.get()); }, dnnl_invalid_arguments));
    REQUIRE(refuses([&] { convolution_forward::primitive_desc other(pd.get()); }, dnnl_invalid_arguments));
    REQUIRE(matmul(pd).get_kind() == primitive::kind::matmul);

    dnnl_memory_desc_t c = nullptr;
    const dnnl_dims_t dims = {2, 3};
    REQUIRE(dnnl_memory_desc_create_with_tag(&c, 2, dims, dnnl_f32, dnnl_ab) == dnnl_success);
    const memory::desc md = c; // takes it over
    REQUIRE(mine::ndims_of(md) == 2);
    REQUIRE(refuses([&] { matmul m(pd, std::vector<std::uint8_t>()); }, dnnl_invalid_arguments));
}

void names(const engine &eng) {
    REQUIRE(refuses([] { engine e(engine::kind::cpu, 7); }, dnnl_invalid_arguments));
    try {
        engine e(engine::kind::cpu, 7);
    } catch (const error &e) {
        std::ostringstream text;
        text << e.status;
        REQUIRE(text.str() == "2" && std::string(dnnl_status2str(e.status)) == "invalid_arguments");
        switch (e.status) {
        case dnnl_invalid_arguments: break;
        default: throw std::runtime_error("another status");
        }
    }
    stream s(eng, stream::flags::out_of_order), t(eng, stream::flags::in_order);
    s.wait();
    oneapi::dnnl::engine other(oneapi::dnnl::engine::kind::cpu, 0);
    const rnn_direction direction = rnn_direction::unidirectional_left2right;
    REQUIRE(direction != rnn_direction::bidirectional_sum && dnnl_version()->major >= 3 &&
            version()->major >= 3);
    const auto isa = get_effective_cpu_isa();
    REQUIRE((isa >= cpu_isa::avx2_vnni_2) == (static_cast<unsigned>(isa) >= 0x1f));
    REQUIRE(static_cast<unsigned>(cpu_isa::avx512_core_amx_fp16) == 0x1fef &&
            static_cast<unsigned>(cpu_isa::avx) == 3);
}

// Where one tensor has a run-time dimension and another has not, that is what is refused, not that they differ.
void run_time_dimensions(const engine &eng) {
    const auto fwd = prop_kind::forward_inference;
    const memory::dims rows = {4, 6}, maps = {2, 4, 6, 6};
    const auto made = [](memory::dims dims, bool open) {
        if (open) dims[0] = DNNL_RUNTIME_DIM_VAL;
        return memory::desc(dims, dt::f32, dims.size() == 2 ? tag::ab : tag::abcd);
    };
    for (int which = 1; which < 4; ++which) {
        const memory::desc a = made(rows, which & 1), b = made(rows, which & 2), x = made(maps, which & 1),
                           y = made(maps, which & 2), c = made(rows, false), w({6, 6}, dt::f32, tag::ab);
        const auto none = normalization_flags::none;
        const auto open = [](const auto &create) { REQUIRE(refuses(create, dnnl_unimplemented)); };
        open([&] { inner_product_forward::primitive_desc(eng, fwd, a, w, b); });
        open([&] { softmax_forward::primitive_desc(eng, fwd, algorithm::softmax_accurate, a, b, 1); });
        open([&] { layer_normalization_forward::primitive_desc(eng, fwd, a, b, 1e-5f, none); });
        open([&] { batch_normalization_forward::primitive_desc(eng, fwd, x, y, 1e-5f, none); });
        open([&] {
            lrn_forward::primitive_desc(eng, fwd, algorithm::lrn_across_channels, x, y, 5, 1e-4f, .75f, 1.f);
        });
        open([&] { eltwise_forward::primitive_desc(eng, fwd, algorithm::eltwise_relu, a, b, 0.f, 0.f); });
        open([&] { shuffle_forward::primitive_desc(eng, fwd, x, y, 1, 2); });
        open([&] { binary::primitive_desc(eng, algorithm::binary_add, a, c, b); });
        open([&] { binary::primitive_desc(eng, algorithm::binary_add, c, a, b); });
        if (which & 1) open([&] { prelu_forward::primitive_desc(eng, fwd, a, c, b); });
    }
}

// A sum that reads elements of another size than dst's.
void sums_of_another_size(const engine &eng) {
    const memory::desc a({4, 4}, dt::f32, tag::ab), image({1, 4, 5, 5}, dt::f32, tag::nchw),
        taps({4, 4, 1, 1}, dt::f32, tag::oihw);
    post_ops ops;
    ops.append_sum(1.f, 0, dt::s8);
    primitive_attr attr;
    attr.set_post_ops(ops);
    const auto fwd = prop_kind::forward_inference;
    const auto refused = [](const auto &create) { REQUIRE(refuses(create, dnnl_unimplemented)); };
    refused([&] { matmul::primitive_desc(eng, a, a, a, attr); });
    refused([&] { inner_product_forward::primitive_desc(eng, fwd, a, a, a, attr); });
    refused([&] {
        convolution_forward::primitive_desc(eng, fwd, algorithm::convolution_direct, image, taps, image,
                                            {1, 1}, {0, 0}, {0, 0}, attr);
    });
    refused([&] { binary::primitive_desc(eng, algorithm::binary_add, a, a, a, attr); });
    refused(
        [&] { eltwise_forward::primitive_desc(eng, fwd, algorithm::eltwise_relu, a, a, 0.f, 0.f, attr); });
    refused([&] { reorder::primitive_desc(eng, a, eng, a, attr); });
}

// What both libraries refuse, with one status: the table of doc/porting.md.
void statuses(const engine &eng) {
    const memory::desc src({2, 3}, dt::f32, tag::ab), wei({5, 3}, dt::f32, tag::ab),
        mat({3, 5}, dt::f32, tag::ab), dst({2, 5}, dt::f32, tag::ab), row({1, 5}, dt::f32, tag::ab),
        list({5}, dt::f32, tag::a);
    const auto inner = [&](const memory::desc &bias) {
        inner_product_forward::primitive_desc(eng, prop_kind::forward_inference, src, wei, bias, dst);
    };
    const auto product = [&](const memory::desc &bias) { matmul::primitive_desc(eng, src, mat, bias, dst); };
    const memory::desc image({1, 4, 5, 5}, dt::f32, tag::nchw), taps({5, 4, 3, 3}, dt::f32, tag::oihw),
        less({1, 5, 3, 3}, dt::f32, tag::nchw), more({1, 5, 7, 7}, dt::f32, tag::nchw);
    const auto conv = [&](const memory::desc &bias) {
        convolution_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::convolution_direct,
                                            image, taps, bias, less, {1, 1}, {0, 0}, {0, 0});
    };
    const auto deconv = [&](const memory::desc &bias) {
        deconvolution_forward::primitive_desc(eng, prop_kind::forward_inference,
                                              algorithm::deconvolution_direct, image, taps, bias, more,
                                              {1, 1}, {0, 0}, {0, 0});
    };
    inner(list), conv(list), deconv(list), product(row);
    REQUIRE(refuses([&] { inner(row); }, dnnl_invalid_arguments) &&
            refuses([&] { conv(row); }, dnnl_invalid_arguments));
    REQUIRE(refuses([&] { deconv(row); }, dnnl_invalid_arguments) &&
            refuses([&] { product(list); }, dnnl_invalid_arguments));

    const memory::desc open({DNNL_RUNTIME_DIM_VAL, 3}, dt::f32, tag::ab);
    REQUIRE(refuses(
        [&] {
            softmax_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::softmax_accurate,
                                            open, open, 1);
        },
        dnnl_unimplemented));
    REQUIRE(refuses([&] { open.reshape({3, 2}); }, dnnl_invalid_arguments));
    run_time_dimensions(eng);
    sums_of_another_size(eng);
    primitive_attr attr;
    REQUIRE(refuses([&] { attr.set_scales_mask(DNNL_ARG_SRC, -1); }, dnnl_invalid_arguments));
    attr.set_scales_mask(DNNL_ARG_SRC, 0);
    REQUIRE(refuses(
        [&] {
            eltwise_forward::primitive_desc(eng, prop_kind::forward_inference, algorithm::eltwise_relu, src,
                                            src, 0.f, 0.f, attr);
        },
        dnnl_unimplemented));
    const memory::desc wide({2, 4}, dt::f32, tag::ab), narrow({2, 4}, dt::bf16, tag::ab);
    const auto shuffle = [&](const memory::desc &to, int axis, memory::dim groups) {
        shuffle_forward::primitive_desc(eng, prop_kind::forward_inference, wide, to, axis, groups);
    };
    shuffle(wide, 1, 2);
    REQUIRE(refuses([&] { shuffle(narrow, 1, 2); }, dnnl_unimplemented));
    REQUIRE(refuses([&] { shuffle(wide, 1, 3); }, dnnl_invalid_arguments) &&
            refuses([&] { shuffle(wide, 2, 2); }, dnnl_invalid_arguments));
    post_ops ops;
    for (int i = 0; i < 32; ++i) ops.append_sum(1.f);
    REQUIRE(refuses([&] { ops.append_sum(1.f); }, dnnl_out_of_memory));
    const reorder::primitive_desc copy(eng, src, eng, src);
    REQUIRE(dnnl_primitive_desc_next_impl(copy.get()) == dnnl_last_impl_reached);
    const matmul::primitive_desc pd(eng, src, mat, dst);
    const memory a(src, eng), b(mat, eng), c(dst, eng);
    stream s(eng), apart(engine(engine::kind::cpu, 0));
    REQUIRE(refuses(
        [&] {
            matmul(pd).execute(s, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}});
        },
        dnnl_invalid_arguments));
    REQUIRE(refuses(
        [&] {
            matmul(pd).execute(apart, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
        },
        dnnl_invalid_arguments));
}

// Functions that return a status throw nothing.
void returned_statuses() {
    const float a[4] = {1, 2, 3, 4};
    float c[4] = {7, 7, 7, 7};
    REQUIRE(sgemm('N', 'N', 2, 2, 2, 1.f, a, 1, a, 2, 0.f, c, 2) == status::invalid_arguments);
    REQUIRE(sgemm('x', 'N', 2, 2, 2, 1.f, a, 2, a, 2, 0.f, c, 2) == status::invalid_arguments);
    REQUIRE(sgemm('N', 'N', -1, 2, 2, 1.f, a, 2, a, 2, 0.f, c, 2) == status::invalid_arguments);
    const std::uint8_t u[4] = {1, 2, 3, 4};
    const std::int8_t i[4] = {1, 2, 3, 4};
    const std::int32_t offset = 0;
    std::int32_t sums[4] = {7, 7, 7, 7};
    REQUIRE(gemm_u8s8s32('N', 'N', 'x', 2, 2, 2, 1.f, u, 2, 0, i, 2, 0, 0.f, sums, 2, &offset) ==
            status::invalid_arguments);
    REQUIRE(gemm_s8s8s32('N', 'N', 'F', 2, 2, 2, 1.f, i, 2, 0, i, 1, 0, 0.f, sums, 2, &offset) ==
            status::invalid_arguments);
    for (int k = 0; k < 4; ++k) REQUIRE(c[k] == 7.f && sums[k] == 7);
    REQUIRE(set_verbose(-1) == status::invalid_arguments && set_verbose(0) == status::success);
    REQUIRE(set_max_cpu_isa(cpu_isa::sse41) == status::invalid_arguments); // an engine exists
    const fpmath_mode before = get_default_fpmath_mode();
    REQUIRE(set_default_fpmath_mode(static_cast<fpmath_mode>(7)) == status::invalid_arguments &&
            get_default_fpmath_mode() == before);
    REQUIRE(get_cpu_isa_hints() == cpu_isa_hints::no_hints &&
            cpu_isa_hints::prefer_ymm != get_cpu_isa_hints());
    REQUIRE(std::string(dnnl_cpu_isa_hints2str(dnnl_cpu_isa_prefer_ymm)) == "cpu_isa_prefer_ymm");
    REQUIRE(DNNL_RUNTIME_S32_VAL == INT32_MIN && std::isnan(DNNL_RUNTIME_F32_VAL));
}

// Numbers of kinds that a library need not have, and a post-operation that it need not take.
void names_of_other_kinds(const engine &eng) {
    const int numbers[][2] = {
        {DNNL_ARG_DIFF_SRC, 129},        {DNNL_ARG_DIFF_SRC_0, 129},       {DNNL_ARG_DIFF_SRC_ITER, 130},
        {DNNL_ARG_DIFF_SRC_ITER_C, 131}, {DNNL_ARG_DIFF_DST, 145},         {DNNL_ARG_DIFF_DST_2, 147},
        {DNNL_ARG_DIFF_WEIGHTS, 161},    {DNNL_ARG_DIFF_WEIGHTS_3, 164},   {DNNL_ARG_DIFF_BIAS, 169},
        {DNNL_ARG_DIFF_SCALE, 255},      {DNNL_ARG_DIFF_SHIFT, 256},       {DNNL_ARG_SRC_LAYER, 1},
        {DNNL_ARG_SRC_ITER_C, 3},        {DNNL_ARG_DST_ITER, 18},          {DNNL_ARG_WEIGHTS_PEEPHOLE, 35},
        {DNNL_ARG_AUGRU_ATTENTION, 4},   {DNNL_ARG_ATTR_POST_OP_DW, 16384}};
    for (const auto &n : numbers) REQUIRE(n[0] == n[1]);
    REQUIRE(static_cast<int>(prop_kind::backward) == 128 &&
            static_cast<int>(prop_kind::backward_data) == 160);
    REQUIRE(dnnl_backward_weights == 192 && dnnl_backward_bias == 193 && dnnl_rnn == 11 && dnnl_gemm == 12);
    REQUIRE(static_cast<int>(algorithm::vanilla_lstm) == 0x2fff &&
            static_cast<int>(algorithm::lbr_augru) == 0x6fff);
    REQUIRE(std::string(dnnl_prop_kind2str(dnnl_backward_data)) == "backward_data");
    REQUIRE(std::string(dnnl_prim_kind2str(dnnl_rnn)) == "rnn" &&
            primitive::kind::rnn != primitive::kind::matmul);
    REQUIRE(std::string(dnnl_alg_kind2str(dnnl_deconvolution_winograd)) == "deconvolution_winograd");
    memory::desc md({2, 3}, dt::f32, tag::ab);
    REQUIRE(refuses(
        [&] {
            eltwise_forward::primitive_desc(eng, prop_kind::backward_data, algorithm::eltwise_relu, md, md,
                                            0.f, 0.f);
        },
        dnnl_invalid_arguments));

    post_ops ops;
    ops.append_dw(dt::s8, dt::f32, dt::u8, 3, 2, 1);
    primitive_attr attr;
    attr.set_post_ops(ops);
    attr.set_scales_mask(DNNL_ARG_ATTR_POST_OP_DW | DNNL_ARG_WEIGHTS, 1);
    dt wei = dt::undef, bia = dt::undef, dst = dt::undef;
    memory::dim kernel = 0, stride = 0, padding = 0;
    attr.get_post_ops().get_params_dw(0, wei, bia, dst, kernel, stride, padding);
    REQUIRE(wei == dt::s8 && bia == dt::f32 && dst == dt::u8 && kernel == 3 && stride == 2 && padding == 1);
    REQUIRE(attr.get_post_ops().kind(0) == primitive::kind::convolution);
    REQUIRE(refuses([&] { ops.append_dw(dt::s8, dt::f32, dt::u8, 3, 1, 3); }, dnnl_invalid_arguments));
    REQUIRE(refuses(
        [&] {
            matmul::primitive_desc(eng, {{2, 2}, dt::f32, tag::ab}, {{2, 2}, dt::f32, tag::ab},
                                   {{2, 2}, dt::f32, tag::ab}, attr);
        },
        dnnl_unimplemented));

    const memory::desc open({DNNL_RUNTIME_DIM_VAL, 3}, dt::f32, tag::ab);
    REQUIRE(refuses([&] { open.permute_axes({1, 0}); }, dnnl_invalid_arguments));
}

} // namespace

int main() {
    try {
        const engine eng(engine::kind::cpu, 0);
        empty_descriptors();
        equal_descriptors();
        reshaped_descriptors();
        queries(eng);
        handles(eng);
        names(eng);
        statuses(eng);
        returned_statuses();
        names_of_other_kinds(eng);
        return 0;
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
