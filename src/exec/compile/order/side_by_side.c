/* Two branches on two threads end together only if they cost the same. Where a step outlasts all that may run beside it,
 * threads would wait for its end; it is cut among all of them instead, and those that are busy with a shorter branch come
 * when that is done.
 *
 * What may run beside a step stands between two cuts: events that follow all before them, as seen in the text. Branches of
 * networks are short, so sets of what is between cuts are single words; longer ones are left as they are. */
#include "exec/compile/order/side_by_side.h"

enum { MOST = 64 }; /* events between two cuts */

typedef struct {
    const dtp_orderings_t *o;
    const double *ns;
    int threads;
    uint8_t *takes_all;
} find_t;

/* first..end: between two cuts. */
static void look_between(const find_t *f, int first, int end) {
    uint64_t before[MOST]; /* and itself */
    const int n = end - first;
    if (n < 2 || n > MOST) return;
    for (int i = 0; i < n; ++i) {
        const dtp_event_t *v = &f->o->events[first + i];
        before[i] = (uint64_t)1 << i;
        for (int k = 0; k < v->nafter; ++k) {
            const int earlier = f->o->after[v->after + k] - first;
            if (earlier >= 0) before[i] |= before[earlier];
        }
    }
    for (int i = 0; i < n; ++i) {
        double ns = 0.;
        for (int k = 0; k < n; ++k) {
            if (before[i] >> k & 1 || before[k] >> i & 1) continue;
            ns += f->ns[first + k];
        }
        f->takes_all[first + i] = ns > 0. && f->ns[first + i] * (f->threads - 1) > ns;
    }
}

dnnl_tp_status_t dtp_find_longest(dtp_arena_t *arena, const dtp_orderings_t *o, int from, int to,
                                  const double *ns, int threads, uint8_t *takes_all) {
    const find_t f = {o, ns, threads, takes_all};
    if (threads < 2 || to - from < 2) return dnnl_tp_success;
    int *last =
        dtp_arena_take(arena, sizeof *last * (size_t)(o->n + 1)); /* by event: who comes after it last */
    if (!last) return dnnl_tp_out_of_memory;
    for (int k = from; k < to; ++k) {
        const dtp_event_t *v = &o->events[k];
        if (v->kind != DTP_EVENT_STEPS && v->kind != DTP_EVENT_JOIN) return dnnl_tp_success;
        last[k] = k;
        for (int i = 0; i < v->nafter; ++i) last[o->after[v->after + i]] = k;
    }
    int cut = from - 1, reach = from;
    for (int k = from; k < to; ++k) {
        if (k > from && reach <= k && last[k] > k) {
            look_between(&f, cut + 1, k);
            cut = k;
        }
        if (last[k] > reach) reach = last[k];
    }
    look_between(&f, cut + 1, to);
    return dnnl_tp_success;
}
