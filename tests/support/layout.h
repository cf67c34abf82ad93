/* Layouts of descriptors by their texts. */
#ifndef DTP_TESTS_LAYOUT_H
#define DTP_TESTS_LAYOUT_H

#include "common/layout/memory_desc.h"

/* True when md's layout is the text (e.g. "BA16a16b", "ab"), strides dense. */
static inline bool md_matches(const dtp_md_t *md, const char *layout) {
    dtp_md_t want;
    if (md->format_kind != dnnl_tp_blocked ||
        dtp_md_init_layout(&want, md->ndims, md->dims, md->data_type, layout))
        return false;
    want.offset0 = md->offset0;
    for (int d = 0; d < md->ndims; ++d) /* the stride of a single block is free */
        if (want.padded_dims[d] == dtp_md_block_of(&want, d)) want.strides[d] = md->strides[d];
    return dtp_md_same_layout(md, &want);
}

#endif
