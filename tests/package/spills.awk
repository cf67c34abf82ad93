# Reads objdump -d --no-show-raw-insn; for every k loop of a function ukr_* (8 or more products, several broadcasts, at
# most 130 instructions: longer loops are those around it), prints the vector moves to or from the stack. Exit status 1 if there are any, or no loop was seen on x86.
/^[0-9a-f]+ <ukr_(f32|bf16)_/ { name = $2; n = 0; inside = 1; last_end = 0; next }
/^$/ { inside = 0; next }
inside && /^ *[0-9a-f]+:/ {
    address = $1; sub(":", "", address)
    n++
    text[n] = $0
    at[address] = n
    where[n] = name
    if ($2 ~ /^j/ && ($3 in at) && where[at[$3]] == name && at[$3] < n && at[$3] > last_end) {
        fma = 0; broadcasts = 0; spills = ""
        for (i = at[$3]; i <= n; i++) {
            if (text[i] ~ /vfmadd|vdpbf16ps/) fma++
            if (text[i] ~ /vp?broadcast(ss|w)/) broadcasts++
            if (text[i] ~ /vmov.*\(%rsp\)/) spills = spills text[i] "\n"
        }
        last_end = n
        if (fma >= 8 && broadcasts > 1 && n - at[$3] < 130) {
            loops++
            if (spills != "") { printf "%s\n%s", name, spills; bad++ }
        }
    }
}
END { printf "%d hot loops, %d with spills\n", loops, bad; exit bad > 0 }
