/* virtual_cores: how well a pool of W threads schedules, seen on any number of processors, because
 * all work sleeps. See doc/virtual_cores.md.
 *
 * programs.c makes the programs of clients: a graph for the library, and the tasks of one run with
 * their order for the simulation. work.c has the functions of nodes and loops: they sleep, and note
 * when. pools.c: who owns the threads. clients.c runs a row, calm.c looks whether the machine let
 * it, greedy.c is the ideal schedule, judge.c compares the two, main.c is the table. */
#ifndef BENCHDNN_POOL_VIRTUAL_CORES_H
#define BENCHDNN_POOL_VIRTUAL_CORES_H

#include <dnnl_tp/dnnl_tp_graph.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "threading/pools/pool.h"

/* ---- Programs ---------------------------------------------------------------------------------------- */

/* Tasks of one run and their order. */
typedef struct {
    int n, n_edges, room;
    int (*edge)[2];  /* before, after */
    int32_t *ns;     /* how long each sleeps; 0: a fork or join that no thread runs */
    int *first, *to; /* after vc_program_seal: successors of i: to[first[i]..first[i + 1]) */
    int *n_before;
    dnnl_tp_graph_t graph; /* NULL: a loop of n iterations from outside runs */
    int n_numbers;         /* inputs of the graph after the first one */
    int32_t number[2];
    struct vc_node *nodes;
    int n_nodes;
    double work_ns;
} vc_program_t;

/* The argument of a closure: its task, or several of them, told apart by a number that it reads. */
typedef struct vc_node {
    const vc_program_t *program;
    int task, stride; /* task + stride * number */
    int add;          /* its result is number + add */
    /* iterations of a loop: tasks after its own, then one more that joins them; 0: none */
    int loop;
} vc_node_t;

typedef struct {
    const char *name;
    vc_program_t *(*make)(int w, int32_t lo_ns, int32_t hi_ns);
} vc_kind_t;
extern const vc_kind_t vc_kinds[];
extern const int vc_n_kinds;
/* The kind of this name, or the first whose name begins so; ends the program if there is none. */
const vc_kind_t *vc_kind(const char *name);
void vc_program_free(vc_program_t *);
/* Hints give the cost of every node, or the library has to learn it. */
extern bool vc_hints;

/* ---- Work -------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t begin, end; /* ns since the row began; 0: it did not run */
    int times;          /* how often it ran */
    int thread;         /* the system's number */
} vc_span_t;
typedef struct vc_run {
    struct vc_run *next;
    int64_t called, returned;
    const vc_program_t *program;
    struct vc_bed *bed;
    vc_span_t task[];
} vc_run_t;
/* Where a row happens: a pool of `threads`. */
typedef struct vc_bed {
    int threads;
    bool async; /* runs are items of asynchronous streams */
    const dnnl_tp_threadpool_iface_t *iface;
    dnnl_tp_stream_attr_t attr;
    dtp_pool_t *rec;
    int64_t began;
    void *own; /* of pools.c */
} vc_bed_t;
dnnl_tp_status_t vc_sleep_node(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                               int nout, const dnnl_tp_host_arg_t *out);
void vc_loop(vc_run_t *run, int first, int n, const dtp_parallel_t *par);

/* ---- Pools ------------------------------------------------------------------------------------------- */

extern const int vc_n_pools;
const char *vc_pool_name(int i);
vc_bed_t *vc_bed_create(const char *pool, int threads);
void vc_bed_destroy(vc_bed_t *);
#define VC_OK(expr) vc_must((expr), #expr)
void vc_must(dnnl_tp_status_t, const char *what);
dnnl_tp_engine_t vc_engine(void);

/* ---- Rows -------------------------------------------------------------------------------------------- */

typedef struct {
    const vc_program_t *program;
    dnnl_tp_executable_t exec;
    int priority;
    vc_run_t *first; /* out: its runs */
    int n_runs;
} vc_client_t;
enum { VC_MOST_CLIENTS = 64 };
typedef struct {
    char name[96];
    vc_bed_t *bed;
    int n;
    vc_client_t client[VC_MOST_CLIENTS];
    int runs; /* of each client; 0: until `window_ns` have passed */
    int64_t
        /* the window of evaluation, from 0; with runs > 0 a result: until the last has ended */
        window_ns;
} vc_row_t;
/* Runs the clients, each on a thread of its own, after a run of each to warm up. */
void vc_row_run(vc_row_t *);
void vc_row_free_runs(vc_row_t *);
/* vc_watch_end returns false if other programs have delayed this one since vc_watch_begin. */
void vc_watch_begin(void);
bool vc_watch_end(void);

/* ---- The ideal and the measurements ------------------------------------------------------------------ */

typedef struct {
    double work[VC_MOST_CLIENTS]; /* of each client until the window's end */
    int64_t end;                  /* runs > 0: when the last task ended */
} vc_schedule_t;
/* The task that a free thread takes: the one that was ready first, of the client whose run began
 * first; the one with the longest way to the run's end, which only a simulation knows; the first
 * task of the client that has had least time. */
typedef enum { VC_FIRST, VC_CRITICAL, VC_FAIR } vc_order_t;
/* Greedy list scheduling on bed->threads threads with the durations that were measured: no thread
 * is idle while a task is ready. */
void vc_greedy(const vc_row_t *, vc_order_t, vc_schedule_t *);

typedef struct {
    double efficiency;   /* of the greedy schedule */
    double critical;     /* the same of the scheduler that knows the critical path */
    double fairness;     /* the worst client's share over its fair one */
    int worst;           /* which client */
    double idle_ms;      /* longest time that a thread was idle while work was ready */
    double idle_at_ms;   /* when that ended */
    double ms, ideal_ms; /* of all runs, or work in the window by threads */
    double run_ms;       /* median run */
    int wrong;           /* tasks that ran too early, not at all or more than once */
} vc_verdict_t;
void vc_judge(const vc_row_t *, vc_verdict_t *);

#endif
