/* See embed.h. The lines are taken in windows: memory stays bounded, and sorting inside a window puts lines
 * of like length into one run. Nothing is allocated after the first window but executables for new shapes. */
#include "embed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tokenizer.h"

enum {
    WINDOW_LINES = 2048,
    RUN_TOKENS = 1024, /* larger runs are no faster, only larger */
    NO_WORD_TOKENS = 2 /* [CLS] and [SEP] */
};
static const int64_t progress_ns = 100000000;       /* on a terminal */
static const int64_t log_ns = INT64_C(10000000000); /* in a log: a line now and then */

atomic_int se_interrupted;

typedef struct {
    int begin, end; /* lines of work->order */
} batch_t;

typedef struct work {
    se_encoder_t *encoder;
    const se_model_t *model;
    const se_embed_opts_t *opts;
    se_embed_stats_t *stats;
    const se_lines_t *lines;
    size_t first, total_bytes; /* of the window; of all lines, a line end each */
    int64_t start_ns, shown_ns;
    /* The window. */
    int32_t *ids; /* WINDOW_LINES x max_tokens */
    se_sequence_t *sequence;
    int *order;
    float *rows; /* WINDOW_LINES x hidden */
    batch_t *batch;
    int num_batches;
    atomic_int next, failed;
    atomic_size_t done, done_bytes;
} work_t;

typedef struct {
    work_t *work;
    se_session_t *session;
    se_sequence_t *sequence; /* opts->batch */
    float **out;
    int is_caller; /* the thread of se_embed_lines: it shows the progress */
    se_error_t error;
} client_t;

/* Work is nearly proportional to text, whatever the length of the lines. */
static void show_progress(work_t *w, int last) {
    const int64_t now = se_now_ns();
    const int terminal = isatty(STDERR_FILENO);
    if (w->opts->quiet || (!last && now - w->shown_ns < (terminal ? progress_ns : log_ns))) return;
    w->shown_ns = now;
    const double seconds = (double)(now - w->start_ns) * 1e-9;
    const size_t done = atomic_load(&w->done), total = w->lines->count;
    const double part = w->total_bytes ? (double)atomic_load(&w->done_bytes) / (double)w->total_bytes : 1;
    char left[32] = "";
    if (!last && part > 0) snprintf(left, sizeof left, ", %.0f s left", seconds / part - seconds);
    fprintf(stderr, "%s%3.0f %%, %zu of %zu lines, %zu tokens, %.1f s, %.0f lines/s%s%s",
            terminal ? "\r" : "", last ? 100.0 : 100 * part, done, total, w->stats->tokens, seconds,
            seconds > 0 ? (double)done / seconds : 0.0, left, last || !terminal ? "\n" : "   ");
}

/* Takes batches until none is left; returns the client if it failed. */
static void *run_client(void *arg) {
    client_t *c = arg;
    work_t *w = c->work;
    size_t hidden = (size_t)w->model->hidden;
    for (int i; !se_interrupted && !atomic_load(&w->failed) &&
                (i = atomic_fetch_add(&w->next, 1)) < w->num_batches;) {
        const batch_t *b = &w->batch[i];
        int n = b->end - b->begin;
        size_t bytes = 0;
        for (int k = 0; k < n; ++k) {
            int line = w->order[b->begin + k];
            bytes += w->lines->line[w->first + (size_t)line].bytes + 1;
            c->sequence[k] = w->sequence[line];
            c->out[k] = w->rows + (size_t)line * hidden;
        }
        if (se_session_run(c->session, n, c->sequence, c->out, &c->error)) {
            atomic_store(&w->failed, 1);
            return c;
        }
        atomic_fetch_add(&w->done, (size_t)n);
        atomic_fetch_add(&w->done_bytes, bytes);
        if (c->is_caller) show_progress(w, 0);
    }
    return NULL;
}

static const work_t *sorting; /* qsort has no argument of its own; windows are sorted by one thread */

static int by_length(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b, d = sorting->sequence[x].count - sorting->sequence[y].count;
    return d ? d : x - y;
}

static int fill_window(work_t *w, size_t first, int n, se_error_t *error) {
    const se_lines_t *lines = w->lines;
    int max_tokens = (int)w->model->max_tokens;
    w->first = first;
    for (int i = 0; i < n; ++i) {
        const se_line_t *line = &lines->line[first + (size_t)i];
        int32_t *ids = w->ids + (size_t)i * (size_t)max_tokens;
        se_tokens_t tokens;
        se_error_t why;
        if (se_tokenize(&w->model->vocab, line->text, line->bytes, max_tokens, ids, &tokens, &why))
            return se_lines_fail(lines, first + (size_t)i, error, why.text);
        if (tokens.truncated && w->opts->strict) {
            se_fail(&why, "more than %d tokens", max_tokens);
            return se_lines_fail(lines, first + (size_t)i, error, why.text);
        }
        w->sequence[i] = (se_sequence_t){ids, tokens.count};
        w->order[i] = i;
        w->stats->tokens += (size_t)tokens.count;
        w->stats->truncated += (size_t)tokens.truncated;
        w->stats->empty += tokens.count <= NO_WORD_TOKENS;
    }
    sorting = w;
    qsort(w->order, (size_t)n, sizeof *w->order, by_length);
    w->num_batches = 0;
    for (int i = 0; i < n;) {
        batch_t *b = &w->batch[w->num_batches++];
        b->begin = i;
        for (int tokens = 0; i < n && i - b->begin < w->opts->batch; ++i) {
            tokens += w->sequence[w->order[i]].count;
            if (tokens > RUN_TOKENS && i > b->begin) break;
        }
        b->end = i;
    }
    atomic_store(&w->next, 0);
    return 0;
}

