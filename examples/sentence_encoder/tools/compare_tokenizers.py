#!/usr/bin/env python3
"""Differential test of the tokenizer against the package `tokenizers`: every code point of Unicode, alone and beside
letters, accents and itself, and every line of a multilingual file. Exit code 0 = equal but for the known exceptions,
1 = a difference, 77 = the packages or the model are not here.
Usage: compare_tokenizers.py PROGRAM MODEL_DIR LINES.txt

The exceptions (unicode_exceptions.txt, ranges of code points) are characters that were added to Unicode, or changed
their category, after version 8.0, whose tables the package's categories are; we use utf8proc's newer ones."""
import os
import subprocess
import sys
import tempfile

try:
    from tokenizers import Tokenizer
except ImportError:
    print("compare_tokenizers: skipped, the package tokenizers is not installed (scripts/get_peers brings it)")
    sys.exit(77)


def run(program, model, text):
    with tempfile.NamedTemporaryFile("wb", suffix=".txt") as f:
        f.write(text.encode("utf-8"))
        f.flush()
        done = subprocess.run([program, "tokenize", "--model", model, "--input", f.name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare_tokenizers: the program failed: {done.stderr}")
    return done.stdout.split("\n")[:-1]


def differing(program, model, tokenizer, lines):
    ours = run(program, model, "".join(line + "\n" for line in lines))
    assert len(ours) == len(lines), (len(ours), len(lines))
    theirs = tokenizer.encode_batch([line.removesuffix("\r") for line in lines])
    return [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != " ".join(map(str, b.ids))]


def main():
    program, model, path = sys.argv[1:4]
    if not os.path.exists(os.path.join(model, "tokenizer.json")):
        print("compare_tokenizers: skipped, no model (scripts/get_model brings it)")
        return 77
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    with open(path, "rb") as f:
        lines = f.read().decode("utf-8").split("\n")[:-1]
    bad_lines = differing(program, model, tokenizer, lines)
    for i in bad_lines[:10]:
        print(f"line {i + 1} differs: {lines[i][:100]!r}")

    excepted = set()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "unicode_exceptions.txt")) as f:
        for line in f:
            if not line.startswith("#"):
                first, _, last = line.strip().partition("-")
                excepted.update(range(int(first, 16), int(last or first, 16) + 1))
    points = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000 and c != 10]
    words = [f"a{chr(c)}b x{chr(c)}{chr(c)} e{chr(c)}\u0301{chr(c)}\u0323 {chr(c)} ." for c in points]
    found = {points[i] for i in differing(program, model, tokenizer, words)}
    for c in sorted(found - excepted)[:50]:
        print(f"U+{c:04X} differs")
    print(f"compare_tokenizers: {len(lines)} lines, {len(bad_lines)} differ; {len(points)} code points, "
          f"{len(found - excepted)} differ, {len(found & excepted)} of {len(excepted)} exceptions do")
    return 1 if bad_lines or found - excepted else 0


sys.exit(main())
