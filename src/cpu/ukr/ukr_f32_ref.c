/* f32 micro-kernels in portable C: what runs where no faster set may, and the oracle of the others in tests.
 *
 * Prefetch members of the arguments are ignored. */
#include "cpu/ukr/ukr.h"
#include "cpu/ukr/ukr_ref.h"

#define MAX_ACC 64

INLINE void f32_body(const int MR, const int NV, const dtp_ukr_args_t *u) {
    static const dtp_ukr_tap_t one_tap = {0, 0};
    int lanes = 0;
    for (; lanes < DTP_UKR_PANEL && (u->mask >> lanes & 1); lanes++) {
    }
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        float c[MAX_ACC] = {0};
        const char *a[DTP_UKR_MAX_MR];
        char *cr[DTP_UKR_MAX_MR];
        for (int i = 0; i < MR; i++) {
            a[i] = u->a + row_at(u->row_a, blk * MR + i, u->lda);
            cr[i] = u->c + row_at(u->row_c, blk * MR + i, u->ldc);
        }
        const dtp_ukr_tap_t *t = u->taps ? u->taps : &one_tap;
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const char *b = u->b + t->b;
            for (int64_t k = 0; k < u->k; k++, b += u->bstep)
                for (int j = 0; j < NV; j++) {
                    const float *bv = (const float *)(b + j * u->bs);
                    if (u->copy) {
                        float *to = (float *)(u->copy + j * u->copy_bs + k * DTP_UKR_PANEL_BYTES);
                        for (int l = 0; l < DTP_UKR_PANEL; l++) to[l] = j < NV - 1 || l < lanes ? bv[l] : 0;
                    }
                    const int width = u->bstep == DTP_UKR_PANEL_BYTES || j < NV - 1 ? DTP_UKR_PANEL : lanes;
                    if (width == DTP_UKR_PANEL) {
                        for (int i = 0; i < MR; i++) {
                            const float av = *(const float *)(a[i] + t->a + 4 * k);
                            for (int l = 0; l < DTP_UKR_PANEL; l++) c[(i * NV + j) * 16 + l] += av * bv[l];
                        }
                    } else {
                        for (int i = 0; i < MR; i++) {
                            const float av = *(const float *)(a[i] + t->a + 4 * k);
                            for (int l = 0; l < width; l++) c[(i * NV + j) * 16 + l] += av * bv[l];
                        }
                    }
                }
        }
        for (int i = 0; i < MR; i++) {
            float *to = (float *)cr[i];
            const float *from =
                u->add ? (const float *)(u->add + row_at(u->row_add, blk * MR + i, u->ldadd)) : 0;
            for (int j = 0; j < 16 * (NV - 1) + lanes; j++) {
                float v = c[i * NV * 16 + j];
                if (u->flags & DTP_UKR_ACC) v += to[j];
                if (u->bias) v += ((const float *)u->bias)[j];
                if (u->flags & DTP_UKR_RELU_FIRST) v = v < 0 ? 0 : v;
                if (from) v += u->add_scale * from[j];
                if (u->flags & DTP_UKR_FLOOR) v = v < u->floor ? u->floor : v;
                if (u->flags & DTP_UKR_CAP) v = v > u->cap ? u->cap : v;
                to[j] = v;
            }
        }
    }
}

#define DEFINE(types, mr, nv, isa) \
    static void ukr_##types##_##mr##x##nv(const dtp_ukr_args_t *u) { types##_body(mr, nv, u); }
DTP_UKR_TILES_REF(DEFINE)

static void pack(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            *(float *)(dst + j / 16 * bs + i * 64 + j % 16 * 4) = *(const float *)(src + i * ldb + j * 4);
    for (int64_t j = n; j % 16; j++)
        for (int64_t i = 0; i < k; i++) *(float *)(dst + j / 16 * bs + i * 64 + j % 16 * 4) = 0;
}

static void pack_trans(const char *src, int64_t ldb, int64_t k, int64_t n, char *dst, int64_t bs) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            *(float *)(dst + j / 16 * bs + i * 64 + j % 16 * 4) = *(const float *)(src + j * ldb + i * 4);
    for (int64_t j = n; j % 16; j++)
        for (int64_t i = 0; i < k; i++) *(float *)(dst + j / 16 * bs + i * 64 + j % 16 * 4) = 0;
}

static void transpose(const char *src, int64_t lds, int64_t m, int64_t k, char *dst, int64_t ldd) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            *(float *)(dst + i * ldd + j * 4) = *(const float *)(src + j * lds + i * 4);
}

static void gemv(const float *x, const char *b, int64_t ldb, int64_t k, int64_t n, float *y, int more) {
    for (int64_t j = 0; j < n && !more; j++) y[j] = 0;
    for (int64_t i = 0; i < k; i++, b += ldb)
        for (int64_t j = 0; j < n; j++) y[j] += x[i] * ((const float *)b)[j];
}

static void dot(const char *a, int64_t lda, int mr, const char *b, int64_t ldb, int64_t n, int64_t k, char *c,
                int64_t ldc) {
    for (int i = 0; i < mr; i++)
        for (int64_t j = 0; j < n; j++) {
            float s[8] = {0};
            const float *x = (const float *)(a + i * lda), *y = (const float *)(b + j * ldb);
            int64_t p = 0;
            for (; p + 8 <= k; p += 8)
                for (int l = 0; l < 8; l++) s[l] += x[p + l] * y[p + l];
            for (; p < k; p++) s[0] += x[p] * y[p];
            *(float *)(c + i * ldc + 4 * j) =
                ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
}

#define ENTRY(types, mr, nv, isa) [nv][mr] = ukr_##types##_##mr##x##nv,
const dtp_ukr_set_t dtp_ukr__ref = {.flops_per_ns = 8,
                                    .max_nv = 1,
                                    .max_mr = {0, 4},
                                    .tile = {DTP_UKR_TILES_REF(ENTRY)},
                                    .elems = 1,
                                    .pack = pack,
                                    .pack_trans = pack_trans,
                                    .transpose = transpose,
                                    .gemv = gemv,
                                    .dot = dot};
