/* Transforms of Winograd convolutions, portable: see winograd_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/convolution/winograd_kern.inc"
