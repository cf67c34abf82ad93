/* What all classes in C++ have in common: handles that are shared and convert to their C handle alone, errors, names
 * of enumerators in both forms, empty results on request; and the functions that belong to no class. */
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "dnnl_tp/dnnl_tp_session.hpp"
#include "dnnl_tp/dnnl_tp_threadpool.hpp"
#include "support/check.hpp"

namespace t = dnnl_tp;
using dt = t::memory::data_type;
using tag = t::memory::format_tag;

namespace {

/* Converts to H and to the const form of H, and to nothing that data, numbers or truth would go into. */
template <typename C, typename H, typename ConstH = H> constexpr bool is_only() {
    static_assert(std::is_convertible_v<C, H> && std::is_convertible_v<const C &, H>);
    static_assert(std::is_convertible_v<C, ConstH>);
    static_assert(!std::is_convertible_v<C, void *> && !std::is_convertible_v<C, const void *>);
    static_assert(!std::is_convertible_v<C, const volatile void *> && !std::is_convertible_v<C, bool>);
    static_assert(!std::is_convertible_v<C, int> && !std::is_convertible_v<C, std::uintptr_t>);
    static_assert(!std::is_constructible_v<std::uintptr_t, C>);
    static_assert(std::is_constructible_v<bool, C>);
    /* oneDNN's programs write `memory::desc md = c_handle;` */
    static_assert(std::is_convertible_v<H, C> == std::is_same_v<C, t::memory_desc>);
    static_assert(std::is_copy_constructible_v<C> && std::is_copy_assignable_v<C>);
    static_assert(std::is_nothrow_move_constructible_v<C> && std::is_nothrow_move_assignable_v<C>);
    return true;
}
static_assert(is_only<t::engine, dnnl_tp_engine_t>());
static_assert(is_only<t::stream, dnnl_tp_stream_t, const_dnnl_tp_stream_t>());
static_assert(is_only<t::stream_attr, dnnl_tp_stream_attr_t, const_dnnl_tp_stream_attr_t>());
static_assert(is_only<t::memory_desc, dnnl_tp_memory_desc_t, const_dnnl_tp_memory_desc_t>());
static_assert(is_only<t::memory, dnnl_tp_memory_t, const_dnnl_tp_memory_t>());
static_assert(is_only<t::post_ops, dnnl_tp_post_ops_t, const_dnnl_tp_post_ops_t>());
static_assert(is_only<t::primitive_attr, dnnl_tp_primitive_attr_t, const_dnnl_tp_primitive_attr_t>());
static_assert(is_only<t::matmul::primitive_desc, dnnl_tp_primitive_desc_t, const_dnnl_tp_primitive_desc_t>());
static_assert(is_only<t::matmul, dnnl_tp_primitive_t, const_dnnl_tp_primitive_t>());
static_assert(is_only<t::graph, dnnl_tp_graph_t, const_dnnl_tp_graph_t>());
static_assert(is_only<t::executable, dnnl_tp_executable_t, const_dnnl_tp_executable_t>());
static_assert(is_only<t::event, dnnl_tp_event_t>() && is_only<t::trace, dnnl_tp_trace_t>());
static_assert(is_only<t::session, dnnl_tp_session_t>() && is_only<t::callable, dnnl_tp_callable_t>());
static_assert(!std::is_convertible_v<t::engine, dnnl_tp_stream_t>);

static_assert(std::is_same_v<t::memory::desc, t::memory_desc> && std::is_same_v<t::memory::dims, t::dims>);
static_assert(t::convert_to_c(t::algorithm::eltwise_relu) == dnnl_tp_eltwise_relu);
static_assert(tag::nchw == tag::abcd && tag::nchw == dnnl_tp_abcd && dnnl_tp_nhwc != tag::abcd);
static_assert(t::memory::convert_to_c(tag::nChw16c) == dnnl_tp_nChw16c);
static_assert((t::normalization_flags::use_scale | t::normalization_flags::use_shift) ==
              static_cast<t::normalization_flags>(6));

void test_handles_are_shared(void **) {
    t::engine e;
    t::memory a({{2, 2}, dt::f32, tag::ab}, e);
    static_cast<float *>(a.data())[3] = 7.0f;
    t::memory b = a;
    assert_true(a == b && a.get() == b.get());
    a = t::memory();
    assert_false(static_cast<bool>(a));
    assert_true(a != b && static_cast<float *>(b.data())[3] == 7.0f);
    b = *&b;
    assert_non_null(b.get());
    std::vector<t::memory> many(3, b);
    many.push_back(std::move(b));
    assert_null(b.get());
    t::memory last = many[3];
    many.clear();
    assert_true(static_cast<float *>(last.data())[3] == 7.0f);
    /* given away: the copy refers to it, and does not destroy it */
    t::memory copy = last;
    dnnl_tp_memory_t h = last.release();
    assert_null(last.get());
    assert_true(copy.get() == h);
    copy.reset();
    t::memory weak(h, true);
    weak.reset();
    t::memory owner(h);
    assert_true(static_cast<float *>(owner.data())[3] == 7.0f);
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::memory().get(false));
    assert_true(owner.get_engine() == e && owner.get_engine().get_kind() == t::engine::kind::cpu);
    /* the last copy may go on any thread */
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([mine = owner] {
            t::memory again = mine;
            (void)again.get_desc();
        });
    owner.reset();
    for (std::thread &one : threads) one.join();
}

