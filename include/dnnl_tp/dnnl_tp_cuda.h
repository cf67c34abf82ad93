/** @file
 * NVIDIA GPUs: what programs need that own CUDA streams or choose among devices. The only header that names CUDA's types; it needs
 * no header of CUDA. The calls exist in builds with DNNL_TP_GPU_RUNTIME == DNNL_TP_RUNTIME_CUDA.
 *
 * Engines of kind dnnl_tp_gpu are the machine's devices in the driver's order; dnnl_tp_engine_get_count(dnnl_tp_gpu) is 0 where there
 * is no driver, or too old a one. A stream without attributes makes a CUDA stream of its own; with dnnl_tp_cuda_stream_attr_set_stream
 * it submits to the program's. The library shares the device's primary context with whoever uses the runtime API, leaves no context
 * current, and never synchronises but in calls whose purpose is waiting. Page: doc/gpu.md. The rules that hold for every call, and
 * the words of thread safety, stand in dnnl_tp.h. */
#ifndef DNNL_TP_CUDA_H
#define DNNL_TP_CUDA_H

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* CUstream and cudaStream_t point at it */

/** Attributes of a GPU engine; zeros are the defaults. Members are added at the end: struct_size tells which of them the program
 * knows, and what it lacks is 0.
 *
 * With `alloc` and `free`, which are set both or none, a program's allocator (the caching one of a framework) serves all memory of the
 * device that the engine takes: memory objects with DNNL_TP_MEMORY_ALLOCATE, scratch of streams, memory of graphs' runs, constants,
 * error words. Without them a pool of the library's does. Pinned memory of the host is the driver's either way.
 *
 * Both are called by threads that are in a call of the library, on several at once, with the device's primary context current and
 * without a lock of the library's; never by a thread of the driver: what its callbacks give up is given back by the next call that
 * allocates or frees, or with the engine. All is given back before the last reference to the engine is gone, but in a child that was
 * forked since, or where a callback of an event drops that reference. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_cuda_engine_opts_t) */
    /** Bytes that the engine may have allocated at a time, by whatever serves them; more answers out_of_memory. 0: no limit. */
    uint64_t memory_limit;
    void *allocator_ctx; /**< The first argument of alloc and free. */
    /** Gives `bytes` bytes (1 at least) of the engine's device, aligned to `alignment`, a power of 2 (256). They may be used in the
     * order of `stream`, which is the stream that uses them first: the one of the program's or of the library's for which scratch or an
     * error word is meant (NULL: the legacy default stream), else a stream of the library's, which it waits for, so that it need
     * not wait for work of the program's. NULL: there are none. Then, or where they are misaligned, or not of the device, in which case
     * they are given back at once, the call of the library answers out_of_memory. */
    void *(*alloc)(void *allocator_ctx, size_t bytes, size_t alignment, struct CUstream_st *stream);
    /** Takes back what alloc gave. It may be used again in the order of `stream`, the one with which it was given: other streams have
     * used it before, or not at all. */
    void (*free)(void *allocator_ctx, void *ptr, struct CUstream_st *stream);
} dnnl_tp_cuda_engine_opts_t;

/** Sets what only engines on GPUs know, in place of what was set. Thread-compatible. Creation of an engine answers invalid_arguments
 * where alloc is set without free, or free without alloc.
 *
 * @param attr of the engine to be created
 * @param opts copied; NULL: the defaults
 * @return success; invalid_arguments (struct_size); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_engine_attr_set(dnnl_tp_engine_attr_t attr,
                                                              const dnnl_tp_cuda_engine_opts_t *opts);

/** A device. */
typedef struct {
    size_t struct_size;     /**< sizeof(dnnl_tp_cuda_device_t), set by the caller */
    unsigned char uuid[16]; /**< As cudaDeviceProp.uuid. */
    char name[64];          /**< "NVIDIA H200" */
    int capability;         /**< Compute capability, 90 for 9.0. */
    int multiprocessors;    /**< Streaming multiprocessors. */
    uint64_t memory_bytes;  /**< Memory of the device. */
} dnnl_tp_cuda_device_t;

