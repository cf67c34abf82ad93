/* The one table of the engines that this build contains. */
#include "common/primitive/engine.h"

extern const dtp_engine_vtbl_t dtp_cpu_engine_vtbl;

#if DTP_WITH_CUDA
extern const dtp_engine_vtbl_t dtp_gpu_engine_vtbl;
#endif

static const dtp_engine_vtbl_t *const engines[] = {
    &dtp_cpu_engine_vtbl,
#if DTP_WITH_CUDA
    &dtp_gpu_engine_vtbl,
#endif
};

const dtp_engine_vtbl_t *dtp_engine_vtbl(dnnl_tp_engine_kind_t kind) {
    for (size_t i = 0; i < sizeof engines / sizeof *engines; ++i)
        if (engines[i]->kind == kind) return engines[i];
    return NULL;
}
