/* f32 micro-kernels for AVX2 with FMA: 6 rows x 16 columns; 4 rows x 24 columns, one column panel and half of one; and wider
 * tiles for up to 3 rows, where the reads of B are what takes time. Same arguments and column panels as the AVX-512 kernels. */
#include "cpu/simd/vec_avx2.h"
#include "cpu/ukr/ukr.h"
#include "cpu/ukr/ukr_body.h"

#define MAX_ACC 12
#define K_TURN 4 /* k-steps of a turn of the loops */

typedef double double_u __attribute__((aligned(4), may_alias));

/* c += a * b in place; see ukr_f32_avx512.c. */
INLINE void fmadd(__m256 *c, __m256 a, __m256 b) {
#ifdef __clang__
    *c = _mm256_fmadd_ps(a, b, *c); /* clang gets it right, and spills what an asm statement touches */
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*c) : "x"(a), "x"(b));
#endif
}

/* One k-step; the tile has NW vectors per row. copy: NULL, or where the lines of B are stored, copy_bs bytes from
 * column panel to column panel. */
INLINE void k_step(const int MR, const int NW, __m256 *c, const char *const *a, int64_t k, const char *b,
                   int64_t bs, char *copy, int64_t copy_bs) {
    enum { KEPT = 3 }; /* registers beside the sums, for rows or lines */
    __m256 kept[KEPT];
    if (NW <= KEPT) {
        UNROLL for (int j = 0; j < NW; j++) {
            kept[j] = _mm256_loadu_ps((const float *)(b + j / 2 * bs + j % 2 * 32));
            if (copy) _mm256_storeu_ps((float *)(copy + j / 2 * copy_bs + j % 2 * 32), kept[j]);
        }
        UNROLL for (int i = 0; i < MR; i++) {
            const __m256 av = _mm256_broadcast_ss((const float *)(a[i] + k));
            UNROLL for (int j = 0; j < NW; j++) fmadd(&c[i * NW + j], av, kept[j]);
        }
        return;
    }
    UNROLL for (int i = 0; i < MR; i++) kept[i] = _mm256_broadcast_ss((const float *)(a[i] + k));
    UNROLL for (int j = 0; j < NW; j++) {
        const __m256 bv = _mm256_loadu_ps((const float *)(b + j / 2 * bs + j % 2 * 32));
        if (copy) _mm256_storeu_ps((float *)(copy + j / 2 * copy_bs + j % 2 * 32), bv);
        if (MR == 1) c[j] = _mm256_fmadd_ps(kept[0], bv, c[j]); /* the product reads B itself */
        else UNROLL for (int i = 0; i < MR; i++) fmadd(&c[i * NW + j], kept[i], bv);
    }
}

/* Packed B, four k-steps a turn: the addresses within a turn are displacements, so that what is not a product costs
 * two micro-operations a turn. Beside a busy sibling thread that is what counts. pf: what is fetched meanwhile,
 * pf_lines lines a turn, or NULL; returns where the next fetch goes on. */
INLINE const char *k_packed(const int MR, const int NW, __m256 *c, const char *const *a, const char *b,
                            int64_t bs, int64_t k, int64_t ke, const char *pf, int pf_lines) {
    for (; k + 4 * (K_TURN - 1) < ke; k += 4 * K_TURN, b += K_TURN * DTP_UKR_PANEL_BYTES) {
        __asm__("" : "+r"(k)); /* or gcc keeps an index for each step of the turn */
        if (pf) {
            fetch_l2(pf);
            if (pf_lines > 1) {
                fetch_l2(pf + 64);
                if (pf_lines > 2) {
                    fetch_l2(pf + 128);
                    fetch_l2(pf + 192);
                }
            }
            pf += pf_lines * 64;
        }
        UNROLL for (int s = 0; s < K_TURN; s++)
            k_step(MR, NW, c, a, k + 4 * s, b + s * DTP_UKR_PANEL_BYTES, bs, NULL, 0);
    }
    for (; k < ke; k += 4, b += DTP_UKR_PANEL_BYTES) k_step(MR, NW, c, a, k, b, bs, NULL, 0);
    return pf;
}

