/** @file
 * C++17 over the C API of dnnl_tp: attributes, primitive descriptors and primitives, BLAS calls.
 *
 * Included by dnnl_tp.hpp; rules are there. One class per kind, with its descriptor as a member class:
 * matmul::primitive_desc pd(engine, src, weights, dst); matmul(pd).execute(stream, {{DNNL_TP_ARG_SRC, x},
 * ...}). An empty memory_desc stands for an absent optional tensor. */
#ifndef DNNL_TP_PRIMITIVES_HPP
#define DNNL_TP_PRIMITIVES_HPP

#include "dnnl_tp/dnnl_tp.hpp"

namespace dnnl_tp {

/** Attributes of a primitive. */
class primitive_attr : public detail::handle<dnnl_tp_primitive_attr_t, dnnl_tp_primitive_attr_destroy> {
  public:
    using handle::handle;
    /** Default values. */
    primitive_attr() { check(dnnl_tp_primitive_attr_create(out())); }
    /** A copy. */
    primitive_attr clone() const { return clone_of(get()); }
    /** A copy of borrowed attributes. */
    static primitive_attr clone_of(const_dnnl_tp_primitive_attr_t existing) {
        dnnl_tp_primitive_attr_t h = nullptr;
        check(dnnl_tp_primitive_attr_clone(&h, existing));
        return primitive_attr(h);
    }
    /** Fixes the thread count. */
    void set_num_threads(int n) { check(dnnl_tp_primitive_attr_set_num_threads(get(), n)); }
    /** Takes the thread count of a pool. */
    void set_stream_attr(const stream_attr &a) {
        check(dnnl_tp_primitive_attr_set_stream_attr(get(), a.get()));
    }
    /** Permits lower precision. */
    void set_fpmath_mode(dnnl_tp_fpmath_mode_t mode, bool apply_to_int = false) {
        check(dnnl_tp_primitive_attr_set_fpmath_mode_v2(get(), mode, apply_to_int ? 1 : 0));
    }
    /** The floating-point mode. */
    dnnl_tp_fpmath_mode_t fpmath_mode() const {
        dnnl_tp_fpmath_mode_t mode = dnnl_tp_fpmath_mode_strict;
        check(dnnl_tp_primitive_attr_get_fpmath_mode(get(), &mode));
        return mode;
    }
    /** Asks for the same bits in every run. */
    void set_deterministic(bool on) { check(dnnl_tp_primitive_attr_set_deterministic(get(), on ? 1 : 0)); }
    /** The determinism switch. */
    bool deterministic() const {
        int on = 0;
        check(dnnl_tp_primitive_attr_get_deterministic(get(), &on));
        return on != 0;
    }
    /** Hints at the type of sums. */
    void set_accumulation_mode(dnnl_tp_accumulation_mode_t mode) {
        check(dnnl_tp_primitive_attr_set_accumulation_mode(get(), mode));
    }
    /** The accumulation mode. */
    dnnl_tp_accumulation_mode_t accumulation_mode() const {
        dnnl_tp_accumulation_mode_t mode = dnnl_tp_accumulation_mode_strict;
        check(dnnl_tp_primitive_attr_get_accumulation_mode(get(), &mode));
        return mode;
    }
    /** Chooses who provides scratch. */
    void set_scratchpad_mode(dnnl_tp_scratchpad_mode_t mode) {
        check(dnnl_tp_primitive_attr_set_scratchpad_mode(get(), mode));
    }
    /** The scratchpad mode. */
    dnnl_tp_scratchpad_mode_t scratchpad_mode() const {
        dnnl_tp_scratchpad_mode_t mode = dnnl_tp_scratchpad_mode_library;
        check(dnnl_tp_primitive_attr_get_scratchpad_mode(get(), &mode));
        return mode;
    }
    /** Sets f32 scales. */
    void set_scales_mask(int arg, int mask) {
        check(dnnl_tp_primitive_attr_set_scales_mask(get(), arg, mask));
    }
    /** Sets scales with groups and a type. */
    void set_scales(int arg, int mask, const dims &groups, dnnl_tp_data_type_t type) {
        check(dnnl_tp_primitive_attr_set_scales(get(), arg, mask, static_cast<int>(groups.size()),
                                                detail::c_dims(groups).v, type));
    }
    /** Sets s32 zero points. */
    void set_zero_points_mask(int arg, int mask) {
        check(dnnl_tp_primitive_attr_set_zero_points_mask(get(), arg, mask));
    }
    /** Sets zero points with groups and a type. */
    void set_zero_points(int arg, int mask, const dims &groups, dnnl_tp_data_type_t type) {
        check(dnnl_tp_primitive_attr_set_zero_points(get(), arg, mask, static_cast<int>(groups.size()),
                                                     detail::c_dims(groups).v, type));
    }
    /** Sets the post-operations; the chain is copied. */
    void set_post_ops(const post_ops &ops) { check(dnnl_tp_primitive_attr_set_post_ops(get(), ops.get())); }
    /** The post-operations, lent. */
    const_dnnl_tp_post_ops_t get_post_ops() const {
        const_dnnl_tp_post_ops_t ops = nullptr;
        check(dnnl_tp_primitive_attr_get_post_ops(get(), &ops));
        return ops;
    }
};

/** What every primitive descriptor has. */
class primitive_desc_base : public detail::handle<dnnl_tp_primitive_desc_t, dnnl_tp_primitive_desc_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    primitive_desc_base() noexcept = default;
    /** Goes on to the next implementation; false when there is none. */
    bool next_impl() {
        const dnnl_tp_status_t status = dnnl_tp_primitive_desc_next_impl(get());
        if (status == dnnl_tp_last_impl_reached) return false;
        check(status);
        return true;
    }
    /** Name of the implementation, lent. */
    const char *impl_info_str() const { return query<const char *>(dnnl_tp_query_impl_info_str); }
    /** Kind of the primitive. */
    dnnl_tp_primitive_kind_t kind() const {
        return query<dnnl_tp_primitive_kind_t>(dnnl_tp_query_primitive_kind);
    }
    /** Its engine, lent. */
    dnnl_tp_engine_t get_engine() const { return query<dnnl_tp_engine_t>(dnnl_tp_query_engine); }
    /** Its thread count. */
    int num_threads() const {
        int n = 0;
        check(dnnl_tp_primitive_desc_get_num_threads(get(), &n));
        return n;
    }
    /** Its attributes, lent. */
    const_dnnl_tp_primitive_attr_t get_attr() const {
        const_dnnl_tp_primitive_attr_t attr = nullptr;
        check(dnnl_tp_primitive_desc_get_attr(get(), &attr));
        return attr;
    }
    /** Any property. */
    template <typename T> T query(dnnl_tp_query_t what, int index = 0) const {
        T value = {};
        check(dnnl_tp_primitive_desc_query(get(), what, index, &value));
        return value;
    }
    /** Descriptor of a tensor, a copy. */
    memory_desc query_md(dnnl_tp_query_t what, int index = 0) const {
        const_dnnl_tp_memory_desc_t md = dnnl_tp_primitive_desc_query_md(get(), what, index);
        return md == nullptr ? memory_desc() : memory_desc::clone_of(md);
    }
    /** Descriptor of a source. */
    memory_desc src_desc(int index = 0) const { return query_md(dnnl_tp_query_src_md, index); }
    /** Descriptor of the weights. */
    memory_desc weights_desc(int index = 0) const { return query_md(dnnl_tp_query_weights_md, index); }
    /** Descriptor of a destination. */
    memory_desc dst_desc(int index = 0) const { return query_md(dnnl_tp_query_dst_md, index); }
    /** Descriptor of the workspace. */
    memory_desc workspace_desc() const { return query_md(dnnl_tp_query_workspace_md); }
    /** Descriptor of the scratch in user mode. */
    memory_desc scratchpad_desc() const { return query_md(dnnl_tp_query_scratchpad_md); }
    /** Descriptor of the argument with a number. */
    memory_desc arg_desc(int arg) const { return query_md(dnnl_tp_query_exec_arg_md, arg); }

