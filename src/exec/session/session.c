/* Sessions: creation, runs, callables, closing. Names and cache: cache.c; memory of a call: call.c;
 * states: session.h. */
#include "exec/session/session.h"

#include <stddef.h>

#include "exec/run/run.h"

/* ---- Pools ------------------------------------------------------------------------------------------- */

static dnnl_tp_status_t pool_init(dtp_session_pool_t *p, bool threads, const char *name, int num_threads,
                                  int blocking_threads) {
    p->num_threads = 1;
    DTP_TRY(dnnl_tp_stream_attr_create(&p->attr, dnnl_tp_cpu));
    if (!DNNL_TP_WITH_THREADPOOL && (num_threads > 1 || blocking_threads))
        return dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME,
                        "a pool of %d threads (blocking: %d) in a build with the runtime SEQ", num_threads,
                        blocking_threads);
    if (!threads || !DNNL_TP_WITH_THREADPOOL) return dnnl_tp_stream_attr_set_threadpool(p->attr, NULL);
    DTP_TRY(dtp_named_pool_open(&p->pool, name, num_threads, blocking_threads));
    p->num_threads = dtp_named_pool_num_threads(p->pool);
    return dnnl_tp_stream_attr_set_builtin_threadpool(p->attr, dtp_named_pool_handle(p->pool));
}

static dnnl_tp_status_t stream_take(dtp_session_t *s, dtp_session_pool_t *p, dtp_idle_stream_t **idle) {
    dtp_lock(&p->lock);
    dtp_idle_stream_t *i = p->idle;
    if (i) p->idle = i->next;
    dtp_unlock(&p->lock);
    if (DTP_UNLIKELY(!i)) {
        i = dtp_zalloc(s->obj.allocator, sizeof *i, 0);
        if (!i) return dtp_no_memory(sizeof *i);
        dnnl_tp_status_t status = dnnl_tp_stream_create_v2(&i->stream, s->engine, 0, p->attr);
        if (status != dnnl_tp_success) {
            dtp_free(s->obj.allocator, i);
            return status;
        }
    }
    *idle = i;
    return dnnl_tp_success;
}

static void stream_give(dtp_session_pool_t *p, dtp_idle_stream_t *idle) {
    dtp_lock(&p->lock);
    idle->next = p->idle;
    p->idle = idle;
    dtp_unlock(&p->lock);
}

