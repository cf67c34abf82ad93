/* Creation, guarded memories and execution of a problem on one library. */
#include <stdlib.h>
#include <string.h>

#include "common/side.h"

#define GUARD 4096 /* a page before and behind: keeps data page-aligned on both sides of a comparison */
#define GUARD_CHECKED 256

/* With the address sanitizer the guards are poisoned: it also sees reads. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define TRY(call)                                        \
    do {                                                 \
        s->what = #call;                                 \
        if ((st = (call)) != dnnl_tp_success) return st; \
    } while (0)

static bool contains_any(const char *impl, const char *list) {
    char part[128];
    while (list) {
        size_t n = strcspn(list, ":,");
        if (n && n < sizeof part) {
            memcpy(part, list, n);
            part[n] = 0;
            if (strstr(impl, part)) return true;
        }
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

/* --impl and --skip-impl may name whole implementations such as ref:any, so the whole text is tried first. */
static bool hit(const char *impl, const char *list) { return strstr(impl, list) || contains_any(impl, list); }

static bool filtered(const bd_side_t *s) {
    if (s->api->is_peer) return false;
    const char *only = *bd.global_impl ? bd.global_impl : bd.impl;
    const char *not = *bd.global_skip_impl ? bd.global_skip_impl : bd.skip_impl;
    return (*only && !hit(s->impl, only)) || (*not &&hit(s->impl, not ));
}

static void read_impl(bd_side_t *s) {
    const char *name = NULL;
    s->impl[0] = 0;
    if (s->api->primitive_desc_query(s->pd, dnnl_tp_query_impl_info_str, 0, &name) == dnnl_tp_success && name)
        bd_cat(s->impl, sizeof s->impl, "%s", name);
}

dnnl_tp_status_t bd_side_create(bd_side_t *s, const bd_prb_t *p, const bd_api_t *api, int init_threads) {
    dnnl_tp_status_t st;
    memset(s, 0, sizeof *s);
    s->api = api;
    s->prb = p;
    s->threads = init_threads;
    for (int i = 0; i < p->nt; ++i)
        if (!(p->t[i].io & BD_ATTR)) {
            s->what = "memory_desc_create";
            st = bd_md_create(api, &p->t[i], false, &s->md[i]);
            if (st == dnnl_tp_unimplemented) s->skip = BD_SKIP_LAYOUT;
            if (st != dnnl_tp_success) return st;
        }
    TRY(bd_attr_create(p, api, init_threads, &s->attr));
    double t = bd_now();
    s->what = "primitive_desc_create";
    st = p->drv->create_pd(p, api, bd_engine(api), s->md, s->attr, &s->pd);
    s->pd_s = bd_now() - t;
    if (st != dnnl_tp_success) return st;
    read_impl(s);
    while (filtered(s)) {
        st = api->primitive_desc_next_impl(s->pd);
        if (st != dnnl_tp_success) {
            s->skip = BD_SKIP_IMPL;
            return st;
        }
        read_impl(s);
    }
    if (!api->is_peer && init_threads) {
        int n = 0;
        TRY(dnnl_tp_primitive_desc_get_num_threads(s->pd, &n));
        if (n != init_threads) {
            s->what = "the thread count of the descriptor is not the one asked for";
            return dnnl_tp_runtime_error;
        }
    }
    t = bd_now();
    TRY(api->primitive_create(&s->prim, s->pd));
    s->prim_s = bd_now() - t;
    for (int i = 0; i < p->nt; ++i)
        if (p->t[i].rt) TRY(bd_md_create(api, &p->t[i], true, &s->own[i]));
    for (int i = 0; i < p->nt; ++i) {
        TRY(bd_layout(api, bd_side_md(s, i), &s->lay[i]));
        if (p->t[i].nd && s->lay[i].nd != p->t[i].nd && !(api->is_peer && p->t[i].io & BD_OWN)) {
            s->what = "the descriptor of an argument has other dimensions than the problem";
            return dnnl_tp_runtime_error;
        }
        bool any = bd_tag_is(p->t[i].tag, "any") && !p->t[i].strides;
        if (!api->is_peer && !any && s->md[i] && !p->t[i].rt &&
            !api->memory_desc_equal(s->md[i], bd_side_md(s, i))) {
            s->what = "the descriptor of an argument is not the one asked for";
            return dnnl_tp_runtime_error;
        }
    }
    const_dnnl_tp_memory_desc_t sp = api->primitive_desc_query_md(s->pd, dnnl_tp_query_scratchpad_md, 0);
    s->scratch_bytes = sp ? api->memory_desc_get_size(sp) : 0;
    return dnnl_tp_success;
}

const_dnnl_tp_memory_desc_t bd_side_md(const bd_side_t *s, int i) {
    if (s->own[i]) return s->own[i];
    return s->api->primitive_desc_query_md(s->pd, dnnl_tp_query_exec_arg_md, s->prb->t[i].arg);
}

