/* Descriptors from layout strings, and element access in any blocked layout. */
#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "common/values.h"

/* ---- descriptors ------------------------------------------------------------------------------------- */

/* Enumerator of a tag in this library (a peer of another version may number them differently). */
static int tag_number(const bd_api_t *api, const char *name) {
    enum { LAST_TAG = 1200 };
    static char *names[2][LAST_TAG];
    int side = api->is_peer;
    for (int i = 2; i < LAST_TAG; ++i) {
        if (!names[side][i]) {
            const char *s = api->fmt_tag2str((dnnl_tp_format_tag_t)i);
            names[side][i] = strdup(s ? s : "?");
        }
        if (!strcmp(names[side][i], name)) return i;
        if (!strncmp(names[side][i], "unknown", 7)) break;
    }
    return -1;
}

bool bd_tag_enumerator(const char *tag) {
    char letters[2 * BD_TAG];
    if (bd_tag_is(tag, "any") || bd_tag_is(tag, "undef")) return true;
    for (int nd = 1; nd <= BD_MAX_NDIMS; ++nd) {
        bd_tag_expand(tag, nd, letters, sizeof letters);
        if (*letters && tag_number(&bd_ours, letters) >= 0) return true;
    }
    return false;
}

dnnl_tp_status_t bd_md_create(const bd_api_t *api, const bd_tensor_t *t, bool concrete,
                              dnnl_tp_memory_desc_t *md) {
    dnnl_tp_dims_t d, s;
    int nd = t->nd;
    *md = NULL;
    for (int i = 0; i < nd; ++i) d[i] = !concrete && t->rt >> i & 1 ? DNNL_TP_RUNTIME_DIM_VAL : t->d[i];
    dnnl_tp_data_type_t dt = (dnnl_tp_data_type_t)t->dt;
    if (t->strides) {
        for (int i = 0; i < nd; ++i) s[i] = t->rt && !concrete ? DNNL_TP_RUNTIME_DIM_VAL : t->strides[i];
        return api->memory_desc_create_with_strides(md, nd, d, dt, s);
    }
    char tag[2 * BD_TAG] = "";
    bd_tag_expand(t->tag ? t->tag : "abx", nd, tag, sizeof tag);
    if (bd_tag_is(tag, "any")) return api->memory_desc_create_with_tag(md, nd, d, dt, dnnl_tp_format_tag_any);
    bd_tag_t dec;
    if (bd_tag_decode(tag, &dec) || dec.n != nd) return dnnl_tp_invalid_arguments;
    int number = tag_number(api, tag);
    if (number >= 0) return api->memory_desc_create_with_tag(md, nd, d, dt, (dnnl_tp_format_tag_t)number);
    if (dec.nblk || (t->rt && !concrete)) return dnnl_tp_unimplemented;
    int64_t at = 1;
    for (int i = nd - 1; i >= 0; --i) {
        s[dec.order[i]] = at;
        at *= d[dec.order[i]] > 0 ? d[dec.order[i]] : 1;
    }
    return api->memory_desc_create_with_strides(md, nd, d, dt, s);
}

