/* Memory descriptor values: building and asking; see memory_desc.h. The public calls are in
 * memory_desc_api.c. */
#include "common/layout/memory_desc.h"

#include <stdio.h>

#include "common/layout/format_tag.h"

const dtp_md_t dtp_md_zero;

size_t dtp_type_size(dnnl_tp_data_type_t dt) {
    switch (dt) {
    case dnnl_tp_f64:
    case dnnl_tp_s64: return 8;
    case dnnl_tp_f32:
    case dnnl_tp_s32: return 4;
    case dnnl_tp_f16:
    case dnnl_tp_bf16: return 2;
    case dnnl_tp_s8:
    case dnnl_tp_u8:
    case dnnl_tp_boolean: return 1;
    default: return 0;
    }
}

int dtp_type_bits(dnnl_tp_data_type_t dt) {
    switch (dt) {
    case dnnl_tp_f8_e5m2:
    case dnnl_tp_f8_e4m3:
    case dnnl_tp_e8m0: return 8;
    case dnnl_tp_s4:
    case dnnl_tp_u4:
    case dnnl_tp_f4_e2m1:
    case dnnl_tp_f4_e3m0: return 4;
    default: return 8 * (int)dtp_type_size(dt);
    }
}

dnnl_tp_status_t dtp_md_init_any(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt) {
    memset(md, 0, sizeof *md);
    DTP_REQUIRE(ndims > 0 && ndims <= DNNL_TP_MAX_NDIMS, BAD_NDIMS, "%d is outside 1..%d", ndims,
                DNNL_TP_MAX_NDIMS);
    DTP_REQUIRE(dims, NULL_ARG, "dims");
    DTP_REQUIRE(dtp_type_bits(dt) != 0, BAD_DATA_TYPE, "%s (%d)", dnnl_tp_dt2str(dt), (int)dt);
    int64_t elems = 1;
    for (int d = 0; d < ndims; ++d) {
        if (dims[d] == DNNL_TP_RUNTIME_DIM_VAL) continue;
        DTP_REQUIRE(dims[d] >= 0, BAD_DIMS, "dimension %d is %lld", d, (long long)dims[d]);
        DTP_REQUIRE(dims[d] == 0 ||
                        (!__builtin_mul_overflow(elems, dims[d], &elems) && elems <= INT64_MAX / 16),
                    OVERFLOW, "product of the dimensions");
    }
    md->ndims = ndims;
    md->data_type = dt;
    md->format_kind = dnnl_tp_format_kind_any;
    memcpy(md->dims, dims, sizeof(int64_t) * (size_t)ndims);
    memcpy(md->padded_dims, dims, sizeof(int64_t) * (size_t)ndims);
    return dnnl_tp_success;
}

void dtp_md_make_plain(dtp_md_t *md) {
    md->format_kind = dnnl_tp_blocked;
    md->inner_nblks = 0;
    int64_t stride = 1;
    for (int d = md->ndims; d-- > 0;) {
        md->strides[d] = stride;
        if (stride != DNNL_TP_RUNTIME_DIM_VAL)
            stride = md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL ? DNNL_TP_RUNTIME_DIM_VAL
                                                            : stride * dtp_max64(md->dims[d], 1);
    }
}

void dtp_md_init_masked(dtp_md_t *md, int ndims, const int64_t *dims, int mask) {
    memset(md, 0, sizeof *md);
    md->ndims = ndims;
    md->data_type = dnnl_tp_f32;
    for (int d = 0; d < ndims; ++d) md->dims[d] = md->padded_dims[d] = mask >> d & 1 ? dims[d] : 1;
    dtp_md_make_plain(md);
}

/* Sorts dims by stride, outermost first; equal strides keep the smaller dim count and index outside. */
static void sort_by_stride(const dtp_md_t *md, int *order) {
    for (int d = 0; d < md->ndims; ++d) {
        int i = d;
        for (; i > 0; --i) {
            int o = order[i - 1];
            bool before = md->strides[d] > md->strides[o] ||
                          (md->strides[d] == md->strides[o] && md->padded_dims[d] > md->padded_dims[o]);
            if (!before) break;
            order[i] = o;
        }
        order[i] = d;
    }
}

