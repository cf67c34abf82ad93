/* See lines.h. */
#include "lines.h"

#include <string.h>

int se_lines_open(se_lines_t *lines, const char *path, se_error_t *error) {
    *lines = (se_lines_t){0};
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
        lines->line[lines->count] = (se_line_t){line, bytes};
    }
    return 0;
}

void se_lines_close(se_lines_t *lines) {
    se_free(lines->line);
    se_file_close(&lines->file);
    *lines = (se_lines_t){0};
}
