"""Small transformers and a network of convolutions as exporters write them, then as ONNX Runtime's optimisers save them, at each
of their levels and by onnxruntime.transformers; results of the models as they were:
  optimized.py NODES OPEN REFUSED WORK_FOLDER"""
import os
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import helper as h
    from onnxruntime.transformers import optimizer
    from ort_folders import Folders, f32, i32, i64, model_of, session
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

nodes_program, open_program, refused, work = sys.argv[1:5]
folders = Folders(work)
rng = np.random.default_rng(4)
HEADS, SIZE, FEED, WORDS, PLACES, LAYERS = 3, 8, 40, 50, 30, 2
WIDTH = HEADS * SIZE


class Writer:
    """Nodes with names, one result each."""

    def __init__(self):
        self.nodes, self.inits, self.count = [], {}, 0

    def op(self, kind, *ins, out=None, outs=1, **attributes):
        """ins: names, or arrays, which become constants."""
        self.count += 1
        names = [k if isinstance(k, str) else self.held(k) for k in ins]
        results = [out or f"{kind}_{self.count}"] if outs == 1 else [f"{kind}_{self.count}_{i}" for i in range(outs)]
        self.nodes.append(h.make_node(kind, names, results, name=f"n{self.count}", **attributes))
        return results[0] if outs == 1 else results

    def held(self, array):
        array = np.asarray(array)
        name = f"c{len(self.inits)}"
        self.inits[name] = array
        return name

    def weights(self, *shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[0] if len(shape) > 1 else 4)).astype(f32)

    def linear(self, x, rows, cols):
        return self.op("Add", self.op("MatMul", x, self.weights(rows, cols)), self.weights(cols))

    def layer_norm(self, x, **names):
        """As PyTorch wrote it before operator set 17."""
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        v = self.op("ReduceMean", self.op("Pow", d, np.array(2, f32)), axes=[-1])
        y = self.op("Div", d, self.op("Sqrt", self.op("Add", v, np.array(1e-5, f32))))
        return self.op("Add", self.op("Mul", y, 1 + self.weights(WIDTH)), self.weights(WIDTH), **names)

    def rms_norm(self, x, **names):
        v = self.op("ReduceMean", self.op("Pow", x, np.array(2, f32)), axes=[-1])
        y = self.op("Mul", x, self.op("Div", np.array(1, f32), self.op("Sqrt", self.op("Add", v, np.array(1e-5, f32)))))
        return self.op("Mul", 1 + self.weights(WIDTH), y, **names)

    def gelu(self, x):
        y = self.op("Add", self.op("Erf", self.op("Div", x, np.array(2 ** .5, f32))), np.array(1, f32))
        return self.op("Mul", self.op("Mul", x, y), np.array(.5, f32))

    def tanh_gelu(self, x):
        y = self.op("Mul", self.op("Pow", x, np.array(3, f32)), np.array(.044715, f32))
        y = self.op("Tanh", self.op("Mul", self.op("Add", x, y), np.array((2 / np.pi) ** .5, f32)))
        return self.op("Mul", self.op("Mul", x, np.array(.5, f32)), self.op("Add", y, np.array(1, f32)))

    def heads(self, x, heads=HEADS, perm=(0, 2, 1, 3)):
        return self.op("Transpose", self.op("Reshape", x, np.array([0, 0, heads, SIZE])), perm=list(perm))

    def joined(self, x):
        return self.op("Reshape", self.op("Transpose", x, perm=[0, 2, 1, 3]), np.array([0, 0, WIDTH]))


