/* The lines of a text file, without copying: "\n" ends a line, an end without it does too, "\r" before it is
 * cut. */
#ifndef SE_LINES_H
#define SE_LINES_H

#include "common.h"

typedef struct {
    const char *text;
    size_t bytes;
} se_line_t;

typedef struct {
    se_file_t file;
    size_t count;
    se_line_t *line; /* count */
} se_lines_t;

int se_lines_open(se_lines_t *lines, const char *path, se_error_t *error);
void se_lines_close(se_lines_t *lines);

#endif
