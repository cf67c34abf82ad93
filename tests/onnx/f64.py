"""Operators in f64, and integer products of any length, judged by NumPy in f64 and s64 on all instruction sets:
  f64.py NODES OPEN WORK_FOLDER"""
import sys
from math import erf

from ort_folders import Folders, f32, h, i32, i64, model_of, np

nodes_program, open_program, work = sys.argv[1:4]
folders = Folders(work)
r = np.random.default_rng(24)
SPECIAL = (np.nan, np.inf, -np.inf)


def x(*shape):
    return r.standard_normal(shape)


def case(name, op, judge, *sets, opset=22, outputs=1, domain="", **attributes):
    """Sets of inputs, the first of which may be of other sizes than the rest; judge: a function of the inputs."""
    names = [f"x{i}" for i in range(len(sets[0]))]
    outs = [f"y{i}" for i in range(outputs)]
    fed = [dict(zip(names, s)) for s in sets]
    node = h.make_node(op, [n if sets[0][i] is not None else "" for i, n in enumerate(names)], outs, domain=domain, **attributes)
    fed = [{k: v for k, v in f.items() if v is not None} for f in fed]
    want = []
    for s in sets:
        with np.errstate(all="ignore"):
            y = judge(*s)
        want.append([np.asarray(a) for a in (y if isinstance(y, tuple) else (y,))])
    folders.save(name, model_of([node], fed, {}, outs, opset), fed, want)


def special(a, *places):
    """A copy with NaN and infinities in turn at these places of its elements."""
    a = a.copy()
    for i, p in enumerate(places):
        a.flat[p] = SPECIAL[i % 3]
    return a


# ---- Softmax and norms ----------------------------------------------------------------------------------------------
def softmax(a, axis=-1, log=False):
    d = a - a.max(axis=axis, keepdims=True)
    e = np.exp(d)
    s = e.sum(axis=axis, keepdims=True)
    return d - np.log(s) if log else e / s


for axis in range(-1, 3):
    case(f"softmax_axis{axis}", "Softmax", lambda a: softmax(a, axis), (40 * x(3, 5, 7),), axis=axis)
    case(f"log_softmax_axis{axis}", "LogSoftmax", lambda a: softmax(a, axis, True), (40 * x(3, 5, 7),), axis=axis)
case("softmax_11", "Softmax", lambda a: softmax(a.reshape(3, 35)).reshape(a.shape), (x(3, 5, 7),), opset=11, axis=1)
case("softmax_special", "Softmax", softmax, (special(x(70, 3), *range(0, 210, 7)),))
case("softmax_all_least", "Softmax", softmax, (np.full((2, 3), -np.inf),))
case("softmax_open", "Softmax", softmax, (x(4, 9),), (x(1, 33),), (x(17, 2),))
case("softmax_empty", "Softmax", softmax, (x(3, 4),), (x(0, 4),))
case("softmax_close", "Softmax", softmax, (1e3 + 1e-9 * x(2, 9),))


def layer_norm(axes, epsilon, rms=False):
    def f(a, scale, bias=None):
        d = a if rms else a - a.mean(axis=axes, keepdims=True)
        y = d / np.sqrt((d * d).mean(axis=axes, keepdims=True) + epsilon) * scale
        return y if bias is None else y + bias
    return f


small = float(f32(1e-5))
case("layer_norm", "LayerNormalization", layer_norm(-1, small), (x(3, 4, 35), x(35), x(35)))
case("layer_norm_two", "LayerNormalization", layer_norm((1, 2), small), (x(3, 4, 5), x(4, 5), x(4, 5)), axis=1)
case("layer_norm_no_bias", "LayerNormalization", layer_norm(-1, float(f32(.25))), (x(3, 5), x(5)), epsilon=.25)
case("layer_norm_far", "LayerNormalization", layer_norm(-1, small), (1e2 + x(3, 50), x(50), x(50)))
case("layer_norm_special", "LayerNormalization", layer_norm(-1, small), (special(x(9, 5), 0, 12, 23), x(5), x(5)))
case("rms_norm", "RMSNormalization", layer_norm(-1, small, True), (x(3, 4, 7), x(7)), opset=23)


def channels(p, a):
    return p.reshape((1, -1) + (1,) * (a.ndim - 2))


def instance_norm(a, scale, bias):
    axes = tuple(range(2, a.ndim))
    return layer_norm(axes, small)(a, channels(scale, a), channels(bias, a))


