/* Cutting ranges of tensors into boxes with linear addresses. */
#include "cpu/elementwise/boxes.h"

/* Levels of one dim: sizes in falling order, the last is 1. The top level repeats without bound, level i
 * repeats size[i-1] / size[i] times. */
#define MAX_LEVELS 6
typedef struct {
    int n;
    int64_t size[MAX_LEVELS];
    int64_t stride[MAX_LEVELS][DTP_BOXES_OPS];
} levels_t;

/* A run inside a dim: `count` steps of level `level` from position `at`. */
typedef struct {
    int64_t at, count;
    int level;
} run_t;
#define MAX_RUNS 8

/* Own block sizes of dim d in md, falling, with the stride of one step; returns their number. */
static int own_levels(const dtp_md_t *md, int d, int64_t *size, int64_t *stride) {
    int64_t block = 1, inner = 1;
    int n = 0;
    /* From the innermost block outwards, filled backwards below. */
    int64_t s[DNNL_TP_MAX_NDIMS + 1], st[DNNL_TP_MAX_NDIMS + 1];
    for (int b = md->inner_nblks - 1; b >= 0; --b) {
        if (md->inner_idxs[b] == d) {
            s[n] = block;
            st[n++] = inner;
            block *= md->inner_blks[b];
        }
        inner *= md->inner_blks[b];
    }
    size[0] = block;
    stride[0] = md->strides[d];
    for (int i = 0; i < n; ++i) {
        size[i + 1] = s[n - 1 - i];
        stride[i + 1] = st[n - 1 - i];
    }
    return n + 1;
}

static bool add_level(levels_t *l, int64_t size) {
    int i = 0;
    while (i < l->n && l->size[i] > size) ++i;
    if (i < l->n && l->size[i] == size) return true;
    if (l->n == MAX_LEVELS) return false;
    for (int k = l->n; k > i; --k) l->size[k] = l->size[k - 1];
    l->size[i] = size;
    ++l->n;
    return true;
}

/* The common refinement of all operands' blocks in dim d. */
static bool common_levels(levels_t *l, int d, const int64_t *full, int nops, const dtp_md_t *const *md) {
    l->n = 0;
    add_level(l, 1);
    for (int o = 0; o < nops; ++o) {
        if (md[o]->inner_nblks == 0) continue;
        if (md[o]->dims[d] == 1 && full[d] != 1) continue;
        int64_t size[DNNL_TP_MAX_NDIMS + 1], stride[DNNL_TP_MAX_NDIMS + 1];
        int n = own_levels(md[o], d, size, stride);
        for (int i = 0; i < n; ++i)
            if (!add_level(l, size[i])) return false;
    }
    for (int i = 1; i < l->n; ++i)
        if (l->size[i - 1] % l->size[i] != 0) return false;
    for (int o = 0; o < nops; ++o) {
        if (md[o]->dims[d] == 1 && full[d] != 1) {
            for (int i = 0; i < l->n; ++i) l->stride[i][o] = 0;
            continue;
        }
        if (md[o]->inner_nblks == 0) {
            for (int i = 0; i < l->n; ++i) l->stride[i][o] = l->size[i] * md[o]->strides[d];
            continue;
        }
        int64_t size[DNNL_TP_MAX_NDIMS + 1], stride[DNNL_TP_MAX_NDIMS + 1];
        own_levels(md[o], d, size, stride);
        for (int i = 0; i < l->n; ++i) {
            int k = 0;
            while (size[k] > l->size[i]) ++k;
            l->stride[i][o] = l->size[i] / size[k] * stride[k];
        }
    }
    return true;
}

/* Cuts [lo, hi) into runs of whole blocks, largest first where alignment allows. */
static int cut_range(const levels_t *l, int64_t lo, int64_t hi, run_t *run) {
    int n = 0;
    for (int64_t p = lo; p < hi;) {
        int i = 0;
        while (p % l->size[i] != 0 || p + l->size[i] > hi) ++i;
        int64_t end = hi;
        if (i > 0) end = dtp_min64(hi, dtp_round_up(p + 1, l->size[i - 1]));
        if (n == MAX_RUNS) return -1;
        run[n++] = (run_t){p, (end - p) / l->size[i], i};
        p += run[n - 1].count * l->size[i];
    }
    return n;
}

/* Appends the loops of one run; false when there is no room. */
static bool push_run(dtp_box_t *box, const levels_t *l, const run_t *run, int nops) {
    int64_t p = run->at;
    for (int i = 0; i < l->n; ++i) {
        int64_t digit = p / l->size[i];
        p -= digit * l->size[i];
        for (int o = 0; o < nops; ++o) box->off[o] += digit * l->stride[i][o];
    }
    for (int i = run->level; i < l->n; ++i) {
        int64_t n = i == run->level ? run->count : l->size[i - 1] / l->size[i];
        if (n == 1) continue;
        if (box->nd == DTP_BOXES_DIMS) return false;
        box->n[box->nd] = n;
        for (int o = 0; o < nops; ++o) box->s[box->nd][o] = l->stride[i][o];
        ++box->nd;
    }
    return true;
}

