"""Runs ONNX models on the processor, on as many threads as the program says.

    import dnnl_tp
    session = dnnl_tp.Session("model.onnx", threads=2)
    y = session.run({"x": x})["y"]

A session serves inputs of any shape that the model allows, and any number of Python threads at once. Sessions that share a
Pool share its threads.

Programs that were written for onnxruntime find its names here, too (dnnl_tp.ort): `import dnnl_tp as onnxruntime`.
"""
from importlib.metadata import version as _version

from . import ort as _ort
from ._check import Problem, check
from ._native import Cancelled, DeadlineExceeded, Error, InvalidArgument, OutOfMemory, Unimplemented
from ._session import Metadata, Pool, Port, Session
from ._state import State
from ._threads import CancelToken, Future
from .ort import *

__all__ = ["Session", "State", "Pool", "Port", "Metadata", "CancelToken", "Future", "check", "Problem", "Error", "InvalidArgument", "OutOfMemory", "Unimplemented",
           "Cancelled", "DeadlineExceeded"]
for _name in __all__:
    globals()[_name].__module__ = __name__  # where programs find it
__all__ += _ort.__all__
__version__ = _version("dnnl_tp")
