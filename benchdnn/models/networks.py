"""The networks that are compared: files and inputs by name. The nine of PyPI's onnx have seeded weights (tests/onnx/seeded.py),
the real models lie in the folder that DNNL_TP_TEST_MODELS names, minilm comes from the model folder of the sentence encoder."""
import os
import sys

import numpy as np
import onnx

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path[:0] = [here, os.path.join(root, "tests", "onnx")]
from export_onnx import Builder  # noqa: E402
from real_models import MODELS  # noqa: E402
from seeded import NAMES, load  # noqa: E402

TOKENS = 32


def minilm(work):
    path = os.path.join(work, "minilm.onnx")
    if not os.path.exists(path):
        onnx.save(Builder(os.path.join(root, "models", "all-MiniLM-L6-v2")).build(), path)
    ids = np.random.default_rng(1).integers(1000, 20000, (1, TOKENS)).astype(np.int64)
    return path, {"ids": ids, "mask": np.ones_like(ids)}


def prepare(name, work):
    """The path of a model and one set of inputs; None: it is not there."""
    if name == "minilm":
        return minilm(work)
    if name in NAMES:
        path = os.path.join(work, name + ".onnx")
        model, _, x = load(name)
        if not os.path.exists(path):
            onnx.save(model, path)
        return path, {model.graph.input[0].name: x}
    path = os.path.join(os.environ.get("DNNL_TP_TEST_MODELS", ""), name + ".onnx")
    return (path, MODELS[name][0]) if os.path.exists(path) else None


def varied(feed, count, seed=2):
    """So many sets of inputs: floating-point ones differ, integers (sizes, rates, ids of one length) keep their range."""
    rng = np.random.default_rng(seed)
    return [{n: (a * rng.uniform(.5, 1.5, a.shape)).astype(a.dtype) if a.dtype.kind == "f" else
             rng.permutation(a.ravel()).reshape(a.shape) if a.ndim else a for n, a in feed.items()} for _ in range(count)]
