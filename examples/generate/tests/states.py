"""States against ONNX Runtime: logits of every step, prompts in pieces, batches, masks with zeros, rows that are forgotten,
sequences in another order, runs that fail.
  states.py LIBRARY_OF_THE_IMPORTER EXPORT WORK_FOLDER"""
import os
import subprocess
import sys

from native import State, compilations, explained, near, np, onnx, session_of
from onnx import helper, numpy_helper

export, work = sys.argv[2], sys.argv[3]
os.makedirs(work, exist_ok=True)


def opened(name, *options, change=None):
    path = os.path.join(work, name + ".onnx")
    subprocess.run([sys.executable, export, path, "--layers", "2", "--hidden", "64", "--heads", "4", "--vocabulary", "50",
                    "--positions", "400", *options], check=True)
    if change:
        model = onnx.load(path)
        change(model.graph)
        onnx.save(model, path)
    return session_of(path)


def no_past(peer, batch):
    sizes = {"batch": batch, "past_sequence_length": 0}
    return {i.name: np.zeros([sizes.get(d, d) for d in i.shape], np.float32) for i in peer.get_inputs() if "past" in i.name}


def whole(peer, ids):
    """Logits of all rows of all tokens at once."""
    feeds = {"input_ids": ids, **no_past(peer, len(ids))}
    if any(i.name == "attention_mask" for i in peer.get_inputs()):
        feeds["attention_mask"] = np.ones(ids.shape, np.int64)
    return peer.run(["logits"], feeds)[0]


rng = np.random.default_rng(5)
ones = lambda *shape: np.ones(shape, np.int64)
for name, options, in_place in (("llama", ["--style", "llama", "--groups", "2"], True),
                                ("attention", ["--style", "gpt2", "--attention"], True),
                                ("columns", ["--style", "gpt2", "--cache", "columns", "--causal", "floats", "--groups", "2"], True),
                                ("stacked", ["--style", "gpt2", "--cache", "stacked"], True),
                                ("gpt2", ["--style", "gpt2", "--mask"], True)):
    session, peer = opened("states_" + name, *options)
    names = [i.name for i in peer.get_inputs()]
    for batch in 1, 3:
        ids = rng.integers(0, 50, (batch, 150))
        want = whole(peer, ids)
        for pieces in ([1] * 150, [5] + [1] * 70, [3, 4, 1, 1, 60, 1, 2, 1, 77], [149, 1]):
            state, at, before = State(session, names), 0, compilations(session)
            for n in pieces:
                y = state.run(input_ids=ids[:, at:at + n], attention_mask=ones(batch, at + n))
                near(y, want[:, at:at + n], f"{name}, batch {batch}, pieces {pieces[:6]}, rows {at}..{at + n - 1}")
                at += n
            i = state.info()
            assert (i.length, i.batch, i.runs) == (at, batch, len(pieces))
            assert i.in_place == (len(pieces) - 1 if in_place else 0), f"{name}: {i.in_place} of {i.runs} runs in place"
            if in_place and pieces == [1] * 150:
                new = compilations(session) - before
                assert new <= 4, f"{name}: {new} compilations for a prompt and the capacities 64, 128 and 256"
            # Rows are forgotten, and others come in their place; the batch changes its order and its size.
            assert state.truncate(at + 1) != 0 and state.truncate(20) == 0
            y = state.run(input_ids=ids[:, 20:21], attention_mask=ones(batch, 21))
            near(y, want[:, 20:21], "behind a truncation")
            assert state.reorder(batch) != 0 and state.reorder(batch - 1, 0) == 0
            y = state.run(input_ids=ids[[batch - 1, 0], 21:22], attention_mask=ones(2, 22))
            near(y, want[[batch - 1, 0], 21:22], "behind a new order")
            # A run that fails leaves all as it was.
            state.run(fails=True, input_ids=np.full((2, 1), 50), attention_mask=ones(2, 23))
            assert state.info().length == 22
            y = state.run(input_ids=ids[[batch - 1, 0], 22:23], attention_mask=ones(2, 23))
            near(y, want[[batch - 1, 0], 22:23], "behind a failure")
            # From the beginning, with another batch.
            assert state.truncate(0) == 0
            near(state.run(input_ids=ids[:1, :9], attention_mask=ones(1, 9)), want[:1, :9], "anew")
            near(state.run(input_ids=ids[:1, 9:10], attention_mask=ones(1, 10)), want[:1, 9:10], "anew, a row")
            state.close()
    lines = explained(session)
    assert lines and all(line.endswith("the past stays in its place") for line in lines), lines
    # Room for more keys than an import looks into (fold.c).
    state = State(session, names, capacity=5000)
    for k in range(3):
        near(state.run(input_ids=ids[:, k:k + 1], attention_mask=ones(3, k + 1)), want[:, k:k + 1], "a large capacity")
    assert state.info().in_place == (2 if in_place else 0), f"{name}: room for 5,000 rows"
    state.close()
    if name == "llama":  # a mask with a zero: the last key of a sequence is hidden, so this run is not in place
        state, mask = State(session, names), ones(2, 9)
        past = no_past(peer, 2)
        first = peer.run(None, {"input_ids": ids[:2, :8], "attention_mask": mask[:, :8], **past})
        made = dict(zip((o.name for o in peer.get_outputs()), first))
        past = {n: made[n.replace("past_key_values", "present")] for n in past}
        mask[0, 8] = 0
        want = peer.run(["logits"], {"input_ids": ids[:2, 8:9], "attention_mask": mask, **past})[0]
        state.run(input_ids=ids[:2, :8], attention_mask=mask[:, :8])
        near(state.run(input_ids=ids[:2, 8:9], attention_mask=mask), want, "a mask with a zero")
        assert state.info().in_place == 0
        state.close()
    if name == "gpt2":  # padding on the left, hidden by the mask: what is not all ones goes by joins
        state, mask = State(session, names), ones(2, 12)
        mask[0, :3] = 0
        feeds = no_past(peer, 2)
        want = peer.run(["logits"], {"input_ids": ids[:2, :12], "attention_mask": mask, **feeds})[0]
        state.run(input_ids=ids[:2, :8], attention_mask=mask[:, :8])
        for k in range(8, 12):
            y = state.run(input_ids=ids[:2, k:k + 1], attention_mask=mask[:, :k + 1])
            near(y, want[:, k:k + 1], "a mask with zeros")
        state.close()


