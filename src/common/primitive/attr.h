/* Primitive attributes and post-operation chains. */
#ifndef DTP_COMMON_PRIMITIVE_ATTR_H
#define DTP_COMMON_PRIMITIVE_ATTR_H

#include "common/base/elementwise.h"
#include "common/layout/memory_desc.h"
#include "common/base/object.h"

#define DTP_MAX_POST_OPS 32

/* One post-operation on a value x of the destination. */
typedef struct {
    dnnl_tp_primitive_kind_t kind; /* eltwise, binary, sum, prelu or convolution */
    dnnl_tp_alg_kind_t alg;        /* eltwise, binary */
    float alpha, beta;             /* eltwise */
    float scale;                   /* sum: x += scale * (old dst - zero_point) */
    int32_t zero_point;            /* sum */
    dnnl_tp_data_type_t sum_dt;    /* sum: type the old dst is read as; undef = dst's */
    int mask;                      /* prelu: dims of dst that the weights follow */
    dtp_md_t src1;                 /* binary: broadcast to dst; prelu: the weights, once dst is known */
    dtp_md_t src2;                 /* binary select: condition, s8 */
    struct {
        dnnl_tp_data_type_t wei, bia, dst;
        int64_t kernel, stride, padding;
    } depthwise; /* convolution: no primitive takes it */
} dtp_post_op_t;

struct dnnl_tp_post_ops {
    dtp_object_t obj;
    int len, capacity;
    dtp_post_op_t *entry; /* owned */
};

/* Scale or zero point of one argument. */
typedef struct {
    int arg;
    int mask;
    int group_ndims;
    int64_t groups[2];
    dnnl_tp_data_type_t data_type;
    int on_host; /* a host scalar */
    int dynamic; /* scales that the primitive computes: refused */
} dtp_quant_t;
#define DTP_MAX_QUANT 16

/* What a program may set and no primitive takes. */
typedef struct {
    dtp_md_t dropout_mask; /* zero where none is written */
    int dropout, dropout_offset, dropout_on_host;
    dnnl_tp_data_type_t dropout_seed;
    int stochastic[4];      /* arguments that are rounded by chance; 0: none */
    dtp_quant_t reductions; /* arg 0: none */
} dtp_attr_refused_t;

struct dnnl_tp_primitive_attr {
    dtp_object_t obj;
    dnnl_tp_scratchpad_mode_t scratchpad_mode;
    dnnl_tp_fpmath_mode_t fpmath_mode;
    int fpmath_apply_to_int;
    dnnl_tp_accumulation_mode_t acc_mode;
    int deterministic;
    int refuse_reference;
    int num_threads;      /* 0 = unset */
    uint64_t pool_flags;  /* of the stream attribute that was given */
    int pool_num_threads; /* 0 = no stream attribute was given */
    dtp_attr_refused_t refused;
    struct dnnl_tp_post_ops *post_ops; /* owned, never NULL */
    int n_scales, n_zero_points;
    /* Sorted by arg; no memory in a fixed copy without any. */
    dtp_quant_t scales[DTP_MAX_QUANT], zero_points[DTP_MAX_QUANT];
};
typedef struct dnnl_tp_primitive_attr dtp_attr_t;
typedef struct dnnl_tp_post_ops dtp_post_ops_t;

/* Deep copy; NULL existing = defaults. is_fixed: nothing will set scales and zero points of the copy. */
dnnl_tp_status_t dtp_attr_copy(const dnnl_tp_allocator_t *allocator, dtp_attr_t **attr,
                               const dtp_attr_t *existing, bool is_fixed);
const dtp_quant_t *dtp_attr_scale(const dtp_attr_t *attr, int arg);      /* NULL when unset */
const dtp_quant_t *dtp_attr_zero_point(const dtp_attr_t *attr, int arg); /* NULL when unset */

dnnl_tp_status_t dtp_post_ops_copy(const dnnl_tp_allocator_t *allocator, dtp_post_ops_t **out,
                                   const dtp_post_ops_t *in);
/* As dnnl_tp_post_ops_append_binary_v2 with checked arguments; the algorithm may be one that only graphs have. src2: NULL unless
 * select needs it. */
dnnl_tp_status_t dtp_post_ops_append_binary(dtp_post_ops_t *post_ops, dnnl_tp_alg_kind_t alg,
                                            const dtp_md_t *src1, const dtp_md_t *src2);
/* Algorithm and parameters of an element-wise operation, as a post-op or a primitive. */
dnnl_tp_status_t dtp_eltwise_check(dnnl_tp_alg_kind_t alg, float alpha, float beta);

/* What of an attribute an implementation takes; dtp_attr_only() is false when anything else is set. */
enum { DTP_ATTR_POST_OPS = 1, DTP_ATTR_SCALES = 2, DTP_ATTR_ZERO_POINTS = 4 };
bool dtp_attr_only(const dtp_attr_t *attr, unsigned allowed);

#endif
