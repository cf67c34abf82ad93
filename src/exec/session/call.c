/* The lists of a call of a session: on the stack of the call where names are few, else in memory
 * that the session keeps from call to call, so that nothing is allocated once as many calls were
 * made at once as will be again. */
#include "exec/session/session.h"

static dtp_call_memory_t *take(dtp_session_t *s, size_t bytes) {
    size_t room = 2 * sizeof(((dtp_call_t *)NULL)->few); /* few different sizes: the next call finds one */
    while (room < bytes) room *= 2;
    dtp_lock(&s->lock);
    dtp_call_memory_t **at = &s->call_memory, *m;
    while ((m = *at) != NULL && m->bytes < room) at = &m->next;
    if (m) *at = m->next;
    dtp_unlock(&s->lock);
    if (m) return m;
    m = dtp_alloc(s->obj.allocator, DTP_CACHE_LINE + room, DTP_CACHE_LINE);
    if (m) m->bytes = room;
    else (void)dtp_no_memory(room);
    return m;
}

dnnl_tp_status_t dtp_call_open(dtp_session_t *s, dtp_call_t *c, int nfeeds, int nfetches, int ntargets) {
    const size_t feeds = (size_t)nfeeds, fetches = (size_t)nfetches, targets = (size_t)ntargets;
    const size_t pointers = 4 * feeds + 2 * fetches, ids = feeds + 2 * fetches + targets;
    const size_t bytes = pointers * sizeof(void *) + ids * sizeof(int32_t);
    char *at = c->few;
    c->more = NULL;
    if (DTP_UNLIKELY(bytes > sizeof c->few)) {
        if (!(c->more = take(s, bytes))) return dnnl_tp_out_of_memory;
        at = (char *)c->more + DTP_CACHE_LINE;
    }
    c->r.infos = (const dnnl_tp_tensor_info_t **)(void *)at;
    c->r.values = (const void **)(void *)(c->r.infos + feeds);
    c->feed_data = c->r.values + feeds;
    c->in = (void **)(void *)(c->feed_data + feeds);
    c->fetch_data = c->in + feeds;
    c->out = c->fetch_data + fetches;
    c->r.feeds = (int32_t *)(void *)(c->out + fetches);
    c->r.fetches = c->r.feeds + feeds;
    c->wanted = c->r.fetches + fetches;
    c->r.targets = c->wanted + fetches;
    c->r.nfeeds = c->r.nfetches = c->r.ntargets = 0;
    return dnnl_tp_success;
}

void dtp_call_close(dtp_session_t *s, dtp_call_t *c) {
    if (DTP_LIKELY(!c->more)) return;
    dtp_lock(&s->lock);
    c->more->next = s->call_memory;
    s->call_memory = c->more;
    dtp_unlock(&s->lock);
}

void dtp_call_memory_free(dtp_session_t *s) {
    for (dtp_call_memory_t *m = s->call_memory, *next; m; m = next) {
        next = m->next;
        dtp_free(s->obj.allocator, m);
    }
}
