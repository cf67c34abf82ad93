/* Traces: their memory, and recording. See trace.h; reading: read.c and the writers beside it. */
#include "trace/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DEFAULT_EVENTS = 1 << 20,
    PIECE = 256,          /* records in a piece, at most */
    PIECES_AT_LEAST = 64, /* where there is room for so many */
    FULL = DTP_TRACE_SOURCES / 4 * 3
};

/* ---- Life -------------------------------------------------------------------------------------------- */

static void trace_free(dtp_object_t *obj) {
    dtp_trace_t *t = (dtp_trace_t *)obj;
    const dnnl_tp_allocator_t *a = obj->allocator;
    for (int i = 0; t->sources && i < DTP_TRACE_SOURCES; ++i) dtp_object_release(t->sources[i].object);
    dtp_free(a, t->events);
    dtp_free(a, t->count);
    dtp_free(a, t->owner);
    dtp_free(a, t->lanes);
    dtp_free(a, t->sources);
    dtp_free(a, t->streams);
}

static bool allocate(dtp_trace_t *t) {
    const dnnl_tp_allocator_t *a = t->obj.allocator;
    t->events = dtp_alloc(a, sizeof *t->events * t->max_events, DTP_NO_SHARE);
    t->count = dtp_zalloc(a, sizeof *t->count * t->npieces, 0);
    t->owner = dtp_zalloc(a, sizeof *t->owner * t->npieces, 0);
    t->lanes = dtp_zalloc(a, sizeof *t->lanes * DTP_TRACE_LANES, DTP_NO_SHARE);
    t->sources = dtp_zalloc(a, sizeof *t->sources * DTP_TRACE_SOURCES, 0);
    t->streams = dtp_zalloc(a, sizeof *t->streams * (DTP_TRACE_STREAMS + 1), 0);
    return t->events && t->count && t->owner && t->lanes && t->sources && t->streams;
}

dnnl_tp_status_t dnnl_tp_trace_create(dnnl_tp_trace_t *trace, const dnnl_tp_trace_opts_t *opts) {
    DTP_OUT(trace, NULL);
    int64_t max = DEFAULT_EVENTS;
    if (opts) {
        DTP_REQUIRE_SIZE(opts, "trace options");
        DTP_REQUIRE(opts->flags == 0, BAD_FLAGS, "flags of trace options are %u", opts->flags);
        DTP_REQUIRE(opts->max_events >= 0 && opts->max_events <= INT32_MAX, BAD_COUNT, "max_events is %lld",
                    (long long)opts->max_events);
        if (opts->max_events) max = opts->max_events;
    }
    dtp_trace_t *t = dtp_object_create(dtp_process_allocator(), sizeof *t, DTP_OBJ_TRACE, trace_free);
    if (!t) DTP_RETURN(dnnl_tp_out_of_memory);
    t->max_events = (uint32_t)max;
    while ((1 << t->piece_bits) < PIECE && max >> t->piece_bits > PIECES_AT_LEAST) ++t->piece_bits;
    t->piece = 1u << t->piece_bits;
    t->npieces = (uint32_t)dtp_div_up(max, t->piece);
    t->nsources = 1;
    atomic_init(&t->enabled, 1);
    if (!allocate(t)) {
        dtp_object_release(t);
        DTP_RETURN(dtp_no_memory(sizeof *t->events * (size_t)max));
    }
    snprintf(t->sources[0].label, sizeof t->sources[0].label, "(others)");
    *trace = t;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_trace_destroy(dnnl_tp_trace_t trace) { DTP_DESTROY(trace, DTP_OBJ_TRACE); }

dnnl_tp_status_t dnnl_tp_trace_set_enabled(dnnl_tp_trace_t trace, int enabled) {
    DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(enabled == 0 || enabled == 1, BAD_PARAM, "enabled is %d", enabled);
    atomic_store_explicit(&trace->enabled, enabled, memory_order_relaxed);
    return dnnl_tp_success;
}

/* ---- Lanes and sources ------------------------------------------------------------------------------- */

/* The lane of the key, or the empty place where it belongs; NULL: neither. */
static dtp_trace_lane_t *lane_place(dtp_trace_t *t, uintptr_t key, uintptr_t *found) {
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < DTP_TRACE_LANES; ++i) {
        dtp_trace_lane_t *lane = &t->lanes[((hash >> 40) + i) % DTP_TRACE_LANES];
        *found = atomic_load_explicit(&lane->thread, memory_order_acquire);
        if (*found == key || *found == 0) return lane;
    }
    return NULL;
}

