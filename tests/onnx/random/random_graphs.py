"""Random ONNX graphs, run by the package dnnl_tp and judged by ONNX Runtime.

    random_graphs.py run FIRST LAST [--isas A,B]    the graphs of the seeds FIRST..LAST-1, on instruction sets
    random_graphs.py turn COUNT [--isas A,B]        COUNT graphs that no commit before had: seeds by the number of commits
    random_graphs.py reduce SEED [--keep FOLDER]    the smallest part of one graph that still fails; keeps it as a model
    ... --open                                      graphs of open sizes; each runs with several sets of sizes in one session

A graph grows node by node. Each node is run alone by ONNX Runtime without optimisations, so that its value is known, and
a node that ONNX Runtime refuses is left out. The package then runs the whole graph. A value that differs is wrong
unless onnx's reference implementation gives it, node by node, with f16 and f32
as they are, or with more bits. Every batch runs in a child process; a crash costs one graph. Graphs that
were wrong once come first. The exit status is 1 if a value is wrong or a process died. PACKAGE: folders,
with wildcards, where the package lies.
"""
import argparse
import glob
import os
import pickle
import signal
import subprocess
import sys
import warnings

sys.path[:0] = [folder for pattern in os.environ.get("PACKAGE", "").split(":") for folder in glob.glob(pattern)]
try:
    import numpy as np
    import onnx
    import onnx.reference
    from onnx import helper, numpy_helper
    import dnnl_tp
    from grow import TYPES, Grower, judge, proto
    from grow_open import OpenGrower
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(0)

THREADS = 1, 2, 3, 7


