/* Clusters: small nodes merged into lists that run without counters.
 *
 * A cluster is a run of neighbours, in the order in which one thread would execute the whole region, that are
 * plain small nodes of one block. Every path between two members passes through tokens between them in that
 * order, hence through members: the cluster is convex, with Ifs, Whiles, variables and outputs counted. It
 * waits for all its members' predecessors, and its edges are its members' edges, sorted as those of any node.
 */
#include "exec/dataflow/build/build.h"

enum {
    SMALL_NS = 50,     /* dearer nodes gain nothing: their own counters cost a tenth of that */
    CLUSTER_NS = 1000, /* a cluster must not become what others wait for */
    MAX_MEMBERS = 1024,
    MAX_FAN_IN = 200
};

static bool may_join(const dtp_ftok_t *k) {
    return k->kind == DTP_FT_NODE && !(k->flags & (DTP_DATAFLOW_COSTLY | DTP_DATAFLOW_SIDE_EFFECT)) &&
           k->ns < SMALL_NS;
}

/* order: all tokens with nodes, region by region, as one thread runs them. Members' dependencies become those
 * of the cluster's first member, `rep`. */
dnnl_tp_status_t dtp_dataflow_clusters(dtp_fb_t *b, const int32_t *order, int n, bool *changed) {
    *changed = false;
    for (int i = 1; i < n; ++i) *changed |= may_join(&b->tok[order[i - 1]]) && may_join(&b->tok[order[i]]);
    if (!*changed) return dnnl_tp_success;
    int32_t *rep = dtp_fb_alloc(b, (size_t)b->ntok, sizeof *rep);
    int32_t *mark = dtp_fb_alloc(b, (size_t)b->ntok, sizeof *mark);
    if (!rep || !mark) return dnnl_tp_out_of_memory;
    for (int t = 0; t < b->ntok; ++t) rep[t] = t;
    dtp_fcsr_t pred;
    if (!dtp_fb_csr(b, &pred, b->ntok, b->dep, b->ndep, true)) return dnnl_tp_out_of_memory;
    for (int i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!may_join(&b->tok[order[i]])) continue;
        dtp_ftok_t *first = &b->tok[order[i]];
        double ns = first->ns;
        int outside = pred.at[order[i] + 1] - pred.at[order[i]];
        for (; end < n && end - i < MAX_MEMBERS; ++end) {
            int32_t t = order[end];
            const dtp_ftok_t *k = &b->tok[t];
            if (!may_join(k) || k->block != first->block || ns + k->ns > CLUSTER_NS) break;
            for (int d = pred.at[t]; d < pred.at[t + 1]; ++d) outside += rep[pred.to[d]] != order[i];
            if (outside > MAX_FAN_IN) break;
            ns += k->ns;
            rep[t] = order[i];
        }
        if (end - i < 2) continue;
        for (int j = i + 1; j < end; ++j) {
            dtp_ftok_t *k = &b->tok[order[j]];
            b->tok[order[j - 1]].member = order[j] + 1;
            if (b->blk[k->armed].depth < b->blk[first->armed].depth) first->armed = k->armed;
            if (k->rank > first->rank) first->rank = k->rank;
            k->kind = DTP_FT_GONE;
        }
        first->cluster = true;
        first->ns = ns;
    }
    for (int t = 0; t < b->ntok; ++t) {
        if (b->tok[t].kind != DTP_FT_OUT) continue;
        b->tok[t].a = rep[b->tok[t].a];
        b->tok[t].b = rep[b->tok[t].b];
    }
    for (int i = 0; i < b->nnext; ++i) b->next[i].token = rep[b->next[i].token];
    for (int i = 0; i < b->ndep; ++i) b->dep[i] = (dtp_fdep_t){rep[b->dep[i].later], rep[b->dep[i].earlier]};
    if (!dtp_fb_csr(b, &pred, b->ntok, b->dep, b->ndep, true)) return dnnl_tp_out_of_memory;
    int kept = 0;
    for (int t = 0; t < b->ntok; ++t) {
        mark[t] = t + 1; /* inside */
        for (int i = pred.at[t]; i < pred.at[t + 1]; ++i) {
            if (mark[pred.to[i]] == t + 1) continue;
            mark[pred.to[i]] = t + 1;
            b->dep[kept++] = (dtp_fdep_t){t, pred.to[i]};
        }
    }
    b->ndep = kept;
    return b->status;
}
