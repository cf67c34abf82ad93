/* Convolutions and deconvolutions of f64, s64 and s32, which have no micro-kernels: dst has channels innermost, src and weights
 * any plain layout. For each element of the kernel, a row of dst gets the product of the pixels of src that the element meets
 * with its weights {input channels, output channels} (cpu/gemm/exact_product.h). So f64 is summed in the order of the kernel's
 * elements and then of the channels, and integers wrap. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/deconvolution.h"
#include "cpu/gemm/exact_product.h"
#include "threading/base/parallel.h"

enum { DIMS = 3, DEPTH = 0, HEIGHT, WIDTH, CHANNELS = 32 /* of dst that a unit of work computes */ };

typedef struct {
    dtp_exact_product_fn_t *product;
    bool transposed;
    dtp_window_t w[DIMS];
    int64_t dst_size[DIMS]; /* elements of dst */
    int64_t size;           /* bytes of an element */
    /* Steps in elements; the spatial ones in the order of w. */
    int64_t src_x[DIMS], wei_x[DIMS], dst_x[DIMS], src_c, wei_o, wei_i, wei_group, bia_x;
    int64_t src_block; /* between the channels of src that neighbouring ones of dst read; 0: they read all */
    int64_t groups, ic, oc, blocks; /* channels of a group; blocks of those of dst */
    int64_t units, grain;
} plan_t;

static bool is_depthwise(const dtp_convolution_desc_t *d) {
    return dtp_conv_grouped(d) && d->wei.dims[1] == 1 && d->wei.dims[2] == 1;
}

/* dst[r][c] += a[r][c] b[c]: channels apart, in place of a product. */
#define CHANNELS_APART(name, type)                                                               \
    static void name(const dtp_exact_product_block_t *t) {                                       \
        for (int64_t r = 0; r < t->rows; ++r) {                                                  \
            const type *a = (const type *)(const void *)t->a + r * t->a_row;                     \
            const type *b = (const type *)(const void *)t->b;                                    \
            type *dst = (type *)(void *)t->dst + r * t->dst_row;                                 \
            if (t->a_k == 1 && t->b_col == 1)                                                    \
                for (int64_t c = 0; c < t->cols; ++c) dst[c] += a[c] * b[c];                     \
            else                                                                                 \
                for (int64_t c = 0; c < t->cols; ++c) dst[c] += a[c * t->a_k] * b[c * t->b_col]; \
        }                                                                                        \
    }
CHANNELS_APART(apart_f64, double)
CHANNELS_APART(apart_s64, uint64_t)
CHANNELS_APART(apart_s32, uint32_t)

