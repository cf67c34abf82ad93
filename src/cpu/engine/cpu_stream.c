/* The CPU stream: runs primitives on its caller and the threads of its pool, or queues them.
 *
 * Synchronous: execute returns when the work is done. Asynchronous (attribute, or a pool that says so):
 * execute copies pointers and run-time descriptors into a submission block and returns; src/threading/streams/queue.c
 * runs the blocks in order. Scratch is one arena per stream: it grows when an execution needs more than any
 * before it, else nothing is allocated. A second thread on the stream, or the stream's own work, is refused
 * by the busy flag. */
#include "cpu/engine/cpu_engine.h"

#include "threading/base/sleeper.h"
#include "threading/streams/queue.h"
#include "threading/streams/stream_attr.h"
#include "trace/primitive.h"

struct cpu_stream;

/* A submission block. Owned by the queue while submitted, by the stream's free list otherwise. */
typedef struct block {
    dtp_submission_t item;
    struct block *next_free;
    struct cpu_stream *stream;
    int capacity; /* pointers that fit */
    int nptrs;
    const dtp_primitive_t *primitive; /* retained while submitted; NULL: only waits for an event */
    char *grown;                      /* arena that this block installs when it runs, or NULL */
    dtp_trace_work_t traced;          /* trace: retained, NULL = none */
    int64_t submit_ns;                /* with a trace */
    void **ptrs;                      /* capacity + 1: the last is the user's scratchpad */
    const dtp_md_t **mds;             /* NULL or parallel to ptrs, into md */
    dtp_md_t *md;                     /* capacity, or NULL: made when first needed */
} block_t;

typedef struct cpu_stream {
    struct dnnl_tp_stream base;
    dtp_parallel_t par;     /* pool and the most threads of a primitive; pool retained */
    int run_threads;        /* the same of a run of a graph */
    _Atomic uintptr_t busy; /* thread that is inside, 0 = none */
    dtp_queue_t *queue;     /* NULL: synchronous */
    char *scratch;
    size_t scratch_bytes; /* promised: of the arena, or of the one that a submitted block installs */
    dtp_lock_t free_lock;
    block_t *free;
    struct run_block *free_runs;
} cpu_stream_t;

static __attribute__((cold, noinline)) dnnl_tp_status_t refuse_busy(uintptr_t holder) {
    if (holder == dtp_thread_key())
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "the stream is executing this very work");
    return dtp_fail(dnnl_tp_invalid_arguments, DTP_BUSY_STREAM, "one thread at a time");
}
static inline dnnl_tp_status_t stream_enter(cpu_stream_t *s) {
    uintptr_t holder = 0;
    if (DTP_LIKELY(atomic_compare_exchange_strong_explicit(&s->busy, &holder, dtp_thread_key(),
                                                           memory_order_acquire, memory_order_relaxed)))
        return dnnl_tp_success;
    return refuse_busy(holder);
}
static inline void stream_leave(cpu_stream_t *s) {
    atomic_store_explicit(&s->busy, (uintptr_t)0, memory_order_release);
}

static __attribute__((cold, noinline)) void tell_fewer_threads(const cpu_stream_t *s,
                                                               const dtp_primitive_t *primitive) {
    dtp_verbose_line("info,cpu,exec,primitive was made for %d threads, the stream has %d",
                     primitive->pd->num_threads, s->par.num_threads);
}

/* The stream's threads, or fewer in *own where the primitive was made for fewer. */
static inline const dtp_parallel_t *parallel_of(const cpu_stream_t *s, const dtp_primitive_t *primitive,
                                                dtp_parallel_t *own) {
    const int n = primitive->pd->num_threads;
    if (DTP_LIKELY(n == s->par.num_threads)) return &s->par;
    if (n > s->par.num_threads) {
        if (DTP_UNLIKELY(dtp_verbose_on(DTP_VERBOSE_DISPATCH))) tell_fewer_threads(s, primitive);
        return &s->par;
    }
    *own = s->par;
    own->num_threads = n;
    return own;
}

/* ---- Synchronous ------------------------------------------------------------------------------------- */

static __attribute__((cold, noinline)) dnnl_tp_status_t grow_scratch(cpu_stream_t *s, size_t bytes) {
    const dnnl_tp_allocator_t *allocator = s->base.engine->allocator;
    char *grown = dtp_alloc(allocator, bytes, DTP_CACHE_LINE);
    if (!grown) return dtp_no_memory(bytes);
    dtp_free(allocator, s->scratch);
    s->scratch = grown;
    s->scratch_bytes = bytes;
    return dnnl_tp_success;
}

