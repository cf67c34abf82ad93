/* Views of traces, their sums, and the public calls that read. See read.h. */
#include "trace/read.h"

#include <stdlib.h>

/* ---- Views ------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const dtp_trace_item_t *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->event->begin_ns != y->event->begin_ns) return x->event->begin_ns < y->event->begin_ns ? -1 : 1;
    if (x->event->end_ns != y->event->end_ns) return x->event->end_ns > y->event->end_ns ? -1 : 1;
    return x->event > y->event ? -1 : x->event < y->event; /* what was around is recorded later */
}

static int64_t count_records(const dtp_trace_t *t) {
    int64_t n = 0;
    for (uint32_t p = 0; p < t->npieces; ++p) n += atomic_load_explicit(&t->count[p], memory_order_acquire);
    return n;
}

/* The items of at most `room` records; lanes are still those of the trace. */
static void gather(dtp_trace_view_t *v, int64_t room) {
    const dtp_trace_t *t = v->trace;
    v->first_ns = INT64_MAX;
    v->last_ns = INT64_MIN;
    for (uint32_t p = 0; p < t->npieces; ++p) {
        uint32_t count = atomic_load_explicit(&t->count[p], memory_order_acquire);
        for (uint32_t i = 0; i < count && v->n < room; ++i) {
            const dtp_trace_event_t *e = &t->events[(p << t->piece_bits) + i];
            v->items[v->n++] =
                (dtp_trace_item_t){e, t->owner[p], DTP_TRACE_NONE, e->end_ns - e->begin_ns, e->wait_ns};
            v->first_ns = dtp_min64(v->first_ns, e->begin_ns);
            v->last_ns = dtp_max64(v->last_ns, e->end_ns);
        }
    }
    if (!v->n) v->first_ns = v->last_ns = 0;
}

/* Numbers the lanes by their first record. */
static bool number_lanes(dtp_trace_view_t *v) {
    const dtp_trace_t *t = v->trace;
    int64_t *first = dtp_alloc(NULL, sizeof *first * DTP_TRACE_LANES, 0);
    uint32_t *number = dtp_alloc(NULL, sizeof *number * DTP_TRACE_LANES, 0);
    bool good = first && number;
    for (int i = 0; good && i < DTP_TRACE_LANES; ++i) first[i] = INT64_MAX;
    for (int64_t i = 0; good && i < v->n; ++i) {
        int64_t *at = &first[v->items[i].lane];
        if (*at == INT64_MAX) ++v->nlanes;
        *at = dtp_min64(*at, v->items[i].event->begin_ns);
    }
    v->lanes = dtp_zalloc(NULL, sizeof *v->lanes * (size_t)(v->nlanes + 1), 0);
    good = good && v->lanes;
    for (int k = 0; good && k < v->nlanes; ++k) {
        int least = 0;
        for (int i = 1; i < DTP_TRACE_LANES; ++i)
            if (first[i] < first[least]) least = i;
        first[least] = INT64_MAX;
        number[least] = (uint32_t)k;
        v->lanes[k].lane = &t->lanes[least];
    }
    for (int64_t i = 0; good && i < v->n; ++i) v->items[i].lane = number[v->items[i].lane];
    dtp_free(NULL, first);
    dtp_free(NULL, number);
    return good;
}

static bool contains(const dtp_trace_event_t *outer, const dtp_trace_event_t *inner) {
    return outer->begin_ns <= inner->begin_ns && inner->end_ns <= outer->end_ns;
}

static void nest(dtp_trace_view_t *v) {
    for (int64_t i = 0; i < v->n; ++i) {
        dtp_trace_item_t *item = &v->items[i];
        int64_t ns = item->self_ns;
        int32_t p = i > 0 && v->items[i - 1].lane == item->lane ? (int32_t)(i - 1) : DTP_TRACE_NONE;
        while (p >= 0 && !contains(v->items[p].event, item->event)) p = v->items[p].parent;
        item->parent = p;
        if (p >= 0) v->items[p].self_ns -= ns;
        else v->lanes[item->lane].busy_ns += ns;
        ++v->lanes[item->lane].count;
    }
}

