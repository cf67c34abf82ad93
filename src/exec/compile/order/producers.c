/* Tokens of buffers, see producers.h. */
#include "exec/compile/order/producers.h"

dnnl_tp_status_t dtp_producers_init(dtp_producers_t *t, dtp_arena_t *arena, int nbufs) {
    size_t bytes = sizeof(int) * (size_t)(nbufs + 1);
    *t = (dtp_producers_t){
        .arena = arena, .token = dtp_arena_alloc(arena, bytes), .ended = dtp_arena_alloc(arena, bytes)};
    if (!t->token || !t->ended) return dnnl_tp_out_of_memory;
    for (int b = 0; b < nbufs; ++b) t->token[b] = t->ended[b] = -1;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_producers_set(dtp_producers_t *t, int buf, int token, int ended) {
    if (!t->forgets) {
        DTP_TRY(dtp_arena_grow(t->arena, (void **)&t->log, &t->cap_log, t->nlog + 1, sizeof *t->log));
        t->log[t->nlog++] = (struct dtp_producer_change){buf, t->token[buf], t->ended[buf]};
    }
    t->token[buf] = token;
    t->ended[buf] = ended;
    return dnnl_tp_success;
}

void dtp_producers_undo(dtp_producers_t *t, int mark) {
    while (t->nlog > mark) {
        const struct dtp_producer_change *c = &t->log[--t->nlog];
        t->token[c->buf] = c->token;
        t->ended[c->buf] = c->ended;
    }
}

dnnl_tp_status_t dtp_producers_take(dtp_producers_t *t, int mark, dtp_producer_t **results, int *n) {
    dtp_producer_t *r = dtp_arena_alloc(t->arena, sizeof *r * (size_t)(t->nlog - mark));
    if (!r) return dnnl_tp_out_of_memory;
    *n = 0;
    for (int i = mark; i < t->nlog; ++i) r[(*n)++] = (dtp_producer_t){t->log[i].buf, t->token[t->log[i].buf]};
    *results = r;
    dtp_producers_undo(t, mark);
    return dnnl_tp_success;
}
