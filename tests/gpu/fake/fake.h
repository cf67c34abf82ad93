/* What the parts of the fake driver share; see fake_cuda.h.
 *
 * Everything is under one lock, but for what the device's thread does with the bytes of blocks: only that thread makes blocks
 * usable and takes them away while work of theirs is enqueued. Calls take the lock by fake_enter and leave it by fake_leave. */
#ifndef TESTS_GPU_FAKE_H
#define TESTS_GPU_FAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu/fake/fake_cuda.h"
#include "gpu/ptx/ptx.h"

enum { FAKE_MAX_DEVICES = 8, FAKE_MAX_STREAMS = 128, FAKE_MAX_CURRENT = 16 };

/* How far each stream has come, by its slot. A slot's numbers go on when another stream takes it. */
typedef struct {
    uint64_t of[FAKE_MAX_STREAMS];
} fake_clock_t;

typedef struct {
    int device, retained;
    dtp_cu_result_t sticky; /* success: alive */
    size_t reserved;        /* bytes of pools */
} fake_ctx_t;

typedef struct fake_stream fake_stream_t;
typedef struct fake_capture fake_capture_t;
typedef struct fake_graph fake_graph_t;

/* The moment of an event: made by cuEventRecord, reached when the device executes it. */
typedef struct {
    int refs; /* the event, the item, items that wait */
    bool done;
    int slot; /* where it was recorded */
    uint64_t seq;
    int64_t ns;
    uint64_t capture;   /* the number of the capture in which it was recorded; 0: in none */
    fake_clock_t clock; /* in a capture: of its nodes, by stream */
} fake_moment_t;

typedef struct fake_event {
    struct fake_event *next;
    uintptr_t handle;
    fake_ctx_t *ctx;
    bool timing;
    fake_moment_t *last; /* NULL: never recorded */
} fake_event_t;

typedef struct fake_pool {
    struct fake_pool *next;
    uintptr_t handle;
    fake_ctx_t *ctx;
    size_t limit, used, used_high, reserved, reserved_high, blocks;
    uint64_t threshold;
    bool waits_for_reuse; /* CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES */
    bool destroyed;       /* its blocks are still there */
} fake_pool_t;

typedef struct {
    uint64_t at;
    size_t bytes;
    unsigned char *memory, *data; /* with red zones; without */
    unsigned char *set;           /* a byte for each, 0 = nobody wrote it; see fake_order.c. NULL: pinned */
    struct fake_readers *readers;
    struct fake_writers *writers;
    fake_ctx_t *ctx;
    fake_pool_t *pool; /* NULL: pinned memory of the host, a variable of a module, or memory of a graph */
    const fake_graph_t *graph; /* whose memory it is; NULL: none's */
    bool pinned;               /* of the host, which finds it at `data` */
    bool live, freeing;        /* for the device's thread; a free is enqueued */
    int slot;                  /* where it was allocated */
    uint64_t seq;
    fake_clock_t used; /* last use by each stream */
} fake_block_t;

typedef struct fake_kernel fake_kernel_t;
typedef enum {
    FAKE_LAUNCH,
    FAKE_COPY,
    FAKE_FILL,
    FAKE_ALLOC,
    FAKE_FREE,
    FAKE_RECORD,
    FAKE_WAIT,
    FAKE_WAIT_VALUE,
    FAKE_HOST,
    FAKE_MARK,
    FAKE_PRODUCT
} fake_work_t;

