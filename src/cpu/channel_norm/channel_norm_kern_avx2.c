/* Kernels of batch and group normalization, avx2: see channel_norm_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/channel_norm/channel_norm_kern.inc"
