#!/bin/sh
# jax_test.sh SOURCE_DIR BUILD_DIR C_COMPILER STATIC_LIBRARY POOL_CHECK_LIBRARY WORK_DIR: builds the handlers against the headers of jaxlib and
# runs jax programs with them, with 1 and 2 threads of XLA. Skipped where scripts/get_jax has not been run.
set -eu
source=$1 build=$2 cc=$3 library=$4 pool_check=$5 work=$6
python=$source/build/jax/bin/python
if ! [ -e "$source/build/jax/installed.txt" ]; then # written last
  echo "SKIPPED: jax is not here; scripts/get_jax brings it"
  exit 0
fi
headers=$("$python" -c 'import jax; print(jax.ffi.include_dir())')
mkdir -p "$work"
"$cc" -shared -fPIC -O2 -Wall -Wextra -D_GNU_SOURCE -fvisibility=hidden -Wl,-Bsymbolic -I"$headers" \
  -I"$source/integrations" -I"$source/include" -I"$build/include" -I"$source/src" -I"$source/tests" \
  -o "$work/jax_probe.so" "$source/tests/integrations/jax_probe.c" "$pool_check" "$library" -lm -pthread
for threads in 1 2; do
  NPROC=$threads JAX_PLATFORMS=cpu PYTHONPATH="$source/integrations/jax" timeout 900 \
    "$python" "$source/tests/integrations/jax_test.py" "$work/jax_probe.so"
done