/* From 16 - n on: n lanes of ones, then zeros. */
static const int32_t lane_masks[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* Row-major B: lines of a k-step are adjacent, k-steps are bstep bytes apart. COPY: the lines are stored as column
 * panels, too. */
INLINE void k_plain(const int MR, const int NV, const int COPY, __m256 *c, const char *const *a,
                    const char *b, int64_t k, int64_t ke, const dtp_ukr_args_t *u) {
    const int64_t bstep = u->bstep, copy_bs = COPY ? u->copy_bs : 0;
    const char *pf = b + u->pf_dist;
    char *copy = COPY ? u->copy : 0;
    for (; k + 4 * (K_TURN - 1) < ke; k += 4 * K_TURN) {
        __asm__("" : "+r"(k));
        UNROLL for (int s = 0; s < K_TURN; s++) {
            UNROLL for (int q = 0; q < NV; q++) fetch_plain(MR, pf + s * bstep + q * 64);
            k_step(MR, 2 * NV, c, a, k + 4 * s, b + s * bstep, DTP_UKR_PANEL_BYTES,
                   COPY ? copy + s * DTP_UKR_PANEL_BYTES : 0, copy_bs);
        }
        b += K_TURN * bstep;
        pf += K_TURN * bstep;
        if (COPY) copy += K_TURN * DTP_UKR_PANEL_BYTES;
    }
    for (; k < ke; k += 4, b += bstep) {
        k_step(MR, 2 * NV, c, a, k, b, DTP_UKR_PANEL_BYTES, copy, copy_bs);
        if (COPY) copy += DTP_UKR_PANEL_BYTES;
    }
}

/* The same where the last column panel is narrower than 16 columns. */
INLINE void k_masked(const int MR, const int NV, const int COPY, __m256 *c, const char *const *a,
                     const char *b, int64_t k, int64_t ke, const dtp_ukr_args_t *u) {
    const int64_t bstep = u->bstep, pf_dist = u->pf_dist, copy_bs = COPY ? u->copy_bs : 0;
    char *copy = COPY ? u->copy : 0;
    /* Read at each step, hence volatile: there is no register to keep them in. */
    const volatile __m256i_u *mask =
        (const volatile __m256i_u *)(const void *)(lane_masks + 16 - __builtin_popcount(u->mask));
    for (; k < ke; k += 4, b += bstep) {
        UNROLL for (int q = 0; q < NV; q++) fetch_plain(MR, b + pf_dist + q * 64);
        /* As in k_step: what is wider stays in registers, rows or lines. */
        __m256 av[DTP_UKR_MAX_MR], bv[2];
        UNROLL for (int i = 0; i < MR && NV > 1; i++) av[i] = _mm256_broadcast_ss((const float *)(a[i] + k));
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
        if (COPY) copy += DTP_UKR_PANEL_BYTES;
    }
}

/* The first n <= 16 floats. */
INLINE void copy_lanes(float *to, const float *from, int n) {
    if (n & 16) {
        _mm256_storeu_ps(to, _mm256_loadu_ps(from));
        _mm256_storeu_ps(to + 8, _mm256_loadu_ps(from + 8));
        return;
    }
    if (n & 8) _mm256_storeu_ps(to, _mm256_loadu_ps(from)), to += 8, from += 8;
    if (n & 4) _mm_storeu_ps(to, _mm_loadu_ps(from)), to += 4, from += 4;
    if (n & 2) *(double_u *)(void *)to = *(const double_u *)(const void *)from, to += 2, from += 2;
    if (n & 1) *to = *from;
}

/* Rows of n columns from a tile of 8 * nvec columns, where nothing follows the sums. */
static NOINLINE void write_part(const dtp_ukr_args_t *u, const float *tile, int rows, int nvec, int n,
                                char *c, const int64_t *row_c) {
    for (int i = 0; i < rows; i++, tile += 8 * nvec) {
        float *to = (float *)(c + (row_c ? row_c[i] : i * u->ldc));
        int j = 0;
        for (; j + DTP_UKR_PANEL <= n; j += DTP_UKR_PANEL) copy_lanes(to + j, tile + j, DTP_UKR_PANEL);
        copy_lanes(to + j, tile + j, n - j);
    }
}

/* max(floor, x) and min(cap, x), in this order, keep NaN. */
INLINE void bound(const int N, __m256 *c, const dtp_ukr_args_t *u) {
    const __m256 lo = _mm256_set1_ps(u->floor);
    UNROLL for (int i = 0; i < N; i++) c[i] = _mm256_max_ps(lo, c[i]);
    if (u->flags & DTP_UKR_CAP) {
        const __m256 hi = _mm256_set1_ps(u->cap);
        UNROLL for (int i = 0; i < N; i++) c[i] = _mm256_min_ps(hi, c[i]);
    }
}

/* What follows the sums of whole vectors. Each stage is done for all rows, so that a stage that is not there
 * costs one test a block. */
INLINE void finish(const int MR, const int NW, __m256 *c, const dtp_ukr_args_t *u, char *to,
                   const int64_t *row_c, const char *add, const int64_t *row_add) {
    const __m256 zero = _mm256_setzero_ps();
    if (u->flags & DTP_UKR_ACC) {
        UNROLL for (int i = 0; i < MR; i++) {
            const float *from = (const float *)(to + (row_c ? row_c[i] : i * u->ldc));
            UNROLL for (int j = 0; j < NW; j++) c[i * NW + j] =
                _mm256_add_ps(c[i * NW + j], _mm256_loadu_ps(from + 8 * j));
        }
    }
    if (u->bias) {
        UNROLL for (int j = 0; j < NW; j++) {
            const __m256 b = _mm256_loadu_ps((const float *)u->bias + 8 * j);
            UNROLL for (int i = 0; i < MR; i++) c[i * NW + j] = _mm256_add_ps(c[i * NW + j], b);
        }
    }
    /* max(0, x), in this order, keeps NaN. */
    if (u->flags & DTP_UKR_RELU_FIRST) {
        UNROLL for (int i = 0; i < MR * NW; i++) c[i] = _mm256_max_ps(zero, c[i]);
    }
    if (add) {
        const __m256 s = _mm256_set1_ps(u->add_scale);
        UNROLL for (int i = 0; i < MR; i++) {
            const float *row = (const float *)(add + (row_add ? row_add[i] : i * u->ldadd));
            UNROLL for (int j = 0; j < NW; j++) c[i * NW + j] =
                _mm256_fmadd_ps(s, _mm256_loadu_ps(row + 8 * j), c[i * NW + j]);
        }
    }
    if (u->flags & DTP_UKR_FLOOR) bound(MR * NW, c, u);
    if (row_c) {
        UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NW; j++)
            _mm256_storeu_ps((float *)(to + row_c[i]) + 8 * j, c[i * NW + j]);
        return;
    }
    UNROLL for (int i = 0; i < MR; i++, to += u->ldc) UNROLL for (int j = 0; j < NW; j++)
        _mm256_storeu_ps((float *)to + 8 * j, c[i * NW + j]);
}

