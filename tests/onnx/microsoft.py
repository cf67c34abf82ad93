"""Operators of com.microsoft with random attributes and sizes that differ in every dimension, as test folders with results of
ONNX Runtime; nodes.c runs those of one size, open.c all with open sizes:
  microsoft.py NODES OPEN REFUSED WORK_FOLDER [FIRST_SEED [SEEDS]]"""
import sys

from ort_folders import MS, Folders, f32, h, i32, i64, model_of, np, session

nodes_program, open_program, refused, work = sys.argv[1:5]
first_seed, seeds = int(sys.argv[5]) if len(sys.argv) > 5 else 1, int(sys.argv[6]) if len(sys.argv) > 6 else 1
folders = Folders(work)


def case(name, nodes, sets, inits=None, outputs=("y",), judge=None, opset=17):
    """judge: of operators that ONNX Runtime has no kernel for, a function of the inputs."""
    sets = sets if isinstance(sets, list) else [sets]
    inits = inits or {}
    model = model_of(nodes if isinstance(nodes, list) else [nodes], sets, inits, outputs, opset)
    if judge:
        want = [judge(**fed, **inits) for fed in sets]
    else:
        run = session(model)
        want = [run.run(list(outputs), fed) for fed in sets]
    folders.save(name, model, sets, want)


def n(op, ins, outs=("y",), domain=MS, **attributes):
    return h.make_node(op, list(ins), list(outs), domain=domain, **attributes)


class Draw:
    """Random values of one seed."""

    def __init__(self, seed):
        self.seed, self.r = seed, np.random.default_rng(seed)

    def x(self, *shape):
        return self.r.standard_normal(shape).astype(f32)

    def pick(self, *of):
        return of[int(self.r.integers(len(of)))]

    def flip(self):
        return bool(self.r.random() < .5)

    def sizes(self, count, least=1, most=9):
        """Different sizes."""
        return [int(k) for k in self.r.permutation(np.arange(least, most + 1))[:count]]

    def ids(self, below, *shape, dtype=i32):
        return self.r.integers(0, below, shape).astype(dtype)

    def some(self, **attributes):
        return {k: v for k, v in attributes.items() if v is not None and self.flip()}


# ---- Products -------------------------------------------------------------------------------------------------------


