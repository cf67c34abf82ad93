"""The names of the package onnxruntime: programs that were written for it run with one changed line.

    import dnnl_tp.ort as onnxruntime
    session = onnxruntime.InferenceSession("model.onnx")
    y, = session.run(["y"], {"x": x})

Other people's programs, which import onnxruntime themselves, get it from
`sys.modules["onnxruntime"] = dnnl_tp.ort`, or from `python -m dnnl_tp.ort program.py`. What is accepted without effect
and what is refused: doc/howto/replace_onnxruntime.md.
"""
from ._options import (ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions,
                       disable_telemetry_events, enable_telemetry_events, get_all_providers, get_available_providers,
                       get_build_info, get_device, get_version_string, preload_dlls,
                       set_default_logger_severity, set_default_logger_verbosity)
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._values import IOBinding, OrtDevice, OrtValue

__all__ = ["InferenceSession", "SessionOptions", "RunOptions", "GraphOptimizationLevel", "ExecutionMode",
           "ExecutionOrder", "NodeArg", "ModelMetadata", "IOBinding", "OrtValue", "OrtDevice", "get_available_providers",
           "get_all_providers", "get_device", "get_version_string", "get_build_info", "set_default_logger_severity",
           "set_default_logger_verbosity", "enable_telemetry_events", "disable_telemetry_events", "preload_dlls"]
__version__ = get_version_string()
