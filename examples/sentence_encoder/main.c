/* The sentence encoder: a program that owns its threads and computes sentence embeddings with dnnl_tp.
 * This file holds the commands. Read graph.c for the network, encoder.c for how it is compiled and run,
 * own_pool.c for the thread pool, tokenizer.c and model.c for what has nothing to do with the library.
 * doc/sentence_encoder.md is the guide for users. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "embed.h"
#include "options.h"
#include "npy.h"
#include "precision.h"
#include "search.h"
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
    se_encoder_opts_t encoder_opts = {o->threads, o->pool, o->bf16, o->gpu};
    se_embed_opts_t opts = {o->clients, o->batch, o->strict, o->quiet, NULL, npy_sink, &sink};
    int status = -1;
    if (se_lines_open(&lines, o->input, o->errors, error)) goto done;
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

static int tokenize(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    se_lines_t lines;
    se_output_t out = {0};
    int max_tokens = (int)model->max_tokens, status = -1;
    if (se_lines_open(&lines, o->input, o->errors, error)) return -1;
    int32_t *ids = se_alloc_array((size_t)max_tokens, sizeof *ids);
    if (!ids) {
        se_fail_memory(error);
        goto done;
    }
    if (se_output_open(&out, o->output, error)) goto done;
    for (size_t i = 0; i < lines.count && !ferror(out.file); ++i) {
        se_tokens_t tokens;
        se_error_t why;
        int failed = se_tokenize(&model->vocab, lines.line[i].text, lines.line[i].bytes, max_tokens, ids,
                                 &tokens, &why);
        if (!failed && tokens.truncated && o->strict)
            failed = se_fail(&why, "more than %d tokens", max_tokens);
        if (failed || se_interrupted) {
            if (failed) se_lines_fail(&lines, i, error, why.text);
            else se_fail(error, "interrupted");
            fflush(out.file); /* of a pipe, what was done */
            goto done;
        }
        for (int k = 0; k < tokens.count; ++k) fprintf(out.file, k ? " %d" : "%d", ids[k]);
        putc('\n', out.file);
    }
    status = se_output_commit(&out, error);
done:
    se_output_abandon(&out);
    se_free(ids);
    se_lines_close(&lines);
    return status;
}

/* No file may be read and written, or written twice; and what cannot be written is said before the work. */
static int check_files(const se_options_t *o, se_error_t *error) {
    static const char *const of_model[] = {
        "config.json",           "model.safetensors",         "vocab.txt",
        "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json"};
    const struct {
        const char *option, *path;
    } outputs[] = {{"--output", o->output}, {"--profile", o->profile}},
      inputs[] = {{"--input", o->input}, {"--embeddings", o->embeddings}, {"--ids", o->ids}};
    if (se_output_differs("--profile", o->profile, "--output", o->output, 0, error)) return -1;
    if (o->input && o->embeddings && !strcmp(o->input, "-") && !strcmp(o->embeddings, "-"))
        return se_fail(error, "--input and --embeddings are both standard input");
    for (int i = 0; i < 2; ++i) {
        if (!outputs[i].path) continue;
        for (int k = 0; k < 3; ++k)
            if (se_output_differs(outputs[i].option, outputs[i].path, inputs[k].option, inputs[k].path, 1,
                                  error))
                return -1;
        for (size_t k = 0; k < sizeof of_model / sizeof *of_model; ++k) {
            char *file = se_path(o->model, of_model[k], error);
            int status =
                file ? se_output_differs(outputs[i].option, outputs[i].path, "of the model", file, 1, error)
                     : -1;
            se_free(file);
            if (status) return -1;
        }
        if (se_output_check(outputs[i].option, outputs[i].path, error)) return -1;
    }
    return 0;
}

static void print_version(void) {
    const dnnl_tp_version_t *v = dnnl_tp_version();
    printf("sentence_encoder %s, with dnnl_tp %d.%d.%d (%s)\n", SE_VERSION_TEXT, v->library_major,
           v->library_minor, v->library_patch, v->hash);
}

int main(int argc, char **argv) {
    se_options_t options;
    se_error_t error = {""};
    se_model_t model;
    se_output_hold_standard();
    if (se_options_parse(&options, argc, argv, &error)) {
        fprintf(stderr, "sentence_encoder: %s\n", error.text);
        return SE_EXIT_USAGE;
    }
    if (options.command == SE_HELP) {
        fputs(se_help_text, stdout);
        return fflush(stdout) ? SE_EXIT_FAILED : SE_EXIT_OK;
    }
    if (options.command == SE_VERSION) {
        print_version();
        return fflush(stdout) ? SE_EXIT_FAILED : SE_EXIT_OK;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);

    int status = check_files(&options, &error);
    if (!status && options.bf16 && !options.quiet)
        fprintf(stderr, "%s\n",
                options.gpu ? "bf16: products are of bf16, with sums in f32" : se_bf16_text());
    if (!status) status = se_model_open(&model, options.model, &error);
    if (!status) {
        switch (options.command) {
        case SE_EMBED: status = embed(&model, &options, &error); break;
        case SE_SEARCH: status = se_search(&model, &options, &error); break;
        case SE_TOKENIZE: status = tokenize(&model, &options, &error); break;
        case SE_BENCH: status = se_bench(&model, &options, &error); break;
        case SE_HELP:
        case SE_VERSION: break;
        }
        se_model_close(&model);
    }
    if (fflush(stdout) || ferror(stdout))
        status = status ? status : se_fail(&error, "cannot write to standard output");
    if (!status) return SE_EXIT_OK;
    fprintf(stderr, "sentence_encoder: %s\n", error.text);
    return se_interrupted ? SE_EXIT_INTERRUPTED : SE_EXIT_FAILED;
}
