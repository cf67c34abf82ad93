/** @file
 * NVIDIA GPUs in C++; dnnl_tp_cuda.h tells which builds have these calls. */
#ifndef DNNL_TP_CUDA_HPP
#define DNNL_TP_CUDA_HPP

#include <cstddef>
#include <string>

#include "dnnl_tp/dnnl_tp.hpp"
#include "dnnl_tp/dnnl_tp_cuda.h"

namespace dnnl_tp {
namespace cuda {

/** Description of a device: dnnl_tp_cuda_get_device(). */
inline dnnl_tp_cuda_device_t get_device(std::size_t index) {
    dnnl_tp_cuda_device_t device = {};
    device.struct_size = sizeof device;
    check(dnnl_tp_cuda_get_device(index, &device));
    return device;
}
/** The index of the device with a UUID of 16 bytes. */
inline std::size_t find_device(const unsigned char *uuid) {
    std::size_t index;
    check(dnnl_tp_cuda_find_device(uuid, &index));
    return index;
}
/** The reason why there are no GPU engines; empty if there are some. */
inline std::string reason() { return dnnl_tp_cuda_reason(); }
/** The reason why products do not use cuBLASLt, which this call loads; empty if they use it. */
inline std::string cublaslt_reason() { return dnnl_tp_cuda_cublaslt_reason(); }

/** All attributes of a GPU engine: a limit of memory, the program's allocator. */
inline void set_options(const engine_attr &attr, const dnnl_tp_cuda_engine_opts_t &opts) {
    check(dnnl_tp_cuda_engine_attr_set(attr, &opts));
}
/** Sets the limit of the bytes that an engine has allocated at one time; 0: no limit. Resets its
 * other attributes. */
inline void set_memory_limit(const engine_attr &attr, uint64_t bytes) {
    dnnl_tp_cuda_engine_opts_t opts = {};
    opts.struct_size = sizeof opts;
    opts.memory_limit = bytes;
    set_options(attr, opts);
}
/** Memory that an engine has allocated; reset_peak sets the peak to the present amount. */
inline dnnl_tp_cuda_memory_t get_memory(const engine &of, bool reset_peak = false) {
    dnnl_tp_cuda_memory_t memory = {};
    memory.struct_size = sizeof memory;
    check(dnnl_tp_cuda_get_memory(of, reset_peak, &memory));
    return memory;
}

/** Returns unused memory of the device's pool beyond keep_bytes to the driver. */
inline void trim_memory(const engine &of, size_t keep_bytes = 0) {
    check(dnnl_tp_cuda_trim_memory(of, keep_bytes));
}

/** Makes streams with this attribute submit to a CUDA stream of the program, which must outlive
 * them; NULL: the legacy default stream. */
inline void set_stream(const stream_attr &attr, CUstream_st *cuda_stream) {
    check(dnnl_tp_cuda_stream_attr_set_stream(attr, cuda_stream));
}
/** Makes events of streams with this attribute record times of the device. */
inline void set_profiling(const stream_attr &attr, bool profiles) {
    check(dnnl_tp_cuda_stream_attr_set_profiling(attr, profiles));
}
/** The CUDA stream to which a stream submits. */
inline CUstream_st *get_stream(const stream &of) {
    CUstream_st *cuda_stream;
    check(dnnl_tp_cuda_stream_get_stream(of, &cuda_stream));
    return cuda_stream;
}

} // namespace cuda
} // namespace dnnl_tp

#endif