static __attribute__((cold, noinline)) dtp_trace_lane_t *new_lane(dtp_trace_t *t, uintptr_t key) {
    uintptr_t found;
    dtp_lock(&t->lock);
    dtp_trace_lane_t *lane = lane_place(t, key, &found);
    if (lane && !found) {
        lane->tid = (int)syscall(SYS_gettid);
        if (pthread_getname_np(pthread_self(), lane->name, sizeof lane->name)) lane->name[0] = 0;
        ++t->nlanes;
        atomic_store_explicit(&lane->thread, key, memory_order_release);
    }
    dtp_unlock(&t->lock);
    return lane;
}

/* As lane_place, for sources; text: what the key stands for, or NULL. */
static dtp_trace_source_t *source_place(dtp_trace_t *t, uintptr_t key, const char *text, uintptr_t *found) {
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < DTP_TRACE_SOURCES; ++i) {
        unsigned at = (unsigned)((hash >> 40) + i) % DTP_TRACE_SOURCES;
        dtp_trace_source_t *s = &t->sources[at];
        if (at == 0) continue;
        *found = atomic_load_explicit(&s->key, memory_order_acquire);
        if (*found == 0 || (*found == key && (!text || (!s->object && !strcmp(s->label, text))))) return s;
    }
    return NULL;
}

static __attribute__((cold, noinline)) uint32_t new_source(dtp_trace_t *t, uintptr_t key, const char *text,
                                                           void *object, dtp_trace_describe_t describe,
                                                           dtp_trace_label_t label, const char *graph) {
    uintptr_t found;
    dtp_lock(&t->lock);
    dtp_trace_source_t *s = source_place(t, key, text, &found);
    if (s && !found) {
        if (t->nsources < FULL) {
            s->object = dtp_object_retain(object);
            s->describe = describe;
            if (text) memcpy(s->label, text, strlen(text) + 1);
            else if (label) label(object, s->label, sizeof s->label);
            else snprintf(s->label, sizeof s->label, "%.*s %d", DTP_TRACE_LABEL - 16, graph, ++t->ngraphs);
            s->is_graph = graph != NULL;
            ++t->nsources;
            atomic_store_explicit(&s->key, key, memory_order_release);
        } else {
            s = NULL;
        }
    }
    dtp_unlock(&t->lock);
    return s ? (uint32_t)(s - t->sources) : 0;
}

static inline uint32_t source_of(dtp_trace_t *t, uintptr_t key, const char *text, void *object,
                                 dtp_trace_describe_t describe, dtp_trace_label_t label, const char *graph) {
    uintptr_t found;
    dtp_trace_source_t *s = source_place(t, key, text, &found);
    if (DTP_LIKELY(s && found)) return (uint32_t)(s - t->sources);
    return new_source(t, key, text, object, describe, label, graph);
}

uint32_t dtp_trace_source(dtp_trace_t *t, void *object, dtp_trace_describe_t describe,
                          dtp_trace_label_t label) {
    return source_of(t, (uintptr_t)object, NULL, object, describe, label, NULL);
}

uint32_t dtp_trace_graph(dtp_trace_t *t, void *object, dtp_trace_describe_t describe, const char *name) {
    return source_of(t, (uintptr_t)object, NULL, object, describe, NULL, name && *name ? name : "graph");
}

/* Copies what fits, without half a character of UTF-8 at the end. */
static void copy_label(char *to, const char *from) {
    size_t n = strnlen(from, DTP_TRACE_LABEL);
    if (n == DTP_TRACE_LABEL) {
        --n;
        while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80) --n;
    }
    memcpy(to, from, n);
    to[n] = 0;
}

