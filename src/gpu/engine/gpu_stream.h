/* Streams of the CUDA engine. */
#ifndef DTP_GPU_ENGINE_GPU_STREAM_H
#define DTP_GPU_ENGINE_GPU_STREAM_H

#include "gpu/engine/gpu_line.h"

/* Values that dnnl_tp_cuda_stream_attr_set_stream and _set_profiling set. */
typedef struct {
    size_t struct_size;
    dtp_cu_stream_t stream;
    bool given, profiles;
} dtp_gpu_stream_own_t;

#endif
