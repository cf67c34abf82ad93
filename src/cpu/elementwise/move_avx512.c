/* Moving elements with AVX-512: squares of 16x16 words in registers, tails by masks. */
#include <stdbool.h>

#include "cpu/elementwise/move.h"
#include "cpu/simd/vec_avx512.h"

#define W 16
#define LINE 64

/* n squares one below the other. Functions of their own: with the masked form beside it the compiler spills.
 */
static inline __attribute__((always_inline)) void squares_body(float *d, int64_t ldd, const float *s,
                                                               int64_t lds, int64_t n, const int stream) {
    for (int64_t k = 0; k < n; ++k, d += W * ldd, s += W) {
        __m512 a[W];
        /* Addresses by fours: otherwise the compiler keeps all strides, and the start of a call is long. */
        const float *p = s;
#pragma GCC unroll 4
        for (int i = 0; i < W; i += 4, p += 4 * lds) {
            __asm__("" : "+r"(p));
            for (int j = 0; j < 4; ++j) a[i + j] = _mm512_loadu_ps(p + j * lds);
        }
        v_transpose(a);
        float *q = d;
#pragma GCC unroll 4
        for (int i = 0; i < W; i += 4, q += 4 * ldd) {
            __asm__("" : "+r"(q));
            for (int j = 0; j < 4; ++j)
                if (stream) _mm512_stream_ps(q + j * ldd, a[i + j]);
                else _mm512_storeu_ps(q + j * ldd, a[i + j]);
        }
    }
}
static __attribute__((noinline)) void squares(float *d, int64_t ldd, const float *s, int64_t lds, int64_t n) {
    squares_body(d, ldd, s, lds, n, 0);
}
static __attribute__((noinline)) void squares_stream(float *d, int64_t ldd, const float *s, int64_t lds,
                                                     int64_t n) {
    squares_body(d, ldd, s, lds, n, 1);
}

/* nr rows and nc columns of a square; ns columns of dst are written, those beyond nc with zeros. */
static __attribute__((noinline)) void part(float *d, int64_t ldd, const float *s, int64_t lds, int nr, int nc,
                                           int ns) {
    const __mmask16 mr = (__mmask16)((1u << nr) - 1), ms = (__mmask16)((1u << ns) - 1);
    __m512 a[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) a[i] = i < nc ? _mm512_maskz_loadu_ps(mr, s + i * lds) : _mm512_setzero_ps();
    v_transpose(a);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i)
        if (i < nr) _mm512_mask_storeu_ps(d + i * ldd, ms, a[i]);
}

/* The same for at most 4 rows and columns. */
static __attribute__((noinline)) void part4x4(float *d, int64_t ldd, const float *s, int64_t lds, int nr,
                                              int nc, int ns) {
    const __mmask8 mr = (__mmask8)((1u << nr) - 1), ms = (__mmask8)((1u << ns) - 1);
    __m128 a[4];
    for (int i = 0; i < 4; ++i) a[i] = i < nc ? _mm_maskz_loadu_ps(mr, s + i * lds) : _mm_setzero_ps();
    _MM_TRANSPOSE4_PS(a[0], a[1], a[2], a[3]);
    for (int i = 0; i < 4; ++i)
        if (i < nr) _mm_mask_storeu_ps(d + i * ldd, ms, a[i]);
}

static void transpose4__avx512(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
                               int64_t cols, int64_t fill, int stream) {
    float *d = dst;
    const float *s = src;
    if (cols == 2 && ldd == 2) {
        dtp_pairs4__avx2(d, s, lds, rows);
        return;
    }
    if (rows <= 4 && cols + fill <= 4) {
        part4x4(d, ldd, s, lds, (int)rows, (int)cols, (int)(cols + fill));
        return;
    }
    const int64_t whole_r = rows / W * W, whole_c = cols / W * W;
    stream = stream && ((uintptr_t)dst & (LINE - 1)) == 0 && ldd % W == 0;
    void (*const fn)(float *, int64_t, const float *, int64_t, int64_t) = stream ? squares_stream : squares;
    if (whole_c == W) {
        fn(d, ldd, s, lds, whole_r / W);
    } else {
        for (int64_t r = 0; r < whole_r; r += W)
            for (int64_t c = 0; c < whole_c; c += W) fn(d + r * ldd + c, ldd, s + c * lds + r, lds, 1);
    }
    for (int64_t r = 0; r < rows; r += W) {
        const int nr = rows - r < W ? (int)(rows - r) : W;
        for (int64_t c = nr < W ? 0 : whole_c; c < cols; c += W) {
            const int nc = cols - c < W ? (int)(cols - c) : W;
            const int64_t stored = nc + (c + W >= cols ? fill : 0);
            const int ns = stored < W ? (int)stored : W;
            float *q = d + r * ldd + c;
            part(q, ldd, s + c * lds + r, lds, nr, nc, ns);
            for (int64_t k = W; k < stored; ++k)
                for (int i = 0; i < nr; ++i) q[i * ldd + k] = 0.f;
        }
        if (fill && nr == W && whole_c == cols)
            for (int i = 0; i < W; ++i)
                for (int64_t k = 0; k < fill; ++k) d[(r + i) * ldd + cols + k] = 0.f;
    }
    if (stream) _mm_sfence();
}

/* Rows of n registers. */
static inline __attribute__((always_inline)) void copy_n(char *dst, int64_t ldd, const char *src, int64_t lds,
                                                         int64_t rows, const int n) {
    for (int64_t r = 0; r < rows; ++r, dst += ldd, src += lds) {
#pragma GCC unroll 4
        for (int i = 0; i < n; ++i) _mm512_storeu_si512(dst + LINE * i, _mm512_loadu_si512(src + LINE * i));
    }
}
/* Rows of half a line. */
static void copy_half(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r, dst += ldd, src += lds)
        _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_loadu_si256((const __m256i *)(const void *)src));
}
static bool copy_known(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes) {
    switch (bytes) {
    case LINE / 2: copy_half(dst, ldd, src, lds, rows); return true;
    case LINE: copy_n(dst, ldd, src, lds, rows, 1); return true;
    case 2 * LINE: copy_n(dst, ldd, src, lds, rows, 2); return true;
    case 4 * LINE: copy_n(dst, ldd, src, lds, rows, 4); return true;
    default: return false;
    }
}

static void rows__avx512(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes,
                         int stream) {
    if (!stream && copy_known(dst, ldd, src, lds, rows, bytes)) return;
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
    {dtp_transpose1__avx2, dtp_transpose2__avx2, transpose4__avx512, dtp_transpose8__any},
    {dtp_interleave1__avx2, dtp_interleave2__avx2},
    rows__avx512};
