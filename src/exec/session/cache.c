/* Names of a session's graph and the cache of executables. See session.h. */
#include "exec/session/session.h"

#include "exec/compile/compile.h"

/* ---- Names ------------------------------------------------------------------------------------------- */

static dtp_session_name_t *slot_of(const dtp_session_t *s, const char *name, size_t length) {
    for (uint32_t i = (uint32_t)(dtp_hash_bytes(name, length) >> 32);; ++i) {
        dtp_session_name_t *slot = &s->names[i & s->names_mask];
        if (!slot->name || (!strncmp(slot->name, name, length) && !slot->name[length])) return slot;
    }
}

/* An output's name may be that of its operator; anything else that comes twice cannot be told apart. */
static void add_name(dtp_session_t *s, const char *name, int32_t value, int nout) {
    if (!name || !*name) return;
    dtp_session_name_t *slot = slot_of(s, name, strlen(name));
    if (!slot->name) *slot = (dtp_session_name_t){name, value, nout, false};
    else if (slot->value != value) slot->ambiguous = true;
}

dnnl_tp_status_t dtp_session_names_init(dtp_session_t *s) {
    const dtp_graph_t *g = s->graph;
    uint32_t room = 16;
    while (room < 2u * (uint32_t)(g->nvalues + g->nnodes + g->noutputs)) room *= 2;
    s->names = dtp_zalloc(s->obj.allocator, room * sizeof *s->names, 0);
    if (!s->names) return dtp_no_memory(room * sizeof *s->names);
    s->names_mask = room - 1;
    for (int i = 0; i < g->nvalues; ++i)
        if (g->values[i].node < 0 && g->values[i].region == 0) add_name(s, g->values[i].name, i, 1);
    for (int i = 0; i < g->nnodes; ++i)
        if (g->nodes[i].region == 0) add_name(s, g->nodes[i].name, g->nodes[i].out, g->nodes[i].nout);
    for (int i = 0; i < g->noutputs; ++i) add_name(s, g->output_names[i], g->outputs[i], 1);
    s->makes_shapes = dtp_zalloc(s->obj.allocator, (size_t)g->nvalues + 1, 0);
    if (!s->makes_shapes) return dtp_no_memory((size_t)g->nvalues + 1);
    dtp_graph_find_shape_values(g, s->makes_shapes);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_session_value(const dtp_session_t *s, const char *what, const char *name,
                                   int32_t *value) {
    DTP_REQUIRE(name && *name, NULL_ARG, "a %s has no name", what);
    size_t length = strlen(name);
    int64_t result = 0;
    dtp_session_name_t *slot = slot_of(s, name, length);
    const char *colon = slot->name ? NULL : strrchr(name, ':');
    if (colon && colon[1]) {
        result = 0;
        const char *digit = colon + 1;
        while (*digit >= '0' && *digit <= '9' && result < INT32_MAX) result = 10 * result + (*digit++ - '0');
        if (!*digit) slot = slot_of(s, name, (size_t)(colon - name));
    }
    DTP_REQUIRE(slot->name, GRAPH_BAD_VALUE, "%s '%s' is not in the graph", what, name);
    DTP_REQUIRE(!slot->ambiguous, GRAPH_BAD_VALUE, "%s '%s' is the name of several operators", what, name);
    DTP_REQUIRE(result < slot->nout, GRAPH_BAD_VALUE, "%s '%s': '%s' has %d results", what, name, slot->name,
                slot->nout);
    *value = slot->value + (int32_t)result;
    return dnnl_tp_success;
}

/* ---- Requests ---------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

static uint64_t hash_of_info(const dnnl_tp_tensor_info_t *info) {
    uint64_t h = mix((uint64_t)info->ndims, (uint64_t)info->data_type);
    for (int d = 0; d < info->ndims; ++d) h = mix(h, (uint64_t)info->dims[d]);
    return h;
}

void dtp_request_seal(dtp_request_t *r) {
    enum { FEED = 1, FETCH = 2, TARGET = 3 };
    uint64_t h = mix((uint64_t)r->num_threads, (uint64_t)r->nfeeds);
    for (int i = 0; i < r->nfeeds; ++i) {
        uint64_t feed = mix(mix(FEED, (uint64_t)r->feeds[i]), hash_of_info(r->infos[i]));
        if (r->values[i]) feed = mix(feed, dtp_hash_bytes(r->values[i], dtp_info_bytes(r->infos[i])));
        h += feed;
    }
    for (int i = 0; i < r->nfetches; ++i) h += mix(FETCH, (uint64_t)r->fetches[i]);
    for (int i = 0; i < r->ntargets; ++i) h += mix(TARGET, (uint64_t)r->targets[i]);
    r->hash = h;
}

int dtp_session_find(const int32_t *sorted, int n, int32_t value) {
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low < n && sorted[low] == value ? low : -1;
}

static bool same_values(const void *a, const void *b, const dnnl_tp_tensor_info_t *info) {
    return a && b ? !memcmp(a, b, dtp_info_bytes(info)) : a == b;
}

/* All of `wanted` are in the sorted list; those of the request are counted by the hash of the whole. */
static bool all_in(const int32_t *sorted, int n, const int32_t *wanted, int count) {
    for (int i = 0; i < count; ++i)
        if (dtp_session_find(sorted, n, wanted[i]) < 0) return false;
    return true;
}

static bool serves(const dtp_session_entry_t *e, const dtp_request_t *r) {
    if (e->hash != r->hash || e->num_threads != r->num_threads || e->nfeeds != r->nfeeds ||
        e->nfetches != r->nfetches || e->ntargets != r->ntargets)
        return false;
    for (int i = 0; i < r->nfeeds; ++i) {
        int at = dtp_session_find(e->feeds, e->nfeeds, r->feeds[i]);
        if (at < 0 || !dtp_info_equal(&e->infos[at], r->infos[i]) ||
            !same_values(e->values[at], r->values[i], r->infos[i]))
            return false;
    }
    return all_in(e->fetches, e->nfetches, r->fetches, r->nfetches) &&
           all_in(e->targets, e->ntargets, r->targets, r->ntargets);
}

/* ---- The cache --------------------------------------------------------------------------------------- */

void dtp_session_entry_release(dtp_session_entry_t *e) {
    if (!e || atomic_fetch_sub_explicit(&e->users, 1, memory_order_acq_rel) != 1) return;
    (void)dnnl_tp_executable_destroy(e->exec);
    dtp_free(NULL, e);
}

static dtp_session_entry_t *find(dtp_session_t *s, const dtp_request_t *r) {
    dtp_session_entry_t *e = s->bucket[r->hash % DTP_SESSION_BUCKETS];
    while (e && !serves(e, r)) e = e->next;
    if (e) atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
    return e;
}

/* Takes the least recently used entry out of the lists; its memory lives until its last user is gone. */
static dtp_session_entry_t *evict(dtp_session_t *s) {
    dtp_session_entry_t **oldest = NULL;
    for (int b = 0; b < DTP_SESSION_BUCKETS; ++b)
        for (dtp_session_entry_t **at = &s->bucket[b]; *at; at = &(*at)->next)
            if (!oldest || atomic_load_explicit(&(*at)->stamp, memory_order_relaxed) <
                               atomic_load_explicit(&(*oldest)->stamp, memory_order_relaxed))
                oldest = at;
    dtp_session_entry_t *e = *oldest;
    *oldest = e->next;
    --s->nentries;
    ++s->evictions;
    return e;
}

/* Sorted and without repetitions. */
static int copy_sorted(int32_t *to, const int32_t *from, int n, const dnnl_tp_tensor_info_t *const *infos,
                       dnnl_tp_tensor_info_t *to_infos) {
    int count = 0;
    for (int i = 0; i < n; ++i) {
        int at = count;
        while (at > 0 && to[at - 1] > from[i]) --at;
        if (at > 0 && to[at - 1] == from[i]) continue;
        memmove(to + at + 1, to + at, (size_t)(count - at) * sizeof *to);
        to[at] = from[i];
        if (infos) {
            memmove(to_infos + at + 1, to_infos + at, (size_t)(count - at) * sizeof *to_infos);
            to_infos[at] = *infos[i];
        }
        ++count;
    }
    return count;
}

static dnnl_tp_status_t make(dtp_session_t *s, const dtp_request_t *r, dtp_session_entry_t **entry) {
    size_t infos = sizeof(dtp_session_entry_t),
           ids = infos + (size_t)r->nfeeds * sizeof(dnnl_tp_tensor_info_t),
           values = dtp_round_up_size(ids + (size_t)(r->nfeeds + r->nfetches + r->ntargets) * sizeof(int32_t),
                                      sizeof(void *)),
           data = values + (size_t)r->nfeeds * sizeof(void *), bytes = data;
    for (int i = 0; i < r->nfeeds; ++i)
        if (r->values[i]) bytes += dtp_info_bytes(r->infos[i]);
    dtp_session_entry_t *e = dtp_zalloc(NULL, bytes, DTP_CACHE_LINE);
    if (!e) return dtp_no_memory(bytes);
    e->infos = (dnnl_tp_tensor_info_t *)(void *)((char *)e + infos);
    e->feeds = (int32_t *)(void *)((char *)e + ids);
    e->values = (const void **)(void *)((char *)e + values);
    e->fetches = e->feeds + r->nfeeds;
    e->targets = e->fetches + r->nfetches;
    e->hash = r->hash;
    e->num_threads = r->num_threads;
    atomic_init(&e->users, 1);
    e->nfeeds = copy_sorted(e->feeds, r->feeds, r->nfeeds, r->infos, e->infos);
    for (int i = 0; i < r->nfeeds; ++i) {
        if (!r->values[i]) continue;
        const size_t size = dtp_info_bytes(r->infos[i]);
        e->values[dtp_session_find(e->feeds, e->nfeeds, r->feeds[i])] =
            memcpy((char *)e + data, r->values[i], size);
        data += size;
    }
    e->nfetches = copy_sorted(e->fetches, r->fetches, r->nfetches, NULL, NULL);
    e->ntargets = copy_sorted(e->targets, r->targets, r->ntargets, NULL, NULL);
    dtp_selection_t selection = {e->nfeeds, e->nfetches, e->ntargets, e->feeds, e->fetches, e->targets};
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                   .deterministic = s->deterministic,
                                   .memory_budget = s->memory_budget,
                                   .in_values = e->values};
    dnnl_tp_status_t status =
        dtp_compile(&e->exec, s->graph, s->engine, r->num_threads, &selection, e->infos, &opts);
    if (status != dnnl_tp_success) {
        dtp_free(NULL, e);
        return status;
    }
    *entry = e;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_session_entry_get(dtp_session_t *s, const dtp_request_t *r,
                                       dtp_session_entry_t **entry) {
    dtp_lock(&s->lock);
    dtp_session_entry_t *e = find(s, r);
    dtp_unlock(&s->lock);
    if (DTP_UNLIKELY(!e)) {
        dtp_session_entry_t *made = NULL, *gone = NULL;
        DTP_TRY(make(s, r, &made));
        dtp_lock(&s->lock);
        ++s->compilations;
        e = find(s, r); /* another thread's, made meanwhile, wins */
        if (!e) {
            if (s->nentries >= s->max_executables) gone = evict(s);
            dtp_session_entry_t **bucket = &s->bucket[r->hash % DTP_SESSION_BUCKETS];
            made->next = *bucket;
            *bucket = e = made;
            ++s->nentries;
            made = NULL;
            atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
        }
        dtp_unlock(&s->lock);
        dtp_session_entry_release(gone);
        dtp_session_entry_release(made);
    }
    atomic_store_explicit(&e->stamp, atomic_fetch_add_explicit(&s->clock, 1, memory_order_relaxed),
                          memory_order_relaxed);
    *entry = e;
    return dnnl_tp_success;
}

void dtp_session_cache_free(dtp_session_t *s) {
    for (int b = 0; b < DTP_SESSION_BUCKETS; ++b)
        for (dtp_session_entry_t *e = s->bucket[b], *next; e; e = next) {
            next = e->next;
            dtp_session_entry_release(e);
        }
    dtp_free(s->obj.allocator, s->makes_shapes);
    dtp_free(s->obj.allocator, s->names);
}
