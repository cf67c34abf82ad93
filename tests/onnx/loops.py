"""Writes models with Loop, Scan and If as test folders, with results of ONNX Runtime, and runs them:
  loops.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto as T, helper as h, numpy_helper
    from onnx.reference import ReferenceEvaluator
    import onnxruntime
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, refused, work = sys.argv[1:4]
TYPES = {np.dtype("float32"): T.FLOAT, np.dtype("int64"): T.INT64, np.dtype("bool"): T.BOOL, np.dtype("float64"): T.DOUBLE,
         np.dtype("int32"): T.INT32, np.dtype("uint8"): T.UINT8}
n = h.make_node


def scalar(name, kind=T.FLOAT, shape=()):
    return h.make_tensor_value_info(name, kind, shape)


def const(name, value):
    return n("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def loop_body(nodes, variables, outputs, inits=(), go="go2"):
    """variables: infos of what the body gets behind the index i and the condition go; outputs: infos behind the condition"""
    return h.make_graph(nodes, "body", [scalar("i", T.INT64), scalar("go", T.BOOL)] + variables,
                        [scalar(go, T.BOOL)] + outputs, [numpy_helper.from_array(np.asarray(a), k) for k, a in inits])


def by_runtime(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def case(name, nodes, inputs, outputs, weights=(), opset=17, oracle=by_runtime, shapes=None):
    """inputs: (name, array); outputs: infos; shapes: of inputs that are declared otherwise than their arrays are, by name.
    Frozen inputs are what makes counts known, so most cases are two."""
    declared = [h.make_tensor_value_info(k, TYPES[a.dtype], (shapes or {}).get(k, a.shape)) for k, a in inputs]
    graph = h.make_graph(nodes, name, declared, outputs,
                         [numpy_helper.from_array(np.asarray(a), k) for k, a in weights])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    results = oracle(model, dict(inputs))
    folder = os.path.join(work, name)
    os.makedirs(os.path.join(folder, "test_data_set_0"), exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    pairs = [("input", inputs), ("output", [(o.name, np.asarray(r)) for o, r in zip(outputs, results)])]
    for kind, arrays in pairs:
        for k, (key, array) in enumerate(arrays):
            with open(os.path.join(folder, "test_data_set_0", f"{kind}_{k}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(array, key).SerializeToString())


f32 = np.float32
x4 = np.array([1, 2, 3, 4], f32)
V = [scalar("v", T.FLOAT, (4,))]
R = scalar("r", T.FLOAT, (4,))

# The limit is computed: v doubles while its sum is below it. Limits so low that no iteration is made, too.
doubling = [n("Add", ["v", "v"], ["v2"]), n("ReduceSum", ["v2"], ["sum"], keepdims=0), n("Less", ["sum", "limit"], ["go2"])]
for limit in (5., 100., 1e6):
    nodes = [n("ReduceSum", ["x"], ["s"], keepdims=0), n("Less", ["s", "limit"], ["c"]),
             n("Loop", ["", "c", "x"], ["r"], body=loop_body(doubling, V, [scalar("v2", T.FLOAT, (4,))]))]
    case(f"loop_while_{int(limit)}", nodes, [("x", x4), ("limit", np.array(limit, f32))], [R])

# Count and condition; the count may end it first, be zero or negative, have one dimension; no condition before.
for count in (-3, 0, 1, 3, 1000):
    for shape in ((), (1,)):
        nodes = [n("Loop", ["m", "", "x"], ["r"], body=loop_body(doubling, V, [scalar("v2", T.FLOAT, (4,))]))]
        case(f"loop_count_{count}_{len(shape)}", nodes,
             [("x", x4), ("limit", np.array(1e5, f32)), ("m", np.full(shape, count, np.int64))], [R])

# For loops of a count that only a run knows; the condition passes through, or is a constant, or one of the model.
steps = [n("Cast", ["i"], ["fi"], to=T.FLOAT), n("Mul", ["fi", "w"], ["wi"]), n("Add", ["v", "wi"], ["v2"])]
yes = np.array(True)
for name, more, inits, go in (("passes", [n("Identity", ["go"], ["go2"])], (), "go2"), ("same", [], (), "go"),
                              ("constant", [const("go2", yes)], (), "go2"), ("initializer", [], (("go2", yes),), "go2"),
                              ("outer", [n("Identity", ["yes"], ["go2"])], (), "go2")):
    nodes = [n("Loop", ["m", "yes", "x"], ["r"], body=loop_body(steps + more, V, [scalar("v2", T.FLOAT, (4,))], inits, go))]
    for count in (0, 7):
        case(f"loop_for_{name}_{count}", nodes, [("x", x4), ("m", np.array(count, np.int64))], [R],
             [("w", np.array([1, .5, -1, 2], f32)), ("yes", yes)])

# Many iterations of a known count, with what they collect: too many nodes to unroll.
nodes = [n("Loop", ["m", "", "x"], ["r", "all", "odd"], body=loop_body(
    steps + [n("Identity", ["go"], ["go2"]), n("ReduceMax", ["v2"], ["peak"], keepdims=0), n("Mod", ["i", "two"], ["bit"])], V,
    [scalar("v2", T.FLOAT, (4,)), scalar("peak", T.FLOAT, ()), scalar("bit", T.INT64, ())]))]
case("loop_many", nodes, [("x", x4)], [R, scalar("all", T.FLOAT, (3000,)), scalar("odd", T.INT64, (3000,))],
     [("m", np.array(3000, np.int64)), ("w", np.array([1e-3, .5, -1, 2], f32)), ("two", np.array(2, np.int64))])
case("loop_many_last", nodes, [("x", x4)], [R],
     [("m", np.array(3000, np.int64)), ("w", np.array([1e-3, .5, -1, 2], f32)), ("two", np.array(2, np.int64))])

# No iteration: outputs that are collected have no rows.
nodes = [n("Loop", ["m", "", "x"], ["r", "all"], body=loop_body(steps + [n("Identity", ["go"], ["go2"])], V, [scalar(
    "v2", T.FLOAT, (4,)), scalar("v2", T.FLOAT, (4,))]))]
for count in (0, 2):
    case(f"loop_few_{count}", nodes, [("x", x4)], [R, scalar("all", T.FLOAT, (count, 4))],
         [("m", np.array(count, np.int64)), ("w", np.array([1, .5, -1, 2], f32))])

# Types of variables; a variable that passes through and is a shape; variables that change places.
nodes = [n("Loop", ["m", "", "x", "k", "d", "b", "shape"], ["r", "k9", "d9", "b9", "s9"], body=loop_body(
    [n("Add", ["k", "i"], ["k2"]), n("Mul", ["d", "d"], ["d2"]), n("Not", ["b"], ["b2"]), n("Identity", ["shape"], ["shape2"]),
     n("Reshape", ["v", "shape"], ["square"]), n("MatMul", ["square", "w"], ["product"]), n("Reshape", ["product", "flat"], ["v2"]),
     n("Identity", ["go"], ["go2"])],
    V + [scalar("k", T.INT64, ()), scalar("d", T.DOUBLE, (2,)), scalar("b", T.BOOL, (3,)), scalar("shape", T.INT64, (2,))],
    [scalar("v2", T.FLOAT, (4,)), scalar("k2", T.INT64, ()), scalar("d2", T.DOUBLE, (2,)), scalar("b2", T.BOOL, (3,)),
     scalar("shape2", T.INT64, (2,))]))]
case("loop_types", nodes, [("x", x4), ("m", np.array(5, np.int64)), ("k", np.array(1 << 60, np.int64)), ("d", np.array([1.01, -.9])),
                           ("b", np.array([True, False, True]))],
     [R, scalar("k9", T.INT64, ()), scalar("d9", T.DOUBLE, (2,)), scalar("b9", T.BOOL, (3,)), scalar("s9", T.INT64, (2,))],
     [("shape", np.array([2, 2], np.int64)), ("flat", np.array([4], np.int64)), ("w", np.array([[.5, .2], [-.1, .7]], f32))])
nodes = [n("Loop", ["m", "", "x", "y"], ["r", "q"], body=loop_body(
    [n("Add", ["v", "u"], ["sum"]), n("Identity", ["go"], ["go2"])], V + [scalar("u", T.FLOAT, (4,))],
    [scalar("u", T.FLOAT, (4,)), scalar("sum", T.FLOAT, (4,))]))]
for count in (0, 1, 10):
    case(f"loop_fibonacci_{count}", nodes, [("x", x4), ("y", x4[::-1].copy()), ("m", np.array(count, np.int64))],
         [R, scalar("q", T.FLOAT, (4,))])

# A loop in a branch, a branch in a loop, a loop in a loop; all of them read what is around them.
inner = loop_body(doubling, V, [scalar("v2", T.FLOAT, (4,))])
branches = dict(
    then_branch=h.make_graph([n("Loop", ["", "c", "y"], ["t"], body=inner)], "then", [], [scalar("t", T.FLOAT, (4,))]),
    else_branch=h.make_graph([n("Neg", ["y"], ["e"])], "else", [], [scalar("e", T.FLOAT, (4,))]))
for which in (0, 1):
    nodes = [n("Mul", ["x", "w"], ["y"]), n("ReduceMax", ["x"], ["top"], keepdims=0), n("Greater", ["top", "bound"], ["p"]),
             n("Cast", ["p"], ["c"], to=T.BOOL), n("If", ["p"], ["r"], **branches)]
    case(f"loop_in_if_{which}", nodes, [("x", x4), ("bound", np.array(3.5 if which else 4.5, f32)), ("limit", np.array(77, f32))],
         [R], [("w", np.array([1, .5, .25, 2], f32))])
body = loop_body(
    [n("ReduceSum", ["v"], ["s"], keepdims=0), n("Less", ["s", "bound"], ["p"]),
     n("If", ["p"], ["v2", "note"],
       then_branch=h.make_graph([n("Add", ["v", "w"], ["t"]), const("one", f32(1))], "then", [],
                                [scalar("t", T.FLOAT, (4,)), scalar("one")]),
       else_branch=h.make_graph([n("Mul", ["v", "w"], ["e"]), const("two", f32(2))], "else", [],
                                [scalar("e", T.FLOAT, (4,)), scalar("two")])),
     n("Add", ["notes", "note"], ["notes2"]), n("Less", ["s", "limit"], ["go2"])],
    V + [scalar("notes")], [scalar("v2", T.FLOAT, (4,)), scalar("notes2")])
case("if_in_loop", [n("Loop", ["m", "", "x", "zero"], ["r", "notes9"], body=body)],
     [("x", x4), ("bound", np.array(30, f32)), ("limit", np.array(900, f32)), ("m", np.array(40, np.int64))], [R, scalar("notes9")],
     [("w", np.array([1, 1.5, .25, 2], f32)), ("zero", f32(0))])
outer = h.make_graph(
    [n("Add", ["m", "j"], ["mj"]),
     n("Loop", ["mj", "", "u"], ["u2"], body=loop_body(steps + [n("Less", ["i", "most"], ["go2"])], V, [scalar("v2", T.FLOAT, (4,))])),
     n("ReduceMax", ["u2"], ["peak"], keepdims=0), n("Less", ["peak", "limit"], ["on2"])],
    "outer", [scalar("j", T.INT64), scalar("on", T.BOOL), scalar("u", T.FLOAT, (4,))], [scalar("on2", T.BOOL), scalar("u2", T.FLOAT, (4,))])
for limit in (0, 50, 400):
    case(f"loop_in_loop_{limit}", [n("Loop", ["", "", "x"], ["r"], body=outer)],
         [("x", x4), ("limit", np.array(limit, f32)), ("m", np.array(2, np.int64)), ("most", np.array(6, np.int64))], [R],
         [("w", np.array([1, .5, .75, 2], f32))])

# Products that take two threads, and a branch of a loop beside other work.
rng = np.random.default_rng(11)
big = rng.standard_normal((96, 96)).astype(f32) * f32(.1)
nodes = [n("Loop", ["m", "", "x"], ["y"], body=loop_body(
    [n("MatMul", ["v", "w"], ["p"]), n("Tanh", ["p"], ["v2"]), n("ReduceMax", ["v2"], ["peak"], keepdims=0),
     n("Greater", ["peak", "floor"], ["go2"])], [scalar("v", T.FLOAT, (64, 96))], [scalar("v2", T.FLOAT, (64, 96))])),
    n("MatMul", ["x", "w"], ["z"]), n("Sigmoid", ["z"], ["z2"]), n("Add", ["y", "z2"], ["r"])]
case("loop_matmul", nodes, [("x", rng.standard_normal((64, 96)).astype(f32)), ("floor", np.array(.05, f32)), ("m", np.array(12, np.int64))],
     [scalar("r", T.FLOAT, (64, 96))], [("w", big)])

# Scans: few steps, many steps, both directions, axes, captured weights.
body = h.make_graph([n("Mul", ["h", "a"], ["ha"]), n("Add", ["ha", "e"], ["h2"]), n("Tanh", ["h2"], ["o"]), n("Neg", ["e"], ["o2"])], "scan",
                    [scalar("h", T.FLOAT, (3,)), scalar("e", T.FLOAT, (3,)), scalar("f", T.FLOAT, (3,))],
                    [scalar("h2", T.FLOAT, (3,)), scalar("o", T.FLOAT, (3,)), scalar("o2", T.FLOAT, (3,))])
for count in (5, 1500):
    for back in (0, 1):
        scan = n("Scan", ["h0", "xs", "ys"], ["h9", "os", "o2s"], body=body, num_scan_inputs=2, scan_input_directions=[back, 0],
                 scan_input_axes=[1, 0], scan_output_directions=[0, back], scan_output_axes=[0, 1])
        xs = rng.standard_normal((3, count)).astype(f32)
        case(f"scan_{count}_{back}", [scan], [("xs", xs), ("ys", xs.T.copy()), ("h0", np.zeros(3, f32))],
             [scalar("h9", T.FLOAT, (3,)), scalar("os", T.FLOAT, (count, 3)), scalar("o2s", T.FLOAT, (3, count))],
             [("a", np.array([.5, .9, -.3], f32))])

# Linear attention of more steps than are unrolled. ONNX Runtime does not know it; onnx's reference does.
b, t, heads, queries, keys, values = 2, 40, 2, 4, 3, 5
shapes = {"q": queries * keys, "k": heads * keys, "v": heads * values, "decay": heads * keys, "beta": heads}
arrays = [(k, rng.uniform(-.5, .5, (b, t, size)).astype(f32)) for k, size in shapes.items()]
arrays.insert(3, ("past", rng.standard_normal((b, heads, keys, values)).astype(f32)))
case("linear_attention_40", [n("LinearAttention", [k for k, _ in arrays], ["y", "present"], q_num_heads=queries, kv_num_heads=heads)], arrays,
     [scalar("y", T.FLOAT, (b, t, queries * values)), scalar("present", T.FLOAT, (b, heads, keys, values))], opset=27,
     oracle=lambda model, inputs: ReferenceEvaluator(model).run(None, inputs))

# Recurrent operators: unrolled (few steps), an operator or a While (many steps, or a number that the model does not know), all
# against one definition: RNN, GRU and LSTM in each direction, with all inputs, one sequence ended before the others; with the fewest;
# with biases and states, and peepholes, the most that the operators of graphs take.
batch, size, hidden = 3, 4, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
for op, gates in GATES.items():
    for direction in ("forward", "reverse", "bidirectional"):
        d = 2 if direction == "bidirectional" else 1
        weights = [("w", rng.uniform(-.6, .6, (d, gates * hidden, size))), ("r", rng.uniform(-.6, .6, (d, gates * hidden, hidden)))]
        more = [("b", rng.uniform(-.3, .3, (d, 2 * gates * hidden))), ("h0", rng.standard_normal((d, batch, hidden)))]
        if op == "LSTM":
            more += [("c0", rng.standard_normal((d, batch, hidden))), ("p", rng.uniform(-.3, .3, (d, 3 * hidden)))]
        weights, more = ([(k, a.astype(f32)) for k, a in part] for part in (weights, more))
        for steps, known in ((20, True), (20, False), (70, True), (70, False)):
            x = rng.standard_normal((steps, batch, size)).astype(f32)
            lens = ("lens", np.array([steps, 3, steps - 1], np.int32))
            peepholes = [(True, "b h0 c0 p"), (True, "p")] if op == "LSTM" else []
            for full, have in [(False, ""), (True, "b lens h0 c0 p"), (True, "b h0 c0"), (True, "h0 c0")] + peepholes:
                own = dict(more + [lens])
                names = ["x", "w", "r"] + [k if k in have.split() else "" for k in ("b", "lens", "h0", "c0", "p") if k in own] * full
                attrs = {"linear_before_reset": 1} if op == "GRU" and full else {"clip": 1.5} if op == "RNN" and "lens" in have else {}
                results = ["y", "yh", "yc"][:3 if op == "LSTM" else 2]
                node = n(op, names, results, hidden_size=hidden, direction=direction, **attrs)
                # Without full inputs the number of sequences is not known, either.
                shapes = {} if known else {"x": ["T", batch if full else "B", size]}
                case(f"{op}_{direction}_{steps}_{'known' if known else 'open'}_{have.replace(' ', '_') or 'few'}", [node],
                     [("x", x)] + [(k, own[k]) for k in names if k in own],
                     [scalar("y", T.FLOAT, (steps if known else "T", d, batch if known or full else "B", hidden))] +
                     [scalar(k, T.FLOAT, (d, batch if known or full else "B", hidden)) for k in results[1:]], weights, shapes=shapes)
# Only the last state, and the layout with the batch first, which ONNX Runtime does not know: the same with axes exchanged.
for steps in (20, 70):
    x = rng.standard_normal((batch, steps, size)).astype(f32)
    weights = [("w", rng.uniform(-.6, .6, (2, 3 * hidden, size)).astype(f32)), ("r", rng.uniform(-.6, .6, (2, 3 * hidden, hidden)).astype(f32))]
    case(f"GRU_last_{steps}", [n("GRU", ["x", "w", "r"], ["", "yh"], hidden_size=hidden, direction="bidirectional")],
         [("x", x.transpose(1, 0, 2).copy())], [scalar("yh", T.FLOAT, (2, batch, hidden))], weights)

    def batch_second(model, inputs):
        plain = onnx.ModelProto()
        plain.CopyFrom(model)
        del plain.graph.node[0].attribute[:]
        plain.graph.node[0].attribute.extend([h.make_attribute("hidden_size", hidden), h.make_attribute("direction", "bidirectional")])
        for value in list(plain.graph.input) + list(plain.graph.output):
            value.type.tensor_type.ClearField("shape")
        y, yh = by_runtime(plain, {"x": inputs["x"].transpose(1, 0, 2).copy()})
        return [y.transpose(2, 0, 1, 3), yh.transpose(1, 0, 2)]

    case(f"GRU_batch_first_{steps}", [n("GRU", ["x", "w", "r"], ["y", "yh"], hidden_size=hidden, direction="bidirectional", layout=1)],
         [("x", x)], [scalar("y", T.FLOAT, (batch, steps, 2, hidden)), scalar("yh", T.FLOAT, (batch, 2, hidden))], weights,
         oracle=batch_second)

# Regions of several images; windows of which every place has an offset; where the largest elements of windows stand.
image = rng.standard_normal((2, 3, 9, 7)).astype(f32)
rois = np.array([[0, 0, 6, 8], [1.5, 2, 5, 5.5], [-3, -2, 4, 30], [3, 3, 3.2, 3.1]], f32)
for mode in ("avg", "max"):
    for form in ("half_pixel", "output_half_pixel"):
        case(f"roi_align_{mode}_{form}", [n("RoiAlign", ["x", "rois", "ids"], ["y"], mode=mode, output_height=3, output_width=2, sampling_ratio=2,
                                            spatial_scale=.75, coordinate_transformation_mode=form)],
             [("x", image), ("rois", rois), ("ids", np.array([0, 1, 1, 0], np.int64))], [scalar("y", T.FLOAT, (4, 3, 3, 2))],
             shapes={"x": ["N", 3, 9, 7], "rois": ["R", 4], "ids": ["R"]} if mode == "avg" else None)
for kernel, pads, strides, order in (([3, 2], [1, 0, 0, 1], [2, 1], 0), ([2, 2], [0, 0, 0, 0], [2, 2], 1)):
    out = [(s + pads[d] + pads[2 + d] - kernel[d]) // strides[d] + 1 for d, s in enumerate(image.shape[2:])]
    case(f"max_places_{order}", [n("MaxPool", ["x"], ["y", "at"], kernel_shape=kernel, pads=pads, strides=strides, storage_order=order)],
         [("x", image)], [scalar("y", T.FLOAT, (2, 3, *out)), scalar("at", T.INT64, (2, 3, *out))])
for pad in ("SAME_UPPER", "SAME_LOWER"):
    case(f"max_places_{pad}", [n("MaxPool", ["x"], ["y", "at"], kernel_shape=[4, 2], strides=[2, 2], auto_pad=pad)], [("x", image)],
         [scalar("y", T.FLOAT, (2, 3, 5, 4)), scalar("at", T.INT64, (2, 3, 5, 4))])
offsets = rng.uniform(-2, 2, (2, 2 * 2 * 6, 4, 8)).astype(f32)
case("deform_conv", [n("DeformConv", ["x", "w", "offsets", "b", "mask"], ["y"], group=2, offset_group=2, strides=[2, 1], pads=[1, 1, 0, 2],
                       dilations=[1, 2])],
     [("x", rng.standard_normal((2, 4, 9, 7)).astype(f32)), ("offsets", offsets), ("mask", rng.uniform(0, 1, (2, 2 * 6, 4, 8)).astype(f32))],
     [scalar("y", T.FLOAT, (2, 6, 4, 8))], [("w", rng.standard_normal((6, 2, 3, 2)).astype(f32)), ("b", rng.standard_normal(6).astype(f32))],
     opset=22, oracle=lambda model, inputs: ReferenceEvaluator(model).run(None, inputs))

# Groups of channels and of offsets, of which none divides the other.
for groups, parts, mask in (1, 1, True), (1, 1, False), (1, 3, True), (2, 1, False), (2, 3, True), (3, 2, False):
    more = ["m"] if mask else []
    case(f"deform_conv_{groups}_{parts}_{len(more)}",
         [n("DeformConv", ["x", "w", "o", ""] + more, ["y"], group=groups, offset_group=parts, pads=[1, 0, 1, 1])],
         [("x", rng.standard_normal((1, 6, 5, 4)).astype(f32)), ("o", rng.uniform(-2, 2, (1, parts * 12, 5, 4)).astype(f32))] +
         ([("m", rng.uniform(0, 1, (1, parts * 6, 5, 4)).astype(f32))] if mask else []), [scalar("y", T.FLOAT, (1, 6, 5, 4))],
         [("w", rng.standard_normal((6, 6 // groups, 3, 2)).astype(f32))], opset=22,
         oracle=lambda model, inputs: ReferenceEvaluator(model).run(None, inputs))

# Transforms: lengths that are split in two steps, and primes that are not; numpy is the judge, in double.
def by_numpy(inverse, onesided):
    def transformed(model, inputs):
        x = inputs["x"].astype(np.float64)
        c = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
        y = (np.fft.ifft if inverse else np.fft.fft)(c, axis=2)
        y = y[:, :, :y.shape[2] // 2 + 1] if onesided else y
        return [np.stack([y.real, y.imag], -1).astype(inputs["x"].dtype)]
    return transformed


for length in (7, 64, 67, 96, 400, 441, 1000):
    for dtype, kind in ((f32, T.FLOAT), (np.float64, T.DOUBLE)):
        for parts, inverse, onesided in ((1, 0, 1), (1, 0, 0), (2, 0, 0), (2, 1, 0)):
            case(f"dft_{length}_{parts}{inverse}{onesided}_{np.dtype(dtype).name}",
                 [n("DFT", ["x", "", "axis"], ["y"], inverse=inverse, onesided=onesided)],
                 [("x", rng.standard_normal((2, 3, length, parts)).astype(dtype))],
                 [scalar("y", kind, (2, 3, length // 2 + 1 if onesided else length, 2))], [("axis", np.array(2, np.int64))], opset=20,
                 oracle=by_numpy(inverse, onesided))

# No step: states stay, and what is collected has no rows. ONNX Runtime ends there, so the definition is the judge.
body = h.make_graph([n("Add", ["s", "v"], ["s2"]), n("MatMul", ["s2", "w"], ["out"])], "body",
                    [scalar("s", T.FLOAT, (2, 4)), scalar("v", T.FLOAT, (2, 4))],
                    [scalar("s2", T.FLOAT, (2, 4)), scalar("out", T.FLOAT, (2, 3))])
none, state = np.zeros((0, 2, 4), f32), np.arange(8, dtype=f32).reshape(2, 4)
case("scan_of_nothing", [n("Scan", ["s", "x"], ["last", "all"], body=body, num_scan_inputs=1, scan_output_axes=[1])],
     [("s", state), ("x", none)], [scalar("last", T.FLOAT, (2, 4)), scalar("all", T.FLOAT, (2, 0, 3))],
     [("w", np.ones((4, 3), f32))], oracle=lambda m, i: [state, np.zeros((2, 0, 3), f32)])
for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    h0 = np.arange(6, dtype=f32).reshape(1, 2, 3)
    case(f"{op.lower()}_of_nothing", [n(op, ["x", "w", "r", "", "", "h"], ["y", "y_h"], hidden_size=3)], [("x", none), ("h", h0)],
         [scalar("y", T.FLOAT, (0, 1, 2, 3)), scalar("y_h", T.FLOAT, (1, 2, 3))],
         [("w", np.ones((1, 3 * gates, 4), f32)), ("r", np.ones((1, 3 * gates, 3), f32))],
         oracle=lambda m, i: [np.zeros((0, 1, 2, 3), f32), i["h"]])
case("hardmax_of_nothing", [n("Hardmax", ["x"], ["y"])], [("x", np.zeros((3, 0), f32))], [scalar("y", T.FLOAT, (3, 0))],
     oracle=lambda m, i: [i["x"]])
case("conv_transpose_of_nothing", [n("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2])], [("x", np.zeros((1, 3, 2, 0), f32))],
     [scalar("y", T.FLOAT, (1, 2, 5, 1))], [("w", np.ones((3, 2, 3, 3), f32)), ("b", np.array([1, 2], f32))],
     oracle=lambda m, i: [np.broadcast_to(np.array([1, 2], f32).reshape(1, 2, 1, 1), (1, 2, 5, 1))])

sys.exit(subprocess.run([program, work, refused] + sys.argv[4:]).returncode)
