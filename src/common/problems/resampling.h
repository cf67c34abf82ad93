/* Resampling: the problem and its arguments, and the position of an element of dst in src. */
#ifndef DTP_COMMON_PROBLEMS_RESAMPLING_H
#define DTP_COMMON_PROBLEMS_RESAMPLING_H

#include "common/primitive/op_desc.h"

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int spatial; /* 1 to 3 */
    /* dst's size / src's, as the query tells it; nothing is computed from them */
    float factors[3];
    dtp_md_t src, dst; /* N, C, space */
} dtp_resampling_desc_t;
enum { DTP_RESAMPLING_SRC, DTP_RESAMPLING_DST, DTP_RESAMPLING_NARGS };

/* Element o of `out` is between elements lo and hi of `in`, at `part` of the distance. */
typedef struct {
    int64_t lo, hi;
    float part;
} dtp_resampling_place_t;
static inline dtp_resampling_place_t dtp_resampling_place(int64_t in, int64_t out, int64_t o) {
    const float at = ((float)o + .5f) * (float)in / (float)out - .5f;
    const int64_t below = at < 0 ? -1 : (int64_t)at;
    dtp_resampling_place_t p;
    p.lo = below < 0 ? 0 : below < in ? below : in - 1;
    p.hi = below + 1 < in ? below + 1 : in - 1;
    p.part = at < 0 ? 0 : at - (float)below;
    return p;
}
/* The nearest one; ties go up. */
static inline int64_t dtp_resampling_nearest_of(int64_t in, int64_t out, int64_t o) {
    const float at = ((float)o + .5f) * (float)in / (float)out - .5f;
    const int64_t below = at < 0 ? 0 : (int64_t)at, x = below + (at - (float)below >= .5f);
    return x < in ? x : in - 1;
}

#endif
