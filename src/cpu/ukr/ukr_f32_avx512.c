/* f32 micro-kernels for AVX-512: one body, instantiated for every tile of DTP_UKR_TILES_AVX512.
 *
 * Accumulators live in an array with a literal bound, or the compiler keeps them in memory. MR row pointers
 * stay in general registers for the whole tile; each k-step loads NV lines of B and broadcasts MR values of
 * A. */
#include <stdbool.h>

#include "cpu/simd/vec_avx512.h"
#include "cpu/ukr/ukr.h"
#include "cpu/ukr/ukr_body.h"

#define MAX_ACC 24
/* More does not help; the stream loop has no general registers left for a second step. */
#define K_UNROLL(pfn) ((pfn) <= 2 ? 2 : 1)

/* c += a * b in place. An intrinsic leaves the compiler the choice among three forms of the instruction; with
 * 24 accumulators and an unrolled loop it then copies and spills some of them. */
INLINE void fmadd(__m512 *c, __m512 a, __m512 b) {
#ifdef __clang__
    *c = _mm512_fmadd_ps(a, b, *c); /* clang gets it right, and spills what an asm statement touches */
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*c) : "v"(a), "v"(b));
#endif
}

/* The compiler would copy one zero to all sums, and so many copies of a register take the place of products. */
INLINE void zero(__m512 *c) {
#ifdef __clang__
    *c = _mm512_setzero_ps();
#else
    __asm__("vpxord %0, %0, %0" : "=v"(*c));
#endif
}

/* c += broadcast of *a * b, the load in the instruction: broadcasts to registers come one a cycle, as many as products
 * (Zen 4: 85 GFLOP/s with one column panel, 118 this way). */
INLINE void fmadd_at(__m512 *c, const char *a, __m512 b) {
#ifdef __clang__
    *c = _mm512_fmadd_ps(_mm512_set1_ps(*(const float *)a), b, *c);
#else
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(*c) : "v"(b), "m"(*(const float *)a));
#endif
}

/* One value of A times the NV lines of a k-step. */
INLINE void k_row(const int NV, __m512 *c, const char *a, const __m512 *bv) {
    if (NV == 1) {
        fmadd_at(c, a, bv[0]);
        return;
    }
    const __m512 av = _mm512_set1_ps(*(const float *)a);
    UNROLL for (int j = 0; j < NV; j++) fmadd(&c[j], av, bv[j]);
}

/* The k loop of one tap. Each k-step fetches the PFN lines at pf, pf + bs, ..., and moves pf by pf_step bytes: one that
 * is less than a line asks for the same line again, which costs nothing. */
INLINE void k_packed(const int MR, const int NV, const int PFN, __m512 *c, const char *const *a,
                     const char *b, int64_t bs, int64_t k, int64_t ke, const char *pf, int64_t pf_step) {
    const int unroll = K_UNROLL(PFN);
    __m512 bv[DTP_UKR_MAX_NV];
    for (; k + 4 * unroll <= ke; k += 4 * unroll) {
        UNROLL for (int s = 0; s < unroll; s++) {
            UNROLL for (int j = 0; j < NV; j++) bv[j] =
                _mm512_loadu_ps((const float *)(b + s * DTP_UKR_PANEL_BYTES + j * bs));
            UNROLL for (int q = 0; q < PFN; q++) fetch_l2(pf + s * pf_step + q * bs);
            UNROLL for (int i = 0; i < MR; i++) k_row(NV, c + i * NV, a[i] + k + 4 * s, bv);
        }
        b += unroll * DTP_UKR_PANEL_BYTES;
        pf += unroll * pf_step;
    }
    for (; k < ke; k += 4) {
        UNROLL for (int j = 0; j < NV; j++) bv[j] = _mm512_loadu_ps((const float *)(b + j * bs));
        UNROLL for (int i = 0; i < MR; i++) k_row(NV, c + i * NV, a[i] + k, bv);
        b += DTP_UKR_PANEL_BYTES;
    }
}

