/* exec_bench: the graph executor against other schedulers, in one process and the same run.
 *
 * shapes.c makes graphs, sides.c and peer_*.c[pp] run them, measure.c times any number of things in
 * turn, rows_*.c are the tables. Everything of dnnl_tp goes through its public interface. See
 * doc/exec_bench.md. */
#ifndef EXEC_BENCH_H
#define EXEC_BENCH_H

#include <dnnl_tp/dnnl_tp_graph.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/timing.h"
#include "exec/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Graphs of nodes that do nothing or take a given time -------------------------------------------- */

/* The argument of a node's function. */
typedef struct eb_node {
    int64_t ticks; /* how long it takes */
    int runs;      /* --check: how often it ran; the node writes it, its successors read it */
    int nbefore;   /* --check: number of its predecessors */
    const int *before;
    struct eb_node *all;
} eb_node_t;
typedef void (*eb_kernel_t)(eb_node_t *);
void eb_kernel_empty(eb_node_t *);
void eb_kernel_spin(eb_node_t *);
/* Counts runs, and in eb_order_errors the nodes that ran before a predecessor. */
void eb_kernel_check(eb_node_t *);
extern int eb_order_errors;

typedef struct {
    const eb_graph_t *graph;
    eb_node_t *nodes;
    eb_kernel_t kernel;
    int threads;
} eb_job_t;

/* ---- Sides: libraries that run graphs ---------------------------------------------------------------- */

typedef struct {
    const char *name;
    /* NULL: it cannot run this one. */
    void *(*create)(const eb_job_t *);
    void (*run)(void *);
    /* sends its threads to sleep after a block; NULL: they do so by themselves */
    void (*rest)(void);
    void (*destroy)(void *);
} eb_side_t;
extern const eb_side_t eb_side_sequence; /* a fixed order on one thread, without a scheduler */
extern const eb_side_t eb_side_plain;    /* dnnl_tp without clusters and sequential plans */
extern const eb_side_t eb_side_ours;     /* dnnl_tp */
extern const eb_side_t eb_side_eigen, eb_side_tbb, eb_side_openmp, eb_side_taskflow, eb_side_pthreadpool;

/* ---- Measuring --------------------------------------------------------------------------------------- */

typedef struct {
    void (*run)(void *);
    void *arg;
    void (*rest)(void);
    /* Results. */
    double ns;     /* of a run: median of the blocks' medians */
    double lo, hi; /* smallest and largest block */
    double allocs; /* of a run in steady state; < 0: not counted in this build */
} eb_case_t;

typedef struct {
    int threads[8], nthreads;
    int kernel_ns[8], nkernels;
    int rounds;                       /* blocks of each side */
    double block_ms;                  /* length of one */
    bool check;                       /* tiny sizes, results instead of times */
    bool big;                         /* graphs of more than half a million nodes */
    const char *group, *rows, *sides; /* substrings, comma separated lists; NULL: all */
    const char *csv;
} eb_options_t;
extern eb_options_t eb;

int64_t eb_ticks(void);
int64_t eb_ticks_of_ns(double ns);
/* Times the cases in turn; before each block all threads of the other cases sleep. */
void eb_measure(eb_case_t *cases, int n);
long eb_allocations(void);     /* so far; -1: not counted in this build */
long eb_allocated_bytes(void); /* of the counted allocations */
void eb_count_allocations(bool on);

/* ---- Rows -------------------------------------------------------------------------------------------- */

bool eb_wanted(const char *list, const char *name); /* list: NULL or parts of names */
/* One figure, which only --csv prints; callers print their tables. */
void eb_csv(const char *group, const char *row, int threads, int kernel_ns, const char *side,
            const char *unit, double value, double lo, double hi, double allocs, double count);
void eb_fail(const char *format, ...); /* prints; the program ends with 1 */
#ifdef __cplusplus
#define EB_FORMAT(a, b)
#else
#define EB_FORMAT(a, b) __attribute__((format(printf, a, b)))
#endif
extern int eb_failures;

void eb_rows_dag(void);
void eb_rows_build(void);
void eb_rows_compile(void);
void eb_rows_flow(void);
void eb_rows_system(void);
void eb_rows_cancel(int threads); /* of the same table */
void eb_rows_model(void);
bool eb_dump(const char *name, bool tiny); /* a shape as text on stdout */

/* ---- dnnl_tp, ready to use --------------------------------------------------------------------------- */

#define EB_OK(expr) eb_must((expr), #expr)
void eb_must(dnnl_tp_status_t, const char *what);
dnnl_tp_engine_t eb_engine(void);
/* Attributes and a stream with a pool of that many threads; 1: the calling thread alone. */
const_dnnl_tp_stream_attr_t eb_attr(int threads);
dnnl_tp_stream_t eb_stream(int threads);
dnnl_tp_stream_t eb_new_stream(int threads);
dnnl_tp_executable_t eb_compile(dnnl_tp_graph_t, int threads, unsigned flags); /* takes the graph */
/* The kernels as closures. */
dnnl_tp_status_t eb_host_empty(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out);
dnnl_tp_status_t eb_host_spin(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                              int nout, const dnnl_tp_host_arg_t *out);
dnnl_tp_status_t eb_host_check(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out);
void eb_end(void);

#ifdef __cplusplus
}
#endif
#endif
