/* Landing pads: a producer outside a branch pays one arrival for all its consumers inside.
 *
 * The pad waits for the producer and for the branch's entry token and then fans out, to further pads in
 * branches inside. A branch that is not chosen thus costs the producer one decrement, and its own counters
 * are not even set. A single consumer is its own pad. */
#include <stdlib.h>

#include "exec/dataflow/build/build.h"

typedef struct {
    int32_t preorder, token;
} consumer_t;

typedef struct {
    dtp_fb_t *b;
    int32_t *pre, *size; /* of blocks: subtree of k = [pre, pre + size) */
} pads_t;

static int by_preorder(const void *x, const void *y) {
    const consumer_t *a = x, *c = y;
    if (a->preorder != c->preorder) return a->preorder < c->preorder ? -1 : 1;
    return a->token < c->token ? -1 : a->token > c->token;
}

static void direct(dtp_fb_t *b, int32_t later, int32_t earlier, int32_t armed) {
    dtp_fb_dep(b, later, earlier);
    if (b->status == dnnl_tp_success && b->blk[armed].depth < b->blk[b->tok[later].armed].depth)
        b->tok[later].armed = armed;
}

/* Hands `earlier`, made in block `at`, to c[0..n), all further in. */
static void place(const pads_t *p, int32_t earlier, int32_t at, const consumer_t *c, int n) {
    dtp_fb_t *b = p->b;
    for (int i = 0, end; i < n && b->status == dnnl_tp_success; i = end) {
        int32_t child = b->tok[c[i].token].block;
        while (b->blk[child].up != at) child = b->blk[child].up;
        for (end = i + 1; end < n && c[end].preorder < p->pre[child] + p->size[child]; ++end)
            ;
        if (end == i + 1) {
            direct(b, c[i].token, earlier, at);
            continue;
        }
        /* The innermost block around all of them. */
        int32_t inner = b->tok[c[i].token].block;
        while (c[end - 1].preorder >= p->pre[inner] + p->size[inner]) inner = b->blk[inner].up;
        int32_t pad = dtp_fb_token(b, DTP_FT_PAD, inner);
        if (pad < 0) return;
        direct(b, pad, earlier, at);
        int in = i;
        for (; in < end; ++in) {
            double rank = b->tok[c[in].token].rank;
            if (rank > b->tok[pad].rank) b->tok[pad].rank = rank;
        }
        for (in = i; in < end && b->tok[c[in].token].block == inner; ++in) dtp_fb_dep(b, c[in].token, pad);
        place(p, pad, inner, c + in, end - in);
    }
}

dnnl_tp_status_t dtp_dataflow_pads(dtp_fb_t *b) {
    pads_t p = {.b = b};
    p.pre = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *p.pre);
    p.size = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *p.size);
    int32_t *cursor = dtp_fb_alloc(b, (size_t)b->nblk, sizeof *cursor);
    if (!p.pre || !p.size || !cursor) return dnnl_tp_out_of_memory;
    for (int k = b->nblk - 1; k >= 0; --k) {
        ++p.size[k];
        if (b->blk[k].up >= 0) p.size[b->blk[k].up] += p.size[k]; /* blocks around have lower numbers */
    }
    int32_t roots = 0;
    for (int k = 0; k < b->nblk; ++k) {
        int32_t *from = b->blk[k].up >= 0 ? &cursor[b->blk[k].up] : &roots;
        p.pre[k] = *from;
        *from += p.size[k];
        cursor[k] = p.pre[k] + 1;
    }
    int nout = 0, kept = 0, most = 0;
    dtp_fdep_t *out = dtp_fb_alloc(b, (size_t)b->ndep, sizeof *out);
    if (!out) return dnnl_tp_out_of_memory;
    for (int i = 0; i < b->ndep; ++i) {
        if (b->tok[b->dep[i].later].block == b->tok[b->dep[i].earlier].block) b->dep[kept++] = b->dep[i];
        else out[nout++] = b->dep[i];
    }
    b->ndep = kept;
    if (!nout) return dnnl_tp_success;
    dtp_fcsr_t in;
    int n = b->ntok;
    if (!dtp_fb_csr(b, &in, n, out, nout, false)) return dnnl_tp_out_of_memory;
    for (int t = 0; t < n; ++t) most = (int)dtp_max64(most, in.at[t + 1] - in.at[t]);
    consumer_t *c = dtp_fb_alloc(b, (size_t)most, sizeof *c);
    if (!c) return dnnl_tp_out_of_memory;
    for (int t = 0; t < n && b->status == dnnl_tp_success; ++t) {
        int k = 0;
        for (int i = in.at[t]; i < in.at[t + 1]; ++i)
            c[k++] = (consumer_t){p.pre[b->tok[in.to[i]].block], in.to[i]};
        if (k > 1) qsort(c, (size_t)k, sizeof *c, by_preorder);
        place(&p, t, b->tok[t].block, c, k);
    }
    return b->status;
}
