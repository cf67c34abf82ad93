/* Chains of post-operations. */
#include "common/primitive/attr.h"

static void post_ops_destroy(dtp_object_t *obj) {
    dtp_post_ops_t *po = (dtp_post_ops_t *)obj;
    dtp_free(obj->allocator, po->entry);
}

/* Room for one more entry, zeroed; entry arrays grow by doubling. */
static dnnl_tp_status_t add_entry(dtp_post_ops_t *po, dtp_post_op_t **entry) {
    *entry = NULL;
    if (po->len == DTP_MAX_POST_OPS)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_BAD_COUNT, "a chain has at most %d entries",
                        DTP_MAX_POST_OPS);
    if (po->len == po->capacity) {
        int capacity = po->capacity ? 2 * po->capacity : 2;
        dtp_post_op_t *grown = dtp_alloc(po->obj.allocator, sizeof *grown * (size_t)capacity, 16);
        if (!grown) return dtp_no_memory(sizeof *grown * (size_t)capacity);
        if (po->len) memcpy(grown, po->entry, sizeof *grown * (size_t)po->len);
        dtp_free(po->obj.allocator, po->entry);
        po->entry = grown;
        po->capacity = capacity;
    }
    *entry = &po->entry[po->len];
    memset(*entry, 0, sizeof **entry);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_post_ops_copy(const dnnl_tp_allocator_t *allocator, dtp_post_ops_t **out,
                                   const dtp_post_ops_t *in) {
    *out = NULL;
    dtp_post_ops_t *po = dtp_object_create(allocator, sizeof *po, DTP_OBJ_POST_OPS, post_ops_destroy);
    if (!po) return dnnl_tp_out_of_memory;
    if (in && in->len) {
        size_t bytes = sizeof *po->entry * (size_t)in->len;
        po->entry = dtp_alloc(po->obj.allocator, bytes, 16);
        if (!po->entry) {
            dtp_object_release(po);
            return dtp_no_memory(bytes);
        }
        memcpy(po->entry, in->entry, bytes);
        po->len = po->capacity = in->len;
    }
    *out = po;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_create(dnnl_tp_post_ops_t *post_ops) {
    DTP_REQUIRE(post_ops, NULL_ARG, "post_ops");
    DTP_RETURN(dtp_post_ops_copy(NULL, post_ops, NULL));
}

dnnl_tp_status_t dnnl_tp_post_ops_clone(dnnl_tp_post_ops_t *post_ops,
                                        const_dnnl_tp_post_ops_t existing_post_ops) {
    DTP_OUT(post_ops, NULL);
    DTP_REQUIRE_HANDLE(existing_post_ops, DTP_OBJ_POST_OPS);
    DTP_RETURN(dtp_post_ops_copy(NULL, post_ops, existing_post_ops));
}

dnnl_tp_status_t dnnl_tp_post_ops_destroy(dnnl_tp_post_ops_t post_ops) {
    DTP_DESTROY(post_ops, DTP_OBJ_POST_OPS);
}

int dnnl_tp_post_ops_len(const_dnnl_tp_post_ops_t post_ops) { return post_ops ? post_ops->len : 0; }

dnnl_tp_primitive_kind_t dnnl_tp_post_ops_get_kind(const_dnnl_tp_post_ops_t post_ops, int index) {
    if (!post_ops || index < 0 || index >= post_ops->len) return dnnl_tp_undefined_primitive;
    return post_ops->entry[index].kind;
}

dnnl_tp_status_t dnnl_tp_post_ops_append_sum(dnnl_tp_post_ops_t post_ops, float scale, int32_t zero_point,
                                             dnnl_tp_data_type_t data_type) {
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    DTP_REQUIRE(data_type == dnnl_tp_data_type_undef || dtp_type_size(data_type), BAD_DATA_TYPE, "%s (%d)",
                dnnl_tp_dt2str(data_type), (int)data_type);
    DTP_REQUIRE(scale == scale, BAD_PARAM, "scale is NaN");
    dtp_post_op_t *e;
    DTP_TRY(add_entry(post_ops, &e));
    e->kind = dnnl_tp_sum;
    e->scale = scale;
    e->zero_point = zero_point;
    e->sum_dt = data_type;
    ++post_ops->len;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_eltwise_check(dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    DTP_REQUIRE(dtp_alg_is_eltwise(alg), BAD_ALG, "%s (%d) is not an eltwise algorithm",
                dnnl_tp_alg_kind2str(alg), (int)alg);
    if (alg == dnnl_tp_eltwise_clip || alg == dnnl_tp_eltwise_clip_v2 ||
        alg == dnnl_tp_eltwise_clip_v2_use_dst_for_bwd)
        DTP_REQUIRE(alpha <= beta, BAD_PARAM, "clip needs alpha <= beta, got %g and %g", (double)alpha,
                    (double)beta);
    if (alg == dnnl_tp_eltwise_relu_use_dst_for_bwd || alg == dnnl_tp_eltwise_elu_use_dst_for_bwd)
        DTP_REQUIRE(alpha >= 0.f, BAD_PARAM, "alpha must be >= 0, got %g", (double)alpha);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_append_eltwise(dnnl_tp_post_ops_t post_ops, dnnl_tp_alg_kind_t alg_kind,
                                                 float alpha, float beta) {
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    DTP_TRY(dtp_eltwise_check(alg_kind, alpha, beta));
    dtp_post_op_t *e;
    DTP_TRY(add_entry(post_ops, &e));
    e->kind = dnnl_tp_eltwise;
    e->alg = alg_kind;
    e->alpha = alpha;
    e->beta = beta;
    ++post_ops->len;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_post_ops_append_binary(dtp_post_ops_t *post_ops, dnnl_tp_alg_kind_t alg,
                                            const dtp_md_t *src1, const dtp_md_t *src2) {
    dtp_post_op_t *e;
    DTP_TRY(add_entry(post_ops, &e));
    e->kind = dnnl_tp_binary;
    e->alg = alg;
    e->src1 = *src1;
    if (src2) e->src2 = *src2;
    ++post_ops->len;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_append_binary_v2(dnnl_tp_post_ops_t post_ops, dnnl_tp_alg_kind_t alg_kind,
                                                   const_dnnl_tp_memory_desc_t src1_desc,
                                                   const_dnnl_tp_memory_desc_t src2_desc) {
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    DTP_REQUIRE(dtp_alg_is_binary(alg_kind), BAD_ALG, "%s (%d) is not a binary algorithm",
                dnnl_tp_alg_kind2str(alg_kind), (int)alg_kind);
    DTP_REQUIRE(!dtp_md_is_zero(src1_desc), NULL_ARG, "src1_desc");
    DTP_REQUIRE(!dtp_md_has_runtime(src1_desc), RUNTIME_NOT_ALLOWED, "in src1 of a post-op");
    DTP_REQUIRE(!dtp_md_is_opaque(src1_desc), BAD_TAG, "src1 of a post-op is opaque");
    bool select = alg_kind == dnnl_tp_binary_select;
    DTP_REQUIRE(select == !dtp_md_is_zero(src2_desc), BAD_PARAM, "src2 is for select, and select needs it");
    if (select) {
        DTP_REQUIRE(src2_desc->data_type == dnnl_tp_s8, BAD_DATA_TYPE, "src2 of select is %s, needed is s8",
                    dnnl_tp_dt2str(src2_desc->data_type));
        DTP_REQUIRE(!dtp_md_has_runtime(src2_desc), RUNTIME_NOT_ALLOWED, "in src2 of a post-op");
        DTP_REQUIRE(!dtp_md_is_opaque(src2_desc), BAD_TAG, "src2 of a post-op is opaque");
    }
    return dtp_post_ops_append_binary(post_ops, alg_kind, src1_desc, select ? src2_desc : NULL);
}

dnnl_tp_status_t dnnl_tp_post_ops_append_binary(dnnl_tp_post_ops_t post_ops, dnnl_tp_alg_kind_t alg_kind,
                                                const_dnnl_tp_memory_desc_t src1_desc) {
    DTP_RETURN(dnnl_tp_post_ops_append_binary_v2(post_ops, alg_kind, src1_desc, NULL));
}

dnnl_tp_status_t dnnl_tp_post_ops_append_prelu(dnnl_tp_post_ops_t post_ops, int mask) {
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    DTP_REQUIRE(mask >= 0, BAD_MASK, "%d", mask);
    dtp_post_op_t *e;
    DTP_TRY(add_entry(post_ops, &e));
    e->kind = dnnl_tp_prelu;
    e->mask = mask;
    ++post_ops->len;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_append_dw(dnnl_tp_post_ops_t post_ops,
                                            dnnl_tp_data_type_t weights_data_type,
                                            dnnl_tp_data_type_t bias_data_type,
                                            dnnl_tp_data_type_t dst_data_type, dnnl_tp_dim_t kernel_size,
                                            dnnl_tp_dim_t stride_size, dnnl_tp_dim_t padding_l_size) {
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    DTP_REQUIRE(weights_data_type != dnnl_tp_data_type_undef && dst_data_type != dnnl_tp_data_type_undef,
                BAD_DATA_TYPE, "weights or dst of a depthwise convolution are undef");
    DTP_REQUIRE(kernel_size > 0 && stride_size > 0 && padding_l_size < kernel_size, BAD_PARAM,
                "kernel %lld, stride %lld, padding %lld", (long long)kernel_size, (long long)stride_size,
                (long long)padding_l_size);
    dtp_post_op_t *e;
    DTP_TRY(add_entry(post_ops, &e));
    e->kind = dnnl_tp_convolution;
    e->depthwise.wei = weights_data_type;
    e->depthwise.bia = bias_data_type;
    e->depthwise.dst = dst_data_type;
    e->depthwise.kernel = kernel_size;
    e->depthwise.stride = stride_size;
    e->depthwise.padding = padding_l_size;
    ++post_ops->len;
    return dnnl_tp_success;
}

/* ---- Getters ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t entry_of(const_dnnl_tp_post_ops_t po, int index, dnnl_tp_primitive_kind_t kind,
                                 const dtp_post_op_t **entry) {
    DTP_REQUIRE_HANDLE(po, DTP_OBJ_POST_OPS);
    DTP_REQUIRE(index >= 0 && index < po->len, BAD_INDEX, "post-op %d is outside 0..%d", index, po->len - 1);
    DTP_REQUIRE(po->entry[index].kind == kind, BAD_INDEX, "post-op %d is %s", index,
                dnnl_tp_prim_kind2str(po->entry[index].kind));
    *entry = &po->entry[index];
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_sum(const_dnnl_tp_post_ops_t post_ops, int index, float *scale,
                                                 int32_t *zero_point, dnnl_tp_data_type_t *data_type) {
    const dtp_post_op_t *e;
    DTP_TRY(entry_of(post_ops, index, dnnl_tp_sum, &e));
    if (scale) *scale = e->scale;
    if (zero_point) *zero_point = e->zero_point;
    if (data_type) *data_type = e->sum_dt;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_eltwise(const_dnnl_tp_post_ops_t post_ops, int index,
                                                     dnnl_tp_alg_kind_t *alg_kind, float *alpha,
                                                     float *beta) {
    const dtp_post_op_t *e;
    DTP_TRY(entry_of(post_ops, index, dnnl_tp_eltwise, &e));
    if (alg_kind) *alg_kind = e->alg;
    if (alpha) *alpha = e->alpha;
    if (beta) *beta = e->beta;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary_v2(const_dnnl_tp_post_ops_t post_ops, int index,
                                                       dnnl_tp_alg_kind_t *alg_kind,
                                                       const_dnnl_tp_memory_desc_t *src1_desc,
                                                       const_dnnl_tp_memory_desc_t *src2_desc) {
    const dtp_post_op_t *e;
    DTP_TRY(entry_of(post_ops, index, dnnl_tp_binary, &e));
    if (alg_kind) *alg_kind = e->alg;
    if (src1_desc) *src1_desc = &e->src1;
    if (src2_desc) *src2_desc = &e->src2;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_binary(const_dnnl_tp_post_ops_t post_ops, int index,
                                                    dnnl_tp_alg_kind_t *alg_kind,
                                                    const_dnnl_tp_memory_desc_t *src1_desc) {
    DTP_RETURN(dnnl_tp_post_ops_get_params_binary_v2(post_ops, index, alg_kind, src1_desc, NULL));
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_prelu(const_dnnl_tp_post_ops_t post_ops, int index, int *mask) {
    const dtp_post_op_t *e;
    DTP_TRY(entry_of(post_ops, index, dnnl_tp_prelu, &e));
    if (mask) *mask = e->mask;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_post_ops_get_params_dw(const_dnnl_tp_post_ops_t post_ops, int index,
                                                dnnl_tp_data_type_t *weights_data_type,
                                                dnnl_tp_data_type_t *bias_data_type,
                                                dnnl_tp_data_type_t *dst_data_type,
                                                dnnl_tp_dim_t *kernel_size, dnnl_tp_dim_t *stride_size,
                                                dnnl_tp_dim_t *padding_l_size) {
    const dtp_post_op_t *e;
    DTP_TRY(entry_of(post_ops, index, dnnl_tp_convolution, &e));
    if (weights_data_type) *weights_data_type = e->depthwise.wei;
    if (bias_data_type) *bias_data_type = e->depthwise.bia;
    if (dst_data_type) *dst_data_type = e->depthwise.dst;
    if (kernel_size) *kernel_size = e->depthwise.kernel;
    if (stride_size) *stride_size = e->depthwise.stride;
    if (padding_l_size) *padding_l_size = e->depthwise.padding;
    return dnnl_tp_success;
}
