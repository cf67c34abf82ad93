#!/bin/sh
# onnx_run as a person meets it: results, verdicts, exit codes, one clear line on errors, files that stay whole.
# Usage: cli.sh PROGRAM MODELS (tests/fuzz/corpus/onnx) [TEST-DATA-FOLDER]; POOLS: kinds to try.
set -u
program=$1 models=$2 data=${3-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# expect CODE TEXT ARGS...: the exit code, TEXT somewhere in the output, one line on standard error when it fails.
expect() {
  code=$1 text=$2
  shift 2
  timeout 60 "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  [ $got -eq "$code" ] || fail "exit code $got, expected $code: $* ($(cat "$work/err"))"
  if [ -n "$text" ] && ! cat "$work/out" "$work/err" | grep -qF -- "$text"; then
    fail "no '$text' from: $* (got: $(head -c 600 "$work/out" "$work/err"))"
  fi
  if [ "$code" -ne 0 ] && [ "$(wc -l <"$work/err")" -ne 1 ]; then fail "not one line of error from: $*"; fi
}
relu=$models/Relu x=$work/x.npy y=$work/y.npy

# Every option is in the help, and the help says the truth about each.
expect 0 "onnx_run MODEL [options]" --help
for option in $(grep -o '^  --[a-z0-9]*' "$work/out"); do
  case $option in
  --help | --version | --quiet | --bf16 | --profile) ;;
  *) expect 2 "$option: a value is missing" "$relu" "$option" ;;
  esac
done
expect 0 "onnx_run 0." --version
expect 2 "no model is given"
expect 2 "there is no such option" "$relu" --nonsense x
expect 2 "there is no such option" "$relu" --nonsense
expect 2 "there is no such option" "$relu" --bf16=1
expect 2 "the model is $relu already" "$relu" other
expect 2 "a whole number in 1..256 is needed" "$relu" --threads 0
expect 2 "a whole number" "$relu" --repeat 1x
expect 2 "NAME=VALUE is needed" "$relu" --input x.npy
expect 2 "this build has none" "$relu" --pool fast
expect 2 "that is not negative" "$relu" --rtol nan
expect 2 "--dim n: it is given twice" "$relu" --dim n=3 --dim n=4
expect 2 "--output y: it is given twice" "$relu" --dim n=3 --output "y=$x" --output "y=$y"
expect 2 "--dim n x: a whole number" "$relu" --dim n=x
for nothing in --output=y= --input=x= --dot= --profile= --labels= --dim=n=; do
  expect 2 "a value is missing" "$relu" "$nothing"
done
expect 2 "--top K is needed, too" "$relu" --dim n=3 --labels "$relu"
expect 0 "output 'y': f32[3, 4]" "$relu" --dim=n=3 --threads=2 --rtol=1e-2

# Runs: the output of one is the input of the next.
expect 0 "output 'y': f32[3, 4]" "$relu" --dim n=3 --output "y=$x"
expect 0 "output 'y': right" "$relu" --input "x=$x" --verify "y=$x"
expect 0 "output 'y': right" "$relu" --input "x=$x" --verify "$x" --rtol 0 --atol 0
expect 1 "input 'x': dimension 0 is 3, the model has 2" "$relu" --batch 2 --input "x=$x"
expect 0 "output 'y': f32[2, 4]" "$models/If" --batch 2
expect 3 "output 'y': WRONG" "$relu" --dim n=3 --seed 7 --verify "y=$x" --output "y=$y"
grep -q "elements differ by more than rtol 0.001, atol 1e-05 allow, the worst at \[[0-2], [0-3]\]" "$work/out" || fail "where it is wrong"
expect 3 "it is f32[2, 4]" "$relu" --dim n=2 --verify "$x"
expect 0 "least" "$relu" --dim n=3 --repeat 3 --warmup 0
expect 0 "p99" "$relu" --dim n=3 --clients 4
for pool in ${POOLS-none builtin own}; do
  expect 0 "12 runs, 3 clients, 2 threads ($pool)" "$relu" --dim n=3 --pool "$pool" --threads 2 --clients 3 --repeat 4
done

