/** @file
 * C++17 over the C API of dnnl_tp: primitive descriptors and primitives.
 *
 * Included by dnnl_tp.hpp, which has the rules. Each kind has a class with its descriptor as a
 * member class: matmul::primitive_desc pd(engine, src, weights, dst); matmul(pd).execute(stream,
 * {{DNNL_TP_ARG_SRC, x}, ...}). An empty memory_desc means an absent optional tensor. Callers pass
 * attributes by reference or by pointer. With allow_empty a failure gives an empty descriptor
 * instead of an exception. */
#ifndef DNNL_TP_PRIMITIVES_HPP
#define DNNL_TP_PRIMITIVES_HPP

#include <vector>

#include "dnnl_tp/dnnl_tp_primitive.hpp"

namespace dnnl_tp {

/** Implementation. */
namespace detail {
/** Descriptors as an array of handles. */
inline std::vector<const_dnnl_tp_memory_desc_t> handles_of(const std::vector<memory_desc> &mds) {
    std::vector<const_dnnl_tp_memory_desc_t> v;
    v.reserve(mds.size());
    for (const memory_desc &md : mds) v.push_back(md.get());
    return v;
}
} // namespace detail

/** Matrix product. */
class matmul : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_matmul> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor without a bias. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, src, weights, memory_desc(), dst, attr, allow_empty) {}
        /** A descriptor with a bias; empty = none. */
        primitive_desc(const engine &e, const memory_desc &src, const memory_desc &weights,
                       const memory_desc &bias, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_matmul_primitive_desc_create, e.get(), src.get(),
                            weights.get(), bias.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the bias. */
        memory_desc bias_desc() const { return weights_desc(1); }
    };
    /** Owns nothing. */
    matmul() noexcept = default;
    /** Creates the primitive of a descriptor. */
    matmul(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    matmul(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Fully connected layer. */
class inner_product_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_inner_product> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor without a bias. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, weights, memory_desc(), dst, attr, allow_empty) {}
        /** A descriptor with a bias; empty = none. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &bias, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_inner_product_forward_primitive_desc_create,
                            e.get(), prop, src.get(), weights.get(), bias.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the bias. */
        memory_desc bias_desc() const { return weights_desc(1); }
    };
    /** Owns nothing. */
    inner_product_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    inner_product_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Softmax and its logarithm. */
class softmax_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_softmax> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor for an axis. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, int axis, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_softmax_forward_primitive_desc_create, e.get(),
                            prop, alg, src.get(), dst.get(), axis, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    softmax_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    softmax_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Normalization over the last dimension. */
class layer_normalization_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_layer_normalization> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor with f32 statistics in the layout of src. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, float epsilon,
                       detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, memory_desc(), dnnl_tp_f32, epsilon, flags, attr,
                             allow_empty) {}
        /** A descriptor with a descriptor of the statistics. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, const memory_desc &stat, float epsilon,
                       detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, stat, dnnl_tp_f32, epsilon, flags, attr,
                             allow_empty) {}
        /** A descriptor with a type for scale and shift. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, detail::either<memory::data_type> scale_shift_type,
                       float epsilon, detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, prop, src, dst, memory_desc(), scale_shift_type, epsilon, flags,
                             attr, allow_empty) {}
        /** A descriptor with a descriptor of the statistics and a type for scale and shift. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, const memory_desc &stat,
                       detail::either<memory::data_type> scale_shift_type, float epsilon,
                       detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(
                allow_empty, dnnl_tp_layer_normalization_forward_primitive_desc_create_v2, e.get(),
                prop, src.get(), dst.get(), stat.get(), scale_shift_type, epsilon, flags, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the mean. */
        memory_desc mean_desc() const { return arg_desc(DNNL_TP_ARG_MEAN); }
        /** Descriptor of the variance. */
        memory_desc variance_desc() const { return arg_desc(DNNL_TP_ARG_VARIANCE); }
        /** Its flags. */
        normalization_flags get_flags() const {
            return static_cast<normalization_flags>(query<unsigned>(dnnl_tp_query_flags));
        }
    };
    /** Owns nothing. */
    layer_normalization_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    layer_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    layer_normalization_forward(const primitive_desc &pd,
                                const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** A function of each element. */
class eltwise_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_eltwise> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor with alpha and beta 0. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, alg, src, dst, 0.0f, 0.0f, attr, allow_empty) {}
        /** A descriptor with beta 0. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, float alpha, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, alg, src, dst, alpha, 0.0f, attr, allow_empty) {}
        /** A descriptor with the parameters of the formula. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, float alpha, float beta,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_eltwise_forward_primitive_desc_create, e.get(),
                            prop, alg, src.get(), dst.get(), alpha, beta, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    eltwise_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    eltwise_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    eltwise_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** ReLU with a slope per weight. */
