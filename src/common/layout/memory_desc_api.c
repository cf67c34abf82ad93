/* Public memory descriptor calls. A handle is a plain value on the heap. */
#include "common/layout/format_tag.h"
#include "common/layout/memory_desc.h"

static dnnl_tp_status_t hand_out(dnnl_tp_memory_desc_t *out, const dtp_md_t *md) {
    dtp_md_t *copy = dtp_alloc(NULL, sizeof *copy, 16);
    if (!copy) return dtp_no_memory(sizeof *copy);
    *copy = *md;
    *out = copy;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_desc_create_with_tag(dnnl_tp_memory_desc_t *memory_desc, int ndims,
                                                     const dnnl_tp_dims_t dims, dnnl_tp_data_type_t data_type,
                                                     dnnl_tp_format_tag_t tag) {
    DTP_OUT(memory_desc, NULL);
    dtp_md_t md;
    DTP_TRY(dtp_md_init_tag(&md, ndims, dims, data_type, tag));
    DTP_RETURN(hand_out(memory_desc, &md));
}

dnnl_tp_status_t dnnl_tp_memory_desc_create_with_strides(dnnl_tp_memory_desc_t *memory_desc, int ndims,
                                                         const dnnl_tp_dims_t dims,
                                                         dnnl_tp_data_type_t data_type,
                                                         const dnnl_tp_dims_t strides) {
    DTP_OUT(memory_desc, NULL);
    dtp_md_t md;
    DTP_TRY(dtp_md_init_strides(&md, ndims, dims, data_type, strides));
    DTP_RETURN(hand_out(memory_desc, &md));
}

dnnl_tp_status_t dnnl_tp_memory_desc_create_host_scalar(dnnl_tp_memory_desc_t *memory_desc,
                                                        dnnl_tp_data_type_t data_type) {
    DTP_OUT(memory_desc, NULL);
    DTP_REQUIRE(dtp_type_size(data_type), BAD_DATA_TYPE, "a host scalar of %s", dnnl_tp_dt2str(data_type));
    dtp_md_t md = {.ndims = 1, .data_type = data_type, .format_kind = dnnl_tp_format_kind_host_scalar};
    md.dims[0] = md.padded_dims[0] = 1;
    DTP_RETURN(hand_out(memory_desc, &md));
}

dnnl_tp_status_t dnnl_tp_memory_desc_clone(dnnl_tp_memory_desc_t *memory_desc,
                                           const_dnnl_tp_memory_desc_t existing) {
    DTP_OUT(memory_desc, NULL);
    DTP_REQUIRE(existing, NULL_ARG, "existing_memory_desc");
    DTP_RETURN(hand_out(memory_desc, existing));
}

dnnl_tp_status_t dnnl_tp_memory_desc_destroy(dnnl_tp_memory_desc_t memory_desc) {
    dtp_free(NULL, memory_desc);
    return dnnl_tp_success;
}

/* Of a dimension of one element the stride tells nothing. */
int dnnl_tp_memory_desc_equal(const_dnnl_tp_memory_desc_t lhs, const_dnnl_tp_memory_desc_t rhs) {
    if (lhs == rhs) return 1;
    if (!lhs || !rhs) return dtp_md_is_zero(lhs) && dtp_md_is_zero(rhs);
    if (lhs->ndims != rhs->ndims || lhs->format_kind != dnnl_tp_blocked) return dtp_md_equal(lhs, rhs);
    dtp_md_t same = *rhs;
    for (int d = 0; d < lhs->ndims; ++d)
        if (lhs->dims[d] == 1 && lhs->padded_dims[d] == 1) same.strides[d] = lhs->strides[d];
    return dtp_md_equal(lhs, &same);
}

size_t dnnl_tp_memory_desc_get_size(const_dnnl_tp_memory_desc_t memory_desc) {
    return memory_desc ? dtp_md_size(memory_desc) : 0;
}

size_t dnnl_tp_memory_desc_get_size_v2(const_dnnl_tp_memory_desc_t memory_desc, int index) {
    return index == 0 ? dnnl_tp_memory_desc_get_size(memory_desc) : 0;
}

size_t dnnl_tp_data_type_size(dnnl_tp_data_type_t data_type) {
    return (size_t)(dtp_type_bits(data_type) + 7) / 8;
}

/* ---- Blobs: header, then the value, then a checksum -------------------------------------------------- */

typedef struct {
    uint32_t magic, size;
    dtp_md_t md;
    uint64_t sum; /* FNV-1a of md */
} blob_t;
#define BLOB_MAGIC 0x31646d74u

static uint64_t fnv1a(const void *data, size_t size) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; ++i) h = (h ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return h;
}