  protected:
    /** Clones into a descriptor of the kind. */
    template <typename T> T clone_as() const {
        T copy;
        check(dnnl_tp_primitive_desc_clone(copy.out(), get()));
        return copy;
    }
};

/** A primitive of any kind. */
class primitive : public detail::handle<dnnl_tp_primitive_t, dnnl_tp_primitive_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    primitive() noexcept = default;
    /** The primitive of a descriptor. */
    explicit primitive(const primitive_desc_base &pd) { check(dnnl_tp_primitive_create(out(), pd.get())); }
    /** Runs with memories. */
    void execute(const stream &s, std::initializer_list<dnnl_tp_exec_arg_t> args) const {
        check(dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.begin()));
    }
    /** Runs with memories. */
    void execute(const stream &s, const std::vector<dnnl_tp_exec_arg_t> &args) const {
        check(dnnl_tp_primitive_execute(get(), s.get(), static_cast<int>(args.size()), args.data()));
    }
    /** Runs with plain pointers. */
    void execute_handles(const stream &s, std::initializer_list<dnnl_tp_exec_handle_t> args) const {
        check(dnnl_tp_primitive_execute_handles(get(), s.get(), static_cast<int>(args.size()), args.begin()));
    }
    /** Times runs with plain pointers. */
    dnnl_tp_timing_t timed_run(const stream &s, std::initializer_list<dnnl_tp_exec_handle_t> args,
                               const dnnl_tp_timed_run_opts_t *opts = nullptr) const {
        dnnl_tp_timing_t timing = {};
        timing.struct_size = sizeof timing;
        check(dnnl_tp_primitive_timed_run(get(), s.get(), static_cast<int>(args.size()), args.begin(), opts,
                                          &timing));
        return timing;
    }
    /** Its descriptor, lent. */
    const_dnnl_tp_primitive_desc_t get_primitive_desc() const {
        const_dnnl_tp_primitive_desc_t pd = nullptr;
        check(dnnl_tp_primitive_get_primitive_desc(get(), &pd));
        return pd;
    }
};

