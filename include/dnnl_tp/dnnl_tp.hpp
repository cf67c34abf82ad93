/** @file
 * C++17 over the C API of dnnl_tp: shared handles, exceptions, one class per kind of primitive.
 * Header only.
 *
 * An object holds one C handle, which its copies share. It converts to its C handle (and to no
 * other type, not even void *), so a program can mix C++ and C calls. A failed call throws
 * dnnl_tp::error. The C function of the same name documents a call: its effect, arguments, errors
 * and thread safety. Names are those of oneDNN's C++ API if it has them (doc/porting.md). Engines
 * and streams: dnnl_tp_stream.hpp; tensors: dnnl_tp_memory.hpp; attributes: dnnl_tp_attr.hpp;
 * kinds: dnnl_tp_primitives.hpp; graphs: dnnl_tp_graph.hpp (all included here); sessions:
 * dnnl_tp_session.hpp; pools with oneDNN's names: dnnl_tp_threadpool.hpp. */
#ifndef DNNL_TP_HPP
#define DNNL_TP_HPP

#include <cstdint>

#include "dnnl_tp/dnnl_tp_attr.hpp"
#include "dnnl_tp/dnnl_tp_enums.hpp"
#include "dnnl_tp/dnnl_tp_handle.hpp"
#include "dnnl_tp/dnnl_tp_memory.hpp"
#include "dnnl_tp/dnnl_tp_normalization.hpp"
#include "dnnl_tp/dnnl_tp_primitives.hpp"
#include "dnnl_tp/dnnl_tp_spatial.hpp"
#include "dnnl_tp/dnnl_tp_stream.hpp"

namespace dnnl_tp {

/** Version and configuration of the library. */
using version_t = dnnl_tp_version_t;
/** Version and configuration of the loaded library. */
inline const version_t *version() { return dnnl_tp_version(); }

/* The functions below throw on failure, but for those that return a status, as oneDNN's do: their
 * callers look at it. */

/** Chooses which verbose lines are written. */
inline status set_verbose(int level) { return static_cast<status>(dnnl_tp_set_verbose(level)); }
/** Sends verbose lines to a function; NULL = standard output again. */
inline void set_verbose_callback(void (*fn)(void *arg, const char *line), void *arg) {
    check(dnnl_tp_set_verbose_callback(fn, arg));
}
/** Sends verbose lines to a callable object that lives until reset_verbose_callback() and throws
 * nothing. */
template <typename F> void set_verbose_callback(F &f) {
    set_verbose_callback(
        [](void *arg, const char *line) noexcept { (*static_cast<F *>(arg))(line); }, &f);
}
/** Sends verbose lines to standard output. */
inline void reset_verbose_callback() { set_verbose_callback(nullptr, nullptr); }
/** Chooses the allocator of objects without an engine. */
inline void set_allocator(const dnnl_tp_allocator_t &a) { check(dnnl_tp_set_allocator(&a)); }
/** The allocator of objects without an engine. */
inline const dnnl_tp_allocator_t &get_allocator() { return *dnnl_tp_get_allocator(); }
/** Limits the instruction sets of all engines. */
inline status set_max_cpu_isa(detail::either<cpu_isa> isa) {
    return static_cast<status>(dnnl_tp_set_max_cpu_isa(isa));
}
/** The highest instruction set that new engines use. */
inline cpu_isa get_effective_cpu_isa() {
    return static_cast<cpu_isa>(dnnl_tp_get_effective_cpu_isa());
}
/** Gives hints for the choice of kernels; the library follows none. */
inline status set_cpu_isa_hints(detail::either<cpu_isa_hints> hints) {
    return static_cast<status>(dnnl_tp_set_cpu_isa_hints(hints));
}
/** The hints that the library follows. */
inline cpu_isa_hints get_cpu_isa_hints() {
    return static_cast<cpu_isa_hints>(dnnl_tp_get_cpu_isa_hints());
}
/** Sets the floating-point mode of new attributes. */
inline status set_default_fpmath_mode(detail::either<fpmath_mode> mode) {
    return static_cast<status>(dnnl_tp_set_default_fpmath_mode(mode));
}
/** The floating-point mode of new attributes. */
inline fpmath_mode get_default_fpmath_mode() {
    dnnl_tp_fpmath_mode_t mode = dnnl_tp_fpmath_mode_strict;
    check(dnnl_tp_get_default_fpmath_mode(&mode));
    return static_cast<fpmath_mode>(mode);
}
/** Sets the capacity of the primitive cache. */
inline void set_primitive_cache_capacity(int capacity) {
    check(dnnl_tp_set_primitive_cache_capacity(capacity));
}
/** Capacity of the primitive cache. */
inline int get_primitive_cache_capacity() {
    int capacity = 0;
    check(dnnl_tp_get_primitive_cache_capacity(&capacity));
    return capacity;
}

/** C = alpha * op(A) * op(B) + beta * C, row-major, on a pool; NULL = the calling thread. */
inline status sgemm(char transa, char transb, dnnl_tp_dim_t m, dnnl_tp_dim_t n, dnnl_tp_dim_t k,
                    float alpha, const float *a, dnnl_tp_dim_t lda, const float *b,
                    dnnl_tp_dim_t ldb, float beta, float *c, dnnl_tp_dim_t ldc,
                    const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    return static_cast<status>(
        dnnl_tp_sgemm_tp(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, pool));
}

/** The product of u8 A and s8 B as s32 C, with offsets; see dnnl_tp_gemm_u8s8s32(). */
inline status gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                           dnnl_tp_dim_t k, float alpha, const std::uint8_t *a, dnnl_tp_dim_t lda,
                           std::uint8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                           float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                           const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    return static_cast<status>(dnnl_tp_gemm_u8s8s32_tp(
        transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co, pool));
}

/** The product of s8 A and s8 B as s32 C, with offsets; see dnnl_tp_gemm_s8s8s32(). */
inline status gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                           dnnl_tp_dim_t k, float alpha, const std::int8_t *a, dnnl_tp_dim_t lda,
                           std::int8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo,
                           float beta, std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                           const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    return static_cast<status>(dnnl_tp_gemm_s8s8s32_tp(
        transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co, pool));
}

} // namespace dnnl_tp

#include "dnnl_tp/dnnl_tp_graph.hpp"

#endif
