/* One run while it goes on: what run.c, interpreter.c, by_stream.c, slices.c and by_dataflow.c share. */
#ifndef DTP_EXEC_RUN_RUN_H
#define DTP_EXEC_RUN_RUN_H

#include <stdatomic.h>

#include "exec/run/cancel.h"
#include "exec/run/executable.h"
#include "exec/run/zones.h"
#include "threading/streams/wait.h"
#include "trace/trace.h"

enum { DTP_RUN_TEXT = DTP_EVENT_TEXT, DTP_RUN_DEPTH = 4096 };

typedef struct dtp_run_ctx dtp_run_ctx_t;

/* Where closures look: should_stop is the address of one. */
typedef struct {
    _Atomic uint32_t word; /* a run's: DTP_STOP_* */
    bool is_of_call;       /* in a dtp_closure_t; else in the run's context */
} dtp_stop_word_t;

/* Where a step works. */
typedef struct {
    const dtp_parallel_t *par;    /* inside steps */
    const dtp_parallel_t *across; /* for the slices of a slice group */
    void **bases;                 /* of the instance */
    int slot;
    /* For slice groups: participants' local buffers and scratch, bounds of slices. */
    char *local, *scratch, *locals, *slot_scratch;
    int64_t *bounds;
    int64_t capacity;
    int64_t first[DTP_UNIT_KINDS], count[DTP_UNIT_KINDS]; /* units of the slice; count < 0: all */
    int variant;                                          /* dtp_exec_step_t.prim */
} dtp_where_t;

/* What nodes of the dataflow engine need. */
typedef struct {
    dtp_run_ctx_t *run;
    const dtp_where_t *whole;
    /* Once more, for closures: */
    const dtp_stage_t *items;
    const dnnl_tp_tensor_info_t *const *infos;
    void **bases; /* of the root */
    bool plain;   /* no deadline, no trace, no events: the engine itself looks at the stop word */
} dtp_dataflow_run_t;

struct dtp_run_ctx {
    dtp_exec_t *exec;
    dtp_run_t *run;
    const dtp_parallel_t *par; /* at most the planned threads; of the thread that has the body */
    struct dtp_pool *pool;     /* of the first par; and its threads: for loops of closures */
    int pool_threads;
    void *const *in, *const *out;
    bool watched;               /* steps are timed, for stats or trace */
    dnnl_tp_run_stats_t *stats; /* or NULL */
    _Atomic int nevents;
    dtp_participants_t *participants; /* with stats, while the body runs */
    int num_participants;
    dtp_trace_t *trace; /* retained, or NULL; the rest is set with it */
    uint32_t trace_source, trace_run;
    uint16_t trace_lane; /* of the stream */
    int64_t open_ns;
    unsigned parallelism;
    int max_depth;
    int num_threads; /* at most */
    int priority;
    int64_t deadline_ns;     /* 0 = none */
    bool looks;              /* there is one, or the run is inside another one: share.outer */
    dnnl_tp_cancel_t cancel; /* linked, or NULL */
    dtp_cancel_link_t link;
    dtp_sleeper_t sleeper;
    dtp_share_t share;    /* of loops on one thread, of runs inside this one; a copy is its team's */
    dtp_parallel_t alone; /* one thread */
    /* Why the run ends early: DTP_STOP_*. The rest: the first failure, written by who set FAILED. */
    dtp_stop_word_t stop;
    const char *_Atomic late_before,
        *_Atomic late_in; /* the operator that a passed deadline kept or cut, or NULL */
    dnnl_tp_status_t status;
    dtp_reason_t reason;
    char text[DTP_RUN_TEXT];
    dtp_participants_t participants_of_stats;
    dtp_dataflow_run_t dataflow; /* by_dataflow.c: while the body runs, or rests */
    dtp_lock_t waits_lock;       /* host_wait.c */
    dtp_wait_t *waits;           /* events that operators wait for; under the lock */
};

/* Checks the arguments of a run and fills ctx, which stays where it is until dtp_run_close. On failure
 * nothing is left to close. */
dnnl_tp_status_t dtp_run_open(dtp_run_ctx_t *ctx, const_dnnl_tp_executable_t executable,
                              dnnl_tp_stream_t stream, int nin, void *const *in, int nout, void *const *out,
                              const dnnl_tp_run_opts_t *opts);
