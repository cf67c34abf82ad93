/* Moving elements with AVX2: squares of 8x8 words, 8x8 halves and 16x16 bytes in registers. */
#include <immintrin.h>
#include <stdbool.h>

#include "cpu/elementwise/move.h"

#define W 8
#define LINE 64
/* Columns that are faster one by one. */
#define FEW 4

static void fill_rows(void *dst, int64_t ldd, int64_t rows, int64_t cols, int64_t fill, int64_t size) {
    const int64_t bytes = fill * size;
    const __m128i zero = _mm_setzero_si128();
    for (int64_t r = 0; fill && r < rows; ++r) {
        char *d = (char *)dst + (r * ldd + cols) * size;
        int64_t i = 0;
        for (; i + 16 <= bytes; i += 16) _mm_storeu_si128((__m128i *)(d + i), zero);
        for (; i < bytes; ++i) d[i] = 0;
    }
}

/* 4 rows and 8 columns of dst. */
static inline __attribute__((always_inline)) void block4x8(float *d, int64_t ldd, const float *s, int64_t lds,
                                                           const int stream) {
    /* Addresses by fours: otherwise the compiler keeps all strides. */
    const float *p = s + 4 * lds;
    __asm__("" : "+r"(p));
    __m256 a[4], b[4];
    for (int i = 0; i < 4; ++i)
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(s + i * lds)),
                                    _mm_loadu_ps(p + i * lds), 1);
    const __m256 t0 = _mm256_unpacklo_ps(a[0], a[1]), t1 = _mm256_unpackhi_ps(a[0], a[1]);
    const __m256 t2 = _mm256_unpacklo_ps(a[2], a[3]), t3 = _mm256_unpackhi_ps(a[2], a[3]);
    b[0] = _mm256_shuffle_ps(t0, t2, 0x44);
    b[1] = _mm256_shuffle_ps(t0, t2, 0xee);
    b[2] = _mm256_shuffle_ps(t1, t3, 0x44);
    b[3] = _mm256_shuffle_ps(t1, t3, 0xee);
    for (int i = 0; i < 4; ++i)
        if (stream) _mm256_stream_ps(d + i * ldd, b[i]);
        else _mm256_storeu_ps(d + i * ldd, b[i]);
}

/* 16 columns, whole lines of dst one after the other. */
static inline __attribute__((always_inline)) void lines_body(float *d, int64_t ldd, const float *s,
                                                             int64_t lds, int64_t rows, const int stream) {
    for (int64_t r = 0; r < rows; r += 4, d += 4 * ldd, s += 4) {
        block4x8(d, ldd, s, lds, stream);
        block4x8(d + W, ldd, s + W * lds, lds, stream);
    }
}
static __attribute__((noinline)) void lines(float *d, int64_t ldd, const float *s, int64_t lds,
                                            int64_t rows) {
    lines_body(d, ldd, s, lds, rows, 0);
}
static __attribute__((noinline)) void lines_stream(float *d, int64_t ldd, const float *s, int64_t lds,
                                                   int64_t rows) {
    lines_body(d, ldd, s, lds, rows, 1);
}
/* 8 columns, whole lines of the source runs, which may all lie in one set of the cache. */
static __attribute__((noinline)) void runs(float *d, int64_t ldd, const float *s, int64_t lds, int64_t rows) {
    for (int64_t r = 0; r < rows; r += 4, d += 4 * ldd, s += 4) block4x8(d, ldd, s, lds, 0);
}

