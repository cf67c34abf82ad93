"""States: what a model hands from run to run, such as the keys and values of a decoder."""
from __future__ import annotations

import ctypes as c
import itertools
from collections.abc import Mapping as MappingType
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Tuple

from . import _native

if TYPE_CHECKING:
    from ._session import Session


class _Pair(c.Structure):
    _fields_ = [("past", c.c_char_p), ("present", c.c_char_p)]


class _Opts(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("capacity", c.c_int64), ("npairs", c.c_int), ("pairs", c.POINTER(_Pair)),
                ("by_joins", c.c_int)]


class _Info(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("length", c.c_int64), ("capacity", c.c_int64), ("batch", c.c_int64),
                ("bytes", c.c_size_t), ("runs", c.c_uint64), ("in_place", c.c_uint64)]


_MOST = 2**63 - 1
_handle = c.c_void_p
for _name, _types in {
        "create": [c.POINTER(c.c_void_p), _handle, c.POINTER(_Opts)],
        "truncate": [_handle, c.c_int64],
        "reorder": [_handle, c.c_int, c.POINTER(c.c_int64)],
        "query": [_handle, c.POINTER(_Info)],
        "destroy": [_handle]}.items():
    _function = getattr(_native.lib, "dnnl_tp_onnx_state_" + _name)
    _function.argtypes, _function.restype = _types, c.c_int


def _presents(session: Session) -> Iterable[str]:
    """Outputs that are in pairs by their names, as in the library."""
    outputs = {p.name for p in session.outputs}
    for port in session.inputs:
        for word in "past_key_values", "past":
            name = port.name.replace(word, "present", 1)
            if word in port.name and name in outputs:
                yield name
                break


class State:
    """What a sequence of runs has behind it; made by Session.state().

    Session.run(..., state=state) runs the model on new rows behind those that the state has, and appends what they give;
    after a run that raises the state is what it was before. A state serves one thread at a time, several states of one
    session may be used side by side. After close() all methods but close() raise ValueError.
    """

    def __init__(self, session: Session, capacity: int, pairs: Optional[Mapping[str, str]], by_joins: bool) -> None:
        if pairs is not None and not isinstance(pairs, MappingType):
            raise TypeError(f"pairs are a dict of outputs by inputs, not {type(pairs).__name__}")
        items = list((pairs or {}).items())
        array = (_Pair * max(len(items), 1))()
        for pair, (past, present) in zip(array, items):
            pair.past, pair.present = past.encode(), present.encode()
        opts = _Opts(c.sizeof(_Opts), capacity, len(items), array if items else None, by_joins)
        self._session = session
        self._taken = frozenset(pairs.values() if pairs else _presents(session))
        with session._lock:
            if session._closed:
                raise ValueError("the session is closed")
            self._state = _native.Handle("onnx_state_create", "onnx_state_destroy", session._address, c.byref(opts))

    def _open(self) -> int:
        """The library's state."""
        if self._state.value is None:
            raise ValueError("the state is closed")
        return self._state.value

    def _check(self, session: Session, outputs: Iterable[str], out: Iterable[str]) -> None:
        """Before a run; names that the model has not are left to it."""
        if session is not self._session:
            raise ValueError("the state belongs to another session")
        self._open()
        session._order(outputs)
        for name in itertools.chain(outputs, out):
            if name in self._taken:
                raise ValueError(f"the state gets output '{name}'")

    def _info(self) -> _Info:
        info = _Info(c.sizeof(_Info))
        _native.call("onnx_state_query", self._open(), c.byref(info))
        return info

    @property
    def length(self) -> int:
        """Rows that the state has: of a decoder, tokens."""
        return int(self._info().length)

    def stats(self) -> Dict[str, int]:
        """length, capacity (rows), batch, bytes of the tensors, runs, and how many of these left the past in its place."""
        info = self._info()
        return {name: int(getattr(info, name)) for name, *_ in _Info._fields_[1:]}

    def truncate(self, length: int) -> None:
        """Forgets all rows but the first `length`. Raises InvalidArgument where it has fewer."""
        _native.call("onnx_state_truncate", self._open(), _native.count("length", length, 0, _MOST))

    def reorder(self, sequences: Iterable[int]) -> None:
        """Each sequence of the new batch continues the one of the old batch that is named, as beam search does.
        Raises InvalidArgument where the old batch has no such sequence, or there was no run yet."""
        numbers = [_native.count("a sequence", n, 0, _MOST) for n in sequences]
        _native.call("onnx_state_reorder", self._open(), len(numbers), (c.c_int64 * max(len(numbers), 1))(*numbers))

    def close(self) -> None:
        """Frees its memory; a second close() does nothing."""
        self._state.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._state.value is None:
            return "<dnnl_tp.State, closed>"
        info = self._info()
        return f"<dnnl_tp.State: {info.length} rows, room for {info.capacity}>"
