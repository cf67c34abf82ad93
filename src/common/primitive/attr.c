/* Primitive attributes: setters, getters, deep copies. */
#include "common/primitive/attr.h"

#include "common/primitive/engine.h"

static void attr_destroy(dtp_object_t *obj) { dtp_object_release(((dtp_attr_t *)obj)->post_ops); }

static _Atomic int default_fpmath = -1; /* -1: environment not read */

dnnl_tp_status_t dtp_attr_copy(const dnnl_tp_allocator_t *allocator, dtp_attr_t **out,
                               const dtp_attr_t *existing, bool is_fixed) {
    *out = NULL;
    const bool has_quant = existing && existing->n_scales + existing->n_zero_points > 0;
    const size_t head = offsetof(dtp_attr_t, scales);
    dtp_attr_t *attr = dtp_object_create(allocator, is_fixed && !has_quant ? head : sizeof *attr,
                                         DTP_OBJ_ATTR, attr_destroy);
    if (!attr) return dnnl_tp_out_of_memory;
    if (existing) {
        dtp_object_t header = attr->obj;
        size_t start = offsetof(dtp_attr_t, scratchpad_mode);
        memcpy((char *)attr + start, (const char *)existing + start,
               (has_quant ? sizeof *attr : head) - start);
        attr->obj = header;
        attr->post_ops = NULL;
    } else {
        dnnl_tp_fpmath_mode_t mode = dnnl_tp_fpmath_mode_strict;
        (void)!dnnl_tp_get_default_fpmath_mode(&mode);
        attr->fpmath_mode = mode;
    }
    dnnl_tp_status_t status =
        dtp_post_ops_copy(allocator, &attr->post_ops, existing ? existing->post_ops : NULL);
    if (status) dtp_object_release(attr);
    else *out = attr;
    return status;
}

static const dtp_quant_t *find_quant(const dtp_quant_t *list, int n, int arg) {
    for (int i = 0; i < n; ++i)
        if (list[i].arg == arg) return &list[i];
    return NULL;
}

const dtp_quant_t *dtp_attr_scale(const dtp_attr_t *attr, int arg) {
    return find_quant(attr->scales, attr->n_scales, arg);
}
const dtp_quant_t *dtp_attr_zero_point(const dtp_attr_t *attr, int arg) {
    return find_quant(attr->zero_points, attr->n_zero_points, arg);
}