/* The same for n columns, the last column panel not whole, from a tile of 8 * nvec. Such column panels are rare: out
 * of line. */
static NOINLINE void finish_part(const dtp_ukr_args_t *u, float *tile, int rows, int nvec, int n, char *to,
                                 const int64_t *row_c, const char *add, const int64_t *row_add) {
    const __m256 zero = _mm256_setzero_ps(), s = _mm256_set1_ps(u->add_scale);
    /* Lanes that no copy writes stay numbers: arithmetic on them raises nothing. */
    float part[DTP_UKR_PANEL] = {0};
    for (int i = 0; i < rows; i++, tile += 8 * nvec) {
        float *c = (float *)(to + (row_c ? row_c[i] : i * u->ldc));
        const char *from = add ? add + (row_add ? row_add[i] : i * u->ldadd) : NULL;
        for (int j = 0; j < n; j += 8) {
            const int lanes = n - j < 8 ? n - j : 8;
            __m256 x = _mm256_loadu_ps(tile + j);
            if (u->flags & DTP_UKR_ACC) {
                copy_lanes(part, c + j, lanes);
                x = _mm256_add_ps(x, _mm256_loadu_ps(part));
            }
            if (u->bias) {
                copy_lanes(part, (const float *)u->bias + j, lanes);
                x = _mm256_add_ps(x, _mm256_loadu_ps(part));
            }
            if (u->flags & DTP_UKR_RELU_FIRST) x = _mm256_max_ps(zero, x);
            if (from) {
                copy_lanes(part, (const float *)from + j, lanes);
                x = _mm256_fmadd_ps(s, _mm256_loadu_ps(part), x);
            }
            if (u->flags & DTP_UKR_FLOOR) bound(1, &x, u);
            _mm256_storeu_ps(part, x);
            copy_lanes(c + j, part, lanes);
        }
    }
}

