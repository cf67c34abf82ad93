/* The tensors of a run: all are there, and no output overlaps an input or another output. Inputs may overlap. */
#include "common/base/sort.h"
#include "exec/run/run.h"

typedef struct {
    uintptr_t begin, end;
    int index;
} extent_t;

enum { FEW_PAIRS = 64, ON_STACK = 128 };

static dnnl_tp_status_t check_pointers(const size_t *bytes, int want, int n, void *const *p,
                                       const char *what) {
    DTP_REQUIRE(n == want, BAD_COUNT, "%d %ss given, the graph has %d", n, what, want);
    DTP_REQUIRE(n == 0 || p, NULL_ARG, "%ss are NULL", what);
    for (int i = 0; i < n; ++i) DTP_REQUIRE(p[i] || !bytes[i], NULL_ARG, "%s %d is NULL", what, i);
    return dnnl_tp_success;
}

static inline bool overlap(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

static __attribute__((cold)) dnnl_tp_status_t refuse(int out, const char *what, int other) {
    DTP_REQUIRE(false, ALIAS, "output %d overlaps %s %d", out, what, other);
    return dnnl_tp_success;
}

static int by_begin(const void *a, const void *b) {
    const extent_t *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Outputs by address: then neighbours are compared, and each input with those around it. */
static dnnl_tp_status_t check_many(const dtp_exec_t *e, void *const *in, void *const *out, extent_t *sorted) {
    int n = 0;
    for (int i = 0; i < e->nout; ++i) {
        if (!e->out_bytes[i]) continue;
        sorted[n] = (extent_t){(uintptr_t)out[i], (uintptr_t)out[i] + e->out_bytes[i], i};
        ++n;
    }
    dtp_sort(sorted, (size_t)n, sizeof *sorted, by_begin); /* usually one array, in order already */
    for (int i = 1; i < n; ++i)
        if (sorted[i].begin < sorted[i - 1].end)
            return refuse(sorted[i - 1].index, "output", sorted[i].index);
    for (int i = 0; i < e->nin; ++i) {
        if (!e->in_bytes[i]) continue;
        uintptr_t begin = (uintptr_t)in[i];
        int low = 0, high = n; /* the first output that ends behind begin */
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle].end <= begin) low = middle + 1;
            else high = middle;
        }
        if (low < n && sorted[low].begin < begin + e->in_bytes[i])
            return refuse(sorted[low].index, "input", i);
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_overlaps(dtp_exec_t *e, void *const *in, void *const *out) {
    if ((int64_t)e->nout * (e->nin + e->nout) <= FEW_PAIRS) {
        for (int i = 0; i < e->nout; ++i) {
            const uintptr_t begin = (uintptr_t)out[i];
            const size_t bytes = e->out_bytes[i];
            if (!bytes) continue;
            for (int k = 0; k < e->nin; ++k)
                if (DTP_UNLIKELY(overlap(begin, bytes, (uintptr_t)in[k], e->in_bytes[k])) && e->in_bytes[k])
                    return refuse(i, "input", k);
            for (int k = i + 1; k < e->nout; ++k)
                if (DTP_UNLIKELY(overlap(begin, bytes, (uintptr_t)out[k], e->out_bytes[k])) &&
                    e->out_bytes[k])
                    return refuse(i, "output", k);
        }
        return dnnl_tp_success;
    }
    extent_t few[ON_STACK];
    if (e->nout <= ON_STACK) return check_many(e, in, out, few);
    /* Kept, so that runs one after another allocate nothing. */
    size_t bytes = sizeof(extent_t) * (size_t)e->nout;
    void *extents = atomic_exchange_explicit(&e->extents, NULL, memory_order_acquire);
    if (!extents) extents = dtp_alloc(e->obj.allocator, bytes, DTP_CACHE_LINE);
    if (!extents) return dtp_no_memory(bytes);
    dnnl_tp_status_t status = check_many(e, in, out, extents);
    dtp_free(e->obj.allocator, atomic_exchange_explicit(&e->extents, extents, memory_order_acq_rel));
    return status;
}

static __attribute__((cold, noinline)) dnnl_tp_status_t check_values(const dtp_exec_t *e, void *const *in) {
    if (!dtp_engine_can(e->engine, DTP_ENGINE_HOST_READABLE)) return dnnl_tp_success;
    for (int i = 0; i < e->nvalues_in; ++i) {
        const dtp_exec_value_t *v = &e->values_in[i];
        DTP_REQUIRE(!in[v->input] || !memcmp(in[v->input], v->data, v->bytes), BAD_PARAM,
                    "input %d has other values than the graph was compiled for", v->input);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_run_check_args(dtp_exec_t *e, int nin, void *const *in, int nout, void *const *out) {
    DTP_TRY(check_pointers(e->in_bytes, e->nin, nin, in, "input"));
    DTP_TRY(check_pointers(e->out_bytes, e->nout, nout, out, "output"));
    if (DTP_UNLIKELY(e->nvalues_in)) DTP_TRY(check_values(e, in));
    return check_overlaps(e, in, out);
}
