"""Models of the domain ai.onnx.ml, written by hand: random ensembles of trees of every mode, aggregate, type and transform, with
values that are missing; linear models, support vector machines, scalers, encoders. ONNX Runtime judges; nodes.c runs the folders:
  ml.py NODES REFUSED WORK_FOLDER [ARGUMENTS of NODES]"""
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto as T, helper as h, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

program, refused, work = sys.argv[1:4]
shutil.rmtree(work, ignore_errors=True)
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
rng = np.random.default_rng(24)
TYPES = {np.dtype("f4"): T.FLOAT, np.dtype("f8"): T.DOUBLE, np.dtype("i8"): T.INT64, np.dtype("i4"): T.INT32,
         np.dtype(object): T.STRING, np.dtype(bool): T.BOOL}
POSTS = "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"
names, unjudged = set(), set()


def save(path, message):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def case(name, op, ins, outs=("y",), version=3, opens=None, refuses=False, before=(), reads=None,
         domain="ai.onnx.ml", **attributes):
    """ins: arrays by name, of which `k` keeps its sizes; opens: whether sizes are left open, by default the name decides. What
    ONNX Runtime does not run is left out, unless the importer refuses it. before: nodes before the one of this domain, which
    then reads other names than those of the inputs."""
    assert name not in names, name
    names.add(name)
    attributes = {k: v for k, v in attributes.items() if not isinstance(v, list) or v}
    opens = sum(map(ord, name)) % 2 if opens is None else opens
    infos = [h.make_tensor_value_info(k, TYPES[v.dtype], [None] * v.ndim if opens and k != "k" else v.shape)
             for k, v in ins.items()]
    graph = h.make_graph([*before, h.make_node(op, reads or list(ins), outs, domain=domain, **attributes)], name, infos,
                         [onnx.ValueInfoProto(name=o) for o in outs])
    model = h.make_model(graph, ir_version=9,
                         opset_imports=[h.make_opsetid("ai.onnx.ml", version), h.make_opsetid("", 17)])
    judged = onnx.ModelProto.FromString(model.SerializeToString())
    for a in judged.graph.node[-1].attribute:
        if op == "TreeEnsemble" and a.name == "post_transform":  # ONNX Runtime exchanges what the standard calls 1 and 2
            a.i = {1: 2, 2: 1}.get(a.i, a.i)
    try:
        session = onnxruntime.InferenceSession(judged.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, ins)
    except Exception:
        unjudged.add(name)
        results = [np.zeros(1, "f4") for _ in outs]
        if not refuses:
            return
    for info, result in zip(model.graph.output, results):
        info.CopyFrom(h.make_tensor_value_info(info.name, TYPES[result.dtype], [None] * result.ndim))
    folder = os.path.join(work, name)
    save(os.path.join(folder, "model.onnx"), model)
    for kind, arrays in (("input", ins.items()), ("output", zip(outs, results))):
        for i, (key, array) in enumerate(arrays):
            save(os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb"), numpy_helper.from_array(array, key))


def normal(*shape):
    return rng.normal(size=shape).astype("f4")


def floats(array):
    return [float(v) for v in np.asarray(array, "f4").ravel()]


def samples(rows, features):
    """Rows of every type."""
    yield "f", normal(rows, features)
    yield "d", normal(rows, features).astype("f8")
    yield "l", rng.integers(-3, 4, (rows, features))
    yield "i", rng.integers(-3, 4, (rows, features)).astype("i4")


# ---- Trees

def grow(features, depth, modes, missing, whole):
    """A node (mode, feature, split, missing, true, false), or None: a leaf."""
    if not depth or rng.random() < .15:
        return None
    mode = modes[rng.integers(len(modes))]
    split = float(rng.integers(-3, 4)) if whole or mode in ("BRANCH_EQ", "BRANCH_NEQ") else floats(normal())[0]
    return (mode, int(rng.integers(features)), split, int(missing and rng.random() < .5),
            grow(features, depth - 1, modes, missing, whole), grow(features, depth - 1, modes, missing, whole))


LISTS = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")


def flat(trees):
    """Attributes of nodes; tree and node of each leaf."""
    lists, leaves = {f"nodes_{k}": [] for k in LISTS}, []
    for t, tree in enumerate(trees):
        nodes = []

        def add(node):
            at = len(nodes)
            nodes.append(None)
            if node is None:
                nodes[at] = (t, at, 0, 0., "LEAF", 0, 0, 0)
                leaves.append((t, at))
            else:
                nodes[at] = (t, at, node[1], node[2], node[0], add(node[4]), add(node[5]), node[3])
            return at

        add(tree)
        for node in nodes:
            for k, v in zip(lists, node):
                lists[k].append(v)
    return lists, leaves


MODES = [["BRANCH_LEQ"], ["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"],
         ["BRANCH_EQ", "BRANCH_LEQ"], ["BRANCH_EQ", "BRANCH_NEQ", "BRANCH_LT", "BRANCH_GT"]]


def ensemble(i):
    features, count = int(rng.integers(1, 8)), int(rng.choice([1, 2, 3, 9, 20]))
    missing, dtype = rng.random() < .4, np.dtype(str(rng.choice(["f4", "f4", "f4", "f8", "i8", "i4"])))
    whole = dtype.kind == "i" or rng.random() < .4
    modes = MODES[rng.integers(len(MODES))]
    kw, leaves = flat([grow(features, int(rng.integers(1, 8)), modes, missing, whole) for _ in range(count)])
    if not missing:
        del kw["nodes_missing_value_tracks_true"]
    rows = int(rng.choice([1, 2, 7, 8, 9, 31, 33, 100, 300]))
    x = rng.integers(-3, 4, (rows, features)).astype(dtype) if whole else rng.normal(size=(rows, features)).astype(dtype)
    if dtype.kind == "f" and rng.random() < .6:
        x[rng.random(x.shape) < .15] = np.nan
    classifies, positive = rng.random() < .45, rng.random() < .5
    kind = "class" if classifies else "target"
    classes = int(rng.choice([2, 3, 4] if classifies else [1, 1, 2, 3, 5]))
    style = str(rng.choice(["single", "dense"] if classifies else ["single", "dense", "sparse"]))
    one = int(rng.integers(2))
    entries = {f"{kind}_{k}": [] for k in ("treeids", "nodeids", "ids", "weights")}
    for t, leaf in leaves:
        ids = ([one if classifies and classes == 2 else t % classes] if style == "single" else
               [k for k in range(classes) if style == "dense" or classes == 1 or rng.random() < .6])
        for k in ids:
            w = floats(normal() * .3)[0]
            for key, v in zip(entries, (t, leaf, k, abs(w) if positive else w)):
                entries[key].append(v)
    kw |= entries
    if rng.random() < .5:
        kw["base_values"] = floats(normal(1 if classifies and classes == 2 and style == "single" else classes))
    if dtype == np.float64 and rng.random() < .5:
        for key in ["nodes_values", f"{kind}_weights"] + ["base_values"] * ("base_values" in kw):
            kw[f"{key}_as_tensor"] = numpy_helper.from_array(np.array(kw.pop(key)) * (1 + 1e-9), key)
    post = str(rng.choice(POSTS[:4]))
    name = f"trees_{i:04d}_{kind}_{classes}_{style}_{post}_{rows}"
    if classifies:
        labels = list(range(classes)) if classes == 2 and style == "dense" else [
            int(v) for v in rng.choice(50, classes, replace=False)]
        case(name, "TreeEnsembleClassifier", {"x": x}, ("l", "p"), classlabels_int64s=labels, post_transform=post, **kw)
    else:
        case(name, "TreeEnsembleRegressor", {"x": x}, n_targets=classes, post_transform=post,
             aggregate_function=str(rng.choice(["SUM", "SUM", "AVERAGE", "MIN", "MAX"])), **kw)


def stumps(ids, weights):
    """Two trees of one comparison."""
    kw, leaves = flat([("BRANCH_LEQ", t, 0., 0, None, None) for t in range(2)])
    entries = [(t, leaf, k) for t, leaf in leaves for k in ids(t)]
    columns = list(zip(*entries))
    return kw | {"class_treeids": list(columns[0]), "class_nodeids": list(columns[1]), "class_ids": list(columns[2]),
                 "class_weights": [weights[i % len(weights)] for i in range(len(entries))]}


for i in range(250):
    ensemble(i)

# As many nodes as forests of scikit-learn have, whose modes are as many texts: 60 complete trees of 11 levels.
LEVELS, TREES = 11, 60
inner, nodes = 2 ** LEVELS - 1, 2 ** (LEVELS + 1) - 1
ids = np.arange(nodes)
case("trees_many", "TreeEnsembleRegressor", {"x": normal(5, 4)}, n_targets=1, nodes_treeids=np.repeat(range(TREES), nodes).tolist(),
     nodes_nodeids=np.tile(ids, TREES).tolist(), nodes_featureids=rng.integers(0, 4, nodes * TREES).tolist(),
     nodes_values=floats(normal(nodes * TREES)), nodes_modes=(["BRANCH_LEQ"] * inner + ["LEAF"] * (inner + 1)) * TREES,
     nodes_truenodeids=np.tile(np.where(ids < inner, 2 * ids + 1, 0), TREES).tolist(),
     nodes_falsenodeids=np.tile(np.where(ids < inner, 2 * ids + 2, 0), TREES).tolist(),
     target_treeids=np.repeat(range(TREES), inner + 1).tolist(), target_nodeids=np.tile(ids[inner:], TREES).tolist(),
     target_ids=[0] * (inner + 1) * TREES, target_weights=floats(normal((inner + 1) * TREES)))
corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], "f4")
for name, ids in ("first", lambda t: [0]), ("second", lambda t: [1]), ("both", lambda t: [0, 1]), ("mixed", lambda t: [t]):
    for sign in 0, 1:
        for base in [], [.25], [.25, -.125]:
            for post in POSTS:
                if len(base) == 2 and name in ("first", "second") or post == "PROBIT" and name == "first":
                    continue  # refused: what ONNX Runtime makes of it ignores the trees, or was never written
                weights = [.1, .3, .45, .2, .35, .15, .05, .6] if sign else [.1, -.3, .45, -.2, .35, -.15, -.7, .6]
                case(f"two_{name}_{sign}_{len(base)}_{post}", "TreeEnsembleClassifier", {"x": corners}, ("l", "p"),
                     base_values=base, classlabels_int64s=[10, 11], post_transform=post, **stumps(ids, weights))


