/** @file
 * The conformance kit for thread pools in C++; dnnl_tp_pool_check.h names the library that a
 * program links. */
#ifndef DNNL_TP_POOL_CHECK_HPP
#define DNNL_TP_POOL_CHECK_HPP

#include <string>
#include <vector>

#include "dnnl_tp/dnnl_tp.hpp"
#include "dnnl_tp/dnnl_tp_pool_check.h"

namespace dnnl_tp {

/** Result of a check of a pool. */
struct pool_report {
    /** True if the pool broke no promise. */
    bool good;
    /** A line for each broken promise, and notes. */
    std::string text;
};
/** Checks a pool, for its author: dnnl_tp_pool_check(). */
inline pool_report pool_check(const dnnl_tp_threadpool_iface_t &pool,
                              unsigned tests = DNNL_TP_POOL_CHECK_ALL) {
    std::vector<char> text(65536);
    const dnnl_tp_status_t status = dnnl_tp_pool_check(&pool, tests, text.data(), text.size());
    if (status != dnnl_tp_runtime_error) check(status);
    return {status == dnnl_tp_success, text.data()};
}

} // namespace dnnl_tp

#endif