void test_errors(void **) {
    try {
        t::memory_desc bad({-2}, dt::f32, tag::a);
        fail();
    } catch (const t::error &e) {
        assert_int_equal(e.status, dnnl_tp_invalid_arguments);
        assert_int_equal(e.status(), dnnl_tp_invalid_arguments);
        assert_true(e.status == t::status::invalid_arguments);
        assert_string_equal(e.message, e.what());
        switch (e.status) {
        case dnnl_tp_invalid_arguments: break;
        default: fail();
        }
        t::error copy(dnnl_tp_success, "another");
        {
            const t::error first = e;
            copy = first;
        }
        assert_string_equal(copy.message, e.message);
        assert_string_equal(dnnl_tp_status2str(copy.status), "invalid_arguments");
    }
    ASSERT_STATUS(dnnl_tp_timed_out, t::error::wrap_c_api(dnnl_tp_timed_out, "waiting"));
    ASSERT_STATUS(dnnl_tp_success, t::error::wrap_c_api(dnnl_tp_success, "waiting"));
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::memory_desc({2, 3}, dt::f32, t::dims{1}));
}

void test_empty_on_request(void **) {
    t::engine e;
    const t::memory::desc md({4, 4}, dt::f32, tag::ab), other({5, 5}, dt::f32, tag::ab), none;
    assert_false(static_cast<bool>(t::memory::desc({4}, dt::f32, tag::ab, true)));
    assert_false(static_cast<bool>(t::memory::desc({4}, dt::f32, t::memory::dims{-1}, true)));
    assert_false(static_cast<bool>(md.reshape({3}, true)));
    assert_false(static_cast<bool>(md.permute_axes({0, 0}, true)));
    assert_false(static_cast<bool>(md.submemory_desc({8, 8}, {0, 0}, true)));
    const auto prop = t::prop_kind::forward_inference;
    const std::vector<t::memory::desc> mixed = {md, other};
    const t::primitive_attr attr;
    assert_false(static_cast<bool>(t::matmul::primitive_desc(e, md, other, md, attr, true)));
    assert_false(static_cast<bool>(t::matmul::primitive_desc(e, md, other, none, md, &attr, true)));
    assert_false(
        static_cast<bool>(t::inner_product_forward::primitive_desc(e, prop, md, other, md, {}, true)));
    assert_false(static_cast<bool>(
        t::softmax_forward::primitive_desc(e, prop, t::algorithm::softmax_log, md, other, 0, attr, true)));
    assert_false(static_cast<bool>(t::layer_normalization_forward::primitive_desc(
        e, prop, md, other, 0.0f, t::normalization_flags::none, attr, true)));
    assert_false(static_cast<bool>(
        t::eltwise_forward::primitive_desc(e, prop, t::algorithm::eltwise_relu, md, other, attr, true)));
    assert_false(static_cast<bool>(t::batch_normalization_forward::primitive_desc(
        e, prop, md, other, 0.0f, t::normalization_flags::none, attr, true)));
    assert_false(static_cast<bool>(t::group_normalization_forward::primitive_desc(
        e, prop, md, other, 1, 0.0f, t::normalization_flags::none, attr, true)));
    assert_false(static_cast<bool>(t::lrn_forward::primitive_desc(
        e, prop, t::algorithm::lrn_within_channel, md, other, 5, 1.0f, 0.75f, 1.0f, attr, true)));
    assert_false(static_cast<bool>(t::pooling_forward::primitive_desc(
        e, prop, t::algorithm::pooling_max, md, other, {1}, {1}, {0}, {0}, {0}, attr, true)));
    assert_false(static_cast<bool>(t::convolution_forward::primitive_desc(
        e, prop, t::algorithm::convolution_direct, t::memory_desc({1, 2, 3}, dnnl_tp_f32), other, md, {1},
        {0}, {0}, attr, true)));
    assert_false(static_cast<bool>(t::deconvolution_forward::primitive_desc(
        e, prop, t::algorithm::deconvolution_direct, t::memory_desc({1, 2, 3}, dnnl_tp_f32), other, md, {1},
        {0}, {0}, attr, true)));
    assert_false(static_cast<bool>(t::resampling_forward::primitive_desc(
        e, prop, t::algorithm::resampling_nearest, md, other, attr, true)));
    assert_false(static_cast<bool>(t::resampling_forward::primitive_desc(
        e, prop, t::algorithm::resampling_nearest, std::vector<float>(), md, attr, true)));
    assert_false(static_cast<bool>(t::shuffle_forward::primitive_desc(e, prop, md, other, 0, 1, attr, true)));
    assert_false(static_cast<bool>(t::prelu_forward::primitive_desc(e, prop, md, other, md, attr, true)));
    assert_false(
        static_cast<bool>(t::binary::primitive_desc(e, t::algorithm::binary_add, md, other, md, attr, true)));
    assert_false(static_cast<bool>(
        t::reduction::primitive_desc(e, t::algorithm::reduction_sum, md, other, 0, 0, attr, true)));
    assert_false(static_cast<bool>(t::reorder::primitive_desc(e, md, e, other, attr, true)));
    assert_false(static_cast<bool>(t::concat::primitive_desc(e, 0, mixed, attr, true)));
    assert_false(static_cast<bool>(t::sum::primitive_desc(e, {1, 1}, mixed, attr, true)));
    assert_true(static_cast<bool>(t::matmul::primitive_desc(e, md, md, md, attr, true)));
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::sum::primitive_desc(e, {1}, mixed));
}

