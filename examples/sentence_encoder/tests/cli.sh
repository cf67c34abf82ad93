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
expect 1 "bad.txt:2: not UTF-8 at byte 5" embed --model "$model" --input "$work/bad.txt" --output "$x"
expect 1 "bad.txt:2: not UTF-8 at byte 5" search --model "$model" --input "$work/bad.txt" --query q
expect 1 "bad.txt:2: not UTF-8 at byte 5" tokenize --model "$model" --input "$work/bad.txt"
expect 1 "--query: " search --model "$model" --input "$lines" --query "$(printf '\377')"
head -c 1048577 /dev/zero | tr '\0' a >"$work/long.txt"
expect 1 "long.txt:1: 1048577 bytes, a line may have 1048576" embed --model "$model" --input "$work/long.txt" --output "$x"
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

# What is wrong in the text is repaired or left out where the user says so.
printf 'good\nbad \377 \342\202\n\n  \nlast\n' >"$work/mixed.txt"
expect 1 "mixed.txt:2: not UTF-8 at byte 5" embed --model "$model" --input "$work/mixed.txt" --output "$x" --errors strict
expect 0 "1 of 5 lines were not UTF-8 and were repaired" embed --model "$model" --input "$work/mixed.txt" --output "$x" --errors replace
grep -q "2 of 5 lines have no word" "$work/err" || fail "empty lines are not said: $(cat "$work/err")"
expect 0 "1 lines were not UTF-8 or too long and were left out" embed --model "$model" --input "$work/mixed.txt" --output "$x" --errors skip
expect 0 "	5	last" search --model "$model" --input "$work/mixed.txt" --errors skip --query last --top 1 --quiet
# Blank lines are nobody's answer.
expect 0 "" search --model "$model" --input "$work/mixed.txt" --errors skip --query last --top 5 --quiet
[ "$(cut -f2 "$work/out" | sort | tr -d '\n')" = 15 ] || fail "lines other than 1 and 5 are found: $(cat "$work/out")"
expect 0 "" tokenize --model "$model" --input "$work/mixed.txt" --errors skip
[ "$(wc -l <"$work/out")" -eq 4 ] || fail "tokenize --errors skip: $(cat "$work/out")"
expect 0 "" tokenize --model "$model" --input "$work/long.txt" --errors skip
[ "$(wc -l <"$work/out")" -eq 0 ] || fail "a line that is too long is left out"
expect 2 "--errors maybe: strict, replace or skip is needed" tokenize --model "$model" --input "$lines" --errors maybe
expect 2 "tokenize has no use for --query" tokenize --model "$model" --input "$lines" --query x
expect 2 "--engine tpu: cpu or gpu is needed" embed --model "$model" --input "$lines" --output "$x" --engine tpu
expect 2 "--threads is for the CPU" embed --model "$model" --input "$lines" --output "$x" --engine=gpu --threads 2
expect 2 "--pool is for the CPU" bench --model "$model" --pool none --engine=gpu
expect 2 "tokenize has no use for --engine" tokenize --model "$model" --input "$lines" --engine=gpu
rm "$x"
export CUDA_VISIBLE_DEVICES= # of a machine that has one
expect 1 "no GPU: " embed --model "$model" --input "$lines" --output "$x" --engine=gpu
unset CUDA_VISIBLE_DEVICES
nothing_left "no GPU"
expect 0 "" embed --model "$model" --input "$work/mixed.txt" --output "$x" --errors skip --engine=cpu --quiet
expect 0 "dnnl_tp" --version
rm "$x"