/** Describes a device, without opening it. Thread-safe.
 *
 * @param index as of engines: 0 to dnnl_tp_engine_get_count(dnnl_tp_gpu) - 1
 * @param[out] device all zeros but struct_size on failure
 * @return success; invalid_arguments (index, struct_size); runtime_error (the driver failed). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_get_device(size_t index, dnnl_tp_cuda_device_t *device);

/** Finds the index of the device with a UUID: device order differs from process to process where CUDA_VISIBLE_DEVICES is set.
 * Thread-safe.
 *
 * @param uuid 16 bytes
 * @param[out] index for dnnl_tp_engine_create
 * @return success; invalid_arguments (no device has it); runtime_error. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_find_device(const unsigned char uuid[16], size_t *index);

/** Why the count of GPU engines is 0: no driver, too old a one, a call that it lacks, no device. Thread-safe.
 *
 * @return "" where there are devices; owned by the library. */
DNNL_TP_API const char *dnnl_tp_cuda_reason(void);

/** Why products do not use cuBLASLt: no device, no library, another version, a call that it lacks, switched off. Loads the library if
 * no product has yet, which takes long. Thread-safe.
 *
 * @return "" where there is one; owned by the library. */
DNNL_TP_API const char *dnnl_tp_cuda_cublaslt_reason(void);

/** Memory of an engine, in bytes. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_cuda_memory_t), set by the caller */
    uint64_t used;      /**< What it has allocated now. */
    uint64_t peak;      /**< The most since it was created, or since the last query that reset it. */
    uint64_t limit;     /**< As set; 0: none. */
} dnnl_tp_cuda_memory_t;

/** What memory an engine has allocated, from its pool or from the program's allocator: memory objects, constants, slabs of runs, scratch.
 * Thread-safe.
 *
 * @param engine of kind gpu
 * @param reset_peak nonzero: the peak begins anew with what is used now
 * @param[out] memory what is told; unchanged on failure
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_get_memory(dnnl_tp_engine_t engine, int reset_peak,
                                                         dnnl_tp_cuda_memory_t *memory);

/** Gives memory back to the driver that the device's pool keeps and no engine has allocated, so that other processes and other allocators
 * of this one can have it; all engines of a device share its pool. Waits for what the library itself has submitted to free memory. Without
 * this call the pool keeps what it has until the last engine of the device is destroyed. Thread-safe.
 *
 * @param engine of kind gpu
 * @param keep_bytes so many bytes stay reserved at least, for allocations to come; 0: what is in use alone
 * @return success; invalid_arguments; runtime_error: the device failed. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_trim_memory(dnnl_tp_engine_t engine, size_t keep_bytes);

/** Makes streams with this attribute submit to a CUDA stream of the program, which the library never creates, destroys or waits
 * for, but in calls whose purpose is waiting. The CUDA stream must outlive the streams, and must be of the engine's device.
 * While it is being captured, only executions can be submitted, with scratch that it has already; other calls of the stream answer
 * unimplemented. Thread-compatible.
 *
 * @param attr of kind gpu
 * @param stream a CUstream or cudaStream_t: torch.cuda.current_stream().cuda_stream, cupy's stream.ptr; NULL: the legacy default
 *     stream; not CU_STREAM_PER_THREAD, with which creation of a stream answers invalid_arguments
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_stream(dnnl_tp_stream_attr_t attr,
                                                                     struct CUstream_st *stream);

/** Makes events of streams with this attribute tell times of the device: dnnl_tp_event_get_times() answers when the last execution
 * in front of the event, or the run of a graph, began and ended on the device, in CLOCK_MONOTONIC. A kernel of one thread writes the
 * device's clock in front of each and behind it. Without it, events tell when the host saw them. Durations are the device's, to
 * the step of its clock (%globaltimer); when something began is known as well as the two clocks could be compared, which is from stamps
 * that were seen soon after they were submitted. Thread-compatible.
 *
 * @param attr of kind gpu
 * @param profiles nonzero: yes; 0: no, which is the default
 * @return success; invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_attr_set_profiling(dnnl_tp_stream_attr_t attr,
                                                                        int profiles);

/** The CUDA stream to which a stream submits: the program may submit its own work to it, in order with the library's. Thread-safe.
 *
 * @param stream of an engine of kind gpu
 * @param[out] cuda_stream the program's, or the library's, which lives as long as `stream`
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_cuda_stream_get_stream(dnnl_tp_stream_t stream,
                                                                struct CUstream_st **cuda_stream);

#ifdef __cplusplus
}
#endif

#endif
