/* The CUDA engine: what its files share. Kinds of primitives include kernels.h alone.
 *
 * A device is what engines of one index share, for the life of the process: the primary context (retained once), a pool of
 * memory, a stream for what has no stream of its own (allocations, maps), the modules. Nothing is left current: each entry
 * pushes the context and pops it (dtp_gpu_enter, dtp_gpu_leave). */
#ifndef DTP_GPU_ENGINE_GPU_ENGINE_H
#define DTP_GPU_ENGINE_GPU_ENGINE_H

#include <pthread.h>

#include "gpu/driver/cu_api.h"
#include "gpu/engine/cublaslt.h"
#include "gpu/engine/kernels.h"

enum { DTP_GPU_MAX_DEVICES = 64 };

/* What is added to the device's clock to get CLOCK_MONOTONIC (gpu_stamp.c). */
typedef struct {
    bool known;
    int64_t offset;
} dtp_gpu_clock_t;

/* A block of pinned memory; its device's, whoever has it (gpu_pinned.c). */
typedef struct dtp_gpu_pinned {
    struct dtp_gpu_pinned *next;
    void *host;
    dtp_cu_ptr_t there; /* as the device sees it */
    size_t bytes;       /* a power of two */
    bool taken;
} dtp_gpu_pinned_t;

typedef struct dtp_gpu {
    const dtp_cu_t *cu;
    dtp_cu_device_t device;
    dtp_cu_ctx_t ctx;
    dtp_cu_pool_t pool;
    dtp_cu_stream_t own; /* of the library: allocations, frees, maps */
    dtp_cu_uuid_t uuid;
    dtp_gpu_device_t info;
    int waits_for_values; /* streams of it can wait for a word of host memory */
    int engines;          /* under the lock of devices; the last one closes what is the driver's */
    _Atomic int
        refs; /* of this memory: of all engines together, and of lines, which events may hold longer */
    struct dtp_gpu *next_closing;
    uint32_t forks;       /* dtp_fork_generation of the process that it belongs to */
    pthread_mutex_t lock; /* modules and libraries while they are loaded, the text while it is written */
    pthread_mutex_t clock_lock; /* no call of the driver is made under it: callbacks of the driver take it */
    dtp_gpu_clock_t clock;
    pthread_mutex_t pinned_lock;
    dtp_gpu_pinned_t *pinned;
    void *free_slots;
    dtp_cu_library_t library[DTP_GPU_MODULES];
    dtp_gpu_lt_t lt; /* under the lock; handle NULL: no product has asked, or lt_status tells why */
    dtp_lt_status_t lt_status;
    /* The first sticky error of the context, told by every later call; the text is written before. */
    _Atomic int poisoned;
    char text[256];
} dtp_gpu_t;

/* The program's allocator in place of the device's pool; alloc NULL: none. Called without locks. */
typedef struct {
    void *ctx;
    void *(*alloc)(void *ctx, size_t bytes, size_t alignment, dtp_cu_stream_t stream);
    void (*free)(void *ctx, void *ptr, dtp_cu_stream_t stream);
} dtp_gpu_allocator_t;

enum { DTP_GPU_BLOCK_BITS = 8 };
typedef struct dtp_gpu_block dtp_gpu_block_t;
typedef struct {
    struct dnnl_tp_engine base;
    dtp_gpu_t *gpu;
    dtp_gpu_allocator_t allocator;
    pthread_mutex_t lock;                             /* of what follows */
    uint64_t memory_limit, used, peak;                /* bytes; limit 0: none */
    dtp_gpu_block_t *blocks[1 << DTP_GPU_BLOCK_BITS]; /* by address */
    dtp_gpu_block_t *freed;                           /* by callbacks of the driver, not yet given back */
} dtp_gpu_engine_t;
static inline dtp_gpu_engine_t *dtp_gpu_of(dnnl_tp_engine_t engine) {
    return (dtp_gpu_engine_t *)(void *)engine;
}

/* Makes the context current until dtp_gpu_leave; fails where the context is poisoned, and inside the driver's callbacks. */
dnnl_tp_status_t dtp_gpu_enter(dtp_gpu_t *gpu);
void dtp_gpu_leave(dtp_gpu_t *gpu);
/* Around calls of the driver that may not be made while any thread captures a stream in the mode of all threads (as PyTorch does):
 * queries, waits, pinned memory, libraries. None of them touches a stream that is captured, so this thread may make them. */
