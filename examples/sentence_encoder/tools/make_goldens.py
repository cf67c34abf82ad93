#!/usr/bin/env python3
"""Writes the committed goldens of the sentence encoder's tests into tests/data. Needs numpy, safetensors, tokenizers.
Usage: make_goldens.py MODEL_DIR TINY_DIR   (TINY_DIR from the program make_tiny_model)

*.ids: for each line of data/lines.txt the ids that the package `tokenizers` gives, without padding, truncated at the
folder's max_seq_length. *.embeddings: for some lines their number (from 1) and the float64 embedding."""
import json
import os
import sys

from tokenizers import BertWordPieceTokenizer, Tokenizer

from bert_f64 import Bert

here = os.path.dirname(os.path.abspath(__file__))
data = os.path.join(here, "..", "tests", "data")


def read_lines():
    with open(os.path.join(here, "..", "data", "lines.txt"), "rb") as f:
        return [line.removesuffix("\r") for line in f.read().decode("utf-8").split("\n")[:-1]]


def make(name, folder, tokenizer, chosen):
    with open(os.path.join(folder, "sentence_bert_config.json")) as f:
        limit = json.load(f)["max_seq_length"]
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    lines = read_lines()
    ids = [e.ids for e in tokenizer.encode_batch(lines)]
    with open(os.path.join(data, name + ".ids"), "w") as f:
        for row in ids:
            f.write(" ".join(map(str, row)) + "\n")
    bert = Bert(folder)
    with open(os.path.join(data, name + ".embeddings"), "w") as f:
        for line in chosen:
            f.write(f"{line + 1} " + " ".join(f"{v:.12g}" for v in bert.embed([ids[line]])[0]) + "\n")


model, tiny = sys.argv[1:3]
os.makedirs(data, exist_ok=True)
n = len(read_lines())
# The package's tokenizer.json does not name max_seq_length of the folder, and nothing of it differs otherwise.
make("minilm", model, Tokenizer.from_file(os.path.join(model, "tokenizer.json")), [0, 1, 60, 200, 333, 480, 700, 950, n - 90, n - 20])
make("tiny", tiny, BertWordPieceTokenizer(os.path.join(tiny, "vocab.txt"), lowercase=True), [*range(12), *range(50, n, 97), *range(n - 60, n)])
