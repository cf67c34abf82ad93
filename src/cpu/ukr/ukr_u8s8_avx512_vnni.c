/* u8 x s8 micro-kernels, packing and rounding for AVX-512 VNNI; see ukr_u8s8.h. The body is that of
 * ukr_f32_avx512.c without what integers do not need. */
#include <immintrin.h>
#include <stdbool.h>

#include "cpu/ukr/ukr_body.h"
#include "cpu/ukr/ukr_u8s8.h"

#define MAX_ACC 24
#define PACK_AHEAD 16 /* rows of B */

/* With vector lanes of int: accumulators of type __m512i are kept in memory by some compilers. */
typedef int v16si __attribute__((vector_size(64)));

/* c += sums of four products of unsigned a and signed b. */
INLINE void dot4(v16si *c, __m512i a, __m512i b) {
#ifdef __clang__
    *c = (v16si)_mm512_dpbusd_epi32((__m512i)*c, a, b);
#else
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*c) : "v"(a), "v"(b)); /* see fmadd in ukr_f32_avx512.c */
#endif
}

INLINE __m512i broadcast4(const char *p) {
    int v;
    __builtin_memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* ---- Tiles ------------------------------------------------------------------------------------------- */

INLINE void k_loop(const int MR, const int NV, const int PFN, v16si *c, const char *const *a, const char *b,
                   int64_t bs, int64_t k, int64_t ke, const char *pf) {
    const int unroll = PFN <= 2 ? 2 : 1;
    __m512i bv[DTP_UKR_MAX_NV];
    for (; k + 4 * unroll <= ke; k += 4 * unroll) {
        UNROLL for (int s = 0; s < unroll; s++) {
            UNROLL for (int j = 0; j < NV; j++) bv[j] =
                _mm512_loadu_si512(b + s * DTP_UKR_PANEL_BYTES + j * bs);
            UNROLL for (int q = 0; q < PFN; q++) fetch_l2(pf + s * DTP_UKR_PANEL_BYTES + q * bs);
            UNROLL for (int i = 0; i < MR; i++) {
                const __m512i av = broadcast4(a[i] + k + 4 * s);
                UNROLL for (int j = 0; j < NV; j++) dot4(&c[i * NV + j], av, bv[j]);
            }
        }
        b += unroll * DTP_UKR_PANEL_BYTES;
        pf += unroll * DTP_UKR_PANEL_BYTES;
    }
    for (; k < ke; k += 4) {
        UNROLL for (int j = 0; j < NV; j++) bv[j] = _mm512_loadu_si512(b + j * bs);
        UNROLL for (int i = 0; i < MR; i++) {
            const __m512i av = broadcast4(a[i] + k);
            UNROLL for (int j = 0; j < NV; j++) dot4(&c[i * NV + j], av, bv[j]);
        }
        b += DTP_UKR_PANEL_BYTES;
    }
}

INLINE void u8s8_body(const int MR, const int NV, const dtp_ukr_args_t *u) {
    static const int zeros[DTP_UKR_MAX_NV * DTP_UKR_PANEL];
    const bool acc = u->flags & DTP_UKR_ACC;
    const __mmask16 mask = (__mmask16)u->mask;
    const int64_t kb = 4 * u->k, bs = u->bs;
    const char *base_a = u->a;
    char *base_c = u->c;
    for (int64_t blk = 0; blk < u->nblk; blk++, base_a += MR * u->lda, base_c += MR * u->ldc) {
#define LANES(j) ((j) == NV - 1 ? mask : (__mmask16)0xffff)
        v16si c[MAX_ACC];
        UNROLL for (int i = 0; i < MR; i++) {
            const char *from = acc ? base_c + i * u->ldc : (const char *)zeros;
            UNROLL for (int j = 0; j < NV; j++) c[i * NV + j] =
                (v16si)_mm512_maskz_loadu_epi32(LANES(j), from + 64 * j);
        }
        const char *a[DTP_UKR_MAX_MR];
        UNROLL for (int i = 0; i < MR; i++) a[i] = base_a + i * u->lda;
        const int64_t pf_at = blk - u->pf_first;
        const int pf_mode = pf_at >= 0 && pf_at < u->pf_count ? u->pf_mode : 0;
        const char *b = u->b, *pf = pf_mode ? u->pf + pf_at * bs : b;
        if (pf_mode == DTP_UKR_PF_STREAM) {
            const int64_t ahead = u->pf_dist < 16 * kb ? u->pf_dist : 16 * kb;
            int64_t ke = kb - ahead / 16, from = 0;
            const char *next = b + ahead;
            for (int part = 0; part < 2; part++) {
                k_loop(MR, NV, NV, c, a, b, bs, from, ke, next);
                b += 16 * (ke - from);
                from = ke;
                ke = kb;
                next = pf;
            }
        } else if (NV >= 2 && MR >= 4 && pf_mode == DTP_UKR_PF_PAIR) {
            k_loop(MR, NV, 2, c, a, b, bs, 0, kb, pf);
        } else {
            k_loop(MR, NV, 1, c, a, b, bs, 0, kb, pf);
        }
        if (u->bias) {
            UNROLL for (int j = 0; j < NV; j++) {
                const v16si v = (v16si)_mm512_maskz_loadu_epi32(LANES(j), (const int *)u->bias + 16 * j);
                UNROLL for (int i = 0; i < MR; i++) c[i * NV + j] =
                    (v16si)_mm512_add_epi32((__m512i)c[i * NV + j], (__m512i)v);
            }
        }
        UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++)
            _mm512_mask_storeu_epi32(base_c + i * u->ldc + 64 * j, LANES(j), (__m512i)c[i * NV + j]);
#undef LANES
    }
}

