"""Types of elements by their names in onnxruntime."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dnnl_tp.ort._session import InferenceSession
from dnnl_tp.ort._values import numpy_type, type_names

_torch_names = {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn",
                "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz"}


class TypeHelper:
    @staticmethod
    def get_input_type(ort_session: InferenceSession, name: str) -> str:
        return next(i.type for i in ort_session.get_inputs() if i.name == name)

    @staticmethod
    def get_output_type(ort_session: InferenceSession, name: str) -> str:
        return next(o.type for o in ort_session.get_outputs() if o.name == name)

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str) -> int:
        for number, name in type_names.items():
            if ort_type == f"tensor({name})":
                return number
        raise ValueError(f"{ort_type} not found in map")

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        dtype = np.dtype(numpy_type(TypeHelper.ort_type_to_onnx_type(ort_type)))
        return bool if dtype == np.bool_ else dtype.type

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        name = type_names[TypeHelper.ort_type_to_onnx_type(ort_type)]
        return getattr(importlib.import_module("torch"), _torch_names.get(name, name))
