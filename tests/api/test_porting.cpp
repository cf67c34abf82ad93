/* doc/porting.md says what differs from oneDNN: each of its rows that no other suite tries is tried here, in the
 * order of the page. What both libraries do alike: tests/onednn. */
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <dirent.h>

#include "dnnl_tp/dnnl_tp_threadpool.hpp"
#include "support/check.hpp"

namespace t = dnnl_tp;
using dt = t::memory::data_type;
using tag = t::memory::format_tag;
using dims = t::memory::dims;

namespace {

const dnnl_tp_status_t ok = dnnl_tp_success, invalid = dnnl_tp_invalid_arguments,
                       unimplemented = dnnl_tp_unimplemented;
const auto forward = t::prop_kind::forward_inference;

struct place {
    t::engine e{t::engine::kind::cpu, 0};
    t::stream s{e};
};

t::primitive_attr with(const t::post_ops &ops) {
    t::primitive_attr attr;
    attr.set_post_ops(ops);
    return attr;
}

/* Threads of this process. */
int count_threads() {
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return 0;
    while (const dirent *one = readdir(tasks)) n += one->d_name[0] != '.';
    closedir(tasks);
    return n;
}

/* ---- Names ------------------------------------------------------------------------------------------- */

/* main() has set ONEDNN_PRIMITIVE_CACHE_CAPACITY and DNNL_PRIMITIVE_CACHE_CAPACITY. */
void test_variables_of_onednn_are_not_read(void **) {
    assert_int_equal(t::get_primitive_cache_capacity(), 77);
}

/* ---- Kinds that exist -------------------------------------------------------------------------------- */

void test_kinds_that_exist(void **) {
    place p;
    const t::memory::desc m({4, 4}, dt::f32, tag::ab), row({1, 4}, dt::f32, tag::ab),
        image({1, 4, 6, 6}, dt::f32, tag::nchw), half({1, 4, 3, 3}, dt::f32, tag::nchw),
        taps({4, 4, 1, 1}, dt::f32, tag::oihw);
    const auto none = t::normalization_flags::none;
    const std::vector<t::memory::desc> two = {m, m};
    using alg = t::algorithm;
    assert_true(bool(t::matmul::primitive_desc(p.e, m, m, m)));
    assert_true(bool(t::inner_product_forward::primitive_desc(p.e, forward, m, m, m)));
    assert_true(bool(t::convolution_forward::primitive_desc(p.e, forward, alg::convolution_direct, image,
                                                            taps, image, {1, 1}, {0, 0}, {0, 0})));
    assert_true(bool(t::deconvolution_forward::primitive_desc(p.e, forward, alg::deconvolution_direct, image,
                                                              taps, image, {1, 1}, {0, 0}, {0, 0})));
    assert_true(bool(t::softmax_forward::primitive_desc(p.e, forward, alg::softmax_accurate, m, m, 1)));
    assert_true(bool(t::layer_normalization_forward::primitive_desc(p.e, forward, m, m, 1e-5f, none)));
    assert_true(
        bool(t::batch_normalization_forward::primitive_desc(p.e, forward, image, image, 1e-5f, none)));
    assert_true(
        bool(t::group_normalization_forward::primitive_desc(p.e, forward, image, image, 2, 1e-5f, none)));
    assert_true(bool(t::lrn_forward::primitive_desc(p.e, forward, alg::lrn_across_channels, image, image, 5,
                                                    1e-4f, .75f, 1.f)));
    assert_true(bool(t::eltwise_forward::primitive_desc(p.e, forward, alg::eltwise_relu, m, m)));
    assert_true(bool(t::prelu_forward::primitive_desc(p.e, forward, m, row, m)));
    assert_true(bool(t::pooling_forward::primitive_desc(p.e, forward, alg::pooling_max, image, half, {2, 2},
                                                        {2, 2}, {0, 0}, {0, 0}, {0, 0})));
    assert_true(
        bool(t::resampling_forward::primitive_desc(p.e, forward, alg::resampling_nearest, image, half)));
    assert_true(bool(t::shuffle_forward::primitive_desc(p.e, forward, image, image, 1, 2)));
    assert_true(bool(t::binary::primitive_desc(p.e, alg::binary_add, m, m, m)));
    assert_true(bool(t::reduction::primitive_desc(p.e, alg::reduction_sum, m, row, 0.f, 0.f)));
    assert_true(bool(t::reorder::primitive_desc(p.e, m, p.e, m)));
    assert_true(bool(t::concat::primitive_desc(p.e, 0, two)));
    assert_true(bool(t::sum::primitive_desc(p.e, {1.f, 1.f}, two)));
}

/* ---- What differs ------------------------------------------------------------------------------------ */

void test_a_stream_without_a_pool_starts_no_thread(void **) {
    if (DNNL_TP_CPU_RUNTIME != DNNL_TP_RUNTIME_THREADPOOL) skip();
    place p;
    const int before = count_threads();
    const t::memory::desc md({512, 512}, dt::f32, tag::ab);
    const t::memory a(md, p.e), b(md, p.e), c(md, p.e);
    std::memset(a.data(), 0, md.get_size());
    std::memset(b.data(), 0, md.get_size());
    t::matmul({p.e, md, md, md})
        .execute(p.s, {{DNNL_TP_ARG_SRC, a}, {DNNL_TP_ARG_WEIGHTS, b}, {DNNL_TP_ARG_DST, c}});
    p.s.wait();
    assert_int_equal(count_threads(), before);
}

/* Equal bytes are not enough: the layout is that of the descriptor. A scratchpad may be larger, not smaller. */
void test_arguments_have_the_layout_of_the_descriptor(void **) {
    place p;
    const t::memory::desc md({8, 8}, dt::f32, tag::ab), other({8, 8}, dt::f32, tag::ba),
        list({64}, dt::f32, tag::a);
    const t::memory x(md, p.e), y(other, p.e), z(list, p.e), out(md, p.e);
    const t::eltwise_forward relu({p.e, forward, t::algorithm::eltwise_relu, md, md});
    for (const t::memory &src : {x, y, z})
        ASSERT_STATUS(src == x ? ok : invalid,
                      relu.execute(p.s, {{DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_DST, out}}));

    t::primitive_attr attr;
    attr.set_scratchpad_mode(t::scratchpad_mode::user);
    const t::memory::desc image({1, 16, 9, 9}, dt::f32, tag::nchw), taps({32, 16, 3, 3}, dt::f32, tag::oihw),
        result({1, 32, 7, 7}, dt::f32, tag::nchw);
    const t::convolution_forward::primitive_desc pd(p.e, forward, t::algorithm::convolution_direct, image,
                                                    taps, result, {1, 1}, {0, 0}, {0, 0}, attr);
    const auto size = static_cast<dnnl_tp_dim_t>(pd.scratchpad_desc().get_size());
    assert_true(size > 0); /* plain weights are packed there */
    const t::memory src(image, p.e), wei(taps, p.e), dst(result, p.e);
    std::memset(src.data(), 0, image.get_size());
    std::memset(wei.data(), 0, taps.get_size());
    for (dnnl_tp_dim_t more : {-1, 0, 4096}) {
        const t::memory scratch({{size + more}, dt::u8, tag::a}, p.e);
        ASSERT_STATUS(more < 0 ? invalid : ok,
                      t::convolution_forward(pd).execute(p.s, {{DNNL_TP_ARG_SRC, src},
                                                               {DNNL_TP_ARG_WEIGHTS, wei},
                                                               {DNNL_TP_ARG_DST, dst},
                                                               {DNNL_TP_ARG_SCRATCHPAD, scratch}}));
    }
    p.s.wait();
}

void test_the_engine_is_the_one_object(void **) {
    place p, other;
    const t::memory::desc md({8}, dt::f32, tag::a);
    const t::memory x(md, p.e), y(md, other.e);
    const t::eltwise_forward relu({p.e, forward, t::algorithm::eltwise_relu, md, md});
    ASSERT_STATUS(invalid, relu.execute(other.s, {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, x}}));
    ASSERT_STATUS(ok,
                  relu.execute(p.s, {{DNNL_TP_ARG_SRC, y}, {DNNL_TP_ARG_DST, y}})); /* the host's memory */
    p.s.wait();
}