#define DEFINE(types, mr, nv, isa) \
    static NOINLINE void ukr_u8s8_##mr##x##nv(const dtp_ukr_args_t *u) { u8s8_body(mr, nv, u); }
DTP_UKR_TILES_AVX512(DEFINE)

#define ENTRY(types, mr, nv, isa) [nv][mr] = ukr_u8s8_##mr##x##nv,
const dtp_ukr_set_t dtp_ukr_u8s8__avx512_vnni = {.flops_per_ns = 240,
                                                 .max_nv = 4,
                                                 .max_mr = {0, 8, 8, 8, 6},
                                                 .elems = 4,
                                                 .tile = {DTP_UKR_TILES_AVX512(ENTRY)}};

/* ---- Packing B --------------------------------------------------------------------------------------- */

INLINE __mmask64 bytes_mask(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : n > 0 ? ((__mmask64)1 << n) - 1 : 0;
}

/* Four rows of up to 64 bytes as up to four lines [16][4]. */
INLINE void interleave(const char *src, int64_t ld, int rows, __mmask64 mask, __m512i *line) {
    __m512i r[4], t[4];
    UNROLL for (int i = 0; i < 4; i++) r[i] =
        i < rows ? _mm512_maskz_loadu_epi8(mask, src + i * ld) : _mm512_setzero_si512();
    t[0] = _mm512_unpacklo_epi8(r[0], r[1]);
    t[1] = _mm512_unpackhi_epi8(r[0], r[1]);
    t[2] = _mm512_unpacklo_epi8(r[2], r[3]);
    t[3] = _mm512_unpackhi_epi8(r[2], r[3]);
    /* r[q], 128-bit part p: columns 16 p + 4 q and on; the lines are the transpose of that. */
    r[0] = _mm512_unpacklo_epi16(t[0], t[2]);
    r[1] = _mm512_unpackhi_epi16(t[0], t[2]);
    r[2] = _mm512_unpacklo_epi16(t[1], t[3]);
    r[3] = _mm512_unpackhi_epi16(t[1], t[3]);
    t[0] = _mm512_shuffle_i32x4(r[0], r[1], 0x44);
    t[1] = _mm512_shuffle_i32x4(r[0], r[1], 0xee);
    t[2] = _mm512_shuffle_i32x4(r[2], r[3], 0x44);
    t[3] = _mm512_shuffle_i32x4(r[2], r[3], 0xee);
    line[0] = _mm512_shuffle_i32x4(t[0], t[2], 0x88);
    line[1] = _mm512_shuffle_i32x4(t[0], t[2], 0xdd);
    line[2] = _mm512_shuffle_i32x4(t[1], t[3], 0x88);
    line[3] = _mm512_shuffle_i32x4(t[1], t[3], 0xdd);
}

