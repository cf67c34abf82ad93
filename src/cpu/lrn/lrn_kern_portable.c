/* Kernels of local response normalization, portable: see lrn_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/lrn/lrn_kern.inc"