/* More arguments than execute keeps on its stack, and each form of a list. */
/* An RMS norm takes and writes no mean; what describes one is where oneDNN has it. */
void test_mean_of_an_rms_norm(void **) {
    using flag = t::normalization_flags;
    t::engine e;
    const t::memory::desc md({2, 3, 8}, dt::f32, tag::bac), stat({2, 3}, dt::f32, tag::ba);
    for (const bool global : {false, true})
        for (const bool training : {false, true}) {
            const auto prop = training ? t::prop_kind::forward_training : t::prop_kind::forward_inference;
            const t::layer_normalization_forward::primitive_desc pd(
                e, prop, md, md, 1e-5f, global ? flag::rms_norm | flag::use_global_stats : flag::rms_norm);
            const t::memory::desc want = global || training ? stat : t::memory::desc();
            assert_true(pd.mean_desc() == want && pd.variance_desc() == want);
            const auto where = global ? t::query::src_md : t::query::dst_md;
            assert_true(pd.query_md(where, 1) == want && pd.query_md(where, 2) == want);
            assert_int_equal(pd.query<int>(t::query::num_of_inputs_s32), global ? 2 : 1);
            assert_int_equal(pd.query<int>(t::query::num_of_outputs_s32), !global && training ? 2 : 1);
        }
}

void test_execute_forms(void **) {
    t::engine e;
    t::stream s(e);
    enum { N = 20 };
    const t::memory::desc one({1, 2}, dt::f32, tag::ab);
    const std::vector<t::memory::desc> srcs(N, one);
    const t::concat::primitive_desc pd(e, 0, srcs);
    assert_int_equal(pd.get_axis(), 0);
    const t::concat joined(pd);
    assert_true(joined.get_kind() == t::primitive::kind::concat && pd.get_kind() == joined.get_kind());
    t::memory dst(pd.dst_desc(), e);
    std::unordered_map<int, t::memory> map = {{DNNL_TP_ARG_DST, dst}};
    std::vector<dnnl_tp_exec_arg_t> list = {{DNNL_TP_ARG_DST, dst}};
    std::vector<dnnl_tp_exec_handle_t> pointers = {{DNNL_TP_ARG_DST, dst.data()}};
    for (int i = 0; i < N; ++i) {
        t::memory m(one, e);
        static_cast<float *>(m.data())[1] = static_cast<float>(i);
        map[DNNL_TP_ARG_MULTIPLE_SRC + i] = m;
        list.push_back({DNNL_TP_ARG_MULTIPLE_SRC + i, m});
        pointers.push_back({DNNL_TP_ARG_MULTIPLE_SRC + i, m.data()});
    }
    float *out = static_cast<float *>(dst.data());
    const auto check_and_clear = [&] {
        s.wait();
        for (int i = 0; i < N; ++i) assert_true(out[2 * i + 1] == static_cast<float>(i));
        std::fill(out, out + 2 * N, -1.0f);
    };
    joined.execute(s, map);
    check_and_clear();
    joined.execute(s, list);
    check_and_clear();
    joined.execute_handles(s, pointers);
    check_and_clear();
    dnnl_tp_timed_run_opts_t few = {};
    few.struct_size = sizeof few;
    few.max_warm_runs = 10;
    assert_true(joined.timed_run(s, pointers, &few).warm_runs > 0);
    check_and_clear();
    /* a descriptor whose primitive is made from what is lent */
    t::primitive again(joined.get_primitive_desc());
    again.execute(s, map);
    check_and_clear();
}