void test_empty_objects(void **) {
    assert_false(bool(t::memory::desc()));
    assert_true(t::engine().get_kind() == t::engine::kind::cpu);
    assert_null(t::stream().get());
    ASSERT_STATUS(invalid, t::stream().get(false));
    ASSERT_STATUS(invalid, t::matmul().get(false));
}

void test_functions_return_their_status(void **) {
    float one = 1.f;
    assert_true(t::sgemm('X', 'N', 1, 1, 1, 1.f, &one, 1, &one, 1, 0.f, &one, 1) ==
                t::status::invalid_arguments);
    const t::engine fixes_the_set;
    assert_true(t::set_max_cpu_isa(t::cpu_isa::sse41) == t::status::invalid_arguments);
}

void test_copies_share_and_clones_do_not(void **) {
    t::primitive_attr attr, shared = attr, apart = attr.clone();
    attr.set_fpmath_mode(t::fpmath_mode::bf16);
    assert_true(shared.get_fpmath_mode() == t::fpmath_mode::bf16);
    assert_true(apart.get_fpmath_mode() == t::fpmath_mode::strict);
    t::post_ops ops, same = ops, new_ops = ops.clone();
    ops.append_sum();
    assert_int_equal(same.len(), 1);
    assert_int_equal(new_ops.len(), 0);
    const t::memory::desc md({2}, dt::f32, tag::a), copy = md;
    assert_true(copy.get() == md.get() && md.clone().get() != md.get() && md.clone() == md);
}