dnnl_tp_status_t dnnl_tp_memory_desc_get_blob(uint8_t *blob, size_t *size,
                                              const_dnnl_tp_memory_desc_t memory_desc) {
    DTP_REQUIRE(memory_desc && (blob || size), NULL_ARG, "memory_desc, or blob and size");
    if (!blob) {
        *size = sizeof(blob_t);
        return dnnl_tp_success;
    }
    DTP_REQUIRE(!size || *size >= sizeof(blob_t), BAD_COUNT, "blob needs %zu bytes", sizeof(blob_t));
    blob_t b;
    memset(&b, 0, sizeof b);
    b.magic = BLOB_MAGIC;
    b.size = sizeof b;
    b.md = *memory_desc;
    b.sum = fnv1a(&b.md, sizeof b.md);
    memcpy(blob, &b, sizeof b);
    return dnnl_tp_success;
}

/* The value in a blob is trusted no further than a caller's arguments are. */
static bool blob_md_is_sane(const dtp_md_t *md) {
    if (md->ndims == 0) return true;
    if (md->ndims < 0 || md->ndims > DNNL_TP_MAX_NDIMS) return false;
    dtp_md_t probe;
    if (dtp_md_init_any(&probe, md->ndims, md->dims, md->data_type)) return false;
    if (md->format_kind == dnnl_tp_format_kind_any) return true;
    if (dtp_md_is_host_scalar(md)) return md->ndims == 1 && md->dims[0] == 1 && dtp_type_size(md->data_type);
    if (dtp_md_is_opaque(md))
        return dtp_md_make_opaque(&probe, md->opaque) && !memcmp(&probe, md, sizeof probe);
    if (md->format_kind != dnnl_tp_blocked || md->inner_nblks < 0 || md->inner_nblks > DNNL_TP_MAX_NDIMS)
        return false;
    if (md->offset0 < 0) return false;
    for (int i = 0; i < md->inner_nblks; ++i)
        if (md->inner_blks[i] < 1 || md->inner_blks[i] > 4096 || md->inner_idxs[i] < 0 ||
            md->inner_idxs[i] >= md->ndims)
            return false;
    int64_t span = 1;
    for (int d = 0; d < md->ndims; ++d) {
        bool runtime = md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL;
        if (md->strides[d] < 0 && md->strides[d] != DNNL_TP_RUNTIME_DIM_VAL) return false;
        if (runtime) continue;
        if (md->padded_dims[d] < md->dims[d] || md->padded_dims[d] % dtp_md_block_of(md, d)) return false;
        int64_t reach;
        if (md->strides[d] != DNNL_TP_RUNTIME_DIM_VAL &&
            (__builtin_mul_overflow(md->strides[d], md->padded_dims[d], &reach) ||
             __builtin_add_overflow(span, reach, &span) || span > INT64_MAX / 16))
            return false;
    }
    return true;
}

dnnl_tp_status_t dnnl_tp_memory_desc_create_with_blob(dnnl_tp_memory_desc_t *memory_desc,
                                                      const uint8_t *blob) {
    DTP_OUT(memory_desc, NULL);
    DTP_REQUIRE(blob, NULL_ARG, "blob");
    blob_t b;
    memcpy(&b, blob, sizeof b);
    DTP_REQUIRE(b.magic == BLOB_MAGIC && b.size == sizeof b, BAD_BLOB, "wrong magic or size");
    DTP_REQUIRE(b.sum == fnv1a(&b.md, sizeof b.md) && blob_md_is_sane(&b.md), BAD_BLOB,
                "contents are damaged");
    DTP_RETURN(hand_out(memory_desc, &b.md));
}