def products(d, tag):
    for i in range(6):
        a, b, m, k, c = d.sizes(5, 2, 9)
        ta, tb, ba, bb = (int(d.flip()) for _ in range(4))
        batch = [[], [a], [a, b]][i % 3]
        left, right = batch + ([k, m] if ta else [m, k]), batch + ([c, k] if tb else [k, c])
        if batch and ba:
            left = left[-2:-1] + batch + left[-1:]
        if batch and bb:
            right = right[-2:-1] + batch + right[-1:]
        at = dict(transA=ta, transB=tb, alpha=d.pick(1., .125, -2.))
        if batch:
            at |= dict(transBatchA=ba, transBatchB=bb)
        case(f"matmul{tag}_{i}", n("FusedMatMul", ["a", "b"], **at), {"a": d.x(*left), "b": d.x(*right)})
    k, m, b = d.sizes(3, 2, 9)
    case(f"matmul_vector{tag}", n("FusedMatMul", ["a", "b"], transA=1, transB=1, alpha=.5), {"a": d.x(k), "b": d.x(b, m, k)})
    case(f"transpose_matmul{tag}", n("TransposeMatMul", ["a", "b"], transB=1), {"a": d.x(b, m, k), "b": d.x(m + 1, k)})
    for i, (act, params) in enumerate((("Relu", {}), ("LeakyRelu", {"alpha": .25}), ("Tanh", {}), ("Sigmoid", {}), ("Softplus", {}),
                                       ("Softsign", {}), ("HardSigmoid", {"alpha": .3, "beta": .4}), ("Elu", {"alpha": .75}),
                                       ("ThresholdedRelu", {"alpha": .25}))):
        m, k, c = d.sizes(3, 2, 12)
        ta, tb = int(d.flip()), int(d.flip())
        at = dict(transA=ta, transB=tb, activation=act, **d.some(alpha=.5, beta=2.), **{"activation_" + p: v for p, v in params.items()})
        shape = d.pick(None, [c], [m, c], [m, 1], [1, c])
        fed = {"a": d.x(*([k, m] if ta else [m, k])), "b": d.x(*([c, k] if tb else [k, c]))}
        if shape:
            fed["c"] = d.x(*shape)
        case(f"gemm_{act}{tag}", n("FusedGemm", fed, **at), fed)
    for i, (act, params) in enumerate((("Relu", None), ("LeakyRelu", [.125]), ("Tanh", None), ("Sigmoid", None), ("Clip", [-.5, .75]),
                                       ("HardSigmoid", [.3, .4]), (None, None))):
        batch, groups, height, width, per = d.pick(1, 2, 3), d.pick(1, 1, 2), *d.sizes(2, 6, 9), d.pick(2, 3)
        space, kernel = ([height, width], [3, 2]) if i % 3 else ([height], [3])
        outs = groups * d.pick(1, 3)
        at = dict(group=groups, **d.some(strides=[2, 1][:len(space)], dilations=[1, 2][:len(space)],
                                         pads=[1, 0, 2, 1] if len(space) == 2 else [1, 2]))
        if act:
            at["activation"] = act
        if params:
            at["activation_params"] = params
        fed = {"x": d.x(batch, groups * per, *space), "w": d.x(outs, per, *kernel)}
        bias = d.flip()
        if bias:
            fed["b"] = d.x(outs)
        plain = n("Conv", fed, domain="", **{k: v for k, v in at.items() if not k.startswith("activation")})
        like = session(model_of([plain], [fed], {}, ["y"])).run(None, fed)[0].shape
        ins = list(fed)
        if d.flip() and len(space) == 2:
            fed["z"] = d.x(*like)
            ins = ["x", "w", "b" if bias else "", "z"]
        case(f"conv_{act}{tag}", n("FusedConv", ins, **at), fed)


def nhwc(d, tag):
    """By ONNX Runtime between two transpositions: it has the kernels on other devices only."""
    batch, c, outs, height, width = 2, 3, 5, 7, 6
    at = dict(strides=[2, 1], pads=[1, 0, 2, 1])
    fed = {"x": d.x(batch, height, width, c), "w": d.x(outs, c, 3, 2), "b": d.x(outs)}
    inner = [h.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), h.make_node("Conv", ["t", "w", "b"], ["u"], **at),
             h.make_node("Transpose", ["u"], ["y"], perm=[0, 2, 3, 1])]
    run = session(model_of(inner, [fed], {}, ["y"]))
    y = run.run(None, fed)[0]
    case(f"nhwc_conv{tag}", n("NhwcConv", fed, **at), fed, judge=lambda **_: [y])
    z = d.x(*y.shape)
    case(f"nhwc_fused_conv{tag}", n("NhwcFusedConv", ["x", "w", "b", "z"], activation="Relu", **at), {**fed, "z": z},
         judge=lambda **_: [np.maximum(y + z, 0)])


# ---- Normalisations and activations -----------------------------------------------------------------------------------