/* A tap of one k-step: with k_packed the compiler keeps pointers in vector registers. */
INLINE void k_one(const int MR, const int NV, __m512 *c, const char *const *a, const char *b, int64_t bs,
                  int64_t k) {
    __m512 bv[DTP_UKR_MAX_NV];
    UNROLL for (int j = 0; j < NV; j++) bv[j] = _mm512_loadu_ps((const float *)(b + j * bs));
    UNROLL for (int i = 0; i < MR; i++) k_row(NV, c + i * NV, a[i] + k, bv);
}

/* Few rows are as fast as their streams come, which the processor fetches itself, but not past the end of a page:
 * a line of each column panel once in SPARSE k-steps leads it on, and more of them take its place (Zen 4: 0.85 of
 * the speed). */
enum { SPARSE = 8, SPARSE_ROWS = 4 };
INLINE void k_sparse(const int MR, const int NV, __m512 *c, const char *const *a, const char *b, int64_t bs,
                     int64_t k, int64_t ke, const char *pf) {
    for (; k < ke; k += 4 * SPARSE, b += SPARSE * DTP_UKR_PANEL_BYTES, pf += SPARSE * DTP_UKR_PANEL_BYTES) {
        UNROLL for (int q = 0; q < NV; q++) fetch_l2(pf + q * bs);
        k_packed(MR, NV, 0, c, a, b, bs, k, ke - k < 4 * SPARSE ? ke : k + 4 * SPARSE, pf,
                 DTP_UKR_PANEL_BYTES);
    }
}

/* Line j of row `p`; masked, the last one costs another micro-operation on some processors, so that kernels for whole
 * column panels (FULL) do without. */
#define LOAD(j, p)                                                                       \
    (FULL || (j) < NV - 1 ? _mm512_loadu_ps((const float *)(const void *)(p) + 16 * (j)) \
                          : _mm512_maskz_loadu_ps(mask, (const float *)(const void *)(p) + 16 * (j)))

#define STORE(j, p, x)                                                                  \
    do {                                                                                \
        if (FULL || (j) < NV - 1) _mm512_storeu_ps((float *)(void *)(p) + 16 * (j), x); \
        else _mm512_mask_storeu_ps((float *)(void *)(p) + 16 * (j), mask, x);           \
    } while (0)

/* The same over row-major B: lines of a k-step are adjacent, k-steps are bstep bytes apart. COPY: the lines are
 * stored as column panels, so that the next row blocks find them packed. FETCH: lines pf_dist bytes ahead are fetched. */
enum { COPY = 1, FETCH = 2 };
INLINE void k_plain(const int MR, const int NV, const int FULL, const int WAY, __m512 *c,
                    const char *const *a, const char *b, int64_t k, int64_t ke, const dtp_ukr_args_t *u) {
    const int64_t bstep = u->bstep, pf_dist = u->pf_dist, copy_bs = u->copy_bs;
    const __mmask16 mask = (__mmask16)u->mask;
    char *copy = u->copy;
    __m512 bv[DTP_UKR_MAX_NV];
    for (; k < ke; k += 4) {
        UNROLL for (int j = 0; j < NV; j++) {
            bv[j] = LOAD(j, b);
            if (WAY & COPY) _mm512_storeu_ps((float *)(copy + j * copy_bs), bv[j]);
        }
        UNROLL for (int j = 0; j < NV; j++) if (WAY & FETCH) fetch_plain(MR, b + pf_dist + j * 64);
        UNROLL for (int i = 0; i < MR; i++) k_row(NV, c + i * NV, a[i] + k, bv);
        b += bstep;
        if (WAY & COPY) copy += DTP_UKR_PANEL_BYTES;
    }
}

/* max(floor, x) and min(cap, x), in this order, keep NaN. */
INLINE void bound(const int N, __m512 *c, const dtp_ukr_args_t *u) {
    const __m512 lo = _mm512_set1_ps(u->floor);
    UNROLL for (int i = 0; i < N; i++) c[i] = _mm512_max_ps(lo, c[i]);
    if (u->flags & DTP_UKR_CAP) {
        const __m512 hi = _mm512_set1_ps(u->cap);
        UNROLL for (int i = 0; i < N; i++) c[i] = _mm512_min_ps(hi, c[i]);
    }
}

