/* Pieces of convolutional networks as mirrored graphs (mirror.h). Each takes and returns numbers of values; x is an
 * image {N, C, H, W} unless its comment says otherwise. */
#ifndef TEST_SUPPORT_NET_H
#define TEST_SUPPORT_NET_H

#include <stdbool.h>

#include "support/mirror.h"

/* An empty graph with random data of a seed; freed by mirror_free() and free(). */
mirror_t *net_begin(uint64_t seed);
/* An input {n, c, side, side}. */
int net_image(mirror_t *m, int64_t n, int64_t c, int64_t side);
/* A convolution with padding kernel / 2 and stride 1, from `from` to `to` channels. */
int net_conv(mirror_t *m, int x, int64_t from, int64_t to, int64_t kernel, int64_t groups, bool bias);
/* Batch normalisation of c channels. */
int net_norm(mirror_t *m, int x, int64_t c);
/* A constant for each of c channels, of 3 or 4 dimensions. */
int net_per_channel(mirror_t *m, int ndims, int64_t c);
int net_relu(mirror_t *m, int x);
int net_binary(mirror_t *m, dnnl_tp_op_kind_t kind, int x, int y);
/* Pooling with windows of 2 x 2 and stride 2. */
int net_halved(mirror_t *m, dnnl_tp_op_kind_t kind, int x);
/* The mean of all pixels; keep: {N, C, 1, 1}, else {N, C}. */
int net_average(mirror_t *m, int x, bool keep);
/* x as {N, C * H * W}. */
int net_flat(mirror_t *m, int x);
int net_joined_along(mirror_t *m, int64_t axis, int x, int y);
/* Along the channels. */
int net_joined(mirror_t *m, int x, int y);
/* A small classifier of images of 3 channels: 10 classes. */
int net_plain(mirror_t *m, int x);

#endif
