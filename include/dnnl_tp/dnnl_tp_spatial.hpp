/** @file
 * Kinds of primitives whose windows slide over space, as C++ classes. Included by dnnl_tp.hpp. */
#ifndef DNNL_TP_SPATIAL_HPP
#define DNNL_TP_SPATIAL_HPP

#include "dnnl_tp/dnnl_tp_primitives.hpp"

namespace dnnl_tp {

namespace detail {
/** Descriptor of a convolution or deconvolution; Kind: its kind; Create: the C function that
 * creates it. */
template <dnnl_tp_primitive_kind_t Kind, auto Create> struct kernel_primitive_desc : pd_of<Kind> {
    using pd_of<Kind>::pd_of;
    /** Owns nothing. */
    kernel_primitive_desc() noexcept = default;
    /** A descriptor without bias and dilation. */
    kernel_primitive_desc(const engine &e, either<prop_kind> prop, either<algorithm> alg,
                          const memory_desc &src, const memory_desc &weights,
                          const memory_desc &dst, const dims &strides, const dims &padding_l,
                          const dims &padding_r, const attr_arg &attr = {},
                          bool allow_empty = false)
        : kernel_primitive_desc(e, prop, alg, src, weights, memory_desc(), dst, strides,
                                dims(strides.size(), 0), padding_l, padding_r, attr, allow_empty) {}
    /** A descriptor with a bias (empty = none), without dilation. */
    kernel_primitive_desc(const engine &e, either<prop_kind> prop, either<algorithm> alg,
                          const memory_desc &src, const memory_desc &weights,
                          const memory_desc &bias, const memory_desc &dst, const dims &strides,
                          const dims &padding_l, const dims &padding_r, const attr_arg &attr = {},
                          bool allow_empty = false)
        : kernel_primitive_desc(e, prop, alg, src, weights, bias, dst, strides,
                                dims(strides.size(), 0), padding_l, padding_r, attr, allow_empty) {}
    /** A descriptor without a bias. */
    kernel_primitive_desc(const engine &e, either<prop_kind> prop, either<algorithm> alg,
                          const memory_desc &src, const memory_desc &weights,
                          const memory_desc &dst, const dims &strides, const dims &dilates,
                          const dims &padding_l, const dims &padding_r, const attr_arg &attr = {},
                          bool allow_empty = false)
        : kernel_primitive_desc(e, prop, alg, src, weights, memory_desc(), dst, strides, dilates,
                                padding_l, padding_r, attr, allow_empty) {}
    /** A descriptor with a bias; empty = none. */
    kernel_primitive_desc(const engine &e, either<prop_kind> prop, either<algorithm> alg,
                          const memory_desc &src, const memory_desc &weights,
                          const memory_desc &bias, const memory_desc &dst, const dims &strides,
                          const dims &dilates, const dims &padding_l, const dims &padding_r,
                          const attr_arg &attr = {}, bool allow_empty = false) {
        const dims *all[] = {&strides, &dilates, &padding_l, &padding_r};
        for (const dims *d : all)
            if (static_cast<int>(d->size()) + 2 != src.get_ndims())
                detail::raise(dnnl_tp_invalid_arguments, "one number per spatial dimension");
        this->create_or_empty(allow_empty, Create, e.get(), prop, alg, src.get(), weights.get(),
                              bias.get(), dst.get(), c_dims(strides).v, c_dims(dilates).v,
                              c_dims(padding_l).v, c_dims(padding_r).v, attr);
    }
    /** A copy with a handle of its own. */
    kernel_primitive_desc clone() const { return this->template clone_as<kernel_primitive_desc>(); }
    /** Descriptor of the bias. */
    memory_desc bias_desc() const { return this->weights_desc(1); }
};
} // namespace detail

/** Weighted sums of windows of an image. */
class convolution_forward : public primitive {
  public:
    /** Its descriptor. */
    using primitive_desc =
        detail::kernel_primitive_desc<dnnl_tp_convolution,
                                      &dnnl_tp_convolution_forward_primitive_desc_create>;
    /** Owns nothing. */
    convolution_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    convolution_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    convolution_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** The transposed convolution. */
class deconvolution_forward : public primitive {
  public:
    /** Its descriptor. */
    using primitive_desc =
        detail::kernel_primitive_desc<dnnl_tp_deconvolution,
                                      &dnnl_tp_deconvolution_forward_primitive_desc_create>;
    /** Owns nothing. */
    deconvolution_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    deconvolution_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    deconvolution_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Maxima or averages of windows. */
class pooling_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_pooling> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** Strides, kernel, dilation and paddings have one value for each spatial dimension. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, const dims &strides, const dims &kernel,
                       const dims &dilation, const dims &padding_l, const dims &padding_r,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_pooling_forward_primitive_desc_create, e.get(),
                            prop, alg, src.get(), dst.get(), detail::c_dims(strides).v,
                            detail::c_dims(kernel).v, detail::c_dims(dilation).v,
                            detail::c_dims(padding_l).v, detail::c_dims(padding_r).v, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    pooling_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    pooling_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    pooling_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Changes the size of an image. */
class resampling_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_resampling> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor for the size of dst. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, alg, {}, src, dst, attr, allow_empty) {}
        /** A descriptor for the size by factors; dst gets the type and layout of src. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const std::vector<float> &factors,
                       const memory_desc &src, const detail::attr_arg &attr = {},
                       bool allow_empty = false)
            : primitive_desc(e, prop, alg, factors, src, memory_desc(), attr, allow_empty) {}
        /** A descriptor for the size of dst, with a factor for each spatial dimension; no factors =
         * dst's size / src's size. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const std::vector<float> &factors,
                       const memory_desc &src, const memory_desc &dst,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            if (!factors.empty() && static_cast<int>(factors.size()) + 2 != src.get_ndims())
                detail::raise(dnnl_tp_invalid_arguments,
                              "resampling: one factor per spatial dimension");
            create_or_empty(allow_empty, dnnl_tp_resampling_forward_primitive_desc_create, e.get(),
                            prop, alg, factors.empty() ? nullptr : factors.data(), src.get(),
                            dst.get(), attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    resampling_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    resampling_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    resampling_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Interleaves groups of an axis. */
class shuffle_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_shuffle> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** group_size divides the axis. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, int axis, std::int64_t group_size,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_shuffle_forward_primitive_desc_create, e.get(),
                            prop, src.get(), dst.get(), axis, group_size, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    shuffle_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    shuffle_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    shuffle_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

} // namespace dnnl_tp

#endif
