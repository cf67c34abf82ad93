"""Grows random ONNX graphs of open sizes: a node stays if ONNX Runtime runs it with each of several sets of sizes, which
differ in every open dimension. Families of their own compute shapes and positions from sizes, as exporters write it."""
import numpy as np
from onnx import helper, numpy_helper

from grow import TYPES, Grower, judge, proto

# Operators whose values are ill-conditioned unless their data are looked at, which families do for one set only.
SENSITIVE = {"ReduceProd", "ReduceLogSum", "LpNormalization", "MeanVarianceNormalization"}


class OpenGrower(Grower):
    nsets = 3

    def __init__(self, seed):
        super().__init__(seed)
        self.special, self.more = False, {}  # values of the sets behind the first, by name
        # Sizes of symbols by set: no two are equal within a symbol, nor within a set.
        table = self.r.permutation([1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 17, 24])[:9].reshape(3, 3)
        self.symbols = {name: [int(q) for q in row] for name, row in zip("abc", table)}
        self.declared, self.ways = {}, self.pick(["named", "named", "unnamed", "mixed"])

    def at(self, k, number):
        return self.more[k][number - 1] if number and k in self.more else self.values[k]

    def start(self):
        for _ in range(self.pick([1, 1, 2])):
            rank = self.pick([1, 2, 3, 3, 4, 4, 4, 5])
            dims = [self.pick("abc") if self.r.random() < .6 else self.pick([1, 2, 3, 4, 6, 8]) for _ in range(rank)]
            if rank == 4 and self.r.random() < .5:  # images of a few channels
                dims = [self.pick(["a", 1]), self.pick([1, 3, 4, 8]), self.pick(["b", "a"]), self.pick(["c", "b", 6])]
            if not any(isinstance(d, str) for d in dims):
                dims[-1] = "a"
            dtype = self.pick([np.float32] * 8 + [np.int64, np.int32])
            k = self.name("x")
            made = [self.data(tuple(self.symbols[d][i] if isinstance(d, str) else d for d in dims), dtype)
                    for i in range(self.nsets)]
            self.values[k] = self.inputs[k] = made[0]
            self.more[k], self.declared[k] = made[1:], dims
            self.exact.add(k)

    def opened(self, inputs):
        def said(d):
            if not isinstance(d, str) or self.ways == "named":
                return d
            return None if self.ways == "unnamed" or self.r.random() < .5 else d
        return {k: [said(d) for d in dims] for k, dims in self.declared.items()}

    def is_doubtful(self, op, ins, attributes):
        """Whether the judge is none here, for a set that the families do not look at."""
        first = [self.at(ins[0], i) for i in range(self.nsets)] if ins and ins[0] in self.values else []
        if op == "Cast" and np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"])).kind in "iu":
            return any(a.min(initial=0) < 0 or a.max(initial=0) > 100 for a in first)
        if op in ("AveragePool", "MaxPool", "LpPool"):  # no window, of which ONNX Runtime counts one
            pads, kernel = attributes["pads"], attributes["kernel_shape"]
            d = len(kernel)
            return any(a.shape[2 + i] + pads[i] + pads[d + i] < kernel[i] for a in first for i in range(d))
        if op == "Pad":  # more than there is taken away
            pads = self.values[ins[1]]
            return any(min(q, 0) + min(w, 0) + m < 0 for a in first for q, w, m in
                       zip(pads, pads[a.ndim:], a.shape))
        if op.startswith(("Arg", "Reduce")) and any(0 in a.shape for a in first):
            return True
        return op in SENSITIVE or (op == "GatherND" and "batch_dims" in attributes)

    def node(self, op, ins, nout=1, **attributes):
        outs = None if self.is_doubtful(op, ins, attributes) else super().node(op, ins, nout, **attributes)
        if outs is None:
            return None
        node, made = self.nodes[-1], []
        free = {k for a in node.attribute if a.HasField("g") for n in a.g.node for k in n.input}
        used = [k for k in [*ins, *sorted(free)] if k in self.values]
        for i in range(1, self.nsets):
            feeds = {k: self.at(k, i) for k in used}
            try:
                got = judge(proto([node], feeds, {o: None for o in outs}, opset=self.opset), feeds)
            except Exception:
                got = None
            if got is None or any(a.size > 20000 or a.ndim != self.values[o].ndim or not np.isfinite(a).all()
                                  or np.abs(a.astype(np.float64)).max(initial=0) > 1e4 for o, a in zip(outs, got)):
                self.nodes.pop()
                for o in outs:
                    del self.values[o]
                    self.exact.discard(o)
                return None
            made.append(got)
        for number, o in enumerate(outs):
            self.more[o] = [got[number] for got in made]
        return outs

    def then(self, op, *ins, **at):
        """The first output of a node of such inputs; None: one of them, or the node, is not there."""
        return None if None in ins else (self.node(op, list(ins), **at) or [None])[0]

    def ids(self, *numbers):
        return self.fixed(numbers)

    def size(self, v, d):
        """The size of a dimension as a list of one number, by one of the ways that exporters take."""
        way = self.r.integers(0, 4)
        if way == 0:
            return self.then("Gather", self.then("Shape", v), self.ids(d))
        if way == 1:
            return self.then("Unsqueeze", self.then("Gather", self.then("Shape", v), self.fixed(d)),
                             self.ids(0)) if self.opset >= 13 else None
        if way == 2:
            return self.then("Slice", self.then("Shape", v), self.ids(d), self.ids(d + 1), self.ids(0))
        return self.then("Shape", v, start=d, end=d + 1) if self.opset >= 15 else self.then(
            "Gather", self.then("Shape", v), self.ids(d))

    def sizes(self, v, which):
        return [self.size(v, d) for d in which]

    # Families. v: a value's name; a, s, n: its array, shape and number of dimensions in the first set.

    def op_reshape_to(self, v, a, s, n):
        if n < 2:
            return
        i = int(self.r.integers(n - 1))
        way = self.r.integers(0, 4)
        if way == 0:  # two dimensions become one
            to = [*self.sizes(v, range(i)), self.ids(-1), *self.sizes(v, range(i + 2, n))]
        elif way == 1:
            both = self.then("Mul", self.size(v, i), self.size(v, i + 1))
            to = [*self.sizes(v, range(i)), both, *self.sizes(v, range(i + 2, n))]
        elif way == 2:  # one becomes two
            split = self.pick([1, 2, 3])
            to = [*self.sizes(v, range(i)), self.ids(-1), self.ids(split), *self.sizes(v, range(i + 1, n))]
        else:  # another order of the sizes
            to = self.sizes(v, self.r.permutation(n))
        to = self.then("Concat", *to, axis=0)
        to and self.node("Reshape", [v, to])

    op_reshape_to2 = op_reshape_to

    def op_reshape_special(self, v, a, s, n):
        k = int(self.r.integers(0, n + 1))
        tail = self.pick([[-1], [-1, 1], [1, -1], [-1, 2], [-1, s[-1] if n else 1]])
        self.node("Reshape", [v, self.ids(*[0] * k, *tail)])

    def op_flat(self, v, a, s, n):
        self.node("Flatten", [v], axis=int(self.r.integers(0, n + 1)))

    def op_heads(self, v, a, s, n):
        """Attention written out, over the middle dimension."""
        if n != 3 or a.dtype != np.float32 or 0 in s:
            return
        heads = self.pick([1, 2, 4])
        if s[-1] % heads:
            return
        split = self.ids(0, self.pick([0, -1]), heads, s[-1] // heads)
        if self.r.random() < .5:
            split = self.then("Concat", *self.sizes(v, (0, 1)), self.ids(heads), self.ids(s[-1] // heads), axis=0)
        q, k, x = (self.then("Transpose", self.then("Reshape", y, split), perm=[0, 2, 1, 3]) for y in (
            self.then("MatMul", v, self.held(self.data((s[-1], s[-1]), a.dtype))), v, v))
        p = self.then("MatMul", self.then("Mul", q, self.fixed(.125, np.float32)),
                      self.then("Transpose", k, perm=[0, 1, 3, 2]) if k else None)
        if p and self.r.random() < .6:  # a causal mask of the open size
            t = self.size(v, 1)
            mask = self.then("ConstantOfShape", self.then("Concat", t, t, axis=0),
                             value=numpy_helper.from_array(np.array([-100], np.float32)))
            p = self.then("Add", p, self.then("Trilu", mask, self.fixed(1), upper=1))
        y = self.then("MatMul", self.then("Softmax", p, axis=-1), x)
        y = self.then("Transpose", y, perm=[0, 2, 1, 3])
        self.then("Reshape", y, self.ids(0, self.pick([0, -1]), s[-1]))

    op_heads2 = op_heads

    def op_grow_to(self, v, a, s, n):
        """Stretched to computed sizes."""
        if n > 4:
            return
        way = self.r.integers(0, 4)
        shape = self.then("Shape", v)
        if way == 0:
            self.then("Expand", v, self.then("Concat", self.ids(2), shape, axis=0))
        elif way == 1 and n:
            row = self.held(self.data((1,) * int(self.r.integers(0, n + 1)), a.dtype))
            self.then("Expand", row, shape)
        elif way == 2:  # "as it is" where -1 stands
            said = self.fixed([-1 if self.r.random() < .5 else 1 if q == 1 else -1 for q in s])
            shape = self.then("Where", self.then("Equal", said, self.ids(-1)), shape, said) if n else None
            self.then("Expand", v, shape)
        elif n:
            d = int(self.r.integers(n))
            counts = [self.ids(1)] * n
            counts[d] = self.pick([self.ids(2), self.size(v, int(self.r.integers(n)))])
            self.then("Tile", v, self.then("Concat", *counts, axis=0) if None not in counts else None)

    def op_positions(self, v, a, s, n):
        if not n or a.dtype != np.float32:
            return
        count = self.then("Gather", self.then("Shape", v), self.fixed(n - 1))
        steps = self.then("Range", self.fixed(0), count, self.fixed(1))
        if self.r.random() < .5:
            self.then("Add", v, self.then("Cast", steps, to=TYPES[np.dtype(np.float32)]))
        else:
            table = self.held(self.data((24, self.pick([1, 3])), a.dtype))
            self.then("MatMul", v, self.then("Gather", table, steps))

    def op_slice_to(self, v, a, s, n):
        """A part that begins or ends at a computed position."""
        if not n:
            return
        d = int(self.r.integers(n))
        whole = self.size(v, d)
        half = self.then("Div", whole, self.ids(2))
        ends = self.pick([(self.ids(0), half), (half, self.ids(2**40)), (half, whole), (self.ids(-2), self.ids(2**40)),
                          (self.ids(0), self.ids(3)), (self.ids(1), self.ids(-1)), (self.ids(0), self.size(v, int(self.r.integers(n))))])
        self.then("Slice", v, *ends, self.ids(d))

    op_slice_to2 = op_slice_to

    def op_halves(self, v, a, s, n):
        """Split into parts of computed sizes, and joined the other way round."""
        if not n:
            return
        d = int(self.r.integers(n))
        whole = self.size(v, d)
        one = self.then("Div", whole, self.ids(2))
        parts = self.then("Concat", one, self.then("Sub", whole, one) if one else None, axis=0)
        outs = parts and self.opset >= 13 and self.node("Split", [v, parts], 2, axis=d)
        outs and self.node("Concat", outs[::-1], axis=d)

    def op_pad_to(self, v, a, s, n):
        """Padded to a multiple."""
        if not n or a.dtype != np.float32:
            return
        d, k = int(self.r.integers(n)), self.pick([2, 4, 8])
        more = self.then("Mod", self.then("Sub", self.ids(k), self.then("Mod", self.size(v, d), self.ids(k))), self.ids(k))
        pads = self.then("Concat", self.fixed([0] * (n + d)), more, self.fixed([0] * (n - d - 1)), axis=0)
        y = self.then("Pad", v, pads)
        if y and self.r.random() < .6:
            self.then("Reshape", y, self.ids(*[0] * d, -1, k, *s[d + 1:]))

    def op_by_floats(self, v, a, s, n):
        """Sizes that went through floats."""
        if n < 2:
            return
        number = TYPES[np.dtype(np.float32)]
        whole = TYPES[np.dtype(np.int64)]
        half = self.then("Floor", self.then("Mul", self.then("Cast", self.then("Shape", v), to=number), self.fixed(.5, np.float32)))
        ends = self.then("Add", self.then("Cast", half, to=whole), self.ids(1))
        self.then("Slice", v, self.fixed([0] * n), ends, self.fixed(list(range(n))))

    def op_resized(self, v, a, s, n):
        if n != 4 or 0 in s or a.dtype != np.float32:
            return
        mode = self.pick([{"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
                          {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}])
        if self.r.random() < .5:
            twice = self.then("Mul", self.then("Concat", *self.sizes(v, (2, 3)), axis=0), self.ids(2, self.pick([1, 2, 3])))
            to = self.then("Concat", *self.sizes(v, (0, 1)), twice, axis=0)
            to and self.node("Resize", [v, "", "", to], **mode)
        else:
            self.node("Resize", [v, "", self.fixed([1, 1, 2, self.pick([1, 2, 3])], np.float32)], **mode)

    def op_counted(self, v, a, s, n):
        """A loop over an open size."""
        if not n or a.dtype != np.float32:
            return
        t = TYPES[a.dtype]
        x, y, i, on, off, out = (self.name("b") for _ in range(6))
        if self.r.random() < .5:
            count = self.then("Squeeze", self.size(v, int(self.r.integers(n))))
            nodes = [helper.make_node("Identity", [on], [off]), helper.make_node("Mul", [x, self.fixed(.5, np.float32)], [y]),
                     helper.make_node("ReduceMax", [y], [out], keepdims=1)]
            body = self.body(nodes, [(i, TYPES[np.dtype(np.int64)]), (on, TYPES[np.dtype(bool)]), (x, t)],
                             [(off, TYPES[np.dtype(bool)]), (y, t), (out, t)])
            count and self.node("Loop", [count, "", v], 2, body=body)
        else:
            axes = {"axes": [0]} if self.opset < 18 else {}
            first = self.then("ReduceMean", v, *([] if axes else [self.ids(0)]), keepdims=0, **axes)
            nodes = [helper.make_node("Max", [x, i], [y]), helper.make_node("Neg", [y], [off])]
            first and self.node("Scan", [first, v], 2, num_scan_inputs=1,
                                body=self.body(nodes, [(x, t), (i, t)], [(y, t), (off, t)]))

    def op_chosen(self, v, a, s, n):
        """Branches by a size."""
        if not n:
            return
        t, x, y = TYPES[a.dtype], self.name("b"), self.name("b")
        one = self.body([helper.make_node("Add", [v, v], [x])], [], [(x, t)])
        two = self.body([helper.make_node("Neg", [v], [y])], [], [(y, t)])
        long = self.then("Greater", self.then("Squeeze", self.size(v, int(self.r.integers(n)))), self.fixed(4))
        long and self.node("If", [long], then_branch=one, else_branch=two)

    def op_einsum_of_itself(self, v, a, s, n):
        if n in (2, 3) and a.dtype == np.float32 and 0 not in s:
            self.node("Einsum", [v, v], equation=self.pick(["ab,cb->ac", "ab,ac->cb"] if n == 2 else ["abc,adc->abd", "abc,abd->adc"]))

    def op_largest(self, v, a, s, n):
        """The most of a list whose length may be less."""
        if n and v in self.exact and a.dtype == np.float32:
            count = self.then("Min", self.size(v, n - 1), self.ids(self.pick([1, 2, 3])))
            count and self.node("TopK", [v, count], 2)

    def op_normed(self, v, a, s, n):
        if n >= 2 and a.dtype == np.float32 and 0 not in s:
            per = [self.held(self.data((s[-1],), a.dtype, True)) for _ in range(2)]
            self.node("LayerNormalization", [v, *per], axis=-1, epsilon=1e-2)

    def op_transposed_conv(self, v, a, s, n):
        if n not in (3, 4) or a.dtype != np.float32 or 0 in s:
            return
        d = n - 2
        w = self.held(self.data((s[1], self.pick([1, 3]), *[self.pick([2, 3])] * d), a.dtype, True))
        self.node("ConvTranspose", [v, w], strides=[self.pick([1, 2])] * d, pads=[self.pick([0, 1])] * (2 * d))

    def op_convolution(self, v, a, s, n):
        if n not in (3, 4) or a.dtype != np.float32 or 0 in s:
            return
        d, k = n - 2, self.pick([1, 3])
        group = self.pick([1, 1, s[1]])
        w = self.held(self.data((group * self.pick([1, 2, 4]), s[1] // group, *[k] * d), a.dtype, True))
        self.node("Conv", [v, w], pads=[k // 2] * (2 * d), strides=[self.pick([1, 1, 2])] * d, group=group)

    op_convolution2 = op_convolution
