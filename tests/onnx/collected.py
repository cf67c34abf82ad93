"""Writes the cases that PyPI's onnx collects as folders, and runs them:
  collected.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
import re
import subprocess
import sys
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

VERSION = "1.23.2"  # which the list of refusals was written for
program, refused, work = sys.argv[1:4]
if onnx.__version__ != VERSION:
    print(f"SKIPPED: onnx is {onnx.__version__}, the list is of {VERSION}")
    sys.exit(0)


def proto(array, info):
    if isinstance(array, onnx.TensorProto):
        return array
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(array, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(array, info.name)
    return numpy_helper.from_array(np.asarray(array), info.name)


def write(path, message):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def types(graph):
    """What the tensors of a graph are made of, by number; text: what is no tensor."""
    for value in list(graph.input) + list(graph.output):
        kind = value.type.WhichOneof("value")
        yield value.type.tensor_type.elem_type if kind == "tensor_type" else kind
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.TENSOR:
                yield a.t.data_type
            elif a.type == onnx.AttributeProto.GRAPH:
                yield from types(a.g)
            elif a.name in ("to", "dtype") and a.type == onnx.AttributeProto.INT:
                yield a.i


T = onnx.TensorProto
CARRIED = {T.FLOAT, T.DOUBLE, T.INT64, T.INT32, T.UINT8, T.BOOL}
core = set()
for case in collect_testcases(None):
    folder = os.path.join(work, case.name)
    domains = {i.domain for i in case.model.opset_import}
    if domains <= {"", "ai.onnx"} and set(types(case.model.graph)) <= CARRIED and "expanded" not in case.name:
        core.add(case.name)
    write(os.path.join(folder, "model.onnx"), case.model)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        for kind, arrays, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for k, (array, info) in enumerate(zip(arrays, infos)):
                write(os.path.join(folder, f"test_data_set_{i}", f"{kind}_{k}.pb"), proto(array, info))
status = subprocess.run([program, work, refused] + sys.argv[4:]).returncode
with open(refused) as file:
    missing = {re.sub("/(inputs|frozen)$", "", line.strip()) for line in file if line.startswith("  ")}
CORE = 1000
print(f"core kinds in the types of graphs: {len(core - missing)} of {len(core)} pass, at least {CORE} have to")
sys.exit(status or len(core - missing) < CORE)
