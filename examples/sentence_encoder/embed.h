/* Lines of text to embeddings: tokenise, sort by length, run in batches on several client threads, give the
 * rows back in the order of the lines. */
#ifndef SE_EMBED_H
#define SE_EMBED_H

#include <stdatomic.h>

#include "encoder.h"
#include "lines.h"
#include "trace.h"

typedef struct {
    int clients, batch, strict, quiet;
    dnnl_tp_trace_t trace; /* NULL = none */
    /* Receives `n` rows of `hidden` floats, in the order of the lines. */
    int (*sink)(void *arg, const float *rows, size_t n, se_error_t *error);
    void *arg;
} se_embed_opts_t;

typedef struct {
    size_t lines, tokens, truncated, empty; /* empty: lines without a word */
    int64_t ns;
} se_embed_stats_t;

/* Set by signal handlers: work stops at the next batch and se_embed_lines fails. */
extern atomic_int se_interrupted; /* lock-free: allowed in a signal handler */

int se_embed_lines(se_encoder_t *encoder, const se_model_t *model, const se_lines_t *lines,
                   const se_embed_opts_t *opts, se_embed_stats_t *stats, se_error_t *error);

#endif
