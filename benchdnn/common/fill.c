/* Seeded numbers and fills (splitmix64: any seed is good, so problems can be named by their kind and size).
 */
#include "common/fill.h"
#include "common/values.h"

#define GAMMA 0x9e3779b97f4a7c15u

bd_rng_t bd_rng(int kind, int64_t n) {
    bd_rng_t r = {(uint64_t)kind * GAMMA + (uint64_t)n + 1};
    bd_rng_int(&r, 0, 1);
    return r;
}

static inline uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static uint64_t next(bd_rng_t *r) { return mix(r->s += GAMMA); }

/* 32 random bits as a number below n, n < 2^32. */
static inline uint64_t below(uint64_t bits, uint64_t n) { return (bits & UINT32_MAX) * n >> 32; }

int64_t bd_rng_int(bd_rng_t *r, int64_t lo, int64_t hi) {
    return lo + (int64_t)below(next(r) >> 32, (uint64_t)(hi - lo + 1));
}
double bd_rng_unit(bd_rng_t *r) { return (double)(next(r) >> 11) * 0x1p-53; }

/* A number for each element: its upper half is the value, its lower half decides whether it is used. */
BD_ROWS void bd_fill_ints(double *v, int64_t n, int kind, int64_t lo, int64_t hi, double density) {
    uint64_t s = bd_rng(kind, n).s, range = (uint64_t)(hi - lo + 1);
    uint64_t used = density >= 1 ? (uint64_t)1 << 32 : (uint64_t)(density * 0x1p32);
    int least = (int)lo;
    for (int64_t i = 0; i < n; ++i) {
        uint64_t z = mix(s + (uint64_t)i * GAMMA);
        int x = least + (int)below(z >> 32, range);
        v[i] = (double)((z & UINT32_MAX) < used ? x : 0);
    }
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
