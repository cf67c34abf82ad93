/* The C++ classes over the C API: ownership, exceptions, each kind of primitive; graphs: test_hpp_graph.cpp.
 */
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "dnnl_tp/dnnl_tp_pool_check.hpp"
#include "support/check.hpp"

namespace t = dnnl_tp;

namespace {

/* A subclass of the RFC's pool: serial, counts its loops. */
struct counting_pool : t::threadpool_interop::threadpool_iface {
    int n_loops = 0;
    int get_num_threads() const override { return 2; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        ++n_loops;
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    std::uint64_t get_flags() const override { return 0; }
};

void assert_close(const float *got, const std::vector<float> &want, float tolerance = 1e-5f) {
    for (std::size_t i = 0; i < want.size(); ++i)
        if (!(std::fabs(got[i] - want[i]) <= tolerance * (1.0f + std::fabs(want[i]))))
            fail_msg("element %zu: got %g, want %g", i, static_cast<double>(got[i]),
                     static_cast<double>(want[i]));
}

struct fixture {
    t::engine e;
    t::stream s{e};
    t::memory make(const t::memory_desc &md, const std::vector<float> &v) const {
        t::memory m(md, e);
        std::memcpy(m.data(), v.data(), v.size() * sizeof(float));
        return m;
    }
};

void test_handles(void **) {
    t::engine a, none(nullptr);
    assert_true(static_cast<bool>(a));
    assert_false(static_cast<bool>(none));
    const dnnl_tp_engine_t h = a.get();
    t::engine b = std::move(a);
    assert_ptr_equal(b.get(), h);
    assert_null(a.get());
    a = std::move(b);
    assert_ptr_equal(a.get(), h);
    a = std::move(a);
    assert_ptr_equal(a.get(), h);
    t::engine c(a.release());
    assert_ptr_equal(c.get(), h);
    assert_int_equal(static_cast<int>(c.get_kind()), dnnl_tp_cpu);
    assert_int_equal(t::engine::count(dnnl_tp_cpu), 1);
}

void test_errors_carry_status_and_text(void **) {
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::engine(dnnl_tp_cpu, 7));
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::memory_desc({2, 3}, dnnl_tp_f32, dnnl_tp_abc));
    t::engine e;
    const t::memory_desc md({2, 3}, dnnl_tp_f32, dnnl_tp_ab);
    ASSERT_STATUS(dnnl_tp_invalid_arguments,
                  t::softmax_forward::primitive_desc(e, dnnl_tp_forward_inference, dnnl_tp_softmax_accurate,
                                                     md, md, 2));
    try {
        t::memory_desc bad({-2}, dnnl_tp_f32, dnnl_tp_a);
        fail();
    } catch (const t::error &error) {
        assert_non_null(std::strstr(error.what(), "invalid_arguments"));
        assert_non_null(std::strstr(error.what(), dnnl_tp_last_error()));
    }
}

void test_memory_desc(void **) {
    const t::memory_desc md({2, 3, 4}, dnnl_tp_f32, dnnl_tp_acb);
    assert_int_equal(md.ndims(), 3);
    assert_true(md.get_dims() == (t::dims{2, 3, 4}));
    assert_true(md.strides() == (t::dims{12, 1, 3}));
    assert_true(md.padded_dims() == md.get_dims());
    assert_int_equal(md.data_type(), dnnl_tp_f32);
    assert_int_equal(md.format_kind(), dnnl_tp_blocked);
    assert_int_equal(md.size(), 2 * 3 * 4 * 4);
    assert_true(md == t::memory_desc({2, 3, 4}, dnnl_tp_f32, t::dims{12, 1, 3}));
    assert_true(md != t::memory_desc({2, 3, 4}, dnnl_tp_f32));
    assert_true(md.clone() == md);
    assert_true(t::memory_desc::from_blob(md.blob()) == md);
    assert_true(md.permute_axes({0, 2, 1}) == t::memory_desc({2, 4, 3}, dnnl_tp_f32));
    const t::memory_desc plain({2, 3, 4}, dnnl_tp_f32);
    assert_true(plain.reshape({6, 4}) == t::memory_desc({6, 4}, dnnl_tp_f32));
    const t::memory_desc window = plain.submemory({1, 2, 4}, {1, 1, 0});
    assert_int_equal(window.submemory_offset(), 12 + 4);
    assert_false(static_cast<bool>(t::memory_desc().clone()));
}

