/* What the implementations of binary share. */
#ifndef DTP_GPU_BINARY_H
#define DTP_GPU_BINARY_H

#include "common/problems/binary.h"

/* Layout `any`, as on the CPU: dst follows the source that has its dimensions, sources follow dst where they have its dimensions
 * and are plain otherwise. */
void dtp_gpu_binary_resolve(dtp_binary_desc_t *d);

#endif
