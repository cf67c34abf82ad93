/* Layer normalisation of rows, avx2: see lnorm_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/layer_norm/lnorm_kern.inc"
