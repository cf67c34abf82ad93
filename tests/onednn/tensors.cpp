// A program for oneDNN: tensors and their descriptors: layouts, windows, other shapes, joined and summed tensors, and
// handles that are copied, compared and given away.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <vector>

#include "dnnl.hpp"
#include "dnnl_debug.h"

using namespace dnnl;

namespace {

using dt = memory::data_type;
using tag = memory::format_tag;

#define REQUIRE(what)                                            \
    do {                                                         \
        if (!(what)) throw std::runtime_error("not so: " #what); \
    } while (0)

void print(const char *name, const memory &mem) {
    std::printf("%s", name);
    const float *p = static_cast<const float *>(mem.get_data_handle());
    for (std::size_t i = 0; i < mem.get_desc().get_size() / sizeof(float); ++i)
        std::printf(" %g", static_cast<double>(p[i]));
    std::printf("\n");
}

const char *name_of(dt type) {
    switch (type) {
    case dt::f32: return "f32";
    case dt::s8: return "s8";
    default: return "?";
    }
}

void descriptors() {
    memory::desc zero;
    REQUIRE(zero.is_zero() && zero.get_ndims() == 0 && zero.get_size() == 0);
    memory::desc nchw({2, 3, 4, 5}, dt::f32, tag::nchw), nhwc({2, 3, 4, 5}, dt::f32, tag::nhwc);
    memory::desc copy = nchw;
    REQUIRE(copy == nchw && copy != nhwc);
    REQUIRE(nhwc.get_strides() == (memory::dims{60, 1, 15, 3}));
    REQUIRE(nchw.get_dims() == nhwc.get_dims() && nchw.get_size() == 2 * 3 * 4 * 5 * sizeof(float));
    REQUIRE(nchw.get_format_kind() == memory::format_kind::blocked);
    REQUIRE(!std::strcmp(name_of(nchw.get_data_type()), "f32"));
    memory::desc blocked({2, 19, 4, 5}, dt::f32, tag::nChw16c);
    REQUIRE(blocked.get_inner_nblks() == 1 && blocked.get_inner_blks()[0] == 16 &&
            blocked.get_inner_idxs()[0] == 1);
    REQUIRE(blocked.get_padded_dims()[1] == 32 && blocked.get_dims()[1] == 19);
    REQUIRE(nchw.permute_axes({0, 3, 1, 2}) == memory::desc({2, 4, 5, 3}, dt::f32, {60, 5, 1, 20}));
    REQUIRE(nchw.reshape({6, 20}) == memory::desc({6, 20}, dt::f32, tag::ab));
    REQUIRE(!nhwc.reshape({6, 20}, true));
    REQUIRE(!memory::desc({2, 3}, dt::f32, tag::nchw, true));
    memory::desc window = nchw.submemory_desc({1, 3, 4, 5}, {1, 0, 0, 0});
    REQUIRE(window.get_submemory_offset() == 60);
    REQUIRE(memory::data_type_size(dt::s8) == 1 && memory::data_type_size(dt::f16) == 2);
    int refused = 0;
    try {
        memory::desc({2, 3}, dt::f32, tag::nchw);
    } catch (const dnnl::error &e) {
        refused = e.status == dnnl_invalid_arguments;
    }
    REQUIRE(refused);
}

void tensors(const engine &eng, stream &s) {
    std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {10, 20, 30, 40, 50, 60};
    memory::desc md({2, 3}, dt::f32, tag::ab), t_md({2, 3}, dt::f32, tag::ba);
    memory a_mem(md, eng, a.data()), b_mem(md, eng);
    std::memcpy(b_mem.get_data_handle(), b.data(), b.size() * sizeof(float));
    REQUIRE(a_mem.get_data_handle() == a.data() && a_mem.get_desc() == md);
    REQUIRE(a_mem.get_engine().get_kind() == engine::kind::cpu);

    // Another layout.
    memory t_mem(t_md, eng);
    reorder(a_mem, t_mem).execute(s, a_mem, t_mem);
    s.wait();
    print("transposed", t_mem);

    // Joined: the library derives the result. In one go with vectors of tensors.
    std::vector<memory::desc> mds = {md, md};
    std::vector<memory> mems;
    mems.push_back(a_mem);
    mems.push_back(b_mem);
    concat::primitive_desc concat_pd(eng, 1, mds);
    REQUIRE(concat_pd.dst_desc().get_dims() == (memory::dims{2, 6}));
    memory joined(concat_pd.dst_desc(), eng);
    std::unordered_map<int, memory> args;
    for (std::size_t i = 0; i < mems.size(); ++i)
        args.insert({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), mems[i]});
    args.insert({DNNL_ARG_DST, joined});
    concat(concat_pd).execute(s, args);

    // Summed, with and without a given result.
    sum::primitive_desc sum_pd(eng, {2.0f, -0.5f}, mds), same_pd(eng, md, {2.0f, -0.5f}, mds);
    REQUIRE(sum_pd.dst_desc() == same_pd.dst_desc());
    memory summed(sum_pd.dst_desc(), eng);
    sum(sum_pd).execute(
        s, {{DNNL_ARG_MULTIPLE_SRC, a_mem}, {DNNL_ARG_MULTIPLE_SRC + 1, b_mem}, {DNNL_ARG_DST, summed}});
    s.wait();
    print("joined", joined);
    print("summed", summed);

    // A copy of a handle is the same tensor, and outlives the first.
    memory alias = a_mem;
    a_mem.set_data_handle(b.data());
    REQUIRE(alias.get_data_handle() == b.data() && alias == a_mem);
    a_mem = memory();
    REQUIRE(!a_mem && alias);
    print("alias", alias);
    std::map<std::string, primitive> zoo{{"concat", concat(concat_pd)}, {"sum", sum(sum_pd)}};
    for (const auto &entry : zoo)
        std::printf("%s %s\n", entry.first.c_str(),
                    dnnl_prim_kind2str(static_cast<dnnl_primitive_kind_t>(entry.second.get_kind())));
    float c[4] = {0, 0, 0, 0};
    REQUIRE(sgemm('N', 'N', 2, 2, 2, 1.0f, b.data(), 2, b.data(), 2, 0.0f, c, 2) == status::success);
    std::printf("product %g %g %g %g\n", static_cast<double>(c[0]), static_cast<double>(c[1]),
                static_cast<double>(c[2]), static_cast<double>(c[3]));
}

} // namespace

int main() {
    try {
        set_primitive_cache_capacity(get_primitive_cache_capacity());
        REQUIRE(version() != nullptr && version()->major >= 0);
        descriptors();
        engine eng{engine::kind::cpu, 0};
        stream s{eng};
        tensors(eng, s);
        return 0;
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
