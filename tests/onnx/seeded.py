"""The nine convolutional networks of PyPI's onnx with seeded weights. Their own weights are all equal, so that any order of
channels gives the same result."""
import os

import numpy as np
import onnx
import onnx.backend.test
from onnx import helper, numpy_helper

NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512"]


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def seeded(model, rng):
    """Weights that keep the scale of what flows, statistics near those of a trained network; no Softmax at the end."""
    graph = model.graph
    role = {}
    for node in graph.node:
        for k, name in enumerate(node.input):
            role.setdefault(name, (node.op_type, k))
    known = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    for node in list(graph.node):
        if node.op_type == "ConstantOfShape":
            known[node.output[0]] = np.zeros(known[node.input[0]], np.float32)
            graph.node.remove(node)
    for name, array in known.items():
        if array.dtype != np.float32:
            continue
        op, k = role.get(name, ("", 0))
        shape = array.shape
        if op == "BatchNormalization" and k in (1, 4):
            value = rng.uniform(.7, 1.3, shape)
        elif op in ("Unsqueeze", "Mul"):  # scales of channels, and in part their shifts
            value = rng.uniform(.7, 1.3, shape)
        elif array.ndim >= 2:
            value = rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        else:
            value = rng.standard_normal(shape) * .1
        known[name] = value.astype(np.float32)
    if graph.node[-1].op_type == "Softmax":
        last = graph.node[-1]
        graph.output[0].name = last.input[0]
        graph.node.remove(last)
    del graph.output[0].type.tensor_type.shape.dim[:]
    for k, n in enumerate((1, 1000)):
        graph.output[0].type.tensor_type.shape.dim.add().dim_value = n
    if graph.node[-1].op_type in ("Conv", "GlobalAveragePool"):
        for k in range(2):
            graph.output[0].type.tensor_type.shape.dim.add().dim_value = 1
    used = {name for node in graph.node for name in node.input}
    feeds = [i for i in graph.input if i.name not in known and i.name in used]
    del graph.input[:], graph.initializer[:]
    graph.input.extend(feeds)
    graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in known.items() if n in used)
    assert len(feeds) == 1
    return known


def free_batch(model):
    """Reshapes keep the size of the first dimension, whatever it is."""
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for known in model.graph.initializer:
        shape = numpy_helper.to_array(known).copy()
        if known.name in shapes and shape[0] == 1:  # that is the batch
            shape[0] = 0
            known.CopyFrom(numpy_helper.from_array(shape, known.name))


def load(name, seed=1):
    """The model, its weights and constants by name, and an input."""
    folder = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data", "light")
    model = onnx.load(os.path.join(folder, f"light_{name}.onnx"))
    rng = np.random.default_rng(seed)
    known = seeded(model, rng)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    return model, known, rng.standard_normal(shape).astype(np.float32)
