/* Capture of streams, and the graphs that come of it; see fake_cuda.h.
 *
 * Written in cuda.h, or in the programming guide's chapter on graphs:
 *   - What is enqueued in a captured stream becomes a node and is not executed. Parameters of kernels are copied then, memory of the
 *     host is read and written when the graph is launched.
 *   - An event that is recorded in a captured stream stands for nodes: it cannot be queried or waited for on the host, which ends the
 *     capture; a stream that waits for it becomes part of the capture, and must be joined before its end.
 *   - To query or to wait for a captured stream, to use the legacy stream while a blocking one is captured, to wait in a captured stream
 *     for an event of outside, to merge two captures: an error each, and the captures are invalid.
 *   - Allocations are nodes of the graph, whose memory it is; only that memory can be freed in the capture.
 *   - Modes of threads and of captures: cuThreadExchangeStreamCaptureMode. "Potentially unsafe" calls are not listed there, but cudaMalloc.
 * Assumed here:
 *   - Unsafe are (FAKE_UNSAFE): queries of and waits for any stream or event, pinned memory and libraries, pools that are made or destroyed.
 *     Programs met it with queries of events, with waits and with pinned memory (PyTorch's allocators and watchdogs).
 *   - Such a call answers "unsupported", whatever stream or event it is about, and ends all captures that forbid it.
 *   - A node that was captured is launched in the order of the calls, whatever streams it came from. Launches of one executable
 *     graph come one after another. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"
#include "gpu/fake/kernels.h"

struct fake_graph {
    int refs; /* its capture, its handles, nodes that streams have */
    int nodes;
    fake_item_t *head, **end;
};

struct fake_capture {
    fake_capture_t *next;
    uint64_t number;
    fake_stream_t *origin;
    pthread_t thread;
    dtp_cu_capture_mode_t mode;
    bool invalid;
    fake_graph_t *graph;
};

/* What a program has of a graph. */
typedef struct handle {
    struct handle *next;
    uintptr_t number;
    bool executable;
    int slot; /* of the last launch */
    uint64_t seq;
    fake_graph_t *graph;
} handle_t;

static struct {
    handle_t *handles;
    uint64_t captures;
    int spoiled;
} made;

/* ---- Graphs ------------------------------------------------------------------------------------------ */

void fake_graph_release_locked(fake_graph_t *graph) {
    if (--graph->refs) return;
    for (fake_item_t *node; (node = graph->head) != NULL;) {
        graph->head = node->next;
        fake_item_free_locked(node);
    }
    for (size_t i = fake.n_blocks; i-- > 0;)
        if (fake.blocks[i]->graph == graph) fake_block_remove_locked(fake.blocks[i]);
    free(graph);
}

static handle_t *add_handle_locked(fake_graph_t *graph, bool executable) {
    handle_t *h = fake_zalloc(sizeof *h);
    *h = (handle_t){
        .next = made.handles, .number = fake_handle_locked(), .executable = executable, .graph = graph};
    ++graph->refs;
    ++fake.stats.graphs;
    return made.handles = h;
}

static handle_t **find_handle_locked(const void *number, bool executable, const char *call) {
    handle_t **link = &made.handles;
    while (*link && ((*link)->number != (uintptr_t)number || (*link)->executable != executable))
        link = &(*link)->next;
    if (!*link) fake_wrong_locked("%s: %p is no graph of the kind", call, number);
    return link;
}

static dtp_cu_result_t destroy(const void *number, bool executable, const char *call) {
    const dtp_cu_result_t result = fake_enter(call, FAKE_NEEDS_INIT);
    if (result) return result;
    handle_t **link = find_handle_locked(number, executable, call), *h = *link;
    if (!h) return fake_leave(DTP_CU_INVALID_VALUE);
    *link = h->next;
    --fake.stats.graphs;
    fake_graph_release_locked(h->graph);
    free(h);
    return fake_leave(DTP_CU_SUCCESS);
}
dtp_cu_result_t fake_cuGraphDestroy(fake_cu_graph_t graph) { return destroy(graph, false, "cuGraphDestroy"); }
dtp_cu_result_t fake_cuGraphExecDestroy(fake_cu_exec_t exec) {
    return destroy(exec, true, "cuGraphExecDestroy");
}

