/* Timing of one problem, alone and in comparison with the peer. */
#ifndef BD_PERF_H
#define BD_PERF_H

#include "common/side.h"

typedef struct {
    double min, avg, max; /* ms */
    long n;
} bd_time_t;

/* More sets of buffers, so that consecutive executions find no input in a cache (--cold-cache). */
typedef struct {
    bd_side_t *side;
    int n, at;
    dnnl_tp_exec_arg_t (*args)[BD_MAX_TENSORS + 1]; /* n of them; args[0] = side->args */
    dnnl_tp_memory_t *mem;
    char **buf;
    int n_mem;
} bd_rotation_t;
dnnl_tp_status_t bd_rotation_init(bd_rotation_t *, bd_side_t *);
void bd_rotation_free(bd_rotation_t *);

/* Runs the problem in performance mode and prints its line. errors: mismatches against the peer. */
dnnl_tp_status_t bd_perf(bd_side_t *ours, const char *repro);
/* Times both libraries in interleaved blocks; prints the row and keeps it for the table of classes.
 */
dnnl_tp_status_t bd_duel(bd_side_t *ours, bd_side_t *theirs, const char *repro);
/* Prints the line of a problem that was skipped. */
void bd_perf_skipped(const bd_prb_t *, const char *repro);

#endif
