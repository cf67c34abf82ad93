/* Layer normalisation of rows, avx512: see lnorm_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/layer_norm/lnorm_kern.inc"
