"""Grows random ONNX graphs, node by node, with the right values of all tensors by ONNX Runtime."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 20, 9
TYPES = {np.dtype(t): n for t, n in (
    (np.float32, TensorProto.FLOAT), (np.float64, TensorProto.DOUBLE), (np.int8, TensorProto.INT8),
    (np.uint8, TensorProto.UINT8), (np.int32, TensorProto.INT32), (np.int64, TensorProto.INT64), (bool, TensorProto.BOOL),
    (np.float16, TensorProto.FLOAT16))}


def proto(nodes, inputs, outputs, constants=(), opens=None, opset=OPSET):
    """A model; inputs, outputs and constants are arrays by name. opens: sizes by the name of an input."""
    opens = opens or {}
    ins = [helper.make_tensor_value_info(k, TYPES[v.dtype], opens.get(k, v.shape)) for k, v in inputs.items()]
    outs = [helper.make_tensor_value_info(k, TYPES[v.dtype] if v is not None else 0, None) for k, v in outputs.items()]
    for o in outs:
        if o.type.tensor_type.elem_type == 0:
            o.ClearField("type")
    held = [numpy_helper.from_array(v, k) for k, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", ins, outs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)


def judge(model, feeds):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {k: v for k, v in feeds.items() if k in {i.name for i in session.get_inputs()}})


UNARY = ["Relu", "Sigmoid", "Tanh", "Erf", "Abs", "Neg", "Softplus", "LeakyRelu", "Elu", "Selu", "HardSigmoid", "HardSwish",
         "Softsign", "Sin", "Cos", "Gelu", "Mish", "Celu", "ThresholdedRelu", "Atan", "Sinh", "Identity", "Exp", "Log", "Sqrt",
         "Reciprocal", "Tan", "Asin", "Acos", "Asinh", "Acosh", "Atanh", "Cosh", "Shrink", "Dropout"]
# Attributes of operators of one input, and their values.
TUNED = {"LeakyRelu": {"alpha": (.1, 2., -.5, 0.)}, "Elu": {"alpha": (.5, 2.)}, "Celu": {"alpha": (.5, 2.)},
         "Selu": {"alpha": (1.5,), "gamma": (2.,)}, "HardSigmoid": {"alpha": (.3, .125), "beta": (.25, 0.)},
         "ThresholdedRelu": {"alpha": (.5, 0.)}, "Shrink": {"lambd": (.25, 1.5), "bias": (0., .5)},
         "Gelu": {"approximate": ("tanh",)}}
STEPS = ["Floor", "Ceil", "Round", "Sign", "IsNaN", "IsInf", "Not"]  # a rounding before them changes their value
KEEPS = {"Identity", "Abs", "Neg", "Relu", "Reshape", "Transpose", "Concat", "Slice", "Pad", "Expand", "Tile", "Gather",
         "Split", "Where", "Max", "Min", "Squeeze", "Unsqueeze", "Flatten", "Clip", "MaxPool", "DepthToSpace",
         "SpaceToDepth", "ReduceMax", "ReduceMin", "GatherElements", "ScatterElements", "GatherND", "ScatterND", "TopK",
         "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor", "Not", "ArgMax", "ArgMin",
         "Floor", "Ceil", "Round", "Sign", "IsNaN", "IsInf", "Shape", "Size", "Cast", "Trilu", "ReverseSequence",
         "EyeLike", "OneHot", "NonZero", "QuantizeLinear", "DequantizeLinear", "Compress", "Hardmax", "Mod", "Constant",
         "ConstantOfShape", "Range", "Dropout"}


class Grower:
    """Makes one graph of a seed."""
    nsets = 1

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.nodes, self.values, self.inputs, self.constants, self.exact = [], {}, {}, {}, set()
        self.count = 0
        self.opset = self.pick([OPSET] * 5 + [9, 11, 12, 13, 17, 21, 22])
        self.special = self.r.random() < .08  # NaN and infinities in part of the data
        self.extent = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17] + [0] * (self.r.random() < .1) + [
            15, 31, 33, 64, 65, 100] * (self.r.random() < .2)

    def name(self, kind="v"):
        self.count += 1
        return f"{kind}{self.count}"

    def pick(self, of):
        of = list(of)
        return of[int(self.r.integers(len(of)))]

    def data(self, shape, dtype=np.float32, finite=False):
        """finite: for weights of convolutions, of which products with padding are left out, and the like."""
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            a = np.round(self.r.standard_normal(shape) * 8) / 8 + self.pick([0, 0, 0, 2])
            a = np.asarray(a, dtype)
            if self.special and a.size and a.ndim and not finite:
                a.reshape(-1)[int(self.r.integers(a.size))] = self.pick([np.nan, np.inf, -np.inf])
            return a
        if dtype.kind == "b":
            return np.asarray(self.r.random(shape) < .5)
        lo, hi = (0, 20) if dtype.kind == "u" else (-9, 10)
        return np.asarray(self.r.integers(lo, hi, shape), dtype)

    def held(self, array):
        """A value that nobody made yet: a constant, or an input of the model."""
        array = np.asarray(array)
        k = self.name("c")
        self.values[k] = array
        self.exact.add(k)
        (self.inputs if array.ndim and self.r.random() < .15 else self.constants)[k] = array
        return k

    def fixed(self, array, dtype=np.int64):
        k = self.name("c")
        self.values[k] = self.constants[k] = np.asarray(array, dtype)
        self.exact.add(k)
        return k

    def start(self):
        for _ in range(int(self.r.integers(1, 4))):
            shape = [self.pick(self.extent) for _ in range(self.pick([1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 0]))]
            while np.prod(shape) > 4000:
                shape[int(np.argmax(shape))] = 2
            dtype = self.pick([np.float32] * 8 + [np.float64, np.int32, np.int64, np.int8, np.uint8, bool, np.float16])
            k = self.name("x")
            self.values[k] = self.inputs[k] = self.data(tuple(shape), dtype)
            self.exact.add(k)

    def broad(self, shape):
        shape = [1 if self.r.random() < .4 else n for n in shape]
        if self.r.random() < .4:
            shape = shape[int(self.r.integers(len(shape) + 1)):]
        return tuple(shape)

    def node(self, op, ins, nout=1, **attributes):
        """Adds the node if ONNX Runtime runs it alone; the names of its outputs, or None."""
        outs = [self.name() for _ in range(nout)]
        node = helper.make_node(op, ins, outs, **attributes)
        free = {k for a in node.attribute if a.HasField("g") for n in a.g.node for k in n.input}
        feeds = {k: self.values[k] for k in [*ins, *sorted(free)] if k in self.values}
        try:
            got = judge(proto([node], feeds, {o: None for o in outs}, opset=self.opset), feeds)
        except Exception:  # the node is not valid, or not served by ONNX Runtime
            return None
        if any(not isinstance(a, np.ndarray) or a.dtype not in TYPES or a.size > 20000 or a.ndim > 6 for a in got):
            return None
        if any(np.abs(a[np.isfinite(a)].astype(np.float64)).max(initial=0) > (1e4 if a.dtype.kind == "f" else 1e9)
               for a in got):
            return None
        if all(np.isfinite(a).all() for a in feeds.values()) and not all(np.isfinite(a).all() for a in got):
            return None  # beyond the range, where the order of sums and products decides
        self.nodes.append(node)
        keeps = op in KEEPS and all(k in self.exact for k in feeds)
        for o, a in zip(outs, got):
            self.values[o] = a
            whole = a.dtype.kind != "f" and all(k in self.exact for k in feeds)
            if keeps or whole:
                self.exact.add(o)
        return outs

    def grow(self):
        made = [k for k in self.values if not k.startswith("c")]
        v = made[max(0, len(made) - 1 - int(self.r.exponential(1.5)))]
        a = self.values[v]
        how = self.pick(name for name in dir(self) if name.startswith("op_"))
        getattr(self, how)(v, a, a.shape, a.ndim)

    # Families. v: a value's name; a, s, n: its array, shape and number of dimensions.

    def op_unary(self, v, a, s, n):
        op = self.pick(UNARY)
        at = {k: self.pick(values) for k, values in TUNED.get(op, {}).items() if self.r.random() < .5}
        # Those that have steps or poles; Shrink of integers subtracts a fraction, or what an integer holds of it.
        if op not in ("ThresholdedRelu", "Shrink", "Tan") or (v in self.exact and a.dtype.kind == "f"):
            self.node(op, [v], **at)

    op_unary2 = op_unary

    def op_step(self, v, a, s, n):
        if v in self.exact:
            self.node(self.pick(STEPS), [v])

    def op_binary(self, v, a, s, n):
        w = self.held(self.data(self.broad(s), a.dtype))
        op = self.pick(["Add", "Sub", "Mul", "Max", "Min", "Div", "PRelu", "Pow", "And", "Or", "Xor"])
        if op == "Div" and not self.positive(w):
            return
        if op == "Pow":
            if a.dtype.kind != "f":
                return
            v = (self.node("Abs", [v]) or [v])[0]
            w = self.fixed(self.pick([2., .5, 3., 1.]), a.dtype)
        self.node(op, [v, w] if op in ("PRelu", "Div", "Pow") or self.r.random() < .6 else [w, v])

    op_binary2 = op_binary3 = op_binary

    def positive(self, w):
        b = np.abs(self.values[w])
        self.values[w] = b = b if b.dtype == bool else np.asarray(b + b.dtype.type(1), b.dtype)
        (self.inputs if w in self.inputs else self.constants)[w] = b
        return b.dtype != bool

    def op_join(self, v, a, s, n):
        like = [k for k, b in self.values.items() if b.dtype == a.dtype and b.ndim and k != v]
        if like:
            ins = [v, self.pick(like)]
            self.node(self.pick(["Add", "Mul", "Sub", "Max"]), ins if self.r.random() < .5 else ins[::-1])

    op_join2 = op_join

    def op_compare(self, v, a, s, n):
        if v not in self.exact:
            return
        c = self.node(self.pick(["Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"]),
                      [v, self.held(self.data(self.broad(s), a.dtype))])
        if c and self.r.random() < .7:
            self.node("Where", [c[0], v, self.held(self.data(self.broad(s), a.dtype))])

    def op_matmul(self, v, a, s, n):
        k = self.pick([1, 4, 7, 16, 17])
        way = self.r.random()
        if n and way < .6:
            self.node("MatMul", [v, self.held(self.data((s[-1], k), a.dtype))])
        elif n >= 2 and way < .8:
            t = self.node("Transpose", [v], perm=[*range(n - 2), n - 1, n - 2])
            t and self.node("MatMul", [v, t[0]] if self.r.random() < .5 else [t[0], v])
        elif n >= 2:
            self.node("MatMul", [self.held(self.data((*s[:-2], k, s[-2]), a.dtype)), v])

    def op_gemm(self, v, a, s, n):
        if n != 2:
            return
        ta, tb, m = *(int(q) for q in self.r.integers(0, 2, 2)), self.pick([1, 4, 7])
        rows, inner = (s[1], s[0]) if ta else s
        b = self.held(self.data((m, inner) if tb else (inner, m), a.dtype))
        c = self.held(self.data(self.pick([(m,), (1, m), (rows, 1), (), (rows, m), (1,)]), a.dtype))
        self.node("Gemm", [v, b, c][:self.pick([2, 3, 3])], transA=ta, transB=tb, alpha=self.pick([1., .5]),
                  beta=self.pick([1., 2., .25]))

    def op_conv(self, v, a, s, n):
        if n < 3 or 0 in s:
            return
        d, c = n - 2, s[1]
        group = self.pick([1, 1, 1, c] + [g for g in (2, 4) if c % g == 0])
        out = group * self.pick([1, 2, 3, 5])
        kernel = [self.pick([1, 2, 3]) for _ in range(d)]
        at = {"pads": [int(q) for q in self.r.integers(0, 2, 2 * d)], "strides": [self.pick([1, 1, 2]) for _ in range(d)],
              "dilations": [self.pick([1, 1, 2]) for _ in range(d)], "group": group}
        turned = self.r.random() < .2
        w = (c, out // group, *kernel) if turned else (out, c // group, *kernel)
        ins = [v, self.held(self.data(w, a.dtype, True))] + [self.held(self.data((out,), a.dtype))] * (self.r.random() < .6)
        if turned:
            at["strides"] = [self.pick([1, 2, k]) for k in kernel]
            at["output_padding"] = [int(self.r.integers(0, q)) for q in at["strides"]]
            ways = [{}, {}, {"auto_pad": "VALID"}]
            spare = [q * (k - 1) + 1 + m - by for k, q, m, by in
                     zip(kernel, at["dilations"], at["output_padding"], at["strides"])]
            if min(spare) >= 0:  # ONNX Runtime's result is too short else
                ways += [{"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}]
            at |= self.pick(ways)
            if "auto_pad" in at:
                del at["pads"]
        y = self.node("ConvTranspose" if turned else "Conv", ins, **at)
        if y and self.r.random() < .5:  # something that joins the convolution's result
            q = self.values[y[0]]
            axis = int(self.r.integers(q.ndim))
            more = list(q.shape)
            more[axis] = self.pick([1, 3, more[axis]])
            ins = [y[0], self.held(self.data(tuple(more), a.dtype))]
            self.node("Concat", ins if self.r.random() < .5 else ins[::-1], axis=axis)

    op_conv2 = op_conv

    def op_pool(self, v, a, s, n):
        if n < 3 or 0 in s:
            return
        d = n - 2
        at = {"kernel_shape": [self.pick([1, 2, 3]) for _ in range(d)], "strides": [self.pick([1, 2]) for _ in range(d)],
              "pads": [int(q) for q in self.r.integers(0, 2, 2 * d)], "ceil_mode": int(self.r.random() < .3)}
        op = self.pick(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
        if "MaxPool" in op and np.isnan(a).any():
            return  # both judges lose NaN by position
        if op == "AveragePool":
            at["count_include_pad"] = int(self.r.integers(0, 2))
            at["ceil_mode"] = 0  # ONNX Runtime and the standard count the cells beyond the end in different ways
        pads, kernel = at["pads"], at["kernel_shape"]
        if not at["ceil_mode"] and any(s[2 + i] + pads[i] + pads[d + i] < kernel[i] for i in range(d)):
            return  # no window, of which ONNX Runtime counts one
        self.node(op, [v], **({} if op.startswith("Global") else at))

    def op_softmax(self, v, a, s, n):
        if n:
            self.node(self.pick(["Softmax", "LogSoftmax"]), [v], axis=int(self.r.integers(-n, n)))

    def op_normalize(self, v, a, s, n):
        if n < 2 or a.dtype not in (np.float32, np.float64):
            return
        c, op = s[1], self.pick(["LayerNormalization", "BatchNormalization", "InstanceNormalization", "LRN"])
        per = [self.held(self.data((c,), a.dtype, True)) for _ in range(3)]
        if op == "LayerNormalization":
            axis = int(self.r.integers(n))
            scale = s[axis:] if self.r.random() < .6 else s[-1:]
            self.node(op, [v, self.held(self.data(scale, a.dtype)), self.held(self.data(scale, a.dtype))], axis=axis,
                      epsilon=1e-2)
        elif op == "BatchNormalization" and np.isfinite(a).all():  # scale and shift are one product, or two
            self.node(op, [v, *per, self.fixed(np.abs(self.r.standard_normal(c)) + .5, a.dtype)])
        elif op == "InstanceNormalization":
            self.node(op, [v, *per[:2]], epsilon=1e-2)
        elif np.isfinite(a).all():  # running sums of ONNX Runtime keep NaN
            self.node(op, [v], size=self.pick([1, 3, 5]))

    def op_reduce(self, v, a, s, n):
        if not n or 0 in s or not np.isfinite(a).all():  # ONNX Runtime's least and largest lose NaN by position
            return
        axes = [int(q) - self.pick([0, n]) for q in self.r.permutation(n)[:self.r.integers(1, n + 1)]]
        op = self.pick(["Mean", "Max", "Min", "L1", "L2", "LogSumExp", "Sum", "SumSquare", "Prod", "LogSum"])
        if op == "Prod" and np.log2(np.maximum(np.abs(a.astype(np.float64)), 1)).sum() > 100:
            return  # partial products may be infinite, or not, which their order decides
        if op == "LogSumExp" and a.dtype.kind != "f":
            return  # of integers ONNX Runtime sums exponentials that are cut to 0 and 1
        if op == "LogSum" and a.min() <= 0:
            return  # the logarithm of what is left where numbers cancel
        at = {"keepdims": int(self.r.integers(0, 2))}
        if self.opset < (13 if op == "Sum" else 18):
            self.node("Reduce" + op, [v], **at, **({"axes": axes} if self.r.random() < .9 else {}))
        else:
            self.node("Reduce" + op, [v] + [self.fixed(axes)] * (self.r.random() < .9), **at)

    op_reduce2 = op_reduce

    def op_arg(self, v, a, s, n):
        if n and v in self.exact and 0 not in s and not self.special:
            self.node(self.pick(["ArgMax", "ArgMin"]), [v], axis=int(self.r.integers(-n, n)),
                      keepdims=int(self.r.integers(0, 2)), select_last_index=int(self.r.integers(0, 2)))

    def op_topk(self, v, a, s, n):
        if n and v in self.exact and not self.special:
            axis = int(self.r.integers(n))
            self.node("TopK", [v, self.fixed([int(self.r.integers(0, s[axis] + 1))])], 2, axis=axis,
                      largest=int(self.r.integers(0, 2)))

    def op_transpose(self, v, a, s, n):
        self.node("Transpose", [v], **({"perm": [int(q) for q in self.r.permutation(n)]} if n else {}))

    op_transpose2 = op_transpose

    def op_reshape(self, v, a, s, n):
        to = list(s)
        for _ in range(self.pick([1, 1, 2])):
            if len(to) > 1 and self.r.random() < .5:
                i = int(self.r.integers(len(to) - 1))
                to[i:i + 2] = [to[i] * to[i + 1]]
            elif to:
                i = int(self.r.integers(len(to)))
                f = self.pick([f for f in range(1, to[i] + 1) if to[i] % f == 0] or [1])
                to[i:i + 1] = [f, to[i] // f]
        if to and 0 not in to and self.r.random() < .3:
            to[int(self.r.integers(len(to)))] = -1
        self.node("Reshape", [v, self.fixed(to)])

    op_reshape2 = op_reshape

    def op_dims(self, v, a, s, n):
        op = self.pick(["Unsqueeze", "Squeeze", "Flatten", "Trilu"])
        if op == "Flatten":
            self.node(op, [v], axis=int(self.r.integers(-n, n + 1)))
        elif op == "Trilu":
            self.node(op, [v, self.fixed(int(self.r.integers(-2, 3)))], upper=int(self.r.integers(0, 2)))
        else:
            axes = [int(q) for q in self.r.permutation(n + (op == "Unsqueeze"))[:self.pick([1, 1, 2])]]
            axes = [q - (n + len(axes) if op == "Unsqueeze" else n) * (self.r.random() < .3) for q in axes]
            if axes and self.opset < 13:
                self.node(op, [v], axes=axes)
            elif axes:
                self.node(op, [v, self.fixed(axes)] if op == "Unsqueeze" or self.r.random() < .8 else [v])

    def op_concat(self, v, a, s, n):
        if not n:
            return
        axis = int(self.r.integers(n))
        fit = [k for k, b in self.values.items() if b.dtype == a.dtype and b.ndim == n
               and all(b.shape[d] == s[d] for d in range(n) if d != axis)]
        self.node("Concat", [self.pick(fit) for _ in range(self.pick([1, 2, 2, 3]))] + [v], axis=axis)

    op_concat2 = op_concat

    def op_slice(self, v, a, s, n):
        if not n:
            return
        axes = sorted({int(q) for q in self.r.integers(0, n, self.pick([1, 1, 2]))})
        low, high, step = [], [], []
        for d in axes:
            p = self.pick([1, 1, 1, 2, 3, -1, -2])
            ends = [int(q) for q in self.r.integers(-s[d] - 1, s[d] + 2, 2)]
            low.append(ends[0] if self.r.random() < .6 else 0 if p > 0 else s[d])
            high.append(ends[1] if self.r.random() < .6 else 2**40 if p > 0 else -2**40)
            step.append(p)
        self.node("Slice", [v, *(self.fixed(q) for q in (low, high, axes, step))])

    op_slice2 = op_slice

    def op_pad(self, v, a, s, n):
        mode = self.pick(["constant", "constant", "edge", "reflect", "wrap"])
        least = -1 if mode == "constant" else 0
        pads = [int(q) for q in self.r.integers(least, 3, 2 * n)]
        if mode != "constant" and (0 in s or any(max(pads[d], pads[n + d]) >= s[d] for d in range(n))):
            return
        if any(pads[d] + pads[n + d] + s[d] < 0 or -min(pads[d], pads[n + d], 0) > s[d] for d in range(n)):
            return
        ins = [v, self.fixed(pads)]
        if mode == "constant" and self.r.random() < .7:
            ins.append(self.fixed(self.data((), a.dtype), a.dtype))
        self.node("Pad", ins, mode=mode)

    def op_split(self, v, a, s, n):
        if n:
            axis = int(self.r.integers(n))
            at = int(self.r.integers(0, s[axis] + 1))
            if self.opset < 13:
                self.node("Split", [v], 2, axis=axis, split=[at, s[axis] - at])
            elif self.opset >= 18 and self.r.random() < .4:
                k = int(self.r.integers(1, 5))
                self.node("Split", [v], k, axis=axis, num_outputs=k)
            else:
                self.node("Split", [v, self.fixed([at, s[axis] - at])], 2, axis=axis)

    def op_spread(self, v, a, s, n):
        if self.r.random() < .5:
            self.node("Expand", [v, self.fixed([self.pick([1, 2, 3])] * self.pick([0, 1])
                                               + [self.pick([1, 3]) if q == 1 else q for q in s])])
        else:
            self.node("Tile", [v, self.fixed([self.pick([1, 1, 2, 3]) for _ in s])])

    def op_gather(self, v, a, s, n):
        if not n or 0 in s:
            return
        axis = int(self.r.integers(n))
        dtype = self.pick([np.int64, np.int32])
        op = self.pick(["Gather", "GatherElements", "ScatterElements", "GatherND"])
        if op == "Gather":
            shape = self.pick([(), (1,), (3,), (2, 2), (0,)])
            self.node(op, [v, self.held(np.asarray(self.r.integers(-s[axis], s[axis], shape), dtype))], axis=axis)
        elif op == "GatherND":
            k = int(self.r.integers(1, n + 1))
            ids = np.stack([self.r.integers(-s[d], s[d], 4) for d in range(k)], -1)
            self.node(op, [v, self.held(ids.astype(np.int64))])
        else:
            shape = tuple(int(self.r.integers(1, q + 1)) for q in s)
            if op == "ScatterElements":  # no place is written twice, whose order is open
                ids = np.argsort(self.r.random((*shape[:axis], s[axis], *shape[axis + 1:])), axis).astype(dtype)
                ids = np.take(ids, range(shape[axis]), axis)
                self.node(op, [v, self.held(ids), self.held(self.data(shape, a.dtype))], axis=axis)
            else:
                self.node(op, [v, self.held(np.asarray(self.r.integers(-s[axis], s[axis], shape), dtype))], axis=axis)

    def op_resize(self, v, a, s, n):
        if n < 3 or 0 in s or a.dtype != np.float32 or not np.isfinite(a).all():  # 0 times what a weight leaves out
            return
        mode = self.pick(["nearest", "linear", "cubic"]) if n == 4 else "nearest"
        sizes = [*s[:2], *(max(1, int(q * self.pick([.5, 1, 1.5, 2, 3]))) for q in s[2:])]
        self.node("Resize", [v, "", "", self.fixed(sizes)], mode=mode,
                  coordinate_transformation_mode=self.pick(["asymmetric", "half_pixel", "align_corners",
                                                            "pytorch_half_pixel"]))

    def op_clip(self, v, a, s, n):
        low, high = sorted([self.data((), a.dtype), self.data((), a.dtype)])
        if a.dtype.kind != "b" and not np.isnan([low, high]).any():
            ins = [v, self.fixed(low, a.dtype), self.fixed(high, a.dtype)]
            self.node("Clip", self.pick([ins, ins[:2], [v, "", ins[2]]]))

    def op_cast(self, v, a, s, n):
        to = self.pick([np.float32, np.float32, np.float64, np.int32, np.int64, bool, np.float16, np.int8, np.uint8])
        if np.dtype(to).kind == "f" or (v in self.exact and not self.special and a.min(initial=0) >= (
                0 if to == np.uint8 else -100) and a.max(initial=0) <= 100):
            self.node("Cast", [v], to=TYPES[np.dtype(to)])

    op_cast2 = op_cast

    def op_cumsum(self, v, a, s, n):
        if n:
            self.node("CumSum", [v, self.fixed(int(self.r.integers(-n, n)))], exclusive=int(self.r.integers(0, 2)),
                      reverse=int(self.r.integers(0, 2)))

    def op_blocks(self, v, a, s, n):
        op = self.pick(["DepthToSpace", "SpaceToDepth"])
        self.node(op, [v], blocksize=2, **({"mode": self.pick(["DCR", "CRD"])} if op == "DepthToSpace" else {}))

    def op_quantize(self, v, a, s, n):
        if v not in self.exact or a.dtype != np.float32 or self.special:
            return
        to, axis = self.pick([np.int8, np.uint8]), int(self.r.integers(n)) if n else 0
        per = (s[axis],) if n and self.r.random() < .5 else ()
        scale = self.fixed(np.exp2(self.r.integers(-4, 0, per)), np.float32)
        zero = self.fixed(self.r.integers(0, 5, per), to)
        q = self.node("QuantizeLinear", [v, scale, zero], axis=axis)
        if not q:
            return
        d = self.node("DequantizeLinear", [q[0], scale, zero], axis=axis)
        if d and n >= 2 and self.r.random() < .6:
            w = self.fixed(self.r.integers(-60, 60, (s[-1], 5)), np.int8)
            w = self.node("DequantizeLinear", [w, self.fixed(.125, np.float32), self.fixed(0, np.int8)])
            w and self.node("MatMul", [d[0], w[0]])

    op_quantize2 = op_quantize

    def op_pattern(self, v, a, s, n):
        """Layer norm, gelu, silu and attention written out, sometimes not quite."""
        if a.dtype != np.float32 or not n or self.special or 0 in s:  # the mean of nothing is not defined
            return

        def then(op, *ins, **at):
            return None if None in ins else (self.node(op, list(ins), **at) or [None])[0]

        def number(x):
            return self.fixed(x, np.float32)
        kind = self.pick(["norm", "rms", "gelu", "silu", "hardswish", "attention"])
        if kind in ("norm", "rms"):
            axes = self.fixed([n - 1 if self.r.random() < .7 else int(self.r.integers(n))])
            d = then("Sub", v, then("ReduceMean", v, axes)) if kind == "norm" else v
            q = then("Sqrt", then("Add", then("ReduceMean", then("Mul", d, d), axes), number(self.pick([1e-2, [1e-2]]))))
            y = then("Div", d if self.r.random() < .9 else v, q)
            y = then("Mul", y, self.held(self.data(s[-1:])))
            then("Add", y, self.held(self.data(self.broad(s))))
        elif kind == "gelu":
            p = then("Add", then("Erf", then("Div", v, number(1.4142135))), number(1))
            then("Mul", then("Mul", v if self.r.random() < .85 else self.held(self.data(s)), p), number(.5))
        elif kind == "silu":
            g = then("Sigmoid", v)
            then("Mul", v if self.r.random() < .8 else g, g)
        elif kind == "hardswish":
            c = then("Clip", then("Add", v, number(3)), number(0), number(6))
            then("Div", then("Mul", v, c), number(self.pick([6, 5])))
        elif n >= 2:
            k = then("Transpose", self.held(self.data((*s[:-2], self.pick([1, 5, 9]), s[-1]))),
                     perm=[*range(n - 2), n - 1, n - 2])
            p = then("MatMul", v, k)
            p = then("Softmax", then("Mul", p, number(.25)), axis=-1)
            p and then("MatMul", p, self.held(self.data((*s[:-2], self.values[p].shape[-1], self.pick([3, 8])))))

    op_pattern2 = op_pattern

    def op_many(self, v, a, s, n):
        like = [k for k, b in self.values.items() if b.dtype == a.dtype and b.shape == a.shape]
        ins = [self.pick(like) if self.r.random() < .6 else self.held(self.data(self.broad(s), a.dtype))
               for _ in range(self.pick([0, 1, 2, 3]))] + [v]
        self.node(self.pick(["Sum", "Mean", "Max", "Min"]), ins)

    def op_integers(self, v, a, s, n):
        if a.dtype.kind not in "iu":
            return
        op = self.pick(["Mod", "Mod", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Div"])
        w = self.held(self.data(self.broad(s), a.dtype))
        if op == "BitwiseNot":
            self.node(op, [v])
        elif op == "BitShift":
            self.node(op, [v, self.held(np.asarray(self.r.integers(0, 8, self.broad(s)), a.dtype))],
                      direction=self.pick(["LEFT", "RIGHT"]))
        elif op == "Mod":
            self.positive(w)
            self.node(op, [v, w], fmod=int(self.r.integers(0, 2)))
        elif op != "Div" or self.positive(w):
            self.node(op, [v, w])

    def op_scaled(self, v, a, s, n):
        if not n or 0 in s or not np.isfinite(a).all():
            return
        op = self.pick(["LpNormalization", "MeanVarianceNormalization", "Hardmax", "GroupNormalization"])
        if op == "LpNormalization" and np.abs(a).min() > 0:
            self.node(op, [v], axis=int(self.r.integers(-n, n)), p=self.pick([1, 2]))
        elif op == "MeanVarianceNormalization" and a.std() > .1:
            axes = sorted(int(q) for q in self.r.permutation(n)[:self.r.integers(1, n + 1)])
            if (a.std(axis=tuple(axes)) > .1).all():
                self.node(op, [v], axes=axes)
        elif op == "Hardmax" and v in self.exact:
            self.node(op, [v], axis=int(self.r.integers(-n, n)))
        elif op == "GroupNormalization" and n >= 3 and self.opset >= 21:
            groups = self.pick([g for g in range(1, s[1] + 1) if s[1] % g == 0])
            per = [self.held(self.data((s[1],), a.dtype, True)) for _ in range(2)]
            self.node(op, [v, *per], num_groups=groups, epsilon=1e-2)

    def op_make(self, v, a, s, n):
        """Tensors of a shape that another one has, or of numbers."""
        op = self.pick(["Shape", "Size", "ConstantOfShape", "Range", "EyeLike", "OneHot", "Constant", "Expand"])
        if op in ("ConstantOfShape", "Expand"):
            shape = self.node("Shape", [v])
            if shape and op == "Expand":
                self.node(op, [self.held(self.data(self.broad(s), a.dtype)), shape[0]])
            elif shape:
                value = numpy_helper.from_array(self.data((1,), self.pick([np.float32, np.int64, bool, np.int8])))
                self.node(op, shape, **({"value": value} if self.r.random() < .8 else {}))
        elif op == "Range":
            t = self.pick([np.float32, np.int64, np.int32, np.float64])
            step = self.pick([1, 2, -1, -3])
            self.node(op, [self.fixed(q, t) for q in (2, 2 + step * int(self.r.integers(0, 9)), step)])
        elif op == "EyeLike":
            if n == 2:
                self.node(op, [v], k=int(self.r.integers(-2, 3)))
        elif op == "OneHot":
            ids = np.asarray(self.r.integers(-4, 4, self.pick([(), (3,), (2, 3)])), self.pick([np.int64, np.int32]))
            self.node(op, [self.held(ids), self.fixed(self.pick([4, 5])), self.fixed([self.pick([0, 1]), 3], a.dtype)],
                      axis=int(self.r.integers(-ids.ndim - 1, ids.ndim + 1)))
        elif op == "Constant":
            self.node(op, [], value=numpy_helper.from_array(self.data(self.broad(s), a.dtype)))
        else:
            at = {} if op == "Size" or self.opset < 15 else {"start": int(self.r.integers(-n - 1, n + 1))}
            shape = self.node(op, [v], **at)
            if shape and op == "Shape" and not at and self.r.random() < .5:
                self.node("Reshape", [self.held(self.data((int(a.size),), a.dtype)), shape[0]])

    def op_einsum(self, v, a, s, n):
        letters = "abcdef"[:n]
        if not n or n > 4 or a.dtype.kind == "b" or not np.isfinite(a).all():  # both judges sum one operand first
            return
        kept = [q for q in letters if self.r.random() < .6]
        other = [q for q in letters if self.r.random() < .5] + ["z"] * (self.r.random() < .5)
        out = [str(q) for q in self.r.permutation([q for q in kept if q != "z"] + [q for q in other if q == "z"])]
        w = self.held(self.data(tuple(s[letters.index(q)] if q != "z" else 3 for q in other), a.dtype, True))
        self.node("Einsum", [v, w], equation=f"{letters},{''.join(other)}->{''.join(out)}")

    def op_by_data(self, v, a, s, n):
        """Results whose sizes the elements decide: the package runs such a model in parts."""
        way = self.r.integers(0, 4)
        if way in (0, 2) and v not in self.exact:  # a rounding decides
            return
        if way == 0 and n:
            places = self.node("NonZero", [v])
            if places and self.r.random() < .5:
                rows = self.node("Transpose", places, perm=[1, 0])
                rows and self.node("GatherND", [v, rows[0]])
        elif way == 1 and n and a.dtype.kind in "fiu" and 0 not in s:
            flat = self.r.random() < .4
            axis = int(self.r.integers(n))
            keep = self.r.random(int(a.size) if flat else s[axis]) < .6
            mark = self.node("Greater", [self.held(self.data(keep.shape, np.float32, True)), self.fixed(0, np.float32)])
            mark and self.node("Compress", [v, mark[0]], **({} if flat else {"axis": axis}))
        elif way == 2 and n and a.size and not np.isnan(a.astype(np.float64)).any():
            at = {"sorted": int(self.r.integers(0, 2))} | ({"axis": int(self.r.integers(n))} if self.r.random() < .5 else {})
            self.node("Unique", [v], self.pick([1, 4]), **at)
        elif way == 3 and a.dtype == np.float32 and n and a.size % 4 == 0 and 0 < a.size <= 200 and np.isfinite(a).all():
            boxes = self.node("Reshape", [v, self.fixed([1, a.size // 4, 4])])
            scores = self.held(self.data((1, self.pick([1, 2, 3]), a.size // 4), np.float32, True))
            numbers = [self.fixed([self.pick([1, 3, 100])]), self.fixed([self.pick([.1, .5])], np.float32),
                       self.fixed([self.pick([-1., .25])], np.float32)][:self.pick([1, 2, 3])]
            boxes and self.node("NonMaxSuppression", [boxes[0], scores, *numbers],
                                center_point_box=int(self.r.integers(0, 2)))

    def op_einsum_of_many(self, v, a, s, n):
        """Two to four operands, repeated letters and letters that one operand has alone; some stretched from 1."""
        if a.dtype.kind != "f" or not 0 < n < 5 or 0 in s or not np.isfinite(a).all():
            return
        size = dict(zip("abcd", s)) | {"e": self.pick([1, 2, 3]), "f": 5}
        terms, ins = ["abcd"[:n]], [v]
        for _ in range(self.pick([1, 2, 2, 3])):
            term = [self.pick("abcdef"[:n] + "ef") for _ in range(self.pick([0, 1, 2, 2, 3]))]
            terms.append("".join(term))
            ins.append(self.held(self.data(tuple(size[c] for c in term), a.dtype)))
        letters = sorted(set("".join(terms)))
        out = [c for c in self.r.permutation(letters) if self.r.random() < .5]
        self.node("Einsum", ins, equation=",".join(terms) + "->" + "".join(out))

    def op_indexed(self, v, a, s, n):
        if not n or 0 in s:
            return
        op, axis = self.pick(["ScatterND", "Compress", "ReverseSequence", "GatherND"]), int(self.r.integers(n))
        if op == "Compress":
            self.node(op, [v, self.fixed(self.r.random(int(self.r.integers(1, s[axis] + 1))) < .6, bool)], axis=axis)
        elif op == "ReverseSequence" and n >= 2:
            time = self.pick([0, 1])
            self.node(op, [v, self.held(np.asarray(self.r.integers(1, s[time] + 1, s[1 - time]), np.int64))],
                      time_axis=time, batch_axis=1 - time)
        elif op == "ScatterND":
            k = int(self.r.integers(1, n + 1))
            places = list(np.ndindex(*s[:k]))
            ids = np.array([places[int(q)] for q in self.r.permutation(len(places))[:self.r.integers(1, 5)]], np.int64)
            self.node(op, [v, self.held(ids), self.held(self.data((len(ids), *s[k:]), a.dtype))])
        elif op == "GatherND" and n >= 2:
            ids = np.stack([self.r.integers(-s[1], s[1], (s[0], 2))], -1)
            self.node(op, [v, self.held(ids.astype(np.int64))], batch_dims=1)

    def op_recurrent(self, v, a, s, n):
        if n != 3 or 0 in s or a.dtype != np.float32 or not np.isfinite(a).all():
            return
        op, h, both = self.pick(["RNN", "GRU", "LSTM"]), self.pick([1, 3, 8]), self.pick(["forward", "reverse", "bidirectional"])
        d, gates = 1 + (both == "bidirectional"), {"RNN": 1, "GRU": 3, "LSTM": 4}[op]

        def small(*shape):
            return self.held(np.asarray(self.r.standard_normal(shape) * .3, np.float32))
        ins = [v, small(d, gates * h, s[2]), small(d, gates * h, h)]
        ins.append(small(d, 2 * gates * h) if self.r.random() < .6 else "")
        ins.append(self.held(np.asarray(self.r.integers(1, s[0] + 1, s[1]), np.int32)) if self.r.random() < .3 else "")
        ins.append(small(d, s[1], h) if self.r.random() < .5 else "")
        if op == "LSTM" and self.r.random() < .4:
            ins += [small(d, s[1], h), small(d, 3 * h)]
        at = {"linear_before_reset": int(self.r.integers(0, 2))} if op == "GRU" else {}
        self.node(op, ins, 3 if op == "LSTM" else 2, hidden_size=h, direction=both, **at)

    def op_products(self, v, a, s, n):
        """Products of integers."""
        if a.dtype not in (np.int8, np.uint8) or n < 2 or 0 in s:
            return
        op, k = self.pick(["MatMulInteger", "QLinearMatMul", "ConvInteger"]), self.pick([1, 4, 7])
        if op == "ConvInteger" and n >= 3:
            w = self.held(self.data((k, s[1], *[self.pick([1, 2])] * (n - 2)), self.pick([np.int8, np.uint8])))
            self.node(op, [v, w, self.fixed(int(self.r.integers(0, 5)), a.dtype)], pads=[1] * (2 * n - 4))
        elif op != "ConvInteger":
            w = self.held(self.data((s[-1], k), self.pick([np.int8, np.uint8])))
            b = self.values[w].dtype
            zeros = [self.fixed(int(self.r.integers(0, 5)), t) for t in (a.dtype, b)]
            if op == "MatMulInteger":
                self.node(op, [v, w, *zeros][:self.pick([2, 4])])
            else:
                scales = [self.fixed(q, np.float32) for q in (.5, .25, self.pick([1., 2.]))]
                self.node(op, [v, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], self.fixed(3, a.dtype)])

    def op_sampled(self, v, a, s, n):
        if n != 4 or 0 in s or a.dtype != np.float32 or not np.isfinite(a).all():
            return
        if self.r.random() < .5:
            grid = self.held(np.asarray(np.round(self.r.uniform(-1.5, 1.5, (s[0], 3, 2, 2)) * 16) / 16 + 1 / 37, np.float32))
            self.node("GridSample", [v, grid], mode=self.pick(["linear", "nearest"] if self.opset >= 20 else ["bilinear", "nearest"]),
                      padding_mode=self.pick(["zeros", "border", "reflection"]), align_corners=int(self.r.integers(0, 2)))
        else:
            scales = [1, 1, *(self.pick([.5, 1, 1.5, 2, 3]) for _ in range(2))]
            whole = all(float(q * f).is_integer() for q, f in zip(s, scales))  # else ONNX Runtime's corners are not the ends
            self.node("Resize", [v, "", self.fixed(scales, np.float32)], mode=self.pick(["nearest", "linear"]),
                      coordinate_transformation_mode=self.pick(["asymmetric", "half_pixel"] + ["align_corners"] * whole),
                      **({"nearest_mode": self.pick(["floor", "round_prefer_ceil", "ceil"])}))

    def body(self, nodes, ins, outs):
        return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(k, t, None) for k, t in ins],
                                 [helper.make_tensor_value_info(k, t, None) for k, t in outs])

    def op_control(self, v, a, s, n):
        kind, t = self.pick(["If", "Loop", "Scan"]), TYPES[a.dtype]
        x, y, i, on, off = (self.name("b") for _ in range(5))
        ops = self.pick([["Add", "Mul"], ["Max", "Add"], ["Sub", "Min"]])
        w = self.held(self.data(self.broad(s), a.dtype))
        if kind == "If":
            branches = [self.body([helper.make_node(op, [v, w], [k])], [], [(k, t)]) for op, k in zip(ops, (x, y))]
            self.node("If", [self.held(np.asarray(self.r.random() < .5))], then_branch=branches[0], else_branch=branches[1])
        elif kind == "Loop":
            nodes = [helper.make_node("Identity", [on], [off]), helper.make_node(ops[0], [x, w], [y])]
            twice = self.r.random() < .5
            outs = [(off, TensorProto.BOOL), (y, t)] + [(y + "s", t)] * twice
            nodes += [helper.make_node("Identity", [y], [y + "s"])] * twice
            body = self.body(nodes, [(i, TensorProto.INT64), (on, TensorProto.BOOL), (x, t)], outs)
            self.node("Loop", [self.held(np.asarray(int(self.r.integers(0, 4)))), "", v], 1 + twice, body=body)
        elif n >= 1:
            first = self.held(self.data(s[1:], a.dtype))
            nodes = [helper.make_node(ops[0], [x, i], [y]), helper.make_node("Identity", [y], [off])]
            body = self.body(nodes, [(x, t), (i, t)], [(y, t), (off, t)])
            self.node("Scan", [first, v], 2, body=body, num_scan_inputs=1)

    def at(self, k, number):
        """The value by this name in a set of inputs. A graph of closed sizes has one set."""
        return self.values[k]

    def opened(self, inputs):
        """What the model says of the sizes of its inputs, by name."""
        if self.r.random() >= .3:
            return {}
        return {k: [self.pick([q, None, f"{k}_{d}"]) for d, q in enumerate(a.shape)] for k, a in inputs.items()}

    def op_control_by_data(self, v, a, s, n):
        """Sizes that data decide inside of branches and iterations."""
        if not n or v not in self.exact or a.dtype.kind != "f" or 0 in s:
            return
        t, whole, x, y, i, on, off = TYPES[a.dtype], TensorProto.INT64, *(self.name("b") for _ in range(5))
        w = self.held(self.data(self.broad(s), a.dtype))
        if self.r.random() < .5:
            ops = self.pick([["Add", "Max"], ["Min", "Sub"]])
            branches = [self.body([helper.make_node(op, [v, w], [k + "a"]), helper.make_node("NonZero", [k + "a"], [k])], [],
                                  [(k, whole)]) for op, k in zip(ops, (x, y))]
            c = self.held(np.asarray(self.r.random() < .5))
            if self.r.random() < .5:
                c = (self.node("Less", [w, v]) or [c])[0]
                c = c if self.values[c].ndim == 0 else (self.node("Cast", [self.node("ReduceMax", [
                    self.node("Cast", [c], to=TensorProto.INT32)[0]], keepdims=0)[0]], to=TensorProto.BOOL) or [None])[0]
            c and self.node("If", [c], then_branch=branches[0], else_branch=branches[1])
        else:
            half = self.fixed(.5, a.dtype)
            nodes = [helper.make_node("Identity", [on], [off]), helper.make_node("Sub", [x, half], [y]),
                     helper.make_node("NonZero", [x], [x + "z"]), helper.make_node("Size", [x + "z"], [x + "s"])]
            body = self.body(nodes, [(i, whole), (on, TensorProto.BOOL), (x, t)], [(off, TensorProto.BOOL), (y, t), (x + "s", whole)])
            self.node("Loop", [self.held(np.asarray(int(self.r.integers(0, 4)))), "", v], 2, body=body)

    def graph(self):
        """The model, and pairs of its inputs and the right values of its outputs; None: nothing came of the seed."""
        self.start()
        for _ in range(int(self.r.integers(3, 14))):
            self.grow()
        if not self.nodes:
            return None
        made = [o for node in self.nodes for o in node.output]
        outs = sorted({made[-1]} | {o for o in made if self.r.random() < .2})
        used = {k for node in self.nodes for k in node.input} | {
            k for node in self.nodes for a in node.attribute if a.HasField("g") for m in a.g.node for k in m.input}
        inputs = {k: a for k, a in self.inputs.items() if k in used or k.startswith("x")}
        model = proto(self.nodes, inputs, {o: self.values[o] for o in outs},
                      {k: a for k, a in self.constants.items() if k in used}, self.opened(inputs), self.opset)
        return model, self.sets(inputs, outs)

    def sets(self, inputs, outputs):
        """For each set of inputs the values by these names, as a pair."""
        return [({k: self.at(k, i) for k in inputs}, {k: self.at(k, i) for k in outputs}) for i in range(self.nsets)]
