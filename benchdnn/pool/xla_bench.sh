#!/bin/sh
# benchdnn/pool/xla_bench.sh [THREADS [MS]]: loops of the library on XLA's pool beside loops written for that pool, inside a jax
# program. Needs scripts/get_jax and a Release build in build/default.
set -eu
cd "$(dirname "$0")/../.."
threads=${1:-2} ms=${2:-50}
python=build/jax/bin/python
[ -x "$python" ] || { echo "xla_bench: jax is not here; scripts/get_jax brings it" >&2; exit 1; }
headers=$("$python" -c 'import jax; print(jax.ffi.include_dir())')
work=build/default/benchdnn/pool
${CC:-cc} -shared -fPIC -O2 -Wall -Wextra -D_GNU_SOURCE -DDTP_X64="$([ "$(uname -m)" = x86_64 ] && echo 1 || echo 0)" \
  -fvisibility=hidden -Wl,-Bsymbolic -I"$headers" -Iintegrations -Iinclude -Ibuild/default/include -Isrc -Ibenchdnn \
  -o "$work/xla_bench.so" benchdnn/pool/xla_bench.c benchdnn/pool/loops.c benchdnn/pool/work.c benchdnn/common/timing.c "$(find build/default -name libdnnl_tp.a | head -1)" \
  -lm -pthread
NPROC=$threads JAX_PLATFORMS=cpu "$python" - "$work/xla_bench.so" "$ms" <<'END'
import ctypes, sys
import jax, numpy as np
library = ctypes.CDLL(sys.argv[1])
library.xla_bench_ms(int(sys.argv[2]))
jax.ffi.register_ffi_target("loops", jax.ffi.pycapsule(library.dnnl_tp_jax_loops), platform="cpu")
one = jax.ShapeDtypeStruct((1,), np.float32)
jax.jit(lambda x: jax.ffi.ffi_call("loops", one)(x))(np.zeros(1, np.float32)).block_until_ready()
END
