/* Bugs that are put into the texts of kernels: a line of the PTX that ships is left out or changed, as a slip in the source would
 * have it. */
#ifndef TESTS_GPU_CONTROLS_EDITS_H
#define TESTS_GPU_CONTROLS_EDITS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    BUG_BARRIER,      /* no __syncthreads */
    BUG_WARP_BARRIER, /* no __syncwarp */
    BUG_COPY_WAIT,    /* no wait for asynchronous copies */
    BUG_LATE_WAIT,    /* the wait is behind the __syncthreads that is to tell other threads of it */
    BUG_SHUFFLE_MASK, /* the mask of a shuffle names half of the lanes */
    BUG_MMA_LANES,    /* two registers of an operand of mma.sync change places */
    BUG_BOUND,        /* < instead of <=, and so on, between two numbers that are known at run time only */
    BUGS
} bug_t;
const char *bug_name(bug_t bug);

/* The text of one kernel alone: what stands outside of kernels, and this one. NULL: the text has none of this name. */
char *kernel_text(const char *module, const char *kernel);
/* Names of the kernels of a text, one after another; `at` begins as the text. NULL: there are no more. `name` may have 64 bytes. */
const char *next_kernel(const char *at, char *name);

/* Lines that such a bug can be put into. */
int count_sites(const char *text, bug_t bug);
/* The text with the bug in line number `site` of those; with a trap there instead, to learn whether it is reached. */
char *with_bug(const char *text, bug_t bug, int site, bool trap);

#endif
