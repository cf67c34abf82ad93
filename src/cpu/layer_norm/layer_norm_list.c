/* Implementations of layer normalisation on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(layer_norm__avx512) X(layer_norm__avx2) X(layer_norm__ref)
DTP_CPU_LIST(layer_normalization, IMPLS);
