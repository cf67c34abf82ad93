#!/bin/sh
# The program as a person meets it: exit codes, one clear line on errors, nothing half-written.
# Usage: cli.sh PROGRAM MAKE_TINY_MODEL LINES
set -u
program=$1 lines=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
model=$work/model
failures=0
"$2" "$model" || exit 1

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# expect CODE TEXT ARGS...: the exit code, TEXT somewhere in the output, one line on standard error when it fails.
expect() {
  code=$1 text=$2
  shift 2
  "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ $got -eq "$code" ] || fail "exit code $got, expected $code: $* ($(cat "$work/err"))"
  if [ -n "$text" ] && ! cat "$work/out" "$work/err" | grep -qF -- "$text"; then
    fail "no '$text' from: $* (got: $(head -c 300 "$work/err"))"
  fi
  if [ "$code" -ne 0 ] && [ "$(wc -l <"$work/err")" -ne 1 ]; then fail "not one line of error from: $*"; fi
}
nothing_left() {
  left=$(ls "$work/result" | wc -l)
  [ "$left" -eq 0 ] || fail "files left after $1: $(ls "$work/result")"
}
mkdir "$work/result"
x=$work/result/x.npy

expect 0 "sentence_encoder embed" --help
expect 2 "one command is needed"
expect 2 "unknown command" fly
expect 2 "unknown or incomplete option" embed --nonsense
expect 2 "--output is missing" embed --model "$model" --input "$lines"
expect 1 "cannot open" embed --model "$work/none" --input "$lines" --output "$x"
expect 1 "cannot open" embed --model "$model" --input "$work/none" --output "$x"
expect 1 "cannot create" embed --model "$model" --input "$lines" --output "$work/none/x.npy"
expect 1 "is a folder" embed --model "$model" --input "$lines" --output "$work/result"
nothing_left "wrong paths"

printf 'good\nbad \377\n' >"$work/bad.txt"
expect 1 "line 2: not UTF-8 at byte 5" embed --model "$model" --input "$work/bad.txt" --output "$x"
expect 1 "line 2: not UTF-8 at byte 5" search --model "$model" --input "$work/bad.txt" --query q
expect 1 "line 2: not UTF-8 at byte 5" tokenize --model "$model" --input "$work/bad.txt"
expect 1 "--query: " search --model "$model" --input "$lines" --query "$(printf '\377')"
head -c 1048577 /dev/zero | tr '\0' a >"$work/long.txt"
expect 1 "line 1: 1048577 bytes, a line may have 1048576" embed --model "$model" --input "$work/long.txt" --output "$x"
expect 1 "more than 48 tokens" embed --strict --model "$model" --input "$lines" --output "$x"
nothing_left "wrong input"

for size in 0 7 8 100 5000 20000; do
  cp -r "$model" "$work/cut"
  head -c "$size" "$model/model.safetensors" >"$work/cut/model.safetensors"
  expect 1 "model.safetensors" embed --model "$work/cut" --input "$lines" --output "$x"
  rm -r "$work/cut"
done
cp -r "$model" "$work/other"
sed 's/BertModel/LlamaModel/' "$model/config.json" >"$work/other/config.json"
expect 1 'architecture "LlamaModel" is unknown' embed --model "$work/other" --input "$lines" --output "$x"
nothing_left "wrong models"

# The same bytes whatever the threads, the pool, the batch and the clients; also from a pipe.
expect 0 "lines are longer than the model's 48 tokens" embed --model "$model" --input "$lines" --output "$x" --threads 1 --pool none
cp "$x" "$work/first.npy"
pools=${SE_POOLS:-own builtin}
for pool in $pools; do
  for threads in 1 2 5; do
    expect 0 "" embed --model "$model" --input "$lines" --output "$x" --quiet --threads $threads --pool "$pool" --clients $threads --batch $((threads * 3))
    cmp -s "$x" "$work/first.npy" || fail "other bytes with pool $pool, $threads threads"
  done
done
"$program" embed --model "$model" --input - --output "$x" --quiet <"$lines" || fail "standard input"
cmp -s "$x" "$work/first.npy" || fail "other bytes from standard input"
[ "$(ls "$work/result")" = x.npy ] || fail "more than the result: $(ls "$work/result")"
: >"$work/empty.txt"
expect 0 "" embed --model "$model" --input "$work/empty.txt" --output "$x" --quiet
[ "$(wc -c <"$x")" -eq 128 ] || fail "an empty file gives an empty matrix"
rm "$x"

# A line is nearest to itself.
query=$(sed -n 7p "$lines")
expect 0 "	7	$query" search --model "$model" --input "$lines" --query "$query" --top 1 --quiet
grep -q '^1\.0000	' "$work/out" || fail "cosine to itself is $(cat "$work/out")"
expect 0 "" search --model "$model" --input "$lines" --query "$query" --top 3 --quiet
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "three lines wanted"

expect 0 "" embed --model "$model" --input "$lines" --output "$x" --quiet --profile "$work/result/trace.json"
if command -v python3 >/dev/null; then
  python3 - "$work/result/trace.json" <<'PYTHON' || fail "the trace is not what Perfetto reads"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
nodes = [e for e in events if e["ph"] == "X" and e["cat"] == "node"]
assert len(nodes) > 100 and all(e["dur"] >= 0 and e["ts"] >= 0 and e["name"] for e in nodes)
PYTHON
fi
rm "$x" "$work/result/trace.json"
expect 1 "cannot create" embed --model "$model" --input "$lines" --output "$x" --quiet --profile "$work/none/trace.json"
nothing_left "an unwritable trace"
expect 0 "bench batch=2 tokens=8" bench --model "$model" --batch 2 --tokens 8 --seconds 0.05
expect 0 "executables=3" bench --model "$model" --batch 2 --tokens 8 --fresh 3
printf 'block 5\ncheck %s\nquit\n' "$x" | "$program" bench --model "$model" --batch 2 --tokens 8 --step --clients 2 >"$work/out" || fail "bench --step"
[ "$(cut -d' ' -f1 "$work/out" | tr '\n' ' ')" = "ready block check " ] || fail "bench --step says $(cut -c1-100 "$work/out")"
rm -f "$x"

# Interrupted in the middle: exit code 130, and no file.
i=0
while [ $i -lt 12 ]; do
  cat "$lines"
  i=$((i + 1))
done >"$work/1.txt"
i=0
while [ $i -lt 20 ]; do
  cat "$work/1.txt"
  i=$((i + 1))
done >"$work/many.txt"
"$program" embed --model "$model" --input "$work/many.txt" --output "$x" --quiet --batch 1 2>"$work/err" &
child=$!
i=0
while [ -z "$(ls "$work/result")" ] && [ $i -lt 100 ]; do
  sleep 0.05
  i=$((i + 1))
done
kill -TERM $child
wait $child
code=$?
[ $code -eq 130 ] || fail "exit code $code after a signal: $(cat "$work/err")"
nothing_left "a signal"

[ $failures -eq 0 ] && echo "all passed"
exit $failures
