/* The CPU stream: runs primitives on its caller and the threads of its pool (synchronous:
 * execute returns when the work is done), or queues them (asynchronous, by attribute or because
 * the pool says so: cpu_submit.c). Threads that use one stream at once: cpu_stream.h. */
#include "cpu/engine/cpu_stream.h"

#include "threading/base/sleeper.h"
#include "threading/streams/stream_attr.h"
#include "trace/primitive.h"

static __attribute__((cold, noinline)) void tell_fewer_threads(const dtp_cpu_stream_t *s, int num_threads) {
    dtp_verbose_line("info,cpu,exec,primitive was made for %d threads, the stream has %d", num_threads,
                     s->par.num_threads);
}

const dtp_parallel_t *dtp_cpu_stream_fewer(const dtp_cpu_stream_t *s, int num_threads, dtp_parallel_t *own) {
    if (num_threads > s->par.num_threads) {
        if (DTP_UNLIKELY(dtp_verbose_on(DTP_VERBOSE_DISPATCH))) tell_fewer_threads(s, num_threads);
        return &s->par;
    }
    *own = s->par;
    own->num_threads = num_threads;
    return own;
}

static void stream_drained(void *stream) {
    ((dtp_cpu_stream_t *)stream)->queue = NULL;
    dtp_object_release(stream);
}

/* Ends a stream that was given away, once. While a thread is inside it does nothing: that thread
 * ends the stream when it leaves. */
static void end_given_away(dtp_cpu_stream_t *s) {
    if (dtp_seats_close(&s->seats) != dnnl_tp_success) return;
    if (!s->queue) stream_drained(s);
    else dtp_queue_close_later(s->queue, stream_drained, s);
}

static __attribute__((cold, noinline)) void leave_given_away(dtp_cpu_stream_t *s, dtp_seat_t *seat) {
    dtp_object_retain(s); /* another thread may end it meanwhile */
    dtp_seat_leave(seat);
    end_given_away(s);
    dtp_object_release(s);
}

/* As dtp_seats_close, on any thread of the stream's own work: the seat of a run is its caller's, and
 * the run's other threads cannot wait until it is left either. */
static dnnl_tp_status_t close_seats(dtp_cpu_stream_t *s) {
    const dnnl_tp_status_t status = dtp_seats_close(&s->seats);
    if (status != dnnl_tp_invalid_arguments || !dtp_thread_is_inside()) return status;
    return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
}

/* What a call did may have given the stream away: then this thread sees it before it leaves. */
static inline void leave(dtp_cpu_stream_t *s, dtp_seat_t *seat) {
    if (DTP_LIKELY(!DTP_LOAD(&s->given_away, acquire))) dtp_seat_leave(seat);
    else leave_given_away(s, seat);
}

static void cpu_stream_give_away(dnnl_tp_stream_t stream) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    DTP_STORE(&s->given_away, true, seq_cst);
    end_given_away(s);
}

/* ---- Synchronous ------------------------------------------------------------------------------------- */

/* Runs a primitive that the stream's trace records. */
static __attribute__((noinline)) dnnl_tp_status_t run_traced(dtp_cpu_stream_t *s,
                                                             const dtp_primitive_t *primitive,
                                                             const dtp_parallel_t *par, void *const *ptrs,
                                                             const dtp_md_t *const *mds, char *scratch) {
    if (!dtp_trace_on(s->base.trace)) return dtp_primitive_run(primitive, par, ptrs, mds, scratch, -1);
    dtp_trace_work_t work;
    dtp_trace_primitive(&work, s->base.trace, s->base.trace_lane, primitive);
    int64_t begin = dtp_now_ns();
    return dtp_trace_primitive_run(&work, begin, 0, primitive, par, ptrs, mds, scratch);
}

