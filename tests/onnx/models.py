"""Real models through the importer against ONNX Runtime, seeded inputs, rtol 1e-3. The folder that DNNL_TP_TEST_MODELS names
holds the files; those that are not there are skipped by name.
  models.py ONNX_RUN WORK_FOLDER"""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnxruntime
    from real_models import MODELS
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, work = sys.argv[1:3]
folder = os.environ.get("DNNL_TP_TEST_MODELS", "")
os.makedirs(work, exist_ok=True)
onnxruntime.set_default_logger_severity(3)  # errors
RTOL, ATOL = 1e-3, 1e-5
wrong, ran = [], 0
for name, cases in MODELS.items():
    path = os.path.join(folder, name + ".onnx")
    if not folder or not os.path.exists(path):
        print(f"skipped: {name} is not there")
        continue
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    results = [o.name for o in session.get_outputs()]
    for case in cases:
        want = session.run(None, case)
        arguments = [program, path]
        for k, (key, array) in enumerate(case.items()):
            np.save(os.path.join(work, f"in{k}.npy"), array)
            arguments += ["--input", f"{key}={work}/in{k}.npy"]
        for k, key in enumerate(results):
            arguments += ["--output", f"{key}={work}/out{k}.npy"]
        run = subprocess.run(arguments, capture_output=True, text=True)
        if run.returncode:
            print(run.stderr)
            wrong.append(name)
            continue
        ran += 1
        worst = 0.
        for k, expected in enumerate(want):
            got = np.load(os.path.join(work, f"out{k}.npy"))
            worst = max(worst, float(np.max(np.abs(got - expected) / (ATOL + RTOL * np.abs(expected)))))
        print(f"{name}, {[a.shape for a in case.values()]}: {worst:.3g} of the tolerance", flush=True)
        if not worst <= 1:
            wrong.append(name)
if wrong:
    sys.exit(f"wrong: {', '.join(wrong)}")
if not ran:
    print("SKIPPED: DNNL_TP_TEST_MODELS names no folder with one of the models")