def changed(*nodes, **constants):
    """Puts nodes behind the logits, which they read as "plain"; "length" is that of the past, f32, "number" the same, s64 {1}."""
    def change(g):
        g.node[-1].output[0] = "plain"
        constants["at"] = np.array([2], np.int64)
        g.initializer.extend(numpy_helper.from_array(a, n) for n, a in constants.items())
        g.node.append(helper.make_node("Shape", ["past_key_values.0.key"], ["sizes"]))
        g.node.append(helper.make_node("Gather", ["sizes", "at"], ["number"], axis=0))
        g.node.append(helper.make_node("Cast", ["number"], ["length"], to=1))
        g.node.extend(helper.make_node(op, x, [y], **more) for op, x, y, more in nodes)
    return change


# What else depends on the past: such models are right, and not in place.
table, i64 = rng.standard_normal((400, 50)).astype(np.float32), lambda *x: np.array(x, np.int64)
leaks = {
    "length": changed(("Add", ["plain", "length"], "logits", {})),
    "limit": changed(("Greater", ["number", "fifty"], "more", {}), ("Where", ["more", "two", "half"], "by", {}),
                     ("Mul", ["plain", "by"], "logits", {}), fifty=i64(20), two=np.array([2], np.float32),
                     half=np.array([.5], np.float32)),
    "beginning": changed(("Greater", ["number", "first"], "more", {}), ("Where", ["more", "two", "half"], "by", {}),
                         ("Mul", ["plain", "by"], "logits", {}), first=i64(1), two=np.array([2], np.float32),
                         half=np.array([.5], np.float32)),
    "table": changed(("Slice", ["table", "number", "end", "zero"], "rest", {}), ("Slice", ["rest", "zero", "next", "zero"], "row", {}),
                     ("Add", ["plain", "row"], "logits", {}), table=table, end=i64(400), zero=i64(0), next=i64(1)),
    "past": changed(("ReduceSum", ["past_key_values.1.value", "axes"], "sum", {"keepdims": 0}),
                    ("Add", ["plain", "sum"], "logits", {}), axes=i64(0, 1, 2, 3)),
}
for leak, change in leaks.items():
    session, peer = opened("states_leak_" + leak, "--style", "llama", change=change)
    ids, names = rng.integers(0, 50, (1, 30)), [i.name for i in peer.get_inputs()]
    for pieces, capacity in ([4] + [1] * 26, 0), ([1] * 5, 1), ([1] * 5, 3):
        past = no_past(peer, 1)
        state, at = State(session, names, capacity), 0
        for n in pieces:
            y = state.run(input_ids=ids[:, at:at + n], attention_mask=ones(1, at + n))
            want = dict(zip((o.name for o in peer.get_outputs()), peer.run(
                None, {"input_ids": ids[:, at:at + n], "attention_mask": ones(1, at + n), **past})))
            at += n
            past = {name: want[name.replace("past_key_values", "present")] for name in past}
            near(y, want["logits"], f"a model that reads the {leak} of its past, row {at}")
        # Below its limit the number changes nothing.
        assert state.info().in_place == 0 or (leak == "limit" and capacity), f"a model that reads the {leak} of its past is in place"
        assert any("because" in line for line in explained(session)) or leak == "limit", f"{leak}: {explained(session)}"
        state.close()


