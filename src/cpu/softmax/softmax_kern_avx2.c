/* Softmax of rows and of columns of f32, of rows of f64, avx2: see softmax_kern.h, softmax_f64.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/simd/vmath.h"
#include "cpu/softmax/softmax_kern.inc"

#define F64_NAME dtp_softmax_f64__avx2
#define F64_BYTES 32
#define F64_MAX _mm256_max_pd
#define F64_FMA _mm256_fmadd_pd
#include "cpu/softmax/softmax_f64.inc"
