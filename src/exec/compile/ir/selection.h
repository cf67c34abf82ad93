/* The part of a graph that is compiled. */
#ifndef DTP_EXEC_COMPILE_IR_SELECTION_H
#define DTP_EXEC_COMPILE_IR_SELECTION_H

#include <stdint.h>

/* Values of the root: what is given, what is wanted, whose operators run all the same. Nothing else runs. */
typedef struct {
    int nfeeds, nfetches, ntargets;
    const int32_t *feeds, *fetches, *targets;
} dtp_selection_t;

#endif
