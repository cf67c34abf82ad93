/* f32 micro-kernels for AVX2 with FMA: 6 rows x 16 columns, and wider tiles for up to 3 rows, where the reads
 * of B are what takes time. Same arguments and slabs as the AVX-512 kernels. */
#include <immintrin.h>

#include "cpu/ukr/ukr.h"
#include "cpu/ukr/ukr_body.h"

#define MAX_ACC 12

/* c += a * b in place; see ukr_f32_avx512.c. */
INLINE void fmadd(__m256 *c, __m256 a, __m256 b) {
#ifdef __clang__
    *c = _mm256_fmadd_ps(a, b, *c); /* clang gets it right, and spills what an asm statement touches */
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*c) : "x"(a), "x"(b));
#endif
}

/* One k-step; the tile has 2 * NV vectors per row. */
INLINE void k_step(const int MR, const int NV, __m256 *c, const char *const *a, int64_t k, const char *b,
                   int64_t bs) {
    if (NV == 1) {
        const __m256 b0 = _mm256_loadu_ps((const float *)b), b1 = _mm256_loadu_ps((const float *)(b + 32));
        UNROLL for (int i = 0; i < MR; i++) {
            const __m256 av = _mm256_broadcast_ss((const float *)(a[i] + k));
            fmadd(&c[2 * i], av, b0);
            fmadd(&c[2 * i + 1], av, b1);
        }
    } else {
        __m256 av[3];
        UNROLL for (int i = 0; i < MR; i++) av[i] = _mm256_broadcast_ss((const float *)(a[i] + k));
        UNROLL for (int j = 0; j < 2 * NV; j++) {
            const __m256 bv = _mm256_loadu_ps((const float *)(b + j / 2 * bs + j % 2 * 32));
            UNROLL for (int i = 0; i < MR; i++) fmadd(&c[i * 2 * NV + j], av[i], bv);
        }
    }
}

INLINE void k_packed(const int MR, const int NV, const int PFN, __m256 *c, const char *const *a,
                     const char *b, int64_t bs, int64_t k, int64_t ke, const char *pf) {
    /* Unrolled further, the addresses of the next step do not fit the general registers. */
    for (; k < ke; k += 4) {
        UNROLL for (int q = 0; q < PFN; q++) _mm_prefetch(pf + q * bs, _MM_HINT_T0);
        k_step(MR, NV, c, a, k, b, bs);
        b += DTP_UKR_SLAB_BYTES;
        pf += DTP_UKR_SLAB_BYTES;
    }
}

/* From 16 - n on: n lanes of ones, then zeros. */
static const int32_t lane_masks[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* Row-major B. MASKED: the last slab is narrower than 16. COPY: the lines are stored as slabs, too. */
INLINE void k_plain(const int MR, const int NV, const int MASKED, const int COPY, __m256 *c,
                    const char *const *a, const char *b, int64_t k, int64_t ke, const dtp_ukr_args_t *u) {
    const int64_t bstep = u->bstep, pf_dist = u->pf_dist, copy_bs = COPY ? u->copy_bs : 0;
    char *copy = COPY ? u->copy : 0;
    /* Read at each step, hence volatile: there is no register to keep them in. */
    const volatile __m256i_u *mask =
        (const volatile __m256i_u *)(const void *)(lane_masks + 16 - __builtin_popcount(u->mask));
    for (; k < ke; k += 4, b += bstep) {
        UNROLL for (int q = 0; q < NV; q++) _mm_prefetch(b + pf_dist + q * 64, _MM_HINT_T0);
        if (!MASKED) {
            if (COPY) {
                UNROLL for (int j = 0; j < 2 * NV; j++)
                    _mm256_storeu_ps((float *)(copy + j / 2 * copy_bs + j % 2 * 32),
                                     _mm256_loadu_ps((const float *)(b + j * 32)));
            }
            k_step(MR, NV, c, a, k, b, DTP_UKR_SLAB_BYTES);
        } else {
            /* As in k_step: what is wider stays in registers, rows or lines. */
            __m256 av[DTP_UKR_MAX_MR], bv[2];
            UNROLL for (int i = 0; i < MR && NV > 1; i++) av[i] =
                _mm256_broadcast_ss((const float *)(a[i] + k));
            UNROLL for (int j = 0; j < 2 * NV; j++) {
                const float *p = (const float *)(b + j * 32);
                bv[j % 2] = j < 2 * NV - 2 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, mask[j % 2]);
                if (COPY) _mm256_storeu_ps((float *)(copy + j / 2 * copy_bs + j % 2 * 32), bv[j % 2]);
                UNROLL for (int i = 0; i < MR && NV > 1; i++) fmadd(&c[i * 2 * NV + j], av[i], bv[j % 2]);
            }
            UNROLL for (int i = 0; i < MR && NV == 1; i++) {
                const __m256 v = _mm256_broadcast_ss((const float *)(a[i] + k));
                fmadd(&c[2 * i], v, bv[0]);
                fmadd(&c[2 * i + 1], v, bv[1]);
            }
        }
        if (COPY) copy += DTP_UKR_SLAB_BYTES;
    }
}

