/** @file
 * dnnl_tp: engines, streams, executing primitives, BLAS calls, service functions.
 *
 * The calls, their argument orders and their meaning are those of oneDNN v3's C API. Tensors:
 * dnnl_tp_memory.h; attributes: dnnl_tp_attr.h; creating primitives: dnnl_tp_primitives.h (all
 * included here). Threads: a stream carries the caller's pool, see dnnl_tp_threadpool.h. Events and
 * waiting: dnnl_tp_event.h (included here). Traces: dnnl_tp_trace.h (included here). Graphs:
 * dnnl_tp_graph.h.
 *
 * Rules for every call: it returns a status. On failure output handles are NULL, tensors are
 * untouched, and the text of dnnl_tp_last_error() tells the value that the call got and the values
 * that it accepts. A NULL in place of a required handle or result pointer gives invalid_arguments.
 * Every function that creates an object may give out_of_memory. Objects may be destroyed in any
 * order, because an object keeps alive the objects that it needs. The library never prints, aborts
 * or exits on its own.
 *
 * One of three terms states the thread safety of a function. Thread-safe: any number of threads may
 * call it at the same time, on the same objects too. Thread-compatible: threads may call it at the
 * same time on different objects, and on one object only if all of them only read it. Value: the
 * result depends on the arguments alone. */
#ifndef DNNL_TP_H
#define DNNL_TP_H

#include "dnnl_tp/dnnl_tp_attr.h"
#include "dnnl_tp/dnnl_tp_event.h"
#include "dnnl_tp/dnnl_tp_memory.h"
#include "dnnl_tp/dnnl_tp_primitives.h"
#include "dnnl_tp/dnnl_tp_trace.h"
#include "dnnl_tp/dnnl_tp_types.h"
#include "dnnl_tp/dnnl_tp_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Service --------------------------------------------------------------------------------- */

/** Versions and configuration of the loaded library. major, minor and patch are the version of
 * oneDNN's API whose names and values this API follows; library_major, library_minor and
 * library_patch are the version of this library. The macros DNNL_TP_VERSION_* and
 * DNNL_TP_LIBRARY_VERSION_* have the same versions of the headers. Value.
 *
 * @return a constant of the library; never NULL. */
DNNL_TP_API const dnnl_tp_version_t *dnnl_tp_version(void);

/** Text of the last failure on this thread: it names the call, the value that the call got and the
 * values that it accepts. Thread-safe.
 *
 * @return "" if no call on this thread has failed yet; valid until the next call on this thread
 *     that fails. */
DNNL_TP_API const char *dnnl_tp_last_error(void);

/** Sets the reason for which a function of the program fails: a closure of a graph, or the code
 * that signals an event. The text becomes part of the error text of the run or event, and the last
 * error of this thread: `return dnnl_tp_fail(dnnl_tp_runtime_error, "row 7 of prices.csv is
 * empty");`. Thread-safe.
 *
 * @param status the status that this thread is about to return, or to pass to
 *     dnnl_tp_event_signal(); success changes nothing
 * @param text copied, up to about 500 bytes; NULL = ""
 * @return status. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_fail(dnnl_tp_status_t status, const char *text);

/** Chooses which verbose lines the library writes (also: environment variable DNNL_TP_VERBOSE). A
 * line starts with "dnnl_tp_verbose," and has oneDNN's field order. Thread-safe.
 *
 * @param level 0 none; 1 failures and executions; 2 creations as well. The word dispatch in
 *     DNNL_TP_VERBOSE adds the refusals of implementations and the large problems that a reference
 *     computes; doc/variables.md lists all words
 * @return success; invalid_arguments (another level). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_verbose(int level);

/** Sends verbose lines to a function instead of standard output. Thread-safe.
 *
 * @param fn receives one line without its newline, from any thread; several threads may call it at
 *     the same time; it must not call the library; NULL = standard output again
 * @param arg passed to fn; owned by the caller
 * @return success. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_verbose_callback(void (*fn)(void *arg,
                                                                         const char *line),
                                                              void *arg);

/** Allocation callbacks. Several threads may call them at the same time; they must not call the
 * library. */