/* ---- Views ------------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_memory_desc_create_submemory(dnnl_tp_memory_desc_t *memory_desc,
                                                      const_dnnl_tp_memory_desc_t parent,
                                                      const dnnl_tp_dims_t dims,
                                                      const dnnl_tp_dims_t offsets) {
    DTP_OUT(memory_desc, NULL);
    DTP_REQUIRE(parent && dims && offsets, NULL_ARG, "parent_memory_desc, dims or offsets");
    if (parent->format_kind != dnnl_tp_blocked)
        DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SUBMEMORY, "the parent is not blocked"));
    if (dtp_md_has_runtime(parent))
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SUBMEMORY, "the parent has run-time dimensions"));
    dtp_md_t md = *parent;
    for (int d = 0; d < md.ndims; ++d) {
        if (dims[d] == DNNL_TP_RUNTIME_DIM_VAL || offsets[d] == DNNL_TP_RUNTIME_DIM_VAL)
            DTP_RETURN(
                dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SUBMEMORY, "run-time dims or offsets"));
        DTP_REQUIRE(dims[d] >= 0 && offsets[d] >= 0 && dims[d] <= parent->dims[d] &&
                        offsets[d] <= parent->dims[d] - dims[d],
                    BAD_DIMS, "dimension %d: %lld + %lld is outside 0..%lld", d, (long long)offsets[d],
                    (long long)dims[d], (long long)parent->dims[d]);
        int64_t block = dtp_md_block_of(parent, d);
        bool right = offsets[d] + dims[d] == parent->dims[d];
        if (offsets[d] % block || (!right && dims[d] % block && dims[d] > block))
            DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_UNSUPPORTED_SUBMEMORY,
                                "dimension %d cuts a block of %lld", d, (long long)block));
        md.dims[d] = dims[d];
        md.padded_dims[d] = right ? parent->padded_dims[d] - offsets[d] : dims[d];
        if (block > 1) md.padded_dims[d] = dtp_round_up(md.padded_dims[d], block);
        md.offset0 += offsets[d] / block * md.strides[d];
    }
    DTP_RETURN(hand_out(memory_desc, &md));
}

dnnl_tp_status_t dnnl_tp_memory_desc_permute_axes(dnnl_tp_memory_desc_t *out, const_dnnl_tp_memory_desc_t in,
                                                  const int *permutation) {
    DTP_OUT(out, NULL);
    DTP_REQUIRE(in && permutation, NULL_ARG, "in_memory_desc or permutation");
    DTP_REQUIRE(in->format_kind == dnnl_tp_blocked || in->format_kind == dnnl_tp_format_kind_any, BAD_TAG,
                "only blocked and any layouts permute");
    DTP_REQUIRE(!dtp_md_has_runtime(in), RUNTIME_NOT_ALLOWED, "a descriptor whose dimensions permute");
    unsigned seen = 0;
    dtp_md_t md = *in;
    for (int d = 0; d < in->ndims; ++d) {
        int p = permutation[d];
        DTP_REQUIRE(p >= 0 && p < in->ndims && !(seen >> p & 1), BAD_PARAM,
                    "entry %d of the permutation is %d", d, p);
        seen |= 1u << p;
        md.dims[p] = in->dims[d];
        md.padded_dims[p] = in->padded_dims[d];
        md.strides[p] = in->strides[d];
    }
    for (int i = 0; i < in->inner_nblks; ++i) md.inner_idxs[i] = permutation[in->inner_idxs[i]];
    DTP_RETURN(hand_out(out, &md));
}

/* The dims that end before *begin, from the last on, with a product that both sides have: one of each side, or several.
 * False: there are none. */
static bool last_group(const dtp_md_t *in, const dtp_md_t *out, int *i, int *o) {
    if (*i == 0 || *o == 0) return false;
    int64_t pi = in->dims[--*i], po = out->dims[--*o];
    while (pi != po) { /* an empty dimension in the middle joins nothing */
        if (pi < po) {
            if (*i == 0 || (pi *= in->dims[--*i]) == 0) return false;
        } else {
            if (*o == 0 || (po *= out->dims[--*o]) == 0) return false;
        }
    }
    return true;
}

/* Dims from..to-1 become those of out from..: dense in each other and without blocks. */
static bool regroup(dtp_md_t *out, int out_from, int out_to, const dtp_md_t *in, int from, int to) {
    for (int d = from; d < to; ++d)
        if (dtp_md_block_of(in, d) > 1 || in->padded_dims[d] != in->dims[d] ||
            (d > from && in->dims[d] * in->strides[d] != in->strides[d - 1]))
            return false;
    int64_t stride = in->strides[to - 1];
    for (int d = out_to; d-- > out_from; stride *= out->dims[d]) out->strides[d] = stride;
    return true;
}

/* Splits and merges dims of a blocked layout, from the last on. Dims of 1 come and go; what is left goes over one by one, or
 * in groups of the same product. A new dim of 1 has the stride that a dim before its right neighbour has. */
static bool reshape_blocked(dtp_md_t *out, const dtp_md_t *in) {
    int i = in->ndims, o = out->ndims;
    while (i || o) {
        const int i_end = i, o_end = o;
        if (i && in->dims[i - 1] == 1 && in->padded_dims[i - 1] == 1) {
            --i;
            continue;
        }
        if (o && out->dims[o - 1] == 1 && !(i && in->dims[i - 1] == 1)) {
            --o;
            if (i == in->ndims) {
                out->strides[o] = 1;
                for (int b = 0; b < in->inner_nblks; ++b) out->strides[o] *= in->inner_blks[b];
            } else {
                out->strides[o] = in->strides[i] * in->dims[i] / dtp_md_block_of(in, i);
            }
            continue;
        }
        if (i && in->dims[i - 1] == 1 && !(o && out->dims[o - 1] == 1)) return false;
        if (!last_group(in, out, &i, &o)) return false;
        if (i + 1 < i_end || o + 1 < o_end) {
            if (!regroup(out, o, o_end, in, i, i_end)) return false;
            continue;
        }
        out->padded_dims[o] = in->padded_dims[i];
        out->strides[o] = in->strides[i];
        for (int b = 0; b < in->inner_nblks; ++b)
            if (in->inner_idxs[b] == i) out->inner_idxs[b] = o;
    }
    return true;
}