def version_5(i):
    """Nodes and leaves apart, sets of values, branches that share a leaf."""
    features, rows, count = int(rng.integers(1, 4)), int(rng.choice([1, 9, 40])), int(rng.integers(1, 5))
    dtype = np.dtype(str(rng.choice(["f4", "f8"])))
    nodes, leaves, roots, sets = [], 0, [], []

    def add(depth):
        nonlocal leaves
        at, mode = len(nodes), int(rng.integers(7))
        nodes.append(None)
        ends = []
        for _ in range(2):
            if depth and rng.random() < .7:
                ends.append((add(depth - 1), 0))
            else:
                ends.append((leaves, 1))
                leaves += 1
        nodes[at] = (int(rng.integers(features)), float(rng.integers(-2, 4)), mode, *ends, int(rng.random() < .3))
        return at

    for _ in range(count):
        roots.append(add(int(rng.integers(4))))
    for node in nodes:
        if node[2] == 6:
            sets += [float(v) for v in rng.choice(6, int(rng.integers(1, 5)), replace=False)] + [np.nan]
    targets = int(rng.integers(1, 4))
    tensors = {"nodes_splits": np.array([n[1] for n in nodes], dtype), "leaf_weights": rng.normal(size=leaves).astype(dtype),
               "nodes_modes": np.array([n[2] for n in nodes], "u1")}
    if sets:
        tensors["membership_values"] = np.array(sets, dtype)
    missing = {"nodes_missing_value_tracks_true": [n[5] for n in nodes]} if rng.random() < .4 and not sets else {}
    x = rng.integers(-2, 6, (rows, features)).astype(dtype)
    case(f"v5_{i:03d}", "TreeEnsemble", {"x": x}, version=5, tree_roots=roots, n_targets=targets,
         aggregate_function=int(rng.integers(4)), post_transform=int(rng.integers(4)) if targets > 1 else 0,
         nodes_featureids=[n[0] for n in nodes], nodes_truenodeids=[n[3][0] for n in nodes],
         nodes_trueleafs=[n[3][1] for n in nodes], nodes_falsenodeids=[n[4][0] for n in nodes],
         nodes_falseleafs=[n[4][1] for n in nodes], leaf_targetids=[int(v) for v in rng.integers(0, targets, leaves)],
         **missing, **{k: numpy_helper.from_array(v, k) for k, v in tensors.items()})


