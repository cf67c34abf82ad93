/* What --bf16 means on this processor, for onnx_run, too. */
#ifndef SE_PRECISION_H
#define SE_PRECISION_H

#include "dnnl_tp/dnnl_tp.h"

static inline const char *se_bf16_text(void) {
    return dnnl_tp_get_effective_cpu_isa() == dnnl_tp_cpu_isa_avx512_core_bf16
               ? "bf16: products are of bf16, with sums in f32 (AVX512-BF16)"
               : "bf16: values are stored in bf16, arithmetic is f32 (there is no AVX512-BF16)";
}

#endif