dnnl_tp_status_t dtp_md_init_strides(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                     const int64_t *strides) {
    memset(md, 0, sizeof *md);
    if (ndims == 0) return dnnl_tp_success;
    DTP_TRY(dtp_md_init_any(md, ndims, dims, dt));
    dtp_md_make_plain(md);
    if (!strides) return dnnl_tp_success;
    bool runtime = false, empty = false;
    for (int d = 0; d < ndims; ++d) {
        runtime |= dims[d] == DNNL_TP_RUNTIME_DIM_VAL || strides[d] == DNNL_TP_RUNTIME_DIM_VAL;
        empty |= dims[d] == 0;
        DTP_REQUIRE(strides[d] >= 0 || strides[d] == DNNL_TP_RUNTIME_DIM_VAL, BAD_STRIDES,
                    "stride %d is %lld", d, (long long)strides[d]);
        md->strides[d] = strides[d];
    }
    if (runtime || empty) return dnnl_tp_success;
    /* From the innermost: each stride must reach over everything inside it. Stride 0 is a broadcast. */
    int order[DNNL_TP_MAX_NDIMS];
    sort_by_stride(md, order);
    int64_t span = 1;
    for (int i = ndims; i-- > 0;) {
        int d = order[i];
        if (dims[d] == 1 || strides[d] == 0) continue;
        DTP_REQUIRE(strides[d] >= span, BAD_STRIDES, "dimension %d: stride %lld is below %lld", d,
                    (long long)strides[d], (long long)span);
        DTP_REQUIRE(!__builtin_mul_overflow(strides[d], dims[d], &span) && span <= INT64_MAX / 16, OVERFLOW,
                    "strides");
    }
    return dnnl_tp_success;
}

void dtp_md_copy_layout(dtp_md_t *md, const dtp_md_t *like) {
    md->format_kind = like->format_kind;
    md->opaque = like->opaque;
    md->inner_nblks = like->inner_nblks;
    memcpy(md->padded_dims, like->padded_dims, sizeof md->padded_dims);
    memcpy(md->strides, like->strides, sizeof md->strides);
    memcpy(md->inner_blks, like->inner_blks, sizeof md->inner_blks);
    memcpy(md->inner_idxs, like->inner_idxs, sizeof md->inner_idxs);
}

void dtp_md_order_strides(const dtp_md_t *like, const int64_t *dims, int ndims, int64_t *strides) {
    for (int d = 0; d < ndims; ++d) {
        strides[d] = 1;
        for (int e = 0; e < ndims; ++e) /* that lies inside d */
            if (like->strides[e] < like->strides[d] || (like->strides[e] == like->strides[d] && e > d))
                strides[d] *= dtp_max64(dims[e], 1);
    }
}

static bool dims_equal(const int64_t *a, const int64_t *b, int n) {
    return !memcmp(a, b, sizeof *a * (size_t)n);
}

bool dtp_md_same_dims(const dtp_md_t *a, const dtp_md_t *b) {
    return a->ndims == b->ndims && dims_equal(a->dims, b->dims, a->ndims);
}

bool dtp_md_same_layout(const dtp_md_t *a, const dtp_md_t *b) {
    int n = a->ndims;
    if (!dtp_md_same_dims(a, b) || a->format_kind != b->format_kind) return false;
    if (a->format_kind != dnnl_tp_blocked) return a->opaque == b->opaque;
    if (a->inner_nblks != b->inner_nblks || a->offset0 != b->offset0) return false;
    return dims_equal(a->padded_dims, b->padded_dims, n) && dims_equal(a->strides, b->strides, n) &&
           dims_equal(a->inner_blks, b->inner_blks, a->inner_nblks) &&
           dims_equal(a->inner_idxs, b->inner_idxs, a->inner_nblks);
}

static bool extra_equal(const dtp_md_extra_t *a, const dtp_md_extra_t *b) {
    return a->flags == b->flags && a->compensation_mask == b->compensation_mask &&
           a->asymm_compensation_mask == b->asymm_compensation_mask;
}

bool dtp_md_equal(const dtp_md_t *a, const dtp_md_t *b) {
    if (a == b) return true;
    if (a->ndims == 0 || b->ndims == 0) return a->ndims == b->ndims;
    return a->data_type == b->data_type && dtp_md_same_layout(a, b) && extra_equal(&a->extra, &b->extra);
}

/* The stride of dimension d tells where elements lie. */
static bool stride_counts(const dtp_md_t *md, int d) {
    return md->padded_dims[d] > 1 && md->padded_dims[d] > dtp_md_block_of(md, d);
}

