/* Local response normalization on vectors: the interface between driver and kernels. With
 * b = k + factor * (sum of squares), kernels write src * b^-3/4; for other powers they write b. */
#ifndef DTP_CPU_LRN_KERN_H
#define DTP_CPU_LRN_KERN_H

#include <stdint.h>

#include "cpu/simd/vec_types.h"

/* Neighbours are channels, which are adjacent in blocks: element c of a pixel at c / block *
 * next_block + c % block; one block if block >= channels. Pixels are ld elements apart in src and
 * dst. */
typedef struct {
    const void *src;
    void *dst;
    v_type_t type;
    int64_t pixels, ld, channels, block, next_block, half;
    float k, factor;
    float *room; /* DTP_LRN_PIXELS times ld_room floats */
    int64_t ld_room;
    float *base; /* b, pixel by pixel, `channels` apart; NULL: dst is written */
} dtp_lrn_pixels_t;
enum { DTP_LRN_PIXELS = 8, DTP_LRN_LANES = 16 /* of the widest vector */ };
/* Floats of room for a pixel: zeros up to a whole vector, the channels, zeros. */
static inline int64_t dtp_lrn_front(int64_t half) {
    return (half + DTP_LRN_LANES - 1) / DTP_LRN_LANES * DTP_LRN_LANES;
}
static inline int64_t dtp_lrn_room(int64_t channels, int64_t half) {
    return dtp_lrn_front(half) + (channels + half + 2 * DTP_LRN_LANES - 1) / DTP_LRN_LANES * DTP_LRN_LANES;
}

/* Neighbours are elements of nd * nh rows, with half > 0 also those at most `half` steps away in
 * their row. A row has n adjacent elements. */
typedef struct {
    const void *first; /* of the rows that are summed */
    int64_t nd, nh, step_d, step_h;
    const void *src; /* the middle row */
    void *dst;
    v_type_t type;
    int64_t n, half, step;
    float k, factor;
    float *room; /* n + 2 * half * step + DTP_LRN_LANES floats; unless half is 0 */
    float *base; /* b; NULL: dst is written */
} dtp_lrn_rows_t;

typedef struct {
    void (*pixels)(const dtp_lrn_pixels_t *a);
    void (*rows)(const dtp_lrn_rows_t *a);
} dtp_lrn_kernels_t;
extern const dtp_lrn_kernels_t dtp_lrn_kernels__avx512_bf16, dtp_lrn_kernels__avx512, dtp_lrn_kernels__avx2,
    dtp_lrn_kernels__portable;

#endif