/* Each way through k is a function of its own: with several k loops in one function, the accumulators of 6
 * rows do not all stay in registers. */
enum { PACKED = 0, PLAIN = 1, MASKED = 2, COPY = 4, EACH = 8 /* packed, taps of one k-step */ };

INLINE void f32_body(const int MR, const int NW, const int WAY, const dtp_ukr_args_t *u) {
    const int NV = (NW + 1) / 2;
    static const dtp_ukr_tap_t one_tap = {0, 0};
    const char *base_a = u->a, *add = u->add;
    char *base_c = u->c;
    const int64_t *row_a = u->row_a, *row_c = u->row_c, *row_add = u->row_add;
    const int columns = DTP_UKR_PANEL * (NV - 1) + __builtin_popcount(u->mask);
    float tile[MAX_ACC * 8]; /* of a column panel that is not whole */
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        __m256 c[MAX_ACC];
        UNROLL for (int i = 0; i < MR * NW; i++) c[i] = _mm256_setzero_ps();
        const char *a[DTP_UKR_MAX_MR];
        if (row_a) {
            UNROLL for (int i = 0; i < MR; i++) a[i] = base_a + row_a[i];
            row_a += MR;
        } else {
            UNROLL for (int i = 0; i < MR; i++) a[i] = base_a + i * u->lda;
            base_a += MR * u->lda;
        }
        const dtp_ukr_tap_t *t = u->taps ? u->taps : &one_tap;
        const int64_t kb = 4 * (WAY == EACH ? 1 : u->k), bs = u->bs, pf_at = blk - u->pf_first;
        const char *pf = NULL;
        int pf_lines = 0;
        /* Few rows read streams, which the processor fetches best itself. */
        if (WAY == PACKED && pf_at >= 0 && pf_at < u->pf_count &&
            (MR > 3 || u->pf_mode != DTP_UKR_PF_STREAM)) {
            pf_lines = K_TURN >> u->pf_shift;
            pf = dtp_ukr_pf_from(u, pf_at);
        } else if (WAY == PACKED && u->pf_rows) {
            pf_lines = K_TURN / 2;
            pf = base_a;
        }
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const char *b = u->b + t->b;
            const int64_t k = t->a;
            if (WAY & MASKED) k_masked(MR, NV, !!(WAY & COPY), c, a, b, k, k + kb, u);
            else if (WAY & PLAIN) k_plain(MR, NV, !!(WAY & COPY), c, a, b, k, k + kb, u);
            else pf = k_packed(MR, NW, c, a, b, bs, k, k + kb, pf, pf_lines);
        }
        if (columns == 8 * NW) {
            finish(MR, NW, c, u, base_c, row_c, add, row_add);
        } else {
            UNROLL for (int i = 0; i < MR * NW; i++) _mm256_storeu_ps(tile + 8 * i, c[i]);
            if (!(u->bias || add || u->flags)) write_part(u, tile, MR, NW, columns, base_c, row_c);
            else finish_part(u, tile, MR, NW, columns, base_c, row_c, add, row_add);
        }
        if (row_add) row_add += MR;
        else if (add) add += MR * u->ldadd;
        if (row_c) row_c += MR;
        else base_c += MR * u->ldc;
    }
}

#define WAY(types, mr, nv, way)                                                       \
    static NOINLINE void ukr_##types##_##mr##x##nv##_##way(const dtp_ukr_args_t *u) { \
        types##_body(mr, 2 * nv, way, u);                                             \
    }
#define DEFINE(types, mr, nv, isa)                                                                         \
    WAY(types, mr, nv, 0)                                                                                  \
    WAY(types, mr, nv, 1)                                                                                  \
    WAY(types, mr, nv, 3)                                                                                  \
    WAY(types, mr, nv, 5)                                                                                  \
    WAY(types, mr, nv, 7)                                                                                  \
    WAY(types, mr, nv, 8)                                                                                  \
    static void ukr_##types##_##mr##x##nv(const dtp_ukr_args_t *u) {                                       \
        static const dtp_ukr_fn_t ways[] = {ukr_##types##_##mr##x##nv##_1, ukr_##types##_##mr##x##nv##_3,  \
                                            ukr_##types##_##mr##x##nv##_5, ukr_##types##_##mr##x##nv##_7}; \
        if (u->bstep != DTP_UKR_PANEL_BYTES) ways[2 * !!u->copy + (u->mask != 0xffff)](u);                 \
        else if (u->k == 1) ukr_##types##_##mr##x##nv##_8(u);                                              \
        else ukr_##types##_##mr##x##nv##_0(u);                                                             \
    }