bool dtp_md_accepts(const dtp_md_t *want, const dtp_md_t *got) {
    if (got->ndims != want->ndims || got->data_type != want->data_type ||
        got->format_kind != want->format_kind || got->opaque != want->opaque ||
        got->inner_nblks != want->inner_nblks || got->offset0 != want->offset0 ||
        !extra_equal(&got->extra, &want->extra))
        return false;
    if (!dims_equal(got->inner_blks, want->inner_blks, want->inner_nblks) ||
        !dims_equal(got->inner_idxs, want->inner_idxs, want->inner_nblks))
        return false;
    bool empty = dtp_md_nelems(got) == 0;
    for (int d = 0; d < want->ndims; ++d) {
        bool known = want->dims[d] != DNNL_TP_RUNTIME_DIM_VAL;
        if (known && (want->dims[d] != got->dims[d] || want->padded_dims[d] != got->padded_dims[d]))
            return false;
        if (want->strides[d] != DNNL_TP_RUNTIME_DIM_VAL && want->strides[d] != got->strides[d] && !empty &&
            stride_counts(got, d))
            return false;
    }
    return true;
}

/* Elements from the first to behind the last one, padding included. */
static int64_t span_elems(const dtp_md_t *md) {
    int64_t inner = 1, span = 0;
    for (int i = 0; i < md->inner_nblks; ++i) inner *= md->inner_blks[i];
    for (int d = 0; d < md->ndims; ++d) {
        int64_t outer = md->padded_dims[d] / dtp_md_block_of(md, d);
        if (outer > 1) span += (outer - 1) * md->strides[d];
    }
    return span + inner;
}

bool dtp_md_is_window(const dtp_md_t *window, const dtp_md_t *whole) {
    const int n = window->ndims;
    if (whole->ndims != n || whole->data_type != window->data_type ||
        whole->inner_nblks != window->inner_nblks || whole->format_kind != dnnl_tp_blocked ||
        window->format_kind != dnnl_tp_blocked || whole->offset0 > window->offset0 || whole->extra.flags ||
        window->extra.flags || dtp_md_has_runtime(whole) || dtp_md_has_runtime(window))
        return false;
    if (!dims_equal(whole->inner_blks, window->inner_blks, n) ||
        !dims_equal(whole->inner_idxs, window->inner_idxs, n) ||
        !dims_equal(whole->strides, window->strides, n))
        return false;
    for (int d = 0; d < n; ++d)
        if (window->dims[d] > whole->dims[d] || window->padded_dims[d] > whole->padded_dims[d]) return false;
    const int64_t last = window->offset0 + span_elems(window);
    return dtp_md_nelems(whole) > 0 && last <= whole->offset0 + span_elems(whole);
}

