"""One peer in a process of its own, driven over standard input like `sentence_encoder bench --step`:
  peer.py {ort|ort-sessions|ort-shared|ov|ov-streams} MODEL.onnx IDS.npy BATCH THREADS CLIENTS [PRECISION]
PRECISION: f32 (default) or bf16, which OpenVINO knows.
Everything is warm when "ready" is printed; see bench.c for the commands."""
import sys
import threading
import time

import numpy as np

WARM_UP_RUNS, MIN_RUNS = 3, 2


def ort_session(model, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3  # errors
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def print_precision(compiled):
    """What OpenVINO makes of the hint: of the whole, and by operator, as it says itself."""
    counts = {}
    for op in compiled.get_runtime_model().get_ordered_ops():
        info = op.get_rt_info()
        if "runtimePrecision" in info and "layerType" in info:
            kind = info["runtimePrecision"].astype(str)
            counts[kind] = counts.get(kind, 0) + 1
    print(f"OpenVINO: precision {compiled.get_property('INFERENCE_PRECISION_HINT')}, operators by what they run in: {counts}",
          file=sys.stderr, flush=True)


def ov_model(model, threads, streams, shape, precision="f32"):
    import openvino as ov
    core = ov.Core()
    graph = core.read_model(model)
    graph.reshape({"ids": shape, "mask": shape})
    compiled = core.compile_model(graph, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams, "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT", "ENABLE_CPU_PINNING": False})
    if precision != "f32":
        print_precision(compiled)
    return compiled


def make_clients(kind, model, inputs, threads, clients, precision="f32"):
    """A function per client: input index -> embeddings."""
    if kind.startswith("ort"):
        if kind == "ort-sessions":
            sessions = [ort_session(model, threads) for _ in range(clients)]
        else:
            sessions = [ort_session(model, 1 if kind == "ort-shared" else threads)] * clients
        names = [i.name for i in sessions[0].get_inputs()]
        feeds = [{n: (ids if "id" in n else mask) for n in names} for ids, mask in inputs]
        return [lambda i, s=s: s.run(None, feeds[i])[0] for s in sessions]
    compiled = ov_model(model, threads, 2 if kind == "ov-streams" else 1, list(inputs[0][0].shape), precision)
    feeds = [{"ids": ids, "mask": mask} for ids, mask in inputs]

    def client(request):
        def run(i):
            request.infer(feeds[i], share_inputs=True, share_outputs=True)
            return request.get_output_tensor(0).data
        return run
    return [client(compiled.create_infer_request()) for _ in range(clients)]


def block(clients, count, starts, ms):
    n = len(clients)
    samples = [[] for _ in range(n)]
    start = threading.Barrier(n + 1)
    end = [0.0]

    def run(c):
        f, mine, i, clock = clients[c], samples[c], starts[c], time.perf_counter_ns
        start.wait()
        while len(mine) < MIN_RUNS or clock() < end[0]:
            t = clock()
            f(i)
            mine.append(clock() - t)
            i = (i + 1) % count
        starts[c] = i

    workers = [threading.Thread(target=run, args=(c,)) for c in range(n)]
    for w in workers:
        w.start()
    begin, cpu = time.perf_counter_ns(), time.process_time_ns()
    end[0] = begin + ms * 1e6
    start.wait()
    for w in workers:
        w.join()
    wall, cpu = time.perf_counter_ns() - begin, time.process_time_ns() - cpu
    flat = [t for s in samples for t in s]
    return f"block {len(flat)} {wall} {cpu} " + " ".join(map(str, flat))


def main():
    kind, model, ids_path, batch, threads, clients = sys.argv[1:7]
    batch, threads, clients = int(batch), int(threads), int(clients)
    precision = sys.argv[7] if len(sys.argv) > 7 else "f32"
    ids = np.load(ids_path)
    count = len(ids) // batch
    inputs = [(np.ascontiguousarray(ids[i * batch:(i + 1) * batch].astype(np.int64)),
               np.ones((batch, ids.shape[1]), np.int64)) for i in range(count)]
    serve(make_clients(kind, model, inputs, threads, clients, precision), count)


def serve(functions, count):
    """Answers on standard output what comes on standard input, until that ends."""
    for f in functions:
        for _ in range(WARM_UP_RUNS):
            f(0)
    starts = [c * count // len(functions) for c in range(len(functions))]
    print("ready", flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "block":
            print(block(functions, count, starts, float(argument)), flush=True)
        elif command == "check":
            out = np.concatenate([np.array(functions[0](i)) for i in range(count)])
            np.save(argument, out)
            print(f"check {out.shape[0]} {out.shape[1]}", flush=True)
        else:
            break


if __name__ == "__main__":
    main()