uint16_t dtp_trace_stream(dtp_trace_t *t, const char *name) {
    dtp_lock(&t->lock);
    unsigned n = atomic_load_explicit(&t->nstreams, memory_order_relaxed) + 1;
    if (n <= DTP_TRACE_STREAMS) {
        if (name) copy_label(t->streams[n], name);
        else snprintf(t->streams[n], DTP_TRACE_LABEL, "stream %u", n);
        atomic_store_explicit(&t->nstreams, n, memory_order_release);
    } else {
        n = 0;
    }
    dtp_unlock(&t->lock);
    return (uint16_t)n;
}

/* ---- Records ----------------------------------------------------------------------------------------- */

void dtp_trace_add(dtp_trace_t *t, const dtp_trace_event_t *event) {
    uintptr_t found, key = dtp_thread_key();
    dtp_trace_lane_t *lane = lane_place(t, key, &found);
    if (DTP_UNLIKELY(!lane || !found)) lane = new_lane(t, key);
    if (DTP_UNLIKELY(!lane)) {
        atomic_fetch_add_explicit(&t->homeless, 1, memory_order_relaxed);
        return;
    }
    uint32_t at = atomic_load_explicit(&lane->at, memory_order_relaxed);
    if (DTP_UNLIKELY(at == atomic_load_explicit(&lane->end, memory_order_relaxed))) {
        uint32_t piece = t->npieces;
        if (atomic_load_explicit(&t->taken, memory_order_relaxed) < t->npieces)
            piece = atomic_fetch_add_explicit(&t->taken, 1, memory_order_relaxed);
        if (piece >= t->npieces) {
            int64_t dropped = atomic_load_explicit(&lane->dropped, memory_order_relaxed);
            atomic_store_explicit(&lane->dropped, dropped + 1, memory_order_relaxed);
            return;
        }
        t->owner[piece] = (uint16_t)(lane - t->lanes);
        at = piece << t->piece_bits;
        atomic_store_explicit(&lane->end, (uint32_t)dtp_min64((int64_t)at + t->piece, t->max_events),
                              memory_order_relaxed);
    }
    t->events[at] = *event;
    atomic_store_explicit(&t->count[at >> t->piece_bits], (at & (t->piece - 1)) + 1, memory_order_release);
    atomic_store_explicit(&lane->at, at + 1, memory_order_relaxed);
}

dnnl_tp_status_t dnnl_tp_trace_record(dnnl_tp_trace_t trace, const char *name, int64_t begin_ns,
                                      int64_t end_ns) {
    DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(name, NULL_ARG, "name is NULL");
    DTP_REQUIRE(end_ns >= begin_ns, BAD_PARAM, "the end is %lld ns before the begin",
                (long long)(begin_ns - end_ns));
    if (!dtp_trace_on(trace)) return dnnl_tp_success;
    char text[DTP_TRACE_LABEL];
    copy_label(text, name);
    const uintptr_t key = (uintptr_t)dtp_hash_bytes(text, strlen(text)) | 1;
    const uint32_t source = source_of(trace, key, text, NULL, NULL, NULL, NULL);
    dtp_trace_event_t event = {.begin_ns = begin_ns,
                               .end_ns = end_ns,
                               .source = source,
                               .index = DTP_TRACE_WHOLE,
                               .round = -1,
                               .kind = dnnl_tp_trace_span};
    dtp_trace_add(trace, &event);
    return dnnl_tp_success;
}

/* ---- Counts ------------------------------------------------------------------------------------------ */

dnnl_tp_status_t dnnl_tp_trace_query(dnnl_tp_trace_t trace, dnnl_tp_trace_info_t *info) {
    DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(info, NULL_ARG, "info is NULL");
    DTP_REQUIRE_SIZE(info, "trace information");
    *info = (dnnl_tp_trace_info_t){.struct_size = sizeof *info};
    for (uint32_t i = 0; i < trace->npieces; ++i)
        info->events += atomic_load_explicit(&trace->count[i], memory_order_relaxed);
    info->dropped = atomic_load_explicit(&trace->homeless, memory_order_relaxed);
    for (int i = 0; i < DTP_TRACE_LANES; ++i)
        if (atomic_load_explicit(&trace->lanes[i].thread, memory_order_acquire)) {
            ++info->threads;
            info->dropped += atomic_load_explicit(&trace->lanes[i].dropped, memory_order_relaxed);
        }
    info->streams = (int)atomic_load_explicit(&trace->nstreams, memory_order_relaxed);
    return dnnl_tp_success;
}
