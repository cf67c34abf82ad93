#!/usr/bin/env python3
"""Names that stand in pages and comments, but nowhere else: files and identifiers of the library that were renamed or
removed. Usage: names.py SOURCE_DIR. Prints each with its line; exit status 1 if there is one."""
import re
import subprocess
import sys
from pathlib import Path

CODE = {".c", ".h", ".hpp", ".cpp", ".inc", ".cu", ".cuh"}
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
NAME = re.compile(r"(?<![A-Za-z0-9_])(?:dtp|DTP|dnnl_tp|DNNL_TP)_[A-Za-z0-9_]*[A-Za-z0-9](?![A-Za-z0-9_*<]|-[a-z])")
FILE = re.compile(r"(?<![A-Za-z0-9_./*<>-])[a-z][A-Za-z0-9_/]*\.(?:c|h|hpp|inc|cu|cmake|py|md)(?![A-Za-z0-9_.(])")
# Files of others, and of the build folder.
ELSEWHERE = {"cuda.h", "cublasLt.h", "cudaTypedefs.h", "nvtxTypes.h", "c_api.h", "stdint.h", "stddef.h", "immintrin.h",
             "math.h", "dnnl.h", "dnnl.hpp", "dnnl_threadpool.hpp", "dnnl_debug.h", "format_tags.inc"}
HISTORY = {"CHANGELOG.md"}  # tells of what is gone


def main():
    root = Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        print("SKIPPED: no git checkout")
        return 0
    files = [f for f in listed.stdout.splitlines() if not f.startswith("tests/fuzz/corpus") and (root / f).is_file()]
    ends = {"/" + f for f in files}
    texts = {}
    for f in files:
        try:
            texts[f] = (root / f).read_text()
        except UnicodeDecodeError:
            pass
    known, beginnings = set(), set()
    for f, text in texts.items():
        if Path(f).suffix in CODE:
            text = COMMENT.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text)
        if not f.endswith(".md"):
            known.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
            beginnings.update(re.findall(r"([A-Za-z0-9_]*_) ?##", text))      # names that macros put together
            beginnings.update(re.findall(r"([A-Za-z0-9_]*_)[$@]\{?", text))   # and those that CMake does
    beginnings = tuple(b for b in beginnings if len(b) > 4)
    bad = []

    def look(f, at, text):
        for m in NAME.finditer(text):
            w = m.group()
            if w not in known and not w.startswith(beginnings) and w.removeprefix("DNNL_TP_") not in known:
                bad.append((f, at + text.count("\n", 0, m.start()), w))
        for m in FILE.finditer(text):
            w = m.group()
            if w.split("/")[-1] not in ELSEWHERE and not any(e.endswith("/" + w.removeprefix("oneapi/")) for e in ends):
                bad.append((f, at + text.count("\n", 0, m.start()), w))

    for f, text in texts.items():
        if f.endswith(".md") and f not in HISTORY:
            for m in re.finditer(r"`[^`\n]+`", text):
                look(f, 1 + text.count("\n", 0, m.start()), m.group())
        elif Path(f).suffix in CODE:
            for m in COMMENT.finditer(text):
                if m.group()[0] == "/":
                    look(f, 1 + text.count("\n", 0, m.start()), m.group())
    for f, line, w in bad:
        print(f"{f}:{line}: {w} is nowhere")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
