"""Writes a detector of the form of Silero VAD with seeded weights, and a synthetic recording to try it on:
  export.py MODEL.onnx [--seed N] [--units N] [--two-states] [--recording FILE.wav [--seconds N]]

The model gets 64 + 512 samples of 16 kHz, a state and the rate. It has magnitudes of a transform (a convolution), two
convolutions, an LSTM of one step and a logistic function. Its last layer is fitted so that loud harmonic sound is speech and
faint noise is not: it detects loudness, no words. --two-states: h and c are states of their own, and there is no context.
With a recording, the parts that have sound are printed in seconds.
"""
import argparse
import wave

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RATE, CHUNK, CONTEXT, FRAME, STEP = 16000, 512, 64, 256, 128


def sound(random, seconds):
    """Harmonics with a melody and syllables."""
    t = np.arange(int(seconds * RATE)) / RATE
    tone = 2 * np.pi * (140 * t - 6 * np.cos(2 * np.pi * .7 * t + random.uniform(0, 6)))
    return .12 * sum(np.sin(k * tone) / k for k in range(1, 12)) * (.65 + .35 * np.sin(2 * np.pi * 4 * t))


def noise(random, seconds):
    return .0008 * random.standard_normal(int(seconds * RATE))


def recording(random, seconds):
    """Sound of 0.5 to 3 s between pauses of 0.5 to 2 s, in noise; samples, and where sound is in seconds."""
    x, parts, at = noise(random, seconds), [], .4
    while True:
        length = round(random.uniform(.5, 3), 3)
        if at + length > seconds - .3:
            return x, parts
        begin = int(at * RATE)
        y = sound(random, length)
        x[begin:begin + len(y)] += y
        parts.append((begin / RATE, (begin + len(y)) / RATE))
        at += length + round(random.uniform(.5, 2), 3)


def write_wav(path, x):
    with wave.open(path, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(RATE)
        f.writeframes(np.round(np.clip(x, -1, 32767 / 32768) * 32768).astype("<i2").tobytes())


def build(random, units, two_states, gain, offset):
    """The model; the probability is logistic(gain * mean of h + offset)."""
    f, nodes, constants = np.float32, [], {}

    def const(name, value):
        constants[name] = np.asarray(value)
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output
    bins = FRAME // 2 + 1
    angle = 2 * np.pi * np.outer(np.arange(bins), np.arange(FRAME)) / FRAME
    basis = np.concatenate([np.cos(angle), -np.sin(angle)]) * np.hanning(FRAME)
    one = const("one", [1])
    x = node("Unsqueeze", ["input", one], "x0")
    x = node("Pad", [x, const("pads", [0, 0, 0, 0, 0, STEP // 2])], "x1", mode="reflect")
    node("Conv", [x, const("basis", basis[:, None].astype(f))], "x2", strides=[STEP])
    nodes.append(helper.make_node("Split", ["x2", const("halves", [bins, bins])], ["re", "im"], axis=1))
    x = node("Add", [node("Mul", ["re", "re"], "re2"), node("Mul", ["im", "im"], "im2")], "x3")
    x = node("Sqrt", [x], "x4")
    for i, inner in enumerate((bins, units)):
        w = random.uniform(0, 2 / (3 * inner), (units, inner, 3))
        bias = const(f"bias{i}", random.uniform(0, .01, units).astype(f))
        x = node("Conv", [x, const(f"weights{i}", w.astype(f)), bias], f"conv{i}", strides=[2], pads=[1, 1])
        x = node("Relu", [x], f"relu{i}")
    x = node("ReduceMean", [x], "mean", axes=[2], keepdims=0)
    x = node("Unsqueeze", [x, const("zero", [0])], "step")
    states = ["h", "c"] if two_states else ["h0", "c0"]
    if not two_states:
        nodes.append(helper.make_node("Split", ["state", const("single", [1, 1])], states, axis=0))
    w = random.uniform(0, 6 / units, (1, 4 * units, units)) * np.repeat([1, 1, -.3, 2], units)[None, :, None]
    b = np.concatenate([np.repeat([-1, -1, .5, 0], units), np.zeros(4 * units)])[None]
    r = random.standard_normal((1, 4 * units, units)) * .1 / units**.5
    nodes.append(helper.make_node("LSTM", [x, const("w", w.astype(f)), const("r", r.astype(f)), const("b", b.astype(f)), "",
                                           *states], ["", "hn", "cn"], hidden_size=units))
    if not two_states:
        node("Concat", ["hn", "cn"], "stateN", axis=0)
    y = node("Unsqueeze", [node("ReduceMean", ["hn"], "level", axes=[0, 2], keepdims=0), one], "column")
    y = node("Add", [node("Mul", [y, const("gain", f(gain))], "scaled"), const("offset", f(offset))], "logit")
    node("Sigmoid", [y], "output")

    def info(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    pairs, rows = ([("h", "hn"), ("c", "cn")], 1) if two_states else ([("state", "stateN")], 2)
    rate = [] if two_states else [helper.make_tensor_value_info("sr", TensorProto.INT64, [])]
    graph = helper.make_graph(
        nodes, "detector", [info("input", "batch", CHUNK if two_states else "samples"), *rate,
                            *(info(i, rows, "batch", units) for i, _ in pairs)],
        [info("output", "batch", 1), *(info(o, rows, "batch", units) for _, o in pairs)],
        [numpy_helper.from_array(a, k) for k, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def chunks(run, x, states, context, rate):
    """The probability of each chunk. run: inputs by name -> outputs; states: by names of inputs, in the order of outputs."""
    padded, result = np.concatenate([np.zeros(context), x, np.zeros(-len(x) % CHUNK)]).astype(np.float32), []
    for at in range(0, len(padded) - context, CHUNK):
        p, *new = run({"input": padded[None, at:at + context + CHUNK], **states, **({"sr": np.array(rate)} if rate else {})})
        states = dict(zip(states, new))
        result.append(float(p.ravel()[0]))
    return np.array(result)


def fitted(seed, units, two_states):
    """The model whose last layer tells sound from noise."""
    def levels(make):
        evaluator, shape = ReferenceEvaluator(plain), (1 if two_states else 2, 1, units)
        states = {k: np.zeros(shape, np.float32) for k in (("h", "c") if two_states else ("state",))}
        p = chunks(lambda feeds: evaluator.run(None, feeds), make(np.random.default_rng(seed), .6), states,
                   0 if two_states else CONTEXT, 0 if two_states else RATE)
        return np.log(p / (1 - p))[2:-1]
    plain = build(np.random.default_rng(seed), units, two_states, 1, 0)
    loud, faint = levels(sound).min(), levels(noise).max()
    gain = 8 / (loud - faint)
    return build(np.random.default_rng(seed), units, two_states, gain, -gain * (loud + faint) / 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--two-states", action="store_true")
    parser.add_argument("--recording")
    parser.add_argument("--seconds", type=float, default=60)
    o = parser.parse_args()
    onnx.save(fitted(o.seed, o.units, o.two_states), o.model)
    if o.recording:
        x, parts = recording(np.random.default_rng(o.seed), o.seconds)
        write_wav(o.recording, x)
        for begin, end in parts:
            print(f"{begin:.3f} {end:.3f}")


if __name__ == "__main__":
    main()
