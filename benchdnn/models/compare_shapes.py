"""New shapes of models with known weights: what one costs and what it leaves, ours beside ONNX Runtime.
  compare shapes [--shapes N] [--names a,b]
MiniLM by tokens, in f32 and with weights and activations of int8, and models with seeded weights (open_models.py): the encoder
of a T5 by tokens, a reader of text lines by width, a detector by height and width. For each side, in a process of its own:
processor time of a shape's first run less that of its second (import, inference, folding, fusion, lowering, primitives, plan),
the median and the largest share of that run; MB after the first shape and more after all; once more after all shapes again.
Times are of one thread; the bars are 1 ms or 5 % of the run, and 1.2 times the intermediates of the largest shape."""
import argparse
import multiprocessing
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import open_models
from compare import cpu_name
from compare_networks import resident
from networks import prepare

BAR_MS, BAR_SHARE = 1., .05


def tokens(n):
    ids = np.random.default_rng(n).integers(1000, 20000, (1, n)).astype(np.int64)
    return {"ids": ids, "mask": np.ones_like(ids)}


def image(channels, height, width):
    return {"x": np.random.default_rng(height + width).random((1, channels, height, width), dtype=np.float32)}


# Feeds of shape i of n.
FEEDS = {
    "minilm": lambda i, n: tokens(8 + 504 * i // n),
    "minilm_int8": lambda i, n: tokens(8 + 504 * i // n),
    "t5_encoder": lambda i, n: tokens(8 + 504 * i // n),
    "crnn": lambda i, n: image(1, 32, 32 + 8 * i),
    "detector": lambda i, n: image(3, 64 + 32 * (i % 16), 96 + 32 * (i // 4)),
}


def model(name, work):
    path = os.path.join(work, name + ".onnx")
    if name in ("minilm", "minilm_int8"):
        plain, _ = prepare("minilm", work)
        if name == "minilm":
            return plain
        from onnxruntime.quantization import quantize_dynamic
        quantize_dynamic(plain, path)
    else:
        onnx.save(getattr(open_models, name)(), path)
    return path


def sides(path, shapes):
    import dnnl_tp
    import onnxruntime
    ours = dnnl_tp.Session(path, threads=1, max_calls=shapes)
    yield "ours", lambda feed: list(ours.run(feed).values())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    ort = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    yield "ORT", lambda feed: ort.run(None, feed)


def timed(run, feed):
    start = time.process_time()
    result = run(feed)
    return (time.process_time() - start) * 1e3, result


def measure(path, name, shapes, number):
    """(first ms, MB after it, [(ms of a new shape, ms of its run)], MB more after all, MB more after all again, results)"""
    before = resident()
    made = sides(path, shapes)
    for _ in range(number + 1):
        _, run = next(made)
    first, at, rows, results, held = None, [], [], [], 0.
    feeds = [FEEDS[name](i, shapes) for i in range(shapes)]
    for feed in feeds[-1:] + feeds[:-1]:  # the largest one first: its memory serves all others
        new, result = timed(run, feed)
        again = min(timed(run, feed)[0] for _ in range(3))
        if first is None:
            first = new - again
        else:
            rows.append((new - again, again))
        results.append(result)
        held += sum(x.nbytes for x in result) / 2 ** 20
        at.append(resident() - before - held)
    for feed in feeds:
        run(feed)
    return first, at[0], rows, at[-1] - at[0], resident() - before - held - at[0], results


def intermediates(path, feed):
    """MB of all tensors that the nodes of the model make."""
    import onnxruntime
    whole = onnx.load(path)
    outputs = {o.name for o in whole.graph.output}
    whole.graph.output.extend(onnx.ValueInfoProto(name=n) for node in whole.graph.node for n in node.output
                              if n and n not in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return sum(x.nbytes for x in session.run(None, feed)) / 2 ** 20


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("shapes",))
    p.add_argument("--names", type=lambda text: text.split(","), default=[*FEEDS])
    p.add_argument("--shapes", type=int, default=64)
    o = p.parse_args()
    print(f"machine: {cpu_name()}; load {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as work:
        for name in o.names:
            path = model(name, work)
            size = os.path.getsize(path) / 2 ** 20
            got, largest = [], intermediates(path, FEEDS[name](o.shapes - 1, o.shapes))
            for number, side in enumerate(("ours", "ORT")):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    first, begin, rows, more, again, results = pool.apply(measure, (path, name, o.shapes, number))
                new, run = np.array(rows).T
                over = (new > np.maximum(BAR_MS, BAR_SHARE * run)).mean()
                got.append(results)
                print(f"{name:>12} ({size:.0f} MB) {side:>4}: first {first:.1f} ms, {begin:.0f} MB; a new shape {np.median(new):.3f} ms "
                      f"({new.min():.3f} to {new.max():.3f}), {np.median(new / run):.1%} of its run, {over:.0%} beyond the bar; "
                      f"{more:+.1f} MB after {o.shapes} shapes, {again:+.1f} after each once more", flush=True)
            worst = max(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30) for x, y in zip(*got) for a, b in zip(x, y))
            print(f"{'':>12} intermediates of the largest shape {largest:.1f} MB; largest relative difference {worst:.2g}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
