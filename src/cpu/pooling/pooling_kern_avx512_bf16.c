/* Pooling kernels, avx512_bf16: see pooling_kern.h. What is not bf16 is left to those for AVX-512. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/pooling/pooling_kern.inc"

static void row(const dtp_pool_row_t *a) {
    if (a->type == V_BF16) pool_row__avx512_bf16(a);
    else dtp_pool_kernels__avx512.row(a);
}
static void plane(const dtp_pool_plane_t *a) { dtp_pool_kernels__avx512.plane(a); }
static void whole(const dtp_pool_whole_t *a) { dtp_pool_kernels__avx512.whole(a); }

const dtp_pool_kernels_t dtp_pool_kernels__avx512_bf16 = {row, plane, whole, VL};