def differs(ours, right, exact):
    """The first difference as a text; empty: none. Sums may be added in another order, small ones against the largest."""
    if ours.shape != right.shape or ours.dtype != right.dtype:
        return f"{ours.dtype}{ours.shape}, right is {right.dtype}{right.shape}"
    a, b = ours.astype(np.float64), right.astype(np.float64)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0)
    coarse = 16 if right.dtype == np.float16 else 1
    room = 0 if exact else coarse * (1e-3 * np.abs(b) + 1e-4 * scale + 1e-6)
    with np.errstate(invalid="ignore"):
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room))
    if not bad.any():
        return ""
    i = tuple(int(k) for k in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {a.size} values, first at {i}: {ours[i]!r}, right is {right[i]!r}"


def second(model, feeds, wide):
    """What onnx's reference makes of the graph, node by node, by name; of a node that it cannot run, what ONNX Runtime does.
    wide: numbers of fewer bits are of this type. With f32 nothing is rounded to f16 in between, as in the package."""
    def widened(a):
        a = np.asarray(a)
        return a.astype(wide) if wide and a.dtype.kind == "f" and a.dtype.itemsize < wide().itemsize else a

    values = {k: widened(a) for k, a in [*feeds.items(), *((t.name, numpy_helper.to_array(t)) for t in model.graph.initializer)]}
    for narrow in model.graph.node:
        node = onnx.NodeProto()
        node.CopyFrom(narrow)
        for a in node.attribute:
            if a.name == "to" and wide and a.i in (onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT):
                a.i = TYPES[widened(np.zeros(1, np.float16 if a.i == onnx.TensorProto.FLOAT16 else np.float32)).dtype]
        free = {k for a in node.attribute if a.HasField("g") for n in a.g.node for k in n.input}
        given = {k: values[k] for k in [*node.input, *sorted(free)] if k in values}
        alone = proto([node], given, {k: None for k in node.output if k}, opset=model.opset_import[0].version)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                got = onnx.reference.ReferenceEvaluator(alone).run(None, given)
        except Exception:
            try:
                got = judge(alone, given)
            except Exception:
                break
        values |= {k: widened(a) for k, a in zip(node.output, got)}
    return values


def ours(model, feeds, threads):
    with dnnl_tp.Session(model.SerializeToString(), threads=threads) as session:
        return session.run(feeds)


def refused_only_open(model, sets):
    """Whether all sets run where the model says their sizes."""
    try:
        for feeds, _ in sets:
            fixed = onnx.ModelProto()
            fixed.CopyFrom(model)
            for i in fixed.graph.input:
                i.CopyFrom(helper.make_tensor_value_info(i.name, TYPES[feeds[i.name].dtype], feeds[i.name].shape))
            ours(fixed, feeds, 1)
    except dnnl_tp.Error:
        return False
    return True


def failures(model, sets, exact):
    """Texts of what is wrong by both judges; and why it was refused. Several sets: one session runs all, and the first again."""
    found, others = [], {}
    for threads in THREADS if len(sets) == 1 else THREADS[::2]:
        try:
            with dnnl_tp.Session(model.SerializeToString(), threads=threads) as session:
                got = [session.run(feeds) for feeds, _ in (sets if len(sets) == 1 else [*sets, sets[0]])]
        except Exception as error:
            if isinstance(error, dnnl_tp.Unimplemented):
                if len(sets) > 1 and refused_only_open(model, sets):
                    found.append(f"refused with open sizes only: {error}")
                return found, str(error)
            found.append(f"{threads} threads: {type(error).__name__}: {error}")
            continue
        for i, values in enumerate(got):
            feeds, right = sets[i % len(sets)]
            for k, value in right.items():
                text = differs(values[k], value, k in exact)
                if text and i not in others:
                    others[i] = [second(model, feeds, wide) for wide in (None, np.float32, np.float64)]
                if text and all(k not in v or differs(values[k], v[k].astype(value.dtype), k in exact) for v in others[i]):
                    found.append(f"{threads} threads, set {i}: output {k} ({maker(model, k)}): {text}")
    return found, ""


def maker(model, name):
    return next((n.op_type for n in model.graph.node if name in n.output), "?")


def in_child(function, limit):
    """What the function gives, in a process of its own; a text if it died."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(limit)
        try:
            value = function()
        except BaseException as error:
            value = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "wb") as file:
            pickle.dump(value, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or not data:
        return f"died of signal {os.WTERMSIG(status)}"
    return pickle.loads(data)


def one(kind, seed):
    """(seed, failures, refusal, operators); None: no graph."""
    grower = kind(seed)
    with np.errstate(all="ignore"):
        made = grower.graph()
    if made is None:
        return None
    found, refused = failures(*made, grower.exact)
    return seed, found, refused, [n.op_type for n in grower.nodes]


def reduced(kind, seed):
    """The least model that still fails, from the graph of a seed: nodes are replaced by inputs that hold their values."""
    grower = kind(seed)
    with np.errstate(all="ignore"):
        made = grower.graph()
    model, sets = made
    nodes, outs = list(grower.nodes), list(sets[0][1])
    constants = dict(grower.constants)
    opens = {i.name: [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in i.type.tensor_type.shape.dim]
             for i in model.graph.input}

    def sizes(k):
        """Of an input that was a value: open where they differ."""
        return [s[0] if len(set(s)) == 1 else None for s in zip(*(grower.at(k, i).shape for i in range(grower.nsets)))]

    def build(nodes, outs):
        made = {o for n in nodes for o in n.output}
        used = {k for n in nodes for k in n.input} | {
            k for n in nodes for a in n.attribute if a.HasField("g") for m in a.g.node for k in m.input}
        fed = {k: grower.values[k] for k in sorted(used) if k in grower.values and k not in made and k not in constants}
        said = opens | {k: sizes(k) for k in fed if k not in opens and grower.nsets > 1}
        return proto(nodes, fed, {o: grower.values[o] for o in outs},
                     {k: a for k, a in constants.items() if k in used}, said, grower.opset), grower.sets(fed, outs)

    def fails(nodes, outs):
        if not nodes or not outs:
            return False
        found = in_child(lambda: failures(*build(nodes, outs), grower.exact)[0], 60)
        return bool(found)

    again = True
    while again:
        again = False
        for out in list(outs):
            rest = [o for o in outs if o != out]
            if fails(nodes, rest):
                outs, again = rest, True
        for i in range(len(nodes) - 1, -1, -1):
            rest = nodes[:i] + nodes[i + 1:]
            kept = [o for o in outs if o not in nodes[i].output]
            if fails(rest, kept):
                nodes, outs, again = rest, kept, True
                break
    return *build(nodes, outs), grower.exact


def found_once():
    """Nodes that were wrong once: texts of what is wrong."""
    def array(*values):
        return np.array(values, np.int64)

    line, image = np.arange(5, dtype=np.float32), np.ones((1, 1, 1), np.float32)
    nothing = np.ones((0, 2), np.float32)
    slice_in = ["x", "starts", "ends", "axes", "steps"]
    cases = [
        # A start before the first element moves onto it, also where the step is negative.
        ("Slice", slice_in, (line, array(-6), array(-2**40), array(0), array(-1)), {}),
        ("Slice", slice_in, (line, array(-9), array(-2**40), array(0), array(-2)), {}),
        ("Slice", slice_in, (nothing, array(-1), array(-2**40), array(0), array(-1)), {}),
        # ceil_mode counts a window that is larger than what it covers.
        *((op, ["x"], (image,), {"kernel_shape": [k], "strides": [t], "pads": [1, 0], "ceil_mode": 1})
          for op in ("MaxPool", "AveragePool") for k, t in ((3, 2), (3, 3), (4, 3))),
        # Rows from the end of a table whose number of rows is open, when its positions are constants.
        *(("Gather", ["x", "ids"], (np.eye(7, 2, dtype=np.float32), ids), {"axis": 0})
          for ids in (array(-2), array(0, -7), np.array(-3, np.int32)))]
    wrong = []
    for op, names, arrays, attributes in cases:
        feeds = dict(zip(names, arrays))
        node = helper.make_node(op, names, ["y"], **attributes)
        right = judge(proto([node], feeds, {"y": None}), feeds)[0]
        constants = {k: a for k, a in feeds.items() if k != "x"}
        x = feeds["x"]
        for sizes in x.shape, [f"d{d}" for d in range(x.ndim)], [None] * x.ndim:
            try:
                model = proto([node], {"x": x}, {"y": right}, constants, {"x": sizes})
                text = differs(ours(model, {"x": x}, 1)["y"], right, False)
            except dnnl_tp.Error as error:
                text = str(error)
            if text:
                wrong.append(f"{op} {attributes} {constants} {sizes}: {text}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "turn", "reduce"])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?")
    parser.add_argument("--isas", default="", help="values of DNNL_TP_MAX_CPU_ISA; empty: all")
    parser.add_argument("--keep", help="a folder for the reduced model")
    parser.add_argument("--open", action="store_true", help="graphs of open sizes")
    args = parser.parse_args()
    kind = OpenGrower if args.open else Grower
    isas = args.isas.split(",")
    if args.what == "turn":
        here = os.path.dirname(os.path.abspath(__file__))
        count = subprocess.run(["git", "-C", here, "rev-list", "--count", "HEAD"], capture_output=True, text=True).stdout
        args.first, args.last = (int(count or 0) * args.first + k * args.first for k in (0, 1))
        print(f"seeds {args.first} to {args.last - 1}")
    if args.what == "reduce":
        model, sets, exact = reduced(kind, args.first)
        for node in model.graph.node:
            print(node.op_type, list(node.input), list(node.output),
                  {a.name: helper.get_attribute_value(a) for a in node.attribute})
        for k, a in [*(x for s in sets for x in s[0].items()),
                     *((t.name, numpy_helper.to_array(t)) for t in model.graph.initializer)]:
            print(f"  {k}: {a.dtype}{a.shape} {a.reshape(-1)[:6]}")
        print(in_child(lambda: failures(model, sets, exact)[0], 60))
        if args.keep:
            onnx.save(model, os.path.join(args.keep, f"reduced{args.first}.onnx"))
        return 0
    # The library reads the variable once in a process: a run of several instruction sets starts itself for each of them.
    if len(isas) > 1:
        same = [str(args.first), str(args.last)] + ["--open"] * args.open
        codes = [subprocess.call([sys.executable, __file__, "run", *same, "--isas", isa]) for isa in isas]
        return max(codes)
    if isas[0]:
        os.environ["DNNL_TP_MAX_CPU_ISA"] = isas[0]
    graphs = bad = refused = died = 0
    wrong = in_child(found_once, 120)
    if wrong:
        bad += 1
        print("wrong once more:", wrong)
    operators = set()
    size = 25
    for first in range(args.first, args.last, size):
        seeds = range(first, min(first + size, args.last))
        results = in_child(lambda: [one(kind, seed) for seed in seeds], 300)
        if isinstance(results, str):  # which graph was it?
            results = [in_child(lambda: one(kind, seed), 60) or None for seed in seeds]
        for seed, result in zip(seeds, results):
            if isinstance(result, str):
                died += 1
                print(f"seed {seed}: {result}")
            elif result:
                graphs += 1
                refused += bool(result[2])
                operators |= set(result[3])
                if result[2] and os.environ.get("SHOW_REFUSED"):
                    print(f"seed {seed}: refused: {result[2]}")
                if result[1]:
                    bad += 1
                    print(f"seed {seed}: {' '.join(result[3])}\n  " + "\n  ".join(result[1][:3] + result[1][3:][-1:]))
        sys.stdout.flush()
    if os.environ.get("SHOW_OPERATORS"):
        print(*sorted(operators))
    print(f"{isas[0] or 'all'}: {graphs} graphs of {len(operators)} operators, {refused} refused, {bad} wrong, {died} died")
    return 1 if bad or died or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
