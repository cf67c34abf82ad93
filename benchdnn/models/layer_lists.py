#!/usr/bin/env python3
"""Writes the layer lists of networks, benchdnn/inputs/DRIVER/layers_NETWORK, from their topologies.

  layer_lists.py          writes the lists, and the totals of each network to the terminal
  layer_lists.py --check  compares: the lists with the topologies, multiply-adds and weights with what was published; with the
                          package onnx, ResNet-50 and VGG also with the graphs that it brings

A network is its inference graph: batch normalisation is folded into the convolution, activations and residual sums are post-operations of
the convolution before them, joining channels costs nothing. Layers with the same sizes and post-operations are one line; its
name ends with * and how often it occurs. benchdnn/models/compare_layers.py measures the lists.
"""
import os, sys

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'inputs')
AXES = 'dhw'


class Net:
    """Layers in the order of the graph. Tensors are tuples: channels, then sizes; d of 3-D networks, h, w."""

    def __init__(self, name, source, macs=None, weights=None):
        self.name, self.source, self.published = name, source, (macs, weights)  # each: a number as text, who published it
        self.lines = {}  # (driver, options, problem) -> [name, count]
        self.macs = self.weights = 0

    def add(self, driver, options, problem, name):
        self.lines.setdefault((driver, options, problem), [name, 0])[1] += 1

    def conv(self, x, oc, kernel, name, post='', stride=1, pad=None, groups=1, bias=False, up=False):
        """pad: None keeps size / stride with as much before as after; 'same' puts the odd one behind; else the number before and
        behind. kernel and pad: one for all dimensions, or a tuple. up: a deconvolution. Weights that are counted beside the kernel's:
        a bias, or scale and shift of the normalisation behind the convolution."""
        ic, *size = x
        kernel = kernel if isinstance(kernel, tuple) else (kernel,) * len(size)
        axes = AXES[-len(size):]
        out, before = [], []
        for i, n in enumerate(size):
            k = kernel[i]
            if pad == 'same':
                o = -(-n // stride)
                p = max((o - 1) * stride + k - n, 0) // 2
            else:
                p = k // 2 if pad is None else pad[i] if isinstance(pad, tuple) else pad
                o = (n - 1) * stride + k - 2 * p if up else (n + 2 * p - k) // stride + 1
            out.append(o)
            before.append(p)
        square = len(set(size)) == len(set(kernel)) == len(set(before)) == 1
        text = (f'g{groups}' if groups > 1 else '') + f'ic{ic}oc{oc}_'
        for i, a in enumerate(axes):
            if square and a != axes[-min(len(size), 2)]:
                continue
            text += f'i{a}{size[i]}o{a}{out[i]}k{a}{kernel[i]}s{a}{stride}p{a}{before[i]}'
        area = 1
        for k in kernel:
            area *= k
        pixels = 1
        for n in size if up else out:
            pixels *= n
        w = ic // groups * oc * area
        self.macs += w * pixels
        self.weights += w + (0 if up else oc if bias else 2 * oc)
        self.add('deconv' if up else 'conv', f'--dir=FWD_B --attr-post-ops={post}', text, name)
        return (oc, *out)

    def pool(self, x, alg, kernel, stride, name, pad=0, ceil=False):
        c, *size = x
        axes = AXES[-len(size):]
        out = [(n + 2 * pad - kernel + (stride - 1 if ceil else 0)) // stride + 1 for n in size]
        text = f'ic{c}_'
        for i, a in enumerate(axes):
            if len(set(size)) == 1 and i < len(size) - min(len(size), 2):
                continue
            if len(set(size)) == 1 and a == 'w':
                continue
            text += f'i{a}{size[i]}o{a}{out[i]}k{a}{kernel}s{a}{stride}p{a}{pad}'
        self.add('pool', f'--dir=FWD_I --tag=axb --alg={alg}', text, name)
        return (c, *out)

    def average(self, x, name):
        self.pool((x[0], x[1], x[2]), 'avg_np', x[1], 1, name)
        return (x[0], 1, 1)

    def ip(self, x, oc, name, post=''):
        n = x[0]
        for s in x[1:]:
            n *= s
        self.macs += n * oc
        self.weights += n * oc + oc
        self.add('ip', f'--dir=FWD_B --attr-post-ops={post}', f'ic{n}oc{oc}', name)
        return (oc,)


def make_divisible(v, by=8):
    n = max(by, int(v + by / 2) // by * by)
    return n + by if n < 0.9 * v else n


def resnet(name, blocks, macs, weights):
    net = Net(name, 'He et al., 2015, with the stride in the 3 x 3 convolution of a block (ResNet v1.5), 224 x 224 pixels',
              macs=(macs, 'torchvision'), weights=(weights, 'torchvision'))
    x = net.conv((3, 224, 224), 64, 7, 'conv1', 'relu', stride=2)
    x = net.pool(x, 'max', 3, 2, 'pool1', pad=1)
    for stage, n in enumerate(blocks):
        width = 64 << stage
        for b in range(n):
            s = 2 if b == 0 and stage > 0 else 1
            at = f'res{stage + 2}{"a" if b == 0 else "b"}'
            y = net.conv(x, width, 1, at + '_1x1', 'relu')
            y = net.conv(y, width, 3, at + '_3x3', 'relu', stride=s)
            if b == 0:
                net.conv(x, 4 * width, 1, at + '_short', stride=s)
            x = net.conv(y, 4 * width, 1, at + '_wide', 'sum+relu')
    net.ip(net.average(x, 'pool5'), 1000, 'fc')
    return net


def vgg_16():
    net = Net('vgg_16', 'Simonyan and Zisserman, 2014, configuration D, 224 x 224 pixels', macs=('15.47e9', 'torchvision'),
              weights=('138357544', 'torchvision'))
    x = (3, 224, 224)
    for stage, (n, width) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))):
        for i in range(n):
            x = net.conv(x, width, 3, f'conv{stage + 1}_{i + 1}', 'relu', bias=True)
        x = net.pool(x, 'max', 2, 2, f'pool{stage + 1}')
    x = net.ip(net.ip(x, 4096, 'fc6', 'relu'), 4096, 'fc7', 'relu')
    net.ip(x, 1000, 'fc8')
    return net