# Integers are exact, also those that doubles do not tell apart. identity TYPE: a model of two elements of that type, in octal.
identity() {
  port="\012\001%s\022\012\012\010\010\0$1\022\004\012\002\010\002"
  # shellcheck disable=SC2059 # the format is made here
  printf "\010\010\072\067\012\020\012\001x\022\001y\042\010Identity\022\001gZ\017${port}b\017${port}B\004\012\000\020\021" x y
}
int64s() { # first byte of 2^53 + n, twice
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"
  for n in "$@"; do printf "\\00$n\000\000\000\000\000\040\000"; done
}
identity 07 >"$work/s64"
int64s 0 1 >"$work/a.npy"
int64s 0 0 >"$work/b.npy"
expect 0 "output 'y': right" "$work/s64" --input "x=$work/a.npy" --verify "$work/a.npy"
expect 3 "1 of 2 elements differ" "$work/s64" --input "x=$work/a.npy" --verify "$work/b.npy"
identity 10 >"$work/strings"
expect 1 "input 'x' of type STRING: graphs do not carry its type" "$work/strings"
printf 'cat\r\ndog\nbird' >"$work/labels"
expect 0 " bird" "$relu" --dim n=1 --top 4 --labels "$work/labels"
[ "$(grep -c '^  row 0' "$work/out")" -eq 4 ] || fail "--top 4 of 4"
expect 0 "memory: intermediates" "$relu" --dim n=3

# Profiles, pictures.
expect 0 "relu" "$relu" --dim n=3 --profile
grep -q "implementation" "$work/out" && grep -q "^1 layers" "$work/out" || fail "no table: $(cat "$work/out")"
expect 0 "" "$relu" --dim n=3 --profile="$work/table" --trace "$work/run.json" --dot "$work/graph.dot"
grep -q "^1 layers" "$work/table" && grep -q traceEvents "$work/run.json" && grep -q digraph "$work/graph.dot" || fail "files of pictures"

# What is wrong with a model or an array is said in one line.
expect 1 "no input has the dimension 'k'" "$relu" --dim k=1
expect 1 "give its size, with --input, --batch or --dim n=SIZE" "$relu"
expect 1 "the model has no such input" "$relu" --input "z=$x"
expect 1 "the model has no such output" "$relu" --output "z=$y.2"
expect 1 "initializer 'w'" "$models/External"
expect 1 "$work/none" "$work/none"
: >"$work/empty"
printf 'this is no model' >"$work/text"
for hostile in empty text; do
  expect 1 "$work/$hostile" "$work/$hostile"
  expect 1 "$work/$hostile" "$relu" --input "x=$work/$hostile"
  expect 1 "$work/$hostile" "$relu" --dim n=3 --verify "$work/$hostile"
done
expect 1 "neither .npy nor a TensorProto" "$relu" --input "x=$relu"
for size in 1 9 11 60 100 150; do
  head -c $size "$x" >"$work/cut.npy"
  expect 1 "cut.npy: " "$relu" --input "x=$work/cut.npy"
done
expect 1 "the model is empty" "$work/empty"
expect 1 "more than" "$relu" --input x=/dev/zero
expect 1 "/dev/zero" /dev/zero
expect 1 "is a folder" "$relu" --input "x=$work"
expect 1 "without model.onnx" "$work"

