/* Convolutions and transposed convolutions in f32: tiles of pixels and channels, or, where a group has few channels, an
 * element of dst for each thread, as those of f64, s64 and s32. Sums run over the taps of the kernel, then over the channels
 * of src; integers wrap. */
#include "gpu/convolution/convolution_args.h"
#include "gpu/device/chain.cuh"
#include "gpu/device/space.cuh"

enum { THREADS = DTP_CONV_THREADS, SIDE = DTP_CONV_SIDE, CHUNK = DTP_CONV_CHUNK };

/* Which element of src tap k of output o reads; -1: none. */
DTP_DEVICE int input_of(const dtp_gpu_window_t &w, bool transposed, int o, int k) {
    if (!transposed) {
        const int at = o * w.stride - w.pad + k * w.step;
        return at < w.in ? max(at, -1) : -1;
    }
    const int from = o + w.pad - k * w.step;
    if (from < 0 || from % w.stride != 0) return -1;
    const int at = from / w.stride;
    return at < w.in ? at : -1;
}

DTP_DEVICE float biased(const dtp_convolution_args_t &a, int channel, float x) {
    return a.bia ? x + dtp_load_one(a.bia_type, a.bia, channel * a.bia_step) : x;
}

/* ---- Elements ----------------------------------------------------------------------------------------- */

template <class T> DTP_DEVICE T load(int, const void *data, int64_t at) { return ((const T *)data)[at]; }
template <> __device__ __forceinline__ float load<float>(int type, const void *data, int64_t at) {
    return dtp_load_one(type, data, at);
}
DTP_DEVICE float add_product(float x, float y, float sum) { return fmaf(x, y, sum); }
DTP_DEVICE double add_product(double x, double y, double sum) { return fma(x, y, sum); }
DTP_DEVICE uint64_t add_product(uint64_t x, uint64_t y, uint64_t sum) { return x * y + sum; }
DTP_DEVICE uint32_t add_product(uint32_t x, uint32_t y, uint32_t sum) { return x * y + sum; }

template <class T> DTP_DEVICE T element(const dtp_convolution_args_t &a, const dtp_pixel &p) {
    const dtp_gpu_window_t &D = a.window[0], &H = a.window[1], &W = a.window[2];
    const int channel = (int)p.at[DTP_SPACE_CHANNEL], group = channel / a.oc;
    const int64_t src = p.at[DTP_SPACE_IMAGE] * a.src_image + (int64_t)group * a.ic * a.src_channel,
                  wei = group * a.wei_group + (channel - group * a.oc) * a.wei_out;
    T sum = a.bia ? load<T>(a.bia_type, a.bia, channel * a.bia_step) : (T)0;
    for (int kd = 0; kd < D.kernel; ++kd) {
        const int d = input_of(D, a.transposed, (int)p.at[DTP_SPACE_FIRST], kd);
        if (d < 0) continue;
        for (int kh = 0; kh < H.kernel; ++kh) {
            const int h = input_of(H, a.transposed, (int)p.at[DTP_SPACE_FIRST + 1], kh);
            if (h < 0) continue;
            for (int kw = 0; kw < W.kernel; ++kw) {
                const int w = input_of(W, a.transposed, (int)p.at[DTP_SPACE_FIRST + 2], kw);
                if (w < 0) continue;
                const int64_t from = src + d * D.src_step + h * H.src_step + w * W.src_step,
                              by = wei + kd * a.wei_step[0] + kh * a.wei_step[1] + kw * a.wei_step[2];
                for (int c = 0; c < a.ic; ++c)
                    sum = add_product(load<T>(a.src_type, a.src, from + c * a.src_channel),
                                      load<T>(a.wei_type, a.wei, by + c * a.wei_in), sum);
            }
        }
    }
    return sum;
}

DTP_KERNEL_FITTED(dtp_convolution_any, dtp_convolution_args_t, THREADS, 1) {
    const int64_t i = dtp_thread();
    if (i >= a.walk.dims.n) return;
    const float x = dtp_chain_one(a.chain, i, element<float>(a, dtp_pixel_at(a.walk, i)));
    dtp_store_one(a.dst_type, a.dst, dtp_pixel_offset(a.walk, i), x);
}
#define EXACT(name, type)                                                                 \
    DTP_KERNEL_FITTED(dtp_convolution_exact_##name, dtp_convolution_args_t, THREADS, 1) { \
        const int64_t i = dtp_thread();                                                   \
        if (i >= a.walk.dims.n) return;                                                   \
        const type x = element<type>(a, dtp_pixel_at(a.walk, i));                         \
        ((type *)a.dst)[dtp_pixel_offset(a.walk, i)] = x;                                 \
    }
EXACT(f64, double)
EXACT(s64, uint64_t)
EXACT(s32, uint32_t)

/* ---- Tiles -------------------------------------------------------------------------------------------- */

