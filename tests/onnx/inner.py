"""Nodes whose sizes data decide, inside of functions, branches and loops; Ifs and Loops that only a run can size:
  inner.py NODES OPEN WORK_FOLDER"""
import sys

from ort_folders import Folders, T, f32, h, np, numpy_helper, session
from onnx import AttributeProto

nodes_program, open_program, work = sys.argv[1:4]
folders = Folders(work)
rng = np.random.default_rng(0)
n, value = h.make_node, h.make_tensor_value_info
MINE = [h.make_opsetid("", 17), h.make_opsetid("mine", 1), h.make_opsetid("com.microsoft", 1)]
NUMBERS = {"minus_one": np.array([-1]), "half": np.array(.5, f32), "zero": np.array(0, f32), "yes": np.array(True),
           "first": np.array([0]), "one": np.array(1, f32)}


def xs(*shapes):
    return [{"x": np.round(rng.standard_normal(s)).astype(f32)} for s in shapes]


def case(name, nodes, sets, outputs, functions=(), **numbers):
    """r = Relu(x) comes first. sets: of inputs by name, x first."""
    types = {"c": (T.BOOL, []), "n": (T.INT64, [])}
    made = [numpy_helper.from_array(np.asarray(a), k) for k, a in (NUMBERS | numbers).items()]
    for kind, some, sizes in (("", sets, ["a", "b"]), ("_once", sets[:1], sets[0]["x"].shape)):
        ins = [value(k, *(types | {"x": (T.FLOAT, sizes)})[k]) for k in sets[0]]
        graph = h.make_graph([n("Relu", ["x"], ["r"]), *nodes], "g", ins, [h.make_empty_tensor_value_info(k) for k in outputs], made)
        model = h.make_model(graph, functions=list(functions), opset_imports=MINE, ir_version=9)
        folders.save(name + kind, model, some, [session(model).run(None, fed) for fed in some])


def graph(nodes, outputs, inputs=()):
    return h.make_graph(nodes, "body", [value(k, t, s) for k, t, s in inputs], [value(k, t, None) for k, t in outputs])


# Functions: in the main graph, twice, in each other, with attributes of the call.
picked = h.make_function("mine", "Picked", ["v"], ["o", "p"], [
    n("Abs", ["v"], ["q"]), n("NonZero", ["v"], ["p"]), n("Transpose", ["p"], ["t"]), n("GatherND", ["q", "t"], ["o"])], MINE[:1])
unique = h.make_function("mine", "Groups", ["v"], ["o", "c"], [n("Unique", ["v"], ["o", "", "", "c"])], MINE[:1], ["sorted", "axis"])
for k in ("sorted", "axis"):
    a = unique.node[0].attribute.add()
    a.name, a.ref_attr_name, a.type = k, k, AttributeProto.INT
nested = h.make_function("mine", "Nested", ["v"], ["o", "c"], [
    n("Groups", ["v"], ["g", "c"], domain="mine", sorted=0, axis=1), n("Picked", ["g"], ["o", "unread"], domain="mine")], MINE)


def call(op, ins, outs, **attributes):
    return n(op, ins, outs, domain="mine", **attributes)


case("function", [call("Picked", ["r"], ["y", "p"]), n("Neg", ["y"], ["z"]), n("Add", ["r", "x"], ["w"])],
     xs((3, 4), (5, 2), (1, 1)), ["z", "p", "w"], [picked])
case("function_of_inputs", [call("Picked", ["x"], ["y", "p"])], xs((3, 4), (5, 2)), ["y", "p"], [picked])
case("function_twice", [call("Picked", ["x"], ["y", "p"]), n("Sub", ["y", "one"], ["u"]), call("Picked", ["u"], ["z", "q"])],
     xs((3, 4), (5, 2)), ["z", "p", "q"], [picked])
case("nested", [call("Nested", ["r"], ["y", "c"]), n("Shape", ["y"], ["s"])], xs((2, 8), (1, 9)), ["y", "c", "s"],
     [picked, unique, nested])
for ordered in (0, 1):
    case(f"attributes_{ordered}", [call("Groups", ["x"], ["y", "c"], sorted=ordered, axis=0)], xs((8, 1), (9, 1)), ["y", "c"],
         [unique])

case("unique_microsoft", [n("Reshape", ["x", "minus_one"], ["line"]), n("Unique", ["line"], ["y", "i", "k"], domain="com.microsoft")],
     xs((2, 8), (3, 5), (1, 1)), ["y", "i", "k"])

# Branches: of a condition that is known, an input, or computed; in a function, in each other; of other shapes.
where = graph([n("NonZero", ["r"], ["p"]), n("Transpose", ["p"], ["t"]), n("GatherND", ["r", "t"], ["o"])], [("o", T.FLOAT)])
flat = graph([n("Reshape", ["r", "minus_one"], ["o2"])], [("o2", T.FLOAT)])
twice = graph([n("Concat", ["r", "r"], ["o3"], axis=0)], [("o3", T.FLOAT)])
turned = graph([n("Neg", ["r"], ["o4"])], [("o4", T.FLOAT)])
condition = [n("ReduceMean", ["x"], ["mean"], keepdims=0), n("Greater", ["mean", "zero"], ["c"])]
more = xs((3, 4), (5, 2), (3, 4), (3, 4), (2, 2), (1, 1))


