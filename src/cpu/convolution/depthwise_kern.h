/* Depthwise convolution of f32 and bf16, in f32 arithmetic: the interface between driver and
 * kernels. */
#ifndef DTP_CPU_CONVOLUTION_DEPTHWISE_KERN_H
#define DTP_CPU_CONVOLUTION_DEPTHWISE_KERN_H

#include "common/problems/window.h"

enum { DTP_DW_PANEL = 16 }; /* channels whose weights are adjacent */

/* Columns x0..x1 - 1 of rows of dst with adjacent channels, summed in this order:
 *
 *     dst[x * ld_dst + c] = clamp(bias[c] +
 *         sum over d < nd, h < nh, elements k of x that are inside, of
 *             src[d * step_d + h * step_h + (column of k) * ld_src + c] * weight of (c; d, h, k)) */
typedef struct {
    const void *src; /* first element inside in depth and height, column 0 */
    /* Weights of panel 0 for the same element; the elements of a row of the kernel are contiguous. */
    const void *wei;
    const void *bias; /* NULL: none */
    void *dst;        /* column 0 */
    int is_bf16;      /* src and weights, else f32; only then the next two may be set */
    int bias_bf16, dst_bf16;
    int stream; /* dst is f32 in whole aligned lines, and is stored past the caches */
    int64_t ld_src, ld_dst, step_d, step_h, wei_d, wei_h, wei_panel, nd, nh, channels, x0, x1;
    int64_t ahead; /* the kernel also fetches so many rows of src after those that it reads */
    /* Rows of dst, each of which begins next_src and next_dst after the one before. `chunk`
     * channels (whole panels) of a few columns of all rows come before the next ones: a row of src
     * that several rows of dst read stays in the first-level cache. */
    int64_t rows, next_src, next_dst, chunk;
    /* Two rows at once: rows is even, the kernel is 3 x 3 with stride 1, every output column has
     * an element inside, and all rows have all their elements in height inside. */
    int pairs;
    dtp_window_t w; /* along the columns */
    int clamp;      /* min(max(sum, lo), hi), NaN stays */
    int hardswish;  /* sum * min(1, max(0, alpha * sum + beta)); not with clamp */
    float lo, hi, alpha, beta;
} dtp_dw_row_t;

void dtp_dw_row__avx512(const dtp_dw_row_t *a);
void dtp_dw_row__avx2(const dtp_dw_row_t *a);
void dtp_dw_row__portable(const dtp_dw_row_t *a);

#endif
