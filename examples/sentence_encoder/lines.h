/* The lines of a text file: "\n" ends a line, an end without it does too, "\r" before it is cut. Lines are used
 * where the file is mapped; only those that are repaired are copied. */
#ifndef SE_LINES_H
#define SE_LINES_H

#include "common.h"

/* What becomes of a line that is not UTF-8, or is too long to be read. */
typedef enum {
    SE_ERRORS_STRICT,  /* kept as it is: whoever reads it fails */
    SE_ERRORS_REPLACE, /* every maximal part that is not UTF-8 becomes U+FFFD; a long one is kept */
    SE_ERRORS_SKIP     /* left out; the others keep their numbers */
} se_errors_t;

typedef struct {
    const char *text;
    size_t bytes, number; /* number: of the line in the file, from 1; 0: it is the only one */
} se_line_t;

typedef struct {
    se_file_t file;
    const char *name; /* of the file, for texts; as long as the caller's path */
    size_t count, repaired, skipped;
    se_line_t *line; /* count */
    char *copies;    /* of repaired lines */
} se_lines_t;

int se_lines_open(se_lines_t *lines, const char *path, se_errors_t errors, se_error_t *error);
void se_lines_close(se_lines_t *lines);
/* "NAME:NUMBER: why" for line i. Returns -1. */
int se_lines_fail(const se_lines_t *lines, size_t i, se_error_t *error, const char *why);

#endif
