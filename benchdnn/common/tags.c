/* Layout strings: meta tags with 'x', letter tags, named tags.
 *
 * A tag names dimensions outermost first; a capital marks a dimension with inner blocks, listed behind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"

/* Named tags, by the letters that their positions mean. */
static const char *const named[][2] = {{"x", "a"},
                                       {"nc", "ab"},
                                       {"cn", "ba"},
                                       {"tn", "ab"},
                                       {"nt", "ba"},
                                       {"ncw", "abc"},
                                       {"nwc", "acb"},
                                       {"nchw", "abcd"},
                                       {"nhwc", "acdb"},
                                       {"chwn", "bcda"},
                                       {"ncdhw", "abcde"},
                                       {"ndhwc", "acdeb"},
                                       {"oi", "ab"},
                                       {"io", "ba"},
                                       {"oiw", "abc"},
                                       {"owi", "acb"},
                                       {"wio", "cba"},
                                       {"iwo", "bca"},
                                       {"oihw", "abcd"},
                                       {"hwio", "cdba"},
                                       {"ohwi", "acdb"},
                                       {"ihwo", "bcda"},
                                       {"iohw", "bacd"},
                                       {"oidhw", "abcde"},
                                       {"dhwio", "cdeba"},
                                       {"odhwi", "acdeb"},
                                       {"idhwo", "bcdea"},
                                       {"goiw", "abcd"},
                                       {"goihw", "abcde"},
                                       {"hwigo", "decab"},
                                       {"giohw", "acbde"},
                                       {"goidhw", "abcdef"},
                                       {"tnc", "abc"},
                                       {"ntc", "bac"},
                                       {"ldnc", "abcd"},
                                       {"ldigo", "abcde"},
                                       {"ldgoi", "abdec"},
                                       {"ldio", "abcd"},
                                       {"ldoi", "abdc"},
                                       {"ldgo", "abcd"},
                                       {"nCw8c", "aBc8b"},
                                       {"nChw8c", "aBcd8b"},
                                       {"nCdhw8c", "aBcde8b"},
                                       {"nCw16c", "aBc16b"},
                                       {"nChw16c", "aBcd16b"},
                                       {"nCdhw16c", "aBcde16b"},
                                       {"nCw4c", "aBc4b"},
                                       {"nChw4c", "aBcd4b"},
                                       {"nCw32c", "aBc32b"},
                                       {"nChw32c", "aBcd32b"},
                                       {"NChw16n16c", "ABcd16a16b"},
                                       {"NChw32n16c", "ABcd32a16b"}};

static const char *name_to_letters(const char *s) {
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i)
        if (!strcmp(named[i][0], s)) return named[i][1];
    return s;
}

bool bd_tag_is(const char *s, const char *what) { return s && !strcmp(s, what); }

bool bd_tag_syntax(const char *s) {
    if (bd_tag_is(s, "any") || bd_tag_is(s, "undef")) return true;
    const char *l = name_to_letters(s);
    size_t n = strlen(l), i = 0;
    if (!n || n >= BD_TAG) return false;
    while (i < n && isalpha((unsigned char)l[i])) {
        char c = (char)tolower((unsigned char)l[i]);
        if (!(c == 'x' ? l[i] == 'x' : c >= 'a' && c <= 'l')) return false;
        ++i;
    }
    if (!i) return false;
    while (i < n) {
        if (!isdigit((unsigned char)l[i]) || l[i] == '0') return false;
        while (i < n && isdigit((unsigned char)l[i])) ++i;
        if (i == n || l[i] < 'a' || l[i] > 'l') return false;
        ++i;
    }
    return true;
}

void bd_tag_expand(const char *s, int ndims, char *out, size_t size) {
    out[0] = 0;
    if (bd_tag_is(s, "any") || bd_tag_is(s, "undef")) {
        bd_cat(out, size, "%s", s);
        return;
    }
    const char *l = name_to_letters(s);
    const char *x = l == s ? strchr(s, 'x') : NULL;
    if (x) {
        /* 'x' stands for the dimensions that no letter names, in order; letters beyond ndims are dropped. */
        int first = 0;
        for (const char *c = s; *c && !isdigit((unsigned char)*c); ++c)
            if (*c != 'x' && tolower((unsigned char)*c) - 'a' + 1 > first)
                first = tolower((unsigned char)*c) - 'a' + 1;
        for (const char *c = s; *c; ++c) {
            if (isdigit((unsigned char)*c)) {
                const char *b = c;
                while (isdigit((unsigned char)*c)) ++c;
                if (!*c) break;
                if (*c - 'a' < ndims) bd_cat(out, size, "%.*s", (int)(c - b) + 1, b);
            } else if (*c == 'x') {
                for (int d = first; d < ndims; ++d) bd_cat(out, size, "%c", 'a' + d);
            } else if (tolower((unsigned char)*c) - 'a' < ndims) {
                bd_cat(out, size, "%c", *c);
            }
        }
        return;
    }
    bd_tag_t t;
    if (bd_tag_decode(l, &t) || t.n != ndims) return;
    bd_cat(out, size, "%s", l);
}

int bd_tag_decode(const char *s, bd_tag_t *out) {
    bd_tag_t t = {0};
    unsigned seen = 0;
    for (; isalpha((unsigned char)*s); ++s) {
        int d = tolower((unsigned char)*s) - 'a';
        if (d >= BD_MAX_NDIMS || (seen >> d & 1)) return 1;
        seen |= 1u << d;
        t.order[t.n++] = d;
    }
    if (!t.n || seen != (1u << t.n) - 1) return 1;
    while (*s) {
        char *e;
        long b = strtol(s, &e, 10);
        if (e == s || b < 1 || b > 1 << 20 || *e < 'a' || *e - 'a' >= t.n || t.nblk == BD_MAX_NDIMS) return 1;
        t.blk[t.nblk] = (int)b;
        t.idx[t.nblk++] = *e - 'a';
        s = e + 1;
    }
    *out = t;
    return 0;
}
