/* Steps of LSTM and GRU, avx2: see recurrent_kern.h. */
#include "cpu/simd/vec_avx2.h"

#include "cpu/recurrent/recurrent_kern.inc"
