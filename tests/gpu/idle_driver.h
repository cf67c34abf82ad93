/* The fake driver, but calls on the way from the host to the device do nothing, and are counted: what is left is the library's. */
#ifndef TESTS_GPU_IDLE_DRIVER_H
#define TESTS_GPU_IDLE_DRIVER_H

#include <stdint.h>

typedef struct {
    int64_t launches, contexts, copies, records,
        looks; /* contexts: pushed and popped; looks: events asked or waited for */
} idle_calls_t;
extern idle_calls_t idle_calls;

typedef enum { DRIVER_WORKS, DRIVER_LAUNCHES_NOTHING, DRIVER_IS_IDLE } driver_mode_t;

/* Installs the driver, before the first engine is made: it works. */
void idle_driver_install(void);
/* And a cuBLASLt, whose products are counted as launches. */
void idle_cublaslt_install(void);
/* While it is idle nothing new may be made: run once before, while it launches nothing. */
void idle_driver_set(driver_mode_t mode);

#endif