DTP_UKR_TILES_AVX2(DEFINE)

/* A column panel and half of the next. */
#define HALF(mr)                                                                                          \
    static NOINLINE void ukr_half_panel_##mr##_0(const dtp_ukr_args_t *u) { f32_body(mr, 3, PACKED, u); } \
    static NOINLINE void ukr_half_panel_##mr##_8(const dtp_ukr_args_t *u) { f32_body(mr, 3, EACH, u); }   \
    static void ukr_half_panel_##mr(const dtp_ukr_args_t *u) {                                            \
        (u->k == 1 ? ukr_half_panel_##mr##_8 : ukr_half_panel_##mr##_0)(u);                               \
    }
HALF(1)
HALF(2)
HALF(3)
HALF(4)

/* ---- Packing ----------------------------------------------------------------------------------------- */

/* dst[8 columns][8 rows] = transposed src[8 rows][8 columns]. */
INLINE void transpose8(const char *src, int64_t lds, char *dst, int64_t ldd) {
    __m256 r[8];
    UNROLL for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps((const float *)(src + i * lds));
    v_transpose(r);
    UNROLL for (int i = 0; i < 8; i++) _mm256_storeu_ps((float *)(dst + i * ldd), r[i]);
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
        transpose_any(src, ldb, rows, k, dst, DTP_UKR_PANEL_BYTES);
        for (int64_t i = 0; i < k && rows < 16; i++)
            for (int64_t l = rows; l < 16; l++) *(float *)(dst + 64 * i + 4 * l) = 0;
    }
}

static void transpose(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd) {
    transpose_any(src, lds, k, m, dst, ldd);
}

static void pack(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    enum { PANELS = 4 }; /* whole rows of 256 bytes are read */
    for (int64_t j = 0; j < n;
         j += PANELS * DTP_UKR_PANEL, src += PANELS * DTP_UKR_PANEL_BYTES, dst += PANELS * bs) {
        const int nv =
            n - j >= PANELS * DTP_UKR_PANEL ? PANELS : (int)((n - j + DTP_UKR_PANEL - 1) / DTP_UKR_PANEL);
        const int64_t left = n - j - DTP_UKR_PANEL * (nv - 1);
        const int lanes = left < DTP_UKR_PANEL ? (int)left : DTP_UKR_PANEL;
        const char *from = src;
        char *to = dst;
        for (int64_t i = 0; i < k; i++, from += ldb, to += DTP_UKR_PANEL_BYTES) {
            for (int v = 0; v < nv - 1; v++)
                copy_lanes((float *)(to + v * bs), (const float *)from + DTP_UKR_PANEL * v, DTP_UKR_PANEL);
            float *last = (float *)(to + (nv - 1) * bs);
            if (lanes < DTP_UKR_PANEL) {
                _mm256_storeu_ps(last, _mm256_setzero_ps());
                _mm256_storeu_ps(last + 8, _mm256_setzero_ps());
            }
            copy_lanes(last, (const float *)from + DTP_UKR_PANEL * (nv - 1), lanes);
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
const dtp_ukr_set_t dtp_ukr__avx2 = {
    .flops_per_ns = 130,
    .max_nv = 4,
    .max_mr = {0, 6, 3, 0, 1},
    .pf_shift = 2,
    .tile = {DTP_UKR_TILES_AVX2(ENTRY)},
    .half_panel_mr = 4,
    .half_panel = {NULL, ukr_half_panel_1, ukr_half_panel_2, ukr_half_panel_3, ukr_half_panel_4},
    .elems = 1,
    .k_lanes = &dtp_ukr_k_lanes__avx2,
    .pack = pack,
    .pack_trans = pack_trans,
    .transpose = transpose,
    .gemv = gemv,
    .dot = dot};
