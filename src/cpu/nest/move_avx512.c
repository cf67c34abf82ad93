/* Moving elements with AVX-512: squares of 16x16 words in registers, tails by masks. */
#include <immintrin.h>

#include "cpu/nest/move.h"

#define W 16

/* a[i] (row i of the source square) to column i. */
static inline __attribute__((always_inline)) void turn16x16(__m512 *a) {
    __m512 b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 8; ++i) {
        b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        __m512d p0 = _mm512_castps_pd(b[4 * i]), p1 = _mm512_castps_pd(b[4 * i + 1]);
        __m512d p2 = _mm512_castps_pd(b[4 * i + 2]), p3 = _mm512_castps_pd(b[4 * i + 3]);
        a[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(p0, p2));
        a[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p0, p2));
        a[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(p1, p3));
        a[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(p1, p3));
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
    }
}

static inline __attribute__((always_inline)) void square(float *d, int64_t ldd, const float *s, int64_t lds,
                                                         int nr, int nc, __mmask16 mr, __mmask16 mc) {
    __m512 a[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = i < nc ? _mm512_maskz_loadu_ps(mr, s + i * lds) : _mm512_setzero_ps();
    turn16x16(a);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
        if (i < nr) _mm512_mask_storeu_ps(d + i * ldd, mc, a[i]);
}

static void transpose4__avx512(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
                               int64_t cols) {
    float *d = dst;
    const float *s = src;
    for (int64_t r = 0; r < rows; r += W) {
        const int nr = rows - r < W ? (int)(rows - r) : W;
        const __mmask16 mr = (__mmask16)((1u << nr) - 1);
        for (int64_t c = 0; c < cols; c += W) {
            const int nc = cols - c < W ? (int)(cols - c) : W;
            float *dq = d + r * ldd + c;
            const float *sq = s + c * lds + r;
            if (nr == W && nc == W) square(dq, ldd, sq, lds, W, W, 0xffff, 0xffff);
            else square(dq, ldd, sq, lds, nr, nc, mr, (__mmask16)((1u << nc) - 1));
        }
    }
}

static void rows__avx512(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes,
                         int stream) {
    const int64_t whole = bytes & ~(int64_t)63;
    const __mmask64 tail = bytes > whole ? ~0ull >> (64 - (bytes - whole)) : 0;
    for (int64_t r = 0; r < rows; ++r) {
        char *d = dst + r * ldd;
        const char *s = src + r * lds;
        int64_t i = 0;
        if (stream && ((uintptr_t)d & 63) == 0)
            for (; i < whole; i += 64)
                _mm512_stream_si512((__m512i *)(void *)(d + i), _mm512_loadu_si512(s + i));
        for (; i + 256 <= whole; i += 256) {
            __m512i a = _mm512_loadu_si512(s + i), b = _mm512_loadu_si512(s + i + 64);
            __m512i e = _mm512_loadu_si512(s + i + 128), f = _mm512_loadu_si512(s + i + 192);
            _mm512_storeu_si512(d + i, a);
            _mm512_storeu_si512(d + i + 64, b);
            _mm512_storeu_si512(d + i + 128, e);
            _mm512_storeu_si512(d + i + 192, f);
        }
        for (; i < whole; i += 64) _mm512_storeu_si512(d + i, _mm512_loadu_si512(s + i));
        if (tail) _mm512_mask_storeu_epi8(d + i, tail, _mm512_maskz_loadu_epi8(tail, s + i));
    }
    if (stream) _mm_sfence();
}

const dtp_move_t dtp_moves__avx512 = {
    {dtp_transpose1__avx2, dtp_transpose2__avx2, transpose4__avx512}, rows__avx512, W};
