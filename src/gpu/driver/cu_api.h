/* The driver, loaded when the first question about GPUs is asked; the same library runs on machines
 * without one. */
#ifndef DTP_GPU_DRIVER_CU_API_H
#define DTP_GPU_DRIVER_CU_API_H

#include <stdbool.h>

#include "gpu/driver/cu_abi.h"

/* The oldest driver that loads the embedded kernels: that of toolkit 13.0. */
enum { DTP_CU_LEAST_DRIVER = 13000 };

/* The driver's functions. NULL: there is none, or it is too old; dtp_cu_reason returns which.
 * Thread-safe; the first call loads libcuda.so.1 and initialises it. After a fork the child has
 * none. */
const dtp_cu_t *dtp_cu(void);
/* Why dtp_cu answers NULL: "libcuda.so.1 is not installed", "the driver is of CUDA 12.2, needed is
 * 13.0". */
const char *dtp_cu_reason(void);
/* For tests, before anything asks: these calls are the driver's, initialised as it is. NULL: the
 * search again. */
void dtp_cu_set_for_test(const dtp_cu_t *cu);
bool dtp_cu_is_for_test(void);
/* "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered" */
const char *dtp_cu_text(dtp_cu_result_t result, char *text, size_t bytes);

#endif
