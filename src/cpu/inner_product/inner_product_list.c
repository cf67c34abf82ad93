/* Implementations of inner_product on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_cpu_inner_product__avx512, dtp_cpu_inner_product__avx2,
    dtp_cpu_inner_product__portable, dtp_cpu_inner_product__ref;

const dtp_impl_t *const dtp_cpu_inner_product_list[] = {
#if DTP_X64
    &dtp_cpu_inner_product__avx512, &dtp_cpu_inner_product__avx2,
#endif
    &dtp_cpu_inner_product__portable, &dtp_cpu_inner_product__ref, NULL};