/* Records of one step of one run, by their ends. */
static int by_step(const void *a, const void *b) {
    const dtp_trace_event_t *x = *(const dtp_trace_event_t *const *)a,
                            *y = *(const dtp_trace_event_t *const *)b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* The latest end, not after `before`, of a step in the run of e; INT64_MIN: it did not end before. */
static int64_t last_end(const dtp_trace_event_t *const *nodes, int64_t n, const dtp_trace_event_t *e,
                        uint32_t index, int64_t before) {
    const dtp_trace_event_t key = {.source = e->source, .run = e->run, .index = index, .end_ns = before};
    const dtp_trace_event_t *p = &key;
    int64_t low = 0, high = n; /* the first record behind the key */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (by_step(&nodes[middle], &p) <= 0) low = middle + 1;
        else high = middle;
    }
    const dtp_trace_event_t *f = low > 0 ? nodes[low - 1] : NULL;
    return f && f->source == e->source && f->run == e->run && f->index == index ? f->end_ns : INT64_MIN;
}

/* How long operators could have run and did not: from the end of the last of those that made what they read (before
 * that, the begin of the run is not known to the trace) to their own begin. */
static bool find_waits(dtp_trace_view_t *v) {
    const dtp_trace_event_t **nodes = dtp_alloc(NULL, sizeof *nodes * (size_t)(v->n + 1), 0);
    if (!nodes) return false;
    int64_t n = 0;
    for (int64_t i = 0; i < v->n; ++i)
        if (v->items[i].event->kind == dnnl_tp_trace_node) nodes[n++] = v->items[i].event;
    qsort(nodes, (size_t)n, sizeof *nodes, by_step);
    dtp_trace_names_t names = {.name = NULL};
    const dtp_trace_event_t *named = NULL;
    for (int64_t i = 0; i < v->n; ++i) {
        const dtp_trace_event_t *e = v->items[i].event;
        if (e->kind != dnnl_tp_trace_node) continue;
        if (!named || named->source != e->source || named->index != e->index)
            dtp_trace_names(v->trace, e->source, e->index, &names);
        named = e;
        int64_t ready = INT64_MIN;
        for (int k = 0; k < names.nafter; ++k)
            ready = dtp_max64(ready, last_end(nodes, n, e, (uint32_t)names.after[k], e->begin_ns));
        v->items[i].wait_ns = ready == INT64_MIN ? 0 : e->begin_ns - ready;
    }
    dtp_free(NULL, nodes);
    return true;
}

dnnl_tp_status_t dtp_trace_view_open(dtp_trace_view_t *v, const dtp_trace_t *trace) {
    *v = (dtp_trace_view_t){.trace = trace};
    int64_t room = count_records(trace);
    size_t bytes = sizeof *v->items * (size_t)(room + 1);
    v->items = dtp_alloc(NULL, bytes, 0);
    if (!v->items) return dtp_no_memory(bytes);
    gather(v, room);
    if (!number_lanes(v)) return dtp_no_memory(sizeof *v->lanes * DTP_TRACE_LANES);
    qsort(v->items, (size_t)v->n, sizeof *v->items, by_place);
    nest(v);
    if (!find_waits(v)) return dtp_no_memory(sizeof(void *) * (size_t)v->n);
    v->nstreams = (int)atomic_load_explicit(&trace->nstreams, memory_order_acquire);
    dnnl_tp_trace_info_t info = {.struct_size = sizeof info};
    (void)!dnnl_tp_trace_query((dtp_trace_t *)(uintptr_t)trace, &info);
    v->dropped = info.dropped;
    return dnnl_tp_success;
}

void dtp_trace_view_close(dtp_trace_view_t *v) {
    dtp_free(NULL, v->items);
    dtp_free(NULL, v->lanes);
}

/* ---- Names ------------------------------------------------------------------------------------------- */

const char *dtp_trace_label(const dtp_trace_t *t, uint32_t source) { return t->sources[source].label; }

