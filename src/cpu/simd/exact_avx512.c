/* Element-wise functions in the types' own arithmetic, avx512: see vops.h. */
#define EXACT_ISA(name) name##__avx512

#include "cpu/simd/exact_kern.inc"
