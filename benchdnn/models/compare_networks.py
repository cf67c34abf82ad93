"""Networks from ONNX files against ONNX Runtime and OpenVINO, f32, batch 1, each through its Python package, from the same arrays
to the same arrays. Run it through the script `compare`, which brings what it needs. With --bf16: ours with fpmath="bf16" against
OpenVINO with INFERENCE_PRECISION_HINT bf16, whose effective precision is printed.

  compare networks            medians and minima at 1 and 2 threads
  compare network_clients     1, 2, 4, 8 clients on two processors: throughput against the best of the peers' four modes
  compare network_first       from the path of a file to its first result, in fresh processes that have imported the package
  compare network_batches     how long a call of another batch size is compiled, in one session; packing is in the first
  compare network_lengths     memory of one session over 16 lengths of MiniLM, in f32 and with weights and activations of int8
  compare network_minilm      MiniLM imported from its file against the graph that the sentence encoder builds by hand
"""
import argparse
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

from compare import MODES as BEST_MODE, PEERS, arguments, cpu_name, make_ids
from lockstep import Side, take_turns
from networks import MODELS, NAMES, here, prepare, root, varied
from seeded import free_batch, load

CLIENT_NETWORKS = ["squeezenet", "resnet50", "silero_vad_op18_ifless"]
MODES = ("ort-sessions", "ort-shared", "ov", "ov-streams")
INPUTS = 8
LARGEST = 1e-4  # relative L2 between two sides
LARGEST_BF16 = .05  # both in bf16


