/* Products of f64, s64 and s32, which have no micro-kernels: plain layouts, batches that broadcast, bias. Sums of f64 run
 * in the order of k; integers wrap. */
#include "common/problems/matmul.h"
#include "common/primitive/primitive_desc.h"
#include "cpu/gemm/exact_product.h"
#include "threading/base/parallel.h"

typedef struct {
    dtp_exact_product_fn_t *block;
    int64_t size, m, n, k, rows, blocks; /* rows of a block; blocks of a matrix */
    int64_t units, grain;
} plan_t;

static dnnl_tp_status_t matmul_exact_pd_init(dtp_pd_t *pd) {
    dtp_matmul_desc_t *d = (dtp_matmul_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const dnnl_tp_data_type_t type = d->src.data_type;
    const bool has_bias = !dtp_md_is_zero(&d->bia);
    DTP_DISPATCH(type == dnnl_tp_f64 || type == dnnl_tp_s64 || type == dnnl_tp_s32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->wei.data_type == type && d->dst.data_type == type &&
                     (!has_bias || d->bia.data_type == type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    dtp_md_t *const md[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (size_t i = 0; i < sizeof md / sizeof *md; ++i) {
        if (dtp_md_is_zero(md[i])) continue;
        if (dtp_md_is_any(md[i])) dtp_md_make_plain(md[i]);
        DTP_DISPATCH(dtp_md_is_plain(md[i]) && !dtp_md_has_runtime(md[i]), UNSUPPORTED_LAYOUT);
    }
    const int nd = d->dst.ndims;
    DTP_DISPATCH(d->dst.strides[nd - 1] == 1 || d->dst.dims[nd - 1] == 1, UNSUPPORTED_LAYOUT);
    const dtp_exact_product_fns_t *fns =
        DTP_BY_ISA(dtp_pd_isa(pd), &dtp_exact_product, &dtp_exact_product__portable);
    p->block = type == dnnl_tp_f64 ? fns->f64 : type == dnnl_tp_s64 ? fns->s64 : fns->s32;
    p->size = (int64_t)dtp_type_size(type);
    p->m = d->dst.dims[nd - 2];
    p->n = d->dst.dims[nd - 1];
    p->k = d->src.dims[nd - 1];
    const int64_t most_rows = 128; /* of which parts stay in the first cache */
    const int64_t each = dtp_round_up(dtp_div_up(p->m, pd->num_threads), DTP_EXACT_ROWS);
    p->rows = dtp_max64(DTP_EXACT_ROWS, dtp_min64(most_rows, each));
    p->blocks = dtp_div_up(p->m, p->rows);
    p->units = p->blocks;
    for (int i = 0; i < nd - 2; ++i) p->units *= d->dst.dims[i];
    const double product_ns = .1;
    p->grain = dtp_grain(20 + product_ns * (double)p->rows * (double)p->n * (double)p->k);
    return dnnl_tp_success;
}

/* Of the matrix with these batch coordinates; dimensions of one element are repeated. */
static int64_t place(const dtp_md_t *md, const int64_t *at) {
    int64_t offset = md->offset0;
    for (int i = 0; i < md->ndims - 2; ++i) offset += md->dims[i] == 1 ? 0 : at[i] * md->strides[i];
    return offset;
}

static void exact_units(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    const dtp_matmul_desc_t *d = (const dtp_matmul_desc_t *)j->pd->op;
    const int nd = d->dst.ndims, row = nd - 2, col = nd - 1;
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        dnnl_tp_dims_t at;
        int64_t rest = u / p->blocks;
        const int64_t first = u % p->blocks * p->rows;
        for (int i = nd - 3; i >= 0; --i) {
            at[i] = rest % d->dst.dims[i];
            rest /= d->dst.dims[i];
        }
        const dtp_exact_product_block_t t = {
            .a = (const char *)j->ctx->ptr[DTP_MATMUL_SRC] +
                 (place(&d->src, at) + first * d->src.strides[row]) * p->size,
            .b = (const char *)j->ctx->ptr[DTP_MATMUL_WEI] + place(&d->wei, at) * p->size,
            .dst = (char *)j->ctx->ptr[DTP_MATMUL_DST] +
                   (place(&d->dst, at) + first * d->dst.strides[row]) * p->size,
            .rows = dtp_min64(p->rows, p->m - first),
            .k = p->k,
            .cols = p->n,
            .a_row = d->src.strides[row],
            .a_k = d->src.strides[col],
            .b_k = d->wei.strides[row],
            .b_col = d->wei.strides[col],
            .dst_row = d->dst.strides[row],
        };
        const bool has_bias = !dtp_md_is_zero(&d->bia), is_dense = t.dst_row == p->n;
        if (is_dense && !has_bias) memset(t.dst, 0, (size_t)(t.rows * p->n * p->size));
        for (int64_t r = is_dense && !has_bias ? t.rows : 0; r < t.rows; ++r) {
            char *to = t.dst + r * t.dst_row * p->size;
            memset(to, 0, (size_t)(p->n * p->size));
            if (!has_bias) continue;
            const int64_t r_step = d->bia.dims[row] == 1 ? 0 : d->bia.strides[row],
                          c_step = d->bia.dims[col] == 1 ? 0 : d->bia.strides[col];
            const char *bias = (const char *)j->ctx->ptr[DTP_MATMUL_BIA] +
                               (place(&d->bia, at) + (first + r) * r_step) * p->size;
            for (int64_t c = 0; c < p->n; ++c)
                memcpy(to + c * p->size, bias + c * c_step * p->size, (size_t)p->size);
        }
        p->block(&t);
    }
}

static dnnl_tp_status_t matmul_exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    if (p->n > 0) dtp_parallel_for(ctx->par, p->units, p->grain, exact_units, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(matmul_exact, "exact", .plan_size = sizeof(plan_t), .pd_init = matmul_exact_pd_init,
                      .execute = matmul_exact_execute);
