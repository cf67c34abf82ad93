/* Streams of the CUDA engine: primitives, copies and runs of graphs are submitted to a CUDA stream; a line (gpu_line.h) knows how
 * far it has come. Executions outside runs note what is wrong in their data in a word of the line.
 *
 * Several threads may submit at once. An execution is submitted under the line's `order`: its kernels stand side by side in
 * the CUDA stream, so they have the line's scratch to themselves. Runs of graphs are submitted step by step, and
 * steps of two runs may take turns: each run has memory of its own. */
#include "gpu/engine/gpu_stream.h"

#include "gpu/driver/nvtx.h"
#include "threading/pools/record.h"
#include "threading/streams/stream_attr.h"
#include "threading/streams/sync.h"

typedef struct gpu_stream {
    struct dnnl_tp_stream base;
    dtp_gpu_line_t *line;
    struct gpu_stream *next_given; /* of those that were given away */
} gpu_stream_t;
static dtp_gpu_line_t *line_of(dnnl_tp_stream_t stream) { return ((gpu_stream_t *)stream)->line; }

dtp_cu_stream_t dtp_gpu_stream_of(dnnl_tp_stream_t stream, dtp_gpu_t **gpu) {
    dtp_gpu_line_t *line = line_of(stream);
    *gpu = line->gpu;
    return line->stream;
}

void dtp_gpu_stream_share(dnnl_tp_stream_t stream) { atomic_store(&line_of(stream)->is_shared, true); }

/* ---- Primitives -------------------------------------------------------------------------------------- */

/* Grows in the order of the stream: what was submitted keeps the memory that it uses. What may have been captured keeps it as long as
 * the stream is there. */
static dnnl_tp_status_t ensure_scratch(dtp_gpu_line_t *line, size_t bytes) {
    if (DTP_LIKELY(bytes <= line->scratch_bytes)) return dnnl_tp_success;
    void *grown;
    struct kept_scratch *kept = NULL;
    DTP_TRY(dtp_gpu_line_not_captured(line));
    if (line->scratch && atomic_load_explicit(&line->is_shared, memory_order_relaxed) &&
        !(kept = dtp_alloc(NULL, sizeof *kept, 0)))
        return dtp_no_memory(sizeof *kept);
    const dnnl_tp_status_t status = dtp_gpu_alloc_on(line->engine, bytes, line->stream, &grown);
    if (status) {
        dtp_free(NULL, kept);
        return status;
    }
    if (kept) {
        *kept = (struct kept_scratch){line->kept, line->scratch};
        line->kept = kept;
    } else {
        dtp_gpu_free_on(line->engine, line->scratch, line->stream);
    }
    line->scratch = grown;
    line->scratch_bytes = bytes;
    return dnnl_tp_success;
}

static dnnl_tp_status_t ensure_word(dtp_gpu_line_t *line) {
    if (line->word) return dnnl_tp_success;
    void *word;
    DTP_TRY(dtp_gpu_line_not_captured(line));
    DTP_TRY(dtp_gpu_alloc_on(line->engine, sizeof *line->word, line->stream, &word));
    const dnnl_tp_status_t status =
        DTP_CU(line->gpu, cuMemsetD8Async, dtp_cu_ptr(word), 0, sizeof *line->word, line->stream);
    if (status) dtp_gpu_free_on(line->engine, word, line->stream);
    else line->word = word;
    return status;
}

/* With submit_lock: no mark fetches the word and cleans it while a kernel may write to it. */
static dnnl_tp_status_t run_checking(dtp_gpu_line_t *line, const dtp_primitive_t *primitive,
                                     dtp_exec_ctx_t *ctx) {
    DTP_TRY(ensure_word(line));
    line->word_used = true;
    const dtp_run_part_t own = {line->word, 0};
    ctx->part = &own;
    return dtp_primitive_run_in(primitive, ctx);
}