/* The first lanes of 16 floats; the others are zero. Narrow slabs are rare: out of line. */
static NOINLINE void load_part(float *t, const float *p, int lanes) {
    for (int l = 0; l < DTP_UKR_SLAB; l++) t[l] = l < lanes ? p[l] : 0;
}
static NOINLINE void store_part(float *p, const float *t, int lanes) {
    for (int l = 0; l < lanes; l++) p[l] = t[l];
}

INLINE void load16(__m256 *v, const float *p, int lanes) {
    float t[DTP_UKR_SLAB];
    if (lanes != DTP_UKR_SLAB) {
        load_part(t, p, lanes);
        p = t;
    }
    v[0] = _mm256_loadu_ps(p);
    v[1] = _mm256_loadu_ps(p + 8);
}

INLINE void store16(float *p, const __m256 *v, int lanes) {
    float t[DTP_UKR_SLAB], *to = lanes == DTP_UKR_SLAB ? p : t;
    _mm256_storeu_ps(to, v[0]);
    _mm256_storeu_ps(to + 8, v[1]);
    if (lanes != DTP_UKR_SLAB) store_part(p, t, lanes);
}

/* Each way through k is a function of its own: with several k loops in one function, the accumulators of 6
 * rows do not all stay in registers. */
enum { PACKED = 0, STREAM = 1, PLAIN = 2, MASKED = 4, COPY = 8 };

INLINE void f32_body(const int MR, const int NV, const int WAY, const dtp_ukr_args_t *u) {
    static const dtp_ukr_tap_t one_tap = {0, 0};
    const char *base_a = u->a, *add = u->add;
    char *base_c = u->c;
    const int64_t *row_a = u->row_a, *row_c = u->row_c;
    const int lanes = __builtin_popcount(u->mask);
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        __m256 c[MAX_ACC];
        if (u->flags & DTP_UKR_ACC) {
            UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++) load16(
                &c[(i * NV + j) * 2], (const float *)(base_c + (row_c ? row_c[i] : i * u->ldc)) + 16 * j,
                j < NV - 1 ? DTP_UKR_SLAB : lanes);
        } else {
            UNROLL for (int i = 0; i < 2 * MR * NV; i++) c[i] = _mm256_setzero_ps();
        }
        const char *a[DTP_UKR_MAX_MR];
        if (row_a) {
            UNROLL for (int i = 0; i < MR; i++) a[i] = base_a + row_a[i];
            row_a += MR;
        } else {
            UNROLL for (int i = 0; i < MR; i++) a[i] = base_a + i * u->lda;
            base_a += MR * u->lda;
        }
        const dtp_ukr_tap_t *t = u->taps ? u->taps : &one_tap;
        const int64_t kb = 4 * u->k, bs = u->bs;
        const int64_t pf_at = blk - u->pf_first;
        const int pf_mode = pf_at >= 0 && pf_at < u->pf_count ? u->pf_mode : 0;
        const char *pf = pf_mode ? u->pf + pf_at * bs : u->b;
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const char *b = u->b + t->b;
            const int64_t k = t->a;
            if (WAY & PLAIN) {
                k_plain(MR, NV, !!(WAY & MASKED), !!(WAY & COPY), c, a, b, k, k + kb, u);
            } else if (WAY == STREAM) {
                const int64_t ahead = u->pf_dist < 16 * kb ? u->pf_dist : 16 * kb;
                int64_t ke = k + kb - ahead / 16, from = k;
                const char *next = b + ahead;
                for (int part = 0; part < 2; part++) {
                    k_packed(MR, NV, NV, c, a, b, bs, from, ke, next);
                    b += 16 * (ke - from);
                    from = ke;
                    ke = k + kb;
                    next = pf;
                }
            } else {
                k_packed(MR, NV, 1, c, a, b, bs, k, k + kb, pf);
                pf += 16 * kb;
            }
        }
        const __m256 zero = _mm256_setzero_ps();
        UNROLL for (int j = 0; j < NV; j++) {
            const int w = j < NV - 1 ? DTP_UKR_SLAB : lanes;
            __m256 bias[2] = {zero, zero}, v[2];
            if (u->bias) load16(bias, u->bias + 16 * j, w);
            UNROLL for (int i = 0; i < MR; i++) {
                __m256 *x = &c[(i * NV + j) * 2];
                float *to = (float *)(base_c + (row_c ? row_c[i] : i * u->ldc)) + 16 * j;
                if (u->bias) {
                    x[0] = _mm256_add_ps(x[0], bias[0]);
                    x[1] = _mm256_add_ps(x[1], bias[1]);
                }
                /* max(0, x), in this order, keeps NaN. */
                if (u->flags & DTP_UKR_RELU_FIRST) {
                    x[0] = _mm256_max_ps(zero, x[0]);
                    x[1] = _mm256_max_ps(zero, x[1]);
                }
                if (add) {
                    const __m256 s = _mm256_set1_ps(u->add_scale);
                    load16(v, (const float *)(add + i * u->ldadd) + 16 * j, w);
                    x[0] = _mm256_fmadd_ps(s, v[0], x[0]);
                    x[1] = _mm256_fmadd_ps(s, v[1], x[1]);
                }
                if (u->flags & DTP_UKR_RELU) {
                    x[0] = _mm256_max_ps(zero, x[0]);
                    x[1] = _mm256_max_ps(zero, x[1]);
                }
                store16(to, x, w);
            }
        }
        if (add) add += MR * u->ldadd;
        if (row_c) row_c += MR;
        else base_c += MR * u->ldc;
    }
}

