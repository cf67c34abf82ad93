/* Steps of LSTM, GRU and RNN: a block takes a sequence through all steps, its warps take hidden units in turn. The state is in
 * shared memory, products add in f32. */
#include "gpu/device/groups.cuh"
#include "gpu/recurrent/recurrent_args.h"

enum { THREADS = DTP_RECURRENT_THREADS, WARPS = THREADS / DTP_WARP };

DTP_DEVICE float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

/* Of part g of unit u, over the lanes of a warp; all get it. h: in shared memory. */
DTP_DEVICE float product(const dtp_recurrent_args_t &a, const float *h, int g, int64_t u) {
    const float *w = a.wei + ((int64_t)g * a.n + u) * a.n;
    float sum = 0;
    for (int64_t k = threadIdx.x % DTP_WARP; k < a.n; k += DTP_WARP) sum = fmaf(w[k], h[k], sum);
    return dtp_over_warp(dtp_add(), sum);
}

DTP_DEVICE float lstm_unit(const dtp_recurrent_args_t &a, const float *x, const float *h, int64_t at,
                           int64_t u, bool is_first) {
    enum { I, O, F, G };
    const float was = is_first ? a.c[at] : a.last_c[at], g = tanhf(x[G * a.n + u] + product(a, h, G, u));
    float i = x[I * a.n + u] + product(a, h, I, u), o = x[O * a.n + u] + product(a, h, O, u),
          f = x[F * a.n + u] + product(a, h, F, u);
    if (a.peep) {
        i = fmaf(a.peep[I * a.n + u], was, i);
        f = fmaf(a.peep[F * a.n + u], was, f);
    }
    const float c = fmaf(sigmoid(f), was, sigmoid(i) * g);
    if (a.peep) o = fmaf(a.peep[O * a.n + u], c, o);
    __syncwarp(); /* all lanes have read the state */
    if (threadIdx.x % DTP_WARP == 0) a.last_c[at] = c;
    return sigmoid(o) * tanhf(c);
}

enum { Z, W, Y }; /* parts of GRU */

/* reset: the state behind the reset gate; with a bias the gate comes behind the product. */
DTP_DEVICE float gru_unit(const dtp_recurrent_args_t &a, const float *x, const float *h, const float *reset,
                          int64_t u) {
    const float z = sigmoid(x[Z * a.n + u] + product(a, h, Z, u));
    float s = product(a, a.bia ? h : reset, Y, u);
    if (a.bia) s = sigmoid(x[W * a.n + u] + product(a, h, W, u)) * (s + a.bia[u]);
    return fmaf(1.f - z, tanhf(x[Y * a.n + u] + s), z * h[u]);
}

DTP_KERNEL(dtp_recurrent, dtp_recurrent_args_t, THREADS) {
    extern __shared__ float room[];
    float *h = room, *next = room + a.n, *reset = room + 2 * a.n;
    const int64_t sequence = blockIdx.x, first = sequence * a.n, parts = a.is_lstm ? 4 : a.is_rnn ? 1 : 3;
    const int warp = (int)threadIdx.x / DTP_WARP;
    const bool writes = threadIdx.x % DTP_WARP == 0;
    for (int64_t u = threadIdx.x; u < a.n; u += THREADS) {
        h[u] = a.h[first + u];
        if (a.is_lstm && a.steps == 0) a.last_c[first + u] = a.c[first + u];
    }
    __syncthreads();
#pragma unroll 1
    for (int64_t k = 0; k < a.steps; ++k) {
        const int64_t row = (a.reverse ? a.steps - 1 - k : k) * a.batch + sequence;
        const float *x = a.src + row * parts * a.n;
        if (!a.is_lstm && !a.is_rnn && !a.bia) {
#pragma unroll 1
            for (int64_t u = warp; u < a.n; u += WARPS) {
                const float r = sigmoid(x[W * a.n + u] + product(a, h, W, u)) * h[u];
                if (writes) reset[u] = r;
            }
            __syncthreads();
        }
#pragma unroll 1
        for (int64_t u = warp; u < a.n; u += WARPS) {
            const float y = a.is_lstm  ? lstm_unit(a, x, h, first + u, u, k == 0)
                            : a.is_rnn ? tanhf(x[u] + product(a, h, 0, u))
                                       : gru_unit(a, x, h, reset, u);
            if (writes) {
                next[u] = y;
                a.dst[row * a.n + u] = y;
            }
        }
        __syncthreads();
        float *const free = h;
        h = next;
        next = free;
    }
    for (int64_t u = threadIdx.x; u < a.n; u += THREADS) a.last_h[first + u] = h[u];
}
