#!/bin/sh
# Runs the command lines of a case file on benchdnn and compares exit status and output.
#   run_cases.sh BENCHDNN CASES
# A case:  $ arguments      one line, split by the shell
#          = 2              expected exit status (0 when absent)
#          > text           a line that must appear in stdout or stderr, fixed text, in this order
#          ! text           a text that must not appear
# Times in "(N ms)" are printed as (T ms). #: comment.
case $1 in /*) program=$1 ;; *) program=$PWD/$1 ;; esac
cases=$2
[ -x "$program" ] && [ -r "$cases" ] || { echo "usage: run_cases.sh BENCHDNN CASES" >&2; exit 1; }
cd "$(dirname "$cases")" || exit 1
out=$(mktemp) want=$(mktemp) deny=$(mktemp)
trap 'rm -f "$out" "$want" "$deny"' EXIT
failed=0 n=0 line= status=0

check() {
  [ -n "$line" ] || return
  n=$((n + 1))
  eval "\"\$program\" $line" >"$out" 2>&1
  got=$?
  sed -i 's/([0-9]* ms)/(T ms)/' "$out"
  bad=
  [ "$got" = "$status" ] || bad="exit status $got, expected $status"
  missing=
  [ ! -s "$want" ] || missing=$(awk 'NR == FNR { w[++m] = $0; next } m > k && index($0, w[k + 1]) { ++k } END { if (k < m) print w[k + 1] }' \
    "$want" "$out")
  [ -s "$out" ] || missing=$(head -n 1 "$want") # awk sees no second file then
  [ -z "$missing" ] || bad="${bad:+$bad; }missing: $missing"
  if [ -s "$deny" ] && grep -F -q -f "$deny" "$out"; then bad="${bad:+$bad; }a forbidden text is there"; fi
  if [ -n "$bad" ]; then
    failed=$((failed + 1))
    printf 'FAILED: benchdnn %s\n  %s\n  output:\n' "$line" "$bad"
    sed 's/^/    /' "$out"
  fi
}

while IFS= read -r text || [ -n "$text" ]; do
  case $text in
  '$ '*) check; line=${text#'$ '}; status=0; : >"$want"; : >"$deny" ;;
  '$') check; line=' '; status=0; : >"$want"; : >"$deny" ;;
  '= '*) status=${text#'= '} ;;
  '> '*) printf '%s\n' "${text#'> '}" >>"$want" ;;
  '! '*) printf '%s\n' "${text#'! '}" >>"$deny" ;;
  esac
done <"$(basename "$cases")"
check
echo "$n cases, $failed failed"
[ "$failed" = 0 ] && [ "$n" -gt 0 ]
