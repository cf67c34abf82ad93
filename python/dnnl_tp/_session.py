"""Sessions and pools."""
from __future__ import annotations

import ctypes as c
import errno
import itertools
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Dict, Iterable, List, NamedTuple, NoReturn, Optional, Tuple, Union, cast

import numpy as np

from . import _native, _state
from ._door import Door
from ._native import InvalidArgument, Unimplemented
from ._threads import CancelToken, Future, Workers, interruptible

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_CPU = 1
_STRING, _FLOAT16, _BFLOAT16 = 8, 10, 16
_NARROW = {4: "uint16", 5: "int16", 12: "uint32"}  # which the library has in wider types
_FOREVER = 1e9  # seconds
_MAX_THREADS, _MAX_CALLS, _MAX_SIZE, _MAX_SEED = 256, 2**31 - 1, 2**63 - 1, 2**64 - 1
_fpmath_modes = {"strict": 0, "bf16": 1, "f16": 2, "any": 3, "tf32": 4}
_types: Dict[int, Any] = {3: np.dtype(np.float32), 4: np.dtype(np.int32), 5: np.dtype(np.int8), 6: np.dtype(np.uint8),
          7: np.dtype(np.float64), 8: np.dtype(np.bool_), 16: np.dtype(np.int64)}


def _bfloat16() -> Any:
    try:
        import ml_dtypes  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def _path(name: str, value: Path) -> bytes:
    """A path as the library takes it, which ends at the first NUL."""
    path = os.fsencode(value)
    if not path or b"\0" in path:
        raise InvalidArgument(f"{name} is {value!r}: no file has such a name", 2)
    return path


def _converted(port: Port, array: Any) -> Any:
    """Python's numbers in the port's type, which must hold each: numpy 1 would cut off what does not fit."""
    with np.errstate(over="ignore"):
        result = array.astype(port.dtype)
    lost = result != array if port.dtype.kind in "biu" else np.isinf(result) & np.isfinite(array)
    if lost.any():
        raise OverflowError(f"input '{port.name}' has the value {array[lost][0]}, which {port.dtype} does not hold")
    return result


