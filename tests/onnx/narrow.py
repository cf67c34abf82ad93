"""Types that graphs carry in wider ones: integers of 16 and 32 bits through arithmetic, at the ends of their ranges, and numbers
rounded to bfloat16; NumPy and ml_dtypes are the judges, exactly:
  narrow.py NODES OPEN WORK_FOLDER"""
import sys

from ort_folders import Folders, T, TYPES, f32, h, i32, i64, model_of, np
import ml_dtypes

nodes_program, open_program, work = sys.argv[1:4]
TYPES |= {np.dtype(np.uint16): T.UINT16, np.dtype(np.int16): T.INT16, np.dtype(np.uint32): T.UINT32,
          np.dtype(ml_dtypes.bfloat16): T.BFLOAT16, np.dtype(np.float16): T.FLOAT16}
folders = Folders(work)
r = np.random.default_rng(16)


def case(name, nodes, judge, *inputs, outputs=1, inits=None, opset=22):
    """judge: a function of the inputs. The last nodes make y0, y1, ..."""
    fed = {f"x{i}": a for i, a in enumerate(inputs)}
    outs = [f"y{i}" for i in range(outputs)]
    with np.errstate(all="ignore"):
        want = judge(*inputs)
    want = [np.asarray(a) for a in (want if isinstance(want, tuple) else (want,))]
    folders.save(name, model_of(nodes, [fed], inits or {}, outs, opset), [fed], [want])


def n(op, ins, outs="y0", **attributes):
    return h.make_node(op, ins.split(), outs.split(), **attributes)


