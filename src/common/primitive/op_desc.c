/* Field tables of the problems and what is generated from them: cache keys. Verbose text is in
 * verbose_text.c. */
#include "common/primitive/op_desc.h"

#include "common/base/base.h"

#define FIELD(type, member, kind) \
    { #member, DTP_FIELD_##kind, offsetof(type, member), 0 }
#define ARRAY(type, member, kind, count) \
    { #member, DTP_FIELD_##kind, offsetof(type, member), offsetof(type, count) }
#define PUT(i, number, direction, desc)                            \
    do {                                                           \
        if (out) out[i] = (dtp_pd_arg_t){number, direction, desc}; \
    } while (0)
#define IN DTP_ARG_INPUT
#define OUT DTP_ARG_OUTPUT

static const dtp_field_t matmul_fields[] = {
    FIELD(dtp_matmul_desc_t, src, MD), FIELD(dtp_matmul_desc_t, wei, MD), FIELD(dtp_matmul_desc_t, bia, MD),
    FIELD(dtp_matmul_desc_t, dst, MD), FIELD(dtp_matmul_desc_t, rows_vary, S32)};
static int matmul_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)op;
    PUT(DTP_MATMUL_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_MATMUL_WEI, DNNL_TP_ARG_WEIGHTS, IN, &d->wei);
    PUT(DTP_MATMUL_BIA, DNNL_TP_ARG_BIAS, IN, &d->bia);
    PUT(DTP_MATMUL_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_MATMUL_NARGS;
}

static const dtp_field_t inner_product_fields[] = {
    FIELD(dtp_inner_product_desc_t, prop, S32), FIELD(dtp_inner_product_desc_t, src, MD),
    FIELD(dtp_inner_product_desc_t, wei, MD), FIELD(dtp_inner_product_desc_t, bia, MD),
    FIELD(dtp_inner_product_desc_t, dst, MD)};
static int inner_product_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_inner_product_desc_t *d = (const dtp_inner_product_desc_t *)op;
    PUT(DTP_IP_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_IP_WEI, DNNL_TP_ARG_WEIGHTS, IN, &d->wei);
    PUT(DTP_IP_BIA, DNNL_TP_ARG_BIAS, IN, &d->bia);
    PUT(DTP_IP_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_IP_NARGS;
}

static const dtp_field_t softmax_fields[] = {
    FIELD(dtp_softmax_desc_t, prop, S32), FIELD(dtp_softmax_desc_t, alg, S32),
    FIELD(dtp_softmax_desc_t, axis, S32), FIELD(dtp_softmax_desc_t, src, MD),
    FIELD(dtp_softmax_desc_t, dst, MD)};
static int softmax_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_softmax_desc_t *d = (const dtp_softmax_desc_t *)op;
    PUT(DTP_SOFTMAX_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_SOFTMAX_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_SOFTMAX_NARGS;
}

static const dtp_field_t layer_norm_fields[] = {
    FIELD(dtp_layer_norm_desc_t, prop, S32),    FIELD(dtp_layer_norm_desc_t, flags, S32),
    FIELD(dtp_layer_norm_desc_t, epsilon, F32), FIELD(dtp_layer_norm_desc_t, src, MD),
    FIELD(dtp_layer_norm_desc_t, dst, MD),      FIELD(dtp_layer_norm_desc_t, stat, MD),
    FIELD(dtp_layer_norm_desc_t, scale, MD),    FIELD(dtp_layer_norm_desc_t, shift, MD)};
static int layer_norm_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_layer_norm_desc_t *d = (const dtp_layer_norm_desc_t *)op;
    bool in = d->flags & dnnl_tp_use_global_stats, stats = in || d->prop == dnnl_tp_forward_training;
    bool mean = stats && !(d->flags & dnnl_tp_rms_norm);
    PUT(DTP_LNORM_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_LNORM_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    PUT(DTP_LNORM_MEAN, DNNL_TP_ARG_MEAN, in ? IN : OUT, mean ? &d->stat : &dtp_md_zero);
    PUT(DTP_LNORM_VARIANCE, DNNL_TP_ARG_VARIANCE, in ? IN : OUT, stats ? &d->stat : &dtp_md_zero);
    PUT(DTP_LNORM_SCALE, DNNL_TP_ARG_SCALE, IN, &d->scale);
    PUT(DTP_LNORM_SHIFT, DNNL_TP_ARG_SHIFT, IN, &d->shift);
    return DTP_LNORM_NARGS;
}

static const dtp_field_t eltwise_fields[] = {
    FIELD(dtp_eltwise_desc_t, prop, S32),  FIELD(dtp_eltwise_desc_t, alg, S32),
    FIELD(dtp_eltwise_desc_t, alpha, F32), FIELD(dtp_eltwise_desc_t, beta, F32),
    FIELD(dtp_eltwise_desc_t, src, MD),    FIELD(dtp_eltwise_desc_t, dst, MD)};
static int eltwise_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_eltwise_desc_t *d = (const dtp_eltwise_desc_t *)op;
    PUT(DTP_ELTWISE_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_ELTWISE_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_ELTWISE_NARGS;
}

static const dtp_field_t binary_fields[] = {
    FIELD(dtp_binary_desc_t, alg, S32), FIELD(dtp_binary_desc_t, src0, MD),
    FIELD(dtp_binary_desc_t, src1, MD), FIELD(dtp_binary_desc_t, src2, MD),
    FIELD(dtp_binary_desc_t, dst, MD)};
static int binary_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_binary_desc_t *d = (const dtp_binary_desc_t *)op;
    PUT(DTP_BINARY_SRC0, DNNL_TP_ARG_SRC_0, IN, &d->src0);
    PUT(DTP_BINARY_SRC1, DNNL_TP_ARG_SRC_1, IN, &d->src1);
    PUT(DTP_BINARY_SRC2, DNNL_TP_ARG_SRC_2, IN, &d->src2);
    PUT(DTP_BINARY_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_BINARY_NARGS;
}

static const dtp_field_t reduction_fields[] = {
    FIELD(dtp_reduction_desc_t, alg, S32), FIELD(dtp_reduction_desc_t, p, F32),
    FIELD(dtp_reduction_desc_t, eps, F32), FIELD(dtp_reduction_desc_t, src, MD),
    FIELD(dtp_reduction_desc_t, dst, MD)};
static int reduction_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_reduction_desc_t *d = (const dtp_reduction_desc_t *)op;
    PUT(DTP_REDUCTION_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_REDUCTION_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_REDUCTION_NARGS;
}

static const dtp_field_t reorder_fields[] = {FIELD(dtp_reorder_desc_t, src, MD),
                                             FIELD(dtp_reorder_desc_t, dst, MD)};
static int reorder_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_reorder_desc_t *d = (const dtp_reorder_desc_t *)op;
    PUT(DTP_REORDER_SRC, DNNL_TP_ARG_FROM, IN, &d->src);
    PUT(DTP_REORDER_DST, DNNL_TP_ARG_TO, OUT, &d->dst);
    return DTP_REORDER_NARGS;
}