static dnnl_tp_status_t stream_submit(cpu_stream_t *s, const dtp_primitive_t *primitive, int nptrs,
                                      void *const *ptrs, const dtp_md_t *const *mds);

/* Runs a primitive that the stream's trace records. */
static __attribute__((noinline)) dnnl_tp_status_t run_traced(cpu_stream_t *s,
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
    cpu_stream_t *s = (cpu_stream_t *)stream;
    (void)part; /* runs execute their steps themselves */
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = dnnl_tp_success;
    if (DTP_UNLIKELY(s->queue != NULL)) {
        status = stream_submit(s, primitive, nptrs, ptrs, mds);
    } else {
        char *scratch = ptrs[nptrs];
        if (!scratch) {
            size_t bytes = dtp_pd_scratch_size(primitive->pd);
            if (DTP_UNLIKELY(bytes > s->scratch_bytes)) status = grow_scratch(s, bytes);
            scratch = s->scratch;
        }
        if (DTP_LIKELY(status == dnnl_tp_success)) {
            dtp_parallel_t own;
            const dtp_parallel_t *par = parallel_of(s, primitive, &own);
            status = DTP_UNLIKELY(s->base.trace != NULL)
                         ? run_traced(s, primitive, par, ptrs, mds, scratch)
                         : dtp_primitive_run(primitive, par, ptrs, mds, scratch, -1);
        }
    }
    stream_leave(s);
    return status;
}

/* ---- Asynchronous ------------------------------------------------------------------------------------ */

static void block_destroy(cpu_stream_t *s, block_t *block) {
    dtp_free(s->base.engine->allocator, block->md);
    dtp_free(s->base.engine->allocator, block);
}

static void block_recycle(dtp_submission_t *item) {
    block_t *block = (block_t *)item;
    cpu_stream_t *s = block->stream;
    dtp_lock(&s->free_lock);
    block->next_free = s->free;
    s->free = block;
    dtp_unlock(&s->free_lock);
}

static dnnl_tp_status_t block_run(dtp_submission_t *item, const dtp_parallel_t *par) {
    block_t *block = (block_t *)item;
    cpu_stream_t *s = block->stream;
    if (block->grown) {
        dtp_free(s->base.engine->allocator, s->scratch);
        s->scratch = block->grown;
        block->grown = NULL;
    }
    dnnl_tp_status_t status = dnnl_tp_success;
    if (par && block->primitive) {
        char *scratch = block->ptrs[block->nptrs] ? block->ptrs[block->nptrs] : s->scratch;
        if (DTP_LIKELY(!block->traced.trace))
            status = dtp_primitive_run(block->primitive, par, block->ptrs, block->mds, scratch, -1);
        else
            status = dtp_trace_primitive_run(&block->traced, item->begin_ns, block->submit_ns,
                                             block->primitive, par, block->ptrs, block->mds, scratch);
    }
    if (DTP_UNLIKELY(block->traced.trace != NULL)) {
        dtp_object_release(block->traced.trace);
        block->traced.trace = NULL;
    }
    dtp_object_release((void *)block->primitive);
    block->primitive = NULL;
    return status;
}

/* A free block with room for nptrs pointers, from the list or new. */
static block_t *block_take(cpu_stream_t *s, int nptrs) {
    dtp_lock(&s->free_lock);
    block_t **at = &s->free;
    while (*at && (*at)->capacity < nptrs) at = &(*at)->next_free;
    block_t *block = *at;
    if (block) *at = block->next_free;
    dtp_unlock(&s->free_lock);
    if (block) return block;
    enum { LEAST_CAPACITY = 8 };
    int capacity = nptrs < LEAST_CAPACITY ? LEAST_CAPACITY : nptrs;
    size_t bytes = sizeof(*block) + (size_t)(capacity + 1) * sizeof(void *);
    block = dtp_zalloc(s->base.engine->allocator, bytes, DTP_CACHE_LINE);
    if (!block) {
        (void)dtp_no_memory(bytes);
        return NULL;
    }
    block->item.run = block_run;
    block->item.recycle = block_recycle;
    block->stream = s;
    block->capacity = capacity;
    block->ptrs = (void **)(block + 1);
    return block;
}

