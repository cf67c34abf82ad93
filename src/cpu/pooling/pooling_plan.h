/* The plan of pooling on vectors, which pooling_simd.c makes, and its two forms:
 *
 * rows   the channels of a pixel are adjacent (channels last, or blocks of channels): a unit of
 *        work is one or several rows of dst of a block of channels; a kernel call is one row.
 * planes everything else: a unit is the plane of one channel; a kernel call is a plane.
 *
 * Data that a kernel cannot read or write directly (types other than f32 and, in rows without
 * post-operations, bf16; for planes, other layouts) pass through scratch. */
#ifndef DTP_CPU_POOLING_PLAN_H
#define DTP_CPU_POOLING_PLAN_H

#include "cpu/pooling/pooling.h"
#include "cpu/pooling/pooling_kern.h"
#include "cpu/postops/postops.h"

/* The position of element (n, c, d, h, w): offset0 + n * n_stride + (c / block) * c_stride + (c %
 * block) + d * s[0] + h * s[1] + w * s[2]; block 1: plain. */
typedef struct {
    int64_t offset0, n_stride, c_stride, block, s[DTP_POOLING_DIMS];
} dtp_pool_view_t;
static inline int64_t dtp_pool_at(const dtp_pool_view_t *v, int64_t n, int64_t c) {
    return v->offset0 + n * v->n_stride + c / v->block * v->c_stride + c % v->block;
}
/* From one channel to the next one of its block. */
static inline int64_t dtp_pool_unit(const dtp_pool_view_t *v) { return v->block > 1 ? 1 : v->c_stride; }

typedef struct {
    const dtp_pool_kernels_t *kernels;
    dtp_window_t w[DTP_POOLING_DIMS];
    dtp_pool_view_t src, dst;
    dnnl_tp_data_type_t sdt, ddt;
    int64_t n, c, volume, divisor;
    bool planes, exact, taps;
    int maximum; /* 0 or DTP_POOL_MAX_* */
    /* kernels read src, write dst and the workspace directly */
    bool src_direct, dst_direct, tap_direct;
    v_type_t type; /* type that the kernels of rows read and write */
    bool native;   /* the processor has an instruction that rounds to bf16 */
    float least;
    int64_t units, grain;
    /* rows */
    int64_t block, blocks; /* channels that are computed together, and the number of such blocks */
    int64_t many;          /* blocks of a unit: more than 1 if a block is one output */
    int64_t band, bands;   /* rows of dst of a unit */
    int64_t band_rows;     /* limit of the rows of src that a band depends on */
    bool stream;           /* dst goes past the caches, if it is aligned */
    /* > 1: parts of the columns of one output, which are summed separately first */
    int64_t shards;
    /* planes */
    bool whole; /* one output of the whole plane, which is contiguous */
    /* Bytes into a participant's scratch. */
    size_t src_at, dst_at, tap_at, room_at;
    bool picks;      /* rows of at most two vectors */
    bool runs;       /* planes whose size does not change are one run */
    size_t picks_at; /* shared: dtp_pool_plane_t.pick or .columns, after .taps */
    dtp_postops_t po;
} dtp_pool_plan_t;

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} dtp_pool_job_t;

void dtp_pool_run_rows(const dtp_pool_job_t *job);
void dtp_pool_run_planes(const dtp_pool_job_t *job);

#endif
