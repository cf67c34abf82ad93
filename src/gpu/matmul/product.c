/* See product.h. */
#include "gpu/matmul/product.h"

#include <stdio.h>

enum {
    SRC = DTP_PRODUCT_SRC,
    WEI = DTP_PRODUCT_WEI,
    BIA = DTP_PRODUCT_BIA,
    DST = DTP_PRODUCT_DST,
    SRC_SCALE,
    WEI_SCALE,
    DST_SCALE
};
enum { OPERANDS = DST_SCALE + 1 };
static const int scale_arg[] = {DNNL_TP_ARG_SRC, DNNL_TP_ARG_WEIGHTS, DNNL_TP_ARG_DST};

static dtp_matmul_operand_t *operand(dtp_matmul_args_t *a, int i) {
    dtp_matmul_operand_t *const all[OPERANDS] = {[SRC] = &a->src,
                                                 [WEI] = &a->wei,
                                                 [BIA] = &a->bia,
                                                 [DST] = &a->dst,
                                                 [SRC_SCALE] = &a->src_scale,
                                                 [WEI_SCALE] = &a->wei_scale,
                                                 [DST_SCALE] = &a->dst_scale};
    return all[i];
}

/* ---- Strides ------------------------------------------------------------------------------------------ */

/* Of every operand along the dims of dst. */
typedef struct {
    int64_t of[OPERANDS][DNNL_TP_MAX_NDIMS];
} strides_t;

static void tensor_strides(int64_t *to, const dtp_md_t *md, const int *dim, int ndims) {
    for (int d = 0; d < ndims; ++d) {
        const int own = dim ? dim[d] : d;
        to[d] = own < 0 || md->dims[own] == 1 ? 0 : md->strides[own];
    }
}

/* Scales are dense in the masked dims of their tensor; those that vary along k are refused. */
static dnnl_tp_status_t scale_strides(int64_t *to, const dtp_quant_t *q, const dtp_md_t *md, const int *dim,
                                      int ndims) {
    int64_t own[DNNL_TP_MAX_NDIMS] = {0}, step = 1;
    int varying = 0, found = 0;
    DTP_DISPATCH(q->group_ndims == 0 && q->mask >> md->ndims == 0 && dtp_gpu_takes(q->data_type),
                 UNSUPPORTED_SCALES);
    for (int d = md->ndims; d-- > 0;) {
        if (!(q->mask >> d & 1) || md->dims[d] == 1) continue;
        own[d] = step;
        step *= md->dims[d];
        ++varying;
    }
    for (int d = 0; d < ndims; ++d) {
        const int at = dim ? dim[d] : d;
        to[d] = at < 0 ? 0 : own[at];
        found += to[d] != 0;
    }
    DTP_DISPATCH(found == varying, UNSUPPORTED_SCALES);
    return dnnl_tp_success;
}

static dnnl_tp_status_t all_strides(strides_t *s, dtp_matmul_args_t *a, const dtp_pd_t *pd,
                                    const dtp_gpu_problem_t *p) {
    const int nd = p->md[DST]->ndims;
    for (int i = SRC; i <= DST; ++i) {
        if (dtp_md_is_zero(p->md[i])) continue;
        tensor_strides(s->of[i], p->md[i], i == DST ? NULL : p->dim[i], nd);
        operand(a, i)->type = (int32_t)p->md[i]->data_type;
    }
    for (int i = 0; i < 3; ++i) {
        const dtp_quant_t *q = dtp_attr_scale(pd->attr, scale_arg[i]);
        const int of = i == 2 ? DST : i;
        if (!q) continue;
        DTP_TRY(scale_strides(s->of[SRC_SCALE + i], q, p->md[of], of == DST ? NULL : p->dim[of], nd));
        operand(a, SRC_SCALE + i)->type = (int32_t)q->data_type;
    }
    return dnnl_tp_success;
}

/* ---- Rows, columns and the batch ---------------------------------------------------------------------- */

/* Dimension d lies around one of `size` elements with these strides, in every operand. */
static bool lies_around(const strides_t *s, int d, const int64_t *stride, int64_t size) {
    for (int i = 0; i < OPERANDS; ++i)
        if (s->of[i][d] != stride[i] * size) return false;
    return true;
}
static void take_strides(int64_t *to, const strides_t *s, int d) {
    for (int i = 0; i < OPERANDS; ++i) to[i] = s->of[i][d];
}

