/* Recording of traces. Its layer is between src/common and src/threading: it knows objects, but not
 * their kinds.
 *
 * A thread that records has a lane, found by an address that only this thread has; a lane fills
 * pieces of the trace's records, one after another, and no other thread writes there. A record
 * refers to a source (an object that the trace keeps alive, or a text) and an index in it. Lanes
 * and sources are found without a lock and added under one.
 *
 * Rules for writing. lane.at, .end: its thread (atomic, because a thread may inherit the lane of
 * one that ended). events[i], owner[piece]: the thread of the lane that took the piece;
 * count[piece] publishes them. sources, streams: under `lock`, published by source.key and
 * nstreams. Reading: read.h. */
#ifndef DTP_TRACE_TRACE_H
#define DTP_TRACE_TRACE_H

#include "common/base/object.h"
#include "threading/base/futex.h"
#include "threading/base/parallel.h"

enum {
    DTP_TRACE_LANES = 1024, /* threads; powers of two */
    DTP_TRACE_SOURCES = 4096,
    DTP_TRACE_STREAMS = 1024,
    DTP_TRACE_LABEL = 64
};
enum { DTP_TRACE_ALL = UINT16_MAX };
#define DTP_TRACE_WHOLE UINT32_MAX /* index: the source itself */

typedef struct {
    int64_t begin_ns, end_ns, wait_ns;
    uint32_t source, index;
    uint32_t run;    /* number, 0 = outside runs */
    int32_t round;   /* of the loop around it, -1 = none */
    uint16_t stream; /* lane of a stream, 0 = none */
    union {
        uint16_t status; /* runs, primitives: how they ended */
        uint16_t part;   /* nodes: of the operator's whole work, of DTP_TRACE_ALL */
    };
    uint16_t slot; /* participant of the run or loop */
    uint16_t kind; /* dnnl_tp_trace_kind_t */
} dtp_trace_event_t;
_Static_assert(sizeof(dtp_trace_event_t) == 48, "as dnnl_tp_trace_opts_t says");

/* Description of a part of a source; all texts except shape live as long as the object. */
typedef struct {
    const char *name, *op, *impl; /* name NULL: the source's label */
    const char *engine;           /* of the implementation */
    const char *fused;            /* other operators that it does as well */
    double flops, bytes;          /* of all its work; 0: not known */
    const int32_t *after;         /* indices of the parts whose results it reads */
    int nafter;
    char shape[sizeof(((dnnl_tp_trace_stat_t *)0)->shape)];
} dtp_trace_names_t;
typedef void (*dtp_trace_describe_t)(const void *object, uint32_t index, dtp_trace_names_t *names);
typedef void (*dtp_trace_label_t)(const void *object, char *text, size_t size);

typedef struct {
    _Atomic uintptr_t key;         /* address of the object, or hash of the text | 1; 0 = empty */
    void *object;                  /* retained; NULL: a text */
    dtp_trace_describe_t describe; /* NULL: a text */
    bool is_graph;
    char label[DTP_TRACE_LABEL];
} dtp_trace_source_t;

typedef struct {
    _Alignas(DTP_NO_SHARE) _Atomic uintptr_t thread; /* dtp_thread_key; 0 = empty */
    _Atomic uint32_t at, end;                        /* next record, end of the piece */
    _Atomic int64_t dropped;
    int tid; /* of the system */
    char name[16];
} dtp_trace_lane_t;

struct dnnl_tp_trace {
    dtp_object_t obj;
    dtp_trace_event_t *events;
    uint32_t max_events, piece, npieces; /* records in a piece: a power of two */
    unsigned piece_bits;
    _Atomic uint32_t *count; /* by piece: records that are complete */
    uint16_t *owner;         /* by piece: lane */
    dtp_trace_lane_t *lanes;
    dtp_trace_source_t *sources; /* [0]: items without a place */
    char (*streams)[DTP_TRACE_LABEL];
    _Alignas(DTP_NO_SHARE) _Atomic uint32_t taken; /* pieces; may exceed npieces */
    _Atomic uint32_t runs;
    _Atomic int enabled;
    _Atomic int64_t homeless;  /* dropped: no lane */
    _Atomic uint32_t nstreams; /* lanes 1..nstreams */
    dtp_lock_t lock;
    int nlanes, nsources, ngraphs;
};
typedef struct dnnl_tp_trace dtp_trace_t;

static inline bool dtp_trace_on(dtp_trace_t *trace) {
    return atomic_load_explicit(&trace->enabled, memory_order_relaxed) != 0;
}
/* The number of a primitive among the sources, which retains it; 0: no place. label is copied when
 * the object is new. */
uint32_t dtp_trace_source(dtp_trace_t *trace, void *object, dtp_trace_describe_t describe,
                          dtp_trace_label_t label);
/* The same for an executable; its label: the name (NULL: "graph") and a number. */
uint32_t dtp_trace_graph(dtp_trace_t *trace, void *object, dtp_trace_describe_t describe, const char *name);
/* A lane for a stream, 0: no place. name NULL: "stream" and its number. */
uint16_t dtp_trace_stream(dtp_trace_t *trace, const char *name);
static inline uint32_t dtp_trace_next_run(dtp_trace_t *trace) {
    return atomic_fetch_add_explicit(&trace->runs, 1, memory_order_relaxed) + 1;
}
/* Whether the event is a step of a run that the stream itself executed, not a thread. */
static inline bool dtp_trace_is_of_stream(const dtp_trace_event_t *event) {
    return event->kind == dnnl_tp_trace_node && event->stream;
}
/* Adds an event to the lane of this thread. */
void dtp_trace_add(dtp_trace_t *trace, const dtp_trace_event_t *event);

/* The threads that took part in a run: a set, zeroed at first, on the stack of the thread that
 * counts them. */
typedef struct {
    _Atomic int count;
    /* dtp_thread_key; the entries after the last one are 0 */
    _Atomic uintptr_t thread[DTP_MAX_THREADS];
} dtp_participants_t;
void dtp_participants_add(dtp_participants_t *participants); /* this thread */

/* The data that loops inside a watched piece of work record about their helpers; on the stack of
 * the thread that runs the work. */
typedef struct dtp_trace_work {
    dtp_watched_t watched;            /* first */
    dtp_trace_t *trace;               /* or NULL */
    dtp_participants_t *participants; /* or NULL */
    dtp_trace_event_t event;          /* all but the times, the slot and the kind */
} dtp_trace_work_t;
/* par for this work: its loops record their helpers. work must outlive them. */
dtp_parallel_t dtp_trace_loops(dtp_trace_work_t *work, const dtp_parallel_t *par);

#endif
