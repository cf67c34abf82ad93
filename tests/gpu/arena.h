/* An allocator as frameworks have one, for engines on the fake driver: it hands out slices of blocks of the driver's, and gives what was
 * freed on a stream to the next who asks for so much on that stream, at once. It fills a slice with NaN in the order of its stream
 * when it gives it and when it gets it back, so that the driver finds whoever uses one out of that order. */
#ifndef TESTS_GPU_ARENA_H
#define TESTS_GPU_ARENA_H

#include <pthread.h>
#include <stdbool.h>

#include "dnnl_tp/dnnl_tp_cuda.h"
#include "gpu/driver/cu_abi.h"

enum { ARENA_SLICES = 4096, ARENA_BLOCKS = 1024 };

typedef struct {
    dtp_cu_ptr_t at;
    size_t bytes;
    dtp_cu_stream_t stream;
    bool used;
} arena_slice_t;

typedef struct {
    int device;
    dtp_cu_ctx_t ctx; /* NULL: not used yet */
    dtp_cu_pool_t pool;
    dtp_cu_stream_t stream;
    pthread_mutex_t lock;
    dtp_cu_ptr_t block[ARENA_BLOCKS];
    size_t left; /* of the last block */
    arena_slice_t slice[ARENA_SLICES];
    int blocks, slices;
    int64_t allocs, frees, reused, wrongs; /* wrongs: calls that break the contract, told on stderr */
    int64_t fail_at;                       /* that call of alloc gives none; -1: none does */
    ptrdiff_t skew;                        /* what is given lies so far beside a slice */
    void *instead;                         /* what is given; NULL: a slice */
    void (*inside)(void *arg);             /* called by alloc and free, or NULL */
    void *arg;
} arena_t;

void arena_begin(arena_t *a, int device);
/* Answers the number of calls that were wrong and of slices that were not given back. */
int64_t arena_end(arena_t *a);
/* An engine whose memory the arena serves; bytes: its limit. */
dnnl_tp_status_t arena_engine(dnnl_tp_engine_t *engine, arena_t *a, uint64_t bytes);
/* Slices that are in use. */
int64_t arena_live(const arena_t *a);

#endif