def normalisations(d, tag):
    for i in range(4):
        batch, rows, width = d.sizes(3, 2, 9)
        width = width * 3 + 1
        skips = {"same": lambda b, s: d.x(b, s, width), "one": lambda b, s: d.x(1, s, width), "flat": lambda b, s: d.x(s, width)}
        form = d.pick(*skips)
        sizes = [(batch, rows)] if i % 2 else [(batch, rows), (rows, batch + 3)]
        at = d.some(epsilon=1e-3)
        shift, bias, wanted = d.flip(), d.flip(), d.flip()
        for op, ins in (("SkipLayerNormalization", ["x", "s", "gamma", "beta" if shift else "", "bias" if bias else ""]),
                        ("SkipSimplifiedLayerNormalization", ["x", "s", "gamma", "bias" if bias else ""])):
            skip = skips[form if op[4] == "L" else "same"]
            inits = {k: d.x(width) for k in ("gamma", "beta", "bias") if k in ins}
            case(f"{op}{tag}_{i}", n(op, ins, ["y", "", "", "sum"] if wanted else ["y"], **at),
                 [{"x": d.x(b, s, width), "s": skip(b, s)} for b, s in sizes], inits, ["y", "sum"] if wanted else ["y"])
        case(f"simplified{tag}_{i}", n("SimplifiedLayerNormalization", ["x", "g"], domain="", axis=-1, **at),
             [{"x": d.x(b, s, width)} for b, s in sizes], {"g": d.x(width)})
        case(f"layer_norm_1{tag}_{i}", n("LayerNormalization", ["x", "g", "b"], domain="", axis=d.pick(-1, 2), **at),
             [{"x": d.x(b, s, width)} for b, s in sizes], {"g": d.x(width), "b": d.x(width)}, opset=13)
    for i in range(4):
        batch, rows, words, segments = d.sizes(4, 2, 9)
        width, places = d.pick(8, 13), rows + batch + 3
        sizes = [(batch, rows)] if i % 2 else [(batch, rows), (rows, batch)]
        has_segments, mask, at_places = i < 2, d.flip(), d.flip()

        def feed(b, s):
            fed = {"ids": d.ids(words, b, s)}
            if has_segments:
                fed["seg"] = d.ids(segments, b, s)
            if mask:
                fed["mask"] = d.ids(2, b, s)
            if at_places:
                fed["at"] = d.ids(places, b, s)
            return fed

        inits = {"words": d.x(words, width), "places": d.x(places, width), "gamma": d.x(width), "beta": d.x(width)}
        if has_segments:
            inits["segments"] = d.x(segments, width)
        ins = ["ids", "seg" if has_segments else "", "words", "places", "segments" if has_segments else "", "gamma", "beta",
               "mask" if mask else "", "at" if at_places else ""]
        while not ins[-1]:
            ins.pop()
        outs = ["y", "index", "sum"] if i != 3 else ["y"]
        at = dict(mask_index_type=0) if i == 3 else {}
        case(f"embed{tag}_{i}", n("EmbedLayerNormalization", ins, outs, **at, **d.some(epsilon=1e-4)), [feed(*s) for s in sizes], inits, outs)
    batch, rows, width = d.sizes(3, 2, 20)
    two = [(batch, rows), (rows, batch + 3)]
    case(f"gelu{tag}", n("Gelu", ["x"]), [{"x": d.x(*s, width)} for s in two])
    case(f"bias_gelu{tag}", n("BiasGelu", ["x", "b"]), [{"x": d.x(*s, width)} for s in two], {"b": d.x(width)})
    case(f"fast_gelu{tag}", n("FastGelu", ["x"]), [{"x": d.x(*s, width)} for s in two])
    case(f"fast_gelu_bias{tag}", n("FastGelu", ["x", "b"]), [{"x": d.x(*s, width)} for s in two], {"b": d.x(width)})
    for alpha in 1.702, 1., -.5:
        case(f"quick_gelu{tag}_{alpha}", n("QuickGelu", ["x"], alpha=alpha), [{"x": d.x(*s, width)} for s in two])
    inverse_sizes = d.sizes(2, 1, 7)
    for k in inverse_sizes:
        case(f"inverse{tag}_{k}", n("Inverse", ["x"]), {"x": d.x(3, 2, k, k) + 2 * np.eye(k, dtype=f32)[::-1]})
    case(f"pad{tag}", n("Pad", ["x", "p", "v"], mode="constant"), {"x": d.x(2, 5)}, {"p": np.array([1, 0, 2, 3]), "v": f32(1.5)})
    case(f"expand_dims{tag}", n("ExpandDims", ["x", "a"]), {"x": d.x(2, 5)}, {"a": np.array(d.pick(0, 1, 2, -1), i32)})
    case(f"gather_nd{tag}", n("GatherND", ["x", "i"]), {"x": d.x(4, 3, 5), "i": d.ids(3, 6, 2, dtype=i64)})
    case(f"trilu{tag}", n("Trilu", ["x"], upper=int(d.flip())), {"x": d.x(4, 7)})
    case(f"grid{tag}", n("GridSample", ["x", "g"], **d.some(align_corners=1, padding_mode="border")),
         {"x": d.x(2, 3, 5, 6), "g": d.r.uniform(-1.2, 1.2, (2, 4, 7, 2)).astype(f32)})
    case(f"affine{tag}", n("Affine", ["x"], domain="", alpha=.5, beta=.25), {"x": d.x(2, 5)}, opset=9)
    case(f"scaled_tanh{tag}", n("ScaledTanh", ["x"], domain="", alpha=.5, beta=.25), {"x": d.x(2, 5)}, opset=9)
    case(f"parametric_softplus{tag}", n("ParametricSoftplus", ["x"], domain="", alpha=.5, beta=.25), {"x": d.x(2, 5)}, opset=9)
    case(f"image_scaler{tag}", n("ImageScaler", ["x"], domain="", scale=.5, bias=[.25, .5, -1.]), {"x": d.x(2, 3, 5, 4)}, opset=9)
    case(f"crop{tag}", n("Crop", ["x"], domain="", border=[1, 0, 2, 1], **d.some(scale=[3, 2])), {"x": d.x(2, 3, 5, 6)}, opset=9)


