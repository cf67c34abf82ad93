/* Micro-kernels: blocks of mr rows times nv column panels of 16 columns, summed over a batch of
 * taps.
 *
 * A is read directly (rows dense along k). B is either packed in column panels [N/16][K][16]
 * (layout BA16a16b) or plain row-major. The kernels read and write only what the arguments
 * describe, allocate nothing and call nothing. Read next: ukr_f32_avx512.c for a body, gemm.h for
 * the driver that fills in the arguments.
 *
 * Four bytes along k are one element. For all types, a k-step takes four bytes of each row of A and
 * of each column of B: an f32, two bf16 or f16, four u8 or s8 that are adjacent along k; and each
 * sum in C has four bytes, f32 or s32. So the driver, strides, column panels and prefetch do not
 * depend on the type: K is counted in k-steps, a line of 64 bytes is a k-step of a column panel,
 * and only the body of a kernel knows the meaning of the four bytes. Packed weights are an ordinary
 * blocked layout whose innermost block runs along k: BA16a16b of f32, BA8a16b2a of bf16, BA4a16b4a
 * of s8. ukr_sets.inc lists the sets by type. Operands of another form (rows of A that are not
 * whole k-steps or not dense, plain B) are packed at each execution by functions of the set. */
#ifndef DTP_CPU_UKR_H
#define DTP_CPU_UKR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTP_UKR_PANEL 16       /* columns of a column panel */
#define DTP_UKR_STEP_BYTES 4   /* bytes of a k-step of a row of A or a column of B, and of a sum */
#define DTP_UKR_PANEL_BYTES 64 /* bytes of one k-step of a column panel */
#define DTP_UKR_MAX_MR 8
#define DTP_UKR_DOT_ROWS 4
#define DTP_UKR_TALL_ROWS 16
#define DTP_UKR_TALL_PANELS 2
#define DTP_UKR_EVEN 4
#define DTP_UKR_HALF_PANEL_ROWS 4
#define DTP_UKR_MAX_NV 4

enum {
    /* The sum, which begins at zero, is added to the sum in C. */
    DTP_UKR_ACC = 1,
    /* relu before the addend. */
    DTP_UKR_RELU_FIRST = 2,
    /* max(floor, x) as the last step: relu if floor is 0. */
    DTP_UKR_FLOOR = 4,
    /* Then min(cap, x); only together with FLOOR. NaN stays NaN in all of them. */
    DTP_UKR_CAP = 8,
    /* For kernels of bf16 only: C, the addend, the bias are bf16. With C_BF16 the sums are made in
     * one pass, without ACC. */
    DTP_UKR_C_BF16 = 16,
    DTP_UKR_ADD_BF16 = 32,
    DTP_UKR_BIAS_BF16 = 64,
    /* The last k-step of A in each tap has its first element only. */
    DTP_UKR_HALF = 128,
    /* The lines of C are whole and aligned, and may be stored past the caches; not with ACC. The
     * stores are complete when the kernel returns. */
    DTP_UKR_STREAM = 256,
    DTP_UKR_TYPES = DTP_UKR_C_BF16 | DTP_UKR_ADD_BF16 | DTP_UKR_BIAS_BF16
};

/* One member of the batch that is summed: byte offsets to A and B. */
typedef struct {
    int64_t a, b;
} dtp_ukr_tap_t;

/* C[r][:] = min(cap, max(floor, relu_first((C +) sum over taps A[r] * B + bias) + add_scale *
 * add[r])), all strides in bytes. */
