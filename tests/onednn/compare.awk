# Compares each line with the next one of the file `peer`: the same number of words; words that begin with a digit, a
# sign or a point as numbers, within 1e-4 of the larger of 1 and the value; other words letter by letter.
function different(what) { printf "line %d: %s: '%s' and '%s'\n", NR, what, $0, other; bad = 1 }
{
    if ((getline other < peer) <= 0) { other = "(end)"; different("no such line there"); exit }
    n = split(other, words)
    if (n != NF) { different("numbers of words"); next }
    for (i = 1; i <= NF; ++i) {
        if ($i ~ /^[-+.0-9]/) {
            d = $i - words[i]; size = $i < 0 ? -$i : $i
            if (d < 0) d = -d
            if (!(d <= 1e-4 * (size > 1 ? size : 1))) { different("word " i); next }
            ++numbers
        } else if ($i != words[i]) { different("word " i); next }
    }
}
END {
    if (!bad && (getline other < peer) > 0) { print "the other has more lines"; bad = 1 }
    if (NR == 0) { print "no output"; bad = 1 }
    if (!bad) print numbers + 0, "numbers agree"
    exit bad
}
