#!/bin/sh
# package_test.sh SOURCE_DIR WORK_DIR: builds the wheel, looks at what it needs of a system, installs it into a fresh virtual
# environment, and runs its tests there: with numpy alone, then with ml_dtypes; and where scripts/get_peers has been run, the
# names of onnxruntime beside onnxruntime. Skipped where scripts/get_wheel_tools has not been run.
set -eu
source=$1 work=$2
tools=$source/build/wheel_tools
if ! [ -e "$tools/installed.txt" ] || ! [ -d "$tools/wheels" ]; then # written last
  echo "SKIPPED: the tools that make wheels are not here; scripts/get_wheel_tools brings them"
  exit 0
fi
rm -rf "$work/dist" "$work/venv"
export CC="${CC:-cc}" CXX="${CXX:-c++}" # by the names that the other builds give them, or the cache takes them for others
"$tools/bin/pip" wheel --quiet --no-build-isolation --no-deps --no-index -w "$work/dist" \
  -C build-dir="$source/build/wheel" "$source" # as deep as the other builds, with which a compiler cache shares then
"$tools/bin/auditwheel" show "$work"/dist/*.whl | tee "$work/audit.txt"
tr '\n' ' ' <"$work/audit.txt" | grep -q 'following platform tag: "manylinux' || {
  echo "the wheel needs more than a manylinux system has"
  exit 1
}
python3 -m venv "$work/venv"
install() { "$work/venv/bin/pip" install --quiet --no-index --find-links "$work/dist" --find-links "$tools/wheels" "$@"; }
install dnnl_tp
for also in '' ml_dtypes; do
  [ -z "$also" ] || install $also
  for test in "$source"/tests/python/test_*.py; do
    (cd "$source/tests/python" && PYTHONDONTWRITEBYTECODE=1 timeout 900 "$work/venv/bin/python" -W error "$test")
  done
done
peers=$source/build/peers/bin/python
if [ -x "$peers" ]; then
  rm -rf "$work/beside"
  "$work/venv/bin/pip" install --quiet --no-index --no-deps --find-links "$work/dist" --target "$work/beside" dnnl_tp
  (cd "$source/tests/python" && PYTHONPATH="$work/beside" PYTHONDONTWRITEBYTECODE=1 timeout 900 "$peers" -W error test_ort.py)
fi