def takes_total(g):
    """The number of keys is an input, in place of the mask's size."""
    node = next(n for n in g.node if n.op_type == "GroupQueryAttention")
    old = node.input[6]
    g.node.remove(next(n for n in g.node if old in n.output))
    for n in g.node:
        n.input[:] = ["total" if x == old else x for x in n.input]
    g.input.append(helper.make_tensor_value_info("total", onnx.TensorProto.INT32, []))


session, peer = opened("states_total", "--style", "llama", change=takes_total)
ids, names, at = rng.integers(0, 50, (1, 80)), [i.name for i in peer.get_inputs()], 0
past = no_past(peer, 1)
want = peer.run(["logits"], {"input_ids": ids, "attention_mask": ones(1, 80), "total": np.array(80, np.int32), **past})[0]
state = State(session, names)
for n in [5] + [1] * 75:
    y = state.run(input_ids=ids[:, at:at + n], attention_mask=ones(1, at + n), total=np.array(at + n, np.int32))
    near(y, want[:, at:at + n], f"the number of keys as an input, row {at}")
    at += n
assert state.info().in_place == 75, f"{state.info().in_place} runs in place with the number of keys as an input"
state.close()


def hole(g):
    """A row in the middle of the table of positions does not see a key."""
    x = next(i for i in g.initializer if i.name == "tril")
    table = numpy_helper.to_array(x).copy()
    table[0, 0, 37, 10] = False
    x.CopyFrom(numpy_helper.from_array(table, "tril"))


def sinks(g):
    """A row sees the first keys and the last ones, by numbers that an import knows, because it is one row."""
    at = next(i for i, n in enumerate(g.node) if n.op_type == "LessOrEqual")
    node = g.node[at]
    keys, rows = node.input
    unsqueeze = next(n for n in g.node if rows in n.output)
    old = next(n for n in g.node if unsqueeze.input[0] in n.output)
    for name, value in (("few", 4), ("near", 20), ("nil", 0)):
        g.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    before = [helper.make_node("Sub", [old.input[1], old.input[0]], ["count"]),
              helper.make_node("Range", ["nil", "count", old.input[2]], ["counted"]),
              helper.make_node("Add", ["counted", old.input[0]], list(old.output))]
    after = [helper.make_node("Sub", [rows, "near"], ["bound"]), helper.make_node("Greater", [keys, "bound"], ["last"]),
             helper.make_node("Less", [keys, "few"], ["early"]), helper.make_node("Or", ["last", "early"], ["kept"]),
             helper.make_node("And", ["causal", "kept"], list(node.output))]
    g.initializer.append(numpy_helper.from_array(np.array(-.5, np.float32), "shift"))  # so that no mask is 0
    next(n for n in g.node if node.output[0] in n.input).input[1] = "shift"
    node.output[0] = "causal"
    nodes = []
    for n in g.node:
        nodes += before if n.name == old.name else [n]
        nodes += after if n.name == node.name else []
    del g.node[:]
    g.node.extend(nodes)