/* The context is current. */
static dnnl_tp_status_t submit(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive, int nptrs,
                               void *const *ptrs, const dtp_md_t *const *mds, const dtp_run_part_t *part) {
    dtp_gpu_line_t *line = line_of(stream);
    static const dtp_parallel_t alone = {.num_threads = 1};
    char *scratch = ptrs[nptrs];
    if (!scratch) {
        DTP_TRY(ensure_scratch(line, dtp_pd_scratch_size(primitive->pd)));
        scratch = line->scratch;
    }
    static const dtp_run_part_t none = {NULL, 0};
    dtp_exec_ctx_t ctx = {&alone, ptrs, mds, scratch, -1, primitive->prepared, stream, part ? part : &none};
    dnnl_tp_status_t status;
    if (DTP_UNLIKELY(!part && primitive->pd->checks_data)) {
        pthread_mutex_lock(&line->submit_lock);
        status = run_checking(line, primitive, &ctx);
        pthread_mutex_unlock(&line->submit_lock);
    } else {
        status = dtp_primitive_run_in(primitive, &ctx);
    }
    dtp_gpu_line_dirty(line); /* behind the launch, or what was launched before it failed */
    return status;
}

/* Items of streams that profile: an execution, or all that a run of a graph submits. */
static dnnl_tp_status_t end_item(dtp_gpu_line_t *line) {
    if (!atomic_load(&line->in_item)) return dnnl_tp_success;
    atomic_store(&line->in_item, false);
    return dtp_gpu_line_stamp(line, &line->item_ns[1]);
}
static dnnl_tp_status_t begin_item(dtp_gpu_line_t *line, bool of_run) {
    if (of_run && atomic_load(&line->in_item)) return dnnl_tp_success;
    DTP_TRY(end_item(line));
    DTP_TRY(dtp_gpu_line_stamp(line, &line->item_ns[0]));
    atomic_store(&line->in_item, true);
    return dnnl_tp_success;
}

static dnnl_tp_status_t submit_item(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive, int nptrs,
                                    void *const *ptrs, const dtp_md_t *const *mds,
                                    const dtp_run_part_t *part) {
    DTP_TRY(begin_item(line_of(stream), part != NULL));
    DTP_TRY(submit(stream, primitive, nptrs, ptrs, mds, part));
    return part ? dnnl_tp_success : end_item(line_of(stream));
}

/* Without the context: where an item of a run ends. */
static dnnl_tp_status_t end_run_item(dtp_gpu_line_t *line) {
    if (DTP_LIKELY(!atomic_load(&line->in_item))) return dnnl_tp_success;
    DTP_TRY(dtp_gpu_enter(line->gpu));
    dtp_lock(&line->order);
    const dnnl_tp_status_t status = end_item(line);
    dtp_unlock(&line->order);
    dtp_gpu_leave(line->gpu);
    return status;
}

static dnnl_tp_status_t submit_traced(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive, int nptrs,
                                      void *const *ptrs, const dtp_md_t *const *mds) {
    dtp_gpu_line_t *line = line_of(stream);
    int64_t *times = dtp_zalloc(NULL, 2 * sizeof *times, 0);
    if (!times) return dtp_no_memory(2 * sizeof *times);
    dtp_trace_work_t work;
    dtp_trace_primitive(&work, dtp_object_retain(stream->trace), stream->trace_lane, primitive);
    uint64_t seq;
    dnnl_tp_status_t status = dtp_gpu_line_stamp(line, &times[0]);
    if (!status) status = (line->profiles ? submit_item : submit)(stream, primitive, nptrs, ptrs, mds, NULL);
    if (!status) status = dtp_gpu_line_stamp(line, &times[1]);
    if (!status) status = dtp_gpu_line_mark(line, &(dtp_gpu_mark_t){.traced = &work, .times = times}, &seq);
    if (!status) return status;
    dtp_object_release(work.trace);
    dtp_gpu_line_forget_stamps(line, times, 2);
    dtp_free(NULL, times);
    return status;
}

