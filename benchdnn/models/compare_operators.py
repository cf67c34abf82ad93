"""ONNX operators alone against ONNX Runtime. Run it through the script `compare`, which brings what it needs:

  compare operators [NAME ...]    the rows of doc/onnx.md ("Speed of operators and files") whose names hold one of the words

Minima, on as many threads as ours; ratio = ONNX Runtime's time / ours.
"""
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import dnnl_tp

onnxruntime.set_default_logger_severity(4)
random = np.random.default_rng(0)
TYPES = {np.dtype("float32"): TensorProto.FLOAT, np.dtype("float64"): TensorProto.DOUBLE, np.dtype("int64"): TensorProto.INT64,
         np.dtype("bool"): TensorProto.BOOL}
node, info = helper.make_node, helper.make_tensor_value_info


def f32(*shape):
    return random.standard_normal(shape).astype(np.float32)


def best(run, seconds=.06):
    run()
    least, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(least) < 3:
        t = time.perf_counter()
        run()
        least.append(time.perf_counter() - t)
    return min(least)


def model_of(nodes, feeds, constants, outputs):
    graph = helper.make_graph(nodes, "g", [info(k, TYPES[a.dtype], a.shape) for k, a in feeds.items()],
                              [helper.make_empty_tensor_value_info(o) for o in outputs or nodes[-1].output],
                              [numpy_helper.from_array(np.asarray(a), k) for k, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()


def differs(ours, theirs):
    """A text of what is not equal, by the largest element; sums may be added in another order."""
    for a, b in zip(ours, theirs):
        if not isinstance(b, np.ndarray) or b.dtype.kind not in "fiub":
            continue
        if a.shape != b.shape:
            return f"shape {a.shape}, not {b.shape}"
        if b.size and b.dtype.kind == "f" and not np.abs(a - b).max() <= 2e-3 * np.abs(b).max() + 1e-6:
            return f"differs by {np.abs(a - b).max():.1e} of {np.abs(b).max():.1e}"
        if b.dtype.kind != "f" and not np.array_equal(a, b):
            return "differs"
    return ""


def beside(model, feeds, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    theirs = onnxruntime.InferenceSession(model, options)
    with dnnl_tp.Session(model, threads=threads) as ours:
        text = differs(ours.run(feeds).values(), theirs.run(None, feeds))
        peer = best(lambda: theirs.run(None, feeds))
        mine = best(lambda: ours.run(feeds))
        peer = min(peer, best(lambda: theirs.run(None, feeds)))
    return f"{mine * 1e6:9.1f} us, ONNX Runtime {peer * 1e6:9.1f}, ratio {peer / mine:5.2f} {text}"


def rows():
    x, up, k = f32(1, 3, 240, 320), np.array([1, 1, 2, 2], np.float32), np.array

    def one(name, op, feeds, constants=None, outputs=1, **attributes):
        constants = constants or {}
        results = [f"y{i}" for i in range(outputs)]
        return name, [node(op, [i or "" for i in [*feeds, *constants]], results, **attributes)], feeds, constants, results

    def resize(name, image, **attributes):
        return name, [node("Resize", ["x", "", "s"], ["y"], **attributes)], {"x": image}, {"s": up}, None

    def transpose(name, image, weights, **attributes):
        return one("ConvTranspose " + name, "ConvTranspose", {"x": image}, {"w": weights}, **attributes)

    yield one("call: Relu of 4 floats", "Relu", {"x": f32(4)})
    yield resize("Resize linear", x, mode="linear")
    yield resize("Resize cubic", x, mode="cubic")
    yield resize("Resize nearest", f32(1, 64, 40, 40), mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")
    yield ("Sin and Cos", [node("Sin", ["x"], ["a"]), node("Cos", ["x"], ["b"]), node("Add", ["a", "b"], ["y"])],
           {"x": f32(512, 1024)}, {}, None)
    yield one("ArgMax over channels", "ArgMax", {"x": f32(1, 21, 256, 256)}, axis=1)
    yield one("MaxPool with indices", "MaxPool", {"x": f32(1, 64, 112, 112)}, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    for shape, best_of, axis in ((8400, 80), 100, 0), ((1, 8400), 300, 1), ((64, 1000), 5, 1):
        yield one(f"TopK {best_of} of {shape}", "TopK", {"x": f32(*shape)}, {"k": k([best_of])}, 2, axis=axis)
    yield one("GatherElements", "GatherElements", {"x": f32(256, 1000), "i": random.integers(0, 1000, (256, 300))}, axis=1)
    yield one("Gather of short rows", "Gather", {"x": f32(64, 500, 3), "i": random.integers(0, 500, (300,))}, axis=1)
    regions = np.abs(f32(100, 4)) * 50 + k([0, 0, 60, 60], np.float32)
    yield one("RoiAlign", "RoiAlign", {"x": f32(1, 64, 50, 50), "r": regions, "b": np.zeros(100, np.int64)}, output_height=7,
              output_width=7, sampling_ratio=2, spatial_scale=.25)
    yield transpose("16 x 16, 21 groups", f32(1, 21, 28, 28), f32(21, 1, 16, 16), strides=[8, 8], pads=[4] * 4, group=21)
    yield transpose("1-D 512 to 256", f32(1, 512, 100), f32(512, 256, 16), strides=[8], pads=[4, 4])
    yield transpose("1-D 64 to 32", f32(1, 64, 6400), f32(64, 32, 4), strides=[2], pads=[1, 1])
    yield transpose("2 x 2, 128 to 64", f32(1, 128, 64, 64), f32(128, 64, 2, 2), strides=[2, 2])
    yield transpose("4 x 4, 256 to 64", f32(1, 256, 32, 32), f32(256, 64, 4, 4), strides=[4, 4])
    yield transpose("2 x 2, 24 to 1", f32(1, 24, 320, 320), f32(24, 1, 2, 2), strides=[2, 2])
    yield transpose("3 x 3, 64 to 32", f32(1, 64, 56, 56), f32(64, 32, 3, 3), strides=[2, 2], pads=[1] * 4,
                    output_padding=[1, 1])
    for s in 8, 32:
        yield one(f"Einsum of three, {s}", "Einsum", {"x": f32(s, s, s), "w": f32(s, s), "z": f32(s, s, s)},
                  equation="abc,cd,def->abd")
    yield one("Einsum of three matrices of 256", "Einsum", {c: f32(256, 256) for c in "xwz"}, equation="ij,jk,kl->il")
    yield one("Einsum of heads", "Einsum", {"x": f32(2, 8, 64, 32), "w": f32(2, 8, 64, 32)}, equation="bhid,bhjd->bhij")
    pads = k([0, 0, 3, 3, 0, 0, 3, 3])
    for mode in "reflect", "constant":
        yield one(f"Pad {mode}", "Pad", {"x": f32(1, 64, 64, 64)}, {"p": pads}, mode=mode)
    yield one("Tile", "Tile", {"x": f32(64, 64, 3)}, {"r": k([4, 4, 4])})
    yield one("Cast f32 to s64", "Cast", {"x": f32(512, 1000) * 100}, to=TensorProto.INT64)
    yield one("MatMul f64", "MatMul", {"x": f32(128, 256).astype(float), "w": f32(256, 192).astype(float)})
    yield one("NonZero", "NonZero", {"x": f32(100, 100)})
    yield one("Unique", "Unique", {"x": random.integers(0, 9, (100,))})
    yield one("NonMaxSuppression", "NonMaxSuppression", {"b": np.abs(f32(1, 500, 4)), "s": f32(1, 4, 500)},
              {"n": k([50]), "i": k([.5], np.float32)})
    for size, frame, step in (640, 512, 160), (2000, 400, 160), (16000, 512, 128):
        yield one(f"STFT of {(size - frame) // step + 1} frames of {frame}", "STFT", {"x": f32(1, size, 1)},
                  {"s": k(step), "w": f32(frame)})
    for op, gates, hidden, steps, batch, inner in (("LSTM", 4, 25, 8000, 1, 25), ("LSTM", 4, 256, 200, 1, 256),
                                                   ("LSTM", 4, 128, 300, 8, 128), ("GRU", 3, 64, 200, 4, 32)):
        yield one(f"{op} of {steps} steps, {batch} x {hidden}", op, {"x": f32(steps, batch, inner)},
                  {"w": f32(1, gates * hidden, inner) / 8, "r": f32(1, gates * hidden, hidden) / 8}, hidden_size=hidden)
    vector = info("v", TensorProto.FLOAT, [64])
    body = helper.make_graph([node("Add", ["s", "v"], ["s1"]), node("Tanh", ["s1"], ["o"])], "b",
                             [info("s", TensorProto.FLOAT, [64]), vector],
                             [info("s1", TensorProto.FLOAT, [64]), info("o", TensorProto.FLOAT, [64])])
    yield ("Scan of 16000 steps", [node("Scan", ["i", "x"], ["f", "y"], body=body, num_scan_inputs=1)],
           {"i": f32(64), "x": f32(16000, 64)}, {}, ["y"])
    body = helper.make_graph([node("Identity", ["c"], ["c1"]), node("Tanh", ["v"], ["v1"]), node("Mul", ["v1", "v1"], ["o"])], "b",
                             [info("t", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), vector],
                             [info("c1", TensorProto.BOOL, []), info("v1", TensorProto.FLOAT, [64]),
                              info("o", TensorProto.FLOAT, [64])])
    yield ("Loop of 16000 steps", [node("Loop", ["n", "t", "x"], ["f", "y"], body=body)], {"x": f32(64)},
           {"n": k(16000), "t": k(True)}, ["y"])


def operators(words):
    for name, nodes, feeds, constants, outputs in rows():
        if words and not any(w in name for w in words):
            continue
        model = model_of(nodes, feeds, constants, outputs)
        for threads in 1, 2:
            print(f"{name:34} {threads} threads {beside(model, feeds, threads)}", flush=True)


if __name__ == "__main__":
    operators(sys.argv[2:])
