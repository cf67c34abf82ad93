/* Kernels of batch and group normalization, avx512: see channel_norm_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/channel_norm/channel_norm_kern.inc"
