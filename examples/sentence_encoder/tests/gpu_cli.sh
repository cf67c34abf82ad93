#!/bin/sh
# The program with --engine=gpu: it finds with a GPU what it finds without. Needs a device, or the driver for tests on LD_LIBRARY_PATH.
# Usage: gpu_cli.sh PROGRAM MAKE_TINY_MODEL LINES
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" "$work/model"
head -n 12 "$3" >"$work/lines"
query=$(sed -n 7p "$work/lines")
fail() {
  echo "FAILED: $*"
  exit 1
}

find_lines() {
  "$program" search --model "$work/model" --input "$work/lines" --query "$query" --top 5 --quiet "$@" | cut -f2
}
find_lines --threads 1 >"$work/expected"
find_lines --engine=gpu --clients 2 --batch 3 >"$work/found"
cmp "$work/expected" "$work/found" || fail "other lines with a GPU: $(cat "$work/found")"

for engine in cpu gpu; do
  "$program" embed --model "$work/model" --input "$work/lines" --output "$work/$engine.npy" --quiet --engine=$engine --profile "$work/$engine.txt"
  grep -q attention "$work/$engine.txt" || fail "no attention in the profile: $(cat "$work/$engine.txt")"
done
[ "$(wc -c <"$work/gpu.npy")" -eq "$(wc -c <"$work/cpu.npy")" ] || fail "another matrix with a GPU"
"$program" bench --model "$work/model" --batch 2 --tokens 8 --seconds 0.05 --engine=gpu --bf16 >"$work/out" 2>"$work/err"
grep -q "engine=gpu" "$work/out" || fail "bench says $(cat "$work/out")"
grep -q "^bf16: products are of bf16" "$work/err" || fail "bench --bf16 says $(cat "$work/err")"
echo "all passed"
