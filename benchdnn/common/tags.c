/* Layout strings: meta tags with 'x', letter tags, names.
 *
 * A tag names dimensions outermost first; a capital marks a dimension with inner blocks, listed behind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"

/* Names of layouts, such as nchw, gOIhw16i16o, tnc or ldigo, by one rule: a name has an n or an o, which letter
 * tags never have. Its dimensions stand in the order of the first row that holds them all; the k-th of them
 * that occurs is dimension k. */
static const char *const name_orders[] = {"goidhw", "tncdhw", "ldgonc", "ldigo"};

/* Letters of a name without its blocks: how many, 0 when one occurs twice. */
static int name_letters(const char *s, bool *has) {
    int n = 0;
    memset(has, 0, 26 * sizeof *has);
    for (; isalpha((unsigned char)*s); ++s, ++n) {
        int c = tolower((unsigned char)*s) - 'a';
        if (has[c]) return 0;
        has[c] = true;
    }
    return n;
}

/* Which dimension each letter of a name means, -1 = none; 1: s is no name. */
static int name_dims(const char *s, int *dim) {
    bool has[26];
    int n = name_letters(s, has);
    if (!n || !(has['n' - 'a'] || has['o' - 'a'])) return 1;
    for (size_t k = 0; k < sizeof name_orders / sizeof *name_orders; ++k) {
        int found = 0;
        for (int c = 0; c < 26; ++c) dim[c] = -1;
        for (const char *o = name_orders[k]; *o; ++o)
            if (has[*o - 'a']) dim[*o - 'a'] = found++;
        if (found == n) return 0;
    }
    return 1;
}

/* A name as letters; other texts as they are. out holds BD_TAG bytes. */
static const char *name_to_letters(const char *s, char *out) {
    int dim[26], n = 0;
    if (!strcmp(s, "x")) return "a"; /* the name of one dimension; elsewhere x is the rest */
    if (strlen(s) >= BD_TAG || name_dims(s, dim)) return s;
    for (; *s; ++s) {
        int d = isalpha((unsigned char)*s) ? dim[tolower((unsigned char)*s) - 'a'] : -1;
        if (isalpha((unsigned char)*s) && d < 0) return "";
        out[n++] = (char)(d < 0 ? *s : (isupper((unsigned char)*s) ? 'A' : 'a') + d);
    }
    out[n] = 0;
    return out;
}

bool bd_tag_is(const char *s, const char *what) { return s && !strcmp(s, what); }

bool bd_tag_syntax(const char *s) {
    if (bd_tag_is(s, "any") || bd_tag_is(s, "undef")) return true;
    char room[BD_TAG];
    const char *l = name_to_letters(s, room);
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
    char room[BD_TAG];
    const char *l = name_to_letters(s, room);
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
