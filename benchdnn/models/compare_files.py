"""ONNX files, each at three sets of sizes for what is open, against ONNX Runtime and OpenVINO: do they agree, and how fast
are they? Run it through the script `compare`, which brings what it needs:

  compare files [--threads 1,2] [--ms 60] [--sizes SIZES.json] FILE.onnx ...

SIZES.json says what the sizes of dimensions alone do not tell: {"end of a path": {"input": VALUE, ...}, ...}, where VALUE is
a shape, a list of three shapes, or what the input holds: {"value": number or list}, {"values": list of three}. Other open
sizes are images of 192 to 352, sequences of 64 to 128, a batch of 1 or 2.

Minima of turns, so that other work on the machine slows all of them down; of 1 thread, the time of the processor, which other
work changes less. Each file is measured in a process of its own, so that one that ends it costs no other. ratio: the time of
the faster peer / ours. Results are compared with both peers, by the largest element of each; where not all three agree, the
line has the differences. A peer that differs from the other two computes another model and is none.
"""
import argparse
import json
import multiprocessing
import os
import time

import numpy as np
import onnx
from onnx import helper

SETS, SECONDS, LIMIT = 3, 300, 2e-3
TURN, TURNS, SAMPLE = .004, 5, 2e-4  # seconds of a turn at least, turns at least, seconds of a sample at least


def given_of(path, sizes):
    for end, inputs in sizes.items():
        if path.endswith(end):
            return inputs
    return {}


def feeds_of(model, given, number):
    """Inputs of set `number` of SETS."""
    random = np.random.default_rng(number)
    known, symbols, feeds = {i.name for i in model.graph.initializer}, {}, {}
    for i in (i for i in model.graph.input if i.name not in known):
        t, shape, wanted = i.type.tensor_type, [], given.get(i.name)
        dtype = helper.tensor_dtype_to_np_dtype(t.elem_type)
        if isinstance(wanted, dict):
            feeds[i.name] = np.array(wanted["value"] if "value" in wanted else wanted["values"][number], dtype)
            continue
        if wanted is not None:
            shape = wanted[number] if wanted and isinstance(wanted[0], list) else wanted
            rank = 0
        else:
            rank = len(t.shape.dim)
        for axis, d in enumerate(t.shape.dim if rank else []):
            open_size = ((1, 1, 2) if axis == 0 and rank > 1 else (3, 3, 3) if rank == 4 and axis == 1 else
                         (320, 320 + 32 * (axis - 2), 192 + 64 * (axis - 2)) if rank == 4 else (64, 96, 128))[number]
            size = d.dim_value if d.dim_value > 0 else symbols.setdefault(d.dim_param or f"{i.name}:{axis}", open_size)
            shape.append(size)
        feeds[i.name] = (random.standard_normal(shape) if dtype.kind in "fV" else
                         random.integers(0, 2 if dtype.kind == "b" else 30, shape)).astype(dtype)
    return feeds


def runs_of(kind, path, feeds, threads):
    """A function that runs the file and returns all results."""
    if kind == "ours":
        import dnnl_tp
        session = dnnl_tp.Session(path, threads=threads)
        return lambda: list(session.run(feeds).values())
    if kind == "ort":
        from peer import ort_session
        session = ort_session(path, threads)
        return lambda: session.run(None, feeds)
    import openvino
    graph = openvino.Core().read_model(path)
    graph.reshape({i: list(feeds[next(n for n in feeds if n in i.names)].shape) for i in graph.inputs})
    compiled = openvino.Core().compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False})
    request, used = compiled.create_infer_request(), {n: a for n, a in feeds.items() if any(n in i.names for i in graph.inputs)}
    outputs = [graph.outputs.index(o) for o in graph.outputs]

    def run():
        request.infer(used, share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in outputs]
    return run


def difference(a, b):
    """The largest one of all results, by the largest element of each; NaN: at places of only one; None: shapes."""
    most = 0.
    for x, y in zip(a, b):
        if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray) or y.dtype.kind not in "fiub":
            continue
        if x.shape != y.shape:
            return None
        x, y = x.astype(np.float64), y.astype(np.float64)
        if (np.isfinite(x) != np.isfinite(y)).any():
            return float("nan")
        x, y = x[np.isfinite(y)], y[np.isfinite(y)]
        if y.size:
            most = max(most, float(np.abs(x - y).max() / (np.abs(y).max() + 1e-6)))
    return most


