// What the examples do with their pool: a matrix product, and the question who helped.
#ifndef MATMUL_ON_HPP
#define MATMUL_ON_HPP

#include <cstdio>
#include <vector>

#include "dnnl_tp/dnnl_tp.hpp"

inline int matmul_on(const dnnl_tp_threadpool_iface_t &pool) {
    constexpr int n = 512;
    std::vector<float> x(n * n, 1), w(n * n, 2), y(n * n);
    {
        dnnl_tp::engine engine{dnnl_tp::stream_attr(pool)}; // primitives are planned for the pool,
        dnnl_tp::stream stream(engine);                     // streams run on it
        const dnnl_tp::memory_desc md({n, n}, dnnl_tp_f32, dnnl_tp_ab);
        dnnl_tp::matmul product(dnnl_tp::matmul::primitive_desc(engine, md, md, md));
        dnnl_tp::memory src(md.get(), engine, x.data()), wei(md.get(), engine, w.data()),
            dst(md.get(), engine, y.data());
        for (int i = 0; i < 100; ++i)
            product.execute(stream, {{DNNL_TP_ARG_SRC, src.get()},
                                     {DNNL_TP_ARG_WEIGHTS, wei.get()},
                                     {DNNL_TP_ARG_DST, dst.get()}});
        dnnl_tp_threadpool_stats_t stats = {};
        stats.struct_size = sizeof stats;
        dnnl_tp::check(dnnl_tp_threadpool_query(&pool, &stats));
        std::printf("y = %g; %d threads, loops shared: %llu\n", static_cast<double>(y[0]), stats.num_threads,
                    static_cast<unsigned long long>(stats.loops));
    }
    // Nothing of the library is left in the pool: from here on it may go away.
    dnnl_tp::check(dnnl_tp_threadpool_quiesce(&pool, -1));
    return y[0] == 2 * n ? 0 : 1;
}

#endif