typedef struct {
    /** sizeof(dnnl_tp_allocator_t) */
    size_t struct_size;
    /** Passed to both functions; owned by the caller, valid as long as an object that uses the
     * allocator. */
    void *ctx;
    /** Allocates size bytes at an address that is a multiple of alignment, a power of two; NULL on
     * failure. */
    void *(*alloc)(void *ctx, size_t size, size_t alignment);
    /** Frees a block of alloc; ptr is never NULL. */
    void (*free)(void *ctx, void *ptr);
} dnnl_tp_allocator_t;

/** Chooses the allocator of objects that are created without an engine; the attributes of an engine
 * choose the allocator of its objects. The program calls this function before the first object
 * exists. Thread-safe.
 *
 * @param allocator copied; NULL = the library's own
 * @return success; invalid_arguments (an object exists, struct_size is wrong, or a member is NULL).
 */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_allocator(const dnnl_tp_allocator_t *allocator);

/** Gives the allocator of objects that are created without an engine, for libraries on top of this
 * one that take their memory from the same allocator. Thread-safe.
 *
 * @return the allocator that dnnl_tp_set_allocator() set, or the library's own; never NULL;
 *     borrowed, valid until the next call of dnnl_tp_set_allocator(). */
DNNL_TP_API const dnnl_tp_allocator_t *dnnl_tp_get_allocator(void);

/** Limits the instruction sets of all engines (also: environment variable DNNL_TP_MAX_CPU_ISA, with
 * the names of the enumerators in capitals, e.g. AVX2). The program calls this function before the
 * first engine exists; an engine attribute may lower the limit for its engine. Thread-safe.
 *
 * @param isa the highest set allowed; dnnl_tp_cpu_isa_default = no limit
 * @return success; invalid_arguments (not an enumerator, or an engine exists). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_max_cpu_isa(dnnl_tp_cpu_isa_t isa);

/** Gives the highest instruction set that new engines use: the highest one within the limit that
 * both the processor and the operating system support. Thread-safe.
 *
 * @return an enumerator; dnnl_tp_cpu_isa_sse41 on processors for which the library has only
 *     portable C. */
DNNL_TP_API dnnl_tp_cpu_isa_t dnnl_tp_get_effective_cpu_isa(void);

/** Gives hints for the choice of kernels, which oneDNN takes. This library follows none: engines
 * with dnnl_tp_cpu_isa_avx2 as their limit have vectors of 256 bits. Thread-safe.
 *
 * @param hints an enumerator
 * @return success (dnnl_tp_cpu_isa_no_hints); unimplemented (dnnl_tp_cpu_isa_prefer_ymm);
 *     invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_cpu_isa_hints(dnnl_tp_cpu_isa_hints_t hints);

/** Gives the hints that the library follows. Value.
 *
 * @return dnnl_tp_cpu_isa_no_hints. */
DNNL_TP_API dnnl_tp_cpu_isa_hints_t dnnl_tp_get_cpu_isa_hints(void);

/** Sets the floating-point mode of attributes that are created later (also: environment variable
 * DNNL_TP_DEFAULT_FPMATH_MODE). Thread-safe.
 *
 * @param mode strict at start-up
 * @return success; invalid_arguments (not an enumerator). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_default_fpmath_mode(dnnl_tp_fpmath_mode_t mode);

/** Gives the floating-point mode of new attributes. Thread-safe.
 *
 * @param[out] mode the mode
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_get_default_fpmath_mode(dnnl_tp_fpmath_mode_t *mode);

/** Sets how many primitives the process-wide cache keeps; a full cache drops the least recently
 * used primitive. The environment variable DNNL_TP_PRIMITIVE_CACHE_CAPACITY sets it at start-up.
 * Thread-safe.
 *
 * @param capacity entries; 0 switches the cache off; 1024 at start-up
 * @return success; invalid_arguments (negative). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_set_primitive_cache_capacity(int capacity);

/** Gives the capacity of the primitive cache. Thread-safe.
 *
 * @param[out] capacity entries
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_get_primitive_cache_capacity(int *capacity);

/* ---- Names of enumerators: without the prefix dnnl_tp_, "unknown ..." for other values ------- */