def inception_v3():
    net = Net('inception_v3', 'Szegedy et al., 2015, without the auxiliary classifier, 299 x 299 pixels', macs=('5.71e9', 'torchvision'),
              weights=('23834568', 'torchvision'))

    def conv(x, oc, k, at, **how):
        return net.conv(x, oc, k, at, 'relu', **how)

    def chain(x, at, *steps):
        for i, (oc, k) in enumerate(steps):
            y = x = conv(x, oc, k, f'{at}_{i + 1}', pad=tuple(n // 2 for n in k) if isinstance(k, tuple) else None)
        return y[0]

    x = conv((3, 299, 299), 32, 3, 'conv1', stride=2, pad=0)
    x = conv(conv(x, 32, 3, 'conv2', pad=0), 64, 3, 'conv3')
    x = net.pool(x, 'max', 3, 2, 'pool1')
    x = conv(conv(x, 80, 1, 'conv4'), 192, 3, 'conv5', pad=0)
    x = net.pool(x, 'max', 3, 2, 'pool2')
    for b, last in enumerate((32, 64, 64)):
        at, c = f'a{b + 1}', 0
        c += chain(x, at + '_1x1', (64, 1))
        c += chain(x, at + '_5x5', (48, 1), (64, 5))
        c += chain(x, at + '_3x3', (64, 1), (96, 3), (96, 3))
        c += chain(net.pool(x, 'avg_p', 3, 1, at + '_pool', pad=1), at + '_proj', (last, 1))
        x = (c, *x[1:])
    y = conv(x, 384, 3, 'b_3x3', stride=2, pad=0)
    z = conv(conv(x, 64, 1, 'b_1x1'), 96, 3, 'b_double')
    z = conv(z, 96, 3, 'b_double2', stride=2, pad=0)
    x = (y[0] + z[0] + net.pool(x, 'max', 3, 2, 'b_pool')[0], *y[1:])
    for b, w in enumerate((128, 160, 160, 192)):
        at, c = f'c{b + 1}', 0
        c += chain(x, at + '_1x1', (192, 1))
        c += chain(x, at + '_7x7', (w, 1), (w, (1, 7)), (192, (7, 1)))
        c += chain(x, at + '_double', (w, 1), (w, (7, 1)), (w, (1, 7)), (w, (7, 1)), (192, (1, 7)))
        c += chain(net.pool(x, 'avg_p', 3, 1, at + '_pool', pad=1), at + '_proj', (192, 1))
        x = (c, *x[1:])
    y = conv(conv(x, 192, 1, 'd_1x1'), 320, 3, 'd_3x3', stride=2, pad=0)
    chain(x, 'd_7x7', (192, 1), (192, (1, 7)), (192, (7, 1)))
    z = conv((192, *x[1:]), 192, 3, 'd_last', stride=2, pad=0)
    x = (y[0] + z[0] + net.pool(x, 'max', 3, 2, 'd_pool')[0], *y[1:])
    for b in range(2):
        at, c = f'e{b + 1}', 0
        c += chain(x, at + '_1x1', (320, 1))
        chain(x, at + '_3x3', (384, 1))
        c += chain((384, *x[1:]), at + '_3x3a', (384, (1, 3))) + chain((384, *x[1:]), at + '_3x3b', (384, (3, 1)))
        chain(x, at + '_double', (448, 1), (384, 3))
        c += chain((384, *x[1:]), at + '_double_a', (384, (1, 3))) + chain((384, *x[1:]), at + '_double_b', (384, (3, 1)))
        c += chain(net.pool(x, 'avg_p', 3, 1, at + '_pool', pad=1), at + '_proj', (192, 1))
        x = (c, *x[1:])
    net.ip(net.average(x, 'pool3'), 1000, 'fc')
    return net


def ssd_mobilenet():
    net = Net('ssd_mobilenet', 'Howard et al., 2017 (MobileNet v1), as the feature extractor of SSD, 300 x 300 pixels, 91 classes',
              macs=('1.2e9', 'the paper'), weights=('6.8e6', 'the paper'))
    clip = 'clip:0:6'
    x = net.conv((3, 300, 300), 32, 3, 'conv0', clip, stride=2, pad='same', bias=True)
    maps = []
    for i, (oc, s) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1),
                                 (512, 1), (1024, 2), (1024, 1))):
        x = net.conv(x, x[0], 3, f'conv{i + 1}_dw', clip, stride=s, pad='same', groups=x[0], bias=True)
        x = net.conv(x, oc, 1, f'conv{i + 1}', clip, bias=True)
        if i in (10, 12):
            maps.append(x)
    for i, (narrow, wide) in enumerate(((256, 512), (128, 256), (128, 256), (64, 128))):
        x = net.conv(x, narrow, 1, f'conv{14 + i}_1', clip, bias=True)
        x = net.conv(x, wide, 3, f'conv{14 + i}_2', clip, stride=2, pad='same', bias=True)
        maps.append(x)
    for i, m in enumerate(maps):
        boxes = 3 if i == 0 else 6
        net.conv(m, 4 * boxes, 1, f'box{i}', bias=True)
        net.conv(m, 91 * boxes, 1, f'class{i}', bias=True)
    return net


