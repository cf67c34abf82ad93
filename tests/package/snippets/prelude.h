/* What the code blocks of pages take for granted. ONNX Runtime's headers are never here: the
 * part that the page uses is declared as in its C API. */
#include <dnnl_tp/dnnl_tp.h>
#include <dnnl_tp/dnnl_tp_cuda.h>
#include <dnnl_tp/dnnl_tp_threadpool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtApi {
    OrtStatus *(*KernelContext_ParallelFor)(const OrtKernelContext *context, void (*fn)(void *, size_t),
                                            size_t total, size_t num_batch, void *usr_data);
    void (*ReleaseStatus)(OrtStatus *status);
} OrtApi;

/* gpu.md: a program's allocator of memory of a device. */
struct pool;
#ifdef __cplusplus
extern "C" {
#endif
void *pool_alloc(void *pool, size_t bytes, struct CUstream_st *stream);
void pool_free(void *pool, void *ptr, struct CUstream_st *stream);
#ifdef __cplusplus
}
#endif