static int run_window(work_t *w, client_t *client, se_error_t *error) {
    pthread_t thread[64];
    int started = 1;
    for (; started < w->opts->clients; ++started)
        if (pthread_create(&thread[started], NULL, run_client, &client[started])) break; /* fewer will do */
    client_t *failed = run_client(&client[0]);
    for (int i = 1; i < started; ++i) {
        void *result;
        pthread_join(thread[i], &result);
        if (result) failed = result;
    }
    if (failed) *error = failed->error;
    else if (se_interrupted) se_fail(error, "interrupted");
    return failed || se_interrupted ? -1 : 0;
}

static int create_clients(work_t *w, client_t *client, se_error_t *error) {
    int max_tokens = (int)w->model->max_tokens > RUN_TOKENS ? (int)w->model->max_tokens : RUN_TOKENS;
    for (int i = 0; i < w->opts->clients; ++i) {
        client_t *c = &client[i];
        c->work = w;
        c->is_caller = i == 0;
        c->sequence = se_alloc_array((size_t)w->opts->batch, sizeof *c->sequence);
        c->out = se_alloc_array((size_t)w->opts->batch, sizeof *c->out);
        if (!c->sequence || !c->out) return se_fail_memory(error);
        if (se_session_create(&c->session, w->encoder, w->opts->batch, max_tokens, w->opts->trace, error))
            return -1;
    }
    return 0;
}

int se_embed_lines(se_encoder_t *encoder, const se_model_t *model, const se_lines_t *lines,
                   const se_embed_opts_t *opts, se_embed_stats_t *stats, se_error_t *error) {
    size_t window = lines->count < WINDOW_LINES ? lines->count : WINDOW_LINES, hidden = (size_t)model->hidden;
    size_t clients = (size_t)opts->clients;
    int status = -1;
    *stats = (se_embed_stats_t){0};
    work_t w = {.encoder = encoder, .model = model, .opts = opts, .stats = stats, .lines = lines};
    w.start_ns = w.shown_ns = se_now_ns();
    for (size_t i = 0; i < lines->count; ++i) w.total_bytes += lines->line[i].bytes + 1;
    client_t *client = se_zalloc(clients * sizeof *client);
    w.ids = se_alloc_array(window * (size_t)model->max_tokens, sizeof *w.ids);
    w.sequence = se_alloc_array(window, sizeof *w.sequence);
    w.order = se_alloc_array(window, sizeof *w.order);
    w.rows = se_alloc_array(window * hidden, sizeof *w.rows);
    w.batch = se_alloc_array(window, sizeof *w.batch);
    if (!client || !w.ids || !w.sequence || !w.order || !w.rows || !w.batch) {
        se_fail_memory(error);
        goto done;
    }
    if (create_clients(&w, client, error)) goto done;
    for (size_t first = 0; first < lines->count; first += window) {
        size_t n = lines->count - first < window ? lines->count - first : window;
        if (fill_window(&w, first, (int)n, error) || run_window(&w, client, error)) goto done;
        if (opts->sink(opts->arg, w.rows, n, error)) goto done;
        stats->lines += n;
        show_progress(&w, 0);
    }
    stats->ns = se_now_ns() - w.start_ns;
    show_progress(&w, 1);
    const int shapes = se_encoder_num_shapes(w.encoder);
    if (!opts->quiet && shapes > 1)
        fprintf(stderr, "%d shapes, compiled in %.2f ms each after the first\n", shapes,
                se_encoder_compile_ms(w.encoder));
    if (stats->truncated && !opts->quiet)
        fprintf(stderr, "%zu of %zu lines are longer than the model's %d tokens and were truncated\n",
                stats->truncated, stats->lines, (int)model->max_tokens);
    if (stats->empty && !opts->quiet)
        fprintf(stderr, "%zu of %zu lines have no word; each has the embedding of an empty text\n",
                stats->empty, stats->lines);
    if (lines->repaired && !opts->quiet)
        fprintf(stderr, "%zu of %zu lines were not UTF-8 and were repaired\n", lines->repaired, stats->lines);
    if (lines->skipped && !opts->quiet)
        fprintf(stderr, "%zu lines were not UTF-8 or too long and were left out\n", lines->skipped);
    status = 0;
done:
    for (size_t i = 0; client && i < clients; ++i) {
        se_session_destroy(client[i].session);
        se_free(client[i].sequence);
        se_free(client[i].out);
    }
    se_free(client);
    se_free(w.ids);
    se_free(w.sequence);
    se_free(w.order);
    se_free(w.rows);
    se_free(w.batch);
    return status;
}