def bert():
    w = Writer()
    m = w.op("Unsqueeze", w.op("Unsqueeze", "mask", np.array([1])), np.array([2]))
    m = w.op("Mul", w.op("Sub", np.array(1, f32), w.op("Cast", m, to=1)), np.array(-10000, f32))
    size = w.op("Shape", "ids")
    rows = w.op("Unsqueeze", w.op("Gather", size, np.array(1), axis=0), np.array([0]))
    places = w.op("Slice", np.arange(PLACES)[None], np.array([0]), rows, np.array([1]))
    x = w.op("Add", w.op("Gather", w.weights(WORDS, WIDTH), "ids"), w.op("Gather", w.weights(2, WIDTH), "kinds"))
    x = w.layer_norm(w.op("Add", x, w.op("Gather", w.weights(PLACES, WIDTH), places)))
    for layer in range(LAYERS):
        q, k, v = (w.heads(w.linear(x, WIDTH, WIDTH), perm=p) for p in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        s = w.op("Add", w.op("Div", w.op("MatMul", q, k), np.array(SIZE ** .5, f32)), m)
        y = w.linear(w.joined(w.op("MatMul", w.op("Softmax", s, axis=3), v)), WIDTH, WIDTH)
        x = w.layer_norm(w.op("Add", y, x))
        y = w.linear(w.gelu(w.linear(x, WIDTH, FEED)), FEED, WIDTH)
        x = w.layer_norm(w.op("Add", y, x), **({"out": "y"} if layer == LAYERS - 1 else {}))

    def feed(b, s):
        mask = (np.arange(s) < rng.integers(1, s + 1, (b, 1))).astype(i64)  # transformers' optimiser asks for lengths
        return {"ids": rng.integers(0, WORDS, (b, s)), "mask": mask, "kinds": rng.integers(0, 2, (b, s))}

    return w, [feed(2, 7), feed(3, 5)], ["y"], 13


def gpt2():
    """With past keys and values in one tensor for each layer."""
    w = Writer()
    outs = ["y"]
    past = w.op("Gather", w.op("Shape", "past0"), np.array(3), axis=0)
    rows = w.op("Gather", w.op("Shape", "ids"), np.array(1), axis=0)
    end = w.op("Add", past, rows)
    at = w.op("Unsqueeze", w.op("Range", past, end, np.array(1)), np.array([0]))
    x = w.op("Add", w.op("Gather", w.weights(WORDS, WIDTH), "ids"), w.op("Gather", w.weights(PLACES, WIDTH), at))
    begin, end = (w.op("Unsqueeze", k, np.array([0])) for k in (past, end))
    seen = w.op("Slice", np.tril(np.ones((PLACES, PLACES), bool))[None, None], begin, end, np.array([2]))
    seen = w.op("Slice", seen, np.array([0]), end, np.array([3]))
    for layer in range(LAYERS):
        q, k, v = w.op("Split", w.linear(w.layer_norm(x), WIDTH, 3 * WIDTH), np.array([WIDTH] * 3), outs=3, axis=2)
        q, k, v = (w.heads(t) for t in (q, k, v))
        old = w.op("Split", f"past{layer}", np.array([1, 1]), outs=2, axis=0)
        k, v = (w.op("Concat", w.op("Squeeze", o, np.array([0])), t, axis=2) for o, t in zip(old, (k, v)))
        w.op("Concat", *(w.op("Unsqueeze", t, np.array([0])) for t in (k, v)), axis=0, out=f"present{layer}")
        outs.append(f"present{layer}")
        s = w.op("Div", w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2])), np.array(SIZE ** .5, f32))
        s = w.op("Softmax", w.op("Where", seen, s, np.array(-10000, f32)), axis=3)
        x = w.op("Add", x, w.linear(w.joined(w.op("MatMul", s, v)), WIDTH, WIDTH))
        x = w.op("Add", x, w.linear(w.tanh_gelu(w.linear(w.layer_norm(x), WIDTH, FEED)), FEED, WIDTH))
    w.layer_norm(x, out="y")

    def feed(b, s, p):
        return {"ids": rng.integers(0, WORDS, (b, s)), **{
            f"past{k}": rng.standard_normal((2, b, HEADS, p, SIZE)).astype(f32) for k in range(LAYERS)}}

    return w, [feed(2, 5, 3), feed(3, 1, 9)], outs, 13


