/* The part of a graph that is compiled. */
#ifndef DTP_EXEC_COMPILE_IR_SELECTION_H
#define DTP_EXEC_COMPILE_IR_SELECTION_H

#include <stdint.h>

/* Values of the root: inputs that are given, results that are wanted, and values whose operators
 * run in any case. No other operators run. */
typedef struct {
    int nfeeds, nfetches, ntargets;
    const int32_t *feeds, *fetches, *targets;
} dtp_selection_t;

#endif
