/* The sentence encoder: a program that owns its threads and computes sentence embeddings with dnnl_tp.
 * This file holds the commands. Read graph.c for the network, encoder.c for how it is compiled and run,
 * own_pool.c for the thread pool, tokenizer.c and model.c for what has nothing to do with the library.
 * doc/sentence_encoder.md is the guide for users. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "embed.h"
#include "options.h"
#include "output.h"
#include "tokenizer.h"

static void on_signal(int signal) {
    (void)signal;
    se_interrupted = 1; /* loops stop at their next batch and remove what they wrote */
}

typedef struct {
    se_output_t out;
    size_t hidden;
} npy_sink_t;

static int npy_sink(void *arg, const float *rows, size_t n, se_error_t *error) {
    npy_sink_t *sink = arg;
    return se_npy_append(&sink->out, rows, n * sink->hidden, error);
}

static int embed(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    se_encoder_t *encoder = NULL;
    se_lines_t lines = {0};
    se_embed_stats_t stats = {0};
    npy_sink_t sink = {.hidden = (size_t)model->hidden};
    se_encoder_opts_t encoder_opts = {o->threads, o->pool};
    se_embed_opts_t opts = {o->clients, o->batch, o->strict, o->quiet, NULL, npy_sink, &sink};
    int status = -1;
    if (se_lines_open(&lines, o->input, error)) goto done;
    /* First of all the output: not after an hour of work is the time to say that it cannot be written. */
    if (se_npy_open(&sink.out, o->output, lines.count, sink.hidden, error)) goto done;
    if (se_trace_create(&opts.trace, o->profile, error)) goto done;
    if (se_encoder_create(&encoder, model, &encoder_opts, error)) goto done;
    if (se_embed_lines(encoder, model, &lines, &opts, &stats, error)) goto done;
    if (se_trace_write(opts.trace, o->profile, error)) goto done;
    status = se_output_commit(&sink.out, error);
done:
    se_output_abandon(&sink.out);
    dnnl_tp_trace_destroy(opts.trace);
    se_encoder_destroy(encoder);
    se_lines_close(&lines);
    return status;
}

typedef struct {
    float score;
    size_t line;
} hit_t;

typedef struct {
    const float *query;
    size_t hidden, next;
    int top, count;
    hit_t *hit; /* sorted, best first */
} search_sink_t;

/* Embeddings have length 1: their dot product is the cosine. */
static int search_sink(void *arg, const float *rows, size_t n, se_error_t *error) {
    search_sink_t *s = arg;
    (void)error;
    for (size_t i = 0; i < n; ++i, ++s->next) {
        float score = 0;
        for (size_t k = 0; k < s->hidden; ++k) score += s->query[k] * rows[i * s->hidden + k];
        int at = s->count < s->top ? s->count++ : s->top;
        for (; at > 0 && s->hit[at - 1].score < score; --at)
            if (at < s->top) s->hit[at] = s->hit[at - 1];
        if (at < s->top) s->hit[at] = (hit_t){score, s->next};
    }
    return 0;
}

typedef struct {
    float *row;
    size_t hidden;
} row_sink_t;

static int row_sink(void *arg, const float *rows, size_t n, se_error_t *error) {
    row_sink_t *sink = arg;
    (void)error;
    memcpy(sink->row, rows, n * sink->hidden * sizeof *rows);
    return 0;
}