static dnnl_tp_status_t cpu_stream_execute(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive,
                                           int nptrs, void *const *ptrs, const dtp_md_t *const *mds,
                                           const dtp_run_part_t *part) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    (void)part; /* runs execute their steps themselves */
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    dnnl_tp_status_t status = dnnl_tp_success;
    if (DTP_UNLIKELY(s->queue != NULL)) {
        status = dtp_cpu_submit(s, primitive, nptrs, ptrs, mds);
    } else {
        char *scratch = ptrs[nptrs];
        if (!scratch) {
            size_t bytes = dtp_pd_scratch_size(primitive->pd);
            if (DTP_UNLIKELY(bytes > seat->scratch_bytes))
                status = dtp_seat_grow_scratch(seat, s->base.engine->allocator, bytes);
            scratch = seat->scratch;
        }
        if (DTP_LIKELY(status == dnnl_tp_success)) {
            dtp_parallel_t own;
            const dtp_parallel_t *par = dtp_cpu_stream_parallel(s, primitive, &own);
            status = DTP_UNLIKELY(s->base.trace != NULL)
                         ? run_traced(s, primitive, par, ptrs, mds, scratch)
                         : dtp_primitive_run(primitive, par, ptrs, mds, scratch, -1);
        }
    }
    leave(s, seat);
    return status;
}

/* ---- Runs of graphs ---------------------------------------------------------------------------------- */

typedef struct {
    const dtp_stream_run_t *run;
    int64_t begin_ns;
} now_t;
static void run_now(void *arg, const dtp_parallel_t *par) {
    now_t *n = arg;
    if (!dtp_share_rests(n->run->share)) n->begin_ns = dtp_now_ns();
    n->run->fn(n->run->arg, par);
}

static unsigned run_flags(const struct dnnl_tp_stream *stream) {
    return stream->attr->admission ? DTP_RUN_ADMITTED : 0;
}

static dnnl_tp_status_t run_at_once(dtp_cpu_stream_t *s, const dtp_stream_run_t *run, dnnl_tp_event_t event) {
    int n = run->num_threads < s->run_threads ? run->num_threads : s->run_threads;
    now_t now = {run, dtp_now_ns()}; /* unless it is over before it begins */
    DTP_TRY(
        dtp_pool_run_share(s->par.pool, n, run_flags(&s->base), run->priority, run->share, run_now, &now));
    dnnl_tp_status_t result = run->end(run->arg, false);
    dtp_event_fire(dtp_object_retain(event), result, result ? dtp_last_text() : NULL, now.begin_ns,
                   dtp_now_ns());
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_submit_run(dnnl_tp_stream_t stream, const dtp_stream_run_t *run,
                                              dnnl_tp_event_t *event) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    *event = NULL;
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    dnnl_tp_status_t status = s->queue ? dtp_queue_event_of_next(s->queue, event)
                                       : dtp_event_create(event, &dtp_host_event, NULL, 0);
    if (status == dnnl_tp_success) {
        status = s->queue ? dtp_cpu_submit_run(s, run, *event) : run_at_once(s, run, *event);
        if (status != dnnl_tp_success) {
            dtp_object_release(*event);
            *event = NULL;
        }
    }
    leave(s, seat);
    return status;
}

/* ---- Events ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t cpu_stream_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    dnnl_tp_status_t status = dnnl_tp_success;
    if (!s->queue) {
        status = dtp_event_create(event, &dtp_host_event, NULL, 0);
        if (status == dnnl_tp_success) {
            int64_t now = dtp_now_ns();
            dtp_event_fire(dtp_object_retain(*event), dnnl_tp_success, NULL, now, now);
        }
    } else if (dtp_queue_dead(s->queue)) {
        status = dtp_refuse_parents("stream");
    } else {
        status = dtp_queue_record(s->queue, event);
    }
    leave(s, seat);
    return status;
}

static dnnl_tp_status_t cpu_stream_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    dnnl_tp_status_t status = s->queue ? dtp_cpu_submit_wait(s, event) : dnnl_tp_event_wait(event, -1, NULL);
    leave(s, seat);
    return status;
}

static dnnl_tp_status_t cpu_stream_reset(dnnl_tp_stream_t stream) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    if (s->queue) dtp_queue_reset(s->queue);
    leave(s, seat);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_query(dnnl_tp_stream_t stream, bool *idle, dnnl_tp_status_t *result) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    if (!s->queue) {
        *idle = !dtp_seats_taken(&s->seats, 0);
        return dnnl_tp_success;
    }
    DTP_TRY(dtp_queue_query(s->queue, idle));
    *result = dtp_queue_result(s->queue);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace,
                                             const char *name) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    DTP_TRY(close_seats(s));
    dtp_object_release(stream->trace); /* work in flight has references of its own */
    stream->trace = dtp_object_retain(trace);
    stream->trace_lane = trace ? dtp_trace_stream(trace, name) : 0;
    dtp_seats_open(&s->seats);
    return dnnl_tp_success;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t cpu_stream_wait(dnnl_tp_stream_t stream, int64_t timeout_ns) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    if (s->queue) return dtp_queue_wait(s->queue, timeout_ns);
    /* What this thread has called, and others of which it knows, has returned. */
    if (!dtp_seats_taken(&s->seats, dtp_thread_key())) return dnnl_tp_success;
    return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from the stream's own work");
}