/* nr rows and nc columns of a square; ns columns of dst are written, those beyond nc with zeros. */
static void part8x8(float *d, int64_t ldd, const float *s, int64_t lds, int nr, int nc, int ns) {
    if (nc <= FEW) {
        for (int i = 0; i < nr; ++i) {
            float *q = d + i * ldd;
            for (int c = 0; c < nc; ++c) q[c] = s[c * lds + i];
            for (int c = nc; c < ns; ++c) q[c] = 0.f;
        }
        return;
    }
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i mr = _mm256_cmpgt_epi32(_mm256_set1_epi32(nr), lane),
                  ms = _mm256_cmpgt_epi32(_mm256_set1_epi32(ns), lane);
    float in[W * W], out[W * W];
    for (int i = 0; i < W; ++i)
        _mm256_storeu_ps(in + i * W, i < nc ? _mm256_maskload_ps(s + i * lds, mr) : _mm256_setzero_ps());
    runs(out, W, in, W, W);
    for (int i = 0; i < nr; ++i) _mm256_maskstore_ps(d + i * ldd, ms, _mm256_loadu_ps(out + i * W));
}

/* Rows of two words, dense. */
void dtp_pairs4__avx2(float *d, const float *s, int64_t lds, int64_t rows) {
    int64_t r = 0;
    for (; r + W <= rows; r += W) {
        const __m256 a = _mm256_loadu_ps(s + r), b = _mm256_loadu_ps(s + lds + r);
        const __m256 lo = _mm256_unpacklo_ps(a, b), hi = _mm256_unpackhi_ps(a, b);
        _mm256_storeu_ps(d + 2 * r, _mm256_permute2f128_ps(lo, hi, 0x20));
        _mm256_storeu_ps(d + 2 * r + W, _mm256_permute2f128_ps(lo, hi, 0x31));
    }
    for (; r < rows; ++r) {
        d[2 * r] = s[r];
        d[2 * r + 1] = s[lds + r];
    }
}

static void transpose4__avx2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                             int64_t fill, int stream) {
    float *d = dst;
    const float *s = src;
    if (cols == 2 && ldd == 2) {
        dtp_pairs4__avx2(d, s, lds, rows);
        return;
    }
    const int64_t whole_r = rows / W * W, whole_c = cols / W * W;
    const bool whole_lines = stream && ((uintptr_t)dst & (LINE - 1)) == 0 && ldd * 4 % LINE == 0;
    const bool narrow = whole_c == 2 * W;
    const int64_t step = narrow ? whole_r : 2 * W;
    for (int64_t r = 0; r < whole_r; r += step) {
        const int64_t n = whole_r - r < step ? whole_r - r : step;
        int64_t c = 0;
        if (whole_lines || narrow)
            for (; c + 2 * W <= whole_c; c += 2 * W)
                (whole_lines ? lines_stream : lines)(d + r * ldd + c, ldd, s + c * lds + r, lds, n);
        for (; c < whole_c; c += W) runs(d + r * ldd + c, ldd, s + c * lds + r, lds, n);
    }
    for (int64_t r = 0; r < rows; r += W) {
        const int nr = rows - r < W ? (int)(rows - r) : W;
        for (int64_t c = nr < W ? 0 : whole_c; c < cols; c += W) {
            const int nc = cols - c < W ? (int)(cols - c) : W;
            const int64_t stored = nc + (c + W >= cols ? fill : 0);
            float *q = d + r * ldd + c;
            part8x8(q, ldd, s + c * lds + r, lds, nr, nc, stored < W ? (int)stored : W);
            if (stored > W) fill_rows(q, ldd, nr, W, stored - W, 4);
        }
        if (fill && nr == W && whole_c == cols) fill_rows(d + r * ldd, ldd, W, cols, fill, 4);
    }
    if (whole_lines) _mm_sfence();
}

