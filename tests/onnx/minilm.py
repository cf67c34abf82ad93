"""The sentence encoder through the importer: MiniLM is exported as ONNX (benchdnn/models/export_onnx.py), run by onnx_run and
by ONNX Runtime on the same ids, and the embeddings agree; each layer's attention is one operator.
  minilm.py ONNX_RUN MODEL_FOLDER WORK_FOLDER"""
import os
import re
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../benchdnn/models"))
    from export_onnx import Builder
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, folder, work = sys.argv[1:]
if not os.path.exists(os.path.join(folder, "model.safetensors")):
    print("SKIPPED: no model; scripts/get_model brings it")
    sys.exit(0)
os.makedirs(work, exist_ok=True)
model = os.path.join(work, "minilm.onnx")
builder = Builder(folder)
onnx.save(builder.build(), model)
batch, tokens = 2, 32
ids = np.random.default_rng(1).integers(0, 30522, (batch, tokens)).astype(np.int64)
mask = np.ones((batch, tokens), np.int64)
mask[1, 20:] = 0
want = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"ids": ids, "mask": mask})[0]
files = {}
for name, array in (("ids", ids), ("mask", mask), ("embeddings", want)):
    files[name] = os.path.join(work, name + ".npy")
    np.save(files[name], array)
run = subprocess.run(
    [program, model, "--input", "ids=" + files["ids"], "--input", "mask=" + files["mask"], "--verify",
     "embeddings=" + files["embeddings"], "--rtol", "0", "--atol", "1e-5"],
    env=dict(os.environ, DNNL_TP_VERBOSE="1"), capture_output=True, text=True)
print(run.stdout[-2000:], run.stderr)
difference = re.search(r"largest difference to .*: (\S+)", run.stdout)
attentions = len(re.findall(r"^dnnl_tp_verbose,.*,exec,.*,attention,", run.stdout, re.M))
layers = builder.config["num_hidden_layers"]
# In bf16: attention is recognised all the same, and embeddings are within these of ONNX Runtime's.
MAX_BF16, COSINE_BF16 = 1e-2, .9995
low = os.path.join(work, "bf16.npy")
bf16 = subprocess.run([program, model, "--bf16", "--input", "ids=" + files["ids"], "--input", "mask=" + files["mask"],
                       "--output", "embeddings=" + low], env=dict(os.environ, DNNL_TP_VERBOSE="1"), capture_output=True, text=True)
if bf16.returncode or len(re.findall(r"^dnnl_tp_verbose,.*,exec,.*,attention,.*bf16", bf16.stdout, re.M)) != layers:
    sys.exit(f"bf16: {bf16.stdout[-2000:]} {bf16.stderr}")
got = np.load(low).astype(np.float64)
cosine = ((got * want).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(want, axis=1)).min()
print(f"bf16: largest difference {abs(got - want).max():.3g}, cosine {cosine:.6f}")
if not abs(got - want).max() <= MAX_BF16 or not cosine >= COSINE_BF16:
    sys.exit("bf16: embeddings differ")
if run.returncode or attentions != layers:
    sys.exit(f"embeddings differ by {difference and difference[1]}, {attentions} of {layers} layers have one attention")