int dtp_boxes_cut(dtp_box_t *box, int capacity, int ndims, const int64_t *full, const int64_t *lo,
                  const int64_t *hi, int nops, const dtp_md_t *const *md) {
    levels_t level[DNNL_TP_MAX_NDIMS];
    run_t run[DNNL_TP_MAX_NDIMS][MAX_RUNS];
    int nrun[DNNL_TP_MAX_NDIMS], pick[DNNL_TP_MAX_NDIMS] = {0};
    for (int d = 0; d < ndims; ++d)
        if (lo[d] >= hi[d]) return 0;
    for (int d = 0; d < ndims; ++d) {
        if (!common_levels(&level[d], d, full, nops, md)) return -1;
        nrun[d] = cut_range(&level[d], lo[d], hi[d], run[d]);
        if (nrun[d] < 0) return -1;
    }
    int n = 0;
    for (;;) {
        if (n == capacity) return -1;
        dtp_box_t *b = &box[n++];
        b->nd = 0;
        for (int o = 0; o < nops; ++o) b->off[o] = md[o]->offset0;
        for (int d = 0; d < ndims; ++d)
            if (!push_run(b, &level[d], &run[d][pick[d]], nops)) return -1;
        int d = ndims - 1;
        while (d >= 0 && ++pick[d] == nrun[d]) pick[d--] = 0;
        if (d < 0) return n;
    }
}

int dtp_boxes_cut_all(dtp_box_t *box, int ndims, const int64_t *full, int nops, const dtp_md_t *const *md) {
    static const dnnl_tp_dims_t zero;
    return dtp_boxes_cut(box, DTP_BOXES_MAX, ndims, full, zero, full, nops, md);
}

int dtp_boxes_cut_padding(dtp_box_t *box, int capacity, const dtp_md_t *md, int skip) {
    dnnl_tp_dims_t lo = {0}, hi;
    int n = 0;
    memcpy(hi, md->padded_dims, sizeof(hi));
    /* Disjoint boxes: box d lies in the padding of dim d and in the logical part of the dims before it; the
     * skipped dim counts as the last one. */
    for (int d = 0; d < md->ndims; ++d) {
        if (d == skip) continue;
        lo[d] = md->dims[d];
        hi[d] = md->padded_dims[d];
        int k = dtp_boxes_cut(box + n, capacity - n, md->ndims, md->dims, lo, hi, 1, &md);
        if (k < 0) return -1;
        n += k;
        lo[d] = 0;
        hi[d] = md->dims[d];
    }
    return n;
}

static void fuse(dtp_box_t *box, int nops) {
    int nd = 0;
    for (int d = 0; d < box->nd; ++d) {
        bool fits = nd > 0;
        for (int o = 0; fits && o < nops; ++o) fits = box->s[nd - 1][o] == box->n[d] * box->s[d][o];
        if (fits) --nd, box->n[nd] *= box->n[d];
        else box->n[nd] = box->n[d];
        for (int o = 0; o < nops; ++o) box->s[nd][o] = box->s[d][o];
        ++nd;
    }
    box->nd = nd;
}

void dtp_boxes_move(dtp_box_t *box, int nops, int d, int to) {
    int64_t n = box->n[d], s[DTP_BOXES_OPS];
    int step = d < to ? 1 : -1;
    for (int o = 0; o < nops; ++o) s[o] = box->s[d][o];
    for (; d != to; d += step) {
        box->n[d] = box->n[d + step];
        for (int o = 0; o < nops; ++o) box->s[d][o] = box->s[d + step][o];
    }
    box->n[to] = n;
    for (int o = 0; o < nops; ++o) box->s[to][o] = s[o];
}

/* Loop a belongs outside of loop b. */
static bool outside(const int64_t *a, const int64_t *b, int nops, int lead) {
    if (a[lead] != b[lead]) return a[lead] > b[lead];
    for (int o = 0; o < nops; ++o)
        if (a[o] != b[o]) return a[o] > b[o];
    return false;
}

void dtp_boxes_order(dtp_box_t *box, int nops, int lead) {
    for (int i = 1; i < box->nd; ++i) {
        int to = i;
        while (to > 0 && outside(box->s[i], box->s[to - 1], nops, lead)) --to;
        if (to != i) dtp_boxes_move(box, nops, i, to);
    }
    fuse(box, nops);
}

int64_t dtp_boxes_count(const dtp_box_t *box, int first, int last) {
    int64_t n = 1;
    for (int d = first; d < last; ++d) n *= box->n[d];
    return n;
}

void dtp_boxes_layout_like(dtp_md_t *md, const dtp_md_t *like) {
    int order[DNNL_TP_MAX_NDIMS];
    md->format_kind = dnnl_tp_blocked;
    md->inner_nblks = like->inner_nblks;
    memcpy(md->inner_blks, like->inner_blks, sizeof md->inner_blks);
    memcpy(md->inner_idxs, like->inner_idxs, sizeof md->inner_idxs);
    int64_t stride = 1;
    for (int b = 0; b < like->inner_nblks; ++b) stride *= like->inner_blks[b];
    for (int d = 0; d < md->ndims; ++d) {
        md->padded_dims[d] = dtp_round_up(md->dims[d], dtp_md_block_of(like, d));
        /* By falling stride; among equal ones a dim of size 1 goes first, then the lower index. */
        int at = d;
        for (; at > 0; --at) {
            const int e = order[at - 1];
            if (like->strides[e] > like->strides[d]) break;
            if (like->strides[e] == like->strides[d] && (like->dims[e] == 1 || like->dims[d] != 1)) break;
            order[at] = e;
        }
        order[at] = d;
    }
    for (int i = md->ndims - 1; i >= 0; --i) {
        const int d = order[i];
        md->strides[d] = stride;
        const int64_t n = md->padded_dims[d] / dtp_md_block_of(like, d);
        stride *= n > 0 ? n : 1;
    }
}
