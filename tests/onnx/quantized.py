"""QuantizeLinear and DequantizeLinear by tensor, by axis and by block, as test folders with results by the definition;
with scales and precisions of other types than the data also by onnx's reference and, where it takes the model, by ONNX
Runtime, which must say the same; nodes.c runs the folders:
  quantized.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
import shutil
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto as T, helper as h, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, refused, work = sys.argv[1:4]
shutil.rmtree(work, ignore_errors=True)
RANGES = {T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT4: (-8, 7), T.UINT4: (0, 15), T.INT16: (-2**15, 2**15 - 1),
          T.UINT16: (0, 2**16 - 1), T.INT32: (-2**31, 2**31 - 1)}
NUMPY = {T.INT8: np.int8, T.UINT8: np.uint8, T.INT32: np.int32, T.FLOAT: np.float32, T.FLOAT16: np.float16,
         T.BFLOAT16: ml_dtypes.bfloat16, T.DOUBLE: np.float64}
rng = np.random.default_rng(5)
names = set()


def save(path, message):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def tensor(name, kind, array):
    return h.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


def case(name, nodes, given, kept, result, kind, opset=21):
    """given: inputs by name, as (type, array); kept: constants in the same way; result: the right one, of the type."""
    assert name not in names, name
    names.add(name)
    infos = [h.make_tensor_value_info(k, t, a.shape) for k, (t, a) in given.items()]
    graph = h.make_graph(nodes if isinstance(nodes, list) else [nodes], name, infos,
                         [h.make_tensor_value_info("y", kind, result.shape)],
                         [tensor(k, t, a) for k, (t, a) in kept.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10 if opset < 23 else 11)
    onnx.checker.check_model(model, full_check=True)
    folder = os.path.join(work, name)
    save(os.path.join(folder, "model.onnx"), model)
    for k, (key, (t, a)) in enumerate(given.items()):
        save(os.path.join(folder, "test_data_set_0", f"input_{k}.pb"), tensor(key, t, a))
    save(os.path.join(folder, "test_data_set_0", "output_0.pb"), numpy_helper.from_array(result.astype(NUMPY[kind]), "y"))
    return model


def spread(a, shape, axis, block):
    """A scale or zero point for each element of a tensor."""
    if axis is None:
        return np.broadcast_to(a, shape)
    if not block:
        return np.broadcast_to(a.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)
    return np.take(np.repeat(a, block, axis), range(shape[axis]), axis)


def both(tag, shape, axis, block, stored, real, zeros, fed):
    """Both operators. fed: scales and zero points are inputs of the model, not constants."""
    low, high = RANGES[stored]
    at = () if axis is None else (shape[axis],) if not block else tuple(
        -(-n // block) if d == axis else n for d, n in enumerate(shape))
    # Numbers of few bits, so that f16 holds quotients and products.
    scale = np.exp2(rng.integers(-3, 2, at)).astype(np.float32)
    zero = rng.integers(max(low, -50), min(high, 50) + 1, at) if zeros else np.zeros(at, np.int64)
    attributes = {} if axis is None else {"axis": axis - (len(shape) if rng.random() < .5 else 0)}
    if block:
        attributes["block_size"] = block
    sides = {"s": (real, scale)} | ({"z": (stored, zero)} if zeros else {})
    ins = ["x", *sides]
    s, z = (spread(a, shape, axis, block) for a in (scale, zero))
    if stored in (T.INT8, T.UINT8):
        # Halves between integers, and what is beyond both ends.
        x = (rng.integers(-300, 300, shape) / 2 * s).astype(np.float32)
        right = np.clip(np.rint(x / s) + z, low, high)
        if not zeros and stored == T.INT8:
            attributes["output_dtype"] = stored
        given, kept = {"x": (real, x)} | (sides if fed else {}), {} if fed else sides
        case(f"quantize_{tag}", h.make_node("QuantizeLinear", ins, ["y"], **attributes), given, kept, right, stored)
        attributes.pop("output_dtype", None)
    q = rng.integers(low if high < 2**20 else -2**20, min(high, 2**20) + 1, shape) if real == T.FLOAT else rng.integers(
        max(low, -60), min(high, 60) + 1, shape)
    # Graphs have no inputs of the types that only files store: x is a constant then, and the scales are an input.
    whole = stored in (T.INT8, T.UINT8, T.INT32)
    given = ({"x": (stored, q)} if whole else {}) | (sides if fed and whole else {"s": sides["s"]} if not whole else {})
    kept = {k: v for k, v in ({"x": (stored, q)} | sides).items() if k not in given}
    case(f"dequantize_{tag}", h.make_node("DequantizeLinear", ins, ["y"], **attributes), given, kept, (q - z) * s, real)


kinds = [(T.INT8, "s8"), (T.UINT8, "u8"), (T.INT4, "s4"), (T.UINT4, "u4"), (T.INT16, "s16"), (T.UINT16, "u16"), (T.INT32, "s32")]
count = 0
for shape in (7,), (5, 9), (3, 4, 5), (2, 3, 5, 4), (2, 1, 17), (1, 64, 33):
    for axis in None, *range(len(shape)):
        blocks = [0] if axis is None else [0, *sorted({b for b in (1, 2, 3, 4, 5, 16, 32, shape[axis], shape[axis] + 1) if b >= 1
                                                       and -(-shape[axis] // b) >= 1})]
        for block in blocks:
            for stored, short in kinds if len(shape) in (2, 3) and np.prod(shape) < 100 else kinds[:4]:
                count += 1
                real = T.FLOAT16 if count % 5 == 0 else T.FLOAT
                zeros = count % 3 > 0 and stored != T.INT32
                form = "tensor" if axis is None else f"axis{axis}" + (f"_block{block}" if block else "")
                size = "x".join(map(str, shape))
                tag = f"{size}_{form}_{short}_{'f16' if real == T.FLOAT16 else 'f32'}" + "_zero" * zeros
                both(tag, shape, axis, block, stored, real, zeros, count % 2 == 0)


# ---- Other types of scales, precisions, results ------------------------------------------------------------------------

judged = {"reference": 0, "ONNX Runtime": 0}


def judge(name, model, given, right, precision=0):
    """The other two say the same as the definition. ONNX Runtime takes 'precision' and divides in FLOAT all the same."""
    feeds = {k: a.astype(NUMPY[t]) for k, (t, a) in given.items()}
    says = {"reference": ReferenceEvaluator(model).run(None, feeds)[0]}
    try:
        if precision not in (0, T.FLOAT):
            raise NotImplementedError
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        says["ONNX Runtime"] = session.run(None, feeds)[0]
    except Exception:  # BFLOAT16: not all is implemented there
        pass
    for who, y in says.items():
        judged[who] += 1
        assert np.array_equal(y.astype(np.float64), right.astype(np.float64)), (name, who)


def quantize(tag, shape, axis, block, x_kind, s_kind, precision, stored, zeros, opset):
    """Where a precision is given, quotients are rounded to it; otherwise x and scales have few bits, so that any will do."""
    low, high = RANGES[stored]
    at = () if axis is None else (shape[axis],) if not block else tuple(
        -(-n // block) if d == axis else n for d, n in enumerate(shape))
    if precision:
        scale = rng.uniform(.02, .09, at).astype(NUMPY[s_kind])
        x = rng.uniform(-9, 9, shape).astype(NUMPY[x_kind])
    else:
        scale = np.exp2(rng.integers(-3, 2, at)).astype(NUMPY[s_kind])
        x = (rng.integers(-100, 100, shape) / 2 * spread(scale, shape, axis, block).astype(np.float32)).astype(NUMPY[x_kind])
    zero = rng.integers(max(low, -50), min(high, 50) + 1, at)
    s = spread(scale, shape, axis, block)
    in_type = NUMPY[precision or T.FLOAT]
    quotient = (x.astype(in_type) / s.astype(in_type)).astype(in_type)
    right = np.clip(np.rint(quotient.astype(np.float64)) + (spread(zero, shape, axis, block) if zeros else 0), low, high)
    attributes = {"axis": axis or 0} | ({"block_size": block} if block else {}) | (
        {"precision": precision} if precision else {}) | ({} if zeros else {"output_dtype": stored})
    sides = {"s": (s_kind, scale)} | ({"z": (stored, zero)} if zeros else {})
    given = {"x": (x_kind, x)}
    name = f"quantize_{tag}"
    model = case(name, h.make_node("QuantizeLinear", ["x", *sides], ["y"], **attributes), given, sides, right, stored, opset)
    judge(name, model, given, right, precision)


def dequantize(tag, shape, axis, block, s_kind, to, stored, zeros, opset):
    """to: output_dtype; 0: none, and the result, which has few bits, becomes FLOAT by a Cast."""
    low, high = RANGES[stored]
    at = () if axis is None else (shape[axis],) if not block else tuple(
        -(-n // block) if d == axis else n for d, n in enumerate(shape))
    scale = np.exp2(rng.integers(-3, 2, at)).astype(NUMPY[s_kind])
    zero = rng.integers(max(low, -50), min(high, 50) + 1, at)
    q = rng.integers(max(low, -60), min(high, 60) + 1, shape)
    right = (q - (spread(zero, shape, axis, block) if zeros else 0)) * spread(scale, shape, axis, block).astype(np.float32)
    attributes = {"axis": axis or 0} | ({"block_size": block} if block else {}) | ({"output_dtype": to} if to else {})
    sides = {"s": (s_kind, scale)} | ({"z": (stored, zero)} if zeros else {})
    given = {"x": (stored, q)}
    nodes = [h.make_node("DequantizeLinear", ["x", *sides], ["y" if to else "half"], **attributes)]
    if not to:
        nodes.append(h.make_node("Cast", ["half"], ["y"], to=T.FLOAT))
    name = f"dequantize_{tag}"
    model = case(name, nodes, given, sides, right, to or T.FLOAT, opset)
    judge(name, model, given, right)


REAL = {T.FLOAT: "f32", T.FLOAT16: "f16", T.BFLOAT16: "bf16", T.DOUBLE: "f64"}
for shape, axis, block in ((6,), None, 0), ((5, 9), 1, 0), ((5, 9), 1, 4), ((4, 3, 7), 0, 3), ((2, 33), 1, 16):
    form = "x".join(map(str, shape)) + f"_axis{axis}_block{block}"
    for opset in 21, 23, 25:
        for s_kind in T.FLOAT, T.FLOAT16, T.BFLOAT16:
            for x_kind in [s_kind] if opset < 25 else [T.FLOAT, T.FLOAT16, T.BFLOAT16]:
                for precision in [0] if opset < 23 else [0, T.FLOAT, T.DOUBLE] + (
                        [T.FLOAT16, T.BFLOAT16] if len(shape) == 1 and s_kind == x_kind == T.FLOAT else []):  # refused
                    count += 1
                    stored = T.INT8 if count % 2 else T.UINT8
                    tag = f"{form}_opset{opset}_{REAL[x_kind]}_by_{REAL[s_kind]}" + (f"_in_{REAL[precision]}" if precision else "")
                    quantize(tag, shape, axis, block, x_kind, s_kind, precision, stored, count % 3 > 0, opset)
            for to in [0] if opset < 23 else [0, T.FLOAT, T.FLOAT16]:
                count += 1
                stored = (T.INT8, T.UINT8, T.INT32)[count % 3]
                tag = f"{form}_opset{opset}_by_{REAL[s_kind]}" + (f"_to_{REAL[to]}" if to else "")
                dequantize(tag, shape, axis, block, s_kind, to, stored, count % 4 > 0 and stored != T.INT32, opset)
print(judged)
assert judged["reference"] > 250 and judged["ONNX Runtime"] > 50
status = subprocess.run([program, work, refused] + sys.argv[4:]).returncode
print(f"{len(names)} folders")
sys.exit(status)
