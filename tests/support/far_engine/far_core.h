/* The other side of a stream of the far engine: a core is the list of items, the thread and the poison. The stream, its
 * events and whoever waits hold references to it. Everything in it is under its lock, but for what only its thread
 * touches. */
#ifndef TESTS_SUPPORT_FAR_CORE_H
#define TESTS_SUPPORT_FAR_CORE_H

#include <pthread.h>

#include "support/far_engine/far_parts.h"
#include "threading/streams/event.h"
#include "trace/primitive.h"

typedef enum { EXECUTE, COPY, PAD, STAMP, WAIT, EVENT, END } work_t;

typedef struct core core_t;

/* A callback in the list of an event for which an item waits. */
typedef struct {
    dtp_callback_t node;
    core_t *core; /* a reference */
    int refs;     /* the item, the event's list */
    bool fired;
    dnnl_tp_status_t status;
} waiter_t;

typedef struct item {
    struct item *next;
    work_t work;
    uint32_t generation;
    const dtp_primitive_t *primitive; /* EXECUTE: retained */
    dnnl_tp_stream_t stream;
    int nptrs;
    void **ptrs; /* the last is the user's scratchpad */
    const dtp_md_t **mds;
    dtp_trace_work_t traced;
    int64_t submit_ns;
    dtp_run_part_t part;
    bool has_part;
    dtp_copy_t how; /* COPY, and PAD of handle `to` */
    void *to;
    const void *from;
    size_t bytes;
    dtp_md_t pad;
    dtp_event_t *event; /* WAIT, EVENT, END: retained */
    waiter_t *waiter;
    int64_t *stamp;
    dtp_stream_run_t run; /* END */
} item_t;

struct core {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic int refs;
    item_t *head, **end;
    uint64_t submitted, completed;
    uint32_t generation, poisoned; /* items of generation `poisoned` are skipped if poison is set */
    dnnl_tp_status_t poison;
    char text[DTP_EVENT_TEXT];
    bool closing;
    const void *engine; /* as an address */
    size_t device;
    const dnnl_tp_allocator_t *allocator;
    core_t *prev_core, *next_core; /* of all streams */
    /* The thread's: */
    pthread_t thread;
    uint64_t random;
    char *scratch;
    size_t scratch_bytes;
    int64_t begin_ns, end_ns; /* of the last item that worked */
};

void far_core_release(core_t *c);
/* The core's thread: runs items until the core closes. */
void *far_core_run(void *core);
void far_item_free(core_t *c, item_t *item);
/* What items of a generation are skipped for; success: they are not. */
dnnl_tp_status_t far_poison_of_locked(const core_t *c, uint32_t generation);
/* The callback of a waiter_t. */
void far_waiter_fired(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status);

#endif
