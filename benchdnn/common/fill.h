/* Seeded numbers and values that make results exactly comparable. */
#ifndef BD_FILL_H
#define BD_FILL_H

#include "common/prb.h"

typedef struct {
    uint64_t s;
} bd_rng_t;

/* Equal kind and n give equal numbers. */
bd_rng_t bd_rng(int kind, int64_t n);
int64_t bd_rng_int(bd_rng_t *, int64_t lo, int64_t hi);
double bd_rng_unit(bd_rng_t *); /* [0, 1) */

/* Integers of [lo, hi], each element zero with probability 1 - density. */
void bd_fill_ints(double *v, int64_t n, int kind, int64_t lo, int64_t hi, double density);
/* Ranges of performance mode for a type. */
void bd_perf_range(int dt, int64_t *lo, int64_t *hi);
/* Number of bits that an accumulator of this type represents exactly. */
int bd_digits(int dt);

#endif
