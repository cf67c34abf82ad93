/* Concat: argument checks and tables and the derived destination. */
#include "common/problems/concat.h"

#include "common/primitive/kind_checks.h"

#define MAX_SOURCES 112 /* bounded by the execution's argument array */

dnnl_tp_status_t dnnl_tp_concat_primitive_desc_create(dnnl_tp_primitive_desc_t *primitive_desc,
                                                      dnnl_tp_engine_t engine,
                                                      const_dnnl_tp_memory_desc_t dst_desc, int n,
                                                      int concat_dimension,
                                                      const_dnnl_tp_memory_desc_t const *src_descs,
                                                      const_dnnl_tp_primitive_attr_t attr) {
    DTP_TRY(dtp_check_create(primitive_desc, engine, attr));
    DTP_REQUIRE(n >= 1, BAD_COUNT, "%d sources", n);
    DTP_REQUIRE(src_descs, NULL_ARG, "src_descs");
    for (int i = 0; i < n; ++i) DTP_TRY(dtp_check_md(src_descs[i], "a source", false));
    const dtp_md_t *first = src_descs[0];
    DTP_REQUIRE(concat_dimension >= 0 && concat_dimension < first->ndims, BAD_AXIS,
                "axis %d is outside 0..%d", concat_dimension, first->ndims - 1);
    int64_t total = 0;
    for (int i = 0; i < n; ++i) {
        const dtp_md_t *s = src_descs[i];
        DTP_REQUIRE(s->ndims == first->ndims, NDIMS_MISMATCH, "source %d has %d, source 0 has %d", i,
                    s->ndims, first->ndims);
        DTP_REQUIRE(s->data_type == first->data_type, DATA_TYPE_MISMATCH, "source %d is %s, source 0 is %s",
                    i, dnnl_tp_dt2str(s->data_type), dnnl_tp_dt2str(first->data_type));
        DTP_TRY(dtp_check_static(s, "a source"));
        for (int d = 0; d < s->ndims; ++d)
            DTP_REQUIRE(d == concat_dimension || s->dims[d] == first->dims[d], DIMS_MISMATCH,
                        "dimension %d of source %d is %lld, source 0 has %lld", d, i, (long long)s->dims[d],
                        (long long)first->dims[d]);
        total += s->dims[concat_dimension];
    }
    dtp_md_t dst;
    if (dtp_md_is_zero(dst_desc)) {
        dnnl_tp_dims_t dims;
        memcpy(dims, first->dims, sizeof dims);
        dims[concat_dimension] = total;
        DTP_TRY(dtp_md_init_tag(&dst, first->ndims, dims, first->data_type, dnnl_tp_format_tag_any));
    } else {
        dst = *dst_desc;
        DTP_REQUIRE(dst.ndims == first->ndims, NDIMS_MISMATCH, "dst has %d, sources have %d", dst.ndims,
                    first->ndims);
        for (int d = 0; d < dst.ndims; ++d) {
            int64_t want = d == concat_dimension ? total : first->dims[d];
            DTP_REQUIRE(dst.dims[d] == want, DIMS_MISMATCH, "dimension %d of dst is %lld, needed is %lld", d,
                        (long long)dst.dims[d], (long long)want);
        }
    }
    if (n > MAX_SOURCES)
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SHAPE, "%d sources, at most %d", n, MAX_SOURCES));
    size_t size = sizeof(dtp_concat_desc_t) + sizeof(dtp_md_t) * (size_t)n;
    dtp_concat_desc_t *op = dtp_zalloc(NULL, size, 16);
    if (!op) DTP_RETURN(dtp_no_memory(size));
    op->base.kind = dnnl_tp_concat;
    op->axis = concat_dimension;
    op->n = n;
    op->dst = dst;
    for (int i = 0; i < n; ++i) op->src[i] = *src_descs[i];
    dnnl_tp_status_t status = dtp_pd_create(primitive_desc, engine, &op->base, size, attr);
    dtp_free(NULL, op);
    DTP_RETURN(status);
}

/* ---- Tables ------------------------------------------------------------------------------------------- */

static const dtp_field_t concat_fields[] = {DTP_FIELD(dtp_concat_desc_t, axis, S32),
                                            DTP_FIELD(dtp_concat_desc_t, n, S32),
                                            DTP_OUTPUT(dtp_concat_desc_t, dst, DNNL_TP_ARG_DST),
                                            DTP_INPUTS(dtp_concat_desc_t, src, n, DNNL_TP_ARG_MULTIPLE_SRC)};

static const dtp_attr_rules_t concat_attr = {.scales = {{DNNL_TP_ARG_MULTIPLE_SRC, DTP_MASK_COMMON}}};
DTP_KIND_INFO(concat, -1, &concat_attr, NULL, .single = true);