/* Up to 64 columns, n of them, k of any length. */
INLINE void pack_rows(const char *src, int64_t ld, int64_t k, int64_t n, char *dst, int64_t bs,
                      int32_t *sums) {
    const __mmask64 mask = bytes_mask(n);
    const int panels = n >= 64 ? 4 : (int)((n + 15) / 16);
    v16si sum[4] = {{0}};
    const __m512i ones = _mm512_set1_epi8(1);
    for (; k > 0; k -= 4, src += 4 * ld, dst += DTP_UKR_PANEL_BYTES) {
        __m512i line[4];
        UNROLL for (int i = 0; i < 4; i++) fetch_l1(src + (PACK_AHEAD + i) * ld);
        if (k >= 4) interleave(src, ld, 4, mask, line);
        else interleave(src, ld, (int)k, mask, line);
        UNROLL for (int s = 0; s < 4; s++) if (s < panels) {
            _mm512_storeu_si512(dst + s * bs, line[s]);
            dot4(&sum[s], ones, line[s]);
        }
    }
    if (sums)
        for (int s = 0; s < panels; s++) _mm512_storeu_si512(sums + 16 * s, (__m512i)sum[s]);
}

static NOINLINE void pack_rows_full(const char *src, int64_t ld, int64_t k, char *dst, int64_t bs,
                                    int32_t *sums) {
    pack_rows(src, ld, k, 64, dst, bs, sums);
}

void dtp_u8s8_pack_b__avx512_vnni(const int8_t *src, int64_t ld, int trans, int64_t k, int64_t n, char *dst,
                                  int64_t bs, int32_t *sums) {
    const char *from = (const char *)src;
    if (!trans) {
        for (int64_t j = 0; j < n; j += 64, dst += 4 * bs, sums += 64) {
            if (n - j >= 64) pack_rows_full(from + j, ld, k, dst, bs, sums);
            else pack_rows(from + j, ld, k, n - j, dst, bs, sums);
        }
        return;
    }
    const int64_t steps = (k + 3) / 4;
    dtp_ukr__avx512.pack_trans(from, ld, k / 4, n, dst, bs);
    for (int64_t j = 0; j < n; j += 16, from += 16 * ld, dst += bs, sums += 16) {
        if (k % 4) {
            char *last = dst + (steps - 1) * DTP_UKR_PANEL_BYTES;
            _mm512_storeu_si512(last, _mm512_setzero_si512());
            for (int64_t i = 0; i < 16 && j + i < n; i++)
                for (int64_t q = 0; q < k % 4; q++) last[4 * i + q] = from[i * ld + k / 4 * 4 + q];
        }
        v16si sum = {0};
        for (int64_t s = 0; s < steps; s++)
            dot4(&sum, _mm512_set1_epi8(1), _mm512_loadu_si512(dst + s * DTP_UKR_PANEL_BYTES));
        _mm512_storeu_si512(sums, (__m512i)sum);
    }
}

/* ---- Packing A --------------------------------------------------------------------------------------- */

void dtp_u8s8_pack_a__avx512_vnni(const uint8_t *src, int64_t ld, int trans, int64_t m, int64_t k,
                                  uint8_t flip, char *dst, int64_t ldd, char *panel, int32_t *sums) {
    const char *from = (const char *)src;
    const __m512i x = _mm512_set1_epi8((char)flip);
    const int64_t padded = (k + 3) / 4 * 4;
    for (int64_t i = 0; i < m; i++) {
        if (trans && i % 16 == 0) {
            const int64_t rows = m - i < 16 ? m - i : 16;
            pack_rows(from + i, ld, k, rows, panel, 0, NULL);
            dtp_ukr__avx512.transpose(panel, DTP_UKR_PANEL_BYTES, rows, padded / 4, dst + i * ldd, ldd);
        }
        if (trans && !flip && !sums) continue;
        const char *row = trans ? dst + i * ldd : from + i * ld;
        char *to = dst + i * ldd;
        v16si sum = {0};
        for (int64_t j = 0; j < k; j += 64) {
            const __mmask64 mask = bytes_mask(k - j);
            const __m512i v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, row + j), x);
            _mm512_mask_storeu_epi8(to + j, mask, v);
            dot4(&sum, _mm512_maskz_mov_epi8(mask, v), _mm512_set1_epi8(1));
        }
        if (sums) sums[i] = _mm512_reduce_add_epi32((__m512i)sum);
    }
}

/* ---- Few rows of A ----------------------------------------------------------------------------------- */

