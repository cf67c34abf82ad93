#!/usr/bin/env python3
"""The threading RFC's table: for each network and batch the sum of our layer times beside oneDNN's, on the same cores.

Each layer of benchdnn/inputs/*/layers_NETWORK is measured by benchdnn in a process of its own, in alternating blocks of both libraries, as often as
it differs; its time counts as often as the layer occurs. Layers that are in --out already are not measured again, so a run can be cut and gone
on with; --budget ends one by itself. The table comes from --out and says what it lacks.

Rows stand apart, in a table of their own, where the peer runs a reference or simple implementation or takes less than 2 us, or where the machine was not
quiet (these are measured again by the next run). The interval of a sum follows from those of its layers, as of independent errors; an entry is
short only if the upper end of its interval is below 1.
"""
import argparse, collections, csv, glob, math, os, re, shlex, subprocess, sys, tempfile, time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
INPUTS = os.path.join(ROOT, 'benchdnn', 'inputs')
ONE_IMAGE = {'unet_3d'}  # its tile at larger batches does not fit the memory of small machines
NUMBERS = ('ours_us', 'peer_us', 'ratio', 'lo', 'hi', 'ours_min_us', 'peer_min_us')

Layer = collections.namedtuple('Layer', 'name count args key')


def network_names():
    return sorted(os.path.basename(p)[len('layers_'):] for p in glob.glob(os.path.join(INPUTS, 'conv', 'layers_*')))


def layers(options, network, batch):
    """Layers of a network at a batch: benchdnn says how each problem is written."""
    found = []
    for path in sorted(glob.glob(os.path.join(INPUTS, '*', f'layers_{network}'))):
        driver = os.path.basename(os.path.dirname(path))
        if options.drivers and driver not in options.drivers:
            continue
        how = [] if driver == 'binary' else [f'--mb={batch}']
        if driver == 'conv':
            how.append(f'--alg={options.alg}')
        listed = subprocess.run([options.program, '--mode=L', f'--{driver}', *how, f'--batch=layers_{network}'], check=True,
                                capture_output=True, text=True).stdout
        for line in re.findall(r'__REPRO: --mode=L (.*)', listed):
            if driver == 'binary':
                line = re.sub(r'\b1x(?=\d+x\d+x\d+)', f'{batch}x', line)
            problem, name, count = re.fullmatch(r'(.*?)_?n"[^:]*:(.*)\*(\d+)"', line).groups()
            found.append(Layer(f'{driver} {name}', int(count), shlex.split(problem), problem))
    return found


def measure(options, layer, wait):
    """One row of benchdnn's CSV, or what it said."""
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, 'row.csv')
        command = [options.program, '--mode=P', f'--peer=onednn:{options.peer}', f'--threads={options.threads}', '--summary=no-impl',
                   f'--max-ms-per-prb={options.ms}', f'--perf-csv={table}']
        command += [f'--isa={options.isa}'] if options.isa else []
        command += [f'--peer-wait={wait}'] if options.threads > 1 else []
        run = subprocess.run(command + layer.args, capture_output=True, text=True)
        rows = list(csv.DictReader(open(table))) if os.path.exists(table) else []
    return (rows[0], '') if rows else (None, (run.stdout + run.stderr)[-300:])


def setting(options, wait):
    return f'{options.threads} threads, {options.isa or "any isa"}, {wait}'


def load(path):
    if not os.path.exists(path):
        return {}
    return {(r['setting'], r['key']): r for r in csv.DictReader(open(path))}


def append(path, row):
    new = not os.path.exists(path)
    with open(path, 'a', newline='') as f:
        out = csv.DictWriter(f, row)
        if new:
            out.writeheader()
        out.writerow(row)


def collect(options):
    begin, rows = time.time(), load(options.out)
    todo = []
    for batch in options.batches:
        for network in options.networks:
            if batch == 1 or network not in ONE_IMAGE:
                for layer in layers(options, network, batch):
                    todo += [(wait, layer) for wait in options.waits]
    todo = list({(setting(options, wait), layer.key): (wait, layer) for wait, layer in todo}.values())
    todo = [(w, l) for w, l in todo if rows.get((setting(options, w), l.key), {'note': 'not quiet'})['note'] == 'not quiet']
    for i, (wait, layer) in enumerate(todo):
        if options.budget and time.time() - begin > options.budget:
            print(f'stopped after {time.time() - begin:.0f} s, {len(todo) - i} measurements left: run it again to go on')
            break
        row, said = measure(options, layer, wait)
        if not row:
            print(f'{layer.name}: no figure: {said}', file=sys.stderr)
            continue
        append(options.out, {'setting': setting(options, wait), 'key': layer.key, **row})
        if sys.stderr.isatty():
            print(f'\r{i + 1} of {len(todo)}, {layer.name:40}', end='', file=sys.stderr)


