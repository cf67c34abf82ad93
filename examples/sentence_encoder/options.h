/* The command line. */
#ifndef SE_OPTIONS_H
#define SE_OPTIONS_H

#include "encoder.h"
#include "lines.h"

/* Exit codes. */
enum { SE_EXIT_OK = 0, SE_EXIT_FAILED = 1, SE_EXIT_USAGE = 2, SE_EXIT_INTERRUPTED = 130 };

typedef enum { SE_HELP, SE_VERSION, SE_EMBED, SE_SEARCH, SE_TOKENIZE, SE_BENCH } se_command_t;

typedef struct {
    se_command_t command;
    const char *model, *input, *output, *embeddings, *query, *profile, *ids;
    int threads, clients, batch, tokens, top, strict, quiet, step, fresh, bf16, gpu;
    double seconds;
    se_pool_kind_t pool;
    se_errors_t errors;
} se_options_t;

int se_options_parse(se_options_t *options, int argc, char **argv, se_error_t *error);
extern const char se_help_text[];

#endif
