/* Problems, one struct per primitive kind, and the field tables from which serialiser (cache key), equality
 * and verbose text are generated. A field that is not in its table does not exist for the cache: add it
 * there. */
#ifndef DTP_COMMON_PRIMITIVE_OP_DESC_H
#define DTP_COMMON_PRIMITIVE_OP_DESC_H

#include "common/layout/memory_desc.h"

/* First member of every problem. */
typedef struct {
    dnnl_tp_primitive_kind_t kind;
} dtp_op_desc_t;

typedef struct {
    dtp_op_desc_t base;
    dtp_md_t src, wei, bia, dst; /* bia may be zero */
    int rows_vary; /* weights of format any serve products of other numbers of rows, too: graphs */
} dtp_matmul_desc_t;
enum { DTP_MATMUL_SRC, DTP_MATMUL_WEI, DTP_MATMUL_BIA, DTP_MATMUL_DST, DTP_MATMUL_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dtp_md_t src, wei, bia, dst;
} dtp_inner_product_desc_t;
enum { DTP_IP_SRC, DTP_IP_WEI, DTP_IP_BIA, DTP_IP_DST, DTP_IP_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int axis;
    dtp_md_t src, dst;
} dtp_softmax_desc_t;
enum { DTP_SOFTMAX_SRC, DTP_SOFTMAX_DST, DTP_SOFTMAX_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    unsigned flags; /* dnnl_tp_normalization_flags_t */
    float epsilon;
    dtp_md_t src, dst, stat; /* stat: ndims-1, f32 */
    dtp_md_t scale, shift;   /* 1-D; zero when the flag is off */
} dtp_layer_norm_desc_t;
enum {
    DTP_LNORM_SRC,
    DTP_LNORM_DST,
    DTP_LNORM_MEAN,
    DTP_LNORM_VARIANCE,
    DTP_LNORM_SCALE,
    DTP_LNORM_SHIFT,
    DTP_LNORM_NARGS
};

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;
    dtp_md_t src, dst;
} dtp_eltwise_desc_t;
enum { DTP_ELTWISE_SRC, DTP_ELTWISE_DST, DTP_ELTWISE_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_alg_kind_t alg;
    dtp_md_t src0, src1, src2, dst; /* src2: select only */
} dtp_binary_desc_t;
enum { DTP_BINARY_SRC0, DTP_BINARY_SRC1, DTP_BINARY_SRC2, DTP_BINARY_DST, DTP_BINARY_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_alg_kind_t alg;
    float p, eps;
    dtp_md_t src, dst;
} dtp_reduction_desc_t;
enum { DTP_REDUCTION_SRC, DTP_REDUCTION_DST, DTP_REDUCTION_NARGS };

typedef struct {
    dtp_op_desc_t base;
    dtp_md_t src, dst;
} dtp_reorder_desc_t;
enum { DTP_REORDER_SRC, DTP_REORDER_DST, DTP_REORDER_NARGS };

/* Dense order: dst, then the sources. */
typedef struct {
    dtp_op_desc_t base;
    int axis, n;
    dtp_md_t dst;
    dtp_md_t src[]; /* n */
} dtp_concat_desc_t;
enum { DTP_CONCAT_DST, DTP_CONCAT_SRC };

typedef struct {
    dtp_op_desc_t base;
    int n;
    dtp_md_t dst;
    dtp_md_t src[]; /* n, followed by float scales[n] */
} dtp_sum_desc_t;
enum { DTP_SUM_DST, DTP_SUM_SRC };
static inline float *dtp_sum_scales(const dtp_sum_desc_t *d) { return (float *)(uintptr_t)&d->src[d->n]; }

/* ---- Internal kinds: reachable from graphs only ------------------------------------------------------ */

/* Algorithm of eltwise that only graphs reach: erf(s). */
#define DTP_ELTWISE_ERF ((dnnl_tp_alg_kind_t)0x10001)

enum { DTP_KIND_GATHER = 0x10000, DTP_KIND_ATTENTION = 0x10007, DTP_KIND_POOL_NORMALIZE = 0x10008 };

/* dst[i, :] = table[ids[i], :] (post-op sum adds to the old dst instead). An id outside the table:
 * runtime_error, reason GRAPH_INDEX. */
typedef struct {
    dtp_op_desc_t base;
    dtp_md_t table, ids, dst; /* {V, H}; {n} s32 or s64; {n, H} */
} dtp_gather_desc_t;
enum { DTP_GATHER_TABLE, DTP_GATHER_IDS, DTP_GATHER_DST, DTP_GATHER_NARGS };

