/* Zeroes the padding of blocked tensors; see zero_pad.h. */
#include "common/layout/zero_pad.h"

/* for every position with pos[d] in [dims[d], padded[d]) for this d, pos[e] in [0, dims[e]) for e < d and in
 * [0, padded[e]) for e > d: each padding element is visited once. */
static void zero_dim(const dtp_md_t *md, int d, char *data, size_t elem) {
    dnnl_tp_dims_t lo, hi, pos;
    for (int e = 0; e < md->ndims; ++e) {
        lo[e] = e == d ? md->dims[e] : 0;
        hi[e] = e < d ? md->dims[e] : md->padded_dims[e];
        if (lo[e] >= hi[e]) return;
        pos[e] = lo[e];
    }
    for (;;) {
        memset(data + (size_t)dtp_md_offset(md, pos) * elem, 0, elem);
        int e = md->ndims - 1;
        while (e >= 0 && ++pos[e] == hi[e]) {
            pos[e] = lo[e];
            --e;
        }
        if (e < 0) return;
    }
}

void dtp_zero_pad(const dtp_md_t *md, void *data) {
    if (md->format_kind != dnnl_tp_blocked || !dtp_md_is_padded(md)) return;
    const size_t elem = (size_t)dtp_type_bits(md->data_type) / 8;
    for (int d = 0; d < md->ndims && elem; ++d) /* of less than a byte: nothing reads it */
        if (md->padded_dims[d] != md->dims[d]) zero_dim(md, d, data, elem);
}
