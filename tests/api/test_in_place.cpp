/* Which arguments dst may lie in the place of: one layout, elements of one size, one address; everything else that
 * overlaps is refused before dst is touched. What is computed in place: tests/cts. */
#include <vector>

#include "support/check.hpp"

namespace t = dnnl_tp;

namespace {

enum { M = 6, N = 40 };
using dt = t::memory::data_type;
using tag = t::memory::format_tag;
const dnnl_tp_status_t ok = dnnl_tp_success, no = dnnl_tp_invalid_arguments;

struct place {
    t::engine e{t::engine::kind::cpu, 0};
    t::stream s{e};
    std::vector<float> all = std::vector<float>(4 * M * N, 1.f);
    /* The memory of md from element `from` of all on. */
    t::memory at(const t::memory::desc &md, int from = 0) { return t::memory(md, e, all.data() + from); }
};
const t::memory::desc whole({M, N}, dt::f32, tag::ab), across({M, N}, dt::f32, tag::ba),
    row({1, N}, dt::f32, tag::ab), ints({M, N}, dt::s32, tag::ab), halves({M, N}, dt::bf16, tag::ab);
constexpr int apart = 2 * M * N;

/* dst = src0 + src1, where one of these lies `from` elements behind dst's begin. */
void add(dnnl_tp_status_t want, int which, const t::memory::desc &md, int from = 0) {
    place p;
    const bool first = which == 0;
    t::binary::primitive_desc pd(p.e, t::algorithm::binary_add, first ? md : whole, first ? whole : md,
                                 whole);
    const t::memory there = p.at(md, from), other = p.at(whole, apart), dst = p.at(whole);
    ASSERT_STATUS(want, t::binary(pd).execute(p.s, {{DNNL_TP_ARG_SRC_0, first ? there : other},
                                                    {DNNL_TP_ARG_SRC_1, first ? other : there},
                                                    {DNNL_TP_ARG_DST, dst}}));
    p.s.wait();
    if (want != ok)
        for (float x : p.all) assert_true(x == 1.f);
}

void test_sources_of_binary(void **) {
    for (int which = 0; which < 2; ++which) {
        add(ok, which, whole);
        add(ok, which, ints);
        add(no, which, row);    /* would be read again after its place was written */
        add(no, which, across); /* another thread's elements */
        add(no, which, halves);
        add(no, which, whole, 1);
        add(no, which, whole, N);
        add(ok, which, whole, M * N); /* beside it */
    }
    /* Strides of single elements tell nothing. */
    place p;
    const t::memory::desc one({1, N}, dt::f32, tag::ab), same({1, N}, dt::f32, t::memory::dims{3 * N, 1});
    t::binary::primitive_desc pd(p.e, t::algorithm::binary_add, one, same, one);
    ASSERT_STATUS(ok, t::binary(pd).execute(p.s, {{DNNL_TP_ARG_SRC_0, p.at(one, apart)},
                                                  {DNNL_TP_ARG_SRC_1, p.at(same)},
                                                  {DNNL_TP_ARG_DST, p.at(one)}}));
}

void test_sources_of_sum(void **) {
    for (int which = 0; which < 3; ++which)
        for (const t::memory::desc &md : {whole, ints, across, halves}) {
            place p;
            std::vector<t::memory::desc> mds(3, whole);
            mds[which] = md;
            t::sum::primitive_desc pd(p.e, whole, {1.f, 2.f, 1.f}, mds);
            std::unordered_map<int, t::memory> args{{DNNL_TP_ARG_DST, p.at(whole)}};
            for (int i = 0; i < 3; ++i)
                args.insert({DNNL_TP_ARG_MULTIPLE_SRC + i, p.at(mds[i], i == which ? 0 : apart)});
            const bool right = md == whole || md == ints;
            ASSERT_STATUS(right ? ok : no, t::sum(pd).execute(p.s, args));
        }
}

void test_reorder(void **) {
    const dnnl_tp_dim_t any = DNNL_TP_RUNTIME_DIM_VAL;
    const t::memory::desc open({any, any}, dt::f32, tag::ab), open_across({any, any}, dt::f32, tag::ba),
        open_ints({any, any}, dt::s32, tag::ab);
    const struct {
        t::memory::desc from, to, src, dst;
        dnnl_tp_status_t want;
    } cases[] = {{whole, whole, whole, whole, ok},      {ints, whole, ints, whole, ok},
                 {across, whole, across, whole, no},    {whole, halves, whole, halves, no},
                 {halves, whole, halves, whole, no},    {open_ints, open, ints, whole, ok},
                 {open_across, open, across, whole, no}};
    for (const auto &c : cases) {
        place p;
        t::reorder::primitive_desc pd(p.e, c.from, p.e, c.to);
        ASSERT_STATUS(c.want, t::reorder(pd).execute(
                                  p.s, {{DNNL_TP_ARG_FROM, p.at(c.src)}, {DNNL_TP_ARG_TO, p.at(c.dst)}}));
    }
}

/* The source that a kind writes in the place of: the same rules; no other output lies there. */
void test_kinds_with_one_source(void **) {
    for (const t::memory::desc &md : {whole, ints, across, halves}) {
        if (md == ints) continue; /* no softmax of such */
        place p;
        t::softmax_forward::primitive_desc softmax(p.e, t::prop_kind::forward_inference,
                                                   t::algorithm::softmax_accurate, md, whole, 1);
        t::eltwise_forward::primitive_desc relu(p.e, t::prop_kind::forward_inference,
                                                t::algorithm::eltwise_relu, md, whole, 0.f, 0.f);
        const std::unordered_map<int, t::memory> args{{DNNL_TP_ARG_SRC, p.at(md)},
                                                      {DNNL_TP_ARG_DST, p.at(whole)}};
        ASSERT_STATUS(md == whole ? ok : no, t::softmax_forward(softmax).execute(p.s, args));
        ASSERT_STATUS(md == whole ? ok : no, t::eltwise_forward(relu).execute(p.s, args));
    }
    place p;
    const t::memory::desc stats({M}, dt::f32, tag::a);
    t::layer_normalization_forward::primitive_desc pd(p.e, t::prop_kind::forward_training, whole, whole,
                                                      1e-5f, t::normalization_flags::none);
    const t::memory mean = p.at(stats, apart), variance = p.at(stats, apart + M);
    std::unordered_map<int, t::memory> args{{DNNL_TP_ARG_SRC, p.at(whole)},
                                            {DNNL_TP_ARG_DST, p.at(whole)},
                                            {DNNL_TP_ARG_MEAN, mean},
                                            {DNNL_TP_ARG_VARIANCE, variance}};
    ASSERT_STATUS(ok, t::layer_normalization_forward(pd).execute(p.s, args));
    args[DNNL_TP_ARG_DST] = p.at(whole, M * N);
    args[DNNL_TP_ARG_MEAN] = p.at(stats);
    ASSERT_STATUS(no, t::layer_normalization_forward(pd).execute(p.s, args));
}

/* A tensor of a post-operation at dst's address: all of dst, or it is read again after it was written. */
void test_tensors_of_post_operations(void **) {
    const t::memory::desc a({M, 3}, dt::f32, tag::ab), b({3, N}, dt::f32, tag::ab);
    for (const t::memory::desc &md : {whole, row, across, halves}) {
        place p;
        t::post_ops ops;
        ops.append_binary(t::algorithm::binary_add, md);
        t::primitive_attr attr;
        attr.set_post_ops(ops);
        t::matmul::primitive_desc pd(p.e, a, b, whole, attr);
        ASSERT_STATUS(
            md == whole ? ok : no,
            t::matmul(pd).execute(p.s, {{DNNL_TP_ARG_SRC, p.at(a, apart)},
                                        {DNNL_TP_ARG_WEIGHTS, p.at(b, apart + 3 * M)},
                                        {DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_TP_ARG_SRC_1, p.at(md)},
                                        {DNNL_TP_ARG_DST, p.at(whole)}}));
        p.s.wait();
        if (md == whole)
            for (int i = 0; i < M * N; ++i) assert_true(p.all[i] == 4.f);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_sources_of_binary),
                                cmocka_unit_test(test_sources_of_sum), cmocka_unit_test(test_reorder),
                                cmocka_unit_test(test_kinds_with_one_source),
                                cmocka_unit_test(test_tensors_of_post_operations)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