/* Attention per head, see dnnl_tp_op_attention. q, k, v, dst: {B, S, heads * d} or {T, heads * d}, last dim
 * dense, the other strides free (views into one fused projection). mask {B, S} additive f32 or zero; offsets
 * {n + 1} s32 or zero. ctx->rows counts sequences: q, k, v, dst and mask point at the first of them in the
 * {B, S} form; in the packed form only the offsets pointer does (offsets are absolute rows). */
typedef struct {
    dtp_op_desc_t base;
    int heads;
    float scale;
    dtp_md_t q, k, v, mask, offsets, dst;
} dtp_attention_desc_t;
enum {
    DTP_ATTENTION_Q,
    DTP_ATTENTION_K,
    DTP_ATTENTION_V,
    DTP_ATTENTION_MASK,
    DTP_ATTENTION_OFFSETS,
    DTP_ATTENTION_DST,
    DTP_ATTENTION_NARGS
};

/* Mean over each sequence, then division by max(L2 norm, epsilon); see dnnl_tp_op_pool_normalize. mask {B, S}
 * f32 or zero, offsets {n + 1} s32 or zero. ctx->rows counts sequences, pointers as for attention; dst is
 * shifted. */
typedef struct {
    dtp_op_desc_t base;
    float epsilon;
    dtp_md_t src, mask, offsets, dst;
} dtp_pool_normalize_desc_t;
enum { DTP_POOLN_SRC, DTP_POOLN_MASK, DTP_POOLN_OFFSETS, DTP_POOLN_DST, DTP_POOLN_NARGS };

/* ---- Field tables ------------------------------------------------------------------------------------ */

typedef enum {
    DTP_FIELD_S32,
    DTP_FIELD_F32,
    DTP_FIELD_MD,
    DTP_FIELD_MD_ARRAY,
    DTP_FIELD_F32_ARRAY
} dtp_field_type_t;
typedef struct {
    const char *name; /* verbose prefix: "src", "alg", ... */
    dtp_field_type_t type;
    size_t offset;
    size_t count_offset; /* arrays: offset of the int that counts; F32_ARRAY follows the last MD_ARRAY */
} dtp_field_t;

/* Execution arguments in dense order. A kind's own arguments come first, at the fixed indices of its
 * enumeration above; then scales, zero points and post-op tensors in attribute order. */
enum { DTP_ARG_INPUT = 1, DTP_ARG_OUTPUT = 2 };
typedef struct {
    int arg;            /* DNNL_TP_ARG_* */
    unsigned flags;     /* DTP_ARG_* */
    const dtp_md_t *md; /* zero descriptor = absent in this problem: the pointer is then ignored */
} dtp_pd_arg_t;

/* One row per kind. */
typedef struct {
    dnnl_tp_primitive_kind_t kind;
    const char *name;
    int nfields;
    int inplace; /* dense index of the source that dst may share memory with; -1 = none */
    const dtp_field_t *fields;
    /* Writes the kind's own arguments to out (NULL = only count); returns their number. The descriptors point
     * into op. */
    int (*args)(const dtp_op_desc_t *op, dtp_pd_arg_t *out);
} dtp_op_info_t;

/* Checked matmul problem; bia may be NULL or zero. */
dnnl_tp_status_t dtp_matmul_init(dtp_matmul_desc_t *d, const dtp_md_t *src, const dtp_md_t *wei,
                                 const dtp_md_t *bia, const dtp_md_t *dst);
/* Actual descriptors at execution, by dense index: do the run-time dims fit each other? */
dnnl_tp_status_t dtp_matmul_check_runtime(const dtp_md_t *const *md);

const dtp_op_info_t *dtp_op_info(dnnl_tp_primitive_kind_t kind);

/* Appends bytes to a key; grows with the process allocator. */
typedef struct {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
    uint8_t room[512];
} dtp_bytes_t;
void dtp_bytes_init(dtp_bytes_t *b);
void dtp_bytes_put(dtp_bytes_t *b, const void *data, size_t size);
void dtp_bytes_free(dtp_bytes_t *b);
void dtp_op_serialise(dtp_bytes_t *b, const dtp_op_desc_t *op);
void dtp_md_serialise(dtp_bytes_t *b, const dtp_md_t *md);

#endif