typedef struct {
    const char *a, *b;
    char *c;
    /* Byte offset of each row (nblk * mr entries); NULL: lda, ldc. */
    const int64_t *row_a, *row_c;
    int64_t lda, ldc;
    /* NULL: the single tap {0, 0}. */
    const dtp_ukr_tap_t *taps;
    /* k: k-steps of a tap; 0 is allowed. */
    int64_t ntap, k;
    /* Of B: from one column panel to the next, and from one k-step to the next (64: packed, else
     * plain). */
    int64_t bs, bstep;
    /* Number of blocks of mr rows. */
    int64_t nblk;
    /* For `across` only: strips of nv column panels, side by side. */
    int64_t strips;
    /* Prefetch of packed B, see DTP_UKR_PF_*. */
    const char *pf;
    /* These blocks prefetch; block pf_first + i prefetches from dtp_ukr_pf_from(i). */
    int64_t pf_first, pf_count;
    /* Stream mode: distance in bytes within a column panel. */
    int64_t pf_dist;
    /* The other blocks fetch the rows of A that follow theirs: lda is 4 * k, row_a NULL. */
    bool pf_rows;
    int pf_mode;
    /* Line mode: 1 << pf_shift blocks, at most 4, share the fetch of a column panel. */
    int pf_shift;
    /* DTP_UKR_*. */
    uint32_t flags;
    /* Columns of the last column panel, one bit each. */
    uint32_t mask;
    /* Plain B: the k-steps that are read are also stored here in column panels; NULL: they are not.
     */
    char *copy;
    int64_t copy_bs;
    float add_scale;
    float floor, cap;
    /* 16 * nv columns, or NULL. */
    const void *bias;
    /* A matrix of C's shape, or NULL. */
    const char *add;
    /* As row_a; NULL: ldadd, from row to row. */
    const int64_t *row_add;
    int64_t ldadd;
} dtp_ukr_args_t;

enum {
    DTP_UKR_PF_LINE = 1, /* one line every 1 << pf_shift k-steps */
    DTP_UKR_PF_PAIR = 2, /* two lines per k-step: column panels i and i + 1 */
    /* Every line of the k-step that is pf_dist bytes ahead, then of the strip at pf. */
    DTP_UKR_PF_STREAM = 3
};

/* Whether the columns of this mask are all in the first half of a column panel. */
static inline bool dtp_ukr_is_half_panel(uint32_t mask) { return mask < 1u << DTP_UKR_PANEL / 2; }

/* Bytes of an element of C, of the addend, of the bias. */
static inline int64_t dtp_ukr_c_bytes(uint32_t flags) { return flags & DTP_UKR_C_BF16 ? 2 : 4; }
static inline int64_t dtp_ukr_add_bytes(uint32_t flags) { return flags & DTP_UKR_ADD_BF16 ? 2 : 4; }
static inline int64_t dtp_ukr_bias_bytes(uint32_t flags) { return flags & DTP_UKR_BIAS_BF16 ? 2 : 4; }

/* First address for the i-th block that prefetches: a column panel of the next strip, or the
 * block's share of one. A block requests one line every 1 << pf_shift k-steps of all its taps. */
static inline const char *dtp_ukr_pf_from(const dtp_ukr_args_t *u, int64_t i) {
    const int64_t lines = (u->ntap * (u->k & -4)) >> u->pf_shift;
    return u->pf + (i >> u->pf_shift) * u->bs + (i & ((1 << u->pf_shift) - 1)) * lines * DTP_UKR_PANEL_BYTES;
}

typedef void (*dtp_ukr_fn_t)(const dtp_ukr_args_t *u);

/* f32 kernels for a small number of columns, with lanes along k. A column panel has one column: B
 * is rows of n whose runs of k are dense (Ohwi), bs bytes from column to column. tile[columns]
 * takes nblk rows, all with row_a and taps, and row_c or ldc, row_add or no addend. No prefetch,
 * copy or mask. The order of a sum depends on taps and k alone. */
#define DTP_UKR_K_LANES_COLUMNS 8
typedef struct {
    /* Lanes of a vector; limit of the columns of a strip. */
    int lanes, columns;
    dtp_ukr_fn_t tile[DTP_UKR_K_LANES_COLUMNS + 1];
} dtp_ukr_k_lanes_t;
extern const dtp_ukr_k_lanes_t dtp_ukr_k_lanes__avx512, dtp_ukr_k_lanes__avx2;

