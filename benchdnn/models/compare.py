"""The sentence encoder against ONNX Runtime and OpenVINO, on the same ids, to the same pooled and normalised
embeddings, in f32. Run it through the script `compare`, which brings what it needs.

  compare latency    the rows batch x tokens at 1 and 2 threads: medians, ratios, geometric means, minima; --bf16: ours with
                     --bf16 against OpenVINO with INFERENCE_PRECISION_HINT bf16, whose effective precision is printed
  compare clients    1, 2, 4, 8 clients x 32 tokens on two processors: throughput, p99, processor time
  compare accuracy   every line of a text file: ids against `tokenizers`, embeddings against float64 and ONNX Runtime
  compare first      first against second run of 20 new executables a row; page faults apart: memory that nobody touched yet
  compare all        the four
"""
import argparse
import csv
import importlib
import math
import os
import platform
import re
import subprocess
import sys
import tempfile

import numpy as np

from export_onnx import export
from lockstep import Side, take_turns

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(root, "examples", "sentence_encoder", "tools"))
ROWS = [(1, 8), (1, 16), (1, 32), (1, 128), (8, 32), (8, 128), (32, 128)]
MAX_DIFFERENCE, MIN_COSINE = 2e-5, .999999  # between f32 outputs of unit length; typical is 1e-7
MAX_DIFFERENCE_BF16, MIN_COSINE_BF16 = 2e-2, .998
ORACLE_LINES = 16  # in one float64 evaluation
POOLS = ("own", "builtin")
MODES = "best of four modes of ONNX Runtime and OpenVINO"
FRESH, FIRST_BAR = 20, 1.2  # executables; first run by second


def version_of(module, name):
    return f"{name} {importlib.import_module(module).__version__.split('-')[0]}"


PEERS = {"ort": lambda: version_of("onnxruntime", "ONNX Runtime"), "ov": lambda: version_of("openvino", "OpenVINO")}