void test_memory(void **) {
    fixture f;
    const t::memory_desc md({2, 3}, dnnl_tp_f32);
    float data[6] = {1, 2, 3, 4, 5, 6}, other[6] = {0};
    t::memory m(md, f.e, data);
    assert_ptr_equal(m.data(), data);
    assert_ptr_equal(m.get_engine().get(), f.e.get());
    assert_true(dnnl_tp_memory_desc_equal(m.get_desc(), md) == 1);
    m.set_data(other);
    assert_ptr_equal(m.data_as<float>(), other);
    void *mapped = m.map();
    assert_ptr_equal(mapped, other);
    m.unmap(mapped);
    t::memory own(md, f.e);
    assert_non_null(own.data());
}

void test_attributes(void **) {
    t::post_ops ops;
    const t::memory_desc src1({1, 4}, dnnl_tp_f32);
    ops.append_sum(0.5f).append_eltwise(dnnl_tp_eltwise_relu, 0.25f).append_binary(dnnl_tp_binary_add, src1);
    assert_int_equal(ops.len(), 3);
    assert_int_equal(ops.kind(1), dnnl_tp_eltwise);
    float scale, alpha, beta;
    std::int32_t zero_point;
    dnnl_tp_data_type_t type;
    dnnl_tp_alg_kind_t alg;
    ops.get_params_sum(0, scale, zero_point, type);
    assert_true(scale == 0.5f && zero_point == 0);
    ops.get_params_eltwise(1, alg, alpha, beta);
    assert_true(alg == dnnl_tp_eltwise_relu && alpha == 0.25f);
    const_dnnl_tp_memory_desc_t md1, md2;
    ops.get_params_binary(2, alg, md1, md2);
    assert_int_equal(dnnl_tp_memory_desc_equal(md1, src1), 1);
    t::primitive_attr attr;
    attr.set_post_ops(ops.clone());
    assert_int_equal(dnnl_tp_post_ops_len(attr.get_post_ops()), 3);
    int mask = 0;
    ops.append_prelu(2).get_params_prelu(3, mask);
    assert_int_equal(mask, 2);
    attr.set_num_threads(3);
    attr.set_deterministic(true);
    attr.set_fpmath_mode(dnnl_tp_fpmath_mode_bf16);
    attr.set_accumulation_mode(dnnl_tp_accumulation_mode_relaxed);
    attr.set_scratchpad_mode(dnnl_tp_scratchpad_mode_user);
    attr.set_scales_mask(DNNL_TP_ARG_SRC, 0);
    attr.set_zero_points_mask(DNNL_TP_ARG_SRC, 0);
    const t::primitive_attr copy = attr.clone();
    assert_true(copy.deterministic());
    assert_int_equal(copy.fpmath_mode(), dnnl_tp_fpmath_mode_bf16);
    assert_int_equal(copy.accumulation_mode(), dnnl_tp_accumulation_mode_relaxed);
    assert_int_equal(copy.scratchpad_mode(), dnnl_tp_scratchpad_mode_user);
    ASSERT_STATUS(dnnl_tp_invalid_arguments, attr.set_num_threads(-1));
}

