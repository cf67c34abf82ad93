/* Timed runs; see dnnl_tp_event.h. */
#include "threading/streams/timed_run.h"

#include <stdlib.h>

#include "common/primitive/engine.h"

enum { IN_FLIGHT = 8, COLD_RUNS = 3, MIN_RUNS = 10, MAX_RUNS = 10000, MIN_TIME_NS = 100000000 };

typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_status_t (*submit)(void *arg, dnnl_tp_event_t *done);
    void *arg;
} job_t;

/* A run between two stamps, where the stream writes them. */
typedef struct {
    dnnl_tp_event_t done;
    int64_t begin_ns, end_ns;
} timed_t;

static dnnl_tp_status_t submit_timed(const job_t *job, timed_t *run) {
    const dtp_stream_vtbl_t *v = job->stream->v;
    if (!v->stamp) return job->submit(job->arg, &run->done);
    DTP_TRY(v->stamp(job->stream, &run->begin_ns));
    DTP_TRY(job->submit(job->arg, &run->done));
    return v->stamp(job->stream, &run->end_ns);
}

/* n runs, n <= IN_FLIGHT, submitted one behind the other; their times. */
static dnnl_tp_status_t run_some(const job_t *job, int n, int64_t *ns) {
    timed_t run[IN_FLIGHT] = {{NULL, 0, 0}};
    const dtp_stream_vtbl_t *v = job->stream->v;
    dnnl_tp_status_t status = dnnl_tp_success;
    for (int i = 0; i < n && !status; ++i) status = submit_timed(job, &run[i]);
    if (v->stamp) { /* the stream writes to `run`, whatever has failed; a driver that lacks memory to wait is asked again */
        enum { TRIES = 3 };
        dnnl_tp_status_t waited = dnnl_tp_runtime_error;
        for (int i = 0; i < TRIES && waited; ++i) waited = v->wait(job->stream, -1);
        if (!status) status = waited;
    }
    for (int i = 0; i < n && run[i].done; ++i) {
        if (!status) status = dnnl_tp_event_wait(run[i].done, -1, NULL);
        ns[i] = v->stamp ? run[i].end_ns - run[i].begin_ns : run[i].done->end_ns - run[i].done->begin_ns;
        dtp_object_release(run[i].done);
    }
    return status;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static dnnl_tp_status_t run_warm(const job_t *job, const dnnl_tp_timed_run_opts_t *o, int64_t *ns,
                                 dnnl_tp_timing_t *t) {
    int64_t begin = dtp_now_ns();
    int n = 0;
    while (n < o->max_warm_runs && (n < o->min_warm_runs || dtp_now_ns() - begin < o->min_time_ns)) {
        int some = o->max_warm_runs - n < IN_FLIGHT ? o->max_warm_runs - n : IN_FLIGHT;
        DTP_TRY(run_some(job, some, ns + n));
        n += some;
    }
    t->warm_runs = n;
    t->wall_ns = (dtp_now_ns() - begin) / n;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += (double)ns[i];
    qsort(ns, (size_t)n, sizeof(*ns), by_size);
    t->mean_ns = (int64_t)(sum / n);
    t->min_ns = ns[0];
    t->median_ns = ns[n / 2];
    t->p90_ns = ns[(int64_t)n * 9 / 10];
    t->max_ns = ns[n - 1];
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_timed_run(dnnl_tp_stream_t stream,
                               dnnl_tp_status_t (*submit)(void *arg, dnnl_tp_event_t *done), void *arg,
                               const dnnl_tp_timed_run_opts_t *opts, dnnl_tp_timing_t *timing) {
    DTP_REQUIRE(timing, NULL_ARG, "timing is NULL");
    DTP_REQUIRE_SIZE(timing, "timing");
    dnnl_tp_timed_run_opts_t o = {0};
    if (opts) {
        DTP_REQUIRE_SIZE(opts, "options");
        o = *opts;
    }
    DTP_REQUIRE(o.cold_runs >= 0 && o.min_warm_runs >= 0 && o.max_warm_runs >= 0 && o.min_time_ns >= 0,
                BAD_COUNT, "a number is negative");
    if (!o.cold_runs) o.cold_runs = COLD_RUNS;
    if (!o.min_warm_runs) o.min_warm_runs = MIN_RUNS;
    if (!o.max_warm_runs) o.max_warm_runs = o.min_warm_runs > MAX_RUNS ? o.min_warm_runs : MAX_RUNS;
    if (!o.min_time_ns) o.min_time_ns = MIN_TIME_NS;
    DTP_TRY(stream->v->wait(stream, -1));
    const job_t job = {stream, submit, arg};
    dnnl_tp_timing_t t = {.struct_size = sizeof(t), .cold_runs = o.cold_runs};
    for (int i = 0; i < o.cold_runs; ++i) {
        int64_t ns = 0;
        DTP_TRY(run_some(&job, 1, &ns));
        if (i == 0) t.first_ns = ns;
        t.cold_max_ns = dtp_max64(t.cold_max_ns, ns);
    }
    size_t bytes = (size_t)o.max_warm_runs * sizeof(int64_t);
    int64_t *ns = dtp_alloc(NULL, bytes, 0);
    if (!ns) return dtp_no_memory(bytes);
    dnnl_tp_status_t status = run_warm(&job, &o, ns, &t);
    dtp_free(NULL, ns);
    if (status == dnnl_tp_success) *timing = t;
    return status;
}

/* ---- Primitives -------------------------------------------------------------------------------------- */

typedef struct {
    const_dnnl_tp_primitive_t primitive;
    dnnl_tp_stream_t stream;
    int nargs;
    const dnnl_tp_exec_handle_t *args;
} execution_t;

/* On a synchronous stream the event is done when it is recorded, and this thread did the work. */
static dnnl_tp_status_t submit_execution(void *arg, dnnl_tp_event_t *done) {
    const execution_t *x = arg;
    int64_t begin = dtp_now_ns();
    DTP_TRY(dnnl_tp_primitive_execute_handles(x->primitive, x->stream, x->nargs, x->args));
    int64_t end = dtp_now_ns();
    DTP_TRY(x->stream->v->record_event(x->stream, done));
    if (!(*done)->source) {
        (*done)->begin_ns = begin;
        (*done)->end_ns = end;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_primitive_timed_run(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream,
                                             int nargs, const dnnl_tp_exec_handle_t *args,
                                             const dnnl_tp_timed_run_opts_t *opts, dnnl_tp_timing_t *timing) {
    DTP_REQUIRE_HANDLE(primitive, DTP_OBJ_PRIMITIVE);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    execution_t x = {primitive, stream, nargs, args};
    DTP_RETURN(dtp_timed_run(stream, submit_execution, &x, opts, timing));
}
