/* Traces in Chrome's JSON ("Trace Event Format"): complete events, a process of lanes for threads and one for
 * streams. Numbers are put together from integers, so that the program's locale does not matter. */
#include "trace/read.h"

enum { THREADS = 1, STREAMS = 2 };

/* Length of the well-formed UTF-8 character at p, 0 if there is none. */
static int utf8(const unsigned char *p) {
    static const struct {
        unsigned char first, last, low, high; /* of the first byte, of the second */
        int length;
    } forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        if (p[0] < forms[i].first || p[0] > forms[i].last) continue;
        int n = forms[i].length;
        if (n > 1 && (p[1] < forms[i].low || p[1] > forms[i].high)) return 0;
        for (int k = 2; k < n; ++k)
            if ((p[k] & 0xc0) != 0x80) return 0;
        return n;
    }
    return 0;
}

/* A string; bytes that are no UTF-8 become U+FFFD. */
static void put_string(FILE *f, const char *text) {
    putc('"', f);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int n = utf8(p);
        if (n == 0) fputs("\\ufffd", f), n = 1;
        else if (*p == '"' || *p == '\\') fprintf(f, "\\%c", *p);
        else if (*p < ' ') fprintf(f, "\\u%04x", *p);
        else fwrite(p, 1, (size_t)n, f);
        p += n;
    }
    putc('"', f);
}

static void put_us(FILE *f, int64_t ns) { fprintf(f, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000)); }

static void put_name_of(FILE *f, const char *what, int process, int lane) {
    fprintf(f, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what, process,
            lane);
}

static void put_lanes(const dtp_trace_view_t *v, FILE *f) {
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"threads\"}}", f);
    for (int i = 0; i < v->nlanes; ++i) {
        char text[64];
        const dtp_trace_lane_t *lane = v->lanes[i].lane;
        snprintf(text, sizeof text, "%s (%d)", lane->name, lane->tid);
        put_name_of(f, "thread_name", THREADS, i + 1);
        put_string(f, text);
        fprintf(f,
                "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,\"args\":"
                "{\"sort_index\":%d}}",
                THREADS, i + 1, i);
    }
    if (!v->nstreams) return;
    fputs(",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"streams\"}}", f);
    for (int i = 1; i <= v->nstreams; ++i) {
        put_name_of(f, "thread_name", STREAMS, i);
        put_string(f, v->trace->streams[i]);
        fputs("}}", f);
    }
}

/* Giga per second of a record of an operator or execution, to three digits behind the point. */
static const char *put_rate(FILE *f, const char *comma, const char *key, double amount,
                            const dtp_trace_event_t *e) {
    if (e->kind == dnnl_tp_trace_node) amount *= (double)e->part / DTP_TRACE_ALL;
    else if (e->kind != dnnl_tp_trace_primitive) return comma;
    if (!(amount > 0) || e->end_ns <= e->begin_ns) return comma;
    fprintf(f, "%s\"%s\":", comma, key);
    put_us(f, (int64_t)(amount * 1000 / (double)(e->end_ns - e->begin_ns)));
    return ",";
}

static void put_item(const dtp_trace_view_t *v, FILE *f, const dtp_trace_item_t *item, int process,
                     int lane) {
    const dtp_trace_event_t *e = item->event;
    dtp_trace_names_t names;
    dtp_trace_names(v->trace, e->source, e->index, &names);
    fputs(",\n{\"ph\":\"X\",\"name\":", f);
    put_string(f, names.name);
    fprintf(f, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":", dtp_trace_kind_text(e->kind), process, lane);
    put_us(f, e->begin_ns - v->first_ns);
    fputs(",\"dur\":", f);
    put_us(f, e->end_ns - e->begin_ns);
    fputs(",\"args\":{", f);
    const char *comma = "";
    if (*names.op) fprintf(f, "\"op\":"), put_string(f, names.op), comma = ",";
    if (*names.impl) fprintf(f, "%s\"impl\":", comma), put_string(f, names.impl), comma = ",";
    if (*names.engine) fprintf(f, "%s\"engine\":", comma), put_string(f, names.engine), comma = ",";
    if (*names.fused) fprintf(f, "%s\"fused\":", comma), put_string(f, names.fused), comma = ",";
    if (*names.shape) fprintf(f, "%s\"shape\":", comma), put_string(f, names.shape), comma = ",";
    comma = put_rate(f, comma, "gflop_s", names.flops, e);
    comma = put_rate(f, comma, "gb_s", names.bytes, e);
    if (e->run) fprintf(f, "%s\"run\":%u", comma, e->run), comma = ",";
    if (e->run && e->kind != dnnl_tp_trace_run) {
        fprintf(f, "%s\"graph\":", comma);
        put_string(f, dtp_trace_label(v->trace, e->source));
    }
    if (e->kind == dnnl_tp_trace_node || e->kind == dnnl_tp_trace_help)
        fprintf(f, "%s\"slot\":%u", comma, e->slot), comma = ",";
    if (e->round >= 0) fprintf(f, "%s\"iteration\":%d", comma, e->round), comma = ",";
    if (e->kind <= dnnl_tp_trace_primitive) { /* runs, operators, executions */
        fprintf(f, "%s\"wait_us\":", comma);
        put_us(f, item->wait_ns);
    }
    if (e->kind == dnnl_tp_trace_run || e->kind == dnnl_tp_trace_primitive)
        fprintf(f, ",\"status\":\"%s\"", dnnl_tp_status2str((dnnl_tp_status_t)e->status));
    fputs("}}", f);
}

bool dtp_trace_put_chrome(const dtp_trace_view_t *v, FILE *f) {
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", f);
    put_lanes(v, f);
    for (int64_t i = 0; i < v->n && !ferror(f); ++i) {
        const dtp_trace_item_t *item = &v->items[i];
        if (!dtp_trace_is_of_stream(item->event)) put_item(v, f, item, THREADS, (int)item->lane + 1);
        if (item->event->stream) put_item(v, f, item, STREAMS, item->event->stream);
    }
    fprintf(f, "\n],\"otherData\":{\"dropped_events\":%lld,\"begin_monotonic_ns\":%lld}}\n",
            (long long)v->dropped, (long long)v->first_ns);
    return true;
}
