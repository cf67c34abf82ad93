/* See search.h. */
#include "search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "embed.h"
#include "npy.h"

typedef struct {
    float score;
    size_t row;
} hit_t;

typedef struct {
    const float *query;
    const se_line_t *line; /* those that are offered, one after another; NULL: only their number is known */
    size_t hidden, next;
    int top, count;
    hit_t *hit; /* sorted, best first; of equals the earlier */
} best_t;

static int is_blank(const se_line_t *line) {
    size_t n = 0;
    while (n < line->bytes && (unsigned char)line->text[n] <= ' ') ++n;
    return n == line->bytes;
}

/* A blank line is left out: it has the embedding of an empty text, which is nearer to many queries than a text is. */
static void offer(best_t *best, float score) {
    if (best->line && is_blank(&best->line[best->next])) {
        ++best->next;
        return;
    }
    int at = best->count < best->top ? best->count++ : best->top;
    for (; at > 0 && best->hit[at - 1].score < score; --at)
        if (at < best->top) best->hit[at] = best->hit[at - 1];
    if (at < best->top) best->hit[at] = (hit_t){score, best->next};
    ++best->next;
}

/* Embeddings of the model have length 1: their dot product is the cosine. */
static int best_sink(void *arg, const float *rows, size_t n, se_error_t *error) {
    best_t *best = arg;
    (void)error;
    for (size_t i = 0; i < n; ++i) {
        float score = 0;
        for (size_t k = 0; k < best->hidden; ++k) score += best->query[k] * rows[i * best->hidden + k];
        offer(best, score);
    }
    return 0;
}

/* Rows of a file may have any length; of one without length the cosine is 0. */
static int offer_saved(best_t *best, const se_options_t *o, const se_lines_t *lines, se_error_t *error) {
    float *rows;
    size_t count, hidden;
    if (se_npy_read_f32(o->embeddings, &rows, &count, &hidden, error)) return -1;
    int status = 0;
    if (hidden != best->hidden)
        status = se_fail(error, "%s: rows of %zu numbers, the model's embeddings have %zu", o->embeddings,
                         hidden, best->hidden);
    else if (o->input && count != lines->count)
        status = se_fail(error, "%s: %zu rows for the %zu lines of %s", o->embeddings, count, lines->count,
                         lines->name);
    for (size_t i = 0; !status && i < count; ++i) {
        double dot = 0, norm = 0;
        for (size_t k = 0; k < hidden; ++k) {
            const double x = rows[i * hidden + k];
            dot += best->query[k] * x;
            norm += x * x;
        }
        if (!isfinite(norm)) status = se_fail(error, "%s: row %zu is not finite", o->embeddings, i + 1);
        else offer(best, norm > 0 ? (float)(dot / sqrt(norm)) : 0);
    }
    se_free(rows);
    return status;
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

static int embed_query(se_encoder_t *encoder, const se_model_t *model, const se_options_t *o, float *row,
                       se_error_t *error) {
    se_embed_stats_t stats;
    se_line_t line = {o->query, strlen(o->query), 0};
    se_lines_t lines = {.name = "--query", .count = 1, .line = &line};
    row_sink_t sink = {row, (size_t)model->hidden};
    se_embed_opts_t opts = {1, 1, o->strict, 1, NULL, row_sink, &sink};
    return se_embed_lines(encoder, model, &lines, &opts, &stats, error);
}

int se_search(const se_model_t *model, const se_options_t *o, se_error_t *error) {
    se_encoder_t *encoder = NULL;
    se_lines_t lines = {0};
    se_embed_stats_t stats = {0};
    const size_t hidden = (size_t)model->hidden;
    float *query = se_alloc_array(hidden, sizeof *query);
    hit_t *hit = se_alloc_array((size_t)o->top, sizeof *hit);
    best_t best = {query, NULL, hidden, 0, o->top, 0, hit};
    se_encoder_opts_t encoder_opts = {o->threads, o->pool, o->bf16, o->gpu};
    dnnl_tp_trace_t trace = NULL;
    int status = -1;
    if (!query || !hit) {
        se_fail_memory(error);
        goto done;
    }
    if (o->input && se_lines_open(&lines, o->input, o->errors, error)) goto done;
    best.line = lines.line;
    if (se_encoder_create(&encoder, model, &encoder_opts, error)) goto done;
    if (se_trace_create(&trace, o->profile, error)) goto done;
    if (embed_query(encoder, model, o, query, error)) goto done;
    if (o->embeddings) {
        if (offer_saved(&best, o, &lines, error)) goto done;
    } else {
        se_embed_opts_t opts = {o->clients, o->batch, o->strict, o->quiet, trace, best_sink, &best};
        if (se_embed_lines(encoder, model, &lines, &opts, &stats, error)) goto done;
    }
    if (se_trace_write(trace, o->profile, error)) goto done;
    for (int i = 0; i < best.count; ++i) {
        const size_t row = hit[i].row;
        if (!o->input) {
            printf("%.4f\t%zu\n", hit[i].score, row + 1);
        } else {
            const se_line_t *found = &lines.line[row];
            printf("%.4f\t%zu\t%.*s\n", hit[i].score, found->number, (int)found->bytes, found->text);
        }
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
