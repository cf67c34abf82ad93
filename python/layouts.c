/* Sizes of the structs that python/dnnl_tp/_native.py declares once more: it compares them when it is loaded. */
#include "onnx/dnnl_tp_onnx_session.h"

#include <stddef.h>

DNNL_TP_API extern const size_t dnnl_tp_python_layouts[];
const size_t dnnl_tp_python_layouts[] = {sizeof(dnnl_tp_tensor_info_t),
                                         offsetof(dnnl_tp_tensor_info_t, dims),
                                         offsetof(dnnl_tp_tensor_info_t, data_type),
                                         sizeof(dnnl_tp_onnx_open_opts_t),
                                         sizeof(dnnl_tp_onnx_problem_t),
                                         sizeof(dnnl_tp_onnx_metadata_t),
                                         sizeof(dnnl_tp_onnx_port_t),
                                         offsetof(dnnl_tp_onnx_port_t, flags),
                                         sizeof(dnnl_tp_onnx_model_info_t),
                                         sizeof(dnnl_tp_onnx_session_opts_t),
                                         offsetof(dnnl_tp_onnx_session_opts_t, fpmath_mode),
                                         sizeof(dnnl_tp_onnx_session_stats_t),
                                         sizeof(dnnl_tp_threadpool_opts_t),
                                         0};
