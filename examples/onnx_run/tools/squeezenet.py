"""Writes SqueezeNet 1.1 (Iandola et al., arXiv:1602.07360) as an ONNX file, with seeded weights: a network to try onnx_run
with where no model is at hand. Needs Python's standard library only.
  squeezenet.py FILE.onnx [SEED]"""
import array
import random
import sys

FLOAT, INT, INTS = 1, 2, 7  # TensorProto.FLOAT; AttributeProto.INT, INTS


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, int):
        return message(1, name) + number(3, value) + number(20, INT)
    return message(1, name) + b"".join(number(8, v) for v in value) + number(20, INTS)


def value(name, dims):
    sizes = b"".join(message(1, message(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return message(1, name) + message(2, message(1, number(1, FLOAT) + message(2, sizes)))


class Network:
    def __init__(self, seed):
        self.random, self.nodes, self.weights, self.count = random.Random(seed), b"", b"", 0

    def op(self, kind, inputs, **attributes):
        self.count += 1
        out = f"{kind.lower()}_{self.count}"
        self.nodes += message(1, b"".join(message(1, i) for i in inputs) + message(2, out) + message(3, out) + message(4, kind) +
                              b"".join(message(5, attribute(n, v)) for n, v in attributes.items()))
        return out

    def weight(self, dims, scale):
        elements = 1
        for d in dims:
            elements *= d
        data = array.array("f", (self.random.gauss(0, scale) for _ in range(elements)))
        if sys.byteorder == "big":
            data.byteswap()
        name = f"weight_{self.count}_{len(dims)}"
        self.weights += message(5, b"".join(number(1, d) for d in dims) + number(2, FLOAT) + message(8, name) + message(9, data.tobytes()))
        return name

    def conv(self, x, channels, to, kernel, stride=1, pad=0):
        scale = (2 / (channels * kernel * kernel)) ** .5
        y = self.op("Conv", [x, self.weight([to, channels, kernel, kernel], scale), self.weight([to], .1)],
                    kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        return self.op("Relu", [y])

    def pool(self, x):
        return self.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2])

    def fire(self, x, channels, squeeze, expand):
        s = self.conv(x, channels, squeeze, 1)
        return self.op("Concat", [self.conv(s, squeeze, expand, 1), self.conv(s, squeeze, expand, 3, pad=1)], axis=1)

    def build(self):
        x = self.pool(self.conv("image", 3, 64, 3, stride=2))
        x = self.pool(self.fire(self.fire(x, 64, 16, 64), 128, 16, 64))
        x = self.pool(self.fire(self.fire(x, 128, 32, 128), 256, 32, 128))
        x = self.fire(self.fire(x, 256, 48, 192), 384, 48, 192)
        x = self.fire(self.fire(x, 384, 64, 256), 512, 64, 256)
        x = self.op("GlobalAveragePool", [self.conv(x, 512, 1000, 1)])
        last = self.op("Softmax", [self.op("Flatten", [x], axis=1)], axis=1)
        graph = (self.nodes + message(2, "squeezenet") + self.weights + message(11, value("image", ["batch", 3, 224, 224])) +
                 message(12, value(last, ["batch", 1000])))
        return number(1, 8) + message(2, "squeezenet.py") + message(7, graph) + message(8, message(1, "") + number(2, 13))


with open(sys.argv[1], "wb") as f:
    f.write(Network(int(sys.argv[2]) if len(sys.argv) > 2 else 1).build())