/* Sizes and strides of dst's dims in front of the last, and what of them rows cover: dims first.. of dst. */
static dnnl_tp_status_t split_dims(dtp_gpu_product_t *plan, const strides_t *s, const dtp_md_t *dst,
                                   int *first) {
    dtp_matmul_args_t *a = &plan->args;
    const int nd = dst->ndims;
    int64_t rows = dst->dims[nd - 2], stride[OPERANDS], matrices = 1;
    int d = nd - 3, at = DTP_MATMUL_BATCH_DIMS;
    take_strides(stride, s, nd - 2);
    for (; d >= 0; --d) {
        if (dst->dims[d] == 1) continue;
        if (s->of[WEI][d] != 0 || (rows != 1 && !lies_around(s, d, stride, rows))) break;
        if (rows == 1) take_strides(stride, s, d);
        rows *= dst->dims[d];
    }
    *first = d + 1;
    for (int i = 0; i < OPERANDS; ++i) {
        operand(a, i)->row = stride[i];
        operand(a, i)->column = s->of[i][nd - 1];
    }
    for (int b = 0; b < DTP_MATMUL_BATCH_DIMS; ++b) a->dim[b] = 1;
    for (; d >= 0; --d) {
        if (dst->dims[d] == 1) continue;
        if (at < DTP_MATMUL_BATCH_DIMS && lies_around(s, d, stride, a->dim[at])) {
            a->dim[at] *= (int32_t)dst->dims[d];
            matrices *= dst->dims[d];
            continue;
        }
        DTP_DISPATCH(--at >= 0, UNSUPPORTED_SHAPE);
        take_strides(stride, s, d);
        for (int i = 0; i < OPERANDS; ++i) operand(a, i)->batch[at] = stride[i];
        a->dim[at] = (int32_t)dst->dims[d];
        matrices *= dst->dims[d];
    }
    DTP_DISPATCH(rows <= INT32_MAX / 2 && dst->dims[nd - 1] <= INT32_MAX / 2 && matrices <= INT32_MAX,
                 UNSUPPORTED_SHAPE);
    a->m = a->plan_m = (int32_t)rows;
    a->n = (int32_t)dst->dims[nd - 1];
    a->matrices = (int32_t)matrices;
    return dnnl_tp_success;
}

/* Columns of dst lie behind each other: its transpose is computed, from the transposed operands. */
static void swap_roles(dtp_gpu_product_t *plan) {
    dtp_matmul_args_t *a = &plan->args;
    plan->swapped = true;
#define SWAP(type, x, y)   \
    do {                   \
        const type t_ = x; \
        x = y;             \
        y = t_;            \
    } while (0)
    for (int i = 0; i < OPERANDS; ++i) SWAP(int64_t, operand(a, i)->row, operand(a, i)->column);
    SWAP(dtp_matmul_operand_t, a->src, a->wei);
    SWAP(dtp_matmul_operand_t, a->src_scale, a->wei_scale);
    SWAP(int64_t, a->src_k, a->wei_k);
    SWAP(int32_t, a->m, a->n);
#undef SWAP
    a->plan_m = a->m;
}

/* How the kernel counts the elements of dst: matrices, rows, columns. first: of the dims that rows cover. */
static dtp_gpu_order_t order_of_dst(const dtp_gpu_product_t *plan, const dtp_md_t *dst, int first) {
    dtp_gpu_order_t order = dtp_gpu_order_logical(dst);
    if (!plan->swapped) return order;
    order.n = first;
    order.dim[order.n++] = dst->ndims - 1;
    for (int d = first; d < dst->ndims - 1; ++d) order.dim[order.n++] = d;
    return order;
}

/* ---- Kernels ------------------------------------------------------------------------------------------ */

/* One of the strides becomes 1: that along k, or that across; where there is one element along it, it may. */
typedef enum { ALONG_K, ACROSS, NEITHER } lie_t;
static lie_t how_it_lies(int64_t *k_stride, int64_t k, int64_t *stride, int64_t n) {
    if (*k_stride == 1 && k > 1) return ALONG_K;
    if (*stride == 1 || n == 1) {
        *stride = 1;
        return ACROSS;
    }
    if (k > 1) return NEITHER;
    *k_stride = 1;
    return ALONG_K;
}

