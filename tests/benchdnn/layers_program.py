#!/usr/bin/env python3
"""In the place of benchdnn: lists problems as the program in LAYERS_PROGRAM does, and makes up times. Our time of a layer is 10 us, the peer's
20 us with a policy active and 5 us with passive; calls are written to LAYERS_CALLS. A layer whose name is in LAYERS_REF runs a reference of the
peer; the first measurement of a call file is not quiet."""
import os, subprocess, sys

args = sys.argv[1:]
if '--mode=L' in args:
    sys.exit(subprocess.run([os.environ['LAYERS_PROGRAM'], *args]).returncode)
calls = os.environ['LAYERS_CALLS']
first = not os.path.exists(calls)
with open(calls, 'a') as f:
    f.write(' '.join(args) + '\n')
peer = 20 if '--peer-wait=active' in args else 5
note = 'not quiet' if first else 'peer ref' if args[-1] == os.environ.get('LAYERS_REF') else ''
table = next(a.split('=', 1)[1] for a in args if a.startswith('--perf-csv='))
with open(table, 'w') as f:
    f.write('class,threads,peer,impl,peer_impl,ours_us,peer_us,ratio,lo,hi,ours_min_us,peer_min_us,note,prb\n'
            f'x,2,peer,ours,theirs,10,{peer},{peer / 10},{peer / 10 - .1},{peer / 10 + .1},10,{peer},{note},x\n')
