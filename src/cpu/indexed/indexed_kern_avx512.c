/* Gathers by vectors, avx512: see indexed_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/indexed/indexed_kern.inc"
