/* Deconvolution of f32 whose kernel is as long as its stride in each dimension, without padding: each pixel of src makes a
 * box of dst that is its own. So it is one product that reads src once: rows are the elements of the kernel for each output
 * channel, k are input channels, columns are pixels of src. Lanes run along pixels, so that few channels fill them.
 *
 *   box[row][pixel] = bias[row] + sum over c of weights[row][c] * src[c][pixel]
 *
 * src lies in planes, or, for few channels of dst, with channels innermost, and then is packed strip by strip. Rows that are
 * neighbours in dst are woven into it from a tile: the elements along the innermost dimension, and channels of dst where
 * these are innermost. What is not of this form is left to deconvolution_phases.c. */
#include "common/base/scalar.h"
#include "cpu/deconvolution/deconvolution.h"
#include "cpu/elementwise/move.h"
#include "cpu/gemm/fused.h"
#include "cpu/gemm/gemm.h"
#include "cpu/gemm/product.h"
#include "threading/base/parallel.h"

enum {
    DIMS = DTP_DECONV_DIMS,
    MAX_WOVEN = 64, /* rows that are neighbours in dst */
    FEW_WOVEN = 4,  /* where src has to be packed, more are faster elsewhere */
    TILE_ROWS = 48, /* of a tile in the first-level cache */
    MAX_IC = 4096   /* a packed strip stays in the second-level cache */
};
/* Nanoseconds to weave an element. */
#define NS_PER_ELEMENT 0.2

/* Offsets and strides are bytes. */
typedef struct {
    const dtp_ukr_set_t *ukr;
    dtp_transpose_fn_t weave;
    bool packs; /* channels of src are innermost */
    int nv;     /* column panels of a strip */
    int64_t images, ic, pixels, strips;
    int64_t in[DIMS], ker[DIMS]; /* of src, of the kernel */
    int64_t channels;            /* of dst, apart from each other; 1: innermost, or there is one */
    int64_t woven, rows, tile_rows;
    int64_t src_0, src_n, src_c, src_p; /* from channel to channel, from pixel to pixel */
    int64_t dst_0, dst_n, dst_c, dst_x[DIMS];
    int64_t wei_0, bia_0;
    bool has_bias;
    size_t tile_at; /* into a slot's scratch, behind the packed strip */
    dtp_fused_t fused;
    dtp_postops_t po;
} plan_t;
DTP_PLAN_ENDS_WITH_POSTOPS(plan_t)

/* From pixel to pixel, in elements; 0: they are not evenly spaced. */
static int64_t pixel_step(const dtp_md_t *md) {
    int64_t step = 0, next = 0;
    for (int i = md->ndims - 1; i >= 2; --i) {
        if (md->dims[i] == 1) continue;
        if (!step) step = next = md->strides[i];
        if (md->strides[i] != next) return 0;
        next *= md->dims[i];
    }
    return step ? step : 1;
}

static bool makes_boxes(const dtp_deconvolution_desc_t *d) {
    int64_t volume = 1;
    for (int i = 0; i < DIMS; ++i) {
        const dtp_window_t w = dtp_deconv_window(d, i);
        if (w.kernel != w.stride || (w.kernel > 1 && w.step != 1) || w.pad || w.in != w.out * w.stride)
            return false;
        volume *= w.kernel;
    }
    return volume > 1 && !dtp_conv_grouped(d);
}