/** Implementation. */
namespace detail {
/** Default attributes where none are given. */
inline const_dnnl_tp_primitive_attr_t attr_of(const primitive_attr *attr) {
    return attr == nullptr ? nullptr : attr->get();
}
/** Descriptors as an array of handles. */
inline std::vector<const_dnnl_tp_memory_desc_t> handles_of(const std::vector<memory_desc> &mds) {
    std::vector<const_dnnl_tp_memory_desc_t> v;
    v.reserve(mds.size());
    for (const memory_desc &md : mds) v.push_back(md.get());
    return v;
}
} // namespace detail

/** Product of matrices. */
class matmul : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** Without bias. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &dst, const primitive_attr *attr = nullptr)
            : primitive_desc(e, src, weights, memory_desc(), dst, attr) {}
        /** With bias. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &bias, const memory_desc &dst,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_matmul_primitive_desc_create(out(), e.get(), src.get(), weights.get(), bias.get(),
                                                       dst.get(), detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    matmul() noexcept = default;
    /** Creates. */
    explicit matmul(const primitive_desc &pd) : primitive(pd) {}
};

/** Fully connected layer. */
class inner_product_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** An empty bias = none. */
        primitive_desc(const engine &e, dnnl_tp_prop_kind_t prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &bias, const memory_desc &dst,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_inner_product_forward_primitive_desc_create(out(), e.get(), prop, src.get(),
                                                                      weights.get(), bias.get(), dst.get(),
                                                                      detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    inner_product_forward() noexcept = default;
    /** Creates. */
    explicit inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
};

/** Softmax and its logarithm. */
class softmax_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** Along an axis. */
        primitive_desc(const engine &e, dnnl_tp_prop_kind_t prop, dnnl_tp_alg_kind_t alg,
                       const memory_desc &src, const memory_desc &dst, int axis,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_softmax_forward_primitive_desc_create(out(), e.get(), prop, alg, src.get(),
                                                                dst.get(), axis, detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    softmax_forward() noexcept = default;
    /** Creates. */
    explicit softmax_forward(const primitive_desc &pd) : primitive(pd) {}
};

/** Normalization over the last dimension. */
class layer_normalization_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** With f32 statistics derived from src. */
        primitive_desc(const engine &e, dnnl_tp_prop_kind_t prop, const memory_desc &src,
                       const memory_desc &dst, float epsilon, unsigned flags,
                       const primitive_attr *attr = nullptr)
            : primitive_desc(e, prop, src, dst, memory_desc(), dnnl_tp_f32, epsilon, flags, attr) {}
        /** With a descriptor of the statistics and a type of scale and shift. */
        primitive_desc(const engine &e, dnnl_tp_prop_kind_t prop, const memory_desc &src,
                       const memory_desc &dst, const memory_desc &stat, dnnl_tp_data_type_t scale_shift_type,
                       float epsilon, unsigned flags, const primitive_attr *attr = nullptr) {
            check(dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
                out(), e.get(), prop, src.get(), dst.get(), stat.get(), scale_shift_type, epsilon, flags,
                detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    layer_normalization_forward() noexcept = default;
    /** Creates. */
    explicit layer_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
};

/** A function of each element. */
class eltwise_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** With the parameters of the formula. */
        primitive_desc(const engine &e, dnnl_tp_prop_kind_t prop, dnnl_tp_alg_kind_t alg,
                       const memory_desc &src, const memory_desc &dst, float alpha = 0.0f, float beta = 0.0f,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_eltwise_forward_primitive_desc_create(
                out(), e.get(), prop, alg, src.get(), dst.get(), alpha, beta, detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    eltwise_forward() noexcept = default;
    /** Creates. */
    explicit eltwise_forward(const primitive_desc &pd) : primitive(pd) {}
};

/** Two tensors, element by element. */
class binary : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** Two sources. */
        primitive_desc(const engine &e, dnnl_tp_alg_kind_t alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &dst,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_binary_primitive_desc_create(out(), e.get(), alg, src0.get(), src1.get(), dst.get(),
                                                       detail::attr_of(attr)));
        }
        /** Three sources (select). */
        primitive_desc(const engine &e, dnnl_tp_alg_kind_t alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &src2, const memory_desc &dst,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_binary_primitive_desc_create_v2(out(), e.get(), alg, src0.get(), src1.get(),
                                                          src2.get(), dst.get(), detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    binary() noexcept = default;
    /** Creates. */
    explicit binary(const primitive_desc &pd) : primitive(pd) {}
};

/** One value from many along dimensions. */
class reduction : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** p and eps are those of the norms. */
        primitive_desc(const engine &e, dnnl_tp_alg_kind_t alg, const memory_desc &src,
                       const memory_desc &dst, float p = 0.0f, float eps = 0.0f,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_reduction_primitive_desc_create(out(), e.get(), alg, src.get(), dst.get(), p, eps,
                                                          detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    reduction() noexcept = default;
    /** Creates. */
    explicit reduction(const primitive_desc &pd) : primitive(pd) {}
};

/** Copy into another layout and type. */
class reorder : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** On one engine. */
        primitive_desc(const engine &e, const_dnnl_tp_memory_desc_t src, const_dnnl_tp_memory_desc_t dst,
                       const primitive_attr *attr = nullptr) {
            check(dnnl_tp_reorder_primitive_desc_create(out(), src, e.get(), dst, e.get(),
                                                        detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    reorder() noexcept = default;
    /** Creates. */
    explicit reorder(const primitive_desc &pd) : primitive(pd) {}
};

/** Tensors one behind the other. */
class concat : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** An empty dst = derived. */
        primitive_desc(const engine &e, const memory_desc &dst, int axis,
                       const std::vector<memory_desc> &srcs, const primitive_attr *attr = nullptr) {
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            check(dnnl_tp_concat_primitive_desc_create(out(), e.get(), dst.get(), static_cast<int>(v.size()),
                                                       axis, v.data(), detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    concat() noexcept = default;
    /** Creates. */
    explicit concat(const primitive_desc &pd) : primitive(pd) {}
};

/** Weighted sum of tensors. */
class sum : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : primitive_desc_base {
        using primitive_desc_base::primitive_desc_base;
        /** An empty dst = derived. */
        primitive_desc(const engine &e, const memory_desc &dst, const std::vector<float> &scales,
                       const std::vector<memory_desc> &srcs, const primitive_attr *attr = nullptr) {
            if (scales.size() != srcs.size()) throw std::invalid_argument("sum: as many scales as sources");
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            check(dnnl_tp_sum_primitive_desc_create(out(), e.get(), dst.get(), static_cast<int>(v.size()),
                                                    scales.data(), v.data(), detail::attr_of(attr)));
        }
        /** A copy. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    sum() noexcept = default;
    /** Creates. */
    explicit sum(const primitive_desc &pd) : primitive(pd) {}
};

/** C = alpha * op(A) * op(B) + beta * C, row-major, on a pool; NULL = the calling thread. */
inline void sgemm(char transa, char transb, dnnl_tp_dim_t m, dnnl_tp_dim_t n, dnnl_tp_dim_t k, float alpha,
                  const float *a, dnnl_tp_dim_t lda, const float *b, dnnl_tp_dim_t ldb, float beta, float *c,
                  dnnl_tp_dim_t ldc, const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    check(dnnl_tp_sgemm_tp(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, pool));
}

/** The same with u8 A, s8 B, s32 C and offsets; see dnnl_tp_gemm_u8s8s32(). */
inline void gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                         dnnl_tp_dim_t k, float alpha, const std::uint8_t *a, dnnl_tp_dim_t lda,
                         std::uint8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo, float beta,
                         std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                         const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    check(dnnl_tp_gemm_u8s8s32_tp(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c,
                                  ldc, co, pool));
}

/** The same with s8 A; see dnnl_tp_gemm_s8s8s32(). */
inline void gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t m, dnnl_tp_dim_t n,
                         dnnl_tp_dim_t k, float alpha, const std::int8_t *a, dnnl_tp_dim_t lda,
                         std::int8_t ao, const std::int8_t *b, dnnl_tp_dim_t ldb, std::int8_t bo, float beta,
                         std::int32_t *c, dnnl_tp_dim_t ldc, const std::int32_t *co,
                         const dnnl_tp_threadpool_iface_t *pool = nullptr) {
    check(dnnl_tp_gemm_s8s8s32_tp(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c,
                                  ldc, co, pool));
}

} // namespace dnnl_tp

#endif
