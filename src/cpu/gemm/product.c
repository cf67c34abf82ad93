/* See product.h. Chains that fit are run in the kernel ([relu] [addend] [relu] [any eltwise] on a dense f32
 * dst; on one of bf16 where the kernels are of bf16, without the last step); scales and every other chain, layout or type of dst and bias go through f32 tiles. */
#include "cpu/gemm/product.h"

#include <stdio.h>

#include "cpu/gemm/fused.h"

const dtp_ukr_set_t *dtp_product_set(const dtp_pd_t *pd, dnnl_tp_data_type_t src, dnnl_tp_data_type_t wei) {
    const unsigned bf16 = pd->impl->isa & DTP_ISA_AVX512_BF16;
    if (bf16 && src != dnnl_tp_bf16) return NULL;
    return dtp_ukr_set(src, wei, dnnl_tp_f32, (dtp_pd_isa(pd) & ~(unsigned)DTP_ISA_AVX512_BF16) | bf16);
}

/* Elements along k that a k-step takes. */
static int elems_per_step(dnnl_tp_data_type_t dt) { return (int)(DTP_UKR_STEP_BYTES / dtp_type_size(dt)); }

int dtp_product_panel(const dtp_ukr_set_t *ukr, dnnl_tp_data_type_t wei, int64_t m, int64_t n, int64_t k,
                      bool rows_vary, int64_t l2_bytes) {
    const bool few_rows = !rows_vary && m >= 0 && m <= ukr->wide_rows;
    /* What comes from beyond the L2 comes faster in several streams. */
    const bool near = n >= DTP_GEMM_WIDE && k >= 0 && k <= l2_bytes / (n * (int64_t)dtp_type_size(wei));
    return few_rows && near ? DTP_GEMM_WIDE : DTP_UKR_PANEL;
}

void dtp_product_packed_blocks(char *text, size_t size, char k, char n, int panel, dnnl_tp_data_type_t wei) {
    const int step = elems_per_step(wei);
    const int at = snprintf(text, size, "%d%c%d%c", DTP_UKR_PANEL / step, k, panel, n);
    if (step > 1 && at > 0 && (size_t)at < size) snprintf(text + at, size - (size_t)at, "%d%c", step, k);
}

int dtp_product_packed_panel(const dtp_md_t *md, int k_dim, int n_dim) {
    const int step = elems_per_step(md->data_type);
    if (md->format_kind != dnnl_tp_blocked || step == 0 || md->inner_nblks != 2 + (step > 1)) return 0;
    const bool packed = md->inner_idxs[0] == k_dim && md->inner_idxs[1] == n_dim &&
                        md->inner_blks[0] * step == DTP_UKR_PANEL &&
                        (md->inner_blks[1] == DTP_UKR_PANEL || md->inner_blks[1] == DTP_GEMM_WIDE) &&
                        (step == 1 || (md->inner_idxs[2] == k_dim && md->inner_blks[2] == step)) &&
                        md->strides[k_dim] == DTP_UKR_PANEL * md->inner_blks[1];
    return packed ? (int)md->inner_blks[1] : 0;
}

/* ---- Creation ---------------------------------------------------------------------------------------- */

void dtp_product_operands(dtp_product_geometry_t *geo, const dtp_md_t *src, const dtp_md_t *wei,
                          const dtp_md_t *bia, const dtp_md_t *dst) {
    const int n = dst->ndims - 1, m = n - 1;
    geo->m = dst->dims[m];
    geo->n = dst->dims[n];
    geo->dst_m = dst->strides[m];
    geo->dst_n = geo->n == 1 ? 1 : dst->strides[n];
    geo->src_0 = src->offset0;
    geo->wei_0 = wei->offset0;
    geo->dst_0 = dst->offset0;
    geo->src_dt = src->data_type;
    geo->wei_dt = wei->data_type;
    geo->dst_dt = dst->data_type;
    geo->has_bias = !dtp_md_is_zero(bia);
    if (!geo->has_bias) return;
    geo->bia_0 = bia->offset0;
    geo->bia_dt = bia->data_type;
}

