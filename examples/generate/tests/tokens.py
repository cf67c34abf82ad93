"""Tokens of generate: with the cache in its place, by joins, by running all tokens anew, and by ONNX Runtime, of graphs as
exporters write them; several clients; sampling.
  tokens.py GENERATE EXPORT WORK_FOLDER"""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, export, work = sys.argv[1:4]
PROMPT, TOKENS = [5, 17, 200, 3, 9], 200
os.makedirs(work, exist_ok=True)


def generate(model, *options):
    """The tokens of each client, and the summary."""
    r = subprocess.run([program, model, "--prompt", ",".join(map(str, PROMPT)), "--tokens", str(TOKENS), *options],
                       capture_output=True, text=True, timeout=100)
    assert r.returncode == 0, r.stderr
    return [[int(t) for t in line.split(":")[-1].split()] for line in r.stdout.splitlines()], r.stderr


def by_onnxruntime(model):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    s = ort.InferenceSession(model, options)
    names, outputs = [i.name for i in s.get_inputs()], [o.name for o in s.get_outputs()]
    sizes = {"batch": 1, "past_sequence_length": 0}
    past = {i.name: np.zeros([sizes.get(d, d) for d in i.shape], np.float32) for i in s.get_inputs() if "past" in i.name}
    tokens, new, least = list(PROMPT), PROMPT, np.inf
    for _ in range(TOKENS):
        feeds = {"input_ids": np.array([new], np.int64), **past}
        if "attention_mask" in names:
            feeds["attention_mask"] = np.ones((1, len(tokens)), np.int64)
        y = dict(zip(outputs, s.run(None, feeds)))
        logits = np.sort(y["logits"][0, -1])
        least = min(least, logits[-1] - logits[-2])
        tokens.append(int(y["logits"][0, -1].argmax()))
        past = {n: y[n.replace("past_key_values", "present")] for n in past}
        new = tokens[-1:]
    return tokens[len(PROMPT):], least


# Options of the exporter, and how many runs of TOKENS leave the past in its place.
models = {
    "llama": (["--style", "llama"], TOKENS - 1),
    "llama_shared": (["--style", "llama", "--heads", "4", "--groups", "1", "--seed", "2"], TOKENS - 1),
    "gpt2": (["--style", "gpt2"], TOKENS - 1),
    "attention": (["--style", "gpt2", "--attention", "--seed", "4"], TOKENS - 1),
    "gpt2_mask": (["--style", "gpt2", "--mask", "--seed", "3"], TOKENS - 1),
    "gpt2_floats": (["--style", "gpt2", "--causal", "floats", "--scale", "mul", "--heads", "4", "--groups", "2", "--seed", "5"], TOKENS - 1),
    "gpt2_range": (["--style", "gpt2", "--causal", "range", "--scale", "both", "--mask", "--seed", "6"], TOKENS - 1),
    "gpt2_triangle": (["--style", "gpt2", "--causal", "triangle", "--scale", "queries", "--seed", "7"], TOKENS - 1),
    "gpt2_columns": (["--style", "gpt2", "--cache", "columns", "--causal", "triangle", "--seed", "9"], TOKENS - 1),
    "gpt2_stacked": (["--style", "gpt2", "--cache", "stacked", "--causal", "product", "--seed", "10"], TOKENS - 1),
    "gpt2_product": (["--style", "gpt2", "--causal", "product", "--seed", "8"], TOKENS - 1),
}
for name, (options, in_place) in models.items():
    model = os.path.join(work, name + ".onnx")
    subprocess.run([sys.executable, export, model, "--layers", "2", "--hidden", "128", "--vocabulary", "300", "--positions",
                    "512", *options], check=True)
    want, least = by_onnxruntime(model)
    assert least > 1e-4, f"{name}: two logits are equal within {least}: take another seed"
    ways = {"state": [], "clients": ["--clients", "3", "--threads", "2"]}
    if "--causal" not in options and "--cache" not in options:
        ways.update(joins=["--joins"], recompute=["--recompute"], threads=["--threads", "2"])
    for way, more in ways.items():
        got, summary = generate(model, *more)
        for tokens in got:
            assert tokens == want, f"{name}, {way}: {tokens} where ONNX Runtime has {want}"
        if way in ("state", "threads"):
            assert f"\n{in_place} of {TOKENS} runs" in summary, f"{name}: {summary}"
    print(f"{name}: {TOKENS} tokens, the same by {', '.join(ways)} and ONNX Runtime")

sampled = ["--temperature", "0.9", "--top-k", "40", "--top-p", "0.95", "--seed"]
one, _ = generate(model, *sampled, "1")
again, _ = generate(model, *sampled, "1")
other, _ = generate(model, *sampled, "2")
assert one == again and one != other, "sampling does not follow its seed"
for one_left in (["--temperature", "5", "--top-k", "1"], ["--temperature", "5", "--top-p", "1e-9"], ["--temperature", "1e-6"]):
    greedy, _ = generate(model, *one_left)
    assert greedy == [want], f"{one_left}: not the most likely tokens"

# What cannot be: a text on standard error, no tokens, and exit status 2 for wrong options, 1 for the rest.
empty = os.path.join(work, "empty.onnx")
open(empty, "w").close()
for status, arguments in [(2, [model, *words.split()]) for words in (
        "--tokens 0", "--tokens -1", "--tokens 1e9", "--tokens 1048577", "--tokens 99999999999999999999", "--tokens", "--bogus 1",
        "-x", "-", model, "--prompt 5,", "--prompt -1", "--prompt x", "--top-p 2", "--temperature nan", "--threads 0",
        "--clients 65")] + [(2, []), (1, [work]), (1, [empty]), (1, [os.devnull]), (1, [model, "--prompt", "300"])]:
    r = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert r.returncode == status and r.stderr.startswith("generate: ") and not r.stdout, f"{arguments}: {r}"
for full in ([model, "--tokens", "2"], ["--help"]) if os.path.exists("/dev/full") else ():
    with open("/dev/full", "w") as out:
        r = subprocess.run([program, *full], stdout=out, stderr=subprocess.PIPE, timeout=20)
    assert r.returncode == 1, f"{full} on a full disk: {r}"
