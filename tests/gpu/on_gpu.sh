#!/bin/sh
# on_gpu.sh BENCHDNN COMMAND...: runs the command where the driver has a GPU; else says so and exits with 77. The first word of the
# command may be memcheck or racecheck: it is run under that tool of compute-sanitizer.
benchdnn=$1; shift
if ! "$benchdnn" --engine=gpu --mode=I --eltwise 1 >/dev/null 2>&1; then
    echo "SKIPPED: no GPU with a driver of CUDA 13.0 or later (benchdnn --engine=gpu finds none)"
    exit 77
fi
case $1 in
memcheck | racecheck)
    tool=$1; shift
    if ! command -v compute-sanitizer >/dev/null; then
        echo "SKIPPED: no compute-sanitizer in PATH"
        exit 77
    fi
    exec compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" ;;
esac
exec "$@"