static dnnl_tp_status_t boxes_pd_init(dtp_pd_t *pd) {
    static const char *const images[] = {"acb", "acdb", "acdeb"};
    static const char *const kernels[2][DIMS] = {{"acb", "acdb", "acdeb"}, {"cab", "cdab", "cdeab"}};
    const unsigned isa = dtp_pd_isa(pd);
    dtp_deconvolution_desc_t *d = (dtp_deconvolution_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const int64_t size = (int64_t)sizeof(float);
    DTP_DISPATCH(d->src.data_type == dnnl_tp_f32 && d->wei.data_type == dnnl_tp_f32 &&
                     d->dst.data_type == dnnl_tp_f32 &&
                     (dtp_md_is_zero(&d->bia) || d->bia.data_type == dnnl_tp_f32),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_md_nelems(&d->src) > 0 && dtp_md_nelems(&d->dst) > 0 && makes_boxes(d) &&
                     d->src.dims[1] <= MAX_IC,
                 UNSUPPORTED_SHAPE);
    dtp_md_t src = d->src, dst = d->dst, wei = d->wei, bia = d->bia;
    const char *image = images[d->nspatial - 1];
    if (dtp_md_is_any(&src)) DTP_TRY(dtp_md_init_layout(&src, src.ndims, d->src.dims, src.data_type, image));
    if (dtp_md_is_any(&dst)) DTP_TRY(dtp_md_init_layout(&dst, dst.ndims, d->dst.dims, dst.data_type, image));
    if (!dtp_md_is_zero(&bia) && dtp_md_is_any(&bia)) dtp_md_make_plain(&bia);
    const int last = dst.ndims - 1;
    const int64_t oc = dst.dims[1], step = dtp_md_is_plain(&src) ? pixel_step(&src) : 0;
    p->ic = src.dims[1];
    p->packs = step != 1;
    DTP_DISPATCH(step && (!p->packs || p->ic == 1 || src.strides[1] == 1), UNSUPPORTED_LAYOUT);
    const bool in_planes = dtp_md_is_plain(&dst) && dst.strides[last] == 1,
               in_pixels = dtp_md_is_plain(&dst) && dst.strides[1] == 1 && dst.strides[last] == oc;
    DTP_DISPATCH(in_planes || in_pixels, UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_md_is_zero(&bia) || (dtp_md_is_plain(&bia) && (oc == 1 || bia.strides[0] == 1)),
                 UNSUPPORTED_LAYOUT);
    p->channels = in_planes ? oc : 1;
    p->rows = oc;
    for (int i = 0; i < DIMS; ++i) {
        const dtp_window_t w = dtp_deconv_window(d, i);
        p->in[i] = w.out;
        p->ker[i] = w.kernel;
        p->rows *= w.kernel;
    }
    p->woven = p->ker[DIMS - 1] * (in_planes ? 1 : oc);
    DTP_DISPATCH(p->woven <= (p->packs ? FEW_WOVEN : MAX_WOVEN), UNSUPPORTED_SHAPE);
    dtp_md_t rows;
    DTP_TRY(
        dtp_md_init_layout(&rows, wei.ndims, wei.dims, wei.data_type, kernels[!in_planes][d->nspatial - 1]));
    if (dtp_md_is_any(&wei)) wei = rows;
    DTP_DISPATCH(dtp_md_accepts(&rows, &wei), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_POST_OPS), UNSUPPORTED_ATTR);
    d->src = src;
    d->dst = dst;
    d->wei = wei;
    d->bia = bia;
    DTP_TRY(dtp_postops_init_channels(&p->po, pd, DTP_CONV_DST, isa));
    DTP_DISPATCH(dtp_fused_init(&p->fused, &p->po, false, false) && !p->fused.has_add, UNSUPPORTED_POST_OPS);
    p->ukr = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa);
    p->weave = dtp_move_transpose(dtp_moves(isa), sizeof(float));
    for (int nv = 1, most = 0; nv <= p->ukr->max_nv; ++nv) {
        const int sums = p->ukr->max_mr[nv] * nv;
        if (sums >= most) most = sums, p->nv = nv;
    }
    p->images = src.dims[0];
    p->pixels = p->in[0] * p->in[1] * p->in[2];
    p->strips = dtp_div_up(p->pixels, (int64_t)p->nv * DTP_UKR_PANEL);
    p->tile_rows = dtp_min64(p->rows, p->woven * dtp_max64(1, TILE_ROWS / p->woven));
    p->src_0 = src.offset0 * size;
    p->src_n = src.strides[0] * size;
    p->src_c = src.strides[1] * size;
    p->src_p = step * size;
    p->dst_0 = dst.offset0 * size;
    p->dst_n = dst.strides[0] * size;
    p->dst_c = dst.strides[1] * size;
    for (int i = 0; i < DIMS; ++i) {
        const int at = last - (DIMS - 1 - i);
        p->dst_x[i] = at < 2 ? 0 : dst.strides[at] * size;
    }
    p->wei_0 = wei.offset0 * size;
    p->has_bias = !dtp_md_is_zero(&bia);
    p->bia_0 = bia.offset0 * size;
    const size_t columns = (size_t)p->nv * DTP_UKR_PANEL_BYTES;
    p->tile_at = (size_t)p->ic * columns;
    dtp_pd_book(pd, 0, p->tile_at + (size_t)p->tile_rows * columns);
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