/* Takes what a kernel can do itself; false: through tiles. */
static bool product_fuse(dtp_product_t *p, const dtp_product_geometry_t *geo) {
    dtp_gemm_t *g = &p->common;
    if (geo->dst_n != 1 || p->scales.any) return false;
    if (!dtp_fused_types(g->ukr, geo->dst_dt, p->bia_dt, &g->flags)) return false;
    if (geo->has_bias) {
        if (geo->bia_m != 0 || (geo->bia_n != 1 && geo->n != 1)) return false;
        g->has_bias = true;
    }
    dtp_fused_t f;
    const bool passes = geo->k < 0 || geo->k / elems_per_step(geo->src_dt) > DTP_GEMM_K_CHAIN;
    if (!dtp_fused_init(&f, &p->po, passes, g->ukr->is_bf16)) return false;
    if (f.act && geo->dst_dt != dnnl_tp_f32) return false;
    g->flags |= f.flags;
    g->floor = f.floor;
    g->cap = f.cap;
    g->has_add = f.has_add;
    g->add_is_c = f.add_is_c;
    g->add_scale = f.add_scale;
    g->act = f.act;
    g->act_alpha = f.act_alpha;
    g->act_beta = f.act_beta;
    p->add_arg = f.add_arg;
    p->add_row_stride = f.add_row_stride;
    p->add_offset = f.add_offset;
    return true;
}

/* Dims that all operands walk evenly become one; a dim that the weights do not have becomes rows. */
static void product_batch(const dtp_product_t *p, dtp_product_shape_t *s, const dtp_product_geometry_t *geo,
                          int64_t *m) {
    dtp_gemm_t *g = &s->gemm;
    const int64_t dst_bytes = (int64_t)dtp_type_size(p->dst_dt),
                  bia_bytes = (int64_t)dtp_type_size(p->bia_dt), add_bytes = dtp_ukr_add_bytes(g->flags);
    int64_t rows = 1; /* of the addend below dim d */
    for (int d = geo->nbatch - 1; d >= 0; --d) rows *= geo->size[d];
    g->nbatch = 0;
    for (int d = 0; d < geo->nbatch; ++d) {
        const int64_t size = geo->size[d];
        rows = size ? rows / size : 0;
        if (size == 1) continue;
        const int64_t a = geo->src_b[d] * p->src_bytes, b = geo->wei_b[d] * p->wei_bytes,
                      c = geo->dst_b[d] * dst_bytes, bias = geo->has_bias ? geo->bia_b[d] * bia_bytes : 0,
                      add = p->add_row_stride * add_bytes * *m * rows;
        int e = g->nbatch - 1;
        if (e >= 0 && g->batch_a[e] == a * size && g->batch_b[e] == b * size && g->batch_c[e] == c * size &&
            g->batch_bias[e] == bias * size) {
            g->batch_size[e] *= size;
        } else {
            e = g->nbatch++;
            g->batch_size[e] = size;
        }
        g->batch_a[e] = a;
        g->batch_b[e] = b;
        g->batch_c[e] = c;
        g->batch_bias[e] = bias;
        g->batch_add[e] = add;
    }
    if (g->nbatch > 0) {
        const int e = g->nbatch - 1;
        const bool even = g->batch_a[e] == g->sam * *m && g->batch_c[e] == geo->dst_m * dst_bytes * *m;
        if (even && g->batch_b[e] == 0 && !g->touch_b && g->batch_bias[e] == 0 &&
            (!geo->has_bias || geo->bia_m == 0)) {
            *m *= g->batch_size[e];
            --g->nbatch;
        }
    }
}

static dtp_gemm_a_t product_a_form(const dtp_product_t *p, const dtp_product_geometry_t *geo) {
    const bool dense = geo->src_k == 1 || geo->k == 1, whole = geo->k % p->common.ukr->elems == 0;
    if (dense && whole && !p->common.touch_a) return DTP_GEMM_A_DIRECT;
    if (dense && !whole) return DTP_GEMM_A_ANY; /* the last k-step would read behind the row */
    return geo->src_m == 1 || geo->m == 1 ? DTP_GEMM_A_TRANS : DTP_GEMM_A_ANY;
}

