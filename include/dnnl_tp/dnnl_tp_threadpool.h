/** @file
 * The caller's thread pool, stream and engine attributes, the built-in pool, BLAS calls with a pool. */
#ifndef DNNL_TP_THREADPOOL_H
#define DNNL_TP_THREADPOOL_H

#include "dnnl_tp/dnnl_tp.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Job i of n of a parallel loop. */
typedef void (*dnnl_tp_chunk_fn_t)(void *arg, int i, int n);
/** A task. */
typedef void (*dnnl_tp_task_fn_t)(void *arg);

/** A thread pool, as its owner offers it to the library.
 *
 * Every member may be called from any thread, concurrently, and must not throw. At least one of schedule and
 * parallel_for must be set; schedule is preferred. Equal ctx and equal function pointers mean the same pool.
 * The struct is copied when it is set; ctx must live until release was called or, without release, until the
 * last stream, engine and attribute that hold it are destroyed and dnnl_tp_threadpool_quiesce() returned. */
typedef struct {
    size_t struct_size; /**< sizeof as the host compiled it; members beyond it count as NULL. */
    void *ctx;          /**< Passed to every member. */
    /** Threads the library may occupy at once, its caller included; <= 0 = unknown. */
    int (*get_num_threads)(void *ctx);
    /** Optional hint: is the calling thread one of the pool's? */
    int (*get_in_parallel)(void *ctx);
    /** Calls fn(arg, i, n) for every i in [0, n). May be NULL if schedule is set. Non-zero: no fn was or will
     * be called. */
    int (*parallel_for)(void *ctx, int n, dnnl_tp_chunk_fn_t fn, void *arg);
    /** DNNL_TP_THREADPOOL_* bits; NULL = 0. */
    uint64_t (*get_flags)(void *ctx);
    /** Optional: 0 idle, 1 timed out, < 0 failed. timeout_ns < 0 = none, 0 = poll. */
    int (*wait)(void *ctx, int64_t timeout_ns);
    /** Runs fn(arg) once, now or later, on any thread. run is the cookie of run_begin, NULL outside runs.
     * Non-zero: fn is never called. */
    int (*schedule)(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg);
    /** Optional: a run of a graph begins; non-zero makes it fail. */
    int (*run_begin)(void *ctx, uint64_t run_id, void **run);
    /** Optional: the run ended; calls done(done_arg) when the host is through with it. */
    void (*run_end)(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg);
    /** Optional locality hint. */
    int (*current_slot)(void *ctx);
    /** Optional: the library dropped its last copy and will not call ctx again. */
    void (*release)(void *ctx);
} dnnl_tp_threadpool_iface_t;

#define DNNL_TP_THREADPOOL_ASYNCHRONOUS ((uint64_t)1)   /**< parallel_for may return before the jobs ran */
#define DNNL_TP_THREADPOOL_AUTO_BALANCING ((uint64_t)2) /**< good at many small jobs */
#define DNNL_TP_THREADPOOL_IN_ORDER ((uint64_t)4) /**< consecutive asynchronous loops run one after another \
                                                   */
#define DNNL_TP_THREADPOOL_CALLER_WORKS ((uint64_t)8)   /**< the thread that calls parallel_for takes part */
#define DNNL_TP_THREADPOOL_NESTABLE ((uint64_t)16)      /**< may be called from inside a job */
#define DNNL_TP_THREADPOOL_SINGLE_CALLER ((uint64_t)32) /**< cannot be entered by two callers at once */

/** Size of dnnl_tp_threadpool_iface_t that this library knows; members beyond it are ignored. */
DNNL_TP_API size_t dnnl_tp_threadpool_iface_size(void);
/** Returns once every function that the library scheduled on this pool was called; before a dlclose. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_quiesce(const dnnl_tp_threadpool_iface_t *pool,
                                                            int64_t timeout_ns);

/* ---- The built-in pool -------------------------------------------------------------------------------- */

