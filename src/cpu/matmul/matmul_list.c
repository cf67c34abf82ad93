/* Implementations of matmul on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_matmul__avx512, dtp_cpu_matmul__avx2, dtp_cpu_matmul__portable,
    dtp_cpu_matmul__ref;

const dtp_impl_t *const dtp_cpu_matmul_list[] = {
#if DTP_X64
    &dtp_cpu_matmul__avx512, &dtp_cpu_matmul__avx2,
#endif
    &dtp_cpu_matmul__portable, &dtp_cpu_matmul__ref, NULL};