#define QUERY(what, out)                                                              \
    do {                                                                              \
        dnnl_tp_status_t st_ = api->memory_desc_query(md, dnnl_tp_query_##what, out); \
        if (st_ != dnnl_tp_success) return st_;                                       \
    } while (0)

dnnl_tp_status_t bd_layout(const bd_api_t *api, const_dnnl_tp_memory_desc_t md, bd_layout_t *l) {
    const dnnl_tp_dims_t *p = NULL;
    dnnl_tp_data_type_t dt = dnnl_tp_data_type_undef;
    dnnl_tp_format_kind_t kind = dnnl_tp_format_kind_undef;
    memset(l, 0, sizeof *l);
    QUERY(ndims_s32, &l->nd);
    l->bytes = api->memory_desc_get_size(md);
    if (!l->nd) return dnnl_tp_success;
    QUERY(data_type, &dt);
    QUERY(format_kind, &kind);
    l->dt = dt;
    QUERY(dims, &p);
    memcpy(l->d, *p, (size_t)l->nd * sizeof **p);
    QUERY(padded_dims, &p);
    memcpy(l->padded, *p, (size_t)l->nd * sizeof **p);
    QUERY(submemory_offset_s64, &l->offset0);
    if (kind != dnnl_tp_blocked) return dnnl_tp_success;
    QUERY(strides, &p);
    memcpy(l->stride, *p, (size_t)l->nd * sizeof **p);
    QUERY(inner_nblks_s32, &l->nblk);
    l->plain = !l->nblk;
    if (l->nblk) {
        QUERY(inner_blks, &p);
        memcpy(l->blk, *p, (size_t)l->nblk * sizeof **p);
        QUERY(inner_idxs, &p);
        memcpy(l->idx, *p, (size_t)l->nblk * sizeof **p);
    }
    int64_t need = 1, inner = 1;
    bool empty = false;
    int64_t per[BD_MAX_NDIMS];
    for (int i = 0; i < l->nd; ++i) per[i] = 1, empty |= !l->d[i];
    for (int b = 0; b < l->nblk; ++b) per[l->idx[b]] *= l->blk[b], inner *= l->blk[b];
    /* The size is the largest extent of a dimension (oneDNN), or reaches to the last element (ours). */
    int64_t span = inner;
    for (int i = 0; i < l->nd; ++i) {
        int64_t n = l->padded[i] / per[i], ext = n > 1 ? n * l->stride[i] : 1;
        if (ext > need) need = ext;
        span += n > 1 ? (n - 1) * l->stride[i] : 0;
    }
    if (inner > need) need = inner;
    size_t es = dnnl_tp_data_type_size(dt);
    l->described = empty || l->bytes == (size_t)need * es || l->bytes == (size_t)span * es;
    return dnnl_tp_success;
}

/* ---- walking ----------------------------------------------------------------------------------------- */
static int64_t offset_of(const bd_layout_t *l, const int64_t *pos) {
    int64_t at = l->offset0, in = 0, rest[BD_MAX_NDIMS], mul = 1;
    if (l->plain) {
        for (int i = 0; i < l->nd; ++i) at += pos[i] * l->stride[i];
        return at;
    }
    memcpy(rest, pos, (size_t)l->nd * sizeof *rest);
    for (int b = l->nblk - 1; b >= 0; --b) { /* the last block is the fastest */
        in += rest[l->idx[b]] % l->blk[b] * mul;
        rest[l->idx[b]] /= l->blk[b];
        mul *= l->blk[b];
    }
    for (int i = 0; i < l->nd; ++i) at += rest[i] * l->stride[i];
    return at + in;
}

static bool next_pos(int nd, const int64_t *d, int64_t *pos) {
    for (int i = nd - 1; i >= 0; --i) {
        if (++pos[i] < d[i]) return true;
        pos[i] = 0;
    }
    return false;
}

static bool is_empty(const bd_layout_t *l) {
    for (int i = 0; i < l->nd; ++i)
        if (!l->d[i]) return true;
    return !l->nd;
}

/* Where the rows of the last dimension lie: an offset is the sum of what each position adds, also in blocks. */
typedef struct {
    const bd_layout_t *l;
    int64_t pos[BD_MAX_NDIMS];
    int64_t *step, *steps; /* of position i of the last dimension; step NULL: i. The caller frees steps */
    size_t elem;           /* bytes */
} rows_t;

static void rows_start(rows_t *r, const bd_layout_t *l) {
    int64_t pos[BD_MAX_NDIMS] = {0}, n = l->d[l->nd - 1], zero = offset_of(l, pos);
    memset(r, 0, sizeof *r);
    r->l = l;
    r->elem = dnnl_tp_data_type_size((dnnl_tp_data_type_t)l->dt);
    r->steps = bd_alloc((size_t)n * sizeof *r->steps, 64);
    for (int64_t i = 0; i < n; ++i) {
        pos[l->nd - 1] = i;
        r->steps[i] = offset_of(l, pos) - zero;
        if (r->steps[i] != i) r->step = r->steps;
    }
}
static void *rows_at(const rows_t *r, const void *mem) {
    return (char *)mem + offset_of(r->l, r->pos) * (int64_t)r->elem;
}
static bool rows_next(rows_t *r) { return next_pos(r->l->nd - 1, r->l->d, r->pos); }

void bd_store(const bd_layout_t *l, void *mem, const double *v) {
    rows_t r;
    if (is_empty(l)) return;
    if (!l->plain) memset(mem, 0, l->bytes); /* padding is zero by contract */
    rows_start(&r, l);
    int64_t n = l->d[l->nd - 1];
    do {
        bd_put_row(l->dt, rows_at(&r, mem), r.step, n, v);
        v += n;
    } while (rows_next(&r));
    bd_free(r.steps);
}

void bd_load(const bd_layout_t *l, const void *mem, double *v) {
    rows_t r;
    if (is_empty(l)) return;
    rows_start(&r, l);
    int64_t n = l->d[l->nd - 1];
    do {
        bd_get_row(l->dt, rows_at(&r, mem), r.step, n, v);
        v += n;
    } while (rows_next(&r));
    bd_free(r.steps);
}

bool bd_differs(const bd_layout_t *l, const void *mem, const double *v) {
    rows_t r;
    bool differs = false;
    if (is_empty(l)) return false;
    rows_start(&r, l);
    int64_t n = l->d[l->nd - 1];
    double *row = bd_alloc((size_t)n * sizeof *row, 64);
    do {
        bd_get_row(l->dt, rows_at(&r, mem), r.step, n, row);
        for (int64_t i = 0; i < n; ++i) differs |= row[i] != v[i] && (row[i] == row[i] || v[i] == v[i]);
        v += n;
    } while (!differs && rows_next(&r));
    bd_free(row);
    bd_free(r.steps);
    return differs;
}

bool bd_overlaps(const bd_layout_t *l) {
    for (int i = 0; i < l->nd; ++i)
        if (l->plain && l->d[i] > 1 && !l->stride[i]) return true;
    return false;
}

int64_t bd_bad_padding(const bd_layout_t *l, const void *mem) {
    int64_t pos[BD_MAX_NDIMS] = {0}, bad = 0;
    if (l->plain || is_empty(l) || !l->described) return 0;
    do {
        bool inside = true;
        for (int i = 0; i < l->nd; ++i) inside &= pos[i] < l->d[i];
        if (!inside && bd_get(l->dt, mem, offset_of(l, pos)) != 0) ++bad;
    } while (next_pos(l->nd, l->padded, pos));
    return bad;
}

int64_t bd_touched_gaps(const bd_layout_t *l, const void *mem, unsigned char fill) {
    if (is_empty(l) || !l->described || l->bytes > (size_t)64 << 20) return 0;
    size_t es = dnnl_tp_data_type_size((dnnl_tp_data_type_t)l->dt);
    size_t n = (size_t)l->bytes / es;
    int64_t total = 1, bad = 0, pos[BD_MAX_NDIMS] = {0};
    for (int i = 0; i < l->nd; ++i) total *= l->padded[i];
    if ((size_t)total >= n) return 0;
    unsigned char *used = calloc(n ? n : 1, 1);
    if (!used) return 0;
    do {
        int64_t at = offset_of(l, pos) - l->offset0;
        if (at >= 0 && (size_t)at < n) used[at] = 1;
    } while (next_pos(l->nd, l->padded, pos));
    for (size_t i = 0; i < n; ++i)
        for (size_t b = 0; !used[i] && b < es; ++b) bad += ((const unsigned char *)mem)[i * es + b] != fill;
    free(used);
    return bad;
}
