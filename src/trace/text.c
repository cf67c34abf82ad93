/* Traces as tables, and as folded stacks for flame graphs. */
#include "trace/read.h"

#include <stdlib.h>

enum { LINE = 160, WIDTH = 40, DEPTH = 64 };

/* ---- Tables ------------------------------------------------------------------------------------------ */

static const char *us(char *text, size_t size, int64_t ns) {
    snprintf(text, size, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000));
    return text;
}

/* A text in one line: control characters become blanks. */
static void put_plain(FILE *f, const char *text) {
    for (; *text; ++text) putc((unsigned char)*text < ' ' ? ' ' : *text, f);
}

static void put_share(FILE *f, int64_t part, int64_t whole) {
    int64_t tenths = whole > 0 ? part * 1000 / whole : 0;
    fprintf(f, "%6lld.%d %%", (long long)(tenths / 10), (int)(tenths % 10));
}

static bool put_streams(const dtp_trace_view_t *v, FILE *f) {
    if (!v->nstreams) return true;
    struct {
        int64_t count, busy_ns, wait_ns;
    } *sum = dtp_zalloc(NULL, sizeof *sum * (size_t)(v->nstreams + 1), 0);
    if (!sum) return false;
    for (int64_t i = 0; i < v->n; ++i) {
        const dtp_trace_event_t *e = v->items[i].event;
        if (e->stream > v->nstreams || dtp_trace_is_of_stream(e)) continue;
        ++sum[e->stream].count;
        sum[e->stream].busy_ns += e->end_ns - e->begin_ns;
        sum[e->stream].wait_ns += v->items[i].wait_ns;
    }
    fprintf(f, "\n%-40s %10s %14s %10s %14s\n", "stream", "records", "busy us", "of time", "waited us");
    for (int i = 1; i <= v->nstreams; ++i) {
        char busy[32], wait[32];
        fprintf(f, "%-40s %10lld %14s ", v->trace->streams[i], (long long)sum[i].count,
                us(busy, sizeof busy, sum[i].busy_ns));
        put_share(f, sum[i].busy_ns, v->last_ns - v->first_ns);
        fprintf(f, " %14s\n", us(wait, sizeof wait, sum[i].wait_ns));
    }
    dtp_free(NULL, sum);
    return true;
}

static void put_threads(const dtp_trace_view_t *v, FILE *f) {
    fprintf(f, "\n%-40s %10s %14s %10s\n", "thread", "records", "busy us", "of time");
    for (int i = 0; i < v->nlanes; ++i) {
        const dtp_trace_view_lane_t *lane = &v->lanes[i];
        char name[LINE], busy[32];
        snprintf(name, sizeof name, "%s (%d)", lane->lane->name, lane->lane->tid);
        fprintf(f, "%-40s %10lld %14s ", name, (long long)lane->count, us(busy, sizeof busy, lane->busy_ns));
        put_share(f, lane->busy_ns, v->last_ns - v->first_ns);
        putc('\n', f);
    }
}

/* Giga per second; nothing where the amount is not known. */
static void put_rate(FILE *f, double amount, int64_t ns) {
    if (amount > 0 && ns > 0) {
        const int64_t tenths = (int64_t)(amount * 10 / (double)ns);
        fprintf(f, " %7lld.%d", (long long)(tenths / 10), (int)(tenths % 10));
    } else {
        fprintf(f, " %9s", "");
    }
}