for i in range(60):
    version_5(i)

# ---- Linear models and support vector machines

for t, x in samples(9, 4):
    for post in POSTS:
        for k in 1, 2, 3:
            if t == "f":
                case(f"linear_{post}_{k}", "LinearRegressor", {"x": x}, coefficients=floats(normal(k, 4) * .3),
                     intercepts=floats(normal(k) * .3), targets=k, post_transform=post)
            if (t == "f" or post in POSTS[:2]) and (post != "PROBIT" or k == 2):
                case(f"linear_{t}_{post}_{k}", "LinearClassifier", {"x": x}, ("l", "p"), multi_class=int(k > 2),
                     coefficients=floats(normal(k, 4) * .3), intercepts=floats(normal(k) * .3),
                     classlabels_ints=[7, -3, 5][:max(k, 2)], post_transform=post)
case("linear_no_intercepts", "LinearRegressor", {"x": normal(5, 4)}, coefficients=floats(normal(2, 4)), targets=2)
case("linear_list", "LinearRegressor", {"x": normal(4)}, coefficients=floats(normal(2, 4)), targets=2)

F = 5
for kernel, degree in ("LINEAR", 3), ("POLY", 2), ("POLY", 3), ("POLY", 4), ("RBF", 3), ("SIGMOID", 3):
    params, far = floats([.3, .5, degree]), 10 if kernel == "RBF" else 0  # of differences, not of squares
    for vectors in (0, 1, 12) if kernel == "LINEAR" else (1, 12):
        for one in 0, 1:
            case(f"svm_{kernel}_{degree}_{vectors}_{one}", "SVMRegressor", {"x": normal(11, F) + np.float32(far)},
                 kernel_type=kernel, kernel_params=params, n_supports=vectors, one_class=one, rho=[.25],
                 support_vectors=floats(normal(vectors, F) + far), coefficients=floats(normal(vectors or F)))
    for k in 2, 3, 4:
        for prob in 0, 1:
            for post in POSTS[:4] if kernel in ("LINEAR", "RBF") else POSTS[:1]:
                per, pairs = [int(v) for v in rng.integers(1, 5, k)], k * (k - 1) // 2
                sides = {"prob_a": floats(-np.abs(normal(pairs)) * 3), "prob_b": floats(normal(pairs) * .3)} if prob else {}
                for t, x in samples(11, F):
                    if t == "f" or post == "NONE" and not prob and not far:
                        case(f"svm_{kernel}_{degree}_{k}_{prob}_{post}_{t}", "SVMClassifier",
                             {"x": (x + far).astype(x.dtype)}, ("l", "p"), kernel_type=kernel, kernel_params=params,
                             vectors_per_class=per, support_vectors=floats(normal(sum(per), F) + far),
                             coefficients=floats(normal(k - 1, sum(per))), rho=floats(normal(pairs) * .2),
                             classlabels_ints=[4, 9, -2, 0][:k], post_transform=post, **sides)
