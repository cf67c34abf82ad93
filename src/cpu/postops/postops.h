/* Post-operations on a tile of f32 results in L1: the one place where they exist.
 *
 * The destination is seen as a matrix: rows = product of all dims but the last, cols = the last dim, both
 * logical (no layout); or, for kernels that hold the channels of a pixel together, rows = product of all dims
 * but dim 1 and cols = dim 1 (dtp_postops_init_channels). An implementation embeds a dtp_postops_t in its plan, calls dtp_postops_init in
 * pd_init and, after computing a tile into f32 scratch, dtp_postops_apply; then it converts and stores
 * (cpu/simd/vops.h: load and store rows of any type, shared with every kind). Applying allocates nothing and
 * may run on many threads at once. */
#ifndef DTP_CPU_POSTOPS_H
#define DTP_CPU_POSTOPS_H

#include "common/primitive/primitive_desc.h"
#include "cpu/simd/vops.h"

/* Row dims of a view after joining; more are addressed element by element. */
#define DTP_PO_VIEW_DIMS 4

/* How a tensor that broadcasts to dst is addressed by (row, col). */
typedef struct {
    int nd;       /* collapsed row dims; 0 = the same for all rows */
    bool blocked; /* inner blocks or too many dims: element offsets from the descriptor */
    bool dynamic; /* depends on run-time dims: made again by apply from ctx->md */
    int64_t size[DTP_PO_VIEW_DIMS], stride[DTP_PO_VIEW_DIMS]; /* outermost first */
    int64_t col_stride;                                       /* 0 = one value per row */
    int64_t offset0;
} dtp_po_view_t;

/* One compiled step; embedded by value in the plans of implementations. */
typedef struct {
    dnnl_tp_primitive_kind_t kind; /* eltwise, binary, sum, prelu (served where binary is) */
    dnnl_tp_alg_kind_t alg;
    float alpha, beta;       /* eltwise */
    float scale, zero_point; /* sum */
    dnnl_tp_data_type_t dt;  /* of src1, or of the old dst for sum */
    int arg, arg2;           /* dense index of src1 and src2 (select); of dst for sum */
    dtp_eltwise_fn_t eltwise;
    dtp_binary_fn_t binary;
    int view, view2; /* index into dtp_postops_t.view, -1 = none */
} dtp_po_step_t;

#define DTP_PO_MAX_VIEWS (DTP_MAX_POST_OPS + 4)

typedef struct dtp_postops {
    int len; /* 0 = nothing to do */
    int nviews;
    int dst_arg; /* dense index of the destination */
    int col_dim; /* dim of dst that the columns are */
    bool one_col;
    const dtp_vops_t *vops;
    dtp_po_step_t step[DTP_MAX_POST_OPS];
    dtp_po_view_t view[DTP_PO_MAX_VIEWS];
} dtp_postops_t;

/* Plans that end with a chain, their member `po`, keep what it uses: defines plan_used() of dtp_impl_t. */
size_t dtp_postops_used(const dtp_postops_t *po);
#define DTP_PLAN_ENDS_WITH_POSTOPS(type)                                         \
    static size_t plan_used(const void *plan) {                                  \
        return offsetof(type, po) + dtp_postops_used(&((const type *)plan)->po); \
    }

/* Compiles pd->attr's chain for the destination with dense index dst_arg, whose layout is resolved. Resolves
 * `any` of src1 and src2 in pd->attr: at most one dim other than 1 -> plain, otherwise dst's layout where
 * the dims are dst's, otherwise plain. Unimplemented with a reason for what it cannot serve. isa: DTP_ISA_*
 * bits to use. */
dnnl_tp_status_t dtp_postops_init(dtp_postops_t *po, dtp_pd_t *pd, int dst_arg, unsigned isa);
/* The same where columns are dim 1, the channels, and rows all other dims in their order. For
 * dtp_postops_apply; dtp_postops_apply_linear is not for this. */
dnnl_tp_status_t dtp_postops_init_channels(dtp_postops_t *po, dtp_pd_t *pd, int dst_arg, unsigned isa);

/* Applies the chain, which is of pd's plan, to tile[i * ld + j], rows row0 + i, cols col0 + j of dst;
 * i < rows, j < cols. The old dst (sum) is read from ctx->ptr[dst_arg], so the tile is stored afterwards. */
void dtp_postops_apply(const dtp_postops_t *po, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, float *tile,
                       int64_t ld, int64_t rows, int64_t cols, int64_t row0, int64_t col0);

/* The same for a run of elements: x[i] is the element of dst with row-major logical index index0 + i. */
void dtp_postops_apply_linear(const dtp_postops_t *po, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                              float *x, int64_t n, int64_t index0);

/* True when no tensor is read: the tile may then be dst itself. (A binary source may be dst's own memory.) */
bool dtp_postops_only_eltwise(const dtp_postops_t *po);

/* Recognises chains that a kernel can run in registers. A step is one of these when nothing else is needed
 * than what is said; a kernel that takes only some of them asks for each step i < po->len and otherwise uses
 * the tile. */
typedef enum {
    DTP_PO_FORM_OTHER = 0,
    DTP_PO_FORM_RELU,       /* alpha 0 */
    DTP_PO_FORM_CLIP,       /* min(cap, max(floor, x)) */
    DTP_PO_FORM_ADD_TENSOR, /* += src1[row * row_stride + col] of the step's dt, arg = its dense index */
    DTP_PO_FORM_ADD_COLS    /* += src1[col] */
} dtp_po_form_t;
typedef struct {
    dtp_po_form_t form;
    int arg;
    int64_t row_stride, offset0;
    float floor, cap;
} dtp_po_simple_t;
dtp_po_simple_t dtp_postops_simple(const dtp_postops_t *po, int i);

#endif
