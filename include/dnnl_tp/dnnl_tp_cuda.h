/** @file
 * NVIDIA GPUs: calls for programs that own CUDA streams or choose among devices. This is the only
 * header that names types of CUDA; it includes no header of CUDA. The calls exist in builds with
 * DNNL_TP_GPU_RUNTIME == DNNL_TP_RUNTIME_CUDA.
 *
 * Engines of kind dnnl_tp_gpu are the machine's devices in the driver's order;
 * dnnl_tp_engine_get_count(dnnl_tp_gpu) is 0 if there is no driver or the driver is too old. A
 * stream without attributes creates a CUDA stream of its own; dnnl_tp_cuda_stream_attr_set_stream()
 * makes a stream submit to a CUDA stream of the program. The library shares the device's primary
 * context with users of CUDA's runtime API, leaves no context current, and synchronises only in
 * calls whose purpose is waiting. Page: doc/gpu.md. The rules for every call and the terms of
 * thread safety are in dnnl_tp.h. */
#ifndef DNNL_TP_CUDA_H
#define DNNL_TP_CUDA_H

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* CUstream and cudaStream_t point at it */

/** Attributes of a GPU engine; zeroed members mean defaults. Later versions add members at the end;
 * members beyond struct_size count as 0.
 *
 * `alloc` and `free` are either both set or both NULL. If they are set, the program's allocator
 * (for example the caching allocator of a framework) provides all device memory of the engine:
 * memory objects with DNNL_TP_MEMORY_ALLOCATE, scratch of streams, memory of runs of graphs,
 * constants, error words. Otherwise a pool of the library provides it. The driver provides pinned
 * host memory in both cases.
 *
 * Only threads inside a call of the library call them, several at the same time, with the device's
 * primary context current and without a lock of the library. Threads of the driver never call them:
 * memory that a callback of the driver releases is freed by the next call that allocates or frees,
 * or with the engine. All memory is freed before the last reference to the engine is dropped,
 * except in a child process after a fork, or if a callback of an event drops that reference. */
typedef struct {
    /** sizeof(dnnl_tp_cuda_engine_opts_t) */
    size_t struct_size;
    /** Limit of the bytes that the engine has allocated at one time, from either allocator; a call
     * that exceeds it returns out_of_memory. 0: no limit. */
    uint64_t memory_limit;
    /** First argument of alloc and free. */
    void *allocator_ctx;
    /** Allocates `bytes` bytes (at least 1) of the engine's device, aligned to `alignment`, a power
     * of 2 (256). The memory is valid in the order of `stream`, the stream that uses it first: for
     * scratch and error words the stream that needs them, of the program or of the library (NULL:
     * the legacy default stream); otherwise a stream of the library, for which the library waits,
     * so that it does not wait for work of the program. Returns NULL on failure. On NULL the call
     * of the library returns out_of_memory; it does the same, after it has freed the memory, if the
     * memory is misaligned or does not belong to the device. */
    void *(*alloc)(void *allocator_ctx, size_t bytes, size_t alignment, struct CUstream_st *stream);
    /** Frees memory of alloc. The allocator may reuse the memory in the order of `stream`, which is
     * the stream of its allocation: all uses by other streams come before. */
    void (*free)(void *allocator_ctx, void *ptr, struct CUstream_st *stream);
} dnnl_tp_cuda_engine_opts_t;

/** Sets the attributes that only GPU engines have, and replaces earlier ones. The creation of an
 * engine returns invalid_arguments if alloc is set without free, or free without alloc.
 * Thread-compatible.
 *
 * @param attr attributes of the engine to be created
 * @param opts copied; NULL: the defaults
 * @return success; invalid_arguments (struct_size); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t
dnnl_tp_cuda_engine_attr_set(dnnl_tp_engine_attr_t attr, const dnnl_tp_cuda_engine_opts_t *opts);

/** A device. */
typedef struct {
    /** sizeof(dnnl_tp_cuda_device_t), set by the caller */
    size_t struct_size;
    /** The same bytes as cudaDeviceProp.uuid. */
    unsigned char uuid[16];
    /** Name of the device, for example "NVIDIA H200". */
    char name[64];
    /** Compute capability; 90 means 9.0. */
    int capability;
    /** Number of streaming multiprocessors. */
    int multiprocessors;
    /** Memory of the device in bytes. */
    uint64_t memory_bytes;
} dnnl_tp_cuda_device_t;

