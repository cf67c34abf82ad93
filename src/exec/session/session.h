/* A session: names of the graph's values, pools with their idle streams, the cache of executables.
 *
 * States of a session: open -> closed; `active` counts runs inside, closed is its highest bit. A
 * run enters by active+1 and leaves at once if it finds the bit; close sets the bit, fires the
 * session's cancel token and sleeps on the word until only the bit is left. An entry of the cache
 * is immutable; it is reached through the lists only under the lock and counts its users: eviction
 * takes it out of the lists, the last user frees it. */
#ifndef DTP_EXEC_SESSION_SESSION_H
#define DTP_EXEC_SESSION_SESSION_H

#include "dnnl_tp/dnnl_tp_session.h"
#include "exec/run/executable.h"
#include "threading/base/futex.h"
#include "threading/pools/named_pool.h"

enum {
    DTP_SESSION_MAX_NAMES = 1024, /* of one kind in one run */
    DTP_SESSION_BUCKETS = 256,
    DTP_SESSION_DEFAULT_EXECUTABLES = 64
};

/* dnnl_tp_session.active: closed : 1 | dtp_fork_generation of the process whose runs are counted :
 * 31 | runs : 32. */
#define DTP_SESSION_CLOSED INT64_MIN
static inline uint32_t dtp_session_generation(int64_t active) { return (uint64_t)active >> 32 & INT32_MAX; }
static inline uint32_t dtp_session_count(int64_t active) { return (uint32_t)active; }
static inline int64_t dtp_session_none(void) {
    return (int64_t)atomic_load_explicit(&dtp_fork_generation, memory_order_relaxed) << 32;
}

/* The values that the names of one run stand for, in the order of the run; the lists have room for
 * all names. */
typedef struct {
    int nfeeds, nfetches, ntargets, num_threads;
    uint64_t hash; /* the same for every order */
    int32_t *feeds, *fetches, *targets;
    const dnnl_tp_tensor_info_t **infos; /* of the feeds */
    const void **values;                 /* of feeds that determine shapes; else NULL */
} dtp_request_t;

/* The names of one call, and its pointers in the order of the executable. The lists of a call with
 * a small number of names are on its stack, those of others in memory that the session keeps
 * (call.c). */
typedef struct dtp_call_memory {
    struct dtp_call_memory *next;
    size_t bytes; /* of the lists, which follow in memory */
} dtp_call_memory_t;
typedef struct {
    dtp_request_t r;
    int32_t *wanted; /* fetches, as given */
    const void **feed_data;
    void **fetch_data, **in, **out;
    dtp_call_memory_t *more;
    _Alignas(DTP_CACHE_LINE) char few[1024];
} dtp_call_t;

/* One executable and the request that it was made for; the lists are sorted and have no value
 * twice. */
typedef struct dtp_session_entry {
    struct dtp_session_entry *next; /* of its bucket */
    uint64_t hash;
    _Atomic int users;
    _Atomic uint64_t stamp; /* last use */
    int nfeeds, nfetches, ntargets, num_threads;
    int32_t *feeds, *fetches, *targets;
    dnnl_tp_tensor_info_t *infos;
    const void **values;
    dnnl_tp_executable_t exec;
} dtp_session_entry_t;

/* Streams that no run uses now. The last pool of a session is the calling thread alone. */
typedef struct dtp_idle_stream {
    struct dtp_idle_stream *next;
    dnnl_tp_stream_t stream;
} dtp_idle_stream_t;
typedef struct {
    dtp_named_pool_t *pool; /* NULL: the calling thread */
    dnnl_tp_stream_attr_t attr;
    int num_threads;
    dtp_lock_t lock;
    dtp_idle_stream_t *idle;
} dtp_session_pool_t;

/* Slot of the table of names: empty without a name. */
typedef struct {
    const char *name;
    int32_t value, nout; /* results of the operator, 1 for inputs and constants */
    bool ambiguous;
} dtp_session_name_t;

struct dnnl_tp_session {
    dtp_object_t obj;
    dtp_graph_t *graph;      /* retained */
    dnnl_tp_engine_t engine; /* retained */
    int64_t timeout_ns;
    int deterministic, max_executables;
    size_t memory_budget;
    int npools; /* without the calling thread */
    dtp_session_pool_t *pools;
    dtp_session_name_t *names;
    uint32_t names_mask;
    uint8_t *makes_shapes;   /* by value of the graph: its elements determine shapes */
    dnnl_tp_cancel_t cancel; /* fired by close */
    dnnl_tp_trace_t trace;   /* retained, or NULL */

    _Alignas(DTP_NO_SHARE) _Atomic int64_t active;
    _Atomic uint32_t closers_wake_word;
    _Atomic bool given_away; /* the last thread that leaves drops the program's reference */
    _Atomic uint64_t runs, clock;
    /* Protects all following members. */
    _Alignas(DTP_NO_SHARE) dtp_lock_t lock;
    int nentries;
    uint64_t compilations, evictions;
    dtp_call_memory_t *call_memory; /* memory that no call uses now */
    dtp_session_entry_t *bucket[DTP_SESSION_BUCKETS];
};
typedef struct dnnl_tp_session dtp_session_t;

struct dnnl_tp_callable {
    dtp_object_t obj;
    dtp_session_t *session; /* retained */
    int nfeeds, nfetches, ntargets;
    int32_t *feeds, *fetches, *targets; /* as given */
    dnnl_tp_tensor_info_t *infos;
    dtp_session_entry_t *entry; /* of the session's pool 0; a user */
};

/* call.c. Makes room for so many names; dtp_call_close must follow success. */
dnnl_tp_status_t dtp_call_open(dtp_session_t *session, dtp_call_t *call, int nfeeds, int nfetches,
                               int ntargets);
void dtp_call_close(dtp_session_t *session, dtp_call_t *call);
void dtp_call_memory_free(dtp_session_t *session);

/* cache.c. The value of "name" or "name:i". */
dnnl_tp_status_t dtp_session_names_init(dtp_session_t *session);
dnnl_tp_status_t dtp_session_value(const dtp_session_t *session, const char *what, const char *name,
                                   int32_t *value);
void dtp_request_seal(dtp_request_t *request);
int dtp_session_find(const int32_t *sorted, int n, int32_t value); /* its position, -1 */
/* The executable for a request, compiled if there is none; the caller becomes a user. */
dnnl_tp_status_t dtp_session_entry_get(dtp_session_t *session, const dtp_request_t *request,
                                       dtp_session_entry_t **entry);
void dtp_session_entry_release(dtp_session_entry_t *entry);
void dtp_session_cache_free(dtp_session_t *session);

#endif
