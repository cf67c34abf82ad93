/* Tokens, numbers and type names of PTX. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lex.h"

void *ptx_grow(void *items, size_t n, size_t item_bytes) {
    if (n & (n - 1)) return items;
    void *grown = realloc(items, (n ? 2 * n : 1) * item_bytes);
    if (!grown) abort();
    return grown;
}

static bool in_word(const char *c) {
    return isalnum((unsigned char)*c) || *c == '_' || *c == '$' || *c == '.' || *c == '%';
}

static const char *skip_space(const char *c, uint32_t *line) {
    for (;; ++c) {
        if (c[0] == '/' && c[1] == '/') {
            while (*c && *c != '\n') ++c;
        } else if (c[0] == '/' && c[1] == '*') {
            for (c += 2; *c && !(c[0] == '*' && c[1] == '/'); ++c) *line += *c == '\n';
            c += *c ? 1 : -1;
            continue;
        }
        if (*c == '\n') ++*line;
        if (!*c || !isspace((unsigned char)*c)) return c;
    }
}

token_t *ptx_tokens(const char *text) {
    token_t *tokens = NULL;
    uint32_t n = 0, line = 1;
    for (const char *c = text;;) {
        c = skip_space(c, &line);
        tokens = ptx_grow(tokens, n, sizeof *tokens);
        token_t *t = &tokens[n++];
        *t = (token_t){.at = c, .line = line, .kind = *c};
        if (!*c) return tokens;
        const char *end = c + 1;
        if (*c == '"') {
            t->kind = 's';
            while (*end && *end != '"') ++end;
            end += *end != 0;
        } else if (in_word(c)) {
            t->kind = 'w';
            while (in_word(end) || (end[0] == ':' && end[1] == ':' && in_word(end + 2)) ||
                   (end[-1] == ':' && end[0] == ':'))
                ++end;
        }
        t->bytes = (uint32_t)(end - c);
        c = end;
    }
}

bool ptx_is(const token_t *t, const char *word) {
    return t->bytes == strlen(word) && memcmp(t->at, word, t->bytes) == 0;
}

char *ptx_word(const token_t *t) {
    char *s = malloc((size_t)t->bytes + 1);
    if (!s) abort();
    memcpy(s, t->at, t->bytes);
    s[t->bytes] = 0;
    return s;
}

bool ptx_fail(parser_t *p, uint32_t line, const char *format, ...) {
    if (p->failed) return false;
    p->failed = true;
    int n = snprintf(p->error, p->error_bytes, "line %u: ", line);
    if (n < 0 || (size_t)n >= p->error_bytes) return false;
    va_list list;
    va_start(list, format);
    vsnprintf(p->error + n, p->error_bytes - (size_t)n, format, list);
    va_end(list);
    return false;
}

bool ptx_number(const token_t *t, uint64_t *value, bool *f32, bool *f64) {
    *f32 = *f64 = false;
    char text[64], *end;
    if (t->kind != 'w' || t->bytes >= sizeof text || !isdigit((unsigned char)*t->at)) return false;
    memcpy(text, t->at, t->bytes);
    text[t->bytes] = 0;
    size_t n = t->bytes;
    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F') && n == 10) {
        *f32 = true;
        *value = strtoull(text + 2, &end, 16);
    } else if (text[0] == '0' && (text[1] == 'd' || text[1] == 'D') && n == 18) {
        *f64 = true;
        *value = strtoull(text + 2, &end, 16);
    } else if (strchr(text, '.')) {
        *f64 = true;
        *value = ptx_f64_bits(strtod(text, &end));
    } else {
        if (n > 1 && text[n - 1] == 'U') text[n - 1] = 0;
        if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) *value = strtoull(text + 2, &end, 2);
        else *value = strtoull(text, &end, 0);
    }
    return *end == 0;
}

static const struct {
    const char *name;
    uint8_t type, bytes;
} types[] = {{"pred", T_PRED, 1}, {"b8", T_B8, 1},       {"u8", T_U8, 1},         {"s8", T_S8, 1},
             {"b16", T_B16, 2},   {"u16", T_U16, 2},     {"s16", T_S16, 2},       {"f16", T_F16, 2},
             {"bf16", T_BF16, 2}, {"b32", T_B32, 4},     {"u32", T_U32, 4},       {"s32", T_S32, 4},
             {"f32", T_F32, 4},   {"f16x2", T_F16X2, 4}, {"bf16x2", T_BF16X2, 4}, {"tf32", T_TF32, 4},
             {"b64", T_B64, 8},   {"u64", T_U64, 8},     {"s64", T_S64, 8},       {"f64", T_F64, 8},
             {"b128", T_B128, 16}};

type_t ptx_type(const char *name, size_t bytes) {
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strlen(types[i].name) == bytes && memcmp(types[i].name, name, bytes) == 0)
            return (type_t)types[i].type;
    return T_NONE;
}

size_t ptx_type_bytes(type_t type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (types[i].type == type) return types[i].bytes;
    return 0;
}