def llama():
    """Rotated halves, one head of keys for three of queries, swish(a) b."""
    w = Writer()
    outs = ["y"]
    cos, sin = (f(np.arange(PLACES)[:, None] / 30 ** (np.arange(SIZE) % (SIZE // 2) * 2 / SIZE)).astype(f32) for f in (np.cos, np.sin))
    c, s = (w.op("Unsqueeze", w.op("Gather", t, "at"), np.array([1])) for t in (cos, sin))

    def turned(x):
        a, b = w.op("Split", x, np.array([SIZE // 2] * 2), outs=2, axis=3)
        return w.op("Add", w.op("Mul", x, c), w.op("Mul", w.op("Concat", w.op("Neg", b), a, axis=3), s))

    x = w.op("Gather", w.weights(WORDS, WIDTH), "ids")
    for layer in range(LAYERS):
        y = w.rms_norm(x)
        q = turned(w.heads(w.op("MatMul", y, w.weights(WIDTH, WIDTH))))
        k = turned(w.heads(w.op("MatMul", y, w.weights(WIDTH, SIZE)), 1))
        v = w.heads(w.op("MatMul", y, w.weights(WIDTH, SIZE)), 1)
        k = w.op("Concat", f"k{layer}", k, axis=2, out=f"nk{layer}")
        v = w.op("Concat", f"v{layer}", v, axis=2, out=f"nv{layer}")
        outs += [f"nk{layer}", f"nv{layer}"]
        p = w.op("Mul", w.op("MatMul", q, w.op("Transpose", k, perm=[0, 1, 3, 2])), np.array(SIZE ** -.5, f32))
        p = w.op("Softmax", w.op("Add", p, "mask"), axis=-1)
        x = w.op("Add", x, w.op("MatMul", w.joined(w.op("MatMul", p, v)), w.weights(WIDTH, WIDTH)))
        y = w.rms_norm(x)
        gate = w.op("MatMul", y, w.weights(WIDTH, FEED))
        gate = w.op("Mul", gate, w.op("Sigmoid", gate))
        y = w.op("Mul", gate, w.op("MatMul", y, w.weights(WIDTH, FEED)))
        x = w.op("Add", x, w.op("MatMul", y, w.weights(FEED, WIDTH)))
    w.rms_norm(x, out="y")

    def feed(b, s, p):
        fed = {"ids": rng.integers(0, WORDS, (b, s)), "at": rng.integers(0, PLACES, (b, s)),
               "mask": np.where(rng.random((b, 1, s, s + p)) < .3, -1e4, 0).astype(f32)}
        fed["mask"][..., 0] = 0
        for k in range(LAYERS):
            fed |= {f"{t}{k}": rng.standard_normal((b, 1, p, SIZE)).astype(f32) for t in "kv"}
        return fed

    return w, [feed(2, 5, 3), feed(3, 1, 6)], outs, 17


def t5():
    """Scores with a bias of positions, norms without a mean, an encoder and keys of it for a decoder's queries."""
    w = Writer()
    x, bias = w.op("Gather", w.weights(WORDS, WIDTH), "ids"), w.weights(1, HEADS, 9, 9)
    rows = w.op("Unsqueeze", w.op("Gather", w.op("Shape", "ids"), np.array(1), axis=0), np.array([0]))
    bias = w.op("Slice", bias, np.array([0, 0]), w.op("Concat", rows, rows, axis=0), np.array([2, 3]))
    m = w.op("Mul", w.op("Sub", np.array(1, f32), w.op("Cast", w.op("Unsqueeze", "mask", np.array([1, 2])), to=1)), np.array(-1e4, f32))
    for part, source in (("enc", None), ("dec", "e")):
        for layer in range(LAYERS):
            y = w.rms_norm(x)
            of = y if not source else source
            q, k, v = (w.heads(w.op("MatMul", t, w.weights(WIDTH, WIDTH)), perm=p)
                       for t, p in ((y, (0, 2, 1, 3)), (of, (0, 2, 3, 1)), (of, (0, 2, 1, 3))))
            s = w.op("MatMul", q, k)
            s = w.op("Softmax", w.op("Add", s, m if source else w.op("Add", bias, m)), axis=-1)
            x = w.op("Add", x, w.op("MatMul", w.joined(w.op("MatMul", s, v)), w.weights(WIDTH, WIDTH)))
            y = w.op("MatMul", w.op("Relu", w.op("MatMul", w.rms_norm(x), w.weights(WIDTH, FEED))), w.weights(FEED, WIDTH))
            x = w.op("Add", x, y)
        if part == "enc":
            w.rms_norm(x, out="e")
            x = w.op("Gather", w.weights(WORDS, WIDTH), "next")
    w.op("MatMul", w.rms_norm(x), w.weights(WIDTH, WORDS), out="y")

    def feed(b, s, t):
        mask = rng.integers(0, 2, (b, s))
        mask[:, 0] = 1
        return {"ids": rng.integers(0, WORDS, (b, s)), "mask": mask, "next": rng.integers(0, WORDS, (b, t))}

    return w, [feed(2, 7, 4), feed(3, 5, 1)], ["e", "y"], 13


def convolutions():
    w = Writer()

    def conv(x, a, b, k, **at):
        return w.op("Conv", x, w.weights(b, a, k, k), w.weights(b), pads=[k // 2] * 4, **at)

    def bent(kind, x, **at):
        return w.op(kind, x, **at)

    x = bent("Relu", conv("x", 3, 8, 3))
    y = bent("LeakyRelu", conv(x, 8, 8, 3), alpha=.125)
    x = bent("Relu", w.op("Add", conv(y, 8, 8, 3), x))
    x = w.op("Clip", conv(x, 8, 8, 1), np.array(-.5, f32), np.array(.75, f32))
    x = bent("HardSigmoid", conv(x, 8, 8, 3, strides=[2, 2]), alpha=.3, beta=.4)
    x = bent("Tanh", conv(x, 8, 16, 3))
    x = w.op("BatchNormalization", conv(x, 16, 16, 3), *(w.weights(16) for _ in range(3)), np.abs(w.weights(16)) + 1)
    x = w.op("MaxPool", bent("Sigmoid", x), kernel_shape=[2, 2], strides=[2, 2])
    x = w.op("Flatten", w.op("GlobalAveragePool", x))
    x = bent("Relu", w.op("Gemm", x, w.weights(9, 16), w.weights(9), transB=1))
    w.op("LeakyRelu", w.op("Gemm", x, w.weights(9, 5), w.weights(5)), alpha=.25, out="y")
    return w, [{"x": rng.standard_normal(s).astype(f32)} for s in ((2, 3, 13, 9), (1, 3, 8, 15))], ["y"], 13


def products():
    """Products of turned, scaled and embedded matrices, with activations behind them."""
    w = Writer()
    a = w.op("MatMul", w.op("Transpose", "x", perm=[0, 2, 1]), "x")
    b = w.op("MatMul", "x", w.op("Mul", w.op("Transpose", "x", perm=[0, 2, 1]), np.array(.25, f32)))
    c = w.op("Div", w.op("MatMul", b, "x"), np.array(3, f32))
    c = w.op("Add", c, w.weights(6))
    d = w.op("Mul", c, w.op("Sigmoid", w.op("Mul", c, np.array(1.702, f32))))
    w.op("MatMul", w.gelu(w.op("Add", w.op("MatMul", d, w.weights(6, 7)), w.weights(7))), w.weights(7, 6), out="y")
    w.op("Identity", a, out="z")
    return w, [{"x": rng.standard_normal(s).astype(f32)} for s in ((2, 5, 6), (3, 4, 6))], ["y", "z"], 13


LEVELS = {"basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}
written = set()


def written_by(level, off, model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        session(model, path, level, off)
        return onnx.load(path)


for make in bert, gpt2, llama, t5, convolutions, products:
    writer, sets, outs, opset = make()
    for several in 0, 1:
        chosen = sets if several else sets[:1]
        model = model_of(writer.nodes, chosen, writer.inits, outs, opset)
        name = f"{make.__name__}_{'open' if several else 'fixed'}"
        plain = session(model)
        want = [plain.run(outs, fed) for fed in chosen]
        graphs = 1 if several and make not in (gpt2, t5) else 0  # whatever was fused
        folders.save(name, model, chosen, want, graphs)
        saved = {level: written_by(value, ["NchwcTransformer"], model) for level, value in LEVELS.items()}
        if make is convolutions and not several:
            saved["nchwc"] = written_by(LEVELS["all"], [], model)
        if make in (bert, gpt2, llama, t5):
            kind = "bert" if make in (bert, t5) else "gpt2"
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.onnx")
                onnx.save(model, path)
                saved["transformers"] = optimizer.optimize_model(path, kind, num_heads=HEADS, hidden_size=WIDTH, opt_level=0).model
                del saved["transformers"].opset_import[1:]  # of a model without it that optimiser adds none
        for level, result in saved.items():
            written |= {(n.domain, n.op_type) for n in result.graph.node}
            if os.environ.get("SHOW"):
                print(name, level, sorted({n.op_type for n in result.graph.node if n.domain or n.op_type == "SimplifiedLayerNormalization"}))
            folders.save(f"{name}_{level}", result, chosen, want, graphs)
fused = sorted(op for domain, op in written if domain == "com.microsoft")
print(*fused)
assert {"Attention", "BiasGelu", "EmbedLayerNormalization", "FastGelu", "FusedConv", "FusedGemm", "FusedMatMul", "QuickGelu",
        "SkipLayerNormalization"} <= set(fused)
sys.exit(folders.run(nodes_program, open_program, refused, 1))
