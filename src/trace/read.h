/* Reading traces: a sorted and nested view of the items until now, and rows that sum them up. */
#ifndef DTP_TRACE_READ_H
#define DTP_TRACE_READ_H

#include "common/base/out_file.h"
#include "trace/trace.h"

enum { DTP_TRACE_NONE = -1 };

typedef struct {
    const dtp_trace_event_t *event;
    uint32_t lane;  /* of the view */
    int32_t parent; /* the innermost item of the lane around it, or DTP_TRACE_NONE */
    int64_t self_ns;
    /* runs, primitives: since the call; operators: since their inputs were complete */
    int64_t wait_ns;
} dtp_trace_item_t;

typedef struct {
    const dtp_trace_lane_t *lane;
    int64_t count, busy_ns; /* busy: in items that are in no other */
} dtp_trace_view_lane_t;

typedef struct {
    const dtp_trace_t *trace;
    int64_t n;
    /* by lane, then begin; an item that contains another comes before it */
    dtp_trace_item_t *items;
    int nlanes;
    dtp_trace_view_lane_t *lanes; /* by first record */
    int nstreams;
    int64_t first_ns, last_ns, dropped;
} dtp_trace_view_t;

/* close must follow, also after a failure (out_of_memory). */
dnnl_tp_status_t dtp_trace_view_open(dtp_trace_view_t *view, const dtp_trace_t *trace);
void dtp_trace_view_close(dtp_trace_view_t *view);
/* No text is NULL. */
void dtp_trace_names(const dtp_trace_t *trace, uint32_t source, uint32_t index, dtp_trace_names_t *names);
const char *dtp_trace_label(const dtp_trace_t *trace, uint32_t source);
const char *dtp_trace_kind_text(unsigned kind);

/* Rows by key; row 0 is the first one asked for. */
typedef struct {
    uint32_t parent, source, index, kind;
    int64_t count, total_ns, self_ns, min_ns, max_ns, wait_ns;
    double parts; /* nodes, primitives: how often all of its work was done */
} dtp_trace_row_t;
typedef struct {
    dtp_trace_row_t *row;
    uint32_t n, cap;
    uint32_t *slots; /* row + 1, 0 = empty */
    uint32_t mask;
} dtp_trace_rows_t;
/* The row of the key, new ones zeroed; NULL: no memory. */
dtp_trace_row_t *dtp_trace_row(dtp_trace_rows_t *rows, uint32_t parent, uint32_t source, uint32_t index,
                               uint32_t kind);
void dtp_trace_rows_free(dtp_trace_rows_t *rows);
/* Sums of all items by subject, largest self_ns first. */
dnnl_tp_status_t dtp_trace_sum(const dtp_trace_view_t *view, dtp_trace_rows_t *rows);

/* The formats. false: no memory. Errors of writing stay in the file. */
bool dtp_trace_put_chrome(const dtp_trace_view_t *view, FILE *file);
bool dtp_trace_put_text(const dtp_trace_view_t *view, FILE *file);
bool dtp_trace_put_folded(const dtp_trace_view_t *view, FILE *file);

#endif