class Sum:
    def __init__(self):
        self.layers, self.total, self.variance = 0, dict.fromkeys(NUMBERS, 0.0), 0.0

    def add(self, row, count):
        v = {k: float(row[k]) for k in NUMBERS}
        self.layers += count
        for k in NUMBERS:
            self.total[k] += count * v[k]
        self.total['ratio'] += count * v['ours_us'] * v['ratio'] - count * v['ratio']
        self.variance += (count * v['ours_us'] * (v['hi'] - v['lo']) / (2 * 1.96)) ** 2

    def ratio(self):
        """Ratio of the sums, as the mean of the layers' ratios weighted by our times, and its interval."""
        mean, half = self.total['ratio'] / self.total['ours_us'], 1.96 * math.sqrt(self.variance) / self.total['ours_us']
        return mean, mean - half, mean + half

    def least(self):
        return self.total['peer_min_us'] / self.total['ours_min_us']


def ms(us):
    return f'{us / 1e3:.3g}'


def report(options):
    rows, apart, worst, short = load(options.out), [], [], 0
    versions = sorted({r['peer'] for r in rows.values()})
    print(f'oneDNN: {"; ".join(versions)}; {options.threads} thread(s), isa {options.isa or "any"}, convolutions {options.alg}; '
          'ratio = its time / ours, with the 95 % interval; ms')
    columns = ''.join(f' ours | oneDNN {w} | ratio | of the minima | short |' for w in options.waits)
    print(f'\n| network | batch | layers |{columns}\n|---|---|---|{"---|" * 5 * len(options.waits)}')
    for network in options.networks:
        for batch in options.batches:
            if batch > 1 and network in ONE_IMAGE:
                continue
            cells, counts, all_layers = '', set(), layers(options, network, batch)
            for wait in options.waits:
                s, others, missing = Sum(), {}, 0
                for layer in all_layers:
                    row = rows.get((setting(options, wait), layer.key))
                    if not row:
                        missing += layer.count
                    elif row['note']:
                        others.setdefault(row['note'], Sum()).add(row, layer.count)
                    else:
                        s.add(row, layer.count)
                        worst.append((float(row['hi']), f'{network}, batch {batch}, {wait}: {layer.name}: {row["ratio"]} '
                                      f'[{row["lo"]}, {row["hi"]}], minima {float(row["peer_min_us"]) / float(row["ours_min_us"]):.3f}, '
                                      f'{float(row["ours_us"]):.0f} us x {layer.count}; peer {row["peer_impl"]}; {layer.key}'))
                apart += [(network, batch, wait, note, o) for note, o in others.items()]
                counts.add(f'{s.layers}' + (f', {missing} missing' if missing else ''))
                if not s.layers:
                    cells += ' | | | | |'
                    continue
                mean, lo, hi = s.ratio()
                short += hi < 1
                cells += (f' {ms(s.total["ours_us"])} | {ms(s.total["peer_us"])} | {mean:.3f} [{lo:.3f}, {hi:.3f}] | {s.least():.3f} | '
                          f'{"short" if hi < 1 else "no"} |')
            print(f'| {network} | {batch} | {" / ".join(sorted(counts))} |{cells}')
    print(f'\nentries that fall short: {short}')
    if apart:
        print('\n| kept apart: network | batch | policy | why | layers | ours | oneDNN |\n|---|---|---|---|---|---|---|')
        for network, batch, wait, note, o in apart:
            print(f'| {network} | {batch} | {wait} | {note} | {o.layers} | {ms(o.total["ours_us"])} | {ms(o.total["peer_us"])} |')
    if options.worst and worst:
        print('\nlayers, worst first:')
        for _, text in sorted(worst)[:options.worst]:
            print(' ', text)


def main():
    def words(text):
        return text.split(',')

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--networks', type=words, default=network_names())
    p.add_argument('--batches', type=lambda t: [int(n) for n in words(t)], default=[1, 8, 64])
    p.add_argument('--drivers', type=words, help='only these, for example conv')
    p.add_argument('--waits', type=words, help='active, passive or both: OMP_WAIT_POLICY of the peer; one thread does not wait')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--isa', help='avx2 or avx512: limit of both')
    p.add_argument('--alg', default='direct', help='of convolutions, for both: direct, or auto, the choice of each library')
    p.add_argument('--ms', type=int, default=600, help='for a layer; at least five blocks of 50 ms on each side')
    p.add_argument('--budget', type=float, help='seconds, then stop; a layer that is being measured ends first')
    p.add_argument('--out', default=os.path.join(ROOT, 'build', 'compare_layers.csv'))
    p.add_argument('--report', action='store_true', help='only the table of what --out holds')
    p.add_argument('--worst', type=int, default=10, help='so many layers, by the upper end of their interval')
    p.add_argument('--program', default=os.path.join(ROOT, 'build', 'default', 'benchdnn', 'benchdnn'))
    p.add_argument('--peer', help='libdnnl.so.3')
    options = p.parse_args()
    options.waits = (options.waits or ['active', 'passive']) if options.threads > 1 else ['alone']
    if not options.report:
        collect(options)
    report(options)


if __name__ == '__main__':
    main()