def choice(c, then, other, out="y"):
    return n("If", [c], [out], then_branch=then, else_branch=other)


case("if_known", [choice("yes", where, flat)], more, ["y"])
case("if_input", [choice("c", where, flat), n("Neg", ["y"], ["z"])],
     [fed | {"c": np.array(c)} for fed in more[:2] for c in (True, False)], ["z"])
for name, then, other in (("sizes", where, flat), ("shapes", twice, turned), ("ranks", flat, turned)):
    case(f"if_{name}", [*condition, choice("c", then, other), n("Neg", ["y"], ["z"]), n("Add", ["r", "mean"], ["w"])], more, ["z", "w"])
chosen = h.make_function("mine", "Chosen", ["r", "c", "minus_one"], ["y"], [choice("c", where, flat)], MINE[:1])
case("if_in_function", [*condition, call("Chosen", ["r", "c", "minus_one"], ["y"]), n("Neg", ["y"], ["z"])], more, ["z"], [chosen])
case("if_input_in_function", [call("Chosen", ["x", "c", "minus_one"], ["y"])],
     [fed | {"c": np.array(c)} for fed in more[:2] for c in (True, False)], ["y"], [chosen])
case("if_in_if", [*condition, n("Less", ["mean", "half"], ["d"]),
                  choice("c", graph([choice("d", where, flat, "k")], [("k", T.FLOAT)]), turned), n("Neg", ["y"], ["z"])], more, ["z"])


# Loops: of a count that is known, an input, or computed; with a condition that iterations compute.
def loop(nodes, count, variable, outs, inits=("r",), cond=""):
    given = [("i", T.INT64, []), ("on", T.BOOL, []), ("v", T.FLOAT, None)]
    keeps = [] if cond else [n("Identity", ["on"], ["off"])]
    body = graph([*keeps, *nodes], [("off", T.BOOL), (variable, T.FLOAT)] + [("s", T.FLOAT)] * (len(outs) - 1), given)
    return n("Loop", [count, cond, *inits], outs, body=body)


def counting(count):
    return loop([n("NonZero", ["v"], ["p"]), n("Transpose", ["p"], ["t"]), n("GatherND", ["v", "t"], ["e"]),
                 n("ReduceSum", ["e"], ["sum"], keepdims=0), n("Sub", ["v", "half"], ["u"]), n("Relu", ["u"], ["next"]),
                 n("Cast", ["i"], ["number"], to=T.FLOAT), n("Add", ["sum", "number"], ["s"])], count, "next", ["last", "all"])


halves = [n("Mul", ["v", "half"], ["next"]), n("ReduceMax", ["next"], ["s"], keepdims=0)]
computed = [n("ReduceMax", ["r"], ["most"], keepdims=0), n("Cast", ["most"], ["n"], to=T.INT64)]
case("loop_known", [counting("three")], xs((3, 4), (5, 2)), ["all", "last"], three=np.array(3))
case("loop_input", [counting("n"), n("Neg", ["all"], ["z"])],
     [fed | {"n": np.array(k)} for fed in more[:2] for k in (1, 3, 0)], ["z", "last"])
case("loop_computed", [*computed, counting("n")], more, ["all", "last"])
case("loop_grows", [n("Reshape", ["r", "minus_one"], ["line"]),
                    loop([n("NonZero", ["v"], ["p"]), n("Gather", ["p", "first"], ["row"], axis=0), n("Cast", ["row"], ["q"], to=T.FLOAT),
                          n("Reshape", ["q", "minus_one"], ["flat"]), n("Concat", ["v", "flat"], ["next"], axis=0)],
                         "three", "next", ["last"], ["line"])], more, ["last"], three=np.array(3))
case("loop_collects", [*computed, loop(halves, "n", "next", ["last", "all"])], more, ["all", "last"])
case("loop_condition", [loop([*halves, n("Greater", ["s", "half"], ["off"])], "", "next", ["last", "all"], cond="yes")], more,
     ["all", "last"])
case("loop_both", [*computed, loop([*halves, n("Greater", ["s", "half"], ["off"])], "n", "next", ["last", "all"], cond="yes"),
                   n("Neg", ["all"], ["z"])], more, ["z", "last"])
case("scan", [n("Scan", ["r"], ["y"], num_scan_inputs=1,
                body=graph([n("NonZero", ["row"], ["p"]), n("Shape", ["p"], ["t"]), n("Cast", ["t"], ["s"], to=T.FLOAT)],
                           [("s", T.FLOAT)], [("row", T.FLOAT, None)]))], more, ["y"])

sys.exit(folders.run(nodes_program, open_program))