/* All tensors are there, and no output overlaps an input or another output (args.c). */
dnnl_tp_status_t dtp_run_check_args(dtp_exec_t *exec, int nin, void *const *in, int nout, void *const *out);
/* The body of a run (arg = ctx), on whatever thread holds the ticket. */
void dtp_run_body(void *arg, const dtp_parallel_t *given);
/* What came of it, with its text as the last error. */
dnnl_tp_status_t dtp_run_close(dtp_run_ctx_t *ctx);
/* Instead of close where the body was not and will not be called. */
void dtp_run_drop(dtp_run_ctx_t *ctx);

/* Ends the run if its deadline has passed or the run around it is over. */
bool dtp_run_late(dtp_run_ctx_t *ctx);
/* Notes where a deadline ended the run, if that is why it is over. */
void dtp_run_note_late(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, bool began) __attribute__((cold));
/* Ends the run with this error unless it is over already. */
void dtp_run_fail(dtp_run_ctx_t *ctx, dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

static inline bool dtp_run_failed(dtp_run_ctx_t *ctx) {
    return atomic_load_explicit(&ctx->stop.word, memory_order_relaxed) != DTP_STOP_NONE;
}
/* Looks at the stop word, and at the clock if there is a deadline; true: the run is over. */
static inline bool dtp_run_poll(dtp_run_ctx_t *ctx) {
    return DTP_UNLIKELY(dtp_run_failed(ctx)) || (DTP_UNLIKELY(ctx->looks) && dtp_run_late(ctx));
}
/* trace.c. */
void dtp_run_trace_open(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream, dtp_trace_t *wanted);
void dtp_run_trace_body(dtp_run_ctx_t *ctx, int64_t begin_ns);
/* The round of the loop whose instance has these bases; for nodes of the dataflow engine (they do not count). */
void dtp_run_trace_round(void **bases, uint32_t round);
/* The records of a step: begin fills work, end adds it. */
void dtp_run_watch_begin(dtp_run_ctx_t *ctx, dtp_trace_work_t *work, const dtp_exec_step_t *step, int slot,
                         void *const *bases, int64_t units /* of the slice; -1: all */);
void dtp_run_watch_end(dtp_run_ctx_t *ctx, dtp_trace_work_t *work, const dtp_exec_step_t *step);
/* The record of a step whose times came later. */
void dtp_run_watched(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, int32_t round, int64_t begin_ns,
                     int64_t end_ns);
/* The round of the loop around a step, if traces want it; -1: none. */
int32_t dtp_run_round_of(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, void *const *bases);
/* memcpy that ends early with the run; false: it did. */
bool dtp_run_copy(dtp_run_ctx_t *ctx, void *to, const void *from, size_t bytes);
/* Runs one step; false once the run has failed. */
bool dtp_run_step(dtp_run_ctx_t *ctx, const dtp_exec_step_t *step, const dtp_where_t *where);
void dtp_run_host_failed(dtp_run_ctx_t *ctx, const dtp_stage_t *host, dnnl_tp_status_t status)
    __attribute__((cold));
/* The call of a closure that may wait for an event. */
typedef struct {
    dtp_stop_word_t stop; /* first; its word is not used */
    dtp_run_ctx_t *ctx;
    dtp_wait_t *wait; /* what the closure waits for, or NULL */
} dtp_closure_t;
/* What closures are given as should_stop: the stop word of their run, or of their call if they may wait. */
static inline const volatile int *dtp_should_stop(const dtp_stop_word_t *stop) {
    return (const volatile int *)(const volatile void *)&stop->word;
}
/* The run of a closure with this should_stop; *closure (unless NULL): its call, or NULL. */
static inline dtp_run_ctx_t *dtp_run_of_closure(const volatile int *should_stop, dtp_closure_t **closure) {
    const dtp_stop_word_t *stop = (const dtp_stop_word_t *)(uintptr_t)should_stop;
    if (closure) *closure = NULL;
    if (!stop->is_of_call) return (dtp_run_ctx_t *)((uintptr_t)stop - offsetof(dtp_run_ctx_t, stop));
    dtp_closure_t *call = (dtp_closure_t *)(uintptr_t)stop;
    if (closure) *closure = call;
    return call->ctx;
}
/* The closure alone: no deadline, no trace. */
static inline bool dtp_call_host(dtp_run_ctx_t *ctx, const dnnl_tp_tensor_info_t *const *infos,
                                 const dtp_stage_t *h, void *const *bases, const volatile int *should_stop) {
    dnnl_tp_host_arg_t args[2 * DTP_GRAPH_MAX_ARGS];
    const dtp_host_ref_t *p = h->refs;
    int n = h->nin + h->nout;
    for (dnnl_tp_host_arg_t *a = args; a < args + n; ++a, ++p)
        *a =
            (dnnl_tp_host_arg_t){infos[p->value], (void *)((uintptr_t)bases[p->base] + (uintptr_t)p->offset)};
    dnnl_tp_status_t status = h->fn(h->arg, should_stop, h->nin, args, h->nout, args + h->nin);
    DTP_ZONES(after(ctx->exec, h->step, bases, 0));
    if (DTP_LIKELY(status == dnnl_tp_success)) return true;
    dtp_run_host_failed(ctx, h, status);
    return false;
}
bool dtp_run_host(dtp_run_ctx_t *ctx, const dtp_stage_t *host, void **bases, int slot,
                  const volatile int *should_stop);
/* host_wait.c: the same for a closure that may wait; success, runtime_error, or DTP_DATAFLOW_PENDING. at NULL: waits
 * here. */
dnnl_tp_status_t dtp_run_host_may_wait(dtp_run_ctx_t *ctx, const dtp_stage_t *host, void **bases,
                                       const dtp_dataflow_where_t *at);
/* Nobody has to wait for events any more: their operators are returned. */
void dtp_run_recall(dtp_run_ctx_t *ctx);
/* dtp_sleeper_t.awaits of a run. */
struct dnnl_tp_event *dtp_run_awaits(dtp_sleeper_t *sleeper, unsigned turn, bool *several);
void dtp_run_slice_group(dtp_run_ctx_t *ctx, const dtp_slice_group_t *group, const dtp_where_t *where);
/* Runs stages from `first` on until `end` or the END of the run (walk.h); where->bases changes on the way. */
void dtp_run_stages(dtp_run_ctx_t *ctx, int first, int end, dtp_where_t *where);
/* Runs the program of the dataflow engine (by_dataflow.c), or goes on with it; then, or in the end, the run rests. */
void dtp_run_by_dataflow(dtp_run_ctx_t *ctx, const dtp_where_t *whole);

/* The pointer behind a reference of a whole step. */
static inline void *dtp_ref_at(void *const *bases, const dtp_ref_t *r) {
    return (void *)((uintptr_t)bases[r->base] + (uintptr_t)r->offset);
}

/* Instances of loops. init sets all bases but the variables; set_vars sets these from references in `from`. */
static inline void dtp_instance_init(const dtp_scope_t *scope, void **bases, char *memory, void **up,
                                     void **next) {
    bases[DTP_BASE_ABSOLUTE] = NULL;
    bases[DTP_BASE_INSTANCE] = memory;
    bases[DTP_BASE_FRESH] = up; /* its own address once the variables are those of later rounds */
    bases[DTP_BASE_NEXT] = next;
    bases[DTP_BASE_UP] = up;
    bases[DTP_BASE_ROUND] = NULL;
    void **to = bases + DTP_BASE_VARS + scope->nvars;
    for (int i = 0; i < scope->ncaptures; ++i) to[i] = up[scope->captures[i]];
}
void dtp_instance_set_vars(const dtp_scope_t *scope, const dtp_ref_t *refs, void **bases, void **from);
/* The run ends because a call is too deep, or has no memory. */
void dtp_call_failed(dtp_run_ctx_t *ctx, const char *name, bool too_deep) __attribute__((cold));
/* The bases of a call whose frame has this data. */
void dtp_call_init(const dtp_exec_step_t *step, void **own, char *data, void *const *caller);

/* Runs that the host submits to a stream (by_stream.c): the body, until it is done. */
void dtp_run_by_stream(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream);
/* In two parts: begin submits all steps and waits for predicates only; end comes when the stream has done them (or, if
 * the run was skipped, could not), on any thread. */
void dtp_run_by_stream_begin(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream);
void dtp_run_by_stream_end(dtp_run_ctx_t *ctx, bool skipped);
/* Instead of end, where what should call it could not be submitted. */
void dtp_run_by_stream_drop(dtp_run_ctx_t *ctx, dnnl_tp_stream_t stream);

/* dnnl_tp_executable_run with a second token, that of the run's owner (NULL = none). */
dnnl_tp_status_t dtp_executable_run(const_dnnl_tp_executable_t executable, dnnl_tp_stream_t stream, int nin,
                                    void *const *in, int nout, void *const *out,
                                    const dnnl_tp_run_opts_t *opts, dnnl_tp_cancel_t owner);
dnnl_tp_status_t dtp_run_opts_check(const dnnl_tp_run_opts_t *opts);

#endif
