"""Random graphs of attention over a past, written as products in the ways of exporters, and in ways that only look like them,
beside ONNX Runtime: outputs of every run; whether the past stays in its place where it can.
  attention.py LIBRARY_OF_THE_IMPORTER WORK_FOLDER [FIRST_SEED [COUNT]]"""
import os
import sys

from native import State, close, explained, near, np, onnx, session_of
from onnx import TensorProto, helper, numpy_helper

work, first, count = sys.argv[2], *(int(a) for a in (sys.argv[3:5] + ["1", "12"][len(sys.argv) - 3:])[:2])
os.makedirs(work, exist_ok=True)
MINIMUM = float(np.finfo(np.float32).min)


class Graph:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.n = [], [], 0
        self.traps = []   # what must keep the past from its place
        self.words = []   # what the graph is, for people
        self.exact = True  # several new rows can be in place, too
        self.opset = self.one(12, 17)

    def one(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def rarely(self, what):
        if self.rng.random() < .04:
            self.traps.append(what)
            return True
        return False

    def const(self, array, dtype=np.float32):
        self.n += 1
        self.constants.append(numpy_helper.from_array(np.array(array, dtype), f"c{self.n}"))
        return f"c{self.n}"

    def ints(self, *values):
        return self.const(values, np.int64)

    def op(self, kind, *inputs, name=None, **attributes):
        self.n += 1
        name = name or f"t{self.n}"
        if self.opset < 13 and kind in ("Squeeze", "Unsqueeze"):  # axes are an attribute
            axes = next(c for c in self.constants if c.name == inputs[1])
            inputs, attributes = inputs[:1], {"axes": numpy_helper.to_array(axes).tolist()}
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}{self.n}", **attributes))
        return name

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.const(axis, np.int64), axis=0)

    def vector(self, x):
        return self.op("Unsqueeze", x, self.ints(0))


def cut(g, table, past, total):
    """Rows from the past on, as many columns as keys."""
    begin, end, zero = g.vector(past), g.vector(total), g.ints(0)
    how = g.one("rows first", "columns first", "at once")
    if how == "at once":
        return g.op("Slice", table, g.op("Concat", begin, zero, axis=0), g.op("Concat", end, end, axis=0), g.ints(2, 3))
    parts = [(begin, 2), (zero, 3)]
    for start, axis in parts if how == "rows first" else parts[::-1]:
        table = g.op("Slice", table, start, end, g.ints(axis if g.rng.random() < .5 else axis - 4))
    return table


def table_of(g, positions):
    """Which keys rows see."""
    t, window = np.tril(np.ones((positions, positions), bool)), 0
    if g.rng.random() < .2:
        window = int(g.rng.integers(1, 40))
        t &= ~np.tril(np.ones_like(t), -window)
        g.words.append(f"window {window}")
    if g.rarely("a table with a wrong element"):
        r, k = g.rng.integers(2, min(positions, 60), 2)
        t[r, k] ^= True
        t[r, r] = True
    if g.rarely("a table that shows a key too many"):
        t |= np.tril(np.ones_like(t), 1)
        t &= np.tril(np.ones_like(t), 1)
    return t[None, None], window