/* What follows the sums has no branch for each step that may be missing, but adds nothing: where branches meet again the
 * compiler has given the sums other registers, and spilt some of them on the way. */
#define N8 -0.f, -0.f, -0.f, -0.f, -0.f, -0.f, -0.f, -0.f
static const float nothing[DTP_UKR_MAX_NV * DTP_UKR_PANEL] = {N8, N8, N8, N8, N8, N8, N8, N8};
#undef N8

/* max(first, x) before the addend, its scale, min(hi, max(lo, x)) at the end; in this order they keep NaN. */
typedef struct {
    float first, scale, lo, hi;
} ends_t;

/* A block's part of C or of the addend, which it comes to behind its sums: each row is elsewhere, so that the processor
 * does not look ahead, and the sums leave no room for reads that wait for another cache (Zen 4: 4 % of ResNet-50 alone). Short
 * sums end before the lines are there. */
enum { FETCH_STEPS = 64 };
INLINE void fetch_rows(const int MR, const int NV, const char *p, const int64_t *row, int64_t ld) {
    static const int64_t none[DTP_UKR_MAX_MR];
    const int64_t *at = row ? row : none;
    if (row) ld = 0;
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++)
        fetch_l2(p + at[i] + i * ld + j * DTP_UKR_PANEL_BYTES);
}

/* Each way through k is a function of its own, or general registers are short in all of them. */
enum { LINE, AHEAD /* of whole column panels */, PLAIN, EACH /* packed, taps of one k-step */ };

