"""Runs of models whose results have sizes that their elements decide (NonZero, NonMaxSuppression, ...)."""
from __future__ import annotations

import ctypes as c
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from . import _native

_Room = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_int, c.POINTER(_native.TensorInfo))
_run = _native.lib.dnnl_tp_onnx_session_run
_run.argtypes = [c.c_void_p, c.c_int, c.POINTER(_native.Arg), _Room, c.c_void_p, c.POINTER(_native.RunOpts)]
_run.restype = c.c_int


def run(session: Any, inputs: Sequence[Any], outputs: Sequence[Any], types: Mapping[int, Any], feeds: Mapping[str, Any],
        deadline: int, token: int, state: Any = None) -> List[Any]:
    """All outputs in their order, in the types that the library carries, which `types` has by their numbers. feeds: dense
    arrays of these types. state: None, or a State, whose outputs are None."""
    numbers = {dtype: number for number, dtype in types.items()}
    infos, args = (_native.TensorInfo * len(inputs))(), (_native.Arg * len(inputs))()
    for port, info, arg in zip(inputs, infos, args):
        array = feeds.get(port.name)
        if array is None:
            continue
        info.ndims, info.data_type = array.ndim, numbers[array.dtype]
        info.dims[: array.ndim] = array.shape
        arg.info, arg.data = c.pointer(info), array.ctypes.data
    made: List[Any] = [None] * len(outputs)
    failure: Dict[int, BaseException] = {}

    def room(_: Any, index: int, info: Any) -> Optional[int]:
        t = info.contents
        try:
            made[index] = np.empty(tuple(t.dims[: t.ndims]), types[t.data_type])
        except BaseException as e:  # no exception may pass through the library
            failure[index] = e
            return None
        return int(made[index].ctypes.data)

    opts = _native.RunOpts(struct_size=c.sizeof(_native.RunOpts), deadline_ns=deadline, cancel=token or None)
    function, handle = (_run, session) if state is None else state._door()
    status = function(handle, len(inputs), args, _Room(room), None, c.byref(opts))
    for e in failure.values():
        raise e
    if status:
        _native.fail(status)
    return made
