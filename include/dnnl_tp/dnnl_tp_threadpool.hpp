/** @file
 * A pool of the program under the names of oneDNN's dnnl_threadpool.hpp. stream_attr of
 * dnnl_tp_stream.hpp has more options (priorities, limits, asynchronous streams). */
#ifndef DNNL_TP_THREADPOOL_HPP
#define DNNL_TP_THREADPOOL_HPP

#include "dnnl_tp/dnnl_tp.hpp"

namespace dnnl_tp {
namespace threadpool_interop {

/** A stream on a pool; NULL = sequential. The pool must live as long as the library may call it. */
inline stream make_stream(const engine &e, threadpool_iface *pool) {
    const dnnl_tp_threadpool_iface_t iface = make_iface(pool);
    dnnl_tp_stream_t h = nullptr;
    check(
        dnnl_tp_threadpool_interop_stream_create(&h, e.get(), pool == nullptr ? nullptr : &iface));
    return stream(h);
}

/** The pool of a stream; NULL if there is none, or if it is not of this class. */
inline threadpool_iface *get_threadpool(const stream &s) {
    const dnnl_tp_threadpool_iface_t *iface = nullptr;
    check(dnnl_tp_threadpool_interop_stream_get_threadpool(s.get(), &iface));
    return iface != nullptr && iface->parallel_for == detail::parallel_for
               ? detail::pool_of(iface->ctx)
               : nullptr;
}

/** Sets the process default of the thread count. */
inline void set_max_concurrency(int n) { check(dnnl_tp_threadpool_interop_set_max_concurrency(n)); }

/** The process default of the thread count. */
inline int get_max_concurrency() {
    int n = 0;
    check(dnnl_tp_threadpool_interop_get_max_concurrency(&n));
    return n;
}

/** Waits until the library no longer uses a pool, which may then be destroyed; false if the time
 * limit passed. */
inline bool quiesce(const dnnl_tp_threadpool_iface_t &pool, std::int64_t timeout_ns = -1) {
    return dnnl_tp::detail::in_time(dnnl_tp_threadpool_quiesce(&pool, timeout_ns));
}

/** dnnl_tp::sgemm() on a pool; NULL = the calling thread. */
inline status sgemm(char transa, char transb, dnnl_tp_dim_t m, dnnl_tp_dim_t n, dnnl_tp_dim_t k,
                    float alpha, const float *a, dnnl_tp_dim_t lda, const float *b,
                    dnnl_tp_dim_t ldb, float beta, float *c, dnnl_tp_dim_t ldc,
                    threadpool_iface *pool) {
    const dnnl_tp_threadpool_iface_t iface = make_iface(pool);
    return dnnl_tp::sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                          pool == nullptr ? nullptr : &iface);
}

/** dnnl_tp::gemm_u8s8s32() on a pool; NULL = the calling thread. */
inline status gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                           dnnl_tp_dim_t k, float alpha, const std::uint8_t *a, dnnl_tp_dim_t lda,
                           std::uint8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                           float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                           threadpool_iface *pool) {
    const dnnl_tp_threadpool_iface_t iface = make_iface(pool);
    return dnnl_tp::gemm_u8s8s32(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo,
                                 beta, c, ldc, co, pool == nullptr ? nullptr : &iface);
}

/** dnnl_tp::gemm_s8s8s32() on a pool; NULL = the calling thread. */
inline status gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                           dnnl_tp_dim_t k, float alpha, const std::int8_t *a, dnnl_tp_dim_t lda,
                           std::int8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                           float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                           threadpool_iface *pool) {
    const dnnl_tp_threadpool_iface_t iface = make_iface(pool);
    return dnnl_tp::gemm_s8s8s32(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo,
                                 beta, c, ldc, co, pool == nullptr ? nullptr : &iface);
}

