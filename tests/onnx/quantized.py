"""QuantizeLinear and DequantizeLinear by tensor, by axis and by block, as test folders with results by the definition;
nodes.c runs them:
  quantized.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto as T, helper as h, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, refused, work = sys.argv[1:4]
shutil.rmtree(work, ignore_errors=True)
RANGES = {T.INT8: (-128, 127), T.UINT8: (0, 255), T.INT4: (-8, 7), T.UINT4: (0, 15), T.INT16: (-2**15, 2**15 - 1),
          T.UINT16: (0, 2**16 - 1), T.INT32: (-2**31, 2**31 - 1)}
NUMPY = {T.INT8: np.int8, T.UINT8: np.uint8, T.INT32: np.int32, T.FLOAT: np.float32, T.FLOAT16: np.float16}
rng = np.random.default_rng(5)
names = set()


def save(path, message):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def tensor(name, kind, array):
    return h.make_tensor(name, kind, array.shape, array.reshape(-1).tolist())


def case(name, node, given, kept, result, kind):
    """given: inputs by name, as (type, array); kept: constants in the same way; result: the right one, of the type."""
    assert name not in names, name
    names.add(name)
    infos = [h.make_tensor_value_info(k, t, a.shape) for k, (t, a) in given.items()]
    graph = h.make_graph([node], name, infos, [h.make_tensor_value_info("y", kind, result.shape)],
                         [tensor(k, t, a) for k, (t, a) in kept.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    folder = os.path.join(work, name)
    save(os.path.join(folder, "model.onnx"), model)
    for k, (key, (t, a)) in enumerate(given.items()):
        save(os.path.join(folder, "test_data_set_0", f"input_{k}.pb"), tensor(key, t, a))
    save(os.path.join(folder, "test_data_set_0", "output_0.pb"), numpy_helper.from_array(result.astype(NUMPY[kind]), "y"))


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
status = subprocess.run([program, work, refused] + sys.argv[4:]).returncode
print(f"{len(names)} folders")
sys.exit(status)
