/* See product_lt.h. */
#include "gpu/matmul/product_lt.h"

/* What the fastest ways of the library want of addresses; blocks of the engine's have more. */
enum { WIDE_ALIGNMENT = 16 };
/* The workspace that ways may ask for: what NVIDIA advises for compute capability 9.0. */
#define MOST_WORKSPACE_BYTES ((uint64_t)32 << 20)

#define LT_TRY(lt_, call, ...) DTP_TRY(dtp_gpu_lt_check(lt_, (lt_)->calls->call(__VA_ARGS__), #call))

static dtp_lt_type_t type_of(const dtp_matmul_operand_t *o) {
    return o->type == dnnl_tp_f32 ? DTP_LT_F32 : o->type == dnnl_tp_bf16 ? DTP_LT_BF16 : DTP_LT_F16;
}

/* ---- What the library takes ----------------------------------------------------------------------------- */

static dnnl_tp_status_t check_types(const dtp_matmul_args_t *a, bool has_bias) {
    DTP_DISPATCH(a->src.type == a->wei.type && (a->dst.type == a->src.type || a->dst.type == dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(!has_bias || a->bia.type == a->dst.type, UNSUPPORTED_DATA_TYPE);
    return dnnl_tp_success;
}

/* One dimension of the batch; a bias along the columns; rows of dst that do not overlap. */
static dnnl_tp_status_t check_layouts(const dtp_matmul_args_t *a, bool has_bias) {
    DTP_DISPATCH(a->m > 0 && a->n > 0 && a->k > 0 && a->matrices > 0, UNSUPPORTED_SHAPE);
    for (int b = 0; b < DTP_MATMUL_BATCH_DIMS - 1; ++b) DTP_DISPATCH(a->dim[b] == 1, UNSUPPORTED_SHAPE);
    DTP_DISPATCH(a->n == 1 || a->dst.column == 1, UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(!has_bias || (a->bia.row == 0 && (a->n == 1 || a->bia.column == 1)), UNSUPPORTED_LAYOUT);
    return dnnl_tp_success;
}

/* An epilogue computes in f32, first beta, then the bias, then one function. The relu that there is makes 0 of NaN; the tanh of gelu
 * is not known to be as precise as results of f32 want it. */
static dnnl_tp_status_t read_post_ops(dtp_gpu_lt_plan_t *plan, const dtp_post_ops_t *po,
                                      const dtp_matmul_args_t *a, uint32_t *epilogue) {
    int at = 0;
    *epilogue = plan->has_bias ? DTP_LT_EPILOGUE_BIAS : 0;
    if (at < po->len && po->entry[at].kind == dnnl_tp_sum) {
        const dtp_post_op_t *sum = &po->entry[at++];
        DTP_DISPATCH(sum->zero_point == 0 && sum->scale != 0 &&
                         (sum->sum_dt == dnnl_tp_data_type_undef || (int)sum->sum_dt == a->dst.type),
                     UNSUPPORTED_POST_OPS);
        plan->beta = sum->scale;
    }
    if (at < po->len && po->entry[at].kind == dnnl_tp_eltwise) {
        DTP_DISPATCH(po->entry[at++].alg == dnnl_tp_eltwise_gelu_tanh && a->dst.type != dnnl_tp_f32,
                     UNSUPPORTED_POST_OPS);
        *epilogue |= DTP_LT_EPILOGUE_GELU;
    }
    DTP_DISPATCH(at == po->len, UNSUPPORTED_POST_OPS);
    if (!*epilogue) *epilogue = DTP_LT_EPILOGUE_NONE;
    return dnnl_tp_success;
}

/* ---- Descriptors ---------------------------------------------------------------------------------------- */

/* A matrix of the library: `rows` behind each other, `columns` of them; as it lies, or as its transpose does. */
typedef struct {
    int64_t rows, columns, row, column, batch; /* sizes; strides */
    dtp_lt_type_t type;
    bool transposed;
} matrix_t;

/* One of the strides is 1, or there is one element along it; the other one is no shorter than the lines that it is between. */
static dnnl_tp_status_t orient(matrix_t *m) {
    if (m->rows == 1) m->row = 1;
    if (m->columns == 1) m->column = m->row == 1 ? m->rows : 1;
    if (m->row != 1) {
        const matrix_t t = *m;
        m->rows = t.columns;
        m->columns = t.rows;
        m->row = t.column;
        m->column = t.row;
        m->transposed = true;
    }
    DTP_DISPATCH(m->row == 1 && m->column >= m->rows, UNSUPPORTED_LAYOUT);
    return dnnl_tp_success;
}

static dnnl_tp_status_t set_batch(const dtp_gpu_lt_t *lt, dtp_lt_layout_t *layout, int32_t n,
                                  int64_t stride) {
    LT_TRY(lt, cublasLtMatrixLayoutSetAttribute, layout, DTP_LT_BATCH_COUNT, &n, sizeof n);
    LT_TRY(lt, cublasLtMatrixLayoutSetAttribute, layout, DTP_LT_BATCH_STRIDE, &stride, sizeof stride);
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_layout(const dtp_gpu_lt_t *lt, dtp_lt_layout_t *layout, const matrix_t *m,
                                    int32_t n) {
    dtp_lt_layout_t *made;
    LT_TRY(lt, cublasLtMatrixLayoutCreate, &made, m->type, (uint64_t)m->rows, (uint64_t)m->columns,
           m->column);
    *layout = *made;
    (void)lt->calls->cublasLtMatrixLayoutDestroy(made);
    return n > 1 ? set_batch(lt, layout, n, m->batch) : dnnl_tp_success;
}

static dnnl_tp_status_t make_layouts(dtp_gpu_lt_plan_t *plan, const dtp_matmul_args_t *a, bool *transpose_wei,
                                     bool *transpose_src) {
    enum { AT = DTP_MATMUL_BATCH_DIMS - 1 };
    const int32_t n = a->matrices;
    matrix_t wei = {a->n, a->k, a->wei.column, a->wei_k, a->wei.batch[AT], type_of(&a->wei), false};
    matrix_t src = {a->k, a->m, a->src_k, a->src.row, a->src.batch[AT], type_of(&a->src), false};
    matrix_t dst = {a->n, a->m, 1, a->m == 1 ? a->n : a->dst.row, a->dst.batch[AT], type_of(&a->dst), false};
    DTP_TRY(orient(&wei));
    DTP_TRY(orient(&src));
    DTP_DISPATCH(dst.column >= dst.rows, UNSUPPORTED_LAYOUT);
    *transpose_wei = wei.transposed;
    *transpose_src = src.transposed;
    DTP_TRY(make_layout(&plan->lt, &plan->wei, &wei, n));
    DTP_TRY(make_layout(&plan->lt, &plan->src, &src, n));
    return make_layout(&plan->lt, &plan->dst, &dst, n);
}

static dnnl_tp_status_t set_product(const dtp_gpu_lt_t *lt, dtp_lt_product_t *p,
                                    dtp_lt_of_product_t attribute, const void *value, size_t bytes) {
    LT_TRY(lt, cublasLtMatmulDescSetAttribute, p, attribute, value, bytes);
    return dnnl_tp_success;
}

static dnnl_tp_status_t make_product(dtp_gpu_lt_plan_t *plan, const dtp_matmul_args_t *a, uint32_t epilogue,
                                     bool tf32) {
    const dtp_gpu_lt_t *lt = &plan->lt;
    dtp_lt_product_t *made, *p = &plan->product;
    bool transposed[2];
    DTP_TRY(make_layouts(plan, a, &transposed[0], &transposed[1]));
    LT_TRY(lt, cublasLtMatmulDescCreate, &made, tf32 ? DTP_LT_COMPUTE_TF32 : DTP_LT_COMPUTE_F32, DTP_LT_F32);
    *p = *made;
    (void)lt->calls->cublasLtMatmulDescDestroy(made);
    for (int i = 0; i < 2; ++i) {
        const int32_t how = transposed[i] ? DTP_LT_TRANSPOSED : DTP_LT_PLAIN;
        DTP_TRY(set_product(lt, p, DTP_LT_TRANSPOSE_A + i, &how, sizeof how));
    }
    DTP_TRY(set_product(lt, p, DTP_LT_EPILOGUE, &epilogue, sizeof epilogue));
    const int64_t stride = a->bia.batch[DTP_MATMUL_BATCH_DIMS - 1];
    if (plan->has_bias && a->matrices > 1)
        DTP_TRY(set_product(lt, p, DTP_LT_BIAS_BATCH_STRIDE, &stride, sizeof stride));
    return dnnl_tp_success;
}

/* ---- Ways to compute ------------------------------------------------------------------------------------ */

/* Alignments in bytes: of A and B, and of C, D and the bias. */
typedef struct {
    uint32_t in, out;
} alignment_t;

static dnnl_tp_status_t fill_preference(const dtp_gpu_lt_t *lt, dtp_lt_preference_t *p,
                                        const alignment_t *alignment) {
    const uint64_t most = MOST_WORKSPACE_BYTES;
    const uint32_t schemes = DTP_LT_REDUCTION_COMPUTE_TYPE;
    LT_TRY(lt, cublasLtMatmulPreferenceSetAttribute, p, DTP_LT_MAX_WORKSPACE, &most, sizeof most);
    LT_TRY(lt, cublasLtMatmulPreferenceSetAttribute, p, DTP_LT_REDUCTION_SCHEMES, &schemes, sizeof schemes);
    for (int i = DTP_LT_ALIGNMENT_A; i <= DTP_LT_ALIGNMENT_D; ++i) {
        const uint32_t *bytes = i <= DTP_LT_ALIGNMENT_B ? &alignment->in : &alignment->out;
        LT_TRY(lt, cublasLtMatmulPreferenceSetAttribute, p, i, bytes, sizeof *bytes);
    }
    return dnnl_tp_success;
}

/* The address of a bias tells the library no more than its alignment. */
static dnnl_tp_status_t find_way(dtp_gpu_lt_plan_t *plan, int i, const alignment_t *alignment) {
    const dtp_gpu_lt_t *lt = &plan->lt;
    const void *bias = (const void *)(uintptr_t)alignment->out;
    dtp_lt_product_t p = plan->product;
    dtp_lt_preference_t *made, preference;
    dtp_lt_found_t found;
    int n = 0;
    if (plan->has_bias) DTP_TRY(set_product(lt, &p, DTP_LT_BIAS_POINTER, &bias, sizeof bias));
    LT_TRY(lt, cublasLtMatmulPreferenceCreate, &made);
    preference = *made;
    (void)lt->calls->cublasLtMatmulPreferenceDestroy(made);
    DTP_TRY(fill_preference(lt, &preference, alignment));
    LT_TRY(lt, cublasLtMatmulAlgoGetHeuristic, lt->handle, &p, &plan->wei, &plan->src, &plan->dst, &plan->dst,
           &preference, 1, &found, &n);
    DTP_DISPATCH(n > 0, LIBRARY_REFUSES);
    DTP_TRY(dtp_gpu_lt_check(lt, found.state, "cublasLtMatmulAlgoGetHeuristic"));
    plan->way[i].algo = found.algo;
    plan->way[i].workspace_bytes = found.workspace_bytes;
    return dnnl_tp_success;
}

static dnnl_tp_status_t ask(dtp_gpu_lt_plan_t *plan, const dtp_matmul_args_t *a, uint32_t epilogue,
                            bool tf32) {
    const alignment_t of_elements = {(uint32_t)dtp_type_size((dnnl_tp_data_type_t)a->src.type),
                                     (uint32_t)dtp_type_size((dnnl_tp_data_type_t)a->dst.type)};
    const alignment_t wide = {WIDE_ALIGNMENT, WIDE_ALIGNMENT};
    DTP_TRY(make_product(plan, a, epilogue, tf32));
    DTP_TRY(find_way(plan, 0, &of_elements));
    return find_way(plan, 1, &wide);
}

dnnl_tp_status_t dtp_gpu_lt_init(dtp_gpu_lt_plan_t *plan, dtp_pd_t *pd, const dtp_matmul_args_t *a,
                                 bool allows_tf32) {
    uint32_t epilogue;
    plan->has_bias = a->bia.type != 0;
    DTP_TRY(check_types(a, plan->has_bias));
    DTP_TRY(check_layouts(a, plan->has_bias));
    DTP_TRY(read_post_ops(plan, pd->attr->post_ops, a, &epilogue));
    DTP_TRY(dtp_gpu_lt_begin(pd, &plan->lt));
    const dnnl_tp_status_t status = ask(plan, a, epilogue, allows_tf32 && a->src.type == dnnl_tp_f32);
    dtp_gpu_lt_end(pd);
    DTP_TRY(status);
    const size_t narrow = plan->way[0].workspace_bytes, wide = plan->way[1].workspace_bytes;
    dtp_pd_book(pd, narrow > wide ? narrow : wide, 0);
    return dnnl_tp_success;
}

/* ---- Execution ------------------------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_gpu_lt_execute(const dtp_gpu_lt_plan_t *plan, const dtp_exec_ctx_t *ctx,
                                    const dtp_matmul_args_t *a) {
    const uintptr_t all =
        (uintptr_t)a->src.p | (uintptr_t)a->wei.p | (uintptr_t)a->dst.p | (uintptr_t)a->bia.p;
    const int way = all % WIDE_ALIGNMENT == 0;
    return dtp_gpu_lt_matmul(ctx, &plan->lt,
                             &(dtp_gpu_lt_matmul_t){.product = &plan->product,
                                                    .a_layout = &plan->wei,
                                                    .b_layout = &plan->src,
                                                    .d_layout = &plan->dst,
                                                    .a = a->wei.p,
                                                    .b = a->src.p,
                                                    .bias = a->bia.p,
                                                    .d = (void *)(uintptr_t)a->dst.p,
                                                    .algo = &plan->way[way].algo,
                                                    .workspace_bytes = plan->way[way].workspace_bytes,
                                                    .beta = plan->beta});
}
