/* Winograd convolution: 3 x 3, stride 1, f32. Tiles of dst are transformed sums: of each of a tile's points a matrix of
 * tiles by input channels is multiplied with one of input by output channels, by the micro-kernels.
 *
 * Tiles are taken in blocks, whose transformed inputs (V) and products (M) stay near. A unit of work is a block, which
 * transforms its own inputs; or, where blocks are too few for the threads, all inputs are transformed first into shared
 * scratch, and a unit is a block and a part of the output channels. Sums do not depend on either.
 *
 * Weights (U) are transformed once, into the opaque layout [points][panels of 16 output channels][input channels][16];
 * plain ones at each execution into shared scratch. See winograd_kern.h for the transforms, winograd.c for the choice
 * of a tile and of the algorithm. */
#ifndef DTP_CPU_CONVOLUTION_WINOGRAD_H
#define DTP_CPU_CONVOLUTION_WINOGRAD_H

#include "common/problems/convolution.h"
#include "cpu/convolution/winograd_kern.h"
#include "cpu/gemm/fused.h"
#include "cpu/gemm/gemm.h"

/* Plain weights, or packed ones of direct convolutions; strides are elements. */
typedef struct {
    int64_t offset, o, i, h, w; /* along output and input channels, height and width of the kernel */
    int64_t panel;              /* of packed weights: from panel to panel; 0: plain */
    int64_t oc, ic;
} dtp_wino_weights_t;

typedef struct {
    const dtp_ukr_set_t *ukr;
    const dtp_wino_kern_t *kern;
    dtp_opaque_t layout;
    int size, out,
        in; /* index among the kernels; sides of a tile of dst, and of the part of src that it reads */
    int64_t points;
    double ns; /* on one thread, by the estimate */
    int64_t images, ic, oc, ih, iw, oh, ow, top, left;
    int64_t tiles_h, tiles_w, tiles;                                /* of an image; of all */
    int64_t src_0, src_n, src_h, src_w, dst_0, dst_n, dst_h, dst_w; /* elements */
    bool has_bias;
    int64_t bia_0;
    dtp_fused_t fused;
    bool tiled; /* pixels go to a tile of f32, which is finished and copied row by row */
    bool packs_wei;
    dtp_wino_weights_t from;
    int64_t npanels, wei_panel, wei_point; /* elements */
    int nv;                                /* column panels of a strip */
    int64_t block, nblocks;                /* tiles */
    int64_t group;                         /* panels whose products lie side by side in M */
    bool shared;
    int64_t parts;                            /* of the panels; shared only */
    int64_t units, unit_ns, src_units, chunk; /* chunk: channels that a unit of the first phase transforms */
    int64_t v_tile, v_point, m_tile, m_point; /* elements */
    int64_t wei_bytes, v_bytes, m_bytes;      /* of scratch */
    bool alone;
    dtp_postops_t po;
} dtp_wino_t;

void dtp_wino_run(const dtp_wino_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

/* The strides of weights in a layout that can be transformed; false: it is another one. */
bool dtp_wino_weights(dtp_wino_weights_t *w, const dtp_md_t *md);
/* Panels [begin, end) into the opaque layout. */
void dtp_wino_transform(const dtp_wino_weights_t *w, const float *from, float *to, const dtp_ukr_set_t *ukr,
                        const dtp_wino_kern_t *kern, dtp_opaque_t layout, int64_t begin, int64_t end);
const dtp_wino_kern_t *dtp_wino_kern(unsigned isa);

#endif
