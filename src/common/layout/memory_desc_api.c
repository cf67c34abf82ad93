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

int dnnl_tp_memory_desc_equal(const_dnnl_tp_memory_desc_t lhs, const_dnnl_tp_memory_desc_t rhs) {
    if (lhs == rhs) return 1;
    return lhs && rhs && dtp_md_equal(lhs, rhs);
}

size_t dnnl_tp_memory_desc_get_size(const_dnnl_tp_memory_desc_t memory_desc) {
    return memory_desc ? dtp_md_size(memory_desc) : 0;
}

size_t dnnl_tp_memory_desc_get_size_v2(const_dnnl_tp_memory_desc_t memory_desc, int index) {
    return index == 0 ? dnnl_tp_memory_desc_get_size(memory_desc) : 0;
}

size_t dnnl_tp_data_type_size(dnnl_tp_data_type_t data_type) { return dtp_type_size(data_type); }

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

/* Splits and merges dims of a blocked layout. Groups of input dims and output dims with equal products are
 * matched; a group of more than one dim on either side must be unblocked and dense inside. */
static bool reshape_blocked(dtp_md_t *out, const dtp_md_t *in) {
    int i = 0, o = 0;
    while (i < in->ndims || o < out->ndims) {
        int i0 = i, o0 = o;
        int64_t pi = i < in->ndims ? in->dims[i++] : 1, po = o < out->ndims ? out->dims[o++] : 1;
        while (pi != po) {
            if (pi < po) {
                if (i == in->ndims) return false;
                pi *= in->dims[i++];
            } else {
                if (o == out->ndims) return false;
                po *= out->dims[o++];
            }
        }
        /* Trailing dims of size 1 join the group that they follow. */
        while (i < in->ndims && in->dims[i] == 1 && in->padded_dims[i] == 1 &&
               (o == out->ndims || out->dims[o] != 1))
            ++i;
        while (o < out->ndims && out->dims[o] == 1 && (i == in->ndims || in->dims[i] != 1)) ++o;
        int first = -1; /* the dims of the group that are not 1 */
        int64_t stride = 1, reach = -1;
        int real = 0;
        for (int d = i; d-- > i0;) {
            bool blocked = dtp_md_block_of(in, d) > 1 || in->padded_dims[d] != in->dims[d];
            if (in->dims[d] == 1 && !blocked) continue;
            if (reach >= 0 && in->strides[d] != reach) return false; /* not adjacent */
            if (real == 0) stride = in->strides[d];
            reach = in->strides[d] * in->dims[d];
            first = d;
            ++real;
        }
        int out_real = 0, out_first = o0;
        for (int d = o0; d < o; ++d)
            if (out->dims[d] != 1) {
                ++out_real;
                out_first = d;
            }
        bool keeps = real == 1 && out_real <= 1;
        if (first >= 0 && (dtp_md_block_of(in, first) > 1 || in->padded_dims[first] != in->dims[first])) {
            if (!keeps) return false; /* a blocked dim only moves as a whole */
            if (out_real == 0) out_first = o0;
            out->padded_dims[out_first] = in->padded_dims[first];
            out->strides[out_first] = in->strides[first];
            for (int b = 0; b < in->inner_nblks; ++b)
                if (in->inner_idxs[b] == first) out->inner_idxs[b] = out_first;
            for (int d = o0; d < o; ++d)
                if (d != out_first) out->strides[d] = in->strides[first];
            continue;
        }
        for (int d = o; d-- > o0;) {
            out->strides[d] = stride;
            stride *= dtp_max64(out->dims[d], 1);
        }
    }
    return true;
}

dnnl_tp_status_t dnnl_tp_memory_desc_reshape(dnnl_tp_memory_desc_t *out, const_dnnl_tp_memory_desc_t in,
                                             int ndims, const dnnl_tp_dims_t dims) {
    DTP_OUT(out, NULL);
    DTP_REQUIRE(in && dims, NULL_ARG, "in_memory_desc or dims");
    DTP_REQUIRE(in->format_kind == dnnl_tp_blocked || in->format_kind == dnnl_tp_format_kind_any, BAD_TAG,
                "only blocked and any layouts reshape");
    dtp_md_t md;
    DTP_TRY(dtp_md_init_any(&md, ndims, dims, in->data_type));
    DTP_REQUIRE(!dtp_md_has_runtime(in) && !dtp_md_has_runtime(&md), RUNTIME_NOT_ALLOWED, "in reshape");
    DTP_REQUIRE(dtp_md_nelems(&md) == dtp_md_nelems(in), DIMS_MISMATCH, "%lld elements become %lld",
                (long long)dtp_md_nelems(in), (long long)dtp_md_nelems(&md));
    if (in->format_kind == dnnl_tp_blocked) {
        md.format_kind = dnnl_tp_blocked;
        md.offset0 = in->offset0;
        md.inner_nblks = in->inner_nblks;
        memcpy(md.inner_blks, in->inner_blks, sizeof md.inner_blks);
        memcpy(md.inner_idxs, in->inner_idxs, sizeof md.inner_idxs);
        md.extra = in->extra;
        if (dtp_md_nelems(&md) == 0) dtp_md_make_plain(&md);
        else
            DTP_REQUIRE(reshape_blocked(&md, in), DIMS_MISMATCH,
                        "the layout does not split or merge that way");
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
