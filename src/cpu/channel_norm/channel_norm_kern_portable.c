/* Kernels of batch and group normalization, portable: see channel_norm_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/channel_norm/channel_norm_kern.inc"
