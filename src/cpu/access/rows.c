/* Runs of logical elements as f32 or f64; see rows.h. */
#include "cpu/access/rows.h"

#include "common/base/scalar.h"

/* A walk over row-major logical elements in runs that lie evenly in memory. */
typedef struct {
    const dtp_md_t *md;
    int64_t index, n;            /* of elements that are left, this run included */
    int64_t offset, stride, run; /* in elements */
    int64_t row;                 /* elements that lie evenly but for blocks: the last dim, or several */
    int64_t in_row;              /* of them from this run on */
    int64_t block;               /* the last dim's only inner block; 0: none, or several */
} walk_t;

/* The run that starts at index. */
static void walk_to(walk_t *w) {
    const dtp_md_t *md = w->md;
    const int last = md->ndims - 1;
    const int64_t col = w->index % w->row;
    w->offset = dtp_md_offset_linear(md, w->index);
    w->in_row = w->row - col;
    w->run = dtp_min64(w->n, w->in_row);
    w->stride = md->strides[last];
    w->block = 0;
    const int64_t block = dtp_md_block_of(md, last);
    if (block == 1) return;
    /* Blocked along the last dim: even inside the innermost of its blocks. */
    int in = md->inner_nblks - 1;
    for (w->stride = 1; md->inner_idxs[in] != last; --in) w->stride *= md->inner_blks[in];
    w->run = dtp_min64(w->run, md->inner_blks[in] - col % md->inner_blks[in]);
    if (block == md->inner_blks[in]) w->block = block;
}

static void walk_begin(walk_t *w, const dtp_md_t *md, int64_t index, int64_t n) {
    int d = md->ndims - 1;
    *w = (walk_t){.md = md, .index = index, .n = n, .row = md->dims[d]};
    if (n <= 0) return;
    if (dtp_md_is_plain(md))
        for (; d > 0 && md->strides[d - 1] == md->dims[d] * md->strides[d]; --d) w->row *= md->dims[d - 1];
    walk_to(w);
}

static void walk_next(walk_t *w) {
    w->index += w->run;
    w->n -= w->run;
    w->in_row -= w->run;
    if (w->n <= 0) return;
    if (w->in_row == 0 || w->block == 0) {
        walk_to(w);
        return;
    }
    /* The first run may have begun inside its block; it ended at the block's end. */
    w->offset += w->md->strides[w->md->ndims - 1] - (w->block - w->run) * w->stride;
    w->run = dtp_min64(w->block, dtp_min64(w->n, w->in_row));
}

void dtp_rows_load(const dtp_vops_t *v, const dtp_md_t *md, const void *base, int64_t index, int64_t n,
                   float *x) {
    const int64_t size = (int64_t)dtp_type_size(md->data_type);
    walk_t w;
    for (walk_begin(&w, md, index, n); w.n > 0; walk_next(&w)) {
        v->load[md->data_type](x, (const char *)base + w.offset * size, w.run, w.stride);
        x += w.run;
    }
}

void dtp_rows_store(const dtp_vops_t *v, const dtp_md_t *md, void *base, int64_t index, int64_t n,
                    const float *x) {
    const int64_t size = (int64_t)dtp_type_size(md->data_type);
    walk_t w;
    for (walk_begin(&w, md, index, n); w.n > 0; walk_next(&w)) {
        v->store[md->data_type]((char *)base + w.offset * size, x, w.run, w.stride);
        x += w.run;
    }
}

void dtp_rows_load_f64(const dtp_vops_t *v, const dtp_md_t *md, const void *base, int64_t index, int64_t n,
                       double *x) {
    enum { CHUNK = 256 };
    float chunk[CHUNK];
    const int64_t size = (int64_t)dtp_type_size(md->data_type);
    walk_t w;
    for (walk_begin(&w, md, index, n); w.n > 0; walk_next(&w)) {
        if (!dtp_dt_fits_f32(md->data_type)) {
            for (int64_t i = 0; i < w.run; ++i) *x++ = dtp_load(md->data_type, base, w.offset + i * w.stride);
            continue;
        }
        for (int64_t at = 0; at < w.run; at += CHUNK) {
            const int64_t take = dtp_min64(CHUNK, w.run - at);
            v->load[md->data_type](chunk, (const char *)base + (w.offset + at * w.stride) * size, take,
                                   w.stride);
            for (int64_t i = 0; i < take; ++i) x[i] = (double)chunk[i];
            x += take;
        }
    }
}

void dtp_rows_store_f64(const dtp_md_t *md, void *base, int64_t index, int64_t n, const double *x) {
    walk_t w;
    for (walk_begin(&w, md, index, n); w.n > 0; walk_next(&w))
        for (int64_t i = 0; i < w.run; ++i) dtp_store(md->data_type, base, w.offset + i * w.stride, *x++);
}
