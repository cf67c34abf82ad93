/* Element-wise functions in the types' own arithmetic, avx2: see vops.h. */
#define EXACT_ISA(name) name##__avx2

#include "cpu/simd/exact_kern.inc"