for k in 2, 3:
    for sign in 0, 1:
        for post in POSTS[:4]:
            w = normal(k, 4)
            case(f"svm_without_{k}_{sign}_{post}", "SVMClassifier", {"x": normal(9, 4)}, ("l", "p"), kernel_type="LINEAR",
                 kernel_params=[0., 0., 0.], coefficients=floats(np.abs(w) if sign else w), rho=[.1],
                 classlabels_ints=[3, 8, 1][:k], post_transform=post)

# ---- Features and labels

for t, x in samples(7, 3):
    case(f"scaler_{t}", "Scaler", {"x": x}, offset=floats(normal(3)), scale=floats(normal(3)))
    case(f"scaler_one_{t}", "Scaler", {"x": x}, offset=floats(normal(1)), scale=floats(normal(1)))
    for norm in "MAX", "L1", "L2":
        z = x.copy()
        z[2] = 0
        case(f"normalizer_{norm}_{t}", "Normalizer", {"x": z}, norm=norm)
    case(f"normalizer_list_{t}", "Normalizer", {"x": x[0]}, norm="L2")
    case(f"binarizer_{t}", "Binarizer", {"x": x}, threshold=.25)
    case(f"picked_{t}", "ArrayFeatureExtractor", {"x": x, "k": np.array([2, 0, 0, 1])})
    case(f"picked_one_{t}", "ArrayFeatureExtractor", {"x": x, "k": np.array([[2]])})
    case(f"picked_list_{t}", "ArrayFeatureExtractor", {"x": x[0], "k": np.array([[2, 1]])})
    case(f"joined_{t}", "FeatureVectorizer", {"x": x, "z": x[:, :2].copy()}, inputdimensions=[3, 2], opens=False)
    case(f"one_hot_{t}", "OneHotEncoder", {"x": x}, cats_int64s=[-2, 0, 1, 3], zeros=1)
    case(f"one_hot_list_{t}", "OneHotEncoder", {"x": x[:, 0].copy()}, cats_int64s=[-2, 0, 1, 3], zeros=1)