void dtp_trace_names(const dtp_trace_t *t, uint32_t source, uint32_t index, dtp_trace_names_t *names) {
    const dtp_trace_source_t *s = &t->sources[source];
    *names = (dtp_trace_names_t){.name = NULL};
    if (s->describe) s->describe(s->object, index, names);
    if (!names->name) names->name = s->label;
    if (!names->op) names->op = "";
    if (!names->impl) names->impl = "";
    if (!names->engine) names->engine = "";
    if (!names->fused) names->fused = "";
}

const char *dtp_trace_kind_text(unsigned kind) {
    static const char *const text[] = {"", "run", "node", "primitive", "help", "span"};
    return text[kind];
}

/* ---- Rows -------------------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t parent, uint32_t source, uint32_t index, uint32_t kind) {
    const uint32_t words[] = {parent, source, index, kind};
    uint64_t h = dtp_hash_bytes(words, sizeof words);
    return (uint32_t)(h ^ h >> 32);
}

static bool rows_grow(dtp_trace_rows_t *r) {
    enum { FIRST = 64 };
    uint32_t cap = r->cap ? 2 * r->cap : FIRST;
    dtp_trace_row_t *row = dtp_alloc(NULL, sizeof *row * cap, 0);
    uint32_t *slots = dtp_zalloc(NULL, sizeof *slots * 2 * cap, 0);
    if (!row || !slots) {
        dtp_free(NULL, row);
        dtp_free(NULL, slots);
        return false;
    }
    if (r->n) memcpy(row, r->row, sizeof *row * r->n);
    dtp_trace_rows_free(&(dtp_trace_rows_t){.row = r->row, .slots = r->slots});
    *r = (dtp_trace_rows_t){row, r->n, cap, slots, 2 * cap - 1};
    for (uint32_t i = 0; i < r->n; ++i) {
        uint32_t at = hash_of(row[i].parent, row[i].source, row[i].index, row[i].kind) & r->mask;
        while (slots[at]) at = (at + 1) & r->mask;
        slots[at] = i + 1;
    }
    return true;
}

dtp_trace_row_t *dtp_trace_row(dtp_trace_rows_t *r, uint32_t parent, uint32_t source, uint32_t index,
                               uint32_t kind) {
    if (r->n == r->cap && !rows_grow(r)) return NULL;
    uint32_t at = hash_of(parent, source, index, kind) & r->mask;
    for (; r->slots[at]; at = (at + 1) & r->mask) {
        dtp_trace_row_t *row = &r->row[r->slots[at] - 1];
        if (row->parent == parent && row->source == source && row->index == index && row->kind == kind)
            return row;
    }
    dtp_trace_row_t *row = &r->row[r->n++];
    r->slots[at] = r->n;
    *row = (dtp_trace_row_t){.parent = parent, .source = source, .index = index, .kind = kind};
    return row;
}

void dtp_trace_rows_free(dtp_trace_rows_t *rows) {
    dtp_free(NULL, rows->row);
    dtp_free(NULL, rows->slots);
}

static int by_self(const void *a, const void *b) {
    const dtp_trace_row_t *x = a, *y = b;
    if (x->self_ns != y->self_ns) return x->self_ns > y->self_ns ? -1 : 1;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

dnnl_tp_status_t dtp_trace_sum(const dtp_trace_view_t *v, dtp_trace_rows_t *rows) {
    for (int64_t i = 0; i < v->n; ++i) {
        const dtp_trace_event_t *e = v->items[i].event;
        dtp_trace_row_t *r = dtp_trace_row(rows, 0, e->source, e->index, e->kind);
        if (!r) return dtp_no_memory(sizeof *r * 2 * rows->cap);
        int64_t ns = e->end_ns - e->begin_ns;
        if (!r->count || ns < r->min_ns) r->min_ns = ns;
        if (ns > r->max_ns) r->max_ns = ns;
        ++r->count;
        r->total_ns += ns;
        r->self_ns += v->items[i].self_ns;
        r->wait_ns += v->items[i].wait_ns;
        if (e->kind == dnnl_tp_trace_primitive) r->parts += 1;
        if (e->kind == dnnl_tp_trace_node) r->parts += (double)e->part / DTP_TRACE_ALL;
    }
    if (rows->n) qsort(rows->row, rows->n, sizeof *rows->row, by_self);
    return dnnl_tp_success;
}

/* ---- Public calls ------------------------------------------------------------------------------------ */