bool dtp_attr_only(const dtp_attr_t *attr, unsigned allowed) {
    if (!(allowed & DTP_ATTR_POST_OPS) && attr->post_ops->len) return false;
    if (!(allowed & DTP_ATTR_SCALES) && attr->n_scales) return false;
    return (allowed & DTP_ATTR_ZERO_POINTS) || !attr->n_zero_points;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_create(dnnl_tp_primitive_attr_t *attr) {
    DTP_REQUIRE(attr, NULL_ARG, "attr");
    DTP_RETURN(dtp_attr_copy(NULL, attr, NULL, false));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_clone(dnnl_tp_primitive_attr_t *attr,
                                              const_dnnl_tp_primitive_attr_t existing) {
    DTP_OUT(attr, NULL);
    DTP_REQUIRE_HANDLE(existing, DTP_OBJ_ATTR);
    DTP_RETURN(dtp_attr_copy(NULL, attr, existing, false));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_destroy(dnnl_tp_primitive_attr_t attr) {
    DTP_DESTROY(attr, DTP_OBJ_ATTR);
}

/* ---- Modes ------------------------------------------------------------------------------------------- */

static bool fpmath_is_valid(int mode) {
    return mode >= dnnl_tp_fpmath_mode_strict && mode <= dnnl_tp_fpmath_mode_tf32;
}

dnnl_tp_status_t dnnl_tp_get_default_fpmath_mode(dnnl_tp_fpmath_mode_t *mode) {
    DTP_REQUIRE(mode, NULL_ARG, "mode");
    int m = atomic_load_explicit(&default_fpmath, memory_order_relaxed);
    if (m < 0) {
        static const char *const names[] = {"STRICT", "BF16", "F16", "ANY", "TF32"};
        m = dtp_getenv_word("DEFAULT_FPMATH_MODE", names, 5, 0);
        atomic_store(&default_fpmath, m);
    }
    *mode = (dnnl_tp_fpmath_mode_t)m;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_set_default_fpmath_mode(dnnl_tp_fpmath_mode_t mode) {
    DTP_REQUIRE(fpmath_is_valid((int)mode), BAD_ENUM, "fpmath mode is %d", (int)mode);
    atomic_store(&default_fpmath, (int)mode);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_fpmath_mode_v2(dnnl_tp_primitive_attr_t attr,
                                                           dnnl_tp_fpmath_mode_t mode, int apply_to_int) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(fpmath_is_valid((int)mode), BAD_ENUM, "fpmath mode %d", (int)mode);
    attr->fpmath_mode = mode;
    attr->fpmath_apply_to_int = apply_to_int != 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_fpmath_mode(dnnl_tp_primitive_attr_t attr,
                                                        dnnl_tp_fpmath_mode_t mode) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_fpmath_mode_v2(attr, mode, 0));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode_v2(const_dnnl_tp_primitive_attr_t attr,
                                                           dnnl_tp_fpmath_mode_t *mode, int *apply_to_int) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    if (mode) *mode = attr->fpmath_mode;
    if (apply_to_int) *apply_to_int = attr->fpmath_apply_to_int;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_fpmath_mode(const_dnnl_tp_primitive_attr_t attr,
                                                        dnnl_tp_fpmath_mode_t *mode) {
    DTP_REQUIRE(mode, NULL_ARG, "mode");
    DTP_RETURN(dnnl_tp_primitive_attr_get_fpmath_mode_v2(attr, mode, NULL));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_deterministic(dnnl_tp_primitive_attr_t attr, int value) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    attr->deterministic = value != 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_deterministic(const_dnnl_tp_primitive_attr_t attr, int *value) {
    DTP_GET(value, 0, attr, DTP_OBJ_ATTR, attr->deterministic);
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_refuse_reference(dnnl_tp_primitive_attr_t attr, int value) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    attr->refuse_reference = value != 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_refuse_reference(const_dnnl_tp_primitive_attr_t attr,
                                                             int *value) {
    DTP_GET(value, 0, attr, DTP_OBJ_ATTR, attr->refuse_reference);
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_accumulation_mode(dnnl_tp_primitive_attr_t attr,
                                                              dnnl_tp_accumulation_mode_t mode) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE((int)mode >= 0 && mode <= dnnl_tp_accumulation_mode_f16, BAD_ENUM, "accumulation mode %d",
                (int)mode);
    attr->acc_mode = mode;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_accumulation_mode(const_dnnl_tp_primitive_attr_t attr,
                                                              dnnl_tp_accumulation_mode_t *mode) {
    DTP_GET(mode, dnnl_tp_accumulation_mode_strict, attr, DTP_OBJ_ATTR, attr->acc_mode);
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_scratchpad_mode(dnnl_tp_primitive_attr_t attr,
                                                            dnnl_tp_scratchpad_mode_t mode) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(mode == dnnl_tp_scratchpad_mode_library || mode == dnnl_tp_scratchpad_mode_user, BAD_ENUM,
                "scratchpad mode %d", (int)mode);
    attr->scratchpad_mode = mode;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_scratchpad_mode(const_dnnl_tp_primitive_attr_t attr,
                                                            dnnl_tp_scratchpad_mode_t *mode) {
    DTP_GET(mode, dnnl_tp_scratchpad_mode_library, attr, DTP_OBJ_ATTR, attr->scratchpad_mode);
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_primitive_attr_set_num_threads(dnnl_tp_primitive_attr_t attr, int num_threads) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(num_threads >= 0 && num_threads <= DTP_MAX_THREADS, BAD_COUNT,
                "thread count %d is outside 0..%d", num_threads, DTP_MAX_THREADS);
    attr->num_threads = num_threads;
    return dnnl_tp_success;
}

/* ---- Scales and zero points -------------------------------------------------------------------------- */

static bool arg_takes_quant(int arg) {
    /* Of a post-operation that no primitive takes. */
    const int dw = arg ^ DNNL_TP_ARG_ATTR_POST_OP_DW;
    if (dw == DNNL_TP_ARG_SRC || dw == DNNL_TP_ARG_WEIGHTS || dw == DNNL_TP_ARG_DST) return true;
    return (arg >= DNNL_TP_ARG_SRC && arg <= DNNL_TP_ARG_SRC_2) || arg == DNNL_TP_ARG_DST ||
           arg == DNNL_TP_ARG_WEIGHTS ||
           (arg >= DNNL_TP_ARG_MULTIPLE_SRC && arg < DNNL_TP_ARG_MULTIPLE_SRC + 1024);
}

/* Inserts or replaces, sorted by argument. */
static dnnl_tp_status_t put_quant(dtp_quant_t *list, int *n, const dtp_quant_t *q) {
    int i = 0;
    while (i < *n && list[i].arg < q->arg) ++i;
    if (i < *n && list[i].arg == q->arg) {
        list[i] = *q;
        return dnnl_tp_success;
    }
    if (*n == DTP_MAX_QUANT)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_BAD_COUNT, "at most %d arguments have scales",
                        DTP_MAX_QUANT);
    memmove(list + i + 1, list + i, sizeof *list * (size_t)(*n - i));
    list[i] = *q;
    ++*n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_quant(dtp_quant_t *q, int arg, int mask, int group_ndims, const int64_t *groups,
                                   dnnl_tp_data_type_t dt, int on_host) {
    char name[DTP_ARG_TEXT];
    DTP_REQUIRE(arg_takes_quant(arg), BAD_ARG, "argument %s (%d) is no source, weights or destination",
                dtp_arg_text(arg, name), arg);
    DTP_REQUIRE(mask >= 0 && mask < 1 << DNNL_TP_MAX_NDIMS, BAD_MASK, "mask %d", mask);
    DTP_REQUIRE(group_ndims == 0 || group_ndims == 2, BAD_NDIMS, "group_ndims is 0 or 2, got %d",
                group_ndims);
    DTP_REQUIRE(!group_ndims || (mask && groups), BAD_MASK, "groups need a mask and their sizes");
    DTP_REQUIRE(!on_host || !mask, BAD_MASK, "a host scalar has mask 0, not %d", mask);
    memset(q, 0, sizeof *q);
    q->arg = arg;
    q->mask = mask;
    q->group_ndims = group_ndims;
    q->data_type = dt;
    q->on_host = on_host != 0;
    for (int i = 0; i < group_ndims; ++i) {
        DTP_REQUIRE(groups[i] > 0, BAD_DIMS, "group %d is %lld", i, (long long)groups[i]);
        q->groups[i] = groups[i];
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_v3(dnnl_tp_primitive_attr_t attr, int arg, int mask,
                                                      int ndims, const dnnl_tp_dims_t group_dims,
                                                      dnnl_tp_data_type_t data_type, int is_on_host,
                                                      dnnl_tp_quantization_mode_t qmode) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(qmode == dnnl_tp_quantization_mode_static_sazp ||
                    qmode == dnnl_tp_quantization_mode_dynamic_mx ||
                    qmode == dnnl_tp_quantization_mode_dynamic_fp,
                BAD_ENUM, "quantization mode %d", (int)qmode);
    const bool small = data_type == dnnl_tp_e8m0 || data_type == dnnl_tp_f8_e4m3;
    DTP_REQUIRE(small || data_type == dnnl_tp_f32 || data_type == dnnl_tp_bf16 || data_type == dnnl_tp_f16,
                BAD_DATA_TYPE, "scales are f32, bf16, f16, e8m0 or f8_e4m3, not %s",
                dnnl_tp_dt2str(data_type));
    DTP_REQUIRE(!small || mask, BAD_DATA_TYPE, "one scale of %s", dnnl_tp_dt2str(data_type));
    dtp_quant_t q;
    DTP_TRY(make_quant(&q, arg, mask, ndims, group_dims, data_type, is_on_host));
    q.dynamic = qmode != dnnl_tp_quantization_mode_static_sazp;
    DTP_RETURN(put_quant(attr->scales, &attr->n_scales, &q));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_v2(dnnl_tp_primitive_attr_t attr, int arg, int mask,
                                                      int ndims, const dnnl_tp_dims_t group_dims,
                                                      dnnl_tp_data_type_t data_type, int is_on_host) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_scales_v3(attr, arg, mask, ndims, group_dims, data_type, is_on_host,
                                                    dnnl_tp_quantization_mode_static_sazp));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales(dnnl_tp_primitive_attr_t attr, int arg, int mask,
                                                   int group_ndims, const dnnl_tp_dims_t group_dims,
                                                   dnnl_tp_data_type_t data_type) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_scales_v3(attr, arg, mask, group_ndims, group_dims, data_type, 0,
                                                    dnnl_tp_quantization_mode_static_sazp));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_scales_mask(dnnl_tp_primitive_attr_t attr, int arg, int mask) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_scales(attr, arg, mask, 0, NULL, dnnl_tp_f32));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points_v2(dnnl_tp_primitive_attr_t attr, int arg, int mask,
                                                           int ndims, const dnnl_tp_dims_t group_dims,
                                                           dnnl_tp_data_type_t data_type, int is_on_host) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    const bool source = arg == DNNL_TP_ARG_SRC || arg == DNNL_TP_ARG_WEIGHTS;
    char name[DTP_ARG_TEXT];
    DTP_REQUIRE(source || arg == DNNL_TP_ARG_SRC_2 || arg == DNNL_TP_ARG_DST, BAD_ARG,
                "argument %s (%d) is none of SRC, WEIGHTS and DST", dtp_arg_text(arg, name), arg);
    const bool small = data_type == dnnl_tp_s4 || data_type == dnnl_tp_u4;
    DTP_REQUIRE(small || data_type == dnnl_tp_s32 || data_type == dnnl_tp_s8 || data_type == dnnl_tp_u8,
                BAD_DATA_TYPE, "zero points are s32, s8, u8, s4 or u4, not %s", dnnl_tp_dt2str(data_type));
    DTP_REQUIRE(!small || mask, BAD_DATA_TYPE, "one zero point of %s", dnnl_tp_dt2str(data_type));
    dtp_quant_t q;
    DTP_TRY(make_quant(&q, arg, mask, ndims, group_dims, data_type, is_on_host));
    DTP_REQUIRE(source || (data_type == dnnl_tp_s32 && !ndims), BAD_DATA_TYPE,
                "the zero point of %s is s32 without groups", dtp_arg_text(arg, name));
    DTP_RETURN(put_quant(attr->zero_points, &attr->n_zero_points, &q));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points(dnnl_tp_primitive_attr_t attr, int arg, int mask,
                                                        int group_ndims, const dnnl_tp_dims_t group_dims,
                                                        dnnl_tp_data_type_t data_type) {
    DTP_RETURN(
        dnnl_tp_primitive_attr_set_zero_points_v2(attr, arg, mask, group_ndims, group_dims, data_type, 0));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_zero_points_mask(dnnl_tp_primitive_attr_t attr, int arg,
                                                             int mask) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_zero_points(attr, arg, mask, 0, NULL, dnnl_tp_s32));
}

/* ---- What no primitive takes -------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_primitive_attr_set_precomputed_reductions(dnnl_tp_primitive_attr_t attr, int arg,
                                                                   int mask, int group_ndims,
                                                                   const dnnl_tp_dims_t group_dims,
                                                                   dnnl_tp_data_type_t data_type) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(arg == DNNL_TP_ARG_SRC, BAD_ARG, "argument %d, not SRC", arg);
    DTP_REQUIRE(data_type == dnnl_tp_s32, BAD_DATA_TYPE, "reductions are s32, not %s",
                dnnl_tp_dt2str(data_type));
    dtp_quant_t q;
    DTP_TRY(make_quant(&q, arg, mask, group_ndims, group_dims, data_type, 0));
    attr->refused.reductions = q;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_rounding(dnnl_tp_primitive_attr_t attr, int arg,
                                                     dnnl_tp_rounding_mode_t mode) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(arg == DNNL_TP_ARG_DST || arg == DNNL_TP_ARG_DIFF_SRC || arg == DNNL_TP_ARG_DIFF_WEIGHTS,
                BAD_ARG, "argument %d is no result", arg);
    DTP_REQUIRE(mode == dnnl_tp_rounding_mode_environment || mode == dnnl_tp_rounding_mode_stochastic,
                BAD_ENUM, "rounding mode %d", (int)mode);
    int *list = attr->refused.stochastic, n = 0;
    for (int i = 0; list[i]; ++i)
        if (list[i] != arg) list[n++] = list[i];
    if (mode == dnnl_tp_rounding_mode_stochastic) list[n++] = arg;
    list[n] = 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_rounding(dnnl_tp_primitive_attr_t attr, int arg,
                                                     dnnl_tp_rounding_mode_t *mode) {
    DTP_OUT(mode, dnnl_tp_rounding_mode_environment);
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    for (const int *a = attr->refused.stochastic; *a; ++a)
        if (*a == arg) *mode = dnnl_tp_rounding_mode_stochastic;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_dropout_v2(dnnl_tp_primitive_attr_t attr,
                                                       const_dnnl_tp_memory_desc_t mask_desc,
                                                       dnnl_tp_data_type_t seed_dt, int use_offset,
                                                       int use_host_scalars) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE(mask_desc, NULL_ARG, "mask_desc");
    DTP_REQUIRE(seed_dt == dnnl_tp_s32 || seed_dt == dnnl_tp_s64, BAD_DATA_TYPE,
                "a seed is s32 or s64, not %s", dnnl_tp_dt2str(seed_dt));
    attr->refused.dropout = 1;
    attr->refused.dropout_mask = *mask_desc;
    attr->refused.dropout_seed = seed_dt;
    attr->refused.dropout_offset = use_offset != 0;
    attr->refused.dropout_on_host = use_host_scalars != 0;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_dropout(dnnl_tp_primitive_attr_t attr,
                                                    const_dnnl_tp_memory_desc_t mask_desc) {
    DTP_RETURN(dnnl_tp_primitive_attr_set_dropout_v2(attr, mask_desc, dnnl_tp_s32, 0, 0));
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_dropout_v2(const_dnnl_tp_primitive_attr_t attr,
                                                       const_dnnl_tp_memory_desc_t *mask_desc,
                                                       dnnl_tp_data_type_t *seed_dt, int *use_offset,
                                                       int *use_host_scalars) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    if (mask_desc) *mask_desc = &attr->refused.dropout_mask;
    if (seed_dt) *seed_dt = attr->refused.dropout_seed;
    if (use_offset) *use_offset = attr->refused.dropout_offset;
    if (use_host_scalars) *use_host_scalars = attr->refused.dropout_on_host;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_attr_get_dropout(const_dnnl_tp_primitive_attr_t attr,
                                                    const_dnnl_tp_memory_desc_t *mask_desc) {
    DTP_REQUIRE(mask_desc, NULL_ARG, "mask_desc");
    DTP_RETURN(dnnl_tp_primitive_attr_get_dropout_v2(attr, mask_desc, NULL, NULL, NULL));
}

/* ---- Post-operations --------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_primitive_attr_get_post_ops(const_dnnl_tp_primitive_attr_t attr,
                                                     const_dnnl_tp_post_ops_t *post_ops) {
    DTP_GET(post_ops, NULL, attr, DTP_OBJ_ATTR, attr->post_ops);
}

dnnl_tp_status_t dnnl_tp_primitive_attr_set_post_ops(dnnl_tp_primitive_attr_t attr,
                                                     const_dnnl_tp_post_ops_t post_ops) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ATTR);
    DTP_REQUIRE_HANDLE(post_ops, DTP_OBJ_POST_OPS);
    dtp_post_ops_t *copy;
    DTP_TRY(dtp_post_ops_copy(attr->obj.allocator, &copy, post_ops));
    dtp_object_release(attr->post_ops);
    attr->post_ops = copy;
    return dnnl_tp_success;
}
