/* Creation of convolutions and deconvolutions: every refusal by reason and text; what is odd and legal. */
#include "support/refusal.h"

typedef struct {
    bool transposed; /* a deconvolution */
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int src_nd, wei_nd, dst_nd, bia_nd;
    dnnl_tp_dims_t src, wei, dst, bia, stride, dilation, left, right;
    unsigned missing; /* bits: src, wei, dst, strides, padding_l */
} conv_t;

static const conv_t convolution = {.prop = dnnl_tp_forward_training,
                                   .alg = dnnl_tp_convolution_direct,
                                   .src_nd = 4,
                                   .wei_nd = 5,
                                   .dst_nd = 4,
                                   .bia_nd = 1,
                                   .src = {2, 6, 8, 9},
                                   .wei = {2, 5, 3, 3, 3},
                                   .dst = {2, 10, 4, 9},
                                   .bia = {10},
                                   .stride = {2, 1},
                                   .left = {1, 1},
                                   .right = {0, 1}};

/* The other way: 4 rows become 8. */
static conv_t deconvolution(void) {
    conv_t c = convolution;
    c.transposed = true;
    c.alg = dnnl_tp_deconvolution_direct;
    c.src[2] = convolution.dst[2];
    c.dst[2] = convolution.src[2];
    return c;
}

static dnnl_tp_status_t make(const conv_t *c) {
    dnnl_tp_primitive_desc_t pd = REFUSAL_UNSET;
    const dtp_md_t src = refusal_plain(c->src_nd, c->src, dnnl_tp_f32),
                   wei = refusal_plain(c->wei_nd, c->wei, dnnl_tp_f32),
                   dst = refusal_plain(c->dst_nd, c->dst, dnnl_tp_f32),
                   bia = refusal_plain(c->bia_nd, c->bia, dnnl_tp_f32);
    const unsigned m = c->missing;
    const dnnl_tp_status_t status = (c->transposed ? dnnl_tp_deconvolution_forward_primitive_desc_create
                                                   : dnnl_tp_convolution_forward_primitive_desc_create)(
        &pd, engine, c->prop, c->alg, m & 1 ? NULL : &src, m & 2 ? NULL : &wei, &bia, m & 4 ? NULL : &dst,
        m & 8 ? NULL : c->stride, c->dilation, m & 16 ? NULL : c->left, c->right, NULL);
    return refusal_done(status, pd);
}

/* The good problem with one thing changed. */
#define REFUSED(reason, says, ...)                                        \
    do {                                                                  \
        conv_t c = good;                                                  \
        __VA_ARGS__;                                                      \
        CHECK_REFUSED(make(&c), dnnl_tp_invalid_arguments, reason, says); \
    } while (0)

/* What both refuse with the same words. */
static void both(const conv_t good) {
    CHECK_OK(make(&good));
    REFUSED(BAD_PROP, "backward_data (160)", c.prop = (dnnl_tp_prop_kind_t)160);
    REFUSED(NULL_ARG, "src", c.missing = 1);
    REFUSED(NULL_ARG, "weights", c.missing = 2);
    REFUSED(NULL_ARG, "dst", c.missing = 4);
    REFUSED(NULL_ARG, "strides", c.missing = 8);
    REFUSED(NULL_ARG, "padding_l", c.missing = 16);
    REFUSED(BAD_NDIMS, "src has 2 dimensions", c.src_nd = 2);
    REFUSED(BAD_NDIMS, "src has 6 dimensions", c.src_nd = 6);
    REFUSED(NDIMS_MISMATCH, "dst has 3, src has 4", c.dst_nd = 3);
    REFUSED(NDIMS_MISMATCH, "weights have 6, src has 4", c.wei_nd = 6);
    REFUSED(NDIMS_MISMATCH, "weights have 3, src has 4", c.wei_nd = 3);
    REFUSED(BAD_DIMS, "0 groups", c.wei[0] = 0);
    REFUSED(DIMS_MISMATCH, "batch: src 3, dst 2", c.src[0] = 3);
    REFUSED(DIMS_MISMATCH, "input channels: src 7, weights 2 x 3", c.src[1] = 7);
    REFUSED(DIMS_MISMATCH, "output channels: dst 11, weights 2 x 5", c.dst[1] = 11);
    REFUSED(BAD_DIMS, "kernel 0", c.wei[4] = 0);
    REFUSED(BAD_STRIDES, "stride 0", c.stride[0] = 0);
    REFUSED(BAD_PARAM, "dilation -1", c.dilation[1] = -1);
    REFUSED(BAD_PARAM, "padding -1", c.left[1] = -1);
    REFUSED(DIMS_MISMATCH, "10 output channels", c.bia[0] = 9);
    REFUSED(DIMS_MISMATCH, "10 output channels", c.bia_nd = 2, c.bia[1] = 1);
}

static void refusals(void **state) {
    (void)state;
    const conv_t good = convolution;
    both(good);
    REFUSED(BAD_ALG, "(4)", c.alg = (dnnl_tp_alg_kind_t)4);
    REFUSED(BAD_ALG, "eltwise_relu (32)", c.alg = dnnl_tp_eltwise_relu);
    REFUSED(DIMS_MISMATCH, "gives 4", c.dst[2] = 5);
    REFUSED(DIMS_MISMATCH, "gives 3", c.right[0] = -2);
    REFUSED(OVERFLOW, "spatial dimension 0", c.dilation[0] = INT64_MAX);
    REFUSED(OVERFLOW, "spatial dimension 1", c.left[1] = INT64_MAX);
    REFUSED(OVERFLOW, "spatial dimension 0", c.right[0] = INT64_MAX);
}

static void refusals_of_deconvolutions(void **state) {
    (void)state;
    const conv_t good = deconvolution();
    both(good);
    conv_t c = good;
    c.dst[2] = 9, CHECK_OK(make(&c)), c = good; /* a place that no kernel reaches */
    c.right[0] = -1, c.dst[2] = 9, CHECK_OK(make(&c));
    REFUSED(BAD_ALG, "deconvolution_direct", c.alg = dnnl_tp_convolution_direct);
    REFUSED(DIMS_MISMATCH, "gives 5", c.dst[2] = 10);
    REFUSED(DIMS_MISMATCH, "gives 10", c.dst[3] = 10);
    REFUSED(OVERFLOW, "padding", c.left[0] = INT64_MAX / 2);
}

static void unimplemented(void **state) {
    (void)state;
    const dnnl_tp_dims_t run = {DNNL_TP_RUNTIME_DIM_VAL, 4, 6}, wei = {4, 4, 1}, dst = {1, 4, 6}, one = {1},
                         none = {0};
    const dtp_md_t smd = refusal_md(3, run, dnnl_tp_f32, dnnl_tp_acb),
                   wmd = refusal_md(3, wei, dnnl_tp_f32, dnnl_tp_abc),
                   dmd = refusal_md(3, dst, dnnl_tp_f32, dnnl_tp_acb);
    dnnl_tp_primitive_desc_t pd;
    CHECK_REFUSED(dnnl_tp_convolution_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                                    dnnl_tp_convolution_direct, &smd, &wmd,
                                                                    NULL, &dmd, one, NULL, none, NULL, NULL),
                  dnnl_tp_unimplemented, UNSUPPORTED_RUNTIME_DIMS, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals),
                                       cmocka_unit_test(refusals_of_deconvolutions),
                                       cmocka_unit_test(unimplemented)};
    return cmocka_run_group_tests(tests, refusal_setup, refusal_teardown);
}
