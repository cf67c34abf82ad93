#!/bin/sh
# run.sh CSV [BENCHDNN] [tiny]: times suites of kernels on the first GPU, one by one, and appends their lines to CSV; a suite that is
# there already is not run again. Each line: suite, implementation, least and mean milliseconds of 20 runs back to back on rotating
# buffers, GB/s and GFLOP/s of the least, problem. tiny: small shapes, to try the script itself.
csv=$1
benchdnn=${2:-build/default/benchdnn/benchdnn}
tiny=$3
[ -n "$csv" ] || { echo "usage: $0 CSV [BENCHDNN] [tiny]"; exit 2; }
if ! "$benchdnn" --engine=gpu --mode=I --eltwise 1 >/dev/null 2>&1; then
    echo "$0: benchdnn finds no GPU with a driver of CUDA 13.0 or later"
    exit 1
fi
# suite NAME SHAPES TINY OPTIONS...: options begin with the driver.
suite() {
    name=$1 shapes=$2 driver=$4
    cold=all
    [ -z "$tiny" ] || { shapes=$3; cold=none; }
    shift 4
    if grep -q "^done,$name$" "$csv" 2>/dev/null; then return; fi
    # shellcheck disable=SC2086
    "$benchdnn" --engine=gpu --mode=P --cold-cache=$cold --max-ms-per-prb=1000 ${tiny:+--fix-times-per-prb=1} "$driver" \
        --perf-template="$name,%impl%,%-time%,%0time%,%-Gbw%,%-Gflops%,%prb%" "$@" $shapes >"$csv.part" || {
        echo "$name failed"; tail -3 "$csv.part"; exit 1
    }
    grep "^$name," "$csv.part" | grep -v "^$name,impl," >>"$csv"
    rm -f "$csv.part"
    echo "done,$name" >>"$csv"
    echo "$name: done"
}
suite softmax "8192x8192 16384x4096 65536x512" 8x64 --softmax --axis=1 --sdt=bf16 --ddt=bf16
suite layer_norm "16384x4096 8192x8192 16384x128" 8x64 --lnorm --dir=FWD_I --flags=CH --dt=bf16
suite rms_norm "16384x4096 8192x8192 131072x128" 8x64 --lnorm --dir=FWD_I --flags=MC --dt=bf16
suite eltwise "8192x8192" 8x64 --eltwise --dt=bf16,f32 --alg=gelu_tanh
suite chain "8192x8192:8192x8192" 8x64:8x64 --binary --alg=add --sdt=f32:f32 --attr-post-ops=relu+linear:2:1
suite reorder "8192x8192" 40x40 --reorder --sdt=bf16 --ddt=bf16 --stag=ab --dtag=ba
suite reduction "8192x8192:8192x1 8192x8192:1x8192" "8x64:8x1 8x64:1x64" --reduction --alg=sum
suite matmul "4096x4096:4096x4096 8192x8192:8192x8192 16x4096:4096x14336" 16x16:16x16 --matmul --dt=bf16
suite matmul_f32 "4096x4096:4096x4096" 16x16:16x16 --matmul
suite matmul_tf32 "4096x4096:4096x4096" 16x16:16x16 --matmul --attr-fpmath=tf32
suite conv "mb32ic64oc64_ih56oh56kh3ph1 mb32ic256oc256_ih14oh14kh3ph1 mb32ic256oc1024_ih14oh14kh1ph0" mb1ic4oc4_ih5oh5kh3ph1 --conv --dir=FWD_D
suite conv_depthwise "mb32g384ic384oc384_ih14oh14kh3ph1" mb1g4ic4oc4_ih5oh5kh3ph1 --conv --dir=FWD_D
suite pool "mb32ic64_ih112oh56kh3sh2ph1" mb1ic4_ih6oh3kh3sh2ph1 --pool --dir=FWD_I --alg=max,avg_np
