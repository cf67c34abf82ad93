/* Launches that the CUDA engine made on the fake driver, kept with the memory before and after, so that kernels can be run again. */
#ifndef TESTS_GPU_CONTROLS_LAUNCHES_H
#define TESTS_GPU_CONTROLS_LAUNCHES_H

#include "gpu/ptx/ptx.h"

typedef struct launch {
    struct launch *next;
    const char *kernel;
    ptx_launch_t as; /* params and regions are copies */
    size_t params_bytes;
    unsigned char **after; /* of each region */
    bool alone;            /* one block did what all did: blocks walk over the problem */
} launch_t;

/* Keeps every launch from now on, in order. */
void launches_keep(void);
launch_t *launches(void);
void launches_free(void);

typedef enum { RUN_SAME, RUN_TRAP, RUN_OTHER } outcome_t;
/* Runs a kernel in the place of the launch's, with blocks and warps in this order; other: parameters instead of the launch's, or NULL.
 * What it stopped at, other bits in memory, or the same. */
outcome_t launch_again(const launch_t *launch, const ptx_kernel_t *kernel, uint64_t seed, const void *other);

#endif
