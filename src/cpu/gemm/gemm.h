/* Matrix product C = A B (+ bias, addend, activation) over the micro-kernels: blocking, packing,
 * prefetch and the split over threads. Serves matmul, inner product and the gemm calls; knows no
 * primitive.
 *
 * An element is the four bytes of a k-step, for all types (ukr.h); strides of operands that are
 * packed here count their own elements. Only functions that change or finish tiles are for f32.
 *
 * Every element of C is a sum of passes over k, added in ascending order from the first one on.
 * Each pass is one chain of sums that begins at zero, and its length depends on K alone. So results
 * do not depend on the number of threads, on the tile that computed them, on the rows of the call
 * or on the caches, and the error of a long K grows with the length of a pass and the number of
 * passes, not with K. (The old C is added to the first pass. If B has dense k, a small number of
 * rows is summed in lanes instead: ukr.h, dot.) Strides are in bytes. */
#ifndef DTP_CPU_GEMM_GEMM_H
#define DTP_CPU_GEMM_GEMM_H

#include <stdbool.h>

#include "common/base/base.h"
#include "cpu/simd/vops.h"
#include "cpu/ukr/ukr.h"
#include "threading/base/parallel.h"

#define DTP_GEMM_MAX_BATCH_DIMS 10
#define DTP_GEMM_WIDE 64
/* Up to so many k-steps take one pass. */
#define DTP_GEMM_K_ONE 1024
/* More k-steps are split evenly into passes of at most so many. */
#define DTP_GEMM_K_PASS 512
/* If a relu comes before the old C is added, one pass takes up to so many. */
#define DTP_GEMM_K_CHAIN 2048
/* Rows of a tile that is finished outside of the kernel. */
#define DTP_GEMM_TILE_ROWS 64
#define DTP_GEMM_TILE_LD (DTP_UKR_MAX_NV * DTP_UKR_PANEL)

typedef enum {
    DTP_GEMM_A_DIRECT, /* k dense: read directly */
    DTP_GEMM_A_TRANS,  /* m dense */
    DTP_GEMM_A_ANY
} dtp_gemm_a_t;
typedef enum {
    DTP_GEMM_B_PACKED, /* column panels [N / 16][padded K][16] */
    /* The same with column panels of DTP_GEMM_WIDE columns: one stream from memory, for a small
     * number of rows. */
    DTP_GEMM_B_WIDE,
    DTP_GEMM_B_PLAIN, /* n dense; read directly or packed in each call, whichever is faster */
    DTP_GEMM_B_TRANS, /* k dense */
    DTP_GEMM_B_ANY
} dtp_gemm_b_t;

/* Operands of one execution. */
typedef struct {
    const char *a, *b;
    char *c;
    const char *bias, *add;
} dtp_gemm_ptrs_t;

/* Stores a tile of f32 sums: rows row0.., columns col0.. of matrix `batch` (linear). */
typedef void (*dtp_gemm_finish_t)(const void *arg, int64_t batch, float *tile, int64_t ld, int64_t row0,
                                  int64_t rows, int64_t col0, int64_t cols);