static void cpu_stream_destroy(dtp_object_t *object) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)object;
    if (s->queue) (void)dtp_queue_close(s->queue, NULL, NULL); /* creation failed: nothing was submitted */
    if (s->base.engine) {
        dtp_cpu_free_blocks(s);
        dtp_free(s->base.engine->allocator, s->arena);
        dtp_seats_free(&s->seats, s->base.engine->allocator);
    }
    dtp_pool_release(s->par.pool);
    dtp_object_release(s->base.trace);
    dtp_object_release(s->base.attr);
    dtp_object_release(s->base.engine);
}

static dnnl_tp_status_t cpu_stream_close(dnnl_tp_stream_t stream) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    DTP_TRY(close_seats(s));
    dnnl_tp_status_t status = dnnl_tp_success;
    if (!s->queue) stream_drained(s);
    else status = dtp_queue_close(s->queue, stream_drained, s);
    if (status != dnnl_tp_success) dtp_seats_open(&s->seats);
    return status;
}

/* Pool, thread count and kind of execution from a resolved attribute. Keeps the old ones on
 * failure. */
static dnnl_tp_status_t use_pool_of(dtp_cpu_stream_t *s, const dtp_stream_attr_t *attr) {
    dtp_pool_t *pool;
    DTP_TRY(dtp_pool_acquire(&pool, attr));
    /* A child has no threads of its parent's pools: its streams there run on their callers. */
    bool async = pool && !dtp_pool_dead(pool) &&
                 (attr->async || (dtp_pool_flags(pool) & DNNL_TP_THREADPOOL_ASYNCHRONOUS));
    dtp_queue_t *queue = NULL;
    if (async) {
        dnnl_tp_status_t status = dtp_queue_create(&queue, pool, s->base.engine, attr->priority);
        if (status != dnnl_tp_success) {
            dtp_pool_release(pool);
            return status;
        }
    }
    int n = dtp_stream_attr_num_threads(attr, NULL);
    if (s->queue) (void)dtp_queue_close(s->queue, dtp_object_release, dtp_object_retain(s)); /* it is idle */
    dtp_pool_release(s->par.pool);
    s->queue = queue;
    DTP_STORE(&s->promised, s->arena_bytes, relaxed); /* what a parent's items promised never comes */
    s->par = (dtp_parallel_t){.pool = pool, .num_threads = n > 1 ? n : 1};
    n = dtp_stream_attr_run_threads(attr, NULL);
    s->run_threads = n > 1 ? n : 1;
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_set_pool(dnnl_tp_stream_t stream, const dtp_stream_attr_t *attr) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    DTP_TRY(close_seats(s));
    dnnl_tp_status_t status = dnnl_tp_success;
    bool idle = true;
    if (s->queue && !dtp_queue_dead(s->queue)) status = dtp_queue_query(s->queue, &idle);
    if (!idle) status = dtp_fail(dnnl_tp_invalid_arguments, DTP_BUSY_STREAM, "the stream has work");
    if (status == dnnl_tp_success) status = use_pool_of(s, attr);
    if (status == dnnl_tp_success) {
        dtp_stream_attr_drop(s->base.attr);
        dtp_stream_attr_assign(s->base.attr, attr);
    }
    dtp_seats_open(&s->seats);
    return status;
}

typedef void (*body_t)(void *arg, const struct dtp_parallel *par);

