/* Winograd convolution: 3 x 3, stride 1, f32. Tiles of dst are transformed sums: for each point of
 * a tile, the micro-kernels multiply a matrix of tiles by input channels with a matrix of input by
 * output channels.
 *
 * Tiles are computed in blocks, whose transformed inputs (V) and products (M) stay in near caches.
 * A unit of work is a block, which transforms its own inputs. If there are too few blocks for the
 * threads, all inputs are first transformed into shared scratch, and a unit is a block and a part
 * of the output channels. Sums do not depend on this choice.
 *
 * Weights (U) are transformed once, into the opaque layout [points][panels of 16 output
 * channels][input channels][16]; plain ones are transformed at each execution into shared scratch.
 * See winograd_kern.h for the transforms, winograd.c for the choice of a tile and of the algorithm.
 */
#ifndef DTP_CPU_CONVOLUTION_WINOGRAD_H
#define DTP_CPU_CONVOLUTION_WINOGRAD_H

#include "common/problems/convolution.h"
#include "cpu/convolution/winograd_kern.h"
#include "cpu/gemm/fused.h"
#include "cpu/gemm/gemm.h"

/* Plain weights, or packed ones of direct convolutions; strides are elements. */
typedef struct {
    /* along output and input channels, height and width of the kernel */
    int64_t offset, o, i, h, w;
    int64_t panel; /* of packed weights: from panel to panel; 0: plain */
    int64_t oc, ic;
} dtp_wino_weights_t;

typedef struct {
    const dtp_ukr_set_t *ukr;
    const dtp_wino_kern_t *kern;
    dtp_opaque_t layout;
    /* Index among the kernels; sides of a tile of dst, and of the part of src that it reads. */
    int size, out, in;
    int64_t points;
    double ns; /* estimate on one thread */
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
    int64_t group;                         /* panels whose products are adjacent in M */
    bool shared;
    int64_t parts; /* of the panels; shared only */
    /* chunk: channels that a unit of the first phase transforms */
    int64_t units, unit_ns, src_units, chunk;
    int64_t v_tile, v_point, m_tile, m_point; /* elements */
    int64_t wei_bytes, v_bytes, m_bytes;      /* of scratch */
    bool alone;
    dtp_postops_t po;
} dtp_wino_t;

void dtp_wino_run(const dtp_wino_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

/* Gives the strides of weights; false: a layout that cannot be transformed. */
bool dtp_wino_weights(dtp_wino_weights_t *w, const dtp_md_t *md);
/* Transforms panels [begin, end) into the opaque layout. */
void dtp_wino_transform(const dtp_wino_weights_t *w, const float *from, float *to, const dtp_ukr_set_t *ukr,
                        const dtp_wino_kern_t *kern, dtp_opaque_t layout, int64_t begin, int64_t end);
const dtp_wino_kern_t *dtp_wino_kern(unsigned isa);

#endif