class prelu_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_prelu> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; the weights broadcast to src. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &weights, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_prelu_forward_primitive_desc_create, e.get(), prop,
                            src.get(), weights.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    prelu_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    prelu_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    prelu_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** A function of two tensors, element by element. */
class binary : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_binary> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor with two sources. */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_binary_primitive_desc_create, e.get(), alg,
                            src0.get(), src1.get(), dst.get(), attr);
        }
        /** A descriptor with three sources (select). */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src0,
                       const memory_desc &src1, const memory_desc &src2, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_binary_primitive_desc_create_v2, e.get(), alg,
                            src0.get(), src1.get(), src2.get(), dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the first source. */
        memory_desc src0_desc() const { return src_desc(0); }
        /** Descriptor of the second source. */
        memory_desc src1_desc() const { return src_desc(1); }
        /** Descriptor of the third source. */
        memory_desc src2_desc() const { return src_desc(2); }
    };
    /** Owns nothing. */
    binary() noexcept = default;
    /** Creates the primitive of a descriptor. */
    binary(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    binary(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Combines elements along dimensions. */
class reduction : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_reduction> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; p and eps are parameters of the norms. */
        primitive_desc(const engine &e, detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, float p = 0.0f, float eps = 0.0f,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reduction_primitive_desc_create, e.get(), alg,
                            src.get(), dst.get(), p, eps, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    reduction() noexcept = default;
    /** Creates the primitive of a descriptor. */
    reduction(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    reduction(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Copy into another layout and type. */
class reorder : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_reorder> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A reorder on one engine. */
        primitive_desc(const engine &e, const_dnnl_tp_memory_desc_t src,
                       const_dnnl_tp_memory_desc_t dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create, src, e.get(), dst,
                            e.get(), attr);
        }
        /** A reorder between engines, which must be the same. */
        primitive_desc(const engine &src_engine, const memory_desc &src, const engine &dst_engine,
                       const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create, src.get(),
                            src_engine.get(), dst.get(), dst_engine.get(), attr);
        }
        /** A reorder between two memory objects. */
        primitive_desc(const memory &src, const memory &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_reorder_primitive_desc_create,
                            src.get_desc_handle(), src.get_engine().get(), dst.get_desc_handle(),
                            dst.get_engine().get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** The engine of the source. */
        engine get_src_engine() const {
            return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_reorder_src_engine), true);
        }
        /** The engine of the destination. */
        engine get_dst_engine() const {
            return engine(query<dnnl_tp_engine_t>(dnnl_tp_query_reorder_dst_engine), true);
        }
    };
    /** Owns nothing. */
    reorder() noexcept = default;
    /** Creates the primitive of a descriptor. */
    reorder(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    reorder(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
    /** A reorder between two memory objects. */
    reorder(const memory &src, const memory &dst, const detail::attr_arg &attr = {})
        : reorder(primitive_desc(src, dst, attr)) {}
    using primitive::execute;
    /** Runs. */
    void execute(const stream &s, const memory &src, const memory &dst) const {
        execute(s, {{DNNL_TP_ARG_FROM, src.get()}, {DNNL_TP_ARG_TO, dst.get()}});
    }
};

/** Joins tensors along a dimension. */
class concat : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_concat> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; an empty dst is derived from the sources. */
        primitive_desc(const engine &e, const memory_desc &dst, int axis,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            create_or_empty(allow_empty, dnnl_tp_concat_primitive_desc_create, e.get(), dst.get(),
                            static_cast<int>(v.size()), axis, v.data(), attr);
        }
        /** A descriptor whose dst is derived from the sources. */
        primitive_desc(const engine &e, int axis, const std::vector<memory_desc> &srcs,
                       const detail::attr_arg &attr = {}, bool allow_empty = false)
            : primitive_desc(e, memory_desc(), axis, srcs, attr, allow_empty) {}
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    concat() noexcept = default;
    /** Creates the primitive of a descriptor. */
    concat(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    concat(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Weighted sum of tensors. */
class sum : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_sum> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; an empty dst is derived from the sources. */
        primitive_desc(const engine &e, const memory_desc &dst, const std::vector<float> &scales,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false) {
            if (scales.size() != srcs.size())
                detail::raise(dnnl_tp_invalid_arguments,
                              "sum: as many scales as sources are needed");
            const std::vector<const_dnnl_tp_memory_desc_t> v = detail::handles_of(srcs);
            create_or_empty(allow_empty, dnnl_tp_sum_primitive_desc_create, e.get(), dst.get(),
                            static_cast<int>(v.size()), scales.data(), v.data(), attr);
        }
        /** A descriptor whose dst is derived from the sources. */
        primitive_desc(const engine &e, const std::vector<float> &scales,
                       const std::vector<memory_desc> &srcs, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, memory_desc(), scales, srcs, attr, allow_empty) {}
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    sum() noexcept = default;
    /** Creates the primitive of a descriptor. */
    sum(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    sum(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

} // namespace dnnl_tp

#endif