INLINE void f32_body(const int MR, const int NV, const int FULL, const int WAY, const dtp_ukr_args_t *u) {
    static const dtp_ukr_tap_t one_tap = {0, 0};
    const __mmask16 mask = (__mmask16)u->mask;
    const char *base_a = u->a, *add = u->add;
    char *base_c = u->c;
    const int64_t *row_a = u->row_a, *row_c = u->row_c;
    const bool acc = u->flags & DTP_UKR_ACC, first = u->flags & DTP_UKR_RELU_FIRST,
               more = acc || first || add, stream_c = WAY != PLAIN && u->flags & DTP_UKR_STREAM;
    const float *bias = u->bias ? u->bias : nothing;
    ends_t ends = {first ? 0 : -__builtin_inff(), add ? u->add_scale : 0,
                   u->flags & DTP_UKR_FLOOR ? u->floor : -__builtin_inff(),
                   u->flags & DTP_UKR_CAP ? u->cap : __builtin_inff()};
    const bool fetched = FULL && WAY != PLAIN && u->ntap * u->k >= FETCH_STEPS;
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        if (fetched) {
            if (add) fetch_rows(MR, NV, add, u->row_add ? u->row_add + blk * MR : NULL, u->ldadd);
            if (!stream_c) fetch_rows(MR, NV, base_c, row_c, u->ldc);
        }
        __m512 c[MAX_ACC];
        UNROLL for (int i = 0; i < MR * NV; i++) zero(&c[i]);
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
        const char *pf = pf_mode ? dtp_ukr_pf_from(u, pf_at) : u->pf_rows ? base_a : u->b;
        const int64_t pf_step = pf_mode ? DTP_UKR_PANEL_BYTES >> u->pf_shift : DTP_UKR_PANEL_BYTES;
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const char *b = u->b + t->b;
            const int64_t k = t->a;
            if (WAY == EACH) {
                k_one(MR, NV, c, a, b, bs, k);
            } else if (WAY == PLAIN) {
                /* The first block has brought B for the others. */
                if (u->copy) k_plain(MR, NV, FULL, COPY | FETCH, c, a, b, k, k + kb, u);
                else if (blk == 0) k_plain(MR, NV, FULL, FETCH, c, a, b, k, k + kb, u);
                else k_plain(MR, NV, FULL, 0, c, a, b, k, k + kb, u);
            } else if (WAY == AHEAD && pf_mode == DTP_UKR_PF_STREAM) {
                const int64_t ahead = u->pf_dist < 16 * kb ? u->pf_dist : 16 * kb;
                int64_t ke = k + kb - ahead / 16, from = k;
                const char *next = b + ahead;
                for (int part = 0; part < 2; part++) {
                    if (MR <= SPARSE_ROWS) k_sparse(MR, NV, c, a, b, bs, from, ke, next);
                    else k_packed(MR, NV, NV, c, a, b, bs, from, ke, next, DTP_UKR_PANEL_BYTES);
                    b += 16 * (ke - from);
                    from = ke;
                    ke = k + kb;
                    next = pf;
                }
            } else if (WAY == AHEAD && NV >= 2 && MR >= 4 && pf_mode == DTP_UKR_PF_PAIR) {
                k_packed(MR, NV, 2, c, a, b, bs, k, k + kb, pf, DTP_UKR_PANEL_BYTES);
                pf += 16 * kb;
            } else {
                k_packed(MR, NV, 1, c, a, b, bs, k, k + kb, pf, pf_step);
                pf += kb / DTP_UKR_STEP_BYTES * pf_step;
            }
        }
        char *cr[DTP_UKR_MAX_MR];
        if (row_c) {
            UNROLL for (int i = 0; i < MR; i++) cr[i] = base_c + row_c[i];
            row_c += MR;
        } else {
            UNROLL for (int i = 0; i < MR; i++) cr[i] = base_c + i * u->ldc;
            base_c += MR * u->ldc;
        }
        __asm__("" : "+m"(ends)); /* or they take registers in the loops */
        const __m512 lo = _mm512_set1_ps(ends.lo), hi = _mm512_set1_ps(ends.hi);
        const int64_t *row_add = u->row_add ? u->row_add + blk * MR : NULL;
        __m512 v[DTP_UKR_MAX_NV];
        /* The usual ends have code of their own: short sums feel each instruction. */
        if (!more && !stream_c) {
            UNROLL for (int j = 0; j < NV; j++) v[j] = LOAD(j, bias);
            if (!FULL || u->flags & DTP_UKR_CAP) {
                UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++)
                    STORE(j, cr[i], _mm512_min_ps(hi, _mm512_max_ps(lo, _mm512_add_ps(c[i * NV + j], v[j]))));
            } else {
                UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++)
                    STORE(j, cr[i], _mm512_max_ps(lo, _mm512_add_ps(c[i * NV + j], v[j])));
            }
            continue;
        }
        const __m512 s = _mm512_set1_ps(ends.scale);
        if (FULL && !acc && !first && !stream_c) {
            UNROLL for (int j = 0; j < NV; j++) v[j] = LOAD(j, bias);
            UNROLL for (int i = 0; i < MR; i++) {
                const char *from = add + (row_add ? row_add[i] : i * u->ldadd);
                UNROLL for (int j = 0; j < NV; j++) {
                    const __m512 x = _mm512_fmadd_ps(s, LOAD(j, from), _mm512_add_ps(c[i * NV + j], v[j]));
                    STORE(j, cr[i], _mm512_min_ps(hi, _mm512_max_ps(lo, x)));
                }
            }
            if (!row_add) add += MR * u->ldadd;
            continue;
        }
        const __m512 least = _mm512_set1_ps(ends.first);
        UNROLL for (int i = 0; i < MR; i++) {
            const char *old = acc ? cr[i] : (const char *)nothing,
                       *from = add ? add + (row_add ? row_add[i] : i * u->ldadd) : (const char *)nothing;
            UNROLL for (int j = 0; j < NV; j++) {
                __m512 x = _mm512_add_ps(_mm512_add_ps(c[i * NV + j], LOAD(j, old)), LOAD(j, bias));
                x = _mm512_fmadd_ps(s, LOAD(j, from), _mm512_max_ps(least, x));
                x = _mm512_min_ps(hi, _mm512_max_ps(lo, x));
                if (stream_c) _mm512_stream_ps((float *)(void *)cr[i] + 16 * j, x);
                else STORE(j, cr[i], x);
            }
        }
        if (add && !row_add) add += MR * u->ldadd;
    }
    if (stream_c) _mm_sfence();
}
#undef LOAD
#undef STORE

