/* Steps of LSTM and GRU, avx512: see recurrent_kern.h. */
#include "cpu/simd/vec_avx512.h"

#include "cpu/recurrent/recurrent_kern.inc"