void dtp_transpose2__avx2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                          int64_t fill, int stream) {
    (void)stream;
    uint16_t *d = dst;
    const uint16_t *s = src;
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8) {
        int64_t c = 0;
        for (; c + 8 <= cols; c += 8) {
            __m128i a[8], b[8];
            for (int i = 0; i < 8; ++i) a[i] = _mm_loadu_si128((const __m128i *)(s + (c + i) * lds + r));
            for (int i = 0; i < 4; ++i) {
                b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
                b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
            }
            for (int i = 0; i < 4; ++i) {
                a[2 * i] = _mm_unpacklo_epi16(b[i], b[i + 4]);
                a[2 * i + 1] = _mm_unpackhi_epi16(b[i], b[i + 4]);
            }
            for (int i = 0; i < 4; ++i) {
                b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
                b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
            }
            for (int i = 0; i < 8; ++i) _mm_storeu_si128((__m128i *)(d + (r + i) * ldd + c), b[i]);
        }
        if (c + 2 == cols) {
            /* Pairs: the inner block of bf16 weights. */
            __m128i x = _mm_loadu_si128((const __m128i *)(s + c * lds + r));
            __m128i y = _mm_loadu_si128((const __m128i *)(s + (c + 1) * lds + r));
            if (ldd == 2) {
                _mm_storeu_si128((__m128i *)(d + r * 2), _mm_unpacklo_epi16(x, y));
                _mm_storeu_si128((__m128i *)(d + r * 2 + 8), _mm_unpackhi_epi16(x, y));
                continue;
            }
            uint32_t p[8];
            _mm_storeu_si128((__m128i *)p, _mm_unpacklo_epi16(x, y));
            _mm_storeu_si128((__m128i *)(p + 4), _mm_unpackhi_epi16(x, y));
            for (int i = 0; i < 8; ++i) __builtin_memcpy(d + (r + i) * ldd + c, &p[i], 4);
            continue;
        }
        for (int64_t i = r; i < r + 8; ++i)
            for (int64_t k = c; k < cols; ++k) d[i * ldd + k] = s[k * lds + i];
    }
    for (; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) d[r * ldd + c] = s[c * lds + r];
    fill_rows(dst, ldd, rows, cols, fill, 2);
}

void dtp_transpose1__avx2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                          int64_t fill, int stream) {
    (void)stream;
    uint8_t *d = dst;
    const uint8_t *s = src;
    int64_t r = 0;
    for (; r + 16 <= rows; r += 16) {
        int64_t c = 0;
        for (; c + 16 <= cols; c += 16) {
            __m128i a[16], b[16];
            for (int i = 0; i < 16; ++i) a[i] = _mm_loadu_si128((const __m128i *)(s + (c + i) * lds + r));
            for (int k = 0; k < 2; ++k) {
                for (int i = 0; i < 8; ++i) {
                    b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
                    b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
                }
                for (int i = 0; i < 8; ++i) {
                    a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
                    a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
                }
            }
            for (int i = 0; i < 16; ++i) _mm_storeu_si128((__m128i *)(d + (r + i) * ldd + c), a[i]);
        }
        if (c + 4 == cols) {
            /* Fours: the inner block of int8 weights. */
            __m128i a[4], b[4];
            uint32_t room[16];
            uint8_t *p = ldd == 4 ? d + r * 4 : (uint8_t *)room;
            for (int i = 0; i < 4; ++i) a[i] = _mm_loadu_si128((const __m128i *)(s + (c + i) * lds + r));
            b[0] = _mm_unpacklo_epi8(a[0], a[1]);
            b[1] = _mm_unpackhi_epi8(a[0], a[1]);
            b[2] = _mm_unpacklo_epi8(a[2], a[3]);
            b[3] = _mm_unpackhi_epi8(a[2], a[3]);
            _mm_storeu_si128((__m128i *)p, _mm_unpacklo_epi16(b[0], b[2]));
            _mm_storeu_si128((__m128i *)(p + 16), _mm_unpackhi_epi16(b[0], b[2]));
            _mm_storeu_si128((__m128i *)(p + 32), _mm_unpacklo_epi16(b[1], b[3]));
            _mm_storeu_si128((__m128i *)(p + 48), _mm_unpackhi_epi16(b[1], b[3]));
            for (int i = 0; ldd != 4 && i < 16; ++i) __builtin_memcpy(d + (r + i) * ldd + c, &room[i], 4);
            continue;
        }
        for (int64_t i = r; i < r + 16; ++i)
            for (int64_t k = c; k < cols; ++k) d[i * ldd + k] = s[k * lds + i];
    }
    for (; r < rows; ++r)
        for (int64_t c = 0; c < cols; ++c) d[r * ldd + c] = s[c * lds + r];
    fill_rows(dst, ldd, rows, cols, fill, 1);
}

