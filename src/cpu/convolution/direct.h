/* Direct convolution over the micro-kernels: an implicit product of matrices. Rows are output pixels, columns output
 * channels, k the kernel's elements times input channels; no image of patches and no padded copy is made.
 *
 * Output pixels whose kernel meets src in the same rectangle of elements are a class: the kernel skips the other
 * elements, and its rows are scattered by tables. A chunk of pixels has its tables in scratch; for each strip of
 * column panels, and each pass over a part of the kernel's elements, all classes of the chunk are computed.
 *
 * Packed weights are Ohwi16o (of groups gOhwi16o): column panels of 16 output channels, in which the k-steps of one
 * element of the kernel lie side by side, and elements follow each other in order. So a row of the kernel is one long
 * run where src's pixels are dense, whatever the number of input channels, and nothing is padded along k.
 *
 * Of bf16 a k-step is a pair of input channels: weights are OhwI16o2i, and src with an odd number of channels in a group is
 * copied with a zero behind them. A first layer with an odd number is folded instead: pairs run through the pixels of a row
 * of the kernel, and only the last k-step of a row may be a half one. Its weights are Ohwi16o, and come in pairs twice.
 *
 * Where few output channels would leave most lanes of a column panel empty, lanes run along k (dtp_ukr_k_lanes_t): weights are Ohwi
 * (of groups gOhwi), a panel is one channel.
 *
 * nChw16c and OIhw16i16o are read in place as well: their blocks of 16 input channels are further elements of the
 * kernel. So is each channel of a first layer, in whatever layout. In dst of nChw16c a strip is one column panel. */
#ifndef DTP_CPU_CONVOLUTION_DIRECT_H
#define DTP_CPU_CONVOLUTION_DIRECT_H

#include "common/problems/convolution.h"
#include "cpu/gemm/fused.h"
#include "cpu/gemm/gemm.h"

/* What lies side by side in weights that are packed: channels of one kind; the elements of the kernel; neither. */
typedef enum { DTP_CONV_WEI_CHANNELS, DTP_CONV_WEI_SPACE, DTP_CONV_WEI_ANY } dtp_conv_wei_t;

/* Strides and offsets are bytes; [3] are depth, height and width. */
typedef struct {
    const dtp_ukr_set_t *ukr, *f32; /* f32: for finished tiles */
    int64_t elem;                   /* bytes of an element of src and weights */
    const dtp_vops_t *vops;
    const dtp_ukr_k_lanes_t *k_lanes; /* not NULL: taken instead of ukr */
    dtp_window_t win[3];
    int64_t images, groups, ic, oc; /* channels of a group */
    int64_t steps;                  /* k-steps of a group's input channels */
    bool each;                      /* input channel is a block: each k-step is a tap */
    int64_t blocks, block_k;        /* blocks of a group's input channels, each with so many k-steps */
    /* Of what the kernels read; of dst. */
    int64_t src_0, src_n, src_g, src_x[3], src_b, dst_0, dst_n, dst_g, dst_x[3], dst_c,
        dst_p; /* b: from block to block of input channels; p: from column panel to column panel */
    dnnl_tp_data_type_t dst_dt;
    /* Weights in column panels: from panel to panel, from block to block, from element to element of the kernel. */
    int64_t wei_0, wei_g, wei_p, wei_b, wei_x[3];
    /* Operands that are brought into that form in shared scratch first; strides of the original. */
    bool packs_src, packs_wei;
    int64_t from_src_0, from_src_n, from_src_c, from_src_x[3];
    int64_t from_wei_0, from_wei_g, from_wei_o, from_wei_i, from_wei_x[3];
    dtp_conv_wei_t from_wei_way;
    /* Folded, else 0: elements of a pixel; bytes of a row of the kernel, of which there are two: its pairs begin with its
     * first element in the one, with the second in the other. */
    int64_t fold, wei_row;
    int64_t packed_src_bytes;
    bool has_bias;
    dnnl_tp_data_type_t bia_dt;
    int64_t bia_0, bia_c;
    dtp_fused_t fused;
    bool tiled;       /* sums go to a tile of f32, which is finished and stored row by row */
    bool merged;      /* a row of the kernel is one element with kernel width * block_k k-steps */
    int64_t elements; /* of the kernel in all blocks, merged ones counted once */
    int64_t passes, pass_elements;
    int64_t npanels;
    int nv;          /* column panels of a strip */
    bool stream_c;   /* whole lines of dst go past the caches, where they begin at lines */
    bool half_panel; /* the last column panel, of which half is empty, and the one before are a strip */
    int64_t line_chunks, row_chunks; /* chunks of a group: of lines of output pixels, of parts of a line */
    int64_t panel_parts;
    /* Units of one chunk of pixels are its groups, one after another; else units of one group are its chunks. */
    bool groups_inside;
    int64_t units, unit_ns;
    bool alone;
    int64_t max_rows, max_classes;        /* of a chunk */
    int64_t at_classes, at_taps, at_tile; /* in a slot's scratch, behind the tables */
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
    int64_t first, last; /* passes that hold its elements */
} dtp_conv_class_t;

/* Output channels of a panel of the weights; bytes of its k-step. */
static inline int64_t dtp_conv_panel(const dtp_conv_direct_t *p) { return p->k_lanes ? 1 : DTP_UKR_PANEL; }
static inline int64_t dtp_conv_panel_step(const dtp_conv_direct_t *p) {
    return dtp_conv_panel(p) * DTP_UKR_STEP_BYTES;
}

/* What follows pd_init: the split into chunks, passes and units, and scratch. src_bytes: of a pixel. */
void dtp_conv_direct_plan(dtp_conv_direct_t *p, dtp_pd_t *pd);
void dtp_conv_direct_run(const dtp_conv_direct_t *p, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

#endif
