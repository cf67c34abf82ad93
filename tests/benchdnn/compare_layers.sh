#!/usr/bin/env bash
# compare_layers.sh PYTHON COMPARE_LAYERS BENCHDNN: a run that is cut goes on and measures each different layer once for each
# policy, what was not quiet again; sums count layers as often as they occur; entries above and below 1; rows apart.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$1 compare=$2 work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LAYERS_PROGRAM=$3 LAYERS_CALLS=$work/calls LAYERS_REF=mb8ic1280oc1000
run() {
  "$python" "$compare" --program "$here/layers_program.py" --peer none --networks mobilenet_v2 --batches 1,8 --out "$work/rows.csv" "$@"
}
fail() {
  echo "$1"
  cat "$work/out"
  exit 1
}
run --budget 1e-9 >"$work/out"
[ ! -e "$work/calls" ] || fail "a run without time measured"
grep -q 'run it again to go on' "$work/out" || fail "it does not say that it goes on"
run --budget 0.3 >"$work/out"
run >"$work/out"
run >"$work/out"
total=$(wc -l <"$work/calls")
different=$(sort -u <(sed 's/--perf-csv=[^ ]*//' "$work/calls") | wc -l)
[ "$total" = "$((different + 1))" ] || fail "$total measurements of $different, and one that was not quiet"
[ "$different" = 128 ] || fail "$different measurements: 32 layers, 2 batches, 2 policies"
grep -q '| mobilenet_v2 | 1 | 54 | 0.54 | 1.08 | 2.000 \[1.9.*\] | 2.000 | no | 0.54 | 0.27 | 0.500 \[0.4.*\] | 0.500 | short |' "$work/out" ||
  fail "the sums of batch 1 are wrong"
grep -q '| mobilenet_v2 | 8 | 53 |' "$work/out" || fail "the row of the reference is not apart"
grep -q '| mobilenet_v2 | 8 | passive | peer ref | 1 | 0.01 | 0.005 |' "$work/out" || fail "the row of the reference is not shown"
grep -q 'entries that fall short: 2' "$work/out" || fail "two entries fall short"