double bd_side_bytes(const bd_side_t *s) {
    double b = (double)s->scratch_bytes;
    for (int i = 0; i < s->prb->nt; ++i)
        if (s->prb->t[i].alias < 0) b += (double)s->lay[i].bytes + 2. * GUARD;
    return b;
}

static char *guarded(size_t bytes) {
    char *p = bd_alloc(bytes + 2 * GUARD, GUARD);
    memset(p, BD_FILL_BYTE, bytes + 2 * GUARD);
    POISON(p, (size_t)GUARD);
    POISON(p + GUARD + bytes, (size_t)GUARD);
    return p;
}

static void guarded_free(char *p, size_t bytes) {
    if (p) UNPOISON(p, bytes + 2 * GUARD);
    bd_free(p);
}

static dnnl_tp_status_t transfer(const bd_api_t *api, dnnl_tp_memory_t memory, void *data, size_t bytes,
                                 bool up) {
    void *mapped;
    dnnl_tp_status_t st = api->memory_map_data(memory, &mapped);
    if (st != dnnl_tp_success) return st;
    if (bytes) memcpy(up ? mapped : data, up ? data : mapped, bytes);
    return api->memory_unmap_data(memory, mapped);
}

dnnl_tp_status_t bd_memory_create(const bd_api_t *api, dnnl_tp_memory_t *memory,
                                  const_dnnl_tp_memory_desc_t md, void *data, size_t bytes) {
    if (!bd_is_far(api)) return api->memory_create(memory, md, bd_engine(api), data);
    dnnl_tp_status_t st = api->memory_create(memory, md, bd_engine(api), DNNL_TP_MEMORY_ALLOCATE);
    return st == dnnl_tp_success ? transfer(api, *memory, data, bytes, true) : st;
}

static dnnl_tp_status_t transfer_all(bd_side_t *s, bool up) {
    dnnl_tp_status_t st = dnnl_tp_success;
    for (int i = 0; bd_is_far(s->api) && i < s->prb->nt && st == dnnl_tp_success; ++i) {
        if (s->prb->t[i].alias >= 0) continue;
        s->what = up ? "upload of the harness" : "download of the harness";
        st = transfer(s->api, s->mem[i], s->data[i], s->lay[i].bytes, up);
    }
    return st;
}
dnnl_tp_status_t bd_side_upload(bd_side_t *s) { return transfer_all(s, true); }
dnnl_tp_status_t bd_side_download(bd_side_t *s) { return transfer_all(s, false); }

dnnl_tp_status_t bd_side_alloc(bd_side_t *s) {
    const bd_prb_t *p = s->prb;
    dnnl_tp_status_t st;
    for (int i = 0; i < p->nt; ++i) {
        if (p->t[i].alias < 0) {
            s->raw[i] = guarded(s->lay[i].bytes);
            s->data[i] = s->raw[i] + GUARD;
        }
    }
    for (int i = 0; i < p->nt; ++i) {
        if (p->t[i].alias >= 0) s->data[i] = s->data[p->t[i].alias];
        if (bd_is_far(s->api) && p->t[i].alias >= 0) {
            void *handle; /* of the tensor in whose place it is */
            TRY(s->api->memory_get_data_handle(s->mem[p->t[i].alias], &handle));
            TRY(s->api->memory_create(&s->mem[i], bd_side_md(s, i), bd_engine(s->api), handle));
        } else {
            TRY(bd_memory_create(s->api, &s->mem[i], bd_side_md(s, i), s->data[i], s->lay[i].bytes));
        }
        s->args[s->nargs].arg = p->t[i].arg;
        s->args[s->nargs++].memory = s->mem[i];
    }
    if (p->attr.scratchpad_user) {
        const_dnnl_tp_memory_desc_t md =
            s->api->primitive_desc_query_md(s->pd, dnnl_tp_query_scratchpad_md, 0);
        s->scratch_raw = guarded(s->scratch_bytes);
        TRY(bd_memory_create(s->api, &s->scratch, md, s->scratch_raw + GUARD, s->scratch_bytes));
        s->args[s->nargs].arg = DNNL_TP_ARG_SCRATCHPAD;
        s->args[s->nargs++].memory = s->scratch;
    }
    return dnnl_tp_success;
}