def mask(g, s, env):
    """The scores with a mask by position."""
    kind = g.one("table", "table", "inverse", "floats", "product", "triangle", "range", "places", "none")
    least = g.one(MINIMUM, MINIMUM, -np.inf, -1e30, -1e4, -3.)
    g.words.append(f"{kind} {least:.3g}")
    number = g.const(least)
    hides = least <= -1e30
    if kind in ("table", "inverse", "floats", "product"):
        t, window = table_of(g, env["positions"])
        env["window"] = window
        if kind == "floats":
            values = np.zeros(t.shape, np.float32)
            values[~t] = least
            g.exact &= hides
            b = cut(g, g.const(values), env["past"], env["total"])
            s = g.op("Add", *g.one((s, b), (b, s)))
            if window and not hides:
                g.traps.append("a window that does not hide")
            return s
        if kind == "product":
            g.exact = False
            b = cut(g, g.const(t), env["past"], env["total"])
            if window:
                g.traps.append("a window by a product")
            return g.op("Sub", g.op("Mul", s, b), g.op("Mul", g.op("Sub", g.const(1), b), g.const(1e4)))
        if window and not hides:
            g.traps.append("a window that does not hide")
        g.exact &= hides
        as_bytes = g.rng.random() < .3
        b = cut(g, g.const(t if kind == "table" else ~t, np.uint8 if as_bytes else bool), env["past"], env["total"])
        b = g.op("Cast", b, to=TensorProto.BOOL) if as_bytes else b
        if g.rng.random() < .3:
            b, kind = g.op("Not", b), "inverse" if kind == "table" else "table"
        return g.op("Where", b, *((s, number) if kind == "table" else (number, s)))
    if kind == "triangle":
        g.exact &= hides
        rows, past = g.vector(env["rows"]), g.vector(env["past"])
        at = g.op("Range", g.const(0, np.int64), env["rows"], g.const(1, np.int64))
        own = g.op("LessOrEqual", at, g.op("Unsqueeze", at, g.ints(1)))
        new = g.op("Where", own, g.const(0), g.op("Expand", number, g.op("Concat", rows, rows, axis=0)))
        zeros = g.op("ConstantOfShape", g.op("Concat", rows, past, axis=0), value=numpy_helper.from_array(np.zeros(1, np.float32)))
        both = g.op("Concat", zeros, new, axis=-1)
        if g.rng.random() < .5:
            both = g.op("Expand", g.op("Unsqueeze", both, g.ints(0, 1)),
                        g.op("Concat", g.vector(g.size("x", 0)), g.ints(1, 1, 1), axis=0))
        return g.op("Add", s, both)
    if kind in ("range", "places"):
        keys = g.op("Range", g.const(0, np.int64), env["total"], g.const(1, np.int64))
        rows = g.op("Unsqueeze", g.op("Range", env["past"], env["total"], g.const(1, np.int64)), g.ints(1))
        if kind == "places":  # numbers by places, of heads
            slopes = g.const(g.rng.standard_normal((env["heads"], 1, 1)) / 20)
            s = g.op("Add", s, g.op("Mul", slopes, g.op("Cast", keys, to=TensorProto.FLOAT)))
        if g.rng.random() < .2:  # numbers that the import knows
            rows = g.op("Add", g.op("Range", g.const(0, np.int64), env["rows"], g.const(1, np.int64)), env["past"])
            rows = g.op("Unsqueeze", rows, g.ints(1))
            g.traps.append("rows by Add")
        seen = g.op("LessOrEqual", keys, rows)
        if g.rng.random() < .2:  # the first keys and the last ones
            last = g.op("Greater", keys, g.op("Sub", rows, g.const(int(g.rng.integers(1, 40)), np.int64)))
            seen = g.op("And", seen, g.op("Or", last, g.op("Less", keys, g.const(int(g.rng.integers(1, 6)), np.int64))))
        if g.rng.random() < .2:
            seen = g.op("And", seen, g.op("Not", g.op("Equal", keys, g.op("Sub", rows, g.const(int(g.rng.integers(1, 40)), np.int64)))))
        if g.rng.random() < .3:
            near_by = g.op("Greater", keys, g.op("Sub", rows, g.const(int(g.rng.integers(1, 40)), np.int64)))
            seen = g.op("And", seen, near_by)
        if g.rng.random() < .5:
            if not hides:
                g.traps.append("Where with a number that does not hide")
            return g.op("Where", seen, s, number)
        return g.op("Add", s, g.op("Where", seen, g.const(0), number))
    return s


def operator(g, i, x, env):
    """com.microsoft's MultiHeadAttention and Attention."""
    heads, d, rng = env["heads"], env["d"], g.rng
    causal, ms = g.one(0, 1, 1), {"domain": "com.microsoft", "num_heads": heads}
    if rng.random() < .3:
        ms["scale"] = float(rng.uniform(.1, 1))
    mask = env["ids"] if env["ids"] and rng.random() < .8 else ""
    if rng.random() < .3:
        ms["mask_filter_value"] = MINIMUM
    name = f"attention.{i}"
    if env["cache"] == "stacked":
        w = g.const(rng.standard_normal((env["hidden"], 3 * heads * d)) / np.sqrt(env["hidden"]) * 2)
        g.nodes.append(helper.make_node("Attention", [x, w, g.const(rng.standard_normal(3 * heads * d) / 3), mask, f"past.{i}"],
                                        [name, f"present.{i}"], name=name, unidirectional=causal, **ms))
    else:
        q, k, v = (g.op("MatMul", x, g.const(rng.standard_normal((env["hidden"], heads * d)) / np.sqrt(env["hidden"]) * 2)) for _ in "qkv")
        bias = g.const(rng.standard_normal(3 * heads * d) / 3) if rng.random() < .5 else ""
        g.nodes.append(helper.make_node("MultiHeadAttention", [q, k, v, bias, mask, "", f"past.{i}.key", f"past.{i}.value"],
                                        [name, f"present.{i}.key", f"present.{i}.value"], name=name, unidirectional=causal, **ms))
    g.words.append(f"{g.nodes[-1].op_type}{' causal' * causal}{' masked' if mask else ''}")
    y = g.op("MatMul", name, g.const(rng.standard_normal((heads * d, env["hidden"])) / np.sqrt(heads * d)))
    return g.op("Add", x, y)