dtp_cu_result_t fake_cuGraphInstantiate(fake_cu_exec_t *exec, fake_cu_graph_t graph,
                                        unsigned long long flags) {
    const dtp_cu_result_t result = fake_enter("cuGraphInstantiate", FAKE_NEEDS_INIT | FAKE_NEEDS_CTX);
    if (result) return result;
    const handle_t *h = *find_handle_locked(graph, false, "cuGraphInstantiate");
    if (!h || flags) return fake_leave(DTP_CU_INVALID_VALUE);
    *exec = (fake_cu_exec_t)add_handle_locked(h->graph, true)->number;
    return fake_leave(DTP_CU_SUCCESS);
}

static fake_item_t *copy_locked(const fake_item_t *node, fake_graph_t *graph) {
    fake_item_t *item = fake_zalloc(sizeof *item);
    *item = *node;
    item->next = NULL;
    if (item->kernel) ++item->kernel->refs;
    if (node->params) {
        item->params = fake_zalloc(node->params_bytes);
        memcpy(item->params, node->params, node->params_bytes);
    }
    item->graph = graph;
    ++graph->refs;
    return item;
}

/* The host's memory of a copy must still be what it was. */
static void look_at_host_locked(const fake_item_t *node) {
    const void *host = node->host_to ? node->host_to : node->host_from;
    if (node->work != FAKE_COPY || !host) return;
    if (node->pinned && !fake_pinned_find_locked(host, node->bytes))
        fake_wrong_locked("cuGraphLaunch: a copy uses pinned memory that is freed");
    if (node->host_to && !node->pinned) memset(node->host_to, FAKE_CUDA_POISON, node->bytes);
}

dtp_cu_result_t fake_cuGraphLaunch(fake_cu_exec_t exec, dtp_cu_stream_t stream) {
    static const char *const call = "cuGraphLaunch";
    const dtp_cu_result_t result = fake_enter(call, FAKE_NEEDS_INIT | FAKE_NEEDS_CTX);
    if (result) return result;
    handle_t *h = *find_handle_locked(exec, true, call);
    if (!h) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_stream_t *s = fake_stream_use_locked(stream, call);
    if (!s) return fake_leave(fake.no_stream);
    if (s->capture) {
        fake_tell_locked("%s: graphs in graphs are not modelled", call);
        return fake_leave(DTP_CU_NOT_SUPPORTED);
    }
    for (const fake_item_t *node = h->graph->head; node; node = node->next) {
        look_at_host_locked(node);
        fake_item_t *item = copy_locked(node, h->graph);
        if (node == h->graph->head && h->seq) item->after.of[h->slot] = h->seq;
        const uint64_t seq = fake_submit_locked(s, item);
        if (node->next) continue;
        h->slot = s->slot;
        h->seq = seq;
    }
    return fake_leave(DTP_CU_SUCCESS);
}

int fake_cuda_nodes(fake_cu_graph_t graph) {
    fake_lock();
    const handle_t *h = *find_handle_locked(graph, false, "fake_cuda_nodes");
    const int nodes = h ? h->graph->nodes : 0;
    fake_unlock();
    return nodes;
}

/* ---- Captures ---------------------------------------------------------------------------------------- */

bool fake_capture_is_invalid(const fake_capture_t *capture) { return capture->invalid; }

static void spoil_locked(fake_capture_t *capture, const char *call) {
    if (capture->invalid) return;
    capture->invalid = true;
    ++made.spoiled;
    fake_tell_locked("%s makes a capture invalid", call);
}

int fake_cuda_spoiled(void) {
    fake_lock();
    const int spoiled = made.spoiled;
    fake_unlock();
    return spoiled;
}

/* Lets go of its streams. */
static void end_locked(fake_capture_t *capture) {
    fake_capture_t **link = &fake.captures;
    while (*link != capture) link = &(*link)->next;
    *link = capture->next;
    for (fake_stream_t *s = fake.streams; s; s = s->next)
        if (s->capture == capture) s->capture = NULL;
    fake_graph_release_locked(capture->graph);
    free(capture);
}

