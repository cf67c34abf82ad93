/** @file
 * C++17 over the C API of dnnl_tp: sessions and callables.
 *
 * The rules of dnnl_tp.hpp hold: objects own their handles, and failed calls throw. */
#ifndef DNNL_TP_SESSION_HPP
#define DNNL_TP_SESSION_HPP

#include "dnnl_tp/dnnl_tp.hpp"
#include "dnnl_tp/dnnl_tp_session.h"

namespace dnnl_tp {

namespace detail {
/** Also inside a run of the session, where the last copy of a handle may be destroyed. */
inline dnnl_tp_status_t end_session(dnnl_tp_session_t s) {
    const dnnl_tp_status_t status = dnnl_tp_session_destroy(s);
    return status == dnnl_tp_would_deadlock ? dnnl_tp_session_give_away(s) : status;
}
} // namespace detail

/** A graph, run by names of tensors. The destructor of the last copy closes the session and waits
 * for its runs; inside a run it does not wait, and the session ends with its last run. */
class session : public detail::handle<dnnl_tp_session_t, detail::end_session> {
  public:
    using handle::handle;
    /** Owns nothing. */
    session() noexcept = default;
    /** Creates a session, and the pools that do not exist yet. */
    session(const graph &g, const engine &e, const dnnl_tp_session_opts_t *opts = nullptr) {
        create(dnnl_tp_session_create, g.get(), e.get(), opts);
    }
    /** Runs the part of the graph that fetches and targets need. */
    void run(const std::vector<dnnl_tp_feed_t> &feeds, const std::vector<dnnl_tp_fetch_t> &fetches,
             const std::vector<const char *> &targets = {},
             const dnnl_tp_session_run_opts_t *opts = nullptr) const {
        check(dnnl_tp_session_run(get(), static_cast<int>(feeds.size()), feeds.data(),
                                  static_cast<int>(fetches.size()), fetches.data(),
                                  static_cast<int>(targets.size()), targets.data(), opts));
    }
    /** Refuses later runs, cancels runs in progress and waits for their end. */
    void close() const { check(dnnl_tp_session_close(get())); }
    /** Counts of runs and of the cache. */
    dnnl_tp_session_stats_t query() const {
        dnnl_tp_session_stats_t stats = {};
        stats.struct_size = sizeof stats;
        check(dnnl_tp_session_query(get(), &stats));
        return stats;
    }
    /** The interface of a pool, borrowed. */
    const dnnl_tp_threadpool_iface_t *pool(int index = 0) const {
        const dnnl_tp_threadpool_iface_t *iface = nullptr;
        check(dnnl_tp_session_get_pool(get(), index, &iface));
        return iface;
    }
};

/** A set of names, looked up in advance. */
class callable : public detail::handle<dnnl_tp_callable_t, dnnl_tp_callable_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    callable() noexcept = default;
    /** Compiles for the shapes of the feeds; their data is ignored. */
    callable(const session &s, const std::vector<dnnl_tp_feed_t> &feeds,
             const std::vector<const char *> &fetches,
             const std::vector<const char *> &targets = {}) {
        create(dnnl_tp_session_make_callable, s.get(), static_cast<int>(feeds.size()), feeds.data(),
               static_cast<int>(fetches.size()), fetches.data(), static_cast<int>(targets.size()),
               targets.data());
    }
    /** Shape and type of a fetched tensor. */
    dnnl_tp_tensor_info_t query(int fetch) const {
        dnnl_tp_tensor_info_t info = {};
        check(dnnl_tp_callable_query(get(), fetch, &info));
        return info;
    }
    /** Runs, with pointers in the order of feeds and fetches. */
    void run(std::initializer_list<const void *> in, std::initializer_list<void *> out,
             const dnnl_tp_session_run_opts_t *opts = nullptr) const {
        check(dnnl_tp_callable_run(get(), in.begin(), out.begin(), opts));
    }
    /** Runs, with pointers in the order of feeds and fetches. */
    void run(const std::vector<const void *> &in, const std::vector<void *> &out,
             const dnnl_tp_session_run_opts_t *opts = nullptr) const {
        check(dnnl_tp_callable_run(get(), in.data(), out.data(), opts));
    }
};

} // namespace dnnl_tp

#endif