/* B's lines are used as they come, not stored. */
INLINE void few_rows(const int MR, const char *a, int64_t lda, const char *b, int64_t ldb, int64_t k,
                     int64_t n, int32_t *tile, int32_t *sums) {
    const __mmask64 mask = bytes_mask(n);
    v16si c[DTP_U8S8_FEW * 4], sum[4];
    UNROLL for (int i = 0; i < MR * 4; i++) c[i] = (v16si)_mm512_setzero_si512();
    UNROLL for (int j = 0; j < 4; j++) sum[j] = (v16si)_mm512_setzero_si512();
    for (; k > 0; k -= 4, a += 4, b += 4 * ldb) {
        __m512i line[4];
        UNROLL for (int i = 0; i < 4; i++) fetch_l1(b + (PACK_AHEAD + i) * ldb);
        if (k >= 4) interleave(b, ldb, 4, mask, line);
        else interleave(b, ldb, (int)k, mask, line);
        UNROLL for (int i = 0; i < MR; i++) {
            const __m512i av = broadcast4(a + i * lda);
            UNROLL for (int j = 0; j < 4; j++) dot4(&c[4 * i + j], av, line[j]);
        }
        UNROLL for (int j = 0; j < 4; j++) dot4(&sum[j], _mm512_set1_epi8(1), line[j]);
    }
    UNROLL for (int i = 0; i < MR * 4; i++) _mm512_storeu_si512(tile + 16 * i, (__m512i)c[i]);
    UNROLL for (int j = 0; j < 4; j++) _mm512_storeu_si512(sums + 16 * j, (__m512i)sum[j]);
}

void dtp_u8s8_few__avx512_vnni(const char *a, int64_t lda, int64_t m, const int8_t *b, int64_t ldb, int64_t k,
                               int64_t n, int32_t *tile, int32_t *sums) {
    const char *from = (const char *)b;
    switch (m) {
    case 1: few_rows(1, a, lda, from, ldb, k, n, tile, sums); break;
    case 2: few_rows(2, a, lda, from, ldb, k, n, tile, sums); break;
    case 3: few_rows(3, a, lda, from, ldb, k, n, tile, sums); break;
    default: few_rows(4, a, lda, from, ldb, k, n, tile, sums);
    }
}

/* ---- Rounding ---------------------------------------------------------------------------------------- */

INLINE __m256i round8(__m256i sum, __m256i c, __m256i co, __m512d alpha, __m512d beta, bool reads_c) {
    __m512d v = _mm512_mul_pd(alpha, _mm512_cvtepi32_pd(sum));
    if (reads_c) v = _mm512_add_pd(v, _mm512_mul_pd(beta, _mm512_cvtepi32_pd(c)));
    v = _mm512_add_pd(v, _mm512_cvtepi32_pd(co));
    const __mmask8 number = _mm512_cmp_pd_mask(v, v, _CMP_ORD_Q);
    v = _mm512_min_pd(_mm512_max_pd(v, _mm512_set1_pd(-0x1p31)), _mm512_set1_pd(0x1p31 - 1));
    return _mm512_maskz_cvtpd_epi32(number, v);
}

void dtp_u8s8_store__avx512_vnni(const int32_t *sum, const int32_t *col, int32_t row, int32_t *c, int64_t n,
                                 double alpha, double beta, const int32_t *co, int co_each) {
    const __m512d va = _mm512_set1_pd(alpha), vb = _mm512_set1_pd(beta);
    const bool reads_c = beta != 0;
    __m256i vo = _mm256_set1_epi32(co[0]);
    for (int64_t j = 0; j < n; j += 8) {
        const __mmask8 mask = n - j >= 8 ? 0xff : (__mmask8)((1u << (n - j)) - 1);
        __m256i s = _mm256_add_epi32(_mm256_maskz_loadu_epi32(mask, sum + j), _mm256_set1_epi32(row));
        s = _mm256_add_epi32(s, _mm256_maskz_loadu_epi32(mask, col + j));
        const __m256i old = reads_c ? _mm256_maskz_loadu_epi32(mask, c + j) : _mm256_setzero_si256();
        if (co_each) vo = _mm256_maskz_loadu_epi32(mask, co + j);
        _mm256_mask_storeu_epi32(c + j, mask, round8(s, old, vo, va, vb, reads_c));
    }
}