/* Between the harness's values and a layout it cannot address: the library's own reorder. */
static dnnl_tp_status_t reorder_values(bd_side_t *s, int i, double *v, bool store) {
    const bd_api_t *api = s->api;
    bd_tensor_t plain = s->prb->t[i];
    dnnl_tp_memory_desc_t md = NULL;
    dnnl_tp_memory_t mem = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t prim = NULL;
    bd_layout_t lay;
    void *buf = NULL;
    plain.tag = "abx";
    plain.strides = NULL;
    plain.rt = 0;
    dnnl_tp_engine_t e = bd_engine(api), he = bd_host_engine(api);
    dnnl_tp_status_t st = bd_md_create(api, &plain, true, &md);
    if (st == dnnl_tp_success) st = bd_layout(api, md, &lay);
    if (st == dnnl_tp_success) {
        buf = bd_alloc(lay.bytes, 64);
        if (store) bd_store(&lay, buf, v);
        st = api->memory_create(&mem, md, he, buf);
    }
    const_dnnl_tp_memory_desc_t there = bd_side_md(s, i);
    if (st == dnnl_tp_success)
        st = api->reorder_primitive_desc_create(&pd, store ? md : there, store ? he : e, store ? there : md,
                                                store ? e : he, NULL);
    if (st == dnnl_tp_success) st = api->primitive_create(&prim, pd);
    if (st == dnnl_tp_success) {
        dnnl_tp_exec_arg_t a[2] = {{DNNL_TP_ARG_FROM, store ? mem : s->mem[i]},
                                   {DNNL_TP_ARG_TO, store ? s->mem[i] : mem}};
        st = api->primitive_execute(prim, bd_stream(api, 0), 2, a);
        if (st == dnnl_tp_success) st = api->stream_wait(bd_stream(api, 0));
    }
    if (st == dnnl_tp_success && !store) bd_load(&lay, buf, v);
    if (st == dnnl_tp_success && store && bd_is_far(api))
        st = transfer(api, s->mem[i], s->data[i], s->lay[i].bytes, false);
    if (prim) api->primitive_destroy(prim);
    if (pd) api->primitive_desc_destroy(pd);
    if (mem) api->memory_destroy(mem);
    if (md) api->memory_desc_destroy(md);
    bd_free(buf);
    return st;
}

dnnl_tp_status_t bd_side_store(bd_side_t *s, int i, const double *v) {
    if (!s->lay[i].described || (s->api->is_peer && !s->lay[i].plain)) {
        s->what = "reorder of the harness";
        return reorder_values(s, i, (double *)v, true);
    }
    bd_store(&s->lay[i], s->data[i], v);
    return dnnl_tp_success;
}

dnnl_tp_status_t bd_side_load(bd_side_t *s, int i, double *v) {
    if (!s->lay[i].described || (s->api->is_peer && !s->lay[i].plain)) {
        s->what = "reorder of the harness";
        return reorder_values(s, i, v, false);
    }
    bd_load(&s->lay[i], s->data[i], v);
    return dnnl_tp_success;
}

dnnl_tp_status_t bd_side_execute(bd_side_t *s, int threads) {
    dnnl_tp_status_t st;
    dnnl_tp_stream_t stream = bd_stream(s->api, threads);
    TRY(bd_side_upload(s));
    TRY(s->api->primitive_execute(s->prim, stream, s->nargs, s->args));
    TRY(s->api->stream_wait(stream));
    return bd_side_download(s);
}

static bool guard_ok(const char *raw, size_t bytes) {
    UNPOISON(raw, (size_t)GUARD);
    UNPOISON(raw + GUARD + bytes, (size_t)GUARD);
    for (int k = 0; k < GUARD_CHECKED; ++k)
        if ((unsigned char)raw[GUARD - 1 - k] != BD_FILL_BYTE ||
            (unsigned char)raw[GUARD + bytes + (size_t)k] != BD_FILL_BYTE)
            return false;
    return true;
}

const char *bd_side_violation(const bd_side_t *s, int i) {
    const bd_tensor_t *t = &s->prb->t[i];
    if (s->raw[i] && !guard_ok(s->raw[i], s->lay[i].bytes)) return "written outside the buffer";
    if (s->scratch_raw && !guard_ok(s->scratch_raw, s->scratch_bytes))
        return "written outside the scratchpad";
    if (!(t->io & BD_OUT)) return NULL;
    if (bd_bad_padding(&s->lay[i], s->data[i])) return "padding is not zero";
    if (t->alias < 0 && bd_touched_gaps(&s->lay[i], s->data[i], BD_FILL_BYTE))
        return "written between the elements";
    return NULL;
}

void bd_side_destroy(bd_side_t *s) {
    const bd_api_t *api = s->api;
    if (!api) return;
    for (int i = 0; i < BD_MAX_TENSORS; ++i) {
        if (s->mem[i]) api->memory_destroy(s->mem[i]);
        if (s->md[i]) api->memory_desc_destroy(s->md[i]);
        if (s->own[i]) api->memory_desc_destroy(s->own[i]);
        guarded_free(s->raw[i], s->lay[i].bytes);
    }
    if (s->scratch) api->memory_destroy(s->scratch);
    guarded_free(s->scratch_raw, s->scratch_bytes);
    if (s->prim) api->primitive_destroy(s->prim);
    if (s->pd) api->primitive_desc_destroy(s->pd);
    if (s->attr) api->primitive_attr_destroy(s->attr);
    memset(s, 0, sizeof *s);
}

dnnl_tp_status_t bd_create_once(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_memory_desc_t *md,
                                dnnl_tp_primitive_attr_t attr) {
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t prim = NULL;
    dnnl_tp_status_t st = p->drv->create_pd(p, api, bd_engine(api), md, attr, &pd);
    if (st == dnnl_tp_success) st = api->primitive_create(&prim, pd);
    if (prim) api->primitive_destroy(prim);
    if (pd) api->primitive_desc_destroy(pd);
    return st;
}
