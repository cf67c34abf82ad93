"""Small models of language as exporters write them: shapes come from Shape, Gather, Concat and Reshape, positions from Range
or from a slice of a table, masks from Expand or from a slice of a triangle."""
import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper

HEADS, EACH, WORDS, PLACES = 4, 8, 50, 64
WIDTH = HEADS * EACH


class Writer:
    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.nodes, self.inits = [], []

    def constant(self, array):
        name = f"c{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def list(self, *values):
        return self.constant(np.array(values, np.int64))

    def weight(self, *shape):
        return self.constant((self.rng.standard_normal(shape) * .1).astype(np.float32))

    def op(self, kind, *inputs, out=None, nout=1, **attributes):
        number = len(self.nodes)
        outs = [out or f"{kind}{number}"] if nout == 1 else [f"{kind}{number}_{i}" for i in range(nout)]
        self.nodes.append(h.make_node(kind, list(inputs), outs, name=f"/{kind}_{number}", **attributes))
        return outs[0] if nout == 1 else outs

    def size(self, x, dim):
        return self.op("Gather", self.op("Shape", x), self.constant(np.int64(dim)), axis=0)

    def front(self, x):
        return self.op("Unsqueeze", x, self.list(0))

    def shape(self, *sizes):
        return self.op("Concat", *[self.front(s) if isinstance(s, str) else self.list(s) for s in sizes], axis=0)

    def linear(self, x, rows, cols):
        return self.op("Add", self.op("MatMul", x, self.weight(rows, cols)), self.weight(cols))

    def norm(self, x):
        return self.op("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH))

    def heads(self, x):
        x = self.op("Reshape", x, self.shape(self.size(x, 0), self.size(x, 1), HEADS, EACH))
        return self.op("Transpose", x, perm=[0, 2, 1, 3])

    def joined(self, x, width):
        x = self.op("Transpose", x, perm=[0, 2, 1, 3])
        return self.op("Reshape", x, self.shape(self.size(x, 0), self.size(x, 1), width(x)))

    def model(self, inputs, outputs):
        infos = [h.make_tensor_value_info(*i) for i in inputs], [h.make_tensor_value_info(o, T.FLOAT, None) for o in outputs]
        graph = h.make_graph(self.nodes, "language", *infos, self.inits)
        return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9)


def bert(layers=2):
    """ids, mask {batch, tokens} -> y {batch, tokens, WIDTH}"""
    w = Writer()
    batch, tokens = w.size("ids", 0), w.size("ids", 1)
    place = w.op("Slice", w.constant(np.arange(PLACES)[None]), w.list(0), w.front(tokens), w.list(1))
    segment = w.op("Slice", w.constant(np.zeros((1, PLACES), np.int64)), w.list(0), w.front(tokens), w.list(1))
    want = w.op("Reshape", w.shape(batch, tokens), w.list(-1))
    ones = w.op("ConstantOfShape", w.op("Shape", want), value=numpy_helper.from_array(np.array([1])))
    is_free = w.op("Equal", want, w.op("Mul", ones, w.constant(np.int64(-1))))
    segment = w.op("Expand", segment, w.op("Where", is_free, ones, want))
    x = w.op("Add", w.op("Gather", w.weight(WORDS, WIDTH), "ids"), w.op("Gather", w.weight(PLACES, WIDTH), place))
    x = w.norm(w.op("Add", x, w.op("Gather", w.weight(2, WIDTH), segment)))
    mask = w.op("Unsqueeze", w.op("Unsqueeze", "mask", w.list(1)), w.list(2))
    mask = w.op("Cast", w.op("Expand", mask, w.shape(batch, 1, tokens, tokens)), to=T.FLOAT)
    mask = w.op("Mul", w.op("Sub", w.constant(np.float32(1)), mask), w.constant(np.float32(-1e4)))
    for _ in range(layers):
        q, k, v = (w.heads(w.linear(x, WIDTH, WIDTH)) for _ in range(3))
        scores = w.op("Div", w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2])), w.constant(np.float32(EACH**.5)))
        seen = w.op("MatMul", w.op("Softmax", w.op("Add", scores, mask), axis=-1), v)
        x = w.norm(w.op("Add", x, w.linear(w.joined(seen, lambda _: WIDTH), WIDTH, WIDTH)))
    w.op("Identity", x, out="y")
    return w.model([("ids", T.INT64, ["batch", "tokens"]), ("mask", T.INT64, ["batch", "tokens"])], ["y"])


def gpt(layers=2):
    """ids {batch, new}, k0, v0, .. {batch, HEADS, past, EACH} -> y {batch, new, WORDS}, and the longer k0_, v0_, .."""
    w = Writer()
    past = [f"{kind}{i}" for i in range(layers) for kind in "kv"]
    before, new = w.size("k0", 2), w.size("ids", 1)
    place = w.op("Range", before, w.op("Add", before, new), w.constant(np.int64(1)))
    place = w.op("Reshape", place, w.op("Concat", w.list(-1), w.front(new), axis=0))
    x = w.op("Add", w.op("Gather", w.weight(WORDS, WIDTH), "ids"), w.op("Gather", w.weight(PLACES, WIDTH), place))
    triangle = w.constant(np.tril(np.ones((1, 1, PLACES, PLACES), bool)))
    for i in range(layers):
        qkv = w.linear(w.norm(x), WIDTH, 3 * WIDTH)
        q, k, v = (w.heads(part) for part in w.op("Split", qkv, w.list(WIDTH, WIDTH, WIDTH), nout=3, axis=2))
        k, v = w.op("Concat", f"k{i}", k, axis=2, out=f"k{i}_"), w.op("Concat", f"v{i}", v, axis=2, out=f"v{i}_")
        root = w.op("Sqrt", w.op("Cast", w.size(v, 3), to=T.FLOAT))
        scores = w.op("Div", w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2])), root)
        keys = w.size(k, 2)
        seen = w.op("Slice", triangle, w.front(w.op("Sub", keys, w.size(q, 2))), w.front(keys), w.list(2))
        seen = w.op("Slice", seen, w.list(0), w.front(keys), w.list(3))
        scores = w.op("Softmax", w.op("Where", seen, scores, w.constant(np.float32(-1e9))), axis=-1)
        y = w.joined(w.op("MatMul", scores, v), lambda t: w.op("Mul", w.size(t, 2), w.size(t, 3)))
        x = w.op("Add", x, w.op("MatMul", y, w.weight(WIDTH, WIDTH)))
    w.op("MatMul", x, w.weight(WIDTH, WORDS), out="y")
    inputs = [("ids", T.INT64, ["batch", "new"])] + [(k, T.FLOAT, ["batch", HEADS, "past", EACH]) for k in past]
    return w.model(inputs, ["y"] + [k + "_" for k in past])