/* Rows first .. first + n - 1 of a tile, ld floats apart, of columns pixel .. pixel + cols - 1, go to dst. */
static void weave(const plan_t *p, char *dst, const float *tile, int64_t ld, int64_t first, int64_t n,
                  int64_t pixel, int64_t cols) {
    const int64_t width = p->in[2];
    for (int64_t g = first / p->woven; n > 0; ++g, tile += p->woven * ld, n -= p->woven) {
        const int64_t y = g % p->ker[1], z = g / p->ker[1] % p->ker[0], c = g / p->ker[1] / p->ker[0];
        char *to = dst + c * p->dst_c + z * p->dst_x[0] + y * p->dst_x[1];
        for (int64_t at = 0, run; at < cols; at += run) {
            const int64_t line = (pixel + at) / width, x = (pixel + at) % width;
            run = dtp_min64(width - x, cols - at);
            p->weave(to + line / p->in[1] * p->ker[0] * p->dst_x[0] +
                         line % p->in[1] * p->ker[1] * p->dst_x[1] + x * p->ker[2] * p->dst_x[2],
                     p->woven, tile + at, ld, run, p->woven, 0, 0);
        }
    }
}

/* The product begins with the bias. */
static void put_bias(const plan_t *p, const float *bias, float *tile, int64_t ld, int64_t first, int64_t n) {
    const int64_t volume = p->ker[0] * p->ker[1] * p->ker[2];
    for (int64_t r = first; r < first + n; ++r, tile += ld) {
        const float b = bias[p->channels > 1 ? r / volume : r % (p->rows / volume)];
        for (int64_t i = 0; i < ld; ++i) tile[i] = b;
    }
}

static void run_strips(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    const int64_t size = (int64_t)sizeof(float), ld = (int64_t)p->nv * DTP_UKR_PANEL;
    char *packed = j->ctx->scratch + j->pd->scratch_shared + (size_t)slot * j->pd->scratch_per_slot;
    float *tile = (float *)(void *)(packed + p->tile_at);
    const char *wei = (const char *)j->ctx->ptr[DTP_CONV_WEI] + p->wei_0;
    const char *bias = p->has_bias ? (const char *)j->ctx->ptr[DTP_CONV_BIA] + p->bia_0 : NULL;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t image = unit / p->strips, pixel = unit % p->strips * ld,
                      cols = dtp_min64(ld, p->pixels - pixel);
        const int nv = (int)dtp_div_up(cols, DTP_UKR_PANEL);
        const char *src =
            (const char *)j->ctx->ptr[DTP_CONV_SRC] + p->src_0 + image * p->src_n + pixel * p->src_p;
        char *dst = (char *)j->ctx->ptr[DTP_CONV_DST] + p->dst_0 + image * p->dst_n;
        const int64_t panel = p->ic * DTP_UKR_PANEL_BYTES;
        /* Later tiles read the strip as the first one has packed it, if it has. */
        const bool copies = !p->packs && p->rows > p->tile_rows && p->tile_rows > p->ukr->max_mr[nv];
        if (p->packs) p->ukr->pack_trans(src, p->src_p, p->ic, cols, packed, panel);
        for (int64_t row = 0; row < p->rows; row += p->tile_rows) {
            const int64_t rows = dtp_min64(p->tile_rows, p->rows - row);
            const bool is_packed = p->packs || (copies && row);
            dtp_ukr_args_t u = {.a = wei + row * p->ic * size,
                                .b = is_packed ? packed : src,
                                .c = (char *)tile,
                                .lda = p->ic * size,
                                .ldc = ld * size,
                                .ntap = 1,
                                .k = p->ic,
                                .bs = is_packed ? panel : DTP_UKR_PANEL_BYTES,
                                .bstep = is_packed ? DTP_UKR_PANEL_BYTES : p->src_c,
                                .pf_dist = nv * DTP_UKR_PANEL_BYTES,
                                .flags = p->fused.flags | (bias ? DTP_UKR_ACC : 0),
                                .mask = 0xffffu >> (nv * DTP_UKR_PANEL - cols),
                                .copy = copies && !row ? packed : NULL,
                                .copy_bs = panel,
                                .floor = p->fused.floor,
                                .cap = p->fused.cap};
            if (bias) put_bias(p, (const float *)(const void *)bias, tile, ld, row, rows);
            dtp_gemm_rows(p->ukr, &u, nv, rows, u.b);
            if (p->fused.act) {
                const dtp_eltwise_args_t act = {
                    tile, tile, ld, ld, rows, cols, p->fused.act_alpha, p->fused.act_beta, 0};
                p->fused.act(&act);
            }
            weave(p, dst, tile, ld, row, rows, pixel, cols);
        }
    }
}

static dnnl_tp_status_t boxes_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    const double elements = (double)p->rows * p->nv * DTP_UKR_PANEL,
                 ns = elements * (2.0 * (double)p->ic / p->ukr->flops_per_ns + NS_PER_ELEMENT);
    dtp_parallel_for(ctx->par, p->images * p->strips, dtp_grain(ns), run_strips, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(deconvolution_boxes, "boxes", .plan_size = sizeof(plan_t), .plan_used = plan_used,
                      .pd_init = boxes_pd_init, .execute = boxes_execute);