static dtp_gemm_b_t product_b_form(const dtp_product_geometry_t *geo) {
    if (geo->panel) return geo->panel == DTP_GEMM_WIDE ? DTP_GEMM_B_WIDE : DTP_GEMM_B_PACKED;
    if (geo->wei_n == 1 || geo->n == 1) return DTP_GEMM_B_PLAIN;
    return geo->wei_k == 1 || geo->k == 1 ? DTP_GEMM_B_TRANS : DTP_GEMM_B_ANY;
}

static void product_settle(const dtp_product_t *p, dtp_product_shape_t *s,
                           const dtp_product_geometry_t *geo) {
    dtp_gemm_t *g = &s->gemm;
    *g = p->common;
    g->a_form = product_a_form(p, geo);
    g->b_form = product_b_form(geo);
    g->sam = geo->src_m * p->src_bytes;
    g->sak = geo->src_k * p->src_bytes;
    g->sbk = geo->panel ? geo->panel * DTP_UKR_STEP_BYTES : geo->wei_k * p->wei_bytes;
    g->sbn = geo->wei_n * p->wei_bytes;
    g->scm = geo->dst_m * (int64_t)dtp_type_size(p->dst_dt);
    g->sadd = p->add_row_stride * dtp_ukr_add_bytes(g->flags);
    const int64_t bia_bytes = (int64_t)dtp_type_size(p->bia_dt),
                  dst_bytes = (int64_t)dtp_type_size(p->dst_dt);
    s->off_src = geo->src_0 * p->src_bytes;
    s->off_wei = geo->wei_0 * p->wei_bytes;
    s->off_bia = geo->bia_0 * bia_bytes;
    s->off_dst = geo->dst_0 * dst_bytes;
    s->off_add = p->add_offset * dtp_ukr_add_bytes(g->flags);
    s->dst_m = geo->dst_m;
    s->dst_n = geo->dst_n;
    s->bia_m = geo->has_bias ? geo->bia_m : 0;
    s->bia_n = geo->has_bias ? geo->bia_n : 0;
    int64_t m = geo->m;
    product_batch(p, s, geo, &m);
    const int64_t steps = dtp_div_up(geo->k, g->ukr->elems);
    g->k_over = (int)(steps * g->ukr->elems - geo->k);
    dtp_gemm_set_shape(g, m, geo->n, steps);
}

static void product_touch_a(const void *arg, int64_t batch, float *a, int64_t ld, int64_t m0, int64_t rows,
                            int64_t k0, int64_t k);
static void product_touch_b(const void *arg, int64_t batch, float *b, int64_t n0, int64_t n, int64_t k0,
                            int64_t k);

