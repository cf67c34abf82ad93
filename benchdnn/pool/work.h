/* Work for the benches of pools: multiplications in a row, which neither memory nor the compiler can change;
 * and numbers of samples. */
#ifndef BENCHDNN_POOL_WORK_H
#define BENCHDNN_POOL_WORK_H

#include <stdint.h>

/* Once, on a thread that is not disturbed. */
void work_calibrate(void);
/* Lasts ns on one thread; writes no memory. */
void work_ns(double ns);
double work_quantile(double *samples, int n, double q); /* sorts; 0 for n = 0 */
/* The sleeping or working pause before a sample: sleeps where it is long. */
void work_pause(double ns);

#endif
