/* See tokenizer.h. One pass over the line: every code point goes through clean_char, which ends words or
 * appends to the word in progress; a finished word is matched against the vocabulary at once. The order of
 * the steps and the sets of characters are those of the `tokenizers` package (tools/compare_tokenizers.py
 * shows it, code point by code point); Unicode data comes from utf8proc. */
#include "tokenizer.h"

#include <string.h>
#include <utf8proc.h>

#include "utf8.h"

#define MAX_UTF8_BYTES 4
#define MAX_DECOMPOSED 32 /* a canonical decomposition has at most 4 code points */

typedef struct {
    const se_vocabulary_t *vocab;
    int32_t *ids;
    int count, limit, full;
    int word_chars; /* > SE_MAX_WORD_CHARS: too long, the rest is not kept */
    int32_t word[SE_MAX_WORD_CHARS];
    unsigned char ccc[SE_MAX_WORD_CHARS]; /* combining classes: marks are kept in canonical order */
} state_t;

static void emit(state_t *s, int32_t id) {
    if (s->count < s->limit) s->ids[s->count++] = id;
    else s->full = 1;
}

/* Greedy longest match; a word with an unknown part is [UNK] as a whole. */
static void end_word(state_t *s) {
    int n = s->word_chars;
    s->word_chars = 0;
    if (n == 0 || s->full) return;
    if (n > SE_MAX_WORD_CHARS) {
        emit(s, s->vocab->unk);
        return;
    }
    unsigned char text[SE_MAX_WORD_CHARS * MAX_UTF8_BYTES];
    int32_t pieces[SE_MAX_WORD_CHARS];
    int bytes = 0, num_pieces = 0;
    for (int i = 0; i < n; ++i) bytes += se_utf8_encode(s->word[i], text + bytes);
    for (int begin = 0; begin < bytes;) {
        uint32_t hash = begin ? SE_HASH_TAIL : SE_HASH_WORD;
        int last = bytes - begin < s->vocab->max_piece_bytes ? bytes : begin + s->vocab->max_piece_bytes;
        int best_end = begin;
        int32_t best = -1;
        for (int at = begin; at < last;) {
            do hash = se_hash_byte(hash, text[at++]);
            while (at < last && (text[at] & 0xc0) == 0x80);
            if (at < bytes && (text[at] & 0xc0) == 0x80)
                break; /* cut inside a character by max_piece_bytes */
            int32_t id = se_vocabulary_find(s->vocab, hash, text + begin, (uint32_t)(at - begin));
            if (id >= 0) best = id, best_end = at;
        }
        if (best < 0) {
            emit(s, s->vocab->unk);
            return;
        }
        pieces[num_pieces++] = best;
        begin = best_end;
    }
    for (int i = 0; i < num_pieces; ++i) emit(s, pieces[i]);
}

static void append(state_t *s, int32_t cp, unsigned ccc) {
    if (s->word_chars >= SE_MAX_WORD_CHARS) {
        s->word_chars = SE_MAX_WORD_CHARS + 1;
        return;
    }
    int at = s->word_chars++;
    /* Canonical order: a mark moves before the marks of a higher class that precede it. */
    for (; ccc && at && s->ccc[at - 1] > ccc; --at) {
        s->word[at] = s->word[at - 1];
        s->ccc[at] = s->ccc[at - 1];
    }
    s->word[at] = cp;
    s->ccc[at] = (unsigned char)ccc;
}

static void word_of_one(state_t *s, int32_t cp) {
    end_word(s);
    append(s, cp, 0);
    end_word(s);
}

