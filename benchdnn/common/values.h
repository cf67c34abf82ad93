/* Values of each type: rounding, and rows of them in memory. This code is independent of the
 * library's reorder, so that a wrong reorder is noticed. */
#ifndef BD_VALUES_H
#define BD_VALUES_H

#include "common/bench.h"

/* For functions that walk over many values: one version with AVX2, chosen when the program is
 * loaded, and one without. For GCC only: with clang 14 callers in other files have no function to
 * call. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BD_ROWS __attribute__((target_clones("avx2", "default")))
#else
#define BD_ROWS
#endif

/* The nearest value that a type represents (round to even, saturate). */
double bd_round_to(int dt, double x);
/* The same for n values; to may be v. */
void bd_round_row(int dt, double *to, const double *v, int64_t n);

/* Element i of a row is step[i] elements after mem; step NULL: i elements. Storing rounds. */
void bd_put_row(int dt, void *mem, const int64_t *step, int64_t n, const double *v);
void bd_get_row(int dt, const void *mem, const int64_t *step, int64_t n, double *v);
double bd_get(int dt, const void *mem, int64_t at);

/* The value in type `to` of the bytes of x in type `from`, which has the same size. */
double bd_reinterpret(int from, int to, double x);

#endif