#define NAME(types, mr, nv, full, way) ukr_##types##_##mr##x##nv##_##full##_##way
#define WAY(types, mr, nv, full, way)                                              \
    static NOINLINE void NAME(types, mr, nv, full, way)(const dtp_ukr_args_t *u) { \
        types##_body(mr, nv, full, way, u);                                        \
    }
#define DEFINE(types, mr, nv, isa)                                                                       \
    WAY(types, mr, nv, 0, 0)                                                                             \
    WAY(types, mr, nv, 0, 2)                                                                             \
    WAY(types, mr, nv, 0, 3)                                                                             \
    WAY(types, mr, nv, 1, 0)                                                                             \
    WAY(types, mr, nv, 1, 1)                                                                             \
    WAY(types, mr, nv, 1, 2)                                                                             \
    static void ukr_##types##_##mr##x##nv(const dtp_ukr_args_t *u) {                                     \
        const bool full = u->mask == 0xffff;                                                             \
        if (u->bstep != DTP_UKR_PANEL_BYTES)                                                             \
            (full ? NAME(types, mr, nv, 1, 2) : NAME(types, mr, nv, 0, 2))(u);                           \
        else if (u->k == 1) NAME(types, mr, nv, 0, 3)(u);                                                \
        else if (!full) NAME(types, mr, nv, 0, 0)(u);                                                    \
        else (u->pf_mode >= DTP_UKR_PF_PAIR ? NAME(types, mr, nv, 1, 1) : NAME(types, mr, nv, 1, 0))(u); \
    }
DTP_UKR_TILES_AVX512(DEFINE)

/* ---- Short sums -------------------------------------------------------------------------------------- */

/* Short sums feel each instruction of the loop: more k-steps a turn, and nothing is fetched. */
INLINE void k_short_step(const int MR, const int NV, __m512 *c, const char *const *a, const char *b,
                         int64_t bs, int64_t k) {
    __m512 bv[DTP_UKR_MAX_NV];
    UNROLL for (int j = 0; j < NV; j++) bv[j] = _mm512_loadu_ps((const float *)(b + j * bs));
    UNROLL for (int i = 0; i < MR; i++) k_row(NV, c + i * NV, a[i] + k, bv);
}
INLINE void k_short(const int MR, const int NV, __m512 *c, const char *const *a, const char *b, int64_t bs,
                    int64_t ke) {
    enum { TURN = 4 };
    int64_t k = 0;
    for (; k + 4 * TURN <= ke; k += 4 * TURN, b += TURN * DTP_UKR_PANEL_BYTES)
        UNROLL for (int s = 0; s < TURN; s++)
            k_short_step(MR, NV, c, a, b + s * DTP_UKR_PANEL_BYTES, bs, k + 4 * s);
    for (; k < ke; k += 4, b += DTP_UKR_PANEL_BYTES) k_short_step(MR, NV, c, a, b, bs, k);
}

/* All strips of a row block, then the next block: lines of C come in the order of memory, in which
 * the processor fetches those that the second-level cache lacks. */
