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
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, work = sys.argv[1:3]
shutil.rmtree(work, ignore_errors=True)
TYPES = {np.dtype("float32"): T.FLOAT, np.dtype("int64"): T.INT64}
f32 = np.float32
n = h.make_node
ncases = 0


def case(name, nodes, inputs, inits=(), opset=17):
    """inputs: name, declared shape, array; the output is y. One data set for each array of a list."""
    global ncases
    arrays = [[a] if isinstance(a, np.ndarray) else a for _, _, a in inputs]
    infos = [h.make_tensor_value_info(k, TYPES[a[0].dtype], s) for (k, s, _), a in zip(inputs, arrays)]
    graph = h.make_graph(nodes, name, infos, [h.make_tensor_value_info("y", T.FLOAT, None)],
                         [numpy_helper.from_array(np.asarray(a), k) for k, a in inits])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=9)
    folder = os.path.join(work, name)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for number in range(max(map(len, arrays))):
        place = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(place)
        fed = [a[number % len(a)] for a in arrays]
        want = session.run(None, {k: a for (k, _, _), a in zip(inputs, fed)})
        for prefix, tensors in (("input", fed), ("output", want)):
            for i, array in enumerate(tensors):
                with open(os.path.join(place, f"{prefix}_{i}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(np.array(array, order="C")).SerializeToString())
        ncases += 1
    onnx.save(model, os.path.join(folder, "model.onnx"))


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
case("shape_product", [S, n("ReduceProd", ["a"], ["s"], axes=[0], keepdims=1), R], images)

sys.exit(subprocess.run([program, work, f"={ncases}"]).returncode)
