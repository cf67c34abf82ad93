/* Reduction kernels, portable: see reduction_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/reduction/reduction_kern.inc"
