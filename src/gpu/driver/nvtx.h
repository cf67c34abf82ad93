/* Ranges of NVTX, with which Nsight Systems and other tools name what a thread does. A tool is there where NVTX_INJECTION64_PATH names its
 * library, as for every copy of NVIDIA's header in the process. */
#ifndef DTP_GPU_DRIVER_NVTX_H
#define DTP_GPU_DRIVER_NVTX_H

#include <stdbool.h>

/* Does a tool take ranges? The first call loads it. Thread-safe. */
bool dtp_nvtx(void);
/* Where one does: a range of this thread, which may lie in another one, and the end of the last that was begun. */
void dtp_nvtx_push(const char *name);
void dtp_nvtx_pop(void);

#endif