/* Kernels of one instruction set and pair of types. */
typedef struct {
    /* Of one core of the slowest processors that have the set: if a loop is estimated as too short,
     * its helpers are asleep. */
    double flops_per_ns;
    /* Widest strip, in column panels. */
    int max_nv;
    /* By nv. */
    int max_mr[DTP_UKR_MAX_NV + 1];
    /* Products of at most so many rows read weights that fit the second-level cache fastest as one
     * stream of wide column panels. */
    int wide_rows;
    /* The fetch of a column panel of the next strip is spread over up to 1 << pf_shift row blocks.
     */
    int pf_shift;
    /* By [nv][mr]. */
    dtp_ukr_fn_t tile[DTP_UKR_MAX_NV + 1][DTP_UKR_MAX_MR + 1];
    /* By [nv][mr]: blocks of more than DTP_UKR_MAX_MR rows and one or two column panels of packed
     * B, without tables of rows. One block of one panel is for tiny products, for which a second
     * block costs too much; one block of two panels is for products of a small number of rows,
     * which then read B once: two blocks would wait for the second-level cache. Kernels of two
     * panels fetch the lines pf_dist bytes ahead, then those of the strip at pf. NULL: none. */
    dtp_ukr_fn_t tall[DTP_UKR_TALL_PANELS + 1][DTP_UKR_TALL_ROWS + 1];
    /* By nv: rows of a tall block of products that have many rows; 0: these use tile. */
    int many_tall[DTP_UKR_TALL_PANELS + 1];
    /* The tall block of many_tall[1] rows where they are so many bytes apart; fn NULL: none. */
    struct {
        int64_t lda;
        dtp_ukr_fn_t fn;
    } even[DTP_UKR_EVEN];
    /* By nv: blocks of max_mr[nv] rows, each over all strips before the next block, so that lines of
     * C are written in the order of memory: for short sums whose B stays in the first-level cache.
     * Packed B of whole column panels; no taps, tables of rows, addend, prefetch, ACC, RELU_FIRST or
     * STREAM. NULL: none. */
    dtp_ukr_fn_t across[DTP_UKR_MAX_NV + 1];
    /* Two column panels of packed B, the last one with columns in its first half only: as tile[2],
     * with half_panel_mr rows; 0: none. */
    int half_panel_mr;
    dtp_ukr_fn_t half_panel[DTP_UKR_HALF_PANEL_ROWS + 1];
    /* Number of elements of a k-step. */
    int elems;
    /* It takes DTP_UKR_*_BF16. */
    bool is_bf16;
    /* NULL: none. */
    const dtp_ukr_k_lanes_t *k_lanes;
    /* A set without the following functions needs dense rows of A of whole k-steps, and packed B. k
     * is in elements; missing elements of the last k-step become zero. dst[n / 16][k-steps][16] =
     * src, n and k unbounded, tails of the last column panel zero, column panels bs bytes apart.
     * pack: rows of k (stride ldb bytes), n dense; pack_trans: rows of n (stride ldb bytes), k
     * dense. */
    void (*pack)(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs);
    void (*pack_trans)(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs);
    /* dst[m][k] (row stride ldd bytes) from src with m dense and k strided by lds bytes. */
    void (*transpose)(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd);
    /* The following functions are for f32 only. y[j] = sum over k of x[k] * B[k][j], rows of B ldb
     * bytes apart, in order of k: for single rows of A. more: the sum continues from the old y. */
    void (*gemv)(const float *x, const char *b, int64_t ldb, int64_t k, int64_t n, float *y, int more);
    /* C[i][j] = sum over k of A[i][k] * B[j][k], mr <= DTP_UKR_DOT_ROWS rows of A, k dense in both;
     * order by lanes. */
    void (*dot)(const char *a, int64_t lda, int mr, const char *b, int64_t ldb, int64_t n, int64_t k, char *c,
                int64_t ldc);
} dtp_ukr_set_t;

#define DTP_UKR_SET(a, b, sum, set, isa) extern const dtp_ukr_set_t set;
#include "cpu/ukr/ukr_sets.inc"

/* Tiles that exist: X(types, mr, nv, isa). */
#define DTP_UKR_ROWS6(X, nv, isa) \
    X(f32, 1, nv, isa)            \
    X(f32, 2, nv, isa) X(f32, 3, nv, isa) X(f32, 4, nv, isa) X(f32, 5, nv, isa) X(f32, 6, nv, isa)
#define DTP_UKR_ROWS8(X, nv, isa) DTP_UKR_ROWS6(X, nv, isa) X(f32, 7, nv, isa) X(f32, 8, nv, isa)
#define DTP_UKR_TILES_AVX512(X) \
    DTP_UKR_ROWS8(X, 1, avx512) \
    DTP_UKR_ROWS8(X, 2, avx512) DTP_UKR_ROWS8(X, 3, avx512) DTP_UKR_ROWS6(X, 4, avx512)
#define DTP_UKR_TILES_AVX2(X) \
    DTP_UKR_ROWS6(X, 1, avx2) X(f32, 1, 2, avx2) X(f32, 2, 2, avx2) X(f32, 3, 2, avx2) X(f32, 1, 4, avx2)
#define DTP_UKR_TILES_REF(X) X(f32, 1, 1, ref) X(f32, 2, 1, ref) X(f32, 3, 1, ref) X(f32, 4, 1, ref)

#endif