def inverted(net, x, rows, act, squeezed=None):
    """Blocks that widen, convolve depthwise and narrow again; rows: t times the channels, a kernel of k x k, oc channels at the end,
    n blocks of which the first has stride s. squeezed: activations of squeeze and excite."""
    block = 0
    for t, k, oc, n, s in rows:
        for i in range(n):
            block += 1
            at, y = f'b{block}', x
            if t > 1:
                y = net.conv(y, t * x[0], 1, at + '_expand', act)
            y = net.conv(y, y[0], k, at + '_dw', act, stride=1 if i else s, groups=y[0])
            if squeezed:
                squeeze_excite(net, y, x[0] // 4, at, *squeezed)
            x = net.conv(y, oc, 1, at + '_project', 'sum' if i else '')
    return x


def mobilenet_v2():
    net = Net('mobilenet_v2', 'Sandler et al., 2018, 224 x 224 pixels', macs=('0.30e9', 'the paper, torchvision'),
              weights=('3504872', 'torchvision'))
    x = net.conv((3, 224, 224), 32, 3, 'conv1', 'clip:0:6', stride=2)
    x = inverted(net, x, ((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 3, 32, 3, 2), (6, 3, 64, 4, 2), (6, 3, 96, 3, 1), (6, 3, 160, 3, 2),
                          (6, 3, 320, 1, 1)), 'clip:0:6')
    x = net.conv(x, 1280, 1, 'conv_last', 'clip:0:6')
    net.ip(net.average(x, 'pool'), 1000, 'fc')
    return net


def squeeze_excite(net, x, narrow, at, first, gate):
    """The multiplication of the pixels with the gate is a layer of its own."""
    y = net.conv(net.average(x, at + '_pool'), narrow, 1, at + '_squeeze', first, bias=True)
    net.conv(y, x[0], 1, at + '_excite', gate, bias=True)
    net.add('binary', '--stag=axb:axb --dtag=axb --alg=mul', 'x'.join(map(str, (1, *x))) + f':1x{x[0]}x1x1', at + '_scale')


def mobilenet_v3():
    net = Net('mobilenet_v3', 'Howard et al., 2019, MobileNetV3-Large, 224 x 224 pixels', macs=('0.22e9', 'the paper, torchvision'),
              weights=('5483032', 'torchvision'))
    hs, hsig = 'hardswish:0.16666666:0.5', 'hardsigmoid:0.16666666:0.5'
    x = net.conv((3, 224, 224), 16, 3, 'conv1', hs, stride=2)
    for i, (k, wide, oc, se, act, s) in enumerate((
            (3, 16, 16, 0, 'relu', 1), (3, 64, 24, 0, 'relu', 2), (3, 72, 24, 0, 'relu', 1), (5, 72, 40, 1, 'relu', 2),
            (5, 120, 40, 1, 'relu', 1), (5, 120, 40, 1, 'relu', 1), (3, 240, 80, 0, hs, 2), (3, 200, 80, 0, hs, 1),
            (3, 184, 80, 0, hs, 1), (3, 184, 80, 0, hs, 1), (3, 480, 112, 1, hs, 1), (3, 672, 112, 1, hs, 1), (5, 672, 160, 1, hs, 2),
            (5, 960, 160, 1, hs, 1), (5, 960, 160, 1, hs, 1))):
        at, y = f'b{i + 1}', x
        if wide != x[0]:
            y = net.conv(y, wide, 1, at + '_expand', act)
        y = net.conv(y, wide, k, at + '_dw', act, stride=s, groups=wide)
        if se:
            squeeze_excite(net, y, make_divisible(wide / 4), at, 'relu', hsig)
        x = net.conv(y, oc, 1, at + '_project', 'sum' if s == 1 and oc == x[0] else '')
    x = net.average(net.conv(x, 960, 1, 'conv_last', hs), 'pool')
    net.ip(net.ip(x, 1280, 'fc1', hs), 1000, 'fc2')
    return net


def efficientnet_b0():
    net = Net('efficientnet_b0', 'Tan and Le, 2019, 224 x 224 pixels', macs=('0.39e9', 'the paper, torchvision'),
              weights=('5288548', 'torchvision'))
    x = net.conv((3, 224, 224), 32, 3, 'conv1', 'swish:1', stride=2)
    x = inverted(net, x, ((1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1), (6, 5, 192, 4, 2),
                          (6, 3, 320, 1, 1)), 'swish:1', ('swish:1', 'logistic'))
    x = net.conv(x, 1280, 1, 'conv_last', 'swish:1')
    net.ip(net.average(x, 'pool'), 1000, 'fc')
    return net


def unet_3d():
    net = Net('unet_3d', 'Cicek et al., 2016 (3D U-Net), a tile of 116 x 132 x 132 voxels of 3 channels, no padding',
              weights=('19069955', 'the paper'))
    x, kept = (3, 116, 132, 132), []

    def pair(x, a, b, at):
        x = net.conv(x, a, 3, at + '_1', 'relu', pad=0, bias=True)
        return net.conv(x, b, 3, at + '_2', 'relu', pad=0, bias=True)

    for level in range(4):
        x = pair(x, 32 << level, 64 << level, f'down{level + 1}')
        if level < 3:
            kept.append(x[0])
            x = net.pool(x, 'max', 2, 2, f'pool{level + 1}')
    for level in (2, 1, 0):
        x = net.conv(x, x[0], 2, f'up{level + 1}', stride=2, pad=0, up=True)
        x = pair((x[0] + kept[level], *x[1:]), 64 << level, 64 << level, f'join{level + 1}')
    net.conv(x, 3, 1, 'last', bias=True)
    return net


def networks():
    return [resnet('resnet_50', (3, 4, 6, 3), '4.09e9', '25557032'), resnet('resnet_101', (3, 4, 23, 3), '7.80e9', '44549160'),
            inception_v3(), vgg_16(), ssd_mobilenet(), mobilenet_v2(), mobilenet_v3(), efficientnet_b0(), unet_3d()]


def totals(net):
    return f'{net.macs / 1e6:.1f}e6 multiply-adds an image, {net.weights} weights'


def files(net):
    out = {}
    for (driver, options, problem), (name, count) in net.lines.items():
        out.setdefault(driver, {}).setdefault(options, []).append(f'{problem}n"{net.name}:{name}*{count}"')
    for driver, groups in out.items():
        batch = 'Sizes are those of batch 1.' if driver == 'binary' else '--mb says how many images.'
        lines = [f'# {net.name}: {net.source}. Written by benchdnn/models/layer_lists.py.',
                 f'# {totals(net)}, in all lists of the network. {batch}']
        for options, problems in groups.items():
            lines += [options, *problems]
        yield os.path.join(INPUTS, driver, f'layers_{net.name}'), '\n'.join(lines) + '\n'


def onnx_convolutions(name):
    """(ic, oc, kernel, stride, groups, out) of each convolution of a graph of the package onnx; None without it."""
    try:
        import onnx
    except ImportError:
        return None
    path = os.path.join(os.path.dirname(onnx.__file__), 'backend', 'test', 'data', 'light', f'light_{name}.onnx')
    if not os.path.exists(path):
        return None
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    shape = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
             for v in [*graph.value_info, *graph.input, *graph.output]}
    found = []
    for node in graph.node:
        if node.op_type == 'Conv':
            attr = {a.name: list(a.ints) or a.i for a in node.attribute}
            w = shape[node.input[1]]
            found.append((w[1], w[0], w[2], attr['strides'][0], attr.get('group', 1), shape[node.output[0]][2]))
    return found


