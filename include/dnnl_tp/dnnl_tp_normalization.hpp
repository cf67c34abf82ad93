/** @file
 * Kinds of primitives that normalize images, as C++ classes. Included by dnnl_tp.hpp; layer
 * normalization: dnnl_tp_primitives.hpp. */
#ifndef DNNL_TP_NORMALIZATION_HPP
#define DNNL_TP_NORMALIZATION_HPP

#include "dnnl_tp/dnnl_tp_primitives.hpp"

namespace dnnl_tp {

/** Normalization of each channel over the batch. */
class batch_normalization_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_batch_normalization> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; flags choose the statistics and vectors that are arguments. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, float epsilon,
                       detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_batch_normalization_forward_primitive_desc_create,
                            e.get(), prop, src.get(), dst.get(), epsilon, flags, attr);
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
    batch_normalization_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    batch_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    batch_normalization_forward(const primitive_desc &pd,
                                const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Normalization of groups of channels of an image. */
class group_normalization_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_group_normalization> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor; flags choose the statistics and vectors that are arguments. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop, const memory_desc &src,
                       const memory_desc &dst, memory::dim groups, float epsilon,
                       detail::flags_of<normalization_flags> flags,
                       const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_group_normalization_forward_primitive_desc_create,
                            e.get(), prop, src.get(), dst.get(), groups, epsilon, flags, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
        /** Descriptor of the mean. */
        memory_desc mean_desc() const { return arg_desc(DNNL_TP_ARG_MEAN); }
        /** Descriptor of the variance. */
        memory_desc variance_desc() const { return arg_desc(DNNL_TP_ARG_VARIANCE); }
        /** Groups of channels. */
        memory::dim get_group_size() const {
            return query<memory::dim>(dnnl_tp_query_group_size_s64);
        }
        /** Its flags. */
        normalization_flags get_flags() const {
            return static_cast<normalization_flags>(query<unsigned>(dnnl_tp_query_flags));
        }
    };
    /** Owns nothing. */
    group_normalization_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    group_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    group_normalization_forward(const primitive_desc &pd,
                                const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

/** Local response normalization. */
class lrn_forward : public primitive {
  public:
    /** Its descriptor. */
    struct primitive_desc : detail::pd_of<dnnl_tp_lrn> {
        using pd_of::pd_of;
        /** Owns nothing. */
        primitive_desc() noexcept = default;
        /** A descriptor with the parameters of the formula. */
        primitive_desc(const engine &e, detail::either<prop_kind> prop,
                       detail::either<algorithm> alg, const memory_desc &src,
                       const memory_desc &dst, memory::dim local_size, float alpha, float beta,
                       float k = 1.f, const detail::attr_arg &attr = {}, bool allow_empty = false) {
            create_or_empty(allow_empty, dnnl_tp_lrn_forward_primitive_desc_create, e.get(), prop,
                            alg, src.get(), dst.get(), local_size, alpha, beta, k, attr);
        }
        /** A copy with a handle of its own. */
        primitive_desc clone() const { return clone_as<primitive_desc>(); }
    };
    /** Owns nothing. */
    lrn_forward() noexcept = default;
    /** Creates the primitive of a descriptor. */
    lrn_forward(const primitive_desc &pd) : primitive(pd) {}
    /** Creates the primitive of a descriptor and checks a blob of an equal primitive. */
    lrn_forward(const primitive_desc &pd, const std::vector<std::uint8_t> &cache_blob)
        : primitive(pd, cache_blob) {}
};

} // namespace dnnl_tp

#endif
