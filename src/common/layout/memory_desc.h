/* Memory descriptors as plain values: shape, type, strides, inner blocks. The public handle points
 * at one.
 *
 * Invariant: unused tails of the arrays are zero, so that two equal descriptors are equal field by
 * field. */
#ifndef DTP_COMMON_LAYOUT_MEMORY_DESC_H
#define DTP_COMMON_LAYOUT_MEMORY_DESC_H

#include "common/base/base.h"

/* Compensation that a reorder adds after int8 weights. */
typedef struct {
    uint64_t flags; /* DTP_EXTRA_* */
    int compensation_mask;
    int asymm_compensation_mask;
} dtp_md_extra_t;
#define DTP_EXTRA_COMP_S8S8 1u
#define DTP_EXTRA_COMP_ASYMM_SRC 2u

/* Layouts of format kind opaque: strides cannot describe their bytes. */
typedef enum {
    DTP_OPAQUE_NONE,
    /* weights of 3 x 3 kernels, transformed for Winograd's tiles of 2 x 2 outputs */
    DTP_OPAQUE_WINO_2X2,
    DTP_OPAQUE_WINO_4X4 /* of 4 x 4 outputs */
} dtp_opaque_t;
enum { DTP_WINO_PANEL = 16 }; /* Winograd's weights: number of adjacent output channels */

typedef struct dnnl_tp_memory_desc {
    int ndims; /* 0 = zero descriptor: no tensor */
    dnnl_tp_data_type_t data_type;
    dnnl_tp_format_kind_t format_kind;
    int inner_nblks;
    dnnl_tp_dims_t dims, padded_dims, padded_offsets;
    int64_t offset0;        /* elements */
    dnnl_tp_dims_t strides; /* of the blocked outer part, in elements */
    dnnl_tp_dims_t inner_blks, inner_idxs;
    dtp_md_extra_t extra;
    dtp_opaque_t opaque; /* if the format kind is opaque */
} dtp_md_t;

/* ---- Building ------------------------------------------------------------------------------- */
dnnl_tp_status_t dtp_md_init_tag(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                 dnnl_tp_format_tag_t tag);
/* strides NULL = dense row-major. */
dnnl_tp_status_t dtp_md_init_strides(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                     const int64_t *strides);
/* Any layout text of the tag language, e.g. "BA16a16b"; dims as given. */
dnnl_tp_status_t dtp_md_init_layout(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt,
                                    const char *layout);
/* Gives md (format any) the layout of like, which has the same dims; the type does not change. */
void dtp_md_copy_layout(dtp_md_t *md, const dtp_md_t *like);
/* Dense strides for the first ndims dimensions, with sizes dims, in the order that they have in
 * like. */
void dtp_md_order_strides(const dtp_md_t *like, const int64_t *dims, int ndims, int64_t *strides);
/* Dense row-major strides for md's dims (any -> abc...). */
void dtp_md_make_plain(dtp_md_t *md);
/* Gives md, whose dims and type are set, an opaque layout. False: they do not fit the layout, and
 * md does not change. */
bool dtp_md_make_opaque(dtp_md_t *md, dtp_opaque_t opaque);
/* Dense row-major f32 values that vary along the dims in mask: scales, weights of prelu. */
void dtp_md_init_masked(dtp_md_t *md, int ndims, const int64_t *dims, int mask);

/* ---- Queries -------------------------------------------------------------------------------- */
/* Bytes of an element of types with arithmetic; 0 for types that can only be stored, and for no
 * types. */
size_t dtp_type_size(dnnl_tp_data_type_t dt);
/* Bits of an element of any type; 0 for no types. */
int dtp_type_bits(dnnl_tp_data_type_t dt);
static inline bool dtp_md_is_zero(const dtp_md_t *md) { return !md || md->ndims == 0; }
static inline bool dtp_md_is_any(const dtp_md_t *md) { return md->format_kind == dnnl_tp_format_kind_any; }
static inline bool dtp_md_is_opaque(const dtp_md_t *md) {
    return md->format_kind == dnnl_tp_format_kind_opaque;
}
/* Winograd's weights: elements along a side of a tile of outputs, and of the inputs that the tile
 * depends on. */