def agrees(d):
    return d is not None and d <= LIMIT


def minima(runs, seconds, clock):
    """The least time of each, which take turns for so long."""
    least, begin, turns = dict.fromkeys(runs, np.inf), time.perf_counter(), 0
    while turns < TURNS or time.perf_counter() - begin < seconds * len(runs):
        for kind, run in runs.items():
            last = start = clock()
            while last - start < TURN:
                n = max(1, int(SAMPLE / least[kind]))
                for _ in range(n):
                    run()
                now = clock()
                least[kind], last = min(least[kind], (now - last) / n), now
        turns += 1
    return least


def survives(kind, path, feeds):
    """Whether a run does not end the process."""
    def once():
        try:
            runs_of(kind, path, feeds, 1)()
        except Exception:  # the caller finds it again
            pass
    process = multiprocessing.get_context("fork").Process(target=once)
    process.start()
    process.join()
    return process.exitcode == 0


def one_set(path, feeds, threads, seconds, kinds):
    """Text, ratio or None."""
    runs, results, text = {}, {}, ""
    for kind in kinds:
        try:
            runs[kind] = runs_of(kind, path, feeds, threads)
            results[kind] = [np.array(a) for a in runs[kind]()]
        except Exception as error:  # a size or an operator that this one does not take
            runs.pop(kind, None)
            if kind != "ov" or os.environ.get("COMPARE_FILES_WHY"):
                text += f" {kind}: {type(error).__name__} {' '.join(str(error).split())[-150:]}"
    if "ours" not in runs:
        return text or " ours did not run", None
    d = {kind: difference(results["ours"], results[kind]) for kind in ("ort", "ov") if kind in runs}
    if d and not all(agrees(v) for v in d.values()):
        text += " differs from " + ", ".join(f"{kind} {'shape' if v is None else f'{v:.1e}'}" for kind, v in d.items())
        if len(d) == 2:
            between = difference(results["ort"], results["ov"])
            text += f"; those from each other {'shape' if between is None else f'{between:.1e}'}"
    for kind, other in ("ort", "ov"), ("ov", "ort"):
        if len(d) == 2 and not agrees(d[kind]) and agrees(d[other]):
            del runs[kind]
    times = minima(runs, seconds, time.process_time if threads == 1 else time.perf_counter)
    peers = [v for kind, v in times.items() if kind != "ours"]
    ratio = min(peers) / times["ours"] if peers else None
    us = " ".join(f"{times[kind] * 1e6:10.1f}" if kind in times else f"{'-':>10}" for kind in ("ours", "ort", "ov"))
    return f"{us} {ratio or 0:6.2f}{text}", ratio


def one_file(path, sizes, threads, seconds, ratios):
    model = onnx.load(path)
    for number in range(SETS):
        feeds = feeds_of(model, given_of(path, sizes), number)
        shapes = ",".join("x".join(map(str, a.shape)) for a in feeds.values())
        kinds = ["ort", *(["ov"] if survives("ov", path, feeds) else []), "ours"]
        for t in threads:
            text, ratio = one_set(path, feeds, t, seconds, kinds)
            print(f"{os.sep.join(path.split(os.sep)[-2:]):50.50} {shapes:24.24} {t} {text}", flush=True)
            if ratio:
                ratios.put((t, ratio))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--ms", type=float, default=60)
    parser.add_argument("--sizes")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    sizes = json.load(open(options.sizes)) if options.sizes else {}
    threads, all_ratios = [int(t) for t in options.threads.split(",")], []
    print(f"{'file':50} {'sizes of inputs':24} threads; us: ours, ONNX Runtime, OpenVINO; ratio to the faster one")
    fork = multiprocessing.get_context("fork")
    for path in options.files:
        ratios = fork.Queue()
        process = fork.Process(target=one_file, args=(path, sizes, threads, options.ms / 1e3, ratios))
        process.start()
        process.join(SECONDS)
        if process.exitcode != 0:
            print(f"{path}: ended by {process.exitcode or f'more than {SECONDS} s'}", flush=True)
            process.kill()
        while not ratios.empty():
            all_ratios.append(ratios.get())
    for t in threads:
        of = [r for s, r in all_ratios if s == t]
        if of:
            print(f"{t} threads: {len(of)} rows, geometric mean {np.exp(np.mean(np.log(of))):.2f}, least {min(of):.2f}, "
                  f"{sum(r < 1 for r in of)} below 1")


if __name__ == "__main__":
    main()
