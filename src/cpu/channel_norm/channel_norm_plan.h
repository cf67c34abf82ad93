/* The plan of batch and group normalization on vectors, which channel_norm_simd.c makes and
 * channel_norm_run.c executes.
 *
 * A piece of work is a chunk of elements in space, of some channels of an image. The statistics of
 * pieces are joined into those of channels or groups. These give three vectors by channel (mean,
 * factor, addend), which normalize the pieces. If all pieces of some statistics fit into a unit of
 * work, a unit does everything while src is in its cache; else each step is a loop. Both give the
 * same bits. */
#ifndef DTP_CPU_CHANNEL_NORM_PLAN_H
#define DTP_CPU_CHANNEL_NORM_PLAN_H

#include "cpu/channel_norm/channel_norm.h"
#include "cpu/channel_norm/channel_norm_kern.h"
#include "cpu/postops/postops.h"

/* The position of element (n, c, s), s the position in space: offset0 + n * n_stride + c / block *
 * c_stride + c % block + s * s_stride. */
typedef struct {
    int64_t offset0, n_stride, c_stride, s_stride, block;
} dtp_cn_view_t;
static inline int64_t dtp_cn_view_at(const dtp_cn_view_t *v, int64_t n, int64_t c, int64_t s) {
    return v->offset0 + n * v->n_stride + c / v->block * v->c_stride + c % v->block + s * v->s_stride;
}

/* Pieces of c channels, or of c groups whose elements are contiguous, with `space` elements each.
 */
typedef struct {
    int64_t c, space;
    /* elements in space of a piece, pieces of a channel, elements of the last one */
    int64_t chunk, chunks, tail;
    int64_t block, blocks; /* channels of a piece, pieces of an image */
    int64_t c_stride;      /* of rows, where they are channels */
} dtp_cn_cut_t;

typedef struct {
    dtp_quant_view_t src_scale, dst_scale;
    const dtp_cn_kernels_t *kernels;
    dtp_cn_view_t src, dst;
    dnnl_tp_data_type_t sdt, ddt;
    v_type_t src_type, dst_type;
    int64_t n, c, groups; /* groups 0: batch normalization */
    dtp_cn_cut_t stat, norm;
    bool by_cols;                /* channels are adjacent */
    bool src_direct, dst_direct; /* src is read, dst written at its view */
    bool straight;               /* kernels write dst */
    bool big, exceeds_l2;        /* src and dst are larger than the caches, than L2 */
    int64_t span;                /* if the last pieces come first: pieces that keep their order */
    bool given, written;         /* statistics */
    bool runs;                   /* statistics are of whole groups */
    bool add, positive;          /* src1, workspace */
    float least;
    /* Units that do everything; 0: each step is a loop. */
    int64_t units, unit_n, unit_c; /* images and channels of a unit */
    int64_t unit_grain, stat_grain, norm_grain;
    size_t parts_at, mean_at, var_at, mul_at, add_at; /* in shared scratch */
    int64_t ld; /* of parts: floats from one piece's means to the next one's */
    dtp_postops_t po;
} dtp_cn_plan_t;

dnnl_tp_status_t dtp_channel_norm_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

/* Floats of a tile. A participant's scratch is three tiles, unless kernels write dst. */
enum { DTP_CN_TILE = 4096 };

#endif