/* oneDNN counts all CPU engines as one. */
void test_the_cache_of_primitives_knows_engines_apart(void **) {
    place p;
    const t::memory::desc md({3, 5}, dt::f32, tag::ab);
    const auto relu_of = [&](const t::engine &e) {
        return t::eltwise_forward({e, forward, t::algorithm::eltwise_relu, md, md});
    };
    const t::eltwise_forward first = relu_of(p.e);
    assert_true(relu_of(p.e).get() == first.get());
    {
        const t::engine other;
        assert_true(relu_of(other).get() != first.get());
    }
    assert_true(relu_of(p.e).get() == first.get());
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

void test_the_number_of_threads_is_the_process_s(void **) {
    namespace ti = t::threadpool_interop;
    if (!DNNL_TP_WITH_THREADPOOL) skip();
    const int before = ti::get_max_concurrency();
    int there = 0;
    ti::set_max_concurrency(3);
    std::thread([&] { there = ti::get_max_concurrency(); }).join();
    assert_int_equal(there, 3);
    ASSERT_STATUS(invalid, ti::set_max_concurrency(0));
    assert_int_equal(ti::get_max_concurrency(), 3);
    ti::set_max_concurrency(before);
}

/* ---- Statuses that differ ---------------------------------------------------------------------------- */

void test_what_is_computed_here(void **) {
    place p;
    const t::memory::desc m({4, 4}, dt::f32, tag::ab), row({4, 1}, dt::f32, tag::ab),
        image({1, 4, 6, 6}, dt::f32, tag::nchw), image_bf16({1, 4, 6, 6}, dt::bf16, tag::nchw);
    t::post_ops prelu, sum;
    prelu.append_prelu(0);
    sum.append_sum();
    ASSERT_STATUS(
        ok, t::reduction::primitive_desc(p.e, t::algorithm::reduction_sum, m, row, 0.f, 0.f, with(prelu)));
    ASSERT_STATUS(ok, t::binary::primitive_desc(p.e, t::algorithm::binary_add, m, m, m, with(prelu)));
    for (const t::post_ops &ops : {prelu, sum})
        ASSERT_STATUS(ok, t::softmax_forward::primitive_desc(p.e, forward, t::algorithm::softmax_accurate, m,
                                                             m, 1, with(ops)));
    ASSERT_STATUS(ok, t::lrn_forward::primitive_desc(p.e, forward, t::algorithm::lrn_across_channels, image,
                                                     image_bf16, 5, 1e-4f, .75f, 1.f));
    ASSERT_STATUS(ok, t::resampling_forward::primitive_desc(p.e, forward, t::algorithm::resampling_nearest,
                                                            image, image, with(prelu)));
    t::primitive_attr scaled;
    scaled.set_scales_mask(DNNL_TP_ARG_SRC, 0);
    ASSERT_STATUS(ok, t::inner_product_forward::primitive_desc(p.e, forward, m, m, m, scaled));
    const t::memory::desc wide({1, 16, 7, 7}, dt::f32, tag::any), taps({32, 16, 3, 3}, dt::f32, tag::any),
        out({1, 32, 7, 7}, dt::f32, tag::any);
    ASSERT_STATUS(ok, t::convolution_forward::primitive_desc(p.e, forward, t::algorithm::convolution_winograd,
                                                             wide, taps, out, {1, 1}, {1, 1}, {1, 1}));
    t::matmul::primitive_desc pd(p.e, m, m, m);
    assert_false(pd.get_cache_blob_id().empty());
    ASSERT_STATUS(ok, t::matmul(pd, t::matmul(pd).get_cache_blob()));
}

/* Attributes, types and layouts that oneDNN's tests want refused. */
void test_what_more_is_computed_here(void **) {
    place p;
    const t::memory::desc m({4, 4}, dt::f32, tag::ab), image({1, 4, 6, 6}, dt::f32, tag::nchw),
        image_bf16({1, 4, 6, 6}, dt::bf16, tag::nchw), image_nhwc({1, 4, 6, 6}, dt::f32, tag::nhwc);
    t::post_ops prelu, sum, relu, mul;
    prelu.append_prelu(0);
    sum.append_sum();
    relu.append_eltwise(t::algorithm::eltwise_relu, 0.f, 0.f);
    mul.append_binary(t::algorithm::binary_mul, {{1, 1, 1, 1}, dt::f32, tag::nchw});
    const auto none = t::normalization_flags::none;
    const auto abs = t::algorithm::eltwise_abs;
    for (const t::post_ops &ops : {prelu, sum, relu})
        ASSERT_STATUS(ok, t::eltwise_forward::primitive_desc(p.e, forward, abs, m, m, 0.f, 0.f, with(ops)));
    for (const t::memory::desc &dst : {image_bf16, image_nhwc})
        ASSERT_STATUS(ok, t::eltwise_forward::primitive_desc(p.e, forward, abs, image, dst, 0.f, 0.f));
    for (const t::post_ops &ops : {prelu, sum})
        ASSERT_STATUS(
            ok, t::layer_normalization_forward::primitive_desc(p.e, forward, m, m, 1e-5f, none, with(ops)));
    ASSERT_STATUS(ok, t::batch_normalization_forward::primitive_desc(p.e, forward, image, image, 1e-5f, none,
                                                                     with(mul)));
    t::primitive_attr scaled;
    scaled.set_scales_mask(DNNL_TP_ARG_SRC, 0);
    ASSERT_STATUS(ok, t::softmax_forward::primitive_desc(p.e, forward, t::algorithm::softmax_accurate, m, m,
                                                         1, scaled));
    ASSERT_STATUS(ok,
                  t::layer_normalization_forward::primitive_desc(p.e, forward, m, m, 1e-5f, none, scaled));
    ASSERT_STATUS(ok, t::group_normalization_forward::primitive_desc(p.e, forward, image, image, 2, 1e-5f,
                                                                     none, scaled));

    const t::memory::desc a({4, 64}, dt::u8, tag::ab), b({64, 8}, dt::s8, tag::ba),
        c({4, 8}, dt::f32, tag::ab), fa({4, 64}, dt::f32, tag::ab), fb({64, 8}, dt::f32, tag::ba);
    t::primitive_attr odd, inner, each, shifted_sum;
    odd.set_scales(DNNL_TP_ARG_WEIGHTS, 3, {3, 1});
    inner.set_scales_mask(DNNL_TP_ARG_SRC, 2);
    each.set_zero_points_mask(DNNL_TP_ARG_DST, 3);
    t::post_ops minus;
    minus.append_sum(1.f, 1);
    shifted_sum.set_post_ops(minus);
    for (const t::primitive_attr &attr : {odd, inner, each})
        ASSERT_STATUS(ok, t::matmul::primitive_desc(p.e, a, b, c, attr));
    for (const t::primitive_attr &attr : {odd, shifted_sum})
        ASSERT_STATUS(ok, t::matmul::primitive_desc(p.e, fa, fb, c, attr));
}

/* And what they want computed. */
void test_what_is_not_computed_here(void **) {
    place p;
    const t::memory::desc src({1, 16, 7, 7}, dt::u8, tag::any), taps({32, 16, 3, 3}, dt::s8, tag::any),
        dst({1, 32, 7, 7}, dt::s32, tag::any), a({4, 64}, dt::u8, tag::ab), b({64, 8}, dt::s8, tag::ab),
        c({4, 8}, dt::f32, tag::ab);
    t::primitive_attr scaled, shifted, summed;
    scaled.set_scales_mask(DNNL_TP_ARG_SRC, 0);
    shifted.set_zero_points_mask(DNNL_TP_ARG_SRC, 0);
    summed.set_zero_points_mask(DNNL_TP_ARG_WEIGHTS, 0);
    summed.set_precomputed_reductions(DNNL_TP_ARG_SRC, 3, {1, 32});
    for (const t::primitive_attr &attr : {scaled, shifted}) {
        ASSERT_STATUS(unimplemented,
                      t::convolution_forward::primitive_desc(p.e, forward, t::algorithm::convolution_direct,
                                                             src, taps, dst, {1, 1}, {1, 1}, {1, 1}, attr));
        ASSERT_STATUS(unimplemented, t::deconvolution_forward::primitive_desc(
                                         p.e, forward, t::algorithm::deconvolution_direct, src, taps, dst,
                                         {1, 1}, {1, 1}, {1, 1}, attr));
    }
    ASSERT_STATUS(unimplemented, t::matmul::primitive_desc(p.e, a, b, c, summed));
}

void test_what_is_refused_with_another_status(void **) {
    place p;
    const t::memory::desc s8({2, 3}, dt::s8, tag::ab), wei({4, 3}, dt::f32, tag::ab),
        dst({2, 4}, dt::f32, tag::ab), open({DNNL_TP_RUNTIME_DIM_VAL, 2, 4, 4}, dt::f32, tag::nchw),
        image({2, 2, 4, 4}, dt::s8, tag::nchw), taps({2, 2, 1, 1}, dt::f32, tag::oihw);
    ASSERT_STATUS(unimplemented, t::inner_product_forward::primitive_desc(p.e, forward, s8, wei, dst));
    ASSERT_STATUS(unimplemented,
                  t::convolution_forward::primitive_desc(p.e, forward, t::algorithm::convolution_direct,
                                                         image, taps, image, {1, 1}, {0, 0}, {0, 0}));
    ASSERT_STATUS(unimplemented,
                  t::deconvolution_forward::primitive_desc(p.e, forward, t::algorithm::deconvolution_direct,
                                                           image, taps, image, {1, 1}, {0, 0}, {0, 0}));
    ASSERT_STATUS(unimplemented, t::resampling_forward::primitive_desc(
                                     p.e, forward, t::algorithm::resampling_nearest, open, open));
}

/* A sum over no channel is 0; oneDNN refuses weights without elements. */
void test_sums_over_no_channel(void **) {
    place p;
    const t::memory::desc src({2, 0}, dt::f32, tag::ab), wei({3, 0}, dt::f32, tag::ab),
        dst({2, 3}, dt::f32, tag::ab), list({3}, dt::f32, tag::a), image({2, 0, 1, 1}, dt::f32, tag::nchw),
        taps({3, 0, 1, 1}, dt::f32, tag::oihw), out({2, 3, 1, 1}, dt::f32, tag::nchw);
    const t::inner_product_forward inner({p.e, forward, src, wei, list, dst});
    const t::convolution_forward conv(
        {p.e, forward, t::algorithm::convolution_direct, image, taps, list, out, {1, 1}, {0, 0}, {0, 0}});
    float bias[3] = {1.f, 2.f, 3.f}, got[6];
    for (int k = 0; k < 2; ++k) {
        const t::primitive &one = k ? static_cast<const t::primitive &>(conv) : inner;
        for (float &x : got) x = -1.f;
        one.execute(p.s, {{DNNL_TP_ARG_SRC, {k ? image : src, p.e}},
                          {DNNL_TP_ARG_WEIGHTS, {k ? taps : wei, p.e}},
                          {DNNL_TP_ARG_BIAS, {list, p.e, bias}},
                          {DNNL_TP_ARG_DST, {k ? out : dst, p.e, got}}});
        p.s.wait();
        for (int i = 0; i < 6; ++i) assert_true(got[i] == bias[i % 3]);
    }
}

void test_what_crashes_there(void **) {
    place p;
    const t::memory::desc m({4, 4}, dt::f32, tag::ab), image({1, 4, 5, 5}, dt::f32, tag::nchw);
    dnnl_tp_primitive_desc_t pd = nullptr;
    const dnnl_tp_dims_t one = {1, 1}, zero = {0, 0};
    assert_int_equal(dnnl_tp_pooling_forward_primitive_desc_create(&pd, p.e, dnnl_tp_forward_inference,
                                                                   dnnl_tp_pooling_max, image, image, one,
                                                                   one, nullptr, zero, zero, nullptr),
                     invalid);
    const std::vector<t::memory::desc> two = {m, m};
    ASSERT_STATUS(invalid, t::concat::primitive_desc(p.e, 7, two));
    ASSERT_STATUS(invalid, t::concat::primitive_desc(p.e, -1, two));
    assert_int_equal(dnnl_tp_post_ops_append_binary(t::post_ops().get(), dnnl_tp_binary_add, nullptr),
                     invalid);
}

void test_what_succeeds_there(void **) {
    place p;
    const t::memory::dim many = t::memory::dim{1} << 59;
    ASSERT_STATUS(invalid, t::memory::desc({many}, dt::u8, tag::a));
    ASSERT_STATUS(ok, t::memory::desc({many - 1}, dt::u8, tag::a));
    dnnl_tp_stream_t s = nullptr;
    assert_int_equal(dnnl_tp_stream_create(&s, p.e, 64), invalid);
    const t::memory scalar(t::memory::desc::host_scalar(dt::f32), 1.f);
    assert_null(scalar.get_engine().get());
    assert_true(scalar.get_engine() != p.e);
}

} // namespace