def some(dtype, *shape):
    """Every third element stands at or beside an end of the range."""
    i = np.iinfo(dtype)
    a = r.integers(i.min, i.max, shape, endpoint=True, dtype=dtype)
    a.flat[::3] = r.choice(np.array([i.min, i.max, i.max - 1, i.min + 1, 0, 1, i.max // 2 + 1], dtype), a.flat[::3].shape)
    return a


def quotient(a, b):
    return np.trunc(a.astype(np.float64) / b.astype(np.float64)).astype(i64).astype(a.dtype)


# The base's type stays, whatever the exponent's.
case("int32_Pow_int16", [n("Pow", "x0 x1")], np.power, np.array([300, -200, 7], i32), np.array([2, 2, 3], np.int16))
for dtype in (np.int16, np.uint16, np.uint32):
    t, bits, signed = np.dtype(dtype), np.dtype(dtype).itemsize * 8, np.dtype(dtype).kind == "i"
    a, b, row = some(dtype, 5, 7), some(dtype, 5, 7), some(dtype, 7)
    divisor = np.where(b == 0, np.array(3, dtype), b)
    for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum), ("Min", np.minimum),
                  ("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor),
                  ("Equal", np.equal), ("Less", np.less), ("Greater", np.greater), ("LessOrEqual", np.less_equal),
                  ("GreaterOrEqual", np.greater_equal)):
        case(f"{t}_{op}", [n(op, "x0 x1")], f, a, b)
        case(f"{t}_{op}_row", [n(op, "x0 x1")], f, a, row)
    case(f"{t}_Div", [n("Div", "x0 x1")], quotient, a, divisor)
    case(f"{t}_Mod", [n("Mod", "x0 x1")], np.mod, a, divisor)
    case(f"{t}_fmod", [n("Mod", "x0 x1", fmod=1)], np.fmod, a, divisor)
    case(f"{t}_BitwiseNot", [n("BitwiseNot", "x0")], np.invert, a)
    case(f"{t}_Abs", [n("Abs", "x0")], np.abs, a)
    case(f"{t}_Sign", [n("Sign", "x0")], np.sign, a)
    case(f"{t}_Sum", [n("Sum", "x0 x1 x0")], lambda p, q: p + q + p, a, b)
    case(f"{t}_Clip", [n("Clip", "x0 x1 x2")], np.clip, a, np.array(100, dtype), np.array(20000, dtype))
    if signed:
        case(f"{t}_Neg", [n("Neg", "x0")], np.negative, a)
    else:
        by = r.integers(0, bits, (5, 7)).astype(dtype)
        case(f"{t}_left", [n("BitShift", "x0 x1", direction="LEFT")], np.left_shift, a, by)
        case(f"{t}_right", [n("BitShift", "x0 x1", direction="RIGHT")], np.right_shift, a, by)
    case(f"{t}_ReduceSum", [n("ReduceSum", "x0 axes")], lambda p: p.sum(1, dtype=dtype, keepdims=True), a, inits={"axes": np.array([1])})
    case(f"{t}_ReduceProd", [n("ReduceProd", "x0 axes")], lambda p: p.prod(0, dtype=dtype, keepdims=True), a, inits={"axes": np.array([0])})
    case(f"{t}_ReduceMax", [n("ReduceMax", "x0 axes")], lambda p: p.max(1, keepdims=True), a, inits={"axes": np.array([1])})
    # What one node cuts the next one reads.
    case(f"{t}_chain", [n("Mul", "x0 x1", "p"), n("Add", "p x0", "q"), n("Transpose", "q", "t"), n("Less", "t k", "y0"), n("Cast", "q", "y1", to=T.FLOAT)],
         lambda p, q: ((p * q + p).T < np.array(1000, dtype), (p * q + p).astype(f32)), a, b, outputs=2, inits={"k": np.array(1000, dtype)})
    case(f"{t}_moves", [n("Concat", "x0 x1", "c", axis=0), n("Slice", "c b e", "s"), n("Gather", "s i", "g"), n("Reshape", "g f", "y0")],
         lambda p, q: np.concatenate((p, q))[2:9][[3, 0]].reshape(7, 2), a, b,
         inits={"b": np.array([2]), "e": np.array([9]), "i": np.array([3, 0]), "f": np.array([7, 2])})
    case(f"{t}_Where", [n("Where", "c x0 x1")], lambda p, q: np.where(np.arange(7) % 2 == 0, p, q), a, b, inits={"c": np.arange(7) % 2 == 0})
    case(f"{t}_Pad", [n("Pad", "x0 p v")], lambda p: np.pad(p, ((1, 0), (0, 2)), constant_values=77), a,
         inits={"p": np.array([1, 0, 0, 2]), "v": np.array(77, dtype)})
    case(f"{t}_Split", [n("Split", "x0", "y0 y1", num_outputs=2, axis=1)], lambda p: (p[:, :4], p[:, 4:]), a, outputs=2)
    distinct = r.permutation(np.arange(35)).astype(dtype).reshape(5, 7) * np.array(np.iinfo(dtype).max // 40, dtype)
    case(f"{t}_TopK", [n("TopK", "x0 k", "y0 y1")],
         lambda p: ((-np.sort(-p.astype(i64))[:, :3]).astype(dtype), np.argsort(-p.astype(i64))[:, :3]), distinct, outputs=2, inits={"k": np.array([3])})
    for to in (f32, np.float64, i64, i32, np.uint8, np.int8, bool, np.int16, np.uint16, np.uint32):
        case(f"{t}_to_{np.dtype(to)}", [n("Cast", "x0", to=TYPES[np.dtype(to)])], lambda p: p.astype(to), a)
    for back in (i64, i32, np.uint8, np.int8, bool):
        small = some(back, 4, 5) if back is not bool else r.integers(0, 2, (4, 5)).astype(bool)
        case(f"{np.dtype(back)}_to_{t}", [n("Cast", "x0", to=TYPES[t])], lambda p: p.astype(dtype), small)
    fractions = (r.random((4, 5)) * np.iinfo(dtype).max).astype(f32)
    case(f"float_to_{t}", [n("Cast", "x0", to=TYPES[t])], lambda p: p.astype(i64).astype(dtype), fractions)
    case(f"like_{t}", [n("CastLike", "x0 x1")], lambda p, q: p.astype(i64).astype(dtype), fractions, row)

for pair in ((f32, i32), (f32, np.uint32), (np.float64, i64), (np.int16, np.uint16), (np.uint8, np.int8), (i32, np.uint32)):
    for p, q in (pair, pair[::-1]):
        a = r.integers(0, 256, (5, 3, np.dtype(p).itemsize), dtype=np.uint8).view(p)[..., 0]
        a = np.where(np.isnan(a), 1, a).astype(p) if np.dtype(p).kind == "f" or np.dtype(q).kind == "f" else a
        if np.dtype(q).kind == "f":
            a = np.where(np.isnan(a.view(q)), 1, a).astype(p)  # a NaN that signals may become a quiet one on its way
        case(f"bits_{np.dtype(p)}_{np.dtype(q)}", [n("BitCast", "x0", to=TYPES[np.dtype(q)])], lambda v: v.view(q), a, opset=26)
        case(f"bits_turned_{np.dtype(p)}_{np.dtype(q)}", [n("Transpose", "x0", "t"), n("BitCast", "t", "b", to=TYPES[np.dtype(q)]), n("Concat", "b b", axis=0)],
             lambda v: np.concatenate((v.T, v.T)).view(q), a, opset=26)

# ---- Integers and truth values where others have numbers ---------------------------------------------------------------
for dtype in (i32, i64):
    a = r.integers(1, 60, (4, 6)).astype(dtype)
    axes = {"axes": np.array([1])}
    case(f"log_sum_{np.dtype(dtype)}", [n("ReduceLogSum", "x0 axes")], lambda p: np.log(p.sum(1, keepdims=True)).astype(dtype), a, inits=axes)
    case(f"log_sum_exp_{np.dtype(dtype)}", [n("ReduceLogSumExp", "x0 axes")],
         lambda p: np.log(np.exp(p.astype(np.float64)).sum(1, keepdims=True)).astype(dtype), a, inits=axes)
for reduction, f in (("add", np.logical_or), ("max", np.logical_or), ("mul", np.logical_and), ("min", np.logical_and)):
    a, u, at = r.random(5) < .5, r.random(700) < .3, r.integers(0, 5, 700)

    def scattered(p, u, f=f, at=at):
        p = p.copy()
        for i, k in enumerate(at):
            p[k] = f(p[k], u[i])
        return p
    case(f"scatter_bool_{reduction}", [n("ScatterElements", "x0 i x1", reduction=reduction)], scattered, a, u, inits={"i": at})

# ---- bfloat16 -------------------------------------------------------------------------------------------------------
bits = np.concatenate([r.integers(0, 2**32, 4000, dtype=np.uint32),  # every exponent
                       (np.arange(256, dtype=np.uint32) << 23 | 0x8000),  # ties, to even below and above
                       (np.arange(256, dtype=np.uint32) << 23 | 0x18000), (np.arange(256, dtype=np.uint32) << 23 | 0x7FFF),
                       (np.arange(256, dtype=np.uint32) << 23 | 0x8001),
                       np.array([0, 1, 0x8000, 0x8001, 0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x80000000], np.uint32)])
numbers = bits.view(f32)
with np.errstate(all="ignore"):
    rounded = numbers.astype(ml_dtypes.bfloat16)
case("bf16_cast", [n("Cast", "x0", "c", to=T.BFLOAT16), n("Cast", "c", to=T.FLOAT)], lambda p: rounded.astype(f32), numbers)
case("bf16_constant", [n("Cast", "k", "c", to=T.BFLOAT16), n("Cast", "c", "d", to=T.FLOAT), n("Mul", "d x0")],
     lambda p: rounded.astype(f32)[:4000], np.ones(4000, f32), inits={"k": numbers[:4000]})
case("bf16_output", [n("Cast", "x0", to=T.BFLOAT16)], lambda p: rounded, numbers)

# ---- Floating point of 8 bits: numbers of 16 bits, their neighbours in f32 and f64, ends, integers
halves = np.arange(65536, dtype=np.uint16)
halves = halves[np.isin(halves % 64, (0, 1, 17, 32, 63))].view(np.float16)  # middles, and what stands beside them
ends = [np.inf, -np.inf, np.nan, 0, -0., 464, 465, 61440, 61439, 1e38, -1e38]
for name, kind in (("FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn), ("FLOAT8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz),
                   ("FLOAT8E5M2", ml_dtypes.float8_e5m2), ("FLOAT8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz)):
    most, kind_number = float(ml_dtypes.finfo(kind).max), getattr(T, name)
    too_much = np.inf if kind is ml_dtypes.float8_e5m2 else np.nan

    codes = np.arange(128, dtype=np.uint8).view(kind).astype(np.float64)
    grid = codes[np.isfinite(codes)]  # in order, and one more
    grid = np.append(grid, 2 * grid[-1] - grid[-2])

    def to_float8(x, saturates):
        """By the definition: ml_dtypes rounds f64 twice."""
        wide = x.astype(np.float64)
        at = np.searchsorted((grid[:-1] + grid[1:]) / 2, np.abs(wide))
        at += (at < len(grid) - 1) & (np.abs(wide) == (grid[np.minimum(at, len(grid) - 2)] + grid[np.minimum(at + 1, len(grid) - 1)]) / 2) & (at % 2)
        y = np.where(at == len(grid) - 1, most if saturates else too_much, grid[at])
        y = np.copysign(np.where(np.isnan(wide), np.nan, y), wide).astype(f32)
        if x.dtype == f32 and saturates:
            with np.errstate(all="ignore"):
                same = x.astype(kind).astype(f32)
            assert np.array_equal(np.where(np.isinf(same) | np.isnan(same) & ~np.isnan(x), y, same), y, equal_nan=True)
        return y

    for dtype in (f32, np.float64, np.float16, i64):
        with np.errstate(all="ignore"):
            x = halves.astype(dtype) if dtype != i64 else np.concatenate([np.arange(-70000, 70000, 7), r.integers(-2**62, 2**62, 99)])
            if dtype in (f32, np.float64):
                x = np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(-np.inf)), np.array(ends, dtype)])
        for saturates in 0, 1:
            case(f"{name}_{np.dtype(dtype)}_{saturates}", [n("Cast", "x0", "c", to=kind_number, saturate=saturates), n("Cast", "c", to=T.FLOAT)],
                 lambda p, s=saturates, f=to_float8: f(p, s), x)
    case(f"{name}_quantized", [n("QuantizeLinear", "x0 s", "c", output_dtype=kind_number), n("DequantizeLinear", "c s")],
         lambda p: to_float8(p / f32(.5), 1) * f32(.5), r.normal(0, 99, (9, 30)).astype(f32), inits={"s": np.array(.5, f32)})
tolerances = ("--absolute", "0", "--relative", "0")
sys.exit(folders.run(nodes_program, open_program, tolerances=tolerances, isas=("AVX512_CORE_BF16", "AVX2", "SSE41")))
