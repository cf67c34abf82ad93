"""Names of errors. Several of onnxruntime's are one kind of dnnl_tp's, which also is a built-in kind of Python's."""
from dnnl_tp._native import Cancelled as ModelLoadCanceled
from dnnl_tp._native import Error as EPFail
from dnnl_tp._native import Error as Fail
from dnnl_tp._native import Error as RuntimeException
from dnnl_tp._native import InvalidArgument, Unimplemented
from dnnl_tp.ort._options import (ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions,
                        get_available_providers, get_device)
from dnnl_tp.ort._session import InferenceSession, ModelMetadata, NodeArg
from dnnl_tp.ort._values import OrtDevice, OrtValue

InvalidGraph = InvalidProtobuf = InvalidArgument
NotImplemented = Unimplemented
NoModel = NoSuchFile = FileNotFoundError

__all__ = ["EPFail", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel", "InferenceSession",
           "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoadCanceled", "ModelMetadata", "NoModel",
           "NoSuchFile", "NodeArg", "NotImplemented", "OrtDevice", "OrtValue", "RunOptions", "RuntimeException",
           "SessionOptions", "get_available_providers", "get_device"]
