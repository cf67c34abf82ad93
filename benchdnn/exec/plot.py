"""Draws the rows of exec_bench with matplotlib. Started by benchdnn/exec/plot."""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from tables import SIDES, read  # noqa: E402

# One colour for a side in all figures; ours are the saturated ones.
COLOURS = {"dnnl_tp/plain": "#1f5fa8", "dnnl_tp": "#5aa9e6", "eigen": "#b0b0b0", "tbb": "#8a8a8a", "openmp": "#c9a66b",
           "taskflow": "#9a7fb5", "pthreadpool": "#6fa37a", "tensorflow": "#d9822b", "tensorflow/caller": "#edb67e",
           "dnnl_tp/unfused": "#a8cdea", "session": "#2e8b57", "callable": "#8fbc8f"}
ROW_HEIGHT = 0.16  # inches for a bar


def bars(path, title, unit, rows, log=True, line=None):
    """rows: list of (name, {side: value}); horizontal bars, one group for each row."""
    rows = [(name, values) for name, values in rows if values]
    if not rows:
        return
    sides = [s for s in SIDES if any(s in values for _, values in rows)]
    step = len(sides) + 1
    figure, axes = plt.subplots(figsize=(9, max(2.5, ROW_HEIGHT * step * len(rows) + 1)), layout="constrained")
    for k, side in enumerate(sides):
        at = [i * step + k for i, (_, values) in enumerate(rows) if side in values]
        axes.barh(at, [values[side] for _, values in rows if side in values], height=0.9, color=COLOURS[side], label=side)
    if line is not None:
        axes.axvline(line[0], color="black", linewidth=0.8, linestyle="--", label=line[1])
    axes.set_yticks([i * step + (len(sides) - 1) / 2 for i in range(len(rows))], [name for name, _ in rows], fontsize=8)
    axes.invert_yaxis()
    if log:
        axes.set_xscale("log")
        axes.set_xlim(left=1)
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=10)
    axes.grid(axis="x", linewidth=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(path)


def main(source, folder, form):
    for (group, threads, kernel_ns), rows in read(source).items():
        values = {name: {s: v for s, v in sides.items() if s in SIDES and v > 0} for (name, unit), sides in rows.items()
                  if unit != "%" and not unit.startswith(("us", "%"))}
        where = f"{threads} thread{'s' * (threads > 1)}"
        stem = f"{folder}/{group}_{threads}t" + (f"_{kernel_ns}ns" if kernel_ns else "")
        if group == "dag" and kernel_ns == 0:
            bars(f"{stem}.{form}", f"Plain graphs of empty nodes, {where}", "ns per node", list(values.items()))
        elif group == "dag":
            shares = []
            for (name, _), sides in rows.items():
                if "ideal" in sides:
                    shares.append((name, {s: 100 * sides["ideal"] / v for s, v in sides.items() if s in SIDES}))
            bars(f"{stem}.{form}", f"Plain graphs, nodes of {kernel_ns} ns, {where}", "% of the ideal", shares, log=False,
                 line=(100, "ideal"))
        elif group == "flow":
            for part, title in (("cond", "If: ns per If (cond_dead: per run)"), ("while", "While: ns per iteration")):
                bars(f"{stem}_{part}.{form}", f"{title}, {where}", "ns",
                     [(n, v) for n, v in values.items() if part in n or (part == "cond" and "case" in n)])
        elif group == "model":
            bars(f"{stem}.{form}", f"Transformer blocks, {where}", "us per block",
                 [(n, {s: v for s, v in r.items() if s in SIDES}) for (n, _), r in rows.items()])
        elif kernel_ns == 0:
            bars(f"{stem}.{form}", f"Runs, {where}", "ns per run", list(values.items()))


main(*sys.argv[1:])
