"""The shared library of the package: its functions, and the structs that they take.

python/layouts.c holds the sizes that the C compiler gives these structs; they are compared here, so that a difference is
an error when the package is loaded and not a crash later.
"""
import ctypes as c
import operator
import os
import re
from typing import Any, Optional, Tuple

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
lib = c.CDLL(os.path.join(folder, "libdnnl_tp_python.so"))

MAX_NDIMS = 12
RUNTIME_DIM = -(2**63)
DETERMINES_SHAPES, HAS_DEFAULT, DECIDES_BRANCHES = 1, 2, 4


class TensorInfo(c.Structure):
    _fields_ = [("ndims", c.c_int), ("dims", c.c_int64 * MAX_NDIMS), ("data_type", c.c_int)]


class Problem(c.Structure):
    _fields_ = [("status", c.c_int), ("kind", c.c_char_p), ("name", c.c_char_p), ("op", c.c_char_p), ("why", c.c_char_p),
                ("count", c.c_int)]


Report = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Problem))


class OpenOpts(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("base_folder", c.c_char_p), ("max_bytes", c.c_size_t), ("report", Report),
                ("report_ctx", c.c_void_p), ("seed", c.c_uint64)]


class Port(c.Structure):
    _fields_ = [("name", c.c_char_p), ("onnx_type", c.c_int), ("info", TensorInfo),
                ("symbols", c.c_char_p * MAX_NDIMS), ("flags", c.c_uint)]


class ModelInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("ir_version", c.c_int64), ("opset", c.c_int64), ("producer", c.c_char_p),
                ("name", c.c_char_p), ("inputs", c.c_int), ("outputs", c.c_int), ("nodes", c.c_int)]


class Metadata(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("domain", c.c_char_p), ("description", c.c_char_p),
                ("graph_description", c.c_char_p), ("has_version", c.c_int), ("version", c.c_int64),
                ("properties", c.c_int)]


class SessionOpts(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("stream_attr", c.c_void_p), ("max_calls", c.c_int),
                ("deterministic", c.c_int), ("memory_budget", c.c_size_t), ("max_nodes", c.c_int64),
                ("max_bytes", c.c_size_t), ("trace", c.c_void_p), ("batch", c.c_int64), ("fpmath_mode", c.c_int)]


class SessionStats(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("graphs", c.c_uint64), ("compilations", c.c_uint64),
                ("evictions", c.c_uint64), ("calls", c.c_int), ("imports", c.c_uint64),
                ("failed_guards", c.c_uint64)]


class ThreadpoolOpts(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("num_threads", c.c_int), ("name", c.c_char_p), ("spin_ns", c.c_int64),
                ("blocking_threads", c.c_int), ("flags", c.c_uint64)]


def _check_layouts() -> None:
    ours = [c.sizeof(TensorInfo), TensorInfo.dims.offset, TensorInfo.data_type.offset, c.sizeof(OpenOpts),
            c.sizeof(Problem), c.sizeof(Metadata), c.sizeof(Port), Port.flags.offset, c.sizeof(ModelInfo), c.sizeof(SessionOpts), SessionOpts.fpmath_mode.offset,
            c.sizeof(SessionStats), c.sizeof(ThreadpoolOpts), 0]
    theirs = list((c.c_size_t * len(ours)).in_dll(lib, "dnnl_tp_python_layouts"))
    if ours != theirs:
        raise ImportError(f"dnnl_tp: the layouts of the package {ours} are not those of its library {theirs}")


_check_layouts()
lib.dnnl_tp_last_error.restype = c.c_char_p

