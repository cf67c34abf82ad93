"""The oracle of embeddings: BERT, mean pooling and L2 normalisation in float64 NumPy, straight from a model folder.
Independent of dnnl_tp and of any inference runtime."""
import json
import os

import numpy as np
from safetensors.numpy import load_file


def erf(x):
    """The C library's, element by element."""
    from math import erf as scalar
    return np.frompyfunc(scalar, 1, 1)(x).astype(np.float64)


class Bert:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json")) as f:
            self.config = json.load(f)
        weights = load_file(os.path.join(folder, "model.safetensors"))
        self.w = {k: v.astype(np.float64) for k, v in weights.items() if v.dtype == np.float32}

    def _norm(self, x, name):
        d = x - x.mean(-1, keepdims=True)
        eps = self.config.get("layer_norm_eps", 1e-12)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def _linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def tokens(self, ids):
        """Last hidden states of one sequence of ids."""
        heads = self.config["num_attention_heads"]
        n = len(ids)
        x = self.w["embeddings.word_embeddings.weight"][ids]
        x = x + self.w["embeddings.position_embeddings.weight"][:n] + self.w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        d = x.shape[1] // heads
        for i in range(self.config["num_hidden_layers"]):
            p = f"encoder.layer.{i}."
            q, k, v = (self._linear(x, p + "attention.self." + s).reshape(n, heads, d).transpose(1, 0, 2)
                       for s in ("query", "key", "value"))
            s = q @ k.transpose(0, 2, 1) / np.sqrt(d)
            s = np.exp(s - s.max(-1, keepdims=True))
            s /= s.sum(-1, keepdims=True)
            y = (s @ v).transpose(1, 0, 2).reshape(n, -1)
            x = self._norm(x + self._linear(y, p + "attention.output.dense"), p + "attention.output.LayerNorm")
            f = self._linear(x, p + "intermediate.dense")
            f = f * 0.5 * (1 + erf(f / np.sqrt(2)))
            x = self._norm(x + self._linear(f, p + "output.dense"), p + "output.LayerNorm")
        return x

    def embed(self, ids):
        mean = self.tokens(np.asarray(ids)).mean(0)
        return mean / max(np.linalg.norm(mean), 1e-12)
