/* See trace.h. A row of the picture is a participant of a client's runs; the first row of a client shows its
 * runs. */
#include "trace.h"

#include <errno.h>
#include <string.h>

#include "output.h"

enum { MAX_EVENTS = 2000000, ROWS_PER_CLIENT = 512, RUN = -1 };

int se_trace_add(se_trace_t *trace, const dnnl_tp_run_stats_t *stats, int64_t begin_ns, int64_t end_ns,
                 se_error_t *error) {
    int stored = stats->num_events < stats->max_events ? stats->num_events : stats->max_events;
    if (trace->count + (size_t)stored + 1 > MAX_EVENTS) {
        trace->dropped += (size_t)stored + 1;
        return 0;
    }
    trace->dropped += (size_t)(stats->num_events - stored);
    if (se_grow((void **)&trace->event, &trace->cap, trace->count + (size_t)stored + 1, sizeof *trace->event,
                error))
        return -1;
    trace->event[trace->count++] = (dnnl_tp_trace_event_t){"run", RUN, begin_ns, end_ns};
    if (stored) memcpy(trace->event + trace->count, stats->events, (size_t)stored * sizeof *trace->event);
    trace->count += (size_t)stored;
    return 0;
}

/* A name as the inside of a JSON string; names come from graph.c, so this only has to be safe. */
static void put_name(FILE *file, const char *name) {
    for (; name && *name; ++name) {
        unsigned char c = (unsigned char)*name;
        if (c == '"' || c == '\\' || c < ' ' || c >= 0x7f) fprintf(file, "\\u%04x", c);
        else putc(c, file);
    }
}

static void put_row_name(FILE *file, int row, int client, int thread, const char *comma) {
    fprintf(file,
            "%s{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"client %d",
            comma, row, client);
    if (thread != RUN) fprintf(file, ", thread %d", thread);
    fputs(thread == RUN ? ": runs\"}}" : "\"}}", file);
}

int se_trace_write(const char *path, int n, const se_trace_t *trace, se_error_t *error) {
    se_output_t out;
    int64_t start = INT64_MAX;
    size_t dropped = 0;
    if (se_output_open(&out, path, error)) return -1;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"sentence_encoder\"}}",
          out.file);
    for (int c = 0; c < n; ++c) {
        int top = RUN;
        for (size_t i = 0; i < trace[c].count; ++i) {
            if (trace[c].event[i].begin_ns < start) start = trace[c].event[i].begin_ns;
            if (trace[c].event[i].thread > top) top = trace[c].event[i].thread;
        }
        for (int t = RUN; t <= top; ++t) put_row_name(out.file, c * ROWS_PER_CLIENT + t + 1, c, t, ",\n");
        dropped += trace[c].dropped;
    }
    for (int c = 0; c < n; ++c)
        for (size_t i = 0; i < trace[c].count; ++i) {
            const dnnl_tp_trace_event_t *e = &trace[c].event[i];
            fputs(",\n{\"ph\":\"X\",\"pid\":1,\"name\":\"", out.file);
            put_name(out.file, e->name);
            fprintf(out.file, "\",\"cat\":\"%s\",\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}",
                    e->thread == RUN ? "run" : "node", c * ROWS_PER_CLIENT + e->thread + 1,
                    (double)(e->begin_ns - start) * 1e-3, (double)(e->end_ns - e->begin_ns) * 1e-3);
        }
    fprintf(out.file, "\n],\"otherData\":{\"dropped_events\":\"%zu\"}}\n", dropped);
    return se_output_commit(&out, error);
}

void se_trace_free(se_trace_t *trace) {
    se_free(trace->event);
    *trace = (se_trace_t){0};
}