/* In its place among the items. */
static dnnl_tp_status_t run_in_order(dtp_cpu_stream_t *s, int num_threads, int priority,
                                     const dtp_share_t *share, body_t fn, void *arg) {
    dtp_submission_t *place = dtp_cpu_make_place(s);
    if (!place) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status = dtp_queue_hold(s->queue, place, share);
    if (status == dnnl_tp_success)
        status = dtp_pool_run_share(s->par.pool, num_threads, run_flags(&s->base), priority, share, fn, arg);
    else if (status == dnnl_tp_timed_out) status = dnnl_tp_success; /* share says why */
    dtp_queue_let_go(s->queue, place);
    return status;
}

static dnnl_tp_status_t cpu_stream_run(dnnl_tp_stream_t stream, int num_threads, int priority,
                                       const dtp_share_t *share, body_t fn, void *arg) {
    dtp_cpu_stream_t *s = (dtp_cpu_stream_t *)stream;
    dtp_seat_t *seat;
    DTP_TRY(dtp_cpu_stream_enter(s, &seat));
    if (num_threads > s->run_threads) num_threads = s->run_threads;
    dnnl_tp_status_t status =
        s->queue ? run_in_order(s, num_threads, priority, share, fn, arg)
                 : dtp_pool_run_share(s->par.pool, num_threads, run_flags(stream), priority, share, fn, arg);
    leave(s, seat);
    return status;
}

static const dtp_stream_vtbl_t cpu_stream_vtbl = {.execute = cpu_stream_execute,
                                                  .wait = cpu_stream_wait,
                                                  .set_pool = cpu_stream_set_pool,
                                                  .close = cpu_stream_close,
                                                  .give_away = cpu_stream_give_away,
                                                  .run = cpu_stream_run,
                                                  .submit_run = cpu_stream_submit_run,
                                                  .record_event = cpu_stream_record_event,
                                                  .wait_event = cpu_stream_wait_event,
                                                  .query = cpu_stream_query,
                                                  .reset = cpu_stream_reset,
                                                  .set_trace = cpu_stream_set_trace};

/* The attribute of the stream: what the caller said, and the engine's pool where he named none. */
static dnnl_tp_status_t resolve_attr(dtp_cpu_stream_t *s, const dtp_stream_attr_t *attr) {
    const dtp_stream_attr_t *fallback = s->base.engine->stream_attr;
    DTP_TRY(dnnl_tp_stream_attr_create(&s->base.attr, dnnl_tp_cpu));
    dtp_stream_attr_t *own = s->base.attr;
    bool own_pool = attr && attr->pool_kind != dnnl_tp_pool_kind_unset;
    if (own_pool || !fallback) {
        if (attr) dtp_stream_attr_assign(own, attr);
        return dtp_stream_attr_default(own);
    }
    dtp_stream_attr_assign(own, fallback);
    if (own->pool) own->pool_kind = dnnl_tp_pool_kind_engine_default;
    if (attr) {
        own->max_threads = attr->max_threads ? attr->max_threads : own->max_threads;
        own->parallelism = attr->parallelism;
        own->admission = attr->admission;
        own->async = attr->async;
        own->priority = attr->priority;
    }
    return dtp_stream_attr_default(own);
}

dnnl_tp_status_t dtp_cpu_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                       const dtp_stream_attr_t *attr) {
    *stream = NULL;
    dtp_cpu_stream_t *s =
        dtp_object_create(engine->allocator, sizeof(*s), DTP_OBJ_STREAM, cpu_stream_destroy);
    if (!s) return dnnl_tp_out_of_memory;
    s->base.engine = dtp_object_retain(engine);
    s->base.v = &cpu_stream_vtbl;
    s->base.flags = flags;
    s->par.num_threads = s->run_threads = 1;
    dnnl_tp_status_t status = resolve_attr(s, attr);
    if (status == dnnl_tp_success) status = use_pool_of(s, s->base.attr);
    if (status != dnnl_tp_success) {
        dtp_object_release(s);
        return status;
    }
    if (dtp_verbose_on(DTP_VERBOSE_CREATE)) {
        static const char *const kinds[] = {"none",    "sequential",     "user",
                                            "builtin", "engine_default", "runtime"};
        dtp_verbose_line("create,stream,cpu,pool:%s,threads:%d,%s", kinds[s->base.attr->pool_kind],
                         s->par.num_threads, s->queue ? "async" : "sync");
    }
    *stream = &s->base;
    return dnnl_tp_success;
}