static uint64_t mix(uint64_t h, int64_t word) {
    h = (h ^ (uint64_t)word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

uint64_t dtp_md_identity(const dtp_md_t *md) {
    if (md->ndims && (dtp_md_is_any(md) || dtp_md_has_runtime(md))) return 0;
    bool empty = dtp_md_nelems(md) == 0;
    uint64_t h = mix((uint64_t)dtp_md_is_host_scalar(md) << 56 | (uint64_t)md->opaque << 48 |
                         (uint64_t)md->inner_nblks << 40,
                     (int64_t)md->data_type << 8 | md->ndims);
    h = mix(h, md->offset0);
    for (int d = 0; d < md->ndims; ++d) {
        h = mix(h, md->dims[d]);
        h = mix(h, md->padded_dims[d]);
        h = mix(h, empty || !stride_counts(md, d) ? 0 : md->strides[d]);
    }
    for (int i = 0; i < md->inner_nblks; ++i) h = mix(h, md->inner_blks[i] << 8 | md->inner_idxs[i]);
    if (md->extra.flags) {
        h = mix(h, (int64_t)md->extra.flags);
        h = mix(h, (int64_t)md->extra.compensation_mask << 32 | md->extra.asymm_compensation_mask);
    }
    return h ? h : 1;
}

bool dtp_md_has_runtime(const dtp_md_t *md) {
    for (int d = 0; d < md->ndims; ++d)
        if (md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL ||
            (md->format_kind == dnnl_tp_blocked && md->strides[d] == DNNL_TP_RUNTIME_DIM_VAL))
            return true;
    return false;
}

static int64_t product(const int64_t *dims, int n) {
    int64_t p = n ? 1 : 0;
    for (int d = 0; d < n; ++d) {
        if (dims[d] == DNNL_TP_RUNTIME_DIM_VAL) return DNNL_TP_RUNTIME_DIM_VAL;
        p *= dims[d];
    }
    return p;
}

int64_t dtp_md_nelems(const dtp_md_t *md) { return product(md->dims, md->ndims); }
int64_t dtp_md_nelems_padded(const dtp_md_t *md) { return product(md->padded_dims, md->ndims); }
bool dtp_md_is_padded(const dtp_md_t *md) { return !dims_equal(md->dims, md->padded_dims, md->ndims); }

int64_t dtp_md_block_of(const dtp_md_t *md, int d) {
    int64_t block = 1;
    for (int i = 0; i < md->inner_nblks; ++i)
        if (md->inner_idxs[i] == d) block *= md->inner_blks[i];
    return block;
}

bool dtp_md_is_dense_row_major(const dtp_md_t *md) {
    if (!dtp_md_is_plain(md) || md->offset0) return false;
    int64_t stride = 1;
    for (int d = md->ndims; d-- > 0;) {
        if (md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) return false;
        if (md->dims[d] != 1 && md->strides[d] != stride) return false;
        stride *= md->dims[d];
    }
    return true;
}

bool dtp_md_is_dense(const dtp_md_t *md) {
    if (md->format_kind != dnnl_tp_blocked || dtp_md_has_runtime(md)) return false;
    return span_elems(md) == dtp_md_nelems_padded(md);
}

/* Of each of a tile's elements a matrix of input channels by output channels in panels, in f32. False: overflow. */
static bool wino_bytes(const dtp_md_t *md, dtp_opaque_t opaque, int64_t *bytes) {
    const int64_t side = dtp_opaque_wino_inputs(opaque), elem = side * side * (int64_t)sizeof(float);
    int64_t oc;
    return !__builtin_add_overflow(md->dims[0], DTP_WINO_PANEL - 1, &oc) &&
           !__builtin_mul_overflow(oc / DTP_WINO_PANEL * DTP_WINO_PANEL, md->dims[1], bytes) &&
           !__builtin_mul_overflow(*bytes, elem, bytes) && *bytes <= INT64_MAX / 16;
}

bool dtp_md_make_opaque(dtp_md_t *md, dtp_opaque_t opaque) {
    int64_t bytes;
    if (opaque != DTP_OPAQUE_WINO_2X2 && opaque != DTP_OPAQUE_WINO_4X4) return false;
    if (md->ndims != 4 || md->data_type != dnnl_tp_f32 || dtp_md_has_runtime(md)) return false;
    if (md->dims[2] != 3 || md->dims[3] != 3 || !wino_bytes(md, opaque, &bytes)) return false;
    dtp_md_t made;
    memset(&made, 0, sizeof made);
    made.ndims = md->ndims;
    made.data_type = md->data_type;
    made.format_kind = dnnl_tp_format_kind_opaque;
    made.opaque = opaque;
    memcpy(made.dims, md->dims, sizeof made.dims);
    memcpy(made.padded_dims, md->dims, sizeof made.dims);
    *md = made;
    return true;
}

size_t dtp_md_size(const dtp_md_t *md) {
    if (dtp_md_is_zero(md) || dtp_md_is_any(md)) return 0;
    for (int d = 0; d < md->ndims; ++d)
        if (md->dims[d] == 0) return 0;
    if (dtp_md_is_opaque(md)) {
        int64_t bytes;
        return wino_bytes(md, md->opaque, &bytes) ? (size_t)bytes : 0;
    }
    if (dtp_md_has_runtime(md)) return DNNL_TP_RUNTIME_SIZE_VAL;
    if (dtp_md_is_host_scalar(md)) return dtp_type_size(md->data_type);
    const size_t bits = (size_t)dtp_type_bits(md->data_type), elems = (size_t)span_elems(md);
    size_t bytes = bits < 8 ? (elems * bits + 7) / 8 : elems * (bits / 8);
    if (md->extra.flags) {
        bytes = dtp_round_up_size(bytes, 4);
        for (int i = 0; i < 2; ++i) {
            if (!(md->extra.flags & (i ? DTP_EXTRA_COMP_ASYMM_SRC : DTP_EXTRA_COMP_S8S8))) continue;
            int mask = i ? md->extra.asymm_compensation_mask : md->extra.compensation_mask;
            size_t n = 1;
            for (int d = 0; d < md->ndims; ++d)
                if (mask >> d & 1) n *= (size_t)md->padded_dims[d];
            bytes += n * sizeof(int32_t);
        }
    }
    return bytes;
}

int64_t dtp_md_offset(const dtp_md_t *md, const int64_t *pos) {
    int64_t offset = md->offset0;
    if (md->inner_nblks == 0) {
        for (int d = 0; d < md->ndims; ++d) offset += pos[d] * md->strides[d];
        return offset;
    }
    dnnl_tp_dims_t rest;
    memcpy(rest, pos, sizeof *pos * (size_t)md->ndims);
    int64_t stride = 1;
    for (int i = md->inner_nblks; i-- > 0;) { /* innermost block first */
        int64_t d = md->inner_idxs[i], b = md->inner_blks[i];
        offset += rest[d] % b * stride;
        rest[d] /= b;
        stride *= b;
    }
    for (int d = 0; d < md->ndims; ++d) offset += rest[d] * md->strides[d];
    return offset;
}

void dtp_md_position(const dtp_md_t *md, int64_t l, int64_t *pos) {
    for (int d = md->ndims; d-- > 0;) {
        pos[d] = l % md->dims[d];
        l /= md->dims[d];
    }
}

int64_t dtp_md_offset_linear(const dtp_md_t *md, int64_t l) {
    dnnl_tp_dims_t pos;
    dtp_md_position(md, l, pos);
    return dtp_md_offset(md, pos);
}

enum { LAYOUT_TEXT = DNNL_TP_MAX_NDIMS + 6 * DNNL_TP_MAX_NDIMS + 1 };

/* "ab", "BA16a16b": dimensions from the outermost stride on, inner blocks behind them. */
static void layout_text(const dtp_md_t *md, char layout[LAYOUT_TEXT]) {
    int order[DNNL_TP_MAX_NDIMS], n = 0;
    sort_by_stride(md, order);
    for (int i = 0; i < md->ndims; ++i)
        layout[n++] = (char)((dtp_md_block_of(md, order[i]) > 1 ? 'A' : 'a') + order[i]);
    layout[n] = 0;
    for (int i = 0; i < md->inner_nblks; ++i)
        n += snprintf(layout + n, LAYOUT_TEXT - (size_t)n, "%d%c", (int)md->inner_blks[i] % 10000,
                      (char)('a' + md->inner_idxs[i]));
}

static const char *opaque_text(dtp_opaque_t opaque) {
    return opaque == DTP_OPAQUE_WINO_2X2 ? "wino_2x2" : "wino_4x4";
}

int dtp_md_text(const dtp_md_t *md, char *text, size_t size) {
    if (dtp_md_is_zero(md)) return snprintf(text, size, "undef::undef:::");
    const char *dt = dnnl_tp_dt2str(md->data_type);
    if (dtp_md_is_any(md)) return snprintf(text, size, "%s::any:any::f0", dt);
    if (dtp_md_is_host_scalar(md)) return snprintf(text, size, "%s::host_scalar:::f0", dt);
    if (dtp_md_is_opaque(md)) return snprintf(text, size, "%s::opaque:%s:f0", dt, opaque_text(md->opaque));
    char layout[LAYOUT_TEXT];
    layout_text(md, layout);
    return snprintf(text, size, "%s::blocked:%s::f%llx", dt, layout, (unsigned long long)md->extra.flags);
}

static size_t put_sizes(char *text, size_t n, const int64_t *sizes, int ndims) {
    for (int d = 0; d < ndims && n + 24 < DTP_MD_LONG_TEXT; ++d) {
        const char *between = d ? "x" : "";
        if (sizes[d] == DNNL_TP_RUNTIME_DIM_VAL) n += (size_t)sprintf(text + n, "%s*", between);
        else n += (size_t)sprintf(text + n, "%s%lld", between, (long long)sizes[d]);
    }
    return n;
}

const char *dtp_md_long_text(const dtp_md_t *md, char text[DTP_MD_LONG_TEXT]) {
    char layout[LAYOUT_TEXT] = "any";
    if (dtp_md_is_zero(md)) return strcpy(text, "no tensor");
    if (dtp_md_is_opaque(md)) strcpy(layout, opaque_text(md->opaque));
    else if (dtp_md_is_host_scalar(md)) strcpy(layout, "host scalar");
    else if (!dtp_md_is_any(md)) layout_text(md, layout);
    size_t n = (size_t)sprintf(text, "%s ", dnnl_tp_dt2str(md->data_type));
    n = put_sizes(text, n, md->dims, md->ndims);
    n += (size_t)snprintf(text + n, DTP_MD_LONG_TEXT - n, " %s", layout);
    if (md->format_kind != dnnl_tp_blocked || n + 48 > DTP_MD_LONG_TEXT) return text;
    if (md->offset0) n += (size_t)sprintf(text + n, " from element %lld", (long long)md->offset0);
    if (md->extra.flags) n += (size_t)sprintf(text + n, " with compensation");
    if (dtp_md_has_runtime(md) || dtp_md_nelems(md) == 0 || dtp_md_is_dense(md)) return text;
    n += (size_t)snprintf(text + n, DTP_MD_LONG_TEXT - n, " strides ");
    if (n + 1 < DTP_MD_LONG_TEXT) (void)put_sizes(text, n, md->strides, md->ndims);
    return text;
}