dnnl_tp_status_t dtp_product_init(dtp_product_t *p, dtp_pd_t *pd, const dtp_product_geometry_t *geo,
                                  const dtp_ukr_set_t *ukr, unsigned isa) {
    p->vops = dtp_vops(isa);
    p->src_bytes = (int64_t)dtp_type_size(geo->src_dt);
    p->wei_bytes = (int64_t)dtp_type_size(geo->wei_dt);
    p->dst_dt = geo->dst_dt;
    p->bia_dt = geo->has_bias ? geo->bia_dt : dnnl_tp_f32;
    DTP_DISPATCH(p->vops->store[p->dst_dt] && p->vops->load[p->bia_dt], UNSUPPORTED_DATA_TYPE);
    if (geo->dst_channels) DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_PRODUCT_DST, isa));
    else DTP_TRY(dtp_postops_init(&p->po, pd, DTP_PRODUCT_DST, isa));
    DTP_TRY(dtp_product_scales_init(&p->scales, pd, &geo->dims, p->vops));
    DTP_DISPATCH(!(p->scales.in_wei && geo->panel), UNSUPPORTED_SCALES);
    const int step = elems_per_step(geo->src_dt);
    if (step > 1) { /* what is packed may be scaled as floats only; wide column panels are of f32 */
        DTP_DISPATCH(!p->scales.in_src && !p->scales.in_wei, UNSUPPORTED_SCALES);
        DTP_DISPATCH(geo->panel != DTP_GEMM_WIDE, UNSUPPORTED_LAYOUT);
    }
    if (!ukr->pack) {
        DTP_DISPATCH(geo->panel && geo->src_k == 1, UNSUPPORTED_LAYOUT);
        DTP_DISPATCH(!pd->has_runtime, UNSUPPORTED_RUNTIME_DIMS);
        DTP_DISPATCH(geo->k % step == 0, UNSUPPORTED_SHAPE);
    }
    p->common.ukr = ukr;
    p->common.l2_bytes = pd->engine->l2_bytes;
    p->common.l3_bytes = pd->engine->l3_bytes;
    p->common.num_threads = pd->num_threads;
    const dtp_gemm_t plain = p->common;
    p->tiled = !product_fuse(p, geo);
    if (!p->tiled && p->dst_dt != dnnl_tp_f32) { /* partial sums are f32 */
        if (!pd->has_runtime) product_settle(p, &p->shape, geo);
        p->tiled = pd->has_runtime || p->shape.gemm.kc < p->shape.gemm.k;
    }
    if (p->tiled) {
        p->common = plain;
        p->common.tiled = true;
        if (p->scales.in_src) p->common.touch_a = product_touch_a;
        if (p->scales.in_wei) p->common.touch_b = product_touch_b;
        p->add_row_stride = p->add_offset = 0;
    }
    if (pd->has_runtime) {
        dtp_gemm_t any = p->common;
        any.a_form = geo->k < 0 && step > 1 ? DTP_GEMM_A_ANY : product_a_form(p, geo);
        any.b_form = product_b_form(geo);
        dtp_pd_book(pd, 0, dtp_gemm_scratch_any_shape(&any));
    } else {
        product_settle(p, &p->shape, geo);
        dtp_pd_book(pd, 0, dtp_gemm_scratch_per_slot(&p->shape.gemm));
    }
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

typedef struct {
    const dtp_product_t *p;
    const dtp_product_shape_t *s;
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} product_run_t;

static const dtp_md_t *product_dst(const product_run_t *run) {
    return dtp_pd_arg_md(run->pd, run->ctx->md, DTP_PRODUCT_DST);
}

static void product_touch_a(const void *arg, int64_t batch, float *a, int64_t ld, int64_t m0, int64_t rows,
                            int64_t k0, int64_t k) {
    const product_run_t *run = arg;
    const int64_t row0 = batch * run->s->gemm.m + m0;
    dtp_product_scale_src(&run->p->scales, run->ctx, product_dst(run), a, ld, row0, rows, k0, k);
}

static void product_touch_b(const void *arg, int64_t batch, float *b, int64_t n0, int64_t n, int64_t k0,
                            int64_t k) {
    const product_run_t *run = arg;
    const int64_t row = batch * run->s->gemm.m;
    for (int64_t j = 0; j < n; j += DTP_UKR_PANEL, b += k * DTP_UKR_PANEL)
        dtp_product_scale_wei(&run->p->scales, run->ctx, product_dst(run), b, DTP_UKR_PANEL, row, k0, k,
                              n0 + j, dtp_min64(DTP_UKR_PANEL, n - j));
}

