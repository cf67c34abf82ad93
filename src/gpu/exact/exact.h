/* Eltwise and binary in the arithmetic of integers: what graphs have, and primitives of s64 and boolean. */
#ifndef DTP_GPU_EXACT_H
#define DTP_GPU_EXACT_H

#include "common/primitive/primitive_desc.h"

extern const dtp_impl_t dtp_gpu_eltwise_exact, dtp_gpu_binary_exact;

#endif
