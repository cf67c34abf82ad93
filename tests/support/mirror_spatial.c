/* Double-precision loops of operators on images, see mirror_evaluate.h. Paddings are found from the definition of the
 * operators, not from the shape that the library inferred: a wrong shape shows as wrong numbers. */
#include "support/mirror_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t element(const mirror_attrs_t *a, int key, int s, int64_t otherwise) {
    const dnnl_tp_op_attr_t *x = mirror_find(a, key);
    return x ? ((const int64_t *)x->data)[s] : otherwise;
}
static int is_word(const mirror_attrs_t *a, int key, const char *word) {
    const dnnl_tp_op_attr_t *x = mirror_find(a, key);
    return x && (size_t)x->count == strlen(word) && !memcmp(x->data, word, strlen(word));
}

/* Along depth, height, width, of which a problem may lack the first ones. */
typedef struct {
    int64_t in, out, kernel, stride, step, pad, end; /* end: in with the padding behind it */
} window_t;

static void make_windows(const mirror_attrs_t *a, const dnnl_tp_tensor_info_t *x,
                         const dnnl_tp_tensor_info_t *y, const int64_t *kernel, window_t w[3]) {
    const int n = x->ndims - 2;
    for (int i = 0; i < 3; ++i) {
        const int s = i - (3 - n);
        w[i] = (window_t){1, 1, 1, 1, 1, 0, 1};
        if (s < 0) continue;
        w[i].in = x->dims[2 + s];
        w[i].out = y->dims[2 + s];
        w[i].kernel = kernel[s];
        w[i].stride = element(a, dnnl_tp_op_attr_strides, s, 1);
        w[i].step = element(a, dnnl_tp_op_attr_dilations, s, 1);
        w[i].pad = element(a, dnnl_tp_op_attr_pads_begin, s, 0);
        w[i].end = w[i].in + element(a, dnnl_tp_op_attr_pads_end, s, 0);
        const int upper = is_word(a, dnnl_tp_op_attr_auto_pad, "same_upper"),
                  lower = is_word(a, dnnl_tp_op_attr_auto_pad, "same_lower");
        if (is_word(a, dnnl_tp_op_attr_auto_pad, "valid")) w[i].pad = 0, w[i].end = w[i].in;
        if (!upper && !lower) continue;
        const int64_t windows = (w[i].in + w[i].stride - 1) / w[i].stride,
                      range = (w[i].kernel - 1) * w[i].step + 1;
        int64_t all = (windows - 1) * w[i].stride + range - w[i].in;
        if (all < 0) all = 0;
        w[i].pad = upper ? all / 2 : (all + 1) / 2;
        w[i].end = w[i].in + all - w[i].pad;
    }
}

typedef struct {
    double sum, most;
    int64_t inside, padded; /* elements in src; in src and padding */
} seen_t;

/* What the window at `at` sees of a plane; wei: NULL or the kernel. */
static seen_t look(const window_t w[3], const int64_t at[3], const double *x, const double *wei) {
    seen_t r = {0, -INFINITY, 0, 0};
    for (int64_t d = 0; d < w[0].kernel; ++d)
        for (int64_t h = 0; h < w[1].kernel; ++h)
            for (int64_t k = 0; k < w[2].kernel; ++k) {
                const int64_t tap[3] = {d, h, k};
                int64_t p[3];
                int inside = 1, padded = 1;
                for (int i = 0; i < 3; ++i) {
                    p[i] = at[i] * w[i].stride - w[i].pad + tap[i] * w[i].step;
                    inside &= p[i] >= 0 && p[i] < w[i].in;
                    padded &= p[i] < w[i].end;
                }
                r.padded += padded;
                if (!inside) continue;
                const double v = x[(p[0] * w[1].in + p[1]) * w[2].in + p[2]];
                r.inside += 1;
                r.most = fmax(r.most, v);
                r.sum += wei ? v * wei[(d * w[1].kernel + h) * w[2].kernel + k] : v;
            }
    return r;
}

static void place(const window_t w[3], int64_t i, int64_t at[3]) {
    for (int d = 2; d >= 0; --d) at[d] = i % w[d].out, i /= w[d].out;
}

/* The window of a transposed convolution slides over y, and x has its places; the size of y is found anew. */
static void make_spread(const mirror_attrs_t *a, const dnnl_tp_tensor_info_t *x,
                        const dnnl_tp_tensor_info_t *y, const int64_t *kernel, window_t w[3]) {
    const int n = x->ndims - 2;
    make_windows(a, x, y, kernel, w);
    for (int i = 3 - n; i < 3; ++i) {
        const int s = i - (3 - n);
        const int64_t more = element(a, dnnl_tp_op_attr_output_padding, s, 0),
                      range = (w[i].kernel - 1) * w[i].step + 1,
                      all = range + more > w[i].stride ? range + more - w[i].stride : 0;
        int64_t behind = w[i].end - w[i].in;
        if (is_word(a, dnnl_tp_op_attr_auto_pad, "same_upper")) w[i].pad = all / 2, behind = all - all / 2;
        if (is_word(a, dnnl_tp_op_attr_auto_pad, "same_lower")) w[i].pad = all - all / 2, behind = all / 2;
        const int64_t size = (w[i].in - 1) * w[i].stride + range + more - w[i].pad - behind;
        if (size != w[i].out) abort();
    }
}

