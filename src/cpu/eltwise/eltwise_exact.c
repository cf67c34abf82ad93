/* Element-wise operations in the arithmetic of f64, s64 and boolean, and for graphs of s32, s8 and u8, too: any
 * layouts that have common boxes, as a program of one step (cpu/elementwise/program.h). */
#include "cpu/elementwise/program.h"

#include "common/problems/eltwise.h"

typedef struct {
    dtp_program_t program;
} plan_t;

static dnnl_tp_status_t eltwise_exact_init(dtp_pd_t *pd, unsigned isa) {
    dtp_eltwise_desc_t *d = (dtp_eltwise_desc_t *)pd->op;
    dtp_program_t *m = &((plan_t *)pd->plan)->program;
    const dnnl_tp_data_type_t type = d->src.data_type;
    static const dnnl_tp_dims_t zero;
    DTP_DISPATCH(dtp_ew_arithmetic(type, d->exact) == type && d->dst.data_type == type,
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(type != dnnl_tp_f32 && dtp_ew_takes(d->alg, type), UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_ew_params_fit(type, d->alpha, d->beta), UNSUPPORTED_ALG);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (dtp_md_is_any(&d->dst)) dtp_md_copy_layout(&d->dst, &d->src);
    const dtp_md_t *md[DTP_BOXES_OPS] = {&d->dst, &d->src};
    dtp_program_begin(m, isa, type, DTP_ELTWISE_DST, type, DTP_ELTWISE_SRC);
    dtp_program_exact(m, type);
    DTP_DISPATCH(dtp_program_eltwise(m, d->alg, d->alpha, d->beta), UNSUPPORTED_ALG);
    DTP_DISPATCH(
        dtp_program_cut(m, d->dst.ndims, d->dst.dims, zero, d->dst.dims, md, &d->dst, pd->engine->l3_bytes),
        UNSUPPORTED_LAYOUT);
    dtp_pd_book(pd, 0, dtp_program_slot_bytes(m));
    return dnnl_tp_success;
}

static dnnl_tp_status_t eltwise_exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_program_t *m = &((const plan_t *)pd->plan)->program;
    char *ptr[DTP_BOXES_OPS];
    for (int o = 0; o < m->nops; ++o) ptr[o] = ctx->ptr[m->arg[o]];
    dtp_program_run(m, ctx->par, ptr, ctx->scratch, pd->scratch_per_slot);
    return dnnl_tp_success;
}

static dnnl_tp_status_t eltwise_exact_init_avx512(dtp_pd_t *pd) {
    return eltwise_exact_init(pd, DTP_ISA_AVX512);
}
static dnnl_tp_status_t eltwise_exact_init_avx2(dtp_pd_t *pd) { return eltwise_exact_init(pd, DTP_ISA_AVX2); }
static dnnl_tp_status_t eltwise_exact_init_any(dtp_pd_t *pd) { return eltwise_exact_init(pd, 0); }

#define EXACT_IMPL(suffix, bits)                             \
    extern const dtp_impl_t dtp_cpu_eltwise_exact__##suffix; \
    const dtp_impl_t dtp_cpu_eltwise_exact__##suffix = {     \
        .name = "exact:" #suffix,                            \
        .isa = (bits),                                       \
        .flags = DTP_IMPL_ANY_THREADS,                       \
        .plan_size = sizeof(plan_t),                         \
        .pd_init = eltwise_exact_init_##suffix,              \
        .execute = eltwise_exact_execute,                    \
    }
EXACT_IMPL(avx512, DTP_ISA_AVX512);
EXACT_IMPL(avx2, DTP_ISA_AVX2);
EXACT_IMPL(any, 0);
