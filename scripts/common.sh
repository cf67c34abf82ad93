# Shared by the scripts of this folder; sourced, never run. Gives: root, jobs, use_ccache, say, die, with_network, bring_venv,
# step, step_table.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)
# Builds go faster where a compiler cache exists; nothing depends on it. To be called after setup, which may bring it. Build
# folders of the same depth (build/NAME) share what they compile alike.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
}

say() { printf '\n==== %s\n' "$*"; }
die() { printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Runs a command that uses the network; once more when it fails.
with_network() { "$@" || { sleep 5 && "$@"; }; }

# bring_venv FOLDER LIST SIZE CODE: the virtual environment build/FOLDER with the packages of scripts/LIST, which are pinned
# with their SHA-256; SIZE is what is downloaded, CODE is Python that loads them. Does nothing when it is there. Prints the
# environment's Python in the last line.
bring_venv() {
  local venv=$root/build/$1 list=$root/scripts/$2 name
  name=$(basename "$0")
  if cmp -s "$list" "$venv/installed.txt"; then
    echo "$name: present"
  else
    command -v python3 >/dev/null || die "python3 is missing; run scripts/setup"
    rm -rf "$venv"
    # shellcheck disable=SC2064 # the folder is known now
    trap "[ -f '$venv/installed.txt' ] || rm -rf '$venv'" EXIT # nothing half-installed stays
    mkdir -p "$root/build"
    python3 -m venv "$venv" || die "cannot make a virtual environment; run scripts/setup"
    echo "$name: downloading ($3)"
    with_network "$venv/bin/pip" install --quiet --no-deps --only-binary=:all: --require-hashes -r "$list" ||
      die "the installation failed"
    "$venv/bin/python" -c "$4" || die "the packages do not load"
    cp "$list" "$venv/installed.txt"
    echo "$name: done"
  fi
  echo "$venv/bin/python"
}

# step NAME COMMAND...: runs the command, prints how long it took, keeps its output in $logs/NAME.log,
# and ends the script at the first failure.
step_names=() step_seconds=()
step() {
  local name=$1 begin=$SECONDS
  shift
  say "$name: $*"
  mkdir -p "$logs"
  if ! "$@" </dev/null 2>&1 | tee "$logs/$name.log"; then
    printf '\n==== FAILED: %s after %d s; output in %s\n' "$name" $((SECONDS - begin)) "$logs/$name.log" >&2
    exit 1
  fi
  step_names+=("$name") step_seconds+=($((SECONDS - begin)))
  printf '==== %s: done in %d s\n' "$name" $((SECONDS - begin))
}

# Prints a line for each step: its name, its time and, where it ran tests, CTest's verdict.
step_table() {
  local i verdict
  printf '\n%-16s %7s  %s\n' step seconds result
  for i in "${!step_names[@]}"; do
    verdict=$(grep -E '^[0-9]+% tests passed' "$logs/${step_names[$i]}.log" | tail -n 1 || true)
    printf '%-16s %7d  %s\n' "${step_names[$i]}" "${step_seconds[$i]}" "${verdict:-done}"
  done
}