dtp_cu_result_t fake_cuStreamBeginCapture(dtp_cu_stream_t stream, dtp_cu_capture_mode_t mode) {
    static const char *const call = "cuStreamBeginCapture";
    const dtp_cu_result_t result = fake_enter(call, FAKE_NEEDS_INIT | FAKE_NEEDS_CTX);
    if (result) return result;
    fake_stream_t *s = fake_stream_find_locked(stream, call);
    if (!s) return fake_leave(DTP_CU_INVALID_HANDLE);
    if (s->legacy) return fake_leave(DTP_CU_STREAM_CAPTURE_UNSUPPORTED);
    if (s->capture || mode < DTP_CU_CAPTURE_GLOBAL || mode > DTP_CU_CAPTURE_RELAXED)
        return fake_leave(DTP_CU_INVALID_VALUE);
    fake_capture_t *capture = fake_zalloc(sizeof *capture);
    *capture = (fake_capture_t){.next = fake.captures,
                                .number = ++made.captures,
                                .origin = s,
                                .thread = pthread_self(),
                                .mode = mode,
                                .graph = fake_zalloc(sizeof *capture->graph)};
    capture->graph->refs = 1;
    capture->graph->end = &capture->graph->head;
    fake.captures = s->capture = capture;
    memset(&s->nodes, 0, sizeof s->nodes);
    return fake_leave(DTP_CU_SUCCESS);
}

/* Is there a stream whose nodes the origin has not waited for? */
static bool is_unjoined_locked(const fake_capture_t *capture) {
    const fake_stream_t *origin = capture->origin;
    for (const fake_stream_t *s = fake.streams; s; s = s->next)
        if (s->capture == capture && s->nodes.of[s->slot] > origin->nodes.of[s->slot]) return true;
    return false;
}

