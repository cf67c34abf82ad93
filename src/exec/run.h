/* One run while it goes on: what the stages of run.c, run_segment.c and run_dag.c share. */
#ifndef DTP_EXEC_RUN_H
#define DTP_EXEC_RUN_H

#include <stdatomic.h>

#include "exec/executable.h"

enum { DTP_RUN_TEXT = 192 };

typedef struct {
    dtp_exec_t *exec;
    dtp_run_t *run;
    const dtp_parallel_t *par; /* at most the planned threads */
    void *const *in, *const *out;
    dnnl_tp_run_stats_t *stats; /* NULL: nothing is recorded */
    _Atomic int nevents;
    unsigned parallelism;
    /* The first failure; written by who turns failed from 0 to 1. */
    _Atomic int failed;
    dnnl_tp_status_t status;
    dtp_reason_t reason;
    char text[DTP_RUN_TEXT];
} dtp_run_ctx_t;

/* Where a step works. */
typedef struct {
    const dtp_parallel_t *par;
    int slot;
    char *local, *scratch;
    int64_t capacity;
    int64_t first[DTP_UNIT_KINDS], count[DTP_UNIT_KINDS]; /* units of the slice; count < 0: all */
    int variant;                                          /* dtp_exec_step_t.prim */
} dtp_where_t;

static inline bool dtp_run_failed(dtp_run_ctx_t *ctx) {
    return atomic_load_explicit(&ctx->failed, memory_order_relaxed) != 0;
}
/* Runs one step; false once the run has failed. */
bool dtp_run_step(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, const dtp_where_t *where);
void dtp_run_segment(dtp_run_ctx_t *ctx, const dtp_segment_t *segment);
void dtp_run_dag(dtp_run_ctx_t *ctx, const dtp_dag_t *dag);

#endif
