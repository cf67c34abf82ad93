/* Layout texts ("aBc16b") to blocked descriptors, and tags to texts. */
#include "common/layout/format_tag.h"

#include <ctype.h>

/* The rows are made of the public header's when the build is configured (src/CMakeLists.txt). */
static const char *const tag_names[] = {
#define DTP_TAG(name) #name,
#include "common/layout/format_tags.inc"
#undef DTP_TAG
};
enum { TAG_COUNT = sizeof tag_names / sizeof *tag_names };
_Static_assert((int)TAG_COUNT == (int)dnnl_tp_format_tag_last, "a name for every tag");

const char *dtp_tag_name(dnnl_tp_format_tag_t tag) {
    return (unsigned)tag < TAG_COUNT ? tag_names[tag] : NULL;
}

const char *dnnl_tp_fmt_tag2str(dnnl_tp_format_tag_t tag) {
    if (tag == dnnl_tp_format_tag_undef) return "undef";
    if (tag == dnnl_tp_format_tag_any) return "any";
    const char *name = dtp_tag_name(tag);
    return name ? name : "unknown fmt_tag";
}

/* Splits the text into the order of the outer dims and the inner blocks; false if it is not a layout of
 * ndims. */
static bool parse_layout(const char *text, int ndims, int *order, int *nblks, int64_t *blks, int64_t *idxs) {
    unsigned seen = 0;
    int n = 0;
    for (; isalpha((unsigned char)*text); ++text) {
        int d = tolower((unsigned char)*text) - 'a';
        if (d >= ndims || (seen >> d & 1)) return false;
        seen |= 1u << d;
        order[n++] = d;
    }
    if (n != ndims) return false;
    *nblks = 0;
    while (*text) {
        int64_t block = 0;
        for (; isdigit((unsigned char)*text); ++text) {
            block = block * 10 + (*text - '0');
            if (block > 4096) return false;
        }
        int d = tolower((unsigned char)*text) - 'a';
        if (block < 1 || d < 0 || d >= ndims || *nblks == DNNL_TP_MAX_NDIMS) return false;
        blks[*nblks] = block;
        idxs[(*nblks)++] = d;
        ++text;
    }
    return true;
}

dnnl_tp_status_t dtp_md_init_layout(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                    const char *layout) {
    DTP_TRY(dtp_md_init_any(md, ndims, dims, dt));
    int order[DNNL_TP_MAX_NDIMS], nblks = 0;
    dnnl_tp_dims_t blks, idxs;
    DTP_REQUIRE(parse_layout(layout, ndims, order, &nblks, blks, idxs), BAD_TAG, "'%s' for %d dimensions",
                layout, ndims);
    md->format_kind = dnnl_tp_blocked;
    md->inner_nblks = nblks;
    int64_t stride = 1;
    for (int i = 0; i < nblks; ++i) {
        md->inner_blks[i] = blks[i];
        md->inner_idxs[i] = idxs[i];
        stride *= blks[i];
    }
    for (int i = ndims; i-- > 0;) {
        int d = order[i];
        int64_t block = dtp_md_block_of(md, d);
        md->strides[d] = stride;
        if (dims[d] == DNNL_TP_RUNTIME_DIM_VAL) {
            md->padded_dims[d] = DNNL_TP_RUNTIME_DIM_VAL;
            stride = DNNL_TP_RUNTIME_DIM_VAL;
            continue;
        }
        DTP_REQUIRE(dims[d] <= INT64_MAX - block, OVERFLOW, "dimension %d is %lld", d, (long long)dims[d]);
        md->padded_dims[d] = dtp_round_up(dims[d], block);
        if (stride == DNNL_TP_RUNTIME_DIM_VAL) continue;
        int64_t outer = dtp_max64(md->padded_dims[d] / block, 1);
        DTP_REQUIRE(!__builtin_mul_overflow(stride, outer, &stride) && stride <= INT64_MAX / 16, OVERFLOW,
                    "padded tensor of layout '%s'", layout);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_md_init_tag(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                 dnnl_tp_format_tag_t tag) {
    memset(md, 0, sizeof *md);
    if (ndims == 0 || tag == dnnl_tp_format_tag_undef) return dnnl_tp_success;
    if (tag == dnnl_tp_format_tag_any) {
        DTP_TRY(dtp_md_init_any(md, ndims, dims, dt));
        for (int d = 0; d < ndims; ++d)
            DTP_REQUIRE(dims[d] != DNNL_TP_RUNTIME_DIM_VAL, RUNTIME_NOT_ALLOWED,
                        "dimension %d with layout any", d);
        return dnnl_tp_success;
    }
    const char *name = dtp_tag_name(tag);
    DTP_REQUIRE(name, BAD_TAG, "%d is not a tag", (int)tag);
    return dtp_md_init_layout(md, ndims, dims, dt, name);
}