def by_definition(d, tag):
    """Operators without a kernel of ONNX Runtime on processors, against numpy in double."""
    def gelu(x):
        from math import erf
        return x * .5 * (1 + np.vectorize(erf)(x / 2 ** .5))

    def group(x, gamma, beta, groups, last, swish):
        x = x.astype(np.float64) if last else np.moveaxis(x.astype(np.float64), 1, -1)
        b, c = x.shape[0], x.shape[-1]
        y = x.reshape(b, -1, groups, c // groups)
        y = (y - y.mean((1, 3), keepdims=True)) / np.sqrt(y.var((1, 3), keepdims=True) + 1e-5)
        y = y.reshape(x.shape) * gamma + beta
        y = y / (1 + np.exp(-y)) if swish else y
        return (y if last else np.moveaxis(y, -1, 1)).astype(f32)

    for last in 0, 1:
        for swish in 0, 1:
            shape = (2, 5, 3, 6) if last else (2, 6, 5, 3)
            fed, inits = {"x": d.x(*shape)}, {"gamma": d.x(6), "beta": d.x(6)}
            case(f"group_norm{tag}_{last}{swish}", n("GroupNorm", ["x", "gamma", "beta"], groups=3, activation=swish, channels_last=last), fed,
                 inits, judge=lambda x, gamma, beta: [group(x, gamma, beta, 3, last, swish)])
    for skip in (2, 5, 3, 6), (2, 1, 1, 6), (2, 6):
        fed, inits = {"x": d.x(2, 5, 3, 6), "skip": d.x(*skip)}, {"gamma": d.x(6), "beta": d.x(6), "bias": d.x(6)}

        def right(x, skip, gamma, beta, bias):
            s = x + (skip if skip.ndim == 4 else skip[:, None, None]) + bias
            return [group(s, gamma, beta, 2, 1, 1), s]

        case(f"skip_group_norm{tag}_{len(skip)}{skip[1]}", n("SkipGroupNorm", ["x", "gamma", "beta", "skip", "bias"], ["y", "s"], groups=2, activation=1),
             fed, inits, ["y", "s"], right)
    case(f"bias_add{tag}", n("BiasAdd", ["x", "bias", "skip"]), {"x": d.x(2, 5, 7), "skip": d.x(2, 5, 7)}, {"bias": d.x(7)},
         judge=lambda x, bias, skip: [x + bias + skip])
    case(f"bias_split_gelu{tag}", n("BiasSplitGelu", ["x", "bias"]), {"x": d.x(2, 5, 14)}, {"bias": d.x(14)},
         judge=lambda x, bias: [((x + bias)[..., :7] * gelu((x + bias)[..., 7:].astype(np.float64))).astype(f32)])


def transforms(d, tag):
    for size in 1, 2, 7, 8, 12:
        case(f"rfft{tag}_{size}", n("Rfft", ["x"], signal_ndim=1), {"x": d.x(2, 3, size)},
             judge=lambda x: [np.stack([(t := np.fft.rfft(x.astype(np.float64))).real, t.imag], -1).astype(f32)])
        m = size // 2 + 1
        if m > 1:
            case(f"irfft{tag}_{size}", n("Irfft", ["x"], signal_ndim=1), {"x": d.x(2, 3, m, 2)},
                 judge=lambda x: [np.fft.irfft(x[..., 0] + 1j * x[..., 1].astype(np.float64)).astype(f32)])


def few_bits(d, tag):
    for i, (bits, block, zeros) in enumerate(((4, 16, None), (4, 32, "packed"), (8, 16, "packed"), (4, 16, "packed"), (4, 32, "float"),
                                              (8, 32, None), (2, 16, "packed"))):
        k, cols, rows = d.pick(16, 33, 50, 64), d.pick(3, 8, 17), d.pick(1, 5)
        blocks = -(-k // block)
        inits = {"b": d.r.integers(0, 256, (cols, blocks, block * bits // 8)).astype(np.uint8), "scales": d.x(cols * blocks)}
        if zeros == "packed":
            inits["zeros"] = d.r.integers(0, 256, cols * -(-blocks * bits // 8)).astype(np.uint8)
        if zeros == "float":
            inits["zeros"] = d.x(cols * blocks)
        bias = d.flip()
        if bias:
            inits["bias"] = d.x(cols)
        ins = ["x", "b", "scales", "zeros" if zeros else "", "", "bias" if bias else ""]
        while not ins[-1]:
            ins.pop()

        def right(x, b, scales, zeros=None, bias=0):
            def unpacked(a, count):  # lower bits first
                a = a.reshape(a.shape[0], -1, 1) >> np.arange(0, 8, bits) & (1 << bits) - 1
                return a.reshape(a.shape[0], -1)[:, :count]
            w = unpacked(b.reshape(cols, -1), blocks * block).astype(np.float64)
            z = 1 << bits - 1
            if zeros is not None:
                z = zeros.reshape(cols, blocks) if zeros.dtype == f32 else unpacked(zeros.reshape(cols, -1), blocks)
                z = np.repeat(z.astype(np.float64), block, 1)
            w = (w - z) * np.repeat(scales.reshape(cols, blocks), block, 1)
            return [(x.astype(np.float64) @ w[:, :k].T + bias).astype(f32)]

        fed = {"x": d.x(2, rows, k)}
        node = n("MatMulNBits", ins, K=k, N=cols, bits=bits, block_size=block, **d.some(accuracy_level=1))
        case(f"few_bits{tag}_{i}", node, fed, inits, judge=right)
        if bits == 4:  # ONNX Runtime says the same
            y = session(model_of([node], [fed], inits, ["y"])).run(None, fed)[0]
            assert np.allclose(y, right(fed["x"], **inits)[0], 1e-3, 1e-3), i


# ---- Attention --------------------------------------------------------------------------------------------------------


def mask_of(d, kind, batch, rows, keys, all_hidden):
    """all_hidden: there may be rows that see no key."""
    if kind == "ends":
        return d.r.integers(1, keys + 1, batch).astype(i32)
    if kind == "ends and begins":
        ends = d.r.integers(1, keys + 1, batch)
        return np.concatenate([ends, [d.r.integers(0, e) if all_hidden else 0 for e in ends]]).astype(i32)
    shape = {"keys": (batch, keys), "all": (batch, rows, keys), "dummy": (batch, 1)}[kind]
    mask = d.ids(2, *shape)
    if not all_hidden:
        mask[..., 0] = 1
    return mask


MASKS = [None, "ends", "ends and begins", "keys", "all", "dummy"]


def attention(d, tag):
    for i in range(12):
        batch, rows, before = d.sizes(3, 2, 7)
        heads, size = d.pick(1, 2, 3), d.pick(4, 5, 8)
        other = d.pick(size, size + 3)
        kind, with_past, causal, wide = MASKS[i % 6], d.flip(), int(d.flip()), d.flip()
        width, hidden, extra = d.pick(6, 11), heads * size, d.flip()
        if with_past:
            wide, extra = False, False  # not implemented by ONNX Runtime
        v_hidden = heads * other if wide else hidden
        at = dict(num_heads=heads, unidirectional=causal, **d.some(scale=.3, mask_filter_value=-2.))
        if wide:
            at["qkv_hidden_sizes"] = [hidden, hidden, v_hidden]
        inits = {"w": d.x(width, 2 * hidden + v_hidden), "bias": d.x(2 * hidden + v_hidden)}

        def feed(b, s, p):
            fed = {"x": d.x(b, s, width)}
            p = p if with_past else 0
            if kind:
                fed["mask"] = mask_of(d, kind, b, s, s + p, "mask_filter_value" in at)
            if with_past:
                fed["past"] = d.x(2, b, heads, p, size)
            if extra:
                fed["extra"] = d.x(d.pick(1, b) if i % 2 else b, d.pick(1, heads) if i % 2 else heads, s, s + p)
            return fed

        sizes = [(batch, rows, before)] if i % 2 else [(batch, rows, before), (rows, before + 2, batch), (1, 1, 4)]
        ins = ["x", "w", "bias", "mask" if kind else "", "past" if with_past else "", "extra" if extra else ""]
        while not ins[-1]:
            ins.pop()
        outs = ["y", "present"] if with_past else ["y"]
        case(f"attention{tag}_{i}", n("Attention", ins, outs, **at), [feed(*s) for s in sizes], inits, outs)
    for i in range(12):
        batch, rows, other_rows, before = d.sizes(4, 2, 7)
        heads, size = d.pick(1, 2, 3), d.pick(4, 5, 8)
        other = d.pick(size, size + 3)
        kind = ["keys", None, "ends", "all", None, "keys"][i % 6]
        with_past, crossed, bias, extra, causal = d.flip(), i in (3, 8), d.flip(), d.flip(), int(d.flip())
        if crossed:
            with_past, bias, other = False, False, size
        if with_past:
            other = size
        at = dict(num_heads=heads, unidirectional=causal, **d.some(scale=.3, mask_filter_value=-2.))
        inits = {"bias": d.x(heads * (2 * size + other))} if bias else {}

        def feed(b, s, t, p):
            p = p if with_past else 0
            t = s if with_past or causal else t
            fed = {"q": d.x(b, s, heads * size)}
            fed["k"] = d.x(b, heads, t, size) if crossed else d.x(b, t, heads * size)
            fed["v"] = d.x(b, heads, t, other) if crossed else d.x(b, t, heads * other)
            if kind:
                fed["mask"] = mask_of(d, kind, b, s, t + p, "mask_filter_value" in at)
            if extra:
                fed["extra"] = d.x(d.pick(1, b) if i % 2 else b, d.pick(1, heads) if i % 2 else heads, s, t + p)
            if with_past:
                fed["pk"], fed["pv"] = d.x(b, heads, p, size), d.x(b, heads, p, other)
            return fed

        sizes = [(batch, rows, other_rows, before)] if i % 2 else [(batch, rows, other_rows, before), (rows, before, batch + 2, other_rows)]
        ins = ["q", "k", "v", "bias" if bias else "", "mask" if kind else "", "extra" if extra else "", *(["pk", "pv"] if with_past else [])]
        while not ins[-1]:
            ins.pop()
        outs = ["y", "nk", "nv"] if with_past else ["y"]
        case(f"multi_head{tag}_{i}", n("MultiHeadAttention", ins, outs, **at), [feed(*s) for s in sizes], inits, outs)


def angles(count, pairs):
    at = np.arange(count)[:, None] / 50 ** (np.arange(pairs)[None] / pairs)
    return np.cos(at).astype(f32), np.sin(at).astype(f32)


def rotary(d, tag):
    for i in range(6):
        batch, rows = d.sizes(2, 2, 7)
        heads, size = d.pick(2, 3), d.pick(8, 10)
        part = d.pick(0, 0, 4) if i > 2 else 0
        cos, sin = angles(20, (part or size) // 2)
        at = dict(interleaved=i % 2, **(dict(num_heads=heads, rotary_embedding_dim=part) if part else d.some(num_heads=heads)))
        apart, each = i % 3 == 2, d.flip()

        def feed(b, s):
            x = d.x(b, heads, s, size) if apart else d.x(b, s, heads * size)
            return {"x": x, "at": d.ids(20, b, s, dtype=i64) if each else np.array([3], i64)}

        sizes = [(batch, rows)] if i % 2 else [(batch, rows), (rows, batch + 2)]
        case(f"rotary{tag}_{i}", n("RotaryEmbedding", ["x", "at", "cos", "sin"], **at), [feed(*s) for s in sizes], {"cos": cos, "sin": sin})


def grouped(d, tag):
    for i in range(16):
        groups, per = d.pick(1, 2, 3), d.pick(1, 2, 3)
        heads, size = groups * per, 16
        turns, packed = int(d.flip()), d.flip()
        window, softcap, smooth = d.pick(-1, -1, 2, 3), d.pick(0., 0., 5.), d.pick(None, None, 1)
        extra, sink, places = i % 4 == 3, i % 5 == 4, turns and i % 3 < 2
        at = dict(num_heads=heads, kv_num_heads=groups, do_rotary=turns, local_window_size=window, softcap=softcap, **d.some(scale=.2))
        if turns:
            at["rotary_interleaved"] = int(d.flip())
        if smooth and not sink:
            at["smooth_softmax"] = 1
        part = d.pick(8, 8, 16) if size > 16 else 8
        cos, sin = angles(40, part if not turns else d.pick(8, 8))
        inits = {"cos": cos, "sin": sin} if turns else {}
        if sink:
            inits["sink"] = d.x(heads)

        def feed(b, s, buffer, lengths, total):
            if window >= 0 and s == total:
                lengths = [total] * b  # what rows behind the end see of a window is not specified
            fed = {"q": d.x(b, s, (heads + 2 * groups if packed else heads) * size)}
            if not packed:
                fed["k"], fed["v"] = d.x(b, s, groups * size), d.x(b, s, groups * size)
            fed["pk"], fed["pv"] = d.x(b, groups, buffer, size), d.x(b, groups, buffer, size)
            fed["last"], fed["total"] = np.array(lengths, i32) - 1, np.array([total], i32)
            if places:
                fed["at"] = d.ids(30, b, s, dtype=i64)
            if extra:
                fed["extra"] = d.x(d.pick(1, b), d.pick(1, heads), s, total)
            return fed

        # First rows of equal and of different lengths, the next ones, one row of each of several lengths, a larger buffer.
        kinds = [(2, 5, 0, [5, 5], 5), (3, 6, 0, [6, 4, 2], 6), (1, 3, 7, [10], 10), (3, 1, 7, [8, 5, 7], 8), (2, 1, 12, [6, 9], 9),
                 (1, 4, 15, [4], 4), (1, 4, 15, [9], 9)]
        chosen = [kinds[i % 7]] if i % 2 else kinds
        ins = ["q", *(["", ""] if packed else ["k", "v"]), "pk", "pv", "last", "total", *(["cos", "sin"] if turns else ["", ""]), "at" if places else "",
               "extra" if extra else "", "sink" if sink else ""]
        while not ins[-1]:
            ins.pop()
        case(f"grouped{tag}_{i}", n("GroupQueryAttention", ins, ["y", "nk", "nv"], **at), [feed(*k) for k in chosen], inits, ["y", "nk", "nv"])


def refusals(d):
    """What is not implemented is refused by name; the results are never looked at."""
    x, w = {"x": d.x(2, 3, 8)}, {"w": d.x(8, 24), "bias": d.x(24)}
    qkv = {k: d.x(2, 3, 16) for k in "qkv"}
    lengths = {"last": np.full(2, 2, i32), "total": np.array([3], i32)}
    grouped_ins = ["q", "k", "v", "", "", "last", "total"]
    gqa = dict(num_heads=1, kv_num_heads=1)
    for name, node, fed, inits in (
            ("attention_rotary", n("Attention", ["x", "w", "bias"], num_heads=2, do_rotary=1), x, w),
            ("attention_share", n("Attention", ["x", "w", "bias"], num_heads=2, past_present_share_buffer=1), x, w),
            ("attention_mask_4d", n("Attention", ["x", "w", "bias", "mask"], num_heads=2), {**x, "mask": d.ids(2, 2, 1, 5, 5)}, w),
            ("multi_head_packed", n("MultiHeadAttention", ["q"], num_heads=2), {"q": d.x(2, 3, 2, 3, 4)}, {}),
            ("multi_head_starts", n("MultiHeadAttention", ["q", "k", "v", "", "m"], num_heads=2), {**qkv, "m": d.ids(3, 8)}, {}),
            ("grouped_window_cache", n("GroupQueryAttention", grouped_ins, sliding_window_cache=1, local_window_size=2, **gqa), {**qkv, **lengths}, {}),
            ("grouped_quantised", n("GroupQueryAttention", grouped_ins, k_quant_type="PER_TENSOR", **gqa), {**qkv, **lengths}, {}),
            ("grouped_scores", n("GroupQueryAttention", grouped_ins, ["y", "", "", "s"], qk_output=1, **gqa), {**qkv, **lengths}, {}),
            ("grouped_norm", n("GroupQueryAttention", grouped_ins + [""] * 7 + ["g", "g"], **gqa), {**qkv, **lengths}, {"g": d.x(16)}),
            ("rotary_packed", n("RotaryEmbedding", ["q", "at", "c", "s"], is_packed_batching=1), {"q": d.x(2, 3, 16), "at": d.ids(3, 2, 3, dtype=i64)},
             {"c": d.x(9, 8), "s": d.x(9, 8)}),
            ("gemm_activation", n("FusedGemm", ["a", "b"], activation="Cos"), {"a": d.x(2, 3), "b": d.x(3, 4)}, {}),
            ("few_bits_layout", n("MatMulNBits", ["x", "b", "s"], K=8, N=3, block_size=16, weight_prepacked=1), x,
             {"b": d.ids(9, 3, 1, 8).astype(np.uint8), "s": d.x(3)}),
            ("quantised", n("QAttention", ["x"], num_heads=2), x, {}),
            ("detector", n("BifurcationDetector", ["x"]), x, {})):
        case(f"refused_{name}", node, fed, inits, [o for o in node.output if o], lambda **_: [f32(0)] * len([o for o in node.output if o]))


NREFUSED = 14
refusals(Draw(first_seed))
for seed in range(first_seed, first_seed + seeds):
    draw, mark = Draw(seed), "" if seeds == 1 else f"_s{seed}"
    for family in products, nhwc, normalisations, by_definition, transforms, few_bits, attention, rotary, grouped:
        family(draw, mark)
sys.exit(folders.run(nodes_program, open_program, refused, NREFUSED))