static inline dtp_cu_capture_mode_t dtp_gpu_relax(const dtp_gpu_t *gpu) {
    dtp_cu_capture_mode_t mode = DTP_CU_CAPTURE_RELAXED;
    return gpu->cu->cuThreadExchangeStreamCaptureMode(&mode) == DTP_CU_SUCCESS ? mode
                                                                               : DTP_CU_CAPTURE_RELAXED;
}
static inline void dtp_gpu_restore(const dtp_gpu_t *gpu, dtp_cu_capture_mode_t mode) {
    if (mode != DTP_CU_CAPTURE_RELAXED) (void)gpu->cu->cuThreadExchangeStreamCaptureMode(&mode);
}
/* A reference to the memory of a device. */
static inline dtp_gpu_t *dtp_gpu_retain(dtp_gpu_t *gpu) {
    atomic_fetch_add_explicit(&gpu->refs, 1, memory_order_relaxed);
    return gpu;
}
void dtp_gpu_release(dtp_gpu_t *gpu);
/* The same to give things back, on a poisoned device, too; tried twice, since what is not given back now never is. */
bool dtp_gpu_enter_to_free(dtp_gpu_t *gpu);
/* poisoned in a child that was forked since. */
dnnl_tp_status_t dtp_gpu_ours(const dtp_gpu_t *gpu);
/* The status of a call of the driver, with its text as the last error; sticky errors poison the device. */
dnnl_tp_status_t dtp_gpu_check(dtp_gpu_t *gpu, dtp_cu_result_t result, const char *call);
#define DTP_CU(gpu, call, ...) dtp_gpu_check(gpu, (gpu)->cu->call(__VA_ARGS__), #call)
/* Leaves and returns where a call fails. */
#define DTP_CU_TRY(gpu, call, ...)                                       \
    do {                                                                 \
        const dnnl_tp_status_t status_ = DTP_CU(gpu, call, __VA_ARGS__); \
        if (DTP_UNLIKELY(status_ != dnnl_tp_success)) {                  \
            dtp_gpu_leave(gpu);                                          \
            return status_;                                              \
        }                                                                \
    } while (0)

static inline dtp_cu_ptr_t dtp_cu_ptr(const void *p) { return (dtp_cu_ptr_t)(uintptr_t)p; }

/* Keeps host memory of a lost device, which the driver may still write to, until the process ends. It begins with a pointer's room. */
void dtp_gpu_abandon(void *memory);
/* The sticky error, as the last error. */
dnnl_tp_status_t dtp_gpu_poison(dtp_gpu_t *gpu);
/* This thread runs a host function of the driver, which takes no calls. */
extern /* As dtp_gpu_kernel. */
    dnnl_tp_status_t
    dtp_gpu_find_kernel(dtp_gpu_t *gpu, dtp_gpu_module_t module, const char *name, size_t shared_bytes,
                        dtp_cu_function_t *kernel);

/* Until the stream has done what it was given. A driver that lacks memory to wait is asked again: a copy may be under way, and its memory
 * must not be freed. The context is current. */
dnnl_tp_status_t dtp_gpu_synchronize(dtp_gpu_t *gpu, dtp_cu_stream_t stream);

/* cublaslt.c: gives the handle back. The context is current. */
void dtp_gpu_lt_close(dtp_gpu_t *gpu);
/* gpu_pinned.c: a block of at least so many bytes; DTP_ENGINE_WORD bytes, zeros. take: the context is current. Thread-safe. */
dnnl_tp_status_t dtp_gpu_pinned_take(dtp_gpu_t *gpu, size_t bytes, dtp_gpu_pinned_t **block);
void dtp_gpu_pinned_give(dtp_gpu_t *gpu, dtp_gpu_pinned_t *block); /* NULL: nothing */
dnnl_tp_status_t dtp_gpu_slot_take(dtp_gpu_t *gpu, void **slot);
void dtp_gpu_slot_give(dtp_gpu_t *gpu, void *slot);
void dtp_gpu_pinned_destroy(dtp_gpu_t *gpu);
void *dtp_gpu_alloc_word(dnnl_tp_engine_t engine);
void dtp_gpu_free_word(dnnl_tp_engine_t engine, void *word);
/* gpu_memory.c; the first two with the context current, in the order of a stream */
dnnl_tp_status_t dtp_gpu_alloc_on(dnnl_tp_engine_t engine, size_t bytes, dtp_cu_stream_t stream, void **at);
void dtp_gpu_free_on(dnnl_tp_engine_t engine, void *handle, dtp_cu_stream_t stream);
void dtp_gpu_blocks_destroy(dtp_gpu_engine_t *e);
void *dtp_gpu_alloc(dnnl_tp_engine_t engine, size_t bytes, bool zeroed);
void dtp_gpu_free(dnnl_tp_engine_t engine, void *handle);
dnnl_tp_status_t dtp_gpu_write(dnnl_tp_engine_t engine, void *handle, const void *data, size_t bytes);
dnnl_tp_status_t dtp_gpu_map(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped);
dnnl_tp_status_t dtp_gpu_unmap(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped);
/* gpu_stream.c */
dnnl_tp_status_t dtp_gpu_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                       const dtp_stream_attr_t *attr);
dnnl_tp_status_t dtp_gpu_sync(dnnl_tp_engine_t engine, struct dtp_sync *sync);
void dtp_gpu_end_given(void);
dnnl_tp_status_t dtp_gpu_stream_copy(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from,
                                     size_t bytes);
dnnl_tp_status_t dtp_gpu_zero_pad(dnnl_tp_stream_t stream, const dtp_md_t *md, void *handle);
/* The program has the driver's stream from now on. */
void dtp_gpu_stream_share(dnnl_tp_stream_t stream);
/* The driver's stream, and the device. */
dtp_cu_stream_t dtp_gpu_stream_of(dnnl_tp_stream_t stream, dtp_gpu_t **gpu);

#endif