/** A pthread pool of the library's own. Created only when asked for. */
typedef struct dnnl_tp_threadpool *dnnl_tp_threadpool_t;

/** Options of the built-in pool; zeroed members mean defaults. */
typedef struct {
    size_t struct_size;   /**< sizeof(dnnl_tp_threadpool_opts_t) */
    int num_threads;      /**< Threads that compute at once, callers included; 0 = process default. */
    const char *name;     /**< Prefix of the threads' names; copied; NULL = "dnnl_tp". */
    int64_t spin_ns;      /**< How long an idle worker spins; 0 = calibrated, < 0 = never. */
    int blocking_threads; /**< Must be 0 in this version. */
    uint64_t flags; /**< DNNL_TP_THREADPOOL_ASYNCHRONOUS: streams on it return before the work is done. */
} dnnl_tp_threadpool_opts_t;

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_create(dnnl_tp_threadpool_t *pool,
                                                           const dnnl_tp_threadpool_opts_t *opts);
/** Drops the handle; the threads end when the last stream or attribute that uses the pool is gone. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_threadpool_destroy(dnnl_tp_threadpool_t pool);
/** The pool as an interface, borrowed. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_get_iface(dnnl_tp_threadpool_t pool,
                                                              const dnnl_tp_threadpool_iface_t **iface);

/* ---- Stream attributes -------------------------------------------------------------------------------- */

typedef struct dnnl_tp_stream_attr *dnnl_tp_stream_attr_t;             /**< Attributes of a stream. */
typedef const struct dnnl_tp_stream_attr *const_dnnl_tp_stream_attr_t; /**< Borrowed attributes. */

/** Where the threads of a stream come from. */
typedef enum {
    dnnl_tp_pool_kind_unset = 0,      /**< Nobody said; the stream runs on its caller. */
    dnnl_tp_pool_kind_sequential = 1, /**< NULL was set on purpose. */
    dnnl_tp_pool_kind_user = 2,
    dnnl_tp_pool_kind_builtin = 3,
    dnnl_tp_pool_kind_engine_default = 4,
    dnnl_tp_pool_kind_runtime = 5
} dnnl_tp_pool_kind_t;

#define DNNL_TP_PARALLELISM_INTER 1u /**< Operators of a graph may run beside each other. */
#define DNNL_TP_PARALLELISM_INTRA 2u /**< Loops inside an operator may be split. */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_create(dnnl_tp_stream_attr_t *attr,
                                                            dnnl_tp_engine_kind_t kind);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_clone(dnnl_tp_stream_attr_t *attr,
                                                           const_dnnl_tp_stream_attr_t existing);
DNNL_TP_API dnnl_tp_status_t dnnl_tp_stream_attr_destroy(dnnl_tp_stream_attr_t attr);
/** Sets the pool; NULL = sequential on purpose. Errors: invalid_arguments for a non-CPU attribute, a struct
 * that is too small, or one with neither schedule nor parallel_for. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_threadpool(dnnl_tp_stream_attr_t attr,
                                                                    const dnnl_tp_threadpool_iface_t *pool);
/** The pool that was set, borrowed (NULL if none); read at most (*pool)->struct_size bytes. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_get_threadpool(const_dnnl_tp_stream_attr_t attr,
                                                                    const dnnl_tp_threadpool_iface_t **pool);
/** Uses a built-in pool; retains it. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_builtin_threadpool(dnnl_tp_stream_attr_t attr,
                                                                            dnnl_tp_threadpool_t pool);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_get_pool_kind(const_dnnl_tp_stream_attr_t attr,
                                                                   dnnl_tp_pool_kind_t *kind);
/** Upper bound of participants, 1..256; 0 = the pool's count. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_max_threads(dnnl_tp_stream_attr_t attr,
                                                                     int max_threads);
/** DNNL_TP_PARALLELISM_* bits; both by default. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_parallelism(dnnl_tp_stream_attr_t attr,
                                                                     unsigned parallelism);
/** 1 (default): graph runs take a run ticket of the pool, so that many callers share its budget. 0: they do
 * not. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_admission(dnnl_tp_stream_attr_t attr, int admission);
/** 1: execute returns before the work is done, on every pool. 0 (default): only on asynchronous pools. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_attr_set_async(dnnl_tp_stream_attr_t attr, int async);

/** stream_create with attributes; NULL = defaults. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_create_v2(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine,
                                                          unsigned flags, const_dnnl_tp_stream_attr_t attr);
/** The attributes as resolved at creation; borrowed, never NULL. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_get_attr(dnnl_tp_stream_t stream,
                                                         const_dnnl_tp_stream_attr_t *attr);
/** Changes the pool of an idle stream and keeps its scratch: for pools that live for one call. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_set_threadpool(dnnl_tp_stream_t stream,
                                                               const dnnl_tp_threadpool_iface_t *pool);

/** Takes thread count and flags of the pool in the attribute, at once; nothing of it is kept. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_attr_set_stream_attr(
    dnnl_tp_primitive_attr_t attr, const_dnnl_tp_stream_attr_t stream_attr);

/* ---- Engine attributes -------------------------------------------------------------------------------- */

