/* The fake driver as libcuda.so.1, for tests of how the driver is found. The environment may change it: FAKE_CUDA_DEVICES and
 * FAKE_CUDA_DRIVER are numbers, FAKE_CUDA_LACKS is the name of a call that it does not have. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/fake_cuda.h"
#include "gpu/fake/fake_lt.h"

/* The calls of cuBLASLt are in this library, too, for the one that depends on it (libcublaslt.c). */
extern const dtp_lt_t *(*const fake_libcuda_lt)(void);
const dtp_lt_t *(*const fake_libcuda_lt)(void) = fake_lt_table;

dtp_cu_result_t cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags, int *status);

__attribute__((visibility("default"))) dtp_cu_result_t
cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags, int *status) {
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *driver = getenv("FAKE_CUDA_DRIVER"),
               *lacks = getenv("FAKE_CUDA_LACKS");
    if (devices) fake_cuda_set_devices(atoi(devices), 9, 0);
    if (driver) fake_cuda_set_driver_version(atoi(driver));
    int unused;
    if (lacks && !strcmp(lacks, name)) name = "";
    return fake_cuda_find(name, call, version, flags, status ? status : &unused);
}