static void put_row(const dtp_trace_view_t *v, FILE *f, const dtp_trace_row_t *r, int64_t whole_ns) {
    char text[6][32];
    dtp_trace_names_t names;
    dtp_trace_names(v->trace, r->source, r->index, &names);
    fprintf(f, "%14s ", us(text[0], sizeof *text, r->self_ns));
    put_share(f, r->self_ns, whole_ns);
    fprintf(f, " %14s %9lld %12s %12s %12s %12s", us(text[1], sizeof *text, r->total_ns), (long long)r->count,
            us(text[2], sizeof *text, r->total_ns / r->count), us(text[3], sizeof *text, r->min_ns),
            us(text[4], sizeof *text, r->max_ns), us(text[5], sizeof *text, r->wait_ns));
    put_rate(f, r->parts * names.flops, r->total_ns);
    put_rate(f, r->parts * names.bytes, r->total_ns);
    fprintf(f, "  %-9s ", dtp_trace_kind_text(r->kind));
    put_plain(f, names.name);
    if (*names.op || *names.impl) fprintf(f, "  [%s%s%s]", names.op, *names.impl ? " " : "", names.impl);
    if (*names.fused) fputs(" + ", f), put_plain(f, names.fused);
    if (*names.shape) fprintf(f, "  %s", names.shape);
    if (r->kind != dnnl_tp_trace_run && v->trace->sources[r->source].is_graph)
        fprintf(f, "  %s", dtp_trace_label(v->trace, r->source));
    putc('\n', f);
}

/* Operators and executions of one kind and implementation, over all graphs. */
typedef struct {
    const char *op, *impl;
    int64_t count, total_ns, self_ns;
    double flops, bytes;
} kind_sum_t;
static int by_self_ns(const void *a, const void *b) {
    const kind_sum_t *x = a, *y = b;
    if (x->self_ns != y->self_ns) return x->self_ns > y->self_ns ? -1 : 1;
    const int d = strcmp(x->op, y->op);
    return d ? d : strcmp(x->impl, y->impl);
}

static bool put_kinds(const dtp_trace_view_t *v, FILE *f, const dtp_trace_rows_t *rows, int64_t whole_ns) {
    kind_sum_t *sum = dtp_zalloc(NULL, sizeof *sum * (size_t)(rows->n + 1), 0);
    if (!sum) return false;
    size_t n = 0;
    for (uint32_t i = 0; i < rows->n; ++i) {
        const dtp_trace_row_t *r = &rows->row[i];
        if (r->kind != dnnl_tp_trace_node && r->kind != dnnl_tp_trace_primitive) continue;
        dtp_trace_names_t names;
        dtp_trace_names(v->trace, r->source, r->index, &names);
        size_t k = 0;
        while (k < n && (strcmp(sum[k].op, names.op) || strcmp(sum[k].impl, names.impl))) ++k;
        if (k == n) sum[n++] = (kind_sum_t){.op = names.op, .impl = names.impl};
        sum[k].count += r->count;
        sum[k].total_ns += r->total_ns;
        sum[k].self_ns += r->self_ns;
        sum[k].flops += r->parts * names.flops;
        sum[k].bytes += r->parts * names.bytes;
    }
    if (n) {
        qsort(sum, n, sizeof *sum, by_self_ns);
        fprintf(f, "\n%14s %10s %14s %9s %9s %9s  %s\n", "self us", "of all", "total us", "count", "GFLOP/s",
                "GB/s", "kind, in all graphs");
    }
    for (size_t k = 0; k < n; ++k) {
        char self[32], total[32];
        fprintf(f, "%14s ", us(self, sizeof self, sum[k].self_ns));
        put_share(f, sum[k].self_ns, whole_ns);
        fprintf(f, " %14s %9lld", us(total, sizeof total, sum[k].total_ns), (long long)sum[k].count);
        put_rate(f, sum[k].flops, sum[k].total_ns);
        put_rate(f, sum[k].bytes, sum[k].total_ns);
        fprintf(f, "  %s%s%s\n", sum[k].op, *sum[k].impl ? " " : "", sum[k].impl);
    }
    dtp_free(NULL, sum);
    return true;
}

