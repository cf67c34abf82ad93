/* Pooling kernels, portable: see pooling_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/pooling/pooling_kern.inc"
#include "cpu/pooling/pooling_planes.inc"
