"""Rows of comparisons between two builds, for compare_without and compare_builds: commands that give figures, and what is
made of the figures of both sides when they run in turn."""
import csv
import math
import os
import re
import statistics
import subprocess
import sys
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = "models/all-MiniLM-L6-v2"
TARGETS = ["exec_bench", "virtual_cores", "shapes_bench", "pool_bench", "dataflow_bench", "sentence_encoder", "benchdnn"]
LESS, MORE = "less is better", "more is better"


class Row:
    """A command; run() gives [(label, unit, LESS or MORE, value, best value)]."""

    summary = None  # of what is measured: one line, with the worst

    def __init__(self, rounds):
        self.rounds = rounds


def output_of(command, **more):
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, **more)
    if done.returncode not in (0, 1):  # 1: virtual_cores, a row below its bar
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


class Encoder(Row):
    """The sentence encoder, ms of a run."""

    def __init__(self, batch, tokens, threads, rounds=5, clients=1):
        super().__init__(rounds)
        self.batch, self.tokens, self.threads, self.clients = batch, tokens, threads, clients

    def run(self, build, o):
        text = output_of([f"{build}/bin/sentence_encoder", "bench", "--model", MODEL, "--batch", str(self.batch), "--tokens",
                          str(self.tokens), "--threads", str(self.threads), "--clients", str(self.clients), "--pool", "builtin",
                          "--seconds", str(o.seconds)])
        found = dict(re.findall(r"(\w+)=([0-9.]+)", text))
        if self.clients > 1:
            return [(f"encoder, {self.clients} clients of {self.tokens} tokens, {self.threads} threads", "runs/s", MORE,
                     float(found["runs_per_s"]), float(found["runs_per_s"]))]
        return [(f"encoder {self.batch} x {self.tokens}, {self.threads} thread{'s' * (self.threads > 1)}", "ms", LESS,
                 float(found["median_ms"]), float(found["min_ms"]))]


class Fresh(Row):
    """First runs of new executables."""

    def __init__(self, batch, tokens, threads, rounds=4):
        super().__init__(rounds)
        self.batch, self.tokens, self.threads = batch, tokens, threads

    def run(self, build, o):
        text = output_of([f"{build}/bin/sentence_encoder", "bench", "--model", MODEL, "--batch", str(self.batch), "--tokens",
                          str(self.tokens), "--threads", str(self.threads), "--pool", "builtin", "--fresh",
                          "2" if o.dry_run else "10"])
        found = dict(re.findall(r"(\w+)=([0-9.]+)", text))
        first = float(found["first_ms"])
        return [(f"encoder {self.batch} x {self.tokens}, {self.threads} threads, first run of an executable", "ms", LESS, first,
                 first)]


class Embed(Row):
    """A text of mixed line lengths: all shapes, one after another."""

    def __init__(self, rounds=3):
        super().__init__(rounds)

    def run(self, build, o):
        out = os.path.join(o.work, "out.npy")
        lines = "examples/sentence_encoder/data/lines.txt"
        if o.dry_run:
            lines = os.path.join(o.work, "lines.txt")
            with open(lines, "w", encoding="utf-8") as f:
                f.write("a few words\n" * 20)
        process = subprocess.Popen([f"{build}/bin/sentence_encoder", "embed", "--model", MODEL, "--input", lines, "--output", out,
                                    "--pool", "builtin", "--threads", "2"], cwd=root, stderr=subprocess.PIPE, text=True)
        begin = time.monotonic()
        text = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = status
        if status:
            sys.exit(f"embed: {text}")
        rows = [("embed 1,085 lines, 2 threads", "s", LESS, seconds, seconds),
                ("the same, peak memory", "MB", LESS, used.ru_maxrss / 1024, used.ru_maxrss / 1024)]
        compiled = re.search(r"compiled in ([0-9.]+) ms each", text)
        if compiled:
            rows.append(("the same, compiling a new shape", "ms", LESS, float(compiled[1]), float(compiled[1])))
        return rows


