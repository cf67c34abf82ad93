"""InferenceSession on dnnl_tp.Session."""
from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from .._native import Cancelled, InvalidArgument, Unimplemented
from .._session import Array, Model, Pool, Port, Session
from .._threads import Future
from ._options import RunOptions, SessionOptions, get_available_providers
from ._values import IOBinding, OrtValue, type_name, type_names

_BAD, _CANCELLED = 2, 0x1003
_NO_VERSION = 2**63 - 1
_MOST_THREADS = 256
_STRING = 8  # TensorProto.STRING
Providers = Optional[Sequence[Union[str, Tuple[str, Dict[str, Any]]]]]


class NodeArg:
    """An input or output: name, type ('tensor(float)'), shape (numbers, names and None)."""

    def __init__(self, port: Port) -> None:
        self.name = port.name
        name = type_names.get(port.onnx_type)
        self.type = f"tensor({name})" if name else type_name(port.dtype) if port.dtype else ""
        self.shape: List[Union[int, str, None]] = list(port.shape or ())

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata(NamedTuple):
    """What the file says of its model."""

    producer_name: str
    graph_name: str
    graph_description: str
    domain: str
    description: str
    version: int
    custom_metadata_map: Dict[str, str]


class _Shared:
    """The pool of all sessions that ask for no number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Optional[Pool] = None
        self._process = 0

    def pool(self) -> Optional[Pool]:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with self._lock:
            if processors > 1 and (self._pool is None or self._process != os.getpid()):
                self._pool, self._process = Pool(min(processors, _MOST_THREADS)), os.getpid()
            return self._pool


_shared = _Shared()


def _names_of(providers: Providers, options: Optional[Sequence[Dict[str, Any]]]) -> None:
    """Warns of providers that are not here, as onnxruntime does, which then falls back to the CPU."""
    if options is not None and (providers is None or len(options) != len(providers)):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
    for provider in providers or ():
        name = provider if isinstance(provider, str) else provider[0]
        if not isinstance(name, str):
            raise ValueError("providers are names, or tuples of a name and a dict of options")
        if name not in get_available_providers():
            warnings.warn(f"Specified provider '{name}' is not in available provider names. Available providers: "
                          f"'{', '.join(get_available_providers())}'", stacklevel=4)


class _Session(Session):
    _dims_are_there = False


class InferenceSession:
    """A model that is ready to run.

    path_or_bytes     path of a file, or its bytes
    sess_options      SessionOptions
    providers         names, or tuples of a name and options; only CPUExecutionProvider is here, others are warned of
    provider_options  one dict by provider, without effect

    Serves many threads at once. Raises FileNotFoundError where there is no such file; InvalidArgument, Unimplemented and
    other kinds of dnnl_tp.Error with the library's text.
    """

    def __init__(self, path_or_bytes: Model, sess_options: Optional[SessionOptions] = None, providers: Providers = None,
                 provider_options: Optional[Sequence[Dict[str, Any]]] = None, **kwargs: Any) -> None:
        options = sess_options or SessionOptions()
        _names_of(providers, provider_options)
        is_bytes = isinstance(path_or_bytes, (bytes, bytearray, memoryview))
        if not is_bytes and not isinstance(path_or_bytes, (str, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._model_path = "" if is_bytes else os.fspath(path_or_bytes)  # type: ignore[arg-type]
        self._model_bytes = path_or_bytes if is_bytes else b""
        self._sess_options = options
        self._profile = ""
        if options.enable_profiling:
            self._profile = time.strftime(f"{options.profile_file_prefix}_%Y-%m-%d_%H-%M-%S.json")
        threads = options.intra_op_num_threads
        is_shared = threads <= 0 or not options.use_per_session_threads
        self._began_ns = time.monotonic_ns()
        session = self._session = _Session(
            path_or_bytes, pool=_shared.pool() if is_shared else None, threads=1 if is_shared else threads,
            profile=self._profile or None, deterministic=options.use_deterministic_compute, dims=options._dims)
        self._input_types = {p.name: p for p in session.inputs}
        self._output_numbers = session._output_numbers
        self._all = tuple(range(len(session.outputs)))
        self._maps = {i: np.array(keys, object) if p.onnx_type else keys for i, p in enumerate(session.outputs)
                      if p.onnx_type in (0, _STRING) for keys in [session._map_keys(i)] if keys}
        self._orders: Dict[Any, Tuple[int, ...]] = {}
        self._run = session._door.fetch

    # ---- What the session is

    def get_session_options(self) -> SessionOptions:
        return self._sess_options

    def get_inputs(self) -> List[NodeArg]:
        return [NodeArg(p) for p in self._session.inputs if not p.has_default]

    def get_overridable_initializers(self) -> List[NodeArg]:
        return [NodeArg(p) for p in self._session.inputs if p.has_default]

    def get_outputs(self) -> List[NodeArg]:
        outputs = [NodeArg(p) for p in self._session.outputs]
        for i, keys in self._maps.items():
            if self._session.outputs[i].onnx_type:
                continue
            outputs[i].type = f"seq(map({'string' if isinstance(keys[0], str) else 'int64'},tensor(float)))"
            outputs[i].shape = []
        return outputs

    def get_modelmeta(self) -> ModelMetadata:
        m = self._session.metadata()
        version = _NO_VERSION if m.version is None else m.version
        return ModelMetadata(m.producer, m.name, m.graph_description, m.domain, m.description, version,
                             dict(m.properties))

    def get_providers(self) -> List[str]:
        return get_available_providers()

    def get_provider_options(self) -> Dict[str, Dict[str, str]]:
        return {name: {} for name in get_available_providers()}

    def set_providers(self, providers: Providers = None,
                      provider_options: Optional[Sequence[Dict[str, Any]]] = None) -> None:
        _names_of(providers, provider_options)

    def enable_fallback(self) -> None:
        """Without effect: there is one provider."""

    def disable_fallback(self) -> None:
        """Without effect: there is one provider."""

    def __repr__(self) -> str:
        return repr(self._session).replace("dnnl_tp.Session", "dnnl_tp.InferenceSession")

    # ---- Runs

    def _order(self, output_names: Optional[Sequence[str]]) -> Tuple[int, ...]:
        """Numbers of the outputs that are asked for."""
        if not output_names:
            return self._all
        key = tuple(output_names)
        order = self._orders.get(key)
        if order is None:
            if isinstance(output_names, str):
                raise TypeError(f"output_names is {output_names!r}, not a list of names")
            for name in key:
                if name not in self._output_numbers:
                    raise InvalidArgument(f"Invalid output name: {name}; the model has {list(self._output_numbers)}",
                                          _BAD)
            order = tuple(self._output_numbers[name] for name in key)
            if len(self._orders) < len(self._output_numbers) + 16:
                self._orders[key] = order
        return order

    def _feeds(self, feeds: Mapping[str, Array]) -> Dict[str, Array]:
        """Names and types as onnxruntime checks them; what else is wrong the session says."""
        if not isinstance(feeds, Mapping):
            raise TypeError(f"input_feed is a {type(feeds).__name__}, not a dict by name")
        missing = [p.name for p in self._session.inputs if p.name not in feeds and not p.has_default]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feeds)}).")
        values = {}
        for name, value in feeds.items():
            port = self._input_types.get(name)
            if port is None:
                raise InvalidArgument(f"Invalid input name: {name}; the model has {list(self._input_types)}", _BAD)
            value = value._array if isinstance(value, OrtValue) else value
            if value is None:
                raise InvalidArgument(f"input '{name}' is None", _BAD)
            if isinstance(value, np.ndarray) and not (
                    value.dtype.kind in "UOS" if port.is_text else value.dtype in (port.dtype, port.carried)):
                raise InvalidArgument(f"Unexpected input data type for '{name}'. Actual: ({type_name(value.dtype)}) , "
                                      f"expected: ({NodeArg(port).type})", _BAD)
            values[name] = value
        return values

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Array],
            run_options: Optional[RunOptions] = None) -> List[Any]:
        """A list of arrays, one for each output that is asked for; None or []: all outputs of the model."""
        order = self._order(output_names) if output_names else self._all
        if run_options is None:
            try:
                results = self._run(input_feed, order)  # type: ignore[arg-type]
            except Unimplemented:
                results = None  # _fetch may find parts that run
            if results is not None:
                return self._mapped(order, results) if self._maps else results
        return self._mapped(order, self._fetch(order, input_feed, run_options))

    def _mapped(self, order: Tuple[int, ...], results: List[Any]) -> List[Any]:
        """A list of dicts for an output that consists of maps; texts for the numbers of labels."""
        for i, number in enumerate(order):
            keys = self._maps.get(number)
            if isinstance(keys, np.ndarray):
                results[i] = keys[results[i]]
            elif keys:
                results[i] = [dict(zip(keys, row)) for row in results[i].reshape(-1, len(keys)).tolist()]
        return results

    def _fetch(self, order: Tuple[int, ...], feeds: Mapping[str, Array], run_options: Optional[RunOptions] = None,
               out: Optional[Dict[str, Any]] = None) -> List[Any]:
        token = run_options._token if run_options else None
        if token and token.cancelled:
            raise Cancelled("Exiting due to terminate flag being set to true.", _CANCELLED)
        results: List[Any] = self._session._fetch(self._feeds(feeds), order, out, cancel=token)
        return results

    def run_with_ort_values(self, output_names: Optional[Sequence[str]], input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: Optional[RunOptions] = None) -> List[OrtValue]:
        return [OrtValue(a) for a in self._fetch(self._order(output_names), input_dict_ort_values, run_options)]

    def run_async(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Array],
                  callback: Callable[[Any, Any, str], None], user_data: Any,
                  run_options: Optional[RunOptions] = None) -> None:
        """Another thread runs, and then calls callback(results, user_data, text of an error or "")."""
        order, feeds = self._order(output_names), self._feeds(input_feed)
        future = Future()

        def tell(_: Any) -> None:
            error = future.exception()
            callback([] if error else future.result(), user_data, str(error) if error else "")

        future.add_done_callback(tell)
        self._session._workers.submit(future._work,
                                      lambda _: self._mapped(order, self._fetch(order, feeds, run_options)))

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Optional[RunOptions] = None) -> None:
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        bound = iobinding._outputs
        ports = self._session.outputs
        out = {name: a for name, a in bound.items()
               if a is not None and ports[self._output_numbers[name]].carried == a.dtype and a.flags.carray}
        results = self._fetch(self._order(list(bound)), iobinding._inputs, run_options, out) if bound else []
        for (name, array), result in zip(bound.items(), results):
            if array is not None and name not in out:
                if array.dtype != result.dtype or array.shape != result.shape:
                    raise InvalidArgument(f"output '{name}' is {result.dtype} {result.shape}, bound is {array.dtype} "
                                          f"{array.shape}", _BAD)
                np.copyto(array, result)
        iobinding._results = [OrtValue(r if a is None else a) for a, r in zip(bound.values(), results)]

    # ---- Profiles

    def end_profiling(self) -> str:
        """Writes what ran when, and records no more. Returns the file's name; "" if nothing was recorded."""
        name, self._profile = self._profile, ""
        if name:
            self._session._write_profile()
        return name

    def get_profiling_start_time_ns(self) -> int:
        return self._began_ns

    def __del__(self) -> None:
        if getattr(self, "_profile", "") and hasattr(self, "_session"):
            self.end_profiling()
