/* Results against expectations. */
#ifndef BD_COMPARE_H
#define BD_COMPARE_H

#include "common/prb.h"

typedef struct {
    long errors, total;
    bool mistrusted;
} bd_verdict_t;

/* exp is the unrounded f64 reference; quiet: no lines about single elements. */
bd_verdict_t bd_compare(const bd_prb_t *, int i, const bd_cmp_t *, const double *got, const double *exp,
                        bool quiet);
/* |a - b| / |b| over all elements; elements that are NaN or infinite on both sides do not count. */
double bd_l2(const double *a, const double *b, int64_t n);

#endif