class Graphs(Row):
    """exec_bench: the geometric mean over the rows of a table, ns a node, or share of the ideal where nodes take time."""

    def __init__(self, label, options, side, rounds=6, group="dag"):
        super().__init__(rounds)
        self.label, self.options, self.side, self.group = label, options, side, group

    def run(self, build, o):
        out = os.path.join(o.work, "rows.csv")
        if os.path.exists(out):
            os.remove(out)
        output_of([f"{build}/benchdnn/exec/exec_bench", f"--group={self.group}", "--rounds=1", "--block-ms=" +
                   ("1" if o.dry_run else "8"), f"--sides={self.side}", f"--csv={out}", *self.options])
        ideal, mine = {}, {}
        with open(out, encoding="utf-8") as f:
            for group, name, threads, ns, side, unit, median, *_ in csv.reader(f):
                key = (name, threads, int(float(ns)))
                if side == "ideal":
                    ideal[key] = float(median)
                elif side == self.side and unit.startswith("ns"):
                    mine[key] = float(median)
                elif side == "compile":
                    mine[key] = float(median)
        rows = []
        for ns in sorted({k[2] for k in mine}):
            keys = [k for k in mine if k[2] == ns]
            what = f"{self.label}, {ns} ns" if ns else self.label
            if ns and all(k in ideal for k in keys):
                value = statistics.mean(100 * ideal[k] / mine[k] for k in keys)
                rows.append((f"{what} ({len(keys)} graphs): share of the ideal", "%", MORE, value, value))
            else:
                value = geomean([mine[k] for k in keys])
                rows.append((f"{what} ({len(keys)} graph{'s' * (len(keys) > 1)})", "ns", LESS, value, value))
        return rows


class Cores(Row):
    """virtual_cores: work that sleeps on a pool of W threads, in % of the greedy schedule."""

    def __init__(self, label, options, rounds=3):
        super().__init__(rounds)
        self.label, self.options = label, options

    def run(self, build, o):
        text = output_of([f"{build}/benchdnn/pool/virtual_cores", *self.options])
        found = [float(x) for x in re.findall(r" ([0-9.]+) % \( *[0-9.]+ %\)", text)]
        if not found:
            sys.exit(f"virtual_cores {self.options}: no row")
        value = statistics.mean(found)
        return [(f"{self.label} ({len(found)} rows): of the greedy schedule", "%", MORE, value, value)]


class Loops(Row):
    """shapes_bench: us of a loop on the built-in pool; rows of one prefix as their geometric mean."""

    def __init__(self, prefixes, rounds=5):
        super().__init__(rounds)
        self.prefixes = prefixes

    def run(self, build, o):
        text = output_of([f"{build}/benchdnn/pool/shapes_bench", "--hosts=none", "--ms=" + ("1" if o.dry_run else "20"),
                          *self.prefixes])
        rows = []
        for prefix in self.prefixes:
            found = [float(x) for x in re.findall(rf"^{re.escape(prefix)}\S* +\S+ +([0-9.]+)/\S+$", text, re.M)]
            if not found:
                sys.exit(f"shapes_bench: no row {prefix}:\n{text}")
            rows.append((f"loops {prefix} ({len(found)} row{'s' * (len(found) > 1)})", "us", LESS, geomean(found), geomean(found)))
        return rows


