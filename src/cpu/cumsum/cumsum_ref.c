/* Reference of running sums: any layout and type, one line after the other. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/cumsum.h"

static bool is_integer(dnnl_tp_data_type_t dt) { return dt == dnnl_tp_s32 || dt == dnnl_tp_s64; }

static dnnl_tp_status_t cumsum_ref_pd_init(dtp_pd_t *pd) {
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    const dnnl_tp_data_type_t dt = d->src.data_type;
    DTP_DISPATCH(dt == d->dst.data_type, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(is_integer(dt) || dt == dnnl_tp_f64 || dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 ||
                     dt == dnnl_tp_f16,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static uint64_t load_whole(dnnl_tp_data_type_t dt, const void *data, int64_t i) {
    return dt == dnnl_tp_s32 ? (uint64_t)((const int32_t *)data)[i] : ((const uint64_t *)data)[i];
}

static dnnl_tp_status_t cumsum_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_cumsum_desc_t *d = (const dtp_cumsum_desc_t *)pd->op;
    const dnnl_tp_data_type_t dt = d->src.data_type;
    const void *src = ctx->ptr[DTP_CUMSUM_SRC];
    void *dst = ctx->ptr[DTP_CUMSUM_DST];
    const int64_t *dims = d->src.dims, n = dims[1];
    for (int64_t line = 0; line < dims[0] * dims[2]; ++line) {
        double sum = 0;
        uint64_t whole = 0;
        for (int64_t i = 0; i < n; ++i) {
            const dnnl_tp_dims_t at = {line / dims[2], d->reverse ? n - 1 - i : i, line % dims[2]};
            const int64_t from = dtp_md_offset(&d->src, at), to = dtp_md_offset(&d->dst, at);
            const double before = sum;
            const uint64_t whole_before = whole;
            if (is_integer(dt)) whole += load_whole(dt, src, from);
            else sum += dtp_load(dt, src, from);
            const uint64_t w = d->exclusive ? whole_before : whole;
            if (dt == dnnl_tp_s32) ((uint32_t *)dst)[to] = (uint32_t)w;
            else if (dt == dnnl_tp_s64) ((uint64_t *)dst)[to] = w;
            else dtp_store(dt, dst, to, d->exclusive ? before : sum);
        }
    }
    dtp_zero_pad(&d->dst, dst);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(cumsum, 0, .pd_init = cumsum_ref_pd_init, .execute = cumsum_ref_execute);
