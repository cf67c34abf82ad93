/* What was seen beside the ideal. */
#include <stdlib.h>
#include <string.h>

#include "common/timing.h"
#include "pool/virtual_cores/virtual_cores.h"

/* ---- Idle beside ready work -------------------------------------------------------------------------- */

typedef enum { END, READY, BEGIN } what_t; /* in this order at one time */
typedef struct {
    int64_t at;
    what_t what;
    vc_span_t *task;
} event_t;
static int by_time(const void *a, const void *b) {
    const event_t *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (int)x->what - (int)y->what;
}

/* When each task could begin; counts those that began before, never or twice. */
static int find_ready(const vc_run_t *run, int64_t *ready) {
    const vc_program_t *p = run->program;
    int wrong = 0, n_open = 0;
    int *open = malloc(sizeof *open * (size_t)p->n), *waits = malloc(sizeof *waits * (size_t)p->n);
    if (!open || !waits) abort();
    memcpy(waits, p->n_before, sizeof *waits * (size_t)p->n);
    for (int i = 0; i < p->n; ++i) {
        ready[i] = run->called;
        if (!waits[i]) open[n_open++] = i;
    }
    for (int k = 0; k < n_open; ++k) {
        const int i = open[k];
        const vc_span_t *t = &run->task[i];
        if (p->ns[i]) wrong += t->times != 1 || t->begin < ready[i] || t->end > run->returned;
        const int64_t end = p->ns[i] ? t->end : ready[i];
        for (int j = p->first[i]; j < p->first[i + 1]; ++j) {
            const int after = p->to[j];
            if (end > ready[after]) ready[after] = end;
            if (--waits[after] == 0) open[n_open++] = after;
        }
    }
    free(open);
    free(waits);
    return wrong + (n_open != p->n);
}

/* Threads that are idle stand in a row, and who begins a task is the one that has stood there longest; the
 * first ones, as many as there are ready tasks, should not stand there. */
static void find_idle(event_t *event, int n, int threads, int64_t until, vc_verdict_t *v) {
    enum { MOST = 1024 };
    int64_t
        since[MOST]; /* of the k-th idle thread: when it came to stand beside ready work; -1: it does not */
    int idle = 0, ready = 0; /* the row: since[0..idle) */
    int64_t most = 0, most_at = 0;
    if (threads > MOST) abort();
    for (; idle < threads; ++idle) since[idle] = -1;
    int busy = 0;
    qsort(event, (size_t)n, sizeof *event, by_time);
    for (int i = 0; i < n && event[i].at <= until; ++i) {
        const int64_t at = event[i].at;
        if (event[i].what == READY) {
            ++ready;
        } else if (event[i].what == END) {
            if (--busy < threads && idle < threads) since[idle++] = -1;
        } else {
            --ready;
            if (++busy <= threads && idle) {
                if (since[0] >= 0 && at - since[0] > most) {
                    most = at - since[0];
                    most_at = at;
                }
                memmove(since, since + 1, sizeof *since * (size_t)--idle);
            }
        }
        /* Who no longer stands beside ready work is at peace again. */
        for (int k = 0; k < idle; ++k) {
            if (k < ready) {
                if (since[k] < 0) since[k] = at;
            } else {
                if (since[k] >= 0 && at - since[k] > most) {
                    most = at - since[k];
                    most_at = at;
                }
                since[k] = -1;
            }
        }
    }
    v->idle_ms = (double)most / 1e6;
    v->idle_at_ms = (double)most_at / 1e6;
}

/* ---- The verdict ------------------------------------------------------------------------------------- */

void vc_judge(const vc_row_t *row, vc_verdict_t *v) {
    double work[VC_MOST_CLIENTS] = {0}, sum = 0, ideal_sum = 0;
    int n = 0, n_runs = 0;
    memset(v, 0, sizeof *v);
    for (int c = 0; c < row->n; ++c)
        for (const vc_run_t *run = row->client[c].first; run; run = run->next) {
            n += run->program->n;
            ++n_runs;
        }
    event_t *event = malloc(sizeof *event * (size_t)(3 * n + 1));
    int64_t *ready = malloc(sizeof *ready * (size_t)(n + 1));
    double *run_ns = malloc(sizeof *run_ns * (size_t)(n_runs + 1));
    if (!event || !ready || !run_ns) abort();
    n = n_runs = 0;
    for (int c = 0; c < row->n; ++c)
        for (vc_run_t *run = row->client[c].first; run; run = run->next) {
            const vc_program_t *p = run->program;
            run_ns[n_runs++] = (double)(run->returned - run->called);
            v->wrong += find_ready(run, ready);
            for (int i = 0; i < p->n; ++i) {
                vc_span_t *t = &run->task[i];
                if (!p->ns[i]) continue;
                event[n++] = (event_t){ready[i], READY, t};
                event[n++] = (event_t){t->begin, BEGIN, t};
                event[n++] = (event_t){t->end, END, t};
                const int64_t end = t->end < row->window_ns ? t->end : row->window_ns;
                if (end > t->begin) work[c] += (double)(end - t->begin);
            }
        }
    find_idle(event, n, row->bed->threads, row->window_ns, v);
    v->run_ms = bd_median(run_ns, n_runs) / 1e6;
    free(event);
    free(ready);
    free(run_ns);

    vc_schedule_t greedy, critical, fair;
    vc_greedy(row, VC_FIRST, &greedy);
    vc_greedy(row, VC_CRITICAL, &critical);
    vc_greedy(row, VC_FAIR, &fair);
    double critical_sum = 0;
    for (int c = 0; c < row->n; ++c) {
        sum += work[c];
        ideal_sum += greedy.work[c];
        critical_sum += critical.work[c];
    }
    if (row->runs) {
        v->ms = (double)row->window_ns / 1e6;
        v->ideal_ms = (double)greedy.end / 1e6;
        v->efficiency = v->ideal_ms / v->ms;
        v->critical = (double)critical.end / (double)row->window_ns;
    } else {
        v->ms = sum / row->bed->threads / 1e6;
        v->ideal_ms = ideal_sum / row->bed->threads / 1e6;
        v->efficiency = v->ms / v->ideal_ms;
        v->critical = sum / critical_sum;
    }
    v->fairness = 1;
    for (int c = 0; c < row->n && !row->runs; ++c) {
        /* Of low priority beside enough of a higher one: nothing is fair. */
        const double share = work[c] / fair.work[c];
        if (fair.work[c] > 0 && share < v->fairness) {
            v->fairness = share;
            v->worst = c;
        }
    }
}
