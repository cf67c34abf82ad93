/** @file
 * Basis of all classes of the C++ headers: exceptions for failed calls, shared handles, dimensions.
 * Included by dnnl_tp.hpp. */
#ifndef DNNL_TP_HANDLE_HPP
#define DNNL_TP_HANDLE_HPP

#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_enums.hpp"

/** 1 = failed calls throw error. 0 = they write its text to standard error and end the program: the
 * default where a program is compiled without exceptions. */
#ifndef DNNL_TP_ENABLE_EXCEPTIONS
#ifdef __cpp_exceptions
#define DNNL_TP_ENABLE_EXCEPTIONS 1
#else
#define DNNL_TP_ENABLE_EXCEPTIONS 0
#endif
#endif

namespace dnnl_tp {

/** Implementation. */
namespace detail {
[[noreturn]] inline void raise(dnnl_tp_status_t s);
[[noreturn]] inline void raise(dnnl_tp_status_t s, const std::string &text);
} // namespace detail

/** A failed call: its status, and the text of dnnl_tp_last_error(). */
class error : public std::runtime_error {
  public:
    /** A status that programs read as a member (e.status) or as a function (e.status()); a cast
     * converts it to the status of C++. */
    struct status_type {
        /** The status. */
        dnnl_tp_status_t value;
        /** The status. */
        constexpr operator dnnl_tp_status_t() const noexcept { return value; }
        /** The status. */
        explicit constexpr operator dnnl_tp::status() const noexcept {
            return static_cast<dnnl_tp::status>(value);
        }
        /** The status. */
        constexpr dnnl_tp_status_t operator()() const noexcept { return value; }
    };
    /** The failure of a call that just returned a status other than success. */
    explicit error(dnnl_tp_status_t s) : std::runtime_error(text(s)), status{s}, message(what()) {}
    /** A failure with a text of its own. */
    error(dnnl_tp_status_t s, const std::string &own_text)
        : std::runtime_error(own_text), status{s}, message(what()) {}
    /** A copy with a text of its own. */
    error(const error &other) noexcept
        : std::runtime_error(other), status(other.status), message(what()) {}
    /** Copies status and text. */
    error &operator=(const error &other) noexcept {
        std::runtime_error::operator=(other);
        status = other.status;
        message = what();
        return *this;
    }
    ~error() override = default;
    /** Throws unless the status is success. The exception has the library's text, not the caller's.
     */
    static void wrap_c_api(dnnl_tp_status_t s, const char * /*caller's text*/) {
        if (s != dnnl_tp_success) detail::raise(s);
    }

    status_type status;  /**< The status. */
    const char *message; /**< what(), valid as long as this object. */

  private:
    static std::string text(dnnl_tp_status_t s) {
        const char *what = dnnl_tp_last_error();
        std::string name = dnnl_tp_status2str(s);
        return what != nullptr && *what != '\0' ? name + ": " + what : name;
    }
};

/** Implementation. */
namespace detail {
/** Throws, or ends the program: DNNL_TP_ENABLE_EXCEPTIONS. */
[[noreturn]] inline void raise(const error &e) {
#if DNNL_TP_ENABLE_EXCEPTIONS
    throw e;
#else
    std::fprintf(stderr, "%s\n", e.what());
    __builtin_trap();
#endif
}
/** The failure of a call that just returned a status other than success. */
[[noreturn]] inline void raise(dnnl_tp_status_t s) { raise(error(s)); }
/** A failure with a text of its own. */
[[noreturn]] inline void raise(dnnl_tp_status_t s, const std::string &text) {
    raise(error(s, text));
}
} // namespace detail

/** Throws error unless the status is success. */
inline void check(dnnl_tp_status_t status) {
    if (status != dnnl_tp_success) detail::raise(status);
}

/** Dimensions or strides, in elements. */
using dims = std::vector<dnnl_tp_dim_t>;

/** Implementation. */
namespace detail {

/** A C handle. Copies share it, and the last copy destroys it. Several threads may use and drop
 * copies at the same time; no thread may assign to an object that another thread uses. */
template <typename H, dnnl_tp_status_t (*destroy)(H)> class handle {
  public:
    /** Owns nothing. */
    handle() noexcept = default;
    /** Takes ownership of a handle; weak: only refers to it. */
    explicit handle(H h, bool weak = false) { reset(h, weak); }
    /** Shares the handle. */
    handle(const handle &other) noexcept = default;
    /** Moves the handle. */
    handle(handle &&other) noexcept
        : h_(std::exchange(other.h_, nullptr)), owner_(std::move(other.owner_)) {}
    /** Shares the handle. */
    handle &operator=(const handle &other) noexcept = default;
    /** Moves the handle. */
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            h_ = std::exchange(other.h_, nullptr);
            owner_ = std::move(other.owner_);
        }
        return *this;
    }
    ~handle() = default;

