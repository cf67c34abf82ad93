/* Tokens of the text form of graphs, and errors that name file, line and column. Whatever bytes come, nothing
 * is read behind the end: the text is not terminated. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "common/base/scalar.h"
#include "exec/text/text.h"

/* ---- Errors ------------------------------------------------------------------------------------------ */

enum { MESSAGE = 320 };

static void place(const dtp_text_reader_t *r, const char *at, int64_t *line, int64_t *column) {
    *line = *column = 1;
    for (const char *p = r->text; p < at; ++p) {
        ++*column;
        if (*p == '\n') ++*line, *column = 1;
    }
}

dnnl_tp_status_t dtp_text_fail(const dtp_text_reader_t *r, const char *at, const char *format, ...) {
    char text[MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int64_t line, column;
    place(r, at, &line, &column);
    return dtp_fail(dnnl_tp_invalid_graph, DTP_GRAPH_SYNTAX, "%.120s:%lld:%lld: %s",
                    r->path ? r->path : "text", (long long)line, (long long)column, text);
}

dnnl_tp_status_t dtp_text_blame(const dtp_text_reader_t *r, const char *at, dnnl_tp_status_t status) {
    if (status == dnnl_tp_success || status == dnnl_tp_out_of_memory) return status;
    int64_t line, column;
    place(r, at, &line, &column);
    return dtp_fail(status, dtp_last_reason(), "%.120s:%lld:%lld: %s", r->path ? r->path : "text",
                    (long long)line, (long long)column, dtp_last_detail());
}

/* ---- Tokens ------------------------------------------------------------------------------------------ */

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static const char *skip_blanks(const dtp_text_reader_t *r, const char *p) {
    for (; p < r->end; ++p) {
        if (*p == '#') {
            while (p < r->end && *p != '\n') ++p;
            if (p == r->end) break;
        }
        if (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\r') break;
    }
    return p;
}

static dnnl_tp_status_t string_token(dtp_text_reader_t *r, const char *p) {
    r->token.kind = DTP_TOKEN_STRING;
    for (++p; p < r->end && *p != '"'; ++p) {
        if (*p == '\n') return dtp_text_fail(r, p, "the line ends inside a string");
        if ((unsigned char)*p < ' ') return dtp_text_fail(r, p, "byte %d in a string", *p);
        if (*p == '\\' && ++p == r->end) break;
    }
    if (p == r->end) return dtp_text_fail(r, r->token.at, "the text ends inside a string");
    r->token.size = (size_t)(p + 1 - r->token.at);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_next(dtp_text_reader_t *r) {
    const char *p = skip_blanks(r, r->token.at + r->token.size);
    r->token = (dtp_token_t){DTP_TOKEN_END, p, 0};
    if (p == r->end) return dnnl_tp_success;
    const char *q = p + 1;
    char next = q < r->end ? *q : 0;
    if (*p == '"') return string_token(r, p);
    if (*p == '%' || *p == '@') {
        r->token.kind = *p == '%' ? DTP_TOKEN_VALUE : DTP_TOKEN_FUNCTION;
        while (q < r->end && in_name(*q)) ++q;
        if (q == p + 1) return dtp_text_fail(r, p, "no name behind %c", *p);
    } else if (*p == '-' && next == '>') {
        r->token.kind = DTP_TOKEN_ARROW;
        ++q;
    } else if (isdigit((unsigned char)*p) || *p == '-' || *p == '+' || *p == '.') {
        r->token.kind = DTP_TOKEN_NUMBER;
        while (q < r->end && (in_name(*q) || ((*q == '-' || *q == '+') && (q[-1] == 'e' || q[-1] == 'E'))))
            ++q;
    } else if (isalpha((unsigned char)*p) || (*p == '_' && in_name(next))) {
        r->token.kind = DTP_TOKEN_WORD;
        while (q < r->end && in_name(*q)) ++q;
    } else if (memchr("(){}[],=:?_", *p, 11)) {
        r->token.kind = DTP_TOKEN_SIGN;
    } else {
        return dtp_text_fail(r, p, "unexpected byte 0x%02x", (unsigned)(unsigned char)*p);
    }
    r->token.size = (size_t)(q - p);
    if (r->token.size > DTP_TEXT_NUMBER && r->token.kind != DTP_TOKEN_SIGN)
        return dtp_text_fail(r, p, "a name or number of %zu bytes; at most %d are allowed", r->token.size,
                             DTP_TEXT_NUMBER);
    return dnnl_tp_success;
}

bool dtp_text_is(const dtp_text_reader_t *r, char sign) {
    return r->token.kind == DTP_TOKEN_SIGN && *r->token.at == sign;
}

bool dtp_text_is_word(const dtp_text_reader_t *r, const char *word) {
    return r->token.kind == DTP_TOKEN_WORD && r->token.size == strlen(word) &&
           !memcmp(r->token.at, word, r->token.size);
}

dnnl_tp_status_t dtp_text_accept(dtp_text_reader_t *r, char sign, bool *taken) {
    *taken = dtp_text_is(r, sign);
    return *taken ? dtp_text_next(r) : dnnl_tp_success;
}

dnnl_tp_status_t dtp_text_accept_word(dtp_text_reader_t *r, const char *word, bool *taken) {
    *taken = dtp_text_is_word(r, word);
    return *taken ? dtp_text_next(r) : dnnl_tp_success;
}

/* What stands there, for messages. */
static int shown(const dtp_text_reader_t *r) {
    return (int)dtp_min64((int64_t)r->token.size, DTP_TEXT_NUMBER);
}

static dnnl_tp_status_t missing(const dtp_text_reader_t *r, const char *what, int size) {
    if (r->token.kind == DTP_TOKEN_END)
        return dtp_text_fail(r, r->token.at, "the text ends where '%.*s' is needed", size, what);
    return dtp_text_fail(r, r->token.at, "'%.*s' where '%.*s' is needed", shown(r), r->token.at, size, what);
}

dnnl_tp_status_t dtp_text_expect(dtp_text_reader_t *r, char sign) {
    return dtp_text_is(r, sign) ? dtp_text_next(r) : missing(r, &sign, 1);
}

dnnl_tp_status_t dtp_text_expect_word(dtp_text_reader_t *r, const char *word) {
    return dtp_text_is_word(r, word) ? dtp_text_next(r) : missing(r, word, (int)strlen(word));
}

/* ---- Strings and numbers ----------------------------------------------------------------------------- */

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

dnnl_tp_status_t dtp_text_string(dtp_text_reader_t *r, const char **text) {
    *text = "";
    if (r->token.kind != DTP_TOKEN_STRING) return dnnl_tp_success;
    const char *p = r->token.at + 1, *end = r->token.at + r->token.size - 1;
    char *copy = dtp_arena_alloc(&r->arena, r->token.size), *q = copy;
    if (!copy) return dnnl_tp_out_of_memory;
    for (; p < end; ++p) {
        if (*p != '\\') {
            *q++ = *p;
            continue;
        }
        ++p;
        if (*p == 'n') *q++ = '\n';
        else if (*p == 't') *q++ = '\t';
        else if (*p == '"' || *p == '\\') *q++ = *p;
        else {
            int high = *p == 'x' && end - p > 2 ? hex_digit(p[1]) : -1;
            int low = high >= 0 ? hex_digit(p[2]) : -1;
            if (low < 0 || high * 16 + low == 0)
                return dtp_text_fail(r, p - 1, "an escape other than \\n \\t \\\" \\\\ \\x01 to \\xff");
            *q++ = (char)(high * 16 + low);
            p += 2;
        }
    }
    *q = 0;
    *text = copy;
    return dtp_text_next(r);
}

dnnl_tp_status_t dtp_text_integer(dtp_text_reader_t *r, int64_t *v) {
    const dtp_token_t *t = &r->token;
    if (t->kind != DTP_TOKEN_NUMBER) return dtp_text_fail(r, t->at, "an integer is needed");
    bool minus = *t->at == '-';
    int64_t x = 0;
    size_t i = minus;
    if (i == t->size) return dtp_text_fail(r, t->at, "an integer is needed");
    for (; i < t->size; ++i) {
        int d = t->at[i] - '0';
        if (d < 0 || d > 9) return dtp_text_fail(r, t->at, "'%.*s' is not an integer", shown(r), t->at);
        if (x < (INT64_MIN + d) / 10) return dtp_text_fail(r, t->at, "the integer is too large");
        x = x * 10 - d; /* negative, so that the smallest one fits */
    }
    if (!minus && x == INT64_MIN) return dtp_text_fail(r, t->at, "the integer is too large");
    *v = minus ? x : -x;
    return dtp_text_next(r);
}

dnnl_tp_status_t dtp_text_float(dtp_text_reader_t *r, bool single, double *v) {
    const dtp_token_t *t = &r->token;
    char text[DTP_TEXT_NUMBER + 1];
    bool infinite = dtp_text_is_word(r, "inf") ||
                    (t->kind == DTP_TOKEN_NUMBER && t->size == 4 && !memcmp(t->at, "-inf", 4));
    if (infinite) {
        *v = *t->at == '-' ? -(double)INFINITY : (double)INFINITY;
        return dtp_text_next(r);
    }
    if (t->kind != DTP_TOKEN_NUMBER) return dtp_text_fail(r, t->at, "a number is needed");
    memcpy(text, t->at, t->size);
    text[t->size] = 0;
    char *end;
    *v = single ? (double)strtof(text, &end) : strtod(text, &end);
    bool digits = strspn(text, "0123456789+-.eE") == t->size;
    if (!digits || *end || end == text) return dtp_text_fail(r, t->at, "'%s' is not a number", text);
    if (isinf(*v)) return dtp_text_fail(r, t->at, "'%s' is out of range", text);
    return dtp_text_next(r);
}

dnnl_tp_status_t dtp_text_bits(dtp_text_reader_t *r, size_t bytes, void *to) {
    const dtp_token_t *t = &r->token;
    uint64_t bits = 0;
    bool good = t->kind == DTP_TOKEN_NUMBER && t->size == 2 + 2 * bytes && !memcmp(t->at, "0x", 2);
    for (size_t i = 2; good && i < t->size; ++i) {
        int d = hex_digit(t->at[i]);
        good = d >= 0;
        bits = bits << 4 | (unsigned)(d & 15);
    }
    if (!good) return dtp_text_fail(r, t->at, "a bit pattern is 0x and %zu digits", 2 * bytes);
    if (bytes == 2) *(uint16_t *)to = (uint16_t)bits;
    else if (bytes == 4) *(uint32_t *)to = (uint32_t)bits;
    else *(uint64_t *)to = bits;
    return dtp_text_next(r);
}

void dtp_text_range(dnnl_tp_data_type_t type, int64_t *lo, int64_t *hi) {
    *lo = INT64_MIN, *hi = INT64_MAX;
    if (type == dnnl_tp_s32) *lo = INT32_MIN, *hi = INT32_MAX;
    if (type == dnnl_tp_s8) *lo = INT8_MIN, *hi = INT8_MAX;
    if (type == dnnl_tp_u8) *lo = 0, *hi = UINT8_MAX;
    if (type == dnnl_tp_boolean) *lo = 0, *hi = 1;
}

dnnl_tp_status_t dtp_text_element(dtp_text_reader_t *r, dnnl_tp_data_type_t type, void *data, int64_t i) {
    const char *at = r->token.at;
    size_t bytes = dtp_type_size(type);
    char *to = (char *)data + (size_t)i * bytes;
    if (dtp_is_float(type)) {
        if (r->token.kind == DTP_TOKEN_NUMBER && r->token.size > 2 && !memcmp(at, "0x", 2))
            return dtp_text_bits(r, bytes, to);
        double v;
        DTP_TRY(dtp_text_float(r, type != dnnl_tp_f64, &v));
        dtp_store(type, data, i, v);
        return dnnl_tp_success;
    }
    int64_t v, lo, hi;
    DTP_TRY(dtp_text_integer(r, &v));
    dtp_text_range(type, &lo, &hi);
    if (v < lo || v > hi)
        return dtp_text_fail(r, at, "%lld is no value of type %s", (long long)v, dnnl_tp_dt2str(type));
    if (bytes == 8) *(int64_t *)to = v;
    else if (bytes == 4) *(int32_t *)to = (int32_t)v;
    else *(uint8_t *)to = (uint8_t)v;
    return dnnl_tp_success;
}
