"""Programs that take turns: each runs in a process of its own, and a block of one starts only when every thread of all
others is seen asleep, so that no side pays for another's spinning or warm caches."""
import os
import subprocess
import time

SLEEP_LIMIT_S = 5.0


class Side:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.samples, self.medians, self.p99, self.wall, self.cpu, self.runs = [], [], [], 0, 0, 0
        if self._answer() != ["ready"]:
            raise SystemExit(f"compare: {name} did not start")

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"compare: {self.name} ended early (exit code {self.process.wait()})")
        return line.split()

    def _ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self._answer()

    def block(self, ms, clients=1):
        """One block; the first run of each block is dropped."""
        answer = self._ask(f"block {ms}")
        values = [int(v) for v in answer[1:]]
        latencies = values[3:]
        kept = latencies[1:] if clients == 1 else latencies
        self.samples += kept
        kept = sorted(kept)
        self.medians.append(kept[len(kept) // 2])
        self.p99.append(kept[len(kept) * 99 // 100])
        self.runs += values[0]
        self.wall += values[1]
        self.cpu += values[2]
        return values[0] / (values[1] * 1e-9)

    def check(self, path):
        self._ask(f"check {path}")

    def _threads(self):
        base = f"/proc/{self.process.pid}/task"
        state = {}
        for task in os.listdir(base):
            try:
                with open(f"{base}/{task}/stat") as f:
                    fields = f.read().rpartition(")")[2].split()
                state[task] = (fields[0], fields[11], fields[12])
            except OSError:
                pass
        return state

    def wait_asleep(self):
        """Twice in a row every thread sleeps and has used no time between."""
        limit, before = time.monotonic() + SLEEP_LIMIT_S, None
        while time.monotonic() < limit:
            now = self._threads()
            asleep = all(s[0] == "S" for s in now.values())
            if asleep and now == before:
                return
            before = now if asleep else None
            time.sleep(0.001)
        raise SystemExit(f"compare: {self.name} does not go to sleep between its blocks")

    def close(self):
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()


def take_turns(sides, rounds, ms, clients=1):
    """The order rotates, so that no side always follows the same one. Returns runs per second: {name: [per round]}."""
    rates = {s.name: [] for s in sides}
    for r in range(rounds):
        for i in range(len(sides)):
            side = sides[(i + r) % len(sides)]
            for other in sides:
                other.wait_asleep()
            rates[side.name].append(side.block(ms, clients))
    return rates
