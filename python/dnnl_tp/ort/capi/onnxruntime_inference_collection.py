"""Another place of the same."""
from dnnl_tp.ort._session import InferenceSession
from dnnl_tp.ort._values import IOBinding, OrtDevice, OrtValue

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue"]
