/* Sum of several tensors: argument checks and tables and the derived destination. */
#include "common/problems/sum.h"

#include "common/primitive/kind_checks.h"

#define MAX_SOURCES 112 /* bounded by the execution's argument array */

dnnl_tp_status_t dnnl_tp_sum_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                   dnnl_tp_engine_t engine,
                                                   const_dnnl_tp_memory_desc_t dst_desc, int n,
                                                   const float *scales,
                                                   const_dnnl_tp_memory_desc_t const *src_descs,
                                                   const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_REQUIRE(n >= 1, BAD_COUNT, "%d sources", n);
    DTP_REQUIRE(src_descs && scales, NULL_ARG, "src_descs or scales");
    for (int i = 0; i < n; ++i) {
        DTP_TRY(dtp_check_md(src_descs[i], "a source", false));
        DTP_TRY(dtp_check_same_dims(src_descs[i], "a source", src_descs[0], "source 0"));
        DTP_TRY(dtp_check_static(src_descs[i], "a source"));
    }
    dtp_md_t dst;
    if (dtp_md_is_zero(dst_desc)) {
        DTP_TRY(dtp_md_init_tag(&dst, src_descs[0]->ndims, src_descs[0]->dims, src_descs[0]->data_type,
                                dnnl_tp_format_tag_any));
    } else {
        dst = *dst_desc;
        DTP_REQUIRE(!dtp_md_has_runtime(&dst), RUNTIME_NOT_ALLOWED, "dst");
        DTP_TRY(dtp_check_same_dims(&dst, "dst", src_descs[0], "source 0"));
    }
    if (n > MAX_SOURCES)
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SHAPE, "%d sources, at most %d", n, MAX_SOURCES));
    size_t size = sizeof(dtp_sum_desc_t) + (sizeof(dtp_md_t) + sizeof(float)) * (size_t)n;
    dtp_sum_desc_t *op = dtp_zalloc(NULL, size, 16);
    if (!op) DTP_RETURN(dtp_no_memory(size));
    op->base.kind = dnnl_tp_sum;
    op->n = n;
    op->dst = dst;
    for (int i = 0; i < n; ++i) op->src[i] = *src_descs[i];
    memcpy(dtp_sum_scales(op), scales, sizeof(float) * (size_t)n);
    dnnl_tp_status_t status = dtp_pd_create(primitive_desc, engine, &op->base, size, attr);
    dtp_free(NULL, op);
    DTP_RETURN(status);
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t sum_fields[] = {DTP_FIELD(dtp_sum_desc_t, n, S32),
                                         DTP_OUTPUT(dtp_sum_desc_t, dst, DNNL_TP_ARG_DST),
                                         DTP_INPUTS(dtp_sum_desc_t, src, n, DNNL_TP_ARG_MULTIPLE_SRC),
                                         DTP_FIELD_ARRAY(dtp_sum_desc_t, src, F32_ARRAY, n)};

/* A product and a sum for each element of a source. */
static void sum_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    work->flops = 2. * ((const dtp_sum_desc_t *)op)->n * (double)dtp_md_nelems(arg[DTP_SUM_DST].md);
}

static const dtp_attr_rules_t sum_attr = {.post_ops = 0};
DTP_KIND_INFO(sum, DTP_SUM_SRC, &sum_attr, sum_work, .single = true);
