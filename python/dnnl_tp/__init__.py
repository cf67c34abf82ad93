"""Runs ONNX models on the processor, on as many threads as the program says.

    import dnnl_tp
    session = dnnl_tp.Session("model.onnx", threads=2)
    y = session.run({"x": x})["y"]

A session serves inputs of any shape that the model allows, and any number of Python threads at once. Sessions that share a
Pool share its threads, and none is started beside them.
"""
import ctypes as _c
import errno as _errno
import itertools as _itertools
import operator as _operator
import os as _os
import threading as _threading
import time as _time
from collections.abc import Mapping as _Mapping
from importlib.metadata import version as _version

import numpy as _np

from . import _native
from ._native import DeadlineExceeded, Error, InvalidArgument, OutOfMemory, Unimplemented

__all__ = ["Session", "Pool", "Port", "Error", "InvalidArgument", "OutOfMemory", "Unimplemented", "DeadlineExceeded"]
__version__ = _version("dnnl_tp")

_CPU = 1
_FLOAT16, _BFLOAT16 = 10, 16
_FOREVER = 1e9  # seconds
_MAX_THREADS, _MAX_CALLS = 256, 2**31 - 1
_fpmath_modes = {"strict": 0, "bf16": 1, "f16": 2, "any": 3, "tf32": 4}
_types = {3: _np.dtype(_np.float32), 4: _np.dtype(_np.int32), 5: _np.dtype(_np.int8), 6: _np.dtype(_np.uint8),
          7: _np.dtype(_np.float64), 8: _np.dtype(_np.bool_), 16: _np.dtype(_np.int64)}


def _bfloat16():
    try:
        import ml_dtypes
    except ImportError:
        return None
    return _np.dtype(ml_dtypes.bfloat16)


def _count(name, value, least, most):
    """A whole number that the library may have: ctypes would cut off what exceeds an int."""
    number = _operator.index(value)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}, not in {least}..{most}", 2)
    return number


def _path(name, value):
    """A path as the library takes it, which ends at the first NUL."""
    path = _os.fsencode(value)
    if not path or b"\0" in path:
        raise InvalidArgument(f"{name} is {value!r}: no file has such a name", 2)
    return path


def _converted(port, array):
    """Python's numbers in the port's type, which must hold each: numpy 1 would cut off what does not fit."""
    with _np.errstate(over="ignore"):
        result = array.astype(port.dtype)
    lost = result != array if port.dtype.kind in "biu" else _np.isinf(result) & _np.isfinite(array)
    if lost.any():
        raise OverflowError(f"input '{port.name}' has the value {array[lost][0]}, which {port.dtype} does not hold")
    return result