static const dtp_field_t concat_fields[] = {
    FIELD(dtp_concat_desc_t, axis, S32), FIELD(dtp_concat_desc_t, n, S32), FIELD(dtp_concat_desc_t, dst, MD),
    ARRAY(dtp_concat_desc_t, src, MD_ARRAY, n)};
static int concat_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_concat_desc_t *d = (const dtp_concat_desc_t *)op;
    PUT(DTP_CONCAT_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    for (int i = 0; i < d->n; ++i) PUT(DTP_CONCAT_SRC + i, DNNL_TP_ARG_MULTIPLE_SRC + i, IN, &d->src[i]);
    return DTP_CONCAT_SRC + d->n;
}

static const dtp_field_t sum_fields[] = {FIELD(dtp_sum_desc_t, n, S32), FIELD(dtp_sum_desc_t, dst, MD),
                                         ARRAY(dtp_sum_desc_t, src, MD_ARRAY, n),
                                         ARRAY(dtp_sum_desc_t, src, F32_ARRAY, n)};
static int sum_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_sum_desc_t *d = (const dtp_sum_desc_t *)op;
    PUT(DTP_SUM_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    for (int i = 0; i < d->n; ++i) PUT(DTP_SUM_SRC + i, DNNL_TP_ARG_MULTIPLE_SRC + i, IN, &d->src[i]);
    return DTP_SUM_SRC + d->n;
}

