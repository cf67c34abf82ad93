/* Seeded numbers and fills (splitmix64: any seed is good, so problems can be named by their kind and size).
 */
#include "common/fill.h"

bd_rng_t bd_rng(int kind, int64_t n) {
    bd_rng_t r = {(uint64_t)kind * 0x9e3779b97f4a7c15u + (uint64_t)n + 1};
    bd_rng_int(&r, 0, 1);
    return r;
}

static uint64_t next(bd_rng_t *r) {
    uint64_t z = r->s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int64_t bd_rng_int(bd_rng_t *r, int64_t lo, int64_t hi) {
    return lo + (int64_t)(next(r) % (uint64_t)(hi - lo + 1));
}
double bd_rng_unit(bd_rng_t *r) { return (double)(next(r) >> 11) * 0x1p-53; }

void bd_fill_ints(double *v, int64_t n, int kind, int64_t lo, int64_t hi, double density) {
    bd_rng_t r = bd_rng(kind, n);
    if (density >= 1) {
        for (int64_t i = 0; i < n; ++i) v[i] = (double)bd_rng_int(&r, lo, hi);
        return;
    }
    for (int64_t i = 0; i < n; ++i) v[i] = bd_rng_unit(&r) < density ? (double)bd_rng_int(&r, lo, hi) : 0;
}

void bd_perf_range(int dt, int64_t *lo, int64_t *hi) {
    int64_t m = dt == dnnl_tp_bf16  ? 32
                : dt == dnnl_tp_f16 ? 8
                : dt == dnnl_tp_s8  ? 32
                : dt == dnnl_tp_u8  ? 64
                                    : 1024;
    *lo = dt == dnnl_tp_u8 ? 0 : -m;
    *hi = m;
}

int bd_digits(int dt) {
    return dt == dnnl_tp_f32    ? 24
           : dt == dnnl_tp_s32  ? 31
           : dt == dnnl_tp_f16  ? 11
           : dt == dnnl_tp_bf16 ? 8
                                : 7;
}
