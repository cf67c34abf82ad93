/* The row blocks of a strip, and the lines that they prefetch meanwhile. */
#ifndef DTP_CPU_GEMM_GEMM_ROWS_H
#define DTP_CPU_GEMM_GEMM_ROWS_H

#include "cpu/gemm/gemm.h"

/* The operands of the next product of a batch: A, then B. */
typedef struct {
    const char *at[2], *end[2];
} dtp_gemm_ahead_t;

/* On to the next rows. */
static inline void dtp_gemm_advance(dtp_ukr_args_t *u, int64_t rows) {
    if (u->row_a) u->row_a += rows;
    else u->a += rows * u->lda;
    if (u->row_c) u->row_c += rows;
    else u->c += rows * u->ldc;
    if (u->row_add) u->row_add += rows;
    else if (u->add) u->add += rows * u->ldadd;
}

/* As dtp_gemm_rows; with ahead, where the strip is at hand, that is prefetched instead of pf. */
void dtp_gemm_rows_ahead(const dtp_ukr_set_t *ukr, dtp_ukr_args_t *u, int nv, int64_t rows, const char *pf,
                         dtp_gemm_ahead_t *ahead);

#endif
