/* What the code blocks of pages take for granted. ONNX Runtime's headers are never here: the
 * part that the page uses is declared as in its C API. */
#include <dnnl_tp/dnnl_tp.h>
#include <dnnl_tp/dnnl_tp_threadpool.h>
#include <stddef.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtApi {
    OrtStatus *(*KernelContext_ParallelFor)(const OrtKernelContext *context, void (*fn)(void *, size_t),
                                            size_t total, size_t num_batch, void *usr_data);
    void (*ReleaseStatus)(OrtStatus *status);
} OrtApi;
