/* Micro-kernels: blocks of mr rows times nv column panels of 16 columns, batch-reduced over taps.
 *
 * A is read in place (rows dense along k); B is either packed in column panels [N/16][K][16] (layout BA16a16b) or
 * plain row-major. The kernels read and write only what the arguments describe, allocate nothing and call
 * nothing. Read next: ukr_f32_avx512.c for a body, gemm.h for the driver that fills the arguments.
 *
 * Four bytes along k are one element. Whatever the types, a k-step takes four bytes of each row of A and of each
 * column of B: an f32, two bf16 or f16, four u8 or s8 that lie side by side along k; and each sum in C has four
 * bytes, f32 or s32. So the driver, strides, column panels and prefetch know no type: K is counted in k-steps, a line
 * of 64 bytes is a k-step of a column panel, and only the body of a kernel knows what four bytes are. Packed weights
 * are an ordinary blocked layout whose innermost block runs along k: BA16a16b of f32, BA8a16b2a of bf16, BA4a16b4a of
 * s8. ukr_sets.inc lists the sets by type. What is not so (rows of A that are no whole k-steps or not dense, plain B) is
 * packed at each execution by functions of the set. */
#ifndef DTP_CPU_UKR_H
#define DTP_CPU_UKR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTP_UKR_PANEL 16       /* columns of a column panel */
#define DTP_UKR_STEP_BYTES 4   /* bytes of one k-step of a row of A or a column of B; of a sum */
#define DTP_UKR_PANEL_BYTES 64 /* bytes of one k-step of a column panel */
#define DTP_UKR_MAX_MR 8
#define DTP_UKR_DOT_ROWS 4
#define DTP_UKR_TALL_ROWS 16
#define DTP_UKR_TALL_PANELS 2
#define DTP_UKR_HALF_PANEL_ROWS 4
#define DTP_UKR_MAX_NV 4

enum {
    DTP_UKR_ACC = 1,        /* the sum, which begins at zero, is added to the one that C holds */
    DTP_UKR_RELU_FIRST = 2, /* relu before the addend */
    DTP_UKR_FLOOR = 4,      /* max(floor, x) last: relu where floor is 0; */
    DTP_UKR_CAP = 8,        /* then min(cap, x), only beside FLOOR. NaN stays NaN in all of them */
    /* Kernels of bf16 only: these are bf16; all of C, so that the sums are made in one pass, without ACC. */
    DTP_UKR_C_BF16 = 16,
    DTP_UKR_ADD_BF16 = 32,
    DTP_UKR_BIAS_BF16 = 64,
    DTP_UKR_HALF = 128, /* A's last k-step of each tap is its first element alone */
    /* Lines of C, which are whole and aligned, may be stored past the caches; not with ACC. The stores are done when the
     * kernel returns. */
    DTP_UKR_STREAM = 256,
    DTP_UKR_TYPES = DTP_UKR_C_BF16 | DTP_UKR_ADD_BF16 | DTP_UKR_BIAS_BF16
};

/* One member of the batch that is reduced: byte deltas to A and B. */
typedef struct {
    int64_t a, b;
} dtp_ukr_tap_t;

/* C[r][:] = min(cap, max(floor, relu_first((C +) sum over taps A[r] * B + bias) + add_scale * add[r])), all strides in
 * bytes. */
typedef struct {
    const char *a, *b;
    char *c;
    const int64_t *row_a, *row_c; /* byte offset of each row (nblk * mr entries); NULL: lda, ldc */
    int64_t lda, ldc;
    const dtp_ukr_tap_t *taps; /* NULL: the single tap {0, 0} */
    int64_t ntap, k;           /* k-steps per tap; 0 is allowed */
    int64_t bs,
        bstep; /* from one column panel to the next; from one k-step to the next: 64 = packed, else plain */
    int64_t nblk; /* blocks of mr rows */
    /* Prefetch of packed B, see DTP_UKR_PF_*. */
    const char *pf;
    int64_t pf_first, pf_count; /* these blocks prefetch; block pf_first + i from dtp_ukr_pf_from(i) */
    int64_t pf_dist;            /* stream mode: bytes ahead within a column panel */
    bool pf_rows; /* the other blocks fetch the rows of A that follow theirs: lda is 4 * k, row_a NULL */
    int pf_mode;
    int pf_shift;   /* line mode: 1 << pf_shift blocks, at most 4, share the fetch of a column panel */
    uint32_t flags; /* DTP_UKR_* */
    uint32_t mask;  /* columns of the last column panel, one bit each */
    char *copy;     /* plain B: the k-steps that are read are also stored here in column panels; NULL = not */
    int64_t copy_bs;
    float add_scale;
    float floor, cap;
    const void *bias;       /* 16 * nv columns or NULL */
    const char *add;        /* matrix of C's shape or NULL */
    const int64_t *row_add; /* as row_a; NULL: ldadd */
    int64_t ldadd;          /* from row to row */
} dtp_ukr_args_t;

