/* Shuffle kernel, avx512: vectors of 64 bytes; see shuffle_kern.h. */
#include <immintrin.h>

#include "cpu/shuffle/shuffle_kern.h"

typedef __m512i l_data;
typedef struct {
    __m512i index;
    __mmask16 mask;
} l_lanes;
static inline l_lanes l_lanes_load(const char *p) {
    const __m512i index = _mm512_loadu_si512(p);
    return (l_lanes){index, (__mmask16)~_mm512_movepi32_mask(index)};
}
static inline __m512i l_load(const char *p) { return _mm512_loadu_si512(p); }
static inline __m512i l_zero(void) { return _mm512_setzero_si512(); }
static inline __m512i l_or(__m512i x, __m512i y) { return _mm512_or_si512(x, y); }
static inline __m512i l_merge(__m512i x, l_lanes lanes, __m512i y) {
    return _mm512_mask_permutexvar_epi32(x, lanes.mask, lanes.index, y);
}
static inline void l_store(char *p, __m512i x, int stream) {
    if (stream) _mm512_stream_si512((__m512i *)(void *)p, x);
    else _mm512_storeu_si512(p, x);
}
static inline void l_fence(void) { _mm_sfence(); }

#define SHUFFLE_NAME dtp_shuffle64__avx512
#define L_BYTES 64
#define L_FEW 8
#include "cpu/shuffle/shuffle_kern.inc"