/** Name of a status. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_status2str(dnnl_tp_status_t v);

/** Name of a data type. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_dt2str(dnnl_tp_data_type_t v);

/** Name of a floating-point mode. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_fpmath_mode2str(dnnl_tp_fpmath_mode_t v);

/** Name of an accumulation mode. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_accumulation_mode2str(dnnl_tp_accumulation_mode_t v);

/** Name of an engine kind. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_engine_kind2str(dnnl_tp_engine_kind_t v);

/** Name of a format kind. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_fmt_kind2str(dnnl_tp_format_kind_t v);

/** Name of a layout tag. If several tags have one value, the name made of letters (abcd, not nchw).
 * Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_fmt_tag2str(dnnl_tp_format_tag_t v);

/** Name of a propagation kind. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_prop_kind2str(dnnl_tp_prop_kind_t v);

/** Name of a primitive kind. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_prim_kind2str(dnnl_tp_primitive_kind_t v);

/** Name of an algorithm. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_alg_kind2str(dnnl_tp_alg_kind_t v);

/** Name of a scratchpad mode. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_scratchpad_mode2str(dnnl_tp_scratchpad_mode_t v);

/** Name of a rounding mode. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_rounding_mode2str(dnnl_tp_rounding_mode_t v);

/** Name of a quantization mode. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_quantization_mode2str(dnnl_tp_quantization_mode_t v);

/** Name of flags of a recurrent network. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_rnn_flags2str(dnnl_tp_rnn_flags_t v);

/** Name of a direction of a recurrent network. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_rnn_direction2str(dnnl_tp_rnn_direction_t v);

/** Name of an instruction-set limit. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_cpu_isa2str(dnnl_tp_cpu_isa_t v);

/** Name of a hint. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_cpu_isa_hints2str(dnnl_tp_cpu_isa_hints_t v);

/** Name of an encoding of sparse tensors. Value.
 *
 * @param v an enumerator
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_sparse_encoding2str(dnnl_tp_sparse_encoding_t v);

/** Name of a DNNL_TP_RUNTIME_* bit. Value.
 *
 * @param v one bit, as in dnnl_tp_version_t
 * @return a constant string. */
DNNL_TP_API const char *dnnl_tp_runtime2str(unsigned v);

/* ---- Engines --------------------------------------------------------------------------------- */

/** Number of engines of a kind. Value.
 *
 * @param kind an engine kind
 * @return 1 for dnnl_tp_cpu, 0 for kinds that this build does not have. */
DNNL_TP_API size_t dnnl_tp_engine_get_count(dnnl_tp_engine_kind_t kind);

/** Creates an engine with default attributes. dnnl_tp_engine_create_v2() also takes a pool, a
 * thread count, an instruction-set limit and an allocator. Thread-safe.
 *
 * @param[out] engine owned by the caller; NULL on failure
 * @param kind dnnl_tp_cpu
 * @param index below dnnl_tp_engine_get_count(kind)
 * @return success; invalid_arguments (no such kind in this build, index out of range);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_create(dnnl_tp_engine_t *engine,
                                                       dnnl_tp_engine_kind_t kind, size_t index);

/** Gives the kind of an engine. Thread-safe.
 *
 * @param engine an engine
 * @param[out] kind its kind
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_engine_get_kind(dnnl_tp_engine_t engine,
                                                         dnnl_tp_engine_kind_t *kind);

/** Drops the caller's reference to an engine; objects created from it stay usable. Thread-safe.
 *
 * @param engine NULL or an engine
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_engine_destroy(dnnl_tp_engine_t engine);

/* ---- Streams --------------------------------------------------------------------------------- */

