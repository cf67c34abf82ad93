#!/bin/sh
# seeds.sh TEXT PROGRAM [ARGUMENTS]: the fake driver must say TEXT for at least 9 of 10 seeds of the order of streams.
text=$1; shift
found=0
for seed in 1 2 3 4 5 6 7 8 9 10; do
    DNNL_TP_TEST_SEED=$seed "$@" 2>&1 | grep -q "fake driver: .*$text" && found=$((found + 1))
done
echo "$found of 10 seeds"
[ "$found" -ge 9 ]
