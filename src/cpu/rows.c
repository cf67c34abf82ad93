/* Runs of logical elements as f32; see rows.h. */
#include "cpu/rows.h"

/* One run that lies evenly in memory: its offset, stride and length (<= n). */
static int64_t rows_run(const dtp_md_t *md, int64_t index, int64_t n, int64_t *stride, int64_t *offset) {
    int last = md->ndims - 1;
    int64_t cols = md->dims[last], col = index % cols, run = dtp_min64(n, cols - col);
    *offset = dtp_md_offset_linear(md, index);
    *stride = md->strides[last];
    int64_t block = dtp_md_block_of(md, last);
    if (block == 1) return run;
    /* Blocked along the last dim: even inside the innermost block only. */
    int in = md->inner_nblks - 1;
    if (md->inner_idxs[in] != last) return 1;
    *stride = 1;
    return dtp_min64(run, md->inner_blks[in] - col % md->inner_blks[in]);
}

void dtp_rows_load(const dtp_vops_t *v, const dtp_md_t *md, const void *base, int64_t index, int64_t n,
                   float *x) {
    int64_t size = (int64_t)dtp_type_size(md->data_type);
    while (n > 0) {
        int64_t stride, offset, run = rows_run(md, index, n, &stride, &offset);
        v->load[md->data_type](x, (const char *)base + offset * size, run, stride);
        index += run, x += run, n -= run;
    }
}

void dtp_rows_store(const dtp_vops_t *v, const dtp_md_t *md, void *base, int64_t index, int64_t n,
                    const float *x) {
    int64_t size = (int64_t)dtp_type_size(md->data_type);
    while (n > 0) {
        int64_t stride, offset, run = rows_run(md, index, n, &stride, &offset);
        v->store[md->data_type]((char *)base + offset * size, x, run, stride);
        index += run, x += run, n -= run;
    }
}