def listed_convolutions(net):
    import re
    found = []
    for (driver, _, text), (_, count) in net.lines.items():
        if driver == 'conv':
            v = {k: int(n) for k, n in re.findall(r'(g|ic|oc|kh|sh|oh)(\d+)', text)}
            found += [(v['ic'], v['oc'], v['kh'], v['sh'], v.get('g', 1), v['oh'])] * count
    return found


def check(nets):
    bad = []
    by_name = {n.name: n for n in nets}
    for net in nets:
        for value, published in zip((net.macs, net.weights), net.published):
            if published:
                digits = len(published[0].split('e')[0].replace('.', '').lstrip('0'))  # as many as were published
                ok = float(f'{value:.{digits - 1}e}') == float(published[0])
                print(f'{net.name}: {value} here, {published[0]} ({published[1]}): {"ok" if ok else "DIFFERS"}')
                bad += [] if ok else [net.name]
        for path, text in files(net):
            if not os.path.exists(path) or open(path).read() != text:
                bad.append(path)
                print(f'{os.path.relpath(path)} is not what the topology gives: run layer_lists.py')
    for name, graph, whole in (('resnet_50', 'resnet50', True), ('vgg_16', 'vgg19', False)):
        theirs = onnx_convolutions(graph)
        if theirs is None:
            print(f'{name}: the graph {graph} is not here')
            continue
        ours = listed_convolutions(by_name[name])
        ok = sorted(ours) == sorted(theirs) if whole else set(ours) == set(theirs)
        print(f'{name}: {len(ours)} convolutions, {len(theirs)} of the graph {graph}: {"ok" if ok else "DIFFER"}')
        bad += [] if ok else [name]
    return bad


def main():
    nets = networks()
    if '--check' in sys.argv[1:]:
        sys.exit(1 if check(nets) else 0)
    for net in nets:
        print(f'{net.name}: {totals(net)}')
        for path, text in files(net):
            with open(path, 'w') as f:
                f.write(text)


if __name__ == '__main__':
    main()
