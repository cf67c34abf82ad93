"""ONNX models made byte by byte."""
import struct

FLOAT, INT64, STRING, FLOAT16, BFLOAT16 = 1, 7, 8, 10, 16


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def value(field, name, kind, dims):
    shape = b"".join(text(1, number(1, d) if isinstance(d, int) else text(2, d)) for d in dims)
    return text(field, text(1, name) + text(2, text(1, number(1, kind) + text(2, shape))))


def tensor(name, kind, dims, raw):
    return text(5, b"".join(number(1, d) for d in dims) + number(2, kind) + text(8, name) + text(9, raw))


def node(op, inputs, outputs):
    return text(1, b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs) + text(4, op))


def model(*parts):
    return number(1, 8) + text(7, b"".join(parts) + text(2, "g")) + text(8, text(1, "") + number(2, 17))


def relu(kind=FLOAT, result=None):
    """y = Relu(x), x {2, n}."""
    return model(node("Relu", ["x"], ["y"]), value(11, "x", kind, [2, "n"]), value(12, "y", result or kind, [2, "n"]))


def one(op, results=1, **floats):
    """y0, y1, ... = op(x) with attributes that are floats, x {n}."""
    attributes = b"".join(text(5, text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", f) + number(20, 1))
                          for name, f in floats.items())
    names = [f"y{i}" for i in range(results)]
    body = text(1, "x") + b"".join(text(2, n) for n in names)
    return model(text(1, body + text(4, op) + attributes), value(11, "x", FLOAT, ["n"]),
                 b"".join(text(12, text(1, n)) for n in names))


def untyped():
    """y = Identity(x), x {2} of int64; nothing is said of y but its name."""
    return model(node("Identity", ["x"], ["y"]), value(11, "x", INT64, [2]), text(12, text(1, "y")))


def identity(number):
    """y = Identity(x), x {n} of the type of a number."""
    return model(node("Identity", ["x"], ["y"]), value(11, "x", number, ["n"]), value(12, "y", number, ["n"]))


def product():
    """y = MatMul(a, b), a {m, k}, b {k, n}."""
    return model(node("MatMul", ["a", "b"], ["y"]), value(11, "a", FLOAT, ["m", "k"]), value(11, "b", FLOAT, ["k", "n"]),
                 value(12, "y", FLOAT, ["m", "n"]))


def reshape():
    """y = Reshape(x, shape), x {2, n}."""
    return model(node("Reshape", ["x", "shape"], ["y"]), value(11, "x", FLOAT, [2, "n"]),
                 value(11, "shape", INT64, [2]), value(12, "y", FLOAT, ["p", "q"]))


def add_default():
    """y = Add(x, w), w = 1, 2, 3 unless it is given."""
    return model(node("Add", ["x", "w"], ["y"]), tensor("w", FLOAT, [3], struct.pack("<3f", 1, 2, 3)),
                 value(11, "x", FLOAT, [3]), value(11, "w", FLOAT, [3]), value(12, "y", FLOAT, [3]))


def products(n):
    """y = a a a ... of n products, a {m, m}."""
    nodes = [node("MatMul", [f"t{i}" if i else "a", "a"], [f"t{i + 1}" if i + 1 < n else "y"]) for i in range(n)]
    return model(*nodes, value(11, "a", FLOAT, ["m", "m"]), value(12, "y", FLOAT, ["m", "m"]))


def classes(labels, text_labels=False):
    """probabilities {rows, 2} of LinearClassifier, as maps of ZipMap; label {rows}, with text_labels of the labels' texts."""
    def floats(name, values):
        return text(5, text(1, name) + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in values) + number(20, 6))

    texts = isinstance(labels[0], str)
    keys = b"".join(text(9, v) if texts else number(8, v) for v in labels) + number(20, 8 if texts else 7)
    classifier = text(1, text(1, "x") + text(2, "label") + text(2, "scores") + text(4, "LinearClassifier") +
                      floats("coefficients", [1, 2, -1, .5, 0, 1]) + floats("intercepts", [.25, -.5]) +
                      text(5, text(1, "classlabels_strings") + keys if text_labels else
                           text(1, "classlabels_ints") + number(8, 4) + number(8, 7) + number(20, 7)) +
                      text(5, text(1, "post_transform") + text(4, "SOFTMAX") + number(20, 3)) + text(7, "ai.onnx.ml"))
    zip_map = text(1, text(1, "scores") + text(2, "maps") + text(4, "ZipMap") +
                   text(5, text(1, "classlabels_strings" if texts else "classlabels_int64s") + keys) +
                   text(7, "ai.onnx.ml"))
    key_type = number(1, STRING if texts else INT64)
    maps = text(2, text(4, text(1, text(5, key_type + text(2, text(1, number(1, FLOAT)))))))
    return model(classifier, zip_map, value(11, "x", FLOAT, ["rows", 3]), value(12, "label", STRING if text_labels else INT64, ["rows"]),
                 text(12, text(1, "maps") + maps)) + text(8, text(1, "ai.onnx.ml") + number(2, 1))


