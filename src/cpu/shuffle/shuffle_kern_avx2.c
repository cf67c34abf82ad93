/* Shuffle kernels, avx2: vectors of 8, 16 and 32 bytes; see shuffle_kern.h. The functions that the template calls have a
 * set of names for each width. */
#include <immintrin.h>

#include "cpu/shuffle/shuffle_kern.h"

static inline void l_fence(void) { _mm_sfence(); }

static inline __m256i load32(const char *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline __m256i zero32(void) { return _mm256_setzero_si256(); }
static inline __m256i or32(__m256i x, __m256i y) { return _mm256_or_si256(x, y); }
static inline __m256i merge32(__m256i x, __m256i lanes, __m256i y) {
    const __m256 moved = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(y, lanes));
    return _mm256_castps_si256(_mm256_blendv_ps(moved, _mm256_castsi256_ps(x), _mm256_castsi256_ps(lanes)));
}
static inline void store32(char *p, __m256i x, int stream) {
    if (stream) _mm256_stream_si256((__m256i *)(void *)p, x);
    else _mm256_storeu_si256((__m256i *)(void *)p, x);
}

static inline __m128i load16(const char *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline __m128i zero16(void) { return _mm_setzero_si128(); }
static inline __m128i or16(__m128i x, __m128i y) { return _mm_or_si128(x, y); }
static inline __m128i merge16(__m128i x, __m128i lanes, __m128i y) {
    return _mm_or_si128(x, _mm_shuffle_epi8(y, lanes));
}
static inline void store16(char *p, __m128i x, int stream) {
    if (stream) _mm_stream_si128((__m128i *)(void *)p, x);
    else _mm_storeu_si128((__m128i *)(void *)p, x);
}

static inline __m128i load8(const char *p) { return _mm_loadl_epi64((const __m128i *)(const void *)p); }
static inline void store8(char *p, __m128i x, int stream) {
    (void)stream;
    _mm_storel_epi64((__m128i *)(void *)p, x);
}

#define l_data __m256i
#define l_lanes __m256i
#define l_lanes_load load32
#define l_load load32
#define l_zero zero32
#define l_or or32
#define l_merge merge32
#define l_store store32
#define SHUFFLE_NAME dtp_shuffle32__avx2
#define L_BYTES 32
#define L_FEW 4
#include "cpu/shuffle/shuffle_kern.inc"

#undef l_data
#undef l_lanes
#undef l_lanes_load
#undef l_load
#undef l_zero
#undef l_or
#undef l_merge
#undef l_store
#define l_data __m128i
#define l_lanes __m128i
#define l_lanes_load load16
#define l_load load16
#define l_zero zero16
#define l_or or16
#define l_merge merge16
#define l_store store16
#define SHUFFLE_NAME dtp_shuffle16__avx2
#define L_BYTES 16
#define L_FEW 4
#include "cpu/shuffle/shuffle_kern.inc"

#undef l_load
#undef l_store
#define l_load load8
#define l_store store8
#define SHUFFLE_NAME dtp_shuffle8__avx2
#define L_BYTES 16
#define L_FEW 4
#include "cpu/shuffle/shuffle_kern.inc"
