"""Models whose sizes are open, of the kinds that exporters write, as test folders with results of ONNX Runtime; open.c runs them:
  open_sizes.py OPEN WORK_FOLDER"""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto as T, helper as h, numpy_helper
    import onnxruntime
    import languages
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

onnxruntime.set_default_logger_severity(3)  # not of initializers that a case leaves alone
program, work = sys.argv[1:3]
shutil.rmtree(work, ignore_errors=True)
TYPES = {np.dtype("float32"): T.FLOAT, np.dtype("int64"): T.INT64}
f32 = np.float32
n = h.make_node
ncases = 0


def case(name, nodes, inputs, inits=(), opset=17, graphs=0):
    """inputs: name, declared shape, array; the output is y. One data set for each array of a list. The same once more beside a node
    that a graph for all sizes has not, so that guards say which sizes a graph serves."""
    for kind in ("", "_guarded"):
        if kind:
            axes = ([], {"axes": [0]}) if opset < 13 else (["front"], {})
            nodes = [n("Unsqueeze", ["guards", *axes[0]], ["all_guards"], **axes[1]), *nodes]
            inputs = [*inputs, ("guards", ["rows", "columns"], rng.standard_normal((2, 3)).astype(f32))]
            inits = [*inits, ("front", [0])]
        arrays = [[a] if isinstance(a, np.ndarray) else a for _, _, a in inputs]
        infos = [h.make_tensor_value_info(k, TYPES[a[0].dtype], s) for (k, s, _), a in zip(inputs, arrays)]
        outputs = [h.make_tensor_value_info(k, T.FLOAT, None) for k in (("y", "all_guards") if kind else ("y",))]
        graph = h.make_graph(nodes, name, infos, outputs, [numpy_helper.from_array(np.asarray(a), k) for k, a in inits])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)
        save(name + kind, model, [{k: a[i % len(a)] for (k, _, _), a in zip(inputs, arrays)} for i in range(max(map(len, arrays)))], graphs)