_handle, _out = c.c_void_p, c.POINTER(c.c_void_p)
_signatures = {
    "engine_create": [_out, c.c_int, c.c_size_t],
    "engine_destroy": [_handle],
    "threadpool_create": [_out, c.POINTER(ThreadpoolOpts)],
    "threadpool_destroy": [_handle],
    "stream_attr_create": [_out, c.c_int],
    "stream_attr_set_builtin_threadpool": [_handle, _handle],
    "stream_attr_destroy": [_handle],
    "trace_create": [_out, c.c_void_p],
    "trace_destroy": [_handle],
    "trace_set_enabled": [_handle, c.c_int],
    "trace_write": [_handle, c.c_char_p, c.c_int],
    "onnx_open": [_out, c.c_char_p, c.POINTER(OpenOpts)],
    "onnx_open_memory": [_out, c.c_char_p, c.c_size_t, c.POINTER(OpenOpts)],
    "onnx_close": [_handle],
    "onnx_query": [_handle, c.POINTER(ModelInfo)],
    "onnx_metadata": [_handle, c.POINTER(Metadata)],
    "onnx_property": [_handle, c.c_int, c.POINTER(c.c_char_p), c.POINTER(c.c_char_p)],
    "onnx_map_key": [_handle, c.c_int, c.c_int, c.POINTER(c.c_int64), _out, c.POINTER(c.c_size_t)],
    "onnx_word": [_handle, c.c_int64, _out, c.POINTER(c.c_size_t)],
    "onnx_external_file": [_handle, c.c_int, c.POINTER(c.c_char_p)],
    "onnx_input": [_handle, c.c_int, c.POINTER(Port)],
    "onnx_output": [_handle, c.c_int, c.POINTER(Port)],
    "onnx_session_create": [_out, _handle, _handle, c.POINTER(SessionOpts)],
    "onnx_session_query": [_handle, c.POINTER(SessionStats)],
    "onnx_session_explain": [_handle, c.c_char_p, c.c_size_t, c.POINTER(c.c_size_t)],
    "onnx_session_destroy": [_handle],
    "cancel_create": [_out],
    "cancel_fire": [_handle],
    "cancel_destroy": [_handle],
}
for _name, _types in _signatures.items():
    _function = getattr(lib, "dnnl_tp_" + _name)
    _function.argtypes, _function.restype = _types, c.c_int


class Error(RuntimeError):
    """A call of the library failed; `status` is its number, the text is the library's."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.args[0], self.status)


class OutOfMemory(Error, MemoryError):
    """There is not enough memory, or the plan exceeds its budget; nothing was changed."""


class InvalidArgument(Error, ValueError):
    """An argument, a shape, a type or the model itself is wrong."""


class Unimplemented(Error, NotImplementedError):
    """The model has an operator, a version or a type that the importer does not serve."""


class DeadlineExceeded(Error, TimeoutError):
    """The run took longer than it may."""


class Cancelled(Error):
    """The run was cancelled."""


for _kind in Error, *Error.__subclasses__():
    _kind.__module__ = "dnnl_tp"  # where programs find it
_errors = {1: OutOfMemory, 2: InvalidArgument, 3: Unimplemented, 7: InvalidArgument, 8: InvalidArgument,
           9: InvalidArgument, 10: InvalidArgument, 0x1003: Cancelled, 0x1004: DeadlineExceeded}
_c_names = re.compile(r"\b(?:onnx|dnnl_tp_\w+): ")  # of C functions, which a program in Python did not call


def fail(status: int, text: Optional[str] = None) -> None:
    """Raises the Error of a status that the last call of this thread returned; or with a text of the package's own."""
    if text is None:
        text = _c_names.sub("", lib.dnnl_tp_last_error().decode(errors="replace"))
    raise _errors.get(status, Error)(text, status)


def call(name: str, *args: Any) -> None:
    """Calls dnnl_tp_NAME; the interpreter's lock is released meanwhile. Raises Error."""
    status = getattr(lib, "dnnl_tp_" + name)(*args)
    if status:
        fail(status)


def count(name: str, value: Any, least: int, most: int) -> int:
    """A whole number that the library may have: ctypes would cut off what exceeds an int."""
    number = operator.index(value)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}, not in {least}..{most}", 2)
    return number


class Handle:
    """Owns an object of the library."""

    def __init__(self, create: str, destroy: str, *args: Any) -> None:
        self._destroy = getattr(lib, "dnnl_tp_" + destroy)
        value = c.c_void_p()
        self.value: Optional[int] = None
        call(create, c.byref(value), *args)
        self.value = value.value

    def give(self) -> int:
        """The object, which belongs to the caller from then on."""
        value, self.value = self.value, None
        assert value
        return value

    def close(self) -> None:
        value, self.value = self.value, None
        if value:
            self._destroy(value)

    def __del__(self) -> None:
        if getattr(self, "value", None):
            self.close()
