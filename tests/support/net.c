/* See net.h. */
#include "support/net.h"

#include <stdlib.h>

mirror_t *net_begin(uint64_t seed) {
    mirror_t *m = malloc(sizeof *m);
    mirror_init(m, seed);
    return m;
}

int net_image(mirror_t *m, int64_t n, int64_t c, int64_t side) {
    const int64_t dims[4] = {n, c, side, side};
    return mirror_input(m, 4, dims);
}

int net_conv(mirror_t *m, int x, int64_t from, int64_t to, int64_t kernel, int64_t groups, bool bias) {
    const int64_t dims[4] = {to, from / groups, kernel, kernel}, pads[2] = {kernel / 2, kernel / 2};
    const double scale = 1. / (double)(from / groups * kernel);
    const int in[3] = {x, mirror_constant(m, 4, dims, scale), bias ? mirror_constant(m, 1, &to, .5) : -1};
    const dnnl_tp_op_attr_t attr[3] = {mirror_s64(dnnl_tp_op_attr_pads_begin, 2, pads),
                                       mirror_s64(dnnl_tp_op_attr_pads_end, 2, pads),
                                       mirror_s64(dnnl_tp_op_attr_groups, 1, &groups)};
    return mirror_op(m, dnnl_tp_op_convolution, "conv", bias ? 3 : 2, in, 3, attr);
}

int net_norm(mirror_t *m, int x, int64_t c) {
    int in[5] = {x};
    for (int i = 1; i < 5; ++i) in[i] = mirror_constant(m, 1, &c, 1.);
    in[4] = mirror_unary(m, dnnl_tp_op_abs, in[4]); /* folded first */
    const float epsilon = .1f;
    const dnnl_tp_op_attr_t a = mirror_f32(dnnl_tp_op_attr_epsilon, &epsilon);
    return mirror_op(m, dnnl_tp_op_batch_norm_inference, "bn", 5, in, 1, &a);
}

int net_per_channel(mirror_t *m, int ndims, int64_t c) {
    const int64_t dims[4] = {ndims > 3 ? 1 : c, ndims > 3 ? c : 1, 1, 1};
    return mirror_constant(m, ndims, dims, 1.);
}

int net_relu(mirror_t *m, int x) { return mirror_unary(m, dnnl_tp_op_relu, x); }
int net_binary(mirror_t *m, dnnl_tp_op_kind_t kind, int x, int y) { return mirror_binary(m, kind, x, y); }

int net_halved(mirror_t *m, dnnl_tp_op_kind_t kind, int x) {
    const int64_t two[2] = {2, 2};
    const dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_kernel, 2, two),
                                       mirror_s64(dnnl_tp_op_attr_strides, 2, two)};
    return mirror_op(m, kind, "pool", 1, &x, 2, attr);
}

int net_average(mirror_t *m, int x, bool keep) {
    static const int64_t axes[2] = {2, 3};
    const uint8_t yes = keep;
    const dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_axes, 2, axes),
                                       mirror_bool(dnnl_tp_op_attr_keep_dims, &yes)};
    return mirror_op(m, dnnl_tp_op_reduce_mean, "average", 1, &x, 2, attr);
}

int net_flat(mirror_t *m, int x) {
    static const int64_t shape[2] = {0, -1};
    static const uint8_t yes = 1;
    const dnnl_tp_op_attr_t attr[2] = {mirror_s64(dnnl_tp_op_attr_shape, 2, shape),
                                       mirror_bool(dnnl_tp_op_attr_special_zero, &yes)};
    return mirror_op(m, dnnl_tp_op_static_reshape, "flatten", 1, &x, 2, attr);
}

int net_joined_along(mirror_t *m, int64_t axis, int x, int y) {
    const int in[2] = {x, y};
    const dnnl_tp_op_attr_t attr = mirror_s64(dnnl_tp_op_attr_axis, 1, &axis);
    return mirror_op(m, dnnl_tp_op_concat, "concat", 2, in, 1, &attr);
}
int net_joined(mirror_t *m, int x, int y) { return net_joined_along(m, 1, x, y); }

int net_plain(mirror_t *m, int x) {
    x = net_relu(m, net_norm(m, net_conv(m, x, 3, 24, 3, 1, true), 24));
    x = net_relu(m, net_norm(m, net_conv(m, x, 24, 24, 3, 24, false), 24));
    x = net_binary(m, dnnl_tp_op_add, net_conv(m, x, 24, 24, 1, 1, true), x);
    x = net_norm(m, x, 24);
    x = net_conv(m, net_halved(m, dnnl_tp_op_max_pool, x), 24, 40, 3, 1, true);
    return mirror_linear(m, "classes", net_flat(m, net_average(m, x, true)), 40, 10, 0, 1);
}