void test_matmul_with_bias_and_post_ops(void **) {
    fixture f;
    const t::memory_desc a({2, 3}, dnnl_tp_f32), b({3, 2}, dnnl_tp_f32), bias({1, 2}, dnnl_tp_f32),
        c({2, 2}, dnnl_tp_f32);
    t::post_ops ops;
    ops.append_eltwise(dnnl_tp_eltwise_linear, 2.0f, 1.0f);
    t::primitive_attr attr;
    attr.set_post_ops(ops);
    const t::matmul::primitive_desc pd(f.e, a, b, bias, c, &attr);
    assert_int_equal(pd.kind(), dnnl_tp_matmul);
    assert_true(std::strlen(pd.impl_info_str()) > 0);
    assert_true(pd.num_threads() >= 1);
    assert_ptr_equal(pd.get_engine().get(), f.e.get());
    assert_true(pd.dst_desc() == c);
    assert_true(pd.arg_desc(DNNL_TP_ARG_SRC) == a);
    const t::matmul mm(pd.clone());
    t::memory ma = f.make(a, {1, 2, 3, 4, 5, 6}), mb = f.make(b, {1, 0, 0, 1, 1, 1}),
              mbias = f.make(bias, {10, 20}), mc = f.make(c, {0, 0, 0, 0});
    mm.execute(
        f.s,
        {{DNNL_TP_ARG_SRC, ma}, {DNNL_TP_ARG_WEIGHTS, mb}, {DNNL_TP_ARG_BIAS, mbias}, {DNNL_TP_ARG_DST, mc}});
    f.s.wait();
    const std::vector<float> want = {2 * 14 + 1, 2 * 25 + 1, 2 * 20 + 1, 2 * 31 + 1};
    assert_close(mc.data_as<float>(), want);
    float out[4] = {0};
    mm.execute_handles(f.s, {{DNNL_TP_ARG_SRC, ma.data()},
                             {DNNL_TP_ARG_WEIGHTS, mb.data()},
                             {DNNL_TP_ARG_BIAS, mbias.data()},
                             {DNNL_TP_ARG_DST, out}});
    f.s.wait();
    assert_close(out, want);
    dnnl_tp_timed_run_opts_t few = {};
    few.struct_size = sizeof few;
    few.max_warm_runs = 20;
    const dnnl_tp_timing_t timing = mm.timed_run(f.s,
                                                 {{DNNL_TP_ARG_SRC, ma.data()},
                                                  {DNNL_TP_ARG_WEIGHTS, mb.data()},
                                                  {DNNL_TP_ARG_BIAS, mbias.data()},
                                                  {DNNL_TP_ARG_DST, out}},
                                                 &few);
    assert_true(timing.warm_runs >= 10 && timing.warm_runs <= 20 && timing.min_ns <= timing.median_ns);
    ASSERT_STATUS(dnnl_tp_invalid_arguments, mm.execute(f.s, {{DNNL_TP_ARG_SRC, ma}}));
    ASSERT_STATUS(dnnl_tp_invalid_arguments, mm.timed_run(f.s, {}, &few));
}

void test_inner_product(void **) {
    fixture f;
    const t::memory_desc a({1, 3}, dnnl_tp_f32), w({2, 3}, dnnl_tp_f32), c({1, 2}, dnnl_tp_f32);
    const t::inner_product_forward::primitive_desc pd(f.e, dnnl_tp_forward_inference, a, w, t::memory_desc(),
                                                      c);
    t::memory ma = f.make(a, {1, 2, 3}), mw = f.make(w, {1, 1, 1, 1, 0, -1}), mc = f.make(c, {0, 0});
    t::inner_product_forward(pd).execute(
        f.s, {{DNNL_TP_ARG_SRC, ma}, {DNNL_TP_ARG_WEIGHTS, mw}, {DNNL_TP_ARG_DST, mc}});
    f.s.wait();
    assert_close(mc.data_as<float>(), {6, -2});
}