static dnnl_tp_status_t gpu_execute(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive, int nptrs,
                                    void *const *ptrs, const dtp_md_t *const *mds,
                                    const dtp_run_part_t *part) {
    dtp_gpu_line_t *line = line_of(stream);
    DTP_TRY(dtp_gpu_enter(line->gpu));
    const bool traced = !part && stream->trace && dtp_trace_on(stream->trace);
    dnnl_tp_status_t status;
    dtp_lock(&line->order);
    if (DTP_UNLIKELY(traced)) status = submit_traced(stream, primitive, nptrs, ptrs, mds);
    else if (DTP_UNLIKELY(line->profiles)) status = submit_item(stream, primitive, nptrs, ptrs, mds, part);
    else status = submit(stream, primitive, nptrs, ptrs, mds, part);
    dtp_unlock(&line->order);
    dtp_gpu_leave(line->gpu);
    return status;
}

/* The same for a tool that takes ranges; operators of runs have theirs already. */
static dnnl_tp_status_t gpu_execute_in_range(dnnl_tp_stream_t stream, const dtp_primitive_t *primitive,
                                             int nptrs, void *const *ptrs, const dtp_md_t *const *mds,
                                             const dtp_run_part_t *part) {
    char name[DTP_TRACE_LABEL];
    if (part) return gpu_execute(stream, primitive, nptrs, ptrs, mds, part);
    dtp_trace_primitive_name(primitive, name, sizeof name);
    dtp_nvtx_push(name);
    const dnnl_tp_status_t status = gpu_execute(stream, primitive, nptrs, ptrs, mds, part);
    dtp_nvtx_pop();
    return status;
}

static void gpu_range(const char *name) {
    if (name) dtp_nvtx_push(name);
    else dtp_nvtx_pop();
}

