/* What the code blocks of doc/threadpools.md take for granted: the frameworks' own headers where this machine
 * has them, else declarations of what the blocks use. ONNX Runtime is never here; its part is copied from its
 * C API. */
#include <dnnl_tp/dnnl_tp.h>
#include <dnnl_tp/dnnl_tp_threadpool.h>
#include <omp.h>
#include <stddef.h>

#ifdef __cplusplus

#if __has_include(<unsupported/Eigen/CXX11/ThreadPool>)
#include <unsupported/Eigen/CXX11/ThreadPool>
#else
#include <functional>
namespace Eigen {
class ThreadPoolInterface {
  public:
    virtual ~ThreadPoolInterface() = default;
    virtual void Schedule(std::function<void()> fn) = 0;
    virtual int NumThreads() const = 0;
};
} // namespace Eigen
#endif

#if __has_include(<tbb/task_arena.h>)
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#else
namespace tbb {
class task_arena {
  public:
    int max_concurrency();
    template <typename F> void enqueue(F f) { f(); }
};
class task_group {};
} // namespace tbb
#endif

#else

typedef struct OrtStatus OrtStatus;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtApi {
    OrtStatus *(*KernelContext_ParallelFor)(const OrtKernelContext *context, void (*fn)(void *, size_t),
                                            size_t total, size_t num_batch, void *usr_data);
    void (*ReleaseStatus)(OrtStatus *status);
} OrtApi;

#endif