typedef struct {
    /* The user fills in these members and then calls dtp_gemm_set_shape. */
    /* A set that packs nothing needs a_form A_DIRECT, and b_form B_PACKED or B_WIDE. */
    const dtp_ukr_set_t *ukr;
    /* Number of elements that the last k-step lacks; if not 0, a_form is not A_DIRECT. */
    int k_over;
    /* l3_bytes 0: C goes to the caches, whatever its size. */
    int64_t l2_bytes, l3_bytes;
    int num_threads;
    dtp_gemm_a_t a_form;
    dtp_gemm_b_t b_form;
    int64_t sam, sak; /* A: from row to row, along k */
    int64_t sbk, sbn; /* B: along k, along n; packed, wide: sbn is that of column panels */
    int64_t scm;      /* C: from row to row; columns are dense. Unused with finish */
    uint32_t flags;   /* DTP_UKR_* without ACC */
    float floor, cap;
    /* One row of N values, the same for all rows. flags have the types of C, addend and bias. */
    bool has_bias;
    /* An addend of C's shape; it is the old C. */
    bool has_add, add_is_c;
    float add_scale;
    int64_t sadd; /* addend: from row to row */
    /* Last step, in place on C; or NULL. */
    dtp_eltwise_fn_t act;
    float act_alpha, act_beta;
    /* For tiled products only: called with dtp_gemm_run's arg on parts of the operands that were
     * packed (hence A_ANY or A_TRANS, and not B_PACKED or B_WIDE) for matrix `batch`. a[i * ld +
     * j]: row m0 + i, k-step k0 + j. b: column panels of [k][DTP_UKR_PANEL], the first one with
     * column n0. May be NULL. */
    void (*touch_a)(const void *arg, int64_t batch, float *a, int64_t ld, int64_t m0, int64_t rows,
                    int64_t k0, int64_t k);
    void (*touch_b)(const void *arg, int64_t batch, float *b, int64_t n0, int64_t n, int64_t k0, int64_t k);
    /* Results go to dtp_gemm_run's finish instead of C; the members from flags to act_beta are
     * unused. */
    bool tiled;
    /* Number of batch dimensions, innermost last. */
    int nbatch;
    int64_t batch_size[DTP_GEMM_MAX_BATCH_DIMS];
    int64_t batch_a[DTP_GEMM_MAX_BATCH_DIMS], batch_b[DTP_GEMM_MAX_BATCH_DIMS],
        batch_c[DTP_GEMM_MAX_BATCH_DIMS], batch_bias[DTP_GEMM_MAX_BATCH_DIMS],
        batch_add[DTP_GEMM_MAX_BATCH_DIMS];
    /* Derived by dtp_gemm_set_shape. */
    int64_t m, n, k, batches; /* k: in k-steps */
    int64_t npanels, unit_panels, nunits, mchunks;
    /* If B is too large for the shared cache: all rows of a group of units come before the next
     * group. */
    int64_t groups, group_units;
    int64_t units;   /* batches * groups * mchunks * group_units */
    int64_t unit_ns; /* estimated cost of a unit */
    bool alone;      /* not worth threads */
    /* k-steps of a pass; rows of A that stay in the second-level cache. */
    int64_t kc, mc;
    /* Number of column panels packed at a time; 0: B is read directly. */
    int64_t b_panels;
    /* GEMV and DOT, without tiles: for a small number of rows if B is not packed. */
    enum { DTP_GEMM_TILES, DTP_GEMM_GEMV, DTP_GEMM_DOT } way;
    /* A small number of rows and a large row-major B: the next strip is prefetched. */
    bool along_rows;
    /* The first row block of a strip packs the strip. */
    bool b_copy;
    /* Dense rows exceed the second-level cache: the first strip fetches them. */
    bool prefetch_a;
    /* Whole lines of C go past the caches, if they begin at lines. */
    bool stream_c;
    int nv; /* column panels of a strip */
    /* The last column panel, of which half is empty, and the one before are a strip. */
    bool half_panel;
    /* Row blocks go across all strips of a unit whose columns they fill. */
    bool across;
    int64_t a_bytes, b_bytes; /* of a slot's scratch, before the tile */
    /* Small products: blocks of one height, then blocks one row lower, without any of the above.
     * NULL: the product is not small; there are no lower blocks. */
    dtp_ukr_fn_t one_call, one_call_rest;
    int64_t one_call_rows, one_call_nrest;
    dtp_ukr_args_t one_call_args; /* complete except for the addresses */
} dtp_gemm_t;

/* Whether so many rows are one tall block of nv column panels. */
static inline bool dtp_gemm_tall(const dtp_ukr_set_t *ukr, int nv, int64_t rows) {
    return rows > DTP_UKR_MAX_MR && rows <= DTP_UKR_TALL_ROWS && nv <= DTP_UKR_TALL_PANELS &&
           ukr->tall[nv][rows];
}

/* Whether so many rows of nv column panels begin with tall blocks. */
static inline bool dtp_gemm_many_tall(const dtp_ukr_set_t *ukr, int nv, int64_t rows) {
    return nv <= DTP_UKR_TALL_PANELS && ukr->many_tall[nv] && rows >= 2 * ukr->many_tall[nv];
}

/* The kernel of many tall blocks, whose rows are lda bytes apart. */
static inline dtp_ukr_fn_t dtp_gemm_tall_block(const dtp_ukr_set_t *ukr, int nv, int64_t lda) {
    for (int i = 0; nv == 1 && i < DTP_UKR_EVEN; ++i)
        if (ukr->even[i].lda == lda) return ukr->even[i].fn;
    return ukr->tall[nv][ukr->many_tall[nv]];
}