int main() {
    setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "5", 1);
    setenv("DNNL_PRIMITIVE_CACHE_CAPACITY", "6", 1);
    setenv("DNNL_TP_PRIMITIVE_CACHE_CAPACITY", "77", 1);
    const CMUnitTest tests[] = {cmocka_unit_test(test_variables_of_onednn_are_not_read),
                                cmocka_unit_test(test_kinds_that_exist),
                                cmocka_unit_test(test_a_stream_without_a_pool_starts_no_thread),
                                cmocka_unit_test(test_arguments_have_the_layout_of_the_descriptor),
                                cmocka_unit_test(test_the_engine_is_the_one_object),
                                cmocka_unit_test(test_empty_objects),
                                cmocka_unit_test(test_functions_return_their_status),
                                cmocka_unit_test(test_copies_share_and_clones_do_not),
                                cmocka_unit_test(test_the_cache_of_primitives_knows_engines_apart),
                                cmocka_unit_test(test_the_number_of_threads_is_the_process_s),
                                cmocka_unit_test(test_what_is_computed_here),
                                cmocka_unit_test(test_what_more_is_computed_here),
                                cmocka_unit_test(test_what_is_not_computed_here),
                                cmocka_unit_test(test_what_is_refused_with_another_status),
                                cmocka_unit_test(test_sums_over_no_channel),
                                cmocka_unit_test(test_what_crashes_there),
                                cmocka_unit_test(test_what_succeeds_there)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