static void pool_drop(dtp_session_t *s, dtp_session_pool_t *p) {
    for (dtp_idle_stream_t *i = p->idle, *next; i; i = next) {
        next = i->next;
        if (dnnl_tp_stream_destroy(i->stream) == dnnl_tp_would_deadlock)
            (void)dnnl_tp_stream_give_away(i->stream); /* inside running work */
        dtp_free(s->obj.allocator, i);
    }
    (void)dnnl_tp_stream_attr_destroy(p->attr);
    dtp_named_pool_close(p->pool);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

static void session_free(dtp_object_t *obj) {
    dtp_session_t *s = (dtp_session_t *)obj;
    dtp_session_cache_free(s);
    dtp_call_memory_free(s);
    for (int i = 0; s->pools && i <= s->npools; ++i) pool_drop(s, &s->pools[i]);
    dtp_free(s->obj.allocator, s->pools);
    (void)dnnl_tp_cancel_destroy(s->cancel);
    dtp_object_release(s->trace);
    dtp_object_release(s->graph);
    dtp_object_release(s->engine);
}

static dnnl_tp_status_t pools_init(dtp_session_t *s, const dnnl_tp_session_opts_t *o) {
    s->npools = o->npools ? o->npools : 1;
    size_t bytes = sizeof *s->pools * (size_t)(s->npools + 1);
    s->pools = dtp_zalloc(s->obj.allocator, bytes, 0);
    if (!s->pools) return dtp_no_memory(bytes);
    const int blocking = o->blocking_threads;
    DTP_TRY(pool_init(&s->pools[s->npools], false, NULL, 1, 0));
    if (!o->npools)
        return pool_init(&s->pools[0], true, o->per_session_threads ? NULL : "", o->num_threads, blocking);
    for (int i = 0; i < o->npools; ++i) {
        const char *name = o->pools[i].global_name;
        DTP_TRY(
            pool_init(&s->pools[i], true, name && *name ? name : NULL, o->pools[i].num_threads, blocking));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_opts(const dnnl_tp_session_opts_t *o) {
    const size_t oldest = offsetof(dnnl_tp_session_opts_t, trace),
                 older = offsetof(dnnl_tp_session_opts_t, blocking_threads);
    DTP_REQUIRE(o->struct_size == sizeof *o || o->struct_size == older || o->struct_size == oldest,
                BAD_STRUCT_SIZE, "session options have %zu bytes, needed are %zu, %zu or %zu", o->struct_size,
                sizeof *o, older, oldest);
    if (o->struct_size >= older && o->trace) DTP_REQUIRE_HANDLE(o->trace, DTP_OBJ_TRACE);
    DTP_REQUIRE(o->flags == 0, BAD_FLAGS, "flags of session options are %u", o->flags);
    DTP_REQUIRE(o->npools >= 0, BAD_COUNT, "npools is %d", o->npools);
    DTP_REQUIRE(o->npools == 0 || o->pools, NULL_ARG, "pools are NULL");
    DTP_REQUIRE(o->max_executables >= 0, BAD_COUNT, "max_executables is %d", o->max_executables);
    DTP_REQUIRE(o->timeout_ns >= 0, BAD_COUNT, "timeout_ns is %lld", (long long)o->timeout_ns);
    DTP_REQUIRE(o->deterministic == 0 || o->deterministic == 1, BAD_PARAM, "deterministic is %d",
                o->deterministic);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_session_create(dnnl_tp_session_t *session, const_dnnl_tp_graph_t graph,
                                        dnnl_tp_engine_t engine, const dnnl_tp_session_opts_t *opts) {
    DTP_OUT(session, NULL);
    DTP_REQUIRE_HANDLE(graph, DTP_OBJ_GRAPH);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    DTP_REQUIRE(graph->region == 0, GRAPH_REGION, "a region or function is compiled with its graph");
    DTP_REQUIRE(dtp_engine_can(engine, DTP_ENGINE_HOST_READABLE), BAD_ENGINE,
                "sessions have pools, which are for CPUs");
    dnnl_tp_session_opts_t o = {.struct_size = sizeof o};
    if (opts) {
        DTP_TRY(check_opts(opts));
        memcpy(&o, opts, opts->struct_size);
    }
    dtp_graph_t *g = graph->root;
    dtp_session_t *s = dtp_object_create(engine->allocator, sizeof *s, DTP_OBJ_SESSION, session_free);
    if (!s) DTP_RETURN(dtp_no_memory(sizeof *s));
    atomic_init(&s->active, dtp_session_none());
    s->graph = dtp_object_retain(g);
    s->engine = dtp_object_retain(engine);
    s->trace = dtp_object_retain(o.trace);
    s->timeout_ns = o.timeout_ns;
    s->deterministic = o.deterministic;
    s->memory_budget = o.memory_budget;
    s->max_executables = o.max_executables ? o.max_executables : DTP_SESSION_DEFAULT_EXECUTABLES;
    dnnl_tp_status_t status = dtp_session_names_init(s);
    if (status == dnnl_tp_success) status = dnnl_tp_cancel_create(&s->cancel);
    if (status == dnnl_tp_success) status = pools_init(s, &o);
    if (status != dnnl_tp_success) {
        dtp_object_release(s);
        DTP_RETURN(status);
    }
    atomic_fetch_add_explicit(&g->frozen, 1, memory_order_relaxed);
    *session = s;
    return dnnl_tp_success;
}

/* ---- Entering and closing ---------------------------------------------------------------------------- */

/* Runs of the parent that were under way at a fork do not end here: a child counts anew, from the first call that sees
 * a count of the parent. */
static void count_anew(dtp_session_t *s) {
    int64_t active = atomic_load_explicit(&s->active, memory_order_acquire);
    while (dtp_is_parents(dtp_session_generation(active))) {
        const int64_t none = (active & DTP_SESSION_CLOSED) | dtp_session_none();
        if (atomic_compare_exchange_weak_explicit(&s->active, &active, none, memory_order_acq_rel,
                                                  memory_order_acquire))
            return;
    }
}

/* If the program has given the session away and no run is inside: the first thread that sees both
 * drops the program's reference. */
static void drop_if_given_away(dtp_session_t *s) {
    if (atomic_load_explicit(&s->given_away, memory_order_seq_cst) &&
        !dtp_session_count(atomic_load_explicit(&s->active, memory_order_seq_cst)) &&
        atomic_exchange_explicit(&s->given_away, false, memory_order_acq_rel))
        dtp_object_release(s);
}

/* entered: what session_enter said. */
static void session_leave(dtp_session_t *s, uint32_t entered) {
    if (dtp_is_parents(entered)) return;
    int64_t active = atomic_load_explicit(&s->active, memory_order_relaxed);
    while (active >= 0)
        if (atomic_compare_exchange_weak_explicit(&s->active, &active, active - 1, memory_order_release,
                                                  memory_order_relaxed))
            return;
    /* Closed: once the last one has left, who closes may free the session before the wake word is changed. */
    dtp_object_retain(s);
    if (dtp_session_count(atomic_fetch_sub_explicit(&s->active, 1, memory_order_seq_cst)) == 1) {
        atomic_fetch_add_explicit(&s->closers_wake_word, 1, memory_order_release);
        dtp_futex_wake(&s->closers_wake_word, INT_MAX);
        drop_if_given_away(s);
    }
    dtp_object_release(s);
}

static dnnl_tp_status_t session_enter(dtp_session_t *s, uint32_t *entered) {
    int64_t before = atomic_fetch_add_explicit(&s->active, 1, memory_order_acquire);
    while (dtp_is_parents(*entered = dtp_session_generation(before))) {
        count_anew(s); /* also what was added just now */
        before = atomic_fetch_add_explicit(&s->active, 1, memory_order_acquire);
    }
    if (DTP_LIKELY(before >= 0)) return dnnl_tp_success;
    session_leave(s, *entered);
    return dtp_fail(dnnl_tp_cancelled, DTP_CANCELLED, "the session is closed");
}

static dnnl_tp_status_t close_session(dtp_session_t *s) {
    count_anew(s);
    atomic_fetch_or_explicit(&s->active, DTP_SESSION_CLOSED, memory_order_acq_rel);
    DTP_TRY(dnnl_tp_cancel_fire(s->cancel));
    for (;;) {
        uint32_t wake_word = atomic_load_explicit(&s->closers_wake_word, memory_order_acquire);
        if (!dtp_session_count(atomic_load_explicit(&s->active, memory_order_acquire)))
            return dnnl_tp_success;
        if (dtp_thread_is_inside() || dtp_share_here) /* in a run that is on its caller alone */
            return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from inside running work");
        dtp_futex_wait(&s->closers_wake_word, wake_word, -1);
    }
}

dnnl_tp_status_t dnnl_tp_session_close(dnnl_tp_session_t s) {
    DTP_REQUIRE_HANDLE(s, DTP_OBJ_SESSION);
    dtp_object_retain(s); /* another thread may destroy it meanwhile */
    const dnnl_tp_status_t status = close_session(s);
    dtp_object_release(s);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_session_destroy(dnnl_tp_session_t session) {
    if (!session) return dnnl_tp_success;
    DTP_TRY(dnnl_tp_session_close(session));
    dtp_object_release(session);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_session_give_away(dnnl_tp_session_t s) {
    if (!s) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(s, DTP_OBJ_SESSION);
    count_anew(s);
    atomic_fetch_or_explicit(&s->active, DTP_SESSION_CLOSED, memory_order_acq_rel);
    DTP_TRY(dnnl_tp_cancel_fire(s->cancel));
    dtp_object_retain(s);
    atomic_store_explicit(&s->given_away, true, memory_order_seq_cst);
    drop_if_given_away(s);
    dtp_object_release(s);
    return dnnl_tp_success;
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

static int position(const int32_t *list, int n, int32_t value) {
    for (int i = 0; i < n; ++i)
        if (list[i] == value) return i;
    return -1;
}

static dnnl_tp_status_t check_count(int n, const void *list, const char *what) {
    DTP_REQUIRE(n >= 0 && n <= DTP_SESSION_MAX_NAMES, BAD_COUNT, "%d %s, not 0..%d", n, what,
                DTP_SESSION_MAX_NAMES);
    DTP_REQUIRE(n == 0 || list, NULL_ARG, "%s are NULL", what);
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_counts(int nfeeds, const void *feeds, int nfetches, const void *fetches,
                                     int ntargets, const void *targets) {
    DTP_TRY(check_count(nfeeds, feeds, "feeds"));
    DTP_TRY(check_count(nfetches, fetches, "fetches"));
    return check_count(ntargets, targets, "targets");
}

static dnnl_tp_status_t resolve_feeds(const dtp_session_t *s, int n, const dnnl_tp_feed_t *feeds,
                                      dtp_request_t *r) {
    for (int i = 0; i < n; ++i) {
        DTP_TRY(dtp_session_value(s, "feed", feeds[i].name, &r->feeds[i]));
        DTP_REQUIRE(position(r->feeds, i, r->feeds[i]) < 0, BAD_PARAM, "'%s' is fed twice", feeds[i].name);
        const dnnl_tp_tensor_info_t *declared = s->graph->values[r->feeds[i]].info;
        r->infos[i] = feeds[i].info ? feeds[i].info : declared;
        if (feeds[i].info) DTP_TRY(dtp_info_check(feeds[i].info, false, "shape of feed", feeds[i].name));
        const bool is_value = s->makes_shapes[r->feeds[i]] && dtp_may_be_known(r->infos[i]);
        r->values[i] = is_value ? feeds[i].data : NULL;
    }
    r->nfeeds = n;
    return dnnl_tp_success;
}

static dnnl_tp_status_t resolve_targets(const dtp_session_t *s, int n, const char *const *targets,
                                        dtp_request_t *r) {
    for (int i = 0; i < n; ++i) {
        int32_t value;
        DTP_TRY(dtp_session_value(s, "target", targets[i], &value));
        if (s->graph->values[value].node >= 0) value = s->graph->nodes[s->graph->values[value].node].out;
        if (position(r->targets, r->ntargets, value) < 0) r->targets[r->ntargets++] = value;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t add_fetch(const dtp_session_t *s, const char *name, dtp_request_t *r,
                                  int32_t *value) {
    DTP_TRY(dtp_session_value(s, "fetch", name, value));
    if (position(r->fetches, r->nfetches, *value) < 0) r->fetches[r->nfetches++] = *value;
    return dnnl_tp_success;
}

static dnnl_tp_status_t seal(dtp_request_t *r) {
    DTP_REQUIRE(r->nfetches + r->ntargets > 0, BAD_COUNT, "nothing is fetched and nothing is a target");
    dtp_request_seal(r);
    return dnnl_tp_success;
}

static dnnl_tp_status_t choose_pool(dtp_session_t *s, const dnnl_tp_session_run_opts_t *o,
                                    dtp_session_pool_t **pool) {
    int index = o ? o->pool_index : 0;
    if (o) DTP_REQUIRE_SIZE(o, "session run options");
    DTP_REQUIRE(index >= DNNL_TP_SESSION_CALLER && index < s->npools, BAD_POOL,
                "pool_index is %d, not %d..%d", index, DNNL_TP_SESSION_CALLER, s->npools - 1);
    *pool = &s->pools[index < 0 ? s->npools : index];
    return dnnl_tp_success;
}

/* in and out: in the order of the entry's lists. */
static dnnl_tp_status_t run_entry(dtp_session_t *s, dtp_session_pool_t *pool, const dtp_session_entry_t *e,
                                  void *const *in, void *const *out, const dnnl_tp_session_run_opts_t *o) {
    dnnl_tp_run_opts_t run = {.struct_size = sizeof run};
    if (o && o->run) {
        DTP_TRY(dtp_run_opts_check(o->run));
        memcpy(&run, o->run, o->run->struct_size);
        run.struct_size = sizeof run;
    }
    if (!run.trace) run.trace = s->trace;
    int64_t timeout = o && o->timeout_ns ? o->timeout_ns : s->timeout_ns;
    if (timeout > 0 && !run.deadline_ns) run.deadline_ns = dtp_until_ns(timeout);
    dtp_idle_stream_t *idle = NULL;
    DTP_TRY(stream_take(s, pool, &idle));
    atomic_fetch_add_explicit(&s->runs, 1, memory_order_relaxed);
    dnnl_tp_status_t status =
        dtp_executable_run(e->exec, idle->stream, e->nfeeds, in, e->nfetches, out, &run, s->cancel);
    stream_give(pool, idle);
    return status;
}

/* Pointers into the entry's order; a tensor that is fetched twice is written once and copied. */
static dnnl_tp_status_t place_and_run(dtp_session_t *s, dtp_session_pool_t *pool,
                                      const dtp_session_entry_t *e, int nfeeds, const int32_t *feeds,
                                      const void *const *feed_data, int nfetches, const int32_t *fetches,
                                      void *const *fetch_data, dtp_call_t *c,
                                      const dnnl_tp_session_run_opts_t *o) {
    void **in = c->in, **out = c->out;
    bool twice = nfetches > e->nfetches;
    if (twice) memset(out, 0, (size_t)e->nfetches * sizeof *out);
    for (int i = 0; i < nfeeds; ++i)
        in[dtp_session_find(e->feeds, e->nfeeds, feeds[i])] = (void *)(uintptr_t)feed_data[i];
    for (int i = 0; i < nfetches; ++i) {
        int at = dtp_session_find(e->fetches, e->nfetches, fetches[i]);
        if (!twice || !out[at]) out[at] = fetch_data[i];
    }
    DTP_TRY(run_entry(s, pool, e, in, out, o));
    for (int i = 0; twice && i < nfetches; ++i) {
        const void *from = out[dtp_session_find(e->fetches, e->nfetches, fetches[i])];
        if (from != fetch_data[i]) memcpy(fetch_data[i], from, dtp_info_bytes(e->exec->infos[fetches[i]]));
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t run_call(dtp_session_t *s, dtp_session_pool_t *pool, dtp_call_t *c, int nfeeds,
                                 const dnnl_tp_feed_t *feeds, int nfetches, const dnnl_tp_fetch_t *fetches,
                                 int ntargets, const char *const *targets,
                                 const dnnl_tp_session_run_opts_t *o) {
    dtp_request_t *r = &c->r;
    r->num_threads = pool->num_threads;
    DTP_TRY(resolve_feeds(s, nfeeds, feeds, r));
    for (int i = 0; i < nfetches; ++i) {
        DTP_TRY(add_fetch(s, fetches[i].name, r, &c->wanted[i]));
        DTP_REQUIRE(fetches[i].data, NULL_ARG, "data of fetch '%s' is NULL", fetches[i].name);
        c->fetch_data[i] = fetches[i].data;
    }
    for (int i = 0; i < nfeeds; ++i) c->feed_data[i] = feeds[i].data;
    DTP_TRY(resolve_targets(s, ntargets, targets, r));
    DTP_TRY(seal(r));
    dtp_session_entry_t *e;
    DTP_TRY(dtp_session_entry_get(s, r, &e));
    dnnl_tp_status_t status =
        place_and_run(s, pool, e, nfeeds, r->feeds, c->feed_data, nfetches, c->wanted, c->fetch_data, c, o);
    dtp_session_entry_release(e);
    return status;
}

static dnnl_tp_status_t run_inside(dtp_session_t *s, int nfeeds, const dnnl_tp_feed_t *feeds, int nfetches,
                                   const dnnl_tp_fetch_t *fetches, int ntargets, const char *const *targets,
                                   const dnnl_tp_session_run_opts_t *o) {
    dtp_session_pool_t *pool;
    dtp_call_t c;
    DTP_TRY(choose_pool(s, o, &pool));
    DTP_TRY(check_counts(nfeeds, feeds, nfetches, fetches, ntargets, targets));
    DTP_TRY(dtp_call_open(s, &c, nfeeds, nfetches, ntargets));
    dnnl_tp_status_t status = run_call(s, pool, &c, nfeeds, feeds, nfetches, fetches, ntargets, targets, o);
    dtp_call_close(s, &c);
    return status;
}

dnnl_tp_status_t dnnl_tp_session_run(dnnl_tp_session_t session, int nfeeds, const dnnl_tp_feed_t *feeds,
                                     int nfetches, const dnnl_tp_fetch_t *fetches, int ntargets,
                                     const char *const *targets, const dnnl_tp_session_run_opts_t *opts) {
    DTP_REQUIRE_HANDLE(session, DTP_OBJ_SESSION);
    uint32_t entered;
    DTP_TRY(session_enter(session, &entered));
    dnnl_tp_status_t status = run_inside(session, nfeeds, feeds, nfetches, fetches, ntargets, targets, opts);
    session_leave(session, entered);
    DTP_RETURN(status);
}

/* ---- Callables --------------------------------------------------------------------------------------- */

static void callable_free(dtp_object_t *obj) {
    dnnl_tp_callable_t c = (dnnl_tp_callable_t)(void *)obj;
    dtp_session_entry_release(c->entry);
    dtp_object_release(c->session);
}

static dnnl_tp_status_t request_of(const struct dnnl_tp_callable *c, int num_threads, dtp_request_t *r) {
    r->num_threads = num_threads;
    r->nfeeds = c->nfeeds;
    r->nfetches = 0;
    r->ntargets = c->ntargets;
    for (int i = 0; i < c->nfeeds; ++i) {
        r->feeds[i] = c->feeds[i];
        r->infos[i] = &c->infos[i];
        r->values[i] = NULL; /* made before its values are there */
    }
    for (int i = 0; i < c->nfetches; ++i)
        if (position(r->fetches, r->nfetches, c->fetches[i]) < 0) r->fetches[r->nfetches++] = c->fetches[i];
    memcpy(r->targets, c->targets, (size_t)c->ntargets * sizeof *c->targets);
    return seal(r);
}

static dnnl_tp_status_t make_of_call(dnnl_tp_callable_t *callable, dtp_session_t *s, dtp_call_t *call,
                                     int nfeeds, const dnnl_tp_feed_t *feeds, int nfetches,
                                     const char *const *fetches, int ntargets, const char *const *targets) {
    dtp_request_t *r = &call->r;
    r->num_threads = s->pools[0].num_threads;
    DTP_TRY(resolve_feeds(s, nfeeds, feeds, r));
    for (int i = 0; i < nfetches; ++i) DTP_TRY(add_fetch(s, fetches[i], r, &call->wanted[i]));
    DTP_TRY(resolve_targets(s, ntargets, targets, r));
    DTP_TRY(seal(r));
    size_t head = dtp_round_up_size(sizeof(struct dnnl_tp_callable), DTP_CACHE_LINE);
    size_t ids = head + (size_t)nfeeds * sizeof(dnnl_tp_tensor_info_t);
    size_t bytes = ids + (size_t)(nfeeds + nfetches + r->ntargets) * sizeof(int32_t);
    dnnl_tp_callable_t c = dtp_object_create(s->obj.allocator, bytes, DTP_OBJ_CALLABLE, callable_free);
    if (!c) return dtp_no_memory(bytes);
    c->session = dtp_object_retain(s);
    c->infos = (dnnl_tp_tensor_info_t *)(void *)((char *)c + head);
    c->feeds = (int32_t *)(void *)((char *)c + ids);
    c->fetches = c->feeds + nfeeds;
    c->targets = c->fetches + nfetches;
    c->nfeeds = nfeeds;
    c->nfetches = nfetches;
    c->ntargets = r->ntargets;
    memcpy(c->feeds, r->feeds, (size_t)nfeeds * sizeof *c->feeds);
    for (int i = 0; i < nfeeds; ++i) c->infos[i] = *r->infos[i];
    memcpy(c->fetches, call->wanted, (size_t)nfetches * sizeof *c->fetches);
    memcpy(c->targets, r->targets, (size_t)r->ntargets * sizeof *c->targets);
    dnnl_tp_status_t status = dtp_session_entry_get(s, r, &c->entry);
    if (status != dnnl_tp_success) {
        dtp_object_release(c);
        return status;
    }
    *callable = c;
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_callable(dnnl_tp_callable_t *callable, dtp_session_t *s, int nfeeds,
                                      const dnnl_tp_feed_t *feeds, int nfetches, const char *const *fetches,
                                      int ntargets, const char *const *targets) {
    dtp_call_t call;
    DTP_TRY(check_counts(nfeeds, feeds, nfetches, fetches, ntargets, targets));
    DTP_TRY(dtp_call_open(s, &call, nfeeds, nfetches, ntargets));
    dnnl_tp_status_t status =
        make_of_call(callable, s, &call, nfeeds, feeds, nfetches, fetches, ntargets, targets);
    dtp_call_close(s, &call);
    return status;
}

dnnl_tp_status_t dnnl_tp_session_make_callable(dnnl_tp_callable_t *callable, dnnl_tp_session_t session,
                                               int nfeeds, const dnnl_tp_feed_t *feeds, int nfetches,
                                               const char *const *fetches, int ntargets,
                                               const char *const *targets) {
    DTP_OUT(callable, NULL);
    DTP_REQUIRE_HANDLE(session, DTP_OBJ_SESSION);
    uint32_t entered;
    DTP_TRY(session_enter(session, &entered));
    dnnl_tp_status_t status =
        make_callable(callable, session, nfeeds, feeds, nfetches, fetches, ntargets, targets);
    session_leave(session, entered);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_callable_query(dnnl_tp_callable_t callable, int fetch, dnnl_tp_tensor_info_t *info) {
    DTP_REQUIRE_HANDLE(callable, DTP_OBJ_CALLABLE);
    DTP_REQUIRE(info, NULL_ARG, "info is NULL");
    DTP_REQUIRE(fetch >= 0 && fetch < callable->nfetches, BAD_COUNT, "fetch %d is outside 0..%d", fetch,
                callable->nfetches - 1);
    *info = *callable->entry->exec->infos[callable->fetches[fetch]];
    return dnnl_tp_success;
}

static dnnl_tp_status_t run_callable(dnnl_tp_callable_t c, dtp_session_pool_t *pool, dtp_call_t *call,
                                     const void *const *in, void *const *out,
                                     const dnnl_tp_session_run_opts_t *o) {
    dtp_session_entry_t *e = c->entry, *other = NULL;
    if (pool->num_threads != e->num_threads) {
        DTP_TRY(request_of(c, pool->num_threads, &call->r));
        DTP_TRY(dtp_session_entry_get(c->session, &call->r, &other));
        e = other;
    }
    dnnl_tp_status_t status =
        place_and_run(c->session, pool, e, c->nfeeds, c->feeds, in, c->nfetches, c->fetches, out, call, o);
    dtp_session_entry_release(other);
    return status;
}

static dnnl_tp_status_t callable_run(dnnl_tp_callable_t c, const void *const *in, void *const *out,
                                     const dnnl_tp_session_run_opts_t *o) {
    dtp_session_pool_t *pool;
    dtp_call_t call;
    DTP_TRY(choose_pool(c->session, o, &pool));
    for (int i = 0; i < c->nfetches; ++i) DTP_REQUIRE(out[i], NULL_ARG, "fetch %d is NULL", i);
    DTP_TRY(dtp_call_open(c->session, &call, c->nfeeds, c->nfetches, c->ntargets));
    dnnl_tp_status_t status = run_callable(c, pool, &call, in, out, o);
    dtp_call_close(c->session, &call);
    return status;
}

dnnl_tp_status_t dnnl_tp_callable_run(dnnl_tp_callable_t callable, const void *const *in, void *const *out,
                                      const dnnl_tp_session_run_opts_t *opts) {
    DTP_REQUIRE_HANDLE(callable, DTP_OBJ_CALLABLE);
    DTP_REQUIRE((callable->nfeeds == 0 || in) && (callable->nfetches == 0 || out), NULL_ARG,
                "in or out is NULL");
    uint32_t entered;
    DTP_TRY(session_enter(callable->session, &entered));
    dtp_object_retain(callable); /* a closure of the run may drop the caller's handle */
    dnnl_tp_status_t status = callable_run(callable, in, out, opts);
    session_leave(callable->session, entered);
    dtp_object_release(callable);
    DTP_RETURN(status);
}

dnnl_tp_status_t dnnl_tp_callable_destroy(dnnl_tp_callable_t callable) {
    DTP_DESTROY(callable, DTP_OBJ_CALLABLE);
}

/* ---- Queries ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_session_query(dnnl_tp_session_t session, dnnl_tp_session_stats_t *stats) {
    DTP_REQUIRE_HANDLE(session, DTP_OBJ_SESSION);
    DTP_REQUIRE(stats, NULL_ARG, "stats is NULL");
    DTP_REQUIRE_SIZE(stats, "session statistics");
    stats->runs = atomic_load_explicit(&session->runs, memory_order_relaxed);
    count_anew(session);
    stats->active = (int)dtp_session_count(atomic_load_explicit(&session->active, memory_order_relaxed));
    dtp_lock(&session->lock);
    stats->compilations = session->compilations;
    stats->evictions = session->evictions;
    stats->executables = session->nentries;
    dtp_unlock(&session->lock);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_session_get_pool(dnnl_tp_session_t session, int pool_index,
                                          const dnnl_tp_threadpool_iface_t **iface) {
    DTP_OUT(iface, NULL);
    DTP_REQUIRE_HANDLE(session, DTP_OBJ_SESSION);
    DTP_REQUIRE(pool_index >= 0 && pool_index < session->npools, BAD_POOL, "pool_index is %d, not 0..%d",
                pool_index, session->npools - 1);
    const dtp_named_pool_t *pool = session->pools[pool_index].pool;
    if (!pool)
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_RUNTIME, "this build has the runtime SEQ"));
    DTP_RETURN(dnnl_tp_threadpool_get_iface(dtp_named_pool_handle(pool), iface));
}
