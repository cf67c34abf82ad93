/* A C++ program of somebody else: a matrix product on its own pool class with an installed dnnl_tp. */
#include <cstdio>

#include <dnnl_tp/dnnl_tp.hpp>

namespace {
struct serial_pool : dnnl_tp::threadpool_interop::threadpool_iface {
    int get_num_threads() const override { return 1; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    std::uint64_t get_flags() const override { return 0; }
};
} // namespace

int main() {
    try {
        serial_pool pool;
        dnnl_tp::engine engine;
#if DNNL_TP_WITH_THREADPOOL
        dnnl_tp::stream stream(engine, dnnl_tp::stream_attr(pool));
#else
        dnnl_tp::stream stream(engine);
#endif
        const dnnl_tp::memory_desc a_md({2, 3}, dnnl_tp_f32), b_md({3, 2}, dnnl_tp_f32),
            c_md({2, 2}, dnnl_tp_f32);
        float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1}, c[4] = {0};
        const float want[4] = {4, 5, 10, 11};
        const dnnl_tp::memory am(a_md, engine, a), bm(b_md, engine, b), cm(c_md, engine, c);
        dnnl_tp::matmul({engine, a_md, b_md, c_md})
            .execute(stream, {{DNNL_TP_ARG_SRC, am}, {DNNL_TP_ARG_WEIGHTS, bm}, {DNNL_TP_ARG_DST, cm}});
        stream.wait();
        for (int i = 0; i < 4; ++i)
            if (c[i] != want[i]) {
                std::fprintf(stderr, "c[%d] is %g, not %g\n", i, static_cast<double>(c[i]),
                             static_cast<double>(want[i]));
                return 1;
            }
        std::puts("ok");
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
