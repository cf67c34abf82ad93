/* Submission to asynchronous CPU streams: blocks with copies of pointers and run-time
 * descriptors, and of runs of graphs. Blocks are kept, so that as many items in flight as there
 * were before allocate nothing. Who may touch what: cpu_stream.h; the order of items:
 * threading/streams/queue.h. */
#include "cpu/engine/cpu_stream.h"

#include "threading/base/sleeper.h"
#include "trace/primitive.h"

/* A submission block. Owned by the queue while submitted, by the stream's free list otherwise. */
typedef struct cpu_block {
    dtp_submission_t item;
    struct cpu_block *next_free;
    dtp_cpu_stream_t *stream;
    int capacity; /* pointers that fit */
    int nptrs;
    const dtp_primitive_t *primitive; /* retained while submitted; NULL: an item without work */
    char *grown;                      /* an arena of so many bytes, or NULL */
    size_t grown_bytes;
    dtp_trace_work_t traced; /* trace: retained, NULL = none */
    int64_t submit_ns;       /* with a trace */
    void **ptrs;             /* capacity + 1: the last is the user's scratchpad */
    const dtp_md_t **mds;    /* NULL or parallel to ptrs, into md */
    dtp_md_t *md;            /* capacity, or NULL: made when first needed */
} block_t;

/* ---- Executions -------------------------------------------------------------------------------------- */

static void block_destroy(dtp_cpu_stream_t *s, block_t *block) {
    dtp_free(s->base.engine->allocator, block->md);
    dtp_free(s->base.engine->allocator, block);
}

static void block_recycle(dtp_submission_t *item) {
    block_t *block = (block_t *)item;
    dtp_cpu_stream_t *s = block->stream;
    dtp_lock(&s->free_lock);
    block->next_free = s->free;
    s->free = block;
    dtp_unlock(&s->free_lock);
}

/* Keeps the larger one: of two threads that submit at once, the one with more to bring may come
 * first. */
static void install(dtp_cpu_stream_t *s, block_t *block) {
    char *smaller = block->grown;
    if (block->grown_bytes > s->arena_bytes) {
        smaller = s->arena;
        s->arena = block->grown;
        s->arena_bytes = block->grown_bytes;
    }
    block->grown = NULL;
    dtp_free(s->base.engine->allocator, smaller);
}