/* Deconvolution, resampling, shuffle. */
void test_images(fixture &f) {
    const auto inference = t::prop_kind::forward_inference;
    const auto abc = t::memory::format_tag::abc;
    const auto f32 = t::memory::data_type::f32;
    const t::memory_desc line_md({1, 1, 4}, f32, abc), kernel_md({1, 1, 2}, f32, abc),
        long_md({1, 1, 8}, f32, abc);
    t::memory line = f.make(line_md, {1, 3, 5, 2}), kernel = f.make(kernel_md, {1, -1}),
              result = f.make(long_md, {0, 0, 0, 0, 0, 0, 0, 0});
    const t::deconvolution_forward::primitive_desc deconv(f.e, inference, t::algorithm::deconvolution_direct,
                                                          line_md, kernel_md, long_md, t::dims{2}, t::dims{0},
                                                          t::dims{0});
    assert_true(deconv.get_algorithm() == t::algorithm::deconvolution_direct &&
                deconv.get_strides() == t::dims{2} && deconv.bias_desc().is_zero());
    t::deconvolution_forward(deconv.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, line}, {DNNL_TP_ARG_WEIGHTS, kernel}, {DNNL_TP_ARG_DST, result}});
    f.s.wait();
    assert_close(result.data_as<float>(), {1, -1, 3, -3, 5, -5, 2, -2});
    const std::vector<float> twice = {2.0f};
    const t::resampling_forward::primitive_desc by_factor(f.e, inference, t::algorithm::resampling_nearest,
                                                          twice, line_md),
        resampling(f.e, inference, t::algorithm::resampling_nearest, twice, line_md, long_md),
        by_size(f.e, inference, t::algorithm::resampling_nearest, line_md, long_md);
    assert_true(by_factor.dst_desc() == long_md && by_size.get_factors() == twice &&
                resampling.get_factors() == twice);
    ASSERT_STATUS(dnnl_tp_invalid_arguments,
                  t::resampling_forward::primitive_desc(f.e, inference, t::algorithm::resampling_nearest,
                                                        std::vector<float>{1, 2}, line_md));
    t::resampling_forward(resampling.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, line}, {DNNL_TP_ARG_DST, result}});
    f.s.wait();
    assert_close(result.data_as<float>(), {1, 1, 3, 3, 5, 5, 2, 2});
    t::memory mixed = f.make(line_md, {0, 0, 0, 0});
    const t::shuffle_forward::primitive_desc shuffle(f.e, inference, line_md, line_md, 2, 2);
    assert_true(shuffle.get_axis() == 2 && shuffle.get_group_size() == 2);
    t::shuffle_forward(shuffle.clone()).execute(f.s, {{DNNL_TP_ARG_SRC, line}, {DNNL_TP_ARG_DST, mixed}});
    f.s.wait();
    assert_close(mixed.data_as<float>(), {1, 5, 3, 2});
}

