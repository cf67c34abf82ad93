/* Engines: a device, its memory, its implementation lists, its defaults; and the stream as its users see it.
 * src/engines.c holds the one table of the engines of this build. */
#ifndef DTP_COMMON_PRIMITIVE_ENGINE_H
#define DTP_COMMON_PRIMITIVE_ENGINE_H

#include "common/base/object.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

struct dtp_impl;
struct dnnl_tp_memory_desc;
struct dtp_parallel;
struct dtp_exec_ctx;
struct dtp_run_part;
struct dtp_sync;

/* Instruction sets as bits; an implementation names what it needs. */
enum {
    DTP_ISA_AVX2 = 1,   /* with FMA and F16C */
    DTP_ISA_AVX512 = 2, /* F, BW, VL, DQ */
    DTP_ISA_AVX512_VNNI = 4,
    DTP_ISA_AVX512_BF16 = 8,
    DTP_ISA_SLOW_BF16 = 16 /* its products take longer than f32's; no implementation needs this bit */
};
/* What exists once for each instruction set: <name>__avx512 or <name>__avx2, as the bits allow, else `other`. */
#if DTP_X64
#define DTP_BY_ISA(isa, name, other) \
    ((isa)&DTP_ISA_AVX512 ? name##__avx512 : (isa)&DTP_ISA_AVX2 ? name##__avx2 : (other))
#else
#define DTP_BY_ISA(isa, name, other) ((isa) ? (other) : (other))
#endif
/* The same of what exists for processors that convert to bf16, too. */
#if DTP_X64
#define DTP_BY_ISA_BF16(isa, name, other) \
    ((isa)&DTP_ISA_AVX512_BF16 ? name##__avx512_bf16 : DTP_BY_ISA(isa, name, other))
#else
#define DTP_BY_ISA_BF16(isa, name, other) DTP_BY_ISA(isa, name, other)
#endif

/* Attributes that only engines of one kind know (a device by its UUID, limits, profiling): a struct that begins with its
 * size_t struct_size, as the program compiled it. The header of such an engine declares it, and what sets it. */
typedef struct dtp_own {
    dtp_object_t obj;
    dnnl_tp_engine_kind_t kind;
    size_t bytes;
    _Alignas(16) char data[];
} dtp_own_t;
/* Copies the struct to *own, in place of what was there; NULL: none. */
dnnl_tp_status_t dtp_own_set(dtp_own_t **own, dnnl_tp_engine_kind_t kind, const void *data);
/* For engines: the struct of `bytes` bytes that they know (own NULL: all zeros). What a smaller one lacks is 0; a larger
 * one is refused if more than zeros stand in what they do not know. */
dnnl_tp_status_t dtp_own_get(const dtp_own_t *own, void *to, size_t bytes);

/* Attributes of a stream, also the default of an engine. Immutable inside a stream or engine. */
struct dnnl_tp_stream_attr {
    dtp_object_t obj;
    dnnl_tp_engine_kind_t kind;
    dnnl_tp_pool_kind_t pool_kind;
    dnnl_tp_threadpool_iface_t iface;   /* user and builtin; members beyond the host's struct_size are NULL */
    struct dnnl_tp_threadpool *builtin; /* retained */
    struct dtp_pool *pool;              /* retained record of iface or builtin, or NULL */
    int max_threads;                    /* 0 = the pool's */
    unsigned parallelism;
    int admission, async, priority;
    dtp_own_t *own; /* of `kind`; retained, or NULL */
};
typedef struct dnnl_tp_stream_attr dtp_stream_attr_t;

struct dnnl_tp_engine_attr {
    dtp_object_t obj;
    dtp_stream_attr_t *stream_attr; /* retained or NULL */
    int num_threads;
    dnnl_tp_cpu_isa_t max_isa;
    bool has_allocator;
    dnnl_tp_allocator_t engine_allocator;
    dtp_own_t *own; /* or NULL; of the engine's kind where one is created */
};

/* What an engine can, as bits. */
enum {
    DTP_ENGINE_HOST_READABLE = 1, /* its memory is the host's, and so are the threads that run its kernels */
    DTP_ENGINE_ROWS = 2,          /* implementations honour the rows of dtp_exec_ctx_t */
    DTP_ENGINE_CACHES = 4         /* sizes of caches and estimates of times in ns hold for it */
};
typedef enum { DTP_COPY_TO_ENGINE, DTP_COPY_TO_HOST, DTP_COPY_WITHIN } dtp_copy_t;

/* What a kind of device must provide. */
enum { DTP_ENGINE_WORD = 64 };
typedef struct dtp_engine_vtbl {
    dnnl_tp_engine_kind_t kind;
    const char *name; /* in verbose lines and traces */
    unsigned can;     /* DTP_ENGINE_* */
    size_t (*count)(void);
    const char *(*absence)(void); /* why the count is 0; NULL: it never is */
    dnnl_tp_status_t (*create)(dnnl_tp_engine_t *engine, size_t index,
                               const struct dnnl_tp_engine_attr *attr);
    /* NULL-terminated ordered list of implementations of a kind; NULL if the kind is unknown here. */
    const struct dtp_impl *const *(*impl_list)(dnnl_tp_primitive_kind_t kind);
    /* Threads that a primitive may use of which the attributes say nothing; *pool_flags, which is 0, becomes the flags
     * of the pool that they come from. */
    int (*num_threads)(const struct dnnl_tp_engine *engine, uint64_t *pool_flags);
    dnnl_tp_status_t (*stream_create)(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                      const dtp_stream_attr_t *attr);
    /* Notes what must be waited for (threading/streams/sync.h); engine NULL = all engines of the kind. NULL: sync
     * calls answer unimplemented. */
    dnnl_tp_status_t (*sync)(dnnl_tp_engine_t engine, struct dtp_sync *sync);
    /* Ends the idle ones of the streams that were given away where they could not end, before an engine is destroyed.
     * NULL: there are none. */
    void (*end_given)(void);
    /* Memory of the engine, aligned for its kernels; NULL: there is no more, as the last error says. No work may use
     * what is freed. */
    void *(*alloc)(dnnl_tp_engine_t engine, size_t bytes, bool zeroed);
    void (*free)(dnnl_tp_engine_t engine, void *handle);
    /* DTP_ENGINE_WORD bytes of the host, zeros, to which copies of streams do not wait; NULL: there is no more, as the last error says.
     * Entries NULL: copies wait for no memory. */
    void *(*alloc_word)(dnnl_tp_engine_t engine);
    void (*free_word)(dnnl_tp_engine_t engine, void *word);
    /* A pointer with which the host reads and writes the bytes at handle; what it wrote is there once it is unmapped.
     * No work may use them meanwhile. unmap refuses what is not the pointer that map gave. */
    dnnl_tp_status_t (*map)(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped);
    dnnl_tp_status_t (*unmap)(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped);
    /* Copies bytes of the host to handle, and returns when they are there. No work may use them meanwhile. NULL: the host does it. */
    dnnl_tp_status_t (*write)(dnnl_tp_engine_t engine, void *handle, const void *data, size_t bytes);
    /* On a stream, behind what it was given before. The host's memory of a copy stays the stream's until it has
     * come so far. */
    dnnl_tp_status_t (*zero_pad)(dnnl_tp_stream_t stream, const struct dnnl_tp_memory_desc *md, void *handle);
    dnnl_tp_status_t (*copy)(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from,
                             size_t bytes);
} dtp_engine_vtbl_t;

enum { DTP_ENGINE_ANSWERS = 64 };
struct dnnl_tp_engine {
    dtp_object_t obj;
    const dtp_engine_vtbl_t *v;
    size_t index;
    uint64_t device;                /* where its memory lies: 0 = the host's, else of kind and index */
    unsigned isa;                   /* DTP_ISA_* bits it may use */
    int num_threads;                /* default of its primitives and runs; 0 = unset */
    dtp_stream_attr_t *stream_attr; /* default pool, or NULL */
    dnnl_tp_allocator_t own_allocator;
    const dnnl_tp_allocator_t *allocator; /* for everything made from it */
    int64_t l2_bytes, l3_bytes;           /* data caches: per core, shared */
    /* What it said to questions of compilation (exec/compile/passes/fusible.c). */
    _Atomic uint32_t answers[DTP_ENGINE_ANSWERS];
};

/* Whether so many bytes, which a primitive reads and writes, would not stay in the caches until its result is read:
 * then results may be stored past them. */
static inline bool dtp_exceeds_caches(double bytes, int64_t l3_bytes) {
    return bytes > 0.5 * (double)l3_bytes;
}

/* Engine kinds of this build (src/engines.c). */
const dtp_engine_vtbl_t *dtp_engine_vtbl(dnnl_tp_engine_kind_t kind);
static inline bool dtp_engine_can(const struct dnnl_tp_engine *engine, unsigned what) {
    return (engine->v->can & what) == what;
}
/* dnnl_tp_engine.device of a kind and an index of which the memory is not the host's. */
uint64_t dtp_engine_device(dnnl_tp_engine_kind_t kind, size_t index);
/* Which of two engines runs a reorder from memory of src's device to memory of dst's; NULL: none reaches both. */
dnnl_tp_engine_t dtp_engine_of_reorder(dnnl_tp_engine_t src, dnnl_tp_engine_t dst);
bool dtp_cpu_isa_is_known(dnnl_tp_cpu_isa_t isa);

/* An execution that was checked: what a stream runs or queues. Kept small: it is copied into submission
 * blocks. */
struct dnnl_tp_primitive;
struct dtp_share; /* threading/base/parallel.h */
typedef struct dtp_stream_run {
    int num_threads, priority;
    void (*fn)(void *arg, const struct dtp_parallel *par);
    dnnl_tp_status_t (*end)(void *arg, bool skipped);
    void *arg;
    const struct dtp_share *share;
} dtp_stream_run_t;
typedef struct dtp_stream_vtbl {
    /* Runs or queues primitive with nptrs dense pointers (and, where run-time dims exist, mds parallel to
     * them). Retains the primitive while queued. part, copied: of which run it is a step, which then records it
     * itself; else NULL, and what kernels find wrong in their data (data_error.h) is the execution's failure. */
    dnnl_tp_status_t (*execute)(dnnl_tp_stream_t stream, const struct dnnl_tp_primitive *primitive, int nptrs,
                                void *const *ptrs, const struct dnnl_tp_memory_desc *const *mds,
                                const struct dtp_run_part *part);
    /* As dnnl_tp_stream_wait_for. timeout_ns < 0: whatever it answers, but would_deadlock and poisoned, nothing of what was submitted
     * is under way any more. */
    dnnl_tp_status_t (*wait)(dnnl_tp_stream_t stream, int64_t timeout_ns);
    dnnl_tp_status_t (*set_pool)(dnnl_tp_stream_t stream, const dtp_stream_attr_t *attr);
    /* Drains and drops the caller's reference; would_deadlock from inside own work. */
    dnnl_tp_status_t (*close)(dnnl_tp_stream_t stream);
    /* Drops the caller's reference, and ends the stream when it is idle; never waits. NULL: the
     * stream can only be closed. */
    void (*give_away)(dnnl_tp_stream_t stream);
    /* A run of a graph: waits for earlier items, then calls fn as dtp_pool_run does, with at most num_threads
     * threads of the stream; the stream counts as busy meanwhile. Once share is over no wait goes on, and fn is
     * not called. */
    dnnl_tp_status_t (*run)(dnnl_tp_stream_t stream, int num_threads, int priority,
                            const struct dtp_share *share,
                            void (*fn)(void *arg, const struct dtp_parallel *par), void *arg);
    /* The same without waiting, as an item of the stream: fn is called, or not if the item is skipped; then,
     * in both cases, end, whose status is the item's (ignored if skipped; with the last error set), and which
     * is the last to use arg. The event is done after the host's run_end is. On a synchronous stream all of
     * it happens before the call returns. On failure nothing is called. A run that rests when fn returns
     * (threading/base/sleeper.h) is not over: fn is called again when it has been woken, then end.
     * Where the host submits the steps of runs, fn is NULL: end alone is called, behind them. */
    dnnl_tp_status_t (*submit_run)(dnnl_tp_stream_t stream, const struct dtp_stream_run *run,
                                   dnnl_tp_event_t *event);
    /* As the calls of dnnl_tp_event.h. */
    dnnl_tp_status_t (*record_event)(dnnl_tp_stream_t stream, dnnl_tp_event_t *event);
    dnnl_tp_status_t (*wait_event)(dnnl_tp_stream_t stream, dnnl_tp_event_t event);
    dnnl_tp_status_t (*query)(dnnl_tp_stream_t stream, bool *idle, dnnl_tp_status_t *result);
    dnnl_tp_status_t (*reset)(dnnl_tp_stream_t stream);
    /* As dnnl_tp_stream_set_trace, which checked the trace; NULL: unimplemented. */
    dnnl_tp_status_t (*set_trace)(dnnl_tp_stream_t stream, dnnl_tp_trace_t trace, const char *name);
    /* Writes CLOCK_MONOTONIC to *ns when the stream has come so far, unless the item is skipped; written when what is submitted
     * behind it is known to be done. NULL: it cannot, and runs that the host submits refuse statistics and traces. */
    dnnl_tp_status_t (*stamp)(dnnl_tp_stream_t stream, int64_t *ns);
    /* For a tool that watches the process: what this thread submits until the same call with NULL is named so. NULL: none does. */
    void (*range)(const char *name);
} dtp_stream_vtbl_t;

struct dnnl_tp_stream {
    dtp_object_t obj;
    dnnl_tp_engine_t engine; /* retained */
    const dtp_stream_vtbl_t *v;
    unsigned flags;
    dtp_stream_attr_t *attr; /* owned, resolved */
    dnnl_tp_trace_t trace;   /* retained, or NULL */
    uint16_t trace_lane;     /* in it; 0 = none */
};

#endif
