/* Direct convolution over the micro-kernels: an implicit product of matrices. Rows are output
 * pixels, columns are output channels, k is the kernel's elements times input channels; no image of
 * patches and no padded copy is made.
 *
 * Output pixels whose kernel meets src in the same rectangle of elements are a class: the kernel
 * skips the other elements, and its rows are scattered by tables. The tables of a chunk of pixels
 * are in scratch; all classes of the chunk are computed for each strip of column panels and each
 * pass over a part of the kernel's elements.
 *
 * Packed weights are Ohwi16o (with groups gOhwi16o): column panels of 16 output channels, in which
 * the k-steps of one element of the kernel are adjacent, and elements follow each other in order.
 * So, if src's pixels are dense, a row of the kernel is one long run for any number of input
 * channels, and nothing is padded along k.
 *
 * For bf16 a k-step is a pair of input channels: weights are OhwI16o2i, and src with an odd number
 * of channels in a group is copied with a zero after them. A first layer with an odd number is
 * folded instead: pairs run through the pixels of a row of the kernel, and only the last k-step of
 * a row may be a half one. Its weights are Ohwi16o, and are arranged in pairs twice.
 *
 * If a small number of output channels would leave most lanes of a column panel empty, lanes run
 * along k (dtp_ukr_k_lanes_t): weights are Ohwi (with groups gOhwi), and a panel is one channel.
 *
 * nChw16c and OIhw16i16o are read directly, too: their blocks of 16 input channels are further
 * elements of the kernel. So is each channel of a first layer, in any layout. In dst of nChw16c a
 * strip is one column panel. */
#ifndef DTP_CPU_CONVOLUTION_DIRECT_H
#define DTP_CPU_CONVOLUTION_DIRECT_H

#include "common/problems/convolution.h"
#include "cpu/gemm/fused.h"
#include "cpu/gemm/gemm.h"

/* The elements that are adjacent in weights to be packed: channels of one kind; elements of the
 * kernel; neither. */
typedef enum { DTP_CONV_WEI_CHANNELS, DTP_CONV_WEI_SPACE, DTP_CONV_WEI_ANY } dtp_conv_wei_t;

/* Strides and offsets are bytes; [3] are depth, height and width. */
typedef struct {
    const dtp_ukr_set_t *ukr, *f32; /* f32: for finished tiles */
    int64_t elem;                   /* bytes of an element of src and weights */
    const dtp_vops_t *vops;
    const dtp_ukr_k_lanes_t *k_lanes; /* not NULL: used instead of ukr */
    dtp_window_t win[3];
    int64_t images, groups, ic, oc; /* ic, oc: channels of a group */
    int64_t steps;                  /* k-steps of a group's input channels */
    bool each;                      /* each input channel is a block, and each k-step a tap */
    int64_t blocks, block_k;        /* blocks of a group's input channels; k-steps of a block */
    /* Of the src that the kernels read, and of dst. b: from block to block of input channels; p:
     * from column panel to column panel. */
    int64_t src_0, src_n, src_g, src_x[3], src_b, dst_0, dst_n, dst_g, dst_x[3], dst_c, dst_p;
    dnnl_tp_data_type_t dst_dt;
    /* Weights in column panels: from panel to panel, from block to block, from element to element
     * of the kernel. */
    int64_t wei_0, wei_g, wei_p, wei_b, wei_x[3];
    /* Operands that are first packed into that form in shared scratch; strides of the original. */
    bool packs_src, packs_wei;
    int64_t from_src_0, from_src_n, from_src_c, from_src_x[3];
    int64_t from_wei_0, from_wei_g, from_wei_o, from_wei_i, from_wei_x[3];
    dtp_conv_wei_t from_wei_way;
    /* If folded, else 0: elements of a pixel; bytes of a row of the kernel. There are two versions
     * of a row: its pairs begin with its first element in one, and with the second in the other. */
    int64_t fold, wei_row;
    int64_t packed_src_bytes;
    bool has_bias;
    dnnl_tp_data_type_t bia_dt;
    int64_t bia_0, bia_c;
    dtp_fused_t fused;
    /* Sums go to a tile of f32, which is finished and stored row by row. */
    bool tiled;
    /* A row of the kernel is one element with kernel width * block_k k-steps. */
    bool merged;
    /* Number of elements of the kernel in all blocks; a merged row counts as one. */
    int64_t elements;
    int64_t passes, pass_elements;
    int64_t npanels;
    int nv; /* column panels of a strip */
    /* Whole lines of dst go past the caches, if they begin at lines. */
    bool stream_c;
    /* The last column panel, of which half is empty, and the one before are a strip. */
    bool half_panel;
    /* Number of chunks in a group: of lines of output pixels, of parts of a line. */
    int64_t line_chunks, row_chunks;
    int64_t panel_parts;
    /* Consecutive units are the groups of one chunk of pixels; otherwise they are the chunks of one
     * group. */
    bool groups_inside;
    /* Sums are so short that tables of rows cost much. */
    bool short_sums;
    int64_t units, unit_ns;
    bool alone;
    int64_t max_rows, max_classes;        /* of a chunk */
    int64_t at_classes, at_taps, at_tile; /* in a slot's scratch, after the tables */
    dtp_postops_t po;
} dtp_conv_direct_t;

/* A unit's group, part of the column panels, chunk of lines, and chunk of each line. */
typedef struct {
    int64_t group, part, lines, row;
} dtp_conv_unit_t;
static inline dtp_conv_unit_t dtp_conv_unit(const dtp_conv_direct_t *p, int64_t u) {
    const int64_t chunks = p->row_chunks * p->line_chunks * p->panel_parts;
    const int64_t at = p->groups_inside ? u / p->groups : u % chunks;
    return (dtp_conv_unit_t){.group = p->groups_inside ? u % p->groups : u / chunks,
                             .part = at / p->row_chunks / p->line_chunks,
                             .lines = at / p->row_chunks % p->line_chunks,
                             .row = at % p->row_chunks};
}

/* Pixels of output with the same valid elements lo..hi - 1 of the kernel. */
typedef struct {
    int64_t row0, rows, lo[3], hi[3];
    int64_t run;         /* not 0: rows that are neighbours; tables have the first of each run only */
    int64_t first, last; /* passes that have its elements */
} dtp_conv_class_t;

/* Number of output channels of a panel of the weights, and bytes of its k-step. */
static inline int64_t dtp_conv_panel(const dtp_conv_direct_t *p) { return p->k_lanes ? 1 : DTP_UKR_PANEL; }
static inline int64_t dtp_conv_panel_step(const dtp_conv_direct_t *p) {
    return dtp_conv_panel(p) * DTP_UKR_STEP_BYTES;
}

/* Called at the end of pd_init: decides the split into chunks, passes and units, and books scratch.
 */
void dtp_conv_direct_plan(dtp_conv_direct_t *p, dtp_pd_t *pd);
void dtp_conv_direct_run(const dtp_conv_direct_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

#endif