void test_row_kinds(void **) {
    fixture f;
    const t::memory_desc md({1, 2}, dnnl_tp_f32);
    t::memory src = f.make(md, {0, std::log(3.0f)}), dst = f.make(md, {0, 0});
    t::softmax_forward(t::softmax_forward::primitive_desc(f.e, dnnl_tp_forward_inference,
                                                          dnnl_tp_softmax_accurate, md, md, 1))
        .execute(f.s, {{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, dst}});
    f.s.wait();
    assert_close(dst.data_as<float>(), {0.25f, 0.75f});
    t::eltwise_forward(t::eltwise_forward::primitive_desc(f.e, dnnl_tp_forward_inference,
                                                          dnnl_tp_eltwise_linear, md, md, 4.0f, -1.0f))
        .execute(f.s, {{DNNL_TP_ARG_SRC, dst}, {DNNL_TP_ARG_DST, dst}});
    f.s.wait();
    assert_close(dst.data_as<float>(), {0, 2});
    t::memory down = f.make(md, {-2, 2}), slope = f.make(md, {0.5f, 0.5f}), bent = f.make(md, {0, 0});
    t::prelu_forward(
        t::prelu_forward::primitive_desc(f.e, t::prop_kind::forward_training, md, md, md).clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, down}, {DNNL_TP_ARG_WEIGHTS, slope}, {DNNL_TP_ARG_DST, bent}});
    f.s.wait();
    assert_close(bent.data_as<float>(), {-1, 2});
    const t::memory_desc pixels({1, 1, 4}, t::memory::data_type::f32, t::memory::format_tag::acb),
        pooled({1, 1, 2}, t::memory::data_type::f32, t::memory::format_tag::acb);
    const t::pooling_forward::primitive_desc pool(f.e, t::prop_kind::forward_training,
                                                  t::algorithm::pooling_max, pixels, pooled, {2}, {2}, {0},
                                                  {0}, {0});
    assert_true(pool.get_kernel() == t::dims{2} && pool.get_strides() == t::dims{2} &&
                pool.get_dilations() == t::dims{0} && pool.get_padding_l() == t::dims{0} &&
                pool.get_padding_r() == t::dims{0});
    assert_true(pool.workspace_desc().get_data_type() == t::memory::data_type::u8);
    t::memory line = f.make(pixels, {1, 3, 5, 2}), tops = f.make(pooled, {0, 0}),
              taps(pool.workspace_desc(), f.e);
    t::pooling_forward(pool.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, line}, {DNNL_TP_ARG_DST, tops}, {DNNL_TP_ARG_WORKSPACE, taps}});
    f.s.wait();
    assert_close(tops.data_as<float>(), {3, 5});
    assert_true(taps.data_as<std::uint8_t>()[0] == 1 && taps.data_as<std::uint8_t>()[1] == 0);
    const t::memory_desc pair({1, 2, 2}, t::memory::data_type::f32, t::memory::format_tag::abc);
    const auto training = t::prop_kind::forward_training;
    const t::batch_normalization_forward::primitive_desc batch(f.e, training, pair, pair, 0.0f,
                                                               t::normalization_flags::use_shift |
                                                                   t::normalization_flags::fuse_norm_relu);
    const t::group_normalization_forward::primitive_desc group(f.e, training, pair, pair, 1, 0.5f,
                                                               t::normalization_flags::none);
    const t::lrn_forward::primitive_desc local(f.e, training, t::algorithm::lrn_across_channels, pair, pair,
                                               3, 3.0f, 1.0f, 2.0f);
    assert_true(batch.get_flags() ==
                (t::normalization_flags::use_shift | t::normalization_flags::fuse_norm_relu));
    assert_true(group.get_group_size() == 1 && group.get_epsilon() == 0.5f &&
                group.get_flags() == t::normalization_flags::none);
    assert_true(local.get_local_size() == 3 && local.get_k() == 2.0f && local.get_alpha() == 3.0f &&
                local.get_beta() == 1.0f && local.get_algorithm() == t::algorithm::lrn_across_channels);
    assert_true(batch.mean_desc() == t::memory_desc({2}, dnnl_tp_f32) &&
                batch.variance_desc() == batch.mean_desc() &&
                group.mean_desc() == t::memory_desc({1, 1}, dnnl_tp_f32) &&
                group.variance_desc() == group.mean_desc());
    t::memory four = f.make(pair, {1, 3, 2, 6}), result = f.make(pair, {0, 0, 0, 0}),
              shift = f.make(batch.mean_desc(), {0, 2}), mean = f.make(batch.mean_desc(), {0, 0}),
              variance = f.make(batch.mean_desc(), {0, 0}), of_group = f.make(group.mean_desc(), {0}),
              of_group2 = f.make(group.mean_desc(), {0}), positive(batch.workspace_desc(), f.e);
    t::batch_normalization_forward(batch.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, four},
                       {DNNL_TP_ARG_DST, result},
                       {DNNL_TP_ARG_SHIFT, shift},
                       {DNNL_TP_ARG_MEAN, mean},
                       {DNNL_TP_ARG_VARIANCE, variance},
                       {DNNL_TP_ARG_WORKSPACE, positive}});
    f.s.wait();
    assert_close(result.data_as<float>(), {0, 1, 1, 3});
    assert_close(mean.data_as<float>(), {2, 4});
    assert_close(variance.data_as<float>(), {1, 4});
    t::group_normalization_forward(group.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, four},
                       {DNNL_TP_ARG_DST, result},
                       {DNNL_TP_ARG_MEAN, of_group},
                       {DNNL_TP_ARG_VARIANCE, of_group2}});
    t::lrn_forward(local.clone()).execute(f.s, {{DNNL_TP_ARG_SRC, four}, {DNNL_TP_ARG_DST, result}});
    f.s.wait();
    assert_close(of_group.data_as<float>(), {3});
    assert_close(result.data_as<float>(), {1.0f / 7, 3.0f / 47, 2.0f / 7, 6.0f / 47});
    const t::memory_desc line_md({1, 1, 4}, t::memory::data_type::f32, t::memory::format_tag::abc),
        kernel_md({1, 1, 2}, t::memory::data_type::f32, t::memory::format_tag::abc),
        bias_md({1}, t::memory::data_type::f32, t::memory::format_tag::a),
        sums_md({1, 1, 3}, t::memory::data_type::f32, t::memory::format_tag::abc);
    const t::convolution_forward::primitive_desc conv(f.e, t::prop_kind::forward_inference,
                                                      t::algorithm::convolution_auto, line_md, kernel_md,
                                                      bias_md, sums_md, {1}, {0}, {0});
    assert_true(conv.get_algorithm() == t::algorithm::convolution_direct &&
                conv.get_strides() == t::dims{1} && conv.get_dilations() == t::dims{0} &&
                conv.get_padding_l() == t::dims{0} && conv.get_padding_r() == t::dims{0} &&
                conv.bias_desc() == bias_md);
    t::memory image = f.make(line_md, {1, 3, 5, 2}), kernel = f.make(kernel_md, {1, -1}),
              offset = f.make(bias_md, {10}), sums = f.make(sums_md, {0, 0, 0});
    t::convolution_forward(conv.clone())
        .execute(f.s, {{DNNL_TP_ARG_SRC, image},
                       {DNNL_TP_ARG_WEIGHTS, kernel},
                       {DNNL_TP_ARG_BIAS, offset},
                       {DNNL_TP_ARG_DST, sums}});
    f.s.wait();
    assert_close(sums.data_as<float>(), {8, 8, 13});
    const t::convolution_forward::primitive_desc spread(
        f.e, t::prop_kind::forward_inference, t::algorithm::convolution_direct, line_md, kernel_md,
        t::memory_desc({1, 1, 2}, t::memory::data_type::f32, t::memory::format_tag::abc), t::dims{1},
        t::dims{1}, t::dims{0}, t::dims{0});
    assert_true(spread.get_dilations() == t::dims{1} && spread.bias_desc().is_zero());
    test_images(f);
    t::layer_normalization_forward(
        t::layer_normalization_forward::primitive_desc(f.e, dnnl_tp_forward_inference, md, md, 0.0f,
                                                       dnnl_tp_normalization_flags_none))
        .execute(f.s, {{DNNL_TP_ARG_SRC, dst}, {DNNL_TP_ARG_DST, dst}});
    f.s.wait();
    assert_close(dst.data_as<float>(), {-1, 1});
}

