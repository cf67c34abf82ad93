#!/usr/bin/env python3
"""TensorFlow's executor on the graphs of exec_bench; prints and appends the same rows.

Plain graphs come from `exec_bench --dump`, so they are the same; control flow is built from Switch, Merge, Enter, Exit
and NextIteration, as the rows of rows_flow.c describe. Optimisers are off, runs go through Session.make_callable.
Nothing is fed or fetched, because Python takes longer for that than the executor for the row; predicates and trip
counts are constants, which nothing folds with optimisers off. Started by benchdnn/exec/compare; needs the environment of scripts/get_peer_tensorflow.
"""
import argparse
import os
import statistics
import subprocess
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--program", required=True, help="exec_bench")
parser.add_argument("--csv", help="file to append rows to")
parser.add_argument("--threads", default="1,2", help="inter_op pools; the caller's thread alone is always measured")
parser.add_argument("--group", default="dag,flow,system")
parser.add_argument("--rows", default="", help="parts of names, separated by commas")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--block-ms", type=float, default=20)
parser.add_argument("--most-nodes", type=int, default=200000, help="larger plain graphs are left out")
parser.add_argument("--spin-op", help="library made from tensorflow_spin.cc: nodes that take time")
parser.add_argument("--kernel-ns", default="0", help="needs --spin-op where it is not 0")
args = parser.parse_args()

import tensorflow as tf  # noqa: E402  (after the environment is set)

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_control_flow_v2()
from tensorflow.core.framework import graph_pb2  # noqa: E402

csv = open(args.csv, "a") if args.csv else None
spin = tf.load_op_library(os.path.abspath(args.spin_op)) if args.spin_op else None


def wanted(name):
    return not args.rows or any(part in name for part in args.rows.split(",") if part)


def session_config(inter_op):
    config = v1.ConfigProto(inter_op_parallelism_threads=inter_op, intra_op_parallelism_threads=1,
                            use_per_session_threads=inter_op > 0)
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def measure(run):
    """Median, smallest and largest of the blocks' medians, in ns."""
    run()
    begin = time.perf_counter_ns()
    run()
    batch = max(1, int(30000 / (time.perf_counter_ns() - begin)))
    blocks = []
    for _ in range(args.rounds):
        end = time.perf_counter_ns() + args.block_ms * 1e5
        while time.perf_counter_ns() < end:
            run()
        times, end = [], time.perf_counter_ns() + args.block_ms * 1e6
        while len(times) < 3 or time.perf_counter_ns() < end:
            begin = time.perf_counter_ns()
            for _ in range(batch):
                run()
            times.append((time.perf_counter_ns() - begin) / batch)
        blocks.append(statistics.median(times))
    return statistics.median(blocks), min(blocks), max(blocks)


def row(group, name, unit, count, build, kernel_ns=0):
    """build() adds to the default graph and returns the operation to run."""
    if not wanted(name):
        return
    graph = v1.Graph()
    with graph.as_default():
        target = build()
    line = f"{name:36} |"
    for threads in [-1] + [int(t) for t in args.threads.split(",")]:
        side = "tensorflow" if threads > 0 else "tensorflow/caller"
        with v1.Session(graph=graph, config=session_config(threads)) as s:
            ns, low, high = measure(s.make_callable(target))
        line += f" {ns / count:13.1f}"
        if csv:
            csv.write(f"{group},{name},{max(threads, 1)},{kernel_ns},{side},{unit},{ns / count:.4g},{low / count:.4g},"
                      f"{high / count:.4g},-1,{count}\n")
            csv.flush()
    print(line, "|", unit, flush=True)


def title(text):
    print(f"\n{text}\n{'':36} |" + f" {'caller':>13}" + "".join(f" {t + ' threads':>13}" for t in args.threads.split(",")))


# ---- Plain graphs ----------------------------------------------------------------------------------------------------


def dump(name):
    lines = subprocess.run([args.program, f"--dump={name}"], check=True, capture_output=True, text=True).stdout.split("\n")
    edges = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("e ")]
    times = [int(line.split()[1]) for line in lines if line.startswith("n ")]
    return int(lines[0].split()[2]), edges, times


def plain(n, edges, times):
    """One NoOp (or Spin) for each node, one control edge for each edge, and an end that waits for all sinks."""
    definition = graph_pb2.GraphDef()
    nodes = [definition.node.add(name=f"n{i}", op="Spin" if times else "NoOp") for i in range(n)]
    for node, ns in zip(nodes, times):
        node.attr["ns"].i = ns
    sink = [True] * n
    for before, after in edges:
        nodes[after].input.append(f"^n{before}")
        sink[before] = False
    end = definition.node.add(name="end", op="NoOp")
    end.input.extend(f"^n{i}" for i in range(n) if sink[i])
    tf.import_graph_def(definition, name="")
    return v1.get_default_graph().get_operation_by_name("end")


def plain_graphs():
    listed = subprocess.run([args.program, "--list"], check=True, capture_output=True, text=True).stdout
    names = [line for line in listed.splitlines() if not line.startswith("sides:")]
    for k, kernel_ns in enumerate(int(t) for t in args.kernel_ns.split(",")):
        if kernel_ns and not spin:
            continue
        title(f"TensorFlow {tf.__version__}, plain graphs, kernels of {kernel_ns} ns: ns per node")
        for name in names:
            if not wanted(name):
                continue
            n, edges, times = dump(name)
            if n > args.most_nodes or n * kernel_ns > 3e8 or (times and (k or not spin)):
                continue
            own = 1000 if times else kernel_ns
            times = times or [kernel_ns] * n * (kernel_ns > 0)
            row("dag", name, "ns/node", n, lambda: plain(n, edges, times), own)