#define WAY(types, mr, nv, way)                                                       \
    static NOINLINE void ukr_##types##_##mr##x##nv##_##way(const dtp_ukr_args_t *u) { \
        types##_body(mr, nv, way, u);                                                 \
    }
#define DEFINE(types, mr, nv, isa)                                                                           \
    WAY(types, mr, nv, 0)                                                                                    \
    WAY(types, mr, nv, 1)                                                                                    \
    WAY(types, mr, nv, 2)                                                                                    \
    WAY(types, mr, nv, 6)                                                                                    \
    WAY(types, mr, nv, 10)                                                                                   \
    WAY(types, mr, nv, 14)                                                                                   \
    static void ukr_##types##_##mr##x##nv(const dtp_ukr_args_t *u) {                                         \
        static const dtp_ukr_fn_t ways[] = {ukr_##types##_##mr##x##nv##_2, ukr_##types##_##mr##x##nv##_6,    \
                                            ukr_##types##_##mr##x##nv##_10, ukr_##types##_##mr##x##nv##_14}; \
        if (u->bstep != DTP_UKR_SLAB_BYTES) ways[2 * !!u->copy + (u->mask != 0xffff)](u);                    \
        else if (mr <= 3 && u->pf_mode == DTP_UKR_PF_STREAM && u->pf_count)                                  \
            ukr_##types##_##mr##x##nv##_1(u);                                                                \
        else ukr_##types##_##mr##x##nv##_0(u);                                                               \
    }
DTP_UKR_TILES_AVX2(DEFINE)

/* ---- Packing ----------------------------------------------------------------------------------------- */

/* dst[8 columns][8 rows] = transposed src[8 rows][8 columns]. */
INLINE void transpose8(const char *src, int64_t lds, char *dst, int64_t ldd) {
    __m256 r[8], t[8];
    UNROLL for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps((const float *)(src + i * lds));
    UNROLL for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    UNROLL for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
        r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps((float *)(dst + i * ldd), _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps((float *)(dst + (i + 4) * ldd), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

static void transpose_part(const char *src, int64_t lds, int rows, int cols, char *dst, int64_t ldd) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            *(float *)(dst + j * ldd + 4 * i) = *(const float *)(src + i * lds + 4 * j);
}

static void transpose_any(const char *src, int64_t lds, int64_t rows, int64_t cols, char *dst, int64_t ldd) {
    for (int64_t i = 0; i < rows; i += 8)
        for (int64_t j = 0; j < cols; j += 8) {
            const char *s = src + i * lds + 4 * j;
            char *d = dst + j * ldd + 4 * i;
            const int h = rows - i < 8 ? (int)(rows - i) : 8, w = cols - j < 8 ? (int)(cols - j) : 8;
            if (h == 8 && w == 8) transpose8(s, lds, d, ldd);
            else transpose_part(s, lds, h, w, d, ldd);
        }
}

static void pack_trans(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j += 16, src += 16 * ldb, dst += bs) {
        const int64_t rows = n - j < 16 ? n - j : 16;
        transpose_any(src, ldb, rows, k, dst, DTP_UKR_SLAB_BYTES);
        for (int64_t i = 0; i < k && rows < 16; i++)
            for (int64_t l = rows; l < 16; l++) *(float *)(dst + 64 * i + 4 * l) = 0;
    }
}

static void transpose(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd) {
    transpose_any(src, lds, k, m, dst, ldd);
}

static void pack(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j += 16, src += 64, dst += bs) {
        const int lanes = n - j < 16 ? (int)(n - j) : 16;
        for (int64_t i = 0; i < k; i++) {
            __m256 v[2];
            load16(v, (const float *)(src + i * ldb), lanes);
            store16((float *)(dst + 64 * i), v, 16);
        }
    }
}