INLINE void across_body(const int MR, const int NV, const dtp_ukr_args_t *u) {
    ends_t ends = {.lo = u->flags & DTP_UKR_FLOOR ? u->floor : -__builtin_inff(),
                   .hi = u->flags & DTP_UKR_CAP ? u->cap : __builtin_inff()};
    const int64_t bs = u->bs, lda = u->lda, ldc = u->ldc, kb = DTP_UKR_STEP_BYTES * u->k;
    const char *rows = u->a;
    char *to = u->c;
    for (int64_t blk = 0; blk < u->nblk; blk++, rows += MR * lda, to += MR * ldc) {
        const char *b = u->b;
        const float *bias = u->bias ? u->bias : nothing;
        char *line = to;
        for (int64_t strip = 0; strip < u->strips; strip++, b += NV * bs, line += NV * DTP_UKR_PANEL_BYTES) {
            __m512 c[MAX_ACC], v[DTP_UKR_MAX_NV];
            const char *a[DTP_UKR_MAX_MR];
            UNROLL for (int i = 0; i < MR * NV; i++) zero(&c[i]);
            UNROLL for (int i = 0; i < MR; i++) a[i] = rows + i * lda;
            k_short(MR, NV, c, a, b, bs, kb);
            __asm__("" : "+m"(ends)); /* or they take registers in the loop */
            const __m512 lo = _mm512_set1_ps(ends.lo), hi = _mm512_set1_ps(ends.hi);
            UNROLL for (int j = 0; j < NV; j++) v[j] = _mm512_loadu_ps(bias + j * DTP_UKR_PANEL);
            if (u->bias) bias += NV * DTP_UKR_PANEL;
            if (u->flags & DTP_UKR_CAP) {
                UNROLL for (int i = 0; i < MR * NV; i++) c[i] =
                    _mm512_min_ps(hi, _mm512_max_ps(lo, _mm512_add_ps(c[i], v[i % NV])));
            } else {
                UNROLL for (int i = 0; i < MR * NV; i++) c[i] =
                    _mm512_max_ps(lo, _mm512_add_ps(c[i], v[i % NV]));
            }
            UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++)
                _mm512_storeu_ps((float *)(void *)(line + i * ldc) + j * DTP_UKR_PANEL, c[i * NV + j]);
        }
    }
}

#define ACROSS(mr, nv) \
    static NOINLINE void ukr_across_##mr##x##nv(const dtp_ukr_args_t *u) { across_body(mr, nv, u); }
#define ACROSS_TILES(X) X(8, 3) X(6, 4)
ACROSS_TILES(ACROSS)

/* ---- Tall blocks ------------------------------------------------------------------------------------- */

/* k-steps of a tall block. Four rows to a pointer: so many row pointers would not fit the general
 * registers. LDA: the distance of the rows where it is known, and one pointer serves them all. With
 * two column panels, or long rows, the lines at `next` are fetched meanwhile. */
enum { LONG_ROW = DTP_UKR_PANEL_BYTES, BLOCKS_AHEAD = 3 };
INLINE void tall_steps(const int MR, const int NV, const int LDA, __m512 *c, const char **a, int64_t lda,
                       const char *b, int64_t bs, int64_t k, const char *next) {
    const int64_t lda3 = 3 * lda;
    const int pointers = LDA ? 1 : (MR + 3) / 4;
    for (; k > 0; k--, b += DTP_UKR_PANEL_BYTES, next += DTP_UKR_PANEL_BYTES) {
        __m512 bv[DTP_UKR_TALL_PANELS];
        UNROLL for (int j = 0; j < NV; j++) bv[j] = _mm512_loadu_ps((const float *)(b + j * bs));
        UNROLL for (int j = 0; NV > 1 && j < NV; j++) fetch_l2(next + j * bs);
        if (LDA >= LONG_ROW) fetch_l1(next);
        UNROLL for (int i = 0; i < MR; i++) {
            const char *row = a[LDA ? 0 : i / 4];
            k_row(NV, c + i * NV, LDA ? row + i * LDA : i % 4 == 3 ? row + lda3 : row + i % 4 * lda, bv);
        }
        UNROLL for (int g = 0; g < pointers; g++) {
            a[g] += sizeof(float);
            __asm__("" : "+r"(a[g])); /* or the compiler makes a pointer of each row after all */
        }
    }
}

INLINE void tall_body(const int MR, const int NV, const int LDA, const dtp_ukr_args_t *u) {
    static const dtp_ukr_tap_t one_tap = {0, 0};
    const __mmask16 mask = (__mmask16)u->mask;
    const int64_t ahead = NV == 1 || u->taps                        ? 0
                          : u->pf_dist < u->k * DTP_UKR_PANEL_BYTES ? u->pf_dist / DTP_UKR_PANEL_BYTES
                                                                    : u->k;
    const int64_t first = u->k - ahead;
    const char *rows = u->a, *add = u->add;
    char *to = u->c;
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        __m512 c[MAX_ACC];
        UNROLL for (int i = 0; i < MR * NV; i++) zero(&c[i]);
        const dtp_ukr_tap_t *t = u->taps ? u->taps : &one_tap;
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const char *b = u->b + t->b, *a[DTP_UKR_TALL_ROWS / 4];
            UNROLL for (int g = 0; g < (MR + 3) / 4; g++) a[g] = rows + 4 * g * u->lda + t->a;
            tall_steps(MR, NV, LDA, c, a, u->lda, b, u->bs, first,
                       LDA ? rows + BLOCKS_AHEAD * MR * LDA : b + ahead * DTP_UKR_PANEL_BYTES);
            b += first * DTP_UKR_PANEL_BYTES;
            if (NV > 1) tall_steps(MR, NV, LDA, c, a, u->lda, b, u->bs, ahead, u->pf);
        }
        rows += MR * u->lda;