/* Bytes to which every line of an operand is aligned where element 0 is. line: elements between lines. */
static int width_of(uint64_t bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 2;
}
static int line_width(const dtp_matmul_args_t *a, const dtp_matmul_operand_t *o, int64_t line) {
    uint64_t all = (uint64_t)line;
    for (int b = 0; b < DTP_MATMUL_BATCH_DIMS; ++b)
        if (a->dim[b] > 1) all |= (uint64_t)o->batch[b];
    return width_of(all * dtp_type_size((dnnl_tp_data_type_t)o->type));
}

static int64_t tiles_of(const dtp_gpu_product_t *plan, int64_t rows) {
    if (!plan->tile_m)
        return dtp_div_up(plan->args.matrices * rows * dtp_div_up(plan->args.n, DTP_MATMUL_COLUMNS),
                          plan->threads);
    return dtp_div_up(rows, plan->tile_m) * dtp_div_up(plan->args.n, plan->tile_n) * plan->args.matrices;
}

static void set_tile(dtp_gpu_product_t *plan, int tile_m, int tile_n, int threads, int shared_bytes) {
    plan->tile_m = tile_m;
    plan->tile_n = tile_n;
    plan->threads = threads;
    plan->shared_bytes = (uint32_t)shared_bytes;
}

/* Number of a kernel of matrix instructions. */
enum { MMA_SRC_ACROSS = 2 };
static int mma_kernel(bool half, bool large, bool src_across, bool wei_across) {
    return half << 3 | large << 2 | (src_across ? MMA_SRC_ACROSS : 0) | wei_across;
}
/* found: those of run-time dims; NULL: it is looked for. */
static dnnl_tp_status_t find_kernel(const dtp_pd_t *pd, const dtp_cu_function_t *found, int which,
                                    dtp_cu_function_t *kernel) {
    static const char *const orders[] = {"nt", "nn", "tt", "tn"}; /* src across, weights across */
    char name[64] = "dtp_matmul_any";
    if (found) {
        *kernel = found[which];
        return dnnl_tp_success;
    }
    if (which == DTP_GPU_PRODUCT_SIMT_KERNEL)
        return dtp_gpu_kernel(pd, DTP_GPU_MODULE_matmul_simt, "dtp_matmul_simt_f32", DTP_MATMUL_SIMT_SHARED,
                              kernel);
    if (which == DTP_GPU_PRODUCT_FEW_KERNEL)
        return dtp_gpu_kernel(pd, DTP_GPU_MODULE_matmul_simt, "dtp_matmul_few_f32", DTP_MATMUL_FEW_SHARED,
                              kernel);
    if (which == DTP_GPU_PRODUCT_ANY_KERNEL || which == DTP_GPU_PRODUCT_JOIN_KERNEL)
        return dtp_gpu_kernel(pd, DTP_GPU_MODULE_matmul_simt,
                              which == DTP_GPU_PRODUCT_ANY_KERNEL ? "dtp_matmul_any" : "dtp_matmul_join", 0,
                              kernel);
    const bool large = which >> 2 & 1;
    (void)snprintf(name, sizeof name, "dtp_matmul_%s_%s_%s", which >> 3 ? "half" : "tf32",
                   large ? "large" : "small", orders[which & 3]);
    return dtp_gpu_kernel(pd, DTP_GPU_MODULE_matmul_mma, name,
                          large ? DTP_MATMUL_LARGE_SHARED : DTP_MATMUL_SMALL_SHARED, kernel);
}