def resident():
    """MB of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def memory_by_length(path, threads):
    """MB more than before: a session of MiniLM after its first length, and after each further one. In a process of its own."""
    import dnnl_tp
    before, at = resident(), []
    with dnnl_tp.Session(path, threads=threads) as session:
        for tokens in range(8, 136, 8):
            ids = np.random.default_rng(tokens).integers(1000, 20000, (1, tokens)).astype(np.int64)
            session.run({"ids": ids, "mask": np.ones_like(ids)})
            at.append(resident() - before)
    return at


class Compare:
    def __init__(self, options, work):
        self.o, self.work = options, work
        self.feeds = os.path.join(work, "feeds.pickle")

    def prepare(self, name):
        got = prepare(name, self.work)
        if got is None:
            print(f"{name:>24} is not there: DNNL_TP_TEST_MODELS names no folder with it", flush=True)
            return None
        with open(self.feeds, "wb") as f:
            pickle.dump(varied(got[1], INPUTS), f)
        return got[0]

    def side(self, kind, model, threads, clients):
        return Side(kind, [sys.executable, os.path.join(here, "network_peer.py"), kind, model, self.feeds, str(threads),
                           str(clients), "bf16" if self.o.bf16 else "f32"])

    def check(self, sides):
        path, first = os.path.join(self.work, "check.npy"), None
        for s in sides:
            s.check(path)
            got = np.load(path).astype(np.float64)
            first = got if first is None else first
            far = np.linalg.norm(got - first) / np.linalg.norm(first)
            if not far <= (LARGEST_BF16 if self.o.bf16 else LARGEST):
                raise SystemExit(f"compare: {s.name} differs from {sides[0].name} by {far:.2g}")

    def networks(self):
        geo = {}
        for threads in self.o.threads:
            print(f"{threads} thread{'s' * (threads > 1)}: ms, medians (minima); ratio = the faster peer / ours")
            for name in self.o.names:
                model = self.prepare(name)
                if model is None:
                    continue
                sides = [self.side(kind, model, threads, 1) for kind in (("ours", "ov") if self.o.bf16 else ("ours", "ort", "ov"))]
                self.check(sides)
                take_turns(sides, self.o.rounds, self.o.block_ms)
                median = [float(np.median(s.medians)) * 1e-6 for s in sides]
                least = [min(s.samples) * 1e-6 for s in sides]
                ratios = [min(v[1:]) / v[0] for v in (median, least)]
                if name in NAMES:
                    geo.setdefault(threads, []).append(ratios)
                for s, m, x in list(zip(sides, median, least))[1:]:
                    self.o.rows_out.add(threads=threads, type="bf16" if self.o.bf16 else "f32", row=name, unit="ms", ours=median[0],
                                        ours_best=least[0], peer=PEERS[s.name](), theirs=m, theirs_best=x)
                print(f"{name:>24} " + " ".join(f"{s.name} {m:.4g} ({x:.4g})" for s, m, x in zip(sides, median, least)) +
                      f"  ratio {ratios[0]:.2f} ({ratios[1]:.2f})", flush=True)
                for s in sides:
                    s.close()
            if threads in geo:
                print(f"{'geometric mean':>24} " + " ".join(f"{math.exp(np.mean(np.log(v))):.3f}" for v in zip(*geo[threads])))

    def network_first(self):
        kinds = ("ours", "ort", "ov")
        for threads in self.o.threads:
            geo = []
            print(f"{threads} thread{'s' * (threads > 1)}: ms to the first result, medians (minima) of {self.o.rounds} processes each; "
                  "ratio = the faster peer / ours")
            for name in self.o.names:
                model = self.prepare(name)
                if model is None:
                    continue
                took = {k: [] for k in kinds}
                for r in range(self.o.rounds):
                    for i in range(len(kinds)):
                        kind = kinds[(i + r) % len(kinds)]
                        command = [sys.executable, os.path.join(here, "network_peer.py"), kind, model, self.feeds, str(threads), "first"]
                        done = subprocess.run(command, check=True, capture_output=True, text=True)
                        took[kind].append(int(done.stdout.split()[-1]) * 1e-6)
                ratios = [min(f(took["ort"]), f(took["ov"])) / f(took["ours"]) for f in (np.median, min)]
                if name in NAMES:
                    geo.append(ratios)
                for k in kinds[1:]:
                    self.o.rows_out.add(threads=threads, type="f32", row=name, unit="ms", ours=float(np.median(took["ours"])),
                                        ours_best=min(took["ours"]), peer=PEERS[k](), theirs=float(np.median(took[k])), theirs_best=min(took[k]))
                print(f"{name:>24} " + " ".join(f"{k} {np.median(t):.4g} ({min(t):.4g})" for k, t in took.items()) +
                      f"  ratio {ratios[0]:.2f} ({ratios[1]:.2f})", flush=True)
            if geo:
                print(f"{'geometric mean':>24} " + " ".join(f"{math.exp(np.mean(np.log(v))):.3f}" for v in zip(*geo)))

    def network_clients(self):
        threads = 2
        print(f"clients on {threads} processors: runs per second, medians of {self.o.rounds} rounds; p99 of all runs; ratio = ours / best mode")
        for name in self.o.names:
            model = self.prepare(name)
            for clients in self.o.clients if model else ():
                sides = [self.side(kind, model, threads, clients) for kind in ("ours", *MODES)]
                self.check(sides)
                rates = take_turns(sides, self.o.rounds, self.o.block_ms, clients)
                rate = {n: float(np.median(v)) for n, v in rates.items()}
                best = max(MODES, key=rate.get)
                ratio = float(np.median([a / b for a, b in zip(rates["ours"], rates[best])]))
                p99 = {s.name: float(np.quantile(s.samples, .99)) * 1e-6 for s in sides}
                self.o.rows_out.add(threads=threads, type="f32", row=f"{name}, {clients} client{'s' * (clients > 1)}", unit="runs/s",
                                    ours=rate["ours"], peer=BEST_MODE, theirs=rate[best], ratio=ratio)
                print(f"{name:>24} {clients} clients: " + " ".join(f"{n} {rate[n]:.1f}/s" for n in rate) +
                      f"  ratio {ratio:.2f} (best: {best}); p99 ours {p99['ours']:.3g} ms, {best} {p99[best]:.3g} ms; "
                      f"cpu/wall {sides[0].cpu / sides[0].wall:.2f}", flush=True)
                for s in sides:
                    s.close()

    def network_batches(self):
        import dnnl_tp
        for name in self.o.names:
            model, _, x = load(name)
            free_batch(model)
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
            path = os.path.join(self.work, "batches.onnx")
            onnx.save(model, path)
            for threads in self.o.threads:
                with dnnl_tp.Session(path, threads=threads) as session:
                    taken = []
                    for batch in range(8, 0, -1):
                        images = np.repeat(x, batch, 0)
                        begin = time.perf_counter()
                        session._call_for([images])
                        taken.append((time.perf_counter() - begin) * 1e3)
                        session.run({session.inputs[0].name: images})
                print(f"{name:>24} {threads} threads, batches 8 to 1: " + " ".join(f"{t:.2f}" for t in taken) + " ms", flush=True)

    def network_lengths(self):
        from onnxruntime.quantization import quantize_dynamic
        plain, _ = prepare("minilm", self.work)
        quantised = os.path.join(self.work, "minilm_int8.onnx")
        quantize_dynamic(plain, quantised)
        for name, path in (("f32", plain), ("int8", quantised)):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                at = pool.apply(memory_by_length, (path, self.o.threads[0]))
            print(f"MiniLM {name}, {self.o.threads[0]} thread(s): {at[0]:.0f} MB at 8 tokens, {at[-1] - at[0]:.0f} MB more after "
                  f"{len(at)} lengths", flush=True)

    def network_minilm(self):
        program = os.path.join(root, "build", "default", "bin", "sentence_encoder")
        folder = os.path.join(root, "models", "all-MiniLM-L6-v2")
        ids = os.path.join(self.work, "ids.npy")
        model, feed = prepare("minilm", self.work)
        tokens = feed["ids"].shape[1]
        make_ids(ids, INPUTS, 1, tokens)
        with open(self.feeds, "wb") as f:
            pickle.dump([{"ids": row[None].astype(np.int64), "mask": np.ones((1, tokens), np.int64)} for row in np.load(ids)], f)
        for threads in self.o.threads:
            built = Side("built", [program, "bench", "--model", folder, "--step", "--ids", ids, "--batch", "1", "--tokens",
                                   str(tokens), "--threads", str(threads), "--clients", "1", "--pool", "builtin"])
            sides = [self.side("ours", model, threads, 1), built]
            self.check(sides)
            take_turns(sides, self.o.rounds, self.o.block_ms)
            median = [float(np.median(s.medians)) * 1e-6 for s in sides]
            least = [min(s.samples) * 1e-6 for s in sides]
            print(f"MiniLM 1 x {tokens}, {threads} threads: imported {median[0]:.3f} ms ({least[0]:.3f}), built by hand {median[1]:.3f} "
                  f"({least[1]:.3f}); built / imported {median[1] / median[0]:.3f} ({least[1] / least[0]:.3f})", flush=True)
            for s in sides:
                s.close()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("networks", "network_first", "network_clients", "network_batches", "network_lengths",
                                      "network_minilm"))
    p.add_argument("--names", type=lambda text: text.split(","), help="networks; default: all, or those of the clients' rows")
    options = arguments(p, 5, 120, "networks")
    defaults = {"network_clients": CLIENT_NETWORKS, "network_batches": ["resnet50", "densenet121"]}
    options.names = options.names or defaults.get(options.what, [*NAMES, *MODELS])
    print(f"machine: {cpu_name()}; processors used: {options.cpus}; load {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as work:
        getattr(Compare(options, work), options.what)()


if __name__ == "__main__":
    main()
