"""Nine convolutional networks through the importer, with seeded weights and inputs: the scores before the last Softmax
against an evaluation in double (numpy, in this file), in f32 and in bf16. Where ONNX Runtime is there, our distance in f32 is at
most MORE times its own.
  networks.py ONNX_RUN WORK_FOLDER [NAME | SEED]...
The models and their weights: seeded.py."""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from seeded import NAMES, attributes, free_batch, load
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)
try:
    import onnxruntime
except ImportError:
    onnxruntime = None

LARGEST, LARGEST_BF16, MORE = 1e-5, .02, 4  # relative L2; the largest of all seeds is compared


# ---- The definition, in double ------------------------------------------------------------------------------------


def windows(x, kernel, a, fill):
    """{N, C, OH, OW, KH, KW} as a view."""
    strides = a.get("strides", [1, 1])
    top, left, bottom, right = a.get("pads", [0, 0, 0, 0])
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def conv(x, w, b, a):
    groups = a.get("group", 1)
    assert not any(d != 1 for d in a.get("dilations", [1, 1]))
    v = windows(x, w.shape[2:], a, 0)
    n, c, oh, ow = v.shape[:4]
    v = v.reshape(n, groups, c // groups, oh, ow, *w.shape[2:])
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = [np.tensordot(w[g], v[:, g], axes=([1, 2, 3], [1, 4, 5])) for g in range(groups)]  # {O / G, N, OH, OW}
    y = np.concatenate(y).transpose(1, 0, 2, 3)
    return y if b is None else y + b[:, None, None]


def average(x, a):
    v = windows(x, a["kernel_shape"], a, 0)
    if a.get("count_include_pad", 0):
        return v.mean((4, 5))
    return v.sum((4, 5)) / windows(np.ones_like(x), a["kernel_shape"], a, 0).sum((4, 5))


def lrn(x, a):
    size, c = a["size"], x.shape[1]
    square = np.pad(x * x, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    total = sum(square[:, k:k + c] for k in range(size))
    return x / (a.get("bias", 1.) + a["alpha"] / size * total)**a["beta"]


def batch_norm(x, scale, bias, mean, var, a):
    f = scale / np.sqrt(var + a.get("epsilon", 1e-5))
    return x * f[:, None, None] + (bias - mean * f)[:, None, None]


def gemm(p, q, c, a):
    p = p.T if a.get("transA", 0) else p
    q = q.T if a.get("transB", 0) else q
    return a.get("alpha", 1.) * (p @ q) + a.get("beta", 1.) * c


def reshape(x, shape):
    return x.reshape([x.shape[d] if n == 0 else n for d, n in enumerate(shape)])


def evaluate(model, known, feed):
    graph = model.graph
    v = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in known.items()}
    v[graph.input[0].name] = feed.astype(np.float64)
    for node in graph.node:
        a, x = attributes(node), [v[n] for n in node.input]
        op = node.op_type
        if op == "Conv":
            y = conv(x[0], x[1], x[2] if len(x) > 2 else None, a)
        elif op == "MaxPool":
            y = windows(x[0], a["kernel_shape"], a, -np.inf).max((4, 5))
        elif op == "AveragePool":
            y = average(x[0], a)
        elif op == "GlobalAveragePool":
            y = x[0].mean((2, 3), keepdims=True)
        elif op == "BatchNormalization":
            y = batch_norm(*x, a)
        elif op == "LRN":
            y = lrn(x[0], a)
        elif op == "Gemm":
            y = gemm(*x, a)
        elif op == "Relu":
            y = np.maximum(x[0], 0)
        elif op in ("Add", "Sum"):
            y = sum(x[1:], x[0])
        elif op == "Mul":
            y = x[0] * x[1]
        elif op == "Concat":
            y = np.concatenate(x, a["axis"])
        elif op == "Reshape":
            y = reshape(x[0], x[1])
        elif op == "Transpose":
            y = x[0].transpose(a["perm"])
        elif op == "Unsqueeze":
            y = x[0]
            for d in a["axes"]:
                y = np.expand_dims(y, d)
        elif op == "Dropout":
            y = x[0]
        else:
            raise NotImplementedError(op)
        v[node.output[0]] = y
    return v[graph.output[0].name]


def distance(got, want):
    return np.linalg.norm(got.ravel() - want.ravel()) / np.linalg.norm(want.ravel())


# ---- What is moved ------------------------------------------------------------------------------------------------

# Copies of a run: none of the image, which the first layer reads as it lies, but in bf16; shuffles of channels. Nothing is copied
# where channels are joined, whatever the batch, nor in front of a classifier that reads more than one pixel.
IMAGES = {"densenet121", "squeezenet"}  # scores of four dimensions: in bf16 they become f32 in a copy
SHUFFLES = {"shufflenet": 16}
BATCHED = {"densenet121", "inception_v1", "squeezenet"}  # by 4


def moved(path, low, *options):
    """Executions of each moving kind in one run: those of two runs but those of one; packing is in both."""
    count = []
    for runs in ("1", "2"):
        done = subprocess.run([program, path, *["--bf16"] * low, "--repeat", runs, *options], capture_output=True, text=True, check=True,
                              env={**os.environ, "DNNL_TP_VERBOSE": "profile_exec"})
        kinds = [line.split(",")[5] for line in done.stdout.splitlines() if ",exec,cpu," in line]
        count.append([kinds.count(k) for k in ("reorder", "concat", "shuffle")])
    return [b - a for a, b in zip(*count)]


def check_moved(name, path, model):
    for low in (False, True):
        want = [low + (low and name in IMAGES), 0, SHUFFLES.get(name, 0)]
        got = moved(path, low)
        if got != want:
            print(f"{name}{' in bf16' * low}: {got} reorders, joins of channels and shuffles, not {want}")
            return False
    if name not in BATCHED:
        return True
    free_batch(model)
    onnx.save(model, path)
    got = [moved(path, low, "--batch", "4")[1] for low in (False, True)]
    if any(got):
        print(f"{name}: channels of 4 images are copied {got[0]} times, in bf16 {got[1]} times")
    return not any(got)


program, work = sys.argv[1:3]
seeds = [int(s) for s in sys.argv[3:] if s.isdigit()] or [1]
names = [s for s in sys.argv[3:] if not s.isdigit()] or NAMES
path, feed, result = (os.path.join(work, f) for f in ("model.onnx", "x.npy", "y.npy"))
os.makedirs(work, exist_ok=True)


def ours(model, want, low):
    """Our distance; infinite where the run fails."""
    run = subprocess.run([program, path, *["--bf16"] * low, "--input", f"{model.graph.input[0].name}={feed}", "--output",
                          f"{model.graph.output[0].name}={result}"], capture_output=True, text=True)
    if run.returncode:
        print(run.stdout[-500:], run.stderr)
        return np.inf
    return distance(np.load(result), want)


failed = []
for name in names:
    f32, bf16, theirs = 0., 0., 0.
    for seed in seeds:
        model, known, x = load(name, seed)
        onnx.save(model, path)
        np.save(feed, x)
        want = evaluate(model, known, x)
        f32, bf16 = max(f32, ours(model, want, False)), max(bf16, ours(model, want, True))
        if onnxruntime:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            theirs = max(theirs, distance(session.run(None, {model.graph.input[0].name: x})[0], want))
    print(f"{name}: relative L2 {f32:.3g}, ONNX Runtime {theirs:.3g}; bf16 {bf16:.3g}", flush=True)
    most = min(LARGEST, MORE * theirs) if onnxruntime else LARGEST
    if not (f32 <= most and bf16 <= LARGEST_BF16) or not check_moved(name, path, model):
        failed.append(name)
if failed:
    sys.exit(f"wrong: {', '.join(failed)}")