/* ---- Vectors ----------------------------------------------------------------------------------------- */

/* KB rows of B at a time: they are read as KB sequential streams, which the processor prefetches well. */
INLINE void gemv_rows(const int KB, const float *x, const char *b, int64_t ldb, int64_t n, float *y,
                      int first) {
    __m256 xv[8];
    UNROLL for (int i = 0; i < KB; i++) xv[i] = _mm256_set1_ps(x[i]);
    int64_t j = 0;
    for (; j + 32 <= n; j += 32, b += 128) {
        __m256 c[4];
        UNROLL for (int v = 0; v < 4; v++) c[v] =
            first ? _mm256_setzero_ps() : _mm256_loadu_ps(y + j + 8 * v);
        UNROLL for (int i = 0; i < KB; i++) UNROLL for (int v = 0; v < 4; v++) c[v] =
            _mm256_fmadd_ps(xv[i], _mm256_loadu_ps((const float *)(b + i * ldb + 32 * v)), c[v]);
        UNROLL for (int v = 0; v < 4; v++) _mm256_storeu_ps(y + j + 8 * v, c[v]);
    }
    for (; j < n; j++, b += 4) {
        float c = first ? 0 : y[j];
        for (int i = 0; i < KB; i++) c = __builtin_fmaf(x[i], *(const float *)(b + i * ldb), c);
        y[j] = c;
    }
}

static void gemv(const float *x, const char *b, int64_t ldb, int64_t k, int64_t n, float *y, int more) {
    int64_t i = 0;
    for (; i + 8 <= k; i += 8, b += 8 * ldb) gemv_rows(8, x + i, b, ldb, n, y, i == 0 && !more);
    for (; i < k; i++, b += ldb) gemv_rows(1, x + i, b, ldb, n, y, i == 0 && !more);
}

INLINE float sum8(__m256 v) {
    __m128 t = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    t = _mm_add_ps(t, _mm_movehl_ps(t, t));
    return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
}

INLINE void dot_block(const int MR, const int NB, const char *a, int64_t lda, const char *b, int64_t ldb,
                      int64_t k, char *c, int64_t ldc) {
    __m256 s[8];
    UNROLL for (int i = 0; i < MR * NB; i++) s[i] = _mm256_setzero_ps();
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) {
        __m256 x[2];
        UNROLL for (int i = 0; i < MR; i++) x[i] = _mm256_loadu_ps((const float *)(a + i * lda) + p);
        UNROLL for (int j = 0; j < NB; j++) {
            const __m256 v = _mm256_loadu_ps((const float *)(b + j * ldb) + p);
            UNROLL for (int i = 0; i < MR; i++) s[i * NB + j] = _mm256_fmadd_ps(x[i], v, s[i * NB + j]);
        }
    }
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NB; j++) {
        float sum = sum8(s[i * NB + j]);
        for (int64_t q = p; q < k; q++)
            sum = __builtin_fmaf(((const float *)(a + i * lda))[q], ((const float *)(b + j * ldb))[q], sum);
        *(float *)(c + i * ldc + 4 * j) = sum;
    }
}

static void dot(const char *a, int64_t lda, int mr, const char *b, int64_t ldb, int64_t n, int64_t k, char *c,
                int64_t ldc) {
    for (; n >= 4; n -= 4, b += 4 * ldb, c += 16) {
        int i = 0;
        for (; i + 2 <= mr; i += 2) dot_block(2, 4, a + i * lda, lda, b, ldb, k, c + i * ldc, ldc);
        if (i < mr) dot_block(1, 4, a + i * lda, lda, b, ldb, k, c + i * ldc, ldc);
    }
    for (; n > 0; n--, b += ldb, c += 4)
        for (int i = 0; i < mr; i++) dot_block(1, 1, a + i * lda, lda, b, ldb, k, c + i * ldc, ldc);
}

#define ENTRY(types, mr, nv, isa) [nv][mr] = ukr_##types##_##mr##x##nv,
const dtp_ukr_set_t dtp_ukr__avx2 = {.flops_per_ns = 130,
                                     .max_nv = 4,
                                     .max_mr = {0, 6, 3, 0, 1},
                                     .f32 = {DTP_UKR_TILES_AVX2(ENTRY)},
                                     .pack = pack,
                                     .pack_trans = pack_trans,
                                     .transpose = transpose,
                                     .gemv = gemv,
                                     .dot = dot};