static dnnl_tp_status_t block_run(dtp_submission_t *item, const dtp_parallel_t *par) {
    block_t *block = (block_t *)item;
    dtp_cpu_stream_t *s = block->stream;
    if (block->grown) install(s, block);
    dnnl_tp_status_t status = dnnl_tp_success;
    if (par && block->primitive) {
        char *scratch = block->ptrs[block->nptrs] ? block->ptrs[block->nptrs] : s->arena;
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
static block_t *block_take(dtp_cpu_stream_t *s, int nptrs) {
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

static dnnl_tp_status_t block_copy_mds(dtp_cpu_stream_t *s, block_t *block, int nptrs,
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

static void raise_promise(dtp_cpu_stream_t *s, size_t bytes) {
    size_t promised = DTP_LOAD(&s->promised, relaxed);
    while (promised < bytes && !DTP_CAS_WEAK(&s->promised, &promised, bytes, release)) continue;
}

dnnl_tp_status_t dtp_cpu_submit(dtp_cpu_stream_t *s, const dtp_primitive_t *primitive, int nptrs,
                                void *const *ptrs, const dtp_md_t *const *mds) {
    if (dtp_queue_dead(s->queue)) return dtp_refuse_parents("stream");
    block_t *block = block_take(s, nptrs + primitive->pd->n_scalars);
    if (!block) return dnnl_tp_out_of_memory;
    dnnl_tp_status_t status = block_copy_mds(s, block, nptrs, mds);
    size_t bytes = ptrs[nptrs] ? 0 : dtp_pd_scratch_size(primitive->pd);
    const bool grows = status == dnnl_tp_success && bytes > DTP_LOAD(&s->promised, acquire);
    if (grows) {
        block->grown = dtp_alloc(s->base.engine->allocator, bytes, DTP_CACHE_LINE);
        block->grown_bytes = bytes;
        if (!block->grown) status = dtp_no_memory(bytes);
    }
    if (status != dnnl_tp_success) {
        block_recycle(&block->item);
        return status;
    }
    memcpy(block->ptrs, ptrs, (size_t)(nptrs + 1) * sizeof(*ptrs));
    if (primitive->pd->n_scalars) dtp_pd_keep_scalars(primitive->pd, block->ptrs, block->ptrs + nptrs + 1);
    block->nptrs = nptrs;
    block->primitive = dtp_object_retain((void *)primitive);
    if (DTP_UNLIKELY(s->base.trace != NULL) && dtp_trace_on(s->base.trace)) {
        dtp_trace_primitive(&block->traced, dtp_object_retain(s->base.trace), s->base.trace_lane, primitive);
        block->submit_ns = dtp_now_ns();
    }
    dtp_parallel_t own;
    block->item.num_threads = dtp_cpu_stream_parallel(s, primitive, &own)->num_threads;
    block->item.wait = NULL;
    /* From here on another thread may run the item: this one does not touch the block again. */
    status = dtp_queue_submit(s->queue, &block->item);
    if (DTP_UNLIKELY(grows)) raise_promise(s, bytes);
    return status;
}

/* ---- Items without work ------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_cpu_submit_wait(dtp_cpu_stream_t *s, dnnl_tp_event_t event) {
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

dtp_submission_t *dtp_cpu_make_place(dtp_cpu_stream_t *s) {
    block_t *block = block_take(s, 0);
    if (!block) return NULL;
    block->item.num_threads = 0;
    block->item.wait = NULL;
    return &block->item;
}

/* ---- Runs of graphs ---------------------------------------------------------------------------------- */

typedef struct cpu_run_block {
    dtp_submission_t item;
    struct cpu_run_block *next_free;
    dtp_cpu_stream_t *stream;
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

/* False: the host says done, now or later. */
static bool tell_end(run_block_t *block) {
    return !dtp_pool_end_run(block->stream->queue->rec, block->item.cookie, block->item.status, false,
                             run_block_host_done, block);
}
static void run_block_settled(void *arg) {
    if (tell_end(arg)) run_block_host_done(arg);
}
/* The host hears of the end of its run once nothing more is scheduled for it. */
static bool run_block_finish(dtp_submission_t *item, dnnl_tp_status_t status) {
    run_block_t *block = (run_block_t *)item;
    (void)status;
    if (!block->host_run) return true;
    if (!dtp_pending_settle_or(&block->stream->queue->work, run_block_settled, block)) return false;
    return tell_end(block);
}

static void run_block_recycle(dtp_submission_t *item) {
    run_block_t *block = (run_block_t *)item;
    dtp_cpu_stream_t *s = block->stream;
    dtp_lock(&s->free_lock);
    block->next_free = s->free_runs;
    s->free_runs = block;
    dtp_unlock(&s->free_lock);
}

static run_block_t *run_block_take(dtp_cpu_stream_t *s) {
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

/* Nothing fails behind run_begin. */
dnnl_tp_status_t dtp_cpu_submit_run(dtp_cpu_stream_t *s, const dtp_stream_run_t *run, dnnl_tp_event_t event) {
    run_block_t *block = run_block_take(s);
    if (!block) return dnnl_tp_out_of_memory;
    block->run = *run;
    block->item.num_threads = run->num_threads < s->run_threads ? run->num_threads : s->run_threads;
    block->item.priority = run->priority;
    block->item.share = run->share;
    block->item.cookie = NULL;
    dnnl_tp_status_t status = dtp_pool_begin_run(s->par.pool, false, &block->item.cookie, &block->host_run);
    if (status == dnnl_tp_success) dtp_queue_submit_with(s->queue, &block->item, event);
    else run_block_recycle(&block->item);
    return status;
}

void dtp_cpu_free_blocks(dtp_cpu_stream_t *s) {
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