def make_ids(path, inputs, batch, tokens, vocabulary=30522, seed=0):
    """[CLS] words [SEP], fresh for each run of a block."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1000, min(20000, vocabulary), (inputs * batch, tokens)).astype(np.int32)
    ids[:, 0], ids[:, -1] = 101, 102
    np.save(path, ids)


class Compare:
    def __init__(self, options, work):
        self.o, self.work = options, work
        self.fused_kinds = export(options.model, work)
        self.plain, self.fused = (os.path.join(work, f) for f in ("plain.onnx", "fused.onnx"))
        self.ids = os.path.join(work, "ids.npy")

    def ours(self, pool, batch, tokens, threads, clients):
        return Side(f"ours/{pool}", [self.o.program, "bench", "--model", self.o.model, "--step", "--ids", self.ids,
                                     "--batch", str(batch), "--tokens", str(tokens), "--threads", str(threads),
                                     "--clients", str(clients), "--pool", pool, *(["--bf16", "--quiet"] if self.o.bf16 else [])])

    def peer(self, kind, batch, threads, clients):
        model = self.fused if kind.startswith("ort") else self.plain
        return Side(kind, [sys.executable, os.path.join(here, "peer.py"), kind, model, self.ids, str(batch), str(threads),
                           str(clients), "bf16" if self.o.bf16 else "f32"])

    def check(self, sides):
        """All sides give the same embeddings. Returns the largest difference."""
        outputs = []
        for s in sides:
            path = os.path.join(self.work, "check.npy")
            s.check(path)
            outputs.append(np.load(path).astype(np.float64))
        worst = max(float(abs(o - outputs[0]).max()) for o in outputs)
        cosine = min(float((o * outputs[0]).sum(1).min()) for o in outputs)
        limit, least = (MAX_DIFFERENCE_BF16, MIN_COSINE_BF16) if self.o.bf16 else (MAX_DIFFERENCE, MIN_COSINE)
        if not worst <= limit or not cosine >= least:
            raise SystemExit(f"compare: outputs differ: {[s.name for s in sides]}: max abs {worst:.2g}, cosine {cosine:.8f}")
        return worst

    def settings(self):
        import onnxruntime
        import openvino
        print(f"machine: {platform.machine()}, {cpu_name()}; processors used: {sorted(os.sched_getaffinity(0))}; load {os.getloadavg()[0]:.2f}")
        print(f"ONNX Runtime {onnxruntime.__version__}: transformer optimizer ({', '.join(f'{v} {k}' for k, v in self.fused_kinds.items())}), "
              "ORT_ENABLE_ALL, intra_op_num_threads = threads, inter_op_num_threads 1, spinning allowed (default)")
        print(f"OpenVINO {openvino.__version__.split('-')[0]}: static shapes, INFERENCE_PRECISION_HINT {'bf16' if self.o.bf16 else 'f32'}, INFERENCE_NUM_THREADS = threads, "
              "NUM_STREAMS 1 with LATENCY (or 2 with THROUGHPUT), ENABLE_CPU_PINNING off, shared inputs and outputs")
        print("ids to pooled, normalised embeddings; fresh ids each run; processes in lock step, blocks of at least "
              f"{self.o.block_ms} ms, each started when all other threads sleep, first run of a block dropped; "
              f"medians of {self.o.rounds} rounds\n")

    def latency(self):
        geo = {}
        peers = {"ov": "OV"} if self.o.bf16 else {"ort": "ORT", "ov": "OV"}
        columns = ["own", "builtin", *peers.values()]
        pairs = [(f"{p}/{o}", p, ours) for o, ours in (("own", "own"), ("blt", "builtin")) for p in reversed(peers.values())]
        pairs.append(("blt/own", "builtin", "own"))
        for threads in self.o.threads:
            print(f"latency{', bf16' * self.o.bf16}, {threads} thread{'s' * (threads > 1)} (ms; ratio = peer's median / ours of the pool, by round)")
            print(f"{'row':>9} " + " ".join(f"{n:>9}" for n in columns) + " | " + " ".join(f"{n:>7}" for n, _, _ in pairs) +
                  f" | {'cpu/wall':>8} {'max diff':>8} | fastest runs, ms")
            for batch, tokens in self.o.rows:
                make_ids(self.ids, 16, batch, tokens)
                sides = [self.ours(p, batch, tokens, threads, 1) for p in POOLS]
                sides += [self.peer(k, batch, threads, 1) for k in peers]
                worst = self.check(sides)
                take_turns(sides, self.o.rounds, self.o.block_ms)
                medians = {n: [m * 1e-6 for m in s.medians] for n, s in zip(columns, sides)}
                least = {n: min(s.samples) * 1e-6 for n, s in zip(columns, sides)}
                ratio = {}
                for name, a, b in pairs:
                    ratio[name] = float(np.median([x / y for x, y in zip(medians[a], medians[b])]))
                    geo.setdefault((threads, name, "medians"), []).append(ratio[name])
                    geo.setdefault((threads, name, "minima"), []).append(least[a] / least[b])
                for k, peer in peers.items():
                    self.o.rows_out.add(threads=threads, type="bf16" if self.o.bf16 else "f32", row=f"{batch} x {tokens}", unit="ms",
                                        ours=float(np.median(medians["own"])), ours_best=least["own"], peer=PEERS[k](),
                                        theirs=float(np.median(medians[peer])), theirs_best=least[peer], ratio=ratio[f"{peer}/own"])
                print(f"{batch:>4} x {tokens:<3}" + "".join(f" {np.median(x):9.3f}" for x in medians.values()) + " |" +
                      "".join(f" {ratio[n]:7.2f}" for n, _, _ in pairs) +
                      f" | {sides[0].cpu / sides[0].wall:8.2f} {worst:8.1g} | " + " ".join(f"{x:.3f}" for x in least.values()), flush=True)
                for s in sides:
                    s.close()
            print()
        print("blt/own: time on the built-in pool / time on the example's own (1 = equal, below 1 = the own pool is slower)")
        print(f"{'ratio':>8} {'threads':>8} {'of':>8} {'geomean':>8} {'worst':>8}")
        for name, _, _ in pairs:
            for threads in [*self.o.threads, "all"]:
                for of in ("medians", "minima"):
                    r = [x for (t, n, o), v in geo.items() if (n, o) == (name, of) and threads in (t, "all") for x in v]
                    print(f"{name:>8} {threads:>8} {of:>8} {math.exp(np.mean(np.log(r))):8.3f} {min(r):8.3f}")
        print()

    def clients(self):
        threads, tokens, ms = 2, 32, max(self.o.block_ms, 500)
        kinds = ("ort-sessions", "ort-shared", "ov", "ov-streams")
        print(f"clients x {tokens} tokens, {threads} processors (runs per second, p99 in ms; ratio = ours / the best of the four)")
        print("p99 / (C / rate): by round, the median; of all runs together it has what disturbed the machine, which delays all clients at once")
        print("ort-sessions: a session of 2 threads per client; ort-shared: one session of 1 thread; ov: 1 stream; ov-streams: 2 streams")
        for clients in self.o.clients:
            make_ids(self.ids, 64, 1, tokens)
            sides = [self.ours(p, 1, tokens, threads, clients) for p in POOLS]
            sides += [self.peer(k, 1, threads, clients) for k in kinds]
            self.check(sides)
            rates = take_turns(sides, self.o.rounds, ms, clients)
            median = {n: float(np.median(v)) for n, v in rates.items()}
            best = max(kinds, key=lambda k: median[k])
            for s in sides:
                p99 = float(np.quantile(s.samples, 0.99)) * 1e-6
                line = f"{clients:>3} {s.name:>13} {median[s.name]:8.1f}/s p50 {np.median(s.samples) * 1e-6:7.2f} p99 {p99:7.2f} cpu/wall {s.cpu / s.wall:5.2f}"
                if s.name.startswith("ours"):
                    ratio = float(np.median([a / b for a, b in zip(rates[s.name], rates[best])]))
                    tail = float(np.median([p * 1e-9 * rate / clients for p, rate in zip(s.p99, rates[s.name])]))
                    if s.name == "ours/own":
                        self.o.rows_out.add(threads=threads, type="f32", row=f"sentence encoder, {clients} client{'s' * (clients > 1)} of "
                                            f"{tokens} tokens", unit="runs/s", ours=median[s.name], peer=MODES, theirs=median[best],
                                            ratio=ratio)
                    line += f" ratio {ratio:5.2f} (best: {best}) p99 / (C / rate) {tail:5.2f} by round, {p99 * 1e-3 / (clients / median[s.name]):.2f} of all"
                print(line, flush=True)
            for s in sides:
                s.close()
        print()

    def accuracy(self):
        import onnxruntime
        from bert_f64 import Bert
        from tokenizers import Tokenizer
        out = os.path.join(self.work, "lines.npy")
        common = ["--model", self.o.model, "--input", self.o.lines]
        text = subprocess.run([self.o.program, "tokenize", *common], check=True, capture_output=True, text=True).stdout
        ids = [[int(v) for v in line.split()] for line in text.splitlines()]
        subprocess.run([self.o.program, "embed", *common, "--output", out, "--quiet", "--threads", "2"], check=True)
        ours = np.load(out).astype(np.float64)
        with open(self.o.lines, "rb") as f:
            lines = [x.removesuffix("\r") for x in f.read().decode("utf-8").split("\n")[:-1]]
        tokenizer = Tokenizer.from_file(os.path.join(self.o.model, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(256)
        equal = sum(e.ids == mine for e, mine in zip(tokenizer.encode_batch(lines), ids))
        session = onnxruntime.InferenceSession(self.fused, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        bert = Bert(self.o.model)
        ort, exact = np.empty_like(ours), np.empty_like(ours)
        for i, row in enumerate(ids):
            a = np.array([row], np.int64)
            ort[i] = session.run(None, {n: a if "id" in n else np.ones_like(a) for n in names})[0][0]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for begin in range(0, len(ids), ORACLE_LINES):
            some = order[begin:begin + ORACLE_LINES]
            exact[some] = bert.embed([ids[i] for i in some])
        cosine = (ours * ort).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(ort, axis=1)
        mine, theirs = float(abs(ours - exact).max()), float(abs(ort - exact).max())
        print(f"accuracy: {len(ids)} lines, ids equal on {equal}; cosine to ONNX Runtime >= {cosine.min():.9f}; "
              f"max abs error to f64: ours {mine:.3g}, ONNX Runtime {theirs:.3g}, ratio {mine / theirs:.2f}\n")
        if equal != len(ids) or cosine.min() < 0.999999 or mine > 2 * theirs:
            raise SystemExit("compare: accuracy falls short")


    def first(self):
        for threads in self.o.threads:
            print(f"first run / second run, medians of {FRESH} new executables, {threads} thread{'s' * (threads > 1)} (bar {FIRST_BAR})")
            print(f"{'batch x tokens':>15} {'pool':>8} {'first ms':>9} {'second ms':>9} {'ratio':>6} {'page faults':>12}")
            for batch, tokens in self.o.rows:
                for pool in POOLS:
                    done = subprocess.run(
                        [self.o.program, "bench", "--model", self.o.model, "--batch", str(batch), "--tokens", str(tokens),
                         "--threads", str(threads), "--pool", pool, "--fresh", str(FRESH)],
                        capture_output=True, text=True, check=True)
                    got = dict(word.split("=") for word in done.stdout.split()[1:])
                    print(f"{f'{batch} x {tokens}':>15} {pool:>8} {got['first_ms']:>9} {got['second_ms']:>9} {got['ratio']:>6} "
                          f"{got['page_faults'].replace(',', ' / '):>12}")
            print()


def cpu_name():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"


class Csv:
    """Rows in the columns of scripts/results, for `scripts/results add`; nothing without a path."""

    COLUMNS = "isa threads type row unit ours ours_best peer theirs theirs_best ratio ratio_best command".split()

    def __init__(self, path):
        self.file = open(path, "w", newline="", encoding="utf-8") if path else None
        if self.file:
            self.writer = csv.DictWriter(self.file, self.COLUMNS, restval="", lineterminator="\n")
            self.writer.writeheader()

    def add(self, **row):
        if self.file:
            command = re.sub(r" --csv[= ]\S+", "", " ".join(sys.argv[1:]))
            limits = "".join(f"{k}={os.environ[k]} " for k in ("DNNL_TP_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA") if k in os.environ)
            isa = os.environ.get("DNNL_TP_MAX_CPU_ISA", "")
            self.writer.writerow({"isa": isa, "command": f"{limits}benchdnn/models/compare {command}",
                                  **{k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()}})
            self.file.flush()


def rows(text):
    return [tuple(int(v) for v in row.split("x")) for row in text.split(",")]


def numbers(text):
    return [int(v) for v in text.split(",")]


def arguments(p, rounds, block_ms, in_bf16):
    """Options that programs of comparisons share. rounds, block_ms: defaults; in_bf16: what --bf16 is for."""
    p.add_argument("--threads", type=numbers, default=[1, 2])
    p.add_argument("--clients", type=numbers, default=[1, 2, 4, 8])
    p.add_argument("--rounds", type=int, default=rounds)
    p.add_argument("--block-ms", type=int, default=block_ms)
    p.add_argument("--cpus", type=numbers, default=sorted(os.sched_getaffinity(0))[:2], help="processors all sides share")
    p.add_argument("--bf16", action="store_true", help=f"{in_bf16}: both sides in bf16; ONNX Runtime has no such mode")
    p.add_argument("--csv", metavar="FILE", help="writes the rows for `scripts/results add CLASS FILE`")
    options = p.parse_args()
    options.rows_out = Csv(options.csv)
    if options.bf16 and options.what != in_bf16:
        p.error(f"--bf16 is for {in_bf16}")
    os.sched_setaffinity(0, options.cpus)
    options.block_ms = max(options.block_ms, 50)
    return options


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("latency", "clients", "accuracy", "first", "all"))
    p.add_argument("--program", default=os.path.join(root, "build", "default", "bin", "sentence_encoder"))
    p.add_argument("--model", default=os.path.join(root, "models", "all-MiniLM-L6-v2"))
    p.add_argument("--lines", default=os.path.join(root, "examples", "sentence_encoder", "data", "lines.txt"))
    p.add_argument("--rows", type=rows, default=ROWS, help="e.g. 1x8,8x32")
    options = arguments(p, 15, 60, "latency")
    with tempfile.TemporaryDirectory() as work:
        compare = Compare(options, work)
        compare.settings()
        for what in ("accuracy", "first", "latency", "clients"):
            if options.what in (what, "all"):
                getattr(compare, what)()


if __name__ == "__main__":
    main()
