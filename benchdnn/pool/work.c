/* See work.h. */
#include "pool/work.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/timing.h"
#include "threading/base/futex.h"

static double spins_per_ns;

static double burn(int64_t n) {
    double x = 1.0;
    for (int64_t i = 0; i < n; ++i) x = x * 1.0000001 + 1e-9;
    return x;
}

void work_ns(double ns) {
    double x = burn((int64_t)(ns * spins_per_ns));
    __asm__ volatile("" : : "g"(&x) : "memory"); /* kept without a store that threads would share */
    /* Else the processor begins the next piece of work before this one is done: many small ranges would be
     * faster than one large one, on one thread. */
#if DTP_X64
    __builtin_ia32_lfence();
#endif
}

void work_calibrate(void) {
    enum { ROUNDS = 20, SPINS = 200000 };
    dtp_ticks_init();
    for (int i = 0; i < ROUNDS; ++i) {
        int64_t t0 = dtp_now_ns();
        double x = burn(SPINS);
        __asm__ volatile("" : : "g"(&x) : "memory");
        double rate = SPINS / (double)(dtp_now_ns() - t0);
        if (rate > spins_per_ns) spins_per_ns = rate;
    }
}

double work_quantile(double *v, int n, double q) {
    if (n == 0) return 0;
    qsort(v, (size_t)n, sizeof(*v), bd_by_value);
    int i = (int)ceil(q * n) - 1;
    return v[i < 0 ? 0 : i];
}

void work_pause(double ns) {
    enum { SLEEPS_FROM_NS = 200000 };
    if (ns >= SLEEPS_FROM_NS) usleep((useconds_t)(ns / 1000));
    else if (ns > 0) work_ns(ns);
}