void test_memory_bound_kinds(void **) {
    fixture f;
    const t::memory_desc md({2, 2}, dnnl_tp_f32), row({1, 2}, dnnl_tp_f32), one({1, 1}, dnnl_tp_f32);
    t::memory a = f.make(md, {1, 2, 3, 4}), b = f.make(row, {10, 20}), dst = f.make(md, {0, 0, 0, 0});
    t::binary(t::binary::primitive_desc(f.e, dnnl_tp_binary_add, md, row, md))
        .execute(f.s, {{DNNL_TP_ARG_SRC_0, a}, {DNNL_TP_ARG_SRC_1, b}, {DNNL_TP_ARG_DST, dst}});
    f.s.wait();
    assert_close(dst.data_as<float>(), {11, 22, 13, 24});
    t::memory total = f.make(one, {0});
    t::reduction(t::reduction::primitive_desc(f.e, dnnl_tp_reduction_sum, md, one))
        .execute(f.s, {{DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_DST, total}});
    f.s.wait();
    assert_close(total.data_as<float>(), {10});
    const t::memory_desc transposed({2, 2}, dnnl_tp_f32, dnnl_tp_ba);
    t::memory r(transposed, f.e);
    t::reorder(t::reorder::primitive_desc(f.e, a.get_desc(), r.get_desc()))
        .execute(f.s, {{DNNL_TP_ARG_FROM, a}, {DNNL_TP_ARG_TO, r}});
    f.s.wait();
    assert_close(r.data_as<float>(), {1, 3, 2, 4});
    std::vector<t::memory_desc> srcs;
    srcs.push_back(md.clone());
    srcs.push_back(md.clone());
    const t::concat::primitive_desc cpd(f.e, t::memory_desc(), 0, srcs);
    t::memory joined(cpd.dst_desc(), f.e);
    t::concat(cpd).execute(
        f.s, {{DNNL_TP_ARG_MULTIPLE_SRC, a}, {DNNL_TP_ARG_MULTIPLE_SRC + 1, dst}, {DNNL_TP_ARG_DST, joined}});
    f.s.wait();
    assert_close(joined.data_as<float>(), {1, 2, 3, 4, 11, 22, 13, 24});
    const t::sum::primitive_desc spd(f.e, md, {1.0f, -2.0f}, srcs);
    t::memory summed(md, f.e);
    t::sum(spd).execute(
        f.s, {{DNNL_TP_ARG_MULTIPLE_SRC, dst}, {DNNL_TP_ARG_MULTIPLE_SRC + 1, a}, {DNNL_TP_ARG_DST, summed}});
    f.s.wait();
    assert_close(summed.data_as<float>(), {9, 18, 7, 16});
}

