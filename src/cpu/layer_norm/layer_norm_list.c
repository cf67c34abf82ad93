/* Implementations of layer normalisation on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_layer_norm__avx512, dtp_cpu_layer_norm__avx2, dtp_cpu_layer_norm__ref;

const dtp_impl_t *const dtp_cpu_layer_normalization_list[] = {
#if DTP_X64
    &dtp_cpu_layer_norm__avx512, &dtp_cpu_layer_norm__avx2,
#endif
    &dtp_cpu_layer_norm__ref, NULL};