/* What x adds to the element of y at `at`. */
static double gathered(const window_t w[3], const int64_t at[3], const double *x, const double *wei) {
    double sum = 0;
    for (int64_t d = 0; d < w[0].kernel; ++d)
        for (int64_t h = 0; h < w[1].kernel; ++h)
            for (int64_t k = 0; k < w[2].kernel; ++k) {
                const int64_t tap[3] = {d, h, k};
                int64_t p[3];
                int inside = 1;
                for (int i = 0; i < 3; ++i) {
                    p[i] = at[i] + w[i].pad - tap[i] * w[i].step;
                    inside &= p[i] >= 0 && p[i] % w[i].stride == 0 && p[i] / w[i].stride < w[i].in;
                    p[i] /= w[i].stride;
                }
                if (inside)
                    sum += x[(p[0] * w[1].in + p[1]) * w[2].in + p[2]] *
                           wei[(d * w[1].kernel + h) * w[2].kernel + k];
            }
    return sum;
}

static void convolve(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    const dnnl_tp_tensor_info_t *wt = &v[1]->info;
    const int transposed = a->kind == dnnl_tp_op_conv_transpose;
    window_t w[3];
    (transposed ? make_spread : make_windows)(a, &v[0]->info, &y->info, wt->dims + 2, w);
    const int64_t groups = element(a, dnnl_tp_op_attr_groups, 0, 1), oc = wt->dims[0], ic = wt->dims[1];
    const int64_t pixels = w[0].out * w[1].out * w[2].out, plane = w[0].in * w[1].in * w[2].in,
                  taps = w[0].kernel * w[1].kernel * w[2].kernel;
    for (int64_t i = 0; i < y->n; ++i) {
        const int64_t o = i / pixels % oc, n = i / pixels / oc, g = o / (oc / groups);
        int64_t at[3];
        double sum = nin > 2 ? v[2]->x[o] : 0;
        place(w, i, at);
        for (int64_t c = 0; c < ic; ++c) {
            const double *x = v[0]->x + ((n * groups + g) * ic + c) * plane,
                         *wei = v[1]->x + (o * ic + c) * taps;
            sum += transposed ? gathered(w, at, x, wei) : look(w, at, x, wei).sum;
        }
        y->x[i] = sum;
    }
}

static void pool(const mirror_attrs_t *a, const mirror_value_t *x, mirror_value_t *y) {
    window_t w[3];
    const dnnl_tp_op_attr_t *exclude = mirror_find(a, dnnl_tp_op_attr_exclude_pad);
    make_windows(a, &x->info, &y->info, mirror_find(a, dnnl_tp_op_attr_kernel)->data, w);
    const int64_t pixels = w[0].out * w[1].out * w[2].out, plane = w[0].in * w[1].in * w[2].in;
    for (int64_t i = 0; i < y->n; ++i) {
        int64_t at[3];
        place(w, i, at);
        const seen_t r = look(w, at, x->x + i / pixels * plane, NULL);
        y->x[i] = a->kind == dnnl_tp_op_max_pool               ? r.most
                  : exclude && *(const uint8_t *)exclude->data ? r.sum / (double)r.inside
                                                               : r.sum / (double)r.padded;
    }
}

static void normalise(const mirror_attrs_t *a, const mirror_value_t *const *v, mirror_value_t *y) {
    const dnnl_tp_op_attr_t *epsilon = mirror_find(a, dnnl_tp_op_attr_epsilon);
    const double e = epsilon ? (double)*(const float *)epsilon->data : 1e-5;
    int64_t pixels = 1;
    for (int d = 2; d < y->info.ndims; ++d) pixels *= y->info.dims[d];
    for (int64_t i = 0; i < y->n; ++i) {
        const int64_t c = i / pixels % y->info.dims[1];
        y->x[i] = (v[0]->x[i] - v[3]->x[c]) / sqrt(v[4]->x[c] + e) * v[1]->x[c] + v[2]->x[c];
    }
}

static void respond(const mirror_attrs_t *a, const mirror_value_t *x, mirror_value_t *y) {
    static const int keys[] = {dnnl_tp_op_attr_alpha, dnnl_tp_op_attr_beta, dnnl_tp_op_attr_bias};
    const int64_t size = element(a, dnnl_tp_op_attr_size, 0, 0), channels = y->info.dims[1];
    double p[3] = {1e-4, .75, 1.};
    int64_t pixels = 1;
    for (int i = 0; i < 3; ++i)
        if (mirror_find(a, keys[i])) p[i] = (double)*(const float *)mirror_find(a, keys[i])->data;
    for (int d = 2; d < y->info.ndims; ++d) pixels *= y->info.dims[d];
    for (int64_t i = 0; i < y->n; ++i) {
        const int64_t c = i / pixels % channels;
        double sum = 0;
        for (int64_t k = -(size / 2); k <= size / 2; ++k)
            if (c + k >= 0 && c + k < channels) sum += x->x[i + k * pixels] * x->x[i + k * pixels];
        y->x[i] = x->x[i] / pow(p[2] + p[0] / (double)size * sum, p[1]);
    }
}

int mirror_spatial(const mirror_attrs_t *a, int nin, const mirror_value_t *const *v, mirror_value_t *y) {
    switch (a->kind) {
    case dnnl_tp_op_conv_transpose:
    case dnnl_tp_op_convolution: convolve(a, nin, v, y); return 1;
    case dnnl_tp_op_max_pool:
    case dnnl_tp_op_avg_pool: pool(a, v[0], y); return 1;
    case dnnl_tp_op_batch_norm_inference: normalise(a, v, y); return 1;
    case dnnl_tp_op_local_response_norm: respond(a, v[0], y); return 1;
    default: return 0;
    }
}