/* ---- Copies ------------------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_gpu_copy(const dtp_exec_ctx_t *ctx, dtp_copy_t how, void *to, const void *from,
                              size_t bytes) {
    return bytes ? dtp_gpu_line_copy(line_of(ctx->stream), how, to, from, bytes) : dnnl_tp_success;
}

dnnl_tp_status_t dtp_gpu_stream_copy(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from,
                                     size_t bytes) {
    dtp_gpu_t *gpu = line_of(stream)->gpu;
    const dtp_exec_ctx_t ctx = {.stream = stream};
    DTP_TRY(dtp_gpu_enter(gpu));
    const dnnl_tp_status_t status = dtp_gpu_copy(&ctx, how, to, from, bytes);
    dtp_gpu_line_dirty(line_of(stream));
    dtp_gpu_leave(gpu);
    return status;
}

/* Plain layouts, which are those that kernels take, have no padding. */
dnnl_tp_status_t dtp_gpu_zero_pad(dnnl_tp_stream_t stream, const dtp_md_t *md, void *handle) {
    (void)stream, (void)handle;
    DTP_DISPATCH(!dtp_md_is_padded(md), UNSUPPORTED_LAYOUT);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gpu_stamp(dnnl_tp_stream_t stream, int64_t *ns) {
    dtp_gpu_line_t *line = line_of(stream);
    DTP_TRY(dtp_gpu_enter(line->gpu));
    dtp_lock(&line->order);
    const dnnl_tp_status_t status = dtp_gpu_line_stamp(line, ns);
    dtp_unlock(&line->order);
    dtp_gpu_leave(line->gpu);
    return status;
}

/* ---- Waiting and events ------------------------------------------------------------------------------ */

static dnnl_tp_status_t gpu_wait(dnnl_tp_stream_t stream, int64_t timeout_ns) {
    dtp_gpu_line_t *line = line_of(stream);
    uint64_t seq;
    (void)end_run_item(line); /* times may be missing, waiting goes on */
    dnnl_tp_status_t status = dtp_gpu_line_fence(line, &seq);
    if (!status) status = dtp_gpu_line_wait(line, seq, dtp_until_ns(timeout_ns));
    if (!status) return dtp_gpu_line_result(line);
    if (timeout_ns < 0) dtp_gpu_line_finish(line); /* the caller takes it that the work has ended */
    return status;
}

static dnnl_tp_status_t gpu_query(dnnl_tp_stream_t stream, bool *idle, dnnl_tp_status_t *result) {
    dtp_gpu_line_t *line = line_of(stream);
    uint64_t seq;
    if (atomic_load(&line->is_shared)) { /* runs of graphs begin with a query */
        DTP_TRY(dtp_gpu_enter(line->gpu));
        const dnnl_tp_status_t status = dtp_gpu_line_not_captured(line);
        dtp_gpu_leave(line->gpu);
        DTP_TRY(status);
    }
    DTP_TRY(dtp_gpu_line_fence(line, &seq));
    DTP_TRY(dtp_gpu_line_poll(line));
    *idle = atomic_load(&line->completed) >= seq;
    *result = dtp_gpu_line_result(line);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gpu_reset(dnnl_tp_stream_t stream) {
    dtp_gpu_line_reset(line_of(stream));
    return dnnl_tp_success;
}

static dnnl_tp_status_t submit_event(dnnl_tp_stream_t stream, const dtp_stream_run_t *run,
                                     dnnl_tp_event_t *event) {
    dtp_gpu_line_t *line = line_of(stream);
    uint64_t seq;
    DTP_TRY(end_run_item(line));
    atomic_fetch_add(&line->refs, 1);
    DTP_TRY(dtp_event_create(event, &dtp_gpu_event, line, 0));
    dtp_gpu_mark_t what = {.event = dtp_object_retain(*event), .run = run};
    const dnnl_tp_status_t status = dtp_gpu_line_mark(line, &what, &seq);
    if (!status) return status;
    dtp_object_release(*event);
    dtp_object_release(*event);
    *event = NULL;
    return status;
}
static dnnl_tp_status_t gpu_record_event(dnnl_tp_stream_t stream, dnnl_tp_event_t *event) {
    *event = NULL;
    return submit_event(stream, NULL, event);
}
static dnnl_tp_status_t gpu_submit_run(dnnl_tp_stream_t stream, const dtp_stream_run_t *run,
                                       dnnl_tp_event_t *event) {
    *event = NULL;
    return submit_event(stream, run, event);
}
static dnnl_tp_status_t gpu_wait_event(dnnl_tp_stream_t stream, dnnl_tp_event_t event) {
    return dtp_gpu_line_await(line_of(stream), event);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static dtp_lock_t list_lock; /* a child of a fork finds a list that it can walk */
static dtp_gpu_line_t *lines;

static dnnl_tp_status_t wait_note(void *line, uint64_t seq, int64_t until_ns) {
    DTP_TRY(dtp_gpu_line_wait(line, seq, until_ns));
    return dtp_gpu_line_result(line);
}

/* The first line at or behind `line` that belongs to this process and, if one is named, to the engine: a reference, and it stays open until
 * dtp_gpu_line_unlook. */
static dtp_gpu_line_t *look_at_next(dtp_gpu_line_t *line, bool first, dnnl_tp_engine_t engine) {
    const uint32_t forks = atomic_load(&dtp_fork_generation);
    dtp_lock(&list_lock);
    line = first ? lines : line->next_line;
    while (line && ((engine && line->engine != engine) || line->gpu->forks != forks)) line = line->next_line;
    if (line) {
        atomic_fetch_add(&line->refs, 1);
        dtp_gpu_line_look(line);
    }
    dtp_unlock(&list_lock);
    return line;
}
static dnnl_tp_status_t note(dtp_gpu_line_t *line, dtp_sync_t *sync) {
    uint64_t seq;
    DTP_TRY(dtp_gpu_line_fence(line, &seq));
    atomic_fetch_add(&line->refs, 1);
    return dtp_sync_note(sync, &(dtp_sync_note_t){line, seq, wait_note, dtp_gpu_line_release});
}
dnnl_tp_status_t dtp_gpu_sync(dnnl_tp_engine_t engine, dtp_sync_t *sync) {
    dnnl_tp_status_t status = dnnl_tp_success;
    dtp_gpu_end_given();
    dtp_gpu_line_t *line = look_at_next(NULL, true, engine);
    while (line) {
        if (!status) status = note(line, sync);
        dtp_gpu_line_t *next = look_at_next(line, false, engine);
        dtp_gpu_line_unlook(line);
        dtp_gpu_line_release(line);
        line = next;
    }
    return status;
}

static void link_line(dtp_gpu_line_t *l) {
    dtp_lock(&list_lock);
    l->next_line = lines;
    if (lines) lines->prev_line = l;
    lines = l;
    dtp_unlock(&list_lock);
}
static void unlink_line(dtp_gpu_line_t *l) {
    dtp_lock(&list_lock);
    if (l->prev_line) l->prev_line->next_line = l->next_line;
    else lines = l->next_line;
    if (l->next_line) l->next_line->prev_line = l->prev_line;
    dtp_unlock(&list_lock);
}

static dnnl_tp_status_t drain_and_end(dnnl_tp_stream_t stream) {
    enum { TRIES = 3 }; /* of a driver that lacks memory */
    dtp_gpu_line_t *line = line_of(stream);
    dnnl_tp_status_t status = dnnl_tp_runtime_error;
    for (int i = 0; i < TRIES && status && status != dnnl_tp_poisoned; ++i) {
        uint64_t seq;
        status = dtp_gpu_line_fence(line, &seq);
        if (!status) status = dtp_gpu_line_wait(line, seq, INT64_MAX);
        if (status == dnnl_tp_would_deadlock) return status;
    }
    if (status) dtp_gpu_line_finish(line);
    unlink_line(line);
    dtp_object_release(stream);
    return dnnl_tp_success;
}

/* Streams that were given away and have not ended. Callbacks of the driver end none, because they must not call it, and
 * nobody waits for one: a later call ends it. */
static dtp_lock_t given_lock;
static gpu_stream_t *given;

static void keep_given(gpu_stream_t *s) {
    dtp_lock(&given_lock);
    s->next_given = given;
    given = s;
    dtp_unlock(&given_lock);
}
static bool can_end(gpu_stream_t *s) {
    bool idle = false;
    dnnl_tp_status_t result;
    const dnnl_tp_status_t status = gpu_query(&s->base, &idle, &result);
    return idle || status == dnnl_tp_poisoned || atomic_load(&s->line->gpu->poisoned);
}
void dtp_gpu_end_given(void) {
    if (dtp_thread_is_borrowed || dtp_chain_top) return;
    dtp_lock(&given_lock);
    gpu_stream_t *s = given;
    given = NULL;
    dtp_unlock(&given_lock);
    for (gpu_stream_t *next; s; s = next) {
        next = s->next_given;
        if (!can_end(s) || drain_and_end(&s->base)) keep_given(s);
    }
}
static void gpu_give_away(dnnl_tp_stream_t stream) {
    keep_given((gpu_stream_t *)stream);
    dtp_gpu_end_given();
}

static dnnl_tp_status_t gpu_close(dnnl_tp_stream_t stream) {
    if (dtp_thread_is_borrowed)
        return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK,
                        "called from a callback of the GPU's driver");
    DTP_TRY(drain_and_end(stream));
    dtp_gpu_end_given();
    return dnnl_tp_success;
}

static dnnl_tp_status_t gpu_set_trace(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace, const char *name) {
    dtp_object_release(stream->trace);
    stream->trace = dtp_object_retain(trace);
    stream->trace_lane = trace ? dtp_trace_stream(trace, name) : 0;
    return dnnl_tp_success;
}

static void gpu_stream_destroy(dtp_object_t *object) {
    gpu_stream_t *s = (gpu_stream_t *)object;
    if (s->line) dtp_gpu_line_close(s->line);
    dtp_object_release(s->base.trace);
    dtp_object_release(s->base.attr);
    dtp_object_release(s->base.engine);
}

static const dtp_stream_vtbl_t gpu_stream_vtbl = {.execute = gpu_execute,
                                                  .wait = gpu_wait,
                                                  .close = gpu_close,
                                                  .give_away = gpu_give_away,
                                                  .submit_run = gpu_submit_run,
                                                  .record_event = gpu_record_event,
                                                  .wait_event = gpu_wait_event,
                                                  .query = gpu_query,
                                                  .reset = gpu_reset,
                                                  .set_trace = gpu_set_trace,
                                                  .stamp = gpu_stamp};

/* Where a tool takes ranges: streams of other processes do not ask for it in each execution. */
static dtp_stream_vtbl_t ranges_vtbl;
static void make_ranges_vtbl(void) {
    ranges_vtbl = gpu_stream_vtbl;
    ranges_vtbl.execute = gpu_execute_in_range;
    ranges_vtbl.range = gpu_range;
}
static const dtp_stream_vtbl_t *choose_vtbl(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!dtp_nvtx()) return &gpu_stream_vtbl;
    pthread_once(&once, make_ranges_vtbl);
    return &ranges_vtbl;
}

/* The program's stream must be of the device; the legacy default stream is of whichever is current. */
static dnnl_tp_status_t check_stream(dtp_gpu_t *gpu, dtp_cu_stream_t stream) {
    dtp_cu_ctx_t ctx;
    if ((uintptr_t)stream <= DTP_CU_STREAM_LEGACY) return dnnl_tp_success;
    DTP_REQUIRE((uintptr_t)stream != DTP_CU_STREAM_PER_THREAD, BAD_STREAM,
                "CU_STREAM_PER_THREAD is another stream on each thread that submits, waits or synchronises");
    DTP_TRY(DTP_CU(gpu, cuStreamGetCtx, stream, &ctx));
    DTP_REQUIRE(ctx == gpu->ctx, BAD_STREAM, "the CUDA stream is not of the primary context of device %d",
                gpu->device);
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_line(gpu_stream_t *s, dnnl_tp_engine_t engine, const dtp_gpu_stream_own_t *own) {
    dtp_gpu_t *gpu = dtp_gpu_of(engine)->gpu;
    DTP_TRY(dtp_gpu_enter(gpu));
    dnnl_tp_status_t status = own->given ? check_stream(gpu, own->stream) : dnnl_tp_success;
    if (!status) status = dtp_gpu_line_create(&s->line, engine, !own->given, own->stream);
    if (!status) {
        s->line->profiles = own->profiles;
        atomic_store(&s->line->is_shared, own->given);
    }
    dtp_gpu_leave(gpu);
    return status;
}

dnnl_tp_status_t dtp_gpu_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                       const dtp_stream_attr_t *attr) {
    *stream = NULL;
    dtp_gpu_end_given();
    if (!attr) attr = engine->stream_attr;
    dtp_gpu_stream_own_t own;
    DTP_TRY(dtp_own_get(attr ? attr->own : NULL, &own, sizeof own));
    gpu_stream_t *s = dtp_object_create(engine->allocator, sizeof *s, DTP_OBJ_STREAM, gpu_stream_destroy);
    if (!s) return dnnl_tp_out_of_memory;
    s->base.engine = dtp_object_retain(engine);
    s->base.v = choose_vtbl();
    s->base.flags = flags;
    dnnl_tp_status_t status = dnnl_tp_stream_attr_create(&s->base.attr, dnnl_tp_gpu);
    if (!status && attr) dtp_stream_attr_assign(s->base.attr, attr);
    if (!status) status = make_line(s, engine, &own);
    if (status) {
        dtp_object_release(s);
        return status;
    }
    link_line(s->line);
    if (dtp_verbose_on(DTP_VERBOSE_CREATE)) dtp_verbose_line("create,stream,cuda,device:%zu", engine->index);
    *stream = &s->base;
    return dnnl_tp_success;
}