static const dtp_field_t gather_fields[] = {FIELD(dtp_gather_desc_t, table, MD),
                                            FIELD(dtp_gather_desc_t, ids, MD),
                                            FIELD(dtp_gather_desc_t, dst, MD)};
static int gather_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_gather_desc_t *d = (const dtp_gather_desc_t *)op;
    PUT(DTP_GATHER_TABLE, DNNL_TP_ARG_WEIGHTS, IN, &d->table);
    PUT(DTP_GATHER_IDS, DNNL_TP_ARG_SRC, IN, &d->ids);
    PUT(DTP_GATHER_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_GATHER_NARGS;
}

static const dtp_field_t attention_fields[] = {
    FIELD(dtp_attention_desc_t, heads, S32),  FIELD(dtp_attention_desc_t, scale, F32),
    FIELD(dtp_attention_desc_t, q, MD),       FIELD(dtp_attention_desc_t, k, MD),
    FIELD(dtp_attention_desc_t, v, MD),       FIELD(dtp_attention_desc_t, mask, MD),
    FIELD(dtp_attention_desc_t, offsets, MD), FIELD(dtp_attention_desc_t, dst, MD)};
static int attention_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_attention_desc_t *d = (const dtp_attention_desc_t *)op;
    PUT(DTP_ATTENTION_Q, DNNL_TP_ARG_SRC_0, IN, &d->q);
    PUT(DTP_ATTENTION_K, DNNL_TP_ARG_SRC_1, IN, &d->k);
    PUT(DTP_ATTENTION_V, DNNL_TP_ARG_SRC_2, IN, &d->v);
    PUT(DTP_ATTENTION_MASK, DNNL_TP_ARG_MULTIPLE_SRC, IN, &d->mask);
    PUT(DTP_ATTENTION_OFFSETS, DNNL_TP_ARG_MULTIPLE_SRC + 1, IN, &d->offsets);
    PUT(DTP_ATTENTION_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_ATTENTION_NARGS;
}

static const dtp_field_t pool_normalize_fields[] = {
    FIELD(dtp_pool_normalize_desc_t, epsilon, F32), FIELD(dtp_pool_normalize_desc_t, src, MD),
    FIELD(dtp_pool_normalize_desc_t, mask, MD), FIELD(dtp_pool_normalize_desc_t, offsets, MD),
    FIELD(dtp_pool_normalize_desc_t, dst, MD)};
static int pool_normalize_args(const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    const dtp_pool_normalize_desc_t *d = (const dtp_pool_normalize_desc_t *)op;
    PUT(DTP_POOLN_SRC, DNNL_TP_ARG_SRC, IN, &d->src);
    PUT(DTP_POOLN_MASK, DNNL_TP_ARG_MULTIPLE_SRC, IN, &d->mask);
    PUT(DTP_POOLN_OFFSETS, DNNL_TP_ARG_MULTIPLE_SRC + 1, IN, &d->offsets);
    PUT(DTP_POOLN_DST, DNNL_TP_ARG_DST, OUT, &d->dst);
    return DTP_POOLN_NARGS;
}