void test_blas(void **) {
    const float a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 0, 1};
    float c[4] = {1, 1, 1, 1};
    t::sgemm('N', 'T', 2, 2, 2, 1.0f, a, 2, b, 2, 1.0f, c, 2);
    assert_close(c, {4, 3, 8, 5});
    const std::uint8_t ua[4] = {1, 2, 3, 4};
    const std::int8_t sa[4] = {-1, 2, 3, 4}, sb[4] = {1, 0, 0, 1};
    const std::int32_t offset = 5;
    std::int32_t ic[4] = {0};
    t::gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1.0f, ua, 2, 1, sb, 2, 0, 0.0f, ic, 2, &offset);
    assert_true(ic[0] == 5 && ic[1] == 6 && ic[2] == 7 && ic[3] == 8);
    t::gemm_s8s8s32('N', 'N', 'F', 2, 2, 2, 1.0f, sa, 2, 0, sb, 2, 0, 0.0f, ic, 2, &offset);
    assert_true(ic[0] == 4 && ic[1] == 7 && ic[2] == 8 && ic[3] == 9);
}

#if DNNL_TP_WITH_THREADPOOL
void test_pools(void **) {
    counting_pool pool;
    t::stream_attr attr(pool);
    assert_int_equal(attr.pool_kind(), dnnl_tp_pool_kind_user);
    assert_ptr_equal(attr.get_threadpool()->ctx, &pool);
    attr.set_max_threads(2);
    attr.set_parallelism(DNNL_TP_PARALLELISM_INTRA);
    attr.set_admission(false);
    {
        t::engine e(attr);
        t::stream s(e);
        t::primitive_attr pattr;
        pattr.set_stream_attr(attr);
        const t::memory_desc md({1024, 1024}, dnnl_tp_f32);
        const t::matmul::primitive_desc pd(e, md, md, md, &pattr);
        assert_int_equal(pd.num_threads(), 2);
        t::memory a(md, e), b(md, e), c(md, e);
        t::matmul(pd).execute(s, {{DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_WEIGHTS, b}, {DNNL_TP_ARG_DST, c}});
        s.wait();
        assert_true(pool.n_loops > 0);
        s.set_threadpool(nullptr);
    }
    const dnnl_tp_threadpool_iface_t iface = t::threadpool_interop::make_iface(&pool);
    assert_int_equal(dnnl_tp_threadpool_quiesce(&iface, -1), dnnl_tp_success);
    t::threadpool builtin(2);
    assert_non_null(builtin.iface());
    try {
        const t::pool_report report = t::pool_check(*builtin.iface(), DNNL_TP_POOL_CHECK_TASKS);
        if (!report.good) fail_msg("%s", report.text.c_str());
        ASSERT_STATUS(dnnl_tp_invalid_arguments, t::pool_check(*builtin.iface(), 1u << 30));
    } catch (const t::error &e) {
        assert_int_equal(e.status(), dnnl_tp_unimplemented); /* a build that starts no threads */
    }
    t::stream_attr battr(builtin);
    assert_int_equal(battr.clone().pool_kind(), dnnl_tp_pool_kind_builtin);
    battr.set_sequential();
    assert_int_equal(battr.pool_kind(), dnnl_tp_pool_kind_sequential);
}
#endif

} // namespace