/** Creates a stream without a pool of its own. It uses the engine's default pool; if the engine has
 * none, it runs on the thread that calls execute. dnnl_tp_stream_create_v2() takes a pool.
 * Thread-safe.
 *
 * @param[out] stream owned by the caller; NULL on failure
 * @param engine the engine that executes its work; kept alive by the stream
 * @param flags 0, or bits of dnnl_tp_stream_flags_t; a stream runs its items in order with any of
 *     them
 * @return success; invalid_arguments (other flags); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_create(dnnl_tp_stream_t *stream,
                                                       dnnl_tp_engine_t engine, unsigned flags);

/** Gives the engine of a stream. Thread-safe.
 *
 * @param stream a stream
 * @param[out] engine borrowed from the stream
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_get_engine(const_dnnl_tp_stream_t stream,
                                                           dnnl_tp_engine_t *engine);

/** Waits until all work that was submitted to the stream before this call is done. A thread of the
 * pool that calls this function helps with that work. Work that other threads submit during the
 * call may still be running when it returns. Thread-safe.
 *
 * @param stream a stream
 * @return success; the first error of the stream since its last reset (dnnl_tp_stream_reset());
 *     would_deadlock (called from inside running work while the stream is not idle; a stream
 *     becomes idle a moment after its last event is done). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_stream_wait(dnnl_tp_stream_t stream);

/** Waits until the stream is idle and drops it. Thread-compatible.
 *
 * @param stream NULL or a stream that no other thread uses
 * @return success; would_deadlock (called from the stream's own work, or from other work while the
 *     stream is not idle); invalid_arguments (another thread is in a call that uses the stream).
 *     After an error the stream stays valid. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_stream_destroy(dnnl_tp_stream_t stream);

/** Gives a stream away: the stream ends when it is idle, at once or on the thread that ends its
 * last work. The call does not wait, so the last owner of a stream may drop it inside the work of
 * the stream. Events of the stream stay valid. A GPU stream that cannot end at once, because it is
 * not idle or the caller is a callback, ends in the first call outside of callbacks that creates or
 * ends a GPU stream, waits for devices, or destroys an engine, and finds the stream idle.
 * Thread-compatible.
 *
 * @param stream NULL or a stream that no thread uses from now on
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_stream_give_away(dnnl_tp_stream_t stream);

/* ---- Executing ------------------------------------------------------------------------------- */

/** Runs a primitive on a stream. On a synchronous stream the work is done when the call returns; on
 * an asynchronous stream it may go on until dnnl_tp_stream_wait(). One primitive may run on many
 * streams at the same time, and several threads may use one stream at the same time: on a
 * synchronous stream the threads compute concurrently, each with scratch of its own; on an
 * asynchronous stream an execution follows every execution whose submission had returned before.
 * Thread-safe.
 *
 * @param primitive kept alive until the work is done
 * @param stream of the engine of the primitive
 * @param nargs number of entries of args
 * @param args argument numbers (DNNL_TP_ARG_*) with their memories, in any order. An entry whose
 *     memory is NULL counts as absent; argument numbers that the primitive does not know are
 *     ignored. The call copies handles and descriptors: the caller may change or destroy memory
 *     objects and the array as soon as it returns, but keeps the data buffers alive until the work
 *     is done.
 * @return success; invalid_arguments (a required argument is missing, is given twice, or does not
 *     match its descriptor; the stream belongs to another engine object, or another thread is
 *     destroying or changing the stream; run-time dimensions contradict each other; buffers overlap
 *     in a way that the primitive does not allow); out_of_memory (scratch, before any output is
 *     touched); runtime_error (the pool failed); would_deadlock (called from work inside the call
 *     that destroys the stream). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_primitive_execute(const_dnnl_tp_primitive_t primitive,
                                                           dnnl_tp_stream_t stream, int nargs,
                                                           const dnnl_tp_exec_arg_t *args);

/** Runs a primitive with plain pointers, without memory objects and without allocation. Otherwise
 * like dnnl_tp_primitive_execute(). Descriptors with run-time dimensions are refused. Thread-safe.
 *
 * @param primitive kept alive until the work is done
 * @param stream of the engine of the primitive
 * @param nargs number of entries of args
 * @param args argument numbers with pointers to data laid out as the primitive descriptor says
 * @return as dnnl_tp_primitive_execute(); invalid_arguments also for run-time dimensions. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_primitive_execute_handles(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream,
                                  int nargs, const dnnl_tp_exec_handle_t *args);

/* ---- BLAS: row-major matrices, op(X) = X or its transpose ------------------------------------ */

