"""Probabilities and parts of speech: of detectors with seeded weights, and of Silero's where DNNL_TP_TEST_MODELS has it, beside
ONNX Runtime and a search of this file, in WAV files of all kinds; what is refused.
  parts.py SPEECH EXPORT WORK_FOLDER"""
import importlib.util
import os
import struct
import subprocess
import sys

try:
    import numpy as np
    import onnx  # noqa: F401
    import onnxruntime as ort
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, export_path, work = sys.argv[1:4]
os.makedirs(work, exist_ok=True)
spec = importlib.util.spec_from_file_location("export", export_path)
export = importlib.util.module_from_spec(spec)
spec.loader.exec_module(export)
RATE, CHUNK = export.RATE, export.CHUNK


def run(*arguments, status=0, text=""):
    r = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=100)
    assert r.returncode == status and text in r.stderr, (arguments, r.returncode, r.stderr)
    return [[float(v) for v in line.split()] for line in r.stdout.splitlines()]


def at(name):
    return os.path.join(work, name)


def by_onnxruntime(model, x, context):
    """The probability of each chunk."""
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    s = ort.InferenceSession(model, options)
    states = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.float32) for i in s.get_inputs()
              if len(i.shape) == 3}
    has_rate = any(i.name == "sr" for i in s.get_inputs())
    return export.chunks(lambda feeds: s.run(None, feeds), x, states, context, RATE if has_rate else 0)


def parts_of(p, length, threshold=.5, least=250, pause=100, margin=30):
    """Parts in seconds: first all of them, then their margins."""
    least, pause, margin = (int(ms * RATE / 1e3) for ms in (least, pause, margin))
    lower = max(threshold - .15, .01)
    found, begin = [], None
    k = 0
    while k < len(p):
        if begin is None:
            if p[k] >= threshold:
                begin = k
        elif p[k] < lower:
            # The first chunk from here on that is speech again, and the first low one that is late enough.
            again = next((i for i in range(k, len(p)) if p[i] >= threshold), len(p))
            late = next((i for i in range(k, len(p)) if p[i] < lower and (i - k) * CHUNK >= pause), len(p))
            if late < again:
                found.append([begin * CHUNK, k * CHUNK])
                begin, k = None, late
            else:
                k = again
        k += 1
    if begin is not None:
        found.append([begin * CHUNK, length])
    found = [f for f in found if f[1] - f[0] > least]
    grown = [list(f) for f in found]
    for i, (begin, end) in enumerate(found):
        before = (begin - found[i - 1][1]) // 2 if i else begin
        behind = (found[i + 1][0] - end) // 2 if i + 1 < len(found) else length - end
        grown[i] = [begin - min(before, margin), end + min(behind, margin)]
    return [[b / RATE, e / RATE] for b, e in grown]


def wav(path, x, kind="s16", channels=1, rate=RATE, junk=False, claim=None):
    """A WAV file written byte by byte. claim: bytes of samples that the header tells."""
    x = np.repeat(x[:, None], channels, 1)
    data = x.astype("<f4").tobytes() if kind == "f32" else np.round(x * 32768).astype("<i2").tobytes()
    bits, tag = (32, 3) if kind == "f32" else (8, 1) if kind == "u8" else (16, 1)
    form = struct.pack("<HHIIHH", tag, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    if junk:  # an extensible format, and a chunk of an odd size before the samples
        form = struct.pack("<H", 0xfffe) + form[2:] + struct.pack("<HHIH", 22, bits, 0, tag) + bytes(14)
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(form)) + form
    if junk:
        body += b"LIST" + struct.pack("<I", 5) + b"abcde\0"
    body += b"data" + struct.pack("<I", len(data) if claim is None else claim) + data
    with open(path, "wb") as f:
        f.write(b"RIFF" + struct.pack("<I", len(body)) + body)


def close(got, want, limit):
    a, b = np.array(got).ravel(), np.array(want).ravel()
    assert a.shape == b.shape and (not a.size or np.abs(a - b).max() <= limit), (got[:9], want[:9])


