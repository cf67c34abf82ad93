/* Winograd convolution in f32: the interface between driver and kernels.
 *
 * A tile is `side` x `side` pixels of dst; it reads side + 2 pixels of src along each side. All
 * strides are elements, channels are adjacent everywhere, and the distance of a transformed tile's
 * elements, its points, is `point`. */
#ifndef DTP_CPU_CONVOLUTION_WINOGRAD_KERN_H
#define DTP_CPU_CONVOLUTION_WINOGRAD_KERN_H

#include <stdint.h>

/* Channels of transformed rows are a multiple of it, so that kernels may write whole vectors. */
enum { DTP_WINO_LANES = 16 };

/* Neighbouring tiles of one row of tiles: for each, v = B' src B. */
typedef struct {
    /* row 0 of the tiles, column 0 of the image, first channel; row 0 may be outside */
    const float *src;
    int64_t row;    /* from row to row of src */
    int64_t ld;     /* from column to column */
    int64_t h0, h1; /* rows of the tiles that are inside */
    int64_t column; /* of src, at which the first tile begins; may be outside */
    int64_t width;  /* of src: columns outside of it are 0 */
    int64_t ntiles, channels;
    float *v;
    int64_t tile, point;
} dtp_wino_src_t;

/* Neighbouring tiles of one row of tiles: for each, dst = finish(A' m A). */
typedef struct {
    const float *m;
    int64_t tile, point;
    float *dst; /* first pixel of the first tile, first channel */
    int64_t row, ld;
    int64_t height; /* rows of dst that exist, at most side */
    int64_t width;  /* columns of dst that exist, of all tiles */
    int64_t ntiles, channels;
    const float *bias; /* NULL: none */
    const float *add;  /* as dst, or NULL: none */
    int64_t add_row, add_ld;
    float add_scale, floor, cap;
    int relu_first, floors, caps; /* relu_first: before the addend; bounds last; NaN stays */
} dtp_wino_dst_t;

/* Weights of one panel of output channels: for each input channel u = G w G',
 * [channels][DTP_WINO_PANEL]. */
typedef struct {
    const float *w; /* DTP_WINO_PANEL output channels are adjacent */
    /* from element to element of the kernel; from input channel to input channel */
    int64_t element, channel;
    int64_t channels;
    float *u;
    int64_t point;
} dtp_wino_wei_t;

/* Kernels of one instruction set; [0]: tiles of 2 x 2, [1]: of 4 x 4. */
typedef struct {
    void (*src[2])(const dtp_wino_src_t *a);
    void (*dst[2])(const dtp_wino_dst_t *a);
    void (*wei[2])(const dtp_wino_wei_t *a);
} dtp_wino_kern_t;

extern const dtp_wino_kern_t dtp_wino_kern__avx512, dtp_wino_kern__avx2, dtp_wino_kern__portable;

#endif