# ---- Control flow ----------------------------------------------------------------------------------------------------


def chain(x, n):
    for _ in range(n):
        x = tf.identity(x)
    return x


def cond(m, ifs, taken):
    pred = tf.constant(taken)
    x = tf.constant(0)
    for _ in range(ifs):
        x = v1.cond(pred, lambda: chain(x, m), lambda: chain(x, 1))
    return x.op


def cond_wide(m, ifs, taken):
    pred = tf.constant(taken)
    x = tf.constant(0)
    out = [v1.cond(pred, lambda: chain(x, m), lambda: chain(x, 1)) for _ in range(ifs)]
    return tf.add_n(out).op


def cond_dead(chains, length, with_if):
    pred = tf.constant(False)
    x = tf.identity(tf.constant(0))

    def many():
        inside = tf.identity(x)
        return tf.add_n([chain(inside, length) for _ in range(chains)])

    x = v1.cond(pred, many, lambda: tf.identity(x)) if with_if else tf.identity(x)
    return tf.identity(x).op


def case16(ifs):
    selector = tf.constant(9)
    bits = [tf.bitwise.bitwise_and(selector, 1 << i) > 0 for i in range(4)]
    x = tf.constant(0)

    def level(k, x):
        if k == 0:
            return tf.identity(x)
        return v1.cond(bits[k - 1], lambda: level(k - 1, x), lambda: level(k - 1, x))

    for _ in range(ifs):
        x = level(4, x)
    return x.op


def loop(trips, nvars, window, with_if=False):
    limit = tf.constant(trips)
    init = [tf.constant(0)] * nvars

    def body(*v):
        out = [v[0] + 1] + [tf.identity(x) for x in v[1:]]
        if with_if:
            odd = tf.bitwise.bitwise_and(v[0], 1) > 0
            out[1] = v1.cond(odd, lambda: tf.identity(v[1]), lambda: tf.identity(v[1]))
        return out

    out = tf.while_loop(lambda *v: v[0] < limit, body, init, parallel_iterations=window, back_prop=False)
    return tf.group(out)


def nested(trips, window):
    limit = tf.constant(trips)

    def inner(i, x):
        _, x = tf.while_loop(lambda j, _: j < limit, lambda j, y: (j + 1, tf.identity(y)), (0, x),
                             parallel_iterations=window, back_prop=False)
        return i + 1, x

    out = tf.while_loop(lambda i, _: i < limit, inner, (0, 0), parallel_iterations=window, back_prop=False)
    return tf.group(out)


def invariants(trips, k):
    limit = tf.constant(trips)
    around = [tf.identity(tf.constant(0)) for _ in range(k)]

    def body(i):
        out = i + 1
        for first in range(0, k, 25):
            out = tf.add_n([out] + around[first:first + 25])
        return out

    out = tf.while_loop(lambda i: i < limit, body, [tf.constant(0)], parallel_iterations=1, back_prop=False)
    return tf.group(out)


def one_if(with_if):
    n, edges, _ = dump("bm_executor/16x1024")
    end = plain(n, edges, [])
    pred = tf.constant(False)
    x = tf.identity(tf.constant(0))
    x = v1.cond(pred, lambda: chain(x, 2), lambda: chain(x, 1)) if with_if else chain(x, 1)
    return tf.group(end, chain(x, 1))


def control_flow():
    title(f"TensorFlow {tf.__version__}, control flow")
    for m in (1, 10, 100, 1000):
        for taken in (True, False):
            row("flow", f"cond/{m}/{'taken' if taken else 'skipped'}", "ns/If", 64, lambda: cond(m, 64, taken))
    for taken in (True, False):
        row("flow", f"cond_wide/10/{'taken' if taken else 'skipped'}", "ns/If", 64, lambda: cond_wide(10, 64, taken))
    row("flow", "case/16", "ns/case", 64, lambda: case16(64))
    row("flow", "cond_dead/without_if", "ns/run", 1, lambda: cond_dead(0, 0, False))
    row("flow", "cond_dead/1", "ns/run", 1, lambda: cond_dead(1, 1, True))
    row("flow", "cond_dead/100000", "ns/run", 1, lambda: cond_dead(1000, 100, True))
    for nvars in (1, 2, 10, 100):
        for trips in (0, 1, 10, 100, 1000):
            for window in (1, 4, 20):
                if window > 1 and (trips < 1000 or nvars == 2):
                    continue
                row("flow", f"while/{trips}x{nvars}/window{window}", "ns/iteration" if trips else "ns/run", trips or 1,
                    lambda: loop(trips, nvars, window))
    row("flow", "while_with_cond/1000", "ns/iteration", 1000, lambda: loop(1000, 2, 1, True))
    for window in (1, 4):
        row("flow", f"nested_while/32x32/window{window}", "ns/iteration", 1024, lambda: nested(32, window))
    for k in (0, 100):
        row("flow", f"invariants/{k}", "ns/iteration", 1000, lambda: invariants(1000, k))
    for with_if in (False, True):
        row("flow", f"one_if/with{'' if with_if else 'out'}", "ns/run", 1, lambda: one_if(with_if))


# ---- Fixed cost ------------------------------------------------------------------------------------------------------


def system():
    title(f"TensorFlow {tf.__version__}, system")
    row("system", "fixed/one_node", "ns/run", 1, tf.no_op)


if "dag" in args.group:
    plain_graphs()
if "flow" in args.group:
    control_flow()
if "system" in args.group:
    system()