class _Here:
    """What has threads and memory of this process stays in it."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled; make another one where it is needed")


class Port:
    """An input or output of a model.

    name         its name
    dtype        numpy's type of its elements (bfloat16: that of ml_dtypes where it is installed, else float32); None: the
                 file does not say
    shape        a tuple of numbers, names (symbolic sizes) and None (unknown); None: the file does not say
    has_default  it need not be given
    """

    def __init__(self, port):
        self.name = port.name.decode()
        self.carried = _types.get(port.info.data_type)  # the type in which the library has it
        small = {_FLOAT16: _np.dtype(_np.float16), _BFLOAT16: _bfloat16()}.get(port.onnx_type)
        self.dtype = small or self.carried
        self.shape = None
        if port.info.ndims >= 0:
            self.shape = tuple(
                size if size != _native.RUNTIME_DIM else symbol and symbol.decode()
                for size, symbol in zip(port.info.dims[: port.info.ndims], port.symbols))
        self.has_default = bool(port.flags & _native.HAS_DEFAULT)
        self.determines_shapes = bool(port.flags & (_native.DETERMINES_SHAPES | _native.DECIDES_BRANCHES))

    def __repr__(self):
        return f"Port({self.name!r}, {self.dtype}, {self.shape})"


class Pool(_Here):
    """Threads that any number of sessions share.

    threads  how many compute at once, the callers included; 1 to 256
    """

    def __init__(self, threads):
        threads = _count("threads", threads, 1, _MAX_THREADS)
        opts = _native.ThreadpoolOpts(struct_size=_c.sizeof(_native.ThreadpoolOpts), num_threads=threads)
        self._pool = _native.Handle("threadpool_create", "threadpool_destroy", _c.byref(opts))
        self._attr = _native.Handle("stream_attr_create", "stream_attr_destroy", _CPU)
        _native.call("stream_attr_set_builtin_threadpool", self._attr.value, self._pool.value)
        self.threads = threads


class _Call:
    """The model, compiled for certain inputs."""

    def __init__(self, session, infos, args):
        self.handle = _native.Handle("onnx_session_get_call", "onnx_call_destroy", session.value, len(args), args)
        self.shapes = []
        self.infos = infos
        info = _native.TensorInfo()
        for i in range(session.nout):
            _native.call("onnx_call_output", self.handle.value, i, _c.byref(info))
            self.shapes.append((tuple(info.dims[: info.ndims]), _types[info.data_type]))


class Session(_Here):
    """An ONNX model that is ready to run.

    model          path of a file, or its bytes
    threads        how many threads compute at once, the caller included; 1: the calling thread alone
    pool           a Pool, in place of threads
    base_folder    where files of external data lie; None: the model's folder
    profile        a file that close() writes what ran when to: for ui.perfetto.dev, or tables if it ends in .txt, or for
                   flame graphs if it ends in .folded
    max_calls      how many compiled forms of the model, by shapes, are kept
    deterministic  operators with side effects run in the model's order
    fpmath         "strict", or "bf16": values between operators, and constant weights, may be kept in bfloat16; inputs
                   and outputs stay as they are

    All but the model are given by name. What a session has: inputs and outputs, lists of Port; pool, or None; opset,
    ir_version and producer of the model.

    run() may be called by many threads at once. Raises FileNotFoundError where there is no such model, and Error and its
    kinds with the library's text: operators and types that are not implemented, and files of external data that are
    missing or cut off, all of them at once.
    """

    def __init__(self, model, *, threads=1, pool=None, base_folder=None, profile=None, max_calls=16, deterministic=False,
                 fpmath="strict"):
        if fpmath not in _fpmath_modes:
            raise InvalidArgument(f"fpmath is {fpmath!r}, not one of {', '.join(_fpmath_modes)}", 2)
        max_calls = _count("max_calls", max_calls, 0, _MAX_CALLS)
        threads = _count("threads", threads, 1, _MAX_THREADS)
        if not isinstance(pool, (Pool, type(None))):
            raise TypeError(f"pool is {pool!r}, not a dnnl_tp.Pool")
        folder = None if base_folder is None else _path("base_folder", base_folder)
        self._profile = None if profile is None else _path("profile", profile)
        opts = _native.OpenOpts(struct_size=_c.sizeof(_native.OpenOpts), base_folder=folder)
        files = []
        if isinstance(model, (bytes, bytearray, memoryview)):
            data = bytes(model)
            self._model = _native.Handle("onnx_open_memory", "onnx_close", data, len(data), _c.byref(opts))
        else:
            files.append(_path("model", model))
            if not _os.path.exists(files[0]):
                raise FileNotFoundError(_errno.ENOENT, _os.strerror(_errno.ENOENT), model)
            self._model = _native.Handle("onnx_open", "onnx_close", files[0], _c.byref(opts))
        if self._profile is not None:
            self._check_profile(files)
        info = _native.ModelInfo(struct_size=_c.sizeof(_native.ModelInfo))
        _native.call("onnx_query", self._model.value, _c.byref(info))
        self.inputs = self._ports("onnx_input", info.inputs)
        self.outputs = self._ports("onnx_output", info.outputs)
        self.opset, self.ir_version, self.producer = info.opset, info.ir_version, info.producer.decode(errors="replace")
        self._input_names = {p.name for p in self.inputs}
        self._output_names = {p.name for p in self.outputs}
        if pool is None and threads != 1:
            pool = Pool(threads)
        self.pool = pool
        self._trace = None if profile is None else _native.Handle("trace_create", "trace_destroy", None)
        engine = _native.Handle("engine_create", "engine_destroy", _CPU, 0)
        session_opts = _native.SessionOpts(
            struct_size=_c.sizeof(_native.SessionOpts), stream_attr=pool._attr.value if pool else None,
            max_calls=max_calls, deterministic=bool(deterministic), trace=self._trace.value if self._trace else None,
            fpmath_mode=_fpmath_modes[fpmath])
        self._session = _native.Handle("onnx_session_create", "onnx_session_destroy", self._model.value, engine.value,
                                       _c.byref(session_opts))
        self._session.nout = info.outputs
        self._max_calls = max_calls or 16
        self._calls = {}  # by shapes, where shapes are all that a call depends on
        self._lock = _threading.Lock()
        self._by_value = any(p.determines_shapes for p in self.inputs)
        self._closed = False

    def _check_profile(self, files):
        """close() shall not fail to write it, nor write into a file that the model lies in."""
        profile = self._profile
        there = _os.path.exists(profile)
        if _os.path.isdir(profile) or not _os.access(profile if there else _os.path.dirname(profile) or b".", _os.W_OK):
            raise InvalidArgument(f"profile is {_os.fsdecode(profile)!r}, which cannot be written", 2)
        data = _c.c_char_p()
        for i in _itertools.count():
            _native.call("onnx_external_file", self._model.value, i, _c.byref(data))
            if data.value is None:
                break
            files.append(data.value)
        if there and any(_os.path.samefile(profile, f) for f in files):
            raise InvalidArgument(f"profile is {_os.fsdecode(profile)!r}, a file of the model", 2)

    def _ports(self, function, count):
        port, ports = _native.Port(), []
        for i in range(count):
            _native.call(function, self._model.value, i, _c.byref(port))
            ports.append(Port(port))
        return ports

    def _array(self, port, value):
        """The value as the library carries it: dense, without a copy where it is so already."""
        if not isinstance(value, _np.ndarray) and hasattr(value, "__dlpack__"):
            value = _np.from_dlpack(value)
        if isinstance(value, _np.ma.MaskedArray):
            raise TypeError(f"input '{port.name}' is a masked array: fill what is masked")
        array = _np.asarray(value)
        kind = array.dtype.kind
        if isinstance(value, (list, tuple, bool, int, float)) and array.dtype != port.dtype:
            # Python's own numbers become what the model has, but nothing is cut off.
            if array.size == 0 or kind in "biu" or (kind == "f" and port.dtype.kind not in "biu"):
                array = _converted(port, array)
        if array.dtype not in (port.dtype, port.carried):
            raise TypeError(f"input '{port.name}' has elements of type {array.dtype}, the model has {port.dtype}")
        if array.dtype == port.carried and array.flags.c_contiguous and array.flags.aligned:
            return array
        return _np.require(array, port.carried, ("C", "A")).reshape(array.shape)

    def _call_for(self, arrays):
        key = tuple(None if a is None else a.shape for a in arrays)
        call = None if self._by_value else self._calls.get(key)
        if call:
            return call
        infos, args = [], (_native.Arg * max(len(arrays), 1))()
        for arg, port, array in zip(args, self.inputs, arrays):
            if array is None:
                continue
            if array.ndim > _native.MAX_NDIMS:
                raise InvalidArgument(f"input '{port.name}' has {array.ndim} dimensions", 2)
            number = next(n for n, dtype in _types.items() if dtype == port.carried)
            infos.append(_native.TensorInfo(array.ndim, array.shape, number))
            arg.info, arg.data = _c.pointer(infos[-1]), array.ctypes.data
        args_of = args if len(arrays) == len(args) else (_native.Arg * 0)()
        call = _Call(self._session, infos, args_of)
        if not self._by_value:
            with self._lock:
                if len(self._calls) >= self._max_calls:
                    self._calls.pop(next(iter(self._calls)), None)
                self._calls[key] = call
        return call

    def _result(self, port, shape, dtype, out):
        given = out.get(port.name)
        if given is None:
            return _np.empty(shape, dtype)
        if not isinstance(given, _np.ndarray) or given.shape != shape or given.dtype != dtype or not given.flags.carray:
            raise ValueError(
                f"what is given for output '{port.name}' must be a writeable, aligned, contiguous array of {dtype} {shape}")
        return given

    def run(self, inputs, *, out=None, timeout=None):
        """Runs the model once. Returns a dict of arrays by the name of the output.

        inputs   a dict by name: numpy arrays, whatever has __dlpack__ (tensors of other frameworks on the CPU), or
                 lists. Arrays that are contiguous are read where they are
        out      arrays by name of an output, which are written in place of new ones
        timeout  seconds after which the run ends with DeadlineExceeded
        """
        self._check_open()
        out = {} if out is None else out
        for names, known, what in ((inputs, self._input_names, "input"), (out, self._output_names, "output")):
            if not isinstance(names, _Mapping):
                raise TypeError(f"{what}s are a dict, by name, not {type(names).__name__}")
            unknown = [name for name in names if name not in known]
            if unknown:
                raise ValueError(f"the model has no {what} '{unknown[0]}'; it has {sorted(known)}")
        arrays = [self._array(p, inputs[p.name]) if p.name in inputs else None for p in self.inputs]
        call = self._call_for(arrays)
        results = [self._result(p, shape, dtype, out) for p, (shape, dtype) in zip(self.outputs, call.shapes)]
        pointers_in = (_c.c_void_p * len(arrays))(*[a if a is None else a.ctypes.data for a in arrays])
        pointers_out = (_c.c_void_p * len(results))(*[a.ctypes.data for a in results])
        opts = None
        if timeout is not None and not timeout >= _FOREVER:
            deadline = _time.clock_gettime_ns(_time.CLOCK_MONOTONIC) + max(int(timeout * 1e9), 1)
            opts = _c.byref(_native.RunOpts(struct_size=_c.sizeof(_native.RunOpts), deadline_ns=deadline))
        _native.call("onnx_call_run", call.handle.value, pointers_in, pointers_out, opts)
        return {p.name: a if p.dtype in (None, a.dtype) or p.name in out else a.astype(p.dtype)
                for p, a in zip(self.outputs, results)}

    __call__ = run

    def _check_open(self):
        if self._closed:
            raise ValueError("the session is closed")

    def stats(self):
        """Counts: graphs made, compilations, evictions, calls kept now."""
        self._check_open()
        stats = _native.SessionStats(struct_size=_c.sizeof(_native.SessionStats))
        _native.call("onnx_session_query", self._session.value, _c.byref(stats))
        return {name: getattr(stats, name) for name, _ in stats._fields_[1:]}

    def close(self):
        """Ends the session and writes the profile. No run may be in progress."""
        if getattr(self, "_closed", True):
            return
        self._closed = True
        self._calls.clear()
        self._session.close()
        self._model.close()
        if self._trace:
            by_name = 3
            _native.call("trace_write", self._trace.value, self._profile, by_name)
            self._trace.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
