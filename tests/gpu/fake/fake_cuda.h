/* A driver of CUDA that only tests have: it runs the PTX of kernels by the interpreter of tests/gpu/ptx, on machines without
 * a GPU, and finds what a real driver lets pass.
 *
 *   memory      addresses lie in a mapping that nobody can read or write, bytes elsewhere, between red zones. Fresh bytes
 *               hold FAKE_CUDA_FRESH and count as unset. Freed memory is gone: its addresses are not used again soon.
 *   streams     queues. A thread, the device, executes what is ready in a random legal order, each item after a random
 *               delay, or at once when a call waits. Nothing is done when a call that enqueues returns.
 *   order       vector clocks tell what happens before what: memory that is used on another stream than where it was
 *               allocated, or is freed while another stream uses it, needs an event or a wait in between.
 *   capture     of streams: what is enqueued becomes nodes of a graph, in the order of the calls, and is executed when the graph
 *               is launched. Calls that must not be made meanwhile end the capture, as fake_capture.c tells.
 *   errors      of kernels poison the context, as they do on a GPU: nothing more is executed, no host function called.
 *   wrong use   what a real driver leaves undefined is written to stderr, counted, and told by fake_cuda_report.
 *
 * All functions are thread-safe. What is not modelled: graphs that are made by hand or changed, graphs in graphs, memory that
 * outlives a launch of its graph, peer access, several contexts of a device. */
#ifndef TESTS_GPU_FAKE_CUDA_H
#define TESTS_GPU_FAKE_CUDA_H

#include <stdbool.h>
#include <stdio.h>

#include "gpu/driver/cu_abi.h"
#include "gpu/ptx/ptx.h"

enum { FAKE_CUDA_FRESH = 0xcd, FAKE_CUDA_POISON = 0xb7 /* host bytes that a copy is going to write */ };

const dtp_cu_t *fake_cuda_table(void);
/* What cuGetProcAddress_v2 answers; status as there: 0 = found, 1 = no such call, 2 = none of so old a version. */
dtp_cu_result_t fake_cuda_find(const char *name, void **call, int version, uint64_t flags, int *status);

/* Calls of the driver for programs that capture streams; the engine makes none of them. */
typedef struct fake_graph_handle *fake_cu_graph_t;
typedef struct fake_exec_handle *fake_cu_exec_t;
enum { /* CUresult */
       FAKE_CU_ILLEGAL_STATE = 401,
       FAKE_CU_CAPTURE_MERGE = 902,
       FAKE_CU_CAPTURE_UNMATCHED = 903,
       FAKE_CU_CAPTURE_ISOLATION = 905,
       FAKE_CU_CAPTURE_WRONG_THREAD = 908
};
enum { FAKE_CU_CAPTURE_ACTIVE = 1, FAKE_CU_CAPTURE_INVALID = 2 }; /* CUstreamCaptureStatus */
dtp_cu_result_t fake_cuStreamBeginCapture(dtp_cu_stream_t stream, dtp_cu_capture_mode_t mode);
dtp_cu_result_t fake_cuStreamEndCapture(dtp_cu_stream_t stream, fake_cu_graph_t *graph);
dtp_cu_result_t fake_cuGraphInstantiate(fake_cu_exec_t *exec, fake_cu_graph_t graph,
                                        unsigned long long flags);
dtp_cu_result_t fake_cuGraphLaunch(fake_cu_exec_t exec, dtp_cu_stream_t stream);
dtp_cu_result_t fake_cuGraphExecDestroy(fake_cu_exec_t exec);
dtp_cu_result_t fake_cuGraphDestroy(fake_cu_graph_t graph);
/* How many nodes a graph has. */
int fake_cuda_nodes(fake_cu_graph_t graph);
/* How many captures calls have made invalid since the last reset. */
int fake_cuda_spoiled(void);

/* Waits for the device's threads, forgets everything, and restores the defaults: seed 1, one device of capability 9.0 with
 * 1 GiB, driver 13.0, delays up to 50 us. No other thread may be in a call. */
void fake_cuda_reset(void);
/* These hold from the next item or call on; numbers of devices and their sizes before cuInit. */
void fake_cuda_set_seed(uint64_t seed);
void fake_cuda_set_devices(int n, int major, int minor);
void fake_cuda_set_memory(size_t bytes);
void fake_cuda_set_multiprocessors(int n); /* 132 by default */
void fake_cuda_set_driver_version(int version);
int fake_cuda_driver_version(void);
/* So many addresses are there for memory of devices and pinned memory; 64 GiB by default. Few are used again soon. */
void fake_cuda_set_addresses(size_t bytes);
/* Longest delay of an item, in microseconds; < 0: items are executed only while a call waits, so that with one host thread
 * the order depends on the seed alone. */
void fake_cuda_set_delay(int us);
/* Nothing is executed until false is given; calls that wait hang. */
void fake_cuda_hold(bool hold);
/* No host function is called until false is given; then those whose turn has come are called though the context may be poisoned meanwhile:
 * a real driver may call late. Is there one whose turn has come? */
void fake_cuda_hold_host(bool hold);
bool fake_cuda_host_is_due(void);

/* The k-th call from now (0 = the next) of those that can fail fails with result and does nothing; an error that a context
 * does not survive poisons it. k < 0: none. True if the last such order has not been carried out. */
bool fake_cuda_fail(int64_t k, dtp_cu_result_t result);
/* The k-th item that a device executes from now on fails so, and poisons its context. */
bool fake_cuda_fail_item(int64_t k, dtp_cu_result_t result);
/* Controls of tests: from now on this call does nothing and answers success (NULL: none does). One of cuStreamWaitEvent,
 * cuStreamWaitValue32, cuStreamSynchronize, cuStreamQuery, cuEventSynchronize, cuEventQuery. */
void fake_cuda_ignore(const char *call);
/* Calls so far of those that can fail. */
int64_t fake_cuda_calls(void);
/* Calls of one name since the process began: "cuStreamSynchronize". */
int64_t fake_cuda_called(const char *call);

typedef struct {
    int64_t launches, products, copies, fills, host_functions; /* executed */
    int64_t waits;              /* calls that waited for a stream or an event */
    int64_t pageable;           /* copies from devices to pageable memory, in which a real driver may wait */
    int64_t allocations, frees; /* of pools and of pinned memory */
    size_t bytes, peak_bytes;   /* of pools, now and at most */
    /* Alive: */
    int64_t blocks, host_blocks, streams, events, pools, libraries, contexts, lt_handles, lt_descriptors;
    int64_t graphs; /* and their executable forms */
} fake_cuda_stats_t;
fake_cuda_stats_t fake_cuda_stats(void);

/* Kernels are run by this instead of ptx_run, on the devices' threads; NULL: by ptx_run. */
void fake_cuda_run_by(bool (*run)(const ptx_kernel_t *kernel, const ptx_launch_t *launch, char *error,
                                  size_t error_bytes));

/* Is this the driver's thread, which calls host functions? */
bool fake_cuda_calls_host(void);

/* Executes all that is enqueued, and waits for it. */
void fake_cuda_drain(void);
/* Drains, checks the red zones, tells what is alive and what was used wrongly; answers how many such things there are. */
int fake_cuda_report(FILE *to);
/* Wrong uses so far; what is told of the last one, or of the last error of a device or a library. "" = nothing. */
int fake_cuda_wrongs(void);
const char *fake_cuda_trap(void);
/* Is the address in device memory, and which bytes may be used there? NULL: none. For tests that look at memory. */
const void *fake_cuda_peek(dtp_cu_ptr_t at, size_t bytes);

#endif