static inline int dtp_opaque_wino_outputs(dtp_opaque_t o) { return o == DTP_OPAQUE_WINO_4X4 ? 4 : 2; }
static inline int dtp_opaque_wino_inputs(dtp_opaque_t o) { return dtp_opaque_wino_outputs(o) + 2; }
/* Equal in every member; dnnl_tp_memory_desc_equal compares less. */
bool dtp_md_equal(const dtp_md_t *a, const dtp_md_t *b);
static inline bool dtp_md_is_host_scalar(const dtp_md_t *md) {
    return md->format_kind == dnnl_tp_format_kind_host_scalar;
}
/* Equal in everything but the data type. */
bool dtp_md_same_layout(const dtp_md_t *a, const dtp_md_t *b);
bool dtp_md_same_dims(const dtp_md_t *a, const dtp_md_t *b);
bool dtp_md_has_runtime(const dtp_md_t *md); /* dims or strides */
int64_t dtp_md_nelems(const dtp_md_t *md);
int64_t dtp_md_nelems_padded(const dtp_md_t *md);
bool dtp_md_is_padded(const dtp_md_t *md);
/* No inner blocks. */
static inline bool dtp_md_is_plain(const dtp_md_t *md) {
    return md->format_kind == dnnl_tp_blocked && md->inner_nblks == 0;
}
/* Row-major without gaps and offset. */
bool dtp_md_is_dense_row_major(const dtp_md_t *md);
/* Whether every element of the buffer belongs to the (padded) tensor, so that element-wise kernels
 * may walk it linearly. */
bool dtp_md_is_dense(const dtp_md_t *md);
size_t dtp_md_size(const dtp_md_t *md);
/* Offset of a logical position, in elements. */
int64_t dtp_md_offset(const dtp_md_t *md, const int64_t *pos);
/* Logical position of the l-th element in row-major order, and its offset. */
void dtp_md_position(const dtp_md_t *md, int64_t l, int64_t *pos);
int64_t dtp_md_offset_linear(const dtp_md_t *md, int64_t l);
/* The product of the inner blocks of dimension d; 1: there are none. */
int64_t dtp_md_block_of(const dtp_md_t *md, int d);
/* Whether memory of `got`, which is complete, serves for `want`: both give every element the same
 * position. Strides of single blocks and of empty tensors do not count, and run-time sizes and
 * strides of `want` fit any. */
bool dtp_md_accepts(const dtp_md_t *want, const dtp_md_t *got);
/* Whether window, with elements that are contiguous along every dimension, is a part of whole in
 * the same buffer. */
bool dtp_md_is_window(const dtp_md_t *window, const dtp_md_t *whole);
/* One word for what dtp_md_accepts compares: equal words mean accepted. 0 with run-time values or
 * layout any, never 0 else. */
uint64_t dtp_md_identity(const dtp_md_t *md);
/* Verbose text "f32::blocked:ab::f0"; returns the length written. */
int dtp_md_text(const dtp_md_t *md, char *text, size_t size);
/* For error texts: "f32 8x16 ab", with strides and offset where the layout does not tell them;
 * returns text.
 */
enum { DTP_MD_LONG_TEXT = 320 };
const char *dtp_md_long_text(const dtp_md_t *md, char text[DTP_MD_LONG_TEXT]);

/* Name of an execution argument, without DNNL_TP_ARG_: "WEIGHTS", "ATTR_SCALES | SRC"; returns
 * text. */
enum { DTP_ARG_TEXT = 64 };
const char *dtp_arg_text(int arg, char text[DTP_ARG_TEXT]);

/* The zero descriptor that queries return for absent tensors. */
extern const dtp_md_t dtp_md_zero;

#endif