def encoder(keys, values, passes=False):
    """words {n} become one of the values, texts or numbers, by LabelEncoder: y {n}; passes: z are the words."""
    def texts(name, words):
        return text(5, text(1, name) + b"".join(text(9, w) for w in words) + number(20, 8))

    is_text = isinstance(values[0], str)
    numbers = b"" if is_text else text(5, text(1, "values_int64s") + b"".join(number(8, v) for v in values) + number(20, 7))
    out = node("Identity", ["words"], ["z"]) + value(12, "z", STRING, ["n"]) if passes else b""
    return model(text(1, text(1, "words") + text(2, "y") + text(4, "LabelEncoder") + texts("keys_strings", keys) +
                      (texts("values_strings", values) if is_text else numbers) + text(7, "ai.onnx.ml")), out,
                 value(11, "words", STRING, ["n"]), value(12, "y", STRING if is_text else INT64, ["n"])) + text(
                     8, text(1, "ai.onnx.ml") + number(2, 2))


def positive():
    """z = 2 r[p], p = NonZero(r), r = Relu(x), x {2, n}; outputs z, p and r."""
    return model(node("Relu", ["x"], ["r"]), node("NonZero", ["r"], ["p"]), node("Transpose", ["p"], ["t"]),
                 node("GatherND", ["r", "t"], ["y"]), node("Add", ["y", "y"], ["z"]), value(11, "x", FLOAT, [2, "n"]),
                 value(12, "z", FLOAT, ["k"]), value(12, "p", INT64, [2, "k"]), value(12, "r", FLOAT, [2, "n"]))


def positive_of_products(n):
    """p = NonZero(a a a ... of n products), a {m, m}."""
    nodes = [node("MatMul", [f"t{i}" if i else "a", "a"], [f"t{i + 1}"]) for i in range(n)]
    return model(*nodes, node("NonZero", [f"t{n}"], ["p"]), value(11, "a", FLOAT, ["m", "m"]),
                 value(12, "p", INT64, [2, "k"]))


def accumulating():
    """sum = the rows of present added up, present = past and x behind each other; past {b, n, 2}, x {b, m, 2}."""
    axis = text(5, text(1, "axis") + number(3, 1) + number(20, 2))
    keeps = text(5, text(1, "keepdims") + number(3, 0) + number(20, 2))
    return model(text(1, text(1, "past") + text(1, "x") + text(2, "present") + text(4, "Concat") + axis),
                 text(1, text(1, "present") + text(1, "axes") + text(2, "sum") + text(4, "ReduceSum") + keeps),
                 tensor("axes", INT64, [1], struct.pack("<q", 1)), value(11, "x", FLOAT, ["b", "m", 2]),
                 value(11, "past", FLOAT, ["b", "n", 2]), value(12, "sum", FLOAT, ["b", 2]),
                 value(12, "present", FLOAT, ["b", "k", 2]))