enum { LINE = 16, EACH = SIDE / LINE }; /* a thread sums EACH x EACH elements, LINE apart */
static_assert(LINE * LINE == THREADS && THREADS % SIDE == 0 && SIDE * CHUNK % THREADS == 0, "a block");

DTP_KERNEL(dtp_convolution_tile, dtp_convolution_args_t, THREADS) {
    __shared__ float left[CHUNK][SIDE + 1], right[CHUNK][SIDE + 1], tile[SIDE][SIDE + 1];
    __shared__ int64_t from[SIDE]; /* what a tap reads for each pixel; -1: nothing */
    const int n_tile = (int)(blockIdx.x % a.tiles_n), rest = (int)(blockIdx.x / a.tiles_n),
              m_tile = rest % a.tiles_m, group = rest / a.tiles_m;
    const int thread = (int)threadIdx.x, side = thread % SIDE;
    const int64_t first = (int64_t)m_tile * SIDE;
    const int column = n_tile * SIDE;
    /* The pixel that this thread tells for each tap. */
    const int64_t own = first + side;
    const dtp_position p = dtp_decode(a.pixels, min(own, a.pixels.n - 1));
    const int64_t image = p.at[3] * a.src_image + (int64_t)group * a.ic * a.src_channel;
    const int y = thread / LINE, x = thread % LINE;
    float sum[EACH][EACH] = {};
    int kd = 0, kh = 0, kw = 0;
    const int taps = a.window[0].kernel * a.window[1].kernel * a.window[2].kernel;
#pragma unroll 1
    for (int tap = 0; tap < taps; ++tap) {
        if (thread < SIDE) {
            const int d = input_of(a.window[0], a.transposed, (int)p.at[2], kd),
                      h = input_of(a.window[1], a.transposed, (int)p.at[1], kh),
                      w = input_of(a.window[2], a.transposed, (int)p.at[0], kw);
            const bool inside = own < a.pixels.n && d >= 0 && h >= 0 && w >= 0;
            from[side] = inside ? image + d * a.window[0].src_step + h * a.window[1].src_step +
                                      w * a.window[2].src_step
                                : -1;
        }
        const int64_t by = group * a.wei_group + kd * a.wei_step[0] + kh * a.wei_step[1] + kw * a.wei_step[2];
        __syncthreads();
#pragma unroll 1
        for (int c = 0; c < a.ic; c += CHUNK) {
#pragma unroll
            for (int i = 0; i < SIDE * CHUNK / THREADS; ++i) {
                /* Neighbouring threads read channels of a pixel, and outputs of an input. */
                const int at = i * THREADS + thread, line = at % CHUNK, pixel = at / CHUNK, input = at / SIDE;
                const bool has = c + line < a.ic && from[pixel] >= 0,
                           weighs = c + input < a.ic && column + side < a.oc;
                left[line][pixel] =
                    has ? dtp_load_one(a.src_type, a.src, from[pixel] + (c + line) * a.src_channel) : 0.f;
                right[input][side] =
                    weighs ? dtp_load_one(a.wei_type, a.wei,
                                          by + (c + input) * a.wei_in + (column + side) * a.wei_out)
                           : 0.f;
            }
            __syncthreads();
            const int depth = min(CHUNK, a.ic - c);
#pragma unroll 1
            for (int k = 0; k < depth; ++k) {
                float s[EACH], t[EACH];
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    s[i] = left[k][y + i * LINE];
                    t[i] = right[k][x + i * LINE];
                }
#pragma unroll
                for (int i = 0; i < EACH * EACH; ++i)
                    sum[i / EACH][i % EACH] = fmaf(s[i / EACH], t[i % EACH], sum[i / EACH][i % EACH]);
            }
            __syncthreads();
        }
        if (++kw < a.window[2].kernel) continue;
        kw = 0;
        if (++kh < a.window[1].kernel) continue;
        kh = 0;
        ++kd;
    }
#pragma unroll
    for (int i = 0; i < EACH * EACH; ++i)
        tile[y + i / EACH * LINE][x + i % EACH * LINE] = sum[i / EACH][i % EACH];
    __syncthreads();
    if (column + side >= a.oc) return;
    const int channel = group * a.oc + column + side;
    const int64_t plane = a.pixels.n / a.pixels.dim[3].size;
#pragma unroll 1
    for (int row = thread / SIDE; row < SIDE && first + row < a.pixels.n; row += THREADS / SIDE) {
        const dtp_position q = dtp_decode(a.pixels, first + row);
        const int64_t index = (q.at[3] * (int64_t)(a.oc * a.groups - 1) + channel) * plane + first + row;
        const float z = dtp_chain_one(a.chain, index, biased(a, channel, tile[row][side]));
        dtp_store_one(a.dst_type, a.dst, channel * a.dst_channel + dtp_offset(q, 4, a.dst_step), z);
    }
}