static void product_finish(const void *arg, int64_t batch, float *tile, int64_t ld, int64_t row0,
                           int64_t rows, int64_t col0, int64_t cols) {
    const product_run_t *run = arg;
    const dtp_product_t *p = run->p;
    const dtp_product_shape_t *s = run->s;
    const dtp_gemm_t *g = &s->gemm;
    char *c = (char *)run->ctx->ptr[DTP_PRODUCT_DST] + s->off_dst;
    const char *bias = run->ctx->ptr[DTP_PRODUCT_BIA];
    if (bias) bias += s->off_bia;
    int64_t rest = batch;
    for (int d = g->nbatch - 1; d >= 0; --d) {
        const int64_t i = rest % g->batch_size[d];
        rest /= g->batch_size[d];
        c += i * g->batch_c[d];
        if (bias) bias += i * g->batch_bias[d];
    }
    const int64_t dst_row0 = batch * g->m + row0;
    if (p->scales.any)
        dtp_product_scale_sums(&p->scales, run->ctx, product_dst(run), tile, ld, dst_row0, rows, col0, cols);
    if (bias) {
        const int64_t bytes = (int64_t)dtp_type_size(p->bia_dt);
        bias += (row0 * s->bia_m + col0 * s->bia_n) * bytes;
        if (p->bia_dt == dnnl_tp_f32 && s->bia_n == 1) {
            p->vops->axpy(tile, ld, (const float *)(const void *)bias, s->bia_m, rows, cols, 1.f, 0.f);
        } else {
            float row[DTP_UKR_MAX_NV * DTP_UKR_PANEL];
            for (int64_t i = 0; i < rows; ++i, bias += s->bia_m * bytes) {
                p->vops->load[p->bia_dt](row, bias, s->bia_n ? cols : 1, s->bia_n);
                if (s->bia_n) p->vops->axpy(tile + i * ld, ld, row, cols, 1, cols, 1.f, 0.f);
                else p->vops->scale_shift(tile + i * ld, cols, 1.f, row[0]);
            }
        }
    }
    if (p->po.len) dtp_postops_apply(&p->po, run->pd, run->ctx, tile, ld, rows, cols, dst_row0, col0);
    if (p->scales.any)
        dtp_product_scale_dst(&p->scales, run->ctx, product_dst(run), tile, ld, dst_row0, rows, col0, cols);
    const int64_t bytes = (int64_t)dtp_type_size(p->dst_dt);
    c += (row0 * s->dst_m + col0 * s->dst_n) * bytes;
    for (int64_t i = 0; i < rows; ++i, c += s->dst_m * bytes)
        p->vops->store[p->dst_dt](c, tile + i * ld, cols, s->dst_n);
}

void dtp_product_execute(const dtp_product_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx,
                         const dtp_product_geometry_t *geo) {
    const dtp_product_shape_t *s = &p->shape;
    dtp_product_shape_t now;
    if (geo) {
        product_settle(p, &now, geo);
        s = &now;
    } else if (ctx->rows >= 0 && ctx->rows != s->gemm.m) {
        /* Fewer rows never need more scratch: the room of packed operands is bounded by the shape of the
         * plan. */
        now = *s;
        dtp_gemm_set_rows(&now.gemm, dtp_min64(ctx->rows, s->gemm.m));
        s = &now;
    }
    dtp_gemm_ptrs_t q;
    q.a = (const char *)ctx->ptr[DTP_PRODUCT_SRC] + s->off_src;
    q.b = (const char *)ctx->ptr[DTP_PRODUCT_WEI] + s->off_wei;
    q.c = (char *)ctx->ptr[DTP_PRODUCT_DST] + s->off_dst;
    q.bias = s->gemm.has_bias ? (const char *)ctx->ptr[DTP_PRODUCT_BIA] + s->off_bia : NULL;
    q.add = s->gemm.has_add && !s->gemm.add_is_c ? (const char *)ctx->ptr[p->add_arg] + s->off_add : NULL;
    if (DTP_UNLIKELY(q.add == q.c && (s->gemm.kc < s->gemm.k || s->gemm.way != DTP_GEMM_TILES))) {
        /* The addend is dst itself, which partial sums would overwrite. */
        now = *s;
        now.gemm.add_is_c = true;
        now.gemm.way = DTP_GEMM_TILES;
        s = &now;
    }
    const product_run_t run = {p, s, pd, ctx};
    dtp_gemm_run(&s->gemm, &q, ctx->par, ctx->scratch ? ctx->scratch + pd->scratch_shared : NULL,
                 pd->scratch_per_slot, product_finish, &run);
}
