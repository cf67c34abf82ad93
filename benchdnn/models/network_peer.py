"""One side of a comparison of networks, in a process of its own, driven over standard input (peer.py's commands):
  network_peer.py {ours|ort|ort-sessions|ort-shared|ov|ov-streams} MODEL.onnx FEEDS.pickle THREADS CLIENTS [PRECISION]
PRECISION: f32 (default) or bf16, which ours and ov know.
ours: the Python package; one session on a pool of THREADS for all clients. ort-sessions: a session of THREADS for each client;
ort-shared: one session of 1 thread, in which each client computes itself; ov: 1 stream; ov-streams: 2 streams.
CLIENTS `first`: prints the nanoseconds from the path of the file to the first result, once the package is imported."""
import importlib
import pickle
import sys
import time

import numpy as np

from peer import ort_session, serve


def ours_runs(model, threads, clients, precision):
    import dnnl_tp
    session = dnnl_tp.Session(model, threads=threads, fpmath="bf16" if precision == "bf16" else "strict")
    name = session.outputs[0].name
    return [lambda feed: session.run(feed)[name]] * clients


def ort_runs(kind, model, threads, clients):
    if kind == "ort-shared":
        sessions = [ort_session(model, 1)] * clients
    elif kind == "ort-sessions":
        sessions = [ort_session(model, threads) for _ in range(clients)]
    else:
        sessions = [ort_session(model, threads)] * clients
    return [lambda feed, s=s: s.run(None, feed)[0] for s in sessions]


def ov_runs(kind, model, feed, threads, clients, precision):
    import openvino as ov
    from peer import print_precision
    core = ov.Core()
    graph = core.read_model(model)
    graph.reshape({n: list(a.shape) for n, a in feed.items()})
    streams = 2 if kind == "ov-streams" else 1
    compiled = core.compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams, "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT", "ENABLE_CPU_PINNING": False})
    if precision != "f32":
        print_precision(compiled)

    def client(request):
        def run(one):
            request.infer(one, share_inputs=True, share_outputs=True)
            return request.get_output_tensor(0).data
        return run
    return [client(compiled.create_infer_request()) for _ in range(clients)]


def main():
    kind, model, feeds_path, threads, clients, *precision = sys.argv[1:]
    precision = precision[0] if precision else "f32"
    is_first = clients == "first"
    threads, clients = int(threads), 1 if is_first else int(clients)
    with open(feeds_path, "rb") as f:
        feeds = pickle.load(f)
    if is_first:
        importlib.import_module({"ours": "dnnl_tp", "ort": "onnxruntime", "ov": "openvino"}[kind])
    start = time.perf_counter_ns()
    if kind == "ours":
        runs = ours_runs(model, threads, clients, precision)
    elif kind.startswith("ort"):
        runs = ort_runs(kind, model, threads, clients)
    else:
        runs = ov_runs(kind, model, feeds[0], threads, clients, precision)
    if is_first:
        runs[0](feeds[0])
        print(time.perf_counter_ns() - start)
        return
    serve([lambda i, r=r: np.asarray(r(feeds[i])).reshape(1, -1) for r in runs], len(feeds))


if __name__ == "__main__":
    main()