static dnnl_tp_status_t mma_init(dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                 const dtp_cu_function_t *found) {
    dtp_matmul_args_t *a = &plan->args;
    const bool half = a->src.type != dnnl_tp_f32;
    DTP_DISPATCH(half || plan->tf32, UNSUPPORTED_DATA_TYPE);
    const lie_t src = how_it_lies(&a->src_k, a->k, &a->src.row, a->m);
    const lie_t wei = how_it_lies(&a->wei_k, a->k, &a->wei.column, a->n);
    DTP_DISPATCH(src != NEITHER && wei != NEITHER && (half || src == ALONG_K), UNSUPPORTED_LAYOUT);
    plan->src_width = line_width(a, &a->src, src == ALONG_K ? a->src.row : a->src_k);
    plan->wei_width = line_width(a, &a->wei, wei == ALONG_K ? a->wei.column : a->wei_k);
    set_tile(plan, DTP_MATMUL_LARGE, DTP_MATMUL_LARGE, DTP_MATMUL_LARGE_THREADS, DTP_MATMUL_LARGE_SHARED);
    const bool large = tiles_of(plan, a->m) >= dtp_gpu_device(pd)->multiprocessors;
    if (!large)
        set_tile(plan, DTP_MATMUL_SMALL, DTP_MATMUL_SMALL, DTP_MATMUL_SMALL_THREADS, DTP_MATMUL_SMALL_SHARED);
    return find_kernel(pd, found, mma_kernel(half, large, src == ACROSS, wei == ACROSS), &plan->kernel);
}

