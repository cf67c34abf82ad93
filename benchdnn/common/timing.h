/* Clock, medians and waiting for quiet, for all benchmarks of this folder and its subfolders; needs
 * no other header. */
#ifndef BD_TIMING_H
#define BD_TIMING_H

#include <stdbool.h>
#include <stdint.h>

int64_t bd_now_ns(void); /* monotonic */
double bd_now(void);     /* the same in seconds */
/* Waits until every other thread of the process sleeps; false after a second. */
bool bd_wait_quiet(void);

int bd_by_value(const void *a, const void *b); /* of two doubles, for qsort */
double bd_median(double *v, int n);            /* sorts v; 0 when it is empty */

#endif