/* White_Space of Unicode above U+007F. */
static int is_space(int32_t cp) {
    return cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

/* The blocks that the reference surrounds with spaces (it leaves U+2B820..U+2B91F out, and so do we). */
static int is_cjk(int32_t cp) {
    return (cp >= 0x4e00 && cp <= 0x9fff) || (cp >= 0x3400 && cp <= 0x4dbf) ||
           (cp >= 0x20000 && cp <= 0x2a6df) || (cp >= 0x2a700 && cp <= 0x2b73f) ||
           (cp >= 0x2b740 && cp <= 0x2b81f) || (cp >= 0x2b920 && cp <= 0x2ceaf) ||
           (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0x2f800 && cp <= 0x2fa1f);
}

/* Not ASCII: the long way. */
static void clean_char(state_t *s, int32_t cp) {
    utf8proc_category_t category = utf8proc_category(cp);
    if (is_space(cp)) {
        end_word(s);
        return;
    }
    if (cp == 0xfffd || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
        category == UTF8PROC_CATEGORY_CO)
        return;
    int cjk = is_cjk(cp), last_class = 0;
    int32_t parts[MAX_DECOMPOSED] = {cp};
    utf8proc_ssize_t n = utf8proc_decompose_char(cp, parts, MAX_DECOMPOSED, UTF8PROC_DECOMPOSE, &last_class);
    if (n < 1 || n > MAX_DECOMPOSED) {
        parts[0] = cp;
        n = 1;
    }
    if (cjk) end_word(s);
    for (utf8proc_ssize_t i = 0; i < n; ++i) {
        const utf8proc_property_t *property = utf8proc_get_property(parts[i]);
        if (property->category == UTF8PROC_CATEGORY_MN) continue;
        int32_t lower = utf8proc_tolower(parts[i]);
        switch (utf8proc_category(lower)) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO: word_of_one(s, lower); break;
        default:
            if (lower < 0x80 && lower != '_' && (lower < '0' || (lower > '9' && lower < 'a') || lower > 'z'))
                word_of_one(s, lower); /* ASCII symbols count as punctuation, U+1FEF decomposes to one */
            else append(s, lower, (unsigned)property->combining_class);
        }
    }
    if (cjk) end_word(s);
}

static void ascii_char(state_t *s, unsigned char c) {
    if (c >= 'a' && c <= 'z') append(s, c, 0);
    else if (c >= 'A' && c <= 'Z') append(s, c | 0x20, 0);
    else if (c >= '0' && c <= '9') append(s, c, 0);
    else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') end_word(s);
    else if (c > ' ' && c < 0x7f) word_of_one(s, c);
    /* other control characters vanish */
}

/* "[MASK]" and its like in the text are that token, spelled exactly, before any clean-up: so does the
 * reference. */
static int special_token(const state_t *s, const unsigned char *p, const unsigned char *end, int32_t *id) {
    static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        size_t n = strlen(names[i]);
        if ((size_t)(end - p) < n || memcmp(p, names[i], n)) continue;
        *id = se_vocabulary_id(s->vocab, names[i]);
        return *id >= 0 ? (int)n : 0;
    }
    return 0;
}

int se_tokenize(const se_vocabulary_t *vocab, const char *line, size_t bytes, int max_tokens, int32_t *ids,
                se_tokens_t *tokens, se_error_t *error) {
    const unsigned char *p = (const unsigned char *)line, *end = p + bytes;
    state_t s;
    s.vocab = vocab;
    s.ids = ids;
    s.count = s.full = s.word_chars = 0;
    s.limit = max_tokens - 1; /* room for [SEP] */
    *tokens = (se_tokens_t){0};
    if (bytes > SE_MAX_LINE_BYTES)
        return se_fail(error, "%zu bytes, a line may have %zu", bytes, SE_MAX_LINE_BYTES);
    emit(&s, vocab->cls);
    while (p < end) {
        int32_t cp, id;
        int n = *p < 0x80 ? 1 : se_utf8_decode(p, end, &cp);
        if (n == 0)
            return se_fail(error, "not UTF-8 at byte %zu", (size_t)(p - (const unsigned char *)line) + 1);
        if (s.full) { /* only the rest's validity still matters */
        } else if (*p >= 0x80) {
            clean_char(&s, cp);
        } else if (*p == '[' && (n = special_token(&s, p, end, &id)) != 0) {
            end_word(&s);
            emit(&s, id);
        } else {
            n = 1;
            ascii_char(&s, *p);
        }
        p += n;
    }
    end_word(&s);
    ids[s.count++] = vocab->sep;
    tokens->count = s.count;
    tokens->truncated = s.full;
    return 0;
}
