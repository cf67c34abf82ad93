/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef SE_UTF8_H
#define SE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Reads one code point at p (p < end) and returns its length in bytes, or 0 if the bytes are not UTF-8. */
static inline int se_utf8_decode(const unsigned char *p, const unsigned char *end, int32_t *cp) {
    unsigned c = *p;
    if (c < 0x80) {
        *cp = (int32_t)c;
        return 1;
    }
    int n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    static const int32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < 0xc2 || c > 0xf4 || end - p < n) return 0;
    int32_t v = (int32_t)(c & (0x7fu >> n));
    for (int i = 1; i < n; ++i) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        v = v << 6 | (p[i] & 0x3f);
    }
    if (v < smallest[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return 0;
    *cp = v;
    return n;
}

#define SE_UTF8_REPLACEMENT 0xfffd

/* Where se_utf8_decode says 0: how many bytes one U+FFFD stands for, 1 to 3: the longest beginning of a code
 * point, or one byte (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"). */
static inline int se_utf8_bad_length(const unsigned char *p, const unsigned char *end) {
    const unsigned c = *p;
    if (c < 0xc2 || c > 0xf4 || end - p < 2) return 1;
    const unsigned low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    const unsigned high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) return 1;
    const int whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    int n = 2;
    while (n < whole - 1 && n < end - p && (p[n] & 0xc0) == 0x80) ++n;
    return n;
}

/* Writes one code point and returns its length in bytes (at most 4). */
static inline int se_utf8_encode(int32_t cp, unsigned char *p) {
    if (cp < 0x80) {
        p[0] = (unsigned char)cp;
        return 1;
    }
    if (cp < 0x800) {
        p[0] = (unsigned char)(0xc0 | cp >> 6);
        p[1] = (unsigned char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        p[0] = (unsigned char)(0xe0 | cp >> 12);
        p[1] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
        p[2] = (unsigned char)(0x80 | (cp & 0x3f));
        return 3;
    }
    p[0] = (unsigned char)(0xf0 | cp >> 18);
    p[1] = (unsigned char)(0x80 | (cp >> 12 & 0x3f));
    p[2] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
    p[3] = (unsigned char)(0x80 | (cp & 0x3f));
    return 4;
}

#endif
