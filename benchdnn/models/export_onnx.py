"""The sentence encoder as ONNX, from a model folder: ids and mask in, pooled and normalised embeddings out, in the
operators that the usual exporters write. `fused` is the form that ONNX Runtime's own transformer optimizer makes of
it, its best documented one; it must hold Attention and SkipLayerNormalization nodes, or the comparison is void."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from safetensors.numpy import load_file


class Builder:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json")) as f:
            self.config = json.load(f)
        self.weights = load_file(os.path.join(folder, "model.safetensors"))
        self.nodes, self.constants = [], []

    def constant(self, value, name=None):
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, kind, *inputs, **attributes):
        out = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"{kind}_{len(self.nodes)}", **attributes))
        return out

    def norm(self, x, prefix):
        scale, shift = (self.constant(self.weights[f"{prefix}.{s}"]) for s in ("weight", "bias"))
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self.config["layer_norm_eps"])

    def linear(self, x, prefix):
        weight = self.constant(self.weights[prefix + ".weight"].T)
        return self.op("Add", self.constant(self.weights[prefix + ".bias"]), self.op("MatMul", x, weight))

    def embeddings(self):
        w = self.weights
        x = self.op("Gather", self.constant(w["embeddings.word_embeddings.weight"]), "ids")
        length = self.op("Slice", self.op("Shape", "ids"), self.constant(np.array([1])), self.constant(np.array([2])))
        table = self.constant(w["embeddings.position_embeddings.weight"])
        positions = self.op("Slice", table, self.constant(np.array([0])), length, self.constant(np.array([0])))
        x = self.op("Add", self.op("Add", x, positions), self.constant(w["embeddings.token_type_embeddings.weight"][0]))
        return self.norm(x, "embeddings.LayerNorm")

    def layer(self, x, i, mask):
        heads, hidden = self.config["num_attention_heads"], self.config["hidden_size"]
        p = f"encoder.layer.{i}."
        split = self.constant(np.array([0, 0, heads, hidden // heads]))
        q, k, v = (self.op("Transpose", self.op("Reshape", self.linear(x, p + "attention.self." + name), split), perm=perm)
                   for name, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(np.float32(np.sqrt(hidden // heads))))
        y = self.op("MatMul", self.op("Softmax", self.op("Add", scores, mask), axis=-1), v)
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.constant(np.array([0, 0, hidden])))
        x = self.norm(self.op("Add", self.linear(y, p + "attention.output.dense"), x), p + "attention.output.LayerNorm")
        f = self.linear(x, p + "intermediate.dense")
        erf = self.op("Add", self.op("Erf", self.op("Div", f, self.constant(np.float32(np.sqrt(2))))), self.constant(np.float32(1)))
        g = self.op("Mul", self.op("Mul", f, erf), self.constant(np.float32(0.5)))
        return self.norm(self.op("Add", self.linear(g, p + "output.dense"), x), p + "output.LayerNorm")

    def pool(self, x):
        axis = self.constant(np.array([1]))
        mask = self.op("Cast", self.op("Unsqueeze", "mask", self.constant(np.array([2]))), to=T.FLOAT)
        total = self.op("ReduceSum", self.op("Mul", x, mask), axis, keepdims=0)
        mean = self.op("Div", total, self.op("ReduceSum", mask, axis, keepdims=0))
        length = self.op("ReduceL2", mean, axes=[1], keepdims=1)
        return self.op("Div", mean, self.op("Max", length, self.constant(np.float32(1e-12))))

    def build(self):
        wide = self.op("Unsqueeze", self.op("Unsqueeze", "mask", self.constant(np.array([1]))), self.constant(np.array([2])))
        mask = self.op("Sub", self.constant(np.float32(1)), self.op("Cast", wide, to=T.FLOAT))
        mask = self.op("Mul", mask, self.constant(np.float32(-10000)))
        x = self.embeddings()
        for i in range(self.config["num_hidden_layers"]):
            x = self.layer(x, i, mask)
        self.nodes.append(helper.make_node("Identity", [self.pool(x)], ["embeddings"]))
        inputs = [helper.make_tensor_value_info(n, T.INT64, ["batch", "tokens"]) for n in ("ids", "mask")]
        outputs = [helper.make_tensor_value_info("embeddings", T.FLOAT, ["batch", self.config["hidden_size"]])]
        graph = helper.make_graph(self.nodes, "sentence_encoder", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def export(folder, out):
    """Writes out/plain.onnx and out/fused.onnx; returns how many nodes of each fused kind there are."""
    from onnxruntime.transformers import optimizer
    plain, fused = (os.path.join(out, name) for name in ("plain.onnx", "fused.onnx"))
    builder = Builder(folder)
    onnx.save(builder.build(), plain)
    model = optimizer.optimize_model(plain, model_type="bert", num_heads=builder.config["num_attention_heads"],
                                     hidden_size=builder.config["hidden_size"], opt_level=0)
    model.save_model_to_file(fused)
    kinds = [node.op_type for node in model.model.graph.node]
    counts = {k: kinds.count(k) for k in ("Attention", "SkipLayerNormalization", "BiasGelu", "EmbedLayerNormalization")}
    layers = builder.config["num_hidden_layers"]
    if counts["Attention"] != layers or counts["SkipLayerNormalization"] < layers:
        raise SystemExit(f"compare: the optimizer did not fuse the model: {counts}")
    return counts
