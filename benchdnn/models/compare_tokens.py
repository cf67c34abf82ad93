"""Tokens a second of decoders with a cache of keys and values beside ONNX Runtime, in turns; the least time of each side counts.
  compare tokens [--layers 4,12] [--clients 1,8] [--threads 1,2] [--hidden 512] [--tokens 200] [--rounds 3] [--style llama]
The models are those of examples/generate/tools/export.py. ONNX Runtime gets the past as OrtValues, which it gave itself, so that
nothing is copied between runs; its clients are threads of one session. A token of a client is the mean over its tokens behind
the first one. The time to the first token begins with the file: each side opens, packs and compiles when it likes."""
import argparse
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import onnxruntime as ort

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMPT = [5, 17, 200, 3, 9]


def ours(model, threads, clients, tokens):
    """Tokens a second of all clients, milliseconds from the file to the first token."""
    program = os.path.join(root, "build/default/bin/generate")
    r = subprocess.run([program, model, "--quiet", "--prompt", ",".join(map(str, PROMPT)), "--tokens", str(tokens), "--threads",
                        str(threads), "--clients", str(clients)], check=True, capture_output=True, text=True)
    opened, first, rate = re.search(r"opened in ([0-9.]+) ms, first token ([0-9.]+) ms, then ([0-9.]+) tokens/s", r.stderr).groups()
    return float(rate), float(opened) + float(first)


class Peer:
    def __init__(self, model, threads):
        options = ort.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads, options.inter_op_num_threads = 3, threads, 1
        begin = time.perf_counter()
        self.s = ort.InferenceSession(model, options)
        self.opened_ms = 1e3 * (time.perf_counter() - begin)
        self.outputs = [o.name for o in self.s.get_outputs()]
        self.pasts = {i.name: (1, i.shape[1], 0, i.shape[3]) for i in self.s.get_inputs() if "past" in i.name}
        self.has_mask = any(i.name == "attention_mask" for i in self.s.get_inputs())

    def client(self, tokens, begin, times):
        value = ort.OrtValue.ortvalue_from_numpy
        past = {n: value(np.zeros(shape, np.float32)) for n, shape in self.pasts.items()}
        new, n = PROMPT, 0
        begin.wait()
        start = time.perf_counter()
        for k in range(tokens):
            n += len(new)
            feeds = {"input_ids": value(np.array([new], np.int64)), **past}
            if self.has_mask:
                feeds["attention_mask"] = value(np.ones((1, n), np.int64))
            y = dict(zip(self.outputs, self.s.run_with_ort_values(self.outputs, feeds)))
            new = [int(y["logits"].numpy()[0, -1].argmax())]
            past = {name: y[name.replace("past_key_values", "present")] for name in past}
            if not k:
                first = time.perf_counter()
        times.append((first - start, time.perf_counter() - first))

    def run(self, clients, tokens):
        begin, times = threading.Barrier(clients), []
        all_of_them = [threading.Thread(target=self.client, args=(tokens, begin, times)) for _ in range(clients)]
        for t in all_of_them:
            t.start()
        for t in all_of_them:
            t.join()
        return clients * (tokens - 1) / max(t[1] for t in times), self.opened_ms + 1e3 * max(t[0] for t in times)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole = lambda text: [int(n) for n in text.split(",")]
    p.add_argument("--style", default="llama")
    for name, value in (("layers", "4,12"), ("clients", "1,8"), ("threads", "1,2")):
        p.add_argument(f"--{name}", type=whole, default=whole(value))
    for name, value in (("hidden", 512), ("vocabulary", 8192), ("tokens", 200), ("rounds", 3)):
        p.add_argument(f"--{name}", type=int, default=value)
    a = p.parse_args()
    work = os.path.join(root, "build/tokens")
    os.makedirs(work, exist_ok=True)
    print(f"{a.style}, hidden {a.hidden}, vocabulary {a.vocabulary}, {a.tokens} tokens behind {len(PROMPT)}; ONNX Runtime "
          f"{ort.__version__}; best of {a.rounds} rounds")
    print("| layers | threads | clients | tokens/s | ONNX Runtime | ratio | file to first token, ms | ONNX Runtime |")
    print("|---" * 8 + "|")
    for layers in a.layers:
        model = os.path.join(work, f"{a.style}_{layers}_{a.hidden}_{a.vocabulary}.onnx")
        subprocess.run([sys.executable, os.path.join(root, "examples/generate/tools/export.py"), model, "--style", a.style,
                        "--layers", str(layers), "--hidden", str(a.hidden), "--vocabulary", str(a.vocabulary)], check=True)
        for threads in a.threads:
            peer = Peer(model, threads)
            for clients in a.clients:
                best = [[0, np.inf], [0, np.inf]]
                for _ in range(a.rounds):
                    for side, got in ((0, ours(model, threads, clients, a.tokens)), (1, peer.run(clients, a.tokens))):
                        best[side] = [max(best[side][0], got[0]), min(best[side][1], got[1])]
                (rate, first), (their_rate, their_first) = best
                print(f"| {layers} | {threads} | {clients} | {rate:.0f} | {their_rate:.0f} | {rate / their_rate:.2f} | "
                      f"{first:.1f} | {their_first:.1f} |", flush=True)


if __name__ == "__main__":
    main()