class Pool(Row):
    """pool_bench: hand-off and clients."""

    def __init__(self, rounds=3):
        super().__init__(rounds)

    def run(self, build, o):
        text = output_of([f"{build}/benchdnn/pool/pool_bench", "--seconds=" + ("0.05" if o.dry_run else "0.5"), "handoff", "clients"])
        rows = []
        for name in ("two threads, back to back", "two threads, after 50 us"):
            found = re.search(rf"^ *{name} +median +([0-9.]+)", text, re.M)
            rows.append((f"two tasks of 10 us, {name}", "us", LESS, float(found[1]), float(found[1])))
        for clients in (1, 4):
            found = re.search(rf"^ *{clients} clients, 2 threads: +([0-9.]+) runs/s", text, re.M)
            rows.append((f"runs of 45 loops, {clients} client{'s' * (clients > 1)}, 2 threads", "runs/s", MORE, float(found[1]),
                         float(found[1])))
        return rows


class Engine(Row):
    """dataflow_bench: the engine alone, ns a node."""

    def __init__(self, threads, shapes, rounds=4):
        super().__init__(rounds)
        self.threads, self.shapes = threads, shapes

    def run(self, build, o):
        found = []
        for shape in self.shapes:
            text = output_of([f"{build}/tests/dataflow_bench", str(self.threads), "0", shape])
            found.append(float(re.search(rf"^{re.escape(shape)} .*?([0-9.]+) ns/node", text, re.M)[1]))
        return [(f"engine alone, {self.threads} thread{'s' * (self.threads > 1)} ({len(found)} graphs)", "ns", LESS,
                 geomean(found), geomean(found))]


class Perf(Row):
    """benchdnn's list of a driver: us of each problem, average of the iterations and the fastest one."""

    def __init__(self, driver, threads, rounds=3, batch=None):
        super().__init__(rounds)
        self.driver, self.threads, self.batch = driver, threads, batch or f"perf_{driver}"
        self.summary = f"benchdnn {self.batch}, {threads} thread{'s' * (threads > 1)}"

    def run(self, build, o):
        text = output_of([f"{build}/benchdnn/benchdnn", "--mode=P", f"--threads={self.threads}", "--max-ms-per-prb=10",
                          f"--{self.driver}", "--perf-template=row,%prb%,%0time%,%-time%",
                          f"--batch=benchdnn/inputs/{self.driver}/{self.batch}"])
        rows = []
        for line in text.splitlines():
            if re.match(r"row,.*,[0-9.e+-]+$", line):
                problem, average, least = line[4:].rsplit(",", 2)
                if float(least) > 0:
                    rows.append((problem.split(f"--{self.driver} ")[-1], "us", LESS, 1000 * float(average), 1000 * float(least)))
        return rows


def number(x):
    return f"{x:.3g}" if abs(x) < 1000 else f"{x:,.0f}"


def measure(sides, row, o):
    """Lines of the table: the second side over the first, turned so that above 1 means that the first is better."""
    rounds = 1 if o.dry_run else o.rounds or row.rounds
    values = {}
    for i in range(rounds):
        for side in sides if i % 2 == 0 else sides[::-1]:
            for label, unit, better, value, best in row.run(side, o):
                values.setdefault((label, unit, better), {s: [] for s in sides})[side].append((value, best))
    result, ratios = [], {}
    for (label, unit, better), found in values.items():
        if not all(found[s] for s in sides):
            continue
        median = [statistics.median(v for v, _ in found[s]) for s in sides]
        best = [(min if better == LESS else max)(b for _, b in found[s]) for s in sides]
        ratio = [x[1] / x[0] if better == LESS else x[0] / x[1] for x in (median, best)]
        ratios[label] = ratio
        result.append(f"{label} | {number(median[0])} ({number(best[0])}) {unit} | {number(median[1])} ({number(best[1])}) | "
                      f"{ratio[0]:.3f} ({ratio[1]:.3f})")
    if not row.summary:
        return result
    means = [geomean([r[k] for r in ratios.values()]) for k in (0, 1)]
    worst = min(ratios, key=lambda label: ratios[label][1])
    return [f"{row.summary} ({len(ratios)} rows) | | lowest {ratios[worst][0]:.3f} ({ratios[worst][1]:.3f}): {worst} | "
            f"{means[0]:.3f} ({means[1]:.3f})"]