bool dtp_trace_put_text(const dtp_trace_view_t *v, FILE *f) {
    char text[32];
    int64_t whole_ns = 0;
    dtp_trace_rows_t rows = {0};
    fprintf(f, "%lld records in %s us; %lld dropped\n", (long long)v->n,
            us(text, sizeof text, v->last_ns - v->first_ns), (long long)v->dropped);
    put_threads(v, f);
    bool good = put_streams(v, f) && dtp_trace_sum(v, &rows) == dnnl_tp_success;
    for (uint32_t i = 0; good && i < rows.n; ++i) whole_ns += rows.row[i].self_ns;
    good = good && put_kinds(v, f, &rows, whole_ns);
    fprintf(f, "\n%14s %10s %14s %9s %12s %12s %12s %12s %9s %9s  %-9s %s\n", "self us", "of all", "total us",
            "count", "mean us", "min us", "max us", "waited us", "GFLOP/s", "GB/s", "what", "name");
    for (uint32_t i = 0; good && i < rows.n; ++i) put_row(v, f, &rows.row[i], whole_ns);
    dtp_trace_rows_free(&rows);
    return good;
}

/* ---- Folded stacks ----------------------------------------------------------------------------------- */

/* A frame: what would end it becomes something else. */
static void put_frame(FILE *f, const char *text) {
    for (; *text; ++text) {
        if (*text == ';') putc(':', f);
        else putc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
}

static void put_stack(const dtp_trace_view_t *v, FILE *f, const dtp_trace_rows_t *rows, uint32_t at) {
    uint32_t stack[DEPTH];
    int depth = 0;
    for (uint32_t i = at + 1; i && depth < DEPTH; i = rows->row[i - 1].parent) stack[depth++] = i - 1;
    while (depth-- > 0) {
        const dtp_trace_row_t *r = &rows->row[stack[depth]];
        if (r->kind == 0) {
            const dtp_trace_lane_t *lane = v->lanes[r->source].lane;
            put_frame(f, lane->name);
            fprintf(f, " (%d)", lane->tid);
        } else {
            dtp_trace_names_t names;
            dtp_trace_names(v->trace, r->source, r->index, &names);
            put_frame(f, names.name);
            if (r->kind == dnnl_tp_trace_help) fputs(" (help)", f);
        }
        if (depth) putc(';', f);
    }
    fprintf(f, " %lld\n", (long long)rows->row[at].self_ns);
}

/* Rows are stacks here: parent = row + 1 of the frame below, 0 = none; kind 0: the thread. */
bool dtp_trace_put_folded(const dtp_trace_view_t *v, FILE *f) {
    dtp_trace_rows_t rows = {0};
    uint32_t *row_of = dtp_alloc(NULL, sizeof *row_of * (size_t)(v->n + 1), 0);
    bool good = row_of != NULL;
    for (int64_t i = 0; good && i < v->n; ++i) {
        const dtp_trace_item_t *item = &v->items[i];
        const dtp_trace_event_t *e = item->event;
        uint32_t below = 0;
        if (item->parent >= 0) {
            below = row_of[item->parent] + 1;
        } else {
            dtp_trace_row_t *thread = dtp_trace_row(&rows, 0, item->lane, 0, 0);
            if (thread) below = (uint32_t)(thread - rows.row) + 1;
            /* The run of a node on another thread than the run's. */
            bool apart = thread && e->run && e->kind != dnnl_tp_trace_run;
            if (apart) {
                dtp_trace_row_t *run =
                    dtp_trace_row(&rows, below, e->source, DTP_TRACE_WHOLE, dnnl_tp_trace_run);
                below = run ? (uint32_t)(run - rows.row) + 1 : 0;
            }
        }
        dtp_trace_row_t *r = below ? dtp_trace_row(&rows, below, e->source, e->index, e->kind) : NULL;
        good = r != NULL;
        if (!good) break;
        r->self_ns += item->self_ns;
        row_of[i] = (uint32_t)(r - rows.row);
    }
    for (uint32_t i = 0; good && i < rows.n; ++i)
        if (rows.row[i].self_ns > 0) put_stack(v, f, &rows, i);
    dtp_free(NULL, row_of);
    dtp_trace_rows_free(&rows);
    return good;
}