/** Describes a device without opening it. Thread-safe.
 *
 * @param index index of the engine: 0 to dnnl_tp_engine_get_count(dnnl_tp_gpu) - 1
 * @param[out] device description; on failure all members but struct_size are zero
 * @return success; invalid_arguments (index, struct_size); runtime_error (the driver failed). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_get_device(size_t index,
                                                         dnnl_tp_cuda_device_t *device);

/** Finds the index of the device with a UUID. The order of devices differs between processes if
 * CUDA_VISIBLE_DEVICES is set. Thread-safe.
 *
 * @param uuid 16 bytes
 * @param[out] index index for dnnl_tp_engine_create()
 * @return success; invalid_arguments (no device has this UUID); runtime_error. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_find_device(const unsigned char uuid[16],
                                                          size_t *index);

/** Gives the reason why the count of GPU engines is 0: no driver, an old driver, a function that
 * the driver lacks, no device. Thread-safe.
 *
 * @return "" if there are devices; owned by the library. */
DNNL_TP_API const char *dnnl_tp_cuda_reason(void);

/** Gives the reason why products do not use cuBLASLt: no device, no library, another version, a
 * function that the library lacks, or the program switched it off. Loads cuBLASLt if no product has
 * loaded it yet, which takes long. Thread-safe.
 *
 * @return "" if products use cuBLASLt; owned by the library. */
DNNL_TP_API const char *dnnl_tp_cuda_cublaslt_reason(void);

/** Memory of an engine, in bytes. */
typedef struct {
    /** sizeof(dnnl_tp_cuda_memory_t), set by the caller */
    size_t struct_size;
    /** Memory that the engine has allocated now. */
    uint64_t used;
    /** Largest value of `used` since the creation of the engine, or since the last query that reset
     * it. */
    uint64_t peak;
    /** The limit that the attributes set; 0: none. */
    uint64_t limit;
} dnnl_tp_cuda_memory_t;

/** Tells how much memory an engine has allocated from its pool or from the program's allocator:
 * memory objects, constants, memory of runs, scratch. Thread-safe.
 *
 * @param engine an engine of kind gpu
 * @param reset_peak nonzero: sets the peak to the memory that is allocated now
 * @param[out] memory the amounts; unchanged on failure
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_get_memory(dnnl_tp_engine_t engine, int reset_peak,
                                                         dnnl_tp_cuda_memory_t *memory);

/** Returns unused memory of the device's pool to the driver, so that other processes, and other
 * allocators of this process, can use it. All engines of a device share its pool. The call waits
 * for the work that the library itself submitted to free memory. Without this call the pool keeps
 * its memory until the last engine of the device is destroyed. Thread-safe.
 *
 * @param engine an engine of kind gpu
 * @param keep_bytes number of bytes that the pool keeps at least, for later allocations; 0: only
 *     memory in use
 * @return success; invalid_arguments; runtime_error (the device failed). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_trim_memory(dnnl_tp_engine_t engine,
                                                          size_t keep_bytes);

/** Makes streams with this attribute submit to a CUDA stream of the program. The library never
 * destroys that CUDA stream, and waits for it only in calls whose purpose is waiting. The CUDA
 * stream must outlive the streams, and must belong to the engine's device. During a capture of the
 * CUDA stream, a stream accepts only executions for which it already has enough scratch; other
 * calls of the stream return unimplemented. Thread-compatible.
 *
 * @param attr attributes of kind gpu
 * @param stream a CUstream or cudaStream_t: torch.cuda.current_stream().cuda_stream, cupy's
 *     stream.ptr; NULL: the legacy default stream. With CU_STREAM_PER_THREAD the creation of a
 *     stream returns invalid_arguments
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_stream(dnnl_tp_stream_attr_t attr,
                                                                     struct CUstream_st *stream);

/** Makes events of streams with this attribute record times of the device:
 * dnnl_tp_event_get_times() then gives the times at which the last execution before the event, or
 * the run of a graph, began and ended on the device, converted to CLOCK_MONOTONIC. A kernel of one
 * thread writes the device's clock before and after each execution. Without this attribute, events
 * have the times at which the host saw them. Durations are exact to the step of the device's clock
 * (%globaltimer). Begin times are as exact as the comparison of the two clocks, which uses time
 * stamps that the host saw soon after their submission. Thread-compatible.
 *
 * @param attr attributes of kind gpu
 * @param profiles nonzero: record times of the device; 0 (default): do not
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_profiling(dnnl_tp_stream_attr_t attr,
                                                                        int profiles);

/** Gives the CUDA stream to which a stream submits. The program may submit work of its own to it,
 * in order with the work of the library. Thread-safe.
 *
 * @param stream a stream of an engine of kind gpu
 * @param[out] cuda_stream the CUDA stream of the program, or a CUDA stream of the library that is
 *     valid as long as `stream`
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_get_stream(dnnl_tp_stream_t stream,
                                                                struct CUstream_st **cuda_stream);

#ifdef __cplusplus
}
#endif

#endif