    /** The C handle, borrowed; NULL if the object is empty, or an exception if allow_empty is
     * false. */
    H get(bool allow_empty = true) const {
        if (h_ == nullptr && !allow_empty)
            detail::raise(dnnl_tp_invalid_arguments, "invalid_arguments: the object is empty");
        return h_;
    }
    /** The C handle, borrowed. There is no conversion to other types, and none to void *, because a
     * program that passes an object as void * means its data. */
    template <typename T,
              std::enable_if_t<std::is_same_v<T, H> ||
                                   std::is_same_v<T, std::add_const_t<std::remove_pointer_t<H>> *>,
                               int> = 0>
    operator T() const noexcept {
        return h_;
    }
    /** True if the object is not empty. */
    explicit operator bool() const noexcept { return h_ != nullptr; }
    /** True if both refer to the same C object. */
    friend bool operator==(const handle &a, const handle &b) noexcept { return a.h_ == b.h_; }
    /** True if they refer to different C objects. */
    friend bool operator!=(const handle &a, const handle &b) noexcept { return a.h_ != b.h_; }
    /** Gives up ownership and returns the handle; copies of this object then only refer to it. */
    H release() noexcept {
        if (owner_) owner_->h = nullptr;
        owner_.reset();
        return std::exchange(h_, nullptr);
    }
    /** Drops its handle and takes ownership of another one; weak: only refers to it. */
    void reset(H h = nullptr, bool weak = false) {
        owner_.reset();
        h_ = nullptr;
        if (h != nullptr && !weak) owner_ = own(h);
        h_ = h;
    }

  protected:
    /** Calls a C function that creates an object; args are its arguments after the first. */
    template <typename... P, typename... A>
    void create(dnnl_tp_status_t (*f)(H *, P...), const A &...args) {
        H h = nullptr;
        check(f(&h, args...));
        reset(h);
    }
    /** Like create(), but with allow_empty a failure leaves this object empty. */
    template <typename... P, typename... A>
    void create_or_empty(bool allow_empty, dnnl_tp_status_t (*f)(H *, P...), const A &...args) {
        H h = nullptr;
        const dnnl_tp_status_t status = f(&h, args...);
        if (!allow_empty) check(status);
        reset(status == dnnl_tp_success ? h : nullptr);
    }

  private:
    struct owner {
        H h = nullptr;
        owner() = default;
        owner(const owner &) = delete;
        owner &operator=(const owner &) = delete;
        ~owner() {
            if (h != nullptr) (void)destroy(h);
        }
    };
    static std::shared_ptr<owner> own(H h) {
        struct guard { /* for the case that there is no memory for the owner */
            H h;
            ~guard() {
                if (h != nullptr) (void)destroy(h);
            }
        } g{h};
        auto o = std::make_shared<owner>();
        o->h = std::exchange(g.h, nullptr);
        return o;
    }
    H h_ = nullptr;
    std::shared_ptr<owner> owner_;
};

/** Dimensions in the C form. The C call refuses too many of them. */
struct c_dims {
    /** The C array. */
    dnnl_tp_dims_t v = {};
    /** Copies dimensions. */
    explicit c_dims(const dims &d) {
        for (std::size_t i = 0; i < d.size() && i < DNNL_TP_MAX_NDIMS; ++i) v[i] = d[i];
    }
};

} // namespace detail

} // namespace dnnl_tp

#endif