typedef struct dnnl_tp_engine_attr *dnnl_tp_engine_attr_t;             /**< Attributes of an engine. */
typedef const struct dnnl_tp_engine_attr *const_dnnl_tp_engine_attr_t; /**< Borrowed attributes. */

DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_create(dnnl_tp_engine_attr_t *attr);
DNNL_TP_API dnnl_tp_status_t dnnl_tp_engine_attr_destroy(dnnl_tp_engine_attr_t attr);
/** Default pool of the engine's streams and primitives. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_stream_attr(dnnl_tp_engine_attr_t attr,
                                                                     const_dnnl_tp_stream_attr_t stream_attr);
/** Default thread count of the engine's primitives, 1..256; 0 = unset. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_num_threads(dnnl_tp_engine_attr_t attr,
                                                                     int num_threads);
/** Limits the instruction sets of the engine's primitives. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_max_isa(dnnl_tp_engine_attr_t attr,
                                                                 dnnl_tp_cpu_isa_t isa);
/** Allocator of the engine and of everything made from it. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_attr_set_allocator(dnnl_tp_engine_attr_t attr,
                                                                   const dnnl_tp_allocator_t *allocator);
/** engine_create with attributes; NULL = defaults. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_create_v2(dnnl_tp_engine_t *engine,
                                                          dnnl_tp_engine_kind_t kind, size_t index,
                                                          const_dnnl_tp_engine_attr_t attr);

/* ---- Thin forms with oneDNN's names ------------------------------------------------------------------- */

/** stream_create_v2 with a pool; NULL = sequential. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_create(
    dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_stream_get_threadpool(
    dnnl_tp_stream_t stream, const dnnl_tp_threadpool_iface_t **pool);
/** Process-wide default of the thread count, >= 1. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_set_max_concurrency(int max_concurrency);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_threadpool_interop_get_max_concurrency(int *max_concurrency);

/** dnnl_tp_sgemm on a pool; NULL = sequential. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sgemm_tp(char transa, char transb, dnnl_tp_dim_t M, dnnl_tp_dim_t N,
                                                  dnnl_tp_dim_t K, float alpha, const float *A,
                                                  dnnl_tp_dim_t lda, const float *B, dnnl_tp_dim_t ldb,
                                                  float beta, float *C, dnnl_tp_dim_t ldc,
                                                  const dnnl_tp_threadpool_iface_t *pool);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_u8s8s32_tp(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
    const uint8_t *A, dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo,
    float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co, const dnnl_tp_threadpool_iface_t *pool);
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_s8s8s32_tp(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
    const int8_t *A, dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb, int8_t bo, float beta,
    int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co, const dnnl_tp_threadpool_iface_t *pool);

#ifdef __cplusplus
}
#endif

#endif