static dnnl_tp_status_t block_copy_mds(cpu_stream_t *s, block_t *block, int nptrs,
                                       const dtp_md_t *const *mds) {
    block->mds = NULL;
    if (!mds) return dnnl_tp_success;
    if (!block->md) {
        size_t n = (size_t)block->capacity;
        size_t bytes = n * (sizeof(dtp_md_t) + sizeof(dtp_md_t *));
        block->md = dtp_zalloc(s->base.engine->allocator, bytes, DTP_CACHE_LINE);
        if (!block->md) return dtp_no_memory(bytes);
    }
    block->mds = (const dtp_md_t **)(block->md + block->capacity);
    for (int i = 0; i < nptrs; ++i) {
        if (mds[i]) block->md[i] = *mds[i];
        block->mds[i] = mds[i] ? &block->md[i] : NULL;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t stream_submit(cpu_stream_t *s, const dtp_primitive_t *primitive, int nptrs,
                                      void *const *ptrs, const dtp_md_t *const *mds) {
    if (dtp_queue_dead(s->queue)) return dtp_refuse_parents("stream");
    block_t *block = block_take(s, nptrs);
    if (!block) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status = block_copy_mds(s, block, nptrs, mds);
    size_t bytes = ptrs[nptrs] ? 0 : dtp_pd_scratch_size(primitive->pd);
    if (status == dnnl_tp_success && bytes > s->scratch_bytes) {
        block->grown = dtp_alloc(s->base.engine->allocator, bytes, DTP_CACHE_LINE);
        if (block->grown) s->scratch_bytes = bytes;
        else status = dtp_no_memory(bytes);
    }
    if (status != dnnl_tp_success) {
        block_recycle(&block->item);
        return status;
    }
    memcpy(block->ptrs, ptrs, (size_t)(nptrs + 1) * sizeof(*ptrs));
    block->nptrs = nptrs;
    block->primitive = dtp_object_retain((void *)primitive);
    if (DTP_UNLIKELY(s->base.trace != NULL) && dtp_trace_on(s->base.trace)) {
        dtp_trace_primitive(&block->traced, dtp_object_retain(s->base.trace), s->base.trace_lane, primitive);
        block->submit_ns = dtp_now_ns();
    }
    dtp_parallel_t own;
    block->item.num_threads = parallel_of(s, primitive, &own)->num_threads;
    block->item.wait = NULL;
    /* From here on another thread may be inside: this one does not touch the block again. */
    return dtp_queue_submit(s->queue, &block->item);
}

/* ---- Runs of graphs ---------------------------------------------------------------------------------- */

typedef struct run_block {
    dtp_submission_t item;
    struct run_block *next_free;
    struct cpu_stream *stream;
    dtp_stream_run_t run;
    bool host_run; /* run_begin was called */
} run_block_t;

static dnnl_tp_status_t run_block_run(dtp_submission_t *item, const dtp_parallel_t *par) {
    run_block_t *block = (run_block_t *)item;
    if (par) block->run.fn(block->run.arg, par);
    if (DTP_UNLIKELY(dtp_share_rests(block->run.share))) return dnnl_tp_success;
    dtp_queue_run_ends(block->stream->queue, item);
    return block->run.end(block->run.arg, par == NULL);
}

static void run_block_host_done(void *arg) {
    run_block_t *block = arg;
    dtp_queue_item_done(block->stream->queue, &block->item);
}

/* The host hears of the end of its run once nothing more is scheduled for it. */
static bool run_block_finish(dtp_submission_t *item, dnnl_tp_status_t status) {
    run_block_t *block = (run_block_t *)item;
    dtp_queue_t *queue = block->stream->queue;
    const dnnl_tp_threadpool_iface_t *iface = &queue->rec->iface;
    if (!block->host_run || !iface->run_end) return true;
    dtp_pending_settle(&queue->work);
    iface->run_end(iface->ctx, item->cookie, (int)status, 0, run_block_host_done, block);
    return false;
}

static void run_block_recycle(dtp_submission_t *item) {
    run_block_t *block = (run_block_t *)item;
    cpu_stream_t *s = block->stream;
    dtp_lock(&s->free_lock);
    block->next_free = s->free_runs;
    s->free_runs = block;
    dtp_unlock(&s->free_lock);
}

static run_block_t *run_block_take(cpu_stream_t *s) {
    dtp_lock(&s->free_lock);
    run_block_t *block = s->free_runs;
    if (block) s->free_runs = block->next_free;
    dtp_unlock(&s->free_lock);
    if (block) return block;
    block = dtp_zalloc(s->base.engine->allocator, sizeof(*block), DTP_CACHE_LINE);
    if (!block) {
        (void)dtp_no_memory(sizeof(*block));
        return NULL;
    }
    block->item.run = run_block_run;
    block->item.finish = run_block_finish;
    block->item.recycle = run_block_recycle;
    block->item.whole_run = true;
    block->stream = s;
    return block;
}

/* event: of the next item. Nothing fails behind run_begin. */
static dnnl_tp_status_t queue_run(cpu_stream_t *s, const dtp_stream_run_t *run, dnnl_tp_event_t event) {
    run_block_t *block = run_block_take(s);
    if (!block) return dnnl_tp_out_of_memory;
    block->run = *run;
    block->item.num_threads = run->num_threads < s->run_threads ? run->num_threads : s->run_threads;
    block->item.priority = run->priority;
    block->item.share = run->share;
    block->item.cookie = NULL;
    dnnl_tp_status_t status = dtp_pool_begin_run(s->par.pool, &block->item.cookie, &block->host_run);
    if (status == dnnl_tp_success) dtp_queue_submit_with(s->queue, &block->item, event);
    else run_block_recycle(&block->item);
    return status;
}

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

static dnnl_tp_status_t run_at_once(cpu_stream_t *s, const dtp_stream_run_t *run, dnnl_tp_event_t event) {
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
    cpu_stream_t *s = (cpu_stream_t *)stream;
    *event = NULL;
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = s->queue ? dtp_queue_event_of_next(s->queue, event)
                                       : dtp_event_create(event, &dtp_host_event, NULL, 0);
    if (status == dnnl_tp_success) {
        status = s->queue ? queue_run(s, run, *event) : run_at_once(s, run, *event);
        if (status != dnnl_tp_success) {
            dtp_object_release(*event);
            *event = NULL;
        }
    }
    stream_leave(s);
    return status;
}

/* ---- Events ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t cpu_stream_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
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
    stream_leave(s);
    return status;
}

/* A block without work whose turn comes when the event is done. */
static dnnl_tp_status_t submit_wait(cpu_stream_t *s, dnnl_tp_event_t event) {
    if (dtp_queue_dead(s->queue)) return dtp_refuse_parents("stream");
    if (dtp_event_is_done(event) && dtp_event_status(event) == dnnl_tp_success) return dnnl_tp_success;
    block_t *block = block_take(s, 0);
    if (!block) return dnnl_tp_out_of_memory;
    block->item.num_threads = 0;
    dnnl_tp_status_t status = dtp_queue_wait_event(s->queue, &block->item, event);
    if (status == dnnl_tp_success) return dtp_queue_submit(s->queue, &block->item);
    block_recycle(&block->item);
    return status;
}

static dnnl_tp_status_t cpu_stream_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = s->queue ? submit_wait(s, event) : dnnl_tp_event_wait(event, -1, NULL);
    stream_leave(s);
    return status;
}

static dnnl_tp_status_t cpu_stream_reset(dnnl_tp_stream_t stream) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    if (s->queue) dtp_queue_reset(s->queue);
    stream_leave(s);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_query(dnnl_tp_stream_t stream, bool *idle, dnnl_tp_status_t *result) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    if (!s->queue) {
        *idle = atomic_load_explicit(&s->busy, memory_order_relaxed) == 0;
        return dnnl_tp_success;
    }
    DTP_TRY(dtp_queue_query(s->queue, idle));
    *result = dtp_queue_result(s->queue);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace,
                                             const char *name) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    dtp_object_release(stream->trace); /* work in flight has references of its own */
    stream->trace = dtp_object_retain(trace);
    stream->trace_lane = trace ? dtp_trace_stream(trace, name) : 0;
    stream_leave(s);
    return dnnl_tp_success;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t cpu_stream_wait(dnnl_tp_stream_t stream, int64_t timeout_ns) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    if (s->queue) return dtp_queue_wait(s->queue, timeout_ns);
    uintptr_t holder = atomic_load_explicit(&s->busy, memory_order_relaxed);
    return holder == dtp_thread_key() ? refuse_busy(holder) : dnnl_tp_success;
}