static int search(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    se_encoder_t *encoder = NULL;
    se_lines_t lines = {0};
    se_embed_stats_t stats = {0};
    size_t hidden = (size_t)model->hidden;
    float *query = se_alloc_array(hidden, sizeof *query);
    hit_t *hit = se_alloc_array((size_t)o->top, sizeof *hit);
    se_encoder_opts_t encoder_opts = {o->threads, o->pool};
    dnnl_tp_trace_t trace = NULL;
    int status = -1;
    if (!query || !hit) {
        se_fail_memory(error);
        goto done;
    }
    if (se_lines_open(&lines, o->input, error)) goto done;
    if (se_encoder_create(&encoder, model, &encoder_opts, error)) goto done;

    se_line_t line = {o->query, strlen(o->query)};
    se_lines_t query_lines = {.count = 1, .line = &line};
    row_sink_t row = {query, hidden};
    se_embed_opts_t query_opts = {1, 1, o->strict, 1, NULL, row_sink, &row};
    if (se_embed_lines(encoder, model, &query_lines, &query_opts, &stats, error)) {
        se_error_t why = *error;
        se_fail(error, "--query: %.400s", why.text);
        goto done;
    }

    search_sink_t sink = {query, hidden, 0, o->top, 0, hit};
    if (se_trace_create(&trace, o->profile, error)) goto done;
    se_embed_opts_t opts = {o->clients, o->batch, o->strict, o->quiet, trace, search_sink, &sink};
    if (se_embed_lines(encoder, model, &lines, &opts, &stats, error)) goto done;
    if (se_trace_write(trace, o->profile, error)) goto done;
    for (int i = 0; i < sink.count; ++i) {
        const se_line_t *found = &lines.line[hit[i].line];
        printf("%.4f\t%zu\t%.*s\n", hit[i].score, hit[i].line + 1, (int)found->bytes, found->text);
    }
    status = 0;
done:
    dnnl_tp_trace_destroy(trace);
    se_encoder_destroy(encoder);
    se_lines_close(&lines);
    se_free(query);
    se_free(hit);
    return status;
}

static int tokenize(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    se_lines_t lines;
    int max_tokens = (int)model->max_tokens, status = 0;
    if (se_lines_open(&lines, o->input, error)) return -1;
    int32_t *ids = se_alloc_array((size_t)max_tokens, sizeof *ids);
    if (!ids) status = se_fail_memory(error);
    for (size_t i = 0; !status && i < lines.count && !se_interrupted; ++i) {
        se_tokens_t tokens;
        se_error_t why;
        if (se_tokenize(&model->vocab, lines.line[i].text, lines.line[i].bytes, max_tokens, ids, &tokens,
                        &why)) {
            status = se_fail(error, "line %zu: %s", i + 1, why.text);
        } else if (tokens.truncated && o->strict) {
            status = se_fail(error, "line %zu: more than %d tokens", i + 1, max_tokens);
        } else {
            for (int k = 0; k < tokens.count; ++k) printf(k ? " %d" : "%d", ids[k]);
            putchar('\n');
        }
    }
    se_free(ids);
    se_lines_close(&lines);
    return status;
}

int main(int argc, char **argv) {
    se_options_t options;
    se_error_t error = {""};
    se_model_t model;
    if (se_options_parse(&options, argc, argv, &error)) {
        fprintf(stderr, "sentence_encoder: %s\n", error.text);
        return SE_EXIT_USAGE;
    }
    if (options.command == SE_HELP) {
        fputs(se_help_text, stdout);
        return fflush(stdout) ? SE_EXIT_FAILED : SE_EXIT_OK;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);

    int status = se_model_open(&model, options.model, &error);
    if (!status) {
        switch (options.command) {
        case SE_EMBED: status = embed(&model, &options, &error); break;
        case SE_SEARCH: status = search(&model, &options, &error); break;
        case SE_TOKENIZE: status = tokenize(&model, &options, &error); break;
        case SE_BENCH: status = se_bench(&model, &options, &error); break;
        case SE_HELP: break;
        }
        se_model_close(&model);
    }
    if (fflush(stdout) || ferror(stdout))
        status = status ? status : se_fail(&error, "cannot write to standard output");
    if (!status) return SE_EXIT_OK;
    fprintf(stderr, "sentence_encoder: %s\n", error.text);
    return se_interrupted ? SE_EXIT_INTERRUPTED : SE_EXIT_FAILED;
}
