/* Packing of operands that the micro-kernels cannot read in place; see gemm.h. */
#include "common/base/base.h"
#include "cpu/gemm/gemm.h"

/* Elements of k-steps k0..k0 + k - 1: the last one may lack some. */
static int64_t pack_elems(const dtp_gemm_t *g, int64_t k0, int64_t k) {
    return k * g->ukr->elems - (k0 + k == g->k ? g->k_over : 0);
}

/* to[j] = x[j * stride], j < n; and zeros up to a whole k-step. */
static void pack_run(char *to, const char *x, int64_t stride, int64_t n, int elems) {
    if (elems == 1) {
        for (int64_t j = 0; j < n; j++)
            ((float *)(void *)to)[j] = *(const float *)(const void *)(x + j * stride);
        return;
    }
    const int64_t bytes = DTP_UKR_STEP_BYTES / elems;
    if (stride == bytes) {
        memcpy(to, x, (size_t)(n * bytes));
    } else {
        for (int64_t j = 0; j < n; j++) memcpy(to + j * bytes, x + j * stride, (size_t)bytes);
    }
    for (int64_t j = n; j % elems; j++) memset(to + j * bytes, 0, (size_t)bytes);
}

void dtp_gemm_pack_a(const dtp_gemm_t *g, const char *a, int64_t rows, int64_t k0, int64_t k, char *to,
                     int64_t ld) {
    const int elems = g->ukr->elems;
    const int64_t n = pack_elems(g, k0, k);
    a += k0 * elems * g->sak;
    if (g->a_form == DTP_GEMM_A_TRANS) {
        g->ukr->transpose(a, g->sak, rows, n, to, ld);
        return;
    }
    for (int64_t i = 0; i < rows; i++) pack_run(to + i * ld, a + i * g->sam, g->sak, n, elems);
}

void dtp_gemm_pack_b(const dtp_gemm_t *g, const char *b, int64_t n, int64_t k0, int64_t k, char *to,
                     int64_t bs) {
    const int elems = g->ukr->elems;
    const int64_t left = pack_elems(g, k0, k);
    b += k0 * elems * g->sbk;
    if (g->b_form == DTP_GEMM_B_PLAIN) {
        g->ukr->pack(b, g->sbk, left, n, to, bs);
        return;
    }
    if (g->b_form == DTP_GEMM_B_TRANS) {
        g->ukr->pack_trans(b, g->sbn, left, n, to, bs);
        return;
    }
    for (int64_t j = 0; j < dtp_round_up(n, DTP_UKR_PANEL); j++) {
        char *column = to + j / DTP_UKR_PANEL * bs + j % DTP_UKR_PANEL * DTP_UKR_STEP_BYTES;
        for (int64_t i = 0; i < k; i++, column += DTP_UKR_PANEL_BYTES) {
            const int64_t i0 = i * elems;
            if (j < n)
                pack_run(column, b + i0 * g->sbk + j * g->sbn, g->sbk, dtp_min64(elems, left - i0), elems);
            else memset(column, 0, DTP_UKR_STEP_BYTES);
        }
    }
}