static void free_blocks(cpu_stream_t *s) {
    while (s->free_runs) {
        run_block_t *block = s->free_runs;
        s->free_runs = block->next_free;
        dtp_free(s->base.engine->allocator, block);
    }
    while (s->free) {
        block_t *block = s->free;
        s->free = block->next_free;
        block_destroy(s, block);
    }
}

static void cpu_stream_destroy(dtp_object_t *object) {
    cpu_stream_t *s = (cpu_stream_t *)object;
    if (s->queue) (void)dtp_queue_close(s->queue, NULL, NULL); /* creation failed: nothing was submitted */
    if (s->base.engine) {
        free_blocks(s);
        dtp_free(s->base.engine->allocator, s->scratch);
    }
    dtp_pool_release(s->par.pool);
    dtp_object_release(s->base.trace);
    dtp_object_release(s->base.attr);
    dtp_object_release(s->base.engine);
}

static void stream_drained(void *stream) {
    ((cpu_stream_t *)stream)->queue = NULL;
    dtp_object_release(stream);
}
static dnnl_tp_status_t cpu_stream_close(dnnl_tp_stream_t stream) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = dnnl_tp_success;
    if (!s->queue) stream_drained(s);
    else status = dtp_queue_close(s->queue, stream_drained, s);
    if (status != dnnl_tp_success) stream_leave(s);
    return status;
}

