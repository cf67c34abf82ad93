/* Resampling: the problem and its arguments, and the position of an element of dst in src. Graphs may ask for other
 * positions than those of the public primitive: a rule of its own for each spatial dimension. */
#ifndef DTP_COMMON_PROBLEMS_RESAMPLING_H
#define DTP_COMMON_PROBLEMS_RESAMPLING_H

#include <math.h>

#include "common/primitive/op_desc.h"

/* Element o of dst stands at (o + before) * from / to + after of src. */
typedef struct {
    double before, from, to, after;
} dtp_resampling_rule_t;
enum { DTP_RESAMPLING_RULE = sizeof(dtp_resampling_rule_t) / sizeof(int64_t) };
/* Which element is the nearest one; at the same distance: the lower, the upper. */
typedef enum {
    DTP_RESAMPLING_PREFER_FLOOR,
    DTP_RESAMPLING_PREFER_CEIL,
    DTP_RESAMPLING_FLOOR,
    DTP_RESAMPLING_CEIL
} dtp_resampling_rounding_t;

typedef struct {
    dtp_op_desc_t base;
    dnnl_tp_prop_kind_t prop;
    dnnl_tp_alg_kind_t alg;
    int spatial; /* 1 to 3 */
    /* dst's size / src's, as the query tells it; nothing is computed from them */
    float factors[3];
    int nrule;           /* 0, or DTP_RESAMPLING_RULE * spatial */
    dnnl_tp_dims_t rule; /* the bits of a dtp_resampling_rule_t for each spatial dimension */
    int rounding;        /* of rules: dtp_resampling_rounding_t */
    dtp_md_t src, dst;   /* N, C, space */
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

static inline double dtp_resampling_rounded(int how, double x) {
    const double low = floor(x), part = x - low;
    if (how == DTP_RESAMPLING_FLOOR) return low;
    if (how == DTP_RESAMPLING_CEIL) return ceil(x);
    return low + (how == DTP_RESAMPLING_PREFER_CEIL ? part >= .5 : part > .5);
}
/* Element o of dst's spatial dimension `dim`: hi is lo, and part 0, where there is only one; for the
 * nearest one always. */
static inline dtp_resampling_place_t dtp_resampling_place_of(const dtp_resampling_desc_t *d, int dim,
                                                             int64_t o) {
    const int64_t in = d->src.dims[2 + dim], out = d->dst.dims[2 + dim];
    const bool linear = d->alg == dnnl_tp_resampling_linear;
    dtp_resampling_place_t p = {.part = 0};
    if (d->nrule) {
        dtp_resampling_rule_t rule;
        memcpy(&rule, &d->rule[dim * DTP_RESAMPLING_RULE], sizeof rule);
        const double last = (double)(in - 1);
        double x = ((double)o + rule.before) * rule.from / rule.to + rule.after;
        if (!linear) x = dtp_resampling_rounded(d->rounding, x);
        x = x < 0 ? 0 : x < last ? x : last;
        p.lo = (int64_t)x;
        p.hi = linear && p.lo < in - 1 ? p.lo + 1 : p.lo;
        p.part = (float)(x - (double)p.lo);
    } else if (linear) p = dtp_resampling_place(in, out, o);
    else p.lo = p.hi = dtp_resampling_nearest_of(in, out, o);
    if (p.lo == p.hi) p.part = 0;
    return p;
}

#endif
