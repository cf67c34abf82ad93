"""Several models in one process on two threads (doc/several_models.md): Silero's speech detector, the face detector RFB-320 and
MiniLM, ours on one pool against ONNX Runtime's settings: a pool for each session, the global pool, one thread each.

  compare several    alone (a process with that model only), in turn (blocks of one model after another), run by run, all at once
"""
import argparse
import os
import pickle
import sys
import tempfile

import numpy as np

from compare import cpu_name, numbers
from compare_networks import INPUTS, LARGEST
from lockstep import Side
from networks import here, prepare, varied

MODELS = ["silero_vad_op18_ifless", "rfb_320", "minilm"]
SHORT = ["Silero", "RFB-320", "MiniLM"]
PEERS = ("ort-sessions", "ort-global", "ort-single")


class Several(Side):
    def _numbers(self, words):
        return [float(v) for v in words]

    def turn(self, k, ms):
        return self._numbers(self._ask(f"turn {k} {ms}")[1:])

    def chain(self, ms):
        text = " ".join(self._ask(f"chain {ms}")[1:])
        return [self._numbers(part.split()) for part in text.split("|")]

    def all(self, ms):
        return self._numbers(self._ask(f"all {ms}")[1:])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--block-ms", type=int, default=100)
    p.add_argument("--all-ms", type=int, default=300, help="length of a block in which all run at once")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--cpus", type=numbers, default=sorted(os.sched_getaffinity(0))[:2])
    o = p.parse_args()
    os.sched_setaffinity(0, o.cpus)
    print(f"machine: {cpu_name()}; processors used: {o.cpus}; load {os.getloadavg()[0]:.2f}; {o.rounds} rounds, blocks of {o.block_ms} ms")
    with tempfile.TemporaryDirectory() as work:
        got = [prepare(name, work) for name in MODELS]
        if None in got:
            raise SystemExit("compare: DNNL_TP_TEST_MODELS names no folder with the models")
        compare(o, work, [path for path, _ in got], [varied(feed, INPUTS) for _, feed in got])


def start(kind, work, feeds, o, paths, tag):
    path = os.path.join(work, tag + ".pickle")
    with open(path, "wb") as f:
        pickle.dump(feeds, f)
    return Several(f"{kind} {tag}", [sys.executable, os.path.join(here, "several_peer.py"), kind, path, str(o.threads), *paths])


def compare(o, work, paths, feeds):
    kinds, n = ("ours", *PEERS), len(paths)
    whole = {kind: start(kind, work, feeds, o, paths, "all") for kind in kinds}
    alone = [start("ours", work, [feeds[k]], o, [paths[k]], f"alone{k}") for k in range(n)]
    sides, first = [*whole.values(), *alone], None
    for s in whole.values():
        path = os.path.join(work, "check.npy")
        s._ask(f"check {path}")
        out = np.load(path).astype(np.float64)
        first = out if first is None else first
        if not np.linalg.norm(out - first) <= LARGEST * np.linalg.norm(first):
            raise SystemExit(f"compare: {s.name} differs from ours")

    def quiet():
        for s in sides:
            s.wait_asleep()

    by_alone, by_turn, by_chain = [[] for _ in range(n)], {k: [[] for _ in range(n)] for k in kinds}, {k: [[] for _ in range(n)] for k in kinds}
    at_once = {k: [] for k in kinds}
    for r in range(o.rounds):
        for k in range(n):  # alone and in turn stand side by side
            for step in ((0, 1) if r % 2 else (1, 0)):
                quiet()
                if step:
                    by_alone[k].append(alone[k].turn(0, o.block_ms))
                else:
                    by_turn["ours"][k].append(whole["ours"].turn(k, o.block_ms))
        order = [kinds[(i + r) % len(kinds)] for i in range(len(kinds))]
        for kind in order:
            for k in range(n if kind != "ours" else 0):
                quiet()
                by_turn[kind][k].append(whole[kind].turn(k, o.block_ms))
            quiet()
            for k, times in enumerate(whole[kind].chain(o.block_ms)):
                by_chain[kind][k].append(times[1:])
            quiet()
            at_once[kind].append(whole[kind].all(o.all_ms))

    def median(blocks):
        return float(np.median([np.median(b) for b in blocks])) * 1e-6

    def least(blocks):
        return min(min(b) for b in blocks) * 1e-6

    print(f"\nms, medians (minima)   {'':>14}" + "".join(f"{m:>20}" for m in SHORT))
    print(f"{'alone, ours':>37}" + "".join(f"{median(by_alone[k]):11.4f} ({least(by_alone[k]):.4f})" for k in range(n)))
    for kind in kinds:
        print(f"{'in turn, ' + kind:>37}" + "".join(f"{median(b):11.4f} ({least(b):.4f})" for b in by_turn[kind]))
    for kind in kinds:
        print(f"{'run by run, ' + kind:>37}" + "".join(f"{median(b):11.4f} ({least(b):.4f})" for b in by_chain[kind]))
    paired = [float(np.median([np.median(t) / np.median(a) for t, a in zip(by_turn["ours"][k], by_alone[k])])) for k in range(n)]
    minima = [least(by_turn["ours"][k]) / least(by_alone[k]) for k in range(n)]
    print(f"{'in turn / alone, ours':>37}" + "".join(f"{p:11.3f} ({m:.3f})" for p, m in zip(paired, minima)) + "   bar 1.03")
    rate = {kind: [float(np.median([row[k] for row in at_once[kind]])) for k in range(n)] for kind in kinds}
    alone_rate = [1e3 / median(by_alone[k]) for k in range(n)]
    print(f"\nall at once, runs/s    {'':>14}" + "".join(f"{m:>20}" for m in SHORT) + "   together (alone = 1)   cpu/wall")
    for kind in kinds:
        share = sum(r / a for r, a in zip(rate[kind], alone_rate))
        print(f"{kind:>37}" + "".join(f"{r:20.1f}" for r in rate[kind]) + f"{share:16.3f}{np.median([row[n] for row in at_once[kind]]):18.2f}")
    print(f"{'part of the fair share, ours':>37}" + "".join(f"{n * r / a:20.2f}" for r, a in zip(rate["ours"], alone_rate)) + "   bar 0.5")
    for kind in PEERS:
        ratios = [[a / b for a, b in zip(x[:n], y[:n])] for x, y in zip(at_once["ours"], at_once[kind])]
        geo = float(np.median([np.exp(np.mean(np.log(row))) for row in ratios]))
        work_ratio = float(np.median([sum(a / q for a, q in zip(x[:n], alone_rate)) / sum(b / q for b, q in zip(y[:n], alone_rate))
                                      for x, y in zip(at_once["ours"], at_once[kind])]))
        print(f"ours / {kind}: " + " ".join(f"{m} {np.median([row[k] for row in ratios]):.2f}" for k, m in enumerate(SHORT)) +
              f"; geometric mean {geo:.2f}, work done {work_ratio:.2f} (bar 1.25 against the best)")
    for s in sides:
        s.close()


if __name__ == "__main__":
    main()
