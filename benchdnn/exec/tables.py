"""Prints the rows of exec_bench and tensorflow_exec.py as tables: every side, and each peer's time over ours.

Also counts the rows of the plain graphs in which a peer is faster, and holds the bars of doc/exec_bench.md beside the
figures that they are about. Started by benchdnn/exec/compare.
"""
import csv
import sys

FIELDS = "group row threads kernel_ns side unit value low high allocs count".split()
SIDES = ["dnnl_tp/plain", "dnnl_tp", "dnnl_tp/unfused", "session", "callable", "eigen", "tbb", "openmp", "taskflow", "pthreadpool",
         "tensorflow", "tensorflow/caller"]


def read(path):
    tables = {}
    for line in csv.DictReader(open(path), FIELDS):
        table = tables.setdefault((line["group"], int(line["threads"]), int(line["kernel_ns"])), {})
        table.setdefault((line["row"], line["unit"]), {})[line["side"]] = float(line["value"])
    return tables


def number(x):
    return "-" if x is None else f"{x:.1f}" if abs(x) < 1e5 else f"{x:.3g}"


def table(key, rows):
    group, threads, kernel_ns = key
    sides = [s for s in SIDES if any(s in r for r in rows.values())]
    name = {"dag": "plain graphs", "build": "building, compiling, destroying", "compile": "phases of making a graph, ns per node", "flow": "control flow", "model": "transformer blocks"}.get(group, group)
    print(f"\n{name}, {threads} thread(s)" + (f", nodes of {kernel_ns} ns" if kernel_ns else "") +
          "; x = time of that side over dnnl_tp/plain")
    print(f"{'':28} {'':12}" + "".join(f" {s:>19}" for s in sides))
    for (row, unit), values in rows.items():
        ours = values.get("dnnl_tp/plain", values.get("dnnl_tp"))
        line = f"{row:28} {unit:12}"
        for s in sides:
            v = values.get(s)
            ratio = "" if v is None or not ours or s == "dnnl_tp/plain" or unit == "%" else f" {v / ours:6.2f}x"
            line += f" {number(v) + ratio:>19}"
        print(line)


def bars(tables):
    """The measured side of each bar: name, worst figure, its row, the bar."""
    lines = []

    def worst(name, bar, unit, pick, high=True):
        found = [(v, where) for key, rows in tables.items() for (row, u), values in rows.items()
                 for v, where in pick(key, row, u, values)]
        if found:
            v, where = (max if high else min)(found)
            lines.append((name, bar, f"{v:.3g} {unit}", where, "met" if (v <= bar if high else v >= bar) else "MISSED"))

    def side(group, threads, kernel, match, which, scale=1.0):
        def pick(key, row, unit, values):
            if key == (group, threads, kernel) and match(row) and which in values:
                yield values[which] * scale, row
        return pick

    plain, on = "dnnl_tp/plain", "dnnl_tp"
    easy = lambda r: r.startswith(("bm_executor", "chain/1024", "chain/8192"))  # noqa: E731
    # A run of a few nodes is its fixed cost, which has a bar of its own.
    small = lambda r: r in ("chain/1", "chain/8", "fan/8", "const_identity/1x1")  # noqa: E731
    worst("empty nodes, clusters off: BM_executor, chains", 12, "ns", side("dag", 1, 0, easy, plain))
    worst("the same, every other shape", 25, "ns",
          side("dag", 1, 0, lambda r: not easy(r) and not small(r) and "skewed" not in r, plain))
    worst("empty nodes, clusters on", 6, "ns", side("dag", 1, 0, lambda r: not small(r) and "skewed" not in r, on))

    def ideal(key, row, unit, values):
        if key == ("dag", 2, 200) and "ideal" in values and plain in values and not small(row):
            yield 100 * values["ideal"] / values[plain], row
    worst("nodes of 200 ns, 2 threads", 85, "% of ideal", ideal, high=False)

    def beaten(kernel, threads):
        def pick(key, row, unit, values):
            peers = [v for s, v in values.items() if s not in (plain, on, "ideal", "sequence", "pthreadpool")]
            if key == ("dag", threads, kernel) and peers and plain in values and "skewed" not in row:
                yield min(peers) / values[plain], row
        return pick
    worst("empty nodes: best peer / ours, 1 thread", 1, "x", beaten(0, 1), high=False)
    worst("nodes of 200 ns: best peer / ours, 2 threads", 1, "x", beaten(200, 2), high=False)
    worst("If, skipped branch of 1 to 1000", 40, "ns",
          side("flow", 1, 0, lambda r: r.startswith("cond/") and r.endswith("skipped"), plain))
    worst("If, skipped branch of 100,000", 40, "ns", side("flow", 1, 0, lambda r: r == "cond_dead_if/100000", plain))
    for nvars, bar in ((1, 60), (10, 400), (100, 3000)):
        worst(f"While, {nvars} variable(s), 1000 iterations", bar, "ns",
              side("flow", 1, 0, lambda r, n=nvars: r.startswith(f"while/1000x{n}/"), plain))
    worst("one If in a graph of 10,000 nodes", 1, "%", side("flow", 1, 0, lambda r: r == "one_if/cost", plain))
    worst("fixed cost, caller's thread", 0.5, "us", side("system", 1, 0, lambda r: r == "fixed/one_node", on, 1e-3))
    worst("fixed cost, warm pool", 2, "us", side("system", 2, 0, lambda r: r == "fixed/one_node", on, 1e-3))

    def session(key, row, unit, values):
        if key == ("system", 1, 0) and row == "feed_fetch/1" and "session" in values:
            yield (values["session"] - values[on]) / 1e3, row
    worst("session: a cache hit costs more", 0.2, "us", session)

    def skewed(key, row, unit, values):
        if key == ("dag", 2, 1000) and row.startswith("skewed") and "ideal" in values:
            yield 100 * (values[plain] / values["ideal"] - 1), row
    worst("skewed graphs, 2 threads: above the bound", 5, "%", skewed)
    for threads in (1, 2):
        def cancel(key, row, unit, values, threads=threads):
            if key == ("system", threads, 0) and row.startswith("cancel/") and unit == "us (p99)":
                yield values[on], row
        worst(f"cancel, {threads} thread(s): p99", 1050, "us", cancel)

        def calm(key, row, unit, values, threads=threads):
            if key == ("system", threads, 0) and row.startswith("cancel/") and unit == "us (p99 undisturbed)":
                yield values[on], row
        worst("the same, runs that waited for no processor", 1050, "us", calm)
    if lines:
        print(f"\n{'bar':52} {'limit':>6} {'worst':>18}  row")
        for name, bar, figure, where, verdict in lines:
            print(f"{name:52} {bar:>6} {figure:>18}  {where:28} {verdict}")


if __name__ == "__main__":
    everything = read(sys.argv[1])
    for k in sorted(everything, key=lambda k: (["dag", "build", "compile", "flow", "system", "model"].index(k[0]), k[2], k[1])):
        table(k, {r: v for r, v in everything[k].items()})
    bars(everything)