def group_norm(a, scale, bias):
    y = layer_norm(-1, small)(a.reshape(a.shape[0], 3, -1), 1.)
    return y.reshape(a.shape) * channels(scale, a) + channels(bias, a)


def batch_norm(a, scale, bias, mean, var):
    return (a - channels(mean, a)) / np.sqrt(channels(var, a) + small) * channels(scale, a) + channels(bias, a)


for space in ((7,), (5, 3), (2, 3, 5)):
    n = len(space)
    case(f"instance_norm_{n}", "InstanceNormalization", instance_norm, (x(2, 6, *space), x(6), x(6)))
    case(f"group_norm_{n}", "GroupNormalization", group_norm, (x(2, 6, *space), x(6), x(6)), num_groups=3)
    case(f"batch_norm_{n}", "BatchNormalization", batch_norm, (x(2, 6, *space), x(6), x(6), x(6), abs(x(6))))
for p in (1, 2):
    case(f"lp_norm_{p}", "LpNormalization", lambda a: a / (abs(a) ** p).sum(1, keepdims=True) ** (1 / p), (x(3, 4, 5),), p=p, axis=1)


# ---- Windows --------------------------------------------------------------------------------------------------------
def out_size(size, kernel, stride, dilation, begin, end, ceil):
    left = size + begin + end - ((kernel - 1) * dilation + 1)
    n = (-(-left // stride) if ceil else left // stride) + 1
    return n - 1 if ceil and (n - 1) * stride >= size + begin else n


def windows(a, kernel, strides, dilations, pads, ceil=False):
    """For each place of the result, by spatial index: the elements of src in its window, {N, C, elements}, and how many the
    window has in src and the padding that was given."""
    n = len(kernel)
    out = [out_size(a.shape[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[n + d], ceil) for d in range(n)]
    for o in np.ndindex(*out):
        taps, counts = [], 1
        for d in range(n):
            at = [o[d] * strides[d] - pads[d] + k * dilations[d] for k in range(kernel[d])]
            counts *= sum(t < a.shape[2 + d] + pads[n + d] for t in at)
            taps.append([t for t in at if 0 <= t < a.shape[2 + d]])
        yield tuple(out), o, a[np.ix_(range(a.shape[0]), range(a.shape[1]), *taps)].reshape(a.shape[:2] + (-1,)), counts


def pooled(kind, kernel, strides, dilations, pads, ceil=False, counts_pad=False, p=2):
    def f(a):
        y = None
        for out, o, w, count in windows(a, kernel, strides, dilations, pads, ceil):
            y = np.empty(a.shape[:2] + out) if y is None else y
            if kind == "max":
                v = w.max(-1)
            elif kind == "average":
                v = w.sum(-1) / (count if counts_pad else w.shape[-1])
            else:
                v = (abs(w) ** p).sum(-1) ** (1 / p)
            y[(slice(None), slice(None)) + o] = v
        return y
    return f


SHAPES = (((9,), (3,), (2,), (2,), (1, 2)), ((7, 11), (3, 2), (2, 3), (1, 2), (1, 0, 2, 1)), ((5, 6, 4), (2, 3, 1), (1, 2, 3), (2, 1, 1), (1, 1, 0, 0, 1, 0)),
          ((6, 6), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)), ((3, 40), (3, 5), (1, 1), (1, 1), (2, 4, 2, 4)))
for i, (space, kernel, strides, dilations, pads) in enumerate(SHAPES):
    w = dict(kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads)
    a = x(2, 3, *space)
    case(f"max_pool_{i}", "MaxPool", pooled("max", *w.values()), (a,), **w)
    case(f"max_pool_ceil_{i}", "MaxPool", pooled("max", *w.values(), True), (a,), ceil_mode=1, **w)
    case(f"max_pool_special_{i}", "MaxPool", pooled("max", *w.values()), (special(a, *range(0, a.size, 11)),), **w)
    for counts in (0, 1):
        case(f"average_pool_{i}_{counts}", "AveragePool", pooled("average", *w.values(), False, counts), (a,), count_include_pad=counts, **w)
        case(f"average_pool_ceil_{i}_{counts}", "AveragePool", pooled("average", *w.values(), True, counts), (a,),
             count_include_pad=counts, ceil_mode=1, **w)
    case(f"average_pool_special_{i}", "AveragePool", pooled("average", *w.values()), (special(a, *range(0, a.size, 13)),), **w)
    for p in (1, 2, 3):
        case(f"lp_pool_{i}_{p}", "LpPool", pooled("lp", *w.values(), p=p), (a,), p=p, **w)
case("max_pool_open", "MaxPool", pooled("max", (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)), (x(1, 2, 9, 8),), (x(3, 2, 5, 12),),
     kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
case("global_average", "GlobalAveragePool", lambda a: a.mean((2, 3), keepdims=True), (x(2, 3, 5, 7),))
case("global_max", "GlobalMaxPool", lambda a: a.max((2, 3), keepdims=True), (x(2, 3, 5, 7),))
case("global_lp", "GlobalLpPool", lambda a: np.sqrt((a * a).sum((2, 3), keepdims=True)), (x(2, 3, 5, 7),))


def lrn(size, alpha, beta, bias):
    def f(a):
        s = np.zeros_like(a)
        for c in range(a.shape[1]):
            s[:, c] = (a[:, max(0, c - (size - 1) // 2):c + size // 2 + 1] ** 2).sum(1)
        return a / (bias + float(f32(alpha)) / size * s) ** float(f32(beta))
    return f


case("lrn", "LRN", lrn(3, .3, .75, 1.), (x(2, 5, 4, 3),), size=3, alpha=.3)
case("lrn_even", "LRN", lrn(4, .3, .5, 2.), (x(2, 5, 4, 3),), size=4, alpha=.3, beta=.5, bias=2.)


# ---- Products -------------------------------------------------------------------------------------------------------
def conv(strides, dilations, pads, groups):
    """No product is made with what is outside."""
    def f(a, w, bias=None):
        kernel, n = w.shape[2:], w.ndim - 2
        out = [out_size(a.shape[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[n + d], False) for d in range(n)]
        y = np.zeros((a.shape[0], w.shape[0], *out), a.dtype)
        oc, ic = w.shape[0] // groups, w.shape[1]
        for o in np.ndindex(*out):
            for k in np.ndindex(*kernel):
                at = tuple(o[d] * strides[d] - pads[d] + k[d] * dilations[d] for d in range(n))
                if any(t < 0 or t >= a.shape[2 + d] for d, t in enumerate(at)):
                    continue
                for g in range(groups):
                    to = (slice(None), slice(g * oc, (g + 1) * oc)) + o
                    y[to] += a[(slice(None), slice(g * ic, (g + 1) * ic)) + at] @ w[(slice(g * oc, (g + 1) * oc), slice(None)) + k].T
        return y if bias is None else y + channels(bias, y)
    return f


def conv_transpose(strides, dilations, pads, groups, more):
    def f(a, w, bias=None):
        kernel, n = w.shape[2:], w.ndim - 2
        full = [(a.shape[2 + d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 + more[d] for d in range(n)]
        ic, oc = w.shape[0] // groups, w.shape[1]
        y = np.zeros((a.shape[0], groups * oc, *full))
        for i in np.ndindex(*a.shape[2:]):
            for k in np.ndindex(*kernel):
                to = tuple(i[d] * strides[d] + k[d] * dilations[d] for d in range(n))
                for g in range(groups):
                    y[(slice(None), slice(g * oc, (g + 1) * oc)) + to] += a[(slice(None), slice(g * ic, (g + 1) * ic)) + i] @ \
                        w[(slice(g * ic, (g + 1) * ic), slice(None)) + k]
        y = y[(slice(None), slice(None)) + tuple(slice(pads[d], full[d] - pads[n + d]) for d in range(n))]
        return y if bias is None else y + channels(bias, y)
    return f


CONVS = (((9,), (3,), (2,), (2,), (1, 2), 1, 5, 7), ((7, 11), (3, 2), (2, 3), (1, 2), (1, 0, 2, 1), 2, 6, 4), ((5, 6, 4), (2, 3, 1), (1, 2, 3), (2, 1, 1), (1, 1, 0, 0, 1, 0), 1, 3, 5),
         ((6, 6), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 1, 19, 70), ((3, 40), (3, 5), (1, 1), (1, 1), (2, 4, 2, 4), 3, 3, 3), ((5, 5), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1, 1, 33),
         ((5, 4), (3, 3), (1, 2), (1, 1), (1, 1, 1, 1), 37, 37, 37), ((4, 4), (2, 2), (3, 3), (1, 1), (0, 0, 0, 0), 4, 4, 8), ((2, 3), (5, 4), (2, 1), (1, 2), (4, 5, 4, 5), 1, 2, 3))
for i, (space, kernel, strides, dilations, pads, groups, ic, oc) in enumerate(CONVS):
    w = dict(strides=strides, dilations=dilations, pads=pads, group=groups)
    a, b, weights = x(2, ic, *space), x(oc), x(oc, ic // groups, *kernel)
    judge = conv(strides, dilations, pads, groups)
    case(f"conv_{i}", "Conv", judge, (a, weights, b), **w)
    case(f"conv_no_bias_{i}", "Conv", judge, (a, weights), **w)
    case(f"conv_special_{i}", "Conv", judge, (special(a, *range(0, a.size, 29)), weights, b), **w)
    case(f"conv_weights_{i}", "Conv", judge, (a, special(weights, 0, weights.size - 1, weights.size // 2), b), **w)
    more = tuple(min(s, d) - 1 if s > 1 else 0 for s, d in zip(strides, (2,) * 3))
    weights, spread = x(ic, oc // groups, *kernel), conv_transpose(strides, dilations, pads, groups, more)
    case(f"conv_transpose_{i}", "ConvTranspose", spread, (a, weights, b), output_padding=more, **w)
    case(f"conv_transpose_special_{i}", "ConvTranspose", spread, (special(a, *range(0, a.size, 29)), special(weights, 0, weights.size - 1), b),
         output_padding=more, **w)
case("conv_open", "Conv", conv((2, 1), (1, 1), (1, 0, 1, 2), 1), (x(1, 3, 9, 8), x(5, 3, 3, 2)), (x(3, 3, 4, 11), x(5, 3, 3, 2)), strides=(2, 1), pads=(1, 0, 1, 2))
case("conv_empty", "Conv", conv((1,), (1,), (0, 0), 1), (x(2, 3, 5), x(4, 3, 2), x(4)), (x(0, 3, 5), x(4, 3, 2), x(4)))


def gemm(alpha, beta, ta, tb):
    return lambda a, b, c=0.: alpha * (a.T if ta else a) @ (b.T if tb else b) + beta * c


for ta in (0, 1):
    for tb in (0, 1):
        a, b = x(*((7, 5) if ta else (5, 7))), x(*((33, 7) if tb else (7, 33)))
        case(f"gemm_{ta}{tb}", "Gemm", gemm(.5, 2., ta, tb), (a, b, x(33)), alpha=.5, beta=2., transA=ta, transB=tb)
        case(f"gemm_plain_{ta}{tb}", "Gemm", gemm(1., 1., ta, tb), (a, b, x(33)), transA=ta, transB=tb)
case("attention", "Attention", lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) / np.sqrt(4)) @ v, (x(2, 3, 5, 4), x(2, 3, 7, 4), x(2, 3, 7, 6)), opset=23)
case("erf", "Erf", np.vectorize(erf), (3 * x(5, 7),))

# Sums that f32 cannot hold: more than 256 products of 9 bits in a group.
for name, groups, ic, oc, size, kernel in (("long", 1, 300, 5, (4, 5), (3, 3)), ("grouped", 2, 160, 4, (3, 6), (3, 2)), ("depth", 3, 3, 3, (20,), (19,))):
    for kinds in ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)):
        low, high = (np.iinfo(k).min for k in kinds), (np.iinfo(k).max for k in kinds)
        a, w = (r.choice([lo, hi, 0, 1, hi - 1], shape).astype(k) for lo, hi, k, shape in
                zip(low, high, kinds, ((2, ic, *size), (oc, ic // groups, *kernel))))
        za, zw = np.array(np.iinfo(kinds[0]).max, kinds[0]), np.array(3, kinds[1])
        n = len(size)
        judge = conv((1,) * n, (1,) * n, (1,) * 2 * n, groups)
        case(f"conv_integer_{name}_{kinds[0].__name__}_{kinds[1].__name__}", "ConvInteger",
             lambda a, w, za, zw: judge(a.astype(i64) - int(za), w.astype(i64) - int(zw)).astype(i32), (a, w, za, zw), opset=10, pads=(1,) * 2 * n, group=groups)

tolerances = ("--absolute", "1e-13", "--relative", "1e-11")
sys.exit(folders.run(nodes_program, open_program, tolerances=tolerances, isas=("", "AVX2", "SSE41")))
