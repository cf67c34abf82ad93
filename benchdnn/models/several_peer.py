"""Several models in one process: one side of compare_several.py, driven over standard input.
  several_peer.py {ours|ort-sessions|ort-global|ort-single} FEEDS.pickle THREADS MODEL.onnx...
ours: sessions on one Pool of THREADS; ort-sessions: a pool of THREADS for each session; ort-global: ONNX Runtime's global pool of
THREADS; ort-single: sessions of one thread. Commands:
  turn K MS   model K alone in a loop: "turn NS..."
  chain MS    all models one after another, run by run: "chain NS..." of the first, then "| NS..." of the next
  all MS      a thread for each model, all at once: "all RUNS_PER_S... CPU_BY_WALL"
  check FILE  the first outputs, all in one array"""
import pickle
import sys
import threading
import time

import numpy as np

WARM_UP_RUNS, MIN_RUNS = 3, 2
clock = time.perf_counter_ns


def make_runs(kind, threads, paths):
    if kind == "ours":
        import dnnl_tp
        pool = dnnl_tp.Pool(threads)
        sessions = [dnnl_tp.Session(p, pool=pool) for p in paths]
        return [lambda feed, s=s, n=s.outputs[0].name: s.run(feed)[n] for s in sessions]
    import onnxruntime as ort
    if kind == "ort-global":
        ort.set_global_thread_pool_sizes(threads, 1)
    sessions = []
    for path in paths:
        options = ort.SessionOptions()
        options.log_severity_level = 3  # errors
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        if kind == "ort-global":
            options.use_per_session_threads = False
        else:
            options.intra_op_num_threads = 1 if kind == "ort-single" else threads
            options.inter_op_num_threads = 1
        sessions.append(ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
    return [lambda feed, s=s: s.run(None, feed)[0] for s in sessions]


class Models:
    def __init__(self, runs, feeds):
        self.runs, self.feeds, self.next = runs, feeds, [0] * len(runs)
        for k in range(len(runs)):
            for _ in range(WARM_UP_RUNS):
                self.run(k)

    def run(self, k):
        feeds = self.feeds[k]
        self.next[k] = (self.next[k] + 1) % len(feeds)
        begin = clock()
        self.runs[k](feeds[self.next[k]])
        return clock() - begin

    def turn(self, k, ms):
        end, times = clock() + ms * 1e6, []
        while len(times) < MIN_RUNS or clock() < end:
            times.append(self.run(k))
        return times[1:]

    def chain(self, ms):
        end, times = clock() + ms * 1e6, [[] for _ in self.runs]
        while len(times[0]) < MIN_RUNS or clock() < end:
            for k in range(len(self.runs)):
                times[k].append(self.run(k))
        return times

    def all(self, ms):
        rates, start = [0.] * len(self.runs), threading.Barrier(len(self.runs) + 1)

        def client(k):
            start.wait()
            begin = clock()
            done, end = 0, begin + ms * 1e6
            while done < MIN_RUNS or clock() < end:
                self.run(k)
                done += 1
            rates[k] = done / (clock() - begin) * 1e9

        workers = [threading.Thread(target=client, args=(k,)) for k in range(len(self.runs))]
        for w in workers:
            w.start()
        begin, cpu = clock(), time.process_time_ns()
        start.wait()
        for w in workers:
            w.join()
        return rates, (time.process_time_ns() - cpu) / (clock() - begin)


def main():
    kind, feeds, threads, *paths = sys.argv[1:]
    with open(feeds, "rb") as f:
        models = Models(make_runs(kind, int(threads), paths), pickle.load(f))
    print("ready", flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "turn":
            print("turn", *models.turn(int(words[0]), float(words[1])), flush=True)
        elif command == "chain":
            print("chain", " | ".join(" ".join(map(str, t)) for t in models.chain(float(words[0]))), flush=True)
        elif command == "all":
            rates, cpu = models.all(float(words[0]))
            print("all", *rates, cpu, flush=True)
        elif command == "check":
            np.save(words[0], np.concatenate([np.asarray(r(f[0])).ravel() for r, f in zip(models.runs, models.feeds)]))
            print("check", flush=True)
        else:
            break


if __name__ == "__main__":
    main()