x, sounds = export.recording(np.random.default_rng(7), 30.1)
x = np.round(x * 32768) / 32768
wav(at("r.wav"), x)
models = {"one_state": ([], 64), "two_states": (["--two-states"], 0)}
for name, (options, context) in models.items():
    model = at(name + ".onnx")
    subprocess.run([sys.executable, export_path, model, "--units", "24", *options], check=True)
    want = by_onnxruntime(model, x, context)
    assert len(want) == -(-len(x) // CHUNK) and want.min() < .1 and want.max() > .9
    for threads in 1, 3:
        close(run(model, at("r.wav"), "--chunks", "--threads", threads), want, 2e-5)
    # Parts: by the rules, and near to where sound is.
    got = run(model, at("r.wav"))
    close(got, parts_of(want, len(x)), 6e-4)
    close(got, sounds, .2)
    assert len(got) >= 4
    for least, pause, margin, threshold in ((1500, 100, 30, .5), (0, 700, 400, .9), (250, 0, 5000, .05), (0, 1200, 0, .5)):
        expected = parts_of(want, len(x), threshold, least, pause, margin)
        close(run(model, at("r.wav"), "--least", least, "--pause", pause, "--margin", margin, "--threshold", threshold),
              expected, 6e-4)
model, want = at("one_state.onnx"), by_onnxruntime(at("one_state.onnx"), x, 64)
# Sound up to the end, no sound, less than a chunk, nothing; around the size of a block.
cut = int((sounds[1][0] + sounds[1][1]) / 2 * RATE)
for begin, end in (0, cut), (0, 3000), (0, 100), (0, 0), (1000, 1000 + 64 * CHUNK), (5, 5 + 64 * CHUNK + 1):
    y = x[begin:end]
    p = by_onnxruntime(model, y, 64) if len(y) else np.array([])
    wav(at("cut.wav"), y)
    close(run(model, at("cut.wav"), "--chunks"), p, 2e-5)
    close(run(model, at("cut.wav")), parts_of(p, len(y)), 6e-4)
# Kinds of files: the same probabilities.
short = x[:20000]
expected = by_onnxruntime(model, short, 64)
for form in ({"kind": "f32"}, {"channels": 2}, {"kind": "f32", "channels": 3, "junk": True}, {"junk": True}, {"claim": 0},
             {"claim": 0xffffffff}):
    wav(at("form.wav"), short, **form)
    close(run(model, at("form.wav"), "--chunks"), expected, 2e-5)
with open(at("form.wav"), "rb") as f:
    r = subprocess.run([program, model, "-", "--chunks"], stdin=f, capture_output=True, text=True)
close([float(v) for v in r.stdout.split()], expected, 2e-5)
wav(at("short.wav"), short, claim=50000)
close(run(model, at("short.wav"), "--chunks", text="ends before its samples do"), expected, 2e-5)
# Another context than the model was made for gives other probabilities, and they are those of ONNX Runtime.
close(run(model, at("form.wav"), "--chunks", "--context", 0), by_onnxruntime(model, short, 0), 2e-5)

wav(at("slow.wav"), short, rate=8000)
wav(at("bytes.wav"), short, kind="u8")
with open(at("text.wav"), "w") as f:
    f.write("no sound")
with open(at("form.wav"), "rb") as f, open(at("head.wav"), "wb") as g:
    g.write(f.read(40))
for file, text in (("none.wav", "No such file"), ("slow.wav", "8000 samples a second"), ("bytes.wav", "neither 16-bit"),
                   ("text.wav", "not a WAV file"), ("head.wav", "no samples")):
    assert run(model, at(file), status=1, text=text) == []
run(at("none.onnx"), at("r.wav"), status=1, text="none.onnx")
run(at("two_states.onnx"), at("r.wav"), "--context", 64, status=1, text="input")  # its size is 512
for options in (["--threads", "0"], ["--threshold", "2"], ["--context", "1.5"], ["--pause"], ["--what"], ["third.wav"]):
    assert run(model, at("r.wav"), *options, status=2) == []
run(model, status=2, text="needed")

silero = os.path.join(os.environ.get("DNNL_TP_TEST_MODELS", ""), "silero_vad_op18_ifless.onnx")
if os.path.exists(silero):
    want = by_onnxruntime(silero, x, 64)
    close(run(silero, at("r.wav"), "--chunks"), want, 2e-4)
    close(run(silero, at("r.wav"), "--threshold", .1), parts_of(want, len(x), .1), 6e-4)
print("speech: all agree")
