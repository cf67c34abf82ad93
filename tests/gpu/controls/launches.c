/* See launches.h. */
#include "gpu/controls/launches.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/fake/fake_cuda.h"

static launch_t *first, **last = &first;

launch_t *launches(void) { return first; }

static void *copy(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    if (!to) abort();
    return memcpy(to, from, bytes);
}

static bool keep(const ptx_kernel_t *kernel, const ptx_launch_t *as, char *error, size_t error_bytes) {
    launch_t *l = calloc(1, sizeof *l);
    if (!l) abort();
    l->kernel = copy(ptx_kernel_name(kernel), strlen(ptx_kernel_name(kernel)) + 1);
    l->params_bytes = ptx_params_bytes(kernel);
    l->as = *as;
    l->as.params = copy(as->params, l->params_bytes);
    ptx_region_t *regions = copy(as->regions, as->num_regions * sizeof *regions);
    for (size_t i = 0; i < as->num_regions; ++i) {
        regions[i].host = copy(regions[i].host, regions[i].bytes);
        if (regions[i].set) regions[i].set = copy(regions[i].set, regions[i].bytes);
    }
    l->as.regions = regions;
    int64_t steps = 0;
    ptx_launch_t counted = *as;
    counted.lane_steps = &steps;
    if (!ptx_run(kernel, &counted, error, error_bytes)) return false; /* a test of kernels would have told */
    l->after = calloc(as->num_regions + 1, sizeof *l->after);
    for (size_t i = 0; i < as->num_regions; ++i) l->after[i] = copy(as->regions[i].host, regions[i].bytes);
    l->as.max_steps = 4 * steps + 100000; /* a broken kernel may not end */
    *last = l;
    last = &l->next;
    if (l->as.grid[0] * l->as.grid[1] * l->as.grid[2] > 1) {
        launch_t one = *l;
        one.as.grid[0] = one.as.grid[1] = one.as.grid[2] = 1;
        if (launch_again(&one, kernel, 1, NULL) == RUN_SAME) *l = one;
    }
    return true;
}

void launches_keep(void) { fake_cuda_run_by(keep); }

void launches_free(void) {
    while (first) {
        launch_t *l = first;
        first = l->next;
        for (size_t i = 0; i < l->as.num_regions; ++i) {
            free(l->as.regions[i].host), free(l->as.regions[i].set), free(l->after[i]);
        }
        free((void *)l->as.regions), free((void *)l->as.params), free((void *)l->kernel);
        free(l->after), free(l);
    }
    last = &first;
}

outcome_t launch_again(const launch_t *l, const ptx_kernel_t *kernel, uint64_t seed, const void *other) {
    char error[512];
    ptx_launch_t as = l->as;
    ptx_region_t *regions = copy(as.regions, as.num_regions * sizeof *regions);
    for (size_t i = 0; i < as.num_regions; ++i) {
        regions[i].host = copy(regions[i].host, regions[i].bytes);
        if (regions[i].set) regions[i].set = copy(regions[i].set, regions[i].bytes);
    }
    as.regions = regions;
    as.seed = seed;
    if (other) as.params = other;
    outcome_t outcome = ptx_run(kernel, &as, error, sizeof error) ? RUN_SAME : RUN_TRAP;
    for (size_t i = 0; i < as.num_regions; ++i) {
        if (!outcome && memcmp(regions[i].host, l->after[i], regions[i].bytes) != 0) outcome = RUN_OTHER;
        free(regions[i].host), free(regions[i].set);
    }
    free(regions);
    return outcome;
}