#if DNNL_TP_WITH_THREADPOOL
static void test_events(void **) {
    using namespace dnnl_tp;
    engine e(dnnl_tp_cpu, 0);
    threadpool pool(2);
    stream_attr attr(pool);
    attr.set_async(true);
    attr.set_priority(1);
    stream first(e, attr), second(e, attr);
    event gate = event::host(e);
    first.wait_event(gate);
    event behind = first.record_event();
    second.wait_event(behind);
    assert_false(second.wait_for(1000000));
    assert_false(behind.wait_for(1000000));
    assert_false(sync_devices(1000000));
    assert_false(first.idle() || gate.done());
    int calls = 0;
    behind.on_complete([&calls](dnnl_tp_status_t s) { calls += s == dnnl_tp_success; });
    gate.signal();
    second.wait();
    first.wait();
    behind.wait();
    assert_int_equal(calls, 1);
    assert_true(behind.times().end_ns >= behind.times().begin_ns && behind.error_text().empty());
    assert_true(sync_devices() && sync(e) && first.idle());
    event bad = event::host(e);
    bad.signal(dnnl_tp_cancelled);
    first.wait_event(bad);
    try {
        first.wait();
        fail();
    } catch (const error &err) {
        assert_int_equal(err.status(), dnnl_tp_cancelled);
    }
    assert_int_equal(first.record_event().status(), dnnl_tp_cancelled);
    first.reset_errors();
    first.wait();
    /* Work that failed with timed_out is no wait whose time ran out. */
    event silent = event::host(e);
    silent.signal(dnnl_tp_timed_out);
    first.wait_event(silent);
    memory m({{1}, memory::data_type::f32, memory::format_tag::a}, e);
    const std::function<bool(std::int64_t)> waits[] = {
        [&](std::int64_t ns) { return first.wait_for(ns); },
        [&](std::int64_t ns) { return silent.wait_for(ns); },
        [&](std::int64_t ns) { return sync_devices(ns); },
        [&](std::int64_t ns) { return sync(e, ns); },
        [&](std::int64_t ns) { return m.sync(ns); },
    };
    for (const auto &wait : waits) {
        try {
            (void)!wait(1000000000);
            fail();
        } catch (const error &err) {
            assert_int_equal(err.status(), dnnl_tp_timed_out);
            assert_non_null(strstr(err.what(), "signalled with timed_out"));
        }
    }
    /* Where the work of another stream is left, the limit counts. */
    event open = event::host(e);
    second.wait_event(open);
    for (int i = 2; i < 5; ++i) assert_false(waits[i](1000000));
    open.signal();
    first.reset_errors();
    assert_true(first.wait_for(1000000000));
}
#endif

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_errors_carry_status_and_text),
        cmocka_unit_test(test_memory_desc),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_matmul_with_bias_and_post_ops),
        cmocka_unit_test(test_inner_product),
        cmocka_unit_test(test_row_kinds),
        cmocka_unit_test(test_memory_bound_kinds),
        cmocka_unit_test(test_blas),
#if DNNL_TP_WITH_THREADPOOL
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_events),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
