# Reads gpu_spills.txt, then files of what `ptxas -v` says; prints each kernel with more bytes on the stack than it is allowed, and what
# is allowed without need.
FNR == NR { if ($0 !~ /^#/ && NF == 4) { listed[$1 " " $2] = 1; stack[$1 " " $2] = $3; spills[$1 " " $2] = $4 }; next }
/Compiling entry function/ { split($0, part, "'"); kernel = part[2] " " part[4]; kernels++; next }
/bytes stack frame/ && kernel != "" {
    sub(/^ */, "")
    split($0, word, " ")
    frame = word[1]; bytes = word[5] + word[9]
    if (frame > stack[kernel] || bytes > spills[kernel]) {
        printf "%s: %d bytes of stack, %d bytes of spill stores and loads; allowed: %d, %d\n", kernel, frame, bytes,
            stack[kernel], spills[kernel]
        bad++
    }
    if (frame || bytes) used[kernel] = 1
    seen[kernel] = 1
    kernel = ""
}
END {
    for (k in listed)
        if ((k in seen) && !(k in used)) { printf "%s: nothing is on its stack; take it from the list\n", k; bad++ }
    printf "%d kernels of architectures\n", kernels
    exit bad > 0 || kernels == 0
}
