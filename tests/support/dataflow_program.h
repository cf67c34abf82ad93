/* Random structured programs for the dataflow engine, a sequential interpreter of them, and their lowering to the
 * builder: nested Ifs and Whiles with empty branches, outputs that pass through, loops without variables,
 * reads of outside values, windows, recursive functions, side effects in order. */
#ifndef TESTS_SUPPORT_DATAFLOW_PROGRAM_H
#define TESTS_SUPPORT_DATAFLOW_PROGRAM_H

#include "exec/dataflow/dataflow.h"

typedef struct {
    unsigned seed;
    int budget;      /* statements, about */
    int depth;       /* nesting; 0: plain graphs */
    int window;      /* of Whiles; 0: random 1..4 */
    bool calls;      /* recursive functions */
    bool effects;    /* side effects, whose order is checked (DTP_DATAFLOW_ORDERED) */
    int costly;      /* percent of operators that are COSTLY; as many are WIDE */
    int blocking;    /* percent that may block; then a run may be on W + B threads */
    int pending;     /* percent that may be complete later than their exec returns */
    bool rests;      /* runs are in dtp_pool_run_share(.., dataflow_program_share(p), ..), and rest */
    double ns;       /* what operators say they cost */
    int spin;        /* what they take: rounds of a hash */
    unsigned flags;  /* of dtp_dataflow_build */
    int max_threads; /* of the state */
} dataflow_program_opts_t;

typedef struct dataflow_program dataflow_program_t;

/* Aborts when something fails. */
dataflow_program_t *dataflow_program_create(const dataflow_program_opts_t *opts);
void dataflow_program_destroy(dataflow_program_t *p);
/* Runs once and compares with the interpreter; par NULL: on this thread alone. Returns NULL or what is wrong.
 */
dtp_share_t *dataflow_program_share(dataflow_program_t *p);
/* (opts.rests: the body of the run has returned, and is called again. The result says nothing yet.) */
bool dataflow_program_rests(const dataflow_program_t *p);
const char *dataflow_program_run(dataflow_program_t *p, const dtp_parallel_t *par);
/* The same, but the operator that runs as the n-th fails (or cancels: fire_cancel). The run must end; nothing
 * is compared but the status. */
const char *dataflow_program_run_failing(dataflow_program_t *p, const dtp_parallel_t *par, int64_t nth,
                                         bool fire_cancel);
int64_t dataflow_program_ops(const dataflow_program_t *p); /* executed by one run */
/* How many Ifs, Whiles, calls ran in one run of the interpreter. */
void dataflow_program_counts(const dataflow_program_t *p, int64_t *ifs, int64_t *iterations, int64_t *calls);
const dtp_dataflow_result_t *dataflow_program_result(const dataflow_program_t *p);

#endif