/* An item of a stream. */
typedef struct fake_item {
    struct fake_item *next;
    fake_work_t work;
    uint64_t seq;
    int64_t due_ns;
    fake_clock_t
        after;         /* items of other streams that come first: of the legacy stream, or before one on it */
    fake_clock_t host; /* what the host had seen when it enqueued this */
    /* COPY: from or to the host where host_from or host_to is set; `bytes_of` holds pageable sources. FILL. ALLOC, FREE. */
    dtp_cu_ptr_t to, from;
    void *host_to;
    const void *host_from;
    unsigned char *bytes_of;
    size_t bytes;
    int value;
    fake_moment_t *moment; /* RECORD, WAIT: a reference */
    uint32_t until;        /* WAIT_VALUE */
    unsigned flags;
    dtp_cu_host_fn_t fn;
    void *arg;
    fake_kernel_t *kernel; /* LAUNCH: a reference */
    unsigned grid[3], block[3], shared;
    void *params; /* also of a PRODUCT: lt_images.h */
    size_t params_bytes;
    fake_graph_t *graph; /* which a stream replays: a reference; NULL: it was enqueued by a call of its own */
    bool pinned;         /* COPY: the host's side is pinned */
} fake_item_t;

typedef enum { FAKE_IDLE, FAKE_BUSY, FAKE_FOR_HOST } fake_state_t;
struct fake_stream {
    fake_stream_t *next;
    uintptr_t handle;
    fake_ctx_t *ctx;
    int slot;
    fake_state_t state; /* of the first item */
    bool legacy, blocking, destroyed, per_thread;
    bool late;       /* its host function was held back */
    pthread_t owner; /* of a per-thread stream */
    fake_item_t *head, **end;
    uint64_t priority;
    fake_capture_t *capture; /* of which it is a part; NULL: of none */
    fake_clock_t nodes; /* what of the capture comes before its next node; its own: how many nodes it has */
};

/* A thread's contexts; what it is in. */
typedef struct {
    fake_ctx_t *current[FAKE_MAX_CURRENT];
    int n;
    bool in_host_fn;
    dtp_cu_capture_mode_t capture_mode;
} fake_thread_t;

extern struct fake_state {
    pthread_mutex_t lock;
    pthread_cond_t work, host_work,
        done; /* for the device's thread; for that of host functions; for calls that wait */
    bool initialised, hold, hold_host;
    _Atomic pid_t pid; /* of the process that called cuInit; 0: none has */
    int devices, major, minor, multiprocessors, delay_us;
    _Atomic int driver_version;
    size_t memory_bytes;
    uint64_t random, handles;
    fake_ctx_t ctx[FAKE_MAX_DEVICES];
    fake_stream_t *streams;
    dtp_cu_result_t no_stream; /* why fake_stream_use_locked has found none */
    fake_capture_t *captures;
    fake_event_t *events;
    fake_pool_t *pools;
    fake_block_t **blocks; /* by address */
    size_t n_blocks, cap_blocks;
    uint64_t submitted[FAKE_MAX_STREAMS], completed[FAKE_MAX_STREAMS]; /* by slot */
    fake_clock_t clock[FAKE_MAX_STREAMS], host;                        /* what each slot has seen; the host */
    struct fake_waiter *waiters;                                       /* calls that wait for an item */
    int idlers;          /* calls that wait until nothing is being executed */
    int64_t wake_ns;     /* when the device's thread looks again by itself; 0: it does not sleep */
    const char *ignored; /* the call that does nothing; NULL: none */
    int64_t calls, fail_at, fail_item_at;
    dtp_cu_result_t fail_with, fail_item_with;
    int wrongs;
    char trap[1024];
    fake_cuda_stats_t stats;
} fake;
extern _Thread_local fake_thread_t fake_thread;

