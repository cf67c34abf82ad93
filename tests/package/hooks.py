#!/usr/bin/env python3
"""Rules of test hooks and of atomics (doc/model_checks.md). Usage: hooks.py SOURCE_DIR. Prints what breaks one; exit status 1
if something does."""
import re
import sys
from pathlib import Path

# Builtins on words that are not _Atomic: the program's, or such as are read while another thread may write them.
BUILTINS = {"src/common/base/base.h", "src/exec/graph/run_memory.c", "src/exec/run/frames.c", "src/exec/run/run.h",
            "src/exec/run/run_object.c", "src/exec/run/trace.c"}
MACROS = "src/threading/base/atomics.h"
OPERATION = r"\batomic_(?:load|store|exchange|compare_exchange|fetch)[a-z_]*\("


def main():
    root, bad = Path(sys.argv[1]), []
    lists = "\n".join(p.read_text() for p in (root / "tests").glob("*.cmake"))
    rules = set(re.findall(r"(?<![A-Za-z0-9_])[A-Z0-9][A-Z0-9_]+(?![A-Za-z0-9_])", lists))
    for path in sorted((root / "src").rglob("*.[ch]")):
        name, text = str(path.relative_to(root)), path.read_text()
        for rule in set(re.findall(r"\bDTP_BREAK_([A-Z0-9_]+)", text)):
            if rule not in rules:
                bad.append(f"{name}: no test builds DTP_BREAK_{rule}")
        if re.search(r"\b__(?:atomic|sync)_[a-z]", text) and name not in BUILTINS:
            bad.append(f"{name}: a builtin; C11's operations, or the macros of {MACROS}")
        if name != MACROS and re.search(r"\bDTP_(?:LOAD|STORE|SWAP|CAS|CAS_WEAK)\(", text):
            for line in sorted({text.count("\n", 0, m.start()) + 1 for m in re.finditer(OPERATION, text)}):
                bad.append(f"{name}:{line}: this file has the macros of {MACROS}, so it has nothing else")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
