"""Models with open sizes and seeded weights, in the operators that the usual exporters write: the encoder of a T5 (34 MB), a
reader of text lines (CRNN: convolutions, two LSTMs of both directions; 52 MB) and a detector of text (convolutions of stride 2,
resized maps that are joined; 4.6 MB)."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper


class Writer:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value), name))
        return name

    def weight(self, *shape, fan=None):
        scale = 1 / np.sqrt(fan or np.prod(shape[1:]))
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, **attributes):
        out = [f"value_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), out, name=f"{kind}_{len(self.nodes)}", **attributes))
        return out[0] if outputs == 1 else out

    def size(self, x, axis):
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), self.constant(np.int64(axis)), axis=0),
                       self.constant(np.array([0])))

    def shape(self, *sizes):
        return self.op("Concat", *(s if isinstance(s, str) else self.constant(np.array([s])) for s in sizes), axis=0)

    def model(self, inputs, result, name):
        self.nodes.append(helper.make_node("Identity", [result], ["result"]))
        graph = helper.make_graph(self.nodes, name, inputs, [helper.make_tensor_value_info("result", T.FLOAT, None)],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def t5_encoder(seed=1, vocabulary=21000, hidden=256, heads=4, inner=1024, layers=4, buckets=32, farthest=128):
    w = Writer(seed)

    def norm(x):
        mean = w.op("ReduceMean", w.op("Pow", x, w.constant(np.float32(2))), axes=[-1], keepdims=1)
        root = w.op("Sqrt", w.op("Add", mean, w.constant(np.float32(1e-6))))
        return w.op("Mul", w.constant(w.rng.uniform(.5, 1.5, hidden).astype(np.float32)), w.op("Div", x, root))

    def position_bias():
        """Distances of positions to buckets, exact up to a half of these, by logarithms beyond."""
        length = w.op("Gather", w.op("Shape", "ids"), w.constant(np.int64(1)), axis=0)
        at = w.op("Range", w.constant(np.int64(0)), length, w.constant(np.int64(1)))
        apart = w.op("Sub", w.op("Unsqueeze", at, w.constant(np.array([0]))), w.op("Unsqueeze", at, w.constant(np.array([1]))))
        half = buckets // 2
        side = w.op("Mul", w.op("Cast", w.op("Greater", apart, w.constant(np.int64(0))), to=T.INT64), w.constant(np.int64(half)))
        apart = w.op("Abs", apart)
        exact = half // 2
        ratio = w.op("Div", w.op("Cast", apart, to=T.FLOAT), w.constant(np.float32(exact)))
        logs = w.op("Div", w.op("Log", ratio), w.constant(np.float32(np.log(farthest / exact))))
        scaled = w.op("Mul", logs, w.constant(np.float32(half - exact)))
        far = w.op("Add", w.op("Cast", w.op("Max", scaled, w.constant(np.float32(0))), to=T.INT64), w.constant(np.int64(exact)))
        far = w.op("Min", far, w.constant(np.int64(half - 1)))
        near = w.op("Less", apart, w.constant(np.int64(exact)))
        bucket = w.op("Add", side, w.op("Where", near, apart, far))
        bias = w.op("Gather", w.weight(buckets, heads, fan=4), bucket, axis=0)
        return w.op("Unsqueeze", w.op("Transpose", bias, perm=[2, 0, 1]), w.constant(np.array([0])))

    x = w.op("Gather", w.weight(vocabulary, hidden, fan=1), "ids", axis=0)
    wide = w.op("Unsqueeze", w.op("Unsqueeze", "mask", w.constant(np.array([1]))), w.constant(np.array([1])))
    mask = w.op("Mul", w.op("Sub", w.constant(np.float32(1)), w.op("Cast", wide, to=T.FLOAT)), w.constant(np.float32(-1e9)))
    bias = w.op("Add", position_bias(), mask)
    for _ in range(layers):
        y = norm(x)
        split = w.shape(w.size(y, 0), -1, heads, hidden // heads)
        q, k, v = (w.op("Transpose", w.op("Reshape", w.op("MatMul", y, w.weight(hidden, hidden)), split), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = w.op("Softmax", w.op("Add", w.op("MatMul", q, k), bias), axis=-1)
        y = w.op("Transpose", w.op("MatMul", scores, v), perm=[0, 2, 1, 3])
        y = w.op("Reshape", y, w.shape(w.size(x, 0), -1, hidden))
        x = w.op("Add", x, w.op("MatMul", y, w.weight(hidden, hidden)))
        y = w.op("Relu", w.op("MatMul", norm(x), w.weight(hidden, inner)))
        x = w.op("Add", x, w.op("MatMul", y, w.weight(inner, hidden)))
    inputs = [helper.make_tensor_value_info(n, T.INT64, ["batch", "tokens"]) for n in ("ids", "mask")]
    return w.model(inputs, norm(x), "t5_encoder")


def _conv(w, x, channels, kernel=3, stride=1, act="Relu", group=1):
    before = x[1] // group
    y = w.op("Conv", x[0], w.weight(channels, before, kernel, kernel), w.weight(channels, fan=100),
             kernel_shape=[kernel] * 2, strides=[stride] * 2 if isinstance(stride, int) else stride, pads=[kernel // 2] * 4,
             group=group)
    return (w.op(act, y) if act else y), channels


def _resized(w, x, like, channels):
    sizes = w.op("Concat", w.constant(np.array([1, channels])),
                 w.op("Slice", w.op("Shape", like), w.constant(np.array([2])), w.constant(np.array([4]))), axis=0)
    return w.op("Resize", x, "", "", sizes, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def crnn(seed=1, letters=5000):
    w = Writer(seed)
    x = _conv(w, ("x", 1), 64)
    for channels, deep, pool in ((128, 1, [2, 2]), (256, 2, [2, 2]), (512, 2, [2, 1]), (512, 1, [2, 1])):
        x = w.op("MaxPool", x[0], kernel_shape=pool, strides=pool), x[1]
        for _ in range(deep):
            x = _conv(w, x, channels)
    x = w.op("ReduceMean", x[0], axes=[2], keepdims=0)  # {N, C, W}
    x = w.op("Transpose", x, perm=[2, 0, 1])
    hidden, size = 256, 512
    for _ in range(2):
        y = w.op("LSTM", x, w.weight(2, 4 * hidden, size, fan=size), w.weight(2, 4 * hidden, hidden, fan=hidden),
                 w.weight(2, 8 * hidden, fan=100), direction="bidirectional", hidden_size=hidden, outputs=3)[0]
        y = w.op("Transpose", y, perm=[0, 2, 1, 3])
        x = w.op("Reshape", y, w.constant(np.array([0, 0, -1])))
    flat = w.op("Reshape", x, w.constant(np.array([-1, 2 * hidden])))
    y = w.op("Gemm", flat, w.weight(letters, 2 * hidden), w.weight(letters, fan=100), transB=1)
    y = w.op("Reshape", y, w.shape(w.size(x, 0), -1, letters))
    return w.model([helper.make_tensor_value_info("x", T.FLOAT, ["batch", 1, 32, "width"])], w.op("Softmax", y, axis=2), "crnn")


def detector(seed=1):
    w = Writer(seed)
    x = _conv(w, ("x", 3), 16, stride=2, act="HardSwish")
    maps = []
    for channels, deep in ((24, 2), (48, 2), (96, 3), (192, 2)):
        for i in range(deep):
            y = _conv(w, x, 3 * x[1], kernel=1, act="HardSwish")
            y = _conv(w, y, y[1], kernel=3 if channels < 96 else 5, stride=1 if i else 2, act="HardSwish", group=y[1])
            gate = _conv(w, (w.op("GlobalAveragePool", y[0]), y[1]), y[1] // 4, kernel=1)
            gate = _conv(w, gate, y[1], kernel=1, act="HardSigmoid")
            y = _conv(w, (w.op("Mul", y[0], gate[0]), y[1]), channels, kernel=1, act=None)
            x = (w.op("Add", x[0], y[0]), channels) if i else y
        maps.append(x)
    wide = 96
    flat = [_conv(w, m, wide, kernel=1, act=None)[0] for m in maps]

    for i in (2, 1, 0):
        flat[i] = w.op("Add", flat[i], _resized(w, flat[i + 1], flat[i], wide))
    joined = [_conv(w, (y, wide), wide // 4, act=None)[0] for y in flat]
    joined = w.op("Concat", *(_resized(w, y, joined[0], wide // 4) for y in joined), axis=1)
    y, channels = _conv(w, (joined, wide), 24)
    for out, act in ((24, "Relu"), (1, "Sigmoid")):
        y = w.op(act, w.op("ConvTranspose", y, w.weight(channels, out, 2, 2, fan=channels), w.weight(out, fan=100),
                           kernel_shape=[2, 2], strides=[2, 2]))
        channels = out
    return w.model([helper.make_tensor_value_info("x", T.FLOAT, [1, 3, "height", "width"])], y, "detector")
