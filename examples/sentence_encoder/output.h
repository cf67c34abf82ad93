/* Where results go. A regular file appears whole or not at all: it is written under a temporary name beside the
 * final one, renamed at the end, removed on failure and on SIGINT. Anything else is never replaced: a link is
 * followed to its target, a device or a pipe is written through, "-" is standard output. */
#ifndef SE_OUTPUT_H
#define SE_OUTPUT_H

#include <stdio.h>

#include "common.h"

typedef struct {
    FILE *file;
    char *path;               /* as the user wrote it */
    char *target, *temporary; /* NULL: written in place */
} se_output_t;

/* Where FILE is a pipe without a reader, waits for one. */
int se_output_open(se_output_t *out, const char *path, se_error_t *error);
/* Flushes, checks and renames. On failure nothing is left behind. */
int se_output_commit(se_output_t *out, se_error_t *error);
/* Removes what was written so far; harmless after a commit or on a zeroed struct. */
void se_output_abandon(se_output_t *out);

/* What a program begins with: a standard stream that is closed would be the number of the next file that is opened, which
 * then would get what is printed. Writing to it fails afterwards. */
void se_output_hold_standard(void);
/* SIGINT, SIGTERM and SIGHUP, where they are not ignored, remove the temporary file before they end the program. */
void se_output_remove_on_signal(void);

/* Fails if `path`, the value of `option`, cannot be written later on; changes nothing, opens no pipe. */
int se_output_check(const char *option, const char *path, se_error_t *error);
/* Fails if both options name one file, whatever the names ("-": standard output, of an input standard input).
 * A file that is not there yet is no other's; terminals and other devices may be both. */
int se_output_differs(const char *option, const char *path, const char *other_option, const char *other,
                      int other_is_input, se_error_t *error);

#endif