dtp_cu_result_t fake_cuStreamEndCapture(dtp_cu_stream_t stream, fake_cu_graph_t *graph) {
    static const char *const call = "cuStreamEndCapture";
    dtp_cu_result_t result = fake_enter(call, FAKE_NEEDS_INIT | FAKE_NEEDS_CTX);
    if (result) return result;
    *graph = NULL;
    fake_stream_t *s = fake_stream_find_locked(stream, call);
    if (!s) return fake_leave(DTP_CU_INVALID_HANDLE);
    fake_capture_t *capture = s->capture;
    if (!capture) return fake_leave(FAKE_CU_ILLEGAL_STATE);
    if (capture->origin != s) return fake_leave(FAKE_CU_CAPTURE_UNMATCHED);
    if (capture->mode != DTP_CU_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return fake_leave(FAKE_CU_CAPTURE_WRONG_THREAD);
    result = capture->invalid              ? DTP_CU_STREAM_CAPTURE_INVALIDATED
             : is_unjoined_locked(capture) ? DTP_CU_STREAM_CAPTURE_UNJOINED
                                           : DTP_CU_SUCCESS;
    if (!result) *graph = (fake_cu_graph_t)add_handle_locked(capture->graph, false)->number;
    end_locked(capture);
    return fake_leave(result);
}

void fake_capture_add_locked(fake_stream_t *s, fake_item_t *item) {
    fake_graph_t *graph = s->capture->graph;
    ++s->nodes.of[s->slot];
    ++graph->nodes;
    *graph->end = item;
    graph->end = &item->next;
}

void fake_capture_stream_ends_locked(fake_stream_t *s) {
    fake_capture_t *capture = s->capture;
    if (!capture) return;
    fake_wrong_locked("cuStreamDestroy: the stream is being captured");
    spoil_locked(capture, "cuStreamDestroy");
    if (capture->origin == s) end_locked(capture);
    else s->capture = NULL;
}

void fake_captures_reset_locked(void) {
    while (fake.captures) end_locked(fake.captures);
    for (handle_t *h; (h = made.handles) != NULL;) {
        made.handles = h->next;
        fake_graph_release_locked(h->graph);
        free(h);
    }
    made.spoiled = 0;
}

/* ---- What forbids what ------------------------------------------------------------------------------- */

dtp_cu_result_t fake_cuThreadExchangeStreamCaptureMode(dtp_cu_capture_mode_t *mode) {
    const dtp_cu_result_t result = fake_enter("cuThreadExchangeStreamCaptureMode", FAKE_NEEDS_INIT);
    if (result) return result;
    if (*mode < DTP_CU_CAPTURE_GLOBAL || *mode > DTP_CU_CAPTURE_RELAXED)
        return fake_leave(DTP_CU_INVALID_VALUE);
    const dtp_cu_capture_mode_t old = fake_thread.capture_mode;
    fake_thread.capture_mode = *mode;
    *mode = old;
    fake_watch_thread();
    return fake_leave(DTP_CU_SUCCESS);
}

bool fake_is_unsafe_locked(const char *call) {
    const dtp_cu_capture_mode_t mode = fake_thread.capture_mode;
    bool unsafe = false;
    for (fake_capture_t *c = fake.captures; c && mode != DTP_CU_CAPTURE_RELAXED; c = c->next) {
        const bool forbids = pthread_equal(c->thread, pthread_self())
                                 ? c->mode != DTP_CU_CAPTURE_RELAXED
                                 : c->mode == DTP_CU_CAPTURE_GLOBAL && mode == DTP_CU_CAPTURE_GLOBAL;
        if (!forbids) continue;
        spoil_locked(c, call);
        unsafe = true;
    }
    return unsafe;
}

bool fake_legacy_is_barred_locked(const fake_ctx_t *ctx, const char *call, bool spoil) {
    bool barred = false;
    for (const fake_stream_t *s = fake.streams; s; s = s->next) {
        if (!s->capture || !s->blocking || s->ctx != ctx) continue;
        if (spoil) spoil_locked(s->capture, call);
        barred = true;
    }
    return barred;
}

dtp_cu_result_t fake_stream_not_captured_locked(const fake_stream_t *s, const char *call) {
    if (s->legacy && fake_legacy_is_barred_locked(s->ctx, call, true)) return DTP_CU_STREAM_CAPTURE_IMPLICIT;
    if (!s->capture) return DTP_CU_SUCCESS;
    spoil_locked(s->capture, call);
    return DTP_CU_STREAM_CAPTURE_UNSUPPORTED;
}

static fake_capture_t *find_capture_locked(uint64_t number) {
    fake_capture_t *c = fake.captures;
    while (c && c->number != number) c = c->next;
    return c;
}

dtp_cu_result_t fake_event_not_captured_locked(const fake_event_t *event, const char *call) {
    if (!event->last || !event->last->capture) return DTP_CU_SUCCESS;
    fake_capture_t *capture = find_capture_locked(event->last->capture);
    if (capture) spoil_locked(capture, call);
    return DTP_CU_CAPTURED_EVENT;
}

/* ---- Events ------------------------------------------------------------------------------------------ */

void fake_capture_record_locked(const fake_stream_t *s, fake_moment_t *moment) {
    moment->capture = s->capture->number;
    moment->clock = s->nodes;
}

dtp_cu_result_t fake_capture_wait_locked(fake_stream_t *s, const fake_moment_t *moment) {
    static const char *const call = "cuStreamWaitEvent";
    fake_capture_t *from = moment->capture ? find_capture_locked(moment->capture) : NULL;
    if (from && from->invalid) return DTP_CU_STREAM_CAPTURE_INVALIDATED;
    if (!from) { /* an event of no capture, or of one that has ended */
        if (s->capture) spoil_locked(s->capture, call);
        return s->capture ? FAKE_CU_CAPTURE_ISOLATION : DTP_CU_INVALID_VALUE;
    }
    if (s->capture && s->capture != from) {
        spoil_locked(s->capture, call);
        spoil_locked(from, call);
        return FAKE_CU_CAPTURE_MERGE;
    }
    if (!s->capture) memset(&s->nodes, 0, sizeof s->nodes);
    s->capture = from;
    fake_merge(&s->nodes, &moment->clock);
    return DTP_CU_SUCCESS;
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

dtp_cu_result_t fake_capture_alloc_locked(fake_stream_t *s, size_t bytes, dtp_cu_ptr_t *at) {
    fake_block_t *b = fake_block_add_locked(s->ctx, bytes, false);
    if (!b) return DTP_CU_OUT_OF_MEMORY;
    b->graph = s->capture->graph;
    fake_item_t *item = fake_item_new(FAKE_ALLOC);
    *at = item->to = b->at;
    (void)fake_submit_locked(s, item);
    return DTP_CU_SUCCESS;
}

dtp_cu_result_t fake_capture_free_locked(fake_stream_t *s, fake_block_t *b) {
    if (!s->capture) {
        fake_wrong_locked("cuMemFreeAsync: memory of a graph is freed outside it");
        return DTP_CU_INVALID_VALUE;
    }
    if (b->graph != s->capture->graph) {
        fake_tell_locked("cuMemFreeAsync: the stream is being captured, and the memory is not of its graph");
        return DTP_CU_INVALID_VALUE;
    }
    b->freeing = true;
    fake_item_t *item = fake_item_new(FAKE_FREE);
    item->to = b->at;
    (void)fake_submit_locked(s, item);
    return DTP_CU_SUCCESS;
}
