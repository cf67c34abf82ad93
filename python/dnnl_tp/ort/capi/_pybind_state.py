"""Another name of the same."""
from dnnl_tp.ort.capi.onnxruntime_pybind11_state import *