#define LINE_OF(j, p) \
    _mm512_maskz_loadu_ps((j) < NV - 1 ? (__mmask16)-1 : mask, (const float *)(const void *)(p) + 16 * (j))
        if (u->flags & DTP_UKR_ACC) {
            UNROLL for (int i = 0; i < MR; i++) UNROLL for (int j = 0; j < NV; j++) c[i * NV + j] =
                _mm512_add_ps(c[i * NV + j], LINE_OF(j, to + i * u->ldc));
        }
        if (u->bias) {
            __m512 v[DTP_UKR_TALL_PANELS];
            UNROLL for (int j = 0; j < NV; j++) v[j] = LINE_OF(j, u->bias);
            UNROLL for (int i = 0; i < MR * NV; i++) c[i] = _mm512_add_ps(c[i], v[i % NV]);
        }
        /* max(0, x), in this order, keeps NaN. */
        if (u->flags & DTP_UKR_RELU_FIRST) {
            UNROLL for (int i = 0; i < MR * NV; i++) c[i] = _mm512_max_ps(_mm512_setzero_ps(), c[i]);
        }
        if (add) {
            const __m512 s = _mm512_set1_ps(u->add_scale);
            UNROLL for (int i = 0; i < MR; i++, add += u->ldadd) UNROLL for (int j = 0; j < NV; j++)
                c[i * NV + j] = _mm512_fmadd_ps(s, LINE_OF(j, add), c[i * NV + j]);
        }
        if (u->flags & DTP_UKR_FLOOR) bound(MR * NV, c, u);
        UNROLL for (int i = 0; i < MR; i++, to += u->ldc) UNROLL for (int j = 0; j < NV; j++)
            _mm512_mask_storeu_ps((float *)to + 16 * j, j < NV - 1 ? (__mmask16)-1 : mask, c[i * NV + j]);
#undef LINE_OF
    }
}

#define TALL(mr, nv) \
    static NOINLINE void ukr_tall_##mr##x##nv(const dtp_ukr_args_t *u) { tall_body(mr, nv, 0, u); }
/* Products of one column panel read A in the instruction. With two registers in its address it becomes
 * two micro-operations (Intel): a fifth of the time. Rows are pixels of 3 channels, every second of
 * them, or pixels of 16 or 32 channels. */
#define EVEN(lda) \
    static NOINLINE void ukr_even_##lda(const dtp_ukr_args_t *u) { tall_body(DTP_UKR_TALL_ROWS, 1, lda, u); }
#define EVEN_ROWS(X) X(12) X(24) X(64) X(128)
#define TALL_ROWS(X) X(9, 1) X(10, 1) X(11, 1) X(12, 1) X(13, 1) X(14, 1) X(15, 1) X(16, 1)
#define TALL_PAIRS(X) X(9, 2) X(10, 2) X(11, 2) X(12, 2)
TALL_ROWS(TALL)
TALL_PAIRS(TALL)
EVEN_ROWS(EVEN)

/* ---- Packing ----------------------------------------------------------------------------------------- */

/* dst[k][16] = transposed src[16 rows][k..]; rows and columns by count, missing ones zero. */
INLINE void transpose16(const char *src, int64_t lds, int rows, int cols, char *dst, int64_t ldd, int drows) {
    __m512 r[16];
    const __mmask16 load = (__mmask16)((1u << cols) - 1);
    const __mmask16 store = (__mmask16)((1u << drows) - 1);
    UNROLL for (int i = 0; i < 16; i++) r[i] =
        i < rows ? _mm512_maskz_loadu_ps(load, (const float *)(src + i * lds)) : _mm512_setzero_ps();
    v_transpose(r);
    UNROLL for (int i = 0; i < 16; i++) if (i < cols)
        _mm512_mask_storeu_ps((float *)(dst + i * ldd), store, r[i]);
}

