"""States: what a model hands from run to run, such as the keys and values of a decoder."""
from __future__ import annotations

import ctypes as c
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Tuple

from . import _native, _parts

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


_handle = c.c_void_p
for _name, _types in {
        "create": [c.POINTER(c.c_void_p), _handle, c.POINTER(_Opts)],
        "truncate": [_handle, c.c_int64],
        "reorder": [_handle, c.c_int, c.POINTER(c.c_int64)],
        "query": [_handle, c.POINTER(_Info)],
        "destroy": [_handle],
        "run": _parts._run.argtypes}.items():
    _function = getattr(_native.lib, "dnnl_tp_onnx_state_" + _name)
    _function.argtypes, _function.restype = _types, c.c_int


class State:
    """What a sequence of runs has behind it; made by Session.state().

    Session.run(..., state=state) runs the model on new rows behind those that the state has, and appends what they give.
    One run at a time; runs of several states of one session may be in progress side by side.
    """

    def __init__(self, session: Session, capacity: int, pairs: Optional[Mapping[str, str]], by_joins: bool) -> None:
        items = list((pairs or {}).items())
        array = (_Pair * max(len(items), 1))()
        for pair, (past, present) in zip(array, items):
            pair.past, pair.present = past.encode(), present.encode()
        opts = _Opts(c.sizeof(_Opts), capacity, len(items), array if items else None, by_joins)
        self._session = session
        with session._open():
            self._state = _native.Handle("onnx_state_create", "onnx_state_destroy", session._address, c.byref(opts))

    def _door(self) -> Tuple[Any, Optional[int]]:
        return _native.lib.dnnl_tp_onnx_state_run, self._state.value

    def _check(self, session: Session, inputs: Mapping[str, Any], outputs: Any, out: Any) -> None:
        if session is not self._session:
            raise ValueError("the state belongs to another session")
        if self._state.value is None:
            raise ValueError("the state is closed")
        session._order(outputs or ())

    @staticmethod
    def _select(taken: Dict[str, Any], outputs: Iterable[str]) -> Dict[str, Any]:
        for name in outputs:
            if name not in taken:
                raise ValueError(f"the state gets output '{name}'")
        return {name: taken[name] for name in outputs}

    def _info(self) -> _Info:
        info = _Info(c.sizeof(_Info))
        _native.call("onnx_state_query", self._state.value, c.byref(info))
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
        """Forgets all rows but the first `length`."""
        _native.call("onnx_state_truncate", self._state.value, length)

    def reorder(self, sequences: Iterable[int]) -> None:
        """Each sequence of the new batch continues the one of the old batch that is named, as beam search does."""
        numbers = list(sequences)
        _native.call("onnx_state_reorder", self._state.value, len(numbers), (c.c_int64 * max(len(numbers), 1))(*numbers))

    def close(self) -> None:
        """Frees its memory."""
        self._state.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        info = self._info()
        return f"<dnnl_tp.State: {info.length} rows, room for {info.capacity}>"