# Only regular files are replaced, an output is no input, and "-" is standard output.
head -n 20 "$lines" >"$work/some.txt"
expect 0 "" embed --model "$model" --input "$work/some.txt" --output "$x" --quiet
cp "$x" "$work/some.npy"
chmod 640 "$x"
ln -s x.npy "$work/result/link"
expect 0 "" embed --model "$model" --input "$work/some.txt" --output "$work/result/link" --quiet
[ -h "$work/result/link" ] && [ ! -h "$x" ] && cmp -s "$x" "$work/some.npy" || fail "a link is followed"
[ "$(stat -c %a "$x")" = 640 ] || fail "a file keeps its rights: $(stat -c %a "$x")"
rm "$x"
expect 0 "" embed --model "$model" --input "$work/some.txt" --output "$work/result/link" --quiet
[ -h "$work/result/link" ] && cmp -s "$x" "$work/some.npy" || fail "a link to nothing yet is followed"
rm "$work/result/link" "$x"
"$program" embed --model "$model" --input "$work/some.txt" --output - --quiet >"$work/out" || fail "--output -"
cmp -s "$work/out" "$work/some.npy" || fail "other bytes on standard output"
"$program" embed --model "$model" --input - --output - --quiet <"$work/some.txt" | cmp -s - "$work/some.npy" || fail "from - to -"
expect 0 "" embed --model "$model" --input "$work/some.txt" --output /dev/null --quiet --profile /dev/null
[ -c /dev/null ] || fail "/dev/null is no device any more"
expect 0 "" embed --model "$model" --input /dev/null --output /dev/null --quiet
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/piped" &
expect 0 "" embed --model "$model" --input "$work/some.txt" --output "$work/pipe" --quiet
wait
[ -p "$work/pipe" ] && cmp -s "$work/piped" "$work/some.npy" || fail "a pipe is written through"
if [ -c /dev/full ]; then
  expect 1 "cannot write: No space left" embed --model "$model" --input "$work/some.txt" --output /dev/full --quiet
  expect 1 "cannot write: No space left" tokenize --model "$model" --input "$work/some.txt" --output /dev/full
fi
cp "$work/some.txt" "$work/in.txt"
ln "$work/in.txt" "$work/in2.txt"
for same in in.txt in2.txt; do
  expect 1 "is also --input" embed --model "$model" --input "$work/in.txt" --output "$work/$same"
  expect 1 "is also --input" embed --model "$model" --input "$work/in.txt" --output "$x" --profile "$work/$same"
  expect 1 "is also --input" tokenize --model "$model" --input "$work/in.txt" --output "$work/$same"
done
"$program" embed --model "$model" --input - --output "$work/in.txt" <"$work/in.txt" >"$work/out" 2>&1 && fail "the file behind standard input"
cmp -s "$work/in.txt" "$work/some.txt" || fail "an input was written"
expect 1 "is also of the model" embed --model "$model" --input "$work/in.txt" --output "$model/vocab.txt"
expect 1 "is also --output" embed --model "$model" --input "$work/in.txt" --output "$x" --profile "$x"
expect 1 "--profile $work/none/t.json: cannot create" embed --model "$work/none" --input "$work/none" --output "$x" --profile "$work/none/t.json"
nothing_left "refused outputs"

# A search over what was saved finds what a search over the text finds.
query=$(sed -n 7p "$lines")
expect 0 "" search --model "$model" --input "$work/some.txt" --query "$query" --quiet
cp "$work/out" "$work/found"
expect 0 "" search --model "$model" --embeddings "$work/some.npy" --input "$work/some.txt" --query "$query" --quiet
cmp -s "$work/out" "$work/found" || fail "saved embeddings find $(cat "$work/out")"
expect 0 "" search --model "$model" --embeddings "$work/some.npy" --query "$query" --quiet
cut -f1,2 "$work/found" | cmp -s - "$work/out" || fail "saved embeddings without text find $(cat "$work/out")"
expect 1 "20 rows for the" search --model "$model" --embeddings "$work/some.npy" --input "$lines" --query "$query"
expect 1 "not an .npy matrix of float32" search --model "$model" --embeddings "$work/some.txt" --query "$query"
expect 2 "--input is missing" search --model "$model" --query "$query"

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
expect 0 "bf16: " bench --model "$model" --batch 2 --tokens 8 --seconds 0.05 --bf16
expect 2 "no use for --bf16" tokenize --model "$model" --input "$lines" --bf16
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
