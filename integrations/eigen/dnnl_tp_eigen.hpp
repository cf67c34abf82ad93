// An Eigen::ThreadPoolInterface, offered to dnnl_tp: Eigen's own pool, or the pool of a framework that
// implements the interface (TensorFlow, XLA). Form S: the library splits its loops itself and asks for
// helpers. The queues of Eigen's pool run a task inline when they are full: that is allowed. The library's
// callers count as threads of the pool, because most of them are: a caller from outside keeps one of the
// pool's threads idle. Next: doc/howto/adapt_pool.md.
#ifndef DNNL_TP_EIGEN_HPP
#define DNNL_TP_EIGEN_HPP

#ifndef EIGEN_USE_THREADS
#define EIGEN_USE_THREADS
#endif
#include <unsupported/Eigen/CXX11/ThreadPool>

#include "dnnl_tp/dnnl_tp_threadpool.h"

namespace dnnl_tp {

// The struct may be made as often as needed; the pool lives until everything that holds it is destroyed and
// dnnl_tp_threadpool_quiesce() returned. A pool that may be cancelled (Cancel) must have been left by the
// library before: Eigen then drops what is queued.
inline dnnl_tp_threadpool_iface_t make_iface(Eigen::ThreadPoolInterface &pool) {
    dnnl_tp_threadpool_iface_t iface = {};
    iface.struct_size = sizeof iface;
    iface.ctx = &pool;
    iface.get_num_threads = [](void *ctx) noexcept {
        return static_cast<Eigen::ThreadPoolInterface *>(ctx)->NumThreads();
    };
    iface.schedule = [](void *ctx, void *, dnnl_tp_task_fn_t fn, void *arg) noexcept {
        try {
            static_cast<Eigen::ThreadPoolInterface *>(ctx)->Schedule([fn, arg] { fn(arg); });
            return 0;
        } catch (...) { // no memory: the library does the work without this helper
            return -1;
        }
    };
    iface.current_slot = [](void *ctx) noexcept {
        return static_cast<Eigen::ThreadPoolInterface *>(ctx)->CurrentThreadId();
    };
    return iface;
}

} // namespace dnnl_tp

#endif
