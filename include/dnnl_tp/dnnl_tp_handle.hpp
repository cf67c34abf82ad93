/** @file
 * What every class of the C++ headers stands on: failed calls as exceptions, owning handles, dimensions.
 * Included by dnnl_tp.hpp, where the classes are.
 */
#ifndef DNNL_TP_HANDLE_HPP
#define DNNL_TP_HANDLE_HPP

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dnnl_tp/dnnl_tp.h"

namespace dnnl_tp {

/** A call failed: its status, and the text of dnnl_tp_last_error(). */
class error : public std::runtime_error {
  public:
    /** The failure of a call that just returned a status other than success. */
    explicit error(dnnl_tp_status_t status) : std::runtime_error(text(status)), status_(status) {}
    /** The status. */
    dnnl_tp_status_t status() const noexcept { return status_; }

  private:
    static std::string text(dnnl_tp_status_t status) {
        const char *what = dnnl_tp_last_error();
        std::string name = dnnl_tp_status2str(status);
        return what != nullptr && *what != '\0' ? name + ": " + what : name;
    }
    dnnl_tp_status_t status_;
};

/** Throws error unless status is success. */
inline void check(dnnl_tp_status_t status) {
    if (status != dnnl_tp_success) throw error(status);
}

/** Dimensions or strides, in elements. */
using dims = std::vector<dnnl_tp_dim_t>;

/** Implementation. */
namespace detail {

/** Owns a C handle. */
template <typename H, dnnl_tp_status_t (*destroy)(H)> class handle {
  public:
    /** Owns nothing. */
    handle() noexcept = default;
    /** Takes over a handle. */
    explicit handle(H h) noexcept : h_(h) {}
    /** Moves. */
    handle(handle &&other) noexcept : h_(std::exchange(other.h_, nullptr)) {}
    /** Moves. */
    handle &operator=(handle &&other) noexcept {
        if (this != &other) reset(std::exchange(other.h_, nullptr));
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { reset(nullptr); }

    /** The C handle, lent. */
    H get() const noexcept { return h_; }
    /** The C handle, lent. */
    operator H() const noexcept { return h_; }
    /** Does it own a handle? */
    explicit operator bool() const noexcept { return h_ != nullptr; }
    /** Gives the handle away. */
    H release() noexcept { return std::exchange(h_, nullptr); }
    /** Destroys what it owns and takes over another handle. */
    void reset(H h = nullptr) noexcept {
        if (h_ != nullptr) (void)destroy(h_);
        h_ = h;
    }

  protected:
    /** For C calls that create. */
    H *out() noexcept {
        reset();
        return &h_;
    }

  private:
    H h_ = nullptr;
};

/** Copies dimensions into the C form; too many are left to the C call to refuse. */
struct c_dims {
    dnnl_tp_dims_t v = {}; /**< The C array. */
    /** Copies. */
    explicit c_dims(const dims &d) {
        for (std::size_t i = 0; i < d.size() && i < DNNL_TP_MAX_NDIMS; ++i) v[i] = d[i];
    }
};

} // namespace detail

} // namespace dnnl_tp

#endif