case("one_hot_all", "OneHotEncoder", {"x": rng.integers(0, 3, 6)}, cats_int64s=[2, 0, 1], zeros=0)
z = normal(7, 3)
z[rng.random(z.shape) < .3] = np.nan
for many in [1., 2., 3.], [1.]:
    case(f"imputer_nan_{len(many)}", "Imputer", {"x": z}, imputed_value_floats=many, replaced_value_float=float("nan"))
z = rng.integers(-2, 3, (7, 3))
case("imputer_number", "Imputer", {"x": z.astype("f4")}, imputed_value_floats=[1., 2., 3.], replaced_value_float=2.)
case("imputer_ints", "Imputer", {"x": z}, imputed_value_int64s=[5, 6, 7], replaced_value_int64=2)
case("imputer_int", "Imputer", {"x": z}, imputed_value_int64s=[5], replaced_value_int64=-1)
q = rng.integers(-2, 6, (4, 3))
r = q.astype("f4")
r[0, 1] = np.nan
for version in 2, 4:
    keys = {"keys_floats": [1., 2., 3., float("nan")]}
    case(f"labels_ff_{version}", "LabelEncoder", {"x": r}, version=version, values_floats=[10., 20., 30., 40.], **keys)
    case(f"labels_fl_{version}", "LabelEncoder", {"x": r}, version=version, values_int64s=[10, 20, 30, 40], **keys)
    keys = {"keys_int64s": [1, 2, 3, -2]}
    case(f"labels_ll_{version}", "LabelEncoder", {"x": q}, version=version, values_int64s=[10, 20, 30, 40], default_int64=7, **keys)
    case(f"labels_lf_{version}", "LabelEncoder", {"x": q}, version=version, values_floats=[1.5, 2.5, 3.5, .5], default_float=7.25,
         **keys)
for dtype in "f4", "f8", "i8":
    case(f"labels_tensors_{dtype}", "LabelEncoder", {"x": q.astype(dtype)}, version=4,
         keys_tensor=numpy_helper.from_array(np.array([1, 2, 5], dtype)),
         values_tensor=numpy_helper.from_array(np.array([1, 2, 5], dtype)),
         default_tensor=numpy_helper.from_array(np.array([-9], dtype)))

# ---- What is refused

kw = stumps(lambda t: [0], [.5])
# Texts: encoders of them, what passes them on, texts that no encoder has, the empty one, others than ASCII.
words = ["a", "b", "", "Zürich", "a b", "b"]
some = np.array([["a", "", "none"], ["Zürich", "b", "A"]], object)
for version in (2, 4):
    for name, keys, values, x in (("int", "strings", "int64s", some), ("float", "strings", "floats", some),
                                  ("text", "strings", "strings", some), ("of_int", "int64s", "strings", np.array([3, 1, 9, 0])),
                                  ("of_float", "floats", "strings", np.array([[1.5, 2, np.nan]], "f4"))):
        lists = {"strings": words, "int64s": [3, 0, 1, 2, 5, 4], "floats": [1.5, 2., float("nan"), 3., 4., 5.]}
        for default in ({}, {"default_int64": 7, "default_float": .5, "default_string": "Zürich"}):
            case(f"words_{version}_{name}_{len(default)}", "LabelEncoder", {"x": x}, version=version,
                 **{f"keys_{keys}": lists[keys], f"values_{values}": lists[values]}, **default)
    case(f"words_{version}_of_a_row", "LabelEncoder", {"x": some[0]}, version=version, keys_strings=words[:3], values_strings=words[3:])


for default in {}, {"default_int64": 7, "default_string": "b"}:
    case(f"words_1_int_{len(default)}", "LabelEncoder", {"x": some}, version=1, classes_strings=["b", "Zürich", ""], **default)
    case(f"words_1_of_int_{len(default)}", "LabelEncoder", {"x": np.array([1, 3, 0, -1, 2])}, version=1, classes_strings=["b", "Zürich", ""],
         **default)