static NOINLINE void transpose_full(const char *src, int64_t lds, char *dst, int64_t ldd) {
    transpose16(src, lds, 16, 16, dst, ldd, 16);
}
static NOINLINE void transpose_part(const char *src, int64_t lds, int rows, int cols, char *dst, int64_t ldd,
                                    int drows) {
    transpose16(src, lds, rows, cols, dst, ldd, drows);
}

static void pack_trans(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j += 16, src += 16 * ldb, dst += bs)
        for (int64_t i = 0; i < k; i += 16) {
            const int rows = n - j < 16 ? (int)(n - j) : 16, cols = k - i < 16 ? (int)(k - i) : 16;
            if (rows == 16 && cols == 16) transpose_full(src + 4 * i, ldb, dst + 64 * i, 64);
            else transpose_part(src + 4 * i, ldb, rows, cols, dst + 64 * i, 64, 16);
        }
}

static void transpose(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd) {
    for (int64_t i = 0; i < k; i += 16)
        for (int64_t j = 0; j < m; j += 16) {
            const int rows = k - i < 16 ? (int)(k - i) : 16, cols = m - j < 16 ? (int)(m - j) : 16;
            const char *s = src + i * lds + 4 * j;
            if (rows == 16 && cols == 16) transpose_full(s, lds, dst + j * ldd + 4 * i, ldd);
            else transpose_part(s, lds, rows, cols, dst + j * ldd + 4 * i, ldd, rows);
        }
}

static void pack(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j += 64) {
        /* Four column panels at a time: whole rows of 256 bytes are read. */
        const int nv = n - j >= 64 ? 4 : (int)((n - j + 15) / 16);
        const int left = (int)(n - j - 16 * (nv - 1));
        const __mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1u << left) - 1);
        const char *s = src + 4 * j;
        char *d = dst + j / 16 * bs;
        for (int64_t i = 0; i < k; i++, s += ldb, d += 64) {
            for (int v = 0; v < nv - 1; v++)
                _mm512_storeu_ps((float *)(d + v * bs), _mm512_loadu_ps((const float *)(s + 64 * v)));
            _mm512_storeu_ps((float *)(d + (nv - 1) * bs),
                             _mm512_maskz_loadu_ps(mask, (const float *)(s + 64 * (nv - 1))));
        }
    }
}

#include "cpu/ukr/ukr_f32_vectors_avx512.inc"

#define ACROSS_ENTRY(mr, nv) [nv] = ukr_across_##mr##x##nv,
#define TALL_ENTRY(mr, nv) [nv][mr] = ukr_tall_##mr##x##nv,
#define EVEN_ENTRY(lda) {lda, ukr_even_##lda},
#define ENTRY(types, mr, nv, isa) [nv][mr] = ukr_##types##_##mr##x##nv,
const dtp_ukr_set_t dtp_ukr__avx512 = {.flops_per_ns = 130,
                                       .max_nv = 4,
                                       .max_mr = {0, 8, 8, 8, 6},
                                       .wide_rows = 6,
                                       .pf_shift = 2,
                                       .tile = {DTP_UKR_TILES_AVX512(ENTRY)},
                                       .tall = {TALL_ROWS(TALL_ENTRY) TALL_PAIRS(TALL_ENTRY)},
                                       .many_tall = {0, DTP_UKR_TALL_ROWS, 12},
                                       .even = {EVEN_ROWS(EVEN_ENTRY)},
                                       .across = {ACROSS_TILES(ACROSS_ENTRY)},
                                       .elems = 1,
                                       .k_lanes = &dtp_ukr_k_lanes__avx512,
                                       .pack = pack,
                                       .pack_trans = pack_trans,
                                       .transpose = transpose,
                                       .gemv = gemv,
                                       .dot = dot};
