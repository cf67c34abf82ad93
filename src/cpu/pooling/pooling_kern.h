/* Pooling in f32 (rows also from bf16 to bf16): the interface between driver and kernels. Maxima
 * pass over NaN, or, with DTP_POOL_MAX_NAN, are NaN if a tap is; a sum of no taps is 0. */
#ifndef DTP_CPU_POOLING_KERN_H
#define DTP_CPU_POOLING_KERN_H

#include "common/problems/window.h"
#include "cpu/simd/vec_types.h"

/* Values of `maximum` other than 0. With numbers of taps it is DTP_POOL_MAX. */
enum { DTP_POOL_MAX = 1, DTP_POOL_MAX_NAN };

/* `rows` rows of dst with adjacent channels, each of which begins next_src and next_dst after the
 * one before: for all columns ow and channels c
 *     dst[ow * ld_dst + c] = max or sum * factor over d < nd, h < nh, taps k of ow that are inside,
 *     of
 *         src[d * step_d + h * step_h + (input column of k) * ld_src + c]. */
typedef struct {
    const void *src; /* first tap inside in depth and height, column 0, channel 0 */
    void *dst;
    /* For maxima: [ow * ld_tap + c] gets the number of the maximum's tap; NULL: not wanted. */
    void *tap;
    /* type: of src and dst, f32 or bf16; tap_type: f32 or u8. next_dst is also the distance of rows
     * of tap. */
    v_type_t type, tap_type;
    /* All distances are in elements. */
    int64_t rows, next_src, next_dst;
    int64_t ld_src, ld_dst, ld_tap, step_d, step_h, nd, nh, channels;
    dtp_window_t w; /* along the columns */
    /* number of the tap (0, 0, 0), and what depth and height add */
    int64_t first_tap, tap_d, tap_h;
    int64_t divisor; /* of sums; 0: the number of taps inside */
    int maximum;     /* else a sum */
    /* whole vectors of dst, which are f32 and aligned, go past the caches */
    int stream;
    float least; /* maximum of no tap */
    /* divide instead of multiplying by the inverse, because the result is rounded to integers */
    int exact;
    /* the processor has an instruction that rounds to bf16 */
    int native;
} dtp_pool_row_t;
typedef void (*dtp_pool_row_fn_t)(const dtp_pool_row_t *a);

/* Rows of a plane with adjacent columns. Each row of dst is reduced along depth and height into
 * room, then along the columns. Every window has a tap inside. */
typedef struct {
    const float *src; /* first tap inside in depth, row 0 of the plane */
    float *dst;       /* row 0 of the plane */
    float *tap;       /* numbers of the maxima's taps, with the layout of dst; NULL: not wanted */
    /* dtp_pool_room() floats for each of DTP_POOL_ROWS; with tap for each of nd * h.kernel */
    float *room;
    /* For rows of at most two vectors: lanes of inputs, -1 in the padding, for each vector of dst
     * and tap; else NULL. */
    const int32_t *pick;
    /* For dense planes whose size does not change, with windows of three columns: for each vector
     * of the whole plane, bits of the lanes that have a column on their left, and of those that
     * have one on their right; else NULL. */
    const uint32_t *columns;
    /* For each column of dst, with `columns` for each element of the plane: with tap the first tap
     * inside; for sums that count taps their number, or its inverse unless exact. */
    const float *taps;
    int64_t ld_src, ld_dst, step_d, nd;
    /* number of planes and their distances in floats; 1 with tap */
    int64_t planes, next_src, next_dst;
    dtp_window_t h, w;
    /* number of the tap (0, 0, 0), and what depth adds; height adds w.kernel */
    int64_t first_tap, tap_d;
    int64_t divisor; /* 0: the number of taps inside */
    int maximum, exact;
} dtp_pool_plane_t;
typedef void (*dtp_pool_plane_fn_t)(const dtp_pool_plane_t *a);
enum {
    DTP_POOL_LANES = 16, /* of the widest vector */
    DTP_POOL_ROWS = 4    /* rows that are reduced along the columns together */
};
static inline int64_t dtp_pool_room(const dtp_window_t *w) {
    const int64_t inside = w->pad + w->in, last = (w->out - 1) * w->stride + (w->kernel - 1) * w->step + 1;
    return (inside > last ? inside : last) + 2 * DTP_POOL_LANES;
}

/* dst[i * ld_dst] = max or sum / n of the n adjacent floats src[i * ld_src ...], i < planes. */
typedef struct {
    const float *src;
    float *dst;
    int64_t ld_src, ld_dst, planes, n;
    int maximum;
} dtp_pool_whole_t;
typedef void (*dtp_pool_whole_fn_t)(const dtp_pool_whole_t *a);

typedef struct {
    dtp_pool_row_fn_t row;
    dtp_pool_plane_fn_t plane;
    dtp_pool_whole_fn_t whole;
    int64_t lanes; /* of a vector */
} dtp_pool_kernels_t;
extern const dtp_pool_kernels_t dtp_pool_kernels__avx512, dtp_pool_kernels__avx2, dtp_pool_kernels__portable;

#endif
