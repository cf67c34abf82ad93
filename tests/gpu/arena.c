/* See arena.h. */
#include "gpu/arena.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/fake/fake_cuda.h"
#include "support/check.h"

enum { BLOCK_BYTES = 1 << 16, ALIGN = 256 };

static void wrong(arena_t *a, const char *what) {
    fprintf(stderr, "arena: %s\n", what);
    ++a->wrongs;
}

void arena_begin(arena_t *a, int device) {
    *a = (arena_t){.device = device, .fail_at = -1};
    pthread_mutex_init(&a->lock, NULL);
}

/* The first slice makes what the arena needs of the driver. */
static bool equip(arena_t *a) {
    const dtp_cu_t *cu = fake_cuda_table();
    const dtp_cu_pool_props_t props = {.alloc_type = DTP_CU_ALLOC_PINNED,
                                       .location = {DTP_CU_LOCATION_DEVICE, a->device}};
    if (a->ctx) return true;
    if (cu->cuDevicePrimaryCtxRetain(&a->ctx, a->device)) return false;
    if (!cu->cuStreamCreate(&a->stream, DTP_CU_STREAM_NON_BLOCKING) && !cu->cuMemPoolCreate(&a->pool, &props))
        return true;
    if (a->stream) (void)cu->cuStreamDestroy(a->stream);
    (void)cu->cuDevicePrimaryCtxRelease(a->device);
    a->stream = NULL;
    a->ctx = NULL;
    return false;
}

static bool more(arena_t *a, size_t bytes) {
    const dtp_cu_t *cu = fake_cuda_table();
    const size_t need = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    dtp_cu_ptr_t at;
    if (!equip(a) || a->blocks == ARENA_BLOCKS || cu->cuMemAllocFromPoolAsync(&at, need, a->pool, a->stream))
        return false;
    a->block[a->blocks++] = at;
    a->left = 0;
    if (cu->cuStreamSynchronize(a->stream)) return false;
    a->left = need;
    return true;
}

/* One that its stream has freed, or a new one, from the end of the last block. */
static arena_slice_t *find(arena_t *a, size_t bytes, dtp_cu_stream_t stream) {
    for (int i = a->slices; i--;) {
        arena_slice_t *s = &a->slice[i];
        if (s->used || s->stream != stream || s->bytes < bytes || s->bytes > 2 * bytes) continue;
        ++a->reused;
        return s;
    }
    if (a->slices == ARENA_SLICES || (a->left < bytes && !more(a, bytes))) return NULL;
    arena_slice_t *s = &a->slice[a->slices++];
    a->left -= bytes;
    *s = (arena_slice_t){.at = a->block[a->blocks - 1] + a->left, .bytes = bytes, .stream = stream};
    return s;
}

static void *take(arena_t *a, size_t bytes, dtp_cu_stream_t stream) {
    if (a->allocs++ == a->fail_at) return NULL;
    arena_slice_t *s = find(a, (bytes + ALIGN - 1) / ALIGN * ALIGN, stream);
    if (!s || fake_cuda_table()->cuMemsetD8Async(s->at, 0xff, s->bytes, stream)) return NULL;
    s->used = true;
    return (void *)(uintptr_t)s->at;
}

static void *arena_alloc(void *ctx, size_t bytes, size_t alignment, dtp_cu_stream_t stream) {
    arena_t *a = ctx;
    if (a->inside) a->inside(a->arg);
    pthread_mutex_lock(&a->lock);
    if (!bytes || alignment != ALIGN) wrong(a, "alloc is asked for what it need not know");
    char *p = take(a, bytes, stream);
    pthread_mutex_unlock(&a->lock);
    if (!p) return NULL;
    return a->instead ? a->instead : p + a->skew;
}

/* Of what was given instead of a slice, the last slice. */
static arena_slice_t *find_given(arena_t *a, const void *ptr) {
    int i = a->slices;
    while (i-- && (!a->slice[i].used ||
                   (ptr != a->instead && (uintptr_t)ptr - (uintptr_t)a->skew != a->slice[i].at))) {
    }
    return i < 0 ? NULL : &a->slice[i];
}

static void arena_free(void *ctx, void *ptr, dtp_cu_stream_t stream) {
    arena_t *a = ctx;
    if (a->inside) a->inside(a->arg);
    pthread_mutex_lock(&a->lock);
    ++a->frees;
    arena_slice_t *s = find_given(a, ptr);
    if (!s) wrong(a, "what is freed was not given");
    else if (s->stream != stream) wrong(a, "freed on another stream");
    if (s) {
        s->used = false;
        (void)fake_cuda_table()->cuMemsetD8Async(s->at, 0xff, s->bytes, stream);
    }
    pthread_mutex_unlock(&a->lock);
}

int64_t arena_live(const arena_t *a) {
    int64_t n = 0;
    for (int i = 0; i < a->slices; ++i) n += a->slice[i].used;
    return n;
}

int64_t arena_end(arena_t *a) {
    const dtp_cu_t *cu = fake_cuda_table();
    const int64_t live = arena_live(a);
    if (live) fprintf(stderr, "arena: %d slices were not given back\n", (int)live);
    if (a->ctx) { /* a lost device answers its error, and gives everything back */
        dtp_cu_ctx_t ctx;
        (void)cu->cuCtxPushCurrent(a->ctx);
        (void)cu->cuStreamSynchronize(NULL); /* streams of the library were waited for */
        for (int i = 0; i < a->blocks; ++i) (void)cu->cuMemFreeAsync(a->block[i], a->stream);
        (void)cu->cuMemPoolDestroy(a->pool);
        (void)cu->cuStreamDestroy(a->stream);
        (void)cu->cuCtxPopCurrent(&ctx);
        (void)cu->cuDevicePrimaryCtxRelease(a->device);
    }
    pthread_mutex_destroy(&a->lock);
    return live + a->wrongs;
}

dnnl_tp_status_t arena_engine(dnnl_tp_engine_t *engine, arena_t *a, uint64_t bytes) {
    const dnnl_tp_cuda_engine_opts_t opts = {.struct_size = sizeof opts,
                                             .memory_limit = bytes,
                                             .allocator_ctx = a,
                                             .alloc = arena_alloc,
                                             .free = arena_free};
    dnnl_tp_engine_attr_t attr;
    *engine = NULL;
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_cuda_engine_attr_set(attr, &opts));
    const dnnl_tp_status_t status = dnnl_tp_engine_create_v2(engine, dnnl_tp_gpu, (size_t)a->device, attr);
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    return status;
}
