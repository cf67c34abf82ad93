/* The far engine: a second engine, of kind dnnl_tp_gpu, that only tests have. It is what an engine with a memory of
 * its own will be, and has two devices.
 *
 *   memory      one file mapped twice. The handles that users see lie in a mapping that nobody can read or write; the
 *               engine's threads add a constant to get to the other one. So a read of the host faults. Every block
 *               lies between red zones, and what is fresh or free holds NaN.
 *   streams     in order, each on a thread of the engine's own, every item after a random delay: nothing is done when
 *               a call returns
 *   kernels     the CPU's, with pointers that the stream translated; every argument must lie whole in a block of the
 *               right device, or the process ends
 *   constants   each primitive has something in far memory that only unprepare can give back
 *
 * A program has it by linking dnnl_tp_far_engine, whose table of engines stands before that of src/engines.c. */
#ifndef TESTS_SUPPORT_FAR_ENGINE_H
#define TESTS_SUPPORT_FAR_ENGINE_H

#include <stdbool.h>

#include "common/primitive/engine.h"

enum { FAR_DEVICES = 2 };
extern const dtp_engine_vtbl_t far_engine_vtbl;

/* What tests must know of the engine that stands here: this one, or the CUDA engine (tests/gpu/far_on_fake.c). */
typedef struct {
    const char *name;
    bool has_controls; /* all that this file offers */
    bool skips;   /* what was submitted behind a failure is not run, and a failure is over after a reset */
    bool blocked; /* knows layouts with padding */
} far_traits_t;
extern const far_traits_t far_traits;
/* Are n floats what the CPU computed: to the bit, or where kernels are others |x - want| <= tolerance (1 + |want|)? */
bool far_agrees(const float *x, const float *want, size_t n, float tolerance);

/* Longest delay of an item from now on; 0 = none. */
void far_set_delay(int max_us);
/* From now on the n-th (0 = the next) allocation of far memory, or item of a stream, fails once; < 0: none. True if the
 * last such order has not been carried out. */
bool far_fail_alloc(int64_t n);
bool far_fail_item(int64_t n);

/* Do primitives take post-operations and biases, and is there attention, on engines that have not been asked? */
void far_fuse(bool can);
/* Attributes of its own, for dtp_own_set (common/primitive/engine.h). */
typedef struct {
    size_t struct_size;
    size_t memory_limit; /* bytes that may be alive at once; 0 = none */
} far_engine_own_t;
typedef struct {
    size_t struct_size;
    bool no_times; /* cannot tell when it did what */
} far_stream_own_t;

typedef struct {
    int64_t blocks, bytes; /* alive */
    int64_t executed, copied;
} far_stats_t;
far_stats_t far_stats(void);
/* Ends the process where a red zone was written to. */
void far_check(void);
/* 0 if no block is alive; else tells of each. A program that ends with one fails. */
int far_report(void);
bool far_owns(const void *handle);

#endif
