/* What tests of the interpreter share: instructions run as the body of a kernel that has registers and shared memory. */
#ifndef DNNL_TP_TESTS_GPU_PTX_RUN_TEXT_H
#define DNNL_TP_TESTS_GPU_PTX_RUN_TEXT_H
#include <stdio.h>
#include <stdlib.h>
#include "ptx.h"

/* Every thread has 16 words in and out: %in and %out are its places; %base is where all input starts. */
static const char run_text_kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 src, .param .u64 dst) {\n"
    ".reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<40>, %%lane, %%warp; "
    ".reg .b64 %%d<9>, %%in, %%out, %%base;\n"
    ".shared .align 16 .b8 sh[4096];\n"
    "ld.param.u64 %%base, [src]; ld.param.u64 %%out, [dst];\n"
    "mov.u32 %%lane, %%tid.x; mul.wide.u32 %%in, %%lane, 64; add.u64 %%out, "
    "%%out, %%in; add.u64 %%in, %%base, %%in;\n"
    "shr.u32 %%warp, %%lane, 5; and.b32 %%lane, %%lane, 31;\n"
    "%s\n}\n";

typedef struct {
    uint32_t grid, threads;
    uint64_t seed;
} shape_t;

/* False: why not, or what the launch was stopped at, in `error`. */
static inline bool run_text(const char *text, shape_t shape, const uint32_t *in, size_t in_bytes,
                            uint32_t *out, size_t out_bytes, char error[256]) {
    char source[8192];
    snprintf(source, sizeof source, run_text_kernel, text);
    ptx_module_t *m = ptx_parse(source, error, 256);
    if (!m) return false;
    unsigned char *set = calloc(out_bytes, 1);
    union {
        const uint32_t *from;
        unsigned char *to;
    } host = {.from = in};
    const ptx_region_t regions[] = {{1 << 20, in_bytes, host.to, NULL},
                                    {2 << 20, out_bytes, (unsigned char *)out, set}};
    const uint64_t params[2] = {regions[0].address, regions[1].address};
    ptx_launch_t l = {.grid = {shape.grid, 1, 1},
                      .block = {shape.threads, 1, 1},
                      .params = params,
                      .regions = regions,
                      .num_regions = 2,
                      .seed = shape.seed,
                      .max_steps = 100000};
    bool ok = ptx_run(ptx_find(m, "k"), &l, error, 256);
    ptx_free(m);
    free(set);
    return ok;
}
#endif