/* As volumes are compared: an empty dimension counts as one. */
static int64_t volume(const dtp_md_t *md) {
    int64_t n = 1;
    for (int d = 0; d < md->ndims; ++d) n *= dtp_max64(md->dims[d], 1);
    return n;
}

dnnl_tp_status_t dnnl_tp_memory_desc_reshape(dnnl_tp_memory_desc_t *out, const_dnnl_tp_memory_desc_t in,
                                             int ndims, const dnnl_tp_dims_t dims) {
    DTP_OUT(out, NULL);
    DTP_REQUIRE(in && dims, NULL_ARG, "in_memory_desc or dims");
    DTP_REQUIRE(in->format_kind == dnnl_tp_blocked || in->format_kind == dnnl_tp_format_kind_any, BAD_TAG,
                "only blocked and any layouts reshape");
    DTP_REQUIRE(!in->extra.flags, BAD_TAG, "a layout with compensation");
    dtp_md_t md;
    DTP_TRY(dtp_md_init_any(&md, ndims, dims, in->data_type));
    DTP_REQUIRE(!dtp_md_has_runtime(in) && !dtp_md_has_runtime(&md), RUNTIME_NOT_ALLOWED, "in reshape");
    DTP_REQUIRE(volume(&md) == volume(in), DIMS_MISMATCH, "%lld elements become %lld", (long long)volume(in),
                (long long)volume(&md));
    if (in->format_kind == dnnl_tp_blocked) {
        md.format_kind = dnnl_tp_blocked;
        md.offset0 = in->offset0;
        md.inner_nblks = in->inner_nblks;
        memcpy(md.inner_blks, in->inner_blks, sizeof md.inner_blks);
        memcpy(md.inner_idxs, in->inner_idxs, sizeof md.inner_idxs);
        DTP_REQUIRE(reshape_blocked(&md, in), DIMS_MISMATCH, "the layout does not split or merge that way");
    }
    DTP_RETURN(hand_out(out, &md));
}

/* ---- Queries ----------------------------------------------------------------------------------------- */

dnnl_tp_status_t dnnl_tp_memory_desc_query(const_dnnl_tp_memory_desc_t memory_desc, dnnl_tp_query_t what,
                                           void *result) {
    DTP_REQUIRE(memory_desc && result, NULL_ARG, "memory_desc or result");
    const dtp_md_t *md = memory_desc;
    bool blocked = md->format_kind == dnnl_tp_blocked;
    switch (what) {
    case dnnl_tp_query_ndims_s32: *(int *)result = md->ndims; break;
    case dnnl_tp_query_dims: *(const dnnl_tp_dims_t **)result = &md->dims; break;
    case dnnl_tp_query_padded_dims: *(const dnnl_tp_dims_t **)result = &md->padded_dims; break;
    case dnnl_tp_query_padded_offsets: *(const dnnl_tp_dims_t **)result = &md->padded_offsets; break;
    case dnnl_tp_query_data_type: *(dnnl_tp_data_type_t *)result = md->data_type; break;
    case dnnl_tp_query_format_kind: *(dnnl_tp_format_kind_t *)result = md->format_kind; break;
    case dnnl_tp_query_submemory_offset_s64: *(int64_t *)result = md->offset0; break;
    case dnnl_tp_query_num_handles_s32: *(int *)result = 1; break;
    case dnnl_tp_query_strides:
    case dnnl_tp_query_inner_nblks_s32:
    case dnnl_tp_query_inner_blks:
    case dnnl_tp_query_inner_idxs:
        DTP_REQUIRE(blocked, BAD_TAG, "the layout is not blocked");
        if (what == dnnl_tp_query_strides) *(const dnnl_tp_dims_t **)result = &md->strides;
        else if (what == dnnl_tp_query_inner_nblks_s32) *(int *)result = md->inner_nblks;
        else if (what == dnnl_tp_query_inner_blks) *(const dnnl_tp_dims_t **)result = &md->inner_blks;
        else *(const dnnl_tp_dims_t **)result = &md->inner_idxs;
        break;
    default:
        DTP_RETURN(
            dtp_fail(dnnl_tp_unimplemented, DTP_BAD_ENUM, "query %d of a memory descriptor", (int)what));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_desc_query_v2(const_dnnl_tp_memory_desc_t memory_desc, dnnl_tp_query_t what,
                                              int index, void *result) {
    DTP_REQUIRE(index == 0, BAD_INDEX, "index %d of a dense descriptor", index);
    DTP_RETURN(dnnl_tp_memory_desc_query(memory_desc, what, result));
}