# ---- Counts of sequences

for number in range(24):
    size, many = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    grams = [{tuple(rng.integers(0, many, n).tolist()) for _ in range(int(rng.integers(0 if number % 3 else 2, 7)))}
             for n in range(1, size + 1 + number % 2)]
    pool = [x for of in grams for gram in of for x in gram]
    total = sum(map(len, grams))
    if not total:
        continue
    x = rng.integers(0, many + 1, (3, int(rng.integers(1, 12)))[number % 4 == 0:])
    least = int(rng.integers(1, size + 1))
    more = {"weights": rng.integers(1, 9, total).astype("f4").tolist()} if number % 5 else {}
    as_texts = number % 4 > 1
    if as_texts:
        more["pool_strings"], x = [f"w{i}" for i in pool], np.array([f"w{i}" for i in x.flat], object).reshape(x.shape)
    else:
        more["pool_int64s"], x = pool, x.astype("i4" if number % 3 else "i8")
    case(f"grams_{number}", "TfIdfVectorizer", {"x": x}, domain="", opens=False, mode=("TF", "IDF", "TFIDF")[number % 3], min_gram_length=least,
         max_gram_length=size, max_skip_count=int(rng.integers(0, 4)), ngram_indexes=rng.permutation(total).tolist(),
         ngram_counts=np.cumsum([0] + [n * len(of) for n, of in enumerate(grams, 1)][:-1]).tolist(), **more)
grams = {"domain": "", "opens": False, "mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "refuses": True}
row = np.array([1, 2, 3])
for name, change in {
        "half": {"ngram_counts": [0, 1], "pool_int64s": [1, 2], "ngram_indexes": [0, 1]},
        "beyond": {"ngram_counts": [0, 9], "pool_int64s": [1, 2], "ngram_indexes": [0, 1]},
        "few": {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0]},
        "negative": {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0, -1]},
        "same": {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0, 0]},
        "weights": {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0, 1], "weights": [1.]},
        "words": {"ngram_counts": [0], "pool_strings": ["a", "b"], "ngram_indexes": [0, 1]},
        "range": {"ngram_counts": [0], "pool_int64s": [1, 2], "ngram_indexes": [0, 1], "max_gram_length": 0}}.items():
    case(f"refused_grams_{name}", "TfIdfVectorizer", {"x": row}, **{**grams, **change})


def texts(*of):
    return h.make_tensor("t", T.STRING, [len(of)], [t.encode() for t in of])


case("words_tensors", "LabelEncoder", {"x": some}, version=4, keys_tensor=texts("a", "b", "Zürich"), values_tensor=texts("b", "c", "d"),
     default_tensor=texts("none"))
case("words_tensor_numbers", "LabelEncoder", {"x": some}, version=4, keys_tensor=texts("a", "b", ""),
     values_tensor=numpy_helper.from_array(np.array([4, 5, 6])), default_tensor=numpy_helper.from_array(np.array([9])))
for zeros in (0, 1):
    known = some if zeros else np.array([["b", "a"], ["", "Zürich"]], object)
    case(f"words_one_hot_{zeros}", "OneHotEncoder", {"x": known}, cats_strings=["b", "a", "", "Zürich"], zeros=zeros)
    case(f"words_one_hot_row_{zeros}", "OneHotEncoder", {"x": known[0]}, cats_strings=["", "a", "b"], zeros=zeros)
for default in ({}, {"default_int64": 4, "default_string": "else"}):
    cats = {"cats_strings": words[:5], "cats_int64s": [5, 4, 3, 2, 1]}
    case(f"words_mapped_{len(default)}", "CategoryMapper", {"x": some}, version=1, **cats, **default)
    case(f"numbers_mapped_{len(default)}", "CategoryMapper", {"x": np.array([[1, 5, 7]])}, version=1, **cats, **default)