def save(name, model, feeds, graphs=0):
    """A test folder; graphs: as many may be imported for all data sets, 0: any number."""
    global ncases
    folder = os.path.join(work, name)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number, feed in enumerate(feeds):
        place = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(place)
        fed = [feed[i.name] for i in model.graph.input]
        want = session.run(None, feed)
        for prefix, tensors in (("input", fed), ("output", want)):
            for i, array in enumerate(tensors):
                with open(os.path.join(place, f"{prefix}_{i}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(np.array(array, order="C")).SerializeToString())
        ncases += 1
    onnx.save(model, os.path.join(folder, "model.onnx"))
    if graphs:
        with open(os.path.join(folder, "graphs"), "w") as f:
            f.write(f"{graphs}\n")


rng = np.random.default_rng(0)


def x(*shapes):
    return [rng.standard_normal(s).astype(f32) for s in shapes]


# An open size of a result that stands somewhere else in the input; ones that are stretched, or not.
for axis, shape, data in ((0, ["b", "s"], x((2, 3), (1, 4))), (1, ["b", "q", "k"], x((2, 3, 4), (4, 3, 2))),
                          (0, ["h", "w", 3], x((4, 5, 3))), (2, ["a", "b"], x((3, 2))), (-1, [None, None], x((3, 2)))):
    case(f"unsqueeze_{axis}_{len(shape)}_{shape[-1]}", [n("Unsqueeze", ["x", "a"], ["y"])], [("x", shape, data)], [("a", [axis])])
case("squeeze", [n("Squeeze", ["x", "a"], ["y"])], [("x", ["b", 1, "h", "w"], x((2, 1, 3, 4), (1, 1, 1, 5)))], [("a", [1])])
for axis in range(5):
    case(f"flatten_{axis}", [n("Flatten", ["x"], ["y"], axis=axis)], [("x", ["b", 3, "h", "w"], x((2, 3, 4, 5), (1, 3, 2, 1)))])
case("expand", [n("Expand", ["x", "s"], ["y"])], [("x", ["b", "c"], x((3, 1), (1, 4), (3, 4), (1, 1)))], [("s", [3, 4])])
case("expand_more", [n("Expand", ["x", "s"], ["y"])], [("x", ["b"], x((1,), (4,)))], [("s", [2, 1, 4])])
case("tile", [n("Tile", ["x", "r"], ["y"])], [("x", ["a", "b"], x((2, 3), (3, 2)))], [("r", [2, 3])])

# -1 and 0 beside open sizes.
for i, (shape, to, data) in enumerate(((["b", "t", 8], [-1, 8], x((2, 5, 8), (5, 2, 8))), (["b", 12], [-1, 3], x((2, 12), (1, 12))),
                                       (["b", 16, "h", "w"], [0, 16, -1], x((2, 16, 3, 5), (1, 16, 5, 3))),
                                       ([1, 84, "h", "w"], [1, 84, -1], x((1, 84, 3, 5))),
                                       (["b", "c", "h", "w"], [0, -1], x((2, 3, 4, 5), (3, 2, 5, 4))),
                                       (["b", "s", 12], [0, 0, 3, 4], x((2, 5, 12), (5, 2, 12))),
                                       (["b", "s", 12], [0, -1, 3, 4], x((2, 5, 12))))):
    case(f"reshape_{i}", [n("Reshape", ["x", "s"], ["y"])], [("x", shape, data)], [("s", to)])
# Attention of one head of one element, whose strides say nothing.
case("one_head", [*(n("Reshape", ["x", "split"], [k + "r"]) for k in "qkv"),
                  *(n("Transpose", [k + "r"], [k], perm=[0, 2, 1, 3]) for k in "qkv"), n("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
                  n("MatMul", ["q", "kt"], ["s"]), n("Softmax", ["s"], ["w"], axis=-1), n("MatMul", ["w", "v"], ["o"]),
                  n("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]), n("Reshape", ["ot", "join"], ["y"])],
     [("x", ["b", "t", 1], x((1, 4, 1), (2, 5, 1)))], [("split", [0, 0, 1, 1]), ("join", [0, 0, 1])])
case("group_norm", [n("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)], [("x", ["b", 4, "h", "w"], x((2, 4, 6, 7)))],
     [("s", x((4,))[0]), ("b", x((4,))[0])], 21)
case("softmax_11", [n("Softmax", ["x"], ["y"], axis=1)], [("x", ["b", "s", 4], x((2, 3, 4), (3, 1, 4)))], opset=11)

# Sizes without a name.
for name in ("n", None, "?"):
    case(f"pad_{name}", [n("Pad", ["x", "p"], ["y"])], [("x", [name], x((4,), (1,)))], [("p", [1, 1])])
    case(f"range_{name}", [n("Shape", ["x"], ["s"]), n("Squeeze", ["s"], ["m"]), n("Range", ["z", "m", "o"], ["r"]),
                           n("Cast", ["r"], ["y"], to=T.FLOAT)], [("x", [name], x((4,), (7,), (1,)))],
         [("z", np.int64(0)), ("o", np.int64(1))])
    case(f"resize_{name}", [n("Resize", ["x", "", "s"], ["y"], mode="nearest")], [("x", [1, 1, name, 4], x((1, 1, 3, 4), (1, 1, 5, 4)))],
         [("s", np.array([1, 1, 2, 2], f32))])
case("one_name_two_sizes", [n("Add", ["x", "z"], ["y"])], [("x", ["k"], x((3,))), ("z", ["k"], x((1,)))])


# An If whose other branch does not fit the sizes, by an integer that is fed.
def branch(name, size):
    return h.make_graph([n("Constant", [], [name + "s"], value=numpy_helper.from_array(np.array([-1, size]))),
                         n("Reshape", ["x", name + "s"], [name + "y"])], name, [], [h.make_tensor_value_info(name + "y", T.FLOAT, None)])


def by_rate(condition, inits):
    return condition + [n("If", ["c"], ["y"], then_branch=branch("t", 4), else_branch=branch("e", 3))], inits


rates = [np.array(r, np.int64) for r in (16000, 8000, 16000, 7999)]
fits = x((1, 4), (1, 3), (2, 4), (3, 3))
for name, (nodes, inits) in (("equal", by_rate([n("Equal", ["sr", "k"], ["c"])], [("k", np.int64(16000))])),
                             ("computed", by_rate([n("Div", ["sr", "t"], ["q"]), n("Greater", ["q", "k"], ["c"])],
                                                  [("t", np.int64(2)), ("k", np.int64(4000))]))):
    case(f"if_{name}", nodes, [("x", ["b", "n"], fits), ("sr", [], rates)], inits)

# Shapes that are computed by ways around integers of 64 bits.
R, S = n("Reshape", ["x", "s"], ["y"]), n("Shape", ["x"], ["a"])
inits = [("z", [0]), ("o", [1]), ("m", [-1]), ("f", np.array([1], f32))]
images = [("x", ["a", 3, "h", "w"], x((2, 3, 6, 8), (1, 3, 2, 2)))]
case("shape_s32", [S, n("Cast", ["a"], ["b"], to=T.INT32), n("Slice", ["b", "z", "o", "z"], ["c"]), n("Cast", ["c"], ["d"], to=T.INT64),
                   n("Concat", ["d", "m"], ["s"], axis=0), R], images, inits)
case("shape_float", [S, n("Slice", ["a", "z", "o", "z"], ["b"]), n("Cast", ["b"], ["c"], to=T.FLOAT), n("Mul", ["c", "f"], ["d"]),
                     n("Floor", ["d"], ["d2"]), n("Cast", ["d2"], ["e"], to=T.INT64), n("Concat", ["e", "m"], ["s"], axis=0), R], images, inits)
case("shape_where", [S, n("Equal", ["a", "m"], ["b"]), n("Where", ["b", "o", "a"], ["s"]), R], images, inits)
# Past the end of a type with fewer bits; unsqueezing needs guards.
for name, to, size in (("s16", T.INT16, 40000), ("bf16", T.BFLOAT16, 257)):
    case(f"shape_{name}", [S, n("Cast", ["a"], ["b"], to=to), n("Cast", ["b"], ["c"], to=T.FLOAT), n("ReduceSum", ["c"], ["d"]),
                           n("Sub", ["d", "k"], ["t"]), n("Add", ["x", "t"], ["e"]), n("Unsqueeze", ["e", "z"], ["y"])],
         [("x", ["b", "n"], x((2, 3), (2, size)))], inits + [("k", f32(2 + size))])
case("shape_product", [S, n("ReduceProd", ["a"], ["s"], axes=[0], keepdims=1), R], images)

# Sizes that nodes compute, several sets of them in one session: guards that hold and that fail.
batches = [("x", ["b", "s", 12], x((2, 5, 12), (3, 5, 12), (1, 5, 12), (2, 1, 12), (4, 9, 12), (2, 5, 12)))]
last, first = [n("Shape", ["x"], ["a"]), n("Gather", ["a", "i1"], ["n"])], [n("Shape", ["x"], ["a"]), n("Gather", ["a", "i0"], ["k"])]
lists = [("i0", np.int64(0)), ("i1", np.int64(1)), ("z", [0]), ("o", [1]), ("m", [-1]), ("four", [4]), ("three", [3]),
         ("table", x((1, 32, 12))[0]), ("one", np.int64(1)), ("zero", np.int64(0)), ("ten", [12])]
U = [n("Unsqueeze", ["n", "z"], ["nu"])]
case("heads", [*first, *last[1:], *U, n("Unsqueeze", ["k", "z"], ["ku"]), n("Concat", ["ku", "nu", "three", "four"], ["s"], axis=0),
               n("Reshape", ["x", "s"], ["p"]), n("Transpose", ["p"], ["q"], perm=[0, 2, 1, 3]), n("Concat", ["ku", "m", "ten"], ["s2"], axis=0),
               n("Transpose", ["q"], ["q2"], perm=[0, 2, 1, 3]), n("Reshape", ["q2", "s2"], ["y"])], batches, lists)
case("merged", [n("Reshape", ["x", "to"], ["p"]), n("Relu", ["p"], ["q"]), n("Shape", ["x"], ["a"]), n("Reshape", ["q", "a"], ["y"])],
     batches, [("to", [-1, 4])])
case("table_to_length", [*last, *U, n("Slice", ["table", "z", "nu", "o"], ["t"]), n("Add", ["x", "t"], ["y"])], batches, lists)
case("expand_by_shape", [*first, *last[1:], *U, n("Unsqueeze", ["k", "z"], ["ku"]), n("Concat", ["ku", "nu", "o"], ["s"], axis=0),
                         n("Equal", ["s", "m"], ["e"]), n("Where", ["e", "o", "s"], ["w"]), n("Expand", ["v", "w"], ["p"]),
                         n("Mul", ["x", "p"], ["y"])], batches, lists + [("v", x((1, 1, 1))[0])])
case("places", [*last, n("Range", ["zero", "n", "one"], ["r"]), n("Unsqueeze", ["r", "o"], ["c"]), n("LessOrEqual", ["r", "c"], ["e"]),
                n("Cast", ["e"], ["f"], to=T.FLOAT), n("MatMul", ["f", "x"], ["y"])], batches, lists)
case("range_from_size", [*last, n("Add", ["n", "n"], ["n2"]), n("Range", ["n", "n2", "one"], ["r"]), n("Cast", ["r"], ["f"], to=T.FLOAT),
                         n("Unsqueeze", ["f", "o"], ["c"]), n("Add", ["x", "c"], ["y"])], batches, lists)
odd = [("x", ["b", "s", 12], x((2, 5, 12), (3, 4, 12), (2, 6, 12), (4, 9, 12)))]
Z = n("ConstantOfShape", ["l"], ["y"])
case("range_by_two", [*last, n("Range", ["zero", "n", "two"], ["r"]), n("Cast", ["r"], ["y"], to=T.FLOAT)], odd, lists + [("two", np.int64(2))])
case("place_by_size", [*last, n("Mod", ["n", "two"], ["r"]), n("Unsqueeze", ["r", "z"], ["p"]), n("Gather", ["a", "p"], ["l"]), Z], odd,
     lists + [("two", np.int64(2))])
case("towards_zero", [*last, n("Sub", ["one", "n"], ["d"]), n("Div", ["d", "two"], ["q"]), n("Add", ["n", "q"], ["r"]),
                      n("Unsqueeze", ["r", "z"], ["l"]), Z], odd, lists + [("two", np.int64(2))])
case("some_of_shape", [n("Shape", ["x"], ["a"]), n("Where", ["some", "a", "o"], ["l"]), Z], odd, lists + [("some", [False, True, True])])
case("shape_is_fed", [n("Reshape", ["x", "to"], ["y"])],
     [("x", ["b", "s"], x((2, 6))), ("to", [2], [np.array(k) for k in ((3, 4), (6, 2), (-1, 3))])])
case("zeros_of_shape", [*first, n("ConstantOfShape", ["a"], ["p"]), n("Add", ["x", "p"], ["y"])], batches, lists)
case("halves", [*last, n("Div", ["n", "two"], ["h"]), n("Unsqueeze", ["h", "z"], ["hu"]), n("Slice", ["x", "z", "hu", "o"], ["p"]),
                n("Slice", ["x", "hu", "far", "o"], ["q"]), n("Concat", ["q", "p"], ["y"], axis=1)], batches,
     lists + [("two", np.int64(2)), ("far", [2**62])])
case("at_most", [*last, n("Min", ["n", "limit"], ["h"]), n("Unsqueeze", ["h", "z"], ["hu"]), n("Slice", ["x", "z", "hu", "o"], ["y"])],
     batches, lists + [("limit", np.int64(4))])
case("from_the_end", [n("Slice", ["x", "before", "far", "o"], ["p"]), n("Gather", ["x", "at"], ["q"], axis=1),
                      n("Concat", ["p", "q"], ["y"], axis=1)], batches[:1],
     lists + [("before", [-3]), ("far", [2**40]), ("at", [-1, 0])])
case("means", [*last, n("Cast", ["n"], ["f"], to=T.FLOAT), n("ReduceSum", ["x", "o"], ["t"], keepdims=0), n("Div", ["t", "f"], ["y"])],
     batches, lists)
case("padded_to_four", [*last, n("Mod", ["n", "f4"], ["r"]), n("Sub", ["f4", "r"], ["c"]), n("Unsqueeze", ["c", "z"], ["cu"]),
                        n("Concat", ["z", "z", "z", "z", "cu", "z"], ["p"], axis=0), n("Pad", ["x", "p"], ["y"])], batches,
     lists + [("f4", np.int64(4))])
case("tiled_by_size", [*first, n("Unsqueeze", ["k", "z"], ["ku"]), n("Concat", ["o", "ku", "o"], ["s"], axis=0), n("Tile", ["x", "s"], ["y"])],
     batches, lists)
# At the limit of a comparison, from both sides.
for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"):
    for way, lengths in (("up", (3, 4, 5)), ("down", (5, 4, 3)), ("from", (4, 3, 5))):
        case(f"if_{op}_{way}", [*last, n(op, ["n", "limit"], ["c"]),
                                n("If", ["c"], ["y"],
                                  then_branch=h.make_graph([n("Relu", ["x"], ["ty"])], "t", [], [h.make_tensor_value_info("ty", T.FLOAT, None)]),
                                  else_branch=h.make_graph([n("Neg", ["x"], ["ey"])], "e", [], [h.make_tensor_value_info("ey", T.FLOAT, None)]))],
             [("x", ["b", "s", 2], x(*((2, k, 2) for k in lengths)))], lists + [("limit", np.int64(4))])
case("if_long", [*last, n("Greater", ["n", "limit"], ["c"]),
                 n("If", ["c"], ["y"],
                   then_branch=h.make_graph([n("Relu", ["x"], ["ty"])], "t", [], [h.make_tensor_value_info("ty", T.FLOAT, None)]),
                   else_branch=h.make_graph([n("Neg", ["x"], ["ey"])], "e", [], [h.make_tensor_value_info("ey", T.FLOAT, None)]))],
     batches, lists + [("limit", np.int64(4))])
pictures = [("x", ["b", 3, "h", "w"], x((2, 3, 8, 6), (1, 3, 5, 7), (3, 3, 9, 4), (2, 3, 8, 6)))]
case("convolved", [n("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), n("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
                   n("Shape", ["p"], ["a"]), n("Gather", ["a", "i0"], ["k"]), n("Unsqueeze", ["k", "z"], ["ku"]),
                   n("Concat", ["ku", "four", "m"], ["s"], axis=0), n("Reshape", ["p", "s"], ["q"]), n("Transpose", ["q"], ["t"], perm=[0, 2, 1]),
                   n("MatMul", ["t", "q"], ["y"])], pictures, lists + [("w", x((4, 3, 3, 3))[0])])
case("same_windows", [n("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", strides=[2, 1]),
                      n("AveragePool", ["c"], ["p"], kernel_shape=[3, 3], auto_pad="SAME_LOWER", strides=[1, 2]),
                      n("Unsqueeze", ["p", "z"], ["y"])], pictures, lists + [("w", x((4, 3, 3, 3))[0])])
case("pooled", [n("GlobalAveragePool", ["x"], ["g"]), n("Sub", ["x", "g"], ["d"]), n("Flatten", ["d"], ["f"], axis=2), n("Unsqueeze", ["f", "o"], ["y"])],
     pictures, lists)
case("groups_of_pictures", [n("Pad", ["x", "p"], ["q"]), n("GroupNormalization", ["q", "g", "b"], ["r"], num_groups=2),
                            n("InstanceNormalization", ["r", "g", "b"], ["y"])],
     [("x", ["b", 4, "h", "w"], x((2, 4, 8, 6), (1, 4, 5, 7), (3, 4, 2, 4)))],
     [("p", [0, 0, 1, 0, 0, 0, 0, 2]), ("g", x((4,))[0]), ("b", x((4,))[0])], 21)
case("enlarged", [n("Shape", ["x"], ["a"]), n("Slice", ["a", "two", "far"], ["hw"]), n("Mul", ["hw", "two"], ["hw2"]),
                  n("Slice", ["a", "z", "two"], ["nc"]), n("Concat", ["nc", "hw2"], ["s"], axis=0),
                  n("Resize", ["x", "", "", "s"], ["y"], mode="linear")], pictures, lists + [("two", [2]), ("far", [2**40])], graphs=2)
# Resized by scales, to the size of another map, to sizes of few axes; of one picture and of more there is a graph each.
for i, (up, attributes) in enumerate((([1, 1, 2, 3], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
                                      ([1, 1, 1.5, .75], {"mode": "linear"}),
                                      ([1, 1, 2, 3], {"mode": "linear", "coordinate_transformation_mode": "align_corners"}))):
    case(f"scaled_{i}", [n("Resize", ["x", "", "up"], ["r"], **attributes), n("Flatten", ["r"], ["y"], axis=3)], pictures,
         [("up", np.array(up, f32))], graphs=2)
case("scaled_as_before", [n("Upsample", ["x", "up"], ["r"], mode="nearest"), n("Flatten", ["r"], ["y"], axis=3)], pictures,
     [("up", np.array([1, 1, 2, 3], f32))], 9, graphs=2)
case("scaled_batch", [n("Resize", ["x", "", "up"], ["y"], mode="nearest")], [("x", ["b", 2, "h", "w"], x((2, 2, 3, 4), (4, 2, 4, 3)))],
     [("up", np.array([2, 1, 2, 2], f32))])
case("scaled_cubic", [n("Resize", ["x", "", "up"], ["y"], mode="cubic")], pictures, [("up", np.array([1, 1, 2, 2], f32))])
case("to_a_map", [n("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), n("Shape", ["c"], ["cs"]), n("Shape", ["x"], ["xs"]),
                  n("Slice", ["cs", "z", "two"], ["nc"]), n("Slice", ["xs", "two", "far"], ["hw"]), n("Concat", ["nc", "hw"], ["s"], axis=0),
                  n("Resize", ["c", "", "", "s"], ["r"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                  n("Conv", ["x", "v"], ["d"]), n("Add", ["r", "d"], ["y"])], pictures,
     lists + [("two", [2]), ("far", [2**40]), ("w", x((4, 3, 3, 3))[0]), ("v", x((4, 3, 1, 1))[0])], graphs=2)
case("two_axes", [n("Shape", ["x"], ["a"]), n("Slice", ["a", "two", "far"], ["hw"]), n("Add", ["hw", "two"], ["s"]),
                  n("Resize", ["x", "", "", "s"], ["r"], mode="linear", axes=[2, -1], coordinate_transformation_mode="half_pixel_symmetric"),
                  n("Flatten", ["r"], ["y"], axis=3)], pictures, lists + [("two", [2]), ("far", [2**40])], 18, graphs=2)
for i, attributes in enumerate(({"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 0]}, {"strides": [3, 1], "dilations": [2, 3]},
                                {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, {"strides": [2, 2], "group": 3})):
    channels = 2 if "group" in attributes else 4
    case(f"spread_{i}", [n("ConvTranspose", ["x", "w"], ["c"], **attributes), n("Relu", ["c"], ["r"]), n("Flatten", ["r"], ["y"], axis=2)], pictures,
         [("w", x((3, channels, 3, 2))[0])], graphs=2)
case("spread_to", [n("ConvTranspose", ["x", "w"], ["c"], strides=[2, 2], output_shape=[9, 8]), n("Flatten", ["c"], ["y"], axis=2)], pictures,
     [("w", x((3, 4, 3, 2))[0])])

# One graph for all lengths; in a decoder one for the prompt and one for all tokens behind it.
def bert_feed(batch, tokens):
    mask = (rng.random((batch, tokens)) < .8).astype(np.int64)
    mask[:, 0] = 1
    return {"ids": rng.integers(0, languages.WORDS, (batch, tokens)), "mask": mask}


def gpt_feed(past, new):
    feed = {"ids": rng.integers(0, languages.WORDS, (2, new))}
    for name in ("k0", "v0", "k1", "v1"):
        feed[name] = x((2, languages.HEADS, past, languages.EACH))[0]
    return feed


save("bert", languages.bert(), [bert_feed(2 + i % 3, 2 + 4 * i) for i in range(16)], 1)
save("bert_of_one", languages.bert(), [bert_feed(1, 3 + 5 * i) for i in range(12)] + [bert_feed(3, 1), bert_feed(2, 7)], 3)
save("gpt", languages.gpt(), [gpt_feed(0, 5)] + [gpt_feed(5 + 4 * i, 1) for i in range(15)], 2)

sys.exit(subprocess.run([program, work, f"={ncases}"]).returncode)