static dnnl_tp_status_t simt_init(dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                  const dtp_cu_function_t *found) {
    dtp_matmul_args_t *a = &plan->args;
    DTP_DISPATCH(a->src.type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    const lie_t src = how_it_lies(&a->src_k, a->k, &a->src.row, a->m);
    const lie_t wei = how_it_lies(&a->wei_k, a->k, &a->wei.column, a->n);
    plan->src_width = line_width(a, &a->src, src == ACROSS ? a->src_k : a->src.row);
    plan->wei_width = line_width(a, &a->wei, wei == ACROSS ? a->wei_k : a->wei.column);
    if (a->m <= DTP_MATMUL_FEW_ROWS) {
        set_tile(plan, DTP_MATMUL_FEW_ROWS, DTP_MATMUL_FEW_COLUMNS, DTP_MATMUL_SIMT_THREADS,
                 DTP_MATMUL_FEW_SHARED);
        return find_kernel(pd, found, DTP_GPU_PRODUCT_FEW_KERNEL, &plan->kernel);
    }
    set_tile(plan, DTP_MATMUL_SIMT_ROWS, DTP_MATMUL_SIMT_COLUMNS, DTP_MATMUL_SIMT_THREADS,
             DTP_MATMUL_SIMT_SHARED);
    return find_kernel(pd, found, DTP_GPU_PRODUCT_SIMT_KERNEL, &plan->kernel);
}

static dnnl_tp_status_t any_init(dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                 const dtp_cu_function_t *found) {
    set_tile(plan, 0, 0, DTP_MATMUL_ANY_THREADS, 0);
    DTP_DISPATCH(tiles_of(plan, plan->args.m) <= INT32_MAX, UNSUPPORTED_SHAPE);
    return find_kernel(pd, found, DTP_GPU_PRODUCT_ANY_KERNEL, &plan->kernel);
}

/* Long sums of few tiles are shared: so that each multiprocessor has a tile, as long as a part is long. *bytes: of the sums of parts;
 * at most so many on entry. */
enum { PART_STEP = 64, SHORTEST_PART = 512, MOST_PARTS = 32 };
#define MOST_PARTIAL_BYTES ((int64_t)64 << 20)
#define RUNTIME_PARTIAL_BYTES ((int64_t)8 << 20) /* with run-time dims they are booked whatever comes */
static dnnl_tp_status_t share_sums(dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                   const dtp_cu_function_t *found, int64_t *bytes) {
    dtp_matmul_args_t *a = &plan->args;
    const int64_t most = *bytes;
    *bytes = 0;
    DTP_DISPATCH(tiles_of(plan, a->m) <= INT32_MAX / MOST_PARTS, UNSUPPORTED_SHAPE);
    const int64_t tiles = dtp_max64(tiles_of(plan, a->m), 1);
    int64_t parts =
        dtp_min64(dtp_gpu_device(pd)->multiprocessors / tiles, dtp_min64(a->k / SHORTEST_PART, MOST_PARTS));
    const int64_t row = dtp_round_up(a->n, DTP_MATMUL_COLUMNS),
                  matrix_bytes = (int64_t)a->matrices * a->m * row * (int64_t)sizeof(float);
    if (matrix_bytes > 0) parts = dtp_min64(parts, most / matrix_bytes);
    if (parts < 2) return dnnl_tp_success;
    a->k_part = (int32_t)dtp_round_up(dtp_div_up(a->k, parts), PART_STEP);
    a->parts = (int32_t)dtp_div_up(a->k, a->k_part);
    a->partial_row = row;
    *bytes = a->parts * matrix_bytes;
    return find_kernel(pd, found, DTP_GPU_PRODUCT_JOIN_KERNEL, &plan->join);
}

/* ---- Creation ----------------------------------------------------------------------------------------- */

static bool is_float(dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_f32 || dt == dnnl_tp_bf16 || dt == dnnl_tp_f16;
}

/* What does not depend on dims. */
static dnnl_tp_status_t check(const dtp_pd_t *pd, const dtp_gpu_problem_t *p, dtp_gpu_product_kind_t kind) {
    const dnnl_tp_data_type_t src = p->md[SRC]->data_type, wei = p->md[WEI]->data_type;
    DTP_DISPATCH(is_float(src) && is_float(wei) && (kind == DTP_GPU_PRODUCT_ANY || src == wei) &&
                     is_float(p->md[DST]->data_type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_is_zero(p->md[BIA]) || dtp_gpu_takes(p->md[BIA]->data_type), UNSUPPORTED_DATA_TYPE);
    for (int i = SRC; i <= DST; ++i)
        DTP_DISPATCH(dtp_md_is_zero(p->md[i]) || dtp_md_is_plain(p->md[i]), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(
        dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS | (kind == DTP_GPU_PRODUCT_CUBLASLT ? 0 : DTP_ATTR_SCALES)),
        UNSUPPORTED_ATTR);
    return dnnl_tp_success;
}

static bool takes_runs(const dtp_matmul_args_t *a) {
    uint64_t all = (uint64_t)a->dst.row;
    for (int b = 0; b < DTP_MATMUL_BATCH_DIMS; ++b) all |= (uint64_t)a->dst.batch[b];
    return a->dst.column == 1 && all % DTP_MATMUL_COLUMNS == 0;
}

/* Sizes and strides, in a plan that is zero. *first: as of order_of_dst. */
static dnnl_tp_status_t init_geometry(dtp_gpu_product_t *plan, const dtp_pd_t *pd, const dtp_gpu_problem_t *p,
                                      int *first) {
    dtp_matmul_args_t *a = &plan->args;
    strides_t strides;
    for (int i = 0; i < OPERANDS; ++i)
        for (int d = 0; d < p->md[DST]->ndims; ++d) strides.of[i][d] = 0;
    DTP_DISPATCH(p->k <= INT32_MAX / 2, UNSUPPORTED_SHAPE);
    DTP_TRY(all_strides(&strides, a, pd, p));
    DTP_TRY(split_dims(plan, &strides, p->md[DST], first));
    a->k = a->k_part = (int32_t)p->k;
    a->parts = 1;
    a->src_k = p->src_k;
    a->wei_k = p->wei_k;
    if (a->dst.column != 1 && a->dst.row == 1 && a->n > 1) swap_roles(plan);
    return dnnl_tp_success;
}

/* What follows from post-operations and the geometry. */
static void init_rest(dtp_gpu_product_t *plan, const dtp_pd_t *pd) {
    dtp_matmul_args_t *a = &plan->args;
    a->post_op_runs = plan->post_ops.has_runs && a->n % DTP_MATMUL_COLUMNS == 0;
    a->has_rest = a->bia.row != 0 || a->post_ops.len > 0 || dtp_attr_scale(pd->attr, DNNL_TP_ARG_DST) != NULL;
    plan->dst_wide = takes_runs(a);
}

dnnl_tp_status_t dtp_gpu_product_init(dtp_gpu_product_t *plan, dtp_pd_t *pd, const dtp_gpu_problem_t *p,
                                      dtp_gpu_product_kind_t kind) {
    const dtp_md_t *dst = p->md[DST];
    int first;
    DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
    DTP_TRY(check(pd, p, kind));
    DTP_TRY(init_geometry(plan, pd, p, &first));
    plan->tf32 = dtp_gpu_allows_tf32(pd);
    if (kind == DTP_GPU_PRODUCT_CUBLASLT) return dtp_gpu_lt_init(&plan->lt, pd, &plan->args, plan->tf32);
    const dtp_gpu_order_t order = order_of_dst(plan, dst, first);
    DTP_TRY(dtp_gpu_post_ops_init(&plan->post_ops, pd, DST, dst, &order));
    plan->args.post_ops = plan->post_ops.chain;
    init_rest(plan, pd);
    if (kind == DTP_GPU_PRODUCT_ANY) return any_init(plan, pd, NULL);
    DTP_TRY(kind == DTP_GPU_PRODUCT_MMA ? mma_init(plan, pd, NULL) : simt_init(plan, pd, NULL));
    int64_t bytes = MOST_PARTIAL_BYTES;
    DTP_TRY(share_sums(plan, pd, NULL, &bytes));
    if (bytes) dtp_pd_book(pd, (size_t)bytes, 0);
    return dnnl_tp_success;
}

/* ---- Run-time dims ------------------------------------------------------------------------------------ */

/* A descriptor of known dims that stands for one of run-time dims. */
static void stand_in(dtp_md_t *md, const dtp_md_t *actual) {
    enum { SIZE = 2 };
    *md = *actual;
    if (dtp_md_is_zero(md) || !dtp_md_has_runtime(md)) return;
    for (int d = 0; d < md->ndims; ++d)
        if (md->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) md->dims[d] = SIZE;
    md->offset0 = 0;
    dtp_md_make_plain(md);
}

/* Those that products of these types may need. */
static dnnl_tp_status_t find_kernels(dtp_gpu_runtime_product_t *plan, const dtp_pd_t *pd,
                                     const dtp_gpu_problem_t *p) {
    const bool half = p->md[SRC]->data_type != dnnl_tp_f32,
               same = p->md[SRC]->data_type == p->md[WEI]->data_type;
    for (int k = 0; k < DTP_GPU_PRODUCT_KERNELS; ++k) {
        const bool mma = k < DTP_GPU_PRODUCT_MMA_KERNELS;
        if (mma && (!same || half != k >> 3 || (!half && !plan->tf32))) continue;
        if (mma && !half && (k & MMA_SRC_ACROSS)) continue; /* there is none of tf32 */
        if ((k == DTP_GPU_PRODUCT_SIMT_KERNEL || k == DTP_GPU_PRODUCT_FEW_KERNEL) && (!same || half))
            continue;
        DTP_TRY(find_kernel(pd, NULL, k, &plan->kernel[k]));
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gpu_runtime_product_init(dtp_gpu_runtime_product_t *plan, dtp_pd_t *pd,
                                              const dtp_gpu_problem_t *p) {
    dtp_gpu_product_t known = {.swapped = false};
    dtp_gpu_problem_t standing = *p;
    dtp_md_t md[DST + 1];
    int first;
    DTP_TRY(check(pd, p, DTP_GPU_PRODUCT_ANY));
    for (int i = SRC; i <= DST; ++i) {
        stand_in(&md[i], p->md[i]);
        standing.md[i] = &md[i];
    }
    standing.k = standing.src_k = standing.wei_k = 1;
    DTP_TRY(init_geometry(&known, pd, &standing, &first)); /* scales */
    const dtp_gpu_order_t order = order_of_dst(&known, p->md[DST], first);
    DTP_TRY(dtp_gpu_post_ops_init(&plan->post_ops, pd, DST, p->md[DST], &order));
    plan->tf32 = dtp_gpu_allows_tf32(pd);
    plan->args_bytes = sizeof known.args;
    dtp_pd_book(pd, (size_t)RUNTIME_PARTIAL_BYTES, 0);
    return find_kernels(plan, pd, p);
}

/* What is zero, or known, in front of the dims. A plan is long: what is not read of it here is left as it is. */
static void begin_plan(dtp_gpu_product_t *made, const dtp_gpu_runtime_product_t *plan) {
    memset(&made->args, 0, plan->args_bytes);
    made->kernel = made->join = NULL;
    made->swapped = false;
    made->tf32 = plan->tf32;
    made->src_width = made->wei_width = 0;
    made->lt.lt.handle = NULL;
}

/* The plan of an execution: with the fastest kernel of those that were found. */
static dnnl_tp_status_t make_plan(dtp_gpu_product_t *made, const dtp_gpu_runtime_product_t *plan,
                                  const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, const dtp_gpu_problem_t *p) {
    const dtp_cu_function_t *found = plan->kernel;
    dtp_gpu_order_t order, *used = NULL;
    int64_t bytes = RUNTIME_PARTIAL_BYTES;
    int first;
    begin_plan(made, plan);
    DTP_TRY(init_geometry(made, pd, p, &first));
    if (plan->post_ops.chain.tensors) {
        order = order_of_dst(made, p->md[DST], first);
        used = &order;
    }
    DTP_TRY(dtp_gpu_post_ops_actual(&made->post_ops, &made->args.post_ops, &plan->post_ops, pd, ctx->md,
                                    p->md[DST], used));
    init_rest(made, pd);
    const bool same = made->args.src.type == made->args.wei.type;
    if (!same || (mma_init(made, pd, found) && simt_init(made, pd, found))) return any_init(made, pd, found);
    return share_sums(made, pd, found, &bytes);
}

/* ---- Execution ---------------------------------------------------------------------------------------- */

static void bind(dtp_matmul_args_t *a, const dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                 const dtp_exec_ctx_t *ctx, const dtp_md_t *const md[4]) {
    static const int swapped[OPERANDS] = {WEI, SRC, BIA, DST, WEI_SCALE, SRC_SCALE, DST_SCALE};
    for (int i = SRC; i <= DST; ++i)
        if (!dtp_md_is_zero(md[i]))
            operand(a, plan->swapped ? swapped[i] : i)->p = dtp_gpu_data(ctx, i, md[i]);
    for (int i = 0; i < 3; ++i) {
        const int index = dtp_pd_scale_index(pd, scale_arg[i]), at = SRC_SCALE + i;
        if (index >= 0) operand(a, plan->swapped ? swapped[at] : at)->p = ctx->ptr[index];
    }
    a->src_width = dtp_min64(plan->src_width, width_of((uintptr_t)a->src.p));
    a->wei_width = dtp_min64(plan->wei_width, width_of((uintptr_t)a->wei.p));
    a->dst_wide =
        plan->dst_wide &&
        dtp_gpu_is_aligned(a->dst.p, DTP_MATMUL_COLUMNS * dtp_type_size((dnnl_tp_data_type_t)a->dst.type));
    dtp_gpu_post_ops_bind(&a->post_ops, &plan->post_ops, pd, ctx);
}

/* a: the arguments of plan, which get their pointers. */
static dnnl_tp_status_t submit(const dtp_gpu_product_t *plan, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                               const dtp_md_t *const md[4], dtp_matmul_args_t *a) {
    bind(a, plan, pd, ctx, md);
    if (plan->lt.lt.handle) return dtp_gpu_lt_execute(&plan->lt, ctx, a);
    if (ctx->rows >= 0) a->m = (int32_t)ctx->rows;
    if (plan->join) a->partial = (float *)(void *)ctx->scratch;
    dtp_gpu_shape_t shape = {
        {(uint32_t)(tiles_of(plan, a->m) * a->parts)}, {(uint32_t)plan->threads}, plan->shared_bytes};
    DTP_TRY(dtp_gpu_launch(ctx, plan->kernel, &shape, a));
    if (!plan->join) return dnnl_tp_success;
    const int64_t threads = (int64_t)a->matrices * a->m * dtp_div_up(a->n, DTP_MATMUL_COLUMNS);
    return dtp_gpu_launch_threads(ctx, plan->join, threads, DTP_MATMUL_ANY_THREADS, a);
}

dnnl_tp_status_t dtp_gpu_product_execute(const dtp_gpu_product_t *plan, const dtp_pd_t *pd,
                                         const dtp_exec_ctx_t *ctx, const dtp_md_t *const md[4]) {
    dtp_matmul_args_t a = plan->args;
    return submit(plan, pd, ctx, md, &a);
}

dnnl_tp_status_t dtp_gpu_runtime_product_execute(const dtp_gpu_runtime_product_t *plan, const dtp_pd_t *pd,
                                                 const dtp_exec_ctx_t *ctx, const dtp_gpu_problem_t *p) {
    dtp_gpu_product_t made;
    const dnnl_tp_status_t status = make_plan(&made, plan, pd, ctx, p);
    if (status == dnnl_tp_unimplemented)
        return dtp_fail(status, DTP_UNSUPPORTED_LAYOUT, "dimensions and strides of this execution");
    return status ? status : submit(&made, pd, ctx, p->md, &made.args);
}