more = np.array([["b", "q"], ["a", "a"]], object)
passing = {
    "concat": (["Concat", ["x", "z"]], {"axis": 1}, {"z": more}), "gather": (["Gather", ["x", "k"]], {"axis": 1}, {"k": np.array([2, 0])}),
    "pick": (["ArrayFeatureExtractor", ["x", "k"]], {"domain": "ai.onnx.ml"}, {"k": np.array([2, 0])}),
    "reshape": (["Reshape", ["x", "k"]], {}, {"k": np.array([3, 2])}), "transpose": (["Transpose", ["x"]], {"perm": [1, 0]}, {}),
    "identity": (["Identity", ["x"]], {}, {}), "flatten": (["Flatten", ["x"]], {}, {}),
    "where": (["Where", ["k", "x", "z"]], {}, {"k": np.array([[1], [0]], bool), "z": some[::-1].copy()}),
    "squeeze": (["Unsqueeze", ["x", "k"]], {}, {"k": np.array([1])})}
for name, ((op, ins), at, others) in passing.items():
    before = [h.make_node(op, ins, ["passed"], **at)]
    case(f"words_{name}", "LabelEncoder", {"x": some} | others, version=2, before=before, reads=["passed"], keys_strings=words,
         values_int64s=[1, 2, 3, 4, 5, 6])
    case(f"words_{name}_hot", "OneHotEncoder", {"x": some} | others, before=before, reads=["passed"], cats_strings=["b", "a", ""])
case("words_twice", "LabelEncoder", {"x": some}, version=2, reads=["first"], before=[
    h.make_node("LabelEncoder", ["x"], ["first"], domain="ai.onnx.ml", keys_strings=["a", "b"], values_strings=["b", "c"],
                default_string="b")], keys_strings=["c", "b"], values_strings=["one", "two"])
case("refused_words_equal", "LabelEncoder", {"x": some}, version=2, refuses=True, before=[
    h.make_node("Equal", ["x", "x"], ["same"])], keys_strings=["a"], values_int64s=[1])
case("refused_words_out", "ArrayFeatureExtractor", {"x": some, "k": np.array([1])}, version=2, refuses=True, before=[
    h.make_node("LabelEncoder", ["x"], ["unread"], domain="ai.onnx.ml", keys_strings=["a"], values_int64s=[1])], reads=["x", "k"])
case("refused_words_as_numbers", "LabelEncoder", {"x": some}, version=2, refuses=True, keys_int64s=[1], values_int64s=[1])
case("refused_numbers_as_words", "OneHotEncoder", {"x": np.array([[1, 2]])}, refuses=True, cats_strings=["a"])

bad = {"cycle": {"nodes_truenodeids": [0, 0, 0, 1, 0, 0]}, "child": {"nodes_falsenodeids": [9, 0, 0, 2, 0, 0]},
       "feature": {"nodes_featureids": [2, 0, 0, 1, 0, 0]}, "length": {"nodes_values": [0., 0., 0., 0., 0.]},
       "mode": {"nodes_modes": ["BRANCH", "LEAF", "LEAF"] * 2}, "class": {"class_ids": [0, 0, 0, 2]},
       "leaf": {"class_nodeids": [1, 2, 1, 7]}, "twice": {"nodes_nodeids": [0, 1, 1, 0, 1, 2]}}
for name, change in bad.items():
    case(f"refused_{name}", "TreeEnsembleClassifier", {"x": corners}, ("l", "p"), opens=False, refuses=True,
         classlabels_int64s=[0, 1], **(kw | change))
case("refused_two_bases", "TreeEnsembleClassifier", {"x": corners}, ("l", "p"), refuses=True, base_values=[.5, .25],
     classlabels_int64s=[0, 1], **kw)

case("refused_params", "SVMRegressor", {"x": normal(2, 2)}, refuses=True, kernel_type="RBF", kernel_params=[.5], n_supports=1, rho=[0.],
     support_vectors=[1., 2.], coefficients=[1.])
case("refused_far", "TreeEnsemble", {"x": corners}, version=5, refuses=True, tree_roots=[0], n_targets=1, nodes_featureids=[0],
     nodes_truenodeids=[2**63 - 1], nodes_trueleafs=[1], nodes_falsenodeids=[0], nodes_falseleafs=[1], leaf_targetids=[0],
     nodes_splits=numpy_helper.from_array(np.zeros(1, "f4")), leaf_weights=numpy_helper.from_array(np.zeros(1, "f4")),
     nodes_modes=numpy_helper.from_array(np.zeros(1, "u1")))

print(f"{len(names)} models, of which ONNX Runtime does not run {len(unjudged)}")
assert len(os.listdir(work)) > 600
sys.exit(subprocess.run([program, work, refused] + sys.argv[4:]).returncode)
