/* Implementations of steps of LSTM and GRU on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(recurrent__avx512) X(recurrent__avx2) X(recurrent__any) X(recurrent__ref)
DTP_CPU_LIST(recurrent, IMPLS);