void test_both_forms_of_enumerators(void **) {
    t::engine c(dnnl_tp_cpu, 0), cxx(t::engine::kind::cpu, 0);
    assert_int_equal(t::engine::get_count(t::engine::kind::gpu), 0);
    assert_true(t::memory_desc({2}, dnnl_tp_s8, dnnl_tp_a) == t::memory::desc({2}, dt::s8, tag::a));
    t::stream sc(c, dnnl_tp_stream_default_flags), scxx(cxx, t::stream::flags::in_order);
    assert_true(sc.get_engine() == c && scxx.get_engine() != c);
    t::primitive_attr a;
    a.set_fpmath_mode(dnnl_tp_fpmath_mode_bf16);
    assert_true(a.get_fpmath_mode() == t::fpmath_mode::bf16);
    t::fpmath_mode mode = t::fpmath_mode::any;
    bool to_int = false;
    a.set_fpmath_mode(t::fpmath_mode::f16, true);
    a.get_fpmath_mode(mode, to_int);
    assert_true(mode == dnnl_tp_fpmath_mode_f16 && to_int);
    a.set_accumulation_mode(t::accumulation_mode::any);
    assert_true(a.get_accumulation_mode() == t::accumulation_mode::any);
    a.set_scales(DNNL_TP_ARG_SRC, 0, {}, dt::f32, false, t::quantization_mode::static_sazp);
    a.set_zero_points(DNNL_TP_ARG_SRC, 0, {}, dt::s32, false);
    a.set_deterministic(true);
    assert_true(a.get_deterministic());
    a.set_refuse_reference(true);
    assert_true(a.refuse_reference());
    t::post_ops ops;
    ops.append_sum(2.0f, 0, dt::f32).append_eltwise(t::algorithm::eltwise_tanh);
    ops.append_binary(t::algorithm::binary_mul, t::memory::desc({1, 1}, dt::f32, tag::ab));
    a.set_post_ops(ops);
    ops.append_prelu(2);
    ops.append_sum();
    const t::post_ops got = a.get_post_ops();
    assert_int_equal(got.len(), 3);
    int mask = 0;
    ops.get_params_prelu(3, mask);
    assert_int_equal(mask, 2);
    float scale = 0, alpha = 1, beta = 1;
    dt type = dt::undef;
    std::int32_t zero_point = 1;
    got.get_params_sum(0, scale);
    got.get_params_sum(0, scale, type);
    got.get_params_sum(0, scale, zero_point, type);
    assert_true(scale == 2.0f && zero_point == 0 && type == dt::f32);
    t::algorithm alg = t::algorithm::undef;
    got.get_params_eltwise(1, alg, alpha, beta);
    assert_true(alg == t::algorithm::eltwise_tanh && alpha == 0.0f);
    t::memory::desc src1;
    got.get_params_binary(2, alg, src1);
    assert_true(alg == t::algorithm::binary_mul && src1.get_ndims() == 2);
    const t::memory::desc md({2, 3}, dt::f32, tag::ab);
    const t::softmax_forward::primitive_desc pd(c, t::prop_kind::forward_inference, t::algorithm::softmax_log,
                                                md, md, 1);
    assert_true(pd.get_prop_kind() == t::prop_kind::forward_inference);
    assert_true(pd.get_algorithm() == t::algorithm::softmax_log && pd.get_axis() == 1);
    assert_true(pd.query_s64(t::query::memory_consumption_s64) >= 0);
    /* A walk over all descriptors: those of gradients have no dimensions. */
    for (t::query q : {t::query::diff_src_md, t::query::diff_weights_md, t::query::diff_dst_md})
        assert_int_equal(pd.query_md(q, 0).get_ndims(), 0);
    ASSERT_STATUS(dnnl_tp_unimplemented, pd.query_s64(t::query::group_size_s64));
}

