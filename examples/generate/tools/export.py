#!/usr/bin/env python3
"""Writes a decoder with a cache of keys and values as an ONNX file, with seeded weights: the graphs are those that exporters
write, the numbers are random. Needs onnx and numpy.

  export.py --style llama --layers 4 --hidden 256 llama.onnx
  export.py --style gpt2 --layers 12 --hidden 768 --vocabulary 8192 gpt2.onnx

llama: RMS norms, rotary positions, keys shared by groups of heads, gated products: com.microsoft's GroupQueryAttention,
       SkipSimplifiedLayerNormalization as onnxruntime-genai's model builder writes them.
gpt2:  layer norms, a table of positions, Concat of past and new keys, products, a mask by position, Softmax: operators of
       ai.onnx only, as torch.onnx and optimum write GPT-2 and its relatives. How exporters differ:
  --cache   rows: keys {.., past, features}; columns: keys {.., features, past}; stacked: both in one tensor past_key_values.N
            {2, batch, heads, past, features}, keys joined as columns, as the first GPT-2 was
  --causal  table: Where by a triangle of booleans, cut; floats: a triangle of 0 and the least number, cut and added;
            product: scores times a triangle of 0 and 1, minus 1e4 times the rest; triangle: zeros for the past and a triangle of
            the new rows, joined; range: positions compared; none
  --scale   div, mul: of the scores; queries: before the product; both: queries and keys, each by the root
  --groups  fewer heads of keys, each repeated by Unsqueeze, Expand, Reshape

Inputs: input_ids {batch, sequence}; attention_mask {batch, total} (gpt2: with --mask); past_key_values.N.key and .value
{batch, heads of keys, past, features}. Outputs: logits {batch, sequence, vocabulary}; present.N.key and .value."""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.n = [], [], 0

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def weights(self, name, *shape, scale=None):
        scale = 1 / np.sqrt(shape[0]) if scale is None else scale
        return self.constant(name, (self.rng.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind, inputs, outputs=1, name=None, domain="", wanted=None, **attributes):
        """The names of its outputs; of those that are wanted, if not all are."""
        self.n += 1
        names = [name] if name else [f"/{kind}_{self.n}_{i}" if wanted is None or i in wanted else "" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"/{kind}_{self.n}", domain=domain, **attributes))
        return names[0] if outputs == 1 else [n for n in names if n]


def llama(g, a):
    heads, groups, d, h = a.heads, a.groups, a.hidden // a.heads, a.hidden
    ms = "com.microsoft"
    one, axis1 = g.constant("one", np.array([1], np.int64)), g.constant("at_1", np.array(1, np.int64))
    seqlens = g.op("Cast", [g.op("Sub", [g.op("ReduceSum", ["attention_mask", one], keepdims=1), one])], to=TensorProto.INT32)
    total = g.op("Cast", [g.op("Gather", [g.op("Shape", ["attention_mask"]), axis1], axis=0)], to=TensorProto.INT32)
    angles = np.outer(np.arange(a.positions), 1e4 ** (-np.arange(0, d, 2) / d)).astype(np.float32)
    cosines, sines = g.constant("cos_cache", np.cos(angles)), g.constant("sin_cache", np.sin(angles))
    x = g.op("Gather", [g.weights("embed", a.vocabulary, h, scale=1.), "input_ids"])
    skip, epsilon = None, 1e-5
    for i in range(a.layers):
        norm = g.constant(f"norm1.{i}", 1 + .1 * g.rng.standard_normal(h).astype(np.float32))
        if skip is None:
            y, x = g.op("SimplifiedLayerNormalization", [x, norm], axis=-1, epsilon=epsilon, stash_type=1), x
        else:
            y, x = g.op("SkipSimplifiedLayerNormalization", [x, skip, norm], 4, domain=ms, wanted=(0, 3), epsilon=epsilon)
        q, k, v = (g.op("MatMul", [y, g.weights(f"{n}.{i}", h, cols * d)]) for n, cols in
                   (("q", heads), ("k", groups), ("v", groups)))
        outputs = [f"attention.{i}", f"present.{i}.key", f"present.{i}.value"]
        g.nodes.append(helper.make_node(
            "GroupQueryAttention", [q, k, v, f"past_key_values.{i}.key", f"past_key_values.{i}.value", seqlens, total, cosines,
                                    sines], outputs, name=f"attention.{i}", domain=ms, num_heads=heads, kv_num_heads=groups,
            do_rotary=1, rotary_interleaved=0, scale=float(1 / np.sqrt(d))))
        o = g.op("MatMul", [outputs[0], g.weights(f"o.{i}", heads * d, h)])
        norm = g.constant(f"norm2.{i}", 1 + .1 * g.rng.standard_normal(h).astype(np.float32))
        y, x = g.op("SkipSimplifiedLayerNormalization", [x, o, norm], 4, domain=ms, wanted=(0, 3), epsilon=epsilon)
        gate = g.op("MatMul", [y, g.weights(f"gate.{i}", h, a.inner)])
        up = g.op("MatMul", [y, g.weights(f"up.{i}", h, a.inner)])
        gate = g.op("Mul", [gate, g.op("Sigmoid", [gate])])
        skip = g.op("MatMul", [g.op("Mul", [gate, up]), g.weights(f"down.{i}", a.inner, h)])
    norm = g.constant("norm", np.ones(h, np.float32))
    y, = g.op("SkipSimplifiedLayerNormalization", [x, skip, norm], 4, domain=ms, wanted=(0,), epsilon=epsilon)
    g.op("MatMul", [y, g.weights("head", h, a.vocabulary)], name="logits")


