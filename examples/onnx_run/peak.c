/* See peak.h. Independent chains of fused multiply-adds, as many as hide their latency and fit into registers, in the widest
 * vectors that the processor has. The build contracts products and sums (-ffp-contract=fast). */
#include "peak.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { CHAINS = 12, STEPS = 300000, REPEATS = 25 }; /* about a millisecond each */

#define BODY(vector, lanes)                                                                \
    vector sum[CHAINS], a, b;                                                              \
    for (int l = 0; l < (lanes); ++l) a[l] = x, b[l] = 1 - x;                              \
    for (int c = 0; c < CHAINS; ++c) sum[c] = a * (float)c;                                \
    for (int s = 0; s < STEPS; ++s) {                                                      \
        _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; ++c) sum[c] = sum[c] * a + b; \
    }                                                                                      \
    float all = 0;                                                                         \
    for (int c = 0; c < CHAINS; ++c)                                                       \
        for (int l = 0; l < (lanes); ++l) all += sum[c][l];                                \
    return all;

typedef float v4_t __attribute__((vector_size(16)));
static float chains_4(float x) { BODY(v4_t, 4) }
#if defined __x86_64__
typedef float v8_t __attribute__((vector_size(32)));
typedef float v16_t __attribute__((vector_size(64)));
__attribute__((target("avx2,fma"))) static float chains_8(float x) { BODY(v8_t, 8) }
__attribute__((target("avx512f"))) static float chains_16(float x) { BODY(v16_t, 16) }
#endif

typedef struct {
    float (*fn)(float);
    int lanes;
} kernel_t;

static kernel_t widest(void) {
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f")) return (kernel_t){chains_16, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (kernel_t){chains_8, 8};
#endif
    return (kernel_t){chains_4, 4};
}

static double now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct {
    double best; /* operations a nanosecond */
    float result;
} worker_t;

static void *work(void *arg) {
    worker_t *w = arg;
    const kernel_t k = widest();
    for (int r = 0; r < REPEATS; ++r) {
        const double begin = now_ns();
        w->result += k.fn(0.5f);
        const double rate = 2. * CHAINS * STEPS * k.lanes / (now_ns() - begin);
        if (rate > w->best) w->best = rate;
    }
    return NULL;
}

double peak_gflops(int threads) {
    enum { MOST = 256 };
    static worker_t worker[MOST];
    pthread_t thread[MOST];
    if (threads > MOST) return 0;
    double sum = 0;
    int n = 0;
    for (; n < threads; ++n) {
        worker[n] = (worker_t){.best = 0};
        if (pthread_create(&thread[n], NULL, work, &worker[n])) break;
    }
    for (int i = 0; i < n; ++i) {
        (void)pthread_join(thread[i], NULL);
        sum += worker[i].best;
    }
    return n == threads ? sum : 0;
}
