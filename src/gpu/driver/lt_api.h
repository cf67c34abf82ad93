/* cuBLASLt, loaded by the first product that wants it: its file has 540 MB. */
#ifndef DTP_GPU_DRIVER_LT_API_H
#define DTP_GPU_DRIVER_LT_API_H

#include "gpu/driver/lt_abi.h"

/* The library's calls, or NULL: dtp_lt_reason tells why. Thread-safe; the first call loads it. Wants a driver (dtp_cu). */
const dtp_lt_t *dtp_lt(void);
/* Why dtp_lt answers NULL: "libcublasLt.so.13 is not installed", "it is switched off by DNNL_TP_CUBLASLT=0". */
const char *dtp_lt_reason(void);
/* For tests, while nothing asks: these calls are the library's. NULL: none on a driver for tests, else the search again. */
void dtp_lt_set_for_test(const dtp_lt_t *lt);
/* "CUBLAS_STATUS_NOT_SUPPORTED: the requested functionality is not supported" */
const char *dtp_lt_text(const dtp_lt_t *lt, dtp_lt_status_t status, char *text, size_t bytes);

#endif