/** Implementation. */
namespace detail {
/** Pools of the class, also as void *, the type that oneDNN's C calls take. */
template <typename P>
using if_pool =
    std::enable_if_t<std::is_void_v<P> || std::is_convertible_v<P *, threadpool_iface *>, int>;
/** An interface for the duration of a call; NULL for none. */
class call_pool {
  public:
    /** The interface of a pool of the class. */
    template <typename P> explicit call_pool(P *pool) {
        if (pool != nullptr) iface_ = make_iface(static_cast<threadpool_iface *>(pool));
        given_ = pool != nullptr;
    }
    /** The argument of the C call. */
    const dnnl_tp_threadpool_iface_t *get() const { return given_ ? &iface_ : nullptr; }

  private:
    dnnl_tp_threadpool_iface_t iface_ = {};
    bool given_ = false;
};
} // namespace detail

} // namespace threadpool_interop
} // namespace dnnl_tp

/* oneDNN's C calls take an object of the class. */

/** dnnl_tp_threadpool_interop_stream_create() with a pool of the class. */
template <typename P, dnnl_tp::threadpool_interop::detail::if_pool<P> = 0>
inline dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_create(dnnl_tp_stream_t *stream,
                                                                 dnnl_tp_engine_t engine, P *pool) {
    return dnnl_tp_threadpool_interop_stream_create(
        stream, engine, dnnl_tp::threadpool_interop::detail::call_pool(pool).get());
}

/** dnnl_tp_threadpool_interop_stream_get_threadpool() with the result as an object of the class. */
inline dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_get_threadpool(dnnl_tp_stream_t stream,
                                                                         void **pool) {
    const dnnl_tp_threadpool_iface_t *iface = nullptr;
    const dnnl_tp_status_t status = dnnl_tp_threadpool_interop_stream_get_threadpool(
        stream, pool == nullptr ? nullptr : &iface);
    if (status != dnnl_tp_success) return status;
    const bool of_class = iface != nullptr &&
                          iface->parallel_for == dnnl_tp::threadpool_interop::detail::parallel_for;
    *pool = of_class ? dnnl_tp::threadpool_interop::detail::pool_of(iface->ctx) : nullptr;
    return status;
}

/** dnnl_tp_sgemm_tp() with a pool of the class. */
template <typename P, dnnl_tp::threadpool_interop::detail::if_pool<P> = 0>
inline dnnl_tp_status_t dnnl_tp_sgemm_tp(char transa, char transb, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                                         dnnl_tp_dim_t k, float alpha, const float *a,
                                         dnnl_tp_dim_t lda, const float *b, dnnl_tp_dim_t ldb,
                                         float beta, float *c, dnnl_tp_dim_t ldc, P *pool) {
    return dnnl_tp_sgemm_tp(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                            dnnl_tp::threadpool_interop::detail::call_pool(pool).get());
}

/** dnnl_tp_gemm_u8s8s32_tp() with a pool of the class. */
template <typename P, dnnl_tp::threadpool_interop::detail::if_pool<P> = 0>
inline dnnl_tp_status_t
dnnl_tp_gemm_u8s8s32_tp(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                        dnnl_tp_dim_t k, float alpha, const std::uint8_t *a, dnnl_tp_dim_t lda,
                        std::uint8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                        float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                        P *pool) {
    return dnnl_tp_gemm_u8s8s32_tp(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo,
                                   beta, c, ldc, co,
                                   dnnl_tp::threadpool_interop::detail::call_pool(pool).get());
}

/** dnnl_tp_gemm_s8s8s32_tp() with a pool of the class. */
template <typename P, dnnl_tp::threadpool_interop::detail::if_pool<P> = 0>
inline dnnl_tp_status_t
dnnl_tp_gemm_s8s8s32_tp(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                        dnnl_tp_dim_t k, float alpha, const std::int8_t *a, dnnl_tp_dim_t lda,
                        std::int8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                        float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                        P *pool) {
    return dnnl_tp_gemm_s8s8s32_tp(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo,
                                   beta, c, ldc, co,
                                   dnnl_tp::threadpool_interop::detail::call_pool(pool).get());
}

#endif
