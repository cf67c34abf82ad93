/* The ideal: greedy list scheduling with the durations that were measured. */
#include <stdlib.h>
#include <string.h>

#include "pool/virtual_cores/virtual_cores.h"

typedef struct {
    const vc_client_t *client;
    const vc_program_t *program;
    int run, n_left; /* n_left: tasks of this run that have not ended */
    int64_t called;
    const vc_run_t *measured;
    int *waits;          /* per task: tasks before it that have not ended */
    int64_t *rank;       /* per task: its time and the longest rest behind it */
    int *ready, n_ready; /* a heap, largest rank on top */
    double had;          /* time of tasks that were begun */
} state_t;

typedef struct {
    int64_t end;
    int client, task;
} event_t;

typedef struct {
    const vc_row_t *row;
    state_t state[VC_MOST_CLIENTS];
    event_t *event; /* a heap, earliest on top */
    int n_events, free_threads;
    int64_t now, n_ready; /* n_ready: tasks so far */
    vc_order_t order;
} sim_t;

/* ---- Heaps ------------------------------------------------------------------------------------------- */

static void ready_push(state_t *s, int task) {
    int i = s->n_ready++;
    for (; i > 0 && s->rank[s->ready[(i - 1) / 2]] < s->rank[task]; i = (i - 1) / 2)
        s->ready[i] = s->ready[(i - 1) / 2];
    s->ready[i] = task;
}
static int ready_pop(state_t *s) {
    const int top = s->ready[0], last = s->ready[--s->n_ready];
    int i = 0;
    for (int k; (k = 2 * i + 1) < s->n_ready; i = k) {
        if (k + 1 < s->n_ready && s->rank[s->ready[k + 1]] > s->rank[s->ready[k]]) ++k;
        if (s->rank[s->ready[k]] <= s->rank[last]) break;
        s->ready[i] = s->ready[k];
    }
    s->ready[i] = last;
    return top;
}
static void event_push(sim_t *m, event_t e) {
    int i = m->n_events++;
    for (; i > 0 && m->event[(i - 1) / 2].end > e.end; i = (i - 1) / 2) m->event[i] = m->event[(i - 1) / 2];
    m->event[i] = e;
}
static event_t event_pop(sim_t *m) {
    const event_t top = m->event[0], last = m->event[--m->n_events];
    int i = 0;
    for (int k; (k = 2 * i + 1) < m->n_events; i = k) {
        if (k + 1 < m->n_events && m->event[k + 1].end < m->event[k].end) ++k;
        if (m->event[k].end >= last.end) break;
        m->event[i] = m->event[k];
    }
    m->event[i] = last;
    return top;
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

static int64_t duration(const state_t *s, int task) {
    if (!s->program->ns[task]) return 0;
    return s->measured ? s->measured->task[task].end - s->measured->task[task].begin : s->program->ns[task];
}

static void next_run(sim_t *m, int c);
static void task_ended(sim_t *m, int c, int task);
static void task_ready(sim_t *m, int c, int task) {
    state_t *s = &m->state[c];
    if (!s->program->ns[task]) {
        task_ended(m, c, task); /* deep as forks and joins in a row */
        return;
    }
    ++m->n_ready;
    if (m->order != VC_CRITICAL) s->rank[task] = -m->n_ready;
    ready_push(s, task);
}
static void task_ended(sim_t *m, int c, int task) {
    state_t *s = &m->state[c];
    const vc_program_t *p = s->program;
    for (int i = p->first[task]; i < p->first[task + 1]; ++i)
        if (--s->waits[p->to[i]] == 0) task_ready(m, c, p->to[i]);
    if (--s->n_left == 0) next_run(m, c);
}

/* Its time and the longest rest behind it. Successors have larger numbers in all programs but calls, whose edges lead to smaller ones. */
static void set_critical(state_t *s) {
    const vc_program_t *p = s->program;
    const bool down = p->n_edges && p->edge[0][1] < p->edge[0][0];
    for (int k = 0; k < p->n; ++k) {
        const int i = down ? k : p->n - 1 - k;
        int64_t most = 0;
        for (int j = p->first[i]; j < p->first[i + 1]; ++j)
            if (s->rank[p->to[j]] > most) most = s->rank[p->to[j]];
        s->rank[i] = most + duration(s, i);
    }
}

static void next_run(sim_t *m, int c) {
    state_t *s = &m->state[c];
    const vc_program_t *p = s->program;
    const vc_row_t *row = m->row;
    if (row->runs ? s->run == row->runs : m->now >= row->window_ns) return;
    s->measured = s->measured && s->measured->next ? s->measured->next : s->client->first;
    ++s->run;
    s->n_left = p->n;
    s->called = m->now;
    memcpy(s->waits, p->n_before, sizeof *s->waits * (size_t)p->n);
    if (m->order == VC_CRITICAL) set_critical(s);
    for (int i = 0; i < p->n; ++i)
        if (!p->n_before[i]) task_ready(m, c, i);
}

static int choose(const sim_t *m) {
    int best = -1;
    for (int c = 0; c < m->row->n; ++c) {
        const state_t *s = &m->state[c];
        if (!s->n_ready) continue;
        if (best < 0) {
            best = c;
            continue;
        }
        const state_t *b = &m->state[best];
        if (s->client->priority != b->client->priority) {
            if (s->client->priority > b->client->priority) best = c;
        } else if (m->order == VC_FAIR ? s->had < b->had : s->called < b->called) best = c;
    }
    return best;
}

void vc_greedy(const vc_row_t *row, vc_order_t order, vc_schedule_t *out) {
    sim_t m = {.row = row, .free_threads = row->bed->threads, .order = order};
    memset(out, 0, sizeof *out);
    m.event = malloc(sizeof *m.event * (size_t)(row->bed->threads + 1));
    if (!m.event) abort();
    for (int c = 0; c < row->n; ++c) {
        state_t *s = &m.state[c];
        *s = (state_t){.client = &row->client[c], .program = row->client[c].program};
        const size_t n = (size_t)s->program->n;
        s->waits = malloc(sizeof *s->waits * n);
        s->rank = calloc(n, sizeof *s->rank);
        s->ready = malloc(sizeof *s->ready * n);
        if (!s->waits || !s->rank || !s->ready) abort();
    }
    for (int c = 0; c < row->n; ++c) next_run(&m, c);
    for (;;) {
        for (int c; m.free_threads && (c = choose(&m)) >= 0; --m.free_threads) {
            state_t *s = &m.state[c];
            const int task = ready_pop(s);
            int64_t ns = duration(s, task), end = m.now + ns;
            s->had += (double)ns;
            event_push(&m, (event_t){end, c, task});
            if (row->runs || end < row->window_ns) out->work[c] += (double)ns;
            else if (m.now < row->window_ns) out->work[c] += (double)(row->window_ns - m.now);
        }
        if (!m.n_events) break;
        const event_t e = event_pop(&m);
        m.now = e.end;
        if (!row->runs && m.now >= row->window_ns) break;
        ++m.free_threads;
        task_ended(&m, e.client, e.task);
    }
    out->end = m.now;
    for (int c = 0; c < row->n; ++c) {
        free(m.state[c].waits);
        free(m.state[c].rank);
        free(m.state[c].ready);
    }
    free(m.event);
}