def attention(g, i, x, env):
    heads, groups, d = env["heads"], env["groups"], env["d"]
    cache = env["cache"]

    def apart(n):
        w = g.const(g.rng.standard_normal((env["hidden"], n * d)) / np.sqrt(env["hidden"]) * 2)
        return g.op("Reshape", g.op("MatMul", x, w), g.ints(0, 0, n, d))

    q, k, v = (g.op("Transpose", apart(heads), perm=[0, 2, 1, 3]),
               g.op("Transpose", apart(groups), perm=[0, 2, 1, 3] if cache == "rows" else [0, 2, 3, 1]),
               g.op("Transpose", apart(groups), perm=[0, 2, 1, 3]))
    if cache == "stacked":
        halves = [g.op("Gather", f"past.{i}", g.const(n, np.int64), axis=0) for n in (0, 1)]
        k = g.op("Concat", g.op("Transpose", halves[0], perm=[0, 1, 3, 2]), k, axis=-1)
        v = g.op("Concat", halves[1], v, axis=-2)
        lead = g.ints(0)
        g.op("Concat", g.op("Unsqueeze", g.op("Transpose", k, perm=[0, 1, 3, 2]), lead), g.op("Unsqueeze", v, lead),
             name=f"present.{i}", axis=0)
    else:
        k = g.op("Concat", f"past.{i}.key", k, name=f"present.{i}.key", axis=g.one(2, -2) if cache == "rows" else g.one(3, -1))
        v = g.op("Concat", f"past.{i}.value", v, name=f"present.{i}.value", axis=g.one(2, -2))
    env["keys"], env["values"] = env.get("keys", []) + [k], env.get("values", []) + [v]
    if i and g.rarely("keys of one layer, values of another"):
        g.traps.pop()  # which are right in place
        k = env["keys"][0]
    extra = g.op("ReduceMean", v, axes=[1, 2, 3], keepdims=1) if g.rarely("a present that something else reads") else None
    if groups != heads:
        def repeated(t, columns):
            b, n = g.vector(g.size(t, 0)), g.vector(env["total"])
            sizes = [b, g.ints(groups, heads // groups), *((g.ints(d), n) if columns else (n, g.ints(d)))]
            t = g.op("Expand", g.op("Unsqueeze", t, g.ints(2)), g.op("Concat", *sizes, axis=0))
            return g.op("Reshape", t, g.ints(0, heads, *((d, -1) if columns else (-1, d))))
        k, v = repeated(k, cache != "rows"), repeated(v, False)
    if cache == "rows":
        k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    scale, root = g.one("div", "mul", "swapped", "queries", "both", "none"), float(np.sqrt(d))
    if scale in ("queries", "both"):
        q = g.op("Mul", q, g.const(1 / root if scale == "queries" else root ** -.5))
    if scale == "both":
        k = g.op("Mul", k, g.const(root ** -.5))
    if g.rarely("values times a number"):
        v = g.op("Mul", v, g.const(2.))
    s = g.op("MatMul", q, k)
    late = scale in ("div", "mul") and g.rng.random() < .05
    if scale in ("div", "mul", "swapped") and not late:
        s = g.op("Div", s, g.const(root)) if scale == "div" else g.op("Mul", *((s, g.const(1 / root)) if scale == "mul" else
                                                                                (g.const(1 / root), s)))
    if g.rng.random() < .15:
        cap = float(g.rng.uniform(1, 30))
        s = g.op("Mul", g.op("Tanh", g.op("Div", s, g.const(cap))), g.const(cap))
        g.words.append("tanh")
    before = len(g.words)
    if env["mask"] and g.rng.random() < .5:
        s, env["mask"] = g.op("Add", s, env["mask"]), env["mask"]
        g.words.append("mask before")
    s = mask(g, s, env)
    if env["mask"] and g.rng.random() < .5:
        s = g.op("Add", s, env["mask"])
    if late:
        if not g.words[before].startswith("none") or len(g.words) > before + 1:
            g.traps.append("a scale behind the mask")
        s = g.op("Div", s, g.const(root))
    axis = -1 if g.rng.random() < .7 else 3
    if g.rarely("softmax along another axis"):
        axis = 1
    p = g.op("Softmax", s, axis=axis)
    y = g.op("Transpose", g.op("MatMul", p, v), perm=[0, 2, 1, 3])
    y = g.op("Reshape", y, g.ints(0, 0, heads * d))
    y = g.op("MatMul", y, g.const(g.rng.standard_normal((heads * d, env["hidden"])) / np.sqrt(heads * d)))
    if extra:
        y = g.op("Add", y, g.op("Squeeze", extra, g.ints(3)))
    return g.op("Add", x, y)


def model(seed, caches):
    g = Graph(seed)
    groups = g.one(1, 2, 3)
    env = {"groups": groups, "heads": groups * g.one(1, 1, 2, 3), "d": g.one(1, 2, 5, 8, 16), "hidden": g.one(3, 8, 12),
           "cache": g.one(*caches), "positions": g.one(90, 150, 300), "window": 0}
    layers = g.one(1, 1, 2)
    past_name = "past.0" if env["cache"] == "stacked" else "past.0.value"
    env["past"] = g.size(past_name, 3 if env["cache"] == "stacked" else 2)
    env["rows"] = g.size("x", 1)
    env["total"] = g.op("Add", env["past"], env["rows"])
    inputs, outputs, f32 = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", "S", env["hidden"]])], [], TensorProto.FLOAT
    env["mask"] = env["ids"] = None
    convert = attention
    if g.rng.random() < .25 and env["cache"] != "columns" and env["d"] > 1:
        convert, env["groups"] = operator, env["heads"]
        form = g.one("", "mask", "mask", "lengths")
        if form:
            inputs.append(helper.make_tensor_value_info("attention_mask" if form == "mask" else "lengths",
                                                        TensorProto.INT64 if form == "mask" else TensorProto.INT32, ["B", "T"][:1 + (form == "mask")]))
            env["ids"] = g.op("Cast", "attention_mask", to=TensorProto.INT32) if form == "mask" else "lengths"
    elif g.rng.random() < .3:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["B", "T"]))
        m = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.ints(1, 2)), to=TensorProto.FLOAT)
        env["mask"] = g.op("Mul", g.op("Sub", g.const(1), m), g.const(MINIMUM))
    x = "x"
    for i in range(layers):
        x = convert(g, i, x, env)
        G, D = env["groups"], env["d"]
        for what in ("",) if env["cache"] == "stacked" else (".key", ".value"):
            for t, ports, n in (("past", inputs, "P"), ("present", outputs, "T")):
                dims = [2, "B", G, n, D] if not what else ["B", G, D, n] if what == ".key" and env["cache"] == "columns" else ["B", G, n, D]
                ports.append(helper.make_tensor_value_info(f"{t}.{i}{what}", f32, dims))
    g.op("Identity", x, name="y")
    outputs.insert(0, helper.make_tensor_value_info("y", f32, ["B", "S", env["hidden"]]))
    graph = helper.make_graph(g.nodes, "attention", inputs, outputs, g.constants)
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", g.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    g.words.insert(0, f"seed {seed}: opset {g.opset}, {env['cache']}, {layers} layers, {env['heads']}/{env['groups']} heads of {env['d']}")
    return g, env, m