enum {
    DTP_UKR_PF_LINE = 1,  /* one line every 1 << pf_shift k-steps */
    DTP_UKR_PF_PAIR = 2,  /* two lines per k-step: column panels i and i + 1 */
    DTP_UKR_PF_STREAM = 3 /* every line of the k-step that is pf_dist bytes ahead, then of the strip at pf */
};

/* Whether the columns of this mask lie in the first half of a column panel. */
static inline bool dtp_ukr_is_half_panel(uint32_t mask) { return mask < 1u << DTP_UKR_PANEL / 2; }

/* Bytes of an element of C, of the addend, of the bias. */
static inline int64_t dtp_ukr_c_bytes(uint32_t flags) { return flags & DTP_UKR_C_BF16 ? 2 : 4; }
static inline int64_t dtp_ukr_add_bytes(uint32_t flags) { return flags & DTP_UKR_ADD_BF16 ? 2 : 4; }
static inline int64_t dtp_ukr_bias_bytes(uint32_t flags) { return flags & DTP_UKR_BIAS_BF16 ? 2 : 4; }

/* Where the i-th of the blocks that prefetch starts: a column panel of the next strip, or its share of one. A block
 * asks for a line in 1 << pf_shift of the k-steps of all its taps. */
static inline const char *dtp_ukr_pf_from(const dtp_ukr_args_t *u, int64_t i) {
    const int64_t lines = (u->ntap * (u->k & -4)) >> u->pf_shift;
    return u->pf + (i >> u->pf_shift) * u->bs + (i & ((1 << u->pf_shift) - 1)) * lines * DTP_UKR_PANEL_BYTES;
}

typedef void (*dtp_ukr_fn_t)(const dtp_ukr_args_t *u);

/* f32 kernels for few columns, whose lanes run along k. A column panel has one column: B is rows of n whose runs of k are dense
 * (Ohwi), bs bytes from column to column; tile[columns] takes nblk rows, all with row_a and taps, and row_c or ldc, row_add
 * or no addend. No prefetch, copy or mask. The order of a sum depends on taps and k alone. */
#define DTP_UKR_K_LANES_COLUMNS 8
typedef struct {
    int lanes, columns; /* that a vector has; that a strip may have */
    dtp_ukr_fn_t tile[DTP_UKR_K_LANES_COLUMNS + 1];
} dtp_ukr_k_lanes_t;
extern const dtp_ukr_k_lanes_t dtp_ukr_k_lanes__avx512, dtp_ukr_k_lanes__avx2;

/* Kernels of one instruction set and pair of types. */
typedef struct {
    double
        flops_per_ns; /* of one core of the slowest processors that have the set: a loop that is taken for too short
                            finds its helpers asleep */
    int max_nv;       /* widest strip, in column panels */
    int max_mr[DTP_UKR_MAX_NV + 1]; /* by nv */
    int wide_rows; /* products of up to so many rows read weights that fit the L2 best as one stream of wide column panels */
    int pf_shift; /* the fetch of a column panel of the next strip is spread over up to 1 << pf_shift row blocks */
    dtp_ukr_fn_t tile[DTP_UKR_MAX_NV + 1][DTP_UKR_MAX_MR + 1]; /* [nv][mr] */
    /* [nv][mr]: one block of more than DTP_UKR_MAX_MR rows and one or two column panels of packed B: no tables or taps.
     * One panel, without ACC and prefetch, is for tiny products, where a second block costs too much. Two are for
     * few rows, which then read B once: two blocks of few rows wait for the second-level cache. The lines pf_dist bytes ahead
     * are fetched, then those of the strip at pf. NULL: none. */
    dtp_ukr_fn_t tall[DTP_UKR_TALL_PANELS + 1][DTP_UKR_TALL_ROWS + 1];
    /* Two column panels of packed B, of the last one only columns of the first half: as tile[2], with half_panel_mr rows. */
    int half_panel_mr; /* 0: none */
    dtp_ukr_fn_t half_panel[DTP_UKR_HALF_PANEL_ROWS + 1];
    int elems;                        /* of a k-step */
    bool is_bf16;                     /* takes DTP_UKR_*_BF16 */
    const dtp_ukr_k_lanes_t *k_lanes; /* NULL: none */
    /* Without the functions that follow rows of A must be dense and whole k-steps, and B packed. k is in elements; what
     * the last k-step lacks becomes zero.
     * dst[n / 16][k-steps][16] = src, n and k unbounded, tails of the last column panel zero, column panels bs bytes
     * apart: rows of k (stride ldb bytes), n dense | rows of n (stride ldb bytes), k dense. */
    void (*pack)(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs);
    void (*pack_trans)(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs);
    /* dst[m][k] (row stride ldd bytes) from src with m dense and k strided by lds bytes. */
    void (*transpose)(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd);
    /* The functions that follow are of f32 only.
     * y[j] = sum over k of x[k] * B[k][j], rows of B ldb bytes apart, in order of k: for single rows of A.
     * more: the sum goes on from the y that is there. */
    void (*gemv)(const float *x, const char *b, int64_t ldb, int64_t k, int64_t n, float *y, int more);
    /* C[i][j] = sum over k of A[i][k] * B[j][k], mr <= DTP_UKR_DOT_ROWS rows of A, k dense in both; order by
     * lanes. */
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