# Files: what is there stays whole, devices and pipes are written through, an output is no input.
cp "$x" "$work/keep.npy"
expect 1 "--output $work/keep.npy: is also --input" "$relu" --input "x=$work/keep.npy" --output "y=$work/keep.npy"
ln -s keep.npy "$work/link.npy"
expect 1 "is also --input" "$relu" --input "x=$work/keep.npy" --output "y=$work/link.npy"
expect 1 "is also --verify" "$relu" --input "x=$x" --verify "$work/keep.npy" --output "y=$work/keep.npy"
cmp -s "$x" "$work/keep.npy" || fail "an input was changed"
cp "$relu" "$work/model.onnx"
expect 1 "is also MODEL" "$work/model.onnx" --dim n=3 --dot "$work/model.onnx"
cp "$models/External" "$work/model.onnx"
head -c 4096 /dev/zero >"$work/w.bin"
expect 0 "output" "$work/model.onnx"
expect 1 "is also external data of MODEL" "$work/model.onnx" --dot "$work/w.bin"
head -c 4096 /dev/zero | cmp -s - "$work/w.bin" || fail "external data were changed"
expect 1 "--verify $work/later.npy: cannot open" "$relu" --dim n=3 --output "y=$work/later.npy" --verify "$work/later.npy"
[ ! -e "$work/later.npy" ] || fail "an output was written before an input was seen"
expect 1 "is also --dot" "$relu" --dim n=3 --trace "$work/same" --dot "$work/same"
expect 1 "cannot create" "$relu" --dim n=3 --output "y=$work/none/y.npy"
expect 1 "is a folder" "$relu" --dim n=3 --output "y=$work"
expect 0 "" "$relu" --input "x=$x" --output "y=$work/link.npy"
[ -L "$work/link.npy" ] && cmp -s "$x" "$work/keep.npy" || fail "a link was replaced, or not followed"
expect 0 "" "$relu" --input "x=$x" --output y=/dev/null --trace /dev/null --dot /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
expect 1 "/dev/full" "$relu" --input "x=$x" --output y=/dev/full
expect 1 "/dev/full" "$relu" --input "x=$x" --profile=/dev/full
mkfifo "$work/pipe"
timeout 60 cat "$work/pipe" >"$work/through.npy" &
expect 0 "" "$relu" --input "x=$x" --output "y=$work/pipe"
wait $!
[ -p "$work/pipe" ] && cmp -s "$x" "$work/through.npy" || fail "a pipe was replaced, or not written"
timeout 60 cat "$x" >"$work/pipe" &
expect 0 "output 'y': right" "$relu" --input "x=$work/pipe" --verify "$x"
wait $!
timeout 60 "$program" "$relu" --input "x=$x" --output y=- --profile >"$work/through.npy" 2>"$work/err" </dev/null || fail "--output y=-"
cmp -s "$x" "$work/through.npy" && grep -q "output 'y'" "$work/err" && grep -q "^1 layers" "$work/err" || fail "standard output has more than the array"
timeout 60 "$program" - --dim n=3 <"$relu" 2>&1 | grep -q "output 'y'" || fail "a model from standard input"
timeout 60 cat "$relu" | timeout 60 "$program" - --dim n=3 2>&1 | grep -q "output 'y'" || fail "a model from a pipe"
timeout 60 cat "$work/empty" | timeout 60 "$program" - 2>&1 | grep -q "the model is empty" || fail "an empty pipe"
timeout 60 "$program" "$relu" --input x=- --verify "$x" <"$x" | grep -q "right" || fail "an input from standard input"
timeout 60 "$program" "$relu" --dim n=3 >/dev/full 2>"$work/err" </dev/null && fail "a full device"
grep -q "standard output cannot be written" "$work/err" || fail "says nothing of a full device"
timeout 60 "$program" "$relu" --dim n=3 --profile="$work/closed" >&- 2>"$work/err" </dev/null && fail "a closed standard output"
grep -q "standard output cannot be written" "$work/err" || fail "says nothing of a closed standard output"
grep -q "input 'x'" "$work/closed" && fail "a file has what was meant for standard output"

# A signal in a run: what was said so far is there, nothing half-written is left.
"$program" "$relu" --dim n=3 --repeat 100000000 >"$work/out" 2>"$work/err" </dev/null &
tries=0
until grep -q "output 'y'" "$work/out" || [ $tries -gt 600 ]; do sleep 0.1 && tries=$((tries + 1)); done
kill -TERM $!
wait $!
[ $? -eq 143 ] && grep -q "output 'y'" "$work/out" || fail "ended by a signal"
cp "$x" "$work/keep.npy"
"$program" "$relu" --dim n=2000000 --output "y=$work/keep.npy" >"$work/out" 2>"$work/err" </dev/null &
until ls "$work"/keep.npy.tmp.* >"$work/list" 2>&1 || ! kill -0 $! 2>"$work/list"; do :; done
kill -TERM $! 2>"$work/list"
wait $!
left=$(find "$work" -name '*.tmp.*')
[ -z "$left" ] || fail "files left: $left"

# A folder of test data; then one of its outputs is changed.
if [ -n "$data" ] && [ -d "$data" ]; then
  expect 0 "right" "$data"
  cp -r "$data" "$work/folder"
  expect 1 "is also $work/folder/test_data_set_0/output_0.pb" "$work/folder" --output "y=$work/folder/test_data_set_0/output_0.pb"
  expect 0 "right" "$work/folder"
  rm "$work"/folder/test_data_set_0/output_0.pb
  expect 1 "there is nothing to compare with" "$work/folder"
  cp "$data/test_data_set_0/input_0.pb" "$work/folder/test_data_set_0/output_0.pb"
  expect 3 "WRONG" "$work/folder"
  cp -r "$data/test_data_set_0" "$work/folder/test_data_set_1"
  expect 3 "test_data_set_1" "$work/folder"
  [ "$(grep -c ": right" "$work/out")" -eq 1 ] || fail "the second set"
fi
[ $failures -eq 0 ] || exit 1
