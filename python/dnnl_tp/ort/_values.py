"""Values of the program's memory, and inputs and outputs that are bound to them."""
from __future__ import annotations

import ctypes as c
import math
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .._native import InvalidArgument, Unimplemented

if TYPE_CHECKING:
    from ._session import InferenceSession

_BAD, _UNIMPLEMENTED = 2, 3
# Names of element types by their numbers in ONNX files.
type_names = {1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
              10: "float16", 11: "double", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
              16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz",
              21: "uint4", 22: "int4", 23: "float4e2m1"}
_numpy_names = {"float": "float32", "double": "float64"}
_numbers = {_numpy_names.get(name, name): number for number, name in type_names.items()}


def type_name(dtype: Any) -> str:
    """'tensor(float)' of numpy.float32."""
    number = _numbers.get(np.dtype(dtype).name)
    return f"tensor({type_names[number] if number else np.dtype(dtype).name})"


def numpy_type(element_type: Any) -> Any:
    """numpy's type, given as such or by its number in ONNX files."""
    if isinstance(element_type, int):
        name = type_names.get(element_type, "?")
        return np.dtype(_numpy_names.get(name, name))
    return np.dtype(element_type)


def check_device(device_type: str) -> None:
    if device_type.lower() not in ("cpu", "cuda_pinned"):
        raise Unimplemented(f"memory of the device '{device_type}': models run on the CPU here", _UNIMPLEMENTED)


def _at(address: int, shape: Sequence[int], dtype: Any) -> Any:
    """An array in the program's memory."""
    shape = tuple(shape)
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    if not address:
        raise InvalidArgument("the address of a buffer is 0", _BAD)
    return np.frombuffer((c.c_char * (count * dtype.itemsize)).from_address(address), dtype).reshape(shape)


class OrtDevice:
    """A kind of memory: always that of the CPU."""

    def __init__(self, name: str = "cpu", number: int = 0) -> None:
        check_device(name)
        self._number = number

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        return OrtDevice(ort_device_name, device_id)

    def device_id(self) -> int:
        return self._number

    def device_type(self) -> int:
        return 0


class OrtValue:
    """An array that sessions read and write where it is."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Any, device_type: str = "cpu", device_id: int = 0,
                            vendor_id: int = -1) -> OrtValue:
        """The array itself, without a copy, if it is dense."""
        check_device(device_type)
        if not isinstance(numpy_obj, np.ndarray):
            raise TypeError(f"what is given is a {type(numpy_obj).__name__}, not an array of numpy")
        return cls(np.ascontiguousarray(numpy_obj).reshape(numpy_obj.shape))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape: Sequence[int], element_type: Any = np.float32, device_type: str = "cpu",
                                     device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """Room for elements, which are not initialized."""
        check_device(device_type)
        return cls(np.empty(tuple(shape), numpy_type(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any) -> OrtValue:
        return cls(np.from_dlpack(data))

    def numpy(self) -> Any:
        return self._array

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        return self._array if dtype is None and not copy else np.array(self._array, dtype)

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> List[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return type_name(self._array.dtype)

    def element_type(self) -> int:
        return _numbers[self._array.dtype.name]

    def tensor_size_in_bytes(self) -> int:
        return int(self._array.nbytes)

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def update_inplace(self, data: Any) -> None:
        """Copies elements of the same type and shape into the value."""
        array = data._array if isinstance(data, OrtValue) else data
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise ValueError(f"an array of {array.dtype} {array.shape} for a value of {self._array.dtype} "
                             f"{self._array.shape}")
        np.copyto(self._array, array)

    def __repr__(self) -> str:
        return f"<OrtValue {self.data_type()} {self.shape()}>"


class IOBinding:
    """Arrays for the inputs and outputs of a session: run_with_iobinding() reads and writes them where they are."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: Dict[str, Any] = {}
        self._outputs: Dict[str, Any] = {}  # None: made by each run
        self._results: List[OrtValue] = []

    def _check(self, name: str, names: Any) -> None:
        if name not in names:
            raise InvalidArgument(f"Failed to find NodeArg with name: {name}; the model has {sorted(names)}", _BAD)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._check(name, self._session._input_types)
        self._inputs[name] = np.asarray(arr_on_cpu)

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """An input at an address, which the program keeps."""
        check_device(device_type)
        self._check(name, self._session._input_types)
        self._inputs[name] = _at(buffer_ptr, shape, numpy_type(element_type))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._check(name, self._session._input_types)
        self._inputs[name] = ortvalue._array

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Optional[Sequence[int]] = None, buffer_ptr: Optional[int] = None) -> None:
        """An output at an address, which the program keeps; without one, each run makes an array."""
        check_device(device_type)
        self._check(name, self._session._output_numbers)
        if buffer_ptr is None:
            self._outputs[name] = None
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._outputs[name] = _at(buffer_ptr, shape, numpy_type(element_type))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._check(name, self._session._output_numbers)
        self._outputs[name] = ortvalue._array

    def synchronize_inputs(self) -> None:
        """Without effect: all memory is the CPU's."""

    def synchronize_outputs(self) -> None:
        """Without effect: all memory is the CPU's."""

    def get_outputs(self) -> List[OrtValue]:
        """Results of the last run, in the order in which outputs were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> List[Any]:
        return [value.numpy() for value in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results.clear()
