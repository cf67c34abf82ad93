/* See lines.h. */
#include "lines.h"

#include <string.h>

#include "tokenizer.h"
#include "utf8.h"

/* Bytes that the line has with every part that is not UTF-8 replaced; writes them where `to` is given. *bad: how
 * many parts. */
static size_t repair(const char *line, size_t bytes, char *to, size_t *bad) {
    const unsigned char *p = (const unsigned char *)line, *end = p + bytes;
    size_t size = 0;
    for (*bad = 0; p < end;) {
        int32_t cp;
        const int good = se_utf8_decode(p, end, &cp), n = good ? good : se_utf8_bad_length(p, end);
        if (good) {
            if (to) memcpy(to + size, p, (size_t)n);
            size += (size_t)n;
        } else {
            unsigned char mark[4];
            const size_t m = (size_t)se_utf8_encode(SE_UTF8_REPLACEMENT, mark);
            if (to) memcpy(to + size, mark, m);
            size += m;
            ++*bad;
        }
        p += n;
    }
    return size;
}

/* Leaves out or repairs what cannot be read. */
static int mend(se_lines_t *lines, se_errors_t errors, se_error_t *error) {
    size_t kept = 0, bad, copied = 0;
    if (errors == SE_ERRORS_REPLACE) {
        for (size_t i = 0; i < lines->count; ++i) {
            size_t bytes = repair(lines->line[i].text, lines->line[i].bytes, NULL, &bad);
            if (bad) copied += bytes, ++lines->repaired;
        }
        if (!lines->repaired) return 0;
        lines->copies = se_alloc(copied);
        if (!lines->copies) return se_fail_memory(error);
        copied = 0;
    }
    for (size_t i = 0; i < lines->count; ++i) {
        se_line_t line = lines->line[i];
        size_t bytes = repair(line.text, line.bytes, NULL, &bad);
        if (errors == SE_ERRORS_SKIP && (bad || line.bytes > SE_MAX_LINE_BYTES)) {
            ++lines->skipped;
            continue;
        }
        if (bad) {
            repair(line.text, line.bytes, lines->copies + copied, &bad);
            line.text = lines->copies + copied;
            line.bytes = bytes;
            copied += bytes;
        }
        lines->line[kept++] = line;
    }
    lines->count = kept;
    return 0;
}

int se_lines_open(se_lines_t *lines, const char *path, se_errors_t errors, se_error_t *error) {
    *lines = (se_lines_t){.name = strcmp(path, "-") ? path : "standard input"};
    if (se_file_open(&lines->file, path, SIZE_MAX / 2, error)) return -1;
    const char *text = (const char *)lines->file.data;
    size_t size = lines->file.size, n = 0;
    for (const char *p = text; size && (p = memchr(p, '\n', size - (size_t)(p - text))) != NULL; ++p) ++n;
    if (size && text[size - 1] != '\n') ++n;
    lines->line = se_alloc_array(n, sizeof *lines->line);
    if (!lines->line) {
        se_lines_close(lines);
        return se_fail_memory(error);
    }
    for (size_t begin = 0; begin < size; ++lines->count) {
        const char *line = text + begin, *stop = memchr(line, '\n', size - begin);
        size_t bytes = stop ? (size_t)(stop - line) : size - begin;
        begin += bytes + 1;
        if (bytes && line[bytes - 1] == '\r') --bytes;
        lines->line[lines->count] = (se_line_t){line, bytes, lines->count + 1};
    }
    if (errors == SE_ERRORS_STRICT || !mend(lines, errors, error)) return 0;
    se_lines_close(lines);
    return -1;
}

void se_lines_close(se_lines_t *lines) {
    se_free(lines->line);
    se_free(lines->copies);
    se_file_close(&lines->file);
    *lines = (se_lines_t){0};
}

int se_lines_fail(const se_lines_t *lines, size_t i, se_error_t *error, const char *why) {
    const size_t number = lines->line[i].number;
    return number ? se_fail(error, "%.200s:%zu: %.250s", lines->name, number, why)
                  : se_fail(error, "%.200s: %.250s", lines->name, why);
}