/** C = alpha * op(A) * op(B) + beta * C in f32, on the calling thread; dnnl_tp_sgemm_tp() takes a
 * pool. Thread-safe.
 *
 * @param transa 'N', 'n' = A is M x K; 'T', 't' = A is stored K x M
 * @param transb 'N', 'n' = B is K x N; 'T', 't' = B is stored N x K
 * @param M rows of C, >= 0
 * @param N columns of C, >= 0
 * @param K inner dimension, >= 0
 * @param alpha factor of the product
 * @param A matrix
 * @param lda elements from row to row of A as stored, >= max(1, its columns)
 * @param B matrix
 * @param ldb elements from row to row of B as stored, >= max(1, its columns)
 * @param beta factor of the old C; 0 = C is not read
 * @param[in,out] C matrix, M x N
 * @param ldc elements from row to row of C, >= max(1, N)
 * @return success (also for M or N 0); invalid_arguments (a negative size, a leading dimension that
 *     is too small, another letter, a NULL matrix); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_sgemm(char transa, char transb, dnnl_tp_dim_t M,
                                               dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha,
                                               const float *A, dnnl_tp_dim_t lda, const float *B,
                                               dnnl_tp_dim_t ldb, float beta, float *C,
                                               dnnl_tp_dim_t ldc);

/** C = round(alpha * (op(A) - ao) * (op(B) - bo) + beta * C + co), saturated to s32, on the calling
 * thread. Thread-safe.
 *
 * @param transa as in dnnl_tp_sgemm()
 * @param transb as in dnnl_tp_sgemm()
 * @param offsetc 'F', 'f' = one offset; 'C', 'c' = a column of M offsets; 'R', 'r' = a row of N
 *     offsets
 * @param M rows of C, >= 0
 * @param N columns of C, >= 0
 * @param K inner dimension, >= 0
 * @param alpha factor of the product
 * @param A u8 matrix
 * @param lda elements from row to row of A as stored
 * @param ao subtracted from every element of A
 * @param B s8 matrix
 * @param ldb elements from row to row of B as stored
 * @param bo subtracted from every element of B
 * @param beta factor of the old C; 0 = C is not read
 * @param[in,out] C s32 matrix, M x N
 * @param ldc elements from row to row of C
 * @param co offsets added to C: 1, M or N values as offsetc says
 * @return success (if M, N or K is 0, C is left untouched); invalid_arguments as dnnl_tp_sgemm();
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_u8s8s32(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
    float alpha, const uint8_t *A, dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B,
    dnnl_tp_dim_t ldb, int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co);

/** As dnnl_tp_gemm_u8s8s32() with a signed A. Thread-safe.
 *
 * @param transa as in dnnl_tp_sgemm()
 * @param transb as in dnnl_tp_sgemm()
 * @param offsetc as in dnnl_tp_gemm_u8s8s32()
 * @param M rows of C, >= 0
 * @param N columns of C, >= 0
 * @param K inner dimension, >= 0
 * @param alpha factor of the product
 * @param A s8 matrix
 * @param lda elements from row to row of A as stored
 * @param ao subtracted from every element of A
 * @param B s8 matrix
 * @param ldb elements from row to row of B as stored
 * @param bo subtracted from every element of B
 * @param beta factor of the old C; 0 = C is not read
 * @param[in,out] C s32 matrix, M x N
 * @param ldc elements from row to row of C
 * @param co offsets added to C: 1, M or N values as offsetc says
 * @return success (if M, N or K is 0, C is left untouched); invalid_arguments as dnnl_tp_sgemm();
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_gemm_s8s8s32(
    char transa, char transb, char offsetc, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
    float alpha, const int8_t *A, dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
    int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc, const int32_t *co);

#ifdef __cplusplus
}
#endif

#endif
