"""Writes the cases that PyPI's onnx collects as folders, and runs them:
  collected.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
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


for case in collect_testcases(None):
    folder = os.path.join(work, case.name)
    write(os.path.join(folder, "model.onnx"), case.model)
    for i, (inputs, outputs) in enumerate(case.data_sets):
        for kind, arrays, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for k, (array, info) in enumerate(zip(arrays, infos)):
                write(os.path.join(folder, f"test_data_set_{i}", f"{kind}_{k}.pb"), proto(array, info))
sys.exit(subprocess.run([program, work, refused] + sys.argv[4:]).returncode)
