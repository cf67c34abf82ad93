/* The plan of batch and group normalization on vectors, which channel_norm_simd.c makes and channel_norm_run.c
 * executes.
 *
 * Work is cut into pieces: some elements in space (a chunk) of some channels of an image. Statistics of pieces are
 * joined into those of channels or groups, and make three vectors by channel (mean, factor, addend), with which
 * pieces are normalized. Where whole sets of statistics fit into a unit of work, a unit does all of it while src is
 * in its cache; else each step is a loop of its own. Both give the same bits. */
#ifndef DTP_CPU_CHANNEL_NORM_PLAN_H
#define DTP_CPU_CHANNEL_NORM_PLAN_H

#include "cpu/channel_norm/channel_norm.h"
#include "cpu/channel_norm/channel_norm_kern.h"
#include "cpu/postops/postops.h"

/* Where element (n, c, s) lies, s the position in space: offset0 + n * n_stride + c / block * c_stride + c % block +
 * s * s_stride. */
typedef struct {
    int64_t offset0, n_stride, c_stride, s_stride, block;
} dtp_cn_view_t;
static inline int64_t dtp_cn_view_at(const dtp_cn_view_t *v, int64_t n, int64_t c, int64_t s) {
    return v->offset0 + n * v->n_stride + c / v->block * v->c_stride + c % v->block + s * v->s_stride;
}

/* Pieces of c channels (or of so many groups that lie in one run) and space elements of each. */
typedef struct {
    int64_t c, space;
    int64_t chunk, chunks,
        tail;              /* elements in space of a piece, pieces of a channel, elements of the last one */
    int64_t block, blocks; /* channels of a piece, pieces of an image */
    int64_t c_stride;      /* of rows, where they are channels */
} dtp_cn_cut_t;

typedef struct {
    dtp_postops_t po;
    dtp_quant_view_t src_scale, dst_scale;
    const dtp_cn_kernels_t *kernels;
    dtp_cn_view_t src, dst;
    dnnl_tp_data_type_t sdt, ddt;
    v_type_t src_type, dst_type;
    int64_t n, c, groups; /* groups 0: batch normalization */
    dtp_cn_cut_t stat, norm;
    bool by_cols;                /* channels lie side by side */
    bool src_direct, dst_direct; /* views hold */
    bool straight;               /* kernels write dst */
    bool big, exceeds_l2;        /* src and dst do not stay in the caches, in the second one */
    int64_t span;                /* pieces whose order stays, where the last ones come first */
    bool given, written;         /* statistics */
    bool runs;                   /* statistics are taken of whole groups */
    bool add, positive;          /* src1, workspace */
    float least;
    /* Units that do all: 0 = each step is a loop. */
    int64_t units, unit_n, unit_c; /* images and channels of a unit */
    int64_t unit_grain, stat_grain, norm_grain;
    size_t parts_at, mean_at, var_at, mul_at, add_at; /* in shared scratch */
    int64_t ld; /* of parts: floats from one piece's means to the next one's */
} dtp_cn_plan_t;

dnnl_tp_status_t dtp_channel_norm_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

/* Floats of a tile; three of them are a participant's scratch where kernels do not write dst. */
enum { DTP_CN_TILE = 4096 };

#endif
