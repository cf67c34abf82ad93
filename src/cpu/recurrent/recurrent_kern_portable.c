/* Steps of LSTM and GRU, portable: see recurrent_kern.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/recurrent/recurrent_kern.inc"