def one_seed(seed, caches=("rows", "columns", "stacked")):
    g, env, m = model(seed, caches)
    path = os.path.join(work, "attention.onnx")
    onnx.save(m, path)
    session, peer = session_of(path)
    names, what = [i.name for i in peer.get_inputs()], ", ".join(g.words + [f"TRAP {t}" for t in g.traps])
    batch, rng = g.one(1, 1, 2, 3), g.rng
    pieces = [int(rng.integers(1, 30)), *(int(rng.integers(1, 5)) if rng.random() < .1 else 1 for _ in range(rng.integers(10, 60)))]
    sizes, at, runs = {"B": batch, "P": 0}, 0, 0
    past = {i.name: np.zeros([sizes.get(n, n) for n in i.shape], np.float32) for i in peer.get_inputs() if "past" in i.name}
    state = State(session, names, g.one(0, 0, 1, 3, 40))
    for n in pieces:
        if at + n > env["positions"]:
            break
        feeds = {"x": rng.standard_normal((batch, n, env["hidden"])).astype(np.float32), "attention_mask": np.ones((batch, at + n), np.int64),
                 "lengths": np.full(batch, at + n, np.int32)}
        want = dict(zip((o.name for o in peer.get_outputs()),
                        peer.run(None, {k: a for k, a in {**feeds, **past}.items() if k in names})))
        before = state.info().in_place
        y = state.run(**feeds)
        near(y, want["y"], f"{what}, rows {at}..{at + n - 1}, batch {batch}", nan=True)
        is_in_place = state.info().in_place > before
        if at and (n == 1 or g.exact) and not g.traps and env["d"] > 1:
            assert is_in_place, f"{what}, {n} rows behind {at} are not in place: {explained(session)}"
        runs += is_in_place
        past = {k: want[k.replace("past", "present", 1)] for k in past}
        at += n
    state.close()
    close(session)
    return runs, g.traps


if __name__ == "__main__":
    in_place, trapped, wrong = 0, {}, 0
    for seed in range(first, first + count):
        try:
            runs, traps = one_seed(seed)
        except AssertionError as e:
            wrong += 1
            print(f"FAILED {str(e)[:700]}", flush=True)
            continue
        in_place += runs > 0
        for t in traps:
            trapped[t] = trapped.get(t, 0) + (runs > 0)
    print(f"{count} graphs, {in_place} with runs in place, {wrong} wrong; in place although: {trapped}")
    sys.exit(wrong > 0)
