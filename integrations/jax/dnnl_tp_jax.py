"""dnnl_tp for jax programs on CPU: matmul, softmax and a compiled graph, on XLA's own threads.

    import dnnl_tp_jax; dnnl_tp_jax.load("libdnnl_tp_jax.so"); y = dnnl_tp_jax.matmul(x, w)

The library is made from handlers.c (../README.md has the command); works inside jax.jit."""
import ctypes

import jax
import numpy as np


def load(path):
    """Loads the handlers and registers them with XLA. Returns the ctypes library."""
    library = ctypes.CDLL(path)
    for name in ("matmul", "softmax", "mlp"):
        handler = getattr(library, "dnnl_tp_jax_" + name)
        jax.ffi.register_ffi_target("dnnl_tp_" + name, jax.ffi.pycapsule(handler), platform="cpu")
    return library


def _f32(shape):
    return jax.ShapeDtypeStruct(shape, np.float32)


def matmul(x, w):
    return jax.ffi.ffi_call("dnnl_tp_matmul", _f32((x.shape[0], w.shape[1])))(x, w)


def softmax(x):
    return jax.ffi.ffi_call("dnnl_tp_softmax", _f32(x.shape))(x)


def mlp(x, w1, w2):
    """softmax(gelu(x w1) w2), one compiled graph"""
    return jax.ffi.ffi_call("dnnl_tp_mlp", _f32((x.shape[0], w2.shape[1])))(x, w1, w2)