dnnl_tp_status_t dnnl_tp_trace_get_stats(dnnl_tp_trace_t trace, int max, dnnl_tp_trace_stat_t *stats,
                                         int *count) {
    DTP_OUT(count, 0);
    DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(max >= 0, BAD_COUNT, "max is %d", max);
    DTP_REQUIRE(max == 0 || stats, NULL_ARG, "stats is NULL");
    dtp_trace_view_t view;
    dtp_trace_rows_t rows = {0};
    dnnl_tp_status_t status = dtp_trace_view_open(&view, trace);
    if (status == dnnl_tp_success) status = dtp_trace_sum(&view, &rows);
    for (uint32_t i = 0; status == dnnl_tp_success && i < rows.n && i < (uint32_t)max; ++i) {
        const dtp_trace_row_t *r = &rows.row[i];
        dtp_trace_names_t names;
        dtp_trace_names(trace, r->source, r->index, &names);
        stats[i] =
            (dnnl_tp_trace_stat_t){.kind = (dnnl_tp_trace_kind_t)r->kind,
                                   .name = names.name,
                                   .op = names.op,
                                   .impl = names.impl,
                                   .graph = r->kind != dnnl_tp_trace_run && trace->sources[r->source].is_graph
                                                ? dtp_trace_label(trace, r->source)
                                                : "",
                                   .count = r->count,
                                   .total_ns = r->total_ns,
                                   .self_ns = r->self_ns,
                                   .min_ns = r->min_ns,
                                   .max_ns = r->max_ns,
                                   .wait_ns = r->wait_ns,
                                   .fused = names.fused,
                                   .flops = r->parts * names.flops,
                                   .bytes = r->parts * names.bytes};
        memcpy(stats[i].shape, names.shape, sizeof stats[i].shape);
    }
    if (status == dnnl_tp_success) *count = (int)rows.n;
    dtp_trace_rows_free(&rows);
    dtp_trace_view_close(&view);
    DTP_RETURN(status);
}

static bool ends_in(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n >= m && !strcmp(path + n - m, end);
}

dnnl_tp_status_t dnnl_tp_trace_write(dnnl_tp_trace_t trace, const char *path, int format) {
    static bool (*const put[])(const dtp_trace_view_t *,
                               FILE *) = {[DNNL_TP_TRACE_CHROME] = dtp_trace_put_chrome,
                                          [DNNL_TP_TRACE_TEXT] = dtp_trace_put_text,
                                          [DNNL_TP_TRACE_FOLDED] = dtp_trace_put_folded};
    DTP_REQUIRE_HANDLE(trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(path, NULL_ARG, "path is NULL");
    if (format == DNNL_TP_TRACE_BY_NAME)
        format = ends_in(path, ".txt")      ? DNNL_TP_TRACE_TEXT
                 : ends_in(path, ".folded") ? DNNL_TP_TRACE_FOLDED
                                            : DNNL_TP_TRACE_CHROME;
    DTP_REQUIRE(format >= 0 && format < (int)(sizeof put / sizeof *put), BAD_ENUM, "format is %d", format);
    dtp_trace_view_t view;
    dtp_out_file_t out = {0};
    dnnl_tp_status_t status = dtp_trace_view_open(&view, trace);
    if (status == dnnl_tp_success) status = dtp_out_init(&out, path, "", DTP_TRACE_FILE);
    if (status == dnnl_tp_success) status = dtp_out_open(&out);
    if (status == dnnl_tp_success && !put[format](&view, out.file)) status = dtp_no_memory((size_t)view.n);
    if (status == dnnl_tp_success) status = dtp_out_finish(&out);
    if (status == dnnl_tp_success) status = dtp_out_publish(&out);
    dtp_out_drop(&out);
    dtp_trace_view_close(&view);
    DTP_RETURN(status);
}
