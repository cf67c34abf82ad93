/* Softmax of rows and of columns of f32, of rows of f64, avx512: see softmax_kern.h, softmax_f64.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/simd/vmath.h"
#include "cpu/softmax/softmax_kern.inc"

#define F64_NAME dtp_softmax_f64__avx512
#define F64_BYTES 64
#define F64_MAX _mm512_max_pd
#define F64_FMA _mm512_fmadd_pd
#include "cpu/softmax/softmax_f64.inc"