#define COUNT(array) ((int)(sizeof array / sizeof *array))
#define ROW(kind, text, inplace, name) \
    { (dnnl_tp_primitive_kind_t)(kind), text, COUNT(name##_fields), inplace, name##_fields, name##_args }
static const dtp_op_info_t infos[] = {
    ROW(dnnl_tp_matmul, "matmul", -1, matmul),
    ROW(dnnl_tp_inner_product, "inner_product", -1, inner_product),
    ROW(dnnl_tp_softmax, "softmax", DTP_SOFTMAX_SRC, softmax),
    ROW(dnnl_tp_layer_normalization, "layer_normalization", DTP_LNORM_SRC, layer_norm),
    ROW(dnnl_tp_eltwise, "eltwise", DTP_ELTWISE_SRC, eltwise),
    ROW(dnnl_tp_binary, "binary", DTP_BINARY_SRC0, binary),
    ROW(dnnl_tp_reduction, "reduction", -1, reduction),
    ROW(dnnl_tp_reorder, "reorder", -1, reorder),
    ROW(dnnl_tp_concat, "concat", -1, concat),
    ROW(dnnl_tp_sum, "sum", DTP_SUM_SRC, sum),
    ROW(DTP_KIND_GATHER, "gather", -1, gather),
    ROW(DTP_KIND_ATTENTION, "attention", -1, attention),
    ROW(DTP_KIND_POOL_NORMALIZE, "pool_normalize", -1, pool_normalize),
};

const dtp_op_info_t *dtp_op_info(dnnl_tp_primitive_kind_t kind) {
    for (int i = 0; i < COUNT(infos); ++i)
        if (infos[i].kind == kind) return &infos[i];
    return NULL;
}

/* ---- Keys -------------------------------------------------------------------------------------------- */

void dtp_bytes_init(dtp_bytes_t *b) {
    b->data = b->room;
    b->size = 0;
    b->capacity = sizeof b->room;
    b->failed = false;
}

void dtp_bytes_put(dtp_bytes_t *b, const void *data, size_t size) {
    if (b->failed) return;
    if (b->capacity - b->size < size) {
        size_t capacity = 2 * (b->capacity + size);
        uint8_t *grown = dtp_alloc(NULL, capacity, 16);
        if (!grown) {
            b->failed = true;
            return;
        }
        memcpy(grown, b->data, b->size);
        dtp_bytes_free(b);
        b->data = grown;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void dtp_bytes_free(dtp_bytes_t *b) {
    if (b->data != b->room) dtp_free(NULL, b->data);
    b->data = b->room;
}

void dtp_md_serialise(dtp_bytes_t *b, const dtp_md_t *md) {
    int32_t head[4] = {md->ndims, md->data_type, md->format_kind, md->inner_nblks};
    dtp_bytes_put(b, head, sizeof head);
    if (md->ndims == 0) return;
    size_t dims = sizeof(int64_t) * (size_t)md->ndims, blks = sizeof(int64_t) * (size_t)md->inner_nblks;
    dtp_bytes_put(b, md->dims, dims);
    if (md->format_kind != dnnl_tp_blocked) return;
    dtp_bytes_put(b, md->padded_dims, dims);
    dtp_bytes_put(b, md->strides, dims);
    dtp_bytes_put(b, &md->offset0, sizeof md->offset0);
    dtp_bytes_put(b, md->inner_blks, blks);
    dtp_bytes_put(b, md->inner_idxs, blks);
    int64_t extra[3] = {(int64_t)md->extra.flags, md->extra.compensation_mask,
                        md->extra.asymm_compensation_mask};
    dtp_bytes_put(b, extra, sizeof extra);
}

void dtp_op_serialise(dtp_bytes_t *b, const dtp_op_desc_t *op) {
    const dtp_op_info_t *info = dtp_op_info(op->kind);
    dtp_bytes_put(b, &op->kind, sizeof op->kind);
    for (int f = 0; f < info->nfields; ++f) {
        const dtp_field_t *field = &info->fields[f];
        const char *at = (const char *)op + field->offset;
        int n = field->count_offset ? *(const int *)((const char *)op + field->count_offset) : 1;
        switch (field->type) {
        case DTP_FIELD_S32:
        case DTP_FIELD_F32: dtp_bytes_put(b, at, 4); break;
        case DTP_FIELD_MD:
        case DTP_FIELD_MD_ARRAY:
            for (int i = 0; i < n; ++i) dtp_md_serialise(b, (const dtp_md_t *)(const void *)at + i);
            break;
        case DTP_FIELD_F32_ARRAY:
            dtp_bytes_put(b, at + sizeof(dtp_md_t) * (size_t)n, sizeof(float) * (size_t)n);
            break;
        }
    }
}
