/* Kernels of batch and group normalization, avx512_bf16: see channel_norm_kern.h. */
#include "cpu/simd/vec_avx512_bf16.h"

#include "cpu/channel_norm/channel_norm_kern.inc"
