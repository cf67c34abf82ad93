/* Implementations of group normalization on the CPU, fastest first. */
#include "common/primitive/primitive_desc.h"

#define IMPLS(X) X(channel_norm__avx512) X(channel_norm__avx2) X(channel_norm__any) X(channel_norm__ref)
DTP_CPU_LIST(group_normalization, IMPLS);