void test_service(void **) {
    assert_int_equal(t::version()->library_minor, DNNL_TP_LIBRARY_VERSION_MINOR);
    const int capacity = t::get_primitive_cache_capacity();
    t::set_primitive_cache_capacity(17);
    assert_int_equal(t::get_primitive_cache_capacity(), 17);
    t::set_primitive_cache_capacity(capacity);
    ASSERT_STATUS(dnnl_tp_invalid_arguments, t::set_primitive_cache_capacity(-1));
    const t::fpmath_mode mode = t::get_default_fpmath_mode();
    assert_true(t::set_default_fpmath_mode(t::fpmath_mode::bf16) == t::status::success);
    assert_true(t::primitive_attr().get_fpmath_mode() == t::fpmath_mode::bf16);
    t::set_default_fpmath_mode(mode);
    (void)t::get_effective_cpu_isa();
    assert_true(t::set_max_cpu_isa(static_cast<t::cpu_isa>(2)) == t::status::invalid_arguments);
    assert_true(t::set_cpu_isa_hints(t::get_cpu_isa_hints()) == t::status::success);
    assert_true(t::set_cpu_isa_hints(t::cpu_isa_hints::prefer_ymm) == t::status::unimplemented);
    std::string lines;
    auto keep = [&lines](const char *line) { lines += line; };
    t::set_verbose_callback(keep);
    assert_true(t::set_verbose(1) == t::status::success);
    t::engine e;
    t::stream s(e);
    t::memory m({{4}, dt::f32, tag::a}, e);
    t::eltwise_forward(
        {e, t::prop_kind::forward_inference, t::algorithm::eltwise_abs, m.get_desc(), m.get_desc()})
        .execute(s, {{DNNL_TP_ARG_SRC, m}, {DNNL_TP_ARG_DST, m}});
    s.wait();
    t::set_verbose(0);
    t::reset_verbose_callback();
    assert_true(lines.find("eltwise") != std::string::npos);
    assert_true(t::set_verbose(99) == t::status::invalid_arguments);
    assert_true(m.get_desc().get_sparse_encoding() == t::memory::sparse_encoding::undef);
    assert_true(m.get_desc().get_nnz() == 0);
    assert_true(m.sync());
}

#if DNNL_TP_WITH_THREADPOOL
/* The last copy of a stream goes in the callback that kept it until its work was done: the stream
 * ends, and lets its pool go. */
void test_last_copy_in_a_callback(void **) {
    struct counts {
        int calls = 0, released = 0;
    } n;
    dnnl_tp_threadpool_iface_t pool = {};
    pool.struct_size = sizeof pool;
    pool.ctx = &n;
    pool.get_num_threads = [](void *) { return 2; };
    pool.schedule = [](void *ctx, void *, dnnl_tp_task_fn_t, void *) {
        return ++static_cast<counts *>(ctx)->calls; /* refuses: the thread that signals does the work */
    };
    pool.release = [](void *ctx) { ++static_cast<counts *>(ctx)->released; };
    const t::engine e(dnnl_tp_cpu, 0);
    for (int k = 0; k < 3; ++k) {
        n = {};
        t::stream_attr attr(pool);
        attr.set_async(true);
        t::stream s(e, attr);
        attr = t::stream_attr(nullptr);
        t::event gate = t::event::host(e);
        s.wait_event(gate);
        t::event done = s.record_event();
        int called = 0;
        done.on_complete([copy = s, &called](dnnl_tp_status_t) { ++called; });
        if (k == 1) done.on_complete([copy = s, &called](dnnl_tp_status_t) { ++called; });
        if (k == 2) done = t::event(); /* nobody can ask for it any more */
        s = t::stream();
        assert_int_equal(n.released, 0);
        gate.signal();
        if (k < 2) done.wait();
        assert_int_equal(called, k == 1 ? 2 : 1);
        assert_int_equal(n.released, 1);
    }
}
#endif

/* The last copies of a session go inside one of its runs: that ends, as cancelled, and the session
 * with it. */