/* fake_state.c */
void fake_lock(void);
void fake_unlock(void);
/* What a call needs, and may do. */
enum {
    FAKE_NEEDS_INIT = 1,
    FAKE_NEEDS_CTX = 2,
    FAKE_CAN_FAIL = 4,
    FAKE_RELEASES = 8, /* also in a poisoned context */
    FAKE_ANY_CTX = 16, /* a context need not be current, but if one is, it must not be poisoned */
    FAKE_UNSAFE = 32,  /* not while a stream is captured: fake_capture.c */
    FAKE_CALL = FAKE_NEEDS_INIT | FAKE_NEEDS_CTX | FAKE_CAN_FAIL
};
/* Takes the lock and answers success, or does not and answers why the call fails. */
dtp_cu_result_t fake_enter(const char *call, unsigned needs);
/* Leaves the lock and answers result; fake_leave_released: instead of success a poisoned context's error. */
dtp_cu_result_t fake_leave(dtp_cu_result_t result);
dtp_cu_result_t fake_leave_released(dtp_cu_result_t result);
/* Tells what is wrong, and counts it; fake_tell_locked: does not count, because the call or the context fails. */
void fake_wrong_locked(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_tell_locked(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Is the call to do nothing? */
bool fake_ignores_locked(const char *call);
void fake_poison_locked(fake_ctx_t *ctx, dtp_cu_result_t result);
bool fake_is_sticky(dtp_cu_result_t result);
uint64_t fake_random_locked(void);
int64_t fake_now_ns(void);
/* A number that no handle has had, and no pointer is; its low 4 bits are 0. */
uintptr_t fake_handle_locked(void);
void fake_merge(fake_clock_t *to, const fake_clock_t *from);
fake_ctx_t *fake_current(void);
/* From now on the end of this thread looks whether it left a context current. */
void fake_watch_thread(void);
void *fake_zalloc(size_t bytes); /* ends the process where there is none */

/* fake_table.c */
void fake_count_locked(const char *call);

/* fake_device.c */
dtp_cu_ctx_t fake_ctx_handle(const fake_ctx_t *ctx);

/* fake_memory.c */
fake_block_t *fake_block_add_locked(fake_ctx_t *ctx, size_t bytes, bool pinned);
void fake_block_remove_locked(fake_block_t *b);
/* The block in which bytes at an address lie; where they are 0, also that behind which the address is. */
fake_block_t *fake_block_find_locked(dtp_cu_ptr_t at, size_t bytes);
fake_block_t *fake_pinned_find_locked(const void *host, size_t bytes);
/* Does an enqueued item use these bytes of a block? */
bool fake_pinned_in_use_locked(const fake_block_t *b, const void *at, size_t bytes);
bool fake_is_device_address(const void *p);
/* "8 bytes at 120 of a block of 124" */
const char *fake_address_text_locked(dtp_cu_ptr_t at, size_t bytes, char *text, size_t text_bytes);
/* Was the address in one of the blocks that were freed last? */
bool fake_was_freed_locked(dtp_cu_ptr_t at);
void fake_check_red_zones_locked(const fake_block_t *b);
void fake_memory_reset_locked(void);

/* fake_pool.c */
/* Ends a block that was freed. */
void fake_pool_block_gone_locked(fake_block_t *b);
/* Gives back what pools have reserved above their thresholds. */
void fake_pools_trim_locked(const fake_ctx_t *ctx);
void fake_pools_reset_locked(void);

/* fake_stream.c */
/* The stream of a handle, of the current context; NULL: there is none. */
fake_stream_t *fake_stream_find_locked(dtp_cu_stream_t handle, const char *call);
/* The same for a call that enqueues; NULL: fake.no_stream is what it answers. */
fake_stream_t *fake_stream_use_locked(dtp_cu_stream_t handle, const char *call);
void fake_stream_forget_locked(fake_stream_t *s);
void fake_streams_reset_locked(void);
fake_item_t *fake_item_new(fake_work_t work);
void fake_item_free_locked(fake_item_t *item);
/* The item's number; 0: it is a node of a capture. */
uint64_t fake_submit_locked(fake_stream_t *s, fake_item_t *item);
/* A stream of the context that waits for a word that the host has not written; NULL: none does. */
const fake_stream_t *fake_parked_locked(const fake_ctx_t *ctx);
/* Wakes the calls whose item is done. */
void fake_wake_waiters_locked(void);
/* Waits until the slot has come so far, or ctx (may be NULL) is poisoned. */
void fake_wait_locked(const fake_ctx_t *ctx, int slot, uint64_t seq);
void fake_wait_idle_locked(void);
/* Now and then: as a call that waits for the whole context. Told as a wrong use where that may never end. */
void fake_wait_for_context_locked(const fake_ctx_t *ctx, const char *call);
/* A call asked whether something is done, and it is not: what comes first need not be delayed any longer. */
void fake_nudge_locked(void);

/* fake_event.c */
void fake_moment_release_locked(fake_moment_t *moment);
void fake_event_forget_locked(fake_event_t *event);

/* fake_capture.c */
/* May this thread not make unsafe calls? Those captures that forbid it are invalid from now on. */
bool fake_is_unsafe_locked(const char *call);
/* The stream is part of a capture: the item is its next node, and not enqueued. */
void fake_capture_add_locked(fake_stream_t *s, fake_item_t *item);
/* What a call answers that looks how far a stream, or an event, has come; success: it is captured by none. */
dtp_cu_result_t fake_stream_not_captured_locked(const fake_stream_t *s, const char *call);
dtp_cu_result_t fake_event_not_captured_locked(const fake_event_t *event, const char *call);
/* The legacy stream must not be used: a blocking stream is captured. spoil: that capture is invalid from now on. */
bool fake_legacy_is_barred_locked(const fake_ctx_t *ctx, const char *call, bool spoil);
bool fake_capture_is_invalid(const fake_capture_t *capture);
/* cuEventRecord on a stream that is captured; cuStreamWaitEvent where stream or event are. */
void fake_capture_record_locked(const fake_stream_t *s, fake_moment_t *moment);
dtp_cu_result_t fake_capture_wait_locked(fake_stream_t *s, const fake_moment_t *moment);
/* Memory of the capture's graph, where the stream is captured. */
dtp_cu_result_t fake_capture_alloc_locked(fake_stream_t *s, size_t bytes, dtp_cu_ptr_t *at);
dtp_cu_result_t fake_capture_free_locked(fake_stream_t *s, fake_block_t *b);
void fake_capture_stream_ends_locked(fake_stream_t *s);
void fake_graph_release_locked(fake_graph_t *graph);
void fake_captures_reset_locked(void);

/* fake_threads.c */
void fake_threads_start_locked(void);
void fake_threads_stop(void);

/* fake_copy.c */
bool fake_value_is_there_locked(const fake_item_t *item);

/* fake_work.c */
/* Executes the stream's first item; answers what poisons the context. Leaves the lock while a kernel runs. */
dtp_cu_result_t fake_execute_locked(fake_stream_t *s, fake_item_t *item);
/* Does what is left of an item that is not executed. */
void fake_drop_locked(fake_item_t *item);
/* Is the block there for the stream, by what its clock tells? NULL, or what is wrong. */
const char *fake_block_refused_locked(const fake_stream_t *s, const fake_block_t *b);

/* fake_order.c */
/* May the stream's first item read, or write, these bytes? NULL, or what is wrong. What it reads or writes is noted; bytes that it
 * writes hold nothing where set is given and 0. */
const char *fake_read_locked(const fake_stream_t *s, fake_block_t *b, size_t skip, size_t bytes);
const char *fake_write_locked(const fake_stream_t *s, fake_block_t *b, size_t skip, const unsigned char *set,
                              size_t bytes);
/* What a kernel is to see as `set` of a block that is its parameter; NULL: the block's own. After it has run, with that: what is
 * wrong with what it wrote; NULL: nothing. */
unsigned char *fake_before_kernel_locked(const fake_stream_t *s, fake_block_t *b);
const char *fake_after_kernel_locked(const fake_stream_t *s, fake_block_t *b, unsigned char *seen);
void fake_order_forget(fake_block_t *b);

/* fake_module.c, fake_launch.c */
void fake_kernel_release_locked(fake_kernel_t *kernel);
dtp_cu_result_t fake_run_locked(fake_stream_t *s, fake_item_t *item);
void fake_modules_reset_locked(void);

#endif
