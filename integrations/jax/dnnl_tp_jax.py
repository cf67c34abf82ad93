"""dnnl_tp for jax programs on CPU: matmul, softmax and a compiled graph, on XLA's own threads.

    import dnnl_tp_jax; dnnl_tp_jax.load("libdnnl_tp_jax.so"); y = dnnl_tp_jax.matmul(x, w)

The library is made from handlers.c (../README.md has the command); works inside jax.jit. Shapes and types are checked
when a function is traced: TypeError for types, ValueError for shapes. There are no rules for vmap and for derivatives:
both raise NotImplementedError, which names the function."""
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


def _text(x):
    return f"{x.dtype}{list(x.shape)}"


def _check(name, ranks, **arrays):
    """All arrays are f32, of one of these ranks."""
    for arg, x in arrays.items():
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise TypeError(f"dnnl_tp_jax.{name}: {arg} is {type(x).__name__}, not an array")
        if x.dtype != np.float32:
            raise TypeError(f"dnnl_tp_jax.{name}: {arg} is {_text(x)}; only float32 is served")
        if x.ndim not in ranks:
            raise ValueError(f"dnnl_tp_jax.{name}: {arg} is {_text(x)}; needed are {ranks[0]}"
                             + (f" to {ranks[-1]} dimensions" if len(ranks) > 1 else " dimensions"))


def _product(name, a_name, a, b_name, b):
    if a.shape[-1] != b.shape[0]:
        raise ValueError(f"dnnl_tp_jax.{name}: {a_name} is {_text(a)} and {b_name} is {_text(b)}: "
                         f"{a.shape[-1]} columns meet {b.shape[0]} rows")


def _without_rules(name, call):
    """call, with refusals where jax would transform it."""
    batched = jax.custom_batching.custom_vmap(call)

    @batched.def_vmap
    def _(axis_size, in_batched, *args):
        raise NotImplementedError(f"dnnl_tp_jax.{name} cannot be vmapped: merge the batch into the rows, or use jax.lax.map")

    differentiable = jax.custom_jvp(lambda *args: batched(*args))

    @differentiable.defjvp
    def _(primals, tangents):
        raise NotImplementedError(f"dnnl_tp_jax.{name} has no derivative; jax.lax.stop_gradient keeps it out of one")

    return differentiable


def _call(name, shape, *args):
    return jax.ffi.ffi_call("dnnl_tp_" + name, jax.ShapeDtypeStruct(shape, np.float32))(*args)


_matmul = _without_rules("matmul", lambda x, w: _call("matmul", (x.shape[0], w.shape[1]), x, w))
_softmax = _without_rules("softmax", lambda x: _call("softmax", x.shape, x))
_mlp = _without_rules("mlp", lambda x, w1, w2: _call("mlp", (x.shape[0], w2.shape[1]), x, w1, w2))


def matmul(x, w):
    """x w, of matrices"""
    _check("matmul", (2,), x=x, w=w)
    _product("matmul", "x", x, "w", w)
    return _matmul(x, w)


def softmax(x):
    """softmax along the last dimension of 1 to 4"""
    _check("softmax", (1, 2, 3, 4), x=x)
    return _softmax(x)


def mlp(x, w1, w2):
    """softmax(gelu(x w1) w2), one compiled graph"""
    _check("mlp", (2,), x=x, w1=w1, w2=w2)
    _product("mlp", "x", x, "w1", w1)
    _product("mlp", "w1", w1, "w2", w2)
    return _mlp(x, w1, w2)