static dnnl_tp_status_t lay_out(dtp_convolution_desc_t *d) {
    static const char *const images[DIMS] = {"acb", "acdb", "acdeb"};
    static const char *const weights[3][DIMS] = {
        {"cba", "cdba", "cdeba"}, {"adcb", "adecb", "adefcb"}, {"bcda", "bcdea", "bcdefa"}};
    DTP_TRY(dtp_conv_resolve(&d->src, images[d->nspatial - 1]));
    DTP_TRY(dtp_conv_resolve(&d->wei, weights[dtp_conv_grouped(d) + is_depthwise(d)][d->nspatial - 1]));
    DTP_TRY(dtp_conv_resolve(&d->dst, images[d->nspatial - 1]));
    if (!dtp_md_is_zero(&d->bia) && dtp_md_is_any(&d->bia)) dtp_md_make_plain(&d->bia);
    const dtp_md_t *const md[] = {&d->src, &d->wei, &d->bia, &d->dst};
    for (int i = 0; i < DTP_CONV_NARGS; ++i)
        DTP_DISPATCH(dtp_md_is_zero(md[i]) || dtp_md_is_plain(md[i]), UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(d->dst.strides[1] == 1 || d->dst.dims[1] == 1, UNSUPPORTED_LAYOUT);
    return dnnl_tp_success;
}

static dnnl_tp_status_t exact_init(dtp_pd_t *pd, bool transposed) {
    dtp_convolution_desc_t *d = (dtp_convolution_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const dnnl_tp_data_type_t type = d->src.data_type;
    DTP_DISPATCH(transposed || dtp_conv_take_direct(d), UNSUPPORTED_ALG);
    DTP_DISPATCH(type == dnnl_tp_f64 || type == dnnl_tp_s64 || type == dnnl_tp_s32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(d->wei.data_type == type && d->dst.data_type == type &&
                     (dtp_md_is_zero(&d->bia) || d->bia.data_type == type),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    DTP_TRY(lay_out(d));
    const dtp_exact_product_fns_t *fns =
        DTP_BY_ISA(dtp_pd_isa(pd), &dtp_exact_product, &dtp_exact_product__portable);
    const int grouped = dtp_conv_grouped(d), missing = DIMS - d->nspatial;
    p->product = type == dnnl_tp_f64 ? fns->f64 : type == dnnl_tp_s64 ? fns->s64 : fns->s32;
    p->transposed = transposed;
    p->size = (int64_t)dtp_type_size(type);
    for (int i = 0; i < DIMS; ++i) {
        p->w[i] = transposed ? dtp_deconv_window(d, i) : dtp_conv_window(d, i);
        p->dst_size[i] = transposed ? p->w[i].in : p->w[i].out;
        if (i < missing) continue;
        p->src_x[i] = d->src.strides[2 + i - missing];
        p->dst_x[i] = d->dst.strides[2 + i - missing];
        p->wei_x[i] = d->wei.strides[2 + grouped + i - missing];
    }
    p->src_c = d->src.strides[1];
    p->wei_o = d->wei.strides[grouped];
    p->wei_i = d->wei.strides[grouped + 1];
    p->wei_group = grouped ? d->wei.strides[0] : 0;
    p->bia_x = dtp_md_is_zero(&d->bia) ? 0 : d->bia.strides[0];
    p->groups = dtp_conv_groups(d);
    p->oc = d->wei.dims[grouped];
    p->ic = d->wei.dims[grouped + 1];
    if (is_depthwise(d)) { /* all groups at once */
        p->product = type == dnnl_tp_f64 ? apart_f64 : type == dnnl_tp_s64 ? apart_s64 : apart_s32;
        p->oc = p->groups;
        p->groups = 1;
        p->wei_o = p->wei_group;
        p->src_block = p->src_c;
    }
    p->blocks = dtp_div_up(p->oc, CHANNELS);
    if (dtp_md_nelems(&d->dst) > 0)
        p->units = d->dst.dims[0] * p->groups * p->blocks * p->dst_size[DEPTH] * p->dst_size[HEIGHT];
    const double product_ns = .1, call_ns = 8;
    const double taps = (double)p->w[DEPTH].kernel * (double)p->w[HEIGHT].kernel * (double)p->w[WIDTH].kernel;
    p->grain = dtp_grain(100 + (double)p->dst_size[WIDTH] * taps *
                                   (call_ns / DTP_EXACT_ROWS +
                                    product_ns * (double)p->ic * (double)dtp_min64(p->oc, CHANNELS)));
    return dnnl_tp_success;
}
static dnnl_tp_status_t convolution_exact_init(dtp_pd_t *pd) { return exact_init(pd, false); }
static dnnl_tp_status_t deconvolution_exact_init(dtp_pd_t *pd) { return exact_init(pd, true); }

/* The position in src that element k of the kernel meets from position x of dst; -1: none. */
static int64_t met(const plan_t *p, int dim, int64_t x, int64_t k) {
    const dtp_window_t *w = &p->w[dim];
    const int64_t at = p->transposed ? x + w->pad - k * w->step : x * w->stride - w->pad + k * w->step;
    if (!p->transposed) return at < w->in ? at : -1;
    return at >= 0 && at % w->stride == 0 && at / w->stride < w->out ? at / w->stride : -1;
}

/* Column k of the kernel: src and dst are rows of pixels, wei the weights {ic, oc} of this column; sums go to dst. */
static void add_column(const plan_t *p, int64_t k, const char *src, const char *wei, char *dst, int64_t oc) {
    const dtp_window_t *w = &p->w[WIDTH];
    const int64_t first = k * w->step - w->pad; /* of the side that the window slides over */
    int64_t begin, end;
    dtp_window_outputs(w, k, &begin, &end);
    /* From window to window: stride positions on the side that it slides over, one on the other. */
    const int64_t src_row = p->src_x[WIDTH] * (p->transposed ? 1 : w->stride),
                  dst_row = p->dst_x[WIDTH] * (p->transposed ? w->stride : 1);
    const int64_t src_0 = p->transposed ? 0 : first * p->src_x[WIDTH],
                  dst_0 = p->transposed ? first * p->dst_x[WIDTH] : 0;
    for (int64_t x = begin; x < end; x += DTP_EXACT_ROWS) {
        const dtp_exact_product_block_t t = {
            .a = src + (src_0 + x * src_row) * p->size,
            .b = wei,
            .dst = dst + (dst_0 + x * dst_row) * p->size,
            .rows = dtp_min64(DTP_EXACT_ROWS, end - x),
            .k = p->ic,
            .cols = oc,
            .a_row = src_row,
            .a_k = p->src_c,
            .b_k = p->wei_i,
            .b_col = p->wei_o,
            .dst_row = dst_row,
        };
        p->product(&t);
    }
}

/* A row of dst as the bias, or 0. */
static void begin_row(const plan_t *p, char *dst, const char *bias, int64_t oc) {
    for (int64_t x = 0; x < p->dst_size[WIDTH]; ++x, dst += p->dst_x[WIDTH] * p->size) {
        if (!bias) memset(dst, 0, (size_t)(oc * p->size));
        for (int64_t o = 0; bias && o < oc; ++o)
            memcpy(dst + o * p->size, bias + o * p->bia_x * p->size, (size_t)p->size);
    }
}

/* A unit is a block of channels of a row of dst. */
static void exact_units(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const plan_t *p = j->pd->plan;
    const dtp_convolution_desc_t *d = (const dtp_convolution_desc_t *)j->pd->op;
    void *const *ptr = j->ctx->ptr;
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        int64_t rest = u, x[DIMS - 1], at[DIMS - 1], k[DIMS];
        const int64_t block = rest % p->blocks, group = (rest /= p->blocks) % p->groups;
        x[HEIGHT] = (rest /= p->groups) % p->dst_size[HEIGHT];
        x[DEPTH] = (rest /= p->dst_size[HEIGHT]) % p->dst_size[DEPTH];
        const int64_t image = rest / p->dst_size[DEPTH], first = block * CHANNELS,
                      oc = dtp_min64(CHANNELS, p->oc - first), channel = group * p->oc + first;
        const char *const src =
            (const char *)ptr[DTP_CONV_SRC] +
            (d->src.offset0 + image * d->src.strides[0] + group * p->ic * p->src_c + first * p->src_block) *
                p->size;
        const char *const wei = (const char *)ptr[DTP_CONV_WEI] +
                                (d->wei.offset0 + group * p->wei_group + first * p->wei_o) * p->size;
        const char *const bias =
            dtp_md_is_zero(&d->bia)
                ? NULL
                : (const char *)ptr[DTP_CONV_BIA] + (d->bia.offset0 + channel * p->bia_x) * p->size;
        char *const dst = (char *)ptr[DTP_CONV_DST] +
                          (d->dst.offset0 + image * d->dst.strides[0] + channel * d->dst.strides[1] +
                           x[DEPTH] * p->dst_x[DEPTH] + x[HEIGHT] * p->dst_x[HEIGHT]) *
                              p->size;
        begin_row(p, dst, bias, oc);
        for (k[DEPTH] = 0; k[DEPTH] < p->w[DEPTH].kernel; ++k[DEPTH]) {
            if ((at[DEPTH] = met(p, DEPTH, x[DEPTH], k[DEPTH])) < 0) continue;
            for (k[HEIGHT] = 0; k[HEIGHT] < p->w[HEIGHT].kernel; ++k[HEIGHT]) {
                if ((at[HEIGHT] = met(p, HEIGHT, x[HEIGHT], k[HEIGHT])) < 0) continue;
                const char *row =
                    src + (at[DEPTH] * p->src_x[DEPTH] + at[HEIGHT] * p->src_x[HEIGHT]) * p->size;
                for (k[WIDTH] = 0; k[WIDTH] < p->w[WIDTH].kernel; ++k[WIDTH]) {
                    int64_t to = 0;
                    for (int i = 0; i < DIMS; ++i) to += k[i] * p->wei_x[i];
                    add_column(p, k[WIDTH], row, wei + to * p->size, dst, oc);
                }
            }
        }
    }
}

static dnnl_tp_status_t exact_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, p->units, p->grain, exact_units, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(convolution_exact, "exact", .plan_size = sizeof(plan_t),
                      .pd_init = convolution_exact_init, .execute = exact_execute);
DTP_CPU_IMPLS_AND_ANY(deconvolution_exact, "exact", .plan_size = sizeof(plan_t),
                      .pd_init = deconvolution_exact_init, .execute = exact_execute);
