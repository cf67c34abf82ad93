"""Test folders with results of ONNX Runtime: models of nodes, and data sets of one size (fixed/) or of several (open/). A test
imports this first: it is skipped where the peers are missing."""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto as T, helper as h, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

f32, i32, i64 = np.float32, np.int32, np.int64
TYPES = {np.dtype(t): n for t, n in ((f32, T.FLOAT), (np.float64, T.DOUBLE), (i32, T.INT32), (i64, T.INT64), (np.uint8, T.UINT8),
                                   (np.int8, T.INT8), (bool, T.BOOL))}
MS = "com.microsoft"


def session(model, path=None, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL, off=()):
    """path: where the optimised model is written; off: names of optimisations that do not run."""
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads, options.graph_optimization_level = 4, 1, level
    if path:
        options.optimized_model_filepath = path
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"],
                                disabled_optimizers=list(off))


def model_of(nodes, sets, inits, outputs, opset=17):
    """sets: inputs by name, once for each data set; sizes that differ are open. outputs: names."""
    infos = []
    for k, a in sets[0].items():
        dims = [s[k].shape for s in sets]
        assert len({len(d) for d in dims}) == 1, k
        shape = [d[0] if len(set(d)) == 1 else f"{k}{i}" for i, d in enumerate(zip(*dims))]
        infos.append(h.make_tensor_value_info(k, TYPES[a.dtype], shape))
    outs = [h.make_empty_tensor_value_info(o) for o in outputs]
    graph = h.make_graph(nodes, "g", infos, outs, [numpy_helper.from_array(np.asarray(a), k) for k, a in inits.items()])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset), h.make_opsetid(MS, 1)], ir_version=9)


class Folders:
    def __init__(self, work):
        self.work, self.counts, self.names = work, {"fixed": 0, "open": 0}, set()
        shutil.rmtree(work, ignore_errors=True)
        for kind in self.counts:
            os.makedirs(os.path.join(work, kind))

    def save(self, name, model, sets, want, graphs=0):
        """graphs: as many may be imported for all sets, 0: any number."""
        assert name not in self.names, name
        self.names.add(name)
        kind = "fixed" if len(sets) == 1 else "open"
        folder = os.path.join(self.work, kind, name)
        for number, (fed, right) in enumerate(zip(sets, want)):
            place = os.path.join(folder, f"test_data_set_{number}")
            os.makedirs(place)
            for prefix, tensors in (("input", list(fed.values())), ("output", right)):
                for i, array in enumerate(tensors):
                    with open(os.path.join(place, f"{prefix}_{i}.pb"), "wb") as file:
                        file.write(numpy_helper.from_array(np.array(array, order="C")).SerializeToString())
            self.counts[kind] += 1
        for o, array in zip(model.graph.output, want[0]):
            o.CopyFrom(h.make_tensor_value_info(o.name, TYPES[array.dtype], [None] * array.ndim))
        onnx.save(model, os.path.join(folder, "model.onnx"))
        if graphs:
            with open(os.path.join(folder, "graphs"), "w") as file:
                file.write(f"{graphs}\n")

    def run(self, nodes_program, open_program, refused=os.devnull, nrefused=0, tolerances=("--absolute", "2e-5"), isas=("",)):
        """The exit status; all sets but nrefused run. isas: the most that processors may have; "": as the environment says."""
        print(f"{self.counts} sets of {len(self.names)} models")
        status = 0
        for isa in isas:
            env = os.environ | ({"DNNL_TP_MAX_CPU_ISA": isa} if isa else {})
            status |= subprocess.run([nodes_program, os.path.join(self.work, "fixed"), refused, *tolerances], env=env).returncode
            for kind, count in self.counts.items():
                if not count:
                    continue
                count -= nrefused if kind == "fixed" else 0
                status |= subprocess.run([open_program, os.path.join(self.work, kind), f"={count}"], env=env).returncode
        return status