class _Here:
    """What has threads and memory of this process stays in it."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled; make another one where it is needed")


class Port:
    """An input or output of a model.

    name         its name
    dtype        numpy's type of its elements (bfloat16: that of ml_dtypes where it is installed, else float32; texts:
                 int64, their numbers, and an input takes arrays of str); None: the file does not say
    shape        a tuple of numbers, names (symbolic sizes) and None (unknown); None: the file does not say
    has_default  it need not be given
    """

    def __init__(self, port: Any) -> None:
        self.name: str = port.name.decode()
        self.onnx_type: int = port.onnx_type  # TensorProto.DataType; 0: the file does not say, or it is no tensor
        self.carried: Any = _types.get(port.info.data_type)  # the type in which the library has it
        small = {_FLOAT16: np.dtype(np.float16), _BFLOAT16: _bfloat16()}.get(port.onnx_type)
        narrow = _NARROW.get(port.onnx_type)
        self.dtype: Any = small or (np.dtype(narrow) if narrow else self.carried)
        self.shape: Optional[Tuple[Union[int, str, None], ...]] = None
        if port.info.ndims >= 0:
            self.shape = tuple(
                size if size != _native.RUNTIME_DIM else symbol and symbol.decode()
                for size, symbol in zip(port.info.dims[: port.info.ndims], port.symbols))
        self.is_text = port.onnx_type == _STRING  # the library has the numbers of words
        self.has_default = bool(port.flags & _native.HAS_DEFAULT)
        self.determines_shapes = bool(port.flags & (_native.DETERMINES_SHAPES | _native.DECIDES_BRANCHES))

    def _spec(self, fixed: Dict[int, int]) -> Tuple[str, str, int, int, bool, Dict[int, int]]:
        """An input as the door takes it."""
        number = next((n for n, dtype in _types.items() if dtype == self.carried), 0)
        kind, size = (self.carried.kind, self.carried.itemsize) if self.carried else ("?", 0)
        return self.name, kind, size, number, self.determines_shapes, fixed

    def _text(self) -> str:
        shape = "?" if self.shape is None else ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.dtype or '?'}[{shape}]"

    def __repr__(self) -> str:
        return f"Port({self.name!r}, {self.dtype}, {self.shape})"


class Pool(_Here):
    """Threads that any number of sessions share.

    threads  how many compute at once, the callers included; 1 to 256
    """

    def __init__(self, threads: int) -> None:
        threads = _native.count("threads", threads, 1, _MAX_THREADS)
        opts = _native.ThreadpoolOpts(struct_size=c.sizeof(_native.ThreadpoolOpts), num_threads=threads)
        self._pool = _native.Handle("threadpool_create", "threadpool_destroy", c.byref(opts))
        self._attr = _native.Handle("stream_attr_create", "stream_attr_destroy", _CPU)
        _native.call("stream_attr_set_builtin_threadpool", self._attr.value, self._pool.value)
        self._workers = Workers(threads)
        self.threads = threads

    def __repr__(self) -> str:
        return f"<dnnl_tp.Pool of {self.threads} threads>"


def _fix(inputs: List[Port], outputs: List[Port], dims: Mapping[str, int], all_are_there: bool) -> Dict[str, Dict[int, int]]:
    """Gives the ports the sizes that the program knows. Returns those of the inputs, by name and axis."""
    ports = {p.name: p for p in inputs}
    symbols = {n for p in inputs for n in p.shape or () if isinstance(n, str)}
    fixed: Dict[str, Dict[int, int]] = {}
    if not isinstance(dims, Mapping):
        raise TypeError(f"dims are a dict of sizes, not {type(dims).__name__}")
    for name, value in dims.items():
        size = _native.count(f"dims[{name!r}]", value, 0, _MAX_SIZE)
        if name in symbols:
            for p in inputs + outputs:
                for axis, n in enumerate(p.shape or ()):
                    if n == name:
                        _set(p, axis, size)
                        if p in inputs:
                            fixed.setdefault(p.name, {})[axis] = size
            continue
        port, colon, number = name.rpartition(":")
        if not all_are_there:
            continue
        if port not in ports or not number.isdecimal():
            raise ValueError(f"dims names '{name}', which is no open dimension of an input {sorted(symbols)} and no "
                             f"'input:axis' of {sorted(ports)}")
        axis, shape = int(number), ports[port].shape
        if shape is not None and not axis < len(shape):
            raise ValueError(f"dims names '{name}', but input '{port}' has {len(shape)} dimensions")
        if shape is not None and isinstance(shape[axis], int) and shape[axis] != size:
            raise ValueError(f"dims['{name}'] is {size}, but the model has {shape[axis]}")
        if shape is not None:
            _set(ports[port], axis, size)
        fixed.setdefault(port, {})[axis] = size
    return fixed


def _set(port: Port, axis: int, size: int) -> None:
    shape = list(port.shape or ())
    shape[axis] = size
    port.shape = tuple(shape)


Array = Any  # numpy's array, whatever has __dlpack__, or lists
Model = Union[str, bytes, bytearray, memoryview, "os.PathLike[str]"]


class Metadata(NamedTuple):
    """What a file says about its model; "" and None: nothing."""

    producer: str
    name: str
    domain: str
    description: str
    graph_description: str
    version: Optional[int]
    properties: Dict[str, str]


_Bytes = (bytes, bytearray, memoryview)


def open_model(model: Model, folder: Optional[bytes], report: Any = None, seed: int = 0) -> _native.Handle:
    """The file, read and checked; report gets the problems of a model that can never run."""
    opts = _native.OpenOpts(struct_size=c.sizeof(_native.OpenOpts), base_folder=folder, seed=seed)
    if report:
        opts.report = report
    if isinstance(model, _Bytes):
        data = bytes(model)
        return _native.Handle("onnx_open_memory", "onnx_close", data, len(data), c.byref(opts))
    path = _path("model", cast(Path, model))
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), model)
    return _native.Handle("onnx_open", "onnx_close", path, c.byref(opts))


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
    seed           of the nodes that draw random numbers and have no seed; each run goes on in their sequences
    dims           sizes of the model's open dimensions by their names, or by "input:axis": {"batch": 1, "x:2": 224}

    All but the model are given by name. What a session has: inputs and outputs, lists of Port; pool, or None; opset,
    ir_version and producer of the model.

    run() may be called by many threads at once. Raises FileNotFoundError where there is no such model, and Error and its
    kinds with the library's text: operators and types that are not implemented, and files of external data that are
    missing or cut off, all of them at once. A model whose inputs have known sizes only, or get them from dims, is compiled
    here, so that what is wrong with it is said here, too.
    """

    _words: Optional[Dict[bytes, int]] = None  # of the model, by text; None: no run needed them yet
    _dims_are_there = True  # or names in dims that the model has not are ignored

    def __init__(self, model: Model, *, threads: int = 1, pool: Optional[Pool] = None,
                 base_folder: Optional[Path] = None, profile: Optional[Path] = None, max_calls: int = 16,
                 deterministic: bool = False, fpmath: str = "strict", dims: Optional[Mapping[str, int]] = None,
                 seed: int = 0) -> None:
        if fpmath not in _fpmath_modes:
            raise InvalidArgument(f"fpmath is {fpmath!r}, not one of {', '.join(_fpmath_modes)}", 2)
        max_calls = _native.count("max_calls", max_calls, 0, _MAX_CALLS)
        threads = _native.count("threads", threads, 1, _MAX_THREADS)
        if not isinstance(pool, (Pool, type(None))):
            raise TypeError(f"pool is {pool!r}, not a dnnl_tp.Pool")
        folder = None if base_folder is None else _path("base_folder", base_folder)
        self._profile = None if profile is None else _path("profile", profile)
        self._model = open_model(model, folder, None, _native.count("seed", seed, 0, _MAX_SEED))
        is_file = not isinstance(model, _Bytes)
        if self._profile is not None:
            self._check_profile(self._profile, [os.fsencode(cast(Path, model))] if is_file else [])
        info = _native.ModelInfo(struct_size=c.sizeof(_native.ModelInfo))
        _native.call("onnx_query", self._model.value, c.byref(info))
        self.inputs = self._ports("onnx_input", info.inputs)
        self.outputs = self._ports("onnx_output", info.outputs)
        fixed = self._fixed = _fix(self.inputs, self.outputs, {} if dims is None else dims, self._dims_are_there)
        self.opset, self.ir_version, self.producer = info.opset, info.ir_version, info.producer.decode(errors="replace")
        self._graph_name = info.name.decode(errors="replace")
        self._name = repr(os.fspath(cast(Path, model))) if is_file else f"{len(cast(bytes, model))} bytes"
        self._input_names = {p.name for p in self.inputs}
        self._output_numbers = {p.name: i for i, p in enumerate(self.outputs)}
        if pool is None and threads != 1:
            pool = Pool(threads)
        self.pool = pool
        self._workers = pool._workers if pool else Workers(1)
        self._trace = None if profile is None else _native.Handle("trace_create", "trace_destroy", None)
        engine = _native.Handle("engine_create", "engine_destroy", _CPU, 0)
        session_opts = _native.SessionOpts(
            struct_size=c.sizeof(_native.SessionOpts), stream_attr=pool._attr.value if pool else None,
            max_calls=max_calls, deterministic=bool(deterministic), trace=self._trace.value if self._trace else None,
            fpmath_mode=_fpmath_modes[fpmath])
        session = _native.Handle("onnx_session_create", "onnx_session_destroy", self._model.value, engine.value,
                                 c.byref(session_opts))
        self._address = session.value
        self._door = Door(session.value or 0, tuple(p._spec(fixed.get(p.name, {})) for p in self.inputs),
                          tuple((p.name, None if p.dtype == p.carried else p.dtype) for p in self.outputs), _types, np,
                          _native.fail, max_calls or 16, threading.main_thread().ident or 0)
        session.give()  # to the door
        self._closed = False
        self._lock = threading.Lock()
        needed = [p for p in self.inputs if not p.has_default]
        if all(p.shape is not None and not p.determines_shapes and all(isinstance(n, int) for n in p.shape)
               for p in needed):
            try:
                self._door.prepare({p.name: np.empty(cast(Tuple[int, ...], p.shape), p.carried) for p in needed})
            except Unimplemented:
                pass  # it may run in parts, which the first run finds out

    def __repr__(self) -> str:
        ports = (", ".join(f"{p.name}: {p._text()}" for p in ports) for ports in (self.inputs, self.outputs))
        state = ", closed" if self._closed else ""
        return f"<dnnl_tp.Session of {self._name}: {' -> '.join(ports)}; threads={self.threads}{state}>"

    @property
    def threads(self) -> int:
        """How many threads compute at once, the caller included."""
        return self.pool.threads if self.pool else 1

    def _check_profile(self, profile: bytes, files: List[bytes]) -> None:
        """close() shall not fail to write it, nor write into a file that the model lies in."""
        there = os.path.exists(profile)
        if os.path.isdir(profile) or not os.access(profile if there else os.path.dirname(profile) or b".", os.W_OK):
            raise InvalidArgument(f"profile is {os.fsdecode(profile)!r}, which cannot be written", 2)
        data = c.c_char_p()
        for i in itertools.count():
            _native.call("onnx_external_file", self._model.value, i, c.byref(data))
            if data.value is None:
                break
            files.append(data.value)
        if there and any(os.path.samefile(profile, f) for f in files):
            raise InvalidArgument(f"profile is {os.fsdecode(profile)!r}, a file of the model", 2)

    def _ports(self, function: str, count: int) -> List[Port]:
        port, ports = _native.Port(), []
        for i in range(count):
            _native.call(function, self._model.value, i, c.byref(port))
            ports.append(Port(port))
        return ports

    def _array(self, port: Port, value: Array) -> Any:
        """The value as the library carries it: dense, without a copy where it is so already."""
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            value = np.from_dlpack(value)
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"input '{port.name}' is a masked array: fill what is masked")
        array = np.asarray(value)
        if port.is_text:
            return self._numbers_of_words(port, array)
        kind = array.dtype.kind
        if isinstance(value, (list, tuple, bool, int, float)) and array.dtype != port.dtype:
            # Python's own numbers become what the model has, but nothing is cut off.
            if array.size == 0 or kind in "biu" or (kind == "f" and port.dtype.kind not in "biu"):
                array = _converted(port, array)
        if array.dtype not in (port.dtype, port.carried):
            raise TypeError(f"input '{port.name}' has elements of type {array.dtype}, the model has {port.dtype}")
        if array.ndim > _native.MAX_NDIMS:
            raise InvalidArgument(f"input '{port.name}' has {array.ndim} dimensions", 2)
        if array.dtype == port.carried and array.flags.c_contiguous and array.flags.aligned:
            return array
        return np.require(array, port.carried, ("C", "A")).reshape(array.shape)

    def _numbers_of_words(self, port: Port, array: Any) -> Any:
        """The numbers of texts; -1: one that no encoder of the model has."""
        words = self._words
        if words is None:
            words, text, size = {}, c.c_void_p(), c.c_size_t()
            try:
                while True:
                    _native.call("onnx_word", self._model.value, len(words), c.byref(text), c.byref(size))
                    words[c.string_at(text.value or b"", size.value)] = len(words)
            except InvalidArgument:
                self._words = words  # that was the last one
        texts = array.reshape(-1).tolist()
        if not all(isinstance(x, (str, bytes)) for x in texts):
            raise TypeError(f"input '{port.name}' has elements of type {array.dtype}, the model has texts")
        numbers = [words.get(x if isinstance(x, bytes) else x.encode(errors="surrogateescape"), -1) for x in texts]
        return np.array(numbers, np.int64).reshape(array.shape)

    def _check_names(self, names: Any, known: Iterable[str], what: str) -> None:
        if not isinstance(names, Mapping):
            raise TypeError(f"{what}s are a dict, by name, not {type(names).__name__}")
        for name in names:
            if name not in known:
                raise ValueError(f"the model has no {what} '{name}'; it has {sorted(known)}")

    def _order(self, outputs: Iterable[str]) -> Tuple[int, ...]:
        """The numbers of outputs."""
        if isinstance(outputs, (str, bytes)):
            raise TypeError(f"outputs are a list of names, not {outputs!r}")
        outputs = list(outputs)
        for name in outputs:
            if name not in self._output_numbers:
                raise ValueError(f"the model has no output '{name}'; it has {sorted(self._output_numbers)}")
        return tuple(self._output_numbers[name] for name in outputs)

    def _fetch(self, inputs: Mapping[str, Array], order: Optional[Tuple[int, ...]] = None,
               out: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None,
               cancel: Optional[CancelToken] = None, state: Optional[_state.State] = None) -> Any:
        """A run of any kind: a dict of all outputs, or a list of those in order."""
        if self._closed:
            raise ValueError("the session is closed")
        self._check_names(inputs, self._input_names, "input")
        self._check_names({} if out is None else out, self._output_numbers, "output")
        feeds = {p.name: self._array(p, inputs[p.name]) for p in self.inputs if p.name in inputs}
        given = tuple(out.get(p.name) for p in self.outputs) if out else None
        deadline = 0
        if timeout is not None and not timeout >= _FOREVER:
            deadline = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + max(int(timeout * 1e9), 1)
        address = 0 if state is None else state._open()
        try:
            return self._through_door(feeds, order, given, deadline, cancel, False, address)
        except Unimplemented as refused:
            if address:
                raise
            try:
                return self._through_door(feeds, order, given, deadline, cancel, True, 0)
            except Unimplemented as later:
                raise later if "only a run knows" in str(refused) else refused from None

    def _through_door(self, feeds: Dict[str, Any], order: Optional[Tuple[int, ...]], given: Optional[Tuple[Any, ...]],
                      deadline: int, cancel: Optional[CancelToken], in_parts: bool, state: int) -> Any:
        fetch = self._door.fetch
        if cancel is None:
            result = fetch(feeds, order, given, deadline, 0, False, in_parts, state)
            if result is not None:
                return result
            cancel = CancelToken()
        with cancel._run() as token:
            result = fetch(feeds, order, given, deadline, token, False, in_parts, state)
            if result is None:  # it may take long, and this is the main thread
                result = interruptible(lambda: fetch(feeds, order, given, deadline, token, True, in_parts, state), cancel)
            return result

    def run(self, inputs: Mapping[str, Array], *, outputs: Optional[Iterable[str]] = None,
            out: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None,
            cancel: Optional[CancelToken] = None, state: Optional[_state.State] = None) -> Dict[str, Any]:
        """Runs the model once. Returns a dict of arrays by the name of the output.

        inputs   a dict by name: numpy arrays, whatever has __dlpack__ (tensors of other frameworks on the CPU), or
                 lists. Arrays that are contiguous are read where they are
        outputs  names of the outputs that are returned; None: all
        out      arrays by name of an output, which are written in place of new ones
        timeout  seconds after which the run ends with DeadlineExceeded
        cancel   a CancelToken, which ends the run with Cancelled
        state    a State of this session: it has the inputs of its pairs, and gets their outputs
        """
        if state is not None:
            if not isinstance(state, _state.State):
                raise TypeError(f"state is {state!r}, not a dnnl_tp.State")
            names = None if outputs is None or isinstance(outputs, (str, bytes)) else list(outputs)
            state._check(self, (outputs or ()) if names is None else names, out or ())
            made = cast(Dict[str, Any], self._fetch(inputs, None, out, timeout, cancel, state))
            return made if names is None else {name: made[name] for name in names}
        if outputs is None and out is None and timeout is None and cancel is None:
            try:
                result = self._door.run(inputs)  # type: ignore[arg-type]
            except Unimplemented:
                result = None  # _fetch may find parts that run
            if result is not None:
                return result
        if outputs is None:
            return cast(Dict[str, Any], self._fetch(inputs, None, out, timeout, cancel))
        names = list(outputs) if not isinstance(outputs, (str, bytes)) else outputs
        return dict(zip(names, self._fetch(inputs, self._order(names), out, timeout, cancel)))

    __call__ = run

    def run_async(self, inputs: Mapping[str, Array], *, outputs: Optional[Iterable[str]] = None,
                  out: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None) -> Future:
        """Lets another thread run the model: a Future of what run() returns, which may also be awaited.

        As many runs are in progress as the session, or its pool, has threads; others wait for their turn. The arrays stay
        as they are until the run is over. Arguments are those of run().
        """
        if self._closed:
            raise ValueError("the session is closed")
        future = Future()
        self._workers.submit(future._work, lambda token: self.run(inputs, outputs=outputs, out=out, timeout=timeout,
                                                                  cancel=token))
        return future

    def state(self, capacity: int = 0, pairs: Optional[Mapping[str, str]] = None, by_joins: bool = False) -> _state.State:
        """What a sequence of runs hands on, such as the keys and values of a decoder: for run(..., state=state).

        capacity  rows to make room for at first; 0: 64. It doubles when they are full
        pairs     a dict: the output that each input gets in the next run; None: each input with "past" in its name, and
                  the output with "present" there
        by_joins  the past is never left in its place, to compare, or to save memory

        Raises InvalidArgument where a name is not there, or the model has no such pairs.
        """
        if self._closed:
            raise ValueError("the session is closed")
        return _state.State(self, _native.count("capacity", capacity, 0, _MAX_CALLS), pairs, by_joins)

    def metadata(self) -> Metadata:
        """What the file says about its model."""
        if self._closed:
            raise ValueError("the session is closed")
        m = _native.Metadata(struct_size=c.sizeof(_native.Metadata))
        _native.call("onnx_metadata", self._model.value, c.byref(m))
        properties, key, value = {}, c.c_char_p(), c.c_char_p()
        for i in range(m.properties):
            _native.call("onnx_property", self._model.value, i, c.byref(key), c.byref(value))
            properties[(key.value or b"").decode(errors="replace")] = (value.value or b"").decode(errors="replace")
        domain, text, graph_text = (t.decode(errors="replace") for t in (m.domain, m.description, m.graph_description))
        return Metadata(self.producer, self._graph_name, domain, text, graph_text,
                        m.version if m.has_version else None, properties)

    def _map_keys(self, output: int) -> List[Union[int, str]]:
        """Keys of the maps that an output consists of in the file (ZipMap), where the session gives their values {rows,
        keys}, or the texts of labels where it gives their numbers; []: it is the same tensor there."""
        keys: List[Union[int, str]] = []
        number, text, size = c.c_int64(), c.c_void_p(), c.c_size_t()
        while True:
            try:
                _native.call("onnx_map_key", self._model.value, output, len(keys), c.byref(number), c.byref(text),
                             c.byref(size))
            except InvalidArgument:
                return keys
            keys.append(c.string_at(text.value, size.value).decode(errors="replace") if text.value else number.value)

    def stats(self) -> Dict[str, int]:
        """Counts: graphs made, compilations, evictions, calls kept now, imports, guards that failed."""
        if self._closed:
            raise ValueError("the session is closed")
        stats = _native.SessionStats(struct_size=c.sizeof(_native.SessionStats))
        _native.call("onnx_session_query", self._address, c.byref(stats))
        return {name: getattr(stats, name) for name, *_ in stats._fields_[1:]}

    def explain(self) -> List[str]:
        """Which shapes the session's graphs serve that it has now, the newest first: a line for each graph, then one for each
        condition, "NODE: x.1 == 224": x.1 is dimension 1 of input x, NODE what needs it; then a line for each capacity and number of new
        rows that states asked for: whether the past stays in its place, or why not. For people; the form may change."""
        if self._closed:
            raise ValueError("the session is closed")
        size, room = c.c_size_t(), 1 << 16
        while True:
            text = c.create_string_buffer(room)
            _native.call("onnx_session_explain", self._address, text, room, c.byref(size))
            if size.value <= room:
                return text.value.decode(errors="replace").splitlines()
            room = 2 * size.value

    def close(self) -> None:
        """Ends the session and writes the profile. Runs in progress go on to their end."""
        if getattr(self, "_closed", True):
            return
        with self._lock:
            self._closed = True
            self._door.close()
        self._model.close()
        self._write_profile()

    def _write_profile(self) -> None:
        """Once; later runs are not recorded."""
        if self._trace:
            trace, by_name, self._trace = self._trace, 3, None
            _native.call("trace_set_enabled", trace.value, 0)
            _native.call("trace_write", trace.value, self._profile, by_name)
            trace.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