def gpt2(g, a):
    heads, d, h = a.heads, a.hidden // a.heads, a.hidden
    int64 = lambda name, *values: g.constant(name, np.array(values, np.int64))
    scalar = lambda name, value: g.constant(name, np.array(value, np.int64))
    first, one, two = int64("first", 0), scalar("one", 1), scalar("two", 2)
    axis = {n: int64(f"axis{n}", n) for n in (2, 3)}
    first_past = "past_key_values.0" if a.cache == "stacked" else "past_key_values.0.value"
    past = g.op("Gather", [g.op("Shape", [first_past]), scalar("three", 3) if a.cache == "stacked" else two], axis=0)
    rows = g.op("Gather", [g.op("Shape", ["input_ids"]), one], axis=0)
    total = g.op("Add", [past, rows])
    positions = g.op("Unsqueeze", [g.op("Range", [past, total, one]), first])
    x = g.op("Add", [g.op("Gather", [g.weights("wte", a.vocabulary, h, scale=1.), "input_ids"]),
                     g.op("Gather", [g.weights("wpe", a.positions, h, scale=.1), positions])])
    least = g.constant("least", np.array(np.finfo(np.float32).min, np.float32))
    lower, minimum = np.tril(np.ones((1, 1, a.positions, a.positions), bool)), np.finfo(np.float32).min
    table = g.constant("tril", {"floats": np.where(lower, 0, minimum).astype(np.float32), "product": lower.astype(np.float32),
                                "table": lower}.get(a.causal, np.zeros(0, np.float32)))
    number = lambda name, value: g.constant(name, np.array(value, np.float32))
    hidden = None
    if a.mask:
        mask = g.op("Unsqueeze", ["attention_mask", int64("middle", 1, 2)])
        hidden = g.op("Mul", [g.op("Sub", [g.constant("1.", np.array(1, np.float32)), g.op("Cast", [mask], to=TensorProto.FLOAT)]),
                              least])
    shape4, shape3 = int64("by_heads", 0, 0, heads, d), int64("joined", 0, 0, h)
    shape_kv = int64("by_groups", 0, 0, a.groups, d)
    one1, zero1, rows1, past1, total1 = int64("one1", 1), first, *(g.op("Unsqueeze", [n, first]) for n in (rows, past, total))
    mask = None
    if a.causal == "triangle":
        size, zero = g.op("Concat", [rows1, rows1], axis=0), number("0.", 0)
        at = g.op("Range", [scalar("zero", 0), rows, one])
        own = g.op("Less", [at, g.op("Unsqueeze", [g.op("Add", [at, one]), one1])])
        new = g.op("Where", [own, zero, g.op("Expand", [least, size])])
        mask = g.op("Concat", [g.op("ConstantOfShape", [g.op("Concat", [rows1, past1], axis=0)],
                                    value=numpy_helper.from_array(np.zeros(1, np.float32))), new], axis=-1)
        mask = g.op("Unsqueeze", [mask, int64("leading", 0, 1)])
    elif a.causal == "range":
        keys, queries = g.op("Range", [scalar("zero", 0), total, one]), g.op("Range", [past, total, one])
        seen = g.op("LessOrEqual", [keys, g.op("Unsqueeze", [queries, one1])])
        mask = g.op("Unsqueeze", [g.op("Where", [seen, number("0.", 0), least]), int64("leading", 0, 1)])

    def cut(i, keys):
        """Rows of the table from the past on, and as many columns as there are keys."""
        begin = g.op("Sub", [keys, rows1])
        return g.op("Slice", [g.op("Slice", [table, begin, keys, axis[2]]), first, keys, axis[3]])

    def masked(i, s, keys):
        if a.causal == "table":
            return g.op("Where", [cut(i, keys), s, least])
        if a.causal == "floats":
            return g.op("Add", [s, cut(i, keys)])
        if a.causal == "product":
            b = cut(i, keys)
            rest = g.op("Mul", [g.op("Sub", [number(f"whole.{i}", 1), b]), number(f"1e4.{i}", 1e4)])
            return g.op("Sub", [g.op("Mul", [s, b]), rest])
        return g.op("Add", [s, mask]) if mask else s

    def repeated(i, x, as_columns=False):
        """Each head of keys once for each head of queries."""
        if a.groups == heads:
            return x
        sizes = g.op("Concat", [g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", [x]), first0], axis=0), first]), int64(f"g.{i}", a.groups),
                                int64(f"r.{i}", heads // a.groups), *([int64(f"d.{i}", d), total1] if as_columns else
                                                                      [total1, int64(f"d.{i}", d)])], axis=0)
        x = g.op("Expand", [g.op("Unsqueeze", [x, two1]), sizes])
        return g.op("Reshape", [x, int64(f"h.{i}", *((0, heads, d, -1) if as_columns else (0, heads, -1, d)))])

    two1, first0 = int64("two1", 2), scalar("first0", 0)

    def norm(name, x):
        return g.op("LayerNormalization", [x, g.constant(name + ".w", 1 + .1 * g.rng.standard_normal(h).astype(np.float32)),
                                           g.weights(name + ".b", h, scale=.1)], axis=-1, epsilon=1e-5)

    def linear(name, x, n, m):
        return g.op("Add", [g.op("MatMul", [x, g.weights(name + ".w", n, m)]), g.weights(name + ".b", m, scale=.1)])

    def after(i, x, y):
        x = g.op("Add", [x, linear(f"o.{i}", y, h, h)])
        y = linear(f"up.{i}", norm(f"ln2.{i}", x), h, a.inner)
        cube = g.op("Mul", [g.op("Pow", [y, g.constant(f"3.{i}", np.array(3, np.float32))]),
                            g.constant(f"cube.{i}", np.array(.044715, np.float32))])
        t = g.op("Tanh", [g.op("Mul", [g.op("Add", [y, cube]), g.constant(f"pi.{i}", np.array(np.sqrt(2 / np.pi), np.float32))])])
        y = g.op("Mul", [g.op("Mul", [y, g.constant(f"half.{i}", np.array(.5, np.float32))]),
                         g.op("Add", [t, g.constant(f"1.{i}", np.array(1, np.float32))])])
        return g.op("Add", [x, linear(f"down.{i}", y, a.inner, h)])

    for i in range(a.layers):
        kv = a.groups * d
        y = linear(f"qkv.{i}", norm(f"ln1.{i}", x), h, h + 2 * kv)
        q, k, v = g.op("Split", [y, g.constant(f"sizes.{i}", np.array([h, kv, kv], np.int64))], 3, axis=2)
        if a.attention:
            y = f"attention.{i}"
            g.nodes.append(helper.make_node("Attention", [q, k, v, "", f"past_key_values.{i}.key", f"past_key_values.{i}.value"],
                                            [y, f"present.{i}.key", f"present.{i}.value"], name=y, q_num_heads=heads,
                                            kv_num_heads=a.groups, is_causal=1))
            x = after(i, x, y)
            continue
        q, k, v = (g.op("Transpose", [g.op("Reshape", [t, shape4 if t is q else shape_kv])],
                        perm=[0, 2, 3, 1] if t is k and a.cache != "rows" else [0, 2, 1, 3]) for t in (q, k, v))
        if a.cache == "stacked":
            past_k, past_v = (g.op("Gather", [f"past_key_values.{i}", scalar(f"half{n}.{i}", n)], axis=0) for n in (0, 1))
            k = g.op("Concat", [g.op("Transpose", [past_k], perm=[0, 1, 3, 2]), k], axis=-1)
            v = g.op("Concat", [past_v, v], axis=-2)
            g.op("Concat", [g.op("Unsqueeze", [g.op("Transpose", [k], perm=[0, 1, 3, 2]), first]), g.op("Unsqueeze", [v, first])],
                 name=f"present.{i}", axis=0)
        else:
            k = g.op("Concat", [f"past_key_values.{i}.key", k], name=f"present.{i}.key", axis=2 if a.cache == "rows" else 3)
            v = g.op("Concat", [f"past_key_values.{i}.value", v], name=f"present.{i}.value", axis=2)
        keys = g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", [v]), two], axis=0), first])
        k, v = repeated(f"k{i}", k, a.cache != "rows"), repeated(f"v{i}", v)
        if a.cache == "rows":
            k = g.op("Transpose", [k], perm=[0, 1, 3, 2])
        if a.scale in ("queries", "both"):
            q = g.op("Mul", [q, number(f"root.{i}", d ** (-.5 if a.scale == "queries" else -.25))])
        if a.scale == "both":
            k = g.op("Mul", [k, number(f"root2.{i}", d ** -.25)])
        s = g.op("MatMul", [q, k])
        if a.scale in ("div", "mul"):
            s = g.op(a.scale.title(), [s, number(f"root.{i}", np.sqrt(d) if a.scale == "div" else 1 / np.sqrt(d))])
        s = masked(i, s, keys)
        if hidden:
            s = g.op("Add", [s, hidden])
        y = g.op("MatMul", [g.op("Softmax", [s], axis=-1), v])
        x = after(i, x, g.op("Reshape", [g.op("Transpose", [y], perm=[0, 2, 1, 3]), shape3]))
    g.op("MatMul", [norm("ln", x), g.weights("head", h, a.vocabulary)], name="logits")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("--style", choices=("llama", "gpt2"), default="llama")
    for name, value in (("layers", 4), ("hidden", 256), ("heads", 0), ("groups", 0), ("inner", 0), ("vocabulary", 4096),
                        ("positions", 2048), ("seed", 1)):
        p.add_argument(f"--{name}", type=int, default=value)
    p.add_argument("--attention", action="store_true", help="gpt2: with the operator Attention of opset 23")
    p.add_argument("--cache", choices=("rows", "columns", "stacked"), default="rows", help="gpt2: how the past lies")
    p.add_argument("--causal", choices=("table", "floats", "product", "triangle", "range", "none"), default="table",
                   help="gpt2: the mask by position")
    p.add_argument("--scale", choices=("div", "mul", "queries", "both"), default="div", help="gpt2: what is scaled")
    p.add_argument("--mask", action="store_true", help="gpt2: with the input attention_mask")
    a = p.parse_args()
    a.heads = a.heads or max(1, a.hidden // 64)
    a.groups = a.groups or (a.heads if a.style == "gpt2" else max(1, a.heads // 2))
    a.inner = a.inner or (4 * a.hidden if a.style == "gpt2" else (8 * a.hidden // 3 + 63) // 64 * 64)
    g = Graph(a.seed)
    {"llama": llama, "gpt2": gpt2}[a.style](g, a)
    f32, s64 = TensorProto.FLOAT, TensorProto.INT64
    cache = ["batch", a.groups, "past_sequence_length", a.hidden // a.heads]
    grown = ["batch", a.groups, "total_sequence_length", a.hidden // a.heads]
    inputs = [helper.make_tensor_value_info("input_ids", s64, ["batch", "sequence_length"])]
    if a.style == "llama" or a.mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", s64, ["batch", "total_sequence_length"]))
    outputs = [helper.make_tensor_value_info("logits", f32, ["batch", "sequence_length", a.vocabulary])]
    for i in range(a.layers):
        for what in ("",) if a.cache == "stacked" else (".key", ".value"):
            shapes = [[2] + s if not what else s[:2] + s[:1:-1] if what == ".key" and a.cache == "columns" else s for s in (cache, grown)]
            inputs.append(helper.make_tensor_value_info(f"past_key_values.{i}{what}", f32, shapes[0]))
            outputs.append(helper.make_tensor_value_info(f"present.{i}{what}", f32, shapes[1]))
    graph = helper.make_graph(g.nodes, f"{a.style}_{a.layers}_{a.hidden}", inputs, outputs, g.constants)
    opsets = [helper.make_opsetid("", 23 if a.attention else 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=11 if a.attention else 9, producer_name="examples/generate"), a.file)


if __name__ == "__main__":
    main()
