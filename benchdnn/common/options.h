/* The command line: global options, option lists of drivers, batch files, the loop over
 * combinations. */
#ifndef BD_OPTIONS_H
#define BD_OPTIONS_H

#include "common/prb.h"

void bd_options_init(void);
/* 1: tok was a global option and is set. 0: it is no global option. A bad value ends the program.
 */
int bd_global_option(const char *tok);
/* Takes a token after the driver's name. */
void bd_driver_token(const bd_driver_t *, const char *tok);
/* Searches and reads a batch file and feeds its tokens to bd_driver_token. */
void bd_batch(const bd_driver_t *, const char *name);
void bd_driver_help(const bd_driver_t *);
extern char bd_perf_template[BD_TEXT]; /* "def", "csv" or a template */
extern char bd_exe_dir[1024];

/* Splits batch text into tokens and passes them to fn. Returns 1 if the last one is an option. A
 * separate function for tests and fuzzing. */
int bd_batch_tokens(const char *text, size_t n, void (*fn)(void *arg, const char *tok), void *arg);

#endif