/* Pool, thread count and kind of execution from a resolved attribute. Keeps the old ones on failure. */
static dnnl_tp_status_t use_pool_of(cpu_stream_t *s, const dtp_stream_attr_t *attr) {
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
    s->par = (dtp_parallel_t){pool, n > 1 ? n : 1, NULL};
    n = dtp_stream_attr_run_threads(attr, NULL);
    s->run_threads = n > 1 ? n : 1;
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_set_pool(dnnl_tp_stream_t stream, const dtp_stream_attr_t *attr) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = dnnl_tp_success;
    bool idle = true;
    if (s->queue && !dtp_queue_dead(s->queue)) status = dtp_queue_query(s->queue, &idle);
    if (!idle) status = dtp_fail(dnnl_tp_invalid_arguments, DTP_BUSY_STREAM, "the stream has work");
    if (status == dnnl_tp_success) status = use_pool_of(s, attr);
    if (status == dnnl_tp_success) {
        dtp_stream_attr_drop(s->base.attr);
        dtp_stream_attr_assign(s->base.attr, attr);
    }
    stream_leave(s);
    return status;
}

static dnnl_tp_status_t cpu_stream_run(dnnl_tp_stream_t stream, int num_threads, int priority,
                                       const dtp_share_t *share,
                                       void (*fn)(void *arg, const struct dtp_parallel *par), void *arg) {
    cpu_stream_t *s = (cpu_stream_t *)stream;
    DTP_TRY(stream_enter(s));
    dnnl_tp_status_t status = s->queue ? dtp_queue_wait_earlier(s->queue, share) : dnnl_tp_success;
    if (num_threads > s->run_threads) num_threads = s->run_threads;
    if (status == dnnl_tp_success)
        status = dtp_pool_run_share(s->par.pool, num_threads, run_flags(stream), priority, share, fn, arg);
    else if (status == dnnl_tp_timed_out) status = dnnl_tp_success; /* share says why */
    stream_leave(s);
    return status;
}

static const dtp_stream_vtbl_t cpu_stream_vtbl = {.execute = cpu_stream_execute,
                                                  .wait = cpu_stream_wait,
                                                  .set_pool = cpu_stream_set_pool,
                                                  .close = cpu_stream_close,
                                                  .run = cpu_stream_run,
                                                  .submit_run = cpu_stream_submit_run,
                                                  .record_event = cpu_stream_record_event,
                                                  .wait_event = cpu_stream_wait_event,
                                                  .query = cpu_stream_query,
                                                  .reset = cpu_stream_reset,
                                                  .set_trace = cpu_stream_set_trace};

/* The attribute of the stream: what the caller said, and the engine's pool where he named none. */
static dnnl_tp_status_t resolve_attr(cpu_stream_t *s, const dtp_stream_attr_t *attr) {
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
    cpu_stream_t *s = dtp_object_create(engine->allocator, sizeof(*s), DTP_OBJ_STREAM, cpu_stream_destroy);
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