# Masks that agree with causal ones at the capacities that are looked at, and not between them.
for name, change, options in ("hole", hole, ["--positions", "200"]), ("hole", hole, []), ("sinks", sinks, ["--causal", "range"]):
    session, peer = opened("states_" + name, "--style", "gpt2", *options, change=change)
    ids, names, at = rng.integers(0, 50, (1, 70)), [i.name for i in peer.get_inputs()], 0
    want, state = whole(peer, ids), State(session, names)
    for n in [3] + [1] * 67:
        near(state.run(input_ids=ids[:, at:at + n]), want[:, at:at + n], f"{name}, row {at}")
        at += n
    assert state.info().in_place == 0 and any("because" in line for line in explained(session)), name
    state.close()


def merged(g):
    """The graph in both branches of an If, as exporters merge decoders with a past and without."""
    inputs, outputs, branches = list(g.input), list(g.output), []
    for branch in "then", "else":
        body = onnx.GraphProto()
        body.CopyFrom(g)
        del body.input[:]
        mine = {o for n in body.node for o in n.output} | {i.name for i in body.initializer}
        renamed = lambda name: f"{branch}/{name}" if name in mine else name
        for n in body.node:
            n.input[:], n.output[:] = [renamed(x) for x in n.input], [renamed(x) for x in n.output]
        for x in [*body.initializer, *body.output]:
            x.name = renamed(x.name)
        body.name = branch
        branches.append(body)
    node = helper.make_node("If", ["use_cache_branch"], [o.name for o in outputs], name="if", then_branch=branches[0], else_branch=branches[1])
    flag = helper.make_tensor_value_info("use_cache_branch", onnx.TensorProto.BOOL, [1])
    g.CopyFrom(helper.make_graph([node], "merged", [*inputs, flag], outputs))


session, peer = opened("states_merged", "--style", "gpt2", "--mask", change=merged)
ids, names = rng.integers(0, 50, (1, 40)), [i.name for i in peer.get_inputs()]
want = peer.run(["logits"], {"input_ids": ids, "attention_mask": ones(1, 40), "use_cache_branch": np.array([True]), **no_past(peer, 1)})[0]
state, at = State(session, names), 0
for n in [5] + [1] * 35:
    y = state.run(input_ids=ids[:, at:at + n], attention_mask=ones(1, at + n), use_cache_branch=np.array([at > 0]))
    near(y, want[:, at:at + n], f"merged decoders, row {at}")
    at += n
assert state.info().in_place == 35, f"merged: {state.info().in_place} runs in place, {explained(session)}"
# Where the table of positions ends, a run fails and leaves the state as it is; a shorter one goes on.
session, peer = opened("states_end", "--style", "gpt2", "--positions", "90")
ids, names, at = rng.integers(0, 50, (1, 90)), [i.name for i in peer.get_inputs()], 0
want, state = whole(peer, ids), State(session, names)
for n in [20] + [1] * 69:
    near(state.run(input_ids=ids[:, at:at + n]), want[:, at:at + n], f"to the end, row {at}")
    at += n
state.run(fails=True, input_ids=ids[:, :2])
assert state.info().length == 89 and state.info().in_place == 69
near(state.run(input_ids=ids[:, 89:]), want[:, 89:], "the last row")
state.run(fails=True, input_ids=ids[:, :1])
assert state.info().length == 90 and state.info().in_place == 70
state.close()
# Any tensor with rows is a pair: a batch of stacks of layers.
info = lambda name, *dims: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
path = os.path.join(work, "states_pair.onnx")
onnx.save(helper.make_model(helper.make_graph(
    [helper.make_node("Concat", ["past", "x"], ["present"], axis=3), helper.make_node("ReduceSum", ["present", "rows"], ["logits"], keepdims=0)],
    "pair", [info("x", "B", 2, 1, "S", 3), info("past", "B", 2, 1, "P", 3)], [info("logits", "B", 2, 1, 3), info("present", "B", 2, 1, "T", 3)],
    [numpy_helper.from_array(np.array([3]), "rows")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
session, _ = session_of(path)
state, x = State(session, ["x", "past"]), rng.standard_normal((2, 2, 1, 9, 3)).astype(np.float32)
for k in range(3):
    near(state.run(x=x[:, :, :, k:k + 1]), x[:, :, :, :k + 1].sum(3), f"a pair, row {k}")
assert state.reorder(1, 1, 0) == 0
order, last = [1, 1, 0], x[[0, 0, 0], :, :, 3:4]
near(state.run(x=last), x[order][:, :, :, :3].sum(3) + last[:, :, :, 0], "a pair in another order")
state.close()
print("states: logits are ONNX Runtime's")
