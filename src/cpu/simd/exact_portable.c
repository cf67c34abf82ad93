/* Element-wise functions in the types' own arithmetic, portable: see vops.h. */
#define EXACT_ISA(name) name##__portable

#include "cpu/simd/exact_kern.inc"
