"""Cases of the standard's suites once more with what their nodes make as outputs, by ONNX Runtime without
optimisations, or by the reference of what that does not run:
  between.py NODES WORK_FOLDER FOLDER=ITS_REFUSED,...
Of each model of several nodes: all results (at most MOST), and a part of them, so that other operators are fused."""
import os
import re
import subprocess
import sys

from ort_folders import Folders, TYPES, h as helper, np, numpy_helper, onnx, session
import onnx.reference

MOST, ENOUGH = 48, 800  # outputs, of 64 tensors that the program takes; models
program, work, lists = sys.argv[1:4]
TYPES |= {np.dtype(np.float16): onnx.TensorProto.FLOAT16, np.dtype(np.int8): onnx.TensorProto.INT8}


def refusals(path):
    """Folders that the list names for all ways of running them."""
    with open(path) as file:
        return {line.strip() for line in file if line.startswith("  ") and not re.search("/(inputs|frozen)$", line.strip())}


def with_outputs(model, names):
    """The model with these outputs, too."""
    more = onnx.ModelProto()
    more.CopyFrom(model)
    old = {o.name for o in model.graph.output}
    more.graph.output.extend(helper.make_empty_tensor_value_info(k) for k in names if k not in old)
    return more


def arrays(folder, kind, ports):
    """Inputs or outputs of the first data set, by name; None: not all are tensors that graphs carry."""
    found = {}
    for i, port in enumerate(ports):
        tensor = onnx.TensorProto()
        try:
            with open(os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb"), "rb") as file:
                tensor.ParseFromString(file.read())
            found[port.name] = numpy_helper.to_array(tensor)
        except Exception:
            return None
        if found[port.name].dtype not in TYPES:
            return None
    return found


def judged(model, feeds, right):
    """All outputs by name; None: no judge makes the results of the case."""
    for judge in (session, onnx.reference.ReferenceEvaluator):
        try:
            with np.errstate(all="ignore"):
                got = dict(zip((o.name for o in model.graph.output), judge(model).run(None, feeds)))
        except Exception:
            continue
        if all(isinstance(a, np.ndarray) and a.dtype in TYPES for a in got.values()) and all(
                got[k].shape == a.shape and got[k].dtype == a.dtype for k, a in right.items()):
            return got
    return None


folders, seen = Folders(work), set()
rng = np.random.default_rng(0)
for at in lists.split(","):
    data, skipped = at.split("=")
    if not os.path.isdir(data):
        print(f"SKIPPED: {data} is not there")
        sys.exit(0)
    skipped = refusals(skipped)
    for name in sorted(os.listdir(data)):
        path = os.path.join(data, name, "model.onnx")
        if name in skipped or name in seen or not os.path.exists(path):
            continue
        model = onnx.load(path)
        made = [k for n in model.graph.node for k in n.output if k]
        if len(model.graph.node) < 2:
            continue
        held = {i.name for i in model.graph.initializer}
        folder = os.path.join(data, name)
        feeds = arrays(folder, "input", [i for i in model.graph.input if i.name not in held])
        right = arrays(folder, "output", model.graph.output)
        if feeds is None or right is None:
            continue
        seen.add(name)
        del model.graph.value_info[:]
        places = np.linspace(0, len(made) - 1, min(len(made), MOST)).astype(int)
        some = [made[i] for i in np.flatnonzero(rng.random(len(made)) < .3)[:MOST]]
        for kind, names in (("all", [made[i] for i in places]), ("part", some)):
            more = with_outputs(model, names)
            got = judged(more, feeds, right)
            if got:
                folders.save(f"{name}_{kind}", more, [feeds], [list(got.values())])
            else:
                print(f"{name}, {kind}: no judge")
nfolders = folders.counts["fixed"]
print(f"{nfolders} models of {len(seen)} cases")
status = subprocess.run([program, os.path.join(work, "fixed"), os.devnull, "--absolute", "2e-5"]).returncode
sys.exit(status or nfolders < ENOUGH)