void test_last_copy_in_a_run(void **) {
    struct owner {
        t::session session;
        int dropped = 0, freed = 0;
    } o;
    const t::engine e(dnnl_tp_cpu, 0);
    for (int copies = 1; copies < 3; ++copies) {
        dnnl_tp_session_t raw = nullptr;
        {
            t::graph g(dnnl_tp_cpu);
            dnnl_tp_tensor_info_t info = {};
            info.data_type = dnnl_tp_f32;
            dnnl_tp_value_t v = 0;
            t::check(dnnl_tp_graph_host(
                g.get(),
                [](void *arg, const volatile int *, int, const dnnl_tp_host_arg_t *, int,
                   const dnnl_tp_host_arg_t *) {
                    owner *mine = static_cast<owner *>(arg);
                    mine->session = t::session();
                    ++mine->dropped;
                    return dnnl_tp_success;
                },
                &o, [](void *arg) { ++static_cast<owner *>(arg)->freed; }, 0, "drops", 0, nullptr, 1, &info,
                &v));
            dnnl_tp_session_opts_t opts = {};
            opts.struct_size = sizeof opts;
            opts.per_session_threads = 1;
            opts.num_threads = 1;
            o.session = t::session(g, e, &opts);
            raw = o.session.get();
        }
        const t::session second = copies == 2 ? o.session : t::session();
        const int freed = o.freed;
        float out = 0;
        const dnnl_tp_fetch_t fetch = {"drops", &out};
        const dnnl_tp_status_t status = dnnl_tp_session_run(raw, 0, nullptr, 1, &fetch, 0, nullptr, nullptr);
        assert_int_equal(status, copies == 2 ? dnnl_tp_success : dnnl_tp_cancelled);
        assert_int_equal(o.dropped, copies);
        assert_int_equal(o.freed - freed, copies == 2 ? 0 : 1); /* the graph, by the session alone */
    }
    assert_int_equal(o.freed, 2);
}

#if DNNL_TP_WITH_THREADPOOL
struct serial_pool : t::threadpool_interop::threadpool_iface {
    int loops = 0;
    int get_num_threads() const override { return 2; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        ++loops;
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    std::uint64_t get_flags() const override { return 0; }
};

void test_interop(void **) {
    namespace ti = t::threadpool_interop;
    serial_pool pool;
    {
        t::engine e;
        t::stream s = ti::make_stream(e, &pool);
        assert_ptr_equal(ti::get_threadpool(s), &pool);
        assert_null(ti::get_threadpool(ti::make_stream(e, nullptr)));
        t::threadpool builtin(2);
        assert_null(ti::get_threadpool(t::stream(e, t::stream_attr(builtin))));
        assert_true(t::threadpool_query(*builtin.iface()).num_threads >= 1);
        std::vector<float> a(256 * 256, 1.0f), c(256 * 256);
        assert_true(ti::sgemm('N', 'N', 256, 256, 256, 1, a.data(), 256, a.data(), 256, 0, c.data(), 256,
                              &pool) == t::status::success);
        assert_true(c[77] == 256.0f && pool.loops > 0);
        const std::uint8_t u = 3;
        const std::int8_t i = -2;
        const std::int32_t offset = 1;
        std::int32_t out = 0;
        ti::gemm_u8s8s32('N', 'N', 'F', 1, 1, 1, 1, &u, 1, 0, &i, 1, 0, 0, &out, 1, &offset, &pool);
        assert_int_equal(out, -5);
        ti::gemm_s8s8s32('N', 'N', 'F', 1, 1, 1, 1, &i, 1, 0, &i, 1, 0, 0, &out, 1, &offset, nullptr);
        assert_int_equal(out, 5);
    }
    const int before = ti::get_max_concurrency();
    ti::set_max_concurrency(3);
    assert_int_equal(ti::get_max_concurrency(), 3);
    ti::set_max_concurrency(before);
    assert_true(ti::quiesce(ti::make_iface(&pool)));
}
#endif

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_handles_are_shared),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_empty_on_request),
        cmocka_unit_test(test_mean_of_an_rms_norm),
        cmocka_unit_test(test_execute_forms),
        cmocka_unit_test(test_both_forms_of_enumerators),
        cmocka_unit_test(test_service),
        cmocka_unit_test(test_last_copy_in_a_run),
#if DNNL_TP_WITH_THREADPOOL
        cmocka_unit_test(test_last_copy_in_a_callback),
        cmocka_unit_test(test_interop),
#endif
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