/* Number of k-steps of a pass over k k-steps; the last pass may have fewer. */
static inline int64_t dtp_gemm_pass(int64_t k) {
    if (k <= DTP_GEMM_K_ONE) return k;
    return dtp_round_up(dtp_div_up(k, dtp_div_up(k, DTP_GEMM_K_PASS)), DTP_UKR_PANEL);
}
/* Chooses tiles, blocking and split for the sizes. Cheap enough for execute (run-time sizes). */
void dtp_gemm_set_shape(dtp_gemm_t *g, int64_t m, int64_t n, int64_t k);
/* Changes the rows of a settled shape to m <= g->m; needs no more scratch than before. */
void dtp_gemm_set_rows(dtp_gemm_t *g, int64_t m);
/* Rows m0..m1 - 1 of a row chunk: whole row blocks if there are enough of them. */
static inline void dtp_gemm_chunk_rows(const dtp_gemm_t *g, int64_t chunk, int64_t *m0, int64_t *m1) {
    const int64_t cap = g->m >= 4 * g->mchunks * DTP_UKR_MAX_MR ? g->ukr->max_mr[g->nv] : 1;
    const int64_t blocks = dtp_div_up(g->m, cap);
    *m0 = dtp_min64(blocks * chunk / g->mchunks * cap, g->m);
    *m1 = dtp_min64(blocks * (chunk + 1) / g->mchunks * cap, g->m);
}
/* Scratch per slot that g needs for its shape, and an upper bound for all shapes (forms and tiled
 * must be set). */
size_t dtp_gemm_scratch_per_slot(const dtp_gemm_t *g);
size_t dtp_gemm_scratch_any_shape(const dtp_gemm_t *g);
/* The columns that exist in the last column panel before panel1, one bit each. */
static inline uint32_t dtp_gemm_mask(const dtp_gemm_t *g, int64_t panel1) {
    const int64_t over = panel1 * DTP_UKR_PANEL - g->n;
    return over > 0 ? 0xffffu >> over : 0xffffu;
}
/* Runs the product; slot s uses scratch + s * scratch_per_slot (64-byte aligned). finish and arg:
 * for tiled products only. */
void dtp_gemm_run(const dtp_gemm_t *g, const dtp_gemm_ptrs_t *p, const dtp_parallel_t *par, char *scratch,
                  size_t scratch_per_slot, dtp_gemm_finish_t finish, const void *arg);
/* Whether the last of npanels column panels of packed B, in strips of one, is computed together
 * with the one before. */
static inline bool dtp_gemm_takes_half_panel(const dtp_ukr_set_t *ukr, int nv, int64_t npanels, int64_t n) {
    return nv == 1 && ukr->half_panel_mr && npanels > 1 && npanels * DTP_UKR_PANEL - n >= DTP_UKR_PANEL / 2;
}

/* Computes rows of a strip of nv column panels, in blocks of even height, for drivers with their
 * own loops. u has everything except blocks and prefetch, and is overwritten; pf: the next strip,
 * of u's size. */
void dtp_gemm_rows(const dtp_ukr_set_t *ukr, dtp_ukr_args_t *u, int nv, int64_t rows, const char *pf);
/* Parts of the driver: dtp_gemm_pack_a packs rows of a in k-steps k0..k0 + k - 1 to rows of `to`,
 * ld bytes apart; dtp_gemm_pack_b packs n columns of b to column panels, bs bytes apart, and fills
 * the last one with zeros. */
void dtp_gemm_pack_a(const dtp_gemm_t *g, const char *a, int64_t rows, int64_t k0, int64_t k, char *to,
                     int64_t ld);
void dtp_gemm_pack_b(const dtp_gemm_t *g, const char *b, int64_t n, int64_t k0, int64_t k, char *to,
                     int64_t bs);
/* The fastest set for types of A, B and the sums and DTP_ISA_* bits (ukr_sets.inc); NULL: there is
 * none. */
const dtp_ukr_set_t *dtp_ukr_set(dnnl_tp_data_type_t a, dnnl_tp_data_type_t b, dnnl_tp_data_type_t sum,
                                 unsigned isa);

#endif