void dtp_interleave1__avx2(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n) {
    uint8_t *d = dst;
    const uint8_t *s = src;
    for (int64_t z = 0; z < n; ++z, d += ldz, s += lsz) {
        __m128i a = _mm_loadu_si128((const __m128i *)s), b = _mm_loadu_si128((const __m128i *)(s + lds));
        __m128i c = _mm_loadu_si128((const __m128i *)(s + 2 * lds)),
                e = _mm_loadu_si128((const __m128i *)(s + 3 * lds));
        __m128i ab0 = _mm_unpacklo_epi8(a, b), ab1 = _mm_unpackhi_epi8(a, b);
        __m128i ce0 = _mm_unpacklo_epi8(c, e), ce1 = _mm_unpackhi_epi8(c, e);
        _mm_storeu_si128((__m128i *)d, _mm_unpacklo_epi16(ab0, ce0));
        _mm_storeu_si128((__m128i *)(d + 16), _mm_unpackhi_epi16(ab0, ce0));
        _mm_storeu_si128((__m128i *)(d + 32), _mm_unpacklo_epi16(ab1, ce1));
        _mm_storeu_si128((__m128i *)(d + 48), _mm_unpackhi_epi16(ab1, ce1));
    }
}

void dtp_interleave2__avx2(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n) {
    uint16_t *d = dst;
    const uint16_t *s = src;
    for (int64_t z = 0; z < n; ++z, d += ldz, s += lsz)
        for (int h = 0; h < 2; ++h) {
            __m128i a = _mm_loadu_si128((const __m128i *)(s + 8 * h));
            __m128i b = _mm_loadu_si128((const __m128i *)(s + lds + 8 * h));
            _mm_storeu_si128((__m128i *)(d + 16 * h), _mm_unpacklo_epi16(a, b));
            _mm_storeu_si128((__m128i *)(d + 16 * h + 8), _mm_unpackhi_epi16(a, b));
        }
}

/* Rows of n registers. */
static inline __attribute__((always_inline)) void copy_n(char *dst, int64_t ldd, const char *src, int64_t lds,
                                                         int64_t rows, const int n) {
    for (int64_t r = 0; r < rows; ++r, dst += ldd, src += lds) {
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i)
            _mm256_storeu_si256((__m256i *)(dst + 32 * i),
                                _mm256_loadu_si256((const __m256i *)(src + 32 * i)));
    }
}
static bool copy_known(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes) {
    switch (bytes) {
    case LINE / 2: copy_n(dst, ldd, src, lds, rows, 1); return true;
    case LINE: copy_n(dst, ldd, src, lds, rows, 2); return true;
    case 2 * LINE: copy_n(dst, ldd, src, lds, rows, 4); return true;
    case 4 * LINE: copy_n(dst, ldd, src, lds, rows, 8); return true;
    default: return false;
    }
}

static void rows__avx2(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes,
                       int stream) {
    if (!stream && copy_known(dst, ldd, src, lds, rows, bytes)) return;
    for (int64_t r = 0; r < rows; ++r) {
        char *d = dst + r * ldd;
        const char *s = src + r * lds;
        int64_t i = 0;
        if (stream && ((uintptr_t)d & 31) == 0)
            for (; i + 32 <= bytes; i += 32)
                _mm256_stream_si256((__m256i *)(d + i), _mm256_loadu_si256((const __m256i *)(s + i)));
        for (; i + 32 <= bytes; i += 32)
            _mm256_storeu_si256((__m256i *)(d + i), _mm256_loadu_si256((const __m256i *)(s + i)));
        if (i < bytes) __builtin_memcpy(d + i, s + i, (size_t)(bytes - i));
    }
    if (stream) _mm_sfence();
}

const dtp_move_t dtp_moves__avx2 = {
    {dtp_transpose1__avx2, dtp_transpose2__avx2, transpose4__avx2, dtp_transpose8__any},
    {dtp_interleave1__avx2, dtp_interleave2__avx2},
    rows__avx2};
