/* What argument structs of kernels are made of; included by host halves (C) and device halves (CUDA). */
#ifndef DTP_GPU_DEVICE_ARGS_H
#define DTP_GPU_DEVICE_ARGS_H

#include <stdint.h>

/* Dimensions of a view after joining those that lie behind each other in every tensor of a kernel. */
enum { DTP_GPU_DIMS = 6 };

#endif
